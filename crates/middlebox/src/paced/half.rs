//! What both nodes of a paced hop have: connections to the hosts on their side, which are streams between the nodes, and an end of the
//! control connection. Records for the other node are handed to the owner, since the ways there and back differ.

use super::datagram::{Item, Key, expand};
use crate::base::Table;
use crate::levels::Levels;
use crate::nodes::{Account, Directory, Ends, Note};
use crate::split::hosts::{self, Hosts};
use crate::split::local::Local;
use crate::split::record::{self, ESTABLISHED, REVERSE};
use crate::split::{Plans, Side};
use crate::{Base, Carrier, Data, Departure, Direction, OwnConnection, Passing, Payload};
use longhaul_segment::Segment;
use longhaul_tcp::{Connection, Ports};
use longhaul_units::{ConnectionId, Id, Instant, Random};
use std::collections::{BTreeMap, VecDeque};

/// The connection over the thin link.
#[derive(Clone)]
pub struct Control {
    /// Its settings at both ends.
    pub side: Side,
    /// It is there from the start.
    pub established: bool,
}

pub(super) const HUB: usize = 0;
pub(super) const CLIENT: usize = 1;

/// A connection to a host, and its stream.
pub(super) struct End<P: Payload> {
    pub local: Local<P>,
    stream: u32,
    /// Position of what is sent next to the other node, and what the other node allows.
    sent: u64,
    limit: u64,
    /// Position of what comes next from the other node, and what it was allowed.
    given: u64,
    granted: u64,
    /// It has more to send than the other node allows.
    parked: bool,
}

/// What a node has that serves hosts.
pub(super) struct Half<P: Payload> {
    side: usize,
    hosts: Hosts,
    directory: Box<dyn Directory>,
    /// Bytes of each stream that may be here and not with their host yet.
    buffer: u64,
    ends: Table<End<P>>,
    /// The connection of each stream.
    streams: BTreeMap<u32, ConnectionId>,
    /// Connections with data for the other node, in turn.
    pub ready: VecDeque<ConnectionId>,
    /// Connections that may have packets to send.
    dirty: VecDeque<ConnectionId>,
    next_stream: u32,
    pub control: Carrier<P>,
    /// Its number among the connections.
    control_number: ConnectionId,
    /// Records for the other node.
    pub outgoing: VecDeque<Item<P::Data>>,
    /// Streams that are over.
    pub forgotten: Vec<u32>,
    pub notes: VecDeque<Note>,
    pub base: Base<P>,
    begun: bool,
}

impl<P: Payload> Half<P> {
    pub fn new(
        side: usize,
        plans: Plans,
        control: &Control,
        control_number: ConnectionId,
        buffer: u64,
        directory: Box<dyn Directory>,
        random: Random,
    ) -> Self {
        let mut hosts = Hosts::new(plans, random);
        let ports = Ports { local: 9 + side as u16, remote: 10 - side as u16 };
        let Side { config, congestion } = &control.side;
        let isn = hosts.isn();
        let control = if control.established {
            Connection::established(config.clone(), congestion(), ports)
        } else if side == CLIENT {
            Connection::connect(config.clone(), congestion(), isn, ports)
        } else {
            Connection::listen(config.clone(), congestion(), isn, ports)
        };
        Half {
            side,
            hosts,
            directory,
            buffer,
            ends: Table::default(),
            streams: BTreeMap::new(),
            ready: VecDeque::new(),
            dirty: VecDeque::new(),
            next_stream: side as u32,
            control: Carrier::new(control),
            control_number,
            outgoing: VecDeque::new(),
            forgotten: vec![],
            notes: VecDeque::new(),
            base: Base::new(Levels::default()),
            begun: false,
        }
    }

    fn end(&mut self, connection: ConnectionId) -> Option<&mut End<P>> {
        self.ends.get_mut(connection)
    }
    fn put(&mut self, connection: ConnectionId, end: End<P>) {
        if let Some(old) = self.ends.take(connection) {
            self.streams.remove(&old.stream);
            self.forgotten.push(old.stream);
            self.hosts.retire(&old.local);
        }
        self.streams.insert(end.stream, connection);
        self.ends.put(connection, end);
    }
    fn touch(&mut self, connection: ConnectionId) {
        if self.end(connection).is_some_and(|end| !std::mem::replace(&mut end.local.dirty, true)) {
            self.dirty.push_back(connection);
        }
    }
    fn tell(&mut self, item: Item<P::Data>) {
        self.outgoing.push_back(item);
    }

    // Hosts.

    pub fn on_host_packet(&mut self, now: Instant, packet: Passing<'_, P>) {
        let Passing { connection, direction, ecn, segment, body } = packet;
        if !self.has_end(connection, direction, segment) {
            return self.base.refuse(0, connection, direction, segment);
        }
        if let Some(end) = self.end(connection) {
            end.local.connection.handle_segment(now, segment, *ecn, body);
        }
        self.settle(connection);
    }

