"""Times of transfers, by cell and transport."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..results import NotRun, Results, Row
from ..verdict import median
from .scenarios import Cell


def seconds(row: Row) -> float:
    """From the first packet to the last byte; infinite if that did not arrive before the run's end."""
    taken = row.get("completion_time_mean_s")
    return math.inf if taken is None else taken


def times(results: Results, cell: Cell, transport: str) -> list[float]:
    """Seconds of a transfer, one value for each seed; `NotRun` if a run is missing."""
    return [
        seconds(row) for row in results["transfers"].where(cell=cell.name, size=cell.megabytes, transport=transport)
    ]


def typical(results: Results, cell: Cell, transport: str) -> float:
    """The median over seeds."""
    return median(times(results, cell, transport))


def in_seconds(value: float, objective: float) -> str:
    """Three significant digits, or as many as tell on which side of the objective a time is.

    >>> in_seconds(20.0284, 20), in_seconds(3.68, 3), in_seconds(420.6505, 420)
    ('20.03', '3.68', '421')
    """
    if not math.isfinite(value):
        return "∞"
    for decimals in range(2 if value < 9.995 else 1 if value < 99.95 else 0, 7):
        text = f"{value:.{decimals}f}"
        if (float(text) <= objective) == (value <= objective):
            break
    return text


def names(results: Results) -> list[str]:
    """The transports of this scale, in their order."""
    return [str(name) for name in results["transfers"].points("transport")]


def best(results: Results, cell: Cell, group: Sequence[str]) -> tuple[float, str]:
    """The least median time of some transports, with the transport's name; `NotRun` if this scale has none of them."""
    present = [name for name in names(results) if name in group]
    found = [(typical(results, cell, name), name) for name in present]
    if not found:
        raise NotRun("no transport of this group at this scale")
    return min(found)
