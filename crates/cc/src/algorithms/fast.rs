//! FAST TCP: a window by delay that moves in proportion to its distance from equilibrium, where alpha packets wait. C. Jin,
//! D. Wei, S. Low: FAST TCP: Motivation, Architecture, Algorithms, Performance, IEEE INFOCOM 2004.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::keep;
use crate::round_rtt::{RoundRtt, RttOfRound, queued_segments};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Cut, Growth, Inspection, Setup, Window};
use longhaul_units::{Duration, Instant};

/// Parameters of [`Fast`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FastParams {
    /// Packets of this flow that wait in the network in equilibrium. Flows share a link by their alpha.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000, "x-unit" = "segments"))]
    pub alpha: f64,
    /// Share of the distance from equilibrium that a step takes.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share of the distance"))]
    pub gamma: f64,
    /// What is left of the window upon loss.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub left_on_loss: f64,
}

impl Default for FastParams {
    /// gamma = 1/2, half upon loss; alpha is a choice: 20 packets are 2.4 ms at 100 Mbit/s and 24 ms at 10 Mbit/s.
    fn default() -> Self {
        FastParams { alpha: 20.0, gamma: 0.5, left_on_loss: 0.5 }
    }
}

impl Spec for FastParams {
    const NAME: &'static str = "fast";
    const SOURCE: &'static str = "Jin, Wei and Low 2004";
    const SUMMARY: &'static str =
        "keeps alpha packets waiting, with steps as large as the distance from that";
}

impl AlgorithmSpec for FastParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Fast::new(self.clone()), setup)
    }
}

/// The least window that a step leaves, in segments.
const LEAST_SEGMENTS: f64 = 2.0;
/// A round trip changes the average by at most this share, and by 3/cwnd.
const MOST_WEIGHT: f64 = 0.25;

/// The congestion avoidance of FAST, and the end of slow start by the same equilibrium.
#[derive(Clone, Debug)]
pub struct Fast {
    params: FastParams,
    rounds: RoundRtt,
    /// The least round trip of the round that this ACK ends, if it ends one that was measured.
    least: Option<Duration>,
    /// The average round trip, in seconds; 0 before the first.
    average: f64,
    /// Bytes by which the window changes for each byte acknowledged in this round trip, and bytes of that change that are left.
    slope: f64,
    left: f64,
    /// When this round began, bytes acknowledged in it, and bytes a second of the last one.
    began: Instant,
    acked: f64,
    rate: f64,
}

impl Fast {
    fn new(params: FastParams) -> Self {
        Fast {
            params,
            rounds: RoundRtt::new(),
            least: None,
            average: 0.0,
            slope: 0.0,
            left: 0.0,
            began: Instant::ZERO,
            acked: 0.0,
            rate: 0.0,
        }
    }

    /// Equation (3): min(2 w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha)), in segments.
    fn next(&self, segments: f64) -> f64 {
        let FastParams { alpha, gamma, .. } = self.params;
        if self.average <= 0.0 {
            return segments;
        }
        let target = self.rounds.base().as_secs_f64() / self.average * segments + alpha;
        ((1.0 - gamma) * segments + gamma * target).min(2.0 * segments)
    }

    fn forget_step(&mut self) {
        (self.slope, self.left) = (0.0, 0.0);
    }
}

