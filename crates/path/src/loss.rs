//! Packets that are lost without congestion: independent losses, bit errors, and bursts (Gilbert 1960, Elliott 1963).

use crate::Random;
use longhaul_units::Probability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where on a link a loss model acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossPlace {
    /// After transmission: a lost packet has used the link's capacity.
    #[default]
    Wire,
    /// Before the queue: a lost packet leaves no trace on the link (as ns-2's `lossmodel` does).
    BeforeQueue,
}

/// A loss model and its parameters.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LossSpec {
    /// Every packet is lost with the same probability, independently.
    Random {
        /// Probability of losing a packet.
        probability: Probability,
        /// Where on the link.
        #[serde(default)]
        place: LossPlace,
    },
    /// Bits are flipped independently; a packet with a wrong bit is lost.
    BitError {
        /// Bit error rate.
        rate: Probability,
        /// Where on the link.
        #[serde(default)]
        place: LossPlace,
    },
    /// Two states, good and bad; one transition is drawn after each packet.
    GilbertElliott {
        /// Probability of going from good to bad (p).
        good_to_bad: Probability,
        /// Probability of going from bad to good (r); the mean burst is 1/r packets.
        bad_to_good: Probability,
        /// Probability of losing a packet in the good state (1 - k).
        #[serde(default)]
        loss_in_good: Probability,
        /// Probability of losing a packet in the bad state (1 - h).
        #[serde(default = "certain")]
        loss_in_bad: Probability,
        /// Where on the link.
        #[serde(default)]
        place: LossPlace,
    },
}

fn certain() -> Probability {
    Probability::new(1.0).expect("1 is a probability")
}

impl LossSpec {
    /// Where on the link packets are lost.
    pub fn place(&self) -> LossPlace {
        match self {
            LossSpec::Random { place, .. }
            | LossSpec::BitError { place, .. }
            | LossSpec::GilbertElliott { place, .. } => *place,
        }
    }

    /// The share of packets of `len` bytes that are lost in the long run.
    pub fn mean_loss(&self, len: u32) -> f64 {
        match self {
            LossSpec::Random { probability, .. } => probability.get(),
            LossSpec::BitError { rate, .. } => -libm::expm1(f64::from(len) * 8.0 * libm::log1p(-rate.get())),
            LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad, .. } => {
                let (p, r) = (good_to_bad.get(), bad_to_good.get());
                if p + r == 0.0 {
                    return loss_in_good.get();
                }
                (r * loss_in_good.get() + p * loss_in_bad.get()) / (p + r)
            }
        }
    }
}

/// A loss model at work.
#[derive(Clone, Debug)]
pub struct LossModel {
    state: State,
    random: Random,
}

#[derive(Clone, Debug)]
enum State {
    /// Counts down to the next loss.
    Random {
        p: f64,
        good_packets: u64,
    },
    /// Counts down to the next wrong bit.
    BitError {
        rate: f64,
        good_bits: u64,
    },
    GilbertElliott {
        leave: [f64; 2],
        loss: [f64; 2],
        bad: bool,
    },
}

impl LossModel {
    /// Starts a model; the first state of a Gilbert-Elliott model is good.
    pub fn new(spec: &LossSpec, mut random: Random) -> Self {
        let state = match *spec {
            LossSpec::Random { probability, .. } => {
                let p = probability.get();
                State::Random { p, good_packets: distance(&mut random, p) }
            }
            LossSpec::BitError { rate, .. } => {
                let rate = rate.get();
                State::BitError { rate, good_bits: distance(&mut random, rate) }
            }
            LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad, .. } => {
                State::GilbertElliott {
                    leave: [good_to_bad.get(), bad_to_good.get()],
                    loss: [loss_in_good.get(), loss_in_bad.get()],
                    bad: false,
                }
            }
        };
        LossModel { state, random }
    }

    /// Decides on the next packet, of `len` bytes.
    pub fn is_lost(&mut self, len: u32) -> bool {
        match &mut self.state {
            State::Random { p, good_packets } => {
                if *good_packets > 0 {
                    *good_packets -= u64::from(*good_packets != u64::MAX);
                    return false;
                }
                *good_packets = distance(&mut self.random, *p);
                true
            }
            State::BitError { rate, good_bits } => {
                let mut bits = u64::from(len) * 8;
                if *good_bits >= bits {
                    *good_bits -= if *good_bits == u64::MAX { 0 } else { bits };
                    return false;
                }
                while *good_bits < bits {
                    bits -= *good_bits + 1;
                    *good_bits = distance(&mut self.random, *rate);
                }
                *good_bits -= bits;
                true
            }
            State::GilbertElliott { leave, loss, bad } => {
                let state = usize::from(*bad);
                let lost = self.random.uniform() < loss[state];
                *bad ^= self.random.uniform() < leave[state];
                lost
            }
        }
    }
}

/// Trials before the next loss; never for probability zero.
fn distance(random: &mut Random, p: f64) -> u64 {
    if p > 0.0 { random.geometric(p) } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    fn measured(spec: LossSpec, len: u32, packets: u32) -> f64 {
        let mut model = LossModel::new(&spec, Random::stream(1, "loss"));
        f64::from((0..packets).filter(|_| model.is_lost(len)).count() as u32) / f64::from(packets)
    }

    #[test]
    fn random_loss_has_its_rate() {
        for p in [0.0, 1e-4, 0.01, 0.3, 1.0] {
            let spec = LossSpec::Random { probability: probability(p), place: LossPlace::Wire };
            let found = measured(spec, 1500, 1_000_000);
            let sigma = (p * (1.0 - p) / 1e6).sqrt();
            assert!((found - p).abs() <= 4.0 * sigma, "p {p}: {found}");
            assert_eq!(spec.mean_loss(1500), p);
        }
    }

    #[test]
    fn bit_errors_hit_long_packets_more() {
        // A 1500-byte packet survives a bit error rate of 1e-5 with probability (1 - 1e-5)^12000 = 0.88692.
        let spec = LossSpec::BitError { rate: probability(1e-5), place: LossPlace::Wire };
        assert!((spec.mean_loss(1500) - 0.11308).abs() < 1e-5);
        assert!((measured(spec, 1500, 400_000) - 0.11308).abs() < 0.002);
        assert!((measured(spec, 40, 400_000) - 0.0031949).abs() < 0.0004);
        let certain = LossSpec::BitError { rate: probability(1.0), place: LossPlace::Wire };
        assert_eq!(measured(certain, 40, 100), 1.0);
    }

    #[test]
    fn gilbert_elliott_loses_in_bursts() {
        // Stationary share of the bad state: p / (p + r) = 0.01 / 0.21 = 0.047619; mean burst 1 / r = 5 packets.
        let spec = LossSpec::GilbertElliott {
            good_to_bad: probability(0.01),
            bad_to_good: probability(0.2),
            loss_in_good: probability(0.0),
            loss_in_bad: probability(1.0),
            place: LossPlace::Wire,
        };
        assert!((spec.mean_loss(1500) - 0.047619).abs() < 1e-6);
        let mut model = LossModel::new(&spec, Random::stream(1, "bursts"));
        let lost: Vec<bool> = (0..1_000_000).map(|_| model.is_lost(1500)).collect();
        let losses = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((losses / 1e6 - 0.047619).abs() < 0.002, "share {}", losses / 1e6);
        assert!((losses / bursts - 5.0).abs() < 0.2, "mean burst {}", losses / bursts);
    }
}
