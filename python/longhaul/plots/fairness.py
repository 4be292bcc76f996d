"""How evenly the flows share: the distribution of their goodputs, and Jain's index."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from .. import qoe
from ..errors import PlotError
from ..results import Result
from ..stats import jain_index
from ..units import quantity
from . import style
from .view import View

_GROUPS = 6


def draw(result: Result, view: View) -> Figure:
    """Cumulative distribution of goodput over flows, one curve per group; dashed: what an equal share would be."""
    chosen = set(view.flow_ids(result))
    rates: dict[str, list[float]] = {}
    for flow in result.summary["flows"]:
        if flow["id"] in chosen:
            rates.setdefault(str(flow["group"]), []).append(float(flow["metrics"].get("goodput_bps") or 0.0))
    everything = [rate for group in rates.values() for rate in group]
    if len(everything) < 2:
        raise PlotError("fairness needs at least two flows")
    if len(rates) > _GROUPS:
        rates = {"all flows": everything}
    figure, (axes,) = style.new()
    for number, (group, values) in enumerate(rates.items()):
        ordered = np.sort(values)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        axes.step(
            np.concatenate(([ordered[0]], ordered)),
            np.concatenate(([0.0], share)),
            where="post",
            color=style.COLOURS[number],
            linestyle=style.DASHES[number],
            label=f"{group}: {len(ordered)} flows,\nJain's index {jain_index(values):.3f}"
            if len(ordered) > 1
            else group,
        )
    mean = float(np.mean(everything))
    axes.axvline(
        mean,
        color=style.LIMIT,
        linewidth=0.9,
        linestyle=(0, (4, 3)),
        label=f"mean of all\n= {quantity(mean, 'bit/s')}",
    )
    largest = max(everything)
    axes.set_xlim(0, largest * 1.05 or 1)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("share of flows with at most")
    style.quantity_axis(axes.xaxis, largest, "bit/s", "goodput")
    # Shares of flows that want different things are not fair or unfair.
    index = f": Jain's index {jain_index(everything):.3f}" if qoe.like_demand(result) else ""
    style.title(axes, f"Fairness{index}", result.name)
    style.legend_outside(axes)
    return figure
