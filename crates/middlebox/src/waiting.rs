//! A packet that waits in a queue of a middlebox.

use crate::{Body, Direction, Event, Passing};
use longhaul_path::Packet;
use longhaul_segment::{Ecn, Segment};
use longhaul_units::ConnectionId;

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<B> {
    pub connection: ConnectionId,
    pub direction: Direction,
    pub ecn: Ecn,
    pub segment: Segment,
    pub body: B,
}

impl<B: Body> Waiting<B> {
    pub fn of(packet: &Passing<'_, B>) -> Self {
        Waiting {
            connection: packet.connection,
            direction: packet.direction,
            ecn: *packet.ecn,
            segment: *packet.segment,
            body: packet.body.clone(),
        }
    }
    /// It is dropped.
    pub fn dropped(&self) -> Event {
        Event::Dropped {
            connection: self.connection,
            direction: self.direction,
            payload_len: self.segment.payload_len,
            wire_len: self.segment.ipv4_len(),
        }
    }
}

impl<B> Packet for Waiting<B> {
    fn wire_len(&self) -> u32 {
        self.segment.ipv4_len()
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn flow(&self) -> u64 {
        2 * u64::from(self.connection.0) + self.direction as u64
    }
}
