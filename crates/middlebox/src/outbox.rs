//! Packets that a middlebox is about to send, until they are polled.

use crate::{Body, Departure, Direction};
use longhaul_segment::{Ecn, Segment};
use longhaul_units::ConnectionId;
use std::collections::VecDeque;

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Outbox<B>(VecDeque<(Segment, Departure<B>)>);

impl<B> Default for Outbox<B> {
    fn default() -> Self {
        Outbox(VecDeque::new())
    }
}

impl<B: Body> Outbox<B> {
    pub fn push(
        &mut self,
        connection: ConnectionId,
        direction: Direction,
        segment: Segment,
        ecn: Ecn,
        body: B,
    ) {
        self.push_at(0, connection, direction, segment, ecn, body);
    }
    /// The same for one of two nodes.
    pub fn push_at(
        &mut self,
        port: usize,
        connection: ConnectionId,
        direction: Direction,
        segment: Segment,
        ecn: Ecn,
        body: B,
    ) {
        self.0.push_back((segment, Departure { port, connection, direction, ecn, body }));
    }
    pub fn pop_into(&mut self, segment: &mut Segment) -> Option<Departure<B>> {
        let (next, departure) = self.0.pop_front()?;
        *segment = next;
        Some(departure)
    }
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
