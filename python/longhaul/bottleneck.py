"""What on its path kept a flow from being faster: a full link, a return link full of ACKs, or loss that no queue made.

A link is full where it sent nearly all the time. The rate that ACKs let through is the return link's rate over the size of an
ACK, times the data that one ACK stands for (Coetzee 1999, equation 5.6; RFC 3449 section 2), all of it as measured.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import usage
from .units import counted, quantity

#: A link with this utilisation is called full.
_FULL = 0.95
#: Loss on the wire is the cause when it explains this part of a flow's losses.
_MOST_LOSSES = 0.8
#: Longest IP and TCP header with all options, in bytes: packets that are no longer on average are taken for pure ACKs.
_LONGEST_ACK = 120.0
#: A round trip this many times that of the empty path is mostly queueing.
_QUEUED = 2.0
#: A link in use this much has no room for a flow that others starve.
_BUSY = 0.75
#: Data of less than this share of a return link's bytes leave it to ACKs.
_FEW = 0.1
#: A return link in use this much, in whose queue ACKs wait for as long as a round trip, keeps senders from more.
_CROWDED = 0.8
#: With less of its equal share than this a flow is starved by others.
_STARVED = 0.5
_FORMULAS = {
    "mathis_bps": "Mathis' formula",
    "cubic_bps": "CUBIC's response function",
    "highspeed_bps": "HighSpeed TCP's response function",
    "scalable_bps": "Scalable TCP's response function",
    "hybla_bps": "Hybla's response function",
    "compound_bps": "Compound TCP's response function",
}
_BY_CONGESTION_CONTROL = {"cwnd", "slow_start", "recovery", "timeout"}


@dataclass(frozen=True)
class Cause:
    """What limits a flow on its path, in words, and the limits at the sender for which this is the reason."""

    text: str
    explains: frozenset[str]
    #: What it is, in a word: flows with the same kind are alike.
    kind: str = ""


def link_name(link: dict[str, Any]) -> str:
    """A direction of a link as people call it.

    >>> link_name({"name": "satellite.forward", "from": "hub", "to": "client"})
    'satellite (hub → client)'
    """
    return f"{str(link['name']).rsplit('.', 1)[0]} ({link['from']} → {link['to']})"


def find(
    flow: dict[str, Any],
    summary: dict[str, Any],
    changed: frozenset[str] = frozenset(),
    silent: frozenset[str] = frozenset(),
) -> Cause | None:
    """The cause on the flow's path, from the summary of its run; `None` if there the flow could have been faster.

    `changed` names the directions of links whose rate changes while the run lasts, `silent` those that lose packets in outages alone.
    """
    data = _path(flow, summary, "data_path")
    if not data:
        return None
    main = _main(flow.get("limited") or {})
    by_congestion_control = main in _BY_CONGESTION_CONTROL
    # Of several full links the slowest: behind a proxy each hop can be full, and the slowest sets the pace.
    busiest = max(data, key=_utilisation)
    full = [link for link in data if _utilisation(link) >= _FULL]
    busiest = min(full, key=lambda link: float(link["rate_bps"]), default=busiest)
    part = share_met(flow)
    if cause := full_return_link(flow, summary):
        return cause
    if by_congestion_control and (part or 0.0) < usage.SHARE_IS_MET and (cause := _lossy(flow, data, silent)):
        return cause
    filled = max(_utilisation(busiest), _used_in_its_time(flow)) >= _FULL
    # Where SYNs wait in a queue as well, the handshake takes long.
    waits = by_congestion_control or main == "handshake"
    if filled and part is not None and (waits or part >= usage.SHARE_IS_MET):
        return _full(flow, busiest, part, summary, str(busiest["name"]) in changed)
    if by_congestion_control and _utilisation(busiest) >= _BUSY and (taken := _taken(flow, part or 0.0, summary)):
        text = f"{link_name(busiest)} is in use {quantity(_utilisation(busiest), 'share')}, and it got {quantity(part, 'share', 2)} of an equal share."
        return Cause(text + taken, frozenset({"cwnd", "recovery", "timeout"}), "starved")
    return None


def full_return_link(flow: dict[str, Any], summary: dict[str, Any]) -> Cause | None:
    """The link in the direction of the ACKs, if it is in use more than those of the data, and they wait there."""
    data, acks = _path(flow, summary, "data_path"), _path(flow, summary, "ack_path")
    thin = max(acks, key=_utilisation, default=None)
    if not data or thin is None or _main(flow.get("limited") or {}) not in _BY_CONGESTION_CONTROL | {"receiver_window"}:
        return None
    forward, base = max(map(_utilisation, data)), float(flow.get("base_rtt_s") or 0.0)
    full = _utilisation(thin) >= _FULL > forward
    waits = _metric(thin, "queue_delay_p95_s") >= base > 0
    busy = _utilisation(thin) >= _CROWDED and _utilisation(thin) > forward and waits
    if not (full or (busy and (share_met(flow) or 0.0) < usage.SHARE_IS_MET)):
        return None
    return _full_of_acks(flow, thin, summary)


def busiest(flow: dict[str, Any], summary: dict[str, Any]) -> dict[str, Any] | None:
    """The link of a flow's data that is in use most."""
    return max(_path(flow, summary, "data_path"), key=_utilisation, default=None)


