"""What to change: remedies that fit the diagnosis, tried in the simulator, ranked by quality of experience (QoE).

Causes are proven first (`longhaul.why`). Remedies that are for these (`remedies`) are run one by one with the seeds of the
scenario as it is, then the best of different kinds in pairs, until intervals tell the best from the rest (`race`).
"""

from __future__ import annotations

import itertools
import math
import os
import re
import time
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import core
from ..budget import read_budget
from ..document import Document
from ..errors import LonghaulError, ScenarioError
from ..results import Result, load_run
from ..scenario import Scenario, as_document, overrides
from ..sweep import ENGINES
from ..values import folder, whole, word
from ..why.engine import Lab
from ..why.waterfall import TIE, waterfall
from .advice import NEARLY, Advice, LeastChange, Row, Untried, resent
from .diagnosis import Diagnosis, uses_tcp
from .goal import Goal, read_goal
from .least import meets, search
from .limits import Limit, limits_of
from .race import SAME, Race, Trial, interval, leader, same_as
from .remedies import remedies
from .remedy import PLACES, allowed, both

__all__ = ["PLACES", "Advice", "LeastChange", "Limit", "Row", "Untried", "advise", "advise_document"]

#: Seeds for each remedy before pairs are made, and at most.
_SEEDS_BEFORE_PAIRS, _SEEDS = 4, 8
#: Shares of packets that are sent again differ by this if they differ.
_MORE_RESENT = 0.02
#: Two changes at once have to be better than either by this, as a logarithm.
_WORTH_TWO = math.log(1.05)
#: The best of so many families are tried in pairs.
_PAIRED = 4
#: So many pairs for causes that hide one another are tried.
_HIDING = 8
#: So many pairs of remedies that do nothing alone are tried.
_TOGETHER = 2
#: Why a remedy that fits has no row.
_NO_BUDGET = "the budget was used up"
#: The share of the budget that is left for the least change, if a goal is given.
_FOR_GOAL = 0.5
#: The share of the budget after which the best rows are made certain, before the rest is tried.
_FIRST_LOOK = 0.6
#: So many rows are made certain first, and their seeds where chance plays a part: fewer give no interval worth the name.
_SURE, _SURE_SEEDS = 3, 3
#: The share of the budget in which causes are tested.
_FOR_CAUSES = 0.25


def advise(
    what: Scenario | Document | Result | str | Path,
    *,
    set: Mapping[str, Any] | None = None,
    can: str | Sequence[str] = PLACES,
    groups: str | Sequence[str] | None = None,
    goal: str | None = None,
    budget: str | None = None,
    seconds: float | None = 60.0,
    runs: int | None = None,
    jobs: int | None = None,
    engine: str = "local",
    observer: Callable[[int, str], None] | None = None,
) -> Advice:
    """What to change in a scenario, or in that of a result, to improve the QoE of its applications.

    `can` names who can be asked to change something: "sender", "receiver", "router", "proxy". `groups` are the groups of flows to
    serve (all); the others are neighbours, and rows show what each remedy costs them. `goal`, as in "completion p95 < 5 s", asks for
    the least change that reaches it: numbers of remedies that do are searched for their least value. `budget`, as in "60 s" or
    "200 runs", is wall-clock time or a number of runs, which the scenario as it is takes part of; `seconds` and `runs` (at least 1)
    are the same as numbers, and hold together. `engine` and `jobs` as in `sweep`.
    `observer(runs, title)` is called after each run. Settings in `set` are changed first. Raises `ScenarioError`, `ResultError`, and
    `LonghaulError` for words that are not known.

    >>> s = (
    ...     Scenario("thin", duration="20 s")
    ...     .link("path", "a", "b", rate="10 Mbit/s", delay="50 ms")
    ...     .flow("a", "b", tcp={"receive_buffer": "32 kB"})
    ... )
    >>> advise(s, can=["receiver"]).best.title
    'receive buffer of 256 KiB'
    """
    if isinstance(what, Result):
        document = Document(what.scenario, f"the scenario of {what.path}")
    elif isinstance(what, str | os.PathLike) and Path(what).is_dir():
        document = Document(load_run(folder(what, "what")).scenario, f"the scenario of {what}")
    else:
        document = as_document(what)
    if budget is not None:
        if runs is not None:
            raise LonghaulError("give budget= or runs=, not both")
        seconds, runs = read_budget(budget, "budget=")
    word(engine, "engine", ENGINES)
    jobs = None if jobs is None else whole(jobs, "jobs", 1)
    runs = None if runs is None else whole(runs, "runs", 1)
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        raise LonghaulError(f"seconds={seconds!r}: it is a time in s above 0, or None")
    try:
        return advise_document(
            document, overrides(set), can=_words(can), groups=None if groups is None else _words(groups), goal=goal, seconds=seconds,
            runs=runs, jobs=jobs, engine=engine, observer=observer,
        )  # fmt: skip
    except LonghaulError as error:
        # The command's options are keywords here.
        error.args = (re.sub(r"^--(can|goal) ", r"\1=", str(error)),)
        raise


