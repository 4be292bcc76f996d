"""What those who look at a sweep see of its runs that take long: a directory for each, until the run is over."""

from __future__ import annotations

import shutil
from pathlib import Path

from .. import core, staging
from ..live import Recorder
from .runs import PlannedRun


class Follower:
    """Called as a run without a directory goes on; makes one as soon as the run has taken so long that it is shown."""

    def __init__(self, run: PlannedRun, place: Path) -> None:
        """For a run whose sweep has its runs in `place`."""
        self._run, self._place = run, place
        self._folder: Path | None = None
        self._record = Recorder(self._make, lambda: core.resolve(run.document, run.overrides)[0], run.about)

    def __call__(self, now: float, duration: float, delivered: list[int]) -> None:
        """Takes note of simulated seconds, of how many, and of the bytes that each group has delivered."""
        self._record(now, duration, delivered)

    def end(self) -> None:
        """The run is over."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _make(self) -> Path:
        self._folder = staging.make(staging.place_of(self._place / self._run.run_id))
        return self._folder
