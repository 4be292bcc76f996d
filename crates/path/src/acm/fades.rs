//! Attenuation of a signal over time, at random.

use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Duration;

/// Rain: the logarithm of the attenuation is a normal process with an exponential autocorrelation (Maseng and Bakken 1981), as in
/// Recommendation ITU-R P.1853, section 2. Median and deviation are a fit to the distribution of attenuation of a place, which
/// Recommendation ITU-R P.618 gives.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RainSpec {
    /// Median of the attenuation in dB, before the offset that leaves some of the time without rain is taken away.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
    pub median: f64,
    /// Standard deviation of its natural logarithm.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 5))]
    pub sigma: f64,
    /// Share of the time in which rain attenuates the signal.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub share: f64,
    /// How fast it changes, in 1/s: the autocorrelation of the normal process falls to 1/e in 1/beta.
    #[serde(default = "slow")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub beta: f64,
}

/// P.1853's.
fn slow() -> f64 {
    2e-4
}

/// Fades of one depth: the signal is clear or attenuated, each for exponential times.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadesSpec {
    /// Attenuation during a fade in dB.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
    pub depth: f64,
    /// Mean time between fades.
    #[schemars(extend("x-minimum" = "100 ms", "x-maximum" = "8760 h"))]
    pub clear: Duration,
    /// Mean length of a fade.
    #[schemars(extend("x-minimum" = "100 ms", "x-maximum" = "8760 h"))]
    pub faded: Duration,
    /// How fast the attenuation comes and goes, in dB/s; at once if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub slope: Option<f64>,
}

/// A normal number (Box and Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.uniform()));
    radius * libm::cos(2.0 * core::f64::consts::PI * random.uniform())
}

/// The share of a normal distribution that lies above `z`.
fn above(z: f64) -> f64 {
    libm::erfc(z / core::f64::consts::SQRT_2) / 2.0
}

/// The number above which this share of a normal distribution lies.
fn exceeded_by(share: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if above(middle) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

impl RainSpec {
    /// The attenuation in dB at the first of many steps of `step` seconds, and so on without an end.
    pub fn attenuation(self, step: f64, mut random: Random) -> impl Iterator<Item = f64> {
        let median = libm::log(self.median);
        let at = move |x: f64| libm::exp(median + self.sigma * x);
        let offset = at(exceeded_by(self.share));
        let kept = libm::exp(-self.beta * step);
        let fresh = libm::sqrt(1.0 - kept * kept);
        let mut x = normal(&mut random);
        std::iter::from_fn(move || {
            let now = f64::max(at(x) - offset, 0.0);
            x = kept * x + fresh * normal(&mut random);
            Some(now)
        })
    }

    /// The share of the time in which more than `db` are lost.
    pub fn exceeded(&self, db: f64) -> f64 {
        let offset = libm::exp(libm::log(self.median) + self.sigma * exceeded_by(self.share));
        above((libm::log(db + offset) - libm::log(self.median)) / self.sigma)
    }
}

impl FadesSpec {
    /// As [`RainSpec::attenuation`]. The run begins under a clear sky.
    pub fn attenuation(self, step: f64, mut random: Random) -> impl Iterator<Item = f64> {
        let (mut faded, mut now) = (false, 0.0);
        let mut left = random.exponential(self.clear.as_secs_f64());
        std::iter::from_fn(move || {
            let before = now;
            while left <= 0.0 {
                faded = !faded;
                let mean = if faded { self.faded } else { self.clear };
                left += random.exponential(mean.as_secs_f64());
            }
            left -= step;
            let goal = if faded { self.depth } else { 0.0 };
            let most = self.slope.map_or(f64::INFINITY, |slope| slope * step);
            now = goal.clamp(before - most, before + most);
            Some(now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAIN: RainSpec = RainSpec { median: 0.5, sigma: 1.3, share: 0.05, beta: 2e-4 };

    #[test]
    fn normal_shares_are_known() {
        assert!((exceeded_by(0.5)).abs() < 1e-9);
        assert!((exceeded_by(0.05) - 1.644_853_627).abs() < 1e-8);
        assert!((exceeded_by(0.001) - 3.090_232_306).abs() < 1e-8);
    }

    /// In closed form the attenuation is above `a` for Q((ln(a + offset) - ln(median)) / sigma) of the time, and above nothing for the share
    /// of rain. Steps of 5 / beta are independent: four deviations of a share of 200,000.
    #[test]
    fn rain_has_the_distribution_of_its_settings() {
        let many = 200_000;
        let found: Vec<f64> =
            RAIN.attenuation(5.0 / RAIN.beta, Random::stream(1, "rain")).take(many).collect();
        let share = |db: f64| found.iter().filter(|one| **one > db).count() as f64 / many as f64;
        assert!((RAIN.exceeded(0.0) - RAIN.share).abs() < 1e-9);
        for db in [0.0, 1.0, 3.0, 10.0] {
            let expected = RAIN.exceeded(db);
            let tolerance = 4.0 * (expected * (1.0 - expected) / many as f64).sqrt();
            assert!((share(db) - expected).abs() < tolerance, "{db} dB: {} {expected}", share(db));
        }
    }

    /// The autocorrelation of the normal process behind it is exp(-beta t). Where all of the time is rain there is no offset, so that the
    /// process can be read from the attenuation.
    #[test]
    fn rain_changes_as_fast_as_its_settings() {
        let rain = RainSpec { share: 1.0, ..RAIN };
        let x: Vec<f64> = rain
            .attenuation(500.0, Random::stream(2, "rain"))
            .take(400_000)
            .map(|db| (db.ln() - 0.5f64.ln()) / 1.3)
            .collect();
        for lag in [1usize, 5, 10] {
            let pairs = x.len() - lag;
            let found = (0..pairs).map(|i| x[i] * x[i + lag]).sum::<f64>() / pairs as f64;
            let expected = (-2e-4 * 500.0 * lag as f64).exp();
            assert!((found - expected).abs() < 0.03, "lag {lag}: {found} {expected}");
        }
    }

    /// Faded for faded / (clear + faded) of the time: a tenth.
    #[test]
    fn fades_have_their_means_and_their_slope() {
        let clear = Duration::from_secs(90);
        let spec = FadesSpec { depth: 6.0, clear, faded: Duration::from_secs(10), slope: None };
        let found: Vec<f64> = spec.attenuation(0.5, Random::stream(3, "fades")).take(4_000_000).collect();
        let share = found.iter().filter(|db| **db > 0.0).count() as f64 / found.len() as f64;
        // 20,000 fades, as of outages at random.
        assert!((share - 0.1).abs() < 0.005, "{share}");
        let slow = FadesSpec { slope: Some(2.0), ..spec };
        let found: Vec<f64> = slow.attenuation(0.5, Random::stream(3, "fades")).take(40_000).collect();
        assert!(found.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= 1.0 + 1e-12));
        assert!(found.iter().any(|db| (*db - 6.0).abs() < 1e-9));
    }
}
