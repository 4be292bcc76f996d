"""Why a flow is not faster, in plain words: what limited it, the formula behind that, and what would change it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from . import bottleneck
from .units import counted, quantity

#: How each limit is called in figures and texts; order of stacking.
NAMES = {
    "cwnd": "cwnd",
    "slow_start": "slow start",
    "recovery": "recovery",
    "receiver_window": "receiver's window",
    "application": "application",
    "pacing": "pacing",
    "handshake": "handshake",
    "closed": "closed",
}
#: Shares below this are not worth a sentence.
_WORTH = 0.15
#: A segment that takes longer on the wire, in seconds, is mentioned for a flow that delivered nothing.
_LONG_SEGMENT = 1.0
#: IPv4 and TCP header without options.
_HEADERS = 40
#: With an equal share of fewer packets in a round trip, a flow is starved: below one segment there is no window.
_STARVED = 1.0
#: A mean RTT of so many base RTTs means that queues hardly ever run empty: a reduction by half does not empty them.
_STANDING = 2.0


def limit_names(flows: list[dict[str, Any]]) -> list[str]:
    """The limits with a share of time above zero, known ones first."""
    present = dict.fromkeys(key for flow in flows for key, share in flow.get("limited", {}).items() if share)
    return [key for key in NAMES if key in present] + [key for key in present if key not in NAMES]


def main_limit(flow: dict[str, Any]) -> tuple[str, float]:
    """The limit that took most of the flow's time, and its share; an empty name if no time was measured."""
    limited = flow.get("limited") or {}
    if not any(limited.values()):
        return "", 0.0
    name = max(limited, key=lambda key: limited[key] or 0.0)
    return name, float(limited[name] or 0.0)


def explain(flow: dict[str, Any], summary: dict[str, Any] | None = None, warned_of: Collection[str] = ()) -> str:
    """A few sentences about one flow. For limits in `warned_of` they only refer to the warning.

    `summary` is that of the run: with it, the text begins with the links of the flow's path.

    >>> flow = {"limited": {"receiver_window": 0.9, "slow_start": 0.1}, "base_rtt_s": 0.5,
    ...         "metrics": {"goodput_bps": 1e6, "rtt_mean_s": 0.52}, "predicted": {"window_limit_bps": 1.05e6, "fair_share_bps": 1e7}}
    >>> print(explain(flow))
    Waited for the receiver's window 90 % of its time. A window of 68.2 kB cannot carry more than 1.05 Mbit/s over a round trip of 520 ms; 650 kB would fill its share of the link.
    """
    limited = {key: float(value or 0.0) for key, value in (flow.get("limited") or {}).items()}
    if not any(limited.values()):
        return "It was not active in the measured time."
    if idle := _without_data(flow, summary or {}):
        return idle
    worth = {name: share for name, share in limited.items() if share >= _WORTH and name in _SENTENCES}
    starved = _is_starved(flow) and bool(worth.keys() & {"cwnd", "recovery", "slow_start"})
    cause = None if starved else bottleneck.find(flow, summary or {})
    sentences = [cause.text] if cause else []
    for name, share in sorted(worth.items(), key=lambda item: -item[1]):
        if cause and name in cause.explains:
            sentences.append(f"{_fact(name, share)}{_repairs(flow) if name == 'recovery' else ''}.")
        elif name in warned_of:
            sentences.append(f"{_fact(name, share)}: see the warning.")
        else:
            sentences.append(_SENTENCES[name](flow, share))
    if starved:
        sentences.append(_starved(flow))
    return " ".join(sentences) or "Nothing limited it for long."


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
    name, share = main_limit(flow)
    if metrics.get("delivered_bytes") != 0 or name != "handshake":
        return ""
    if dead := _losing_all(flow, summary):
        return f"Delivered nothing: {' and '.join(dead)} lost every packet, so no connection could be opened."
    text = f"Delivered nothing: it waited for the handshake {quantity(share, 'share', 2)} of the measured time."
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


def by_goodput(flows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The flows that were active while measured, slowest first."""
    active = [flow for flow in flows if main_limit(flow)[0] and flow["metrics"].get("goodput_bps") is not None]
    return sorted(active, key=lambda flow: (flow["metrics"]["goodput_bps"], flow["id"]))


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
    "cwnd": "Limited by the congestion window",
    "receiver_window": "Waited for the receiver's window",
    "slow_start": "Spent {} of its time in slow start",
    "recovery": "Spent {} of its time repairing losses",
}


def _fact(name: str, share: float) -> str:
    """How much of its time, without a reason or a full stop."""
    shown = quantity(share, "share", 2)
    return _FACTS[name].format(shown) if "{}" in _FACTS[name] else f"{_FACTS[name]} {shown} of its time"


def _receiver(flow: dict[str, Any], share: float) -> str:
    text = f"{_fact('receiver_window', share)}."
    limit, rtt = _value(flow, "predicted", "window_limit_bps"), _value(flow, "metrics", "rtt_mean_s")
    fair = _value(flow, "predicted", "fair_share_bps")
    if limit and rtt:
        text += (
            f" A window of {quantity(limit * rtt / 8, 'B')} cannot carry more than {quantity(limit, 'bit/s')}"
            f" over a round trip of {quantity(rtt, 's')}"
        )
        text += f"; {quantity(fair * rtt / 8, 'B')} would fill its share of the link." if fair and fair > limit else "."
    return text


def _cwnd(flow: dict[str, Any], share: float) -> str:
    text = f"{_fact('cwnd', share)}."
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
                f", with a reduction of the window every {round(1 / rate):,} packets: {_why_below(flow)}."
                if rate
                else "; its window had no time to grow."
            )
    return text


def _why_below(flow: dict[str, Any]) -> str:
    """Why a flow has less than an equal share: with a standing queue the link is full, and other flows have the rest."""
    rtt, base = _value(flow, "metrics", "rtt_mean_s"), flow.get("base_rtt_s")
    if rtt and base and rtt > _STANDING * float(base):
        return "its path has standing queues, so the link is full; other flows have a larger share"
    return "the window grows back too slowly, or the queue is too short to bridge the reduction"


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


def _slow_start(flow: dict[str, Any], share: float) -> str:
    rtt = flow.get("base_rtt_s")
    each = f", one doubling each {quantity(float(rtt), 's')}" if rtt else ""
    return f"{_fact('slow_start', share)}{each}; a larger initial window or a longer transfer makes this part smaller."


def _recovery(flow: dict[str, Any], share: float) -> str:
    return f"{_fact('recovery', share)}{_repairs(flow)}."


def _repairs(flow: dict[str, Any]) -> str:
    """What there was to repair, in parentheses after a blank."""
    loss, timeouts = _value(flow, "metrics", "loss_rate"), _value(flow, "metrics", "timeouts")
    parts = []
    if loss is not None:
        parts.append(f"{quantity(loss, 'share')} of its packets were lost")
    if timeouts:
        parts.append(counted(int(timeouts), "timeout"))
    return f" ({', '.join(parts)})" if parts else ""


_SENTENCES: dict[str, Callable[[dict[str, Any], float], str]] = {
    "receiver_window": _receiver,
    "cwnd": _cwnd,
    "slow_start": _slow_start,
    "recovery": _recovery,
    "application": lambda _f, s: (
        f"Had nothing to send {quantity(s, 'share', 2)} of its time: the application was the limit."
    ),
    "pacing": lambda _f, s: (
        f"Limited by pacing {quantity(s, 'share', 2)} of its time: the congestion control set the rate."
    ),
    "handshake": lambda _f, s: f"The handshake took {quantity(s, 'share', 2)} of its time: it is a short transfer.",
}
