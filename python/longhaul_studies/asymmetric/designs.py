"""Designs of an asymmetric satellite path by the rules of the thesis's chapter 8: what to set, and what comes of it by formula.

Source: C. Coetzee, On Optimizing High-Latency Asymmetric Satellite TCP/IP, Stellenbosch 1999. Rates in bytes per second of data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from longhaul.results import Result
from longhaul.running import run
from longhaul.scenario import Scenario

from . import formulas
from .formulas import COMPRESSED_HEADER, KB, LONGEST_HEADER, MSS, Line

#: Bytes of a data packet, and of IP and TCP header.
_PACKET, _HEADERS = MSS + 40, 40
#: Serial queue of Linux 2.2 (section 6.4.2), and what is added to a long one for outgoing traffic (section 8.5).
_QUEUE, _ROOM = 10, 24
#: The least RTO of Linux 2.2 in seconds (section 6.4.2).
_MIN_RTO = 0.2
#: Share of the asymmetric limit that design 8.3 takes: 192 of 195.5 kB/s.
_MARGIN = 0.98


@dataclass(frozen=True)
class Path:
    """What is given: the satellite's rate in bit/s, the return line's speed in baud, the round trip without load in s."""

    down_bps: float
    up_baud: float
    rtt: float
    #: Section 8.4: what the return backbone gives each client, bytes per second.
    backbone: float = 5000.0
    #: Section 8.5: the longest silence that is bearable, in s; the least RTO.
    dormancy: float = 5.0
    framing: int = 2

    @property
    def line(self) -> Line:
        """The return line with plain ACKs."""
        return Line(self.up_baud, framing=self.framing)

    @property
    def capacity(self) -> float:
        """Data that the satellite carries."""
        return self.down_bps / 8 * MSS / _PACKET


@dataclass(frozen=True)
class Design:
    """One of the designs of chapter 8, for one client with one connection."""

    id: str
    name: str
    #: Predicted by formula; limits of what was chosen.
    rate: float
    #: Window of the client's receive buffer and the proxy's send buffer, in bytes.
    window: float
    compression: bool = False
    #: ACKs travel many to a packet (appendix A.2).
    compaction: bool = False
    #: No TCP over the satellite: the custom paced protocol.
    paced: bool = False
    #: Rate that the client is throttled to, over all its connections; `None` for none.
    throttle: float | None = None
    #: Serial queue in packets, and least RTO in seconds.
    queue: int = _QUEUE
    min_rto: float = _MIN_RTO
    congestion: str = "reno"
    #: Time that a full serial queue of ACKs needs, with the longest headers (equation 6.3).
    clearing: float | None = None
    #: The least speed of the line in baud for this rate.
    least_baud: float | None = None
    note: str = ""

    @property
    def scaled(self) -> bool:
        """Whether the window needs window scaling: stacks with signed arithmetic end at 32,767 bytes (section 5.1)."""
        return self.window > 32_768


def baseline(path: Path) -> Design:
    """8.1: a window of 32 kB and nothing else.

    >>> round(baseline(Path(54e6, 28_800, 0.6)).rate / KB, 1)
    53.3
    """
    window = 32 * KB
    limits = formulas.window_limit(window, path.rtt), formulas.asymmetric_limit(path.line), path.capacity
    return Design(
        "8.1", "baseline: plain TCP", min(limits), window, note="several connections can pass half the asymmetric limit"
    )


def throttled(path: Path, rate: float | None = None) -> Design:
    """8.2: plain ACKs, each client throttled to half of what the line allows, so that an ACK for every segment still passes.

    >>> round(throttled(Path(54e6, 28_800, 0.6)).rate / KB, 1)
    97.8
    """
    limit = formulas.asymmetric_limit(path.line)
    chosen = min(rate or limit / 2, path.capacity)
    return Design(
        "8.2", "plain ACKs, client throttled", chosen, formulas.bandwidth_delay_product(chosen, path.rtt),
        throttle=chosen, congestion="vegas", least_baud=2 * formulas.line_for(chosen, path.line),
        note="the queue stays empty while duplicate ACKs carry no SACK blocks",
    )  # fmt: skip


def unthrottled(path: Path, rate: float | None = None) -> Design:
    """8.3: plain ACKs, no throttle, windows for almost the whole line.

    >>> design = unthrottled(Path(54e6, 28_800, 0.6), 192 * KB)
    >>> round(design.window / KB, 1), round(design.clearing, 2)
    (115.2, 2.3)
    """
    chosen = min(rate or _MARGIN * formulas.asymmetric_limit(path.line), path.capacity)
    longest = path.line.with_header(LONGEST_HEADER)
    return Design(
        "8.3", "plain ACKs, no throttle", chosen, formulas.bandwidth_delay_product(chosen, path.rtt), congestion="vegas",
        clearing=formulas.clearing_time(path.rtt * chosen / MSS, longest),
        least_baud=formulas.line_for(chosen, path.line), note="header compression must be off; losses fill the short queue",
    )  # fmt: skip


def shared(path: Path, rate: float | None = None) -> Design:
    """8.4: header compression on a dial-up plant shared with others: throttled to what its backbone gives for ACKs.

    >>> design = shared(Path(54e6, 14_400, 0.6))
    >>> round(design.rate / KB, 1), round(design.least_baud), round(design.window / KB, 2)
    (356.4, 11250, 213.87)
    """
    line = path.line.with_header(COMPRESSED_HEADER)
    chosen = min(rate or formulas.rate_for_backbone_load(path.backbone), formulas.asymmetric_limit(line), path.capacity)
    longest = path.line.with_header(LONGEST_HEADER)
    return Design(
        "8.4", "header compression, shared dial-up", chosen, formulas.bandwidth_delay_product(chosen, path.rtt),
        compression=True, throttle=chosen, congestion="vegas",
        clearing=formulas.clearing_time(path.rtt * chosen / MSS, longest), least_baud=formulas.line_for(chosen, line),
        note=f"the return backbone carries {formulas.ack_backbone_load(chosen):,.0f} B/s of ACKs",
    )  # fmt: skip


def dedicated(path: Path, rate: float | None = None) -> Design:
    """8.5: header compression on a plant of one's own: a long queue, and a least RTO that outlasts it.

    >>> design = dedicated(Path(54e6, 28_800, 0.6))
    >>> round(design.rate / KB, 1), round(design.window / KB, 2), design.queue, design.min_rto
    (417.3, 250.38, 200, 5.0)
    """
    longest = path.line.with_header(LONGEST_HEADER)
    line = path.line.with_header(COMPRESSED_HEADER)
    by_dormancy = formulas.rate_for_clearing_time(path.dormancy, path.rtt, longest)
    chosen = min(rate or by_dormancy, formulas.asymmetric_limit(line), path.capacity)
    return Design(
        "8.5", "header compression, dial-up of one's own", chosen, formulas.bandwidth_delay_product(chosen, path.rtt),
        compression=True, throttle=chosen, congestion="vegas", queue=formulas.queue_of_all(path.rtt, chosen) + _ROOM,
        min_rto=path.dormancy, clearing=formulas.clearing_time(path.rtt * chosen / MSS, longest),
        least_baud=formulas.line_for(chosen, line), note="silent for up to the least RTO after a fade",
    )  # fmt: skip


#: Appendix A.2: ACKs gather for 50 to 100 ms; a "slightly raised" least RTO. In s.
_GATHER, _LONGEST_GATHER, _RAISED_RTO = 0.075, 0.1, 0.4
#: Most ACKs of a packet: the high-water mark of section 5.3.3.
_MOST = 60


def compacted(path: Path, rate: float | None = None) -> Design:
    """8.6: ACK compaction; the thesis gives no numbers.

    By formula: records of 2 bytes, and as many ACKs to a packet as the line carries in 100 ms, at most 60.

    >>> round(compacted(Path(54e6, 9600, 0.6)).rate / KB)
    399
    """

    def limit(acks: int) -> float:
        return formulas.compaction_limit(acks, path.line)

    fitting = [
        acks
        for acks in range(1, _MOST + 1)
        if acks * formulas.SEGMENTS_PER_ACK * MSS / limit(acks) <= _LONGEST_GATHER + 1e-9
    ]
    acks = max(fitting, default=1)
    chosen = min(rate or limit(acks), path.capacity)
    return Design(
        "8.6", "ACK compaction", chosen,
        # ACKs gather before the line, and are spread out again behind it.
        formulas.bandwidth_delay_product(chosen, path.rtt + 2 * _LONGEST_GATHER), min_rto=_RAISED_RTO,
        compaction=True, note=f"packets of {acks} ACKs; the thesis saw 100 to 200 kB/s at 9600 baud",
    )  # fmt: skip


#: Data of a datagram of the paced protocol in an IP packet of 1500 bytes: UDP and IP take 28, the protocol 24.
_DATAGRAM = 1448
#: A report takes 14 bytes; with the headers of TCP and IP 54.
_REPORT = 54


def paced(path: Path, rate: float | None = None) -> Design:
    """8.7: the custom paced protocol: the satellite's capacity, whatever the return line.

    TCP ends at either side of the satellite, so that no window has to span it. Reports take at most a quarter of the line.

    >>> round(paced(Path(54e6, 9600, 0.6)).rate / KB)
    6363
    """
    capacity = path.down_bps / 8 * _DATAGRAM / _PACKET
    report = (_REPORT + path.framing) / path.line.bytes_per_s
    return Design(
        "8.7", "custom paced protocol", min(rate or capacity, capacity), 32 * KB, throttle=rate, min_rto=_MIN_RTO, paced=True,
        note=f"a report of {_REPORT} bytes takes {report * 1000:.0f} ms of the line; erasure code off",
    )  # fmt: skip


DESIGNS: dict[str, Callable[[Path, float | None], Design]] = {
    "8.1": lambda path, _rate: baseline(path),
    "8.2": throttled,
    "8.3": unthrottled,
    "8.4": shared,
    "8.5": dedicated,
    "8.6": compacted,
    "8.7": paced,
}


def all_designs(path: Path) -> list[Design]:
    """Every design of chapter 8 for a path."""
    return [make(path, None) for make in DESIGNS.values()]


def gain(design: Design, path: Path) -> float:
    """Rate over that of the baseline.

    >>> round(gain(dedicated(Path(54e6, 28_800, 0.6)), Path(54e6, 28_800, 0.6)), 1)
    7.8
    """
    return design.rate / baseline(path).rate


def scenario(design: Design, path: Path, *, duration: float | None = None, warmup: float | None = None) -> Scenario:
    """One connection that downloads without end under a design, for 120 s of which the first 60 are not measured; 30 and 10 for the
    paced protocol, which has no slow start over the satellite.
    """
    whole, before = (30.0, 10.0) if design.paced else (120.0, 60.0)
    name = f"design {design.id}: {design.name}"
    built = Scenario(name, duration=f"{duration or whole:g} s", warmup=f"{before if warmup is None else warmup:g} s")
    source, client, built = network(built, design, path)
    return built.flow(source, client, name="download", tcp=tcp(design))


def network(
    built: Scenario,
    design: Design,
    path: Path,
    *,
    changes: Sequence[Mapping[str, str]] = (),
    outages: Sequence[Mapping[str, str]] = (),
) -> tuple[str, str, Scenario]:
    """Adds the path of a design; gives the names of the nodes of server and client too. `changes` and `outages` are the satellite's.

    Satellite and propagation are one link, the throttle another before it, with a queue of one window (the thesis's throttler is left
    open; this one is a shaper). The round trip without load is the path's: what transmission takes is taken off the delay.
    """
    serial: dict[str, object] = {"framing": _framing(path.framing)}
    header = _HEADERS
    if design.compression:
        serial["vj"] = {"header": f"{COMPRESSED_HEADER} B"}
        header = COMPRESSED_HEADER
    transmission = _PACKET * 8 / path.down_bps + replace(path.line, header=header).ack_time
    shaped = design.throttle is not None and not design.paced
    if shaped:
        transmission += MSS / (design.throttle or MSS)
    if design.compaction:
        transmission += _GATHER
    delay = max(0.0, path.rtt - transmission)
    # Where a middlebox stands at both ends of the satellite, hosts are a link away.
    apart = design.compaction or design.paced
    hub, edge = ("shaper" if shaped else "proxy"), ("edge" if apart else "client")
    if shaped:
        rate = (design.throttle or 0.0) * _PACKET / MSS * 8
        built = built.link(
            "throttle", "proxy", hub, delay="0 s", forward={"rate": _bits(rate), "queue": _droptail(math.ceil(design.window / MSS) + 1)},
            reverse={"rate": "1 Gbit/s"},
        )  # fmt: skip
    built = built.link(
        "satellite", hub, edge,
        forward={
            "rate": _bits(path.down_bps), "delay": "0 s", **_given("changes", changes), **_given("outages", outages),
        },
        reverse={
            "rate": _bits(path.up_baud), "delay": f"{delay * 1e6:.0f} us", "queue": _droptail(design.queue), "serial": serial,
        },
    )  # fmt: skip
    if not apart:
        return "proxy", "client", built
    for name, ends in (("client", ("edge", "client")), ("server", ("server", "proxy"))):
        built = built.link(name, *ends, rate="1 Gbit/s", delay="0 s")
    if design.compaction:
        built = built.middlebox("edge", "ack_compaction", peer="proxy", form="exact", wait=f"{_GATHER * 1000:g} ms")
    else:
        allotted = {} if design.throttle is None else {"rate": _bits(design.throttle * _PACKET / _DATAGRAM * 8)}
        built = built.middlebox("proxy", "paced", peer="edge", **allotted)
    return "server", "client", built


def tcp(design: Design) -> dict[str, object]:
    """Settings of the connections of a design."""
    return {
        "variant": "sack", "congestion": _congestion(design.congestion), "mss": f"{MSS} B", "delayed_ack": "200 ms",
        "initial_window": "2 packets", "receive_buffer": f"{design.window:.0f} B", "slow_start": {"kind": "standard", "limit": 2},
        "rto": {"min": f"{design.min_rto:g} s"},
    }  # fmt: skip


def _given(name: str, values: Sequence[Mapping[str, str]]) -> dict[str, object]:
    return {name: [dict(value) for value in values]} if values else {}


def simulate(design: Design, path: Path, **settings: float) -> Result:
    """Runs `scenario`."""
    return run(scenario(design, path, **settings))


def simulated_rate(result: Result) -> float:
    """Goodput in bytes per second."""
    return float(result.summary["flows"][0]["metrics"]["goodput_bps"]) / 8


#: Vegas as the Linux implementation that the thesis used has it (section 7.1.3): alpha 1, beta 3, gamma 1.
VEGAS: dict[str, object] = {
    "kind": "vegas", "alpha": 1, "beta": 3, "gamma": 1, "growth": "every_rtt", "exit": "actual_rate", "rtt": "least",
    "left_on_loss": 0.5,
}  # fmt: skip


def _congestion(name: str) -> object:
    return VEGAS if name == "vegas" else name


def _framing(spf: int) -> str:
    names = {0: "none", 1: "slip_single", 2: "slip", 4: "ppp_compressed", 7: "ppp"}
    if spf not in names:
        raise ValueError(f"no framing of {spf} bytes; the sizes are {', '.join(map(str, names))}")
    return names[spf]


def _bits(rate: float) -> str:
    return f"{round(rate)} bit/s"


def _droptail(packets: int) -> dict[str, object]:
    return {"kind": "droptail", "limit": f"{packets} packets"}
