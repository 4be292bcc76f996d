//! BBR, version 3: as version 1 a model of bandwidth and round trip, which losses bound at two time scales: how much may be in
//! flight in the long term (inflight_longterm), and the rate and volume of the present (bw_shortterm, inflight_shortterm).
//! draft-ietf-ccwg-bbr-06, whose sections and pseudocode are named below. What it leaves open is decided as follows.
//!
//! (a) Random draws are the connection's own (SplitMix64). (b) The connection is limited by cwnd if a segment that left in this round or the
//! one before filled the window. (c) The losses that end Startup are evaluated at the end of a round trip of recovery, with as many
//! separate ranges lost in it as the draft requires. (d) The table of section 5.6.1 bounds Drain by inflight_longterm, the
//! pseudocode does not: as the pseudocode. (e) An ECN echo counts as a loss in its round.

mod control;
mod loss;
mod model;
mod params;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

pub use params::Bbr3Params;

use crate::draws::Draws;
use crate::max_filter::MaxFilter;
use crate::{
    Ack, Bytes, Congestion, CongestionControl, CongestionKind, InitialWindow, Inspection, Lost, Sent, Setup,
};
use longhaul_units::{Duration, Instant, Rate};

/// BBR.MaxBwFilterLen, in cycles of ProbeBW.
const MAX_BW_CYCLES: u64 = 2;
/// The round trip that is assumed before one is known.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// BBR.state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// BBR.ack_phase: what the ACKs show about a bandwidth probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// RS: the rate sample of the ACK, or of the lost packet, under way.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    delivery_rate: f64,
    delivered: f64,
    prior_delivered: Bytes,
    app_limited: bool,
    lost: f64,
    tx_in_flight: f64,
    newly_acked: f64,
    rtt: Option<Duration>,
}

/// What is restored if a loss recovery proves to be for nothing (section 5.5.11).
#[derive(Clone, Copy, Debug)]
struct UndoState {
    /// A loss ended Startup or ProbeBW_UP.
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// BBR version 3. Rates in bytes per second, volumes in bytes; infinite where there is no bound.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Bbr3Params,
    mss: f64,
    given_window: InitialWindow,
    /// The same in bytes.
    initial_window: f64,
    state: State,
    now: Instant,
    started: bool,
    /// C.delivered and C.inflight.
    delivered: Bytes,
    in_flight: f64,
    rs: Sample,
    /// (a).
    draws: Draws,

    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    in_recovery: bool,
    idle_restart: bool,
    /// C.is_cwnd_limited: the window was full in this round or the one before, (b).
    cwnd_full: [bool; 2],

    round_count: u64,
    next_round_delivered: Bytes,
    round_start: bool,
    drain_start_round: u64,

    max_bw_filter: MaxFilter,
    cycle_count: u64,
    bw: f64,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: Bytes,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Discontiguous ranges lost in this round, and where the last ended.
    loss_ranges: u32,
    last_lost_end: u64,
    undo: UndoState,

    extra_acked_filter: MaxFilter,
    extra_acked_since: Instant,
    extra_acked_delivered: f64,

    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,

    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Duration,
    cycle_stamp: Instant,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Instant,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Instant>,
    probe_rtt_round_done: bool,
    /// Samples of data that left between these counts of delivered bytes are limited by ProbeRTT.
    held_back: (Bytes, Bytes),
}

impl Bbr3 {
    /// OnInit(), section 5.2.1.
    fn new(params: Bbr3Params, setup: &Setup) -> Self {
        let nothing =
            UndoState { state: None, bw_shortterm: 0.0, inflight_shortterm: 0.0, inflight_longterm: 0.0 };
        let mut bbr = Bbr3 {
            mss: 1.0,
            given_window: setup.initial_window,
            initial_window: 1.0,
            state: State::Startup,
            now: Instant::ZERO,
            started: false,
            delivered: 0,
            in_flight: 0.0,
            rs: Sample::default(),
            draws: Draws::new(setup.seed),
            cwnd: 1.0,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            in_recovery: false,
            idle_restart: false,
            cwnd_full: [false; 2],
            round_count: 0,
            next_round_delivered: 0,
            round_start: false,
            drain_start_round: 0,
            max_bw_filter: MaxFilter::new(MAX_BW_CYCLES),
            cycle_count: 0,
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            loss_ranges: 0,
            last_lost_end: Bytes::MAX,
            undo: nothing,
            extra_acked_filter: MaxFilter::new(1),
            extra_acked_since: Instant::ZERO,
            extra_acked_delivered: 0.0,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: Instant::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Instant::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            held_back: (Bytes::MAX, 0),
            params,
        };
        bbr.on_mss(setup.mss.max(1));
        bbr
    }

    /// The clock is first known here.
    fn start(&mut self, now: Instant) {
        self.now = now;
        if !self.started {
            self.started = true;
            self.min_rtt_stamp = now;
            self.probe_rtt_min_stamp = now;
            self.extra_acked_since = now;
        }
    }

    /// InitPacingRate(), section 5.6.2.
    fn init_pacing_rate(&mut self, rtt: Duration) {
        self.pacing_rate = self.params.startup_pacing_gain * self.initial_window / rtt.as_secs_f64();
    }

    fn least_window(&self) -> f64 {
        f64::from(self.params.min_window) * self.mss
    }
    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_full[0] || self.cwnd_full[1]
    }
    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }
}

