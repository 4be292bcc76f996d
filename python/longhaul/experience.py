"""Quality of experience (QoE) of a run's applications, as one number for each group: the score by which remedies are ranked.

It is the completion time of transfers, the time of pages and responses, the mean opinion score of videos and calls, the goodput
of streams without end. What was not finished is not left out, since that would reward what finishes least: a transfer that was under
way counts with the time that it would take at the rate it had.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import qoe
from .units import quantity, read_bytes

#: A group in which nothing was completed counts as if the first completion came after so many times the measured time.
_NEVER = 2.0
#: Metrics shown of each kind, and the words for them; the first is the one that tables show.
_WORDS = {
    "completion_time_mean_s": "completion",
    "completion_time_p95_s": "completion, 95th percentile",
    "response_time_p50_s": "response, median",
    "response_time_mean_s": "response",
    "response_time_p95_s": "response, 95th percentile",
    "page_time_mean_s": "page",
    "page_time_p95_s": "page, 95th percentile",
    "goodput_bps": "goodput",
    "mos": "mean opinion score",
}
#: Kinds whose metric is better the larger it is.
LARGER = ("streams", "videos", "calls")
#: A flow with less than this part of the median starves.
_STARVES = 0.1
#: The opinion of a video or a call of which nothing came.
_WORST = 1.0


@dataclass(frozen=True)
class Experience:
    """QoE of one group: metrics in s, in bit/s for streams, or opinions."""

    group: str
    kind: str
    values: Mapping[str, float]
    #: Transfers that were not finished, and all of them.
    unfinished: tuple[int, int] = (0, 0)
    #: No transfer has delivered anything, or all have ended before they were complete: the time is a number for the score alone.
    never: bool = False
    #: A second number that its users notice, in words.
    beside: str = ""

    @property
    def first(self) -> str:
        """The metric that stands for the group in tables: the tail, where people wait for answers."""
        names = list(self.values)
        return names[-1] if self.kind in ("responses", "pages") else names[0]

    @property
    def score(self) -> float:
        """Larger is better: the mean of the logarithms, so that a factor counts the same at any size.

        >>> Experience("f", "streams", {"goodput_bps": 100.0}).score == math.log(100.0)
        True
        """
        sign = 1.0 if self.kind in LARGER else -1.0
        return sign * math.fsum(math.log(value) for value in self.values.values()) / len(self.values)

    def text(self, metric: str | None = None, digits: int = 3) -> str:
        """One of its metrics with its unit and so many digits, as in "3.2 s"."""
        name = metric or self.first
        if self.never:
            return "never"
        text = quantity(self.values[name], unit_of(name), digits)
        missing, every = self.unfinished
        if not missing:
            return text
        # The time that it would take at the rate that it had.
        return f"{text} (extrapolated{'' if missing == every else f' for {missing:,} of {every:,}'})"

    def unit(self, metric: str | None = None) -> str:
        """The unit of one of its metrics, empty for opinions."""
        return unit_of(metric or self.first)

    def word(self, metric: str | None = None) -> str:
        """The name of a metric in words."""
        return _WORDS[metric or self.first]


def gain(one: Experience, base: Experience) -> float:
    """The logarithm of the factor by which one is better; where one of both has fewer kinds of numbers, only those of both count."""
    if one.values.keys() == base.values.keys():
        return one.score - base.score
    names = one.values.keys() & base.values.keys()
    if not names:
        return 0.0
    cut = [Experience(each.group, each.kind, {n: each.values[n] for n in names}) for each in (one, base)]
    return cut[0].score - cut[1].score


def mean(several: Sequence[Experience]) -> Experience:
    """The geometric means of experiences of one group: their ratio to those of another trial is the mean of the ratios.

    >>> one, two = (Experience("f", "streams", {"goodput_bps": rate}) for rate in (100.0, 400.0))
    >>> round(mean([one, two]).values["goodput_bps"])
    200
    """
    first = several[0]
    names = [name for name in first.values if all(name in one.values for one in several)]
    logs = {name: math.fsum(math.log(one.values[name]) for one in several) / len(several) for name in names}
    return Experience(
        first.group, first.kind, {name: math.exp(value) for name, value in logs.items()}, first.unfinished, first.never
    )


def unit_of(metric: str) -> str:
    """The unit of a metric of experiences, empty for opinions."""
    return "s" if metric.endswith("_s") else "bit/s" if metric.endswith("_bps") else ""


def experiences(summary: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Experience]:
    """QoE of each group that was active, by its name; `content` is the resolved scenario, for the sizes of transfers."""
    sizes = {str(flow["name"]): _size(flow) for flow in content.get("flow", ())}
    found = {}
    for group in summary["groups"]:
        name = str(group["name"])
        kind = qoe.kind(group["metrics"])
        flows = [flow for flow in summary["flows"] if flow["group"] == name]
        if kind == "transfers":
            one = _transfers(name, flows, summary, sizes.get(name))
        elif kind == "streams":
            one = _streams(name, flows, summary)
        elif kind in ("videos", "calls"):
            delay = group["metrics"].get("call_delay_s")
            beside = f"a delay of {quantity(float(delay), 's')}" if delay else ""
            one = Experience(name, kind, {"mos": float(group["metrics"].get("mos") or _WORST)}, beside=beside)
        else:
            one = _answers(name, kind, group["metrics"], summary)
        if one is not None:
            found[name] = one
    return found


def _size(flow: Mapping[str, Any]) -> float | None:
    """Bytes of a transfer, if they are the same for all; a packet is one of TCP's full segments."""
    mss = read_bytes((flow.get("tcp") or {}).get("mss"))
    return read_bytes((flow.get("app") or {}).get("size"), round(mss) if mss else 1460)


