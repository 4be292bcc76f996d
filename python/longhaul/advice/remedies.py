"""The remedies that can be tried: what each changes, at whose machine, what it aims at, and its command on Linux."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..applications import ASKING
from ..units import quantity, read_quantity
from ..why.case import link_name
from .diagnosis import HEADERS, Diagnosis, uses_tcp
from .numbers import (
    ack_filters,
    buffers,
    duplicate_thresholds,
    endurance,
    fewer_acks,
    initial_windows,
    parallel_streams,
    patience,
    return_queue,
    timeouts,
)
from .queues import queues
from .quic import instead_of_tcp, of_quic
from .remedy import Remedy, dialled, each, lacks, remedy, tcp


def remedies(found: Diagnosis) -> list[Remedy]:
    """All remedies for this scenario, whether or not they aim at what was found."""
    made: list[Remedy] = []
    for maker in (
        _congestion,
        _starts,
        _sending,
        _own_limits,
        _losses,
        _receiving,
        instead_of_tcp,
        of_quic,
        queues,
        _clamps,
        _grants,
        _returns,
        _proxies,
    ):
        made.extend(maker(found))
    return made


#: Congestion controls, what they aim at, and their module in Linux.
_CONTROLS: dict[str, tuple[str, frozenset[str]]] = {
    "bbr": (
        "tcp_bbr",
        frozenset(
            {"loss on the link", "short queue", "standing queue", "overshoot", "outage", "changing link", "policed rate",
             "unequal shares", "reordering", "loss of ACKs", "fixed window"}
        ),
    ),
    "cubic": ("tcp_cubic", frozenset({"short queue", "changing link", "outage", "unequal shares", "fixed window"})),
    "hybla": ("tcp_hybla", frozenset({"loss on the link", "slow start", "outage"})),
    "westwood": ("tcp_westwood", frozenset({"loss on the link", "short queue", "changing link", "outage"})),
    "illinois": ("tcp_illinois", frozenset({"loss on the link", "short queue"})),
    "htcp": ("tcp_htcp", frozenset({"short queue", "loss on the link"})),
    "vegas": ("tcp_vegas", frozenset({"standing queue", "unequal shares"})),
    "reno": ("", frozenset({"unequal shares"})),
}  # fmt: skip
#: Those that many servers use. Another one is the larger change: what it does beside the others' flows is known to few.
_COMMON = frozenset({"bbr", "cubic", "reno"})


def _congestion(found: Diagnosis) -> Iterator[Remedy]:
    for name, (module, aims) in _CONTROLS.items():
        chosen = each(found, "tcp.congestion", name, lacks("congestion", name))
        if not chosen:
            continue
        load = f"modprobe {module} && " if module and name != "cubic" else ""
        made = remedy(
            f"congestion control {name}",
            "congestion control",
            "sender",
            chosen,
            aims,
            f"{load}sysctl -w net.ipv4.tcp_congestion_control={name}",
        )
        yield made if name in _COMMON else replace(made, effort=made.effort + 1)


def _starts(found: Diagnosis) -> Iterator[Remedy]:
    late = {"overshoot", "standing queue"}
    for name, aims in (("hystart++", late), ("limited", late), ("search", late | {"early exit of slow start"})):
        chosen = each(found, "tcp.slow_start", name, lacks("slow_start", name))
        if chosen:
            yield remedy(f"slow start {name}", "slow start", "sender", chosen, aims, "")
    plain = each(
        found, "tcp.slow_start", "standard", lambda section: section["tcp"]["slow_start"]["kind"].startswith("hystart")
    )
    if plain:
        yield remedy(
            "slow start without HyStart",
            "slow start",
            "sender",
            plain,
            {"early exit of slow start"},
            "echo 0 > /sys/module/tcp_cubic/parameters/hystart",
        )
    remembered = each(
        found,
        "tcp.initial_ssthresh",
        "1000000 packets",
        lambda section: section["tcp"].get("initial_ssthresh") is not None,
    )
    if remembered:
        yield remedy(
            "no ssthresh from the beginning (none is remembered of earlier connections)",
            "ssthresh",
            "sender",
            remembered,
            {"low ssthresh"},
            "sysctl -w net.ipv4.tcp_no_metrics_save=1 && ip tcp_metrics flush",
        )
    yield from initial_windows(found)
    yield remedy(
        "the window is kept in pauses",
        "restart after idle",
        "sender",
        tcp(found, "restart_after_idle", False),
        {"pauses", "a connection for each object"},
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
    )
    yield remedy(
        "small segments are sent at once, without Nagle's algorithm",
        "Nagle",
        "sender",
        tcp(found, "nagle", False),
        {"pauses", "small messages"},
        "# in the application: setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, 1)",
    )
    web = each(
        found,
        "app.persistent",
        True,
        lambda section: section["app"]["kind"] == "web" and not section["app"].get("persistent", False),
    )
    if web:
        yield remedy(
            "objects share persistent connections", "connections", "sender", web, {"a connection for each object"}
        )


def _sending(found: Diagnosis) -> Iterator[Remedy]:
    paced = each(found, "tcp.pacing", "window", lambda section: section["tcp"]["pacing"]["kind"] == "off")
    if paced:
        yield remedy(
            "pacing",
            "pacing",
            "sender",
            paced,
            {"short queue", "overshoot", "slow start", "policed rate"},
            "tc qdisc replace dev DEVICE root fq",
        )
    yield from parallel_streams(found)
    yield from patience(found)
    yield from endurance(found)
    for size in (1460, 536):
        aims = {"small segments"} if size > found.mss else {"too many flows"}
        if size != found.mss:
            mtu = size + HEADERS
            yield remedy(
                f"segments of {size} bytes",
                "segment size",
                "sender and receiver",
                each(found, "tcp.mss", f"{size} B", _has_other_segments(size)),
                aims,
                f"ip route change default via GATEWAY dev DEVICE advmss {size}  # both ends; the MTU is at least {mtu}",
            )


def _has_other_segments(size: int) -> Callable[[Any], bool]:
    return lambda section: _mss(section) != size


def _mss(section: Mapping[str, Any]) -> int:
    read = read_quantity(section["tcp"].get("mss"))
    return round(read[0]) if read else 1460


def _clamps(found: Diagnosis) -> Iterator[Remedy]:
    """A clamp that lowers the MSS below what the hosts announce."""
    own = min((_mss(section) for section in found.sections if uses_tcp(section)), default=0)
    for number, box in enumerate(found.content.get("middlebox", ())):
        read = read_quantity(box.get("mss")) if box["kind"] == "mss_clamp" else None
        if not read or read[0] >= own:
            continue
        name = str(box.get("name") or "the clamp")

        def made(
            size: int,
            name: str = name,
            at: str = box["at"],
            key: str = str(box.get("name") or number),
            now: int = round(read[0]),
        ) -> Remedy:
            return remedy(
                f"an MSS of {size:,} bytes at {name} ({at})",
                "segment size",
                "router",
                {f"middlebox.{key}.mss": f"{size} B"},
                {"small segments"},
                f"iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS --set-mss {size}"
                f"  # in place of the rule with {now}; or --clamp-mss-to-pmtu",
            )

        yield dialled("MSS", round(read[0]), own, "bytes", made)


def _own_limits(found: Diagnosis) -> Iterator[Remedy]:
    """Rates that applications and their sockets set themselves: the link's takes their place."""
    if found.bottleneck is None:
        return
    full = str(found.setting(found.bottleneck, "rate"))
    paced = each(found, "tcp.max_pacing_rate", full, lambda section: "max_pacing_rate" in section["tcp"])
    if paced:
        yield remedy(
            f"a largest pacing rate of {full}, the link's",
            "pacing rate",
            "sender",
            paced,
            {"pacing rate"},
            "# in the application: setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, ~0); or tc qdisc replace dev DEVICE root fq, without maxrate",
        )
    reading = each(found, "tcp.reading_rate", full, lambda section: "reading_rate" in section["tcp"])
    if reading:
        yield remedy(
            f"an application that reads {full}, as fast as the link",
            "reading",
            "receiver",
            reading,
            {"slow reader"},
            "# in the receiving application: read while it works, from a thread of its own; faster storage",
        )


