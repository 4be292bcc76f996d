"""`longhaul demo` and `longhaul examples`: the first minutes."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

from .. import examples as shipped
from .. import outputs
from ..document import parse
from ..progress import of_run
from ..running import run_document
from . import options, tables
from .options import messages, starting_with

#: The scenario of the demo.
DEMO = "dumbbell-50-flows"


def demo(
    out: Path = typer.Option(
        Path("results/demo"), "--out", "-o", help="Result directory  [default: results/demo]", show_default=False
    ),
    show: bool = typer.Option(False, "--open", help="Open the report in the browser."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print nothing but errors."),
) -> None:
    """Simulate fifty flows over a satellite, print the table, write the report."""
    scenario = shipped.example(DEMO)
    document = parse(scenario.text, f"{DEMO}.toml")
    with of_run(messages, not quiet, "simulating") as (progress, drawing):
        result = run_document(document, out=out, force=True, report=True, progress=progress, drawing=drawing)
    report = outputs.report_of(out)
    if not quiet:
        tables.print_run(options.output(), result, out)
        typer.echo(f"result: {out}")
        typer.echo(f"report: {report}")
        typer.echo(f"next:   longhaul examples {DEMO}   # a copy of this scenario, to change and run")
    if show and not webbrowser.open(report.resolve().as_uri()):
        messages.print(f"no browser was found; open {report} yourself", markup=False)


def examples(
    names: list[str] = typer.Argument(
        None,
        help="Examples to copy; without one, list all.",
        show_default=False,
        autocompletion=starting_with(shipped.names),
    ),
    to: Path = typer.Option(Path(), "--to", help="Folder for the copies  [default: this folder]", show_default=False),
    every: bool = typer.Option(False, "--all", help="Copy all of them."),
    force: bool = typer.Option(False, "--force", help="Replace files that exist."),
) -> None:
    """List the examples, or copy some of them."""
    wanted = shipped.examples() if every else [shipped.example(name) for name in names or ()]
    for one in wanted:
        typer.echo(str(shipped.copy(one.name, to, force=force)))
    if len(wanted) == 1:
        messages.print(f"next: {wanted[0].command(to)}", style="dim", markup=False)
    if not wanted:
        for one in shipped.examples():
            typer.echo(f"{one.name:<20} {one.title}")
        typer.echo("longhaul examples NAME copies one into this folder; then: longhaul run NAME.toml --report")
