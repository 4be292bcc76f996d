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

use crate::base::{Table, counters};
use crate::levels::Levels;
use crate::split::Side;
use crate::{
    Base, Carrier, Data, Departure, Direction, Event, Middlebox, OwnConnection, Passing, Payload, Verdict,
};
use longhaul_segment::compaction::{Ack, ExactBatch, TraditionalBatch, UDP_TUNNEL_HEADER, is_compactable};
use longhaul_segment::{Ecn, Flags, IPV4_HEADER, Segment, SeqNumber, TCP_HEADER, ip, wire};
use longhaul_tcp::{Connection, Ports};
use longhaul_units::{Duration, Instant, Rate, Size};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

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

/// Packets that may be in the tunnel before the oldest is taken for lost.
const MOST_IN_TUNNEL: usize = 4096;
/// The longest time over which the ACKs of one packet are spread.
const LONGEST_SPREAD: Duration = Duration::from_secs(1);

counters! {
    struct Counts { compacted_acks, compacted_packets, uncompacted_packets, tunnel_losses, expanded_acks }
}

/// What a packet of the tunnel carries.
enum Content<B> {
    /// ACKs as one packet.
    Compacted(Vec<u8>),
    /// A packet as it came.
    Whole(Segment, Ecn, B),
}

impl<B: Payload> Content<B> {
    /// The packet's bytes: what goes into a UDP packet, or behind the length of a record.
    fn encode(&self, connection: u32) -> Vec<u8> {
        match self {
            Content::Compacted(bytes) => bytes.clone(),
            Content::Whole(segment, ecn, body) => {
                let mut bytes = vec![];
                let header = ip::Header { ecn: *ecn, ..addresses(connection) };
                // Too long it is not: a packet of this length has come.
                let _ = wire::encode(&header, segment, body.bytes().unwrap_or_default(), &mut bytes);
                bytes
            }
        }
    }
}

struct Tunnelled<B> {
    /// Number of its datagram, or where its record ends in the stream.
    number: u64,
    connection: u32,
    direction: Direction,
    content: Content<B>,
}

/// Bytes before each packet in a stream: its length.
const RECORD_HEADER: u32 = 2;

/// A tunnel that loses nothing: a connection from the first node to the second.
struct Stream<B: Payload> {
    ends: [Carrier<B>; 2],
    written: u64,
    taken: u64,
}

impl<B: Payload> Stream<B> {
    fn new(side: &Side) -> Self {
        let end = |local, remote| {
            let ports = Ports { local, remote };
            Carrier::new(Connection::established(side.config.clone(), (side.congestion)(), ports))
        };
        Stream { ends: [end(10_000, 10_001), end(10_001, 10_000)], written: 0, taken: 0 }
    }
}

/// The ACKs of a connection at the beginning of the link.
struct Gathered {
    connection: u32,
    direction: Direction,
    acks: Vec<Ack>,
}

/// A connection at the end of the link.
#[derive(Clone, Copy, Default)]
struct Expanding {
    last_packet: Option<Instant>,
    /// When the last of its ACKs leaves.
    last_due: Instant,
}

/// Compactor and expander.
pub struct AckCompaction<B: Payload = ()> {
    settings: Settings,
    /// Number of the tunnel among the connections.
    tunnel: u32,
    gathered: Vec<Gathered>,
    /// When what has gathered is sent.
    flush_at: Option<Instant>,
    /// When the line has sent what was sent last.
    line_free_at: Instant,
    in_tunnel: VecDeque<Tunnelled<B>>,
    /// The tunnel, if it is a connection.
    stream: Option<Box<Stream<B>>>,
    next_number: u32,
    expanding: Table<Expanding>,
    /// ACKs that are to leave, in order of time.
    pending: VecDeque<(Instant, u32, Direction, Segment)>,
    base: Base<B>,
    counts: Counts,
}

