"""Paths that move: satellites in low orbit from their geometry, a link that follows a table, and handovers with losses."""

from __future__ import annotations

from importlib import resources
from typing import Any

from ..scenario import Scenario
from .measures import goodput, left_to, loss, opinion, queueing, ratio, time, together
from .model import START, Entry, Scale, Situation, Suite, tcp

#: The made table of the example `trace`: slots of 15 s with rates and delays of their own.
_TABLE = str(resources.files("longhaul") / "examples" / "trace-link.csv")
#: A run with a transfer ends after so many seconds.
LIMIT_S = 90
#: As the example `leo-geometry`: Starlink's first shell over Kiel, which was compared with a dish (docs/satellites.md).
_GEOMETRY = {
    "constellation": "starlink",
    "terminal": {"latitude": 54.3, "longitude": 10.2},
    "gateway": {"latitude": 51.1, "longitude": 8.4},
    "choice": "random",
    "phase": "12 s",
    "processing": "8 ms",
    "handover": "50 ms",
}


def over_orbits(title: str, length: str, warmup: str = "0 s", down: float = 150, up: float = 15) -> Scenario:
    """A link whose delay and handovers follow from the constellation, with rates in Mbit/s."""
    return Scenario(title, duration=length, warmup=warmup, sample="1 s").link(
        "dish", "ground", "terminal", leo=_GEOMETRY,
        forward={"rate": f"{down:g} Mbit/s", "queue": "600 packets"}, reverse={"rate": f"{up:g} Mbit/s", "queue": "200 packets"},
    )  # fmt: skip


def over_table(title: str, length: str, warmup: str = "0 s") -> Scenario:
    """A link whose rate and delay follow a table."""

    def follows(column: str) -> dict[str, Any]:
        return {
            "queue": "400 packets",
            "trace": {"rate": {"file": _TABLE, "column": column}, "delay": {"file": _TABLE, "column": "delay_ms"}},
        }

    made = Scenario(title, duration=length, warmup=warmup, sample="1 s")
    return made.link("dish", "ground", "terminal", forward=follows("down_mbps"), reverse=follows("up_mbps"))


def with_breaks(title: str, length: str, warmup: str = "0 s") -> Scenario:
    """Every 15 s a break of 100 ms in which packets are lost, another delay after it, and a packet of 2000 lost beside."""
    slots = range(1, 20)
    delays = (28, 17, 33, 20, 24, 36, 19)
    return Scenario(title, duration=length, warmup=warmup, sample="1 s").link(
        "dish", "ground", "terminal", delay="20 ms", loss=0.0005,
        forward={"rate": "150 Mbit/s", "queue": "600 packets"}, reverse={"rate": "15 Mbit/s", "queue": "200 packets"},
        outages=[{"start": f"{15 * slot} s", "duration": "100 ms"} for slot in slots],
        changes=[{"at": f"{15 * slot} s", "delay": f"{delays[slot % len(delays)]} ms"} for slot in slots],
    )  # fmt: skip


def over_profile(title: str, length: str, warmup: str = "0 s") -> Scenario:
    """A link as measurements of Starlink have it: the profile of that name."""
    made = Scenario(title, duration=length, warmup=warmup, sample="1 s")
    return made.link("dish", "ground", "terminal", profile="starlink")


def endless(name: str, title: str, over: Any, asks: str) -> Situation:
    """A download without an end."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        made: Scenario = over(title, scale.seconds(180), "10 s")
        return made.flow("ground", "terminal", name="candidate", tcp=tcp(entry), start=START)

    return Situation(name, title, make, (goodput(), queueing("dish.forward"), loss()), asks, weight=2)


def transfer(size: str) -> Situation:
    """A transfer that begins somewhere between two handovers."""
    title = f"{size} over orbits"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = over_orbits(title, f"{LIMIT_S} s")
        start = {"uniform": ["0 s", "15 s"]}
        return made.flow(
            "ground", "terminal", name="candidate", tcp=tcp(entry), start=start, app={"kind": "bulk", "size": size}
        )

    return Situation(
        f"transfer-{size.replace(' ', '')}",
        title,
        make,
        (time(LIMIT_S - 15),),
        f"{size}, begun at any time between two handovers.",
    )


def upload(entry: Entry, scale: Scale) -> Scenario:
    """A transfer from the terminal without an end."""
    made = over_orbits("Upload over orbits", scale.seconds(180), "10 s")
    return made.flow("terminal", "ground", name="candidate", tcp=tcp(entry), start=START)


def shared(rival: str) -> Situation:
    """A download of the candidate and one of somebody else."""
    title = f"Beside a download of {rival}"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = over_orbits(title, scale.seconds(180), "10 s")
        made = made.flow("ground", "terminal", name="candidate", tcp=tcp(entry), start=START)
        return made.flow("ground", "terminal", name=rival, tcp=tcp(rival), start=START)

    return Situation(
        f"beside-{rival}",
        title,
        make,
        (left_to(rival, rival), together(150e6, ("candidate", rival))),
        f"150/15 Mbit/s over orbits, shared with {rival}.",
        weight=2,
    )


def itself(entry: Entry, scale: Scale) -> Scenario:
    """Two downloads of the candidate, the second 20 s after the first."""
    made = over_orbits("A second one of its kind", scale.seconds(180), scale.seconds(60))
    made = made.flow("ground", "terminal", name="candidate", tcp=tcp(entry), start=START)
    return made.flow("ground", "terminal", name="second", tcp=tcp(entry), start={"uniform": ["20 s", "21 s"]})


def call(entry: Entry, scale: Scale) -> Scenario:
    """A call beside a download of the candidate."""
    made = over_orbits("A call beside it", scale.seconds(180), "10 s")
    made = made.flow("ground", "terminal", name="candidate", tcp=tcp(entry), start=START)
    voice = {"kind": "cbr", "message": "160 B", "rate": "64 kbit/s", "voice": True}
    return made.flow("ground", "terminal", name="call", transport="udp", start=START, app=voice)


SUITE = Suite(
    "leo",
    "Low orbit",
    "How does it do where the satellite changes every 15 s, delays jump and packets are lost at handovers?",
    "The profile starlink, the examples leo-geometry (compared with a dish) and trace, the breaks of docs/cookbook.md",
    (
        endless("profile", "Download over the profile starlink", over_profile, "Rates, delays and breaks wander as measured ones (docs/profiles.md)."),
        endless("orbits", "Download over orbits", over_orbits, "150/15 Mbit/s; delay and handovers of 50 ms follow from the constellation."),
        endless("table", "Download over a table", over_table, "Rate and delay follow a table: slots of 15 s, waves on both."),
        endless("breaks", "Download over breaks, 0.05 % loss", with_breaks, "Each 15 s a break of 100 ms and another delay; some packets are lost."),
        transfer("2 MB"),
        transfer("50 MB"),
        Situation(
            "upload", "Upload over orbits", upload, (goodput(), queueing("dish.reverse")), "15 Mbit/s from the terminal.", weight=2
        ),
        shared("cubic"),
        shared("reno"),
        Situation(
            "itself", "A second one of its kind", itself, (ratio("second", "candidate", "evenness"),),
            "Two of a kind, the second 20 s later: how even are they?", weight=2,
        ),
        Situation("call", "A call beside it", call, (opinion(), goodput()), "A call of 64 kbit/s over UDP behind the same queue.", weight=2),
    ),
    without="rates that follow from the elevation, obstructions, and routes that change.",
)  # fmt: skip
