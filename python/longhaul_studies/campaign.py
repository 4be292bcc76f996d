"""A study's runs: a plan from its experiments, run as a sweep, in a directory that several scales share.

OUT/manifest.json       which study this is
OUT/runs/ID/            every run, of any scale, once
OUT/SCALE/              manifest and tables of the runs of one scale, verdicts, figures, report
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longhaul import core, outputs
from longhaul.errors import LonghaulError, OutputError, ResultError
from longhaul.files import json_text, write_atomically
from longhaul.results import read_json
from longhaul.sweep import Engine, Plan, PlannedRun, Point, Store, make_engine, settle, unique
from longhaul.sweep.execute import Observer, execute

from . import seeds
from .model import READINGS, Study
from .results import Results, Row, draws


@dataclass(frozen=True)
class Campaign:
    """The runs of a study at one scale, and where their results are."""

    study: Study
    scale: str
    store: Store
    #: The experiment of each planned run, by cell.
    experiments: tuple[str, ...]
    #: The reading of each planned run, by cell; empty for the base.
    readings: tuple[str, ...]
    #: Ids of further runs, which are made only where a verdict depends on a single seed (`seeds`).
    further: frozenset[str] = frozenset()

    @property
    def plan(self) -> Plan:
        """All runs of this scale."""
        return self.store.plan

    def missing(
        self, experiments: Sequence[str] | None = None, shard: tuple[int, int] | None = None
    ) -> list[PlannedRun]:
        """Runs that are not done: of some experiments, or of one shard of them (number from 1, count); no further seeds."""
        wanted = [
            run for run in self.plan.runs
            if run.run_id not in self.further and (experiments is None or self.experiments[run.cell] in experiments)
        ]  # fmt: skip
        chosen = unique(wanted)
        if shard:
            chosen = chosen[shard[0] - 1 :: shard[1]]
        return [run for run in chosen if not self.store.done(run)]

    def missing_further(self, experiments: Sequence[str] | None = None) -> list[PlannedRun]:
        """Further seeds that the rule of `seeds` asks for next and that are not done; none while first seeds are missing."""
        if not self.further or self.missing(experiments):
            return []
        results = self.results()
        found = self._unsettled(results)
        wanted = set().union(*(seeds.points(rows) for rows in found))
        there = Counter(seeds.point(row) for row in results.rows)
        chosen = [
            run for run in self.plan.runs
            if run.run_id in self.further and self._point(run) in wanted and run.replication < 2 * there[self._point(run)]
            and (experiments is None or self.experiments[run.cell] in experiments)
        ]  # fmt: skip
        return [run for run in unique(chosen) if not self.store.done(run)]

    def _unsettled(self, results: Results) -> list[list[Row]]:
        """The runs that targets read whose verdict needs further seeds: with the base, and with each reading for its own targets."""
        if self.scale != READINGS:
            return list(seeds.unsettled(self.study, results).values())
        concerned = {reading.name: set(reading.targets) for reading in self.study.readings}
        concerned[""] = set().union(*concerned.values())
        return [
            rows
            for name, targets in concerned.items()
            for rows in seeds.unsettled(self.study, results.of(name), targets).values()
        ]

    def _point(self, run: PlannedRun) -> tuple[object, ...]:
        return (self.experiments[run.cell], self.readings[run.cell], *_parameters(run).items())

    @property
    def started(self) -> bool:
        """Whether this scale was begun here."""
        return (self.store.path / "manifest.json").exists()

    def open(self, changed: str = "refuse") -> None:
        """Claims the directory, and applies the rule `changed` to results from another build of the simulator."""
        _claim(self.store.path.parent, self.study)
        self.store.admit(resume=True, join=False, force=False)
        settle(self.store, changed)
        self.store.open(None, resume=True, join=False, force=False)

    def run(
        self,
        runs: Sequence[PlannedRun],
        *,
        jobs: int | None = None,
        engine: str | Engine = "local",
        observer: Observer | None = None,
    ) -> None:
        """Makes runs and keeps the finished ones. Raises `LonghaulError` if some failed."""
        failures: dict[str, str] = {}
        with make_engine(engine, jobs) if isinstance(engine, str) else engine as maker:
            try:
                failures = execute(self.store, runs, engine=maker, observer=observer)
            finally:
                self.store.finish(failures)
        if failures:
            first = next(iter(failures.values()))
            raise LonghaulError(
                f"{len(failures)} of {len(runs)} runs failed, the first with: {first}; see {self.store.path / 'manifest.json'}"
            )

    def results(self) -> Results:
        """The results so far."""
        measured = {run.run_id: metrics for run, metrics in self.store.rows()}
        read: set[str] = set()
        seconds = self.store.records.seconds()
        extensible = {run.cell for run in self.plan.runs if run.run_id in self.further}
        rows = [
            Row(
                experiment=self.experiments[run.cell],
                parameters=_parameters(run),
                seed=run.seed,
                run_id=run.run_id,
                path=self.store.run_path(run),
                metrics=measured.get(run.run_id),
                cpu_s=seconds.get(run.run_id, 0.0),
                weight=run.weight,
                random=draws(run.document),
                extensible=run.cell in extensible,
                reading=self.readings[run.cell],
                read=read,
            )
            for run in self.plan.runs
            if run.run_id in measured or run.run_id not in self.further
        ]
        return Results(self.scale, rows)


#: Names of what a run of a study belongs to, beside its own parameters.
_EXPERIMENT, _READING = "experiment", "read_as"


def _parameters(run: PlannedRun) -> dict[str, Any]:
    """The parameters of a run's point."""
    return {key: value for key, value in run.parameters.items() if key not in (_EXPERIMENT, _READING)}


