//! Limited slow start (RFC 3742): above max_ssthresh the window gains at most max_ssthresh / 2 each round trip,
//! so that a large window does not overshoot by as much again.

use super::standard::{Standard, StandardParams};
use crate::params::{SlowStartSpec, Spec};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::setup::in_bytes;
use crate::{Ack, Bytes, Congestion, CongestionKind, Counting, Growth, Setup, SlowStart, Window};
use longhaul_units::Limit;

/// Parameters of [`Limited`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitedParams {
    /// Window from which growth is limited, in packets of one MSS or in bytes; RFC 3742 recommends 100 packets.
    pub max_ssthresh: Limit,
    /// Whose rule: the RFC's, or ns-2's, which goes on above ssthresh until the first cut.
    #[schemars(extend("x-unit" = "rfc or ns2"))]
    pub form: Form,
    /// What an ACK counts for: one segment as in RFC 3742, or the bytes that it covers, at most `limit` segments.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
    /// The most that one ACK may count for when counting bytes (L of RFC 3465).
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "segments"))]
    pub limit: u32,
}

/// Where the RFC and ns-2 differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// RFC 3742: a form of slow start, up to ssthresh. K is a whole number.
    Rfc,
    /// ns-2: slow start proper ends at max_ssthresh (it is the initial ssthresh). Above, each ACK adds MSS / K, or what the
    /// avoidance rule adds if that is more, until the first cut; a timeout does not count as one. After a timeout nothing
    /// is added to the avoidance rule's step where K is 0, below max_ssthresh / 2.
    Ns2,
}

impl Default for LimitedParams {
    fn default() -> Self {
        LimitedParams {
            max_ssthresh: Limit::Packets(100),
            form: Form::Rfc,
            counting: Counting::Acks,
            limit: 1,
        }
    }
}

impl Spec for LimitedParams {
    const NAME: &'static str = "limited";
    const SOURCE: &'static str = "RFC 3742";
    const SUMMARY: &'static str =
        "slow start that adds at most max_ssthresh / 2 per round trip above max_ssthresh";

    fn check(&self) -> Result<(), String> {
        match self.max_ssthresh {
            Limit::Packets(0) => Err("max_ssthresh must be at least 1 packet, not 0 packets".to_string()),
            Limit::Bytes(size) if size.as_bytes() == 0 => {
                Err("max_ssthresh must be at least 1 B, not 0 B".to_string())
            }
            _ => Ok(()),
        }
    }
}

impl SlowStartSpec for LimitedParams {
    type Policy = Limited;
    fn start(&self, setup: &Setup) -> Limited {
        let standard =
            StandardParams { counting: self.counting, limit: self.limit, ..StandardParams::default() };
        let max_ssthresh = in_bytes(self.max_ssthresh, setup.mss) as f64;
        Limited { given: self.max_ssthresh, max_ssthresh, form: self.form, standard: standard.start(setup) }
    }
}

/// Slow start of RFC 3742.
#[derive(Clone, Debug)]
pub struct Limited {
    given: Limit,
    /// In bytes.
    max_ssthresh: f64,
    form: Form,
    standard: Standard,
}

impl Limited {
    /// RFC 3742 section 2. The text truncates MSS / K to whole bytes, which would end all growth at K > MSS: at 73,000
    /// segments of 1460 bytes, short of the 83,000 of its own example. The fraction is kept.
    fn step(&self, window: &Window, ack: &Ack) -> f64 {
        let full = self.standard.step(window, ack);
        if window.cwnd <= self.max_ssthresh { full } else { full / self.k(window) }
    }

    /// K = int(cwnd / (max_ssthresh / 2)).
    fn k(&self, window: &Window) -> f64 {
        (window.cwnd / (0.5 * self.max_ssthresh)).trunc()
    }
}

impl SlowStart for Limited {
    fn initial_ssthresh(&self, given: f64) -> f64 {
        match self.form {
            Form::Rfc => given,
            Form::Ns2 => given.min(self.max_ssthresh),
        }
    }
    fn increase(&mut self, window: &Window, ack: &Ack) -> Growth {
        let bytes = match self.form {
            Form::Rfc => self.step(window, ack),
            Form::Ns2 => self.standard.step(window, ack),
        };
        Growth { bytes, exit: false }
    }
    fn beyond_ssthresh(&mut self, window: &Window, ack: &Ack) -> f64 {
        let uncut = matches!(window.last_cut, None | Some(CongestionKind::Timeout));
        let k = self.k(window);
        if self.form == Form::Ns2 && uncut && k > 0.0 { self.standard.step(window, ack) / k } else { 0.0 }
    }
    fn congestion(&mut self, event: &Congestion) {
        self.standard.congestion(event);
    }
    fn idle(&mut self) {
        self.standard.idle();
    }
    fn on_mss(&mut self, mss: Bytes) {
        self.max_ssthresh = in_bytes(self.given, mss) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack, event, policy, setup};
    use crate::{CongestionControl, CongestionKind, SlowStartKind};
    use longhaul_units::Size;

