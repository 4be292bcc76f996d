"""Summaries as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from .. import tables
from ..explain import explain, slowest_and_fastest
from ..results import Result
from ..sweep import SweepResult
from ..units import counted, quantity


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
    for title, value in tables.key_numbers(result):
        console.print(f"  {escape(title):<28}[bold]{value}[/bold]")
    console.print(_table(tables.object_table(result, "links", short=True), "Links"))
    if tables.groups_differ_from_flows(result):
        console.print(_table(tables.object_table(result, "groups", short=True), "Groups"))
    chosen = "Flows" if not tables.is_selection(result) else f"Flows (slowest, median and fastest of {len(s['flows'])})"
    console.print(_table(tables.object_table(result, "flows", short=True), chosen))
    for called, flow in slowest_and_fastest(s["flows"]):
        print_explanation(console, flow, called)
    for warning in result.warnings[:10]:
        console.print(
            f"[yellow]warning:[/yellow] {escape(tables.warning_text(warning))}",
            soft_wrap=True,
        )
    if len(result.warnings) > 10:
        console.print(f"[yellow]and {counted(len(result.warnings) - 10, 'more warning')}[/yellow], see summary.json")


def print_explanation(console: Console, flow: dict[str, Any], called: str = "") -> None:
    """One paragraph: which flow, how fast it was, and why it was not faster."""
    goodput = quantity(flow["metrics"].get("goodput_bps"), "bit/s")
    head = f"{flow['name']} ({f'{called}, ' if called else ''}{goodput})"
    console.print(f"[bold]{escape(head)}[/bold]: {escape(explain(flow))}", highlight=False)


def print_sweep(console: Console, sweep: SweepResult, metrics: Sequence[str] | None = None) -> None:
    """One row per point with the chosen metrics, or those that people look at first."""
    seeds = counted(sweep.manifest["replications"], "seed")
    console.print(f"[bold]{escape(sweep.name)}[/bold]  {seeds} at each point; mean ± half of the 95 % interval")
    content = tables.cell_table(sweep, list(metrics or tables.first_metrics(sweep)))
    console.print(_table(content, None, names=len(sweep.parameters)))


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
