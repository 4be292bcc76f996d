"""How long links and ways take without queue and transmission, where a script, a route, a file, satellites or random steps move that."""

from __future__ import annotations

from matplotlib.figure import Figure

from .. import propagation
from ..errors import PlotError
from ..results import Result
from . import decimation, script, style
from .view import View

#: At most so many directions of links.
_MOST = 4


def draw(result: Result, view: View) -> Figure:
    """The delay of each direction of a link that moves, one way; both directions of a satellite link are one line. Of flows whose
    ways change, that of the whole way.
    """
    start, end = view.span(result)
    found = propagation.delays(result)[:_MOST]
    if not found:
        raise PlotError(f"no link of {result.name!r} has a delay that changes, as far as its scenario can be run again")
    figure, (axes,) = style.new()
    largest = 0.0
    for number, one in enumerate(found):
        within = (one.times >= start) & (one.times <= end)
        times, values = (
            (one.times, one.values) if one.stepped else decimation.line(one.times[within], one.values[within])
        )
        largest = max(largest, float(one.values.max()))
        drawstyle = "steps-post" if one.stepped else "default"
        axes.plot(
            times,
            values,
            color=style.COLOURS[number],
            linestyle=style.DASHES[number],
            drawstyle=drawstyle,
            label=one.name(result),
        )
    style.from_zero(axes, largest)
    style.quantity_axis(axes.yaxis, largest, "s", "delay, one way")
    script.mark(axes, result, view, [one.number for one in found])
    style.title(axes, "Propagation delay", result.name)
    style.time_axis(axes, start, end)
    style.legend_outside(axes)
    return figure
