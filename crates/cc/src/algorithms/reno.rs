//! Reno: additive increase, multiplicative decrease (RFC 5681), with both constants settable: AIMD(a, 1 - b).

use crate::params::Spec;
use crate::registry::{AlgorithmSpec, SlowStartKind};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Setup, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}

impl Default for RenoParams {
    /// AIMD(1, 1/2), by bytes, as RFC 5681 recommends.
    fn default() -> Self {
        RenoParams { a: 1.0, b: 0.5, counting: Counting::Bytes }
    }
}

impl Spec for RenoParams {
    const NAME: &'static str = "reno";
    const SOURCE: &'static str = "RFC 5681";
    const SUMMARY: &'static str = "one segment more each round trip, half the window upon loss (AIMD)";
}

impl AlgorithmSpec for RenoParams {
    fn policy(&self, slow_start: &SlowStartKind, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Reno { params: self.clone() }, setup)
    }
}

/// Congestion avoidance of RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    params: RenoParams,
}

impl Avoidance for Reno {
    /// RFC 5681 section 3.1, equation (3): a * SMSS per window acknowledged, spread over its ACKs.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let credit = self.params.counting.credit(ack, window.mss);
        // An ACK of more than a window is still one round trip.
        self.params.a * window.mss * (credit / window.cwnd).min(1.0)
    }

    /// RFC 5681 section 3.1, equation (4), with 1 - b in place of one half; section 3.2 step 6: cwnd = ssthresh.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let ssthresh = (event.flight_size as f64 * (1.0 - self.params.b)).max(2.0 * window.mss);
        Cut { ssthresh, cwnd: ssthresh }
    }
}
