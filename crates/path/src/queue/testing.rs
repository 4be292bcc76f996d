//! Packets and times for tests of queues.

use crate::Packet;
use longhaul_units::{Dscp, Duration, Ecn, Instant};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Numbered {
    pub id: u32,
    pub flow: u64,
    pub len: u32,
    pub ecn: Ecn,
    pub marked: bool,
    pub weight: u8,
    pub dscp: Dscp,
    pub hosts: [u64; 2],
}

impl Packet for Numbered {
    fn wire_len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
        self.marked |= ecn == Ecn::Ce;
    }
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    fn hosts(&self) -> [u64; 2] {
        self.hosts
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn weight(&self) -> u8 {
        self.weight
    }
}

pub(crate) fn packet(id: u32, len: u32, ecn_capable: bool) -> Numbered {
    let ecn = if ecn_capable { Ecn::Ect0 } else { Ecn::NotEct };
    Numbered { id, flow: 0, len, ecn, marked: false, weight: 1, dscp: Dscp::DEFAULT, hosts: [0; 2] }
}

pub(crate) fn of_flow(flow: u64, id: u32, len: u32) -> Numbered {
    Numbered { flow, hosts: [flow; 2], ..packet(id, len, false) }
}

pub(crate) fn at_ms(ms: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(ms / 1e3)
}
