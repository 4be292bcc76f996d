"""Further seeds, by a rule: where the verdict on a target depends on one of its seeds, its points get more.

A point begins with `Case.replications` seeds. When these are there, each target is judged again with each single seed left out. If no
verdict changes, the target is settled. Otherwise every random point that it reads gets twice as many seeds, up to `Case.most`, and the
target is judged again. A number, unlike an ordering or a trend, needs `SEEDS` of them at any rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from .chance import SEEDS
from .model import Study, Target
from .results import NotRun, Results, Row
from .verdict import Verdict


def unsettled(study: Study, results: Results, targets: Collection[str] | None = None) -> dict[str, list[Row]]:
    """The targets that need further seeds, with the runs that they read: of all, or of the targets with these names."""
    without = _without_each(results)
    found = {}
    for target in study.targets:
        if targets is not None and target.id not in targets:
            continue
        results.read.clear()
        before = _verdict(target, results)
        read = [row for row in results.rows if row.run_id in results.read]
        if before is None or not read:
            continue
        too_few = target.kind == "exact" and _fewest(read) < SEEDS
        if too_few or any(_verdict(target, fewer) not in (before, None) for fewer in without):
            found[target.id] = read
    results.read.clear()
    return found


def points(rows: list[Row]) -> set[tuple[object, ...]]:
    """The points that runs belong to, as `point` names them."""
    return {point(row) for row in rows if row.random}


def point(row: Row) -> tuple[object, ...]:
    """What names a run's point: its experiment, its reading and its parameters."""
    return (row.experiment, row.reading, *row.parameters.items())


def _fewest(rows: list[Row]) -> int:
    """The smallest number of seeds at the random points of some runs."""
    return min(Counter(point(row) for row in rows if row.random).values(), default=SEEDS)


def _without_each(results: Results) -> list[Results]:
    """The results without each of the seeds in turn; points with a single run keep it."""
    runs = Counter(point(row) for row in results.rows if row.metrics is not None)
    seeds = sorted({row.seed for row in results.rows if row.random})
    return [
        Results(results.scale, [row for row in results.rows if row.seed != seed or runs[point(row)] < 2])
        for seed in seeds
    ]


def _verdict(target: Target, results: Results) -> Verdict | None:
    """The verdict, or none where runs are missing or a comparison is not defined."""
    try:
        return target.judge(results).verdict
    except (NotRun, ArithmeticError, LookupError, ValueError):
        return None
