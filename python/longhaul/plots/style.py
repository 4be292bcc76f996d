"""How all figures look: readable on paper in black and white, and with any kind of colour vision."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator, FuncFormatter, LogLocator, NullLocator

from ..units import scaled_unit, significant

#: Okabe and Ito's palette (Color Universal Design, 2008), dark colours first; yellow is left out: it fades on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#7F7F7F")
#: One line style per colour, so that lines can be distinguished without colour.
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1.5)),
    (0, (9, 2, 1, 2, 1, 2)),
    (0, (2, 3)),
    (0, (10, 3)),
)
LIMIT = "#444444"
#: The end of a name in the legend of what lies above the axis.
OFF_SCALE = " ↑ off scale"
#: What a queue discipline goes by, over what is in the queue.
AVERAGE = "#000000"
_LIMIT_DASHES: tuple[Any, ...] = (
    (0, (4, 3)),
    (0, (12, 4)),
    (0, (8, 3, 1, 3)),
    (0, (1, 2)),
    (0, (8, 2, 1, 2, 1, 2)),
    (0, (2, 6)),
)
SIZE = (8.0, 4.0)

_SETTINGS: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.3,
    "path.simplify": True,
    "svg.hashsalt": "longhaul",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "hatch.linewidth": 0.6,
    "agg.path.chunksize": 20000,
}


def styled(changes: Mapping[str, Any] | None = None) -> Any:
    """The context in which figures are made and saved; `changes` are further settings of matplotlib."""
    return matplotlib.rc_context(_SETTINGS | dict(changes or {}))


def new(
    rows: int = 1, *, height: float | None = None, ratios: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure of stacked panels that share the time axis."""
    figure = Figure(figsize=(SIZE[0], height or SIZE[1] + 1.6 * (rows - 1)))
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    return figure, list(axes)


def title(axes: Axes, what: str, scenario: str) -> None:
    """A figure's title: what it shows, and of which scenario."""
    # With `y` given, drawing does not look for tick labels that the title has to avoid.
    axes.set_title("\n".join(textwrap.wrap(f"{what} – {scenario}", 95)), y=1.0)


class Scaled(FuncFormatter):
    """Numbers of an axis in a unit that is `factor` base units."""

    def __init__(self, factor: float, unit: str = "") -> None:
        super().__init__(lambda value, _: _tick(value / factor))
        self.factor = factor
        self.unit = unit


def quantity_axis(axis: Any, largest: float, unit: str, label: str) -> None:
    """Labels an axis with a scaled unit; the data stay in base units."""
    factor, name = scaled_unit(largest, unit)
    plain = {"": "", "1": ""}.get(name, name)
    axis.set_major_formatter(Scaled(factor, plain))
    shown = f" ({plain})" if plain else ""
    axis.set_label_text(f"{label}{shown}")


def decades(axes: Axes, values: Iterable[float]) -> None:
    """A logarithmic y axis around values above zero, with names at 1, 2 and 5 and without minor ticks."""
    known = [value for value in values if math.isfinite(value)]
    axes.set_yscale("log", nonpositive="clip")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(known) / min(known) < 1000 else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylim(min(known) / 1.4, max(known) * 1.4)


def time_axis(axes: Axes, start: float, end: float) -> None:
    """The time axis, in simulated seconds."""
    axes.set_xlim(start, end)
    axes.set_xlabel("time (s)")
    axes.xaxis.set_minor_locator(AutoMinorLocator(2))


def from_zero(axes: Axes, largest: float, headroom: float = 1.06) -> None:
    """A y axis from zero to just above the largest value."""
    axes.set_ylim(0, largest * headroom if largest > 0 and math.isfinite(largest) else 1)


def legend_outside(axes: Axes, **settings: Any) -> None:
    """A legend right of the axes, where it hides nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, handlelength=3.2, **settings)


def limit_line(axes: Axes, value: float, label: str, number: int = 0) -> None:
    """A closed-form limit: a thin dashed line, named in the legend. One above the axis is only named, marked ↑."""
    limit_steps(axes, (0.0,), (value,), label, number)


def limit_steps(axes: Axes, times: Sequence[float], values: Sequence[float], label: str, number: int = 0) -> None:
    """A closed-form limit that changes in steps; from each time (s) on it has the value next to it."""
    above = min(values) > axes.get_ylim()[1]
    constant = len(values) == 1
    data: Any = ([], []) if above else ([0, 1], [*values] * 2) if constant else ([*times, 1e18], [*values, values[-1]])
    extra: Any = {"transform": axes.get_yaxis_transform()} if constant and not above else {}
    axes.plot(
        *data,
        color=LIMIT,
        linewidth=0.9,
        linestyle=_LIMIT_DASHES[number % len(_LIMIT_DASHES)],
        drawstyle="default" if constant else "steps-post",
        scalex=False,
        scaley=False,
        label=label + (OFF_SCALE if above else ""),
        **extra,
    )


def _tick(value: float) -> str:
    return significant(round(value, 12), 4).replace("-0", "0") if value == 0 else significant(value, 4)
