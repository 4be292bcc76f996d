"""Why a flow is not faster, in plain words: what limited it, the formula behind that, and what would change it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import bottleneck, causes, responses, usage
from .errors import ResultError
from .results import Result
from .units import counted, quantity, read_quantity
from .usage import NAMES

#: Shares below this are not worth a sentence.
_WORTH = 0.15
#: A path that was full for less of a flow's time was not what limited it.
_SOMETIMES = 0.05
#: A smaller part of what a path could carry is not worth a sentence.
_MISSING = 0.01
#: The share of these is put beside a cause that explains them.
_BESIDE_CAUSES = frozenset({"cwnd", "receiver_window", "send_buffer", "slow_start", "recovery", "timeout"})
#: These causes state how far a link was in use, or by what else a flow is held back.
_COMPLETE = frozenset(
    {"full link", "timeouts at a full link", "full return link", "outage", "ended", "throttle", "own link"}
)
#: The time of answers has these among its parts.
_IN_ANSWERS = frozenset({"slow_start", "handshake"})
#: What takes this share of a flow's time takes most of it.
_MOST = 0.5
#: So many flows that are unlike the others are named.
_NAMED = 5
#: A segment that takes longer on the wire, in seconds, is mentioned for a flow that delivered nothing.
_LONG_SEGMENT = 1.0
#: IPv4 and TCP header without options.
_HEADERS = 40
#: The largest window without window scaling, in bytes (RFC 9293 section 3.1).
_LARGEST_UNSCALED = 65_535
#: A link that drops this share of its packets is overloaded.
_OVERLOADED = 0.1
#: With an equal share of fewer packets in a round trip, a flow is starved: below one segment there is no window.
_STARVED = 1.0
#: A mean RTT of so many base RTTs means that queues hardly ever run empty: a reduction by half does not empty them.
_STANDING = 2.0


def limit_names(flows: list[dict[str, Any]]) -> list[str]:
    """The limits with a share of time above zero, known ones first."""
    present = dict.fromkeys(key for flow in flows for key, share in usage.by_time(flow).items() if share)
    return [key for key in NAMES if key in present] + [key for key in present if key not in NAMES]


#: STTP has no congestion window and is paced by a bucket: what the two limits are there.
_STTP_NAMES = {"cwnd": "STTP's peer_window", "pacing": "STTP's bucket"}


def _is_sttp(section: Mapping[str, Any]) -> bool:
    control = (section.get("tcp") or {}).get("congestion") or {}
    return str(control.get("kind")).startswith("sttp")


def limit_title(name: str, flows: Sequence[Mapping[str, Any]], content: Mapping[str, Any]) -> str:
    """How a limit of these flows is called; `content` is the resolved scenario."""
    usual, special = NAMES.get(name, name), _STTP_NAMES.get(name, "")
    sttp = {section.get("name") for section in content.get("flow", ()) if special and _is_sttp(section)}
    kinds = {flow.get("group") in sttp for flow in flows}
    if kinds == {True}:
        return special
    return f"{usual}, or {special}" if True in kinds else usual


def main_limit(flow: dict[str, Any]) -> tuple[str, float]:
    """The limit that took most of the flow's time, and its share; an empty name if no time was measured."""
    return _largest(usage.by_time(flow))


def _largest(shares: Mapping[str, float]) -> tuple[str, float]:
    name = max(shares, key=lambda key: shares[key] or 0.0, default="")
    return (name, float(shares[name])) if name and shares[name] else ("", 0.0)


