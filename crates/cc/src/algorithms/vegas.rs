//! Vegas: congestion avoidance by delay. Once per RTT the window moves so that alpha to beta segments wait in the
//! network. L. Brakmo, L. Peterson: TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE JSAC 13(8), 1995,
//! sections III-B and III-C. (Its retransmission by fine-grained timers, III-A, is loss recovery and not here.)

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::round_rtt::{RoundRtt, RttOfRound, queued_segments};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Cut, Growth, Inspection, Setup, Window};
use longhaul_units::Duration;

/// When Vegas lets slow start grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VegasGrowth {
    /// In every other round trip, so that the rounds between measure a steady window (section III-C).
    EveryOtherRtt,
    /// On every other ACK, in each round trip: half as fast a growth.
    EveryOtherAck,
    /// As if there was no Vegas; delay is looked at after each round trip (Linux).
    EveryRtt,
}

/// The window with which Vegas leaves slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VegasExit {
    /// The window as it is (section III-C defines no other).
    Keep,
    /// An eighth less (ns-2).
    Eighth,
    /// What the actual rate fills without a queue, and one segment more: cwnd * BaseRTT / RTT + 1 (Linux).
    ActualRate,
}

/// Parameters of [`Vegas`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VegasParams {
    /// Fewer segments than this in queues: the window grows by one segment in the next RTT.
    #[schemars(extend("minimum" = 0, "maximum" = 100_000, "x-unit" = "segments"))]
    pub alpha: f64,
    /// More segments than this in queues: the window shrinks by one segment in the next RTT. Not below alpha.
    #[schemars(extend("minimum" = 0, "maximum" = 100_000, "x-unit" = "segments"))]
    pub beta: f64,
    /// More segments than this in queues end slow start.
    #[schemars(extend("minimum" = 0, "maximum" = 100_000, "x-unit" = "segments"))]
    pub gamma: f64,
    /// Which round trip of a round counts: that of its distinguished segment (the paper), the mean (ns-2), the least
    /// (Linux), or srtt.
    #[schemars(extend("x-unit" = "distinguished, mean, least or smoothed"))]
    pub rtt: RttOfRound,
    /// When slow start grows: every_other_rtt (the paper, ns-2), every_other_ack, every_rtt (Linux).
    #[schemars(extend("x-unit" = "every_other_rtt, every_other_ack or every_rtt"))]
    pub growth: VegasGrowth,
    /// The window at the end of slow start: keep it (the paper), an eighth less (ns-2), the actual_rate's (Linux).
    #[schemars(extend("x-unit" = "keep, eighth or actual_rate"))]
    pub exit: VegasExit,
    /// What is left of the window upon loss: 3/4 in the authors' implementation and ns-2, 1/2 in Linux.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub left_on_loss: f64,
}

impl Default for VegasParams {
    /// Vegas-1,3 of the paper with gamma 1, as ns-2 has them; Linux has 2, 4, 1.
    fn default() -> Self {
        VegasParams {
            alpha: 1.0,
            beta: 3.0,
            gamma: 1.0,
            rtt: RttOfRound::Distinguished,
            growth: VegasGrowth::EveryOtherRtt,
            exit: VegasExit::Keep,
            left_on_loss: 0.75,
        }
    }
}

impl Spec for VegasParams {
    const NAME: &'static str = "vegas";
    const SOURCE: &'static str = "Brakmo and Peterson 1995";
    const SUMMARY: &'static str = "keeps alpha to beta segments waiting in the network, estimated from delay";

    fn check(&self) -> Result<(), String> {
        if self.alpha > self.beta {
            return Err(format!("alpha must be at most beta ({}), not {}", self.beta, self.alpha));
        }
        Ok(())
    }
}

impl AlgorithmSpec for VegasParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Vegas::new(self.clone()), setup)
    }
}

/// The least window that Vegas shrinks to, in segments.
const LEAST_SEGMENTS: f64 = 2.0;

/// The congestion avoidance and slow start of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    rounds: RoundRtt,
    /// The RTT of the round that this ACK ends, if it ends one that was measured.
    rtt: Option<Duration>,
    /// Segments by which the window changes in this RTT: 1, 0 or -1.
    change: f64,
    /// What is in transit, where the receiver's window is the limit; else infinite.
    receiver_limit: f64,
    /// In slow start: this round (with [`VegasGrowth::EveryOtherAck`], this ACK) grows the window.
    grows: bool,
}

