"""What a reproduced study consists of: experiments, targets, figures, decisions. A study declares them, and no more.

Running, judging, drawing and printing are the same for all studies and live beside this file.
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

#: How a target is compared: a number with its tolerance, a band that a text gives loosely, an ordering of several
#: values, a trend over a parameter.
Kind = Literal["exact", "band", "ordering", "trend"]


@dataclass(frozen=True)
class Case:
    """One point of an experiment: the values that tell it from the others, and the scenario that is run."""

    parameters: Mapping[str, Any]
    scenario: Scenario
    #: Runs with seeds 1, 2 and so on; the same seeds in all cases, so that they see the same random draws.
    replications: int = 1
    #: Whether the time series are kept.
    tables: bool = False
    #: How long a run takes beside others, for the time left: the number of data packets, say.
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
    """Something that the paper says, and how it is looked for in the results.

    `judge` is given the results and says what was measured and how that compares; it raises `NotRun` (which the
    results do by themselves) where a run that it needs is not there. `reason` says why a target that is missed is missed.
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
    #: What the paper says about it, and what to look at.
    caption: str
    draw: Callable[[Results], Drawing]
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResultTable:
    """A table of measured values for the document; `rows` makes it from the results, or raises `NotRun`."""

    title: str
    #: What the columns are.
    caption: str
    columns: Sequence[str]
    rows: Callable[[Results], Sequence[Sequence[str]]]
    experiments: tuple[str, ...] = ()
    #: Whether it stands at the top of the document, before the targets.
    first: bool = False


@dataclass(frozen=True)
class Decision:
    """A point that the paper leaves open or contradicts itself in, and what was decided."""

    id: str
    question: str
    decision: str


@dataclass(frozen=True)
class Study:
    """A published study: where it is from, what is run at which scale, what is expected."""

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
    #: Paragraphs (Markdown) for the document, by heading: what was found out beyond single targets.
    findings: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[ResultTable] = ()

    def __post_init__(self) -> None:
        """Names are unique, and what is referred to exists: a slip here is a mistake in the study's code."""
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