def explain(
    flow: dict[str, Any],
    summary: dict[str, Any] | None = None,
    warned_of: Collection[str] = (),
    content: Mapping[str, Any] | None = None,
) -> str:
    """A few sentences about one flow. For limits in `warned_of` they only refer to the warning.

    `summary` is that of the run: with it, the text begins with the links of the flow's path. `content` is the resolved scenario:
    with it, outages, changes of rate, proxies and the hosts' settings are named.

    >>> flow = {"limited": {"receiver_window": 0.9, "slow_start": 0.1}, "base_rtt_s": 0.5,
    ...         "metrics": {"goodput_bps": 1e6, "rtt_mean_s": 0.52}, "predicted": {"window_limit_bps": 1.05e6, "fair_share_bps": 1e7}}
    >>> print(explain(flow))
    Waited for the receiver's window 90 % of its time. A window of 68.2 kB cannot carry more than 1.05 Mbit/s over a round trip of 520 ms; 650 kB would fill its share of the link.
    """
    limited = usage.by_time(flow)
    if not any(limited.values()):
        return "It was not active in the measured time."
    content = content or {}
    if idle := _without_data(flow, summary or {}):
        return idle
    worth, fact = _worth(flow)
    starved = _is_starved(flow) and bool(worth.keys() & {"cwnd", "recovery", "slow_start", "timeout"})
    cause = None if starved else _cause(flow, summary or {}, content)
    sentences = [cause.text] if cause else []
    if fact is _left_by and not starved and (not cause or cause.kind not in _COMPLETE):
        sentences.insert(len(sentences) if cause and cause.kind == "long hop" else 0, _in_use(flow, summary or {}))
    answers = responses.explain(flow, summary or {}, causes.section_of(flow, content))
    for name, share in sorted(worth.items(), key=lambda item: -item[1]):
        if answers and name in _IN_ANSWERS:
            continue
        if cause and name in cause.explains:
            if name in _BESIDE_CAUSES:
                sentences.append(f"{fact(name, share)}{_repairs(flow) if name in ('recovery', 'timeout') else ''}.")
        elif name in warned_of:
            sentences.append(f"{fact(name, share)}: see the warning.")
        else:
            by_settings = _by_settings(flow, name, limited.get(name, 0.0), content)
            sentences.append(by_settings or _SENTENCES[name](flow, fact(name, share)))
    if starved:
        sentences.append(_starved(flow))
    elif worth.keys() & {"cwnd", "recovery", "timeout"} and (cause is None or cause.kind == "overshoot"):
        beside = causes.random_loss_beside(flow, summary, content) if summary else ""
        sentences += [beside] if beside else []
    if answers:
        sentences.insert(0, answers)
    return " ".join(sentences) or "Nothing limited it for long."


def _worth(flow: dict[str, Any]) -> tuple[dict[str, float], Callable[[str, float], str]]:
    """The limits that are worth a sentence, each with its share, and how the share is put in words.

    Where the path was full now and then it is the share of what the path could have carried; else the share of time.
    """
    unused = usage.unused(flow)
    if usage.full(flow) < _SOMETIMES:
        shares = usage.by_time(flow)
        return {name: share for name, share in shares.items() if share >= _WORTH and name in _SENTENCES}, _fact
    least = max(_MISSING, _WORTH * sum(unused.values()))
    return {name: share for name, share in unused.items() if share >= least and name in _SENTENCES}, _left_by


def _in_use(flow: dict[str, Any], summary: dict[str, Any]) -> str:
    """How long the path was full, and how much of what it could carry was not used, by when."""
    use, total = flow["path_use"], sum(usage.unused(flow).values())
    busiest = bottleneck.busiest(flow, summary)
    name = bottleneck.link_name(busiest) if busiest else "The path"
    text = f"{name} was full {quantity(use['full'], 'share', 2)} of its time."
    if total < _MISSING:
        return text
    capacity = float(use["capacity_bytes"])
    text += (
        f" Of the {quantity(capacity, 'B')} that it could carry, {quantity(total * capacity, 'B')}"
        f" ({quantity(total, 'share', 2)}) stayed unused"
    )
    begin, end = causes.time_of(flow, summary)
    until = use.get("unused_until_s")
    if until is not None and float(until) - begin < 0.5 * (end - begin):
        text += f", most of that before {quantity(float(until), 's')}"
    return f"{text}."