def _words(given: str | Sequence[str]) -> list[str]:
    """Words in a list, or in one text with commas."""
    return [word.strip() for word in given.split(",") if word.strip()] if isinstance(given, str) else list(given)


def advise_document(
    document: Document,
    changes: core.Overrides = (),
    *,
    can: Sequence[str] = PLACES,
    groups: Sequence[str] | None = None,
    goal: str | None = None,
    seconds: float | None = 60.0,
    runs: int | None = None,
    jobs: int | None = None,
    engine: str = "local",
    observer: Callable[[int, str], None] | None = None,
) -> Advice:
    """As `advise`, for a document and overrides that are TOML text already."""
    for place in can:
        if place not in PLACES:
            raise LonghaulError(f"--can {place}: no such place; choose from {', '.join(PLACES)}")
    wanted = read_goal(goal) if goal else None
    content = tomllib.loads(core.resolve(document, changes)[0])
    named = [str(flow["name"]) for flow in content.get("flow", ())]
    for name in (*(groups or ()), *([wanted.group] if wanted and wanted.group else [])):
        if name not in named:
            raise ScenarioError(f"{document.source}: no group {name!r}; the groups are {', '.join(named)}")
    race = Race(
        document, changes, content, engine=engine, jobs=jobs, runs=runs, seconds=seconds, observer=observer
    )  # fmt: skip
    base = Trial(None)
    began = time.monotonic()
    race.run([(base, 0)], always=True)
    took = time.monotonic() - began
    if base.failure is not None:
        raise LonghaulError(base.failure)
    if wanted is not None:
        wanted.check(base.summaries[0], base.qoe[0])
    served = list(groups) if groups else list(base.qoe[0])
    served = [name for name in served if name in base.qoe[0]]
    if not served:
        raise ScenarioError(f"{document.source}: no flow was active in the measured time, so nothing can be advised")
    found = Diagnosis(base.summaries[0], content, served, _keys(document, named))
    lab = Lab(
        content, document.folder, math.inf if seconds is None else _FOR_CAUSES * seconds, base.summaries[0], observer,
        None if runs is None else math.floor(_FOR_CAUSES * runs),
    )  # fmt: skip
    lab.look_for_chance()
    found.take([waterfall(lab, name) for name in served])
    race.made += lab.made
    if lab.tested_chance and lab.seeds == 1:
        race.by_chance = False
        base.spread()
    stack = _stack(found)
    return replace(_search(race, base, found, served, can, wanted), first_run_s=took, stack=stack)


def _stack(found: Diagnosis) -> str:
    """A sentence about the stack of the numbers, if that is not the one that commands for Linux change."""
    others = {str(one["name"]): str(one["tcp"]["variant"]) for one in found.sections if uses_tcp(one)}
    others = {name: variant for name, variant in others.items() if variant != "linux"}
    if not others:
        return ""
    variants = " and ".join(dict.fromkeys(others.values()))
    setting = f"flow.{found.keys[next(iter(others))]}.tcp.variant=linux"
    return f"The numbers hold for tcp.variant = {variants}, the commands are for Linux: --set {setting} computes Linux's numbers."


def _keys(document: Document, named: Sequence[str]) -> dict[str, str]:
    """How `--set` names each section of flows: by its name if the document gives one, else by its number."""
    written = tomllib.loads(document.text).get("flow", [])
    return {name: name if "name" in written[number] else str(number) for number, name in enumerate(named)}


