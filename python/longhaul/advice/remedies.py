"""The remedies that can be tried: what each changes, at whose machine, what it aims at, and its command on Linux."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import toml
from ..units import read_quantity
from .diagnosis import ASKING, HEADERS, Diagnosis, packets, uses_tcp

#: Who can be asked to change something, as `--can` has it.
PLACES = ("sender", "receiver", "router", "proxy")
#: How much of a change each place is: what is equally good is ranked by the sum.
_EFFORT = {"sender": 1, "receiver": 1, "router": 2, "proxy": 4}
#: Transfers of so many bytes are worth several streams.
_LONG = 1_000_000


@dataclass(frozen=True)
class Remedy:
    """A change that may help."""

    title: str
    #: Remedies of one family exclude one another: they change the same thing.
    family: str
    #: Whose machine is changed, one of `PLACES` or several with " and ".
    place: str
    #: Settings by path.
    settings: Mapping[str, Any]
    #: Findings, at least one of which it needs.
    aims: frozenset[str]
    #: Commands on Linux, if there are any.
    linux: str = ""
    effort: int = 1
    #: What it takes from those who adopt it, beside what is measured.
    cost: str = ""

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """The settings as the simulator takes them."""
        return [(path, toml.value(value)) for path, value in self.settings.items()]

    @property
    def set_line(self) -> str:
        """The settings as options of `longhaul run`.

        >>> Remedy("x", "x", "sender", {"flow.a.tcp.ecn": True}, frozenset()).set_line
        '--set flow.a.tcp.ecn=true'
        """
        return " ".join(f"--set {_quoted(f'{path}={_plain(value)}')}" for path, value in self.settings.items())

    @property
    def section(self) -> str:
        """For a proxy the sections that are its configuration, as in a scenario file; else an empty text."""
        boxes = self.settings.get("middlebox")
        return toml.document({"middlebox": boxes}) if boxes and "proxy" in self.place else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else toml.value(value)


def _quoted(text: str) -> str:
    return text if all(char.isalnum() or char in "._=-+[]" for char in text) else "'" + text.replace("'", "'\\''") + "'"


def both(first: Remedy, second: Remedy) -> Remedy | None:
    """Two remedies as one; `None` if they exclude each other."""
    if first.family == second.family or any(_overlap(a, b) for a in first.settings for b in second.settings):
        return None
    places = dict.fromkeys([*first.place.split(" and "), *second.place.split(" and ")])
    return Remedy(
        f"{first.title}; {second.title}",
        f"{first.family}+{second.family}",
        " and ".join(places),
        {**first.settings, **second.settings},
        first.aims | second.aims,
        "\n".join(line for line in (first.linux, second.linux) if line),
        first.effort + second.effort,
        "; ".join(cost for cost in (first.cost, second.cost) if cost),
    )


def _overlap(path: str, other: str) -> bool:
    """Whether one of two settings is the other one, or is inside it.

    >>> _overlap("flow.a.tcp", "flow.a.tcp.ecn"), _overlap("flow.a.tcp.ecn", "flow.ab.tcp.ecn")
    (True, False)
    """
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def allowed(remedy: Remedy, can: Iterable[str]) -> bool:
    """Whether only places that can be changed are changed."""
    return set(remedy.place.split(" and ")) <= set(can)


def remedies(found: Diagnosis) -> list[Remedy]:
    """All remedies for this scenario, whether or not they aim at what was found."""
    made: list[Remedy] = []
    for maker in (_congestion, _starts, _sending, _losses, _receiving, _quic, _queues, _returns, _proxies):
        made.extend(maker(found))
    return made


def _remedy(
    title: str, family: str, place: str, settings: Mapping[str, Any], aims: Iterable[str], linux: str = ""
) -> Remedy:
    effort = sum(_EFFORT[one] for one in place.split(" and "))
    return Remedy(title, family, place, settings, frozenset(aims), linux, effort)


def _each(found: Diagnosis, key: str, value: Any, only: Callable[[Any], bool] | None = None) -> dict[str, Any]:
    """A setting of every group that is to be served."""
    known = [section for section in found.sections if not key.startswith("tcp.") or uses_tcp(section)]
    chosen = [section for section in known if only is None or only(section)]
    return {f"flow.{found.keys[section['name']]}.{key}": value for section in chosen}


def _tcp(found: Diagnosis, key: str, value: Any) -> dict[str, Any]:
    """A setting of TCP in those groups that have another value."""
    return _each(found, f"tcp.{key}", value, lambda section: section["tcp"].get(key) != value)


#: Congestion controls, what they aim at, and their module in Linux.
_CONTROLS: dict[str, tuple[str, frozenset[str]]] = {
    "bbr": (
        "tcp_bbr",
        frozenset(
            {"loss on the link", "short queue", "standing queue", "overshoot", "outage", "changing link", "policed rate",
             "unequal shares"}
        ),
    ),
    "cubic": ("tcp_cubic", frozenset({"short queue", "changing link", "outage", "unequal shares"})),
    "hybla": ("tcp_hybla", frozenset({"loss on the link", "slow start", "outage"})),
    "westwood": ("tcp_westwood", frozenset({"loss on the link", "short queue", "changing link", "outage"})),
    "illinois": ("tcp_illinois", frozenset({"loss on the link", "short queue"})),
    "htcp": ("tcp_htcp", frozenset({"short queue", "loss on the link"})),
    "vegas": ("tcp_vegas", frozenset({"standing queue", "unequal shares"})),
    "reno": ("", frozenset({"unequal shares"})),
}  # fmt: skip


def _lacks(key: str, kind: str) -> Callable[[Any], bool]:
    """Whether a section has another algorithm than this one."""
    return lambda section: bool(section["tcp"][key]["kind"] != kind)


def _congestion(found: Diagnosis) -> Iterator[Remedy]:
    for name, (module, aims) in _CONTROLS.items():
        chosen = _each(found, "tcp.congestion", name, _lacks("congestion", name))
        if not chosen:
            continue
        load = f"modprobe {module} && " if module and name != "cubic" else ""
        yield _remedy(
            f"congestion control {name}",
            "congestion control",
            "sender",
            chosen,
            aims,
            f"{load}sysctl -w net.ipv4.tcp_congestion_control={name}",
        )


def _starts(found: Diagnosis) -> Iterator[Remedy]:
    for name, linux in (("hystart++", ""), ("limited", "")):
        chosen = _each(found, "tcp.slow_start", name, _lacks("slow_start", name))
        if chosen:
            yield _remedy(f"slow start {name}", "slow start", "sender", chosen, {"overshoot", "standing queue"}, linux)
    for count in (32, 64):
        yield _remedy(
            f"initial window of {count} packets",
            "initial window",
            "sender",
            _tcp(found, "initial_window", f"{count} packets"),
            {"slow start"},
            f"ip route change default via GATEWAY dev DEVICE initcwnd {count}",
        )
    yield _remedy(
        "the window is kept in pauses",
        "restart after idle",
        "sender",
        _tcp(found, "restart_after_idle", False),
        {"pauses"},
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
    )
    yield _remedy(
        "small segments are sent at once, without Nagle's algorithm",
        "Nagle",
        "sender",
        _tcp(found, "nagle", False),
        {"pauses", "small messages"},
        "# in the application: setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, 1)",
    )
    web = _each(
        found,
        "app.persistent",
        True,
        lambda section: section["app"]["kind"] == "web" and not section["app"].get("persistent", False),
    )
    if web:
        yield _remedy(
            "objects share persistent connections", "connections", "sender", web, {"a connection for each object"}
        )


def _sending(found: Diagnosis) -> Iterator[Remedy]:
    paced = _each(found, "tcp.pacing", "window", lambda section: section["tcp"]["pacing"]["kind"] == "off")
    if paced:
        yield _remedy(
            "pacing",
            "pacing",
            "sender",
            paced,
            {"short queue", "overshoot", "slow start", "policed rate"},
            "tc qdisc replace dev DEVICE root fq",
        )
    for count in (4, 8):
        streams = _each(found, "streams", count, _is_long)
        if streams:
            yield _remedy(
                f"{count} parallel streams for each transfer",
                "parallel streams",
                "sender",
                streams,
                {"loss on the link", "short queue", "slow start", "receiver's window", "no window scaling"},
            )
    for size in (1460, 536):
        aims = {"small segments"} if size > found.mss else {"too many flows"}
        if size != found.mss:
            mtu = size + HEADERS
            yield _remedy(
                f"segments of {size} bytes",
                "segment size",
                "sender and receiver",
                _tcp(found, "mss", f"{size} B"),
                aims,
                f"ip route change default via GATEWAY dev DEVICE advmss {size}  # both ends; the MTU is at least {mtu}",
            )


def _is_long(section: Mapping[str, Any]) -> bool:
    """Whether a flow is one long transfer: short ones in many streams only have many initial windows."""
    size = read_quantity(section["app"].get("size"))
    long = section["app"].get("size") is None or (size is not None and size[0] >= _LONG)
    return section["app"]["kind"] == "bulk" and long and not section.get("streams")


def _losses(found: Diagnosis) -> Iterator[Remedy]:
    old = _each(found, "tcp.variant", "sack", lambda section: section["tcp"]["variant"] in ("tahoe", "reno", "newreno"))
    if old:
        yield _remedy(
            "selective acknowledgements",
            "loss recovery",
            "sender and receiver",
            old,
            {"loss on the link", "overshoot", "short queue", "timeouts"},
            "sysctl -w net.ipv4.tcp_sack=1",
        )
    rack = _each(
        found, "tcp.variant", "rack", lambda section: section["tcp"]["variant"] in ("sack", "fack", "newreno", "reno")
    )
    if rack:
        yield _remedy(
            "RACK and tail loss probes",
            "loss recovery",
            "sender",
            rack,
            {"loss on the link", "timeouts", "overshoot", "outage"},
            "sysctl -w net.ipv4.tcp_recovery=1 net.ipv4.tcp_early_retrans=3",
        )
    reduced = _each(
        found,
        "tcp.rate_reduction",
        "safe_ack",
        lambda section: (
            section["tcp"]["rate_reduction"] == "off" and section["tcp"]["variant"] in ("sack", "fack", "rack")
        ),
    )
    if reduced:
        yield _remedy(
            "proportional rate reduction",
            "rate reduction",
            "sender",
            reduced,
            {"overshoot", "loss on the link", "short queue"},
        )
    late = {"timeouts", "outage", "changing link"}
    yield _remedy(
        "spurious timeouts are found (F-RTO)",
        "spurious timeouts",
        "sender",
        _each(
            found,
            "tcp.spurious_detection.f_rto",
            True,
            lambda section: not section["tcp"]["spurious_detection"]["f_rto"],
        ),
        late,
        "sysctl -w net.ipv4.tcp_frto=2",
    )
    yield _remedy(
        "retransmission timeouts of at most 3 s",
        "longest timeout",
        "sender",
        _each(found, "tcp.rto.max", "3 s"),
        {"outage"},
        "sysctl -w net.ipv4.tcp_rto_max_ms=3000",
    )
    yield _remedy(
        "retransmission timeouts from 200 ms",
        "least timeout",
        "sender",
        _each(found, "tcp.rto.min", "200 ms"),
        {"timeouts"},
        "ip route change default via GATEWAY dev DEVICE rto_min 200ms",
    )


def _receiving(found: Diagnosis) -> Iterator[Remedy]:
    pipe = found.pipe_packets * found.mss * 2
    size = max(65_536, 1 << math.ceil(math.log2(max(2, pipe))))
    aims = {"receiver's window"}
    yield _remedy(
        f"receive buffer of {size // 1024:,} KiB",
        "receive buffer",
        "receiver",
        {
            **_each(found, "tcp.receive_buffer", f"{size} B"),
            **_each(found, "tcp.window_scaling", True, lambda section: not section["tcp"]["window_scaling"]),
        },
        aims,
        f'sysctl -w net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_rmem="4096 131072 {2 * size}"',
    )
    unscaled = _each(found, "tcp.window_scaling", True, lambda section: not section["tcp"]["window_scaling"])
    if unscaled:
        yield _remedy(
            "window scaling",
            "window scaling",
            "receiver",
            unscaled,
            {"no window scaling"},
            "sysctl -w net.ipv4.tcp_window_scaling=1",
        )
    yield _remedy(
        "an ACK for every segment",
        "ACKs",
        "receiver",
        _each(found, "tcp.ack_every", 1),
        {"slow start", "pauses"},
        "ip route change default via GATEWAY dev DEVICE quickack 1",
    )
    for every in (8, 16):
        yield _remedy(
            f"an ACK for every {every} segments",
            "ACKs",
            "receiver",
            _each(found, "tcp.ack_every", every),
            {"full return link"},
        )
    yield _remedy(
        "ACK congestion control (RFC 5690)",
        "ACKs",
        "sender and receiver",
        _each(found, "tcp.ack_congestion_control", True),
        {"full return link"},
    )


#: QUIC's settings, and what each aims at; the first two differ from TCP by what they take for congestion.
_QUICS: tuple[tuple[str, dict[str, Any], frozenset[str]], ...] = (
    (
        "QUIC with BBR instead of TCP",
        {"congestion": "bbr3"},
        frozenset(
            {"loss on the link", "short queue", "standing queue", "a connection for each object", "policed rate"}
        ),
    ),
    (
        "QUIC with CUBIC and HyStart++ instead of TCP",
        {"congestion": "cubic", "slow_start": "hystart++"},
        frozenset({"overshoot", "receiver's window", "no window scaling", "a connection for each object", "timeouts"}),
    ),
    (
        "QUIC with data in its first flight (0-RTT) instead of TCP",
        {"congestion": "cubic", "slow_start": "hystart++", "handshake": "early_data"},
        frozenset({"slow start", "a connection for each object"}),
    ),
)


def _quic(found: Diagnosis) -> Iterator[Remedy]:
    window = max(1_250_000, 4 * found.pipe_packets * found.mss)
    path: dict[str, Any] = {"handshake": "resumed", "stream_window": f"{window} B", "unordered": True}
    if found.rtt > 1.0:
        # Else handshake packets are sent twice (RFC 9002 section 6.2.2).
        path["initial_rtt"] = f"{math.ceil(1000 * found.rtt)} ms"
    boxes = [str(box.get("name") or box["kind"]) for box in found.content.get("middlebox", ())]
    cost = "both applications have to use QUIC over UDP"
    if boxes:
        cost += f", which {' and '.join(boxes)} cannot read"
    for title, own, aims in _QUICS:
        settings: dict[str, Any] = {}
        for section in found.sections:
            if uses_tcp(section) and not section.get("streams"):
                flow = f"flow.{found.keys[section['name']]}"
                settings |= {f"{flow}.tcp": {}, f"{flow}.transport": "quic", f"{flow}.quic": path | own}
        yield replace(_remedy(title, "transport", "sender and receiver", settings, aims), cost=cost)


def _queues(found: Diagnosis) -> Iterator[Remedy]:
    link = found.bottleneck
    if link is None:
        return
    place = f"{found.place(link)}.queue"
    queue = found.setting(link, "queue") or {}
    limit = packets(queue.get("limit")) or 1000
    pipe = found.pipe_packets
    flows = max(1, len(found.flows))
    now = (queue.get("kind"), limit)
    lengths: dict[int, set[str]] = {}
    if pipe > limit:
        lengths[pipe] = {"short queue", "overshoot"}
    for length in (max(10, math.ceil(pipe / math.sqrt(flows))), max(10, pipe // 4)):
        if length < limit and length not in lengths:
            lengths[length] = {"standing queue"}
    if 10 * flows > limit:
        lengths[10 * flows] = {"too many flows"}
    for length, aims in lengths.items():
        if now != ("droptail", length):
            yield _remedy(
                f"a queue of {length:,} packets at {_short(link)}",
                "queue",
                "router",
                {place: {"kind": "droptail", "limit": f"{length} packets"}},
                aims,
                f"tc qdisc replace dev DEVICE root pfifo limit {length}",
            )
    # CoDel's interval is about a worst round trip, its target 5 % of that (RFC 8289 section 4.3 and 4.4).
    interval = max(100, math.ceil(1000 * found.rtt))
    timing = {"interval": f"{interval} ms", "target": f"{max(5, interval // 20)} ms"}
    room = max(limit, pipe)
    shown = f"interval {interval}ms target {timing['target'].replace(' ', '')}"
    disciplines: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("fq_codel", timing, f"fq_codel limit {room} {shown}"),
        ("codel", timing, f"codel limit {room} {shown}"),
        ("pie", {}, f"pie limit {room}"),
        ("fq", {}, ""),
    )
    for kind, more, linux in disciplines:
        if queue.get("kind") == kind:
            continue
        aims = {"standing queue", "unequal shares", "too many flows"}
        if kind == "fq":
            aims -= {"standing queue"}
        settings = {place: {"kind": kind, "limit": f"{room} packets", **more}}
        command = f"tc qdisc replace dev DEVICE root {linux}" if linux else "tc qdisc replace dev DEVICE root sfq"
        yield _remedy(f"{kind} at {_short(link)}", "queue", "router", settings, aims, command)
        if kind in ("fq_codel", "codel"):
            marked = _tcp(found, "ecn", True)
            if marked:
                yield _remedy(
                    f"{kind} at {_short(link)}, with ECN",
                    "queue",
                    "router and sender and receiver",
                    {**settings, **marked},
                    aims | {"short queue"},
                    f"{command} ecn\nsysctl -w net.ipv4.tcp_ecn=1",
                )


def _returns(found: Diagnosis) -> Iterator[Remedy]:
    thin, aims = found.thin, {"full return link"}
    if thin is None:
        return
    place = found.place(thin)
    yield _remedy(
        f"a queue of 10 packets at {_short(thin)}",
        "return queue",
        "router",
        {f"{place}.queue": {"kind": "droptail", "limit": "10 packets"}},
        aims,
        "tc qdisc replace dev DEVICE root pfifo limit 10",
    )
    yield _remedy(
        f"a queue for each flow at {_short(thin)}",
        "return queue",
        "router",
        {f"{place}.queue": {"kind": "fq_codel", "limit": "1000 packets"}},
        {"data on the return link"},
        "tc qdisc replace dev DEVICE root fq_codel",
    )
    serial = found.setting(thin, "serial")
    if not (serial or {}).get("vj") and not (serial or {}).get("rohc"):
        line = dict(serial or {"framing": "none", "bits_per_byte": 8})
        yield _remedy(
            f"headers are compressed at {_short(thin)} (ROHC)",
            "header compression",
            "router",
            {f"{place}.serial": {**line, "rohc": {}}},
            aims,
        )
    boxes = list(found.content.get("middlebox", ()))
    if found.inner(thin["from"]):
        box = {"kind": "ack_filter", "at": thin["from"], "name": _free("ack-filter", boxes)}
        for every in (4, 16):
            yield _remedy(
                f"an ACK filter at {thin['from']}: one of {every} passes",
                "ACK filter",
                "proxy",
                {"middlebox": [*boxes, {**box, "every": every}]},
                aims,
            )
        if found.inner(thin["to"]):
            box = {"kind": "ack_compaction", "at": thin["from"], "peer": thin["to"], "name": _free("tunnel", boxes)}
            yield _remedy(
                f"ACK compaction from {thin['from']} to {thin['to']}",
                "ACK filter",
                "proxy",
                {"middlebox": [*boxes, box]},
                aims,
            )


#: With the sections in the scenario: the files of both nodes, and the programs that run them.
_DEPLOY = "longhaul pep-config SCENARIO; longhaul-pep run --config FILE   # at both nodes"


def _proxies(found: Diagnosis) -> Iterator[Remedy]:
    boxes = list(found.content.get("middlebox", ()))
    aims = {"loss on the link", "slow start", "short queue", "outage", "overshoot", "receiver's window", "pauses"}
    for box in boxes:
        if box["kind"] == "split" and box.get("name"):
            if (box.get("long") or {}).get("transport") == "hop":
                return
            yield _remedy(
                f"BBR on the long hop of {box['name']}",
                "proxy",
                "proxy",
                {f"middlebox.{box['name']}.long.congestion": "bbr"},
                aims,
            )
            defaults = (box.get("connections"), box.get("framing"), box.get("local_queue")) == (1, "header", None)
            if box.get("peer") and defaults:
                yield _remedy(
                    f"the accelerator's hop between the nodes of {box['name']}",
                    "proxy",
                    "proxy",
                    {f"middlebox.{box['name']}.long": {"transport": "hop"}},
                    aims,
                    _DEPLOY,
                )
            return
    link = found.long
    if link is None or any(box["kind"] in ("paced", "premature_ack", "snoop") for box in boxes):
        return
    # In the direction of the data: from the answering side to the asking one.
    asking = any(section["app"]["kind"] in ASKING for section in found.sections)
    first, last = link["from"], link["to"]
    name = _free("pep", boxes)
    buffer = f"{max(1_000_000, 4 * found.pipe_packets * found.mss)} B"
    fast = {"congestion": "bbr", "receive_buffer": f"{max(1_000_000, 8 * found.pipe_packets * found.mss)} B"}
    at_both = found.inner(first) and found.inner(last)
    if at_both:
        box = {"kind": "split", "name": name, "at": first, "peer": last, "buffer": buffer, "long": {"transport": "hop"}}
        yield _remedy(
            f"an accelerator at {first} and {last} (longhaul-pep)",
            "proxy",
            "proxy",
            {"middlebox": [*boxes, box]},
            aims,
            _DEPLOY,
        )
        for connections, title in (("per_flow", "a connection for each flow"), (1, "one connection for all")):
            box = {"kind": "split", "name": name, "at": first, "peer": last, "buffer": buffer, "connections": connections,
                   "long": fast}  # fmt: skip
            yield _remedy(
                f"a proxy at {first} and {last}: BBR between them, {title}",
                "proxy",
                "proxy",
                {"middlebox": [*boxes, box]},
                aims,
            )
    alone = first if found.inner(first) else last if found.inner(last) else None
    if alone is not None:
        # Only upstream of the long link does the proxy send over it: to the passive opener, or to the one who asks.
        side = "near" if asking else "far"
        changes = {side: {"congestion": "bbr"}} if alone == first else {}
        box = {"kind": "split", "name": name, "at": alone, "buffer": buffer, **changes}
        yield _remedy(
            f"a proxy at {alone}, BBR from there on" if changes else f"a proxy at {alone}",
            "proxy",
            "proxy",
            {"middlebox": [*boxes, box]},
            aims,
        )
    if found.inner(first) and not asking:
        limit = f"{2 * found.pipe_packets} packets"
        yield _remedy(
            f"premature ACKs at {first}",
            "proxy",
            "proxy",
            {"middlebox": [*boxes, {"kind": "premature_ack", "name": name, "at": first, "buffer": limit}]},
            {"loss on the link", "slow start", "outage"},
        )
        yield _remedy(
            f"a snoop agent at {first}",
            "proxy",
            "proxy",
            {"middlebox": [*boxes, {"kind": "snoop", "name": name, "at": first, "cache": limit}]},
            {"loss on the link"},
        )


def _short(link: Mapping[str, Any]) -> str:
    return f"{str(link['name']).rsplit('.', 1)[0]} ({link['from']} → {link['to']})"


def _free(name: str, boxes: Iterable[Mapping[str, Any]]) -> str:
    taken = {box.get("name") for box in boxes}
    return next(one for number in range(1, 1000) if (one := name if number == 1 else f"{name}{number}") not in taken)
