"""From a measured rate, delay or loss to the settings that make one like it: tables of `wander`, outages, losses in bursts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import LonghaulError
from ..units import quantity, read_in
from .distributions import autocorrelation, distance_at, memories, normal_scores
from .measured import Floats, Losses, Series

#: Quantiles of a distribution that is written down.
PARTS = 20
#: The part of the values at each end that a table leaves out.
RAREST = 0.005
#: Quantiles of the delays in a slot that are tried as its level.
_LEVELS = (0.0, 0.05, 0.25, 0.5)


def plain(value: float, digits: int) -> str:
    """A number with so many digits and no exponent, which a scenario does not permit.

    >>> plain(1.00227e6, 6), plain(12004.0, 4), plain(1.5e-5, 3), plain(0.0, 3)
    ('1002270', '12004', '0.000015', '0')
    """
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{min(max(digits - 1 - magnitude, 0), 15)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def time_text(seconds: float) -> str:
    """A time as it is written, to two digits, at least 1 ms."""
    digits = 1 - math.floor(math.log10(max(seconds, 1e-3)))
    rounded = max(round(seconds, digits), 0.001)
    return f"{plain(rounded, 10)} s" if rounded >= 1.0 else f"{plain(rounded * 1e3, 10)} ms"


def phase_text(at_s: float, every_s: float) -> str:
    """When a table begins, as it is written: less than the time that is written for `every`."""
    at, every = read_in(time_text(at_s), "s") or 0.0, read_in(time_text(every_s), "s") or 1.0
    return time_text(at_s) if at < every else "0 s"


def quantiles(values: Floats) -> Floats:
    """Quantiles of a distribution without its rarest values, whose distance from the others would weigh as much as a twentieth."""
    found: Floats = np.quantile(values, [RAREST, *np.linspace(0, 1, PARTS + 1)[1:-1], 1 - RAREST])
    return found


def _correlation(step_s: float, constant_s: float) -> dict[str, float]:
    value = round(math.exp(-step_s / constant_s), 2)
    return {"correlation": min(value, 0.99)} if value >= 0.05 else {}


def fit_rate(series: Series) -> tuple[float, list[dict[str, Any]]]:
    """The mean rate in bit/s, and the tables of `wander` that move it."""
    mean = float(series.values.mean())
    if mean <= 0.0:
        raise LonghaulError("all measured rates are 0")
    shares = series.values / mean
    if float(shares.std()) < 0.005:
        return mean, []
    part, slow_s, fast_s = memories(series)
    parts = quantiles(shares)
    if part > 0.95 or part < 0.05 or slow_s < 3 * fast_s:
        constant = slow_s if part >= 0.5 else fast_s
        every = series.step_s
        table = {"every": time_text(every), "factors": [round(float(one), 3) for one in parts]}
        return mean, [table | _correlation(every, constant)]
    # In logarithms the parts add: each has its share of the variance, the slow one the form that was measured.
    logs = np.log(np.maximum(parts, 0.01))
    form = np.exp(math.sqrt(part) * (logs - logs.mean()))
    spread = math.sqrt(math.expm1((1 - part) * math.log1p(float(shares.var()))))
    every = max(series.step_s, slow_s / 5)
    slow = {"every": time_text(every), "factors": [round(float(one), 3) for one in form]} | _correlation(every, slow_s)
    fast = {"every": time_text(series.step_s), "spread": f"{100 * min(spread, 1.0):.1f} %"}
    return mean, [slow, fast | _correlation(series.step_s, fast_s)]


def handovers(series: Series, slot_s: float) -> tuple[float, float, Series] | None:
    """Where in slots the rate breaks down, for how long on average (s), and the rate without that; `None` if it does not."""
    many = round(slot_s / series.step_s)
    slots = len(series.values) // max(many, 1)
    if many < 5 or slots < 3:
        return None
    usual = float(np.median(series.values))
    of_place = np.minimum(series.values[: slots * many].reshape(slots, many) / usual, 1.0).mean(axis=0)
    deep = of_place < 0.5 * float(np.median(of_place))
    if not deep.any() or deep.sum() > many // 5:
        return None
    first = int(np.flatnonzero(deep & ~np.roll(deep, 1))[0])
    lost_s = float((float(np.median(of_place)) - of_place[deep]).sum() / np.median(of_place)) * series.step_s
    places = np.flatnonzero(~deep[np.arange(len(series.values)) % many])
    kept = np.maximum(np.searchsorted(places, np.arange(len(series.values)), side="right") - 1, 0)
    return first * series.step_s, lost_s, Series(series.values[places[kept]], series.step_s)


def slot_phase(series: Series, slot_s: float) -> int:
    """The number of the value at which the first whole slot begins: where values differ least within slots."""
    many = max(round(slot_s / series.step_s), 1)
    if many < 3 or len(series.values) < 3 * many:
        return 0
    clipped = np.minimum(series.values, np.quantile(series.values, 0.95))

    def within(phase: int) -> float:
        rows = clipped[phase:]
        return float(rows[: len(rows) // many * many].reshape(-1, many).var(axis=1).mean())

    return min(range(0, many, max(many // 150, 1)), key=within)


def bend_levels(values: Floats, many: int, times: Floats | None = None) -> tuple[int, Floats]:
    """Of values that are each the mean of the last `many`: at which of `many` they bend, and the level of each slot, the last value
    before. A mean of something that is constant within slots goes straight between their borders."""
    bends = np.abs(np.diff(values, 2))
    place = (np.arange(len(bends)) + 1 if times is None else np.floor(times[1:-1]).astype(int)) % many
    phase = int(np.argmax([bends[place == one].mean() for one in range(many)]))
    return phase, values[1:-1][place == phase]


def _added(values: Floats) -> list[str]:
    """A distribution of extra delays, as a table of quantiles that ascend."""
    found: list[float] = []
    for one in quantiles(np.maximum(values, 0.0)):
        microseconds = round(float(one) * 1e6)
        found.append(microseconds if not found or microseconds > found[-1] else found[-1] + 1)
    return [f"{one / 1e3:.10g} ms" for one in found]


def of_delay(every_s: float, values: Floats, at_s: float = 0.0) -> dict[str, Any]:
    alike = round(min(max(autocorrelation(normal_scores(values), 1), 0.0), 0.99), 2) if len(values) > 4 else 0.0
    table: dict[str, Any] = {"every": time_text(every_s)}
    if at_s > 0.0 and (at := phase_text(at_s, every_s)) != "0 s":
        table["at"] = at
    if alike >= 0.05:
        table["correlation"] = alike
    return table | {"delay": {"kind": "table", "values": _added(values)}}


def fit_delay(series: Series, slot_s: float | None, averaged: bool = False) -> tuple[float, list[dict[str, Any]]]:
    """The least delay in s, and the tables of `wander` that add to it.

    `averaged`: each value is the mean of the last slot, as a dish logs it; what happens within a slot is then not seen.
    """
    values = series.values
    if averaged and slot_s:
        many = round(slot_s / series.step_s)
        phase, levels = bend_levels(values, many)
        base = float(levels.min())
        return base, [of_delay(slot_s, levels - base, at_s=phase * series.step_s % slot_s)]
    base = float(values.min())
    if float(values.std()) < 1e-5:
        return base, []
    if slot_s is None:
        part, slow_s, _ = memories(series)
        slot_s = slow_s if 0.05 <= part <= 0.95 and slow_s >= 5 * series.step_s else None
        if slot_s is None:
            return base, [of_delay(series.step_s, values - base)]
    many = max(round(slot_s / series.step_s), 2)
    phase = slot_phase(series, slot_s)
    rows = values[phase:]
    if len(rows) < 4 * many:
        raise LonghaulError(
            f"slots of {quantity(slot_s, 's')} are too long for {quantity(len(values) * series.step_s, 's')} of delays"
        )
    rows = rows[: len(rows) // many * many].reshape(-1, many)
    base, levels, inside = min((_parted(rows, one, float(values.min())) for one in _LEVELS), key=_apart(values))
    slow = of_delay(many * series.step_s, levels, at_s=phase * series.step_s)
    return base, [slow, of_delay(series.step_s, inside)]


def _parted(rows: Floats, share: float, least: float) -> tuple[float, Floats, Floats]:
    """Delays in rows, one for each slot, as a base, what each slot adds and what each value adds, neither below zero; the level of a slot
    is this quantile of it, and the base not below the least value."""
    levels = np.quantile(rows, share, axis=1)
    inside = (rows - levels[:, None]).ravel()
    # Slot and value are drawn alone: the least of both must not go below what was measured.
    lowest = max(float(np.quantile(inside, RAREST)), least - float(levels.min()))
    return float(levels.min()) + lowest, levels - levels.min(), np.maximum(inside - lowest, 0.0)


def _apart(values: Floats) -> Callable[[tuple[float, Floats, Floats]], float]:
    """How far the sum of the parts is from these values."""
    shares = np.concatenate([[0.0], np.linspace(0, 1, PARTS + 1)[1:-1], [1.0]])
    drawn = (np.arange(200) + 0.5) / 200

    def distance_of(parts: tuple[float, Floats, Floats]) -> float:
        base, levels, inside = parts
        slow, fast = (np.interp(drawn, shares, quantiles(one)) for one in (levels, inside))
        return distance_at(base + (slow[:, None] + fast[None, :]).ravel(), values)

    return distance_of


def fit_losses(found: Losses | None, mean: float | None) -> Any:
    """The setting `loss` of one direction, of losses on the way there and back; `None` without any."""
    share = found.share if found else (mean or 0.0)
    if share <= 0.0:
        return None
    one_way = 1 - math.sqrt(1 - min(share, 0.999))
    if found is None or found.burst < 1.2 / (1 - share):
        return f"{plain(100 * one_way, 3)} %"
    bad = found.burst * found.step_s
    good = bad * (1 - one_way) / one_way
    return {"kind": "gilbert_elliott_time", "good": f"{plain(good, 4)} s", "bad": time_text(bad)}
