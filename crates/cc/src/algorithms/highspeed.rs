//! HighSpeed TCP (RFC 3649): AIMD whose increase a(w) grows and whose decrease b(w) falls with the window, so that large
//! windows do not need impossibly small loss rates. Up to Low_Window it is standard TCP. The formulas are in
//! [`HighSpeedResponse`].

use crate::closed_form::HighSpeedResponse;
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::{Conditions, Formula, Spec};
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Setup, Window};

/// Parameters of [`HighSpeed`].
///
/// RFC 3649's are the default. E. de Souza's study (LBNL-52549, table 5.3), with ns-2, takes `low_window = 31` and
/// `first_cut = "half"`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HighSpeedParams {
    /// Low_Window: up to this window the rules are standard TCP's. 38 in RFC 3649 and by default in ns-2, 31 in LBNL-52549.
    #[schemars(extend("minimum" = 1, "maximum" = 1e9, "x-unit" = "segments"))]
    pub low_window: f64,
    /// Low_P: the loss rate at which the response function leaves standard TCP's. 0 stands for RFC 3649's 10^-3 with its
    /// Low_Window of 38, and for 1.5 / Low_Window^2 with any other (ns-2), where a(w) goes on from 1 without a step.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "losses per segment"))]
    pub low_p: f64,
    /// High_Window: the window that is to be kept at the loss rate `high_p`.
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 1e9, "x-unit" = "segments"))]
    pub high_window: f64,
    /// High_P: see `high_window`.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "losses per segment"))]
    pub high_p: f64,
    /// High_Decrease: b(w) at High_Window and above.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5, "x-unit" = "share of the window"))]
    pub high_decrease: f64,
    /// What the first cut of a connection takes, and any that ends slow start: b(w) as any other, or half the window as in
    /// ns-2.
    #[schemars(extend("x-unit" = "b or half"))]
    pub first_cut: FirstCut,
    /// What an ACK counts for: the bytes that it covers or one segment (RFC 3649, ns-2).
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

/// The decrease when slow start has overshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FirstCut {
    /// b(w), as RFC 3649 makes no difference.
    B,
    /// One half, as in ns-2: after slow start up to half of the window may be in excess.
    Half,
}

impl Default for HighSpeedParams {
    /// RFC 3649 section 5.
    fn default() -> Self {
        HighSpeedParams {
            low_window: 38.0,
            low_p: 0.0,
            high_window: 83_000.0,
            high_p: 1e-7,
            high_decrease: 0.1,
            first_cut: FirstCut::B,
            counting: Counting::Bytes,
        }
    }
}

impl HighSpeedParams {
    /// The response function that these parameters describe.
    pub fn response(&self) -> HighSpeedResponse {
        let low_p = match self.low_p {
            given if given > 0.0 => given,
            _ if self.low_window == HighSpeedResponse::RFC_3649.low_window => {
                HighSpeedResponse::RFC_3649.low_p
            }
            _ => 1.5 / (self.low_window * self.low_window),
        };
        HighSpeedResponse {
            low_window: self.low_window,
            low_p,
            high_window: self.high_window,
            high_p: self.high_p,
            high_decrease: self.high_decrease,
        }
    }
}

impl Spec for HighSpeedParams {
    const NAME: &'static str = "highspeed";
    const SOURCE: &'static str = "RFC 3649";
    const SUMMARY: &'static str =
        "AIMD whose constants depend on the window: a(w) segments more each round trip, b(w) off upon loss";

    fn check(&self) -> Result<(), String> {
        let low_p = self.response().low_p;
        if self.high_window <= self.low_window {
            let (low, high) = (self.low_window, self.high_window);
            return Err(format!("high_window must be above low_window ({low}), not {high}"));
        }
        if self.high_p >= low_p {
            return Err(format!("high_p must be below low_p ({low_p:.3e}), not {}", self.high_p));
        }
        Ok(())
    }

    fn response_function(&self, met: &Conditions) -> Option<Formula> {
        Some(Formula { name: Self::NAME, window: self.response().window(met.p) })
    }
}

impl AlgorithmSpec for HighSpeedParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let rule = HighSpeed { params: self.clone(), response: self.response(), known: (0.0, 1.0) };
        slow_start.compose(rule, setup)
    }
}

/// Congestion avoidance of RFC 3649.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    params: HighSpeedParams,
    response: HighSpeedResponse,
    /// A window in segments and its a(w): two powers and two logarithms that not every ACK must cost.
    known: (f64, f64),
}

impl HighSpeed {
    /// a(w), computed again when the window has moved by a thousandth: a(w) grows slower than w, so it errs by less.
    #[inline]
    fn a(&mut self, w: f64) -> f64 {
        if (w - self.known.0).abs() > 0.001 * w {
            self.known = (w, self.response.a(w));
        }
        self.known.1
    }
}

