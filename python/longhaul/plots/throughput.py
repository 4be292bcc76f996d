"""Throughput (all that was sent) and goodput (what arrived for the first time) per flow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from .. import course
from ..results import Result
from . import lines, style
from .view import View

#: Closed forms in the summary and how they are called here.
_LIMITS = {
    "fair_share_bps": "equal share of the link",
    "window_limit_bps": "window / RTT",
    "mathis_bps": "Mathis et al. (1997)",
    "cubic_bps": "CUBIC (RFC 9438, 5)",
    "highspeed_bps": "HighSpeed TCP (RFC 3649, 5)",
    "scalable_bps": "Scalable TCP (Kelly 2003)",
    "hybla_bps": "Hybla (Caini and Firrincieli 2004)",
    "compound_bps": "Compound (Tan et al. 2006)",
}


def draw_throughput(result: Result, view: View) -> Figure:
    """Throughput per flow with the closed-form limits."""
    return _draw(result, view, "throughput_bps", "throughput", "Throughput per flow")


def draw_goodput(result: Result, view: View) -> Figure:
    """Goodput per flow with the closed-form limits."""
    return _draw(result, view, "goodput_bps", "goodput", "Goodput per flow")


def _draw(result: Result, view: View, column: str, label: str, what: str) -> Figure:
    figure, axes, _ = lines.flow_figure(result, view, column, "bit/s", label, what, mean=True)
    links = course.links_over_time(result)
    shown = (
        (name, limit)
        for key, name in _LIMITS.items()
        for limit in lines.distinct_limits(result, view.flow_ids(result), partial(_limit, result, links, key))
    )
    for number, (name, limit) in enumerate(shown):
        style.limit_steps(axes, limit.steps.times, limit.steps.values, limit.label(name, "bit/s"), number)
    style.legend_outside(axes)
    return figure


def _limit(result: Result, links: Sequence[course.Link], key: str, flow: dict[str, Any]) -> course.Steps | None:
    if key == "fair_share_bps":
        return course.equal_share(result, links, flow)
    value = flow.get("predicted", {}).get(key)
    return course.Steps((0.0,), (float(value),)) if value else None
