//! H-TCP: the longer since the last congestion event, the faster the window grows; what a loss takes depends on how long the
//! queue was. D. Leith, R. Shorten: H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004, and
//! draft-leith-tcp-htcp-06.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::{half_flight, keep};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Inspection, Setup, Window};
use longhaul_units::{Duration, Instant};

/// Parameters of [`Htcp`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HtcpParams {
    /// Delta_L: so long after a congestion event the window grows as standard TCP's.
    pub delta_l: Duration,
    /// Adaptive backoff: keep RTT_min / RTT_max of the window upon loss, so that the queue just empties; otherwise half.
    #[schemars(extend("x-unit" = "true or false"))]
    pub adaptive_backoff: bool,
    /// The least that adaptive backoff keeps.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta_min: f64,
    /// The most that adaptive backoff keeps.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta_max: f64,
    /// Keep only `beta_min` when the throughput since the last event differs by more than this from the one before: others
    /// have come or gone.
    #[schemars(extend("minimum" = 0, "maximum" = 1000, "x-unit" = "share of the throughput"))]
    pub throughput_change: f64,
    /// RTT scaling: gain RTT / RTT_ref times as much per round trip, so that flows of different round trips grow alike in time.
    #[schemars(extend("x-unit" = "true or false"))]
    pub rtt_scaling: bool,
    /// RTT_ref of RTT scaling. The factor stays between 0.1 and 2.
    pub rtt_ref: Duration,
    /// What an ACK counts for: the bytes that it covers or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for HtcpParams {
    /// Delta_L 1 s, adaptive backoff between 1/2 and 0.8, a change of 20 %, RTT scaling with 100 ms (Linux; FreeBSD has both
    /// options off).
    fn default() -> Self {
        HtcpParams {
            delta_l: Duration::from_secs(1),
            adaptive_backoff: true,
            beta_min: 0.5,
            beta_max: 0.8,
            throughput_change: 0.2,
            rtt_scaling: true,
            rtt_ref: Duration::from_millis(100),
            counting: Counting::Bytes,
        }
    }
}

impl Spec for HtcpParams {
    const NAME: &'static str = "htcp";
    const SOURCE: &'static str = "draft-leith-tcp-htcp-06";
    const SUMMARY: &'static str =
        "grows the faster the longer ago congestion was; adaptive backoff by RTT_min / RTT_max";

    fn check(&self) -> Result<(), String> {
        if self.beta_max < self.beta_min {
            return Err(format!(
                "beta_max must be at least beta_min ({}), not {}",
                self.beta_min, self.beta_max
            ));
        }
        if self.rtt_ref.is_zero() {
            return Err("rtt_ref must be above 0 s".to_string());
        }
        Ok(())
    }
}

impl AlgorithmSpec for HtcpParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Htcp::new(self.clone()), setup)
    }
}

/// The largest throughput since the last congestion event, smoothed over round trips.
#[derive(Clone, Copy, Debug)]
struct Throughput {
    round_began: Instant,
    /// Bytes acknowledged in this round trip.
    acked: f64,
    rounds: u32,
    /// Bytes per second.
    smoothed: f64,
    largest: f64,
}

impl Throughput {
    const NONE: Throughput =
        Throughput { round_began: Instant::ZERO, acked: 0.0, rounds: 0, smoothed: 0.0, largest: 0.0 };

    /// `now` by [`Window::time_in_flight`].
    fn observe(&mut self, now: Instant, ack: &Ack) {
        self.acked += ack.acked as f64;
        if ack.round_start {
            let time = now.since(self.round_began).as_secs_f64();
            if time > 0.0 && self.round_began > Instant::ZERO && !ack.in_recovery {
                self.end_round(self.acked / time);
            }
            (self.round_began, self.acked) = (now, 0.0);
        }
    }

    /// The first round trips after an event start the average anew: recovery has disturbed them.
    fn end_round(&mut self, rate: f64) {
        self.rounds += 1;
        if self.rounds <= 3 {
            (self.smoothed, self.largest) = (rate, rate);
        } else {
            self.smoothed = (3.0 * self.smoothed + rate) / 4.0;
            self.largest = self.largest.max(self.smoothed);
        }
    }
}

/// Congestion avoidance of H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: HtcpParams,
    /// The last congestion event by [`Window::time_in_use`], or the first ACK.
    event: Option<Instant>,
    /// beta: what the last event left of the window.
    beta: f64,
    rtt_min: Duration,
    /// The largest RTT; fades by 5 % of its distance from the least at each event, since routes change.
    rtt_max: Duration,
    throughput: Throughput,
    /// B(k): the largest throughput between the last two events, in bytes per second.
    throughput_before: Option<f64>,
}

impl Htcp {
    fn new(params: HtcpParams) -> Self {
        Htcp {
            beta: params.beta_min,
            params,
            event: None,
            rtt_min: Duration::MAX,
            rtt_max: Duration::ZERO,
            throughput: Throughput::NONE,
            throughput_before: None,
        }
    }

