"""The directory of a sweep: which runs there are, which are done, and the tables over all of them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import core, inventory, outputs, staging, stats, toml
from ..document import Document
from ..errors import OutputError, ResultError
from ..files import errors_as_output_error, json_text
from ..results import flat_metrics, read_json, read_summary
from ..units import counted
from ..vouching import SWEEP_FILES
from .plan import Plan, PlannedRun, unique

if TYPE_CHECKING:
    import polars as pl

MANIFEST = "manifest.json"


class Store:
    """A sweep's directory. Runs appear in it whole (by renaming), so what is there is done."""

    def __init__(self, path: Path, plan: Plan, runs: Path | None = None) -> None:
        """The directory `path` for `plan`; its runs are in `runs`, which several plans may share, or under `path`."""
        self.path = path
        self.plan = plan
        self.runs = runs or path / "runs"
        self._programs: dict[str, str | None] = {}
        self._accepted: list[dict[str, Any]] = []

    def admit(self, *, resume: bool, join: bool, force: bool) -> bool:
        """Whether `open` goes on with what is there; raises if it would refuse the directory. Writes nothing."""
        going_on = self.continues(resume=resume, join=join, force=force)
        if not going_on:
            outputs.check_free(self.path, names=SWEEP_FILES, force=force)
        return going_on

    def open(self, document: Document | None, *, resume: bool, join: bool, force: bool) -> None:
        """Claims the directory: a new one, one to continue in (`resume`, or `join` for a shard), or any (`force`)."""
        if not self.admit(resume=resume, join=join, force=force):
            if force and self.path.exists():
                self._clear()
            with errors_as_output_error(self.path):
                self.runs.mkdir(parents=True, exist_ok=True)
        if document is not None:
            sweep = {} if document.sweep is None else {"sweep": document.sweep}
            text = document.text.rstrip() + "\n" + ("\n" + toml.document(sweep) if sweep else "")
            inventory.put(self.path, "scenario.toml", text, force=True)
        self.write_manifest({})

    def continues(self, *, resume: bool, join: bool, force: bool) -> bool:
        """Whether the directory's runs are kept and continued; raises if that was requested and is impossible.

        A sweep that has grown since (more seeds, more points) goes on: a run is the same run if its `run_id` is.
        """
        damage = outputs.damage_of(self.path) if self.runs.is_dir() else None
        if damage:
            return self._continues_damaged(damage, resume=resume or join, force=force)
        manifest = self._existing()
        if manifest is None:
            return False
        self._accepted = list(manifest.get("accepted", []))
        same_plan = manifest.get("plan_id") == self.plan.plan_id
        same_base = manifest.get("base_id") == self.plan.base_id
        if (resume and same_base) or (join and same_plan):
            return True
        if force:
            return False
        if resume:
            raise OutputError(
                f"{self.path} contains another sweep ({manifest.get('name')!r}), or the scenario, its --set or Longhaul's"
                " version changed since; choose another directory with --out, or replace it with --force"
            )
        if same_base:
            which = "this sweep already" if same_plan else "a sweep of this scenario with other points or seeds"
            raise OutputError(f"{self.path} contains {which}; continue with --resume, or start over with --force")
        return False

    def _continues_damaged(self, damage: str, *, resume: bool, force: bool) -> bool:
        """As `continues`, where the manifest cannot be read: it can be made anew if runs of this sweep are there."""
        found = sum(self.made_by(run) is not None for run in unique(self.plan.runs))
        if resume and found:
            return True
        if force:
            return False
        way_out = (
            f"{counted(found, 'finished run')} of this sweep can be found without it: continue with --resume, or start over with --force"
            if found
            else "it has no finished run of this sweep: choose another directory with --out, or replace it with --force"
        )
        raise OutputError(f"{self.path} contains a sweep whose {damage}; {way_out}")

    def _existing(self) -> dict[str, Any] | None:
        try:
            return read_json(self.path / MANIFEST) if (self.path / MANIFEST).exists() else None
        except ResultError:
            return None

    def _clear(self) -> None:
        outputs.clear(self.path)
        self._programs.clear()

    def remove_unfinished(self) -> None:
        """Removes the directories of runs that were being made when their process was killed."""
        staging.remove_left(self.runs)

    def run_path(self, run: PlannedRun) -> Path:
        """Where a run's result is, or will be."""
        return self.runs / run.run_id

    def made_by(self, run: PlannedRun) -> str | None:
        """The program that made the run which is there, whole: its digest, `unknown`, or `None` if there is no such run."""
        if run.run_id not in self._programs:
            path = self.run_path(run)
            if outputs.run_id_of(path) != run.run_id or outputs.faults_of_run(path):
                return None
            self._programs[run.run_id] = outputs.program_of(path) or "unknown"
        return self._programs[run.run_id]

    def forget(self, run: PlannedRun) -> None:
        """A run was made anew: what is known of an older one no longer holds."""
        self._programs.pop(run.run_id, None)

    def done(self, run: PlannedRun) -> bool:
        """Whether a run is there, whole, from this program or one whose results were accepted as the same."""
        made_by = self.made_by(run)
        if made_by is None or made_by not in self.programs():
            return False
        return not run.tables or (self.run_path(run) / "flows.parquet").exists()

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """Other programs whose results this one took over: digest, by which, how many were checked."""
        now = core.program()
        return [entry for entry in self._accepted if entry["by"] == now]

    def programs(self) -> set[str]:
        """Digests of this program and of those whose results it accepted after a check."""
        return {core.program()} | {str(entry["program"]) for entry in self.accepted}

    def foreign(self) -> list[PlannedRun]:
        """Runs of the plan that are there, but from a program whose results may differ."""
        accepted = self.programs()
        return [run for run in unique(self.plan.runs) if (by := self.made_by(run)) is not None and by not in accepted]

    def accept(self, programs: Iterable[str], checked: int) -> None:
        """Takes results of other programs for this one's, of which `checked` were found the same to the byte."""
        now = core.program()
        self._accepted += [{"program": program, "by": now, "checked": checked} for program in sorted(set(programs))]
        self.write_manifest({})

    def missing(self, shard: tuple[int, int] | None = None) -> list[PlannedRun]:
        """The runs of the plan, or of one shard of it, that are not done."""
        return [run for run in (self.plan.shard(*shard) if shard else unique(self.plan.runs)) if not self.done(run)]

    def write_manifest(self, failures: dict[str, str]) -> None:
        """Writes which runs there are and how they stand."""
        rows = []
        for run in self.plan.runs:
            status = "done" if self.done(run) else ("failed" if run.run_id in failures else "pending")
            row: dict[str, Any] = {
                "id": run.run_id, "cell": run.cell, "parameters": run.parameters,
                "replication": run.replication, "seed": run.seed, "status": status,
            }  # fmt: skip
            if run.run_id in failures:
                row["error"] = failures[run.run_id]
            rows.append(row)
        content = {
            "longhaul": core.version(),
            "program": core.program(),
            "accepted": self._accepted,
            "kind": "sweep",
            "name": self.plan.name,
            "plan_id": self.plan.plan_id,
            "base_id": self.plan.base_id,
            "parameters": list(self.plan.parameters),
            "replications": self.plan.replications,
            "seed": self.plan.first_seed,
            "runs": rows,
        }
        inventory.put(self.path, MANIFEST, json_text(content), force=True)

    def rows(self, units: dict[str, Any] | None = None) -> list[Row]:
        """The runs of the plan that are done, with their metrics; `units` takes up what the metrics mean."""
        read: dict[str, dict[str, float | None]] = {}
        for run in unique(self.plan.runs):
            if self.done(run):
                summary = read_summary(self.run_path(run) / "summary.json")
                read[run.run_id] = flat_metrics(summary)
                if units is not None:
                    units.update(summary["definitions"])
        return [(run, read[run.run_id]) for run in self.plan.runs if run.run_id in read]

    def write_tables(self, cells: bool = True) -> None:
        """Writes `runs.parquet` and, unless switched off, `cells.parquet` over all runs that are done."""
        units: dict[str, Any] = {}
        rows = self.rows(units)
        frame = runs_frame(self.plan, rows)
        inventory.put(self.path, "runs.parquet", _parquet(frame), force=True)
        if cells:
            inventory.put(self.path, "cells.parquet", _parquet(cells_frame(self.plan, rows)), force=True)
        inventory.put(self.path, "definitions.json", json_text(units), force=True)


