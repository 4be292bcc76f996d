"""The page of a suite: the ten lines, a figure of every measure, the matrix where there is one, and all numbers. It needs no scripts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..report import dots, write_page
from ..tables import Table
from ..units import difference, plus_minus, quantity, significant
from . import written

#: Sizes of a matrix in pixels: a cell, the room for names at the left and above.
_CELL, _LEFT, _ABOVE = 44, 110, 84
#: From this factor on a cell of a matrix has its full colour.
_FULL = math.log(4)


def write(content: Mapping[str, Any], place: Path, *, force: bool = False) -> Path:
    """Writes the page from what `suite.json` holds, and returns its path."""
    titles = {one["name"]: one["title"] for one in content["situations"]}
    shown = {
        "suite": content,
        "lines": {name: [_split(text) for text in found] for name, found in content["lines"].items()},
        "key": [
            (str(len(content["situations"])), "situations"),
            (str(content["seeds"]), "seeds at each point"),
            (f"{content['runs']:,}", "runs"),
            (quantity(content["cpu_s"], "s", 2), "CPU time of all runs"),
        ],
        "matrices": matrices(content) if content["matrix"] else [],
        "parts": [] if content["matrix"] else [_part(content, one) for one in content["situations"]],
        "values": written.table(content["measured"], titles, list(content["entries"])),
        "compared": compared_table(content, titles),
        "settings": {
            name: ", ".join(f"{key} = {value}" for key, value in settings.items())
            for name, settings in content["entries"].items()
        },
    }
    return write_page("suite.html", place, shown, package=__package__, force=force)


def _split(text: str) -> tuple[str, str]:
    """The word of a verdict before its line; an empty one before other lines.

    >>> _split("better  A place: goodput"), _split("4 comparisons")
    (('better', 'A place: goodput'), ('', '4 comparisons'))
    """
    word, _, rest = text.partition(" ")
    return (word, rest.strip()) if word in written.WORDS else ("", text)


def _part(content: Mapping[str, Any], situation: Mapping[str, Any]) -> dict[str, Any]:
    """A situation with a dot plot for each measure."""
    figures = []
    for measure in situation["measures"]:
        mine = [
            one for one in content["measured"]
            if one["situation"] == situation["name"] and one["measure"] == measure["name"]
        ]  # fmt: skip
        points = [_point(one) for one in mine]
        if points:
            wanted = "less is better" if measure["less"] else ""
            figures.append(dots.still(f"{measure['name']}{f' ({wanted})' if wanted else ''}", points, measure["unit"]))
    return {**situation, "figures": figures}


def _point(row: Mapping[str, Any]) -> dots.Point:
    ends = None if row["low"] is None else (row["low"], row["high"])
    half = None if ends is None else (ends[1] - ends[0]) / 2
    text = plus_minus(row["mean"], half or None, row["unit"])
    if row["unfinished"]:
        text += f", {row['unfinished']} of {row['n']} did not end"
    return dots.Point((row["entry"],), row["mean"], ends if half else None, row["n"], text)


def compared_table(content: Mapping[str, Any], titles: Mapping[str, str]) -> Table:
    """Every comparison of the candidates."""
    units = {(one["name"], m["name"]): m["unit"] for one in content["situations"] for m in one["measures"]}
    rows = []
    for one in content["comparisons"]:
        unit = units[one["situation"], one["measure"]]
        apart = "–" if one["difference"] is None else difference(one["difference"], one["low"], one["high"], unit)
        rows.append([
            titles[one["situation"]], one["measure"], one["candidate"], quantity(one["mean"], unit), one["beside"],
            quantity(one["other"], unit), apart, one["verdict"],
        ])  # fmt: skip
    heads = ("Situation", "Measure", "Candidate", "has", "Beside", "which has", "Difference (95 % interval)", "Verdict")
    return Table([(name, "") for name in heads], rows)


def matrices(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """For each path its matrix as SVG."""
    return [{"title": one["title"], "svg": matrix(one["title"], one["cells"])} for one in factors(content).values()]


def factors(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each path its title, and by entry and rival what the rival has beside the entry, in what it has beside its own kind."""
    found: dict[str, dict[str, Any]] = {}
    means = {(one["situation"], one["entry"]): one["mean"] for one in content["measured"]}
    for situation in content["situations"]:
        path, _, rival = situation["name"].partition("/")
        own = means.get((situation["name"], rival))
        title = situation["title"].rpartition(", beside ")[0] or path
        cells = found.setdefault(path, {"title": title, "cells": {}})["cells"]
        for entry in content["entries"]:
            mean = means.get((situation["name"], entry))
            if mean is not None and own:
                cells[entry, rival] = mean / own
    return found


def matrix(title: str, cells: Mapping[tuple[str, str], float]) -> str:
    """A matrix of factors as SVG: below 1 in one colour, above 1 in another, each with its number.

    >>> matrix("A path", {("a", "a"): 1.0, ("a", "b"): 0.25}).count("<rect")
    2
    """
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    width, height = _LEFT + _CELL * len(columns) + 40, _ABOVE + 24 * len(rows) + 6
    parts = [f'<text x="0" y="14" font-weight="600">{escape(title)}</text>']
    for number, name in enumerate(columns):
        x = _LEFT + _CELL * number + _CELL / 2
        parts.append(
            f'<text x="{x:g}" y="{_ABOVE - 8}" transform="rotate(-40 {x:g} {_ABOVE - 8})">{escape(name)}</text>'
        )
    for line, row in enumerate(rows):
        y = _ABOVE + 24 * line
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 16}" text-anchor="end">{escape(row)}</text>')
        for number, column in enumerate(columns):
            value = cells.get((row, column))
            if value is None:
                continue
            parts.append(
                _cell(
                    _LEFT + _CELL * number,
                    y,
                    value,
                    f"{column} beside {row}: × {_short(value)} of what it has beside {column}",
                )
            )
    lowest = min(cells, key=lambda one: cells[one])
    alt = (
        f"{title}: from × {_short(cells[lowest])} ({lowest[1]} beside {lowest[0]}) to × {_short(max(cells.values()))}."
    )
    return (
        f'<svg class="dots" viewBox="0 0 {width} {height}" width="{width}" style="max-width:100%;height:auto" role="img"'
        f' aria-label="{escape(alt, quote=True)}">{"".join(parts)}</svg>'
    )


def _cell(x: float, y: float, value: float, told: str) -> str:
    depth = min(1.0, abs(math.log(max(value, 1e-3))) / _FULL)
    colour = "var(--c1)" if value < 1 else "var(--c0)"
    return (
        f'<g><title>{escape(told)}</title><rect x="{x:g}" y="{y:g}" width="{_CELL - 2}" height="22" fill="{colour}"'
        f' fill-opacity="{0.65 * depth:.2f}"/><text x="{x + _CELL / 2 - 1:g}" y="{y + 16:g}" text-anchor="middle">{_short(value)}</text></g>'
    )


def _short(value: float) -> str:
    return significant(value, 2)