impl Avoidance for HighSpeed {
    /// RFC 3649 section 5: w = w + a(w) / w.
    #[inline]
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let a = self.a(window.segments());
        self.params.counting.additive_increase(a, window, ack)
    }

    /// RFC 3649 section 5: w = (1 - b(w)) w, where w is what was in flight (RFC 5681 equation (4)).
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let halves = self.params.first_cut == FirstCut::Half && (window.cuts == 0 || window.in_slow_start());
        let b = if halves { 0.5 } else { self.response.b(event.flight_size as f64 / window.mss) };
        keep(1.0 - b, event, window.mss)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack, avoiding, event, policy, setup};
    use crate::{Algorithm, CongestionKind};

    #[test]
    fn gains_a_of_w_per_window() {
        // RFC 3649 Appendix B: a(w) is 1 at 38 segments, 2 at 118, 10 at 1529, 27 at 8726.
        for (segments, a) in [(30, 1.0), (38, 1.0), (118, 2.0), (1529, 10.0), (8726, 27.0)] {
            let mut policy = avoiding(r#""highspeed""#, segments);
            for _ in 0..segments {
                policy.on_ack(&ack());
            }
            let gained = (policy.window() - segments * MSS) as f64 / MSS as f64;
            // RFC 3649's Low_P puts a(w) at 0.963 just above 38.
            assert!((gained / a - 1.0).abs() < 0.045, "{gained} at {segments}, not {a}");
        }
    }

    #[test]
    fn loses_b_of_w() {
        // RFC 3649 Appendix B: b(w) is 0.50 at 38 segments, 0.44 at 118, 0.30 at 1793, 0.10 at 83,000.
        for (segments, b) in [(20, 0.50), (38, 0.50), (118, 0.44), (1793, 0.30), (83_000, 0.10)] {
            for kind in [CongestionKind::Loss, CongestionKind::EcnEcho] {
                let mut policy = avoiding(r#""highspeed""#, segments);
                policy.on_congestion(&event(kind, segments * MSS));
                let left = policy.window() as f64 / (segments * MSS) as f64;
                assert!((1.0 - left - b).abs() < 0.006, "{left} left of {segments}");
                assert_eq!(policy.ssthresh(), policy.window());
            }
        }
    }

    #[test]
    fn a_timeout_halves_as_ever() {
        let mut policy = avoiding(r#""highspeed""#, 1000);
        policy.on_congestion(&event(CongestionKind::Timeout, 1000 * MSS));
        assert_eq!((policy.window(), policy.ssthresh()), (MSS, 500 * MSS));
    }

    #[test]
    fn the_first_cut_can_halve() {
        // ns-2: half at first, b(w) afterwards, half again if slow start has just overshot. b(1000) of the set with
        // Low_Window 31 is 0.324 (parameters of LBNL-52549).
        let mut policy = avoiding(r#"{"kind": "highspeed", "low_window": 31, "first_cut": "half"}"#, 1000);
        policy.on_congestion(&event(CongestionKind::Loss, 1000 * MSS));
        assert_eq!(policy.window(), 500 * MSS);
        policy.on_congestion(&event(CongestionKind::Loss, 1000 * MSS)); // 676 segments would raise it
        assert_eq!(policy.window(), 500 * MSS);
        let left = policy.ssthresh() as f64 / MSS as f64;
        assert!((left - 676.0).abs() < 1.0, "{left}");
        policy.on_congestion(&event(CongestionKind::Timeout, 500 * MSS));
        policy.on_congestion(&event(CongestionKind::Loss, 1000 * MSS));
        assert_eq!(policy.ssthresh(), 500 * MSS);
    }

    /// The study's table 5.3.
    const LBNL_52549: &str = r#"{"kind": "highspeed", "low_window": 31, "first_cut": "half"}"#;

    #[test]
    fn below_low_window_it_is_reno() {
        let mut highspeed = avoiding(r#""highspeed""#, 5);
        let mut reno = avoiding(r#""reno""#, 5);
        for round in 0..600 {
            if round % 97 == 0 {
                highspeed.on_congestion(&event(CongestionKind::Loss, highspeed.window()));
                reno.on_congestion(&event(CongestionKind::Loss, reno.window()));
            }
            highspeed.on_ack(&ack());
            reno.on_ack(&ack());
            assert_eq!(highspeed.window(), reno.window());
        }
        assert!(reno.window() > 10 * MSS);
    }

    #[test]
    fn limited_slow_start_of_ns2_gives_the_larger_of_both_increments() {
        // Section 1.6: max(a(w) / w, 1 / K), K = cwnd / (max_ssthresh / 2), until the first cut. With max_ssthresh = 100 a round
        // trip adds 50 segments while a(w) < 50; with 10 it adds a(w) from where that exceeds 5: a(500) = 5.69.
        let per_round = |max_ssthresh: u64, segments: u64| {
            let limited =
                format!(r#"{{"kind": "limited", "form": "ns2", "max_ssthresh": "{max_ssthresh} packets"}}"#);
            let mut policy = policy(LBNL_52549, &limited, &setup(segments * MSS, None));
            for _ in 0..segments {
                policy.on_ack(&ack());
            }
            policy.window() as f64 / MSS as f64 - segments as f64
        };
        for (max_ssthresh, segments, gained) in
            [(100, 10_000, 50.0), (100, 40_000, 57.47), (10, 200, 5.0), (10, 500, 5.69), (10, 5000, 21.44)]
        {
            let got = per_round(max_ssthresh, segments);
            assert!((got / gained - 1.0).abs() < 0.015, "{got}, not {gained}, at {segments}");
        }
    }

    #[test]
    fn parameters_that_contradict_are_refused() {
        let read = |json: &str| serde_json::from_str::<Algorithm>(json).unwrap_err().to_string();
        assert_eq!(
            read(r#"{"kind": "highspeed", "low_window": 100, "high_window": 50}"#),
            "highspeed: high_window must be above low_window (100), not 50"
        );
        assert_eq!(
            read(r#"{"kind": "highspeed", "high_p": 0.01}"#),
            "highspeed: high_p must be below low_p (1.000e-3), not 0.01"
        );
    }
}
