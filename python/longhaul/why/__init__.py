"""Why an application is not faster: a cause is what changes the outcome when it is taken away.

`table` lists what can be taken away, `engine` runs the scenario without it, `waterfall` takes the strongest away and asks again,
`ideal` is where that ends, and `words` puts it in sentences.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import core
from ..document import Document
from ..errors import LonghaulError
from .engine import Lab
from .waterfall import Step, Tried, Waterfall, waterfall
from .words import paragraph, parts, rows, to_dict

__all__ = ["Explanation", "Step", "Tried", "Waterfall", "paragraph", "parts", "rows", "why"]

#: Wall-clock time for all groups, in s.
BUDGET_S = 30.0
#: No more groups than these are explained: the first of the scenario.
_GROUPS = 12


@dataclass
class Explanation:
    """What limits the groups of a scenario, proven by runs without it; the group whose users have most to complain of is the first."""

    name: str
    groups: list[Waterfall] = field(default_factory=list)
    #: Runs that were made, and seeds of each effect.
    runs: int = 0
    seeds: int = 1
    #: Groups that the budget had no time for.
    untested: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """A paragraph for each group."""
        return "\n".join(paragraph(one, self.seeds) for one in self.groups)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "name": self.name,
            "runs": self.runs,
            "seeds": self.seeds,
            "untested": self.untested,
            "groups": [to_dict(one) for one in self.groups],
        }


def why(
    document: Document,
    changes: core.Overrides = (),
    *,
    summary: dict[str, Any] | None = None,
    groups: Sequence[str] | None = None,
    seconds: float = BUDGET_S,
    observer: Callable[[int, str], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Explanation:
    """What limits the groups of flows of a scenario (all, or these), within `seconds` of `clock`: wall-clock time by default.

    `summary` is that of a run of the scenario as it is; without it that run is made first, whatever it takes. Raises
    `LonghaulError` if the scenario cannot be run.
    """
    content = tomllib.loads(core.resolve(document, changes)[0])
    lab = Lab(content, document.folder, seconds, summary, observer, clock=clock)
    known = [name for name in lab.trial(()).qoe[0] if groups is None or name in groups]
    if not known:
        raise LonghaulError(f"{document.source}: no flow was active in the measured time, so nothing limits one")
    lab.look_for_chance()
    made = Explanation(str(content.get("name", "")))
    whole = lab.deadline
    for number, name in enumerate(known[:_GROUPS]):
        # What one group leaves of its part of the budget is for those after it.
        left = len(known[:_GROUPS]) - number
        now = clock()
        lab.deadline = now + (whole - now) / left
        made.groups.append(waterfall(lab, name))
    made.groups.sort(key=lambda one: one.felt)
    made.untested = known[_GROUPS:]
    made.runs, made.seeds = lab.made, lab.seeds
    return made
