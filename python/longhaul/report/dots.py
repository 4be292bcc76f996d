"""Sorted dot plots of a sweep with 95 % intervals, as SVG that follows the page's colours; small multiples for a second parameter."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from ..sweep.result import SweepResult
from ..units import plus_minus, quantity

#: Rows of one panel; the rest is in the table.
_ROWS = 30
#: Panels of small multiples.
_PANELS = 6
#: Values that span more than this factor stand on a log scale.
_DECADES = 30.0
_LABEL, _WIDTH, _RIGHT, _ROW, _TOP = 145, 205, 155, 20, 26


def drawn(sweep: SweepResult, metric: str) -> list[str]:
    """The panels of one metric; none if there is one point, or nothing to compare."""
    rows = [
        row
        for row in sweep.cells.filter(sweep.cells["metric"] == metric).iter_rows(named=True)
        if row["mean"] is not None
    ]
    varying = [name for name in sweep.parameters if len({str(row[name]) for row in rows}) > 1]
    if len(rows) < 2 or not varying:
        return []
    multiples = (
        varying[1] if len(varying) == 2 and 2 <= len({str(row[varying[1]]) for row in rows}) <= _PANELS else None
    )
    scale = _Scale(
        [value for row in rows for value in (row["mean"], row["ci95_low"], row["ci95_high"]) if value is not None]
    )
    unit = sweep.unit(metric)
    if multiples is None:
        return [_panel(sweep.title(metric), rows, varying, scale, unit)]
    values = list(dict.fromkeys(str(row[multiples]) for row in rows))
    return [
        _panel(
            f"{sweep.title(metric)}, {multiples.rsplit('.', 1)[-1]} {value}",
            [row for row in rows if str(row[multiples]) == value],
            varying[:1],
            scale,
            unit,
        )
        for value in values
    ]


class _Scale:
    """From a value to its place: linear from zero, or logarithmic where values span decades."""

    def __init__(self, values: list[float]) -> None:
        known = [float(value) for value in values if math.isfinite(float(value))]
        self.low, self.high = min(known), max(known)
        self.log = self.low > 0 and self.high / self.low > _DECADES
        if not self.log:
            self.low, self.high = min(0.0, self.low), max(0.0, self.high)

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


def _panel(title: str, rows: list[dict[str, Any]], names: list[str], scale: _Scale, unit: str) -> str:
    ordered = sorted(rows, key=lambda row: -float(row["mean"]))
    shown = ordered[:_ROWS]
    height = _TOP + _ROW * len(shown) + 34
    total = _LABEL + _WIDTH + _RIGHT
    parts = []
    for tick in scale.ticks():
        x = _LABEL + _WIDTH * scale.place(tick)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 28}"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{height - 12}" text-anchor="middle">{escape(quantity(tick, unit, 2))}</text>'
        )
    for number, row in enumerate(shown):
        y = _TOP + _ROW * number + _ROW / 2
        label = ", ".join(
            f"{name.rsplit('.', 1)[-1]} {'not set' if row[name] is None else row[name]}" for name in names
        )
        mean, low, high = float(row["mean"]), row["ci95_low"], row["ci95_high"]
        half = None if low is None or high is None else (float(high) - float(low)) / 2
        text = plus_minus(mean, half, unit) if half else quantity(mean, unit)
        bar = ""
        if half:
            first, last = (_LABEL + _WIDTH * scale.place(float(value)) for value in (low, high))
            bar = f'<line class="bar" x1="{first:.1f}" x2="{last:.1f}" y1="{y}" y2="{y}"/>'
        short = label if len(label) <= 24 else f"{label[:23]}…"
        parts.append(
            f"<g><title>{escape(label)}: {escape(text)}, {row['n']} runs</title>"
            f'<text x="{_LABEL - 10}" y="{y + 4}" text-anchor="end">{escape(short)}</text>{bar}'
            f'<circle cx="{_LABEL + _WIDTH * scale.place(mean):.1f}" cy="{y}" r="4.5"/>'
            f'<text class="soft" x="{_LABEL + _WIDTH + 12}" y="{y + 4}">{escape(text)}</text></g>'
        )
    best, worst = ordered[0], ordered[-1]
    words = [", ".join(f"{name.rsplit('.', 1)[-1]} {row[name]}" for name in names) for row in (best, worst)]
    alt = (
        f"{title}: from {quantity(float(worst['mean']), unit)} with {words[1]} to {quantity(float(best['mean']), unit)} with {words[0]}"
        f"{', on a log scale' if scale.log else ''}."
    )
    more = f", {len(shown)} of {len(ordered)} points" if len(ordered) > len(shown) else ""
    return (
        f'<svg class="dots" viewBox="0 0 {total} {height}" width="{total}" style="max-width:100%;height:auto" role="img"'
        f' aria-label="{escape(alt, quote=True)}"><text x="0" y="14" font-weight="600">{escape(title + more)}</text>{"".join(parts)}</svg>'
    )
