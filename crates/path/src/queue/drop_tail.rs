//! DropTail: first in, first out, and an arriving packet is dropped when the queue is full.

use super::{Admission, Found, Occupancy, Verdict};
use crate::DropCause;
use longhaul_units::{Instant, Limit};

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
