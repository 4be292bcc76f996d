//! TCP connections as middleboxes identify them: by number, with a direction that counts from the end that opened them.
//! Whoever sends the first packet seen counts as the opener, unless it answers a SYN (SYN with ACK, RFC 9293 section 3.5).

use longhaul_middlebox::Direction;
use longhaul_segment::ip;
use longhaul_units::{ConnectionId, Duration, FlowId, IdVec, Instant};
use std::collections::HashMap;
use std::net::IpAddr;

/// One end of a connection.
pub(crate) type End = (IpAddr, u16);

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Connections at a time; packets of more pass middleboxes untouched.
const MOST: usize = 65_536;
/// Connections that middleboxes have of their own are numbered from here on.
pub(crate) const FIRST_OWN: ConnectionId = ConnectionId(MOST as u32);
/// Numbers of closed connections are given away after this time.
const LINGER: Duration = Duration::from_secs(60);
/// So are those of connections that have been silent for so long.
const IDLE: Duration = Duration::from_secs(3600);

/// A connection.
struct Entry {
    /// The end that opened it, and the other.
    ends: [End; 2],
    last: Instant,
    /// FINs seen from each end, or a reset.
    fins: [bool; 2],
    reset: bool,
    /// Anything but a SYN was seen.
    begun: bool,
    /// Ways of its packets from each end.
    way: [u32; 2],
    flow: FlowId,
    /// How the last packet from each end looked outside of TCP.
    outside: [Option<Outside>; 2],
}

/// What is outside of a packet's TCP header: packets that middleboxes send look like those before them.
#[derive(Clone, Copy)]
pub(crate) struct Outside {
    pub ip: ip::Header,
    /// What precedes the IP header on a bridge.
    pub link: Option<LinkHeader>,
}

/// Ethernet's header: destination, source, tags, type (IEEE 802.3, 802.1Q); of more than two tags it has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkHeader {
    bytes: [u8; LONGEST_HEADER],
    len: u8,
}

/// Both addresses, two tags, type.
pub(crate) const LONGEST_HEADER: usize = 22;
const SHORTEST_HEADER: usize = 14;

impl LinkHeader {
    /// `None` if there is no header, or none that is kept.
    pub fn of(header: &[u8]) -> Option<LinkHeader> {
        if !(SHORTEST_HEADER..=LONGEST_HEADER).contains(&header.len()) {
            return None;
        }
        let mut bytes = [0; LONGEST_HEADER];
        bytes[..header.len()].copy_from_slice(header);
        Some(LinkHeader { bytes, len: header.len() as u8 })
    }

    /// As it is on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Of an answer.
    fn turned(mut self) -> LinkHeader {
        self.bytes[..12].rotate_left(6);
        self
    }
}

impl Outside {
    /// Of an answer.
    fn turned(&self) -> Outside {
        let ip = ip::Header { src: self.ip.dst, dst: self.ip.src, ..self.ip };
        Outside { ip, link: self.link.map(LinkHeader::turned) }
    }
}

/// What a packet that leaves a middlebox is made with.
pub(crate) struct Leaving {
    pub ports: (u16, u16),
    pub outside: Outside,
    pub way: u32,
    pub flow: FlowId,
}

impl Entry {
    fn is_over(&self, now: Instant) -> bool {
        let closed = self.reset || self.fins == [true; 2] || !self.begun;
        now.since(self.last) > if closed { LINGER } else { IDLE }
    }
}

/// The identity of a packet by its headers.
pub(crate) struct Seen {
    pub src: End,
    pub dst: End,
    pub tcp_flags: u8,
    /// Its way, and that of answers.
    pub way: u32,
    pub back: u32,
    pub flow: FlowId,
    pub outside: Outside,
}

/// All connections that were seen.
#[derive(Default)]
pub(crate) struct Connections {
    numbers: HashMap<[End; 2], ConnectionId>,
    entries: IdVec<ConnectionId, Entry>,
    free: Vec<ConnectionId>,
    swept: Instant,
}

impl Connections {
    /// The number of a packet's connection and the packet's direction; `None` if there are too many connections.
    pub fn of(&mut self, now: Instant, seen: &Seen) -> Option<(ConnectionId, Direction)> {
        let number = match self.numbers.get(&key(seen.src, seen.dst)) {
            Some(number) => *number,
            None => self.begin(now, seen)?,
        };
        let entry = &mut self.entries[number];
        if seen.tcp_flags & (SYN | ACK) == SYN && entry.is_finished() {
            // The same ports again: whoever opens it now is the opener.
            entry.ends = [seen.src, seen.dst];
            (entry.fins, entry.reset, entry.begun) = ([false; 2], false, false);
        }
        let end = usize::from(entry.ends[0] != seen.src);
        entry.last = now;
        entry.begun |= seen.tcp_flags & SYN == 0;
        entry.fins[end] |= seen.tcp_flags & FIN != 0;
        entry.reset |= seen.tcp_flags & RST != 0;
        (entry.way[end], entry.way[1 - end]) = (seen.way, seen.back);
        entry.flow = seen.flow;
        entry.outside[end] = Some(seen.outside);
        Some((number, Direction::BOTH[end]))
    }