Row = tuple[PlannedRun, dict[str, float | None]]


def runs_frame(plan: Plan, rows: Iterable[Row]) -> pl.DataFrame:
    """One row per run: identity, parameters, metrics."""
    import polars as pl

    rows = list(rows)
    columns: dict[str, Any] = {
        "run_id": [run.run_id for run, _ in rows],
        "cell": pl.Series([run.cell for run, _ in rows], dtype=pl.UInt32),
        "replication": pl.Series([run.replication for run, _ in rows], dtype=pl.UInt32),
        "seed": pl.Series([run.seed for run, _ in rows], dtype=pl.UInt64),
    }
    for path in plan.parameters:
        columns[path] = parameter_series([run.parameters.get(path) for run, _ in rows])
    for name in dict.fromkeys(name for _, metrics in rows for name in metrics):
        columns[name] = pl.Series([metrics.get(name) for _, metrics in rows], dtype=pl.Float64, strict=False)
    return pl.DataFrame(columns)


def cells_frame(plan: Plan, rows: Iterable[Row]) -> pl.DataFrame:
    """One row per point and metric: mean, median, standard deviation and the 95 % confidence interval of the mean."""
    import polars as pl

    by_cell: dict[int, list[Row]] = {}
    for run, metrics in rows:
        by_cell.setdefault(run.cell, []).append((run, metrics))
    records: list[dict[str, Any]] = []
    parameters: list[dict[str, Any]] = []
    for cell, members in sorted(by_cell.items()):
        for name in dict.fromkeys(name for _, metrics in members for name in metrics):
            values = [float(value) for _, metrics in members if (value := metrics.get(name)) is not None]
            if not values:
                continue
            e = stats.estimate(values)
            parameters.append(members[0][0].parameters)
            records.append(
                {
                    "cell": cell, "metric": name, "n": e.n, "mean": e.mean, "median": e.median, "stdev": _defined(e.stdev),
                    "ci95_low": _defined(e.low), "ci95_high": _defined(e.high), "minimum": e.minimum, "maximum": e.maximum,
                }
            )  # fmt: skip
    kinds = {"cell": pl.UInt32, "metric": pl.String, "n": pl.UInt32}
    names = ("cell", "metric", "n", "mean", "median", "stdev", "ci95_low", "ci95_high", "minimum", "maximum")
    frame = pl.DataFrame(records, schema={name: kinds.get(name, pl.Float64) for name in names})
    swept = [parameter_series([p.get(path) for p in parameters]).alias(path) for path in plan.parameters]
    return frame.select("cell", *swept, *names[1:])


def parameter_series(values: list[Any]) -> pl.Series:
    """A column for a parameter: of its own type if all values share one, as TOML text if not."""
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int} or kinds <= {int, float} or kinds <= {str}:
        if kinds == {int, float}:
            return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)
        return pl.Series(values)
    return pl.Series(
        [None if v is None else v if isinstance(v, str) else toml.value(v) for v in values], dtype=pl.String
    )


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