def _search(
    race: Race, base: Trial, found: Diagnosis, served: list[str], can: Sequence[str], goal: Goal | None
) -> Advice:
    whole = 1.0 if goal is None else 1 - _FOR_GOAL
    race.allow(_FIRST_LOOK * whole)
    singles, untried = _chosen(race, found, can)
    # What the waterfall proved, alone or together, is the likeliest advice: it comes first, and is made certain before anything else
    # is tried.
    proven = _proven(race, singles, found)
    race.run((trial, 0) for trials in proven for trial in trials)
    pairs_first = [trials[-1] for trials in proven if len(trials) > 1]
    _make_sure(race, base, [trials[-1] for trials in proven], served)
    race.run((trial, 0) for trial in singles)
    race.allow(whole)
    # The best rows are made certain while there is a budget; what was not looked at comes after them.
    _make_sure(race, base, [*pairs_first, *singles], served)
    race.run((trial, 0) for trial in singles)
    chained = _in_a_row(race, base, singles, found, pairs_first)
    race.run((trial, 0) for trial in chained)
    # What seems to help is tried twice before the best are distinguished: the budget may end with that.
    race.run([(base, 1)])
    promising = sorted(singles, key=lambda trial: -interval(trial.gains(base, served)).mean)
    race.run((trial, 1) for trial in promising if trial.qoe and interval(trial.gains(base, served)).mean > SAME)
    told = race.tell_apart(base, singles, served, _SEEDS_BEFORE_PAIRS)
    reached = goal is not None and any(meets(trial, goal, served) for trial in (base, *singles))
    pairs = []
    if not reached:
        titles = {trial.remedy.title for trial in chained if trial.remedy}
        pairs = chained + [
            one for one in _pairs(race, base, singles, served) if one.remedy and one.remedy.title not in titles
        ]
        pairs += _neutral(race, base, singles, found, pairs)
    race.run((trial, seed) for trial in pairs for seed in range(max(1, len(leader(base, singles, served).qoe))))
    trials = [*singles, *pairs]
    told = race.tell_apart(base, trials, served, _SEEDS) and told
    race.allow(1.0)
    least = [] if goal is None else _least_changes(race, base, found, trials, served, goal)
    # What was far from the best has one seed yet: with three its effect can be evaluated.
    race.run((trial, seed) for trial in trials if trial.qoe for seed in range(min(3, len(base.qoe))))
    tried = [trial for trial in trials if trial.qoe]
    rows = [_row(trial, base, found, served) for trial in _ranked(base, tried, served, found.proven)]
    for trial in trials:
        if not trial.qoe:
            why = trial.failure or _NO_BUDGET
            untried.append(Untried(trial.remedy.title if trial.remedy else "", why))
    limits = limits_of(found, base)
    return Advice(
        name=str(base.summaries[0]["name"]),
        groups=served,
        rows=rows,
        untried=untried,
        limits=limits,
        before=base.qoe[0],
        findings=dict(found.findings),
        runs=race.made,
        seeds=len(base.qoe),
        told_apart=told,
        out_of_budget=sum(one.why == _NO_BUDGET for one in untried),
        goal=goal,
        goal_row=_reached(rows, goal, trials, least),
        goal_met_already=goal is not None and meets(base, goal, served),
        least=least,
    )


