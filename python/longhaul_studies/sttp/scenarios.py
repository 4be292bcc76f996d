"""The thesis's two topologies and its traffic as scenarios, and a path of today.

Rates in bit/s, times in seconds, packets with their headers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longhaul.scenario import Scenario

#: Section 2.1: packets of 1000 bytes with their 40 bytes of headers, a window of 20 packets, as ns-2 has them by default.
PACKET, HEADER, WINDOW = 1000, 40, 20
#: When the first source starts (section 3.2).
FIRST = 0.1
#: Weights of history and of the new sample (section 1.5).
WEIGHTS = {"9:1": 0.1, "5:5": 0.5, "1:9": 0.9}
#: Decision 1: R1 leaves the bottleneck of experiment 2 half empty with 50 sources, so R2.
SCALING = "ratio"
#: Section 5.2.2: what the thesis does with one lost probe, and what a deployment would do.
STRICT, RETRIES = 0, 5
#: The thesis has no timer of probes; it only suggests one. A probe that is not lost is waited for, however long a queue is.
UNTIMED: dict[str, Any] = {"timeout": "600 s"}
#: ns-2's clock of 1999: ticks of 100 ms, integers, one timed segment a round trip; at least two ticks.
NS2_TIMER: dict[str, Any] = {
    "initial": "6 s", "min": "200 ms", "max": "64 s", "granularity": "100 ms", "ticks": True, "one_sample_per_round": True,
}  # fmt: skip
#: The same settings by RFC 6298's formulas, a sample for each ACK: REAL's timer is not described.
PLAIN_TIMER: dict[str, Any] = {"initial": "6 s", "min": "200 ms", "max": "64 s", "granularity": "100 ms"}

Settings = Mapping[str, Any]


def sttp(
    *, weights: str = "5:5", window: int = WINDOW, probe: Settings | None = None, **settings: Any
) -> dict[str, Any]:
    """STTP: congestion control and the packet pair that opens the connection; `settings` are the parameters of `sttp`."""
    w_new = settings.pop("w_new", WEIGHTS[weights])
    congestion = {"kind": "sttp", "scaling": SCALING, "w_new": w_new, "peer_window": window, **settings}
    return {"congestion": congestion, "slow_start": {"kind": "packet_pair", **(UNTIMED if probe is None else probe)}}


#: What a protocol is called in this study, and what it is.
PROTOCOLS: Mapping[str, Settings] = {
    "reno": {"congestion": {"kind": "reno", "counting": "acks"}},
    "tahoe": {"variant": "tahoe", "congestion": {"kind": "reno", "counting": "acks"}},
    "vegas": {"congestion": {"kind": "vegas", "rtt": "mean", "exit": "eighth"}},
    "reno average": {"congestion": {"kind": "reno_average", "counting": "acks"}},
    "sttp": sttp(),
    "sttp half": sttp(timeout_factor=0.5),
    "sttp loss only": sttp(timeout_factor=0.5, rtt_lo=0.0, rtt_hi=10.0),
    **{f"sttp {weights}": sttp(weights=weights) for weights in WEIGHTS},
}


def tcp(
    protocol: str | Settings, *, packet: int = PACKET, window: int | None = WINDOW, rto: Settings = NS2_TIMER
) -> dict[str, Any]:
    """A connection as in ns-2 of 1999: one way, without a handshake, an ACK for each packet, ticks of 100 ms, Reno's loss recovery.

    STTP opens with its probes all the same. `window` in packets.
    """
    own = dict(PROTOCOLS[protocol] if isinstance(protocol, str) else protocol)
    mss = packet - HEADER
    shared = {
        "variant": "reno", "mss": f"{mss} B", "initial_window": 1, "delayed_ack": "off", "ack_every": 1, "timestamps": False,
        "limited_transmit": False, "max_retransmissions": 1000, "established": True, "nagle": False, "slow_start": {"kind": "standard", "counting": "acks"},
        "rto": dict(rto),
    }  # fmt: skip
    if window is not None:
        shared |= {"receive_buffer": f"{window} packets", "initial_ssthresh": f"{window} packets"}
    return shared | own


def dumbbell(
    name: str,
    *,
    rate: float,
    queue: int,
    duration: float,
    access: float = 10e6,
    delay: float = 1.0,
    discipline: str | Settings = "droptail",
    sample: float = 10.0,
    warmup: float = 0.0,
    buffer: str = "",
    **run: str,
) -> Scenario:
    """Figure 4.3: senders, two routers with the bottleneck between them, receivers; a monitor at the bottleneck. `delay` of each link in ms; `buffer` is the bottleneck's limit if not `queue` packets."""
    kind = {"kind": discipline} if isinstance(discipline, str) else dict(discipline)
    limit = {**kind, "limit": buffer or f"{queue} packets"}
    built = Scenario(
        name,
        duration=_seconds(duration),
        warmup=_seconds(warmup),
        sample=_seconds(sample),
        monitor=["bottleneck"],
        **run,
    )
    one_way = f"{delay:g} ms"
    return built.dumbbell(
        bottleneck={"rate": _rate(rate), "delay": one_way, "queue": limit},
        access={"rate": _rate(access), "delay": one_way, "queue": {"kind": "droptail", "limit": f"{max(queue, 64)} packets"}},
    )  # fmt: skip


