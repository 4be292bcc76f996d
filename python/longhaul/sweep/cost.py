"""The expected cost of a sweep, from short probe runs of some of its points."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import core
from ..errors import LonghaulError, RunCancelled
from . import log
from .making import Batch, make_summaries, make_with_series
from .runs import PlannedRun

#: A probe of a point stops after so many seconds of wall-clock time; after so many no further run is begun.
PROBE_S, _BEGUN_S = 2.0, 0.2
#: Runs of a point that are probed at most.
_RUNS = 20


@dataclass(frozen=True)
class Cost:
    """An estimate: CPU seconds of all runs, and wall-clock seconds with so many jobs."""

    runs: int
    cpu_s: float
    wall_s: float
    probed: int


def estimate(runs: Sequence[PlannedRun], jobs: int, tables: bool = False, most_probes: int = 5) -> Cost:
    """Probes up to `most_probes` points spread over the sweep for a short time each and scales up.

    What is probed is all that is done for a run: it is made, kept, and read for the tables. A run that is not finished after 2 s is
    scaled by simulated time. Slow start at the beginning makes fewer packets than what follows, so that long runs may cost more than
    the estimate.
    """
    by_cell: dict[int, list[PlannedRun]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)
    cells = list(by_cell.values())
    step = max(1, (len(cells) - 1) // max(1, most_probes - 1)) if len(cells) > most_probes else 1
    chosen = {id(cell): cell for cell in (cells[::step] + cells[-1:])[: most_probes + 1]} if cells else {}
    probes = [_probe(cell[:_RUNS], tables) for cell in chosen.values()]
    count = sum(probe.runs for probe in probes)
    # Points count alike, however many of their runs there was time for.
    made = sum(probe.made_s for probe in probes) / len(probes) if probes else 0.0
    read = sum(probe.read_s for probe in probes) / len(probes) if probes else 0.0
    at_once = max(1, min(jobs, len(runs) or 1))
    return Cost(len(runs), (made + read) * len(runs), (made / at_once + read) * len(runs), count)


@dataclass(frozen=True)
class _Probe:
    """CPU seconds that a run takes: to be made, in as many processors as there are, and to be put into the tables, in one."""

    runs: int
    made_s: float
    read_s: float


def _probe(runs: Sequence[PlannedRun], tables: bool) -> _Probe:
    began, spent = time.monotonic(), time.thread_time()
    reached, whole = 0.0, 1.0

    def told(_run: PlannedRun, now: float, duration: float, _events: int, _delivered: list[int]) -> bool:
        nonlocal reached, whole
        reached, whole = now, duration
        return time.monotonic() - began < PROBE_S

    try:
        if tables:
            with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
                batch = make_with_series(runs[0], Path(folder), told)
        else:
            batch = make_summaries(runs, told, _BEGUN_S)
    except RunCancelled:
        return _Probe(1, (time.thread_time() - spent) * whole / max(reached, 1e-9), 0.0)
    if batch.failures:
        raise LonghaulError(f"a probe run failed: {next(iter(batch.failures.values()))}")
    for group, _ in batch.groups:
        log.runs_frame(group)
    made_s = (time.thread_time() - spent) / batch.done
    return _Probe(batch.done, made_s, _read(batch) / batch.done)


def _read(batch: Batch) -> float:
    """CPU seconds that it takes to make rows of a table of these runs."""
    spent = time.thread_time()
    core.flat_columns([run.summary for group, _ in batch.groups for run in group.runs])
    return time.thread_time() - spent
