//! Drop from the front (Lakshman, Neidhardt, Ott 1996): the news of a loss reaches the sender a queue's delay earlier.

use super::{Occupancy, Queue, Report};
use crate::{DropCause, Packet};
use longhaul_units::{Instant, Limit};
use std::collections::VecDeque;

/// First in, first out; overflow drops the oldest waiting packet.
pub struct HeadDrop<P> {
    limit: Limit,
    waiting: VecDeque<(Instant, P)>,
    occupancy: Occupancy,
}

impl<P> HeadDrop<P> {
    /// A queue that holds at most `limit`, the packet in transmission included.
    pub fn new(limit: Limit) -> Self {
        HeadDrop { limit, waiting: VecDeque::new(), occupancy: Occupancy::default() }
    }
}

impl<P: Packet + Send> Queue<P> for HeadDrop<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        let len = packet.wire_len();
        while !self.occupancy.with(in_service).has_room(self.limit, len) {
            let Some((_, oldest)) = self.waiting.pop_front() else {
                report.drop(packet, DropCause::QueueFull);
                return;
            };
            self.occupancy.remove(oldest.wire_len());
            report.drop(oldest, DropCause::QueueFull);
        }
        self.occupancy.add(len);
        self.waiting.push_back((now, packet));
    }

    fn dequeue(&mut self, _now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        let (arrived, packet) = self.waiting.pop_front()?;
        self.occupancy.remove(packet.wire_len());
        Some((arrived, packet))
    }

    fn waiting(&self) -> Occupancy {
        self.occupancy
    }
}
