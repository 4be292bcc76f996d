//! A node of a split at two: split start or split end of "A split connection PEP in ns-2" (Innsbruck, 2009). It has connections to the
//! hosts on its side and its ends of those over the long hop; what the other node does comes to it in packets (see [`super::record`]).
//! Either node serves the hosts on its side, so that flows may be opened, and data sent, both ways.
//!
//! Flow control is either the paper's (a local queue that drops, see [`super::LocalQueueSettings`]) or that of TCP: data waits in the receive
//! buffers of the hosts' connections, which take turns on the long hop, segment by segment; their windows close as the
//! buffers fill, and nothing is dropped. A host that is slower than the long hop is held back by credit (see [`super::flow`]), or,
//! with [`FlowControl::Window`], by the window of the connection over the long hop, which all its flows share.

mod long_hop;
mod to_hosts;

use super::counts::Counts;
use super::flow::Flow;
use super::hosts::{self, Hosts};
use super::local::Broken;
use super::local_queue::LocalQueue;
use super::long_end::{LongEnd, Malformed, Owner};
use super::record::{self, ESTABLISHED, MOST_DATA, REVERSE, Record, RecordKind};
use super::settings::{FlowControl, LongHop};
use super::{Plans, READY_SEGMENTS, Side};
use crate::base::Table;
use crate::levels::Levels;
use crate::nodes::{Account, Directory, Ends, Node, Note};
use crate::waiting::Waiting;
use crate::{
    Base, Carrier, Data, Departure, Direction, Middlebox, OwnConnection, Passing, Payload, Sparse, Verdict,
};
use longhaul_segment::{Flags, Segment};
use longhaul_tcp::{Connection, Ports};
use longhaul_units::{ConnectionId, Id, Instant, Random};
use std::collections::{BTreeMap, VecDeque};

/// One of the two nodes.
pub struct SplitNode<P: Payload = Sparse> {
    /// 0 for the first node, 1 for the second: which way its packets go over the long hop, and which numbers its streams have.
    side: usize,
    hosts: Hosts,
    directory: Box<dyn Directory>,
    long_hop: LongHop,
    control: FlowControl,
    flows: Table<Flow<P>>,
    /// Numbers of flows.
    streams: BTreeMap<u32, ConnectionId>,
    next_stream: u32,
    longs: Vec<Option<Box<LongEnd<P>>>>,
    queue: Option<LocalQueue<P>>,
    /// Connections that may have packets to send.
    dirty: VecDeque<Owner>,
    notes: VecDeque<Note>,
    base: Base<P>,
    counts: Counts,
}

impl<P: Payload> SplitNode<P> {
    /// The first node (`side` 0) or the second (1). Random streams follow from seed and name.
    pub fn new(
        side: usize,
        plans: Plans,
        long_hop: LongHop,
        control: FlowControl,
        directory: Box<dyn Directory>,
        seed: u64,
        name: &str,
    ) -> Self {
        let queue = match control {
            FlowControl::Window(_) => None,
            FlowControl::LocalQueue(settings) => {
                Some(LocalQueue::new(settings, seed, &format!("{name} queue {side}")))
            }
        };
        SplitNode {
            side,
            hosts: Hosts::new(plans, Random::stream(seed, &format!("{name} isn {side}"))),
            directory,
            longs: (0..long_hop.connections).map(|_| None).collect(),
            long_hop,
            control,
            flows: Table::default(),
            streams: BTreeMap::new(),
            next_stream: side as u32,
            queue,
            dirty: VecDeque::new(),
            notes: VecDeque::new(),
            base: Base::new(Levels::default()),
            counts: Counts::default(),
        }
    }

    fn flow(&mut self, flow: ConnectionId) -> Option<&mut Flow<P>> {
        self.flows.get_mut(flow)
    }
    fn long(&mut self, index: usize) -> Option<&mut LongEnd<P>> {
        self.longs[index].as_deref_mut()
    }
    fn connection(&mut self, owner: Owner) -> Option<&mut Carrier<P>> {
        match owner {
            Owner::Long(index) => self.long(index).map(|long| &mut long.connection),
            Owner::Local(flow) => self.flow(flow).map(|flow| &mut flow.local.connection),
        }
    }
    /// A connection may have packets to send.
    fn touch(&mut self, owner: Owner) {
        let flag = match owner {
            Owner::Long(index) => self.longs[index].as_deref_mut().map(|long| &mut long.dirty),
            Owner::Local(flow) => self.flow(flow).map(|flow| &mut flow.local.dirty),
        };
        if flag.is_some_and(|dirty| !std::mem::replace(dirty, true)) {
            self.dirty.push_back(owner);
        }
    }
    /// The number of a connection among the timers.
    fn timer_of(&self, owner: Owner) -> usize {
        match owner {
            Owner::Long(index) => index,
            Owner::Local(flow) => self.longs.len() + flow.index(),
        }
    }
    fn owner_of(&self, timer: usize) -> Owner {
        match timer.checked_sub(self.longs.len()) {
            None => Owner::Long(timer),
            Some(flow) => Owner::Local(ConnectionId::new(flow)),
        }
    }

