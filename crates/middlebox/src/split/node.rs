//! A node of a split at two: split start or split end of "A split connection PEP in ns-2" (Innsbruck, 2009). It has connections to the
//! hosts on its side and its ends of those over the long hop; what the other node does comes to it in packets (see [`super::record`]).
//! Either node serves the hosts on its side, so that flows may be opened, and data sent, both ways.
//!
//! Flow control is either the paper's (a local queue that drops, see [`super::LocalQueueSettings`]) or that of TCP: data waits in the receive
//! buffers of the hosts' connections, which take turns on the long hop, segment by segment; their windows close as the
//! buffers fill, and nothing is dropped. A host that is slower than the long hop is held back by credit (see [`super::flow`]), or,
//! with [`FlowControl::Window`], by the window of the connection over the long hop, which all its flows share.

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
use longhaul_units::{Instant, Random};
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
    streams: BTreeMap<u32, u32>,
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

    // Its parts.

    fn flow(&mut self, flow: u32) -> Option<&mut Flow<P>> {
        self.flows.get_mut(flow as usize)
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
            Owner::Local(flow) => self.longs.len() + flow as usize,
        }
    }
    fn owner_of(&self, timer: usize) -> Owner {
        match timer.checked_sub(self.longs.len()) {
            None => Owner::Long(timer),
            Some(flow) => Owner::Local(flow as u32),
        }
    }

    // Packets of the hosts.

    fn on_host_packet(&mut self, now: Instant, packet: Waiting<P>) {
        let carries = packet.segment.payload_len > 0 || packet.segment.flags.contains(Flags::FIN);
        let held_back = carries && self.is_held_back(packet.connection);
        match &mut self.queue {
            Some(_) if held_back => self.drop_at_queue(&packet),
            Some(queue) if carries => {
                queue.enqueue(now, packet);
                self.note_drops();
                if self.is_event_driven() {
                    self.let_in(now);
                }
            }
            _ => self.reach_local(now, packet),
        }
    }

    fn is_event_driven(&self) -> bool {
        self.queue.as_ref().is_some_and(LocalQueue::is_event_driven)
    }

    /// With a local queue: a slow host at the other node has used up a flow's credit, and a buffer of data waits for it here.
    /// More would wait in front of the other flows' packets.
    fn is_held_back(&self, number: u32) -> bool {
        let flow = self.flows.get(number as usize).filter(|_| self.queue.is_some());
        flow.is_some_and(|flow| {
            flow.credit() == 0 && flow.local.connection.readable() >= self.long_hop.buffer
        })
    }

    fn drop_at_queue(&mut self, packet: &Waiting<P>) {
        self.counts.local_queue_drops += u64::from(packet.segment.payload_len > 0);
        self.base.events.push_back(packet.dropped());
    }

    fn note_drops(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        let dropped: Vec<_> = queue.packets.take_dropped().collect();
        dropped.iter().for_each(|(packet, _)| self.drop_at_queue(packet));
    }

    /// Lets packets of the local queue in, as long as there is credit. True if there was any.
    fn let_in(&mut self, now: Instant) -> bool {
        let mss = u64::from(self.long_hop.side.config.mss);
        let mut any = false;
        loop {
            let head = self.queue.as_ref().and_then(|queue| queue.packets.head());
            let Some(number) = head.map(|packet| packet.connection) else { break };
            let unsent = self.unsent(number);
            let Some(packet) = self.queue.as_mut().and_then(|queue| queue.let_in(now, unsent, mss)) else {
                break;
            };
            self.reach_local(now, packet);
            any = true;
        }
        if any {
            self.note_drops();
        }
        any
    }

    /// Bytes of a flow's connection over the long hop that were let in and not sent yet.
    fn unsent(&self, number: u32) -> u64 {
        let flow = self.flows.get(number as usize);
        let long = flow.map_or_else(|| self.long_hop.of(number), |flow| flow.long);
        self.longs[long].as_ref().map_or(0, |end| end.connection.unsent())
    }

    /// A packet reaches the connection that stands in for the other host.
    fn reach_local(&mut self, now: Instant, packet: Waiting<P>) {
        let Waiting { connection: number, direction, ecn, segment, body } = packet;
        if !self.has_local(number, direction, &segment) {
            return self.base.refuse(0, number, direction, &segment);
        }
        if let Some(flow) = self.flow(number) {
            flow.local.connection.handle_segment(now, &segment, ecn, &body);
        }
        self.settle_local(now, number);
    }

    /// Finds or makes the connection that a host's packet is for; false if there can be none.
    fn has_local(&mut self, number: u32, direction: Direction, segment: &Segment) -> bool {
        let towards = direction.opposite();
        let long = self.flows.get(number as usize).map_or_else(|| self.long_hop.of(number), |flow| flow.long);
        let long_works = self.long_end(long).is_some();
        let gone = self.flow(number).is_none_or(|flow| flow.local.gives_way_to(segment));
        if hosts::opens(segment) && long_works && gone {
            let local = self.hosts.accept(number, towards, segment);
            let long = self.long_hop.of(number);
            let stream = self.next_stream;
            self.next_stream = (stream + 2) % REVERSE;
            self.put(number, Flow::new(local, stream, long, false));
            let hosts = self.ends(number, towards).encode();
            self.send_record(number, RecordKind::Open, &hosts);
        } else if self.flow(number).is_none() {
            let local = self.hosts.established(number, towards, hosts::ports_to_sender(segment));
            let Some(local) = local else { return false };
            self.put(
                number,
                Flow::new(local, record::established_stream(self.side, number, direction), long, true),
            );
        }
        self.flow(number).is_some_and(|flow| !flow.local.is_closed())
    }

    /// The hosts of a connection, by this node's connection to one of them.
    fn ends(&self, number: u32, towards: Direction) -> Ends {
        let ports =
            self.flows.get(number as usize).map_or(Ports::default(), |flow| flow.local.connection.ports());
        let [active, passive] = match towards {
            Direction::Forward => [ports.local, ports.remote],
            Direction::Reverse => [ports.remote, ports.local],
        };
        self.directory.ends(number, [active, passive])
    }

    /// A flow begins, in the place of one whose number it has.
    fn put(&mut self, number: u32, flow: Flow<P>) {
        if let Some(old) = self.flows.take(number as usize) {
            self.streams.remove(&old.stream);
            self.hosts.retire(&old.local);
        }
        self.streams.insert(flow.stream, number);
        self.flows.put(number as usize, flow);
    }

    /// Does what has become possible at a connection to a host.
    fn settle_local(&mut self, now: Instant, number: u32) {
        let Some(flow) = self.flow(number) else { return };
        if let Some(why) = flow.local.take_events() {
            self.notes.push_back(Note::Broken(number, why));
            self.send_record(number, RecordKind::Reset, &[]);
        }
        let Some(flow) = self.flow(number) else { return };
        let long = flow.long;
        if flow.has_turn() && !std::mem::replace(&mut flow.local.ready, true) {
            if let Some(end) = self.long_end(long) {
                end.ready.push_back(number);
            }
            self.touch(Owner::Long(long));
            if matches!(self.control, FlowControl::LocalQueue(_)) {
                // What was let in is the long hop's at once.
                self.fill(now, long);
            }
        } else if flow.is_newly_blocked() {
            // Credit had been used up to the last byte when these data came.
            self.send_record(number, RecordKind::Blocked, &[]);
        }
        self.grant(number);
        self.touch(Owner::Local(number));
        if self.long(long).is_some_and(|end| end.blocked) {
            self.take_records(now, long);
        }
    }

    /// Tells the other node how much it may send for a host.
    fn grant(&mut self, number: u32) {
        let buffer = match self.control {
            FlowControl::Window(None) | FlowControl::LocalQueue(_) => Some(self.long_hop.buffer),
            FlowControl::Window(Some(_)) => None,
        };
        let Some(flow) = self.flow(number).filter(|flow| !flow.local.broken) else { return };
        if let Some(limit) = flow.next_credit(buffer) {
            self.send_record(number, RecordKind::Credit, &limit.to_be_bytes());
        }
    }

    // The long hop.

    /// The end of a long connection, opened if it is needed for the first time; `None` if it has broken.
    fn long_end(&mut self, index: usize) -> Option<&mut LongEnd<P>> {
        if self.longs[index].is_none() {
            self.open_long(index, true);
        }
        self.long(index).filter(|end| !end.broken)
    }

    fn open_long(&mut self, index: usize, active: bool) {
        let isn = self.hosts.isn();
        let Side { config, congestion } = &self.long_hop.side;
        // Any ports will do, as long as each connection has its own.
        let port = |side: usize| 10_000 + 2 * (index as u16 % 20_000) + side as u16;
        let ports = Ports { local: port(self.side), remote: port(1 - self.side) };
        let connection = if self.long_hop.established {
            Connection::established(config.clone(), congestion(), ports)
        } else if active {
            Connection::connect(config.clone(), congestion(), isn, ports)
        } else {
            Connection::listen(config.clone(), congestion(), isn, ports)
        };
        self.longs[index] = Some(Box::new(LongEnd::new(connection, self.long_hop.framing)));
    }

    /// Tells the other node something of a flow that is no data.
    fn send_record(&mut self, number: u32, kind: RecordKind, content: &[u8]) {
        let Some(flow) = self.flow(number) else { return };
        let (stream, long) = (flow.stream, flow.long);
        self.announce(number);
        let Some(end) = self.long_end(long) else { return };
        end.write(stream, kind, content);
        self.touch(Owner::Long(long));
    }

    /// Notifies the other node of the hosts of a stream, unless that has been done.
    fn announce(&mut self, number: u32) {
        let Some(flow) = self.flow(number).filter(|flow| flow.unannounced) else { return };
        flow.unannounced = false;
        let (stream, long, towards) = (flow.stream, flow.long, flow.local.direction);
        let hosts = self.ends(number, towards).encode();
        if let Some(end) = self.long_end(long) {
            end.announce(stream, RecordKind::Open, &hosts);
        }
    }

    /// Moves data of the flows whose turn it is to a long connection, as much as it can soon send. True if there was any.
    fn fill(&mut self, now: Instant, long: usize) -> bool {
        let without_limit = matches!(self.control, FlowControl::LocalQueue(_));
        let framing = self.long_hop.framing;
        let mut any = false;
        loop {
            let Some(end) = self.long(long).filter(|end| !end.broken) else { return any };
            let segment = u64::from(end.connection.effective_mss());
            if !without_limit && end.connection.unsent() >= READY_SEGMENTS * segment {
                return any;
            }
            let Some(number) = end.ready.pop_front() else { return any };
            let Some(flow) = self.flow(number) else { continue };
            flow.local.ready = false;
            if flow.local.broken {
                continue;
            }
            // A record fills a segment with its header: what is left of it would go alone.
            let most = if without_limit { MOST_DATA } else { framing.most_data(segment) };
            let taken = flow.local.connection.read(now, most.min(MOST_DATA).min(flow.credit()));
            flow.note_sent(taken.len());
            let ends = flow.local.has_end_to_pass();
            flow.local.end_passed |= ends;
            let again = flow.has_turn();
            flow.local.ready = again;
            let (stream, is_blocked) = (flow.stream, flow.is_newly_blocked());
            self.announce(number);
            // Reading may have opened the window.
            self.touch(Owner::Local(number));
            let Some(end) = self.long(long) else { return any };
            if !taken.is_empty() {
                end.write_data(stream, taken);
            }
            if ends {
                end.write(stream, RecordKind::Close, &[]);
            }
            if is_blocked {
                end.write(stream, RecordKind::Blocked, &[]);
            }
            if again {
                end.ready.push_back(number);
            }
            self.touch(Owner::Long(long));
            any = true;
        }
    }

    /// Takes the records that have arrived.
    fn take_records(&mut self, now: Instant, long: usize) {
        loop {
            let Some(end) = self.long(long).filter(|end| !end.broken) else { return };
            let record = match end.next() {
                Ok(Some(record)) => record,
                Ok(None) => {
                    end.blocked = false;
                    return;
                }
                Err(Malformed) => {
                    end.broken = true;
                    return self.on_long_broken(long);
                }
            };
            let limit = match self.control {
                FlowControl::Window(limit) if record.kind == RecordKind::Data => limit,
                _ => None,
            };
            let number = self.streams.get(&record.stream).copied();
            let host = number.and_then(|number| self.flow(number)).filter(|flow| !flow.local.broken);
            let backlog = host.map_or(0, |flow| flow.local.backlog());
            let full = limit.is_some_and(|limit| backlog > 0 && backlog + u64::from(record.len) > limit);
            let Some(end) = self.long(long) else { return };
            end.blocked = full;
            if full {
                return;
            }
            let data = end.take(now);
            self.touch(Owner::Long(long));
            self.on_record(now, long, record, number, &data);
        }
    }

    fn on_record(&mut self, now: Instant, long: usize, record: Record, number: Option<u32>, data: &P::Data) {
        if record.kind == RecordKind::Open && number.is_none() {
            return self.on_open(now, long, record.stream, &data.to_bytes());
        }
        let Some(number) = number else { return };
        let Some(flow) = self.flow(number) else { return };
        if !flow.local.broken {
            match record.kind {
                RecordKind::Open => flow.unannounced = false,
                RecordKind::Hello => {}
                RecordKind::Blocked => flow.on_blocked(),
                RecordKind::Data => {
                    if !flow.give(data) {
                        return self.refuse_stream(number);
                    }
                }
                RecordKind::Close => flow.local.close(),
                RecordKind::Reset => flow.local.break_off(),
                RecordKind::Credit => {
                    if let Some(limit) = data.to_bytes().first_chunk() {
                        flow.set_limit(u64::from_be_bytes(*limit));
                    }
                }
            }
        }
        self.settle_local(now, number);
    }

    /// The first record of a stream: a connection to its host on this side.
    fn on_open(&mut self, now: Instant, long: usize, stream: u32, hosts: &[u8]) {
        let hosts = Ends::decode(hosts);
        let Some((number, hosts)) = hosts.and_then(|hosts| Some((self.directory.number(&hosts)?, hosts)))
        else {
            return self.reset_stream(long, stream);
        };
        let towards = record::towards_host(self.side, stream);
        if self.flow(number).is_some_and(|flow| !flow.local.is_over()) {
            return self.reset_stream(long, stream);
        }
        let ports = hosts.ports(towards);
        let local = if stream & ESTABLISHED == 0 {
            Some(self.hosts.connect(number, towards, ports))
        } else {
            self.hosts.established(number, towards, ports)
        };
        let Some(local) = local else { return self.reset_stream(long, stream) };
        self.put(number, Flow::new(local, stream, long, false));
        self.settle_local(now, number);
    }

    /// A stream is refused: the other node ends the connection of its host.
    fn reset_stream(&mut self, long: usize, stream: u32) {
        if let Some(end) = self.long_end(long) {
            end.write(stream, RecordKind::Reset, &[]);
            self.touch(Owner::Long(long));
        }
    }

    /// The other node sends what it may not: the flow ends.
    fn refuse_stream(&mut self, number: u32) {
        self.notes.push_back(Note::Broken(number, Broken::TimedOut));
        if let Some(flow) = self.flow(number) {
            flow.local.break_off();
        }
        self.send_record(number, RecordKind::Reset, &[]);
        self.touch(Owner::Local(number));
    }

    /// A long connection has broken: all its flows end before their time.
    fn on_long_broken(&mut self, long: usize) {
        if let Some(end) = self.long(long) {
            end.connection.abort();
            end.ready.clear();
        }
        for number in 0..self.flows.end() as u32 {
            let Some(flow) = self.flow(number).filter(|flow| flow.long == long && !flow.local.broken) else {
                continue;
            };
            flow.local.break_off();
            self.touch(Owner::Local(number));
            self.notes.push_back(Note::Broken(number, Broken::Hop));
            self.notes.push_back(Note::Changed(number));
        }
        self.touch(Owner::Long(long));
    }

    fn on_long_packet(&mut self, now: Instant, packet: Passing<'_, P>) {
        let index = (packet.connection - self.long_hop.first_number) as usize;
        if index >= self.longs.len() {
            return;
        }
        if self.longs[index].is_none() {
            self.open_long(index, false);
        }
        let Some(end) = self.long(index) else { return };
        if end.broken {
            // The other node has not been notified yet.
            let direction = Direction::BOTH[1 - self.side];
            return self.base.refuse(0, packet.connection, direction, packet.segment);
        }
        end.connection.handle_segment(now, packet.segment, *packet.ecn, packet.body);
        self.settle_long(now, index);
    }

    fn settle_long(&mut self, now: Instant, index: usize) {
        let broke = self.long(index).is_some_and(LongEnd::take_events);
        if broke {
            return self.on_long_broken(index);
        }
        self.take_records(now, index);
        self.touch(Owner::Long(index));
    }

    /// What is ready joins what would leave as less than a segment: a small record goes alone only if there is nothing else.
    fn top_up(&mut self, now: Instant, owner: Owner) {
        let Owner::Long(index) = owner else { return };
        let is_short = |end: &mut LongEnd<P>| {
            !end.ready.is_empty() && end.connection.unsent() < u64::from(end.connection.effective_mss())
        };
        if self.long(index).is_some_and(is_short) {
            self.fill(now, index);
        }
    }

    /// Where the packets of a connection go.
    fn way_of(&mut self, owner: Owner) -> (u32, Direction) {
        match owner {
            Owner::Long(index) => (self.long_hop.first_number + index as u32, Direction::BOTH[self.side]),
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
        for number in 0..self.flows.end() {
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
    fn account(&self, connection: u32) -> Option<Account> {
        self.flows.get(connection as usize).map(|flow| flow.local.account(flow.stream))
    }
    fn poll_note(&mut self) -> Option<Note> {
        self.notes.pop_front()
    }
    fn held_packets(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.occupancy().packets)
    }
}
