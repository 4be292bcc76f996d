//! QUIC flows: endpoints of crate `quic` in the place of TCP connections. Their datagrams travel as packets like all others; the
//! bytes wait beside the packet's slot.
//!
//! A flow has one QUIC connection. What is a connection of its own to an application (one of a web session's pairs of ends) is a
//! stream here, and closing it is that stream's end; the connection closes when a flow's only stream is complete.

use crate::packet::Packet;
use crate::streams::NO_GOAL;
use crate::totals::Totals;
use crate::world::World;
use bytes::BytesMut;
use longhaul_quic::{ConnectionKey, Datagram, Ecn as QuicEcn, Endpoint, Event, StreamId, Ticket, number};
use longhaul_results::{Arrived, FlowRow};
use longhaul_scenario::{HandshakeSpec, QuicSpec};
use longhaul_segment::{Ecn, EncodeError, IPV4_HEADER, Segment, ip};
use longhaul_tcp::{Event as TcpEvent, LimitedTime, Stats};
use longhaul_traffic::{ENDLESS, End, Side, Stream, Streams};
use longhaul_units::{Instant, Random, counters};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};

/// Bytes of an IPv4 and a UDP header (RFC 768).
pub(crate) const UDP_HEADERS: u32 = IPV4_HEADER + 8;
/// IP protocol number of UDP (RFC 768).
const PROTOCOL_UDP: u8 = 17;
/// Ports of clients and servers; hosts differ by their address.
const PORTS: [u16; 2] = [40_000, 443];

/// What an application wants of a stream.
#[derive(Clone, Copy)]
enum Order {
    Write(u64),
    Close,
    Abort,
}

/// One end of a stream.
#[derive(Default)]
struct Lane {
    stream: Option<StreamId>,
    orders: VecDeque<Order>,
    received: u64,
    /// Received bytes at which the application wants to be told.
    goal: Option<u64>,
    /// Nothing more is written.
    closed: bool,
    /// All that was written is acknowledged, and the end too.
    acknowledged: bool,
    /// The peer's end was read, or the peer has given up.
    complete: bool,
}

impl Lane {
    fn is_done(&self) -> bool {
        self.acknowledged && self.complete
    }
}

impl Stream for Lane {
    fn write(&mut self, bytes: u64) {
        self.orders.push_back(Order::Write(bytes));
    }
    fn close(&mut self) {
        self.orders.push_back(Order::Close);
    }
    fn abort(&mut self) {
        self.orders.push_back(Order::Abort);
    }
    fn received(&self) -> u64 {
        self.received
    }
}

counters! {
    /// What the connections of an end did that are no more.
    struct Past {
        sum sender: Stats,
        /// Bytes of streams that it has read.
        sum received: u64,
        sum limited: LimitedTime,
    }
}

/// One end of a flow's connection.
struct QuicEnd {
    endpoint: Endpoint,
    key: Option<ConnectionKey>,
    lanes: Vec<Lane>,
    arrived: Arrived,
    past: Past,
}

/// The connection of a flow.
pub(crate) struct QuicFlow {
    /// Client and server.
    ends: [QuicEnd; 2],
    ticket: Option<Ticket>,
    /// Which of the flow's pairs each stream belongs to.
    pair_of: BTreeMap<u64, usize>,
    /// The flow has several streams, which come and go.
    several: bool,
    /// The client is to close the connection.
    closing: bool,
    /// Why the last connection ended, unless it was closed.
    failure: Option<String>,
    /// No connection is left.
    over: bool,
    now: Instant,
}

/// What an event of a connection means for the rest of the simulation.
#[derive(Default)]
struct Told {
    /// The same in TCP's words, for the list of events.
    note: Option<TcpEvent>,
    connected: bool,
    /// A pair of which something came or ended.
    pair: Option<usize>,
    /// The connection is no more.
    lost: bool,
}

