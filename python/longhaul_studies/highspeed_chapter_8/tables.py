"""Measured values, by response function."""

from __future__ import annotations

from typing import Any

from ..highspeed.measures import HSTCP, sending_rate, utilisation
from ..highspeed.targets.words import short
from ..model import ResultTable
from ..results import Metric, NotRun, Results
from ..verdict import median, place
from .measures import beside, group, kept, over_one, seconds_to_fill, window_before
from .points import FRAMES, FULL, LOSSES, RESPONSES, ROOM, STANDARD


def _alone(results: Results) -> list[list[str]]:
    rows = []
    for name, response in RESPONSES.items():
        found = _done(results, "alone", sending_rate(group(name)), response=name)
        cells = [f"{found[p]:,.0f}" if p in found else "–" for p in LOSSES]
        formula = [response.window(p) for p in LOSSES]
        rows.append([name, *(f"{cell} ({w:,.0f})" if w else cell for cell, w in zip(cells, formula, strict=True))])
    return rows


def _frames(results: Results) -> list[list[str]]:
    rows = []
    for name in (STANDARD, "HSTCP"):
        for frame in FRAMES:
            found = _done(results, "frames", utilisation(group(name)), response=name, frame=frame)
            cells = [f"{10 * found[p]:.0f}" if p in found else "–" for p in (FULL, *LOSSES)]
            rows.append([f"{name}, {frame:,} bytes", *cells])
    return rows


def _done(results: Results, experiment: str, metric: Metric, **parameters: Any) -> dict[float, float]:
    """Medians by the loss rate, of the points that are run."""
    return {p: median(values) for p, values in results[experiment].spread(metric, "loss", **parameters).items()}


def _beside(results: Results) -> list[list[str]]:
    rows = [["none", f"{kept(results, 'none', ROOM):.1f}", "", *_full(results, "none")]]
    rows += [
        [name, f"{kept(results, name, ROOM):.1f}", short(over_one(results, name, ROOM)), *_full(results, name)]
        for name in beside(results, ROOM)
    ]
    return rows


def _full(results: Results, name: str) -> list[str]:
    """What ten flows and the flow have on a full link; empty where that is not run."""
    try:
        own = 0.0 if name == "none" else results["beside"].median(utilisation(HSTCP), response=name, loss=FULL)
        return [f"{kept(results, name, FULL):.1f}", f"{own:.1f}" if own else ""]
    except NotRun:
        return ["", ""]


def _transients(results: Results) -> list[list[str]]:
    names = results["transients"].points("response")
    return [[name, f"{window_before(results, name):,.0f}", f"{seconds_to_fill(results, name):.1f}"] for name in names]


_AT = tuple(f"at {place(p)}" for p in LOSSES)
TABLES = (
    ResultTable(
        "Response functions",
        "Packets in a base round trip of 100 ms of one flow alone, in brackets by the formula; medians. The pipe holds 8,333. –: not run.",
        ("response function", *_AT),
        _alone,
        ("alone",),
    ),
    ResultTable(
        "Frames",
        "Mbit/s of one flow alone; medians. Each packet is lost with the same probability, whatever its size. –: not run.",
        ("flow", f"at {place(FULL)}", *_AT),
        _frames,
        ("frames",),
    ),
    ResultTable(
        "Beside ten standard flows",
        f"At {place(ROOM)} the link has room, at {place(FULL)} it is full. *Ten* is what the ten standard flows have together in per cent of the link,"
        " *over one* what the flow has over what one of them has, *flow* its own per cent; medians.",
        ("flow", f"{place(ROOM)}: ten", "over one", f"{place(FULL)}: ten", "flow"),
        _beside,
        ("beside",),
    ),
    ResultTable(
        "A rate that is halved and doubled",
        "One flow; the rate is 500 Mbit/s from 100 to 200 s, else 1 Gbit/s. The window when the rate doubles, and the seconds from then until it holds the pipe of 8,333 packets; beyond the run's end, as"
        " its growth goes on. Medians.",
        ("flow", "packets at 200 s", "seconds to fill the link"),
        _transients,
        ("transients",),
    ),
)
