//! Scalable TCP: multiplicative increase, so that the time to recover from a loss is the same at every rate. T. Kelly:
//! Scalable TCP: Improving Performance in Highspeed Wide Area Networks, ACM CCR 33(2), 2003.

use crate::closed_form;
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::{Conditions, Formula, Spec};
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Bytes, Congestion, CongestionControl, Counting, Cut, Setup, Window};

/// Parameters of [`Scalable`].
///
/// Linux has `a = 0.02` (to make up for delayed ACKs, which it counts as one), `legacy_window = 0` and
/// `never_below_reno = true`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScalableParams {
    /// Increase: segments gained for each segment acknowledged.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "segments per segment"))]
    pub a: f64,
    /// Decrease upon loss.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub b: f64,
    /// lwnd, the legacy window: up to here the rules are standard TCP's.
    #[schemars(extend("minimum" = 0, "maximum" = 1e9, "x-unit" = "segments"))]
    pub legacy_window: f64,
    /// Gain at least one segment a round trip, as Linux does; by the paper it is 0.16 just above the legacy window.
    #[schemars(extend("x-unit" = "true or false"))]
    pub never_below_reno: bool,
    /// What an ACK counts for: the bytes that it covers or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for ScalableParams {
    /// Kelly: a = 0.01, b = 0.125, lwnd = 16.
    fn default() -> Self {
        ScalableParams {
            a: 0.01,
            b: 0.125,
            legacy_window: 16.0,
            never_below_reno: false,
            counting: Counting::Bytes,
        }
    }
}

impl Spec for ScalableParams {
    const NAME: &'static str = "scalable";
    const SOURCE: &'static str = "Kelly 2003";
    const SUMMARY: &'static str =
        "a hundredth of a segment more per segment acknowledged, an eighth less upon loss";

    fn response_function(&self, met: &Conditions) -> Option<Formula> {
        let above = closed_form::scalable_window(self.a, self.b, met.p);
        let reno = closed_form::mathis_window(met.p, 1.0);
        Some(Formula { name: Self::NAME, window: if above > self.legacy_window { above } else { reno } })
    }
}

impl AlgorithmSpec for ScalableParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Scalable { params: self.clone() }, setup)
    }
}

/// Congestion avoidance of Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    params: ScalableParams,
}

impl Scalable {
    fn is_legacy(&self, bytes: f64, mss: f64) -> bool {
        bytes <= self.params.legacy_window * mss
    }
}

impl Avoidance for Scalable {
    /// Section 3: cwnd = cwnd + a for each segment acknowledged, which is a * cwnd segments per round trip.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let scalable = self.params.a * window.segments();
        let segments = if self.is_legacy(window.cwnd, window.mss) {
            1.0
        } else if self.params.never_below_reno {
            scalable.max(1.0)
        } else {
            scalable
        };
        self.params.counting.additive_increase(segments, window, ack)
    }

    /// Section 3: cwnd = cwnd - b * cwnd.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let legacy = self.is_legacy(event.flight_size as Bytes as f64, window.mss);
        keep(if legacy { 0.5 } else { 1.0 - self.params.b }, event, window.mss)
    }
}

#[cfg(test)]
mod tests {
    use crate::CongestionKind;
    use crate::testing::{MSS, ack, avoiding, event};

    const LINUX: &str = r#"{"kind": "scalable", "a": 0.02, "legacy_window": 0, "never_below_reno": true}"#;

    #[test]
    fn gains_a_hundredth_per_segment_and_loses_an_eighth() {
        // Kelly 2003, section 3: a = 0.01, b = 0.125.
        let mut scalable = avoiding(r#""scalable""#, 1000);
        scalable.on_ack(&ack());
        assert_eq!(scalable.window(), 1_000_010);
        scalable.on_congestion(&event(CongestionKind::Loss, 1_000_000));
        assert_eq!((scalable.window(), scalable.ssthresh()), (875_000, 875_000));
    }

    #[test]
    fn recovers_in_the_same_time_at_every_rate() {
        // Kelly 2003, table 1: with a round trip of 200 ms, 2.7 s at 1667, 16,667 and 166,667 segments (100 Mbit/s to 10
        // Gbit/s), since log(1 - b) / log(1 + a) = 13.42 round trips.
        for segments in [1667, 16_667, 166_667] {
            let mut scalable = avoiding(r#""scalable""#, segments);
            scalable.on_congestion(&event(CongestionKind::Loss, segments * MSS));
            let mut rounds = 0.0;
            while scalable.window() < segments * MSS {
                let window = scalable.window() / MSS;
                for _ in 0..window {
                    scalable.on_ack(&ack());
                    rounds += 1.0 / window as f64;
                    if scalable.window() >= segments * MSS {
                        break;
                    }
                }
            }
            let seconds: f64 = rounds * 0.2;
            assert!((seconds - 2.7).abs() < 0.05, "{seconds} s");
        }
    }

    #[test]
    fn up_to_the_legacy_window_it_is_reno() {
        let mut scalable = avoiding(r#""scalable""#, 16);
        scalable.on_ack(&ack());
        assert_eq!(scalable.window(), 16_062);
        scalable.on_ack(&ack()); // above 16 segments: a hundredth
        assert_eq!(scalable.window(), 16_072);
        scalable.on_congestion(&event(CongestionKind::Loss, 16_000));
        assert_eq!(scalable.window(), 8000);
    }

    #[test]
    fn linux_gains_at_least_a_segment_and_always_loses_an_eighth() {
        // tcp_scalable.c: one segment per min(cwnd, 50) acknowledged.
        let mut scalable = avoiding(LINUX, 20);
        scalable.on_ack(&ack());
        assert_eq!(scalable.window(), 20_050);
        scalable.on_congestion(&event(CongestionKind::Loss, 16_000));
        assert_eq!(scalable.window(), 14_000);
        let mut scalable = avoiding(LINUX, 1000);
        scalable.on_ack(&ack());
        assert_eq!(scalable.window(), 1_000_020);
    }
}