def _losses(found: Diagnosis) -> Iterator[Remedy]:
    old = each(found, "tcp.variant", "sack", lambda section: section["tcp"]["variant"] in ("tahoe", "reno", "newreno"))
    if old:
        yield remedy(
            "selective acknowledgements",
            "loss recovery",
            "sender and receiver",
            old,
            {"loss on the link", "overshoot", "short queue", "timeouts"},
            "sysctl -w net.ipv4.tcp_sack=1",
        )
    rack = each(
        found, "tcp.variant", "rack", lambda section: section["tcp"]["variant"] in ("sack", "fack", "newreno", "reno")
    )
    if rack:
        yield remedy(
            "RACK and tail loss probes",
            "loss recovery",
            "sender",
            rack,
            {"loss on the link", "timeouts", "overshoot", "outage", "reordering", "loss of ACKs"},
            "sysctl -w net.ipv4.tcp_recovery=1 net.ipv4.tcp_early_retrans=3",
        )
    reduced = each(
        found,
        "tcp.rate_reduction",
        "safe_ack",
        lambda section: (
            section["tcp"]["rate_reduction"] == "off" and section["tcp"]["variant"] in ("sack", "fack", "rack")
        ),
    )
    if reduced:
        yield remedy(
            "proportional rate reduction",
            "rate reduction",
            "sender",
            reduced,
            {"overshoot", "loss on the link", "short queue"},
        )
    late = {"timeouts", "outage", "changing link"}
    yield remedy(
        "spurious timeouts are found (F-RTO)",
        "spurious timeouts",
        "sender",
        each(
            found,
            "tcp.spurious_detection.f_rto",
            True,
            lambda section: not section["tcp"]["spurious_detection"]["f_rto"],
        ),
        late,
        "sysctl -w net.ipv4.tcp_frto=2",
    )
    yield from timeouts(found)
    yield from duplicate_thresholds(found)


