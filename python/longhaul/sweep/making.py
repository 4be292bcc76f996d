"""Making the runs of a task, wherever that is: on a core of this machine or in a worker of a cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from .. import core
from ..errors import RunCancelled, RunError, ScenarioError
from . import log
from .folders import compact
from .runs import PlannedRun

#: Called with the run that is made, simulated seconds, their number in all, events, and bytes that each group of flows has
#: delivered; `False` stops.
Told = Callable[[PlannedRun, float, float, int, list[int]], bool | None]


@dataclass(frozen=True)
class Batch:
    """What came of the first runs of a task: groups for the log, and messages of those that failed."""

    groups: list[tuple[log.Group, list[float]]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    events: int = 0
    #: How many of the task's runs are made or have failed.
    done: int = 0


def make_summaries(runs: Sequence[PlannedRun], told: Told, budget_s: float = math.inf) -> Batch:
    """Makes runs, without time series, until all are made or `budget_s` is over; at least one."""
    began = time.monotonic()
    made: list[tuple[log.Texts, bytes, float]] = []
    failures: dict[str, str] = {}
    events = done = 0
    for _, members in groupby(runs, key=lambda run: id(run.point)):
        rest = list(members)
        while rest:
            left = budget_s - (time.monotonic() - began)
            if done and left <= 0:
                return Batch(_grouped(made), failures, events, done)
            found, events_of = _under_seeds(rest, told, left, failures)
            made += found
            events += events_of
            count = max(1, len(found))
            done += count
            rest = rest[count:]
    return Batch(_grouped(made), failures, events, done)


def _under_seeds(
    runs: Sequence[PlannedRun], told: Told, budget_s: float, failures: dict[str, str]
) -> tuple[list[tuple[log.Texts, bytes, float]], int]:
    """The first of some runs of one point; the first alone has failed if there are none."""
    point = runs[0].point

    def hears(index: int, now: float, duration: float, events: int, delivered: list[int]) -> bool | None:
        return told(runs[index], now, duration, events, delivered)

    spent = time.thread_time()
    try:
        made = core.run_seeds(
            point.document, point.overrides, [run.seed for run in runs], progress=hears, budget_s=budget_s
        )
    except RunCancelled:
        raise
    except (RunError, ScenarioError) as error:
        failures[runs[0].run_id] = str(error)
        return [], 0
    spent = time.thread_time() - spent
    whole = sum(one.wall_s for one in made) or 1.0
    found = [
        (log.Texts(run.run_id, one.scenario, one.summary), one.definitions, spent * one.wall_s / whole)
        for run, one in zip(runs, made, strict=False)
    ]
    return found, sum(one.events for one in made)


def _grouped(made: list[tuple[log.Texts, bytes, float]]) -> list[tuple[log.Group, list[float]]]:
    """Runs one after the other whose metrics have the same definitions, together."""
    groups = []
    for definitions, members in groupby(made, key=lambda one: one[1]):
        part = list(members)
        group = log.Group(core.program(), definitions, [texts for texts, _, _ in part])
        groups.append((group, [seconds for _, _, seconds in part]))
    return groups


def make_with_series(run: PlannedRun, out: Path, told: Told, follow: Any = None) -> Batch:
    """Makes one run with its time series into the directory `out`."""
    spent, last = time.thread_time(), 0

    def hears(now: float, duration: float, events: int) -> bool | None:
        nonlocal last
        last = events
        return told(run, now, duration, events, [])

    try:
        summary = core.run(run.document, run.overrides, out=out, tables=True, progress=hears, follow=follow)
    except RunCancelled:
        raise
    except (RunError, ScenarioError) as error:
        return Batch(failures={run.run_id: str(error)}, done=1)
    seconds = time.thread_time() - spent
    definitions = compact(summary.pop("definitions"))
    texts = log.Texts(run.run_id, (out / "scenario.toml").read_bytes(), compact(summary))
    group = log.Group(core.program(), definitions, [texts], [run.run_id])
    return Batch([(group, [seconds])], events=last, done=1)
