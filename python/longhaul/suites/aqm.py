"""Queues by the scenarios of RFC 7928, sections 5 to 9: here the candidate is a queue discipline."""

from __future__ import annotations

from typing import Any

from ..scenario import Scenario
from .measures import drops, goodput, opinion, page_time, queueing, ratio, utilisation
from .model import START, Entry, Measure, Scale, Situation, Suite, tcp

#: Of the bottleneck; the round trip is 100 ms, as RFC 7928 has it where nothing else is asked, and every queue holds so much.
RATE, ROOM = "10 Mbit/s", "250 ms"
_QUEUE = (queueing("bottleneck.forward", behind=False), utilisation("bottleneck.forward"))


def bottleneck(
    entry: Entry, title: str, length: str, warmup: str, delay: str = "50 ms", rate: str = RATE, **more: Any
) -> Scenario:
    """A link with the queue at both ends."""
    queue = {"limit": ROOM, **entry.settings}
    made = Scenario(title, duration=length, warmup=warmup, sample="1 s")
    return made.link("bottleneck", "left", "right", rate=rate, delay=delay, queue=queue, **more)


def _bulk(made: Scenario, name: str, control: str, count: int = 1, **more: Any) -> Scenario:
    return made.flow("left", "right", name=name, count=count, tcp=tcp(control), start=START, **more)


def level(name: str, title: str, flows: int, section: str, control: str = "reno", delay: str = "50 ms") -> Situation:
    """So many long flows of a kind."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        return _bulk(bottleneck(entry, title, scale.seconds(120), scale.seconds(30), delay), "bulk", control, flows)

    asks = f"{flows} long flows of {control}, RFC 7928 section {section}; the number of flows is ours."
    return Situation(name, title, make, (*_QUEUE, drops("bottleneck.forward")), asks)


def aggressive(entry: Entry, scale: Scale) -> Scenario:
    made = _bulk(bottleneck(entry, "CUBIC beside Reno", scale.seconds(120), scale.seconds(30)), "reno", "reno")
    return _bulk(made, "cubic", "cubic")


def unresponsive(entry: Entry, scale: Scale) -> Scenario:
    made = _bulk(bottleneck(entry, "UDP that does not yield", scale.seconds(120), scale.seconds(30)), "reno", "reno")
    app = {"kind": "cbr", "message": "1400 B", "rate": "12 Mbit/s"}
    return made.flow("left", "right", name="flood", transport="udp", start=START, app=app)


def round_trips(entry: Entry, scale: Scale) -> Scenario:
    made = bottleneck(entry, "Round trips of 20 and 200 ms", scale.seconds(180), scale.seconds(60), "5 ms")
    made = made.link("near", "right", "close", rate="1 Gbit/s", delay="5 ms").link(
        "far", "right", "away", rate="1 Gbit/s", delay="95 ms"
    )
    made = made.flow("left", "close", name="close", tcp=tcp("reno"), start=START)
    return made.flow("left", "away", name="away", tcp=tcp("reno"), start=START)


_WEB = {"kind": "web", "think": {"exponential": "5 s"}, "objects": 20, "object": "50 kB", "persistent": True}
_VOICE = {"kind": "cbr", "message": "160 B", "rate": "64 kbit/s", "voice": True}


def mix(title: str, bulk: int, pages: int) -> Any:
    """Downloads, pages, and a call in one queue."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = _bulk(bottleneck(entry, title, scale.seconds(180), scale.seconds(30)), "bulk", "cubic", bulk)
        start = {"uniform": ["0 s", "10 s"]}
        made = made.flow("right", "left", name="pages", count=pages, tcp=tcp("cubic"), start=start, app=_WEB)
        return made.flow("left", "right", name="call", transport="udp", start=START, app=_VOICE)

    return make


def changing_load(entry: Entry, scale: Scale) -> Scenario:
    made = _bulk(bottleneck(entry, "Load that comes and goes", "120 s", "20 s"), "steady", "reno", 2)
    return made.flow(
        "left", "right", name="burst", count=20, tcp=tcp("reno"), start={"uniform": ["40 s", "41 s"]}, stop="80 s"
    )


def changing_rate(entry: Entry, scale: Scale) -> Scenario:
    steps = [{"at": f"{20 * step} s", "rate": "10 Mbit/s" if step % 2 else "100 Mbit/s"} for step in range(1, 6)]
    made = bottleneck(entry, "Rate that comes and goes", "120 s", "10 s", rate="100 Mbit/s", changes=steps)
    return _bulk(made, "bulk", "reno", 4)


_APPLICATIONS = (page_time(), opinion(), goodput("bulk", "goodput of downloads"), queueing("bottleneck.forward"))
_LEFT = Measure("goodput of reno", "group.reno.goodput_bps", "bit/s", always=True)

SUITE = Suite(
    "aqm",
    "Queues by RFC 7928",
    "How long do packets wait, how much of the link is used, and who gets what?",
    "RFC 7928, sections 5 to 9",
    (
        level("friendly", "Two Reno flows", 2, "5.1"),
        Situation(
            "aggressive", "CUBIC beside Reno", aggressive, (ratio("cubic", "reno", "evenness"), *_QUEUE),
            "RFC 7928 section 5.2: how even are a standard flow and a more aggressive one?",
        ),
        Situation(
            "unresponsive", "UDP of 12 Mbit/s beside Reno", unresponsive, (_LEFT, queueing("bottleneck.forward", behind=False)),
            "RFC 7928 section 5.3: what is left to a flow that yields?",
        ),
        Situation(
            "round-trips", "Round trips of 20 and 200 ms", round_trips, (ratio("away", "close", "evenness"), *_QUEUE),
            "RFC 7928 section 6: how even are two Reno flows of different round trips?", weight=1.5,
        ),
        Situation(
            "bursts", "Pages and a call beside a download", mix("Bursts", 1, 5), _APPLICATIONS,
            "RFC 7928 section 7: bursts of pages and a call meet the queue of one download.", weight=1.5,
        ),
        level("mild", "Mild congestion, 4 flows", 4, "8.2.2"),
        level("medium", "Medium congestion, 16 flows", 16, "8.2.3"),
        level("heavy", "Heavy congestion, 64 flows", 64, "8.2.4"),
        Situation(
            "changing-load", "20 flows come and go", changing_load, _QUEUE, "RFC 7928 section 8.2.5: 20 flows join 2 for 40 s.",
        ),
        Situation(
            "changing-rate", "100 and 10 Mbit/s in turn", changing_rate, _QUEUE,
            "RFC 7928 section 8.2.6: every 20 s the rate falls to a tenth, or comes back.", weight=3,
        ),
        level("satellite", "Round trip of 600 ms, 4 flows", 4, "8", "cubic", "300 ms"),
        Situation(
            "mix", "Mix of downloads, pages and a call", mix("Mix", 5, 10), _APPLICATIONS,
            "RFC 7928 section 9: all kinds of traffic at once.", weight=1.5,
        ),
    ),
    beside=("droptail", "fq_codel", "codel", "pie"),
    kind="queue",
    without="senders that yield to all others (section 5.4), ECN (section 10.1 and after), and queues one after the other.",
)  # fmt: skip
