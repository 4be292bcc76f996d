//! A whole node of a hop among hostile datagrams, and beside a peer that completes the handshake and then writes what it likes. Sessions
//! are those without encryption, so that a changed frame is read and not refused as forged.

use bytes::{Bytes, BytesMut};
use longhaul_hop::{Config, Event, FLOOR, FlowId, Node, Open, PeerId, Rates, Remembered, ResetCode, Role};
use longhaul_quic::Clock;
use longhaul_units::{Duration, Instant, Rate};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

/// Time between two inputs.
const STEP: Duration = Duration::from_millis(20);
/// Time that passes in the end: longer than the idle timeout.
const REST: Duration = Duration::from_secs(6);
/// Timers that run out in that time at most; a node with more of them works without a pause.
const MOST_TIMERS: u32 = 20_000;
/// Datagrams that a node sends at one time at most. A window is some 45 of them.
const MOST_SENT: u32 = 5000;

fn terminal_address() -> SocketAddr {
    ([10, 0, 0, 1], 40_000).into()
}

fn hub_address() -> SocketAddr {
    ([10, 0, 0, 2], 7714).into()
}

fn stranger() -> SocketAddr {
    ([10, 9, 9, 9], 1).into()
}

fn config(hub: bool) -> Config {
    let role = if hub { Role::Hub } else { Role::Terminal { hub: hub_address() } };
    Config {
        rates: Rates { send: Some(Rate::from_bps(50_000_000)), ..Rates::default() },
        credit: 64 << 10,
        memory: 9 * (64 << 10),
        max_flows: 16,
        max_peers: 4,
        keep_alive: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(4),
        initial_rtt: Duration::from_millis(40),
        ..Config::new(role)
    }
}

/// A node and its owner, who opens flows, answers those of the peer, and reads all but every fourth.
struct Victim {
    node: Node,
    hub: bool,
    peer: Option<PeerId>,
    flows: Vec<FlowId>,
    /// Flows that are over for the owner, and those whose end was read.
    over: BTreeSet<FlowId>,
    finished: BTreeSet<FlowId>,
    /// Flows that the owner has ended: what the node had reported before may still come.
    given_up: BTreeSet<FlowId>,
    read: BTreeMap<FlowId, u64>,
}

impl Victim {
    fn new(hub: bool) -> Victim {
        let seed = [if hub { 2 } else { 1 }; 32];
        let node = Node::new(config(hub), seed, Instant::ZERO).expect("the settings can be");
        let (over, finished, given_up) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Victim { node, hub, peer: None, flows: vec![], over, finished, given_up, read: BTreeMap::new() }
    }

    fn peer_address(&self) -> SocketAddr {
        if self.hub { terminal_address() } else { hub_address() }
    }

    fn datagram(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        self.node.handle_datagram(now, from, None, 0, BytesMut::from(bytes));
    }

    /// Handles events and timers that are due; returns the datagrams that leave.
    fn work(&mut self, now: Instant) -> Vec<Vec<u8>> {
        if self.node.poll_timeout().is_some_and(|due| due <= now) {
            self.node.handle_timeout(now);
        }
        let (mut sent, mut buffer) = (vec![], vec![]);
        loop {
            while let Some(transmit) = self.node.poll_transmit(now, &mut buffer) {
                assert_eq!(transmit.len, buffer.len());
                let size = transmit.segment_size.unwrap_or(transmit.len).max(1);
                sent.extend(buffer.chunks(size).map(<[u8]>::to_vec));
                assert!(sent.len() < MOST_SENT as usize, "a node that sends without end");
            }
            let Some(event) = self.node.poll_event() else { break };
            self.take(now, event);
        }
        self.check();
        sent
    }