def _chosen(race: Race, found: Diagnosis, can: Sequence[str]) -> tuple[list[Trial], list[Untried]]:
    """What is tried, and what is not and why: for each kind of remedy that aims at nothing present the evidence."""
    present = found.present
    trials: list[Trial] = []
    untried: dict[str, Untried] = {}
    for remedy in remedies(found):
        if not remedy.settings:
            continue
        if not remedy.aims & present:
            reasons = [text for aim, text in found.absent.items() if aim in remedy.aims]
            why = "; ".join(reasons[:2]) or f"no sign of what it helps against: {', '.join(sorted(remedy.aims)[:3])}"
            untried.setdefault(remedy.family, Untried(remedy.title, why))
            continue
        if not allowed(remedy, can):
            missing = [place for place in remedy.place.split(" and ") if place not in can]
            untried.setdefault(
                f"{remedy.family} at {missing}",
                Untried(remedy.title, f"the {missing[0]} cannot be changed"),
            )
            continue
        if reason := race.possible(remedy):
            untried.setdefault(f"{remedy.family}: {reason}", Untried(remedy.title, reason))
            continue
        trials.append(Trial(remedy))
    families = {trial.remedy.family for trial in trials if trial.remedy}
    # For the strongest cause first, and of these the smallest changes: the budget may end.
    order = {cause: number for number, cause in enumerate((*found.findings, *found.untested))}
    trials.sort(
        key=lambda trial: (
            (min(order[aim] for aim in trial.remedy.aims & present), trial.remedy.effort) if trial.remedy else (0, 0)
        )
    )
    return trials, [one for family, one in untried.items() if family not in families]


def _pairs(race: Race, base: Trial, singles: Sequence[Trial], served: Sequence[str]) -> list[Trial]:
    """The best of each family that is better than nothing, two at a time."""
    best: dict[str, tuple[float, Trial]] = {}
    for trial in singles:
        gain = interval(trial.gains(base, served)).mean if trial.qoe else -math.inf
        if trial.remedy and gain > SAME and gain > best.get(trial.remedy.family, (0.0, trial))[0]:
            best[trial.remedy.family] = (gain, trial)
    chosen = [trial for _, trial in sorted(best.values(), key=lambda item: -item[0])[:_PAIRED]]
    made = []
    for one, other in itertools.combinations(chosen, 2):
        if one.remedy and other.remedy and (pair := both(one.remedy, other.remedy)) and not race.possible(pair):
            made.append(Trial(pair))
    return made


def _neutral(
    race: Race, base: Trial, singles: Sequence[Trial], found: Diagnosis, known: Sequence[Trial]
) -> list[Trial]:
    """Pairs that answer the same finding, of which neither does anything alone: that which the fewest remedies answer first."""
    idle = [
        trial
        for trial in singles
        if trial.remedy and trial.qoe and abs(interval(trial.gains(base, found.groups)).mean) < SAME
    ]
    answers = {name: sum(bool(one.remedy and name in one.remedy.aims) for one in singles) for name in found.present}
    titles = {trial.remedy.title for trial in known if trial.remedy}
    made: list[tuple[int, int, Trial]] = []
    for one, other in itertools.combinations(idle, 2):
        assert one.remedy
        assert other.remedy
        shared = one.remedy.aims & other.remedy.aims & found.present
        pair = both(one.remedy, other.remedy)
        if not shared or pair is None or {pair.title, f"{other.remedy.title}; {one.remedy.title}"} & titles:
            continue
        made.append((min(answers[name] for name in shared), pair.effort, Trial(pair)))
    made.sort(key=lambda item: item[:2])
    fit = (trial for _, _, trial in made if trial.remedy and not race.possible(trial.remedy))
    return list(itertools.islice(fit, _TOGETHER))


def _proven(race: Race, singles: Sequence[Trial], found: Diagnosis) -> list[list[Trial]]:
    """For each group a remedy for what the waterfall took away first, and one for what came after it and both together.

    Of the remedies for a cause it is the one that is for nothing else, and the smallest change: what it does is what was proven.
    """
    made: list[list[Trial]] = []
    for chain in found.chains:
        if not chain or (one := _made_for(chain[0], singles)) is None:
            continue
        others = [trial for cause in chain[1:3] if (trial := _made_for(cause, singles)) not in (None, one)]
        made.append([one])
        for other in others:
            assert one.remedy
            assert other is not None
            assert other.remedy
            pair = both(one.remedy, other.remedy)
            known = {trials[-1].remedy.title for trials in made if trials[-1].remedy}
            if pair is not None and pair.title not in known and not race.possible(pair):
                made.append([other, Trial(pair)])
    return made


def _made_for(cause: str, singles: Sequence[Trial]) -> Trial | None:
    """The remedy for this cause that is for the fewest others, then the smallest change."""
    fit = [trial for trial in singles if trial.remedy and cause in trial.remedy.aims]
    return min(
        fit,
        key=lambda trial: (len(trial.remedy.aims), trial.remedy.effort) if trial.remedy else (0, 0),
        default=None,
    )


