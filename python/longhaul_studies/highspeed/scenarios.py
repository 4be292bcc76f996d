"""The study's network and traffic (its chapter 5 and the ns-2 scripts of its appendix A) as scenarios.

A dumbbell of 1 Gbit/s and 50 ms one way; long flows from end to end of the bottleneck, background noise, perturbations, random loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longhaul import closed_forms
from longhaul.scenario import Scenario

from ..model import Case

#: Table 5.1 and section 5.2.1: rate of the bottleneck in bit/s, size of a packet on the wire in bytes, base RTT in seconds.
RATE = 1e9
PACKET = 1500
#: Bytes of headers in it (decision A6).
HEADERS = 40
RTT = 0.1
#: Packets that the bottleneck carries in a second, and in a round trip: the study's 8333, which is also the buffer.
PACKETS_PER_S = RATE / (8 * PACKET)
PIPE = 8333
#: Access delays in ms of the small flows, at the sending and the receiving side: drawn once from the study's (i + 1) ms and (3 i + 1) ms,
#: i from 0 to 24, the same in all runs (decision B2).
END_NODES = {
    "forward": ((3, 22), (19, 49), (9, 73), (16, 1), (24, 37), (12, 61), (5, 28), (21, 13), (1, 43), (14, 58)),
    "backward": ((7, 34), (23, 4), (2, 64), (18, 19), (11, 52), (25, 40), (6, 10), (15, 70), (20, 31), (10, 46)),
}
#: Web sessions in each direction (decision A8), and the access delays in ms of their clients and servers: from the study's 0 to 50 ms.
WEB_SESSIONS = 10
WEB_NODES = ((5, 35), (15, 5), (25, 45), (35, 15), (45, 25))
#: Runs of 300 s, of which the second half is reported.
DURATION = 300
QUEUES = ("red", "droptail")
#: Table 5.3, the set of all simulations; decision A2 for Low_P.
SIMULATED = closed_forms.HighSpeed(low_window=31, low_p=1.5 / 31**2)
#: Section 3.3, the set of the theory's tables and figures.
THEORY = closed_forms.HighSpeed(low_window=38, low_p=1e-3)


def scenario(
    queue: str,
    *,
    hstcp: int = 0,
    regtcp: int = 0,
    streams: int = 0,
    perturbations: int = 0,
    loss: float = 0.0,
    noise: bool = True,
    duration: int = DURATION,
    start: Any = None,
    max_ssthresh: int = 100,
    sample: str = "1 s",
    sack_bug: bool = False,
    response: Mapping[str, Any] | None = None,
    frame: int = PACKET,
    changes: Sequence[Mapping[str, Any]] = (),
) -> Scenario:
    """One run's scenario: numbers of HighSpeed flows, standard flows, parallel streams and perturbations.

    `start` is when the long flows start; without it, drawn from the first twentieth of the run (decision A4). Beyond the study: `response` is
    the congestion control in HighSpeed TCP's place, `frame` the bytes of the long flows' packets, `changes` those of the bottleneck's rate.
    """
    built = Scenario(
        f"{hstcp} HSTCP, {regtcp} REGTCP, {streams} streams, {perturbations} perturbations, loss {loss:g}, {queue}",
        duration=f"{duration} s", warmup=f"{duration // 2} s", sample=sample,
    ).link("bottleneck", "n1", "n2", rate="1 Gbit/s", delay="50 ms", queue=_queue(queue, frame), **_lossy(loss, changes))  # fmt: skip
    begin = {"uniform": ["0 s", f"{duration / 20:g} s"]} if start is None else start
    slow_start = _slow_start(max_ssthresh)
    receiver = {"reassembly_limit": "1023 packets"} if sack_bug else {}
    high = HSTCP if response is None else dict(response)
    size = {} if frame == PACKET else {"mss": f"{frame - HEADERS} B"}
    for name, count, congestion in (("hstcp", hstcp, high), ("regtcp", regtcp, REGTCP), ("streams", streams, REGTCP)):
        if count:
            built = _flows(built, name, count, start=begin, tcp=_tcp(congestion, slow_start) | receiver | size)
    if perturbations:
        built = perturbed(built, {"uniform": ["0 s", f"{duration - 0.1:g} s"]}, perturbations)
    return _noise(built, duration) if noise else built


def perturbed(built: Scenario, start: Any, count: int) -> Scenario:
    """With so many perturbations (section 5.2.3 of the study): standard flows that double for 1.6 s and are gone."""
    return _flows(
        built, "perturbations", count, start=start, duration="1.6 s", ending="reset", tcp=_tcp(REGTCP, "standard")
    )


#: Section 1.1 and table 5.3 with decision A25; ns-2's rules where the study says nothing.
HSTCP: dict[str, Any] = {
    "kind": "highspeed", "low_window": 31, "high_window": 83_000, "high_p": 1e-7, "high_decrease": 0.1, "first_cut": "half",
    "counting": "acks",
}  # fmt: skip
REGTCP: dict[str, Any] = {"kind": "reno", "counting": "acks"}


def _queue(queue: str, frame: int = PACKET) -> dict[str, Any]:
    """Table 5.1: adaptive, gentle RED that marks, all thresholds automatic; or DropTail. Both with the buffer of one pipe, in packets of `frame` bytes."""
    limit = f"{PIPE * PACKET // frame} packets"
    if queue == "droptail":
        return {"kind": "droptail", "limit": limit}
    # RED's thresholds follow from the time of a mean packet, which ns-2 has as a third of the study's.
    mean = {} if frame == PACKET else {"mean_packet": f"{frame // 3} B"}
    return {
        "kind": "red", "limit": limit, "target_delay": "5 ms", "gentle": True, "adaptive": True, "bottom": 0.0001,
        "ecn": True, "form": "ns2",
    } | mean  # fmt: skip


def _lossy(loss: float, changes: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """What the forward direction has besides: random loss of each packet before the queue, and changes of its rate."""
    forward: dict[str, Any] = {}
    if loss:
        forward["loss"] = {"kind": "random", "probability": loss, "place": "before_queue"}
    if changes:
        forward["changes"] = [dict(change) for change in changes]
    return {"forward": forward} if forward else {}


def _slow_start(max_ssthresh: int) -> Any:
    """Limited slow start as ns-2 has it; 0 is the standard one."""
    if not max_ssthresh:
        return {"kind": "standard", "counting": "acks"}
    return {"kind": "limited", "form": "ns2", "max_ssthresh": f"{max_ssthresh} packets"}


def _tcp(congestion: Any, slow_start: Any, window: int = 100_000) -> dict[str, Any]:
    """Table 5.2: SACK, ECN, an ACK for every packet, no timestamps, no handshake."""
    return {
        "variant": "sack", "congestion": congestion, "slow_start": slow_start, "ecn": True, "mss": "1460 B",
        "initial_window": "2 packets", "receive_buffer": f"{window} packets", "delayed_ack": "off", "ack_every": 1,
        "timestamps": False, "established": True, "rto": {"min": "1 s", "granularity": "10 ms"},
    }  # fmt: skip


def _flows(built: Scenario, name: str, count: int, **settings: Any) -> Scenario:
    return built.flow("n1", "n2", name=name, count=count, send_overhead="8 us", **settings)


def _noise(built: Scenario, duration: int) -> Scenario:
    """Section 5.2.2: ten small TCP flows each way, and web sessions each way; below 1 % of the link."""
    for way, ends in (("forward", ("n1", "n2")), ("backward", ("n2", "n1"))):
        built = _small_flows(built, way, ends, duration)
        built = _web(built, way, ends)
    return built


def _small_flows(built: Scenario, way: str, ends: tuple[str, str], duration: int) -> Scenario:
    """Ten flows with a window of 8 packets, each between end nodes of its own delay (decision B2)."""
    third = duration / 3
    for number, (near, far) in enumerate(END_NODES[way]):
        built = built.flow(
            *ends, name=f"small_{way}_{number}", send_overhead="8 us",
            access={"rate": "100 Gbit/s", "from": {"delay": f"{near} ms"}, "to": {"delay": f"{far} ms"}},
            start={"uniform": ["0 s", f"{third:g} s"]}, stop={"uniform": [f"{2 * third:g} s", f"{duration} s"]},
            tcp=_tcp(REGTCP, "standard", window=8),
        )  # fmt: skip
    return built


def _web(built: Scenario, way: str, ends: tuple[str, str]) -> Scenario:
    """Web sessions whose responses go from the first to the second end: clients there ask servers here."""
    servers, clients = ends
    for number, (client, server) in enumerate(WEB_NODES):
        built = built.flow(
            clients, servers, name=f"web_{way}_{number}", count=WEB_SESSIONS // len(WEB_NODES),
            access={"rate": "10 Gbit/s", "from": {"delay": f"{client} ms"}, "to": {"delay": f"{server} ms"}},
            app={
                "kind": "web", "pages": 1000, "think": {"exponential": "4 s"}, "objects": 10, "spacing": {"exponential": "10 ms"},
                "object": {"lomax": "10 packets", "shape": 1.2}, "request": "1460 B", "parallel": 10,
            },
            tcp=_tcp(REGTCP, _slow_start(100)) | {"variant": "reno"},
        )  # fmt: skip
    return built


def expected_packets(
    *, hstcp: int = 0, regtcp: int = 0, streams: int = 0, loss: float = 0.0, duration: int = DURATION, **_: Any
) -> float:
    """Data packets of a run by the response functions, for the time left: what the flows could send, at most the link's."""
    if loss:
        window = hstcp * SIMULATED.window(loss) + (regtcp + streams) * closed_forms.aimd_window(1.0, 0.5, loss)
    else:
        window = PIPE
    return duration * PACKETS_PER_S * min(1.0, window / PIPE)


def case(
    parameters: dict[str, Any],
    queue: str,
    *,
    replications: int = 1,
    most: int = 0,
    tables: bool = False,
    **settings: Any,
) -> Case:
    """A point of a grid: `parameters` tell it from the others, `settings` are those of `scenario`."""
    return Case(
        {"queue": queue, **parameters}, scenario(queue, **settings), replications, tables,
        expected_packets(**settings), most,
    )  # fmt: skip
