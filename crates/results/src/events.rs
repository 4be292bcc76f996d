//! The list of events of a run, the same in every world.

use crate::EventRow;
use longhaul_path::DropCause;
use longhaul_units::{DeclaredId, FlowId, Instant};

/// Single drops are listed up to this number; counters have all of them.
const MOST_DROPS: usize = 200_000;

impl EventRow {
    /// Something that happened to a flow, to a link, or to neither.
    pub fn new(
        now: Instant,
        kind: &'static str,
        flow: Option<FlowId>,
        link: Option<DeclaredId>,
        value: f64,
    ) -> Self {
        EventRow {
            time_s: now.as_secs_f64(),
            kind,
            flow: flow.map_or(-1, |flow| flow.0 as i32),
            link: link.map_or(-1, |link| link.0 as i32),
            value,
        }
    }
}

/// What an event is called in which a packet is dropped on a link: `drop` in front of it, `loss` on it.
pub fn drop_kind(cause: DropCause) -> &'static str {
    match cause {
        DropCause::QueueFull | DropCause::Early | DropCause::Forced => "drop",
        DropCause::Loss | DropCause::Outage | DropCause::Unreadable => "loss",
    }
}

/// How many drops were listed.
#[derive(Default)]
pub struct ListedDrops(usize);

impl ListedDrops {
    /// A packet was dropped; true if it is to be listed.
    pub fn count(&mut self) -> bool {
        self.0 += 1;
        self.0 <= MOST_DROPS
    }
    /// True if some drops are missing in the list.
    pub fn left_out(&self) -> bool {
        self.0 > MOST_DROPS
    }
}
