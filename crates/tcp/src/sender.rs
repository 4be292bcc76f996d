//! The sending half's state, and how much of it is in flight; its parts are what ACKs do, what timers do, and what is
//! sent next (RFC 9293 section 3.8, RFC 5681, RFC 6298, RFC 6582, RFC 6675).

mod acknowledgment;
mod bulk;
mod loss_recovery;
mod rack_tlp;
mod reduction;
mod timers;
mod transmission;
mod undo;

use crate::accurate_ecn::{EcnDelivered, Marks, Reported};
use crate::ack_congestion::AckCongestion;
use crate::pacing::Pacer;
use crate::prr::ProportionalRateReduction;
use crate::rack::Rack;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::send_buffer::SendBuffer;
use crate::send_log::SendLog;
use crate::undo::Undo;
use crate::{Config, CongestionState, ReductionBound, RttSampling};
pub(crate) use bulk::Bulk;
use longhaul_cc::{CongestionControl, EcnUse, InitialWindow, Probed};
use longhaul_segment::{Options, SackBlocks, SeqNumber};
use longhaul_units::{Duration, Instant, Rate};
use loss_recovery::LossRecovery;
use rack_tlp::Measured;
use std::collections::VecDeque;
use std::num::NonZeroU8;

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

/// The most that was in flight in the present window of data: max_packets_out and cwnd_usage_seq of Linux.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    most: u64,
    /// The window of data ends here.
    until: u64,
    /// The window was full in it.
    full: bool,
}

impl Usage {
    /// Sending stops with so much in flight. `full`: the congestion window allows no more.
    fn note(&mut self, una: u64, max: u64, full: bool) {
        let in_flight = max - una;
        if una >= self.until || full || (!self.full && in_flight > self.most) {
            *self = Usage { most: in_flight, until: max, full };
        }
    }
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

/// What an ACK reports of marks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EcnFeedback {
    None,
    /// An echo (RFC 3168).
    Echo,
    /// Counters (RFC 9768).
    Accurate(Reported),
}

/// The fields of an arriving ACK, mapped onto 64-bit stream offsets.
pub(crate) struct Acknowledgment<'a> {
    pub now: Instant,
    pub ack: u64,
    /// Right edge of the peer's window, if this ACK may update it (RFC 9293 section 3.10.7.4).
    pub window_edge: Option<u64>,
    pub sack: &'a SackBlocks,
    pub isn: SeqNumber,
    /// The segment has neither payload nor FIN: it can be a duplicate ACK.
    pub bare: bool,
    pub ecn: EcnFeedback,
    /// The segment met congestion itself.
    pub marked: bool,
    /// Age of the timestamp echoed, if the option is in use.
    pub timestamp_rtt: Option<Duration>,
}

#[repr(C)]
pub(crate) struct Sender {
    // What any segment touches, one that only brings data too.
    /// SND.UNA.
    pub una: u64,
    /// SND.NXT: end of what was ever sent.
    pub max: u64,
    /// End of what was written; the FIN stands here.
    data_end: u64,
    /// SND.UNA + SND.WND: right edge of the peer's window.
    window_edge: u64,
    /// The retransmission timer.
    pub rto_deadline: Instant,
    /// The timer of loss recovery: RACK's for reordering, or the probe at the tail, whichever is first.
    pub recovery_deadline: Instant,
    /// The persist timer.
    pub persist_deadline: Instant,
    /// When pacing lets the next segment go.
    pub pacing_deadline: Instant,
    burst_left: u32,
    max_burst: u32,
    unanswered_probes: u32,
    pub phase: Phase,
    recovery: LossRecovery,
    fin_queued: bool,
    probe_due: bool,
    /// A probe with the byte at `max` is out.
    probe_outstanding: bool,
    /// The persist timer overrides silly window avoidance.
    send_small: bool,
    /// The next retransmission is sent even if the window is full.
    retransmit_now: bool,
    in_slow_start: bool,
    /// `prr` is there, and bounds cwnd.
    reducing: bool,
    limited_transmit: bool,
    nagle: bool,
    minshall: bool,
    /// A small segment waits until the application lets it go.
    corked: bool,
    /// The same until the next ACK.
    more_follows: bool,
    /// The end of what was written is not to be pushed.
    unpushed: bool,
    /// The next new data carries CWR (RFC 3168 section 6.1.2).
    cwr_due: bool,
    /// Each sample moves the estimate; or the same, in ticks or with RTTVAR once a round trip; or neither.
    every_ack_sampled: bool,
    every_ack_otherwise: bool,
    credit_sacked: bool,
    sack_whole_segments: bool,
    /// Ends of records: no segment crosses one. Those below SND.UNA may still be here. Not there before the first.
    #[allow(clippy::box_collection)] // rarely there: 8 bytes of the connection, not 32
    record_ends: Option<Box<VecDeque<u64>>>,
    /// One of `restart_pacing` and `max_pacing_rate` is there.
    own_rate: bool,
    /// cc.sets_rate().
    rate_based: bool,
    /// cc.hears_of_sending().
    tells_of_sending: bool,

