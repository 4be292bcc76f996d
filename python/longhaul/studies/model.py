"""The parts of a reproduced study: experiments, targets, figures, decisions. A study only declares them.

Running, evaluating, drawing and printing are the same for all studies and are in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from ..scenario import Scenario
from .verdict import Judgement

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from .results import Results

#: The comparison of a target: a number with its tolerance, a band for loose statements, an ordering of several
#: values, a trend over a parameter.
Kind = Literal["exact", "band", "ordering", "trend"]


@dataclass(frozen=True)
class Case:
    """One point of an experiment: the values that identify it, and its scenario."""

    parameters: Mapping[str, Any]
    scenario: Scenario
    #: Runs with seeds 1, 2 and so on; the same seeds in all cases, so that they use the same random numbers.
    replications: int = 1
    #: Whether the time series are kept.
    tables: bool = False
    #: Relative duration of a run, for the estimate of the remaining time: for example the number of data packets.
    weight: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """A part of the study with a grid of its own; `cases` gives its points at a scale, none if it is left out there."""

    id: str
    title: str
    section: str
    cases: Callable[[str], Sequence[Case]]


@dataclass(frozen=True)
class Target:
    """A number or claim of the paper, and its comparison with the results.

    `judge` takes the results and returns the measured values with a verdict. It raises `NotRun` (the
    results do so by themselves) if a run is missing. `reason` is the cause of a miss.
    """

    id: str
    source: str
    paper: str
    kind: Kind
    judge: Callable[[Results], Judgement]
    #: The experiments whose runs it needs; none for theory.
    experiments: tuple[str, ...] = ()
    reason: str = ""


def target(
    name: str,
    source: str,
    paper: str,
    judge: Callable[[Results], Judgement],
    *experiments: str,
    kind: Kind = "exact",
    reason: str = "",
    reasons: Mapping[str, str] = MappingProxyType({}),
) -> Target:
    """A target in the order in which tables of them read best; `reasons` has those of a study that keeps them together, by target."""
    return Target(name, source, paper, kind, judge, experiments, reason or reasons.get(name, ""))


@dataclass(frozen=True)
class Figure:
    """A figure of the paper; `draw` makes it from the results with the paper's axes, or raises `NotRun`."""

    id: str
    title: str
    #: The paper's statement about it, and points to note.
    caption: str
    draw: Callable[[Results], Drawing]
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResultTable:
    """A table of measured values for the document; `rows` makes it from the results, or raises `NotRun`."""

    title: str
    #: The meaning of the columns.
    caption: str
    columns: Sequence[str]
    rows: Callable[[Results], Sequence[Sequence[str]]]
    experiments: tuple[str, ...] = ()
    #: Whether it stands at the top of the document, before the targets.
    first: bool = False


@dataclass(frozen=True)
class Decision:
    """A point that the paper leaves open or contradicts itself in, with the decision."""

    id: str
    question: str
    decision: str


@dataclass(frozen=True)
class Study:
    """A published study: its source, its experiments at each scale, its targets."""

    name: str
    title: str
    #: Author, title, where and when.
    source: str
    about: str
    #: Scales from the smallest to the largest, with a line about each.
    scales: Mapping[str, str]
    experiments: Sequence[Experiment]
    targets: Sequence[Target]
    figures: Sequence[Figure]
    decisions: Sequence[Decision] = ()
    #: Paragraphs (Markdown) for the document, by heading: findings beyond single targets.
    findings: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[ResultTable] = ()

    def __post_init__(self) -> None:
        """Checks that names are unique and references exist; raises `ValueError` otherwise."""
        everything: tuple[Sequence[Any], ...] = (self.experiments, self.targets, self.figures, self.decisions)
        for kind in everything:
            ids = [item.id for item in kind]
            twice = {name for name in ids if ids.count(name) > 1}
            if twice:
                raise ValueError(f"study {self.name}: {sorted(twice)} stand twice")
        known = {experiment.id for experiment in self.experiments}
        needing: list[Target | Figure | ResultTable] = [*self.targets, *self.figures, *self.tables]
        for item in needing:
            if unknown := set(item.experiments) - known:
                name = item.title if isinstance(item, ResultTable) else item.id
                raise ValueError(
                    f"study {self.name}: {name} needs the experiments {sorted(unknown)}, which do not exist"
                )

    def experiment(self, name: str) -> Experiment:
        """The experiment with this id."""
        return next(experiment for experiment in self.experiments if experiment.id == name)