    fn take(&mut self, now: Instant, event: Event) {
        if let Event::Accepted { flow }
        | Event::Refused { flow, .. }
        | Event::Readable { flow }
        | Event::Writable { flow }
        | Event::Finished { flow }
        | Event::Delivered { flow }
        | Event::Reset { flow, .. } = &event
        {
            if self.given_up.contains(flow) {
                return;
            }
        }
        match event {
            Event::Connected { peer } | Event::Up { peer, .. } => {
                self.peer = Some(peer);
                if self.flows.is_empty() {
                    self.open(now);
                }
            }
            Event::Down { .. } => self.peer = None,
            Event::Bounded { .. } => {}
            Event::Opened { flow, open, .. } => {
                assert!(!self.over.contains(&flow) && open.dscp < 64 && open.priority < 8);
                self.flows.push(flow);
                match self.flows.len() % 8 {
                    7 => {
                        self.node.refuse(now, flow, ResetCode::Denied);
                        self.given_up.insert(flow);
                    }
                    _ => {
                        self.node.accept(flow);
                        self.node.write(now, flow, &mut Bytes::from_static(&[7; 3000]));
                    }
                }
            }
            Event::Readable { flow } => {
                assert!(!self.over.contains(&flow) && !self.finished.contains(&flow));
                if flow.number() % 4 != 3 {
                    while let Some(bytes) = self.node.read(now, flow, 1000) {
                        *self.read.entry(flow).or_default() += bytes.len() as u64;
                    }
                }
            }
            Event::Writable { flow } | Event::Delivered { flow } | Event::Accepted { flow } => {
                assert!(!self.over.contains(&flow));
            }
            Event::Finished { flow } => {
                assert!(!self.over.contains(&flow) && self.finished.insert(flow), "an end twice");
                self.node.finish(now, flow);
            }
            Event::Reset { flow, .. } | Event::Refused { flow, .. } => {
                assert!(self.over.insert(flow), "a flow ended twice");
            }
        }
    }

    fn open(&mut self, now: Instant) {
        let Some(peer) = self.peer else { return };
        let (source, destination) = (([10, 1, 0, 1], 1000).into(), ([10, 2, 0, 1], 80).into());
        let open = Open { source, destination, dscp: 0, priority: 0, confirm: true };
        if let Ok(flow) = self.node.open(now, peer, open) {
            self.node.write(now, flow, &mut Bytes::from_static(&[9; 2000]));
            self.flows.push(flow);
        }
    }

    /// What no peer can change: memory has its bound, and the ledger balances.
    fn check(&self) {
        let (config, ledger) = (config(self.hub), self.node.ledger());
        let peers = u64::from(config.max_peers);
        let flows = 2 * u64::from(config.max_flows) + 1;
        assert!(ledger.unread <= peers * (config.memory + flows * FLOOR), "{ledger:?}");
        assert_eq!(ledger.written, ledger.delivered + ledger.held + ledger.lost);
        assert_eq!(ledger.read, self.read.values().sum::<u64>());
    }

    /// Lets timers run out until the peer must be over.
    fn rest(&mut self, mut now: Instant) {
        let end = now + REST;
        let mut timers = 0;
        while let Some(due) = self.node.poll_timeout().filter(|due| *due <= end) {
            timers += 1;
            assert!(timers < MOST_TIMERS, "timers without end");
            now = now.max(due);
            self.work(now);
        }
        self.node.close(now);
        self.work(now);
        assert_eq!(self.node.peers().count(), 0);
    }
}

/// What may happen to a node, one after the other: a kind, a length in two bytes, and that many bytes.
fn happenings(mut input: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let [kind, high, low, rest @ ..] = input else { return None };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (bytes, rest) = rest.split_at(length);
        input = rest;
        Some((*kind, bytes))
    })
}

fn happening(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
}

const FROM_PEER: u8 = 0;
const FROM_STRANGER: u8 = 1;
const PORT_CLOSED: u8 = 2;
const PAUSE: u8 = 3;
const OWNER: u8 = 4;