def _make_sure(race: Race, base: Trial, trials: Sequence[Trial], served: Sequence[str]) -> None:
    """Further seeds for the best that help under the first one: as many as an interval needs."""
    tried = [(interval(trial.gains(base, served)).mean, trial) for trial in trials if trial.qoe]
    best = sorted((one for one in tried if one[0] > SAME), key=lambda one: -one[0])[:_SURE]
    if not best:
        return
    seeds = range(1, _SURE_SEEDS if race.by_chance else 2)
    race.run((trial, seed) for seed in seeds for trial in (base, *(trial for _, trial in best)))


def _in_a_row(
    race: Race, base: Trial, singles: Sequence[Trial], found: Diagnosis, known: Sequence[Trial] = ()
) -> list[Trial]:
    """Pairs for causes of which one hides the other: the best remedies for each, by the order in which the causes showed.

    `known` are such pairs that were tried already, and stand before the others.
    """
    titles = {trial.remedy.title for trial in known if trial.remedy}
    made: list[Trial] = [*known]
    for chain in found.chains:
        for first, second in itertools.combinations(chain[:3], 2):
            for one, other in itertools.product(*(_best_for(cause, base, singles, found) for cause in (first, second))):
                assert one.remedy
                assert other.remedy
                pair = both(one.remedy, other.remedy)
                if (
                    pair is None
                    or {pair.title, f"{other.remedy.title}; {one.remedy.title}"} & titles
                    or race.possible(pair)
                ):
                    continue
                titles.add(pair.title)
                made.append(Trial(pair))
    return made[:_HIDING]


def _best_for(cause: str, base: Trial, singles: Sequence[Trial], found: Diagnosis) -> list[Trial]:
    """For a cause the best remedy of each of a few families: those that are for the fewest other causes first."""
    # What makes it worse alone would only hide what the other one gains.
    fit = [
        trial
        for trial in singles
        if trial.remedy and trial.qoe and cause in trial.remedy.aims and not _harms(trial, base, found.groups)
    ]
    fit.sort(
        key=lambda trial: (
            len(trial.remedy.aims) if trial.remedy else 0,
            -interval(trial.gains(base, found.groups)).mean,
        )
    )
    best = {trial.remedy.family: trial for trial in reversed(fit) if trial.remedy}
    return [trial for trial in fit if trial in best.values()][:2]


def _harms(trial: Trial, base: Trial, served: Sequence[str]) -> bool:
    """Whether a remedy alone makes it worse, as far as is known."""
    return bool(trial.qoe) and interval(trial.gains(base, served)).mean <= -SAME


def _ranked(base: Trial, trials: Sequence[Trial], served: Sequence[str], proven: Collection[str] = ()) -> list[Trial]:
    """The best first; of what cannot be distinguished from it, or gives nine tenths of its factor, the smaller change.

    Of equal changes that which is for a proven cause comes first, then that which retransmits least.

    Where the best takes another protocol or another number of connections, a setting of hosts that has three quarters of its effect
    stands before it: so much is equal to an explanation too.

    What is no better than a part of it is left out (both directions of a link where one is enough, two remedies of which one does
    it), and so are pairs of which one alone makes it worse.
    """
    order = sorted(trials, key=lambda trial: -interval(trial.gains(base, served)).mean)
    singles = {trial.remedy.title: trial for trial in order if trial.remedy and "; " not in trial.remedy.title}
    kept = []
    for trial in order:
        parts = trial.remedy.title.split("; ") if trial.remedy else []
        known = [singles[part] for part in parts if part in singles] if len(parts) == 2 else []
        if any(_harms(one, base, served) for one in known) or not all(_beats(trial, one, served) for one in known):
            continue
        if any(_is_enough(one, trial, served) for one in order):
            continue
        kept.append(trial)
    ranked: list[Trial] = []
    while kept:
        best = kept[0]
        most = interval(best.gains(base, served)).mean
        replaces = bool(best.remedy and best.remedy.replaces)
        equal = [trial for trial in kept if _is_as_good(trial, best, most, base, served)]
        if replaces and (settings := [trial for trial in equal if trial.remedy and trial.remedy.is_setting]):
            # Of these the usual order: the best, or a smaller change that gives nearly as much.
            first, top = settings[0], interval(settings[0].gains(base, served)).mean
            equal = [trial for trial in settings if _is_as_good(trial, first, top, base, served)]
        equal.sort(
            key=lambda trial: (
                replaces and not (trial.remedy and trial.remedy.is_setting),
                # Another protocol, or more connections, is never the smaller of two changes.
                bool(trial.remedy and trial.remedy.replaces),
                *_change(trial, proven),
                _resent(trial, served),
                -interval(trial.gains(base, served)).mean,
            )
        )
        ranked.append(equal[0])
        kept.remove(equal[0])
    return ranked


