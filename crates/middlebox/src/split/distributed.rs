//! A split at two nodes with a long hop between them: split start and split end of "A split connection PEP in ns-2"
//! (Innsbruck, 2009). Either node serves the hosts on its side, so that flows may be opened, and data sent, both ways.
//!
//! Flows share connections over the long hop by records (see [`super::record`]); a flow keeps to one of them. Flow control is
//! either the paper's (a local queue that drops, see [`LocalQueueSettings`]) or that of TCP: data waits in the receive
//! buffers of the hosts' connections, which take turns on the long hop, segment by segment; their windows close as the
//! buffers fill, and nothing is dropped. At the far end a slow host holds back all that share its connection over the long
//! hop, if [`FlowControl::Window`] says so; else its data waits there without limit.
//!
//! Both nodes are one object here, as in the paper. Records cross the long hop in packets and take effect at the other node
//! when they arrive. Three things do not cross in packets: where each record ends (`RecordLine`), the direction and ports of
//! a newly opened connection, and the failure of a connection over the long hop.

use super::half::{Half, LongEnd, Owner};
use super::hosts::{self, Hosts, Undelivered};
use super::local::{Broken, Local};
use super::local_queue::{LocalQueue, LocalQueueSettings};
use super::record::{Framing, MOST_DATA, Record, RecordKind, RecordLine};
use super::{Plans, READY_SEGMENTS, Side};
use crate::base::counters;
use crate::levels::Levels;
use crate::waiting::Waiting;
use crate::{Base, Data, Departure, Direction, Middlebox, OwnConnection, Passing, Payload, Verdict};
use longhaul_path::Random;
use longhaul_segment::{Flags, Segment};
use longhaul_tcp::{Connection, Ports, Reading, Stats};
use longhaul_units::Instant;

/// What keeps hosts from sending more than the long hop takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FlowControl {
    /// The windows that the split offers to the hosts. With a limit, the far end takes nothing more from the long hop while
    /// a host has not acknowledged so many bytes.
    Window(Option<u64>),
    /// A queue before the split, which drops.
    LocalQueue(LocalQueueSettings),
}

/// The connections over the long hop.
#[derive(Clone)]
pub struct LongHop {
    /// Their settings at both ends.
    pub side: Side,
    /// They are there from the start; otherwise each is opened when it is first needed.
    pub established: bool,
    /// How many there are. A flow keeps to one of them.
    pub connections: u32,
    /// How records are told apart.
    pub framing: Framing,
    /// Number of the first of them as a connection.
    pub first_number: u32,
    /// Position of each flow among those that take turns on these connections, by its number.
    pub positions: Vec<u32>,
}

impl LongHop {
    fn of(&self, flow: u32) -> usize {
        let position = self.positions.get(flow as usize).copied().unwrap_or(flow);
        (position % self.connections.max(1)) as usize
    }
}

/// A split connection proxy at two nodes. Port 0 is the first, port 1 the second.
pub struct DistributedSplit<P: Payload = ()> {
    hosts: Hosts,
    long_hop: LongHop,
    control: FlowControl,
    halves: [Half<P>; 2],
    /// Records under way on each long connection, by the node that sends them.
    lines: Vec<[RecordLine; 2]>,
    undelivered: Undelivered,
    base: Base<P>,
    counts: Counts,
}

counters! {
    /// What the split counts itself.
    struct Counts {
        /// Data packets that a local queue dropped.
        local_queue_drops,
        /// What was sent over the long hop by connections that are gone.
        long_hop_packets,
        long_hop_retransmissions,
        long_hop_timeouts,
        lost_acknowledged_bytes,
    }
}

impl Counts {
    /// Adds what a connection over the long hop has sent.
    fn add(&mut self, long: &Stats) {
        self.long_hop_packets += long.data_segments_sent;
        self.long_hop_retransmissions += long.retransmitted_segments;
        self.long_hop_timeouts += long.timeouts;
    }
}

