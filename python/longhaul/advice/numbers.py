"""Remedies that set a number: windows, buffers, queues, streams, timeouts, ACKs. Each can be tried with any other number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..units import quantity, read_bytes, read_quantity
from ..why.case import link_name
from .diagnosis import HEADERS, Diagnosis, packets, uses_tcp
from .remedy import Remedy, dialled, each, remedy

#: Transfers of so many bytes are worth several streams.
_LONG = 1_000_000
#: The largest window without window scaling (RFC 7323 section 2.2).
_UNSCALED = 65_535
_KIB = 1024
#: A buffer is raised at most so many times at once.
_MOST_TIMES = 64


def initial_windows(found: Diagnosis) -> Iterator[Remedy]:
    """More packets before the first ACK."""
    now = {name: _in_packets(tcp.get("initial_window"), found.mss) for name, tcp in _tcp(found).items()}

    def made(count: int) -> Remedy:
        return remedy(
            f"initial window of {count} packets",
            "initial window",
            "sender",
            each(found, "tcp.initial_window", f"{count} packets", _below(now, count)),
            {"slow start"},
            f"ip route change default via GATEWAY dev DEVICE initcwnd {count}",
        )

    for count in (32, 64):
        yield dialled("initial window", _least(now, count), count, "packets", made)


def parallel_streams(found: Diagnosis) -> Iterator[Remedy]:
    """Several connections for one long transfer."""

    def made(count: int) -> Remedy:
        streams = remedy(
            f"{count} parallel streams for each transfer",
            "parallel streams",
            "sender",
            each(found, "streams", count, _is_long),
            {
                "loss on the link",
                "short queue",
                "slow start",
                "receiver's window",
                "no window scaling",
                "reordering",
                "loss of ACKs",
                "largest window",
            },
        )
        # The application has to divide its data and to put them together again: more than a setting at each end.
        return replace(streams, effort=3)

    if any(map(_is_long, found.sections)):
        for count in (4, 8):
            yield dialled("parallel streams", 1, count, "", made)


def _is_long(section: Mapping[str, Any]) -> bool:
    """Whether a flow is one long transfer: short ones in many streams only have many initial windows."""
    size = read_quantity(section["app"].get("size"))
    long = section["app"].get("size") is None or (size is not None and size[0] >= _LONG)
    return section["app"]["kind"] == "bulk" and long and not section.get("streams")


def timeouts(found: Diagnosis) -> Iterator[Remedy]:
    """Bounds of the retransmission timeout: its longest, which back-off leads to, and its least."""
    longest = {name: _in_ms((tcp.get("rto") or {}).get("max")) for name, tcp in _tcp(found).items()}
    least = {name: _in_ms((tcp.get("rto") or {}).get("min")) for name, tcp in _tcp(found).items()}

    def at_most(value: int) -> Remedy:
        return remedy(
            f"retransmission timeouts of at most {quantity(value / 1000, 's')}",
            "longest timeout",
            "sender",
            each(found, "tcp.rto.max", f"{value} ms", _above(longest, value)),
            {"outage"},
            f"sysctl -w net.ipv4.tcp_rto_max_ms={value}",
        )

    def at_least(value: int) -> Remedy:
        return remedy(
            f"retransmission timeouts from {quantity(value / 1000, 's')}",
            "least timeout",
            "sender",
            each(found, "tcp.rto.min", f"{value} ms", _above(least, value)),
            {"timeouts", "loss of ACKs"},
            f"ip route change default via GATEWAY dev DEVICE rto_min {value}ms",
        )

    yield dialled("longest timeout", _most(longest, 3000), 3000, "ms", at_most)
    yield dialled("least timeout", _most(least, 200), 200, "ms", at_least)


def patience(found: Diagnosis) -> Iterator[Remedy]:
    """What a handshake needs whose answer takes longer than clients wait: timers of the path's size, or more retransmissions of SYNs."""
    seconds = math.ceil(found.rtt)
    first, longest = 3 * seconds // 2 + 1, 4 * seconds
    initial = {name: _in_ms((tcp.get("rto") or {}).get("initial")) for name, tcp in _tcp(found).items()}
    short = _below(initial, 1000 * first)
    yield remedy(
        "timers of the path's size",
        "handshake",
        "sender and receiver",
        each(found, "tcp.rto.initial", f"{first} s", short) | each(found, "tcp.rto.max", f"{longest} s", short),
        {"handshake"},
        "# Linux has no first timeout of more than 1 s; a proxy in front of the long hop can have one",
    )
    # Doubling from 1 s until 120 s, then one each 120 s.
    retries = 7 + math.ceil(max(0, seconds - 127) / 120)
    now = {name: int(tcp.get("max_syn_retransmissions", 6)) for name, tcp in _tcp(found).items()}
    yield remedy(
        f"{retries} retransmissions of a SYN",
        "handshake",
        "sender and receiver",
        each(found, "tcp.max_syn_retransmissions", retries, _below(now, retries)),
        {"handshake"},
        f"sysctl -w net.ipv4.tcp_syn_retries={retries} net.ipv4.tcp_synack_retries={retries}",
    )


