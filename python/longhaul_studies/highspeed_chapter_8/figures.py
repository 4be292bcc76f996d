"""Response functions on a log-log scale, and windows while the rate changes."""

from __future__ import annotations

from matplotlib.figure import Figure as Drawing

from ..drawing import line, panels
from ..highspeed.measures import sending_rate
from ..highspeed.scenarios import PIPE
from ..highspeed.targets.isolated import trace
from ..model import Figure
from ..results import Results
from .measures import group
from .points import FALL, LOSSES, RESPONSES, RISE


def _functions(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    drawing.set_size_inches(6.4, 3.4)
    table = results["alone"]
    for number, name in enumerate(RESPONSES):
        line(axes, table.spread(sending_rate(group(name)), "loss", response=name), name, number)
    axes.axhline(PIPE, color="0.5", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="link loss rate", ylabel="packets per RTT", xticks=LOSSES)
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return drawing


def _windows(results: Results) -> Drawing:
    drawing, (axes,) = panels()
    drawing.set_size_inches(6.4, 3.0)
    for name in results["transients"].points("response"):
        flow = trace(results["transients"].where(response=name)[0])
        step = max(1, len(flow.time) // 1200)
        axes.plot(flow.time[::step], flow.cwnd[::step], linewidth=1, label=name)
    for at in (FALL, RISE):
        axes.axvline(at, color="0.5", linewidth=0.8)
    axes.set(xlabel="time (s)", ylabel="cwnd (packets)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return drawing


FIGURES = (
    Figure("functions", "Response functions over a lossy link", "The line across is the pipe of 8,333 packets.", _functions, ("alone",)),
    Figure("transients", "cwnd while the rate is halved and doubled", "500 Mbit/s between both lines, else 1 Gbit/s; RED.", _windows, ("transients",), one_run=True),
)  # fmt: skip
