//! ACK compaction over a thin link: at its beginning the ACKs of a while travel as one packet, behind it they are taken apart again
//! (Coetzee 1999, section 5.3.3 and appendix A; the packets are [`longhaul_segment::compaction`]'s).
//!
//! Port 0 is the beginning of the thin link, port 1 its end. What goes from 0 to 1 crosses in a tunnel: one without retransmission (UDP,
//! 28 bytes a packet), or a TCP connection between the two nodes (the thesis's proposal), where packets are records of 2 bytes and
//! themselves. What goes from 1 to 0 does not meet it, but for the ACKs of that connection.
//!
//! **Keeps:** all packets and their order within a connection. A packet that cannot be compacted (data, SYN, FIN, RST, ECN echoes,
//! timestamps) sends the ACKs of its connection before it, and crosses as it is, in the tunnel.
//!
//! **Duplicate ACKs, window updates, SACK blocks:** as the form has it. Exact: duplicates and windows ACK by ACK; SACK blocks of
//! the newest ACK of a packet, and what fits of the others, on all of them. Traditional: evenly spread numbers, the last window.
//!
//! **Breaks:** a lost packet of the tunnel is many lost ACKs, up to a whole window's (the thesis's X-15). Over TCP none is lost, but all
//! wait for what is sent again, and the tunnel's own slow start and congestion control are on the ACKs' way.
//!
//! After [`fail`](Middlebox::fail) every packet crosses as it is; what was waiting at either end is lost.
//!
//! The two ends are two values, [`Compactor`] and [`Expander`]: what the second makes is read from the packets of the tunnel, whose
//! addresses hold the number of the connection. A datagram's number, which shows losses and copies, is the lower half of its sequence
//! number here and IPv4's identification on real packets.

use crate::base::{Table, counters};
use crate::levels::Levels;
use crate::nodes::{ByNumber, Node, TwoNodes};
use crate::split::Side;
use crate::{
    Base, Carrier, Data, Departure, Direction, Event, Middlebox, OwnConnection, Passing, Payload, Verdict,
};
use longhaul_segment::compaction::{Ack, ExactBatch, TraditionalBatch, UDP_TUNNEL_HEADER, is_compactable};
use longhaul_segment::{Ecn, Flags, IPV4_HEADER, Segment, SeqNumber, TCP_HEADER, ip, wire};
use longhaul_tcp::{Connection, Ports};
use longhaul_units::{ConnectionId, Duration, EndpointId, Instant, Rate, Size};
use std::collections::VecDeque;

/// What is kept of the ACKs of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// All of them, in 2 or 4 bytes each (appendix A.2).
    #[default]
    Exact,
    /// How many, and a mean, in 3 bytes; only where more than `threshold` wait, otherwise each crosses as it is (appendix A.1).
    Traditional {
        /// ACKs of a connection that are not compacted yet.
        threshold: usize,
    },
}

/// When the ACKs of a packet leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spacing {
    /// At once.
    Immediate,
    /// Spread over the time since the connection's packet before.
    #[default]
    Even,
    /// At most so many of a connection in a second: the thesis's plain shaper.
    PerSecond(u32),
}

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// What is kept of the ACKs.
    pub form: Form,
    /// How long ACKs gather after the first.
    pub wait: Duration,
    /// Rate of the thin link at 8 bits a byte: ACKs then gather at least as long as what was sent last takes there.
    pub rate: Option<Rate>,
    /// Bytes that the link adds to each packet.
    pub framing: u32,
    /// Most ACKs of a packet.
    pub most: usize,
    /// When they leave at the other end.
    pub spacing: Spacing,
}

/// The longest time over which the ACKs of one packet are spread.
const LONGEST_SPREAD: Duration = Duration::from_secs(1);

counters! {
    struct CompactorCounts { compacted_acks, compacted_packets, uncompacted_packets }
}
counters! {
    struct ExpanderCounts { tunnel_losses, expanded_acks }
}

/// Bytes before each packet in a stream: its length.
const RECORD_HEADER: u32 = 2;

/// The header of a compacted packet: its addresses hold the number of the connection. One that crosses as it is has DF set.
fn addresses(connection: ConnectionId, direction: Direction) -> ip::Header {
    let [active, passive] = ByNumber::addresses(connection);
    let header = match direction {
        Direction::Forward => ip::Header::new(active.into(), passive.into()),
        Direction::Reverse => ip::Header::new(passive.into(), active.into()),
    };
    ip::Header { dont_fragment: false, ..header }
}

