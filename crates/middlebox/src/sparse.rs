//! Payload of which only what a middlebox has written itself is real (headers of records, messages, datagrams); the hosts' data is
//! only a length. So a node of a simulation reads from packets what it would read from real ones, at the cost of nothing for data.
//!
//! A *field* is what a packet carries without taking room in it, as the paper's `pepid` ("A split connection PEP in ns-2"): there is
//! nothing like it on real packets.

use crate::carrier::{Buffers, Payload, Streams, is_taken_in};
use crate::data::Data;
use bytes::Bytes;
use longhaul_segment::{Ecn, Segment};
use longhaul_tcp::Connection;
use longhaul_units::Instant;
use std::collections::{BTreeMap, VecDeque};

/// A piece of a stream, or the payload of a packet: a length, and what of it is real.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sparse {
    len: u32,
    /// In order of their places.
    real: Vec<(u32, Bytes)>,
    fields: Vec<(u32, Bytes)>,
}

impl Sparse {
    /// No payload.
    pub const EMPTY: Sparse = Sparse { len: 0, real: vec![], fields: vec![] };

    /// True if nothing of it is real.
    pub fn is_virtual(&self) -> bool {
        self.real.is_empty() && self.fields.is_empty()
    }
}

impl Data for Sparse {
    const HAS_FIELDS: bool = true;
    fn len(&self) -> u32 {
        self.len
    }
    fn bytes(&self) -> &[u8] {
        self.real.first().filter(|(at, _)| *at == 0).map_or(&[], |(_, bytes)| bytes)
    }
    fn of(len: u32, bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(len as usize)];
        let real = if bytes.is_empty() { vec![] } else { vec![(0, Bytes::copy_from_slice(bytes))] };
        Sparse { len, real, fields: vec![] }
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut all = vec![0; self.len as usize];
        for (at, bytes) in &self.real {
            all[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
        }
        all
    }
    fn without(self, header: u32) -> Self {
        let header = header.min(self.len);
        let behind = |(at, bytes): (u32, Bytes)| {
            let skip = header.saturating_sub(at);
            (skip < bytes.len() as u32).then(|| (at + skip - header, bytes.slice(skip as usize..)))
        };
        let fields = self.fields.into_iter().filter(|(at, _)| *at >= header);
        Sparse {
            len: self.len - header,
            real: self.real.into_iter().filter_map(behind).collect(),
            fields: fields.map(|(at, bytes)| (at - header, bytes)).collect(),
        }
    }
    fn field(&self) -> &[u8] {
        self.fields.first().filter(|(at, _)| *at == 0).map_or(&[], |(_, bytes)| bytes)
    }
    fn with_field(mut self, field: Vec<u8>) -> Self {
        self.fields.push((0, field.into()));
        self
    }
}

impl Payload for Sparse {
    type Data = Sparse;
    type Buffers = SparseStreams;
    fn of(len: u32, real: impl FnOnce() -> Vec<u8>) -> Self {
        Sparse { len, real: vec![(0, real().into())], fields: vec![] }
    }
    fn data(&self) -> &Sparse {
        self
    }
    fn from_data(data: Sparse) -> Self {
        data
    }
}

/// What is real of what has come and was not read, and of what was written and is not acknowledged.
#[derive(Debug, Default)]
pub struct SparseStreams {
    come: Streams,
    fields_come: BTreeMap<u64, Bytes>,
    written: VecDeque<(u64, Bytes)>,
    fields_written: VecDeque<(u64, Bytes)>,
    /// Where the next is written.
    end: u64,
}

impl SparseStreams {
    fn forget_acknowledged(&mut self, connection: &Connection) {
        let acked = connection.acked_bytes();
        while self.written.front().is_some_and(|(place, piece)| place + piece.len() as u64 <= acked) {
            self.written.pop_front();
        }
        while self.fields_written.front().is_some_and(|(place, _)| *place < acked) {
            self.fields_written.pop_front();
        }
    }
}

/// The pieces that lie between two places, as places from the first.
fn between(pieces: &VecDeque<(u64, Bytes)>, from: u64, to: u64) -> Vec<(u32, Bytes)> {
    let first = pieces.partition_point(|(place, piece)| place + piece.len() as u64 <= from);
    let inside = pieces.range(first..).take_while(|(place, _)| *place < to);
    inside
        .map(|(place, piece)| {
            let skip = from.saturating_sub(*place) as usize;
            let most = (to - place).min(piece.len() as u64) as usize;
            ((place + skip as u64 - from) as u32, piece.slice(skip..most))
        })
        .collect()
}

