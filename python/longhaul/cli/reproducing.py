"""`longhaul reproduce`: its options. What it does is in `studying`, which is slow to load, and loaded when needed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from .options import ENGINE, JOBS, starting_with
from .running import CHANGED, JSON, QUIET


def _studies() -> Iterable[str]:
    from ..studies import names

    return names.STUDIES


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
    from . import studying

    if study is None:
        studying.print_studies(as_json)
        return
    request = studying.Request(
        study, scale or "quick", figure, out, jobs, engine, shard, list_, no_run, changed, document, emulator, as_json, quiet
    )  # fmt: skip
    if emulated:
        from . import emulating

        emulating.reproduce(request)
    else:
        studying.reproduce(request)
