"""How far each transport is from the objectives, and what random loss costs."""

from __future__ import annotations

import math

from matplotlib.figure import Figure as Drawing

from ..drawing import MARKERS, panels
from ..model import Figure
from ..results import Results
from .measures import names, times, typical
from .scenarios import CELLS, PATIENCE, SIZES

_LABELS = {cell.name: cell.label for cell in CELLS}
_PATHS = list(dict.fromkeys(cell.name for cell in CELLS))


def _to_objectives(results: Results) -> Drawing:
    """A row for each transport, a mark for each transfer: its time over the objective."""
    shown = names(results)
    drawing, (axes,) = panels()
    drawing.set_size_inches(7.6, 1.6 + 0.26 * len(shown))
    for path, marker in zip(_PATHS, MARKERS, strict=False):
        points = [
            (min(typical(results, cell, name) / cell.objective, PATIENCE), row)
            for row, name in enumerate(shown)
            for cell in CELLS
            if cell.name == path and results["transfers"].has(cell=path, size=cell.megabytes, transport=name)
        ]
        axes.plot(
            [x for x, _ in points], [y for _, y in points], marker, markersize=4.5, alpha=0.8, label=_LABELS[path]
        )
    axes.axvline(1, color="0.35", linewidth=1)
    axes.set_xscale("log")
    ticks = (0.2, 0.5, 1, 2, 5, PATIENCE)
    axes.set_xticks(ticks, [f"{x:g}" if x < PATIENCE else f"{x:g} and more" for x in ticks])
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    axes.set(xlabel="time of the transfer / objective (1: just met)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.9 / (0.26 * len(shown) + 0.6)), ncols=3)
    return drawing


def _loss(results: Results) -> Drawing:
    """The time over the ideal, without and with 1 % loss, every seed."""
    shown = names(results)
    drawing, all_axes = panels(len(SIZES))
    drawing.set_size_inches(9.6, 1.5 + 0.24 * len(shown))
    for axes, size in zip(all_axes, SIZES, strict=True):
        for path, marker, colour in (("250/3", "o", "0.45"), ("250/3, 1 % loss", "x", "#c44e52")):
            cell = next(c for c in CELLS if c.name == path and c.megabytes == size)
            points = [
                (value / cell.ideal, row)
                for row, name in enumerate(shown)
                for value in times(results, cell, name)
                if math.isfinite(value)
            ]
            axes.plot(
                [x for x, _ in points], [y for _, y in points], marker, color=colour, markersize=4, label=_LABELS[path]
            )
        axes.axvline(1, color="0.35", linewidth=1)
        axes.set_xscale("log")
        axes.set_yticks(range(len(shown)), shown)
        axes.tick_params(labelleft=axes is all_axes[0])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set(title=f"{size} MB", xlabel="time / ideal")
    all_axes[-1].legend(loc="upper right")
    return drawing


FIGURES = (
    Figure(
        "objectives", "times over their objectives, every transport",
        "Left of the line an objective is met. Medians over seeds.", _to_objectives, ("transfers",),
    ),
    Figure(
        "loss", "what 1 % random loss costs at 250/3 Mbit/s",
        "Each mark is a run. What is missing did not end within ten times the objective.", _loss, ("transfers",),
    ),
)  # fmt: skip
