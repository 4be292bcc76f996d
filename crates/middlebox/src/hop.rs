//! The two nodes of an accelerator: hosts' connections end at them, and `longhaul-hop`, the transport that `longhaul-pep` deploys, carries
//! the bytes between them: flows with credits, a rate controller and parities over one QUIC connection, or flows with credits over several
//! TCP connections. Here its packets cross simulated links, or emulated ones with real packets. Its sessions are those without
//! cryptography, whose sizes are those of TLS.
//!
//! The first node opens the hop at time zero; connections of hosts that come before it is up wait for it.
//!
//! **Keeps** and **breaks** what a split does (see [`crate::split`]): a slow host's data wait at the other node up to `buffer`, then with
//! the hop up to a flow's credit, then with the other host, whose window closes. An outage longer than the idle timeout resets all
//! connections.
//!
//! After [`fail`](crate::Middlebox::fail) every connection is unknown: hosts that send are answered with a reset.

use crate::base::Table;
use crate::levels::Levels;
use crate::nodes::{Account, ByNumber, Directory, Ends, Node, Note, TwoNodes};
use crate::split::Plans;
use crate::split::hosts::{self, Hosts};
use crate::split::local::{Broken, Local};
use crate::{Base, Data, Departure, Direction, Middlebox, OwnConnection, Passing, Payload, Verdict};
use bytes::Bytes;
use longhaul_hop::{Config, ConfigError, Event, FlowId, Open, PeerId, Refusal, ResetCode};
use longhaul_segment::Segment;
use longhaul_units::{ConnectionId, Id, Instant, Random};
use std::collections::{BTreeMap, VecDeque};

mod quic;
mod tcp;
mod tunnel;

pub use quic::ADDRESSES;
use quic::Quic;
use tcp::Tcp;
pub use tcp::TcpCarrier;
use tunnel::Tunnel;

/// Most bytes that are handed over at once.
const PIECE: u64 = 1 << 16;

/// Everything that can be set.
#[derive(Clone)]
pub struct Settings {
    /// What carries the flows.
    pub carrier: CarrierSettings,
    /// Bytes that wait at most at a connection to a host for that host.
    pub buffer: u64,
    /// Number of the hop, or of the first of its connections, among the connections.
    pub first_number: ConnectionId,
}

/// What carries the flows.
#[derive(Clone)]
pub enum CarrierSettings {
    /// QUIC: of the first node, which has to be a terminal, and of the second, a hub.
    Quic(Box<[Config; 2]>),
    /// TCP.
    Tcp(Box<TcpCarrier>),
}

