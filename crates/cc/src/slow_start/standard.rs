//! Standard slow start: one segment more for each segment acknowledged (RFC 5681 section 3.1, RFC 9293),
//! counted by ACKs or by bytes (RFC 3465).

use crate::params::{SlowStartSpec, Spec};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Congestion, CongestionKind, Counting, Growth, Setup, SlowStart, Window};

/// Parameters of [`Standard`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StandardParams {
    /// What an ACK counts for: the bytes that it covers, at most `limit` segments, or one segment whatever it covers.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
    /// L of RFC 3465: the most that one ACK may add when counting bytes; 1 as in RFC 5681, 2 the most that RFC 3465
    /// allows, more as some stacks do. An ACK Ratio above L (RFC 5690) takes its place.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "segments"))]
    pub limit: u32,
    /// The same after a timeout, where an ACK may cover what had arrived long before: 1 (RFC 3465 section 2.3). Linux has no limit.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "segments"))]
    pub limit_after_timeout: u32,
}

impl Default for StandardParams {
    /// `cwnd += min(N, SMSS)`: RFC 5681 equation (2).
    fn default() -> Self {
        StandardParams { counting: Counting::Bytes, limit: 1, limit_after_timeout: 1 }
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
        let StandardParams { limit, limit_after_timeout, .. } = self.params;
        let limit = if self.after_timeout { limit_after_timeout } else { limit };
        // RFC 5690 section 4.7: fewer ACKs are not to slow the growth, and segments are paced then.
        let limit = limit.max(ack.ack_ratio);
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

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack, ack_at, event, policy, setup};
    use crate::{CongestionControl, CongestionKind};

    fn standard(slow_start: &str) -> Box<dyn CongestionControl> {
        policy(r#""reno""#, slow_start, &setup(2 * MSS, Some(8 * MSS)))
    }

    #[test]
    fn doubles_each_round_trip_until_ssthresh() {
        let mut reno = standard(r#""standard""#);
        for acks in [2, 4] {
            for _ in 0..acks {
                reno.on_ack(&ack());
            }
        }
        assert_eq!((reno.window(), reno.in_slow_start()), (8000, false));
        reno.on_ack(&ack()); // now congestion avoidance: 1000 * 1000 / 8000
        assert_eq!(reno.window(), 8125);
    }

    #[test]
    fn an_ack_of_less_than_a_segment_counts_for_its_bytes() {
        // RFC 5681 equation (2): min(N, SMSS) is proof against ACK division.
        let mut reno = standard(r#""standard""#);
        reno.on_ack(&ack_at(0, 100));
        assert_eq!(reno.window(), 2100);
        let mut by_acks = standard(r#"{"kind": "standard", "counting": "acks"}"#);
        by_acks.on_ack(&ack_at(0, 100));
        assert_eq!(by_acks.window(), 3000);
    }

    #[test]
    fn l_limits_what_an_ack_counts_for() {
        // RFC 3465 section 2.2: cwnd += min(N, L * SMSS); L = 1 and L = 2.
        for (limit, window) in [(1, 3000), (2, 4000), (8, 5000)] {
            let mut reno = standard(&format!(r#"{{"kind": "standard", "limit": {limit}}}"#));
            reno.on_ack(&ack_at(0, 3 * MSS));
            assert_eq!(reno.window(), window);
        }
    }

    #[test]
    fn l_is_one_after_a_timeout() {
        // RFC 3465 section 2.3.
        let mut reno = standard(r#"{"kind": "standard", "limit": 2}"#);
        reno.on_congestion(&event(CongestionKind::Timeout, 20_000));
        reno.on_ack(&ack_at(0, 5 * MSS));
        assert_eq!(reno.window(), 2000);
        // The next slow start, after an idle period, counts as before.
        reno.on_idle(MSS);
        reno.on_ack(&ack_at(0, 5 * MSS));
        assert_eq!(reno.window(), 3000);
    }

    #[test]
    fn linux_knows_no_l_after_a_timeout() {
        // tcp_slow_start() adds what was acked, up to ssthresh.
        let mut reno = standard(r#"{"kind": "standard", "limit": 65535, "limit_after_timeout": 65535}"#);
        reno.on_congestion(&event(CongestionKind::Timeout, 20_000));
        reno.on_ack(&ack_at(0, 5 * MSS));
        assert_eq!(reno.window(), 6000);
    }
}
