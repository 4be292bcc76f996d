"""Maps of a sweep over two parameters: a cell for each point, coloured by its mean; to explore, and as SVG for print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from ..sweep.result import SweepResult
from ..tables import setting_text, short_paths
from ..units import quantity, scaled_unit, significant, spans_decades
from .dots import Point, Shown, in_order, points, settings, short

#: Values that a parameter of a map has at least; two are better compared side by side.
_LEAST, _MOST = 3, 60
_CELL, _LINE, _NAMES, _TOP = 74, 26, 120, 26


def drawn(sweep: SweepResult, metric: str, name: str) -> Shown | None:
    """The map of one metric with the identifier `name`; `None` unless two parameters have three values or more."""
    found = points(sweep, metric)
    # A point without a value is a hole in the map, not a smaller map.
    tried = settings(sweep)
    values = [in_order([one[place] for one in tried]) for place in range(len(sweep.parameters))]
    names = [(place, name) for place, name in enumerate(short_paths(sweep.parameters, 1)) if len(values[place]) > 1]
    if len(names) != 2 or not found:
        return None
    (first, _), (second, _) = names
    columns, rows = values[first], values[second]
    if not all(_LEAST <= len(values) <= _MOST for values in (columns, rows)):
        return None
    by_place = {(repr(one.settings[first]), repr(one.settings[second])): one for one in found}
    table = [[by_place.get((repr(column), repr(row))) for column in columns] for row in rows]
    words = [name for _, name in names]
    title, unit = sweep.title(metric), sweep.unit(metric)
    log = spans_decades([one.mean for one in found])
    factor, shown = scaled_unit(max(abs(one.mean) for one in found), unit)
    head = f"{title} ({shown})" if shown not in ("", "1") else title
    low, high = min(one.mean for one in found), max(one.mean for one in found)
    least, most = (choose(found, key=lambda one: one.mean) for choose in (min, max))
    alt = (
        f"{title} by {words[0]} and {words[1]}: {len(found)} points, from {quantity(low, unit)} with {least.called(names)} to"
        f" {quantity(high, unit)} with {most.called(names)}{', coloured on a log scale' if log else ''}."
    )
    cells = {
        "values": [[one and short(one.mean) for one in row] for row in table],
        "texts": [[one and one.text for one in row] for row in table],
        "ends": [[one and one.ends and [short(end) for end in one.ends] for one in row] for row in table],
        "runs": [[one and one.runs for one in row] for row in table],
        "low": low, "high": high, "log": log, "factor": factor, "unit": "" if shown in ("", "1") else shown,
    }  # fmt: skip
    panel = {
        "id": name, "kind": "xy", "title": head, "cells": cells, "alt": alt, "intervals": {}, "runs": {},
        "columns": [[float(number) for number in range(len(columns))], [None] * len(columns)],
        "x": _axis(words[0], columns), "y": _axis(words[1], rows),
        "series": [{"label": "", "colour": 0, "dash": 0, "joined": False, "points": False, "stepped": False}],
    }  # fmt: skip
    return Shown(panel, _svg(head, alt, words, columns, rows, table, cells))


def _axis(label: str, values: Sequence[Any]) -> dict[str, Any]:
    names = [[float(number), setting_text(value)] for number, value in enumerate(values)]
    return {"label": label, "low": -0.5, "high": len(values) - 0.5, "log": False, "factor": 1.0, "names": names}


def _share(value: float, cells: dict[str, Any]) -> float:
    """Where a value is between the least and the greatest, from 0 to 1."""
    low, high = cells["low"], cells["high"]
    if low == high:
        return 0.5
    if cells["log"]:
        return math.log(value / low) / math.log(high / low)
    return float((value - low) / (high - low))


def _svg(
    head: str, alt: str, words: Sequence[str], columns: Sequence[Any], rows: Sequence[Any],
    table: Sequence[Sequence[Point | None]], cells: dict[str, Any],
) -> str:  # fmt: skip
    width, height = _NAMES + _CELL * len(columns) + 4, _TOP + _LINE * len(rows) + 44
    parts = []
    for number, row in enumerate(table):
        y = _TOP + _LINE * (len(rows) - 1 - number)
        parts.append(
            f'<text x="{_NAMES - 8}" y="{y + 17}" text-anchor="end">{escape(setting_text(rows[number]))[:18]}</text>'
        )
        for place, one in enumerate(row):
            if one is None:
                continue
            share, x = _share(one.mean, cells), _NAMES + _CELL * place
            parts.append(
                f'<g><title>{escape(one.text)}</title><rect x="{x}" y="{y}" width="{_CELL - 2}" height="{_LINE - 2}"'
                f' style="fill:color-mix(in srgb, var(--m2) {100 * share:.0f}%, var(--m0))"/>'
                f'<text x="{x + _CELL / 2 - 1:.0f}" y="{y + 16}" text-anchor="middle" style="fill:var(--{"paper" if share > 0.62 else "ink"})">'
                f"{escape(significant(one.mean / cells['factor']))}</text></g>"
            )
    for place, value in enumerate(columns):
        middle = _NAMES + _CELL * place + _CELL / 2 - 1
        parts.append(
            f'<text x="{middle:.0f}" y="{height - 28}" text-anchor="middle">{escape(setting_text(value))[:12]}</text>'
        )
    parts.append(f'<text class="soft" x="{_NAMES}" y="{height - 8}">{escape(words[0])} →, {escape(words[1])} ↑</text>')
    return (
        f'<svg class="dots" viewBox="0 0 {width} {height}" width="{width}" style="max-width:100%;height:auto" role="img"'
        f' aria-label="{escape(alt, quote=True)}"><text x="0" y="14" font-weight="600">{escape(head)}</text>{"".join(parts)}</svg>'
    )
