//! A node: a QUIC endpoint, its peers and their flows.

use crate::config::{Config, ConfigError, LEAST_RATE, MOST_RATE, Remembered, Role, Session};
use crate::controller::{RateController, Settings};
use crate::gate::{Given, Shared};
use crate::peer::{Context, Peer, State, streams};
use crate::places::Places;
use crate::shares::{Pick, Portion, Shares};
use crate::types::{Bounds, Event, FlowId, Ledger, Open, PeerId, PeerStats, Refusal, ResetCode, Transmit};
use bytes::{Bytes, BytesMut};
use longhaul_quic::Clock;
use longhaul_units::{Duration, Instant, Rate, Size};
use quinn_proto::{
    AckFrequencyConfig, ConnectionHandle, DatagramEvent, EcnCodepoint, IdleTimeout, TransportConfig, VarInt,
};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Window of each stream for quinn-proto: never reached, since flows have credits of their own.
const WINDOW: u64 = 1 << 60;
/// Packets that may arrive without an ACK.
const ACK_EVERY: u32 = 64;
/// The longest delay of an ACK.
const ACK_DELAY: std::time::Duration = std::time::Duration::from_millis(40);
/// Packets that must overtake one before it counts as lost.
const REORDERING: u32 = 8;
/// Pause before a terminal tries again: at first, and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(16));
/// Bytes that quinn-proto may buffer: without end, but a `usize`. It takes the least of this and of what the other windows leave as one,
/// of which 32-bit processors would otherwise see the lower half only: of 2^60 bytes none at all.
const SEND_WINDOW: usize = usize::MAX;
/// Buffers of DATAGRAM frames.
const DATAGRAMS: usize = 8 << 20;
/// Handshakes of strangers at a time: of a network, and in all.
const STRANGERS: (usize, usize) = (64, 512);
/// Time in which nothing left counts for that much of the rate of all peers.
const LATE: Duration = Duration::from_millis(2);
/// Bytes of connection IDs. With four, quinn-proto reckons with 2^32 of them in a `usize`: on 32-bit processors it then has none left
/// for any connection.
const CID_LENGTH: u8 = if usize::BITS > 32 { 4 } else { 5 };
/// Rate where nothing else is known.
const UNKNOWN_RATE: u64 = 1_000_000;

/// One end of the hop.
pub struct Node {
    config: Arc<Config>,
    quic: longhaul_quic::Settings,
    seed: [u8; 32],
    clock: Clock,
    endpoint: quinn_proto::Endpoint,
    peers: Vec<Option<Box<Peer>>>,
    by_id: BTreeMap<PeerId, usize>,
    flows: BTreeMap<FlowId, (usize, u64)>,
    events: VecDeque<Event>,
    answers: VecDeque<(Transmit, Vec<u8>)>,
    next_flow: u64,
    next_peer: u64,
    retry: Option<Instant>,
    pause: Duration,
    closing: bool,
    /// Of peers that are gone.
    past: Ledger,
    past_stats: PeerStats,
    scratch: Vec<u8>,
    turned_away: TurnedAway,
    strangers: Places,
    crowded: TurnedAway,
    /// Classes of this node's own flows.
    classes: Arc<BTreeMap<u16, Portion>>,
    /// Rate of what all peers are sent, until when it is used up, and who has a part of it.
    total: Option<Rate>,
    total_paid: Instant,
    shares: Shares,
}

/// Those that found no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TurnedAway {
    /// Attempts, since the start.
    pub count: u64,
    /// Where the last one came from.
    pub last: Option<SocketAddr>,
}

impl TurnedAway {
    fn add(&mut self, from: SocketAddr) {
        self.count += 1;
        self.last = Some(from);
    }
}

