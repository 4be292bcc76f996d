//! The two nodes of the paced protocol with the connections to their hosts: surrogate sender at the hub (port 0), pseudo proxy at the
//! client's side (port 1). Both nodes are one object here; what one of them knows of the other comes to it in datagrams and messages.

use super::datagram::{Datagram, Item, Key, expand};
use super::message::{Inbox, Message};
use super::receiver::{self, Delivery, Receiver};
use super::sender::{self, Sender};
use crate::base::Table;
use crate::levels::Levels;
use crate::split::hosts::{self, Hosts, Undelivered};
use crate::split::local::{Broken, Local};
use crate::split::{Plans, Side};
use crate::{
    Base, Carrier, Data, Departure, Direction, Middlebox, OwnConnection, Passing, Payload, QueueState,
    Verdict,
};
use longhaul_path::Random;
use longhaul_segment::{Ecn, Flags, IPV4_HEADER, Segment, SeqNumber, TCP_HEADER};
use longhaul_tcp::{Connection, Ports};
use longhaul_units::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// The connection over the thin link.
#[derive(Clone)]
pub struct Control {
    /// Its settings at both ends.
    pub side: Side,
    /// It is there from the start.
    pub established: bool,
}

/// Everything that can be set.
#[derive(Clone)]
pub struct Settings {
    /// The surrogate.
    pub sender: sender::Settings,
    /// The pseudo proxy.
    pub receiver: receiver::Settings,
    /// The connection between them.
    pub control: Control,
    /// The hub ends a session whose pseudo proxy has been silent for so long; a third of it in silence, and the proxy says that it is
    /// alive. `None`: never.
    pub silence: Option<Duration>,
    /// Number of the datagrams' tunnel among the connections; the control connection has the next one.
    pub first_number: u32,
}

const HUB: usize = 0;
const CLIENT: usize = 1;
/// Datagrams that may be under way.
const MOST_UNDER_WAY: usize = 1 << 17;
/// Streams of connections that are established from the start: this, and the number of the connection.
const ESTABLISHED: u32 = 1 << 31;
/// The stream that a new session begins with, to be heard of: it is none.
const NO_STREAM: u32 = u32::MAX;
/// Bytes of a data message before the data.
const DATA_HEADER: u32 = 7;

