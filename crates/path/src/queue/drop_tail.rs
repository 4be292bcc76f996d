//! DropTail: first in, first out, and an arriving packet is dropped when the queue is full.

use super::{Admission, Discipline, Found, Occupancy, Parameters, Setup, Verdict};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet};
use longhaul_units::{Instant, Limit, QueueLimit};

/// Parameters of DropTail.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropTailSpec {
    /// Most packets or bytes in the system.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
}

impl Parameters for DropTailSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn decides_on_arrival(&self) -> bool {
        true
    }
    fn build<P: Packet + Send + 'static>(&self, _setup: &Setup<'_>) -> Discipline<P> {
        Discipline::DropTail(DropTail::new(self.limit.fixed()))
    }
}

/// DropTail with a limit in packets or bytes.
#[derive(Clone, Copy, Debug)]
pub struct DropTail {
    limit: Limit,
}

impl DropTail {
    /// A queue that holds at most `limit`, the packet in transmission included.
    pub fn new(limit: Limit) -> Self {
        DropTail { limit }
    }
    /// True if a packet of `len` bytes that finds `system` is let in.
    #[inline]
    pub(crate) fn has_room(&self, system: Occupancy, len: u32) -> bool {
        system.has_room(self.limit, len)
    }
}

impl Admission for DropTail {
    #[inline]
    fn admit(&mut self, _now: Instant, found: &Found, len: u32) -> Verdict {
        if self.has_room(found.system, len) { Verdict::Accept } else { Verdict::Drop(DropCause::QueueFull) }
    }
}
