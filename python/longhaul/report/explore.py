"""Figures to explore: what a report's script draws with uPlot, as decimated columns of 16-bit numbers.

A line has at most `_POINTS` points, each bucket of samples as its least and greatest value in their order, so that no peak is lost
(min/max decimation); of many flows each has fewer. Values are stored as 65,535 steps between the least and the greatest of a line:
finer than a screen shows.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import course, propagation, qoe
from ..errors import ResultError
from ..explain import content_of
from ..results import Result
from ..units import quantity
from ..why.case import link_name
from . import sequence

if TYPE_CHECKING:
    import polars as pl

Values = NDArray[np.float64]

#: Points of a line, and of all lines of a figure together.
_POINTS, _ALL = 1200, 150_000
#: With more flows than this, medians and spreads are drawn and a few single flows; the others can be switched on.
FEW = 8
#: Groups of at least so many flows have a median and a band, for so many groups at most.
_SPREAD, _GROUPS = 3, 4
#: So many flows of groups without a band are drawn beside them.
_ALONE = 5
#: The colours of groups, as the drawing of the network has them, and how many dashes the script has.
_COLOURS, _DASHES = (0, 1, 2, 3, 5, 6, 7), 4
#: So many flows of each kind (slowest, around the median, fastest) are drawn at first among many.
_SAMPLES = 1
#: At most so many links: the busiest.
_LINKS = 4
#: The release of uPlot that is inlined, and the digests of its files (MIT licence).
UPLOT = "1.6.32"
DIGESTS = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


def vendored(name: str) -> str:
    """A file of uPlot, without the address in its head; raises if it is not the release that was checked."""
    text = (resources.files(__package__) / "vendor" / name).read_text(encoding="utf-8")
    if hashlib.sha256(text.encode()).hexdigest() != DIGESTS[name]:
        raise ResultError(f"{name} is not that of uPlot {UPLOT}: the installation is damaged; install Longhaul again")
    return text.partition("*/")[2].strip() if text.lstrip().startswith("/*") else text


def licence() -> str:
    """uPlot's licence, which has to go with every copy."""
    return (resources.files(__package__) / "vendor" / "LICENSE").read_text(encoding="utf-8")


def script(panels: bool = True) -> str:
    """Longhaul's own part: decoding, drawing, zoom, switches; `panels` for pages that have some."""
    folder = resources.files(__package__) / "templates"
    names = ["figures.js", "saving.js", *(["panels.js"] if panels else []), "explore.js"]
    return "".join(_compact((folder / name).read_text(encoding="utf-8")) for name in names)


def _compact(text: str) -> str:
    """A script without indentation and lines of comments, which every report would carry.

    >>> _compact("if (a) {\\n  // why\\n  b();\\n}\\n")
    'if (a) {\\nb();\\n}\\n'
    """
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def explorer(content: dict[str, Any]) -> dict[str, str]:
    """What a page needs to be explored: the figures, uPlot with its licence, and our script."""
    return {
        "json": embedded(content),
        "script": script(any(figure["kind"] == "xy" for figure in content["figures"])),
        "uplot_js": vendored("uPlot.iife.min.js"),
        "uplot_css": vendored("uPlot.min.css"),
        "uplot_licence": licence(),
        "uplot_version": UPLOT,
    }


