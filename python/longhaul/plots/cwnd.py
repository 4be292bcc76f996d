"""Congestion window and slow-start threshold over time."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from ..results import Result
from ..units import quantity
from . import lines, style
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
                rows["time_s"].to_numpy(),
                values,
                color=style.COLOURS[number],
                linewidth=0.9,
                linestyle=(0, (1, 1)),
                drawstyle="steps-post",
                label=f"{lines.flow_label(result, flow)}: ssthresh",
            )
            largest = max(largest, float(shown.max()))
    style.from_zero(axes, largest)
    style.quantity_axis(axes.yaxis, largest, "bytes", "cwnd")
    for number, pipe in enumerate(_pipe_shares(result, ids)):
        style.limit_line(axes, pipe, f"link share × base RTT\n= {quantity(pipe, 'bytes')}", number)
    style.legend_outside(axes)
    return figure


def _pipe_shares(result: Result, ids: list[int]) -> list[float]:
    """A flow's fair part of the bandwidth-delay product: the window that fills the path and no queue."""
    shares = lines.distinct_limits(result, ids, "fair_share_bps")
    rtts = {round(float(result.summary["flows"][i]["base_rtt_s"]), 4) for i in ids}
    return [share * rtt / 8 for share in shares for rtt in rtts] if len(rtts) == 1 else []