    fn begin(&mut self, now: Instant, seen: &Seen) -> Option<ConnectionId> {
        if self.free.is_empty() && self.entries.len() >= MOST {
            self.sweep(now);
            if self.free.is_empty() {
                return None;
            }
        }
        let answers = seen.tcp_flags & (SYN | ACK) == SYN | ACK;
        let ends = if answers { [seen.dst, seen.src] } else { [seen.src, seen.dst] };
        let entry = Entry {
            ends,
            last: now,
            fins: [false; 2],
            reset: false,
            begun: false,
            way: [seen.way; 2],
            flow: seen.flow,
            outside: [None; 2],
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number] = entry;
                number
            }
            None => self.entries.push(entry),
        };
        self.numbers.insert(key(seen.src, seen.dst), number);
        Some(number)
    }

    /// Takes the numbers of connections that are over; at most once a second.
    fn sweep(&mut self, now: Instant) {
        if now.since(self.swept) < Duration::from_secs(1) {
            return;
        }
        self.swept = now;
        let Connections { numbers, entries, free, .. } = self;
        numbers.retain(|_, number| {
            let over = entries[*number].is_over(now);
            if over {
                free.push(*number);
            }
            !over
        });
    }

    /// What a packet of a connection is made with; `None` if there is no such connection.
    pub fn leaving(&self, number: ConnectionId, direction: Direction) -> Option<Leaving> {
        let entry = self.entries.get(number)?;
        let from = direction as usize;
        let outside = entry.outside[from].or_else(|| Some(entry.outside[1 - from]?.turned()))?;
        let ports = (entry.ends[from].1, entry.ends[1 - from].1);
        Some(Leaving { ports, outside, way: entry.way[from], flow: entry.flow })
    }

    /// The flow of a connection.
    pub fn flow_of(&self, number: ConnectionId) -> Option<FlowId> {
        self.entries.get(number).map(|entry| entry.flow)
    }
}

impl Entry {
    fn is_finished(&self) -> bool {
        self.reset || self.fins == [true; 2]
    }
}

fn key(a: End, b: End) -> [End; 2] {
    if a <= b { [a, b] } else { [b, a] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(src: u16, dst: u16, tcp_flags: u8) -> Seen {
        let end = |port| (IpAddr::from([10, 0, 0, 1]), port);
        let ip = ip::Header::new(end(0).0, [10, 0, 0, 2].into());
        let link = LinkHeader::of(&[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x81, 0, 0, 5, 8, 0]);
        Seen {
            src: end(src),
            dst: end(dst),
            tcp_flags,
            way: 3,
            back: 7,
            flow: FlowId(0),
            outside: Outside { ip: ip::Header { ttl: 61, ..ip }, link },
        }
    }

    #[test]
    fn direction_counts_from_the_opener() {
        let mut connections = Connections::default();
        let mut of = |seen| connections.of(Instant::ZERO, &seen);
        assert_eq!(of(seen(9000, 80, SYN)), Some((ConnectionId(0), Direction::Forward)));
        assert_eq!(of(seen(80, 9000, SYN | ACK)), Some((ConnectionId(0), Direction::Reverse)));
        assert_eq!(
            of(seen(80, 9001, SYN | ACK)),
            Some((ConnectionId(1), Direction::Reverse)),
            "its SYN went another way"
        );
        // Closed, and opened again from the other end.
        assert_eq!(of(seen(80, 9000, RST)), Some((ConnectionId(0), Direction::Reverse)));
        assert_eq!(of(seen(80, 9000, SYN)), Some((ConnectionId(0), Direction::Forward)));
    }

    #[test]
    fn an_answer_looks_like_its_question() {
        let mut connections = Connections::default();
        connections.of(Instant::ZERO, &seen(9000, 80, SYN));
        let answer = connections.leaving(ConnectionId(0), Direction::Reverse).unwrap();
        assert_eq!((answer.ports, answer.way, answer.outside.ip.ttl), ((80, 9000), 7, 61));
        assert_eq!(answer.outside.ip.src.to_string(), "10.0.0.2");
        let link = answer.outside.link.unwrap();
        assert_eq!(link.bytes(), [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0x81, 0, 0, 5, 8, 0], "its VLAN too");
    }

    #[test]
    fn a_flood_of_syns_is_forgotten_after_a_minute() {
        let mut connections = Connections::default();
        for port in 0..=u16::MAX {
            assert!(connections.of(Instant::ZERO, &seen(port, 80, SYN)).is_some());
        }
        let later = |s| Instant::ZERO + Duration::from_secs(s);
        assert!(connections.of(later(59), &seen(1, 81, SYN)).is_none());
        assert!(connections.of(later(61), &seen(1, 81, SYN)).is_some());
    }
}
