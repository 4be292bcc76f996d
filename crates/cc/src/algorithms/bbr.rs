//! BBR, version 1: a model of the path, from the largest delivery rate and the smallest round trip, sets pacing and window.
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson: BBR: Congestion-Based Congestion Control, ACM Queue 14(5),
//! 2016; draft-cardwell-iccrg-bbr-congestion-control-00, whose sections are named below.

use crate::compose::{AlgorithmSpec, Compose};
use crate::draws::Draws;
use crate::max_filter::MaxFilter;
use crate::params::Spec;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Bytes, Congestion, CongestionControl, CongestionKind, Delivery, InitialWindow, Inspection, Lost,
    Sent, Setup,
};
use longhaul_units::{Duration, Instant, Rate};

/// Parameters of [`Bbr`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BbrParams {
    /// Gain of pacing and window in Startup: 2 / ln 2 doubles the rate each round trip (section 4.3.2.1). Drain has its inverse.
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 10, "x-unit" = "times the bandwidth"))]
    pub startup_gain: f64,
    /// Gain of the window in ProbeBW, for delayed and aggregated ACKs (section 4.2.3.3).
    #[schemars(extend("minimum" = 1, "maximum" = 10, "x-unit" = "bandwidth-delay products"))]
    pub cwnd_gain: f64,
    /// Gain of pacing in the phase of ProbeBW that probes for more; the next phase drains with 2 minus this (section 4.3.4.2).
    #[schemars(extend("minimum" = 1, "exclusiveMaximum" = 2, "x-unit" = "times the bandwidth"))]
    pub probe_gain: f64,
    /// Length of the bandwidth filter (section 4.1.1.2).
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "round trips"))]
    pub bandwidth_window: u32,
    /// Length of the filter of the smallest round trip (section 4.1.2.2); after it without news ProbeRTT begins.
    pub min_rtt_window: Duration,
    /// A round trip that equals the smallest is news (section 4.1.2.3). In Linux, since 2020, only a smaller one is.
    #[schemars(extend("x-unit" = "true or false"))]
    pub equal_rtt_is_news: bool,
    /// Least time in ProbeRTT with the least window (section 4.3.5).
    pub probe_rtt_duration: Duration,
    /// The least window, and that of ProbeRTT (section 4.2.3.2).
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "segments"))]
    pub min_window: u32,
    /// Startup goes on while the bandwidth grows by this factor ... (section 4.3.2.2)
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 4, "x-unit" = "times the bandwidth"))]
    pub full_bandwidth_growth: f64,
    /// ... at least once in so many round trips.
    #[schemars(extend("minimum" = 1, "maximum" = 100, "x-unit" = "round trips"))]
    pub full_bandwidth_rounds: u32,
    /// Pace so much below the estimate: 0 in the draft, 0.01 in Linux and in later versions.
    #[schemars(extend("minimum" = 0, "maximum" = 0.5, "x-unit" = "share of the rate"))]
    pub pacing_margin: f64,
    /// The window has room for what ACKs bring together beyond the bandwidth, at most 100 ms of it: the most in one to two times so
    /// many round trips. 0 in the draft; Linux: 5 (`bbr_update_ack_aggregation`).
    #[schemars(extend("minimum" = 0, "maximum" = 1000, "x-unit" = "round trips"))]
    pub aggregation_window: u32,
    /// The handshake's round trip is the first of the smallest, whose window begins with it (BBRInit of the draft; Linux: `bbr_init`).
    /// Otherwise the first is that of data.
    #[schemars(extend("x-unit" = "true or false"))]
    pub handshake_counts: bool,
    /// A recovery that begins with the ACK that ends another continues it: neither is the window of before restored nor the new one
    /// conserved. Linux compares the state after an ACK with that after the one before (`bbr_set_cwnd_to_recover_or_restore`).
    #[schemars(extend("x-unit" = "true or false"))]
    pub recoveries_join: bool,
    /// What is to be in flight is in whole segments: bandwidth times round trip is rounded up, with its quanta to an even number, and
    /// the phase that probes adds two (Linux: `bbr_bdp`, `bbr_quantization_budget`).
    #[schemars(extend("x-unit" = "true or false"))]
    pub whole_segments: bool,
    /// Phases end by what will be in flight when pacing lets the next segment leave (Linux: `bbr_packets_in_net_at_edt`).
    #[schemars(extend("x-unit" = "true or false"))]
    pub in_flight_at_departure: bool,
    /// Two intervals of at least four round trips in which a fifth is lost, and whose rates differ by an eighth at most, show a
    /// policer: for 48 round trips their mean is the bandwidth, and nothing is probed (Linux: `bbr_lt_bw_sampling`).
    #[schemars(extend("x-unit" = "true or false"))]
    pub finds_policers: bool,
    /// In Startup, what was the largest bandwidth is forgotten after a timeout and where a reduction proves to be for nothing (Linux:
    /// `bbr_set_state`, `bbr_undo_cwnd`).
    #[schemars(extend("x-unit" = "true or false"))]
    pub full_pipe_anew: bool,
}

impl Default for BbrParams {
    fn default() -> Self {
        BbrParams {
            startup_gain: 2.89,
            cwnd_gain: 2.0,
            probe_gain: 1.25,
            bandwidth_window: 10,
            min_rtt_window: Duration::from_secs(10),
            equal_rtt_is_news: true,
            probe_rtt_duration: Duration::from_millis(200),
            min_window: 4,
            full_bandwidth_growth: 1.25,
            full_bandwidth_rounds: 3,
            pacing_margin: 0.0,
            aggregation_window: 0,
            handshake_counts: false,
            recoveries_join: false,
            whole_segments: false,
            in_flight_at_departure: false,
            finds_policers: false,
            full_pipe_anew: false,
        }
    }
}

impl BbrParams {
    /// As in Linux (`tcp_bbr.c`), but for `handshake_counts`: kernels have it, and find smaller round trips by microseconds later, which
    /// exact hosts never do; with it their times above 2 s are further from the kernel's (docs/validation.md, section 4).
    pub fn linux() -> Self {
        BbrParams {
            equal_rtt_is_news: false,
            pacing_margin: 0.01,
            aggregation_window: 5,
            recoveries_join: true,
            whole_segments: true,
            in_flight_at_departure: true,
            finds_policers: true,
            full_pipe_anew: true,
            ..Self::default()
        }
    }
}

