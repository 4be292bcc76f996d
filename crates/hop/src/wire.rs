//! What two nodes write to each other above QUIC. Integers are QUIC's variable-length ones (RFC 9000 section 16) where nothing
//! else is given.
//!
//! * *Control stream*: each node opens one unidirectional stream. It carries records: type, length, body. The first is a hello.
//!   Records of unknown types are skipped, so that later versions can add some.
//! * *Flow*: one bidirectional stream. The opener's direction begins with a head ([`write_open`]); all else is the flow's bytes,
//!   without further framing. The end is the stream's, a reset is RESET_STREAM or STOP_SENDING with a [`crate::ResetCode`].
//! * *Reset behind data* (version 2): RESET_STREAM discards what has not arrived (RFC 9000 section 3.2), and quinn-proto has no
//!   RESET_STREAM_AT (draft-ietf-quic-reliable-stream-reset). So the reset is a record that gives the size up to which the stream is
//!   delivered first; RESET_STREAM follows when all of that was read. STOP_SENDING with [`UNREAD`] stops the other direction.
//! * *Names* (version 3): a flow to the unspecified address and port [`NAMED`] is for a server by name. Its first bytes are the name's
//!   length in one byte, the name, and the port in two; the flow's other bytes follow. The hub answers as to any flow that its opener
//!   waits for, or refuses it with [`crate::ResetCode::NotOffered`] if it looks no names up.
//! * *Streams* (version 4): a node permits its peer few streams at first, and more as they are used (MAX_STREAMS); what the peer opens
//!   beyond that waits for it. Nodes of older versions refuse it, so they are permitted all at once.
//! * *Classes*: a terminal defines classes of flows for what the hub sends, and gives flows a class, by records that older nodes skip.
//! * *Bounds*: a hub notifies a terminal how many flows it may have open and how fast it may send, by a record that older nodes skip.
//! * *Waited*: a hub reports for how long it had more to send to the terminal than the path took, by a record that older nodes skip.
//! * *Parities* travel in DATAGRAM frames (RFC 9221), [`ParityHead`] and symbols.

use crate::types::Open;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Versions of the protocol that this code has.
pub const VERSIONS: (u16, u16) = (1, 4);
/// The first version with [`Record::ResetAt`].
pub const RESETS_BEHIND: u16 = 2;
/// The first version in which a flow can be for a server by name.
pub const NAMES: u16 = 3;
/// The first version that opens flows before there are streams for them, which wait.
pub const WAITS: u16 = 4;
/// Port of such flows, at the unspecified address.
pub const NAMED: u16 = 4;
/// Code of STOP_SENDING with which nothing but reading has ended.
pub const UNREAD: u32 = 1 << 17;
/// ALPN of the hop (RFC 7301).
#[cfg(feature = "tls")]
pub const ALPN: &[u8] = b"longhaul-hop";
/// First bytes of a hello's body.
const MAGIC: [u8; 4] = *b"LHHP";
/// Longest body of a control record.
pub const MOST_RECORD: u64 = 1024;

/// What a node shows of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// First and last version that it has.
    pub versions: (u16, u16),
    /// Bytes of a flow that it holds.
    pub credit: u64,
    /// Bytes of all flows that it holds.
    pub memory: u64,
    /// Flows that it bears.
    pub max_flows: u64,
    /// Bits per second at which it requests to be sent to; 0 if it leaves that open.
    pub receive: u64,
    /// It keeps the connection alive, and requests that the other node does not (a field of version 3; older nodes do not read it).
    pub alone: bool,
}

/// A record of the control stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// The first one.
    Hello(Hello),
    /// The owner has read a flow's stream up to this offset.
    Consumed { stream: u64, offset: u64 },
    /// A flow is accepted.
    Accepted { stream: u64 },
    /// A flow is given up by the sender of this record, with the code of RESET_STREAM. QUIC does not deliver that frame, or
    /// STOP_SENDING, where all bytes and the end of a direction are acknowledged, whether they were read or not.
    Reset { stream: u64, code: u64 },
    /// A flow is given up by the sender of this record. Its bytes up to this size, the head included, are delivered first; the other
    /// direction is over.
    ResetAt { stream: u64, code: u64, size: u64 },
    /// What flows of a class may have of the rate towards the sender of this record: a weight (0: the class is not defined any more), and
    /// floor and ceiling in bit/s, 0 for none.
    Class { class: u16, weight: u64, floor: u64, ceiling: u64 },
    /// A flow that the sender of this record has opened belongs to a class, 0 for none.
    Classify { stream: u64, class: u16 },
    /// The receiver of this record should have at most so many flows open at a time, and sends at most so many bit/s; 0 for no bound but the hello's.
    Bounds { flows: u64, rate: u64 },
    /// The sender of this record had data for its receiver that waited for the path, for so many milliseconds since the beginning.
    Waited { millis: u64 },
    /// One of a later version.
    Unknown,
}

