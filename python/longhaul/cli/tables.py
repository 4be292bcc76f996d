"""Summaries as tables on a terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from .. import tables
from ..explain import Explained, content_of, group_texts
from ..results import Result
from ..sweep import SweepResult
from ..units import counted, quantity
from ..why import paragraph, rows

#: Blanks beside a column.
_BESIDE = 3
#: Groups whose accounting `run` prints.
_GROUPS = 6


def print_run(console: Console, result: Result, out: Path) -> None:
    """Key numbers, links, middleboxes, groups, flows, warnings of the run in the directory `out`, as the user named it."""
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
    console.print()
    _print(console, tables.object_table(result, "links", short=True), "Links")
    if s.get("middleboxes"):
        _print(console, tables.middlebox_table(result, short=True), "Middleboxes")
    if tables.groups_differ_from_flows(result):
        _print(console, tables.object_table(result, "groups", short=True), "Groups")
    chosen = "Flows" if not tables.is_selection(result) else f"Flows (slowest, median and fastest of {len(s['flows'])})"
    _print(console, tables.object_table(result, "flows", short=True), chosen)
    if whole := tables.whole_run_text(result):
        console.print(whole, style="dim", soft_wrap=True)
    for one in group_texts(s["flows"], content_of(result))[:_GROUPS]:
        console.print(f"[bold]{escape(one.name)}[/bold]: {escape(one.text)}", highlight=False)
    why = f"Why, and what changes it: longhaul explain {shlex.quote(str(out))}"
    console.print(f"[dim]{escape(why)}[/dim]", soft_wrap=True, highlight=False)
    for warning in result.warnings[:10]:
        console.print(
            f"[yellow]warning:[/yellow] {escape(tables.warning_text(warning))}",
            soft_wrap=True,
        )
    if len(result.warnings) > 10:
        console.print(f"[yellow]and {counted(len(result.warnings) - 10, 'more warning')}[/yellow], see summary.json")


def print_causes(console: Console, found: Explained) -> None:
    """A paragraph for each group, and its waterfall as a table; without tests, where the time of each group went."""
    if found.explanation is None:
        console.print(found.text, markup=False, highlight=False, soft_wrap=True)
        return
    explanation = found.explanation
    for one in explanation.groups:
        console.print(escape(paragraph(one, explanation.seeds)), highlight=False, soft_wrap=True)
        if one.steps:
            table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
            for heading in (one.group, one.metric, ""):
                table.add_column(heading, overflow="fold")
            for row in rows(one):
                table.add_row(*map(escape, row))
            console.print(table)
    for other in found.others:
        console.print(f"{escape(other.name)}: {escape(other.text)}", highlight=False, soft_wrap=True)
    seeds = (
        f", {explanation.seeds} seeds with 95 % intervals where randomness plays a part"
        if explanation.seeds > 1
        else ""
    )
    console.print(
        f"{counted(explanation.runs, 'run')}{seeds}; a cause is what changes the outcome when it is taken away",
        style="dim",
        soft_wrap=True,
    )


def print_sweep(
    console: Console,
    sweep: SweepResult,
    metrics: Sequence[str] | None = None,
    baseline: Mapping[str, str] | None = None,
) -> None:
    """One row per point with the chosen metrics, or those that people look at first; differences to a baseline, and the best point."""
    seeds = counted(sweep.manifest["replications"], "seed")
    shown = "; mean ± half of the 95 % interval" if sweep.manifest["replications"] > 1 else ""
    console.print(f"[bold]{escape(sweep.name)}[/bold]  {seeds} at each point{shown}")
    chosen = list(metrics or tables.first_metrics(sweep))
    content, hidden = tables.folded(tables.cell_table(sweep, chosen, baseline))
    names = tables.short_paths(tables.varied(sweep))
    headings = [(name, "") for name in names] + content.headings[len(names) :]
    _print(console, tables.Table(headings, content.rows), names=len(names))
    if hidden:
        where = f"{hidden:,} points are not shown; cells.parquet and the report have all"
        console.print(where, style="dim", highlight=False)
    if best := tables.best_point(sweep, chosen[0]):
        console.print(escape(best), highlight=False)
    if not metrics and (same := tables.same_everywhere(sweep, tables.usual_metrics(sweep))):
        texts = ", ".join(f"{sweep.title(name)} {value}" for name, value in same.items() if name not in chosen)
        if texts:
            console.print(escape(f"The same at every point: {texts}."), style="dim", highlight=False)
    if remark := tables.equal_seeds(sweep, chosen):
        console.print(escape(remark), style="dim", highlight=False)


def _print(console: Console, content: tables.Table, title: str | None = None, names: int = 1) -> None:
    """A table whose first columns name the row; in parts that repeat these, if the terminal is too narrow for it at once."""
    columns = range(len(content.headings))
    widths = [max(len(text) for text in _column(content, column)) for column in columns]
    if sum(widths) + _BESIDE * len(widths) > console.width:
        widths = [_least_width(content, column, column < names) for column in columns]
    for number, part in enumerate(parts(widths, names, console.width)):
        console.print(_table(content, title if number == 0 else None, part, widths, names))


def parts(widths: Sequence[int], names: int, room: int) -> list[list[int]]:
    """The columns of each part: those that name the row, and as many others as there is room for.

    >>> parts([10, 20, 20, 20], 1, 82), parts([10, 20, 20, 20], 1, 81)
    ([[0, 1, 2, 3]], [[0, 1, 2], [0, 3]])
    """
    fixed = list(range(names))
    taken = sum(widths[:names]) + _BESIDE * names
    found: list[list[int]] = []
    used = room
    for column in range(names, len(widths)):
        used += widths[column] + _BESIDE
        if used > room or not found:
            found.append([*fixed])
            used = taken + widths[column] + _BESIDE
        found[-1].append(column)
    return found or [fixed]


def _column(content: tables.Table, column: int) -> list[str]:
    return [content.headings[column][0], *(row[column] for row in content.rows)]


def _least_width(content: tables.Table, column: int, name: bool) -> int:
    """The width below which a word is broken, or a value, which is a number with its unit."""
    heading, *cells = _column(content, column)
    texts = [*_words(heading), *(word for cell in cells for word in (cell.split() if name else [cell]))]
    return max(len(text) for text in texts)


def _words(heading: str) -> list[str]:
    """Parts that may stand in lines of their own: words, and the parts of a setting's path."""
    return re.findall(r"[^\s.]+\.?|\.", heading) or [""]


def _heading(text: str, width: int) -> str:
    """A heading in lines of at most so many characters."""
    lines = [""]
    for word in _words(text):
        joined = f"{lines[-1]}{'' if lines[-1].endswith('.') or not lines[-1] else ' '}{word}"
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return "\n".join(line for line in lines if line)


def _table(
    content: tables.Table, title: str | None, columns: Sequence[int], widths: Sequence[int], names: int
) -> RichTable:
    table = RichTable(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1),
    )
    for i in columns:
        name = i < names
        heading = escape(_heading(content.headings[i][0], widths[i]))
        table.add_column(heading, justify="left" if name else "right", min_width=widths[i], no_wrap=not name)
    for row in content.rows:
        table.add_row(*(escape(row[i] if i < names else row[i].replace(" ", "\u00a0")) for i in columns))
    return table
