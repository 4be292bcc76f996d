"""The thesis's figures with its axes: throughput over RTT, and time-sequence graphs in the convention of its appendix B."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Drawing

from ..drawing import line, panels
from ..model import Figure
from ..results import Results, Row
from . import designs, grids
from .formulas import COMPRESSED_HEADER, KB, MSS, MSS_WITH_TIMESTAMPS, Line, asymmetric_limit, window_limit
from .measures import finished, kilobytes, queue_peak, time_to_window
from .scenarios import ADVERTISED, FADE_AT, MEGABYTE, POLICIES
from .targets import LADDER as LADDER_RATES
from .targets import QUEUE_AFTER_LOSS

_SENT, _AGAIN, _ACK, _SACK = range(4)
_COLOURS = {_SENT: "black", _AGAIN: "#D62728", _SACK: "#17A2B8"}
_NAMES = {_SENT: "segments sent", _AGAIN: "sent again (R)", _SACK: "SACK blocks"}
_BELOW, _ABOVE = "#2E8B57", "#C9A400"
#: The thesis's values in all figures.
_PAPER = "#AA3377"


def _time_sequence(drawing: Drawing, row: Row, span: tuple[float, float] | None = None, flow: int = 0) -> None:
    """One direction of a connection at its sender in MB: segments, ACKs below, ACK plus advertised window above; R marks retransmissions."""
    axes = drawing.axes[0]
    frame = row.result().segments.filter(pl.col("flow") == flow)
    frame = frame.with_columns((pl.col("start", "end") - pl.col("start").min()) / MEGABYTE)
    if span:
        frame = frame.filter(pl.col("time_s").is_between(*span))
    for kind, colour in _COLOURS.items():
        rows = frame.filter(pl.col("kind") == kind)
        x, low, high = (rows[name].to_numpy().astype(float) for name in ("time_s", "start", "end"))
        if not len(x):
            continue
        strokes = np.stack([np.stack([x, low], axis=1), np.stack([x, high], axis=1)], axis=1)
        axes.add_collection(LineCollection(list(strokes), colors=colour, linewidths=1.2, rasterized=True))
        axes.plot([], [], color=colour, linewidth=1.6, label=_NAMES[kind])
        if kind == _AGAIN:
            axes.plot(x, high, linestyle="", marker="$R$", markersize=4, color=colour)
    acks = frame.filter(pl.col("kind") == _ACK)
    time = acks["time_s"].to_numpy()
    for edge, colour, label in (("start", _BELOW, "acknowledged"), ("end", _ABOVE, "acknowledged and window")):
        axes.step(time, acks[edge].to_numpy(), where="post", color=colour, linewidth=0.9, label=label)
    axes.autoscale_view()
    axes.set_xlabel("time (s)")
    axes.set_ylabel("sequence number (MB)")


#: Events of a run by name: the times of each in seconds.
_Events = Callable[[Row], Mapping[str, float]]


def _sequence(
    experiment: str,
    span: tuple[float, float] | None = None,
    flow: int = 0,
    events: _Events = lambda _: {},
    **parameters: object,
) -> Callable[[Results], Drawing]:
    def draw(results: Results) -> Drawing:
        row = results[experiment].where(**parameters)[0]
        drawing, (axes,) = panels()
        _time_sequence(drawing, row, span, flow)
        for number, (name, time) in enumerate(events(row).items()):
            axes.axvline(time, color="grey", linestyle=":", linewidth=0.9)
            # Names of events that are close stand below each other.
            axes.annotate(
                name, (time, 0.99 - 0.08 * number), xycoords=("data", "axes fraction"), xytext=(3, 0),
                textcoords="offset points", va="top", fontsize=7.5, color="0.25",
            )  # fmt: skip
        axes.legend(loc="lower right")
        return drawing

    return draw


def _outage(name: str) -> _Events:
    """The beginning of an outage, and the first sample with a window of one segment after it: the RTO."""

    def events(row: Row) -> dict[str, float]:
        begin = FADE_AT + row.parameters.get("moment", 0.0)
        found = {name: begin}
        flows = row.result().flows.filter((pl.col("time_s") > begin) & (pl.col("cwnd_bytes") <= MSS))
        if row["timeouts"] > 0 and flows.height:
            found["RTO"] = float(flows["time_s"].min())  # type: ignore[arg-type]
        return found

    return events


def _other_ends(row: Row) -> dict[str, float]:
    return {"the other flow ends": finished(row.result(), 0)}


def _slow_start_ends(row: Row) -> dict[str, float]:
    return {"slow start ends": time_to_window(row, ADVERTISED)}


def _over_queues(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    for number, (header, name, window) in enumerate(((40, "plain ACKs", 250), (COMPRESSED_HEADER, "compressed", 500))):
        line(axes, results["queue"].spread(kilobytes, "queue", header=header), f"{name}, window {window} kB", number)
        limit = asymmetric_limit(Line(9600, header=header)) / KB
        axes.axhline(limit, color=_PAPER, linestyle="--", label="the thesis: 65.2 and 304.2" if not number else None)
    axes.set_xscale("log")
    axes.set_xticks(grids.QUEUES, [str(queue) for queue in grids.QUEUES])
    axes.set_ylim(0, 560)
    axes.set_xlabel("return queue (packets)")
    axes.set_ylabel("throughput (kB/s)")
    axes.legend()
    return drawing


def _over_rtt(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    line(axes, results["rtt"].spread(kilobytes, "rtt"), "simulated", 0)
    rtts = np.linspace(0.2, 2.0, 200)
    limit = asymmetric_limit(Line(9600, header=52), MSS_WITH_TIMESTAMPS) / KB
    theory = np.array([min(limit, window_limit(32 * KB, rtt) / KB) for rtt in rtts])
    axes.plot(rtts, theory, "--", color="grey", label="eq 5.1 and 5.6")
    axes.fill_between(rtts, 0.9 * theory, theory, color=_PAPER, alpha=0.2, label="the thesis: 0 to 10 % below")
    axes.set_xlabel("round trip time (s)")
    axes.set_ylabel("throughput (kB/s)")
    axes.legend()
    return drawing


def _queues(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    for number, policy in enumerate(("P1", "P3")):
        name = f"{policy}: queue of {POLICIES[policy][0]}, RTO at least {POLICIES[policy][1]:g} s"
        line(axes, results["policy"].spread(queue_peak, "fade", policy=policy), name, number)
    axes.plot([], [], ".", color="grey", markersize=4, label="a run (moments of the fade)")
    axes.axhspan(*QUEUE_AFTER_LOSS, color=_PAPER, alpha=0.2, label="the thesis, measured")
    axes.axhline(176, color=_PAPER, linestyle="--", label="the thesis, eq 6.1")
    axes.set_ylim(0, 190)
    axes.set_xlabel("length of the fade (s)")
    axes.set_ylabel("largest serial queue (packets)")
    axes.legend(loc=(0.02, 0.09))
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
    printed = [(place, LADDER_RATES[name]) for place, name in zip(places, names, strict=True) if name in LADDER_RATES]
    axes.plot(*zip(*printed, strict=True), "D", color=_PAPER, markersize=5, label="the thesis")
    axes.set_xticks(places, names)
    axes.set_xlabel("design")
    axes.set_ylabel("throughput (kB/s)")
    axes.legend()
    return drawing


FIGURES = (
    Figure("5.1", "Throughput over the round trip", "A hyperbola of 32 kB over RTT, cut off at the line's limit.", _over_rtt, ("rtt",)),
    Figure("5.2", "Improved steady state", "Slow start for 13 s, then a constant rate.", _sequence("improved", events=_slow_start_ends, initial=2), ("improved",), one_run=True),
    Figure("5.6", "The limit by ACKs over the return queue", "Not in the thesis: equation 5.6 holds where the queue drops no ACK.", _over_queues, ("queue",)),
    Figure("6.1", "A stall of the return line with header compression", "ACKs stop; an RTO, slow start, then slow growth.",
           _sequence("stall", (55, 90), events=_outage("stall of 0.1 s"), stall=0.1, vj=True), ("stall",), one_run=True),
    Figure("6.2", "P1: queue of 10, default RTO", "An RTO, slow start, then linear growth from a low ssthresh.",
           _sequence("policy", (58, 90), events=_outage("fade of 0.1 s"), policy="P1", fade=0.1, moment=0.0), ("policy",), one_run=True),
    Figure("6.3", "P2: queue of 10, RTO at least 20 s", "Bursts after the repair, each smaller than the one before.",
           _sequence("policy", (59, 72), events=_outage("fade of 0.1 s"), policy="P2", fade=0.1, moment=0.0), ("policy",), one_run=True),
    Figure("6.7", "P3: queue of 200, RTO at least 20 s", "No RTO, but no new data until the queue of ACKs is empty.",
           _sequence("policy", (58, 80), events=_outage("fade of 0.1 s"), policy="P3", fade=0.1, moment=0.0), ("policy",), one_run=True),
    Figure("6.9", "Largest serial queue", "Section 6.4.1 as a figure: packets in the return queue after a fade. The thesis has no figure of it.", _queues, ("policy",)),
    Figure("7.1", "Two flows, standard TCP: that of 14 MB", "Its rate doubles when the other flow ends.", _sequence("two", (80, 110), flow=1, events=_other_ends, congestion="reno"), ("two",), one_run=True),
    Figure("7.2", "Two flows, Vegas: that of 14 MB", "Its rate stays the same when the other flow ends, here one of 8 MB: with 13 MB both end together.", _sequence("two", (50, 110), flow=1, events=_other_ends, congestion="vegas", short=8), ("two",), one_run=True),
    Figure("8", "Designs", "Designs of chapter 8 with one connection: by formula, simulated, and the thesis's numbers (8.6 has none).", _ladder, ("ladder",)),
)  # fmt: skip
