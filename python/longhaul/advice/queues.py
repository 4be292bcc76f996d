"""Remedies at queues: how long they are, what they drop, and at how many of a path's links at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..units import read_quantity
from ..why.case import link_name, shaper_of
from .diagnosis import Diagnosis, packets
from .remedy import Remedy, dialled, remedy, tcp


def queues(found: Diagnosis) -> Iterator[Remedy]:
    """All remedies at queues in the direction of the data, and at both directions of the bottleneck."""
    yield from _longer_or_shorter(found)
    yield from _timings(found)
    yield from _disciplines(found)


@dataclass(frozen=True)
class _Spot:
    """Links whose queues are changed at once."""

    links: Sequence[Mapping[str, Any]]
    where: str
    #: What more of them is for than one queue.
    aims: frozenset[str] = frozenset()


def _spots(found: Diagnosis) -> Iterator[_Spot]:
    """The bottleneck; it and the other direction of its link; all full links on the way."""
    link = found.bottleneck
    if link is None:
        return
    yield _Spot([link], f"at {link_name(link)}")
    if other := _other_direction(found, link):
        # A call, or a request and its answer, waits in the queues of both directions.
        name = str(link["name"]).rsplit(".", 1)[0]
        aims = frozenset({"full return link"})
        yield _Spot([link, other], f"on both directions of {name}", aims)
    if len(found.full) > 1:
        names = [link_name(one) for one in found.full]
        yield _Spot(found.full, f"at {', '.join(names[:-1])} and {names[-1]}")


def _other_direction(found: Diagnosis, link: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same link in the other direction, if it has a queue of its own in which something waited."""
    name, direction = str(link["name"]).rsplit(".", 1)
    other = f"{name}.{'reverse' if direction == 'forward' else 'forward'}"
    one = next((one for one in found.summary["links"] if one["name"] == other), None)
    return one if one and float(one["metrics"].get("queue_max_packets") or 0.0) >= 2 else None


def _disciplines(found: Diagnosis) -> Iterator[Remedy]:
    """Disciplines that keep a queue short, or flows apart."""
    interval = max(100, math.ceil(1000 * found.rtt))
    # CoDel's interval is about a worst round trip, its target 5 % of that (RFC 8289 section 4.3 and 4.4).
    timing = {"interval": f"{interval} ms", "target": f"{max(5, interval // 20)} ms"}
    shown = f"interval {interval}ms target {max(5, interval // 20)}ms"
    for spot in _spots(found):
        now = [found.setting(link, "queue") or {} for link in spot.links]
        if any(shaper_of(queue) for queue in now):
            # Another discipline would let through more than is to pass.
            continue
        kinds = {queue.get("kind") for queue in now}
        room = max(found.pipe_packets, *(packets(queue.get("limit")) or 1000 for queue in now))
        disciplines: list[tuple[str, dict[str, Any], str]] = [
            ("fq_codel", timing, f"fq_codel limit {room} {shown}"),
            ("codel", timing, f"codel limit {room} {shown}"),
            ("pie", {}, f"pie limit {room}"),
            ("drr", {}, "sfq"),
        ]
        # These differ from those above only where there is something that they alone look at: each costs runs.
        if _has_l4s(found):
            disciplines.append(("dualpi2", {}, f"dualpi2 limit {room}"))
        if kinds == {"pie"}:
            disciplines.append(("fq_pie", {}, f"fq_pie limit {room}"))
        if _has_classes(found) or _has_crowded_hosts(found):
            disciplines.append(("cake", {"rtt": f"{interval} ms"}, f"cake rtt {interval}ms"))
        for kind, more, linux in disciplines:
            aims = {"standing queue", "unequal shares", "too many flows"} | spot.aims
            if kind == "drr":
                aims -= {"standing queue"}
            one = len(spot.links) == 1
            # Of several queues at once these two are tried: they do alone what the others do.
            if kinds == {kind} or not (one or kind in ("fq_codel", "codel")):
                continue
            table = {"kind": kind, "limit": f"{room} packets", **more}
            settings = dict.fromkeys(found.path(spot.links, "queue"), table)
            command = f"tc qdisc replace dev DEVICE root {linux}"
            where = "" if one else f"  # {spot.where}"
            made = remedy(f"{kind} {spot.where}", "queue", "router", settings, aims, command + where)
            # Each queue more is a change more.
            yield replace(made, effort=made.effort + len(spot.links) - 1)
            if one and kind in ("fq_codel", "codel") and (marked := tcp(found, "ecn", True)):
                yield remedy(
                    f"{kind} {spot.where}, with ECN",
                    "queue",
                    "router and sender and receiver",
                    {**settings, **marked},
                    aims | {"short queue"},
                    f"{command} ecn\nsysctl -w net.ipv4.tcp_ecn=1",
                )


def _has_l4s(found: Diagnosis) -> bool:
    """Whether a flow sends ECT(1): only then a dual queue has two queues."""
    return any(
        _kind(_tcp(flow).get("congestion")) == "prague" and _tcp(flow).get("ecn") == "accurate"
        for flow in _sections(found)
    )


def _has_classes(found: Diagnosis) -> bool:
    """Whether a flow has a DSCP, by which CAKE sorts packets."""
    return any(flow.get("dscp") not in (None, 0, "default", "cs0") for flow in _sections(found))


