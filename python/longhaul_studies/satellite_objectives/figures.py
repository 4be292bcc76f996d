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


#: The paths that figure loss compares: marker, colour and dashes, and the place of its marks beside a row's line.
_COMPARED = (("250/3", "o", "0.45", "--", -0.15), ("250/3, 1 % loss", "x", "#c44e52", ":", 0.15))


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
    """The time over the ideal, without and with 1 % loss, every seed; runs that did not end stand where they were stopped."""
    shown = names(results)
    drawing, all_axes = panels(len(SIZES))
    drawing.set_size_inches(9.6, 2.0 + 0.24 * len(shown))
    for axes, size in zip(all_axes, SIZES, strict=True):
        for path, marker, colour, dashes, shift in _COMPARED:
            cell = next(c for c in CELLS if c.name == path and c.megabytes == size)
            by_row = [times(results, cell, name) for name in shown]
            points = [(t / cell.ideal, row + shift) for row, found in enumerate(by_row) for t in found if t < math.inf]
            axes.plot(
                [x for x, _ in points], [y for _, y in points], marker, color=colour, markersize=4, label=_LABELS[path]
            )
            stopped = PATIENCE * cell.objective / cell.ideal
            missing = {row: sum(map(math.isinf, found)) for row, found in enumerate(by_row)}
            rows = [row for row, count in missing.items() if count]
            axes.plot(
                [stopped] * len(rows), [row + shift for row in rows], ">", color=colour, markersize=6, markerfacecolor="white",
                label=f"{_LABELS[path]}: stopped, not done",
            )  # fmt: skip
            for row in rows:
                if missing[row] < len(by_row[row]):
                    axes.annotate(
                        f"{missing[row]} of {len(by_row[row])}", (stopped, row + shift), textcoords="offset points", xytext=(6, 0),
                        fontsize=6, va="center", color=colour,
                    )  # fmt: skip
            objective = cell.objective / cell.ideal
            axes.axvline(objective, color=colour, linestyle=dashes, linewidth=1.3, label=f"{_LABELS[path]}: objective")
            # Room for the numbers.
            axes.set_xlim(0.85, 1.9 * stopped)
        axes.axvline(1, color="0.35", linewidth=1, label="ideal")
        axes.set_xscale("log")
        axes.set_yticks(range(len(shown)), shown)
        axes.tick_params(labelleft=axes is all_axes[0])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set(title=f"{size} MB", xlabel="time / ideal")
    handles, labels = all_axes[0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4)
    return drawing


FIGURES = (
    Figure(
        "objectives", "times over their objectives, every transport",
        "Left of the line an objective is met. Medians over seeds.", _to_objectives, ("transfers",),
    ),
    Figure(
        "loss", "what 1 % random loss costs at 250/3 Mbit/s",
        "Each mark is a run; right of a path's objective it is not met. Triangles: runs that were stopped at ten times the objective, all of a row if no number stands there.", _loss, ("transfers",),
    ),
)  # fmt: skip
