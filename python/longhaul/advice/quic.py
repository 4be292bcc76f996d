"""Remedies for flows of QUIC: settings of the library and of the application at its ends; and QUIC in place of TCP."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..units import quantity, read_quantity
from .diagnosis import Diagnosis, uses_tcp
from .remedy import Remedy, dialled, each, remedy

#: QUIC's settings in place of TCP, and what each aims at; the first two differ from TCP by what they take for congestion.
_INSTEAD: tuple[tuple[str, dict[str, Any], frozenset[str]], ...] = (
    (
        "QUIC with BBR instead of TCP",
        {"congestion": "bbr3"},
        frozenset(
            {
                "loss on the link",
                "short queue",
                "standing queue",
                "a connection for each object",
                "policed rate",
                "reordering",
                "loss of ACKs",
            }
        ),
    ),
    (
        "QUIC with CUBIC and HyStart++ instead of TCP",
        {"congestion": "cubic", "slow_start": "hystart++"},
        frozenset(
            {
                "overshoot",
                "receiver's window",
                "no window scaling",
                "handshake",
                "a connection for each object",
                "timeouts",
                "reordering",
                "loss of ACKs",
            }
        ),
    ),
    (
        "QUIC with data in its first flight (0-RTT) instead of TCP",
        {"congestion": "cubic", "slow_start": "hystart++", "handshake": "early_data"},
        frozenset({"slow start", "a connection for each object"}),
    ),
)
#: Congestion controls of QUIC, with the slow start that goes with each, and what they aim at.
_CONTROLS: tuple[tuple[str, dict[str, Any], frozenset[str]], ...] = (
    (
        "QUIC's CUBIC with HyStart++",
        {"congestion": "cubic", "slow_start": "hystart++"},
        frozenset({"overshoot", "standing queue", "probes of the round trip", "congestion control", "slow start"}),
    ),
    (
        "QUIC's BBR",
        {"congestion": "bbr3"},
        frozenset(
            {"loss on the link", "short queue", "standing queue", "overshoot", "outage", "changing link", "policed rate",
             "unequal shares", "reordering", "loss of ACKs", "congestion control", "slow start"}
        ),
    ),
)  # fmt: skip
#: BBR looks for the shortest round trip at most each so many round trips.
_APART = 20


def instead_of_tcp(found: Diagnosis) -> Iterator[Remedy]:
    """QUIC in place of TCP, with what the path needs."""
    window = max(1_250_000, 4 * found.pipe_packets * found.mss)
    path: dict[str, Any] = {"handshake": "resumed", "stream_window": f"{window} B", "unordered": True}
    if found.rtt > 1.0:
        # Else handshake packets are sent twice (RFC 9002 section 6.2.2).
        path["initial_rtt"] = f"{math.ceil(1000 * found.rtt)} ms"
    if found.rtt > 10.0:
        path["idle_timeout"] = f"{math.ceil(10 * found.rtt)} s"
    boxes = [str(box.get("name") or box["kind"]) for box in found.content.get("middlebox", ())]
    cost = "both applications have to use QUIC over UDP"
    if boxes:
        cost += f", which {' and '.join(boxes)} cannot read"
    for title, own, aims in _INSTEAD:
        settings: dict[str, Any] = {}
        for section in found.sections:
            if uses_tcp(section) and not section.get("streams"):
                flow = f"flow.{found.keys[section['name']]}"
                settings |= {f"{flow}.tcp": {}, f"{flow}.transport": "quic", f"{flow}.quic": path | own}
        yield replace(remedy(title, "transport", "sender and receiver", settings, aims), cost=cost)


def of_quic(found: Diagnosis) -> Iterator[Remedy]:
    """What flows that are of QUIC already can set."""
    now = {str(one["name"]): one["quic"] for one in found.sections if one.get("transport") == "quic"}
    if not now:
        return
    for title, own, aims in _CONTROLS:
        settings: dict[str, Any] = {}
        for name, table in now.items():
            if _kind(table.get("congestion")) != own["congestion"] or _kind(table.get("slow_start")) != own.get(
                "slow_start", _kind(table.get("slow_start"))
            ):
                settings |= {f"flow.{found.keys[name]}.quic.{key}": value for key, value in own.items()}
        yield remedy(title, "congestion control", "sender", settings, aims)
    yield from _probes(found, now)
    yield from _first_flights(found, now)
    yield from _packets(found, now)


def _kind(value: object) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) else str(value)


def _probes(found: Diagnosis, now: Mapping[str, Mapping[str, Any]]) -> Iterator[Remedy]:
    """BBR's probes of the shortest round trip, less often than a long path has time for."""
    interval = math.ceil(_APART * found.rtt)
    settings: dict[str, Any] = {}
    for name, table in now.items():
        control = table.get("congestion")
        read = read_quantity(control.get("probe_rtt_interval")) if isinstance(control, Mapping) else None
        if read and read[0] < interval:
            assert isinstance(control, Mapping)
            at = f"flow.{found.keys[name]}.quic.congestion"
            settings[f"{at}.probe_rtt_interval"] = f"{interval} s"
            if "min_rtt_window" in control:
                # Samples of the round trip have to last for longer than it takes to have one.
                settings[f"{at}.min_rtt_window"] = f"{2 * interval} s"
    yield remedy(
        f"BBR's probes of the shortest round trip each {quantity(interval, 's')}",
        "probes",
        "sender",
        settings,
        {"probes of the round trip"},
        "# a constant of the QUIC library (probe_rtt_interval)",
    )


