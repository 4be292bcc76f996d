"""The engine that hands runs to a Ray cluster, several at a time if they are short: a task for one CPU.

What a worker has made comes back as bytes and is written here, so that machines need not share a disk. Ray: https://docs.ray.io.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import core, outputs
from ..errors import LonghaulError, explain_os_error
from ..files import errors_as_output_error
from .engine import Ended, Engine, Standing, Task
from .following import Follower
from .making import Batch, make_summaries, make_with_series
from .reaching import Watch, reach
from .runs import PlannedRun

#: Runs that Ray is given ahead of time, unless `jobs` limits them: clusters that grow on demand grow by what waits.
_WAITING = 1000
#: A worker reports its simulated time when this share more of it is over.
_STEP = 0.01


@dataclass(frozen=True)
class Order:
    """An order for a worker."""

    runs: tuple[PlannedRun, ...]
    tables: bool
    #: The build of the simulator that asks; a worker with another one must not answer.
    program: str
    #: Runs are begun for so many seconds at most.
    budget_s: float


@dataclass(frozen=True)
class Answer:
    """A worker's answer: what came of the first runs of an order, or the reason why nothing did."""

    batch: Batch | None = None
    #: The files of the directory of a run with time series, by name.
    files: dict[str, bytes] = field(default_factory=dict)
    #: It cannot be made on that machine, now.
    trouble: str | None = None
    #: No run can be made there.
    unfit: str | None = None


@dataclass(frozen=True)
class Note:
    """A worker's report: simulated seconds, of how many, events, and the bytes that each group has delivered."""

    now_s: float
    duration_s: float
    events: int
    delivered: list[int]

    @property
    def standing(self) -> Standing:
        """How far the run is."""
        return Standing(self.now_s / self.duration_s if self.duration_s else 0.0, self.events)


class RayEngine(Engine):
    """Tasks in the Ray cluster that this process is connected to, or `RAY_ADDRESS` names, or runs on this machine.

    If there is none, Ray is started on this machine until `stop`.
    """

    # Handing out a task takes some milliseconds; workers take seconds to start.
    task_s = 1.0
    silence_s = 30.0

    def __init__(self, jobs: int | None = None, make: Callable[..., Answer] | None = None) -> None:
        """Connects. At most `jobs` runs are given to Ray at a time; `make` is what a worker does (`make_runs`)."""
        self._ray, self._connected_here = _connected()
        self._head = Watch(self._ray.get_runtime_context().gcs_address)
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        self.at_once = min(jobs, cpus) if jobs else cpus
        self.backlog = jobs or max(_WAITING, 2 * cpus)
        self._make = self._ray.remote(make or make_runs).options(num_cpus=1, max_retries=0)
        self._board = self._ray.remote(_Board).options(num_cpus=0).remote()
        self._pending: dict[Any, Task] = {}
        self._under_way: dict[str, tuple[PlannedRun, Path]] = {}
        self._followers: dict[str, Follower] = {}
        self._standing: dict[str, Standing] = {}
        self._news: Any = None
        self._stopped = False

    def start(self, task: Task) -> None:
        """Gives the run to Ray."""
        order = Order(tuple(task.runs), task.tables, core.program(), self.task_s)
        self._pending[self._make.remote(order, self._board)] = task
        self._under_way.update((run.run_id, (run, task.place)) for run in task.runs)

    def ended(self, timeout_s: float) -> Sequence[Ended]:
        """The runs that ended, with their results written; raises if a worker is not fit to make runs, or the head is lost."""
        self._head.check()
        pending = list(self._pending)
        ready, _ = self._ray.wait(pending, num_returns=1, timeout=timeout_s, fetch_local=False)
        if ready:
            ready, _ = self._ray.wait(pending, num_returns=len(pending), timeout=0, fetch_local=False)
        return [self._end_of(reference) for reference in ready]

    def progress(self) -> Mapping[str, Standing]:
        """The workers' last reports."""
        errors = self._ray.exceptions
        try:
            self._news = self._news or self._board.news.remote()
            if self._ray.wait([self._news], timeout=0)[0]:
                news, self._news = self._news, None
                self._take_in(self._ray.get(news))
        except errors.RayError:  # the board was lost with its machine: the runs go on without it
            self._news = None
        self._standing = {run: standing for run, standing in self._standing.items() if run in self._under_way}
        return self._standing

    def _take_in(self, notes: Mapping[str, Note]) -> None:
        for run_id, note in notes.items():
            if run_id in self._under_way:
                self._standing[run_id] = note.standing
                if run_id not in self._followers:
                    self._followers[run_id] = Follower(*self._under_way[run_id])
                self._followers[run_id](note.now_s, note.duration_s, note.delivered)

    def _forget(self, runs: Iterable[str]) -> None:
        for run_id in runs:
            del self._under_way[run_id]
            if run_id in self._followers:
                self._followers.pop(run_id).end()

    def stop(self) -> None:
        """Ends the tasks, and the connection if it was made here; a Ray that was started for it ends with it."""
        if self._stopped:
            return
        self._stopped = True
        for reference in self._pending:
            self._ray.cancel(reference, force=True)
        self._pending.clear()
        self._forget(list(self._under_way))
        self._ray.kill(self._board)
        if self._connected_here:
            self._ray.shutdown()
            self._connected_here = False

    def _end_of(self, reference: Any) -> Ended:
        task = self._pending.pop(reference)
        self._forget(run.run_id for run in task.runs)
        try:
            answer: Answer = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise LonghaulError(f"Ray workers cannot run scenarios: {_lines(error)[-1]}") from None
        except self._ray.exceptions.RayError as error:
            return Ended(task, lost=_lines(error)[0])
        if answer.unfit is not None:
            raise LonghaulError(answer.unfit)
        if answer.batch is None:
            return Ended(task, lost=answer.trouble)
        if answer.files:
            place = task.place / task.runs[0].run_id
            with outputs.complete_or_absent(place, force=True) as partial, errors_as_output_error(place):
                for name, content in answer.files.items():
                    (partial / name).parent.mkdir(parents=True, exist_ok=True)
                    (partial / name).write_bytes(content)
        return Ended(task, answer.batch)


