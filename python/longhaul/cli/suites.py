"""`longhaul suite`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import typer

from ..errors import LonghaulError
from ..progress import of_sweep
from ..sweep import ENGINES, POLICIES, start_of
from ..units import counted
from . import options
from .options import ENGINE, JOBS, messages, new_table, output, starting_with
from .running import CHANGED, JSON, QUIET, at_once, kept_if_interrupted, print_cost


def _names() -> Iterable[str]:
    from .. import suites

    return suites.NAMES


def _all(kind: str) -> Iterable[str]:
    from .. import listing

    return ["all", *(str(one["name"]) for one in listing.catalogue(kind))]


def suite(
    name: str | None = typer.Argument(
        None,
        help="Name of the suite, or a file in Python with one; without it, list the suites.",
        show_default=False,
        autocompletion=starting_with(_names),
    ),
    congestion: list[str] | None = typer.Option(
        None,
        "--congestion",
        "-c",
        metavar="NAME|FILE.toml",
        autocompletion=starting_with(lambda: _all("congestion")),
        help="Candidate: a congestion control, or a file with settings of \\[tcp]; may be repeated, or a list with commas.",
    ),
    policy: list[str] | None = typer.Option(
        None,
        "--policy",
        metavar="FILE.py:CLASS",
        help="Candidate: a congestion control of your own, a class in Python; may be repeated.",
    ),
    queue: list[str] | None = typer.Option(
        None,
        "--queue",
        metavar="NAME|FILE.toml",
        autocompletion=starting_with(lambda: _all("queues")),
        help="Candidate of a suite of queues: a discipline, or a file with settings of \\[queue]; may be repeated, or a list with commas.",
    ),
    quick: bool = typer.Option(False, "--quick", help="Three seeds and shorter runs, to look at; else five seeds."),
    seeds: int | None = typer.Option(
        None, "--seeds", "-n", min=1, help="Seeds at each point; a verdict needs two or more."
    ),
    only: list[str] | None = typer.Option(
        None, "--only", metavar="A,B", help="Only these situations; of NAME/OTHER all that begin with NAME."
    ),
    seed: int = typer.Option(1, "--seed", min=0, help="The first seed."),
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        help="Result directory; runs that are there are kept  [default: results/suite-NAME]",
        show_default=False,
    ),
    jobs: int | None = JOBS,
    engine: str = ENGINE,
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Count the runs and estimate their cost from a short probe; write nothing."
    ),
    changed: str = CHANGED,
    force: bool = typer.Option(False, "--force", help="Start over, and replace what is in the result directory."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Hold a congestion control or a queue against known situations, beside others: in ten lines, where it is better, worse or unfair."""
    from .. import suites
    from ..suites import entries, running, written

    if name is None:
        _print_suites(as_json)
        return
    options.one_of("--changed", changed, POLICIES)
    options.one_of("--engine", engine, ENGINES)
    chosen = suites.find(name)
    words = options.words(queue if chosen.kind == "queue" else congestion)
    wrong, right = ("--congestion", "--queue") if chosen.kind == "queue" else ("--queue", "--congestion")
    if congestion if chosen.kind == "queue" else queue:
        raise LonghaulError(f"{wrong}: the candidates of the suite {chosen.name} are named by {right}")
    if engine == "ray" and policy:
        raise LonghaulError("--policy: a class in Python runs in the process that has it, so not on a Ray cluster")
    candidates, every = entries.of_suite(chosen, words, policy or ())
    scale = chosen.scales["quick" if quick else "whole"]
    if seeds is not None:
        scale = replace(scale, seeds=seeds)
    made = running.plan(chosen, candidates, every, scale, only=options.words(only), first_seed=seed)
    out = out or Path("results") / f"suite-{chosen.name}"
    if dry_run:
        print_cost(made.plan, made.plan.unique, None, False, at_once(engine, jobs), False, as_json)
        return
    running.try_classes(made)
    with (
        kept_if_interrupted(out, "repeat the command to continue"),
        of_sweep(messages, not (quiet or as_json), f"suite {chosen.name}", start_of(engine)) as (observer, _),
    ):
        outcome = running.run(made, out, jobs=jobs, engine=engine, force=force, changed=changed, observer=observer)
    if as_json:
        from ..files import json_text

        typer.echo(json_text(written.content(outcome)), nl=False)
    elif not quiet:
        for text in outcome.notes:
            messages.print(f"note: {text}", markup=False, style="dim")
        for one in made.candidates:
            for line in written.lines(outcome, one.name):
                typer.echo(line)
        typer.echo(f"result: {out} (page: {out / 'report.html'}; {counted(outcome.runs, 'run')} made now)")


def _print_suites(as_json: bool) -> None:
    """Every suite that there is."""
    from rich.markup import escape

    from .. import listing
    from ..files import json_text

    found = listing.catalogue("suites")
    if as_json:
        typer.echo(json_text(found), nl=False)
        return
    table = new_table("Suite", "Asks", "Source")
    for one in found:
        table.add_row(one["name"], escape(one["summary"]), escape(one["source"]))
    output().print(table)
    typer.echo(
        "`longhaul suite NAME --congestion bbr --quick` runs one; `longhaul suite NAME --dry-run` counts its runs"
    )
