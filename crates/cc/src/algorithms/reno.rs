//! Reno: additive increase, multiplicative decrease (RFC 5681), with both constants settable: AIMD(a, 1 - b).

use crate::closed_form;
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::{Conditions, Formula, Spec};
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Counting, Cut, Setup, Window};

/// Parameters of [`Reno`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenoParams {
    /// Additive increase.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-unit" = "segments per RTT"))]
    pub a: f64,
    /// Multiplicative decrease: upon loss, ssthresh = (1 - b) * FlightSize.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub b: f64,
    /// What an ACK counts for: the bytes that it covers (RFC 3465) or one segment (RFC 2581, ns-2).
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
    /// Alternative back-off with ECN (RFC 8511): a mark leaves 0.8 of the window, whatever b; a queue that marks is short.
    #[schemars(extend("x-unit" = "true or false"))]
    pub abe: bool,
}

/// What RFC 8511 section 3 leaves of Reno's window upon a mark.
const ABE_BETA: f64 = 0.8;

impl Default for RenoParams {
    /// AIMD(1, 1/2), by bytes, as RFC 5681 recommends.
    fn default() -> Self {
        RenoParams { a: 1.0, b: 0.5, counting: Counting::Bytes, abe: false }
    }
}

impl Spec for RenoParams {
    const NAME: &'static str = "reno";
    const SOURCE: &'static str = "RFC 5681";
    const SUMMARY: &'static str = "one segment more each round trip, half the window upon loss (AIMD)";

    fn response_function(&self, met: &Conditions) -> Option<Formula> {
        let per_ack = if self.counting == Counting::Bytes { 1.0 } else { met.segments_per_ack };
        let is_standard = self.a == 1.0 && self.b == 0.5;
        is_standard.then(|| Formula { name: "mathis", window: closed_form::mathis_window(met.p, per_ack) })
    }
}

impl AlgorithmSpec for RenoParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Reno { params: self.clone() }, setup)
    }
}

/// Congestion avoidance of RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    params: RenoParams,
}

impl Avoidance for Reno {
    /// RFC 5681 section 3.1: a segments per round trip.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        self.params.counting.additive_increase(self.params.a, window, ack)
    }

    /// RFC 5681 section 3.1, with 1 - b in place of one half, or RFC 8511 section 3.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let abe = self.params.abe && event.kind == CongestionKind::EcnEcho;
        keep(if abe { ABE_BETA } else { 1.0 - self.params.b }, event, window.mss)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack, ack_at, event, policy, setup};
    use crate::{CongestionControl, CongestionKind};

    /// In congestion avoidance with a window of ten segments.
    fn avoiding(algorithm: &str) -> Box<dyn CongestionControl> {
        let policy = policy(algorithm, r#""standard""#, &setup(10 * MSS, Some(10 * MSS)));
        assert!(!policy.in_slow_start());
        policy
    }

    #[test]
    fn gains_a_segment_per_round_trip() {
        // RFC 5681 equation (3), cwnd += SMSS * SMSS / cwnd: 10,000; 10,100; 10,199.0; 10,297.05 ...
        let mut reno = avoiding(r#""reno""#);
        let mut windows = Vec::new();
        for _ in 0..10 {
            reno.on_ack(&ack());
            windows.push(reno.window());
        }
        assert_eq!(windows, [10_100, 10_199, 10_297, 10_394, 10_490, 10_585, 10_680, 10_773, 10_866, 10_958]);
    }

    #[test]
    fn counts_bytes_or_acks() {
        // A delayed ACK of two segments: 2/10 of a segment by bytes, 1/10 by ACKs.
        let two = ack_at(0, 2 * MSS);
        let mut by_bytes = avoiding(r#""reno""#);
        by_bytes.on_ack(&two);
        assert_eq!(by_bytes.window(), 10_200);
        let mut by_acks = avoiding(r#"{"kind": "reno", "counting": "acks"}"#);
        by_acks.on_ack(&two);
        assert_eq!(by_acks.window(), 10_100);
    }

    #[test]
    fn a_scales_the_increase_and_b_the_decrease() {
        let mut aimd = avoiding(r#"{"kind": "reno", "a": 32, "b": 0.125}"#);
        aimd.on_ack(&ack());
        assert_eq!(aimd.window(), 13_200);
        aimd.on_congestion(&event(CongestionKind::Loss, 8000));
        assert_eq!((aimd.window(), aimd.ssthresh()), (7000, 7000));
    }

    #[test]
    fn abe_keeps_four_fifths_upon_a_mark() {
        // RFC 8511 section 3: beta_ecn = 0.8, and beta_loss as before.
        let mut reno = avoiding(r#"{"kind": "reno", "abe": true}"#);
        reno.on_congestion(&event(CongestionKind::EcnEcho, 10_000));
        assert_eq!((reno.window(), reno.ssthresh()), (8000, 8000));
        reno.on_congestion(&event(CongestionKind::Loss, 8000));
        assert_eq!(reno.window(), 4000);
    }

    #[test]
    fn halves_the_flight_but_keeps_two_segments() {
        // RFC 5681 equation (4): max(FlightSize / 2, 2 * SMSS).
        for kind in [CongestionKind::Loss, CongestionKind::EcnEcho] {
            let mut reno = avoiding(r#""reno""#);
            reno.on_congestion(&event(kind, 9000));
            assert_eq!((reno.window(), reno.ssthresh()), (4500, 4500));
            reno.on_congestion(&event(kind, 3000));
            assert_eq!((reno.window(), reno.ssthresh()), (2000, 2000));
        }
    }
}
