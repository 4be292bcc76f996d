"""Throughput (all that was sent) and goodput (what arrived for the first time) per flow."""

from __future__ import annotations

from matplotlib.figure import Figure

from ..results import Result
from ..units import quantity
from . import lines, style
from .view import View

#: Closed forms in the summary and how they are called here.
_LIMITS = {
    "fair_share_bps": "equal share of the link",
    "window_limit_bps": "window / RTT",
    "mathis_bps": "Mathis et al. (1997)",
    "cubic_bps": "CUBIC (RFC 9438, 5)",
}


def draw_throughput(result: Result, view: View) -> Figure:
    """Throughput per flow with the closed-form limits."""
    return _draw(result, view, "throughput_bps", "throughput", "Throughput per flow")


def draw_goodput(result: Result, view: View) -> Figure:
    """Goodput per flow with the closed-form limits."""
    return _draw(result, view, "goodput_bps", "goodput", "Goodput per flow")


def _draw(result: Result, view: View, column: str, label: str, what: str) -> Figure:
    figure, axes, _ = lines.flow_figure(result, view, column, "bit/s", label, what, mean=True)
    for number, (key, name) in enumerate(_LIMITS.items()):
        for value in lines.distinct_limits(result, view.flow_ids(result), key):
            style.limit_line(axes, value, f"{name}\n= {quantity(value, 'bit/s')}", number)
    style.legend_outside(axes)
    return figure
