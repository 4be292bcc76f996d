"""The directory of a sweep: which runs there are, which are done, and the tables over all of them."""

from __future__ import annotations

import hashlib
import operator
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import core, forked, inventory, outputs, staging, toml
from ..document import Document
from ..errors import OutputError, ResultError
from ..files import errors_as_output_error, json_text, sync
from ..results import read_json
from ..units import counted
from ..vouching import SWEEP_FILES
from . import folders, frames
from .making import Batch
from .plan import Plan
from .records import Records, Writer
from .runs import PlannedRun, chosen, ids_of, points_of

MANIFEST = "manifest.json"
#: What stands in a directory in which the first file of a sweep is being written.
_BEGUN = re.compile(r"(\.(longhaul-files|manifest)\.json\.[0-9a-f]{8}|longhaul-files\.json)")
#: A shard waits so many seconds for another one that is making the directory.
_PATIENCE_S = 30.0


class Store:
    """A sweep's directory. Runs that are done are in its logs (`records`), those with time series in directories too."""

    def __init__(self, path: Path, plan: Plan, runs: Path | None = None, cells: bool = True) -> None:
        """The directory `path` for `plan`; its runs are in `runs`, which several plans may share, or under `path`.

        With `cells`, there is a table over points too.
        """
        self.path = path
        self.cells = cells
        self.plan = plan
        self.runs = runs or path / "runs"
        self._records: Records | None = None
        self._writer: Writer | None = None
        self._accepted: list[dict[str, Any]] = []
        self._programs: frozenset[str] | None = None
        self._whole: dict[str, bool] = {}
        #: Which of the plan's runs are done, and as of which frames and programs.
        self._known: tuple[tuple[tuple[int, int], frozenset[str]], bytearray] | None = None
        #: A digest of what the tables on the disk are made of.
        self._tables_of: str | None = None
        #: The program that made runs which do not name theirs.
        self._made_by = "unknown"

    @property
    def records(self) -> Records:
        """The runs that are in the logs."""
        if self._records is None:
            self._records = Records(self.runs)
        return self._records

    def admit(self, *, resume: bool, join: bool, force: bool) -> bool:
        """Whether `open` goes on with what is there; raises if it would refuse the directory. Writes nothing."""
        going_on = self.continues(resume=resume, join=join, force=force)
        if not going_on:
            outputs.check_free(self.path, names=SWEEP_FILES, force=force)
        return going_on

    def open(self, document: Document | None, *, resume: bool, join: bool, force: bool) -> None:
        """Claims the directory: a new one, one to continue in (`resume`, or `join` for a shard), or any (`force`)."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                going_on = self.admit(resume=resume, join=join, force=force)
            except OutputError:
                if not (join and self._is_made_by_another_shard() and time.monotonic() < deadline):
                    raise
                time.sleep(0.02)
                continue
            if going_on:
                self._write_scenario(self.path, document)
                break
            if force and self.path.exists():
                outputs.clear(self.path)
                self._records = None
            if self._make_new(document):
                break
            if not join:
                raise OutputError(f"{self.path} was made by another process meanwhile; continue with --resume")
        with errors_as_output_error(self.path):
            self.runs.mkdir(parents=True, exist_ok=True)
        self._writer = Writer(self.runs)
        folders.take_in(self.records, self._writer, self._made_by)
        self.records.refresh()
        for folder in (self.path, self.runs):
            staging.remove_left(folder)
        self.write_manifest({})

    def _is_made_by_another_shard(self) -> bool:
        """Whether the manifest of this sweep has come since, or is being written into a directory that was empty."""
        # In this order: a manifest that comes in between is found.
        begun = all(_BEGUN.fullmatch(entry.name) for entry in self.path.iterdir())
        return begun or (self._existing() or {}).get("plan_id") == self.plan.plan_id

    def _make_new(self, document: Document | None) -> bool:
        """Makes the directory with what makes it this sweep's, at once; `False` if another process was faster."""
        with errors_as_output_error(self.path):
            if self.path.exists():  # it may be a link or the root of a disk: only what is in it can be made
                self._write_first_files(self.path, document)
                return True
            place = staging.place_of(self.path)
            new = staging.make(place)
            try:
                self._write_first_files(new, document)
                (new / staging.OWNER).unlink()
                try:
                    new.rename(place)
                except OSError:
                    if not (place / MANIFEST).exists():
                        raise
                    return False
                sync(place.parent)
            finally:
                shutil.rmtree(new, ignore_errors=True)
        return True

    def _write_first_files(self, path: Path, document: Document | None) -> None:
        """The manifest first: by it others know whose the directory is."""
        inventory.put(path, MANIFEST, json_text(self._manifest({}, 0)), force=True)
        self._write_scenario(path, document)

    def _write_scenario(self, path: Path, document: Document | None) -> None:
        if document is not None:
            sweep = {} if document.sweep is None else {"sweep": document.sweep}
            text = document.text.rstrip() + "\n" + ("\n" + toml.document(sweep) if sweep else "")
            inventory.put(path, "scenario.toml", text, force=True)

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
        self._tables_of = manifest.get("tables")
        self._made_by = str(manifest.get("program", "unknown"))
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
        there = set(folders.names(self.runs))
        found = sum(run_id in self.records or run_id in there for run_id in ids_of(self.plan.unique))
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

    def run_path(self, run: PlannedRun) -> Path:
        """Where a run's result is, or will be: a directory, or a name for what the log holds."""
        return self.runs / run.run_id

    def add(self, batch: Batch) -> None:
        """Adds to the log what an engine has made."""
        if self._writer is None:  # it was finished, and goes on
            self._writer = Writer(self.runs)
        for group, seconds in batch.groups:
            self._writer.append(group, seconds)
            for run in group.runs:
                self._whole.pop(run.run_id, None)

    def made_by(self, run: PlannedRun) -> str | None:
        """The program that made the run which is there: its digest, `unknown`, or `None` if there is no such run."""
        return self.records.program(run.run_id)

    def done(self, run: PlannedRun, tables: bool = False) -> bool:
        """Whether a run is there, whole, from this program or one whose results were accepted as the same; with `tables` those too."""
        program = self.records.program(run.run_id)
        if program is None or program not in self.programs():
            return False
        return self._is_whole(run) if self.has_series(run) else not (tables or run.tables)

    def which_done(self, runs: Sequence[PlannedRun], tables: bool = False) -> bytearray:
        """For each of some runs 1 if it is `done`, else 0: the same, for a million at once."""
        if tables or self.records.any_directory or any(point.tables for point in points_of(runs)):
            return bytearray(self.done(run, tables) for run in runs)
        if runs is not self.plan.unique:
            return bytearray(self.records.made_by(ids_of(runs), self.programs()))
        now = self.records.frames, self.programs()
        if self._known is None or self._known[0] != now:
            self._known = now, bytearray(self.records.made_by(ids_of(runs), self.programs()))
        return self._known[1]

    def _is_whole(self, run: PlannedRun) -> bool:
        if run.run_id not in self._whole:
            self._whole[run.run_id] = folders.is_whole(self.run_path(run))
        return self._whole[run.run_id]

    def has_series(self, run: PlannedRun) -> bool:
        """Whether a run was made with time series."""
        return self.records.has_directory(run.run_id)

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """Other programs whose results this one took over: digest, by which, how many were checked."""
        now = core.program()
        return [entry for entry in self._accepted if entry["by"] == now]

    def programs(self) -> frozenset[str]:
        """Digests of this program and of those whose results it accepted after a check."""
        now = core.program()
        if self._programs is None or now not in self._programs:
            self._programs = frozenset({now} | {str(entry["program"]) for entry in self.accepted})
        return self._programs

    def foreign(self) -> list[PlannedRun]:
        """Runs of the plan that are there, but from a program whose results may differ."""
        accepted = self.programs()
        if self.records.programs() <= accepted:
            return []
        return [run for run in self.plan.unique if (by := self.made_by(run)) is not None and by not in accepted]

    def accept(self, programs: Iterable[str], checked: int) -> None:
        """Takes results of other programs for this one's, of which `checked` were found the same to the byte."""
        now = core.program()
        self._accepted += [{"program": program, "by": now, "checked": checked} for program in sorted(set(programs))]
        self._programs = None
        self.write_manifest({})

    def missing(self, shard: tuple[int, int] | None = None, tables: bool = False) -> Sequence[PlannedRun]:
        """The runs of the plan, or of one shard of it, that are not done."""
        wanted = self.plan.shard(*shard) if shard else self.plan.unique
        return chosen(wanted, map(operator.not_, self.which_done(wanted, tables)))

    def write_manifest(self, failures: Mapping[str, str], done: int | None = None) -> None:
        """Writes how the sweep stands; `done` runs are, as far as the caller knows."""
        if done is None:
            done = sum(self.which_done(self.plan.unique))
        inventory.put(self.path, MANIFEST, json_text(self._manifest(failures, done)), force=True)

    def _manifest(self, failures: Mapping[str, str], done: int) -> dict[str, Any]:
        failed = [run for run in self.plan.unique if run.run_id in failures] if failures else []
        return {
            "longhaul": core.version(),
            "program": core.program(),
            "accepted": self._accepted,
            "kind": "sweep",
            "name": self.plan.name,
            "plan_id": self.plan.plan_id,
            "base_id": self.plan.base_id,
            "parameters": list(self.plan.parameters),
            "points": self.plan.cells,
            "replications": self.plan.replications,
            "seed": self.plan.first_seed,
            "total": len(self.plan.unique),
            "done": done,
            "failures": [
                {"id": run.run_id, "cell": run.cell, "parameters": run.parameters, "seed": run.seed, "error": failures[run.run_id]}
                for run in failed
            ],
            "tables": self._tables_of,
        }  # fmt: skip

    def rows(self) -> list[Row]:
        """The runs of the plan that are done, with their metrics."""
        return list(frames.rows(self._finished(), self.records))

    def _finished(self) -> Sequence[PlannedRun]:
        """The runs of the plan that are done."""
        runs = self.plan.runs
        return chosen(runs, self.which_done(runs))

    def finish(self, failures: Mapping[str, str], *, fold: bool = True) -> None:
        """Puts the runs into one log, if nobody else adds any, and writes the tables and the manifest."""
        try:
            self.records.refresh()
            done = sum(self.which_done(self.plan.unique))
            if fold or done == len(self.plan.unique):
                self.records.fold(ids_of(self.plan.unique), self._writer)
            self.write_manifest(failures, done)
            self.write_tables()
            self.write_manifest(failures, done)
        finally:
            self.close()

    def close(self) -> None:
        """Lets go of the log."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def write_tables(self) -> None:
        """Writes `runs.parquet` and, with `cells`, `cells.parquet` over all runs that are done; not if they are there."""
        self.records.refresh()
        done = self._finished()
        content = hashlib.sha256((self.plan.plan_id + "".join(ids_of(done))).encode()).hexdigest()[:32]
        names = ["runs.parquet", *(["cells.parquet"] if self.cells else []), "definitions.json"]
        if self._tables_of == content and outputs.are_as_listed(self.path, names):
            return
        # Other shards may write them at the same time: nothing is read from where it will stand.
        with errors_as_output_error(self.path):
            folder = staging.make(staging.place_of(self.path))
            try:
                with _named_for_polars(folder) as place:
                    forked.call(_write_tables, place, self.plan, done, self.records, self.cells)
                (folder / "definitions.json").write_text(json_text(self.records.definitions()), encoding="utf-8")
                for name in names:
                    (folder / name).replace(self.path / name)
                inventory.note(self.path, *names)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        self._tables_of = content


def _write_tables(place: Path, plan: Plan, done: Sequence[PlannedRun], records: Records, cells: bool) -> None:
    frames.write_runs(place / "runs.parquet", plan, done, records)
    if cells:
        frames.write_cells(place / "cells.parquet", plan, place / "runs.parquet")


Row = tuple[PlannedRun, dict[str, float | None]]


@contextmanager
def _named_for_polars(folder: Path) -> Iterator[Path]:
    """The folder; if polars may not take its name, which can be no UTF-8, another one whose files come into it at the end."""
    if str(folder).isascii():
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="longhaul-tables-") as name:
        yield Path(name)
        for file in Path(name).iterdir():
            shutil.copyfile(file, folder / file.name)
