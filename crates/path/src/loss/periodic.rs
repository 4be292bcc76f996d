//! Losses at fixed distances.

use super::{LossPlace, Model, Parameters};
use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Instant;

/// Parameters of losses at fixed distances.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PeriodicLoss {
    /// Distance between two losses in packets.
    #[schemars(range(min = 1))]
    pub every: u64,
    /// Number of the first packet that is lost, counted from 1; if not given `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub first: Option<u64>,
    /// Most packets that are lost; without it there is no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Where on the link.
    #[serde(default)]
    pub place: LossPlace,
}

impl Parameters for PeriodicLoss {
    type Model = Periodic;
    fn place(&self) -> LossPlace {
        self.place
    }
    fn mean_loss(&self, _len: u32) -> f64 {
        if self.count.is_some() { 0.0 } else { 1.0 / self.every as f64 }
    }
    fn start(&self, _random: Random) -> Periodic {
        Periodic {
            every: self.every,
            good_packets: self.first.unwrap_or(self.every).saturating_sub(1),
            left: self.count.unwrap_or(u64::MAX),
        }
    }
}

/// Counts down to the next loss.
#[derive(Clone, Debug)]
pub struct Periodic {
    every: u64,
    good_packets: u64,
    /// Losses that are still to come.
    left: u64,
}

impl Model for Periodic {
    fn is_lost(&mut self, _now: Instant, _len: u32) -> bool {
        if self.left == 0 || self.good_packets > 0 {
            self.good_packets = self.good_packets.saturating_sub(1);
            return false;
        }
        self.good_packets = self.every.saturating_sub(1);
        self.left -= u64::from(self.left != u64::MAX);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossSpec;
    use longhaul_units::ranges::{Key, out_of_range};

    #[test]
    fn periodic_loss_takes_every_nth() {
        let lost = |every, first, count| -> Vec<u32> {
            let spec = PeriodicLoss { every, first, count, place: LossPlace::Wire };
            let mut model = spec.start(Random::stream(1, "loss"));
            (1..=30).filter(|_| model.is_lost(Instant::ZERO, 1500)).collect()
        };
        assert_eq!(lost(10, None, None), [10, 20, 30]);
        assert_eq!(lost(10, Some(1), None), [1, 11, 21]);
        assert_eq!(lost(10, Some(3), Some(2)), [3, 13]);
        assert_eq!(lost(1, Some(28), None), [28, 29, 30]);
        assert_eq!(lost(1, Some(7), Some(1)), [7], "a single loss");
        let spec = PeriodicLoss { every: 8, first: None, count: None, place: LossPlace::Wire };
        assert_eq!(spec.mean_loss(1500), 0.125);
        assert_eq!(out_of_range(&LossSpec::from(spec)), []);
        let bad = LossSpec::from(PeriodicLoss { every: 0, ..spec });
        assert_eq!(out_of_range(&bad)[0].place, [Key::Field("every")]);
    }
}