/// What cannot be read; the text names what is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

/// Reads from the front of a slice.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let bytes = self.take(1 << (first >> 6))?;
        Some(bytes[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn short(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }
}

/// Appends a variable-length integer; values from 2^62 on are cut to the largest.
pub fn write_varint(value: u64, out: &mut Vec<u8>) {
    let value = value.min((1 << 62) - 1);
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

const HELLO: u64 = 0;
const CONSUMED: u64 = 1;
const ACCEPTED: u64 = 2;
const RESET: u64 = 3;
const RESET_AT: u64 = 4;
const CLASS: u64 = 5;
const CLASSIFY: u64 = 6;
const BOUNDS: u64 = 7;
// 8 to 13 are frames over TCP.
const WAITED: u64 = 14;

/// Classes of a terminal have numbers below this one.
pub const CLASSES: u16 = 1024;

impl Record {
    /// Appends the record.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = vec![];
        let kind = match self {
            Record::Hello(hello) => {
                body.extend_from_slice(&MAGIC);
                for value in [
                    u64::from(hello.versions.0),
                    u64::from(hello.versions.1),
                    hello.credit,
                    hello.memory,
                    hello.max_flows,
                    hello.receive,
                ] {
                    write_varint(value, &mut body);
                }
                if hello.alone {
                    body.push(1);
                }
                HELLO
            }
            Record::Consumed { stream, offset } => {
                write_varint(*stream, &mut body);
                write_varint(*offset, &mut body);
                CONSUMED
            }
            Record::Accepted { stream } => {
                write_varint(*stream, &mut body);
                ACCEPTED
            }
            Record::Reset { stream, code } => {
                write_varint(*stream, &mut body);
                write_varint(*code, &mut body);
                RESET
            }
            Record::ResetAt { stream, code, size } => {
                for value in [stream, code, size] {
                    write_varint(*value, &mut body);
                }
                RESET_AT
            }
            Record::Class { class, weight, floor, ceiling } => {
                for value in [u64::from(*class), *weight, *floor, *ceiling] {
                    write_varint(value, &mut body);
                }
                CLASS
            }
            Record::Classify { stream, class } => {
                write_varint(*stream, &mut body);
                write_varint((*class).into(), &mut body);
                CLASSIFY
            }
            Record::Bounds { flows, rate } => {
                write_varint(*flows, &mut body);
                write_varint(*rate, &mut body);
                BOUNDS
            }
            Record::Waited { millis } => {
                write_varint(*millis, &mut body);
                WAITED
            }
            Record::Unknown => return,
        };
        write_varint(kind, out);
        write_varint(body.len() as u64, out);
        out.extend_from_slice(&body);
    }

    /// The record at the front of `bytes` and its length; `None` if it is not there as a whole.
    pub fn read(bytes: &[u8]) -> Result<Option<(Record, usize)>, Malformed> {
        let mut reader = Reader(bytes);
        let (Some(kind), Some(length)) = (reader.varint(), reader.varint()) else { return Ok(None) };
        if length > MOST_RECORD {
            return Err(Malformed("a control record is too long"));
        }
        let Some(body) = reader.take(length as usize) else { return Ok(None) };
        let record = Record::body(kind, body).ok_or(Malformed("a control record cannot be read"))?;
        Ok(Some((record, bytes.len() - reader.0.len())))
    }

    /// What follows the known fields belongs to later versions.
    fn body(kind: u64, body: &[u8]) -> Option<Record> {
        let mut reader = Reader(body);
        Some(match kind {
            HELLO => {
                if reader.take(4)? != MAGIC {
                    return None;
                }
                let mut version = || u16::try_from(reader.varint()?).ok();
                Record::Hello(Hello {
                    versions: (version()?, version()?),
                    credit: reader.varint()?,
                    memory: reader.varint()?,
                    max_flows: reader.varint()?,
                    receive: reader.varint()?,
                    alone: reader.varint().is_some_and(|flags| flags & 1 != 0),
                })
            }
            CONSUMED => Record::Consumed { stream: reader.varint()?, offset: reader.varint()? },
            ACCEPTED => Record::Accepted { stream: reader.varint()? },
            RESET => Record::Reset { stream: reader.varint()?, code: reader.varint()? },
            RESET_AT => {
                Record::ResetAt { stream: reader.varint()?, code: reader.varint()?, size: reader.varint()? }
            }
            CLASS => Record::Class {
                class: u16::try_from(reader.varint()?).ok()?,
                weight: reader.varint()?,
                floor: reader.varint()?,
                ceiling: reader.varint()?,
            },
            CLASSIFY => {
                Record::Classify { stream: reader.varint()?, class: u16::try_from(reader.varint()?).ok()? }
            }
            BOUNDS => Record::Bounds { flows: reader.varint()?, rate: reader.varint()? },
            WAITED => Record::Waited { millis: reader.varint()? },
            _ => Record::Unknown,
        })
    }
}

/// The newest version that both have.
pub fn agreed(own: (u16, u16), peer: (u16, u16)) -> Option<u16> {
    let newest = own.1.min(peer.1);
    (newest >= own.0 && newest >= peer.0).then_some(newest)
}

const IPV6: u8 = 1;
const CONFIRM: u8 = 2;

/// Appends the head of a flow: flags and priority, DSCP, source, destination. 14 bytes with IPv4, 38 with IPv6.
pub fn write_open(open: &Open, out: &mut Vec<u8>) {
    let flags = if open.source.is_ipv6() { IPV6 } else { 0 } | if open.confirm { CONFIRM } else { 0 };
    out.push(flags | open.priority << 4);
    out.push(open.dscp);
    for address in [open.source, open.destination] {
        match address.ip() {
            IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
        }
        out.extend_from_slice(&address.port().to_be_bytes());
    }
}

/// The head of a flow at the front of `bytes`, and its length; `None` if it is not there as a whole.
pub fn read_open(bytes: &[u8]) -> Result<Option<(Open, usize)>, Malformed> {
    let mut reader = Reader(bytes);
    let (Some(flags), Some(dscp)) = (reader.byte(), reader.byte()) else { return Ok(None) };
    let ipv6 = flags & IPV6 != 0;
    let mut address = || -> Option<SocketAddr> {
        let ip = if ipv6 {
            Ipv6Addr::from(<[u8; 16]>::try_from(reader.take(16)?).ok()?).into()
        } else {
            Ipv4Addr::from(<[u8; 4]>::try_from(reader.take(4)?).ok()?).into()
        };
        Some(SocketAddr::new(ip, reader.short()?))
    };
    let (Some(source), Some(destination)) = (address(), address()) else { return Ok(None) };
    let open = Open { source, destination, dscp, priority: flags >> 4, confirm: flags & CONFIRM != 0 };
    if !is_possible(&open) || flags & 0x0c != 0 {
        return Err(Malformed("the head of a flow cannot be read"));
    }
    Ok(Some((open, bytes.len() - reader.0.len())))
}

/// Whether the fields of an opening are in their ranges.
pub fn is_possible(open: &Open) -> bool {
    open.dscp < 64 && open.priority < 8 && open.source.is_ipv6() == open.destination.is_ipv6()
}

/// Which bytes a parity is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParityHead {
    /// The flow's stream.
    pub stream: u64,
    /// Offset of the block's first byte.
    pub start: u64,
    /// Bytes of the block.
    pub length: u64,
    /// Bytes of a symbol, even.
    pub symbol: u16,
    /// Parities of the block.
    pub parities: u16,
    /// Number of the first parity that follows.
    pub first: u16,
    /// The stream ends where the block ends.
    pub last: bool,
}