def _cause(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> bottleneck.Cause | None:
    """What on the path limits a flow: what the scenario shows, else what the links show."""
    found = causes.find(flow, summary, content) if summary else None
    if found:
        return found
    links = summary.get("links") or ()
    changed = frozenset(str(link["name"]) for link in links if causes.link_setting(link, content, "changes"))
    return bottleneck.find(flow, summary, changed, causes.silent(summary, content))


def kind(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any] | None = None) -> str:
    """What limits a flow, in a word or two: flows with the same are explained together."""
    if not main_limit(flow)[0]:
        return "idle"
    if _without_data(flow, summary):
        return "no data"
    if _is_starved(flow):
        return "overload"
    cause = _cause(flow, summary, content or {})
    return cause.kind if cause else main_limit(flow)[0]


def _by_settings(flow: dict[str, Any], name: str, share: float, content: Mapping[str, Any]) -> str:
    """A sentence for a limit that a setting of the hosts makes; an empty text if none does."""
    section = causes.section_of(flow, content)
    if section.get("transport") == "quic":
        return _by_quic(flow, name, share, section.get("quic") or {})
    tcp = section.get("tcp") or {}
    control = tcp.get("congestion") or {}
    if name in _STTP_NAMES and _is_sttp(section):
        return _bucket(flow, name, share, control)
    rtt, goodput = _value(flow, "metrics", "rtt_mean_s"), _value(flow, "metrics", "goodput_bps")
    if name == "receiver_window":
        reading = causes.rate_of(tcp.get("reading_rate"))
        if reading and goodput and goodput >= 0.8 * reading:
            return f"{_fact(name, share)}: the receiving application reads only {quantity(reading, 'bit/s')}."
        if tcp.get("window_scaling") is False and rtt:
            limit = _LARGEST_UNSCALED * 8 / rtt
            return (
                f"{_fact(name, share)}. Without window scaling (RFC 7323) a window is at most 65,535 bytes, and cannot carry more than"
                f" {quantity(limit, 'bit/s')} over a round trip of {quantity(rtt, 's')}."
            )
    start = tcp.get("slow_start") or {}
    if name == "slow_start" and start.get("kind") == "limited":
        return _limited_slow_start(flow, share, start)
    buffer = causes.filled_send_buffer(flow, tcp)
    if name == "application" and buffer and rtt:
        return (
            f"Waited for its own send buffer {quantity(share, 'share', 2)} of its time: {quantity(buffer, 'B')} cannot carry more"
            f" than {quantity(buffer * 8 / rtt, 'bit/s')} over a round trip of {quantity(rtt, 's')}."
        )
    if name == "cwnd" and control.get("kind") == "fixed":
        return f"{_fact(name, share)}: it is a fixed window of {control.get('window')}, whatever the path could carry."
    return ""


def _limited_slow_start(flow: dict[str, Any], share: float, start: Mapping[str, Any]) -> str:
    """A sentence about a slow start that does not double above a window; an empty text if the flow stayed below it."""
    read, mss = read_quantity(start.get("max_ssthresh")), float(flow.get("mss_bytes") or 0.0)
    window, rtt = _value(flow, "metrics", "cwnd_mean_bytes"), _value(flow, "metrics", "rtt_mean_s")
    if not (read and mss and window and rtt):
        return ""
    most = read[0] / mss if read[1] == "bytes" else read[0]
    if window < most * mss:
        return ""
    return (
        f"{_fact('slow_start', share)}: limited slow start (RFC 3742) does not double above max_ssthresh = {most:g} packets, but adds at most"
        f" {most / 2:g} packets in a round trip of {quantity(rtt, 's')}. A larger max_ssthresh, or another slow start, is faster."
    )


def _bucket(flow: dict[str, Any], name: str, share: float, control: Mapping[str, Any]) -> str:
    """STTP has no congestion window: a segment leaves when the bucket has a token for it, within the peer's window."""
    rtt, goodput = _value(flow, "metrics", "rtt_mean_s"), _value(flow, "metrics", "goodput_bps")
    size = float(control.get("peer_window") or 0) * float(flow.get("mss_bytes") or 0)
    part = quantity(share, "share", 2)
    if name == "cwnd" and size and rtt and goodput and goodput * rtt / 8 >= 0.8 * size:
        return (
            f"Limited by STTP's peer_window {part} of its time: {quantity(size, 'B')} cannot carry more than"
            f" {quantity(size * 8 / rtt, 'bit/s')} over a round trip of {quantity(rtt, 's')}; peer_window = 0 is no such limit."
        )
    text = f"Waited for tokens of STTP's bucket {part} of its time: they come at the rate rho, which follows the round trips."
    fair = _value(flow, "predicted", "fair_share_bps")
    if goodput is not None and fair:
        text += (
            f" It got {quantity(goodput / fair, 'share', 2)} of an equal share of the link ({quantity(fair, 'bit/s')})"
        )
        rate = _value(flow, "metrics", "congestion_event_rate")
        text += f": rho was reduced once in {round(1 / rate):,} packets." if rate else ", and lost nothing."
    return text


