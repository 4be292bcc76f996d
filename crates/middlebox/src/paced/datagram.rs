//! What crosses the satellite: numbered datagrams, each in a UDP packet of its own. The thesis (Coetzee 1999, section 8.7) leaves the
//! format open; this one is ours.
//!
//! | bytes | all kinds |
//! |---|---|
//! | 0 | kind: 1 open, 2 data, 3 close, 4 reset, 5 credit, 6 parity, 7 probe |
//! | 1 | parity: which of its block; otherwise 0 |
//! | 2-3 | session |
//! | 4-7 | tag: the lower half of SipHash-2-4 of all that follows and of bytes 0 to 3, with the session's key |
//! | 8-11 | serial: one more with each datagram sent, whatever it carries |
//! | 12-15 | open to credit: number of the item, the same when it is sent again; parity: number of the first item of the block; probe: number of the next item |
//!
//! | kind | further |
//! |---|---|
//! | open to credit | stream 4; position 4 (credit: up to where may be sent; open, reset: 0); then data, or 12 bytes that identify the connection |
//! | parity | items of the block 1, parities 1, then the parity itself |
//!
//! All most significant byte first. Positions of a stream count as TCP's do: its opening is 0, its first byte 1, its end the one after
//! the last byte. What is 64 bits wide inside has its lower half on the wire.

pub use crate::data::{Data, Length};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;

/// Bytes of IPv4 and UDP headers.
pub const UDP_HEADER: u32 = 28;
/// Bytes before what the kinds have in common.
pub const COMMON: usize = 16;
/// Bytes before the data of an item, and before a parity.
pub const ITEM_HEADER: u32 = 24;
/// The same of a parity.
pub const PARITY_HEADER: u32 = 18;

/// Identifies a connection to the other end: addresses and ports of its hosts ([`Ends`](crate::Ends), IPv4). The protocol does not
/// interpret it.
pub type Key = [u8; 12];

/// One item of the surrogate for the pseudo proxy, delivered exactly once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item<D> {
    /// A host has opened a connection: the beginning of a stream.
    Open {
        /// Its stream.
        stream: u32,
        /// Which connection.
        key: Key,
    },
    /// Data of a stream.
    Data {
        /// Its stream.
        stream: u32,
        /// Position of the first byte.
        position: u64,
        /// At least one byte.
        data: D,
    },
    /// The end of a stream.
    Close {
        /// Its stream.
        stream: u32,
        /// Position of the end.
        position: u64,
    },
    /// A connection has ended before its time.
    Reset {
        /// Its stream.
        stream: u32,
    },
    /// So much may be sent the other way.
    Credit {
        /// Its stream.
        stream: u32,
        /// Positions below this one.
        limit: u64,
    },
}

impl<D: Data> Item<D> {
    /// Bytes behind its header.
    pub fn payload(&self) -> u32 {
        match self {
            Item::Open { .. } => size_of::<Key>() as u32,
            Item::Data { data, .. } => data.len(),
            Item::Close { .. } | Item::Reset { .. } | Item::Credit { .. } => 0,
        }
    }
    fn kind(&self) -> u8 {
        match self {
            Item::Open { .. } => 1,
            Item::Data { .. } => 2,
            Item::Close { .. } => 3,
            Item::Reset { .. } => 4,
            Item::Credit { .. } => 5,
        }
    }
    fn stream(&self) -> u32 {
        match self {
            Item::Open { stream, .. }
            | Item::Data { stream, .. }
            | Item::Close { stream, .. }
            | Item::Reset { stream }
            | Item::Credit { stream, .. } => *stream,
        }
    }
    fn position(&self) -> u32 {
        match self {
            Item::Open { .. } | Item::Reset { .. } => 0,
            Item::Data { position, .. } | Item::Close { position, .. } => *position as u32,
            Item::Credit { limit, .. } => *limit as u32,
        }
    }
    fn bytes(&self) -> &[u8] {
        match self {
            Item::Open { key, .. } => key,
            Item::Data { data, .. } => data.bytes(),
            Item::Close { .. } | Item::Reset { .. } | Item::Credit { .. } => &[],
        }
    }
    /// From its parts; positions are still the lower half.
    fn from_parts(kind: u8, stream: u32, position: u32, len: u32, bytes: &[u8]) -> Option<Self> {
        let position = u64::from(position);
        match (kind, len) {
            (1, 12) => Some(Item::Open { stream, key: *bytes.first_chunk()? }),
            (2, 1..) => {
                let data = D::of(len, bytes);
                (data.len() == len).then_some(Item::Data { stream, position, data })
            }
            (3, 0) => Some(Item::Close { stream, position }),
            (4, 0) => Some(Item::Reset { stream }),
            (5, 0) => Some(Item::Credit { stream, limit: position }),
            _ => None,
        }
    }

