"""What a sweep will cost, from a short probe run of its largest and smallest point."""

from __future__ import annotations

import time
import tomllib
from dataclasses import dataclass

from .. import core
from ..errors import RunCancelled
from .plan import PlannedRun

#: A probe stops after so many seconds of wall-clock time.
PROBE_S = 2.0


@dataclass(frozen=True)
class Cost:
    """An estimate: CPU seconds of all runs, and wall-clock seconds with so many jobs."""

    runs: int
    cpu_s: float
    wall_s: float
    probed: int


def estimate(runs: list[PlannedRun], jobs: int, most_probes: int = 5) -> Cost:
    """Probes up to `most_probes` points spread over the sweep for a short time each and scales up.

    A probe runs until it is finished or 2 s are over, and is then scaled by simulated time. Slow start at the beginning
    makes fewer packets than what follows, so that long runs may cost more than the estimate.
    """
    by_cell: dict[int, PlannedRun] = {}
    for run in runs:
        by_cell.setdefault(run.cell, run)
    cells = list(by_cell.values())
    step = max(1, (len(cells) - 1) // max(1, most_probes - 1)) if len(cells) > most_probes else 1
    probes = (cells[::step] + cells[-1:])[: most_probes + 1] if cells else []
    unique = list({run.run_id: run for run in probes}.values())
    costs = [_probe(run) for run in unique]
    mean = sum(costs) / len(costs) if costs else 0.0
    return Cost(len(runs), mean * len(runs), mean * len(runs) / max(1, min(jobs, len(runs) or 1)), len(unique))


def _probe(run: PlannedRun) -> float:
    """Wall-clock seconds of the whole run on one core."""
    began = time.monotonic()
    reached = 0.0

    def told(now: float, _duration: float, _events: int) -> bool:
        nonlocal reached
        reached = now
        return time.monotonic() - began < PROBE_S

    try:
        core.run(run.document, run.overrides, tables=False, progress=told)
        return time.monotonic() - began
    except RunCancelled:
        spent = time.monotonic() - began
        duration = seconds_of(tomllib.loads(core.resolve(run.document, run.overrides)[0])["run"]["duration"])
        return spent * duration / max(reached, 1e-9)


def seconds_of(text: str) -> float:
    """A resolved duration in seconds."""
    from ..units import read_quantity

    value = read_quantity(text)
    return value[0] if value else 0.0
