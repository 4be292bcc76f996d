"""Where the panels of a figure stand: margins that are computed from the texts around them.

Matplotlib's constrained layout draws every figure twice to find that out, which takes as long as drawing it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ft2font import LoadFlags
from matplotlib.text import Text

#: In points, of 1/72 inch: around the figure, between tick labels and their axis, between texts.
_EDGE, _TICKS, _GAP = 5.0, 7.0, 4.0
#: Height of a line of text as a multiple of its size.
_LINE = 1.25


def place(figure: Figure, *, beside: bool = True, above: Mapping[int, float] | None = None) -> None:
    """Puts the stacked panels of a figure where their titles, labels and legends leave room.

    A legend stands right of its panel; where it is longer than the panel and what is below, the figure grows. Without
    `beside` legends take no room and the size stays; `above` has the points to leave free above panels, by number.
    """
    # How many ticks an axis has depends on its length: the second pass sees those that are drawn.
    for _ in range(2):
        _place(figure, beside, above or {})


def _place(figure: Figure, beside: bool, free_above: Mapping[int, float]) -> None:
    panels = list(figure.axes)
    size = figure.get_size_inches() * 72
    left = _EDGE + max(_beside(axes.yaxis) for axes in panels)
    right = _EDGE + max(_right_of(axes, size[0] - left, beside) for axes in panels)
    above = [_above(axes) + free_above.get(number, 0.0) for number, axes in enumerate(panels)]
    below = [_below(axes) for axes in panels]
    grid = panels[0].get_gridspec()
    ratios = np.array(grid.get_height_ratios() if grid else [1.0], dtype=float)
    free = size[1] - 2 * _EDGE - sum(above) - sum(below)
    heights = free * ratios / ratios.sum()
    for i, axes in enumerate(panels if beside else ()):
        until_next = below[i] + (above[i + 1] - _GAP if i + 1 < len(panels) else 0)
        heights[i] = max(heights[i], _legend(axes)[1] - until_next)
    heights = np.maximum(heights, 1.0)
    total = sum(heights) + sum(above) + sum(below) + 2 * _EDGE if beside else size[1]
    if total > size[1] + 0.5:
        figure.set_size_inches(size[0] / 72, total / 72)
    top = total - _EDGE
    for axes, height, over, under in zip(panels, heights, above, below, strict=True):
        top -= over + height
        axes.set_position((left / size[0], top / total, 1 - (left + right) / size[0], height / total))
        top -= under


def _above(axes: Axes) -> float:
    titles = [axes.get_title("left"), axes.get_title("center"), axes.get_title("right")]
    lines = max(title.count("\n") + 1 if title else 0 for title in titles)
    return lines * _points(axes.title) * _LINE + _GAP + 2 if lines else _GAP


def _below(axes: Axes) -> float:
    shown = axes.xaxis.get_tick_params().get("labelbottom", True)
    label = axes.xaxis.label
    lines = label.get_text().count("\n") + 1 if label.get_text() else 0
    names = _tick_labels(axes.xaxis) if shown else []
    size = _size(axes.xaxis)
    rows = max((name.count("\n") + 1 for name in names), default=0)
    high = max((width(name, size) for name in names), default=0.0) if _upright(axes) else rows * size * _LINE
    return _TICKS + high + lines * (_points(label) * _LINE + 2)


def _upright(axes: Axes) -> bool:
    """Whether the names under an axis are turned by 90 degrees."""
    return bool(axes.xaxis.get_tick_params().get("labelrotation", 0) == 90)


def _beside(axis: Any) -> float:
    """The width of the labels of a vertical axis."""
    widest = max((width(name, _size(axis)) for name in _tick_labels(axis)), default=0.0)
    label = axis.label
    lines = label.get_text().count("\n") + 1 if label.get_text() else 0
    return _TICKS + widest + (_GAP + lines * _points(label) * _LINE if lines else 0.0)


def _right_of(axes: Axes, room: float, legend: bool) -> float:
    """What stands right of a panel: its legend, or a bar of colours inside the share of the panel's width that it takes."""
    bars = [0.035 * room + _beside(child.yaxis) for child in axes.child_axes]
    names = _tick_labels(axes.xaxis)
    last = width(names[-1], _size(axes.xaxis)) / 2 if names and not _upright(axes) else 0.0
    return max([*bars, _legend(axes)[0] if legend else 0.0, last])


def _legend(axes: Axes) -> tuple[float, float]:
    """Width and height of the legend right of a panel, its distance included."""
    legend = axes.get_legend()
    if legend is None:
        return 0.0, 0.0
    texts = [text.get_text() for text in legend.get_texts()]
    size = _points(legend.get_texts()[0])
    wide = max(width(text, size) for text in texts) + size * (legend.handlelength + legend.handletextpad)
    high = sum(max(1.0, (text.count("\n") + 1) * _LINE) * size + legend.labelspacing * size for text in texts)
    return wide + 2 * _GAP, high


def _tick_labels(axis: Any) -> list[str]:
    low, high = sorted(axis.get_view_interval())
    places = axis.get_majorticklocs()
    labels = axis.get_major_formatter().format_ticks(places)
    return [label for place, label in zip(places, labels, strict=False) if low <= place <= high]


def _points(text: Text) -> float:
    return float(text.get_fontsize())


def _size(axis: Any) -> float:
    """The size of an axis' tick labels."""
    size = axis.get_tick_params().get("labelsize", font_manager.FontProperties().get_size_in_points())
    return float(font_manager.FontProperties(size=size).get_size_in_points())


def width(text: str, size: float) -> float:
    """Width of a text's longest line in points."""
    families = tuple(matplotlib.rcParams["font.family"])
    return max(sum(_advance(character, families) for character in line) for line in text.split("\n")) * size


@cache
def _advance(character: str, families: tuple[str, ...]) -> float:
    """How far a character takes the next one, as a multiple of the size, in the first of the families that has it."""
    properties = (font_manager.FontProperties(family=[family]) for family in families)
    fonts = [font_manager.get_font(font_manager.findfont(one)) for one in properties]
    font = next((font for font in fonts if font.get_char_index(ord(character))), fonts[0])
    font.set_size(100, 72)
    return font.load_char(ord(character), LoadFlags.NO_HINTING).linearHoriAdvance / 65536 / 100
