//! What a node of a split counts.

use crate::base::counters;
use longhaul_tcp::Stats;

counters! {
    /// What the split counts itself.
    pub(super) struct Counts {
        /// Data packets that a local queue dropped.
        local_queue_drops,
        /// What was sent over the long hop by connections that are gone.
        long_hop_packets,
        long_hop_retransmissions,
        long_hop_timeouts,
    }
}

impl Counts {
    /// Adds what a connection over the long hop has sent.
    pub fn add(&mut self, long: &Stats) {
        self.long_hop_packets += long.data_segments_sent;
        self.long_hop_retransmissions += long.retransmitted_segments;
        self.long_hop_timeouts += long.timeouts;
    }
}
