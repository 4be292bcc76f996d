"""Time series of flows: one line each when they are few; median, band, samples and heat map when they are many."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..course import Steps
from ..results import Result
from ..units import quantity, scaled_unit
from . import decimation, script, style
from .view import View

#: Up to so many flows get a line of their own.
FEW = 8
#: So many single flows are drawn thinly among many.
SAMPLES = 3
_GROUPS = 4
#: So many lines of one closed form.
_LIMITS = 3


def flow_figure(
    result: Result,
    view: View,
    column: str,
    unit: str,
    label: str,
    what: str,
    from_least: bool = False,
    mean: bool = False,
) -> tuple[Figure, Axes, float]:
    """Draws one column of the flows table; returns the figure, its main axes, and the largest value shown."""
    frame = view.cut(result.flows, result).select("time_s", "flow", column)
    if mean:
        frame, width = averaged(frame, column, result, view)
        label = f"{label}, mean of {quantity(width, 's')}"
    ids = view.flow_ids(result)
    if column == "cwnd_bytes":
        # Datagrams have no window.
        ids = [flow for flow in ids if result.summary["flows"][flow].get("variant") != "udp"]
        frame = frame.filter(pl.col("flow").is_in(ids))
    few = len(ids) <= FEW
    figure, axes = style.new(1 if few else 2, ratios=None if few else (3, 2), height=None if few else 6.2)
    main = axes[0]
    if few:
        largest = _each(main, frame, column, result, ids)
    else:
        largest = _bands(main, frame, column, result)
        _heat_map(figure, axes[1], frame, column, unit, label, from_least)
    links = script.paths(result, ids)
    script.mark(main, result, view, links)
    style.title(main, what, result.name)
    style.from_zero(main, largest)
    style.quantity_axis(main.yaxis, largest, unit, label)
    style.time_axis(axes[-1], *view.span(result))
    if not few:
        main.set_xlabel("")
    return figure, main, largest


def averaged(frame: pl.DataFrame, column: str, result: Result, view: View) -> tuple[pl.DataFrame, float]:
    """Means over whole samples of at least a base RTT and 1/150 of the time shown; with them, how long one is in s.

    What TCP sends within a round trip comes in bursts: finer means show the bursts and hide the rate.
    """
    start, end = view.span(result)
    times = frame["time_s"].unique().sort()
    sample = float(times[1] - times[0]) if len(times) > 1 else 1.0
    ids = set(view.flow_ids(result))
    rtt = max(float(flow["base_rtt_s"]) for flow in result.summary["flows"] if flow["id"] in ids)
    samples = max(1, math.ceil(max(rtt, (end - start) / 150) / sample - 1e-6))
    if samples == 1:
        return frame, sample
    width = samples * sample
    slot = ((pl.col("time_s") - start) / width - 1e-6).ceil()
    means = frame.group_by("flow", (start + slot * width).alias("time_s")).agg(pl.col(column).mean())
    return means.sort("time_s", "flow"), width


def flow_label(result: Result, flow: int) -> str:
    """A flow's name for legends."""
    item = result.summary["flows"][flow]
    return str(item.get("name") or f"flow {flow}")


def _each(axes: Axes, frame: pl.DataFrame, column: str, result: Result, ids: list[int]) -> float:
    largest = 0.0
    for number, flow in enumerate(ids):
        rows = frame.filter(pl.col("flow") == flow)
        values = rows[column].to_numpy().astype(float)
        axes.plot(
            *decimation.line(rows["time_s"].to_numpy(), values),
            color=style.COLOURS[number % len(style.COLOURS)],
            linestyle=style.DASHES[number % len(style.DASHES)],
            label=flow_label(result, flow),
        )
        largest = max(largest, largest_of(values))
    return largest