def _change(trial: Trial, proven: Collection[str]) -> tuple[bool, int]:
    """Whether a remedy is for no proven cause, and how large a change it is."""
    if trial.remedy is None:
        return False, 0
    return bool(proven) and trial.remedy.aims.isdisjoint(proven), trial.remedy.effort


def _resent(trial: Trial, served: Sequence[str]) -> int:
    """The share of packets that was sent again, in steps of two hundredths: less than one is no difference."""
    flows = [flow for flow in trial.summaries.get(0, {}).get("flows", ()) if flow["group"] in served]
    return math.floor(resent(flows) / _MORE_RESENT)


def _is_as_good(trial: Trial, best: Trial, most: float, base: Trial, served: Sequence[str]) -> bool:
    """Whether a trial can stand in the best one's place: `most` is the logarithm of the best factor."""
    if same_as(trial, best, served):
        return True
    gain = interval(trial.gains(base, served)).mean
    instead = best.remedy and best.remedy.replaces and trial.remedy and trial.remedy.is_setting
    least = TIE * most if instead else most + math.log(NEARLY)
    # Nine tenths of nothing would be a harm.
    return most > SAME and gain >= max(least, SAME)


def _beats(pair: Trial, single: Trial, served: Sequence[str]) -> bool:
    return not same_as(pair, single, served) and interval(pair.gains(single, served)).mean > _WORTH_TWO


def _is_enough(part: Trial, whole: Trial, served: Sequence[str]) -> bool:
    """Whether the settings of one remedy are a part of those of another one, which does neither better nor worse."""
    if not (part.remedy and whole.remedy and part.remedy.settings.items() < whole.remedy.settings.items()):
        return False
    return not _beats(whole, part, served) and interval(whole.gains(part, served)).mean > -SAME


def _row(trial: Trial, base: Trial, found: Diagnosis, served: Sequence[str]) -> Row:
    assert trial.remedy is not None
    gain = interval(trial.gains(base, served))
    verdict = "nothing"
    if abs(gain.mean) >= SAME and not gain.low <= 0 <= gain.high:
        verdict = "better" if gain.mean > 0 else "worse"
    elif abs(gain.mean) >= SAME:
        verdict = "uncertain"
    after = Diagnosis(trial.summaries[min(trial.summaries)], found.content, found.groups, found.keys)
    return Row.of(trial, base, trial.remedy, gain, verdict, found, after)


def _least_changes(
    race: Race, base: Trial, found: Diagnosis, trials: Sequence[Trial], served: Sequence[str], goal: Goal
) -> list[LeastChange]:
    least = search(race, base, trials, goal, served)
    return [LeastChange(_row(one.trial, base, found, served), one.turned, goal) for one in least]


def _reached(
    rows: Sequence[Row], goal: Goal | None, trials: Sequence[Trial], least: Sequence[LeastChange]
) -> Row | None:
    """The row of the least change that reaches the goal under every seed: of equal effort a number at its least, then the best."""
    if goal is None:
        return None
    by_title = {trial.remedy.title: trial for trial in trials if trial.remedy}
    reached = [row for row in rows if meets(by_title[row.title], goal, row.groups)]
    whole = min(reached, key=lambda row: (row.remedy.effort, -row.gain.mean), default=None)
    turned = least[0].row if least else None
    if turned is None or (whole is not None and whole.remedy.effort < turned.remedy.effort):
        return whole
    return turned
