"""The verdict on every target of a study, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import LonghaulError
from .model import Study, Target
from .results import NotRun, Results
from .verdict import VERDICTS, Judgement, Verdict


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
    """All targets in their order; a target without runs is "not run"."""
    return [Judged(target, _judgement(target, results)) for target in study.targets]


def _judgement(target: Target, results: Results) -> Judgement:
    try:
        return target.judge(results)
    except NotRun as missing:
        return Judgement("not run", str(missing))
    except (ArithmeticError, LookupError, ValueError) as error:
        raise LonghaulError(f"target {target.id} cannot be evaluated from these results: {error!r}") from error


def counts(judged: Sequence[Judged]) -> dict[Verdict, int]:
    """How many targets have each verdict."""
    found = Counter(item.verdict for item in judged)
    return {verdict: found[verdict] for verdict in VERDICTS}