def slowest_link(flow: dict[str, Any], summary: dict[str, Any]) -> dict[str, Any] | None:
    """The link of a flow's path, there or back, with the lowest rate."""
    links = [*_path(flow, summary, "data_path"), *_path(flow, summary, "ack_path")]
    return min((link for link in links if link.get("rate_bps")), key=lambda link: float(link["rate_bps"]), default=None)


def share_met(flow: dict[str, Any]) -> float | None:
    """Goodput over an equal share of the path."""
    goodput, fair = (flow.get("metrics") or {}).get("goodput_bps"), (flow.get("predicted") or {}).get("fair_share_bps")
    return None if goodput is None or not fair else float(goodput) / float(fair)


def _path(flow: Mapping[str, Any], summary: dict[str, Any], key: str) -> list[dict[str, Any]]:
    links: Sequence[dict[str, Any]] = summary.get("links") or ()
    return [links[number] for number in flow.get(key) or () if number < len(links)]


def _main(limited: dict[str, Any]) -> str:
    return max(limited, key=lambda name: limited[name] or 0.0, default="")


def _metric(item: Mapping[str, Any], key: str) -> float:
    return float((item.get("metrics") or {}).get(key) or 0.0)


def _utilisation(link: dict[str, Any]) -> float:
    return _metric(link, "utilisation")


def _used_in_its_time(flow: dict[str, Any]) -> float:
    """The share of what its path could carry that was used while the flow was active; 0 if that is not known."""
    return (usage.in_its_time(flow) or 0.0) if usage.full(flow) else 0.0


def _in_use(link: dict[str, Any], in_its_time: float = 0.0) -> str:
    used = max(_utilisation(link), in_its_time)
    return f"{quantity(used, 'share')} of {quantity(float(link['rate_bps']), 'bit/s')}"


def _queueing(flow: dict[str, Any]) -> str:
    """How much longer the round trip is than that of the empty path, if it is much longer."""
    rtt, base = _metric(flow, "rtt_mean_s"), float(flow.get("base_rtt_s") or 0.0)
    if not base or rtt < _QUEUED * base:
        return ""
    return f" The round trip is {quantity(rtt, 's')}, of the empty path {quantity(base, 's')}: the rest is queueing."


def _full(flow: dict[str, Any], link: dict[str, Any], part: float, summary: dict[str, Any], changed: bool) -> Cause:
    sharing = round(float(link.get("active_flows") or link.get("flows") or 1))
    fair = float(flow["predicted"]["fair_share_bps"])
    used = _in_use(link, _used_in_its_time(flow))
    if changed:
        mean = quantity(_capacity(link), "bit/s")
        used = f"{quantity(_utilisation(link), 'share')} of {mean}, the mean of a rate that changed,"
    if sharing <= 1 and part >= usage.SHARE_IS_MET:
        text = f"Fills {link_name(link)}: {used} is in use, and only a faster link would make it faster."
    else:
        among = f"of an equal share of the link ({quantity(fair, 'bit/s')}{f', 1/{sharing:,}' if sharing > 1 else ''})"
        busy = usage.full(flow)
        in_use = "is in use"
        if not changed and 0 < busy < _FULL:
            in_use = (
                f"on average, and more than {quantity(usage.FULL, 'share')} in {quantity(busy, 'share', 2)} of its time"
            )
        text = (
            f"The link {link_name(link)} is full: {used} {in_use}. The flow got {quantity(part, 'share', 2)} {among}."
        )
    text += "" if changed else _taken(flow, part, summary)
    text += (timeouts := _after_timeouts(flow, part))
    queueing = _queueing(flow)
    # A larger initial window would help a flow that has less than its share, unless its window waits in the queue already.
    starts_well = queueing or part >= usage.SHARE_IS_MET
    met = {"cwnd", "recovery", "timeout", "handshake", "receiver_window"} | ({"slow_start"} if starts_well else set())
    return Cause(text + queueing, frozenset(met), "timeouts at a full link" if timeouts else "full link")


def _after_timeouts(flow: dict[str, Any], part: float) -> str:
    """That a flow with little of its share waits for its timer nearly all the time, while others fill the link."""
    limited, timeouts = flow.get("limited") or {}, int(_metric(flow, "timeouts"))
    share = float(limited.get("recovery") or 0.0) + float(limited.get("timeout") or 0.0)
    if part >= _STARVED or share < _STARVED or not timeouts:
        return ""
    return (
        f" It spent {quantity(share, 'share', 2)} of its time after timeouts ({counted(timeouts, 'timeout')}): with fewer than four packets under"
        " way a loss is repaired by the timer alone, which waits twice as long after each (RFC 6298, 5.5). A queue with room for"
        " more packets of each flow, or fewer flows, would help it."
    )


