"""Summaries as tables on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from ..report import SWEEP_METRICS, cell_table, key_numbers, tables
from ..results import Result
from ..sweep import SweepResult
from ..units import quantity


def print_run(console: Console, result: Result) -> None:
    """Key numbers, links, groups, flows, warnings."""
    s = result.summary
    console.print(
        f"[bold]{escape(result.name)}[/bold]  seed {s['seed']}, {quantity(s['duration_s'], 's', 4)} simulated, run {result.run_id[:12]}"
    )
    if result.timing.get("wall_s"):
        wall = result.timing["wall_s"]
        console.print(
            f"{s['work']['data_packets_delivered']:,} data packets in {quantity(wall, 's')}"
            f" ({quantity(s['work']['data_packets_delivered'] / wall, 'packets/s')})", style="dim",
        )  # fmt: skip
    for title, value in key_numbers(result):
        console.print(f"  {escape(title):<28}[bold]{value}[/bold]")
    console.print(_table(tables.object_table(result, "links", short=True), "Links"))
    if len(s["groups"]) > 1:
        console.print(_table(tables.object_table(result, "groups", short=True), "Groups"))
    chosen = "Flows" if not tables.is_selection(result) else f"Flows (slowest, median and fastest of {len(s['flows'])})"
    console.print(_table(tables.object_table(result, "flows", short=True), chosen))
    for warning in result.warnings[:10]:
        console.print(
            f"[yellow]warning[/yellow] {escape(warning['object'])}: {escape(warning['message'])}",
            soft_wrap=True,
        )
    if len(result.warnings) > 10:
        console.print(f"[yellow]and {len(result.warnings) - 10} more warnings[/yellow], see summary.json")


def print_sweep(console: Console, sweep: SweepResult) -> None:
    """One row per point with the metrics that people look at first."""
    metrics = [m for m in SWEEP_METRICS if m in sweep.metrics and m != "jain_index"][:4]
    console.print(
        f"[bold]{escape(sweep.name)}[/bold]  {sweep.manifest['replications']} seeds at each point; mean ± half of the 95 % interval"
    )
    console.print(_table(cell_table(sweep, metrics), None, names=len(sweep.parameters)))


def _table(content: tables.Table, title: str | None, names: int = 1) -> RichTable:
    table = RichTable(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1),
    )
    for i, (heading, _) in enumerate(content.headings):
        table.add_column(escape(heading), justify="left" if i < names else "right", overflow="fold")
    for row in content.rows:
        row = [cell.replace(" ", "\u00a0") if i >= names else cell for i, cell in enumerate(row)]
        table.add_row(*(escape(cell) for cell in row))
    return table
