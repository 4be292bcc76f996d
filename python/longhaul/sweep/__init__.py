"""Many runs of one scenario: every point of a grid or list, several seeds each, on all cores, resumable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import confined, outputs
from ..document import Document
from ..errors import RunError
from ..large import check
from ..scenario import Scenario, as_document, overrides
from ..values import folder, whole, word
from .changed import POLICIES, settle
from .cost import Cost
from .differences import check_baseline
from .engine import ENGINES, Engine, Standing, make_engine, start_of
from .execute import Observer, SweepProgress, execute
from .plan import Plan, make_plan
from .processors import cores
from .result import SweepResult
from .runs import PlannedRun, Point, unique
from .store import Store

__all__ = [
    "ENGINES", "POLICIES", "Cost", "Engine", "Plan", "PlannedRun", "Point", "Standing", "Store", "SweepProgress", "SweepResult", "cores",
    "make_engine", "make_plan", "make_runs", "run_plan", "settle", "start_of", "sweep", "unique",
]  # fmt: skip


def sweep(
    scenario: Scenario | Document | str | Path,
    out: str | Path,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    points: Sequence[Mapping[str, Any]] | None = None,
    replications: int | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    engine: str | Engine = "local",
    tables: bool = False,
    resume: bool = False,
    force: bool = False,
    changed: str = "refuse",
    large: bool = False,
    observer: Observer | None = None,
) -> SweepResult:
    """Runs a sweep into the directory `out` and returns its result.

    The scenario's own `[sweep]` is used where `grid`, `points` and `replications` are not given. `resume=True` goes on
    with a sweep that was interrupted, or has more points or seeds now; only what is missing is run. `engine` makes the runs:
    "local" on this machine's cores, "ray" on a Ray cluster; the results are the same. `jobs` is the number of runs at once (all cores).
    `changed` sets what to do with runs from another build of the simulator: "refuse", "rerun", or "check" (make a few again, and
    keep all if every byte is the same). Runs whose result would take more than 500 MB, or 4 GB of memory, are made only with `large=True`.
    """
    word(changed, "changed", POLICIES)
    jobs = jobs if jobs is None else whole(jobs, "jobs", 1)
    if not isinstance(engine, Engine):
        word(engine, "engine", ENGINES)
    document = as_document(scenario)
    plan = make_plan(document, overrides(set), grid=grid, points=points, replications=replications, seed=seed)
    return run_plan(
        document,
        plan,
        folder(out),
        jobs=jobs,
        engine=engine,
        tables=tables,
        resume=resume,
        force=force,
        changed=changed,
        large=large,
        observer=observer,
    )


def run_plan(
    document: Document,
    plan: Plan,
    out: Path,
    *,
    shard: tuple[int, int] | None = None,
    jobs: int | None = None,
    engine: str | Engine = "local",
    tables: bool = False,
    resume: bool = False,
    force: bool = False,
    changed: str = "refuse",
    report: bool = False,
    metrics: Sequence[str] = (),
    baseline: Mapping[str, str] | None = None,
    large: bool = False,
    observer: Observer | None = None,
    drawing: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Runs what of a plan is missing in `out`, or of one shard of it (number from 1, count).

    Runs in `out` that are not of this plan are kept, and left out of its tables. A report that is there is made again; it
    begins with `metrics`, and compares with the points of `baseline` (values of parameters by path) or with the first.
    """
    check_baseline(plan, baseline)
    result = make_runs(
        plan, out, document, shard=shard, jobs=jobs, engine=engine, tables=tables, resume=resume, force=force, changed=changed,
        large=large, observer=observer,
    )  # fmt: skip
    if report or outputs.has_report(out):
        result.report(outputs.report_of(out), drawing, metrics, baseline=baseline, force=force)
    return result


def make_runs(
    plan: Plan,
    out: Path,
    document: Document | None = None,
    *,
    shard: tuple[int, int] | None = None,
    jobs: int | None = None,
    engine: str | Engine = "local",
    tables: bool = False,
    resume: bool = False,
    force: bool = False,
    changed: str = "refuse",
    large: bool = False,
    observer: Observer | None = None,
) -> SweepResult:
    """As `run_plan`, without a report; `document` is what the plan varies, `None` where its points have documents of their own."""
    check(plan.largest(tables), large)
    confined.check_tables()
    store = Store(out, plan)
    failures: dict[str, str] = {}
    with make_engine(engine, jobs) if isinstance(engine, str) else engine as maker:
        # What may refuse comes first: a refusal leaves the directory as it was.
        if store.admit(resume=resume, join=shard is not None, force=force):
            settle(store, changed)
        store.open(document, resume=resume, join=shard is not None, force=force)
        missing = store.missing(shard, tables)
        try:
            failures = execute(store, missing, engine=maker, tables=tables, observer=observer)
        finally:
            store.finish(failures, fold=shard is None)
    if failures:
        first = next(iter(failures.values()))
        raise RunError(
            f"{len(failures)} of {len(missing)} runs failed, the first with: {first}; see {out / 'manifest.json'}"
        )
    return SweepResult(out, made=len(missing))
