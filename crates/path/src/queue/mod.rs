//! Queue disciplines, of two kinds. A discipline that decides on arrival and serves in order is an [`Admission`]: the
//! link then knows every packet's departure the moment it arrives. All others are a [`Queue`].

mod drop_tail;
mod head_drop;

pub use drop_tail::DropTail;
pub use head_drop::HeadDrop;

use crate::{DropCause, Packet};
use longhaul_units::{Instant, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is in the system: waiting packets and the one in transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Occupancy {
    /// True if a further packet of `len` bytes stays within `limit`. A packet always fits into an empty queue.
    pub fn has_room(&self, limit: Limit, len: u32) -> bool {
        match limit {
            Limit::Packets(most) => self.packets < most,
            Limit::Bytes(most) => self.packets == 0 || self.bytes + u64::from(len) <= most.as_bytes(),
        }
    }
    pub(crate) fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }
    pub(crate) fn remove(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }
}

/// What to do with an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it in.
    Accept,
    /// Let it in with a congestion mark; drop it if it is not ECN-capable.
    Mark,
    /// Drop it.
    Drop(DropCause),
}

/// A first-in, first-out discipline that decides on arrival.
pub trait Admission: Send {
    /// Decides on a packet of `len` bytes that arrives at `now` and finds `found` in the system.
    fn admit(&mut self, now: Instant, found: Occupancy, len: u32) -> Verdict;
}

/// A discipline that may reorder, or drop packets that it has accepted.
pub trait Queue<P>: Send {
    /// Takes a packet in. `in_service` bytes (0 if the transmitter is idle) belong to the packet on the wire, which
    /// counts against the limit. Dropped packets go to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, dropped: &mut Vec<(P, DropCause)>);
    /// Hands out the next packet and the time when it came in.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<(P, DropCause)>) -> Option<(Instant, P)>;
    /// What waits, without the packet in transmission.
    fn waiting(&self) -> Occupancy;
}

/// A queue discipline and its parameters.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueSpec {
    /// First in, first out; a packet that finds the queue full is dropped. The limit counts the packet in transmission.
    Droptail {
        /// Most packets or bytes in the system.
        limit: Limit,
    },
    /// First in, first out; a packet that finds the queue full pushes out the oldest waiting one.
    HeadDrop {
        /// Most packets or bytes in the system.
        limit: Limit,
    },
}

impl QueueSpec {
    /// The limit on packets or bytes.
    pub fn limit(&self) -> Limit {
        match self {
            QueueSpec::Droptail { limit } | QueueSpec::HeadDrop { limit } => *limit,
        }
    }

    /// The discipline's name in scenario files.
    pub fn name(&self) -> &'static str {
        match self {
            QueueSpec::Droptail { .. } => "droptail",
            QueueSpec::HeadDrop { .. } => "head_drop",
        }
    }

    /// Builds the discipline.
    pub fn build<P: Packet + Send + 'static>(&self) -> Discipline<P> {
        match self {
            QueueSpec::Droptail { limit } => Discipline::DropTail(DropTail::new(*limit)),
            QueueSpec::HeadDrop { limit } => Discipline::Queue(Box::new(HeadDrop::new(*limit))),
        }
    }
}

/// A discipline at work. DropTail, by far the most used, needs no virtual call.
pub enum Discipline<P> {
    /// DropTail.
    DropTail(DropTail),
    /// Any other that decides on arrival.
    Admission(Box<dyn Admission>),
    /// Any that does not.
    Queue(Box<dyn Queue<P>>),
}
