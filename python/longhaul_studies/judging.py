"""The verdict on every target of a study, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from longhaul.errors import LonghaulError

from .chance import SEEDS
from .model import ORIGINS, Claim, Origin, Reading, Study, Target
from .results import NotRun, Results
from .seeds import point, unsettled
from .verdict import VERDICTS, Judgement, Verdict

#: The verdict on a claim.
Standing = Literal["confirmed", "refuted", "depends", "not run"]


@dataclass(frozen=True)
class Judged:
    """A target with its verdict."""

    target: Target
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        """reproduced, partly, not, or not run."""
        return self.judgement.verdict

    @property
    def reason(self) -> str:
        """The cause of a miss, if there is one and it is known."""
        return self.target.reason if self.verdict in ("partly", "not") else ""


def judge(study: Study, results: Results) -> list[Judged]:
    """All targets in their order, with the base reading; a target without runs is "not run", and so is one with too few seeds of what is random (`seeds`)."""
    results = results.of("")
    few = {} if results.scale in study.smoke else _too_few(study, results)
    return [Judged(target, _judgement(target, results, few.get(target.id))) for target in study.targets]


@dataclass(frozen=True)
class Compared:
    """A target with the base reading and with another one."""

    target: Target
    base: Judgement
    read: Judgement

    @property
    def gained(self) -> bool:
        """Whether the other reading reproduces what the base does not."""
        return self.read.verdict == "reproduced" and self.base.verdict in ("partly", "not")

    @property
    def lost(self) -> bool:
        """Whether the base reproduces what the other reading does not."""
        return self.base.verdict == "reproduced" and self.read.verdict in ("partly", "not")


@dataclass(frozen=True)
class Read:
    """A reading with the verdicts on its targets, beside those of the base at the same points."""

    reading: Reading
    compared: Sequence[Compared]


def read(study: Study, results: Results) -> list[Read]:
    """The readings of the study whose runs are done, each beside the base, by the same rules as `judge`."""
    targets = {target.id: target for target in study.targets}
    base, found = results.of(""), []
    few_in_base = _too_few(study, base)
    for reading in study.readings:
        own = results.of(reading.name)
        few = _too_few(study, own)
        compared = []
        for name in reading.targets:
            target = targets[name]
            judged = replace(target, judge=reading.judges.get(name, target.judge))
            compared.append(
                Compared(
                    target,
                    _judgement(target, base, few_in_base.get(name)),
                    _judgement(judged, own, few.get(name)),
                )
            )
        if any(item.read.verdict != "not run" for item in compared):
            found.append(Read(reading, compared))
    return found


def _too_few(study: Study, results: Results) -> dict[str, str]:
    """The targets with fewer seeds than a verdict needs, with a message."""
    steady = {experiment.id for experiment in study.experiments if experiment.steady}
    rows = [row for row in results.rows if row.random and row.experiment not in steady]
    seeds = Counter(map(point, rows))
    short: dict[str, int] = {}
    for row in rows:
        if seeds[point(row)] < SEEDS and not row.extensible:
            short[row.experiment] = min(short.get(row.experiment, SEEDS), seeds[point(row)])
    found = {
        target.id: f"{experiment} has {short[experiment]} of the {SEEDS} seeds that a verdict needs"
        for target in study.targets for experiment in target.experiments if experiment in short
    }  # fmt: skip
    young = {row.experiment for row in rows if seeds[point(row)] < SEEDS and row.extensible}
    under_rule = {target.id for target in study.targets if young.intersection(target.experiments)} - found.keys()
    if under_rule:
        # A point of the same experiment that the target does not read may have fewer seeds.
        found |= {
            name: "the verdict depends on one of its seeds, and further seeds are missing"
            for name, read in unsettled(study, results, under_rule).items()
            if any(seeds[point(row)] < SEEDS for row in read if row.random)
        }
    return found


def _judgement(target: Target, results: Results, too_few: str | None) -> Judgement:
    try:
        if too_few:
            raise NotRun(too_few)
        return target.judge(results)
    except NotRun as missing:
        return Judgement("not run", str(missing))
    except (ArithmeticError, LookupError, ValueError) as error:
        raise LonghaulError(f"target {target.id} cannot be evaluated from these results: {error!r}") from error


def counts(judged: Sequence[Judged]) -> dict[Verdict, int]:
    """How many targets have each verdict."""
    found = Counter(item.verdict for item in judged)
    return {verdict: found[verdict] for verdict in VERDICTS}


def headline(judged: Sequence[Judged]) -> dict[Verdict, int]:
    """How many of the paper's own numbers and claims have each verdict; a comparison that it states twice counts once."""
    return counts([item for item in judged if item.target.counts])


def by_origin(judged: Sequence[Judged]) -> dict[Origin, dict[Verdict, int]]:
    """How many targets of each origin have each verdict; repeated comparisons are left out."""
    once = [item for item in judged if not item.target.same_as]
    return {origin: counts([item for item in once if item.target.origin == origin]) for origin in ORIGINS}


@dataclass(frozen=True)
class Held:
    """A claim with its verdict, and the targets behind it."""

    claim: Claim
    standing: Standing
    judged: Sequence[Judged]
    #: The key numbers in a sentence, if the claim has one.
    here: str = ""

    @property
    def verdict(self) -> str:
        """In words, for a table."""
        return "depends on the conditions" if self.standing == "depends" else self.standing

    @property
    def measured(self) -> str:
        """The key numbers or the first target's value, and how many targets are reproduced: together at most 120 characters."""
        ran = [item for item in self.judged if item.verdict != "not run"]
        if not ran:
            return ""
        found = Counter(item.verdict for item in ran)
        partly = f", {found['partly']} partly" if found["partly"] else ""
        text = f" ({found['reproduced']} of {len(ran)} reproduced{partly})" if len(ran) > 1 else ""
        if self.here:
            return self.here + text if len(self.here) + len(text) <= 120 else shortened(self.here, 120)
        return shortened(ran[0].judgement.measured, 120 - len(text)) + text


def held(study: Study, judged: Sequence[Judged], results: Results) -> list[Held]:
    """The study's claims: confirmed if every target with a verdict is reproduced, refuted if none is even partly, and nothing that the paper leaves open changes that."""
    by_name = {item.target.id: item for item in judged}
    found = []
    for claim in study.claims:
        items = [by_name[name] for name in claim.targets]
        verdicts = {item.verdict for item in items} - {"not run"}
        standing: Standing = (
            "not run" if not verdicts
            else "confirmed" if verdicts == {"reproduced"}
            else "refuted" if verdicts == {"not"} and not claim.conditional
            else "depends"
        )  # fmt: skip
        found.append(Held(claim, standing, items, _here(claim, results)))
    return found


def _here(claim: Claim, results: Results) -> str:
    try:
        return claim.here(results) if claim.here else ""
    except NotRun:
        return ""


def shortened(text: str, width: int) -> str:
    """The beginning of a text up to a separator within `width` characters.

    >>> shortened("1 at 2, 3 at 4, 5 at 6", 16)
    '1 at 2, 3 at 4 …'
    """
    if len(text) <= width:
        return text
    # A separator may begin where the two characters of the mark will stand.
    place = max(text[:width].rfind(separator) for separator in ("; ", ", ", ". "))
    return (text[:place] if place > width // 3 else text[: width - 2].rpartition(" ")[0]) + " …"
