"""The cost of a study: CPU time of finished runs, and an estimate for all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .results import Results, Row


@dataclass(frozen=True)
class Cost:
    """Runs and CPU seconds of one experiment; runs that several experiments share count with the first."""

    experiment: str
    runs: int
    done: int
    seconds: float
    #: CPU seconds of all its runs, with missing ones estimated by their weight; `None` without finished runs.
    whole: float | None


def costs(results: Results, experiments: Sequence[str]) -> list[Cost]:
    """The cost of each experiment."""
    found: dict[str, Row] = {}
    for row in results.rows:
        found.setdefault(row.run_id, row)
    rows = list(found.values())
    done = [row for row in rows if row.metrics is not None]
    overall = _rate(done)
    return [_cost(name, [row for row in rows if row.experiment == name], overall) for name in experiments]


def _cost(experiment: str, rows: Sequence[Row], overall: float | None) -> Cost:
    done = [row for row in rows if row.metrics is not None]
    seconds = sum(row.cpu_s for row in done)
    rate = _rate(done) or overall
    missing = sum(row.weight for row in rows if row.metrics is None)
    whole = seconds if not missing else None if rate is None else seconds + missing * rate
    return Cost(experiment, len(rows), len(done), seconds, whole)


def _rate(done: Sequence[Row]) -> float | None:
    """Seconds per unit of weight."""
    weight = sum(row.weight for row in done)
    return sum(row.cpu_s for row in done) / weight if weight else None
