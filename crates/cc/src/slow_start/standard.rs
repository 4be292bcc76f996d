//! Standard slow start: one segment more for each segment acknowledged (RFC 5681 section 3.1, RFC 9293),
//! counted by ACKs or by bytes (RFC 3465).

use crate::params::Spec;
use crate::registry::SlowStartSpec;
use crate::{Ack, Congestion, CongestionKind, Counting, Growth, Setup, SlowStart, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Standard`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StandardParams {
    /// What an ACK counts for: the bytes that it covers, at most `limit` segments, or one segment whatever it covers.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
    /// L of RFC 3465: the most that one ACK may add when counting bytes; 1 as in RFC 5681, 2 the most that RFC 3465
    /// allows, more as some stacks do. After a timeout it is always 1.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "segments"))]
    pub limit: u32,
}

impl Default for StandardParams {
    /// `cwnd += min(N, SMSS)`: RFC 5681 equation (2).
    fn default() -> Self {
        StandardParams { counting: Counting::Bytes, limit: 1 }
    }
}

impl Spec for StandardParams {
    const NAME: &'static str = "standard";
    const SOURCE: &'static str = "RFC 5681, RFC 3465";
    const SUMMARY: &'static str = "doubles the window each round trip until ssthresh or congestion";
}

impl SlowStartSpec for StandardParams {
    type Policy = Standard;
    fn start(&self, _: &Setup) -> Standard {
        Standard { params: self.clone(), after_timeout: false }
    }
}

/// Slow start of RFC 5681 with the byte counting of RFC 3465.
#[derive(Clone, Debug)]
pub struct Standard {
    params: StandardParams,
    after_timeout: bool,
}

impl Standard {
    /// Bytes by which the window grows upon this ACK: min(N, L * SMSS), or SMSS.
    pub(crate) fn step(&self, window: &Window, ack: &Ack) -> f64 {
        // RFC 3465 section 2.3: after a timeout an ACK may cover what had arrived long before.
        let limit = if self.after_timeout { 1 } else { self.params.limit };
        self.params.counting.credit(ack, window.mss).min(f64::from(limit) * window.mss)
    }
}

impl SlowStart for Standard {
    fn increase(&mut self, window: &Window, ack: &Ack) -> Growth {
        Growth { bytes: self.step(window, ack), exit: false }
    }
    fn congestion(&mut self, event: &Congestion) {
        self.after_timeout = event.kind == CongestionKind::Timeout;
    }
    fn idle(&mut self) {
        self.after_timeout = false;
    }
}
