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
from ..errors import LonghaulError
from ..files import json_text
from ..progress import of_run
from ..results import load_run, require_directory
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
    result: Path = typer.Argument(..., help="Result directory of a run.", show_default=False),
    flows: str | None = typer.Option(
        None, "--flows", metavar="0,3,NAME", help="Only these flows or groups, by number or name."
    ),
    each: bool = typer.Option(False, "--each", help="A paragraph for each flow, not for each group of like flows."),
    limit: int = typer.Option(20, "--limit", min=1, help="At most this many flows, the slowest first."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON: every flow."),
) -> None:
    """Explain what limited the flows and what would change that: groups of similar flows first, then the exceptions."""
    loaded = load_run(result)
    summary, content = loaded.summary, explaining.content_of(loaded)
    found = summary["flows"]
    if (wanted := options.flows(flows, found)) is not None:
        found = [flow for flow in found if flow["id"] in wanted]
    active = explaining.by_goodput(found)
    ordered = [*active, *(flow for flow in found if flow not in active)]
    shown = ordered[:limit]
    if as_json:
        content_of_all = [
            {"flow": flow["id"], "name": flow["name"], "text": explaining.explain(flow, summary, (), content)}
            for flow in shown
        ]
        typer.echo(json_text(content_of_all), nl=False)
        return
    console = options.output()
    if each or len(found) == 1:
        for flow in shown:
            tables.print_explanation(console, flow, summary, content=content)
        if len(shown) < len(found):
            typer.echo(f"and {counted(len(found) - len(shown), 'more flow')}; --limit shows them")
        return
    for group in explaining.explain_groups(found, summary, content):
        if group.count == 1:
            one = next(flow for flow in found if flow["group"] == group.name)
            tables.print_explanation(console, one, summary, content=content)
            continue
        console.print(f"[bold]{escape(group.name)}[/bold]: {escape(group.text)}", highlight=False)
        for names, goodput, text in group.unlike[:limit]:
            console.print(
                f"  unlike the others: [bold]{escape(names)}[/bold] ({goodput}): {escape(text)}", highlight=False
            )
        if len(group.unlike) > limit:
            typer.echo(f"  and {counted(len(group.unlike) - limit, 'more kind')} unlike the others; --limit shows them")


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
