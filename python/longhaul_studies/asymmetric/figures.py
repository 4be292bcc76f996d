"""The thesis's figures with its axes: throughput over RTT, and time-sequence graphs in the convention of its appendix B."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Drawing

from ..drawing import line, panels
from ..model import Figure
from ..results import Results, Row
from . import designs, grids
from .formulas import KB, MSS_WITH_TIMESTAMPS, Line, asymmetric_limit, window_limit
from .measures import kilobytes, queue_peak

_SENT, _AGAIN, _ACK, _SACK = range(4)
_COLOURS = {_SENT: "black", _AGAIN: "#D62728", _SACK: "#17A2B8"}


def _time_sequence(drawing: Drawing, row: Row, span: tuple[float, float] | None = None, flow: int = 0) -> None:
    """One direction of a connection at its sender: segments, ACKs below, ACK plus advertised window above; R marks retransmissions."""
    axes = drawing.axes[0]
    frame = row.result().segments.filter(pl.col("flow") == flow)
    if span:
        frame = frame.filter(pl.col("time_s").is_between(*span))
    for kind, colour in _COLOURS.items():
        rows = frame.filter(pl.col("kind") == kind)
        x, low, high = (rows[name].to_numpy().astype(float) for name in ("time_s", "start", "end"))
        strokes = np.stack([np.stack([x, low], axis=1), np.stack([x, high], axis=1)], axis=1)
        axes.add_collection(LineCollection(list(strokes), colors=colour, linewidths=1.2, rasterized=True))
        if kind == _AGAIN:
            axes.plot(x, high, linestyle="", marker="$R$", markersize=4, color=colour)
    acks = frame.filter(pl.col("kind") == _ACK)
    axes.step(acks["time_s"].to_numpy(), acks["start"].to_numpy(), where="post", color="#2E8B57", linewidth=0.9)
    axes.step(acks["time_s"].to_numpy(), acks["end"].to_numpy(), where="post", color="#C9A400", linewidth=0.9)
    axes.autoscale_view()
    axes.set_xlabel("time (s)")
    axes.set_ylabel("sequence number")


def _sequence(
    experiment: str, span: tuple[float, float] | None = None, flow: int = 0, **parameters: object
) -> Callable[[Results], Drawing]:
    def draw(results: Results) -> Drawing:
        row = results[experiment].where(**parameters)[0]
        drawing, _ = panels()
        _time_sequence(drawing, row, span, flow)
        return drawing

    return draw


def _over_rtt(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    line(axes, results["rtt"].spread(kilobytes, "rtt"), "simulated", 0)
    rtts = np.linspace(0.2, 2.0, 200)
    limit = asymmetric_limit(Line(9600, header=52), MSS_WITH_TIMESTAMPS) / KB
    axes.plot(
        rtts, [min(limit, window_limit(32 * KB, rtt) / KB) for rtt in rtts], "--", color="grey", label="eq 5.1 and 5.6"
    )
    axes.set_xlabel("round trip time (s)")
    axes.set_ylabel("throughput (kB/s)")
    axes.legend()
    return drawing


def _queues(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    for number, policy in enumerate(("P1", "P3")):
        line(axes, results["policy"].spread(queue_peak, "fade", policy=policy), policy, number)
    axes.axhline(176, color="grey", linestyle="--", label="eq 6.1")
    axes.set_xlabel("length of the fade (s)")
    axes.set_ylabel("largest serial queue (packets)")
    axes.legend()
    return drawing


def _ladder(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    names = list(grids.LADDER)
    paths = {name: designs.Path(54e6, grids.LADDER[name][0], 0.6) for name in names}
    formula = [designs.DESIGNS[name](paths[name], grids.LADDER[name][1]).rate / KB for name in names]
    measured = [results["ladder"].median(kilobytes, design=name) for name in names]
    places = np.arange(len(names))
    axes.bar(places - 0.2, formula, 0.4, label="by formula", color="lightgrey", edgecolor="black")
    axes.bar(places + 0.2, measured, 0.4, label="simulated", color="#4477AA", edgecolor="black")
    axes.set_xticks(places, names)
    axes.set_xlabel("design")
    axes.set_ylabel("throughput (kB/s)")
    axes.legend()
    return drawing


FIGURES = (
    Figure("5.1", "Throughput over the round trip", "A hyperbola of 32 kB over RTT, cut off at the line's limit.", _over_rtt, ("rtt",)),
    Figure("5.2", "Improved steady state", "Slow start for 13 s, then a constant rate.", _sequence("improved", initial=2), ("improved",)),
    Figure("6.1", "A stall of the return line with header compression", "ACKs stop; an RTO, slow start, then slow growth.",
           _sequence("stall", (55, 90), stall=0.1, vj=True), ("stall",)),
    Figure("6.2", "P1: queue of 10, default RTO", "An RTO, slow start, then linear growth from a low ssthresh.",
           _sequence("policy", (58, 90), policy="P1", fade=0.1, moment=0.0), ("policy",)),
    Figure("6.3", "P2: queue of 10, RTO at least 20 s", "Bursts after the repair, each smaller than the one before.",
           _sequence("policy", (59, 72), policy="P2", fade=0.1, moment=0.0), ("policy",)),
    Figure("6.7", "P3: queue of 200, RTO at least 20 s", "No RTO, but no new data until the queue of ACKs is empty.",
           _sequence("policy", (58, 80), policy="P3", fade=0.1, moment=0.0), ("policy",)),
    Figure("6.9", "Largest serial queue", "Not in the thesis: its section 6.4.1 as a figure.", _queues, ("policy",)),
    Figure("7.1", "Two flows, standard TCP: that of 14 MB", "Its rate doubles when the other flow ends.", _sequence("two", flow=1, congestion="reno"), ("two",)),
    Figure("7.2", "Two flows, Vegas: that of 14 MB", "Its rate stays the same when the other flow ends.", _sequence("two", flow=1, congestion="vegas"), ("two",)),
    Figure("8", "Designs", "Chapter 8's ladder by formula, and simulated.", _ladder, ("ladder",)),
)  # fmt: skip
