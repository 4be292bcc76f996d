"""Causes that a queue or a window does not show: outages, proxies, policers, a host's own links, reordering, a burst at the start.

Each is found in the summary of a run and its resolved scenario, and gives its evidence: how long, how many, where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import bottleneck, usage
from .applications import ASKING
from .bottleneck import Cause
from .units import counted, quantity, read_quantity

#: Outages of a smaller share of a flow's time are not its limit.
_WORTH = 0.15
#: A link in use this much is full.
_FULL = 0.95
#: Losses explained by one thing to this part are its doing.
_MOST = 0.8
#: So many packets lost at one reduction are a burst.
_BURST = 20
#: With more reductions than these not all of the losses are those of the start.
_FEW = 5
_WITHOUT_SACK = frozenset({"tahoe", "reno", "newreno"})
#: Headers of IP and TCP without options, in bytes.
_HEADERS = 40
_BY_LOSS = frozenset({"cwnd", "recovery", "timeout", "slow_start", "handshake"})
#: Loss of fewer ACKs is made up for by later ones.
MANY_ACKS = 0.2
#: Random loss of this part of a flow's losses is mentioned.
_BESIDE = 0.1
#: CoDel's least target, as a share of the round trip.
_TARGET = 0.05
#: Settings of a link that lose or damage packets.
_LOSING = ("loss", "corruption")
#: With less of a throttle's rate a flow is limited by what the throttle drops, not by the rate.
_RATE_MET = 0.8


def find(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """The first of these causes that holds; `content` is the resolved scenario."""
    order = (_ended, _outage, _long_hop, _policer, _return_link, _lost_acks, _own_link, _reordering, _overshoot, _marks)
    for cause in order:
        if found := cause(flow, summary, content):
            return found
    return None


def _ended(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """A connection that ended with an error: whatever limited it before is not why so little was delivered."""
    if flow.get("state") != "Closed" or _metric(flow, "completion_time_s"):
        return None
    for warning in summary.get("warnings") or ():
        if warning["code"] == "quic_ended" and warning["object"] == flow.get("group"):
            # The warning begins with the flows that it is about.
            text = str(warning["message"]).partition(": ")[2]
            return Cause(
                f"{text[:1].upper()}{text[1:]}.", _BY_LOSS | {"pacing", "receiver_window", "application"}, "ended"
            )
    return None


def section_of(flow: Mapping[str, Any], content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The section of the scenario that a flow was made from; an empty one if it is not known."""
    return next((one for one in content.get("flow", ()) if one.get("name") == flow.get("group")), {})


def link_setting(link: Mapping[str, Any], content: Mapping[str, Any], key: str) -> Any:
    """A setting of one direction of a link in the scenario."""
    name, _, direction = str(link["name"]).rpartition(".")
    spec: Mapping[str, Any] = next((one for one in content.get("link", ()) if one["name"] == name), {})
    spec = spec or (content.get("dumbbell") or {}).get(name) or {}
    return (spec.get(direction) or {}).get(key, spec.get(key))


def seconds(value: object) -> float:
    """A duration of the scenario in s; 0 if there is none."""
    read = read_quantity(value)
    return read[0] if read and read[1] == "s" else 0.0


def filled_send_buffer(flow: Mapping[str, Any], tcp: Mapping[str, Any]) -> float | None:
    """The bytes of a flow's send buffer if they are what keeps it from more: it carries most of them in each round trip."""
    read = read_quantity(tcp.get("send_buffer"))
    rtt, goodput = (float(flow["metrics"].get(name) or 0.0) for name in ("rtt_mean_s", "goodput_bps"))
    fills = read and read[1] == "bytes" and goodput * rtt > 0 and goodput * rtt / 8 >= 0.7 * read[0]
    return read[0] if read and fills else None


def rate_of(value: object) -> float | None:
    """A rate of the scenario in bit/s."""
    read = read_quantity(value)
    return read[0] if read and read[1] == "bit/s" else None


def _metric(item: Mapping[str, Any], key: str) -> float:
    return float((item.get("metrics") or {}).get(key) or 0.0)


