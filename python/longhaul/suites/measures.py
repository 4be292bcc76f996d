"""Measures that several suites have: of a group of flows, or of a link's direction."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .model import Measure, Metrics


def goodput(group: str = "candidate", name: str = "goodput") -> Measure:
    """Bytes that reached the application per measured second."""
    return Measure(name, f"group.{group}.goodput_bps", "bit/s", always=True)


def together(rate_bps: float, groups: Sequence[str]) -> Measure:
    """Goodput of several groups as a share of a rate; a difference of two hundredths counts."""

    def of(metrics: Metrics) -> float | None:
        values = [metrics.get(f"group.{group}.goodput_bps") for group in groups]
        return math.fsum(value or 0.0 for value in values) / rate_bps

    return Measure("goodput of all by the rate", of, "share", absolute=True, least=0.02, always=True)


def time(limit_s: float, group: str = "candidate") -> Measure:
    """Seconds until a transfer is there; `limit_s`, the length of the run, if it never is."""
    return Measure("time", f"group.{group}.completion_time_mean_s", "s", less=True, unfinished=limit_s, always=True)


def loss(group: str = "candidate") -> Measure:
    """Share of the data packets that were lost; a difference of a thousandth counts."""
    return Measure("loss", f"group.{group}.loss_rate", "share", less=True, absolute=True, least=0.001, behind=True)


def queueing(link: str, least: float = 0.002, behind: bool = True) -> Measure:
    """Time in the queue of a link's direction, as `path.forward`, of 95 % of the packets; a difference of `least` seconds counts."""
    of = f"link.{link}.queue_delay_p95_s"
    return Measure("queueing delay, 95 %", of, "s", less=True, absolute=True, least=least, behind=behind)


def utilisation(link: str) -> Measure:
    """Share of a link's rate that is in use; a difference of two hundredths counts."""
    return Measure("link in use", f"link.{link}.utilisation", "share", absolute=True, least=0.02, always=True)


def drops(link: str) -> Measure:
    """Share of the packets offered to a link's direction that it dropped; a difference of a thousandth counts."""
    return Measure("drops", f"link.{link}.drop_rate", "share", less=True, absolute=True, least=0.001, behind=True)


def left_to(group: str, like: str) -> Measure:
    """Goodput of another flow beside the entry, judged by what it has beside its own kind, the entry `like`.

    It is the loss of throughput of draft-irtf-iccrg-tcpeval-01, section 6.1.3, and the harm of Ware et al., HotNets 2019.
    """
    return Measure(f"goodput of {group}", f"group.{group}.goodput_bps", "bit/s", like=like, always=True)


def ratio(over: str, under: str, name: str) -> Measure:
    """Goodput of one group in that of another: 1 is equal. What is nearer to 1 is better, so it is the smaller by the larger."""

    def of(metrics: Metrics) -> float | None:
        one, other = (metrics.get(f"group.{group}.goodput_bps") for group in (over, under))
        if one is None or other is None or max(one, other) <= 0:
            return None
        return min(one, other) / max(one, other)

    return Measure(name, of, "", absolute=True, least=0.05)


def opinion(group: str = "call") -> Measure:
    """A listener's opinion of a call, 1 to 4.5; a difference of a tenth counts."""
    return Measure("opinion of the call", f"group.{group}.mos", "", absolute=True, least=0.1)


def page_time(group: str = "pages") -> Measure:
    """Seconds until a page is there, of 95 % of the pages."""
    return Measure("95 % page time", f"group.{group}.page_time_p95_s", "s", less=True)
