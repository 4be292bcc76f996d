"""Values that the thesis reads off its graphs, from the tables of a run. Times in seconds, rates in its kB/s (1024 bytes)."""

from __future__ import annotations

import polars as pl
from longhaul.results import Result

from ..results import Row
from .formulas import KB, MSS
from .scenarios import FADE_AT, WINDOW

BACK = "link.path.reverse"
_NEW, _AGAIN = 0, 1


def kilobytes(row: Row) -> float:
    """Goodput of all flows."""
    return row["goodput_bps"] / 8 / KB


def queue_peak(row: Row) -> float:
    """Most packets in the serial queue."""
    return row[f"{BACK}.queue_max_packets"]


def queue_between(row: Row, start: float, end: float) -> float:
    """Most packets in the serial queue between two times."""
    result = row.result()
    back = [link["name"] for link in result.summary["links"]].index("path.reverse")
    rows = result.links.filter((pl.col("link") == back) & pl.col("time_s").is_between(start, end, closed="right"))
    return float(rows["queue_max_packets"].max() or 0)  # type: ignore[arg-type]


def repairs_per_round(row: Row) -> float | None:
    """Retransmissions in each second (a round trip) from the first to the last; `None` with fewer than two or after an RTO."""
    again = row.result().segments.filter(pl.col("kind") == _AGAIN)["time_s"].to_list()
    if row["timeouts"] > 0 or len(again) < 2:
        return None
    return len(again) / max(1.0, float(again[-1]) - float(again[0]))


def completion(row: Row) -> float:
    """When the only transfer was done."""
    return finished(row.result(), 0)


def finished(result: Result, flow: int) -> float:
    """When a transfer was done, counted from its start."""
    taken = result.summary["flows"][flow]["metrics"]["completion_time_s"]
    return float("inf") if taken is None else float(taken)


def time_to_window(row: Row, window: float = WINDOW) -> float:
    """Slow start: until cwnd has reached the window; sampled."""
    rows = row.result().flows.filter(pl.col("cwnd_bytes") >= window)
    return float(rows["time_s"].min()) if rows.height else float("inf")  # type: ignore[arg-type]


def steady_rate(row: Row, start: float = 25.0) -> float:
    """Goodput of the first flow from `start` until shortly before its end."""
    result = row.result()
    return rate_between(result, 0, start, finished(result, 0) - 2)


def rate_between(result: Result, flow: int, start: float, end: float) -> float:
    """Mean goodput of a flow between two times."""
    rows = result.flows.filter((pl.col("flow") == flow) & pl.col("time_s").is_between(start, end))
    return float(rows["goodput_bps"].mean() or 0.0) / 8 / KB  # type: ignore[arg-type]


def silence(row: Row) -> float:
    """Dormancy: the longest time after a fade without new data."""
    times = (
        row.result()
        .segments.filter((pl.col("kind") == _NEW) & (pl.col("time_s") > FADE_AT - 1))
        .sort("time_s")["time_s"]
    )
    return float(times.diff().max() or 0.0)  # type: ignore[arg-type]


def silence_but_strays(row: Row, near: float = 1.0) -> float:
    """The same where a single new segment, with no other within `near` s on either side, does not end it."""
    times = (
        row.result()
        .segments.filter((pl.col("kind") == _NEW) & (pl.col("time_s") > FADE_AT - 1))
        .sort("time_s")["time_s"]
    )
    alone = (times.diff().fill_null(0.0) > near) & (times.diff(-1).abs().fill_null(0.0) > near)
    return float(times.filter(~alone).diff().max() or 0.0)  # type: ignore[arg-type]


def largest_burst(row: Row, after: float = FADE_AT + 0.5, within: float = 0.05) -> list[int]:
    """New segments in bursts at the link's rate after a fade: how many in each window of `within` seconds, largest first."""
    times = (
        row.result()
        .segments.filter((pl.col("kind") == _NEW) & (pl.col("time_s") > after))
        .sort("time_s")["time_s"]
        .to_list()
    )
    bursts: list[int] = []
    start, count = None, 0
    for time in times:
        if start is None or time - start > within:
            if count:
                bursts.append(count)
            start, count = time, 0
        count += 1
    return sorted([*bursts, count], reverse=True)


def segments(window: float = WINDOW) -> float:
    """A window in segments."""
    return window / MSS


def rate_at_end(row: Row, span: float = 60.0) -> float:
    """Goodput of the first flow over the last part of a run."""
    result = row.result()
    end = float(result.flows["time_s"].max() or 0.0)  # type: ignore[arg-type]
    return rate_between(result, 0, end - span, end)


def time_for(row: Row, amount: float) -> float:
    """When so many bytes had been sent for the first time."""
    sent = row.result().segments.filter((pl.col("kind") == _NEW) & (pl.col("flow") == 0)).sort("time_s")
    first = float(sent["start"].min() or 0)  # type: ignore[arg-type]
    reached = sent.filter(pl.col("end") - first >= amount)
    return float(reached["time_s"].min()) if reached.height else float("inf")  # type: ignore[arg-type]