impl<P: Payload> DistributedSplit<P> {
    /// A split. Random streams follow from seed and name.
    pub fn new(plans: Plans, long_hop: LongHop, control: FlowControl, seed: u64, name: &str) -> Self {
        let longs = long_hop.connections as usize;
        let half = |side: usize| {
            let queue = match control {
                FlowControl::Window(_) => None,
                FlowControl::LocalQueue(settings) => {
                    Some(LocalQueue::new(settings, seed, &format!("{name} queue {side}")))
                }
            };
            Half::new(longs, queue)
        };
        let queues = matches!(control, FlowControl::LocalQueue(_));
        DistributedSplit {
            halves: [half(0), half(1)],
            hosts: Hosts::new(plans, Random::stream(seed, &format!("{name} isn"))),
            long_hop,
            control,
            lines: (0..longs).map(|_| Default::default()).collect(),
            undelivered: Undelivered::default(),
            base: Base::new(if queues { Levels::of_packets() } else { Levels::default() }),
            counts: Counts::default(),
        }
    }

    // Packets of the hosts.

    fn on_host_packet(&mut self, now: Instant, side: usize, packet: Waiting<P>) {
        let carries = packet.segment.payload_len > 0 || packet.segment.flags.contains(Flags::FIN);
        match &mut self.halves[side].queue {
            Some(queue) if carries => {
                queue.enqueue(now, packet);
                self.note_drops(side);
                if self.is_event_driven() {
                    self.let_in(now, side);
                }
                self.note_queues(now);
            }
            _ => self.reach_local(now, side, packet),
        }
    }

    fn is_event_driven(&self) -> bool {
        self.halves[0].queue.as_ref().is_some_and(LocalQueue::is_event_driven)
    }

    fn note_drops(&mut self, side: usize) {
        let Some(queue) = &mut self.halves[side].queue else { return };
        for (packet, _) in queue.packets.take_dropped() {
            self.counts.local_queue_drops += u64::from(packet.segment.payload_len > 0);
            self.base.events.push_back(packet.dropped());
        }
    }

    fn note_queues(&mut self, now: Instant) {
        let queues = self.halves.iter().filter_map(|half| half.queue.as_ref());
        let packets = queues.map(|queue| queue.occupancy().packets).sum();
        if let Some(gauge) = &mut self.base.levels.packets {
            gauge.set(now, packets);
        }
    }

    /// Lets packets of the local queue in, as long as there is credit. True if there was any.
    fn let_in(&mut self, now: Instant, side: usize) -> bool {
        let mss = u64::from(self.long_hop.side.config.mss);
        let mut any = false;
        loop {
            let half = &mut self.halves[side];
            let head = half.queue.as_ref().and_then(|queue| queue.packets.head());
            let Some(flow) = head.map(|packet| packet.connection) else { break };
            let unsent = half.unsent(self.long_hop.of(flow));
            let Some(packet) = half.queue.as_mut().and_then(|queue| queue.let_in(now, unsent, mss)) else {
                break;
            };
            self.reach_local(now, side, packet);
            any = true;
        }
        if any {
            self.note_drops(side);
            self.note_queues(now);
        }
        any
    }

    /// A packet reaches the connection that stands in for the other host.
    fn reach_local(&mut self, now: Instant, side: usize, packet: Waiting<P>) {
        let Waiting { connection: flow, direction, ecn, segment, body } = packet;
        if self.local_for(side, flow, direction, &segment).is_none_or(|local| local.is_closed()) {
            return self.base.refuse(side, flow, direction, &segment);
        }
        if let Some(local) = self.halves[side].local(flow) {
            local.connection.handle_segment(now, &segment, ecn, &body);
        }
        self.settle_local(now, side, flow);
    }

