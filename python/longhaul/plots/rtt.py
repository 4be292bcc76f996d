"""Smoothed round-trip time of each flow, above the path's own delay."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from .. import course
from ..results import Result
from . import lines, style
from .view import View


def draw(result: Result, view: View) -> Figure:
    """SRTT per flow; the dashed line is the round trip without any queueing, as the path has it at the time."""
    figure, axes, largest = lines.flow_figure(result, view, "srtt_s", "s", "SRTT", "Round-trip time", from_least=True)
    links = course.links_over_time(result)
    limits = lines.distinct_limits(result, view.flow_ids(result), partial(course.base_rtt, result, links), ends=True)
    for number, base in enumerate(limits):
        style.limit_steps(axes, base.steps.times, base.steps.values, base.label("without queueing", "s"), number)
    least = min((min(base.steps.values) for base in limits), default=0.0)
    if least > 0.4 * largest:
        axes.set_ylim(
            least - 0.1 * (largest - least) - 0.01 * largest, largest + 0.06 * (largest - least) + 0.01 * largest
        )
    style.legend_outside(axes)
    return figure
