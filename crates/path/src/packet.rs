//! What a link and a queue need of a packet.

use longhaul_units::{Dscp, Ecn};
use std::sync::Arc;

/// A packet of any kind.
pub trait Packet {
    /// Bytes on the wire, IP header included, 1 to 65,575.
    fn wire_len(&self) -> u32;
    /// Its ECN field.
    fn ecn(&self) -> Ecn;
    /// Changes its ECN field.
    fn set_ecn(&mut self, ecn: Ecn);
    /// Marks the packet as having met congestion (RFC 3168 section 5); false if it is not ECN-capable.
    #[inline]
    fn mark_congestion(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.set_ecn(Ecn::Ce);
        }
        capable
    }
    /// Flips a bit that a checksum at its end covers, chosen by `draw`; false if there is none, and then nothing is changed. A
    /// packet that is damaged already stays as it is.
    fn damage(&mut self, _draw: u64) -> bool {
        false
    }
    /// Marks it as one that comes out of the link twice: whoever takes it off the link makes the copy. False if there is no such
    /// mark.
    fn duplicate(&mut self) -> bool {
        false
    }
    /// The flow that it belongs to, in one direction: equal for all of its packets, and for no packet of another.
    fn flow(&self) -> u64;
    /// The service that it asks of queues.
    fn dscp(&self) -> Dscp {
        Dscp::DEFAULT
    }
    /// Numbers of the hosts that it comes from and goes to, where it has them with it: see [`Hosts`].
    fn hosts(&self) -> [u64; 2] {
        [self.flow(); 2]
    }
    /// The flow's share in disciplines that serve flows by weight, at least 1.
    fn weight(&self) -> u8 {
        1
    }
}

/// Which hosts packets come from and go to. What has its addresses with it states them by itself; where packets are handles, a table has
/// them by [`Packet::flow`].
#[derive(Clone, Debug, Default)]
pub struct Hosts(Option<Arc<[[u64; 2]]>>);

impl Hosts {
    /// A table: source and destination of the packets of each flow, by its number.
    pub fn of_flows(table: impl IntoIterator<Item = [u64; 2]>) -> Self {
        Hosts(Some(table.into_iter().collect()))
    }
    /// Source and destination of a packet. Where a table does not have its flow, the flow has two hosts to itself.
    pub fn of(&self, packet: &impl Packet) -> [u64; 2] {
        let Some(table) = &self.0 else { return packet.hosts() };
        let flow = packet.flow();
        let known = usize::try_from(flow).ok().and_then(|flow| table.get(flow));
        // Numbers of hosts are below 2^32.
        known.copied().unwrap_or([flow | 1 << 63, flow | 1 << 62])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::of_flow;

    #[test]
    fn hosts_are_those_of_the_table_or_of_the_packet() {
        let packet = crate::queue::testing::Numbered { hosts: [7, 8], ..of_flow(1, 0, 100) };
        assert_eq!(Hosts::default().of(&packet), [7, 8]);
        let table = Hosts::of_flows([[1, 2], [3, 4]]);
        assert_eq!(table.of(&packet), [3, 4]);
        let unknown = [2, 3].map(|flow| table.of(&of_flow(flow, 0, 100)));
        assert_ne!(unknown[0][0], unknown[1][0], "flows of no known host do not share one");
    }

    #[test]
    fn only_what_is_capable_of_it_is_marked() {
        let marked = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| {
            let mut packet = crate::queue::testing::Numbered { ecn, ..of_flow(1, 0, 100) };
            (packet.mark_congestion(), packet.ecn)
        });
        assert_eq!(marked, [(false, Ecn::NotEct), (true, Ecn::Ce), (true, Ecn::Ce), (true, Ecn::Ce)]);
    }
}
