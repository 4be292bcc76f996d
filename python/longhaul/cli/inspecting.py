"""`longhaul verify`, `list`, `schema` and `bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from .. import core, listing, verifying
from .. import explain as explaining
from ..budget import read_budget
from ..errors import LonghaulError
from ..files import json_text
from ..progress import of_advice, of_run
from ..results import require_directory
from ..units import counted
from . import options, tables
from .options import messages, starting_with


def verify(
    results: list[Path] = typer.Argument(
        ..., metavar="RESULT...", help="Result directories of runs or sweeps.", show_default=False
    ),
    sample: int | None = typer.Option(
        None, "--sample", min=1, help="Of a sweep: check only this many runs, evenly spread."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Run results, or each run of a sweep, again and compare every byte; exit code 1 if anything differs."""
    for result in results:
        require_directory(result)
    checks = []
    for path in [path for result in results for path in verifying.targets(result, sample)]:
        with of_run(messages, not as_json, f"again: {path.name}") as (progress, _):
            done = verifying.check(path, progress)
        checks.append(done)
        if not as_json:
            typer.echo(f"{'same' if done.same else 'DIFFERENT: ' + ', '.join(done.different)}  {path}")
    bad = sum(not done.same for done in checks)
    if as_json:
        typer.echo(
            json_text(
                [
                    {"path": str(c.path), "same": c.same, "different": list(c.different), "other_build": c.other_build}
                    for c in checks
                ]
            ),
            nl=False,
        )
    else:
        if others := sum(check.other_build and not check.same for check in checks):
            which = "it was" if others == bad == 1 else f"{others} of {bad} that differ were"
            typer.echo(f"note: {which} made by another build of this version, whose results may differ for that")
        typer.echo(f"{len(checks) - bad} of {len(checks)} results are byte-identical")
    if bad:
        raise typer.Exit(1)


def explain(
    what: Path = typer.Argument(
        ..., metavar="FILE|RESULT", help="Scenario file, or the result directory of a run.", show_default=False
    ),
    flows: str | None = typer.Option(
        None, "--flows", metavar="0,3,NAME", help="Only these flows or groups, by number or name."
    ),
    each: bool = typer.Option(False, "--each", help="What each flow's time went to, too."),
    limit: int = typer.Option(20, "--limit", min=1, help="At most this many flows with --each, the slowest first."),
    budget: str = typer.Option(
        "30 s",
        "--budget",
        metavar="TIME",
        help="Wall-clock time for the runs that test causes, as in --budget '2 min'.",
    ),
    set: list[str] | None = options.SET_FIRST,
    as_json: bool = typer.Option(False, "--json", help="Print JSON: every group, and every flow's time."),
) -> None:
    """Explain what limits the flows: take one cause after the other away, run again, and show what changes."""
    seconds, runs = read_budget(budget)
    if seconds is None:
        raise LonghaulError(f'--budget \'{runs} runs\': write a time, as in "60 s" or "5 min"')
    with of_advice(messages, not as_json, "testing causes") as observer:
        found = explaining.explain_path(
            what, options.settings(set), seconds, lambda all: options.flows(flows, all), observer
        )
    if as_json:
        typer.echo(json_text(found.to_dict()), nl=False)
        return
    console = options.output()
    tables.print_causes(console, found)
    if each:
        shown = found.flows[:limit]
        for flow in shown:
            console.print(
                f"[bold]{escape(flow['name'])}[/bold]: {escape(explaining.accounting(flow, found.content))}",
                highlight=False,
            )
        if len(shown) < len(found.flows):
            typer.echo(f"and {counted(len(found.flows) - len(shown), 'more flow')}; --limit shows them")


def list_(
    what: str | None = typer.Argument(
        None,
        help="Show only one kind, as in `longhaul list congestion` or `queues`.",
        show_default=False,
        autocompletion=starting_with(listing.catalogue),
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List algorithms, recovery variants, queues, losses, applications and metrics, with sources and parameters."""
    sections = listing.catalogue() if what is None else {what: listing.catalogue(what)}
    if as_json:
        typer.echo(json_text(sections if what is None else sections[what]), nl=False)
        return
    console = options.output()
    for name, entries in sections.items():
        table = Table(
            title=name.replace("_", " "),
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        for heading in ("name", "what", "parameters", "source"):
            table.add_column(heading, overflow="fold")
        for entry in entries:
            table.add_row(*(escape(text) for text in _row(entry)))
        console.print(table)


def _row(entry: Any) -> tuple[str, str, str, str]:
    if not isinstance(entry, dict):
        return str(entry), "", "", ""
    parameters = [
        f"{p['name']} = {p['default']}" if p.get("default") not in (None, "") else str(p["name"])
        for p in entry.get("parameters", []) or []
    ]
    what = entry.get("summary") or entry.get("definition") or entry.get("description") or ""
    unit = f" [{entry['unit']}]" if entry.get("unit") else ""
    return str(entry.get("name", "")), f"{what}{unit}", ", ".join(parameters), str(entry.get("source") or "")


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    typer.echo(json_text(core.schema()), nl=False)


def bench(context: typer.Context) -> None:
    """Compare speed and memory with ns-2. It needs a checkout of the project and the program that `make bench-program` builds there.

    Arguments go to benches/bench.py:

    --pairs N        runs of each simulator per scenario (5; 1 with --quick)

    --quick          short durations, one pair

    --only A,B       only these scenarios

    --list           name the scenarios and stop

    --ours PROGRAM   the simulator (target/release/examples/bench_run)

    --ours-only, --ns2-only   leave the other simulator out

    --json FILE      write every run's numbers

    --markdown FILE  write the tables
    """
    here = Path(__file__).resolve()
    script = next((p / "benches" / "bench.py" for p in here.parents if (p / "benches" / "bench.py").is_file()), None)
    if script is None:
        raise LonghaulError(
            "the benchmark is part of the project's checkout, and this is an installed package: clone it and run `make bench`"
        )
    raise typer.Exit(subprocess.run([sys.executable, str(script), *context.args], check=False).returncode)
