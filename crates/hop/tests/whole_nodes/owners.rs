//! Owners of two nodes: they open, write, read, end and reset flows, and compare all that they are notified of with what both have done.

use bytes::Bytes;
use longhaul_hop::{Carrier, Event, FlowId, Open, PeerId, ResetCode};
use longhaul_units::Instant;
use std::collections::BTreeMap;

pub const FLOWS: usize = 24;

#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// By which node, whether it waits for an answer, and whether the other refuses.
    Open(usize, bool, bool),
    Write(usize, u64),
    Finish(usize),
    Reset(usize),
    /// What was written is delivered first.
    ResetBehind(usize),
    StopReading(usize),
    Read(usize),
    /// The connection is given up (QUIC), or one of several ends (TCP).
    Break(usize),
    Wait(u64),
}

/// One direction of a flow, as its two owners know it.
#[derive(Clone, Copy, Default, Debug)]
struct Direction {
    to_write: u64,
    written: u64,
    read: u64,
    wants_end: bool,
    finished: bool,
    ended: bool,
    delivered: bool,
}

#[derive(Clone, Debug)]
struct Flow {
    opener: usize,
    open: Open,
    refused: bool,
    ids: [Option<FlowId>; 2],
    peers: [Option<PeerId>; 2],
    /// By the node that writes.
    ways: [Direction; 2],
    stopped: [bool; 2],
    /// Reset or refused, by its own owner or by the carrier.
    over: [bool; 2],
    /// By its own owner: what the node had reported before may still come.
    given_up: [bool; 2],
    /// Reset by its own owner behind what was written, which the other one reads.
    behind: [bool; 2],
}

impl Flow {
    fn is_settled(&self, side: usize) -> bool {
        self.ids[side].is_none()
            || self.over[side]
            || (self.ways[side].delivered && self.ways[1 - side].ended)
    }
}

/// The owners at both nodes.
pub struct Owners {
    flows: Vec<Flow>,
    numbers: [BTreeMap<FlowId, usize>; 2],
    peers: [Option<PeerId>; 2],
    /// Peers whose hello has come.
    up: [Option<PeerId>; 2],
}