/// A connection to a host, and its stream.
struct End<P: Payload> {
    local: Local<P>,
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

/// A node.
struct Half<P: Payload> {
    ends: Table<End<P>>,
    /// The connection of each stream.
    streams: BTreeMap<u32, u32>,
    /// Connections with data for the other node, in turn.
    ready: VecDeque<u32>,
    /// Connections that are to be asked for packets.
    dirty: VecDeque<u32>,
    next_stream: u32,
    control: Carrier<P>,
}

impl<P: Payload> Half<P> {
    fn new(side: usize, control: Connection) -> Self {
        Half {
            ends: Table::default(),
            streams: BTreeMap::new(),
            ready: VecDeque::new(),
            dirty: VecDeque::new(),
            next_stream: side as u32,
            control: Carrier::new(control),
        }
    }
    fn end(&mut self, connection: u32) -> Option<&mut End<P>> {
        self.ends.get_mut(connection as usize)
    }
    fn local(&self, connection: u32) -> Option<&Local<P>> {
        self.ends.get(connection as usize).map(|end| &end.local)
    }
    fn of_stream(&mut self, stream: u32) -> Option<&mut End<P>> {
        let connection = *self.streams.get(&stream)?;
        self.end(connection).filter(|end| end.stream == stream)
    }
    fn put(&mut self, connection: u32, end: End<P>) {
        self.streams.insert(end.stream, connection);
        self.ends.put(connection as usize, end);
    }
    fn take(&mut self, connection: u32) -> Option<Box<End<P>>> {
        let end = self.ends.take(connection as usize)?;
        self.streams.remove(&end.stream);
        Some(end)
    }
    fn touch(&mut self, connection: u32) {
        if self.end(connection).is_some_and(|end| !std::mem::replace(&mut end.local.dirty, true)) {
            self.dirty.push_back(connection);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    lost_acknowledged_bytes: u64,
    control_bytes: u64,
    tossed_messages: u64,
    sessions_ended: u64,
}

/// A paced hop between two nodes.
pub struct PacedHop<P: Payload = ()> {
    settings: Settings,
    hosts: Hosts,
    halves: [Half<P>; 2],
    sender: Sender<P::Data>,
    receiver: Receiver<P::Data>,
    /// Datagrams of the last serials, where only their lengths travel.
    under_way: VecDeque<Datagram<P::Data>>,
    /// Of the session's datagrams, where they travel.
    key: [u8; 16],
    /// Bytes on the control connection that were not read yet, where only their number travels.
    line: VecDeque<u8>,
    line_read: u64,
    inbox: Inbox,
    /// The session that the pseudo proxy's messages belong to.
    heard_session: u16,
    last_heard: Instant,
    last_said: Instant,
    undelivered: Undelivered,
    base: Base<P>,
    counts: Counts,
    begun: bool,
}

impl<P: Payload> PacedHop<P> {
    /// A hop. `random` is for initial sequence numbers.
    pub fn new(plans: Plans, settings: Settings, random: Random) -> Self {
        let mut hosts = Hosts::new(plans, random);
        let ports = |side: usize| Ports { local: 9 + side as u16, remote: 10 - side as u16 };
        let mut control = |side: usize| {
            let Side { config, congestion } = &settings.control.side;
            let isn = hosts.isn();
            if settings.control.established {
                Connection::established(config.clone(), congestion(), ports(side))
            } else if side == CLIENT {
                Connection::connect(config.clone(), congestion(), isn, ports(side))
            } else {
                Connection::listen(config.clone(), congestion(), isn, ports(side))
            }
        };
        let halves = [HUB, CLIENT].map(|side| Half::new(side, control(side)));
        let key = if P::Data::IS_REAL { [hosts.bits(), hosts.bits()] } else { [0; 2] };
        PacedHop {
            halves,
            key: (u128::from(key[0]) << 64 | u128::from(key[1])).to_be_bytes(),
            hosts,
            sender: Sender::new(settings.sender, 0),
            receiver: Receiver::new(settings.receiver, 0),
            settings,
            under_way: VecDeque::new(),
            line: VecDeque::new(),
            line_read: 0,
            inbox: Inbox::default(),
            heard_session: 0,
            last_heard: Instant::ZERO,
            last_said: Instant::ZERO,
            undelivered: Undelivered::default(),
            base: Base::new(Levels::of_packets()),
            counts: Counts::default(),
            begun: false,
        }
    }

    // Hosts.

    fn on_host_packet(&mut self, now: Instant, side: usize, packet: Passing<'_, P>) {
        let Passing { connection, direction, ecn, segment, body } = packet;
        if !self.has_end(side, connection, direction, segment) {
            return self.base.refuse(side, connection, direction, segment);
        }
        if let Some(end) = self.halves[side].end(connection) {
            end.local.connection.handle_segment(now, segment, *ecn, body);
        }
        self.settle(now, side, connection);
    }

    /// Finds or makes the end that a host's packet is for; false if there can be none.
    fn has_end(&mut self, side: usize, number: u32, direction: Direction, segment: &Segment) -> bool {
        let gone = |half: &Half<P>| half.local(number).is_none_or(|local| local.gives_way_to(segment));
        let towards = direction.opposite();
        if hosts::opens(segment) && self.halves.iter().all(gone) {
            self.retire(number);
            let local = self.hosts.accept(number, towards, segment);
            self.open(side, number, local, false);
        } else if self.halves[side].end(number).is_none() {
            match self.hosts.established(number, towards, hosts::ports_to_sender(segment)) {
                Some(local) => self.open(side, number, local, true),
                None => return false,
            }
        }
        self.halves[side].end(number).is_some_and(|end| !end.local.is_closed())
    }

    /// A host has opened a connection: tells the other node.
    fn open(&mut self, side: usize, number: u32, local: Local<P>, established: bool) {
        let key = key_of(number, local.direction, local.connection.ports(), established);
        let next = self.halves[side].next_stream;
        // Where there is no handshake both nodes may see the connection first, and mean the same stream.
        let stream = if established { ESTABLISHED | number } else { next };
        self.halves[side].next_stream = (next + 2) % ESTABLISHED;
        let end = self.new_end(local, stream);
        self.halves[side].put(number, end);
        if side == CLIENT {
            self.receiver.begin(stream);
        }
        self.tell(side, Item::Open { stream, key });
    }
    fn new_end(&self, local: Local<P>, stream: u32) -> End<P> {
        let limit = 1 + self.settings.receiver.buffer;
        // Data begin at position 1, as in TCP.
        End { local, stream, sent: 1, limit, given: 1, granted: limit, parked: false }
    }

    /// Forgets both ends of a connection, which are closed.
    fn retire(&mut self, number: u32) {
        for half in &mut self.halves {
            if let Some(end) = half.take(number) {
                self.receiver.forget(end.stream);
                self.hosts.retire(&end.local);
            }
        }
    }

    /// Does what has become possible at an end.
    fn settle(&mut self, now: Instant, side: usize, number: u32) {
        let Some(end) = self.halves[side].end(number) else { return };
        if let Some(why) = end.local.take_events() {
            let stream = end.stream;
            self.on_broken(side, number, why);
            self.tell(side, Item::Reset { stream });
        }
        let Some(end) = self.halves[side].end(number) else { return };
        let waits = end.local.connection.readable() > 0 || end.local.has_end_to_pass();
        if waits && !end.local.broken && !end.parked && !std::mem::replace(&mut end.local.ready, true) {
            self.halves[side].ready.push_back(number);
        }
        self.grant(now, side, number);
        self.halves[side].touch(number);
    }

    /// Allows the other node to send more of a stream, once its host has taken half of what was allowed.
    fn grant(&mut self, now: Instant, side: usize, number: u32) {
        let buffer = self.settings.receiver.buffer;
        let Some(end) = self.halves[side].end(number).filter(|end| !end.local.broken) else { return };
        let limit = 1 + end.local.connection.acked_bytes() + buffer;
        if limit < end.granted + buffer.div_ceil(2) {
            return;
        }
        end.granted = limit;
        let stream = end.stream;
        if side == CLIENT {
            self.receiver.grant(stream, limit);
            self.receiver.report_soon(now);
        }
        self.tell(side, Item::Credit { stream, limit });
    }

    /// A host has ended its connection before its time; the other host's ends too.
    fn on_broken(&mut self, side: usize, number: u32, why: Broken) {
        let [broken, other] = [side, 1 - side].map(|side| self.halves[side].local(number));
        self.counts.lost_acknowledged_bytes += hosts::lost(why, broken, other);
    }

    fn account(&mut self, now: Instant, number: u32) {
        let bytes = hosts::undelivered(self.halves[HUB].local(number), self.halves[CLIENT].local(number));
        self.undelivered.set(now, &mut self.base.levels, number, bytes);
    }

    // Between the nodes.

    /// Tells the other node something that is no data: over the satellite, or over the thin link.
    fn tell(&mut self, side: usize, item: Item<P::Data>) {
        if side == HUB {
            return self.sender.push(item);
        }
        match item {
            Item::Open { stream, key } => self.say(&Message::Open { stream, key }),
            Item::Close { stream, .. } => self.say(&Message::Close { stream }),
            Item::Reset { stream } => self.say(&Message::Reset { stream }),
            Item::Credit { stream, limit } => self.say(&Message::Credit { stream, limit }),
            Item::Data { stream, data, .. } => {
                self.say(&Message::Data { stream, bytes: data.to_bytes() });
            }
        }
    }

    /// A message goes out on the control connection.
    fn say(&mut self, message: &Message) {
        let mut bytes = vec![];
        message.encode(&mut bytes);
        self.counts.control_bytes += bytes.len() as u64;
        self.halves[CLIENT].control.write(&P::Data::of(bytes.len() as u32, &bytes));
        if !P::Data::IS_REAL {
            self.line.extend(bytes);
        }
    }

    /// The next piece of the next connection that has data for the other node. False if there is none.
    fn send_next(&mut self, now: Instant, side: usize, most: u32) -> bool {
        let half = &mut self.halves[side];
        let Some(number) = half.ready.pop_front() else { return false };
        let Some(end) = half.end(number) else { return true };
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
            half.ready.push_back(number);
        }
        // Reading may have opened the window.
        half.touch(number);
        if !taken.is_empty() {
            self.tell(side, Item::Data { stream, position, data: taken });
        }
        if ends {
            self.tell(side, Item::Close { stream, position: end_position });
        }
        true
    }

    fn on_open(&mut self, now: Instant, side: usize, stream: u32, key: &Key) {
        let (number, towards, ports, established) = read_key(key);
        // Its last connection is over, or the other node would not have opened a new one.
        if self.halves[side].end(number).is_some() {
            return;
        }
        let local = if established {
            self.hosts.established(number, towards, ports)
        } else {
            Some(self.hosts.connect(number, towards, ports))
        };
        if let Some(local) = local {
            let end = self.new_end(local, stream);
            self.halves[side].put(number, end);
            self.settle(now, side, number);
        }
    }
    /// Something has come for a stream. False if it has no such end.
    fn with_end(&mut self, now: Instant, side: usize, stream: u32, deed: impl FnOnce(&mut End<P>)) -> bool {
        let Some(end) = self.halves[side].of_stream(stream) else { return false };
        if !end.local.broken {
            deed(end);
        }
        let number = self.halves[side].streams[&stream];
        self.settle(now, side, number);
        true
    }
    fn on_data(&mut self, now: Instant, side: usize, stream: u32, data: &P::Data) -> bool {
        let bytes = u64::from(data.len());
        let allowed = self.halves[side].of_stream(stream).is_none_or(|end| end.given + bytes <= end.granted);
        allowed
            && self.with_end(now, side, stream, |end| {
                end.given += bytes;
                end.local.connection.write(data);
            })
    }
    fn on_close(&mut self, now: Instant, side: usize, stream: u32) -> bool {
        self.with_end(now, side, stream, |end| end.local.close())
    }
    fn on_reset(&mut self, now: Instant, side: usize, stream: u32) -> bool {
        self.with_end(now, side, stream, |end| end.local.break_off())
    }
    fn on_credit(&mut self, now: Instant, side: usize, stream: u32, limit: u64) -> bool {
        self.with_end(now, side, stream, |end| {
            let limit = expand(limit, end.limit).unwrap_or(0);
            end.limit = end.limit.max(limit);
            end.parked &= end.sent == end.limit;
        })
    }

    /// A datagram has crossed the satellite.
    fn on_datagram(&mut self, now: Instant, serial: SeqNumber, body: &P) {
        if let Some(bytes) = body.bytes() {
            self.receiver.handle_bytes(now, &self.key, bytes);
        } else {
            let first = self.under_way.front().map_or(0, |datagram| datagram.serial as u32);
            let Some(datagram) = self.under_way.get(serial.0.wrapping_sub(first) as usize) else { return };
            self.receiver.handle(now, datagram.clone());
        }
        while let Some(delivery) = self.receiver.poll_delivery() {
            match delivery {
                Delivery::Open { stream, key } => self.on_open(now, CLIENT, stream, &key),
                Delivery::Data { stream, data } => {
                    self.on_data(now, CLIENT, stream, &data);
                }
                Delivery::Close { stream } => {
                    self.on_close(now, CLIENT, stream);
                }
                Delivery::Reset { stream } => {
                    self.on_reset(now, CLIENT, stream);
                }
                Delivery::Credit { stream, limit } => {
                    self.on_credit(now, CLIENT, stream, limit);
                }
                Delivery::NewSession(session) => {
                    self.break_all(CLIENT);
                    self.say(&Message::Session(session));
                }
            }
        }
    }

    fn on_control_packet(&mut self, now: Instant, side: usize, packet: &Passing<'_, P>) {
        let control = &mut self.halves[side].control;
        control.handle_segment(now, packet.segment, *packet.ecn, packet.body);
        while control.poll_event().is_some() {}
        if side == HUB {
            let held_up = control.out_of_order_bytes() > 0;
            self.sender.hold_up(held_up);
            self.read_line(now);
        }
    }

    /// Reads the messages that have come.
    fn read_line(&mut self, now: Instant) {
        let received = self.halves[HUB].control.received_bytes();
        let fresh = (received - self.line_read) as usize;
        if fresh == 0 {
            return;
        }
        self.line_read = received;
        self.last_heard = now;
        let came = self.halves[HUB].control.take(fresh as u64);
        match P::Data::IS_REAL {
            true => self.inbox.push(came.bytes()),
            false => self.inbox.push(&self.line.drain(..fresh).collect::<Vec<u8>>()),
        }
        // What was encoded here decodes.
        while let Ok(Some(message)) = self.inbox.next_message() {
            if !self.on_message(now, message) {
                self.counts.tossed_messages += 1;
            }
        }
    }

    /// False if the message makes no sense.
    fn on_message(&mut self, now: Instant, message: Message) -> bool {
        if let Message::Session(session) = message {
            self.heard_session = session;
            return true;
        }
        if self.heard_session != self.sender.session() {
            // Of a session that is over.
            return true;
        }
        match message {
            Message::Report(report) => self.sender.on_report(now, &report),
            Message::Credit { stream, limit } => self.on_credit(now, HUB, stream, limit),
            Message::Open { stream, key } => {
                self.on_open(now, HUB, stream, &key);
                true
            }
            Message::Data { stream, bytes } => {
                self.on_data(now, HUB, stream, &P::Data::of(bytes.len() as u32, &bytes))
            }
            Message::Close { stream } => self.on_close(now, HUB, stream),
            Message::Reset { stream } => self.on_reset(now, HUB, stream),
            Message::Alive | Message::Session(_) => true,
        }
    }

    // Sessions.

    fn break_all(&mut self, side: usize) {
        for number in 0..self.halves[side].ends.end() as u32 {
            if let Some(end) = self.halves[side].end(number).filter(|end| !end.local.broken) {
                end.local.break_off();
                self.halves[side].touch(number);
            }
        }
        self.halves[side].ready.clear();
    }

    /// The pseudo proxy is silent: all connections end, and a new session begins.
    fn end_session(&mut self, now: Instant) {
        self.last_heard = now;
        self.counts.lost_acknowledged_bytes += self.undelivered.total();
        self.break_all(HUB);
        for number in 0..self.undelivered.end() {
            self.account(now, number);
        }
        self.counts.sessions_ended += 1;
        self.sender.restart();
        self.sender.push(Item::Reset { stream: NO_STREAM });
    }
    fn silent_at(&self) -> Option<Instant> {
        let waits =
            self.sender.unconfirmed() > 0 || self.halves[HUB].ends.iter().any(|end| !end.local.is_over());
        self.settings.silence.filter(|_| waits).map(|silence| self.last_heard + silence)
    }
    fn alive_at(&self) -> Option<Instant> {
        self.settings.silence.map(|silence| self.last_said + silence / 3)
    }

    // What leaves.

    fn transmit_datagram(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        loop {
            if let Some(datagram) = self.sender.poll_transmit(now) {
                let len = datagram.wire_len();
                *segment = Segment {
                    seq: SeqNumber(datagram.serial as u32),
                    flags: Flags::NONE,
                    payload_len: len - IPV4_HEADER - TCP_HEADER,
                    ..Segment::default()
                };
                let body = P::of(|| {
                    let mut bytes = vec![];
                    datagram.encode(&self.key, &mut bytes);
                    bytes
                });
                if !P::Data::IS_REAL {
                    if self.under_way.len() == MOST_UNDER_WAY {
                        self.under_way.pop_front();
                    }
                    self.under_way.push_back(datagram);
                }
                self.note_kept(now);
                let connection = self.settings.first_number;
                return Some(Departure {
                    port: HUB,
                    connection,
                    direction: Direction::Forward,
                    ecn: Ecn::NotEct,
                    body,
                });
            }
            let may = self.sender.has_room() && self.sender.ready_at() <= now;
            if !may || !self.send_next(now, HUB, self.sender.most_data()) {
                return None;
            }
        }
    }

    fn note_kept(&mut self, now: Instant) {
        if let Some(packets) = &mut self.base.levels.packets {
            packets.set(now, self.sender.unconfirmed() as u64);
        }
    }

    fn transmit_control(&mut self, now: Instant, side: usize, segment: &mut Segment) -> Option<Departure<P>> {
        loop {
            let control = &mut self.halves[side].control;
            if let Some((ecn, body)) = control.transmit_into(now, segment) {
                let connection = self.settings.first_number + 1;
                let direction = Direction::BOTH[side];
                return Some(Departure { port: side, connection, direction, ecn, body });
            }
            if side == HUB || !self.say_next(now) {
                self.base.timers.set(timer_of(side, None), self.halves[side].control.poll_timeout());
                return None;
            }
        }
    }

    /// What the pseudo proxy has to say: a report that is due, then data of the hosts, and else that it is alive. As little as
    /// possible waits unsent, so that a report is what it is when it leaves.
    fn say_next(&mut self, now: Instant) -> bool {
        if self.halves[CLIENT].control.unsent() > 0 {
            return false;
        }
        let before = self.counts.control_bytes;
        if let Some(report) = self.receiver.poll_report(now) {
            self.say(&Message::Report(report));
        } else {
            let most = self.halves[CLIENT].control.effective_mss().saturating_sub(DATA_HEADER).max(1);
            while self.counts.control_bytes == before && self.send_next(now, CLIENT, most) {}
            if self.counts.control_bytes == before && self.alive_at().is_some_and(|due| due <= now) {
                self.say(&Message::Alive);
            }
        }
        let said = self.counts.control_bytes > before;
        if said {
            self.last_said = now;
        }
        said
    }

    fn transmit_local(&mut self, now: Instant, side: usize, segment: &mut Segment) -> Option<Departure<P>> {
        while let Some(&connection) = self.halves[side].dirty.front() {
            if let Some(end) = self.halves[side].end(connection) {
                if let Some((ecn, body)) = end.local.connection.transmit_into(now, segment) {
                    let direction = end.local.direction;
                    return Some(Departure { port: side, connection, direction, ecn, body });
                }
                end.local.dirty = false;
                self.base.timers.set(timer_of(side, Some(connection)), end.local.poll_timeout());
            }
            self.account(now, connection);
            self.halves[side].dirty.pop_front();
        }
        None
    }
}

/// Number of a node's connection among the timers: the control connection, or that to a host.
fn timer_of(side: usize, connection: Option<u32>) -> usize {
    2 * connection.map_or(0, |number| number as usize + 1) + side
}

/// What identifies a connection to the other node: its number, the direction of the other node's packets to its host, its ports.
fn key_of(number: u32, towards: Direction, ports: Ports, established: bool) -> Key {
    let [n0, n1, n2, n3] = number.to_be_bytes();
    let [l0, l1] = ports.remote.to_be_bytes();
    let [r0, r1] = ports.local.to_be_bytes();
    [n0, n1, n2, n3, towards.opposite() as u8, u8::from(established), l0, l1, r0, r1, 0, 0]
}
fn read_key(key: &Key) -> (u32, Direction, Ports, bool) {
    let [n0, n1, n2, n3, towards, established, l0, l1, r0, r1, ..] = *key;
    let ports = Ports { local: u16::from_be_bytes([l0, l1]), remote: u16::from_be_bytes([r0, r1]) };
    (u32::from_be_bytes([n0, n1, n2, n3]), Direction::BOTH[usize::from(towards & 1)], ports, established == 1)
}

impl<P: Payload> Middlebox<P> for PacedHop<P> {
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, P>) -> Verdict {
        let own = packet.connection.checked_sub(self.settings.first_number);
        match (self.base.failed, own) {
            (true, None) => self.base.refuse(port, packet.connection, packet.direction, packet.segment),
            (true, Some(_)) => {}
            (false, None) => self.on_host_packet(now, port, packet),
            (false, Some(0)) => self.on_datagram(now, packet.segment.seq, packet.body),
            (false, Some(_)) => {
                self.on_control_packet(now, port, &packet);
                self.note_kept(now);
            }
        }
        Verdict::Taken
    }

