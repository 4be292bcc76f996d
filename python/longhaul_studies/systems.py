"""Every system that the five documents describe or build on, their related and future work too: where it is here, and what shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: Built; built in part (`why` has the rest); not yet, and planned; not built (`why` has the reason).
State = Literal["built", "in part", "planned", "not built"]

#: The documents, by the names of their studies.
_TITLES = {
    "highspeed": "HighSpeed TCP",
    "asymmetric": "Asymmetric satellite TCP",
    "premature-ack": "Premature ACKs",
    "split-pep": "Split connection",
    "sttp": "STTP",
}


@dataclass(frozen=True)
class System:
    """A system, where a document has it, and what there is of it here."""

    name: str
    #: Document (as its study is called) and section.
    document: str
    section: str
    state: State
    #: Where it is here: a kind, a setting, a page.
    here: str = ""
    #: The command that shows it, from the top of the source tree (elsewhere `longhaul examples NAME` copies a file).
    command: str = ""
    #: Why it is not built, or which part is not.
    why: str = ""


_GEO = "longhaul run examples/geo-one-flow.toml"


def _geo(setting: str) -> str:
    return f"{_GEO} --set flow.download.tcp.{setting}"


def _built(name: str, document: str, section: str, here: str, command: str) -> System:
    return System(name, document, section, "built", here, command)


SYSTEMS: Sequence[System] = (
    # HighSpeed TCP.
    _built("Standard TCP: slow start, AIMD, fast retransmit", "highspeed", "1.1", '`congestion = "reno"`', _geo("congestion=reno")),
    _built("HighSpeed TCP", "highspeed", "1.3", '`congestion = "highspeed"`', _geo("congestion=highspeed")),
    _built("Limited slow start", "highspeed", "1.6", '`slow_start = "limited"`', _geo("slow_start=limited")),
    _built("SACK of ns-2 (Sack1)", "highspeed", "1.7", '`variant = "sack1"`', _geo("variant=sack1")),
    _built("RED, adaptive and gentle, with ECN", "highspeed", "1.9", 'queue kind `red`', "longhaul run examples/queue-disciplines.toml --set dumbbell.bottleneck.queue.kind=red"),
    _built("Parallel streams", "highspeed", "6.8", "`count` of a flow", "longhaul reproduce highspeed --scale tiny --figure E8"),
    _built("Bursts of web traffic, and noise", "highspeed", "2.4, 2.5", "application `web`", "longhaul reproduce highspeed --scale tiny --figure E4"),
    _built("UDP with Pareto bursts", "highspeed", "2.6", 'application `on_off`, `transport = "udp"`', "longhaul run examples/udp.toml"),
    _built("Large frames (9000 B)", "highspeed", "1.10", "`mss`", "longhaul reproduce highspeed-chapter-8 --scale tiny --figure N4"),
    _built("Buffer tuning: Dynamic Right-Sizing, Linux's autotuning", "highspeed", "1.10", "`receive_autotuning`", _geo("receive_autotuning.max=8MB")),
    _built("Paced TCP", "highspeed", "1.10", "`pacing`", _geo("pacing=window")),
    System("FAST TCP", "highspeed", "1.10", "planned", why="planned: a congestion control by the queueing delay is missing: its equation for the window"),
    System("XCP", "highspeed", "1.10", "planned", why="planned: routers that write a change of the window into packets are missing: no queue here does that"),
    System("Fractional congestion control of parallel streams", "highspeed", "1.10", "planned", why="planned: streams with a common increase are missing: each flow here has its own"),
    System("HighSpeed TCP on real networks", "highspeed", "8", "not built", why="needs such a network; the emulator runs real kernels over simulated links"),
    # Asymmetric satellite TCP.
    _built("Large windows (RFC 1323)", "asymmetric", "5.1", "`receive_buffer`, `window_scaling`", "longhaul reproduce asymmetric --scale tiny --figure rtt"),
    _built("VJ header compression (RFC 1144)", "asymmetric", "5.3.2", "`serial.vj` of a link", "longhaul run examples/serial-return.toml"),
    _built("A compressor that resynchronises", "asymmetric", "9.3", "`compression`, `recovery` of it", "longhaul reproduce asymmetric --figure robust"),
    _built("ACK suppression and delayed ACKs", "asymmetric", "5.3.1", "`ack_every`, `delayed_ack`", "longhaul run examples/asymmetric.toml --set flow.download.tcp.ack_every=8"),
    _built("ACK compaction, traditional and revised", "asymmetric", "A.1, A.2", "middlebox `ack_compaction`", "longhaul run examples/ack-compaction.toml"),
    _built("A custom paced protocol with a delay loop", "asymmetric", "8.7", "middlebox `paced`", "longhaul run examples/paced-protocol.toml"),
    _built("Erasure coding of it", "asymmetric", "8.7", "`erasure` of `paced`", "longhaul reproduce satellite-objectives --figure loss"),
    _built("Limited and unlimited byte counting", "asymmetric", "7.2", "`slow_start` with `limit`", _geo("slow_start.limit=2")),
    _built("Larger initial windows", "asymmetric", "7.2", "`initial_window`", _geo("initial_window=4")),
    _built("TCP Vegas", "asymmetric", "7.1.2", '`congestion = "vegas"`', _geo("congestion=vegas")),
    _built("Serial queue and smallest RTO: policies P1 to P4", "asymmetric", "6.4", "`queue`, `rto.min`", "longhaul reproduce asymmetric --scale tiny --figure policy"),
    _built("FACK", "asymmetric", "16", '`variant = "fack"`', _geo("variant=fack")),
    _built("Throttling of a client", "asymmetric", "8.2", "middlebox `throttle`", "longhaul reproduce asymmetric --figure ladder"),
    _built("TCP proxy and spoofing", "asymmetric", "3.1", "middleboxes `split`, `premature_ack`", "longhaul run examples/satellite-pep.toml"),
    _built("The largest MSS: MTU of the line (M1)", "asymmetric", "5.2.2", "`mss`", "longhaul run examples/asymmetric.toml --set flow.download.tcp.mss=536B"),
    System("Vegas*: increases by scheduled events", "asymmetric", "9.5", "in part", "`pacing`", _geo("pacing=window"), "a window's increase is paced; the event that the thesis sketches has no rule"),
    _built("A tunnel device with an MTU of its own (M2)", "asymmetric", "5.4", "`mss`, longer headers", "longhaul reproduce asymmetric --figure sizes"),
    System("True negotiation of the MSS (M3)", "asymmetric", "5.4", "not built", why="an option of its own at both ends, which nobody has standardised; a tunnel (M2) gives the same"),
    System("Source quench", "asymmetric", "3.4.2", "not built", why="RFC 6633 deprecates it; hosts ignore it. ECN, throttles and windows give feedback"),
    System("Routing by address or kind of packet", "asymmetric", "3.3, 3.4.5", "in part", "a link whose delay changes", "longhaul reproduce asymmetric --figure handshake", "a SYN-ACK over another link is a link that changes; a flow's ways are found once, before a run"),
    System("Rate-based pacing after idle time", "asymmetric", "7.2.2", "in part", "`pacing` after idle", _geo("pacing=window"), "the rate before the pause; estimates of others are not kept"),
    # Premature ACKs.
    _built("A PEP with a watermark", "premature-ack", "2", "middlebox `premature_ack`", "longhaul reproduce premature-ack --scale tiny"),
    _built("An automatic watermark", "premature-ack", "5", '`watermark = "auto"`', "longhaul reproduce premature-ack --scale tiny --figure A2"),
    _built("Several PEPs along the path", "premature-ack", "5", "several middleboxes", "longhaul reproduce premature-ack --scale tiny --figure A6"),
    _built("A larger window by the PEP", "premature-ack", "5", "`window`", "longhaul reproduce premature-ack --scale quick --figure A4"),
    _built("Losses repaired by the PEP", "premature-ack", "5", "`recovery`", "longhaul reproduce premature-ack --scale quick --figure A5"),
    _built("NewReno, the sender of its simulations", "premature-ack", "4", '`variant = "newreno"`', _geo("variant=newreno")),
    # Split connection.
    _built("A three-way split with a local queue", "split-pep", "3", "middlebox `split`, `local_queue`", "longhaul reproduce split-pep --scale tiny"),
    _built("CUBIC and Compound on the long hop", "split-pep", "3", "`long.congestion`", "longhaul run examples/satellite-pep.toml --set middlebox.pep.long.congestion=compound"),
    _built("I-TCP: a split at the edge", "split-pep", "2", "middlebox `split`", "longhaul reproduce split-pep --scale quick --figure related"),
    _built("PEPsal: a split with TCP Hybla", "split-pep", "2", '`long.congestion = "hybla"`', "longhaul reproduce split-pep --scale quick --figure related"),
    _built("Snoop", "split-pep", "2", "middlebox `snoop`", "longhaul reproduce split-pep --scale quick --figure related"),
    _built("ACK congestion control (Balakrishnan)", "split-pep", "2", "`ack_congestion_control`", "longhaul run examples/asymmetric.toml --set flow.download.tcp.ack_congestion_control=true"),
    _built("ACK filtering (Balakrishnan)", "split-pep", "2", "middlebox `ack_filter`", "longhaul reproduce asymmetric --scale tiny --figure filter"),
    System("SCPS-TP", "split-pep", "2", "planned", why="planned: its negative ACKs and its rate for a link that is known are missing"),
    System("TCP-Peach", "split-pep", "2", "planned", why="planned: its dummy segments of low priority, and a queue that drops them first, are missing"),
    System("SaTPEP", "split-pep", "2", "planned", why="planned: its flow control by the use of the link, and its negative ACKs, are missing"),
    System("PETRA and STPP", "split-pep", "2", "planned", why="planned, as far as the source describes them: nothing of either is here"),
    System("A split with an HTTP cache", "split-pep", "2", "planned", why="planned: a cache with hit rates by Zipf's law is missing"),
    System("The HSDPA proxy with the radio's rate", "split-pep", "2", "planned", why="planned, as far as the source describes it: a proxy that the radio notifies of its rate is missing"),
    System("CSDP scheduling", "split-pep", "2", "planned", why="planned: a queue that waits for the receivers whose radio is good is missing"),
    System("Quick-Start", "split-pep", "2", "planned", why="planned: an option in which routers allow a rate (RFC 4782) is missing"),
    System("Compression of the payload", "split-pep", "5", "not built", why="a simulated payload is a length without content, and real traffic is encrypted"),
    _built("Other flow control of the split node", "split-pep", "5", "windows that close", "longhaul reproduce split-pep --figure F1"),
    _built("PEPs for both directions", "split-pep", "5", "a split carries both ways", "longhaul run examples/satellite-pep.toml"),
    _built("Two nodes that coordinate over the network", "split-pep", "5", "`peer`, and `longhaul-pep`", "longhaul pep-config examples/accelerated-geo.toml --out nodes"),
    # STTP.
    _built("STTP", "sttp", "3", '`congestion = "sttp"`', "longhaul run examples/sttp.toml"),
    _built("STTP made practical", "sttp", "6.3", '`congestion = "sttp_practical"`', "longhaul run examples/sttp-modern.toml"),
    _built("Packet pair (Keshav), and Hoe's ssthresh", "sttp", "2", '`slow_start = "packet_pair"`', _geo("slow_start=packet_pair")),
    _built("Probe trains, receiver-side measurement", "sttp", "5.1.2, 6.3", "`probes`, `side`", "longhaul reproduce sttp --scale tiny --figure additions"),
    _built("Tahoe, Reno", "sttp", "2", '`variant = "tahoe"`, `"reno"`', _geo("variant=tahoe")),
    _built("Reno with an average window", "sttp", "2", '`congestion = "reno_average"`', _geo("congestion=reno_average")),
    _built("RED and ECN", "sttp", "2", "queue kind `red`, `ecn`", "longhaul run examples/queue-disciplines.toml --set dumbbell.bottleneck.queue.kind=red"),
    _built("Weighted fair queueing", "sttp", "2", "queue kinds `wfq`, `drr`", "longhaul reproduce sttp --figure queues"),
    _built("Nagle's algorithm (RFC 896)", "sttp", "2", "`nagle`", _geo("nagle=true")),
    _built("Films, requests, keystrokes", "sttp", "3.3", "applications `video`, `messages`, `keystrokes`", "longhaul list apps"),
    System("DUAL", "sttp", "2", "planned", why="planned: a cut of an eighth above the mean of the least and the largest round trip is missing"),
    System("Tri-S", "sttp", "2", "planned", why="planned: growth by what one packet more in flight gains is missing"),
    System("DECbit", "sttp", "2", "planned", why="planned: a bit that routers set by their mean queue, and a window that counts it, are missing"),
    System("bprobe, packet bunch modes", "sttp", "2", "planned", why="planned: both estimators, beside packet pair, are missing"),
    System("ATM cells, EPD and PPD, TCP Boston", "sttp", "2", "planned", why="planned: cells, and a queue with early and partial packet discard, are missing"),
    System("ATM's ABR", "sttp", "2", "planned", why="planned: switches that compute an explicit rate, and sources that follow it, are missing"),
    System("DiffServ classes", "sttp", "2", "planned", why="planned: a queue of two classes is missing"),
    System("RSVP", "sttp", "2", "not built", why="reservations of single flows are not deployed; a flow with a link of its own is one"),
    System("RTP and RTCP feedback", "sttp", "2", "not built", why="media without a transport's loop; `streams` over TCP and QUIC stand for films"),
    System("QoS state shared between layers, and its API", "sttp", "6.3", "not built", why="a sketch without rules; congestion controls can be written in Python (`docs/extending.md`)"),
)  # fmt: skip

_WORDS = {"built": "", "in part": "in part: ", "planned": "", "not built": "not built: "}


def table() -> str:
    """All systems as a table in Markdown, document by document."""
    lines = ["| system | document, section | here | shown by | what is missing, and why |", "|---|---|---|---|---|"]
    for system in SYSTEMS:
        title = f"[{_TITLES[system.document]}]({system.document}.md) "
        command = f"`{system.command}`" if system.command else ""
        why = f"{_WORDS[system.state]}{system.why}" if system.why else ""
        lines.append(f"| {system.name} | {title}{system.section} | {system.here} | {command} | {why} |")
    return "\n".join(lines)


def counted() -> str:
    """How many systems there are in each state, in a sentence."""
    number = {
        state: sum(system.state == state for system in SYSTEMS)
        for state in ("built", "in part", "planned", "not built")
    }
    return (
        f"Of {len(SYSTEMS)} systems {number['built']} are built, {number['in part']} in part, {number['planned']} are planned, and {number['not built']} are not built for the"
        " reason that stands beside them."
    )
