//! Middleboxes that stand at two nodes. Each [`Node`] is a value of its own, which gets the packets on its side and those that the
//! other has sent it; nothing else crosses between them. [`TwoNodes`] puts both into one simulation or one emulation and adds up what
//! only an observer of both can count: what was acknowledged to one host and has not reached the other.

use crate::levels::Levels;
use crate::split::hosts::{self, Undelivered};
use crate::split::local::Broken;
use crate::{
    Base, Body, Departure, Direction, Event, Middlebox, OwnConnection, Passing, QueueState, Verdict,
};
use longhaul_segment::Segment;
use longhaul_tcp::Ports;
use longhaul_units::{ConnectionId, Instant};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One node of a middlebox that stands at two: its packets leave at port 0.
pub trait Node<B: Body>: Middlebox<B> {
    /// What it has taken from a host and delivered to it, by the number of the connection.
    fn account(&self, _connection: ConnectionId) -> Option<Account> {
        None
    }
    /// Events for an observer of both nodes, one by one.
    fn poll_note(&mut self) -> Option<Note> {
        None
    }
    /// Packets that it holds.
    fn held_packets(&self) -> u64 {
        0
    }
}

/// What a node's connection to a host has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Account {
    /// What the two nodes call it.
    pub stream: u32,
    /// Bytes that its host has sent, without gaps.
    pub received: u64,
    /// Bytes that its host has acknowledged.
    pub acked: u64,
    /// It has ended before its time.
    pub broken: bool,
    /// It is over.
    pub over: bool,
}

/// What has happened to a node's connection to a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Its account has changed.
    Changed(ConnectionId),
    /// It has ended before its time.
    Broken(ConnectionId, Broken),
    /// All connections are given up.
    Abandoned,
}

/// The two hosts of a connection, by address and port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ends {
    /// The active opener.
    pub active: SocketAddr,
    /// The passive one.
    pub passive: SocketAddr,
}

impl Ends {
    /// Its bytes: 12 with IPv4 (addresses 4 and 4, ports 2 and 2, the active opener's first), 36 with IPv6.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![];
        for end in [self.active, self.passive] {
            match end.ip() {
                IpAddr::V4(address) => bytes.extend(address.octets()),
                IpAddr::V6(address) => bytes.extend(address.octets()),
            }
        }
        bytes.extend(self.active.port().to_be_bytes());
        bytes.extend(self.passive.port().to_be_bytes());
        bytes
    }
    /// Reads what [`Ends::encode`] has written; `None` if it is of another length.
    pub fn decode(bytes: &[u8]) -> Option<Ends> {
        let (addresses, ports) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        let address = |bytes: &[u8]| match bytes.len() {
            4 => Some(IpAddr::V4(Ipv4Addr::from(*bytes.first_chunk()?))),
            16 => Some(IpAddr::V6(Ipv6Addr::from(*bytes.first_chunk()?))),
            _ => None,
        };
        let (active, passive) = addresses.split_at(addresses.len() / 2);
        let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
        Some(Ends {
            active: SocketAddr::new(address(active)?, port(0)),
            passive: SocketAddr::new(address(passive)?, port(2)),
        })
    }
    /// Ports of a node's connection to one of them, to which its packets go in this direction.
    pub fn ports(&self, towards: Direction) -> Ports {
        let (active, passive) = (self.active.port(), self.passive.port());
        match towards {
            Direction::Forward => Ports { local: active, remote: passive },
            Direction::Reverse => Ports { local: passive, remote: active },
        }
    }
}

/// A node's numbers of connections, which mean nothing at the other node, and the addresses that do.
pub trait Directory: Send {
    /// The hosts of a connection that has these ports, the active opener's first.
    fn ends(&self, connection: ConnectionId, ports: [u16; 2]) -> Ends;
    /// The number of the connection between these hosts; `None` if it cannot have one.
    fn number(&mut self, ends: &Ends) -> Option<ConnectionId>;
}

/// Both nodes are in one world, whose hosts have no addresses: these hold the number.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByNumber;

impl ByNumber {
    /// Addresses of the two hosts of a connection.
    pub fn addresses(connection: ConnectionId) -> [Ipv4Addr; 2] {
        let [highest, high, middle, low] = connection.0.to_be_bytes();
        [Ipv4Addr::new(10, high, middle, low), Ipv4Addr::new(11, highest, middle, low)]
    }
    /// The connection of two hosts with such addresses.
    pub fn of(active: IpAddr, passive: IpAddr) -> Option<ConnectionId> {
        let (IpAddr::V4(active), IpAddr::V4(passive)) = (active, passive) else { return None };
        let [_, high, middle, low] = active.octets();
        Some(ConnectionId(u32::from_be_bytes([passive.octets()[1], high, middle, low])))
    }
}

impl Directory for ByNumber {
    fn ends(&self, connection: ConnectionId, ports: [u16; 2]) -> Ends {
        let [active, passive] = Self::addresses(connection);
        Ends {
            active: SocketAddr::new(active.into(), ports[0]),
            passive: SocketAddr::new(passive.into(), ports[1]),
        }
    }
    fn number(&mut self, ends: &Ends) -> Option<ConnectionId> {
        let (active, passive) = (ends.active.ip(), ends.passive.ip());
        let number = Self::of(active, passive)?;
        // The other way round, they are of no connection.
        (Self::addresses(number).map(IpAddr::from) == [active, passive]).then_some(number)
    }
}

/// What only an observer of both nodes can count.
#[derive(Debug, Default)]
struct Ledger {
    undelivered: Undelivered,
    lost_acknowledged_bytes: u64,
}

