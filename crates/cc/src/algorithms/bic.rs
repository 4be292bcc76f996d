//! BIC: after a loss a binary search for the window at which it happened, in steps of at most max_increment. L. Xu, K.
//! Harfoush, I. Rhee: Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks, INFOCOM 2004; steps and
//! names of parameters as in Linux, which is by the same authors and smooths the search near its end.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::{half_flight, keep};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Inspection, Setup, Window};

/// Parameters of [`Bic`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BicParams {
    /// S_max: the largest step. 16 in Linux, 32 in the paper.
    #[schemars(extend("minimum" = 1, "maximum" = 100_000, "x-unit" = "segments per RTT"))]
    pub max_increment: f64,
    /// Up to here the rules are standard TCP's.
    #[schemars(extend("minimum" = 0, "maximum" = 1e9, "x-unit" = "segments"))]
    pub low_window: f64,
    /// What is left of the window upon loss: 819/1024 in Linux, 0.875 in the paper.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta: f64,
    /// BICTCP_B: a step is the distance to the old maximum over this. 4 in Linux; 2, true bisection, in the paper.
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 1000, "x-unit" = "steps per distance"))]
    pub search_divisor: f64,
    /// Round trips from `search_divisor` segments below the old maximum to the maximum, and again to as far above it.
    #[schemars(extend("minimum" = 1, "maximum" = 100_000, "x-unit" = "RTTs"))]
    pub smooth_part: f64,
    /// Take less than the window at a loss for the maximum when it is below the last one, so that newcomers find room.
    #[schemars(extend("x-unit" = "true or false"))]
    pub fast_convergence: bool,
    /// Before the first loss, gain at least this share of the window per round trip.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "share of the window per RTT"))]
    pub growth_before_loss: f64,
    /// What an ACK counts for: the bytes that it covers or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for BicParams {
    /// Linux's. Its initial ssthresh of 100 packets is `tcp.initial_ssthresh` here.
    fn default() -> Self {
        BicParams {
            max_increment: 16.0,
            low_window: 14.0,
            beta: 0.8,
            search_divisor: 4.0,
            smooth_part: 20.0,
            fast_convergence: true,
            growth_before_loss: 0.05,
            counting: Counting::Bytes,
        }
    }
}

impl Spec for BicParams {
    const NAME: &'static str = "bic";
    const SOURCE: &'static str = "Xu, Harfoush and Rhee 2004";
    const SUMMARY: &'static str = "binary search for the window of the last loss, then probing beyond it";
}

impl AlgorithmSpec for BicParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Bic { params: self.clone(), last_max: None }, setup)
    }
}

/// Congestion avoidance of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    params: BicParams,
    /// W_max: the window at the last loss, lowered by fast convergence, in segments; `None` before a loss and after a
    /// timeout.
    last_max: Option<f64>,
}

impl Bic {
    /// Segments to gain in a round trip that begins with a window of `w` segments.
    fn step(&self, w: f64) -> f64 {
        let BicParams { max_increment, search_divisor, smooth_part, .. } = self.params;
        if w <= self.params.low_window {
            return 1.0;
        }
        let smooth = search_divisor / smooth_part;
        let Some(last_max) = self.last_max else {
            return max_increment.max(self.params.growth_before_loss * w);
        };
        if w < last_max {
            // Additive increase far below the maximum, binary search, then slowly over the last segments.
            let distance = (last_max - w) / search_divisor;
            if distance > 1.0 { distance.min(max_increment) } else { smooth }
        } else {
            // The maximum has moved: probing mirrors the search, slowly at first.
            let beyond = w - last_max;
            if beyond < search_divisor {
                smooth
            } else {
                (beyond / (search_divisor - 1.0)).min(max_increment)
            }
        }
    }
}

impl Avoidance for Bic {
    fn inspect(&self, window: &Window, inspection: &mut Inspection) {
        if let Some(last_max) = self.last_max {
            inspection.segments("W_max", last_max, window.mss);
        }
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        self.params.counting.additive_increase(self.step(window.segments()), window, ack)
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let w = event.flight_size as f64 / window.mss;
        let shrinking = self.last_max.is_some_and(|last_max| w < last_max);
        let converging = shrinking && self.params.fast_convergence;
        self.last_max = Some(if converging { w * (1.0 + self.params.beta) / 2.0 } else { w });
        keep(if w <= self.params.low_window { 0.5 } else { self.params.beta }, event, window.mss)
    }