def endurance(found: Diagnosis) -> Iterator[Remedy]:
    """Connections that last longer than what interrupts them."""
    retries = {name: int(tcp["max_retransmissions"]) for name, tcp in _tcp(found).items()}
    yield remedy(
        "15 retransmissions before the connection ends",
        "giving up",
        "sender",
        each(found, "tcp.max_retransmissions", 15, _below(retries, 15)),
        {"giving up"},
        "sysctl -w net.ipv4.tcp_retries2=15  # and no TCP_USER_TIMEOUT in the application",
    )
    waits = {
        str(one["name"]): _in_ms(one["quic"].get("idle_timeout"))
        for one in found.sections
        if one.get("transport") == "quic"
    }
    yield remedy(
        "QUIC's idle timeout of 300 s",
        "idle timeout",
        "sender and receiver",
        each(found, "quic.idle_timeout", "300 s", _below(waits, 300_000)),
        {"giving up"},
        "# in both applications: max_idle_timeout of the transport parameters",
    )


def duplicate_thresholds(found: Diagnosis) -> Iterator[Remedy]:
    """Duplicate ACKs that a reordered packet causes are no loss: so many packets come before it as pass in its delay."""
    now = {name: int(tcp["duplicate_threshold"]) for name, tcp in _tcp(found).items() if "duplicate_threshold" in tcp}
    late = [read_quantity((found.setting(link, "reordering") or {}).get("delay")) for link in found.data]
    longest = max((read[0] for read in late if read), default=found.rtt / 4)
    rate = float(found.bottleneck["rate_bps"]) if found.bottleneck else 0.0
    before = rate * longest / 8 / (found.mss + HEADERS)
    # Three times as many, since gaps overlap; Linux goes up to 300 (tcp_max_reordering).
    tried = min(300, max(10, math.ceil(3 * before)))

    def made(count: int) -> Remedy:
        return remedy(
            f"a loss is what {count} later packets pass (duplicate_threshold)",
            "loss recovery",
            "sender",
            each(found, "tcp.duplicate_threshold", count, _below(now, count)),
            {"reordering"},
            f"sysctl -w net.ipv4.tcp_reordering={count}",
        )

    yield dialled("duplicate threshold", _least(now, tried), tried, "", made)