    /// Where the packets of a connection go.
    fn way_of(&mut self, owner: Owner) -> (ConnectionId, Direction) {
        match owner {
            Owner::Long(index) => (self.long_hop.first_number.after(index), Direction::BOTH[self.side]),
            Owner::Local(number) => {
                (number, self.flow(number).map_or(Direction::Forward, |flow| flow.local.direction))
            }
        }
    }

    /// A connection has no more to send for now. True if that was changed.
    fn go_on(&mut self, now: Instant, owner: Owner) -> bool {
        match owner {
            Owner::Long(index) => {
                let filled = self.fill(now, index);
                let let_in = self.is_event_driven() && self.let_in(now);
                filled || let_in
            }
            Owner::Local(_) => false,
        }
    }

    /// A connection has had its turn.
    fn leave(&mut self, owner: Owner) {
        let due = self.connection(owner).and_then(|connection| connection.poll_timeout());
        let timer = self.timer_of(owner);
        self.base.timers.set(timer, due);
        match owner {
            Owner::Long(index) => {
                if let Some(end) = self.long(index) {
                    end.dirty = false;
                }
            }
            Owner::Local(number) => {
                if let Some(flow) = self.flow(number) {
                    flow.local.dirty = false;
                }
                self.notes.push_back(Note::Changed(number));
            }
        }
    }
}

impl<P: Payload> Middlebox<P> for SplitNode<P> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, P>) -> Verdict {
        let is_long = packet.connection >= self.long_hop.first_number;
        if self.base.failed {
            if !is_long {
                self.base.refuse(0, packet.connection, packet.direction, packet.segment);
            }
        } else if is_long {
            self.on_long_packet(now, packet);
        } else {
            self.on_host_packet(now, Waiting::of(&packet));
        }
        Verdict::Taken
    }

    fn on_timer(&mut self, now: Instant, timer: usize) {
        let owner = self.owner_of(timer);
        let Some(connection) = self.connection(owner) else { return };
        match connection.poll_timeout() {
            Some(due) if due <= now => connection.handle_timeout(now),
            due => return self.base.timers.set(timer, due),
        }
        match owner {
            Owner::Long(index) => self.settle_long(now, index),
            Owner::Local(number) => self.settle_local(now, number),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.base.timers.expired(now) {
            self.on_timer(now, timer);
        }
        if self.queue.as_mut().is_some_and(|queue| queue.is_checked(now)) {
            self.let_in(now);
            if let Some(queue) = &mut self.queue {
                queue.set_timer(now);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let check = self.queue.as_ref().and_then(LocalQueue::next_check);
        [self.base.timers.next(), check].into_iter().flatten().min()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        while let Some(&owner) = self.dirty.front() {
            loop {
                self.top_up(now, owner);
                let connection = self.connection(owner);
                if let Some((ecn, body)) =
                    connection.and_then(|connection| connection.transmit_into(now, segment))
                {
                    let (connection, direction) = self.way_of(owner);
                    return Some(Departure { port: 0, connection, direction, ecn, body });
                }
                if !self.go_on(now, owner) {
                    break;
                }
            }
            self.leave(owner);
            self.dirty.pop_front();
        }
        None
    }

    fn lose_all(&mut self, _now: Instant) {
        for number in self.flows.ids() {
            if let Some(flow) = self.flows.take(number) {
                self.hosts.retire(&flow.local);
            }
        }
        for end in self.longs.iter_mut().filter_map(Option::take) {
            self.counts.add(end.connection.stats());
        }
        self.streams.clear();
        self.dirty.clear();
        self.queue = None;
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut sent = self.counts;
        for end in self.longs.iter().flatten() {
            sent.add(end.connection.stats());
        }
        let locals = self.flows.iter().map(|flow| &flow.local);
        [self.hosts.counters(locals), sent.list()].concat()
    }
    fn base(&self) -> &Base<P> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.base
    }
    fn own_connections(&self) -> Vec<OwnConnection> {
        let ends = self.longs.iter().enumerate().filter_map(|(index, end)| Some((index, end.as_ref()?)));
        ends.map(|(index, end)| OwnConnection::of(index, &end.connection)).collect()
    }
}

impl<P: Payload> Node<P> for SplitNode<P> {
    fn account(&self, connection: ConnectionId) -> Option<Account> {
        self.flows.get(connection).map(|flow| flow.local.account(flow.stream))
    }
    fn poll_note(&mut self) -> Option<Note> {
        self.notes.pop_front()
    }
    fn held_packets(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.occupancy().packets)
    }
}