class _Board:
    """An actor on which workers note how far their runs are."""

    def __init__(self) -> None:
        self._noted: dict[str, Note] = {}

    def take(self, run_id: str, note: Note) -> None:
        """Notes how far a run is."""
        self._noted[run_id] = note

    def news(self) -> dict[str, Note]:
        """Notes since the last call."""
        noted, self._noted = self._noted, {}
        return noted


def make_runs(order: Order, board: Any) -> Answer:
    """Makes the runs of an order in a worker."""
    host = os.uname().nodename
    if core.program() != order.program:
        return Answer(
            unfit=f"the Ray worker on {host} has another build of Longhaul ({core.version()}, program {core.program()}; here"
            f" {order.program}): its results may differ, so install the same on every machine"
        )
    noted = ("", 0.0)

    def told(run: PlannedRun, now: float, duration: float, events: int, delivered: list[int]) -> None:
        nonlocal noted
        share = now / duration if duration else 0.0
        if run.run_id != noted[0] or share >= noted[1] + _STEP:
            noted = run.run_id, share
            board.take.remote(run.run_id, Note(now, duration, events, delivered))

    try:
        if not order.tables:
            return Answer(make_summaries(order.runs, told, order.budget_s))
        with tempfile.TemporaryDirectory(prefix="longhaul-") as name:
            folder = Path(name)
            batch = make_with_series(order.runs[0], folder, told)
            files = [file for file in sorted(folder.rglob("*")) if file.is_file()] if not batch.failures else []
            return Answer(batch, {file.relative_to(folder).as_posix(): file.read_bytes() for file in files})
    except OSError as error:
        return Answer(trouble=f"{host}: {explain_os_error(error, 'use', error.filename or 'its disk')}")


def _connected() -> tuple[Any, bool]:
    """Ray, connected to a cluster, and whether the connection was made here."""
    address = os.environ.get("RAY_ADDRESS")
    if "ray" not in sys.modules:  # else there may be a connection already
        reach(address)
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise LonghaulError(
            f"--engine ray needs Ray, which cannot be loaded ({error}); install it here and on the cluster's machines with"
            " `pip install 'longhaul-lab[ray]'`, or `pip install ray`"
        ) from None
    if ray.is_initialized():
        return ray, False
    reach(address)
    # A Ray that is started here would report its use to its makers unless switched off: that is for the user to decide.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        with _signals_kept():
            ray.init(log_to_driver=False, include_dashboard=False, logging_level="ERROR")
    except BaseException as error:
        ray.shutdown()
        if not isinstance(error, Exception):
            raise
        raise LonghaulError(
            f"no Ray cluster answers{f' at RAY_ADDRESS={address}' if address else ''} ({_lines(error)[0]})"
        ) from None
    return ray, True


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Signals do afterwards what they did before, and a SIGTERM meanwhile does so then.

    Ray takes it for itself: at first it exits with 15, later it prints a stack and ends the process with 1.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ended = False
    try:
        yield
    except SystemExit as error:
        ended = error.code == signal.SIGTERM
        if not ended:
            raise
    finally:
        for number, handler in kept.items():
            if handler is not None:  # one that is not Python's
                signal.signal(number, handler)
    if ended:
        signal.raise_signal(signal.SIGTERM)


def _lines(error: BaseException) -> list[str]:
    """An error's message without empty lines, or its kind if the message is empty."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
