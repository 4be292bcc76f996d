"""Differences between the points of a sweep, seed by seed.

Every point has the same seeds, and with them the same random draws. A difference of two points therefore varies less than the
values do: two means whose intervals overlap can differ for certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import stats
from ..errors import ResultError
from ..naming import meant
from ..qoe import smaller_is_better
from ..tables import setting_text
from .runs import points_of

if TYPE_CHECKING:
    from .plan import Plan
    from .result import SweepResult


@dataclass(frozen=True)
class Difference:
    """How much more a point has than another, over the seeds of both; without an interval below two of them."""

    mean: float
    low: float | None
    high: float | None
    pairs: int

    @property
    def is_certain(self) -> bool:
        """Whether the interval leaves no room for no difference."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def baseline_of(sweep: SweepResult, given: Mapping[str, str] | None = None) -> dict[int, int]:
    """For each point, by its number, that to which it is compared.

    `given` has values of parameters by path, or the end of one: the point with these and, of parameters that are not given, with
    the compared point's own values. Without it, it is the first point. Points without such another one are left out. Raises
    `ResultError` for a parameter that was not swept, or a value that no point has.
    """
    rows = {
        int(row.pop("cell")): row
        for row in sweep.cells.select("cell", *sweep.parameters)
        .unique("cell", maintain_order=True)
        .iter_rows(named=True)
    }
    return _bases(rows, sweep.parameters, given)


def check_baseline(plan: Plan, given: Mapping[str, str] | None) -> None:
    """Raises `ResultError` if no point of a plan would be the baseline that is asked for: that must not cost a sweep."""
    if given:
        _bases({point.cell: point.parameters for point in points_of(plan.runs)}, plan.parameters, given)


def _bases(
    rows: Mapping[int, Mapping[str, Any]], parameters: Sequence[str], given: Mapping[str, str] | None
) -> dict[int, int]:
    if not given:
        return dict.fromkeys(rows, next(iter(rows))) if rows else {}
    fixed = {_parameter(parameters, name): value for name, value in given.items()}
    for path, value in fixed.items():
        known = list(dict.fromkeys(setting_text(row.get(path)) for row in rows.values()))
        if value not in known:
            raise ResultError(f"--baseline {path}={value}: no point has that; the values are {', '.join(known)}")
    free = [name for name in parameters if name not in fixed]

    def rest(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(setting_text(row.get(name)) for name in free)

    bases = {
        rest(row): cell
        for cell, row in rows.items()
        if all(setting_text(row.get(name)) == value for name, value in fixed.items())
    }
    if not bases:
        raise ResultError(
            f"--baseline {', '.join(f'{path}={value}' for path, value in fixed.items())}: no point has these together"
        )
    return {cell: bases[rest(row)] for cell, row in rows.items() if rest(row) in bases}


def _parameter(parameters: Sequence[str], name: str) -> str:
    found = [path for path in parameters if path == name or path.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    names = ", ".join(found or parameters) or "(none)"
    if found:
        raise ResultError(f"--baseline {name}: that is the end of several parameters: {names}")
    raise ResultError(f"--baseline {name}: not a swept parameter; they are {names}{meant(name, parameters)}")


def differences(sweep: SweepResult, metric: str, base: Mapping[int, int]) -> dict[int, Difference]:
    """How much more of a metric each point has than its baseline; points that are their own, or have no pair, are left out."""
    values: dict[int, dict[int, float]] = {}
    for cell, seed, value in sweep.values(metric).iter_rows():
        if value is not None:
            values.setdefault(int(cell), {})[int(seed)] = float(value)
    found = {}
    for cell, other in base.items():
        one = paired(values.get(cell, {}), values.get(other, {})) if cell != other else None
        if one is not None:
            found[cell] = one
    return found


def paired(mine: Mapping[int, float], theirs: Mapping[int, float]) -> Difference | None:
    """How much more the first values are than the second, which are by seed; `None` if they have no seed in common."""
    pairs = [mine[seed] - theirs[seed] for seed in sorted(mine.keys() & theirs.keys())]
    if not pairs:
        return None
    one = stats.estimate(pairs)
    several = one.n > 1
    return Difference(one.mean, one.low if several else None, one.high if several else None, one.n)


@dataclass(frozen=True)
class Best:
    """The best point of a sweep by a metric, and how many others cannot be distinguished from it."""

    cell: int
    mean: float
    alike: int


def best_of(sweep: SweepResult, metric: str) -> Best | None:
    """The point with the best mean: the smallest time or rate of loss, else the largest. `None` if nothing is better than the rest."""
    means = {
        int(cell): float(mean)
        for cell, name, mean in sweep.cells.select("cell", "metric", "mean").iter_rows()
        if name == metric and mean is not None
    }
    if len(means) < 2 or len(set(means.values())) < 2:
        return None
    choose = min if smaller_is_better(metric) else max
    cell = choose(means, key=lambda one: means[one])
    beside = differences(sweep, metric, dict.fromkeys(means, cell))
    # With one seed nothing is known about chance, and only what is equal is alike.
    alike = sum(not one.is_certain if one.pairs > 1 else one.mean == 0 for one in beside.values())
    return Best(cell, means[cell], alike)
