"""How far the link itself allows applications to come: bounds that no remedy can pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..experience import LARGER, Experience, unit_of
from ..units import quantity, read_quantity
from ..why.case import Case, link_name, rate_of
from .diagnosis import HEADERS, Diagnosis
from .race import Trial

#: What is this close to the bound has reached it.
REACHED = 0.9
#: The opinion of a video that never stands still.
_BEST = 5.0


@dataclass(frozen=True)
class Limit:
    """A group's bound next to its QoE."""

    group: str
    qoe: Experience
    #: In s, in bit/s for streams, or an opinion.
    bound: float
    text: str
    #: What sets it: "link", "throttle" or "application".
    of: str = "link"

    @property
    def whose(self) -> str:
        """Whose limit it is, in words."""
        return {"throttle": "the throttle's rate", "application": "the application's own rate"}.get(
            self.of, "the link's own limit"
        )

    @property
    def share(self) -> float:
        """How close it is, from 0 to 1."""
        value = self.qoe.values[_metric(self.qoe)]
        share = value / self.bound if self.qoe.kind in LARGER else self.bound / value
        return min(1.0, share)

    @property
    def reached(self) -> bool:
        """Whether nothing can help any more."""
        return self.share >= REACHED


def limits_of(found: Diagnosis, base: Trial) -> list[Limit]:
    """The bounds of the groups that are served."""
    link = found.bottleneck
    if link is None:
        return []
    sizes = {str(flow["name"]): flow for flow in found.content.get("flow", ())}
    limits = []
    for name in found.groups:
        qoe = base.qoe[min(base.qoe)][name]
        # Its own packets: those of a call beside it are smaller.
        mss = min(int(flow["mss_bytes"]) for flow in found.flows if flow["group"] == name)
        share = mss / (mss + HEADERS)
        # The highest rate that it had while the group was active.
        rate = Case(found.content, found.summary, name).rate(link)
        where, least, of = f"{link_name(link)}, {quantity(rate, 'bit/s')}", rate, "link"
        if (box := _throttle(found, name)) and box[1] < least:
            (where, least), of = box, "throttle"
        own = _own_rate(sizes[name])
        if qoe.kind == "streams" and own and own < least * share:
            where, of = f"the application, which sends {quantity(own, 'bit/s')},", "application"
            limits.append(Limit(name, qoe, own, _text(found, qoe, own, where), of))
        elif bound := _bound(found, qoe, sizes[name], least * share):
            limits.append(Limit(name, qoe, bound, _text(found, qoe, bound, where), of))
    return limits


def _throttle(found: Diagnosis, group: str) -> tuple[str, float] | None:
    """The slowest throttle on a group's path, in words, and its rate."""
    flow = next(flow for flow in found.flows if flow["group"] == group)
    known = []
    nodes = {node for key in ("data_path", "ack_path") for number in flow[key] for node in _ends(found.summary, number)}
    for box in found.content.get("middlebox", ()):
        if box["kind"] != "throttle" or box["at"] not in nodes or group not in box.get("flows", [group]):
            continue
        if rate := rate_of(box.get("rate")):
            known.append(
                (f"the throttle {box.get('name', 'throttle')} at {box['at']}, {quantity(rate, 'bit/s')}", rate)
            )
    return min(known, key=lambda one: one[1], default=None)


def _ends(summary: Mapping[str, Any], number: int) -> tuple[str, str]:
    link = summary["links"][number]
    return link["from"], link["to"]


def _own_rate(section: Mapping[str, Any]) -> float | None:
    """The rate at which an application sends, if that is constant."""
    app = section.get("app") or {}
    return rate_of(app.get("rate")) if app.get("kind") == "cbr" else None


def _bound(found: Diagnosis, qoe: Experience, section: Mapping[str, Any], payload: float) -> float | None:
    flows = [flow for flow in found.flows if flow["group"] == qoe.group]
    rtt = min(float(flow["base_rtt_s"]) for flow in flows)
    if qoe.kind == "videos":
        return _BEST
    if qoe.kind == "calls":
        return None
    if qoe.kind == "streams":
        if section["app"]["kind"] != "bulk":
            return None
        # The geometric mean of n rates is at most their mean, and their sum at most the link's rate.
        streams = int(section.get("streams") or 1)
        return payload / max(1, len(flows) // streams)
    if qoe.kind == "transfers":
        read = read_quantity(section["app"].get("size"))
        if not read or read[1] != "bytes":
            return None
        count = qoe.unfinished[1]
        starts = {float(flow["start_s"]) for flow in flows}
        # With one start for all, no order of service has a smaller mean than one after the other.
        turns = (count + 1) / 2 if len(starts) == 1 else 1.0
        handshake = 0.0 if (section.get("tcp") or {}).get("established") else rtt
        return handshake + rtt / 2 + turns * read[0] * 8 / payload
    return rtt


def _metric(qoe: Experience) -> str:
    return next(iter(qoe.values))


def _text(found: Diagnosis, qoe: Experience, bound: float, where: str) -> str:
    metric = _metric(qoe)
    unit = unit_of(metric)
    word = "at most" if qoe.kind in LARGER else "at least"
    name = f"{qoe.group}: " if len(found.groups) > 1 else ""
    over = where if qoe.kind != "responses" else "the base RTT"
    if qoe.kind == "videos":
        return f"{name}{qoe.word(metric)} {qoe.text(metric)}, and a video without stalls has {quantity(bound, unit, 3)}"
    return f"{name}{qoe.word(metric)} {qoe.text(metric)}, and {over} allows {word} {quantity(bound, unit, 3)}"
