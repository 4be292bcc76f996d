"""Measurements of a link, from files."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import core
from ..errors import LonghaulError
from ..units import counted, quantity, read_in, read_quantity

Floats = NDArray[np.float64]

#: A fit needs so many values.
LEAST = 30
#: So many times the usual time between two values without one are a gap.
GAP = 20
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
    """Measurements of a link; `None` what was not measured."""

    down: Series | None = None
    up: Series | None = None
    delay: Series | None = None
    losses: Losses | None = None
    #: A mean loss without anything about bursts.
    mean_loss: float | None = None
    notes: list[str] = field(default_factory=list)


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
    if "scale" in found and not (isinstance(found["scale"], float) and found["scale"] > 0):
        raise LonghaulError(f"{text!r}: scale is a number above 0, by which each value is multiplied")
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


def seconds_of(option: str, text: str | None) -> float | None:
    """A time of the command line, in s."""
    if text is None:
        return None
    found = read_quantity(text)
    seconds = read_in(text, "s")
    if not found or seconds is None or seconds <= 0.0:
        raise LonghaulError(f'{option} {text}: write a time, as in "15 s"')
    return seconds
