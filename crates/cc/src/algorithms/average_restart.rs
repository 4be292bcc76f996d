//! Reno that restarts at its average window: after a timeout the window is the running mean of what it was, and slow start
//! from one segment comes only if that brings no ACK. R. J. Wade, K. Djemame and others, ICT 1998, as reported in Wade's PhD
//! thesis, Leeds 2000, section 2 (its contribution C1). All else is RFC 5681.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::half_flight;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Setup, Window};

/// Parameters of [`AverageRestart`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AverageRestartParams {
    /// Weight of the present window in the average, updated with each ACK; 1 is no average at all.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share"))]
    pub weight: f64,
    /// A fast retransmit sets the window to the average too, not only a timeout. The average may be above half of the window, so that losses
    /// go on: for comparison with its source alone.
    #[schemars(extend("x-unit" = "true or false"))]
    pub on_fast_retransmit: bool,
    /// What an ACK counts for: the bytes that it covers (RFC 3465) or one segment (RFC 2581, ns-2).
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for AverageRestartParams {
    /// avg = 0.9 avg + 0.1 cwnd, the thesis's example.
    fn default() -> Self {
        AverageRestartParams { weight: 0.1, on_fast_retransmit: false, counting: Counting::Bytes }
    }
}

impl Spec for AverageRestartParams {
    const NAME: &'static str = "reno_average";
    const SOURCE: &'static str = "Wade 2000";
    const SUMMARY: &'static str =
        "Reno that restarts at its average window after a timeout, not at one segment";
}

impl AlgorithmSpec for AverageRestartParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(AverageRestart { params: self.clone(), average: None }, setup)
    }
}

/// Congestion avoidance of RFC 5681 with an average window to restart from.
#[derive(Clone, Debug)]
pub struct AverageRestart {
    params: AverageRestartParams,
    /// In bytes; none before the first ACK.
    average: Option<f64>,
}

impl Avoidance for AverageRestart {
    /// avg = 0.9 avg + 0.1 cwnd upon each ACK.
    fn observe(&mut self, window: &Window, _: &Ack) {
        let average = self.average.get_or_insert(window.cwnd);
        *average += self.params.weight * (window.cwnd - *average);
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        self.params.counting.additive_increase(1.0, window, ack)
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let ssthresh = half_flight(event.flight_size, window.mss);
        let average = self.average.filter(|_| self.params.on_fast_retransmit);
        Cut { ssthresh, cwnd: average.unwrap_or(ssthresh) }
    }

    fn loss_window(&self, window: &Window) -> f64 {
        self.average.unwrap_or(window.mss)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack, event, policy, setup};
    use crate::{CongestionControl, CongestionKind};
    use longhaul_units::Instant;

    /// In congestion avoidance with a window of twenty segments that an average of ten lags behind.
    fn grown(algorithm: &str) -> Box<dyn CongestionControl> {
        let mut policy = policy(algorithm, r#""standard""#, &setup(10 * MSS, Some(20 * MSS)));
        for _ in 0..10 {
            policy.on_ack(&ack());
        }
        assert_eq!(policy.window(), 20_000);
        policy
    }

    /// The average saw 10, 11 .. 19 segments: avg(k+1) = 0.9 avg(k) + 0.1 (10 + k) from avg = 10, so that
    /// avg = 10 + k - 9 + 9 * 0.9^k with k = 9 steps after the first: 10 + 9 * 0.9^9 = 13.487 segments.
    #[test]
    fn a_timeout_leaves_the_average_window() {
        let mut reno = grown(r#""reno_average""#);
        reno.on_congestion(&event(CongestionKind::Timeout, 20_000));
        assert_eq!((reno.window(), reno.ssthresh()), (13_486, 10_000));
        assert!(!reno.in_slow_start());
    }

    /// "if no ACK arrives within a set period after such a restart -> ordinary slow start": here when the timer expires again.
    #[test]
    fn without_an_ack_it_falls_back_to_slow_start() {
        let mut reno = grown(r#""reno_average""#);
        reno.on_congestion(&event(CongestionKind::Timeout, 20_000));
        assert!(reno.on_back_off(Instant::ZERO));
        assert_eq!((reno.window(), reno.ssthresh(), reno.in_slow_start()), (1000, 10_000, true));
        assert!(!reno.on_back_off(Instant::ZERO));
        let mut plain = grown(r#""reno""#);
        plain.on_congestion(&event(CongestionKind::Timeout, 20_000));
        assert!(!plain.on_back_off(Instant::ZERO));
    }

    #[test]
    fn an_ack_after_the_restart_keeps_it() {
        let mut reno = grown(r#""reno_average""#);
        reno.on_congestion(&event(CongestionKind::Timeout, 20_000));
        reno.on_ack(&ack());
        assert!(!reno.on_back_off(Instant::ZERO));
        assert!(reno.window() > 13_486);
    }

    #[test]
    fn a_fast_retransmit_halves_unless_it_is_to_restart_too() {
        let mut reno = grown(r#""reno_average""#);
        reno.on_congestion(&event(CongestionKind::Loss, 20_000));
        assert_eq!(reno.window(), 10_000);
        let mut both = grown(r#"{"kind": "reno_average", "on_fast_retransmit": true}"#);
        both.on_congestion(&event(CongestionKind::Loss, 20_000));
        assert_eq!((both.window(), both.ssthresh()), (13_486, 10_000));
    }
}
