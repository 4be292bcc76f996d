"""Series in the fewest words, so that a target's measured values fit a cell of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from longhaul.units import significant

from ...verdict import Judgement, Series, place


def some(series: Series, unit: str = "") -> str:
    """The ends and the middle, with the parameter's values behind them.

    >>> some({2: 89.13, 6: 82.0, 10: 78.9, 20: 74.1, 40: 70.4}, "%")
    '89.1, 78.9, 70.4 % at 2, 10, 40'
    """
    return f"{bare(series, unit)} at {places(series)}"


def bare(series: Series, unit: str = "") -> str:
    """The ends and the middle alone, for a second series over the same parameter.

    >>> bare({2: 3.714e-6, 10: 2.525e-5, 40: 0.5})
    '3.7e-6, 2.5e-5, 0.5'
    """
    return f"{', '.join(short(series[x]) for x in _chosen(series))} {unit}".strip()


def places(series: Series) -> str:
    """The parameter's values that `some` and `bare` show."""
    return ", ".join(place(x) for x in _chosen(series))


def every(series: Series, unit: str = "") -> str:
    """All values, with the ends of the parameter.

    >>> every({1e-6: 30.6, 1e-5: 5.97, 1e-4: 0.2}, "points")
    '30.6, 5.97, 0.2 points at 1e-6 to 1e-4'
    """
    first, *_, last = series
    return f"{', '.join(map(short, series.values()))} {unit}".strip() + f" at {place(first)} to {place(last)}"


def ends(series: Series, unit: str = "") -> str:
    """From the first value to the last.

    >>> ends({2: 89.13, 10: 78.9, 40: 70.4}, "%")
    '89.1 to 70.4 %'
    """
    values = list(series.values())
    return f"{short(values[0])} to {short(values[-1])} {unit}".strip()


def bounds(values: Iterable[float], unit: str = "") -> str:
    """From the least value to the largest.

    >>> bounds([0.97, 1.04, 0.91])
    '0.91 to 1.04'
    """
    found = sorted(values)
    return f"{short(found[0])} to {short(found[-1])} {unit}".strip()


def short(value: float) -> str:
    """Three significant digits, of a number below a thousandth two.

    >>> short(2.246e-5), short(7803.0), short(math.inf)
    ('2.2e-5', '7,803', '∞')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "–∞" if value < 0 else "undefined"
    if 0 < abs(value) < 1e-3:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return significant(value, 3)


def worded(judgement: Judgement, text: str) -> Judgement:
    """The same verdict in other words."""
    return replace(judgement, measured=text)


def spread(flat: Judgement) -> str:
    """The spread that the text of a flat series ends with: `spread 5 %`."""
    return flat.measured.rpartition("; ")[2]


def _chosen(series: Series) -> Sequence[Any]:
    keys = list(series)
    return keys if len(keys) <= 3 else [keys[0], keys[(len(keys) - 1) // 2], keys[-1]]
