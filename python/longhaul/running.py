"""Running one scenario: from a document to a `Result`, with the output directory written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import core, outputs, staging
from .document import Document
from .keeping import Kept
from .large import check, estimate
from .live import Recorder
from .results import Result
from .scenario import Scenario, as_document, overrides
from .values import folder
from .vouching import RUN_FILES


def run(
    scenario: Scenario | Document | str | Path,
    *,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    tables: bool = True,
    force: bool = False,
    large: bool = False,
    progress: core.ProgressCallback | None = None,
) -> Result:
    """Runs a scenario and returns its result.

    `set` overrides settings by path, as in `{"link.satellite.rate": "50 Mbit/s"}`. With `out`, the result directory
    is written there (it must be free, or hold this same run; `force` replaces any other Longhaul result, and files of it
    that were changed). A report of the same run that is there is made again; files that are not Longhaul's stay. Without `out`,
    the time series live in a temporary directory for as long as the result object does, in the process that made it; pickled, a result
    takes them along. `tables=False` leaves the
    time series out. A result that would take more than 500 MB, or 4 GB of memory, is made only with `large=True`. `progress(sim_time_s, duration_s, events)` is called a few times a second; returning `False`
    stops the run.

    Raises `ScenarioError`, `OutputError`, `RunError`, or `LonghaulError` for a result that is too large.
    """
    return run_document(
        as_document(scenario),
        overrides(set, seed),
        out=None if out is None else folder(out),
        tables=tables,
        force=force,
        large=large,
        progress=progress,
    )


def run_document(
    document: Document,
    changes: core.Overrides = (),
    *,
    out: Path | None = None,
    tables: bool = True,
    force: bool = False,
    report: bool = False,
    large: bool = False,
    progress: core.ProgressCallback | None = None,
    drawing: Callable[[int, int], None] | None = None,
) -> Result:
    """As `run`, for a document and overrides that are TOML text already; `drawing(done, total)` counts the figures of a report."""
    resolved, run_id = core.resolve(document, changes)
    check(estimate(resolved, tables), large)
    if out is not None:
        place = staging.place_of(out)
        for folder in (place.parent, place):
            staging.remove_left(folder)
        same = outputs.run_id_of(out) == run_id
        report = report or (same and outputs.has_report(out))
        names = (*RUN_FILES, "report.html") if report else RUN_FILES
        outputs.check_free(out, run_id=run_id, names=names, force=force)
        with outputs.complete_or_absent(out, run_id=run_id, force=force) as partial:
            live = Recorder(partial, resolved)
            summary = core.run(document, changes, out=partial, tables=tables, progress=progress, follow=live)
            live.end()
        result = Result(summary, out)
        if report:
            result.report(outputs.report_of(out), drawing, force=force)
        return result
    keep = Kept()
    try:
        summary = core.run(document, changes, out=keep.path, tables=tables, progress=progress)
    except BaseException:
        keep.remove()  # a traceback would keep it
        raise
    return Result(summary, keep.path, keep)
