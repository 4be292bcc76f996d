"""A drawn figure as panels to explore: lines, points and intervals are read off Matplotlib's figure, for the script of reports.

So every figure of a sweep or a study can be hovered over, zoomed and switched without a drawing of its own, and stays as it was drawn
for print. Lines, points, intervals, bars (standing or lying) and maps have such panels; what is filled in another way has none.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..units import significant
from .dots import short
from .explore import decimated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = NDArray[np.float64]

#: Points of one line.
_POINTS = 1500
#: What stands in the middle of a panel whose runs have not been made.
NOT_RUN = "not run"
#: Colours of the page beyond the palette: what is black or grey on paper.
_INK, _SOFT = "ink", "soft"


def of_figure(figure: Figure, name: str) -> list[dict[str, Any]] | None:
    """The panels of a figure, one for each of its axes; `None` if something in it is not made of lines.

    `name` begins their identifiers, and is unique in a page.
    """
    panels = []
    shown = [axes for axes in figure.axes if axes.axison]
    for number, axes in enumerate(shown):
        if axes.get_shared_x_axes().joined(axes, shown[0]) and _is_twin(axes, shown):
            return None
        panel = _map(axes, f"{name}-{number}") if axes.images else _panel(axes, f"{name}-{number}")
        if panel is None:
            return None
        panels.append(panel)
    # Panels of lying bars side by side have the names of their rows once.
    rows = next((panel["x"]["names"] for panel in panels if panel.get("flipped") and panel["x"].get("names")), None)
    for panel in panels:
        if panel.get("flipped") and rows and not any(word for _, word in panel["x"].get("names", ())):
            panel["x"]["names"] = rows
    return panels or None


def _is_twin(axes: Axes, others: Sequence[Axes]) -> bool:
    """Whether another pair of axes stands at the same place."""
    return any(other is not axes and other.get_position().bounds == axes.get_position().bounds for other in others)


def _panel(axes: Axes, name: str) -> dict[str, Any] | None:
    from matplotlib.container import BarContainer, ErrorbarContainer

    bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    blocks = [one for one in axes.containers if isinstance(one, BarContainer)]
    if len(bars) + len(blocks) < len(axes.containers) or len(axes.patches) != sum(map(len, blocks)):
        return None
    parts = {id(part) for bar in bars for part in (*bar.lines[1], *bar.lines[2])}
    if any(id(one) not in parts for one in axes.collections):
        return None
    own = {id(bar.lines[0]): bar for bar in bars}
    flipped = any(one.orientation == "horizontal" for one in blocks)
    if flipped and (len(blocks) > 1 or axes.get_lines()):
        return None
    series = []
    for number, block in enumerate(blocks):
        found = _bars(block, number)
        if found is None:
            return None
        series += [found] if found["x"] else []
    taken = [one["colour"] for one in series]
    if len(set(taken)) < len(taken):
        for number, one in enumerate(series):
            one["colour"] = number
    for line in axes.get_lines():
        if id(line) in parts:
            continue
        found = _series(axes, line, own.get(id(line)))
        if found is None:
            return None
        series += [found] if found["x"] else []
    if not series and any(text.get_text() == NOT_RUN for text in axes.texts):
        return _not_run(axes, name)
    if not series:
        return None
    columns, beside = _aligned(series)
    across = _axis(axes.xaxis, axes.get_xlim(), axes.get_xscale())
    up = _axis(axes.yaxis, axes.get_ylim(), axes.get_yscale())
    panel: dict[str, Any] = {
        "id": name, "kind": "xy", "title": _title(axes), "columns": columns, "intervals": beside["ends"], "runs": beside["runs"],
        "x": up if flipped else across, "y": across if flipped else up,
        "series": [{key: one[key] for key in ("label", "colour", "dash", "joined", "points", "stepped", "bar") if key in one} for one in series],
    }  # fmt: skip
    if flipped:
        panel |= {"flipped": True, "upwards": bool(axes.get_ylim()[0] < axes.get_ylim()[1])}
    panel["alt"] = _alt(panel, series)
    return panel


def _not_run(axes: Axes, name: str) -> dict[str, Any]:
    """A panel without values, which says why."""
    across = _axis(axes.xaxis, axes.get_xlim(), axes.get_xscale())
    title = f"{_title(axes) or plain(axes.get_ylabel())}: {NOT_RUN}".removeprefix(": ")
    return {
        "id": name, "kind": "xy", "title": title, "columns": [[across["low"], across["high"]], [None, None]], "intervals": {},
        "runs": {}, "x": across, "y": _axis(axes.yaxis, axes.get_ylim(), axes.get_yscale()),
        "series": [{"label": "", "colour": 0, "dash": 0, "joined": False, "points": False, "stepped": False}],
        "alt": f"{title}.",
    }  # fmt: skip


def _title(axes: Axes) -> str:
    return plain(" ".join(axes.get_title(where) for where in ("left", "center")))


def plain(text: str) -> str:
    """A text of a figure in one line, without the signs of formulas.

    >>> plain("$d_S$ (ms)"), plain("a 5 $ note")
    ('d_S (ms)', 'a 5 $ note')
    """
    inner = re.sub(r"\$([^$]+)\$", lambda found: re.sub(r"\\\w+|[{}\\]", "", found[1]), text)
    return " ".join(inner.split())


def _bars(block: Any, number: int) -> dict[str, Any] | None:
    """Bars from zero as a series of their middles; `None` if they stand on others, or differ in width."""
    lying = block.orientation == "horizontal"
    boxes = [(one.get_x(), one.get_width(), one.get_y(), one.get_height()) for one in block.patches]
    sides = [(y, height, x, width) if lying else (x, width, y, height) for x, width, y, height in boxes]
    widths = {round(float(width), 6) for _, width, _, _ in sides}
    if block.errorbar is not None or len(widths) > 1 or any(base for _, _, base, _ in sides):
        return None
    label = str(block.get_label())
    return {
        "x": [float(start + width / 2) for start, width, _, _ in sides], "y": [float(value) for *_, value in sides],
        "label": "" if label.startswith("_") else plain(label), "dash": 0, "joined": False, "points": False, "stepped": False,
        "colour": _colour(block.patches[0].get_facecolor()) if block.patches else number, "bar": min(widths, default=0.8),
    }  # fmt: skip


def _map(axes: Axes, name: str) -> dict[str, Any] | None:
    """An image whose cells stand at whole numbers, with the texts that are written on them."""
    from matplotlib.colors import to_hex

    image = axes.images[0]
    values: Values = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
    if len(axes.images) > 1 or axes.patches or axes.get_lines() or axes.collections or values.ndim != 2:
        return None
    rows, columns = values.shape
    left, right, bottom, top = image.get_extent()
    if [round(float(one), 3) for one in (left, right, min(bottom, top), max(bottom, top))] != [
        -0.5, columns - 0.5, -0.5, rows - 0.5,
    ]:  # fmt: skip
        return None
    written = {(round(one.get_position()[0]), round(one.get_position()[1])): one.get_text() for one in axes.texts}
    known = values[np.isfinite(values)]
    paints = [
        [to_hex(tuple(image.to_rgba(value))) if math.isfinite(value) else None for value in row] for row in values
    ]
    panel: dict[str, Any] = {
        "id": name, "kind": "xy", "title": _title(axes), "intervals": {}, "runs": {},
        "columns": [[float(number) for number in range(columns)], [None] * columns],
        "x": _axis(axes.xaxis, axes.get_xlim(), "linear"), "y": _axis(axes.yaxis, axes.get_ylim(), "linear"),
        "series": [{"label": "", "colour": 0, "dash": 0, "joined": False, "points": False, "stepped": False}],
        "cells": {
            "values": [[short(value) for value in row] for row in values.tolist()], "paints": paints,
            "written": [[written.get((column, row), "") for column in range(columns)] for row in range(rows)],
            "low": float(known.min()) if len(known) else 0.0, "high": float(known.max()) if len(known) else 0.0,
            "log": False, "factor": 1.0, "unit": "",
        },
    }  # fmt: skip
    head = f"{panel['title']}: " if panel["title"] else ""
    panel["alt"] = (
        f"{head}map of {columns} by {rows} cells, {panel['y']['label']} over {panel['x']['label']}, {len(known)} with a value from"
        f" {significant(panel['cells']['low'])} to {significant(panel['cells']['high'])}."
    )
    return panel


def _series(axes: Axes, line: Any, bar: Any) -> dict[str, Any] | None:
    """One line; `None` if it runs back and forth, which columns by x cannot hold."""
    x: Values = np.ma.filled(np.ma.asarray(line.get_xdata(), dtype=float), np.nan)
    y: Values = np.ma.filled(np.ma.asarray(line.get_ydata(), dtype=float), np.nan)
    bounds = axes.get_xlim(), axes.get_ylim()
    joined = str(line.get_linestyle()).lower() not in ("none", "", " ")
    if line.get_transform() != axes.transData:
        # A line across the panel: its places along the panel are shares of it.
        along = axes.get_yaxis_transform() == line.get_transform()
        if along:
            x = np.asarray(bounds[0], dtype=float)
        else:
            y = np.asarray(bounds[1], dtype=float)
    if joined and len(x) > 1 and (np.diff(x[np.isfinite(x)]) < 0).any():
        if (np.diff(x[np.isfinite(x)]) > 0).any():
            return None
        x, y = x[::-1], y[::-1]
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    known = np.isfinite(x)
    x, y = x[known], y[known]
    if len(x) > _POINTS and joined:
        x, rows = decimated(x, y[np.newaxis], _POINTS)
        y = rows[0]
    label = str((bar or line).get_label())
    found: dict[str, Any] = {
        "x": x.tolist(), "y": y.tolist(), "label": "" if label.startswith("_") else plain(label),
        "colour": _colour(line.get_color()), "dash": _dash(line.get_linestyle()) if joined else 0, "joined": joined,
        "points": str(line.get_marker()).lower() not in ("none", "", " "), "stepped": "steps" in line.get_drawstyle(),
    }  # fmt: skip
    if bar is not None and bar.lines[2]:
        ends = {float(part[0][0]): (float(part[0][1]), float(part[1][1])) for part in bar.lines[2][0].get_segments()}
        found["ends"] = [ends.get(place) for place in found["x"]]
    if len(runs := getattr(bar, "runs", ())) == len(found["x"]):
        found["runs"] = runs
    return found


def _colour(colour: Any) -> int | str:
    """The number of a colour in the palette of pages, which has one for each scheme; greys are ink or soft."""
    from matplotlib.colors import to_hex, to_rgb

    from ..plots.style import COLOURS

    name = to_hex(colour).upper()
    palette = [one.upper() for one in COLOURS]
    if name in palette:
        return palette.index(name)
    red, green, blue = to_rgb(colour)
    if max(red, green, blue) - min(red, green, blue) < 0.1:
        return _INK if red < 0.2 else _SOFT
    distances = [math.dist((red, green, blue), to_rgb(one)) for one in COLOURS]
    return distances.index(min(distances))


def _dash(style: Any) -> int:
    """Which of the script's dashes: whole, dashed, dotted, or dashed and dotted."""
    return {"-": 0, "--": 1, ":": 2, "-.": 3}.get(style if isinstance(style, str) else "--", 1)


