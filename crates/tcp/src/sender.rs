//! The sending half: what may be sent and when (RFC 9293 section 3.8.6, RFC 5681), loss detection and recovery
//! (RFC 5681, 6582, 6675, 3042), the retransmission and persist timers (RFC 6298, RFC 9293 section 3.8.6.1).

use crate::delivery::DeliveryRate;
use crate::event::Events;
use crate::pacing::Pacer;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::send_log::SendLog;
use crate::{Config, Event, Limit, Recovery, RttSampling, Stats};
use longhaul_cc::{Ack, Congestion, CongestionControl, CongestionKind, Sent};
use longhaul_segment::{SackBlocks, SeqNumber};
use longhaul_units::{Duration, Instant};

/// The end of an unlimited source: far enough for 500 years at 1 Gbit/s.
const UNLIMITED: u64 = 1 << 61;
/// RFC 3042: limited transmit sends this many segments beyond cwnd.
const LIMITED_TRANSMIT_SEGMENTS: u32 = 2;

/// Where the sender stands in loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// No loss is being repaired.
    Open,
    /// From the fast retransmit until `recovery_point` is acknowledged.
    FastRecovery,
    /// From a timeout until `recovery_point` is acknowledged: slow start over what is presumed lost.
    AfterTimeout,
}

/// Stream offsets that one data segment carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub start: u64,
    pub payload: u64,
    pub fin: bool,
    pub retransmission: bool,
    /// The last of what was written.
    pub push: bool,
    /// RFC 6675's rescue retransmission, which leaves HighRxt alone.
    rescue: bool,
}

/// What an arriving ACK says, mapped onto 64-bit stream offsets.
pub(crate) struct Acknowledgment<'a> {
    pub now: Instant,
    pub ack: u64,
    /// Right edge of the peer's window, if this ACK may update it (RFC 9293 section 3.10.7.4).
    pub window_edge: Option<u64>,
    pub sack: &'a SackBlocks,
    pub isn: SeqNumber,
    /// The segment has neither payload nor FIN: it can be a duplicate ACK.
    pub bare: bool,
    pub ecn_echo: bool,
    /// Age of the timestamp echoed, if the option is in use.
    pub timestamp_rtt: Option<Duration>,
}

pub(crate) struct Sender {
    /// SND.UNA.
    pub una: u64,
    /// SND.NXT: end of what was ever sent.
    pub max: u64,
    /// End of what was written; the FIN stands here.
    data_end: u64,
    fin_queued: bool,
    /// Payload of a segment without SACK blocks (SMSS).
    pub mss: u64,
    /// cc.window(), kept to save calls.
    cwnd: u64,
    /// SND.UNA + SND.WND: right edge of the peer's window.
    window_edge: u64,
    /// The largest window that the peer has offered.
    max_window: u64,

    pub phase: Phase,
    recovery: Recovery,
    duplicate_acks: u32,
    /// Without SACK: bytes that duplicate ACKs say have left the network (RFC 6582's window inflation).
    inflation: i64,
    /// End of the data in flight when recovery began (RecoveryPoint; RFC 6582's `recover`).
    recovery_point: u64,
    /// End of the data in flight at the last window reduction: no other before it is acknowledged.
    reduction_point: u64,
    /// ECN echoes below this are answers to marks that have been acted upon: end of the segment that carried CWR.
    ecn_point: u64,
    /// The next retransmission goes out whatever the window says.
    retransmit_now: bool,
    /// RFC 6675 rule 4 has been used in this recovery.
    rescued: bool,
    /// RFC 6582: the first partial ACK of this recovery has come.
    partial_ack_seen: bool,
    /// Bytes sent beyond cwnd on duplicate ACKs, which FlightSize leaves out (RFC 5681 section 3.2).
    limited_transmitted: u64,
    board: Scoreboard,

    pub rtt: RttEstimator,
    log: SendLog,
    /// End of the highest retransmission ever: no round trip is measured below (Karn's rule).
    retransmitted_below: u64,
    /// The retransmission timer.
    pub rto_deadline: Instant,
    /// Expirations since the last progress.
    timeouts_in_a_row: u32,
    last_progress: Instant,
    last_sent: Instant,

