//! A connection of a proxy and the bytes of its two streams. The connection itself moves lengths; the bytes are kept beside it, as in the
//! buffers of a socket: what comes in until it is read, what is written until the peer has acknowledged it. So a byte leaves where it was
//! written to, whatever way it came, and what is under way between two nodes of a proxy is in the packets.
//!
//! Bytes are not copied on their way: what is kept are pieces of the packets that brought them, and what leaves are pieces of those. Only
//! where a packet that leaves takes bytes of several that came are they put together.
//!
//! What is kept of what comes in is what the connection takes, byte for byte: bounded by its window. Of two packets with different
//! things of the same byte the first counts, as with any receiver that keeps what it has.

use crate::Body;
use crate::data::Data;
use bytes::Bytes;
use longhaul_segment::{Ecn, Flags, Segment};
use longhaul_tcp::{Connection, State};
use longhaul_units::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};

/// What proxies can end connections of: bytes, or payload that is only a length but for what a proxy has written, `Sparse`.
pub trait Payload: Body {
    /// Pieces of streams.
    type Data: Data;
    /// What waits at a connection.
    type Buffers: Buffers<Self>;
    /// Of a packet of `len` bytes that a proxy makes; what it leaves out is only a length.
    fn of(len: u32, real: impl FnOnce() -> Vec<u8>) -> Self;
    /// The same as a piece of a stream.
    fn data(&self) -> &Self::Data;
    /// A piece of a stream as the payload of a packet.
    fn from_data(data: Self::Data) -> Self;
}

/// The bytes that wait at one connection.
pub trait Buffers<P: Payload>: Default + Send {
    /// A segment has come.
    fn take_in(&mut self, connection: &mut Connection, now: Instant, segment: &Segment, ecn: Ecn, body: &P);
    /// The payload of a segment that leaves.
    fn payload(&self, connection: &Connection, segment: &Segment) -> P;
    /// Takes the next bytes of what has come.
    fn read(&mut self, len: u64) -> P::Data;
    /// The same, which stay, with the field before them.
    fn peek(&self, len: u64) -> P::Data;
    /// More to send.
    fn write(&mut self, data: &P::Data);
}

impl Payload for Bytes {
    type Data = Bytes;
    type Buffers = Streams;
    fn of(len: u32, real: impl FnOnce() -> Vec<u8>) -> Self {
        let mut bytes = real();
        bytes.resize(len as usize, 0);
        bytes.into()
    }
    fn data(&self) -> &Bytes {
        self
    }
    fn from_data(data: Bytes) -> Self {
        data
    }
}

/// Bytes that have come and were not read, and bytes that were written and not acknowledged. Places count from a stream's first byte.
#[derive(Debug, Default)]
pub struct Streams {
    /// What has come, by its place.
    come: BTreeMap<u64, Bytes>,
    /// Everything below was read.
    read: u64,
    /// What was written and is not all acknowledged, with the places where it begins, in order and without gaps.
    written: VecDeque<(u64, Bytes)>,
    /// Where the next is written.
    end: u64,
}

impl Streams {
    /// Keeps bytes that begin at a place; what is there already stays.
    pub(crate) fn keep(&mut self, mut place: u64, mut bytes: Bytes) {
        let skip = |place: &mut u64, bytes: &mut Bytes, len: u64| {
            let len = len.min(bytes.len() as u64);
            *place += len;
            bytes.split_to(len as usize)
        };
        let old = self.read.saturating_sub(place);
        skip(&mut place, &mut bytes, old);
        while !bytes.is_empty() {
            let before = self.come.range(..=place).next_back();
            let covered = before.map_or(0, |(start, have)| (start + have.len() as u64).saturating_sub(place));
            skip(&mut place, &mut bytes, covered);
            let next = self.come.range(place..).next().map_or(u64::MAX, |(start, _)| *start);
            let begin = place;
            let fresh = skip(&mut place, &mut bytes, next - begin);
            if !fresh.is_empty() {
                self.come.insert(begin, fresh);
            }
        }
    }