def _aligned(series: Sequence[dict[str, Any]]) -> tuple[list[list[float | None]], dict[str, dict[str, list[Any]]]]:
    """Columns over one column of x in ascending order, with gaps; an x stands as often as a line has points there.

    Beside them, by the number of a line: the ends of its intervals, and how many runs its points are of.
    """
    most: Counter[float] = Counter()
    for one in series:
        most |= Counter(one["x"])
    places = sorted(most.elements())
    first = {x: number for number, x in reversed(list(enumerate(places)))}
    columns: list[list[float | None]] = [[short(x) for x in places]]
    beside: dict[str, dict[str, list[Any]]] = {"ends": {}, "runs": {}}
    for number, one in enumerate(series):
        column: list[float | None] = [None] * len(places)
        ends: list[Any] = [None] * len(places)
        runs: list[Any] = [None] * len(places)
        used: Counter[float] = Counter()
        for index, (x, y) in enumerate(zip(one["x"], one["y"], strict=True)):
            place = first[x] + used[x]
            used[x] += 1
            column[place] = short(y)
            if one.get("ends") and one["ends"][index]:
                ends[place] = [short(end) for end in one["ends"][index]]
            if one.get("runs"):
                runs[place] = one["runs"][index]
        columns.append(column)
        for kind, found in (("ends", ends), ("runs", runs)):
            if any(found):
                beside[kind][str(number)] = found
    return columns, beside


