"""The engine that makes runs on the cores of this machine, in threads: the simulator lets go of Python's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from .. import core, outputs
from ..errors import RunCancelled, RunError
from ..live import Recorder
from .engine import Ended, Engine, Standing, Task


class LocalEngine(Engine):
    """A pool of threads, one for each run at once."""

    def __init__(self, jobs: int | None = None) -> None:
        """A pool for `jobs` runs at once (all cores, if `None`)."""
        self.at_once = jobs or cores()
        self.backlog = 2 * self.at_once
        self._pool = ThreadPoolExecutor(max_workers=self.at_once, thread_name_prefix="run")
        self._pending: dict[Future[None], str] = {}
        self._running: dict[str, Standing] = {}
        self._stop = threading.Event()

    def start(self, task: Task) -> None:
        """Hands the run to the pool."""
        self._pending[self._pool.submit(self._make, task)] = task.run.run_id

    def ended(self, timeout_s: float) -> Sequence[Ended]:
        """The runs that ended; a full disk is raised, since more runs would fail alike."""
        finished, _ = wait(self._pending, timeout=timeout_s, return_when=FIRST_COMPLETED)
        return [self._end_of(future) for future in finished]

    def progress(self) -> Mapping[str, Standing]:
        """The simulator's last report of each active run."""
        return dict(self._running)

    def stop(self) -> None:
        """Stops the simulator in all threads, and waits for them."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _make(self, task: Task) -> None:
        run_id = task.run.run_id
        if self._stop.is_set():
            raise RunCancelled("stopped before it started")

        def told(now: float, duration: float, events: int) -> bool:
            self._running[run_id] = Standing(now / duration if duration else 0.0, events)
            return not self._stop.is_set()

        run = task.run
        with outputs.complete_or_absent(task.out, force=True) as partial:
            live = Recorder(partial, lambda: core.resolve(run.document, run.overrides)[0])
            core.run(run.document, run.overrides, out=partial, tables=task.tables, progress=told, follow=live)
            live.end()

    def _end_of(self, future: Future[None]) -> Ended:
        run_id = self._pending.pop(future)
        events = self._running.pop(run_id, Standing(0.0)).events
        try:
            future.result()
        except RunCancelled:
            raise
        except RunError as error:
            return Ended(run_id, failure=str(error), events=events)
        return Ended(run_id, events=events)


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
