"""The tables over all runs of a sweep: `runs.parquet` with a row per run, `cells.parquet` with one per point and metric.

They are made in parts of so many rows that a sweep of a million runs needs no more memory than one of some ten thousand.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import core, stats, toml
from ..errors import OutputError, explain_os_error
from .plan import Plan
from .records import Records
from .runs import PlannedRun, points_of

if TYPE_CHECKING:
    import polars as pl

#: Rows of a part.
_ROWS = 20_000
#: A disk with fewer bytes free is full: a part of a table is larger.
_LEAST_FREE = 1 << 16
#: Columns of `runs.parquet` that say which run a row is of.
_IDENTITY = ("run_id", "cell", "replication", "seed")


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Names the system's reason where a table cannot be written: polars reports a full disk as a broken Parquet file.

    Raises `OutputError`."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        full = "No space left" in str(error) or shutil.disk_usage(file.parent).free < _LEAST_FREE
        reason = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if full else OSError(str(error).splitlines()[0])
        raise OutputError(explain_os_error(reason, "write", file)) from None


def write_runs(file: Path, plan: Plan, runs: Sequence[PlannedRun], records: Records) -> None:
    """Writes a row for each of these runs, which are done; needs room for as much again beside the file.

    Raises `OutputError` if there is none."""
    with _writing(file):
        _write_runs(file, plan, runs, records)


def _write_runs(file: Path, plan: Plan, runs: Sequence[PlannedRun], records: Records) -> None:
    import polars as pl

    kinds = _Kinds(plan, runs)
    if len(runs) <= _ROWS:
        _rows(list(runs), records, kinds).write_parquet(file)
        return
    files: list[Path] = []
    for part in _parts(runs):
        files.append(file.with_name(f"{file.name}.{len(files)}"))
        _rows(part, records, kinds).write_parquet(files[-1])
    scans = [pl.scan_parquet(name, glob=False) for name in files]
    pl.concat(scans, how="diagonal").sink_parquet(file, row_group_size=_ROWS, maintain_order=True)
    for name in files:
        name.unlink()


def _parts(runs: Sequence[PlannedRun]) -> Iterator[list[PlannedRun]]:
    return (list(runs[begin : begin + _ROWS]) for begin in range(0, len(runs), _ROWS))


class _Kinds:
    """The columns of parameters: each has one type in all parts."""

    def __init__(self, plan: Plan, runs: Sequence[PlannedRun]) -> None:
        self.paths = plan.parameters
        points = points_of(runs)
        self._types = {path: parameter_series([point.parameters.get(path) for point in points]).dtype for path in plan.parameters}  # fmt: skip

    def series(self, path: str, values: list[Any]) -> pl.Series:
        """A column for a parameter."""
        import polars as pl

        kind = self._types[path]
        if kind == pl.String:
            values = [None if v is None else v if isinstance(v, str) else toml.value(v) for v in values]
        return pl.Series(values, dtype=kind)


def _rows(runs: Sequence[PlannedRun], records: Records, kinds: _Kinds) -> pl.DataFrame:
    """Identity, parameters, metrics."""
    import numpy as np
    import polars as pl

    columns: dict[str, Any] = {
        "run_id": pl.Series([run.run_id for run in runs], dtype=pl.String),
        "cell": pl.Series([run.cell for run in runs], dtype=pl.UInt32),
        "replication": pl.Series([run.replication for run in runs], dtype=pl.UInt32),
        "seed": pl.Series([run.seed for run in runs], dtype=pl.UInt64),
    }
    for path in kinds.paths:
        columns[path] = kinds.series(path, [run.parameters.get(path) for run in runs])
    for name, values in core.flat_columns([records.texts(run.run_id).summary for run in runs]):
        columns[name] = pl.Series(np.frombuffer(values, dtype=np.float64), nan_to_null=True)
    return pl.DataFrame(columns)


def rows(runs: Sequence[PlannedRun], records: Records) -> Iterator[tuple[PlannedRun, dict[str, float | None]]]:
    """These runs, which are done, with their metrics."""
    import numpy as np

    for part in _parts(runs):
        found = core.flat_columns([records.texts(run.run_id).summary for run in part])
        columns = [(name, np.frombuffer(values, dtype=np.float64)) for name, values in found]
        for row, run in enumerate(part):
            yield run, {name: None if np.isnan(values[row]) else float(values[row]) for name, values in columns}


def write_cells(file: Path, plan: Plan, runs_file: Path) -> None:
    """Writes for each point and metric mean, median, standard deviation and the 95 % confidence interval of the mean."""
    import polars as pl

    scan = pl.scan_parquet(runs_file, glob=False)
    names = scan.collect_schema().names()
    taken = {*_IDENTITY, *plan.parameters}
    metrics = [name for name in names if name not in taken]
    cells = scan.select("cell").collect()["cell"].to_list()
    parts = []
    for begin, lengths in _whole_cells(cells):
        part = scan.slice(begin, sum(lengths))
        firsts = scan.select("cell", *plan.parameters).slice(begin, sum(lengths)).collect()[_starts(lengths)]
        # A part with a single point may have all the runs there are.
        whole = part.select(metrics).collect() if sum(lengths) <= _ROWS else None
        found = [
            _of_metric(number, name, (part.select(name).collect() if whole is None else whole)[name], lengths, firsts)
            for number, name in enumerate(metrics)
        ]
        if found:
            parts.append(pl.concat(found).sort("cell", "_order", maintain_order=True).drop("_order"))
    kinds = {"cell": pl.UInt32, "metric": pl.String, "n": pl.UInt32}
    of_parameters = {name: kind for name, kind in scan.collect_schema().items() if name in plan.parameters}
    empty = {name: kinds.get(name, of_parameters.get(name, pl.Float64)) for name in ("cell", *plan.parameters, *_ESTIMATES)}  # fmt: skip
    table = pl.concat(parts) if parts else pl.DataFrame(schema=empty)
    with _writing(file):
        table.write_parquet(file)


#: The columns of an estimate.
_ESTIMATES = ("metric", "n", "mean", "median", "stdev", "ci95_low", "ci95_high", "minimum", "maximum")


def _whole_cells(cells: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Parts of rows with whole points: where each begins, and the number of rows of each of its points."""
    begin, rows, lengths = 0, 0, list[int]()
    for _, members in groupby(cells):
        length = sum(1 for _ in members)
        if lengths and rows + length > _ROWS:
            yield begin, lengths
            begin, rows, lengths = begin + rows, 0, []
        lengths.append(length)
        rows += length
    if lengths:
        yield begin, lengths