    // What an ACK of new data touches, and the data that it lets go.
    duplicate_acks: u32,
    /// Expirations since the last progress.
    timeouts_in_a_row: u32,
    /// cc.window(), or less or more while it is reduced in proportion; it, `in_slow_start` and the pacing rate are kept to save
    /// calls.
    cwnd: u64,
    /// Payload of a segment without SACK blocks (SMSS).
    pub mss: u64,
    /// The largest window that the peer has offered.
    max_window: u64,
    /// Bytes sent beyond cwnd on duplicate ACKs, which FlightSize leaves out (RFC 5681 section 3.2).
    limited_transmitted: u64,
    last_progress: Instant,
    last_sent: Instant,
    /// Data below this offset was in flight when the window was full.
    cwnd_limited_below: u64,
    /// The same for the receiver's window, where cwnd was not the limit.
    receiver_limited_below: u64,
    /// How much of the window was in use, where slow start depends on it.
    usage: Option<Usage>,
    round: u64,
    round_end: u64,
    /// Where one segment at a time is timed: its first byte.
    timed: u64,
    delivered: u64,
    /// Bytes that were reported as marked.
    marked: u64,
    /// SACKed bytes not yet reported to cc.
    sacked_unreported: u64,
    /// End of the highest retransmission ever: no round trip is measured below (Karn's rule).
    retransmitted_below: u64,
    measured: Option<Box<Measured>>,
    /// What the peer has reported, where ECN feedback is accurate.
    marks: Option<Box<Marks>>,
    /// cc.ecn().
    ecn_use: EcnUse,
    /// ACK congestion control, where it is agreed on.
    ack_congestion: Option<Box<AckCongestion>>,
    cc: Box<dyn CongestionControl>,
    log: SendLog,
    pub rtt: RttEstimator,
    /// The send buffer: more than this is not in flight.
    send_buffer: u64,
    /// Where it grows, or is filled by thirds: what it holds.
    buffered: Option<Box<SendBuffer>>,
    pub pacer: Pacer,
    board: Scoreboard,
    /// End of the last small segment sent, where Nagle's algorithm is Minshall's.
    small_below: u64,
    restart_window: Option<InitialWindow>,
    /// The window is halved for each RTO of idleness, down to the restart window.
    halve_after_idle: bool,
    /// Share of the window that is paced after an idle RTO.
    pace_after_idle: Option<f64>,
    /// Pacing after idleness: at which rate, and until what is above this is acknowledged.
    restart_pacing: Option<(Rate, u64)>,
    max_pacing_rate: Option<Rate>,

    // What losses and timers touch.
    /// Bytes that have left the network, where ACKs are counted: without SACK the duplicate ones (RFC 6582's window inflation).
    inflation: i64,
    /// End of the data in flight when recovery began (RecoveryPoint; RFC 6582's `recover`).
    recovery_point: u64,
    /// End of the data in flight at the last window reduction: no other before it is acknowledged.
    reduction_point: u64,
    /// When the window was last reduced.
    reduced_at: Instant,
    /// ECN echoes below this are answers to marks that have been acted upon: end of the segment that carried CWR.
    ecn_point: u64,
    /// RescueRxt of RFC 6675: rule 4 of NextSeg() waits until more than this is acknowledged.
    rescue_rxt: u64,
    /// RFC 6582: the first partial ACK of this recovery has come.
    partial_ack_seen: bool,
    clear_sack_on_timeout: bool,
    impatient: bool,
    restart_timer_on_fast_retransmit: bool,
    head_restarts_timer: bool,
    rate_reduction: Option<ReductionBound>,
    rate_reduction_on_ecn: bool,
    sack_of_old_acks: bool,
    undone_recoveries_count: bool,
    empty_probes: bool,
    /// The rate reduction under way.
    prr: Option<ProportionalRateReduction>,
    /// The longest that the peer may hold back an ACK.
    max_ack_delay: Option<Duration>,
    persist_interval: Duration,
    duplicate_threshold: u32,
    max_retransmissions: u32,
    user_timeout: Option<Duration>,
    max_rto: Duration,
    /// cc.holds_tokens().
    holds_tokens: bool,
}

