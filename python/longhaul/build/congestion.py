"""Congestion controls: what `tcp.congestion` and `quic.congestion` are.

Made by scripts/make-settings from the schema of scenarios: not written by hand.
"""

from __future__ import annotations

from typing import Literal

from .section import Section, given


def reno(
    *,
    a: float | None = None,
    abe: bool | None = None,
    b: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
) -> Section:
    """One segment more each round trip, half the window upon loss (AIMD) (RFC 5681).

    * `a`: Additive increase.
    * `abe`: Alternative back-off with ECN (RFC 8511): a mark leaves 0.8 of the window, whatever b; a queue that marks is short.
    * `b`: Multiplicative decrease: upon loss, ssthresh = (1 - b) * FlightSize.
    * `counting`: What an ACK counts for: the bytes that it covers (RFC 3465) or one segment (RFC 2581, ns-2).
    """
    return given({"kind": "reno", "a": a, "abe": abe, "b": b, "counting": counting})


def cubic(
    *,
    abe: bool | None = None,
    beta: float | None = None,
    c: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
    fast_convergence: bool | None = None,
    growth: Literal["acks", "count"] | None = None,
    growth_before_loss: float | None = None,
    growth_restored: bool | None = None,
    reno_alpha_rises: bool | None = None,
    reno_friendly: bool | None = None,
    target_rtt: Literal["least", "smoothed"] | None = None,
) -> Section:
    """The window is a cubic function of the time since the last congestion event (RFC 9438).

    * `abe`: Alternative back-off with ECN (RFC 8511): a mark leaves 0.85 of the window, whatever beta.
    * `beta`: Multiplicative decrease: what is left of the window upon loss (section 4.6).
    * `c`: Aggressiveness: how fast the window moves away from W_max (RFC 9438 section 5).
    * `counting`: What an ACK counts for in the cubic regions: one segment (sections 4.4, 4.5) or the bytes that it covers (Linux).
    * `fast_convergence`: Release bandwidth to newcomers when the saturation point falls (section 4.7).
    * `growth`: How the window grows: with each ACK (sections 4.3 to 4.5), or by a segment for each `cnt` segments acknowledged, a number that is computed anew when the window has changed, else at most every 1/32 s (Linux).
    * `growth_before_loss`: Before the first loss, gain at least this share of the window per round trip (Linux: 0.05).
    * `growth_restored`: Where a reduction proves to be for nothing, the growth too goes on as before it (section 4.9).
    * `reno_alpha_rises`: Once Reno's window has reached that before the last cut it gains one segment per round trip (section 4.3); without this it goes on gaining 3 (1 - beta) / (1 + beta) (Linux).
    * `reno_friendly`: Never be slower than Reno would be (section 4.3).
    * `target_rtt`: The round trip after which the target is to be reached: the smoothed one (section 4.2) or the least (Linux).
    """
    return given(
        {
            "kind": "cubic",
            "abe": abe,
            "beta": beta,
            "c": c,
            "counting": counting,
            "fast_convergence": fast_convergence,
            "growth": growth,
            "growth_before_loss": growth_before_loss,
            "growth_restored": growth_restored,
            "reno_alpha_rises": reno_alpha_rises,
            "reno_friendly": reno_friendly,
            "target_rtt": target_rtt,
        }
    )


def highspeed(
    *,
    counting: Literal["acks", "bytes"] | None = None,
    first_cut: Literal["b", "half"] | None = None,
    high_decrease: float | None = None,
    high_p: float | None = None,
    high_window: float | None = None,
    low_p: float | None = None,
    low_window: float | None = None,
) -> Section:
    """AIMD whose constants depend on the window: a(w) segments more each round trip, b(w) off upon loss (RFC 3649).

    * `counting`: What an ACK counts for: the bytes that it covers or one segment (RFC 3649, ns-2).
    * `first_cut`: What the first cut of a connection takes, and any that ends slow start: b(w) as any other, or half the window as in ns-2.
    * `high_decrease`: High_Decrease: b(w) at High_Window and above.
    * `high_p`: High_P: see `high_window`.
    * `high_window`: High_Window: the window that is to be kept at the loss rate `high_p`.
    * `low_p`: Low_P: the loss rate at which the response function leaves standard TCP's. 0 stands for RFC 3649's 10^-3 with its Low_Window of 38, and for 1.5 / Low_Window^2 with any other (ns-2), where a(w) goes on from 1 without a step.
    * `low_window`: Low_Window: up to this window the rules are standard TCP's. 38 in RFC 3649 and by default in ns-2, 31 in LBNL-52549.
    """
    return given(
        {
            "kind": "highspeed",
            "counting": counting,
            "first_cut": first_cut,
            "high_decrease": high_decrease,
            "high_p": high_p,
            "high_window": high_window,
            "low_p": low_p,
            "low_window": low_window,
        }
    )


def fixed(*, window: str | None = None) -> Section:
    """A constant window that ignores congestion; slow start does not apply (none (a constant)).

    * `window`: The window, in packets of one MSS ("64 packets") or in bytes ("64 kB").
    """
    return given({"kind": "fixed", "window": window})


