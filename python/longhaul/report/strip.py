"""Many flows as a strip: a column for each, sorted by what its users notice; its value above, where its time went below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from .. import qoe, usage
from ..experience import unit_of
from ..explain import limit_title
from ..units import counted, quantity
from .explore import groups_with_colours

#: With more flows, a column stands for several that follow one another.
_COLUMNS = 125
#: Heights of both parts of a strip, in its own units: an SVG is stretched to the width of the page.
_HIGH = 100.0
#: Values have an edge and no colour, which stands for what limited a flow.
_HOLLOW = "var(--paper); stroke: var(--ink); vector-effect: non-scaling-stroke"

#: Fewer flows are no strip: each has a bar with its words.
_FEWEST = 4

Flow = Mapping[str, Any]


def strips(
    flows: Sequence[dict[str, Any]], content: Mapping[str, Any], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A strip for each kind of application, worst first, and for each large group in it; `names` are titles of metrics.

    Strips of one kind have one scale. Colours mean what limited a flow, and nothing else. The flows of `alone` are in none.
    """
    found = []
    for kind, members, parts in _parts(flows):
        metric = _metric(members)
        most = max(_values(members, metric)) or 1.0
        found += [
            _strip(
                f"{kind}: {', '.join(dict.fromkeys(str(flow['group']) for flow in part))}" if len(parts) > 1 else kind,
                part,
                content,
                names,
                metric,
                most,
            )
            for part in parts.values()
            if len(part) >= _FEWEST
        ]
    return found


def alone(flows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The flows that are too few of a kind for a strip."""
    parts = [part for _, _, found in _parts(flows) for part in found.values()]
    return [flow for part in parts if len(part) < _FEWEST for flow in part]


def _parts(
    flows: Sequence[dict[str, Any]],
) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, list[dict[str, Any]]]]]:
    """Each kind of application with its flows, worst first, and these by large group; the empty name is for all others."""
    large = groups_with_colours(list(flows))
    for kind, members in qoe.like(flows).items():
        parts: dict[str, list[dict[str, Any]]] = {}
        for flow in members:
            name = str(flow["group"])
            parts.setdefault(name if name in large else "", []).append(flow)
        yield kind, members, parts


def _metric(flows: Sequence[Flow]) -> str:
    """What flows are drawn by. Of flows some of which have no such value (a transfer that did not end), all by their goodput."""
    noticed = [qoe.noticed(flow) for flow in flows]
    found = {one[0] for one in noticed if one}
    return found.pop() if len(found) == 1 and all(noticed) else "goodput_bps"


def _values(flows: Sequence[Flow], metric: str) -> list[float]:
    return [float((flow.get("metrics") or {}).get(metric) or 0.0) for flow in flows]


def _strip(
    kind: str, flows: Sequence[Flow], content: Mapping[str, Any], names: Mapping[str, str], metric: str, most: float
) -> dict[str, Any]:
    values = _values(flows, metric)
    shares = [usage.by_time(flow) for flow in flows]
    each = -(-len(flows) // _COLUMNS)
    columns = [range(start, min(start + each, len(flows))) for start in range(0, len(flows), each)]
    unit = unit_of(metric)

    # Of several flows in a column the mean.
    highs = [_HIGH * sum(values[number] for number in column) / len(column) / most for column in columns]
    bars = "".join(_box(place, _HIGH - high, high) for place, high in enumerate(highs))

    order = sorted(
        dict.fromkeys(name for one in shares for name in one),
        key=lambda name: -sum(one.get(name, 0.0) for one in shares),
    )
    titles = {name: limit_title(name, list(flows), content) for name in order}
    stacked: dict[str, str] = dict.fromkeys(order, "")
    for place, column in enumerate(columns):
        low = _HIGH
        for name in order:
            high = _HIGH * min(1.0, sum(shares[number].get(name, 0.0) for number in column) / len(column))
            if high > 0.2:
                low -= high
                stacked[name] += _box(place, low, high)
    title = names.get(metric, metric)

    def who(column: range) -> str:
        first, last = column[0], column[-1]
        return str(flows[first]["name"]) if first == last else f"flows {first + 1} to {last + 1} of {len(flows)}"

    def value_of(column: range) -> str:
        span = dict.fromkeys(quantity(values[number], unit) for number in (column[0], column[-1]))
        return f"{who(column)}: {title[:1].lower()}{title[1:]} {' to '.join(span)}"

    def time_of(column: range) -> str:
        mean = {name: sum(shares[number].get(name, 0.0) for number in column) / len(column) for name in order}
        parts = [f"{titles[name]} {quantity(share, 'share', 2)}" for name, share in mean.items() if share >= 0.005]
        return f"{who(column)}: {', '.join(parts)}"

    middle = len(flows) // 2
    ends = [f"{flows[place]['name']} {quantity(values[place], unit)}" for place in (0, middle, len(flows) - 1)]
    several = f" A column is the mean of up to {each} flows." if each > 1 else ""
    return {
        "title": f"{counted(len(flows), 'flow')} ({kind})",
        "text": f"{title}, worst first, and below it where the time of each went.{several}",
        "ends": f"Worst: {ends[0]} · median: {ends[1]} · best: {ends[2]}",
        "most": quantity(most, unit),
        "values": _svg(columns, [(_HOLLOW, bars)], value_of, f"{title} of {len(flows)} flows, worst first: {'; '.join(ends)}"),
        "shares": _svg(
            columns, [(f"var(--limit-{name.replace('_', '-')}, var(--c7))", drawn) for name, drawn in stacked.items()], time_of,
            "Where the time of each flow went: " + ", ".join(
                f"{titles[name]} {quantity(sum(one.get(name, 0.0) for one in shares) / len(shares), 'share', 2)}"
                for name in order
            ) + " on average",
        ),
    }  # fmt: skip


def _box(place: int, top: float, high: float) -> str:
    """A column as a piece of a path; a little narrower than its room, so that columns stand apart."""
    return f"M{place}.06 {top:.1f}h.88v{high:.1f}h-.88z"


def _svg(columns: Sequence[range], paths: Sequence[tuple[str, str]], text: Callable[[range], str], alt: str) -> str:
    drawn = "".join(f'<path style="fill: {colour}" d="{path}"/>' for colour, path in paths if path)
    touch = "".join(
        f'<rect x="{place}" y="0" width="1" height="{_HIGH:g}" data-def="{escape(text(column))}"/>'
        for place, column in enumerate(columns)
    )
    count = len(columns)
    return (
        f'<svg viewBox="0 0 {count} {_HIGH:g}" preserveAspectRatio="none" role="img" aria-label="{escape(alt)}">'
        f'<path class="back" d="M0 0h{count}v{_HIGH:g}h-{count}z"/>{drawn}{touch}</svg>'
    )