impl Avoidance for Fast {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.time("baseRTT", Some(self.rounds.base()));
        inspection.seconds("RTT", self.average);
    }

    /// The average round trip, with the weight min(3 / cwnd, 1/4) for each sample.
    fn observe(&mut self, window: &Window, ack: &Ack) {
        self.least = self.rounds.observe(ack).and_then(|round| round.rtt(RttOfRound::Least));
        if ack.round_start {
            let seconds = ack.now.since(self.began).as_secs_f64();
            self.rate = if seconds > 0.0 { self.acked / seconds } else { 0.0 };
            (self.began, self.acked) = (ack.now, 0.0);
        }
        self.acked += ack.acked as f64;
        let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs_f64()) else { return };
        let weight = if self.average > 0.0 { (3.0 / window.segments()).min(MOST_WEIGHT) } else { 1.0 };
        self.average += weight * (rtt - self.average);
    }

    /// A step for each round trip, spread over its ACKs.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        if ack.round_start {
            let next = self.next(window.segments()).max(LEAST_SEGMENTS);
            self.left = next * window.mss - window.cwnd;
            self.slope = self.left / window.cwnd;
        }
        let step = self.slope * ack.acked as f64;
        let step = if step.abs() < self.left.abs() { step } else { self.left };
        self.left -= step;
        step
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        self.forget_step();
        keep(self.params.left_on_loss, event, window.mss)
    }

    /// Slow start ends when a whole round has more than alpha packets waiting, with the window of equilibrium at the rate of
    /// that round, rate * baseRTT + alpha.
    fn shape_slow_start(&mut self, window: &Window, _: &Ack, step: Growth) -> Growth {
        let base = self.rounds.base();
        let Some(least) = self.least.filter(|_| self.rate > 0.0) else { return step };
        if queued_segments(window.segments(), base, least) <= self.params.alpha {
            return step;
        }
        self.forget_step();
        self.average = least.as_secs_f64();
        let bytes = self.rate * base.as_secs_f64() + self.params.alpha * window.mss;
        Growth { bytes: (bytes.max(LEAST_SEGMENTS * window.mss) - window.cwnd).min(0.0), exit: true }
    }

    fn idle(&mut self) {
        self.rounds.forget();
        self.forget_step();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack_at, avoiding, event, policy, setup};
    use crate::{Ack, CongestionControl, CongestionKind};
    use longhaul_units::Duration;

    /// A round of ACKs with this round trip; the window after it, in segments.
    fn round(policy: &mut dyn CongestionControl, rtt_ms: f64) -> f64 {
        let acks = policy.window() / MSS;
        for index in 0..acks {
            let rtt = Some(Duration::from_secs_f64(rtt_ms / 1000.0));
            policy.on_ack(&Ack { rtt, round_start: index == 0, ..ack_at(0, MSS) });
        }
        policy.window() as f64 / MSS as f64
    }

    /// Equation (3) with gamma = 1/2, alpha = 20 and a baseRTT of 100 ms. Of 100 segments none wait at 100 ms, 20 at 125 ms, which is
    /// equilibrium, and 50 at 200 ms: 10 more, none, 15 fewer.
    #[test]
    fn a_step_is_half_of_the_distance_from_alpha() {
        for (rtt, after) in [(100.0, 110.0), (125.0, 100.0), (200.0, 85.0)] {
            let mut fast = avoiding(r#""fast""#, 100);
            // A sample of the base, then so many of this round trip that they are the average; the window does not move.
            for index in 0..1000 {
                let rtt = if index == 0 { 100.0 } else { rtt };
                let rtt = Some(Duration::from_secs_f64(rtt / 1000.0));
                fast.on_ack(&Ack { rtt, app_limited: true, ..ack_at(0, MSS) });
            }
            let moved = round(&mut *fast, rtt);
            assert!((moved - after).abs() < 0.01, "{rtt} ms: {moved}");
        }
    }

    /// No more than a doubling: 4 segments without a queue and alpha = 200 would become 104.
    #[test]
    fn the_window_at_most_doubles() {
        let mut fast = avoiding(r#"{"kind": "fast", "alpha": 200}"#, 4);
        assert!((round(&mut *fast, 100.0) - 8.0).abs() < 0.01);
    }

    #[test]
    fn a_loss_halves_and_two_segments_stay() {
        let mut fast = avoiding(r#""fast""#, 100);
        fast.on_congestion(&event(CongestionKind::Loss, 100 * MSS));
        assert_eq!((fast.window(), fast.ssthresh()), (50_000, 50_000));
        let mut fast = avoiding(r#"{"kind": "fast", "alpha": 0.1}"#, 4);
        round(&mut *fast, 1.0);
        (0..40).for_each(|_| {
            round(&mut *fast, 1000.0);
        });
        assert_eq!(fast.window(), 2 * MSS);
    }

    /// 10, 20, 40, 80 segments in 100 ms each, then a path of 80 in 100 ms that holds a window of 160 with 200 ms: 80 wait.
    #[test]
    fn slow_start_ends_at_the_equilibrium_of_the_rate() {
        let mut fast = policy(r#""fast""#, r#""standard""#, &setup(10 * MSS, None));
        let mut now = 0;
        for (acks, rtt, millis) in
            [(10, 100, 100), (20, 100, 100), (40, 100, 100), (80, 100, 100), (80, 200, 100)]
        {
            for index in 0..acks {
                let rtt = Some(Duration::from_millis(rtt));
                let time = now + millis * index / acks;
                fast.on_ack(&Ack { rtt, round_start: index == 0, ..ack_at(time, MSS) });
            }
            now += millis;
        }
        assert!(fast.in_slow_start());
        fast.on_ack(&Ack { rtt: Some(Duration::from_millis(200)), round_start: true, ..ack_at(now, MSS) });
        // 80 segments in 100 ms for a base of 100 ms, and alpha.
        assert_eq!((fast.in_slow_start(), fast.window()), (false, 100 * MSS));
    }
}