    /// Everything below was read.
    pub(crate) fn read_to(&self) -> u64 {
        self.read
    }
    /// Takes what there is of the next `len` bytes, with its places.
    pub(crate) fn drain(&mut self, len: u64) -> impl Iterator<Item = (u64, Bytes)> + '_ {
        self.read += len;
        let end = self.read;
        std::iter::from_fn(move || {
            let entry = self.come.first_entry().filter(|entry| *entry.key() < end)?;
            let (place, mut piece) = entry.remove_entry();
            let most = (end - place) as usize;
            if piece.len() > most {
                self.come.insert(end, piece.split_off(most));
            }
            Some((place, piece))
        })
    }
    /// The same, which stays.
    pub(crate) fn peek(&self, len: u64) -> impl Iterator<Item = (u64, Bytes)> + '_ {
        let end = self.read + len;
        let inside = self.come.range(self.read..end);
        inside.map(move |(place, piece)| (*place, piece.slice(..piece.len().min((end - place) as usize))))
    }

    /// The bytes from a place on that were written.
    fn written(&self, from: u64, len: usize) -> Bytes {
        let first = self.written.partition_point(|(place, piece)| place + piece.len() as u64 <= from);
        let Some((place, piece)) = self.written.get(first) else { return Bytes::new() };
        let skip = from.saturating_sub(*place) as usize;
        if skip + len <= piece.len() {
            return piece.slice(skip..skip + len);
        }
        let mut bytes = Vec::with_capacity(len);
        bytes.extend_from_slice(&piece[skip..]);
        for (_, piece) in self.written.range(first + 1..) {
            bytes.extend_from_slice(&piece[..piece.len().min(len - bytes.len())]);
            if bytes.len() == len {
                break;
            }
        }
        bytes.into()
    }
}

impl Buffers<Bytes> for Streams {
    fn take_in(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
        body: &Bytes,
    ) {
        let mut segment = *segment;
        if segment.flags.contains(Flags::SYN) {
            // Data on a SYN is not taken; its host sends it again.
            segment.payload_len = 0;
        }
        if let Some((place, room)) = is_taken_in(connection, now, &segment, ecn, body.len() as u32) {
            self.keep(place, body.slice(..room as usize));
        }
        let acked = connection.acked_bytes();
        while self.written.front().is_some_and(|(place, piece)| place + piece.len() as u64 <= acked) {
            self.written.pop_front();
        }
        if connection.state() == State::Closed {
            self.written.clear();
        }
    }

    fn payload(&self, connection: &Connection, segment: &Segment) -> Bytes {
        if segment.payload_len == 0 {
            return Bytes::new();
        }
        let payload = self.written(connection.sent_place(segment.seq), segment.payload_len as usize);
        debug_assert_eq!(payload.len(), segment.payload_len as usize, "what is sent was written");
        payload
    }

    fn read(&mut self, len: u64) -> Bytes {
        let (mut whole, mut bytes) = (Bytes::new(), vec![]);
        for (_, piece) in self.drain(len) {
            if bytes.is_empty() && whole.is_empty() {
                whole = piece;
            } else {
                if bytes.is_empty() {
                    bytes.reserve(len as usize);
                    bytes.extend_from_slice(&std::mem::take(&mut whole));
                }
                bytes.extend_from_slice(&piece);
            }
        }
        let read = if bytes.is_empty() { whole } else { bytes.into() };
        debug_assert_eq!(read.len() as u64, len, "what is read has come");
        read
    }

    fn peek(&self, len: u64) -> Bytes {
        let mut pieces = Streams::peek(self, len).map(|(_, piece)| piece);
        let Some(first) = pieces.next() else { return Bytes::new() };
        if first.len() as u64 == len {
            return first;
        }
        pieces.fold(first.to_vec(), |all, piece| [&all[..], &piece].concat()).into()
    }

    fn write(&mut self, data: &Bytes) {
        if !data.is_empty() {
            self.written.push_back((self.end, data.clone()));
            self.end += data.len() as u64;
        }
    }
}

/// Hands a segment to a connection; where in its stream the payload, of which `len` bytes are at hand, begins, and how many of them
/// are taken in. What has not added a byte was refused, or is a copy.
pub(crate) fn is_taken_in(
    connection: &mut Connection,
    now: Instant,
    segment: &Segment,
    ecn: Ecn,
    len: u32,
) -> Option<(u64, u64)> {
    let all = |connection: &Connection| connection.received_bytes() + connection.out_of_order_bytes();
    let (before, edge) = (all(connection), connection.receive_edge());
    connection.handle_segment(now, segment, ecn);
    let place = connection.received_place(segment.seq).filter(|_| all(connection) > before)?;
    (segment.payload_len > 0).then(|| (place, edge.saturating_sub(place).min(u64::from(len))))
}

