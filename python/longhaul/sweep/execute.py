"""Making the runs of a sweep with an engine; what is finished stays, whatever happens to the rest."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .engine import Ended, Engine, Standing, Task
from .plan import PlannedRun
from .store import Store

#: A run whose worker was lost is tried so many times in all.
TRIES = 3
#: The manifest on disk is at most so old while a sweep runs.
_MANIFEST_S = 10.0


@dataclass
class SweepProgress:
    """How a sweep stands; `fraction` counts running runs by their simulated time, and each run by its weight."""

    total: int
    weights: dict[str, float] = field(default_factory=dict)
    finished: int = 0
    failed: int = 0
    #: Runs that are tried again, since their worker was lost.
    again: int = 0
    done_weight: float = 0.0
    finished_events: int = 0
    #: The runs that are being made.
    running: dict[str, Standing] = field(default_factory=dict)

    @property
    def fraction(self) -> float:
        """Done and under way, as a share of all."""
        total = sum(self.weights.values())
        under_way = sum(standing.share * self.weights[run] for run, standing in self.running.items())
        return (self.done_weight + under_way) / total if total else 1.0

    @property
    def events(self) -> int:
        """Simulated events so far."""
        return self.finished_events + sum(standing.events for standing in self.running.values())


Observer = Callable[[SweepProgress], None]


def execute(
    store: Store,
    runs: Sequence[PlannedRun],
    *,
    engine: Engine,
    tables: bool = False,
    observer: Observer | None = None,
) -> dict[str, str]:
    """Makes the runs; returns the messages of those that failed. Ctrl-C stops the running ones and raises."""
    progress = SweepProgress(len(runs), {run.run_id: run.weight for run in runs})
    failures: dict[str, str] = {}
    tries: Counter[str] = Counter()
    waiting = deque(runs)
    under_way: dict[str, PlannedRun] = {}
    written = time.monotonic()
    try:
        while waiting or under_way:
            while waiting and len(under_way) < engine.backlog:
                run = waiting.popleft()
                under_way[run.run_id] = run
                engine.start(Task(run, tables or run.tables, store.run_path(run)))
            ended = engine.ended(0.1)
            for end in ended:
                run = under_way.pop(end.run_id)
                tries[end.run_id] += 1
                if end.lost is not None and tries[end.run_id] < TRIES:
                    progress.again += 1
                    waiting.append(run)
                else:
                    store.forget(run)
                    _count(end, run, progress, failures)
            if observer:
                progress.running = {run: share for run, share in engine.progress().items() if run in under_way}
                observer(progress)
            if ended and time.monotonic() - written > _MANIFEST_S:
                store.write_manifest(failures)
                written = time.monotonic()
    finally:
        engine.stop()
    return failures


def _count(end: Ended, run: PlannedRun, progress: SweepProgress, failures: dict[str, str]) -> None:
    progress.done_weight += run.weight
    progress.finished_events += end.events
    message = end.failure
    if end.lost is not None:
        message = f"its worker was lost {TRIES} times, the last time with: {end.lost}"
    if message is None:
        progress.finished += 1
    else:
        failures[end.run_id] = message
        progress.failed += 1