/// The byte at an offset of a direction of a flow.
fn byte(flow: usize, side: usize, offset: u64) -> u8 {
    let mixed = (offset + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((flow * 2 + side) as u64) << 40;
    (mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 56) as u8
}

impl Owners {
    pub fn new() -> Owners {
        let numbers = [BTreeMap::new(), BTreeMap::new()];
        Owners { flows: vec![], numbers, peers: [None, None], up: [None, None] }
    }

    fn open(&mut self, now: Instant, side: usize, carrier: &mut dyn Carrier, confirm: bool, refused: bool) {
        let (Some(peer), true) = (self.peers[side], self.flows.len() < FLOWS) else { return };
        let number = self.flows.len();
        let open = Open {
            source: ([10, 0, 0, 1], 1000 + number as u16).into(),
            destination: ([10, 0, 0, 2], 80).into(),
            dscp: (number % 64) as u8,
            priority: (number % 8) as u8,
            confirm,
        };
        let Ok(id) = carrier.open(now, peer, open) else { return };
        let mut flow = Flow {
            opener: side,
            open,
            refused,
            ids: [None; 2],
            peers: [None; 2],
            ways: [Direction::default(); 2],
            stopped: [false; 2],
            over: [false; 2],
            given_up: [false; 2],
            behind: [false; 2],
        };
        (flow.ids[side], flow.peers[side]) = (Some(id), Some(peer));
        assert_eq!(self.numbers[side].insert(id, number), None, "a number was used twice");
        self.flows.push(flow);
    }

    fn write(&mut self, now: Instant, side: usize, carrier: &mut dyn Carrier, number: usize) {
        let flow = &mut self.flows[number];
        let (Some(id), false) = (flow.ids[side], flow.over[side]) else { return };
        let way = &mut flow.ways[side];
        if !way.finished && way.written < way.to_write {
            let content: Vec<u8> =
                (way.written..way.to_write).map(|offset| byte(number, side, offset)).collect();
            let mut bytes = Bytes::from(content);
            let taken = carrier.write(now, id, &mut bytes) as u64;
            assert_eq!(taken + bytes.len() as u64, way.to_write - way.written);
            way.written += taken;
        }
        if way.wants_end && !way.finished && way.written == way.to_write {
            way.finished = true;
            carrier.finish(now, id);
        }
    }

    fn read(&mut self, now: Instant, side: usize, carrier: &mut dyn Carrier, number: usize, most: usize) {
        let flow = &mut self.flows[number];
        let (Some(id), false, false) = (flow.ids[side], flow.over[side], flow.stopped[side]) else { return };
        let way = &mut flow.ways[1 - side];
        while let Some(bytes) = carrier.read(now, id, most) {
            assert!(!bytes.is_empty() && bytes.len() <= most && !way.ended);
            for found in bytes {
                assert_eq!(found, byte(number, 1 - side, way.read), "flow {number} at {}", way.read);
                way.read += 1;
            }
            assert!(way.read <= way.written, "bytes that nobody wrote");
        }
    }

    pub fn act(&mut self, now: Instant, carriers: [&mut dyn Carrier; 2], act: Act) {
        let [terminal, hub] = carriers;
        let count = self.flows.len();
        let of = |which: usize| (which / 2 % count.max(1), which % 2);
        let (Act::Open(side, ..)
        | Act::Write(side, _)
        | Act::Finish(side)
        | Act::Reset(side)
        | Act::ResetBehind(side)
        | Act::StopReading(side)
        | Act::Read(side)) = act
        else {
            return;
        };
        if count == 0 && !matches!(act, Act::Open(..)) {
            return;
        }
        let carrier = if side % 2 == 0 { terminal } else { hub };
        match act {
            Act::Open(side, confirm, refused) => self.open(now, side % 2, carrier, confirm, refused),
            Act::Write(which, bytes) => {
                let (number, side) = of(which);
                let way = &mut self.flows[number].ways[side];
                if !way.wants_end {
                    way.to_write += bytes;
                }
                self.write(now, side, carrier, number);
            }
            Act::Finish(which) => {
                let (number, side) = of(which);
                self.flows[number].ways[side].wants_end = true;
                self.write(now, side, carrier, number);
            }
            Act::Reset(which) => {
                let (number, side) = of(which);
                let flow = &mut self.flows[number];
                if let (Some(id), true) = (flow.ids[side], flow.behind[side] || !flow.is_settled(side)) {
                    (flow.over[side], flow.given_up[side], flow.behind[side]) = (true, true, false);
                    carrier.reset(now, id, ResetCode::Reset);
                }
            }
            Act::ResetBehind(which) => {
                let (number, side) = of(which);
                let up = self.up[side];
                let flow = &mut self.flows[number];
                if let (Some(id), false) = (flow.ids[side], flow.is_settled(side)) {
                    (flow.over[side], flow.given_up[side]) = (true, true);
                    // Before the hello nobody knows whether the peer can do that.
                    flow.behind[side] = up.is_some() && up == flow.peers[side];
                    carrier.reset_behind(now, id, ResetCode::Reset);
                }
            }
            Act::StopReading(which) => {
                let (number, side) = of(which);
                self.flows[number].stopped[side] = true;
            }
            Act::Read(which) => {
                let (number, side) = of(which);
                self.flows[number].stopped[side] = false;
                self.read(now, side, carrier, number, 1 + which * 37 % 5000);
            }
            Act::Break(_) | Act::Wait(_) => {}
        }
    }

    /// Everything is to end now: what was not written is, and all is read.
    pub fn wind_up(&mut self, now: Instant, carriers: [&mut dyn Carrier; 2]) {
        for (side, carrier) in carriers.into_iter().enumerate() {
            for number in 0..self.flows.len() {
                self.flows[number].stopped[side] = false;
                self.flows[number].ways[side].wants_end = true;
                self.write(now, side, carrier, number);
                self.read(now, side, carrier, number, 9999);
            }
        }
    }

    pub fn take(
        &mut self,
        now: Instant,
        side: usize,
        carrier: &mut dyn Carrier,
        event: Event,
        winding_up: bool,
    ) {
        if let Event::Accepted { flow }
        | Event::Refused { flow, .. }
        | Event::Readable { flow }
        | Event::Writable { flow }
        | Event::Finished { flow }
        | Event::Delivered { flow }
        | Event::Reset { flow, .. } = &event
        {
            let known = &self.flows[self.numbers[side][flow]];
            if known.given_up[side] {
                let way = &known.ways[side];
                let is_delivered = matches!(event, Event::Delivered { .. });
                assert!(!known.behind[side] || !is_delivered || way.read == way.written, "{known:?}");
                return;
            }
        }
        let number = |flow: &FlowId| *self.numbers[side].get(flow).expect("a flow that was opened");
        match event {
            Event::Connected { peer } => self.peers[side] = Some(peer),
            Event::Up { peer, .. } => (self.peers[side], self.up[side]) = (Some(peer), Some(peer)),
            Event::Down { peer, .. } => {
                let left =
                    self.flows.iter().find(|flow| flow.peers[side] == Some(peer) && !flow.is_settled(side));
                assert!(left.is_none(), "a flow without an event before its peer's: {left:?}");
                if self.peers[side] == Some(peer) {
                    self.peers[side] = None;
                }
            }
            Event::Opened { flow, peer, open } => {
                let number = usize::from(open.source.port() - 1000);
                let known = &mut self.flows[number];
                assert!(known.opener != side && known.ids[side].is_none() && known.open == open, "{known:?}");
                (known.ids[side], known.peers[side]) = (Some(flow), Some(peer));
                known.ways[side].wants_end |= winding_up;
                assert_eq!(self.numbers[side].insert(flow, number), None, "a number was used twice");
                if known.refused {
                    (known.over[side], known.given_up[side]) = (true, true);
                    carrier.refuse(now, flow, ResetCode::Denied);
                } else {
                    carrier.accept(flow);
                    self.write(now, side, carrier, number);
                }
            }
            Event::Accepted { flow } => {
                let flow = &self.flows[number(&flow)];
                assert!(flow.opener == side && flow.open.confirm && !flow.over[side], "{flow:?}");
            }
            Event::Refused { flow, .. } => {
                let flow = &mut self.flows[number(&flow)];
                assert!(flow.opener == side && flow.refused && !flow.over[side], "{flow:?}");
                flow.over[side] = true;
            }
            Event::Readable { flow } => {
                let number = number(&flow);
                assert!(!self.flows[number].is_settled(side));
                self.read(now, side, carrier, number, 3000);
            }
            Event::Writable { flow } => {
                let number = number(&flow);
                assert!(!self.flows[number].is_settled(side));
                self.write(now, side, carrier, number);
            }
            Event::Finished { flow } => {
                let flow = &mut self.flows[number(&flow)];
                assert!(!flow.is_settled(side), "{flow:?}");
                let way = &mut flow.ways[1 - side];
                assert!(
                    way.finished && way.read == way.written && !way.ended,
                    "an end before the last byte: {way:?}"
                );
                way.ended = true;
            }
            Event::Delivered { flow } => {
                let flow = &mut self.flows[number(&flow)];
                assert!(!flow.is_settled(side), "{flow:?}");
                let way = &mut flow.ways[side];
                assert!(way.finished && way.read == way.written && !way.delivered, "{way:?}");
                way.delivered = true;
            }
            Event::Bounded { .. } => {}
            Event::Reset { flow, code, .. } => {
                let flow = &mut self.flows[number(&flow)];
                assert!(!flow.is_settled(side), "a reset of a flow that is over: {flow:?}");
                let way = &flow.ways[1 - side];
                let missing = flow.behind[1 - side] && way.read < way.written;
                assert!(!missing || code == ResetCode::HopDown, "a reset before the last byte: {flow:?}");
                flow.over[side] = true;
            }
        }
    }

    /// A flow that is not over at both nodes.
    pub fn waiting(&self) -> Option<String> {
        let waits = |(_, flow): &(usize, &Flow)| (0..2).any(|side| !flow.is_settled(side));
        self.flows.iter().enumerate().find(waits).map(|(number, flow)| format!("{number}: {flow:?}"))
    }

    pub fn are_settled(&self) -> bool {
        self.flows.iter().all(|flow| (0..2).all(|side| flow.is_settled(side)))
    }

    /// What the nodes count is what their owners have seen.
    pub fn check(&self, carriers: [&dyn Carrier; 2]) {
        let ledgers = carriers.map(Carrier::ledger);
        for side in 0..2 {
            let (own, peer) = (ledgers[side], ledgers[1 - side]);
            let of = |count: fn(&Direction) -> u64, from: usize| -> u64 {
                self.flows.iter().map(|flow| count(&flow.ways[from])).sum()
            };
            assert_eq!(own.written, of(|way| way.written, side), "{own:?}");
            assert_eq!(own.read, of(|way| way.read, 1 - side), "{own:?}");
            assert_eq!(own.written, own.delivered + own.held + own.lost, "{own:?}");
            assert!(own.delivered <= peer.read, "{own:?} {peer:?}");
            assert!(peer.read + peer.unread + peer.discarded <= own.written, "{own:?} {peer:?}");
        }
    }

    /// All flows are over at both nodes, and the last resets have come: nothing is held, and of flows that ended well all was delivered.
    pub fn check_end(&self, carriers: [&dyn Carrier; 2]) {
        for (side, ledger) in carriers.map(Carrier::ledger).into_iter().enumerate() {
            let ended_well = self.flows.iter().filter(|flow| !flow.over[side]);
            let whole: u64 = ended_well.map(|flow| flow.ways[side].written).sum();
            assert_eq!((ledger.held, ledger.unread), (0, 0), "{ledger:?}");
            assert!(ledger.delivered >= whole, "{ledger:?}, {whole} bytes of flows that ended well");
        }
    }
}