def _has_crowded_hosts(found: Diagnosis) -> bool:
    """Whether hosts with unequally many flows share a full link: by flow they have unequal shares, by host equal ones."""
    for end in ("from", "to"):
        counts = Counter(str(flow[end]) for flow in found.summary["flows"])
        if len(set(counts.values())) > 1:
            return True
    return False


def _sections(found: Diagnosis) -> Sequence[Mapping[str, Any]]:
    flows: Sequence[Mapping[str, Any]] = found.content.get("flow", ())
    return flows


def _tcp(flow: Mapping[str, Any]) -> Mapping[str, Any]:
    return flow.get("tcp") or {}


def _kind(value: Any) -> Any:
    return value.get("kind") if isinstance(value, Mapping) else value


#: Disciplines that aim at a delay, and the numbers of each: an interval of about a round trip if it has one, and the delay.
_AIMING = {
    "codel": ("interval", "target"),
    "fq_codel": ("interval", "target"),
    "pie": (None, "target"),
    "fq_pie": (None, "target"),
    "red": (None, "target_delay"),
}


def _timings(found: Diagnosis) -> Iterator[Remedy]:
    """Longer times for queues that take the bursts of a long path for congestion.

    CoDel's defaults are for round trips of up to 100 ms (RFC 8289 section 4.3); its target is 5 % to 10 % of the interval.
    """
    for link in found.data:
        metrics, queue = link["metrics"], found.setting(link, "queue") or {}
        if queue.get("kind") not in _AIMING or not (metrics.get("drops_queue") or metrics.get("marks")):
            continue
        interval, target = _AIMING[queue["kind"]]
        if queue.get("min_threshold"):
            # Thresholds that are set stand before those that follow from a delay.
            continue
        for times, share in ((1, 20), (2, 10)):
            tried = max(100, math.ceil(1000 * found.rtt) * times)

            def made(
                value: int,
                link: Mapping[str, Any] = link,
                queue: Mapping[str, Any] = queue,
                interval: str | None = interval,
                target: str = target,
                share: int = share,
            ) -> Remedy:
                numbers = {interval: f"{value} ms"} if interval else {}
                numbers[target] = f"{max(5, value // share)} ms"
                words = " and ".join(f"{key.replace('_', ' ')} of {text}" for key, text in numbers.items())
                shown = " ".join(f"{key} {text.replace(' ', '')}" for key, text in numbers.items())
                marks = " ecn" if queue.get("ecn") else ""
                limit = packets(queue.get("limit")) or 1000
                kind = queue["kind"]
                command = (
                    f"tc qdisc change dev DEVICE root {kind} limit {limit} {shown}{marks}" if kind != "red" else ""
                )
                return remedy(
                    f"{kind} with {'an' if interval else 'a'} {words} at {link_name(link)}",
                    "queue",
                    "router",
                    {found.path([link], "queue")[0]: {**queue, **numbers}},
                    {"short queue"},
                    command,
                )

            read = read_quantity(queue.get(interval or target))
            now = round(1000 * read[0] * (1 if interval else share)) if read else 0
            if now < tried:
                what = f"{queue['kind']}'s interval" if interval else f"{share} times {queue['kind']}'s target"
                yield dialled(what, now, tried, "ms", made)


def _longer_or_shorter(found: Diagnosis) -> Iterator[Remedy]:
    """A longer or a shorter queue at the bottleneck."""
    link = found.bottleneck
    if link is None:
        return
    (place,) = found.path([link], "queue")
    queue = found.setting(link, "queue") or {}
    if shaper_of(queue):
        return
    limit = packets(queue.get("limit"))
    droptail = queue.get("kind") == "droptail"

    def made(length: int, aims: set[str]) -> Remedy:
        plain = remedy(
            f"a queue of {length:,} packets at {link_name(link)}",
            "queue",
            "router",
            {place: {"kind": "droptail", "limit": f"{length} packets"}},
            aims,
            f"tc qdisc replace dev DEVICE root pfifo limit {length}",
        )
        # Other numbers of the discipline that is there are a smaller change than to give it up.
        return plain if droptail else replace(plain, effort=plain.effort + 1)

    lengths = _lengths(found, limit or 1000)
    if not droptail:
        # What drops or marks early can be left out.
        pipe = max(10, found.pipe_packets)
        lengths[pipe] = lengths.get(pipe, set()) | {"short queue"}
    for length, aims in lengths.items():
        if not (droptail and length == limit):
            now = limit if droptail else None
            yield dialled("queue", now, length, "packets", lambda value, aims=aims: made(value, aims))  # type: ignore[misc]


def _lengths(found: Diagnosis, limit: int) -> dict[int, set[str]]:
    """Lengths that are worth a try beside the present one, and what each aims at."""
    pipe, flows = found.pipe_packets, max(1, len(found.flows))
    lengths: dict[int, set[str]] = {}
    if pipe > limit:
        lengths[pipe] = {"short queue", "overshoot"}
    for length in (max(10, math.ceil(pipe / math.sqrt(flows))), max(10, pipe // 4)):
        if length < limit and length not in lengths:
            lengths[length] = {"standing queue"}
    if 10 * flows > limit:
        lengths[10 * flows] = {"too many flows"}
    return lengths