    /// What erasure coding protects of it: kind 1, length 2, stream 4, position 4, and the bytes.
    pub fn symbol(&self) -> Vec<u8> {
        let mut symbol = vec![self.kind()];
        symbol.extend_from_slice(&(self.payload() as u16).to_be_bytes());
        symbol.extend_from_slice(&self.stream().to_be_bytes());
        symbol.extend_from_slice(&self.position().to_be_bytes());
        symbol.extend_from_slice(self.bytes());
        symbol
    }
    /// Length of its symbol on the wire.
    pub fn symbol_len(&self) -> u32 {
        SYMBOL_HEADER + self.payload()
    }
    /// From a symbol, which may have zeros behind it.
    pub fn from_symbol(symbol: &[u8]) -> Option<Self> {
        let (header, bytes) = symbol.split_first_chunk::<{ SYMBOL_HEADER as usize }>()?;
        let [kind, l0, l1, s0, s1, s2, s3, p0, p1, p2, p3] = *header;
        let (stream, position) = (u32::from_be_bytes([s0, s1, s2, s3]), u32::from_be_bytes([p0, p1, p2, p3]));
        Self::from_parts(kind, stream, position, u32::from(u16::from_be_bytes([l0, l1])), bytes)
    }
}

/// Bytes of a symbol before data.
const SYMBOL_HEADER: u32 = 11;

/// The most data of an item whose datagram is not longer than `mtu`, nor are those of parities.
pub fn most_data(mtu: u32, coded: bool) -> u32 {
    let plain = mtu.saturating_sub(UDP_HEADER + ITEM_HEADER);
    // Symbols of erasure codes have an even length.
    let symbol = mtu.saturating_sub(UDP_HEADER + PARITY_HEADER) & !1;
    let coded = if coded { symbol.saturating_sub(SYMBOL_HEADER) } else { plain };
    plain.min(coded).max(1)
}

/// What a datagram carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content<D> {
    /// An item, for the first time or again.
    Item {
        /// Its number.
        number: u64,
        /// The item.
        item: Item<D>,
    },
    /// A parity of a block of items.
    Parity {
        /// Number of the first item of the block.
        first: u64,
        /// Items of the block, which have numbers in a row.
        items: u8,
        /// Parities of the block.
        parities: u8,
        /// Which of them.
        index: u8,
        /// The parity.
        symbol: Vec<u8>,
        /// Its bytes beyond, where of data only the length is known.
        beyond: u32,
    },
    /// Nothing but the number that the next item will have: all below were sent.
    Probe {
        /// That number.
        next: u64,
    },
}

/// A datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram<D> {
    /// The session that it belongs to.
    pub session: u16,
    /// Its number among all that were sent.
    pub serial: u64,
    /// What it carries.
    pub content: Content<D>,
}

/// Why a datagram is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DatagramError {
    /// It ends too early.
    #[error("a datagram of {0} bytes is cut")]
    Cut(usize),
    /// It is damaged, or forged.
    #[error("the tag does not fit: the datagram is damaged or forged")]
    Tag,
    /// Its content is that of no datagram.
    #[error("a datagram of kind {0} with fields that no such has")]
    Fields(u8),
}

impl<D: Data> Datagram<D> {
    /// Bytes of the whole IP packet.
    pub fn wire_len(&self) -> u32 {
        UDP_HEADER
            + match &self.content {
                Content::Item { item, .. } => ITEM_HEADER + item.payload(),
                Content::Parity { symbol, beyond, .. } => PARITY_HEADER + symbol.len() as u32 + beyond,
                Content::Probe { .. } => COMMON as u32,
            }
    }

    /// Bytes of the payload of its UDP packet.
    pub fn payload_len(&self) -> u32 {
        self.wire_len() - UDP_HEADER
    }

    /// Appends the payload of its UDP packet, up to where only the length of data is known.
    pub fn encode(&self, key: &[u8; 16], out: &mut Vec<u8>) {
        let start = out.len();
        let (kind, index, number) = match &self.content {
            Content::Item { number, item } => (item.kind(), 0, *number),
            Content::Parity { first, index, .. } => (6, *index, *first),
            Content::Probe { next } => (7, 0, *next),
        };
        out.extend_from_slice(&[kind, index]);
        out.extend_from_slice(&self.session.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(self.serial as u32).to_be_bytes());
        out.extend_from_slice(&(number as u32).to_be_bytes());
        match &self.content {
            Content::Item { item, .. } => {
                out.extend_from_slice(&item.stream().to_be_bytes());
                out.extend_from_slice(&item.position().to_be_bytes());
                out.extend_from_slice(item.bytes());
            }
            Content::Parity { items, parities, symbol, .. } => {
                out.extend_from_slice(&[*items, *parities]);
                out.extend_from_slice(symbol);
            }
            Content::Probe { .. } => {}
        }
        let tag = tag(key, &out[start..]);
        out[start + 4..start + 8].copy_from_slice(&tag);
    }

