"""A fit beside its measurement: scores, a verdict, notes and warnings, and all of it in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LonghaulError
from ..units import quantity, read_in
from .distributions import as_fine, autocorrelation, distance, normal_scores
from .link import link_of, modelled, scenario_text
from .measured import Floats, Measured, Series
from .processes import RAREST, plain

#: Distances up to which a fit is good or fair; the second number is the part of the distance of the halves up to which it is so too, the
#: third the bound of both.
GOOD, FAIR = (0.05, 0.5, 0.15), (0.15, 1.0, 0.3)


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


def score(what: str, series: Series, model: Floats, of_first_half: Floats) -> Score:
    """A model, and one of the first half, beside the measurement."""
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
        """Limits of what the numbers show."""
        tables = [f"tables leave out the rarest {100 * RAREST} % at each end"] if self.scores else []
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
    for field, name, side in (
        ("down", "rate down", "forward"),
        ("up", "rate up", "reverse"),
        ("delay", "delay", "forward"),
    ):
        series: Series | None = getattr(measured, field)
        if series is None:
            continue
        alone = Measured()
        setattr(alone, field, series.halves()[0])
        try:
            half = link_of(alone, slot_s, averaged, "starlink")
        except LonghaulError:
            half = link
        what = "delay" if field == "delay" else "rate"
        averages = round(slot_s / series.step_s) if averaged and slot_s and what == "delay" else 1
        model, of_first_half = (_means(modelled(one, side, what, series), averages) for one in (link, half))
        scores.append(score(name, series, model, of_first_half))
        models.append(model)
        if what == "delay":
            measured.notes += _spikes(series, model, slot_s, "outages" in link.get("forward", {}))
        if what == "rate" and np.median(series.values) < 0.3 * np.quantile(series.values, 0.95):
            measured.notes.append(
                f"half of the values of the {name} are below a third of its 95 %: where the sender had little to send, a rate is what"
                " was sent and not what the link carries"
            )
    measured.notes += contradictions(link, measured)
    return Fit(link, scores, measured, models)


def _means(values: Floats, many: int) -> Floats:
    """The mean of each `many` values in a row."""
    return np.convolve(values, np.full(many, 1 / many), "valid") if many > 1 else values


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


def contradictions(link: Mapping[str, Any], measured: Measured) -> list[str]:
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
