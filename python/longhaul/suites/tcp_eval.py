"""The common TCP evaluation suite of the IRTF: draft-irtf-iccrg-tcpeval-01.

Networks, rates, delays and buffers are the draft's. Its traffic comes from traces of a campus (Tmix), which are not here: endless flows
stand for them, and a change of load is one of UDP, as in its section 5.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..scenario import Scenario
from .measures import drops, goodput, queueing, ratio, time, together, utilisation
from .model import START, Entry, Measure, Scale, Situation, Suite, tcp

#: One-way delays of the edge links at both sides in ms (section 4.1).
_LEFT, _RIGHT = (0, 12, 25), (2, 37, 75)
#: When a run with a late flow has settled, in s.
_SETTLED = 40


def dumbbell(
    title: str, length: str, warmup: str, *, edge: str, left: Any = _LEFT, right: Any = _RIGHT, **central: Any
) -> Scenario:
    """Three nodes at each side of a central link; data go from the right to the left, as in the draft."""
    made = Scenario(title, duration=length, warmup=warmup, sample="1 s").link("central", "r1", "r2", **central)
    for number, delay in enumerate(left, 1):
        made = made.link(f"left{number}", f"n{number}", "r1", rate=edge, delay=f"{delay} ms")
    for number, delay in enumerate(right, 4):
        made = made.link(f"right{number}", "r2", f"n{number}", rate=edge, delay=f"{delay} ms")
    return made


def basic(name: str, title: str, asks: str, whole: float, weight: float, pairs: int = 9, **network: Any) -> Situation:
    """A basic scenario (section 4.4): a flow between each two nodes, with the metrics of section 4.5."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = dumbbell(title, scale.seconds(whole), scale.seconds(whole / 3), **network)
        ends = [(left, right) for left in (1, 2, 3) for right in (4, 5, 6)]
        for left, right in ends[:: 9 // pairs]:
            made = made.flow(f"n{right}", f"n{left}", name=f"path{left}{right}", tcp=tcp(entry), start=START)
        return made

    measures = (utilisation("central.reverse"), queueing("central.reverse", behind=False), drops("central.reverse"))
    return Situation(name, title, make, measures, asks, weight=weight)


def two(title: str, length: str, warmup: str, rate: str, trips: tuple[int, int]) -> Scenario:
    """Two paths of these round trips in ms over one link, whose buffer takes 80 ms (table 8)."""
    made = Scenario(title, duration=length, warmup=warmup, sample="1 s").link(
        "central", "r1", "r2", rate=rate, delay="2 ms", queue="80 ms"
    )
    for name, trip in zip(("a", "b"), trips, strict=True):
        made = made.link(f"edge-{name}", "r2", f"to-{name}", rate="1 Gbit/s", delay=f"{trip / 2 - 2:g} ms")
    return made


def ramp_up(name: str, rate: str, trips: tuple[int, int], size: str, limit: float, weight: float) -> Situation:
    """A transfer of a size that begins beside a flow which has settled (section 5.2)."""
    title = f"A new flow, {rate}, RTT {trips[0]} and {trips[1]} ms"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = two(title, f"{_SETTLED + limit:g} s", "0 s", rate, trips)
        made = made.flow("r1", "to-a", name="settled", tcp=tcp(entry), start=START)
        start = {"uniform": [f"{_SETTLED} s", f"{_SETTLED + 1} s"]}
        return made.flow(
            "r1", "to-b", name="candidate", tcp=tcp(entry), start=start, app={"kind": "bulk", "size": size}
        )

    asks = f"Section 5.2: how long do the first {size} of a new flow take, where one of its kind has the link?"
    return Situation(name, title, make, (time(limit - 1),), asks, weight=weight)


def transient(kind: str) -> Callable[[Entry, Scale], Scenario]:
    """A flow of 100 ms over 100 Mbit/s, with UDP of 75 Mbit/s that ends, begins, or grows (section 5.3)."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        length = {"release": 80, "onset": 100, "growth": 100}[kind]
        made = Scenario(f"Transient: {kind}", duration=f"{length} s", warmup="60 s", sample="1 s")
        made = made.link("central", "r1", "r2", rate="100 Mbit/s", delay="50 ms", queue="1024 packets")
        made = made.flow("r1", "r2", name="candidate", tcp=tcp(entry), start=START)
        app = {"kind": "cbr", "message": "1400 B", "rate": "2.5 Mbit/s" if kind == "growth" else "75 Mbit/s"}
        every: dict[str, dict[str, Any]] = {
            "release": {"start": "0 s", "stop": "60 s"},
            "onset": {"start": "60 s"},
            "growth": {"start": {"spaced": "1 s", "first": "60 s"}, "count": 30},
        }
        return made.flow("r1", "r2", name="udp", transport="udp", app=app, **every[kind])

    return make


def impact(name: str, title: str, rate_bps: float, whole: float, weight: float) -> Situation:
    """Three flows of Reno and three of the candidate on the same paths (section 6.1)."""
    rate = f"{rate_bps / 1e6:g} Mbit/s"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = dumbbell(
            title,
            scale.seconds(whole),
            scale.seconds(whole / 3),
            edge="1 Gbit/s",
            rate=rate,
            delay="2 ms",
            queue="80 ms",
        )
        ends = [("n4", "n1"), ("n5", "n2"), ("n6", "n3")]
        for number, (source, sink) in enumerate(ends, 1):
            made = made.flow(source, sink, name=f"reno{number}", tcp=tcp("reno"), start=START)
            made = made.flow(source, sink, name=f"candidate{number}", tcp=tcp(entry), start=START)
        return made

    standard = together(1.0, [f"reno{number}" for number in (1, 2, 3)]).of
    measures = (
        Measure("goodput of reno", standard, "bit/s", like="reno", always=True),
        together(rate_bps, [f"{who}{number}" for who in ("reno", "candidate") for number in (1, 2, 3)]),
    )
    asks = (
        "Section 6.1: what do three standard flows lose to three of the candidate, beside three more of their own kind?"
    )
    return Situation(name, title, make, measures, asks, weight=weight)


def trips(first: int, second: int) -> Callable[[Entry, Scale], Scenario]:
    """Two flows of the candidate with these round trips in ms."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = two("Round trips", scale.seconds(180), scale.seconds(60), "10 Mbit/s", (first, second))
        made = made.flow("r1", "to-a", name="one", tcp=tcp(entry), start=START)
        return made.flow("r1", "to-b", name="other", tcp=tcp(entry), start=START)

    return make


def several_bottlenecks(entry: Entry, scale: Scale) -> Scenario:
    """A flow over three links in a row, and one over each of them (section 6.3)."""
    made = Scenario("Three bottlenecks", duration=scale.seconds(120), warmup=scale.seconds(40), sample="1 s")
    for number in (1, 2, 3):
        made = made.link(f"hop{number}", f"r{number}", f"r{number + 1}", rate="10 Mbit/s", delay="10 ms", queue="80 ms")
    made = made.flow("r1", "r4", name="candidate", tcp=tcp(entry), start=START)
    for number in (1, 2, 3):
        made = made.flow(f"r{number}", f"r{number + 1}", name=f"over{number}", tcp=tcp(entry), start=START)
    return made


_FREED = together(100e6, ["candidate"]).of
_DROPPED = Measure("loss of the UDP flow", "group.udp.loss_rate", "share", less=True, absolute=True, least=0.002)

SUITE = Suite(
    "tcp-eval",
    "Common TCP evaluation",
    "How does it do on the usual paths, when the load changes, and beside standard TCP?",
    "draft-irtf-iccrg-tcpeval-01",
    (
        basic(
            "access", "Access link, 100 Mbit/s", "Section 4.4.2, nine flows.", 60, 2,
            edge="100 Mbit/s", rate="100 Mbit/s", delay="2 ms", queue="100 ms",
        ),
        basic(
            "data-center", "Data center, 1 Gbit/s", "Section 4.4.1, nine flows.", 9, 4,
            edge="1 Gbit/s", left=(0.01, 0.01, 0.1), right=(0.01, 0.1, 0.1), rate="1 Gbit/s", delay="0 s", queue="10 ms",
        ),
        basic(
            "trans-oceanic", "Trans-oceanic, 1 Gbit/s, 65 ms", "Section 4.4.3, nine flows.", 30, 8,
            edge="1 Gbit/s", rate="1 Gbit/s", delay="65 ms", queue="100 ms",
        ),
        basic(
            "geostationary", "Geostationary, 40/4 Mbit/s", "Section 4.4.4, nine flows down.", 120, 2, edge="100 Mbit/s", delay="300 ms",
            reverse={"rate": "40 Mbit/s", "queue": "100 ms"}, forward={"rate": "4 Mbit/s", "queue": "1 s"},
        ),
        basic(
            "wireless", "Wireless access, 6 Mbit/s", "Section 4.4.5 at its nominal rate; jitter up to 4 ms and 0.1 % loss are ours.", 120, 1,
            edge="100 Mbit/s", rate="6 Mbit/s", delay="2 ms", queue="100 ms", jitter="4 ms", loss=0.001,
        ),
        basic(
            "dial-up", "Dial-up, 64 kbit/s", "Section 4.4.6, three flows.", 300, 0.2, pairs=3,
            edge="100 Mbit/s", rate="64 kbit/s", delay="5 ms", queue="1250 ms",
        ),
        ramp_up("ramp-up", "10 Mbit/s", (80, 80), "1.5 MB", 40, 1),
        ramp_up("ramp-up-short", "10 Mbit/s", (120, 30), "1.5 MB", 40, 1),
        ramp_up("ramp-up-long", "10 Mbit/s", (30, 120), "1.5 MB", 40, 1),
        ramp_up("ramp-up-fat", "1 Gbit/s", (80, 80), "15 MB", 10, 10),
        Situation(
            "release", "75 of 100 Mbit/s are freed", transient("release"), (Measure("in use in the 20 s after", _FREED, "share", absolute=True, least=0.02, always=True),),
            "Section 5.3: how much of 100 Mbit/s does it use in the 20 s after UDP of 75 Mbit/s has ended?", weight=2,
        ),
        Situation(
            "onset", "75 of 100 Mbit/s are taken", transient("onset"), (_DROPPED,),
            "Section 5.3: how much does UDP of 75 Mbit/s lose in its first 40 s?", weight=2,
        ),
        Situation(
            "growth", "75 of 100 Mbit/s are taken in 30 s", transient("growth"), (_DROPPED,),
            "Section 5.3: the same, where UDP grows by 2.5 Mbit/s in each second.", weight=2,
        ),
        impact("impact", "Three Reno flows beside it, 10 Mbit/s", 10e6, 120, 1),
        impact("impact-fat", "Three Reno flows beside it, 1 Gbit/s", 1e9, 30, 8),
        Situation(
            "even", "Two of a kind, RTT 80 ms", trips(80, 80), (ratio("one", "other", "evenness"),), "Section 6.2: how even are two of a kind?"
        ),
        Situation(
            "round-trips", "Two of a kind, RTT 30 and 120 ms", trips(30, 120), (ratio("one", "other", "evenness"),),
            "Section 6.2: how even are two of a kind whose round trips differ?",
        ),
        Situation(
            "bottlenecks", "Three bottlenecks in a row", several_bottlenecks, (goodput("candidate", "goodput over all three"),),
            "Section 6.3: what is left to the flow that crosses all three?",
        ),
    ),
    without="traffic of the draft's traces (Tmix), its three loads, and its sections 5.1 (queue sizes) and 6.4 (traces of one path).",
)  # fmt: skip