def scalable(
    *,
    a: float | None = None,
    b: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
    legacy_window: float | None = None,
    never_below_reno: bool | None = None,
) -> Section:
    """A hundredth of a segment more per segment acknowledged, an eighth less upon loss (Kelly 2003).

    * `a`: Increase: segments gained for each segment acknowledged.
    * `b`: Decrease upon loss.
    * `counting`: What an ACK counts for: the bytes that it covers or one segment.
    * `legacy_window`: Lwnd, the legacy window: up to here the rules are standard TCP's.
    * `never_below_reno`: Gain at least one segment a round trip, as Linux does; by the paper it is 0.16 just above the legacy window.
    """
    return given(
        {
            "kind": "scalable",
            "a": a,
            "b": b,
            "counting": counting,
            "legacy_window": legacy_window,
            "never_below_reno": never_below_reno,
        }
    )


def bic(
    *,
    beta: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
    fast_convergence: bool | None = None,
    growth_before_loss: float | None = None,
    low_window: float | None = None,
    max_increment: float | None = None,
    search_divisor: float | None = None,
    smooth_part: float | None = None,
) -> Section:
    """Binary search for the window of the last loss, then probing beyond it (Xu, Harfoush and Rhee 2004).

    * `beta`: What is left of the window upon loss: 819/1024 in Linux, 0.875 in the paper.
    * `counting`: What an ACK counts for: the bytes that it covers or one segment.
    * `fast_convergence`: Take less than the window at a loss for the maximum when it is below the last one, so that newcomers find room.
    * `growth_before_loss`: Before the first loss, gain at least this share of the window per round trip.
    * `low_window`: Up to here the rules are standard TCP's.
    * `max_increment`: S_max: the largest step. 16 in Linux, 32 in the paper.
    * `search_divisor`: BICTCP_B: a step is the distance to the old maximum over this. 4 in Linux; 2, true bisection, in the paper.
    * `smooth_part`: Round trips from `search_divisor` segments below the old maximum to the maximum, and again to as far above it.
    """
    return given(
        {
            "kind": "bic",
            "beta": beta,
            "counting": counting,
            "fast_convergence": fast_convergence,
            "growth_before_loss": growth_before_loss,
            "low_window": low_window,
            "max_increment": max_increment,
            "search_divisor": search_divisor,
            "smooth_part": smooth_part,
        }
    )


def htcp(
    *,
    adaptive_backoff: bool | None = None,
    beta_max: float | None = None,
    beta_min: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
    delta_l: str | None = None,
    rtt_ref: str | None = None,
    rtt_scaling: bool | None = None,
    throughput_change: float | None = None,
) -> Section:
    """Grows the faster the longer ago congestion was; adaptive backoff by RTT_min / RTT_max (draft-leith-tcp-htcp-06).

    * `adaptive_backoff`: Adaptive backoff: keep RTT_min / RTT_max of the window upon loss, so that the queue just empties; otherwise half.
    * `beta_max`: The most that adaptive backoff keeps.
    * `beta_min`: The least that adaptive backoff keeps.
    * `counting`: What an ACK counts for: the bytes that it covers or one segment.
    * `delta_l`: Delta_L: so long after a congestion event the window grows as standard TCP's.
    * `rtt_ref`: RTT_ref of RTT scaling.
    * `rtt_scaling`: RTT scaling: gain RTT / RTT_ref times as much per round trip, so that flows of different round trips grow alike in time.
    * `throughput_change`: Keep only `beta_min` when the throughput since the last event differs by more than this from the one before: others have come or gone.
    """
    return given(
        {
            "kind": "htcp",
            "adaptive_backoff": adaptive_backoff,
            "beta_max": beta_max,
            "beta_min": beta_min,
            "counting": counting,
            "delta_l": delta_l,
            "rtt_ref": rtt_ref,
            "rtt_scaling": rtt_scaling,
            "throughput_change": throughput_change,
        }
    )


def hybla(
    *, counting: Literal["acks", "bytes"] | None = None, rtt0: str | None = None, slow_start_rho: float | None = None
) -> Section:
    """Grows rho times as fast in time as Reno, rho = RTT / 25 ms, so that a long RTT is no handicap (Caini and Firrincieli 2004).

    * `counting`: What an ACK counts for: the bytes that it covers or one segment.
    * `rtt0`: RTT_0: the round trip of the connection that is to be equalled.
    * `slow_start_rho`: The largest rho that slow start raises 2 to: a segment acknowledged then adds 2^rho - 1, which over a geostationary link (rho 24) would be 16 million.
    """
    return given({"kind": "hybla", "counting": counting, "rtt0": rtt0, "slow_start_rho": slow_start_rho})


