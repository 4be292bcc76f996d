//! Packets that are lost without congestion: independent losses, bit errors, bursts (Gilbert 1960, Elliott 1963), and at
//! fixed distances.

use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Probability;

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
    /// Every n-th packet is lost, as closed forms suppose it.
    Periodic {
        /// Distance between two losses in packets.
        #[schemars(range(min = 1))]
        every: u64,
        /// Number of the first packet that is lost, counted from 1; if not given `every`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        first: Option<u64>,
        /// Most packets that are lost; without it there is no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
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
            | LossSpec::Periodic { place, .. }
            | LossSpec::BitError { place, .. }
            | LossSpec::GilbertElliott { place, .. } => *place,
        }
    }

    /// The share of packets of `len` bytes that are lost in the long run.
    pub fn mean_loss(&self, len: u32) -> f64 {
        match self {
            LossSpec::Random { probability, .. } => probability.get(),
            LossSpec::Periodic { count: Some(_), .. } => 0.0,
            LossSpec::Periodic { every, .. } => 1.0 / *every as f64,
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
    /// Counts down to the next loss.
    Periodic {
        every: u64,
        good_packets: u64,
        /// Losses that are still to come.
        left: u64,
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
            LossSpec::Periodic { every, first, count, .. } => State::Periodic {
                every,
                good_packets: first.unwrap_or(every).saturating_sub(1),
                left: count.unwrap_or(u64::MAX),
            },
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
            State::Periodic { every, good_packets, left } => {
                if *left == 0 || *good_packets > 0 {
                    *good_packets = good_packets.saturating_sub(1);
                    return false;
                }
                *good_packets = every.saturating_sub(1);
                *left -= u64::from(*left != u64::MAX);
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
    use longhaul_units::ranges::{Key, out_of_range};

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

    /// At 1e-6 and 1e-7 the number of losses over long runs is Poisson's: within four standard deviations.
    #[test]
    fn tiny_loss_rates_are_exact_over_long_runs() {
        for (p, packets, expected, sigma) in
            [(1e-6, 400_000_000u64, 400.0, 20.0), (1e-7, 1_000_000_000, 100.0, 10.0)]
        {
            let spec = LossSpec::Random { probability: probability(p), place: LossPlace::Wire };
            let mut model = LossModel::new(&spec, Random::stream(2, "long run"));
            let lost = (0..packets).filter(|_| model.is_lost(1500)).count() as f64;
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

    #[test]
    fn periodic_loss_takes_every_nth() {
        let lost = |every, first, count| -> Vec<u32> {
            let spec = LossSpec::Periodic { every, first, count, place: LossPlace::Wire };
            let mut model = LossModel::new(&spec, Random::stream(1, "loss"));
            (1..=30).filter(|_| model.is_lost(1500)).collect()
        };
        assert_eq!(lost(10, None, None), [10, 20, 30]);
        assert_eq!(lost(10, Some(1), None), [1, 11, 21]);
        assert_eq!(lost(10, Some(3), Some(2)), [3, 13]);
        assert_eq!(lost(1, Some(28), None), [28, 29, 30]);
        assert_eq!(lost(1, Some(7), Some(1)), [7], "a single loss");
        let spec = LossSpec::Periodic { every: 8, first: None, count: None, place: LossPlace::Wire };
        assert_eq!(spec.mean_loss(1500), 0.125);
        assert_eq!(out_of_range(&spec), []);
        let bad = LossSpec::Periodic { every: 0, first: None, count: None, place: LossPlace::Wire };
        assert_eq!(out_of_range(&bad)[0].place, [Key::Field("every")]);
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
