"""The time-sequence graph in the convention of tcptrace and xplot (Shepard 1991): x time, y sequence number."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ..errors import PlotError
from ..results import Result
from ..units import quantity
from . import lines, script, style
from .view import View

#: More segments than this get a second panel that zooms in on the first retransmission.
_OVERVIEW = 1500
#: Kinds of rows in segments.parquet; of an ACK, `start` is its number and `end` the right edge of the window.
_SENT, _AGAIN, _ACK, _SACK = range(4)
_ACKS, _WINDOW, _DATA, _RETRANSMITTED, _SACKED = "#2E8B57", "#C9A400", "#000000", "#D62728", "#17A2B8"


def draw(result: Result, view: View) -> Figure:
    """One traced flow as its sender sees it."""
    frame = _sender_side(result, view)
    flow = int(frame["flow"][0])
    start, end = view.span(result)
    long = frame.filter(pl.col("kind").is_in([_SENT, _AGAIN])).height > _OVERVIEW
    zoom = _first_trouble(frame, result, flow) if long and view.start is None and view.end is None else None
    figure = Figure(figsize=(style.SIZE[0], 8.2 if zoom else 5.0), layout="constrained")
    panels = figure.subplots(2 if zoom else 1, 1, squeeze=False)[:, 0]
    _panel(panels[0], frame, (start, end if view.end is not None else float(frame["time_s"].max() or end)))  # type: ignore[arg-type]
    script.mark(panels[0], result, view, script.paths(result, [flow]))
    style.title(panels[0], f"Time-sequence graph, {lines.flow_label(result, flow)}", result.name)
    style.legend_outside(panels[0])
    if zoom:
        _panel(panels[1], frame, zoom)
        script.mark(panels[1], result, View(start=zoom[0], end=zoom[1]), script.paths(result, [flow]), named=False)
        panels[1].set_title(
            f"the same around {_zoom_reason(frame)}: {quantity(zoom[0], 's')} to {quantity(zoom[1], 's')}"
        )
    return figure


def _sender_side(result: Result, view: View) -> pl.DataFrame:
    frame = result.segments
    traced = frame["flow"].unique().sort().to_list()
    if not traced:
        raise PlotError(f"{result.name!r}: the traced flows sent nothing")
    wanted = [flow for flow in traced if view.flows is None or flow in view.flows]
    if not wanted:
        raise PlotError(f"no segments of flow {next(iter(view.flows or []))}: it was not traced (traced: {traced})")
    start, end = view.span(result)
    frame = frame.filter((pl.col("flow") == wanted[0]) & pl.col("time_s").is_between(start, end))
    if frame.is_empty():
        raise PlotError(f"flow {wanted[0]} has no segments between {start:g} s and {end:g} s")
    return frame.sort("time_s", maintain_order=True)


def _first_trouble(frame: pl.DataFrame, result: Result, flow: int) -> tuple[float, float]:
    """A few round trips around the first retransmission, or the first ones of the connection."""
    rtt = float(result.summary["flows"][flow]["base_rtt_s"]) or 0.1
    trouble = frame.filter(pl.col("kind") == _AGAIN)["time_s"]
    at = float(trouble[0]) if len(trouble) else float(frame["time_s"][0]) + rtt
    return max(0.0, at - 1.5 * rtt), at + 2.5 * rtt


def _zoom_reason(frame: pl.DataFrame) -> str:
    return "the first retransmission" if (frame["kind"] == _AGAIN).any() else "the start"


def _panel(axes: Axes, frame: pl.DataFrame, span: tuple[float, float]) -> None:
    frame = frame.filter(pl.col("time_s").is_between(*span))
    acks = frame.filter(pl.col("kind") == _ACK)
    time, left, right = (acks[column].to_numpy().astype(float) for column in ("time_s", "start", "end"))
    axes.step(time, left, where="post", color=_ACKS, linewidth=1.1, label="ACK received")
    highest = 0.0
    for kind, colour, mark, label, width in (
        (_SENT, _DATA, None, "segment sent", 1.0),
        (_SACK, _SACKED, "S", "S: SACKed range", 1.0),
        (_AGAIN, _RETRANSMITTED, "R", "R: retransmission", 1.6),
    ):
        rows = frame.filter(pl.col("kind") == kind)
        if rows.is_empty():
            continue
        x, low, high = (rows[c].to_numpy().astype(float) for c in ("time_s", "start", "end"))
        lines_of = np.stack([np.stack([x, low], axis=1), np.stack([x, high], axis=1)], axis=1)
        axes.add_collection(
            LineCollection(list(lines_of), colors=colour, linewidths=width, label=label, rasterized=len(x) > 2000)
        )
        highest = max(highest, float(high.max()))
        if mark and len(x) <= 400:
            axes.plot(x, high, linestyle="", marker=f"${mark}$", markersize=4.5, color=colour)
    lowest = float(left.min()) if left.size else 0.0
    top = highest or float(right.max(initial=1.0))
    margin = 0.08 * (top - lowest) or 1.0
    if right.size:
        within = bool(np.median(right) <= top + 6 * margin)
        label = "ACK + advertised window" + ("" if within else " ↑ off scale")
        axes.step(
            time if within else [],
            right if within else [],
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
    style.quantity_axis(axes.yaxis, top, "bytes", "sequence number")
    axes.set_xlabel("time (s)")
