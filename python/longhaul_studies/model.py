"""The parts of a reproduced study: experiments, targets, figures, decisions. A study only declares them.

Running, evaluating, drawing and printing are the same for all studies and are in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from longhaul.scenario import Scenario

from .chance import FEWEST, SEEDS, draws
from .verdict import Judgement

if TYPE_CHECKING:
    from longhaul.study import Request
    from matplotlib.figure import Figure as Drawing

    from .emulation import Emulated
    from .results import Results

#: The comparison of a target: a number with its tolerance, a band for loose statements, an ordering of several
#: values, a trend over a parameter.
Kind = Literal["exact", "band", "ordering", "trend"]

#: Whose a target is: a number that the paper prints, or a claim that it makes, and so the paper's own; a formula evaluated without a
#: run; what follows from the paper's numbers, but is not printed there; a question of ours.
Origin = Literal["number", "claim", "arithmetic", "derived", "ours"]
ORIGINS: Mapping[Origin, str] = MappingProxyType({
    "number": "the paper's number",
    "claim": "the paper's claim",
    "arithmetic": "arithmetic, without a run",
    "derived": "derived from the paper",
    "ours": "ours",
})  # fmt: skip
#: The origins that headlines count.
OF_THE_PAPER: tuple[Origin, ...] = ("number", "claim")


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
    #: Seeds at most: those beyond `replications` are run where a verdict depends on a single one (`seeds`).
    most: int = 0


def _with_seeds(case: Case, *, steady: bool) -> Case:
    """The case of a reading: if chance plays a part three seeds first, and up to five by the rule of `seeds`."""
    if steady or not draws(case.scenario.document()):
        return replace(case, replications=1, most=0)
    return replace(case, replications=FEWEST, most=SEEDS)


@dataclass(frozen=True)
class Experiment:
    """A part of the study with a grid of its own; `cases` gives its points at a scale, none if it is left out there."""

    id: str
    title: str
    section: str
    cases: Callable[[str], Sequence[Case]]
    #: Why a single run is enough although something is drawn at random. Otherwise a verdict needs `seeds.SEEDS` runs of such a point.
    steady: str = ""


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
    #: Whose it is, where that does not follow from the rest (`origin`).
    stated: Origin | None = None
    #: The target that makes the same comparison, if the paper states it more than once; it is counted there.
    same_as: str = ""

    @property
    def origin(self) -> Origin:
        """Whose it is: arithmetic if it needs no run; otherwise as stated, or the paper's number or claim by its kind."""
        if not self.experiments:
            return "arithmetic"
        return self.stated or ("number" if self.kind == "exact" else "claim")

    @property
    def counts(self) -> bool:
        """Whether headlines count it: the paper's own, and each comparison once."""
        return self.origin in OF_THE_PAPER and not self.same_as


def classed(
    targets: Sequence[Target], origins: Mapping[Origin, str], same: Mapping[str, str] = MappingProxyType({})
) -> tuple[Target, ...]:
    """The targets with origins: names separated by commas, for each origin that does not follow by itself.

    `same` has targets that repeat another's comparison, by name. Raises `ValueError` for a name that no target has.
    """
    stated = {name.strip(): origin for origin, names in origins.items() for name in names.split(",") if name.strip()}
    known = {target.id for target in targets}
    if unknown := (stated.keys() | same.keys() | set(same.values())) - known:
        raise ValueError(f"no target is called {sorted(unknown)}")
    return tuple(
        replace(target, stated=stated.get(target.id, target.stated), same_as=same.get(target.id, target.same_as))
        for target in targets
    )


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
    #: Whether it shows a single run over time, the one with seed 1.
    one_run: bool = False


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
    #: Whether its cells are words, which begin at the left; numbers end at the right.
    words: bool = False


@dataclass(frozen=True)
class Claim:
    """What the paper says, in a sentence, and the targets that decide it; the document begins with these."""

    #: At most 120 characters, as a cell of a table.
    text: str
    #: The first one's measured value is shown.
    targets: tuple[str, ...]
    #: What it depends on, or why it does not hold; shown unless it is confirmed. At most 120 characters.
    why: str = ""
    #: The key numbers of the runs in one sentence, where the first target's value is a list; or it raises `NotRun`.
    here: Callable[[Results], str] | None = None
    #: Whether it is a question of ours that stands beside the paper's claims; pages count these apart.
    ours: bool = False
    #: Whether runs under a condition that the paper leaves open show it, at least in part; `why` names the condition. Then it depends on
    #: that, and is not refuted where none of its targets is even partly reproduced.
    conditional: bool = False


@dataclass(frozen=True)
class Decision:
    """A point that the paper leaves open or contradicts itself in, with the decision."""

    id: str
    question: str
    decision: str


#: The scale at which readings are run: each beside the base, at the same points and with the same seeds.
READINGS = "readings"


def _as_taken(case: Case) -> Case | None:
    return case