impl CongestionControl for Bbr3 {
    /// `state`: 0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 ProbeBW_CRUISE, 4 ProbeBW_REFILL, 5 ProbeBW_UP, 6 ProbeRTT.
    fn inspect(&self, inspection: &mut Inspection) {
        let state = match self.state {
            State::Startup => 0.0,
            State::Drain => 1.0,
            State::Down => 2.0,
            State::Cruise => 3.0,
            State::Refill => 4.0,
            State::Up => 5.0,
            State::ProbeRtt => 6.0,
        };
        inspection.number("state", state);
        inspection.byte_rate("max_bw", self.max_bw_filter.max());
        inspection.byte_rate("bw", self.bw);
        inspection.byte_rate("bw_shortterm", self.bw_shortterm);
        inspection.bytes("inflight_shortterm", self.inflight_shortterm);
        inspection.bytes("inflight_longterm", self.inflight_longterm);
        inspection.time("min_rtt", self.min_rtt);
        inspection.byte_rate("pacing_rate", self.pacing_rate);
    }
    /// Only the initial window follows it at once: the model is in bytes.
    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.max(1) as f64;
        if self.delivered == 0 {
            self.initial_window = self.given_window.bytes(mss) as f64;
            self.cwnd = self.initial_window;
            self.init_pacing_rate(NOMINAL_RTT);
        }
        self.cwnd = self.cwnd.max(self.mss);
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.start(now);
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.min_rtt = Some(rtt);
            self.probe_rtt_min_delay = Some(rtt);
            self.init_pacing_rate(rtt);
        }
    }

    /// UpdateOnACK(), section 5.2.3.
    fn on_ack(&mut self, ack: &Ack) {
        self.start(ack.now);
        self.delivered = ack.delivered;
        self.in_flight = ack.in_flight as f64;
        let Some(sample) = ack.delivery else { return };
        let (from, to) = self.held_back;
        self.rs = Sample {
            delivery_rate: sample.rate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0),
            delivered: sample.delivered as f64,
            prior_delivered: sample.prior_delivered,
            app_limited: sample.app_limited || (from..=to).contains(&sample.prior_delivered),
            lost: sample.lost as f64,
            tx_in_flight: sample.in_flight_when_sent as f64,
            newly_acked: ack.acked as f64,
            rtt: sample.rtt.or(ack.rtt),
        };
        self.update_latest_delivery_signals();
        self.update_congestion_signals();
        self.update_ack_aggregation();
        self.check_full_bw_reached();
        self.check_startup_done();
        self.check_drain_done();
        self.update_probe_bw_cycle_phase();
        self.update_min_rtt();
        self.check_probe_rtt();
        self.advance_latest_delivery_signals();
        self.bw = self.max_bw_filter.max().min(self.bw_shortterm);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd();
    }

    /// HandleLostPacket(), section 5.5.10.2.
    fn on_lost(&mut self, lost: &Lost) {
        self.start(lost.now);
        self.delivered = lost.delivered;
        self.note_loss();
        self.loss_ranges += u32::from(lost.start != self.last_lost_end);
        self.last_lost_end = lost.start + lost.bytes;
        if !self.is_bw_probe_sample {
            return;
        }
        self.rs.tx_in_flight = lost.in_flight_when_sent as f64;
        self.rs.lost = lost.lost as f64;
        self.rs.app_limited = lost.app_limited;
        if self.is_inflight_too_high() {
            self.rs.tx_in_flight = self.inflight_at_loss(lost.bytes as f64);
            self.handle_inflight_too_high();
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.start(event.now);
        match event.kind {
            // OnEnterFastRecovery().
            CongestionKind::Loss => {
                self.save_state_upon_loss();
                self.in_recovery = true;
            }
            // OnEnterRTO(): all that was in flight is taken for lost, so one segment.
            CongestionKind::Timeout => {
                self.save_state_upon_loss();
                self.in_recovery = true;
                self.cwnd = self.mss;
            }
            // (e) Section 3.6 requires a response and does not define it: as a loss in this round.
            CongestionKind::EcnEcho => self.note_loss(),
            CongestionKind::Spurious => self.handle_spurious_loss(),
        }
    }

    fn on_recovery_end(&mut self) {
        if self.in_recovery {
            self.in_recovery = false;
            self.restore_cwnd();
        }
    }

    /// HandleRestartFromIdle(), section 5.4.1: nothing but this segment is in flight.
    fn on_sent(&mut self, sent: &Sent) {
        self.start(sent.now);
        self.cwnd_full[0] |= sent.in_flight as f64 + self.mss > self.cwnd;
        if sent.in_flight <= sent.bytes && !sent.retransmission && self.delivered > 0 {
            self.idle_restart = true;
            self.extra_acked_since = sent.now;
            if self.in_probe_bw() {
                self.set_pacing_rate(1.0);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done();
            }
        }
    }

    /// The model outlives a pause; only a lost SYN makes the first window smaller (RFC 5681 section 3.1).
    fn on_idle(&mut self, restart_window: Bytes) {
        if self.delivered == 0 {
            self.initial_window = self.initial_window.min(restart_window as f64).max(self.mss);
            self.cwnd = self.cwnd.min(self.initial_window);
        }
    }

    fn window(&self) -> Bytes {
        self.cwnd as Bytes
    }
    /// There is none.
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn in_slow_start(&self) -> bool {
        self.state == State::Startup
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps_f64((8.0 * self.pacing_rate).max(1.0)))
    }
    fn sets_rate(&self) -> bool {
        true
    }
    fn needs_delivery_rate(&self) -> bool {
        true
    }
}