impl Buffers<Sparse> for SparseStreams {
    fn take_in(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
        body: &Sparse,
    ) {
        if body.is_virtual() {
            connection.handle_segment(now, segment, ecn);
        } else if let Some((place, room)) = is_taken_in(connection, now, segment, ecn, body.len) {
            for (at, bytes) in body.real.iter().filter(|(at, _)| u64::from(*at) < room) {
                let most = (room - u64::from(*at)).min(bytes.len() as u64) as usize;
                self.come.keep(place + u64::from(*at), bytes.slice(..most));
            }
            for (at, bytes) in body.fields.iter().filter(|(at, _)| u64::from(*at) < room) {
                let place = place + u64::from(*at);
                if place >= self.come.read_to() {
                    self.fields_come.entry(place).or_insert_with(|| bytes.clone());
                }
            }
        }
        if !self.written.is_empty() || !self.fields_written.is_empty() {
            self.forget_acknowledged(connection);
        }
    }

    fn payload(&self, connection: &Connection, segment: &Segment) -> Sparse {
        let len = segment.payload_len;
        if len == 0 || (self.written.is_empty() && self.fields_written.is_empty()) {
            return Sparse { len, ..Sparse::default() };
        }
        let from = connection.sent_place(segment.seq);
        let to = from + u64::from(len);
        let first = self.fields_written.partition_point(|(place, _)| *place < from);
        let fields = self.fields_written.range(first..).take_while(|(place, _)| *place < to);
        Sparse {
            len,
            real: between(&self.written, from, to),
            fields: fields.map(|(place, field)| ((place - from) as u32, field.clone())).collect(),
        }
    }

    fn read(&mut self, len: u64) -> Sparse {
        let begin = self.come.read_to();
        let offset = |(place, bytes): (u64, Bytes)| ((place - begin) as u32, bytes);
        let real = self.come.drain(len).map(offset).collect();
        let mut fields = vec![];
        while let Some(entry) = self.fields_come.first_entry().filter(|entry| *entry.key() < begin + len) {
            fields.push(offset(entry.remove_entry()));
        }
        Sparse { len: len as u32, real, fields }
    }

    fn peek(&self, len: u64) -> Sparse {
        let begin = self.come.read_to();
        let real = self.come.peek(len).map(|(place, bytes)| ((place - begin) as u32, bytes)).collect();
        let fields = self.fields_come.range(begin..begin + len.max(1));
        let fields = fields.map(|(place, bytes)| ((place - begin) as u32, bytes.clone())).collect();
        Sparse { len: len as u32, real, fields }
    }

    fn write(&mut self, data: &Sparse) {
        let place = |(at, bytes): &(u32, Bytes)| (self.end + u64::from(*at), bytes.clone());
        self.written.extend(data.real.iter().map(place));
        self.fields_written.extend(data.fields.iter().map(place));
        self.end += u64::from(data.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(len: u32, bytes: &'static [u8]) -> Sparse {
        <Sparse as Data>::of(len, bytes)
    }

    #[test]
    fn what_is_real_keeps_its_place() {
        let header = piece(4, b"head").with_field(b"field".to_vec());
        assert_eq!((header.bytes(), header.field()), (&b"head"[..], &b"field"[..]));
        assert_eq!(piece(6, b"head").to_bytes(), b"head\0\0");
        assert_eq!(header.clone().without(2).bytes(), b"ad");
        assert_eq!(header.without(2).field(), b"");
        assert_eq!(piece(6, b"head").without(5), Sparse { len: 1, ..Sparse::default() });
    }

    /// Headers of 4 bytes before data of 10, cut into segments of 7: what is read is what was written.
    #[test]
    fn segments_may_cut_anywhere() {
        let mut out = SparseStreams::default();
        for header in [b"abcd", b"efgh", b"ijkl"] {
            out.write(&piece(4, header).with_field(header.to_vec()));
            out.write(&Sparse { len: 10, ..Sparse::default() });
        }
        let mut there = SparseStreams::default();
        for at in [14u64, 0, 7, 0, 28, 35, 21] {
            for (offset, bytes) in between(&out.written, at, at + 7) {
                there.come.keep(at + u64::from(offset), bytes);
            }
            for (place, field) in out.fields_written.iter().filter(|(place, _)| (at..at + 7).contains(place))
            {
                there.fields_come.insert(*place, field.clone());
            }
        }
        for header in [b"abcd", b"efgh", b"ijkl"] {
            assert_eq!(there.peek(4).to_bytes(), header);
            assert_eq!(there.peek(0).field(), header);
            let record = there.read(14);
            assert_eq!(record.to_bytes()[..4], header[..]);
            assert!(record.to_bytes()[4..].iter().all(|byte| *byte == 0));
        }
    }
}
