"""A run that is under way, for those who follow it: how far it is and what its groups have delivered, in a file beside its results.

The file stands in the hidden directory that a run writes into until it is complete, and goes before that takes its place.
"""

from __future__ import annotations

import itertools
import json
import os
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import staging
from .files import errors_as_output_error
from .units import read_quantity

#: Name of the file, and how often it is written in s.
FILE, _EVERY_S = "live.json", 0.5
#: Points of a whole run, and the samples that one of them spans at least: receivers are counted at samples.
_POINTS, _SAMPLES = 200, 10


class Recorder:
    """Called as a run goes on; writes the file every half second."""

    def __init__(
        self,
        directory: Path | Callable[[], Path],
        resolved: str | Callable[[], str],
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """For the run of a resolved scenario, which is looked at, and `directory` made, only if the run takes so long that anything is
        written.

        `about` is what is written beside it: parameters and seed of a run of a sweep.
        """
        self._about = dict(about or {})
        self._directory = directory
        self._resolved = resolved
        self._scenario: dict[str, Any] | None = None
        self._least = 0.0
        self._times: list[float] = [0.0]
        self._delivered: list[list[int]] = []
        self._written = time.monotonic()

    def __call__(self, now: float, duration: float, delivered: list[int]) -> None:
        """Takes note of where the run is: simulated seconds, and bytes for each group."""
        if not self._delivered:
            self._delivered = [[0] * len(delivered)]
        if now - self._times[-1] >= max(self._least, duration / _POINTS):
            self._times.append(now)
            self._delivered.append(delivered)
        if time.monotonic() - self._written >= _EVERY_S:
            self._written = time.monotonic()
            scenario = self._read()
            content = {"about": self._about, "pid": os.getpid(), "name": str(scenario.get("name") or "run"), "now_s": now, "duration_s": duration,
                       "groups": [str(flow["name"]) for flow in scenario.get("flow", ())],
                       "times": self._times, "delivered": self._delivered}  # fmt: skip
            file = self._place() / FILE
            with errors_as_output_error(file):
                part = file.with_suffix(".part")
                part.write_text(json.dumps(content), encoding="utf-8")
                part.replace(file)

    def _place(self) -> Path:
        if not isinstance(self._directory, Path):
            self._directory = self._directory()
        return self._directory

    def _read(self) -> dict[str, Any]:
        """The scenario; once it is known, points that are closer than samples allow are left out."""
        if self._scenario is None:
            self._scenario = tomllib.loads(self._resolved() if callable(self._resolved) else self._resolved)
            read = read_quantity(self._scenario.get("run", {}).get("sample"))
            self._least = _SAMPLES * read[0] if read and read[1] == "s" else 0.0
            kept = [0]
            for number, at in enumerate(self._times):
                if at - self._times[kept[-1]] >= self._least and number:
                    kept.append(number)
            self._times = [self._times[number] for number in kept]
            self._delivered = [self._delivered[number] for number in kept]
        return self._scenario

    def end(self) -> None:
        """Removes the file: it is no part of a result."""
        if isinstance(self._directory, Path):
            (self._directory / FILE).unlink(missing_ok=True)


@dataclass(frozen=True)
class Live:
    """Where a run is."""

    name: str
    now_s: float
    duration_s: float
    groups: list[str]
    #: Ends of intervals in simulated seconds, and the goodput of each group in them in bit/s.
    times: list[float]
    goodputs: list[list[float]]
    #: Parameters and seed of a run of a sweep.
    about: dict[str, Any]


def read(directory: Path) -> Live | None:
    """The state of the run that writes into a directory; `None` if none does, or not any more."""
    try:
        content = json.loads((directory / FILE).read_text(encoding="utf-8"))
        os.kill(int(content["pid"]), 0)
        times, delivered = content["times"], content["delivered"]
        rates = [
            [8.0 * (after[group] - before[group]) / (times[number + 1] - times[number]) for number, (before, after) in enumerate(itertools.pairwise(delivered))]
            for group in range(len(content["groups"]))
        ]  # fmt: skip
        return Live(
            content["name"],
            content["now_s"],
            content["duration_s"],
            content["groups"],
            times[1:],
            rates,
            content["about"],
        )
    except PermissionError:  # it is another user's
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, ZeroDivisionError):
        return None


def below(directory: Path) -> Iterator[tuple[Path, Live]]:
    """The runs under way whose results will be in a directory: where each will be, and its state."""
    try:
        hidden = sorted(one for one in directory.iterdir() if one.name.startswith("."))
    except OSError:
        return
    for one in hidden:
        place = staging.target(one)
        state = read(one) if place else None
        if place and state:
            yield place, state
