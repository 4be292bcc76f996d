"""The one table of interventions: what can be taken away from a scenario, how, when that can matter, and how people call it.

An explanation takes them away and runs again; advice tries the remedies that are for the same cause. `Intervention.cause` joins
the two: a remedy (`longhaul.advice.remedies`) names the causes that it is for.

Whether one applies is never a guess: it is left out only where it cannot have had an effect, since what it takes away was not met
in the run (no packet was dropped, no outage fell into the flows' time).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import script
from ..applications import ASKING
from ..naming import listed
from ..script import seconds
from ..units import apart, counted, quantity, read_bytes, read_limit
from .case import (
    HEADERS,
    Case,
    carrier_of,
    clear,
    clear_both,
    crosses,
    link_name,
    metric,
    put,
    rate_of,
    section_of,
    setting,
    shaper_of,
    spec_of,
    ways,
)

#: What can be had by a setting or by other behaviour; then congestion control itself; then the path, which is what it is.
ORDINARY, CONTROL, PATH = range(3)
#: Shares of time below this are nothing that could be taken away.
_SOME = 0.005
#: The largest window of TCP: 65,535 bytes, shifted by 14 (RFC 7323 section 2.3).
LARGEST_WINDOW = 65_535 * 2**14
#: The largest window without window scaling (RFC 9293 section 3.1).
_LARGEST_UNSCALED = 65_535
#: How much faster a link is made that ACKs or other data share.
_FASTER = 100
#: How much faster the path's own link is made: enough to see that it is the limit.
_TWICE = 2
#: Probes of a path's shortest round trip take nothing if they come this many round trips apart.
_APART = 20
#: So many packets lost at a reduction are a burst.
_BURST = 10
#: A link that is in use less is not the path's limit.
_USED = 0.1
#: A link that is in use more is full.
_FULL = 0.9
#: Flows with so many times their equal share have more than that: what explanations call an effect.
_MORE = 1.05
#: With fewer packets than these in a round trip a loss is repaired by a timeout, not by duplicate ACKs (RFC 5681).
_FEW = 4


@dataclass(frozen=True)
class Intervention:
    """One thing that can be taken away."""

    #: What it is in the scenario, so that the same change for two groups is run once.
    key: str
    #: The finding that remedies name.
    cause: str
    #: What is taken away, in words that follow "limited by".
    clause: str
    #: Takes it away from a resolved scenario.
    apply: Callable[[dict[str, Any]], None]
    stage: int = ORDINARY
    #: Gains beyond the group's fair share of the path do not count: what others give up was theirs.
    to_share: bool = False


def interventions(case: Case) -> list[Intervention]:
    """Those that can have an effect on a group; of equal effects the first is named."""
    if case.is_udp:
        # There are no windows, timers or repairs, and nothing comes back.
        return [
            one
            for maker in (_grants, _half_duplex, _wire, _own_losses, _takers, _queues, _script, _routes, _others, _path)
            for one in maker(case)
        ]
    makers = (
        _timers, _windows, _own_pace, _returns, _grants, _half_duplex, _proxies, _wire, _own_losses, _row, _overshoot, _takers, _queues, _script, _routes, _others, _small,
        _starts, _repairs, _crowd, _control,
    )  # fmt: skip
    return [one for maker in (*makers, _path) for one in maker(case)]


def _set(case: Case, values: dict[str, Any], *without: str) -> Callable[[dict[str, Any]], None]:
    """Changes settings of the connections of a group."""
    group, table = case.group, "quic" if case.is_quic else "tcp"

    def apply(content: dict[str, Any]) -> None:
        settings = section_of(content, group).setdefault(table, {})
        for key, value in values.items():
            if isinstance(value, dict) and "kind" not in value:
                settings[key] = {**(settings.get(key) or {}), **value}
            else:
                settings[key] = value
        for key in without:
            settings.pop(key, None)

    return apply


def _timers(case: Case) -> Iterator[Intervention]:
    """Timers that are shorter than the path, or that wait too long."""
    name, settings, rtt = case.group, case.transport, case.rtt
    if case.is_quic:
        first = seconds(settings.get("initial_rtt"))
        if 3 * first < 2 * rtt:
            timeout, trip = apart([3 * first, rtt], "s")
            yield Intervention(
                f"initial_rtt {name}", "handshake", f"QUIC's first timeout of {timeout}, less than twice the round trip of {trip}",
                _set(case, {"initial_rtt": f"{math.ceil(1000 * rtt)} ms"}),
            )  # fmt: skip
        idle = seconds(settings.get("idle_timeout"))
        ended = any(flow.get("state") == "Closed" and not metric(flow, "completion_time_s") for flow in case.flows)
        if ended and not settings.get("unordered"):
            yield Intervention(
                f"unordered {name}", "gaps in a stream", "QUIC's end of the connection when a stream has too many gaps (unordered = false)",
                _set(case, {"unordered": True}),
            )  # fmt: skip
        if ended and idle:
            yield Intervention(
                f"idle_timeout {name}", "giving up", f"QUIC's idle timeout of {quantity(idle, 's')}", _set(case, {"idle_timeout": "off"})
            )  # fmt: skip
        yield from _probes(case)
        return
    rto = settings.get("rto") or {}
    first = seconds(rto.get("initial"))
    if first < 1.5 * rtt and not settings.get("established"):
        enough = math.ceil(4 * rtt)
        timeout, trip = apart([first, rtt], "s")
        yield Intervention(
            f"rto.initial {name}", "handshake", f"a first retransmission timeout of {timeout} (rto.initial), shorter than the round trip of {trip}"
            if first < rtt else f"a first retransmission timeout of {timeout} (rto.initial) at a round trip of {trip}",
            _set(case, {"rto": {"initial": f"{enough} s", "max": f"{max(enough, math.ceil(seconds(rto.get('max'))))} s"}}),
        )  # fmt: skip
    yield from _probes(case)


def _probes(case: Case) -> Iterator[Intervention]:
    """BBR looks for the shortest round trip at times that a long path has no time for."""
    control = case.transport.get("congestion") or {}
    interval = control.get("probe_rtt_interval")
    if interval is None or seconds(interval) > _APART * case.rtt:
        return
    # A round trip's samples have to last for longer than it takes to have one.
    longer = {"min_rtt_window": f"{math.ceil(2 * _APART * case.rtt)} s"} if "min_rtt_window" in control else {}
    each, trip = apart([seconds(interval), case.rtt], "s")
    yield Intervention(
        f"probe_rtt {case.group}", "probes of the round trip",
        f"BBR's probes of the shortest round trip, each {each} at a round trip of {trip} (probe_rtt_interval)",
        _set(case, {"congestion": {**control, "probe_rtt_interval": f"{math.ceil(_APART * case.rtt)} s", **longer}}),
    )  # fmt: skip


def _repairs(case: Case) -> Iterator[Intervention]:
    """How long a sender takes to repair what was lost, and when it gives up."""
    if case.is_quic:
        return
    name, settings = case.group, case.transport
    if any(flow.get("state") == "Closed" and not metric(flow, "completion_time_s") for flow in case.flows):
        most = settings.get("max_retransmissions")
        yield Intervention(
            f"giving up {name}", "giving up", f"its end after {most} retransmissions without an answer (max_retransmissions)",
            _set(case, {"max_retransmissions": 1000}, "user_timeout"),
        )  # fmt: skip
    rto = settings.get("rto") or {}
    if case.total("timeouts") and seconds(rto.get("min")) > 0.2:
        yield Intervention(
            f"rto.min {name}", "timeouts", f"a least retransmission timeout of {quantity(seconds(rto['min']), 's')} (rto.min)",
            _set(case, {"rto": {"min": "200 ms"}}),
        )  # fmt: skip
    if case.total("timeouts") and settings.get("variant") not in ("rack", "linux"):
        yield Intervention(
            f"recovery {name}", "timeouts", f"loss recovery of the variant {settings.get('variant')}, which waits for its timer",
            _set(case, {"variant": "rack", "tail_loss_probe": True}),
        )  # fmt: skip


def _windows(case: Case) -> Iterator[Intervention]:
    """Windows and buffers of the hosts."""
    name, settings = case.group, case.transport
    if case.is_quic:
        for key, words in (
            ("stream_window", "the window of its stream"),
            ("connection_window", "the window of all its streams"),
        ):
            if (size := read_bytes(settings.get(key))) is not None:
                # A larger window makes room for gaps, of which quinn-proto permits only so many: that end is no merit of the small one.
                yield Intervention(
                    f"{key} {name}", "receiver's window", f"QUIC's flow control, {words} ({key} = {quantity(size, 'B')})",
                    _set(case, {key: "unlimited", "unordered": True}),
                )  # fmt: skip
        if (size := read_bytes(settings.get("send_buffer"))) is not None:
            yield Intervention(
                f"send_buffer {name}", "send buffer", f"QUIC's send buffer of {quantity(size, 'B')}", _set(case, {"send_buffer": "unlimited"})
            )  # fmt: skip
        return
    if reading := rate_of(settings.get("reading_rate")):
        yield Intervention(
            f"reading {name}", "slow reader", f"its receiving application, which reads {quantity(reading, 'bit/s')}", _set(case, {}, "reading_rate")
        )  # fmt: skip
        # A larger buffer would take more data, but none of it would be read earlier.
        return
    size, tuned = read_bytes(settings.get("receive_buffer")), settings.get("receive_autotuning")
    if not settings.get("window_scaling", True):
        wide = _set(case, {"window_scaling": True})
        yield Intervention(
            f"window_scaling {name}",
            "no window scaling",
            "the receiver's window of at most 65,535 bytes, for want of window scaling (RFC 7323)",
            wide,
        )
    if fixed := read_bytes(settings.get("so_rcvbuf")):
        # Without it the buffer is autotuned, and has a limit of its own.
        yield Intervention(
            f"receive {name}", "receiver's window", f"the receiver's window of an SO_RCVBUF of {quantity(fixed, 'B')}, which the kernel doubles and does not autotune",
            _set(case, {"receive_autotuning": {"max": "1 GB"}}, "so_rcvbuf"),
        )  # fmt: skip
    elif tuned:
        most = read_bytes(tuned.get("max")) or 0.0
        yield Intervention(
            f"receive {name}", "receiver's window", f"the receiver's window, autotuned up to a buffer of {quantity(most, 'B')}",
            _set(case, {"receive_autotuning": {"max": "1 GB"}}),
        )  # fmt: skip
        # Half of the first buffer at most is window, which then grows with what arrives: short transfers are over by then.
        if (first := read_bytes(tuned.get("initial"))) and first < 4 * case.window:
            yield Intervention(
                f"receive first {name}", "receiver's first window", f"the receiver's first window, from a buffer of {quantity(first, 'B')} that has to grow (receive_autotuning.initial)",
                _set(case, {"receive_autotuning": {"max": "1 GB", "initial": f"{max(math.ceil(first), min(500_000_000, 8 * case.window))} B"}}),
            )  # fmt: skip
    elif size is not None:
        yield Intervention(
            f"receive {name}", "receiver's window", f"the receiver's window of {quantity(size, 'B')}", _set(case, {"receive_buffer": "unlimited"})
        )  # fmt: skip
    if fixed := read_bytes(settings.get("so_sndbuf")):
        yield Intervention(
            f"send_buffer {name}", "send buffer", f"its own SO_SNDBUF of {quantity(fixed, 'B')}, which the kernel doubles and does not autotune",
            _set(case, {"send_buffer": "unlimited"}, "so_sndbuf"),
        )  # fmt: skip
    elif (size := read_bytes(settings.get("send_buffer"))) is not None:
        yield Intervention(
            f"send_buffer {name}", "send buffer", f"its own send buffer of {quantity(size, 'B')}", _set(case, {"send_buffer": "unlimited"})
        )  # fmt: skip
    if case.window > LARGEST_WINDOW:
        streams = math.ceil(case.window / LARGEST_WINDOW)
        yield Intervention(
            f"largest window {name}", "largest window", f"TCP's largest window of {quantity(LARGEST_WINDOW, 'B')} (65,535 × 2^14 bytes, RFC 7323)",
            _in_section(name, "streams", streams),
        )  # fmt: skip


def _in_section(group: str, key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(content: dict[str, Any]) -> None:
        section_of(content, group)[key] = value

    return apply


def _own_pace(case: Case) -> Iterator[Intervention]:
    """Windows and rates that a sender gives itself, whatever the path could carry."""
    name, settings = case.group, case.transport
    control = settings.get("congestion") or {}
    kind = str(control.get("kind"))
    if kind == "fixed":
        yield Intervention(
            f"fixed {name}", "fixed window", f"its fixed window of {control.get('window')}", _set(case, {"congestion": {"kind": "cubic"}})
        )  # fmt: skip
    if kind.startswith("sttp") and control.get("peer_window"):
        size = float(control["peer_window"]) * case.mss
        yield Intervention(
            f"peer_window {name}", "fixed window", f"STTP's peer_window of {quantity(size, 'B')}", _set(case, {"congestion": {**control, "peer_window": 0}})
        )  # fmt: skip
    if most := rate_of(settings.get("max_pacing_rate")):
        yield Intervention(
            f"pacing {name}", "pacing rate", f"its own largest rate of {quantity(most, 'bit/s')} (max_pacing_rate)", _set(case, {}, "max_pacing_rate")
        )  # fmt: skip
    if not case.is_quic and case.mss < 1200:
        yield Intervention(
            f"mss {name}", "small segments", f"segments of {case.mss} bytes", _set(case, {"mss": "1460 B"})
        )


def _overshoot(case: Case) -> Iterator[Intervention]:
    """Slow start that goes on until a queue is full, and has lost a window's worth then."""
    name = case.group
    packets = f"{max(10, math.ceil(case.window / case.mss))} packets"
    dropped = sum(metric(link, "drops_queue") for link in case.path("data_path"))
    if dropped and _first_reduction(case) is not None:
        at_once = case.total("lost_packets") / max(1.0, case.total("congestion_events"))
        words = (
            f" ({round(at_once):,} packets lost at each reduction of the window)" if at_once >= _BURST else " the path"
        )
        yield Intervention(
            f"overshoot {name}", "overshoot", f"its slow start, which overshot{words}",
            _set(case, {"initial_ssthresh": packets}),
        )  # fmt: skip