def _first_flights(found: Diagnosis, now: Mapping[str, Mapping[str, Any]]) -> Iterator[Remedy]:
    """More data before the first ACKs come back."""
    windows = {name: read_quantity(table.get("initial_window")) for name, table in now.items()}
    counts = {
        name: round(read[0] / found.mss if read[1] == "bytes" else read[0]) for name, read in windows.items() if read
    }

    def made(count: int) -> Remedy:
        return remedy(
            f"QUIC's initial window of {count} packets",
            "initial window",
            "sender",
            each(found, "quic.initial_window", f"{count} packets", lambda one: counts.get(one["name"], count) < count),
            {"slow start"},
            "# a setting of the QUIC library",
        )

    for count in (32, 64):
        least = min((one for one in counts.values() if one < count), default=None)
        yield dialled("initial window", least, count, "packets", made)
    yield remedy(
        "QUIC's data in the first flight (0-RTT)",
        "handshake",
        "sender and receiver",
        each(found, "quic.handshake", "early_data", lambda one: one["quic"].get("handshake") != "early_data"),
        {"slow start", "a connection for each object"},
        "# the application's requests have to bear being repeated (RFC 9001 section 9.2)",
    )
    remembered = {"rtt": f"{math.ceil(1000 * found.rtt)} ms", "window": f"{found.pipe_packets * found.mss} B"}
    resumed = remedy(
        "QUIC resumes carefully with what an earlier connection had (RFC 9959)",
        "careful resume",
        "sender",
        each(found, "quic.careful_resume", remembered, lambda one: not one["quic"].get("careful_resume")),
        {"slow start"},
        "# a setting of the QUIC library",
    )
    yield replace(resumed, cost="an earlier connection over the same path has to be remembered")


def _packets(found: Diagnosis, now: Mapping[str, Mapping[str, Any]]) -> Iterator[Remedy]:
    """How many packets are acknowledged at once, and how many later ones mean a loss."""
    acks = {name: int(table.get("ack_every") or 2) for name, table in now.items()}

    def fewer(count: int) -> Remedy:
        return remedy(
            f"QUIC's ACK for every {count} packets",
            "ACKs",
            "sender and receiver",
            each(found, "quic.ack_every", count, lambda one: acks.get(one["name"], count) < count),
            {"full return link"},
            "# both libraries need the ACK frequency extension",
        )

    for count in (10, 40):
        yield dialled(
            "packets for each ACK", min((one for one in acks.values() if one < count), default=None), count, "", fewer
        )
    yield remedy(
        "QUIC's data are taken as they come (unordered)",
        "gaps",
        "receiver",
        each(found, "quic.unordered", True, lambda one: not one["quic"].get("unordered")),
        {"gaps in a stream"},
        "# the application puts the pieces of a stream in order itself",
    )
    late = {name: int(table.get("packet_threshold") or 3) for name, table in now.items()}

    def patient(count: int) -> Remedy:
        return remedy(
            f"a loss is what {count} later packets pass (QUIC's packet_threshold)",
            "loss recovery",
            "sender",
            each(found, "quic.packet_threshold", count, lambda one: late.get(one["name"], count) < count),
            {"reordering"},
            "# a setting of the QUIC library",
        )

    least = min((one for one in late.values() if one < 30), default=None)
    yield dialled("packet threshold", least, 30, "", patient)