def illinois(
    *,
    alpha_max: float | None = None,
    alpha_min: float | None = None,
    beta_max: float | None = None,
    beta_min: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
    eta1: float | None = None,
    eta2: float | None = None,
    eta3: float | None = None,
    theta: int | None = None,
    win_thresh: float | None = None,
) -> Section:
    """AIMD whose increase falls and whose decrease rises with the queueing delay (Liu, Basar and Srikant 2006).

    * `alpha_max`: Increase when there is no queue.
    * `alpha_min`: Increase when the queue is longest.
    * `beta_max`: Decrease upon loss when the queue is long.
    * `beta_min`: Decrease upon loss when the queue is short.
    * `counting`: What an ACK counts for: the bytes that it covers or one segment.
    * `eta1`: D_1 / d_m: up to this delay alpha is alpha_max.
    * `eta2`: D_2 / d_m: up to this delay beta is beta_min.
    * `eta3`: D_3 / d_m: from this delay on beta is beta_max.
    * `theta`: Round trips with a delay of at most d_1 before alpha goes back to alpha_max.
    * `win_thresh`: W_thresh: smaller windows behave as standard TCP's.
    """
    return given(
        {
            "kind": "illinois",
            "alpha_max": alpha_max,
            "alpha_min": alpha_min,
            "beta_max": beta_max,
            "beta_min": beta_min,
            "counting": counting,
            "eta1": eta1,
            "eta2": eta2,
            "eta3": eta3,
            "theta": theta,
            "win_thresh": win_thresh,
        }
    )


def veno(
    *,
    beta: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
    random_loss_keeps: float | None = None,
) -> Section:
    """Reno that distinguishes random losses from congestion by the backlog of Vegas (Fu and Liew 2003).

    * `beta`: Beta: a backlog N of fewer segments means that the network is not congested.
    * `counting`: What an ACK counts for: the bytes that it covers or one segment.
    * `random_loss_keeps`: What a loss leaves of the window while the network is not congested; otherwise a half.
    """
    return given({"kind": "veno", "beta": beta, "counting": counting, "random_loss_keeps": random_loss_keeps})


def westwood(
    *,
    counting: Literal["acks", "bytes"] | None = None,
    decides: Literal["after_recovery", "at_loss"] | None = None,
    filter: float | None = None,
    filter_stages: int | None = None,
    min_sample_time: str | None = None,
) -> Section:
    """Reno that falls back to the measured bandwidth times the least RTT (Westwood+) (Grieco and Mascolo 2004).

    * `counting`: What an ACK counts for: the bytes that it covers or one segment.
    * `decides`: When a loss makes of the measured bandwidth a window; timeouts and ECN do at once.
    * `filter`: Alpha: weight of the old estimate when a sample comes in.
    * `filter_stages`: How many such filters follow each other.
    * `min_sample_time`: A sample is taken over a round trip, but over no less than this.
    """
    return given(
        {
            "kind": "westwood",
            "counting": counting,
            "decides": decides,
            "filter": filter,
            "filter_stages": filter_stages,
            "min_sample_time": min_sample_time,
        }
    )


def vegas(
    *,
    alpha: float | None = None,
    beta: float | None = None,
    exit: Literal["actual_rate", "eighth", "keep"] | None = None,
    gamma: float | None = None,
    growth: Literal["every_other_ack", "every_other_rtt", "every_rtt"] | None = None,
    left_on_loss: float | None = None,
    rtt: Literal["distinguished", "least", "mean", "smoothed"] | None = None,
) -> Section:
    """Keeps alpha to beta segments waiting in the network, estimated from delay (Brakmo and Peterson 1995).

    * `alpha`: Fewer segments than this in queues: the window grows by one segment in the next RTT.
    * `beta`: More segments than this in queues: the window shrinks by one segment in the next RTT. Not below alpha.
    * `exit`: The window at the end of slow start: keep it (the paper), an eighth less (ns-2), the actual_rate's (Linux).
    * `gamma`: More segments than this in queues end slow start.
    * `growth`: When slow start grows: every_other_rtt (the paper, ns-2), every_other_ack, every_rtt (Linux).
    * `left_on_loss`: What is left of the window upon loss: 3/4 in the authors' implementation and ns-2, 1/2 in Linux.
    * `rtt`: Which round trip of a round counts: that of its distinguished segment (the paper), the mean (ns-2), the least (Linux), or srtt.
    """
    return given(
        {
            "kind": "vegas",
            "alpha": alpha,
            "beta": beta,
            "exit": exit,
            "gamma": gamma,
            "growth": growth,
            "left_on_loss": left_on_loss,
            "rtt": rtt,
        }
    )


def compound(
    *,
    alpha: float | None = None,
    beta: float | None = None,
    counting: Literal["acks", "bytes"] | None = None,
    gamma: float | None = None,
    k: float | None = None,
    rtt: Literal["distinguished", "least", "mean", "smoothed"] | None = None,
    zeta: float | None = None,
) -> Section:
    """Reno and a delay window that is scalable while the queue is short (Tan et al. 2006).

    * `alpha`: Increase: while the queue is short, the whole window W gains alpha * W^k segments per RTT.
    * `beta`: Decrease: the share of the whole window given up upon loss.
    * `counting`: What an ACK counts for in Reno's part: the bytes that it covers, or one segment.
    * `gamma`: So many segments of one's own in queues are early congestion: the delay window shrinks.
    * `k`: Exponent of the increase: 0 is additive as Reno, 1 multiplicative as Scalable TCP; 0.8 has HighSpeed TCP's slope.
    * `rtt`: Which round trip of a round counts: srtt (the paper), the least (Linux), the mean, that of the distinguished segment.
    * `zeta`: How fast it gives way: by zeta times the segments queued, each RTT.
    """
    return given(
        {
            "kind": "compound",
            "alpha": alpha,
            "beta": beta,
            "counting": counting,
            "gamma": gamma,
            "k": k,
            "rtt": rtt,
            "zeta": zeta,
        }
    )


