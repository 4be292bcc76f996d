"""A drawing of the network as SVG: routers and links by name, hosts that are alike drawn once."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

from ..units import quantity

_COLUMN, _ROW, _BOX = 320, 100, (130, 34)


def drawing(summary: dict[str, Any]) -> str:
    """The SVG element. Data flow from left to right where the graph lets them."""
    names = [node["name"] for node in summary["nodes"]]
    pairs: dict[frozenset[str], list[dict[str, Any]]] = {}
    for link in summary["links"]:
        pairs.setdefault(frozenset((link["from"], link["to"])), []).append(link)
    for link in summary["links"]:
        names.extend(n for n in (link["from"], link["to"]) if n not in names)
    edges: list[tuple[str, str, list[dict[str, Any]]]] = [(ls[0]["from"], ls[0]["to"], ls) for ls in pairs.values()]
    hosts, joins = _hosts(summary, names, edges)
    places = _places(names + list(hosts), edges, joins, summary, hosts)
    width = int(max(x for x, _ in places.values()) + _BOX[0] + 20)
    height = int(max(y for _, y in places.values()) + _BOX[1] + 24)
    parts = [_edge(places, a, b, ls) for a, b, ls in edges] + [_join(places, a, b) for a, b in joins]
    parts += [_node(places[name], hosts.get(name, name), name in hosts) for name in places]
    return (
        f'<svg class="topology" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="The network">{"".join(parts)}</svg>'
    )


def _hosts(
    summary: dict[str, Any], names: list[str], edges: list[tuple[str, str, list[dict[str, Any]]]]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Boxes for flows' own hosts, one per group and side, and the routers they hang on."""
    hosts: dict[str, str] = {}
    joins: list[tuple[str, str]] = []
    routers = ("left", "right") if {"left", "right"} <= set(names) else (names[0], names[-1]) if names else ("", "")
    for side, key, word, router in ((0, "from", "sender", routers[0]), (1, "to", "receiver", routers[1])):
        count = Counter(str(f["group"]) for f in summary["flows"] if f[key] not in names)
        for group, number in count.items():
            box = f"\0{side}{group}"
            hosts[box] = f"{number} {word}{'s' * (number > 1)}: {group}" if number > 1 else f"{word}: {group}"
            joins.append((box, router) if side == 0 else (router, box))
    return hosts, joins


def _places(
    boxes: list[str],
    edges: list[Any],
    joins: list[tuple[str, str]],
    summary: dict[str, Any],
    hosts: dict[str, str],
) -> dict[str, tuple[float, float]]:
    """Columns by the number of hops from the senders, rows in order of appearance, columns centred."""
    neighbours: dict[str, list[str]] = {box: [] for box in boxes}
    for a, b in [(a, b) for a, b, _ in edges] + joins:
        neighbours[a].append(b)
        neighbours[b].append(a)
    receivers = {flow["to"] for flow in summary["flows"]}
    senders = dict.fromkeys(
        f["from"] for f in summary["flows"] if f["from"] in neighbours and f["from"] not in receivers
    )
    sources = [box for box in hosts if box[1] == "0"] + list(senders) or boxes[:1]
    depth = dict.fromkeys(sources, 0)
    frontier = list(sources)
    while frontier:
        frontier = [
            n for box in frontier for n in neighbours[box] if n not in depth and depth.setdefault(n, depth[box] + 1)
        ]
    for box in boxes:
        depth.setdefault(box, 0)
    columns: dict[int, list[str]] = {}
    for box in boxes:
        columns.setdefault(depth[box], []).append(box)
    tallest = max(len(column) for column in columns.values())
    return {
        box: (20 + _COLUMN * level, 24 + _ROW * (row + (tallest - len(column)) / 2))
        for level, column in columns.items()
        for row, box in enumerate(column)
    }


def _node(place: tuple[float, float], label: str, host: bool) -> str:
    x, y = place
    shown = label if len(label) <= 22 else label[:21] + "…"
    return (
        f'<g><title>{escape(label)}</title><rect x="{x}" y="{y}" width="{_BOX[0]}" height="{_BOX[1]}" rx="{4 if host else 15}" '
        f'class="{"host" if host else "router"}"/><text x="{x + _BOX[0] / 2}" y="{y + 21}" class="name">{escape(shown)}</text></g>'
    )


def _edge(places: dict[str, tuple[float, float]], a: str, b: str, links: list[dict[str, Any]]) -> str:
    (x1, y1), (x2, y2), (mx, my) = _ends(places, a, b)
    name = str(links[0]["name"]).removesuffix(".forward").removesuffix(".reverse")
    # The direction that the arrow points in, on the drawing.
    ways = [(_arrow(places, str(link["from"]), str(link["to"])), link) for link in links]
    settings = [
        _of_both([(way, quantity(link["rate_bps"], "bit/s")) for way, link in ways]),
        _of_both([(way, quantity(link["delay_s"], "s")) for way, link in ways]),
    ]
    lines = [name, ", ".join(", ".join(each) for each in settings)]
    above = "".join(
        f'<text x="{mx}" y="{my - 18 + 12 * i}" class="link{" strong" if i == 0 else ""}">{escape(t)}</text>'
        for i, t in enumerate(lines)
    )
    below = "".join(
        f'<text x="{mx}" y="{my + 14 + 12 * i}" class="link">{escape(t)}</text>'
        for i, t in enumerate(_of_both([(way, str(link["queue"])) for way, link in ways]))
    )
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="wire"/>{above}{below}'


def _arrow(places: dict[str, tuple[float, float]], a: str, b: str) -> str:
    (ax, ay), (bx, by) = places[a], places[b]
    if ax == bx:
        return "↓" if ay < by else "↑"
    return "→" if ax < bx else "←"


def _of_both(values: list[tuple[str, str]]) -> list[str]:
    """A setting of both directions: once, if it is the same.

    >>> _of_both([("→", "10 ms"), ("←", "10 ms")]), _of_both([("→", "droptail 10"), ("←", "red 5")])
    (['10 ms'], ['→ droptail 10', '← red 5'])
    """
    if len({value for _, value in values}) == 1:
        return [values[0][1]]
    return [f"{way} {value}" for way, value in values]


def _join(places: dict[str, tuple[float, float]], a: str, b: str) -> str:
    (x1, y1), (x2, y2), _ = _ends(places, a, b)
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="wire private"/>'


def _ends(places: dict[str, tuple[float, float]], a: str, b: str) -> tuple[tuple[float, float], ...]:
    (ax, ay), (bx, by) = places[a], places[b]
    if ax > bx:
        (ax, ay), (bx, by) = (bx, by), (ax, ay)
    half = _BOX[1] / 2
    if ax == bx:
        top, bottom = min(ay, by), max(ay, by)
        start, end = (ax + _BOX[0] / 2, top + _BOX[1]), (ax + _BOX[0] / 2, bottom)
    else:
        start, end = (ax + _BOX[0], ay + half), (bx, by + half)
    return start, end, ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