impl Spec for BbrParams {
    const NAME: &'static str = "bbr";
    const SOURCE: &'static str = "Cardwell et al. 2016, draft-cardwell-iccrg-bbr-congestion-control-00";
    const SUMMARY: &'static str = "version 1: paces at the measured bandwidth; slow start does not apply";
}

impl AlgorithmSpec for BbrParams {
    fn policy(&self, _: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        Box::new(Bbr::new(self.clone(), setup))
    }
}

/// Phases of the gain cycle in ProbeBW (section 4.3.4.2): probe, drain, and six at the bandwidth.
const CYCLE_LENGTH: u64 = 8;
/// In s: the window has room for no more (Linux: `bbr_extra_acked_max_us`).
const LONGEST_AGGREGATION: f64 = 0.1;
/// Linux's least and greatest round trips of an interval in which a policer is looked for, and those of its rate
/// (`bbr_lt_intvl_min_rtts`, `bbr_lt_bw_max_rtts`).
const POLICED_ROUNDS: u32 = 4;
const LONGEST_POLICED_ROUNDS: u32 = 4 * POLICED_ROUNDS;
const ROUNDS_AT_POLICED_RATE: u32 = 48;
/// The share that is lost of what is delivered (`bbr_lt_loss_thresh`), and by how much the rates of two intervals may differ: by a share
/// (`bbr_lt_bw_ratio`), or by bytes per second (`bbr_lt_bw_diff`).
const POLICED_LOSS: f64 = 50.0 / 256.0;
const POLICED_SHARE: f64 = 1.0 / 8.0;
const POLICED_DIFFERENCE: f64 = 500.0;
/// Segments that the phase which probes adds (`bbr_quantization_budget`).
const PROBING_SEGMENTS: u64 = 2;
/// The round trip that is assumed before one is known (section 4.2.1).
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// BBR.state (section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw { phase: u64, since: Instant },
    ProbeRtt { least_window_until: Option<Instant>, round_done: bool },
}

/// How loss recovery bears on the window (section 4.2.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recovery {
    None,
    /// Fast recovery begins with the ACK under way.
    Begins,
    /// Its first round trip: a packet for each that was delivered.
    Conserves,
    /// Fast recovery after that, or after a timeout.
    Grows,
}

/// What ACKs deliver beyond the bandwidth: they come together on the way back, or the receiver holds them back (Linux:
/// `bbr_update_ack_aggregation`). In bytes.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    /// Since when ACKs have come faster than the bandwidth, and what they have delivered.
    since: Instant,
    delivered: f64,
    /// The most beyond the bandwidth, in the period under way and in the one before it.
    most: [f64; 2],
    /// Round trips of the period under way.
    rounds: u32,
}

impl Aggregation {
    /// `acked` more bytes are delivered, at a bandwidth in bytes per second; no window has room for more than `window` beyond it.
    fn update(
        &mut self,
        now: Instant,
        acked: f64,
        bandwidth: f64,
        window: f64,
        length: u32,
        round_start: bool,
    ) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= length {
                (self.rounds, self.most) = (0, [0.0, self.most[0]]);
            }
        }
        let mut expected = bandwidth * now.since(self.since).as_secs_f64();
        if self.delivered <= expected {
            (self.since, self.delivered, expected) = (now, 0.0, 0.0);
        }
        self.delivered += acked;
        self.most[0] = self.most[0].max((self.delivered - expected).min(window));
    }

    fn extra(&self, bandwidth: f64) -> f64 {
        self.most[0].max(self.most[1]).min(bandwidth * LONGEST_AGGREGATION)
    }
}

/// What an ACK or a timeout shows of a policer.
struct Sample {
    now: Instant,
    round_start: bool,
    app_limited: bool,
    loses: bool,
    /// Of the connection, in bytes.
    delivered: Bytes,
    lost: Bytes,
}

/// The search for a policer (Linux: `bbr_lt_bw_sampling`). Rates in bytes per second.
#[derive(Clone, Debug, Default)]
struct Policer {
    /// The rate of the interval before, or that of the policer.
    rate: Option<f64>,
    in_use: bool,
    /// The first loss has come.
    is_sampling: bool,
    /// Round trips of the interval, or at the policer's rate.
    rounds: u32,
    since: Instant,
    /// Of the connection, when the interval began.
    delivered: Bytes,
    lost: Bytes,
}

impl Policer {
    fn begin_interval(&mut self, sample: &Sample) {
        self.rounds = 0;
        (self.since, self.delivered, self.lost) = (sample.now, sample.delivered, sample.lost);
    }

    /// An ACK or a timeout while no policer is known.
    fn look(&mut self, sample: &Sample) {
        if !self.is_sampling {
            if !sample.loses {
                return;
            }
            self.begin_interval(sample);
            self.is_sampling = true;
        }
        if sample.app_limited {
            *self = Policer::default();
            return;
        }
        self.rounds += u32::from(sample.round_start);
        if self.rounds < POLICED_ROUNDS {
            return;
        }
        if self.rounds > LONGEST_POLICED_ROUNDS {
            *self = Policer::default();
            return;
        }
        // A loss ends the interval: the policer's tokens are used up then.
        let (delivered, lost) = (sample.delivered - self.delivered, sample.lost - self.lost);
        let took = sample.now.since(self.since);
        let few = delivered == 0 || (lost as f64) < POLICED_LOSS * delivered as f64;
        if !sample.loses || few || took < Duration::from_millis(1) {
            return;
        }
        self.take_rate(delivered as f64 / took.as_secs_f64(), sample);
    }

    fn take_rate(&mut self, rate: f64, sample: &Sample) {
        if let Some(before) = self.rate {
            let difference = (rate - before).abs();
            if difference <= POLICED_SHARE * before || difference <= POLICED_DIFFERENCE {
                self.rate = Some((rate + before) / 2.0);
                (self.in_use, self.rounds) = (true, 0);
                return;
            }
        }
        self.rate = Some(rate);
        self.begin_interval(sample);
    }
}

