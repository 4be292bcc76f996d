"""The least change that reaches a goal: the numbers of remedies are turned back towards the present ones by bisection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .goal import Goal
from .race import Interval, Race, Trial, interval
from .remedy import Dial

#: A number reaches the goal if it does under each of so many seeds, the same ones for every number.
SEEDS = 5
#: The search ends where a number that fails is nearer than this share, or one step.
_NEAR = 0.01
#: How often a number that brings the goal nearer is doubled beyond what was tried.
_DOUBLINGS = 6
#: So many kinds of remedies have their least number searched.
_KINDS = 3


@dataclass(frozen=True)
class Step:
    """What one number of a remedy came to: the goal's metric, of each seed that of the group furthest from the goal."""

    value: int
    text: str
    reached: Interval
    #: Under how many of its seeds it reached the goal.
    met: int


@dataclass(frozen=True)
class Turned:
    """A number of a remedy at its least value that reaches the goal."""

    what: str
    least: Step
    #: The nearest number that was tried and fails; that of the scenario as it is, if none between was tried.
    short: Step
    #: The numbers as it is, and of the remedy as it was tried first.
    now: str
    tried: str
    #: False if the budget ended before both were next to each other.
    settled: bool


@dataclass(frozen=True)
class Least:
    """A remedy with the least numbers that reach the goal; of several numbers one after the other."""

    trial: Trial
    turned: tuple[Turned, ...]


def values(trial: Trial, goal: Goal, groups: Sequence[str]) -> list[float]:
    """The goal's metric under each seed, of the group that is furthest from it; infinite where a run has none."""
    found = []
    for seed in sorted(trial.qoe):
        every = goal.values(trial.summaries[seed], trial.qoe[seed], groups)
        worst = min if goal.above else max
        found.append(worst(every) if every else -math.inf if goal.above else math.inf)
    return found


def meets(trial: Trial, goal: Goal, groups: Sequence[str]) -> bool:
    """Whether every seed reaches the goal."""
    found = values(trial, goal, groups)
    return bool(found) and all(map(goal.met, found))


def search(race: Race, base: Trial, trials: Sequence[Trial], goal: Goal, groups: Sequence[str]) -> list[Least]:
    """The least changes of up to three kinds, the smallest effort first; none if `base` reaches the goal."""
    race.run((base, seed) for seed in range(SEEDS))
    if meets(base, goal, groups):
        return []
    near = [trial for trial in trials if trial.remedy and meets(trial, goal, groups)]
    if not near:
        near = [trial for one in trials if (trial := _beyond(race, base, one, goal, groups))]
    near.sort(key=lambda trial: (_effort(trial), _distance(trial)))
    found: dict[str, Least] = {}
    for trial in near:
        family = trial.remedy.family if trial.remedy else ""
        if family in found or len(found) == _KINDS or race.spent:
            continue
        # Of those without a number the seeds decide whether they are a change that reaches it.
        race.run((trial, seed) for seed in range(SEEDS))
        if not meets(trial, goal, groups) or not (trial.remedy and trial.remedy.dials):
            continue
        found[family] = _least(race, base, trial, goal, groups)
    return list(found.values())


def _beyond(race: Race, base: Trial, trial: Trial, goal: Goal, groups: Sequence[str]) -> Trial | None:
    """A remedy whose number, doubled (or halved) as often as that brings the goal nearer, reaches it; `None` if none does."""
    remedy = trial.remedy
    if remedy is None or len(remedy.dials) != 1 or not trial.qoe or race.spent:
        return None
    (dial,) = remedy.dials
    way = 1 if goal.above else -1
    best, value = way * values(trial, goal, groups)[0], dial.tried
    if best <= way * values(base, goal, groups)[0]:
        return None
    for _ in range(_DOUBLINGS):
        value = value * 2 if dial.tried > dial.now else value // 2
        made = dial.made(value)
        if value < 1 or race.possible(made):
            return None
        further = Trial(replace(made, dials=(replace(dial, tried=value),)))
        race.run([(further, 0)])
        if not further.qoe:
            return None
        now = way * values(further, goal, groups)[0]
        if meets(further, goal, groups):
            return further
        # A round trip less is a step: between two of them a larger number gains nothing.
        if now < best - _NEAR * abs(best):
            return None
        best = max(best, now)
    return None


def _effort(trial: Trial) -> int:
    return trial.remedy.effort if trial.remedy else 0


def _distance(trial: Trial) -> float:
    """How far the numbers of a remedy are from the present ones, as a logarithm."""
    dials = trial.remedy.dials if trial.remedy else ()
    return math.fsum(abs(math.log(max(1, dial.tried) / max(1, dial.now))) for dial in dials)


def _least(race: Race, base: Trial, trial: Trial, goal: Goal, groups: Sequence[str]) -> Least:
    turned = []
    while trial.remedy and trial.remedy.dials:
        # A number that was turned has no dial any more, so the first is always the next.
        found, trial = _turn(race, base, trial, trial.remedy.dials[0], goal, groups)
        turned.append(found)
    return Least(trial, tuple(turned))


def _turn(race: Race, base: Trial, trial: Trial, dial: Dial, goal: Goal, groups: Sequence[str]) -> tuple[Turned, Trial]:
    """Bisects between the present number, which fails, and the tried one, which reaches the goal."""
    low, high = dial.now, dial.tried
    best = Trial(dial.made(high), trial.qoe, trial.summaries)
    short, failed = base, dial.now
    while not _next_to(low, high):
        middle = _middle(low, high)
        one = Trial(dial.made(middle))
        reached = False if one.remedy and race.possible(one.remedy) else _reaches(race, one, goal, groups)
        if reached is None:
            break
        if reached:
            high, best = middle, one
            continue
        low = middle
        if one.qoe:
            short, failed = one, middle
    race.run((short, seed) for seed in range(SEEDS))
    found = Turned(
        dial.what,
        _step(dial, high, best, goal, groups),
        _step(dial, failed, short, goal, groups),
        dial.text(dial.now) if dial.now else "none",
        dial.text(dial.tried),
        _next_to(low, high),
    )
    return found, best


def _next_to(low: int, high: int) -> bool:
    """Whether there is nothing between two numbers that is worth a run.

    >>> _next_to(16, 17), _next_to(10, 64), _next_to(1000, 1009)
    (True, False, True)
    """
    return abs(high - low) <= max(1.0, _NEAR * min(low, high))


def _middle(low: int, high: int) -> int:
    """A number between two others, as many times the lesser as the larger is times it.

    >>> _middle(10, 40), _middle(0, 100), _middle(3, 1)
    (20, 10, 2)
    """
    least, most = sorted((low, high))
    return min(max(round(math.sqrt(max(1, least) * most)), least + 1), most - 1)


def _reaches(race: Race, trial: Trial, goal: Goal, groups: Sequence[str]) -> bool | None:
    """Whether it does under every seed; one alone comes first, since it often decides. `None` if the budget ended."""
    for seeds in (1, SEEDS):
        race.run((trial, seed) for seed in range(seeds))
        if trial.failure is not None:
            return False
        if trial.qoe and not meets(trial, goal, groups):
            return False
    return True if len(trial.qoe) >= SEEDS else None


def _step(dial: Dial, value: int, trial: Trial, goal: Goal, groups: Sequence[str]) -> Step:
    found = values(trial, goal, groups)
    known = [value for value in found if math.isfinite(value)]
    return Step(value, dial.text(value) if value else "none", interval(known), sum(map(goal.met, found)))