def _receiving(found: Diagnosis) -> Iterator[Remedy]:
    yield from buffers(found)
    unscaled = each(found, "tcp.window_scaling", True, lambda section: not section["tcp"]["window_scaling"])
    if unscaled:
        yield remedy(
            "window scaling",
            "window scaling",
            "receiver",
            unscaled,
            {"no window scaling"},
            "sysctl -w net.ipv4.tcp_window_scaling=1",
        )
    yield remedy(
        "an ACK for every segment",
        "ACKs",
        "receiver",
        each(found, "tcp.ack_every", 1),
        {"slow start", "pauses", "loss of ACKs", "delayed ACKs"},
        "ip route change default via GATEWAY dev DEVICE quickack 1",
    )
    yield from fewer_acks(found)
    yield remedy(
        "ACK congestion control (RFC 5690)",
        "ACKs",
        "sender and receiver",
        each(found, "tcp.ack_congestion_control", True),
        {"full return link"},
    )


def _grants(found: Diagnosis) -> Iterator[Remedy]:
    """Capacity that a terminal has without a request, in place of a part of what it requests."""
    for link in found.acks:
        demand, rate = found.setting(link, "demand"), float(link["rate_bps"])
        for part, words in ((4, "a quarter"), (1, "all")):
            constant = f"{round(rate / part)} bit/s"
            if not demand or ((now := read_quantity(demand.get("constant"))) and now[0] >= rate / part):
                continue
            made = remedy(
                f"{words} of {link_name(link)} assigned without a request",
                "grants",
                "router",
                {f"{found.path([link], 'demand')[0]}.constant": constant},
                {"grants"},
            )
            yield replace(made, cost=f"{quantity(rate / part, 'bit/s')} of the carrier is this terminal's, used or not")