    /// alpha(Delta): 1 up to Delta_L, then 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L) / 2)^2, in segments per round trip.
    fn alpha_of(&self, delta: Duration) -> f64 {
        let over = (delta.as_secs_f64() - self.params.delta_l.as_secs_f64()).max(0.0);
        1.0 + 10.0 * over + 0.25 * over * over
    }

    /// RTT / RTT_ref within its bounds.
    fn rtt_factor(&self) -> f64 {
        if !self.params.rtt_scaling || self.rtt_min == Duration::MAX {
            return 1.0;
        }
        (self.rtt_min.as_secs_f64() / self.params.rtt_ref.as_secs_f64()).clamp(0.1, 2.0)
    }

    /// 2 (1 - beta) alpha(Delta): with that a flow that backs off by less also grows by less.
    fn alpha(&self, now: Instant) -> f64 {
        let delta = self.event.map_or(Duration::ZERO, |event| now.since(event));
        let alpha = (self.alpha_of(delta) * self.rtt_factor()).max(1.0);
        2.0 * (1.0 - self.beta) * alpha
    }

    /// beta = RTT_min / RTT_max, or its least if the throughput has changed since the event before.
    fn adapt_beta(&mut self) {
        let now = self.throughput.largest;
        let steady = self
            .throughput_before
            .is_some_and(|before| (now - before).abs() <= self.params.throughput_change * before);
        self.throughput_before = Some(now);
        let measured = self.rtt_max > Duration::ZERO;
        self.beta = if self.params.adaptive_backoff && steady && measured {
            let ratio = self.rtt_min.as_secs_f64() / self.rtt_max.as_secs_f64();
            ratio.clamp(self.params.beta_min, self.params.beta_max)
        } else {
            self.params.beta_min
        };
    }

    fn begin_epoch(&mut self, now: Instant) {
        self.event = Some(now);
        self.throughput = Throughput::NONE;
        if self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + (self.rtt_max - self.rtt_min).mul_f64(0.95);
        }
    }
}

