//! The second carrier: flows over several byte streams (TCP connections) between two nodes, where datagrams do not pass.
//!
//! Sans-IO as [`crate::Node`]: the owner makes connections and secures them, hands over their bytes by [`Pool::received`], and takes
//! what is to be sent by [`Pool::to_send`] when a connection has room for it: the later that is, the less a small answer waits.
//!
//! A flow stays on one connection, which the pool chooses when it is opened: the first that has nearly nothing under way, so that one
//! connection carries most and stays warm, and small transfers pass beside large ones. A connection that ends resets its flows,
//! and no others. Credits are those of [`crate::Config`]: for each flow, within a memory for all flows of a peer.

use crate::credit::{Budget, FLOOR};
use crate::flow::Phase;
use crate::types::{Bounds, Event, FlowId, Ledger, Open, POOLED, PeerId, PeerStats, Refusal, ResetCode};
use crate::wire::{self, Hello, Record};
use bytes::Bytes;
use frame::Frame;
use lane::{Lane, Stream};
use longhaul_units::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

pub mod frame;
mod lane;
pub mod null_tls;
mod receiving;
#[cfg(test)]
mod tests;

/// A connection of a pool. Numbers are never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LaneId(u64);

/// Settings of a pool; see [`crate::Config`] for their meanings and ranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolConfig {
    /// Bytes of one flow and direction under way or unread.
    pub credit: u64,
    /// The same of all flows of a peer.
    pub memory: u64,
    /// Bytes that wait to be sent on a connection.
    pub unsent: u64,
    /// Flows of a connection at a time.
    pub max_flows: u32,
}

/// Connections to the same node.
struct Group {
    key: Option<[u8; 32]>,
    address: SocketAddr,
    lanes: Vec<LaneId>,
    budget: Budget,
    /// Bounds that this hub has set for the peer, and that the peer, a hub, has set for this node. Of the rate nothing follows here.
    granted: Bounds,
    bounds: Bounds,
    /// Flows that wait for room.
    blocked: VecDeque<FlowId>,
    /// Bytes received and not yet read.
    held: u64,
}

/// Connections to other nodes, and their flows.
pub struct Pool {
    config: PoolConfig,
    lanes: BTreeMap<LaneId, Lane>,
    groups: BTreeMap<PeerId, Group>,
    flows: BTreeMap<FlowId, (LaneId, u64)>,
    events: VecDeque<Event>,
    ledger: Ledger,
    next: u64,
}