impl<B: Payload> AckCompaction<B> {
    /// With a tunnel of this number, which no flow's connection has.
    pub fn new(settings: Settings, tunnel: u32) -> Self {
        AckCompaction {
            settings,
            tunnel,
            gathered: vec![],
            flush_at: None,
            line_free_at: Instant::ZERO,
            in_tunnel: VecDeque::new(),
            stream: None,
            next_number: 0,
            expanding: Table::default(),
            pending: VecDeque::new(),
            base: Base::new(Levels::of_packets()),
            counts: Counts::default(),
        }
    }

    /// The same over a TCP connection with these settings, established from the start.
    pub fn over_tcp(settings: Settings, tunnel: u32, side: &Side) -> Self {
        AckCompaction { stream: Some(Box::new(Stream::new(side))), ..AckCompaction::new(settings, tunnel) }
    }

    /// A packet comes to the beginning of the link.
    fn enter(&mut self, now: Instant, packet: &Passing<'_, B>) {
        let (connection, direction) = (packet.connection, packet.direction);
        let header = ip::Header { ecn: *packet.ecn, ..addresses(connection) };
        if self.base.failed || !is_compactable(&header, packet.segment) {
            self.flush_connection(now, connection, direction);
            self.counts.uncompacted_packets += 1;
            let content = Content::Whole(*packet.segment, *packet.ecn, packet.body.clone());
            return self.send(now, connection, direction, content);
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

    fn flush_connection(&mut self, now: Instant, connection: u32, direction: Direction) {
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
        let Gathered { connection, direction, acks } = queue;
        let mut rest = &acks[..];
        while !rest.is_empty() {
            let (taken, bytes) = match self.settings.form {
                Form::Exact => exact(rest),
                Form::Traditional { threshold } if rest.len() > threshold => traditional(rest),
                Form::Traditional { .. } => (1, None),
            };
            let content = match bytes {
                Some(bytes) => {
                    self.counts.compacted_acks += taken as u64;
                    self.counts.compacted_packets += 1;
                    Content::Compacted(bytes)
                }
                None => {
                    self.counts.uncompacted_packets += 1;
                    Content::Whole(rest[0].1, rest[0].0.ecn, B::default())
                }
            };
            self.send(now, connection, direction, content);
            rest = &rest[taken..];
        }
    }

    /// Puts a packet into the tunnel. Its segment stands for a UDP datagram: of the same length, and without a flag.
    fn send(&mut self, now: Instant, connection: u32, direction: Direction, content: Content<B>) {
        let inner = match &content {
            Content::Compacted(bytes) => bytes.len() as u32,
            Content::Whole(segment, ..) => segment.ipv4_len(),
        };
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
            stream.written += u64::from(RECORD_HEADER + inner);
            let packet = if B::Data::IS_REAL { content.encode(connection) } else { vec![] };
            stream.ends[0].write(&B::Data::of(RECORD_HEADER, &(inner as u16).to_be_bytes()));
            stream.ends[0].write(&B::Data::of(inner, &packet));
            self.in_tunnel.push_back(Tunnelled { number: stream.written, connection, direction, content });
            return;
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        if self.in_tunnel.len() == MOST_IN_TUNNEL {
            self.lose_oldest();
        }
        let body = B::of(|| content.encode(connection));
        self.in_tunnel.push_back(Tunnelled { number: u64::from(number), connection, direction, content });
        let datagram = Segment {
            seq: SeqNumber(number),
            flags: Flags::NONE,
            payload_len: len - IPV4_HEADER - TCP_HEADER,
            ..Segment::default()
        };
        // The way from the first node to the second is that of the tunnel's active opener.
        self.base.outbox.push_at(0, self.tunnel, Direction::Forward, datagram, Ecn::NotEct, body);
    }

    fn lose_oldest(&mut self) {
        self.in_tunnel.pop_front();
        self.counts.tunnel_losses += 1;
    }

    /// A packet of the tunnel has crossed; those sent before it and not seen are lost.
    fn leave(&mut self, now: Instant, number: SeqNumber) {
        while let Some(first) = self.in_tunnel.front() {
            let first = SeqNumber(first.number as u32);
            if number.before(first) {
                return;
            }
            if first == number {
                break;
            }
            self.lose_oldest();
        }
        self.unpack_next(now);
    }

    /// A segment of the tunnel's connection has come to one of its ends.
    fn receive(&mut self, now: Instant, port: usize, segment: &Segment, ecn: Ecn, body: &B) {
        let Some(stream) = &mut self.stream else { return };
        stream.ends[port].handle_segment(now, segment, ecn, body);
        let received = stream.ends[1].received_bytes();
        // What the packets hold is at hand; it is given up here.
        stream.ends[1].take(received - stream.taken);
        stream.taken = received;
        while self.in_tunnel.front().is_some_and(|packet| packet.number <= received) {
            self.unpack_next(now);
        }
    }

    /// The oldest packet in the tunnel is through.
    fn unpack_next(&mut self, now: Instant) {
        let Some(Tunnelled { connection, direction, content, .. }) = self.in_tunnel.pop_front() else {
            return;
        };
        match content {
            Content::Whole(segment, ecn, body) => {
                self.release_all_of(connection, direction);
                self.base.outbox.push_at(1, connection, direction, segment, ecn, body);
            }
            Content::Compacted(bytes) => {
                let decoded = match self.settings.form {
                    Form::Exact => ExactBatch::decode(&bytes),
                    Form::Traditional { .. } => TraditionalBatch::decode(&bytes),
                };
                // What was encoded here decodes; bytes that were damaged on the way would not, and are one more loss.
                let Ok(acks) = decoded else {
                    self.counts.tunnel_losses += 1;
                    return;
                };
                self.expand(now, connection, direction, &acks);
            }
        }
    }

    fn expand(&mut self, now: Instant, connection: u32, direction: Direction, acks: &[Ack]) {
        let index = 2 * connection as usize + direction as usize;
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
            self.base.outbox.push_at(1, connection, direction, segment, Ecn::NotEct, B::default());
        }
    }

    /// A connection's packets keep their order: its ACKs do not wait any longer.
    fn release_all_of(&mut self, connection: u32, direction: Direction) {
        let of = |entry: &(Instant, u32, Direction, Segment)| (entry.1, entry.2) == (connection, direction);
        if !self.pending.iter().any(of) {
            return;
        }
        let (now, later): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.pending).into_iter().partition(of);
        self.pending = later;
        for (_, connection, direction, segment) in now {
            self.base.outbox.push_at(1, connection, direction, segment, Ecn::NotEct, B::default());
        }
    }