impl QuicFlow {
    /// The connection of a flow with so many pairs. The run's seed and the flow's name give its random numbers.
    pub fn new(spec: &QuicSpec, pairs: usize, seed: u64, name: &str, base: std::time::Instant) -> Self {
        let key = |what: &str| {
            let mut random = Random::stream(seed, &format!("{name} quic {what}"));
            let words: [[u8; 8]; 4] = std::array::from_fn(|_| random.bits().to_le_bytes());
            let mut key = [0; 32];
            key.chunks_exact_mut(8).zip(words).for_each(|(part, word)| part.copy_from_slice(&word));
            key
        };
        let ticket = match spec.handshake {
            HandshakeSpec::Full => None,
            HandshakeSpec::Resumed => ticket(spec, key("earlier"), base, false),
            HandshakeSpec::EarlyData => ticket(spec, key("earlier"), base, true),
        };
        let client =
            Endpoint::client(spec.settings(), key("Client"), base).expect("the scenario was checked");
        let server =
            Endpoint::server(spec.settings(), key("Server"), base).expect("the scenario was checked");
        QuicFlow {
            ends: [client, server].map(|endpoint| QuicEnd {
                endpoint,
                key: None,
                lanes: (0..pairs).map(|_| Lane::default()).collect(),
                arrived: Arrived::default(),
                past: Past::default(),
            }),
            ticket,
            pair_of: BTreeMap::new(),
            several: pairs > 1,
            closing: false,
            failure: None,
            over: false,
            now: Instant::ZERO,
        }
    }

