"""Each congestion control beside each, and beside itself, on six paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..scenario import Scenario
from .ietf_satellite import satellite
from .leo import over_orbits
from .model import START, Entry, Measure, Metrics, Scale, Situation, Suite, tcp


def _terrestrial(rate: str, delay: str, whole: float) -> Callable[[Scale], tuple[Scenario, tuple[str, str]]]:
    def make(scale: Scale) -> tuple[Scenario, tuple[str, str]]:
        made = Scenario("Two flows", duration=scale.seconds(whole), warmup=scale.seconds(whole / 3), sample="1 s")
        return made.link("path", "left", "right", rate=rate, delay=delay, queue="1 bdp"), ("left", "right")

    return make


def _geo(up: float, loss: float = 0.0) -> Callable[[Scale], tuple[Scenario, tuple[str, str]]]:
    def make(scale: Scale) -> tuple[Scenario, tuple[str, str]]:
        made = satellite("Two flows", 50, up, loss=loss, length=scale.seconds(180), warmup=scale.seconds(60))
        return made, ("hub", "terminal")

    return make


def _leo(scale: Scale) -> tuple[Scenario, tuple[str, str]]:
    return over_orbits("Two flows", scale.seconds(120), scale.seconds(30)), ("ground", "terminal")


#: The paths, with a title, how long a run takes beside others, and what makes them.
PATHS = {
    "lan": ("100 Mbit/s, 20 ms", 1.0, _terrestrial("100 Mbit/s", "10 ms", 60)),
    "geo": ("GEO 50/10 Mbit/s", 1.5, _geo(10)),
    "geo-loss": ("GEO 50/10 Mbit/s, 1 % loss", 0.5, _geo(10, 0.01)),
    "thin-return": ("GEO 50/0.5 Mbit/s", 1.5, _geo(0.5)),
    "leo": ("Low orbit 150/15 Mbit/s", 2.0, _leo),
    "fat": ("1 Gbit/s, 100 ms", 6.0, _terrestrial("1 Gbit/s", "50 ms", 45)),
}


def _pair(path: str, rival: Entry) -> Situation:
    title, weight, build = PATHS[path]

    def make(entry: Entry, scale: Scale) -> Scenario:
        made, ends = build(scale)
        # In one order, so that both cells of a pair are one run.
        for one, name in zip(
            sorted((entry, rival), key=lambda one: one.name), _names(entry.name, rival.name), strict=True
        ):
            made = made.flow(*ends, name=name, tcp=tcp(one), start=START)
        return made

    def left(metrics: Metrics) -> float | None:
        # Beside its own kind both are as good: the mean of them.
        found = [metrics.get(f"group.{name}.goodput_bps") for name in (rival.name, f"{rival.name}-2")]
        values = [value for value in found if value is not None]
        return sum(values) / len(values) if values else None

    measure = Measure(f"goodput of {rival.name}", left, "bit/s", like=rival.name, always=True)
    asks = f"{title}, shared by two endless flows: what has {rival.name}?"
    return Situation(f"{path}/{rival.name}", f"{title}, beside {rival.name}", make, (measure,), asks, weight=weight)


def _names(one: str, other: str) -> list[str]:
    """Names of both flows in their order.

    >>> _names("reno", "cubic"), _names("reno", "reno")
    (['cubic', 'reno'], ['reno', 'reno-2'])
    """
    return sorted((one, other)) if one != other else [one, f"{one}-2"]


def _situations(entries: Sequence[Entry], scale: Scale) -> Sequence[Situation]:
    return [_pair(path, rival) for path in PATHS for rival in entries]


SUITE = Suite(
    "fairness",
    "Fairness",
    "What does each leave to each on six paths, in what that one has beside its own kind?",
    "Harm as in Ware et al. (HotNets 2019) and draft-irtf-iccrg-tcpeval-01, section 6.1",
    _situations,
    beside=("cubic", "bbr3", "reno", "bbr", "hybla", "vegas"),
    scales={"quick": Scale(3, 0.5), "whole": Scale(3)},
    without="more than two flows, flows that come later, and round trips that differ.",
    matrix=True,
)