def _capacity(link: dict[str, Any]) -> float:
    """What a link could have carried on average, in bit/s: its utilisation follows the changes of its rate."""
    use = _utilisation(link)
    return _metric(link, "throughput_bps") / use if use else float(link["rate_bps"])


def _taken(flow: dict[str, Any], part: float, summary: dict[str, Any]) -> str:
    """Who has the rest, where a flow has less than half its share: the group with most of the traffic."""
    if part >= _STARVED:
        return ""
    path = set(flow.get("data_path") or ())
    rates: dict[str, list[float]] = {}
    for other in summary.get("flows") or ():
        if other.get("group") != flow.get("group") and path & set(other.get("data_path") or ()):
            rates.setdefault(str(other["group"]), []).append(_metric(other, "goodput_bps"))
    if not rates:
        return ""
    group = max(rates, key=lambda name: sum(rates[name]))
    total = sum(map(sum, rates.values())) + _metric(flow, "goodput_bps")
    mean = sum(rates[group]) / len(rates[group])
    if not total or mean <= 2 * _metric(flow, "goodput_bps"):
        return ""
    return (
        f" It is starved by others: group {group} ({counted(len(rates[group]), 'flow')}) has {quantity(sum(rates[group]) / total, 'share', 2)}"
        " of what both get; a queue for each flow (fq_codel) would share the link."
    )


def _full_of_acks(flow: dict[str, Any], link: dict[str, Any], summary: dict[str, Any]) -> Cause:
    text = f"The return link {link_name(link)} is full: {_in_use(link)} is in use"
    packets, measured = _metric(link, "transmitted_packets"), float(summary.get("measured_s") or 0.0)
    size = _metric(link, "throughput_bps") * measured / 8 / packets if packets else 0.0
    number = next(i for i, other in enumerate(summary["links"]) if other is link)
    answered = [other for other in summary["flows"] if number in (other.get("ack_path") or ())]
    other = sum(_metric(one, "throughput_bps") for one in summary["flows"] if number in (one.get("data_path") or ()))
    if 0 < size <= _LONGEST_ACK and other < _FEW * _metric(link, "throughput_bps"):
        each = sum(_metric(other, "delivered_bytes") for other in answered) / packets
        rate = float(link["rate_bps"]) / (8 * size)
        text += (
            f", by ACKs. It lets {quantity(rate, '', 3)} ACKs of {quantity(size, 'B')} pass in a second, and each stands for"
            f" {quantity(each, 'B')} of data: {quantity(rate * each * 8, 'bit/s')}"
            f"{f' for {len(answered):,} flows together' if len(answered) > 1 else ''}. Fewer or shorter ACKs, or a faster return link,"
            " would make it faster; a larger window only fills the queue there."
        )
    else:
        text += ", by other data than ACKs too, and ACKs wait there. A larger window does not make it faster."
    wait, dropped = _metric(link, "queue_delay_p95_s"), _metric(link, "drop_rate")
    if wait >= float(flow.get("base_rtt_s") or 0.0) > 0:
        text += f" 5 % of the packets wait there for {quantity(wait, 's')} or longer"
        text += f", and {quantity(dropped, 'share', 2)} are dropped." if dropped >= 0.01 else "."
    return Cause(text + _queueing(flow), frozenset(_BY_CONGESTION_CONTROL | {"receiver_window"}), "full return link")


def lost_on_wire(link: Mapping[str, Any], silent: Collection[str] = ()) -> float:
    """The share of a link's packets that it lost without congestion; 0 for those in `silent`, whose losses are of outages."""
    if link["name"] in silent:
        return 0.0
    sent = _metric(link, "transmitted_packets") or _metric(link, "arrivals")
    lost = _metric(link, "drops_loss") + _metric(link, "corrupted_packets")
    return lost / sent if sent else 0.0


def _lossy(flow: dict[str, Any], data: Sequence[dict[str, Any]], silent: Collection[str] = ()) -> Cause | None:
    """Loss that is not congestion, if it makes most of the flow's losses."""
    lost = _metric(flow, "loss_rate")
    link = max(data, key=lambda one: lost_on_wire(one, silent))
    on_wire = lost_on_wire(link, silent)
    if not lost or sum(lost_on_wire(one, silent) for one in data) < _MOST_LOSSES * lost:
        return None
    text = (
        f"Random loss on {link_name(link)}, not congestion: the link loses {quantity(on_wire, 'share')} of the packets"
    )
    dropped = any(_metric(other, "drops_queue") for other in data)
    text += "." if dropped else ", and no queue on the path dropped one, so longer queues change nothing."
    predicted, events = flow.get("predicted") or {}, _metric(flow, "congestion_event_rate")
    formula = next((key for key in _FORMULAS if predicted.get(key)), None)
    if formula and events:
        text += (
            f" With a reduction of the window every {counted(round(1 / events), 'packet')} and a round trip of"
            f" {quantity(_metric(flow, 'rtt_mean_s'), 's')}, {_FORMULAS[formula]} allows {quantity(float(predicted[formula]), 'bit/s')}."
        )
    return Cause(text, frozenset({"cwnd"}), "random loss")
