"""Engines execute the runs of a sweep: an engine receives runs and reports how each ended. It decides where they run.

`local` uses the cores of this machine (`local.py`), `ray` those of a Ray cluster (`cluster.py`). Both write the same bytes.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ..errors import LonghaulError
from .plan import PlannedRun

#: The engines that `make_engine` makes by name.
ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Task:
    """One run to be made, and the directory that its result becomes, whole or not at all."""

    run: PlannedRun
    tables: bool
    out: Path


@dataclass(frozen=True)
class Standing:
    """How far a run is: the share of its simulated time that is over, and events so far."""

    share: float
    events: int = 0


@dataclass(frozen=True)
class Ended:
    """How a run ended: well (`failure` and `lost` are `None`), or why not."""

    run_id: str
    #: The run cannot be made: trying again would give the same.
    failure: str | None = None
    #: What became of the worker that made it: the run is not to blame, and may be tried again.
    lost: str | None = None
    #: Events that were simulated, as far as they are known.
    events: int = 0


class Engine(ABC):
    """Makes runs. One thread uses it: to `start` runs, to ask which `ended`, and to `stop`, whatever happened."""

    #: How many runs it makes at once.
    at_once: int
    #: How many runs to have started at any time, so that it is never idle.
    backlog: int

    @abstractmethod
    def start(self, task: Task) -> None:
        """Takes a run, to be made as soon as there is room."""

    @abstractmethod
    def ended(self, timeout_s: float) -> Sequence[Ended]:
        """The runs that ended since the last call; waits up to `timeout_s` for the first.

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
