"""From a measurement to a link that behaves like it: rates and delays that wander, losses in bursts, and how well that fits.

A rate is a mean and two processes of first order, a slow and a fast one, whose time constants follow from the autocorrelation. A delay
is its least value, what each slot adds, and what each sample adds within the slot. Both keep the distribution that was measured, as far
as products and sums of two parts can; both forget everything beyond their slowest time constant, so that hours of the day, weather and
what happens at the borders of slots are not in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import core, document, toml
from .errors import LonghaulError
from .units import counted, quantity, read_in, read_quantity

Floats = NDArray[np.float64]
#: Quantiles of a distribution that is written down.
PARTS = 20
#: The part of the values at each end that a table leaves out.
_RAREST = 0.005
#: Fewer values say nothing about how a link wanders.
LEAST = 30
#: Values of a model for each value of the measurement, and at most so many: its distribution is then known better.
LONGER, MOST = 20, 200_000
#: So many times the usual time between two values without one are a gap.
GAP = 20
#: Distances up to which a fit is good or fair; the second number is the part of the distance of the halves up to which it is so too, the
#: third the bound of both.
GOOD, FAIR = (0.05, 0.5, 0.15), (0.15, 1.0, 0.3)
#: Quantiles of the delays in a slot that are tried as its level.
_LEVELS = (0.0, 0.05, 0.25, 0.5)
#: Time constants that are tried, in s, and lags at most.
_CONSTANTS = np.geomspace(0.02, 120.0, 60)
_LONGEST_LAG_S = 60.0
#: Settings of a measured quantity on the command line.
_SETTINGS = ("format", "column", "time", "unit", "every", "scale")


@dataclass(frozen=True)
class Series:
    """Values of a rate (bit/s) or a one-way delay (s), so many seconds apart."""

    values: Floats
    step_s: float

    @property
    def times(self) -> Floats:
        """The middle of each step, in s."""
        return np.asarray((np.arange(len(self.values)) + 0.5) * self.step_s, dtype=np.float64)

    def halves(self) -> tuple[Series, Series]:
        """The first and the second half."""
        middle = len(self.values) // 2
        return Series(self.values[:middle], self.step_s), Series(self.values[middle:], self.step_s)


@dataclass(frozen=True)
class Losses:
    """How many probes of how many were lost, and in bursts of which mean length."""

    probes: int
    lost: int
    bursts: int
    #: Between two probes.
    step_s: float

    @property
    def share(self) -> float:
        """The share of probes that were lost."""
        return self.lost / self.probes

    @property
    def burst(self) -> float:
        """Mean number of probes that were lost in a row."""
        return self.lost / self.bursts if self.bursts else 0.0


@dataclass
class Measured:
    """What was measured of a link; `None` what was not."""

    down: Series | None = None
    up: Series | None = None
    delay: Series | None = None
    losses: Losses | None = None
    #: A mean loss without anything about bursts.
    mean_loss: float | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Score:
    """A model beside its measurement."""

    what: str
    #: Quantiles (0, 5, 50, 95, 100 %) of the measurement and of the model.
    measured: tuple[float, ...]
    modelled: tuple[float, ...]
    #: Kolmogorov and Smirnov's distance of the distributions: model and measurement, a model of the first half and the second half, the
    #: two halves.
    in_sample: float
    held_out: float
    of_halves: float
    #: Autocorrelation by lag in s: measured, modelled.
    memory: dict[float, tuple[float, float]]

    def verdict(self) -> str:
        """`good`, `fair` or `poor`, by the distance beside that of the halves."""
        for word, (always, part, most) in (("good", GOOD), ("fair", FAIR)):
            if self.in_sample <= min(max(always, part * self.of_halves), most):
                return word
        return "poor"


def read(
    text: str, what: str, skip_s: float = 0.0, slot_s: float | None = None, notes: list[str] | None = None
) -> tuple[Series, dict[str, Any]]:
    """A measured `rate` or `delay` and the settings with which it was read, of `FILE` or `FILE,column=NAME,scale=0.5,every=1 s`.

    Gaps are cut out, in whole slots where there are any, and `notes` has how many.
    """
    settings = settings_of(text)
    rows, period = core.read_measurement(settings, what)
    if skip_s >= period:
        raise LonghaulError(
            f"--skip {quantity(skip_s, 's')} is longer than {settings['file']}, which has {quantity(period, 's')}"
        )
    times, values = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    step = max(float(np.median(np.diff(times))) if len(times) > 1 else period, 0.01 if what == "delay" else 0.001)
    # The last value has no other after it: it lasts as long as most do.
    period = min(period, max(float(times[-1]), skip_s) + GAP * step) if len(times) > 1 else period
    cut = gaps(times, step, skip_s, slot_s)
    if cut.any():
        period = min(period - float(cut.sum()), float(times[-1] - cut.sum()) + step)
        times = times - np.concatenate([[0.0], np.cumsum(cut)])
        many = int(np.count_nonzero(cut))
        if notes is not None:
            notes.append(
                f"{settings['file']}: {counted(many, 'gap')} in the {what} without a value for more than"
                f" {quantity(GAP * step, 's')} {'is' if many == 1 else 'are'} cut out, {quantity(float(cut.sum()), 's')} in all"
            )
    grid = np.arange(skip_s + step / 2, period, step)
    if len(grid) < LEAST:
        raise LonghaulError(
            f"{settings['file']}: {len(grid)} values of the {what} in {quantity(period - skip_s, 's')}; a fit needs {LEAST}"
        )
    return Series(values[np.searchsorted(times, grid, side="right") - 1], step), settings


def gaps(times: Floats, step_s: float, skip_s: float = 0.0, slot_s: float | None = None) -> Floats:
    """How much of the time after each value but the last belongs to a gap, in s; whole slots, so that they keep their phase.

    >>> gaps(np.array([0.0, 1.0, 101.0, 102.0]), 1.0).tolist(), gaps(np.array([0.0, 1.0, 101.0]), 1.0, slot_s=15.0).tolist()
    ([0.0, 99.0, 0.0], [0.0, 90.0])
    """
    apart = times[1:] - np.maximum(times[:-1], skip_s)
    found = np.where(apart > GAP * step_s, apart - step_s, 0.0)
    return np.asarray(np.floor(found / slot_s) * slot_s if slot_s else found, dtype=np.float64)


def settings_of(text: str) -> dict[str, Any]:
    """The settings of a measured quantity from the command line.

    >>> settings_of("log.csv,column=rtt_ms,scale=0.5")
    {'file': 'log.csv', 'column': 'rtt_ms', 'scale': 0.5}
    """
    file, *rest = text.split(",")
    found: dict[str, Any] = {"file": file}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals or key.strip() not in _SETTINGS:
            raise LonghaulError(f"{text!r}: after the file's name come {', '.join(f'{one}=...' for one in _SETTINGS)}")
        found[key.strip()] = float(value) if key.strip() == "scale" and _is_number(value) else value.strip()
    return found


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def kind_of(text: str) -> str:
    """Whether a file of a program that measures has a `rate` or a `delay`; the error is that of its delay, if neither can be read."""
    settings = settings_of(text)
    try:
        core.read_measurement(settings, "delay")
    except LonghaulError as error:
        try:
            core.read_measurement(settings, "rate")
        except LonghaulError:
            raise error from None
        return "rate"
    return "delay"


def losses(text: str) -> tuple[Losses | None, float | None]:
    """Losses of probes in a row; of other files the mean share that was lost, if they have a loss."""
    settings = settings_of(text)
    outcomes = core.read_outcomes(settings)
    if outcomes is None:
        rows, _ = core.read_measurement(settings, "loss")
        return None, float(np.mean([share for _, share in rows]))
    lost = np.array([one for _, one in outcomes], dtype=bool)
    begins = int(np.count_nonzero(lost & ~np.concatenate([[False], lost[:-1]])))
    times = np.array([time for time, _ in outcomes])
    step = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    return Losses(len(lost), int(lost.sum()), begins, max(step, 1e-6)), None


def normal_scores(values: Floats) -> Floats:
    """The normal number of each value's rank; equal values have the same."""
    ordered = np.sort(values)
    below = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    inverse = NormalDist().inv_cdf
    return np.array([inverse(min(max(share, 1e-6), 1 - 1e-6)) for share in below / len(values)])


