"""Sorted dot plots of a sweep with 95 % intervals, small multiples for a second parameter: to explore, and as SVG for print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..sweep.result import SweepResult
from ..tables import is_equal, setting_text, short_paths
from ..units import plus_minus, quantity, read_quantity, scaled_unit, spans_decades

#: A panel of more rows than this shows so many of them at first; on paper are as many. The rest is reached by zooming, and is in
#: the table.
_MANY, _ROWS, _ON_PAPER = 40, 18, 40
#: Panels of small multiples, and colours of one panel.
_PANELS, _COLOURS = 6, 8
_LABEL, _WIDTH, _RIGHT, _ROW, _TOP = 145, 205, 155, 20, 26


@dataclass(frozen=True)
class Shown:
    """A panel for the script of reports, and the same as SVG for print and for browsers without scripts."""

    panel: dict[str, Any]
    still: str


@dataclass(frozen=True)
class Point:
    """A point of a sweep: its settings, and what its runs gave."""

    settings: tuple[Any, ...]
    mean: float
    ends: tuple[float, float] | None
    runs: int
    text: str

    def called(self, names: Sequence[tuple[int, str]]) -> str:
        """Its settings by name, of those of the given places."""
        return ", ".join(f"{name} {setting_text(self.settings[place])}" for place, name in names)

    def brief(self, names: Sequence[tuple[int, str]]) -> str:
        """The same for the rows of a plot whose heading has the parameters: words stand alone, of several quantities each has its name."""
        return ", ".join(
            setting_text(self.settings[place])
            if len(names) == 1 or _is_word(self.settings[place])
            else f"{name} {setting_text(self.settings[place])}"
            for place, name in names
        )


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and read_quantity(value) is None


def settings(sweep: SweepResult) -> list[tuple[Any, ...]]:
    """The settings of all points of a sweep, also of those without a value of some metric."""
    return list(sweep.cells.select(sweep.parameters).unique(maintain_order=True).iter_rows())


def points(sweep: SweepResult, metric: str) -> list[Point]:
    """The points of a sweep that have a value of the metric, in the order of the sweep."""
    unit = sweep.unit(metric)
    found = []
    for row in sweep.cells.filter(sweep.cells["metric"] == metric).iter_rows(named=True):
        if row["mean"] is None:
            continue
        mean, low, high = float(row["mean"]), row["ci95_low"], row["ci95_high"]
        half = None if low is None or high is None else (float(high) - float(low)) / 2
        if is_equal(mean, half):
            half = None
        ends = None if half is None else (float(low), float(high))
        settings = tuple(row[name] for name in sweep.parameters)
        found.append(Point(settings, mean, ends, int(row["n"]), plus_minus(mean, half, unit)))
    return found


def varying(sweep: SweepResult, found: Sequence[Point]) -> list[tuple[int, str]]:
    """The parameters that differ between points: their places, and their shortest names."""
    names = short_paths(sweep.parameters, 1)
    return [(place, name) for place, name in enumerate(names) if len({repr(one.settings[place]) for one in found}) > 1]


def in_order(values: Sequence[Any]) -> list[Any]:
    """The different values of a setting: by size if they are quantities of one kind, else as they come.

    >>> in_order(["1 Gbit/s", "50 Mbit/s", "1 Gbit/s"]), in_order(["reno", "cubic"])
    (['50 Mbit/s', '1 Gbit/s'], ['reno', 'cubic'])
    """
    different = list({repr(value): value for value in values}.values())
    read = [read_quantity(value) for value in different]
    if all(read) and len({one[1] for one in read if one}) == 1:
        return [value for _, value in sorted(zip(read, different, strict=True), key=lambda pair: pair[0] or ())]
    return different


def drawn(sweep: SweepResult, metric: str, name: str) -> list[Shown]:
    """The panels of one metric, whose identifiers begin with `name`; none if there is one point, or nothing to compare."""
    found = points(sweep, metric)
    names = varying(sweep, found)
    if len(found) < 2 or not names:
        return []
    scale, title = _Scale(found), sweep.title(metric)
    *words, last = (word for _, word in names)
    by = f"{title} by {', '.join(words)}{' and ' if words else ''}{last}"
    values = in_order([one.settings[names[1][0]] for one in found]) if len(names) == 2 else []
    if not 2 <= len(values) <= _PANELS:
        ordered = sorted(found, key=lambda one: -one.mean)
        coloured = _coloured(found, names)
        return [Shown(_panel(f"{name}-0", by, title, ordered, names, scale, sweep.unit(metric), coloured),
                      _svg(by, ordered, names, scale, sweep.unit(metric)))]  # fmt: skip
    # Panels that are compared have their rows in one order.
    (first, _), (second, word) = names
    rows = in_order([one.settings[first] for one in found])
    if read_quantity(rows[0]) is None:
        mean = {repr(row): _average([one.mean for one in found if one.settings[first] == row]) for row in rows}
        rows.sort(key=lambda row: -mean[repr(row)])
    shown = []
    for number, value in enumerate(values):
        part = [one for row in rows for one in found if one.settings[first] == row and one.settings[second] == value]
        heading = f"{title}, {word} {setting_text(value)}"
        panel = _panel(f"{name}-{number}", heading, title, part, names[:1], scale, sweep.unit(metric), None)
        panel["widest"] = max((one.text for one in found), key=len)
        shown.append(Shown(panel, _svg(heading, part, names[:1], scale, sweep.unit(metric))))
    return shown


def still(title: str, found: Sequence[Point], unit: str) -> str:
    """A dot plot of some points as SVG, in their order; their first setting names them."""
    return _svg(title, found, [(0, "")], _Scale(found), unit)


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _coloured(found: Sequence[Point], names: Sequence[tuple[int, str]]) -> tuple[int, str] | None:
    """The parameter that has a colour for each value: of several the one with the fewest, names before numbers."""
    if len(names) < 2:
        return None
    count = {place: in_order([one.settings[place] for one in found]) for place, _ in names}
    fitting = [one for one in names if len(count[one[0]]) <= _COLOURS]
    return min(fitting, key=lambda one: (read_quantity(count[one[0]][0]) is not None, len(count[one[0]])), default=None)


class _Scale:
    """From a value to its place: linear from zero, or logarithmic where means span decades."""

    def __init__(self, found: Sequence[Point]) -> None:
        means = [one.mean for one in found if math.isfinite(one.mean)]
        ends = [end for one in found if one.ends for end in one.ends if math.isfinite(end)]
        self.log = spans_decades(means)
        if self.log:
            # An interval that reaches zero has no end on this scale.
            self.low, self.high = min(means) / 1.5, max([*means, *ends]) * 1.1
            self.low = max(min([self.low, *(end for end in ends if end > 0)]), self.low / 5)
        else:
            self.low, self.high = min([0.0, *means, *ends]), max([0.0, *means, *ends])

    def place(self, value: float) -> float:
        """From 0 to 1."""
        if self.low == self.high:
            return 0.5
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round values for the axis."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1) if self.low <= 10.0**power <= self.high]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) or 1.0))
        # At most three steps: the labels have to stand beside one another.
        for factor in (5, 2, 1, 0.5):
            if (self.high - self.low) / (factor * step) >= 1.5:
                step *= factor
                break
        first = math.ceil(self.low / step)
        return [step * number for number in range(first, first + 12) if step * number <= self.high * (1 + 1e-9)]

    def axis(self, label: str, unit: str) -> dict[str, Any]:
        """The axis of values for the script, with a little room at its end."""
        factor, shown = scaled_unit(self.high, unit)
        shown = "" if shown in ("", "1") else shown
        room = 1.0 if self.log else 0.04 * (self.high - self.low)
        return {
            "label": f"{label} ({shown})" if shown else label, "low": self.low - (0.0 if self.log else room / 2 or 0.02),
            "high": self.high * 1.15 if self.log else self.high + room or 1.0, "log": self.log, "factor": factor, "unit": shown,
        }  # fmt: skip


def _panel(
    name: str, title: str, measured: str, rows: Sequence[Point], names: Sequence[tuple[int, str]], scale: _Scale, unit: str,
    coloured: tuple[int, str] | None,
) -> dict[str, Any]:  # fmt: skip
    """Rows from top to bottom, values to the right; with `coloured`, a series for each value of that parameter."""
    values = in_order([one.settings[coloured[0]] for one in rows]) if coloured else [None]
    columns: list[list[float | None]] = [[float(number) for number in range(len(rows))]]
    intervals, runs, series = {}, {}, []
    for number, value in enumerate(values):
        mine = [coloured is None or one.settings[coloured[0]] == value for one in rows]
        columns.append([short(one.mean) if own else None for one, own in zip(rows, mine, strict=True)])
        ends = [
            [short(end) for end in one.ends] if own and one.ends else None for one, own in zip(rows, mine, strict=True)
        ]
        if any(ends):
            intervals[str(number)] = ends
        runs[str(number)] = [one.runs if own else None for one, own in zip(rows, mine, strict=True)]
        label = f"{coloured[1]} {setting_text(value)}" if coloured else ""
        series.append({"label": label, "colour": number, "dash": 0, "joined": False, "points": True, "stepped": False})
    called = ", ".join(word for _, word in names)
    labels = [[float(number), one.brief(names)] for number, one in enumerate(rows)]
    panel = {
        "id": name, "kind": "xy", "flipped": True, "title": title, "columns": columns, "intervals": intervals, "runs": runs,
        "texts": [one.text for one in rows], "series": series, "alt": _alt(title, rows, names, scale, unit),
        "x": {"label": called, "low": -0.5, "high": len(rows) - 0.5, "log": False, "factor": 1.0, "names": labels},
        "y": scale.axis(measured, unit),
    }  # fmt: skip
    if len(rows) > _MANY:
        panel["first"] = {"x": [-0.5, _ROWS - 0.5]}
    return panel


def short(value: float) -> float | None:
    """A number as pages have it, with seven digits; `None` if it is not finite."""
    return float(f"{value:.7g}") if math.isfinite(value) else None


def _alt(title: str, rows: Sequence[Point], names: Sequence[tuple[int, str]], scale: _Scale, unit: str) -> str:
    ordered = sorted(rows, key=lambda one: one.mean)
    worst, best = ordered[0], ordered[-1]
    return (
        f"{title}: {len(rows)} points, from {quantity(worst.mean, unit)} with {worst.called(names)} to {quantity(best.mean, unit)}"
        f" with {best.called(names)}{', on a log scale' if scale.log else ''}."
    )


def _svg(title: str, rows: Sequence[Point], names: Sequence[tuple[int, str]], scale: _Scale, unit: str) -> str:
    shown = rows[:_ON_PAPER]
    height = _TOP + _ROW * len(shown) + 34
    total = _LABEL + _WIDTH + _RIGHT
    parts = []
    for tick in scale.ticks():
        x = _LABEL + _WIDTH * scale.place(tick)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 28}"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{height - 12}" text-anchor="middle">{escape(quantity(tick, unit, 2))}</text>'
        )
    for number, one in enumerate(shown):
        y = _TOP + _ROW * number + _ROW / 2
        label, bar = one.brief(names), ""
        if one.ends:
            first, last = (_LABEL + _WIDTH * scale.place(value) for value in one.ends)
            bar = f'<line class="bar" x1="{first:.1f}" x2="{last:.1f}" y1="{y}" y2="{y}"/>'
        cut = label if len(label) <= 24 else f"{label[:23]}…"
        parts.append(
            f"<g><title>{escape(label)}: {escape(one.text)}, {one.runs} runs</title>"
            f'<text x="{_LABEL - 10}" y="{y + 4}" text-anchor="end">{escape(cut)}</text>{bar}'
            f'<circle cx="{_LABEL + _WIDTH * scale.place(one.mean):.1f}" cy="{y}" r="4.5"/>'
            f'<text class="soft" x="{_LABEL + _WIDTH + 12}" y="{y + 4}">{escape(one.text)}</text></g>'
        )
    more = f", {len(shown)} of {len(rows)} points" if len(rows) > len(shown) else ""
    return (
        f'<svg class="dots" viewBox="0 0 {total} {height}" width="{total}" style="max-width:100%;height:auto" role="img"'
        f' aria-label="{escape(_alt(title, rows, names, scale, unit), quote=True)}">'
        f'<text x="0" y="14" font-weight="600">{escape(title + more)}</text>{"".join(parts)}</svg>'
    )
