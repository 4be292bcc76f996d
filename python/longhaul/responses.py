"""Where the time of an answer goes: base RTT, queueing, slow start, handshakes, Nagle's algorithm, repairs.

For applications that ask, what people notice is the response time, not the goodput. Its parts are estimates: the base RTT and the
queueing delays of the path are measured; the round trips of slow start follow from the size of an answer and the initial window
(RFC 6928), and for pages from the shares of the senders' time; what is left is put down to what the settings allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import bottleneck, usage
from .applications import are_small
from .units import counted, quantity, read_quantity

#: A part of less than this share of the time is not worth a word.
_WORTH = 0.05
#: A queue with this part of what packets wait is where they wait.
_MOST = 0.8
#: Slow start has no more round trips than this.
_ROUNDS = 40


@dataclass(frozen=True)
class _Part:
    """A part of the time, in s, and what it is, as in "queueing"."""

    time: float
    what: str
    #: More about it, and what would make it shorter, as sentences.
    more: str = ""


def is_asking(flow: Mapping[str, Any]) -> bool:
    """Whether a flow's application waits for answers."""
    return bool((flow.get("metrics") or {}).get("responses"))


def explain(flow: Mapping[str, Any], summary: Mapping[str, Any], section: Mapping[str, Any]) -> str:
    """How long answers take, of what that consists, and what most of it is; `section` is that of the flow in the scenario."""
    metrics = flow.get("metrics") or {}
    pages = bool(metrics.get("page_time_p95_s"))
    time = float(metrics.get("page_time_p95_s" if pages else "response_time_p95_s") or 0.0)
    base = float(flow.get("base_rtt_s") or 0.0)
    if not is_asking(flow) or not time or not base:
        return ""
    parts = _of_pages(flow, summary, section, time) if pages else _of_answers(flow, summary, section, time, base)
    parts = [part for part in parts if part.time >= _WORTH * time]
    whole = f"95 % of its {'pages' if pages else 'responses'} come within {quantity(time, 's')}"
    if pages:
        whole += f" ({time / base:.0f} round trips of the empty path, {quantity(base, 's')} each)"
    if not parts:
        return f"{whole}."
    largest = max(parts, key=lambda part: part.time)
    shown = ", ".join(f"{part.what} {quantity(part.time, 's')}" for part in parts)
    text = f"{whole}: {shown}."
    if len(parts) > 1:
        text += f" The largest part is {largest.what}, {quantity(largest.time / time, 'share', 2)}."
    return f"{text} {largest.more}".rstrip()


def _of_answers(
    flow: Mapping[str, Any], summary: Mapping[str, Any], section: Mapping[str, Any], time: float, base: float
) -> list[_Part]:
    """The parts of the time of one answer."""
    tcp = section.get("tcp") or {}
    first = _Part(min(time, base), "base RTT", "Nothing makes it shorter but a shorter path.")
    others = [*_queueing(flow, summary), *_of_windows(section, tcp, flow, base)]
    left = time - first.time - sum(part.time for part in others)
    if left < 0:
        # 95th percentiles of several queues do not add up, nor is each answer the longest.
        share = max(0.0, time - first.time) / sum(part.time for part in others) if others else 0.0
        return [first, *(_Part(part.time * share, part.what, part.more) for part in others)]
    return [first, *others, _rest(flow, section, left)]


def _queueing(flow: Mapping[str, Any], summary: Mapping[str, Any]) -> list[_Part]:
    """What 5 % of the packets wait in the queues of the path, there and back."""
    links = summary.get("links") or ()
    numbers = dict.fromkeys([*(flow.get("data_path") or ()), *(flow.get("ack_path") or ())])
    waits = {
        number: float(links[number]["metrics"].get("queue_delay_p95_s") or 0.0)
        for number in numbers
        if number < len(links)
    }
    if not any(waits.values()):
        return []
    worst, total = max(waits, key=lambda number: waits[number]), sum(waits.values())
    where = bottleneck.link_name(links[worst]) if waits[worst] >= _MOST * total else "the links of the path"
    more = f"5 % of the packets wait {quantity(total, 's')} or longer there: a queue for each flow (fq_codel), or a shorter one, makes it shorter."
    return [_Part(total, f"queueing at {where}", more)]


def _packets(value: object, mss: int) -> float:
    read = read_quantity(value)
    if read is None:
        return float(value) if isinstance(value, int) else 0.0
    return read[0] / mss if read[1] == "bytes" else read[0]


