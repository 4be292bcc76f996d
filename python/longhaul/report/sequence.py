"""The time-sequence graph to explore: every segment, ACK and SACK block of a traced flow, from the whole run to one round trip.

A run of 120 s has a million of them. Most follow one another at an even pace: those are stored as one run, from its first to its
last segment, and the page counts out the ones between. A run ends where one of them is off by more than a thousandth of the round
trip, or by half a segment; so what a zoom to one round trip shows is true to a pixel.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import Result
from ..units import quantity

Values = NDArray[np.float64]
Places = NDArray[np.int64]

#: Kinds of rows in segments.parquet; of an ACK, `start` is its number and `end` the right edge of the window.
_SENT, _AGAIN, _ACK, _SACK = range(4)
#: At most so many runs of each kind: with more, they are allowed to be less exact.
_RUNS = 12_000
#: Times may be off by this share of a round trip.
_OFF = 1e-3
#: Flows of which there is a graph.
_FLOWS = 2


@dataclass(frozen=True)
class Rows:
    """Rows of one kind, in the order in which they follow one another."""

    time: Values
    start: Values
    end: Values


def figures(result: Result) -> list[dict[str, Any]]:
    """A graph of each traced flow as its sender sees it, in the convention of tcptrace; at most two flows."""
    frame = result.segments
    flows = frame["flow"].to_numpy()
    return [_figure(result, flow) for flow in np.unique(flows)[:_FLOWS].tolist()]


def _figure(result: Result, flow: int) -> dict[str, Any]:
    frame = result.segments
    part = frame.filter(frame["flow"] == flow).sort("time_s", maintain_order=True)
    kind, time = part["kind"].to_numpy(), part["time_s"].to_numpy()
    start, end = (part[name].to_numpy().astype(float) for name in ("start", "end"))
    about = result.summary["flows"][flow]
    rtt, size = float(about["base_rtt_s"]) or 0.1, float(about["mss_bytes"])

    def packed(wanted: int) -> dict[str, Any]:
        chosen = np.flatnonzero(kind == wanted)
        if wanted == _SACK:
            # The blocks of an ACK are several; each goes on with the one that begins at the same byte.
            chosen = chosen[np.lexsort((time[chosen], start[chosen]))]
        return _packed(Rows(time[chosen], start[chosen], end[chosen]), wanted, rtt, size)

    parts = {name: packed(wanted) for name, wanted in (("sack", _SACK), ("sent", _SENT), ("again", _AGAIN))}
    sent, again = int((kind == _SENT).sum()), time[kind == _AGAIN]
    at = float(again[0]) if len(again) else float(time[0]) + rtt
    last = float(end[kind == _SENT].max()) if sent else 0.0
    return {
        "id": f"timeseq{flow}", "title": f"Time-sequence graph, {about['name']}", "unit": "B", "kind": "sequence", "series": [],
        "caption": "Every segment of the flow: sent, retransmitted, SACKed; the steps are the ACK number and the end of the receiver's"
        " window. Drag to zoom, down to single segments; or go to one round trip at once.",
        "marks": {name: part for name, part in parts.items() if part["n"]}, "acks": packed(_ACK),
        "zoom": [max(0.0, at - 0.25 * rtt), at + 0.75 * rtt],
        "zoomed": "one round trip at the first retransmission" if len(again) else "the first round trips",
        "alt": f"Time-sequence graph of {about['name']}: {sent + len(again):,} segments sent, {len(again):,} of them retransmissions, up to"
        f" sequence number {quantity(last, 'B')}.",
    }  # fmt: skip


def _packed(rows: Rows, kind: int, rtt: float, size: float) -> dict[str, Any]:
    """Runs of rows as 32-bit columns: first and last of time, start and end, and how many there are."""
    exact, first = _OFF * rtt, runs(rows, kind, _OFF * rtt, 0.5 * size)
    while len(first) > _RUNS:
        exact *= 4
        first = runs(rows, kind, exact, 0.5 * size * exact / (_OFF * rtt))
    last = np.append(first[1:], len(rows.time)) - 1 if len(first) else first
    packed = {
        f"{name}{number}": _f8(values[places])
        for name, values in (("t", rows.time), ("s", rows.start), ("e", rows.end))
        for number, places in enumerate((first, last))
    }
    return {"n": len(first), **packed, "count": _f8((last - first + 1).astype(float))}


def runs(rows: Rows, kind: int, exact: float, near: float) -> Places:
    """Where runs begin: a run is replaced by a straight line from its first to its last row, no more than `exact` (s) and `near`
    (bytes) off.

    >>> steady = Rows(np.array([0.0, 1, 2, 3, 9, 10]), np.arange(6.0) * 100, np.arange(1.0, 7) * 100)
    >>> runs(steady, 0, 0.1, 1.0).tolist()
    [0, 4]
    """
    count = len(rows.time)
    if not count:
        return np.empty(0, dtype=np.int64)
    breaks = np.zeros(count, dtype=bool)
    breaks[0] = True
    if kind == _SACK:
        breaks[1:] = np.diff(rows.start) != 0
    elif kind != _ACK:
        # What does not go on where the last one ended is a run of its own, and so is one of another size.
        breaks[1:] = (np.diff(rows.start) < 0) | (np.abs(rows.start[1:] - rows.end[:-1]) > near)
    firsts = np.flatnonzero(breaks)
    done: list[Places] = []
    columns = ((rows.time, exact), (rows.start, near), (rows.end, near))
    lasts = np.append(firsts[1:], count) - 1
    while len(firsts):
        lengths = lasts - firsts + 1
        place = np.repeat(firsts - np.append(0, np.cumsum(lengths)[:-1]), lengths) + np.arange(lengths.sum())
        part = (place - np.repeat(firsts, lengths)) / np.repeat(np.maximum(lengths - 1, 1), lengths)
        off = np.zeros(len(place))
        for values, allowed in columns:
            low, high = values[firsts], values[lasts]
            off = np.maximum(
                off, np.abs(values[place] - np.repeat(low, lengths) - np.repeat(high - low, lengths) * part) / allowed
            )
        edges = np.append(0, np.cumsum(lengths)[:-1])
        worst = np.maximum.reduceat(off, edges)
        bad = worst > 1.0
        done.append(firsts[~bad])
        # Before or behind the row that is off most, where the longer pause is, a run begins.
        at = np.minimum.reduceat(np.where(off >= np.repeat(worst, lengths), place, count), edges)[bad]
        at += rows.time[at + 1] - rows.time[at] > rows.time[at] - rows.time[at - 1]
        heads, tails = firsts[bad], lasts[bad]
        firsts = np.stack([heads, at], axis=1).ravel()
        lasts = np.stack([at - 1, tails], axis=1).ravel()
    return np.sort(np.concatenate(done))


def _f8(values: Values) -> str:
    """Numbers as 32-bit steps between the least and the greatest, with both: 12 µs in 50,000 s, a byte in 4 GB."""
    if not len(values):
        return ""
    low, high = float(values.min()), float(values.max())
    steps = np.round((values - low) / ((high - low) or 1.0) * 4294967295.0).astype("<u4")
    return f"{low!r},{high!r},{base64.b64encode(steps.tobytes()).decode()}"
