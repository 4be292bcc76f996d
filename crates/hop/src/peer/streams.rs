//! How many streams there may be. quinn-proto keeps some 60 bytes for each stream that the peer may open, whether it does or not: so a
//! peer is permitted few at first, and more as it uses them. What a node opens beyond that waits.

use super::{Peer, number};
use crate::config::Config;
use longhaul_units::Instant;
use quinn_proto::{Dir, StreamId, VarInt};
use std::collections::VecDeque;

/// Where a part of so many is in use, so many times as many are permitted.
const STEP: u32 = 4;

/// Streams of a connection that carry flows.
#[derive(Debug)]
pub struct Streams {
    /// How many the peer may have open at a time, and how many it will be permitted at most.
    permitted: u32,
    most: u32,
    /// Flows that this node has opened and that are not over.
    own: u32,
    /// How many streams this node has opened, and those that it will open next, which wait for the peer's permission.
    opened: u64,
    waiting: VecDeque<StreamId>,
}

/// Streams that a node with so many flows at a time permits in the end. quinn-proto gives them back by the eighth: so many more that
/// `max_flows` can be open at any time.
pub fn most(max_flows: u32) -> u32 {
    max_flows + max_flows / 7 + 1
}

/// Streams that a node with these settings permits at first.
pub fn first(config: &Config) -> u32 {
    config.first_flows.clamp(1, most(config.max_flows))
}

impl Streams {
    pub fn new(config: &Config) -> Self {
        let (permitted, most) = (first(config), most(config.max_flows));
        Streams { permitted, most, own: 0, opened: 0, waiting: VecDeque::new() }
    }

    /// A flow of this node is over.
    pub fn remove(&mut self) {
        self.own -= 1;
    }

    /// The connection is over.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl Peer {
    /// A stream for a flow, and whether it waits for the peer's permission. `None` if there are as many as the peer bears.
    pub(super) fn open_stream(&mut self) -> Option<(StreamId, bool)> {
        if self.streams.own >= most(self.max_flows) {
            return None;
        }
        let opened =
            if self.streams.waiting.is_empty() { self.connection.streams().open(Dir::Bi) } else { None };
        let id = opened.unwrap_or_else(|| {
            let index = self.streams.opened + self.streams.waiting.len() as u64;
            let id = StreamId::new(self.connection.side(), Dir::Bi, index);
            self.streams.waiting.push_back(id);
            id
        });
        self.streams.opened += u64::from(opened.is_some());
        self.streams.own += 1;
        Some((id, opened.is_none()))
    }

    /// The peer has permitted more streams.
    pub(super) fn open_waiting(&mut self, now: Instant) {
        while !self.streams.waiting.is_empty() {
            let Some(id) = self.connection.streams().open(Dir::Bi) else { return };
            self.streams.waiting.pop_front();
            self.streams.opened += 1;
            match self.flows.get_mut(&number(id)) {
                Some(flow) => {
                    flow.out.waits = false;
                    self.scheduler.wake(now, number(id), &mut flow.out.turn);
                    self.dirty = true;
                }
                // It was given up while it waited; its number cannot be left out.
                None => self.abort(id, 0),
            }
        }
    }

    /// Permits the peer more streams if it uses those that it has.
    pub(super) fn permit(&mut self) {
        let used = self.connection.streams().remote_open_streams(Dir::Bi);
        let before = self.streams.permitted;
        while self.streams.permitted < self.streams.most
            && used * u64::from(STEP) >= u64::from(self.streams.permitted)
        {
            self.streams.permitted = self.streams.permitted.saturating_mul(STEP).min(self.streams.most);
        }
        if self.streams.permitted > before {
            self.set_permitted();
        }
    }

    /// Permits all streams at once: a peer of an earlier version refuses what would have to wait.
    pub(super) fn permit_all(&mut self) {
        if self.streams.permitted < self.streams.most {
            self.streams.permitted = self.streams.most;
            self.set_permitted();
        }
    }

    fn set_permitted(&mut self) {
        self.connection.set_max_concurrent_streams(Dir::Bi, VarInt::from_u32(self.streams.permitted));
        self.dirty = true;
    }
}
