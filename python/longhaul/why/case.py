"""A scenario as interventions see it: a resolved document that they change, and what a run of it measured for one group of flows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .. import script
from ..script import seconds
from ..units import read_in, read_quantity
from .shares import Demand, Share, max_min

#: IP and TCP headers without options, in bytes.
HEADERS = 40
_OTHER = {"forward": "reverse", "reverse": "forward"}


def rate_of(value: object) -> float | None:
    """A rate of a scenario in bit/s."""
    return read_in(value, "bit/s")


#: Disciplines that shape, and the setting that has their rate.
SHAPERS = {"tbf": "rate", "cake": "bandwidth"}


def shaper_of(queue: Mapping[str, Any] | None) -> tuple[str, float] | None:
    """The setting of a queue that shapes and its rate in bit/s; `None` where a queue lets through what the link takes.

    >>> shaper_of({"kind": "tbf", "rate": "5 Mbit/s"}), shaper_of({"kind": "cake"}), shaper_of({"kind": "droptail"})
    (('rate', 5000000.0), None, None)
    """
    key = SHAPERS.get(str((queue or {}).get("kind")))
    rate = rate_of((queue or {}).get(key)) if key else None
    return (key, rate) if key and rate else None


def link_name(link: Mapping[str, Any]) -> str:
    """A direction of a link as people call it.

    >>> link_name({"name": "satellite.forward", "from": "hub", "to": "client"})
    'satellite (hub → client)'
    """
    return f"{str(link['name']).rsplit('.', 1)[0]} ({link['from']} → {link['to']})"


def spec_of(content: Mapping[str, Any], link: str) -> dict[str, Any]:
    """The section of a link, or of a dumbbell's bottleneck, by its name."""
    for one in content.get("link", ()):
        if one["name"] == link:
            return one  # type: ignore[no-any-return]
    found: dict[str, Any] = (content.get("dumbbell") or {}).get(link) or {}
    return found


def section_of(content: Mapping[str, Any], group: str) -> dict[str, Any]:
    """The section of a group of flows; an empty one if it was taken away."""
    return next((one for one in content.get("flow", ()) if one.get("name") == group), {})


def setting(content: Mapping[str, Any], direction: str, key: str) -> Any:
    """A setting of one direction of a link, as "satellite.forward"."""
    name, side = direction.rsplit(".", 1)
    spec = spec_of(content, name)
    return (spec.get(side) or {}).get(key, spec.get(key))


def carrier_of(content: Mapping[str, Any], direction: str) -> dict[str, Any] | None:
    """The table of the carrier that a direction of a link shares with others, if it does."""
    place = setting(content, direction, "carrier")
    return place and next((one for one in content.get("carrier", ()) if one["name"] == place["name"]), None)


def put(content: dict[str, Any], direction: str, key: str, value: Any) -> None:
    """Sets one direction of a link."""
    name, side = direction.rsplit(".", 1)
    spec = spec_of(content, name)
    spec.setdefault(side, {})[key] = value
    if key in (spec.get(_OTHER[side]) or {}):
        # A setting of the whole link that both directions override is an error.
        spec.pop(key, None)


def clear(content: dict[str, Any], direction: str, key: str) -> None:
    """Takes a setting away from one direction of a link; the other keeps it."""
    name, side = direction.rsplit(".", 1)
    spec = spec_of(content, name)
    spec.get(side, {}).pop(key, None)
    if key in spec:
        spec.setdefault(_OTHER[side], {}).setdefault(key, spec.pop(key))


def clear_both(content: dict[str, Any], link: str, key: str) -> None:
    """Takes a setting away from both directions of a link."""
    for direction in (f"{link}.forward", f"{link}.reverse"):
        clear(content, direction, key)


