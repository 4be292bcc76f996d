"""`longhaul reproduce`: its options. What they do is up to the study, which is slow to load, and loaded when needed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from .options import ENGINE, JOBS, new_table, output, starting_with
from .running import CHANGED, JSON, QUIET


def _studies() -> Iterable[str]:
    from .. import study

    return study.names()


def reproduce(
    study: str | None = typer.Argument(
        None,
        help="Name of the study; without it, list the studies.",
        show_default=False,
        autocompletion=starting_with(_studies),
    ),
    scale: str | None = typer.Option(
        None,
        "--scale",
        "-s",
        help="Size of the study: tiny, quick or full; highspeed also has grid.  [default: quick]",
        show_default=False,
        autocompletion=starting_with(lambda: ("tiny", "quick", "full", "grid")),
    ),
    figure: list[str] | None = typer.Option(
        None,
        "--figure",
        "-f",
        metavar="E5",
        help="Run only this: an experiment, or what a figure or target needs; may be repeated, or a list with commas.",
    ),
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        help="Directory of the study's runs, all scales  [default: results/STUDY]",
        show_default=False,
    ),
    jobs: int | None = JOBS,
    engine: str = ENGINE,
    shard: str | None = typer.Option(
        None, "--shard", metavar="I/N", help="Run only the I-th of N parts, for job arrays."
    ),
    list_: bool = typer.Option(False, "--list", help="List experiments, runs, figures and targets; run nothing."),
    no_run: bool = typer.Option(False, "--no-run", help="Run nothing: evaluate and draw the finished runs."),
    changed: str = CHANGED,
    document: Path | None = typer.Option(
        None,
        "--document",
        metavar="DIR",
        help="Write the study's Markdown document and its figures there, from all scales that were run.",
    ),
    emulated: bool = typer.Option(
        False,
        "--emulated",
        help="With real packets of this machine's kernel, through longhaul-emu, in real time; compares with the same scenarios simulated. Needs root.",
    ),
    emulator: Path | None = typer.Option(
        None,
        "--emulator",
        metavar="FILE",
        help="The emulator's program  [default: target/release/longhaul-emu]",
        show_default=False,
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Repeat a published study: draw its figures, and compare its numbers with ours. An interrupted study continues where it stopped."""
    from ..study import Request, find

    if study is None:
        _print_studies(as_json)
        return
    find(study).reproduce(
        Request(
            scale=scale or "quick", figure=figure, out=out, jobs=jobs, engine=engine, shard=shard, contents=list_, no_run=no_run,
            changed=changed, document=document, emulated=emulated, emulator=emulator, as_json=as_json, quiet=quiet,
        )
    )  # fmt: skip


def _print_studies(as_json: bool) -> None:
    """Every study that there is."""
    from rich.markup import escape

    from ..files import json_text
    from ..study import find, names

    found = [find(name) for name in names()]
    if as_json:
        content = [{"name": s.name, "title": s.title, "source": s.source, "scales": dict(s.scales)} for s in found]
        typer.echo(json_text(content), nl=False)
        return
    table = new_table("Study", "Title", "Paper")
    for study in found:
        table.add_row(study.name, escape(study.title), escape(study.source))
    output().print(table)
    typer.echo("longhaul reproduce STUDY --list shows what a study consists of")
