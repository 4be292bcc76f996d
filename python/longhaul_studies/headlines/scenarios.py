"""Paths and hosts that the headlines share."""

from __future__ import annotations

from typing import Any

from longhaul.scenario import Scenario

#: Hosts of about 2000: SACK, standard congestion control, an RTO of at least 1 s, windows that do not limit. The last segment of an
#: answer leaves at once, as in front of a close (decision D3).
OLD: dict[str, Any] = {
    "variant": "sack", "congestion": "reno", "receive_buffer": "unlimited", "rto": {"min": "1 s"}, "nagle": False,
}  # fmt: skip
#: Hosts of about 2020: Linux, with a send buffer that does not limit.
LINUX: dict[str, Any] = {"variant": "linux", "send_buffer": "unlimited"}
#: A geostationary satellite's round trip in ms, as RFC 2488 has it.
GEO_MS = 560
#: Metrics that headlines read.
GOODPUT, TIME, TIMEOUTS, USED = "goodput_bps", "completion_time_mean_s", "timeouts", "utilisation"
MBPS = 1e6


def bdp(mbps: float, rtt_ms: float, share: float = 1.0) -> str:
    """A DropTail queue of a share of the bandwidth-delay product."""
    return f"{round(share * mbps * rtt_ms * 125)} B"


def path(
    name: str,
    mbps: float,
    rtt_ms: float,
    *,
    seconds: float,
    warmup: float = 0,
    queue: str | None = None,
    sample: str = "1 s",
    **link: Any,
) -> Scenario:
    """A server and a client with one link between them; the queue has a bandwidth-delay product unless it is given.

    Further settings are the link's: `forward` is towards the client.
    """
    return Scenario(name, duration=f"{seconds:g} s", warmup=f"{warmup:g} s", sample=sample).link(
        "path", "server", "client", rate=f"{round(mbps * 1e6)} bit/s", delay=f"{rtt_ms / 2:g} ms", queue=queue or bdp(mbps, rtt_ms), **link
    )  # fmt: skip


def lossy(share: float) -> dict[str, Any]:
    """Random loss towards the client, each packet by itself."""
    return {"forward": {"loss": {"kind": "random", "probability": share}}} if share else {}


def at_loss(share: float) -> str:
    """How variants name a loss rate: `no loss`, `0.1 % lost`."""
    return f"{100 * share:g} % lost" if share else "no loss"


def every(packets: int) -> dict[str, Any]:
    """One packet lost in so many, at even distances, as closed forms suppose."""
    return {"forward": {"loss": {"kind": "periodic", "every": packets}}}


def download(built: Scenario, tcp: dict[str, Any], size: str = "", **flow: Any) -> Scenario:
    """A download from the server, endless without a size."""
    app: dict[str, Any] = {"kind": "bulk", "size": size} if size else {"kind": "bulk"}
    return built.flow("server", "client", name="download", tcp=tcp, app=app, **flow)


def asked(built: Scenario, size: str, **flow: Any) -> Scenario:
    """A client that connects, asks with 300 B, and has an answer; its completion time includes the handshake."""
    app = {"kind": "request", "requests": 1, "request": "300 B", "response": size}
    return built.flow("client", "server", name="download", app=app, **flow)
