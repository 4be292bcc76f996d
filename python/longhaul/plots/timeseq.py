"""The time-sequence graph in the convention of tcptrace and xplot (Shepard 1991): x time, y sequence number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..errors import PlotError
from ..results import Result
from ..units import quantity
from . import decimation, lines, script, style
from .view import View

#: More segments than this get a second panel that zooms in on the first retransmission.
_OVERVIEW = 1500
#: Kinds of rows in segments.parquet; of an ACK, `start` is its number and `end` the right edge of the window.
_SENT, _AGAIN, _ACK, _SACK = range(4)
_ACKS, _WINDOW, _DATA, _RETRANSMITTED, _SACKED = "#2E8B57", "#C9A400", "#000000", "#D62728", "#17A2B8"


@dataclass(frozen=True)
class Segments:
    """What one sender sent and received, in the order of time, as columns."""

    flow: int
    time: NDArray[np.float64]
    kind: NDArray[np.uint8]
    start: NDArray[np.float64]
    end: NDArray[np.float64]

    def of(self, *kinds: int) -> NDArray[np.bool_]:
        """Which of them are of some kinds."""
        return np.isin(self.kind, kinds)

    def only(self, chosen: NDArray[np.bool_] | slice) -> Segments:
        """Some of them."""
        return Segments(self.flow, self.time[chosen], self.kind[chosen], self.start[chosen], self.end[chosen])

    def between(self, start: float, end: float) -> Segments:
        """Those of a stretch of time, both ends included."""
        return self.only(slice(np.searchsorted(self.time, start, "left"), np.searchsorted(self.time, end, "right")))


def draw(result: Result, view: View) -> Figure:
    """One traced flow at its sender."""
    segments = _sender_side(result, view)
    start, end = view.span(result)
    long = np.count_nonzero(segments.of(_SENT, _AGAIN)) > _OVERVIEW
    zoom = _first_trouble(segments, result) if long and view.start is None and view.end is None else None
    figure = Figure(figsize=(style.SIZE[0], 8.2 if zoom else 5.0))
    panels = figure.subplots(2 if zoom else 1, 1, squeeze=False)[:, 0]
    unit = "offset in the stream" if _is_quic(result, segments.flow) else "sequence number"
    _panel(panels[0], segments, (start, end if view.end is not None else float(segments.time[-1]) or end), unit)
    links = script.paths(result, [segments.flow])
    script.mark(panels[0], result, view, links)
    style.title(panels[0], f"Time-sequence graph, {lines.flow_label(result, segments.flow)}", result.name)
    style.legend_outside(panels[0])
    if zoom:
        _panel(panels[1], segments, zoom, unit)
        script.mark(panels[1], result, View(start=zoom[0], end=zoom[1]), links, named=False)
        panels[1].set_title(
            f"the same around {_zoom_reason(segments)}: {quantity(zoom[0], 's')} to {quantity(zoom[1], 's')}", y=1.0
        )
    return figure


def _is_quic(result: Result, flow: int) -> bool:
    return bool(result.summary["flows"][flow]["variant"] == "quic")


def _sender_side(result: Result, view: View) -> Segments:
    frame = result.segments
    flows = frame["flow"].to_numpy()
    traced = np.unique(flows).tolist()
    if not traced:
        raise PlotError(f"{result.name!r}: the traced flows sent nothing")
    wanted = [flow for flow in traced if view.flows is None or flow in view.flows]
    if not wanted:
        raise PlotError(f"no segments of flow {next(iter(view.flows or []))}: it was not traced (traced: {traced})")
    start, end = view.span(result)
    time, kind, first, last = (frame[column].to_numpy() for column in ("time_s", "kind", "start", "end"))
    order = np.argsort(time, kind="stable")
    order = order[flows[order] == wanted[0]]
    segments = Segments(wanted[0], time[order], kind[order], first[order].astype(float), last[order].astype(float))
    segments = segments.between(start, end)
    if not segments.time.size:
        raise PlotError(f"flow {wanted[0]} has no segments between {start:g} s and {end:g} s")
    return segments


def _first_trouble(segments: Segments, result: Result) -> tuple[float, float]:
    """A few round trips around the first retransmission, or the first ones of the connection."""
    rtt = float(result.summary["flows"][segments.flow]["base_rtt_s"]) or 0.1
    trouble = segments.time[segments.of(_AGAIN)]
    at = float(trouble[0]) if trouble.size else float(segments.time[0]) + rtt
    return max(0.0, at - 1.5 * rtt), at + 2.5 * rtt


def _zoom_reason(segments: Segments) -> str:
    return "the first retransmission" if segments.of(_AGAIN).any() else "the start"


def _panel(axes: Axes, segments: Segments, span: tuple[float, float], unit: str) -> None:
    segments = segments.between(*span)
    acks = segments.only(segments.of(_ACK))
    time, left, right = acks.time, acks.start, acks.end
    axes.step(*decimation.line(time, left), where="post", color=_ACKS, linewidth=1.1, label="ACK received")
    highest = 0.0
    # Retransmissions are seldom: each lies above the rest, thick, and is never too short to be seen.
    least = (
        0.006 * float(np.ptp(segments.start[segments.of(_SENT, _AGAIN)])) if segments.of(_SENT, _AGAIN).any() else 0.0
    )
    for kind, colour, mark, label, width, opaque in (
        (_SENT, _DATA, None, "segment sent", 1.0, 1.0),
        (_SACK, _SACKED, "S", "S: SACKed range", 1.0, 0.5),
        (_AGAIN, _RETRANSMITTED, "R", "R: retransmission", 2.6, 1.0),
    ):
        rows = segments.only(segments.of(kind))
        x, low, high = rows.time, rows.start, rows.end
        if not x.size:
            continue
        shown = np.maximum(high, low + least) if kind == _AGAIN else high
        axes.plot(
            *decimation.ranges(x, low, shown), color=colour, linewidth=width, alpha=opaque, solid_capstyle="butt", label=label,
            zorder=3 if kind == _AGAIN else 2,
        )  # fmt: skip
        highest = max(highest, float(high.max()))
        if mark and len(x) <= 400:
            axes.plot(x, high, linestyle="", marker=f"${mark}$", markersize=4.5, color=colour)
    lowest = float(left.min()) if left.size else 0.0
    top = highest or float(right.max(initial=1.0))
    margin = 0.08 * (top - lowest) or 1.0
    if right.size:
        within = bool(np.median(right) <= top + 6 * margin)
        label = "ACK + advertised window" + ("" if within else style.OFF_SCALE)
        axes.step(
            *(decimation.line(time, right) if within else (time[:0], right[:0])),
            where="post",
            color=_WINDOW,
            linewidth=1.1,
            linestyle=style.DASHES[1],
            label=label,
        )
        if within:
            top = max(top, float(right[right <= top + 6 * margin].max()))
    axes.set_ylim(max(0.0, lowest - margin), top + margin)
    axes.set_xlim(*span)
    style.quantity_axis(axes.yaxis, top, "bytes", unit)
    axes.set_xlabel("time (s)")