#: QUIC's windows, by the setting that makes each.
_QUIC_WINDOWS = {"stream_window": "the window of its stream", "connection_window": "the window of all its streams"}


def _by_quic(flow: dict[str, Any], name: str, share: float, quic: Mapping[str, Any]) -> str:
    """A sentence for a limit that a setting of QUIC makes; an empty text if none does."""
    rtt = _value(flow, "metrics", "rtt_mean_s")
    sizes = {key: read_quantity(quic.get(key)) for key in (*_QUIC_WINDOWS, "send_buffer")}
    known = {key: read[0] for key, read in sizes.items() if read and read[1] == "bytes"}
    windows = {key: known[key] for key in _QUIC_WINDOWS if key in known}
    buffer = known.get("send_buffer")
    if name == "send_buffer" and buffer and rtt:
        return (
            f"Waited for QUIC's send buffer {quantity(share, 'share', 2)} of its time: {quantity(buffer, 'B')} cannot carry more than"
            f" {quantity(buffer * 8 / rtt, 'bit/s')} over a round trip of {quantity(rtt, 's')}."
        )
    if name == "receiver_window" and windows and rtt:
        key = min(windows, key=lambda one: windows[one])
        fair = _value(flow, "predicted", "fair_share_bps")
        text = (
            f"Waited for QUIC's flow control {quantity(share, 'share', 2)} of its time: {_QUIC_WINDOWS[key]} ({key} ="
            f" {quantity(windows[key], 'B')}) cannot carry more than {quantity(windows[key] * 8 / rtt, 'bit/s')} over a round trip of"
            f" {quantity(rtt, 's')}"
        )
        enough = fair * rtt / 8 if fair else 0.0
        return (
            f"{text}; {quantity(enough, 'B')} would fill its share of the link."
            if enough > windows[key]
            else f"{text}."
        )
    return ""


def _losing_all(flow: dict[str, Any], summary: dict[str, Any]) -> list[str]:
    """The links on a flow's path, in both directions, that dropped every packet."""
    on_the_way = dict.fromkeys([*flow.get("data_path", []), *flow.get("ack_path", [])])
    links = [summary["links"][index] for index in on_the_way] if "links" in summary else []
    return [bottleneck.link_name(link) for link in links if (link["metrics"].get("drop_rate") or 0.0) >= 1.0]


def _without_data(flow: dict[str, Any], summary: dict[str, Any]) -> str:
    """The text for a flow that had stopped before the measured time, or was never connected; else an empty text."""
    metrics = flow.get("metrics") or {}
    if "goodput_bps" in metrics and metrics["goodput_bps"] is None:
        return "It had stopped before the measured time; only retransmissions and closing were left."
    name, share = _largest(flow.get("limited") or {})
    if metrics.get("delivered_bytes") != 0 or name != "handshake":
        return ""
    if dead := _losing_all(flow, summary):
        return f"Delivered nothing: {' and '.join(dead)} lost every packet, so no connection could be opened."
    text = f"Delivered nothing: it waited for the handshake {quantity(share, 'share', 2)} of the measured time."
    if crowded := _crowded(flow, summary):
        return f"{text} {crowded}"
    link = bottleneck.slowest_link(flow, summary)
    if link and flow.get("mss_bytes"):
        size = flow["mss_bytes"] + _HEADERS
        each = size * 8 / float(link["rate_bps"])
        if each >= _LONG_SEGMENT:
            text += (
                f" A segment of {quantity(size, 'B')} takes {quantity(each, 's')} on {bottleneck.link_name(link)}, whose rate is"
                f" {quantity(float(link['rate_bps']), 'bit/s')}."
            )
    return text