def _starts(case: Case) -> Iterator[Intervention]:
    """What a connection does before it has found the path's rate, at its begin and after pauses."""
    name, settings, section = case.group, case.transport, case.section
    kind = (section.get("app") or {}).get("kind")
    packets = f"{max(10, math.ceil(case.window / case.mss))} packets"
    rtt = f"a round trip of {quantity(case.rtt, 's')}"
    table = settings.get("slow_start") or {}
    in_start = case.share("slow_start") >= _SOME
    anew = kind == "web" and not section["app"].get("persistent", False)
    pausing = kind in (*ASKING, "on_off", "keystrokes", "cbr", "messages", "video") and not anew
    if pausing and settings.get("restart_after_idle"):
        yield Intervention(
            f"idle {name}", "pauses", f"a window that begins anew after each pause, with {settings.get('initial_window')} (restart_after_idle)",
            _set(case, {"restart_after_idle": False}),
        )  # fmt: skip
    if str(table.get("kind")).startswith("hystart") and not case.is_quic:
        yield Intervention(
            f"early exit {name}", "early exit of slow start", f"{table['kind']}, which ends slow start when the round trip grows",
            _set(case, {"slow_start": {"kind": "standard"}}),
        )  # fmt: skip
    first = settings.get("initial_ssthresh")
    if not case.is_quic and (size := read_bytes(first, case.mss)) is not None and size < case.window:
        yield Intervention(
            f"ssthresh {name}", "low ssthresh", f"an ssthresh of {first} from the beginning (initial_ssthresh), where slow start ends",
            _set(case, {}, "initial_ssthresh"),
        )  # fmt: skip
    if in_start or kind == "web":
        limited = table.get("kind") == "limited"
        words = (
            f"limited slow start (RFC 3742), which does not double above {table.get('max_ssthresh')}"
            if limited
            else "slow start, which doubles its window once in"
        )
        window = settings.get("initial_window")
        yield Intervention(
            f"slow start {name}", "slow start", words if limited else f"{words} {rtt} (initial window {window})",
            _set(case, {"initial_window": packets, "initial_ssthresh": packets, **_paced(case)}),
        )  # fmt: skip
    if case.share("handshake") >= _SOME or kind == "web":
        if case.is_quic:
            if settings.get("handshake") != "early_data":
                yield Intervention(
                    f"handshake {name}", "slow start", f"the handshake, {rtt}", _set(case, {"handshake": "early_data"})
                )
        elif not settings.get("established"):
            yield Intervention(
                f"handshake {name}", "slow start", f"the handshake, {rtt}", _set(case, {"established": True})
            )
    if anew:

        def share(content: dict[str, Any]) -> None:
            shared = section_of(content, name)
            shared["app"]["persistent"] = True
            shared["quic" if "quic" in shared and case.is_quic else "tcp"]["restart_after_idle"] = False

        yield Intervention(
            f"persistent {name}",
            "a connection for each object",
            "a connection for each object, with a handshake and a window that begins anew",
            share,
        )


