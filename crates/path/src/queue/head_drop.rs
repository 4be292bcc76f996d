//! Drop from the front (Lakshman, Neidhardt, Ott 1996): the news of a loss reaches the sender a queue's delay earlier.

use super::fifo::Fifo;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet};
use longhaul_units::{Instant, Limit, QueueLimit};

/// Parameters of head drop.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeadDropSpec {
    /// Most packets or bytes in the system.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
}

impl Parameters for HeadDropSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn build<P: Packet + Send + 'static>(&self, _setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(HeadDrop::new(self.limit.fixed()))
    }
}

/// First in, first out; overflow drops the oldest waiting packet.
pub struct HeadDrop<P> {
    limit: Limit,
    waiting: Fifo<P>,
}

impl<P: Packet> HeadDrop<P> {
    /// A queue that holds at most `limit`, the packet in transmission included.
    pub fn new(limit: Limit) -> Self {
        HeadDrop { limit, waiting: Fifo::default() }
    }
}

impl<P: Packet + Send> Queue<P> for HeadDrop<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        while !self.waiting.occupancy().with(in_service).has_room(self.limit, packet.wire_len()) {
            let Some((_, oldest)) = self.waiting.pop() else {
                return report.drop(packet, DropCause::QueueFull);
            };
            report.drop(oldest, DropCause::QueueFull);
        }
        self.waiting.push(now, packet);
    }

    fn dequeue(&mut self, _now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        self.waiting.pop()
    }

    fn waiting(&self) -> Occupancy {
        self.waiting.occupancy()
    }
}