def of_panels(figures: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A page that has panels alone: no flows, and no time that they share."""
    return _page(figures=list(figures), span=[0.0, 1.0])


def _page(**content: Any) -> dict[str, Any]:
    """What the script draws; a page that has no flows of its own, or no time that its figures share, leaves those parts empty."""
    return {"axes": [], "figures": [], "shown": [], "flows": [], "groups": [], "marks": []} | content


def embedded(content: dict[str, Any]) -> str:
    """JSON that can stand in a script element: nothing in it ends the element, or begins another."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


class Columns:
    """The figures of a report, and the time axes that they share."""

    def __init__(self) -> None:
        self.axes: list[str] = []
        self.figures: list[dict[str, Any]] = []

    def axis(self, times: Values) -> int:
        """The number of a time axis; equal ones are stored once."""
        packed = base64.b64encode(np.round(times, 6).astype("<f8").tobytes()).decode()
        if packed not in self.axes:
            self.axes.append(packed)
        return self.axes.index(packed)


def line(values: Values) -> dict[str, Any]:
    """A column as 16-bit steps between its least and greatest value; 65535 is a gap.

    >>> packed = line(np.array([0.0, 1.0, np.nan]))
    >>> (packed["lo"], packed["hi"], np.frombuffer(base64.b64decode(packed["data"]), "<u2").tolist())
    (0.0, 1.0, [0, 65534, 65535])
    """
    known = np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    steps = np.full(len(values), 65535, dtype="<u2")
    width = high - low
    steps[known] = np.round((values[known] - low) / width * 65534).astype("<u2") if width else 0
    return {"lo": low, "hi": high, "data": base64.b64encode(steps.tobytes()).decode()}


#: A line that turns at this share of its points, by this share of its range, is drawn as a band with its mean in it.
_TURNS, _BY = 0.3, 0.015


def _with_mean(times: Values, values: Values, small: Values, points: int) -> dict[str, Any]:
    """A decimated line, and where it is so rough that it would be a black block, the means of what each of its points stands for."""
    packed = line(small)
    steps = np.diff(small[np.isfinite(small)])
    if len(small) == len(values) or len(steps) < 2:
        return packed
    turns = (steps[1:] * steps[:-1] < 0) & (
        np.minimum(np.abs(steps[1:]), np.abs(steps[:-1])) > _BY * (packed["hi"] - packed["lo"])
    )
    if turns.mean() < _TURNS:
        return packed
    each = math.ceil(2 * len(times) / points)
    padded = np.full(math.ceil(len(times) / each) * each, np.nan)
    padded[: len(values)] = values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # buckets of gaps alone
        means = np.nanmean(padded.reshape(-1, each), axis=1)
    return packed | {"mean": line(np.repeat(means, 2))}


def decimated(times: Values, rows: NDArray[np.float64], points: int) -> tuple[Values, NDArray[np.float64]]:
    """Lines with at most about `points` points: of each bucket of samples the least and the greatest value, in their order.

    >>> times, rows = decimated(np.arange(8.0), np.array([[0.0, 9, 1, 1, 1, 1, 5, 0]]), 4)
    >>> times.tolist(), rows.tolist()
    ([0.0, 2.0, 4.0, 6.0], [[0.0, 9.0, 5.0, 0.0]])
    """
    count = len(times)
    if count <= points:
        return times, rows
    each = math.ceil(2 * count / points)
    buckets = math.ceil(count / each)
    padded = np.full((len(rows), buckets * each), np.nan)
    padded[:, :count] = rows
    parts = padded.reshape(len(rows), buckets, each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # buckets of gaps alone
        low, high = np.nanmin(parts, axis=2), np.nanmax(parts, axis=2)
    falling = np.nan_to_num(parts, nan=-np.inf).argmax(axis=2) < np.nan_to_num(parts, nan=np.inf).argmin(axis=2)
    out = np.empty((len(rows), 2 * buckets))
    out[:, 0::2], out[:, 1::2] = np.where(falling, high, low), np.where(falling, low, high)
    starts = np.arange(buckets) * each
    middles = np.minimum(starts + each // 2, count - 1)
    places = np.empty(2 * buckets)
    places[0::2], places[1::2] = times[starts], times[middles]
    places[1::2] = np.maximum(places[1::2], places[0::2])
    return places, out


def of_run(result: Result) -> dict[str, Any]:
    """Everything that the script draws for a run."""
    columns = Columns()
    flows = result.summary["flows"]
    span = [0.0, float(result.summary["duration_s"])]
    if result.has_tables:
        _flow_figures(columns, result)
        _link_figures(columns, result)
        _propagation_figure(columns, result)
        _box_figures(columns, result)
        _page_figure(columns, result)
        order = _order(result, columns.figures)
        columns.figures.sort(key=lambda figure: order.index(figure["id"]))
        if result.has_segments:
            columns.figures += sequence.figures(result)
    return _page(
        span=span,
        busy=_busy(result, span),
        axes=columns.axes,
        flows=[{"name": str(flow["name"]), **look} for flow, look in zip(flows, looks(flows), strict=True)],
        groups=groups_with_colours(flows),
        shown=first_flows(flows),
        figures=columns.figures,
        marks=_marks(result) if result.has_tables else [],
        warmup=float(result.summary["warmup_s"]),
    )


#: With this share of a run in which something is sent, all of it is shown at first.
_MOSTLY = 0.8


def _busy(result: Result, span: list[float]) -> list[float]:
    """The time that is shown at first: the whole run, or until a little after the last byte was sent and the last transfer complete."""
    if not result.has_tables:
        return span
    import polars as pl

    sent = result.flows.filter(pl.col("throughput_bps") > 0)["time_s"]
    ends = [
        float(flow["start_s"]) + float(took)
        for flow in result.summary["flows"]
        if (took := flow["metrics"].get("completion_time_s")) is not None
    ]
    last = float(f"{1.05 * max([float(sent.max() or 0.0), *ends]):.3g}")  # type: ignore[arg-type]
    return [0.0, last] if 0 < last < _MOSTLY * span[1] else span


#: Lines of one result where two are drawn over each other: single flows, or groups.
_LINES = 4


def of_two(first: Result, second: Result, names: Sequence[str]) -> dict[str, Any]:
    """Goodput, congestion window and round trip of two runs over each other: a colour for each run, and a dash for each flow, or where
    they are many for the mean of each group.
    """
    columns = Columns()
    results = (first, second)
    span = [0.0, max(float(result.summary["duration_s"]) for result in results)]
    if all(result.has_tables for result in results):
        for column, title, unit, mean, caption in _OF_FLOWS[:3]:
            _over_each_other(columns, results, names, column, title, unit, mean, caption)
    return _page(axes=columns.axes, figures=columns.figures, span=span)


def _over_each_other(
    columns: Columns, results: Sequence[Result], names: Sequence[str], column: str, title: str, unit: str, mean: bool, caption: str
) -> None:  # fmt: skip
    drawn = [_lines_of(result, column, mean) for result in results]
    if any(not len(times) for times, *_ in drawn):
        return
    # One axis for both: that of the longer run, in whose samples the other's values are looked up.
    common = max((times for times, *_ in drawn), key=lambda times: float(times[-1]))
    labels: list[str] = []
    rows: list[Values] = []
    pairs: list[tuple[int, int]] = []
    dashes = {
        label: number for number, label in enumerate(dict.fromkeys(label for _, _, found in drawn for label in found))
    }
    for number, ((times, lines, found), name) in enumerate(zip(drawn, names, strict=True)):
        places = np.searchsorted(times, common - 1e-9)
        for row, label in zip(lines, found, strict=True):
            rows.append(np.where(places < len(times), row[np.minimum(places, len(times) - 1)], np.nan))
            labels.append(f"{label}, {name}")
            pairs.append((number, dashes[label]))
    small_times, small = decimated(common, np.vstack(rows), _POINTS)
    axis = columns.axis(small_times)
    sample = float(common[1] - common[0]) if len(common) > 1 else 1.0
    columns.figures.append({
        "id": column, "title": title, "unit": unit, "kind": "links", "caption": caption.format(mean=quantity(sample, "s", 3)),
        "series": [
            {"colour": colour, "dash": dash, "axis": axis, "label": label, **line(row)}
            for (colour, dash), label, row in zip(pairs, labels, small, strict=True)
        ],
        "alt": _alt(title, unit, labels, np.vstack(rows)),
    })  # fmt: skip


def _lines_of(result: Result, column: str, mean: bool) -> tuple[Values, NDArray[np.float64], list[str]]:
    """Times, and a line with its name for each flow; of many flows the mean of each group."""
    import polars as pl

    flows = result.summary["flows"]
    frame = result.flows
    times = frame["time_s"].unique().sort().to_numpy()
    if not len(times):
        return times, np.empty((0, 0)), []
    rows = _pivoted(frame, column, times, len(flows), pl)
    _end_with_flows(rows, times, result)
    if mean:
        rtt = max((float(flow["base_rtt_s"] or 0.0) for flow in flows), default=0.0)
        sample = float(times[1] - times[0]) if len(times) > 1 else 1.0
        times, rows = _means(times, rows, max(1, math.ceil(rtt / sample - 1e-9)))
    if len(flows) <= _LINES:
        return times, rows, [str(flow["name"]) for flow in flows]
    groups: dict[str, list[int]] = {}
    for number, flow in enumerate(flows):
        groups.setdefault(str(flow["group"]), []).append(number)
    chosen = dict(list(groups.items())[:_LINES])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # times at which no flow of a group has a value
        means = np.vstack([np.nanmean(rows[members], axis=0) for members in chosen.values()])
    return (
        times,
        means,
        [f"{name}, mean of {len(members)} flows" if len(members) > 1 else name for name, members in chosen.items()],
    )


def first_flows(flows: list[dict[str, Any]]) -> list[int]:
    """The flows that are drawn at first: all if they are few, else the slowest, the median and the fastest, and of groups that have no
    band of their own those with the most goodput, so that what fills the link can be seen.
    """
    if len(flows) <= FEW:
        return list(range(len(flows)))
    banded = groups_with_colours(flows)
    alone = [number for number, flow in enumerate(flows) if str(flow["group"]) not in banded] if banded else []
    alone.sort(key=lambda number: -float((flows[number].get("metrics") or {}).get("goodput_bps") or 0.0))
    number_of = {flow["id"]: number for number, flow in enumerate(flows)}
    order = [number_of[flow["id"]] for members in qoe.like(flows).values() for flow in members]
    middle = len(order) // 2
    samples = [*order[:_SAMPLES], *order[middle : middle + _SAMPLES], *order[-_SAMPLES:]]
    return list(dict.fromkeys([*sorted(alone[:_ALONE]), *samples]))


def looks(flows: list[dict[str, Any]]) -> list[dict[str, int]]:
    """The colour and the dash of each flow: those of a group have its colour, as in the drawing of the network, and differ in dashes.

    Flows of a single group, and of more groups or members than can be told apart so, have neither: the script gives each a colour that
    is free.
    """
    names = [str(flow["group"]) for flow in flows]
    groups = list(dict.fromkeys(names))
    banded = groups_with_colours(flows)
    alone = [name for name in names if name not in banded]
    if not 1 < len(groups) <= len(_COLOURS) or max((alone.count(name) for name in alone), default=0) > _DASHES:
        return [{} for _ in flows]
    # The whole line of a group with a band is its median.
    used = dict.fromkeys(banded, 1)
    found = []
    for name in names:
        number = used.get(name, 0)
        used[name] = number + 1
        found.append({"colour": _COLOURS[groups.index(name)], "dash": number % _DASHES})
    return found


def groups_with_colours(flows: list[dict[str, Any]]) -> list[str]:
    """The groups that have a colour of their own, by number: of many flows those that have several, in the order of the document."""
    names = [str(flow["group"]) for flow in flows]
    return [name for name in dict.fromkeys(names) if names.count(name) >= _SPREAD][:_GROUPS] if len(flows) > FEW else []


#: The order of figures: the queue next to the window that fills it.
_ORDER = (
    "goodput_bps",
    "cwnd_bytes",
    "queue",
    "srtt_s",
    "propagation",
    "drops",
    "utilisation",
    "throughput_bps",
    "middleboxes",
    "pages",
)
#: The figures that come first where people wait for answers or talk: what they wait for, and where.
_OF_WAITING = ("srtt_s", "queue")
#: Pages that ended within this part of a run are one point.
_PAGES = 60


def _order(result: Result, figures: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The order of figures: the first follows the applications, of which calls, pages and responses are about time, not rate.

    Where the senders of those have no round trip, as with datagrams, the queue that they wait in is what is known of their time.
    """
    kinds = qoe.kinds(result)
    waiting = {name for name, kind in kinds.items() if kind in ("calls", "pages", "responses")}
    if not waiting:
        return _ORDER
    flows = result.summary["flows"]
    trips: list[dict[str, Any]] = next((figure["series"] for figure in figures if figure["id"] == "srtt_s"), [])
    known = any(str(flows[line["flow"]]["group"]) in waiting for line in trips if "flow" in line)
    first = _OF_WAITING if known else _OF_WAITING[::-1]
    return ("pages", *first, *(name for name in _ORDER if name not in first))


#: Figures of flows: column, title, unit, whether they are averaged over a round trip, and what the caption has.
_OF_FLOWS = (
    ("goodput_bps", "Goodput", "bit/s", True, "Payload that reached the receiving application in order, averaged over {mean}. When a lost segment is repaired, all that waited behind it is delivered at once, which can exceed the link's rate."),
    ("cwnd_bytes", "Congestion window", "B", False, "What congestion control allows to be in flight."),
    ("srtt_s", "Smoothed round trip", "s", False, "As the senders smooth it; what is above the base RTT is queueing."),
    ("throughput_bps", "Throughput", "bit/s", True, "Payload sent, retransmissions included, averaged over {mean}. What a sender hands to a queue or a proxy can exceed the rate of the link behind it."),
)  # fmt: skip


def _flow_figures(columns: Columns, result: Result) -> None:
    import polars as pl

    flows = result.summary["flows"]
    frame = result.flows
    times = frame["time_s"].unique().sort().to_numpy()
    if not len(times):
        return
    rtt = max((float(flow["base_rtt_s"] or 0.0) for flow in flows), default=0.0)
    sample = float(times[1] - times[0]) if len(times) > 1 else 1.0
    points = int(min(_POINTS, max(100, _ALL / len(flows))))
    links = course.links_over_time(result)
    for column, title, unit, mean, caption in _OF_FLOWS:
        if len(flows) > 100 and column == "throughput_bps":
            continue  # it adds little to goodput, and much to the size
        rows = _pivoted(frame, column, times, len(flows), pl)
        if column == "cwnd_bytes":
            # Datagrams have no window.
            rows[[number for number, flow in enumerate(flows) if flow.get("variant") == "udp"]] = np.nan
        _end_with_flows(rows, times, result)
        shown_times, shown = times, rows
        each = max(1, math.ceil(rtt / sample - 1e-9)) if mean else 1
        if each > 1:
            shown_times, shown = _means(times, rows, each)
        figure: dict[str, Any] = {
            "id": column,
            "title": title,
            "unit": unit,
            "kind": "flows",
            "caption": caption.format(mean=quantity(each * sample, "s", 3)),
            "series": [],
        }
        if mean:
            # What holds from the start is drawn from there, and not from the end of the first mean.
            shown_times = np.append(0.0, shown_times)
            shown = np.hstack([np.full((len(shown), 1), np.nan), shown])
        behind = _capacity(result, links, shown_times, shown) if unit == "bit/s" else None
        small_times, small = decimated(shown_times, shown, points)
        axis = columns.axis(small_times)
        if behind:
            _, (steps,) = decimated(shown_times, behind[1][np.newaxis], points)
            figure["series"].append(
                {
                    "capacity": True,
                    "axis": axis,
                    "label": behind[0],
                    **_with_mean(shown_times, behind[1], steps, points),
                }
            )
        for number, (row, small_row) in enumerate(zip(shown, small, strict=True)):
            if not np.isfinite(row).any():
                continue  # datagrams have neither window nor round trip
            packed = _with_mean(shown_times, row, small_row, points) if len(flows) <= FEW else line(small_row)
            figure["series"].append({"flow": number, "axis": axis, "label": str(flows[number]["name"]), **packed})
        if len(flows) > FEW:  # after the flows: the median is drawn above them
            _spread(columns, figure, result, shown_times, shown, points)
        _reference(figure, result, links, axis, small_times)
        figure["alt"] = _alt(title, unit, [str(flow["name"]) for flow in flows], shown)
        columns.figures.append(figure)


def _pivoted(frame: pl.DataFrame, column: str, times: Values, flows: int, pl: Any) -> NDArray[np.float64]:
    """A column as one row for each flow and one column for each time; gaps where a flow has no sample."""
    rows = np.full((flows, len(times)), np.nan)
    part = frame.select("time_s", "flow", pl.col(column).cast(pl.Float64))
    places = np.searchsorted(times, part["time_s"].to_numpy())
    rows[part["flow"].to_numpy().astype(np.int64), places] = part[column].to_numpy()
    return rows


def _end_with_flows(rows: NDArray[np.float64], times: Values, result: Result) -> None:
    """A line begins and ends with its flow: what window and round trip were last does not change any more, and nothing is sent."""
    closed = result.events.filter(result.events["kind"] == "closed")
    ends = dict(zip(closed["flow"].to_list(), closed["time_s"].to_list(), strict=True))
    sample = times[1] - times[0] if len(times) > 1 else 0.0
    for row, flow in zip(rows, result.summary["flows"], strict=True):
        start = float(flow["start_s"])
        row[times < start] = np.nan
        took = flow["metrics"].get("completion_time_s")
        end = start + float(took) if took is not None else ends.get(flow["id"])
        if end is not None:
            row[times > end + sample] = np.nan


#: A link's capacity is drawn behind lines that reach this share of it; below it would be far above them.
_NEAR = 0.4


def _capacity(
    result: Result, links: Sequence[course.Link], times: Values, rows: NDArray[np.float64]
) -> tuple[str, Values] | None:
    """What the busiest link on the flows' way could carry, as its script or its measurement has it, with a name for it."""
    flows = result.summary["flows"]
    ways = {number for flow in flows for number in flow.get("data_path") or ()}
    number, link = next(((number, link) for number, link in result.shared_links() if number in ways), (0, None))
    most = float(np.nanmax(rows, initial=0.0))
    if link is None or not most:
        return None
    content, name = content_of(result), str(link["name"])
    is_measured, fades = course.follows_measurement(content, name), course.adapts(content, name)
    steps = links[number]
    values = course.capacity(result, number, steps, times, is_measured=is_measured, fades=fades)
    if not np.isfinite(values).any() or most < _NEAR * float(np.nanmedian(values)):
        return None
    constant = "" if is_measured or not steps.rate.constant else f", {quantity(steps.rate.values[0], 'bit/s')}"
    return f"capacity of {link_name(link)}{constant}", values


def _reference(figure: dict[str, Any], result: Result, links: Sequence[course.Link], axis: int, times: Values) -> None:
    """An equal share of the path as a dashed line, where it is the same for all flows; a single flow has the link's capacity for it."""
    flows = [flow for flow in result.summary["flows"] if "predicted" in flow]
    has_capacity = any(one.get("capacity") for one in figure["series"])
    if figure["id"] != "goodput_bps" or (has_capacity and len(flows) == 1):
        return
    # Flows that go the same way at the same size have the same share.
    alike = {
        (tuple(flow.get("data_path") or ()), flow["mss_bytes"], flow.get("access_rate_bps")): flow for flow in flows
    }
    shares = {course.equal_share(result, links, flow) for flow in alike.values()}
    if len(shares) != 1 or not (share := shares.pop()):
        return
    of = f", {quantity(share.values[0], 'bit/s')}" if share.constant else ""
    values = share.before(times) if share.constant else share.mean(times)
    figure["series"].append({"reference": True, "axis": axis, "label": f"equal share of the path{of}", **line(values)})


def _means(times: Values, rows: NDArray[np.float64], each: int) -> tuple[Values, NDArray[np.float64]]:
    """Means of so many samples each; what TCP sends within a round trip comes in bursts that hide the rate."""
    count = len(times) // each
    if count < 2:
        return times, rows
    parts = rows[:, : count * each].reshape(len(rows), count, each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return times[each - 1 : count * each : each], np.nanmean(parts, axis=2)


def _spread(
    columns: Columns, figure: dict[str, Any], result: Result, times: Values, rows: NDArray[np.float64], points: int
) -> None:
    """Median and the band from the 10th to the 90th percentile of each group that has a colour."""
    flows = result.summary["flows"]
    alike = looks(flows)
    for group, name in enumerate(groups_with_colours(flows)):
        members = [number for number, flow in enumerate(flows) if str(flow["group"]) == name]
        if not np.isfinite(rows[members]).any():
            continue  # datagrams have neither window nor round trip
        group = alike[members[0]].get("colour", group)
        low, middle, high = _quantiles(rows[members], (0.1, 0.5, 0.9))
        small_times, small = decimated(times, np.vstack([low, middle, high]), points)
        axis = columns.axis(small_times)
        for values, label, part in zip(
            small, (f"{name}: 10th percentile", f"{name}: median", f"{name}: 90th percentile"), ("low", "median", "high"), strict=True
        ):  # fmt: skip
            figure["series"].append({"spread": part, "colour": group, "axis": axis, "label": label, **line(values)})


def _quantiles(rows: NDArray[np.float64], shares: tuple[float, ...]) -> list[Values]:
    """Quantiles of each column without its gaps (the nearest rank).

    >>> [values.tolist() for values in _quantiles(np.array([[3.0, np.nan], [1.0, 5.0], [2.0, 7.0]]), (0.0, 0.5, 1.0))]
    [[1.0, 5.0], [2.0, 5.0], [3.0, 7.0]]
    """
    ordered = np.sort(rows, axis=0)  # gaps come last
    known = np.isfinite(rows).sum(axis=0)
    places = [np.floor(share * np.maximum(known - 1, 0) + 0.25).astype(int) for share in shares]
    return [np.take_along_axis(ordered, place[np.newaxis], axis=0)[0] for place in places]


def _link_figures(columns: Columns, result: Result) -> None:
    frame = result.links
    chosen = result.shared_links()[:_LINKS]
    for what, title, unit, caption, parts in (
        ("queue", "Queue", "packets", "Waiting in front of the link: at the sampling times, and the maximum between them.",
         (("queue_packets", ""), ("queue_max_packets", ", maximum"))),
        ("utilisation", "Utilisation", "share", "How much of the link's rate was in use in each sample.", (("utilisation", ""),)),
        ("drops", "Drops and marks", "packets", "Packets per sample that a queue dropped, that were lost on the link, or marked.",
         (("drops_queue", ", by the queue"), ("drops_loss", ", lost on the link"), ("marks", ", marked"))),
    ):  # fmt: skip
        figure: dict[str, Any] = {
            "id": what,
            "title": title,
            "unit": unit,
            "kind": "links",
            "caption": caption,
            "series": [],
        }
        rows = []
        for colour, (number, link) in enumerate(chosen):
            part = frame.filter(frame["link"] == number).sort("time_s")
            times = part["time_s"].to_numpy()
            for dash, (column, words) in enumerate(parts):
                values = part[column].to_numpy().astype(float)
                if what == "drops" and not np.nansum(values):
                    continue
                small_times, small = decimated(times, values[np.newaxis], _POINTS)
                packed = _with_mean(times, values, small[0], _POINTS)
                name = f"{link_name(link)}{words}"
                rows.append(values)
                figure["series"].append(
                    {"colour": colour, "dash": dash, "axis": columns.axis(small_times), "label": name, **packed}
                )
        if rows:
            figure["alt"] = _alt(title, unit, [series["label"] for series in figure["series"]], np.vstack(rows))
            columns.figures.append(figure)


def _propagation_figure(columns: Columns, result: Result) -> None:
    """How long the links take without queue and transmission, where a script, a file, satellites or random steps move that."""
    series, rows = [], []
    for number, one in enumerate(propagation.delays(result)[:_LINKS]):
        times, values = one.times, one.values
        name = link_name(result.summary["links"][one.number]) if one.flow is None else one.flow
        if one.stepped:
            times, values = np.repeat(times, 2)[1:], np.repeat(values, 2)[:-1]
        small_times, small = decimated(times, values[np.newaxis], _POINTS)
        series.append({"colour": number, "dash": 0, "axis": columns.axis(small_times), "label": name, **line(small[0])})
        rows.append(values)
    if series:
        columns.figures.append({
            "id": "propagation", "title": "Propagation delay", "unit": "s", "kind": "links", "series": series,
            "caption": "One way over the link, or over all links of a way that changes, without queue and transmission.",
            "alt": "; ".join(_alt("Propagation delay", "s", [one["label"]], row[np.newaxis]) for one, row in zip(series, rows, strict=True)),
        })  # fmt: skip


def _box_figures(columns: Columns, result: Result) -> None:
    """What middleboxes keep: their buffer, and what they have acknowledged and not delivered."""
    boxes = result.summary.get("middleboxes") or []
    try:
        frame = result.middleboxes if boxes else None
    except ResultError:
        return
    if frame is None or not len(frame):
        return
    figure: dict[str, Any] = {
        "id": "middleboxes", "title": "Proxies", "unit": "B", "kind": "links", "axis": "payload at the proxy", "series": [],
        "caption": "Payload in the buffer, and payload acknowledged and not delivered: lost with the proxy.",
    }  # fmt: skip
    rows = []
    for number, box in enumerate(boxes[:_LINKS]):
        part = frame.filter(frame["middlebox"] == number).sort("time_s")
        for dash, (column, words) in enumerate((("buffer_bytes", "buffer"), ("undelivered_bytes", "not delivered"))):
            values = part[column].to_numpy().astype(float)
            if not np.nansum(values):
                continue
            times, small = decimated(part["time_s"].to_numpy(), values[np.newaxis], _POINTS)
            rows.append(values)
            figure["series"].append(
                {
                    "colour": number + 4 * dash,  # the two often lie over each other
                    "dash": dash,
                    "axis": columns.axis(times),
                    "label": f"{box['name']}, {words}",
                    **line(small[0]),
                }
            )
    if rows:
        figure["alt"] = _alt("Proxies", "B", [series["label"] for series in figure["series"]], np.vstack(rows))
        columns.figures.append(figure)


def _page_figure(columns: Columns, result: Result) -> None:
    """How long the pages of each group took, at the time when they were complete: the median of several, and the longest."""
    flows = result.summary["flows"]
    pages = result.events.filter(result.events["kind"] == "page").sort("time_s")
    step = float(result.summary["duration_s"]) / _PAGES
    group_of = {int(flow["id"]): str(flow["group"]) for flow in flows}
    found: dict[str, dict[int, list[float]]] = {}
    for at, flow, took in pages.select("time_s", "flow", "value").iter_rows():
        found.setdefault(group_of[flow], {}).setdefault(int(at / step), []).append(took)
    groups = list(dict.fromkeys(group_of.values()))
    series, rows = [], []
    for name, windows in list(found.items())[:_LINES]:
        times = (np.array(list(windows)) + 0.5) * step
        for dash, (words, share) in enumerate((("median", 0.5), ("longest", 1.0))):
            values = np.array([float(np.quantile(took, share)) for took in windows.values()])
            colour = _COLOURS[groups.index(name) % len(_COLOURS)]
            label = f"{name}: {words}"
            series.append({"colour": colour, "dash": dash, "axis": columns.axis(times), "label": label, **line(values)})
            rows.append(values)
    if series:
        columns.figures.append({
            "id": "pages", "title": "Page times", "unit": "s", "kind": "links", "series": series,
            "caption": f"From the beginning of a page to its last byte, of the pages that ended within {quantity(step, 's', 2)} each.",
            "alt": "; ".join(_alt("Page times", "s", [one["label"]], row[np.newaxis]) for one, row in zip(series, rows, strict=True)),
        })  # fmt: skip


#: Kinds of rows in segments.parquet: sent, retransmitted, ACK, SACK block.
_SENT, _AGAIN, _ACK, _SACK = range(4)


#: Changes of one kind on one link: more than these are drawn as ticks at the top, each for all changes of one part in `_TICKS` of the run.
_CHANGES, _TICKS = 40, 1000
#: Of more ticks than these a strip stands at the top, as dark as there are changes: they would be a solid block.
_DENSE = 200
#: So many parts a strip has at most.
_PARTS = 100


def _marks(result: Result) -> list[dict[str, Any]]:
    """Handovers, outages and changes of links, to be drawn behind the lines: every one, by kind and link, with a name that counts them."""
    frame = result.events
    words = {
        "link_down": "outage",
        "link_rate": "rate changes",
        "link_delay": "delay changes",
        "link_loss": "loss changes",
        "route": "change of route",
    }
    content = content_of(result)
    span = float(result.summary["duration_s"])
    found: dict[tuple[str, str, str], dict[float, float]] = {}
    for row in frame.filter(frame["kind"].is_in(list(words))).sort("time_s").iter_rows(named=True):
        if row["time_s"] <= 0 and row["kind"] != "link_down":
            continue
        # A change of route is a flow's.
        link = "" if row["kind"] == "route" else str(result.summary["links"][row["link"]]["name"])
        at, length = float(row["time_s"]), float(row["value"]) if row["kind"] == "link_down" else 0.0
        handed_over = row["kind"] == "link_down" and propagation.is_handover(content, link, length)
        what = "handover" if handed_over else words[row["kind"]]
        # Both directions of a link mostly change at once.
        found.setdefault((row["kind"], what, link.rsplit(".", 1)[0]), {})[at] = at + length
    marks = []
    for (kind, what, name), spans in found.items():
        many = len(spans) > _CHANGES
        places = (
            {round(at / span * _TICKS): (at, to) for at, to in spans.items()}
            if many
            else dict(enumerate(spans.items()))
        )
        plural = "s" if kind == "link_down" and len(spans) > 1 else ""
        mark = {
            "kind": "ticks" if many else "band" if kind == "link_down" else "line",
            "label": f"{what}{plural}"
            + (f": {name}" if name else "")
            + (f" ({len(spans):,})" if len(spans) > 1 else ""),
            "spans": [[round(at, 6), round(to, 6)] for at, to in places.values()],
        }
        marks.append(mark | _strip(list(spans), span) if len(places) > _DENSE else mark)
    return marks


def _strip(times: Sequence[float], span: float) -> dict[str, Any]:
    """A strip of parts of a run, each with the share of the most changes that a part has.

    >>> _strip([0.0, 0.1, 50.0], 100.0)["depths"], _strip([0.0, 0.1, 50.0], 100.0)["spans"]
    ([1.0, 0.5], [[0.0, 1.0], [50.0, 51.0]])
    """
    count = np.bincount(np.minimum((np.asarray(times) / span * _PARTS).astype(int), _PARTS - 1), minlength=_PARTS)
    filled = np.flatnonzero(count)
    edges = np.linspace(0.0, span, _PARTS + 1)
    return {
        "kind": "strip",
        "spans": [[round(float(edges[part]), 6), round(float(edges[part + 1]), 6)] for part in filled],
        "depths": [round(float(count[part] / count.max()), 3) for part in filled],
    }


def _alt(title: str, unit: str, names: list[str], rows: NDArray[np.float64]) -> str:
    """A figure in words: of each line the mean and the range, or of many lines those of all."""
    known = rows[np.isfinite(rows)]
    if not len(known):
        return f"{title}: no values."
    low, high = quantity(float(known.min()), unit, 3), quantity(float(known.max()), unit, 3)
    if len(names) > 4:
        return (
            f"{title} of {len(names)} lines, from {low} to {high}, {quantity(float(known.mean()), unit, 3)} on average."
        )
    parts = []
    for name, row in zip(names, rows, strict=True):
        row = row[np.isfinite(row)]
        if len(row):
            parts.append(
                f"{name} {quantity(float(row.mean()), unit, 3)} on average, from {quantity(float(row.min()), unit, 3)} to"
                f" {quantity(float(row.max()), unit, 3)}"
            )
    return f"{title}: {'; '.join(parts)}."
