//! DUAL: Reno that takes an eighth off where the round trip is beyond the middle of what it has seen. Z. Wang, J. Crowcroft: Eliminating
//! Periodic Packet Losses in the 4.3-Tahoe BSD TCP Congestion Control Algorithm, ACM CCR 22(2), 1992.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Inspection, Setup, Window};

/// Parameters of [`Dual`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualParams {
    /// Where between the least and the largest round trip the threshold is: 1/2 is the middle.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the range"))]
    pub threshold: f64,
    /// What a round trip above it takes off the window.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub decrease: f64,
}

impl Default for DualParams {
    /// The middle, an eighth.
    fn default() -> Self {
        DualParams { threshold: 0.5, decrease: 0.125 }
    }
}

impl Spec for DualParams {
    const NAME: &'static str = "dual";
    const SOURCE: &'static str = "Wang and Crowcroft 1992";
    const SUMMARY: &'static str =
        "Reno that gives up an eighth when the round trip is above the middle of its range";
}

impl AlgorithmSpec for DualParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(
            Dual { params: self.clone(), least: f64::INFINITY, largest: 0.0, latest: 0.0, even: false },
            setup,
        )
    }
}

/// Congestion avoidance of DUAL.
#[derive(Clone, Debug)]
pub struct Dual {
    params: DualParams,
    /// Round trips in seconds.
    least: f64,
    largest: f64,
    latest: f64,
    /// Every other round trip decides: in the one between, the window of before the decrease is still in flight.
    even: bool,
}

impl Dual {
    fn is_above(&self) -> bool {
        self.latest > self.least + self.params.threshold * (self.largest - self.least)
    }
}

impl Avoidance for Dual {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.seconds("RTT_min", self.least);
        inspection.seconds("RTT_max", self.largest);
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs_f64()) {
            self.latest = rtt;
            self.least = self.least.min(rtt);
            self.largest = self.largest.max(rtt);
        }
    }

    /// A segment in each round trip, and every second one the decision.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        if ack.round_start {
            self.even = !self.even;
            if self.even && self.is_above() {
                let left = (window.cwnd * (1.0 - self.params.decrease)).max(2.0 * window.mss);
                return (left - window.cwnd).min(0.0);
            }
        }
        Counting::Bytes.additive_increase(1.0, window, ack)
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        keep(0.5, event, window.mss)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack_at, event, policy, setup};
    use crate::{Ack, CongestionControl, CongestionKind};
    use longhaul_units::Duration;

    fn dual(segments: u64) -> Box<dyn CongestionControl> {
        policy(r#""dual""#, r#""standard""#, &setup(segments * MSS, Some(segments * MSS)))
    }
    fn ack(rtt: u64, round_start: bool) -> Ack {
        Ack { rtt: Some(Duration::from_millis(rtt)), round_start, ..ack_at(0, MSS) }
    }

    /// Between 100 and 200 ms the threshold is 150 ms. Above it every second round trip takes an eighth; the others add a segment.
    #[test]
    fn an_eighth_goes_every_second_round_trip_above_the_middle() {
        let mut policy = dual(80);
        for rtt in [100, 200] {
            policy.on_ack(&Ack { app_limited: true, ..ack(rtt, false) });
        }
        policy.on_ack(&ack(151, true));
        assert_eq!((policy.window(), policy.in_slow_start()), (70 * MSS, false));
        policy.on_ack(&ack(151, true));
        assert!(policy.window() > 70 * MSS);
        policy.on_ack(&ack(149, true));
        assert!(policy.window() > 70 * MSS);
        policy.on_ack(&ack(149, true));
        policy.on_ack(&ack(151, true));
        assert!(policy.window().abs_diff(61_300) < 100, "{}", policy.window());
    }

    #[test]
    fn without_a_queue_and_upon_loss_it_is_reno() {
        let mut policy = dual(10);
        (0..10).for_each(|index| policy.on_ack(&ack(100, index == 0)));
        assert!(policy.window().abs_diff(11 * MSS) < 50);
        policy.on_congestion(&event(CongestionKind::Loss, 10 * MSS));
        assert_eq!(policy.window(), 5 * MSS);
    }

    #[test]
    fn two_segments_stay() {
        let mut policy = dual(3);
        policy.on_ack(&ack(100, false));
        (0..100).for_each(|_| policy.on_ack(&ack(200, true)));
        assert!((2 * MSS..4 * MSS).contains(&policy.window()));
    }
}
