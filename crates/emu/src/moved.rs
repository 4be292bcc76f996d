//! What is reported of the packets of programs, which belong to no flow of the scenario.

use crate::capture::{self, Taps};
use crate::driver::Driven;
use crate::lateness::{Bounds, Figures};
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
    /// Notices for the user.
    pub warnings: Vec<String>,
}

impl Moved {
    /// From what the loop has left; `lost` are packets that devices have lost.
    pub(crate) fn new(driven: Driven<Taps>, mut warnings: Vec<String>, lost: u64, bounds: Bounds) -> Moved {
        let Driven { world, watcher, lateness, refused, faults, warnings: said, .. } = driven;
        warnings.extend(said);
        warnings.extend(capture::finish(watcher));
        let (lateness, device_drops) = (lateness.figures(), lost + refused);
        Moved {
            invalid: bounds.verdict(&lateness, device_drops, &faults),
            lateness,
            counters: world.counters,
            device_drops,
            completed_checksums: 0,
            warnings,
        }
    }

    /// Lateness in seconds and counts of packets.
    pub fn to_json(&self) -> serde_json::Value {
        let mut json = serde_json::json!({
            "invalid": self.invalid,
            "device_drops": self.device_drops,
            "completed_checksums": self.completed_checksums,
            "dropped_packets": self.counters.dropped,
            "unseen_packets": self.counters.unseen,
            "unreadable_packets": self.counters.unreadable,
            "unrouted_packets": self.counters.no_route,
            "kernel": crate::kernel::release(),
            "warnings": self.warnings,
        });
        self.lateness.metrics().iter().for_each(|(metric, value)| json[metric.name()] = (*value).into());
        json
    }
}