    fn local_for(
        &mut self,
        side: usize,
        flow: u32,
        direction: Direction,
        segment: &Segment,
    ) -> Option<&mut Local<P>> {
        let gone = |half: &mut Half<P>| half.local(flow).is_none_or(|local| local.gives_way_to(segment));
        let towards = direction.opposite();
        let long_works = self.long_end(side, flow).is_some();
        if hosts::opens(segment) && long_works && self.halves.iter_mut().all(gone) {
            self.retire(flow);
            let local = self.hosts.accept(flow, towards, segment);
            self.halves[side].locals.put(flow as usize, local);
            self.send_record(side, Record { flow, kind: RecordKind::Open, len: 0 });
        } else if self.halves[side].local(flow).is_none() {
            let local = self.hosts.established(flow, towards, hosts::ports_to_sender(segment))?;
            self.halves[side].locals.put(flow as usize, local);
        }
        self.halves[side].local(flow)
    }

    /// Forgets both connections of a flow, which are closed.
    fn retire(&mut self, flow: u32) {
        for half in &mut self.halves {
            if let Some(local) = half.locals.take(flow as usize) {
                self.hosts.retire(&local);
            }
        }
    }

    /// Does what has become possible at a connection to a host.
    fn settle_local(&mut self, now: Instant, side: usize, flow: u32) {
        let Some(local) = self.halves[side].local(flow) else { return };
        let broken = local.take_events();
        if let Some(why) = broken {
            self.on_broken(side, flow, why);
        }
        let Some(local) = self.halves[side].local(flow) else { return };
        let waits = local.connection.readable() > 0 || local.has_end_to_pass();
        if waits && !local.broken && !std::mem::replace(&mut local.ready, true) {
            let long = self.long_hop.of(flow);
            if let Some(end) = self.long_end(side, flow) {
                end.ready.push_back(flow);
            }
            self.halves[side].touch(Owner::Long(long));
            if matches!(self.control, FlowControl::LocalQueue(_)) {
                // What was let in is the long hop's at once.
                self.fill(now, side, long);
            }
        }
        self.halves[side].touch(Owner::Local(flow));
        let long = self.long_hop.of(flow);
        if self.halves[side].long(long).is_some_and(|end| end.blocked) {
            self.take_records(now, side, long);
        }
    }

    /// A host has ended its connection before its time; the other host's ends too.
    fn on_broken(&mut self, side: usize, flow: u32, why: Broken) {
        let [broken, other] = [side, 1 - side].map(|side| self.halves[side].locals.get(flow as usize));
        self.counts.lost_acknowledged_bytes += hosts::lost(why, broken, other);
        self.send_record(side, Record { flow, kind: RecordKind::Reset, len: 0 });
    }

    /// Bytes of a flow that were acknowledged to one host and not by the other.
    fn undelivered_of(&self, flow: u32) -> u64 {
        let [one, other] = &self.halves;
        hosts::undelivered(one.locals.get(flow as usize), other.locals.get(flow as usize))
    }
    fn account(&mut self, now: Instant, flow: u32) {
        let bytes = self.undelivered_of(flow);
        self.undelivered.set(now, &mut self.base.levels, flow, bytes);
    }
    /// All numbers of flows are below.
    fn flows_end(&self) -> u32 {
        self.halves.iter().map(|half| half.locals.end()).max().unwrap_or(0) as u32
    }

    // The long hop.

    /// The end of a flow's long connection at a node, opened if it is needed for the first time; `None` if it has broken.
    fn long_end(&mut self, side: usize, flow: u32) -> Option<&mut LongEnd<P>> {
        let index = self.long_hop.of(flow);
        if self.halves[side].longs[index].is_none() {
            self.open_long(side, index, true);
        }
        self.halves[side].long(index).filter(|end| !end.broken)
    }

    fn open_long(&mut self, side: usize, index: usize, active: bool) {
        let isn = self.hosts.isn();
        let Side { config, congestion } = &self.long_hop.side;
        // Any ports will do, as long as each connection has its own.
        let port = |side: usize| 10_000 + 2 * (index as u16 % 20_000) + side as u16;
        let ports = Ports { local: port(side), remote: port(1 - side) };
        let connection = if self.long_hop.established {
            Connection::established(config.clone(), congestion(), ports)
        } else if active {
            Connection::connect(config.clone(), congestion(), isn, ports)
        } else {
            Connection::listen(config.clone(), congestion(), isn, ports)
        };
        self.halves[side].longs[index] = Some(Box::new(LongEnd::new(connection)));
    }

