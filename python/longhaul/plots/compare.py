"""Two results of one scenario over each other: goodput, congestion window and smoothed round-trip time of each flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ..compare import labels as labels_of
from ..errors import PlotError
from ..results import Result
from . import decimation, finished, style

#: Column of `flows.parquet`, its unit, and what it is called.
_PANELS = (("goodput_bps", "bit/s", "Goodput"), ("cwnd_bytes", "B", "cwnd"), ("srtt_s", "s", "SRTT"))
#: More flows than this cannot be distinguished.
_MOST = 4


def draw(first: Result, second: Result, flows: Sequence[int] | None = None) -> Figure:
    """Three panels over time; a colour for each flow (the first four, unless chosen), the first result drawn through."""
    names = [str(flow["name"]) for flow in first.summary["flows"]]
    shown = list(range(min(_MOST, len(names)))) if flows is None else list(flows)
    if not all(0 <= flow < len(names) for flow in shown):
        raise PlotError(f"there is no such flow; the results have flows 0 to {len(names) - 1}")
    labels = labels_of(first, second)
    lines: tuple[tuple[Result, str, Any], ...] = ((first, labels[0], "-"), (second, labels[1], (0, (5, 2))))

    def drawing() -> Figure:
        figure, panels = style.new(len(_PANELS))
        for axes, (column, unit, title) in zip(panels, _PANELS, strict=True):
            largest = 0.0
            for result, label, dashes in lines:
                for number, flow in enumerate(shown):
                    table = result.flows.filter(pl.col("flow") == flow).select("time_s", column).drop_nulls()
                    colour = style.COLOURS[number % len(style.COLOURS)]
                    line = decimation.line(table["time_s"].to_numpy(), table[column].to_numpy().astype(float))
                    axes.plot(*line, color=colour, linestyle=dashes, label=f"{names[flow]}, {label}")
                    largest = max([largest, *table[column].to_list()])
            style.from_zero(axes, largest)
            style.quantity_axis(axes.yaxis, largest, unit, title)
        style.title(panels[0], f"{labels[0]} and {labels[1]}", first.name)
        style.legend_outside(panels[0])
        style.time_axis(panels[-1], 0.0, max(result.summary["duration_s"] for result in (first, second)))
        return figure

    return finished(drawing)