def buffers(found: Diagnosis) -> Iterator[Remedy]:
    """What receivers and senders have room for."""
    pipe = found.pipe_packets * found.mss * 2
    least = max(65_536, 1 << math.ceil(math.log2(max(2, pipe)))) // _KIB
    fixed = {name: _room(tcp, found.mss) for name, tcp in _tcp(found).items() if not tcp.get("receive_autotuning")}
    asked = {name: _asked(tcp, "so_rcvbuf") for name, tcp in _tcp(found).items() if _asked(tcp, "so_rcvbuf")}
    tuned = {name: _tuned(tcp) for name, tcp in _tcp(found).items() if tcp.get("receive_autotuning")}
    room = {**fixed, **tuned}
    written = {name: _asked(tcp, "so_sndbuf") for name, tcp in _tcp(found).items() if _asked(tcp, "so_sndbuf")}
    own = {name: written.get(name) or _in_kib(tcp.get("send_buffer"), found.mss) for name, tcp in _tcp(found).items()}

    size = _enough(found, "receiver's window", room, least)
    keeps = _enough(found, "send buffer", own, least)

    def receive(value: int) -> Remedy:
        scaled = each(
            found,
            "tcp.window_scaling",
            True,
            lambda section: uses_tcp(section) and not section["tcp"]["window_scaling"],
        )
        raised = each(found, "tcp.receive_buffer", f"{value} KiB", _below(fixed, value))
        arguments, tunings = [], []
        for section in found.sections:
            if (now := tuned.get(section["name"])) is not None and now < value:
                # A part of the buffer is window.
                most = math.ceil(value / float(section["tcp"]["receive_autotuning"]["window_share"]))
                flow = f"flow.{found.keys[section['name']]}.tcp"
                if section["name"] in asked:
                    arguments.append(_doubled(most))
                    raised |= {f"{flow}.so_rcvbuf": f"{_doubled(most)} KiB"}
                else:
                    tunings.append(most)
                    raised |= {f"{flow}.receive_autotuning.max": f"{most} KiB"}
        command = f'sysctl -w net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_rmem="{_three(value)}"'
        title = f"receive buffer of {max(tunings, default=value):,} KiB"
        if arguments:
            title = f"SO_RCVBUF of {max(arguments):,} KiB"
        elif tunings and max(tunings) > value:
            title += f", of which {value:,} KiB are window"
        made = remedy(
            title,
            "receive buffer",
            "receiver",
            {**raised, **scaled} if raised else {},
            {"receiver's window"},
            _socket_command("SO_RCVBUF", "rmem_max", arguments) or command,
        )
        # The kernel's bound and the application change.
        return replace(made, effort=made.effort + 1) if arguments else made

    def send(value: int) -> Remedy:
        raised = each(
            found, "tcp.send_buffer", f"{value} KiB", lambda one: one["name"] not in written and _below(own, value)(one)
        )
        doubled = each(
            found,
            "tcp.so_sndbuf",
            f"{_doubled(value)} KiB",
            lambda one: one["name"] in written and _below(own, value)(one),
        )
        made = remedy(
            f"SO_SNDBUF of {_doubled(value):,} KiB" if doubled else f"send buffer of {value:,} KiB",
            "send buffer",
            "sender",
            {**raised, **doubled},
            {"send buffer"},
            _socket_command("SO_SNDBUF", "wmem_max", [_doubled(value)] if doubled else [])
            or f'sysctl -w net.ipv4.tcp_wmem="{_three(value)}"',
        )
        return replace(made, effort=made.effort + 1) if doubled else made

    yield from _autotuned(found, size, asked, written)
    yield dialled("receive buffer", _least(room, size), size, "KiB", receive)
    yield dialled("send buffer", _least(own, keeps), keeps, "KiB", send)
    yield from _first_buffers(found)
    for place, names, cause in (
        ("receiver", ("stream_window", "connection_window"), "receiver's window"),
        ("sender", ("send_buffer",), "send buffer"),
    ):
        raised: dict[str, Any] = {}
        quic = {str(one["name"]): one["quic"] for one in found.sections if one.get("transport") == "quic"}
        present = {
            f"{flow} {name}": _in_kib(table.get(name), found.mss) for flow, table in quic.items() for name in names
        }
        wide = _enough(found, cause, present, least)
        for section in found.sections:
            settings = quic.get(str(section["name"])) or {}
            for name in names:
                if (now := _in_kib(settings.get(name), found.mss)) is not None and now < wide:
                    flow = f"flow.{found.keys[section['name']]}.quic"
                    raised[f"{flow}.{name}"] = f"{wide} KiB"
                    if place == "receiver" and not settings.get("unordered"):
                        # A larger window makes room for gaps, of which quinn-proto permits only so many in order.
                        raised[f"{flow}.unordered"] = True
        yield remedy(
            f"QUIC's {names[0].replace('_', ' ')} of {wide:,} KiB", f"QUIC's {names[0]}", place, raised, {cause}
        )


def _enough(found: Diagnosis, cause: str, now: Mapping[str, int | None], least: int) -> int:
    """KiB of a buffer: two bandwidth-delay products; where it was proven that the present one limits, more than that one.

    Queues make round trips longer than those of the empty path. What a window gives is proportional to it, so that the factor
    without it is the one by which it is too small.
    """
    present = max((one for one in now.values() if one is not None), default=0)
    if cause not in found.factors or present < least:
        return least
    return int(1 << math.ceil(math.log2(present * min(_MOST_TIMES, max(1.05, found.factors[cause])))))