def yeah(
    *,
    a: float | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    gamma: float | None = None,
    phi: float | None = None,
    q_max: float | None = None,
    rho: int | None = None,
    zeta: int | None = None,
) -> Section:
    """Scalable while the queue is short, else Reno; drains what it queued (Baiocchi et al. 2007).

    * `a`: Fast mode: segments gained for each segment acknowledged (Scalable TCP), if that is more than Reno's.
    * `delta`: A loss takes away at least this share of the window when no Reno competes.
    * `epsilon`: Draining takes away at most this share of the window.
    * `gamma`: Draining takes away the queue over gamma.
    * `phi`: A queueing delay of more than the base RTT over phi ends fast mode.
    * `q_max`: Q_max: more segments of one's own in the queue end fast mode and are drained.
    * `rho`: After so many RTTs in slow mode a greedy flow is thought to compete: a loss halves the window.
    * `zeta`: After so many RTTs in fast mode since the last loss the estimate of a competing Reno's window is forgotten.
    """
    return given(
        {
            "kind": "yeah",
            "a": a,
            "delta": delta,
            "epsilon": epsilon,
            "gamma": gamma,
            "phi": phi,
            "q_max": q_max,
            "rho": rho,
            "zeta": zeta,
        }
    )


def bbr(
    *,
    aggregation_window: int | None = None,
    bandwidth_window: int | None = None,
    cwnd_gain: float | None = None,
    equal_rtt_is_news: bool | None = None,
    finds_policers: bool | None = None,
    full_bandwidth_growth: float | None = None,
    full_bandwidth_rounds: int | None = None,
    full_pipe_anew: bool | None = None,
    handshake_counts: bool | None = None,
    in_flight_at_departure: bool | None = None,
    min_rtt_window: str | None = None,
    min_window: int | None = None,
    pacing_margin: float | None = None,
    probe_gain: float | None = None,
    probe_rtt_duration: str | None = None,
    recoveries_join: bool | None = None,
    startup_gain: float | None = None,
    whole_segments: bool | None = None,
) -> Section:
    """Version 1: paces at the measured bandwidth; slow start does not apply (Cardwell et al. 2016, draft-cardwell-iccrg-bbr-congestion-control-00).

    * `aggregation_window`: The window has room for what ACKs bring together beyond the bandwidth, at most 100 ms of it: the most in one to two times so many round trips. 0 in the draft; Linux: 5 (`bbr_update_ack_aggregation`).
    * `bandwidth_window`: Length of the bandwidth filter (section 4.1.1.2).
    * `cwnd_gain`: Gain of the window in ProbeBW, for delayed and aggregated ACKs (section 4.2.3.3).
    * `equal_rtt_is_news`: A round trip that equals the smallest is news (section 4.1.2.3).
    * `finds_policers`: Two intervals of at least four round trips in which a fifth is lost, and whose rates differ by an eighth at most, show a policer: for 48 round trips their mean is the bandwidth, and nothing is probed (Linux: `bbr_lt_bw_sampling`).
    * `full_bandwidth_growth`: Startup goes on while the bandwidth grows by this factor ... (section 4.3.2.2).
    * `full_bandwidth_rounds`: ... at least once in so many round trips.
    * `full_pipe_anew`: In Startup, what was the largest bandwidth is forgotten after a timeout and where a reduction proves to be for nothing (Linux: `bbr_set_state`, `bbr_undo_cwnd`).
    * `handshake_counts`: The handshake's round trip is the first of the smallest, whose window begins with it (BBRInit of the draft; Linux: `bbr_init`).
    * `in_flight_at_departure`: Phases end by what will be in flight when pacing lets the next segment leave (Linux: `bbr_packets_in_net_at_edt`).
    * `min_rtt_window`: Length of the filter of the smallest round trip (section 4.1.2.2); after it without news ProbeRTT begins.
    * `min_window`: The least window, and that of ProbeRTT (section 4.2.3.2).
    * `pacing_margin`: Pace so much below the estimate: 0 in the draft, 0.01 in Linux and in later versions.
    * `probe_gain`: Gain of pacing in the phase of ProbeBW that probes for more; the next phase drains with 2 minus this (section 4.3.4.2).
    * `probe_rtt_duration`: Least time in ProbeRTT with the least window (section 4.3.5).
    * `recoveries_join`: A recovery that begins with the ACK that ends another continues it: neither is the window of before restored nor the new one conserved.
    * `startup_gain`: Gain of pacing and window in Startup: 2 / ln 2 doubles the rate each round trip (section 4.3.2.1).
    * `whole_segments`: What is to be in flight is in whole segments: bandwidth times round trip is rounded up, with its quanta to an even number, and the phase that probes adds two (Linux: `bbr_bdp`, `bbr_quantization_budget`).
    """
    return given(
        {
            "kind": "bbr",
            "aggregation_window": aggregation_window,
            "bandwidth_window": bandwidth_window,
            "cwnd_gain": cwnd_gain,
            "equal_rtt_is_news": equal_rtt_is_news,
            "finds_policers": finds_policers,
            "full_bandwidth_growth": full_bandwidth_growth,
            "full_bandwidth_rounds": full_bandwidth_rounds,
            "full_pipe_anew": full_pipe_anew,
            "handshake_counts": handshake_counts,
            "in_flight_at_departure": in_flight_at_departure,
            "min_rtt_window": min_rtt_window,
            "min_window": min_window,
            "pacing_margin": pacing_margin,
            "probe_gain": probe_gain,
            "probe_rtt_duration": probe_rtt_duration,
            "recoveries_join": recoveries_join,
            "startup_gain": startup_gain,
            "whole_segments": whole_segments,
        }
    )


