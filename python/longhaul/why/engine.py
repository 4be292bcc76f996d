"""Runs of a scenario without one thing or another: in parallel, each once, under the same seeds, within a budget."""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import core, toml
from ..document import Document
from ..errors import LonghaulError, RunCancelled
from ..experience import Experience, experiences, gain
from ..script import seconds
from ..stats import t_quantile
from ..sweep.processors import cores
from .table import Intervention

#: The changes of a run: interventions by their keys, in the order in which they were made.
Without = tuple[Intervention, ...]


@dataclass
class Trial:
    """A scenario without some things: what its applications were like under each seed, and the first run's summary."""

    qoe: dict[int, dict[str, Experience]] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    #: The summary of the same run with its warm-up.
    whole: dict[str, Any] = field(default_factory=dict)
    #: Why it could not be run.
    failure: str = ""


@dataclass(frozen=True)
class Effect:
    """The factor by which a group's applications are better, with its 95 % interval over paired seeds."""

    factor: float
    low: float
    high: float
    seeds: int


class Lab:
    """Makes runs of one scenario, and keeps what they measured."""

    def __init__(
        self,
        content: Mapping[str, Any],
        folder: Path | None,
        budget: float,
        summary: dict[str, Any] | None = None,
        observer: Callable[[int, str], None] | None = None,
        runs: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`content` is the resolved scenario, `summary` that of its run if there is one.

        The budget is `budget` s of `clock`, wall-clock time or `time.process_time`, and `runs` if given.
        """
        self.content, self.folder = content, folder
        self.first_seed = int(content["run"]["seed"])
        self.clock, self.deadline = clock, clock() + budget
        self.made = 0
        self.seeds = 1
        self._observer, self._runs = observer, runs
        #: The summary of the scenario as it is under another seed.
        self._second: dict[str, Any] | None = None
        #: Whether there was a run under another seed to compare.
        self.tested_chance = False
        self._trials: dict[tuple[str, ...], Trial] = {}
        base = self.trial(())
        if summary is not None:
            base.qoe[0], base.summary = experiences(summary, content), summary
        else:
            self.run([((), 0)], always=True)
        if base.failure:
            raise LonghaulError(base.failure)

    @property
    def spent(self) -> bool:
        """Whether the time is over."""
        return self.clock() >= self.deadline

    def trial(self, without: Without) -> Trial:
        """What is known of the scenario without these things."""
        return self._trials.setdefault(tuple(sorted(one.key for one in without)), Trial())

    def changed(self, without: Without) -> dict[str, Any]:
        """The scenario without these things; a proxy that was taken away is `None` in the list of middleboxes."""
        content = copy.deepcopy(dict(self.content))
        for one in without:
            one.apply(content)
        return content

    def look_for_chance(self) -> None:
        """Whether another seed makes another result: then every effect is that over several seeds."""
        base = self.trial(())
        self.run([((), 1)])
        self.tested_chance = self._second is not None
        if self._second is not None and _measured(base.summary) != _measured(self._second):
            self.seeds = 3
            self.run([((), 2)])

    def run(self, wanted: Iterable[tuple[Without, int]], *, always: bool = False) -> None:
        """Makes runs under seeds (counted from 0) that were not made yet; what the budget has no room for is left out."""
        missing: dict[tuple[tuple[str, ...], int], tuple[Without, int]] = {}
        for without, seed in wanted:
            trial = self.trial(without)
            if seed not in trial.qoe and not trial.failure:
                missing[tuple(sorted(one.key for one in without)), seed] = without, seed
        chosen = list(missing.values())
        if self._runs is not None and not always:
            # Cut before they begin, so that the same are made on every machine.
            chosen = chosen[: max(0, self._runs - self.made)]
        if not chosen:
            return
        with ThreadPoolExecutor(cores(), thread_name_prefix="why") as pool:
            list(pool.map(lambda one: self._run(one[0], one[1], always), chosen))

    def whole(self, without: Without) -> dict[str, Any]:
        """The summary of a run under the first seed that measures its warm-up too: what happened there may be felt behind it.

        That of the run without its warm-up if the scenario has none, or the budget has no room for it.
        """
        trial = self.trial(without)
        warmup, room = seconds(self.content["run"].get("warmup")), self._runs is None or self.made < self._runs
        if warmup > 0 and room and not trial.whole and (made := self._made(without, 0, False, warmup="0 s")):
            trial.whole = made[0]
            self.made += 1
        return trial.whole or trial.summary

    def _made(
        self, without: Without, seed: int, always: bool, **of_run: Any
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """A run's summary and its scenario; `None` if the time is over or it fails (`Trial.failure`)."""
        if self.spent and not always:
            return None
        content = self.changed(without)
        if "middlebox" in content:
            content["middlebox"] = [box for box in content["middlebox"] if box is not None]
        # Neither packets nor series: only what the applications are like counts.
        content["run"] = {
            key: value for key, value in content["run"].items() if key not in ("capture", "monitor", "qlog", "inspect")
        } | of_run
        document = Document(toml.document(content), "the scenario", folder=self.folder)
        try:
            (made,) = core.run_seeds(
                document, (), [self.first_seed + seed], progress=lambda *_: always or not self.spent
            )
        except RunCancelled:
            return None
        except LonghaulError as error:
            self.trial(without).failure = str(error).splitlines()[0]
            return None
        return json.loads(made.summary), content

    def _run(self, without: Without, seed: int, always: bool) -> None:
        made = self._made(without, seed, always)
        if made is None:
            return
        summary, content = made
        trial = self.trial(without)
        trial.qoe[seed] = experiences(summary, content)
        if not trial.summary:
            trial.summary = summary
        elif not without:
            self._second = summary
        self.made += 1
        if self._observer:
            self._observer(self.made, without[-1].clause if without else "as it is")

    def effect(self, without: Without, before: Without, group: str) -> Effect | None:
        """How much better a group is without these things than without those; `None` if that was not run."""
        one, other = self.trial(without), self.trial(before)
        gains = [
            gain(one.qoe[seed][group], other.qoe[seed][group])
            for seed in sorted(one.qoe.keys() & other.qoe.keys())
            if group in one.qoe[seed] and group in other.qoe[seed]
        ]
        return _effect(gains) if gains else None


def _measured(summary: Mapping[str, Any]) -> list[Any]:
    """The common metrics of two runs without randomness."""
    return [one["metrics"] for one in (*summary["flows"], *summary["links"])]


def _effect(gains: Sequence[float]) -> Effect:
    mean, n = math.fsum(gains) / len(gains), len(gains)
    half = 0.0
    if n > 1:
        spread = math.sqrt(math.fsum((one - mean) ** 2 for one in gains) / (n - 1))
        half = t_quantile(0.975, n - 1) * spread / math.sqrt(n)
    return Effect(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n)
