"""Utilisation, queue and drops of the links that flows share."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ..errors import PlotError
from ..results import Result
from ..units import quantity
from . import decimation, script, style
from .view import View

#: At most so many links in one figure: the busiest.
_MOST = 4
#: At most so many points in a line of utilisation: bursts shorter than that make a solid block of it.
_POINTS = 150


def draw_utilisation(result: Result, view: View) -> Figure:
    """Share of each link's rate in use: per sample; long runs are drawn as averages of several samples."""
    chosen, remark = _chosen(result)
    frame = view.cut(result.links, result)
    figure, (axes,) = style.new()
    over = ""
    for number, (index, link) in enumerate(chosen):
        rows = frame.filter(pl.col("link") == index)
        style_of = {"color": style.COLOURS[number], "linestyle": style.DASHES[number]}
        mean = quantity(link["metrics"].get("utilisation"), "share")
        samples = rows["time_s"].to_numpy()
        time, used = _averaged(samples, rows["utilisation"].to_numpy())
        if len(time) < len(samples):
            over = f", averages over {quantity(time[1] - time[0], 's')}"
        axes.plot(
            time,
            used,
            label=f"{_label(link)}\nmean {mean}",
            **style_of,
        )
    axes.set_ylim(0, 1.04)
    script.mark(axes, result, view, [index for index, _ in chosen])
    style.quantity_axis(axes.yaxis, 1.0, "share", "utilisation")
    style.title(axes, f"Link utilisation{over}{remark}", result.name)
    style.time_axis(axes, *view.span(result))
    style.legend_outside(axes)
    return figure


def _averaged(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of equally many samples each where there are more than a line can show; a mean stands at the end of its samples."""
    each = -(-len(values) // _POINTS)
    if each < 2:
        return time, values
    starts = np.arange(0, len(values), each)
    counts = np.diff(np.append(starts, len(values)))
    return time[starts + counts - 1], np.add.reduceat(values, starts) / counts


def draw_queue(result: Result, view: View) -> Figure:
    """Queue length (line: at the sampling times, band: up to the maximum between them), RED's average, packets dropped per sample."""
    chosen, remark = _chosen(result)
    frame = view.cut(result.links, result)
    chosen = _queueing(chosen, frame)[:2]
    figure, (queue, drops) = style.new(2, ratios=(3, 1.3), height=5.2)
    longest, most = 0.0, 0.0
    for number, (index, link) in enumerate(chosen):
        rows = frame.filter(pl.col("link") == index)
        colour, dashes = style.COLOURS[number], style.DASHES[number]
        time = rows["time_s"].to_numpy()
        length, peak = (
            rows["queue_packets"].to_numpy().astype(float),
            rows["queue_max_packets"].to_numpy().astype(float),
        )
        queue.fill_between(
            *decimation.band(time, length, peak),
            facecolor=colour,
            alpha=0.25,
            linewidth=0,
            label=f"{_label(link)}:\nmaximum between samples",
        )
        queue.plot(
            *decimation.line(time, length), color=colour, linestyle=dashes, label=f"{_label(link)}:\nat sampling times"
        )
        average = rows["queue_average_packets"].to_numpy().astype(float)
        if not np.isnan(average).all():
            queue.plot(
                *decimation.line(time, average),
                color=style.AVERAGE,
                linestyle=dashes,
                label=f"{_label(link)}:\nRED's average",
            )
        longest = max(longest, float(np.nanmax(peak, initial=0)))
        for column, marker, name in (
            ("drops_queue", "v", "queue"),
            ("drops_loss", "x", "loss on the link"),
            ("marks", "o", "ECN marks"),
        ):
            lost = rows[column].to_numpy().astype(float)
            if lost.any():
                shown = lost > 0
                kind = "" if column == "marks" else "drops: "
                at, number_lost = decimation.peaks(time[shown], lost[shown])
                drops.vlines(at, 0, number_lost, color=colour, linewidth=0.9)
                drops.plot(
                    at,
                    number_lost,
                    marker if shown.sum() <= 120 else "|",
                    color=colour,
                    markersize=3.5,
                    fillstyle="none",
                    label=f"{kind}{name}\n({link['from']} → {link['to']})",
                )
                most = max(most, float(lost.max()))
    style.from_zero(queue, longest)
    style.quantity_axis(queue.yaxis, longest, "packets", "queue")
    script.mark(queue, result, view, [index for index, _ in chosen])
    script.mark(drops, result, view, [index for index, _ in chosen], named=False)
    style.from_zero(drops, most, 1.15)
    drops.set_ylabel("packets\nper sample")
    if most == 0:
        drops.text(0.5, 0.5, "no drops", transform=drops.transAxes, ha="center", va="center", color="#555555")
        drops.set_yticks([])
    style.title(queue, f"Queue and drops{remark}", result.name)
    style.time_axis(drops, *view.span(result))
    style.legend_outside(queue)
    style.legend_outside(drops)
    return figure


def _chosen(result: Result) -> tuple[list[tuple[int, dict[str, Any]]], str]:
    shared = result.shared_links()
    if not shared:
        raise PlotError(f"{result.name!r} has no links")
    return shared[:_MOST], f" (busiest {_MOST} of {len(shared)})" if len(shared) > _MOST else ""


def _queueing(chosen: list[tuple[int, dict[str, Any]]], frame: pl.DataFrame) -> list[tuple[int, dict[str, Any]]]:
    """The links where packets wait or are lost; the busiest if nothing happens anywhere."""
    columns = ("queue_max_packets", "drops_queue", "drops_loss", "marks")
    weight = dict(
        frame.group_by("link").agg(pl.sum_horizontal(pl.col(c).max().cast(pl.Float64) for c in columns)).iter_rows()
    )
    most = max(weight.values(), default=0.0)
    return [pair for pair in chosen if weight.get(pair[0], 0.0) > 0.02 * most] or chosen[:1]


def _label(link: dict[str, Any]) -> str:
    return f"{str(link['name']).rsplit('.', 1)[0]} ({link['from']} → {link['to']})"