def bbr3(
    *,
    beta: float | None = None,
    cwnd_gain: float | None = None,
    drain_pacing_gain: float | None = None,
    extra_acked_window: int | None = None,
    headroom: float | None = None,
    loss_threshold: float | None = None,
    min_rtt_window: str | None = None,
    min_window: int | None = None,
    pacing_margin: float | None = None,
    probe_rounds: int | None = None,
    probe_rtt_cwnd_gain: float | None = None,
    probe_rtt_duration: str | None = None,
    probe_rtt_interval: str | None = None,
    probe_wait: str | None = None,
    startup_loss_ranges: int | None = None,
    startup_pacing_gain: float | None = None,
) -> Section:
    """BBR version 3: losses bound what is in flight; slow start does not apply (draft-ietf-ccwg-bbr-06).

    * `beta`: BBR.Beta: the most that a round trip with loss takes off leaves this share.
    * `cwnd_gain`: BBR.DefaultCwndGain.
    * `drain_pacing_gain`: BBR.DrainPacingGain.
    * `extra_acked_window`: BBR.ExtraAckedFilterLen.
    * `headroom`: BBR.Headroom: share of inflight_longterm that is left to others while cruising.
    * `loss_threshold`: BBR.LossThresh: more loss in a round trip of probing means that too much is in flight.
    * `min_rtt_window`: BBR.MinRTTFilterLen.
    * `min_window`: BBR.MinPipeCwnd.
    * `pacing_margin`: BBR.PacingMarginPercent: pace so much below the estimate.
    * `probe_rounds`: A flow probes as often as Reno would grow by one window, but waits no more round trips than this.
    * `probe_rtt_cwnd_gain`: BBR.ProbeRTTCwndGain.
    * `probe_rtt_duration`: BBR.ProbeRTTDuration.
    * `probe_rtt_interval`: BBR.ProbeRTTInterval: time without a new smallest round trip after which ProbeRTT begins.
    * `probe_wait`: Least time from one bandwidth probe to the next; up to one second more is drawn (section 5.3.3.6).
    * `startup_loss_ranges`: BBRStartupFullLossCnt: ranges lost in one round trip of recovery that can end Startup.
    * `startup_pacing_gain`: BBR.StartupPacingGain: 4 ln 2 doubles the rate each round trip.
    """
    return given(
        {
            "kind": "bbr3",
            "beta": beta,
            "cwnd_gain": cwnd_gain,
            "drain_pacing_gain": drain_pacing_gain,
            "extra_acked_window": extra_acked_window,
            "headroom": headroom,
            "loss_threshold": loss_threshold,
            "min_rtt_window": min_rtt_window,
            "min_window": min_window,
            "pacing_margin": pacing_margin,
            "probe_rounds": probe_rounds,
            "probe_rtt_cwnd_gain": probe_rtt_cwnd_gain,
            "probe_rtt_duration": probe_rtt_duration,
            "probe_rtt_interval": probe_rtt_interval,
            "probe_wait": probe_wait,
            "startup_loss_ranges": startup_loss_ranges,
            "startup_pacing_gain": startup_pacing_gain,
        }
    )