fn apply(victim: &mut Victim, now: &mut Instant, kind: u8, bytes: &[u8]) {
    let address = victim.peer_address();
    match kind % 8 {
        FROM_STRANGER => victim.datagram(*now, stranger(), bytes),
        PORT_CLOSED => victim.node.port_is_closed(*now, address, bytes),
        PAUSE => *now += Duration::from_millis(u64::from(bytes.first().copied().unwrap_or(0)) * 10),
        OWNER => {
            let [act, which, ..] = bytes else { return };
            let Some(flow) = victim.flows.get(usize::from(*which)).copied() else { return };
            match act % 4 {
                0 => victim.node.finish(*now, flow),
                1 => drop(victim.node.write(*now, flow, &mut Bytes::from_static(&[1; 40_000]))),
                2 => {
                    victim.node.reset(*now, flow, ResetCode::Reset);
                    victim.given_up.insert(flow);
                }
                _ => victim.open(*now),
            }
        }
        _ => victim.datagram(*now, address, bytes),
    }
}

/// Datagrams of a peer and of strangers, ICMP errors, pauses, and calls of the owner, in any order. True if a peer was up.
pub fn node(hub: bool, input: &[u8]) -> bool {
    let mut victim = Victim::new(hub);
    let mut now = Instant::ZERO;
    let mut up = false;
    victim.work(now);
    for (kind, bytes) in happenings(input) {
        now += STEP;
        apply(&mut victim, &mut now, kind, bytes);
        victim.work(now);
        up |= victim.node.peers().next().is_some();
    }
    victim.rest(now);
    up
}

/// What a node receives in a conversation in which both sides open a flow, with the other kinds of happenings behind it.
pub fn recorded(hub: bool) -> Vec<u8> {
    let mut ends = [Victim::new(false), Victim::new(true)];
    let (mut input, mut now) = (vec![], Instant::ZERO);
    for _ in 0..8 {
        for from in 0..2 {
            for datagram in ends[from].work(now) {
                now += STEP;
                let address = ends[1 - from].peer_address();
                ends[1 - from].datagram(now, address, &datagram);
                if (from == 0) == hub {
                    happening(FROM_PEER, &datagram, &mut input);
                }
            }
        }
    }
    let first = happenings(&input).next().map_or(vec![], |(_, bytes)| bytes.to_vec());
    for (kind, bytes) in [
        (OWNER, &[1, 0][..]),
        (PAUSE, &[30]),
        (FROM_STRANGER, &first),
        (PORT_CLOSED, &first[..20.min(first.len())]),
        (OWNER, &[2, 0]),
        (FROM_PEER, &first),
    ] {
        happening(kind, bytes, &mut input);
    }
    input
}

/// A peer with quinn-proto's own streams and datagrams, and no hop above them.
struct Hostile {
    clock: Clock,
    endpoint: quinn_proto::Endpoint,
    connection: Option<(quinn_proto::ConnectionHandle, quinn_proto::Connection)>,
    streams: Vec<quinn_proto::StreamId>,
}

impl Hostile {
    /// Of the role that the victim has not.
    fn new(victim_is_hub: bool) -> Hostile {
        static BASE: OnceLock<std::time::Instant> = OnceLock::new();
        let clock = Clock::new(*BASE.get_or_init(std::time::Instant::now));
        let settings = longhaul_quic::Settings { cid_length: 4, ..longhaul_quic::Settings::default() };
        let mut transport = quinn_proto::TransportConfig::default();
        transport.datagram_receive_buffer_size(Some(1 << 20)).mtu_discovery_config(None);
        let transport = Arc::new(transport);
        let seed = [3; 32];
        let endpoint = Arc::new(settings.endpoint(seed));
        let mut hostile = Hostile {
            clock,
            endpoint: quinn_proto::Endpoint::new(endpoint, None, false, Some(seed)),
            connection: None,
            streams: vec![],
        };
        if victim_is_hub {
            let client = settings.client(transport, &seed, 0, None);
            let at = clock.to_std(Instant::ZERO);
            let made = hostile.endpoint.connect(at, client, hub_address(), "hub");
            hostile.connection = made.ok();
        } else {
            hostile.endpoint.set_server_config(Some(Arc::new(settings.server(transport, &seed))));
        }
        hostile
    }

