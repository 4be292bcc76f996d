"""The result of a sweep as tables, with means and confidence intervals over replications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import stats
from ..errors import PlotError, ResultError
from ..naming import meant
from ..qoe import title
from ..results import Result, as_pandas, load_run, read_table, unit_of
from ..units import counted
from ..values import folder, word
from .metrics import refuse_unknown

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from ..plots.paper import Paper


#: What to do about files that are made from the runs.
_MADE_ANEW = "`longhaul sweep` with the same scenario and --resume rebuilds it from the runs"


class SweepResult:
    """A sweep, finished or not: `runs` has a row per run that is done, `cells` one per point and metric."""

    def __init__(self, path: Path, made: int = 0) -> None:
        """Reads the manifest in the directory `path`; `made` runs were missing before."""
        from .. import schemas

        self.path = folder(path, "path")
        self.made = made
        try:
            self.manifest = schemas.read_manifest(path / "manifest.json")
        except ResultError as error:
            raise ResultError(f"{error}; {_MADE_ANEW}") from None

    def check(self) -> None:
        """Raises `ResultError` unless the tables are whole and hold the runs that are done by the manifest."""
        try:
            held = len(set(self.finished["run_id"].to_list()))
            _ = self.cells, self.definitions
        except ResultError as error:
            raise ResultError(f"{error}; {_MADE_ANEW}") from None
        if held != self.done:
            raise ResultError(
                f"{self.path / 'runs.parquet'} holds {held} of {counted(self.done, 'finished run')}: the sweep is still running, or was"
                f" killed; {_MADE_ANEW}"
            )

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.manifest["name"])

    @property
    def parameters(self) -> list[str]:
        """The paths of the settings that were varied."""
        return list(self.manifest["parameters"])

    @property
    def complete(self) -> bool:
        """Whether every run is done."""
        return self.done == self.total

    @property
    def done(self) -> int:
        """Number of different runs that are done."""
        return int(self.manifest["done"])

    @property
    def total(self) -> int:
        """Number of different runs that the sweep consists of."""
        return int(self.manifest["total"])

    @property
    def failures(self) -> dict[str, str]:
        """Messages of failed runs by id."""
        return {run["id"]: run["error"] for run in self.manifest["failures"]}

    @cached_property
    def finished(self) -> pl.DataFrame:
        """One row per run that is done: `run_id`, `cell`; without reading all of `runs`."""
        return read_table(self.path / "runs.parquet", ["run_id", "cell", "seed"]).select("run_id", "cell")

    def first_of_points(self) -> list[str]:
        """Ids of one finished run of each point."""
        return self.finished.unique("cell", keep="first", maintain_order=True)["run_id"].to_list()

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run: `run_id`, `cell`, `replication`, `seed`, parameters, metrics (base units)."""
        return self._with_parameters(read_table(self.path / "runs.parquet"))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row per point and metric: `n`, `mean`, `median`, `stdev`, `ci95_low`, `ci95_high`, `minimum`, `maximum`."""
        return self._with_parameters(read_table(self.path / "cells.parquet"))

    def values(self, *metrics: str) -> pl.DataFrame:
        """The columns `cell`, `seed` and `metrics` of `runs`, without reading the others, of which a million runs have hundreds of
        megabytes. Raises `ResultError` if no run has such a metric.
        """
        self.refuse_unknown(metrics)
        names = ("cell", "seed", *metrics)
        if "runs" in self.__dict__:
            return self.runs.select(names)
        return read_table(self.path / "runs.parquet", ["run_id", *names]).select(names)

    def refuse_unknown(self, metrics: Sequence[str]) -> None:
        """Raises `ResultError` for the first metric that no run has, with the nearest that there are."""
        if not set(metrics) <= set(self.metrics):  # it may be a metric without any value
            refuse_unknown(metrics, self.runs.columns)

    def _with_parameters(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table, which has a column for each parameter of the manifest, or they are not of one sweep."""
        unknown = [name for name in self.parameters if name not in table.columns]
        if unknown:
            raise ResultError(
                f"{self.path / 'manifest.json'} is damaged: parameters has {unknown[0]!r}, which was not swept"
            )
        return table

    @cached_property
    def definitions(self) -> dict[str, dict[str, str]]:
        """Unit, title and definition of every metric."""
        from .. import schemas

        return schemas.read_definitions(self.path / "definitions.json")

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that have values."""
        return self.cells["metric"].unique(maintain_order=True).to_list()

    def unit(self, metric: str) -> str:
        """The unit of a metric, also of one with an object's name before it."""
        return unit_of(metric.rsplit(".", 1)[-1], self.definitions)

    def title(self, metric: str) -> str:
        """A metric's title for axes and tables."""
        *place, name = metric.rsplit(".", 1)
        text = title(name, self.definitions, of_flow=bool(place) and place[0].startswith("flow."))
        return f"{text} ({place[0].split('.', 1)[-1]})" if place else text

    def run(self, run_id: str) -> Result:
        """One run that is done."""
        return load_run(self.path / "runs" / run_id)

    def table(self, metrics: Sequence[str] | None = None) -> pl.DataFrame:
        """One row per point: parameters and the mean of each metric, with the half width of its 95 % interval.

        Raises `ResultError` if no run has such a metric.
        """
        import polars as pl

        chosen = list(metrics) if metrics is not None else [m for m in self.metrics if "." not in m]
        self.refuse_unknown(chosen)
        wide = self.cells.select("cell", *self.parameters).unique(maintain_order=True)
        for name in chosen:
            part = self.cells.filter(pl.col("metric") == name).select(
                "cell",
                pl.col("mean").alias(name),
                ((pl.col("ci95_high") - pl.col("ci95_low")) / 2).alias(f"{name} ±"),
            )
            wide = wide.join(part, on="cell", how="left", maintain_order="left")
        return wide

    def to_pandas(self, table: str = "runs") -> DataFrame:
        """`runs`, a row per run, or `cells`, one per point and metric, as a frame of pandas.

        Raises `ResultError` if pandas is not installed."""
        return as_pandas({"runs": self.runs, "cells": self.cells}[word(table, "table", ("runs", "cells"))])

    def paired(self, metric: str, parameter: str, baseline: Any) -> pl.DataFrame:
        """Differences to a baseline, seed by seed: `mean`, 95 % interval and number of pairs for each other value.

        Points that differ only in `parameter` have the same random draws, so the difference varies less than the values.
        """
        import polars as pl

        if parameter not in self.parameters:
            raise ResultError(f"{parameter!r} was not swept; the swept parameters are {', '.join(self.parameters)}")
        self.refuse_unknown([metric])
        others = [p for p in self.parameters if p != parameter]
        base = self.runs.filter(pl.col(parameter) == baseline)
        if base.is_empty():
            raise ResultError(f"no run has {parameter} = {baseline!r}")
        joined = self.runs.filter(pl.col(parameter) != baseline).join(
            base.select(*others, "seed", base=metric),
            on=[*others, "seed"],
            nulls_equal=True,
            maintain_order="left",
        )
        rows = []
        for key, part in joined.group_by(*others, parameter, maintain_order=True):
            differences = (part[metric] - part["base"]).drop_nulls().to_list()
            if differences:
                e = stats.estimate(differences)
                row = dict(zip([*others, parameter], key, strict=True))
                rows.append({**row, "pairs": e.n, "mean": e.mean, "ci95_low": e.low, "ci95_high": e.high})
        return pl.DataFrame(rows)

    def plot(self, metric: str = "goodput_bps", parameter: str | None = None, paper: Paper | None = None) -> Figure:
        """A metric over a parameter: means with 95 % intervals, one line for each combination of the others.

        With `paper`, a `longhaul.plots.paper.Paper`, in the form for a paper."""
        from ..plots import finished, sweep

        if metric not in self.metrics:
            hint = meant(metric, self.metrics) or "; `longhaul list metrics` explains all"
            raise PlotError(f"no run of this sweep has a value of the metric {metric!r}{hint}")
        return finished(lambda: sweep.draw(self, metric, parameter), paper)

    def report(
        self,
        path: str | Path,
        progress: Callable[[int, int], None] | None = None,
        metrics: Sequence[str] = (),
        *,
        baseline: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> Path:
        """Writes the report, one HTML file that needs nothing else, and returns its path.

        Points are compared with that of `baseline`, values of parameters by path as `{"variant": "reno"}`, or with the first.
        It begins with `metrics`, if some are given; those of them that have no value are left out. `progress(done, total)` is called
        before each figure and at the end. `report.html` in the sweep's directory is not replaced, but by `force`, where it was changed:
        `OutputError`.
        """
        from .. import report, suites

        if suites.is_result(self.path):
            return suites.write_page(self.path, Path(path), force=force)
        return report.write_sweep_report(self, Path(path), progress, metrics, baseline=baseline, force=force)

    def _repr_html_(self) -> str:
        """The table of points, in a notebook."""
        from .. import tables

        table = tables.cell_table(self, tables.first_metrics(self))
        head = "".join(f"<th>{escape(text)}</th>" for text, _ in table.headings)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
        return f"<b>{escape(self.name)}</b>: {self.done} of {self.total} runs<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def __repr__(self) -> str:
        return f"<SweepResult {self.name!r}: {self.done} of {self.total} runs in {self.path}>"
