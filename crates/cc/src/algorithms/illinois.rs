//! Illinois: loss decides that the window is cut, queueing delay by how much, and how fast it grows: fast and cut little while
//! the queue is short. S. Liu, T. Basar, R. Srikant: TCP-Illinois: A loss- and delay-based congestion control algorithm
//! for high-speed networks, VALUETOOLS 2006 and Performance Evaluation 65, 2008.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::{half_flight, keep};
use crate::round_rtt::{RoundRtt, RttOfRound};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Inspection, Setup, Window};
use longhaul_units::Duration;

/// Parameters of [`Illinois`]. Delays are shares of d_m, the largest queueing delay seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IllinoisParams {
    /// Increase when the queue is longest.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-unit" = "segments per RTT"))]
    pub alpha_min: f64,
    /// Increase when there is no queue.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-unit" = "segments per RTT"))]
    pub alpha_max: f64,
    /// Decrease upon loss when the queue is short.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta_min: f64,
    /// Decrease upon loss when the queue is long.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta_max: f64,
    /// d_1 / d_m: up to this delay alpha is alpha_max.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the largest delay"))]
    pub eta1: f64,
    /// d_2 / d_m: up to this delay beta is beta_min.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the largest delay"))]
    pub eta2: f64,
    /// d_3 / d_m: from this delay on beta is beta_max.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share of the largest delay"))]
    pub eta3: f64,
    /// W_thresh: smaller windows behave as standard TCP's.
    #[schemars(extend("minimum" = 0, "maximum" = 1e9, "x-unit" = "segments"))]
    pub win_thresh: f64,
    /// Round trips with a delay of at most d_1 before alpha goes back to alpha_max.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000, "x-unit" = "RTTs"))]
    pub theta: u32,
    /// What an ACK counts for: the bytes that it covers or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for IllinoisParams {
    /// The paper's section 3.3: alpha 0.3 to 10, beta 1/8 to 1/2, d_1, d_2, d_3 at 0.01, 0.1, 0.8, W_thresh 15, theta 5.
    fn default() -> Self {
        IllinoisParams {
            alpha_min: 0.3,
            alpha_max: 10.0,
            beta_min: 0.125,
            beta_max: 0.5,
            eta1: 0.01,
            eta2: 0.1,
            eta3: 0.8,
            win_thresh: 15.0,
            theta: 5,
            counting: Counting::Bytes,
        }
    }
}

impl Spec for IllinoisParams {
    const NAME: &'static str = "illinois";
    const SOURCE: &'static str = "Liu, Basar and Srikant 2006";
    const SUMMARY: &'static str =
        "AIMD whose increase falls and whose decrease rises with the queueing delay";

    fn check(&self) -> Result<(), String> {
        for (low, high, names) in [
            (self.alpha_min, self.alpha_max, ["alpha_max", "alpha_min"]),
            (self.beta_min, self.beta_max, ["beta_max", "beta_min"]),
        ] {
            if high < low {
                return Err(format!("{} must be at least {} ({low}), not {high}", names[0], names[1]));
            }
        }
        if self.eta3 <= self.eta2 {
            return Err(format!("eta3 must be above eta2 ({}), not {}", self.eta2, self.eta3));
        }
        Ok(())
    }
}

impl AlgorithmSpec for IllinoisParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Illinois::new(self.clone()), setup)
    }
}

/// Congestion avoidance of TCP-Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    params: IllinoisParams,
    rounds: RoundRtt,
    largest_rtt: Duration,
    /// Segments gained per round trip.
    alpha: f64,
    /// Share of the window that a loss takes.
    beta: f64,
    /// The delay has exceeded d_1 since alpha was alpha_max.
    was_above: bool,
    /// Round trips with a delay of at most d_1 since.
    low_rounds: u32,
}

impl Illinois {
    fn new(params: IllinoisParams) -> Self {
        Illinois {
            alpha: params.alpha_max,
            beta: params.beta_max,
            params,
            rounds: RoundRtt::new(),
            largest_rtt: Duration::ZERO,
            was_above: false,
            low_rounds: 0,
        }
    }