/// The connection that has these addresses, and which way a packet with them goes.
fn connection_of(header: &ip::Header) -> Option<(ConnectionId, Direction)> {
    let forward = (ByNumber::of(header.src, header.dst)?, Direction::Forward);
    let reverse = (ByNumber::of(header.dst, header.src)?, Direction::Reverse);
    [forward, reverse].into_iter().find(|(connection, direction)| {
        let expected = addresses(*connection, *direction);
        (expected.src, expected.dst) == (header.src, header.dst)
    })
}

/// A packet as it came, for the tunnel.
fn whole<B: Payload>(header: &ip::Header, segment: &Segment, body: &B) -> B {
    let payload = body.data().bytes();
    B::of(segment.ipv4_len(), || {
        let (header, mut bytes) = (ip::Header { dont_fragment: true, ..*header }, vec![]);
        // Too long it is not: a packet of this length has come.
        let _ = match payload.len() == segment.payload_len as usize {
            true => wire::encode(&header, segment, payload, &mut bytes),
            false => wire::encode_headers(&header, segment, &mut bytes),
        };
        bytes
    })
}

/// An end of a tunnel that loses nothing: a connection from the first node to the second.
fn tunnel_end<B: Payload>(side: &Side, port: usize) -> Box<Carrier<B>> {
    let number = |port: usize| 10_000 + port as u16;
    let ports = Ports { local: number(port), remote: number(1 - port) };
    Box::new(Carrier::new(Connection::established(side.config.clone(), (side.congestion)(), ports)))
}

/// The ACKs of a connection at the beginning of the link.
struct Gathered {
    connection: ConnectionId,
    direction: Direction,
    acks: Vec<Ack>,
}

/// The beginning of the thin link.
pub struct Compactor<B: Payload> {
    settings: Settings,
    /// Number of the tunnel among the connections.
    tunnel: ConnectionId,
    gathered: Vec<Gathered>,
    /// When what has gathered is sent.
    flush_at: Option<Instant>,
    /// When the line has sent what was sent last.
    line_free_at: Instant,
    /// The tunnel, if it is a connection.
    stream: Option<Box<Carrier<B>>>,
    next_number: u32,
    base: Base<B>,
    counts: CompactorCounts,
}

impl<B: Payload> Compactor<B> {
    /// With a tunnel of this number, which no flow's connection has; with settings, that is a TCP connection, established from the start.
    pub fn new(settings: Settings, tunnel: ConnectionId, over_tcp: Option<&Side>) -> Self {
        Compactor {
            settings,
            tunnel,
            gathered: vec![],
            flush_at: None,
            line_free_at: Instant::ZERO,
            stream: over_tcp.map(|side| tunnel_end(side, 0)),
            next_number: 0,
            base: Base::new(Levels::default()),
            counts: CompactorCounts::default(),
        }
    }

    /// A packet comes to the beginning of the link.
    fn enter(&mut self, now: Instant, packet: &Passing<'_, B>) {
        let (connection, direction) = (packet.connection, packet.direction);
        let header = ip::Header { ecn: *packet.ecn, ..addresses(connection, direction) };
        if self.base.failed || !is_compactable(&header, packet.segment) {
            self.flush_connection(now, connection, direction);
            self.counts.uncompacted_packets += 1;
            return self.send(now, &whole(&header, packet.segment, packet.body));
        }
        let found = self
            .gathered
            .iter()
            .position(|queue| (queue.connection, queue.direction) == (connection, direction));
        let position = found.unwrap_or_else(|| {
            self.gathered.push(Gathered { connection, direction, acks: vec![] });
            self.gathered.len() - 1
        });
        self.gathered[position].acks.push((header, *packet.segment));
        if self.gathered[position].acks.len() >= self.settings.most {
            self.flush_connection(now, connection, direction);
        } else if self.flush_at.is_none() {
            self.flush_at = Some((now + self.settings.wait).max(self.line_free_at));
        }
    }

