"""`longhaul compare`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import plots, tables
from ..compare import Row, differing_settings, invalid, label, labels
from ..compare import compare as compared
from ..errors import ResultError
from ..results import Result, load_run
from ..units import alike, quantity
from . import options

#: At most so many differing settings are printed.
_SETTINGS = 20


def compare(
    first: Path = typer.Argument(..., help="Result directory of a run, for instance simulated.", show_default=False),
    second: Path = typer.Argument(..., help="Result directory of a run, for instance emulated.", show_default=False),
    figure: Path | None = typer.Option(
        None, "--figure", "-f", help="Draw goodput, cwnd and SRTT of both into this file (png, pdf, svg)."
    ),
    flows: str | None = typer.Option(
        None, "--flows", metavar="0,3,NAME", help="Only these flows in the figure, by number or name."
    ),
    format: str | None = typer.Option(
        None,
        "--format",
        metavar="|".join(options.TABLES),
        help="Write the table so, for papers and notes; LaTeX needs booktabs.",
        show_default=False,
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Show two results of one scenario side by side, as simulated and emulated, with the settings that differ."""
    results = load_run(first), load_run(second)
    rows = compared(*results)
    if as_json:
        listed = [asdict(row) | {"difference": row.difference} for row in rows]
        settings = {path: list(values) for path, values in differing_settings(results)}
        bad = [invalid(result) for result in results]
        typer.echo(json.dumps({"rows": listed, "settings": settings, "invalid": bad}, indent=1))
    elif format is not None:
        options.one_of("--format", format, options.TABLES)
        typer.echo(options.written(_table(results, rows), format, names=2), nl=False)
    else:
        _print(options.output(), results, rows)
    if figure is not None:
        if not all(result.has_tables for result in results):
            raise ResultError("a figure needs the time series of both results")
        from ..plots.compare import draw

        typer.echo(str(plots.save(draw(*results, flows=options.flows(flows, results[0].summary["flows"])), figure)))


def _table(results: tuple[Result, Result], rows: list[Row]) -> tables.Table:
    """A row for each metric of each object, which is named once."""
    definitions = results[0].definitions | results[1].definitions
    lines: list[list[str]] = []
    before = ""
    for row in rows:
        definition = definitions.get(row.metric, {"title": row.metric, "unit": ""})
        values = alike((row.first, row.second), definition["unit"])
        difference = "–" if row.difference is None else f"{100 * row.difference:+.1f} %"
        lines.append([row.object if row.object != before else "", definition["title"], *values, difference])
        before = row.object
    return tables.Table([(heading, "") for heading in ("", "", *labels(*results), "Difference")], lines)


def _print(console: Console, results: tuple[Result, Result], rows: list[Row]) -> None:
    console.print(f"[bold]{escape(results[0].name)}[/bold]")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    content = _table(results, rows)
    for number, (heading, _) in enumerate(content.headings):
        table.add_column(heading, justify="left" if number < 2 else "right")
    for cells in content.rows:
        table.add_row(*map(escape, cells))
    console.print(table)
    if settings := differing_settings(results):
        different = Table(title="Settings that differ", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("", *labels(*results)):
            different.add_column(heading, overflow="fold")
        for path, texts in settings[:_SETTINGS]:
            different.add_row(escape(path), *(escape(text) for text in texts))
        console.print(different)
        if len(settings) > _SETTINGS:
            console.print(f"and {len(settings) - _SETTINGS} more; --json lists all", style="dim")
    lengths = [float(result.summary["duration_s"]) for result in results]
    if max(lengths) > 1.01 * min(lengths):
        text = f"the results are of {quantity(lengths[0], 's')} and {quantity(lengths[1], 's')}: averages over time differ for that alone"
        console.print(f"[yellow]warning:[/yellow] {text}", soft_wrap=True)
    for result in results:
        for why in invalid(result):
            console.print(f"[yellow]warning:[/yellow] {label(result)} is INVALID: {escape(why)}", soft_wrap=True)