impl Node {
    /// A node that begins at `now`; `seed` is that of all random numbers, and on a real network a secret.
    ///
    /// # Errors
    /// If there can be no node with these settings.
    pub fn new(config: Config, seed: [u8; 32], now: Instant) -> Result<Self, ConfigError> {
        config.check()?;
        let quic = quic_settings(&config)?;
        // quinn-proto compares instants only: which one is time zero changes nothing.
        let clock = Clock::new(std::time::Instant::now());
        let mut endpoint_config = quic.endpoint(seed);
        if let Some(key) = config.reset_key {
            endpoint_config.reset_key(longhaul_quic::reset_key(key));
        }
        let mut node = Node {
            endpoint: quinn_proto::Endpoint::new(Arc::new(endpoint_config), None, false, None),
            config: Arc::new(config),
            quic,
            seed,
            clock,
            peers: vec![],
            by_id: BTreeMap::new(),
            flows: BTreeMap::new(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
            next_flow: 0,
            next_peer: 0,
            retry: None,
            pause: RETRY.0,
            closing: false,
            past: Ledger::default(),
            past_stats: PeerStats::default(),
            scratch: vec![],
            turned_away: TurnedAway::default(),
            strangers: Places::new(STRANGERS.0, STRANGERS.1),
            crowded: TurnedAway::default(),
            classes: Arc::default(),
            total: None,
            total_paid: Instant::ZERO,
            shares: Shares::default(),
        };
        match node.config.role {
            Role::Hub => {
                let shared = node.shared();
                let server = node.quic.server(node.transport(&shared), &seed);
                node.endpoint.set_server_config(Some(Arc::new(server)));
            }
            Role::Terminal { .. } => node.connect(now),
        }
        Ok(node)
    }

    fn shared(&self) -> Shared {
        let (rates, remembered) = (self.config.rates, self.config.remembered);
        let start = rates.send.or(remembered.map(|remembered| remembered.rate));
        let ipv6 = matches!(self.config.role, Role::Terminal { hub } if hub.is_ipv6());
        Shared::new(
            self.clock,
            RateController::new(Settings {
                start: start.unwrap_or(Rate::from_bps(UNKNOWN_RATE.max(LEAST_RATE))),
                most: rates.most.unwrap_or(Rate::from_bps(MOST_RATE)),
                share: self.config.share,
                mtu: self.config.mtu,
                headers: if ipv6 { 48 } else { 28 },
                rtt: self.config.initial_rtt,
                remembered,
            }),
        )
    }

    fn transport(&self, shared: &Shared) -> Arc<TransportConfig> {
        let config = &self.config;
        let std = |time: Duration| std::time::Duration::from_nanos(time.as_nanos());
        let mut frequency = AckFrequencyConfig::default();
        frequency.ack_eliciting_threshold(VarInt::from_u32(ACK_EVERY)).max_ack_delay(Some(ACK_DELAY));
        let window = VarInt::from_u64(WINDOW).unwrap_or(VarInt::MAX);
        let mut transport = TransportConfig::default();
        let streams = streams::first(config);
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(streams))
            .max_concurrent_uni_streams(VarInt::from_u32(2))
            .max_idle_timeout(IdleTimeout::try_from(std(config.idle_timeout)).ok())
            .stream_receive_window(window)
            .receive_window(VarInt::MAX)
            .send_window(SEND_WINDOW as u64)
            .initial_rtt(std(config.initial_rtt))
            .initial_mtu(config.mtu)
            .mtu_discovery_config(None)
            .packet_threshold(REORDERING)
            .ack_frequency_config(Some(frequency))
            .datagram_receive_buffer_size(Some(DATAGRAMS))
            .datagram_send_buffer_size(DATAGRAMS)
            .enable_segmentation_offload(config.batch > 1)
            .congestion_controller_factory(Arc::new(Given(shared.clone())));
        Arc::new(transport)
    }

    fn connect(&mut self, now: Instant) {
        let Role::Terminal { hub } = self.config.role else { return };
        self.retry = None;
        if hub.ip().is_unspecified() {
            return;
        }
        let shared = self.shared();
        let client = self.quic.client(self.transport(&shared), &self.seed, self.next_peer, None);
        match self.endpoint.connect(self.clock.to_std(now), client, hub, "hub") {
            Ok((handle, connection)) => self.insert(now, handle, connection, shared, None),
            Err(_) => self.retry = Some(now + self.pause),
        }
    }