/// Two nodes in one world. Port 0 is the first, port 1 the second.
pub struct TwoNodes<B: Body> {
    nodes: [Box<dyn Node<B>>; 2],
    /// For proxies.
    ledger: Option<Ledger>,
    base: Base<B>,
}

impl<B: Body> TwoNodes<B> {
    /// Two nodes of a proxy; `holds_packets` if they do.
    pub fn of_proxy(nodes: [Box<dyn Node<B>>; 2], holds_packets: bool) -> Self {
        let levels = if holds_packets { Levels::of_packets() } else { Levels::default() };
        TwoNodes { nodes, ledger: Some(Ledger::default()), base: Base::new(levels) }
    }
    /// Two nodes that pass on the hosts' packets.
    pub fn of_packets(nodes: [Box<dyn Node<B>>; 2]) -> Self {
        TwoNodes { nodes, ledger: None, base: Base::new(Levels::of_packets()) }
    }

    /// Takes note of what a node has done.
    #[inline]
    fn observe(&mut self, now: Instant, side: usize) {
        if let Some(packets) = &mut self.base.levels.packets {
            packets.set(now, self.nodes.iter().map(|node| node.held_packets()).sum());
        }
        while let Some(note) = self.nodes[side].poll_note() {
            self.take_note(now, side, note);
        }
    }

    fn take_note(&mut self, now: Instant, side: usize, note: Note) {
        let Some(ledger) = &mut self.ledger else { return };
        let levels = &mut self.base.levels;
        let accounts =
            |connection: ConnectionId| [0, 1].map(|side: usize| self.nodes[side].account(connection));
        match note {
            Note::Changed(connection) => {
                let bytes = hosts::undelivered(accounts(connection));
                ledger.undelivered.set(now, levels, connection, bytes);
            }
            Note::Broken(connection, why) => {
                let mut accounts = accounts(connection);
                accounts.swap(0, side);
                ledger.lost_acknowledged_bytes += hosts::lost(why, accounts);
            }
            Note::Abandoned => {
                ledger.lost_acknowledged_bytes += ledger.undelivered.total();
                for connection in ledger.undelivered.ids() {
                    let bytes = hosts::undelivered(accounts(connection));
                    ledger.undelivered.set(now, levels, connection, bytes);
                }
            }
        }
    }
}

impl<B: Body> Middlebox<B> for TwoNodes<B> {
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, B>) -> Verdict {
        let verdict = self.nodes[port].handle_packet(now, 0, packet);
        self.observe(now, port);
        verdict
    }
    fn handle_timeout(&mut self, now: Instant) {
        for side in [0, 1] {
            if self.nodes[side].poll_timeout().is_some_and(|due| due <= now) {
                self.nodes[side].handle_timeout(now);
                self.observe(now, side);
            }
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.nodes.iter().filter_map(|node| node.poll_timeout()).min()
    }
    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<B>> {
        // What one node does gives the other nothing to do but by a packet.
        for port in [0, 1] {
            let departure = self.nodes[port].transmit_into(now, segment);
            self.observe(now, port);
            if let Some(departure) = departure {
                return Some(Departure { port, ..departure });
            }
        }
        None
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.nodes.iter_mut().find_map(|node| node.poll_event())
    }
    fn watches_queue(&self) -> bool {
        self.nodes[0].watches_queue()
    }
    fn handle_queue(&mut self, now: Instant, state: QueueState) {
        self.nodes[0].handle_queue(now, state);
    }
    fn lose_all(&mut self, now: Instant) {
        if let Some(ledger) = &mut self.ledger {
            ledger.lost_acknowledged_bytes += ledger.undelivered.lose_all(now, &mut self.base.levels);
        }
        for node in &mut self.nodes {
            node.fail(now);
            while node.poll_note().is_some() {}
        }
        if let Some(packets) = &mut self.base.levels.packets {
            packets.set(now, 0);
        }
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all: Vec<(&'static str, u64)> = vec![];
        let lost =
            self.ledger.as_ref().map(|ledger| ("lost_acknowledged_bytes", ledger.lost_acknowledged_bytes));
        for (name, count) in self.nodes.iter().flat_map(|node| node.counters()).chain(lost) {
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => all.push((name, count)),
            }
        }
        all
    }
    fn base(&self) -> &Base<B> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<B> {
        &mut self.base
    }
    fn own_connections(&self) -> Vec<OwnConnection> {
        let mut all = vec![];
        for (port, node) in self.nodes.iter().enumerate() {
            all.extend(node.own_connections().into_iter().map(|own| OwnConnection { port, ..own }));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_the_number() {
        for number in [0, 1, 65_536, (1 << 24) - 1, 1 << 24, (1 << 26) + 5, u32::MAX].map(ConnectionId) {
            let ends = ByNumber.ends(number, [1000, 80]);
            let read = Ends::decode(&ends.encode());
            assert_eq!(read, Some(ends));
            assert_eq!(ByNumber.number(&ends), Some(number));
            assert_eq!(ends.ports(Direction::Forward), Ports { local: 1000, remote: 80 });
        }
        let v6 = Ends {
            active: "[2001:db8::1]:1000".parse().unwrap(),
            passive: "[2001:db8::2]:80".parse().unwrap(),
        };
        assert_eq!(v6.encode().len(), 36);
        assert_eq!(Ends::decode(&v6.encode()), Some(v6));
        assert_eq!(Ends::decode(&v6.encode()[..35]), None);
        assert_eq!(Ends::decode(&[]), None);
    }
}