def _paced(case: Case) -> dict[str, Any]:
    """Pacing for a first flight that the queue of the slowest link has no room for; else it would be a change of its own."""
    link = case.slowest
    if case.is_quic or link is None:
        return {}
    queue = setting(case.content, str(link["name"]), "queue") or {}
    droptail = queue.get("kind") == "droptail"
    room = read_limit(queue.get("limit"), case.mss, case.rate(link), case.rtt) if droptail else None
    return {} if (room or 0.0) > case.window else {"pacing": {"kind": "window"}}


def _first_reduction(case: Case) -> float | None:
    """When the first of the flows reduced its window, in s; `None` if none did."""
    times = [flow["metrics"].get("first_congestion_event_s") for flow in case.flows]
    return min((float(time) for time in times if time is not None), default=None)


def _small(case: Case) -> Iterator[Intervention]:
    """Waiting at the hosts: small segments for ACKs, ACKs for segments."""
    name, settings, app = case.group, case.transport, case.section.get("app") or {}
    if settings.get("nagle") and app.get("kind") in (
        "keystrokes",
        "cbr",
        "messages",
        "request",
        "on_off",
        "web",
        "video",
        "trace",
    ):
        yield Intervention(
            f"nagle {name}",
            "small messages",
            "Nagle's algorithm, which holds a small segment until those before are acknowledged (nagle)",
            _set(case, {"nagle": False}),
        )
    if not case.is_quic and settings.get("delayed_ack") not in (None, "off"):
        yield Intervention(
            f"delayed_ack {name}",
            "delayed ACKs",
            f"ACKs that are delayed by up to {settings['delayed_ack']}",
            _set(case, {"delayed_ack": "off"}),
        )


def _waits(case: Case, link: dict[str, Any]) -> bool:
    return metric(link, "queue_delay_p95_s") > 0.05 * case.rtt or metric(link, "drops_queue") > 0


def _returns(case: Case) -> Iterator[Intervention]:
    """Links in the direction of the ACKs."""
    data = {link["name"] for link in case.path("data_path")}
    for link in case.path("ack_path"):
        name = str(link["name"])
        if name in data:
            continue
        where, rate = link_name(link), case.rate(link)
        if _waits(case, link):
            wait = quantity(metric(link, "queue_delay_p95_s"), "s")
            yield Intervention(
                f"return {name}", "full return link",
                f"the return link {where} of {quantity(rate, 'bit/s')}, where {_what_waits(case, link)} and 5 % of the packets wait {wait} or longer",
                _times(name, _FASTER),
            )  # fmt: skip
        yield from _requests(case, link)


def _requests(case: Case, link: dict[str, Any]) -> Iterator[Intervention]:
    """Capacity that is assigned on request."""
    name, where = str(link["name"]), link_name(link)
    if demand := setting(case.content, name, "demand"):
        yield Intervention(
            f"demand {name}", "grants", f"capacity on request at {where}, {demand.get('delay')} after each request", partial(clear, direction=name, key="demand")
        )  # fmt: skip
    if carrier := carrier_of(case.content, name):

        def own(content: dict[str, Any], rate: str = str(carrier["rate"])) -> None:
            clear(content, name, "carrier")
            put(content, name, "rate", rate)
            links = case.summary["links"]
            used = {one["name"] for link in links if (one := carrier_of(content, str(link["name"])))}
            content["carrier"] = [one for one in content["carrier"] if one["name"] in used]

        words = f"the carrier {carrier['name']} of {carrier['rate']}, which {where} shares, and on which capacity comes {carrier['delay']} after each request"
        yield Intervention(f"carrier {name}", "grants", words, own)