    /// Reads the payload of a UDP packet. Serial, number and positions are their lower halves: see [`expand`].
    ///
    /// # Errors
    /// If it is no such datagram, or not one of the key.
    pub fn decode(key: &[u8; 16], bytes: &[u8]) -> Result<Self, DatagramError> {
        Self::decode_front(key, bytes.len() as u32, bytes)
    }

    /// The same of a payload of `len` bytes, of which only those in front are known.
    ///
    /// # Errors
    /// If it is no such datagram, or not one of the key.
    pub fn decode_front(key: &[u8; 16], len: u32, bytes: &[u8]) -> Result<Self, DatagramError> {
        let beyond = (len as usize).checked_sub(bytes.len()).ok_or(DatagramError::Cut(bytes.len()))? as u32;
        let cut = DatagramError::Cut(bytes.len());
        let (head, body) = bytes.split_at_checked(COMMON).ok_or(cut)?;
        if tag(key, bytes) != head[4..8] {
            return Err(DatagramError::Tag);
        }
        let word =
            |at: usize| u64::from(u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        let (kind, index, number) = (head[0], head[1], word(12));
        let wrong = DatagramError::Fields(kind);
        let content = match kind {
            1..=5 if index == 0 => {
                let (fields, data) = body.split_first_chunk::<8>().ok_or(cut)?;
                let [s0, s1, s2, s3, p0, p1, p2, p3] = *fields;
                let (stream, position) = ([s0, s1, s2, s3], [p0, p1, p2, p3]);
                let item = Item::from_parts(
                    kind,
                    u32::from_be_bytes(stream),
                    u32::from_be_bytes(position),
                    data.len() as u32 + beyond,
                    data,
                );
                Content::Item { number, item: item.ok_or(wrong)? }
            }
            6 => {
                let ([items, parities], symbol) = body.split_first_chunk().ok_or(cut)?;
                if *items == 0 || index >= *parities || symbol.is_empty() || symbol.len() % 2 != 0 {
                    return Err(wrong);
                }
                let (items, parities, symbol) = (*items, *parities, symbol.to_vec());
                Content::Parity { first: number, items, parities, index, symbol, beyond }
            }
            7 if index == 0 && body.is_empty() && beyond == 0 => Content::Probe { next: number },
            _ => return Err(wrong),
        };
        Ok(Datagram { session: u16::from_be_bytes([head[2], head[3]]), serial: word(8), content })
    }
}

/// The tag of a datagram, whose own field does not count.
fn tag(key: &[u8; 16], datagram: &[u8]) -> [u8; 4] {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(&datagram[8..]);
    hasher.write(&datagram[..4]);
    (hasher.finish() as u32).to_be_bytes()
}

/// Gives bytes the tag that fits.
#[cfg(test)]
pub(super) fn retag(key: &[u8; 16], bytes: &mut [u8]) {
    if bytes.len() >= 8 {
        let tag = tag(key, bytes);
        bytes[4..8].copy_from_slice(&tag);
    }
}

/// The position whose lower half is `wire` and that is next to `near`; `None` if it would be below zero.
pub fn expand(wire: u64, near: u64) -> Option<u64> {
    let step = (wire as u32).wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    const KEY: [u8; 16] = [7; 16];

    fn item() -> impl Strategy<Value = Item<Bytes>> {
        prop_oneof![
            (any::<u32>(), any::<Key>()).prop_map(|(stream, key)| Item::Open { stream, key }),
            (any::<u32>(), any::<u32>(), prop::collection::vec(any::<u8>(), 1..1500)).prop_map(
                |(stream, position, data)| Item::Data {
                    stream,
                    position: position.into(),
                    data: data.into()
                }
            ),
            (any::<u32>(), any::<u32>())
                .prop_map(|(stream, position)| Item::Close { stream, position: position.into() }),
            any::<u32>().prop_map(|stream| Item::Reset { stream }),
            (any::<u32>(), any::<u32>())
                .prop_map(|(stream, limit)| Item::Credit { stream, limit: limit.into() }),
        ]
    }
    fn datagram() -> impl Strategy<Value = Datagram<Bytes>> {
        let content = prop_oneof![
            (any::<u32>(), item()).prop_map(|(number, item)| Content::Item { number: number.into(), item }),
            (any::<u32>(), 1u8.., 1u8.., any::<u8>(), prop::collection::vec(any::<[u8; 2]>(), 1..700))
                .prop_map(|(first, items, parities, index, symbol)| Content::Parity {
                    first: first.into(),
                    items,
                    parities,
                    index: index % parities,
                    symbol: symbol.concat(),
                    beyond: 0,
                }),
            any::<u32>().prop_map(|next| Content::Probe { next: next.into() }),
        ];
        (any::<u16>(), any::<u32>(), content).prop_map(|(session, serial, content)| Datagram {
            session,
            serial: serial.into(),
            content,
        })
    }

    #[test]
    fn the_layout_is_that_of_the_table() {
        let item =
            Item::Data { stream: 0x0102_0304, position: 0x0a0b_0c0d, data: Bytes::from(vec![0xee, 0xff]) };
        let content = Content::Item { number: 0x1112_1314, item };
        let datagram = Datagram { session: 0x2122, serial: 0x3132_3334, content };
        let mut bytes = vec![];
        datagram.encode(&KEY, &mut bytes);
        assert_eq!(bytes[..4], [2, 0, 0x21, 0x22]);
        assert_eq!(bytes[8..16], [0x31, 0x32, 0x33, 0x34, 0x11, 0x12, 0x13, 0x14]);
        assert_eq!(bytes[16..], [1, 2, 3, 4, 10, 11, 12, 13, 0xee, 0xff]);
        assert_eq!(datagram.wire_len(), 28 + 26);
        let probe: Datagram<Length> = Datagram { session: 0, serial: 0, content: Content::Probe { next: 0 } };
        assert_eq!(probe.wire_len(), 44);
    }

    /// 1500 bytes: 28 of UDP and IP, 24 of an item; with parities 28, 18 and 11, an even length.
    #[test]
    fn the_most_data_fills_the_mtu() {
        assert_eq!((most_data(1500, false), most_data(1500, true)), (1448, 1443));
        let data = Item::Data { stream: 1, position: 1, data: Bytes::from(vec![0; 1443]) };
        assert_eq!(UDP_HEADER + PARITY_HEADER + data.symbol().len() as u32, 1500);
    }

    #[test]
    fn positions_are_found_from_their_lower_half() {
        assert_eq!(expand(5, 0xffff_fff0), Some(0x1_0000_0005));
        assert_eq!(expand(0xffff_fff0, 0x1_0000_0005), Some(0xffff_fff0));
        assert_eq!(expand(0xffff_fff0, 5), None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(datagram in datagram()) {
            let mut bytes = vec![1, 2, 3];
            datagram.encode(&KEY, &mut bytes);
            prop_assert_eq!(bytes.len() as u32 - 3, datagram.wire_len() - UDP_HEADER);
            prop_assert_eq!(Datagram::decode(&KEY, &bytes[3..]), Ok(datagram));
        }

        /// Every damage is found: one flipped bit, a cut, bytes too many, another key.
        #[test]
        fn damage_is_found(datagram in datagram(), place: prop::sample::Index, bit in 0u8..8) {
            let mut bytes = vec![];
            datagram.encode(&KEY, &mut bytes);
            let decode = |bytes: &[u8]| Datagram::<Bytes>::decode(&KEY, bytes);
            prop_assert!(decode(&bytes[..place.index(bytes.len())]).is_err());
            prop_assert!(Datagram::<Bytes>::decode(&[8; 16], &bytes).is_err());
            bytes.push(0);
            prop_assert!(decode(&bytes).is_err());
            bytes.pop();
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert!(decode(&bytes).is_err());
        }

        /// Any bytes with a tag that fits: an error, or a datagram that encodes to them again.
        #[test]
        fn anything_else_is_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0u8..9) {
            if bytes.len() >= COMMON {
                bytes[0] = kind;
                retag(&KEY, &mut bytes);
            }
            if let Ok(datagram) = Datagram::<Bytes>::decode(&KEY, &bytes) {
                let mut again = vec![];
                datagram.encode(&KEY, &mut again);
                // Fields that a kind does not use may hold anything, and are zeros then.
                prop_assert_eq!(again.len(), bytes.len());
                prop_assert_eq!(Datagram::decode(&KEY, &again), Ok(datagram));
            }
        }

        #[test]
        fn symbols_survive(item in item(), zeros in 0usize..4) {
            let mut symbol = item.symbol();
            symbol.resize(symbol.len() + zeros, 0);
            prop_assert_eq!(Item::from_symbol(&symbol), Some(item));
        }

        #[test]
        fn damaged_symbols_do_no_harm(symbol in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Item::<Bytes>::from_symbol(&symbol);
            let _ = Item::<Length>::from_symbol(&symbol);
        }
    }
}
