//! A packet of the simulation: a segment on its way to an endpoint. Its payload is only a length.

use longhaul_segment::{Ecn, Segment};

/// A segment with what its IP header would say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub segment: Segment,
    /// Endpoint that it goes to.
    pub to: u32,
    /// Bytes of the IP packet, kept so that they are added up once.
    pub wire_len: u32,
    pub ecn: Ecn,
}

impl longhaul_path::Packet for Packet {
    #[inline]
    fn wire_len(&self) -> u32 {
        self.wire_len
    }
    fn mark_congestion(&mut self) -> bool {
        match self.ecn {
            Ecn::NotEct => false,
            Ecn::Ect0 | Ecn::Ect1 | Ecn::Ce => {
                self.ecn = Ecn::Ce;
                true
            }
        }
    }
}
