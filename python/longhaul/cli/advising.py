"""`longhaul advise`, and `longhaul run --advise`: what to change."""

from __future__ import annotations

from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..budget import read_budget
from ..files import json_text
from ..progress import of_advice
from ..units import counted
from . import options
from .options import ENGINE, JOBS, messages

#: Rows of the table, unless all are asked for.
_ROWS = 8
#: Characters of a terminal in which costs have a column of their own.
_WIDE = 100


def advise(
    what: Path = typer.Argument(
        ..., help="Scenario file, or the result directory of a run; - is standard input.", show_default=False
    ),
    can: str = typer.Option(
        "sender,receiver,router,proxy", "--can", metavar="A,B", help="Whose machines can be changed."
    ),
    goal: str | None = typer.Option(
        None,
        "--goal",
        metavar="TEXT",
        help="Search for the least change that reaches this, as in --goal 'completion p95 < 5 s' or 'web.page < 3 s'.",
    ),
    groups: str | None = typer.Option(
        None,
        "--groups",
        metavar="A,B",
        help="Serve only these groups of flows; the others are neighbours  [default: all]",
    ),
    budget: str = typer.Option(
        "60 s", "--budget", metavar="TIME|RUNS", help="Wall-clock time, or runs, as in --budget '200 runs'."
    ),
    set: list[str] | None = typer.Option(
        None,
        "--set",
        metavar="PATH=VALUE",
        help='Override a setting first, as in --set link.satellite.delay="120 ms".',
        autocompletion=options.setting_paths,
    ),
    jobs: int | None = JOBS,
    engine: str = ENGINE,
    show_all: bool = typer.Option(
        False, "--all", help="Show every remedy, the section of each proxy, and why the others were not tried."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Try remedies and rank them by their effect on the applications; show the setting and the Linux command of each."""
    from ..sweep import ENGINES

    options.one_of("--engine", engine, ENGINES)
    seconds, runs = read_budget(budget)
    advise_and_print(
        what,
        options.settings(set),
        can=options.words([can]),
        groups=options.words([groups]) if groups else None,
        goal=goal,
        seconds=seconds,
        runs=runs,
        jobs=jobs,
        engine=engine,
        show_all=show_all,
        as_json=as_json,
    )


def advise_and_print(
    what: Path,
    changes: list[tuple[str, str]],
    *,
    can: list[str],
    groups: list[str] | None = None,
    goal: str | None = None,
    seconds: float | None = 60.0,
    runs: int | None = None,
    jobs: int | None = None,
    engine: str = "local",
    show_all: bool = False,
    as_json: bool = False,
) -> None:
    """Advises on a scenario file or a result directory and prints the answer."""
    from ..advice import advise_document
    from ..document import Document, read
    from ..results import load_run

    document = Document(load_run(what).scenario, str(what / "scenario.toml")) if what.is_dir() else read(what)
    with of_advice(messages, not as_json) as observer:
        found = advise_document(
            document, changes, can=can, groups=groups, goal=goal, seconds=seconds, runs=runs, jobs=jobs, engine=engine,
            observer=observer,
        )  # fmt: skip
    if as_json:
        typer.echo(json_text(found.to_dict()), nl=False)
    else:
        _print(options.output(), found, show_all)
    if goal is not None and not found.goal_met_already and found.goal_row is None:
        raise typer.Exit(1)


#: What the order of the rows is.
RANKING = (
    "Ranked by the factor. Where the seeds cannot distinguish two changes, or one has nine tenths of the other's factor, the one for a"
    " proven cause stands first, then the smaller one."
)


def _print(console: Console, found: object, show_all: bool) -> None:
    from ..advice import Advice

    assert isinstance(found, Advice)
    console.print(f"[bold]{escape(found.headline)}[/bold]", soft_wrap=True)
    for name, evidence in found.findings.items():
        console.print(f"  {escape(name)}: {escape(evidence)}", soft_wrap=True, style="dim")
    _print_least(console, found)
    rows = found.better if show_all else found.better[:_ROWS]
    if rows:
        narrow = console.width < _WIDE
        cells = [
            (str(number), row.title, row.remedy.place.replace(" and ", ", "), row.qoe, row.factor, "; ".join(row.costs) or "–")
            for number, row in enumerate(rows, 1)
        ]  # fmt: skip
        # On a narrow terminal costs stand below, with the settings.
        headings = ("", "Change", "At", "For the application", "Better by", "Cost")[: -1 if narrow else None]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for column, heading in enumerate(headings):
            words = [word for text in (heading, *(row_cells[column] for row_cells in cells)) for word in text.split()]
            table.add_column(heading, overflow="fold", min_width=max(map(len, words), default=1))
        for row_cells in cells:
            table.add_row(*map(escape, row_cells[: len(headings)]))
        console.print(table)
        for number, row in enumerate(rows, 1):
            _print_settings(console, f"{number:>2}", row.remedy.set_line, row.remedy.linux)
            if narrow and row.costs:
                console.print(f"    cost: {escape('; '.join(row.costs))}", soft_wrap=True, highlight=False, style="dim")
    if found.stack and any(row.remedy.linux for row in rows):
        console.print(f"\n{escape(found.stack)}", soft_wrap=True, highlight=False)
    best = [found.best] if found.best is not None else []
    for row in [*best, *(other for other in rows if show_all and other not in best)]:
        if row.remedy.section:
            which = f"row {rows.index(row) + 1}" if row in rows else "the least change"
            console.print(f"\nThe proxy of {which}, as a scenario has it:", highlight=False)
            console.print(escape(row.remedy.section.rstrip()), soft_wrap=True, highlight=False)
    hidden = len(found.better) - len(rows)
    if hidden:
        more = "1 more remedy that helps" if hidden == 1 else f"{hidden} more remedies that help"
        typer.echo(f"and {more}; --all shows them")
    _print_idle(console, found, show_all)
    if len(rows) > 1:
        typer.echo(RANKING)
    typer.echo(
        f"{counted(found.runs, 'run')}, up to {counted(found.seeds, 'seed')}. Numbers and factors are geometric means over the seeds, with 95 % intervals of paired seeds"
    )


def _print_settings(console: Console, mark: str, set_line: str, linux: str) -> None:
    console.print(f"{mark}  {escape(set_line)}", soft_wrap=True, highlight=False)
    for line in linux.splitlines():
        console.print(f"    {escape(line)}", soft_wrap=True, highlight=False, style="cyan")


def _print_least(console: Console, found: object) -> None:
    """The least numbers that reach the goal, each with its setting, and what the next smaller change comes to."""
    from ..advice import Advice

    assert isinstance(found, Advice)
    if found.least and found.goal:
        console.print(f"\n[bold]Least numbers that reach {escape(found.goal.text)}[/bold]")
        for one in found.least:
            console.print(f"  {escape(one.title)}", soft_wrap=True, highlight=False)
            console.print(f"    {escape(one.text)}", soft_wrap=True, highlight=False, style="dim")
            _print_settings(console, "  ", one.row.remedy.set_line, one.row.remedy.linux)


def _print_idle(console: Console, found: object, show_all: bool) -> None:
    from ..advice import Advice

    assert isinstance(found, Advice)
    for heading, rows in (
        ("Not certain with these seeds; a larger --budget would show", found.unsure),
        ("Does nothing", found.idle),
        ("Makes it worse", found.worse),
    ):
        if rows:
            console.print(f"\n[bold]{heading}[/bold]")
            for row in rows if show_all else rows[:_ROWS]:
                notes = row.factor
                if row in found.worse and row.verdict == "uncertain":
                    notes += ", not certain"
                if row.why:
                    notes += f" (tried against {row.why})"
                console.print(f"  {escape(row.title)}: {escape(notes)}", soft_wrap=True)
            if not show_all and len(rows) > _ROWS:
                console.print(f"  and {len(rows) - _ROWS} more", style="dim")
    if found.untried:
        console.print("\n[bold]Not tried[/bold]")
        for one in found.untried if show_all else found.untried[:4]:
            console.print(f"  {escape(one.title)}: {escape(one.why)}", soft_wrap=True, style="dim")
        if not show_all and len(found.untried) > 4:
            console.print(f"  and {len(found.untried) - 4} more; --all shows them", style="dim")
