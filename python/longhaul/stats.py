"""Statistics over replications, written out: mean, median, Student's t confidence interval, Jain's index."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import core


@dataclass(frozen=True)
class Estimate:
    """One metric's estimate from a set of replications; interval bounds are `nan` below two values."""

    n: int
    mean: float
    median: float
    stdev: float
    low: float
    high: float
    minimum: float
    maximum: float


def estimate(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Mean, median and the two-sided confidence interval of the mean (Student's t, n - 1 degrees of freedom).

    >>> e = estimate([1.0, 2.0, 3.0])
    >>> e.mean, e.median, round(e.high - e.mean, 3)
    (2.0, 2.0, 2.484)
    """
    if not values:
        raise ValueError("an estimate needs at least one value")
    columns = core.estimates(array("d", values).tobytes(), [len(values)])
    n, mean, median, stdev, least, most = (array("d", column)[0] for column in columns)
    half = math.nan if n < 2 else t_of_mean(int(n), confidence) * stdev / math.sqrt(n)
    return Estimate(int(n), mean, median, stdev, mean - half, mean + half, least, most)


def t_of_mean(n: int, confidence: float = 0.95) -> float:
    """Half of the confidence interval of a mean of `n` values, two at least, in standard errors.

    >>> round(t_of_mean(3), 3)
    4.303
    """
    return t_quantile((1 + confidence) / 2, n - 1)


def t_central_probability(t: float, df: int) -> float:
    """P(|T| <= t) for Student's t with a whole number of degrees of freedom.

    Finite series of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    theta = math.atan(t / math.sqrt(df))
    cos, sin = math.cos(theta), math.sin(theta)
    if df % 2:
        term, series = cos, 0.0
        for k in range(1, (df - 1) // 2 + 1):
            series += term
            term *= cos * cos * (2 * k) / (2 * k + 1)
        return 2 / math.pi * (theta + sin * series)
    term, series = 1.0, 0.0
    for k in range(1, df // 2 + 1):
        series += term
        term *= cos * cos * (2 * k - 1) / (2 * k)
    return sin * series


@lru_cache(maxsize=1024)
def t_quantile(probability: float, df: int) -> float:
    """The t below which Student's t with `df` degrees of freedom falls with this probability (above 0.5).

    >>> round(t_quantile(0.975, 9), 3)
    2.262
    """
    if not 0.5 <= probability < 1 or df < 1:
        raise ValueError("a t quantile needs 0.5 <= probability < 1 and at least one degree of freedom")
    central = 2 * probability - 1
    low, high = 0.0, 1.0
    while t_central_probability(high, df) < central:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_central_probability(middle, df) < central else (low, middle)
    return (low + high) / 2


def jain_index(rates: Sequence[float]) -> float:
    """Jain's fairness index (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has all (Jain et al. 1984).

    >>> jain_index([1, 1, 1, 1]), jain_index([1, 0, 0, 0])
    (1.0, 0.25)
    """
    square_sum = math.fsum(x * x for x in rates)
    if not rates or square_sum == 0:
        return math.nan
    return math.fsum(rates) ** 2 / (len(rates) * square_sum)
