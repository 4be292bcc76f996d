"""Headlines on losses: what is sent at a loss rate, and what random loss costs each congestion control."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longhaul.scenario import Scenario

from ..model import Case
from ..results import Results
from ..split_pep import related as quoted
from ..verdict import Judgement, band, holds
from .headline import Headline, Runs, alike, more, rates, shown
from .scenarios import GEO_MS, GOODPUT, LINUX, MBPS, OLD, TIME, TIMEOUTS, at_loss, download, every, lossy, path

_PER_RTT = "group.download.packets_per_rtt"


def _response(congestion: str, packets: int) -> Scenario:
    """One flow over a link of 1 Gbit/s and 100 ms that loses one packet in so many."""
    return download(
        path(congestion, 1000, 100, seconds=300, warmup=60, **every(packets)), OLD | {"congestion": congestion}
    )


def _at(
    congestion: str, loss: float, *, mbps: float = 100, rtt: float = 100, seconds: float = 60, **tcp: Any
) -> Scenario:
    """One Linux flow at a random loss, from its start."""
    return download(
        path(f"{congestion}, {loss:g}", mbps, rtt, seconds=seconds, **lossy(loss)),
        LINUX | {"congestion": congestion, **tcp},
    )


def _older(congestion: str, loss: float, mbps: float, rtt: float) -> Scenario:
    """One flow of about 2000 at a random loss, for 200 s after 20."""
    tcp = OLD | {"congestion": congestion}
    if congestion == "hybla":
        tcp |= quoted.HYBLA
    return download(path(f"{congestion}, {loss:g}", mbps, rtt, seconds=220, warmup=20, **lossy(loss)), tcp)


_LOSSES = (0.001, 0.01)
_RTTS = (25, 100, 300, 600)


def _independent(runs: Runs) -> Judgement:
    return alike(runs, {f"{rtt} ms": f"{rtt} ms" for rtt in _RTTS}, GOODPUT, 0.2, MBPS, "Mbit/s")


def _insensitive(runs: Runs) -> Judgement:
    """What each keeps at 0.1 and 1 % of what it has without loss."""
    kept = {
        (control, loss): runs.mean(f"{control}, {at_loss(loss)}", GOODPUT) / runs.mean(f"{control}, {at_loss(0)}", GOODPUT)
        for control in ("westwood", "reno") for loss in _LOSSES
    }  # fmt: skip
    text = ", ".join(f"{control} {100 * share:.0f} % at {100 * loss:g} %" for (control, loss), share in kept.items())
    checks = {f"more than Reno at {100 * loss:g} %": kept["westwood", loss] > kept["reno", loss] for loss in _LOSSES}
    checks |= {f"half at {100 * loss:g} %": kept["westwood", loss] >= 0.5 for loss in _LOSSES}
    return holds(checks, text)


def _superior(runs: Runs) -> Judgement:
    pairs = {at_loss(loss): (f"hybla, {at_loss(loss)}", f"standard, {at_loss(loss)}") for loss in (0, *_LOSSES)}
    return more(runs, GOODPUT, {f"with {name}": pair for name, pair in pairs.items()}, MBPS, "Mbit/s")


def _several(runs: Runs) -> Judgement:
    """Timeouts and times with Reno and with SACK."""
    reno, sack = (runs.mean(one, TIMEOUTS) for one in ("reno", "sack"))
    text = ", ".join(
        f"{one} {shown(runs.each(one, TIMEOUTS))} timeouts and {shown(runs.each(one, TIME))} s"
        for one in ("reno", "sack")
    )
    return holds(
        {
            "Reno times out": reno >= 1,
            "SACK does not": sack < 1,
            "SACK is faster": runs.mean("sack", TIME) < runs.mean("reno", TIME),
        },
        text,
    )


def _damaged(variant: str) -> Scenario:
    """2 MB over a satellite; five of twenty packets are lost behind the 400th, every fourth."""
    built = path(
        variant, 10, GEO_MS, seconds=120, forward={"loss": {"kind": "periodic", "first": 400, "every": 4, "count": 5}}
    )
    return download(built, OLD | {"variant": variant}, "2 MB")


#: The points of the study of a split connection that each of its quoted factors reads.
_POINTS: dict[str, dict[str, tuple[object, ...]]] = {
    "R1": {"part": ("satellite",), "system": ("none",), "rtt": (50, 600), "loss": (0.01,)},
    "R2": {"part": ("satellite",), "system": ("none", "split", "PEPsal"), "rtt": (600,)},
    "R4": {"part": ("radio",), "network": ("WAN",), "loss": (0.01,), "cells": (False,)},
    "R6": {"part": ("errors",), "errors": (1.5e-5,)},
    "R8": {"part": ("thin return",), "system": ("none", "filter")},
}


def _quotes(name: str) -> tuple[Callable[[str], list[Case]], Callable[[Results], Judgement]]:
    """The points and the comparison of a quoted factor in the study of a split connection."""
    found = next(target for target in quoted.TARGETS if target.id == name)

    def points(scale: str) -> list[Case]:
        return [
            case
            for case in quoted.related(scale)
            if all(case.parameters.get(key) in values for key, values in _POINTS[name].items())
        ]

    return points, found.judge


def _factor(over: dict[str, Any], under: dict[str, Any]) -> Callable[[Runs], str]:
    """The factor with its interval, in words."""
    return lambda runs: f"seed by seed {shown(runs.quoted(quoted.goodput, over, under))}"


_intervals = {
    "R1": _factor({"rtt": 50}, {"rtt": 600}),
    "R2": _factor({"system": "PEPsal", "loss": 0.01}, {"system": "PEPsal", "loss": 0.0}),
    "R4": _factor({"system": "I-TCP"}, {"system": "none"}),
    "R6": _factor({"system": "snoop"}, {"system": "none"}),
    "R8": _factor({"system": "filter", "baud": 9600}, {"system": "none", "baud": 9600}),
}
_THESIS = "the thesis of the split-pep study, which quotes it"


def _quoted(identity: str, name: str, paper: str, claim: str, assumed: str, read: str = _THESIS) -> Headline:
    points, judge = _quotes(name)
    return Headline(
        identity, paper, "as quoted in the thesis of split-pep, section 2", claim, read, {}, lambda runs: judge(runs.as_related()),
        assumed=assumed, reason=f"As {name} of split-pep. {quoted.REASONS[name]}" if name in quoted.REASONS else "", drawn=True, borrowed=points, kind="band",
        note=_intervals.get(name),
    )  # fmt: skip


HEADLINES = (
    Headline(
        "H13", "Allman, Glover, Sanchez 1999", "RFC 2488, sections 4.1.2 and 4.4",
        "if several segments of a window are lost, all but one usually wait for the timer without SACK, and with it they do not",
        "the RFC", {variant: _damaged(variant) for variant in ("reno", "sack")}, _several, kind="ordering",
        assumed="10 Mbit/s, 560 ms, 2 MB, of which five of twenty packets are lost",
    ),
    Headline(
        "H14", "Floyd 2003", "RFC 3649, section 2, table 1",
        "standard TCP has 10 Mbit/s at 100 ms with packets of 1500 B if 55.5 round trips lie between losses (a window of 83.3)",
        "the RFC", {"reno": _response("reno", 4629)},
        value=lambda runs: runs.each("reno", _PER_RTT), number=83.3, within=0.05, unit="packets",
        assumed="one packet of 4629 is lost, which is the unrounded 1.5 / 83.3^2",
    ),
    Headline(
        "H15", "Floyd 2003", "RFC 3649, as in RFC 9438, section 5.1, table 1",
        "HighSpeed TCP has a window of 263 packets at a loss rate of 1e-4 and 100 ms",
        "an earlier draft of RFC 9438", {"highspeed": _response("highspeed", 10_000)},
        value=lambda runs: runs.each("highspeed", _PER_RTT), number=263, within=0.1, unit="packets",
        assumed="losses at even distances",
    ),
    Headline(
        "H16", "Xu, Ha, Rhee, Goel, Eggert 2023", "RFC 9438, section 5.1, table 1",
        "CUBIC (C = 0.4) has a window of 187 packets at a loss rate of 1e-4 and 100 ms",
        "an earlier draft of the RFC", {"cubic": _response("cubic", 10_000)},
        value=lambda runs: runs.each("cubic", _PER_RTT), number=187, within=0.1, unit="packets",
        assumed="losses at even distances",
        reason="Fast convergence, which the formula leaves out, decides it: without it the window is 215. ACKs do not: with one for each packet it is 166.",
    ),
    Headline(
        "H17", "Cardwell, Swett, Beshay 2025", "draft-ietf-ccwg-bbr, section 2",
        "CUBIC sustains at most 3 Mbit/s at 1 % of loss and 100 ms",
        "the draft", {"cubic": _at("cubic", 0.01)},
        lambda runs: over_most(runs, 3), kind="band", drawn=True,
        assumed="100 Mbit/s, random loss, Linux as it comes",
    ),
    Headline(
        "H18", "Dumazet 2016", "netperf of the kernel's commit, as quoted on unix.stackexchange.com, 71051",
        "CUBIC has 3.27 Mbit/s at 1 % of loss and 100 ms",
        "the answer that quotes it", {"cubic": _at("cubic", 0.01, seconds=30)},
        value=lambda runs: runs.each("cubic", GOODPUT, MBPS), number=3.27, within=0.1, unit="Mbit/s", drawn=True,
        assumed="100 Mbit/s, 30 s as the command has; the link's rate does not limit CUBIC here",
        reason="Reno's response function, by which CUBIC goes at such windows, gives 1.4 Mbit/s. How the loss was made and which offloads were on is not in the text that was read.",
    ),
    Headline(
        "H19", "Dumazet 2016", "netperf of the kernel's commit, as quoted on unix.stackexchange.com, 71051",
        "BBR has 9150 of 10,000 Mbit/s at 1 % of loss and 100 ms: 91.5 % of the link",
        "the answer that quotes it", {"bbr": _at("bbr", 0.01, seconds=30)},
        value=lambda runs: runs.each("bbr", GOODPUT, MBPS), number=91.5, within=0.1, unit="% of the link", drawn=True, weight=3,
        assumed="100 Mbit/s in place of 10 Gbit/s: of 10 Gbit/s a run has 25 million packets",
    ),
    Headline(
        "H20", "Cardwell, Cheng, Gunn, Yeganeh, Jacobson 2016", "BBR, ACM Queue 14(5), figure 8",
        "CUBIC falls to a tenth at 0.1 % of random loss over 100 Mbit/s and 100 ms",
        "notes that quote it", {at_loss(loss): _at("cubic", loss) for loss in (0, 0.001)},
        value=lambda runs: runs.ratios(at_loss(0), at_loss(0.001), GOODPUT), number=10, within=0.25, unit="times less", drawn=True, weight=3,
        note=lambda runs: rates(runs, at_loss(0), at_loss(0.001)),
        assumed="a queue of one bandwidth-delay product, 60 s from the start",
        reason="A loss of 0.1 % leaves CUBIC what its response function gives. Queue, length of a run and kernel were not in the text that was read.",
    ),
    Headline(
        "H21", "Cardwell, Cheng, Gunn, Yeganeh, Jacobson 2016", "BBR, ACM Queue 14(5), figure 8",
        "CUBIC totally stalls above 1 % of loss over the same link",
        "notes that quote it", {"cubic": _at("cubic", 0.02)},
        lambda runs: over_most(runs, 1), kind="band", drawn=True,
        assumed="2 % of loss; 1 Mbit/s of the 100 counts as stalled",
    ),
    Headline(
        "H22", "Fu, Liew 2003", "TCP Veno, abstract",
        "Veno has up to 80 % more throughput than Reno at 1 % of random loss in wireless access networks",
        "the abstract",
        {one: _older(one, 0.01, 2, 100) for one in ("reno", "veno")},
        value=lambda runs: runs.ratios("veno", "reno", GOODPUT), number=1.8, within=0.25, unit="times", drawn=True,
        note=lambda runs: rates(runs, "veno", "reno"),
        assumed="2 Mbit/s, 100 ms, a queue of one bandwidth-delay product, SACK",
        reason="Rates, round trips and queues were not in the text that was read.",
    ),
    Headline(
        "H23", "Caini, Firrincieli 2004", "TCP Hybla, abstract",
        "Hybla is superior to standard TCP over a satellite in all cases: without loss of the link and with it",
        "the abstract",
        {f"{one}, {at_loss(loss)}": _older("reno" if one == "standard" else one, loss, 10, 600) for one in ("hybla", "standard") for loss in (0, *_LOSSES)},
        _superior, kind="ordering", drawn=True, weight=2,
        assumed="10 Mbit/s, 600 ms, 0, 0.1 and 1 % of loss, alone; both with SACK, Hybla with the timestamps, pacing and estimated threshold that its authors ask for",
        reason="Without loss both fill the link but for the start. Without the estimated threshold, which was tried, Hybla has 6.14 Mbit/s there.",
    ),
    Headline(
        "H24", "Caini, Firrincieli 2004", "TCP Hybla, abstract",
        "Hybla removes the dependence on the round trip",
        "the abstract", {f"{rtt} ms": _older("hybla", 0.01, 10, rtt) for rtt in _RTTS},
        _independent, kind="trend", drawn=True, weight=2,
        assumed="10 Mbit/s, 1 % of loss, at which the link is never full, 25 to 600 ms; \"removes\" is a spread of at most a fifth",
        reason="The estimated threshold, which the authors ask for, has to do with it: without it, which was tried, Hybla has 4.50 to 4.81 Mbit/s, a spread of 7 %. How it acts long after the start is not known.",
    ),
    Headline(
        "H25", "Casetti, Gerla, Mascolo et al. 2002", "TCP Westwood, abstract",
        "Westwood is not very sensitive to random errors; Reno is",
        "the abstract", {f"{one}, {at_loss(loss)}": _older(one, loss, 2, 100) for one in ("westwood", "reno") for loss in (0, *_LOSSES)},
        _insensitive, kind="ordering", drawn=True,
        assumed="2 Mbit/s, 100 ms; \"not very sensitive\" is half of the throughput without loss at 1 %; Westwood+ as Linux has it",
    ),
    _quoted("H26", "R1", "Caini, Firrincieli, Lacamera 2006", "end-to-end TCP loses up to 10 times from 50 to 600 ms (PEPsal)", "10 Mbit/s, 1 % of loss"),
    _quoted("H27", "R2", "Caini, Firrincieli, Lacamera 2006", "PEPsal is hardly affected by errors", "10 Mbit/s, 600 ms, 1 % of loss; four fifths are hardly affected"),
    _quoted("H28", "R4", "Bakre, Badrinath 1995", "I-TCP has 100 % more over a WAN", "a radio of 2 Mbit/s behind 35 ms, 1 % of loss"),
    _quoted(
        "H29", "R6", "Balakrishnan, Seshan, Amir, Katz 1995", "snoop has up to 20 times the throughput of regular TCP, at a bit error rate of 1.5e-5",
        "a radio of 2 Mbit/s behind 35 ms, a cache of 20 packets", "the abstract, and " + _THESIS,
    ),
    _quoted("H30", "R8", "Balakrishnan, Padmanabhan, Katz 1997", "ACK filtering has 2 to 4 times the throughput over a thin return line", "10 Mbit/s down, 9,600 and 28,800 bit/s up"),
)  # fmt: skip


def over_most(runs: Runs, most: float) -> Judgement:
    """CUBIC's mean goodput in Mbit/s, which is at most so much; a quarter above it is partly."""
    rates = runs.each("cubic", GOODPUT, MBPS)
    judged = band(sum(rates) / len(rates), 0, most, margin=most / 4, unit="Mbit/s")
    return Judgement(judged.verdict, f"{shown(rates)} Mbit/s", judged.tolerance)
