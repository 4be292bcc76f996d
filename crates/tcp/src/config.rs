//! Everything about a connection that can be set. Names and defaults follow the RFCs named at each field.

use crate::{Autotuning, ReductionBound, SpuriousDetection};
use longhaul_cc::InitialWindow;
use longhaul_units::{Duration, Rate};

/// How losses are found and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast recovery that the first new ACK ends (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// Conservative loss recovery by SACK (RFC 6675).
    #[default]
    Sack,
    /// SACK with a counted pipe (Fall and Floyd 1996), as ns-2's Sack1: a hole is retransmitted once anything above it is SACKed, lost
    /// segments stay in the pipe until partial ACKs take them out, and a timeout forgets all SACKs.
    Sack1,
    /// Forward acknowledgment: what lies below the highest SACK has left the network (Mathis and Mahdavi 1996).
    Fack,
    /// By SACK, with losses found by time, of retransmissions too (RFC 8985).
    Rack,
}

impl Recovery {
    /// True for the variants that use the SACK option.
    pub const fn uses_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Sack1 | Recovery::Fack | Recovery::Rack)
    }
}

/// How the receiving application takes data out of the receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// At once, as soon as data is in order.
    #[default]
    Immediate,
    /// At a constant rate while there is something to read.
    Rate(Rate),
    /// Only by [`Connection::read`](crate::Connection::read).
    Manual,
}

/// Which round trips feed the RTO estimator. `latest_rtt`, `min_rtt` and the congestion control get all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RttSampling {
    /// Each ACK of new data that Karn's rule allows.
    #[default]
    EveryAck,
    /// That of one timed segment, then of the first new one to leave after its ACK, as 4.4BSD does (RFC 6298 section 3).
    OncePerRound,
}

/// Probing of an idle peer (RFC 9293 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Silence after which the first probe goes out.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Probes without an answer after which the connection is given up.
    pub probes: u32,
}

