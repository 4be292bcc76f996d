//! DCTCP: the window shrinks by how much was marked, not by whether something was (RFC 8257).

use crate::compose::{AlgorithmSpec, Compose};
use crate::marked_share::MarkedShare;
use crate::params::Spec;
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Counting, Cut, EcnUse, Inspection, Setup,
    Window,
};

/// Parameters of [`Dctcp`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DctcpParams {
    /// Gain of the estimate of the marked share, alpha (section 4.2; Linux: `dctcp_shift_g`).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share of the difference"))]
    pub g: f64,
    /// alpha before the first round trip (Linux: `dctcp_alpha_on_init`).
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "share of the bytes"))]
    pub initial_alpha: f64,
}

impl Default for DctcpParams {
    /// RFC 8257 sections 3.3 and 4.2: g = 1/16, alpha = 1 at first.
    fn default() -> Self {
        DctcpParams { g: 1.0 / 16.0, initial_alpha: 1.0 }
    }
}

impl Spec for DctcpParams {
    const NAME: &'static str = "dctcp";
    const SOURCE: &'static str = "RFC 8257";
    const SUMMARY: &'static str =
        "one segment more each round trip, half of the marked share less; half upon loss";
}

impl AlgorithmSpec for DctcpParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let marked = MarkedShare::new(self.g, self.initial_alpha);
        slow_start.compose(Dctcp { marked }, setup)
    }
}

/// Congestion avoidance of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    marked: MarkedShare,
}

impl Avoidance for Dctcp {
    fn ecn(&self) -> EcnUse {
        EcnUse::Fraction
    }
    /// Section 3.3 steps 1 to 8, once a round trip.
    fn observe(&mut self, _window: &Window, ack: &Ack) {
        self.marked.count(ack);
        if ack.round_start {
            self.marked.end_of_window();
        }
    }
    /// As standard TCP (section 3.4).
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        Counting::Bytes.additive_increase(1.0, window, ack)
    }
    /// Section 3.3 step 9, and section 3.5 for a loss.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        if event.kind != CongestionKind::EcnEcho {
            return keep(0.5, event, window.mss);
        }
        self.marked.cut(window)
    }
    fn inspect(&self, _window: &Window, inspection: &mut Inspection) {
        self.marked.inspect(inspection);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack, event, policy, reading, setup};
    use crate::{Ack, CongestionControl, CongestionKind, EcnUse};

    /// In congestion avoidance with a window of 100 segments.
    fn avoiding(algorithm: &str) -> Box<dyn CongestionControl> {
        policy(algorithm, r#""standard""#, &setup(100 * MSS, Some(2 * MSS)))
    }
    fn alpha(policy: &dyn CongestionControl) -> f64 {
        reading(policy, "alpha")
    }
    /// A window of a hundred segments of which so many were marked; the window does not grow meanwhile.
    fn round(policy: &mut dyn CongestionControl, known: &mut u64, marked: u64) {
        for segment in 0..100 {
            *known += if segment < marked { MSS } else { 0 };
            policy.on_ack(&Ack { marked: *known, round_start: segment == 99, app_limited: true, ..ack() });
        }
    }

    #[test]
    fn alpha_is_a_moving_average_of_the_marked_share() {
        // RFC 8257 section 3.3: alpha = (1 - g) alpha + g M, from 1.
        let mut dctcp = avoiding(r#""dctcp""#);
        let (mut known, mut expected) = (0, 1.0);
        for marked in [0, 0, 25, 100, 50, 0] {
            round(&mut *dctcp, &mut known, marked);
            expected += (marked as f64 / 100.0 - expected) / 16.0;
            assert!((alpha(&*dctcp) - expected).abs() < 1e-12);
        }
        // 500 windows with a quarter marked: a quarter.
        for _ in 0..500 {
            round(&mut *dctcp, &mut known, 25);
        }
        assert!((alpha(&*dctcp) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn half_of_alpha_goes_upon_a_mark_and_half_of_the_flight_upon_a_loss() {
        let mut dctcp = avoiding(r#"{"kind": "dctcp", "initial_alpha": 0.25}"#);
        dctcp.on_congestion(&event(CongestionKind::EcnEcho, 60_000));
        // Of cwnd, not of what is in flight: 100,000 * (1 - 0.125).
        assert_eq!((dctcp.window(), dctcp.ssthresh()), (87_500, 87_500));
        // Section 3.5: a loss is none of DCTCP's.
        dctcp.on_congestion(&event(CongestionKind::Loss, 80_000));
        assert_eq!(dctcp.window(), 40_000);
        assert_eq!(dctcp.ecn(), EcnUse::Fraction);
    }

    #[test]
    fn at_first_a_mark_halves_and_two_segments_stay() {
        let mut dctcp = avoiding(r#""dctcp""#);
        for window in [50_000, 25_000, 12_500, 6_250, 3_125, 2_000, 2_000] {
            dctcp.on_congestion(&event(CongestionKind::EcnEcho, 1));
            assert_eq!(dctcp.window(), window);
        }
    }

    #[test]
    fn gains_a_segment_a_round_trip() {
        let mut dctcp = avoiding(r#""dctcp""#);
        dctcp.on_ack(&ack());
        assert_eq!(dctcp.window(), 100_010);
    }
}