/// BBR version 1. Rates in bytes per second, windows in bytes.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: BbrParams,
    mss: f64,
    given_window: InitialWindow,
    /// The same in bytes.
    initial_window: f64,
    draws: Draws,
    state: State,
    /// BBR.BtlBwFilter.
    bandwidth: MaxFilter,
    /// BBR.RTprop.
    min_rtt: Option<Duration>,
    /// BBR.rtprop_stamp.
    min_rtt_at: Instant,
    /// BBR.rtprop_expired.
    min_rtt_expired: bool,
    /// BBR.round_count.
    round: u64,
    next_round_delivered: Bytes,
    round_start: bool,
    /// C.delivered.
    delivered: Bytes,
    pacing_rate: f64,
    filled_pipe: bool,
    full_bandwidth: f64,
    full_bandwidth_rounds: u32,
    cwnd: f64,
    /// The last known good window, while recovery or ProbeRTT hold it down.
    prior_cwnd: f64,
    recovery: Recovery,
    /// The recovery that the ACK under way has ended, with the window that it had.
    ended: Option<(Recovery, f64)>,
    /// BBR.idle_restart.
    idle_restart: bool,
    /// Samples of data that left between these counts of delivered bytes are limited by ProbeRTT (section 4.3.5).
    held_back: (Bytes, Bytes),
    aggregation: Aggregation,
    policer: Policer,
    /// Bytes found lost so far.
    lost: Bytes,
}

impl Bbr {
    fn new(params: BbrParams, setup: &Setup) -> Self {
        let mut bbr = Bbr {
            mss: 1.0,
            given_window: setup.initial_window,
            initial_window: 1.0,
            draws: Draws::new(setup.seed),
            state: State::Startup,
            bandwidth: MaxFilter::new(u64::from(params.bandwidth_window)),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            min_rtt_expired: false,
            round: 0,
            next_round_delivered: 0,
            round_start: false,
            delivered: 0,
            pacing_rate: 0.0,
            filled_pipe: false,
            full_bandwidth: 0.0,
            full_bandwidth_rounds: 0,
            cwnd: 1.0,
            prior_cwnd: 0.0,
            recovery: Recovery::None,
            ended: None,
            idle_restart: false,
            held_back: (Bytes::MAX, 0),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            lost: 0,
            params,
        };
        bbr.on_mss(setup.mss.max(1));
        bbr
    }

    /// BBRInitPacingRate, section 4.2.1.
    fn init_pacing_rate(&mut self, rtt: Duration) {
        self.pacing_rate = self.params.startup_gain * self.initial_window / rtt.as_secs_f64();
    }

    fn least_window(&self) -> f64 {
        f64::from(self.params.min_window) * self.mss
    }

