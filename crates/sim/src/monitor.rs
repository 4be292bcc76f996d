//! Flow monitors, as ns-2's `QueueMonitor/ED/Flowmon`: at the entrance of a link, packets and bytes of each flow, those offered and
//! those that the queue dropped. They are counted where packets pass and depend on no endpoint, whose counters they can check.

use crate::packet::Packet;
use longhaul_results::{MonitorRow, Offered};
use longhaul_units::{DeclaredId, FlowId, IdVec, Instant};

/// The monitor of one link.
pub(crate) struct FlowMonitor {
    /// The link.
    place: DeclaredId,
    counts: IdVec<FlowId, Offered>,
    at_warmup: IdVec<FlowId, Offered>,
    at_sample: IdVec<FlowId, Offered>,
    /// Flows that may send packets over the link, in order.
    crossing: Vec<FlowId>,
}

impl FlowMonitor {
    /// A monitor for the flows `crossing`, of `flows` in all, at this link.
    pub fn new(place: DeclaredId, flows: usize, crossing: Vec<FlowId>) -> Self {
        let none = IdVec::filled(Offered::default(), flows);
        FlowMonitor { place, counts: none.clone(), at_warmup: none.clone(), at_sample: none, crossing }
    }

    pub fn offered(&mut self, flow: FlowId, packet: &Packet) {
        let count = &mut self.counts[flow];
        count.packets += 1;
        count.bytes += u64::from(packet.wire_len);
    }

    pub fn dropped(&mut self, flow: FlowId, packet: &Packet) {
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
                link: self.place.0,
                flow: flow.0,
                offered_packets: count.packets as u32,
                offered_bytes: count.bytes,
                dropped_packets: count.dropped_packets as u32,
                dropped_bytes: count.dropped_bytes,
            }
        }));
        self.at_sample.clone_from(&self.counts);
    }

    /// What each flow offered while measured.
    pub fn measured(&self) -> Vec<(FlowId, Offered)> {
        let flow = |flow: &FlowId| (*flow, self.counts[*flow].since(&self.at_warmup[*flow]));
        self.crossing.iter().map(flow).collect()
    }
}
