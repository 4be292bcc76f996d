"""L4S by the six scenarios of heistp/l4s-tests (Heist and Morton): what a sender does in its dual queue, and to others in queues of RFC 3168.

Rates, delays, queues and lengths are those of the file `l4s.batch` there, whose runs were made with Linux and TCP Prague of 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..scenario import Scenario
from .measures import goodput, left_to, queueing, ratio, together, utilisation
from .model import START, Entry, Measure, Scale, Situation, Suite, tcp

#: Queues of the scenarios. A tunnel and a single queue are one queue for all flows; RED as tc makes it of `limit 400000 avpkt 1000`.
QUEUES: Mapping[str, dict[str, Any]] = {
    "dualpi2": {"kind": "dualpi2"},
    "fq_codel": {"kind": "fq_codel"},
    "fifo": {"kind": "droptail", "limit": "1000 packets"},
    "codel": {"kind": "fq_codel", "queues": 1},
    "pie": {"kind": "pie", "ecn": True, "limit": "1000 packets"},
    "red": {"kind": "red", "limit": "400 kB", "min_threshold": "33333 B", "max_threshold": "100 kB", "mean_packet": "1000 B", "max_p": 0.02},
}  # fmt: skip
#: Bytes that WireGuard adds to a packet over IPv4: IP 20, UDP 8, its own 32.
WIREGUARD = {"bytes": "60 B"}


def sender(entry: Entry | str, ecn: bool | str | None = None) -> dict[str, Any]:
    """Settings of a sender with ECN: every mark is reported to those that count them, else one in a round trip (RFC 3168)."""
    made = tcp(entry)
    control = made["congestion"]
    kind = control["kind"] if isinstance(control, Mapping) else control
    made.setdefault("ecn", "accurate" if kind in ("prague", "dctcp", "python") else True)
    return made if ecn is None else made | {"ecn": ecn}


def path(
    title: str, queue: str, length: str, warmup: str, trip: float, rate: str = "50 Mbit/s", **more: Any
) -> Scenario:
    """One bottleneck with a queue in both directions and a round trip in ms."""
    made = Scenario(title, duration=length, warmup=warmup, sample="1 s")
    return made.link("bottleneck", "left", "right", rate=rate, delay=f"{trip / 2:g} ms", queue=QUEUES[queue], **more)


# Scenario 1: round trips that are equal, and not.


def beside(number: str, title: str, queue: str, trip: float, asks: str, *, ecn: bool = True, **more: Any) -> Situation:
    """A flow of the candidate and one of CUBIC in one queue."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = path(title, queue, scale.seconds(180), scale.seconds(120), trip, **more)
        made = made.flow("left", "right", name="candidate", tcp=sender(entry), start=START)
        return made.flow("left", "right", name="cubic", tcp=sender("cubic", ecn), start=START)

    return Situation(number, title, make, (left_to("cubic", "cubic"), together(50e6, ("candidate", "cubic"))), asks)


def round_trips(queue: str, near: float, far: float, asks: str) -> Situation:
    """Two flows of the candidate with round trips of their own, in ms."""
    title = f"RTT {near:g} and {far:g} ms, {queue}"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = path(title, queue, scale.seconds(180), scale.seconds(120), near / 2)
        for name, trip in (("near", near), ("far", far)):
            delay = f"{(trip - near / 2) / 2:g} ms"
            made = made.link(name, "right", f"to-{name}", rate="1 Gbit/s", delay=delay)
            made = made.flow("left", f"to-{name}", name=name, tcp=sender(entry), start=START)
        return made

    name = f"1-{queue}-{near:g}-{far:g}"
    return Situation(name, title, make, (ratio("far", "near", "evenness"),), asks)


# Scenarios 2 and 3: a rate that changes under one flow.

#: A spike counts by its height and its length.
_RTT = Measure("mean RTT", "group.candidate.rtt_mean_s", "s", less=True, absolute=True, least=0.002)


def step(queue: str, rate: float, trip: float, asks: str) -> Situation:
    """The rate falls from 50 Mbit/s to `rate` after 30 s; measured from then on."""
    title = f"50 to {rate:g} Mbit/s, RTT {trip:g} ms, {queue}"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = path(title, queue, "60 s", "30 s", trip, changes=[{"at": "30 s", "rate": f"{rate:g} Mbit/s"}])
        return made.flow("left", "right", name="candidate", tcp=sender(entry), start=START)

    measures = (_RTT, queueing("bottleneck.forward", behind=False), goodput())
    return Situation(f"2-{queue}-{rate:g}-{trip:g}", title, make, measures, asks)


#: A wireless link before the bottleneck, which gathers packets: netem's `delay 200us slot 800us 5ms packets 32` there.
_AIR = {"least": "800 us", "distribution": "4.2 ms", "packets": 32}


