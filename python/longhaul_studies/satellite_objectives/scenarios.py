"""The paths and transfers of the objectives, and the transports that are compared, as scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longhaul.scenario import Scenario

from ..model import Case

#: Propagation delay of the satellite link, one way, in ms (RTT 650 ms).
DELAY_MS = 325
#: Rate of the links between hosts and gateways, in Mbit/s; they have no delay.
ACCESS_MBPS = 1000
#: A run ends after so many times the objective: what is not there by then has missed it by far.
PATIENCE = 10
#: Bytes on the link for a byte of data, as *ideal* counts them: packets of 1500 bytes, of which IP, TCP and its timestamps take 52.
HEADERS = 1500 / 1448


@dataclass(frozen=True)
class Path:
    """A satellite link: rates down and up in Mbit/s, random loss both ways."""

    down: float
    up: float
    loss: float = 0.0

    @property
    def name(self) -> str:
        """As in tables: `50/10`, `250/3, 1 % loss`."""
        return f"{self.down:g}/{self.up:g}" + (f", {self.loss * 100:g} % loss" if self.loss else "")


@dataclass(frozen=True)
class Cell:
    """A transfer over a path, with the seconds that the objective allows."""

    path: Path
    megabytes: int
    objective: float
    upload: bool = False

    @property
    def name(self) -> str:
        """The path, with the direction if it is up."""
        return self.path.name + (" up" if self.upload else "")

    @property
    def label(self) -> str:
        """In a sentence: `250/3 Mbit/s, 1 % loss`."""
        rates, _, loss = self.path.name.partition(", ")
        return f"{rates} Mbit/s" + (f", {loss}" if loss else "") + (", up" if self.upload else "")

    @property
    def rate(self) -> float:
        """Mbit/s in the direction of the transfer."""
        return self.path.up if self.upload else self.path.down

    @property
    def least(self) -> float:
        """Seconds below which no transfer can be: a round trip, and the data alone at the link's rate."""
        return 2 * DELAY_MS / 1000 + self.megabytes * 8 / self.rate

    @property
    def ideal(self) -> float:
        """Seconds of a good transfer: a round trip, and the data with TCP's headers at the link's rate."""
        return 2 * DELAY_MS / 1000 + HEADERS * self.megabytes * 8 / self.rate


def _cells(path: Path, seconds: tuple[float, float, float], upload: bool = False) -> list[Cell]:
    return [Cell(path, size, limit, upload) for size, limit in zip(SIZES, seconds, strict=True)]


#: Sizes of the transfers in MB.
SIZES = (2, 10, 100)
#: The objectives of draft-kuhn-quic-4-sat-06, in seconds.
CELLS: tuple[Cell, ...] = (
    *_cells(Path(50, 10), (3, 5, 20)),
    *_cells(Path(250, 3), (3, 5, 8)),
    *_cells(Path(250, 3, 0.01), (3, 6, 10)),
    *_cells(Path(10, 2), (3, 10, 85)),
    *_cells(Path(10, 2), (10, 50, 420), upload=True),
    *_cells(Path(50, 0.5), (3, 5, 20)),
)


@dataclass(frozen=True)
class Transport:
    """What carries the transfer: settings of the flow, and the proxies on its way."""

    name: str
    #: `TCP`, `QUIC`, `proxy` or `hop`.
    group: str
    flow: Mapping[str, Any]
    #: Kind and settings of a proxy at both gateways, or at the server's (`alone`).
    proxy: Mapping[str, Any] | None = None
    alone: bool = False


def tcp_of(congestion: str, **settings: Any) -> dict[str, Any]:
    """A flow of Linux's TCP with a send buffer that does not limit (decision D4), and further settings."""
    return {"tcp": {"variant": "linux", "congestion": congestion, "send_buffer": "unlimited", **settings}}


def _quic(congestion: str) -> dict[str, Any]:
    return {"transport": "quic", "quic": {"congestion": congestion, "unordered": True}}


def tcp(congestion: str) -> Transport:
    """TCP from host to host."""
    return Transport(f"TCP {congestion}", "TCP", tcp_of(congestion))


def quic(congestion: str) -> Transport:
    """QUIC from host to host."""
    return Transport(f"QUIC {congestion}", "QUIC", _quic(congestion))