    fn on_timer(&mut self, now: Instant, owner: usize) {
        let (side, number) = (owner % 2, (owner / 2).checked_sub(1));
        let half = &mut self.halves[side];
        let connection = match number {
            None => Some(&mut half.control),
            Some(number) => half.end(number as u32).map(|end| &mut end.local.connection),
        };
        let Some(connection) = connection else { return };
        match connection.poll_timeout() {
            Some(due) if due <= now => connection.handle_timeout(now),
            due => return self.base.timers.set(owner, due),
        }
        match number {
            None => while half.control.poll_event().is_some() {},
            Some(number) => self.settle(now, side, number as u32),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.begun = true;
        while let Some(owner) = self.base.timers.expired(now) {
            self.on_timer(now, owner);
        }
        if self.silent_at().is_some_and(|due| due <= now) {
            self.end_session(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.base.failed {
            return None;
        }
        let begin = (!self.begun).then_some(Instant::ZERO);
        let data = !self.halves[HUB].ready.is_empty() && self.sender.has_room();
        let fresh = data.then(|| self.sender.ready_at());
        // What waits for the control connection is looked at when that has sent.
        let can_say = self.halves[CLIENT].control.unsent() == 0;
        let report = self.receiver.next_report().filter(|_| can_say);
        let alive = self.alive_at().filter(|_| can_say);
        [begin, fresh, report, alive, self.silent_at(), self.sender.poll_timeout(), self.base.timers.next()]
            .into_iter()
            .flatten()
            .min()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        if self.base.failed {
            return None;
        }
        [HUB, CLIENT]
            .into_iter()
            .find_map(|side| {
                self.transmit_control(now, side, segment).or_else(|| self.transmit_local(now, side, segment))
            })
            .or_else(|| self.transmit_datagram(now, segment))
            // Reading for the other node may have opened a host's window.
            .or_else(|| [HUB, CLIENT].into_iter().find_map(|side| self.transmit_local(now, side, segment)))
    }

    fn watches_queue(&self) -> bool {
        !self.base.failed
    }
    fn handle_queue(&mut self, now: Instant, state: QueueState) {
        self.sender.on_queue(now, state);
    }

    fn lose_all(&mut self, now: Instant) {
        self.counts.lost_acknowledged_bytes += self.undelivered.lose_all(now, &mut self.base.levels);
        let connections = self.halves.iter().map(|half| half.ends.end()).max().unwrap_or(0) as u32;
        (0..connections).for_each(|number| self.retire(number));
        self.halves.iter_mut().for_each(|half| half.dirty.clear());
        if let Some(packets) = &mut self.base.levels.packets {
            packets.set(now, 0);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let locals = self.halves.iter().flat_map(|half| half.ends.iter().map(|end| &end.local));
        let (sent, received) = (self.sender.counts(), self.receiver.counts());
        let mut all = self.hosts.counters(locals);
        all.extend([
            ("lost_acknowledged_bytes", self.counts.lost_acknowledged_bytes),
            ("paced_items", sent.items),
            ("paced_lost", sent.reported_lost),
            ("paced_expired", sent.expired),
            ("paced_parities", sent.parities),
            ("paced_probes", sent.probes),
            ("paced_restored", received.restored),
            ("paced_duplicates", received.duplicates),
            ("paced_tossed", received.tossed + sent.tossed + self.counts.tossed_messages),
            ("reports", received.reports),
            ("control_bytes", self.counts.control_bytes),
            ("sessions_ended", self.counts.sessions_ended),
        ]);
        all
    }
    fn base(&self) -> &Base<P> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.base
    }
    fn own_connections(&self) -> Vec<OwnConnection<'_>> {
        let end = |port: usize| OwnConnection { index: 1, port, connection: &self.halves[port].control };
        vec![end(HUB), end(CLIENT)]
    }
}
