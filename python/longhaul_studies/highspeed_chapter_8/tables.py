"""Measured values, by response function."""

from __future__ import annotations

from ..highspeed.measures import HSTCP, utilisation
from ..highspeed.targets.words import short
from ..model import ResultTable
from ..results import Results
from ..verdict import place
from .measures import beside, kept, of_frames, over_one, seconds_to_fill, window_before, windows
from .points import FRAMES, FULL, LOSSES, RESPONSES, ROOM, STANDARD


def _alone(results: Results) -> list[list[str]]:
    rows = []
    for name, response in RESPONSES.items():
        found = windows(results, name)
        formula = [response.window(p) for p in LOSSES]
        rows.append([
            name, *(f"{found[p]:,.0f} ({w:,.0f})" if w else f"{found[p]:,.0f}" for p, w in zip(LOSSES, formula, strict=True)),
        ])  # fmt: skip
    return rows


def _frames(results: Results) -> list[list[str]]:
    rows = []
    for name in (STANDARD, "HSTCP"):
        for frame in FRAMES:
            found = of_frames(results, name, frame)
            rows.append([f"{name}, {frame:,} bytes", *(f"{10 * found[p]:.0f}" for p in (FULL, *LOSSES))])
    return rows


def _beside(results: Results) -> list[list[str]]:
    rows = [["none", f"{kept(results, 'none', ROOM):.1f}", "", f"{kept(results, 'none', FULL):.1f}", ""]]
    full = beside(results, FULL)
    for name in beside(results, ROOM):
        row = [name, f"{kept(results, name, ROOM):.1f}", short(over_one(results, name, ROOM))]
        if name in full:
            own = results["beside"].median(utilisation(HSTCP), response=name, loss=FULL)
            row += [f"{kept(results, name, FULL):.1f}", f"{own:.1f}"]
        rows.append(row + [""] * (5 - len(row)))
    return rows


def _transients(results: Results) -> list[list[str]]:
    names = results["transients"].points("response")
    return [[name, f"{window_before(results, name):,.0f}", f"{seconds_to_fill(results, name):.1f}"] for name in names]


_AT = tuple(f"at {place(p)}" for p in LOSSES)
TABLES = (
    ResultTable(
        "Response functions",
        "Packets in a base round trip of 100 ms of one flow alone, in brackets by the formula; medians. The pipe holds 8,333.",
        ("response function", *_AT),
        _alone,
        ("alone",),
    ),
    ResultTable(
        "Frames",
        "Mbit/s of one flow alone; medians. Each packet is lost with the same probability, whatever its size.",
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
