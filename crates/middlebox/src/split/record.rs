//! What goes over the long hop: records, each of one stream (one connection of a host), in one byte stream.
//!
//! A record is a header of 8 bytes (stream 4, kind 1, length 3, most significant first) and what belongs to it:
//!
//! | kind | stream | content |
//! |---|---|---|
//! | 1 open | the opener's number: even from the first node, odd from the second; with the highest bit if there was no handshake | the hosts ([`Ends`](crate::Ends)) |
//! | 2 data | | the host's bytes |
//! | 3 close | | nothing: the host has no more data |
//! | 4 reset | | nothing: the connection has ended before its time |
//! | 5 hello | `L`, `H`, version 1 | nothing; each end begins with it |
//! | 6 credit | | position 8: so many bytes of the stream may be sent, from its first on |
//! | 7 blocked | | nothing: credit is used up, and there is more to send |
//!
//! Headers are 0.8 % more for records of 1000 bytes. The paper's `pepid` is a field in the packet that takes no room: then only the rare
//! records without data take 8 bytes, since what takes none could not be seen to arrive.

use crate::Direction;
use longhaul_units::ConnectionId;

/// Bytes of a record's header.
pub const HEADER: u32 = 8;
/// The largest length that a record can have.
pub const MOST_DATA: u64 = (1 << 24) - 1;

/// What each end of a connection begins with, in the place of a stream's number: the version is the lower half.
pub const HELLO: u32 = u32::from_be_bytes([b'L', b'H', 0, 1]);
/// Streams of connections that are established from the start: this, and their number.
pub const ESTABLISHED: u32 = 1 << 31;
/// The same, where the hosts of the first node are passive openers.
pub const REVERSE: u32 = 1 << 30;

/// The stream of a connection that is established from the start, at whichever node (`side` 0 or 1) a packet of its host is seen
/// first, and which way that goes.
pub(crate) fn established_stream(side: usize, number: ConnectionId, from_host: Direction) -> u32 {
    let first_is_active = (from_host == Direction::Forward) == (side == 0);
    ESTABLISHED | if first_is_active { 0 } else { REVERSE } | number.0
}

/// Which way packets of a node go to its host, of a stream that the other node has opened. A host that opens a connection with a
/// handshake is the active one, and at the other node.
pub(crate) fn towards_host(side: usize, stream: u32) -> Direction {
    let is_active = stream & ESTABLISHED != 0 && (side == 0) == (stream & REVERSE == 0);
    if is_active { Direction::Reverse } else { Direction::Forward }
}

/// The content of a record.
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
    /// A connection over the long hop begins.
    Hello = 5,
    /// So much may be sent of a stream.
    Credit = 6,
    /// There is more to send of a stream than credit allows.
    Blocked = 7,
}

/// A record's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Number of the stream, the same at both ends.
    pub stream: u32,
    /// Its content.
    pub kind: RecordKind,
    /// Bytes of data that follow, at most [`MOST_DATA`].
    pub len: u32,
}

impl Record {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER as usize] {
        let stream = self.stream.to_be_bytes();
        let len = self.len.to_be_bytes();
        [stream[0], stream[1], stream[2], stream[3], self.kind as u8, len[1], len[2], len[3]]
    }
    /// Reads a header; `None` if it is of no known kind.
    pub fn decode(bytes: [u8; HEADER as usize]) -> Option<Record> {
        let [s0, s1, s2, s3, kind, l1, l2, l3] = bytes;
        let kind = match kind {
            1 => RecordKind::Open,
            2 => RecordKind::Data,
            3 => RecordKind::Close,
            4 => RecordKind::Reset,
            5 => RecordKind::Hello,
            6 => RecordKind::Credit,
            7 => RecordKind::Blocked,
            _ => return None,
        };
        Some(Record {
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            kind,
            len: u32::from_be_bytes([0, l1, l2, l3]),
        })
    }
}

/// How records are delimited on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Framing {
    /// Every record has a header.
    #[default]
    Header,
    /// Data records have a field of the packet for it, which takes no room.
    Field,
}

impl Framing {
    /// Bytes that a record takes in the stream before its data.
    pub fn header_len(self, kind: RecordKind) -> u32 {
        match (self, kind) {
            (Framing::Field, RecordKind::Data) => 0,
            _ => HEADER,
        }
    }
    /// The most data of a record that fits a segment of so many bytes.
    pub fn most_data(self, segment: u64) -> u64 {
        match self {
            Framing::Header => segment.saturating_sub(u64::from(HEADER)).max(1),
            Framing::Field => segment,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_has_eight_bytes() {
        let record = Record { stream: 0x0102_0304, kind: RecordKind::Data, len: 1000 };
        assert_eq!(record.encode(), [1, 2, 3, 4, 2, 0, 3, 0xe8]);
        assert_eq!(Framing::Header.header_len(RecordKind::Data), 8);
        assert_eq!(Framing::Field.header_len(RecordKind::Data), 0);
        assert_eq!(Framing::Field.header_len(RecordKind::Close), 8);
        let hello = Record { stream: HELLO, kind: RecordKind::Hello, len: 0 };
        assert_eq!(hello.encode(), [b'L', b'H', 0, 1, 5, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn headers_survive(stream: u32, kind in 0u8..9, len in 0u32..1 << 24) {
            let bytes = |kind: RecordKind| Record { stream, kind, len }.encode();
            let mut header = bytes(RecordKind::Open);
            header[4] = kind;
            match Record::decode(header) {
                Some(record) => prop_assert_eq!(record.encode(), header),
                None => prop_assert!(kind == 0 || kind > 7),
            }
        }
    }
}