/// Settings of one end of a connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// Maximum segment size in bytes (RFC 9293 section 3.7.1): the payload of a segment without options, both the
    /// largest sent and the one announced to the peer. 1 to 65,495.
    pub mss: u32,

    /// Loss recovery variant. Those that use SACK fall back to `NewReno` when the peer does not do SACK.
    pub recovery: Recovery,
    /// Duplicate ACKs (or SACKed segments) that mean a loss; DupThresh, 3 (RFC 5681, RFC 6675).
    pub duplicate_threshold: u32,
    /// Send new data on the first duplicate ACKs (RFC 3042; with SACK, RFC 6675 section 5 step 3).
    pub limited_transmit: bool,
    /// Bring the window down in proportion to what is delivered during fast recovery (RFC 9937) instead of waiting until the
    /// pipe has sunk to it (RFC 6675). With SACK only, and not for congestion controls that set a rate.
    pub rate_reduction: Option<ReductionBound>,
    /// The same upon an ECN echo, until what was in flight is acknowledged, as Linux does; otherwise the window is reduced at once
    /// (RFC 3168 section 6.1.2).
    pub rate_reduction_on_ecn: bool,
    /// Take up the SACK blocks of ACKs that later ones have overtaken, as Linux does; RFC 9293 section 3.10.7.4 allows to ignore
    /// what is below SND.UNA.
    pub sack_of_old_acks: bool,
    /// RACK's reordering window, widened by D-SACKs, is as in the beginning after sixteen recoveries (RFC 8985 section 6.2 step 4): one
    /// whose reduction was undone upon its last ACK is one of them. Not in Linux.
    pub undone_recoveries_count: bool,
    /// Where the window grows, an ACK counts for all that it acknowledges, what was SACKed before too (RFC 5681 section 3.1).
    /// Otherwise it counts for what it delivers itself, as in Linux, and reordering slows the growth.
    pub credit_sacked: bool,
    /// A segment counts as SACKed once all of it is, as in Linux; otherwise each octet does (RFC 6675 section 3). Needs
    /// `Recovery::Rack`, which keeps what left together.
    pub sack_whole_segments: bool,
    /// With `Recovery::Rack`, probe for losses at the tail (RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// The longest time for which the peer may hold back an ACK, which a probe for a single segment waits for besides (WCDelAckT of
    /// RFC 8985 section 7.2); `None` takes it to be this end's `delayed_ack`. Linux: 200 ms.
    pub peer_ack_delay: Option<Duration>,
    /// How to detect that a reduction of the window was unnecessary; it is then undone.
    pub spurious_detection: SpuriousDetection,
    /// Discard what was SACKed when the retransmission timer expires (RFC 2018 section 8); otherwise keep it
    /// (RFC 6675 section 5.1).
    pub clear_sack_on_timeout: bool,
    /// NewReno restarts its timer with each partial ACK, not with the first only (RFC 6582 section 4, "Slow-but-Steady").
    pub slow_but_steady: bool,
    /// Entering loss recovery restarts the retransmission timer, since the segment that it guards leaves anew. RFC 6298
    /// is silent on this; 4.4BSD, Linux and ns-2 do it. Otherwise the timer still runs from the last new ACK, and where
    /// the minimum RTO is less than two round trips it expires in the middle of recoveries that go well.
    pub restart_timer_on_fast_retransmit: bool,
    /// Each retransmission of the first segment in flight restarts the retransmission timer, and so do SACKs of data that left before it
    /// did (Linux: `tcp_xmit_retransmit_queue`, `tcp_clean_rtx_queue`). Needs `Recovery::Rack`.
    pub head_restarts_timer: bool,
    /// As receiver, report duplicates (RFC 2883).
    pub dsack: bool,
    /// As receiver, offer SACK even when `recovery` does not use it.
    pub offer_sack: bool,

    /// Offer the timestamps option (RFC 7323 section 3).
    pub timestamps: bool,
    /// Once it is agreed on, drop segments without the timestamps option (RFC 7323 section 3.2); Linux takes them.
    pub timestamps_required: bool,
    /// Tick of the timestamp clock, 1 ms to 1 s (RFC 7323 section 5.4).
    pub timestamp_tick: Duration,
    /// Offer window scaling (RFC 7323 section 2); the shift follows from the receive buffer.
    pub window_scaling: bool,
    /// Offer ECN (RFC 3168).
    pub ecn: bool,
    /// With `ecn`, offer accurate feedback (AccECN, RFC 9768); with a peer that has none it is that of RFC 3168. Where it is agreed on,
    /// every segment is ECN-capable but SYN, SYN-ACK and RST (draft-ietf-tcpm-generalized-ecn).
    pub accurate_ecn: bool,
    /// With `accurate_ecn`, send its option with byte counters too, where there is room.
    pub accurate_ecn_option: bool,
    /// With `accurate_ecn`, nothing is ECN-capable if the path has changed the ECN field of the SYN or SYN-ACK (RFC 9768 section 3.2.2.3).
    pub accurate_ecn_check: bool,

    /// Receive buffer in bytes; `None` is unlimited (the largest window that the option can express, 1 GiB).
    pub receive_buffer: Option<u64>,
    /// Let the receive buffer grow with what the application reads in a round trip; `receive_buffer` does not count then.
    pub autotuning: Option<Autotuning>,
    /// How far beyond the first missing byte the receiver keeps track of data, in bytes; `None` for as far as its window
    /// reaches. A segment that begins further up is acknowledged, but thrown away and never SACKed, although the window
    /// was offered. Receivers with a reassembly queue of a fixed length do this: ns-2 before 2.1b9a, whose sink remembered
    /// 1024 packets.
    pub reassembly_limit: Option<u64>,
    /// How the application reads.
    pub reading: Reading,
    /// Acknowledge at least every so many full-sized segments: 2 (RFC 5681 section 4.2), 1 for each.
    pub ack_every: u32,
    /// Longest delay of an ACK, at most 500 ms by RFC 9293; `None` acknowledges every segment at once.
    pub delayed_ack: Option<Duration>,
    /// Offer ACK congestion control (RFC 5690): where both ends do, the sender of data sets how many segments the other
    /// acknowledges with one ACK, `ack_every` does not count, and more than two are paced. Needs `delayed_ack`.
    pub ack_congestion_control: bool,
    /// So many segments are acknowledged at once when data begin to arrive, so that the sender's slow start is not slowed.
    pub quick_acks: u32,

    /// RTO before the first round trip was measured: 1 s (RFC 6298 section 2.1).
    pub initial_rto: Duration,
    /// Smallest RTO: 1 s (RFC 6298 section 2.4); Linux uses 200 ms.
    pub min_rto: Duration,
    /// Largest RTO: at least 60 s (RFC 6298 section 2.5).
    pub max_rto: Duration,
    /// Clock granularity G of RFC 6298 section 2.3.
    pub clock_granularity: Duration,
    /// Which samples the RTO estimator takes.
    pub rtt_sampling: RttSampling,
    /// RTTVAR follows once a round trip, and falls slowly (Linux: `tcp_rtt_estimator`); otherwise each sample moves it (RFC 6298).
    pub variation_by_round: bool,
    /// Round trips and the RTO are whole ticks of `clock_granularity`, estimated with integers as in BSD and ns-2: see [`crate::RttEstimator`].
    pub rto_in_ticks: bool,
    /// Give up after so many retransmissions of one segment (R2 of RFC 9293 section 3.8.3).
    pub max_retransmissions: u32,
    /// Give up after so many retransmissions of the SYN, `syn_linear_timeouts` not counted.
    pub max_syn_retransmissions: u32,
    /// So many times the timeout of the SYN is repeated before it is doubled: 0 (RFC 6298 section 5.5); Linux: 4
    /// (`tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// So many retransmissions of the SYN or SYN-ACK leave the initial window as it is: 0 (RFC 5681 section 3.1); Linux: 1.
    pub tolerated_syn_losses: u32,
    /// Give up when sent data stays unacknowledged for longer (RFC 5482), or the probes of a closed window unanswered.
    pub user_timeout: Option<Duration>,
    /// Probe an idle peer.
    pub keepalive: Option<Keepalive>,
    /// SYNs carry no options but timestamps: what two ends of this configuration would agree on holds without asking.
    pub assumed_options: bool,
    /// Time in TIME-WAIT: 2 MSL. RFC 9293 has MSL = 2 minutes; hosts use 1 minute in all.
    pub time_wait: Duration,

    /// Send buffer in bytes, of data that is not acknowledged: no more than this is in flight, whatever the windows.
    pub send_buffer: Option<u64>,
    /// The send buffer has room for so many congestion windows, `send_buffer` at most: it grows with the window, and an application that
    /// waits for room writes again once a third of it is free (Linux: 2, with BBR 3; 0 where `SO_SNDBUF` keeps it from growing). `None`:
    /// it has its full size from the start, and an application writes whatever there is room for.
    pub send_buffer_windows: Option<u32>,
    /// An ACK of what was never sent is answered by an ACK (RFC 9293 section 3.10.7.4), and its timestamp recorded where its sequence
    /// number allows (RFC 7323 section 4.3). Otherwise neither, as in Linux 6.1.
    pub answer_unsent_acks: bool,
    /// Probes of a closed window carry nothing and stand below the window, as in Linux; otherwise they carry the next byte
    /// (RFC 9293 section 3.8.6.1).
    pub empty_probes: bool,
    /// Nagle's algorithm (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// With `nagle`, a small segment waits only for an earlier small one, not for full-sized ones (Minshall,
    /// draft-minshall-nagle-01; Linux): the end of a long message leaves at once.
    pub minshall: bool,
    /// The initial window. The caller gives it to the congestion control too; the connection uses it as restart
    /// window only, for the MSS agreed on.
    pub initial_window: InitialWindow,
    /// In slow start the window grows up to twice the most that was in flight in a window, where the application or the receiver's
    /// window is the limit (Linux: `tcp_is_cwnd_limited`). Otherwise it does not grow then (RFC 7661 section 4.1, RFC 9438 section 4.2).
    pub slow_start_to_twice_flight: bool,
    /// After an idle RTO go back to the initial window (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// With `restart_after_idle` the window is halved for each RTO of idleness, in whole segments, down to the initial window, and
    /// ssthresh is at least 3/4 of it (RFC 2861 section 3.1; Linux: `tcp_cwnd_restart`).
    pub halve_after_idle: bool,
    /// After an idle RTO keep this share of the window, 0 to 1, and send it evenly over a smoothed round trip until the first ACK
    /// comes back (rate-based pacing: Visweswaraiah and Heidemann, "Improving Restart of Idle TCP Connections", 1997). Goes
    /// before `restart_after_idle`.
    pub pace_after_idle: Option<f64>,
    /// At most so many segments are sent in answer to one arriving segment.
    pub max_burst: Option<u32>,
    /// When the congestion control paces: segments that may leave back to back after a pause. At least 1; with 1.5 the second follows
    /// after half of its time (Linux: `tcp_update_skb_after_send`).
    pub pacing_burst: f64,
    /// So many segments of the connection leave before pacing begins (Linux: ten, `tcp_update_skb_after_send`).
    pub unpaced_segments: u32,
    /// No faster than this, headers not counted (Linux: `SO_MAX_PACING_RATE`). Paces where the congestion control does not.
    pub max_pacing_rate: Option<Rate>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            mss: 1460,
            recovery: Recovery::Sack,
            duplicate_threshold: 3,
            limited_transmit: true,
            rate_reduction: None,
            rate_reduction_on_ecn: false,
            sack_of_old_acks: false,
            undone_recoveries_count: true,
            credit_sacked: true,
            sack_whole_segments: false,
            tail_loss_probe: true,
            peer_ack_delay: None,
            spurious_detection: SpuriousDetection::default(),
            clear_sack_on_timeout: false,
            slow_but_steady: false,
            restart_timer_on_fast_retransmit: true,
            head_restarts_timer: false,
            dsack: true,
            offer_sack: false,
            timestamps: false,
            timestamps_required: true,
            timestamp_tick: Duration::from_millis(1),
            window_scaling: true,
            ecn: false,
            accurate_ecn: false,
            accurate_ecn_option: true,
            accurate_ecn_check: true,
            receive_buffer: None,
            autotuning: None,
            reassembly_limit: None,
            reading: Reading::Immediate,
            ack_every: 2,
            delayed_ack: Some(Duration::from_millis(200)),
            ack_congestion_control: false,
            quick_acks: 0,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            clock_granularity: Duration::from_millis(1),
            rtt_sampling: RttSampling::EveryAck,
            variation_by_round: false,
            rto_in_ticks: false,
            max_retransmissions: 15,
            max_syn_retransmissions: 6,
            syn_linear_timeouts: 0,
            tolerated_syn_losses: 0,
            user_timeout: None,
            keepalive: None,
            assumed_options: false,
            time_wait: Duration::from_secs(1),
            send_buffer: None,
            send_buffer_windows: None,
            answer_unsent_acks: true,
            empty_probes: false,
            nagle: true,
            minshall: false,
            initial_window: InitialWindow::Segments(10),
            slow_start_to_twice_flight: false,
            restart_after_idle: true,
            halve_after_idle: false,
            pace_after_idle: None,
            max_burst: None,
            pacing_burst: 1.0,
            unpaced_segments: 0,
            max_pacing_rate: None,
        }
    }
}

