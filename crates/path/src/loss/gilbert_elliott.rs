//! Bursts of losses: a chain of two states (Gilbert 1960, Elliott 1963).

use super::{LossPlace, Model, Parameters};
use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Instant, Probability};

/// Parameters of a chain of two states. The first is the good one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct GilbertElliott {
    /// Probability of going from good to bad (p).
    pub good_to_bad: Probability,
    /// Probability of going from bad to good (r); the mean burst is 1/r packets.
    pub bad_to_good: Probability,
    /// Probability of losing a packet in the good state (1 - k).
    #[serde(default)]
    pub loss_in_good: Probability,
    /// Probability of losing a packet in the bad state (1 - h).
    #[serde(default = "super::certain")]
    pub loss_in_bad: Probability,
    /// Where on the link.
    #[serde(default)]
    pub place: LossPlace,
}

impl Parameters for GilbertElliott {
    type Model = TwoStates;
    fn place(&self) -> LossPlace {
        self.place
    }
    fn mean_loss(&self, _len: u32) -> f64 {
        let (p, r) = (self.good_to_bad.get(), self.bad_to_good.get());
        if p + r == 0.0 {
            return self.loss_in_good.get();
        }
        (r * self.loss_in_good.get() + p * self.loss_in_bad.get()) / (p + r)
    }
    fn start(&self, random: Random) -> TwoStates {
        TwoStates {
            leave: [self.good_to_bad.get(), self.bad_to_good.get()],
            loss: [self.loss_in_good.get(), self.loss_in_bad.get()],
            bad: false,
            random,
        }
    }
}

/// The chain: probabilities of the good state, then of the bad one.
#[derive(Clone, Debug)]
pub struct TwoStates {
    leave: [f64; 2],
    loss: [f64; 2],
    bad: bool,
    random: Random,
}

impl Model for TwoStates {
    fn is_lost(&mut self, _now: Instant, _len: u32) -> bool {
        let state = usize::from(self.bad);
        let lost = self.random.uniform() < self.loss[state];
        self.bad ^= self.random.uniform() < self.leave[state];
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::probability;
    use super::*;

    #[test]
    fn gilbert_elliott_loses_in_bursts() {
        // Stationary share of the bad state: p / (p + r) = 0.01 / 0.21 = 0.047619; mean burst 1 / r = 5 packets.
        let spec = GilbertElliott {
            good_to_bad: probability(0.01),
            bad_to_good: probability(0.2),
            loss_in_good: probability(0.0),
            loss_in_bad: probability(1.0),
            place: LossPlace::Wire,
        };
        assert!((spec.mean_loss(1500) - 0.047619).abs() < 1e-6);
        let mut model = spec.start(Random::stream(1, "bursts"));
        let lost: Vec<bool> = (0..1_000_000).map(|_| model.is_lost(Instant::ZERO, 1500)).collect();
        let losses = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((losses / 1e6 - 0.047619).abs() < 0.002, "share {}", losses / 1e6);
        assert!((losses / bursts - 5.0).abs() < 0.2, "mean burst {}", losses / bursts);
    }
}