def _of_windows(
    section: Mapping[str, Any], tcp: Mapping[str, Any], flow: Mapping[str, Any], base: float
) -> list[_Part]:
    """The round trips that slow start takes for one answer, where the window begins anew after each pause."""
    app = section.get("app") or {}
    mss = int(flow.get("mss_bytes") or 1460)
    size, window = read_quantity(app.get("response")), _packets(tcp.get("initial_window"), mss)
    think, least = read_quantity(app.get("think")), read_quantity((tcp.get("rto") or {}).get("min"))
    pauses = think and least and think[0] >= max(least[0], base)
    if not size or window < 1 or not pauses or not tcp.get("restart_after_idle"):
        return []
    # An ACK for every second segment lets the window grow by half, unless ACKs count by their bytes.
    limit = int((tcp.get("slow_start") or {}).get("limit") or 1)
    growth = 1 + min(1.0, limit / max(1, int(tcp.get("ack_every") or 1)))
    rounds, sent, now = 0, window, window
    while sent * mss < size[0] and rounds < _ROUNDS:
        rounds, now = rounds + 1, now * growth
        sent += now
    if not rounds:
        return []
    more = (
        f"After each pause the window begins anew with {window:g} packets (restart_after_idle), and {quantity(size[0], 'B')} take"
        f" {counted(rounds, 'further round trip')}: a window that is kept, or a larger initial one, takes fewer."
    )
    return [_Part(rounds * base, "slow start", more)]


#: What a share of the time is called as a part of a page's.
_SHARES = {
    "link": "waiting behind other packets at the full link",
    "handshake": "handshakes",
    "slow_start": "slow start",
    "cwnd": "waiting for the congestion window",
    "receiver_window": "waiting for the receiver's window",
    "send_buffer": "waiting for the send buffer",
    "recovery": "repairing losses",
    "timeout": "timeouts",
    "pacing": "pacing",
    "down": "outages",
}


def _of_pages(
    flow: Mapping[str, Any], summary: Mapping[str, Any], section: Mapping[str, Any], time: float
) -> list[_Part]:
    """A page has many round trips: its parts are the shares of the senders' time in which a page was under way."""
    shares = {name: share for name, share in usage.by_time(flow).items() if name in _SHARES}
    waits = sum(shares.values())
    own = section.get("transport") != "quic" and not (section.get("app") or {}).get("persistent", False)
    anew = "The window begins anew after each pause (restart_after_idle); one that is kept, or a larger initial one, takes fewer round trips."
    each = (
        "Each object has a connection of its own, with a handshake and a window that begins anew: persistent connections whose window is"
        " kept in pauses (app.persistent, restart_after_idle = false) take fewer round trips."
    )
    more = dict.fromkeys(("handshake", "slow_start"), each if own else anew)
    queueing = _queueing(flow, summary)
    more["link"] = f"There is {queueing[0].what}. {queueing[0].more}" if queueing else ""
    return [_Part(share / waits * time, _SHARES[name], more.get(name, "")) for name, share in shares.items() if share]


def _rest(flow: Mapping[str, Any], section: Mapping[str, Any], left: float) -> _Part:
    """What the remainder is, if the settings or the losses of the flow tell."""
    metrics, tcp = flow["metrics"], section.get("tcp") or {}
    mss = float(flow.get("mss_bytes") or 1460)
    received, delivered = (float(metrics.get(name) or 0.0) for name in ("received_packets", "delivered_bytes"))
    timeouts, lost = int(metrics.get("timeouts") or 0), int(metrics.get("lost_packets") or 0)
    answer = read_quantity((section.get("app") or {}).get("response"))
    small = are_small(delivered, received, mss) or bool(answer and answer[0] > mss and answer[0] % mss)
    if lost or timeouts:
        of = f"{counted(lost, 'packet')}, {counted(timeouts, 'timeout')}"
        return _Part(
            left,
            f"repairing losses ({of})",
            "A queue that drops less, or faster repairs (variant rack), make it shorter.",
        )
    if small and tcp.get("nagle"):
        late = (
            f", which may be delayed by {quantity(read[0], 's')}"
            if (read := read_quantity(tcp.get("delayed_ack")))
            else ""
        )
        more = (
            f"A segment that is not full waits for the ACK of those before{late}; without that (nagle = false, TCP_NODELAY) it leaves"
            " at once."
        )
        return _Part(left, "Nagle's algorithm", more)
    return _Part(left, "the rest")