    fn flush_connection(&mut self, now: Instant, connection: ConnectionId, direction: Direction) {
        let here = |queue: &Gathered| (queue.connection, queue.direction) == (connection, direction);
        if let Some(position) = self.gathered.iter().position(here) {
            let queue = self.gathered.remove(position);
            self.send_acks(now, queue);
        }
        if self.gathered.is_empty() {
            self.flush_at = None;
        }
    }

    fn flush_all(&mut self, now: Instant) {
        self.flush_at = None;
        for queue in std::mem::take(&mut self.gathered) {
            self.send_acks(now, queue);
        }
    }

    /// Sends the ACKs of a connection in as few packets as it takes.
    fn send_acks(&mut self, now: Instant, queue: Gathered) {
        let mut rest = &queue.acks[..];
        while !rest.is_empty() {
            let (taken, bytes) = match self.settings.form {
                Form::Exact => exact(rest),
                Form::Traditional { threshold } if rest.len() > threshold => traditional(rest),
                Form::Traditional { .. } => (1, None),
            };
            let packet = match bytes {
                Some(bytes) => {
                    self.counts.compacted_acks += taken as u64;
                    self.counts.compacted_packets += 1;
                    B::of(bytes.len() as u32, || bytes)
                }
                None => {
                    self.counts.uncompacted_packets += 1;
                    whole(&rest[0].0, &rest[0].1, &B::default())
                }
            };
            self.send(now, &packet);
            rest = &rest[taken..];
        }
    }

    /// Puts a packet into the tunnel. Its segment stands for a UDP datagram: of the same length, and without a flag.
    fn send(&mut self, now: Instant, packet: &B) {
        let inner = packet.data().len();
        let len = inner
            + if self.stream.is_some() {
                IPV4_HEADER + TCP_HEADER + RECORD_HEADER
            } else {
                UDP_TUNNEL_HEADER
            };
        if let Some(rate) = self.settings.rate {
            let time = rate.transmission_time(Size::from_bytes(u64::from(len + self.settings.framing)));
            self.line_free_at = self.line_free_at.max(now) + time;
        }
        if let Some(stream) = &mut self.stream {
            stream.write(&B::Data::of(RECORD_HEADER, &(inner as u16).to_be_bytes()));
            return stream.write(packet.data());
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let datagram = Segment {
            seq: SeqNumber(number),
            flags: Flags::NONE,
            payload_len: len - IPV4_HEADER - TCP_HEADER,
            ..Segment::default()
        };
        // The way from the first node to the second is that of the tunnel's active opener.
        self.base.outbox.push_at(0, self.tunnel, Direction::Forward, datagram, Ecn::NotEct, packet.clone());
    }
}

/// A connection at the end of the link.
#[derive(Clone, Copy, Default)]
struct Expanding {
    last_packet: Option<Instant>,
    /// When the last of its ACKs leaves.
    last_due: Instant,
}

/// The end of the thin link.
pub struct Expander<B: Payload> {
    settings: Settings,
    tunnel: ConnectionId,
    stream: Option<Box<Carrier<B>>>,
    /// Bytes of the stream that were taken.
    taken: u64,
    /// The number of the datagram that is to come next.
    next_number: u16,
    expanding: Table<Expanding, EndpointId>,
    /// ACKs that are to leave, in order of time.
    pending: VecDeque<(Instant, ConnectionId, Direction, Segment)>,
    base: Base<B>,
    counts: ExpanderCounts,
}

impl<B: Payload> Expander<B> {
    /// See [`Compactor::new`].
    pub fn new(settings: Settings, tunnel: ConnectionId, over_tcp: Option<&Side>) -> Self {
        Expander {
            settings,
            tunnel,
            stream: over_tcp.map(|side| tunnel_end(side, 1)),
            taken: 0,
            next_number: 0,
            expanding: Table::default(),
            pending: VecDeque::new(),
            base: Base::new(Levels::default()),
            counts: ExpanderCounts::default(),
        }
    }

    /// A datagram of the tunnel has come; those sent before it and not seen are lost.
    fn on_datagram(&mut self, now: Instant, number: SeqNumber, packet: &B) {
        let ahead = (number.0 as u16).wrapping_sub(self.next_number) as i16;
        let Ok(lost) = u64::try_from(ahead) else { return };
        self.counts.tunnel_losses += lost;
        self.next_number = (number.0 as u16).wrapping_add(1);
        self.unpack(now, packet.data());
    }

