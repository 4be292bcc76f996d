"""The content of a drawing: nodes, links, groups of flows on their way, middleboxes; of a scenario, or of a result with its numbers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import script, usage
from ..naming import listed
from ..script import seconds
from ..units import counted, quantity, read_in, read_quantity
from .alike import Alike, called, joined

#: So many groups of flows have a line of their own; the others share one.
LANES = 6
#: So many boxes of private hosts stand at one side of a node; the others share one.
_HOSTS = 8
#: Kinds of middleboxes that have connections of their own between two nodes.
_CARRIERS = frozenset({"split", "paced"})
#: Words for links whose rate has a course of its own.
ON_REQUEST, MEASURED, SATELLITES = "capacity on request", "measured", "moving satellites"
ADAPTED = "rate follows the signal"
#: Kinds of applications whose data come back to the opener of the connection; and all that send in both directions.
_ANSWERED = frozenset({"web", "request"})
_ASKED = _ANSWERED | {"keystrokes"}


@dataclass
class Way:
    """One direction of a link."""

    number: int
    source: str
    target: str
    rate: float | None
    delay: float
    queue: str
    #: What happens on it besides queueing: "loss 1 %", "outage 70 to 80 s".
    events: list[str] = field(default_factory=list)
    #: Times at which nothing gets through, in s.
    outages: list[tuple[float, float]] = field(default_factory=list)
    #: Of a result; of directions that are alike the means, and of losses the sums.
    metrics: Mapping[str, Any] = field(default_factory=dict)
    #: The longest delay in s, where it moves and `delay` is the least.
    longest: float | None = None
    #: The numbers of all directions that it stands for.
    alike: list[int] = field(default_factory=list)
    #: What it has over time, from 0 to 1 of its greatest, and what that is: a measured rate, or what was carried over grants.
    course: tuple[str, list[float]] | None = None

    @property
    def delays(self) -> str:
        """Its delay in words, or how far it moves."""
        if self.longest is None:
            return quantity(self.delay, "s")
        return f"{quantity(self.delay, 's')} to {quantity(self.longest, 's')}"

    @property
    def use(self) -> float | None:
        """The share of the rate that was in use, if it was measured."""
        value = self.metrics.get("utilisation")
        return None if value is None else float(value)

    @property
    def room(self) -> float | None:
        """Packets that the queue has room for, if it is counted in packets."""
        words = self.queue.split()
        return float(words[-2]) if len(words) > 2 and words[-1].startswith("packet") and _is_number(words[-2]) else None


@dataclass
class Link:
    """A link with its one or two directions."""

    name: str
    ways: list[Way]
    #: The names of the links that it stands for: itself, and those that are alike.
    alike: list[str] = field(default_factory=list)
    #: The groups of flows that it limits: it is full most of their time, and the fullest on their way.
    limits: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Its name on the drawing."""
        return called(self.alike or [self.name])

    @property
    def ends(self) -> tuple[str, str]:
        """The nodes, in the order of the document."""
        return self.ways[0].source, self.ways[0].target


@dataclass
class Node:
    """A node of the network, or the private hosts of a group of flows."""

    name: str
    label: str
    is_host: bool = False
    #: What stands below its name: middleboxes, or the link to private hosts.
    notes: list[str] = field(default_factory=list)
    #: The names of the nodes that it stands for, if there are others that are alike.
    alike: list[str] = field(default_factory=list)