/// The role of the first node.
pub fn terminal() -> longhaul_hop::Role {
    longhaul_hop::Role::Terminal { hub: quic::address(1) }
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
    hosts: Hosts,
    directory: Box<dyn Directory>,
    buffer: u64,
    first_number: ConnectionId,
    tunnel: Box<dyn Tunnel<P>>,
    peer: Option<PeerId>,
    ends: Table<End<P>>,
    flows: BTreeMap<FlowId, ConnectionId>,
    generations: Table<u32>,
    /// Connections without a flow, since the hop is not up.
    waiting: VecDeque<ConnectionId>,
    /// Connections that may have packets to send.
    dirty: VecDeque<ConnectionId>,
    notes: VecDeque<Note>,
    /// When the hop is to be woken; at the beginning at once.
    due: Option<Instant>,
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
        let number = settings.first_number;
        let tunnel: Box<dyn Tunnel<P>> = match &settings.carrier {
            CarrierSettings::Quic(nodes) => Box::new(Quic::new(side, number, &nodes[side], &mut random)?),
            CarrierSettings::Tcp(tcp) => {
                Box::new(Tcp::new(side, number, (**tcp).clone(), Random::stream(random.bits(), "carrier")))
            }
        };
        Ok(HopNode {
            hosts: Hosts::new(plans, random),
            directory,
            buffer: settings.buffer,
            first_number: number,
            tunnel,
            peer: None,
            ends: Table::default(),
            flows: BTreeMap::new(),
            generations: Table::default(),
            waiting: VecDeque::new(),
            dirty: VecDeque::new(),
            notes: VecDeque::new(),
            due: Some(Instant::ZERO),
            base: Base::new(Levels::default()),
        })
    }

    fn end(&mut self, connection: ConnectionId) -> Option<&mut End<P>> {
        self.ends.get_mut(connection)
    }
    fn touch(&mut self, connection: ConnectionId) {
        if self.end(connection).is_some_and(|end| !std::mem::replace(&mut end.local.dirty, true)) {
            self.dirty.push_back(connection);
        }
    }
    /// A connection begins, in the place of one that is over.
    fn put(&mut self, now: Instant, connection: ConnectionId, local: Local<P>, flow: Option<FlowId>) {
        if let Some(old) = self.ends.take(connection) {
            self.give_up(now, [old.out, old.into], ResetCode::Reset);
            self.hosts.retire(&old.local);
        }
        self.flows.extend(flow.map(|flow| (flow, connection)));
        let generation = self.next_generation(connection);
        self.ends.put(connection, End { local, out: flow, into: flow, rest: Bytes::new(), generation });
    }
    fn next_generation(&mut self, connection: ConnectionId) -> u32 {
        let generation = self.generations.get_or_insert_with(connection, || 0);
        *generation += 1;
        *generation
    }
    /// Flows end before their end; those that have ended stay so.
    fn give_up(&mut self, now: Instant, flows: [Option<FlowId>; 2], code: ResetCode) {
        for flow in flows.into_iter().flatten() {
            if self.flows.remove(&flow).is_some() {
                self.tunnel.carrier().reset(now, flow, code);
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
    fn has_end(
        &mut self,
        now: Instant,
        number: ConnectionId,
        direction: Direction,
        segment: &Segment,
    ) -> bool {
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

    /// A host's connection, of which the other node is notified as soon as the hop is up.
    fn begin(&mut self, now: Instant, number: ConnectionId, local: Local<P>) {
        self.put(now, number, local, None);
        self.waiting.push_back(number);
        self.open_waiting(now);
    }

    fn open_waiting(&mut self, now: Instant) {
        let Some(peer) = self.peer else { return };
        while let Some(number) = self.waiting.pop_front() {
            let Some(end) = self.ends.get_mut(number) else { continue };
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
            match self.tunnel.carrier().open(now, peer, open) {
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
    fn settle(&mut self, now: Instant, number: ConnectionId) {
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
    fn carry_out(&mut self, now: Instant, number: ConnectionId) {
        let Some(end) = self.ends.get_mut(number).filter(|end| !end.local.broken) else { return };
        let Some(out) = end.out else { return };
        loop {
            if end.rest.is_empty() {
                end.rest = end.local.connection.read(now, PIECE).into_shared();
            }
            if end.rest.is_empty() {
                break;
            }
            self.tunnel.carrier().write(now, out, &mut end.rest);
            if !end.rest.is_empty() {
                return;
            }
        }
        if end.local.has_end_to_pass() {
            end.local.end_passed = true;
            self.tunnel.carrier().finish(now, out);
        }
    }

    /// Hands what has come over the hop to the host's connection, as long as little waits there.
    fn carry_in(&mut self, now: Instant, number: ConnectionId) {
        let Some(end) = self.ends.get_mut(number).filter(|end| !end.local.broken) else { return };
        let Some(into) = end.into else { return };
        loop {
            let room = self.buffer.saturating_sub(end.local.backlog()).min(PIECE);
            if room == 0 {
                return;
            }
            let Some(bytes) = self.tunnel.carrier().read(now, into, room as usize) else { return };
            end.local.connection.write(&P::Data::of_host(bytes));
        }
    }

    // The hop.

    /// Takes up what the hop reports; false if that is nothing.
    fn take_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.tunnel.carrier().poll_event() {
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
                Event::Reset { flow, code, .. } | Event::Refused { flow, reason: code } => {
                    self.on_reset(now, flow, code);
                }
                Event::Delivered { .. } | Event::Accepted { .. } | Event::Bounded { .. } => {}
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
            (None, None) => return self.tunnel.carrier().reset(now, flow, ResetCode::Denied),
        };
        let established = self.hosts.established(number, towards, ends.ports(towards));
        match self.end(number) {
            Some(end) if !end.local.is_over() && established.is_some() => {
                // Both nodes have seen the connection first: each writes on its own flow.
                end.into = Some(flow);
                end.out = end.out.or(Some(flow));
                if end.out != end.into {
                    self.tunnel.carrier().finish(now, flow);
                }
                self.flows.insert(flow, number);
            }
            Some(end) if !end.local.is_over() => {
                self.next_generation(number);
                return self.tunnel.carrier().reset(now, flow, ResetCode::Reset);
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
                self.base.timers.set(connection.index(), due);
            }
            self.notes.push_back(Note::Changed(connection));
            self.dirty.pop_front();
        }
        None
    }
}

impl<P: Payload> Middlebox<P> for HopNode<P> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, P>) -> Verdict {
        let is_of_tunnel = packet.connection >= self.first_number;
        if self.base.failed {
            if !is_of_tunnel {
                self.base.refuse(0, packet.connection, packet.direction, packet.segment);
            }
        } else if is_of_tunnel {
            if self.tunnel.handle_packet(now, &packet) {
                self.base.refuse(0, packet.connection, packet.direction, packet.segment);
            }
            self.take_events(now);
        } else {
            self.on_host_packet(now, packet);
        }
        Verdict::Taken
    }

    fn on_timer(&mut self, now: Instant, owner: usize) {
        let number = ConnectionId::new(owner);
        let Some(end) = self.end(number) else { return };
        match end.local.poll_timeout() {
            Some(due) if due <= now => end.local.connection.handle_timeout(now),
            due => return self.base.timers.set(owner, due),
        }
        self.settle(now, number);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(owner) = self.base.timers.expired(now) {
            self.on_timer(now, owner);
        }
        if self.due.is_some_and(|due| due <= now) {
            self.tunnel.handle_timeout(now);
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
                self.transmit_local(now, segment).or_else(|| self.tunnel.transmit_into(now, segment));
            if departure.is_some() {
                return departure;
            }
            // What was sent may have made room for more.
            if !self.take_events(now) {
                break;
            }
        }
        self.due = self.tunnel.poll_timeout();
        None
    }

    fn lose_all(&mut self, _now: Instant) {
        for number in self.ends.ids() {
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
        [self.hosts.counters(locals), self.tunnel.counters()].concat()
    }
    fn base(&self) -> &Base<P> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.base
    }
    fn own_connections(&self) -> Vec<OwnConnection> {
        self.tunnel.own_connections()
    }
}

impl<P: Payload> Node<P> for HopNode<P> {
    fn account(&self, connection: ConnectionId) -> Option<Account> {
        self.ends.get(connection).map(|end| end.local.account(end.generation))
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
    nodes: [(Plans, Settings); 2],
    randoms: [Random; 2],
) -> Result<TwoNodes<P>, ConfigError> {
    let ([first, second], [first_random, second_random]) = (nodes, randoms);
    let node = |side, (plans, settings): (Plans, Settings), random| {
        HopNode::new(side, plans, &settings, Box::new(ByNumber), random)
    };
    let nodes = [node(0, first, first_random)?, node(1, second, second_random)?];
    Ok(TwoNodes::of_proxy(nodes.map(|node| Box::new(node) as _), false))
}
