"""The inside of congestion control over time: W_max, the model of BBR, a bandwidth estimate, by unit."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ..errors import PlotError
from ..results import Result
from . import decimation, lines, style
from .view import View

#: So many flows are drawn, the first of those chosen.
FLOWS = 4
_LABELS = {"": "ratio, count or state", "B": "bytes", "bit/s": "rate", "s": "time"}


def draw(result: Result, view: View) -> Figure:
    """A panel for each unit, in it a line for each number and flow; bounds that are infinite are left out."""
    ids = view.flow_ids(result)[:FLOWS]
    frame = view.cut(result.cc, result).filter(pl.col("flow").is_in(ids) & pl.col("value").is_finite())
    if frame.is_empty():
        raise PlotError(
            f"{result.name!r}: the congestion controls of these flows record no state; those of CUBIC, BIC, H-TCP, "
            "Westwood+, Vegas, BBR and others do"
        )
    units = frame["unit"].unique(maintain_order=True).to_list()
    figure, panels = style.new(len(units), height=1.2 + 2.0 * len(units))
    for axes, unit in zip(panels, units, strict=True):
        rows = frame.filter(pl.col("unit") == unit)
        largest = 0.0
        for number, (name, flow) in enumerate(rows.select("name", "flow").unique(maintain_order=True).iter_rows()):
            line = rows.filter((pl.col("name") == name) & (pl.col("flow") == flow))
            values = line["value"].to_numpy().astype(float)
            axes.plot(
                *decimation.line(line["time_s"].to_numpy(), values),
                color=style.COLOURS[number % len(style.COLOURS)],
                linestyle=style.DASHES[number // len(style.COLOURS) % len(style.DASHES)],
                drawstyle="steps-post",
                label=name if len(ids) == 1 else f"{lines.flow_label(result, flow)}: {name}",
            )
            largest = max(largest, float(np.max(values)))
        style.from_zero(axes, largest)
        style.quantity_axis(axes.yaxis, largest, _SCALES.get(unit, unit), _LABELS[unit])
        style.time_axis(axes, *view.span(result))
        style.legend_outside(axes)
        if axes is not panels[-1]:
            axes.set_xlabel("")
    style.title(panels[0], "Inside congestion control", result.name)
    return figure


_SCALES = {"B": "bytes"}