def _grants(case: Case) -> Iterator[Intervention]:
    """Capacity on request in the direction of the data."""
    for link in case.path("data_path"):
        yield from _requests(case, link)


def _half_duplex(case: Case) -> Iterator[Intervention]:
    """Links whose directions share one transmitter."""
    links = {str(one["name"]).rsplit(".", 1)[0]: one for key in ("data_path", "ack_path") for one in case.path(key)}
    for name, link in links.items():
        if half := spec_of(case.content, name).get("half_duplex"):

            def apart(content: dict[str, Any], name: str = name) -> None:
                spec_of(content, name).pop("half_duplex", None)

            words = f"one transmitter for both directions of {link_name(link)}, {half.get('turnaround', '0 s')} from one to the other"
            yield Intervention(f"half_duplex {name}", "half duplex", words, apart)


def _what_waits(case: Case, link: dict[str, Any]) -> str:
    """Whether data of other flows use a return link too."""
    number = case.summary["links"].index(link)
    data = any(number in (flow.get("data_path") or ()) for flow in case.summary["flows"])
    return "ACKs wait behind other data" if data else "ACKs fill the queue"


def _times(direction: str, factor: float) -> Callable[[dict[str, Any]], None]:
    """Makes a direction of a link faster, its later rates too."""

    def apply(content: dict[str, Any]) -> None:
        def faster(value: object) -> str:
            return f"{min(1e15, factor * (rate_of(value) or 0.0)):.0f} bit/s"

        queue = setting(content, direction, "queue")
        if queue and (shaper := shaper_of(queue)):
            rates = [key for key in (shaper[0], "peakrate") if queue.get(key)]
            put(content, direction, "queue", {**queue, **{key: faster(queue[key]) for key in rates}})
        rate, changes = setting(content, direction, "rate"), setting(content, direction, "changes")
        trace = setting(content, direction, "trace")
        if trace and trace.get("rate"):
            measured = trace["rate"]
            put(
                content,
                direction,
                "trace",
                {**trace, "rate": {**measured, "scale": factor * float(measured.get("scale", 1.0))}},
            )
            return
        if acm := setting(content, direction, "acm"):
            put(content, direction, "acm", {**acm, "symbol_rate": factor * float(acm["symbol_rate"])})
            return
        if carrier := carrier_of(content, direction):
            carrier["rate"] = faster(carrier["rate"])
            return
        put(content, direction, "rate", faster(rate))
        if changes:
            put(
                content,
                direction,
                "changes",
                [{**one, **({"rate": faster(one["rate"])} if "rate" in one else {})} for one in changes],
            )

    return apply


def _proxies(case: Case) -> Iterator[Intervention]:
    """Middleboxes on the way, and what each has room for."""
    nodes = {
        node for key in ("data_path", "ack_path") for link in case.path(key) for node in (link["from"], link["to"])
    }
    for number, box in enumerate(case.content.get("middlebox", ())):
        if box is None or box.get("at") not in nodes or case.group not in box.get("flows", [case.group]):
            continue
        name, kind = str(box.get("name") or box["kind"]), str(box["kind"])
        if kind == "throttle":
            words, cause = f"the throttle {name} at {box['at']}, which lets {box['rate']} pass", "policed rate"
        elif kind == "mss_clamp":
            words, cause = f"the MSS of {box.get('mss')} that {name} sets at {box['at']}", "small segments"
        else:
            words, cause = f"the proxy {name} ({kind.replace('_', ' ')}) at {box['at']}", "proxy"
        yield from _rooms(box, name, number)
        yield Intervention(f"middlebox {number}", cause, words, _without_box(number))


def _without_box(number: int) -> Callable[[dict[str, Any]], None]:
    """Takes a middlebox away; the others keep their numbers until the scenario is run."""

    def apply(content: dict[str, Any]) -> None:
        content["middlebox"][number] = None

    return apply


def _rooms(box: dict[str, Any], name: str, number: int) -> Iterator[Intervention]:
    """Buffers of a proxy, the credit of a hop, and the rate that was configured for it."""

    def changed(values: dict[str, Any], table: str = "", *without: str) -> Callable[[dict[str, Any]], None]:
        def apply(content: dict[str, Any]) -> None:
            target = content["middlebox"][number]
            target = target.setdefault(table, {}) if table else target
            target.update(values)
            for key in without:
                target.pop(key, None)

        return apply

    long = box.get("long") or {}
    if (size := read_bytes(long.get("receive_buffer"))) is not None:
        yield Intervention(
            f"long.receive_buffer {number}",
            "proxy's buffer",
            f"the receive buffer of {quantity(size, 'B')} on the long hop of {name}",
            changed({"receive_buffer": "unlimited"}, "long"),
        )
    if long.get("credit") or long.get("memory"):
        words = f"credit of {long['credit']}" if long.get("credit") else f"memory of {long['memory']}"
        yield Intervention(
            f"long.credit {number}",
            "proxy's buffer",
            f"the {words} on the hop of {name}",
            changed({"credit": "256 MB", "memory": "4 GB"}, "long"),
        )
    if long.get("forward_rate") or long.get("reverse_rate"):
        rates = " and ".join(f"{long[key]} ({key})" for key in ("forward_rate", "reverse_rate") if long.get(key))
        yield Intervention(
            f"long.rate {number}",
            "proxy's rate",
            f"the rate at which the hop of {name} is configured to begin, {rates}",
            changed({}, "long", "forward_rate", "reverse_rate"),
        )
    if (size := read_bytes(box.get("buffer"))) is not None and box["kind"] in ("split", "paced"):
        yield Intervention(
            f"buffer {number}",
            "proxy's buffer",
            f"the buffer of {quantity(size, 'B')} of the proxy {name}",
            changed({"buffer": "1 GB"}),
        )
    if box["kind"] == "paced":
        if box.get("rate"):
            yield Intervention(
                f"rate {number}", "proxy's rate", f"the rate of {box['rate']} that {name} is allotted (`rate`)", changed({}, "", "rate")
            )  # fmt: skip
        for key, most, what in (
            ("credit", "1 GB", "a connection's data beyond the other node"),
            ("loop_buffer", "64 MB", "all data in the delay loop"),
        ):
            if (size := read_bytes(box.get(key))) is not None:
                yield Intervention(
                    f"{key} {number}",
                    "proxy's buffer",
                    f"the bound of {quantity(size, 'B')} on {what} (`{key}` of {name})",
                    changed({key: most}),
                )
    if box["kind"] == "split":
        for leg in ("long", "far", "near"):
            table = box.get(leg) or ({} if leg != "long" or not box.get("peer") else {"congestion": "cubic"})
            control = table.get("congestion") or (table.get("tcp") or {}).get("congestion")
            kind = str(control["kind"]) if isinstance(control, dict) else control
            if table.get("transport") == "hop" or not kind or kind.startswith("bbr"):
                continue
            yield Intervention(
                f"{leg}.congestion {number}",
                "proxy's congestion control",
                f"the congestion control ({kind}) of {name} on its {leg} side",
                changed({"congestion": "bbr"}, leg),
                CONTROL,
            )