    fn note_level(&mut self, now: Instant) {
        let waiting = self.gathered.iter().map(|queue| queue.acks.len()).sum::<usize>() + self.pending.len();
        if let Some(packets) = &mut self.base.levels.packets {
            packets.set(now, waiting as u64);
        }
    }
}

/// Addresses of a connection, for the packets of the tunnel: its number in both.
fn addresses(connection: u32) -> ip::Header {
    let [_, high, middle, low] = connection.to_be_bytes();
    let address = |first| IpAddr::V4(Ipv4Addr::new(first, high, middle, low));
    ip::Header::new(address(10), address(11))
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

impl<B: Payload> Middlebox<B> for AckCompaction<B> {
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, B>) -> Verdict {
        if packet.connection == self.tunnel && self.stream.is_some() {
            self.receive(now, port, packet.segment, *packet.ecn, packet.body);
        } else if packet.connection == self.tunnel {
            self.leave(now, packet.segment.seq);
        } else if port == 0 {
            self.enter(now, &packet);
        } else {
            return Verdict::Forward;
        }
        self.note_level(now);
        Verdict::Taken
    }
    fn handle_timeout(&mut self, now: Instant) {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_all(now);
        }
        self.release(now);
        for end in self.stream.iter_mut().flat_map(|stream| &mut stream.ends) {
            if end.poll_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
            }
        }
        self.note_level(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let pending = self.pending.front().map(|(due, ..)| *due);
        let ends = self.stream.iter().flat_map(|stream| &stream.ends).filter_map(|end| end.poll_timeout());
        self.flush_at.into_iter().chain(pending).chain(ends).min()
    }
    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<B>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        let stream = self.stream.as_mut()?;
        Direction::BOTH.into_iter().find_map(|direction| {
            let port = direction as usize;
            let (ecn, body) = stream.ends[port].transmit_into(now, segment)?;
            Some(Departure { port, connection: self.tunnel, direction, ecn, body })
        })
    }
    fn own_connections(&self) -> Vec<OwnConnection<'_>> {
        let ends = self.stream.iter().flat_map(|stream| &stream.ends).enumerate();
        ends.map(|(port, connection)| OwnConnection { index: 0, port, connection }).collect()
    }
    fn lose_all(&mut self, now: Instant) {
        let lost: Vec<(u32, Direction, u32)> = self
            .gathered
            .drain(..)
            .flat_map(|queue| {
                let (connection, direction) = (queue.connection, queue.direction);
                queue.acks.into_iter().map(move |(_, segment)| (connection, direction, segment.ipv4_len()))
            })
            .chain(
                self.pending
                    .drain(..)
                    .map(|(_, connection, direction, segment)| (connection, direction, segment.ipv4_len())),
            )
            .collect();
        for (connection, direction, wire_len) in lost {
            self.base.events.push_back(Event::Dropped { connection, direction, payload_len: 0, wire_len });
        }
        self.flush_at = None;
        self.note_level(now);
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

#[cfg(test)]
mod tests {
    use super::*;

    const TUNNEL: u32 = 9;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }
    fn ack(number: u32) -> Segment {
        Segment { ack: SeqNumber(number), window: 100, flags: Flags::ACK, ..Segment::default() }
    }
    fn compaction(form: Form, spacing: Spacing) -> AckCompaction<()> {
        let wait = Duration::from_millis(50);
        AckCompaction::new(Settings { form, wait, rate: None, framing: 2, most: 60, spacing }, TUNNEL)
    }
    fn offer(middlebox: &mut AckCompaction<()>, now: Instant, mut segment: Segment, port: usize, of: u32) {
        let mut ecn = Ecn::NotEct;
        let direction = Direction::Forward;
        let packet = Passing { connection: of, direction, ecn: &mut ecn, segment: &mut segment, body: &() };
        assert_eq!(middlebox.handle_packet(now, port, packet), Verdict::Taken);
    }
    /// What leaves at a port: segments of connections.
    fn leaving(middlebox: &mut AckCompaction<()>, now: Instant, port: usize) -> Vec<(u32, Segment)> {
        let mut segment = Segment::default();
        let mut found = vec![];
        while let Some(departure) = middlebox.transmit_into(now, &mut segment) {
            assert_eq!(departure.port, port);
            found.push((departure.connection, segment));
        }
        found
    }
    /// Sends what waits over the link at once; the length on the wire of each packet.
    fn cross(middlebox: &mut AckCompaction<()>, now: Instant) -> Vec<u32> {
        middlebox.handle_timeout(now);
        let packets = leaving(middlebox, now, 0);
        for (connection, segment) in &packets {
            assert_eq!(*connection, TUNNEL);
            offer(middlebox, now, *segment, 1, TUNNEL);
        }
        packets.iter().map(|(_, segment)| segment.ipv4_len()).collect()
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
        let packets = leaving(&mut middlebox, at(10), 0);
        assert_eq!(packets.iter().map(|(_, p)| p.ipv4_len()).collect::<Vec<_>>(), [68, 28 + 140]);
        for (_, segment) in packets {
            offer(&mut middlebox, at(10), segment, 1, TUNNEL);
        }
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
        let mut middlebox: AckCompaction<()> = AckCompaction::new(settings, TUNNEL);
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
            for (_, segment) in leaving(&mut middlebox, at(50), 0) {
                if round != 1 {
                    offer(&mut middlebox, at(50), segment, 1, TUNNEL);
                    // A second copy says nothing.
                    offer(&mut middlebox, at(50), segment, 1, TUNNEL);
                }
            }
            let out = leaving(&mut middlebox, at(50), 1);
            assert_eq!(out.len(), usize::from(round != 1));
        }
        assert!(middlebox.counters().contains(&("tunnel_losses", 1)));
    }
}
