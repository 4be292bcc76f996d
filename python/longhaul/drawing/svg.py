"""A network as SVG: to the right, or upright for narrow screens."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from ..units import quantity
from .layout import Layout, arranged
from .network import LANES, Lane, Link, Network, Node, Way

#: Heights of lines and of boxes, and the room around the drawing, in pixels.
_LINE, _HEAD, _PAD, _EDGE = 15.0, 17.0, 6.0, 4.0
#: The pipe of a link: its length on an upright drawing, its least width, and the distance of the lanes in it.
_LENGTH, _PIPE, _BETWEEN = 46.0, 16.0, 6.0
#: Sizes of names, and of other texts.
_NAME, _TEXT = 12.5, 11.0
#: The bar of a direction's use stands below its text, which it does not cross.
_USE = 2.5
#: The width of the course of a rate.
_COURSE = 58.0
#: The width of the gauge of a queue.
_GAUGE = 10.0
#: A box of a node, and a link: least and largest widths.
_NODE, _LINK = (64.0, 160.0), (116.0, 216.0)
#: The width of a drawing on a phone, in CSS pixels.
_PHONE = 350.0
#: Colours of lanes in the order of the document; the last one is for what shares a line.
_COLOURS = ("--c0", "--c1", "--c2", "--c3", "--c5", "--c6", "--c7")
#: From this share of its rate on a link is in much use, and full.
_MUCH, _FULL = 0.5, 0.95


class _Sheet:
    """A drawing under way: the network's items as they stand, in one of two directions."""

    def __init__(self, made: Network, upright: bool) -> None:
        self.made, self.upright = made, upright
        self.on: dict[str, list[int]] = {}
        for number, lane in enumerate(made.lanes):
            for key in [*lane.nodes, *(f"link {name}" for name in lane.links if name is not None)]:
                if number not in self.on.setdefault(key, []):
                    self.on[key].append(number)
        self.lines = {name: _lines_of(link, made.is_result) for name, link in made.links.items()}
        self.sizes = {name: self._node_size(node) for name, node in made.nodes.items()}
        self.sizes |= {f"link {name}": self._link_size(name) for name in made.links}
        self.layout: Layout = arranged(made, self.sizes, upright=upright)

    def _node_size(self, node: Node) -> tuple[float, float, float]:
        width = max(_width(node.label, _NAME), *(_width(note, _TEXT) for note in node.notes), 0.0) + 2 * _PAD
        width = min(max(width, _NODE[0]), _NODE[1])
        lanes = (len(self.on.get(node.name, ())) - 1) * _BETWEEN + 12
        height = 26.0 + _LINE * len(node.notes)
        along, across = (height, max(width, lanes)) if self.upright else (width, max(height, lanes))
        return along, across / 2, across / 2

    def pipe(self, name: str) -> float:
        """The width of a link's pipe: that of its lanes."""
        return max(_PIPE, (len(self.on.get(f"link {name}", ())) - 1) * _BETWEEN + 12)

    def _link_size(self, key: str) -> tuple[float, float, float]:
        link, lines = self.made.links[key], self.lines[key]
        text = max([_width(link.label, _NAME) + _width(_delay(link), _TEXT) + 6, *(line.width for line in lines)])
        text, half = min(max(text + 6, _LINK[0]), _LINK[1]), self.pipe(key) / 2
        if self.upright:
            # Its lanes are in the middle, so that nodes stand above each other; the texts are at their right.
            return max(_LENGTH, _HEAD + _LINE * len(lines) + 2), half, half + 8 + text
        return text, half + _HEAD, half + _LINE * len(lines) + 4

    def at(self, along: float, across: float) -> tuple[float, float]:
        """A point on the paper."""
        return (across, along) if self.upright else (along, across)

    def offset(self, key: str, lane: int) -> float:
        """How far from an item's middle a lane passes it."""
        lanes = self.on[key]
        return (lanes.index(lane) - (len(lanes) - 1) / 2) * _BETWEEN


@dataclass(frozen=True)
class _Line:
    """A line of text at a link: a direction with its use behind it, or something else, mostly without a course."""

    text: str
    way: Way | None = None
    course: Sequence[float] = ()

    @property
    def width(self) -> float:
        return _width(self.text, _TEXT) + (_COURSE + 8 if self.course else 0.0)


