"""The parts of a suite: what is tried (entries), where (situations), what is measured there, and from when on it counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..document import Document
from ..errors import LonghaulError
from ..scenario import Scenario

#: The metrics of a run under flat names, in base units.
Metrics = Mapping[str, float | None]


@dataclass(frozen=True)
class Entry:
    """A congestion control with settings of its flow's `tcp`, or a queue with the link's `queue`."""

    name: str
    settings: Mapping[str, Any]
    #: The file that has the settings, if one does.
    file: str = ""


@dataclass(frozen=True)
class Scale:
    """How much is run: seeds at each point, and the share of their whole length that endless transfers have."""

    seeds: int
    share: float = 1.0

    def seconds(self, whole: float) -> str:
        """A duration at this scale.

        >>> Scale(3, 0.5).seconds(60), Scale(5).seconds(60)
        ('30 s', '60 s')
        """
        return f"{whole * self.share:g} s"


#: A scale to look at in a minute, and the whole one.
QUICK, WHOLE = Scale(3, 0.5), Scale(5)


@dataclass(frozen=True)
class Measure:
    """A number of a run, and how it is judged.

    A difference counts from the share `least` of the other's value on; from the number `least` on where it is `absolute`. A measure with
    `like` is what an entry leaves to somebody else: it is compared with what that one has beside the entry of this name, which is its
    own kind. `unfinished` is the time in seconds that stands for a transfer without an end: a lower bound. A measure with `always` counts
    even if nothing was delivered; of others, less is no gain then. Verdicts by a measure that is `behind` come after those by others:
    it explains what somebody notices, and is not noticed itself.
    """

    name: str
    #: The metric's flat name, or what to compute from the metrics.
    of: str | Callable[[Metrics], float | None]
    unit: str = ""
    less: bool = False
    least: float = 0.05
    absolute: bool = False
    like: str = ""
    unfinished: float = math.nan
    always: bool = False
    behind: bool = False

    def value(self, metrics: Metrics) -> float | None:
        """Its value in a run, without the bound for what did not end."""
        found = metrics.get(self.of) if isinstance(self.of, str) else self.of(metrics)
        return None if found is None or math.isnan(found) else float(found)


@dataclass(frozen=True)
class Situation:
    """A network with its traffic, into which an entry is put, and what is measured there."""

    name: str
    #: In words, at most some 40 characters.
    title: str
    make: Callable[[Entry, Scale], Scenario | Document]
    measures: Sequence[Measure]
    #: What it asks, and where its numbers come from.
    asks: str
    #: The metric that shows whether anything was delivered at all.
    alive: str = "delivered_bytes"
    #: How long a run takes beside others, for the time left.
    weight: float = 1.0


@dataclass(frozen=True)
class Suite:
    """Situations with a common question, and the entries that every candidate is put beside."""

    name: str
    title: str
    #: What it asks in a sentence.
    asks: str
    source: str
    #: The situations; of some suites they depend on what is tried and on the scale.
    situations: Sequence[Situation] | Callable[[Sequence[Entry], Scale], Sequence[Situation]]
    #: Names of the entries that stand beside each candidate; the first is named first.
    beside: Sequence[str] = ("cubic", "bbr3", "reno")
    kind: Literal["control", "queue"] = "control"
    scales: Mapping[str, Scale] = field(default_factory=lambda: {"quick": QUICK, "whole": WHOLE})
    #: What the suite leaves out of its source.
    without: str = ""
    #: Whether a page shows a matrix of each entry beside each: situations are `PATH/ENTRY` then.
    matrix: bool = False

    def of(self, entries: Sequence[Entry], scale: Scale) -> Sequence[Situation]:
        """The situations for some entries; raises `LonghaulError` where two have one name."""
        found = self.situations(entries, scale) if callable(self.situations) else self.situations
        names = [one.name for one in found]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise LonghaulError(f"suite {self.name}: two situations are called {twice[0]!r}")
        for one in found:
            if unknown := [m.like for m in one.measures if m.like and m.like not in {entry.name for entry in entries}]:
                raise LonghaulError(
                    f"suite {self.name}: {one.name} is compared with {unknown[0]!r}, which is not tried"
                )
        return found


#: Settings of a sender that limits nothing but by its congestion control: Linux's TCP, with buffers that never fill.
SENDER = {"variant": "linux", "send_buffer": "unlimited", "receive_autotuning": {"max": "256 MiB"}}


def tcp(entry: Entry | str) -> dict[str, Any]:
    """Settings of a flow with this congestion control, or that of this name.

    >>> tcp("reno")["congestion"]
    'reno'
    """
    return {**SENDER, **({"congestion": entry} if isinstance(entry, str) else entry.settings)}


#: Starts differ from seed to seed, so that no verdict rests on one phase of packets against each other.
START = {"uniform": ["0 s", "1 s"]}