impl Sender {
    /// Before the handshake: offset 0 is the SYN, data begins at offset 1.
    pub fn new(config: &Config, cc: Box<dyn CongestionControl>) -> Self {
        let mss = u64::from(config.mss.max(1));
        let rate_based = cc.sets_rate();
        let samples = cc.needs_delivery_rate();
        let holds_tokens = cc.holds_tokens();
        let recovery = LossRecovery::of(config.recovery);
        let rack = recovery.goes_by_time().then(|| Rack::new(config.tail_loss_probe, config.timestamp_tick));
        let every_ack = config.rtt_sampling == RttSampling::EveryAck;
        let ways = config.spurious_detection;
        let undo = ways.any().then(|| Undo::new(ways, config.timestamp_tick));
        Sender {
            una: 0,
            max: 0,
            data_end: 1,
            fin_queued: false,
            mss,
            cwnd: cc.window(),
            in_slow_start: cc.in_slow_start(),
            window_edge: 0,
            max_window: 0,
            phase: Phase::Open,
            recovery,
            duplicate_acks: 0,
            inflation: 0,
            recovery_point: 0,
            reduction_point: 0,
            ecn_point: 0,
            reduced_at: Instant::ZERO,
            retransmit_now: false,
            rescue_rxt: u64::MAX,
            partial_ack_seen: false,
            limited_transmitted: 0,
            board: Scoreboard::new(0),
            rtt: RttEstimator::new(config),
            log: SendLog::default(),
            retransmitted_below: 0,
            rto_deadline: Instant::FAR_FUTURE,
            recovery_deadline: Instant::FAR_FUTURE,
            timeouts_in_a_row: 0,
            last_progress: Instant::ZERO,
            last_sent: Instant::ZERO,
            pacer: Pacer::new(config.pacing_burst, config.unpaced_segments),
            pacing_deadline: Instant::FAR_FUTURE,
            burst_left: u32::MAX,
            cwnd_limited_below: 0,
            receiver_limited_below: 0,
            usage: config.slow_start_to_twice_flight.then(Usage::default),
            round: 0,
            round_end: 0,
            timed: 1,
            delivered: 0,
            marked: 0,
            marks: None,
            ecn_use: cc.ecn(),
            sacked_unreported: 0,
            rate_based,
            tells_of_sending: cc.hears_of_sending(),
            measured: (samples || rack.is_some() || undo.is_some())
                .then(|| Box::new(Measured::new(samples, rack, undo))),
            max_ack_delay: config.peer_ack_delay.or(config.delayed_ack),
            ack_congestion: None,
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
            minshall: config.minshall,
            small_below: 0,
            corked: false,
            more_follows: false,
            unpushed: false,
            send_buffer: config.send_buffer.map_or(u64::MAX, |bytes| bytes.max(mss)),
            buffered: config.send_buffer_windows.map(|windows| {
                let largest = config.send_buffer.map_or(u64::MAX, |bytes| bytes.max(mss));
                Box::new(SendBuffer::new(windows, largest))
            }),
            cwr_due: false,
            pace_after_idle: config.pace_after_idle,
            restart_pacing: None,
            own_rate: config.max_pacing_rate.is_some(),
            max_pacing_rate: config.max_pacing_rate,
            restart_window: config.restart_after_idle.then_some(config.initial_window),
            halve_after_idle: config.halve_after_idle,
            clear_sack_on_timeout: config.clear_sack_on_timeout,
            rate_reduction: config.rate_reduction.filter(|_| !rate_based),
            prr: None,
            reducing: false,
            rate_reduction_on_ecn: config.rate_reduction_on_ecn,
            sack_of_old_acks: config.sack_of_old_acks,
            undone_recoveries_count: config.undone_recoveries_count,
            credit_sacked: config.credit_sacked,
            sack_whole_segments: config.sack_whole_segments,
            record_ends: None,
            empty_probes: config.empty_probes,
            every_ack_sampled: every_ack && !(config.variation_by_round || config.rto_in_ticks),
            every_ack_otherwise: every_ack && (config.variation_by_round || config.rto_in_ticks),
            impatient: !config.slow_but_steady,
            restart_timer_on_fast_retransmit: config.restart_timer_on_fast_retransmit,
            head_restarts_timer: config.head_restarts_timer && recovery.goes_by_time(),
            max_rto: config.max_rto.max(config.min_rto),
            holds_tokens,
        }
    }

