"""The thesis's network and traffic as scenarios: a dumbbell whose long link is crossed end to end, or by a split connection.

Sizes and parameters are those of its chapter 4 and of its sample script; what it leaves open is in `decisions`.
"""

from __future__ import annotations

from typing import Any

from longhaul.scenario import Scenario

from ..model import Case

#: The split link in bit/s, a packet on the wire and its payload in bytes.
RATE, PACKET, PAYLOAD = 100e6, 1040, 1000
#: Payload that the split link carries at most, in Mbit/s.
CEILING = RATE * PAYLOAD / PACKET / 1e6
#: Packets of the split link's own queue when the PEP is there.
LINK_QUEUE = 500
#: RED's automatic settings as the thesis has them (its table 4.1): thresholds of 62.5 and 187.5 packets, which follow from the
#: link's rate and a mean packet of 500 B; w_q = 1 - exp(-1 / (10 rtt ptc)) with rtt = 3 (250 ms + 1 / ptc), ptc = 25000 packets/s.
RED = {
    "kind": "red", "gentle": True, "adaptive": False, "ecn": False, "max_p": 0.1, "target_delay": "5 ms", "mean_packet": "500 B",
    "queue_weight": 5.333e-6, "form": "ns2",
}  # fmt: skip
#: On/off sources (decision D9): each event of 210 bytes is sent as a packet of 1000 bytes of payload.
PARETO = {
    "kind": "on_off", "rate": "304762 bit/s", "message": "1000 B", "on": {"pareto": "500 ms", "shape": 1.5},
    "off": {"pareto": "500 ms", "shape": 1.5},
}  # fmt: skip
#: What ns-2's one-way agents do: no handshake, no timestamps, an ACK counts one segment, receivers acknowledge every packet (decision D1).
TCP: dict[str, Any] = {
    "variant": "sack", "congestion": {"kind": "reno", "counting": "acks"}, "slow_start": {"kind": "standard", "counting": "acks"},
    "mss": "1000 B", "initial_window": "2 packets", "receive_buffer": "unlimited", "delayed_ack": "off", "ack_every": 1,
    "timestamps": False, "established": True, "rto": {"min": "1 s", "granularity": "10 ms"},
}  # fmt: skip
#: The sinks of the split nodes delay ACKs (the thesis's `TCPSink/Sack1/DelAck/Split`).
DELAYED: dict[str, Any] = {"delayed_ack": "100 ms", "ack_every": 2}
#: ns-2's Sack1 recovers with the pipe of 1996 (Fall and Floyd), in which lost packets stay.
NS2_SACK: dict[str, Any] = {"variant": "sack1"}
#: The readings of a run without the PEP (decisions D1, D2, D5), by what they change in the one that is taken: the network, the
#: flows and the order of simultaneous events. The first is the one that is taken.
READINGS: dict[str, dict[str, Any]] = {
    "as taken": {},
    "delayed ACKs": {"tcp": DELAYED},
    "RED as printed": {"discipline": "red"},
    "access 1 Gbit/s": {"access_rate": "1 Gbit/s"},
    "all start at once": {"start": "0 s"},
    "ties as in ns-2": {"ties": "scheduled"},
    "SACK as in ns-2": {"tcp": NS2_SACK},
    "ties and SACK as in ns-2": {"ties": "scheduled", "tcp": NS2_SACK},
    "both, access 1 Gbit/s": {"ties": "scheduled", "tcp": NS2_SACK, "access_rate": "1 Gbit/s"},
}  # fmt: skip
#: The split connection's congestion control, by the name of the mode; CUBIC is that of Linux at the time (decision D8).
MODES: dict[str, Any] = {"cubic": {"kind": "cubic", "beta": 0.8, "counting": "bytes"}, "sack": TCP["congestion"]}


def queue(kind: str, packets: int) -> dict[str, Any]:
    """The queue under test."""
    if kind == "droptail":
        return {"kind": "droptail", "limit": f"{packets} packets"}
    return {**RED, "limit": f"{packets} packets"}


def scenario(
    mode: str,
    queue_kind: str,
    packets: int,
    flows: int,
    *,
    traffic: str = "ftp",
    duration: int = 2000,
    warmup: int = 200,
    pep: dict[str, Any] | None = None,
    reading: str = "as taken",
) -> Scenario:
    """One run: without the PEP (`none`), or with a split connection of `cubic` or `sack`; the queue under test and the flows.

    Without the PEP the queue under test is the split link's, with it split start's local queue. `pep` changes settings of the split
    beyond the thesis, `reading` what the thesis leaves open (`READINGS`).
    """
    changes = READINGS[reading]
    tested = queue(changes.get("discipline", queue_kind), packets)
    on_link = tested if mode == "none" else {"kind": "droptail", "limit": f"{LINK_QUEUE} packets"}
    app = {"kind": "bulk"} if traffic == "ftp" else PARETO
    run = {"ties": changes["ties"]} if "ties" in changes else {}
    built = (
        Scenario(
            f"{flows} {traffic} flows, {mode}, {queue_kind} {packets}",
            duration=f"{duration} s", warmup=f"{warmup} s", sample="1 s", **run,
        )
        .link("split", "start", "end", rate="100 Mbit/s", delay="250 ms", queue=on_link)
        .flow(
            "start", "end", name="flows", count=flows, start=changes.get("start", {"uniform": ["0 s", "1 s"]}), app=app,
            tcp=TCP | changes.get("tcp", {}),
            access={
                "rate": changes.get("access_rate", "100 Mbit/s"), "delay": "5 ms", "queue": {"kind": "droptail", "limit": "100 packets"},
            },
        )
    )  # fmt: skip
    if mode == "none":
        return built
    long = {
        "variant": "sack", "congestion": MODES[mode], "slow_start": TCP["slow_start"], "initial_window": "2 packets",
        "receive_buffer": "unlimited", **DELAYED, "timestamps": False, "rto": TCP["rto"],
    }  # fmt: skip
    settings: dict[str, Any] = {
        "peer": "end", "framing": "pepid", "long": long,
        "local_queue": {"queue": tested, "buffer_start": f"{800 * PACKET} B", "send_check_interval": "3 ms"},
    }  # fmt: skip
    merged = {**settings, **(pep or {})}
    return built.middlebox("start", "split", name="pep", **{k: v for k, v in merged.items() if v is not None})


def case(
    mode: str,
    queue_kind: str,
    packets: int,
    flows: int,
    *,
    tables: bool = False,
    replications: int = 1,
    parameters: dict[str, Any] | None = None,
    **settings: Any,
) -> Case:
    """A point of a grid."""
    built = scenario(mode, queue_kind, packets, flows, **settings)
    known = {"mode": mode, "queue": queue_kind, "packets": packets, "flows": flows}
    # Three connections, a proxy at both ends and drops before it: twenty times the work of packets that only pass.
    weight = float(settings.get("duration", 2000)) * (1.0 if mode == "none" else 20.0)
    return Case({**known, **(parameters or {})}, built, replications, tables, weight)