def _wire(case: Case) -> Iterator[Intervention]:
    """Losses, damage and delays on links without congestion."""
    acks = {link["name"] for link in case.path("ack_path")}
    for link in {one["name"]: one for key in ("data_path", "ack_path") for one in case.path(key)}.values():
        name, where = str(link["name"]), link_name(link)
        sent = metric(link, "transmitted_packets") or metric(link, "arrivals") or 1.0
        of, cause = ("ACKs", "loss of ACKs") if name in acks else ("packets", "loss on the link")
        if setting(case.content, name, "arq") and (count := metric(link, "repeated_packets")):
            words = (
                f"losses on {where}, which it repeats itself ({quantity(count / sent, 'share')} of its transmissions)"
            )
            yield Intervention(f"arq {name}", cause, words, partial(clear, direction=name, key="loss"))
        for key, counter in (("loss", "drops_loss"), ("corruption", "corrupted_packets")):
            if key == "loss" and setting(case.content, name, "arq"):
                continue
            model = setting(case.content, name, key)
            if model and (count := metric(link, counter)):
                share = f"{quantity(count / sent, 'share')} of the {of}"
                words = f"{_lost_in_words(key, model)} {where}, {share}"
                yield Intervention(f"{key} {name}", cause, words, partial(clear, direction=name, key=key))
        for key, cause, words in (
            ("reordering", "reordering", "reordering"),
            ("jitter", "jitter", "jitter"),
            ("slots", "jitter", "slots"),
            ("duplication", "reordering", "duplication"),
        ):
            if setting(case.content, name, key):
                yield Intervention(
                    f"{key} {name}",
                    cause,
                    f"{words} on {where}",
                    partial(clear, direction=name, key=key),
                )


def _lost_in_words(key: str, model: object) -> str:
    """Losses on a link without congestion, in words that a link's name follows."""
    if key == "corruption":
        return "damage that the hosts' checksums find in packets from"
    kind = model.get("kind") if isinstance(model, dict) else None
    if kind == "gilbert_elliott_time":
        assert isinstance(model, dict)
        return f"fades of {model['bad']} on average, each {model['good']}, on"
    return "bursts of loss on" if kind in ("gilbert_elliott", "four_states") else "random loss on"


def _answers(case: Case) -> bool:
    """Whether the application's users wait for packets, not for a rate."""
    kind = (case.section.get("app") or {}).get("kind")
    return kind in (*ASKING, "keystrokes", "cbr", "video", "messages")


def _queues(case: Case) -> Iterator[Intervention]:
    """Queues that drop or mark, and queues in which packets wait."""
    answers = _answers(case)
    seen: set[str] = set()
    for link in (*case.path("data_path"), *case.path("ack_path")):
        name, where = str(link["name"]), link_name(link)
        queue = setting(case.content, name, "queue") or {}
        kind = str(queue.get("kind") or "droptail")
        if name in seen:
            continue
        seen.add(name)
        if metric(link, "drops_queue") or metric(link, "marks"):
            limit = queue.get("limit", "1000 packets")
            if kind in ("droptail", "head_drop"):
                words = f"the queue at {where}, which has room for {limit} and dropped {quantity(metric(link, 'drops_queue'), 'packets')}"
            else:
                target = f" with a target of {queue['target']}" if queue.get("target") else ""
                did = " and ".join(
                    f"{verb} {quantity(metric(link, key), 'packets')}"
                    for verb, key in (("dropped", "drops_queue"), ("marked", "marks"))
                    if metric(link, key)
                )
                words = f"the queue at {where}, {kind}{target}, which {did}"
            rate, packet = case.rate(link), case.mss + HEADERS
            now = (read_limit(limit, packet, rate, case.rtt) or 1000.0 * packet) / packet
            # Two bandwidth-delay products hold what a window is above the path's before it is reduced, and half of it after.
            room = max(2 * now, 2 * rate * case.rtt / 8 / packet)
            put_queue: dict[str, Any] = {"kind": "droptail", "limit": f"{math.ceil(room)} packets"}
            if shaper := shaper_of(queue):
                # It stays a shaper: what is taken away is its lack of room.
                put_queue |= {"kind": "tbf", "rate": f"{shaper[1]:.0f} bit/s", "burst": queue.get("burst", "15 kB")}
                put_queue |= {"peakrate": queue["peakrate"]} if queue.get("peakrate") else {}
            yield Intervention(
                f"queue {name}",
                "short queue",
                words,
                partial(put, direction=name, key="queue", value=put_queue),
            )
        wait = metric(link, "queue_delay_p95_s")
        if answers and wait > 0.002 and kind not in ("fq_codel",) and not shaper_of(queue):
            longest = max(0.1, case.rtt)
            fair = {
                "kind": "fq_codel",
                "limit": "10000 packets",
                "interval": f"{math.ceil(1000 * longest)} ms",
                "target": f"{max(5, math.ceil(50 * longest))} ms",
            }

            def both(content: dict[str, Any], name: str = name, fair: dict[str, Any] = fair) -> None:
                for side in ("forward", "reverse"):
                    put(content, f"{name.rsplit('.', 1)[0]}.{side}", "queue", fair)

            # Both directions get queues of their own kind; the words are about the one in which packets wait longer.
            sides = (*case.path("data_path"), *case.path("ack_path"))
            own = [one for one in sides if str(one["name"]).rsplit(".", 1)[0] == name.rsplit(".", 1)[0]]
            worst = max(own, key=lambda one: metric(one, "queue_delay_p95_s"))
            wait = metric(worst, "queue_delay_p95_s")
            yield Intervention(
                f"waiting {name.rsplit('.', 1)[0]}",
                "standing queue",
                f"queueing at {link_name(worst)}, where 5 % of the packets wait {quantity(wait, 's')} or longer",
                both,
            )


