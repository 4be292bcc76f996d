//! Independent bit errors: a packet with a wrong bit is lost.

use super::{LossPlace, Model, Parameters, distance};
use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Instant, Probability};

/// Parameters of independent bit errors.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct BitErrors {
    /// Bit error rate.
    pub rate: Probability,
    /// Where on the link.
    #[serde(default)]
    pub place: LossPlace,
}

impl Parameters for BitErrors {
    type Model = WrongBits;
    fn place(&self) -> LossPlace {
        self.place
    }
    fn mean_loss(&self, len: u32) -> f64 {
        -libm::expm1(f64::from(len) * 8.0 * libm::log1p(-self.rate.get()))
    }
    fn start(&self, mut random: Random) -> WrongBits {
        let rate = self.rate.get();
        WrongBits { rate, good_bits: distance(&mut random, rate), random }
    }
}

/// Counts down to the next wrong bit.
#[derive(Clone, Debug)]
pub struct WrongBits {
    rate: f64,
    good_bits: u64,
    random: Random,
}

impl Model for WrongBits {
    fn is_lost(&mut self, _now: Instant, len: u32) -> bool {
        let mut bits = u64::from(len) * 8;
        if self.good_bits >= bits {
            self.good_bits -= if self.good_bits == u64::MAX { 0 } else { bits };
            return false;
        }
        while self.good_bits < bits {
            bits -= self.good_bits + 1;
            self.good_bits = distance(&mut self.random, self.rate);
        }
        self.good_bits -= bits;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{measured, probability};
    use super::*;

    #[test]
    fn bit_errors_hit_long_packets_more() {
        // A 1500-byte packet survives a bit error rate of 1e-5 with probability (1 - 1e-5)^12000 = 0.88692.
        let spec = BitErrors { rate: probability(1e-5), place: LossPlace::Wire };
        assert!((spec.mean_loss(1500) - 0.11308).abs() < 1e-5);
        assert!((measured(spec, 1500, 400_000) - 0.11308).abs() < 0.002);
        assert!((measured(spec, 40, 400_000) - 0.0031949).abs() < 0.0004);
        let certain = BitErrors { rate: probability(1.0), place: LossPlace::Wire };
        assert_eq!(measured(certain, 40, 100), 1.0);
    }
}