def _first_buffers(found: Diagnosis) -> Iterator[Remedy]:
    """Linux's second number of tcp_rmem: autotuning begins with it, and half of it is the first window."""
    tuned = {name: tcp["receive_autotuning"] for name, tcp in _tcp(found).items() if tcp.get("receive_autotuning")}
    now = {name: _in_kib(tuning["initial"], 1) for name, tuning in tuned.items()}
    most = min((_in_kib(tuning["max"], 1) or 0 for tuning in tuned.values()), default=0)
    # A short transfer does not fill the path.
    sizes = [read_quantity(section["app"].get("size")) for section in found.sections]
    whole = max((read[0] if read and read[1] == "bytes" else math.inf for read in sizes), default=math.inf)
    wanted = 2 * min(found.pipe_packets * found.mss, whole)
    tried = min(most, max(1024, 1 << math.ceil(math.log2(max(2, wanted) / _KIB))))

    def made(value: int) -> Remedy:
        return remedy(
            f"a receive buffer that begins with {value:,} KiB (tcp_rmem's second number)",
            "first receive buffer",
            "receiver",
            each(found, "tcp.receive_autotuning.initial", f"{value} KiB", _below(now, value)),
            {"receiver's first window"},
            f'sysctl -w net.ipv4.tcp_rmem="4096 {value * _KIB} {most * _KIB}"\n'
            f"# where a route has a smaller initrwnd: ip route change default via GATEWAY dev DEVICE initrwnd "
            f"{math.ceil(value * _KIB / 2 / found.mss)}",
        )

    if tried:
        yield dialled("first receive buffer", _least(now, tried), tried, "KiB", made)


def _autotuned(
    found: Diagnosis, size: int, asked: Mapping[str, int | None], written: Mapping[str, int | None]
) -> Iterator[Remedy]:
    """Buffers that the kernel autotunes, in place of those that the application fixes on its socket (socket(7)); `size` in KiB."""
    if asked:
        settings = each(found, "tcp.so_rcvbuf", "off", lambda section: section["name"] in asked)
        for section in found.sections:
            tuning = section.get("tcp", {}).get("receive_autotuning") if section["name"] in asked else None
            if tuning and (_in_kib(tuning["max"], 1) or 0) * float(tuning["window_share"]) < size:
                most = math.ceil(size / float(tuning["window_share"]))
                settings |= {f"flow.{found.keys[section['name']]}.tcp.receive_autotuning.max": f"{most} KiB"}
        yield remedy(
            "a receive buffer that the kernel autotunes, in place of a fixed SO_RCVBUF",
            "receive buffer",
            "receiver",
            settings,
            {"receiver's window"},
            "# in the application: no setsockopt(socket, SOL_SOCKET, SO_RCVBUF, ...); iperf3 without -w",
        )
    if written:
        settings = each(found, "tcp.so_sndbuf", "off", lambda section: section["name"] in written)
        settings |= each(found, "tcp.send_buffer", f"{size} KiB", lambda section: section["name"] in written)
        yield remedy(
            "a send buffer that the kernel autotunes, in place of a fixed SO_SNDBUF",
            "send buffer",
            "sender",
            settings,
            {"send buffer"},
            "# in the application: no setsockopt(socket, SOL_SOCKET, SO_SNDBUF, ...)\n"
            f'sysctl -w net.ipv4.tcp_wmem="{_three(size)}"',
        )


def _asked(tcp: Mapping[str, Any], key: str) -> int | None:
    """KiB that Linux keeps for a buffer that the application sets on its socket: twice the argument; `None` if it sets none."""
    argument = _in_kib(tcp.get(key), 1)
    return None if argument is None else 2 * argument


def _doubled(kept: int) -> int:
    """The argument in KiB of a socket's buffer that is to be so large."""
    return math.ceil(kept / 2)


def _socket_command(option: str, bound: str, arguments: Sequence[int]) -> str:
    """How an application sets a buffer of so many KiB on its socket; an empty text without any."""
    if not arguments:
        return ""
    size = max(arguments) * _KIB
    return f"sysctl -w net.core.{bound}={size}\n# in the application: setsockopt(socket, SOL_SOCKET, {option}, {size})"