def _path(flow: Mapping[str, Any], summary: Mapping[str, Any], key: str = "data_path") -> list[dict[str, Any]]:
    links: Sequence[dict[str, Any]] = summary.get("links") or ()
    return [links[number] for number in flow.get(key) or () if number < len(links)]


def time_of(flow: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[float, float]:
    """From when to when the flow was active and measured."""
    begin = max(float(flow.get("start_s") or 0.0), float(summary.get("warmup_s") or 0.0))
    end = float(summary.get("duration_s") or 0.0)
    took = (flow.get("metrics") or {}).get("completion_time_s")
    return begin, end if took is None else min(end, float(flow.get("start_s") or 0.0) + float(took))


def silences(
    link: Mapping[str, Any], content: Mapping[str, Any], begin: float, end: float
) -> Iterator[tuple[float, float, str]]:
    """When nothing passes a link: outages, and times with a rate of 0, cut to a span of time; with what happens to packets."""
    for outage in link_setting(link, content, "outages") or ():
        start = seconds(outage["start"])
        first, last = max(begin, start), min(end, start + seconds(outage["duration"]))
        if last > first:
            yield first, last, str(outage.get("mode", "drop"))
    stopped: float | None = None
    for change in sorted(link_setting(link, content, "changes") or (), key=lambda one: seconds(one["at"])):
        rate = rate_of(change.get("rate"))
        if rate == 0.0 and stopped is None:
            stopped = seconds(change["at"])
        elif rate and stopped is not None:
            if min(end, seconds(change["at"])) > max(begin, stopped):
                yield max(begin, stopped), min(end, seconds(change["at"])), "rate"
            stopped = None
    if stopped is not None and end > max(begin, stopped):
        yield max(begin, stopped), end, "rate"


def _outage(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    begin, end = time_of(flow, summary)
    if end <= begin:
        return None
    worst: tuple[float, dict[str, Any], list[tuple[float, float, str]]] | None = None
    for link in {id(one): one for key in ("data_path", "ack_path") for one in _path(flow, summary, key)}.values():
        dark = list(silences(link, content, begin, end))
        total = sum(last - first for first, last, _ in dark)
        if dark and (worst is None or total > worst[0]):
            worst = (total, link, dark)
    if worst is None or worst[0] < _WORTH * (end - begin):
        return None
    total, link, dark = worst
    modes = {mode for _, _, mode in dark}
    name = bottleneck.link_name(link)
    share = quantity(total / (end - begin), "share", 2)
    if modes == {"rate"}:
        first, last, _ = dark[0]
        text = f"The rate of {name} was 0 bit/s for {quantity(total, 's')} ({share} of its time), from {quantity(first, 's')} to {quantity(last, 's')}"
    else:
        what = "an outage" if len(dark) == 1 else f"{len(dark)} outages"
        text = f"{name} had {what} of {quantity(total, 's')} in all, {share} of its time"
        text += ", and kept the packets until then" if modes == {"hold"} else ", and lost what was sent"
    text += "."
    if timeouts := int(_metric(flow, "timeouts")):
        text += (
            f" Its retransmission timer expired {counted(timeouts, 'time')} and waited twice as long after each (RFC 6298, 5.5), so it"
            " went on some time after the end; a smaller rto.max makes that time shorter."
        )
    return Cause(text, _BY_LOSS, "outage")


def boxes_of(
    flow: Mapping[str, Any], summary: Mapping[str, Any], content: Mapping[str, Any], kind: str
) -> Iterator[dict[str, Any]]:
    """The middleboxes of one kind through which a flow goes, from the summary, with their sections of the scenario."""
    nodes = {
        name
        for key in ("data_path", "ack_path")
        for link in _path(flow, summary, key)
        for name in (link["from"], link["to"])
    }
    sections = list(content.get("middlebox", ()))
    for number, box in enumerate(summary.get("middleboxes") or ()):
        if box.get("kind") != kind or not set(box.get("at") or ()) <= nodes:
            continue
        section = sections[number] if number < len(sections) else {}
        groups = section.get("flows")
        if groups is None or flow.get("group") in groups:
            yield {**box, "section": section}


def _long_hop(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """A split connection's long hop is what the sender cannot see: it sees a proxy whose window is closed, or one that takes all."""
    limited = flow.get("limited") or {}
    if not limited or max(limited, key=lambda name: limited[name] or 0.0) != "receiver_window":
        return _after_the_sender(flow, summary, content)
    for box in boxes_of(flow, summary, content, "split"):
        ends = list(box["at"])
        data = _path(flow, summary)
        inside = _behind_proxy(data, ends)
        behind = data[data.index(inside[-1]) + 1 :] if inside else []
        hop = f"the long hop of {box['name']}" if len(ends) == 2 else f"the path behind {box['name']}"
        waits = f"Waits for the proxy {box['name']}, whose buffer is full: what limits it is "
        if not inside:
            continue
        explained = frozenset({"receiver_window", "slow_start"})
        if full := [link for link in behind if _metric(link, "utilisation") >= _FULL]:
            link = min(full, key=lambda one: float(one["rate_bps"]))
            return Cause(
                f"{waits}the hop after it. {bottleneck.link_name(link)} is full: {quantity(_metric(link, 'utilisation'), 'share')} of"
                f" {quantity(float(link['rate_bps']), 'bit/s')} is in use.",
                explained,
                "long hop",
            )
        return Cause(f"{waits}{hop}. {_why_of_hop(flow, box, inside)}", explained, "long hop")
    return None


def _after_the_sender(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """A transfer that fits into a proxy's buffer: the sender's limits are those of its first milliseconds, the rest is the long hop's."""
    took, sending = _metric(flow, "completion_time_s"), float((flow.get("path_use") or {}).get("sending_s") or 0.0)
    if not sending or took < 3 * sending:
        return None
    for box in boxes_of(flow, summary, content, "split"):
        inside = _behind_proxy(_path(flow, summary), list(box["at"]))
        if not inside:
            continue
        slowest = min(inside, key=lambda link: float(link["rate_bps"]))
        transmission = _metric(flow, "delivered_bytes") * 8 / float(slowest["rate_bps"])
        one_way = float(flow.get("base_rtt_s") or 0.0) / 2
        if took <= 1.3 * (one_way + transmission) + sending:
            name, size = bottleneck.link_name(slowest), quantity(_metric(flow, "delivered_bytes"), "B")
            why = (
                f"The path's delay is {quantity(one_way, 's')}, and {name} takes {quantity(transmission, 's')} for {size}: no other"
                " transport would be much faster."
            )
        else:
            why = _why_of_hop(flow, box, inside)
        return Cause(
            f"Its sender had handed everything to the proxy {box['name']} after {quantity(sending, 's')} of {quantity(took, 's')}; the rest"
            f" of the time is that of the path behind it. {why}",
            frozenset({"cwnd", "slow_start", "handshake", "application", "receiver_window"}),
            "long hop",
        )
    return None


def _behind_proxy(data: Sequence[dict[str, Any]], ends: Sequence[str]) -> list[dict[str, Any]]:
    """The links of a path between the nodes of a proxy, or behind its only one."""
    if len(ends) == 2:
        return _between(data, ends[0], ends[1]) or _between(data, ends[1], ends[0])
    return _between(data, ends[0], None)


def _between(data: Sequence[dict[str, Any]], first: str, last: str | None) -> list[dict[str, Any]]:
    """The links of a path from one node to another, or to its end."""
    begins = [number for number, link in enumerate(data) if link["from"] == first]
    ends = [number for number, link in enumerate(data) if link["to"] == last] if last is not None else [len(data) - 1]
    return list(data[begins[0] : ends[0] + 1]) if begins and ends and ends[0] >= begins[0] else []


def _why_of_hop(flow: Mapping[str, Any], box: Mapping[str, Any], inside: Sequence[dict[str, Any]]) -> str:
    busiest = max(inside, key=lambda link: _metric(link, "utilisation"))
    name = bottleneck.link_name(busiest)
    if _used(flow, busiest) >= _FULL:
        return (
            f"{name} is full: {quantity(_used(flow, busiest), 'share')} of {quantity(float(busiest['rate_bps']), 'bit/s')}"
            " is in use, and only a faster link would make it faster."
        )
    ends = [hop for hop in box.get("long_hop") or () if hop["from"] == inside[0]["from"]]
    busy = max(ends, key=lambda hop: _metric(hop, "throughput_bps"), default=None)
    section = box["section"]
    lossy = max(inside, key=bottleneck.lost_on_wire)
    lost, sent_again = bottleneck.lost_on_wire(lossy), _metric(busy, "retransmission_rate") if busy else 0.0
    long = section.get("long") or {}
    if long.get("transport") == "hop" and long.get("carrier") != "tcp":
        return _why_of_accelerator(flow, box, busiest, busy)
    if busy is not None:
        window = _metric(busy, "throughput_bps") * _metric(busy, "rtt_mean_s") / 8
        spec = long.get("credit") or long.get("receive_buffer") or section.get("buffer")
        read = read_quantity(spec)
        if read and read[1] == "bytes" and window >= 0.8 * read[0]:
            rate = read[0] * 8 / (_metric(busy, "rtt_mean_s") or 1.0)
            return (
                f"Its receive buffer of {quantity(read[0], 'B')} cannot carry more than {quantity(rate, 'bit/s')} over a round trip of"
                f" {quantity(_metric(busy, 'rtt_mean_s'), 's')}; a larger one would."
            )
    control = _control_of_hop(flow, box, inside)
    by = f"its congestion control{f' ({control})' if control else ''}"
    if lost and lost >= 0.5 * sent_again and not str(control).startswith("bbr"):
        return (
            f"There is random loss on {bottleneck.link_name(lossy)}, {quantity(lost, 'share')} of the packets, which {by} takes for"
            " congestion; one that does not (BBR) would be faster."
        )
    again = f"; {quantity(sent_again, 'share', 2)} of its segments were retransmitted" if sent_again else ""
    return f"{name} is in use {quantity(_used(flow, busiest), 'share', 2)}, so {by} is the limit{again}."


def _control_of_hop(flow: Mapping[str, Any], box: Mapping[str, Any], inside: Sequence[dict[str, Any]]) -> str | None:
    """The congestion control by which a proxy sends over the path behind it; `None` if it is the default."""
    section = box["section"]
    if len(box["at"]) == 2:
        long = section.get("long") or {}
        control = (
            (long.get("tcp") or {}).get("congestion") or "bbr"
            if long.get("transport") == "hop"
            else long.get("congestion")
        )
    else:
        # The connections of a proxy at one node start from the flow's settings; `far` is the one to the passive opener.
        leg = "near" if inside[-1]["to"] == flow.get("from") or flow.get("app") in ASKING else "far"
        control = (section.get(leg) or {}).get("congestion") or flow.get("congestion")
    return str(control["kind"]) if isinstance(control, Mapping) else control


def _used(flow: Mapping[str, Any], busiest: Mapping[str, Any]) -> float:
    """How far the path is in use in the flow's time; over the whole run if that is not known."""
    used = usage.in_its_time(flow)
    return _metric(busiest, "utilisation") if used is None else used


def _why_of_accelerator(
    flow: Mapping[str, Any], box: Mapping[str, Any], busiest: dict[str, Any], busy: Mapping[str, Any] | None
) -> str:
    long = box["section"]["long"]
    credit, memory = (read_quantity(long.get(name)) for name in ("credit", "memory"))
    # The nodes take a ninth of a memory that was given alone.
    most = credit[0] if credit else memory[0] / 9 if memory else None
    rtt = _metric(busy, "rtt_mean_s") if busy else 0.0
    rate = most * 8 / rtt if most and rtt else float("inf")
    if most and rate < float(busiest["rate_bps"]) and _metric(flow, "goodput_bps") >= 0.8 * rate:
        return (
            f"Its credit of {quantity(most, 'B')} for each flow cannot carry more than {quantity(rate, 'bit/s')} over a round trip"
            f" of {quantity(rtt, 's')}; a larger one would."
        )
    name = bottleneck.link_name(busiest)
    setting, configured = _configured_rate(box, busiest)
    slowest = float(busiest["rate_bps"])
    if configured and configured < 0.9 * slowest and _metric(flow, "goodput_bps") < 0.8 * slowest:
        return (
            f"The hop starts at the configured {quantity(configured, 'bit/s')} ({setting}), {quantity(configured / slowest, 'share')} of"
            f" the {quantity(slowest, 'bit/s')} of {name}, and has to find the rest; with the link's rate it would be faster."
        )
    overloads = int(_metric(box, "hop_overloads"))
    cut = f", which it cut {counted(overloads, 'time')} for an overloaded link" if overloads else ""
    used = quantity(_used(flow, busiest), "share", 2)
    return f"The hop sends at a rate of its own, whatever is lost{cut}; {name} is in use {used} of that time."


def _configured_rate(box: Mapping[str, Any], link: Mapping[str, Any]) -> tuple[str, float | None]:
    """The setting with the rate at which a hop's node starts to send on a link, and its value in bit/s, if it was given."""
    section = box["section"]
    setting = "forward_rate" if link["from"] == section.get("at") else "reverse_rate"
    return setting, rate_of((section.get("long") or {}).get(setting))


def _policer(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    for box in boxes_of(flow, summary, content, "throttle"):
        rate = rate_of(box["section"].get("rate"))
        slowest = bottleneck.slowest_link(flow, {**summary, "links": summary["links"]})
        goodput = _metric(flow, "goodput_bps")
        if not rate or (slowest and rate >= float(slowest["rate_bps"])):
            continue
        drops, lost = _metric(box, "throttle_drops"), _metric(flow, "lost_packets")
        shares = max(1, int(box.get("flows") or 1))
        if drops >= _MOST * lost > 0 or goodput >= 0.8 * rate / shares:
            text = f"The throttle {box['name']} at {box['at'][0]} lets {quantity(rate, 'bit/s')} pass"
            text += f" and dropped {counted(int(drops), 'packet')}" if drops else ""
            text += ": no link on the path is that slow."
            met = goodput / (rate / shares)
            if met >= _RATE_MET:
                text += f" The flow got {quantity(min(1.0, met), 'share', 2)} of {'that' if shares == 1 else 'its share of that'}: only a higher rate there would make it faster."
            else:
                text += (
                    f" The flow got {quantity(met, 'share', 2)} of {'that' if shares == 1 else 'its share of that'}, since it reduces its window for what"
                    " the throttle drops. Pacing, or a control with a rate of its own (BBR), loses less there."
                )
            return Cause(text, frozenset({"cwnd", "recovery", "timeout", "slow_start", "pacing"}), "throttle")
    return None


def _return_link(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    return bottleneck.full_return_link(flow, summary)


def _lost_acks(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """Timeouts although the data arrive: the return links lose so many ACKs that those of a whole window are lost."""
    back = _path(flow, summary, "ack_path")
    outages = silent(summary, content)
    link = max(back, key=lambda one: bottleneck.lost_on_wire(one, outages), default=None)
    timeouts, part = int(_metric(flow, "timeouts")), bottleneck.share_met(flow)
    if link is None or not timeouts or (part or 0.0) >= usage.SHARE_IS_MET:
        return None
    acks, data = bottleneck.lost_on_wire(link, outages), _metric(flow, "loss_rate")
    if acks < MANY_ACKS or data > acks / 4:
        return None
    where = "none of its packets was lost" if not data else f"{quantity(data, 'share')} of its packets were lost"
    return Cause(
        f"ACKs are lost: the return link {bottleneck.link_name(link)} loses {quantity(acks, 'share')} of the packets, while {where} on the"
        f" way. When all ACKs of a window are lost, data that have arrived are sent again after a timeout ({counted(timeouts, 'time')}), and the"
        " window begins anew; with a small window that happens often. A control that keeps its rate (BBR), tail loss probes (variant"
        " rack) or an ACK for each segment make that rarer.",
        frozenset({"recovery", "timeout", "cwnd", "slow_start"}),
        "lost ACKs",
    )


def _own_link(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """A host's own links are in no table of links: they are known by what arrives on the links that flows share."""
    rate = flow.get("access_rate_bps")
    limited = flow.get("limited") or {}
    main = max(limited, key=lambda name: limited[name] or 0.0, default="")
    if not rate or main not in _BY_LOSS:
        return None
    own = section_of(flow, content).get("access") or (content.get("dumbbell") or {}).get("access") or {}
    rates = {
        side: rate_of((own.get(side) or {}).get("rate") or own.get("rate")) or float(rate) for side in ("from", "to")
    }
    shared = _path(flow, summary)
    slowest = min((float(link["rate_bps"]) for link in shared), default=float("inf"))
    side = "first" if rates["from"] <= rates["to"] else "last"
    wire = _metric(flow, "throughput_bps")
    size = int(flow.get("mss_bytes") or 1460)
    own_rate = min(rates.values())
    received = _metric(flow, "received_packets") * (size + _HEADERS) * 8
    begin, end = time_of(flow, summary)
    used = received / (end - begin) / own_rate if end > begin else 0.0
    if own_rate < slowest and used >= 0.9:
        return Cause(
            f"Fills its own {side} link: {quantity(min(1.0, used), 'share', 3)} of {quantity(own_rate, 'bit/s')} is in use, and no shared"
            " link is that slow.",
            frozenset({"cwnd", "recovery", "timeout", "slow_start"}),
            "own link",
        )
    lost = _metric(flow, "lost_packets")
    elsewhere = sum(
        _metric(link, "drops_queue") + _metric(link, "drops_loss") + _metric(link, "corrupted_packets")
        for link in shared
    )
    part = bottleneck.share_met(flow)
    if lost and not elsewhere and wire and (part or 1.0) < usage.SHARE_IS_MET:
        side = "first" if rates["to"] >= slowest or rates["from"] <= rates["to"] else "last"
        return Cause(
            f"All its losses ({counted(int(lost), 'packet')}) were dropped at its own {side} link of {quantity(rates['from' if side == 'first' else 'to'], 'bit/s')}:"
            " no shared link dropped one. A longer queue there, or pacing, keeps bursts.",
            frozenset({"cwnd", "recovery", "timeout"}),
            "own link",
        )
    return None


def _reordering(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """Fast retransmits without losses: packets came in another order."""
    repairs, lost = _metric(flow, "fast_retransmits"), _metric(flow, "lost_packets")
    if repairs < 3 or lost > 0.2 * repairs or (bottleneck.share_met(flow) or 0.0) >= usage.SHARE_IS_MET:
        return None
    where = [bottleneck.link_name(link) for link in _path(flow, summary) if link_setting(link, content, "reordering")]
    text = f"{' and '.join(where)} reorders packets" if where else "Packets are reordered on the way"
    return Cause(
        f"{text}: {counted(int(repairs), 'fast retransmit')}, and {counted(int(lost), 'packet')} lost. Each reduces the window for"
        " nothing; recovery by time (variant rack, RFC 8985) or a higher duplicate_threshold waits longer.",
        frozenset({"cwnd", "recovery", "timeout"}),
        "reordering",
    )


def _marks(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """A queue that marks packets although the link is not full: its target is too small for the round trip."""
    marked, events = _metric(flow, "ecn_reductions"), _metric(flow, "congestion_events")
    link = max(_path(flow, summary), key=lambda one: _metric(one, "marks"), default=None)
    if link is None or not marked or marked < events / 2 or not _metric(link, "marks"):
        return None
    if _metric(link, "utilisation") >= _FULL or (bottleneck.share_met(flow) or 0.0) >= usage.SHARE_IS_MET:
        return None
    queue = link_setting(link, content, "queue") or {}
    kind = str(queue.get("kind") or str(link.get("queue", "")).partition(" ")[0])
    base = float(flow.get("base_rtt_s") or 0.0)
    text = (
        f"The queue at {bottleneck.link_name(link)} ({kind}) marks packets (ECN): {counted(int(_metric(link, 'marks')), 'mark')}, which reduced"
        f" the window {counted(int(marked), 'time')}, while the link is in use {quantity(_metric(link, 'utilisation'), 'share', 2)}."
    )
    target, interval = seconds(queue.get("target")), seconds(queue.get("interval"))
    if target and interval and base and (interval < base or target < _TARGET * base):
        text += (
            f" Its target of {quantity(target, 's')} and interval of {quantity(interval, 's')} are small for a base RTT of {quantity(base, 's')}: the"
            " interval is that of a long round trip, the target 5 to 10 % of it (RFC 8289, 4.3)."
        )
    else:
        text += " It marks too early for one flow to keep the link busy: a higher target or threshold would."
    return Cause(text, frozenset({"cwnd"}), "marks")


def random_loss_beside(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> str:
    """A sentence about random loss that is a part of a flow's losses, and not most of them."""
    lost, outages = _metric(flow, "loss_rate"), silent(summary, content)
    link = max(_path(flow, summary), key=lambda one: bottleneck.lost_on_wire(one, outages), default=None)
    if link is None or not lost or (bottleneck.share_met(flow) or 0.0) >= usage.SHARE_IS_MET:
        return ""
    part = bottleneck.lost_on_wire(link, outages) / lost
    if part < _BESIDE:
        return ""
    return (
        f"About {quantity(min(1.0, part), 'share', 1)} of its losses are random loss on {bottleneck.link_name(link)}"
        f" ({quantity(bottleneck.lost_on_wire(link, outages), 'share')} of the packets), not congestion."
    )


def silent(summary: Mapping[str, Any], content: Mapping[str, Any]) -> frozenset[str]:
    """Directions of links that lose packets in outages alone: that is no loss of a link in service."""
    links: Sequence[Mapping[str, Any]] = summary.get("links") or ()
    return frozenset(
        str(link["name"])
        for link in links
        if any(one.get("mode", "drop") == "drop" for one in link_setting(link, content, "outages") or ())
        and not any(link_setting(link, content, key) for key in _LOSING)
    )


def _scripted(link: Mapping[str, Any], content: Mapping[str, Any], before: float) -> bool:
    """Whether a link's rate changed, or it was down, before a time."""
    times = [one["at"] for one in link_setting(link, content, "changes") or ()]
    times += [one["start"] for one in link_setting(link, content, "outages") or ()]
    return any(seconds(at) <= before for at in times)


def _overshoot(flow: dict[str, Any], summary: dict[str, Any], content: Mapping[str, Any]) -> Cause | None:
    """Many packets lost at once at the start, and most of what is missing was lost in repairing them."""
    events, lost = _metric(flow, "congestion_events"), _metric(flow, "lost_packets")
    first = (flow.get("metrics") or {}).get("first_congestion_event_s")
    queue = sum(_metric(link, "drops_queue") for link in _path(flow, summary))
    if not events or lost / events < _BURST or first is None or queue < _MOST * lost:
        return None
    if any(_scripted(link, content, float(first)) for link in _path(flow, summary)):
        return None
    if usage.is_known(flow):
        unused = usage.unused(flow)
        repairs, total = unused.get("recovery", 0.0) + unused.get("timeout", 0.0), sum(unused.values())
        begin, end = time_of(flow, summary)
        until = (flow.get("path_use") or {}).get("unused_until_s")
        early = until is not None and float(first) <= float(until) <= begin + (end - begin) / 3
        if total < 1 - _FULL or repairs < _WORTH * total or not (early or events <= _FEW):
            return None
    else:
        repairs = float((flow.get("limited") or {}).get("recovery") or 0.0)
        if repairs < _WORTH or events > _FEW or (bottleneck.share_met(flow) or 0.0) >= usage.SHARE_IS_MET:
            return None
    text = (
        f"Its slow start overshot: {counted(int(lost), 'packet')} were lost at {counted(int(events), 'reduction')} of the window, the"
        f" first at {quantity(float(first), 's')}. A slow start that grows in smaller steps or ends earlier loses fewer packets"
    )
    text += "; SACK repairs many losses in one round trip." if flow.get("variant") in _WITHOUT_SACK else "."
    return Cause(text, frozenset({"recovery", "timeout", "cwnd"}), "overshoot")