def _lines_of(link: Link, is_result: bool) -> list[_Line]:
    """The lines below a link."""
    texts = [
        ", ".join(part for part in (_rate(way), _shown_use(way) if is_result else "", _short(way.queue)) if part)
        for way in link.ways
    ]
    if len(texts) == 2 and texts[0] == texts[1] and not is_result:
        lines = [_Line(texts[0])]
    else:
        lines = [
            _Line(f"{{{number}}} {text}", way) for number, (text, way) in enumerate(zip(texts, link.ways, strict=True))
        ]
    events = [
        [(text, way.course[1] if way.course and way.course[0] == text else ()) for text in way.events]
        for way in link.ways
    ]
    if len(events) == 2 and events[0] == events[1]:
        lines += [_Line(text, None, course) for text, course in events[0]]
    else:
        lines += [
            _Line(f"{{{number}}} {text}", None, course) for number, found in enumerate(events) for text, course in found
        ]
    if link.limits:
        names = ", ".join(link.limits[:2]) + (f" and {len(link.limits) - 2} more" if len(link.limits) > 2 else "")
        lines.append(_Line(f"limits {names}"))
    return lines


def _rate(way: Way) -> str:
    return quantity(way.rate, "bit/s") if way.rate is not None else "measured rate"


def _shown_use(way: Way) -> str:
    if way.use is None:
        return ""
    low, high = (round(100 * share) for share in way.metrics.get("utilisation_span") or (way.use, way.use))
    if low != high:
        return f"{low} to {high} % used"
    return f"{'<1' if 0 < way.use < 0.01 else round(100 * way.use)} % used"


def _short(queue: str) -> str:
    """A queue in few words: DropTail goes without its name.

    >>> _short("droptail 1000 packets"), _short("fq_codel 1000 packets")
    ('1000 pkt', 'fq_codel 1000 pkt')
    """
    return queue.removeprefix("droptail ").replace(" packets", " pkt")


def _delay(link: Link) -> str:
    values = list(dict.fromkeys(way.delays for way in link.ways))
    return " / ".join(values)


def _width(text: str, size: float) -> float:
    """At most about how wide a text is in the widest usual sans serif (DejaVu Sans); names are bold."""
    wide = sum(
        0.4 if one in "il.,:;|' ()[]t/fjr" else 0.84 if one in "mwMW%" else 0.66 if one.isupper() else 0.61
        for one in text
    )
    return wide * size * (1.13 if size == _NAME else 1.0)