/// The largest window scale (RFC 7323 section 2.3).
const MAX_WINDOW_SHIFT: u8 = 14;

impl Config {
    /// The largest window that is ever offered, in bytes.
    pub fn largest_window(&self) -> u64 {
        let representable = u64::from(u16::MAX) << self.window_shift();
        let window = self.autotuning.map(|sizes| sizes.largest_window()).or(self.receive_buffer);
        window.map_or(representable, |window| window.min(representable))
    }
    /// The largest window that is offered at first.
    pub fn first_window(&self) -> u64 {
        let largest = self.largest_window();
        // Less than one unit of the scaled window field would read 0.
        let unit = 1 << self.window_shift();
        self.autotuning.map_or(largest, |sizes| sizes.initial_window().max(unit).min(largest))
    }
    /// The smallest shift with which the receive buffer fits the window field.
    pub fn window_shift(&self) -> u8 {
        if !self.window_scaling {
            return 0;
        }
        let buffer = match self.autotuning {
            // By the window that a buffer of SO_RCVBUF has room for at first (Linux: `tcp_select_initial_window`).
            Some(sizes) if sizes.locked => sizes.initial_window(),
            Some(sizes) => sizes.max,
            None => self.receive_buffer.unwrap_or(u64::MAX),
        };
        (0..MAX_WINDOW_SHIFT).find(|shift| buffer >> shift <= u64::from(u16::MAX)).unwrap_or(MAX_WINDOW_SHIFT)
    }
    /// SACK-permitted is offered.
    pub(crate) fn sack_offered(&self) -> bool {
        self.recovery.uses_sack() || self.offer_sack
    }
}
