//! Hybla: a connection over a long round trip is to send as fast as one with the reference round trip RTT_0 would. C. Caini, R.
//! Firrincieli: TCP Hybla: a TCP enhancement for heterogeneous networks, International Journal of Satellite Communications
//! and Networking 22, 2004. The paper requires SACK, timestamps, and segments spaced in time (`pacing`).

use crate::closed_form;
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::{Conditions, Formula, Spec};
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Growth, Inspection, Setup, Window,
};
use longhaul_units::Duration;

/// Parameters of [`Hybla`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HyblaParams {
    /// RTT_0: the round trip of the connection that is to be equalled.
    pub rtt0: Duration,
    /// The largest rho that slow start raises 2 to: a segment acknowledged then adds 2^rho - 1, which over a geostationary
    /// link (rho 24) would be 16 million. Linux bounds it by 16. Set `tcp.initial_ssthresh` too: the paper estimates it.
    #[schemars(extend("minimum" = 1, "maximum" = 30, "x-unit" = "1"))]
    pub slow_start_rho: f64,
    /// What an ACK counts for: the bytes that it covers or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for HyblaParams {
    /// RTT_0 = 25 ms (section 3.1 and Linux).
    fn default() -> Self {
        HyblaParams { rtt0: Duration::from_millis(25), slow_start_rho: 16.0, counting: Counting::Bytes }
    }
}

impl Spec for HyblaParams {
    const NAME: &'static str = "hybla";
    const SOURCE: &'static str = "Caini and Firrincieli 2004";
    const SUMMARY: &'static str =
        "grows rho times as fast in time as Reno, rho = RTT / 25 ms, so that a long RTT is no handicap";

    fn check(&self) -> Result<(), String> {
        if self.rtt0.is_zero() {
            return Err("rtt0 must be above 0 s".to_string());
        }
        Ok(())
    }

    /// rho goes by the least RTT.
    fn response_function(&self, met: &Conditions) -> Option<Formula> {
        Some(Formula { name: Self::NAME, window: closed_form::hybla_window(met.rtt_min, self.rtt0, met.p) })
    }
}

impl AlgorithmSpec for HyblaParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Hybla { params: self.clone(), rho: 1.0 }, setup)
    }
}

/// Slow start and congestion avoidance of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    params: HyblaParams,
    /// Normalized round trip time RTT / RTT_0, at least 1. Of the least RTT: a queue is no reason to send more.
    rho: f64,
}

impl Avoidance for Hybla {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.number("rho", self.rho);
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rho = (ack.min_rtt.as_secs_f64() / self.params.rtt0.as_secs_f64()).max(1.0);
    }

    /// Equation for slow start: W = W + 2^rho - 1 for each segment acknowledged, but no further than ssthresh.
    fn shape_slow_start(&mut self, window: &Window, _: &Ack, step: Growth) -> Growth {
        let rho = self.rho.min(self.params.slow_start_rho);
        let bytes = step.bytes * (libm::exp2(rho) - 1.0);
        let to_ssthresh = (window.ssthresh - window.cwnd).max(step.bytes);
        Growth { bytes: bytes.min(to_ssthresh), ..step }
    }

    /// Equation for congestion avoidance: W = W + rho^2 / W for each segment acknowledged.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        self.params.counting.additive_increase(self.rho * self.rho, window, ack)
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        keep(0.5, event, window.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack, event, policy, setup};

    fn after(rtt_ms: u64) -> Ack {
        let rtt = Duration::from_millis(rtt_ms);
        Ack { rtt: Some(rtt), srtt: rtt, min_rtt: rtt, ..ack() }
    }

    fn hybla(segments: u64, ssthresh: u64) -> Box<dyn CongestionControl> {
        policy(r#""hybla""#, r#""standard""#, &setup(segments * MSS, Some(ssthresh * MSS)))
    }

    #[test]
    fn at_the_reference_round_trip_it_is_reno() {
        for rtt in [1, 25] {
            let mut policy = hybla(4, 8);
            policy.on_ack(&after(rtt));
            assert_eq!(policy.window(), 5000);
            let mut policy = hybla(10, 10);
            policy.on_ack(&after(rtt));
            assert_eq!(policy.window(), 10_100);
        }
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one() {
        // Caini and Firrincieli 2004: RTT 100 ms is rho = 4: 15 segments; 50 ms: 3; 30 ms: 2^1.2 - 1 = 1.297.
        for (rtt, bytes) in [(100, 15_000), (50, 3000), (30, 1297)] {
            let mut policy = hybla(4, 1000);
            policy.on_ack(&after(rtt));
            assert_eq!(policy.window(), 4000 + bytes);
        }
    }

    #[test]
    fn slow_start_stops_at_ssthresh_and_rho_is_bounded() {
        let mut policy = hybla(4, 50);
        policy.on_ack(&after(600));
        assert_eq!((policy.window(), policy.in_slow_start()), (50_000, false));
        let mut policy = hybla(4, 1_000_000);
        policy.on_ack(&after(600)); // 2^16 - 1 segments
        assert_eq!(policy.window(), 4000 + 65_535_000);
    }

    #[test]
    fn congestion_avoidance_gains_rho_squared_per_round_trip() {
        // rho = 24 at 600 ms: 576 segments per round trip, so 960 a second, as 1 / 0.025^2 * 0.6; Reno gains 40 * 0.6 rounds.
        let mut policy = hybla(10_000, 10_000);
        for _ in 0..10_000 {
            policy.on_ack(&after(600));
        }
        let gained = policy.window() as f64 / 1000.0 - 10_000.0;
        assert!((gained / 576.0 - 1.0).abs() < 0.03, "{gained}");
        policy.on_congestion(&event(CongestionKind::Loss, 10_000_000));
        assert_eq!(policy.window(), 5_000_000);
    }

    #[test]
    fn a_reference_of_nothing_is_refused() {
        let error =
            serde_json::from_str::<crate::Algorithm>(r#"{"kind": "hybla", "rtt0": "0 ms"}"#).unwrap_err();
        assert_eq!(error.to_string(), "hybla: rtt0 must be above 0 s");
    }
}