impl Pool {
    /// A pool without connections.
    pub fn new(config: PoolConfig) -> Self {
        Pool {
            config,
            lanes: BTreeMap::new(),
            groups: BTreeMap::new(),
            flows: BTreeMap::new(),
            events: VecDeque::new(),
            ledger: Ledger::default(),
            next: POOLED,
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// A connection to the node with this public key was made, by this node if `opener`. It is used once its hello has come.
    pub fn connected(&mut self, key: Option<[u8; 32]>, address: SocketAddr, opener: bool) -> LaneId {
        let known = self.groups.iter().find(|(_, group)| group.key.is_some() && group.key == key);
        let peer = match known {
            Some((peer, _)) => *peer,
            None => {
                let peer = PeerId(self.number());
                let (lanes, blocked) = (vec![], VecDeque::new());
                let (budget, granted, bounds) = (Budget::early(), Bounds::default(), Bounds::default());
                let group = Group { key, address, lanes, budget, granted, bounds, blocked, held: 0 };
                self.groups.insert(peer, group);
                peer
            }
        };
        let id = LaneId(self.number());
        let mut lane = Lane::new(peer, opener, self.config.unsent);
        let hello = Hello {
            versions: wire::VERSIONS,
            credit: self.config.credit,
            memory: self.config.memory,
            max_flows: u64::from(self.config.max_flows),
            receive: 0,
            alone: false,
        };
        Frame::Record(Record::Hello(hello)).write(&mut lane.control);
        self.lanes.insert(id, lane);
        id
    }

    /// A connection is over: its flows are reset.
    pub fn disconnected(&mut self, id: LaneId, reason: &str) {
        let Some(lane) = self.lanes.get(&id) else { return };
        let (peer, streams) = (lane.peer, lane.streams.keys().copied().collect::<Vec<_>>());
        for stream in streams {
            if let Some(stream) = self.remove(id, stream) {
                self.events.push_back(Event::Reset {
                    flow: stream.id,
                    code: ResetCode::HopDown,
                    undelivered: stream.out.undelivered(),
                });
            }
        }
        self.lanes.remove(&id);
        let Some(group) = self.groups.get_mut(&peer) else { return };
        let was_up = !group.lanes.is_empty();
        group.lanes.retain(|lane| *lane != id);
        if was_up && group.lanes.is_empty() {
            self.events.push_back(Event::Down { peer, reason: reason.to_string() });
        }
        // The record may be lost with the connection.
        self.notify_bounds(peer);
        if !self.lanes.values().any(|lane| lane.peer == peer) {
            self.groups.remove(&peer);
        }
    }

    /// Notifies a terminal of its bounds, of which it keeps that on flows; they are kept while there is a connection to it.
    pub fn set_bounds(&mut self, peer: PeerId, bounds: Bounds) {
        let Some(group) = self.groups.get_mut(&peer) else { return };
        if std::mem::replace(&mut group.granted, bounds) != bounds {
            self.notify_bounds(peer);
        }
    }

    fn notify_bounds(&mut self, peer: PeerId) {
        let Some(group) = self.groups.get(&peer).filter(|group| group.granted != Bounds::default()) else {
            return;
        };
        let record = group.granted.record();
        if let Some(lane) = group.lanes.first().and_then(|first| self.lanes.get_mut(first)) {
            Frame::Record(record).write(&mut lane.control);
        }
    }

    /// The peer of a connection.
    pub fn peer_of(&self, id: LaneId) -> Option<PeerId> {
        self.lanes.get(&id).map(|lane| lane.peer)
    }

    /// Flows of a connection.
    pub fn flows_of(&self, id: LaneId) -> usize {
        self.lanes.get(&id).map_or(0, |lane| lane.streams.len())
    }

    /// True if a connection has something to send.
    pub fn has_output(&self, id: LaneId) -> bool {
        self.lanes.get(&id).is_some_and(|lane| !lane.control.is_empty() || !lane.scheduler.is_empty())
    }

    /// Connections that have something to send.
    pub fn with_output(&self) -> impl Iterator<Item = LaneId> + '_ {
        self.lanes.keys().copied().filter(|id| self.has_output(*id))
    }

    /// Appends about `most` bytes that are to be sent on a connection.
    pub fn to_send(&mut self, now: Instant, id: LaneId, most: usize, out: &mut Vec<u8>) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            let before = out.len();
            let events = &mut self.events;
            let notify = |flow| events.push_back(Event::Writable { flow });
            lane.fill(now, most, out, notify);
            lane.sent_bytes += (out.len() - before) as u64;
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn find(&mut self, flow: FlowId) -> Option<(&mut Lane, u64)> {
        let (lane, stream) = *self.flows.get(&flow)?;
        Some((self.lanes.get_mut(&lane)?, stream))
    }

    fn stream(&self, flow: FlowId) -> Option<(&Stream, &Group)> {
        let (lane, stream) = self.flows.get(&flow)?;
        let lane = self.lanes.get(lane)?;
        Some((lane.streams.get(stream)?, self.groups.get(&lane.peer)?))
    }

    /// Opens a flow, on the connection with least under way.
    ///
    /// # Errors
    /// Why not.
    pub fn open(&mut self, peer: PeerId, open: Open) -> Result<FlowId, Refusal> {
        if !wire::is_possible(&open) {
            return Err(Refusal::Malformed);
        }
        let group = self.groups.get(&peer).ok_or(Refusal::Down)?;
        let lanes = group.lanes.iter().filter_map(|id| Some((*id, self.lanes.get(id)?)));
        let busy = |lane: &Lane| lane.under_way() / BUSY;
        let (id, _) = lanes.min_by_key(|(id, lane)| (busy(lane), *id)).ok_or(Refusal::Down)?;
        let flow = FlowId(self.number());
        let Some(lane) = self.lanes.get_mut(&id) else { return Err(Refusal::Down) };
        if lane.streams.len() as u64 >= lane.max_flows.min(u64::from(self.config.max_flows)) {
            return Err(Refusal::TooMany);
        }
        let number = lane.next_own;
        lane.next_own += 2;
        lane.streams.insert(number, Stream::new(flow, open, false));
        Frame::Open { flow: number, open }.write(&mut lane.control);
        self.flows.insert(flow, (id, number));
        Ok(flow)
    }

    /// Accepts a flow that the peer has opened; needed where [`Open::confirm`] is set.
    pub fn accept(&mut self, flow: FlowId) {
        let Some((lane, number)) = self.find(flow) else { return };
        if lane.streams.get(&number).is_some_and(|stream| stream.remote && stream.open.confirm) {
            Frame::Record(Record::Accepted { stream: number }).write(&mut lane.control);
        }
    }

    /// Refuses a flow that the peer has opened; it is over.
    pub fn refuse(&mut self, flow: FlowId, reason: ResetCode) {
        let code = u64::from(reason.number());
        self.end(flow, |flow| Frame::Refused { flow, code });
    }

    /// Gives up a flow in both directions.
    pub fn reset(&mut self, flow: FlowId, code: ResetCode) {
        let code = u64::from(code.number());
        self.end(flow, |flow| Frame::Reset { flow, code });
    }

    /// Gives up a flow in both directions; the peer's owner reads what was written before it is notified. Then [`Event::Delivered`]
    /// comes. A peer of the protocol's version 1 is reset at once.
    pub fn reset_behind(&mut self, flow: FlowId, code: ResetCode) {
        let Some((id, number)) = self.flows.get(&flow).copied() else { return };
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(stream) = lane.streams.get_mut(&number) else { return };
        if lane.version < wire::RESETS_BEHIND || stream.out.outstanding() == 0 {
            return self.reset(flow, code);
        }
        stream.leaving = true;
        if stream.out.phase == Phase::Open {
            stream.out.phase = Phase::Leaving;
        }
        let size = stream.out.sent + stream.out.queued;
        let record = Record::ResetAt { stream: number, code: code.number().into(), size };
        Frame::Record(record).write(&mut lane.control);
        self.discard_incoming(id, number);
    }

    /// Bytes that were written to a flow, and that the peer has not reported as read.
    pub fn undelivered(&self, flow: FlowId) -> u64 {
        self.stream(flow).map_or(0, |(stream, _)| stream.out.undelivered())
    }

    fn end(&mut self, flow: FlowId, frame: impl FnOnce(u64) -> Frame<'static>) {
        let Some((id, number)) = self.flows.get(&flow).copied() else { return };
        if self.remove(id, number).is_none() {
            return;
        }
        if let Some(lane) = self.lanes.get_mut(&id) {
            frame(number).write(&mut lane.control);
        }
    }

    /// Bytes that [`Pool::write`] would take.
    pub fn writable(&self, flow: FlowId) -> usize {
        let room = self
            .stream(flow)
            .filter(|(stream, _)| stream.out.phase == Phase::Open)
            .map_or(0, |(stream, group)| group.budget.room(stream.out.outstanding()));
        usize::try_from(room.min(self.room_to_wait(flow))).unwrap_or(usize::MAX)
    }

    /// Bytes that a flow may add to those that wait on its connection.
    fn room_to_wait(&self, flow: FlowId) -> u64 {
        let lane = self.flows.get(&flow).and_then(|(lane, number)| Some((self.lanes.get(lane)?, number)));
        let Some((lane, number)) = lane else { return 0 };
        let queued = lane.streams.get(number).map_or(0, |stream| stream.out.queued);
        lane.backlog.room(lane.scheduler.len() + usize::from(queued == 0), queued)
    }

    /// Takes bytes of a flow from the front of `bytes`, without copying, and returns how many; what is left waits for
    /// [`Event::Writable`].
    pub fn write(&mut self, now: Instant, flow: FlowId, bytes: &mut Bytes) -> usize {
        let room = self.writable(flow).min(bytes.len());
        let full = self.room_to_wait(flow) <= room as u64;
        let Some((id, number)) = self.flows.get(&flow).copied() else { return 0 };
        let Some(lane) = self.lanes.get_mut(&id) else { return 0 };
        let Some(group) = self.groups.get_mut(&lane.peer) else { return 0 };
        let Some(stream) = lane.streams.get_mut(&number) else { return 0 };
        if room < bytes.len() && stream.out.phase == Phase::Open {
            if full {
                stream.out.full = true;
            } else if !stream.out.blocked {
                stream.out.blocked = true;
                group.blocked.push_back(flow);
            }
        }
        if room == 0 {
            return 0;
        }
        stream.out.queue.push_back(bytes.split_to(room));
        stream.out.queued += room as u64;
        group.budget.add(room as u64);
        lane.backlog.add(room as u64);
        self.ledger.written += room as u64;
        lane.scheduler.wake(now, number, &mut stream.out.turn);
        room
    }

    /// Ends this node's direction of a flow after what was written.
    pub fn finish(&mut self, now: Instant, flow: FlowId) {
        let Some((lane, number)) = self.find(flow) else { return };
        let Some(stream) = lane.streams.get_mut(&number) else { return };
        if stream.out.phase == Phase::Open {
            stream.out.phase = Phase::Ending;
            lane.scheduler.wake(now, number, &mut stream.out.turn);
        }
    }

    /// The next bytes of a flow in order, at most `most`; `None` if there are none at present.
    pub fn read(&mut self, flow: FlowId, most: usize) -> Option<Bytes> {
        let (id, number) = *self.flows.get(&flow)?;
        let credit = self.config.credit;
        let lane = self.lanes.get_mut(&id)?;
        let stream = lane.streams.get_mut(&number)?;
        let Some(bytes) = stream.into.take(most) else {
            stream.into.told = false;
            return None;
        };
        let unreported = stream.into.taken - stream.into.reported;
        if unreported >= credit / 16 || (stream.into.queue.is_empty() && unreported >= FLOOR / 2) {
            stream.into.reported = stream.into.taken;
            let offset = stream.into.taken;
            Frame::Record(Record::Consumed { stream: number, offset }).write(&mut lane.control);
        }
        if let Some(group) = self.groups.get_mut(&lane.peer) {
            group.held -= bytes.len() as u64;
        }
        self.ledger.read += bytes.len() as u64;
        self.tell_reader(id, number);
        Some(bytes)
    }

    /// Closes all connections: their flows are reset. The owner closes the streams once all was sent.
    pub fn close(&mut self) {
        for flow in self.flows.keys().copied().collect::<Vec<_>>() {
            self.reset(flow, ResetCode::Closing);
        }
    }

    /// Bytes of all flows since the beginning.
    pub fn ledger(&self) -> Ledger {
        let ledger = self.ledger;
        let unread = self.groups.values().map(|group| group.held).sum();
        Ledger { held: ledger.written - ledger.delivered - ledger.lost, unread, ..ledger }
    }

    /// Counts of the connections to a peer; round trips and losses are the kernel's affair.
    pub fn stats(&self, peer: PeerId) -> Option<PeerStats> {
        let group = self.groups.get(&peer)?;
        let lanes = self.lanes.values().filter(|lane| lane.peer == peer);
        // A connection whose hello has not come shows nothing.
        let hello = lanes.clone().filter(|lane| lane.up).map(|lane| lane.max_flows).max().unwrap_or(0);
        let most = self.config.max_flows.min(u32::try_from(hello).unwrap_or(u32::MAX));
        let max_flows = group.bounds.flows.map_or(most, |bound| bound.min(most));
        let bound = group.bounds.flows;
        let first = PeerStats { readable: group.held, max_flows, bound, ..PeerStats::default() };
        Some(lanes.fold(first, |stats, lane| PeerStats {
            queued: stats.queued + lane.streams.values().map(|stream| stream.out.queued).sum::<u64>(),
            in_flight: stats.in_flight
                + lane.streams.values().map(|stream| stream.out.in_flight()).sum::<u64>(),
            sent_bytes: stats.sent_bytes + lane.sent_bytes,
            received_bytes: stats.received_bytes + lane.received_bytes,
            flows: stats.flows + lane.streams.len() as u32,
            ..stats
        }))
    }
}

/// Connections whose bytes under way differ by less are equally free.
const BUSY: u64 = 64 << 10;
