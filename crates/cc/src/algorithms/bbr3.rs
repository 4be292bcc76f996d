//! BBR, version 3: as version 1 a model of bandwidth and round trip, which losses bound at two time scales: how much may be in
//! flight in the long term (inflight_longterm), and the rate and volume of the present (bw_shortterm, inflight_shortterm).
//! draft-ietf-ccwg-bbr-06, whose sections and pseudocode are named below. What it leaves open is decided as follows.
//!
//! (a) Random draws are the connection's own (SplitMix64). (b) The connection is limited by cwnd if a segment that left in this round or the
//! one before filled the window. (c) The losses that end Startup are evaluated at the end of a round trip of recovery, with as many
//! separate ranges lost in it as the draft requires. (d) The table of section 5.6.1 bounds Drain by inflight_longterm, the
//! pseudocode does not: as the pseudocode. (e) An ECN echo counts as a loss in its round.

use crate::draws::Draws;
use crate::max_filter::MaxFilter;
use crate::params::{AlgorithmSpec, Compose, Spec};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Bytes, Congestion, CongestionControl, CongestionKind, InitialWindow, Inspection, Lost, Sent, Setup,
};
use longhaul_units::{Duration, Instant, Rate};

/// Parameters of [`Bbr3`]: the constants of section 2 of the draft.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bbr3Params {
    /// BBR.StartupPacingGain: 4 ln 2 doubles the rate each round trip.
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 10, "x-unit" = "times the bandwidth"))]
    pub startup_pacing_gain: f64,
    /// BBR.DrainPacingGain.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "times the bandwidth"))]
    pub drain_pacing_gain: f64,
    /// BBR.DefaultCwndGain.
    #[schemars(extend("minimum" = 1, "maximum" = 10, "x-unit" = "bandwidth-delay products"))]
    pub cwnd_gain: f64,
    /// BBR.LossThresh: more loss in a round trip of probing means that too much is in flight.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5, "x-unit" = "share of the data in flight"))]
    pub loss_threshold: f64,
    /// BBR.Beta: the most that a round trip with loss takes off leaves this share.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share"))]
    pub beta: f64,
    /// BBR.Headroom: share of inflight_longterm that is left to others while cruising.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of inflight_longterm"))]
    pub headroom: f64,
    /// BBR.MinPipeCwnd.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "segments"))]
    pub min_window: u32,
    /// BBR.PacingMarginPercent: pace so much below the estimate.
    #[schemars(extend("minimum" = 0, "maximum" = 0.5, "x-unit" = "share of the rate"))]
    pub pacing_margin: f64,
    /// BBR.MinRTTFilterLen.
    pub min_rtt_window: Duration,
    /// BBR.ProbeRTTInterval: time without a new smallest round trip after which ProbeRTT begins.
    pub probe_rtt_interval: Duration,
    /// BBR.ProbeRTTDuration.
    pub probe_rtt_duration: Duration,
    /// BBR.ProbeRTTCwndGain.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "bandwidth-delay products"))]
    pub probe_rtt_cwnd_gain: f64,
    /// Least time from one bandwidth probe to the next; up to one second more is drawn (section 5.3.3.6).
    pub probe_wait: Duration,
    /// A flow probes as often as Reno would grow by one window, but waits no more round trips than this.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000, "x-unit" = "round trips"))]
    pub probe_rounds: u32,
    /// BBR.ExtraAckedFilterLen.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "round trips"))]
    pub extra_acked_window: u32,
    /// BBRStartupFullLossCnt: ranges lost in one round trip of recovery that can end Startup.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "ranges"))]
    pub startup_loss_ranges: u32,
}

impl Default for Bbr3Params {
    fn default() -> Self {
        Bbr3Params {
            startup_pacing_gain: 2.77,
            drain_pacing_gain: 0.5,
            cwnd_gain: 2.0,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            min_window: 4,
            pacing_margin: 0.01,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt_duration: Duration::from_millis(200),
            probe_rtt_cwnd_gain: 0.5,
            probe_wait: Duration::from_secs(2),
            probe_rounds: 63,
            extra_acked_window: 10,
            startup_loss_ranges: 6,
        }
    }
}

impl Spec for Bbr3Params {
    const NAME: &'static str = "bbr3";
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr-06";
    const SUMMARY: &'static str = "BBR version 3: losses bound what is in flight; slow start does not apply";
}

