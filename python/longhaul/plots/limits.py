"""The shares of each flow's time under each limit, stacked."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from .. import usage
from ..errors import PlotError
from ..explain import content_of, limit_names, limit_title
from ..results import Result
from . import lines, style
from .view import View

_BARS = 16


def draw(result: Result, view: View) -> Figure:
    """One bar per flow; for many flows one column each, sorted by the limit that matters most, side by side as areas."""
    chosen = set(view.flow_ids(result))
    flows = [flow for flow in result.summary["flows"] if flow["id"] in chosen and flow.get("limited")]
    if not flows:
        raise PlotError(f"{result.name!r} contains no limits of its flows")
    return _bars(result, flows) if len(flows) <= _BARS else _areas(result, flows)


def _bars(result: Result, flows: list[dict[str, Any]]) -> Figure:
    figure, (axes,) = style.new(height=max(1.8, 1.1 + 0.32 * len(flows)))
    left = np.zeros(len(flows))
    content = content_of(result)
    rows = np.arange(len(flows))
    for name in limit_names(flows):
        shares = np.array([usage.by_time(flow).get(name, 0.0) for flow in flows])
        axes.barh(rows, shares, left=left, height=0.72, label=limit_title(name, flows, content), **_fill(name))
        for row, (share, start) in enumerate(zip(shares, left, strict=True)):
            if share >= 0.07:
                axes.text(
                    start + share / 2, row, f"{share:.0%}", ha="center", va="center", fontsize=7,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
                )  # fmt: skip
        left += shares
    axes.set_yticks(rows, [lines.flow_label(result, flow["id"]) for flow in flows])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("share of the flow's time")
    style.title(axes, "What limited each flow", result.name)
    style.legend_outside(axes)
    return figure


def _areas(result: Result, flows: list[dict[str, Any]]) -> Figure:
    figure, (axes,) = style.new()
    names, content = limit_names(flows), content_of(result)
    mean = {name: np.mean([usage.by_time(flow).get(name, 0.0) for flow in flows]) for name in names}
    main = max(names, key=lambda name: mean[name])
    flows = sorted(flows, key=lambda flow: usage.by_time(flow).get(main, 0.0))
    edges = np.arange(len(flows) + 1)
    base = np.zeros(len(flows) + 1)
    for name in sorted(names, key=lambda name: -mean[name]):
        shares = np.array([usage.by_time(flow).get(name, 0.0) for flow in flows])
        top = base + np.append(shares, shares[-1])
        axes.fill_between(
            edges,
            base,
            top,
            step="post",
            label=f"{limit_title(name, flows, content)}: {shares.mean():.0%} on average",
            linewidth=0,
            **_fill(name, hatched=len(flows) <= 100),
        )
        base = top
    axes.set_xlim(0, len(flows))
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("share of the flow's time")
    axes.set_xlabel(f"{len(flows)} flows, by the share of {limit_title(main, flows, content)}")
    style.title(axes, "What limited each flow", result.name)
    style.legend_outside(axes)
    return figure


#: The colour of each limit, and its hatch. What comes of a loss has one colour, and so have the windows of hosts.
_FILLS = {
    "link": ("#BBBBBB", ""),
    "cwnd": (style.COLOURS[0], ""),
    "slow_start": (style.COLOURS[1], "////"),
    "recovery": (style.COLOURS[2], "||||"),
    "timeout": (style.COLOURS[2], "xx"),
    "receiver_window": (style.COLOURS[3], "\\\\\\\\"),
    "send_buffer": (style.COLOURS[3], "xx"),
    "application": (style.COLOURS[4], "xxxx"),
    "pacing": (style.COLOURS[5], "----"),
    "handshake": (style.COLOURS[6], "++"),
    "closed": (style.COLOURS[7], "oo"),
    "down": ("#FFFFFF", ".."),
}


def _fill(name: str, hatched: bool = True) -> dict[str, Any]:
    colour, hatch = _FILLS.get(name, _FILLS["closed"])
    return {
        "facecolor": colour,
        "alpha": 0.75,
        "hatch": hatch if hatched else "",
        "edgecolor": "#888888" if name == "down" else "white",
    }
