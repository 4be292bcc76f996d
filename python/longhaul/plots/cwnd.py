"""Congestion window and slow-start threshold over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from .. import course
from ..results import Result
from . import decimation, lines, style
from .view import View


def draw(result: Result, view: View) -> Figure:
    """cwnd of each flow; ssthresh too while there are at most 2 flows (thin, dotted, in the flow's colour)."""
    figure, axes, largest = lines.flow_figure(result, view, "cwnd_bytes", "bytes", "cwnd", "Congestion window")
    ids = view.flow_ids(result)
    if len(ids) <= 2:
        frame = view.cut(result.flows, result)
        for number, flow in enumerate(ids):
            rows = frame.filter(pl.col("flow") == flow)
            values = rows["ssthresh_bytes"].to_numpy().astype(float)
            shown = values[values <= largest * 3]
            if not shown.size:
                continue
            axes.plot(
                *decimation.line(rows["time_s"].to_numpy(), values),
                color=style.COLOURS[number],
                linewidth=0.9,
                linestyle=(0, (1, 1)),
                drawstyle="steps-post",
                label=f"{lines.flow_label(result, flow)}: ssthresh",
            )
            largest = max(largest, float(shown.max()))
    style.from_zero(axes, largest)
    style.quantity_axis(axes.yaxis, largest, "bytes", "cwnd")
    links = course.links_over_time(result)
    for number, pipe in enumerate(lines.distinct_limits(result, ids, partial(_pipe_share, result, links))):
        label = pipe.label("link share × base RTT", "bytes")
        style.limit_steps(axes, pipe.steps.times, pipe.steps.values, label, number)
    style.legend_outside(axes)
    return figure


def _pipe_share(result: Result, links: Sequence[course.Link], flow: dict[str, Any]) -> course.Steps | None:
    """A flow's equal part of the bandwidth-delay product: the window that fills the path and no queue."""
    share, rtt = course.equal_share(result, links, flow), course.base_rtt(result, links, flow)
    if share is None:
        return None
    times = sorted({*share.times, *rtt.times})
    return course.Steps(tuple(times), tuple(share.at(time) * rtt.at(time) / 8 for time in times))
