"""What limits a group of flows, proven: the strongest of its limits is taken away, then the strongest of what is left, and so on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..experience import Experience, mean
from ..script import seconds
from ..units import significant
from .case import Case
from .engine import Effect, Lab, Without
from .ideal import Ideal, ideal_of
from .table import CONTROL, ORDINARY, PATH, Intervention, interventions

#: A factor nearer to 1 is no effect.
WORTH = 1.05
#: Of effects this near to the strongest, as a share of its logarithm, the one that stands first in the table is named.
TIE = 0.75
#: The best opinion of a call or a film (ITU-T P.800: 1 to 5; of calls ITU-T G.107 has 4.4 to 4.5 at most).
_BEST_OPINION = 4.5
#: Most steps of a waterfall.
_STEPS = 5
#: Most seeds for an effect whose interval holds none.
_MOST_SEEDS = 6
#: Of things that only help together, at most this many runs look for those that are needed.
_TOGETHER = 12
#: Where all of it together does nothing, pairs of so many are tried.
_IN_PAIRS = 6
#: Of candidates, as many are measured under several seeds, if randomness plays a part.
_PROVEN = 3


@dataclass(frozen=True)
class Step:
    """What was taken away (several things, if only together they have an effect), and what came of it."""

    causes: tuple[Intervention, ...]
    effect: Effect
    #: Metric, value before and value after, of the group, as texts.
    before: str
    after: str
    value: float
    #: The value before.
    start: float


@dataclass(frozen=True)
class Tried:
    """A thing that was taken away alone, and its effect."""

    clause: str
    cause: str
    effect: Effect

    @property
    def is_cause(self) -> bool:
        """Whether the effect is worth a word, and not one that chance explains."""
        return not _is_none(self.effect)

    @property
    def text(self) -> str:
        """What it is, and the factor without it; of a rate or a delay, which cannot be without, that with twice or half of it."""
        how = {"full link": "with twice the rate", "own link": "with twice the rate", "delay": "with half of it"}
        return f"{self.clause}: {how.get(self.cause, 'without it')} × {significant(self.effect.factor, 3)}"


@dataclass
class Waterfall:
    """The limits of one group."""

    group: str
    count: int
    #: What is measured, as in "goodput".
    metric: str
    unit: str
    #: As it is.
    value: float
    text: str
    ideal: Ideal | None
    steps: list[Step] = field(default_factory=list)
    #: The path's own limits, once nothing else is left in the way.
    path: list[Tried] = field(default_factory=list)
    without_effect: list[Tried] = field(default_factory=list)
    #: What was not run: the budget ended, or the scenario cannot be without it.
    untested: list[str] = field(default_factory=list)

    #: The largest effect that each thing had alone, before or after others were taken away.
    effects: list[Tried] = field(default_factory=list)
    #: Names and clauses of causes that the budget had no run for.
    not_run: list[tuple[str, str]] = field(default_factory=list)

    @property
    def causes(self) -> list[Intervention]:
        """All causes, the strongest first."""
        return [cause for step in self.steps for cause in step.causes]

    @property
    def felt(self) -> float:
        """What its users get, as a share of the best: of its ideal, or of the scale of opinions; 1 where no best is known."""
        if self.metric == "mean opinion score":
            return (self.value - 1.0) / (_BEST_OPINION - 1.0)
        return min(1.0, math.exp(-self.ideal.gap(self.value))) if self.ideal else 1.0

    @property
    def unexplained(self) -> float | None:
        """The share of the way to the ideal, as logarithms, that no step makes; `None` without an ideal."""
        if self.ideal is None:
            return None
        last = self.steps[-1].value if self.steps else self.value
        whole, rest = self.ideal.gap(self.value), self.ideal.gap(last)
        return min(1.0, max(0.0, rest / whole)) if whole > math.log(WORTH) else 0.0


def waterfall(lab: Lab, group: str) -> Waterfall:
    """Takes away what limits a group, one thing after the other."""
    return _Search(lab, group).made


class _Search:
    def __init__(self, lab: Lab, group: str) -> None:
        self.lab, self.group = lab, group
        base = lab.trial(())
        self.qoe = base.qoe[0][group]
        case = Case(lab.content, base.summary, group)
        self.first = self.qoe.first if self.qoe.kind != "transfers" else next(iter(self.qoe.values))
        self.made = Waterfall(
            group,
            len(case.flows),
            self.qoe.word(self.first),
            "",
            self.qoe.values[self.first],
            self.qoe.text(self.first) + (f", {self.qoe.beside}" if self.qoe.beside else ""),
            ideal_of(case, self.qoe),
        )
        self.made.unit = self.qoe.unit(self.first)
        self.taken: Without = ()
        self.tried: dict[str, Tried] = {}
        self.largest: dict[str, Tried] = {}
        for stage in (ORDINARY, CONTROL):
            while not self._at_ideal() and len(self.made.steps) < _STEPS and self._step(stage):
                pass
        self._path()
        named = {cause.key for cause in self.made.causes}
        self.made.effects = list(self.largest.values())
        self.made.without_effect = [one for key, one in self.tried.items() if key not in named and _is_none(one.effect)]

    @property
    def value(self) -> float:
        return self.made.steps[-1].value if self.made.steps else self.made.value

    def _at_ideal(self) -> bool:
        return self.made.ideal is not None and self.made.ideal.reached(self.value)

    def _case(self) -> Case:
        """The case as it is after what was taken away, measured from the run's begin: what acts in the warm-up is a candidate too."""
        content: dict[str, Any] = self.lab.changed(self.taken)
        return Case(content, self.lab.whole(self.taken), self.group, seconds(content["run"].get("warmup")))

    def _candidates(self, stage: int) -> list[Intervention]:
        known = {one.key for one in self.taken}
        return [one for one in interventions(self._case()) if one.stage == stage and one.key not in known]

    def _measure(self, candidates: Sequence[Intervention]) -> dict[str, Effect]:
        """The effect of each, with more seeds for what chance may have made."""
        self.lab.run(((*self.taken, one), 0) for one in candidates)
        if self.lab.seeds > 1:
            # The strongest alone are candidates for a cause; what comes after them is measured again in the next step.
            known = [one for one in candidates if self._effect(one)]
            going = sorted(known, key=lambda one: -self._effect(one).factor)[:_PROVEN]  # type: ignore[union-attr]
            self.lab.run((self.taken, seed) for seed in range(self.lab.seeds))
            for seed in range(1, _MOST_SEEDS):
                going = [one for one in going if (found := self._effect(one)) and self._is_open(found)]
                if not going:
                    break
                self.lab.run([(self.taken, seed), *(((*self.taken, one), seed) for one in going)])
        effects: dict[str, Effect] = {}
        for one in candidates:
            effect = self._effect(one)
            if effect is None:
                why = self.lab.trial((*self.taken, one)).failure
                self.made.untested.append(f"{one.clause}{f' ({why})' if why else ''}")
                if not why:
                    self.made.not_run.append((one.cause, one.clause))
                continue
            effects[one.key] = effect
            self.tried.setdefault(one.key, Tried(one.clause, one.cause, effect))
            if one.key not in self.largest or effect.factor > self.largest[one.key].effect.factor:
                self.largest[one.key] = Tried(one.clause, one.cause, effect)
        return effects

    def _is_open(self, effect: Effect) -> bool:
        """Whether more seeds can show whether there is an effect."""
        if effect.seeds < self.lab.seeds:
            return effect.factor > 1.02 or (effect.seeds == 1 and effect.factor > 1.0)
        return effect.factor >= WORTH and effect.low <= 1.0

    def _effect(self, one: Intervention) -> Effect | None:
        found = self.lab.effect((*self.taken, one), self.taken, self.group)
        if found and one.to_share and self.made.ideal:
            most = math.exp(max(0.0, self.made.ideal.gap(self.value)))
            found = Effect(min(found.factor, most), min(found.low, most), min(found.high, most), found.seeds)
        return found

    def _step(self, stage: int) -> bool:
        candidates = self._candidates(stage)
        effects = self._measure(candidates)
        known = [one for one in candidates if one.key in effects and not _is_none(effects[one.key])]
        known = [one for one in known if effects[one.key].seeds >= self.lab.seeds] or known
        if known:
            gains = {one.key: self._gain(effects[one.key]) for one in known}
            best = max(gains.values())
            chosen: tuple[Intervention, ...] = (next(one for one in known if gains[one.key] >= TIE * best),)
        else:
            chosen = self._together(
                [one for one in candidates if one.key in effects and effects[one.key].factor > 0.98]
            )
        if not chosen:
            return False
        return self._take(chosen)

    def _gain(self, effect: Effect) -> float:
        """The logarithm of a factor, as far as the ideal: what is beyond that was the share of others."""
        gain = math.log(effect.factor)
        return min(gain, max(math.log(WORTH), self.made.ideal.gap(self.value))) if self.made.ideal else gain

    def _take(self, chosen: tuple[Intervention, ...]) -> bool:
        before, after = self.taken, (*self.taken, *chosen)
        effect = self.lab.effect(after, before, self.group)
        if effect is None:
            return False
        old, new = (mean(self._under_seeds(one, effect.seeds)) for one in (before, after))
        self.made.steps.append(
            Step(
                chosen,
                effect,
                old.text(self.first),
                new.text(self.first),
                new.values[self.first],
                old.values[self.first],
            )
        )
        self.taken = after
        return True

    def _under_seeds(self, without: Without, seeds: int) -> list[Experience]:
        """The group under the first so many seeds that were run: a factor over several seeds is not between numbers of one."""
        qoe = self.lab.trial(without).qoe
        return [qoe[seed][self.group] for seed in sorted(qoe)[:seeds] if self.group in qoe[seed]]

    def _together(self, candidates: list[Intervention]) -> tuple[Intervention, ...]:
        """What helps only together: all of it at once, and then without what is not needed."""
        if len(candidates) < 2:
            return ()
        chosen = tuple(candidates)
        whole = self._joint(chosen)
        if whole is None or _is_none(whole):
            # What helps two may harm beside a third: a first window of the whole path in a handshake's data, say.
            return self._best_pair(candidates)
        enough = 0.9 * math.log(whole.factor)
        # The last in the table is left out first: of two that are as good the first is named.
        for one in candidates[::-1][:_TOGETHER]:
            fewer = tuple(other for other in chosen if other is not one)
            effect = self._joint(fewer) if fewer else None
            if effect and math.log(effect.factor) >= enough:
                chosen = fewer
        return chosen

    def _best_pair(self, candidates: Sequence[Intervention]) -> tuple[Intervention, ...]:
        """The first two in the table that help together nearly as much as any two."""
        pairs = list(itertools.combinations(candidates[:_IN_PAIRS], 2))
        self.lab.run(((*self.taken, *pair), 0) for pair in pairs)
        known = {pair: effect for pair in pairs if (effect := self._effect_of(pair))}
        best = max((effect.factor for effect in known.values()), default=1.0)
        for pair, effect in known.items():
            if effect.factor >= WORTH and math.log(effect.factor) >= TIE * math.log(best):
                proven = self._joint(pair)
                return pair if proven and not _is_none(proven) else ()
        return ()

    def _effect_of(self, chosen: tuple[Intervention, ...]) -> Effect | None:
        return self.lab.effect((*self.taken, *chosen), self.taken, self.group)

    def _joint(self, chosen: tuple[Intervention, ...]) -> Effect | None:
        without = (*self.taken, *chosen)
        seeds = range(self.lab.seeds)
        self.lab.run([(self.taken, seed) for seed in seeds] + [(without, seed) for seed in seeds])
        return self._effect_of(chosen)

    def _path(self) -> None:
        """What is left: the rate and the delay of the path, or what the application writes."""
        candidates = self._candidates(PATH)
        effects = self._measure(candidates)
        found = [
            Tried(one.clause, one.cause, effects[one.key])
            for one in candidates
            if one.key in effects and not _is_none(effects[one.key])
        ]
        self.made.path = sorted(found, key=lambda one: -one.effect.factor) or self._in_a_row(
            [one for one in candidates if one.cause == "full link" and one.key in effects]
        )

    def _in_a_row(self, links: list[Intervention]) -> list[Tried]:
        """Links of which each alone is no limit, since the next one is as narrow: all that are needed, together."""
        chosen = self._together(links)
        effect = self._joint(chosen) if chosen else None
        if effect is None or _is_none(effect):
            return []
        for one in chosen:
            # Each alone makes no difference, since the next one is as narrow: that is the finding, not an exclusion.
            self.tried.pop(one.key, None)
        clauses = [one.clause for one in chosen]
        return [Tried(f"{len(clauses)} bottlenecks in a row: {'; '.join(clauses)}", "full link", effect)]


def _is_none(effect: Effect) -> bool:
    """Whether an effect is too small to name, or one that chance explains."""
    return effect.factor < WORTH or (effect.seeds > 1 and effect.low <= 1.0)
