//! Random numbers: one stream for each component, derived from the run's seed and the component's name, so that
//! adding a component does not change another's draws. The generator is ChaCha8: the same on every machine.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of component `name` in a run with `seed`.
    pub fn stream(seed: u64, name: &str) -> Self {
        let mut key = [0u8; 32];
        // FNV-1a over the name, once for each quarter of the key, from four different starting points.
        for (quarter, bytes) in key.chunks_exact_mut(8).enumerate() {
            let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ (quarter as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for byte in seed.to_le_bytes().iter().chain(name.as_bytes()) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            bytes.copy_from_slice(&hash.to_le_bytes());
        }
        Random(ChaCha8Rng::from_seed(key))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..=`max`, to within one part in 2^64 of `max`.
    pub fn up_to(&mut self, max: u64) -> u64 {
        if max == u64::MAX {
            return self.0.next_u64();
        }
        ((u128::from(self.0.next_u64()) * (u128::from(max) + 1)) >> 64) as u64
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Number of failures before the first success in independent trials with success probability `p` in (0, 1]:
    /// the distance to the next loss, exact however small `p` is.
    pub fn geometric(&mut self, p: f64) -> u64 {
        if p >= 1.0 {
            return 0;
        }
        let failures = libm::log(1.0 - self.uniform()) / libm::log1p(-p);
        if failures >= u64::MAX as f64 { u64::MAX } else { failures as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_alone() {
        let draw = |seed, name| Random::stream(seed, name).bits();
        assert_eq!(draw(1, "link up"), draw(1, "link up"));
        assert_ne!(draw(1, "link up"), draw(2, "link up"));
        assert_ne!(draw(1, "link up"), draw(1, "link down"));
    }

    #[test]
    fn uniform_has_mean_one_half() {
        let mut random = Random::stream(7, "uniform");
        let mean = (0..100_000).map(|_| random.uniform()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.004, "mean {mean}"); // four standard errors
    }

    #[test]
    fn geometric_has_mean_one_minus_p_over_p_even_for_tiny_p() {
        for p in [0.5, 0.01, 1e-7] {
            let mut random = Random::stream(3, "geometric");
            let draws = 40_000;
            let mean = (0..draws).map(|_| random.geometric(p) as f64).sum::<f64>() / f64::from(draws);
            let expected = (1.0 - p) / p;
            assert!((mean / expected - 1.0).abs() < 0.03, "p {p}: mean {mean}, expected {expected}");
        }
        assert_eq!(Random::stream(1, "certain").geometric(1.0), 0);
    }

    #[test]
    fn up_to_covers_its_range() {
        let mut random = Random::stream(5, "up to");
        let mut seen = [false; 4];
        (0..100).for_each(|_| seen[random.up_to(3) as usize] = true);
        assert_eq!(seen, [true; 4]);
        assert_eq!(random.up_to(0), 0);
    }
}
