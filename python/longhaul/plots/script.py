"""Draws what links did into time series: outages, handovers, changes of rate, delay and loss, and of route, as `events.parquet` has them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from .. import course, propagation
from ..explain import content_of
from ..results import Result
from ..units import counted
from ..why import case
from . import style
from .view import View

#: More changes or outages of one kind than this would cover what is drawn.
_MOST = 40
#: More links than this are not named one by one.
_NAMED = 2
#: Of more ticks than this a strip stands at the top, of so many parts, as dark as there are changes: they would be a solid block.
_DENSE, _PARTS = 200, 100


def mark(axes: Axes, result: Result, view: View, links: Iterable[int], *, named: bool = True) -> None:
    """Outages and handovers as grey bands, changes of rate, delay or loss as dotted lines; `named` in the legend, once for each kind."""
    start, end = view.span(result)
    links = list(links)
    events = course.events(result).filter(pl.col("link").is_in(links) & (pl.col("time_s") > 0))
    down = events.filter(kind="link_down")
    handed_over = pl.Series(_handovers(result, down), dtype=pl.Boolean)
    kinds = (
        ("handover", down.filter(handed_over), _band),
        ("outage", down.filter(~handed_over), _band),
        ("rate changes", events.filter(kind="link_rate"), _line),
        ("delay changes", events.filter(kind="link_delay"), _line),
        ("loss changes", events.filter(kind="link_loss"), _line),
        ("change of route", _routes(result, links), _line),
    )
    for number, (what, rows, draw) in enumerate(kinds):
        ends = pl.when(kind="link_down").then(pl.col("time_s") + pl.col("value")).otherwise(pl.col("time_s"))
        rows = rows.with_columns(end=ends).filter((pl.col("time_s") < end) & (pl.col("end") > start))
        spans = list(rows.select("time_s", "end").unique(maintain_order=True).iter_rows())
        if not spans:
            continue
        # A change of route is a flow's.
        names = _names(result, rows.filter(pl.col("link") >= 0))
        label = (f"{what}:\n{names}" if names else what) if named else None
        if len(spans) > _MOST:
            # Ticks at the top: so many lines would cover what is drawn.
            at = [place for place, _ in spans]
            label = f"{label}\n({len(spans):,})" if named else None
            if len(spans) > _DENSE:
                _strip(axes, spans, start, end, label)
                continue
            axes.plot(at, [0.985] * len(at), "|", color=style.LIMIT, markersize=5, markeredgewidth=0.6, label=label, transform=axes.get_xaxis_transform())  # fmt: skip
            continue
        for i, span in enumerate(spans):
            draw(axes, span, number, None if i else label)


def _routes(result: Result, links: Iterable[int]) -> pl.DataFrame:
    """Changes of the ways of flows that ever cross one of these links."""
    wanted = set(links)
    moved = [
        flow["id"]
        for flow in result.summary["flows"]
        if flow.get("ways") and wanted & {*case.crossed(flow, "data_path"), *case.crossed(flow, "ack_path")}
    ]
    return result.events.filter((pl.col("kind") == "route") & pl.col("flow").is_in(moved)).sort("time_s")


def _handovers(result: Result, down: pl.DataFrame) -> list[bool]:
    """Which of these breaks are handovers between satellites."""
    content = content_of(result) if len(down) else {}
    links = result.summary["links"]
    return [
        propagation.is_handover(content, str(links[link]["name"]), float(length))
        for link, length in down.select("link", "value").iter_rows()
    ]


def _strip(axes: Axes, spans: list[tuple[float, float]], start: float, end: float, label: str | None) -> None:
    """A strip at the top whose parts are as dark as there are changes in them."""
    count, edges = np.histogram([at for at, _ in spans], bins=_PARTS, range=(start, end))
    for number in np.flatnonzero(count):
        depth = 0.15 + 0.5 * count[number] / count.max()
        axes.axvspan(
            edges[number],
            edges[number + 1],
            0.97,
            1.0,
            facecolor=style.LIMIT,
            alpha=depth,
            linewidth=0,
            label=label,
            zorder=0.5,
        )
        label = None


def _names(result: Result, rows: pl.DataFrame) -> str:
    """The links of some events, without their direction."""
    numbers = rows["link"].unique(maintain_order=True).to_list()
    names = list(dict.fromkeys(str(result.summary["links"][link]["name"]).rsplit(".", 1)[0] for link in numbers))
    return ", ".join(names) if len(names) <= _NAMED else counted(len(names), "link")


def _band(axes: Axes, span: tuple[float, float], _number: int, label: str | None) -> None:
    axes.axvspan(*span, facecolor="#9a9a9a", alpha=0.3, linewidth=0, label=label, zorder=0.5)


def _line(axes: Axes, span: tuple[float, float], number: int, label: str | None) -> None:
    dots: tuple[int, tuple[float, ...]] = (
        (0, ()),
        (0, ()),
        (0, (1, 2)),
        (0, (3, 2, 1, 2)),
        (0, (5, 2)),
        (0, (7, 2, 1, 2)),
    )[number]
    axes.axvline(span[0], color=style.LIMIT, linewidth=0.9, linestyle=dots, label=label)


def paths(result: Result, flows: Iterable[int]) -> list[int]:
    """The links that the data or the ACKs of some flows cross."""
    wanted = set(flows)
    crossing = (flow for flow in result.summary["flows"] if flow["id"] in wanted)
    return sorted({link for flow in crossing for key in ("data_path", "ack_path") for link in case.crossed(flow, key)})
