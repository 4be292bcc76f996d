//! DropTail: first in, first out, and an arriving packet is dropped when the queue is full.

use super::{Admission, Found, Verdict};
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
}

impl Admission for DropTail {
    #[inline]
    fn admit(&mut self, _now: Instant, found: &Found, len: u32) -> Verdict {
        if found.system.has_room(self.limit, len) {
            Verdict::Accept
        } else {
            Verdict::Drop(DropCause::QueueFull)
        }
    }
}