    fn send_record(&mut self, side: usize, record: Record) {
        let long = self.long_hop.of(record.flow);
        let framing = self.long_hop.framing;
        if self.long_end(side, record.flow).is_none() {
            return;
        }
        self.lines[long][side].push(record, framing);
        if let Some(end) = self.halves[side].long(long) {
            end.connection.write(&framing.header(&record));
        }
        self.halves[side].touch(Owner::Long(long));
    }

    /// Moves data of the flows whose turn it is to a long connection, as much as it can soon send. True if there was any.
    fn fill(&mut self, now: Instant, side: usize, long: usize) -> bool {
        let framing = self.long_hop.framing;
        let without_limit = matches!(self.control, FlowControl::LocalQueue(_));
        let mut any = false;
        loop {
            let half = &mut self.halves[side];
            let Some(end) = half.longs[long].as_deref_mut().filter(|end| !end.broken) else { return any };
            let segment = u64::from(end.connection.effective_mss());
            if !without_limit && end.connection.unsent() >= READY_SEGMENTS * segment {
                return any;
            }
            let Some(flow) = end.ready.pop_front() else { return any };
            let Some(local) = half.local(flow) else { continue };
            local.ready = false;
            if local.broken {
                continue;
            }
            // A record fills a segment with its header: what is left of it would go alone.
            let most = if without_limit { MOST_DATA } else { framing.most_data(segment) };
            let taken = local.connection.read(now, most.min(MOST_DATA));
            let ends = local.has_end_to_pass();
            local.end_passed |= ends;
            let again = local.connection.readable() > 0;
            local.ready = again;
            let mut records = vec![];
            if !taken.is_empty() {
                records.push((Record { flow, kind: RecordKind::Data, len: taken.len() }, taken));
            }
            if ends {
                let nothing = P::Data::of(0, &[]);
                records.push((Record { flow, kind: RecordKind::Close, len: 0 }, nothing));
            }
            // Reading may have opened the window.
            half.touch(Owner::Local(flow));
            let Some(end) = half.long(long) else { return any };
            for (record, data) in records {
                self.lines[long][side].push(record, framing);
                let header: P::Data = framing.header(&record);
                if !header.is_empty() {
                    end.connection.write(&header);
                }
                if !data.is_empty() {
                    end.connection.write(&data);
                }
            }
            if again {
                end.ready.push_back(flow);
            }
            half.touch(Owner::Long(long));
            any = true;
        }
    }

    /// Takes the records that have arrived at a node.
    fn take_records(&mut self, now: Instant, side: usize, long: usize) {
        loop {
            let Some(end) = self.halves[side].long(long) else { return };
            let received = end.connection.received_bytes();
            let Some(record) = self.lines[long][1 - side].next(received) else {
                end.blocked = false;
                return;
            };
            let limit = match self.control {
                FlowControl::Window(limit) if record.kind == RecordKind::Data => limit,
                _ => None,
            };
            let host = self.halves[side].local(record.flow).filter(|local| !local.broken);
            let backlog = host.map_or(0, |local| local.backlog());
            let full = limit.is_some_and(|limit| backlog > 0 && backlog + u64::from(record.len) > limit);
            let Some(end) = self.halves[side].long(long) else { return };
            end.blocked = full;
            if full {
                return;
            }
            let framing = self.long_hop.framing;
            let len = framing.wire_len(&record);
            let written = match end.connection.config().reading {
                Reading::Manual => end.connection.read(now, len),
                Reading::Immediate | Reading::Rate(_) => end.connection.take(len),
            };
            self.lines[long][1 - side].pop();
            self.halves[side].touch(Owner::Long(long));
            self.on_record(now, side, record, &framing.decode(&record, written));
        }
    }

