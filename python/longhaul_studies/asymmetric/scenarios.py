"""The thesis's test bed (its chapter 4) as scenarios: 10 Mbit/s forward, a SLIP line of 9600 baud back, all delay on the return path.

Sizes and windows in bytes; the thesis's kB is 1024 bytes.
"""

from __future__ import annotations

from typing import Any

from longhaul import toml
from longhaul.scenario import Scenario

from .designs import VEGAS
from .formulas import COMPRESSED_HEADER, KB, MSS

#: Section 6.1: the system of chapters 6 and 7. Section 5.5.2: the window of the improved steady state, as it was advertised.
WINDOW, ADVERTISED = 250 * KB, 260_002
#: Section 5.5.2: the file of table 5.2. Sections 6.4.4 and 7.1.3: 12, 13 and 14 MB.
FILE = 14_850_814
MEGABYTE = 1024 * 1024
#: Section 6.4: serial queue in packets, least RTO in seconds. P4 is only argued (section 6.4.3).
POLICIES = {"P1": (10, 0.2), "P2": (10, 20.0), "P3": (200, 20.0), "P4": (200, 0.2)}
#: When a fade begins: far into the steady state.
FADE_AT = 60.0


def network(
    name: str,
    *,
    duration: float,
    warmup: float = 0.0,
    sample: str = "250 ms",
    baud: int = 9600,
    forward: str = "10 Mbit/s",
    delay: float = 1.0,
    queue: int = 10,
    vj: int | None = COMPRESSED_HEADER,
    rohc: dict[str, Any] | None = None,
    mtu: int = 1500,
    loss: float = 0.0,
    fade: float = 0.0,
    stall: float = 0.0,
    at: float = FADE_AT,
) -> Scenario:
    """The two links. `vj`: `None` without header compression, 0 with real lengths, else bytes that each compressed header counts.

    `rohc` is robust header compression in its place. `loss` is the share of packets that the line back loses. `fade` is an outage of
    the forward link, `stall` one of the line back (what is on it is lost), in seconds from `at` on.
    """
    serial: dict[str, Any] = {"framing": "slip", "mtu": f"{mtu} B"}
    if rohc is not None:
        serial["rohc"] = rohc
    elif vj is not None:
        serial["vj"] = {"header": f"{vj} B"} if vj else {}
    back: dict[str, Any] = {
        "rate": f"{baud} bit/s", "delay": f"{round(delay * 1e6)} us", "serial": serial,
        "queue": {"kind": "droptail", "limit": f"{queue} packets"},
    }  # fmt: skip
    if loss:
        back["loss"] = {"kind": "random", "probability": loss}
    there: dict[str, Any] = {"rate": forward, "delay": "0 s"}
    if fade:
        there["outages"] = [_outage(at, fade)]
    if stall:
        back["outages"] = [_outage(at, stall)]
    built = Scenario(name, duration=f"{duration:g} s", warmup=f"{warmup:g} s", sample=sample)
    return built.link("path", "server", "client", forward=there, reverse=back)


def _outage(at: float, length: float) -> dict[str, str]:
    return {"start": f"{round(at * 1e6)} us", "duration": f"{round(length * 1e6)} us"}


def tcp(
    *,
    window: float = WINDOW,
    mss: int = MSS,
    initial: int = 2,
    min_rto: float = 0.2,
    congestion: str = "reno",
    variant: str = "fack",
    timestamps: bool = False,
    every_segment: bool = False,
    slow_but_steady: bool = False,
) -> dict[str, Any]:
    """Linux 2.2 as far as the thesis tells: FACK, an ACK for two segments, slow start by ACKs (decisions A5, A11)."""
    return {
        "variant": variant, "congestion": VEGAS if congestion == "vegas" else {"kind": "reno", "counting": "acks"}, "mss": f"{mss} B",
        "slow_start": {"kind": "standard", "counting": "acks"}, "initial_window": f"{initial} packets",
        "receive_buffer": f"{round(window)} B", "timestamps": timestamps, "nagle": False,
        "delayed_ack": "off" if every_segment else "200 ms", "ack_every": 1 if every_segment else 2,
        "rto": {"min": f"{min_rto:g} s", "initial": f"{max(3.0, min_rto):g} s"},
        **({"slow_but_steady": True} if slow_but_steady else {}),
    }  # fmt: skip


def download(
    built: Scenario,
    *,
    size: int | None = None,
    name: str = "download",
    count: int = 1,
    start: float = 0.0,
    **settings: Any,
) -> Scenario:
    """A transfer from the server, `start` seconds after the run's beginning; endless without a size."""
    trace = settings.pop("trace", False)
    app = {"kind": "bulk"} if size is None else {"kind": "bulk", "size": f"{size} B"}
    later = {"start": f"{round(start * 1000)} ms"} if start else {}
    return built.flow("server", "client", name=name, count=count, app=app, trace=trace, tcp=tcp(**settings), **later)


def changed(settings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Settings of a connection with some of them changed; `None` takes one away."""
    return {name: value for name, value in {**settings, **changes}.items() if value is not None}


def behind_edge(built: Scenario) -> Scenario:
    """The same network with the client and the server a link away from it, so that middleboxes can stand at its ends."""
    for name, ends in (("lan", ("client", "home")), ("net", ("origin", "server"))):
        built = built.link(name, *ends, rate="1 Gbit/s", delay="0 s")
    return built


def compaction(
    name: str,
    *,
    form: str,
    spacing: Any = "even",
    every_lost: int = 0,
    duration: float = 160.0,
    wait: float = 0.075,
    most: int = 60,
    carrier: dict[str, Any] | None = None,
    **of_network: Any,
) -> Scenario:
    """Appendix A.2: ACKs cross the line as the compactor makes packets of them; the line may lose each n-th of these.

    With `carrier`, the settings of a connection, they cross over TCP.
    """
    built = network(name, duration=duration, vj=None, **of_network)
    content = built.content
    if every_lost:
        content["link"][0]["reverse"]["loss"] = {"kind": "periodic", "every": every_lost, "first": 2 * every_lost}
    built = behind_edge(Scenario.from_toml(toml.document(content)))
    settings: dict[str, Any] = {"form": form, "spacing": spacing, "wait": f"{wait * 1000:g} ms"}
    if most != 60:
        settings["most"] = most
    if carrier is not None:
        settings["carrier"] = carrier
    return built.middlebox("client", "ack_compaction", peer="server", **settings)


def filtered(name: str, every: int, *, duration: float = 60.0) -> Scenario:
    """Section 5.3.1: one of so many ACKs passes."""
    built = behind_edge(network(name, duration=duration, vj=None))
    return built.middlebox("client", "ack_filter", every=every, hold="500 ms")


def download_from_origin(built: Scenario, **settings: Any) -> Scenario:
    """An endless, traced transfer between the hosts of `behind_edge`."""
    return built.flow("origin", "home", name="download", app={"kind": "bulk"}, trace=True, tcp=tcp(**settings))
