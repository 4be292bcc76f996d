"""Engines execute the runs of a sweep: an engine receives tasks and reports how each ended. It decides where they run.

`local` uses the cores of this machine (`local.py`), `ray` those of a Ray cluster (`cluster.py`). Both give the same bytes.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ..errors import LonghaulError
from .making import Batch
from .runs import PlannedRun

#: The engines that `make_engine` makes by name.
ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Task:
    """Runs to be made one after the other: several without time series, or one with them."""

    runs: Sequence[PlannedRun]
    #: Whether the run gets a directory with its time series.
    tables: bool
    #: Where the directories of runs are, and of those under way.
    place: Path


@dataclass(frozen=True)
class Standing:
    """How far a run is: the share of its simulated time that is over, and events so far."""

    share: float
    events: int = 0


@dataclass(frozen=True)
class Ended:
    """How a task ended: what came of its first runs, of one at least; the others are to be given to an engine again."""

    task: Task
    batch: Batch = field(default_factory=Batch)
    #: What became of the worker that made it: the runs are not to blame, and may be tried again.
    lost: str | None = None


class Engine(ABC):
    """Makes runs. One thread uses it: to `start` tasks, to ask which `ended`, and to `stop`, whatever happened."""

    #: How many tasks it makes at once.
    at_once: int
    #: How many tasks to have started at any time, so that it is never idle.
    backlog: int
    #: A task of many runs may take so many seconds: less is lost with a worker, more is spent on handing tasks out.
    task_s: float = 0.25
    #: If no run has ended for so many seconds, runs take long, and each is a task of its own.
    silence_s: float = 2.0

    @abstractmethod
    def start(self, task: Task) -> None:
        """Takes a task, to be made as soon as there is room."""

    @abstractmethod
    def ended(self, timeout_s: float) -> Sequence[Ended]:
        """The tasks that ended since the last call; waits up to `timeout_s` for the first.

        Raises what ends the whole sweep: a full disk, workers that cannot make runs at all.
        """

    @abstractmethod
    def progress(self) -> Mapping[str, Standing]:
        """The runs that are being made, by id."""

    @abstractmethod
    def stop(self) -> None:
        """Ends the runs that are under way, leaves nothing half-written, lets go of all resources; may be called again."""

    def __enter__(self) -> Self:
        """The engine; it stops with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_of(name: str) -> str | None:
    """What an engine of that name does for seconds before the first run; `None` if it begins at once."""
    if name != "ray":
        return None
    address = os.environ.get("RAY_ADDRESS")
    return "starting Ray" if address in (None, "", "local") else f"connecting to Ray at {address}"


def make_engine(name: str, jobs: int | None = None) -> Engine:
    """The engine of that name, for `jobs` runs at once (as many as it has cores, if `None`)."""
    if name == "local":
        from .local import LocalEngine

        return LocalEngine(jobs)
    if name == "ray":
        from .cluster import RayEngine

        return RayEngine(jobs)
    raise LonghaulError(f"no engine {name!r}; the engines are {', '.join(ENGINES)}")
