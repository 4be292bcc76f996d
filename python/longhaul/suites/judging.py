"""Verdicts: differences of an entry from those beside it, seed by seed, where the interval leaves no room for none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..sweep.differences import Difference, paired
from .model import Measure, Metrics, Situation

Word = Literal["better", "worse", "same", "unclear", "unfair", "yields"]


@dataclass(frozen=True)
class Value:
    """A measure in a run; it is a lower bound where a transfer did not end."""

    number: float
    bound: bool = False


def value_of(measure: Measure, situation: Situation, metrics: Metrics) -> Value | None:
    """A measure in a run; `None` where it has none, or where nothing was delivered and less would look like a gain."""
    if not measure.always and not (metrics.get(situation.alive) or 0):
        return None
    found = measure.value(metrics)
    if found is not None:
        return Value(found)
    return None if math.isnan(measure.unfinished) else Value(measure.unfinished, bound=True)


#: Values of a measure by seed.
Values = Mapping[int, Value]


@dataclass(frozen=True)
class Comparison:
    """An entry beside another one: in one situation, by one measure."""

    situation: str
    measure: str
    entry: str
    beside: str
    word: Word
    #: Means over the seeds that both have; `None` without any.
    mean: float | None
    other: float | None
    #: The difference of both, with the ends of its 95 % interval; `None` below two pairs.
    difference: float | None
    low: float | None
    high: float | None
    pairs: int
    #: Whether a value is a bound, since a transfer did not end, for the entry and for the other.
    bounds: tuple[bool, bool] = (False, False)

    @property
    def factor(self) -> float | None:
        """The entry's mean in the other's; `None` where that is zero or missing."""
        if self.mean is None or not self.other:
            return None
        return self.mean / self.other

    def factors(self) -> tuple[float, float] | None:
        """The interval of `factor`."""
        if not self.other or self.low is None or self.high is None:
            return None
        ends = 1 + self.low / self.other, 1 + self.high / self.other
        return min(ends), max(ends)


def compare(
    situation: Situation, measure: Measure, entry: str, beside: str, mine: Values, theirs: Values
) -> Comparison:
    """The comparison of two entries by the runs under the same seeds."""
    seeds = sorted(mine.keys() & theirs.keys())
    found = paired({seed: mine[seed].number for seed in seeds}, {seed: theirs[seed].number for seed in seeds})
    bounds = any(mine[seed].bound for seed in seeds), any(theirs[seed].bound for seed in seeds)
    if found is None:
        return Comparison(situation.name, measure.name, entry, beside, "unclear", None, None, None, None, None, 0)
    mean, other = (math.fsum(values[seed].number for seed in seeds) / len(seeds) for values in (mine, theirs))
    word = verdict(measure, found, other, bounds)
    return Comparison(
        situation.name, measure.name, entry, beside, word, mean, other, found.mean, found.low, found.high, found.pairs, bounds
    )  # fmt: skip


def verdict(measure: Measure, found: Difference, other: float, bounds: tuple[bool, bool] = (False, False)) -> Word:
    """The word for a difference: certain and large enough, certainly too small to count, or neither.

    >>> gain = Measure("goodput", "goodput_bps")
    >>> [verdict(gain, Difference(d, d - 1, d + 1, 5), 10.0) for d in (5.0, -5.0, 0.8)]
    ['better', 'worse', 'unclear']
    >>> verdict(gain, Difference(0.1, 0.05, 0.15, 5), 10.0), verdict(gain, Difference(5.0, None, None, 1), 10.0)
    ('same', 'unclear')
    """
    if found.low is None or found.high is None or all(bounds):
        return "unclear"
    least = measure.least if measure.absolute else measure.least * abs(other)
    if found.is_certain and abs(found.mean) >= least:
        good = (found.mean > 0) != measure.less
        if measure.like:
            return "yields" if good else "unfair"
        return "better" if good else "worse"
    # A bound leaves open how large a difference is, never which sign it has.
    return "same" if -least < found.low and found.high < least and not any(bounds) else "unclear"


def judge(
    situations: Sequence[Situation],
    candidate: str,
    beside: Sequence[str],
    values: Mapping[tuple[str, str, str], Values],
) -> list[Comparison]:
    """All comparisons of a candidate; `values` is by situation, measure and entry."""
    found = []
    for situation in situations:
        for measure in situation.measures:
            others = [measure.like] if measure.like else beside
            for other in others:
                if other == candidate:
                    continue
                mine, theirs = (values.get((situation.name, measure.name, one), {}) for one in (candidate, other))
                found.append(compare(situation, measure, candidate, other, mine, theirs))
    return found
