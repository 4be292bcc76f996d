"""Two results of one scenario over each other: goodput, congestion window and smoothed round-trip time of each flow.

Each result has a colour, and each flow a dash.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import course
from ..compare import labels as labels_of
from ..errors import PlotError
from ..results import Result
from ..units import quantity
from . import decimation, finished, lines, style
from .view import View

#: Column of `flows.parquet`, its unit, what it is called, and whether it is averaged over a round trip.
_PANELS = (
    ("goodput_bps", "bit/s", "Goodput", True),
    ("cwnd_bytes", "B", "cwnd", False),
    ("srtt_s", "s", "SRTT", False),
)
#: An axis whose least value is more than this part of the largest does not begin at zero.
_FAR_FROM_ZERO = 0.4
#: More flows than this cannot be distinguished.
_MOST = 4


def draw(first: Result, second: Result, flows: Sequence[int] | None = None) -> Figure:
    """Three panels over time; a colour for each result, a dash for each flow (the first four, unless chosen)."""
    names = [str(flow["name"]) for flow in first.summary["flows"]]
    shown = list(range(min(_MOST, len(names)))) if flows is None else list(flows)
    if not all(0 <= flow < len(names) for flow in shown):
        raise PlotError(f"there is no such flow; the results have flows 0 to {len(names) - 1}")
    labels = labels_of(first, second)
    results = ((first, labels[0], style.COLOURS[0]), (second, labels[1], style.COLOURS[1]))

    def drawing() -> Figure:
        figure, panels = style.new(len(_PANELS))
        for axes, (column, unit, title, mean) in zip(panels, _PANELS, strict=True):
            values: list[float] = []
            name = title
            for result, label, colour in results:
                frame = result.flows.filter(pl.col("flow").is_in(shown)).select("time_s", "flow", column)
                if mean:
                    # What is repaired is delivered at once: single samples are many times the rate of the link.
                    frame, width = lines.averaged(frame, column, result, View(shown))
                    name = f"{title}, mean of {quantity(width, 's')}"
                for number, flow in enumerate(shown):
                    table = frame.filter(pl.col("flow") == flow).select("time_s", column).drop_nulls()
                    line = decimation.line(table["time_s"].to_numpy(), table[column].to_numpy().astype(float))
                    dashes = style.DASHES[number % len(style.DASHES)]
                    axes.plot(*line, color=colour, linestyle=dashes, label=f"{names[flow]}, {label}")
                    values += table[column].to_list()
            least, largest = min(values, default=0.0), max(values, default=0.0)
            style.from_zero(axes, largest)
            if column == "srtt_s" and least > _FAR_FROM_ZERO * largest:
                room = 0.06 * (largest - least) + 0.01 * largest
                axes.set_ylim(least - room, largest + room)
            style.quantity_axis(axes.yaxis, largest, unit, name)
            if mean:
                _limits(axes, first, shown)
        style.title(panels[0], f"{labels[0]} and {labels[1]}", first.name)
        style.legend_outside(panels[0])
        style.time_axis(panels[-1], 0.0, max(result.summary["duration_s"] for result in (first, second)))
        return figure

    return finished(drawing)


def _limits(axes: Axes, result: Result, shown: Sequence[int]) -> None:
    """An equal share of the path for these flows: for one flow what its link carries of payload."""
    links = course.links_over_time(result)
    shares = lines.distinct_limits(result, list(shown), partial(course.equal_share, result, links))
    for number, share in enumerate(shares):
        label = share.label("equal share of the link", "bit/s")
        style.limit_steps(axes, share.steps.times, share.steps.values, label, number)
