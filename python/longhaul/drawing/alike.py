"""Parts of a network that are alike, as one: thirty terminals behind a hub are a terminal with a count.

Nodes that hang on a network like branches of a tree are taken off from their ends. Branches of one node are alike if their links,
their nodes and the flows at these have the same settings; then the first one stands for all of them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..why.case import section_of, spec_of

#: So many branches are drawn as one; fewer stand beside each other.
_LEAST = 4
#: Metrics of a link that are counts; of links that are alike they are added, others are averaged.
_COUNTS = ("drops_queue", "drops_loss", "marks")


@dataclass
class Alike:
    """A network with one of each that is alike, in the form of a run's summary, and for whom each of them stands."""

    found: dict[str, Any]
    #: Names of all nodes, links (without their direction) and groups by the name of the one that is drawn.
    nodes: dict[str, list[str]] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    #: Numbers of all directions of links by that of the one that is drawn.
    ways: dict[int, list[int]] = field(default_factory=dict)


def called(names: Sequence[str]) -> str:
    """One name for several.

    >>> called(["ship-0", "ship-1", "ship-2", "ship-3"]), called(["a", "b", "c", "d"]), called(["a"])
    ('ship × 4', 'a and 3 alike', 'a')
    """
    if len(names) == 1:
        return names[0]
    # What the first and the last in order have in common, all have.
    pairs = zip(min(names), max(names), strict=False)
    prefix = "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)).rstrip(
        "0123456789-_. "
    )
    return f"{prefix} × {len(names)}" if prefix else f"{names[0]} and {len(names) - 1} alike"


def joined(found: Mapping[str, Any], content: Mapping[str, Any]) -> Alike:
    """The network of a summary (or of a plan in its form) without what is like something else; `content` is the resolved scenario."""
    branches = _Branches(found, content)
    links, made = list(found["links"]), Alike(dict(found))
    for name, first in branches.node_of.items():
        made.nodes.setdefault(first, []).append(name)
    for name, first in branches.link_of.items():
        made.links.setdefault(first, []).append(name)
    way_of = _ways(links, branches)
    for number, first_number in way_of.items():
        made.ways.setdefault(first_number, []).append(number)
    made.found["nodes"] = [
        node for node in found["nodes"] if branches.node_of.get(str(node["name"])) in (None, str(node["name"]))
    ]
    made.found["links"] = [
        {**links[number], "number": number, "metrics": _metrics([links[one].get("metrics") or {} for one in members])}
        for number, members in sorted(made.ways.items())
    ]
    boxes = found.get("middleboxes") or ()
    made.found["middleboxes"] = [
        box for box in boxes if all(branches.node_of.get(str(at), at) == at for at in box["at"])
    ]
    flows = []
    for flow in found["flows"]:
        moved = {key: branches.node_of.get(str(flow[key]), flow[key]) for key in ("from", "to")}
        ends = [branches.node_of.get(str(name), name) for name in flow.get("ends") or ()]
        path = [way_of[number] for number in flow.get("data_path") or ()]
        flows.append({**flow, **moved, "data_path": path, "ends": ends})
    made.found["flows"] = _regrouped(flows, content, made)
    return made


def _regrouped(flows: Sequence[dict[str, Any]], content: Mapping[str, Any], made: Alike) -> list[dict[str, Any]]:
    """Groups with the same settings on the same way are one, if they are many; their flows have the name of the first."""
    alike: dict[Any, list[str]] = {}
    for flow in flows:
        group = str(flow["group"])
        at_hosts = tuple(str(flow[key]).replace(group, "") for key in ("from", "to"))
        key = (
            tuple(flow["data_path"]),
            tuple(flow["ends"]),
            at_hosts,
            _flow_settings(content, group) or flow.get("app"),
        )
        names = alike.setdefault(key, [])
        if group not in names:
            names.append(group)
    first = {name: names[0] for names in alike.values() if len(names) >= _LEAST for name in names}
    for name, one in first.items():
        made.groups.setdefault(one, []).append(name)
    found = []
    for flow in flows:
        group = str(flow["group"])
        if group in first:
            # Hosts of their own have the group in their names.
            hosts = {key: f"{first[group]}.{key}" for key in ("from", "to") if flow[key] == f"{group}.{key}"}
            flow = {**flow, **hosts, "group": first[group]}
        found.append(flow)
    return found