    /// Its state, in the words of RFC 9000 section 10.
    pub fn state(&self) -> &'static str {
        let client = &self.ends[0];
        match client.key {
            _ if self.over => "Closed",
            Some(key) if client.endpoint.is_over(key) => "Closed",
            Some(key) if client.endpoint.is_connected(key) => "Established",
            Some(_) => "Handshake",
            None => "Idle",
        }
    }

    /// Why its connection ended, unless it was closed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Packets with stream data that have reached a host.
    pub fn data_packets(&self) -> u64 {
        self.ends.iter().map(|end| end.arrived.packets).sum()
    }

    /// Congestion window of one end, in bytes.
    pub fn window(&self, side: Side) -> u64 {
        let end = &self.ends[side as usize];
        end.key.map_or(0, |key| end.endpoint.window(key))
    }

    /// Counters from the start to now; the data come from `side`.
    pub fn totals(&self, now: Instant, side: Side) -> Totals {
        let (sender, receiver) = (&self.ends[side as usize], &self.ends[1 - side as usize]);
        let mut past = sender.past;
        let mut delivered = receiver.past.received;
        if let Some(key) = sender.key {
            past.merge(&Past {
                sender: sender.endpoint.stats(key),
                received: 0,
                limited: sender.endpoint.limited_time(now, key),
            });
        }
        if let Some(key) = receiver.key {
            delivered += receiver.endpoint.received_bytes(key);
        }
        Totals {
            sender: past.sender,
            delivered,
            arrived: receiver.arrived,
            lost: 0,
            made: 0,
            limited: past.limited,
        }
    }

    /// State of the sender of the flow's data, for the time series.
    pub fn row(&self, side: Side) -> FlowRow {
        let end = &self.ends[side as usize];
        let Some(key) = end.key else { return FlowRow::default() };
        let measured = end.endpoint.measured(key);
        let sampled = measured.filter(|measured| measured.rtt_samples > 0);
        FlowRow {
            cwnd_bytes: end.endpoint.window(key) as f64,
            ssthresh_bytes: end.endpoint.ssthresh(key).map(|bytes| bytes as f64),
            flight_bytes: measured.map_or(0.0, |measured| measured.in_flight as f64),
            srtt_s: sampled.map(|measured| measured.srtt.as_secs_f64()),
            ..FlowRow::default()
        }
    }

    /// Does what was asked for at both ends, as far as there is a connection for it.
    fn carry_out(&mut self) {
        for side in [Side::Client, Side::Server] {
            for pair in 0..self.ends[side as usize].lanes.len() {
                if !self.ends[side as usize].lanes[pair].orders.is_empty() {
                    self.carry_out_on(side, pair);
                }
            }
        }
        if std::mem::take(&mut self.closing) {
            if let Some(key) = self.ends[0].key {
                self.ends[0].endpoint.close(self.now, key, 0);
            }
        }
    }

    /// The client's connection, which is opened if there is none.
    fn connection(&mut self) -> Option<ConnectionKey> {
        let client = &mut self.ends[0];
        if client.key.is_none() && (self.several || !self.over) {
            let (server, ticket) = (address(Side::Server), self.ticket.clone());
            // The address is one of a server, and there is a connection ID: there is no other connection.
            client.key = client.endpoint.connect(self.now, server, "server.example", ticket).ok();
            self.over = false;
        }
        client.key
    }

    fn carry_out_on(&mut self, side: Side, pair: usize) {
        let key = if side == Side::Client { self.connection() } else { self.ends[1].key };
        let early = self.ticket.as_ref().is_some_and(|ticket| ticket.early_data);
        let QuicEnd { endpoint, lanes, .. } = &mut self.ends[side as usize];
        let lane = &mut lanes[pair];
        let Some(key) = key else { return };
        while let Some(order) = lane.orders.front().copied() {
            if matches!(order, Order::Abort) && !self.several {
                endpoint.close(self.now, key, 1);
                lane.orders.clear();
                return;
            }
            if lane.stream.is_none() && side == Side::Client && (early || endpoint.is_connected(key)) {
                lane.stream = endpoint.open(key);
                lane.stream.map(|stream| self.pair_of.insert(number(stream), pair));
            }
            // A server writes on its client's streams.
            let Some(stream) = lane.stream else { return };
            match order {
                Order::Write(bytes) => {
                    endpoint.write(key, stream, if bytes == ENDLESS { u64::MAX } else { bytes })
                }
                Order::Close if lane.closed => {}
                Order::Close => {
                    endpoint.finish(key, stream);
                    lane.closed = true;
                }
                Order::Abort => {
                    endpoint.reset(key, stream, 1);
                    endpoint.stop(key, stream, 1);
                    (lane.closed, lane.acknowledged, lane.complete) = (true, true, true);
                }
            }
            lane.orders.pop_front();
        }
    }

    /// Takes up an event of one end.
    fn take(&mut self, side: Side, key: ConnectionKey, event: &Event) -> Told {
        let pair_of = |stream: &StreamId| self.pair_of.get(&number(*stream)).copied();
        let end = &mut self.ends[side as usize];
        let note = |event| Told { note: Some(event), ..Told::default() };
        match event {
            Event::Connected => {
                end.key = Some(key);
                return Told { connected: true, ..note(TcpEvent::Connected) };
            }
            Event::Opened(stream) => {
                // Early data come before the handshake is complete.
                end.key = Some(key);
                if let Some(pair) = pair_of(stream) {
                    end.lanes[pair].stream = Some(*stream);
                    return Told { pair: Some(pair), ..Told::default() };
                }
            }
            Event::Received { stream, bytes, end: last } => {
                if let Some(pair) = pair_of(stream).filter(|pair| end.lanes[*pair].stream == Some(*stream)) {
                    let lane = &mut end.lanes[pair];
                    lane.received += bytes;
                    if *last {
                        lane.complete = true;
                        // Whoever has no more to come has no more to answer: as with TCP.
                        lane.orders.push_back(Order::Close);
                    }
                    return Told { pair: Some(pair), ..Told::default() };
                }
            }
            Event::Acknowledged(stream) | Event::Stopped { stream, .. } | Event::Reset { stream, .. } => {
                if let Some(pair) = pair_of(stream).filter(|pair| end.lanes[*pair].stream == Some(*stream)) {
                    let lane = &mut end.lanes[pair];
                    lane.acknowledged = true;
                    lane.complete |= !matches!(event, Event::Acknowledged(_));
                    return Told { pair: Some(pair), ..Told::default() };
                }
            }
            Event::LossEvent { in_flight } => {
                return note(TcpEvent::FastRetransmit { lost: 0, flight_size: *in_flight });
            }
            Event::EcnEvent => return note(TcpEvent::EcnReduction),
            Event::PersistentCongestion => {
                return note(TcpEvent::Timeout { lost: 0, flight_size: 0, backoff: 1 });
            }
            Event::RecoveryEnd => return note(TcpEvent::RecoveryEnd),
            Event::Lost { reason, closed } => {
                if !closed {
                    self.failure.get_or_insert_with(|| reason.clone());
                }
                return Told {
                    lost: true,
                    ..note(if *closed { TcpEvent::Closed } else { TcpEvent::TimedOut })
                };
            }
            Event::Readable(_) | Event::Writable(_) => {}
        }
        Told::default()
    }

    /// A connection is no more at one end: its counters are kept.
    fn end_connection(&mut self, side: Side) {
        let (now, end) = (self.now, &mut self.ends[side as usize]);
        let Some(key) = end.key.take() else { return };
        let QuicEnd { endpoint, past, .. } = end;
        past.merge(&Past {
            sender: endpoint.stats(key),
            received: endpoint.received_bytes(key),
            limited: endpoint.limited_time(now, key),
        });
        self.over |= side == Side::Client;
    }

    /// Both ends of a pair's stream are done.
    fn is_gone(&self, pair: usize) -> bool {
        self.ends.iter().all(|end| end.lanes[pair].stream.is_some() && end.lanes[pair].is_done())
    }
}