    fn limited(initial_window: u64) -> Box<dyn CongestionControl> {
        policy(r#""reno""#, r#""limited""#, &setup(initial_window * MSS, None))
    }

    #[test]
    fn the_increment_falls_as_the_window_grows() {
        // RFC 3742 section 2: MSS up to max_ssthresh (100), MSS/2 up to 1.5 times, MSS/3 up to twice that, and so on.
        for (window, increment) in
            [(99, 1000), (100, 1000), (101, 500), (149, 500), (150, 333), (199, 333), (200, 250), (5000, 10)]
        {
            let mut policy = limited(window);
            policy.on_ack(&ack());
            assert_eq!(policy.window() - window * MSS, increment, "at {window} segments");
        }
    }

    #[test]
    fn growth_does_not_end_at_large_windows() {
        // 83,000 segments are the example of RFC 3742 section 1: K = 1660 exceeds the MSS of 1000 bytes.
        let mut policy = limited(83_000);
        for _ in 0..1660 {
            policy.on_ack(&ack());
        }
        assert_eq!(policy.window(), 83_000_000 + 1000);
    }

    #[test]
    fn gains_half_max_ssthresh_per_round_trip() {
        let mut policy = limited(1000);
        for _ in 0..1000 {
            policy.on_ack(&ack());
        }
        // 50 segments; K = 20 for all of the round trip.
        assert_eq!(policy.window(), 1_050_000);
    }

    #[test]
    fn takes_as_long_as_rfc_3742_says() {
        // Section 3: log2(100) + (5000 - 100) / 50 = 104.6 round trips to 5000 segments; whole numbers K make it a little
        // quicker while they are small.
        let mut policy = limited(1);
        let mut rounds = 0;
        while policy.window() < 5000 * MSS {
            for _ in 0..policy.window() / MSS {
                policy.on_ack(&ack());
            }
            rounds += 1;
        }
        assert!((100..=105).contains(&rounds), "{rounds} round trips");
    }

    #[test]
    fn ns2_goes_on_above_ssthresh_until_the_first_cut() {
        let form = r#"{"kind": "limited", "form": "ns2"}"#;
        let mut policy = policy(r#"{"kind": "reno", "counting": "acks"}"#, form, &setup(100 * MSS, None));
        assert_eq!((policy.ssthresh(), policy.in_slow_start()), (100_000, false));
        policy.on_ack(&ack()); // K = 2: half a segment, where Reno would add a hundredth
        assert_eq!(policy.window(), 100_500);
        policy.on_congestion(&event(CongestionKind::Loss, 100_000));
        assert_eq!((policy.window(), policy.ssthresh()), (50_000, 50_000));
        policy.on_ack(&ack()); // Reno alone: 1/50 of a segment
        assert_eq!(policy.window(), 50_020);
    }

    #[test]
    fn ns2_does_not_count_a_timeout_as_a_cut() {
        let form = r#"{"kind": "limited", "form": "ns2", "max_ssthresh": "8 packets"}"#;
        let mut policy = policy(r#"{"kind": "reno", "counting": "acks"}"#, form, &setup(20 * MSS, None));
        policy.on_congestion(&event(CongestionKind::Timeout, 20_000));
        assert_eq!((policy.window(), policy.ssthresh()), (1000, 10_000));
        for _ in 0..10 {
            policy.on_ack(&ack());
        }
        // Nine ACKs to ssthresh, then K = int(10 / 4) = 2.
        assert_eq!(policy.window(), 10_500);
    }

    #[test]
    fn ns2_adds_fifty_segments_per_round_trip() {
        // ns-2.35, max_ssthresh_ 100, cwnd_ at the end of six round trips: 64, 114, 164, 214, 264; 1264 after 26.
        let form = r#"{"kind": "limited", "form": "ns2"}"#;
        let mut policy = policy(r#"{"kind": "reno", "counting": "acks"}"#, form, &setup(64 * MSS, None));
        let mut round = |trips: usize| {
            for _ in 0..trips {
                (0..policy.window() / MSS).for_each(|_| policy.on_ack(&ack()));
            }
            policy.window() / MSS
        };
        assert_eq!([round(1), round(1), round(1), round(1), round(20)], [114, 164, 214, 264, 1264]);
    }

    #[test]
    fn ns2_leaves_small_windows_after_a_timeout_to_the_avoidance_rule() {
        // ns-2: K = int(10 / 50) = 0.
        let form = r#"{"kind": "limited", "form": "ns2"}"#;
        let mut policy = policy(r#"{"kind": "reno", "counting": "acks"}"#, form, &setup(20 * MSS, None));
        policy.on_congestion(&event(CongestionKind::Timeout, 20_000));
        (0..10).for_each(|_| policy.on_ack(&ack()));
        assert_eq!(policy.window(), 10_100);
    }

    #[test]
    fn nothing_is_no_threshold() {
        let error =
            serde_json::from_str::<SlowStartKind>(r#"{"kind": "limited", "max_ssthresh": "0 packets"}"#);
        let message = "limited: max_ssthresh must be at least 1 packet, not 0 packets";
        assert_eq!(error.unwrap_err().to_string(), message);
    }

    #[test]
    fn max_ssthresh_is_at_least_one_packet_or_one_byte() {
        let check = |max_ssthresh| LimitedParams { max_ssthresh, ..LimitedParams::default() }.check();
        let bytes = |size| Limit::Bytes(Size::from_bytes(size));
        assert_eq!([Limit::Packets(1), bytes(1)].map(check), [Ok(()), Ok(())]);
        assert!([Limit::Packets(0), bytes(0)].map(check).iter().all(Result::is_err));
    }
}