@dataclass(frozen=True)
class Case:
    """One group of flows in a run: the scenario as it was run, and its summary."""

    content: Mapping[str, Any]
    summary: Mapping[str, Any]
    group: str
    #: The summary may be measured from the run's begin on; what a link was before this time is not the path as it is, in s.
    since: float = 0.0

    @property
    def section(self) -> dict[str, Any]:
        """The group's section."""
        return section_of(self.content, self.group)

    @cached_property
    def flows(self) -> list[dict[str, Any]]:
        """The group's flows."""
        return [flow for flow in self.summary["flows"] if flow["group"] == self.group]

    @property
    def is_quic(self) -> bool:
        """Whether the flows are of QUIC: then `quic` has their settings, not `tcp`."""
        return self.section.get("transport") == "quic"

    @property
    def is_udp(self) -> bool:
        """Whether the flows are of UDP: nothing is acknowledged, and the application alone decides what is sent."""
        return self.section.get("transport") == "udp"

    @property
    def transport(self) -> dict[str, Any]:
        """The settings of the flows' connections."""
        found: dict[str, Any] = self.section.get("quic" if self.is_quic else "tcp") or {}
        return found

    def path(self, key: str) -> list[dict[str, Any]]:
        """Directions of links that data (`data_path`) or ACKs (`ack_path`) of any of the flows cross."""
        numbers = dict.fromkeys(number for flow in self.flows for number in crossed(flow, key))
        return [self.summary["links"][number] for number in numbers]

    @cached_property
    def life(self) -> tuple[float, float]:
        """From when to when the flows were active and measured, in s: a flow's window of observation."""
        lives = [self._life_of(flow) for flow in self.flows]
        end = float(self.summary["duration_s"])
        begin = min((first for first, _ in lives), default=float(self.summary["warmup_s"]))
        return begin, max((last for _, last in lives), default=end)

    def use(self, link: Mapping[str, Any]) -> float:
        """How far a direction of a link was in use while the flows were active, if nothing else used it; at most 1."""
        begin, end = self.life
        used = metric(link, "utilisation") * float(self.summary["measured_s"])
        return min(1.0, used / (end - begin)) if end > begin else 0.0

    def share(self, *names: str) -> float:
        """The mean share of the flows' time in which a sender had these limits."""
        shares = [sum(float((flow.get("limited") or {}).get(name) or 0.0) for name in names) for flow in self.flows]
        return math.fsum(shares) / len(shares) if shares else 0.0

    def total(self, metric: str) -> float:
        """The sum of a metric over the flows."""
        return math.fsum(float(flow["metrics"].get(metric) or 0.0) for flow in self.flows)

    def changes(self, direction: str) -> list[Mapping[str, Any]]:
        """Scripted changes of one direction of a link while the flows were active, in order."""
        begin, end = max(self.life[0], self.since), self.life[1]
        return [one for at, one in self._script(direction) if begin < at < end]

    def changed_before(self, direction: str, key: str) -> Mapping[str, Any] | None:
        """The last change of a rate or a delay before the flows were active and measured: what held when that time began."""
        begin = max(self.life[0], self.since)
        return next((one for at, one in self._script(direction)[::-1] if key in one and at <= begin), None)

    def _script(self, direction: str) -> list[tuple[float, Mapping[str, Any]]]:
        """All scripted changes with their times in s, in order."""
        if direction not in self._scripts:
            section = {"changes": setting(self.content, direction, "changes")}
            self._scripts[direction] = script.changes(section, self.life[1])
        return self._scripts[direction]

    @cached_property
    def _scripts(self) -> dict[str, list[tuple[float, Mapping[str, Any]]]]:
        return {}

    def rate(self, link: Mapping[str, Any]) -> float:
        """The highest rate that a direction of a link had while the flows were active, or that its queue lets through, in bit/s."""
        before = self.changed_before(str(link["name"]), "rate")
        first = (rate_of(before["rate"]) if before else None) or float(link.get("rate_bps") or 0.0)
        highest = max([first, *(rate_of(one.get("rate")) or 0.0 for one in self.changes(str(link["name"])))])
        shaper = shaper_of(setting(self.content, str(link["name"]), "queue"))
        return min(highest, shaper[1]) if shaper else highest

    def delay(self, link: Mapping[str, Any], choose: Callable[[list[float]], float] = max) -> float:
        """The largest delay that a direction of a link had meanwhile, in s; the smallest with `choose=min`."""
        before = self.changed_before(str(link["name"]), "delay")
        first = seconds(before["delay"]) if before else float(link["delay_s"])
        return choose([first, *(seconds(one["delay"]) for one in self.changes(str(link["name"])) if "delay" in one)])

    @cached_property
    def rtt(self) -> float:
        """The longest round trip of the empty path while the flows were active, in s."""
        had = [way for flow in self.flows for way in ways(flow)]
        base = max((float(way.get("base_rtt_s") or 0.0) for way in had), default=0.0)
        links = [*self.path("data_path"), *self.path("ack_path")]
        return base + math.fsum(self.delay(link) - float(link["delay_s"]) for link in links)

    @cached_property
    def answer_s(self) -> float | None:
        """The time of an answer over the empty path, in s: delays, and the bytes of question and answer at the links' rates.

        A round trip of full segments is longer than one of a short question. `None` where the application does not answer, or draws
        its sizes.
        """
        app = self.section.get("app") or {}
        sizes = [read_quantity(app.get(key)) for key in ("request", "response")]
        if app.get("kind") != "request" or any(size is None or size[1] != "bytes" for size in sizes):
            return None
        question, answer = (size[0] for size in sizes if size)
        packet = (self.mss + HEADERS) * 8
        # What the round trip of a full segment and its ACK takes at the links' rates, and what these two take.
        there, back = (self._at_rates("data_path", packet), self._at_rates("ack_path", HEADERS * 8))
        first = min(question, self.mss) + HEADERS, min(answer, self.mss) + HEADERS
        rest = max(0.0, question - self.mss), max(0.0, answer - self.mss)
        own = self._at_rates("ack_path", first[0] * 8) + self._at_rates("data_path", first[1] * 8)
        more = sum(size * 8 / self.fair_share for size in rest) if math.isfinite(self.fair_share) else 0.0
        return self.rtt - there - back + own + more

    def _at_rates(self, key: str, bits: float) -> float:
        return math.fsum(bits / rate for link in self.path(key) if (rate := self.rate(link)))

    @cached_property
    def mss(self) -> int:
        """The smallest payload of a full segment, in bytes."""
        return min((int(flow.get("mss_bytes") or 1460) for flow in self.flows), default=1460)

    @cached_property
    def fair(self) -> Share:
        """The share of the path that a typical flow of the group has if all that are active beside it get theirs, with headers.

        Others that write less than they could send count with what they delivered, and what another link keeps from them is left for
        the group (`max_min`).
        """
        flow = sorted(self.flows, key=lambda one: self._life_of(one)[1] - self._life_of(one)[0])[len(self.flows) // 2]
        begin, end = self._life_of(flow)
        counts: dict[tuple[tuple[int, ...], float, float], float] = {}
        for one in self.summary["flows"]:
            first, last = self._life_of(one)
            beside = 1.0 if one is flow else max(0.0, min(end, last) - max(begin, first)) / max(1e-9, end - begin)
            if beside > 0.0 and one.get("data_path"):
                key = (self._resources(one), math.inf if one is flow else self._wanted(one), self._weight(one))
                counts[key] = counts.get(key, 0.0) + beside
        mine = (self._resources(flow), math.inf, self._weight(flow))
        counts.setdefault(mine, 1.0)
        demands = [Demand(count, links, most, weight) for (links, most, weight), count in counts.items()]
        links = {link for one in demands for link in one.links}
        rates = {link: self.rate(self.summary["links"][link]) for link in links if link >= 0}
        carriers = self.content.get("carrier") or ()
        rates |= {link: rate_of(carriers[-1 - link]["rate"]) or 0.0 for link in links if link < 0}
        by_weight = {link for link in rates if link < 0 or self._serves_by_weight(link)}
        share = max_min(demands, rates, by_weight)[list(counts).index(mine)]
        if share.link is None or share.link >= 0:
            return share
        # A carrier limits by the flow's own link on it.
        own = next(link for link in flow["data_path"] if self._carrier_on(link) == share.link)
        return replace(share, link=own)

    def _resources(self, flow: Mapping[str, Any]) -> tuple[int, ...]:
        """The links of a flow's data, and the carriers that they share with others: -1 for the first, and so on."""
        path = tuple(flow.get("data_path") or ())
        return (*path, *dict.fromkeys(found for link in path if (found := self._carrier_on(link)) is not None))

    def _carrier_on(self, link: int) -> int | None:
        found = carrier_of(self.content, str(self.summary["links"][link]["name"]))
        return None if found is None else -1 - [one["name"] for one in self.content["carrier"]].index(found["name"])

    def _weight(self, flow: Mapping[str, Any]) -> float:
        for link in flow.get("data_path") or ():
            if place := setting(self.content, str(self.summary["links"][link]["name"]), "carrier"):
                return float(place.get("weight", 1.0))
        return float(section_of(self.content, str(flow["group"])).get("weight") or 1.0)

    def _serves_by_weight(self, link: int) -> bool:
        queue = setting(self.content, str(self.summary["links"][link]["name"]), "queue") or {}
        return queue.get("kind") in ("drr", "wfq")

    @cached_property
    def is_weighted(self) -> bool:
        """Whether the link that sets the flows' share serves by weight, and not all have the same."""
        link = self.fair.link if self.flows else None
        weights = {self._weight(one) for one in self.summary["flows"] if link in (one.get("data_path") or ())}
        return link is not None and self._serves_by_weight(link) and len(weights) > 1

    def _life_of(self, flow: Mapping[str, Any]) -> tuple[float, float]:
        """From when to when a flow was active and measured, in s."""
        end, start = float(self.summary["duration_s"]), float(flow.get("start_s") or 0.0)
        took = flow["metrics"].get("completion_time_s")
        return max(float(self.summary["warmup_s"]), start), end if took is None else min(end, start + float(took))

    def _wanted(self, flow: Mapping[str, Any]) -> float:
        """The most that a flow wants, in bit/s with headers: its own link, or what an application delivered that writes less."""
        own = float(flow.get("access_rate_bps") or math.inf)
        app = section_of(self.content, str(flow["group"])).get("app") or {}
        if app.get("kind", "bulk") == "bulk" or flow["group"] == self.group:
            return own
        mss = int(flow.get("mss_bytes") or 1460)
        goodput = (flow.get("metrics") or {}).get("goodput_bps")
        return own if goodput is None else min(own, float(goodput) * (mss + HEADERS) / mss)

    @cached_property
    def slowest(self) -> dict[str, Any] | None:
        """The direction of a link that sets the flows' share of the path, on the way of the data."""
        link = self.fair.link if self.flows else None
        if link is not None:
            found: dict[str, Any] = self.summary["links"][link]
            return found
        return min(self.path("data_path"), key=lambda link: self.rate(link), default=None)

    @cached_property
    def own_rate(self) -> float:
        """The rate of the flows' own links, in bit/s; infinite without any."""
        rates = [float(flow["access_rate_bps"]) for flow in self.flows if flow.get("access_rate_bps")]
        return min(rates, default=math.inf)

    @cached_property
    def fair_share(self) -> float:
        """The payload of the flows' share of the path, in bit/s."""
        rate = self.fair.rate if self.flows and self.slowest else math.inf
        return min(rate, self.own_rate) * self.mss / (self.mss + HEADERS)

    @property
    def window(self) -> int:
        """Bytes that fill an equal share of the path."""
        return max(2 * self.mss, math.ceil(self.fair_share * self.rtt / 8)) if math.isfinite(self.fair_share) else 10**9

    @property
    def pipe_packets(self) -> int:
        """Packets that fill the path: its slowest link's rate times the longest round trip of the empty path."""
        link = self.slowest
        return max(2, math.ceil(self.rate(link) * self.rtt / 8 / (self.mss + HEADERS))) if link else 2


def metric(item: Mapping[str, Any], key: str) -> float:
    """A metric; 0 where it is not defined."""
    return float((item.get("metrics") or {}).get(key) or 0.0)


def ways(flow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The ways that a flow had while it was active and measured: itself, if it had one.

    >>> ways({"data_path": [0], "ways": [{"data_path": [0], "share": 0.4}, {"data_path": [2], "share": 0.6}]})[1]["data_path"]
    [2]
    """
    return [way for way in flow.get("ways") or () if way["share"] > 0.0] or [flow]


def crossed(flow: Mapping[str, Any], key: str) -> list[int]:
    """Directions of links that a flow's data (`data_path`) or ACKs (`ack_path`) cross on any of its ways."""
    return list(dict.fromkeys(number for way in (flow, *ways(flow)) for number in way.get(key) or ()))


def crosses(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two sets of flows have a direction of a link in common."""

    def links(flow: Mapping[str, Any]) -> set[int]:
        return {*crossed(flow, "data_path"), *crossed(flow, "ack_path")}

    mine = {number for flow in one for number in links(flow)}
    return any(mine & links(flow) for flow in other)