    fn on_record(&mut self, now: Instant, side: usize, record: Record, data: &P::Data) {
        let flow = record.flow;
        if self.halves[side].local(flow).is_none() {
            self.answer_first_record(side, record);
        }
        let Some(local) = self.halves[side].local(flow) else { return };
        match record.kind {
            RecordKind::Open => {}
            RecordKind::Data if local.broken => {}
            RecordKind::Data => local.connection.write(data),
            RecordKind::Close => local.close(),
            RecordKind::Reset => {
                if !local.broken {
                    local.break_off();
                }
            }
        }
        self.settle_local(now, side, flow);
    }

    /// The first record of a flow: a connection to its host on this side.
    fn answer_first_record(&mut self, side: usize, record: Record) {
        let flow = record.flow;
        // Ports are part of what the open record would carry on real packets; there, addresses too.
        let Some(other) = self.halves[1 - side].local(flow) else { return };
        let (towards, ports) = (other.direction.opposite(), other.connection.ports().swapped());
        let local = if record.kind == RecordKind::Open {
            Some(self.hosts.connect(flow, towards, ports))
        } else {
            self.hosts.established(flow, towards, ports)
        };
        if let Some(local) = local {
            self.halves[side].locals.put(flow as usize, local);
        }
    }

    /// A long connection has broken: all its flows end before their time.
    fn on_long_broken(&mut self, now: Instant, long: usize) {
        for half in &mut self.halves {
            if let Some(end) = half.long(long) {
                end.broken = true;
                end.connection.abort();
                end.ready.clear();
            }
        }
        self.lines[long] = Default::default();
        for flow in 0..self.flows_end() {
            if self.long_hop.of(flow) != long {
                continue;
            }
            self.counts.lost_acknowledged_bytes += self.undelivered_of(flow);
            for side in [0, 1] {
                if let Some(local) = self.halves[side].local(flow).filter(|local| !local.broken) {
                    local.break_off();
                    self.halves[side].touch(Owner::Local(flow));
                }
            }
            self.account(now, flow);
        }
    }

    fn on_long_packet(&mut self, now: Instant, side: usize, packet: Passing<'_, P>) {
        let index = (packet.connection - self.long_hop.first_number) as usize;
        if self.halves[side].longs[index].is_none() {
            self.open_long(side, index, false);
        }
        let Some(end) = self.halves[side].long(index) else { return };
        end.connection.handle_segment(now, packet.segment, *packet.ecn, packet.body);
        self.settle_long(now, side, index);
    }

    fn settle_long(&mut self, now: Instant, side: usize, index: usize) {
        let broke = self.halves[side].long(index).is_some_and(LongEnd::take_events);
        if broke {
            return self.on_long_broken(now, index);
        }
        self.take_records(now, side, index);
        self.halves[side].touch(Owner::Long(index));
    }

    /// What is ready joins what would leave as less than a segment: a small record goes alone only if there is nothing else.
    fn top_up(&mut self, now: Instant, side: usize, owner: Owner) {
        let Owner::Long(index) = owner else { return };
        let is_short = |end: &mut LongEnd<P>| {
            !end.ready.is_empty() && end.connection.unsent() < u64::from(end.connection.effective_mss())
        };
        if self.halves[side].long(index).is_some_and(is_short) {
            self.fill(now, side, index);
        }
    }

    /// The next packet of a node.
    fn transmit_from(&mut self, now: Instant, side: usize, segment: &mut Segment) -> Option<Departure<P>> {
        while let Some(&owner) = self.halves[side].dirty.front() {
            loop {
                self.top_up(now, side, owner);
                let departure = self.halves[side]
                    .connection(owner)
                    .and_then(|connection| connection.transmit_into(now, segment));
                if let Some((ecn, body)) = departure {
                    let (connection, direction) = match owner {
                        Owner::Long(index) => {
                            (self.long_hop.first_number + index as u32, Direction::BOTH[side])
                        }
                        Owner::Local(flow) => {
                            (flow, self.halves[side].local(flow).map_or(Direction::Forward, |l| l.direction))
                        }
                    };
                    return Some(Departure { port: side, connection, direction, ecn, body });
                }
                if !self.go_on(now, side, owner) {
                    break;
                }
            }
            self.leave(now, side, owner);
            self.halves[side].dirty.pop_front();
        }
        None
    }

