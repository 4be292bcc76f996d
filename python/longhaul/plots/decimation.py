"""As many points as a picture can show: a figure is some 1600 pixels wide, and a trace has a million segments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

#: Columns and rows of pixels of a panel, at the finest that a report is looked at.
COLUMNS, ROWS = 1000, 700


def line(x: Values, y: Values) -> tuple[Values, Values]:
    """The points of a line over rising x without those that cannot be seen: of each column the first, the last, the
    least and the largest. Gaps (`nan`) stay gaps."""
    if len(x) <= 4 * COLUMNS:
        return x, y
    starts = _runs(_columns(x))
    ends = np.append(starts[1:], len(x)) - 1
    low = np.where(np.isnan(y), np.inf, y)
    high = np.where(np.isnan(y), -np.inf, y)
    least, most = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    run = np.repeat(np.arange(len(starts)), ends - starts + 1)
    places = [np.flatnonzero(found) for found in (low == least[run], high == most[run], np.isnan(y))]
    kept = np.unique(np.concatenate([starts, ends, *(_firsts(run, found) for found in places)]))
    return x[kept], y[kept]


def band(x: Values, low: Values, high: Values) -> tuple[Values, Values, Values]:
    """The edges of a band over rising x: of each column the least of the lower and the largest of the upper one."""
    if len(x) <= 4 * COLUMNS:
        return x, low, high
    starts = _runs(_columns(x))
    # A gap in a column stays one only where nothing else is in it.
    return x[starts], np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)


def peaks(x: Values, y: Values) -> tuple[Values, Values]:
    """Marks at rising x of which each column has one, its largest."""
    if len(x) <= COLUMNS:
        return x, y
    starts = _runs(_columns(x))
    run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(x))))
    kept = _firsts(run, np.flatnonzero(y == np.maximum.reduceat(y, starts)[run]))
    return x[kept], y[kept]


def ranges(x: Values, low: Values, high: Values) -> tuple[Values, Values]:
    """Vertical strokes from `low` to `high` at rising x as one line with gaps (`nan`): what overlaps within a column,
    or is less than a row apart, is one stroke; the rest stays as it is."""
    if len(x) > COLUMNS:
        height = float(high.max()) - float(low.min())
        row = height / ROWS
        # Columns are lifted above one another, so that one sort and one pass over the largest end so far serve them all.
        lift = _columns(x) * (height + 2 * row + 1.0)
        order = np.argsort(low + lift, kind="stable")
        x, low, high, lift = x[order], low[order], high[order], lift[order]
        reached = np.maximum.accumulate(high + lift)
        starts = np.flatnonzero(np.append(True, (low + lift)[1:] > reached[:-1] + row))
        x, low, high = x[starts], low[starts], np.maximum.reduceat(high, starts)
    gap = np.full(len(x), np.nan)
    return np.stack([x, x, gap], axis=1).ravel(), np.stack([low, high, gap], axis=1).ravel()


def _columns(x: Values) -> NDArray[np.int64]:
    """The column of pixels of each value."""
    width = float(x[-1] - x[0]) or 1.0
    columns: NDArray[np.int64] = np.minimum((x - x[0]) * (COLUMNS / width), COLUMNS - 1).astype(np.int64)
    return columns


def _runs(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each column begins."""
    return np.flatnonzero(np.append(True, np.diff(column) > 0))


def _firsts(run: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first of some places in each run."""
    return places[np.unique(run[places], return_index=True)[1]]
