"""A metric over a swept parameter: means with their confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..errors import PlotError
from ..tables import setting_text, short_paths
from ..units import quantity, read_quantity, spans_decades
from . import style

if TYPE_CHECKING:
    from ..sweep.result import SweepResult

_LINES = 8
#: How far the points of different lines stand from one another where the axis has categories, whose distance is 1.
_ASIDE = 0.07


def draw(result: SweepResult, metric: str, parameter: str | None) -> Figure:
    """Means over `parameter` (the first that varies, if not given) with 95 % intervals over replications."""
    frame = result.cells.filter(pl.col("metric") == metric)
    varying = [p for p in result.parameters if frame[p].n_unique() > 1]
    if parameter is None:
        if not result.parameters:
            return _one_point(result, metric)
        parameter = (varying or result.parameters)[0]
    if parameter not in result.parameters:
        raise PlotError(f"{parameter!r} was not swept; the swept parameters are {', '.join(result.parameters)}")
    others = [p for p in varying if p != parameter]
    values = frame[parameter].unique(maintain_order=True).to_list()
    places, ticks, unit = _places(values)
    figure, (axes,) = style.new()
    lines = list(frame.group_by(others, maintain_order=True)) if others else [((), frame)]
    names = dict(zip(result.parameters, short_paths(result.parameters, 1), strict=True))
    largest = 0.0
    for number, (key, part) in enumerate(lines[:_LINES]):
        # Between categories there is nothing: no line, and the points of each group next to one another.
        aside = 0.0 if ticks is None else _ASIDE * (number - (min(len(lines), _LINES) - 1) / 2)
        x = np.array([places[value] + aside for value in part[parameter].to_list()], dtype=float)
        order = np.argsort(x, kind="stable")
        mean = part["mean"].to_numpy()[order]
        low = part["ci95_low"].fill_null(np.nan).to_numpy().astype(float)[order]
        high = part["ci95_high"].fill_null(np.nan).to_numpy().astype(float)[order]
        label = ", ".join(f"{names[p]} {setting_text(v)}" for p, v in zip(others, key, strict=True)) or None
        bars = np.nan_to_num(np.vstack([mean - low, high - mean]))
        drawn = axes.errorbar(
            x[order], mean, yerr=bars if bars.any() else None, capsize=3, marker="os^Dv<>p"[number], markersize=4,
            color=style.COLOURS[number], linestyle=style.DASHES[number] if ticks is None else "none", label=label,
        )  # fmt: skip
        # How many runs each point is of, for reports that can be explored.
        drawn.runs = part["n"].gather(order.tolist()).to_list()  # type: ignore[attr-defined]
        largest = max(largest, float(np.nanmax(mean + bars[1])))
    means = [float(value) for value in frame["mean"].drop_nulls().to_list()]
    if spans_decades(means):
        style.decades(axes, means)
        style.quantity_axis(axes.yaxis, max(means), result.unit(metric), result.title(metric))
    else:
        style.from_zero(axes, largest)
        style.quantity_axis(axes.yaxis, largest, result.unit(metric), result.title(metric))
    _x_axis(axes, parameter, ticks, unit, [places[v] for v in values])
    below = (
        ", cut at the axis" if any(float(low) < axes.get_ylim()[0] for low in frame["ci95_low"].drop_nulls()) else ""
    )
    more = f", {_LINES} of {len(lines)} lines" if len(lines) > _LINES else ""
    n = int(frame["n"].max() or 1)  # type: ignore[arg-type]
    shown = f"mean and 95 % interval{below} of {n} runs" if n > 1 else "one run at each point"
    style.title(axes, f"{result.title(metric)} ({shown}{more})", result.name)
    style.legend_outside(axes)
    return figure


#: So many runs of one point have a tick each, and a mark each; more are counted.
_NAMED, _MARKED = 20, 300


def _one_point(result: SweepResult, metric: str) -> Figure:
    """No parameter, only seeds: the value of each, or how many have which where they are many."""
    figure, (axes,) = style.new()
    columns = result.values(metric)
    seeds, values = columns["seed"].to_list(), columns[metric].to_numpy().astype(float)
    largest = float(np.nanmax(values))
    mean = float(result.cells.filter(pl.col("metric") == metric)["mean"][0])
    named, unit = f"mean\n= {quantity(mean, result.unit(metric))}", result.unit(metric)
    if len(seeds) > _MARKED:
        counts, _, _ = axes.hist(
            values[np.isfinite(values)], bins=60, color=style.COLOURS[0], label=f"{len(seeds):,} runs"
        )
        axes.axvline(mean, color=style.LIMIT, linewidth=0.9, linestyle="--", label=named)
        style.from_zero(axes, float(np.max(counts)))
        axes.set_ylabel("runs")
        style.quantity_axis(axes.xaxis, largest, unit, result.title(metric))
    else:
        axes.plot(range(len(seeds)), values, "o", color=style.COLOURS[0], label="runs")
        if len(seeds) <= _NAMED:
            axes.set_xticks(range(len(seeds)), [str(seed) for seed in seeds])
            axes.set_xlabel("seed")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("run")
        style.from_zero(axes, largest)
        style.limit_line(axes, mean, named)
        style.quantity_axis(axes.yaxis, largest, unit, result.title(metric))
    style.title(axes, result.title(metric), result.name)
    style.legend_outside(axes)
    return figure


def _places(values: list[Any]) -> tuple[dict[Any, float], list[str] | None, str]:
    """Where values stand on the axis: by size if all are quantities of one kind, side by side if not."""
    read = [read_quantity(value) for value in values]
    units = {item[1] for item in read if item}
    if all(read) and len(units) == 1 and len(values) > 1:
        return {value: item[0] for value, item in zip(values, read, strict=True) if item}, None, units.pop()
    return (
        {value: float(i) for i, value in enumerate(values)},
        [setting_text(v) for v in values],
        "",
    )


def _x_axis(axes: Axes, parameter: str, names: list[str] | None, unit: str, places: list[float]) -> None:
    if names is not None:
        axes.set_xticks(places, names)
        axes.set_xlim(min(places) - 0.5, max(places) + 0.5)
        axes.set_xlabel(parameter)
        return
    low, high = min(places), max(places)
    if low > 0 and high / low > 20:
        axes.set_xscale("log")
    axes.set_xticks(places, [""] * len(places))
    axes.minorticks_off()
    style.quantity_axis(axes.xaxis, high, unit, parameter)
