"""Where nodes and links of a drawing stand: in layers, along the data's way.

A layered layout in the manner of Sugiyama, Tagawa and Toda (1981), with links as items of their own: each has a place that
nothing else takes, so that two parallel links, and the texts of all, stay apart. `along` is the direction of the layers (to the
right, or downwards), `across` the other one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from .network import Network

#: Between two layers (beside and above each other), between two items of a layer, and between parts of the network that no link
#: joins; in pixels.
GAP, GAP_UPRIGHT, SPACE, APART = 30.0, 18.0, 14.0, 22.0
#: The room that a link takes where it passes a layer without a stop.
_PASSING = 14.0
_SWEEPS = 8


@dataclass
class Item:
    """A node, a link, or the place where a link passes a layer."""

    key: str
    #: Its size in the direction of the layers; in the other one, how far it goes on both sides of the lanes' middle.
    along: float
    above: float
    below: float
    layer: int = 0
    #: Where the lanes' middle passes its middle.
    x: float = 0.0
    y: float = 0.0
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass
class Layout:
    """Items by key: a node's name, `link NAME`, `pass NUMBER`; and how links go on through layers behind their item."""

    items: dict[str, Item]
    #: The node at which a link begins on the drawing, and that at which it ends.
    ends: dict[str, tuple[str, str]]
    #: The items that a link passes between its own and its end.
    passes: dict[str, list[str]]
    #: Private hosts and their nodes, in the order of their layers.
    private: list[tuple[str, str]]
    along: float
    across: float


def arranged(made: Network, sizes: dict[str, tuple[float, float, float]], *, upright: bool) -> Layout:
    """Places everything; `sizes` has (along, above, below) in pixels by item."""
    ends = _directed(made)
    layers = _layers(made, ends)
    items = {key: Item(key, *sizes[key], layer=layer) for key, layer in layers.items()}
    passes: dict[str, list[str]] = {}
    for name, (first, last) in ends.items():
        key = f"link {name}"
        chain = [key]
        for layer in range(items[key].layer + 1, items[last].layer):
            place = f"pass {sum(map(len, passes.values()))}"
            items[place] = Item(place, 0.0, _PASSING / 2, _PASSING / 2, layer)
            passes.setdefault(name, []).append(place)
            chain.append(place)
        for one, two in zip([first, *chain], [*chain, last], strict=True):
            _join(items, one, two)
    private = _beside(made, ends)
    for one, two in private:
        _join(items, one, two)
    layout = Layout(items, ends, passes, private, 0.0, 0.0)
    for part in _parts(items):
        _place(part, GAP_UPRIGHT if upright else GAP)
        size_along = max(item.x + item.along / 2 for item in part)
        low = min(item.y - item.above for item in part)
        size_across = max(item.y + item.below for item in part) - low
        for item in part:
            item.y -= low
            if upright:
                item.x += layout.along
            else:
                item.y += layout.across
        if upright:
            layout.along += size_along + APART
            layout.across = max(layout.across, size_across)
        else:
            layout.along = max(layout.along, size_along)
            layout.across += size_across + APART
    if upright:
        layout.along -= APART
    else:
        layout.across -= APART
    return layout


def _join(items: dict[str, Item], one: str, two: str) -> None:
    items[one].after.append(two)
    items[two].before.append(one)


def _directed(made: Network) -> dict[str, tuple[str, str]]:
    """Each link from the node that stands first: as most data go, as long as no circle comes of it."""
    after: dict[str, set[str]] = {}
    wanted: dict[str, tuple[str, str]] = {}
    for lane in sorted(made.lanes, key=lambda lane: lane.is_asked):
        for one, two, link in zip(lane.nodes, lane.nodes[1:], lane.links, strict=False):
            if link is not None:
                wanted.setdefault(link, (one, two))
    found: dict[str, tuple[str, str]] = {}
    for name in sorted(made.links, key=lambda name: name not in wanted):
        one, two = wanted.get(name, made.links[name].ends)
        if _leads(after, two, one):
            one, two = two, one
        after.setdefault(one, set()).add(two)
        found[name] = (one, two)
    return {name: found[name] for name in made.links}