    /// A segment of the tunnel's connection has come.
    fn on_segment(&mut self, now: Instant, segment: &Segment, ecn: Ecn, body: &B) {
        let Some(stream) = &mut self.stream else { return };
        stream.handle_segment(now, segment, ecn, body);
        while let Some(packet) = self.next_packet() {
            self.unpack(now, &packet);
        }
    }

    /// The next packet of the stream, once all of it has come.
    fn next_packet(&mut self) -> Option<B::Data> {
        let stream = self.stream.as_mut()?;
        let untaken = stream.received_bytes() - self.taken;
        if untaken < u64::from(RECORD_HEADER) {
            return None;
        }
        let header = stream.peek(u64::from(RECORD_HEADER)).to_bytes();
        let room = u64::from(RECORD_HEADER) + u64::from(u16::from_be_bytes(*header.first_chunk()?));
        if untaken < room {
            return None;
        }
        self.taken += room;
        Some(stream.take(room).without(RECORD_HEADER))
    }

    /// A packet is through. One that is none, since it was damaged on the way, is one more loss.
    fn unpack(&mut self, now: Instant, packet: &B::Data) {
        if self.try_unpack(now, packet).is_none() {
            self.counts.tunnel_losses += 1;
        }
    }

    fn try_unpack(&mut self, now: Instant, packet: &B::Data) -> Option<()> {
        let bytes = packet.to_bytes();
        let read = wire::decode(&bytes).ok()?;
        let (connection, direction) = connection_of(&read.ip)?;
        if !read.ip.dont_fragment {
            let acks = match self.settings.form {
                Form::Exact => ExactBatch::decode(&bytes),
                Form::Traditional { .. } => TraditionalBatch::decode(&bytes),
            };
            self.expand(now, connection, direction, &acks.ok()?);
            return Some(());
        }
        self.release_all_of(connection, direction);
        let body = B::from_data(packet.clone().without((read.ip_header_len + read.tcp_header_len) as u32));
        self.base.outbox.push_at(0, connection, direction, read.segment, read.ip.ecn, body);
        Some(())
    }

    /// ACKs that crossed as one packet go on.
    fn expand(&mut self, now: Instant, connection: ConnectionId, direction: Direction, acks: &[Ack]) {
        let index = connection.end(direction.sender());
        let state = self.expanding.get_or_insert_with(index, Expanding::default);
        let since = state.last_packet.map_or(Duration::ZERO, |before| now - before).min(LONGEST_SPREAD);
        let step = match self.settings.spacing {
            Spacing::Immediate => Duration::ZERO,
            Spacing::Even => since / acks.len() as u64,
            Spacing::PerSecond(rate) => Duration::from_secs(1) / u64::from(rate.max(1)),
        };
        state.last_packet = Some(now);
        let mut due = now.max(match self.settings.spacing {
            Spacing::PerSecond(_) => state.last_due + step,
            // A new packet ends the series of the one before: what was left of it leaves first, at once.
            Spacing::Immediate | Spacing::Even => now,
        });
        if self.settings.spacing == Spacing::Even {
            self.release_all_of(connection, direction);
        }
        for (position, (_, segment)) in acks.iter().enumerate() {
            if position > 0 {
                due += step;
            }
            self.counts.expanded_acks += 1;
            let place = self.pending.partition_point(|(at, ..)| *at <= due);
            self.pending.insert(place, (due, connection, direction, *segment));
        }
        if let Some(state) = self.expanding.get_mut(index) {
            state.last_due = due;
        }
        self.release(now);
    }

    /// Lets the ACKs go whose time has come.
    fn release(&mut self, now: Instant) {
        while self.pending.front().is_some_and(|(due, ..)| *due <= now) {
            let Some((_, connection, direction, segment)) = self.pending.pop_front() else { return };
            self.base.outbox.push_at(0, connection, direction, segment, Ecn::NotEct, B::default());
        }
    }

    /// A connection's packets keep their order: its ACKs do not wait any longer.
    fn release_all_of(&mut self, connection: ConnectionId, direction: Direction) {
        let of = |entry: &(Instant, ConnectionId, Direction, Segment)| {
            (entry.1, entry.2) == (connection, direction)
        };
        if !self.pending.iter().any(of) {
            return;
        }
        let (now, later): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.pending).into_iter().partition(of);
        self.pending = later;
        for (_, connection, direction, segment) in now {
            self.base.outbox.push_at(0, connection, direction, segment, Ecn::NotEct, B::default());
        }
    }
}

