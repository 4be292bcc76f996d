//! Packets in the order in which they came, each with the time of its arrival: what disciplines are made of.

use super::Occupancy;
use crate::Packet;
use longhaul_units::Instant;
use std::collections::VecDeque;

/// First in, first out.
pub(crate) struct Fifo<P> {
    packets: VecDeque<(Instant, P)>,
    occupancy: Occupancy,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Fifo { packets: VecDeque::new(), occupancy: Occupancy::default() }
    }
}

impl<P: Packet> Fifo<P> {
    pub fn push(&mut self, now: Instant, packet: P) {
        self.occupancy.add(packet.wire_len());
        self.packets.push_back((now, packet));
    }
    /// The oldest packet.
    pub fn pop(&mut self) -> Option<(Instant, P)> {
        let taken = self.packets.pop_front();
        self.account(taken)
    }
    /// The newest packet.
    pub fn pop_newest(&mut self) -> Option<(Instant, P)> {
        let taken = self.packets.pop_back();
        self.account(taken)
    }
    /// The packet at a position counted from the oldest.
    pub fn remove(&mut self, position: usize) -> Option<(Instant, P)> {
        let taken = self.packets.remove(position);
        self.account(taken)
    }
    fn account(&mut self, taken: Option<(Instant, P)>) -> Option<(Instant, P)> {
        if let Some((_, packet)) = &taken {
            self.occupancy.remove(packet.wire_len());
        }
        taken
    }
    /// Something of the oldest packet.
    pub fn head<R>(&self, look: impl FnOnce(&P) -> R) -> Option<R> {
        self.packets.front().map(|(_, packet)| look(packet))
    }
    /// When the oldest packet came.
    pub fn oldest(&self) -> Option<Instant> {
        self.packets.front().map(|(came, _)| *came)
    }
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }
    pub fn len(&self) -> usize {
        self.packets.len()
    }
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}