def _bands(axes: Axes, frame: pl.DataFrame, column: str, result: Result) -> float:
    """Per group of flows: the median, the band that holds the middle 80 %, and a few single flows."""
    group_of = {int(flow["id"]): str(flow["group"]) for flow in result.summary["flows"]}
    names = list(dict.fromkeys(group_of[flow] for flow in frame["flow"].unique().sort().to_list()))
    if len(names) > _GROUPS:
        group_of, names = dict.fromkeys(group_of, "all flows"), ["all flows"]
    frame = frame.with_columns(group=pl.col("flow").replace_strict(group_of, return_dtype=pl.String))
    largest = 0.0
    for number, name in enumerate(names):
        colour = style.COLOURS[number]
        members = frame.filter(pl.col("group") == name)
        ids = members["flow"].unique().sort().to_list()
        stats = (
            members.group_by("time_s")
            .agg(
                low=pl.col(column).quantile(0.1, "linear"),
                median=pl.col(column).median(),
                high=pl.col(column).quantile(0.9, "linear"),
            )
            .sort("time_s")
        )
        time = stats["time_s"].to_numpy()
        low, high = stats["low"].to_numpy().astype(float), stats["high"].to_numpy().astype(float)
        if len(ids) == 1:
            line = decimation.line(time, high)
            axes.plot(*line, color=colour, linestyle=style.DASHES[number], label=f"{name}: 1 flow")
            largest = max(largest, largest_of(high))
            continue
        axes.fill_between(
            *decimation.band(time, low, high),
            facecolor=colour,
            alpha=0.22,
            linewidth=0,
            label=f"{name}: 10–90 % of {len(ids)} flows",
        )
        sampled = ids[:: max(1, len(ids) // SAMPLES)][: max(1, SAMPLES // len(names))]
        for i, flow in enumerate(sampled):
            rows = members.filter(pl.col("flow") == flow)
            values = rows[column].to_numpy().astype(float)
            label = f"{name}: single flows" if i == 0 else None
            line = decimation.line(rows["time_s"].to_numpy(), values)
            axes.plot(*line, color=colour, linewidth=0.6, alpha=0.75, label=label)
            largest = max(largest, largest_of(values))
        axes.plot(
            *decimation.line(time, stats["median"].to_numpy()),
            color=colour,
            linewidth=2.2,
            linestyle=style.DASHES[number],
            label=f"{name}: median",
        )
        largest = max(largest, largest_of(high))
    return largest


def _heat_map(
    figure: Figure, axes: Axes, frame: pl.DataFrame, column: str, unit: str, label: str, from_least: bool
) -> None:
    """Every flow as a row, sorted by its mean; dark is little and bright is much, in grey as in colour."""
    order = frame.group_by("flow").agg(pl.col(column).mean()).sort(column, "flow", nulls_last=False)["flow"].to_list()
    times = frame["time_s"].unique().sort().to_numpy()
    rank = {flow: i for i, flow in enumerate(order)}
    grid: NDArray[np.float64] = np.full((len(order), len(times)), np.nan)
    rows = frame["flow"].replace_strict(rank, return_dtype=pl.Int64).to_numpy()
    grid[rows, np.searchsorted(times, frame["time_s"].to_numpy())] = frame[column].to_numpy().astype(float)
    finite = grid[np.isfinite(grid)]
    top = float(np.quantile(finite, 0.99)) if finite.size else 1.0
    bottom = float(finite.min()) if finite.size and from_least else 0.0
    step = float(times[1] - times[0]) if len(times) > 1 else 1.0
    image = axes.imshow(
        grid,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap="cividis",
        vmin=bottom,
        vmax=max(top, bottom * 1.01) or 1.0,
        extent=(float(times[0]) - step, float(times[-1]), 0, len(order)),
    )
    axes.set_ylabel("flows, by mean")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(False)
    factor, name = scaled_unit(top, unit)
    bar = figure.colorbar(image, cax=axes.inset_axes((1.015, 0.0, 0.02, 1.0)), extend="max")
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value / factor:.3g}")
    bar.set_label(f"{label} ({name})" if name else label)


def largest_of(values: NDArray[np.float64]) -> float:
    """The largest finite value, or 0."""
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


@dataclass(frozen=True)
class Limit:
    """A closed form that holds for some flows, and the groups that these are all of, if others have another one."""

    steps: Steps
    groups: tuple[str, ...] = ()

    def label(self, what: str, unit: str) -> str:
        """Its entry in the legend; what it is in an outage goes without saying."""
        name = f"{what}, {', '.join(self.groups)}" if self.groups else what
        values = [value for value in self.steps.values if value > 0] or [0.0]
        high = quantity(max(values), unit)
        return (
            f"{name}\n= {high}"
            if max(values) <= 1.02 * min(values)
            else f"{name}\n= {quantity(min(values), unit)} to {high}"
        )


def distinct_limits(
    result: Result, ids: list[int], of: Callable[[dict[str, Any]], Steps | None], *, ends: bool = False
) -> list[Limit]:
    """The prediction of a closed form for some flows, values within 2 % taken as one.

    Of more than three values only the middle one is left, or the least and the largest (`ends`).
    """
    chosen = set(ids)
    found: list[tuple[Steps, list[str]]] = []
    flows = [(steps, flow) for flow in result.summary["flows"] if flow["id"] in chosen and (steps := of(flow))]
    for steps, flow in sorted(flows, key=lambda pair: max(pair[0].values)):
        if not found or not _alike(found[-1][0], steps):
            found.append((steps, []))
        found[-1][1].append(str(flow["group"]))
    if len(found) > _LIMITS:
        ordered = sorted((steps for steps, _ in flows), key=lambda steps: max(steps.values))
        return [Limit(ordered[0]), Limit(ordered[-1])] if ends else [Limit(ordered[len(ordered) // 2])]
    return [Limit(steps, _own(groups, found)) for steps, groups in found]


def _alike(a: Steps, b: Steps) -> bool:
    return a.times == b.times and all(x <= y * 1.02 and y <= x * 1.02 for x, y in zip(a.values, b.values, strict=True))


def _own(groups: list[str], found: list[tuple[Steps, list[str]]]) -> tuple[str, ...]:
    """The groups of flows with one value, unless there is only one value, or flows of a group have several."""
    mine = tuple(dict.fromkeys(groups))
    others = [name for _, names in found if names is not groups for name in names]
    return mine if len(found) > 1 and not set(mine) & set(others) else ()
