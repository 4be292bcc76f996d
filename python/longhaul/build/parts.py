"""Tables without a kind: settings of TCP, QUIC and UDP, directions of links, outages, changes.

Made by scripts/make-settings from the schema of scenarios: not written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .section import Section, given


def tcp(
    *,
    ack_congestion_control: bool | None = None,
    ack_every: int | None = None,
    answer_unsent_acks: bool | None = None,
    careful_resume: Mapping[str, Any] | None = None,
    clear_sack_on_timeout: bool | None = None,
    congestion: Literal[
        "bbr",
        "bbr3",
        "bic",
        "compound",
        "copa",
        "cubic",
        "dctcp",
        "dual",
        "fast",
        "fixed",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "ledbat",
        "ledbat++",
        "nv",
        "prague",
        "reno",
        "reno_average",
        "scalable",
        "sttp",
        "sttp_practical",
        "tri_s",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ]
    | Mapping[str, Any]
    | type[Any]
    | None = None,
    credit_sacked: bool | None = None,
    delayed_ack: int | str | None = None,
    dsack: bool | None = None,
    duplicate_threshold: int | None = None,
    ecn: Literal["accurate"] | bool | None = None,
    empty_probes: bool | None = None,
    established: bool | None = None,
    halve_after_idle: bool | None = None,
    head_restarts_timer: bool | None = None,
    initial_ssthresh: str | None = None,
    initial_window: int | str | None = None,
    keepalive: Mapping[str, Any] | None = None,
    limited_transmit: bool | None = None,
    max_burst: int | None = None,
    max_pacing_rate: str | None = None,
    max_retransmissions: int | None = None,
    max_syn_retransmissions: int | None = None,
    minshall: bool | None = None,
    mss: str | None = None,
    nagle: bool | None = None,
    pace_after_idle: float | None = None,
    pacing: Literal["off", "window"] | Mapping[str, Any] | None = None,
    pacing_burst: float | None = None,
    peer_ack_delay: str | None = None,
    quick_acks: int | None = None,
    rate_reduction: Literal["conservative", "off", "safe_ack", "slow_start"] | None = None,
    rate_reduction_on_ecn: bool | None = None,
    reading_rate: str | None = None,
    reassembly_limit: int | str | None = None,
    receive_autotuning: Mapping[str, Any] | None = None,
    receive_buffer: int | str | None = None,
    reduction_from: Literal["cwnd", "flight_size"] | None = None,
    restart_after_idle: bool | None = None,
    restart_timer_on_fast_retransmit: bool | None = None,
    rto: Mapping[str, Any] | None = None,
    sack_of_old_acks: bool | None = None,
    sack_whole_segments: bool | None = None,
    send_buffer: int | str | None = None,
    send_buffer_windows: int | None = None,
    slow_but_steady: bool | None = None,
    slow_start: Literal["hystart", "hystart++", "limited", "packet_pair", "search", "standard"]
    | Mapping[str, Any]
    | None = None,
    slow_start_to_twice_flight: bool | None = None,
    so_rcvbuf: int | str | None = None,
    so_sndbuf: int | str | None = None,
    spurious_detection: Mapping[str, Any] | None = None,
    syn_linear_timeouts: int | None = None,
    tail_loss_probe: bool | None = None,
    time_wait: str | None = None,
    timestamp_tick: str | None = None,
    timestamps: bool | None = None,
    timestamps_required: bool | None = None,
    tolerated_syn_losses: int | None = None,
    undone_recoveries_count: bool | None = None,
    unpaced_segments: int | None = None,
    user_timeout: str | None = None,
    variant: Literal["fack", "linux", "newreno", "rack", "reno", "sack", "sack1", "tahoe"] | None = None,
    window_scaling: bool | None = None,
) -> Section:
    """A connection's settings, at both ends.

    * `ack_congestion_control`: ACK congestion control (RFC 5690): the sender detects that ACKs are lost or marked, and requests that the receiver acknowledge one of R segments, R being 2 at first, and paces segments while R is above 2.
    * `ack_every`: Acknowledge at least every so many full-sized segments.
    * `answer_unsent_acks`: An ACK of what was never sent is answered by an ACK, and its timestamp recorded (RFC 9293 section 3.10.7.4); Linux 6.1 does neither.
    * `careful_resume`: What both ends have stored of an earlier connection over the same path, with which they resume carefully (RFC 9959): once the initial window is acknowledged, the window jumps to half of the remembered one, and back if that leads to losses.
    * `clear_sack_on_timeout`: Discard what was SACKed when the retransmission timer expires (RFC 2018 section 8).
    * `congestion`: Congestion control.
    * `credit_sacked`: Where the window grows, an ACK counts for all that it acknowledges (RFC 5681); without it, for what it delivers itself and not for what was SACKed before, as in Linux.
    * `delayed_ack`: Longest delay of an ACK.
    * `dsack`: Report duplicates to the sender (RFC 2883).
    * `duplicate_threshold`: Duplicate ACKs that mean a loss.
    * `ecn`: Explicit congestion notification (RFC 3168); with "accurate" its feedback counts every mark where the peer can do so too (AccECN, RFC 9768), and all packets but SYNs are ECN-capable.
    * `empty_probes`: Probes of a closed window carry nothing, as in Linux; otherwise the next byte (RFC 9293 section 3.8.6.1).
    * `established`: Skip the handshake, as one-way agents do: both ends are connected from the start.
    * `halve_after_idle`: With `restart_after_idle` the window is halved for each RTO of idleness, down to the initial window, and ssthresh is at least 3/4 of it (RFC 2861 section 3.1; Linux).
    * `head_restarts_timer`: With variant "rack", each retransmission of the first segment in flight restarts the retransmission timer, and so do SACKs of data that left before it did, as in Linux: what is lost twice needs no timeout.
    * `initial_ssthresh`: Slow start threshold at the start; none means arbitrarily high.
    * `initial_window`: Initial window.
    * `keepalive`: Probing of an idle peer; without it, none.
    * `limited_transmit`: Send new data on the first duplicate ACKs (RFC 3042).
    * `max_burst`: At most so many segments leave in answer to one arriving segment.
    * `max_pacing_rate`: No faster than this, headers not counted (Linux: `SO_MAX_PACING_RATE`).
    * `max_retransmissions`: Give up after so many retransmissions of one segment.
    * `max_syn_retransmissions`: Give up after so many retransmissions of a SYN (Linux: `tcp_syn_retries`).
    * `minshall`: Nagle's algorithm in Minshall's form: a small segment waits only for an earlier small one, so the end of a long message leaves at once (draft-minshall-nagle-01; Linux).
    * `mss`: Payload of a full segment without options.
    * `nagle`: Nagle's algorithm.
    * `pace_after_idle`: After an idle RTO keep this share of the window, and pace it over a round trip until the first ACK comes back (rate-based pacing, Visweswaraiah and Heidemann 1997).
    * `pacing`: Pacing for congestion controls that set only a window.
    * `pacing_burst`: When segments are paced: how many may leave back to back after a pause.
    * `peer_ack_delay`: The longest time for which the peer may hold back an ACK; a tail loss probe for a single segment waits for it besides (RFC 8985 section 7.2).
    * `quick_acks`: So many segments are acknowledged at once when data begin to arrive, after a silence of an RTO and after a duplicate; where the receive buffer is autotuned, each that opens the window as well. 16 in Linux.
    * `rate_reduction`: Proportional rate reduction in fast recovery (RFC 9937).
    * `rate_reduction_on_ecn`: The same upon an ECN echo, as in Linux; otherwise the window is reduced at once (RFC 3168).
    * `reading_rate`: Rate at which the application reads; without it, at once.
    * `reassembly_limit`: How far above the first missing byte the receiver keeps and SACKs data, in packets of one MSS or in bytes; what is beyond it is discarded although the window was offered. `"unlimited"` means up to the window. `"1023 packets"` is the fault of ns-2 before 2.1b9a: losses in larger windows end in a timeout, a second cut.
    * `receive_autotuning`: Receive buffer that grows with what the application reads in a round trip (dynamic right-sizing, as Linux); `receive_buffer` does not count then.
    * `receive_buffer`: Receive buffer.
    * `reduction_from`: What congestion takes its share of: what is in flight ("flight_size", RFC 5681) or the window ("cwnd", Linux).
    * `restart_after_idle`: After an idle RTO go back to the initial window (RFC 5681 section 4.1).
    * `restart_timer_on_fast_retransmit`: Entering loss recovery restarts the retransmission timer, as 4.4BSD, Linux and ns-2 do; RFC 6298 is silent.
    * `rto`: Retransmission timer.
    * `sack_of_old_acks`: Take up SACK blocks of ACKs that later ones have overtaken, as in Linux.
    * `sack_whole_segments`: A segment counts as SACKed once all of it is, as in Linux; otherwise each octet does (RFC 6675).
    * `send_buffer`: Send buffer: no more than this is unacknowledged, whatever the windows.
    * `send_buffer_windows`: The send buffer has room for so many congestion windows, and `send_buffer` is its largest size: it grows with the window, and an application that waits for room writes again once a third of it is free. 0: it has its full size from the start, and is filled as soon as there is room.
    * `slow_but_steady`: NewReno restarts its retransmission timer on every partial ACK, not only on the first (RFC 6582 section 4).
    * `slow_start`: Slow start.
    * `slow_start_to_twice_flight`: In slow start the window grows up to twice the most that was in flight, where the application or the receiver's window is the limit (Linux).
    * `so_rcvbuf`: `SO_RCVBUF`, as an application sets it on its socket (`iperf3 -w`): Linux doubles it, takes `receive_autotuning.window_share` of that as window, and autotunes no more (socket(7), tcp(7)).
    * `so_sndbuf`: `SO_SNDBUF`, as an application sets it on its socket: Linux doubles it, and `send_buffer` does not count then (socket(7)).
    * `spurious_detection`: How a sender detects that a reduction of the window was unnecessary; it then undoes it.
    * `syn_linear_timeouts`: So many times the timeout of the SYN is repeated before it is doubled, and these do not count towards giving up. 4 in Linux (`tcp_syn_linear_timeouts`).
    * `tail_loss_probe`: With variant "rack", probe for losses at the tail after two round trips without an ACK (RFC 8985 section 7).
    * `time_wait`: Time in TIME-WAIT, 2 MSL.
    * `timestamp_tick`: Tick of the timestamps option's clock.
    * `timestamps`: Timestamps option (RFC 7323).
    * `timestamps_required`: Once timestamps are agreed on, drop segments without the option (RFC 7323 section 3.2); Linux takes them.
    * `tolerated_syn_losses`: So many retransmissions of the SYN or SYN-ACK leave the initial window as it is; otherwise it is one segment after a lost SYN (RFC 5681 section 3.1). 1 in Linux.
    * `undone_recoveries_count`: With variant "rack", the reordering window that D-SACKs have widened is as in the beginning after sixteen recoveries, those that were undone included (RFC 8985); in Linux they do not count.
    * `unpaced_segments`: When segments are paced: so many of the connection leave before it begins.
    * `user_timeout`: Give up when data stays unacknowledged for longer.
    * `variant`: Loss recovery.
    * `window_scaling`: Window scaling (RFC 7323).
    """
    return given(
        {
            "ack_congestion_control": ack_congestion_control,
            "ack_every": ack_every,
            "answer_unsent_acks": answer_unsent_acks,
            "careful_resume": careful_resume,
            "clear_sack_on_timeout": clear_sack_on_timeout,
            "congestion": congestion,
            "credit_sacked": credit_sacked,
            "delayed_ack": delayed_ack,
            "dsack": dsack,
            "duplicate_threshold": duplicate_threshold,
            "ecn": ecn,
            "empty_probes": empty_probes,
            "established": established,
            "halve_after_idle": halve_after_idle,
            "head_restarts_timer": head_restarts_timer,
            "initial_ssthresh": initial_ssthresh,
            "initial_window": initial_window,
            "keepalive": keepalive,
            "limited_transmit": limited_transmit,
            "max_burst": max_burst,
            "max_pacing_rate": max_pacing_rate,
            "max_retransmissions": max_retransmissions,
            "max_syn_retransmissions": max_syn_retransmissions,
            "minshall": minshall,
            "mss": mss,
            "nagle": nagle,
            "pace_after_idle": pace_after_idle,
            "pacing": pacing,
            "pacing_burst": pacing_burst,
            "peer_ack_delay": peer_ack_delay,
            "quick_acks": quick_acks,
            "rate_reduction": rate_reduction,
            "rate_reduction_on_ecn": rate_reduction_on_ecn,
            "reading_rate": reading_rate,
            "reassembly_limit": reassembly_limit,
            "receive_autotuning": receive_autotuning,
            "receive_buffer": receive_buffer,
            "reduction_from": reduction_from,
            "restart_after_idle": restart_after_idle,
            "restart_timer_on_fast_retransmit": restart_timer_on_fast_retransmit,
            "rto": rto,
            "sack_of_old_acks": sack_of_old_acks,
            "sack_whole_segments": sack_whole_segments,
            "send_buffer": send_buffer,
            "send_buffer_windows": send_buffer_windows,
            "slow_but_steady": slow_but_steady,
            "slow_start": slow_start,
            "slow_start_to_twice_flight": slow_start_to_twice_flight,
            "so_rcvbuf": so_rcvbuf,
            "so_sndbuf": so_sndbuf,
            "spurious_detection": spurious_detection,
            "syn_linear_timeouts": syn_linear_timeouts,
            "tail_loss_probe": tail_loss_probe,
            "time_wait": time_wait,
            "timestamp_tick": timestamp_tick,
            "timestamps": timestamps,
            "timestamps_required": timestamps_required,
            "tolerated_syn_losses": tolerated_syn_losses,
            "undone_recoveries_count": undone_recoveries_count,
            "unpaced_segments": unpaced_segments,
            "user_timeout": user_timeout,
            "variant": variant,
            "window_scaling": window_scaling,
        }
    )


def quic(
    *,
    ack_delay: str | None = None,
    ack_every: int | None = None,
    careful_resume: Mapping[str, Any] | None = None,
    certificates: str | None = None,
    congestion: Literal[
        "bbr",
        "bbr3",
        "bic",
        "compound",
        "copa",
        "cubic",
        "dctcp",
        "dual",
        "fast",
        "fixed",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "ledbat",
        "ledbat++",
        "nv",
        "prague",
        "quinn_bbr",
        "quinn_cubic",
        "quinn_new_reno",
        "reno",
        "reno_average",
        "scalable",
        "sttp",
        "sttp_practical",
        "tri_s",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ]
    | Mapping[str, Any]
    | type[Any]
    | None = None,
    connection: str | None = None,
    connection_id: int | None = None,
    connection_window: int | str | None = None,
    ecn: bool | None = None,
    handshake: Literal["early_data", "full", "resumed"] | None = None,
    idle_timeout: int | str | None = None,
    initial_rtt: str | None = None,
    initial_ssthresh: str | None = None,
    initial_window: int | str | None = None,
    keep_alive: int | str | None = None,
    mtu: str | None = None,
    mtu_discovery: str | None = None,
    pacing: Literal["off", "window"] | Mapping[str, Any] | None = None,
    pacing_burst: int | None = None,
    packet_threshold: int | None = None,
    priority: int | None = None,
    send_buffer: int | str | None = None,
    slow_start: Literal["hystart", "hystart++", "limited", "packet_pair", "search", "standard"]
    | Mapping[str, Any]
    | None = None,
    stream_window: int | str | None = None,
    unordered: bool | None = None,
) -> Section:
    """A QUIC connection's settings, at both ends.

    * `ack_delay`: Longest delay of an ACK; other than 25 ms takes the same extension.
    * `ack_every`: Acknowledge at least every so many packets; other than 2 takes the ACK frequency extension, by which the sender sets it at the receiver.
    * `careful_resume`: What both ends have stored of an earlier connection over the same path, with which they resume carefully (RFC 9959): once the initial window is acknowledged, the window jumps to half of the remembered one, and back if that leads to losses.
    * `certificates`: Bytes of the server's certificates, which a full handshake carries; until the client's address is validated, a server sends at most three times what it has received (RFC 9000 section 8.1).
    * `congestion`: Congestion control: as for TCP, but for those that open a connection with probes, or quinn-proto's own (`quinn_cubic`, `quinn_bbr`, `quinn_new_reno`), which slow start, initial window and pacing do not concern.
    * `connection`: Flows between the same two hosts whose settings have the same name here share one connection, `"shared"` for instance; then all other settings but `priority` must be equal.
    * `connection_id`: Bytes of the connection IDs.
    * `connection_window`: Bytes that may arrive on all streams of a connection before they are read.
    * `ecn`: Packets are ECN-capable (RFC 9000 section 13.4).
    * `handshake`: What the client has stored of the server.
    * `idle_timeout`: A connection on which nothing arrives for so long is given up.
    * `initial_rtt`: Round trip that is assumed before one is measured: the first probe leaves after three of them (RFC 9002 section 6.2.2).
    * `initial_ssthresh`: Slow start threshold at the start; none means arbitrarily high.
    * `initial_window`: Initial window, in datagrams of `mtu` or in bytes.
    * `keep_alive`: A silent connection is kept alive by a packet after so long.
    * `mtu`: UDP payload of the first datagrams.
    * `mtu_discovery`: Largest UDP payload that is looked for by probes (RFC 8899); `mtu` itself for none.
    * `pacing`: Pacing for congestion controls that set only a window; RFC 9002 section 7.7 requires it.
    * `pacing_burst`: Datagrams that may leave back to back after a pause when datagrams are paced.
    * `packet_threshold`: Packets sent later that must be acknowledged before one is lost (RFC 9002 section 6.1.1).
    * `priority`: Data of the flow are sent before those of flows with a lower priority on the same connection; flows of equal priority take turns.
    * `send_buffer`: Bytes of all streams that a sender keeps until they are acknowledged. quinn's default is 10 MB.
    * `slow_start`: Slow start.
    * `stream_window`: Bytes that may arrive on a stream before they are read; packets are of one `mtu`. quinn's default is 1.25 MB.
    * `unordered`: The receiver takes data as they come and puts them in order itself.
    """
    return given(
        {
            "ack_delay": ack_delay,
            "ack_every": ack_every,
            "careful_resume": careful_resume,
            "certificates": certificates,
            "congestion": congestion,
            "connection": connection,
            "connection_id": connection_id,
            "connection_window": connection_window,
            "ecn": ecn,
            "handshake": handshake,
            "idle_timeout": idle_timeout,
            "initial_rtt": initial_rtt,
            "initial_ssthresh": initial_ssthresh,
            "initial_window": initial_window,
            "keep_alive": keep_alive,
            "mtu": mtu,
            "mtu_discovery": mtu_discovery,
            "pacing": pacing,
            "pacing_burst": pacing_burst,
            "packet_threshold": packet_threshold,
            "priority": priority,
            "send_buffer": send_buffer,
            "slow_start": slow_start,
            "stream_window": stream_window,
            "unordered": unordered,
        }
    )


def udp(*, ecn: bool | None = None, payload: str | None = None) -> Section:
    """Settings of a flow over UDP (RFC 768).

    * `ecn`: Datagrams are ECN-capable, ECT(0): queues that mark do so instead of dropping them.
    * `payload`: Largest payload of a datagram: a longer message is sent as several.
    """
    return given({"ecn": ecn, "payload": payload})


def rto(
    *,
    granularity: str | None = None,
    initial: str | None = None,
    max: str | None = None,
    min: str | None = None,
    one_sample_per_round: bool | None = None,
    ticks: bool | None = None,
    variation_by_round: bool | None = None,
) -> Section:
    """The retransmission timer (RFC 6298).

    * `granularity`: Granularity of the clock.
    * `initial`: RTO before the first round trip was measured.
    * `max`: Largest RTO.
    * `min`: Smallest RTO.
    * `one_sample_per_round`: Take at most one sample in a round trip, as implementations with one timed segment do.
    * `ticks`: Round trips and the RTO are whole ticks of `granularity`, and SRTT and RTTVAR integers (in eighths and quarters of a tick), as in BSD and ns-2: steady round trips leave an RTO three ticks above SRTT. With one sample a round trip (`one_sample_per_round`) a sample is the number of ticks that the clock shows, otherwise it is rounded.
    * `variation_by_round`: RTTVAR follows once a round trip, and falls by at most a quarter in it (Linux); otherwise each sample moves it (RFC 6298).
    """
    return given(
        {
            "granularity": granularity,
            "initial": initial,
            "max": max,
            "min": min,
            "one_sample_per_round": one_sample_per_round,
            "ticks": ticks,
            "variation_by_round": variation_by_round,
        }
    )


def direction(
    *,
    acm: Mapping[str, Any] | None = None,
    arq: Mapping[str, Any] | None = None,
    carrier: Mapping[str, Any] | None = None,
    changes: Sequence[Mapping[str, Any]] | None = None,
    corruption: Mapping[str, Any] | float | str | None = None,
    delay: str | None = None,
    demand: Mapping[str, Any] | None = None,
    duplication: float | str | None = None,
    jitter: Mapping[str, Any] | str | None = None,
    leo: Mapping[str, Any] | None = None,
    loss: Mapping[str, Any] | float | str | None = None,
    mtu: str | None = None,
    outages: Sequence[Mapping[str, Any]] | None = None,
    overhead: Literal[
        "bridged-llcsnap",
        "bridged-ptm",
        "bridged-vcmux",
        "conservative",
        "docsis",
        "ethernet",
        "ethernet-vlan",
        "ipoa-llcsnap",
        "ipoa-vcmux",
        "pppoa-llc",
        "pppoa-vcmux",
        "pppoe-llcsnap",
        "pppoe-ptm",
        "pppoe-vcmux",
    ]
    | Mapping[str, Any]
    | None = None,
    queue: Mapping[str, Any] | str | None = None,
    rate: str | None = None,
    reordering: Mapping[str, Any] | None = None,
    serial: Mapping[str, Any] | None = None,
    slots: Mapping[str, Any] | None = None,
    too_big: Literal["dropped", "reported"] | None = None,
    trace: Mapping[str, Any] | None = None,
    wander: Sequence[Mapping[str, Any]] | None = None,
) -> Section:
    """What may differ between the two directions of a link.

    * `acm`: Adaptive coding and modulation (DVB-S2, DVB-S2X), in the place of `rate`: the rate follows the signal over time.
    * `arq`: Automatic repeat request: what the wire loses is sent again after the link's round trip, a limited number of times or until it arrives.
    * `carrier`: Its part of a carrier that several links share, in the place of `rate`: what the terminal has there, and what it requests.
    * `changes`: Scripted changes of rate, delay and loss.
    * `corruption`: Damage behind the IP header that the link does not notice: the packet goes on over all links that follow, and the host at the end drops it for its checksum.
    * `delay`: Propagation delay, one way.
    * `demand`: Capacity is assigned on request, as on the return link of a satellite network (DVB-RCS2): packets wait until what was requested for them is assigned, then they are sent at `rate`.
    * `duplication`: Probability that a packet arrives twice: the copy follows directly.
    * `jitter`: Extra delay at random; a duration alone: uniform between zero and this, with packets in order.
    * `leo`: Satellites that move, in the place of `delay`: a constellation, the places of the terminal and of the gateway, handovers.
    * `loss`: Loss without congestion; a probability alone is that of random loss.
    * `mtu`: Longest IP packet that the link carries, headers included.
    * `outages`: Outages, by a script or at random.
    * `overhead`: Bytes that each packet takes on the line beside itself, `rate` being the line's; a text is one of CAKE's keywords (tc-cake(8)), as in "pppoe-ptm", "docsis", "ethernet".
    * `queue`: Queue in front of the transmitter; DropTail with 1000 packets if not given.
    * `rate`: Rate of the transmitter.
    * `reordering`: Random overtaking.
    * `serial`: A serial line: framing, start and stop bits, an MTU of its own, header compression. `rate` is then its speed, start and stop bits included.
    * `slots`: Packets that have crossed the link wait for a slot, and those of a slot arrive at once: bursts as of WiFi, cable and LTE (`slot` of netem).
    * `too_big`: What becomes of packets that are longer than `mtu`; `reported` if not given.
    * `trace`: Measurements, in files, that rate, delay or loss follow.
    * `wander`: Rate and delay that wander at random, in steps; several tables act together.
    """
    return given(
        {
            "acm": acm,
            "arq": arq,
            "carrier": carrier,
            "changes": changes,
            "corruption": corruption,
            "delay": delay,
            "demand": demand,
            "duplication": duplication,
            "jitter": jitter,
            "leo": leo,
            "loss": loss,
            "mtu": mtu,
            "outages": outages,
            "overhead": overhead,
            "queue": queue,
            "rate": rate,
            "reordering": reordering,
            "serial": serial,
            "slots": slots,
            "too_big": too_big,
            "trace": trace,
            "wander": wander,
        }
    )


def outage(
    *,
    down: str | None = None,
    drift: str | None = None,
    duration: str | None = None,
    every: str | None = None,
    jitter: str | None = None,
    mode: Literal["drop", "hold"] | None = None,
    start: str | None = None,
    up: str | None = None,
) -> Section:
    """A time during which nothing gets through, once or again and again; or, with `up` and `down`, such times at random.

    * `down`: Outages at random: their mean length, exponential.
    * `drift`: Each beginning moves, and all that follow with it, by a random time up to this, earlier or later.
    * `duration`: How long it lasts; not of outages at random.
    * `every`: Again and again, so far apart.
    * `jitter`: Each beginning is later by a random time, uniform between zero and this; the next ones are not.
    * `mode`: Whether packets are lost or held.
    * `start`: When it begins, counted from the start of the run; with `every`, the first time.
    * `up`: Outages at random: mean time between them, exponential.
    """
    return given(
        {
            "down": down,
            "drift": drift,
            "duration": duration,
            "every": every,
            "jitter": jitter,
            "mode": mode,
            "start": start,
            "up": up,
        }
    )


def change(
    *,
    at: str,
    delay: str | None = None,
    drift: str | None = None,
    every: str | None = None,
    jitter: str | None = None,
    loss: float | str | None = None,
    rate: str | None = None,
) -> Section:
    """A change of rate, delay or loss at a point in time; it holds until the next one.

    * `at`: When, counted from the start of the run; with `every`, the first time.
    * `delay`: The new propagation delay, if it changes.
    * `drift`: Each time moves, and all that follow with it, by a random time up to this, earlier or later.
    * `every`: Again and again, so far apart.
    * `jitter`: Each time is later by a random time, uniform between zero and this; the next ones are not.
    * `loss`: The new loss, if it changes: each packet is lost with this probability after its transmission, independently, in the place of the link's own losses.
    * `rate`: The new rate, if it changes. `"0 bit/s"` stops the transmitter.
    """
    return given(
        {"at": at, "delay": delay, "drift": drift, "every": every, "jitter": jitter, "loss": loss, "rate": rate}
    )


def wander(
    *,
    every: str,
    at: str | None = None,
    correlation: float | str | None = None,
    delay: Mapping[str, Any] | str | None = None,
    factors: Sequence[float] | None = None,
    spread: float | str | None = None,
) -> Section:
    """Steps at random of the rate, of the delay, or of both.

    * `every`: Time from step to step.
    * `at`: When the first whole step begins: the phase, less than `every`.
    * `correlation`: How much a step resembles the one before it (autocorrelation of the normal numbers behind the draws).
    * `delay`: What each step adds to the link's `delay`, as a distribution; a duration alone: uniform between zero and this.
    * `factors`: In the place of `spread` a distribution that was measured: the rate, as a share of its mean, is as often between each two neighbours of this list.
    * `spread`: Standard deviation of the rate, as a share of its mean, which is the link's `rate`; the distribution is log-normal.
    """
    return given(
        {"every": every, "at": at, "correlation": correlation, "delay": delay, "factors": factors, "spread": spread}
    )


def reordering(*, probability: float | str, delay: str) -> Section:
    """Some packets take longer and are overtaken.

    * `probability`: Probability that a packet takes longer.
    * `delay`: How much longer.
    """
    return given({"probability": probability, "delay": delay})


def bottleneck(
    *,
    acm: Mapping[str, Any] | None = None,
    arq: Mapping[str, Any] | None = None,
    carrier: Mapping[str, Any] | None = None,
    changes: Sequence[Mapping[str, Any]] | None = None,
    corruption: Mapping[str, Any] | float | str | None = None,
    delay: str | None = None,
    demand: Mapping[str, Any] | None = None,
    duplication: float | str | None = None,
    forward: Mapping[str, Any] | None = None,
    half_duplex: Mapping[str, Any] | None = None,
    jitter: Mapping[str, Any] | str | None = None,
    leo: Mapping[str, Any] | None = None,
    loss: Mapping[str, Any] | float | str | None = None,
    mtu: str | None = None,
    outages: Sequence[Mapping[str, Any]] | None = None,
    overhead: Literal[
        "bridged-llcsnap",
        "bridged-ptm",
        "bridged-vcmux",
        "conservative",
        "docsis",
        "ethernet",
        "ethernet-vlan",
        "ipoa-llcsnap",
        "ipoa-vcmux",
        "pppoa-llc",
        "pppoa-vcmux",
        "pppoe-llcsnap",
        "pppoe-ptm",
        "pppoe-vcmux",
    ]
    | Mapping[str, Any]
    | None = None,
    profile: Literal["5g", "geo-ka", "geo-ku", "inflight", "lte", "maritime-vsat", "meo", "oneweb", "starlink"]
    | Mapping[str, Any]
    | None = None,
    queue: Mapping[str, Any] | str | None = None,
    rate: str | None = None,
    reordering: Mapping[str, Any] | None = None,
    reverse: Mapping[str, Any] | None = None,
    serial: Mapping[str, Any] | None = None,
    slots: Mapping[str, Any] | None = None,
    too_big: Literal["dropped", "reported"] | None = None,
    trace: Mapping[str, Any] | None = None,
    wander: Sequence[Mapping[str, Any]] | None = None,
) -> Section:
    """The link between the routers of a dumbbell, from `left` to `right`.

    * `acm`: Adaptive coding and modulation (DVB-S2, DVB-S2X), in the place of `rate`: the rate follows the signal over time.
    * `arq`: Automatic repeat request: what the wire loses is sent again after the link's round trip, a limited number of times or until it arrives.
    * `carrier`: Its part of a carrier that several links share, in the place of `rate`: what the terminal has there, and what it requests.
    * `changes`: Scripted changes of rate, delay and loss.
    * `corruption`: Damage behind the IP header that the link does not notice: the packet goes on over all links that follow, and the host at the end drops it for its checksum.
    * `delay`: Propagation delay, one way.
    * `demand`: Capacity is assigned on request, as on the return link of a satellite network (DVB-RCS2): packets wait until what was requested for them is assigned, then they are sent at `rate`.
    * `duplication`: Probability that a packet arrives twice: the copy follows directly.
    * `forward`: What differs from left to right.
    * `half_duplex`: Both directions share one transmitter: they send in turns where both have packets.
    * `jitter`: Extra delay at random; a duration alone: uniform between zero and this, with packets in order.
    * `leo`: Satellites that move, in the place of `delay`: a constellation, the places of the terminal and of the gateway, handovers.
    * `loss`: Loss without congestion; a probability alone is that of random loss.
    * `mtu`: Longest IP packet that the link carries, headers included.
    * `outages`: Outages, by a script or at random.
    * `overhead`: Bytes that each packet takes on the line beside itself, `rate` being the line's; a text is one of CAKE's keywords (tc-cake(8)), as in "pppoe-ptm", "docsis", "ethernet".
    * `profile`: A real network whose rates, delays, losses and queue the link has where none are given; a text is its name.
    * `queue`: Queue in front of the transmitter; DropTail with 1000 packets if not given.
    * `rate`: Rate of the transmitter.
    * `reordering`: Random overtaking.
    * `reverse`: What differs from right to left.
    * `serial`: A serial line: framing, start and stop bits, an MTU of its own, header compression. `rate` is then its speed, start and stop bits included.
    * `slots`: Packets that have crossed the link wait for a slot, and those of a slot arrive at once: bursts as of WiFi, cable and LTE (`slot` of netem).
    * `too_big`: What becomes of packets that are longer than `mtu`; `reported` if not given.
    * `trace`: Measurements, in files, that rate, delay or loss follow.
    * `wander`: Rate and delay that wander at random, in steps; several tables act together.
    """
    return given(
        {
            "acm": acm,
            "arq": arq,
            "carrier": carrier,
            "changes": changes,
            "corruption": corruption,
            "delay": delay,
            "demand": demand,
            "duplication": duplication,
            "forward": forward,
            "half_duplex": half_duplex,
            "jitter": jitter,
            "leo": leo,
            "loss": loss,
            "mtu": mtu,
            "outages": outages,
            "overhead": overhead,
            "profile": profile,
            "queue": queue,
            "rate": rate,
            "reordering": reordering,
            "reverse": reverse,
            "serial": serial,
            "slots": slots,
            "too_big": too_big,
            "trace": trace,
            "wander": wander,
        }
    )


def access(
    *,
    acm: Mapping[str, Any] | None = None,
    arq: Mapping[str, Any] | None = None,
    carrier: Mapping[str, Any] | None = None,
    changes: Sequence[Mapping[str, Any]] | None = None,
    corruption: Mapping[str, Any] | float | str | None = None,
    delay: str | None = None,
    demand: Mapping[str, Any] | None = None,
    duplication: float | str | None = None,
    from_: Mapping[str, Any] | None = None,
    jitter: Mapping[str, Any] | str | None = None,
    leo: Mapping[str, Any] | None = None,
    loss: Mapping[str, Any] | float | str | None = None,
    mtu: str | None = None,
    outages: Sequence[Mapping[str, Any]] | None = None,
    overhead: Literal[
        "bridged-llcsnap",
        "bridged-ptm",
        "bridged-vcmux",
        "conservative",
        "docsis",
        "ethernet",
        "ethernet-vlan",
        "ipoa-llcsnap",
        "ipoa-vcmux",
        "pppoa-llc",
        "pppoa-vcmux",
        "pppoe-llcsnap",
        "pppoe-ptm",
        "pppoe-vcmux",
    ]
    | Mapping[str, Any]
    | None = None,
    queue: Mapping[str, Any] | str | None = None,
    rate: str | None = None,
    reordering: Mapping[str, Any] | None = None,
    serial: Mapping[str, Any] | None = None,
    slots: Mapping[str, Any] | None = None,
    to: Mapping[str, Any] | None = None,
    too_big: Literal["dropped", "reported"] | None = None,
    trace: Mapping[str, Any] | None = None,
    wander: Sequence[Mapping[str, Any]] | None = None,
) -> Section:
    """Private links that join one host for each flow to the network, at both sides.

    * `acm`: Adaptive coding and modulation (DVB-S2, DVB-S2X), in the place of `rate`: the rate follows the signal over time.
    * `arq`: Automatic repeat request: what the wire loses is sent again after the link's round trip, a limited number of times or until it arrives.
    * `carrier`: Its part of a carrier that several links share, in the place of `rate`: what the terminal has there, and what it requests.
    * `changes`: Scripted changes of rate, delay and loss.
    * `corruption`: Damage behind the IP header that the link does not notice: the packet goes on over all links that follow, and the host at the end drops it for its checksum.
    * `delay`: Propagation delay, one way.
    * `demand`: Capacity is assigned on request, as on the return link of a satellite network (DVB-RCS2): packets wait until what was requested for them is assigned, then they are sent at `rate`.
    * `duplication`: Probability that a packet arrives twice: the copy follows directly.
    * `from_`: What differs for the links of the sending side, both directions.
    * `jitter`: Extra delay at random; a duration alone: uniform between zero and this, with packets in order.
    * `leo`: Satellites that move, in the place of `delay`: a constellation, the places of the terminal and of the gateway, handovers.
    * `loss`: Loss without congestion; a probability alone is that of random loss.
    * `mtu`: Longest IP packet that the link carries, headers included.
    * `outages`: Outages, by a script or at random.
    * `overhead`: Bytes that each packet takes on the line beside itself, `rate` being the line's; a text is one of CAKE's keywords (tc-cake(8)), as in "pppoe-ptm", "docsis", "ethernet".
    * `queue`: Queue in front of the transmitter; DropTail with 1000 packets if not given.
    * `rate`: Rate of the transmitter.
    * `reordering`: Random overtaking.
    * `serial`: A serial line: framing, start and stop bits, an MTU of its own, header compression. `rate` is then its speed, start and stop bits included.
    * `slots`: Packets that have crossed the link wait for a slot, and those of a slot arrive at once: bursts as of WiFi, cable and LTE (`slot` of netem).
    * `to`: What differs for the links of the receiving side, both directions.
    * `too_big`: What becomes of packets that are longer than `mtu`; `reported` if not given.
    * `trace`: Measurements, in files, that rate, delay or loss follow.
    * `wander`: Rate and delay that wander at random, in steps; several tables act together.
    """
    return given(
        {
            "acm": acm,
            "arq": arq,
            "carrier": carrier,
            "changes": changes,
            "corruption": corruption,
            "delay": delay,
            "demand": demand,
            "duplication": duplication,
            "from": from_,
            "jitter": jitter,
            "leo": leo,
            "loss": loss,
            "mtu": mtu,
            "outages": outages,
            "overhead": overhead,
            "queue": queue,
            "rate": rate,
            "reordering": reordering,
            "serial": serial,
            "slots": slots,
            "to": to,
            "too_big": too_big,
            "trace": trace,
            "wander": wander,
        }
    )


def run(
    *,
    duration: str,
    capture: Sequence[str] | None = None,
    inspect: bool | None = None,
    monitor: Sequence[str] | None = None,
    peak_goodput: bool | None = None,
    qlog: bool | None = None,
    sample: str | None = None,
    seed: int | None = None,
    ties: Literal["hash", "scheduled"] | None = None,
    warmup: str | None = None,
) -> Section:
    """How long to run and what to record.

    * `duration`: Simulated time.
    * `capture`: Links whose packets are captured to `packets.pcapng` as they enter the queue.
    * `inspect`: Write the state of each flow's congestion control (W_max, BBR's phase, a bandwidth estimate ...) to `cc.parquet` at each sample.
    * `monitor`: Links at whose entrance packets and bytes of each flow are counted, those offered and those that the queue dropped.
    * `peak_goodput`: Record the largest goodput of each flow in one sampling interval.
    * `qlog`: Log both ends of each QUIC connection to `qlog/FLOW-client.sqlog` and `qlog/FLOW-server.sqlog` in the format that qvis reads: packets with their frames, losses, windows.
    * `sample`: Interval of the time series.
    * `seed`: Seed of all random streams.
    * `ties`: The order of events that happen in the same nanosecond.
    * `warmup`: Time at the beginning that is left out of averages, percentiles and rates.
    """
    return given(
        {
            "duration": duration,
            "capture": capture,
            "inspect": inspect,
            "monitor": monitor,
            "peak_goodput": peak_goodput,
            "qlog": qlog,
            "sample": sample,
            "seed": seed,
            "ties": ties,
            "warmup": warmup,
        }
    )