    /// Finds or makes the end that a host's packet is for; false if there can be none.
    fn has_end(&mut self, number: ConnectionId, direction: Direction, segment: &Segment) -> bool {
        let towards = direction.opposite();
        let gone = self.end(number).is_none_or(|end| end.local.gives_way_to(segment));
        if hosts::opens(segment) && gone {
            let local = self.hosts.accept(number, towards, segment);
            let stream = self.next_stream;
            self.next_stream = (stream + 2) % REVERSE;
            self.open(number, local, stream);
        } else if self.end(number).is_none() {
            let local = self.hosts.established(number, towards, hosts::ports_to_sender(segment));
            let Some(local) = local else { return false };
            // Both nodes may get the connection's first packet at the same time, and use the same stream.
            let stream = record::established_stream(self.side, number, direction);
            self.open(number, local, stream);
        }
        self.end(number).is_some_and(|end| !end.local.is_closed())
    }

    /// A host has opened a connection: notifies the other node.
    fn open(&mut self, number: ConnectionId, local: Local<P>, stream: u32) {
        let ports = local.connection.ports();
        let ports = match local.direction {
            Direction::Forward => [ports.local, ports.remote],
            Direction::Reverse => [ports.remote, ports.local],
        };
        let hosts = self.directory.ends(number, ports).encode();
        // Hosts with longer addresses are not served.
        let Ok(key) = Key::try_from(hosts) else { return };
        let end = self.new_end(local, stream);
        self.put(number, end);
        self.tell(Item::Open { stream, key });
    }
    fn new_end(&self, local: Local<P>, stream: u32) -> End<P> {
        let limit = 1 + self.buffer;
        // Data begin at position 1, as in TCP.
        End { local, stream, sent: 1, limit, given: 1, granted: limit, parked: false }
    }

    /// Does what has become possible at an end.
    fn settle(&mut self, number: ConnectionId) {
        let Some(end) = self.end(number) else { return };
        if let Some(why) = end.local.take_events() {
            let stream = end.stream;
            self.notes.push_back(Note::Broken(number, why));
            self.tell(Item::Reset { stream });
        }
        let Some(end) = self.end(number) else { return };
        let waits = end.local.connection.readable() > 0 || end.local.has_end_to_pass();
        if waits && !end.local.broken && !end.parked && !std::mem::replace(&mut end.local.ready, true) {
            self.ready.push_back(number);
        }
        self.grant(number);
        self.touch(number);
    }

    /// Allows the other node to send more of a stream, once its host has taken half of what was allowed.
    fn grant(&mut self, number: ConnectionId) {
        let buffer = self.buffer;
        let Some(end) = self.end(number).filter(|end| !end.local.broken) else { return };
        let limit = 1 + end.local.connection.acked_bytes() + buffer;
        if limit < end.granted + buffer.div_ceil(2) {
            return;
        }
        end.granted = limit;
        let stream = end.stream;
        self.tell(Item::Credit { stream, limit });
    }

    // Records of the other node.

    pub fn on_open(&mut self, stream: u32, key: &Key) {
        let hosts = Ends::decode(key);
        let number = hosts.and_then(|hosts| self.directory.number(&hosts));
        let Some((hosts, number)) = hosts.zip(number) else { return self.tell(Item::Reset { stream }) };
        match self.end(number) {
            // Both nodes have seen it first.
            Some(end) if end.stream == stream => return,
            Some(end) if !end.local.is_over() => return self.tell(Item::Reset { stream }),
            _ => {}
        }
        let towards = record::towards_host(self.side, stream);
        let ports = hosts.ports(towards);
        let local = if stream & ESTABLISHED == 0 {
            Some(self.hosts.connect(number, towards, ports))
        } else {
            self.hosts.established(number, towards, ports)
        };
        let Some(local) = local else { return self.tell(Item::Reset { stream }) };
        let end = self.new_end(local, stream);
        self.put(number, end);
        self.settle(number);
    }
    /// Something has come for a stream. False if it has no such end.
    fn with_end(&mut self, stream: u32, deed: impl FnOnce(&mut End<P>)) -> bool {
        let Some(number) = self.streams.get(&stream).copied() else { return false };
        let Some(end) = self.end(number) else { return false };
        if !end.local.broken {
            deed(end);
        }
        self.settle(number);
        true
    }
    pub fn on_data(&mut self, stream: u32, data: &P::Data) -> bool {
        let bytes = u64::from(data.len());
        let number = self.streams.get(&stream).copied();
        let end = number.and_then(|number| self.end(number));
        let allowed = end.is_none_or(|end| end.given + bytes <= end.granted);
        allowed
            && self.with_end(stream, |end| {
                end.given += bytes;
                end.local.connection.write(data);
            })
    }
    pub fn on_close(&mut self, stream: u32) -> bool {
        self.with_end(stream, |end| end.local.close())
    }
    pub fn on_reset(&mut self, stream: u32) -> bool {
        self.with_end(stream, |end| end.local.break_off())
    }
    pub fn on_credit(&mut self, stream: u32, limit: u64) -> bool {
        self.with_end(stream, |end| {
            let limit = expand(limit, end.limit).unwrap_or(0);
            end.limit = end.limit.max(limit);
            end.parked &= end.sent == end.limit;
        })
    }

