//! Bursts of losses that last a time: a channel of two states that stays in each for an exponential time (Gilbert 1960, Elliott 1963,
//! in continuous time).

use super::{LossPlace, Model, Parameters};
use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant, Probability};

/// Parameters of a channel that is good and bad by turns. It begins good.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct GilbertElliottTime {
    /// Mean time in the good state.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub good: Duration,
    /// Mean time in the bad state.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub bad: Duration,
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

impl Parameters for GilbertElliottTime {
    type Model = Turns;
    fn place(&self) -> LossPlace {
        self.place
    }
    fn mean_loss(&self, _len: u32) -> f64 {
        let (good, bad) = (self.good.as_secs_f64(), self.bad.as_secs_f64());
        (good * self.loss_in_good.get() + bad * self.loss_in_bad.get()) / (good + bad)
    }
    fn start(&self, mut random: Random) -> Turns {
        let stay = [self.good, self.bad].map(|mean| mean.as_nanos() as f64);
        Turns {
            stay,
            loss: [self.loss_in_good.get(), self.loss_in_bad.get()],
            bad: false,
            until: Instant::ZERO + drawn(&mut random, stay[0]),
            random,
        }
    }
}

fn drawn(random: &mut Random, mean: f64) -> Duration {
    Duration::from_nanos(random.exponential(mean) as u64)
}

/// The channel: mean times in ns and probabilities of the good state, then of the bad one.
#[derive(Clone, Debug)]
pub struct Turns {
    stay: [f64; 2],
    loss: [f64; 2],
    bad: bool,
    until: Instant,
    random: Random,
}

impl Model for Turns {
    fn is_lost(&mut self, now: Instant, _len: u32) -> bool {
        while self.until <= now {
            self.bad = !self.bad;
            self.until +=
                drawn(&mut self.random, self.stay[usize::from(self.bad)]).max(Duration::from_nanos(1));
        }
        self.random.uniform() < self.loss[usize::from(self.bad)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::probability;
    use super::*;

    fn spec() -> GilbertElliottTime {
        GilbertElliottTime {
            good: Duration::from_secs(4),
            bad: Duration::from_secs(1),
            loss_in_good: probability(0.0),
            loss_in_bad: probability(1.0),
            place: LossPlace::Wire,
        }
    }

    /// Times of packets that are lost, of those sent every `gap`.
    fn lost(gap: Duration, packets: u64) -> Vec<bool> {
        let mut model = spec().start(Random::stream(1, "turns"));
        (1..=packets).map(|packet| model.is_lost(Instant::ZERO + gap * packet, 1500)).collect()
    }

    /// A fifth of the time, in fades of 1 s: the fades are the same whatever is sent meanwhile.
    #[test]
    fn fades_last_their_time_at_every_rate() {
        assert_eq!(spec().mean_loss(1500), 0.2);
        for (gap_ms, packets) in [(1, 8_000_000u64), (100, 200_000), (30_000, 200_000)] {
            let lost = lost(Duration::from_millis(gap_ms), packets);
            let share = lost.iter().filter(|lost| **lost).count() as f64 / packets as f64;
            assert!((share / 0.2 - 1.0).abs() < 0.03, "every {gap_ms} ms: {share}");
            if gap_ms == 1 {
                let fades = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
                let mean_s = share * packets as f64 * 1e-3 / fades;
                assert!((mean_s - 1.0).abs() < 0.03, "fades of {mean_s} s");
            }
        }
    }

    /// A sender that probes every 250 ms through a fade of 1 s loses four or so; counted by packets it would lose as many as a full
    /// link does in a fade, and stay in the fade for minutes.
    #[test]
    fn a_slow_sender_does_not_lengthen_a_fade() {
        let lost = lost(Duration::from_millis(250), 400_000);
        let fades = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let in_fade = lost.iter().filter(|lost| **lost).count() as f64 / fades;
        // From one packet to the next a bad channel stays or is bad again with 0.2 + 0.8 exp(-(1 + 1/4) / 4).
        let expected = 1.0 / (1.0 - (0.2 + 0.8 * (-0.3125f64).exp()));
        assert!((in_fade / expected - 1.0).abs() < 0.03, "{in_fade} packets in each fade, not {expected}");
    }
}
