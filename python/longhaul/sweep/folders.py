"""Directories of runs: of those that keep their time series, and of all that an earlier version made."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .. import outputs
from ..errors import ResultError
from ..results import read_json
from . import log
from .records import Records, Writer

_RUN_ID = re.compile(r"[0-9a-f]{16,}")


def is_whole(directory: Path) -> bool:
    """Whether the directory of a run with time series has all its files as they were written."""
    names = (directory / "flows.parquet", directory / "scenario.toml")
    return (
        outputs.run_id_of(directory) == directory.name
        and all(file.is_file() for file in names)
        and not outputs.faults_of_run(directory)
    )


def names(runs: Path) -> list[str]:
    """Ids of the runs that have a directory with a result."""
    try:
        found = [entry.name for entry in runs.iterdir() if _RUN_ID.fullmatch(entry.name)]
    except OSError:
        return []
    return sorted(name for name in found if (runs / name / "summary.json").is_file())


def take_in(records: Records, writer: Writer, program: str) -> None:
    """Adds to the log the runs that only have a directory: an earlier version kept one for each run.

    `program` made those that do not say which program did.
    """
    for run_id in names(records.runs):
        if run_id in records:
            continue
        place = records.runs / run_id
        try:
            summary = read_json(place / "summary.json")
            scenario = (place / "scenario.toml").read_bytes()
        except (ResultError, OSError):
            continue
        if summary.get("run_id") != run_id or "definitions" not in summary:
            continue
        definitions = compact(summary.pop("definitions"))
        directories = [run_id] if (place / "flows.parquet").exists() else []
        texts = log.Texts(run_id, scenario, compact(summary))
        made_by = outputs.program_of(place) or program
        writer.append(log.Group(made_by, definitions, [texts], directories), [outputs.seconds_of(place)])


def compact(content: Any) -> bytes:
    """JSON as logs have it."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
