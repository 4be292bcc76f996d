//! Flow monitors, as ns-2's `QueueMonitor/ED/Flowmon`: at the entrance of a link, packets and bytes of each flow, those offered and
//! those that the queue dropped. They are counted where packets pass and depend on no endpoint, whose counters they can check.

use crate::packet::Packet;
use longhaul_results::{MonitorRow, Offered};
use longhaul_units::Instant;

/// The monitor of one link.
pub(crate) struct FlowMonitor {
    /// The link's position in the summary's list.
    position: u32,
    /// By flow.
    counts: Vec<Offered>,
    at_warmup: Vec<Offered>,
    at_sample: Vec<Offered>,
    /// Flows that may send packets over the link, in order.
    crossing: Vec<usize>,
}

impl FlowMonitor {
    /// A monitor for the flows `crossing`, of `flows` in all, at the link with this position in the summary's list.
    pub fn new(position: u32, flows: usize, crossing: Vec<usize>) -> Self {
        let none = vec![Offered::default(); flows];
        FlowMonitor { position, counts: none.clone(), at_warmup: none.clone(), at_sample: none, crossing }
    }

    pub fn offered(&mut self, flow: usize, packet: &Packet) {
        let count = &mut self.counts[flow];
        count.packets += 1;
        count.bytes += u64::from(packet.wire_len);
    }

    pub fn dropped(&mut self, flow: usize, packet: &Packet) {
        let count = &mut self.counts[flow];
        count.dropped_packets += 1;
        count.dropped_bytes += u64::from(packet.wire_len);
    }

    /// What comes later is measured.
    pub fn end_warmup(&mut self) {
        self.at_warmup.clone_from(&self.counts);
    }

    /// A row for each flow, about the time since the last sample.
    pub fn sample(&mut self, now: Instant, rows: &mut Vec<MonitorRow>) {
        let time_s = now.as_secs_f64();
        rows.extend(self.crossing.iter().map(|flow| {
            let count = self.counts[*flow].since(&self.at_sample[*flow]);
            MonitorRow {
                time_s,
                link: self.position,
                flow: *flow as u32,
                offered_packets: count.packets as u32,
                offered_bytes: count.bytes,
                dropped_packets: count.dropped_packets as u32,
                dropped_bytes: count.dropped_bytes,
            }
        }));
        self.at_sample.clone_from(&self.counts);
    }

    /// What each flow offered while measured.
    pub fn measured(&self) -> Vec<(usize, Offered)> {
        let flow = |flow: &usize| (*flow, self.counts[*flow].since(&self.at_warmup[*flow]));
        self.crossing.iter().map(flow).collect()
    }
}
