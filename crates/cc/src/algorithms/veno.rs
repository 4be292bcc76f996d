//! Veno: Reno that takes a loss while little is queued for a random one, and gives up only a fifth of the window for it. C. P. Fu,
//! S. C. Liew: TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks, IEEE JSAC 21(2), 2003.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::keep;
use crate::round_rtt::queued_segments;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Inspection, Setup, Window};
use longhaul_units::Duration;

/// Parameters of [`Veno`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VenoParams {
    /// beta: a backlog N of fewer segments means that the network is not congested.
    #[schemars(extend("minimum" = 0, "maximum" = 1e6, "x-unit" = "segments"))]
    pub beta: f64,
    /// What a loss leaves of the window while the network is not congested; otherwise a half.
    #[schemars(extend("minimum" = 0.5, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub random_loss_keeps: f64,
    /// What an ACK counts for: the bytes that it covers or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for VenoParams {
    /// beta = 3, 4/5 (section III).
    fn default() -> Self {
        VenoParams { beta: 3.0, random_loss_keeps: 0.8, counting: Counting::Bytes }
    }
}

impl Spec for VenoParams {
    const NAME: &'static str = "veno";
    const SOURCE: &'static str = "Fu and Liew 2003";
    const SUMMARY: &'static str =
        "Reno that distinguishes random losses from congestion by the backlog of Vegas";
}

impl AlgorithmSpec for VenoParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let rule = Veno { params: self.clone(), base_rtt: Duration::MAX, backlog: 0.0 };
        slow_start.compose(rule, setup)
    }
}

/// Congestion avoidance of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    params: VenoParams,
    /// The least RTT of data; the handshake's shorter segments do not count.
    base_rtt: Duration,
    /// N: segments queued in the network, by the latest ACK.
    backlog: f64,
}

impl Veno {
    fn is_congested(&self) -> bool {
        self.backlog >= self.params.beta
    }
}

impl Avoidance for Veno {
    fn inspect(&self, window: &Window, inspection: &mut Inspection) {
        inspection.segments("N", self.backlog, window.mss);
        inspection.time("BaseRTT", Some(self.base_rtt));
    }

    /// Section III: N = Actual * (RTT - BaseRTT), where Actual = cwnd / RTT with the smoothed RTT. Retransmissions disturb it, so
    /// that it stands still in recovery.
    fn observe(&mut self, window: &Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.base_rtt = self.base_rtt.min(rtt);
        if !ack.in_recovery {
            self.backlog = queued_segments(window.segments(), self.base_rtt, ack.srtt).max(0.0);
        }
    }

    /// Section III-A: one segment per round trip, one in two while the network is congested.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let segments = if self.is_congested() { 0.5 } else { 1.0 };
        self.params.counting.additive_increase(segments, window, ack)
    }

    /// Section III-B: ssthresh = cwnd * 4/5 if N < beta, else cwnd / 2. A timeout is as Reno's.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        keep(if self.is_congested() { 0.5 } else { self.params.random_loss_keeps }, event, window.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack_at, event, policy, setup};

    /// In congestion avoidance with 100 segments and a base RTT of 100 ms; an ACK of a whole window then had `rtt_ms`.
    fn after(rtt_ms: u64) -> Box<dyn CongestionControl> {
        let mut veno = policy(r#""veno""#, r#""standard""#, &setup(100 * MSS, Some(100 * MSS)));
        for (rtt, acked) in [(100, 0), (rtt_ms, 100 * MSS)] {
            let rtt = Duration::from_millis(rtt);
            veno.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, ..ack_at(0, acked) });
        }
        veno
    }

    #[test]
    fn the_backlog_decides_over_growth_and_cut() {
        // N = 100 (1 - 100 / RTT): 2.9 at 103 ms, 3.8 at 104 ms; beta = 3.
        for (rtt, kept, step) in
            [(100, 80_000, 1000), (103, 80_000, 1000), (104, 50_000, 500), (200, 50_000, 500)]
        {
            let mut veno = after(rtt);
            assert_eq!(veno.window(), 100_000 + step, "at {rtt} ms");
            veno.on_congestion(&event(CongestionKind::Loss, 100_000));
            assert_eq!((veno.window(), veno.ssthresh()), (kept, kept), "at {rtt} ms");
        }
    }

    #[test]
    fn a_timeout_is_renos() {
        let mut veno = after(100);
        veno.on_congestion(&event(CongestionKind::Timeout, 100_000));
        assert_eq!((veno.window(), veno.ssthresh()), (1000, 50_000));
    }
}
