//! The two nodes of an accelerator: hosts' connections end at them, and `longhaul-hop`, the transport that `longhaul-pep` deploys, carries
//! the bytes between them: flows with credits, a rate controller and parities over one QUIC connection. Here its datagrams cross simulated
//! links, or emulated ones with real packets. Its session is the one without cryptography, whose sizes are those of TLS.
//!
//! The first node opens the hop at time zero; connections of hosts that come before it is up wait for it.
//!
//! **Keeps** and **breaks** what a split does (see [`crate::split`]): a slow host's data wait at the other node up to `buffer`, then with
//! the hop up to a flow's credit, then with the other host, whose window closes. An outage longer than the idle timeout resets all
//! connections.
//!
//! After [`fail`](crate::Middlebox::fail) every connection is unknown: hosts that send are answered with a reset.

use crate::base::{Table, counters};
use crate::levels::Levels;
use crate::nodes::{Account, ByNumber, Directory, Ends, Node, Note, TwoNodes};
use crate::split::Plans;
use crate::split::hosts::{self, Hosts};
use crate::split::local::{Broken, Local};
use crate::{Base, Data, Departure, Direction, Middlebox, OwnConnection, Passing, Payload, Verdict};
use bytes::{Bytes, BytesMut};
use longhaul_hop::{Config, ConfigError, Event, FlowId, Open, PeerId, Refusal, ResetCode};
use longhaul_segment::{Ecn, Flags, Segment, TCP_HEADER, UDP_HEADER};
use longhaul_tcp::Stats;
use longhaul_units::{Instant, Random};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// Most bytes that are handed over at once.
const PIECE: u64 = 1 << 16;

/// Everything that can be set.
#[derive(Clone)]
pub struct Settings {
    /// Of the first node, which has to be a terminal, and of the second, a hub. Batches of packets are not for links that carry single
    /// ones: they hold one.
    pub nodes: [Config; 2],
    /// Bytes that wait at most at a connection to a host for that host.
    pub buffer: u64,
    /// Number of the hop among the connections.
    pub first_number: u32,
}

/// Addresses of the two nodes, which nobody else reads.
pub const ADDRESSES: [&str; 2] = ["192.0.2.1:4433", "192.0.2.2:4433"];

fn address(side: usize) -> SocketAddr {
    ADDRESSES[side].parse().expect("a constant")
}

/// The role of the first node.
pub fn terminal() -> longhaul_hop::Role {
    longhaul_hop::Role::Terminal { hub: address(1) }
}

counters! {
    /// What a node has done on the hop.
    struct Counts {
        long_hop_packets,
        hop_lost_packets,
        hop_parity_bytes,
        hop_restored_bytes,
        hop_acks,
        hop_overloads,
    }
}

/// A connection to a host.
struct End<P: Payload> {
    local: Local<P>,
    /// The flow that takes what the host sends.
    out: Option<FlowId>,
    /// The flow that brings what the other host sends: the same, but where both nodes have seen the connection first.
    into: Option<FlowId>,
    /// Of the host, and not taken by the hop yet.
    rest: Bytes,
    /// Which of the connections with this number it is.
    generation: u32,
}

/// One of the two nodes.
pub struct HopNode<P: Payload> {
    side: usize,
    hosts: Hosts,
    directory: Box<dyn Directory>,
    buffer: u64,
    number: u32,
    node: longhaul_hop::Node,
    peer: Option<PeerId>,
    ends: Table<End<P>>,
    flows: BTreeMap<FlowId, u32>,
    generations: Table<u32>,
    /// Connections without a flow, since the hop is not up.
    waiting: VecDeque<u32>,
    /// Connections that are to be asked for packets.
    dirty: VecDeque<u32>,
    notes: VecDeque<Note>,
    /// When the hop is to be woken; at the beginning at once.
    due: Option<Instant>,
    datagram: Vec<u8>,
    base: Base<P>,
}