    fn is_small(&self, segments: f64) -> bool {
        segments < self.params.win_thresh
    }

    /// Once per round trip: alpha and beta from the mean RTT.
    fn end_round(&mut self, rtt: Duration) {
        let base = self.rounds.base().as_secs_f64();
        let d_a = (rtt.as_secs_f64() - base).max(0.0);
        let d_m = (self.largest_rtt.as_secs_f64() - base).max(0.0);
        self.update_alpha(d_a, d_m);
        self.beta = self.beta_of(d_a, d_m);
    }

    /// alpha = alpha_max after theta round trips at or below d_1; until then as it was.
    fn update_alpha(&mut self, d_a: f64, d_m: f64) {
        if d_a > self.params.eta1 * d_m {
            (self.was_above, self.low_rounds) = (true, 0);
            self.alpha = self.alpha_of(d_a, d_m);
            return;
        }
        self.low_rounds += 1;
        if !self.was_above || self.low_rounds >= self.params.theta {
            (self.was_above, self.low_rounds) = (false, 0);
            self.alpha = self.params.alpha_max;
        }
    }

    /// alpha = kappa_1 / (kappa_2 + d_a) above d_1, with kappa_1 = (d_m - d_1) alpha_min alpha_max / (alpha_max - alpha_min)
    /// and kappa_2 = (d_m - d_1) alpha_min / (alpha_max - alpha_min) - d_1; both sides multiplied by (alpha_max - alpha_min) /
    /// alpha_min, so that equal bounds do not divide by zero.
    fn alpha_of(&self, d_a: f64, d_m: f64) -> f64 {
        let IllinoisParams { alpha_min, alpha_max, eta1, .. } = self.params;
        let d_1 = eta1 * d_m;
        (d_m - d_1) * alpha_max / ((d_m - d_1) + (d_a - d_1) * (alpha_max - alpha_min) / alpha_min)
    }

    /// beta_min up to d_2, beta_max from d_3 on, kappa_3 + kappa_4 d_a between: a straight line.
    fn beta_of(&self, d_a: f64, d_m: f64) -> f64 {
        let IllinoisParams { beta_min, beta_max, eta2, eta3, .. } = self.params;
        if d_a <= eta2 * d_m {
            return beta_min;
        }
        let place = (d_a - eta2 * d_m) / ((eta3 - eta2) * d_m);
        beta_min + (beta_max - beta_min) * place.min(1.0)
    }
}

