"""A geostationary satellite, as the transport evaluations of the IETF have it: clean, lossy, lopsided, and with a proxy.

Rates, losses and the round trip are those of draft-kuhn-quic-4-sat-06, which the study `satellite-objectives` compares with its limits in
seconds; RFC 9959 (careful resume) names the same kind of path.
"""

from __future__ import annotations

from typing import Any

from ..scenario import Scenario
from .measures import goodput, left_to, loss, page_time, queueing, time, together
from .model import START, Entry, Scale, Situation, Suite, tcp

#: One way, in ms: hosts and gateways add nothing.
DELAY_MS = 325
#: A run with a transfer ends after so many seconds.
LIMIT_S = 120


def satellite(
    name: str,
    down: float,
    up: float,
    *,
    loss: float = 0.0,
    length: str,
    ends: tuple[str, str] = ("hub", "terminal"),
    warmup: str = "0 s",
) -> Scenario:
    """A satellite link with these rates in Mbit/s, and queues of a bandwidth-delay product; `loss` acts both ways."""
    lossy: dict[str, Any] = {"loss": {"kind": "random", "probability": loss}} if loss else {}
    return Scenario(name, duration=length, warmup=warmup, sample="1 s").link(
        "satellite", *ends, delay=f"{DELAY_MS} ms",
        forward={"rate": f"{down:g} Mbit/s", "queue": "1 bdp", **lossy},
        reverse={"rate": f"{up:g} Mbit/s", "queue": "1 bdp", **lossy},
    )  # fmt: skip


def transfer(
    name: str, title: str, down: float, up: float, size: str, asks: str, *, loss_rate: float = 0.0, upload: bool = False
) -> Situation:
    """One transfer of a size over the link; with `upload` towards the hub."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        ends = ("terminal", "hub") if upload else ("hub", "terminal")
        return satellite(title, down, up, loss=loss_rate, length=f"{LIMIT_S} s").flow(
            *ends, name="candidate", tcp=tcp(entry), start=START, app={"kind": "bulk", "size": size}
        )

    return Situation(name, title, make, (time(LIMIT_S), loss()), asks)


def endless(name: str, title: str, down: float, up: float, asks: str, *, loss_rate: float = 0.0) -> Situation:
    """One download without an end, after its start: what of the link it has, and what it makes of the queue."""

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = satellite(title, down, up, loss=loss_rate, length=scale.seconds(200), warmup=scale.seconds(60))
        return made.flow("hub", "terminal", name="candidate", tcp=tcp(entry), start=START)

    return Situation(name, title, make, (goodput(), queueing("satellite.forward", least=0.02), loss()), asks, weight=2)


def with_proxy(entry: Entry, scale: Scale) -> Scenario:
    """Both ends speak CUBIC; over the satellite a split connection has the candidate."""
    made = satellite("With a proxy between", 50, 10, loss=0.001, length=f"{LIMIT_S} s")
    made = made.link("server-side", "server", "hub", rate="1 Gbit/s", delay="10 ms")
    made = made.link("client-side", "terminal", "client", rate="1 Gbit/s", delay="1 ms")
    long = {"variant": "linux", **entry.settings}
    made = made.middlebox("hub", "split", peer="terminal", buffer="16 MB", connections="per_flow", long=long)
    return made.flow(
        "server", "client", name="candidate", tcp=tcp("cubic"), start=START, app={"kind": "bulk", "size": "10 MB"}
    )


def shared(rival: str) -> Situation:
    """A download of the candidate and one of somebody else."""
    title = f"Beside a download of {rival}"

    def make(entry: Entry, scale: Scale) -> Scenario:
        made = satellite(title, 50, 10, length=scale.seconds(200), warmup=scale.seconds(60))
        made = made.flow("hub", "terminal", name="candidate", tcp=tcp(entry), start=START)
        return made.flow("hub", "terminal", name=rival, tcp=tcp(rival), start=START)

    return Situation(
        f"beside-{rival}", title, make, (left_to(rival, rival), together(50e6, ("candidate", rival))),
        f"50/10 Mbit/s, shared with {rival} for as long as the run: what each has.", weight=2,
    )  # fmt: skip


def pages(entry: Entry, scale: Scale) -> Scenario:
    """Pages that are read while the candidate downloads."""
    made = satellite("Pages beside it", 50, 10, length=scale.seconds(200), warmup=scale.seconds(40))
    made = made.flow("hub", "terminal", name="candidate", tcp=tcp(entry), start=START)
    web = {"kind": "web", "think": {"exponential": "5 s"}, "objects": 20, "object": "50 kB", "persistent": True}
    return made.flow(
        "terminal", "hub", name="pages", count=3, tcp=tcp("cubic"), start={"uniform": ["0 s", "5 s"]}, app=web
    )


SUITE = Suite(
    "ietf-satellite",
    "Geostationary satellite",
    "How does it do over a geostationary satellite: clean, with losses, with a thin return link, with a proxy, and beside others?",
    "Paths of draft-kuhn-quic-4-sat-06 (round trip 650 ms)",
    (
        transfer("clean-10MB", "50/10 Mbit/s, 10 MB", 50, 10, "10 MB", "No loss but that of the queue: how fast does it start?"),
        transfer("clean-100MB", "50/10 Mbit/s, 100 MB", 50, 10, "100 MB", "No loss but that of the queue: does it fill the link?"),
        transfer("loss-10MB", "250/3 Mbit/s, 1 % loss, 10 MB", 250, 3, "10 MB", "One packet of a hundred is lost, both ways.", loss_rate=0.01),
        transfer("loss-100MB", "250/3 Mbit/s, 1 % loss, 100 MB", 250, 3, "100 MB", "The same for 100 MB.", loss_rate=0.01),
        transfer("lopsided-100MB", "250/3 Mbit/s, 100 MB", 250, 3, "100 MB", "ACKs have an eightieth of the rate."),
        transfer("thin-return-10MB", "50/0.5 Mbit/s, 10 MB", 50, 0.5, "10 MB", "ACKs have a hundredth of the rate."),
        transfer("upload-10MB", "10/2 Mbit/s, 10 MB up", 10, 2, "10 MB", "A transfer from the terminal.", upload=True),
        Situation(
            "proxy-10MB", "A proxy at both ends, 0.1 % loss, 10 MB", with_proxy, (time(LIMIT_S),),
            "Both hosts have CUBIC; the candidate carries the split connection over the satellite.",
        ),
        endless("endless", "50/10 Mbit/s, no end", 50, 10, "What of the link does it have in the long run, and how full is the queue?"),
        endless("endless-loss", "50/10 Mbit/s, 1 % loss, no end", 50, 10, "The same with random losses both ways.", loss_rate=0.01),
        shared("cubic"),
        shared("reno"),
        Situation("pages", "Pages beside it", pages, (page_time(), goodput()), "Three readers of pages behind the same link.", weight=2),
    ),
    without="the limits in seconds of the draft and QUIC, which are in the study satellite-objectives; careful resume.",
)  # fmt: skip