def _beside(made: Network, ends: dict[str, tuple[str, str]]) -> list[tuple[str, str]]:
    """Private hosts stand before their node where the link that they use leads on from there, else behind it."""
    pairs = []
    for host, node in made.private:
        lane = next((lane for lane in made.lanes if host in lane.nodes), None)
        first = lane is None or lane.nodes[0] == host
        if lane is not None and (known := [link for link in lane.links if link is not None]):
            first = ends[known[0] if lane.nodes[0] == host else known[-1]][0] == node
        pairs.append((host, node) if first else (node, host))
    return pairs


def _leads(after: dict[str, set[str]], one: str, two: str) -> bool:
    waiting, known = [one], {one}
    while waiting:
        node = waiting.pop()
        if node == two:
            return True
        fresh = after.get(node, set()) - known
        known |= fresh
        waiting += fresh
    return False


def _layers(made: Network, ends: dict[str, tuple[str, str]]) -> dict[str, int]:
    """The longest way from a node without a link before it; such nodes stand as near to the next as they can."""
    edges = [(one, two, 2) for one, two in ends.values()]
    edges += [(one, two, 1) for one, two in _beside(made, ends)]
    layer = dict.fromkeys(made.nodes, 0)
    for _ in range(len(made.nodes)):
        moved = False
        for one, two, span in edges:
            if layer[two] < layer[one] + span and layer[one] + span <= 2 * len(made.nodes):
                layer[two] = layer[one] + span
                moved = True
        if not moved:
            break
    for name in sorted(made.nodes, key=lambda name: -layer[name]):
        later = [layer[two] - span for one, two, span in edges if one == name]
        if later and not any(two == name for _, two, _ in edges):
            layer[name] = min(later)
    low = min(layer.values(), default=0)
    found = {name: value - low for name, value in layer.items()}
    return found | {f"link {name}": found[one] + 1 for name, (one, _) in ends.items()}


def _parts(items: dict[str, Item]) -> list[list[Item]]:
    """The parts of the network that no link joins, each in the order of the document."""
    rest, parts = dict.fromkeys(items), []
    while rest:
        waiting, part = [next(iter(rest))], set()
        while waiting:
            key = waiting.pop()
            if key not in part:
                part.add(key)
                waiting += items[key].before + items[key].after
        parts.append([items[key] for key in items if key in part])
        for key in part:
            del rest[key]
    return parts


def _place(part: Sequence[Item], gap: float) -> None:
    rows: dict[int, list[Item]] = {}
    for item in part:
        rows.setdefault(item.layer, []).append(item)
    order = sorted(rows)
    place = {item.key: float(number) for row in rows.values() for number, item in enumerate(row)}
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        for layer in order if forwards else order[::-1]:
            row = rows[layer]
            row.sort(key=lambda item: _mean(place, item.before if forwards else item.after, place[item.key]))
            place.update({item.key: float(number) for number, item in enumerate(row)})
    x = 0.0
    for layer in order:
        width = max(item.along for item in rows[layer])
        for item in rows[layer]:
            item.x = x + width / 2
        x += width + gap
        _apart(rows[layer], [0.0] * len(rows[layer]))
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        middle = {item.key: item.y for item in part}
        for layer in order if forwards else order[::-1]:
            row = rows[layer]
            wanted = [_mean(middle, item.before if forwards else item.after, item.y) for item in row]
            _apart(row, wanted)
            middle.update({item.key: item.y for item in row})


def _mean(values: dict[str, float], keys: Sequence[str], otherwise: float) -> float:
    return sum(values[key] for key in keys) / len(keys) if keys else otherwise


def _apart(row: Sequence[Item], wanted: Sequence[float]) -> None:
    """Places a layer's items as near to where they are wanted as their sizes permit: least squares by pooling neighbours."""
    offsets = [0.0]
    for one, two in itertools.pairwise(row):
        offsets.append(offsets[-1] + one.below + two.above + SPACE)
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        value, count = want - offset, 1
        while pools and pools[-1][0] >= value:
            other, number = pools.pop()
            value, count = (value * count + other * number) / (count + number), count + number
        pools.append((value, count))
    values = [value for value, count in pools for _ in range(count)]
    for item, value, offset in zip(row, values, offsets, strict=True):
        item.y = value + offset