impl Streams for QuicFlow {
    fn end(&mut self, end: End) -> &mut dyn Stream {
        &mut self.ends[end.side as usize].lanes[end.pair]
    }
    fn look(&self, end: End) -> &dyn Stream {
        &self.ends[end.side as usize].lanes[end.pair]
    }
    fn want(&mut self, end: End, total: u64) {
        self.ends[end.side as usize].lanes[end.pair].goal = Some(total).filter(|total| *total != NO_GOAL);
    }
    fn open(&mut self, pair: usize) {
        self.ends.iter_mut().for_each(|end| end.lanes[pair] = Lane::default());
    }
}

fn address(side: Side) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1 + side as u8), PORTS[side as usize]))
}

/// A ticket from an earlier connection to the same server, over a path without delay.
fn ticket(spec: &QuicSpec, key: [u8; 32], base: std::time::Instant, early_data: bool) -> Option<Ticket> {
    let mut ends = [
        Endpoint::client(spec.settings(), key, base).ok()?,
        Endpoint::server(spec.settings(), key.map(|byte| !byte), base).ok()?,
    ];
    let connection = ends[0].connect(Instant::ZERO, address(Side::Server), "server.example", None).ok()?;
    let sides = [Side::Client, Side::Server];
    while !ends[0].is_connected(connection) {
        let mut sent = false;
        for from in 0..2 {
            while let Some(datagram) = ends[from].poll_transmit(Instant::ZERO) {
                sent = true;
                let bytes = BytesMut::from(datagram.bytes.as_slice());
                ends[1 - from].handle_datagram(Instant::ZERO, address(sides[from]), QuicEcn::NotEct, bytes);
            }
        }
        if !sent {
            return None;
        }
    }
    ends[0].ticket(connection, early_data)
}

