"""The first screen of a sweep's and of a study's report: the answer, the key numbers."""

from __future__ import annotations

from collections.abc import Sequence

from ..qoe import smaller_is_better
from ..sweep.differences import best_of
from ..sweep.result import SweepResult
from ..tables import setting_text
from ..units import counted, quantity
from .dots import Point, in_order, points, settings, varying

#: Means that differ by less than this share are called equal.
_EQUAL = 0.02

#: With more parameters than these, only the first metric is put in sentences.
_MANY = 2


def chosen(metrics: Sequence[str]) -> list[str]:
    """Two metrics for the first screen: QoE first, and what that is paid with."""
    price = [name for name in ("rtt_mean_s", "loss_rate") if name in metrics[1:]]
    return [*metrics[:1], *(price[:1] or metrics[1:2])]


def answer(sweep: SweepResult, metrics: Sequence[str]) -> list[str]:
    """The first sentences of a sweep's report: where a metric is largest and least, how sure that is, and what changes it most."""
    sentences = []
    for metric in metrics:
        found = sorted(points(sweep, metric), key=lambda one: one.mean)
        names = varying(sweep, found)
        title = sweep.title(metric)
        if len(found) == 1:
            sentences.append(f"{title}: {found[0].text} in {counted(found[0].runs, 'run')}.")
        if len(found) < 2 or not names:
            continue
        if abs(found[-1].mean - found[0].mean) <= _EQUAL * abs(found[-1].mean):
            low, high = (quantity(one.mean, sweep.unit(metric)) for one in (found[0], found[-1]))
            span = low if low == high else f"{low} to {high}"
            sentences.append(f"{title}: nearly the same at all {len(found)} points, {span}.")
            continue
        least, most = (f"{one.text} with {one.called(names)}" for one in (found[0], found[-1]))
        best = best_of(sweep, metric)
        if best and smaller_is_better(metric):
            least += ", the best,"
        elif best:
            most += ", the best"
        text = f"{title}: from {least} to {most}."
        if (missing := len(settings(sweep)) - len(found)) > 0:
            text += f" {missing} of {counted(len(found) + missing, 'point')} have no value."
        if sentences and len(names) > _MANY:
            # Names of points are long then, and the first figure belongs on the first screen.
            break
        if best and best.alike:
            text += f" {counted(best.alike, 'other point')} cannot be distinguished from the best (paired differences)."
        sentences.append(" ".join(part for part in (text, _strongest(sweep, metric, found, names)) if part))
    return sentences


def _strongest(sweep: SweepResult, metric: str, found: Sequence[Point], names: Sequence[tuple[int, str]]) -> str:
    """Which of several parameters changes the metric most: averages over the others, where every combination was run."""
    if len(names) < 2:
        return ""
    spans = []
    for place, name in names:
        values = in_order([one.settings[place] for one in found])
        parts = [[one.mean for one in found if one.settings[place] == value] for value in values]
        if len({len(part) for part in parts}) > 1:
            return ""
        means = [(sum(part) / len(part), value) for part, value in zip(parts, values, strict=True)]
        low, high = min(means, key=lambda one: one[0]), max(means, key=lambda one: one[0])
        spans.append((high[0] - low[0], name, low, high))
    _, name, low, high = max(spans, key=lambda one: one[0])
    unit = sweep.unit(metric)
    return (
        f"What changes it most is {name}: {quantity(low[0], unit)} with {setting_text(low[1])}, {quantity(high[0], unit)} with"
        f" {setting_text(high[1])}, averaged over the rest."
    )


def key_numbers(sweep: SweepResult, metrics: Sequence[str]) -> list[tuple[str, str]]:
    """Title and value of what stands in tiles: the ends of the first metric and of a second one, points and runs."""
    tiles = []
    for metric in metrics:
        found = sorted(points(sweep, metric), key=lambda one: one.mean)
        if not found:
            continue
        title, unit = sweep.title(metric), sweep.unit(metric)
        if len(found) == 1:
            tiles.append((f"{title}, {counted(found[0].runs, 'run')}", found[0].text))
        else:
            # The best stands first, which for times is the least.
            ends = [("largest", found[-1]), ("least", found[0])]
            for word, one in ends[::-1] if smaller_is_better(metric) else ends:
                tiles.append((f"{title}, {word} mean", quantity(one.mean, unit)))
    if sweep.parameters and (count := len(settings(sweep))) > 1:
        tiles.append(("points", f"{count:,}"))
    if ("points", f"{sweep.done:,}") not in tiles:
        tiles.append(("runs", f"{sweep.done:,}"))
    return tiles