def plan(study: Study, scale: str, out: Path) -> Campaign:
    """The runs of a study at a scale; every scenario is checked. Nothing is written."""
    runs: list[PlannedRun] = []
    experiments: list[str] = []
    readings: list[str] = []
    first: set[str] = set()
    names: dict[str, None] = {_EXPERIMENT: None}
    for experiment, reading, case in study.cases(scale):
        document = case.scenario.document()
        belongs = {_EXPERIMENT: experiment} | ({_READING: reading} if scale == READINGS else {})
        parameters: dict[str, Any] = {**belongs, **case.parameters}
        names |= dict.fromkeys(parameters)
        numbers = range(1, 1 + max(case.replications, case.most))
        _, run_ids = core.resolve_seeds(document, (), numbers)
        first |= set(run_ids[: case.replications])
        point = Point(len(experiments), parameters, document, (), case.tables, case.weight)
        runs += [PlannedRun(run_id, point, k, 1 + k) for k, run_id in enumerate(run_ids)]
        experiments.append(experiment)
        readings.append(reading)
    identity = hashlib.sha256(f"study {study.name} {scale}".encode()).hexdigest()[:32]
    most = max((run.replication + 1 for run in runs), default=0)
    planned = Plan(f"{study.name} ({scale})", tuple(names), most, 1, identity, tuple(_kept(runs)))
    further = frozenset(run.run_id for run in planned.runs) - first
    store = Store(out / scale, planned, out / "runs", cells=False)
    return Campaign(study, scale, store, tuple(experiments), tuple(readings), further)


def _kept(runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """The same runs, with time series where any case that shares a run wants them."""
    wanted = {run.run_id for run in runs if run.tables}
    return [run if run.tables or run.run_id not in wanted else _with_tables(run) for run in runs]


def _with_tables(run: PlannedRun) -> PlannedRun:
    return run._replace(point=replace(run.point, tables=True))


def _claim(out: Path, study: Study) -> None:
    """Claims a directory that is free or belongs to this study; raises `OutputError` otherwise."""
    file = out / "manifest.json"
    try:
        manifest = read_json(file) if file.exists() else None
    except ResultError:
        manifest = None
    if manifest is None:
        outputs.check_free(out)
    elif manifest.get("kind") != "study" or manifest.get("name") != study.name:
        raise OutputError(f"{out} contains another result; choose another directory with --out")
    else:
        return
    content = {"longhaul": core.version(), "kind": "study", "name": study.name}
    write_atomically(file, json_text(content))
