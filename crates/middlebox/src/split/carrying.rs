//! A split with the bytes of real packets: the split itself moves lengths, and the bytes are kept here, beside it, under their place
//! in the stream of their host. A byte that comes in at some place of a stream leaves at the same place, under the sequence
//! number that the split gives it (RFC 9293 section 3.4), until the receiving host has acknowledged it.
//!
//! What is kept is bounded by the windows that the split has offered: what a host sends beyond them is not taken in. Of two packets
//! that say different things of the same byte the first counts, as with any receiver that keeps what it has.

use crate::base::Table;
use crate::levels::Levels;
use crate::{
    Base, Body, Departure, Direction, Event, Middlebox, OwnConnection, Passing, QueueState, Verdict,
};
use longhaul_segment::{Flags, Segment, SeqNumber};
use longhaul_units::Instant;
use std::collections::BTreeMap;

/// Payload that has bytes.
pub trait Bytes: Body + AsRef<[u8]> + From<Vec<u8>> {}
impl<B: Body + AsRef<[u8]> + From<Vec<u8>>> Bytes for B {}

/// The largest shift of the window scale option (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;

/// One direction of a connection. Places count from the first byte behind the SYN.
#[derive(Default)]
struct Stream {
    /// Number of the first byte as its host counts.
    first_in: Option<SeqNumber>,
    /// Its number as the split counts towards the other host.
    first_out: Option<SeqNumber>,
    /// Bytes by their place.
    kept: BTreeMap<u64, Vec<u8>>,
    /// The split has acknowledged everything below, and offered to take in everything below the second.
    taken: u64,
    offered: u64,
    /// Everything below has left.
    sent: u64,
    /// Everything below was acknowledged by the receiving host.
    acked: u64,
    /// Shift of the windows that the host is offered.
    shift: u8,
}

impl Stream {
    /// Keeps bytes that begin with this number, as far as they are new and were asked for.
    fn keep(&mut self, number: SeqNumber, mut bytes: &[u8]) {
        let Some(first) = self.first_in else { return };
        let near = number.unwrap(first, self.offered.max(self.acked));
        // What begins before the first byte, or wraps below it, is an old copy.
        let Some(mut place) = near else { return };
        let skipped = self.acked.saturating_sub(place).min(bytes.len() as u64);
        (place, bytes) = (place + skipped, &bytes[skipped as usize..]);
        let room = self.offered.saturating_sub(place).min(bytes.len() as u64);
        bytes = &bytes[..room as usize];
        while !bytes.is_empty() {
            // What is there already stays.
            let before = self.kept.range(..=place).next_back();
            let covered = before.map_or(0, |(start, have)| (start + have.len() as u64).saturating_sub(place));
            let skipped = covered.min(bytes.len() as u64);
            (place, bytes) = (place + skipped, &bytes[skipped as usize..]);
            let next = self.kept.range(place..).next().map_or(u64::MAX, |(start, _)| *start);
            let len = (next - place).min(bytes.len() as u64);
            if len > 0 {
                self.kept.insert(place, bytes[..len as usize].to_vec());
                (place, bytes) = (place + len, &bytes[len as usize..]);
            }
        }
    }

    /// The bytes that leave with this number; `None` if they are not all here.
    fn gather(&mut self, number: SeqNumber, len: u32) -> Option<Vec<u8>> {
        let begin = number.unwrap(self.first_out?, self.sent)?;
        let end = begin + u64::from(len);
        let mut bytes = Vec::with_capacity(len as usize);
        let start = self.kept.range(..=begin).next_back().map_or(begin, |(start, _)| *start);
        for (at, have) in self.kept.range(start..end) {
            let place = begin + bytes.len() as u64;
            let skip = usize::try_from(place.checked_sub(*at)?).ok()?;
            let left = len as usize - bytes.len();
            let part = have.get(skip..).unwrap_or_default();
            bytes.extend_from_slice(&part[..part.len().min(left)]);
        }
        if bytes.len() != len as usize {
            return None;
        }
        self.sent = self.sent.max(end);
        Some(bytes)
    }

    /// The receiving host has acknowledged everything below this number.
    fn acknowledge(&mut self, number: SeqNumber) {
        let Some(first) = self.first_out else { return };
        let Some(place) = number.unwrap(first, self.sent) else { return };
        if place <= self.acked || place > self.sent {
            return;
        }
        self.acked = place;
        while let Some(entry) = self.kept.first_entry() {
            if entry.key() + entry.get().len() as u64 > place {
                break;
            }
            entry.remove();
        }
    }

