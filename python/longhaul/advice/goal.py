"""Goals: what has to hold, as in "completion p95 < 5 s", of one group or of all."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import LonghaulError
from ..expectations import all_metrics
from ..experience import Experience
from ..naming import meant
from ..units import quantity, read_quantity

_WORDS = {"completion": "completion_time", "response": "response_time", "page": "page_time", "goodput": "goodput"}
#: Metrics of what people notice, by how they are written in a goal, and their units.
_NOTICED = {"mos": ("mos", ""), "stalls": ("stalls", ""), "stall time": ("stall_time_s", "s"), "stall share": ("stall_share", ""),
            "startup": ("startup_time_s", "s")}  # fmt: skip
_FORM = re.compile(r"\s*(?:(?P<group>[\w-]+)\.(?=completion|response|page|goodput|mos|stall|startup))?(?P<metric>stall (?:time|share)|[\w.\[\]-]+)"
                   r"(?:\s+(?P<part>p\d\d|mean|max))?\s*"
                   r"(?P<sign><=|>=|<|>)\s*(?P<value>\S.*?)\s*")  # fmt: skip
_EXAMPLE = 'as in "completion p95 < 5 s", "web.page < 3 s", "goodput > 5 Mbit/s" or "mos > 4"'


@dataclass(frozen=True)
class Goal:
    """A bound on a group's QoE, or on any metric of the summary."""

    text: str
    metric: str
    group: str | None
    above: bool
    bound: float
    unit: str
    #: Whether it is about the goodput of flows over their own time, as everywhere that says "goodput" alone.
    own: bool = False

    def values(self, summary: Mapping[str, Any], qoe: Mapping[str, Experience], groups: Sequence[str]) -> list[float]:
        """The values that have to meet it; an empty list if the run has none."""
        chosen = [self.group] if self.group else list(groups)
        found = []
        for name in chosen:
            if name in qoe and self.metric in qoe[name].values:
                found.append(qoe[name].values[self.metric])
        if not found and self.own:
            found = [value for name in chosen if (value := _own_goodput(summary, name)) is not None]
        if not found:
            metrics = all_metrics(dict(summary))
            found = [float(value) for name in self._names() if (value := metrics.get(name)) is not None]
        return found

    def check(self, summary: Mapping[str, Any], qoe: Mapping[str, Experience]) -> None:
        """Raises `LonghaulError` if a run has nothing of this name, so that no change could ever reach it."""
        names = all_metrics(dict(summary))
        if any(self.metric in one.values for one in qoe.values()) or any(name in names for name in self._names()):
            return
        hint = meant(self._names()[0], list(names)) or "; `longhaul list metrics` explains all"
        raise LonghaulError(
            f"--goal {self.text!r}: there is no metric {self._names()[0]!r} in this scenario's results{hint}"
        )

    def _names(self) -> list[str]:
        return [f"group.{self.group}.{self.metric}"] if self.group else [self.metric]

    def met(self, value: float) -> bool:
        """Whether a value meets it."""
        return value > self.bound if self.above else value < self.bound


def read_goal(text: str) -> Goal:
    """A goal from its text; raises `LonghaulError` with what is right.

    >>> goal = read_goal("web.completion p95 < 5 s")
    >>> goal.group, goal.metric, goal.above, goal.bound
    ('web', 'completion_time_p95_s', False, 5.0)
    >>> read_goal("goodput > 5 Mbit/s").bound
    5000000.0
    >>> goal = read_goal("film.stall share < 2 %")
    >>> goal.group, goal.metric, goal.bound
    ('film', 'stall_share', 0.02)
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise LonghaulError(f"--goal {text!r}: write a metric, < or >, and a value, {_EXAMPLE}")
    share = match["value"].endswith("%")
    read = read_quantity(match["value"].rstrip("% "))
    if read and share:
        read = (read[0] / 100, read[1])
    if read is None:
        raise LonghaulError(f"--goal {text!r}: {match['value']!r} is no value with a unit, {_EXAMPLE}")
    word = match["metric"]
    if word in _WORDS:
        part = match["part"] or "mean"
        metric = "goodput_bps" if word == "goodput" else f"{_WORDS[word]}_{part}_s"
        unit = "bit/s" if word == "goodput" else "s"
    elif word in _NOTICED:
        metric, unit = _NOTICED[word]
    else:
        metric = word
        unit = "s" if word.endswith("_s") else "bit/s" if word.endswith("_bps") else read[1]
    if read[1] != unit:
        raise LonghaulError(f"--goal {text!r}: the value needs a unit of {unit or 'its own'}, {_EXAMPLE}")
    return Goal(text.strip(), metric, match["group"], match["sign"].startswith(">"), read[0], unit, word == "goodput")


def _own_goodput(summary: Mapping[str, Any], group: str) -> float | None:
    """The geometric mean of the goodputs of a group's flows, each over its own time: that of a transfer of given size while it is active."""
    flows = [flow for flow in summary["flows"] if flow["group"] == group]
    rates = [float(rate) for flow in flows if (rate := flow["metrics"].get("goodput_bps")) is not None]
    if not rates:
        return None
    return math.exp(math.fsum(map(math.log, rates)) / len(rates)) if min(rates) > 0 else 0.0


def shown(goal: Goal, values: Sequence[float]) -> str:
    """What was reached: the value furthest from the goal."""
    worst = min(values) if goal.above else max(values)
    return quantity(worst, goal.unit, 3)
