"""The thesis's related work (its chapter 2), run with the parts that exist here, against the factors that it quotes.

The thesis quotes results of others and few of their settings: rates, delays, bit error rates, the size of a cache. What it leaves out is
stated at each scenario; levels therefore are ours, and factors are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longhaul.scenario import Scenario

from ..model import Case, Experiment, ResultTable, Target
from ..results import Results, Row
from ..verdict import Judgement, band, holds, listed, number

#: Seeds of each point: losses are drawn.
SEEDS = 5
#: End hosts of the time: SACK, standard congestion control, timers of RFC 6298 with at least 1 s.
_HOST: dict[str, Any] = {"variant": "sack", "congestion": "reno", "receive_buffer": "unlimited", "rto": {"min": "1 s"}}
#: Hybla with what its authors ask for: timestamps, pacing, and an estimate of the link's rate as the first threshold.
HYBLA: dict[str, Any] = {
    "congestion": "hybla", "timestamps": True, "pacing": "window", "slow_start": {"kind": "packet_pair", "retries": 3},
}  # fmt: skip


def goodput(row: Row) -> float:
    """Goodput of the download in Mbit/s."""
    return row["group.download.goodput_bps"] / 1e6


def _download(duration: int, tcp: dict[str, Any], *, source: str, sink: str) -> Scenario:
    built = Scenario("related work", duration=f"{duration} s", warmup=f"{duration // 10} s", sample="1 s")
    return built.flow(source, sink, name="download", tcp=_HOST | tcp)


# --- PEPsal: round trips of 50 to 600 ms, errors on the satellite link.

RTTS, LOSSES = (50, 200, 600), (0.0, 0.01)
#: What the end hosts use, and what differs beyond a split at the hub; no split where the second is `None`.
OVER_SATELLITE: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "none": ({}, None),
    "Hybla end to end": (HYBLA, None),
    "split": ({}, {}),
    "PEPsal": ({}, HYBLA),
}


def _satellite(system: str, rtt: int, loss: float) -> Case:
    """10 Mbit/s with a queue of 500 packets behind an Internet of 20 ms; of the round trip the satellite has the rest."""
    host, long = OVER_SATELLITE[system]
    lossy = {"forward": {"loss": {"kind": "random", "probability": loss}}} if loss else {}
    built = (
        _download(300, host, source="server", sink="client")
        .link("internet", "server", "hub", rate="100 Mbit/s", delay="10 ms")
        .link(
            "satellite",
            "hub",
            "client",
            rate="10 Mbit/s",
            delay=f"{rtt / 2 - 10:g} ms",
            queue={"kind": "droptail", "limit": "500 packets"},
            **lossy,
        )
    )
    if long is not None:
        built = built.middlebox("hub", "split", name="pep", buffer="1 MB", far=long)
    return Case({"part": "satellite", "system": system, "rtt": rtt, "loss": loss}, built, SEEDS)


# --- I-TCP and snoop: a radio of 2 Mbit/s behind a LAN or a WAN.

#: Delays one way of the wired part; neither paper's are quoted.
NETWORKS = {"LAN": "1 ms", "WAN": "35 ms"}
#: Loss on the radio of I-TCP, which is not quoted either.
RADIO_LOSSES = (0.01, 0.03)
#: Bit error rates: the ends of the quoted range, and one between.
ERRORS = (5e-7, 3.9e-6, 1.5e-5)


def _radio(network: str, **settings: Any) -> Scenario:
    return (
        _download(300, {}, source="server", sink="mobile")
        .link("wired", "server", "base", rate="10 Mbit/s", delay=NETWORKS[network])
        .link("radio", "base", "mobile", rate="2 Mbit/s", delay="2 ms", queue={"kind": "droptail", "limit": "50 packets"}, **settings)
    )  # fmt: skip


def _cells(system: str, network: str, loss: float, cells: bool) -> Case:
    """A mobile host, which with `cells` is cut off for a second every eight; the base has 64 kB for it."""
    outages = {"outages": [{"start": f"{8 * k} s", "duration": "1 s"} for k in range(1, 38)]} if cells else {}
    built = _radio(network, forward={"loss": {"kind": "random", "probability": loss}}, **outages)
    if system == "I-TCP":
        built = built.middlebox("base", "split", name="pep", buffer="64 kB", far={"rto": {"min": "200 ms"}})
    return Case({"part": "radio", "system": system, "network": network, "loss": loss, "cells": cells}, built, SEEDS)


def _snoop(system: str, errors: float) -> Case:
    """Bit errors on the radio behind the WAN; the cache has the quoted 20 packets."""
    built = _radio("WAN", forward={"loss": {"kind": "bit_error", "rate": errors}})
    if system == "snoop":
        built = built.middlebox("base", "snoop", name="snoop", cache="20 packets")
    return Case({"part": "errors", "system": system, "errors": errors}, built, SEEDS)


# --- Balakrishnan: 10 Mbit/s down, a telephone line up.

BAUD = (9600, 28_800)
#: The sender's settings, whether the client's side of the line filters ACKs, and the line's header compression.
THIN: dict[str, tuple[dict[str, Any], bool, dict[str, Any]]] = {
    "none": ({}, False, {}),
    "ACC": ({"ack_congestion_control": True}, False, {}),
    "filter": ({}, True, {}),
    "compression": ({}, False, {"vj": {}}),
    "ACC, compression": ({"ack_congestion_control": True}, False, {"vj": {}}),
    "filter, compression": ({}, True, {"vj": {}}),
}


def _asymmetric(system: str, baud: int) -> Case:
    """A line with 8 bits a byte and a queue of 10 packets; a window of 128 kB. The filter adapts to the line."""
    tcp, filters, line = THIN[system]
    built = (
        _download(180, {"receive_buffer": "128 kB", "delayed_ack": "200 ms", **tcp}, source="server", sink="client")
        .link(
            "path", "server", "home", delay="5 ms", forward={"rate": "10 Mbit/s", "queue": "100 packets"},
            reverse={"rate": f"{baud} bit/s", "queue": "10 packets", "serial": {"framing": "slip", "bits_per_byte": 8, **line}},
        )
        .link("lan", "home", "client", rate="100 Mbit/s", delay="0 s")
    )  # fmt: skip
    if filters:
        built = built.middlebox("home", "ack_filter", name="filter", adapt={"rate": f"{baud} bit/s"})
    return Case({"part": "thin return", "system": system, "baud": baud}, built, SEEDS)


def related(scale: str) -> list[Case]:
    """All parts; five seeds."""
    if scale == "tiny":
        return []
    return [
        *(_satellite(system, rtt, loss) for system in OVER_SATELLITE for rtt in RTTS for loss in LOSSES),
        *(
            _cells(system, network, loss, cells)
            for system in ("none", "I-TCP") for network in NETWORKS for loss in RADIO_LOSSES for cells in (False, True)
        ),
        *(_snoop(system, errors) for system in ("none", "snoop") for errors in ERRORS),
        *(_asymmetric(system, baud) for system in THIN for baud in BAUD),
    ]  # fmt: skip


# --- What is compared.


def _of(results: Results, **point: Any) -> float:
    return results["related"].median(goodput, **point)


def _over_none(results: Results, system: str, **point: Any) -> float:
    """The factor by which a system has more than none of them at a point."""
    return _of(results, system=system, **point) / _of(results, system="none", **point)


def _factor(paper: float, system: str, **point: Any) -> Callable[[Results], Judgement]:
    """A quoted factor within a quarter: settings that nobody quotes move it."""
    return lambda results: number(_over_none(results, system, **point), paper, 0.25, unit="times")


def _gain_in_lan(results: Results) -> Judgement:
    """A small gain, within half of itself: within a quarter of the factor none would pass too."""
    gain = 100 * (_over_none(results, "I-TCP", network="LAN", cells=False, **_RADIO) - 1)
    return band(gain, 3.5, 10.5, margin=1.75, unit="%")


def _by_distance(results: Results) -> Judgement:
    """End to end, with errors: what the longest round trip costs."""
    near, far = (_of(results, part="satellite", system="none", rtt=rtt, loss=0.01) for rtt in (RTTS[0], RTTS[-1]))
    return number(near / far, 10, 0.25, unit="times")


def _despite_errors(results: Results) -> Judgement:
    """What is left with errors of what there is without, at the longest round trip."""
    left = {
        system: _of(results, part="satellite", system=system, rtt=RTTS[-1], loss=0.01)
        / _of(results, part="satellite", system=system, rtt=RTTS[-1], loss=0.0)
        for system in ("none", "split", "PEPsal")
    }
    return holds(
        {"PEPsal keeps four fifths": left["PEPsal"] >= 0.8, "PEPsal keeps more than the others": left["PEPsal"] > max(left["none"], left["split"])},
        "with errors " + ", ".join(f"{system} {100 * share:.0f} %" for system, share in left.items()),
    )  # fmt: skip


def _thin(results: Results, system: str) -> dict[float, float]:
    return {baud: _over_none(results, system, part="thin return", baud=baud) for baud in BAUD}


def _up_to(system: str, low: float, high: float) -> Callable[[Results], Judgement]:
    """The largest factor over both lines, in a quoted range; a quarter outside is partly."""
    return lambda results: band(max(_thin(results, system).values()), low, high, margin=low / 4, unit="times at most")


def _combined(results: Results) -> Judgement:
    """Both together over the better of the two alone, at each line."""
    ratios: dict[str, float] = {}
    for system in ("ACC", "filter"):
        alone, compressed, together = (_thin(results, one) for one in (system, "compression", f"{system}, compression"))
        ratios |= {f"{system} {baud}": together[baud] / max(alone[baud], compressed[baud]) for baud in BAUD}
    return holds({name: 0.95 <= ratio <= 1.25 for name, ratio in ratios.items()}, listed(ratios, "times"))


_RADIO = {"part": "radio", "loss": RADIO_LOSSES[0]}
TARGETS = tuple(
    Target(name, "chapter 2", paper, "band", judge, ("related",), stated="ours")
    for name, paper, judge in (
        ("R1", "end-to-end TCP loses up to 10 times from 50 to 600 ms (quoted of PEPsal's authors)", _by_distance),
        ("R2", "PEPsal is hardly affected by errors", _despite_errors),
        ("R3", "I-TCP gains 7 % in a LAN", _gain_in_lan),
        ("R4", "I-TCP gains 100 % over a WAN", _factor(2.0, "I-TCP", network="WAN", cells=False, **_RADIO)),
        ("R5", "I-TCP has 3 times as much over a WAN with handoffs", _factor(3.0, "I-TCP", network="WAN", cells=True, **_RADIO)),
        ("R6", "snoop: up to 20 times, at a BER of 1.5e-5", _factor(20.0, "snoop", part="errors", errors=1.5e-5)),
        ("R7", "ACK congestion control: up to 2 times", _up_to("ACC", 1.5, 2.5)),
        ("R8", "ACK filtering: 2 to 4 times", _up_to("filter", 2.0, 4.0)),
        ("R9", "header compression: up to 4 times", _up_to("compression", 3.0, 5.0)),
        ("R10", "combined little more than alone", _combined),
    )
)  # fmt: skip
REASONS = {
    "R1": "Under random loss TCP's rate falls as the round trip grows, which is 12 times as long here. The thesis quotes no loss rate.",
    "R2": (
        "With 1 % PEPsal has 4.9 Mbit/s at 50 ms and 2.9 at 600, where end-to-end TCP has 2.6 and 0.2: distance costs it little, and errors cost it what they cost"
        " over a short round trip. The error rate is not quoted. Without loss at 600 ms PEPsal has 7.70 Mbit/s, and Hybla from host to host 9.63: why the pair costs that is not known."
    ),
    "R3": "No loss of the radio is quoted. With 1 % a LAN's sender repairs as fast as the base does, with 3 % the split gains 4 %.",
    "R4": "The factor grows with the radio's loss, which is not quoted: with 3 % it is 2.4 (table *Related work, run*).",
    "R5": "Neither the radio's loss is quoted nor how long a handoff takes. With 3 % the factor is 2.5.",
    "R6": "End-to-end TCP has 5 % of the radio here, snoop 64 % of what it has at the lowest rate. The sender's timer and the WAN's delay are not quoted.",
    "R7": "Here it is that of RFC 5690, which reacts to lost ACKs; the quoted one reacts to marks of a RED queue at the line. Whether that is the cause was not tried.",
}

_POINTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *(("none, Hybla, split, PEPsal", f"{rtt} ms, {100 * loss:g} % lost", {"part": "satellite", "rtt": rtt, "loss": loss}) for rtt in RTTS for loss in LOSSES),
    *(
        ("none, I-TCP", f"{network}, {100 * loss:g} % lost{', handoffs' if cells else ''}", {"part": "radio", "network": network, "loss": loss, "cells": cells})
        for network in NETWORKS for loss in RADIO_LOSSES for cells in (False, True)
    ),
    *(("none, snoop", f"BER {errors:g}", {"part": "errors", "errors": errors}) for errors in ERRORS),
    *(("none, ACC, filter, compression, both pairs", f"{baud:,} bit/s back", {"part": "thin return", "baud": baud}) for baud in BAUD),
)  # fmt: skip


def _rows(results: Results) -> list[list[str]]:
    rows = []
    for what, where, point in _POINTS:
        of = {system: _of(results, system=system, **point) for system in results["related"].points("system", **point)}
        rows.append(
            [
                what,
                where,
                ", ".join(f"{value:.2f}" for value in of.values()),
                ", ".join(f"{value / of['none']:.2f}" for value in list(of.values())[1:]),
            ]
        )
    return rows


EXPERIMENT = Experiment("related", "The related work, run with parts that exist", "chapter 2", related)
TABLE = ResultTable(
    "Related work, run",
    (
        "Goodput of one download in Mbit/s and the factor over none of the systems, medians of five seeds. *PEPsal*: 10 Mbit/s behind an Internet of 20 ms; Hybla with timestamps, pacing and a"
        " first threshold of packet pair, as its authors ask for. *I-TCP* and *snoop*: a radio of 2 Mbit/s behind a LAN (2 ms) or a WAN (70 ms); with *handoffs* a second of eight is cut off."
        " *Thin return*: 10 Mbit/s down, a line with a queue of 10 ACKs up, a window of 128 kB. Targets R1 to R10 compare factors with the quoted ones."
    ),
    ("systems", "where", "Mbit/s", "factor over none"),
    _rows,
    ("related",),
)
