"""The results of a study's runs for its targets and figures: by experiment, parameters and seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longhaul.errors import LonghaulError
from longhaul.results import Result, load_run

from .chance import draws
from .verdict import NotRun, median

__all__ = ["Metric", "NotRun", "Points", "Results", "Row", "Table", "draws"]

#: A metric by its name in the table of runs (as `group.web.goodput_bps`), or computed from a run.
Metric = str | Callable[["Row"], float]


#: The scale of results of real packets.
EMULATED = "emulated"


@dataclass(frozen=True)
class Row:
    """One run, done or not."""

    experiment: str
    parameters: Mapping[str, Any]
    seed: int
    run_id: str
    path: Path
    #: `None` while the run is not done.
    metrics: Mapping[str, float | None] | None
    #: CPU time of the run in seconds, if it is done.
    cpu_s: float = 0.0
    weight: float = 1.0
    #: Whether its scenario draws anything at random, so that a verdict needs several seeds.
    random: bool = True
    #: Whether its point gets further seeds where a verdict depends on one (`seeds`).
    extensible: bool = False
    #: The reading that it belongs to; empty for the base.
    reading: str = ""
    #: Run ids that something has read; shared by all rows of the results.
    read: set[str] | None = field(default=None, compare=False, repr=False)

    def __getitem__(self, name: str) -> float:
        """A metric's value."""
        value = self.get(name)
        if value is None:
            raise LonghaulError(f"run {self.run_id} of {self.experiment} has no metric {name!r}")
        return value

    def get(self, name: str) -> float | None:
        """A metric's value, or `None` where it is not defined."""
        if self.metrics is None:
            raise NotRun(f"{self.experiment} {_text(self.parameters)} seed {self.seed} has not been run")
        self._note()
        return self.metrics.get(name)

    def result(self) -> Result:
        """The whole result, with its time series if they were kept."""
        if self.metrics is None:
            raise NotRun(f"{self.experiment} {_text(self.parameters)} seed {self.seed} has not been run")
        self._note()
        return load_run(self.path)

    def _note(self) -> None:
        if self.read is not None:
            self.read.add(self.run_id)


class Points(dict[Any, Any]):
    """Values by those of a parameter; a point that this scale does not have raises `NotRun`."""

    def __missing__(self, key: Any) -> Any:
        raise NotRun(f"there is no point {key} at this scale")


class Table:
    """The runs of one experiment."""

    def __init__(self, experiment: str, rows: Sequence[Row]) -> None:
        """The rows planned at a scale, done or not."""
        self.experiment = experiment
        self.rows = list(rows)
        #: Rows by the values of some parameters, for each choice of parameters that was looked up.
        self._by: dict[tuple[str, ...], dict[tuple[Any, ...], list[Row]]] = {}

    def where(self, **parameters: Any) -> list[Row]:
        """The runs with these parameters, all seeds; raises `NotRun` unless there are some and all are done."""
        rows = self._matching(parameters)
        missing = sum(row.metrics is None for row in rows)
        if not rows:
            raise NotRun(f"{self.experiment} has no point {_text(parameters)} at this scale")
        if missing:
            raise NotRun(f"{self.experiment} {_text(parameters)}: {missing} of {len(rows)} runs are missing")
        return rows

    def has(self, **parameters: Any) -> bool:
        """Whether there are runs with these parameters at this scale, done or not."""
        return bool(self._matching(parameters))

    def values(self, metric: Metric, **parameters: Any) -> list[float]:
        """The metric in each run with these parameters."""
        return [_value(row, metric) for row in self.where(**parameters)]

    def median(self, metric: Metric, **parameters: Any) -> float:
        """The median over seeds, as in most papers' figures."""
        return median(self.values(metric, **parameters))

    def points(self, over: str, **parameters: Any) -> list[Any]:
        """The values of a parameter at this scale, in ascending order where they have one; `NotRun` if there are none."""
        found = list(dict.fromkeys(row.parameters[over] for row in self._matching(parameters)))
        if not found:
            raise NotRun(f"{self.experiment} has no point {_text(parameters)} at this scale")
        return sorted(found) if all(isinstance(value, int | float) for value in found) else found

    def spread(self, metric: Metric, over: str, **parameters: Any) -> dict[Any, list[float]]:
        """All values by those of the parameter `over`: the points that are done. Raises `NotRun` if there is none."""
        found: dict[Any, list[float]] = Points()
        for value in self.points(over, **parameters):
            try:
                found[value] = self.values(metric, **parameters, **{over: value})
            except NotRun:
                continue
        if not found:
            raise NotRun(f"{self.experiment} {_text(parameters)} has not been run")
        return found

    def series(self, metric: Metric, over: str, **parameters: Any) -> dict[Any, float]:
        """Medians by the values of the parameter `over`: every point of this scale, or `NotRun`."""
        points = self.points(over, **parameters)
        return Points((value, self.median(metric, **parameters, **{over: value})) for value in points)

    def _matching(self, parameters: Mapping[str, Any]) -> list[Row]:
        wanted = tuple(parameters)
        if wanted not in self._by:
            found: dict[tuple[Any, ...], list[Row]] = {}
            for row in self.rows:
                found.setdefault(tuple(row.parameters.get(key) for key in wanted), []).append(row)
            self._by[wanted] = found
        return self._by[wanted].get(tuple(parameters.values()), [])


class Results:
    """All experiments of a study at one scale."""

    def __init__(self, scale: str, rows: Sequence[Row]) -> None:
        """The planned runs with their results."""
        self.scale = scale
        self.rows = list(rows)
        #: Ids of the runs that were read so far; of rows that share this set.
        self.read: set[str] = next((row.read for row in self.rows if row.read is not None), set())
        self._tables: dict[str, Table] = {}

    def of(self, reading: str) -> Results:
        """What a reading's targets are compared with: its runs, and the base's at points that it does not concern; without a name the base's."""

        def place(row: Row) -> tuple[Any, ...]:
            return (row.experiment, *row.parameters.items())

        own = {place(row) for row in self.rows if reading and row.reading == reading}
        return Results(self.scale, [row for row in self.rows if row.reading == (reading if place(row) in own else "")])

    def seeds(self, experiments: Sequence[str]) -> tuple[int, int]:
        """The smallest and the largest number of finished runs at the points of some experiments; (0, 0) if none is finished."""
        found: dict[tuple[Any, ...], int] = {}
        for row in self.rows:
            if row.experiment in experiments and row.metrics is not None:
                key = (row.experiment, *row.parameters.items())
                found[key] = found.get(key, 0) + 1
        return (min(found.values()), max(found.values())) if found else (0, 0)

    def __getitem__(self, experiment: str) -> Table:
        """One experiment; one that is left out at this scale has no rows."""
        if experiment not in self._tables:
            self._tables[experiment] = Table(experiment, [row for row in self.rows if row.experiment == experiment])
        return self._tables[experiment]


def _value(row: Row, metric: Metric) -> float:
    return row[metric] if isinstance(metric, str) else metric(row)


def _text(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in parameters.items()) or "(any point)"