def _axis(axis: Any, bounds: tuple[float, float], scale: str) -> dict[str, Any]:
    """An axis: its label, range and scale; what stands at its ticks if these are names; else the factor of its unit."""
    from matplotlib.ticker import FixedLocator, PercentFormatter

    from ..plots.style import Scaled

    low, high = sorted(float(one) for one in bounds)
    found: dict[str, Any] = {
        "label": plain(axis.get_label_text()), "low": low, "high": high, "log": scale == "log", "factor": 1.0,
    }  # fmt: skip
    formatter = axis.get_major_formatter()
    if isinstance(formatter, Scaled):
        found |= {"factor": formatter.factor, "unit": formatter.unit}
    elif isinstance(formatter, PercentFormatter):
        found |= {"factor": formatter.xmax / 100, "suffix": "%"}
    elif isinstance(axis.get_major_locator(), FixedLocator):
        places = [float(place) for place in axis.get_majorticklocs()]
        found["names"] = [[place, plain(str(formatter(place, number)))] for number, place in enumerate(places)]
    return found


def _alt(panel: dict[str, Any], series: Sequence[dict[str, Any]]) -> str:
    """A panel in words: of each named line where it goes from and to."""
    parts = []
    for one in series:
        known = [(x, y) for x, y in zip(one["x"], one["y"], strict=True) if math.isfinite(y)]
        if not one["label"] or not known:
            continue
        (first, begin), (last, end) = known[0], known[-1]
        top = max(y for _, y in known)
        text = f"{one['label']} from {_text(panel['y'], begin)} at {_text(panel['x'], first)}"
        if last > first:
            text += f" to {_text(panel['y'], end)} at {_text(panel['x'], last)}"
        if top > 1.05 * max(begin, end):
            text += f", at most {_text(panel['y'], top)}"
        parts.append(text)
    over = f"{panel['y']['label']} over {panel['x']['label']}"
    if not parts:
        values = [y for one in series for y in one["y"] if math.isfinite(y)]
        if values:
            parts.append(f"from {_text(panel['y'], min(values))} to {_text(panel['y'], max(values))}")
    more = f"; and {len(parts) - 8} more lines" if len(parts) > 8 else ""
    head = f"{panel['title']}: " if panel["title"] else ""
    return f"{head}{over}: {'; '.join(parts[:8])}{more}."


def _text(axis: dict[str, Any], value: float) -> str:
    for place, name in axis.get("names", ()):
        if abs(place - value) < 0.5:
            return str(name)
    return significant(value / axis["factor"], 3) + (f" {axis['suffix']}".rstrip() if axis.get("suffix") else "")
