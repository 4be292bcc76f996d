//! A connection of a proxy and the bytes of its two streams. The connection itself moves lengths; the bytes are kept beside it, as in the
//! buffers of a socket: what comes in until it is read, what is written until the peer has acknowledged it. So a byte leaves where it was
//! written to, whatever way it came, and what is under way between two nodes of a proxy is in the packets.
//!
//! What is kept of what comes in is what the connection takes, byte for byte: bounded by its window. Of two packets that say different
//! things of the same byte the first counts, as with any receiver that keeps what it has.

use crate::Body;
use crate::data::{Data, Length};
use longhaul_segment::{Ecn, Flags, Segment};
use longhaul_tcp::{Connection, State};
use longhaul_units::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// What proxies can end connections of: payload that is only a length, `()`, or bytes.
pub trait Payload: Body {
    /// Pieces of streams.
    type Data: Data;
    /// What waits at a connection.
    type Buffers: Buffers<Self>;
    /// Of a packet that a proxy makes; where payload is only a length nothing is made.
    fn of(make: impl FnOnce() -> Vec<u8>) -> Self;
    /// The bytes; `None` where payload is only a length.
    fn bytes(&self) -> Option<&[u8]>;
}

/// The bytes that wait at one connection.
pub trait Buffers<P: Payload>: Default + Send {
    /// A segment has come.
    fn take_in(&mut self, connection: &mut Connection, now: Instant, segment: &Segment, ecn: Ecn, body: &P);
    /// The payload of a segment that leaves.
    fn payload(&self, connection: &Connection, segment: &Segment) -> P;
    /// Takes the next bytes of what has come.
    fn read(&mut self, len: u64) -> P::Data;
    /// More to send.
    fn write(&mut self, data: &P::Data);
}

impl Payload for () {
    type Data = Length;
    type Buffers = ();
    fn of(_: impl FnOnce() -> Vec<u8>) -> Self {}
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
}

impl Buffers<()> for () {
    fn take_in(&mut self, connection: &mut Connection, now: Instant, segment: &Segment, ecn: Ecn, (): &()) {
        connection.handle_segment(now, segment, ecn);
    }
    fn payload(&self, _: &Connection, _: &Segment) {}
    fn read(&mut self, len: u64) -> Length {
        Length(len as u32)
    }
    fn write(&mut self, _: &Length) {}
}

impl Payload for Arc<[u8]> {
    type Data = Vec<u8>;
    type Buffers = Streams;
    fn of(make: impl FnOnce() -> Vec<u8>) -> Self {
        make().into()
    }
    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// Bytes that have come and were not read, and bytes that were written and not acknowledged. Places count from a stream's first byte.
#[derive(Debug, Default)]
pub struct Streams {
    /// What has come, by its place.
    come: BTreeMap<u64, Vec<u8>>,
    /// Everything below was read.
    read: u64,
    /// What was written, from the place `acked` on.
    written: VecDeque<u8>,
    acked: u64,
}

impl Streams {
    /// Keeps bytes that begin at a place; what is there already stays.
    fn keep(&mut self, mut place: u64, mut bytes: &[u8]) {
        let skip = |place: &mut u64, bytes: &mut &[u8], len: u64| {
            let len = len.min(bytes.len() as u64);
            (*place, *bytes) = (*place + len, &bytes[len as usize..]);
        };
        let old = self.read.saturating_sub(place);
        skip(&mut place, &mut bytes, old);
        while !bytes.is_empty() {
            let before = self.come.range(..=place).next_back();
            let covered = before.map_or(0, |(start, have)| (start + have.len() as u64).saturating_sub(place));
            skip(&mut place, &mut bytes, covered);
            let next = self.come.range(place..).next().map_or(u64::MAX, |(start, _)| *start);
            let len = (next - place).min(bytes.len() as u64);
            if len > 0 {
                self.come.insert(place, bytes[..len as usize].to_vec());
                skip(&mut place, &mut bytes, len);
            }
        }
    }
}

impl Buffers<Arc<[u8]>> for Streams {
    fn take_in(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
        body: &Arc<[u8]>,
    ) {
        let all = |connection: &Connection| connection.received_bytes() + connection.out_of_order_bytes();
        let (before, edge) = (all(connection), connection.receive_edge());
        let mut segment = *segment;
        if segment.flags.contains(Flags::SYN) {
            // Data on a SYN is not taken; its host sends it again.
            segment.payload_len = 0;
        }
        connection.handle_segment(now, &segment, ecn);
        // What has not added a byte was refused, or is a copy.
        let place = connection.received_place(segment.seq).filter(|_| all(connection) > before);
        if let Some(place) = place.filter(|_| segment.payload_len > 0) {
            let room = edge.saturating_sub(place).min(body.len() as u64);
            self.keep(place, &body[..room as usize]);
        }
        let acked = connection.acked_bytes();
        let done = acked.saturating_sub(self.acked).min(self.written.len() as u64);
        self.written.drain(..done as usize);
        self.acked += done;
        if connection.state() == State::Closed {
            self.written.clear();
        }
    }

    fn payload(&self, connection: &Connection, segment: &Segment) -> Arc<[u8]> {
        if segment.payload_len == 0 {
            return Arc::default();
        }
        let from = connection.sent_place(segment.seq).saturating_sub(self.acked) as usize;
        let end = (from + segment.payload_len as usize).min(self.written.len());
        debug_assert_eq!(end, from + segment.payload_len as usize, "what is sent was written");
        self.written.range(from.min(end)..end).copied().collect()
    }

    fn read(&mut self, len: u64) -> Vec<u8> {
        let end = self.read + len;
        let mut bytes = Vec::with_capacity(len as usize);
        while let Some(entry) = self.come.first_entry().filter(|entry| *entry.key() < end) {
            let (place, mut piece) = entry.remove_entry();
            let most = (end - place) as usize;
            if piece.len() > most {
                self.come.insert(end, piece.split_off(most));
            }
            bytes.extend(piece);
        }
        debug_assert_eq!(bytes.len() as u64, len, "what is read has come");
        self.read = end;
        bytes
    }

    fn write(&mut self, data: &Vec<u8>) {
        self.written.extend(data);
    }
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
        streams.keep(10, b"klmnop");
        streams.keep(0, b"abcdefghijKLM");
        assert_eq!(streams.read(5), b"abcde");
        streams.keep(3, b"DEFGH");
        assert_eq!(streams.read(11), b"fghijklmnop");
        assert!(streams.come.is_empty());
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
                streams.keep(at as u64, &sent[at..at + len]);
                have[at..at + len].fill(true);
                let there = have.iter().position(|have| !have).unwrap_or(600);
                let len = asked.next().unwrap_or(0).min(there - read.len());
                read.extend(streams.read(len as u64));
            }
            prop_assert_eq!(&read[..], &sent[..read.len()]);
        }
    }
}
