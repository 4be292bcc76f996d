"""How links changed over a run: their rate and delay as steps over time, by their script or by what was measured on them; and the
closed forms that follow them: an equal share of the path, and the base round trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from . import script
from .results import Result
from .why.case import setting

#: Bytes of the IP and TCP headers of a data packet without options, and of an ACK.
HEADERS = 40


@dataclass(frozen=True)
class Steps:
    """A value that changes in steps: from each time (s) on it has the value next to it."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, time: float) -> float:
        """The value in force at a time."""
        return next(v for t, v in zip(reversed(self.times), reversed(self.values), strict=True) if t <= time)

    def before(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value in force in the middle of each interval that ends at a time."""
        middles = times - np.diff(times, prepend=0.0) / 2
        places = np.searchsorted(np.asarray(self.times), middles, side="right") - 1
        return np.asarray(self.values)[np.maximum(places, 0)]

    def mean(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean over each interval that ends at a time: what changes within it counts by how long it holds.

        >>> Steps((0.0, 1.5), (8.0, 0.0)).mean(np.array([1.0, 2.0, 3.0])).tolist()
        [8.0, 4.0, 0.0]
        """
        begins, values = np.asarray(self.times), np.asarray(self.values)
        reached = np.append(0.0, np.cumsum(np.diff(begins) * values[:-1]))

        def integral(at: NDArray[np.float64]) -> NDArray[np.float64]:
            places = np.maximum(np.searchsorted(begins, at, side="right") - 1, 0)
            whole: NDArray[np.float64] = reached[places] + (at - begins[places]) * values[places]
            return whole

        widths = np.diff(times, prepend=0.0)
        found = self.before(times)
        wide = widths > 0
        grown = integral(times) - integral(times - widths)
        found[wide] = grown[wide] / widths[wide]
        return found

    @property
    def constant(self) -> bool:
        """Whether it never changes."""
        return len(set(self.values)) == 1


@dataclass(frozen=True)
class Link:
    """One direction of a link over time."""

    #: In bit/s; 0 in outages.
    rate: Steps
    #: In bit/s; in outages what it was before.
    nominal: Steps
    #: Propagation delay in s.
    delay: Steps


def links_over_time(result: Result) -> list[Link]:
    """Every direction of a link, in the order of the summary."""
    summary = result.summary["links"]
    scripted: dict[int, list[tuple[float, str, float]]] = {}
    if result.has_tables:
        rows = events(result).select("link", "time_s", "kind", "value").iter_rows()
        for link, time, kind, value in rows:
            scripted.setdefault(link, []).append((time, kind, value))
    return [_link(link, scripted.get(number, [])) for number, link in enumerate(summary)]


def events(result: Result) -> pl.DataFrame:
    """Events of the links' script, in the order of time."""
    kinds = ("link_rate", "link_delay", "link_loss", "link_down", "link_up")
    return result.events.filter(pl.col("kind").is_in(kinds)).sort("time_s", maintain_order=True)


def _link(summary: dict[str, Any], events: Sequence[tuple[float, str, float]]) -> Link:
    rate, delay, down = float(summary["rate_bps"]), float(summary["delay_s"]), 0
    rates, nominal, delays = [(0.0, rate)], [(0.0, rate)], [(0.0, delay)]
    for time, kind, value in events:
        down += {"link_down": 1, "link_up": -1}.get(kind, 0)
        rate = value if kind == "link_rate" else rate
        delay = value if kind == "link_delay" else delay
        rates.append((time, 0.0 if down else rate))
        nominal.append((time, rate))
        delays.append((time, delay))
    return Link(_steps(rates), _steps(nominal), _steps(delays))


def _steps(pairs: Iterable[tuple[float, float]]) -> Steps:
    """Steps without those that change nothing; of several at one time the last holds."""
    last = list(dict(pairs).items())
    kept = [(t, v) for i, (t, v) in enumerate(last) if i == 0 or v != last[i - 1][1]]
    return Steps(tuple(t for t, _ in kept), tuple(v for _, v in kept))


def ways(result: Result, flow: Mapping[str, Any]) -> list[tuple[float, Mapping[str, Any]]]:
    """The ways of a flow, each with the time in s from which on it had it: links of data and ACKs, and the round trip without queues."""
    found = flow.get("ways")
    if not found:
        return [(0.0, flow)]
    changes = [(0.0, 0)]
    if result.has_tables:
        rows = result.events.filter((pl.col("kind") == "route") & (pl.col("flow") == flow["id"])).sort("time_s")
        changes += [(float(at), int(way)) for at, way in rows.select("time_s", "value").iter_rows()]
    return [(at, found[way]) for at, way in changes]


def _over_ways(result: Result, flow: Mapping[str, Any], value: Callable[[Mapping[str, Any]], Steps]) -> Steps:
    """Steps that are those of each way while a flow has it."""
    pairs: list[tuple[float, float]] = []
    had = ways(result, flow)
    for place, (begin, way) in enumerate(had):
        end = had[place + 1][0] if place + 1 < len(had) else float("inf")
        own = value(way)
        pairs.append((begin, own.at(begin)))
        pairs += [(time, at) for time, at in zip(own.times, own.values, strict=True) if begin < time < end]
    return _steps(pairs)


def equal_share(result: Result, links: Sequence[Link], flow: dict[str, Any]) -> Steps | None:
    """An equal share of the path for a flow's payload in bit/s, as in `fair_share_bps`, but at each time."""
    constant = flow.get("predicted", {}).get("fair_share_bps")
    had = ways(result, flow)
    if len(had) == 1 and all(links[number].rate.constant for number in flow.get("data_path", [])):
        return Steps((0.0,), (float(constant),)) if constant else None
    payload = flow["mss_bytes"] / (flow["mss_bytes"] + HEADERS)
    access = flow.get("access_rate_bps") or float("inf")

    def share(way: Mapping[str, Any]) -> Steps:
        shared = [
            (links[number], float(result.summary["links"][number]["active_flows"])) for number in way["data_path"]
        ]
        times = sorted({time for link, _ in shared for time in link.rate.times})
        shares = [min(access, *(link.rate.at(time) / flows for link, flows in shared)) * payload for time in times]
        return _steps(zip(times, shares, strict=True))

    if any(not way.get("data_path") for _, way in had):
        return None
    return _over_ways(result, flow, share)


def base_rtt(result: Result, links: Sequence[Link], flow: dict[str, Any]) -> Steps:
    """The round trip of a full segment and its ACK without queues, in s, at each time."""

    def trip(way: Mapping[str, Any]) -> Steps:
        base = float(way["base_rtt_s"])
        crossed = [
            (links[number], size * 8)
            for path, size in (("data_path", flow.get("mss_bytes", 0) + HEADERS), ("ack_path", HEADERS))
            for number in way.get(path, [])
        ]
        times = sorted({0.0, *(time for link, _ in crossed for time in (*link.delay.times, *link.nominal.times))})
        return _steps((time, base + sum(_slower(link, bits, time) for link, bits in crossed)) for time in times)

    return _over_ways(result, flow, trip)


def _slower(link: Link, bits: int, time: float) -> float:
    """How much longer a packet takes over a link than at the start of the run, in s; a stopped link takes no part."""
    rate, first = link.nominal.at(time), link.nominal.values[0]
    sending = bits / rate - bits / first if rate and first else 0.0
    return link.delay.at(time) - link.delay.values[0] + sending


def follows_measurement(content: Mapping[str, Any], link: str, what: str = "rate") -> bool:
    """Whether a direction of a link takes its rate (or delay, or loss) from a file, its rate from its signal, or has one of both that
    wanders; `content` is the resolved scenario.

    >>> follows_measurement({"link": [{"name": "l", "forward": {"trace": {"rate": "f"}}}]}, "l.forward")
    True
    """
    adapted = what == "rate" and adapts(content, link)
    wanders = what in script.wandering(setting(content, link, "wander") or ())
    return bool(adapted or wanders or (setting(content, link, "trace") or {}).get(what))


def adapts(content: Mapping[str, Any], link: str) -> bool:
    """Whether the rate of a direction of a link follows its signal by adaptive coding and modulation: outages are fades then."""
    return bool(setting(content, link, "acm"))


def _up(link: Link) -> Steps:
    """1 where something could get through, 0 in outages."""
    return Steps(link.rate.times, tuple(float(rate > 0) for rate in link.rate.values))


def capacity(
    result: Result, number: int, steps: Link, times: NDArray[np.float64], *, is_measured: bool, fades: bool = False
) -> NDArray[np.float64]:
    """The rate that a direction of a link could carry until each time since the one before, in bit/s.

    That of a measured link, and of one that follows its signal, follows from what it carried and from the share that this was; while it
    carried nothing it is not known, and the last value stands for it. With `fades` nothing gets through in outages, whatever is sent.
    """
    if is_measured:
        frame = result.links.filter((pl.col("link") == number) & (pl.col("utilisation") > 0)).sort("time_s")
        at, rate = frame["time_s"].to_numpy(), (frame["throughput_bps"] / frame["utilisation"]).to_numpy()
        if not len(at):
            return np.full(len(times), np.nan)
        # Means of all samples in an interval; without one, the last before it.
        ends = np.searchsorted(at, times + 1e-9)
        sums = np.append(0.0, np.cumsum(rate))
        starts = np.minimum(np.append(0, ends[:-1]), np.maximum(ends - 1, 0))
        counts = np.maximum(ends - starts, 1)
        means: NDArray[np.float64] = np.where(ends > 0, (sums[ends] - sums[starts]) / counts, rate[0])
        return means * _up(steps).mean(times) if fades else means
    return steps.rate.mean(times)