@dataclass
class Lane:
    """Groups of flows that go the same way as one line; most lanes have one group."""

    groups: list[str]
    count: int
    #: The nodes on the way of the data, private hosts included.
    nodes: list[str]
    #: The links between them; `None` in front of and behind private hosts.
    links: list[str | None]
    #: Whether data go in both directions: who asks gets an answer.
    is_asked: bool = False
    #: What is to be read of it: from, to, goodput, limit.
    text: str = ""
    #: The name of the limit that took most of its time.
    limit: str = ""
    #: Places in `nodes` between which a proxy carries the data over connections of its own.
    carried: tuple[int, int] | None = None
    #: The names of groups that are alike, of which the first stands in `groups`.
    alike: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its name, with the number of flows."""
        if len(self.groups) == 1 and len(self.alike) > 1:
            name = called(self.alike)
            return name if self.count == len(self.alike) else f"{name}, {counted(self.count, 'flow')}"
        name = self.groups[0] if len(self.groups) == 1 else f"{len(self.groups)} other groups"
        return f"{name} × {self.count}" if self.count > 1 else name


@dataclass
class Network:
    """All of it."""

    name: str
    nodes: dict[str, Node]
    links: dict[str, Link]
    lanes: list[Lane]
    #: Pairs of a private host and its node.
    private: list[tuple[str, str]]
    is_result: bool

    @property
    def text(self) -> str:
        """The drawing in a sentence, for those who do not see it."""
        parts = [f"{counted(len(self.nodes), 'node')}, {counted(len(self.links), 'link')}"]
        parts += [
            f"{lane.title}: {' to '.join(self.nodes[name].label for name in lane.nodes)}" for lane in self.lanes[:LANES]
        ]
        return f"The network: {'; '.join(parts)}"


def network_of(content: Mapping[str, Any], summary: Mapping[str, Any] | None = None) -> Network:
    """The network of a resolved scenario (it may be empty, if there is a summary), with the numbers of a run's summary."""
    known = summary if summary is not None else _planned(content)
    one_of_each = joined({**known, "flows": list(_each_way(known["flows"]))}, content)
    found = one_of_each.found
    nodes = {}
    for node in found["nodes"]:
        name = str(node["name"])
        names = one_of_each.nodes.get(name, [name])
        nodes[name] = Node(name, called(names), alike=names if len(names) > 1 else [])
    links = _links(found, content, one_of_each)
    for link in links.values():
        for name in link.ends:
            nodes.setdefault(name, Node(name, name))
    for box in found.get("middleboxes") or ():
        named = "" if box["name"] == box["kind"] else f"{box['name']} "
        for place in box["at"]:
            if place in nodes:
                kind = str(box["kind"]).replace("_", " ")
                nodes[place].notes.append(f"{named}({kind})" if named else kind)
    made = Network(str(found.get("name", "")), nodes, links, [], [], summary is not None)
    _add_lanes(made, found, content, one_of_each.groups)
    return made