def spaced(interval: float, *, first: float = FIRST, jitter: float = 0.1) -> dict[str, str]:
    """Starts one after the other; each is up to `jitter` late, so that seeds differ."""
    return {"spaced": _seconds(interval), "first": _seconds(first), "jitter": _seconds(jitter)}


def bulk(protocol: str | Settings, count: int, *, interval: float, **how: Any) -> dict[str, Any]:
    """Section 3.3: sources that always have data."""
    return {"count": count, "start": spaced(interval), "app": {"kind": "bulk"}, "tcp": tcp(protocol, **how)}


#: Section 3.3: the film, whose frames are filled up to whole packets as in ns-2.
FILM = {"kind": "video", "whole_packets": True}
#: In place of the log of requests, which is not published: heavy-tailed gaps with a mean of 1 s, requests of 200 to 1500 bytes.
REQUESTS = {
    "kind": "messages", "gap": {"pareto": "1 s", "shape": 1.5}, "size": {"uniform": ["200 B", "1500 B"]}, "whole_packets": True,
}  # fmt: skip
#: The same for 100 Mbit/s, which requests at their own pace would not fill: bursts at the access link's rate, half of the time.
BURSTS = {
    "kind": "on_off", "rate": "10 Mbit/s", "message": f"{PACKET - HEADER} B", "on": {"pareto": "500 ms", "shape": 1.5},
    "off": {"pareto": "500 ms", "shape": 1.5},
}  # fmt: skip


def topology_1(
    protocol: str | Settings,
    *,
    duration: float = 100.0,
    interval: float = 10.0,
    queue: int = 64,
    window: int | None = None,
    packet: int = 500,
) -> Scenario:
    """Figure 4.1: six sources, two routers, one sink; every link 64 kbit/s (decision 15: 10 ms, 64 packets, packets of 500 bytes).

    A source's own link is as slow as the one in the middle: both queues are watched.
    """
    own_links = [f"access-{source}" for source in range(6)]
    built = Scenario(
        "experiment 1", duration=_seconds(duration), sample=_seconds(interval), monitor=[*own_links, "middle"]
    )
    link = {"rate": "64 kbit/s", "delay": "10 ms", "queue": f"{queue} packets"}
    for source, name in enumerate(own_links):
        built = built.link(name, f"source-{source}", "router-1", **link)
    built = built.link("middle", "router-1", "router-2", **link).link("last", "router-2", "sink", **link)
    for source in range(6):
        start = {"spaced": "1 s", "first": _seconds(source * interval), "jitter": "100 ms"}
        built = built.flow(
            f"source-{source}",
            "sink",
            name=f"source-{source}",
            start=start,
            tcp=tcp(protocol, packet=packet, window=window, rto=PLAIN_TIMER),
        )
    return built


