"""Running the runs of a sweep on several cores; what is finished stays, whatever happens to the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from .. import core, outputs
from ..errors import OutputError, RunCancelled, RunError
from .plan import PlannedRun
from .store import Store


@dataclass
class SweepProgress:
    """How a sweep stands; `fraction` counts running runs by their simulated time, and each run by its weight."""

    total: int
    weights: dict[str, float] = field(default_factory=dict)
    finished: int = 0
    failed: int = 0
    done_weight: float = 0.0
    #: Share of the simulated time, and events so far, of each run that is under way.
    running: dict[str, float] = field(default_factory=dict)
    running_events: dict[str, int] = field(default_factory=dict)
    finished_events: int = 0

    @property
    def fraction(self) -> float:
        """Done and under way, as a share of all."""
        total = sum(self.weights.values())
        under_way = sum(share * self.weights[run] for run, share in list(self.running.items()))
        return (self.done_weight + under_way) / total if total else 1.0

    @property
    def events(self) -> int:
        """Simulated events so far."""
        return self.finished_events + sum(list(self.running_events.values()))

    def end(self, run_id: str) -> None:
        """A run is over."""
        self.running.pop(run_id, None)
        self.finished_events += self.running_events.pop(run_id, 0)
        self.done_weight += self.weights[run_id]


Observer = Callable[[SweepProgress], None]


def execute(
    store: Store,
    runs: Sequence[PlannedRun],
    *,
    jobs: int,
    tables: bool = False,
    observer: Observer | None = None,
) -> dict[str, str]:
    """Makes the runs; returns the messages of those that failed. Ctrl-C stops the running ones and raises.

    The simulator lets go of Python's lock, so threads use all cores. A full disk ends the sweep: more runs would fail alike.
    """
    stop = threading.Event()
    progress = SweepProgress(len(runs), {run.run_id: run.weight for run in runs})
    failures: dict[str, str] = {}

    def one(run: PlannedRun) -> None:
        if stop.is_set():
            raise RunCancelled("stopped before it began")

        def told(now: float, duration: float, events: int) -> bool:
            progress.running_events[run.run_id] = events
            progress.running[run.run_id] = now / duration if duration else 0.0
            return not stop.is_set()

        with outputs.complete_or_absent(store.run_path(run)) as partial:
            store.forget(run)
            core.run(run.document, run.overrides, out=partial, tables=tables or run.tables, progress=told)

    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="run")
    pending: dict[Future[None], PlannedRun] = {}
    queue = iter(runs)
    last_manifest = time.monotonic()
    try:
        _fill(pool, pending, queue, one, jobs)
        while pending:
            finished, _ = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
            for future in finished:
                run = pending.pop(future)
                progress.end(run.run_id)
                _take(future, run, progress, failures)
            _fill(pool, pending, queue, one, jobs)
            if observer:
                observer(progress)
            if finished and time.monotonic() - last_manifest > 10:
                store.write_manifest(failures)
                last_manifest = time.monotonic()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
    return failures


def _fill(
    pool: ThreadPoolExecutor,
    pending: dict[Future[None], PlannedRun],
    queue: Iterator[PlannedRun],
    one: Callable[[PlannedRun], None],
    jobs: int,
) -> None:
    """Keeps the workers busy, and no more runs submitted than that."""
    while len(pending) < 2 * jobs:
        run = next(queue, None)
        if run is None:
            return
        pending[pool.submit(one, run)] = run


def _take(future: Future[None], run: PlannedRun, progress: SweepProgress, failures: dict[str, str]) -> None:
    try:
        future.result()
        progress.finished += 1
    except (RunCancelled, OutputError):
        raise
    except RunError as error:
        failures[run.run_id] = str(error)
        progress.failed += 1