    fn datagram(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let at = self.clock.to_std(now);
        let mut answer = vec![];
        match self.endpoint.handle(at, from, None, None, BytesMut::from(bytes), &mut answer) {
            Some(quinn_proto::DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut self.connection {
                    if *own == handle {
                        connection.handle_event(event);
                    }
                }
            }
            Some(quinn_proto::DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                self.connection = self.endpoint.accept(incoming, at, &mut answer, None).ok();
            }
            _ => {}
        }
    }

    fn work(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let at = self.clock.to_std(now);
        let mut sent = vec![];
        let Some((handle, connection)) = &mut self.connection else { return sent };
        if connection.poll_timeout().is_some_and(|due| due <= at) {
            connection.handle_timeout(at);
        }
        while connection.poll().is_some() {}
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        let mut buffer = vec![];
        while let Some(transmit) = connection.poll_transmit(at, 1, &mut buffer) {
            sent.push(buffer[..transmit.size].to_vec());
            buffer.clear();
        }
        sent
    }

    /// Kinds of [`happenings`] from 8 on.
    fn act(&mut self, kind: u8, bytes: &[u8]) {
        let Some((_, connection)) = &mut self.connection else { return };
        let (which, content) = bytes.split_first().unwrap_or((&0, &[]));
        let stream = self.streams.get(usize::from(*which)).copied();
        let code = quinn_proto::VarInt::from_u32(content.first().copied().unwrap_or(0).into());
        match (kind % 8, stream) {
            (0, _) => self.streams.extend(connection.streams().open(quinn_proto::Dir::Uni)),
            (1, _) => self.streams.extend(connection.streams().open(quinn_proto::Dir::Bi)),
            (2, _) => self.streams.extend(connection.streams().accept(quinn_proto::Dir::Bi)),
            (3, Some(stream)) => drop(connection.send_stream(stream).write(content)),
            (4, Some(stream)) => drop(connection.send_stream(stream).finish()),
            (5, Some(stream)) => drop(connection.send_stream(stream).reset(code)),
            // quinn-proto has no way to stop what only leads away.
            (6, Some(stream)) if stream.dir() == quinn_proto::Dir::Bi => {
                drop(connection.recv_stream(stream).stop(code));
            }
            (7, _) => drop(connection.datagrams().send(Bytes::copy_from_slice(bytes), true)),
            _ => {}
        }
    }
}

/// A peer that completes the handshake writes anything on streams and in datagrams. The first byte chooses who the victim is. True if
/// the victim has taken the peer's hello.
pub fn peer(input: &[u8]) -> bool {
    let Some((first, input)) = input.split_first() else { return false };
    let hub = first % 2 == 0;
    let (mut victim, mut hostile) = (Victim::new(hub), Hostile::new(hub));
    let mut now = Instant::ZERO;
    let mut up = false;
    let mut exchange = |victim: &mut Victim, hostile: &mut Hostile, now: &mut Instant, rounds: u32| {
        for _ in 0..rounds {
            *now += STEP;
            let own = if hub { hub_address() } else { terminal_address() };
            for datagram in victim.work(*now) {
                hostile.datagram(*now, own, &datagram);
            }
            let from = victim.peer_address();
            for datagram in hostile.work(*now) {
                victim.datagram(*now, from, &datagram);
            }
            up |= victim.node.peers().next().is_some();
        }
    };
    exchange(&mut victim, &mut hostile, &mut now, 6);
    for (kind, bytes) in happenings(input) {
        match kind % 16 {
            owner @ 0..8 => apply(&mut victim, &mut now, owner, bytes),
            act => hostile.act(act, bytes),
        }
        exchange(&mut victim, &mut hostile, &mut now, 1);
    }
    exchange(&mut victim, &mut hostile, &mut now, 4);
    victim.rest(now);
    up
}

