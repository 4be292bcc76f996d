"""The engine that makes runs on the cores of this machine, in threads: the simulator lets go of Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from .. import core, outputs
from ..errors import RunCancelled
from ..live import Recorder
from .engine import Ended, Engine, Standing, Task
from .following import Follower
from .making import Batch, make_summaries, make_with_series
from .processors import cores
from .runs import PlannedRun


class LocalEngine(Engine):
    """A pool of threads, one for each run at once."""

    def __init__(self, jobs: int | None = None) -> None:
        """A pool for `jobs` runs at once (all cores, if `None`)."""
        self.at_once = jobs or cores()
        self.backlog = 2 * self.at_once
        self._pool = ThreadPoolExecutor(max_workers=self.at_once, thread_name_prefix="run")
        self._pending: dict[Future[Batch], Task] = {}
        self._running: dict[str, Standing] = {}
        self._stop = threading.Event()

    def start(self, task: Task) -> None:
        """Hands the task to the pool."""
        self._pending[self._pool.submit(self._make, task)] = task

    def ended(self, timeout_s: float) -> Sequence[Ended]:
        """The tasks that ended; a full disk is raised, since more runs would fail alike."""
        finished, _ = wait(self._pending, timeout=timeout_s, return_when=FIRST_COMPLETED)
        return [Ended(self._pending.pop(future), future.result()) for future in finished]

    def progress(self) -> Mapping[str, Standing]:
        """The simulator's last report of each active run."""
        return dict(self._running)

    def stop(self) -> None:
        """Stops the simulator in all threads, and waits for them."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _make(self, task: Task) -> Batch:
        if self._stop.is_set():
            raise RunCancelled("stopped before it started")
        watch = _Watch(self._running, self._stop, task.place)
        try:
            if not task.tables:
                return make_summaries(task.runs, watch, self.task_s)
            run = task.runs[0]
            with outputs.complete_or_absent(task.place / run.run_id, force=True) as partial:
                live = Recorder(partial, lambda: core.resolve(run.document, run.overrides)[0], run.about)
                batch = make_with_series(run, partial, watch, live)
                live.end()
                if batch.failures:
                    raise _Failed(batch)
                return batch
        except _Failed as failed:
            return failed.batch
        finally:
            watch.end()


class _Failed(Exception):
    """Carries the message of a failed run past its directory, which vanishes."""

    def __init__(self, batch: Batch) -> None:
        super().__init__()
        self.batch = batch


class _Watch:
    """Follows a task from run to run."""

    def __init__(self, running: dict[str, Standing], stop: threading.Event, place: Path) -> None:
        self._running, self._stop, self._place = running, stop, place
        self._run: PlannedRun | None = None
        self._follower: Follower | None = None

    def __call__(self, run: PlannedRun, now: float, duration: float, events: int, delivered: list[int]) -> bool:
        """The simulator's report; `False` once the engine is to stop."""
        if run is not self._run:
            self.end()
            self._run, self._follower = run, Follower(run, self._place)
        self._running[run.run_id] = Standing(now / duration if duration else 0.0, events)
        if delivered and self._follower is not None:
            self._follower(now, duration, delivered)
        return not self._stop.is_set()

    def end(self) -> None:
        """The run is over."""
        if self._run is not None:
            self._running.pop(self._run.run_id, None)
        if self._follower is not None:
            self._follower.end()
        self._run = self._follower = None
