"""What keeps the applications of a run from more, as a set of findings, each with its evidence, present or absent.

Remedies aim at findings: what aims at none that is present is not tried, and the evidence of the absence is the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import bottleneck, causes
from ..applications import ASKING, are_small
from ..units import counted, quantity, read_quantity

#: Shares of time above this are worth a remedy.
_WORTH = 0.1
#: A link that carries this share of its rate is full.
_FULL = 0.93
#: The IP and TCP headers of a data packet without options, in bytes.
HEADERS = 40


@dataclass(frozen=True)
class Finding:
    """Whether something is the case, and the sentence that shows it."""

    present: bool
    evidence: str


@dataclass
class Diagnosis:
    """What was found, and the parts of the scenario that remedies act on."""

    summary: Mapping[str, Any]
    #: The resolved scenario.
    content: Mapping[str, Any]
    #: Names of the groups whose applications are to be served.
    groups: Sequence[str]
    #: Where the scenario has the settings of each group of flows: by its name, or by its number if it has none.
    keys: Mapping[str, str]
    findings: dict[str, Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.flows = [flow for flow in self.summary["flows"] if flow["group"] in self.groups]
        self.sections = [flow for flow in self.content.get("flow", ()) if flow["name"] in self.groups]
        self.data = self._links(back=False)
        self.acks = self._links(back=True)
        self.bottleneck = max(self.data, key=_use, default=None)
        self.thin = max(self.acks, key=_use, default=None)
        self.long = max(self.data, key=lambda link: float(link["delay_s"]), default=None)
        self.rtt = max((float(flow["base_rtt_s"] or 0.0) for flow in self.flows), default=0.0)
        self.mss = min((int(flow["mss_bytes"]) for flow in self.flows), default=1460)
        self._find()

    @property
    def present(self) -> set[str]:
        """The findings that are the case."""
        return {name for name, finding in self.findings.items() if finding.present}

    @property
    def pipe_packets(self) -> int:
        """Packets that fill the path: the bottleneck's rate times the longest base RTT; at least 2."""
        if self.bottleneck is None:
            return 2
        size = (self.mss + HEADERS) * 8
        return max(2, math.ceil(float(self.bottleneck["rate_bps"]) * self.rtt / size))

    def place(self, link: Mapping[str, Any]) -> str:
        """The path of one direction of a link in the scenario, as `--set` takes it."""
        name, direction = str(link["name"]).rsplit(".", 1)
        named = [one["name"] for one in self.content.get("link", ())]
        return f"link.{name}.{direction}" if name in named else f"dumbbell.{name}.{direction}"

    def setting(self, link: Mapping[str, Any], key: str) -> Any:
        """A setting of one direction of a link."""
        name, direction = str(link["name"]).rsplit(".", 1)
        spec = next((one for one in self.content.get("link", ()) if one["name"] == name), None)
        spec = spec or (self.content.get("dumbbell") or {}).get(name) or {}
        return (spec.get(direction) or {}).get(key, spec.get(key))

    def inner(self, name: str) -> bool:
        """Whether a node is no end of any of the flows: a place for a proxy."""
        return all(name not in (flow["from"], flow["to"]) for flow in self.flows)

    def _links(self, back: bool) -> list[dict[str, Any]]:
        numbers: dict[int, None] = {}
        for flow in self.flows:
            numbers |= dict.fromkeys(flow["ack_path"] if back else flow["data_path"])
        return [self.summary["links"][number] for number in numbers]

    def _share(self, name: str) -> float:
        """Mean share of time over the flows."""
        shares = [float((flow.get("limited") or {}).get(name) or 0.0) for flow in self.flows]
        return math.fsum(shares) / len(shares) if shares else 0.0

    def _send_buffer(self) -> float:
        """Mean share of time in which the window would allow more than the send buffer holds."""
        tcp = {section["name"]: section.get("tcp") or {} for section in self.sections}
        shares = [
            float((flow.get("limited") or {}).get("application") or 0.0)
            for flow in self.flows
            if causes.filled_send_buffer(flow, tcp.get(flow["group"], {}))
        ]
        return math.fsum(shares) / len(self.flows) if self.flows else 0.0

    def _total(self, metric: str) -> float:
        return math.fsum(float(flow["metrics"].get(metric) or 0.0) for flow in self.flows)

    def _find(self) -> None:
        self._at_the_ends()
        self._on_the_path()
        self._in_the_script()

    def _put(self, name: str, present: bool, yes: str, no: str) -> None:
        self.findings[name] = Finding(present, yes if present else no)

    def _at_the_ends(self) -> None:
        window, start = self._share("receiver_window"), self._share("slow_start") + self._share("handshake")
        shown = quantity(window, "share", 2)
        self._put(
            "receiver's window",
            window >= _WORTH,
            f"flows wait for the receiver's window {shown} of their time",
            f"flows wait for the receiver's window {shown} of their time",
        )
        own = self._send_buffer()
        text = f"flows wait for room in their own send buffer {quantity(own, 'share', 2)} of their time"
        self._put("send buffer", own >= _WORTH, text, text)
        unscaled = any(not section["tcp"]["window_scaling"] for section in self.sections if uses_tcp(section))
        self._put(
            "no window scaling",
            unscaled and window >= _WORTH,
            "without window scaling a window is at most 65,535 bytes",
            "windows are scaled already" if not unscaled else "the receiver's window is not the limit",
        )
        shown = quantity(start, "share", 2)
        text = f"slow start and handshake take {shown} of the time"
        self._put("slow start", start >= 2 * _WORTH, text, text)
        pausing = [section for section in self.sections if not _opens_anew(section) and not _is_steady(section)]
        pauses = any(section["app"]["kind"] in (*ASKING, "on_off", "keystrokes") for section in pausing)
        nothing = 0.0 if self._send_buffer() else self._share("application")
        if len(pausing) == len(self.sections) or pauses:
            never = "the application never pauses"
        else:
            steady = all(_is_steady(section) for section in self.sections)
            never = (
                "it sends all the time"
                if steady
                else "each object has a connection of its own: no window outlasts a pause"
            )
        self._put(
            "pauses",
            pauses or bool(pausing and nothing >= _WORTH),
            "the application pauses, and its window falls back after each pause",
            f"the application has nothing to send for {quantity(nothing, 'share', 2)} of the time only"
            if nothing and pausing
            else never,
        )
        new = any(map(_opens_anew, self.sections))
        self._put("a connection for each object", new, "each object has a connection of its own", "it has no objects")
        messages = any(is_call(section) or section["app"]["kind"] == "keystrokes" for section in self.sections)
        # What a bulk flow sends twice is received twice: its segments are full all the same.
        others = [flow for flow in self.flows if flow["app"] != "bulk"]
        delivered, received = (
            math.fsum(_metric(flow, name) for flow in others) for name in ("delivered_bytes", "received_packets")
        )
        messages = messages or are_small(delivered, received, self.mss)
        self._put(
            "small messages",
            messages,
            "messages are smaller than a segment, and each waits for the ACK of those before (Nagle's algorithm)",
            "it has no messages that are smaller than a segment",
        )
        failed = [warning for warning in self.summary.get("warnings") or () if warning["code"] == "handshake"]
        failed = [warning for warning in failed if warning["object"] in self.groups]
        self._put(
            "handshake",
            bool(failed),
            str(failed[0]["message"]).partition(": ")[2] if failed else "",
            "handshakes succeed",
        )
        small = self.mss < 1200
        text = f"the MSS is {counted(self.mss, 'byte')}"
        self._put("small segments", small, text, text)
        events, lost = self._total("congestion_events"), self._total("lost_packets")
        per_event = lost / events if events else 0.0
        repair = self._share("recovery")
        burst = per_event >= 20 and repair >= _WORTH / 2
        self._put(
            "overshoot",
            burst,
            f"{round(per_event):,} packets are lost at a time, and repairs take {quantity(repair, 'share', 2)} of the time",
            "no large burst is lost at once" if lost else "nothing is lost",
        )
        timeouts = self._total("timeouts")
        self._put(
            "timeouts",
            timeouts >= max(1.0, 0.2 * len(self.flows)),
            f"{counted(int(timeouts), 'timeout')} occurred",
            "timeouts are rare" if timeouts else "no timeout occurred",
        )

    def _on_the_path(self) -> None:
        link, thin = self.bottleneck, self.thin
        if link is None:
            return
        name, use = bottleneck.link_name(link), quantity(_use(link), "share")
        # What outages drop is no loss of a link in service.
        silent = causes.silent(self.summary, self.content)

        def lost(link: Mapping[str, Any]) -> float:
            return bottleneck.lost_on_wire(link, silent)

        wire = max(map(lost, self.data), default=0.0)
        where = bottleneck.link_name(max(self.data, key=lost))
        self._put(
            "loss on the link",
            wire > 0,
            f"{where} loses {quantity(wire, 'share')} of the packets without congestion",
            "no link loses a packet without congestion",
        )
        self._put_lost_acks(lost)
        self._put_reordering()
        dropped = _metric(link, "drops_queue")
        waits = _metric(link, "queue_delay_p95_s")
        self._put(
            "short queue",
            dropped > 0 and _use(link) < _FULL,
            f"the queue at {name} drops {counted(int(dropped), 'packet')}",
            "no queue drops a packet" if not dropped else f"{name} is full ({use}): a longer queue carries no more",
        )
        answers = self._total("responses") > 0 or any(
            section["app"]["kind"] in (*ASKING, "keystrokes") or is_call(section) for section in self.sections
        )
        standing = waits >= max(0.02, (0.25 if answers else 0.5) * self.rtt)
        shown = f"5 % of the packets wait {quantity(waits, 's')} and more at {name}; the base RTT is {quantity(self.rtt, 's')}"
        self._put("standing queue", standing, shown, shown)
        if thin is not None:
            back = f"{bottleneck.link_name(thin)} is in use {quantity(_use(thin), 'share')}"
            full = _use(thin) >= 0.8 and _use(thin) > _use(link)
            size = _metric(thin, "throughput_bps") * float(self.summary["measured_s"]) / 8
            mean = size / (_metric(thin, "transmitted_packets") or 1.0)
            self._put("full return link", full, f"{back}, in the direction of the ACKs", f"{back} only")
            self._put("data on the return link", full and mean > 120, "other data fill it too", "only ACKs use it")
        self._put_fairness()

    def _put_lost_acks(self, lost: Callable[[Mapping[str, Any]], float]) -> None:
        back = max(self.acks, key=lost, default=None)
        acks, data = lost(back) if back else 0.0, max((_metric(flow, "loss_rate") for flow in self.flows), default=0.0)
        shown = (
            f"{bottleneck.link_name(back)} loses {quantity(acks, 'share')} of the ACKs"
            if acks and back
            else "no ACK is lost"
        )
        self._put("loss of ACKs", acks >= causes.MANY_ACKS and data <= acks / 4, shown, shown)

    def _put_reordering(self) -> None:
        where = [bottleneck.link_name(link) for link in self.data if self.setting(link, "reordering")]
        repairs, lost = self._total("fast_retransmits"), self._total("lost_packets")
        text = f"{counted(int(repairs), 'fast retransmit')}, and {counted(int(lost), 'packet')} lost"
        place = f"{' and '.join(where)} reorders packets" if where else "packets are reordered on the way"
        spurious = repairs >= max(3, len(self.flows)) and lost <= 0.2 * repairs
        self._put("reordering", spurious, f"{place}: {text}", f"no segment was sent again for another order ({text})")

    def _put_fairness(self) -> None:
        every = [flow for flow in self.summary["flows"] if flow["metrics"].get("goodput_bps") is not None]
        rates = [float(flow["metrics"]["goodput_bps"]) for flow in every if flow["app"] == "bulk"]
        jain = math.fsum(rates) ** 2 / (len(rates) * math.fsum(r * r for r in rates)) if any(rates) else 1.0
        shown = f"Jain's index over {counted(len(rates), 'bulk flow')} is {jain:.2f}"
        full = self.bottleneck is not None and _use(self.bottleneck) >= 0.8
        self._put("unequal shares", len(rates) > 1 and jain < 0.85 and full, shown, shown)
        link = self.bottleneck
        share = 0.0
        if link is not None:
            active = max(1.0, float(link.get("active_flows") or link.get("flows") or 1))
            rtt = max((_metric(flow, "rtt_mean_s") for flow in self.flows), default=self.rtt) or self.rtt
            share = float(link["rate_bps"]) / active * max(rtt, self.rtt) / 8 / (self.mss + HEADERS)
        text = f"an equal share of the link is {share:.1f} packets in a round trip"
        self._put("too many flows", 0 < share < 6 and len(every) > 4 and full, text, text)

    def _in_the_script(self) -> None:
        # What a link has in both directions is one outage.
        dark, turns = set(), set()
        for link in (*self.data, *self.acks):
            name = str(link["name"]).rsplit(".", 1)[0]
            dark |= {(name, str(one["start"])) for one in self.setting(link, "outages") or ()}
            turns |= {(name, str(one["at"])) for one in self.setting(link, "changes") or ()}
        outages, changes = len(dark), len(turns)
        self._put("outage", outages > 0, f"links of the path have {counted(outages, 'outage')}", "there is no outage")
        self._put(
            "changing link", changes > 0, f"rate or delay change {changes:,} times", "rate and delay never change"
        )
        shaped = [box for box in self.content.get("middlebox", ()) if box["kind"] == "throttle"]
        dropped = sum(
            _metric(box, "throttle_drops")
            for box in self.summary.get("middleboxes") or ()
            if box.get("kind") == "throttle"
        )
        self._put(
            "policed rate",
            bool(shaped) and dropped > 0,
            f"a throttle drops {counted(int(dropped), 'packet')} above its rate",
            "nobody polices the rate",
        )
        inner = self.long is not None and (self.inner(self.long["from"]) or self.inner(self.long["to"]))
        far = self.rtt >= 0.1
        self._put(
            "long path",
            inner and far,
            f"the base RTT is {quantity(self.rtt, 's')}, most of it on one link",
            "no node between the hosts has room for a proxy" if not inner else "the path is short",
        )