impl Avoidance for Illinois {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.number("alpha", self.alpha);
        inspection.number("beta", self.beta);
        inspection.time("RTT_max", Some(self.largest_rtt));
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.largest_rtt = self.largest_rtt.max(rtt);
        }
        if let Some(rtt) = self.rounds.observe(ack).and_then(|round| round.rtt(RttOfRound::Mean)) {
            self.end_round(rtt);
        }
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let alpha = if self.is_small(window.segments()) { 1.0 } else { self.alpha };
        self.params.counting.additive_increase(alpha, window, ack)
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let small = self.is_small(event.flight_size as f64 / window.mss);
        keep(if small { 0.5 } else { 1.0 - self.beta }, event, window.mss)
    }

    /// Standard TCP until the next round trip was measured.
    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        (self.alpha, self.beta, self.was_above, self.low_rounds) = (1.0, 0.5, false, 0);
        self.rounds.forget();
        half_flight(event.flight_size, window.mss)
    }

    fn idle(&mut self) {
        self.rounds.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack_at, event, policy, setup};

    #[test]
    fn alpha_and_beta_follow_the_paper() {
        // Liu, Basar and Srikant, section 3: d_m = 100 ms, so d_1 = 1, d_2 = 10, d_3 = 80 ms. kappa_1 = 99 * 0.3 * 10 / 9.7 = 30.619,
        // kappa_2 = 99 * 0.3 / 9.7 - 1 = 2.0619: alpha(50) = 30.619 / 52.062 = 0.5881. kappa_3 = (0.125 * 80 - 0.5 * 10) / 70 = 0.0714,
        // kappa_4 = 0.375 / 70 per ms: beta(45) = 0.3125.
        let rule = Illinois::new(IllinoisParams::default());
        let cases = [
            (1.0, 10.0, 0.125),
            (2.0, 7.5380, 0.125),
            (10.0, 2.5385, 0.125),
            (45.0, 0.6506, 0.3125),
            (50.0, 0.5881, 0.3393),
            (80.0, 0.3731, 0.5),
            (100.0, 0.3, 0.5),
        ];
        for (d_a, alpha, beta) in cases {
            let (got_alpha, got_beta) = (rule.alpha_of(d_a, 100.0), rule.beta_of(d_a, 100.0));
            assert!((got_alpha - alpha).abs() < 1e-4, "alpha({d_a}) = {got_alpha}");
            assert!((got_beta - beta).abs() < 1e-4, "beta({d_a}) = {got_beta}");
        }
    }

    /// Round trips of one ACK each, which covers a window: it brings alpha segments.
    fn rounds(policy: &mut dyn CongestionControl, now: &mut u64, rtts: &[u64]) {
        for &rtt in rtts {
            *now += rtt;
            let rtt = Some(Duration::from_millis(rtt));
            policy.on_ack(&Ack { rtt, round_start: true, ..ack_at(*now, policy.window()) });
        }
    }

    #[test]
    fn without_a_queue_it_is_fast_and_cuts_an_eighth() {
        let mut policy = policy(r#""illinois""#, r#""standard""#, &setup(100 * MSS, Some(100 * MSS)));
        let mut now = 0;
        rounds(&mut *policy, &mut now, &[100, 100, 100]);
        let before = policy.window();
        rounds(&mut *policy, &mut now, &[100]);
        assert_eq!(policy.window() - before, 10_000);
        policy.on_congestion(&event(CongestionKind::Loss, 100_000));
        assert_eq!(policy.window(), 87_500);
    }

    #[test]
    fn a_long_queue_slows_it_down_for_theta_round_trips() {
        let mut policy = policy(r#""illinois""#, r#""standard""#, &setup(1000 * MSS, Some(1000 * MSS)));
        let mut now = 0;
        // The mean of a round is known when the next one begins; d_m becomes 100 ms.
        rounds(&mut *policy, &mut now, &[100, 100, 200]);
        let mut gains = Vec::new();
        for rtt in [100, 100, 100, 100, 100, 100, 100] {
            let before = policy.window();
            rounds(&mut *policy, &mut now, &[rtt]);
            gains.push(policy.window() - before);
        }
        // Bytes. The first of these ACKs ends the round of 200 ms: alpha_min. Five low rounds bring alpha_max back.
        assert_eq!(gains, [300, 300, 300, 300, 300, 10_000, 10_000]);
        policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
        assert_eq!(policy.window(), 875_000);
    }

    #[test]
    fn small_windows_and_timeouts_are_reno() {
        let mut policy = policy(r#""illinois""#, r#""standard""#, &setup(10 * MSS, Some(10 * MSS)));
        let mut now = 0;
        rounds(&mut *policy, &mut now, &[100, 100]);
        let before = policy.window();
        rounds(&mut *policy, &mut now, &[100]);
        assert_eq!(policy.window() - before, 1000);
        policy.on_congestion(&event(CongestionKind::Loss, 10_000));
        assert_eq!(policy.window(), 5000);
        policy.on_congestion(&event(CongestionKind::Timeout, 5000));
        assert_eq!(policy.ssthresh(), 2500);
    }

    #[test]
    fn contradictions_are_refused() {
        for (json, message) in [
            (r#""alpha_max": 0.1"#, "illinois: alpha_max must be at least alpha_min (0.3), not 0.1"),
            (r#""beta_max": 0.1"#, "illinois: beta_max must be at least beta_min (0.125), not 0.1"),
            (r#""eta3": 0.1"#, "illinois: eta3 must be above eta2 (0.1), not 0.1"),
        ] {
            let json = format!(r#"{{"kind": "illinois", {json}}}"#);
            let error = serde_json::from_str::<crate::Algorithm>(&json).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