def _whole(flow: Mapping[str, Any]) -> str:
    """The transfer that a stream is part of."""
    return re.sub(r"\.stream\[\d+\]$", "", str(flow["name"]))


def _transfers(
    name: str, flows: list[dict[str, Any]], summary: Mapping[str, Any], size: float | None
) -> Experience | None:
    end, warmup = float(summary["duration_s"]), float(summary["warmup_s"])
    parts: dict[str, list[dict[str, Any]]] = {}
    for flow in flows:
        if float(flow["start_s"]) < end:
            parts.setdefault(_whole(flow), []).append(flow)
    times, missing, came, dead = [], 0, 0.0, 0
    for streams in parts.values():
        done = [flow["metrics"].get("completion_time_s") for flow in streams]
        if all(value is not None for value in done):
            times.append(max(float(value) for value in done))
            came += 1.0
            continue
        missing += 1
        ended = any(
            flow.get("state") == "Closed" and flow["metrics"].get("completion_time_s") is None for flow in streams
        )
        dead += ended
        begin = min(float(flow["start_s"]) for flow in streams)
        delivered = sum(float(flow["metrics"].get("delivered_bytes") or 0.0) for flow in streams)
        came += delivered
        rate = max(delivered, float(streams[0]["mss_bytes"])) / (end - max(begin, warmup))
        # A connection that has ended completes nothing more, whatever its rate was.
        times.append(max(end - begin, size / rate) if size and not ended else _NEVER * (end - begin))
    if not times:
        return None
    ordered = sorted(times)
    values = {
        "completion_time_mean_s": math.fsum(times) / len(times),
        "completion_time_p95_s": ordered[min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)],
    }
    if len(times) == 1:
        del values["completion_time_p95_s"]
    beside = f"{dead:,} of {len(times):,} connections ended before all had come" if dead else ""
    return Experience(name, "transfers", values, (missing, len(times)), not came or dead == len(times), beside)


def _streams(name: str, flows: list[dict[str, Any]], summary: Mapping[str, Any]) -> Experience | None:
    """The geometric mean over the flows: it falls when one of them starves, as no sum does (proportional fairness, Kelly 1998)."""
    measured = float(summary["measured_s"])
    rates: dict[str, float] = {}
    least: dict[str, float] = {}
    for flow in flows:
        if float(flow["start_s"]) < float(summary["duration_s"]) and flow["metrics"].get("goodput_bps") is not None:
            rates[_whole(flow)] = rates.get(_whole(flow), 0.0) + float(flow["metrics"]["goodput_bps"])
            least[_whole(flow)] = float(flow["mss_bytes"]) * 8 / measured
    if not rates:
        return None
    mean = math.fsum(math.log(max(rate, least[flow])) for flow, rate in rates.items()) / len(rates)
    median = sorted(rates.values())[len(rates) // 2]
    starved = sum(rate < _STARVES * median for rate in rates.values())
    beside = f"{starved:,} of {len(rates):,} flows get less than a tenth of the median" if starved else ""
    return Experience(name, "streams", {"goodput_bps": math.exp(mean)}, beside=beside)


def _answers(name: str, kind: str, metrics: Mapping[str, Any], summary: Mapping[str, Any]) -> Experience | None:
    names = qoe.of_group(metrics, kind)
    never = _NEVER * float(summary["measured_s"])
    values = {metric: float(metrics[metric]) if metrics.get(metric) else never for metric in names}
    return Experience(name, kind, values) if values else None