def _each_way(flows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Flows whose ways change once for each way of their data, with a note on when they have it."""
    for flow in flows:
        ways = flow.get("ways") or ()
        data: dict[tuple[int, ...], list[Mapping[str, Any]]] = {}
        for way in ways:
            data.setdefault(tuple(way["data_path"]), []).append(way)
        if not ways:
            yield dict(flow)
        elif len(data) == 1:
            yield {**flow, "note": "its ACKs change their way"}
        else:
            for path, same in data.items():
                share = quantity(sum(float(way.get("share") or 0.0) for way in same), "share", 2)
                yield {**flow, "data_path": [*path], "note": same[0].get("from") or f"{share} of the time on this way"}


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def _links(found: Mapping[str, Any], content: Mapping[str, Any], one_of_each: Alike) -> dict[str, Link]:
    settings = {str(one["name"]): one for one in content.get("link", ())}
    if "dumbbell" in content:
        settings["bottleneck"] = content["dumbbell"]["bottleneck"]
    links: dict[str, Link] = {}
    for one in found["links"]:
        name, number = str(one["name"]), int(one["number"])
        base, _, way = name.rpartition(".") if name.endswith((".forward", ".reverse")) else (name, "", "forward")
        made = Way(
            number,
            str(one["from"]),
            str(one["to"]),
            one["rate_bps"],
            float(one["delay_s"]),
            str(one["queue"]),
            metrics=one.get("metrics") or {},
            alike=one_of_each.ways[number],
        )
        section = settings.get(base, {})
        own = {**section, **(section.get(way) or {})}
        duration = seconds((content.get("run") or {}).get("duration"))
        made.events, made.outages = _events(own, duration)
        made.course = _scripted(own, made, duration)
        known = links.get(base)
        if known and {known.ends[0], known.ends[1]} == {made.source, made.target}:
            known.ways.append(made)
        else:
            links[base if known is None else name] = Link(base, [made], one_of_each.links.get(base, [base]))
    return links


def _events(section: Mapping[str, Any], duration: float) -> tuple[list[str], list[tuple[float, float]]]:
    """Events on a direction besides queueing, in words; and the times at which it is down, in s."""
    texts: list[str] = []
    loss = section.get("loss")
    if loss is not None and (text := _loss(loss)):
        texts.append(text)
    outages = [(start, length) for start, length, _ in script.outages(section, duration)]
    down = [(start, start + length) for start, length in outages]
    if any(one.get("up") for one in section.get("outages") or ()):
        share = sum(length for _, length in outages) / duration if duration else 0.0
        texts.append(f"outages at random, {quantity(share, 'share')} of the time on average")
    elif len(down) == 1:
        texts.append(f"down {quantity(down[0][0], 's')} to {quantity(down[0][1], 's')}")
    elif down:
        texts.append(f"{len(down)} outages, {quantity(sum(length for _, length in outages), 's')} in all")
    changes = [one for _, one in script.changes(section, duration)]
    if len(changes) == 1:
        what = [str(changes[0][key]) for key in ("rate", "delay") if key in changes[0]]
        if "loss" in changes[0]:
            what.append(f"loss {quantity(float(changes[0]['loss']), 'share')}")
        texts.append(f"{', '.join(what)} from {quantity(seconds(changes[0]['at']), 's')}")
    elif changes:
        kinds = [key for key in ("rate", "delay", "loss") if any(key in one for one in changes)]
        texts.append(f"{len(changes)} changes of {listed(kinds, 'and')}")
    if section.get("demand") or section.get("carrier"):
        texts.append(ON_REQUEST)
    if section.get("trace"):
        texts.append(MEASURED)
    if section.get("acm"):
        texts.append(ADAPTED)
    if section.get("leo"):
        texts.append(SATELLITES)
    if wander := section.get("wander"):
        texts.append(f"{' and '.join(script.wandering(wander))} at random")
    texts += [word for word in ("jitter", "reordering", "slots", "corruption", "duplication") if section.get(word)]
    if section.get("half_duplex"):
        texts.append("half duplex")
    if section.get("arq"):
        texts.append("losses repeated")
    if section.get("serial"):
        texts.append("serial line")
    return texts, down


#: Values of a course.
POINTS = 48


def _scripted(section: Mapping[str, Any], way: Way, duration: float) -> tuple[str, list[float]] | None:
    """The course of a rate that changes more than once, beside the words that count the changes."""
    steps = [
        (at, read_in(one["rate"], "bit/s") or 0.0) for at, one in script.changes(section, duration) if "rate" in one
    ]
    words = next((text for text in way.events if " changes of " in text), "")
    if len(steps) < 2 or not words or not duration or way.rate is None:
        return None
    from ..course import Steps  # with numpy, which few drawings need

    times, values = zip((-math.inf, way.rate), *steps, strict=True)
    course = Steps(times, values)
    rates = [course.at((place + 0.5) * duration / POINTS) for place in range(POINTS)]
    return words, [rate / max(rates) for rate in rates]


def _loss(loss: Any) -> str:
    share = loss.get("probability") if isinstance(loss, Mapping) else loss
    if isinstance(share, str):
        read = read_quantity(share)
        share = read[0] if read else None
    if isinstance(share, int | float):
        return f"loss {quantity(float(share), 'share')}" if share else ""
    kind = str(loss.get("kind", "")) if isinstance(loss, Mapping) else ""
    return "losses in bursts" if kind.startswith("gilbert") else f"loss: {kind.replace('_', ' ')}" if kind else "loss"


def _planned(content: Mapping[str, Any]) -> dict[str, Any]:
    """A summary, as a run would have it, of nodes, links, ways and middleboxes; `content` is the resolved scenario."""
    sections = [dict(one) for one in content.get("link", ())]
    if "dumbbell" in content:
        sections.insert(0, {**content["dumbbell"]["bottleneck"], "name": "bottleneck", "ends": ["left", "right"]})
    links = []
    for one in sections:
        a, b = one["ends"]
        for way, source, target in (("forward", a, b), ("reverse", b, a)):
            merged = {**one, **(one.get(way) or {})}
            rate = read_quantity(merged.get("rate"))
            links.append({
                "name": f"{one['name']}.{way}", "from": source, "to": target, "rate_bps": rate[0] if rate else None,
                "delay_s": seconds(merged.get("delay")), "queue": _queue(merged.get("queue")),
            })  # fmt: skip
    names = dict.fromkeys(str(node["name"]) for node in content.get("node", ()))
    names.update(dict.fromkeys(str(name) for link in links for name in (link["from"], link["to"])))
    flows = []
    for number, one in enumerate(content.get("flow", ())):
        group = str(one.get("name", "flow"))
        ends = (str(one.get("from", "left")), str(one.get("to", "right")))
        private = "access" in one or "dumbbell" in content
        kind = (one.get("app") or {}).get("kind", "bulk")
        of_data = ends[::-1] if kind in _ANSWERED else ends
        path, ways = _ways_over_time(links, _route(links, *of_data), content.get("route", ()), group)
        flows.append({
            "id": number, "name": group, "group": group, "app": kind,
            "from": f"{group}.from" if private else ends[0], "to": f"{group}.to" if private else ends[1],
            "data_path": path, "ends": of_data, "ways": ways,
            "count": int(one.get("count", 1)) * int(one.get("streams", 1)),
        })  # fmt: skip
    boxes = [
        {"name": one.get("name", one["kind"]), "kind": one["kind"], "at": [one["at"], *([one["peer"]] if one.get("peer") else [])]}
        for one in content.get("middlebox", ())
    ]  # fmt: skip
    return {
        "name": content.get("name", ""),
        "nodes": [{"name": name} for name in names],
        "links": links,
        "flows": flows,
        "middleboxes": boxes,
    }


def _queue(queue: Any) -> str:
    if isinstance(queue, Mapping):
        limit = queue.get("limit", "")
        return f"{queue.get('kind', '')} {limit if isinstance(limit, str) else f'{limit} packets' if limit else ''}".strip()
    return f"droptail {queue or '1000 packets'}"


def _route(links: Sequence[Mapping[str, Any]], source: str, target: str) -> list[int]:
    """The links of least propagation delay, then fewest hops, then the order of the document: the simulator's routing."""
    waiting: list[tuple[float, int, list[int], str]] = [(0.0, 0, [], source)]
    done: set[str] = set()
    while waiting:
        delay, hops, path, node = heapq.heappop(waiting)
        if node == target:
            return path
        if node in done:
            continue
        done.add(node)
        for number, link in enumerate(links):
            if link["from"] == node and link["to"] not in done:
                heapq.heappush(waiting, (delay + link["delay_s"], hops + 1, [*path, number], str(link["to"])))
    return []


def _ways_over_time(
    links: Sequence[Mapping[str, Any]], path: list[int], routes: Iterable[Mapping[str, Any]], group: str
) -> tuple[list[int], list[dict[str, Any]]]:
    """A way at the start as the scenario's routes make it, and all of its different ways, if there are several, with when it has them
    first.
    """
    begun: list[tuple[float, list[int]]] = [(0.0, path)]
    repeated: list[list[int]] = []
    for route in sorted(routes, key=lambda one: seconds(one.get("at", "0 s"))):
        if group not in (route.get("flows") or [group]):
            continue
        at = seconds(route.get("at", "0 s"))
        path = _spliced(links, path, route)
        begun = [one for one in begun if one[0] < at]
        if not begun or begun[-1][1] != path:
            begun.append((at, path))
        if route.get("every"):
            repeated.append(path)
    different = [way for number, (_, way) in enumerate(begun) if way not in [one for _, one in begun[:number]]]
    ends = [at for at, _ in begun[1:]] + [math.inf]
    ways = []
    for way in different:
        had = [(at, end) for (at, one), end in zip(begun, ends, strict=True) if one == way]
        words = "again and again" if way in repeated else ""
        ways.append({"data_path": way, "from": ", ".join(filter(None, [*map(_from_to, had), words]))})
    return begun[0][1], ways if len(ways) > 1 else []


def _from_to(had: tuple[float, float]) -> str:
    """When a way is had, from and to in s."""
    begin, end = had
    if not begin:
        return f"until {quantity(end, 's')}"
    return f"from {quantity(begin, 's')} on" if math.isinf(end) else f"{quantity(begin, 's')} to {quantity(end, 's')}"


def _spliced(links: Sequence[Mapping[str, Any]], path: list[int], route: Mapping[str, Any]) -> list[int]:
    """A way with the links of a route between its ends."""
    both = {str(link["name"]): number for number, link in enumerate(links)}
    chain = [both[f"{name}.forward"] for name in route["via"]]
    node = links[chain[0]]["from"]
    if len(chain) > 1 and links[chain[0]]["to"] not in (links[chain[1]]["from"], links[chain[1]]["to"]):
        node = links[chain[0]]["to"]
    nodes, there, back = [node], [], []
    for name in route["via"]:
        side = "forward" if links[both[f"{name}.forward"]]["from"] == nodes[-1] else "reverse"
        there.append(both[f"{name}.{side}"])
        back.append(both[f"{name}.{'reverse' if side == 'forward' else 'forward'}"])
        nodes.append(links[there[-1]]["to"])
    passed = [links[path[0]]["from"], *(links[number]["to"] for number in path)] if path else []
    if nodes[0] not in passed or nodes[-1] not in passed:
        return path
    first, last = passed.index(nodes[0]), passed.index(nodes[-1])
    way = "forward" if first < last else "reverse"
    if route.get("way", "both") not in ("both", way):
        return path
    return path[: min(first, last)] + (there if first < last else back[::-1]) + path[max(first, last) :]


def _add_lanes(
    made: Network, found: Mapping[str, Any], content: Mapping[str, Any], alike: Mapping[str, list[str]]
) -> None:
    numbers = {way.number: name for name, link in made.links.items() for way in link.ways}
    ways = {way.number: way for link in made.links.values() for way in link.ways}
    groups: dict[tuple[str, tuple[int, ...], bool], list[Mapping[str, Any]]] = {}
    for flow in found["flows"]:
        is_private = str(flow["from"]) not in made.nodes or str(flow["to"]) not in made.nodes
        groups.setdefault((str(flow["group"]), tuple(flow.get("data_path") or ()), is_private), []).append(flow)
    apps = {str(one.get("name", "flow")): one for one in content.get("flow", ())}
    lanes: list[Lane] = []
    private: list[tuple[Lane, str, bool]] = []
    for (group, path, _), flows in groups.items():
        if path:
            nodes = [ways[path[0]].source, *(ways[number].target for number in path)]
        else:
            ends = flows[0].get("ends") or (flows[0]["from"], flows[0]["to"])
            nodes = [name for name in dict.fromkeys(map(str, ends)) if name in made.nodes]
        kind = str((apps.get(group, {}).get("app") or {}).get("kind") or flows[0].get("app"))
        count = sum(int(flow.get("count", 1)) for flow in flows)
        lane = Lane(
            [group], count, nodes, [numbers[number] for number in path], kind in _ASKED, alike=alike.get(group, [])
        )
        lane.text, lane.limit = _texts(flows, made.is_result)
        if note := flows[0].get("note"):
            # The numbers are those of the whole run.
            whole = (
                "over all ways: "
                if made.is_result and "data_path" in flows[0] and len(flows[0].get("ways") or ()) > 1
                else ""
            )
            lane.text = f"{whole}{lane.text}; {note}" if lane.text else str(note)
        _find_limit(made, lane, path, ways, flows)
        for box in found.get("middleboxes") or ():
            acts = {str(one.get("name", one["kind"])): one.get("flows") for one in content.get("middlebox", ())}
            chosen = acts.get(str(box["name"]))
            if (
                box["kind"] in _CARRIERS
                and len(box["at"]) == 2
                and set(box["at"]) <= set(nodes)
                and (not chosen or group in chosen)
            ):
                first, last = sorted(nodes.index(name) for name in box["at"])
                lane.carried = (first, last)
        lanes.append(lane)
        for key in ("from", "to"):
            if nodes and str(flows[0][key]) not in made.nodes:
                at_start = (key == "from") != (kind in _ANSWERED)
                private.append((lane, key, at_start))
    if len(lanes) > LANES + 1:
        lanes.sort(key=lambda lane: -lane.count)
        lanes[LANES:] = list(_merged(lanes[LANES:]))
    _add_hosts(made, private, content, lanes)
    made.lanes = [lane for lane in lanes if len(lane.nodes) > 1]


def _merged(lanes: Sequence[Lane]) -> Iterator[Lane]:
    """Lanes that go the same way as one."""
    same: dict[tuple[tuple[str, ...], tuple[str | None, ...]], list[Lane]] = {}
    for lane in lanes:
        same.setdefault((tuple(lane.nodes), tuple(lane.links)), []).append(lane)
    for members in same.values():
        first = members[0]
        if len(members) > 1:
            first = Lane(
                [one.groups[0] for one in members], sum(one.count for one in members), first.nodes, first.links,
                first.is_asked, counted(sum(one.count for one in members), "flow"),
            )  # fmt: skip
        yield first


def _add_hosts(
    made: Network, private: Sequence[tuple[Lane, str, bool]], content: Mapping[str, Any], lanes: Sequence[Lane]
) -> None:
    """Boxes for private hosts, one for each group and side; of many groups the last ones share a box."""
    placed = {group: lane for lane in lanes for group in lane.groups}
    sections = {str(one.get("name", "flow")): one for one in content.get("flow", ())}
    usual = (content.get("dumbbell") or {}).get("access") or {}
    counts: dict[tuple[str, str], int] = {}
    for lane, side, at_start in private:
        group, node = lane.groups[0], lane.nodes[0 if at_start else -1]
        counts[node, side] = counts.get((node, side), 0) + 1
        shown = placed.get(group)
        is_shared = shown is not None and len(shown.groups) > 1
        is_shared |= counts[node, side] > _HOSTS
        key = f"\0{side} {node} others" if is_shared else f"\0{side} {group}"
        if key not in made.nodes:
            label = "other hosts" if is_shared else f"{lane.count} hosts" if lane.count > 1 else f"{group}.{side}"
            made.nodes[key] = Node(key, label, True)
            access = sections.get(group, {}).get("access") or usual
            own = {**access, **(access.get(side) or {})} if isinstance(access, Mapping) else {}
            notes = [str(own[name]) for name in ("rate", "delay") if own.get(name)]
            made.nodes[key].notes = [", ".join(notes)] if notes and not is_shared else []
            made.private.append((key, node))
        target = shown if shown is not None else lane
        if key in target.nodes:
            continue
        if at_start:
            target.nodes, target.links = [key, *target.nodes], [None, *target.links]
            if target.carried:
                target.carried = (target.carried[0] + 1, target.carried[1] + 1)
        else:
            target.nodes, target.links = [*target.nodes, key], [*target.links, None]


def _texts(flows: Sequence[Mapping[str, Any]], is_result: bool) -> tuple[str, str]:
    """What a group got and what limited it, in a line; and the name of that limit."""
    if not is_result:
        return str(flows[0].get("app") or ""), ""
    rates = sorted(
        float(value) for flow in flows if (value := (flow.get("metrics") or {}).get("goodput_bps")) is not None
    )
    shares: dict[str, float] = {}
    for flow in flows:
        for name, share in usage.by_time(flow).items():
            shares[name] = shares.get(name, 0.0) + share / len(flows)
    limit = max(shares, key=lambda name: shares[name], default="")
    parts = []
    if rates:
        low, high = (quantity(rate, "bit/s") for rate in (rates[0], rates[-1]))
        parts.append(f"goodput {low if low == high else f'{low} to {high}'}")
    if limit and shares[limit] > 0:
        parts.append(
            f"{usage.NAMES.get(limit, limit)} {quantity(min(1.0, shares[limit]), 'share', 2)} of the time{' on average' if len(flows) > 1 else ''}"
        )
    return "; ".join(parts), limit


def _find_limit(
    made: Network, lane: Lane, path: Sequence[int], ways: Mapping[int, Way], flows: Sequence[Mapping[str, Any]]
) -> None:
    """Marks the fullest link on the way of a group that a full link limits most of its time."""
    if lane.limit != "link" or not path:
        return
    fullest = max(path, key=lambda number: ways[number].use or 0.0)
    link = next(one for one in made.links.values() if any(way.number == fullest for way in one.ways))
    name = called(lane.alike or lane.groups)
    if name not in link.limits:
        link.limits.append(name)
