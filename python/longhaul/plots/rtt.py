"""Smoothed round-trip time of each flow, above the path's own delay."""

from __future__ import annotations

from matplotlib.figure import Figure

from ..results import Result
from ..units import quantity
from . import lines, style
from .view import View


def draw(result: Result, view: View) -> Figure:
    """SRTT per flow; the dashed line is the round trip without any queueing."""
    figure, axes, largest = lines.flow_figure(result, view, "srtt_s", "s", "SRTT", "Round-trip time", from_least=True)
    ids = set(view.flow_ids(result))
    bases = sorted({round(float(flow["base_rtt_s"]), 4) for flow in result.summary["flows"] if flow["id"] in ids})
    for number, base in enumerate(bases if len(bases) <= 3 else (bases[0], bases[-1])):
        style.limit_line(axes, base, f"without queueing\n= {quantity(base, 's')}", number)
    if bases and bases[0] > 0.4 * largest:
        axes.set_ylim(
            bases[0] - 0.1 * (largest - bases[0]) - 0.01 * largest,
            largest + 0.06 * (largest - bases[0]) + 0.01 * largest,
        )
    style.legend_outside(axes)
    return figure
