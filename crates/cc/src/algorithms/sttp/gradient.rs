//! STTP's signal: each round trip against the one before it, with a dead band, and the factor by which sigma and rho follow it.
//! R. J. Wade, PhD thesis, Leeds 2000, section 3.4.4 and the worked example of section 4.2.2. It is a slope that is looked at,
//! not a level: a queue that stands, or grows slowly, is not seen.

use super::SttpParams;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Duration;

/// The factor that a change of the round trip from `last` to `new` requires. The thesis prints three that do not agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// R1: G = 2 - new / last, so 15 % less RTT is 15 % more rate, as in the worked example.
    #[default]
    Linear,
    /// R2: G = last / new, the nearest form of the printed formula that can work.
    Ratio,
    /// R3: G = 1 + last / new, unweighted, as printed. It raises the rate whatever happens: a negative control.
    Literal,
}

/// The last round trip that was looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Gradient {
    last: Option<Duration>,
}

impl Gradient {
    /// F for this sample, 1 within the dead band and for the first. The sample is the next one's measure in any case.
    pub fn factor(&mut self, params: &SttpParams, rtt: Duration) -> f64 {
        let Some(last) = self.last.replace(rtt) else { return 1.0 };
        let (last, new) = (last.as_secs_f64(), rtt.as_secs_f64());
        if last <= 0.0 || new <= 0.0 || (new <= last * params.rtt_hi && new >= last * params.rtt_lo) {
            return 1.0;
        }
        weighted(params, last, new).clamp(params.step_min, params.step_max)
    }
}

/// F = w_hist + w_new G, with w_hist = 1 - w_new.
fn weighted(params: &SttpParams, last: f64, new: f64) -> f64 {
    let weigh = |g: f64| (1.0 - params.w_new) + params.w_new * g;
    match params.scaling {
        Scaling::Linear => weigh((2.0 - new / last).clamp(params.g_min, params.g_max)),
        Scaling::Ratio => weigh(last / new),
        Scaling::Literal => 1.0 + last / new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F for an RTT of 100 ms and then this one.
    fn factor(params: &SttpParams, rtt_ms: f64) -> f64 {
        let mut gradient = Gradient::default();
        assert_eq!(gradient.factor(params, Duration::from_millis(100)), 1.0);
        gradient.factor(params, Duration::from_secs_f64(rtt_ms / 1000.0))
    }
    fn with(w_new: f64) -> SttpParams {
        SttpParams { w_new, ..SttpParams::default() }
    }

    /// R1: a fall of 15 % gives x1.075 with 5:5, x1.015 with 9:1, x1.135 with 1:9.
    #[test]
    fn a_fall_of_15_per_cent_raises_by_the_weights() {
        for (w_new, f) in [(0.5, 1.075), (0.1, 1.015), (0.9, 1.135)] {
            assert!((factor(&with(w_new), 85.0) - f).abs() < 1e-9, "{w_new}");
        }
        // R2: last / new = 1.17647 instead of 1.15.
        let ratio = SttpParams { scaling: Scaling::Ratio, ..with(0.5) };
        assert!((factor(&ratio, 85.0) - 1.088_235_294).abs() < 1e-9);
    }

    /// Section 9 point 2: "+6 % RTT shrinks, -6 % grows, +-4 % leaves sigma, rho".
    #[test]
    fn the_dead_band_is_five_per_cent() {
        let params = SttpParams::default();
        assert!((factor(&params, 106.0) - 0.97).abs() < 1e-9);
        assert!((factor(&params, 94.0) - 1.03).abs() < 1e-9);
        assert_eq!(factor(&params, 104.0), 1.0);
        assert_eq!(factor(&params, 96.0), 1.0);
        let wide = SttpParams { rtt_hi: 1.2, rtt_lo: 0.8, ..SttpParams::default() };
        assert_eq!(factor(&wide, 115.0), 1.0);
        assert_eq!(factor(&wide, 85.0), 1.0);
    }

    /// Section 1.4: last_rtt is "always updated, even inside the dead band": a slow rise is not seen.
    #[test]
    fn a_slow_rise_stays_within_the_band() {
        let mut gradient = Gradient::default();
        let rises = (0..20).map(|step| Duration::from_secs_f64(0.1 * 1.04_f64.powi(step)));
        assert!(rises.map(|rtt| gradient.factor(&SttpParams::default(), rtt)).all(|f| f == 1.0));
    }

    /// Section 1.5: the raw factor of R1 is held between 0.1 and 2.
    #[test]
    fn a_leap_is_clamped() {
        assert!((factor(&with(0.5), 500.0) - 0.55).abs() < 1e-9); // 0.5 + 0.5 * 0.1
        assert!((factor(&with(1.0), 500.0) - 0.1).abs() < 1e-9);
        let deployed = SttpParams { step_min: 0.5, step_max: 1.5, ..with(1.0) };
        assert_eq!(factor(&deployed, 500.0), 0.5);
        let ratio = SttpParams { scaling: Scaling::Ratio, ..deployed };
        assert_eq!(factor(&ratio, 10.0), 1.5);
    }

    /// Section 1.5, drift: up by x and back leaves 1 - w(1+w) x^2/(1+x) with R1, 1 + w(1-w) x^2/(1+x) with R2.
    /// For x = 0.5 and w = 0.5: 1 - 0.75/6 = 0.875 and 1 + 0.25/6 = 1.041667.
    #[test]
    fn up_and_back_drifts_down_with_r1_and_up_with_r2() {
        for (scaling, left) in [(Scaling::Linear, 0.875), (Scaling::Ratio, 1.041_666_667)] {
            let params = SttpParams { scaling, ..with(0.5) };
            let mut gradient = Gradient::default();
            let product: f64 = [100, 150, 100]
                .into_iter()
                .map(|ms| gradient.factor(&params, Duration::from_millis(ms)))
                .product();
            assert!((product - left).abs() < 1e-9, "{scaling:?}: {product}");
        }
    }

    /// Section 9 point 9: "Negative control R3 diverges (rate rises on rising RTT)".
    #[test]
    fn the_printed_formula_raises_the_rate_when_the_round_trip_rises() {
        let literal = SttpParams { scaling: Scaling::Literal, ..SttpParams::default() };
        assert_eq!(factor(&literal, 200.0), 1.5);
        assert_eq!(factor(&literal, 50.0), 3.0);
    }
}