impl<P: Payload> HopNode<P> {
    /// The first node (`side` 0) or the second (1).
    ///
    /// # Errors
    /// Settings that cannot be.
    pub fn new(
        side: usize,
        plans: Plans,
        settings: &Settings,
        directory: Box<dyn Directory>,
        mut random: Random,
    ) -> Result<Self, ConfigError> {
        let mut seed = [0; 32];
        seed.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&random.bits().to_le_bytes()));
        let config = Config { batch: 1, ..settings.nodes[side].clone() };
        Ok(HopNode {
            side,
            hosts: Hosts::new(plans, random),
            directory,
            buffer: settings.buffer,
            number: settings.first_number,
            node: longhaul_hop::Node::new(config, seed, Instant::ZERO)?,
            peer: None,
            ends: Table::default(),
            flows: BTreeMap::new(),
            generations: Table::default(),
            waiting: VecDeque::new(),
            dirty: VecDeque::new(),
            notes: VecDeque::new(),
            due: Some(Instant::ZERO),
            datagram: vec![],
            base: Base::new(Levels::default()),
        })
    }

    fn end(&mut self, connection: u32) -> Option<&mut End<P>> {
        self.ends.get_mut(connection as usize)
    }
    fn touch(&mut self, connection: u32) {
        if self.end(connection).is_some_and(|end| !std::mem::replace(&mut end.local.dirty, true)) {
            self.dirty.push_back(connection);
        }
    }
    /// A connection begins, in the place of one that is over.
    fn put(&mut self, now: Instant, connection: u32, local: Local<P>, flow: Option<FlowId>) {
        if let Some(old) = self.ends.take(connection as usize) {
            self.give_up(now, [old.out, old.into], ResetCode::Reset);
            self.hosts.retire(&old.local);
        }
        self.flows.extend(flow.map(|flow| (flow, connection)));
        let generation = self.next_generation(connection);
        self.ends
            .put(connection as usize, End { local, out: flow, into: flow, rest: Bytes::new(), generation });
    }
    fn next_generation(&mut self, connection: u32) -> u32 {
        let generation = self.generations.get_or_insert_with(connection as usize, || 0);
        *generation += 1;
        *generation
    }
    /// Flows end before their end; those that have ended stay so.
    fn give_up(&mut self, now: Instant, flows: [Option<FlowId>; 2], code: ResetCode) {
        for flow in flows.into_iter().flatten() {
            if self.flows.remove(&flow).is_some() {
                self.node.reset(now, flow, code);
            }
        }
    }

    // Hosts.

    fn on_host_packet(&mut self, now: Instant, packet: Passing<'_, P>) {
        let Passing { connection, direction, ecn, segment, body } = packet;
        if !self.has_end(now, connection, direction, segment) {
            return self.base.refuse(0, connection, direction, segment);
        }
        if let Some(end) = self.end(connection) {
            end.local.connection.handle_segment(now, segment, *ecn, body);
        }
        self.settle(now, connection);
    }

    /// Finds or makes the end that a host's packet is for; false if there can be none.
    fn has_end(&mut self, now: Instant, number: u32, direction: Direction, segment: &Segment) -> bool {
        let towards = direction.opposite();
        let gone = self.end(number).is_none_or(|end| end.local.gives_way_to(segment));
        if hosts::opens(segment) && gone {
            let local = self.hosts.accept(number, towards, segment);
            self.begin(now, number, local);
        } else if self.end(number).is_none() {
            let local = self.hosts.established(number, towards, hosts::ports_to_sender(segment));
            let Some(local) = local else { return false };
            self.begin(now, number, local);
        }
        self.end(number).is_some_and(|end| !end.local.is_closed())
    }

    /// A host's connection, which the other node is told of as soon as the hop is up.
    fn begin(&mut self, now: Instant, number: u32, local: Local<P>) {
        self.put(now, number, local, None);
        self.waiting.push_back(number);
        self.open_waiting(now);
    }

    fn open_waiting(&mut self, now: Instant) {
        let Some(peer) = self.peer else { return };
        while let Some(number) = self.waiting.pop_front() {
            let Some(end) = self.ends.get_mut(number as usize) else { continue };
            if end.local.broken || end.out.is_some() {
                continue;
            }
            let (ports, direction) = (end.local.connection.ports(), end.local.direction);
            let ports = match direction {
                Direction::Forward => [ports.local, ports.remote],
                Direction::Reverse => [ports.remote, ports.local],
            };
            let Ends { active, passive } = self.directory.ends(number, ports);
            // The flow's source is the host at this node.
            let [source, destination] = match direction {
                Direction::Forward => [passive, active],
                Direction::Reverse => [active, passive],
            };
            let open = Open { source, destination, dscp: 0, priority: 0, confirm: false };
            match self.node.open(now, peer, open) {
                Ok(flow) => {
                    end.out = Some(flow);
                    end.into = Some(flow);
                    self.flows.insert(flow, number);
                }
                Err(Refusal::Down) => return self.waiting.push_front(number),
                Err(Refusal::TooMany | Refusal::Malformed) => {
                    end.local.break_off();
                    self.notes.push_back(Note::Broken(number, Broken::Hop));
                }
            }
            self.settle(now, number);
        }
    }

    /// Does what has become possible at a connection.
    fn settle(&mut self, now: Instant, number: u32) {
        let Some(end) = self.end(number) else { return };
        if let Some(why) = end.local.take_events() {
            let flows = [end.out, end.into];
            end.rest = Bytes::new();
            let code = if why == Broken::TimedOut { ResetCode::TimedOut } else { ResetCode::Reset };
            self.notes.push_back(Note::Broken(number, why));
            self.give_up(now, flows, code);
        }
        self.carry_out(now, number);
        self.carry_in(now, number);
        self.touch(number);
    }

    /// Hands what the host has sent to the hop, as much as that takes.
    fn carry_out(&mut self, now: Instant, number: u32) {
        let Some(end) = self.ends.get_mut(number as usize).filter(|end| !end.local.broken) else { return };
        let Some(out) = end.out else { return };
        loop {
            if end.rest.is_empty() {
                end.rest = end.local.connection.read(now, PIECE).into_shared();
            }
            if end.rest.is_empty() {
                break;
            }
            self.node.write(now, out, &mut end.rest);
            if !end.rest.is_empty() {
                return;
            }
        }
        if end.local.has_end_to_pass() {
            end.local.end_passed = true;
            self.node.finish(now, out);
        }
    }

    /// Hands what has come over the hop to the host's connection, as long as little waits there.
    fn carry_in(&mut self, now: Instant, number: u32) {
        let Some(end) = self.ends.get_mut(number as usize).filter(|end| !end.local.broken) else { return };
        let Some(into) = end.into else { return };
        loop {
            let room = self.buffer.saturating_sub(end.local.backlog()).min(PIECE);
            if room == 0 {
                return;
            }
            let Some(bytes) = self.node.read(now, into, room as usize) else { return };
            end.local.connection.write(&P::Data::of_host(bytes));
        }
    }

    // The hop.

    /// Takes up what the hop reports; false if that is nothing.
    fn take_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.node.poll_event() {
            any = true;
            match event {
                // Not when QUIC's handshake is complete here: the other node may still give it up, and connections with it.
                Event::Connected { .. } => {}
                Event::Up { peer, .. } => {
                    self.peer = Some(peer);
                    self.open_waiting(now);
                }
                Event::Down { peer, .. } => self.peer = self.peer.filter(|known| *known != peer),
                Event::Opened { flow, open, .. } => self.on_opened(now, flow, &open),
                Event::Readable { flow } | Event::Writable { flow } => {
                    if let Some(number) = self.flows.get(&flow).copied() {
                        self.settle(now, number);
                    }
                }
                Event::Finished { flow } => self.on_finished(now, flow),
                Event::Reset { flow, code } | Event::Refused { flow, reason: code } => {
                    self.on_reset(now, flow, code);
                }
                Event::Delivered { .. } | Event::Accepted { .. } => {}
            }
        }
        any
    }

    /// The other node's host has opened a connection.
    fn on_opened(&mut self, now: Instant, flow: FlowId, open: &Open) {
        let there = Ends { active: open.source, passive: open.destination };
        let back = Ends { active: open.destination, passive: open.source };
        let mut find = |ends: Ends| self.directory.number(&ends).map(|number| (number, ends));
        let (number, ends, towards) = match (find(there), find(back)) {
            (Some((number, ends)), _) => (number, ends, Direction::Forward),
            (None, Some((number, ends))) => (number, ends, Direction::Reverse),
            (None, None) => return self.node.reset(now, flow, ResetCode::Denied),
        };
        let established = self.hosts.established(number, towards, ends.ports(towards));
        match self.end(number) {
            Some(end) if !end.local.is_over() && established.is_some() => {
                // Both nodes have seen the connection first: each writes on its own flow.
                end.into = Some(flow);
                end.out = end.out.or(Some(flow));
                if end.out != end.into {
                    self.node.finish(now, flow);
                }
                self.flows.insert(flow, number);
            }
            Some(end) if !end.local.is_over() => {
                self.next_generation(number);
                return self.node.reset(now, flow, ResetCode::Reset);
            }
            _ => {
                let local =
                    established.unwrap_or_else(|| self.hosts.connect(number, towards, ends.ports(towards)));
                self.put(now, number, local, Some(flow));
            }
        }
        self.settle(now, number);
    }

    /// All of a flow was read, and nothing more will come.
    fn on_finished(&mut self, now: Instant, flow: FlowId) {
        let Some(number) = self.flows.get(&flow).copied() else { return };
        if let Some(end) = self.end(number).filter(|end| end.into == Some(flow) && !end.local.broken) {
            end.local.close();
        }
        self.settle(now, number);
    }

    fn on_reset(&mut self, now: Instant, flow: FlowId, code: ResetCode) {
        let Some(number) = self.flows.remove(&flow) else { return };
        let Some(end) = self.end(number).filter(|end| !end.local.broken) else { return };
        let flows = [end.out, end.into];
        end.rest = Bytes::new();
        end.local.break_off();
        if code == ResetCode::HopDown {
            self.notes.push_back(Note::Broken(number, Broken::Hop));
        }
        self.give_up(now, flows, code);
        self.touch(number);
    }

    // What leaves.

    fn transmit_local(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        while let Some(&connection) = self.dirty.front() {
            if let Some(end) = self.end(connection) {
                if let Some((ecn, body)) = end.local.connection.transmit_into(now, segment) {
                    let direction = end.local.direction;
                    return Some(Departure { port: 0, connection, direction, ecn, body });
                }
                end.local.dirty = false;
                let due = end.local.poll_timeout();
                self.base.timers.set(connection as usize, due);
            }
            self.notes.push_back(Note::Changed(connection));
            self.dirty.pop_front();
        }
        None
    }

    fn transmit_datagram(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        let transmit = self.node.poll_transmit(now, &mut self.datagram)?;
        let len = self.datagram.len() as u32;
        *segment = Segment {
            flags: Flags::NONE,
            payload_len: (len + UDP_HEADER).saturating_sub(TCP_HEADER),
            ..Segment::default()
        };
        let body = P::of(len, || std::mem::take(&mut self.datagram));
        let (direction, ecn) = (Direction::BOTH[self.side], Ecn::from_bits(transmit.ecn));
        Some(Departure { port: 0, connection: self.number, direction, ecn, body })
    }

    fn on_datagram(&mut self, now: Instant, packet: &Passing<'_, P>) {
        let bytes = BytesMut::from(&packet.body.data().to_bytes()[..]);
        self.node.handle_datagram(now, address(1 - self.side), None, *packet.ecn as u8, bytes);
        self.take_events(now);
    }

    fn counts(&self) -> Counts {
        let stats = self.node.total_stats();
        Counts {
            long_hop_packets: stats.sent_packets,
            hop_lost_packets: stats.lost_packets,
            hop_parity_bytes: stats.parity_bytes,
            hop_restored_bytes: stats.restored_bytes,
            hop_acks: stats.acks,
            hop_overloads: stats.overloads,
        }
    }
}

