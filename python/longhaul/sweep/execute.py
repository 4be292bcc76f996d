"""Making the runs of a sweep with an engine; what is finished stays, whatever happens to the rest."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import log
from .engine import Ended, Engine, Standing, Task
from .runs import PlannedRun, places_of, total_weight
from .store import Store

#: A run whose worker was lost is tried so many times in all.
TRIES = 3
#: The manifest on disk is at most so old while a sweep runs.
_MANIFEST_S = 2.0
#: Tables are written while a sweep runs, for those who look, in at most this share of the time.
_TABLES_SHARE = 0.02


@dataclass
class SweepProgress:
    """How a sweep stands; `fraction` counts running runs by their simulated time, and each run by its weight."""

    total: int
    total_weight: float = 0.0
    finished: int = 0
    failed: int = 0
    #: Runs that are tried again, since their worker was lost.
    again: int = 0
    done_weight: float = 0.0
    finished_events: int = 0
    #: The runs that are being made.
    running: dict[str, Standing] = field(default_factory=dict)
    #: Weights of the runs that were handed out.
    weights: dict[str, float] = field(default_factory=dict)

    @property
    def fraction(self) -> float:
        """Done and under way, as a share of all."""
        under_way = sum(standing.share * self.weights[run] for run, standing in self.running.items())
        return (self.done_weight + under_way) / self.total_weight if self.total_weight else 1.0

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
    work = _Work(store, runs, tables, engine)
    there = len(store.plan.unique) - len(runs)
    written = tables_due = time.monotonic()
    stale = False
    try:
        while work.goes_on():
            work.hand_out()
            ended = engine.ended(0.1)
            for end in ended:
                work.take_back(end)
            work.note_running()
            if observer:
                observer(work.progress)
            stale = stale or bool(ended)
            if stale and (now := time.monotonic()) - written > _MANIFEST_S:
                if now >= tables_due:
                    store.write_tables()
                    tables_due = time.monotonic() + (time.monotonic() - now) / _TABLES_SHARE
                store.write_manifest(work.failures, max(0, there) + work.progress.finished)
                written, stale = time.monotonic(), False
    finally:
        engine.stop()
    return work.failures


class _Work:
    """What is to be made, what is under way, and what came of it."""

    def __init__(self, store: Store, runs: Sequence[PlannedRun], tables: bool, engine: Engine) -> None:
        self.store, self.tables, self.engine = store, tables, engine
        self.progress = SweepProgress(len(runs), total_weight(runs))
        self.failures: dict[str, str] = {}
        self._runs = runs
        #: Numbers of the runs that wait: of those for which a task had no time, and all from `_first` on.
        self._put_back: deque[int] = deque()
        self._first = 0
        #: Runs whose worker was lost; each is a task of its own.
        self._again: deque[PlannedRun] = deque()
        self._tries: Counter[str] = Counter()
        #: The tasks under way, and the numbers of their runs.
        self._under_way: dict[int, tuple[Task, Sequence[int]]] = {}
        self._began = time.monotonic()
        self._spent_s = 0.0
        #: Place of each run in the sweep, so that tasks are the groups that the log has at the end.
        self._place = places_of(runs, store.plan.unique)

    def goes_on(self) -> bool:
        """Whether runs wait or are made."""
        return bool(self._waits() is not None or self._again or self._under_way)

    def _waits(self) -> int | None:
        """The number of the run that is the next to be handed out."""
        if self._put_back:
            return self._put_back[0]
        return self._first if self._first < len(self._runs) else None

    def _take(self) -> int:
        """The number of the run that is the next to be handed out, which waits no longer."""
        if self._put_back:
            return self._put_back.popleft()
        self._first += 1
        return self._first - 1

    def hand_out(self) -> None:
        """Gives tasks to the engine until it has enough."""
        unknown = not self.progress.finished and time.monotonic() - self._began < self.engine.silence_s
        most = self.engine.at_once if unknown else self.engine.backlog
        while (self._waits() is not None or self._again) and len(self._under_way) < most:
            task, numbers = self._next()
            self._under_way[id(task)] = task, numbers
            self.progress.weights.update((run.run_id, run.weight) for run in task.runs)
            self.engine.start(task)

    def _next(self) -> tuple[Task, Sequence[int]]:
        if self._again:
            return self._task([self._again.popleft()]), ()
        numbers = [self._take()]
        runs = [self._runs[numbers[0]]]
        if not self._has_series(runs[0]):
            size = self._size()
            group = self._place[numbers[0]] // size
            while (number := self._waits()) is not None and self._place[number] // size == group:
                run = self._runs[number]
                if self._has_series(run):
                    break
                numbers.append(self._take())
                runs.append(run)
        return self._task(runs), numbers

    def _task(self, runs: list[PlannedRun]) -> Task:
        return Task(runs, self._has_series(runs[0]), self.store.runs)

    def _has_series(self, run: PlannedRun) -> bool:
        return self.tables or run.tables or self.store.has_series(run)

    def _size(self) -> int:
        """How many runs make a task: what takes about `task_s`, a whole group or a part of it."""
        if not self.progress.finished:
            return 1
        mean_s = self._spent_s / self.progress.finished
        size = log.GROUP
        while size > 1 and size * mean_s > self.engine.task_s:
            size //= 2
        return size

    def take_back(self, end: Ended) -> None:
        """Takes in what came of a task."""
        _, numbers = self._under_way.pop(id(end.task))
        runs = list(end.task.runs)
        for run in runs:
            self.progress.weights.pop(run.run_id, None)
            self.progress.running.pop(run.run_id, None)
        if end.lost is not None:
            for run in runs:
                self._tries[run.run_id] += 1
                if self._tries[run.run_id] < TRIES:
                    self.progress.again += 1
                    self._again.append(run)
                else:
                    self._failed(run, f"its worker was lost {TRIES} times, the last time with: {end.lost}")
            return
        batch = end.batch
        self.store.add(batch)
        self.progress.finished_events += batch.events
        self._spent_s += sum(sum(seconds) for _, seconds in batch.groups)
        for run in runs[: batch.done]:
            if run.run_id in batch.failures:
                self._failed(run, batch.failures[run.run_id])
            else:
                self.progress.finished += 1
                self.progress.done_weight += run.weight
        self._put_back.extendleft(reversed(numbers[batch.done :]))

    def _failed(self, run: PlannedRun, message: str) -> None:
        self.failures[run.run_id] = message
        self.progress.failed += 1
        self.progress.done_weight += run.weight

    def note_running(self) -> None:
        """Notes the runs that are being made."""
        weights = self.progress.weights
        self.progress.running = {run: share for run, share in self.engine.progress().items() if run in weights}