    /// The handshake is over: what the two ends agreed on.
    pub fn begin(&mut self, now: Instant, mss: u32, sack: bool, window: u64) {
        self.una = 1;
        self.max = self.max.max(1);
        self.agree_on_mss(mss);
        if !sack {
            self.recovery = self.recovery.without_sack();
            if let Some(measured) = &mut self.measured {
                measured.rack = None;
            }
        }
        if let Some(buffered) = &mut self.buffered {
            buffered.begin(self.mss);
            buffered.write(1, self.data_end);
        }
        self.window_edge = 1 + window;
        self.max_window = window;
        self.board = Scoreboard::new(1);
        if self.samples_rate() {
            self.board.keep_journal();
        }
        self.round_end = 1;
        self.last_progress = now;
        self.last_sent = now;
        self.refresh();
    }
    /// Accurate ECN feedback is agreed on (RFC 9768).
    pub fn begin_accurate_ecn(&mut self, marks: Marks) {
        self.marks = Some(Box::new(marks));
    }
    /// What the peer has reported since.
    pub fn ecn_delivered(&self) -> Option<EcnDelivered> {
        self.marks.as_ref().map(|marks| marks.totals())
    }
    /// ACK congestion control is agreed on (RFC 5690).
    pub fn control_acks(&mut self) {
        self.ack_congestion = Some(Box::new(AckCongestion::new()));
    }
    /// The ACK Ratio that the peer uses, if ACK congestion control is agreed on.
    #[inline]
    pub fn ack_ratio(&self) -> Option<u32> {
        self.ack_congestion.as_ref().map(|acks| acks.ratio())
    }
    /// Bytes that the next segment leaves free for an ACK Ratio option.
    #[inline]
    pub fn ack_ratio_len(&self) -> u64 {
        let wanted = self.ack_congestion.as_ref().is_some_and(|acks| {
            let may_repeat = self.phase != Phase::Open || self.recovery.goes_by_time();
            acks.due().is_some() || (may_repeat && acks.is_under_way())
        });
        if wanted { u64::from(Options::ACK_RATIO_LEN) } else { 0 }
    }
    /// The ACK Ratio option that goes with these data.
    #[inline]
    pub fn take_ack_ratio(&mut self, chunk: &Chunk) -> Option<NonZeroU8> {
        let acks = self.ack_congestion.as_mut().filter(|_| chunk.payload > 0)?;
        if chunk.retransmission {
            return acks.repeated(chunk.start, chunk.start + chunk.payload);
        }
        let option = acks.due();
        if option.is_some() {
            acks.sent(chunk.start);
        }
        option
    }

    /// The MSS of this connection, which congestion control counts in.
    pub fn agree_on_mss(&mut self, mss: u32) {
        self.mss = u64::from(mss.max(1));
        if let Some(measured) = self.measured.as_mut().filter(|_| self.sack_whole_segments) {
            measured.transmissions.keep_segments(self.mss);
        }
        self.cc.on_mss(self.mss);
    }
    /// Passes the probes to congestion control. False: it cannot begin.
    pub fn probed(&mut self, probed: &Probed<'_>) -> bool {
        self.cc.on_probed(probed)
    }
    /// Passes the round trip of the handshake to congestion control.
    pub fn after_handshake(&mut self, now: Instant, rtt: Option<Duration>) {
        self.cc.on_established(now, rtt);
        self.refresh();
    }
    /// RFC 5681 section 3.1: after a lost SYN the initial window is one segment.
    pub fn after_syn_loss(&mut self) {
        self.cc.on_idle(self.mss);
        self.refresh();
    }