impl<P: Payload> Middlebox<P> for HopNode<P> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, P>) -> Verdict {
        let is_datagram = packet.connection >= self.number;
        if self.base.failed {
            if !is_datagram {
                self.base.refuse(0, packet.connection, packet.direction, packet.segment);
            }
        } else if is_datagram {
            self.on_datagram(now, &packet);
        } else {
            self.on_host_packet(now, packet);
        }
        Verdict::Taken
    }

    fn on_timer(&mut self, now: Instant, owner: usize) {
        let Some(end) = self.ends.get_mut(owner) else { return };
        match end.local.poll_timeout() {
            Some(due) if due <= now => end.local.connection.handle_timeout(now),
            due => return self.base.timers.set(owner, due),
        }
        self.settle(now, owner as u32);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(owner) = self.base.timers.expired(now) {
            self.on_timer(now, owner);
        }
        if self.due.is_some_and(|due| due <= now) {
            self.node.handle_timeout(now);
            self.take_events(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.base.failed {
            return None;
        }
        self.due.into_iter().chain(self.base.timers.next()).min()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        if self.base.failed {
            return None;
        }
        loop {
            let departure =
                self.transmit_local(now, segment).or_else(|| self.transmit_datagram(now, segment));
            if departure.is_some() {
                return departure;
            }
            // What was sent may have made room for more.
            if !self.take_events(now) {
                break;
            }
        }
        self.due = self.node.poll_timeout();
        None
    }

    fn lose_all(&mut self, _now: Instant) {
        for number in 0..self.ends.end() {
            if let Some(end) = self.ends.take(number) {
                self.hosts.retire(&end.local);
            }
        }
        self.flows.clear();
        self.waiting.clear();
        self.dirty.clear();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let locals = self.ends.iter().map(|end| &end.local);
        [self.hosts.counters(locals), self.counts().list()].concat()
    }
    fn base(&self) -> &Base<P> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.base
    }
    /// The hop as a connection: bytes and packets are those of its datagrams, and its window is what its rate allows in flight. A packet
    /// that was lost counts as sent again, though parities may have restored what was in it.
    fn own_connections(&self) -> Vec<OwnConnection> {
        let of = self.node.total_stats();
        let stats = Stats {
            data_segments_sent: of.sent_packets,
            data_bytes_sent: of.sent_bytes,
            retransmitted_segments: of.lost_packets,
            rtt_samples: of.rtt_samples,
            rtt_sum: of.rtt_sum,
            ..Stats::default()
        };
        vec![OwnConnection {
            index: 0,
            port: 0,
            stats,
            cwnd: of.window,
            ssthresh: u64::MAX,
            flight: of.in_flight,
            unsent: of.queued,
            srtt: of.rtt,
        }]
    }
}

impl<P: Payload> Node<P> for HopNode<P> {
    fn account(&self, connection: u32) -> Option<Account> {
        self.ends.get(connection as usize).map(|end| end.local.account(end.generation))
    }
    fn poll_note(&mut self) -> Option<Note> {
        self.notes.pop_front()
    }
}

/// Both nodes in one world; `randoms` are for initial sequence numbers and for what QUIC draws.
///
/// # Errors
/// Settings that cannot be.
pub fn hop<P: Payload>(
    plans: &Plans,
    settings: &Settings,
    randoms: [Random; 2],
) -> Result<TwoNodes<P>, ConfigError> {
    let [first, second] = randoms;
    let node = |side, random| HopNode::new(side, plans.clone(), settings, Box::new(ByNumber), random);
    Ok(TwoNodes::of_proxy([Box::new(node(0, first)?), Box::new(node(1, second)?)], false))
}