def sttp(
    *,
    bucket: Literal["acks", "timer"] | None = None,
    circulation: int | None = None,
    compressed_acks: float | None = None,
    drain: float | None = None,
    g_max: float | None = None,
    g_min: float | None = None,
    grow: float | None = None,
    header: int | None = None,
    loss_factor: float | None = None,
    patience: int | None = None,
    peer_window: int | None = None,
    reprobe: str | None = None,
    rho_fail: float | None = None,
    rho_max: float | None = None,
    rho_min: float | None = None,
    rho_min_per_rtt: float | None = None,
    rival: Literal["cubic", "none", "reno"] | None = None,
    rtt_hi: float | None = None,
    rtt_lo: float | None = None,
    scale_tokens: bool | None = None,
    scaling: Literal["linear", "literal", "ratio"] | None = None,
    sigma_horizon: str | None = None,
    sigma_min: float | None = None,
    standing: float | None = None,
    step_max: float | None = None,
    step_min: float | None = None,
    timeout_factor: float | None = None,
    token: Literal["bytes", "packet"] | None = None,
    train: int | None = None,
    w_new: float | None = None,
    window_gain: float | None = None,
) -> Section:
    """Token bucket at the rate of a packet pair, scaled as the round trip changes; starts by packet_pair (Wade 2000).

    * `bucket`: Where tokens come from: a timer at the rate rho (variant B), or acks through a leaky bucket (variant A).
    * `circulation`: Tokens that circulate at first if acks bring them: they act like a window, and change as sigma does.
    * `compressed_acks`: An ACK that follows the last within less than this share of a packet's time at the probed rate measures no round trip; 0 for no such rule, 0.5 for deployment.
    * `drain`: Beyond the thesis: what rho gives up in every other round trip while a queue stands: the queue's share of the round trip, this much at least, and a half at most; 0 for nothing.
    * `g_max`: Largest G of linear scaling.
    * `g_min`: Least G of linear scaling, which would reach 0 as the RTT doubles.
    * `grow`: Beyond the thesis: rho grows in each round trip without a standing queue by this share of the geometric mean of itself and the measured capacity; 0 for growth by falling round trips alone.
    * `header`: Headers of a packet: a token is one MSS and so much. 40 for IPv4 and TCP without options.
    * `loss_factor`: What a loss leaves of sigma and rho, once in each recovery.
    * `patience`: A queue that stands for so many round trips although rho gives way is others'; one that is empty for as many is not.
    * `peer_window`: Packets that may be in flight, which the peer's window stands for; 0 for no limit but the window that the peer offers.
    * `reprobe`: Time from one train to the next; 0 s for no other than the first.
    * `rho_fail`: In strict mode a connection whose first rho is below this is given up.
    * `rho_max`: Largest rho, in largest delivery rates of the last ten round trips, or in probed rates if those are larger; 0 for no limit, 1.25 for deployment.
    * `rho_min`: Least rho.
    * `rho_min_per_rtt`: Least rho in a round trip, if that is more.
    * `rival`: Beyond the thesis: the window that sets the rate while others keep the queue full, so that STTP does not starve: none, reno or cubic.
    * `rtt_hi`: A round trip above this many times the one before shrinks sigma and rho (dead band; thesis: +5 %, tried 1 % to 20 %).
    * `rtt_lo`: One below this many times the one before makes them grow.
    * `scale_tokens`: The tokens that are there change as sigma does; otherwise only those that no longer fit are lost.
    * `scaling`: The raw factor G: linear (2 - new/last), ratio (last/new), or literal (1 + last/new as printed, a negative control).
    * `sigma_horizon`: Sigma begins as what rho fills in this time; 0 s for the round trip of the probe.
    * `sigma_min`: Least sigma.
    * `standing`: A queue stands if the least round trip of a round is longer than the least of all by this share of it, and by 3 packets' time.
    * `step_max`: Largest factor of one step after weighting; 1.5 for deployment.
    * `step_min`: Least factor of one step after weighting; 0.5 for deployment.
    * `timeout_factor`: What a retransmission timeout leaves of them: 0.9 as a loss, 0.5 to be safer.
    * `token`: What a token stands for: a packet, however small, or as many bytes as a full packet has.
    * `train`: Beyond the thesis: packets of data that leave back to back to measure the bottleneck again (a train); less than 3 for none.
    * `w_new`: Weight of the new measurement; that of history is 1 - w_new.
    * `window_gain`: In flight are at most so many times rho * srtt, and at least 4 packets, in case ACKs stop; 0 for no such limit, 2 for deployment.
    """
    return given(
        {
            "kind": "sttp",
            "bucket": bucket,
            "circulation": circulation,
            "compressed_acks": compressed_acks,
            "drain": drain,
            "g_max": g_max,
            "g_min": g_min,
            "grow": grow,
            "header": header,
            "loss_factor": loss_factor,
            "patience": patience,
            "peer_window": peer_window,
            "reprobe": reprobe,
            "rho_fail": rho_fail,
            "rho_max": rho_max,
            "rho_min": rho_min,
            "rho_min_per_rtt": rho_min_per_rtt,
            "rival": rival,
            "rtt_hi": rtt_hi,
            "rtt_lo": rtt_lo,
            "scale_tokens": scale_tokens,
            "scaling": scaling,
            "sigma_horizon": sigma_horizon,
            "sigma_min": sigma_min,
            "standing": standing,
            "step_max": step_max,
            "step_min": step_min,
            "timeout_factor": timeout_factor,
            "token": token,
            "train": train,
            "w_new": w_new,
            "window_gain": window_gain,
        }
    )