impl World<'_> {
    /// A datagram reaches its endpoint.
    #[inline(never)]
    pub fn receive_datagram(&mut self, packet: Packet, hand_over: bool) {
        let index = packet.to as usize;
        let datagram = self.fabric.segments.take_datagram(&packet);
        self.fabric.segments.release(packet);
        let (flow, side) = (self.network.flow_of(index), side_of(index));
        let (Some(datagram), Some(quic)) = (datagram, &mut self.quic[flow]) else { return };
        quic.now = self.now;
        let end = &mut quic.ends[side as usize];
        if datagram.content.stream_bytes > 0 {
            end.arrived.packets += 1;
            end.arrived.wire_bytes += u64::from(packet.wire_len);
            end.arrived.marked += u64::from(packet.ecn == Ecn::Ce);
        }
        let ecn = match packet.ecn {
            Ecn::NotEct => QuicEcn::NotEct,
            Ecn::Ect0 => QuicEcn::Ect0,
            Ecn::Ect1 => QuicEcn::Ect1,
            Ecn::Ce => QuicEcn::Ce,
        };
        let bytes = BytesMut::from(bytes::Bytes::from(datagram.bytes));
        end.endpoint.handle_datagram(self.now, address(other(side)), ecn, bytes);
        self.serve_quic(index, hand_over);
    }

    /// An endpoint's timer is due.
    pub fn quic_timeout(&mut self, index: usize) {
        let flow = self.network.flow_of(index);
        if let Some(quic) = &mut self.quic[flow] {
            quic.now = self.now;
            quic.ends[side_of(index) as usize].endpoint.handle_timeout(self.now);
        }
    }

    /// Does all that an endpoint wants after an input.
    pub fn serve_quic(&mut self, index: usize, hand_over: bool) {
        let (flow, side) = (self.network.flow_of(index), side_of(index));
        loop {
            self.transmit_datagrams(index, hand_over);
            let Some(quic) = &mut self.quic[flow] else { return };
            quic.now = self.now;
            let Some((key, event)) = quic.ends[side as usize].endpoint.poll_event() else { break };
            let told = quic.take(side, key, &event);
            if told.lost {
                quic.end_connection(side);
            }
            quic.carry_out();
            self.tell_of_quic(flow, index, told);
        }
        let Some(quic) = &mut self.quic[flow] else { return };
        let due = quic.ends[side as usize].endpoint.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        self.set_due(index, due);
    }

    /// Tells the application and the list of events what an event of a connection means.
    fn tell_of_quic(&mut self, flow: usize, index: usize, told: Told) {
        let (now, side) = (self.now, side_of(index));
        let several = self.quic[flow].as_ref().is_some_and(|quic| quic.several);
        if let Some(event) = told.note {
            self.note_event(flow, index, event, several);
        }
        if told.connected && !several && side == Side::Client {
            self.call(flow, None, Some(index), |app, streams| app.connected(streams));
        }
        if let Some(pair) = told.pair {
            self.reach_over_quic(flow, index, pair);
        }
        if told.lost && several && side == Side::Client {
            // Streams that were open are no more.
            for pair in 0..self.quic[flow].as_ref().map_or(0, |quic| quic.ends[0].lanes.len()) {
                let Some(quic) = &mut self.quic[flow] else { return };
                let open = quic.ends[0].lanes[pair].stream.is_some();
                if open {
                    quic.open(pair);
                    self.call(flow, None, Some(index), |app, streams| app.gone(now, pair, streams));
                }
            }
        }
    }

    fn reach_over_quic(&mut self, flow: usize, index: usize, pair: usize) {
        let (now, side) = (self.now, side_of(index));
        // What has come may be several messages.
        loop {
            let Some(quic) = &mut self.quic[flow] else { return };
            let lane = &mut quic.ends[side as usize].lanes[pair];
            if lane.goal.is_none_or(|goal| lane.received < goal) {
                break;
            }
            lane.goal = None;
            self.call(flow, None, Some(index), |app, streams| app.reached(now, End { pair, side }, streams));
        }
        let Some(quic) = &mut self.quic[flow] else { return };
        if !quic.is_gone(pair) {
            return;
        }
        if quic.several {
            quic.open(pair);
            self.call(flow, None, Some(index), |app, streams| app.gone(now, pair, streams));
        } else {
            quic.closing = true;
            quic.carry_out();
            self.serve_other(flow, index);
        }
    }

    /// Serves the other end of a flow's connection, where an application has acted on it.
    pub fn serve_other(&mut self, flow: usize, index: usize) {
        let first = 2 * self.first_connection(flow);
        self.serve_quic(first + (index + 1) % 2, true);
    }

    /// Calls the application of a QUIC flow. False if the flow is none.
    pub fn call_over_quic(
        &mut self,
        flow: usize,
        serving: Option<usize>,
        action: impl FnOnce(&mut longhaul_traffic::App, &mut dyn Streams),
    ) {
        let Some(mut quic) = self.quic[flow].take() else { return };
        quic.now = self.now;
        let before = [Side::Client, Side::Server].map(|side| quic.ends[side as usize].key);
        action(&mut self.apps[flow], &mut *quic);
        let waits = |end: &QuicEnd| end.lanes.iter().any(|lane| !lane.orders.is_empty());
        let touched = [waits(&quic.ends[0]), waits(&quic.ends[1])];
        quic.carry_out();
        let opened = quic.ends[0].key != before[0];
        self.quic[flow] = Some(quic);
        let first = 2 * self.first_connection(flow);
        for (side, touched) in touched.into_iter().enumerate() {
            if (touched || (side == 0 && opened)) && Some(first + side) != serving {
                self.serve_quic(first + side, true);
            }
        }
    }

    fn transmit_datagrams(&mut self, index: usize, hand_over: bool) {
        let (flow, side) = (self.network.flow_of(index), side_of(index));
        let Some(quic) = &mut self.quic[flow] else { return };
        while let Some(datagram) = quic.ends[side as usize].endpoint.poll_transmit(self.now) {
            let endpoint = &mut self.endpoints[index];
            let departure = match &mut endpoint.overhead {
                None => self.now,
                Some(overhead) => overhead.departure(self.now),
            };
            let (to, weight, link) = (endpoint.peer, endpoint.weight, endpoint.first_link as usize);
            if let Some(packet) = self.fabric.segments.packet_of(to, weight, datagram) {
                self.fabric.send(&mut self.recorder, departure, link, packet, hand_over);
            }
        }
    }
}