def _starts(lengths: Iterable[int]) -> list[int]:
    found, at = [], 0
    for length in lengths:
        found.append(at)
        at += length
    return found


def _of_metric(order: int, name: str, values: pl.Series, lengths: list[int], firsts: pl.DataFrame) -> pl.DataFrame:
    """The estimates of a metric at some points; of those with values only."""
    import numpy as np
    import polars as pl

    numbers = np.asarray(values.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    n, mean, median, stdev, least, most = (
        np.frombuffer(column, dtype=np.float64) for column in core.estimates(numbers.tobytes(), lengths)
    )
    of_count = {count: stats.t_of_mean(int(count)) if count > 1 else np.nan for count in set(n.tolist())}
    half = np.array([of_count[count] for count in n.tolist()]) * stdev / np.sqrt(np.maximum(n, 1))
    columns: dict[str, Any] = {
        "_order": pl.Series([order] * len(n), dtype=pl.UInt32),
        "metric": pl.Series([name] * len(n), dtype=pl.String),
        "n": pl.Series(n).cast(pl.UInt32),
        "mean": mean, "median": median, "stdev": stdev, "ci95_low": mean - half, "ci95_high": mean + half, "minimum": least,
        "maximum": most,
    }  # fmt: skip
    frame = firsts.with_columns(**{key: pl.Series(value, nan_to_null=True) for key, value in columns.items()})
    return frame.select("_order", *firsts.columns, *_ESTIMATES).filter(pl.col("n") > 0)


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
