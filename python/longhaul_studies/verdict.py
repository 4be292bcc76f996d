"""Verdicts on measured values. All studies and scales use the same rules:

* a number: reproduced within its tolerance, partly within twice that;
* a number over seeds: the same of the mean; reproduced too if the paper's value lies in the mean's 95 % interval. An interval that
  reaches further than twice the tolerance decides nothing: then the verdict is *partly* at best;
* a band: reproduced inside, partly if not further outside than a stated margin;
* an ordering: reproduced if every comparison holds, partly if two thirds of them do;
* a row of numbers: reproduced if all are, partly if at least half of it is;
* a trend: reproduced if the ends differ in the stated direction and the rank correlation (Spearman) is at least 0.7, partly from 0.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from longhaul.errors import LonghaulError
from longhaul.stats import estimate
from longhaul.units import significant

Verdict = Literal["reproduced", "partly", "not", "not run"]
#: Values by those of a parameter, in the parameter's order.
Series = Mapping[Any, float]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "partly", "not", "not run")


class NotRun(LonghaulError):
    """A run that a target or figure needs is missing at this scale."""


@dataclass(frozen=True)
class Judgement:
    """Measured values as text, and the verdict on them."""

    verdict: Verdict
    measured: str
    #: The range that counts as reproduced, if the verdict depends on a number.
    tolerance: str = field(default="", repr=False, compare=False)


def number(value: float, paper: float, within: float, *, unit: str = "", relative: bool = True) -> Judgement:
    """A number with a tolerance: a share of the paper's value, or (`relative=False`) in its unit.

    >>> number(7.6, 7.73, 0.10, unit="s")
    Judgement(verdict='reproduced', measured='7.6 s (-1.7 %)')
    >>> number(9.0, 7.73, 0.10, unit="s").verdict, number(10.0, 7.73, 0.10, unit="s").verdict
    ('partly', 'not')
    """
    difference = (value - paper) / abs(paper) if relative else value - paper
    allowed = f"within {within * 100:g} %" if relative else f"within {_shown(within, unit)}"
    if not math.isfinite(value):
        return Judgement("not", str(value), allowed)
    off = f"{difference * 100:+.1f} %" if relative else f"{difference:+.3g}"
    return Judgement(_graded(abs(difference), within, 2 * within), f"{_shown(value, unit)} ({off})", allowed)


def over_seeds(
    values: Sequence[float], paper: float, within: float, *, unit: str = "", relative: bool = True
) -> Judgement:
    """A number measured with several seeds: its mean, or the paper's value in the mean's 95 % interval.

    An interval that reaches further than twice the tolerance decides nothing: then the verdict is "partly" at best.

    >>> over_seeds([95.0, 96.0, 94.0, 95.5, 94.5], 95.9, 0.005, unit="Mbit/s")
    Judgement(verdict='partly', measured='95 ± 0.98 Mbit/s (-0.9 %)')
    >>> over_seeds([5.0, 2.0, 3.0, 1.0, 4.0], 3.0, 0.1).verdict
    'partly'
    >>> over_seeds([95.0, 96.0, 94.0, 95.5, 94.5], 95.9, 0.0075).verdict
    'reproduced'
    >>> over_seeds([95.0], 95.9, 0.01).measured
    '95 (-0.9 %)'
    """
    found = estimate(list(values))
    judged = number(found.mean, paper, within, unit=unit, relative=relative)
    if found.n < 2 or not math.isfinite(found.mean):
        return judged
    half = found.high - found.mean
    allowed = within * abs(paper) if relative else within
    off = judged.measured.rpartition(" (")[2]
    text = f"{with_interval(found.mean, half)} {unit}".strip() + f" ({off}"
    verdict = judged.verdict
    if half > 2 * allowed:
        verdict = "partly" if verdict == "reproduced" else verdict
    elif found.low <= paper <= found.high:
        verdict = "reproduced"
    return Judgement(verdict, text, judged.tolerance)


def with_interval(mean: float, half: float) -> str:
    """A mean with half its interval; 0 stands for less than a twentieth of the mean's last digit.

    >>> with_interval(91.93, 0.337), with_interval(1.8523, 0.00032), with_interval(8247.0, 51.3)
    ('91.9 ± 0.34', '1.85 ± 0', '8,247 ± 51')
    """
    last_digit = 10.0 ** (math.floor(math.log10(abs(mean))) - 2) if mean else 0.0
    return f"{significant(mean, 3)} ± {significant(half, 2) if half >= last_digit / 20 else 0}"


def band(value: float, low: float, high: float, *, margin: float = 0.0, unit: str = "") -> Judgement:
    """A value that should lie between two others; within `margin` (in its unit) outside it is partly reproduced.

    >>> band(95, 90, 100, unit="%").verdict, band(88, 90, 100, margin=5).verdict, band(80, 90, 100, margin=5).verdict
    ('reproduced', 'partly', 'not')
    """
    outside = max(low - value, value - high, 0.0)
    allowed = f"{low:g} to {_shown(high, unit)}"
    if not math.isfinite(value):
        return Judgement("not", str(value), allowed)
    return Judgement(_graded(outside, 0.0, margin), _shown(value, unit), allowed)


def holds(checks: Mapping[str, bool], measured: str = "") -> Judgement:
    """Several comparisons, by what they compare.

    >>> holds({"a > b": True, "b > c": True})
    Judgement(verdict='reproduced', measured='2 of 2 comparisons hold')
    >>> holds({"a > b": True, "b > c": True, "c > d": False}, "a 4, b 3, c 1, d 2")
    Judgement(verdict='partly', measured='a 4, b 3, c 1, d 2; 2 of 3 comparisons hold, not: c > d')
    """
    if not checks:
        raise ValueError("a verdict needs at least one comparison")
    held = sum(checks.values())
    failed = [what for what, held_ in checks.items() if not held_]
    text = f"{held} of {len(checks)} comparisons hold" if len(checks) > 1 or not measured else ""
    if failed and len(checks) > 1:
        text += f", not: {'; '.join(failed[:4])}" + (f" and {len(failed) - 4} more" if len(failed) > 4 else "")
    verdict: Verdict = "reproduced" if not failed else "partly" if 3 * held >= 2 * len(checks) else "not"
    return Judgement(verdict, "; ".join(part for part in (measured, text) if part))


def trend(series: Series, *, rising: bool, unit: str = "") -> Judgement:
    """Values that should rise (or fall) over a parameter.

    >>> trend({1: 10.0, 2: 8.0, 4: 3.0}, rising=False)
    Judgement(verdict='reproduced', measured='10 at 1, 8 at 2, 3 at 4')
    >>> trend({1: 10.0, 2: 8.0, 4: 3.0}, rising=True).verdict
    'not'
    """
    if len(series) < 3:
        raise NotRun("a trend needs at least three points")
    places, values = list(series), list(series.values())
    sign = 1 if rising else -1
    correlation = sign * spearman(places, values)
    if sign * (values[-1] - values[0]) <= 0 or not correlation >= 0.3:
        verdict: Verdict = "not"
    else:
        verdict = "reproduced" if correlation >= 0.7 else "partly"
    return Judgement(verdict, listed(series, unit))


def flat(series: Series, within: float, *, unit: str = "") -> Judgement:
    """Values that should hardly depend on a parameter: largest less smallest, as a share of their median.

    >>> flat({0: 10.0, 30: 11.0, 70: 10.5}, 0.2).verdict, flat({0: 10.0, 70: 20.0}, 0.2).verdict
    ('reproduced', 'not')
    """
    values = sorted(series.values())
    spread = (values[-1] - values[0]) / abs(median(values))
    measured = f"{listed(series, unit)}; spread {spread * 100:.0f} %"
    return Judgement(_graded(spread, within, 2 * within), measured, f"spread of {within * 100:g} %")


def both(*judgements: Judgement) -> Judgement:
    """Several judgements as one: reproduced if all are, not if none is even partly."""
    grades = [judgement.verdict for judgement in judgements]
    text = "; ".join(judgement.measured for judgement in judgements)
    allowed = "; ".join(dict.fromkeys(judgement.tolerance for judgement in judgements if judgement.tolerance))
    if all(grade == "reproduced" for grade in grades):
        return Judgement("reproduced", text, allowed)
    return Judgement("not" if all(grade == "not" for grade in grades) else "partly", text, allowed)


def row_of(*judgements: Judgement) -> Judgement:
    """Numbers of one row of a table as one: reproduced if all are, partly if at least half of them are, with partly reproduced numbers counted as half.

    >>> far, near = number(2, 1, 0.1), number(1, 1, 0.1)
    >>> row_of(near, far, far).verdict, row_of(near, near, far).verdict
    ('not', 'partly')
    """
    joined = both(*judgements)
    held = sum({"reproduced": 1.0, "partly": 0.5}.get(judgement.verdict, 0.0) for judgement in judgements)
    if joined.verdict == "partly" and held < len(judgements) / 2:
        return replace(joined, verdict="not")
    return joined


def listed(series: Series, unit: str = "") -> str:
    """A series in one line; of a long one the ends and the middle.

    >>> listed({1e-5: 45.2, 1e-4: 14.4}, "%")
    '45.2 % at 1e-5, 14.4 % at 1e-4'
    """
    items = list(series.items())
    if len(items) > 5:
        step = (len(items) - 1) / 4
        items = [items[round(i * step)] for i in range(5)]
    return ", ".join(f"{_shown(value, unit)} at {place(x)}" for x, value in items)


def place(x: float) -> str:
    """A parameter's value: powers of ten as such, others as they are.

    >>> place(1e-5), place(10), place(0.25)
    ('1e-5', '10', '0.25')
    """
    if isinstance(x, float) and 0 < abs(x) < 0.01:
        mantissa, exponent = f"{x:.3e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{x:g}" if isinstance(x, int | float) else str(x)


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Rank correlation with mean ranks for ties: 1 if y always rises with x (Spearman 1904); 0 if y is constant.

    >>> spearman([1, 2, 3, 4], [1, 4, 9, 16]), spearman([1, 2, 3], [5, 5, 5])
    (1.0, 0.0)
    """
    a, b = _ranks(x), _ranks(y)
    mean = (len(a) + 1) / 2
    covariance = math.fsum((p - mean) * (q - mean) for p, q in zip(a, b, strict=True))
    scale = math.sqrt(math.fsum((p - mean) ** 2 for p in a) * math.fsum((q - mean) ** 2 for q in b))
    return covariance / scale if scale else 0.0


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _graded(distance: float, within: float, partly: float) -> Verdict:
    return "reproduced" if distance <= within else "partly" if distance <= partly else "not"


def _shown(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "–∞" if value < 0 else "undefined"
    text = place(value) if 0 < abs(value) < 0.001 else significant(value, 3)
    one = text == "1" and re.search(r"[^/]s$", unit) and len(unit) > 2
    return f"{text} {unit[:-1] if one else unit}".strip()