    /// The split tells the host how far it may go.
    fn offer(&mut self, segment: &Segment) {
        let shift = if segment.flags.contains(Flags::SYN) { 0 } else { self.shift };
        let Some(first) = self.first_in.filter(|_| segment.flags.contains(Flags::ACK)) else { return };
        let Some(acked) = segment.ack.unwrap(first, self.offered) else { return };
        self.taken = self.taken.max(acked);
        self.offered = self.offered.max(acked + (u64::from(segment.window) << shift));
    }
}

/// A connection: its streams by direction, and what its SYN said.
#[derive(Default)]
struct Connection {
    streams: [Stream; 2],
    /// Number of the SYN of the active opener that was seen last.
    syn: Option<SeqNumber>,
}

impl Connection {
    /// A host's packet, before the split sees it.
    fn comes_in(&mut self, direction: Direction, segment: &Segment, bytes: &[u8]) {
        let [stream, back] = self.both(direction);
        if !segment.flags.contains(Flags::SYN) {
            stream.keep(segment.seq, bytes);
        } else if !segment.flags.contains(Flags::ACK) {
            self.syn = Some(segment.seq);
        } else if back.first_out == Some(segment.ack) {
            stream.first_in.get_or_insert(segment.seq + 1);
            if segment.options.window_scale.is_none() {
                // Windows are scaled if both ends have said so.
                stream.shift = 0;
            }
        }
    }

    /// The same, after the split has seen it.
    fn came_in(&mut self, direction: Direction, segment: &Segment) {
        let [stream, back] = self.both(direction);
        if segment.flags.contains(Flags::RST) {
            // With just this number a reset is believed (RFC 5961 section 3.2).
            if stream.first_in.is_some_and(|first| SeqNumber::wrap(first, stream.taken) == segment.seq) {
                back.kept.clear();
            }
        } else if segment.flags.contains(Flags::ACK) {
            back.acknowledge(segment.ack);
        }
    }

    /// A packet of the split to a host. Its bytes; `None` if they are not here, so that it cannot leave.
    fn goes_out(&mut self, direction: Direction, segment: &Segment) -> Option<Vec<u8>> {
        if segment.flags.contains(Flags::SYN) {
            self.opens(direction, segment);
        }
        let [stream, back] = self.both(direction);
        back.offer(segment);
        if segment.flags.contains(Flags::RST) {
            stream.kept.clear();
        }
        if segment.payload_len == 0 { Some(vec![]) } else { stream.gather(segment.seq, segment.payload_len) }
    }

    /// A SYN of the split: towards the passive opener its own, towards the active one the answer, with which a connection begins.
    fn opens(&mut self, direction: Direction, segment: &Segment) {
        let syn = self.syn;
        let [stream, back] = self.both(direction);
        if stream.first_out == Some(segment.seq + 1) {
            return; // sent again
        }
        let begun = Stream { first_out: Some(segment.seq + 1), shift: stream.shift, ..Stream::default() };
        back.shift = segment.options.window_scale.map_or(0, |shift| shift.min(LARGEST_SHIFT));
        if direction == Direction::Reverse {
            *back = Stream { first_out: back.first_out, shift: back.shift, ..Stream::default() };
            back.first_in = syn.map(|number| number + 1);
            *stream = begun;
        } else {
            // What the active opener has sent meanwhile is here already.
            (stream.first_out, stream.sent, stream.acked) = (begun.first_out, 0, 0);
        }
    }

    /// The stream of a direction, and the other one.
    fn both(&mut self, direction: Direction) -> [&mut Stream; 2] {
        let [forward, reverse] = &mut self.streams;
        if direction == Direction::Forward { [forward, reverse] } else { [reverse, forward] }
    }
}

/// A split and the bytes beside it.
pub struct Carrying<M, B> {
    inner: M,
    /// Connections of hosts have lower numbers, those of the split's own this one and higher.
    first_own: u32,
    connections: Table<Connection>,
    /// Holds nothing: all is in the split.
    base: Base<B>,
}

impl<M: Middlebox<()>, B: Bytes> Carrying<M, B> {
    /// A split whose own connections, if it has any, have numbers from `first_own` on.
    pub fn new(inner: M, first_own: u32) -> Self {
        Carrying { inner, first_own, connections: Table::default(), base: Base::new(Levels::default()) }
    }

    fn connection(&mut self, number: u32) -> Option<&mut Connection> {
        let own = number >= self.first_own;
        (!own).then(|| self.connections.get_or_insert_with(number as usize, Connection::default))
    }
}