def _returns(found: Diagnosis) -> Iterator[Remedy]:
    thin, aims = found.thin, {"full return link"}
    if thin is None:
        return
    yield from return_queue(found)
    yield remedy(
        f"a queue for each flow at {link_name(thin)}",
        "return queue",
        "router",
        {found.path([thin], "queue")[0]: {"kind": "fq_codel", "limit": "1000 packets"}},
        aims,
        "tc qdisc replace dev DEVICE root fq_codel",
    )
    serial = found.setting(thin, "serial")
    if not (serial or {}).get("vj") and not (serial or {}).get("rohc"):
        line = dict(serial or {"framing": "none", "bits_per_byte": 8})
        yield remedy(
            f"headers are compressed at {link_name(thin)} (ROHC)",
            "header compression",
            "router",
            {found.path([thin], "serial")[0]: {**line, "rohc": {}}},
            aims,
        )
    boxes = list(found.content.get("middlebox", ()))
    if found.inner(thin["from"]):
        yield from ack_filters(found, boxes, _free("ack-filter", boxes))
        if found.inner(thin["to"]):
            box = {"kind": "ack_compaction", "at": thin["from"], "peer": thin["to"], "name": _free("tunnel", boxes)}
            yield remedy(
                f"ACK compaction from {thin['from']} to {thin['to']}",
                "ACK filter",
                "proxy",
                {"middlebox": [*boxes, box]},
                aims,
            )


#: With the sections in the scenario: the files of both nodes, and the programs that run them.
_DEPLOY = "longhaul pep-config SCENARIO --out DIR; longhaul-pep run --config FILE   # at both nodes"