/// The first packet of a series of ACKs: how many it takes, and its bytes.
fn exact(acks: &[Ack]) -> (usize, Option<Vec<u8>>) {
    let Some(mut batch) = ExactBatch::begin(acks[0]) else { return (1, None) };
    let taken = 1 + acks[1..].iter().take_while(|ack| batch.push(ack)).count();
    let mut bytes = vec![];
    (taken, batch.encode(&mut bytes).ok().map(|()| bytes))
}

fn traditional(acks: &[Ack]) -> (usize, Option<Vec<u8>>) {
    let Some(mut batch) = TraditionalBatch::begin(acks[0]) else { return (1, None) };
    let taken = 1 + acks[1..].iter().take_while(|ack| batch.push(ack)).count();
    let mut bytes = vec![];
    (taken, batch.encode(&mut bytes).ok().map(|()| bytes))
}

/// What a node drops, since it breaks down.
fn lost(connection: ConnectionId, direction: Direction, segment: &Segment) -> Event {
    Event::Dropped { connection, direction, payload_len: 0, wire_len: segment.ipv4_len() }
}

impl<B: Payload> Middlebox<B> for Compactor<B> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if packet.connection != self.tunnel {
            self.enter(now, &packet);
        } else if let Some(stream) = &mut self.stream {
            stream.handle_segment(now, packet.segment, *packet.ecn, packet.body);
        }
        Verdict::Taken
    }
    fn handle_timeout(&mut self, now: Instant) {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_all(now);
        }
        if let Some(stream) =
            self.stream.as_mut().filter(|end| end.poll_timeout().is_some_and(|due| due <= now))
        {
            stream.handle_timeout(now);
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let stream = self.stream.as_ref().and_then(|end| end.poll_timeout());
        [self.flush_at, stream].into_iter().flatten().min()
    }
    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<B>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        let (ecn, body) = self.stream.as_mut()?.transmit_into(now, segment)?;
        Some(Departure { port: 0, connection: self.tunnel, direction: Direction::Forward, ecn, body })
    }
    fn own_connections(&self) -> Vec<OwnConnection> {
        let end = self.stream.iter();
        end.map(|connection| OwnConnection::of(0, connection)).collect()
    }
    fn lose_all(&mut self, _now: Instant) {
        for Gathered { connection, direction, acks } in self.gathered.drain(..) {
            let acks = acks.iter().map(|(_, segment)| lost(connection, direction, segment));
            self.base.events.extend(acks);
        }
        self.flush_at = None;
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counts.list()
    }
    fn base(&self) -> &Base<B> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<B> {
        &mut self.base
    }
}

impl<B: Payload> Node<B> for Compactor<B> {
    fn held_packets(&self) -> u64 {
        self.gathered.iter().map(|queue| queue.acks.len() as u64).sum()
    }
}

impl<B: Payload> Middlebox<B> for Expander<B> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if packet.connection != self.tunnel {
            return Verdict::Forward;
        }
        match self.stream {
            Some(_) => self.on_segment(now, packet.segment, *packet.ecn, packet.body),
            None => self.on_datagram(now, packet.segment.seq, packet.body),
        }
        Verdict::Taken
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.release(now);
        if let Some(stream) =
            self.stream.as_mut().filter(|end| end.poll_timeout().is_some_and(|due| due <= now))
        {
            stream.handle_timeout(now);
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let pending = self.pending.front().map(|(due, ..)| *due);
        let stream = self.stream.as_ref().and_then(|end| end.poll_timeout());
        [pending, stream].into_iter().flatten().min()
    }
    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<B>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        let (ecn, body) = self.stream.as_mut()?.transmit_into(now, segment)?;
        Some(Departure { port: 0, connection: self.tunnel, direction: Direction::Reverse, ecn, body })
    }
    fn own_connections(&self) -> Vec<OwnConnection> {
        let end = self.stream.iter();
        end.map(|connection| OwnConnection::of(0, connection)).collect()
    }
    fn lose_all(&mut self, _now: Instant) {
        let pending = self.pending.drain(..);
        let pending =
            pending.map(|(_, connection, direction, segment)| lost(connection, direction, &segment));
        self.base.events.extend(pending);
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counts.list()
    }
    fn base(&self) -> &Base<B> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<B> {
        &mut self.base
    }
}