impl Vegas {
    fn new(params: VegasParams) -> Self {
        Vegas {
            params,
            rounds: RoundRtt::new(),
            rtt: None,
            change: 0.0,
            receiver_limit: f64::INFINITY,
            grows: false,
        }
    }

    /// Diff * BaseRTT, at the end of a measured round.
    fn queued(&self, window: &Window) -> Option<f64> {
        self.rtt.map(|rtt| queued_segments(self.in_transit(window) / window.mss, self.rounds.base(), rtt))
    }

    /// Bytes of the window; section III-B: "assumed to be equal to the number of bytes in transit". Where the receiver's window is
    /// smaller, it is what is in transit.
    fn in_transit(&self, window: &Window) -> f64 {
        window.cwnd.min(self.receiver_limit)
    }

    /// One segment more in the next RTT if Diff < alpha, one less if Diff > beta.
    fn judge(&mut self, window: &Window) {
        self.change = match self.queued(window) {
            Some(queued) if queued < self.params.alpha => 1.0,
            Some(queued) if queued > self.params.beta => -1.0,
            _ => 0.0,
        };
    }

    /// Bytes by which the window changes upon this ACK.
    fn step(&self, window: &Window, ack: &Ack) -> f64 {
        let step = self.change * window.mss * (ack.acked as f64 / self.in_transit(window)).min(1.0);
        let room = (window.cwnd - LEAST_SEGMENTS * window.mss).max(0.0);
        step.max(-room)
    }

    /// Section III-C: the actual rate is below the expected by gamma. A round in which the window grew is no measure.
    fn slow_start_is_over(&self, window: &Window) -> bool {
        let steady = !self.grows || self.params.growth != VegasGrowth::EveryOtherRtt;
        steady && self.queued(window).is_some_and(|queued| queued > self.params.gamma)
    }

    /// Bytes by which the window changes when slow start ends.
    fn change_at_exit(&self, window: &Window) -> f64 {
        match (self.params.exit, self.rtt) {
            (VegasExit::Eighth, _) => -window.cwnd / 8.0,
            (VegasExit::ActualRate, Some(rtt)) => {
                let filled = self.in_transit(window) * self.rounds.base().as_secs_f64() / rtt.as_secs_f64();
                (filled + window.mss - window.cwnd).min(0.0)
            }
            _ => 0.0,
        }
    }
}