HYSTART = Transport("TCP cubic, HyStart++", "TCP", tcp_of("cubic", slow_start="hystart++"))
#: What Linux has without an administrator: the largest number of `tcp_wmem`.
SEND_BUFFER = Transport("TCP cubic, 4 MiB to send", "TCP", tcp_of("cubic", send_buffer="4 MiB"))
#: The hosts behind a proxy are left as they come.
_HOST = tcp_of("cubic")
#: Linux's send buffer, for the host behind premature ACKs; without a limit 100 MB take as long.
_LIMITED_HOST = tcp_of("cubic", send_buffer="4 MiB")


def _split(name: str, congestion: str, **settings: Any) -> Transport:
    long = {"congestion": congestion, "variant": "linux", **settings}
    return Transport(
        name, "proxy", _HOST, {"kind": "split", "buffer": "16 MB", "connections": "per_flow", "long": long}
    )


PROXIES = (
    _split("split, cubic", "cubic"),
    _split("split, bbr3", "bbr3"),
    _split("split, hybla", "hybla"),
    _split("split, STTP", "sttp_practical"),
    Transport(
        "premature ACK", "proxy", _LIMITED_HOST, {"kind": "premature_ack", "buffer": "40000 packets", "window": "40 MB"}, alone=True
    ),
    Transport("paced protocol", "proxy", _HOST, {"kind": "paced", "buffer": "16 MB"}),
    Transport("paced protocol, coded", "proxy", _HOST, {"kind": "paced", "buffer": "16 MB", "erasure": {"items": 50, "parities": 3}}),
)  # fmt: skip

#: The accelerator's own transport.
HOPS = (
    Transport("hop", "hop", _HOST, {"kind": "split", "buffer": "16 MB", "long": {"transport": "hop"}}),
    Transport("hop, no parities", "hop", _HOST, {"kind": "split", "buffer": "16 MB", "long": {"transport": "hop", "coding": "off"}}),
)  # fmt: skip
#: A hop is up when a transfer begins, as between deployed nodes: its two nodes have met this long before, in seconds.
WARM = 5


def scenario(cell: Cell, transport: Transport) -> Scenario:
    """A client connects, asks, and has the answer; or it sends the data, and has a short answer."""
    path, data = cell.path, f"{cell.megabytes} MB"
    loss = {"loss": {"kind": "random", "probability": path.loss}} if path.loss else {}
    app = {"kind": "request", "requests": 1}
    app |= {"request": data, "response": "300 B"} if cell.upload else {"request": "300 B", "response": data}
    start = WARM if transport.group == "hop" else 0
    limit = PATIENCE * cell.objective + start
    built = (
        Scenario(f"{cell.name}, {data}: {transport.name}", duration=f"{limit:g} s", sample=f"{limit / 100:g} s")
        .link("server-side", "server", "hub", rate=f"{ACCESS_MBPS} Mbit/s", delay="0 s")
        .link(
            "satellite", "hub", "terminal", delay=f"{DELAY_MS} ms",
            forward={"rate": f"{path.down:g} Mbit/s", "queue": _bdp(path.down), **loss},
            reverse={"rate": f"{path.up:g} Mbit/s", "queue": _bdp(path.up), **loss},
        )
        .link("client-side", "terminal", "client", rate=f"{ACCESS_MBPS} Mbit/s", delay="0 s")
    )  # fmt: skip
    if transport.proxy is not None:
        settings = dict(transport.proxy)
        kind = settings.pop("kind")
        built = built.middlebox("hub", kind, **({} if transport.alone else {"peer": "terminal"}), **settings)
    return built.flow("client", "server", name="transfer", app=app, start=f"{start} s", **transport.flow)


def _bdp(rate: float) -> str:
    """A DropTail queue of one bandwidth-delay product."""
    return f"{round(rate * 1e6 * 2 * DELAY_MS / 1000 / 8)} B"


def case(cell: Cell, transport: Transport, seeds: int) -> Case:
    """A point; seeds count where something is lost at random."""
    parameters = {"cell": cell.name, "size": cell.megabytes, "transport": transport.name}
    return Case(
        parameters, scenario(cell, transport), replications=seeds if cell.path.loss else 1, weight=cell.megabytes + 5
    )