impl<B: Payload> Node<B> for Expander<B> {
    fn held_packets(&self) -> u64 {
        self.pending.len() as u64
    }
}

/// Compactor and expander in one world, with a tunnel of this number; see [`Compactor::new`].
pub fn ack_compaction<B: Payload>(
    settings: Settings,
    tunnel: ConnectionId,
    over_tcp: Option<[Side; 2]>,
) -> TwoNodes<B> {
    let end = |node: usize| over_tcp.as_ref().map(|sides| &sides[node]);
    let compactor = Compactor::new(settings, tunnel, end(0));
    TwoNodes::of_packets([Box::new(compactor), Box::new(Expander::new(settings, tunnel, end(1)))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sparse;

    const TUNNEL: ConnectionId = ConnectionId(9);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }
    fn ack(number: u32) -> Segment {
        Segment { ack: SeqNumber(number), window: 100, flags: Flags::ACK, ..Segment::default() }
    }
    fn compaction(form: Form, spacing: Spacing) -> TwoNodes<Sparse> {
        let wait = Duration::from_millis(50);
        ack_compaction(Settings { form, wait, rate: None, framing: 2, most: 60, spacing }, TUNNEL, None)
    }
    fn offer(middlebox: &mut TwoNodes<Sparse>, now: Instant, mut segment: Segment, port: usize, of: u32) {
        cross_with(middlebox, now, &mut segment, &Sparse::EMPTY, port, ConnectionId(of));
    }
    fn cross_with(
        middlebox: &mut TwoNodes<Sparse>,
        now: Instant,
        segment: &mut Segment,
        body: &Sparse,
        port: usize,
        connection: ConnectionId,
    ) {
        let mut ecn = Ecn::NotEct;
        let packet = Passing { connection, direction: Direction::Forward, ecn: &mut ecn, segment, body };
        assert_eq!(middlebox.handle_packet(now, port, packet), Verdict::Taken);
    }
    /// What leaves at a port: segments of connections, and their payload.
    fn departing(
        middlebox: &mut TwoNodes<Sparse>,
        now: Instant,
        port: usize,
    ) -> Vec<(ConnectionId, Segment, Sparse)> {
        let mut segment = Segment::default();
        let mut found = vec![];
        while let Some(departure) = middlebox.transmit_into(now, &mut segment) {
            assert_eq!(departure.port, port);
            found.push((departure.connection, segment, departure.body));
        }
        found
    }
    fn leaving(middlebox: &mut TwoNodes<Sparse>, now: Instant, port: usize) -> Vec<(u32, Segment)> {
        let packets = departing(middlebox, now, port);
        packets.into_iter().map(|(connection, segment, _)| (connection.0, segment)).collect()
    }
    /// Sends what waits over the link at once; the length on the wire of each packet.
    fn cross(middlebox: &mut TwoNodes<Sparse>, now: Instant) -> Vec<u32> {
        middlebox.handle_timeout(now);
        let packets = departing(middlebox, now, 0);
        for (connection, mut segment, body) in packets.clone() {
            assert_eq!(connection, TUNNEL);
            cross_with(middlebox, now, &mut segment, &body, 1, TUNNEL);
        }
        packets.iter().map(|(_, segment, _)| segment.ipv4_len()).collect()
    }

    /// Appendix A.2: 28 + 40 + 2 (k - 1) bytes; every ACK comes out as it went in, duplicates too.
    #[test]
    fn acks_gather_and_come_out_again() {
        let mut middlebox = compaction(Form::Exact, Spacing::Immediate);
        let acks = [ack(1000), ack(2000), ack(2000), ack(2000), ack(5000)];
        acks.iter().for_each(|ack| offer(&mut middlebox, at(0), *ack, 0, 0));
        assert_eq!(Middlebox::poll_timeout(&middlebox), Some(at(50)));
        assert!(leaving(&mut middlebox, at(49), 0).is_empty());
        assert_eq!(cross(&mut middlebox, at(50)), [28 + 40 + 8]);
        let out: Vec<Segment> = leaving(&mut middlebox, at(50), 1).into_iter().map(|(_, ack)| ack).collect();
        assert_eq!(out, acks);
    }

    /// Appendix A.1: up to the threshold of 4 each ACK crosses by itself; above, the last with 3 bytes more.
    #[test]
    fn the_traditional_form_has_a_threshold() {
        for (count, lengths) in [(4, vec![68; 4]), (5, vec![28 + 40 + 3])] {
            let mut middlebox = compaction(Form::Traditional { threshold: 4 }, Spacing::Immediate);
            (1..=count).for_each(|n| offer(&mut middlebox, at(0), ack(1000 * n), 0, 0));
            assert_eq!(cross(&mut middlebox, at(50)), lengths);
            assert_eq!(leaving(&mut middlebox, at(50), 1).len(), count as usize);
        }
    }

    /// Appendix A.2: what cannot be compacted flushes its connection's queue first; other connections go on gathering.
    #[test]
    fn data_does_not_overtake_acks() {
        let mut middlebox = compaction(Form::Exact, Spacing::Immediate);
        offer(&mut middlebox, at(0), ack(1000), 0, 0);
        offer(&mut middlebox, at(0), ack(7000), 0, 1);
        let data = Segment { payload_len: 100, ..ack(2000) };
        offer(&mut middlebox, at(10), data, 0, 0);
        assert_eq!(cross(&mut middlebox, at(10)), [68, 28 + 140]);
        assert_eq!(leaving(&mut middlebox, at(10), 1), [(0, ack(1000)), (0, data)]);
        assert_eq!(Middlebox::poll_timeout(&middlebox), Some(at(50)), "the other connection's");
    }

    #[test]
    fn even_spacing_spreads_a_packet_over_the_time_between_packets() {
        let mut middlebox = compaction(Form::Exact, Spacing::Even);
        offer(&mut middlebox, at(0), ack(1000), 0, 0);
        cross(&mut middlebox, at(50));
        assert_eq!(leaving(&mut middlebox, at(50), 1).len(), 1);
        (2..=5).for_each(|n| offer(&mut middlebox, at(60), ack(1000 * n), 0, 0));
        cross(&mut middlebox, at(130));
        // 80 ms since the packet before, four ACKs: one every 20 ms.
        let mut times = vec![];
        for now in 130..300 {
            middlebox.handle_timeout(at(now));
            leaving(&mut middlebox, at(now), 1).iter().for_each(|_| times.push(now));
        }
        assert_eq!(times, [130, 150, 170, 190]);
    }

    /// Appendix A.2, "wait as long as the packets just sent take": a packet with 2 bytes of framing, 70 bytes, takes 73 ms at 960
    /// bytes a second.
    #[test]
    fn the_next_packet_waits_for_the_line() {
        let settings = Settings {
            form: Form::Exact,
            wait: Duration::from_millis(10),
            rate: Some(Rate::from_bps(7680)),
            framing: 2,
            most: 60,
            spacing: Spacing::Immediate,
        };
        let mut middlebox: TwoNodes<Sparse> = ack_compaction(settings, TUNNEL, None);
        offer(&mut middlebox, at(0), ack(1000), 0, 0);
        assert_eq!(cross(&mut middlebox, at(10)), [68]);
        offer(&mut middlebox, at(11), ack(2000), 0, 0);
        let free = at(10) + Rate::from_bps(7680).transmission_time(Size::from_bytes(70));
        leaving(&mut middlebox, at(11), 1);
        assert_eq!(Middlebox::poll_timeout(&middlebox), Some(free));
        assert_eq!(free.as_nanos() / 1_000, 82_916);
    }

    #[test]
    fn a_lost_packet_is_counted_and_the_next_one_read() {
        let mut middlebox = compaction(Form::Exact, Spacing::Immediate);
        for round in 0..3u32 {
            offer(&mut middlebox, at(0), ack(1000 * (round + 1)), 0, 0);
            middlebox.handle_timeout(at(50));
            for (_, mut segment, body) in departing(&mut middlebox, at(50), 0) {
                // A second copy has no effect.
                for _copy in 0..if round == 1 { 0 } else { 2 } {
                    cross_with(&mut middlebox, at(50), &mut segment, &body, 1, TUNNEL);
                }
            }
            let out = leaving(&mut middlebox, at(50), 1);
            assert_eq!(out.len(), usize::from(round != 1));
        }
        assert!(middlebox.counters().contains(&("tunnel_losses", 1)));
    }
}