/// A connection and its bytes.
pub struct Carrier<P: Payload> {
    connection: Connection,
    buffers: P::Buffers,
}

impl<P: Payload> Carrier<P> {
    /// A connection to which nothing was written yet.
    pub fn new(connection: Connection) -> Self {
        Carrier { connection, buffers: P::Buffers::default() }
    }
    /// A segment has arrived, with its payload.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, ecn: Ecn, body: &P) {
        self.buffers.take_in(&mut self.connection, now, segment, ecn, body);
    }
    /// Writes the next segment that is to leave into `segment`, if there is one. Its ECN field and its payload.
    pub fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<(Ecn, P)> {
        let departure = self.connection.transmit_into(now, segment)?;
        Some((departure.ecn, self.buffers.payload(&self.connection, segment)))
    }
    /// Reads at most so many bytes: the connection's window opens by as much.
    pub fn read(&mut self, now: Instant, most: u64) -> P::Data {
        let len = self.connection.read(now, most);
        self.buffers.read(len)
    }
    /// Takes so many bytes, which have come, of a connection whose window does not wait for that.
    pub fn take(&mut self, len: u64) -> P::Data {
        self.buffers.read(len)
    }
    /// The next bytes of what has come, which stay, with the field before them.
    pub fn peek(&self, len: u64) -> P::Data {
        self.buffers.peek(len)
    }
    /// More to send.
    pub fn write(&mut self, data: &P::Data) {
        self.buffers.write(data);
        self.connection.write(u64::from(data.len()));
    }
}

impl<P: Payload> Deref for Carrier<P> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl<P: Payload> DerefMut for Carrier<P> {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_came_first_counts() {
        let mut streams = Streams::default();
        let bytes = |bytes: &'static [u8]| Bytes::from_static(bytes);
        streams.keep(10, bytes(b"klmnop"));
        streams.keep(0, bytes(b"abcdefghijKLM"));
        assert_eq!(&streams.read(5)[..], b"abcde");
        streams.keep(3, bytes(b"DEFGH"));
        assert_eq!(&streams.read(11)[..], b"fghijklmnop");
        assert!(streams.come.is_empty());
    }

    /// What came as packets leaves as the same packets: not a byte is copied.
    #[test]
    fn bytes_stay_where_they_are() {
        let packets = [Bytes::from(vec![1; 1000]), Bytes::from(vec![2; 1000]), Bytes::from(vec![3; 1000])];
        let mut streams = Streams::default();
        for (place, packet) in [(2000, &packets[2]), (0, &packets[0]), (1000, &packets[1])] {
            streams.keep(place, packet.clone());
        }
        for packet in &packets {
            let read = streams.read(1000);
            assert_eq!(read.as_ptr(), packet.as_ptr());
            streams.write(&read);
        }
        for (place, packet) in [(0, &packets[0]), (1000, &packets[1]), (2000, &packets[2])] {
            assert_eq!(streams.written(place, 1000).as_ptr(), packet.as_ptr());
        }
        assert_eq!(streams.written(2900, 100).as_ptr(), packets[2][900..].as_ptr());
        assert_eq!(
            streams.written(900, 1200)[..],
            [&packets[0][900..], &packets[1], &packets[2][..100]].concat()
        );
    }

    proptest! {
        /// Pieces in any order, of any length: what is read is what was sent, up to the first gap.
        #[test]
        fn any_pieces_make_the_same_stream(
            pieces in proptest::collection::vec((0usize..400, 1usize..200), 1..60),
            asked in proptest::collection::vec(1usize..100, 1..20),
        ) {
            let sent: Vec<u8> = (0..600u32).map(|n| (n * 31 % 251) as u8).collect();
            let (mut streams, mut have, mut asked) = (Streams::default(), [false; 601], asked.into_iter());
            let mut read = vec![];
            for (at, len) in pieces {
                streams.keep(at as u64, Bytes::copy_from_slice(&sent[at..at + len]));
                have[at..at + len].fill(true);
                let there = have.iter().position(|have| !have).unwrap_or(600);
                let len = asked.next().unwrap_or(0).min(there - read.len());
                read.extend(streams.read(len as u64));
            }
            prop_assert_eq!(&read[..], &sent[..read.len()]);
        }
    }
}
