"""Netem's correlated random numbers: `get_crandom` of Linux's `net/sched/sch_netem.c`.

Each number is the part c of the one before it and the part 1 - c of a new uniform one. So numbers crowd around one half: their mean is
1/2, their variance (1 - c)/(1 + c)/12, the autocorrelation after n numbers c^n. Netem loses a packet where its number is at most the
probability that was asked for, which is rarer than that wherever the probability is below one half.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Cells of the interval from 0 to 1 in which the distribution is computed.
_CELLS = 1 << 14
#: Above this correlation a number hardly leaves the one before it within the length of a run.
MOST = 0.99


@lru_cache(maxsize=16)
def _distribution(correlation: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of numbers up to each border of a cell, and the integral of that from 0 on.

    It is the fixed point of F(x) = E F((x - (1 - c) r) / c) over uniform r, which is a mean of F over an interval.
    """
    c, step = correlation, 1 / _CELLS
    x = np.linspace(0, 1, _CELLS + 1)

    def integral(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) * step / 2)])

    def at(whole: NDArray[np.float64], y: NDArray[np.float64]) -> Any:
        return np.interp(y, x, whole) + np.maximum(y - 1, 0)

    share = x.copy()
    for _ in range(2000):
        whole = integral(share)
        after = c / (1 - c) * (at(whole, x / c) - at(whole, (x - (1 - c)) / c))
        change = float(np.max(np.abs(after - share)))
        share = after
        if change < 1e-13:
            break
    return share, integral(share)


def shares(probability: float, correlation: float) -> tuple[float, float]:
    """How often a number is at most `probability`, and how often one is that comes right behind one that is.

    The second is exact for the first step; what lies further back counts as forgotten.

    >>> shares(0.3, 0.0)
    (0.3, 0.3)
    >>> [float(f"{share:.3g}") for share in shares(0.01, 0.25)]
    [2.42e-06, 0.0106]
    """
    if correlation == 0 or probability in (0.0, 1.0):
        return probability, probability
    share, whole = _distribution(correlation)
    x = np.linspace(0, 1, _CELLS + 1)
    c, p = correlation, probability
    ends = np.array([p / c, (p - (1 - c)) / c])
    below, above = np.interp(ends, x, whole) + np.maximum(ends - 1, 0)
    often = float(c / (1 - c) * (below - above))
    if often <= 0:
        return 0.0, 0.0
    mean = p - float(np.interp(p, x, whole)) / often
    # The next one is, if its new part is at most (p - c u) / (1 - c); that exceeds 1 where p is above 1 - c.
    if p <= 1 - c:
        return often, (p - c * mean) / (1 - c)
    borders = np.linspace(0, p, 4097)
    density = np.diff(np.interp(borders, x, share))
    middle = (borders[1:] + borders[:-1]) / 2
    return often, float(np.sum(density * np.clip((p - c * middle) / (1 - c), 0, 1)) / np.sum(density))
