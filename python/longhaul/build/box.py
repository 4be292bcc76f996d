"""Middleboxes: what `Scenario.middlebox` takes.

Made by scripts/make-settings from the schema of scenarios: not written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .section import Section, given


def premature_ack(
    *,
    at: str,
    buffer: str | None = None,
    fail_at: str | None = None,
    flows: Sequence[str] | None = None,
    guard: Literal["as_printed", "strict"] | None = None,
    name: str | None = None,
    recovery: Mapping[str, Any] | None = None,
    watermark: int | str | None = None,
    window: str | None = None,
) -> Section:
    """Keeps copies of data packets and acknowledges the oldest of them to the source, on behalf of the destination (Okayama, 2005).

    * `at`: Name of the node where it stands.
    * `buffer`: N: data packets of each direction of each connection that it may keep a copy of.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `guard`: What keeps a premature ACK from covering packets of which there is no copy.
    * `name`: Its name: letters, digits, `-` and `_`.
    * `recovery`: Retransmission of what is lost between here and the destination.
    * `watermark`: W: how many of the oldest copies may be acknowledged prematurely, from 0 (never) to N; or `"auto"`.
    * `window`: The window that the source is offered, where it is larger than the destination's.
    """
    return given(
        {
            "kind": "premature_ack",
            "at": at,
            "buffer": buffer,
            "fail_at": fail_at,
            "flows": flows,
            "guard": guard,
            "name": name,
            "recovery": recovery,
            "watermark": watermark,
            "window": window,
        }
    )


def split(
    *,
    at: str,
    buffer: str | None = None,
    connections: int | str | None = None,
    fail_at: str | None = None,
    far: Mapping[str, Any] | None = None,
    flows: Sequence[str] | None = None,
    framing: Literal["header", "pepid"] | None = None,
    local_queue: Mapping[str, Any] | None = None,
    long: Mapping[str, Any] | None = None,
    name: str | None = None,
    near: Mapping[str, Any] | None = None,
    peer: str | None = None,
) -> Section:
    """Ends the connections of the hosts and has connections of its own beyond: at one node, or at two with a long hop between them.

    * `at`: Name of the node where it stands.
    * `buffer`: Receive buffer of each connection to a host: its window closes as it fills.
    * `connections`: Connections over the long hop: a number that the flows share, or `"per_flow"`.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `far`: What differs from the flow's own settings in the connection to the passive opener.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `framing`: How the flows' data are distinguished on the long hop.
    * `local_queue`: A queue before the split that drops; without it windows keep the hosts back.
    * `long`: What crosses the long hop.
    * `name`: Its name: letters, digits, `-` and `_`.
    * `near`: What differs from the flow's own settings in the connection to the active opener.
    * `peer`: Name of the second node.
    """
    return given(
        {
            "kind": "split",
            "at": at,
            "buffer": buffer,
            "connections": connections,
            "fail_at": fail_at,
            "far": far,
            "flows": flows,
            "framing": framing,
            "local_queue": local_queue,
            "long": long,
            "name": name,
            "near": near,
            "peer": peer,
        }
    )


def snoop(
    *,
    at: str,
    cache: str | None = None,
    fail_at: str | None = None,
    flows: Sequence[str] | None = None,
    name: str | None = None,
    recovery: Mapping[str, Any] | None = None,
    towards: Literal["from", "to"] | None = None,
) -> Section:
    """Keeps copies of data packets for a lossy last hop and retransmits lost ones, which hides the loss from the sender (Balakrishnan et al. 1995).

    * `at`: Name of the node where it stands.
    * `cache`: Data packets of each connection that it may keep a copy of.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `name`: Its name: letters, digits, `-` and `_`.
    * `recovery`: Retransmission over the lossy hop.
    * `towards`: The side of the lossy hop: that of the flows' `to` or of their `from`.
    """
    return given(
        {
            "kind": "snoop",
            "at": at,
            "cache": cache,
            "fail_at": fail_at,
            "flows": flows,
            "name": name,
            "recovery": recovery,
            "towards": towards,
        }
    )


def ack_compaction(
    *,
    at: str,
    peer: str,
    carrier: Mapping[str, Any] | None = None,
    fail_at: str | None = None,
    flows: Sequence[str] | None = None,
    form: Literal["exact", "traditional"] | None = None,
    most: int | None = None,
    name: str | None = None,
    pace: bool | None = None,
    spacing: int | str | None = None,
    threshold: int | None = None,
    wait: str | None = None,
) -> Section:
    """Sends the ACKs of a while over a thin link as one packet, and takes them apart behind it (Coetzee 1999).

    * `at`: Name of the node where it stands.
    * `peer`: Name of the node behind the thin link.
    * `carrier`: The tunnel is a TCP connection, with these settings where they differ from the defaults; without it, datagrams.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `form`: What is kept of the ACKs of a packet.
    * `most`: Most ACKs of a packet.
    * `name`: Its name: letters, digits, `-` and `_`.
    * `pace`: Gather at least until the thin link has sent what was sent last.
    * `spacing`: When the ACKs of a packet leave.
    * `threshold`: Traditional form: so many ACKs of a connection cross each by itself.
    * `wait`: How long ACKs gather after the first.
    """
    return given(
        {
            "kind": "ack_compaction",
            "at": at,
            "peer": peer,
            "carrier": carrier,
            "fail_at": fail_at,
            "flows": flows,
            "form": form,
            "most": most,
            "name": name,
            "pace": pace,
            "spacing": spacing,
            "threshold": threshold,
            "wait": wait,
        }
    )


def ack_filter(
    *,
    at: str,
    adapt: Mapping[str, Any] | None = None,
    every: int | None = None,
    fail_at: str | None = None,
    flows: Sequence[str] | None = None,
    hold: str | None = None,
    name: str | None = None,
) -> Section:
    """Lets one of several pure ACKs pass (RFC 3449).

    * `at`: Name of the node where it stands.
    * `adapt`: ACK congestion control: the number doubles after a round in which the thin line had too much to send, and falls by one, not below `every`, after a round in which it had not (in the spirit of RFC 5690).
    * `every`: One of so many pure ACKs that only advance goes on; 1 lets all pass.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `hold`: How long an omitted ACK waits for one that acknowledges more before it is forwarded itself.
    * `name`: Its name: letters, digits, `-` and `_`.
    """
    return given(
        {
            "kind": "ack_filter",
            "at": at,
            "adapt": adapt,
            "every": every,
            "fail_at": fail_at,
            "flows": flows,
            "hold": hold,
            "name": name,
        }
    )


def mss_clamp(
    *,
    at: str,
    mss: str,
    fail_at: str | None = None,
    flows: Sequence[str] | None = None,
    name: str | None = None,
    raise_: bool | None = None,
) -> Section:
    """Rewrites the MSS that connections announce.

    * `at`: Name of the node where it stands.
    * `mss`: A larger MSS is lowered to this one.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `name`: Its name: letters, digits, `-` and `_`.
    * `raise_`: A smaller one is raised to it, too: where it was announced for the wrong interface.
    """
    return given(
        {"kind": "mss_clamp", "at": at, "mss": mss, "fail_at": fail_at, "flows": flows, "name": name, "raise": raise_}
    )


def throttle(
    *,
    at: str,
    rate: str,
    burst: str | None = None,
    fail_at: str | None = None,
    flows: Sequence[str] | None = None,
    name: str | None = None,
    queue: Mapping[str, Any] | None = None,
    towards: Literal["from", "to"] | None = None,
) -> Section:
    """Lets packets one way pass at a rate, with bursts, and keeps the others in a queue (token bucket).

    * `at`: Name of the node where it stands.
    * `rate`: How fast the bucket fills, counted in IP packets.
    * `burst`: Bytes that it holds: what may pass at once after a pause.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `name`: Its name: letters, digits, `-` and `_`.
    * `queue`: The queue for what must wait.
    * `towards`: Which packets it holds back: those to the flows' `to` or to their `from`.
    """
    return given(
        {
            "kind": "throttle",
            "at": at,
            "rate": rate,
            "burst": burst,
            "fail_at": fail_at,
            "flows": flows,
            "name": name,
            "queue": queue,
            "towards": towards,
        }
    )


def paced(
    *,
    at: str,
    peer: str,
    buffer: str | None = None,
    control: Mapping[str, Any] | None = None,
    credit: str | None = None,
    erasure: Mapping[str, Any] | None = None,
    fail_at: str | None = None,
    far: Mapping[str, Any] | None = None,
    flows: Sequence[str] | None = None,
    initial_rtt: str | None = None,
    loop_buffer: str | None = None,
    loop_rtts: float | None = None,
    mtu: str | None = None,
    name: str | None = None,
    near: Mapping[str, Any] | None = None,
    queue: str | None = None,
    rate: str | None = None,
    reordering: int | None = None,
    report_interval: str | None = None,
    report_share: float | None = None,
    silence: str | None = None,
) -> Section:
    """Ends the connections of the hosts, and sends datagrams of its own over the satellite at the rate that it has (Coetzee 1999).

    * `at`: Name of the node where it stands.
    * `peer`: Name of the node of the pseudo proxy: the far end of the satellite, and where the thin line begins.
    * `buffer`: Receive buffer of each connection to a host: its window closes as it fills.
    * `control`: What differs from the default settings in the control connection, which is `established` from the start, without Nagle's algorithm, and has an MSS of 536 bytes unless set otherwise.
    * `credit`: Data of each connection that may be beyond the other node and not with their host yet.
    * `erasure`: An erasure code across datagrams.
    * `fail_at`: When it breaks down and loses what it holds; without it, never.
    * `far`: What differs from the flow's own settings in the connection to the passive opener.
    * `flows`: Names of the groups of flows that it acts on; without them, all that pass its node.
    * `initial_rtt`: The round trip time as long as none was measured.
    * `loop_buffer`: Most data in the delay loop; nothing new is sent beyond.
    * `loop_rtts`: Round trips that datagrams spend in the delay loop, before they are sent again without having been reported.
    * `mtu`: The longest IP packet over the satellite.
    * `name`: Its name: letters, digits, `-` and `_`.
    * `near`: What differs from the flow's own settings in the connection to the active opener.
    * `queue`: Nothing is sent while more waits for the satellite link than it sends in this time.
    * `rate`: What the client is allotted of the satellite, headers included.
    * `reordering`: Datagrams that may overtake one before it counts as lost.
    * `report_interval`: Longest time between two reports while data arrive.
    * `report_share`: Share of the line back that reports may take while hosts use it too; with nothing else on it they take up to half.
    * `silence`: The hub ends all connections when nothing has arrived from the pseudo proxy for so long; `"0 s"`: never.
    """
    return given(
        {
            "kind": "paced",
            "at": at,
            "peer": peer,
            "buffer": buffer,
            "control": control,
            "credit": credit,
            "erasure": erasure,
            "fail_at": fail_at,
            "far": far,
            "flows": flows,
            "initial_rtt": initial_rtt,
            "loop_buffer": loop_buffer,
            "loop_rtts": loop_rtts,
            "mtu": mtu,
            "name": name,
            "near": near,
            "queue": queue,
            "rate": rate,
            "reordering": reordering,
            "report_interval": report_interval,
            "report_share": report_share,
            "silence": silence,
        }
    )