impl<M: Middlebox<()>, B: Bytes> Middlebox<B> for Carrying<M, B> {
    fn base(&self) -> &Base<B> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<B> {
        &mut self.base
    }
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, B>) -> Verdict {
        let Passing { connection: number, direction, ecn, segment, body } = packet;
        if segment.flags.contains(Flags::SYN) {
            // Data on a SYN is not taken; its host sends it again.
            segment.payload_len = 0;
        }
        let seen = *segment;
        if let Some(connection) = self.connection(number) {
            connection.comes_in(direction, &seen, body.as_ref());
        }
        let inner = Passing { connection: number, direction, ecn, segment, body: &() };
        let verdict = self.inner.handle_packet(now, port, inner);
        if let Some(connection) = self.connection(number) {
            connection.came_in(direction, &seen);
        }
        verdict
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<B>> {
        loop {
            let Departure { port, connection: number, direction, ecn, body: () } =
                self.inner.transmit_into(now, segment)?;
            let body = match self.connection(number) {
                None => Some(B::default()),
                Some(connection) => connection.goes_out(direction, segment).map(B::from),
            };
            // What is not here was never taken in; the split has no such packet to send.
            let Some(body) = body else { continue };
            return Some(Departure { port, connection: number, direction, ecn, body });
        }
    }

    fn watches_queue(&self) -> bool {
        self.inner.watches_queue()
    }
    fn handle_queue(&mut self, now: Instant, state: QueueState) {
        self.inner.handle_queue(now, state);
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.inner.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.inner.poll_timeout()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.inner.poll_event()
    }
    fn fail(&mut self, now: Instant) {
        self.inner.fail(now);
        self.connections.clear();
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.inner.counters()
    }
    fn levels(&self) -> &Levels {
        self.inner.levels()
    }
    fn begin_measuring(&mut self, now: Instant) {
        self.inner.begin_measuring(now);
    }
    fn own_connections(&self) -> Vec<OwnConnection<'_>> {
        self.inner.own_connections()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream() -> Stream {
        let first = Some(SeqNumber(0xffff_fff0));
        Stream { first_in: first, first_out: Some(SeqNumber(100)), offered: 1000, ..Stream::default() }
    }
    fn number(place: u32) -> SeqNumber {
        SeqNumber(0xffff_fff0) + place
    }

    #[test]
    fn bytes_leave_where_they_came_in_whatever_their_numbers() {
        let mut stream = stream();
        stream.keep(number(10), b"klmnop");
        assert_eq!(stream.gather(SeqNumber(100), 5), None, "the first ten are missing");
        stream.keep(number(0), b"abcdefghijKLM");
        assert_eq!(stream.gather(SeqNumber(100), 16).unwrap(), b"abcdefghijklmnop", "what came first counts");
        assert_eq!(stream.gather(SeqNumber(109), 3).unwrap(), b"jkl");
    }

    #[test]
    fn what_was_acknowledged_is_given_up_and_what_was_not_offered_not_taken() {
        let mut stream = stream();
        stream.offered = 8;
        stream.keep(number(0), b"abcdefghij");
        assert_eq!(stream.gather(SeqNumber(100), 8).unwrap(), b"abcdefgh");
        assert_eq!(stream.gather(SeqNumber(100), 9), None, "the ninth is beyond the window");
        stream.acknowledge(SeqNumber(109)); // more than was sent
        assert_eq!(stream.acked, 0);
        stream.acknowledge(SeqNumber(108));
        assert!(stream.kept.is_empty());
        stream.keep(number(3), b"defgh");
        assert!(stream.kept.is_empty(), "an old copy");
    }

    proptest! {
        /// Pieces in any order, of any length, also over the wrap of sequence numbers: what leaves is what the host has sent.
        #[test]
        fn any_pieces_make_the_same_stream(
            pieces in proptest::collection::vec((0usize..400, 1usize..200), 1..60),
            asked in proptest::collection::vec((0usize..400, 1usize..100), 1..20),
        ) {
            let sent: Vec<u8> = (0..600u32).map(|n| (n * 31 % 251) as u8).collect();
            let mut stream = stream();
            let mut have = [false; 600];
            for (at, len) in pieces {
                stream.keep(number(at as u32), &sent[at..at + len]);
                have[at..at + len].fill(true);
            }
            for (at, len) in asked {
                let expected = have[at..at + len].iter().all(|have| *have).then(|| sent[at..at + len].to_vec());
                prop_assert_eq!(stream.gather(SeqNumber(100 + at as u32), len as u32), expected);
            }
        }
    }
}
