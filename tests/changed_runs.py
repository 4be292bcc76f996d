"""Results of real runs, with some of their values twice or half as large.

Counts of events stay whole: half of one is none, and twice of none is one.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import random
from collections.abc import Callable
from typing import Any

import polars as pl
from longhaul_studies import Results, Row

#: Metrics that count events, by parts of their names.
_COUNTS = ("timeouts", "drops", "fast_retransmits", "retransmitted", "through_packets", "failed")
#: Frames of a result.
_FRAMES = ("flows", "links", "events", "segments", "monitors", "middleboxes")


@dataclasses.dataclass(frozen=True)
class Change:
    """A factor on the values whose names contain a word, of one flow or of all; of time series in a part of the run.

    The word `rows` stands for the number of a frame's rows: every second one is left out, or each is there twice.
    """

    word: str
    factor: float
    flow: int | None = None
    first: float = 0.0
    last: float = 1.0

    def of(self, name: str, value: Any) -> Any:
        """A value after the change."""
        if self.word not in name or not isinstance(value, int | float) or isinstance(value, bool):
            return value
        if any(part in name for part in _COUNTS):
            return float(math.floor(value / 2)) if self.factor < 1 else max(2.0 * value, 1.0)
        return value * self.factor


class ChangedResult:
    """A run's result whose frames and flows' metrics have the change."""

    def __init__(self, result: Any, change: Change) -> None:
        self._result, self._change = result, change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._result, name)
        return self._frame(found) if name in _FRAMES and isinstance(found, pl.DataFrame) else found

    @property
    def summary(self) -> Any:
        """The summary with the flows' metrics changed."""
        found = copy.deepcopy(self._result.summary)
        for number, flow in enumerate(found["flows"]):
            if self._change.flow not in (None, number):
                continue
            flow["metrics"] = {name: self._change.of(name, value) for name, value in flow["metrics"].items()}
        return found

    def _frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        change = self._change
        if change.word == "rows":
            return frame.gather_every(2) if change.factor < 1 else pl.concat([frame, frame])
        columns = [
            name for name, kind in frame.schema.items() if change.word in name and kind.is_numeric() and name not in ("flow", "link", "kind")
        ]  # fmt: skip
        if not columns or not frame.height:
            return frame
        inside = pl.lit(True)
        if change.flow is not None and "flow" in frame.columns:
            inside = pl.col("flow") == change.flow
        if "time_s" in frame.columns:
            end = float(frame["time_s"].max() or 0)  # type: ignore[arg-type]
            inside &= pl.col("time_s").is_between(change.first * end, change.last * end)
        return frame.with_columns(
            pl.when(inside).then(pl.col(name).cast(pl.Float64) * change.factor).otherwise(pl.col(name).cast(pl.Float64)).alias(name)
            for name in columns
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ChangedRow(Row):
    """A run that is done, with changes."""

    changes: tuple[Change, ...] = ()
    #: Names of the metrics that were asked for, and "series" if the result was.
    asked: set[str] = dataclasses.field(default_factory=set, compare=False, repr=False)

    def get(self, name: str) -> float | None:
        """The metric after the changes."""
        self.asked.add(name)
        value = super().get(name)
        for change in self.changes:
            value = change.of(name, value)
        return value

    def result(self) -> Any:
        """The result after the changes."""
        self.asked.add("series")
        result: Any = super().result()
        for change in self.changes:
            result = ChangedResult(result, change)
        return result


def watched(results: Results, asked: set[str]) -> Results:
    """The same results; what is asked for is noted."""
    return Results(results.scale, [_with(row, (), asked) for row in results.rows])


def changed(results: Results, words: list[str], inside: Callable[[Row], bool], draw: random.Random) -> Results:
    """The results with one change in those runs."""
    part = draw.choice(((0.0, 1.0), (0.0, 1.0), (0.0, 0.5), (0.5, 1.0), (0.0, 0.2), (0.2, 0.5)))
    change = Change(draw.choice(words), draw.choice((0.5, 2.0)), draw.choice((None, None, 0, 1)), *part)
    return Results(
        results.scale,
        [_with(row, (*getattr(row, "changes", ()), change), set()) if inside(row) else row for row in results.rows],
    )


def words_of(asked: set[str]) -> list[str]:
    """What a change can be of: a metric that was asked for, or a column of the series."""
    names = {name.rpartition(".")[2] for name in asked - {"series"}}
    columns = {
        "cwnd_bytes", "goodput_bps", "throughput_bps", "queue_max_packets", "queue_bytes", "time_s", "completion_time_s", "retransmi", "rows",
    }  # fmt: skip
    return sorted(names | (columns if "series" in asked else set()))


def _with(row: Row, changes: tuple[Change, ...], asked: set[str]) -> Row:
    fields = {field.name: getattr(row, field.name) for field in dataclasses.fields(Row)}
    return ChangedRow(**fields, changes=changes, asked=asked)