def _crowded(flow: dict[str, Any], summary: dict[str, Any]) -> str:
    """A link on the path that drops much of what comes: even SYNs do not get through."""
    links = [summary["links"][number] for number in flow.get("data_path") or ()] if "links" in summary else []
    for link in links:
        metrics = link["metrics"]
        if (metrics.get("utilisation") or 0.0) >= 0.9 and (metrics.get("drop_rate") or 0.0) >= _OVERLOADED:
            return (
                f"The link {bottleneck.link_name(link)} is overloaded: it drops {quantity(metrics['drop_rate'], 'share', 2)} of its packets,"
                f" and {counted(int(link.get('flows') or 0), 'flow')} share it. Use fewer flows or a faster link."
            )
    return ""


def by_goodput(flows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The flows that were active while measured, slowest first."""
    active = [flow for flow in flows if main_limit(flow)[0] and flow["metrics"].get("goodput_bps") is not None]
    return sorted(active, key=lambda flow: (flow["metrics"]["goodput_bps"], flow["id"]))


@dataclass(frozen=True)
class GroupText:
    """One paragraph for flows that are alike, and the outliers of their group."""

    name: str
    count: int
    text: str
    #: Flows that something else limits, or with less than half or more than twice the median's goodput: worst first.
    outliers: tuple[tuple[dict[str, Any], str], ...]
    #: The same flows, those together that the same limits: a name or several, their goodputs, and the text of the worst.
    unlike: tuple[tuple[str, str, str], ...] = ()


def explain_groups(
    flows: Sequence[dict[str, Any]], summary: dict[str, Any], content: Mapping[str, Any] | None = None
) -> list[GroupText]:
    """One text for each group of flows: that of its median flow, with the range of goodputs, then what is unlike it."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for flow in flows:
        groups.setdefault(str(flow["group"]), []).append(flow)
    return [_explain_group(name, members, summary, content or {}) for name, members in groups.items()]


def _explain_group(
    name: str, flows: list[dict[str, Any]], summary: dict[str, Any], content: Mapping[str, Any]
) -> GroupText:
    active = by_goodput(flows)
    if not active:
        return GroupText(name, len(flows), explain(flows[0], summary, (), content), ())
    kinds = {flow["id"]: kind(flow, summary, content) for flow in active}
    common = max(dict.fromkeys(kinds.values()), key=list(kinds.values()).count)
    alike = [flow for flow in active if kinds[flow["id"]] == common]
    median = alike[len(alike) // 2]
    middle = float(median["metrics"]["goodput_bps"])
    near = [flow for flow in alike if middle / 2 <= float(flow["metrics"]["goodput_bps"]) <= 2 * middle]
    unlike = [flow for flow in active if flow not in near]
    # What they leave of the path is that of all; each alone has its own bad times.
    use = usage.mean(near)
    text = explain({**median, "path_use": use} if use else median, summary, (), content)
    if len(near) > 1:
        low, high = (quantity(float(flow["metrics"]["goodput_bps"]), "bit/s", 3) for flow in (near[0], near[-1]))
        span = f"{low} each" if low == high else f"{low} to {high}"
        alike_text = f"{len(near):,} of {counted(len(flows), 'flow')} are alike"
        # A flow without goodput has one reason, which is that of all: no median to name.
        text = (
            f"{alike_text}, with {span}. The median flow: {text[:1].lower()}{text[1:]}"
            if middle
            else f"{alike_text}. {text}"
        )
    outliers = [(flow, explain(flow, summary, (), content)) for flow in unlike]
    idle = len(flows) - len(active)
    if idle:
        text += (
            f" {counted(idle, 'flow')} of the group {'was' if idle == 1 else 'were'} not active in the measured time."
        )
    return GroupText(name, len(flows), text, tuple(outliers), _together(outliers, kinds, middle))


def _together(
    outliers: Sequence[tuple[dict[str, Any], str]], kinds: Mapping[int, str], middle: float
) -> tuple[tuple[str, str, str], ...]:
    """One paragraph for the outliers that the same thing limits, on the same side of the median."""
    alike: dict[tuple[str, bool], list[tuple[dict[str, Any], str]]] = {}
    for flow, text in outliers:
        alike.setdefault((kinds[flow["id"]], float(flow["metrics"]["goodput_bps"]) > middle), []).append((flow, text))
    found = []
    for members in alike.values():
        names = [str(flow["name"]) for flow, _ in members]
        low, high = (quantity(float(flow["metrics"]["goodput_bps"]), "bit/s") for flow, _ in (members[0], members[-1]))
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        text = members[0][1]
        found.append(
            (
                ", ".join(names[:_NAMED]) + more,
                low if low == high else f"{low} to {high}",
                text
                if len(names) == 1
                else f"{counted(len(names), 'flow')}, of which the slowest: {text[:1].lower()}{text[1:]}",
            )
        )
    return tuple(found)


def content_of(result: Result) -> dict[str, Any]:
    """The resolved scenario of a result as dictionaries; an empty one if it was not kept."""
    try:
        return tomllib.loads(result.scenario)
    except (ResultError, tomllib.TOMLDecodeError):
        return {}


def slowest_and_fastest(flows: Sequence[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The two flows worth a paragraph each, with what they are called; of a single flow that one."""
    ordered = by_goodput(flows)
    if len(ordered) < 2:
        return [("", flow) for flow in ordered]
    return [("slowest", ordered[0]), ("fastest", ordered[-1])]


def _value(flow: dict[str, Any], part: str, key: str) -> float | None:
    value = (flow.get(part) or {}).get(key)
    return None if value is None else float(value)


_FACTS = {
    "cwnd": "Limited by the congestion window {} of its time",
    "receiver_window": "Waited for the receiver's window {} of its time",
    "send_buffer": "Waited for its own send buffer {} of its time",
    "slow_start": "Spent {} of its time in slow start",
    "recovery": "Spent {} of its time repairing losses",
    "timeout": "Spent {} of its time after timeouts, in waiting, repairing and slow start again",
    "application": "Had nothing to send {} of its time",
    "pacing": "Limited by pacing {} of its time",
    "handshake": "The handshake took {} of its time",
}
_LEFT = {
    "cwnd": "The congestion window left {} unused",
    "receiver_window": "Waiting for the receiver's window left {} unused",
    "send_buffer": "Waiting for its own send buffer left {} unused",
    "slow_start": "Slow start left {} unused",
    "recovery": "Repairing losses left {} unused",
    "timeout": "Waiting for timeouts, repairing and slow start again left {} unused",
    "application": "The application had nothing to send, and left {} unused",
    "pacing": "Pacing left {} unused",
    "handshake": "The handshake left {} unused",
}


def _fact(name: str, share: float) -> str:
    """How much of its time, without a reason or a full stop."""
    return _FACTS[name].format(quantity(share, "share", 2))


def _left_by(name: str, share: float) -> str:
    """How much of what the path could carry, without a reason or a full stop."""
    return _LEFT[name].format(quantity(share, "share", 2))


def _receiver(flow: dict[str, Any], fact: str) -> str:
    text = f"{fact}."
    limit, rtt = _value(flow, "predicted", "window_limit_bps"), _value(flow, "metrics", "rtt_mean_s")
    fair = _value(flow, "predicted", "fair_share_bps")
    if limit and rtt:
        text += (
            f" A window of {quantity(limit * rtt / 8, 'B')} cannot carry more than {quantity(limit, 'bit/s')}"
            f" over a round trip of {quantity(rtt, 's')}"
        )
        text += f"; {quantity(fair * rtt / 8, 'B')} would fill its share of the link." if fair and fair > limit else "."
    return text


def _cwnd(flow: dict[str, Any], fact: str) -> str:
    text = f"{fact}."
    goodput, fair = _value(flow, "metrics", "goodput_bps"), _value(flow, "predicted", "fair_share_bps")
    if _is_starved(flow):
        return text
    if goodput is not None and fair:
        part = goodput / fair
        if part >= 0.9:
            text += f" This is normal congestion control: it got {quantity(part, 'share', 2)} of an equal share of the link."
        else:
            text += f" It got {quantity(part, 'share', 2)} of an equal share of the link ({quantity(fair, 'bit/s')})"
            rate = _value(flow, "metrics", "congestion_event_rate")
            text += (
                f": the window was reduced once in {round(1 / rate):,} packets, and {_why_below(flow)}."
                if rate
                else "; its window had no time to grow."
            )
    return text


def _why_below(flow: dict[str, Any]) -> str:
    """Why a flow has less than an equal share: with a standing queue the link is full, and other flows have the rest."""
    rtt, base = _value(flow, "metrics", "rtt_mean_s"), flow.get("base_rtt_s")
    if rtt and base and rtt > _STANDING * float(base):
        return "its path has standing queues: the link is full, and other flows have a larger share"
    return "it grew back too slowly, or the queue is too short to bridge the reduction"


def _share_in_packets(flow: dict[str, Any]) -> float | None:
    """The window, in packets, that an equal share of the link would be at the RTT that the flow saw."""
    fair, rtt = _value(flow, "predicted", "fair_share_bps"), _value(flow, "metrics", "rtt_mean_s")
    delivered, received = _value(flow, "metrics", "delivered_bytes"), _value(flow, "metrics", "received_packets")
    if not (fair and rtt and delivered and received):
        return None
    return fair * rtt / 8 / (delivered / received)


def _is_starved(flow: dict[str, Any]) -> bool:
    window = _share_in_packets(flow)
    return window is not None and window < _STARVED


def _starved(flow: dict[str, Any]) -> str:
    """More flows than the link has packets for: shares mean nothing then."""
    return (
        f"The link is overloaded: an equal share of it is {_share_in_packets(flow):.2g} packets in a round trip of"
        f" {quantity(_value(flow, 'metrics', 'rtt_mean_s'), 's')}. A window cannot be less than one segment, and with fewer than"
        " four a loss is repaired by a timeout, not by duplicate ACKs. Use fewer flows or a faster link."
    )


def _slow_start(flow: dict[str, Any], fact: str) -> str:
    # Behind a proxy the sender's round trip is shorter than the path's; in a queue it is longer, and the mean is that of slow start
    # if it took most of the time.
    base = float(flow.get("base_rtt_s") or 0.0)
    rtt = _value(flow, "metrics", "rtt_mean_s") or base
    if float((flow.get("limited") or {}).get("slow_start") or 0.0) < _MOST:
        rtt = min(rtt, base) if base else rtt
    each = f", one doubling each {quantity(rtt, 's')}" if rtt else ""
    if rtt > _STANDING * base > 0:
        return f"{fact}{each}: {quantity(rtt - base, 's')} of that is queueing, and that of the empty path {quantity(base, 's')}."
    return f"{fact}{each}; a larger initial window or a longer transfer makes this part smaller."


def _recovery(flow: dict[str, Any], fact: str) -> str:
    return f"{fact}{_repairs(flow)}."


def _repairs(flow: dict[str, Any]) -> str:
    """What there was to repair, in parentheses after a blank."""
    loss, timeouts = _value(flow, "metrics", "loss_rate"), _value(flow, "metrics", "timeouts")
    parts = []
    if loss:
        parts.append(f"{quantity(loss, 'share')} of its packets were lost")
    if timeouts:
        parts.append(counted(int(timeouts), "timeout"))
    return f" ({', '.join(parts)})" if parts else ""


_SENTENCES: dict[str, Callable[[dict[str, Any], str], str]] = {
    "receiver_window": _receiver,
    "send_buffer": lambda _f, fact: f"{fact}.",
    "cwnd": _cwnd,
    "slow_start": _slow_start,
    "recovery": _recovery,
    "timeout": _recovery,
    "application": lambda flow, fact: (
        f"{fact}: the application was the limit{' of its goodput' if responses.is_asking(flow) else ''}."
    ),
    "pacing": lambda _f, fact: f"{fact}: the congestion control set the rate.",
    "handshake": lambda _f, fact: f"{fact}: it is a short transfer.",
}