def _routes(case: Case) -> Iterator[Intervention]:
    """Changes of the flows' ways while they were active: tried with the ways of the start all the time."""
    moved = [flow for flow in case.flows if len(ways(flow)) > 1]
    if not moved:
        return
    # Between the nodes at which its ways part, the links of each.
    had = [
        dict.fromkeys(case.summary["links"][number]["name"] for number in way["data_path"]) for way in ways(moved[0])
    ]
    common = set(had[0]).intersection(*had[1:])
    own = [[str(name).rsplit(".", 1)[0] for name in way if name not in common] for way in had]
    told = list(dict.fromkeys("–".join(dict.fromkeys(names)) for names in own if names))
    between = f" between {listed(told, 'and')}" if len(told) > 1 else " of their ACKs"
    words = f"changes of route{between}, which move packets from one way to another"
    if any(route.get("in_flight") == "lost" for route in case.content.get("route") or ()):
        words += " and lose those in flight"
    yield Intervention("routes", "change of route", words, _first_ways)


def _first_ways(content: dict[str, Any]) -> None:
    """Ways stay as they are at the start."""
    first = [route for route in content.get("route") or () if not seconds(route.get("at", "0 s"))]
    content["route"] = [{key: value for key, value in route.items() if key != "every"} for route in first]


def _script(case: Case) -> Iterator[Intervention]:
    """Changes and outages of links at given times, if they happened while the flows were active."""
    begin, end = case.life
    names = dict.fromkeys(
        str(link["name"]).rsplit(".", 1)[0] for key in ("data_path", "ack_path") for link in case.path(key)
    )
    for name in names:
        sides = [
            link
            for link in (*case.path("data_path"), *case.path("ack_path"))
            if str(link["name"]).rsplit(".", 1)[0] == name
        ]
        where = link_name(sides[0])
        section = {
            "outages": setting(case.content, str(sides[0]["name"]), "outages")
            or setting(case.content, str(sides[-1]["name"]), "outages")
        }
        outages = [
            (max(begin, start), min(end, start + length), mode) for start, length, mode in script.outages(section, end)
        ]
        outages = [one for one in outages if one[1] > one[0]]
        if outages:
            total = math.fsum(last - first for first, last, _ in outages)
            kept = (
                ", which kept the packets"
                if {mode for _, _, mode in outages} == {"hold"}
                else ", in which what was sent was lost"
            )
            share = quantity(total / (end - begin), "share", 2)
            if any(one.get("up") or one.get("jitter") or one.get("drift") for one in section["outages"] or ()):
                words = f"outages of {where} at random times, some {share} of its time on average{kept}"
            else:
                words = f"{counted(len(outages), 'outage')} of {where}, {quantity(total, 's')} in all ({share} of its time){kept}"
            yield Intervention(f"outages {name}", "outage", words, partial(clear_both, link=name, key="outages"))
        if adapted := [side for side in sides if setting(case.content, str(side["name"]), "acm")]:
            yield Intervention(
                f"acm {name}",
                "changing link",
                f"{where}, whose rate follows its signal by adaptive coding and modulation",
                _at_its_mean_rate(case, adapted),
            )
        if traced := [side for side in sides if _follows_file(setting(case.content, str(side["name"]), "trace"))]:
            yield Intervention(
                f"trace {name}", "changing link", _measured_in_words(case, traced, where), _as_its_mean(case, traced)
            )
        if wandering := [side for side in sides if setting(case.content, str(side["name"]), "wander")]:
            words = _wandering_in_words(case, wandering, where)
            yield Intervention(f"wander {name}", "changing link", words, _standing_still(wandering))
        if satellites := [side for side in sides if setting(case.content, str(side["name"]), "leo")]:
            leo = setting(case.content, str(satellites[0]["name"]), "leo")
            words = f"{where}, whose delay follows satellites that move"
            if handover := seconds(leo.get("handover", "0 s")):
                held = "held" if leo.get("handover_mode") == "hold" else "lost"
                words += f", with handovers of {quantity(handover, 's')} in which packets are {held}"
                yield Intervention(
                    f"handovers {name}",
                    "outage",
                    f"handovers between the satellites of {where}, {quantity(handover, 's')} each, in which packets are {held}",
                    _without_handovers(satellites, leo),
                )
            yield Intervention(f"leo {name}", "changing link", words, _one_satellite(satellites))
        if any(case.changes(str(side["name"])) for side in sides):
            yield Intervention(
                f"changes {name}", "changing link", _changes_in_words(case, sides, where), _steady(case, sides, name)
            )