    /// BBR.pacing_gain.
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_gain,
            State::Drain => 1.0 / self.params.startup_gain,
            State::ProbeBw { .. } if self.policer.in_use => 1.0,
            State::ProbeBw { phase: 0, .. } => self.params.probe_gain,
            State::ProbeBw { phase: 1, .. } => 2.0 - self.params.probe_gain,
            State::ProbeBw { .. } | State::ProbeRtt { .. } => 1.0,
        }
    }
    /// BBR.cwnd_gain.
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => self.params.startup_gain,
            State::ProbeBw { .. } => self.params.cwnd_gain,
            State::ProbeRtt { .. } => 1.0,
        }
    }

    /// The estimate of the bandwidth.
    fn bandwidth(&self) -> f64 {
        self.policer.rate.filter(|_| self.policer.in_use).unwrap_or(self.bandwidth.max())
    }

    /// BBRInflight(gain), section 4.2.3.2.
    fn inflight(&self, gain: f64) -> f64 {
        self.inflight_at(self.bandwidth.max(), gain, 0.0)
    }

    /// The same at a bandwidth, with `extra` bytes.
    fn inflight_at(&self, bandwidth: f64, gain: f64, extra: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window + extra };
        let product = gain * bandwidth * min_rtt.as_secs_f64();
        if !self.params.whole_segments {
            return product + 3.0 * self.send_quantum() + extra;
        }
        // What floating point adds to a whole number is no segment.
        let segments = |bytes: f64| (bytes / self.mss - 1e-6).ceil().max(0.0) as u64;
        let wanted = segments(product) + (extra / self.mss) as u64 + 3 * self.segments_at_once();
        let probes = matches!(self.state, State::ProbeBw { phase: 0, .. });
        let wanted = wanted.next_multiple_of(2) + if probes { PROBING_SEGMENTS } else { 0 };
        wanted as f64 * self.mss
    }

    /// Segments that leave together (Linux: `bbr_tso_segs_goal`).
    fn segments_at_once(&self) -> u64 {
        let least = if 8.0 * self.pacing_rate < 1.2e6 { 1 } else { 2 };
        let bytes = (self.pacing_rate / 1024.0).min(64e3);
        ((bytes / self.mss) as u64).max(least)
    }

    /// Of so much in flight, what will be when the next segment may leave.
    fn in_flight_at_departure(&self, ack: &Ack, in_flight: Bytes) -> f64 {
        let in_flight = in_flight as f64;
        if !self.params.in_flight_at_departure {
            return in_flight;
        }
        let wait = ack.next_departure.since(ack.now).as_secs_f64();
        let delivered = (self.bandwidth() * wait / self.mss).floor() * self.mss;
        let leaves = if self.pacing_gain() > 1.0 { self.segments_at_once() as f64 * self.mss } else { 0.0 };
        (in_flight + leaves - delivered).max(0.0)
    }

    /// Room for ACKs that come together, once the bandwidth is known.
    fn extra_acked(&self) -> f64 {
        if self.filled_pipe { self.aggregation.extra(self.bandwidth()) } else { 0.0 }
    }

    /// Section 4.2.2. Pacing here is by segments; the quantum only makes room in the window.
    fn send_quantum(&self) -> f64 {
        let bits_per_second = 8.0 * self.pacing_rate;
        if bits_per_second < 1.2e6 {
            self.mss
        } else if bits_per_second < 24e6 {
            2.0 * self.mss
        } else {
            (self.pacing_rate * 1e-3).min(64e3)
        }
    }

    // The model (section 4.1).

    /// BBRUpdateRound, section 4.1.1.3.
    fn update_round(&mut self, sample: &Delivery) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.next_round_delivered = self.delivered;
            self.round += 1;
            if self.recovery == Recovery::Conserves {
                self.recovery = Recovery::Grows;
            }
        }
    }

    /// True if the rate sample may be less than the path's.
    fn is_limited(&self, sample: &Delivery) -> bool {
        let (from, to) = self.held_back;
        sample.app_limited || (from..=to).contains(&sample.prior_delivered)
    }

    /// Looks for a policer, or whether its rate has been kept for long enough.
    fn look_for_policer(&mut self, sample: &Sample) {
        if !self.params.finds_policers {
            return;
        }
        if !self.policer.in_use {
            return self.policer.look(sample);
        }
        if sample.round_start && matches!(self.state, State::ProbeBw { .. }) {
            self.policer.rounds += 1;
            if self.policer.rounds >= ROUNDS_AT_POLICED_RATE {
                self.policer = Policer::default();
                self.enter_probe_bw(sample.now);
            }
        }
    }

    /// The bandwidth may have been held down for nothing.
    fn look_for_full_pipe_anew(&mut self) {
        if self.params.full_pipe_anew {
            self.full_bandwidth = 0.0;
        }
    }

    /// BBRUpdateBtlBw, section 4.1.1.5.
    fn update_bandwidth(&mut self, sample: &Delivery) {
        let Some(rate) = sample.rate else { return };
        let rate = rate.as_bps() as f64 / 8.0;
        if rate >= self.bandwidth.max() || !self.is_limited(sample) {
            self.bandwidth.update(self.round, rate);
        }
    }

    /// BBRUpdateRTprop, section 4.1.2.3.
    fn update_min_rtt(&mut self, now: Instant, rtt: Option<Duration>) {
        let window_ends = self.min_rtt_at + self.params.min_rtt_window;
        self.min_rtt_expired = self.min_rtt.is_some() && now > window_ends;
        let Some(rtt) = rtt else { return };
        let equal = self.params.equal_rtt_is_news;
        if self.min_rtt_expired || self.min_rtt.is_none_or(|least| rtt < least || (equal && rtt == least)) {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
    }

    // The state machine (section 4.3).

    /// BBRCheckFullPipe, section 4.3.2.2.
    fn check_full_pipe(&mut self, sample: &Delivery) {
        if self.filled_pipe || !self.round_start || self.is_limited(sample) {
            return;
        }
        if self.bandwidth.max() >= self.full_bandwidth * self.params.full_bandwidth_growth {
            self.full_bandwidth = self.bandwidth.max();
            self.full_bandwidth_rounds = 0;
            return;
        }
        self.full_bandwidth_rounds += 1;
        self.filled_pipe = self.full_bandwidth_rounds >= self.params.full_bandwidth_rounds;
    }

    /// BBRCheckDrain, section 4.3.3.
    fn check_drain(&mut self, ack: &Ack) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.in_flight_at_departure(ack, ack.in_flight) <= self.inflight(1.0)
        {
            self.enter_probe_bw(ack.now);
        }
    }

    /// BBREnterProbeBW, section 4.3.4.3: any phase but that which drains, so that flows do not probe together.
    fn enter_probe_bw(&mut self, now: Instant) {
        let drawn = self.draws.bits() % (CYCLE_LENGTH - 1);
        let phase = (CYCLE_LENGTH - drawn) % CYCLE_LENGTH;
        self.state = State::ProbeBw { phase, since: now };
    }

    /// BBRCheckCyclePhase, section 4.3.4.3.
    fn check_cycle_phase(&mut self, ack: &Ack, newly_lost: Bytes) {
        let State::ProbeBw { phase, since } = self.state else { return };
        let full_length = self.min_rtt.is_none_or(|min_rtt| ack.now.since(since) > min_rtt);
        let in_flight = self.in_flight_at_departure(ack, ack.prior_in_flight);
        let gain = self.pacing_gain();
        let next = if gain > 1.0 {
            full_length && (newly_lost > 0 || in_flight >= self.inflight(gain))
        } else if gain < 1.0 {
            full_length || in_flight <= self.inflight(1.0)
        } else {
            full_length
        };
        if next {
            self.state = State::ProbeBw { phase: (phase + 1) % CYCLE_LENGTH, since: ack.now };
        }
    }

    /// BBRCheckProbeRTT, section 4.3.5.
    fn check_probe_rtt(&mut self, ack: &Ack) {
        let probing = matches!(self.state, State::ProbeRtt { .. });
        if !probing && self.min_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.held_back.0 = self.delivered;
            self.state = State::ProbeRtt { least_window_until: None, round_done: false };
        }
        self.handle_probe_rtt(ack);
        self.idle_restart = false;
    }

    /// BBRHandleProbeRTT.
    fn handle_probe_rtt(&mut self, ack: &Ack) {
        let State::ProbeRtt { least_window_until, round_done } = self.state else { return };
        self.held_back.1 = self.delivered + ack.in_flight;
        match least_window_until {
            None if ack.in_flight as f64 <= self.least_window() => {
                self.next_round_delivered = self.delivered;
                let until = Some(ack.now + self.params.probe_rtt_duration);
                self.state = State::ProbeRtt { least_window_until: until, round_done: false };
            }
            None => {}
            Some(until) if (round_done || self.round_start) && ack.now > until => {
                self.min_rtt_at = ack.now;
                self.restore_cwnd();
                self.leave_probe_rtt(ack.now);
            }
            Some(_) => {
                let round_done = round_done || self.round_start;
                self.state = State::ProbeRtt { least_window_until, round_done };
            }
        }
    }

    /// BBRExitProbeRTT.
    fn leave_probe_rtt(&mut self, now: Instant) {
        if self.filled_pipe {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }

    // What follows from it (section 4.2).

    /// BBRSetPacingRateWithGain, section 4.2.1: never slower before the pipe was full once.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth() * (1.0 - self.params.pacing_margin);
        if rate > 0.0 && (self.filled_pipe || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// BBRSetCwnd, section 4.2.3.6.
    fn set_cwnd(&mut self, ack: &Ack, newly_lost: Bytes) {
        let acked = ack.acked as f64;
        self.modulate_for_recovery(ack, newly_lost);
        if self.recovery != Recovery::Conserves {
            let target = self.inflight_at(self.bandwidth(), self.cwnd_gain(), self.extra_acked());
            if self.filled_pipe {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || (self.delivered as f64) < self.initial_window {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(self.least_window());
        }
        if matches!(self.state, State::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(self.least_window());
        }
    }

    /// BBRModulateCwndForRecovery, section 4.2.3.4.
    fn modulate_for_recovery(&mut self, ack: &Ack, newly_lost: Bytes) {
        let (acked, in_flight) = (ack.acked as f64, ack.in_flight as f64);
        if self.recovery == Recovery::Begins {
            self.cwnd = in_flight + acked.max(self.mss);
            self.recovery = Recovery::Conserves;
            if self.params.recoveries_join {
                // Linux finds out with this ACK: its first round trip begins after it.
                self.next_round_delivered = self.delivered;
            }
            return;
        }
        if newly_lost > 0 {
            self.cwnd = (self.cwnd - newly_lost as f64).max(self.mss);
        }
        if self.recovery == Recovery::Conserves {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
    }

    /// BBRSaveCwnd.
    fn save_cwnd(&mut self) {
        let held_down = self.recovery != Recovery::None || matches!(self.state, State::ProbeRtt { .. });
        self.prior_cwnd = if held_down { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }
    /// BBRRestoreCwnd.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl CongestionControl for Bbr {
    /// `state`: 0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT.
    fn inspect(&self, inspection: &mut Inspection) {
        let state = match self.state {
            State::Startup => 0.0,
            State::Drain => 1.0,
            State::ProbeBw { .. } => 2.0,
            State::ProbeRtt { .. } => 3.0,
        };
        inspection.number("state", state);
        inspection.byte_rate("BtlBw", self.bandwidth.max());
        inspection.time("RTprop", self.min_rtt);
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

    /// BBRUpdateOnACK, section 4.4.
    fn on_ack(&mut self, ack: &Ack) {
        self.ended = None;
        self.delivered = ack.delivered;
        let newly_lost = ack.delivery.map_or(0, |sample| sample.newly_lost);
        let rtt = ack.delivery.and_then(|sample| sample.rtt).or(ack.rtt);
        self.round_start = false;
        if let Some(sample) = &ack.delivery {
            self.update_round(sample);
            self.look_for_policer(&Sample {
                now: ack.now,
                round_start: self.round_start,
                app_limited: self.is_limited(sample),
                loses: newly_lost > 0,
                delivered: self.delivered,
                lost: self.lost,
            });
            self.update_bandwidth(sample);
            if self.params.aggregation_window > 0 {
                let (bandwidth, acked) = (self.bandwidth(), ack.acked as f64);
                let length = self.params.aggregation_window;
                self.aggregation.update(ack.now, acked, bandwidth, self.cwnd, length, self.round_start);
            }
        }
        self.check_cycle_phase(ack, newly_lost);
        if let Some(sample) = &ack.delivery {
            self.check_full_pipe(sample);
        }
        self.check_drain(ack);
        self.update_min_rtt(ack.now, rtt);
        self.check_probe_rtt(ack);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ack, newly_lost);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.kind {
            // BBROnEnterFastRecovery.
            CongestionKind::Loss => match self.ended.take().filter(|_| self.params.recoveries_join) {
                Some(ended) => {
                    (self.recovery, self.cwnd) = ended;
                    self.save_cwnd();
                }
                None => {
                    self.save_cwnd();
                    self.recovery = Recovery::Begins;
                    self.next_round_delivered = self.delivered;
                }
            },
            // BBROnEnterRTO.
            CongestionKind::Timeout => {
                self.save_cwnd();
                self.recovery = Recovery::Grows;
                self.cwnd = self.mss;
                self.look_for_full_pipe_anew();
                self.look_for_policer(&Sample {
                    now: event.now,
                    round_start: true,
                    app_limited: false,
                    loses: true,
                    delivered: self.delivered,
                    lost: self.lost,
                });
            }
            CongestionKind::Spurious => {
                self.look_for_full_pipe_anew();
                if self.params.full_pipe_anew {
                    self.full_bandwidth_rounds = 0;
                    self.policer = Policer::default();
                }
                self.on_recovery_end();
            }
            CongestionKind::EcnEcho => {}
        }
    }

    fn on_recovery_end(&mut self) {
        if self.recovery != Recovery::None {
            self.ended = Some((self.recovery, self.cwnd));
            self.recovery = Recovery::None;
            self.restore_cwnd();
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.lost += lost.bytes;
    }

    /// BBRHandleRestartFromIdle, section 4.4.3: nothing but this segment is in flight.
    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight <= sent.bytes && !sent.retransmission && self.delivered > 0 {
            self.idle_restart = true;
            if matches!(self.state, State::ProbeBw { .. }) {
                self.set_pacing_rate(1.0);
            }
        }
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.init_pacing_rate(rtt);
            if self.params.handshake_counts {
                (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
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
    use crate::testing::{MSS, ack_at, event, setup};

    const RTT_MS: u64 = 100;

    /// BBR on a path of 100 ms and 10 Mbit/s, so 125 segments of 1000 bytes, with its own bookkeeping of rounds.
    struct Path {
        bbr: Bbr,
        now_ms: u64,
        delivered: u64,
        /// Delivered when the data left that are acknowledged now.
        prior_delivered: u64,
    }

    impl Path {
        fn new() -> Self {
            let bbr = Bbr::new(BbrParams::default(), &setup(10 * MSS, None));
            Path { bbr, now_ms: 0, delivered: 0, prior_delivered: 0 }
        }
        fn ack(&self, segments: u64, rate_mbit: f64) -> Ack {
            let sample = Delivery {
                rate: Some(Rate::from_bps_f64(rate_mbit * 1e6)),
                rtt: Some(Duration::from_millis(RTT_MS)),
                delivered: segments * MSS,
                prior_delivered: self.prior_delivered,
                app_limited: false,
                newly_lost: 0,
                lost: 0,
                in_flight_when_sent: 0,
            };
            Ack {
                delivery: Some(sample),
                delivered: self.delivered,
                in_flight: self.bbr.window(),
                prior_in_flight: self.bbr.window(),
                ..ack_at(self.now_ms, segments * MSS)
            }
        }
        /// One ACK for a whole round trip; `change` may change it.
        fn round_with(&mut self, rate_mbit: f64, change: impl FnOnce(&mut Ack)) {
            let segments = self.bbr.window() / MSS;
            self.now_ms += RTT_MS + 1;
            self.prior_delivered = self.delivered;
            self.delivered += segments * MSS;
            let mut ack = self.ack(segments, rate_mbit);
            change(&mut ack);
            self.bbr.on_ack(&ack);
        }
        fn round(&mut self, rate_mbit: f64) {
            self.round_with(rate_mbit, |_| ());
        }
        fn pacing_mbit(&self) -> f64 {
            self.bbr.pacing_rate().unwrap().as_bps() as f64 / 1e6
        }
        /// In ProbeBW, with the pipe filled.
        fn probing() -> Self {
            let mut path = Path::new();
            for _ in 0..4 {
                path.round(10.0);
            }
            path.round_with(10.0, |ack| ack.in_flight = 0);
            assert!(matches!(path.bbr.state, State::ProbeBw { .. }));
            path
        }
    }

    #[test]
    fn the_first_rate_is_the_initial_window_in_a_nominal_millisecond_or_in_the_handshakes_round_trip() {
        // Section 4.2.1: 2.89 * 10 segments of 8000 bits per 1 ms; per 100 ms.
        let mut path = Path::new();
        assert!((path.pacing_mbit() - 231.2).abs() < 1e-3);
        path.bbr.on_established(Instant::ZERO, Some(Duration::from_millis(RTT_MS)));
        assert!((path.pacing_mbit() - 2.312).abs() < 1e-5);
        assert!(path.bbr.in_slow_start());
    }

    #[test]
    fn startup_doubles_and_ends_after_three_rounds_without_a_quarter_more() {
        // Section 4.3.2.2: 25 % in each of three rounds.
        let mut path = Path::new();
        path.bbr.on_established(Instant::ZERO, Some(Duration::from_millis(RTT_MS)));
        for (rate, paced) in [(1.0, 2.89), (2.0, 5.78), (4.0, 11.56), (8.0, 23.12)] {
            path.round(rate);
            assert!((path.pacing_mbit() - paced).abs() < 1e-4, "{}", path.pacing_mbit());
        }
        for rate in [9.9, 9.9] {
            path.round(rate);
            assert_eq!(path.bbr.state, State::Startup);
        }
        path.round(10.0); // 25 % more than 8: it goes on
        for _ in 0..2 {
            path.round(12.4);
            assert_eq!(path.bbr.state, State::Startup);
        }
        path.round(12.4);
        assert_eq!(path.bbr.state, State::Drain);
        // Section 4.3.3: pacing gain 1/2.89.
        assert!((path.pacing_mbit() - 12.4 / 2.89).abs() < 1e-4);
    }

    #[test]
    fn drain_ends_when_no_queue_is_left() {
        // 10 Mbit/s * 100 ms = 125,000 bytes, and 3 send quanta of 2 segments.
        let mut path = Path::new();
        for _ in 0..4 {
            path.round_with(10.0, |ack| ack.in_flight = 300_000);
        }
        assert_eq!(path.bbr.state, State::Drain);
        path.round_with(10.0, |ack| ack.in_flight = 132_000);
        assert_eq!(path.bbr.state, State::Drain);
        path.round_with(10.0, |ack| ack.in_flight = 131_000);
        assert!(matches!(path.bbr.state, State::ProbeBw { .. }));
    }

    #[test]
    fn the_gain_cycle_has_eight_phases() {
        // Section 4.3.4.2: 5/4, 3/4, 1, 1, 1, 1, 1, 1; each lasts a round trip.
        let mut path = Path::probing();
        let in_flight = |gain: f64| move |ack: &mut Ack| ack.prior_in_flight = (gain * 140_000.0) as u64;
        let mut gains = vec![];
        for _ in 0..24 {
            path.round_with(10.0, in_flight(1.25));
            gains.push(path.pacing_mbit() / 10.0);
        }
        let first = gains.iter().position(|gain| *gain == 1.25).unwrap();
        assert_eq!(gains[first..first + 8], [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(gains[first + 8..first + 10], [1.25, 0.75]);
    }

    #[test]
    fn probing_goes_on_until_the_window_is_reached_or_something_is_lost() {
        let probe = |path: &mut Path| {
            path.bbr.state = State::ProbeBw { phase: 0, since: Instant::from_nanos(path.now_ms * 1_000_000) };
        };
        let mut path = Path::probing();
        let gain_after = |path: &mut Path, in_flight: u64, lost: u64| {
            probe(path);
            path.round_with(10.0, |ack| {
                ack.prior_in_flight = in_flight;
                ack.delivery.as_mut().unwrap().newly_lost = lost;
            });
            path.bbr.pacing_gain()
        };
        // 1.25 * 125,000 + 3 quanta.
        assert_eq!(gain_after(&mut path, 155_000, 0), 1.25);
        assert_eq!(gain_after(&mut path, 165_000, 0), 0.75);
        assert_eq!(gain_after(&mut path, 155_000, 1000), 0.75);
    }

    #[test]
    fn the_window_is_two_bandwidth_delay_products_in_probe_bw() {
        // Section 4.2.3: 2 * 125,000 and three send quanta of 2 segments.
        let mut path = Path::probing();
        for _ in 0..8 {
            path.round(10.0);
        }
        assert_eq!(path.bbr.window(), 256_000);
        // With 40 Mbit/s the quantum is a millisecond: 2 * 500,000 + 3 * 5000 (at a pacing gain of 1).
        for _ in 0..10 {
            path.round(40.0);
        }
        let window = path.bbr.window();
        assert!((1_011_000..=1_019_000).contains(&window), "{window}");
    }

    #[test]
    fn a_bandwidth_counts_for_ten_round_trips() {
        // Section 4.1.1.2.
        let mut path = Path::probing();
        for _ in 0..9 {
            path.round(5.0);
            assert_eq!(path.bbr.bandwidth.max(), 1.25e6);
        }
        path.round(5.0);
        assert_eq!(path.bbr.bandwidth.max(), 0.625e6);
    }

    #[test]
    fn samples_limited_by_the_application_count_only_upwards() {
        // Section 4.1.1.4.
        let mut path = Path::probing();
        for _ in 0..12 {
            path.round_with(5.0, |ack| ack.delivery.as_mut().unwrap().app_limited = true);
        }
        assert_eq!(path.bbr.bandwidth.max(), 1.25e6);
        path.round_with(20.0, |ack| ack.delivery.as_mut().unwrap().app_limited = true);
        assert_eq!(path.bbr.bandwidth.max(), 2.5e6);
    }

    #[test]
    fn after_ten_seconds_without_a_new_minimum_the_round_trip_is_probed_with_four_segments() {
        // Section 4.3.5: four segments for at least 200 ms and a round trip.
        let mut path = Path::probing();
        let begun = path.now_ms;
        let slower = |ack: &mut Ack| {
            ack.delivery.as_mut().unwrap().rtt = Some(Duration::from_millis(RTT_MS + 20));
            ack.in_flight = ack.in_flight.min(200_000);
        };
        while !matches!(path.bbr.state, State::ProbeRtt { .. }) {
            path.round_with(10.0, slower);
        }
        assert!((10_000..10_300).contains(&(path.now_ms - begun)), "{}", path.now_ms - begun);
        assert_eq!(path.bbr.window(), 4000);
        let probe = path.now_ms;
        while matches!(path.bbr.state, State::ProbeRtt { .. }) {
            path.round_with(0.3, |_| ());
        }
        // A round until four segments are in flight, then 200 ms: two rounds of 101 ms, and the ACK after.
        assert!((200..=405).contains(&(path.now_ms - probe)), "{}", path.now_ms - probe);
        // The low rates of the time do not count, and the window is as before.
        assert_eq!(path.bbr.bandwidth.max(), 1.25e6);
        assert_eq!(path.bbr.window(), 256_000);
        assert_eq!(path.bbr.min_rtt, Some(Duration::from_millis(RTT_MS)));
    }

    #[test]
    fn recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
        // Section 4.2.3.4.
        let mut path = Path::probing();
        for _ in 0..8 {
            path.round(10.0);
        }
        let window = path.bbr.window();
        path.bbr.on_congestion(&event(CongestionKind::Loss, 200_000));
        let mut first = path.ack(2, 10.0);
        first.in_flight = 100_000;
        path.bbr.on_ack(&first);
        assert_eq!(path.bbr.window(), 102_000);
        // What is lost goes, what is delivered may be replaced.
        let mut second = path.ack(1, 10.0);
        second.in_flight = 90_000;
        second.delivery.as_mut().unwrap().newly_lost = 20_000;
        path.bbr.on_ack(&second);
        assert_eq!(path.bbr.window(), 91_000);
        // In the second round it grows by what is delivered.
        path.round_with(10.0, |ack| (ack.acked, ack.in_flight) = (10_000, 90_000));
        assert_eq!(path.bbr.window(), 101_000);
        path.bbr.on_recovery_end();
        assert_eq!(path.bbr.window(), window);
    }

    /// bbr_set_cwnd_to_recover_or_restore(): an ACK that ends a recovery and begins the next leaves the state as it was.
    #[test]
    fn a_recovery_that_follows_at_once_continues_in_linux() {
        for (joins, window) in [(false, 101_000), (true, 112_000)] {
            let mut path = Path::probing();
            path.bbr.params.recoveries_join = joins;
            for _ in 0..8 {
                path.round(10.0);
            }
            let before = path.bbr.window();
            path.bbr.on_congestion(&event(CongestionKind::Loss, 200_000));
            for _ in 0..2 {
                path.round_with(10.0, |ack| (ack.acked, ack.in_flight) = (10_000, 90_000));
            }
            assert_eq!(path.bbr.window(), 110_000);
            path.bbr.on_recovery_end();
            path.bbr.on_congestion(&event(CongestionKind::Loss, 90_000));
            path.round_with(10.0, |ack| (ack.acked, ack.in_flight) = (2_000, 99_000));
            assert_eq!(path.bbr.window(), window);
            path.bbr.on_recovery_end();
            assert_eq!(path.bbr.window(), before);
        }
    }

    #[test]
    fn a_timeout_leaves_one_segment_until_recovery_ends() {
        let mut path = Path::probing();
        for _ in 0..8 {
            path.round(10.0);
        }
        let window = path.bbr.window();
        path.bbr.on_congestion(&event(CongestionKind::Timeout, 200_000));
        assert_eq!(path.bbr.window(), 1000);
        path.bbr.on_congestion(&event(CongestionKind::Timeout, 200_000));
        path.bbr.on_ack(&path.ack(2, 10.0));
        assert_eq!(path.bbr.window(), 4000);
        path.bbr.on_recovery_end();
        assert_eq!(path.bbr.window(), window);
    }

    #[test]
    fn a_restart_from_idle_paces_at_the_bandwidth() {
        // Section 4.4.3.
        let mut path = Path::probing();
        path.bbr.state = State::ProbeBw { phase: 0, since: Instant::ZERO };
        path.bbr.set_pacing_rate(1.25);
        assert_eq!(path.pacing_mbit(), 12.5);
        path.bbr.on_idle(10 * MSS);
        let sent = Sent { now: Instant::ZERO, bytes: MSS, in_flight: MSS, retransmission: false };
        path.bbr.on_sent(&sent);
        assert_eq!(path.pacing_mbit(), 10.0);
        assert!(path.bbr.window() > 10 * MSS);
    }

    /// Over 4 s the round trip is probed 10 s after the handshake, not after the first data's.
    #[test]
    fn the_handshakes_round_trip_begins_the_window_of_the_smallest() {
        for probes in [true, false] {
            let params = BbrParams { handshake_counts: probes, ..BbrParams::linux() };
            let mut bbr = Bbr::new(params, &setup(10 * MSS, None));
            bbr.on_established(Instant::from_nanos(4_000_000_000), Some(Duration::from_secs(4)));
            for ms in [8_000, 14_001] {
                let rtt = Some(Duration::from_secs(4));
                bbr.on_ack(&Ack { rtt, delivered: ms, ..ack_at(ms, MSS) });
            }
            assert_eq!(matches!(bbr.state, State::ProbeRtt { .. }), probes);
        }
    }

    #[test]
    fn the_window_has_room_for_acks_that_come_together() {
        // 10 Mbit/s are 1250 bytes per ms. An epoch begins with the first ACK. Its 10,000 bytes are all beyond the bandwidth; 4 ms
        // later 9000 more are 14,000 beyond it; 100 ms later there is nothing beyond it, and an epoch begins.
        let mut seen = Aggregation::default();
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        for (ms, acked, most) in
            [(1000, 10_000.0, 10_000.0), (1004, 9_000.0, 14_000.0), (1104, 1_000.0, 14_000.0)]
        {
            seen.update(at(ms), acked, 1.25e6, 100_000.0, 5, false);
            assert_eq!(seen.most[0], most);
        }
        // The most of the five round trips before counts, too.
        for round in 0..10 {
            assert_eq!(seen.extra(1.25e6), 14_000.0, "{round}");
            seen.update(at(1200 + 100 * round), 1_000.0, 1.25e6, 100_000.0, 5, true);
        }
        assert_eq!(seen.extra(1.25e6), 1_000.0);
        // No more than 100 ms of the bandwidth.
        assert_eq!(seen.extra(5_000.0), 500.0);
    }

    /// 10 Mbit/s over 100 ms are 125 segments. In Linux: 125 and three quanta of two segments are 131, and 132 the even number; 250 + 6
    /// of window; while it probes 157 + 6 and two more.
    #[test]
    fn windows_of_linux_are_even_numbers_of_segments() {
        let mut path = Path::probing();
        path.bbr.params.whole_segments = true;
        path.bbr.state = State::ProbeBw { phase: 3, since: Instant::ZERO };
        assert_eq!(path.bbr.inflight(1.0), 132_000.0);
        assert_eq!(path.bbr.inflight(2.0), 256_000.0);
        assert_eq!(path.bbr.inflight_at(1.25e6, 2.0, 3_999.0), 260_000.0);
        path.bbr.state = State::ProbeBw { phase: 0, since: Instant::ZERO };
        assert_eq!(path.bbr.inflight(1.25), 166_000.0);
    }

    /// bbr_packets_in_net_at_edt(): in 4 ms five segments are delivered at 10 Mbit/s; two are to leave while it probes.
    #[test]
    fn what_is_in_flight_counts_at_the_next_departure_in_linux() {
        let mut path = Path::probing();
        for (at_departure, probing, cruising) in [(false, 100_000.0, 100_000.0), (true, 97_000.0, 95_000.0)] {
            path.bbr.params.in_flight_at_departure = at_departure;
            let ack = path.ack(1, 10.0);
            let ack = Ack { next_departure: ack.now + Duration::from_micros(4_500), ..ack };
            path.bbr.state = State::ProbeBw { phase: 0, since: Instant::ZERO };
            assert_eq!(path.bbr.in_flight_at_departure(&ack, 100_000), probing);
            path.bbr.state = State::ProbeBw { phase: 1, since: Instant::ZERO };
            assert_eq!(path.bbr.in_flight_at_departure(&ack, 100_000), cruising);
        }
    }

    /// A quarter is lost of what a policer lets through at 6 Mbit/s: after two intervals of four round trips its rate is kept for 48
    /// round trips, without probes. An interval begins with a loss and ends with one.
    #[test]
    fn a_policer_is_found_by_two_lossy_intervals_in_linux() {
        let mut path = Path { bbr: Bbr::new(BbrParams::linux(), &setup(10 * MSS, None)), ..Path::new() };
        let mut policed_at = vec![];
        for round in 0..70u64 {
            path.now_ms += 100;
            path.prior_delivered = path.delivered;
            path.delivered += 75_000;
            path.bbr.lost += 25_000;
            let mut ack = path.ack(75, 6.0);
            (ack.acked, ack.in_flight) = (75_000, 75_000);
            if let Some(sample) = &mut ack.delivery {
                sample.newly_lost = 25_000;
            }
            path.bbr.on_ack(&ack);
            if path.bbr.policer.in_use {
                policed_at.push(round);
                assert!((path.bbr.bandwidth() - 0.75e6).abs() < 1.0, "{}", path.bbr.bandwidth());
                if matches!(path.bbr.state, State::ProbeBw { .. }) {
                    assert_eq!(path.bbr.pacing_gain(), 1.0);
                }
            }
        }
        // The first round trip begins the interval and counts; the second interval ends four later.
        assert_eq!(policed_at.first(), Some(&7));
        assert!(policed_at.len() >= 48 && policed_at.len() < 62, "{policed_at:?}");
        // A tenth is no policer's.
        let mut path = Path { bbr: Bbr::new(BbrParams::linux(), &setup(10 * MSS, None)), ..Path::new() };
        for _ in 0..30 {
            path.bbr.lost += 1_000;
            path.round_with(6.0, |ack| ack.delivery.as_mut().unwrap().newly_lost = 1_000);
            assert!(!path.bbr.policer.in_use);
        }
    }

    /// bbr_undo_cwnd(), bbr_set_state(): two rounds without a quarter more; an undo forgets both, a timeout the bandwidth.
    #[test]
    fn the_full_pipe_is_looked_for_anew_after_an_undo_in_linux() {
        for (kind, anew, rounds) in [
            (CongestionKind::Spurious, false, 1),
            (CongestionKind::Spurious, true, 4),
            (CongestionKind::Timeout, false, 1),
            (CongestionKind::Timeout, true, 4),
        ] {
            let mut path = Path::new();
            path.bbr.params.full_pipe_anew = anew;
            path.bbr.on_established(Instant::ZERO, Some(Duration::from_millis(RTT_MS)));
            for _ in 0..3 {
                path.round(8.0);
                assert_eq!(path.bbr.state, State::Startup);
            }
            path.bbr.on_congestion(&event(CongestionKind::Loss, 10_000));
            path.bbr.on_congestion(&event(kind, 10_000));
            let mut more = 0;
            while path.bbr.state == State::Startup {
                path.round(8.0);
                more += 1;
            }
            assert_eq!(more, rounds, "{kind:?} {anew}");
        }
    }

    #[test]
    fn the_margin_of_later_versions_can_be_set() {
        let params = BbrParams { pacing_margin: 0.01, ..BbrParams::default() };
        let mut path = Path { bbr: Bbr::new(params, &setup(10 * MSS, None)), ..Path::new() };
        path.bbr.on_established(Instant::ZERO, Some(Duration::from_millis(RTT_MS)));
        path.round(10.0);
        assert!((path.pacing_mbit() - 28.9 * 0.99).abs() < 1e-4);
    }
}
