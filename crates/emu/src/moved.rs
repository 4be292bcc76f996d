//! What is reported of the packets of programs, which belong to no flow of the scenario.

use crate::capture::{self, Taps};
use crate::driver::Driven;
use crate::lateness::{Bounds, Figures};
use crate::losses::{self, Loss};
use crate::unrouted::Unrouted;
use crate::world::Counters;

/// What became of the packets of programs: of a shell, or over a bridge.
pub struct Moved {
    /// How late packets were.
    pub lateness: Figures,
    /// Counts of packets.
    pub counters: Counters,
    /// Packets that devices have lost or refused.
    pub device_drops: u64,
    /// Checksums that were left to a device, and completed by a bridge.
    pub completed_checksums: u64,
    /// Why all this is not to be believed; empty if it is.
    pub invalid: Vec<String>,
    /// Packets that led nowhere.
    pub unrouted: Unrouted,
    /// Notices for the user that were given at the start.
    pub announced: Vec<String>,
    /// Other notices for the user.
    pub warnings: Vec<String>,
    /// What was written beside the summary.
    pub notes: Vec<String>,
    /// What hosts have lost by themselves: of each its name, and counters that are not 0.
    pub losses: Vec<(String, Vec<Loss>)>,
}

impl Moved {
    /// From what the loop has left; `lost` are packets that devices have lost, `losses` those that hosts have, by name.
    pub(crate) fn new(
        driven: Driven<Taps>,
        mut announced: Vec<String>,
        losses: Vec<(String, Vec<Loss>)>,
        lost: u64,
        bounds: Bounds,
    ) -> Moved {
        let Driven { world, watcher, lateness, refused, faults, warnings: at_start, .. } = driven;
        announced.extend(at_start);
        let mut warnings = capture::finish(watcher);
        warnings.extend(losses::in_words(&losses));
        warnings.extend(world.unrouted.sentences());
        let (lateness, device_drops) = (lateness.figures(), lost + refused);
        Moved {
            invalid: bounds.verdict(&lateness, device_drops, &faults),
            lateness,
            counters: world.counters,
            device_drops,
            completed_checksums: 0,
            unrouted: world.unrouted,
            announced,
            warnings,
            notes: vec![],
            losses,
        }
    }

    /// Lateness in seconds and counts of packets.
    pub fn to_json(&self) -> serde_json::Value {
        let warnings: Vec<&String> = self.announced.iter().chain(&self.warnings).collect();
        let mut json = serde_json::json!({
            "invalid": self.invalid,
            "device_drops": self.device_drops,
            "completed_checksums": self.completed_checksums,
            "dropped_packets": self.counters.dropped,
            "unseen_packets": self.counters.unseen,
            "unreadable_packets": self.counters.unreadable,
            "damaged_packets": self.counters.damaged,
            "expired_packets": self.counters.expired,
            "too_big_packets": self.counters.too_big,
            "unrouted_packets": self.counters.no_route,
            "unrouted": self.unrouted.to_json(),
            "host_losses": losses::to_json(&self.losses),
            "kernel": crate::kernel::release(),
            "warnings": warnings,
        });
        self.lateness.metrics().iter().for_each(|(metric, value)| json[metric.name()] = (*value).into());
        json
    }
}