fn side_of(endpoint: usize) -> Side {
    if endpoint % 2 == 0 { Side::Client } else { Side::Server }
}

fn other(side: Side) -> Side {
    if side == Side::Client { Side::Server } else { Side::Client }
}

/// Bytes of a datagram that a capture keeps: headers and the frames before the data.
const CAPTURED: usize = 128;

/// What a capture keeps of a datagram.
pub(crate) fn captured(datagram: &Datagram) -> Box<[u8]> {
    datagram.bytes[..datagram.bytes.len().min(CAPTURED)].into()
}

/// A captured packet as it would be on the wire: IP and UDP headers, and the first bytes of the datagram. Each connection has a
/// client's port of its own; the checksum is left out, as IPv4 allows (RFC 768).
pub(crate) fn encode(
    ip: &ip::Header,
    packet: &Packet,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let udp_len = packet.wire_len - IPV4_HEADER;
    ip.encode(PROTOCOL_UDP, udp_len, out)?;
    let client = 1024 + (packet.to / 2 % 60_000) as u16;
    let [from, to] = if packet.to % 2 == 0 { [PORTS[1], client] } else { [client, PORTS[1]] };
    for field in [from, to, udp_len as u16, 0] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(payload);
    Ok(())
}

/// What a packet's place among the segments says of a datagram: how much of streams is in it.
pub(crate) fn stand_in(datagram: &Datagram) -> (Segment, Ecn) {
    let ecn = match datagram.ecn {
        QuicEcn::NotEct => Ecn::NotEct,
        QuicEcn::Ect0 => Ecn::Ect0,
        QuicEcn::Ect1 => Ecn::Ect1,
        QuicEcn::Ce => Ecn::Ce,
    };
    (Segment { payload_len: datagram.content.stream_bytes, ..Segment::default() }, ecn)
}