impl Avoidance for Htcp {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.number("beta", self.beta);
        inspection.time("RTT_min", Some(self.rtt_min));
        inspection.time("RTT_max", Some(self.rtt_max));
        inspection.byte_rate("throughput", self.throughput.smoothed);
    }

    fn observe(&mut self, window: &Window, ack: &Ack) {
        self.event.get_or_insert(window.time_in_use(ack.now));
        self.throughput.observe(window.time_in_flight(ack.now), ack);
        if let Some(rtt) = ack.rtt {
            self.rtt_min = self.rtt_min.min(rtt);
            if !ack.in_recovery {
                self.rtt_max = self.rtt_max.max(rtt);
            }
        }
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        self.params.counting.additive_increase(self.alpha(window.time_in_use(ack.now)), window, ack)
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        self.adapt_beta();
        self.begin_epoch(window.time_in_use(event.now));
        keep(self.beta, event, window.mss)
    }

    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        self.begin_epoch(window.time_in_use(event.now));
        self.beta = self.params.beta_min;
        half_flight(event.flight_size, window.mss)
    }

    /// The throughput of before is no measure of what comes.
    fn idle(&mut self) {
        self.throughput = Throughput::NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack_at, event, policy, setup};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn alpha_grows_with_the_time_since_congestion() {
        // draft-leith-tcp-htcp-06: 1 + 10 (Delta - Delta_L) + 0.25 (Delta - Delta_L)^2 with Delta_L = 1 s.
        let rule = Htcp::new(HtcpParams::default());
        for (delta, alpha) in [(0, 1.0), (1000, 1.0), (1500, 6.0625), (2000, 11.25), (11_000, 126.0)] {
            assert!((rule.alpha_of(ms(delta)) - alpha).abs() < 1e-9, "at {delta} ms");
        }
    }

    /// Delta counts from the first ACK, not from the beginning of all time, and leaves out what RFC 9438 section 4.2 leaves out.
    #[test]
    fn time_without_use_of_the_window_is_no_time_without_congestion() {
        let gained = |first_ms: u64, pause_ms: u64| {
            let fixed = r#"{"kind": "htcp", "rtt_scaling": false}"#;
            let mut policy = policy(fixed, r#""standard""#, &setup(100 * MSS, Some(100 * MSS)));
            policy.on_ack(&ack_at(first_ms, MSS));
            let again = Instant::ZERO + ms(first_ms + pause_ms);
            policy.on_transmission_start(again, ms(pause_ms));
            policy.on_ack(&ack_at(first_ms + pause_ms + 500, MSS));
            policy.window() - 100 * MSS
        };
        // alpha stays 1 for Delta_L = 1 s: two ACKs of a hundredth each (beta 1/2).
        assert_eq!(gained(0, 0), 19);
        assert_eq!(gained(0, 60_000), 19);
        assert_eq!(gained(60_000, 0), 19);
    }

    #[test]
    fn alpha_is_scaled_by_backoff_and_round_trip() {
        // 2 (1 - beta) alpha(Delta): 2 s after a cut to 0.8, 0.4 * 11.25 = 4.5. RTT scaling: RTT / 100 ms, within 0.1 and 2.
        let mut rule = Htcp::new(HtcpParams::default());
        rule.beta = 0.8;
        rule.event = Some(Instant::ZERO);
        let now = Instant::ZERO + ms(2000);
        for (rtt, alpha) in [(100, 4.5), (50, 2.25), (150, 6.75), (600, 9.0), (1, 0.45)] {
            rule.rtt_min = ms(rtt);
            assert!((rule.alpha(now) - alpha).abs() < 1e-9, "{} at {rtt} ms", rule.alpha(now));
        }
        rule.params.rtt_scaling = false;
        assert!((rule.alpha(now) - 4.5).abs() < 1e-9);
    }

    /// Rounds of one ACK of a window each, of `rtt` ms, `base` ms the least.
    fn run(policy: &mut dyn CongestionControl, now: &mut u64, rounds: u64, rtt: u64) {
        for _ in 0..rounds {
            *now += rtt;
            let acked = policy.window();
            policy.on_ack(&Ack {
                rtt: Some(ms(rtt)),
                srtt: ms(rtt),
                round_start: true,
                ..ack_at(*now, acked)
            });
        }
    }

    fn lose(policy: &mut dyn CongestionControl, now: u64) -> f64 {
        let flight_size = policy.window();
        let now = Instant::ZERO + ms(now);
        policy.on_congestion(&Congestion { now, ..event(CongestionKind::Loss, flight_size) });
        policy.window() as f64 / flight_size as f64
    }

    #[test]
    fn backs_off_by_the_ratio_of_round_trips_when_throughput_is_steady() {
        // beta = RTT_min / RTT_max within [0.5, 0.8]: 100 / 140; after the first event, when nothing is known of the throughput
        // before it, a half.
        let fixed = r#"{"kind": "htcp", "rtt_scaling": false}"#;
        let mut policy = policy(fixed, r#""standard""#, &setup(1000 * MSS, Some(1000 * MSS)));
        let mut now = 0;
        run(&mut *policy, &mut now, 5, 100);
        run(&mut *policy, &mut now, 2, 140);
        assert!((lose(&mut *policy, now) - 0.5).abs() < 1e-5);
        // 500 segments instead of 1000: a change of a half.
        run(&mut *policy, &mut now, 5, 100);
        assert!((lose(&mut *policy, now) - 0.5).abs() < 1e-5);
        // Now 250 to 255: less than a fifth less would be 200. The maximum has faded to 100 + 40 * 0.95^2 = 136.1 ms.
        run(&mut *policy, &mut now, 5, 100);
        lose(&mut *policy, now);
        run(&mut *policy, &mut now, 5, 50); // twice the throughput of half the window
        let kept = lose(&mut *policy, now);
        assert!((kept - 0.5).abs() < 1e-5, "{kept}"); // 50 / 130 is below the least
    }

    #[test]
    fn keeps_at_most_four_fifths() {
        let mut rule = Htcp::new(HtcpParams::default());
        for (rtt_min, rtt_max, beta) in [(100, 140, 0.714_286), (100, 110, 0.8), (100, 300, 0.5)] {
            (rule.rtt_min, rule.rtt_max) = (ms(rtt_min), ms(rtt_max));
            rule.throughput.largest = 1e6;
            rule.throughput_before = Some(1.1e6);
            rule.adapt_beta();
            assert!((rule.beta - beta).abs() < 1e-6, "{}", rule.beta);
        }
        // B(k) 1e6, B(k+1) 1.3e6: 30 % more.
        rule.throughput.largest = 1.3e6;
        (rule.rtt_min, rule.rtt_max) = (ms(100), ms(110));
        rule.adapt_beta();
        assert_eq!(rule.beta, 0.5);
        rule.params.adaptive_backoff = false;
        rule.adapt_beta();
        assert_eq!(rule.beta, 0.5);
    }

    #[test]
    fn contradictions_are_refused() {
        let read = |json: &str| serde_json::from_str::<crate::Algorithm>(json).unwrap_err().to_string();
        assert_eq!(
            read(r#"{"kind": "htcp", "beta_max": 0.4}"#),
            "htcp: beta_max must be at least beta_min (0.5), not 0.4"
        );
        assert_eq!(read(r#"{"kind": "htcp", "rtt_ref": "0 s"}"#), "htcp: rtt_ref must be above 0 s");
    }

    #[test]
    fn the_throughput_is_averaged_from_the_fourth_round_trip_on() {
        let mut throughput = Throughput::NONE;
        for (rate, smoothed, largest) in
            [(400.0, 400.0, 400.0), (200.0, 200.0, 200.0), (300.0, 300.0, 300.0), (100.0, 250.0, 300.0)]
        {
            throughput.end_round(rate);
            assert_eq!((throughput.smoothed, throughput.largest), (smoothed, largest), "after {rate}");
        }
    }

    #[test]
    fn without_a_round_trip_time_beta_is_its_least() {
        let mut rule = Htcp { throughput_before: Some(0.0), beta: 0.8, ..Htcp::new(HtcpParams::default()) };
        rule.adapt_beta();
        assert_eq!(rule.beta, 0.5);
    }
}