def _metrics(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Metrics of links that are alike: sums of counts, means of the others, and the least and the greatest use."""
    if len(several) == 1:
        return dict(several[0])
    found: dict[str, Any] = {}
    for name in several[0]:
        values = [float(value) for one in several if isinstance(value := one.get(name), int | float)]
        if values:
            found[name] = sum(values) if name in _COUNTS else sum(values) / len(values)
    used = [float(one["utilisation"]) for one in several if one.get("utilisation") is not None]
    return found | ({"utilisation_span": (min(used), max(used))} if used else {})


def _flow_settings(content: Mapping[str, Any], group: str) -> str:
    section = {
        key: value for key, value in section_of(content, group).items() if key not in ("name", "from", "to", "start")
    }
    return json.dumps(section, sort_keys=True, default=str) if section else ""


def _base(name: str) -> str:
    return name.rpartition(".")[0] if name.endswith((".forward", ".reverse")) else name


def _ways(links: Sequence[Mapping[str, Any]], branches: _Branches) -> dict[int, int]:
    """The number of the direction that is drawn, for that of each direction."""
    numbers = {(_base(str(one["name"])), str(one["from"])): number for number, one in enumerate(links)}
    return {
        number: numbers.get(
            (branches.link_of.get(base := _base(str(one["name"])), base), branches.node_of.get(str(one["from"]), str(one["from"]))),
            number,
        )
        for number, one in enumerate(links)
    }  # fmt: skip


class _Branches:
    """Which node and which link stands for each, itself for most."""

    def __init__(self, found: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        self.content = content
        self.near: dict[str, dict[str, list[str]]] = {str(node["name"]): {} for node in found["nodes"]}
        self.links: dict[str, list[Mapping[str, Any]]] = {}
        for link in found["links"]:
            base, one, two = _base(str(link["name"])), str(link["from"]), str(link["to"])
            self.links.setdefault(base, []).append(link)
            for here, there in ((one, two), (two, one)):
                names = self.near.setdefault(here, {}).setdefault(there, [])
                if base not in names:
                    names.append(base)
        self.order = {name: number for number, name in enumerate(self.near)}
        self.at: dict[str, list[Any]] = {name: [] for name in self.near}
        for box in found.get("middleboxes") or ():
            for place, name in enumerate(box["at"]):
                self.at.setdefault(str(name), []).append(("box", str(box["kind"]), place))
        counts: dict[tuple[str, str, str], int] = {}
        for flow in found["flows"]:
            # Hosts of their own hang on the nodes of the path.
            ends = flow.get("ends") or self._ends(found, flow)
            for role, name in zip(("from", "to"), ends, strict=False):
                key = (str(name), role, _flow_settings(content, str(flow["group"])) or str(flow.get("app")))
                counts[key] = counts.get(key, 0) + int(flow.get("count", 1))
        for (name, role, settings), count in sorted(counts.items()):
            self.at.setdefault(name, []).append((role, settings, count))
        self.parent: dict[str, str] = {}
        self._take_off()
        self.children: dict[str, list[str]] = {}
        for name, parent in self.parent.items():
            self.children.setdefault(parent, []).append(name)
        self.signs: dict[str, Any] = {}
        for name in self.parent:  # from the ends on
            self.signs[name] = self._sign(name)
        self.node_of = {name: name for name in self.near}
        self.link_of = {name: name for name in self.links}
        for name in self.near:
            if name not in self.parent:
                self._join(name)
        # What stands for another may have one that stands for it, since branches are joined from the inside of the network on.
        for stands_for in (self.node_of, self.link_of):
            for name in stands_for:
                while stands_for[stands_for[name]] != stands_for[name]:
                    stands_for[name] = stands_for[stands_for[name]]

    @staticmethod
    def _ends(found: Mapping[str, Any], flow: Mapping[str, Any]) -> list[str]:
        path = flow.get("data_path") or ()
        if not path:
            return [str(flow["from"]), str(flow["to"])]
        return [str(found["links"][path[0]]["from"]), str(found["links"][path[-1]]["to"])]

    def _take_off(self) -> None:
        left = {name: set(near) for name, near in self.near.items()}
        waiting = [name for name, near in left.items() if len(near) == 1]
        for name in waiting:
            if len(left[name]) != 1:
                continue
            (parent,) = left[name]
            self.parent[name] = parent
            left[name].clear()
            left[parent].discard(name)
            if len(left[parent]) == 1:
                waiting.append(parent)

    def _link_sign(self, link: str, parent: str) -> Any:
        section = {key: value for key, value in spec_of(self.content, link).items() if key not in ("name", "ends")}
        ways = sorted(
            (str(one["from"]) == parent, one["rate_bps"], one["delay_s"], one["queue"]) for one in self.links[link]
        )
        return json.dumps(section, sort_keys=True, default=str), tuple(ways)

    def _sign(self, name: str) -> Any:
        parent = self.parent[name]
        links = tuple(sorted(self._link_sign(link, parent) for link in self.near[name][parent]))
        inner = tuple(sorted((self.signs[child] for child in self.children.get(name, ())), key=repr))
        return links, tuple(sorted(self.at.get(name, ()), key=repr)), inner

    def _join(self, root: str) -> None:
        """Looks for branches that are alike, from a node to its ends."""
        groups: dict[str, list[str]] = {}
        for child in sorted(self.children.get(root, ()), key=lambda name: self.order[name]):
            groups.setdefault(repr(self.signs[child]), []).append(child)
        for members in groups.values():
            if len(members) >= _LEAST:
                for other in members[1:]:
                    self._stand_for(members[0], other)
                self._join(members[0])
            else:
                for child in members:
                    self._join(child)

    def _links_to_parent(self, name: str) -> list[str]:
        parent = self.parent[name]
        return sorted(self.near[name][parent], key=lambda link: repr(self._link_sign(link, parent)))

    def _stand_for(self, first: str, other: str) -> None:
        """A branch stands for another one that is alike, node by node and link by link."""
        pairs = [(first, other)]
        for one, two in pairs:
            self.node_of[two] = one
            ours, theirs = (self._links_to_parent(name) for name in (one, two))
            self.link_of.update(zip(theirs, ours, strict=True))
            inner = [
                sorted(self.children.get(name, ()), key=lambda child: (repr(self.signs[child]), self.order[child]))
                for name in (one, two)
            ]
            pairs += zip(*inner, strict=True)
