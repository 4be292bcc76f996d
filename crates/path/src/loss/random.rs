//! Independent losses: every packet is lost with the same probability.

use super::{LossPlace, Model, Parameters, distance};
use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Instant, Probability};

/// Parameters of independent losses.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RandomLoss {
    /// Probability of losing a packet.
    pub probability: Probability,
    /// Where on the link.
    #[serde(default)]
    pub place: LossPlace,
}

impl Parameters for RandomLoss {
    type Model = Independent;
    fn place(&self) -> LossPlace {
        self.place
    }
    fn mean_loss(&self, _len: u32) -> f64 {
        self.probability.get()
    }
    fn start(&self, mut random: Random) -> Independent {
        let p = self.probability.get();
        Independent { p, good_packets: distance(&mut random, p), random }
    }
}

/// Counts down to the next loss.
#[derive(Clone, Debug)]
pub struct Independent {
    p: f64,
    good_packets: u64,
    random: Random,
}

impl Model for Independent {
    fn is_lost(&mut self, _now: Instant, _len: u32) -> bool {
        if self.good_packets > 0 {
            self.good_packets -= u64::from(self.good_packets != u64::MAX);
            return false;
        }
        self.good_packets = distance(&mut self.random, self.p);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{measured, probability};
    use super::*;

    fn loss(p: f64) -> RandomLoss {
        RandomLoss { probability: probability(p), place: LossPlace::Wire }
    }

    #[test]
    fn random_loss_has_its_rate() {
        for p in [0.0, 1e-4, 0.01, 0.3, 1.0] {
            let found = measured(loss(p), 1500, 1_000_000);
            let sigma = (p * (1.0 - p) / 1e6).sqrt();
            assert!((found - p).abs() <= 4.0 * sigma, "p {p}: {found}");
            assert_eq!(loss(p).mean_loss(1500), p);
        }
    }

    /// At 1e-6 and 1e-7 the number of losses over long runs is Poisson's: within four standard deviations.
    #[test]
    fn tiny_loss_rates_are_exact_over_long_runs() {
        for (p, packets, expected, sigma) in
            [(1e-6, 400_000_000u64, 400.0, 20.0), (1e-7, 1_000_000_000, 100.0, 10.0)]
        {
            let mut model = loss(p).start(Random::stream(2, "long run"));
            let lost = (0..packets).filter(|_| model.is_lost(Instant::ZERO, 1500)).count() as f64;
            assert!((lost - expected).abs() < 4.0 * sigma, "p {p}: {lost} losses in {packets} packets");
        }
    }

    /// Gaps between losses are geometric: P(gap < k) = 1 - (1 - p)^k. The largest distance of the distribution of n gaps from that
    /// is below 1.95 / sqrt(n) in 999 of 1000 cases (Kolmogorov); at 0.1 steps are wide, and it is smaller still.
    #[test]
    fn gaps_are_geometric_from_1e_7_to_1e_1() {
        for exponent in 1..=7 {
            let p = 10f64.powi(-exponent);
            let mut random = Random::stream(1, "gaps");
            let draws = 100_000;
            let mut gaps: Vec<f64> = (0..draws).map(|_| distance(&mut random, p) as f64).collect();
            gaps.sort_by(f64::total_cmp);
            let largest = (0..draws)
                .filter(|index| index + 1 == draws || gaps[index + 1] > gaps[*index])
                .map(|index| {
                    let found = (index + 1) as f64 / draws as f64;
                    let expected = -((gaps[index] + 1.0) * (-p).ln_1p()).exp_m1();
                    (found - expected).abs()
                })
                .fold(0.0, f64::max);
            assert!(largest < 1.95 / (draws as f64).sqrt(), "p {p}: distance {largest}");
        }
    }
}