    /// A connection has no more to send for now. True if that was changed.
    fn go_on(&mut self, now: Instant, side: usize, owner: Owner) -> bool {
        match owner {
            Owner::Long(index) => {
                let filled = self.fill(now, side, index);
                let let_in = self.is_event_driven() && self.let_in(now, side);
                filled || let_in
            }
            Owner::Local(_) => false,
        }
    }

    /// A connection has had its turn.
    fn leave(&mut self, now: Instant, side: usize, owner: Owner) {
        let half = &mut self.halves[side];
        let due = half.connection(owner).and_then(|connection| connection.poll_timeout());
        let timer = half.timer_of(owner);
        half.timers.set(timer, due);
        match owner {
            Owner::Long(index) => {
                if let Some(end) = half.long(index) {
                    end.dirty = false;
                }
            }
            Owner::Local(flow) => {
                if let Some(local) = half.local(flow) {
                    local.dirty = false;
                }
                self.account(now, flow);
            }
        }
    }
}

impl<P: Payload> Middlebox<P> for DistributedSplit<P> {
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, P>) -> Verdict {
        let is_long = packet.connection >= self.long_hop.first_number;
        if self.base.failed {
            if !is_long {
                self.base.refuse(port, packet.connection, packet.direction, packet.segment);
            }
        } else if is_long {
            self.on_long_packet(now, port, packet);
        } else {
            self.on_host_packet(now, port, Waiting::of(&packet));
        }
        Verdict::Taken
    }

    fn handle_timeout(&mut self, now: Instant) {
        for side in [0, 1] {
            while let Some(timer) = self.halves[side].timers.expired(now) {
                let owner = self.halves[side].owner_of(timer);
                let Some(connection) = self.halves[side].connection(owner) else { continue };
                match connection.poll_timeout() {
                    Some(due) if due <= now => connection.handle_timeout(now),
                    due => {
                        self.halves[side].timers.set(timer, due);
                        continue;
                    }
                }
                match owner {
                    Owner::Long(index) => self.settle_long(now, side, index),
                    Owner::Local(flow) => self.settle_local(now, side, flow),
                }
            }
            if self.halves[side].queue.as_mut().is_some_and(|queue| queue.is_checked(now)) {
                self.let_in(now, side);
                if let Some(queue) = &mut self.halves[side].queue {
                    queue.set_timer(now);
                }
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let of_half = |half: &Half<P>| {
            let check = half.queue.as_ref().and_then(LocalQueue::next_check);
            [half.timers.next(), check].into_iter().flatten().min()
        };
        self.halves.iter().filter_map(of_half).min()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        // What one node does can give the other nothing to do but over the long hop, except where all breaks.
        (0..2).find_map(|side| self.transmit_from(now, side, segment))
    }

    fn lose_all(&mut self, now: Instant) {
        self.counts.lost_acknowledged_bytes += self.undelivered.lose_all(now, &mut self.base.levels);
        (0..self.flows_end()).for_each(|flow| self.retire(flow));
        for half in &mut self.halves {
            for end in half.longs.iter().flatten() {
                self.counts.add(end.connection.stats());
            }
            *half = Half::new(half.longs.len(), None);
        }
        self.note_queues(now);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut sent = self.counts;
        for end in self.halves.iter().flat_map(|half| half.longs.iter().flatten()) {
            sent.add(end.connection.stats());
        }
        let locals = self.halves.iter().flat_map(|half| half.locals.iter());
        [self.hosts.counters(locals), sent.list()].concat()
    }
    fn base(&self) -> &Base<P> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.base
    }
    fn own_connections(&self) -> Vec<OwnConnection<'_>> {
        let mut all = vec![];
        for (port, half) in self.halves.iter().enumerate() {
            let ends = half.longs.iter().enumerate().filter_map(|(index, end)| Some((index, end.as_ref()?)));
            all.extend(ends.map(|(index, end)| OwnConnection { index, port, connection: &end.connection }));
        }
        all
    }
}
