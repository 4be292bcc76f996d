"""`longhaul run` and `longhaul sweep`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.markup import escape

from .. import core, outputs
from ..document import Document, read
from ..errors import LonghaulError
from ..files import json_text
from ..large import check
from ..large import estimate as estimate_size
from ..progress import of_run, of_sweep
from ..running import run_document
from ..sweep import (
    ENGINES,
    POLICIES,
    Plan,
    PlannedRun,
    Store,
    SweepResult,
    cores,
    make_engine,
    make_plan,
    run_plan,
    start_of,
)
from ..sweep.cost import estimate
from ..sweep.metrics import check_metrics
from ..units import counted, quantity
from . import checking, options, tables
from .advising import advise_and_print
from .options import ENGINE, JOBS, messages
from .terminal import exit_code

SCENARIO = typer.Argument(
    ..., help="Scenario file: TOML, or JSON if it ends in .json; - is standard input.", show_default=False
)
SET = typer.Option(
    None,
    "--set",
    metavar="PATH=VALUE",
    help='Override a setting, as in --set link.satellite.delay="120 ms".',
    autocompletion=options.setting_paths,
)
SEED = typer.Option(None, "--seed", min=0, help="Seed of all random streams (of a sweep: of the first replication).")
OUT = typer.Option(None, "--out", "-o", help="Result directory  [default: results/NAME-ID]", show_default=False)
LARGE = typer.Option(
    False,
    "--large",
    help="Allow an estimated size of the result of more than 500 MB, and of the memory of more than 4 GB.",
)
FORCE = typer.Option(False, "--force", help="Replace another Longhaul result in the result directory.")
JSON = typer.Option(False, "--json", help="Print JSON instead of tables.")
QUIET = typer.Option(False, "--quiet", "-q", help="Print nothing but errors.")
CHANGED = typer.Option(
    "refuse",
    "--changed",
    metavar="refuse|check|rerun",
    help="Treatment of finished runs from another build of the simulator: refuse them, repeat a few and keep all if"
    " every byte is equal, or repeat all.",
)
BASELINE = options.BASELINE
REPORT = typer.Option(False, "--report", help="Write report.html into the result directory, replacing an earlier one.")


def run(
    scenario: Path = SCENARIO,
    set: list[str] | None = SET,
    seed: int | None = SEED,
    out: Path | None = OUT,
    force: bool = FORCE,
    no_tables: bool = typer.Option(False, "--no-tables", help="Write no time series, only the summary."),
    report: bool = REPORT,
    advise: bool = typer.Option(False, "--advise", help="Then try remedies, as `longhaul advise` does."),
    expect: list[str] | None = checking.EXPECT,
    strict: bool = checking.STRICT,
    junit: Path | None = checking.JUNIT,
    large: bool = LARGE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Run one scenario: write its result directory, print its summary."""
    wanted = checking.read(expect, junit, strict)
    document = read(scenario)
    changes = _changes(set, seed)
    resolved, run_id = core.resolve(document, changes)
    _note(check(estimate_size(resolved, not no_tables), large), quiet)
    if document.sweep is not None and not quiet:
        messages.print(
            "note: the \\[sweep] table is for `longhaul sweep`; this is the scenario's own point", style="dim"
        )
    out = out or Path("results") / f"{_slug(document)}-{run_id[:8]}"
    with of_run(messages, not quiet and not as_json, "simulating") as (progress, drawing):
        result = run_document(
            document,
            changes,
            out=out,
            tables=not no_tables,
            force=force,
            report=report,
            large=large,
            progress=progress,
            drawing=drawing,
        )
    outcomes = checking.outcomes_of(result, wanted)
    if as_json:
        expected = {"expectations": [one.to_dict() for one in outcomes]} if outcomes else {}
        typer.echo(json_text({**result.summary, **expected}), nl=False)
    elif not quiet:
        tables.print_run(options.output(), result, out)
        typer.echo(f"result: {out}")
        _print_report(out)
    if advise:
        from ..advice import PLACES

        advise_and_print(out, [], can=list(PLACES), as_json=as_json)
    checking.settle(outcomes, result.warnings, strict=strict, junit=junit, suite=result.name, quiet=quiet)


