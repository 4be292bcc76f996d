//! Simulated packets as the freight of the world's links.

use crate::line::CompressedLine;
use crate::packet::{Packet, Segments};
use longhaul_fabric::Freight;
use longhaul_path::Link;
use longhaul_path::link::Fate;
use longhaul_units::{Id, Instant};

impl Freight for Segments {
    type Packet = Packet;
    type Line = CompressedLine;

    #[inline]
    fn row(packet: &Packet) -> usize {
        packet.to.index()
    }
    #[inline]
    fn copy(&mut self, packet: &mut Packet) -> Option<Packet> {
        Segments::copy(self, packet)
    }
    #[inline]
    fn release(&mut self, packet: Packet) {
        Segments::release(self, packet);
    }
    fn offer_coded(
        &self,
        now: Instant,
        link: &mut Link<Packet>,
        line: &mut CompressedLine,
        packet: &mut Packet,
    ) -> Fate {
        line.number(packet);
        link.offer_coded(now, packet, &mut line.coder(self))
    }
}
