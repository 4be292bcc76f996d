"""Running a suite: every situation with every entry under the same seeds, as a sweep; then values, verdicts and their files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import core
from ..errors import LonghaulError, RunError, ScenarioError
from ..large import Estimate, estimate, larger
from ..scenario import as_document
from ..sweep import Engine, Plan, Point, Store, SweepResult, make_runs
from ..sweep.execute import Observer
from ..sweep.runs import Replicated
from . import judging
from .judging import Comparison, Value, Values
from .model import Entry, Scale, Situation, Suite

#: So long is the run that tries a class before all runs are made.
_TRIAL = '"3 s"'


@dataclass(frozen=True)
class Made:
    """A suite at work: the situations, the entries, and the runs of both under each seed."""

    suite: Suite
    candidates: Sequence[Entry]
    entries: Sequence[Entry]
    situations: Sequence[Situation]
    plan: Plan


def plan(
    suite: Suite,
    candidates: Sequence[Entry],
    entries: Sequence[Entry],
    scale: Scale,
    *,
    only: Sequence[str] = (),
    first_seed: int = 1,
) -> Made:
    """The runs of a suite; every scenario is checked, nothing is run. `only` has names of situations, or their beginnings.

    Raises `LonghaulError` for a situation that there is not, `ScenarioError` for settings of an entry that do not fit.
    """
    situations = _chosen(suite, suite.of(entries, scale), only)
    points: list[Point] = []
    ids: list[str] = []
    largest = Estimate()
    for situation in situations:
        for entry in entries:
            document = as_document(situation.make(entry, scale))
            try:
                text, run_ids = core.resolve_seeds(document, (), range(first_seed, first_seed + scale.seeds))
            except ScenarioError as error:
                raise ScenarioError(_blamed(entry, situation, str(error))) from None
            largest = larger(largest, estimate(text, False))
            parameters = {"situation": situation.name, "entry": entry.name}
            points.append(Point(len(points), parameters, document, (), weight=situation.weight))
            ids.append("".join(run_ids))
    runs = Replicated(points, ids, first_seed, scale.seeds)
    identity = hashlib.sha256(f"suite {suite.name} {core.version()}".encode()).hexdigest()[:32]
    planned = Plan(
        f"suite {suite.name}", ("situation", "entry"), scale.seeds, first_seed, identity, runs, (largest, largest)
    )
    return Made(suite, candidates, entries, situations, planned)


#: Where a message about a scenario begins that somebody's file is no part of, and the place in it.
_PLACE = re.compile(r"scenario '.*':\d+:\d+: (?:(?:flow|link)\.[^.:]+\.)?(?:forward\.|reverse\.)?")


def _blamed(entry: Entry, situation: Situation, error: str) -> str:
    """An error in an entry: of settings in a file by the name of that file, and not by a line of the suite's scenario."""
    place = _PLACE.match(error) if entry.file else None
    if place is None:
        return f"{entry.name} in {situation.name}: {error}"
    first, *rest = error[place.end() :].splitlines()
    helping = [line for line in rest if line.startswith("help: ")]
    return "\n".join([f"{entry.file}: {first} (in the situation {situation.name})", *helping])


def _chosen(suite: Suite, situations: Sequence[Situation], only: Sequence[str]) -> Sequence[Situation]:
    for word in only:
        if not any(_is_called(one, word) for one in situations):
            names = ", ".join(one.name for one in situations)
            raise LonghaulError(f"--only {word!r}: the suite {suite.name} has no such situation; they are {names}")
    return [one for one in situations if not only or any(_is_called(one, word) for word in only)]


def _is_called(situation: Situation, word: str) -> bool:
    return situation.name == word or situation.name.startswith(f"{word}/")


def try_classes(made: Made) -> None:
    """Runs the first situation with each class in Python for a few seconds: an error in it ends the command before all runs do."""
    for entry in made.candidates:
        control = entry.settings.get("congestion")
        if isinstance(control, Mapping) and control.get("kind") == "python":
            point = next(one for one in made.plan.runs if one.parameters["entry"] == entry.name)
            try:
                core.run(point.document, (("run.duration", _TRIAL), ("run.warmup", '"0 s"')), tables=False)
            except (RunError, ScenarioError) as error:
                raise LonghaulError(f"{entry.name}: {error}") from None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a suite: values by situation, measure and entry, comparisons of each candidate, and what the runs took."""

    made: Made
    values: Mapping[tuple[str, str, str], Values]
    comparisons: Mapping[str, Sequence[Comparison]]
    #: CPU seconds of all runs, those that an earlier command made among them.
    cpu_s: float
    #: How many runs this command has made.
    runs: int
    #: Warnings of the simulator about the candidates' settings, each once.
    notes: Sequence[str] = ()


def run(
    made: Made,
    out: Path,
    *,
    jobs: int | None = None,
    engine: str | Engine = "local",
    force: bool = False,
    changed: str = "refuse",
    observer: Observer | None = None,
) -> Outcome:
    """Makes the runs that are missing in `out`, judges all, and writes the tables. Runs that are there are kept: a run is the same
    if all that matters is, so that of the next candidate only its own are made.
    """
    result = make_runs(
        made.plan, out, jobs=jobs, engine=engine, resume=not force, force=force, changed=changed, observer=observer
    )
    outcome = judged(made, Store(out, made.plan), result)
    from . import written

    written.write(out, outcome, force=force)
    return outcome


def judged(made: Made, store: Store, result: SweepResult) -> Outcome:
    """Values and verdicts of the runs that are there."""
    values: dict[tuple[str, str, str], dict[int, Value]] = {}
    by_name = {one.name: one for one in made.situations}
    for planned, metrics in store.rows():
        situation, entry = by_name[planned.parameters["situation"]], planned.parameters["entry"]
        for measure in situation.measures:
            found = judging.value_of(measure, situation, metrics)
            if found is not None:
                values.setdefault((situation.name, measure.name, entry), {})[planned.seed] = found
    comparisons = {
        one.name: judging.judge(made.situations, one.name, made.suite.beside, values) for one in made.candidates
    }
    seconds = store.records.seconds()
    cpu = sum(seconds.get(one.run_id, 0.0) for one in made.plan.unique)
    return Outcome(made, values, comparisons, cpu, result.made, _notes(made, result))


def _notes(made: Made, result: SweepResult) -> list[str]:
    """Settings that a candidate's authors ask for and that it lacks, by the first seed of each situation."""
    candidates = {one.name for one in made.candidates}
    found: dict[str, None] = {}
    for planned in made.plan.runs:
        if planned.replication == 0 and planned.parameters["entry"] in candidates:
            for warning in result.run(planned.run_id).warnings:
                if warning["code"] == "missing_companions":
                    found.setdefault(warning["message"].removeprefix(f"{warning['object']}: "))
    return list(found)