@dataclass(frozen=True)
class Reading:
    """Another reading of what a paper leaves open, beside the one that the study takes (the base).

    It changes settings of runs (`change`), or what is measured in them (`judges`), and never a tolerance: a target is compared with the
    same number of the paper. Both columns stand in the study's document.
    """

    name: str
    #: What is taken instead, with the settings that do it.
    what: str
    #: Why somebody who reads the paper may take it so.
    why: str
    #: The targets that are compared with it.
    targets: tuple[str, ...]
    #: The case that it has in place of one of the base, or `None` where it does not concern that point. Without it runs are the base's.
    change: Callable[[Case], Case | None] = _as_taken
    #: Comparisons of targets whose measurement it changes, by target.
    judges: Mapping[str, Callable[[Results], Judgement]] = field(default_factory=dict)


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
    #: The paper's main claims, for the top of the document and the end of the terminal's output.
    claims: Sequence[Claim] = ()
    #: Ids of the figures that stand at the top, the most important first.
    leading: Sequence[str] = ()
    #: Who speaks in `claims`, as headings name it.
    speaker: str = "the paper"
    #: What the study asks, in a few words, for the page of all studies.
    question: str = ""
    #: The largest difference without an explanation, in a sentence.
    gap: str = ""
    #: Scales that check the program only: their verdicts may rest on one seed.
    smoke: tuple[str, ...] = ("tiny",)
    #: Other readings of what the paper leaves open, run at the scale `readings`.
    readings: Sequence[Reading] = ()
    #: The scale whose points readings are run at.
    readings_at: str = "quick"
    #: What moved with them and why, for the beginning of the document's section: paragraphs and tables in Markdown.
    readings_about: str = ""
    #: Its experiments with real packets, if it has some; called when they are wanted.
    emulated: Callable[[], Emulated] | None = None

    def __post_init__(self) -> None:
        """Checks that names are unique and references exist; raises `ValueError` otherwise."""
        everything: tuple[Sequence[Any], ...] = (self.experiments, self.targets, self.figures, self.decisions)
        for kind in everything:
            ids = [item.id for item in kind]
            twice = {name for name in ids if ids.count(name) > 1}
            if twice:
                raise ValueError(f"study {self.name}: {sorted(twice)} stand twice")
        names = {target.id for target in self.targets}
        for claim in self.claims:
            if unknown := set(claim.targets) - names or max(len(claim.text), len(claim.why)) > 120:
                raise ValueError(
                    f"study {self.name}: claim {claim.text!r}: {unknown or 'it or its reason is too long'}"
                )
        self._check_readings(names)
        if unknown := set(self.leading) - {figure.id for figure in self.figures}:
            raise ValueError(f"study {self.name}: {sorted(unknown)} are no figures")
        known = {experiment.id for experiment in self.experiments}
        needing: list[Target | Figure | ResultTable] = [*self.targets, *self.figures, *self.tables]
        for item in needing:
            if unknown := set(item.experiments) - known:
                name = item.title if isinstance(item, ResultTable) else item.id
                raise ValueError(
                    f"study {self.name}: {name} needs the experiments {sorted(unknown)}, which do not exist"
                )

    def _check_readings(self, names: set[str]) -> None:
        if bool(self.readings) != (READINGS in self.scales):
            raise ValueError(f"study {self.name}: a study has a scale {READINGS!r} if, and only if, it has readings")
        if len({reading.name for reading in self.readings}) < len(self.readings):
            raise ValueError(f"study {self.name}: two readings have one name")
        for reading in self.readings:
            if unknown := (set(reading.targets) | set(reading.judges)) - names:
                raise ValueError(f"study {self.name}: reading {reading.name!r} names unknown targets {sorted(unknown)}")

    def cases(self, scale: str) -> Iterator[tuple[str, str, Case]]:
        """The points at a scale, each with its experiment and the name of its reading, which is empty for the base.

        The scale `readings` has the points of `readings_at`: of the base all in the experiments that a reading concerns, of a reading those that
        it changes.
        """
        if scale != READINGS:
            for experiment in self.experiments:
                yield from ((experiment.id, "", case) for case in experiment.cases(scale))
            return
        needed = {target.id: target.experiments for target in self.targets}
        for experiment in self.experiments:
            concerning = [one for one in self.readings if any(experiment.id in needed[name] for name in one.targets)]
            base = experiment.cases(self.readings_at) if concerning else ()
            steady = bool(experiment.steady)
            yield from ((experiment.id, "", _with_seeds(case, steady=steady)) for case in base)
            for reading in concerning:
                for case in base:
                    if (changed := reading.change(case)) is not None and changed is not case:
                        own = replace(changed, parameters=case.parameters)
                        yield experiment.id, reading.name, _with_seeds(own, steady=steady)

    def reproduce(self, request: Request) -> None:
        """Repeats it as `longhaul reproduce` requests: simulated, or with real packets."""
        from . import command, emulated_command  # both need this module

        if request.emulated:
            emulated_command.reproduce(self, request)
        else:
            command.reproduce(self, request)

    def experiment(self, name: str) -> Experiment:
        """The experiment with this id."""
        return next(experiment for experiment in self.experiments if experiment.id == name)