impl AlgorithmSpec for Bbr3Params {
    fn policy(&self, _: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        Box::new(Bbr3::new(self.clone(), setup))
    }
}

/// Gains in ProbeBW (section 5.6.1, the table).
const DOWN_PACING_GAIN: f64 = 0.9;
const UP_PACING_GAIN: f64 = 1.25;
const UP_CWND_GAIN: f64 = 2.25;
/// Section 5.3.1.2: less growth than this in so many rounds means that the pipe is full.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// Rounds after which Drain ends in any case (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// BBR.MaxBwFilterLen, in cycles of ProbeBW.
const MAX_BW_CYCLES: u64 = 2;
/// The most that bw_probe_up_rounds counts to.
const MOST_UP_ROUNDS: u32 = 30;
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

    /// BBR.pacing_gain (section 5.6.1).
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_pacing_gain,
            State::Drain => self.params.drain_pacing_gain,
            State::Down => DOWN_PACING_GAIN,
            State::Up => UP_PACING_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }
    /// BBR.cwnd_gain (section 5.6.1).
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            _ => self.params.cwnd_gain,
        }
    }

    // Volumes (section 5.6.4.2).

    /// BDPMultiple(gain) at a rate.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |min_rtt| gain * bw * min_rtt.as_secs_f64())
    }
    /// C.send_quantum (section 5.6.3). Pacing here is by segments; the quantum only makes room in the window.
    fn send_quantum(&self) -> f64 {
        (self.pacing_rate * 1e-3).min(65_536.0).max(2.0 * self.mss)
    }
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let cap = inflight_cap.max(3.0 * self.send_quantum()).max(self.least_window());
        if self.state == State::Up { cap + 2.0 * self.mss } else { cap }
    }
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }
    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.params.headroom * self.inflight_longterm).max(self.mss);
        (self.inflight_longterm - headroom).max(self.least_window())
    }
    /// TargetInflight(): the estimated bandwidth-delay product, unless congestion has cut the window.
    fn target_inflight(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0).min(self.cwnd)
    }

    // The model (section 5.5).

    fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }
    /// UpdateRound(), section 5.5.1.
    fn update_round(&mut self) {
        self.round_start = self.rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.cwnd_full = [false, self.cwnd_full[0]];
        }
    }
    /// UpdateMaxBw(), section 5.5.5.
    fn update_max_bw(&mut self) {
        self.update_round();
        let rate = self.rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw_filter.max() || !self.rs.app_limited) {
            self.max_bw_filter.update(self.cycle_count, rate);
        }
    }

    /// UpdateLatestDeliverySignals(), section 5.5.10.3.
    fn update_latest_delivery_signals(&mut self) {
        self.bw_latest = self.bw_latest.max(self.rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered);
        self.loss_round_start = self.rs.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
    }
    fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            self.bw_latest = self.rs.delivery_rate;
            self.inflight_latest = self.rs.delivered;
        }
    }
    fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }
    /// UpdateCongestionSignals() and AdaptLowerBoundsFromCongestion(): once a round with loss.
    fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.is_probing_bw() {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw_filter.max();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = self.cwnd;
            }
            let beta = self.params.beta;
            self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(beta * self.inflight_shortterm);
        }
        self.is_loss_in_round = false;
    }
    fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// UpdateACKAggregation(), section 5.5.9.
    fn update_ack_aggregation(&mut self) {
        let expected = self.bw * self.now.since(self.extra_acked_since).as_secs_f64();
        let mut beyond = expected;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_since = self.now;
            beyond = 0.0;
        }
        self.extra_acked_delivered += self.rs.newly_acked;
        let extra = (self.extra_acked_delivered - beyond).min(self.cwnd);
        let rounds = if self.full_bw_reached { self.params.extra_acked_window } else { 1 };
        self.extra_acked_filter.update_within(self.round_count, extra, u64::from(rounds));
    }

    // Loss (section 5.5.10).

    /// NoteLoss().
    fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
    }
    fn is_inflight_too_high(&self) -> bool {
        self.rs.lost > self.rs.tx_in_flight * self.params.loss_threshold
    }
    fn handle_inflight_too_high(&mut self) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.app_limited {
            let least = self.target_inflight() * self.params.beta;
            self.inflight_longterm = self.rs.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down();
        }
    }
    /// InflightAtLoss(P): where within the lost data the losses exceeded the threshold.
    fn inflight_at_loss(&self, size: f64) -> f64 {
        let threshold = self.params.loss_threshold;
        let inflight_prev = self.rs.tx_in_flight - size;
        let lost_prev = self.rs.lost - size;
        inflight_prev + (threshold * inflight_prev - lost_prev) / (1.0 - threshold)
    }

    /// SaveStateUponLoss(), section 5.5.11.1.
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = UndoState {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }
    /// HandleSpuriousLossDetection(), section 5.5.11.2.
    fn handle_spurious_loss(&mut self) {
        self.in_recovery = false;
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }

    // Startup and Drain (sections 5.3.1 and 5.3.2).

    fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }
    /// CheckFullBWReached().
    fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.round_start || self.rs.app_limited {
            return;
        }
        if self.rs.delivery_rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }
    /// CheckStartupDone() with CheckStartupHighLoss(), (c).
    fn check_startup_done(&mut self) {
        if self.state == State::Startup && !self.full_bw_reached && self.loss_round_start {
            let many = self.loss_ranges >= self.params.startup_loss_ranges;
            if self.in_recovery && many && self.is_inflight_too_high() {
                self.undo.state = Some(State::Startup);
                self.full_bw_reached = true;
                self.full_bw_now = true;
                self.inflight_longterm = self.bdp_multiple(self.bw, 1.0).max(self.inflight_latest);
            }
        }
        if self.loss_round_start {
            self.loss_ranges = 0;
        }
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }
    /// CheckDrainDone().
    fn check_drain_done(&mut self) {
        let drained = self.in_flight <= self.inflight(self.bw, 1.0);
        if self.state == State::Drain && (drained || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down();
        }
    }

    // ProbeBW (section 5.3.3.7).

    fn start_down(&mut self) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = self.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }
    fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }
    fn start_up(&mut self) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = self.rs.delivery_rate;
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase().
    fn update_probe_bw_cycle_phase(&mut self) {
        if !self.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        if self.state == State::Up {
            if self.is_time_to_go_down() {
                self.prev_probe_too_high = false;
                self.start_down();
            }
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe_bw() => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up();
            }
            _ => {}
        }
    }
    fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom()
            && self.in_flight <= self.inflight(self.max_bw_filter.max(), 1.0)
    }
    fn is_time_to_go_down(&mut self) -> bool {
        if self.prev_probe_too_high && self.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
            return false;
        }
        self.full_bw_now
    }
    /// IsTimeToProbeBW(), section 5.3.3.6.3.
    fn is_time_to_probe_bw(&self) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(f64::from(self.params.probe_rounds));
        self.now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up as f64 >= reno_rounds
    }
    /// PickProbeWait(): two to three seconds, and nought or one round trip off the bound.
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.draws.bits() & 1;
        let share = (self.draws.bits() >> 11) as f64 / (1u64 << 53) as f64;
        self.bw_probe_wait = self.params.probe_wait + Duration::from_secs_f64(share);
    }
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = (1u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MOST_UP_ROUNDS);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(self.mss);
    }
    fn probe_inflight_longterm_upward(&mut self) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += self.rs.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta * self.mss;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }
    /// AdaptLongTermModel(): true if it decided a state.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.in_probe_bw() && !self.rs.app_limited {
                self.cycle_count += 1; // AdvanceMaxBwFilter()
            }
            if self.in_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(self.rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward();
            }
        }
        false
    }

    // ProbeRTT (section 5.3.4.3).

    /// UpdateMinRTT().
    fn update_min_rtt(&mut self) {
        self.probe_rtt_expired = self.now > self.probe_rtt_min_stamp + self.params.probe_rtt_interval;
        if let Some(rtt) = self.rs.rtt {
            if self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least) {
                self.probe_rtt_min_delay = Some(rtt);
                self.probe_rtt_min_stamp = self.now;
            }
        }
        let min_rtt_expired = self.now > self.min_rtt_stamp + self.params.min_rtt_window;
        if let Some(delay) = self.probe_rtt_min_delay {
            if min_rtt_expired || self.min_rtt.is_none_or(|least| delay < least) {
                self.min_rtt = Some(delay);
                self.min_rtt_stamp = self.probe_rtt_min_stamp;
            }
        }
    }
    /// CheckProbeRTT().
    fn check_probe_rtt(&mut self) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.held_back.0 = self.delivered;
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt();
        }
        if self.rs.delivered > 0.0 {
            self.idle_restart = false;
        }
    }
    /// HandleProbeRTT().
    fn handle_probe_rtt(&mut self) {
        // MarkConnectionAppLimited(): low rates do not count.
        self.held_back.1 = self.delivered + self.in_flight as Bytes;
        if self.probe_rtt_done_stamp.is_none() {
            if self.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(self.now + self.params.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done();
        }
    }
    /// CheckProbeRTTDone() and ExitProbeRTT().
    fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt_done_stamp.is_none_or(|done| self.now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = self.now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down();
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, self.params.probe_rtt_cwnd_gain).max(self.least_window())
    }

    // Control (section 5.6).

    /// SetPacingRateWithGain().
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - self.params.pacing_margin);
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }
    /// SetCwnd(), BoundCwndForProbeRTT(), BoundCwndForModel().
    fn set_cwnd(&mut self) {
        let cap = self.bdp_multiple(self.bw, self.cwnd_gain()) + self.extra_acked_filter.max();
        let max_inflight = self.quantization_budget(cap);
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + self.rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_window {
            self.cwnd += self.rs.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY, // (d)
        };
        self.cwnd = self.cwnd.min(longterm.min(self.inflight_shortterm).max(self.least_window()));
    }
    /// SaveCwnd() and RestoreCwnd(), section 5.6.4.4.
    fn save_cwnd(&mut self) {
        let held_down = self.in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if held_down { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;
    use crate::testing::{MSS, ack_at, event, setup};

    const RTT_MS: u64 = 100;

    /// BBR on a path of 100 ms and 10 Mbit/s, so 125 segments of 1000 bytes, one ACK for each round trip.
    struct Path {
        bbr: Bbr3,
        now_ms: u64,
        delivered: u64,
    }

    impl Path {
        fn new() -> Self {
            let mut bbr = Bbr3::new(Bbr3Params::default(), &setup(10 * MSS, None));
            bbr.on_established(at(0), Some(Duration::from_millis(RTT_MS)));
            Path { bbr, now_ms: 0, delivered: 0 }
        }
        /// An ACK of what the path has delivered of a window in a round trip; `change` may change it.
        fn round_with(&mut self, rate_mbit: f64, change: impl FnOnce(&mut Ack)) {
            let window = self.bbr.window();
            self.now_ms += RTT_MS;
            let sample = Delivery {
                rate: Some(Rate::from_bps_f64(rate_mbit * 1e6)),
                rtt: Some(Duration::from_millis(RTT_MS)),
                delivered: window,
                prior_delivered: self.delivered,
                app_limited: false,
                newly_lost: 0,
                lost: 0,
                in_flight_when_sent: window,
            };
            let acked = window.min((rate_mbit * 1e6 / 8.0 * RTT_MS as f64 / 1e3) as u64);
            self.delivered += acked;
            let mut ack = Ack {
                acked,
                delivery: Some(sample),
                delivered: self.delivered,
                in_flight: window,
                prior_in_flight: window,
                ..ack_at(self.now_ms, window)
            };
            change(&mut ack);
            self.bbr.on_ack(&ack);
        }
        fn round(&mut self, rate_mbit: f64) {
            self.round_with(rate_mbit, |_| ());
        }
        fn lose(&mut self, start: u64, in_flight: u64, lost: u64) {
            self.bbr.on_lost(&Lost {
                now: at(self.now_ms),
                start,
                bytes: MSS,
                lost,
                in_flight_when_sent: in_flight,
                app_limited: false,
                delivered: self.delivered,
            });
        }
        fn pacing_mbit(&self) -> f64 {
            self.bbr.pacing_rate().unwrap().as_bps() as f64 / 1e6
        }
        /// In Drain with 10 Mbit/s, a bandwidth-delay product of 125,000 bytes.
        fn drain() -> Self {
            let mut path = Path::new();
            for _ in 0..4 {
                path.round_with(10.0, |ack| ack.in_flight = 300_000);
            }
            assert_eq!(path.bbr.state, State::Drain);
            path
        }
        /// In ProbeBW_DOWN, since Drain took too long.
        fn down() -> Self {
            let mut path = Path::drain();
            for _ in 0..4 {
                path.round_with(10.0, |ack| ack.in_flight = 300_000);
            }
            assert_eq!(path.bbr.state, State::Down);
            path
        }
        fn cruise() -> Self {
            let mut path = Path::down();
            path.round_with(10.0, |ack| ack.in_flight = 100_000);
            assert_eq!(path.bbr.state, State::Cruise);
            path
        }
        /// In ProbeBW_UP, with samples of its own.
        fn up() -> Self {
            let mut path = Path::cruise();
            while path.bbr.state != State::Up {
                path.round(10.0);
            }
            path
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn each_state_has_its_gains() {
        // The table of section 5.6.1.
        let mut path = Path::down();
        for (state, pacing, cwnd) in [
            (State::Startup, 2.77, 2.0),
            (State::Drain, 0.5, 2.0),
            (State::Down, 0.9, 2.0),
            (State::Cruise, 1.0, 2.0),
            (State::Refill, 1.0, 2.0),
            (State::Up, 1.25, 2.25),
            (State::ProbeRtt, 1.0, 0.5),
        ] {
            path.bbr.state = state;
            assert_eq!((path.bbr.pacing_gain(), path.bbr.cwnd_gain()), (pacing, cwnd), "{state:?}");
        }
    }

    #[test]
    fn startup_ends_on_a_plateau_of_three_rounds() {
        // Section 5.3.1.2 and the first test case of the appendix.
        let mut path = Path::new();
        assert!((path.pacing_mbit() - 2.77 * 0.8).abs() < 1e-6); // ten segments in 100 ms
        for rate in [1.0, 2.0, 4.0, 8.0, 10.0] {
            path.round(rate);
            assert!((path.pacing_mbit() - 2.77 * 0.99 * rate).abs() < 1e-3, "{}", path.pacing_mbit());
        }
        for rate in [12.4, 12.4] {
            path.round(rate);
            assert_eq!((path.bbr.state, path.bbr.full_bw_reached), (State::Startup, false));
        }
        path.round_with(12.4, |ack| ack.in_flight = 400_000);
        assert_eq!((path.bbr.state, path.bbr.full_bw_now, path.bbr.full_bw_count), (State::Drain, true, 3));
        assert!((path.pacing_mbit() - 12.4 * 0.5 * 0.99).abs() < 1e-3);
    }

    #[test]
    fn startup_goes_on_while_the_application_limits_it() {
        // Section 5.3.1.2 and the appendix: indefinitely, if nothing is lost.
        let mut path = Path::new();
        for _ in 0..30 {
            path.round_with(1.0, |ack| ack.delivery.as_mut().unwrap().app_limited = true);
        }
        assert_eq!(path.bbr.state, State::Startup);
    }

    #[test]
    fn startup_ends_on_six_lost_ranges_above_the_threshold() {
        // Section 5.3.1.3: 2 %, 6 ranges, a round trip of fast recovery.
        for (ranges, lost, state) in
            [(6, 3000, State::Drain), (5, 3000, State::Startup), (6, 1000, State::Startup)]
        {
            let mut path = Path::new();
            for rate in [2.0, 4.0, 8.0] {
                path.round(rate);
            }
            path.bbr.on_congestion(&event(CongestionKind::Loss, 80_000));
            for range in 0..ranges {
                path.lose(10_000 * range, 80_000, lost);
            }
            path.round_with(16.0, |ack| {
                let sample = ack.delivery.as_mut().unwrap();
                (sample.lost, sample.in_flight_when_sent, sample.delivered) = (lost, 80_000, 70_000);
                ack.in_flight = 400_000;
            });
            assert_eq!(path.bbr.state, state, "{ranges} ranges, {lost} bytes");
            if state == State::Drain {
                // max(bdp, inflight_latest): 8 Mbit/s * 100 ms = 100,000.
                assert_eq!(path.bbr.inflight_longterm, 100_000.0);
            }
        }
    }

    #[test]
    fn drain_ends_when_the_queue_is_gone_or_after_three_rounds() {
        // Section 5.3.2; 10 Mbit/s * 100 ms = 125,000 bytes. With the queue the reason for DOWN is gone, too.
        let mut path = Path::drain();
        path.round_with(10.0, |ack| ack.in_flight = 126_000);
        assert_eq!(path.bbr.state, State::Drain);
        path.round_with(10.0, |ack| ack.in_flight = 125_000);
        assert_eq!(path.bbr.state, State::Cruise);

        let mut path = Path::drain();
        for _ in 0..3 {
            path.round_with(9.0, |ack| ack.in_flight = 300_000);
            assert_eq!(path.bbr.state, State::Drain);
        }
        path.round_with(9.0, |ack| ack.in_flight = 300_000);
        assert_eq!(path.bbr.state, State::Down);
    }

    /// Two flows whose ACKs come at the same times must not probe at the same times.
    #[test]
    fn draws_differ_between_connections_whose_acks_tie() {
        let waits = |seed: u64| {
            let mut path = Path::new();
            path.bbr.draws = Draws::new(seed);
            let mut waits = vec![];
            for _ in 0..8 {
                path.bbr.pick_probe_wait();
                let wait = path.bbr.bw_probe_wait;
                assert!((2_000..3_000).contains(&(wait.as_nanos() / 1_000_000)), "{wait:?}");
                waits.push(wait);
            }
            waits
        };
        assert_eq!(waits(7), waits(7));
        assert!(waits(7).iter().zip(&waits(8)).all(|(one, other)| one != other));
    }

    #[test]
    fn a_cycle_cruises_two_to_three_seconds_refills_a_round_and_probes() {
        // Sections 5.3.3.2 to 5.3.3.6; a bandwidth-delay product of 125 segments leaves the 63 round trips out.
        let mut path = Path::cruise();
        let begun = path.now_ms;
        while path.bbr.state == State::Cruise {
            path.round(10.0);
        }
        assert_eq!(path.bbr.state, State::Refill);
        let waited = path.now_ms - begun;
        assert!((1800..=3100).contains(&waited), "{waited}");
        path.round(10.0);
        assert_eq!(path.bbr.state, State::Up);
        assert!((path.pacing_mbit() - 12.5 * 0.99).abs() < 1e-3);
        // A plateau of three rounds ends it.
        for _ in 0..2 {
            path.round(10.0);
            assert_eq!(path.bbr.state, State::Up);
        }
        path.round(10.0);
        assert_eq!(path.bbr.state, State::Down);
        assert!((path.pacing_mbit() - 9.0 * 0.99).abs() < 1e-3);
    }

    #[test]
    fn a_small_window_probes_as_often_as_reno_grows_by_itself() {
        // Section 5.3.3.6.3: after as many round trips as segments are in flight, here 15 (1.2 Mbit/s).
        let mut path = Path::new();
        for _ in 0..8 {
            path.round_with(1.2, |ack| ack.in_flight = 10_000);
        }
        assert_eq!(path.bbr.state, State::Cruise);
        path.bbr.bw_probe_wait = Duration::from_secs(100);
        let since_down = path.bbr.rounds_since_probe_up;
        let mut rounds = 0;
        while path.bbr.state == State::Cruise {
            path.round_with(1.2, |ack| ack.in_flight = 10_000);
            rounds += 1;
        }
        assert_eq!(since_down + rounds, 15);
    }

    #[test]
    fn the_window_is_two_bandwidth_delay_products_and_what_is_aggregated() {
        // Section 5.6.4.2: 2 * 125,000, and extra_acked: an ACK of a whole window every 100 ms is aggregation of that much
        // beyond what 10 Mbit/s deliver.
        let mut path = Path::cruise();
        path.bbr.extra_acked_filter = MaxFilter::new(10);
        path.bbr.extra_acked_filter.update(path.bbr.round_count, 30_000.0);
        path.bbr.rs.newly_acked = 1e9;
        path.bbr.set_cwnd();
        assert_eq!(path.bbr.window(), 280_000);
    }

    #[test]
    fn a_round_with_loss_takes_off_three_tenths_at_most() {
        // Section 5.5.10.3: bw_shortterm = max(bw_latest, 0.7 bw_shortterm), while cruising.
        for (latest, expected) in [(5.0, 7.0), (8.0, 8.0)] {
            let mut path = Path::cruise();
            let cwnd = path.bbr.cwnd;
            path.bbr.rs.delivery_rate = latest * 1e6 / 8.0;
            path.round(latest); // the latest of the round before is gone
            path.lose(0, 100_000, 1000);
            path.round_with(latest, |ack| ack.delivery.as_mut().unwrap().delivered = 1000);
            assert!((path.bbr.bw_shortterm - expected * 1e6 / 8.0).abs() < 1.0, "{}", path.bbr.bw_shortterm);
            assert!(path.bbr.inflight_shortterm >= 0.7 * cwnd - 1.0);
            assert!((path.pacing_mbit() - expected * 0.99).abs() < 1e-3);
            // The next probe forgets it.
            while path.bbr.state != State::Refill {
                path.round(latest);
            }
            assert!(path.bbr.bw_shortterm.is_infinite() && path.bbr.inflight_shortterm.is_infinite());
        }
    }

    #[test]
    fn losses_while_probing_bound_what_is_in_flight() {
        // Section 5.5.10.2: 100 segments in flight, three lost: the third passes 2 %. Before it, 99 were in flight and two lost:
        // (0.02 * 99 - 2) / 0.98 = -0.0204, so 98.98 segments.
        let mut path = Path::up();
        path.lose(0, 100_000, 1000);
        path.lose(1000, 100_000, 2000);
        assert_eq!(path.bbr.state, State::Up); // 2 of 100 are not more than 2 %
        path.lose(2000, 100_000, 3000);
        assert_eq!(path.bbr.state, State::Down);
        let at_loss = 98_979.6;
        // Not below 0.7 of the bandwidth-delay product, 87,500.
        assert!((path.bbr.inflight_longterm - at_loss).abs() < 0.1, "{}", path.bbr.inflight_longterm);
        // Once for each probe.
        path.lose(3000, 100_000, 50_000);
        assert!((path.bbr.inflight_longterm - at_loss).abs() < 0.1);
        // Cruising leaves 15 % to others.
        let calm = |ack: &mut Ack| {
            ack.in_flight = 80_000;
            ack.delivery.as_mut().unwrap().in_flight_when_sent = 80_000;
        };
        path.round_with(10.0, calm);
        assert_eq!(path.bbr.state, State::Cruise);
        path.round_with(10.0, calm);
        assert!((path.bbr.cwnd - 0.85 * at_loss).abs() < 1.0, "{}", path.bbr.cwnd);
    }

    #[test]
    fn after_a_probe_that_went_too_high_the_next_is_cautious() {
        // Section 5.3.3.5.2: it ends at inflight_longterm; without more loss another follows at once.
        let mut path = Path::up();
        path.lose(0, 100_000, 3000);
        assert!(path.bbr.prev_probe_too_high);
        let in_flight = |bytes| {
            move |ack: &mut Ack| {
                ack.in_flight = bytes;
                ack.delivery.as_mut().unwrap().in_flight_when_sent = bytes;
            }
        };
        while path.bbr.state != State::Up {
            path.round_with(10.0, in_flight(60_000));
        }
        path.round_with(10.0, in_flight(99_000));
        assert_eq!((path.bbr.state, path.bbr.prev_probe_precautionary), (State::Down, true));
        path.round_with(10.0, in_flight(95_000));
        assert_eq!(path.bbr.state, State::Refill);
    }

    #[test]
    fn inflight_longterm_grows_by_1_2_4_segments_a_round() {
        // Section 5.3.3.5.1, while the window is full and bound by it; by hand with what is left over of each round: steps of
        // 100,000, 50,000, 25,250 and 12,875 bytes, of which 1, 2, 3 and 9 are full.
        let mut path = Path::up();
        path.bbr.inflight_longterm = 100_000.0;
        path.bbr.bw_probe_up_rounds = 0;
        path.bbr.cwnd = 100_000.0;
        path.bbr.raise_inflight_longterm_slope();
        let mut bounds = vec![];
        for _ in 0..4 {
            path.bbr.cwnd_full = [true; 2];
            path.bbr.full_bw_count = 0;
            path.round_with(10.0, |ack| {
                ack.acked = 100_000;
                ack.delivery.as_mut().unwrap().in_flight_when_sent = 100_000;
            });
            bounds.push(path.bbr.inflight_longterm);
            path.bbr.cwnd = path.bbr.inflight_longterm;
        }
        assert_eq!(bounds, [101_000.0, 103_000.0, 106_000.0, 115_000.0]);
    }

    #[test]
    fn probe_rtt_holds_half_a_bandwidth_delay_product_for_200_ms_every_five_seconds() {
        // Section 5.3.4.
        let mut path = Path::cruise();
        let slower = |ack: &mut Ack| {
            ack.delivery.as_mut().unwrap().rtt = Some(Duration::from_millis(RTT_MS + 20));
            ack.in_flight = ack.in_flight.min(100_000);
        };
        while path.bbr.state != State::ProbeRtt {
            path.round_with(10.0, slower);
        }
        // The handshake had the smallest round trip: five seconds from then.
        assert!((5_000..=5_200).contains(&path.now_ms), "{}", path.now_ms);
        assert_eq!(path.bbr.window(), 62_500); // half of 10 Mbit/s * 100 ms, which count for ten seconds
        let begun = path.now_ms;
        while path.bbr.state == State::ProbeRtt {
            path.round_with(5.0, |ack| ack.in_flight = 62_000);
        }
        assert!((200..=500).contains(&(path.now_ms - begun)), "{}", path.now_ms - begun);
        assert_eq!(path.bbr.state, State::Cruise);
        assert_eq!(path.bbr.min_rtt, Some(Duration::from_millis(RTT_MS)));
        // The low rates do not count.
        assert_eq!(path.bbr.max_bw_filter.max(), 1.25e6);
    }

    #[test]
    fn probe_rtt_is_skipped_after_a_pause() {
        // The appendix: idleness is attempt enough to drain the queue.
        let mut path = Path::cruise();
        path.now_ms += 6_000;
        let sent = Sent { now: at(path.now_ms), bytes: MSS, in_flight: MSS, retransmission: false };
        path.bbr.on_sent(&sent);
        assert!(path.bbr.idle_restart);
        assert!((path.pacing_mbit() - 9.9).abs() < 1e-3);
        path.round(10.0);
        assert_ne!(path.bbr.state, State::ProbeRtt);
    }

    #[test]
    fn from_probe_rtt_in_startup_back_to_startup() {
        let mut path = Path::new();
        path.round(1.0);
        path.now_ms += 6_000;
        let slower = |ack: &mut Ack| ack.delivery.as_mut().unwrap().rtt = Some(Duration::from_millis(150));
        path.round_with(1.0, slower);
        assert_eq!(path.bbr.state, State::ProbeRtt);
        while path.bbr.state == State::ProbeRtt {
            path.round_with(1.0, |ack| ack.in_flight = 2_000);
        }
        assert_eq!(path.bbr.state, State::Startup);
    }

    #[test]
    fn a_spurious_loss_is_forgotten() {
        // Section 5.5.11.2 and the appendix: back to probing, with the bounds of before.
        let mut path = Path::up();
        let cwnd = path.bbr.cwnd;
        path.bbr.on_congestion(&event(CongestionKind::Loss, 100_000));
        path.lose(0, 100_000, 3000);
        assert_eq!(path.bbr.state, State::Down);
        path.bbr.on_congestion(&event(CongestionKind::Spurious, 100_000));
        assert_eq!(path.bbr.state, State::Refill);
        assert!(path.bbr.inflight_longterm.is_infinite());
        assert!(path.bbr.cwnd >= cwnd);
    }

    #[test]
    fn a_timeout_leaves_one_segment_until_recovery_ends() {
        let mut path = Path::cruise();
        let window = path.bbr.window();
        path.bbr.on_congestion(&event(CongestionKind::Timeout, 100_000));
        assert_eq!(path.bbr.window(), 1000);
        path.bbr.on_recovery_end();
        assert_eq!(path.bbr.window(), window);
    }

    #[test]
    fn four_segments_are_the_least() {
        // The appendix: a bandwidth-delay product below one segment.
        let mut path = Path::new();
        for _ in 0..30 {
            path.round_with(0.05, |ack| (ack.acked, ack.in_flight) = (1000, 1000));
        }
        assert!(path.bbr.window() >= 4000);
        assert!((path.pacing_mbit() / 0.05 - 1.0).abs() < 0.3, "{}", path.pacing_mbit());
    }

    #[test]
    fn draws_differ_and_lie_within_a_second() {
        let mut path = Path::new();
        let mut waits = vec![];
        for _ in 0..100 {
            path.bbr.pick_probe_wait();
            waits.push(path.bbr.bw_probe_wait);
            assert!(path.bbr.rounds_since_probe_up <= 1);
        }
        assert!(waits.iter().all(|wait| (Duration::from_secs(2)..Duration::from_secs(3)).contains(wait)));
        let mean = waits.iter().map(|wait| wait.as_secs_f64()).sum::<f64>() / 100.0;
        assert!((mean - 2.5).abs() < 0.1, "{mean}");
    }

    #[test]
    fn the_window_is_full_when_no_further_segment_fits() {
        for (in_flight, full) in [(8 * MSS, false), (9 * MSS, false), (9 * MSS + 1, true), (10 * MSS, true)] {
            let mut path = Path::new();
            assert_eq!(path.bbr.window(), 10 * MSS);
            path.bbr.on_sent(&Sent { now: at(0), bytes: MSS, in_flight, retransmission: false });
            assert_eq!(path.bbr.cwnd_full[0], full, "{in_flight} bytes in flight");
        }
    }
}
