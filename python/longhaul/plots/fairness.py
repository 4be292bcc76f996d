"""Distributions over flows: of their goodputs with Jain's index, and of the completion times of transfers."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from .. import qoe
from ..errors import PlotError
from ..results import Result
from ..stats import jain_index
from ..units import counted, quantity
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
        index = f"{group}: {len(values)} flows,\nJain's index {jain_index(values):.3f}"
        _cumulative(axes, number, values, len(values), index if len(values) > 1 else group)
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


def draw_completion(result: Result, view: View) -> Figure:
    """Cumulative distribution of completion times, one curve per group; transfers that were not finished keep it below 100 %."""
    chosen = set(view.flow_ids(result))
    times: dict[str, list[float | None]] = {}
    for flow in result.summary["flows"]:
        if flow["id"] in chosen and "completion_time_s" in flow["metrics"]:
            times.setdefault(str(flow["group"]), []).append(flow["metrics"]["completion_time_s"])
    done = [time for group in times.values() for time in group if time is not None]
    if not done:
        raise PlotError(f"{result.name!r}: no transfer of these flows was finished; transfers have a size in `app`")
    if len(times) > _GROUPS:
        times = {"all flows": [time for group in times.values() for time in group]}
    figure, (axes,) = style.new()
    for number, (group, values) in enumerate(times.items()):
        finished = [time for time in values if time is not None]
        lacking = len(values) - len(finished)
        label = f"{group}: {counted(len(values), 'transfer')}" + (f",\n{lacking} not finished" if lacking else "")
        if finished:
            _cumulative(axes, number, finished, len(values), label)
    axes.set_xlim(0, max(done) * 1.05)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("share of transfers within")
    style.quantity_axis(axes.xaxis, max(done), "s", "completion time")
    style.title(axes, "Completion times", result.name)
    style.legend_outside(axes)
    return figure


def _cumulative(axes: Axes, number: int, values: list[float], of: int, label: str) -> None:
    """The share of `of` things that have at most each value, in the look of the line with this number."""
    ordered = np.sort(values)
    axes.step(
        np.concatenate(([ordered[0]], ordered)),
        np.concatenate(([0.0], np.arange(1, len(ordered) + 1) / of)),
        where="post",
        color=style.COLOURS[number],
        linestyle=style.DASHES[number],
        label=label,
    )