    /// The search begins anew, without a maximum.
    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        self.last_max = None;
        half_flight(event.flight_size, window.mss)
    }

    fn rescale(&mut self, by: f64) {
        self.last_max = self.last_max.map(|segments| segments * by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack, event, policy, setup};

    fn bic(segments: u64) -> Box<dyn CongestionControl> {
        policy(r#""bic""#, r#""standard""#, &setup(segments * MSS, Some(segments * MSS)))
    }

    /// Round trips of one ACK per segment until the window has reached `target` segments.
    fn rounds_to(policy: &mut dyn CongestionControl, target: u64) -> u32 {
        for round in 1..10_000 {
            for _ in 0..policy.window() / MSS {
                policy.on_ack(&ack());
            }
            if policy.window() >= target * MSS {
                return round;
            }
        }
        panic!("{} segments at most", policy.window() / MSS);
    }

    #[test]
    fn steps_by_their_distance_from_the_maximum() {
        // Linux's bictcp_update with B = 4, smooth_part = 20, max_increment = 16, low_window = 14.
        let rule = Bic { params: BicParams::default(), last_max: Some(1000.0) };
        let steps = [
            (14.0, 1.0),   // standard TCP
            (800.0, 16.0), // distance 200 / 4 = 50: additive increase
            (936.0, 16.0), // 64 / 4
            (960.0, 10.0), // 40 / 4
            (992.0, 2.0),  // 8 / 4
            (997.0, 0.2),  // within 4: 4 / 20
            (1000.0, 0.2),
            (1003.0, 0.2),
            (1009.0, 3.0),  // 9 / (4 - 1)
            (1048.0, 16.0), // 48 / 3
            (2000.0, 16.0),
        ];
        for (w, step) in steps {
            assert!((rule.step(w) - step).abs() < 1e-9, "{} at {w}", rule.step(w));
        }
    }

    #[test]
    fn with_the_papers_parameters_it_bisects() {
        // Xu, Harfoush and Rhee 2004, section III: the next window is the midpoint, steps of at most S_max = 32.
        let params = BicParams { max_increment: 32.0, search_divisor: 2.0, ..BicParams::default() };
        let rule = Bic { params, last_max: Some(1000.0) };
        for (w, step) in [(875.0, 32.0), (940.0, 30.0), (970.0, 15.0), (990.0, 5.0)] {
            assert_eq!(rule.step(w), step);
        }
    }

    #[test]
    fn takes_smooth_part_round_trips_for_the_last_four_segments() {
        // Linux, on smooth_part: "# of RTT from Wmax-B to Wmax".
        let mut policy = bic(1000);
        policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
        assert_eq!(policy.window(), 800_000);
        // (936 - 800) / 16 = 8.5; ACK by ACK, the distance falls by a quarter of itself a round trip: 4 ln(64 / 4) = 11.1.
        let rounds = rounds_to(&mut *policy, 996);
        assert!((19..=21).contains(&rounds), "{rounds}");
        let rounds = rounds_to(&mut *policy, 1000);
        assert!((18..=21).contains(&rounds), "{rounds}");
    }

    #[test]
    fn fast_convergence_lowers_the_maximum() {
        for (fast_convergence, maximum) in [(true, 720.0), (false, 800.0)] {
            let mut rule =
                Bic { params: BicParams { fast_convergence, ..BicParams::default() }, last_max: None };
            let window = crate::testing::window_at(1e6, 1e6);
            rule.decrease(&window, &event(CongestionKind::Loss, 1_000_000));
            assert_eq!(rule.last_max, Some(1000.0));
            rule.decrease(&window, &event(CongestionKind::Loss, 800_000)); // 800 (1 + 0.8) / 2
            assert_eq!(rule.last_max, Some(maximum));
        }
    }

    #[test]
    fn small_windows_halve_and_a_timeout_forgets_the_maximum() {
        let mut policy = bic(14);
        policy.on_congestion(&event(CongestionKind::Loss, 14_000));
        assert_eq!(policy.window(), 7000);
        let mut policy = bic(1000);
        policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
        policy.on_congestion(&event(CongestionKind::Timeout, 800_000));
        assert_eq!((policy.window(), policy.ssthresh()), (1000, 400_000));
        for _ in 0..399 {
            policy.on_ack(&ack());
        }
        assert_eq!((policy.window(), policy.in_slow_start()), (400_000, false));
        policy.on_ack(&ack()); // 5 % of 400 segments a round trip
        assert_eq!(policy.window(), 400_050);
    }
}