    fn insert(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        connection: quinn_proto::Connection,
        shared: Shared,
        stranger: Option<IpAddr>,
    ) {
        let id = PeerId(self.next_peer);
        self.next_peer += 1;
        if self.peers.len() <= handle.0 {
            self.peers.resize_with(handle.0 + 1, || None);
        }
        let mut peer = Peer::new(id, connection, shared, Arc::clone(&self.config), self.clock, now);
        peer.stranger = stranger;
        peer.set_classes(&self.classes);
        self.peers[handle.0] = Some(Box::new(peer));
        self.by_id.insert(id, handle.0);
        self.after_input(now, handle.0);
    }

    /// A UDP datagram has arrived: from whom, at which of this node's addresses if that is known, with which ECN field (the
    /// two low bits of the TOS byte), and its payload.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to_ip: Option<IpAddr>,
        ecn: u8,
        bytes: BytesMut,
    ) {
        if let Some(index) = self.take_datagram(now, from, to_ip, ecn, bytes) {
            self.after_input(now, index);
        }
    }

    /// As [`Node::handle_datagram`], for datagrams of one sender that came together (UDP_GRO): `stride` bytes each, but the last.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to_ip: Option<IpAddr>,
        ecn: u8,
        stride: usize,
        bytes: &[u8],
    ) {
        let mut last = None;
        for datagram in bytes.chunks(stride.max(1)) {
            let index = self.take_datagram(now, from, to_ip, ecn, BytesMut::from(datagram));
            // What a connection reports is taken up once for all of them.
            if let Some(before) = last.filter(|_| index != last) {
                self.after_input(now, before);
            }
            last = index;
        }
        if let Some(index) = last {
            self.after_input(now, index);
        }
    }

    /// Hands a datagram to its connection, which is returned if it is to be looked at.
    fn take_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to_ip: Option<IpAddr>,
        ecn: u8,
        bytes: BytesMut,
    ) -> Option<usize> {
        let at = self.clock.to_std(now);
        let length = bytes.len() as u64;
        self.scratch.clear();
        let ecn = EcnCodepoint::from_bits(ecn & 3);
        match self.endpoint.handle(at, from, to_ip, ecn, bytes, &mut self.scratch) {
            None => {}
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let peer = self.peers.get_mut(handle.0)?.as_deref_mut()?;
                peer.count_received(now, length);
                peer.connection.handle_event(event);
                peer.dirty = true;
                return Some(handle.0);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept_peer(now, incoming),
            Some(DatagramEvent::Response(transmit)) => self.answer(&transmit),
        }
        None
    }

    fn accept_peer(&mut self, now: Instant, incoming: quinn_proto::Incoming) {
        self.scratch.clear();
        let from = incoming.remote_address();
        if self.closing
            || self.by_id.len().saturating_sub(self.strangers.total()) >= self.config.max_peers as usize
        {
            if !self.closing {
                self.turned_away.add(from);
            }
            let transmit = self.endpoint.refuse(incoming, &mut self.scratch);
            return self.answer(&transmit);
        }
        // Addresses are easily forged: where many come, nothing is kept of one before it has answered (RFC 9000 section 8.1.2).
        let incoming = if self.strangers.are_short() && !incoming.remote_address_validated() {
            match self.endpoint.retry(incoming, &mut self.scratch) {
                Ok(transmit) => return self.answer(&transmit),
                Err(refused) => refused.into_incoming(),
            }
        } else {
            incoming
        };
        if !self.strangers.enter(from.ip()) {
            self.crowded.add(from);
            // A terminal tries again by itself.
            return self.endpoint.ignore(incoming);
        }
        let shared = self.shared();
        let mut server = self.quic.server(self.transport(&shared), &self.seed);
        // A terminal behind a NAT may get another port.
        server.migration(true);
        let at = self.clock.to_std(now);
        match self.endpoint.accept(incoming, at, &mut self.scratch, Some(Arc::new(server))) {
            Ok((handle, connection)) => self.insert(now, handle, connection, shared, Some(from.ip())),
            Err(refused) => {
                self.strangers.leave(from.ip());
                if let Some(transmit) = refused.response {
                    self.answer(&transmit);
                }
            }
        }
    }

    /// Other rates for the connections that there are, and for later ones: see [`crate::Rates::send`] and [`crate::Rates::most`].
    pub fn set_rates(&mut self, send: Option<Rate>, most: Option<Rate>) {
        let mut config = Config::clone(&self.config);
        let changed = config.rates.send != send || config.rates.most != most;
        (config.rates.send, config.rates.most) = (send, most);
        self.config = Arc::new(config);
        if !changed {
            return;
        }
        for peer in self.peers.iter_mut().flatten() {
            peer.most = most;
            peer.apply_most(send);
        }
    }

    /// Other classes of flows, by their numbers from 1 to 1023, for the connections that there are and for later ones. They hold for what
    /// this node sends. A terminal notifies its hub of them, so that they hold in both directions.
    pub fn set_classes(&mut self, classes: BTreeMap<u16, Portion>) {
        self.classes = Arc::new(classes);
        for peer in self.peers.iter_mut().flatten() {
            peer.set_classes(&self.classes);
        }
    }

    /// The class of a flow from now on, 0 for none. For one that this node has opened, it holds in both directions.
    pub fn classify(&mut self, flow: FlowId, class: u16) {
        if let Some((peer, stream)) = self.find(flow) {
            peer.classify(stream, class);
        }
    }

    /// What all peers together are sent at most, in bits per second of UDP datagrams with their IP headers; without it, each peer has the
    /// rate of its own path.
    pub fn set_total(&mut self, total: Option<Rate>) {
        self.total = total;
        self.wake_queued();
    }

    /// A peer's part of what this node sends, if there is a rate for all ([`Node::set_total`]); its ceiling holds in any case.
    pub fn set_portion(&mut self, peer: PeerId, portion: Portion) {
        let Some(index) = self.by_id.get(&peer) else { return };
        let Some(peer) = self.peers.get_mut(*index).and_then(Option::as_deref_mut) else { return };
        // The controller paces exactly; the ceiling is no matter of shares.
        let of_shares = Portion { ceiling: None, ..portion };
        if peer.member.portion != of_shares {
            self.shares.set(&mut peer.member, of_shares);
        }
        if peer.ceiling != portion.ceiling {
            peer.ceiling = portion.ceiling;
            peer.apply_most(None);
        }
    }

    /// Notifies a terminal of its bounds; they are kept for this connection.
    pub fn set_bounds(&mut self, peer: PeerId, bounds: Bounds) {
        let Some(index) = self.by_id.get(&peer) else { return };
        if let Some(peer) = self.peers.get_mut(*index).and_then(Option::as_deref_mut) {
            peer.set_bounds(bounds);
        }
    }

    fn wake_queued(&mut self) {
        for peer in self.peers.iter_mut().flatten().filter(|peer| peer.queues) {
            (peer.queues, peer.dirty) = (false, true);
        }
    }

    /// Where the hub of a terminal is from now on, which takes effect with the next connection: one that is established goes on, and
    /// a handshake with another address is given up. An unspecified address is none: no connection is opened.
    pub fn set_hub(&mut self, now: Instant, hub: SocketAddr) {
        let Role::Terminal { hub: before } = self.config.role else { return };
        if hub == before {
            return;
        }
        let mut config = Config::clone(&self.config);
        config.role = Role::Terminal { hub };
        self.config = Arc::new(config);
        for index in 0..self.peers.len() {
            let waits = |peer: &Peer| peer.state == State::Handshake;
            if self.peers[index].as_deref().is_some_and(waits) {
                self.with_peer(now, index, |peer, context| peer.give_up(now, "no answer", context));
                self.after_input(now, index);
            }
        }
        (self.retry, self.pause) = (None, RETRY.0);
        if !self.closing && self.by_id.is_empty() {
            self.connect(now);
        }
    }

    /// Strangers that found no place for a handshake, since the start.
    pub fn crowded(&self) -> TurnedAway {
        self.crowded
    }

    /// Terminals that found no place among [`Config::max_peers`], since the start.
    pub fn turned_away(&self) -> TurnedAway {
        self.turned_away
    }

    fn answer(&mut self, transmit: &quinn_proto::Transmit) {
        let bytes = self.scratch[..transmit.size].to_vec();
        let to = transmit.destination;
        let answer = Transmit { to, from: transmit.src_ip, len: transmit.size, segment_size: None, ecn: 0 };
        self.answers.push_back((answer, bytes));
    }

    /// The next datagram or batch to send, if one may leave now. `buffer` is emptied and filled with its payload.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        buffer.clear();
        if let Some((transmit, bytes)) = self.answers.pop_front() {
            buffer.extend_from_slice(&bytes);
            return Some(transmit);
        }
        let hold = self.total.and(Some(self.total_paid)).filter(|paid| *paid > now);
        if self.total.is_some() && hold.is_none() {
            self.wake_queued();
        }
        while let Some(index) = self.next_dirty(now, hold.is_none()) {
            let Some(peer) = self.peers[index].as_deref_mut() else { continue };
            if let Some(transmit) = peer.poll_transmit(now, hold, buffer) {
                self.charge(now, index, &transmit);
                self.with_peer(now, index, |peer, context| peer.wake_drained(context));
                return Some(transmit);
            }
            if peer.queues && !peer.sends {
                self.shares.wake(&mut peer.member);
            }
            (peer.dirty, peer.sends) = (false, peer.queues);
            self.after_input(now, index);
        }
        None
    }

    /// A peer that may have something to send; whose turn it is, if all share a rate.
    fn next_dirty(&mut self, now: Instant, in_turn: bool) -> Option<usize> {
        let mut dirty =
            self.peers.iter().enumerate().filter_map(|(index, peer)| Some((index, peer.as_deref()?)));
        let mut dirty = dirty.by_ref().filter(|(_, peer)| peer.dirty);
        if self.total.is_none() || !in_turn {
            return dirty.next().map(|(index, _)| index);
        }
        match self.shares.pick(now, dirty.map(|(index, peer)| (index, &peer.member))) {
            Pick::Now(index) => Some(index),
            Pick::Until(_) | Pick::Nobody => None,
        }
    }

    /// A peer was sent something, which counts for the rate of all.
    fn charge(&mut self, now: Instant, index: usize, transmit: &Transmit) {
        let (Some(total), Some(peer)) = (self.total, self.peers[index].as_deref_mut()) else { return };
        let datagrams = transmit.segment_size.map_or(1, |size| transmit.len.div_ceil(size.max(1)));
        let headers = if transmit.to.is_ipv6() { 48 } else { 28 };
        let bytes = (transmit.len + datagrams * headers) as u64;
        if !std::mem::replace(&mut peer.sends, true) {
            self.shares.wake(&mut peer.member);
        }
        self.shares.charge(now, &mut peer.member, bytes);
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATE.as_nanos()));
        self.total_paid = self.total_paid.max(earliest) + total.transmission_time(Size::from_bytes(bytes));
    }

    /// When [`Node::handle_timeout`] is to be called, if nothing happens before.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let queued = self.peers.iter().flatten().any(|peer| peer.queues).then_some(self.total_paid);
        let peers = self.peers.iter_mut().flatten().filter_map(|peer| peer.poll_timeout());
        peers.chain(self.retry).chain(queued).min()
    }

    /// Time has come to [`Node::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.retry.is_some_and(|retry| retry <= now) {
            self.connect(now);
        }
        if self.total_paid <= now {
            self.wake_queued();
        }
        for index in 0..self.peers.len() {
            let Some(peer) = self.peers[index].as_deref_mut() else { continue };
            if peer.handle_timeout(now) {
                peer.dirty = true;
                self.after_input(now, index);
            }
        }
    }

    /// An ICMP error states that nobody listens at a peer's port (RFC 792, RFC 4443). `quoted` is what it quotes of the datagram's
    /// payload; an error that quotes nothing this node has sent lately is ignored. After a second one, a second later and with
    /// no datagram of the peer in between, the peer is gone.
    pub fn port_is_closed(&mut self, now: Instant, address: SocketAddr, quoted: &[u8]) {
        for index in 0..self.peers.len() {
            let concerns = |peer: &Peer| peer.connection.remote_address() == address;
            if self.peers[index].as_deref().is_some_and(concerns) {
                self.with_peer(now, index, |peer, context| peer.port_is_closed(now, quoted, context));
                self.after_input(now, index);
            }
        }
    }

    /// For how long nothing has come from a peer, or nothing that acknowledges what was sent; while the hop works, a peer is probed
    /// each [`Config::keep_alive`] at least.
    pub fn silence(&self, now: Instant, peer: PeerId) -> Option<Duration> {
        let index = *self.by_id.get(&peer)?;
        let peer = self.peers.get(index)?.as_deref()?;
        Some(now.since(peer.heard).max(peer.shared.lock().controller.unanswered(now)))
    }

    /// For how long what was sent to a peer has had no acknowledgement; zero if there is nothing.
    pub fn unanswered(&self, now: Instant, peer: PeerId) -> Option<Duration> {
        let index = *self.by_id.get(&peer)?;
        Some(self.peers.get(index)?.as_deref()?.shared.lock().controller.unanswered(now))
    }

    /// Gives up the connection to a peer: its flows are reset. A terminal tries again by itself.
    pub fn give_up(&mut self, now: Instant, peer: PeerId, reason: &str) {
        let Some(index) = self.by_id.get(&peer).copied() else { return };
        self.with_peer(now, index, |peer, context| peer.give_up(now, reason, context));
        self.after_input(now, index);
    }

    /// A node that comes back has forgotten its old connection.
    fn end_older(&mut self, now: Instant, index: usize) {
        let Some((id, key)) = self.peers[index].as_deref().and_then(|peer| Some((peer.id, peer.key()?)))
        else {
            return;
        };
        for other in 0..self.peers.len() {
            let older = |peer: &Peer| peer.id < id && peer.state == State::Up && peer.key() == Some(key);
            if self.peers[other].as_deref().is_some_and(older) {
                self.with_peer(now, other, |peer, context| {
                    peer.give_up(now, "it has begun a new connection", context)
                });
                self.after_input(now, other);
            }
        }
    }

    /// Takes up what an input to a connection has led to.
    fn after_input(&mut self, now: Instant, index: usize) {
        let was_up = self.is_up(index);
        self.with_peer(now, index, |peer, context| peer.take_events(context));
        if !was_up && self.is_up(index) {
            self.end_older(now, index);
        }
        self.end_strangeness(index);
        let Some(peer) = self.peers[index].as_deref_mut() else { return };
        while let Some(event) = peer.connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(ConnectionHandle(index), event) {
                peer.connection.handle_event(answer);
            }
        }
        if peer.state == State::Lost && self.by_id.remove(&peer.id).is_some() {
            let has_hub = matches!(self.config.role, Role::Terminal { hub } if !hub.ip().is_unspecified());
            let retries = has_hub && !self.closing;
            let lived = now.since(peer.began) > RETRY.1 + RETRY.1;
            self.pause = if lived { RETRY.0 } else { self.pause };
            if retries {
                self.retry = Some(now + self.pause);
                self.pause = (self.pause + self.pause).min(RETRY.1);
            }
        }
        if peer.connection.is_drained() {
            self.past = self.past + peer.ledger();
            self.past_stats = PeerStats::default().after(&peer.stats()).after(&self.past_stats);
            self.peers[index] = None;
        }
    }

    /// A stranger's place is free once it has shown its key, or is gone.
    fn end_strangeness(&mut self, index: usize) {
        let Some(peer) = self.peers[index].as_deref_mut() else { return };
        let (up, lost) = (peer.state == State::Up, peer.state == State::Lost);
        let Some(from) = peer.stranger.take_if(|_| up || lost) else { return };
        self.strangers.leave(from);
        if up {
            self.strangers.know(from);
        }
    }

    fn with_peer<R>(
        &mut self,
        now: Instant,
        index: usize,
        act: impl FnOnce(&mut Peer, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let peer = self.peers.get_mut(index)?.as_deref_mut()?;
        let mut context = Context {
            now,
            events: &mut self.events,
            flows: &mut self.flows,
            next_flow: &mut self.next_flow,
            index,
        };
        Some(act(peer, &mut context))
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Peers to which flows can be opened.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.by_id.iter().filter(|(_, index)| self.is_up(**index)).map(|(id, _)| *id)
    }

    fn is_up(&self, index: usize) -> bool {
        self.peers[index].as_deref().is_some_and(|peer| peer.state == State::Up)
    }

    /// Opens a flow. A terminal may do so as soon as QUIC's handshake is complete.
    ///
    /// # Errors
    /// Why not.
    pub fn open(&mut self, now: Instant, peer: PeerId, open: Open) -> Result<FlowId, Refusal> {
        let index = *self.by_id.get(&peer).ok_or(Refusal::Down)?;
        self.with_peer(now, index, |peer, context| peer.open(open, context)).unwrap_or(Err(Refusal::Down))
    }

    /// Accepts a flow that the peer has opened; needed where [`Open::confirm`] is set.
    pub fn accept(&mut self, flow: FlowId) {
        if let Some((peer, stream)) = self.find(flow) {
            peer.accept(stream);
        }
    }

    /// Refuses a flow that the peer has opened; it is over.
    pub fn refuse(&mut self, now: Instant, flow: FlowId, reason: ResetCode) {
        if let Some((index, stream)) = self.flows.get(&flow).copied() {
            self.with_peer(now, index, |peer, context| peer.reset(stream, reason, true, context));
        }
    }

    fn find(&mut self, flow: FlowId) -> Option<(&mut Peer, u64)> {
        let (index, stream) = *self.flows.get(&flow)?;
        Some((self.peers.get_mut(index)?.as_deref_mut()?, stream))
    }

    fn peer_of(&self, flow: FlowId) -> Option<(&Peer, u64)> {
        let (index, stream) = *self.flows.get(&flow)?;
        Some((self.peers.get(index)?.as_deref()?, stream))
    }

    /// Takes bytes of a flow from the front of `bytes`, without copying, and returns how many; what is left waits for
    /// [`Event::Writable`].
    pub fn write(&mut self, now: Instant, flow: FlowId, bytes: &mut Bytes) -> usize {
        self.find(flow).map_or(0, |(peer, stream)| peer.write(now, stream, bytes))
    }

    /// Bytes that [`Node::write`] would take.
    pub fn writable(&self, flow: FlowId) -> usize {
        self.peer_of(flow).map_or(0, |(peer, stream)| peer.writable(stream))
    }

    /// The next bytes of a flow in order, at most `most`; `None` if there are none at present. The peer may send more for what
    /// was read.
    pub fn read(&mut self, now: Instant, flow: FlowId, most: usize) -> Option<Bytes> {
        let (index, stream) = *self.flows.get(&flow)?;
        self.with_peer(now, index, |peer, context| peer.read(stream, most, context)).flatten()
    }

    /// Copies the next bytes of a flow in order, as many as there are and fit; returns how many.
    pub fn read_into(&mut self, now: Instant, flow: FlowId, room: &mut [u8]) -> usize {
        let Some((index, stream)) = self.flows.get(&flow).copied() else { return 0 };
        self.with_peer(now, index, |peer, context| peer.read_into(stream, room, context)).unwrap_or(0)
    }

    /// Ends this node's direction of a flow after what was written.
    pub fn finish(&mut self, now: Instant, flow: FlowId) {
        if let Some((peer, stream)) = self.find(flow) {
            peer.finish(now, stream);
        }
    }

    /// Gives up a flow in both directions.
    pub fn reset(&mut self, now: Instant, flow: FlowId, code: ResetCode) {
        if let Some((index, stream)) = self.flows.get(&flow).copied() {
            self.with_peer(now, index, |peer, context| peer.reset(stream, code, false, context));
        }
    }

    /// Gives up a flow in both directions; the peer's owner reads what was written before it is notified. Then [`Event::Delivered`]
    /// comes. What the peer has written and was not read is discarded. A peer of the protocol's version 1 is reset at once.
    pub fn reset_behind(&mut self, now: Instant, flow: FlowId, code: ResetCode) {
        if let Some((index, stream)) = self.flows.get(&flow).copied() {
            self.with_peer(now, index, |peer, context| peer.reset_behind(stream, code, context));
        }
    }

    /// Bytes that were written to a flow, and that the peer has not reported as read.
    pub fn undelivered(&self, flow: FlowId) -> u64 {
        self.peer_of(flow).map_or(0, |(peer, stream)| peer.undelivered(stream))
    }

    /// Closes all connections; a terminal does not open them again.
    pub fn close(&mut self, now: Instant) {
        self.closing = true;
        self.retry = None;
        for index in 0..self.peers.len() {
            if let Some(peer) = self.peers[index].as_deref_mut() {
                peer.close(now);
                self.after_input(now, index);
            }
        }
    }

    /// Bytes of all flows since the beginning.
    pub fn ledger(&self) -> Ledger {
        self.peers.iter().flatten().fold(self.past, |all, peer| all + peer.ledger())
    }

    /// Measurements of the hop to a peer.
    pub fn stats(&self, peer: PeerId) -> Option<PeerStats> {
        let index = *self.by_id.get(&peer)?;
        Some(self.peers.get(index)?.as_deref()?.stats())
    }

    /// UDP payload of a full packet to a peer in bytes: see [`PeerStats::mtu`].
    pub fn packet_size(&self, peer: PeerId) -> Option<u16> {
        let index = *self.by_id.get(&peer)?;
        Some(self.peers.get(index)?.as_deref()?.connection.current_mtu())
    }

    /// Measurements of the newest peer; the counters are those of all peers since the beginning.
    pub fn total_stats(&self) -> PeerStats {
        let mut peers: Vec<&Peer> = self.peers.iter().flatten().map(Box::as_ref).collect();
        peers.sort_by_key(|peer| peer.id);
        peers.into_iter().fold(self.past_stats, |total, peer| peer.stats().after(&total))
    }

    /// What to keep for the next connection over the same path; `None` before something was measured.
    pub fn remembered(&self, peer: PeerId) -> Option<Remembered> {
        let index = *self.by_id.get(&peer)?;
        self.peers.get(index)?.as_deref()?.shared.lock().controller.remembered()
    }
}

fn quic_settings(config: &Config) -> Result<longhaul_quic::Settings, ConfigError> {
    let session = match &config.session {
        Session::Null => longhaul_quic::Session::Null,
        #[cfg(feature = "tls")]
        Session::Tls { identity, peers } => longhaul_quic::tls::session(identity, peers, crate::wire::ALPN)
            .map_err(|error| ConfigError::Session(error.to_string()))?,
    };
    Ok(longhaul_quic::Settings {
        mtu: config.mtu,
        mtu_discovery: None,
        cid_length: CID_LENGTH,
        session,
        // A raw public key (RFC 7250) and an Ed25519 signature.
        credentials: longhaul_quic::Credentials { certificates: vec![44], signature: 64 },
        ..longhaul_quic::Settings::default()
    })
}