def _proxies(found: Diagnosis) -> Iterator[Remedy]:
    if all(section.get("transport") == "udp" for section in found.sections):
        # They let datagrams pass.
        return
    boxes = list(found.content.get("middlebox", ()))
    aims = {
        "loss on the link", "slow start", "short queue", "outage", "overshoot", "receiver's window", "pauses",
        "a connection for each object", "reordering", "loss of ACKs",
    }  # fmt: skip
    for box in boxes:
        if box["kind"] == "paced" and box.get("name"):
            yield from _paced(box)
        if box["kind"] == "split" and box.get("name"):
            yield from _hop_rates(found, box)
            if (box.get("long") or {}).get("transport") == "hop":
                return
            yield remedy(
                f"BBR on the long hop of {box['name']}",
                "proxy",
                "proxy",
                {f"middlebox.{box['name']}.long.congestion": "bbr"},
                aims | {"proxy's congestion control"},
            )
            defaults = (box.get("connections"), box.get("framing"), box.get("local_queue")) == (1, "header", None)
            if box.get("peer") and defaults:
                yield remedy(
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
    # The sender fills it, and what is under way or waits beyond a loss is held besides: half a bandwidth-delay product bridges a
    # pause of the sender's, and more only waits.
    room = math.ceil(max(262_144, found.pipe_packets * found.mss / 2) / 1024)
    fast = {"congestion": "bbr", "receive_buffer": f"{max(1_000_000, 8 * found.pipe_packets * found.mss)} B"}
    at_both = found.inner(first) and found.inner(last)
    if at_both:
        box = {
            "kind": "split",
            "name": name,
            "at": first,
            "peer": last,
            "buffer": f"{room} KiB",
            "long": {"transport": "hop"},
        }
        yield remedy(
            f"an accelerator at {first} and {last} (longhaul-pep)",
            "proxy",
            "proxy",
            {"middlebox": [*boxes, box]},
            aims,
            _DEPLOY,
        )
        for connections, title in (("per_flow", "a connection for each flow"), (1, "one connection for all")):
            box = {"kind": "split", "name": name, "at": first, "peer": last, "connections": connections, "long": fast}
            whole = f"a proxy at {first} and {last}: BBR between them, {title}"
            yield _split(whole, box, room, boxes, aims)
    alone = first if found.inner(first) else last if found.inner(last) else None
    if alone is not None:
        # Only upstream of the long link does the proxy send over it: to the passive opener, or to the one who asks.
        side = "near" if asking else "far"
        changes = {side: {"congestion": "bbr"}} if alone == first else {}
        box = {"kind": "split", "name": name, "at": alone, **changes}
        title = f"a proxy at {alone}, BBR from there on" if changes else f"a proxy at {alone}"
        yield _split(title, box, room, boxes, aims)
    if found.inner(first) and not asking:
        yield from _helpers(found, first, name, boxes)


def _paced(box: Mapping[str, Any]) -> Iterator[Remedy]:
    """Settings of a paced protocol against losses: what waits beyond one of them needs room, and parities restore some."""
    at = f"middlebox.{box['name']}"
    for credit in ("128 MB", "512 MB"):
        yield remedy(
            f"a credit of {credit} for each connection of {box['name']}",
            "proxy",
            "proxy",
            {f"{at}.credit": credit},
            {"proxy's buffer", "loss on the link", "outage"},
        )
    if not box.get("erasure"):
        yield remedy(
            f"two parities for each 20 datagrams of {box['name']}",
            "proxy",
            "proxy",
            {f"{at}.erasure": {"items": 20, "parities": 2}},
            {"loss on the link"},
        )


def _hop_rates(found: Diagnosis, box: Mapping[str, Any]) -> Iterator[Remedy]:
    """The rates at which a hop begins, where the file has others than the links."""
    for key, links in (("forward_rate", found.data), ("reverse_rate", found.acks)):
        between = [link for link in links if {link["from"], link["to"]} == {box["at"], box.get("peer")}]
        if not between or not (box.get("long") or {}).get(key):
            continue
        # As without the setting: a little below the link's, so that no queue stands before it.
        rate = f"{round(0.997 * min(float(link['rate_bps']) for link in between))} bit/s"
        yield remedy(
            f"the hop of {box['name']} begins at {rate} ({key})",
            "proxy",
            "proxy",
            {f"middlebox.{box['name']}.long.{key}": rate},
            {"proxy's rate"},
        )


def _split(title: str, box: Mapping[str, Any], room: int, boxes: list[Any], aims: set[str]) -> Remedy:
    """A proxy that ends connections, with a buffer of so many KiB for each direction of each flow."""

    def made(size: int) -> Remedy:
        return remedy(title, "proxy", "proxy", {"middlebox": [*boxes, {**box, "buffer": f"{size} KiB"}]}, aims)

    return dialled("buffer of the proxy", 0, room, "KiB", made)


def _helpers(found: Diagnosis, at: str, name: str, boxes: list[Any]) -> Iterator[Remedy]:
    """Proxies that hold copies of segments and end no connection."""
    for kind, title, room, aims in (
        ("premature_ack", "premature ACKs", "buffer", {"loss on the link", "slow start", "outage"}),
        ("snoop", "a snoop agent", "cache", {"loss on the link"}),
    ):

        def made(length: int, kind: str = kind, title: str = title, room: str = room, aims: set[str] = aims) -> Remedy:
            box = {"kind": kind, "name": name, "at": at, room: f"{length} packets"}
            return remedy(f"{title} at {at}", "proxy", "proxy", {"middlebox": [*boxes, box]}, aims)

        yield dialled(f"{room} of {title} at {at}", 0, 2 * found.pipe_packets, "packets", made)


def _free(name: str, boxes: Iterable[Mapping[str, Any]]) -> str:
    taken = {box.get("name") for box in boxes}
    return next(one for number in range(1, 1000) if (one := name if number == 1 else f"{name}{number}") not in taken)