    /// RFC 5961 section 5.2: SND.UNA - `behind` is not below SND.UNA - MAX.SND.WND.
    pub fn may_have_been_acked(&self, behind: u64) -> bool {
        behind <= self.max_window
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

    // What the application does.

    pub fn write(&mut self, bytes: u64) {
        if !self.fin_queued {
            self.data_end = self.data_end.saturating_add(bytes).min(UNLIMITED);
            if let Some(buffered) = self.buffered.as_mut().filter(|_| self.una > 0) {
                buffered.write(self.una, self.data_end);
            }
        }
    }
    /// What has been written last ends a record.
    pub fn end_record(&mut self) {
        let una = self.una;
        let ends = self.record_ends.get_or_insert_default();
        while ends.front().is_some_and(|end| *end <= una) {
            ends.pop_front();
        }
        if self.data_end > self.max.max(1) && self.data_end != UNLIMITED {
            ends.push_back(self.data_end);
        }
    }
    /// `end`, or the end of the record in which `start` is.
    #[inline]
    pub(super) fn within_record(&self, start: u64, end: u64) -> u64 {
        if self.record_ends.is_none() {
            end
        } else {
            self.first_record_end(start).map_or(end, |first| first.min(end))
        }
    }
    #[cold]
    fn first_record_end(&self, start: u64) -> Option<u64> {
        let ends = self.record_ends.as_ref()?;
        let next = ends.partition_point(|end| *end <= start);
        ends.get(next).copied().filter(|end| *end < self.data_end)
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
    /// The application sends small segments at once, or not.
    pub fn set_nagle(&mut self, nagle: bool) {
        self.nagle = nagle;
        // What waits leaves, even if it is corked.
        self.send_small |= !nagle && self.unsent() > 0;
    }
    pub fn set_corked(&mut self, corked: bool) {
        self.corked = corked;
    }
    /// More is to follow what was written last.
    pub fn expect_more(&mut self, more: bool) {
        self.more_follows = more;
        self.unpushed = more;
    }
    pub fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.user_timeout = limit;
    }
    pub fn congestion_state(&self) -> CongestionState {
        match self.phase {
            Phase::FastRecovery => CongestionState::Recovery,
            Phase::AfterTimeout => CongestionState::Loss,
            Phase::Open if self.una < self.reduction_point => CongestionState::Reduced,
            Phase::Open if self.duplicate_acks > 0 || !self.board.is_empty() => CongestionState::Disorder,
            Phase::Open => CongestionState::Open,
        }
    }
    pub fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }
    pub fn sacked_bytes(&self) -> u64 {
        self.board.sacked()
    }
    pub fn lost_bytes(&self) -> u64 {
        self.max - self.una - self.board.sacked() - self.board.pipe_of_rack(self.max) + self.resent_bytes()
    }
    pub fn resent_bytes(&self) -> u64 {
        let Some(measured) = &self.measured else { return 0 };
        let again = measured.transmissions.within(self.una, self.max).filter(|(_, _, run)| run.retransmitted);
        again.map(|(start, end, _)| self.board.gaps(start, end).map(|gap| gap.1 - gap.0).sum::<u64>()).sum()
    }
    pub fn reordering_extent(&self) -> u64 {
        self.measured
            .as_ref()
            .and_then(|measured| measured.rack.as_ref())
            .map_or(0, |rack| rack.reordering_extent)
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

    /// The first data that are lost and have not been sent again.
    #[inline]
    fn next_lost(&self) -> Option<(u64, u64)> {
        self.recovery.next_lost(&self.board)
    }

    // How much is in flight.

    /// The most that can be in flight, whatever else is.
    pub(super) fn window_in_use(&self) -> u64 {
        let buffer = self.buffered.as_ref().map_or(self.send_buffer, |buffered| buffered.size);
        self.cwnd.min(self.peer_window()).min(buffer)
    }
    /// No data beyond this are in the send buffer.
    #[inline]
    pub(super) fn buffer_edge(&self) -> u64 {
        match &self.buffered {
            Some(buffered) => buffered.end,
            None => self.una.saturating_add(self.send_buffer),
        }
    }
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
            if self.phase == Phase::FastRecovery && self.recovery.counts_acks() {
                self.flight_size().saturating_add_signed(-self.inflation)
            } else if self.phase == Phase::Open && !self.limited_transmit {
                self.flight_size()
            } else {
                self.recovery.pipe(&self.board, self.max)
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
                Phase::AfterTimeout => self.recovery.pipe(&self.board, self.max),
            }
        }
    }
}
