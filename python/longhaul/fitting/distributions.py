"""Distributions and autocorrelation of what was measured, and how far two distributions are apart."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from .measured import Floats, Series

#: Time constants that are tried, in s, and lags at most.
_CONSTANTS = np.geomspace(0.02, 120.0, 60)
_LONGEST_LAG_S = 60.0


def normal_scores(values: Floats) -> Floats:
    """The normal number of each value's rank; equal values have the same."""
    ordered = np.sort(values)
    below = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    inverse = NormalDist().inv_cdf
    return np.array([inverse(min(max(share, 1e-6), 1 - 1e-6)) for share in below / len(values)])


def autocorrelation(values: Floats, lag: int) -> float:
    """Of the values and those `lag` later; 0 where there are none."""
    spread = float(values.var())
    if lag <= 0 or lag >= len(values) or spread == 0.0:
        return 0.0
    apart = values - values.mean()
    return float((apart[:-lag] * apart[lag:]).mean()) / spread


def distance(one: Floats, other: Floats) -> float:
    """Kolmogorov and Smirnov's: the largest difference of two distribution functions."""
    at = np.concatenate([one, other])
    below = [np.searchsorted(np.sort(values), at, "right") / len(values) for values in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def as_fine(values: Floats, like: Floats) -> Floats:
    """Values rounded as those of a measurement that has few different ones: a delay in whole ms has steps, and no model has them."""
    # Equal values may differ in the last bits.
    apart = max(1e-9 * float(np.abs(like).max()), 1e-12)
    different = np.unique(np.round(like / apart) * apart)
    if len(different) < 2 or len(different) > 200 or len(different) > len(like) // 5:
        return values
    step = float(np.diff(different).min())
    return np.asarray(np.round(values / step) * step)


def distance_at(model: Floats, values: Floats) -> float:
    """The distance of a model and a measurement, both at the measurement's resolution."""
    return distance(as_fine(model, values), as_fine(values, values))


def memories(series: Series) -> tuple[float, float, float]:
    """The part of the variance that a slow process has, its time constant, and that of the fast one (in s), by least squares of the
    autocorrelation of normal scores."""
    scores = normal_scores(series.values)
    most = min(len(scores) // 4, int(_LONGEST_LAG_S / series.step_s))
    lags = np.unique(np.round(np.geomspace(1, max(most, 2), 25)).astype(int))
    seen = np.array([autocorrelation(scores, int(lag)) for lag in lags])
    decays = np.exp(-lags[None, :] * series.step_s / _CONSTANTS[:, None])
    best = (math.inf, 1.0, _CONSTANTS[0], _CONSTANTS[0])
    for slow in range(len(_CONSTANTS)):
        for fast in range(slow + 1):
            apart = decays[slow] - decays[fast]
            size = float(apart @ apart)
            part = min(max(float(apart @ (seen - decays[fast])) / size, 0.0), 1.0) if size else 1.0
            error = float(((part * decays[slow] + (1 - part) * decays[fast] - seen) ** 2).sum())
            if error < best[0] - 1e-9:
                best = (error, part, float(_CONSTANTS[slow]), float(_CONSTANTS[fast]))
    return best[1:]
