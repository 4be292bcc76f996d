"""What of a result a figure shows: which flows, which stretch of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import PlotError
from ..results import Result

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class View:
    """A selection; `None` means all. Times in s."""

    flows: Sequence[int] | None = None
    start: float | None = None
    end: float | None = None

    def flow_ids(self, result: Result) -> list[int]:
        """The flows that are shown."""
        known = [int(flow["id"]) for flow in result.summary["flows"]]
        if self.flows is None:
            return known
        unknown = sorted(set(self.flows) - set(known))
        if unknown:
            raise PlotError(f"no flow {unknown[0]} in {result.name!r}; its flows are {known[0]} to {known[-1]}")
        return list(self.flows)

    def span(self, result: Result) -> tuple[float, float]:
        """The stretch of simulated time that is shown."""
        start = 0.0 if self.start is None else self.start
        end = float(result.summary["duration_s"]) if self.end is None else self.end
        if not start < end:
            raise PlotError(f"the time from {start:g} s to {end:g} s is empty; --from must be before --to")
        return start, end

    def cut(self, frame: pl.DataFrame, result: Result) -> pl.DataFrame:
        """The rows within the stretch of time and of the selected flows."""
        import polars as pl

        start, end = self.span(result)
        frame = frame.filter(pl.col("time_s").is_between(start, end))
        if self.flows is not None and "flow" in frame.columns:
            frame = frame.filter(pl.col("flow").is_in(self.flow_ids(result)))
        if frame.is_empty():
            raise PlotError(f"{result.name!r} has no samples between {start:g} s and {end:g} s for these flows")
        return frame
