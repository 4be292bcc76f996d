"""Every target of a study against its results, and what that adds up to."""

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
    """A target with what became of it."""

    target: Target
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        """reproduced, partly, not, or not run."""
        return self.judgement.verdict

    @property
    def reason(self) -> str:
        """Why it is missed, where it is and that was found out."""
        return self.target.reason if self.verdict in ("partly", "not") else ""


def judge(study: Study, results: Results) -> list[Judged]:
    """All targets in their order; one whose runs are not there is "not run", whatever else is known of it."""
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
