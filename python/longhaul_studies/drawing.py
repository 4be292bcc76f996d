"""The style of a study's figures: small, readable in black and white, comparable with the paper's."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from longhaul.files import write_atomically
from longhaul.plots.style import COLOURS, DASHES, styled
from longhaul.report.panels import NOT_RUN, of_figure
from longhaul.units import counted
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from .model import Figure, Study
from .results import EMULATED, NotRun, Results
from .verdict import median

MARKERS = "os^Dv<>pX"
#: Inches of one panel.
PANEL = (4.6, 3.2)
_DPI = 90
#: Colours kept in a PNG file: lines on white need few, and the files stay small.
_PALETTE = 48


@dataclass(frozen=True)
class Drawn:
    """A figure as a PNG, or the reason why it is missing."""

    figure: Figure
    png: bytes | None
    missing: str = ""
    #: The same to explore, where it is made of lines.
    panels: tuple[dict[str, Any], ...] = ()

    @property
    def alt(self) -> str:
        """What it shows, in words."""
        return " ".join(str(panel["alt"]) for panel in self.panels) or f"{self.figure.title}. {self.figure.caption}"


def draw_all(study: Study, results: Results, only: Sequence[str] | None = None) -> list[Drawn]:
    """The figures, of some experiments or of all; figures without runs are listed with the reason."""
    chosen = [f for f in study.figures if only is None or not f.experiments or set(f.experiments) & set(only)]
    return [draw(figure, results) for figure in chosen]


def draw(figure: Figure, results: Results) -> Drawn:
    """One figure."""
    try:
        with style():
            drawing = figure.draw(results)
            _name_empty(drawing)
            _sign(drawing, figure, results)
            png = png_of(drawing)
            name = re.sub(r"\W+", "-", figure.id)
            return Drawn(figure, png, panels=tuple(of_figure(drawing, f"figure-{name}") or ()))
    except NotRun as missing:
        return Drawn(figure, None, str(missing))


def _sign(drawing: Drawing, figure: Figure, results: Results) -> None:
    """Writes scale and seeds below the axes, so that a figure alone says what it shows."""
    if text := scale_and_seeds(figure, results):
        drawing.supxlabel(text, fontsize=6.5, color="0.4", x=0.99, ha="right")


def scale_and_seeds(figure: Figure, results: Results) -> str:
    """The scale of a figure and the seeds of its points; empty without runs."""
    least, most = results.seeds(figure.experiments)
    if not most:
        return ""
    if results.scale == EMULATED:
        return f"real packets, {'one run' if figure.one_run or most == 1 else counted(most, 'run')} of each point"
    if figure.one_run:
        return f"scale {results.scale}, one run"
    seeds = counted(most, "seed") if least == most else f"{least} to {most} seeds"
    return f"scale {results.scale}, {seeds} at each point"


def _name_empty(drawing: Drawing) -> None:
    """Writes into panels without values that their runs have not been made."""
    held = {axes.get_position().bounds for axes in drawing.axes if _has_values(axes)}
    for axes in drawing.axes:
        if axes.axison and not axes.texts and axes.get_position().bounds not in held:
            axes.text(0.5, 0.5, NOT_RUN, transform=axes.transAxes, ha="center", va="center", color="0.4")


def _has_values(axes: Axes) -> bool:
    """Whether more is drawn than lines across the panel."""
    lines = [one for one in axes.get_lines() if one.get_transform() == axes.transData and np.size(one.get_xdata())]
    return bool(lines or axes.collections or axes.patches or axes.images or axes.containers)


def style() -> Any:
    """The context in which study figures are made and saved: as the project's, with all four sides as in papers."""
    context = styled()

    class Both:
        def __enter__(self) -> None:
            context.__enter__()
            matplotlib.rcParams.update({"axes.spines.top": True, "axes.spines.right": True, "legend.fontsize": 7.5})

        def __exit__(self, *error: Any) -> None:
            context.__exit__(*error)

    return Both()


def panels(count: int = 1, *, share_y: bool = True) -> tuple[Drawing, list[Axes]]:
    """A figure with panels side by side, as (a) and (b) stand in papers."""
    drawing = Drawing(figsize=(PANEL[0] * count, PANEL[1]), layout="constrained")
    axes = drawing.subplots(1, count, sharey=share_y, squeeze=False)[0]
    return drawing, list(axes)


def line(axes: Axes, values: Mapping[Any, Sequence[float]], label: str, number: int, *, unfilled: bool = False) -> None:
    """A line through medians, and a small point for each run, as many papers show replications.

    Lines of the same number look the same in every panel: colour, dashes and marker.
    """
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    places = [x for x, runs in values.items() for _ in runs]
    axes.plot(places, [y for runs in values.values() for y in runs], ".", color=colour, markersize=2.5, alpha=0.6)
    axes.plot(
        list(values), [median(runs) for runs in values.values()], color=colour, linestyle=DASHES[number % len(DASHES)],
        marker=marker, markersize=4.5, markerfacecolor="white" if unfilled else colour, label=label,
    )  # fmt: skip


def try_line(
    axes: Axes, values: Callable[[], Mapping[Any, Sequence[float]]], label: str, number: int, **how: Any
) -> bool:
    """Draws a line if its runs are done; returns whether it was drawn."""
    try:
        line(axes, values(), label, number, **how)
    except NotRun:
        return False
    return True


def need(drawn: Sequence[bool]) -> None:
    """Raises `NotRun` if nothing of a figure could be drawn."""
    if not any(drawn):
        raise NotRun("none of its runs has been made")


def png_of(drawing: Drawing) -> bytes:
    """A figure as a small PNG: the same figure gives the same bytes."""
    from PIL import Image

    buffer = io.BytesIO()
    drawing.savefig(buffer, format="png", dpi=_DPI, facecolor="white")
    reduced = Image.open(buffer).convert("RGB").quantize(_PALETTE, dither=Image.Dither.NONE)
    small = io.BytesIO()
    reduced.save(small, format="png", optimize=True)
    return small.getvalue()


def save_all(drawn: Sequence[Drawn], directory: Path, prefix: str = "") -> dict[str, Path]:
    """Writes the figures that could be drawn; paths by the figure's id."""
    paths = {}
    for item in drawn:
        if item.png is not None:
            path = directory / f"{prefix}{file_name(item.figure)}"
            write_atomically(path, item.png)
            paths[item.figure.id] = path
    return paths


def file_name(figure: Figure) -> str:
    """`figure-6.2.png`."""
    return f"figure-{figure.id.replace(' ', '-').replace('/', '-')}.png"