def autocorrelation(values: Floats, lag: int) -> float:
    """Of the values and those `lag` later; 0 where there are none."""
    spread = float(values.var())
    if lag <= 0 or lag >= len(values) or spread == 0.0:
        return 0.0
    apart = values - values.mean()
    return float((apart[:-lag] * apart[lag:]).mean()) / spread


def distance(one: Floats, other: Floats) -> float:
    """Kolmogorov and Smirnov's: the largest difference of two distribution functions."""
    at = np.concatenate([one, other])
    below = [np.searchsorted(np.sort(values), at, "right") / len(values) for values in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def distance_at(model: Floats, values: Floats) -> float:
    """The distance of a model and a measurement, both at the measurement's resolution."""
    return distance(as_fine(model, values), as_fine(values, values))


def memories(series: Series) -> tuple[float, float, float]:
    """The part of the variance that a slow process has, its time constant, and that of the fast one (in s), by least squares of the
    autocorrelation of normal scores."""
    scores = normal_scores(series.values)
    most = min(len(scores) // 4, int(_LONGEST_LAG_S / series.step_s))
    lags = np.unique(np.round(np.geomspace(1, max(most, 2), 25)).astype(int))
    seen = np.array([autocorrelation(scores, int(lag)) for lag in lags])
    decays = np.exp(-lags[None, :] * series.step_s / _CONSTANTS[:, None])
    best = (math.inf, 1.0, _CONSTANTS[0], _CONSTANTS[0])
    for slow in range(len(_CONSTANTS)):
        for fast in range(slow + 1):
            apart = decays[slow] - decays[fast]
            size = float(apart @ apart)
            part = min(max(float(apart @ (seen - decays[fast])) / size, 0.0), 1.0) if size else 1.0
            error = float(((part * decays[slow] + (1 - part) * decays[fast] - seen) ** 2).sum())
            if error < best[0] - 1e-9:
                best = (error, part, float(_CONSTANTS[slow]), float(_CONSTANTS[fast]))
    return best[1:]


def _nice(seconds: float) -> str:
    """A time as it is written, to two digits, at least 1 ms."""
    digits = 1 - math.floor(math.log10(max(seconds, 1e-3)))
    rounded = max(round(seconds, digits), 0.001)
    return f"{plain(rounded, 10)} s" if rounded >= 1.0 else f"{plain(rounded * 1e3, 10)} ms"


def plain(value: float, digits: int) -> str:
    """A number with so many digits and no exponent, which a scenario does not permit.

    >>> plain(1.00227e6, 6), plain(12004.0, 4), plain(1.5e-5, 3), plain(0.0, 3)
    ('1002270', '12004', '0.000015', '0')
    """
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{min(max(digits - 1 - magnitude, 0), 15)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _at(at_s: float, every_s: float) -> str:
    """When a table begins, as it is written: less than the time that is written for `every`."""
    at, every = read_in(_nice(at_s), "s") or 0.0, read_in(_nice(every_s), "s") or 1.0
    return _nice(at_s) if at < every else "0 s"


def _quantiles(values: Floats) -> Floats:
    """Quantiles of a distribution without its rarest values, whose distance from the others would weigh as much as a twentieth."""
    found: Floats = np.quantile(values, [_RAREST, *np.linspace(0, 1, PARTS + 1)[1:-1], 1 - _RAREST])
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
    quantiles = _quantiles(shares)
    if part > 0.95 or part < 0.05 or slow_s < 3 * fast_s:
        constant = slow_s if part >= 0.5 else fast_s
        every = series.step_s
        table = {"every": _nice(every), "factors": [round(float(one), 3) for one in quantiles]}
        return mean, [table | _correlation(every, constant)]
    # In logarithms the parts add: each has its share of the variance, the slow one the form that was measured.
    logs = np.log(np.maximum(quantiles, 0.01))
    form = np.exp(math.sqrt(part) * (logs - logs.mean()))
    spread = math.sqrt(math.expm1((1 - part) * math.log1p(float(shares.var()))))
    every = max(series.step_s, slow_s / 5)
    slow = {"every": _nice(every), "factors": [round(float(one), 3) for one in form]} | _correlation(every, slow_s)
    fast = {"every": _nice(series.step_s), "spread": f"{100 * min(spread, 1.0):.1f} %"}
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
    for one in _quantiles(np.maximum(values, 0.0)):
        microseconds = round(float(one) * 1e6)
        found.append(microseconds if not found or microseconds > found[-1] else found[-1] + 1)
    return [f"{one / 1e3:.10g} ms" for one in found]


def _of_delay(every_s: float, values: Floats, at_s: float = 0.0) -> dict[str, Any]:
    alike = round(min(max(autocorrelation(normal_scores(values), 1), 0.0), 0.99), 2) if len(values) > 4 else 0.0
    table: dict[str, Any] = {"every": _nice(every_s)}
    if at_s > 0.0 and (at := _at(at_s, every_s)) != "0 s":
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
        return base, [_of_delay(slot_s, levels - base, at_s=phase * series.step_s % slot_s)]
    base = float(values.min())
    if float(values.std()) < 1e-5:
        return base, []
    if slot_s is None:
        part, slow_s, _ = memories(series)
        slot_s = slow_s if 0.05 <= part <= 0.95 and slow_s >= 5 * series.step_s else None
        if slot_s is None:
            return base, [_of_delay(series.step_s, values - base)]
    many = max(round(slot_s / series.step_s), 2)
    phase = slot_phase(series, slot_s)
    rows = values[phase:]
    if len(rows) < 4 * many:
        raise LonghaulError(
            f"slots of {quantity(slot_s, 's')} are too long for {quantity(len(values) * series.step_s, 's')} of delays"
        )
    rows = rows[: len(rows) // many * many].reshape(-1, many)
    base, levels, inside = min((_parted(rows, one, float(values.min())) for one in _LEVELS), key=_apart(values))
    slow = _of_delay(many * series.step_s, levels, at_s=phase * series.step_s)
    return base, [slow, _of_delay(series.step_s, inside)]


def _parted(rows: Floats, share: float, least: float) -> tuple[float, Floats, Floats]:
    """Delays in rows, one for each slot, as a base, what each slot adds and what each value adds, neither below zero; the level of a slot
    is this quantile of it, and the base not below the least value."""
    levels = np.quantile(rows, share, axis=1)
    inside = (rows - levels[:, None]).ravel()
    # Slot and value are drawn alone: the least of both must not go below what was measured.
    lowest = max(float(np.quantile(inside, _RAREST)), least - float(levels.min()))
    return float(levels.min()) + lowest, levels - levels.min(), np.maximum(inside - lowest, 0.0)


def _apart(values: Floats) -> Callable[[tuple[float, Floats, Floats]], float]:
    """How far the sum of the parts is from these values."""
    shares = np.concatenate([[0.0], np.linspace(0, 1, PARTS + 1)[1:-1], [1.0]])
    drawn = (np.arange(200) + 0.5) / 200

    def distance_of(parts: tuple[float, Floats, Floats]) -> float:
        base, levels, inside = parts
        slow, fast = (np.interp(drawn, shares, _quantiles(one)) for one in (levels, inside))
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
    return {"kind": "gilbert_elliott_time", "good": f"{plain(good, 4)} s", "bad": _nice(bad)}


def link_of(measured: Measured, slot_s: float | None, averaged: bool, like: str | None) -> dict[str, Any]:
    """The settings of a link from `ground` to `terminal` (forward is down)."""
    model = _profile(like) if like else {"both": {}, "down": {}, "up": {}}
    missing = [name for name, one in (("rate down", measured.down), ("delay", measured.delay)) if one is None]
    if missing and not like:
        raise LonghaulError(
            f"the {' and the '.join(missing)} {'is' if len(missing) == 1 else 'are'} not measured by these files:"
            " give another file (--down, --delay), or --like starlink for what is missing"
        )
    link: dict[str, Any] = {"name": "link", "ends": ["ground", "terminal"]}
    wander: dict[str, list[dict[str, Any]]] = {"both": [], "forward": [], "reverse": []}
    of_profile = list(model["both"].get("wander", ()))
    #: What comes from the profile.
    taken: list[str] = []
    if measured.delay is not None:
        base, tables = fit_delay(measured.delay, slot_s, averaged)
        link["delay"] = f"{plain(1e3 * base, 7)} ms"
        wander["both"] += tables
    else:
        others = {key: model["both"][key] for key in ("delay", "jitter") if key in model["both"]}
        link |= others
        taken += [*others, *(["the delays of wander"] if any("delay" in table for table in of_profile) else [])]
        wander["both"] += [_only(table, "delay") for table in of_profile if "delay" in table]
    for side, series, other in (("forward", measured.down, "down"), ("reverse", measured.up, "up")):
        settings: dict[str, Any] = {}
        if series is not None:
            if slot_s and (broken := handovers(series, slot_s)):
                start, length, series = broken
                settings["outages"] = [
                    {"start": _at(start, slot_s), "every": _nice(slot_s), "duration": _nice(length), "mode": "hold"}
                ]
            mean, tables = fit_rate(series)
            settings["rate"] = f"{plain(mean / 1e6, 6)} Mbit/s"
            wander[side] += tables
        elif like:
            settings["rate"] = model[other]["rate"]
            taken.append(f"the rate {other} and how it wanders")
            wander[side] += [_only(table, "rate") for table in of_profile if "spread" in table or "factors" in table]
        elif measured.down is not None:
            settings["rate"] = f"{plain(float(measured.down.values.mean()) / 1e7, 6)} Mbit/s"
            measured.notes.append("the rate up is not measured: a tenth of that down is assumed, and that it stays")
        settings["queue"] = {**model["both"], **model[other]}.get("queue", "100 ms")
        link[side] = settings
    measured.notes.append(
        f"queues are {f'those of the profile {like}' if like else 'assumed'}: {link['forward']['queue']} down, {link['reverse']['queue']} up"
    )
    for side in ("forward", "reverse"):
        # What a direction gives takes the place of the link's list.
        if wander[side]:
            link[side]["wander"] = wander[side] + wander["both"]
    if wander["both"] and not (wander["forward"] and wander["reverse"]):
        link["wander"] = wander["both"]
    loss = fit_losses(measured.losses, measured.mean_loss)
    if loss is not None:
        link["loss"] = loss
    elif measured.losses is None and measured.mean_loss is None:
        others = {key: model["both"][key] for key in ("loss", "outages") if key in model["both"]}
        link |= others
        taken += others
    if taken:
        measured.notes.append(f"not measured, and so of the profile {like}: {', '.join(taken)}")
    return link


def _only(table: Mapping[str, Any], what: str) -> dict[str, Any]:
    """What of a table of `wander` moves the rate, or the delay."""
    others = ("spread", "factors") if what == "delay" else ("delay",)
    return {key: value for key, value in table.items() if key not in others}


def _profile(name: str) -> dict[str, Any]:
    profiles = {one["name"]: one for one in core.registry()["profiles"]}
    if name not in profiles:
        raise LonghaulError(f"--like {name}: the profiles are {', '.join(profiles)}")
    found: dict[str, Any] = profiles[name]
    return found


#: A scenario of a fit: a download over the link.
_SCENARIO = """\
name = "A download over a link like one that was measured"

[run]
duration = "{seconds} s"

[[flow]]
name = "download"
from = "ground"
to = "terminal"
tcp = {{ variant = "linux", congestion = "cubic" }}
"""


def scenario_text(link: Mapping[str, Any], seconds: float = 120.0) -> str:
    """A scenario with this link and a download, as TOML."""
    lines = ["[[link]]"]
    for key, value in link.items():
        if key in ("forward", "reverse"):
            continue
        lines.append(f"{key} = {toml.value(value)}")
    for side in ("forward", "reverse"):
        if side in link:
            lines += ["", f"[link.{side}]"] + [f"{key} = {toml.value(value)}" for key, value in link[side].items()]
    head, _, flow = _SCENARIO.format(seconds=plain(seconds, 6)).partition("[[flow]]")
    return head + "\n".join(lines) + "\n\n[[flow]]" + flow


def modelled(link: Mapping[str, Any], side: str, what: str, like: Series) -> Floats:
    """Values of the model, so far apart as those of a measurement and many more of them."""
    many = max(min(LONGER * len(like.values), MOST), len(like.values))
    times = (np.arange(many) + 0.5) * like.step_s
    text = scenario_text(link, seconds=float(times[-1] + like.step_s))
    found = core.course(document.parse(text, "the fit"), 0 if side == "forward" else 1, times.tolist())
    return np.array([one[0 if what == "rate" else 1] for one in found])


def as_fine(values: Floats, like: Floats) -> Floats:
    """Values rounded as those of a measurement that has few different ones: a delay in whole ms has steps, and no model has them."""
    # Equal values may differ in the last bits.
    apart = max(1e-9 * float(np.abs(like).max()), 1e-12)
    different = np.unique(np.round(like / apart) * apart)
    if len(different) < 2 or len(different) > 200 or len(different) > len(like) // 5:
        return values
    step = float(np.diff(different).min())
    return np.asarray(np.round(values / step) * step)


def score(what: str, series: Series, model: Floats, of_first_half: Floats, averaged: int = 1) -> Score:
    """A model, and one of the first half, beside the measurement; `averaged` values of the model are one of the measurement's."""
    if averaged > 1:
        model, of_first_half = (
            np.convolve(one, np.full(averaged, 1 / averaged), "valid") for one in (model, of_first_half)
        )
    of_first_half, model = (as_fine(one, series.values) for one in (of_first_half, model))
    first, second = series.halves()
    at = (0.0, 0.05, 0.5, 0.95, 1.0)
    scores, other = normal_scores(series.values), normal_scores(model[: 4 * len(series.values)])
    lags = {lag: round(lag / series.step_s) for lag in (series.step_s, 1.0, 5.0, 15.0)}
    memory = {
        lag: (autocorrelation(scores, steps), autocorrelation(other, steps))
        for lag, steps in lags.items()
        if 1 <= steps < len(series.values) // 4
    }
    return Score(
        what,
        tuple(float(one) for one in np.quantile(series.values, at)),
        tuple(float(one) for one in np.quantile(model, at)),
        distance(as_fine(series.values, series.values), model),
        distance(as_fine(second.values, series.values), of_first_half),
        distance(first.values, second.values),
        memory,
    )


@dataclass(frozen=True)
class Fit:
    """A link that was fitted, and how well."""

    link: dict[str, Any]
    scores: list[Score]
    measured: Measured
    #: Values of the model beside those of each score's measurement, for figures.
    models: list[Floats]

    def series(self) -> list[Series]:
        """The measurements in the order of the scores."""
        return [one for one in (self.measured.down, self.measured.up, self.measured.delay) if one is not None]

    def warnings(self) -> list[str]:
        """Of each quantity that the model does not have."""
        return [
            f"WARNING: the model of the {one.what} is {one.in_sample:.3f} from the measurement (1 is nothing in common): do not use it"
            for one in self.scores
            if one.in_sample > FAIR[2]
        ]

    def notes(self) -> list[str]:
        """What the numbers do not show."""
        tables = [f"tables leave out the rarest {100 * _RAREST} % at each end"] if self.scores else []
        return [*self.measured.notes, *tables]

    def verdict(self) -> str:
        """How well the link fits as a whole, in a line: as its worst quantity does."""
        order = ["good", "fair", "poor"]
        each = [f"{one.what} {one.verdict()} ({one.in_sample:.3f}, halves {one.of_halves:.3f})" for one in self.scores]
        worst = max((one.verdict() for one in self.scores), key=order.index, default="nothing was compared")
        return f"the fit is {worst}: {', '.join(each)}"

    def text(self, sources: Sequence[str] = ()) -> str:
        """The scenario, with what was measured and how well it fits as comments."""
        lines = [f"fitted by `longhaul profile` to {', '.join(sources) or 'a measurement'}"]
        lines += [line for one in self.scores for line in lines_of(one)]
        if self.measured.losses:
            found = self.measured.losses
            lines.append(
                f"loss: {found.lost} of {found.probes} probes ({100 * found.share:.3g} %) in {found.bursts} bursts of"
                f" {found.burst:.3g} on average; half of it on the way there and half on the way back is assumed"
            )
        lines += self.warnings()
        lines += [f"note: {note}" for note in self.notes()]
        lines.append("a fit describes the time that it was made from: compare the halves with the model above")
        if self.scores:
            lines.append(self.verdict())
        return "".join(f"# {line}\n" for line in lines) + scenario_text(self.link)


def lines_of(one: Score) -> list[str]:
    """A score in words."""
    unit, what = ("s", "delay one way") if one.what == "delay" else ("bit/s", one.what)
    shown = [", ".join(quantity(value, unit) for value in values) for values in (one.measured, one.modelled)]
    return [
        f"{what}: least, 5 %, median, 95 %, most: measured {shown[0]}",
        f"{what}: the same of the model: {shown[1]}",
        f"{what}: distance (Kolmogorov, Smirnov) of model and measurement {one.in_sample:.3f}; of a model of the first half and the"
        f" second half {one.held_out:.3f}; of the two halves {one.of_halves:.3f}",
        f"{what}: autocorrelation "
        + ", ".join(
            f"after {quantity(lag, 's')} {seen:.2f} (model {made:.2f})" for lag, (seen, made) in one.memory.items()
        ),
    ]


def fit(measured: Measured, slot_s: float | None = None, averaged: bool = False, like: str | None = None) -> Fit:
    """A link for what was measured, and its scores. `averaged`: delays are each the mean of the last slot."""
    link = link_of(measured, slot_s, averaged, like)
    scores, models = [], []
    for name, series, side in (
        ("rate down", measured.down, "forward"),
        ("rate up", measured.up, "reverse"),
        ("delay", measured.delay, "forward"),
    ):
        if series is None:
            continue
        what = "delay" if name == "delay" else "rate"
        of_name = {"rate down": "down", "rate up": "up", "delay": "delay"}[name]
        alone = Measured()
        setattr(alone, of_name, series.halves()[0])
        try:
            half = link_of(alone, slot_s, averaged, "starlink")
        except LonghaulError:
            half = link
        model = modelled(link, side, what, series)
        averages = round(slot_s / series.step_s) if averaged and slot_s and what == "delay" else 1
        scores.append(score(name, series, model, modelled(half, side, what, series), averages))
        models.append(np.convolve(model, np.full(averages, 1 / averages), "valid") if averages > 1 else model)
        if what == "delay":
            measured.notes += _spikes(series, models[-1], slot_s, "outages" in link.get("forward", {}))
        if what == "rate" and np.median(series.values) < 0.3 * np.quantile(series.values, 0.95):
            measured.notes.append(
                f"half of the values of the {name} are below a third of its 95 %: where the sender had little to send, a rate is what"
                " was sent and not what the link carries"
            )
    measured.notes += _contradictions(link, measured)
    return Fit(link, scores, measured, models)


def _spikes(series: Series, model: Floats, slot_s: float | None, held: bool) -> list[str]:
    """That delays are far above all of the model, and where in slots they are."""
    values, most = series.values, float(model.max())
    above = np.flatnonzero(values > most)
    median = float(np.median(values))
    if not len(above) or float(values.max()) - median < 1.5 * (most - median):
        return []
    text = (
        f"{len(above):,} of the {len(values):,} values of the delay ({plain(100 * len(above) / len(values), 2)} %) are above"
        f" {quantity(most, 's')}, up to {quantity(float(values.max()), 's')}, which the model leaves out"
    )
    many = round(slot_s / series.step_s) if slot_s else 0
    if many >= 20:
        # The twentieth of a slot that has most of them.
        width = many // 20
        places = np.sort(above % many)
        around = np.concatenate([places, places + many])
        inside = np.searchsorted(around, places + width) - np.arange(len(places))
        if int(inside.max()) > 0.8 * len(places):
            begin = float(places[int(inside.argmax())]) * series.step_s
            text += (
                f"; {int(inside.max()):,} of them lie within {quantity(width * series.step_s, 's')} from {quantity(begin, 's')} on of each"
                f" {quantity(slot_s, 's')}, "
            )
            text += "where the link's outages hold packets" if held else 'as outages with mode = "hold" make them'
    return [text]


def _contradictions(link: Mapping[str, Any], measured: Measured) -> list[str]:
    """That a flow with the measured loss carries far less than the measured rate, by the formula of Mathis and others (1997)."""
    share = measured.losses.share if measured.losses else (measured.mean_loss or 0.0)
    one_way = 1 - math.sqrt(1 - min(share, 0.999))
    delay = float(measured.delay.values.mean()) if measured.delay else read_in(link.get("delay"), "s")
    if one_way <= 0.0 or not delay:
        return []
    events = one_way / max(measured.losses.burst if measured.losses else 1.0, 1.0)
    carried = 1460 * 8 * math.sqrt(1.5 / events) / (2 * delay)
    both = (("down", measured.down), ("up", measured.up))
    rates = [(float(series.values.mean()), side) for side, series in both if series]
    more = [f"{quantity(rate, 'bit/s')} {side}" for rate, side in rates if carried < 0.5 * rate]
    if not more:
        return []
    return [
        f"with this loss, {plain(100 * one_way, 3)} % one way, and a round trip of {quantity(2 * delay, 's')} a TCP flow carries about"
        f" {quantity(carried, 'bit/s')} (Mathis), and {' and '.join(more)} {'were' if len(more) > 1 else 'was'} measured: flows did not"
        " lose what probes lost (probes are policed, or losses cluster); without the line loss the link carries the measured rate"
    ]


def draw(found: Fit, file: Path) -> None:
    """Model beside measurement: distribution, course and autocorrelation of each quantity."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.9 * len(found.scores)), layout="constrained")
    axes = figure.subplots(len(found.scores), 3, squeeze=False)
    for row, one, series, model in zip(axes, found.scores, found.series(), found.models, strict=True):
        scale, unit = (1e3, "ms") if one.what == "delay" else (1e-6, "Mbit/s")
        shown = min(len(series.values), max(int(120 / series.step_s), 200))
        for values, label in ((series.values, "measured"), (model, "model")):
            row[0].plot(scale * np.sort(values), np.linspace(0, 1, len(values)), label=label)
            row[1].plot(series.times[:shown], scale * values[:shown], label=label, linewidth=0.8)
            lags = np.unique(np.round(np.geomspace(1, max(len(series.values) // 4, 2), 40)).astype(int))
            scores = normal_scores(values[: 4 * len(series.values)])
            row[2].plot(lags * series.step_s, [autocorrelation(scores, int(lag)) for lag in lags], label=label)
        row[0].set(xlabel=f"{one.what} ({unit})", ylabel="share below")
        row[1].set(xlabel="time (s)", ylabel=f"{one.what} ({unit})")
        row[2].set(xlabel="lag (s)", ylabel="autocorrelation", xscale="log")
        for ax in row:
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8)
    figure.savefig(file, dpi=130)


def seconds_of(option: str, text: str | None) -> float | None:
    """A time of the command line, in s."""
    if text is None:
        return None
    found = read_quantity(text)
    seconds = read_in(text, "s")
    if not found or seconds is None or seconds <= 0.0:
        raise LonghaulError(f'{option} {text}: write a time, as in "15 s"')
    return seconds
