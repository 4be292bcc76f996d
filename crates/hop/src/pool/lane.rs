//! One connection of a pool and its flows.

use super::frame::{Frame, MOST_DATA};
use crate::credit::Backlog;
use crate::flow::Phase;
use crate::scheduler::{Scheduler, Turn};
use crate::types::{FlowId, Open, PeerId, ResetCode};
use bytes::Bytes;
use longhaul_units::Instant;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a turn: a fourth of a TLS record, so that small answers do not wait for large ones.
const TURN: u64 = 4096;

/// Bytes towards the peer.
#[derive(Debug)]
pub struct Out {
    pub queue: VecDeque<Bytes>,
    pub queued: u64,
    /// Given to the connection.
    pub sent: u64,
    /// Read by the peer's owner.
    pub consumed: u64,
    pub phase: Phase,
    /// The end was given to the connection.
    pub ended: bool,
    /// The owner waits for room.
    pub blocked: bool,
    /// The owner waits until less is queued.
    pub full: bool,
    /// Bytes given up because the peer reads no more; then nothing else happens.
    pub given_up: Option<u64>,
    pub turn: Turn,
}

impl Out {
    /// Bytes under way or unread.
    pub fn outstanding(&self) -> u64 {
        self.queued + self.in_flight()
    }

    /// Bytes that the peer has not reported as read.
    pub fn undelivered(&self) -> u64 {
        self.given_up.unwrap_or(0) + self.outstanding()
    }

    /// Bytes under way or unread without those that wait here.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.consumed
    }

    fn has_work(&self) -> bool {
        self.queued > 0 || (self.phase == Phase::Ending && !self.ended)
    }
}

/// Bytes from the peer.
#[derive(Debug, Default)]
pub struct Into {
    pub queue: VecDeque<Bytes>,
    pub received: u64,
    pub taken: u64,
    /// So much was reported to the peer as read.
    pub reported: u64,
    /// The end has come.
    pub ended: bool,
    /// The owner was notified of the end.
    pub over: bool,
    /// The owner was notified that there is something to read.
    pub told: bool,
    /// The peer resets the flow behind so many bytes.
    pub reset: Option<(u64, ResetCode)>,
}

impl Into {
    /// Nothing is left in front of the peer's reset.
    pub fn must_reset(&self) -> Option<ResetCode> {
        let (size, code) = self.reset?;
        (self.taken >= size || self.over).then_some(code)
    }

    /// The next bytes.
    pub fn take(&mut self, most: usize) -> Option<Bytes> {
        let first = self.queue.front_mut()?;
        let bytes = if first.len() <= most { self.queue.pop_front()? } else { first.split_to(most) };
        self.taken += bytes.len() as u64;
        Some(bytes)
    }
}

/// A flow.
#[derive(Debug)]
pub struct Stream {
    pub id: FlowId,
    pub open: Open,
    /// The other node opened it.
    pub remote: bool,
    pub accepted: bool,
    /// This node's owner has reset the flow behind what was written, which is still on its way.
    pub leaving: bool,
    pub out: Out,
    pub into: Into,
}

impl Stream {
    pub fn new(id: FlowId, open: Open, remote: bool) -> Self {
        let out = Out {
            queue: VecDeque::new(),
            queued: 0,
            sent: 0,
            consumed: 0,
            phase: Phase::Open,
            ended: false,
            blocked: false,
            full: false,
            given_up: None,
            turn: Turn::default(),
        };
        Stream { id, open, remote, accepted: remote, leaving: false, out, into: Into::default() }
    }
}

/// A connection.
pub struct Lane {
    pub peer: PeerId,
    /// This node has opened it.
    pub is_own: bool,
    /// Its hello has come.
    pub up: bool,
    pub streams: BTreeMap<u64, Stream>,
    pub scheduler: Scheduler,
    pub backlog: Backlog,
    /// Frames that go before all data.
    pub control: Vec<u8>,
    /// What came of a frame that is incomplete.
    pub partial: Vec<u8>,
    /// Number of this node's next flow, and the least that the peer's next may have.
    pub next_own: u64,
    pub next_peer: u64,
    /// Flows that the peer bears.
    pub max_flows: u64,
    /// Version of the protocol that both have; 0 before the peer's hello.
    pub version: u16,
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

impl Lane {
    pub fn new(peer: PeerId, opener: bool, unsent: u64) -> Self {
        Lane {
            peer,
            is_own: opener,
            up: false,
            streams: BTreeMap::new(),
            scheduler: Scheduler::default(),
            backlog: Backlog::new(unsent),
            control: vec![],
            partial: vec![],
            next_own: u64::from(!opener),
            next_peer: u64::from(opener),
            max_flows: 0,
            version: 0,
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// Bytes of all flows, here and on the way.
    pub fn under_way(&self) -> u64 {
        self.streams
            .values()
            .map(|stream| stream.out.outstanding() + stream.into.received - stream.into.taken)
            .sum()
    }

    /// Appends what leaves next; `drained` is called for a flow that waits until less is queued, when enough has left.
    pub fn fill(&mut self, now: Instant, most: usize, out: &mut Vec<u8>, mut drained: impl FnMut(FlowId)) {
        out.append(&mut self.control);
        while out.len() < most {
            let Some(number) = self.scheduler.next(now) else { return };
            let Some(stream) = self.streams.get_mut(&number) else { continue };
            let mut left = TURN * (1 + u64::from(stream.open.priority));
            let to = &mut stream.out;
            while left > 0 {
                let Some(first) = to.queue.front_mut() else { break };
                let length = left.min(MOST_DATA).min(first.len() as u64);
                let bytes = first.split_to(length as usize);
                if first.is_empty() {
                    to.queue.pop_front();
                }
                Frame::Data { flow: number, bytes: &bytes }.write(out);
                to.queued -= length;
                self.backlog.remove(length);
                to.sent += length;
                self.scheduler.sent(now, &mut to.turn, length);
                left -= length;
            }
            if to.full && self.backlog.has_drained(self.scheduler.len() + 1, to.queued) {
                to.full = false;
                drained(stream.id);
            }
            if to.queued == 0 && to.phase == Phase::Ending && !to.ended {
                to.ended = true;
                Frame::End { flow: number }.write(out);
            }
            if to.has_work() {
                self.scheduler.put_back(number, &mut to.turn);
            } else {
                self.scheduler.rest(now, &mut to.turn);
            }
        }
    }
}