def sweep(
    scenario: Path = SCENARIO,
    grid: list[str] | None = typer.Option(
        None,
        "--grid",
        metavar="PATH=[VALUES]",
        help="Values to sweep, as in --grid 'flow.0.count=[1, 10, 50]'. Replaces what the scenario has under sweep.",
    ),
    replications: int | None = typer.Option(None, "--replications", "-n", min=1, help="Seeds at each point."),
    set: list[str] | None = SET,
    seed: int | None = SEED,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Result directory  [default: results/NAME-sweep]", show_default=False
    ),
    jobs: int | None = JOBS,
    engine: str = ENGINE,
    shard: str | None = typer.Option(
        None, "--shard", metavar="I/N", help="Run only the I-th of N parts, for job arrays."
    ),
    resume: bool = typer.Option(
        False,
        "--resume",
        help="Continue a sweep that was interrupted, or has more points or seeds now: run the missing runs.",
    ),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Count the runs and estimate their cost from a short probe; write nothing."
    ),
    metrics: str | None = typer.Option(
        None,
        "--metrics",
        metavar="A,B",
        help="Columns of the table, and the first figures of the report, as in --metrics goodput_bps,group.NAME.loss_rate; all are in"
        " cells.parquet.",
    ),
    baseline: list[str] | None = BASELINE,
    with_tables: bool = typer.Option(False, "--tables", help="Keep each run's time series too."),
    changed: str = CHANGED,
    force: bool = FORCE,
    report: bool = REPORT,
    expect: list[str] | None = checking.EXPECT,
    strict: bool = checking.STRICT,
    junit: Path | None = checking.JUNIT,
    large: bool = LARGE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Run every point of a sweep with several seeds, on all cores; finished runs survive an interruption."""
    wanted = checking.read(expect, junit, strict)
    document = read(scenario)
    changes = _changes(set, None)
    plan = make_plan(document, changes, grid=options.grid(grid), replications=replications, seed=seed)
    part = options.shard(shard)
    columns = options.metrics(metrics)
    beside = options.baseline(baseline)
    options.one_of("--changed", changed, POLICIES)
    options.one_of("--engine", engine, ENGINES)
    out = out or Path("results") / f"{_slug(document)}-sweep"
    if columns:
        check_metrics(plan, columns)
    _note(check(plan.largest(with_tables), large), quiet)
    if dry_run:
        store = Store(out, plan)
        going_on = resume and store.continues(resume=True, join=False, force=False)
        runs = store.missing(part, with_tables) if going_on else plan.shard(*part) if part else plan.unique
        print_cost(plan, runs, part, going_on, at_once(engine, jobs), with_tables, as_json)
        return
    result = _run_sweep(
        document, plan, out, part, jobs, engine, with_tables, resume, force, changed, report, columns or (), beside, large, quiet or as_json
    )  # fmt: skip
    outcomes = checking.outcomes_of(result, wanted) if wanted and not part else []
    if as_json:
        expected = {"expectations": [one.to_dict() for one in outcomes]} if outcomes else {}
        typer.echo(
            json_text(
                {
                    **expected,
                    "out": str(out),
                    "complete": result.complete,
                    "done": result.done,
                    "total": result.total,
                    "cells": result.cells.to_dicts(),
                }
            ),
            nl=False,
        )
    elif not quiet:
        tables.print_sweep(options.output(), result, columns, beside)
        if resume or part:
            typer.echo(_standing(result))
        typer.echo(f"result: {out}")
        _print_report(out)
    warned = [warning for run in result.first_of_points() for warning in result.run(run).warnings] if strict else []
    checking.settle(outcomes, warned, strict=strict, junit=junit, suite=result.name, quiet=quiet)


def _run_sweep(
    document: Document,
    plan: Plan,
    out: Path,
    part: tuple[int, int] | None,
    jobs: int | None,
    engine: str,
    with_tables: bool,
    resume: bool,
    force: bool,
    changed: str,
    report: bool,
    columns: Sequence[str],
    baseline: dict[str, str] | None,
    large: bool,
    quiet: bool,
) -> SweepResult:
    with (
        kept_if_interrupted(out, "repeat the command with --resume to continue"),
        of_sweep(messages, not quiet, "sweeping", start_of(engine)) as (observer, drawing),
    ):
        return run_plan(
            document,
            plan,
            out,
            shard=part,
            jobs=jobs,
            engine=engine,
            tables=with_tables,
            resume=resume,
            force=force,
            changed=changed,
            report=report,
            metrics=columns,
            baseline=baseline,
            large=large,
            observer=observer,
            drawing=drawing,
        )


@contextmanager
def kept_if_interrupted(out: Path, remedy: str) -> Iterator[None]:
    """Turns an interruption into a message that names what is kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        error = LonghaulError(f"interrupted; finished runs are kept in {out}; {remedy}")
        error.exit_code = exit_code(interrupt)  # type: ignore[attr-defined]
        raise error from None


def _note(text: str | None, quiet: bool) -> None:
    if text and not quiet:
        messages.print(f"[yellow]note:[/yellow] {escape(text)}")


def _print_report(out: Path) -> None:
    if outputs.has_report(out):
        typer.echo(f"report: {outputs.report_of(out)}")


def at_once(engine: str, jobs: int | None) -> int:
    """How many runs the engine would make at once; threads of this machine gain nothing beyond its processors."""
    with make_engine(engine, jobs) as made:
        return min(made.at_once, cores()) if engine == "local" else made.at_once


def _standing(result: SweepResult) -> str:
    """How much of the sweep is there now, and whether there was anything to do."""
    missing = result.total - result.done
    text = f"{result.done} of {counted(result.total, 'run')} are here" + (f", {missing} missing" if missing else "")
    return text if result.made else f"nothing was missing{' in this shard' if missing else ''}: {text}"


def print_cost(
    plan: Plan,
    runs: Sequence[PlannedRun],
    part: tuple[int, int] | None,
    going_on: bool,
    jobs: int,
    with_tables: bool,
    as_json: bool,
) -> None:
    """Prints how many runs a plan has, and what they cost by a short probe."""
    cost = estimate(runs, jobs, with_tables)
    if as_json:
        content = {
            "points": plan.cells,
            "replications": plan.replications,
            "runs": cost.runs,
            "cpu_s": cost.cpu_s,
            "wall_s": cost.wall_s,
            "jobs": jobs,
        }
        typer.echo(json_text(content), nl=False)
        return
    typer.echo(
        f"{counted(plan.cells, 'point')} × {counted(plan.replications, 'seed')} ="
        f" {counted(len(plan.unique), 'run')}"
        + (f", {cost.runs}{' missing' if going_on else ''}" if part or going_on else "")
        + (" in this shard" if part else "")
    )
    if not runs:
        typer.echo("nothing is missing")
        return
    typer.echo(
        f"about {quantity(cost.cpu_s, 's', 2)} of CPU time, {quantity(cost.wall_s, 's', 2)} with {jobs} at once"
        f" (from {counted(cost.probed, 'probe run')})"
    )


def _changes(given: list[str] | None, seed: int | None) -> list[tuple[str, str]]:
    changes = options.settings(given)
    return changes if seed is None else [*changes, ("run.seed", str(seed))]


def _slug(document: Document) -> str:
    """A directory name from the scenario file's name."""
    stem = Path(document.source).stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.") or "run"
