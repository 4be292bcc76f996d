"""A headline: what a paper claims in a number or an ordering, the runs that have its conditions, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from longhaul.scenario import Scenario
from longhaul.stats import estimate

from ..model import Case, Experiment, Kind, Origin, Target
from ..results import NotRun, Results, Row
from ..verdict import Judgement, flat, holds, over_seeds, with_interval
from .scenarios import GOODPUT, MBPS

#: Seeds of a point where something is drawn at random.
SEEDS = {"tiny": 1, "quick": 5, "full": 20}


class Runs:
    """The finished runs of one headline, by variant; values are in the order of seeds."""

    def __init__(self, results: Results, headline: str) -> None:
        """Takes those of `results` that belong to the headline."""
        self._table, self._scale = results[headline], results.scale

    def each(self, variant: str, metric: str, unit: float = 1.0) -> list[float]:
        """A metric of each run over `unit`; 0 if no run has it; raises `NotRun` if a run is missing."""
        rows = sorted(self._table.where(variant=variant), key=lambda row: row.seed)
        return [(row.get(metric) or 0.0) / unit for row in rows]

    def read(self, variant: str, value: Callable[[Row], float]) -> list[float]:
        """A value computed from each run."""
        return [value(row) for row in sorted(self._table.where(variant=variant), key=lambda row: row.seed)]

    def ratios(self, over: str, under: str, metric: str) -> list[float]:
        """A metric of one variant over that of another, seed by seed: the same seeds draw the same losses."""
        return [
            a / b for a, b in zip(self.each(over, metric), self.each(under, metric), strict=True) if b
        ] or self._nothing(under)

    def quoted(self, value: Callable[[Row], float], over: Mapping[str, Any], under: Mapping[str, Any]) -> list[float]:
        """A value at one point over that at another, seed by seed, of runs that are named as in another study."""
        pairs = zip(
            *(sorted(self._table.where(**point), key=lambda row: row.seed) for point in (over, under)), strict=True
        )
        return [value(a) / value(b) for a, b in pairs]

    def mean(self, variant: str, metric: str, unit: float = 1.0) -> float:
        """The mean over seeds."""
        values = self.each(variant, metric, unit)
        return sum(values) / len(values)

    def as_related(self) -> Results:
        """The same runs as those of the experiment `related` of split-pep, whose comparisons take them."""
        rows = [replace(row, experiment="related") for row in self._table.rows]
        return Results(self._scale, rows)

    def _nothing(self, variant: str) -> list[float]:
        raise NotRun(f"nothing arrived with {variant}")


def shown(values: list[float]) -> str:
    """A mean with half of its 95 % interval; alone if it is of one run.

    >>> shown([4.0]), shown([1.0, 2.0, 3.0])
    ('4', '2 ± 2.5')
    """
    found = estimate(values)
    if found.n < 2:
        return f"{found.mean:.3g}"
    return with_interval(found.mean, found.high - found.mean)


def more(runs: Runs, metric: str, pairs: Mapping[str, tuple[str, str]], unit: float = 1.0, name: str = "") -> Judgement:
    """Orderings: each pair is a variant and another that has less of the metric; values follow with their intervals.

    Where there are seeds, a comparison holds if the 95 % interval of the differences, seed by seed, is above zero.
    """
    differences = {
        label: [x - y for x, y in zip(runs.each(a, metric), runs.each(b, metric), strict=True)] for label, (a, b) in pairs.items()
    }  # fmt: skip
    variants = list(dict.fromkeys(one for pair in pairs.values() for one in pair))
    text = ", ".join(f"{one} {shown(runs.each(one, metric, unit))}" for one in variants)
    return holds({label: above(found) for label, found in differences.items()}, f"{text} {name}".strip())


def above(differences: list[float]) -> bool:
    """Whether the 95 % interval of the mean is above zero; of one value, whether that is.

    >>> above([1.0]), above([1.0, 1.1, 0.9]), above([1.0, -2.0, 3.0])
    (True, True, False)
    """
    found = estimate(differences)
    return (found.low if found.n > 1 else found.mean) > 0


def rates(runs: Runs, *variants: str) -> str:
    """The goodput of each variant."""
    return ", ".join(f"{one} {shown(runs.each(one, GOODPUT, MBPS))}" for one in variants) + " Mbit/s"


def alike(
    runs: Runs, variants: Mapping[Any, str], metric: str, within: float, unit: float = 1.0, name: str = ""
) -> Judgement:
    """Whether means hardly depend on a parameter, whose values name the variants; each value stands with its interval."""
    judged = flat({place: runs.mean(variant, metric, unit) for place, variant in variants.items()}, within)
    spread = judged.measured.rpartition("; ")[2]
    text = ", ".join(f"{place}: {shown(runs.each(variant, metric, unit))}" for place, variant in variants.items())
    return replace(judged, measured=f"{text} {name}; {spread}")


@dataclass(frozen=True)
class Headline:
    """One row of the study."""

    id: str
    #: Authors and year.
    paper: str
    #: Where the number stands: document and section.
    where: str
    #: The claim with the conditions that its text gives.
    claim: str
    #: What was read: the text itself, an abstract, or a text that quotes it.
    read: str
    #: Scenarios by variant.
    runs: Mapping[str, Scenario]
    #: The comparison; not given where `value` is.
    judge: Callable[[Runs], Judgement] | None = None
    #: Values here, one for each seed, that are compared with the paper's `number`, in `unit`, within a share of it.
    value: Callable[[Runs], list[float]] | None = None
    number: float = 0.0
    within: float = 0.0
    unit: str = ""
    #: What stands behind the value.
    note: Callable[[Runs], str] | None = None
    kind: Kind = "exact"
    #: What the text that was read leaves open, and what was taken.
    assumed: str = ""
    #: What is known about a difference.
    reason: str = ""
    #: Whether a seed matters: something is drawn at random.
    drawn: bool = False
    #: Whether it looks at time series.
    series: bool = False
    #: Relative duration of its runs.
    weight: float = 1.0
    origin: Origin | None = None
    #: Points of another study that it takes, in place of runs of its own.
    borrowed: Callable[[str], list[Case]] | None = field(default=None, compare=False)

    def cases(self, scale: str) -> list[Case]:
        """Its points at a scale; at the scale `tiny` only short ones without chance."""
        if scale == "tiny" and (self.drawn or self.weight > 1 or self.borrowed):
            return []
        if self.borrowed:
            return self.borrowed(scale)
        seeds = SEEDS[scale] if self.drawn else 1
        return [
            Case({"variant": name}, one, replications=seeds, tables=self.series, weight=self.weight)
            for name, one in self.runs.items()
        ]

    @property
    def experiment(self) -> Experiment:
        """Its runs, as an experiment of its own."""
        return Experiment(self.id, self.claim, self.where, self.cases)

    @property
    def target(self) -> Target:
        """Its comparison."""
        text = f"{self.paper}: {self.claim}"
        return Target(self.id, self.where, text, self.kind, self._judged, (self.id,), self.reason, stated=self.origin)

    def values(self, results: Results) -> list[float]:
        """The values that are compared with the number, one for each seed; `NotRun` if runs are missing or there is no number."""
        if self.value is None:
            raise NotRun(f"{self.id} is not a number")
        return self.value(Runs(results, self.id))

    def _judged(self, results: Results) -> Judgement:
        runs = Runs(results, self.id)
        judged = (
            self.judge(runs)
            if self.judge
            else over_seeds(self.values(results), self.number, self.within, unit=self.unit)
        )
        if self.note is None:
            return judged
        return replace(judged, measured=f"{judged.measured}; {self.note(runs)}")