    pub pacer: Pacer,
    /// When pacing lets the next segment go.
    pub pacing_deadline: Instant,
    burst_left: u32,
    /// Data below this offset was in flight when the window was full.
    cwnd_limited_below: u64,
    round: u64,
    round_end: u64,
    sampled_round: u64,
    delivered: u64,
    /// SACKed bytes that cc has not been told of.
    sacked_unreported: u64,
    rate: Option<Box<DeliveryRate>>,
    cc: Box<dyn CongestionControl>,

    /// The persist timer.
    pub persist_deadline: Instant,
    persist_interval: Duration,
    unanswered_probes: u32,
    probe_due: bool,
    /// A probe with the byte at `max` is out.
    probe_outstanding: bool,
    /// The persist timer overrides silly window avoidance.
    send_small: bool,

    duplicate_threshold: u32,
    max_burst: u32,
    max_retransmissions: u32,
    user_timeout: Option<Duration>,
    limited_transmit: bool,
    nagle: bool,
    /// The next new data carries CWR (RFC 3168 section 6.1.2).
    cwr_due: bool,
    restart_window: Option<u64>,
    clear_sack_on_timeout: bool,
    every_ack_sampled: bool,
    impatient: bool,
    max_rto: Duration,
}

impl Sender {
    /// Before the handshake: offset 0 is the SYN, data begins at offset 1.
    pub fn new(config: &Config, cc: Box<dyn CongestionControl>) -> Self {
        let mss = u64::from(config.mss.max(1));
        Sender {
            una: 0,
            max: 0,
            data_end: 1,
            fin_queued: false,
            mss,
            cwnd: cc.window(),
            window_edge: 0,
            max_window: 0,
            phase: Phase::Open,
            recovery: config.recovery,
            duplicate_acks: 0,
            inflation: 0,
            recovery_point: 0,
            reduction_point: 0,
            ecn_point: 0,
            retransmit_now: false,
            rescued: false,
            partial_ack_seen: false,
            limited_transmitted: 0,
            board: Scoreboard::new(0),
            rtt: RttEstimator::new(config),
            log: SendLog::default(),
            retransmitted_below: 0,
            rto_deadline: Instant::FAR_FUTURE,
            timeouts_in_a_row: 0,
            last_progress: Instant::ZERO,
            last_sent: Instant::ZERO,
            pacer: Pacer::new(config.pacing_burst),
            pacing_deadline: Instant::FAR_FUTURE,
            burst_left: u32::MAX,
            cwnd_limited_below: 0,
            round: 0,
            round_end: 0,
            sampled_round: u64::MAX,
            delivered: 0,
            sacked_unreported: 0,
            rate: cc.needs_delivery_rate().then(Box::default),
            cc,
            persist_deadline: Instant::FAR_FUTURE,
            persist_interval: Duration::ZERO,
            unanswered_probes: 0,
            probe_due: false,
            probe_outstanding: false,
            send_small: false,
            duplicate_threshold: config.duplicate_threshold.max(1),
            max_burst: config.max_burst.map_or(u32::MAX, |burst| burst.max(1)),
            max_retransmissions: config.max_retransmissions,
            user_timeout: config.user_timeout,
            limited_transmit: config.limited_transmit,
            nagle: config.nagle,
            cwr_due: false,
            restart_window: config.restart_after_idle.then(|| config.initial_window.bytes(config.mss)),
            clear_sack_on_timeout: config.clear_sack_on_timeout,
            every_ack_sampled: config.rtt_sampling == RttSampling::EveryAck,
            impatient: !config.slow_but_steady,
            max_rto: config.max_rto.max(config.min_rto),
        }
    }

    /// The handshake is over: what the two ends agreed on.
    pub fn begin(&mut self, now: Instant, mss: u32, sack: bool, window: u64) {
        self.una = 1;
        self.max = self.max.max(1);
        self.mss = u64::from(mss.max(1));
        if !sack && self.recovery.uses_sack() {
            self.recovery = Recovery::NewReno;
        }
        self.window_edge = 1 + window;
        self.max_window = window;
        self.board = Scoreboard::new(1);
        self.round_end = 1;
        self.last_progress = now;
        self.last_sent = now;
        self.refresh();
    }
    /// RFC 5681 section 3.1: after a lost SYN the initial window is one segment.
    pub fn after_syn_loss(&mut self) {
        self.rtt.after_syn_loss();
        self.cc.on_idle(self.mss);
        self.refresh();
    }