def sttp_practical(
    *,
    bucket: Literal["acks", "timer"] | None = None,
    circulation: int | None = None,
    compressed_acks: float | None = None,
    drain: float | None = None,
    g_max: float | None = None,
    g_min: float | None = None,
    grow: float | None = None,
    header: int | None = None,
    loss_factor: float | None = None,
    patience: int | None = None,
    peer_window: int | None = None,
    reprobe: str | None = None,
    rho_fail: float | None = None,
    rho_max: float | None = None,
    rho_min: float | None = None,
    rho_min_per_rtt: float | None = None,
    rival: Literal["cubic", "none", "reno"] | None = None,
    rtt_hi: float | None = None,
    rtt_lo: float | None = None,
    scale_tokens: bool | None = None,
    scaling: Literal["linear", "literal", "ratio"] | None = None,
    sigma_horizon: str | None = None,
    sigma_min: float | None = None,
    standing: float | None = None,
    step_max: float | None = None,
    step_min: float | None = None,
    timeout_factor: float | None = None,
    token: Literal["bytes", "packet"] | None = None,
    train: int | None = None,
    w_new: float | None = None,
    window_gain: float | None = None,
) -> Section:
    """Sttp with retries, trains, growth, draining, and a CUBIC window in competition with loss-based flows (Wade 2000, section 6.3; Longhaul).

    * `bucket`: Where tokens come from: a timer at the rate rho (variant B), or acks through a leaky bucket (variant A).
    * `circulation`: Tokens that circulate at first if acks bring them: they act like a window, and change as sigma does.
    * `compressed_acks`: An ACK that follows the last within less than this share of a packet's time at the probed rate measures no round trip; 0 for no such rule, 0.5 for deployment.
    * `drain`: Beyond the thesis: what rho gives up in every other round trip while a queue stands: the queue's share of the round trip, this much at least, and a half at most; 0 for nothing.
    * `g_max`: Largest G of linear scaling.
    * `g_min`: Least G of linear scaling, which would reach 0 as the RTT doubles.
    * `grow`: Beyond the thesis: rho grows in each round trip without a standing queue by this share of the geometric mean of itself and the measured capacity; 0 for growth by falling round trips alone.
    * `header`: Headers of a packet: a token is one MSS and so much. 40 for IPv4 and TCP without options.
    * `loss_factor`: What a loss leaves of sigma and rho, once in each recovery.
    * `patience`: A queue that stands for so many round trips although rho gives way is others'; one that is empty for as many is not.
    * `peer_window`: Packets that may be in flight, which the peer's window stands for; 0 for no limit but the window that the peer offers.
    * `reprobe`: Time from one train to the next; 0 s for no other than the first.
    * `rho_fail`: In strict mode a connection whose first rho is below this is given up.
    * `rho_max`: Largest rho, in largest delivery rates of the last ten round trips, or in probed rates if those are larger; 0 for no limit, 1.25 for deployment.
    * `rho_min`: Least rho.
    * `rho_min_per_rtt`: Least rho in a round trip, if that is more.
    * `rival`: Beyond the thesis: the window that sets the rate while others keep the queue full, so that STTP does not starve: none, reno or cubic.
    * `rtt_hi`: A round trip above this many times the one before shrinks sigma and rho (dead band; thesis: +5 %, tried 1 % to 20 %).
    * `rtt_lo`: One below this many times the one before makes them grow.
    * `scale_tokens`: The tokens that are there change as sigma does; otherwise only those that no longer fit are lost.
    * `scaling`: The raw factor G: linear (2 - new/last), ratio (last/new), or literal (1 + last/new as printed, a negative control).
    * `sigma_horizon`: Sigma begins as what rho fills in this time; 0 s for the round trip of the probe.
    * `sigma_min`: Least sigma.
    * `standing`: A queue stands if the least round trip of a round is longer than the least of all by this share of it, and by 3 packets' time.
    * `step_max`: Largest factor of one step after weighting; 1.5 for deployment.
    * `step_min`: Least factor of one step after weighting; 0.5 for deployment.
    * `timeout_factor`: What a retransmission timeout leaves of them: 0.9 as a loss, 0.5 to be safer.
    * `token`: What a token stands for: a packet, however small, or as many bytes as a full packet has.
    * `train`: Beyond the thesis: packets of data that leave back to back to measure the bottleneck again (a train); less than 3 for none.
    * `w_new`: Weight of the new measurement; that of history is 1 - w_new.
    * `window_gain`: In flight are at most so many times rho * srtt, and at least 4 packets, in case ACKs stop; 0 for no such limit, 2 for deployment.
    """
    return given(
        {
            "kind": "sttp_practical",
            "bucket": bucket,
            "circulation": circulation,
            "compressed_acks": compressed_acks,
            "drain": drain,
            "g_max": g_max,
            "g_min": g_min,
            "grow": grow,
            "header": header,
            "loss_factor": loss_factor,
            "patience": patience,
            "peer_window": peer_window,
            "reprobe": reprobe,
            "rho_fail": rho_fail,
            "rho_max": rho_max,
            "rho_min": rho_min,
            "rho_min_per_rtt": rho_min_per_rtt,
            "rival": rival,
            "rtt_hi": rtt_hi,
            "rtt_lo": rtt_lo,
            "scale_tokens": scale_tokens,
            "scaling": scaling,
            "sigma_horizon": sigma_horizon,
            "sigma_min": sigma_min,
            "standing": standing,
            "step_max": step_max,
            "step_min": step_min,
            "timeout_factor": timeout_factor,
            "token": token,
            "train": train,
            "w_new": w_new,
            "window_gain": window_gain,
        }
    )


def reno_average(
    *,
    counting: Literal["acks", "bytes"] | None = None,
    on_fast_retransmit: bool | None = None,
    weight: float | None = None,
) -> Section:
    """Reno that restarts at its average window after a timeout, not at one segment (Wade 2000).

    * `counting`: What an ACK counts for: the bytes that it covers (RFC 3465) or one segment (RFC 2581, ns-2).
    * `on_fast_retransmit`: A fast retransmit sets the window to the average too, not only a timeout.
    * `weight`: Weight of the present window in the average, updated with each ACK; 1 is no average at all.
    """
    return given(
        {"kind": "reno_average", "counting": counting, "on_fast_retransmit": on_fast_retransmit, "weight": weight}
    )


