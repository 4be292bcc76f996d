//! What goes over the long hop: records, each of one flow, in one byte stream.
//!
//! On the wire a record is a header of 8 bytes (flow 4, kind 1, length 3, most significant first) and its data: 0.8 % more
//! for records of 1000 bytes. The paper's `pepid` is a field in the packet that takes no room: then only the rare records
//! without data (open, close, reset) take 8 bytes, since what takes none could not be seen to arrive.
//!
//! Where payload is only a length, a `RecordLine` carries the records from one end to the other: a record can be taken
//! there once all its bytes have arrived, as if it was read from them.

use crate::Data;
use std::collections::VecDeque;

/// Bytes of a record's header.
pub const HEADER: u32 = 8;
/// The largest length that a record can have.
pub const MOST_DATA: u64 = (1 << 24) - 1;

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// A host has opened a connection.
    Open = 1,
    /// Data of a connection.
    Data = 2,
    /// A host has no more data.
    Close = 3,
    /// A connection has ended before its time.
    Reset = 4,
}

/// A record's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Number of the flow, the same at both ends.
    pub flow: u32,
    /// What it says.
    pub kind: RecordKind,
    /// Bytes of data that follow, at most [`MOST_DATA`].
    pub len: u32,
}

impl Record {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER as usize] {
        let flow = self.flow.to_be_bytes();
        let len = self.len.to_be_bytes();
        [flow[0], flow[1], flow[2], flow[3], self.kind as u8, len[1], len[2], len[3]]
    }
    /// Reads a header; `None` if it is of no known kind.
    pub fn decode(bytes: [u8; HEADER as usize]) -> Option<Record> {
        let [f0, f1, f2, f3, kind, l1, l2, l3] = bytes;
        let kind = match kind {
            1 => RecordKind::Open,
            2 => RecordKind::Data,
            3 => RecordKind::Close,
            4 => RecordKind::Reset,
            _ => return None,
        };
        Some(Record {
            flow: u32::from_be_bytes([f0, f1, f2, f3]),
            kind,
            len: u32::from_be_bytes([0, l1, l2, l3]),
        })
    }
}

/// How records are told apart on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Framing {
    /// Every record has a header.
    #[default]
    Header,
    /// Data records have a field of the packet for it, which takes no room.
    Field,
}

impl Framing {
    /// Bytes of the header before a record's data.
    fn header_len(self, record: &Record) -> u32 {
        match (self, record.kind) {
            (Framing::Field, RecordKind::Data) => 0,
            _ => HEADER,
        }
    }
    /// What is written before a record's data.
    pub fn header<D: Data>(self, record: &Record) -> D {
        D::of(self.header_len(record), &record.encode())
    }
    /// The most data of a record that fits a segment of so many bytes.
    pub fn most_data(self, segment: u64) -> u64 {
        match self {
            Framing::Header => segment.saturating_sub(u64::from(HEADER)).max(1),
            Framing::Field => segment,
        }
    }
    /// The data of a record, of what was written of it.
    pub fn decode<D: Data>(self, record: &Record, written: D) -> D {
        let header = self.header_len(record);
        // What the other end has written is what this end knows of it.
        debug_assert!(!D::IS_REAL || header == 0 || written.bytes().starts_with(&record.encode()));
        written.without(header)
    }
    /// Bytes that a record takes in the stream.
    pub fn wire_len(self, record: &Record) -> u64 {
        u64::from(self.header_len(record)) + u64::from(record.len)
    }
}

/// Records on their way over one connection in one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordLine {
    /// Each with its end in the stream.
    records: VecDeque<(u64, Record)>,
    written: u64,
}

impl RecordLine {
    /// A record is written. Returns its bytes in the stream.
    pub fn push(&mut self, record: Record, framing: Framing) -> u64 {
        let bytes = framing.wire_len(&record);
        self.written += bytes;
        self.records.push_back((self.written, record));
        bytes
    }
    /// The next record, if all of it is among the first `received` bytes of the stream.
    pub fn next(&self, received: u64) -> Option<Record> {
        self.records.front().filter(|(end, _)| *end <= received).map(|(_, record)| *record)
    }
    /// The next record has been dealt with.
    pub fn pop(&mut self) {
        self.records.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_has_eight_bytes() {
        let record = Record { flow: 0x0102_0304, kind: RecordKind::Data, len: 1000 };
        assert_eq!(record.encode(), [1, 2, 3, 4, 2, 0, 3, 0xe8]);
        assert_eq!(Framing::Header.wire_len(&record), 1008);
        assert_eq!(Framing::Field.wire_len(&record), 1000);
        let close = Record { kind: RecordKind::Close, len: 0, ..record };
        assert_eq!(Framing::Field.wire_len(&close), 8);
    }

    #[test]
    fn a_record_can_be_taken_when_all_of_it_has_arrived() {
        let mut line = RecordLine::default();
        let data = |flow| Record { flow, kind: RecordKind::Data, len: 100 };
        assert_eq!(line.push(data(1), Framing::Header), 108);
        assert_eq!(line.push(data(2), Framing::Header), 108);
        assert_eq!(line.next(107), None);
        assert_eq!(line.next(108), Some(data(1)));
        line.pop();
        assert_eq!(line.next(215), None);
        assert_eq!(line.next(216), Some(data(2)));
    }

    proptest! {
        #[test]
        fn headers_survive(flow: u32, kind in 0u8..6, len in 0u32..1 << 24) {
            let bytes = |kind: RecordKind| Record { flow, kind, len }.encode();
            let mut header = bytes(RecordKind::Open);
            header[4] = kind;
            match Record::decode(header) {
                Some(record) => prop_assert_eq!(record.encode(), header),
                None => prop_assert!(kind == 0 || kind == 5),
            }
        }
    }
}