    pub fn cc(&self) -> &dyn CongestionControl {
        &*self.cc
    }
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }
    pub fn peer_window(&self) -> u64 {
        self.window_edge.saturating_sub(self.una)
    }
    pub fn holes(&self) -> usize {
        self.board.blocks()
    }

    // What the application does.

    pub fn write(&mut self, bytes: u64) {
        if !self.fin_queued {
            self.data_end = self.data_end.saturating_add(bytes).min(UNLIMITED);
        }
    }
    pub fn write_unlimited(&mut self) {
        self.write(UNLIMITED);
    }
    pub fn stop_writing(&mut self) {
        if !self.fin_queued {
            self.data_end = self.acceptable_ack().max(1);
        }
    }
    pub fn close(&mut self) {
        if self.data_end == UNLIMITED {
            self.stop_writing();
        }
        self.fin_queued = true;
    }
    pub fn unsent(&self) -> u64 {
        if self.data_end == UNLIMITED { u64::MAX } else { self.data_end.saturating_sub(self.max.max(1)) }
    }
    pub fn fin_acked(&self) -> bool {
        self.fin_queued && self.una > self.data_end
    }
    pub fn all_acked(&self) -> bool {
        self.una == self.data_end + u64::from(self.fin_queued)
    }
    pub fn acked_bytes(&self) -> u64 {
        self.una.min(self.data_end).saturating_sub(1)
    }
    /// A new segment arrived, or the application acted: a new burst may be sent.
    #[inline]
    pub fn allow_burst(&mut self) {
        self.burst_left = self.max_burst;
    }

    // How much is in flight.

    #[inline]
    pub fn flight_size(&self) -> u64 {
        self.max - self.una
    }
    /// What is thought to be in the network.
    #[inline]
    pub fn pipe(&self) -> u64 {
        if self.phase == Phase::Open && self.duplicate_acks == 0 && self.board.is_empty() {
            return self.flight_size();
        }
        self.pipe_with_losses()
    }
    fn pipe_with_losses(&self) -> u64 {
        if self.recovery.uses_sack() {
            if self.phase == Phase::Open && !self.limited_transmit {
                self.flight_size()
            } else if self.recovery == Recovery::Fack {
                self.board.fack_pipe(self.max)
            } else {
                self.board.pipe(self.max)
            }
        } else {
            match self.phase {
                Phase::Open if self.limited_transmit => {
                    let extra = self.duplicate_acks.min(LIMITED_TRANSMIT_SEGMENTS);
                    self.flight_size().saturating_sub(u64::from(extra) * self.mss)
                }
                Phase::Open => self.flight_size(),
                // RFC 6582: cwnd + inflation >= FlightSize is the same as cwnd >= FlightSize - inflation.
                Phase::FastRecovery => self.flight_size().saturating_add_signed(-self.inflation),
                Phase::AfterTimeout => self.board.pipe(self.max),
            }
        }
    }

    // ACKs.

    /// The greatest acknowledgment that makes sense.
    #[inline]
    pub fn acceptable_ack(&self) -> u64 {
        self.max + u64::from(self.probe_outstanding)
    }

    /// An acceptable ACK of an established connection; `ack` is not below SND.UNA.
    #[inline]
    pub fn on_ack(&mut self, a: &Acknowledgment<'_>, stats: &mut Stats, events: &mut Events) {
        if self.probe_outstanding || self.unanswered_probes > 0 {
            self.on_probe_answer(a.ack);
        }
        let prior_una = self.una;
        let prior_flight_size = self.flight_size();
        let prior_in_flight = self.pipe();
        let prior_phase = self.phase;
        let window_changed = match a.window_edge {
            Some(edge) => self.update_window(a.ack, edge),
            None => false,
        };
        let mut newly_sacked = 0;
        if !a.sack.is_empty() && self.recovery.uses_sack() {
            newly_sacked = self.on_sack(a, stats);
        }

        let mut rtt = None;
        let mut newly_acked = 0;
        if a.ack > prior_una {
            let advanced = a.ack - prior_una;
            self.una = a.ack;
            let was_sacked = self.board.acknowledge(a.ack);
            newly_acked = advanced - was_sacked;
            rtt = self.measure(a, prior_una, stats);
            self.on_new_ack(a.now, advanced, events);
        } else if newly_sacked > 0 || (self.is_duplicate_ack(a) && !window_changed) {
            stats.duplicate_acks_received += 1;
            if self.phase == Phase::FastRecovery {
                self.inflation += self.mss as i64;
            } else {
                self.duplicate_acks += 1;
            }
        }
        if self.phase == Phase::Open && (self.duplicate_acks != 0 || !self.board.is_empty()) {
            self.enter_recovery_if_lost(a.now, stats, events);
        }

        self.sacked_unreported += newly_sacked;
        self.delivered += newly_acked + newly_sacked;
        if a.ack > prior_una || (newly_sacked > 0 && prior_phase == Phase::FastRecovery) {
            self.tell_congestion_control(a.now, prior_una, prior_in_flight, prior_phase, newly_acked, rtt);
        }
        if a.ecn_echo {
            self.on_ecn_echo(a.now, prior_flight_size, stats, events);
        }
        self.refresh();
    }

    #[inline]
    fn tell_congestion_control(
        &mut self,
        now: Instant,
        prior_una: u64,
        prior_in_flight: u64,
        prior_phase: Phase,
        newly_acked: u64,
        rtt: Option<Duration>,
    ) {
        let round_start = self.una > self.round_end;
        if round_start {
            self.round += 1;
            self.round_end = self.max;
        }
        let delivery_rate = match &mut self.rate {
            Some(rate) => {
                rate.on_ack(now, self.una.max(self.board.highest_sacked()), self.delivered, self.rtt.min)
            }
            None => None,
        };
        let acked = newly_acked + std::mem::take(&mut self.sacked_unreported);
        self.cc.on_ack(&Ack {
            now,
            acked,
            rtt,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            in_flight: self.pipe(),
            prior_in_flight,
            round: self.round,
            round_start,
            delivery_rate,
            delivered: self.delivered,
            app_limited: prior_una >= self.cwnd_limited_below,
            in_recovery: prior_phase == Phase::FastRecovery || self.phase == Phase::FastRecovery,
        });
    }

    /// SND.WND of RFC 9293; true if it changed.
    #[inline]
    fn update_window(&mut self, ack: u64, edge: u64) -> bool {
        let window = edge - ack;
        let changed = window != self.window_edge.saturating_sub(self.una);
        self.window_edge = edge;
        self.max_window = self.max_window.max(window);
        if edge > self.max && self.persist_deadline != Instant::FAR_FUTURE && self.usable_is_worthwhile() {
            self.stop_persisting();
        }
        changed
    }

    /// RFC 5681 section 2; with SACK only news of SACKed data counts (RFC 6675 section 2).
    fn is_duplicate_ack(&self, a: &Acknowledgment<'_>) -> bool {
        a.bare && self.max > self.una && !self.recovery.uses_sack()
    }

    /// Takes up the SACK blocks; returns the bytes that are news.
    fn on_sack(&mut self, a: &Acknowledgment<'_>, stats: &mut Stats) -> u64 {
        let blocks = a.sack.as_slice();
        let offsets = |block: &(SeqNumber, SeqNumber)| {
            let start = block.0.unwrap(a.isn, self.una)?;
            let end = block.1.unwrap(a.isn, self.una)?;
            (start < end && end <= self.max).then_some((start, end))
        };
        // RFC 2883 section 4: the first block is a D-SACK if it is acknowledged already or within the second.
        let duplicate = offsets(&blocks[0]).is_some_and(|(start, end)| {
            end <= a.ack
                || blocks.get(1).and_then(offsets).is_some_and(|second| second.0 <= start && end <= second.1)
        });
        stats.dsacks_received += u64::from(duplicate);
        let mut news = 0;
        for block in &blocks[usize::from(duplicate)..] {
            if self.board.last_blocks().as_slice().contains(block) {
                continue;
            }
            let start = block.0.unwrap(a.isn, self.una);
            let end = block.1.unwrap(a.isn, self.una);
            if let (Some(start), Some(end)) = (start, end) {
                if start < end && end <= self.max && end > self.una {
                    news += self.board.sack(start, end);
                }
            }
        }
        self.board.set_last_blocks(*a.sack);
        if news > 0 {
            if self.recovery == Recovery::Fack {
                let tolerated = u64::from(self.duplicate_threshold) * self.mss;
                self.board.mark_lost_below(self.board.highest_sacked().saturating_sub(tolerated));
            } else {
                self.board.detect_losses(self.duplicate_threshold, self.mss);
            }
        }
        news
    }

    /// RTT measurement by Karn's rule, else by timestamps (RFC 7323 section 4).
    #[inline]
    fn measure(&mut self, a: &Acknowledgment<'_>, prior_una: u64, stats: &mut Stats) -> Option<Duration> {
        let departures = self.log.acknowledge(a.ack);
        let (oldest, newest) = if prior_una >= self.retransmitted_below {
            let departures = departures?;
            (a.now.since(departures.oldest), a.now.since(departures.newest))
        } else {
            let rtt = a.timestamp_rtt?;
            (rtt, rtt)
        };
        self.rtt.observe(newest);
        stats.rtt_sample(newest);
        if self.every_ack_sampled || self.sampled_round != self.round {
            self.sampled_round = self.round;
            self.rtt.sample(oldest);
        }
        Some(newest)
    }

    /// SND.UNA has advanced by `advanced`.
    #[inline]
    fn on_new_ack(&mut self, now: Instant, advanced: u64, events: &mut Events) {
        self.duplicate_acks = 0;
        self.limited_transmitted = 0;
        self.timeouts_in_a_row = 0;
        self.last_progress = now;
        let mut restart_timer = true;
        if self.phase != Phase::Open {
            if self.una >= self.recovery_point
                || (self.phase == Phase::FastRecovery && self.recovery == Recovery::Reno)
            {
                self.leave_recovery(events);
            } else if self.phase == Phase::FastRecovery && !self.recovery.uses_sack() {
                restart_timer = self.on_partial_ack(advanced);
            }
        }
        // RFC 6298 sections 5.2 and 5.3.
        if self.una == self.max {
            self.rto_deadline = Instant::FAR_FUTURE;
        } else if restart_timer {
            self.rto_deadline = now + self.rtt.rto();
        }
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgment. Returns whether the timer restarts: with the first
    /// partial ACK only ("impatient"), or with each ("slow but steady").
    fn on_partial_ack(&mut self, advanced: u64) -> bool {
        self.inflation -= advanced as i64;
        if advanced >= self.mss {
            self.inflation += self.mss as i64;
        }
        self.board.mark_lost_below((self.una + self.mss).min(self.max));
        self.retransmit_now = true;
        !std::mem::replace(&mut self.partial_ack_seen, true) || !self.impatient
    }

    fn leave_recovery(&mut self, events: &mut Events) {
        self.phase = Phase::Open;
        self.inflation = 0;
        self.retransmit_now = false;
        self.board.restart_retransmission();
        events.push(Event::RecoveryEnd);
    }

    /// RFC 5681 section 3.2, RFC 6582 section 3.2 step 2, RFC 6675 section 5 steps 1 to 4.
    fn enter_recovery_if_lost(&mut self, now: Instant, stats: &mut Stats, events: &mut Events) {
        let enough = self.duplicate_acks >= self.duplicate_threshold;
        let sack = self.recovery.uses_sack();
        let lost = enough || (sack && self.board.lost_edge() > self.una);
        // Without SACK duplicate ACKs may come from data sent twice: wait until new data is acknowledged.
        let fresh = if sack { self.una >= self.recovery_point } else { self.una > self.recovery_point };
        if lost && fresh && self.max > self.una {
            self.enter_recovery(now, stats, events);
        }
    }

    #[cold]
    fn enter_recovery(&mut self, now: Instant, stats: &mut Stats, events: &mut Events) {
        let flight_size = self.flight_size() - self.limited_transmitted.min(self.flight_size());
        let tahoe = self.recovery == Recovery::Tahoe;
        stats.fast_retransmits += 1;
        events.push(Event::FastRetransmit { lost: self.una - 1, flight_size });
        // One reduction per window, be it for loss or for an ECN echo (RFC 3168 section 6.1.2).
        if self.una >= self.reduction_point || tahoe {
            let kind = if tahoe { CongestionKind::Timeout } else { CongestionKind::Loss };
            self.reduce(now, kind, flight_size);
        }
        if self.recovery != Recovery::Reno {
            self.recovery_point = self.max;
        }
        self.retransmit_now = true;
        self.rescued = false;
        self.partial_ack_seen = false;
        self.board.restart_retransmission();
        if tahoe {
            self.phase = Phase::AfterTimeout;
            self.board.mark_lost_below(self.max);
        } else {
            self.phase = Phase::FastRecovery;
            self.inflation = i64::from(self.duplicate_acks) * self.mss as i64;
            self.board.mark_lost_below((self.una + self.mss).min(self.max));
        }
        self.duplicate_acks = 0;
    }

    fn reduce(&mut self, now: Instant, kind: CongestionKind, flight_size: u64) {
        self.reduction_point = self.max;
        self.cwr_due = true;
        self.ecn_point = u64::MAX;
        self.cc.on_congestion(&Congestion { now, kind, flight_size });
        self.refresh();
    }

    /// RFC 3168 section 6.1.2. The receiver repeats its echo until CWR arrives.
    #[cold]
    fn on_ecn_echo(&mut self, now: Instant, flight_size: u64, stats: &mut Stats, events: &mut Events) {
        stats.ecn_echoes_received += 1;
        let fresh = self.una >= self.reduction_point && self.una >= self.ecn_point;
        if fresh && flight_size > 0 && self.phase == Phase::Open {
            stats.ecn_reductions += 1;
            events.push(Event::EcnReduction);
            self.reduce(now, CongestionKind::EcnEcho, flight_size);
        }
    }
    /// True if the segment with new data up to `end` is to carry CWR.
    #[inline]
    pub fn take_cwr(&mut self, end: u64) -> bool {
        if self.cwr_due {
            self.ecn_point = end;
        }
        std::mem::take(&mut self.cwr_due)
    }

    #[inline]
    fn refresh(&mut self) {
        self.cwnd = self.cc.window();
        self.pacer.rate = self.cc.pacing_rate();
    }

    // Timers.

    /// The retransmission timer has expired (RFC 6298 section 5.4 to 5.6, RFC 6675 section 5.1). False: give up.
    #[must_use]
    pub fn on_retransmission_timeout(
        &mut self,
        now: Instant,
        stats: &mut Stats,
        events: &mut Events,
    ) -> bool {
        self.rto_deadline = Instant::FAR_FUTURE;
        if self.max == self.una {
            return true;
        }
        let waited = now.since(self.last_progress);
        if self.timeouts_in_a_row >= self.max_retransmissions
            || self.user_timeout.is_some_and(|limit| waited >= limit)
        {
            return false;
        }
        self.timeouts_in_a_row += 1;
        stats.timeouts += 1;
        let flight_size = self.flight_size();
        events.push(Event::Timeout { lost: self.una - 1, flight_size, backoff: self.timeouts_in_a_row });
        // RFC 5681 section 3.1: ssthresh is set once, not at each back-off.
        if self.timeouts_in_a_row == 1 {
            let mut in_network = flight_size - self.limited_transmitted.min(flight_size);
            // In recovery FlightSize goes on counting what has long arrived or is lost, and would raise ssthresh; what
            // cwnd allows is the better measure (as in 4.4BSD).
            if self.phase != Phase::Open {
                in_network = in_network.min(self.cwnd);
            }
            self.reduce(now, CongestionKind::Timeout, in_network);
        }
        if self.board.reneged() {
            stats.reneging += 1;
            self.board.clear();
        } else if self.clear_sack_on_timeout {
            self.board.clear();
        }
        self.phase = Phase::AfterTimeout;
        self.recovery_point = self.max;
        self.duplicate_acks = 0;
        self.inflation = 0;
        self.limited_transmitted = 0;
        self.retransmit_now = true;
        self.board.restart_retransmission();
        self.board.mark_lost_below(self.max);
        self.rtt.back_off();
        self.rto_deadline = now + self.rtt.rto();
        true
    }

    /// RFC 9293 section 3.8.6.1: the window has been closed for long. False: the peer has fallen silent, give up.
    #[must_use]
    pub fn on_persist_timeout(&mut self, now: Instant) -> bool {
        if self.unanswered_probes >= self.max_retransmissions {
            return false;
        }
        self.unanswered_probes += 1;
        self.persist_interval = self.persist_interval.saturating_mul(2).min(self.max_rto);
        self.persist_deadline = now + self.persist_interval;
        if self.window_edge > self.max {
            self.send_small = true;
        } else {
            self.probe_due = true;
        }
        true
    }
    fn start_persisting(&mut self, now: Instant) {
        if self.persist_deadline == Instant::FAR_FUTURE {
            self.persist_interval = self.rtt.rto();
            self.persist_deadline = now + self.persist_interval;
        }
    }
    fn stop_persisting(&mut self) {
        self.persist_deadline = Instant::FAR_FUTURE;
        self.probe_due = false;
        self.send_small = false;
    }
    #[inline]
    pub fn probe_is_due(&self) -> bool {
        self.probe_due
    }
    /// The probe's byte to send, if one is due.
    pub fn take_probe(&mut self) -> Option<u64> {
        if !std::mem::take(&mut self.probe_due) || self.max != self.una || self.max >= self.data_end {
            return None;
        }
        self.probe_outstanding = true;
        Some(self.max)
    }
    #[cold]
    fn on_probe_answer(&mut self, ack: u64) {
        self.unanswered_probes = 0;
        if ack > self.max {
            self.max = ack;
            self.probe_outstanding = false;
        }
    }
    /// Silly window avoidance on the sending side lets something go.
    fn usable_is_worthwhile(&self) -> bool {
        let usable = self.window_edge.saturating_sub(self.max);
        usable >= self.mss || usable >= self.max_window / 2 || usable >= self.unsent()
    }

    // Sending.

    /// The next data segment, or what stands in the way. `option_bytes` of options take room from the payload.
    #[inline]
    pub fn next_segment(
        &mut self,
        now: Instant,
        option_bytes: u64,
        stats: &mut Stats,
    ) -> Result<Chunk, Limit> {
        let segment_size = self.mss.saturating_sub(option_bytes).max(1);
        let chosen = self.choose(now, segment_size);
        match chosen {
            Ok(chunk) => {
                self.record(now, &chunk, stats);
                Ok(chunk)
            }
            Err(limit) => {
                let full = !matches!(limit, Limit::Application | Limit::ReceiverWindow);
                if full || self.pipe() + self.mss > self.cwnd {
                    self.cwnd_limited_below = self.max;
                }
                if limit == Limit::Cwnd && self.cc.in_slow_start() {
                    return Err(Limit::SlowStart);
                }
                Err(limit)
            }
        }
    }

    /// NextSeg() of RFC 6675 section 4, which without SACK is go-back-N or RFC 6582's one segment.
    #[inline]
    fn choose(&mut self, now: Instant, segment_size: u64) -> Result<Chunk, Limit> {
        if self.phase == Phase::Open {
            let chunk = self.choose_new_data(now, segment_size)?;
            return self.release(now, chunk);
        }
        let recovering = |_| Limit::Recovery;
        // Rule 1.
        if let Some(hole) = self.board.next_lost() {
            let chunk = self.piece(hole.0, hole.1.min(hole.0 + segment_size));
            self.check_room(chunk).map_err(recovering)?;
            return self.release(now, chunk);
        }
        self.retransmit_now = false;
        // Rule 2.
        match self.choose_new_data(now, segment_size) {
            Ok(chunk) => return self.release(now, chunk),
            Err(Limit::Cwnd) => return Err(Limit::Recovery),
            Err(_) => {}
        }
        if self.phase == Phase::FastRecovery && self.recovery.uses_sack() {
            // Rule 3.
            if let Some(hole) = self.board.next_hole() {
                let chunk = self.piece(hole.0, hole.1.min(hole.0 + segment_size));
                self.check_room(chunk).map_err(recovering)?;
                return self.release(now, chunk);
            }
            // Rule 4, the rescue retransmission.
            if !self.rescued {
                if let Some(hole) = self.board.last_hole(self.max) {
                    let start = hole.0.max(hole.1.saturating_sub(segment_size));
                    let chunk = Chunk { rescue: true, ..self.piece(start, hole.1) };
                    self.check_room(chunk).map_err(recovering)?;
                    return self.release(now, chunk);
                }
            }
        }
        Err(Limit::Recovery)
    }

    /// A retransmission of `[start, end)`, of which the last offset may be the FIN.
    fn piece(&self, start: u64, end: u64) -> Chunk {
        let payload_end = end.min(self.data_end);
        Chunk {
            start,
            payload: payload_end.saturating_sub(start),
            fin: self.fin_queued && end > self.data_end,
            retransmission: true,
            push: false,
            rescue: false,
        }
    }

    #[inline]
    fn check_room(&self, chunk: Chunk) -> Result<(), Limit> {
        let pipe = self.pipe();
        let forced = chunk.retransmission && self.retransmit_now;
        if pipe + chunk.payload <= self.cwnd || pipe == 0 || forced { Ok(()) } else { Err(Limit::Cwnd) }
    }

    #[inline]
    fn release(&mut self, now: Instant, chunk: Chunk) -> Result<Chunk, Limit> {
        if self.burst_left == 0 {
            return Err(Limit::Pacing);
        }
        self.pacing_deadline = Instant::FAR_FUTURE;
        if let Some(until) = self.pacer.held_until(now) {
            if !(chunk.retransmission && self.retransmit_now) {
                self.pacing_deadline = until;
                return Err(Limit::Pacing);
            }
        }
        Ok(chunk)
    }

    #[inline(always)]
    fn choose_new_data(&mut self, now: Instant, segment_size: u64) -> Result<Chunk, Limit> {
        let start = self.max;
        let available = self.data_end.saturating_sub(start);
        if available == 0 {
            return self.choose_fin(start);
        }
        let usable = self.window_edge.saturating_sub(start);
        let payload = segment_size.min(available).min(usable);
        if payload < segment_size {
            if payload < available {
                // Silly window avoidance (RFC 9293 section 3.8.6.2.1).
                let small = payload < self.max_window / 2 || payload == 0;
                if small && !(self.send_small && payload > 0) {
                    if self.una == start {
                        self.start_persisting(now);
                    }
                    return Err(Limit::ReceiverWindow);
                }
            } else if self.nagle && self.una < start && !self.fin_queued {
                return Err(Limit::Application);
            }
        }
        if self.una == start {
            self.restart_if_idle(now);
        }
        let last = payload == available;
        let chunk = Chunk {
            start,
            payload,
            fin: last && self.fin_queued,
            retransmission: false,
            push: last,
            rescue: false,
        };
        self.check_room(chunk)?;
        Ok(chunk)
    }

    /// Nothing but the FIN is left, or not even that.
    fn choose_fin(&self, start: u64) -> Result<Chunk, Limit> {
        if !self.fin_queued {
            Err(Limit::Application)
        } else if start > self.data_end {
            Err(if self.una > self.data_end { Limit::Closed } else { Limit::Application })
        } else {
            Ok(Chunk { start, payload: 0, fin: true, retransmission: false, push: false, rescue: false })
        }
    }

    /// RFC 5681 section 4.1: nothing was sent for longer than the RTO.
    #[inline]
    fn restart_if_idle(&mut self, now: Instant) {
        if let Some(restart_window) = self.restart_window {
            if now.since(self.last_sent) > self.rtt.rto() && self.max > 1 {
                self.last_sent = now;
                self.cc.on_idle(restart_window);
                self.refresh();
            }
        }
    }

    /// The segment leaves.
    #[inline]
    fn record(&mut self, now: Instant, chunk: &Chunk, stats: &mut Stats) {
        let end = chunk.start + chunk.payload + u64::from(chunk.fin);
        if chunk.payload > 0 {
            stats.data_segments_sent += 1;
            stats.data_bytes_sent += chunk.payload;
        }
        if chunk.retransmission {
            stats.retransmitted_segments += u64::from(chunk.payload > 0);
            stats.retransmitted_bytes += chunk.payload;
            self.retransmitted_below = self.retransmitted_below.max(end);
            if chunk.rescue {
                self.rescued = true;
            } else {
                self.board.retransmitted_up_to(end);
            }
            self.retransmit_now = false;
        } else {
            if self.una == self.max {
                self.last_progress = now;
            }
            if self.duplicate_acks > 0 && self.flight_size() + chunk.payload > self.cwnd {
                self.limited_transmitted += chunk.payload;
            }
            if let Some(rate) = &mut self.rate {
                rate.on_sent(now, end, self.delivered, self.una == self.max);
            }
            self.max = end;
            self.log.sent(end, now);
            self.send_small = false;
            self.probe_outstanding = false;
            self.persist_deadline = Instant::FAR_FUTURE;
        }
        // RFC 6298 section 5.1.
        if self.rto_deadline == Instant::FAR_FUTURE {
            self.rto_deadline = now + self.rtt.rto();
        }
        self.last_sent = now;
        self.burst_left = self.burst_left.saturating_sub(1);
        self.pacer.sent(now, chunk.payload);
        let in_flight = self.pipe();
        self.cc.on_sent(&Sent { now, bytes: chunk.payload, in_flight, retransmission: chunk.retransmission });
    }
}
