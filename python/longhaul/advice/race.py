"""Trying remedies: each with the seeds of the others, and more seeds for those that cannot be distinguished from the best yet.

The differences are paired: a seed draws the same losses and start times for every remedy, so the logarithm of the ratio
of QoE with and without it varies far less between seeds than either.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import core
from ..document import Document
from ..experience import Experience, experiences, gain
from ..stats import t_quantile
from ..sweep import PlannedRun, Point, make_engine
from ..sweep.engine import Engine, Task
from .remedy import Remedy

#: What differs by less than this share is the same to people.
SAME = 0.02
#: A first seed that is this factor worse than the best is not tried again.
_HOPELESS = math.log(1.5)
#: As many seeds stand for all.
_EVERY = 8


@dataclass(eq=False)
class Trial:
    """A remedy, or the scenario as it is (no remedy), and its quality of experience (QoE) under each seed."""

    remedy: Remedy | None
    qoe: dict[int, dict[str, Experience]] = field(default_factory=dict)
    summaries: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: Why it could not be run.
    failure: str | None = None

    def spread(self) -> None:
        """Lets the first run stand for every seed."""
        self.qoe |= dict.fromkeys(range(1, _EVERY), self.qoe[0])
        self.summaries |= dict.fromkeys(range(1, _EVERY), self.summaries[0])

    def gains(self, base: Trial, groups: Sequence[str]) -> list[float]:
        """The logarithm of the factor by which things are better than in `base`, for each seed that both have."""
        return [_gain(self.qoe[s], base.qoe[s], groups) for s in sorted(self.qoe.keys() & base.qoe.keys())]


@dataclass(frozen=True)
class Interval:
    """A mean with its two-sided 95 % interval (Student's t); infinite bounds below two values."""

    mean: float
    low: float
    high: float
    n: int


def interval(values: Sequence[float]) -> Interval:
    """The interval of some values.

    >>> interval([1.0, 1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0, n=3)
    """
    n = len(values)
    if n == 0:
        return Interval(-math.inf, -math.inf, math.inf, 0)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = t_quantile(0.975, n - 1) * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def _gain(qoe: Mapping[str, Experience], base: Mapping[str, Experience], groups: Sequence[str]) -> float:
    shared = [name for name in groups if name in qoe and name in base]
    if not shared:
        return 0.0
    return math.fsum(gain(qoe[name], base[name]) for name in shared) / len(shared)


class Race:
    """Makes runs on an engine until the best are distinguished or the budget is used up."""

    def __init__(
        self,
        document: Document,
        changes: Sequence[tuple[str, str]],
        content: Mapping[str, Any],
        *,
        engine: str = "local",
        jobs: int | None = None,
        runs: int | None = None,
        seconds: float | None = None,
        observer: Callable[[int, str], None] | None = None,
    ) -> None:
        """`content` is the resolved scenario; `runs` and `seconds` (wall-clock) are the budget."""
        self.document = document
        self.changes = tuple(changes)
        self.content = content
        self.first_seed = int(content["run"]["seed"])
        self.made = 0
        #: Whether another seed makes another result of the scenario as it is.
        self.by_chance = True
        self._engine, self._jobs = engine, jobs
        self._whole = runs, seconds
        self._began = time.monotonic()
        self._observer = observer
        self.allow(1.0)

    def allow(self, share: float) -> None:
        """Lets the race use this share of its budget, of which what was made and the time since its begin are part."""
        runs, seconds = self._whole
        self._runs = None if runs is None else math.ceil(share * runs)
        self._deadline = None if seconds is None else self._began + share * seconds

    @property
    def spent(self) -> bool:
        """Whether the budget is used up, or the share of it that may be used."""
        over = self._deadline is not None and time.monotonic() >= self._deadline
        return over or (self._runs is not None and self.made >= self._runs)

    @property
    def over(self) -> bool:
        """Whether all of the time is used up: what is under way then is ended."""
        seconds = self._whole[1]
        return seconds is not None and time.monotonic() >= self._began + seconds

    def run(self, wanted: Iterable[tuple[Trial, int]], *, always: bool = False) -> None:
        """Makes runs of trials under seeds (counted from 0); what the budget has no room for is left out, or ended by its end."""
        wanted = list(wanted)
        if not self.by_chance and (several := [trial for trial, seed in wanted if seed > 1 and seed not in trial.qoe]):
            # Two runs that are equal spare the others.
            self.run([(trial, seed) for trial in dict.fromkeys(several) for seed in (0, 1)], always=always)
        queue = [(trial, seed) for trial, seed in wanted if seed not in trial.qoe and trial.failure is None]
        if not always and self._runs is not None:
            queue = queue[: max(0, self._runs - self.made)]
        if not queue:
            return
        with tempfile.TemporaryDirectory(prefix="longhaul-") as folder, make_engine(self._engine, self._jobs) as engine:
            self._work(engine, Path(folder), queue, always)

    def _work(self, engine: Engine, folder: Path, queue: list[tuple[Trial, int]], always: bool) -> None:
        under_way: dict[str, tuple[Trial, int]] = {}
        tries: dict[int, int] = {}
        while queue or under_way:
            while queue and len(under_way) < engine.at_once and (always or not self.spent):
                trial, seed = queue.pop(0)
                number = self.made
                tries[number] = 1
                run_id = f"{number}"
                point = Point(0, {}, self.document, self._overrides(trial))
                under_way[run_id] = trial, seed
                engine.start(Task([PlannedRun(run_id, point, 0, self.first_seed + seed)], False, folder))
                self.made += 1
            if not under_way:
                return
            if self.over and not always:
                self.made -= len(under_way)
                return
            for end in engine.ended(0.1):
                run_id = end.task.runs[0].run_id
                trial, seed = under_way.pop(run_id)
                if failure := end.batch.failures.get(run_id, end.lost):
                    trial.failure = failure
                    continue
                group = end.batch.groups[0][0]
                summary = {**json.loads(group.runs[0].summary), "definitions": json.loads(group.definitions)}
                trial.qoe[seed] = experiences(summary, self.content)
                trial.summaries[seed] = summary
                self._settle(trial)
                if self._observer:
                    self._observer(self.made, trial.remedy.title if trial.remedy else "as it is")

    def _settle(self, trial: Trial) -> None:
        """Two equal runs of a scenario without randomness stand for every seed: more would be equal too."""
        if not self.by_chance and len(trial.qoe) == 2 and trial.qoe[0] == trial.qoe.get(1):
            trial.spread()

    def _overrides(self, trial: Trial) -> tuple[tuple[str, str], ...]:
        own = trial.remedy.overrides if trial.remedy else []
        return (*self.changes, *own)

    def possible(self, remedy: Remedy) -> str | None:
        """Why a remedy does not fit the scenario; `None` if it does."""
        from ..errors import ScenarioError

        try:
            core.resolve(self.document, [*self.changes, *remedy.overrides])
        except ScenarioError as error:
            return str(error).splitlines()[0]
        return None

    def tell_apart(self, base: Trial, trials: Sequence[Trial], groups: Sequence[str], most: int) -> bool:
        """Seeds for what cannot be distinguished from the best, up to `most` each; whether it can be at the end."""
        while True:
            going = _undecided(base, trials, groups, most)
            if not going:
                return True
            if self.spent:
                return False
            before = self.made
            seeds = max(len(trial.qoe) for trial in going)
            need = [(base, seed) for seed in range(seeds + 1)]
            self.run(need)
            self.run([(trial, seed) for trial in going for seed in range(len(trial.qoe) + 1)])
            if self.made == before:
                return False


def leader(base: Trial, trials: Sequence[Trial], groups: Sequence[str]) -> Trial:
    """The trial with the best mean gain."""
    return max((base, *trials), key=lambda trial: interval(trial.gains(base, groups)).mean if trial.qoe else -math.inf)


def same_as(one: Trial, other: Trial, groups: Sequence[str]) -> bool:
    """Whether no difference is significant: the paired interval has zero or nothing beyond `SAME` in it."""
    if one is other:
        return True
    found = interval(one.gains(other, groups))
    if abs(found.mean) < SAME:
        return True
    return found.n >= 2 and found.low <= 0 <= found.high


def _may_be_as_good(found: Interval) -> bool:
    """Whether a difference from the best leaves room for being better, and is not known to be nothing."""
    if found.n < 2:
        return found.mean > -_HOPELESS
    return found.high > -SAME and not (found.low > -SAME and found.high < SAME)


def _undecided(base: Trial, trials: Sequence[Trial], groups: Sequence[str], most: int) -> list[Trial]:
    """The best and what may be as good, of those that have seeds left; the best alone has to differ from `base`."""
    alive = [trial for trial in trials if trial.qoe and trial.failure is None]
    best = leader(base, alive, groups)
    contenders = []
    for trial in alive:
        if trial is best or len(trial.qoe) >= most:
            continue
        found = interval(trial.gains(best, groups))
        if _may_be_as_good(found):
            contenders.append(trial)
    if best is not base and len(best.qoe) < most:
        against = interval(best.gains(base, groups))
        if contenders or against.n < 2 or against.low <= 0:
            contenders.append(best)
    # The most promising first: the budget may end.
    return sorted(contenders, key=lambda trial: -interval(trial.gains(base, groups)).mean)
