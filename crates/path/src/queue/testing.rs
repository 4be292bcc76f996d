//! Packets and times for tests of queues.

use crate::Packet;
use longhaul_units::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Numbered {
    pub id: u32,
    pub flow: u64,
    pub len: u32,
    pub ecn_capable: bool,
    pub marked: bool,
    pub weight: u8,
}

impl Packet for Numbered {
    fn wire_len(&self) -> u32 {
        self.len
    }
    fn mark_congestion(&mut self) -> bool {
        self.marked |= self.ecn_capable;
        self.ecn_capable
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn weight(&self) -> u8 {
        self.weight
    }
}

pub(crate) fn packet(id: u32, len: u32, ecn_capable: bool) -> Numbered {
    Numbered { id, flow: 0, len, ecn_capable, marked: false, weight: 1 }
}

pub(crate) fn of_flow(flow: u64, id: u32, len: u32) -> Numbered {
    Numbered { flow, ..packet(id, len, false) }
}

pub(crate) fn at_ms(ms: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(ms / 1e3)
}
