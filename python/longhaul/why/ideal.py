"""The closed form of what a path allows a group of flows: its fair share of the slowest link, from the first packet on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..experience import LARGER, Experience
from ..units import read_bytes, read_quantity
from .case import Case, rate_of, ways

#: What is this close to its ideal has reached it.
REACHED = 0.94


@dataclass(frozen=True)
class Ideal:
    """The best value of a group's first metric that its path allows."""

    value: float
    larger: bool
    #: What sets it.
    text: str

    def gap(self, value: float) -> float:
        """The logarithm of the factor that is missing; below 0 beyond the ideal."""
        ratio = self.value / value if self.larger else value / self.value
        return math.log(ratio) if ratio > 0 else math.inf

    def reached(self, value: float) -> bool:
        """Whether nothing is missing that is worth a word.

        >>> Ideal(100.0, True, "").reached(96.0), Ideal(10.0, False, "").reached(12.0)
        (True, False)
        """
        return self.gap(value) <= -math.log(REACHED)


def _over_ways(case: Case) -> Ideal | None:
    """The mean over time of the shares of the ways that flows have one after the other."""
    shares = [(flow.get("predicted") or {}).get("fair_share_bps") for flow in case.flows]
    known = [float(share) for share in shares if share]
    if not known:
        return None
    streams = int(case.section.get("streams") or 1)
    mean = math.fsum(known) / len(known)
    return Ideal(mean * streams, True, "the mean over time of an equal share of the slowest link of its ways")


def ideal_of(case: Case, qoe: Experience) -> Ideal | None:
    """The ideal of a group; `None` where no closed form is known (pages, calls)."""
    share, larger = case.fair_share, qoe.kind in LARGER
    app = case.section.get("app") or {}
    if qoe.kind == "videos":
        return Ideal(5.0, True, "a film without stalls")
    if qoe.kind in ("calls", "pages") or not math.isfinite(share):
        return None
    if any(len(ways(flow)) > 1 for flow in case.flows):
        return _over_ways(case) if qoe.kind == "streams" and app.get("kind", "bulk") == "bulk" else None
    if qoe.kind == "streams":
        if app.get("kind", "bulk") != "bulk":
            own = written(app)
            if own is None:
                return None
            if own < share:
                return Ideal(own, larger, "what its application writes")
        streams = int(case.section.get("streams") or 1)
        return Ideal(
            share * streams,
            larger,
            "its share of the slowest link by weight"
            if case.is_weighted
            else "an equal share of the slowest link"
            if _is_shared(case)
            else "the slowest link's rate, without headers",
        )
    if qoe.kind == "transfers":
        size = read_bytes(app.get("size"), case.mss)
        if not size:
            return None
        streams = int(case.section.get("streams") or 1)
        return Ideal(
            1.5 * case.rtt + size * 8 / (share * streams),
            larger,
            "handshake, half a round trip, and its bytes at its share of the slowest link",
        )
    if case.answer_s is not None:
        return Ideal(
            case.answer_s,
            larger,
            "a round trip of the empty path and the bytes of question and answer at the links' rates",
        )
    response = read_quantity(app.get("response"))
    size_s = response[0] * 8 / share if response and response[1] == "bytes" else 0.0
    return Ideal(case.rtt + size_s, larger, "a round trip of the empty path and the answer's bytes at the link's rate")


def written(app: Mapping[str, Any]) -> float | None:
    """The rate that an application of a stream writes on average, in bit/s; `None` where that is drawn or depends on the path.

    >>> written({"kind": "cbr", "rate": "64 kbit/s"}), written({"kind": "on_off", "rate": "2 Mbit/s", "on": "1 s", "off": {"exponential": "3 s"}})
    (64000.0, 500000.0)
    >>> written({"kind": "messages", "gap": {"exponential": "2 ms"}, "size": "1000 B"})
    4000000.0
    """
    if app.get("kind") == "messages":
        gap, size = _mean(app.get("gap")), read_quantity(app.get("size"))
        return size[0] * 8 / gap if gap and size and size[1] == "bytes" and not app.get("whole_packets") else None
    rate = rate_of(app.get("rate"))
    if app.get("kind") == "cbr" or rate is None:
        return rate
    if app.get("kind") != "on_off":
        return None
    on, off = (_mean(app.get(key)) for key in ("on", "off"))
    return rate * on / (on + off) if on and off is not None else None


def _mean(value: object) -> float | None:
    """The mean of a duration in s that may be drawn from an exponential distribution."""
    if isinstance(value, Mapping):
        value = value.get("exponential")
    read = read_quantity(value)
    return read[0] if read and read[1] == "s" else None


def _is_shared(case: Case) -> bool:
    return case.fair.among >= 1.5