def _seconds(time: float) -> str:
    return f"{round(time * 1e6)} us" if time % 1 else f"{round(time)} s"


def _rate(rate: float) -> str:
    return f"{round(rate)} bit/s"


def flows(built: Scenario, groups: Sequence[Settings]) -> Scenario:
    """The scenario with these groups of flows, named in order unless they have names."""
    for number, group in enumerate(groups):
        built = built.flow(**{"name": f"group-{number}", **group})
    return built


#: A path of today: a geostationary satellite of 50 Mbit/s with a queue of one bandwidth-delay product.
MODERN = {"rate": 50e6, "delay": 0.298, "queue": 2500}
#: What people do: pages of a document and 20 objects, over up to 6 connections that stay open, with 10 s to read each.
PAGES = {
    "kind": "web", "think": {"exponential": "10 s"}, "document": {"lomax": "20 kB", "shape": 2.0}, "objects": {"exponential": 20},
    "object": {"lomax": "12 kB", "shape": 1.5}, "parallel": 6, "persistent": True,
}  # fmt: skip
#: And keys that a remote shell echoes.
KEYS = {"kind": "keystrokes"}


def modern_tcp(protocol: str) -> dict[str, Any]:
    """A connection of today: SACK and RACK, no window limits; STTP with retries of probes and limited steps (decision M)."""
    shared: dict[str, Any] = {"variant": "rack", "mss": "1460 B", "initial_window": 10, "nagle": False}
    if protocol.startswith("sttp"):
        settings: dict[str, Any] = {
            "window": 0, "rho_max": 1.25, "window_gain": 2.0, "step_min": 0.5, "step_max": 1.5, "compressed_acks": 0.5, "token": "bytes", "timeout_factor": 0.5,
            "probe": {"retries": RETRIES},
        }  # fmt: skip
        return shared | sttp(**settings)
    return shared | {"congestion": protocol}


def satellite(
    name: str, *, duration: float, up: float = MODERN["rate"], down: str = "forward", queue: str = "droptail"
) -> Scenario:
    """The path of today; `up` in bit/s is the rate against the direction `down`."""
    back = "reverse" if down == "forward" else "forward"
    limit = {"kind": queue, "limit": f"{MODERN['queue']} packets"}
    bottleneck: dict[str, Any] = {
        "rate": _rate(MODERN["rate"]),
        "delay": f"{round(MODERN['delay'] * 1000)} ms",
        "queue": limit,
    }
    if up != MODERN["rate"]:
        bottleneck[back] = {"rate": _rate(up)}
    built = Scenario(name, duration=_seconds(duration), warmup=_seconds(min(60.0, duration / 3)), sample="1 s")
    return built.dumbbell(bottleneck=bottleneck, access={"rate": "1 Gbit/s", "delay": "1 ms"})


def modern_path(
    protocol: str, rival: str, *, duration: float, own: Settings | None = None, up: float = MODERN["rate"]
) -> Scenario:
    """Ten readers, ten shells and two transfers of a protocol (or with the settings `own`), beside two transfers of a rival."""
    built = satellite(f"{protocol} beside {rival}", duration=duration, up=up, down="reverse")
    own = modern_tcp(protocol) if own is None else own
    # Readers and typists are at the left; what they wait for comes from the right, as the files do.
    down = {"from": "right", "to": "left"}
    start = {"uniform": ["0 s", "5 s"]}
    groups: list[Settings] = [
        {"name": "pages", "count": 10, "start": start, "app": PAGES, "tcp": own},
        {"name": "keys", "count": 10, "start": start, "app": KEYS, "tcp": own},
        {"name": "files", "count": 2, **down, "start": start, "app": {"kind": "bulk"}, "tcp": own},
    ]
    if rival != "nobody":
        groups.append(
            {"name": "rivals", "count": 2, **down, "start": start, "app": {"kind": "bulk"}, "tcp": modern_tcp(rival)}
        )
    return flows(built, groups)