def _cut(text: str, size: float, room: float) -> str:
    if _width(text, size) <= room:
        return text
    while text and _width(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


def drawn(made: Network, *, upright: bool = False, standalone: bool = False) -> str:
    """The SVG element; with `standalone` a whole file, with its colours and without a page's script."""
    sheet = _Sheet(made, upright)
    layout = sheet.layout
    legend_rows = list(_legend(made))
    width, height = sheet.at(layout.along, layout.across)
    width = max(width, 240.0)
    # The legend stands below, in as many columns as fit; on an upright drawing its texts are no wider than a phone.
    told = [_parts(lane.text, _PHONE - 34 if upright else math.inf) for lane, _ in legend_rows]
    column = max([160.0, *(_row_width(lane, lines) for (lane, _), lines in zip(legend_rows, told, strict=True))]) + 16
    columns = max(1, min(len(legend_rows) or 1, int(width // column)))
    width = max(width, column if legend_rows else 0.0)
    rows = -(-len(legend_rows) // columns)
    top = height + 16 if legend_rows else height
    row = 18 + 14 * max(map(len, told), default=0)
    whole = (width + 2 * _EDGE, top + rows * row + 2 * _EDGE)
    turn = "upright" if upright else "wide"
    # On a page it shrinks a little, and then scrolls: its texts stay legible.
    shrunk = "" if standalone else f' style="min-width: {0.78 * whole[0]:.0f}px"'
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    parts = [
        f'<svg{space} class="network {turn}" viewBox="{-_EDGE:g} {-_EDGE:g} {whole[0]:.0f} {whole[1]:.0f}"'
        f' width="{whole[0]:.0f}" height="{whole[1]:.0f}"{shrunk} role="group" aria-label="{escape(made.text)}">'
    ]
    if standalone:
        parts.append(f"<title>{escape(made.name)}</title><style>{_style()}</style>")
        parts.append(f'<rect x="{-_EDGE:g}" y="{-_EDGE:g}" width="100%" height="100%" class="paper"/>')
    parts += _wires(sheet)
    parts += [_pipe(sheet, name) for name in made.links]
    parts += [_lane(sheet, number) for number in range(len(made.lanes))]
    parts += [_link_texts(sheet, name, standalone) for name in made.links]
    parts += [_node(sheet, node, standalone) for node in made.nodes.values()]
    for number, (lane, colour) in enumerate(legend_rows):
        x, y = (number % columns) * column, top + (number // columns) * row
        parts.append(_legend_row(lane, told[number], colour, x, y, standalone))
    parts.append("</svg>")
    return "".join(parts)


def _wires(sheet: _Sheet) -> Iterator[str]:
    """Lines that join links with their nodes, and private hosts with theirs."""
    for name, (first, last) in sheet.layout.ends.items():
        keys = [first, f"link {name}", *sheet.layout.passes.get(name, ()), last]
        for one, two in itertools.pairwise(keys):
            yield f'<path class="wire" d="{_curve(sheet, one, two, 0.0, 0.0)}"/>'
    for one, two in sheet.layout.private:
        yield f'<path class="wire private" d="{_curve(sheet, one, two, 0.0, 0.0)}"/>'


def _curve(sheet: _Sheet, one: str, two: str, from_offset: float, to_offset: float) -> str:
    """From the end of an item to the beginning of a later one."""
    a, b = sheet.layout.items[one], sheet.layout.items[two]
    start, end = a.x + a.along / 2, b.x - b.along / 2
    return _bend(sheet, (start, a.y + from_offset), (end, b.y + to_offset))


def _bend(sheet: _Sheet, one: tuple[float, float], two: tuple[float, float]) -> str:
    middle = (one[0] + two[0]) / 2
    points = [sheet.at(*one), sheet.at(middle, one[1]), sheet.at(middle, two[1]), sheet.at(*two)]
    text = [f"{x:.1f} {y:.1f}" for x, y in points]
    return f"M{text[0]}" + (f"L{text[3]}" if one[1] == two[1] else f"C{text[1]} {text[2]} {text[3]}")


def _pipe(sheet: _Sheet, name: str) -> str:
    link, item = sheet.made.links[name], sheet.layout.items[f"link {name}"]
    wide = sheet.pipe(name)
    x, y = sheet.at(item.x - item.along / 2, item.y - wide / 2)
    width, height = sheet.at(item.along, wide)
    kind = " full" if link.limits else ""
    parts = [f'<rect class="pipe{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4"/>']
    if sheet.made.is_result:
        parts += [_gauge(sheet, name, way) for way in link.ways]
    return "".join(parts)


def _gauge(sheet: _Sheet, name: str, way: Way) -> str:
    """The queue of a direction, at the end where packets enter: as full as it is on average, or at the slider's time."""
    item, wide = sheet.layout.items[f"link {name}"], sheet.pipe(name)
    at_start = way.source == sheet.layout.ends[name][0]
    along = item.x - item.along / 2 + 2 if at_start else item.x + item.along / 2 - 2 - _GAUGE
    x, y = sheet.at(along, item.y - wide / 2 + 2)
    width, height = sheet.at(_GAUGE, wide - 4)
    share = min(1.0, float(way.metrics.get("queue_mean_packets") or 0.0) / way.room) if way.room else 0.0
    # It fills along the pipe's width: from below, or from the left on an upright drawing.
    filled = (width * share, height) if sheet.upright else (width, height * share)
    low = y if sheet.upright else y + height - filled[1]
    return (
        f'<rect class="queue" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
        f'<rect class="fill" data-queue="{way.number}" data-size="{width:.1f} {height:.1f} {y:.1f}" x="{x:.1f}" y="{low:.1f}"'
        f' width="{filled[0]:.1f}" height="{filled[1]:.1f}"/>'
    )


def _lane(sheet: _Sheet, number: int) -> str:
    """A line with arrows along the way of a group of flows."""
    lane, colour = sheet.made.lanes[number], _colour(number)
    items = sheet.layout.items
    stops: list[tuple[str, float]] = [(lane.nodes[0], sheet.offset(lane.nodes[0], number))]
    for place, link in enumerate(lane.links):
        target = lane.nodes[place + 1]
        if link is not None:
            key = f"link {link}"
            off = sheet.offset(key, number)
            passes = sheet.layout.passes.get(link, ())
            forwards = lane.nodes[place] == sheet.layout.ends[link][0]
            on_way = [(key, off), *((one, 0.0) for one in passes)]
            stops += on_way if forwards else on_way[::-1]
        stops.append((target, sheet.offset(target, number)))
    path: list[str] = []
    carried: list[str] = []
    arrows: list[str] = []
    at = 0
    for (one, off_one), (two, off_two) in itertools.pairwise(stops):
        a, b = items[one], items[two]
        forwards = a.x < b.x
        at += one in sheet.made.nodes and one != lane.nodes[0]
        start = (a.x + a.along / 2 if forwards else a.x - a.along / 2, a.y + off_one)
        end = (b.x - b.along / 2 if forwards else b.x + b.along / 2, b.y + off_two)
        if two.startswith("link "):
            # Through the pipe, with an arrow in its middle.
            far = (b.x + b.along / 2 if forwards else b.x - b.along / 2, b.y + off_two)
            piece = _bend(sheet, start, end) + "L{:.1f} {:.1f}".format(*sheet.at(*far))
            arrows.append(_arrow(sheet, (b.x, b.y + off_two), forwards, lane.is_asked))
        elif two == lane.nodes[-1]:
            piece = _bend(sheet, start, (end[0] - (7 if forwards else -7), end[1]))
            arrows.append(_arrow(sheet, end, forwards, False, at_end=True))
        else:
            piece = _bend(sheet, start, end)
        path.append(piece)
        if lane.carried and lane.carried[0] <= at < lane.carried[1]:
            carried.append(piece)
    first = items[lane.nodes[0]]
    forwards = first.x < items[stops[1][0]].x
    x, y = sheet.at(first.x + (first.along / 2 if forwards else -first.along / 2), first.y + stops[0][1])
    if lane.is_asked:
        begin = first.x + (first.along / 2 if forwards else -first.along / 2)
        dot = _arrow(sheet, (begin, first.y + stops[0][1]), not forwards, False, at_end=True)
    else:
        dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="var({colour})"/>'
    # Between two proxies a line is double: what they have there is theirs.
    kind, twice = (" carrier", f'<path class="carried" d="{"".join(carried)}"/>') if carried else ("", "")
    whole = f'<path d="{"".join(path)}"/>' + (f'<path class="wider" d="{"".join(carried)}"/>' if carried else "")
    return f'<g class="lane{kind}" style="--lane: var({colour})">{whole}{twice}{dot}{"".join(arrows)}</g>'


def _colour(number: int) -> str:
    return _COLOURS[min(number, LANES)]


def _arrow(sheet: _Sheet, tip: tuple[float, float], forwards: bool, both: bool, at_end: bool = False) -> str:
    """A head at a point; `both` has a second one the other way."""
    size = 7.5 if at_end else 6.5
    step = size if forwards else -size
    shift = 0.0 if at_end else step / 2
    shapes = [
        [
            (tip[0] + shift, tip[1]),
            (tip[0] + shift - step, tip[1] - size / 2),
            (tip[0] + shift - step, tip[1] + size / 2),
        ]
    ]
    if both:
        moved = shift + 2 * step
        shapes[0] = [(x + step, y) for x, y in shapes[0]]
        shapes.append(
            [
                (tip[0] + shift - moved, tip[1]),
                (tip[0] + shift - moved + step, tip[1] - size / 2),
                (tip[0] + shift - moved + step, tip[1] + size / 2),
            ]
        )
    return "".join(
        f'<path class="head" d="M{" L".join("{:.1f} {:.1f}".format(*sheet.at(*point)) for point in shape)}Z"/>'
        for shape in shapes
    )


def _words(standalone: bool, text: str) -> tuple[str, str]:
    """How a text is shown at the pointer: by the page's script, or by the viewer of a file; attributes, and a first child."""
    if standalone:
        return "", f"<title>{escape(text)}</title>"
    return f' tabindex="0" role="img" aria-label="{escape(text)}" data-def="{escape(text)}"', ""


def _link_texts(sheet: _Sheet, name: str, standalone: bool) -> str:
    link, item = sheet.made.links[name], sheet.layout.items[f"link {name}"]
    wide, lines = sheet.pipe(name), sheet.lines[name]
    if sheet.upright:
        x, y = item.y + wide / 2 + 8, item.x - (_HEAD + _LINE * len(lines)) / 2 + 12
        room, below = item.below - wide / 2 - 8, y + 3
    else:
        x, y = item.x - item.along / 2, item.y - wide / 2 - 5
        room, below = item.along, item.y + wide / 2 + 1
    attributes, title = _words(standalone, _told(link))
    delay = _delay(link)
    label = _cut(link.label, _NAME, room - _width(delay, _TEXT) - 6)
    parts = [f'<g class="link"{attributes}>{title}']
    if not standalone:
        left, top = (item.y - wide / 2, item.x - item.along / 2) if sheet.upright else (x, y - 12)
        high = item.along if sheet.upright else wide + 19 + _LINE * len(lines)
        parts.append(
            f'<rect class="touch" x="{left:.1f}" y="{top:.1f}" width="{x + room - left:.1f}" height="{high:.1f}"/>'
        )
    parts.append(
        f'<text x="{x:.1f}" y="{y:.1f}"><tspan class="name">{escape(label)}</tspan> <tspan class="soft">{escape(delay)}</tspan></text>'
    )
    for number, one in enumerate(lines):
        line, way = below + number * _LINE, one.way
        if way is not None and sheet.made.is_result:
            use = min(1.0, way.use or 0.0)
            grade = "full" if use >= _FULL else "much" if use >= _MUCH else "some"
            parts.append(
                f'<rect class="use {grade}" data-use="{way.number}" data-size="{room:.1f}" x="{x:.1f}" y="{line + _LINE - _USE:.1f}" width="{room * use:.1f}" height="{_USE:g}"/>'
            )
        kind = "limits" if one.text.startswith("limits ") else "text"
        width = room - (_COURSE + 8 if one.course else 0)
        shown = _cut(_with_arrows(sheet, name, one.text), _TEXT, width)
        parts.append(f'<text class="{kind}" x="{x + 2:.1f}" y="{line + 10:.1f}">{escape(shown)}</text>')
        if one.course:
            parts.append(_course(one.course, x + room - _COURSE, line + 2))
    return "".join(parts) + "</g>"


def _course(values: Sequence[float], x: float, y: float) -> str:
    """A tiny line from 0 to the greatest value, over the whole run."""
    step, high = _COURSE / max(1, len(values) - 1), _LINE - 4
    points = " ".join(f"{x + place * step:.1f},{y + high * (1 - value):.1f}" for place, value in enumerate(values))
    return f'<polyline class="course" points="{points}"/>'


def _with_arrows(sheet: _Sheet, name: str, text: str) -> str:
    """A line of a link, with the arrow of its direction as it is on the drawing."""
    link = sheet.made.links[name]

    def arrow(match: re.Match[str]) -> str:
        forwards = link.ways[int(match[1])].source == sheet.layout.ends[name][0]
        return ("↓" if forwards else "↑") if sheet.upright else ("→" if forwards else "←")

    return re.sub(r"^\{(\d)\}", arrow, text)


def _told(link: Link) -> str:
    """All that is known of a link, in lines."""
    lines = [link.label, *_others(link.alike)]
    for way in link.ways:
        parts = [_rate(way), f"{way.delays} one way", f"queue {way.queue}", *way.events]
        if way.use is not None:
            parts.append(f"{_shown_use(way).removesuffix(' used')} of the rate used")
        for metric, words, unit in _MEASURED:
            value = way.metrics.get(metric)
            if value:
                parts.append(f"{words} {quantity(float(value), unit)}")
        lines.append(f"{way.source} → {way.target}: {', '.join(parts)}")
    if link.limits:
        lines.append(
            f"It is full most of the time of {', '.join(link.limits[:5])}: only a faster link makes {'them' if len(link.limits) > 1 else 'it'} faster."
        )
    return "\n".join(lines)


#: Metrics of a direction that stand at the pointer, where they are not zero.
_MEASURED = (
    ("queue_mean_packets", "mean queue", "packets"), ("queue_delay_p95_s", "95 % of the packets wait less than", "s"),
    ("drops_queue", "dropped by the queue", "packets"), ("drops_loss", "lost", "packets"), ("marks", "marked", "packets"),
)  # fmt: skip


def _node(sheet: _Sheet, node: Node, standalone: bool) -> str:
    item = sheet.layout.items[node.name]
    x, y = sheet.at(item.x - item.along / 2, item.y - item.above)
    width, height = sheet.at(item.along, item.above + item.below)
    middle = y + (height - 26 - _LINE * len(node.notes)) / 2 + 17
    lanes = [sheet.made.lanes[number] for number in sheet.on.get(node.name, ())]
    told = "\n".join(
        [node.label, *_others(node.alike), *node.notes, *(f"{lane.title}: {_role(lane, node.name)}" for lane in lanes)]
    )
    attributes, title = _words(standalone, told)
    kind = "host" if node.is_host else "box" if node.notes else "node"
    texts = [
        f'<text class="name" x="{x + width / 2:.1f}" y="{middle:.1f}">{escape(_cut(node.label, _NAME, width - 8))}</text>'
    ]
    for number, note in enumerate(node.notes):
        texts.append(
            f'<text class="note" x="{x + width / 2:.1f}" y="{middle + _LINE * (number + 1):.1f}">{escape(_cut(note, _TEXT, width - 6))}</text>'
        )
    # Several that are alike lie behind each other.
    behind = "".join(
        f'<rect x="{x + step:.1f}" y="{y + step:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{4 if node.is_host else 9}"/>'
        for step in ((5, 2.5) if node.alike else ())
    )
    return (
        f'<g class="{kind}"{attributes}>{title}{behind}<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' rx="{4 if node.is_host else 9}"/>{"".join(texts)}</g>'
    )


def _others(alike: Sequence[str]) -> list[str]:
    """The names of all that a node or a link stands for, in a line."""
    return (
        [f"alike: {', '.join(alike[:12])}{f' and {len(alike) - 12} more' if len(alike) > 12 else ''}"]
        if len(alike) > 1
        else []
    )


def _role(lane: Lane, node: str) -> str:
    if node == lane.nodes[0]:
        return "begins here"
    if node == lane.nodes[-1]:
        return "ends here"
    if lane.carried and node in (lane.nodes[lane.carried[0]], lane.nodes[lane.carried[1]]):
        return "a proxy ends its connections"
    return "passes"


def _legend(made: Network) -> Iterator[tuple[Lane, str]]:
    for number, lane in enumerate(made.lanes):
        yield lane, _colour(number)


def _parts(text: str, room: float) -> list[str]:
    """A text in lines that fit, broken behind semicolons, else between words.

    >>> _parts("goodput 1.23 to 5.47 Mbit/s; link full", 200.0)
    ['goodput 1.23 to 5.47 Mbit/s;', 'link full']
    """
    lines = [""]
    for part in re.split(r"(?<=;) ", text) if _width(text, _TEXT) > room else [text]:
        for words in part.split(" ") if _width(part, _TEXT) > room else [part]:
            longer = f"{lines[-1]} {words}".strip()
            if _width(longer, _TEXT) <= room or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(words)
    return lines


def _row_width(lane: Lane, lines: Sequence[str]) -> float:
    return 34 + max(_width(lane.title, _NAME), *(_width(line, _TEXT) for line in lines))


def _legend_row(lane: Lane, lines: Sequence[str], colour: str, x: float, y: float, standalone: bool) -> str:
    attributes, title = _words(standalone, f"{lane.title}: {lane.text}" if lane.text else lane.title)
    chip = ""
    if lane.limit:
        chip = f'<rect class="chip" x="{x:.1f}" y="{y + 20:.1f}" width="24" height="6" fill="var(--limit-{lane.limit.replace("_", "-")})"/>'
    return (
        f'<g class="row"{attributes}>{title}<path d="M{x:.1f} {y + 10:.1f}h24" stroke="var({colour})"/>{chip}'
        f'<text x="{x + 30:.1f}" y="{y + 14:.1f}" class="name">{escape(lane.title)}</text>'
        + "".join(
            f'<text x="{x + 30:.1f}" y="{y + 28 + 14 * place:.1f}" class="soft">{escape(line)}</text>'
            for place, line in enumerate(lines)
        )
        + "</g>"
    )


def style() -> str:
    """The rules of drawings; colours are those of the page."""
    return (resources.files("longhaul.report") / "templates" / "network.css").read_text(encoding="utf-8")


def _style() -> str:
    """The colours of the reports, and the rules of drawings."""
    base = (resources.files("longhaul.report") / "templates" / "base.html").read_text(encoding="utf-8")
    colours = re.search(r":root \{.*?^(?=  body \{)", base, flags=re.MULTILINE | re.DOTALL)
    return (colours[0] if colours else "") + style()