/// Appends the head of a flow to a server by name: at most 255 bytes of name are written.
pub fn write_name(name: &str, port: u16, out: &mut Vec<u8>) {
    let name = &name.as_bytes()[..name.len().min(255)];
    out.push(name.len() as u8);
    out.extend_from_slice(name);
    out.extend_from_slice(&port.to_be_bytes());
}

/// Bytes of such a head, by its first byte.
pub fn name_length(first: u8) -> usize {
    1 + usize::from(first) + 2
}

/// A whole head of this kind: the name, which may be any bytes, and the port; `None` if it is none.
pub fn read_name(head: &[u8]) -> Option<(&[u8], u16)> {
    let mut reader = Reader(head);
    let length = usize::from(reader.byte()?);
    let (name, port) = (reader.take(length)?, reader.short()?);
    reader.0.is_empty().then_some((name, port))
}

/// Most bytes of a block.
pub const MOST_BLOCK: u64 = 4 << 20;

impl ParityHead {
    /// Symbols of the block.
    pub fn symbols(&self) -> usize {
        self.length.div_ceil(u64::from(self.symbol.max(1))) as usize
    }

    /// Appends the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.last));
        for value in [
            self.stream,
            self.start,
            self.length,
            u64::from(self.symbol),
            u64::from(self.parities),
            u64::from(self.first),
        ] {
            write_varint(value, out);
        }
    }

    /// The head of a datagram and the symbols after it. `None` for one that makes no sense.
    pub fn read(bytes: &[u8]) -> Option<(ParityHead, &[u8])> {
        let mut reader = Reader(bytes);
        let flags = reader.byte()?;
        let (stream, start, length) = (reader.varint()?, reader.varint()?, reader.varint()?);
        let mut short = || u16::try_from(reader.varint()?).ok();
        let head = ParityHead {
            stream,
            start,
            length,
            symbol: short()?,
            parities: short()?,
            first: short()?,
            last: flags & 1 != 0,
        };
        let symbol = usize::from(head.symbol);
        let sound = flags < 2
            && (1..=MOST_BLOCK).contains(&length)
            && symbol >= 2
            && symbol % 2 == 0
            && head.symbols() <= 32_768
            && !reader.0.is_empty()
            && reader.0.len() % symbol == 0
            && usize::from(head.first) + reader.0.len() / symbol <= usize::from(head.parities)
            && head.start <= 1 << 60;
        sound.then_some((head, reader.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addresses() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
        let v4 = any::<(u32, u16, u32, u16)>().prop_map(|(a, p, b, q)| {
            (SocketAddr::from((Ipv4Addr::from(a), p)), SocketAddr::from((Ipv4Addr::from(b), q)))
        });
        let v6 = any::<(u128, u16, u128, u16)>().prop_map(|(a, p, b, q)| {
            (SocketAddr::from((Ipv6Addr::from(a), p)), SocketAddr::from((Ipv6Addr::from(b), q)))
        });
        prop_oneof![v4, v6]
    }

    fn opens() -> impl Strategy<Value = Open> {
        (addresses(), 0u8..64, 0u8..8, any::<bool>()).prop_map(
            |((source, destination), dscp, priority, confirm)| Open {
                source,
                destination,
                dscp,
                priority,
                confirm,
            },
        )
    }

    fn records() -> impl Strategy<Value = Record> {
        let number = 0u64..1 << 62;
        prop_oneof![
            (number.clone(), 0u64..1 << 62).prop_map(|(stream, offset)| Record::Consumed { stream, offset }),
            (number.clone(), 0u64..1 << 17).prop_map(|(stream, code)| Record::Reset { stream, code }),
            (any::<u16>(), number.clone(), number.clone(), number.clone())
                .prop_map(|(class, weight, floor, ceiling)| Record::Class { class, weight, floor, ceiling }),
            (number.clone(), any::<u16>()).prop_map(|(stream, class)| Record::Classify { stream, class }),
            (number.clone(), number.clone()).prop_map(|(flows, rate)| Record::Bounds { flows, rate }),
            (number.clone(), 0u64..1 << 17, number.clone())
                .prop_map(|(stream, code, size)| Record::ResetAt { stream, code, size }),
            number.clone().prop_map(|stream| Record::Accepted { stream }),
            number.prop_map(|millis| Record::Waited { millis }),
            (any::<(u16, u16, bool)>(), [0u64..1 << 62, 0u64..1 << 62, 0u64..1 << 62, 0u64..1 << 62])
                .prop_map(|((first, last, alone), [credit, memory, max_flows, receive])| Record::Hello(
                    Hello { alone, versions: (first, last), credit, memory, max_flows, receive }
                )),
        ]
    }

    /// RFC 9000 appendix A.1.
    #[test]
    fn integers_are_those_of_the_rfc() {
        for (value, bytes) in [
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ] {
            let mut written = vec![];
            write_varint(value, &mut written);
            assert_eq!(written, bytes);
            assert_eq!(Reader(bytes).varint(), Some(value));
        }
    }

    #[test]
    fn versions_are_the_newest_common_one() {
        assert_eq!(agreed((1, 1), (1, 1)), Some(1));
        assert_eq!(agreed((1, 3), (2, 7)), Some(3));
        assert_eq!(agreed((1, 1), (2, 3)), None);
        assert_eq!(agreed((4, 5), (1, 3)), None);
    }

    #[test]
    fn heads_have_the_length_that_is_documented() {
        let open = |text: &str| Open {
            source: text.parse().unwrap(),
            destination: text.parse().unwrap(),
            dscp: 46,
            priority: 7,
            confirm: true,
        };
        for (text, length) in [("10.0.0.1:80", 14), ("[2001:db8::1]:80", 38)] {
            let mut head = vec![];
            write_open(&open(text), &mut head);
            assert_eq!(head.len(), length);
        }
    }

    proptest! {
        /// Cut anywhere, records come out as they went in.
        #[test]
        fn records_survive_any_cut(records in prop::collection::vec(records(), 1..20), cuts in prop::collection::vec(1usize..40, 1..40)) {
            let mut bytes = vec![];
            records.iter().for_each(|record| record.write(&mut bytes));
            let (mut buffer, mut read) = (vec![], vec![]);
            let mut cut = cuts.iter().cycle();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at((*cut.next().unwrap()).min(rest.len()));
                rest = later;
                buffer.extend_from_slice(now);
                while let Some((record, length)) = Record::read(&buffer).unwrap() {
                    buffer.drain(..length);
                    read.push(record);
                }
            }
            prop_assert_eq!(read, records);
            prop_assert!(buffer.is_empty());
        }

        #[test]
        fn heads_survive_any_cut(open in opens(), more in prop::collection::vec(any::<u8>(), 0..9)) {
            let mut bytes = vec![];
            write_open(&open, &mut bytes);
            let length = bytes.len();
            for cut in 0..length {
                prop_assert_eq!(read_open(&bytes[..cut]), Ok(None));
            }
            bytes.extend(more);
            prop_assert_eq!(read_open(&bytes), Ok(Some((open, length))));
        }

        /// Records of later versions are skipped, whatever is in them.
        #[test]
        fn unknown_records_are_skipped(kind in 15u64..1 << 62, body in prop::collection::vec(any::<u8>(), 0..1024)) {
            let mut bytes = vec![];
            write_varint(kind, &mut bytes);
            write_varint(body.len() as u64, &mut bytes);
            bytes.extend(&body);
            prop_assert_eq!(Record::read(&bytes), Ok(Some((Record::Unknown, bytes.len()))));
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Record::read(&bytes);
            let _ = read_open(&bytes);
            if let Some((head, symbols)) = ParityHead::read(&bytes) {
                prop_assert!(symbols.len() <= bytes.len() && head.symbols() >= 1);
            }
        }

        #[test]
        fn parities_come_out_as_they_went_in(
            (stream, start, length) in (0u64..1 << 62, 0u64..1 << 60, 1u64..MOST_BLOCK),
            symbol in 64u16..700, parities in 1u16..1000, last: bool,
        ) {
            let head = ParityHead { stream, start, length, symbol: symbol * 2, parities, first: parities - 1, last };
            prop_assume!(head.symbols() <= 32_768);
            let mut bytes = vec![];
            head.write(&mut bytes);
            bytes.extend(std::iter::repeat_n(7, usize::from(symbol) * 2));
            let (read, symbols) = ParityHead::read(&bytes).unwrap();
            prop_assert_eq!((read, symbols.len()), (head, usize::from(symbol) * 2));
        }
    }
}