def variable(queue: str, trip: float, asks: str, *, bursts: bool = False) -> Situation:
    """100, 50, 10, 90 and 5 Mbit/s one after the other; with `bursts` packets come to the bottleneck in these."""
    title = f"100 to 5 Mbit/s, RTT {trip:g} ms, {queue}{', bursts' if bursts else ''}"

    def make(entry: Entry, scale: Scale) -> Scenario:
        steps = [(25, 50), (30, 10), (35, 90), (50, 5)]
        changes = [{"at": f"{at} s", "rate": f"{rate} Mbit/s"} for at, rate in steps]
        made = path(title, queue, "60 s", "5 s", trip, "100 Mbit/s", changes=changes)
        if bursts:
            made = made.link("air", "station", "left", rate="1 Gbit/s", delay="200 us", slots=_AIR)
        begin = "station" if bursts else "left"
        return made.flow(begin, "right", name="candidate", tcp=sender(entry), start=START)

    used, waited = utilisation("bottleneck.forward"), queueing("bottleneck.forward", behind=False)
    measures = (used, _RTT, waited) if bursts else (_RTT, used, waited)
    return Situation(f"3-{queue}-{trip:g}{'-bursts' if bursts else ''}", title, make, measures, asks)


# Scenario 4: both ways at once.


def both_ways(queue: str, up: float, down: float, trip: float, asks: str) -> Situation:
    """Four flows in each direction and a probe in both (the test `rrul_be` of flent)."""
    title = f"4 up, 4 down, {up:g}/{down:g} Mbit/s, {queue}"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = Scenario(title, duration="60 s", warmup="10 s", sample="1 s")
        made = made.link(
            "access", "server", "client", delay=f"{trip / 2:g} ms",
            forward={"rate": f"{down:g} Mbit/s", "queue": QUEUES[queue]}, reverse={"rate": f"{up:g} Mbit/s", "queue": QUEUES[queue]},
        )  # fmt: skip
        made = made.flow("server", "client", name="down", count=4, tcp=sender(entry), start=START)
        made = made.flow("client", "server", name="up", count=4, tcp=sender(entry), start=START)
        probe = {"kind": "cbr", "message": "64 B", "rate": "2.56 kbit/s"}
        return made.flow("client", "server", name="probe", transport="udp", start=START, app=probe)

    wait = Measure(
        "delay of a probe, 95 %", "group.probe.one_way_delay_p95_s", "s", less=True, absolute=True, least=0.002
    )
    measures = (goodput("down", "goodput down"), goodput("up", "goodput up"), wait)
    return Situation(f"4-{queue}-{up:g}-{down:g}", title, make, measures, asks)


_HARM = "what is left to CUBIC in one queue for all flows, which marks as RFC 3168 has it?"
SUITE = Suite(
    "l4s",
    "L4S",
    "What do marks do to it: in a dual queue, in queues for each flow, and to others in one queue with them?",
    "heistp/l4s-tests (2020), scenarios 1 to 6",
    (
        beside("1-dualpi2-20", "Beside CUBIC, RTT 20 ms, dualpi2", "dualpi2", 20, "Scenario 1: who gets what in a dual queue?"),
        beside("1-dualpi2-80", "Beside CUBIC, RTT 80 ms, dualpi2", "dualpi2", 80, "Scenario 1, at 80 ms."),
        beside("1-fifo-20", "Beside CUBIC, RTT 20 ms, fifo", "fifo", 20, "Scenario 1: a queue that marks nothing."),
        round_trips("dualpi2", 20, 80, "Scenario 1: two of a kind, one four times as far."),
        round_trips("dualpi2", 10, 160, "Scenario 1: two of a kind, one sixteen times as far."),
        round_trips("fq_codel", 10, 160, "Scenario 1: the same with a queue for each."),
        step("fq_codel", 25, 80, "Scenario 2: half of the rate is left: how long do packets wait?"),
        step("fq_codel", 5, 80, "Scenario 2: a tenth of the rate is left."),
        step("dualpi2", 5, 80, "Scenario 2: a tenth of the rate is left, in a dual queue."),
        variable("fq_codel", 80, "Scenario 3: five rates in a minute."),
        variable("dualpi2", 20, "Scenario 3: five rates in a minute, in a dual queue."),
        variable("dualpi2", 20, "Scenario 3: the same, with packets that come in bursts of a wireless link.", bursts=True),
        both_ways("dualpi2", 1, 20, 20, "Scenario 4: transfers both ways, lopsided."),
        both_ways("fq_codel", 5, 100, 80, "Scenario 4: transfers both ways, lopsided, a queue for each flow."),
        beside("5-tunnel", "Beside CUBIC in one tunnel, fq_codel", "codel", 20, f"Scenario 5: flows in a WireGuard tunnel are one: {_HARM}", overhead=WIREGUARD),
        beside("6-codel", "Beside CUBIC, one CoDel queue", "codel", 20, f"Scenario 6: {_HARM}"),
        beside("6-pie", "Beside CUBIC, PIE", "pie", 20, f"Scenario 6: {_HARM}"),
        beside("6-red", "Beside CUBIC, RED", "red", 20, f"Scenario 6: {_HARM}"),
        beside("6-pie-drops", "Beside CUBIC without ECN, PIE", "pie", 20, f"Scenario 6: {_HARM} Its packets are dropped where others are marked.", ecn=False),
    ),
    beside=("cubic", "prague", "dctcp", "bbr3"),
    without="an approximately fair queue (cnq_codel_af), tunnels that drop what comes late.",
)  # fmt: skip