def uses_tcp(section: Mapping[str, Any]) -> bool:
    """Whether a section's flows are of TCP: only those have its settings.

    >>> uses_tcp({"transport": "quic", "quic": {}}), uses_tcp({"tcp": {}})
    (False, True)
    """
    return "tcp" in section and section.get("transport", "tcp") == "tcp"


def _opens_anew(section: Mapping[str, Any]) -> bool:
    """Whether each object of a page has a connection of its own."""
    return bool(section["app"]["kind"] == "web" and not section["app"].get("persistent", False))


def _is_steady(section: Mapping[str, Any]) -> bool:
    """Whether a section's flows send at a constant rate, without a pause that a window falls back after (RFC 5681, 4.1)."""
    app = section["app"]
    rate, size = causes.rate_of(app.get("rate")), read_quantity(app.get("message"))
    return bool(app["kind"] == "cbr" and rate and (not size or size[0] * 8 / rate < 1.0))


def is_call(section: Mapping[str, Any]) -> bool:
    """Whether a section's flows are calls.

    >>> is_call({"app": {"kind": "cbr", "voice": True}}), is_call({"app": {"kind": "cbr"}})
    (True, False)
    """
    return bool(section["app"].get("voice"))


def packets(value: object) -> int | None:
    """A queue's limit in packets, if it is given so.

    >>> packets("300 packets"), packets("1 MB")
    (300, None)
    """
    read = read_quantity(value)
    return round(read[0]) if read and read[1] == "packets" else None


def _metric(item: Mapping[str, Any], key: str) -> float:
    return float((item.get("metrics") or {}).get(key) or 0.0)


def _use(link: Mapping[str, Any]) -> float:
    return _metric(link, "utilisation")