def dctcp(*, g: float | None = None, initial_alpha: float | None = None) -> Section:
    """One segment more each round trip, half of the marked share less; half upon loss (RFC 8257).

    * `g`: Gain of the estimate of the marked share, alpha (section 4.2; Linux: `dctcp_shift_g`).
    * `initial_alpha`: Alpha before the first round trip (Linux: `dctcp_alpha_on_init`).
    """
    return given({"kind": "dctcp", "g": g, "initial_alpha": initial_alpha})


def prague(
    *,
    beta: float | None = None,
    g: float | None = None,
    independent_after: float | None = None,
    virtual_rtt: float | None = None,
) -> Section:
    """For L4S: half of the marked share less, one segment more each round trip of 25 ms or longer; paced (draft-briscoe-iccrg-prague-congestion-control).

    * `beta`: What is left of the window upon loss, and upon an echo of RFC 3168: CUBIC's.
    * `g`: Gain of the estimate of the marked share, alpha.
    * `independent_after`: Round trips from the start before that holds.
    * `virtual_rtt`: Least round trip that growth and cuts go by; 0 for none.
    """
    return given(
        {"kind": "prague", "beta": beta, "g": g, "independent_after": independent_after, "virtual_rtt": virtual_rtt}
    )


def fast(*, alpha: float | None = None, gamma: float | None = None, left_on_loss: float | None = None) -> Section:
    """Keeps alpha packets waiting, with steps as large as the distance from that (Jin, Wei and Low 2004).

    * `alpha`: Packets of this flow that wait in the network in equilibrium.
    * `gamma`: Share of the distance from equilibrium that a step takes.
    * `left_on_loss`: What is left of the window upon loss.
    """
    return given({"kind": "fast", "alpha": alpha, "gamma": gamma, "left_on_loss": left_on_loss})


def ledbat(*, gain: float | None = None, target: str | None = None) -> Section:
    """For the background: keeps the queue at a target delay, and leaves it to others (RFC 6817).

    * `gain`: GAIN: segments gained in a round trip without a queue.
    * `target`: TARGET: queueing delay that it aims at; RFC 6817 allows 100 ms at most.
    """
    return given({"kind": "ledbat", "gain": gain, "target": target})


def ledbat_pp(*, constant: float | None = None, interval: float | None = None, target: str | None = None) -> Section:
    """For the background: LEDBAT that shrinks by a share and slows down now and then to measure the path (draft-irtf-iccrg-ledbat-plus-plus).

    * `constant`: Constant of the multiplicative decrease: windows lost in a round trip for each target above the target; half a window at most.
    * `interval`: Slow down for as long as it takes, then go on for so many times as long. 0 for never.
    * `target`: TARGET: queueing delay that it aims at.
    """
    return given({"kind": "ledbat++", "constant": constant, "interval": interval, "target": target})


def copa(*, competitive: bool | None = None, delta: float | None = None, memory: str | None = None) -> Section:
    """Goes towards 1 / (delta queueing delay), and competes where others fill the queue; paced (Arun and Balakrishnan 2018).

    * `competitive`: Changes to the competitive mode where the queue was not nearly empty for five round trips.
    * `delta`: Delta: 1 / delta packets of this flow wait in equilibrium, more or less.
    * `memory`: How long the least round trip counts (RTT_min).
    """
    return given({"kind": "copa", "competitive": competitive, "delta": delta, "memory": memory})


def nv(
    *,
    decrease: float | None = None,
    left_on_loss: float | None = None,
    pad: float | None = None,
    pad_buffer: float | None = None,
    reset_period: str | None = None,
) -> Section:
    """For data centres: at most ten packets waiting, by the largest rate of a round trip and the least delay (Linux, tcp_nv.c).

    * `decrease`: Nv_cong_dec_mult: share of what is too much that one decision takes off.
    * `left_on_loss`: Nv_loss_dec_factor: what is left of the window upon loss.
    * `pad`: Nv_pad: packets that may wait.
    * `pad_buffer`: Nv_pad_buffer: the window grows no more when it is so near to the most.
    * `reset_period`: Nv_reset_period: how long a least round trip counts, on the mean.
    """
    return given(
        {
            "kind": "nv",
            "decrease": decrease,
            "left_on_loss": left_on_loss,
            "pad": pad,
            "pad_buffer": pad_buffer,
            "reset_period": reset_period,
        }
    )


def dual(*, decrease: float | None = None, threshold: float | None = None) -> Section:
    """Reno that gives up an eighth when the round trip is above the middle of its range (Wang and Crowcroft 1992).

    * `decrease`: What a round trip above it takes off the window.
    * `threshold`: Where between the least and the largest round trip the threshold is: 1/2 is the middle.
    """
    return given({"kind": "dual", "decrease": decrease, "threshold": threshold})


def tri_s(*, threshold: float | None = None) -> Section:
    """Grows by a segment while that brings half of the throughput that the first one brought (Wang and Crowcroft 1991).

    * `threshold`: NTGD: the normalised gain of throughput below which the window shrinks by a segment.
    """
    return given({"kind": "tri_s", "threshold": threshold})