/// A peer that follows the protocol, for both victims, and one whose parities state an end before the last bytes.
pub fn peer_seeds() -> Vec<Vec<u8>> {
    let mut seeds = orderly_peers();
    seeds.push(behind_the_end());
    seeds
}

/// Hello, a flow whose end comes with parities of its head, and more bytes of it.
fn behind_the_end() -> Vec<u8> {
    use longhaul_hop::wire::{ParityHead, Record, write_open};
    let (mut input, mut records, mut head, mut datagram) = (vec![0], vec![], vec![], vec![]);
    Record::Hello(crate::seeds::hop_hello()).write(&mut records);
    let (source, destination) = (([192, 0, 2, 1], 1000).into(), ([192, 0, 2, 2], 80).into());
    write_open(&Open { source, destination, dscp: 0, priority: 0, confirm: false }, &mut head);
    let (length, symbol) = (head.len() as u64, head.len() as u16);
    let parity = ParityHead { stream: 0, start: 0, length, symbol, parities: 1, first: 0, last: true };
    parity.write(&mut datagram);
    // The parity of a block of one symbol is a copy.
    datagram.extend_from_slice(&head);
    head.extend_from_slice(&[7; 500]);
    for (kind, bytes) in [
        (0, vec![]),
        (3, [vec![0], records].concat()),
        (7, datagram),
        (1, vec![]),
        (3, [vec![1], head].concat()),
        (4, vec![1]),
    ] {
        happening(8 + kind, &bytes, &mut input);
    }
    input
}

/// Hello, a flow with a request, credit, parities, the end; and one that resets.
fn orderly_peers() -> Vec<Vec<u8>> {
    use longhaul_hop::wire::{ParityHead, Record, write_open};
    [0u8, 1]
        .map(|victim| {
            let mut input = vec![victim];
            let mut act = |kind: u8, bytes: &[u8]| happening(8 + kind, bytes, &mut input);
            let with = |which: u8, bytes: Vec<u8>| [vec![which], bytes].concat();
            let mut records = vec![];
            Record::Hello(crate::seeds::hop_hello()).write(&mut records);
            act(0, &[]);
            act(3, &with(0, records));
            let (source, destination) = (([192, 0, 2, 1], 1000).into(), ([192, 0, 2, 2], 80).into());
            let mut head = vec![];
            write_open(&Open { source, destination, dscp: 10, priority: 2, confirm: true }, &mut head);
            let number = u64::from(victim == 1);
            act(1, &[]);
            act(3, &with(1, [head.clone(), b"GET / HTTP/1.1\r\n\r\n".to_vec()].concat()));
            let parity = ParityHead {
                stream: number,
                start: 0,
                length: 32,
                symbol: 32,
                parities: 1,
                first: 0,
                last: false,
            };
            let mut datagram = vec![];
            parity.write(&mut datagram);
            act(7, &[datagram, vec![5; 32]].concat());
            let mut records = vec![];
            Record::Consumed { stream: number, offset: 1500 }.write(&mut records);
            Record::Accepted { stream: 1 - number }.write(&mut records);
            act(3, &with(0, records));
            act(4, &[1]);
            act(1, &[]);
            act(3, &with(2, head));
            act(5, &[2, 3]);
            act(6, &[2, 3]);
            act(2, &[]);
            act(3, &with(3, vec![8; 100]));
            act(4, &[3]);
            input
        })
        .to_vec()
}

/// A node begins with what a file stated of an earlier connection, and its peer comes up and gets bytes.
pub fn begins_with(remembered: Remembered) {
    let now = Instant::ZERO;
    let mut config = config(false);
    config.rates = Rates::default();
    config.remembered = Some(remembered);
    let Ok(node) = Node::new(config, [1; 32], now) else { return };
    let mut victim = Victim { node, ..Victim::new(false) };
    for (number, (kind, bytes)) in happenings(&recorded(false)).enumerate() {
        let mut now = now + STEP.saturating_mul(number as u64);
        apply(&mut victim, &mut now, kind, bytes);
        victim.work(now);
    }
}
