//! A constant window that no loss, mark or timeout changes: what flow control alone would send (RFC 9293).
//! For measuring a path, and for the closed form W / RTT.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::setup::in_bytes;
use crate::{Ack, Bytes, Congestion, CongestionControl, Pacing, Setup};
use longhaul_units::{Duration, Limit, Rate, Size};

/// Parameters of [`Fixed`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FixedParams {
    /// The window, in packets of one MSS ("64 packets") or in bytes ("64 kB").
    pub window: Limit,
}

impl Default for FixedParams {
    /// 65,535 bytes: the largest window without the window scale option (RFC 9293, RFC 7323).
    fn default() -> Self {
        FixedParams { window: Limit::Bytes(Size::from_bytes(65_535)) }
    }
}

impl Spec for FixedParams {
    const NAME: &'static str = "fixed";
    const SOURCE: &'static str = "none (a constant)";
    const SUMMARY: &'static str = "a constant window that ignores congestion; slow start does not apply";

    fn check(&self) -> Result<(), String> {
        match self.window {
            Limit::Packets(0) => Err("window must be at least 1 packet, not 0 packets".to_string()),
            Limit::Bytes(size) if size.as_bytes() == 0 => {
                Err("window must be at least 1 B, not 0 B".to_string())
            }
            _ => Ok(()),
        }
    }
}

impl AlgorithmSpec for FixedParams {
    fn policy(&self, _: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let mut fixed = Fixed { given: self.window, window: 0, pacing: setup.pacing, srtt: Duration::ZERO };
        fixed.on_mss(setup.mss);
        Box::new(fixed)
    }
}

/// A constant window.
#[derive(Clone, Debug)]
pub struct Fixed {
    given: Limit,
    /// The same in bytes.
    window: Bytes,
    pacing: Pacing,
    srtt: Duration,
}

impl CongestionControl for Fixed {
    fn on_mss(&mut self, mss: Bytes) {
        self.window = in_bytes(self.given, mss).max(mss);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> Bytes {
        self.window
    }
    /// Zero: the window is never in slow start.
    fn ssthresh(&self) -> Bytes {
        0
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.rate(self.window as f64, 0.0, self.srtt)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack, event, policy, setup};
    use crate::{Algorithm, CongestionKind};

    #[test]
    fn nothing_moves_a_fixed_window() {
        let fixed = r#"{"kind": "fixed", "window": "64 packets"}"#;
        let mut policy = policy(fixed, r#""standard""#, &setup(2 * MSS, None));
        for kind in [CongestionKind::Loss, CongestionKind::EcnEcho, CongestionKind::Timeout] {
            policy.on_congestion(&event(kind, 64_000));
            policy.on_ack(&ack());
            policy.on_idle(2 * MSS);
            assert_eq!((policy.window(), policy.in_slow_start()), (64_000, false));
        }
    }

    #[test]
    fn the_window_is_in_packets_or_in_bytes_and_never_nothing() {
        let window = |text: &str| {
            let fixed = format!(r#"{{"kind": "fixed", "window": "{text}"}}"#);
            policy(&fixed, r#""standard""#, &setup(2 * MSS, None)).window()
        };
        assert_eq!(window("64 KiB"), 65_536);
        assert_eq!(window("10 B"), 1000);
        assert_eq!(policy(r#""fixed""#, r#""standard""#, &setup(MSS, None)).window(), 65_535);
        let nothing = serde_json::from_str::<Algorithm>(r#"{"kind": "fixed", "window": "0 packets"}"#);
        assert_eq!(
            nothing.unwrap_err().to_string(),
            "fixed: window must be at least 1 packet, not 0 packets"
        );
    }
}