def _without_handovers(sides: list[dict[str, Any]], leo: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Satellites that take over at once."""

    def apply(content: dict[str, Any]) -> None:
        for side in sides:
            put(content, str(side["name"]), "leo", {**leo, "handover": "0 s"})

    return apply


def _one_satellite(sides: list[dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """One satellite that stands still, where the delay is least."""

    def apply(content: dict[str, Any]) -> None:
        for side in sides:
            clear(content, str(side["name"]), "leo")
            put(content, str(side["name"]), "delay", f"{round(1e9 * float(side['delay_s']))} ns")

    return apply


def _follows_file(trace: Mapping[str, Any] | None) -> bool:
    """Whether a link takes its rate, delay or loss from a file; a signal is `acm`'s."""
    return any((trace or {}).get(key) for key in ("rate", "delay", "loss"))


def _at_its_mean_rate(case: Case, sides: list[dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """A link that always has the mean rate that its signal gave it, and loses nothing to fades."""
    given = [
        (str(side["name"]), case.rate(side), setting(case.content, str(side["name"]), "trace") or {}) for side in sides
    ]

    def apply(content: dict[str, Any]) -> None:
        for side, rate, trace in given:
            clear(content, side, "acm")
            put(content, side, "rate", f"{rate:.0f} bit/s")
            if trace.get("signal"):
                clear(content, side, "trace")
                if _follows_file(trace):
                    put(content, side, "trace", {key: value for key, value in trace.items() if key != "signal"})

    return apply


def _measured_in_words(case: Case, sides: list[dict[str, Any]], where: str) -> str:
    """The measurement that a link follows, in words."""
    kinds = [
        key
        for key in ("rate", "delay", "loss")
        if any(setting(case.content, str(side["name"]), "trace").get(key) for side in sides)
    ]
    return f"{where}, whose {listed(kinds, 'and')} {'follow' if len(kinds) > 1 else 'follows'} a measurement"


def _wandering_in_words(case: Case, sides: list[dict[str, Any]], where: str) -> str:
    """The part of a link that wanders at random, in words."""
    tables = [table for side in sides for table in setting(case.content, str(side["name"]), "wander")]
    kinds = script.wandering(tables)
    return f"{where}, whose {' and '.join(kinds)} {'wander' if len(kinds) > 1 else 'wanders'} at random"


def _standing_still(sides: list[dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """A link that always has its mean rate and its least delay."""

    def apply(content: dict[str, Any]) -> None:
        for side in sides:
            clear(content, str(side["name"]), "wander")
            put(content, str(side["name"]), "delay", f"{round(1e9 * float(side['delay_s']))} ns")

    return apply


def _as_its_mean(case: Case, sides: list[dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """A link that always has the mean rate and the least delay of what it follows, and no measured loss."""
    given = [
        (str(side["name"]), case.rate(side), float(side["delay_s"]), setting(case.content, str(side["name"]), "trace"))
        for side in sides
    ]

    def apply(content: dict[str, Any]) -> None:
        for side, rate, delay, trace in given:
            clear(content, side, "trace")
            if trace.get("rate"):
                put(content, side, "rate", f"{rate:.0f} bit/s")
            if trace.get("delay"):
                put(content, side, "delay", f"{round(1e9 * delay)} ns")

    return apply


def _steady(case: Case, sides: list[dict[str, Any]], name: str) -> Callable[[dict[str, Any]], None]:
    """A link that always has the best rate and delay that it had while the flows were active."""
    best = [
        (str(side["name"]), case.rate(side), case.delay(side, min)) for side in sides if case.changes(str(side["name"]))
    ]

    def apply(content: dict[str, Any]) -> None:
        clear_both(content, name, "changes")
        for side, rate, delay in best:
            put(content, side, "rate", f"{rate:.0f} bit/s")
            put(content, side, "delay", f"{round(1e9 * delay)} ns")

    return apply


def _changes_in_words(case: Case, sides: list[dict[str, Any]], where: str) -> str:
    """Changes in words: times without any rate, else the lowest rate, the longest delay or the most loss."""
    begin, end = case.life
    for side in sides:
        rates = [one for one in case.changes(str(side["name"])) if "rate" in one]
        for number, one in enumerate(rates):
            if rate_of(one["rate"]) == 0.0:
                until = seconds(rates[number + 1]["at"]) if number + 1 < len(rates) else end
                first = max(begin, seconds(one["at"]))
                return f"{where}, whose rate was 0 bit/s for {quantity(until - first, 's')}, from {quantity(first, 's')} to {quantity(until, 's')}"
    every = [case.changes(str(side["name"])) for side in sides]
    many, changes = max(map(len, every)), [one for several in every for one in several]
    rates_of = [rate for one in changes if (rate := rate_of(one.get("rate")))]
    delays = [seconds(one["delay"]) for one in changes if "delay" in one]
    losses = [float(one["loss"]) for one in changes if "loss" in one]
    parts = {"rate": quantity(min(rates_of), "bit/s")} if rates_of else {}
    parts |= {"delay": quantity(max(delays), "s")} if delays else {}
    parts |= {"loss": quantity(max(losses), "share")} if losses else {}
    times = "once" if many == 1 else f"{many} times"
    to = listed([f"a {kind} of {text}" for kind, text in parts.items()], "and")
    return f"{where}, whose {listed(list(parts), 'and')} changed {times} (to {to})"


def _takers(case: Case) -> Iterator[Intervention]:
    """Other groups that have more than their share: then the queue in which all meet is not what is special."""
    if not _answers(case):
        yield from _groups(case, takers=True)


def _others(case: Case) -> Iterator[Intervention]:
    """Each other group with a link in common."""
    yield from _groups(case, takers=False)


def _has_more(case: Case, flows: list[dict[str, Any]]) -> bool:
    """Whether flows have more than an equal share of their links on average, and this group has less of its own."""

    if all(flow.get("variant") == "udp" for flow in flows):
        # It takes what it writes, whatever a fair share is.
        return _rate(flows) > _rate(case.flows)

    def of_share(several: list[dict[str, Any]]) -> float:
        shares = [
            float(flow["metrics"].get("goodput_bps") or 0.0) / fair
            for flow in several
            if (fair := float((flow.get("predicted") or {}).get("fair_share_bps") or 0.0))
        ]
        return math.fsum(shares) / len(shares) if shares else 0.0

    return of_share(flows) > _MORE and of_share(case.flows) < 1.0


def _rate(flows: list[dict[str, Any]]) -> float:
    """The mean goodput of flows in bit/s."""
    return math.fsum(metric(flow, "goodput_bps") for flow in flows) / len(flows) if flows else 0.0


def _groups(case: Case, *, takers: bool) -> Iterator[Intervention]:
    for group in dict.fromkeys(str(flow["group"]) for flow in case.summary["flows"]):
        flows = [flow for flow in case.summary["flows"] if flow["group"] == group]
        if group == case.group or not crosses(case.flows, flows):
            continue
        if (not _answers(case) and _has_more(case, flows)) != takers:
            continue
        mine = [*case.path("data_path"), *case.path("ack_path")]
        theirs = {number for flow in flows for key in ("data_path", "ack_path") for number in flow.get(key) or ()}
        shared = [link for link in mine if case.summary["links"].index(link) in theirs]
        where = link_name(max(shared, key=lambda link: metric(link, "utilisation")))

        def without(content: dict[str, Any], group: str = group) -> None:
            _drop_group(content, group)

        yield Intervention(
            f"group {group}",
            "unequal shares",
            f"other flows: group {group} ({counted(len(flows), 'flow')}), which shares {where}",
            without,
            to_share=True,
        )


def _row(case: Case) -> Iterator[Intervention]:
    """Several full links in a row, each shared with other flows (a parking lot): at each of them packets wait and are lost."""
    full: list[tuple[dict[str, Any], list[str]]] = []
    for link in case.path("data_path"):
        number = case.summary["links"].index(link)
        others = [
            str(flow["group"])
            for flow in case.summary["flows"]
            if flow["group"] != case.group and number in (flow.get("data_path") or ())
        ]
        if others and case.use(link) >= _FULL and (metric(link, "drops_queue") or metric(link, "marks")):
            full.append((link, list(dict.fromkeys(others))))
    groups = list(dict.fromkeys(name for _, names in full for name in names))
    if len(full) < 2 or len(groups) < 2:
        return
    where = "; ".join(f"{link_name(link)}, which it shares with {' and '.join(names)}" for link, names in full)

    def without(content: dict[str, Any]) -> None:
        for group in groups:
            _drop_group(content, group)

    yield Intervention(
        f"row {' '.join(groups)}",
        "unequal shares",
        f"{len(full)} full queues in a row: {where}",
        without,
        to_share=True,
    )


def _drop_group(content: dict[str, Any], group: str) -> None:
    """Takes a group of flows away, also from the lists of middleboxes."""
    content["flow"] = [one for one in content["flow"] if one["name"] != group]
    for box in content.get("middlebox", ()):
        if box and box.get("flows"):
            box["flows"] = [one for one in box["flows"] if one != group]


def _crowd(case: Case) -> Iterator[Intervention]:
    """More flows than the path has packets for."""
    name, count = case.group, int(case.section.get("count") or 1)
    share = case.window / case.mss if math.isfinite(case.fair_share) else math.inf
    packets = case.fair_share * case.rtt / 8 / case.mss
    if count > 1 and share < _FEW:
        fewer = max(1, int(case.pipe_packets / (2 * _FEW)))
        yield Intervention(
            f"count {name}", "too many flows",
            f"its number of flows: for {count:,} the link is overloaded, with {packets:.2g} packets of each in a round trip of {quantity(case.rtt, 's')}",
            _in_section(name, "count", min(count, fewer)), to_share=True,
        )  # fmt: skip


def _control(case: Case) -> Iterator[Intervention]:
    """Congestion control itself: a sender that knows its share, and keeps to it whatever is lost."""
    control = (case.transport.get("congestion") or {}).get("kind")
    if control in (None, "fixed") or not math.isfinite(case.fair_share):
        return
    kinds = {"sttp": "tokens of STTP's bucket", "sttp_practical": "tokens of STTP's bucket"}
    words = kinds.get(str(control), f"its congestion control ({control}) itself")
    exact = {"congestion": {"kind": "fixed", "window": f"{math.ceil(1.05 * case.window)} B"}}
    yield Intervention(
        f"control {case.group}",
        "congestion control",
        words,
        _set(case, exact if case.is_quic else {**exact, "pacing": {"kind": "window"}}),
        CONTROL,
    )


def _path(case: Case) -> Iterator[Intervention]:
    """The path itself, and what the application writes: what is left when nothing else was in the way."""
    name = case.group
    app = case.section.get("app") or {}
    if case.is_udp:
        yield from _written_faster(name, app)
    elif app.get("kind") in ("cbr", "on_off", "messages", "video", "trace"):
        rate = f", which writes {app['rate']}" if app.get("rate") else ""
        yield Intervention(
            f"app {name}", "application", f"its application{rate}", _in_section(name, "app", {"kind": "bulk"}), PATH
        )
    for link in case.path("data_path"):
        if case.use(link) >= _USED and not setting(case.content, str(link["name"]), "demand"):
            before = case.changed_before(str(link["name"]), "rate")
            since = f", to which it changed at {before['at']}" if before else ""
            queue = setting(case.content, str(link["name"]), "queue") or {}
            what = f"the rate of {queue['kind']} at" if shaper_of(queue) else "the rate of"
            yield Intervention(
                f"rate {link['name']}",
                "full link",
                f"{what} {link_name(link)}, {quantity(case.rate(link), 'bit/s')}{since}",
                _times(str(link["name"]), _TWICE),
                PATH,
            )
    if math.isfinite(case.own_rate):
        yield Intervention(f"access {name}", "own link", _own_in_words(case), _own_links(case), PATH)
    links = {link["name"]: link for key in ("data_path", "ack_path") for link in case.path(key)}
    if any(setting(case.content, direction, "leo") for direction in links):
        return  # satellites at half their altitude are others, with other handovers

    def shorter(content: dict[str, Any]) -> None:
        for direction in links:
            trace = setting(content, direction, "trace")
            if trace and trace.get("delay"):
                measured = trace["delay"]
                put(
                    content,
                    direction,
                    "trace",
                    {**trace, "delay": {**measured, "scale": 0.5 * float(measured.get("scale", 1.0))}},
                )
                continue
            delay = seconds(setting(content, direction, "delay"))
            put(content, direction, "delay", f"{round(5e8 * delay)} ns")
            if changes := setting(content, direction, "changes"):
                put(
                    content,
                    direction,
                    "changes",
                    [
                        {**one, **({"delay": f"{round(5e8 * seconds(one['delay']))} ns"} if "delay" in one else {})}
                        for one in changes
                    ],
                )

    trip = quantity(min(case.rtt, case.answer_s or math.inf), "s")
    one_way = quantity(math.fsum(case.delay(link) for link in case.path("data_path")), "s")
    yield Intervention(
        f"delay {' '.join(links)}",
        "delay",
        f"the path's delay of {one_way}" if case.is_udp else f"the path's delay, a round trip of {trip}",
        shorter,
        PATH,
    )


def _written_faster(name: str, app: Mapping[str, Any]) -> Iterator[Intervention]:
    """An application over UDP that writes twice as much. More speech is not what a call lacks."""
    rate, gap = rate_of(app.get("rate")), app.get("gap")
    mean = seconds(gap.get("exponential") if isinstance(gap, Mapping) else gap)
    what = app["rate"] if rate is not None else f"a message each {quantity(mean, 's')} on average"
    words = f"its application, which writes {what}"
    faster: dict[str, Any] = {}
    if rate is not None and not app.get("voice"):
        faster = {**app, "rate": f"{2 * rate:.0f} bit/s"}
    elif mean:
        half = f"{round(5e8 * mean)} ns"
        faster = {**app, "gap": {"exponential": half} if isinstance(gap, Mapping) else half}
    if faster:
        yield Intervention(f"app {name}", "application", words, _in_section(name, "app", faster), PATH)


def _own(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = case.section.get("access") or (case.content.get("dumbbell") or {}).get("access") or {}
    return found


def _own_in_words(case: Case) -> str:
    own = _own(case)
    rates = {
        side: rate_of((own.get(key) or {}).get("rate") or own.get("rate")) or case.own_rate
        for side, key in (("first", "from"), ("last", "to"))
    }
    side = min(rates, key=lambda one: rates[one])
    return f"its own {side} link of {quantity(rates[side], 'bit/s')}"


def _own_links(case: Case) -> Callable[[dict[str, Any]], None]:
    """Links of the hosts that are twice as fast."""
    own = _own(case)

    def apply(content: dict[str, Any]) -> None:
        def faster(table: dict[str, Any]) -> dict[str, Any]:
            return {
                **table,
                **({"rate": f"{_TWICE * (rate_of(table['rate']) or 0.0):.0f} bit/s"} if "rate" in table else {}),
            }

        section_of(content, case.group)["access"] = {
            key: faster(value) if isinstance(value, dict) and key in ("from", "to") else value
            for key, value in faster(own).items()
        }

    return apply


def _own_losses(case: Case) -> Iterator[Intervention]:
    """Queues and loss of the hosts' own links, which are in no table of links: what is lost and no shared link lost may be lost there."""
    own, lost = _own(case), case.total("lost_packets")
    if not own or not lost:
        return
    changes: dict[str, tuple[str, str, dict[str, Any]]] = {
        "queue": (
            "own link",
            "queue",
            {"queue": {"kind": "droptail", "limit": f"{max(1000, 2 * case.pipe_packets)} packets"}},
        )
    }
    for key in ("loss", "outages", "reordering", "jitter", "slots"):
        if any(key in table for table in (own, own.get("from") or {}, own.get("to") or {})):
            changes[key] = "own link", key, {}
    for key, (cause, words, put_there) in changes.items():

        def apply(content: dict[str, Any], key: str = key, put_there: dict[str, Any] = put_there) -> None:
            def without(table: dict[str, Any]) -> dict[str, Any]:
                return {name: value for name, value in table.items() if name != key}

            changed = {
                name: without(value) if isinstance(value, dict) and name in ("from", "to") else value
                for name, value in without(own).items()
            }
            section_of(content, case.group)["access"] = {**changed, **put_there}

        yield Intervention(f"own {key} {case.group}", cause, f"the {words} of {_own_in_words(case)}", apply)