def _tuned(tcp: Mapping[str, Any]) -> int:
    """KiB of window that an autotuned receive buffer grows to, or that a fixed one has."""
    tuning = tcp["receive_autotuning"]
    if fixed := _asked(tcp, "so_rcvbuf"):
        return int(fixed * float(tuning["window_share"]))
    return int((_in_kib(tuning["max"], 1) or 0) * float(tuning["window_share"]))


def _three(size: int) -> str:
    """Linux's least, first and largest buffer for so many KiB of payload: half of a buffer holds payload."""
    largest = 2 * size * _KIB
    return f"4096 {min(131_072, largest)} {largest}"


def _room(tcp: Mapping[str, Any], mss: int) -> int | None:
    """KiB that a receiver's window has room for; `None` without a limit."""
    buffer = _in_kib(tcp.get("receive_buffer"), mss)
    if tcp["window_scaling"]:
        return buffer
    return _UNSCALED // _KIB if buffer is None else min(buffer, _UNSCALED // _KIB)


def fewer_acks(found: Diagnosis) -> Iterator[Remedy]:
    """One ACK for many segments."""
    now = {name: int(tcp["ack_every"]) for name, tcp in _tcp(found).items() if tcp.get("ack_every") is not None}

    def made(count: int) -> Remedy:
        return remedy(
            f"an ACK for every {count} segments",
            "ACKs",
            "receiver",
            each(found, "tcp.ack_every", count, _below(now, count)),
            {"full return link"},
        )

    for count in (8, 16):
        yield dialled("segments for each ACK", _least(now, count), count, "", made)


def return_queue(found: Diagnosis) -> Iterator[Remedy]:
    """A short queue for ACKs: those that are dropped are made up for by later ones."""
    thin = found.thin
    if thin is None:
        return
    (place,) = found.path([thin], "queue")
    queue = found.setting(thin, "queue") or {}
    limit = packets(queue.get("limit")) if queue.get("kind") == "droptail" else None

    def made(length: int) -> Remedy:
        return remedy(
            f"a queue of {length:,} packets at {link_name(thin)}",
            "return queue",
            "router",
            {place: {"kind": "droptail", "limit": f"{length} packets"}},
            {"full return link"},
            f"tc qdisc replace dev DEVICE root pfifo limit {length}",
        )

    yield dialled("return queue", limit, 10, "packets", made)


def ack_filters(found: Diagnosis, boxes: Sequence[Mapping[str, Any]], name: str) -> Iterator[Remedy]:
    """A filter in front of a thin return link."""
    thin = found.thin
    assert thin is not None

    def made(count: int) -> Remedy:
        box = {"kind": "ack_filter", "at": thin["from"], "name": name, "every": count}
        return remedy(
            f"an ACK filter at {thin['from']}: one of {count} passes",
            "ACK filter",
            "proxy",
            {"middlebox": [*boxes, box]},
            {"full return link"},
        )

    for count in (4, 16):
        yield dialled("ACKs of which one passes", 1, count, "", made)


def _tcp(found: Diagnosis) -> dict[str, Mapping[str, Any]]:
    """The settings of TCP of each group that is to be served."""
    return {str(section["name"]): section["tcp"] for section in found.sections if uses_tcp(section)}


def _below(now: Mapping[str, int | None], value: int) -> Callable[[Any], bool]:
    """Whether a section has a smaller number."""
    return lambda section: (present := now.get(section["name"])) is not None and present < value


def _above(now: Mapping[str, int | None], value: int) -> Callable[[Any], bool]:
    """Whether a section has a larger number."""
    return lambda section: (present := now.get(section["name"])) is not None and present > value


def _least(now: Mapping[str, int | None], value: int) -> int | None:
    """The least number that would be raised."""
    return min((one for one in now.values() if one is not None and one < value), default=None)


def _most(now: Mapping[str, int | None], value: int) -> int | None:
    """The largest number that would be lowered."""
    return max((one for one in now.values() if one is not None and one > value), default=None)


def _in_packets(value: object, mss: int) -> int | None:
    read = read_quantity(value)
    return None if read is None else round(read[0] / mss if read[1] == "bytes" else read[0])


def _in_kib(value: object, mss: int) -> int | None:
    size = read_bytes(value, mss)
    return None if size is None else int(size / _KIB)


def _in_ms(value: object) -> int | None:
    read = read_quantity(value)
    return None if read is None else round(1000 * read[0])