    // Records for the other node.

    /// The next piece of the next connection that has data for the other node. False if there is none.
    pub fn send_next(&mut self, now: Instant, most: u32) -> bool {
        let Some(number) = self.ready.pop_front() else { return false };
        let Some(end) = self.end(number) else { return true };
        end.local.ready = false;
        if end.local.broken {
            return true;
        }
        let taken = end.local.connection.read(now, u64::from(most).min(end.limit - end.sent));
        let (stream, position) = (end.stream, end.sent);
        end.sent += u64::from(taken.len());
        let ends = end.local.has_end_to_pass();
        end.local.end_passed |= ends;
        let end_position = end.sent;
        let more = end.local.connection.readable() > 0;
        end.parked = more && end.sent == end.limit;
        end.local.ready = more && !end.parked;
        if end.local.ready {
            self.ready.push_back(number);
        }
        // Reading may have opened the window.
        self.touch(number);
        if !taken.is_empty() {
            self.tell(Item::Data { stream, position, data: taken });
        }
        if ends {
            self.tell(Item::Close { stream, position: end_position });
        }
        true
    }

    /// A packet of the control connection has come.
    pub fn on_control_packet(&mut self, now: Instant, packet: &Passing<'_, P>) {
        self.control.handle_segment(now, packet.segment, *packet.ecn, packet.body);
        while self.control.poll_event().is_some() {}
    }

    /// All connections end.
    pub fn break_all(&mut self) {
        for number in self.ends.ids() {
            if let Some(end) = self.end(number).filter(|end| !end.local.broken) {
                end.local.break_off();
                self.touch(number);
            }
        }
        self.ready.clear();
    }
    /// All connections are forgotten.
    pub fn forget_all(&mut self) {
        for number in self.ends.ids() {
            if let Some(end) = self.ends.take(number) {
                self.hosts.retire(&end.local);
            }
        }
        self.streams.clear();
        self.dirty.clear();
    }
    /// Some connection is not over.
    pub fn is_in_use(&self) -> bool {
        self.ends.iter().any(|end| !end.local.is_over())
    }

    // What leaves.

    pub fn transmit_control(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        let (ecn, body) = self.control.transmit_into(now, segment)?;
        let direction = Direction::BOTH[self.side];
        Some(Departure { port: 0, connection: self.control_number, direction, ecn, body })
    }
    /// The control connection has nothing more to send.
    pub fn leave_control(&mut self) {
        self.base.timers.set(timer_of(None), self.control.poll_timeout());
    }

    pub fn transmit_local(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        while let Some(&connection) = self.dirty.front() {
            if let Some(end) = self.end(connection) {
                if let Some((ecn, body)) = end.local.connection.transmit_into(now, segment) {
                    let direction = end.local.direction;
                    return Some(Departure { port: 0, connection, direction, ecn, body });
                }
                end.local.dirty = false;
                let due = end.local.poll_timeout();
                self.base.timers.set(timer_of(Some(connection)), due);
            }
            self.notes.push_back(Note::Changed(connection));
            self.dirty.pop_front();
        }
        None
    }

    // Time.

    pub fn on_timer(&mut self, now: Instant, owner: usize) {
        let number = owner.checked_sub(1).map(ConnectionId::new);
        let connection = match number {
            None => Some(&mut self.control),
            Some(number) => self.ends.get_mut(number).map(|end| &mut end.local.connection),
        };
        let Some(connection) = connection else { return };
        match connection.poll_timeout() {
            Some(due) if due <= now => connection.handle_timeout(now),
            due => return self.base.timers.set(owner, due),
        }
        match number {
            None => while self.control.poll_event().is_some() {},
            Some(number) => self.settle(number),
        }
    }
    pub fn begin(&mut self) {
        self.begun = true;
    }
    /// When it is to be woken for its connections; at the beginning at once.
    pub fn next_timer(&self) -> Option<Instant> {
        let begin = (!self.begun).then_some(Instant::ZERO);
        begin.into_iter().chain(self.base.timers.next()).min()
    }

    // Its counters.

    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.hosts.counters(self.ends.iter().map(|end| &end.local))
    }
    pub fn account(&self, connection: ConnectionId) -> Option<Account> {
        self.ends.get(connection).map(|end| end.local.account(end.stream))
    }
    pub fn own_connections(&self) -> Vec<OwnConnection> {
        vec![OwnConnection::of(1, &self.control)]
    }
}

/// Number of a connection among the timers: the control connection, or that to a host.
fn timer_of(connection: Option<ConnectionId>) -> usize {
    connection.map_or(0, |number| number.index() + 1)
}