impl Avoidance for Vegas {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.number("change", self.change);
        inspection.time("BaseRTT", Some(self.rounds.base()));
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rtt = self.rounds.observe(ack).and_then(|round| round.rtt(self.params.rtt));
        self.receiver_limit = if ack.receiver_limited { ack.prior_in_flight as f64 } else { f64::INFINITY };
    }

    /// Section III-B.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        if ack.round_start {
            self.judge(window);
        }
        self.step(window, ack)
    }

    /// The same where the receiver's window is the limit: too much in the queues is too much whoever has let it go.
    fn judge_without_growth(&mut self, window: &Window, ack: &Ack) -> Growth {
        if window.in_slow_start() {
            let over =
                ack.round_start && self.queued(window).is_some_and(|queued| queued > self.params.gamma);
            self.change = 0.0;
            return Growth { bytes: if over { self.change_at_exit(window) } else { 0.0 }, exit: over };
        }
        Growth { bytes: self.increase(window, ack), exit: false }
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        self.change = 0.0;
        let ssthresh = (event.flight_size as f64 * self.params.left_on_loss).max(LEAST_SEGMENTS * window.mss);
        Cut { ssthresh, cwnd: ssthresh }
    }

    fn shape_slow_start(&mut self, window: &Window, ack: &Ack, step: Growth) -> Growth {
        if ack.round_start && self.slow_start_is_over(window) {
            self.change = 0.0;
            return Growth { bytes: self.change_at_exit(window), exit: true };
        }
        let toggles = match self.params.growth {
            VegasGrowth::EveryOtherRtt => ack.round_start,
            VegasGrowth::EveryOtherAck => true,
            VegasGrowth::EveryRtt => false,
        };
        self.grows ^= toggles;
        if self.grows || self.params.growth == VegasGrowth::EveryRtt {
            step
        } else {
            Growth { bytes: 0.0, ..step }
        }
    }

    fn idle(&mut self) {
        self.rounds.forget();
        self.change = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack_at, event, policy, setup};
    use crate::{Algorithm, CongestionKind};

    /// A round of ACKs of one segment each, all with this RTT; the base is 100 ms. Returns the window after it.
    fn round(policy: &mut dyn CongestionControl, rtt_ms: f64) -> u64 {
        for index in 0..policy.window() / MSS {
            policy.on_ack(&Ack {
                rtt: Some(Duration::from_secs_f64(rtt_ms / 1000.0)),
                round_start: index == 0,
                ..ack_at(0, MSS)
            });
        }
        policy.window()
    }

    fn avoiding(algorithm: &str, segments: u64) -> Box<dyn CongestionControl> {
        let mut policy = policy(algorithm, r#""standard""#, &setup(segments * MSS, Some(segments * MSS)));
        round(&mut *policy, 100.0);
        policy
    }

    #[test]
    fn moves_by_one_segment_a_round_trip_towards_alpha_to_beta() {
        // Section III-B with 20 segments and a BaseRTT of 100 ms: 104 ms mean 20 * (1 - 100/104) = 0.77 segments queued,
        // 112 ms 2.14, 120 ms 3.33. A round's verdict is known at its end and carried out in the next.
        for (rtt, window) in [(104.0, 21_000), (112.0, 20_000), (120.0, 19_000)] {
            let mut vegas = avoiding(r#""vegas""#, 20);
            let after = round(&mut *vegas, rtt);
            assert!(after.abs_diff(window) <= 60, "{after} after a round of {rtt} ms");
        }
    }

    #[test]
    fn alpha_and_beta_can_be_set() {
        // 3.33 segments queued are too few for Vegas-4,6.
        let mut vegas = avoiding(r#"{"kind": "vegas", "alpha": 4, "beta": 6}"#, 20);
        let after = round(&mut *vegas, 120.0);
        assert!(after.abs_diff(21_000) <= 60, "{after}");
        let error = serde_json::from_str::<Algorithm>(r#"{"kind": "vegas", "alpha": 4}"#).unwrap_err();
        assert_eq!(error.to_string(), "vegas: alpha must be at most beta (3), not 4");
    }

    /// A round of 20 segments that the receiver's window allows of a window of 40.
    fn receiver_limited_round(policy: &mut dyn CongestionControl, rtt_ms: f64) {
        for index in 0..20 {
            policy.on_ack(&Ack {
                rtt: Some(Duration::from_secs_f64(rtt_ms / 1000.0)),
                round_start: index == 0,
                app_limited: true,
                receiver_limited: true,
                prior_in_flight: 20 * MSS,
                ..ack_at(0, MSS)
            });
        }
    }

    /// Section III-B takes the window for what is in transit. 20 segments in transit, BaseRTT 100 ms: 112 ms mean 2.14 segments
    /// queued, between 1 and 3; 125 ms 4, one segment less in each of the two rounds; with 101 ms the window would grow, but it is
    /// not the limit.
    #[test]
    fn judges_rounds_that_the_receiver_limits_and_does_not_grow_in_them() {
        for (rtt, window) in [(101.0, 40_000), (112.0, 40_000), (125.0, 38_000)] {
            let mut vegas = avoiding(r#""vegas""#, 40);
            (0..2).for_each(|_| receiver_limited_round(&mut *vegas, rtt));
            assert!(vegas.window().abs_diff(window) <= 30, "{} after rounds of {rtt} ms", vegas.window());
        }
    }

    /// The same in slow start, which ends when more than gamma = 1 wait: 20 (1 - 100/125) = 4 do. Linux's exit leaves
    /// what the actual rate fills, 20/1.25 = 16 segments, and one more.
    #[test]
    fn slow_start_ends_in_rounds_that_the_receiver_limits() {
        let linux = r#"{"kind": "vegas", "growth": "every_rtt", "exit": "actual_rate", "rtt": "least"}"#;
        let mut vegas = policy(linux, r#""standard""#, &setup(20 * MSS, None));
        round(&mut *vegas, 100.0); // grows to 40
        receiver_limited_round(&mut *vegas, 125.0);
        assert!(vegas.in_slow_start());
        receiver_limited_round(&mut *vegas, 125.0);
        assert_eq!((vegas.in_slow_start(), vegas.window()), (false, 17_000));
    }

    #[test]
    fn never_shrinks_below_two_segments() {
        let mut vegas = avoiding(r#"{"kind": "vegas", "alpha": 0.5, "beta": 1}"#, 4);
        for _ in 0..10 {
            round(&mut *vegas, 1000.0);
        }
        assert_eq!(vegas.window(), 2000);
    }

    #[test]
    fn holds_without_a_round_trip() {
        // Karn's rule may leave a round without a sample.
        let mut vegas = avoiding(r#""vegas""#, 20);
        for index in 0..20 {
            vegas.on_ack(&Ack { rtt: None, round_start: index == 0, ..ack_at(0, MSS) });
        }
        assert_eq!(vegas.window(), 20_000);
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        // Section III-C.
        let grown = |growth: &str| {
            let algorithm = format!(r#"{{"kind": "vegas", "growth": "{growth}"}}"#);
            let mut vegas = policy(&algorithm, r#""standard""#, &setup(2 * MSS, None));
            (0..6).map(|_| round(&mut *vegas, 100.0)).collect::<Vec<_>>()
        };
        assert_eq!(grown("every_other_rtt"), [4000, 4000, 8000, 8000, 16_000, 16_000]);
        assert_eq!(grown("every_other_ack"), [3000, 5000, 7000, 11_000, 16_000, 24_000]);
        assert_eq!(grown("every_rtt"), [4000, 8000, 16_000, 32_000, 64_000, 128_000]);
    }

    #[test]
    fn slow_start_ends_when_more_than_gamma_wait() {
        // 16 segments, BaseRTT 100 ms: 106 ms mean 16 * (1 - 100/106) = 0.906 queued, 108 ms 1.185.
        for (exit, rtt, window, over) in [
            ("keep", 106.0, 32_000, false),
            ("keep", 108.0, 16_000, true),
            ("eighth", 108.0, 14_000, true),      // 7/8
            ("actual_rate", 108.0, 15_814, true), // 16/1.08 + 1
        ] {
            let algorithm = format!(r#"{{"kind": "vegas", "exit": "{exit}"}}"#);
            let mut vegas = policy(&algorithm, r#""standard""#, &setup(8 * MSS, None));
            round(&mut *vegas, 100.0); // grows to 16
            round(&mut *vegas, rtt); // holds
            vegas.on_ack(&Ack {
                rtt: Some(Duration::from_secs_f64(rtt / 1000.0)),
                round_start: true,
                ..ack_at(0, MSS)
            });
            assert_eq!(vegas.in_slow_start(), !over, "{exit} {rtt}");
            if over {
                assert!(vegas.window().abs_diff(window) <= 1, "{exit}: {}", vegas.window());
            }
        }
    }

    #[test]
    fn a_round_in_which_slow_start_grew_is_no_measure() {
        let mut vegas = policy(r#""vegas""#, r#""standard""#, &setup(8 * MSS, None));
        round(&mut *vegas, 200.0);
        round(&mut *vegas, 100.0);
        assert!(vegas.in_slow_start());
    }

    #[test]
    fn a_loss_leaves_three_quarters() {
        for (algorithm, window) in
            [(r#""vegas""#, 15_000), (r#"{"kind": "vegas", "left_on_loss": 0.5}"#, 10_000)]
        {
            let mut vegas = avoiding(algorithm, 20);
            vegas.on_congestion(&event(CongestionKind::Loss, 20_000));
            assert_eq!((vegas.window(), vegas.ssthresh()), (window, window));
            vegas.on_congestion(&event(CongestionKind::Loss, 2000));
            assert_eq!(vegas.window(), 2000);
        }
    }

    #[test]
    fn the_first_round_after_recovery_is_no_measure() {
        let mut vegas = avoiding(r#""vegas""#, 20);
        vegas.on_ack(&Ack { in_recovery: true, ..ack_at(0, MSS) });
        let before = vegas.window();
        assert_eq!(round(&mut *vegas, 200.0), before);
        assert!(round(&mut *vegas, 200.0) < before);
    }
}
