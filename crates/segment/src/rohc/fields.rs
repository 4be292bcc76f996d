//! The fields of a TCP/IPv4 header that change from packet to packet, and how a header is put together from them.

use crate::header::Header;
use crate::{Flags, SackBlocks, SeqNumber};

/// The content of a header, but for addresses, ports, lengths and sums: these are the context's, follow from the frame, or cross as they
/// are (RFC 6846 section 6.1 has the same classes).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fields {
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub id: u16,
    /// Byte 13 of the TCP header.
    pub tcp_flags: u8,
    pub rare: Rare,
    pub options: Options,
}

/// What hardly ever changes within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rare {
    pub tos: u8,
    pub ttl: u8,
    /// Byte 6 of the IP header: DF and the reserved bit.
    pub ip_flags: u8,
    /// The lower half of byte 12 of the TCP header.
    pub reserved: u8,
}

/// Options that can be compressed: two NOPs and timestamps, two NOPs and SACK blocks, or the one after the other.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Options {
    pub timestamps: Option<[u32; 2]>,
    pub sack: SackBlocks,
    /// Something else stands there, or in the IP header, or there is an urgent pointer: only a header in full can express it.
    pub other: bool,
}

const NOP: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

impl Options {
    fn of(mut bytes: &[u8]) -> Options {
        let mut options = Options::default();
        if let Some((head, rest)) =
            bytes.split_first_chunk::<12>().filter(|(h, _)| h[..4] == [NOP, NOP, TIMESTAMPS, 10])
        {
            options.timestamps = Some([word(&head[4..8]), word(&head[8..])]);
            bytes = rest;
        }
        if let [NOP, NOP, SACK, length, blocks @ ..] = bytes {
            let whole =
                usize::from(*length) == blocks.len() + 2 && blocks.len() % 8 == 0 && !blocks.is_empty();
            let pushed = blocks
                .chunks_exact(8)
                .all(|block| options.sack.push(SeqNumber(word(&block[..4])), SeqNumber(word(&block[4..]))));
            if whole && pushed {
                bytes = &[];
            }
        }
        if bytes.is_empty() { options } else { Options { other: true, ..Options::default() } }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if let Some([value, echo]) = self.timestamps {
            out.extend_from_slice(&[NOP, NOP, TIMESTAMPS, 10]);
            out.extend_from_slice(&value.to_be_bytes());
            out.extend_from_slice(&echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * self.sack.len() as u8]);
            for (start, end) in self.sack.as_slice() {
                out.extend_from_slice(&start.0.to_be_bytes());
                out.extend_from_slice(&end.0.to_be_bytes());
            }
        }
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

impl Fields {
    pub fn of(header: &Header) -> Fields {
        let (ip, tcp) = header.bytes().split_at(header.ip_len());
        let mut options = Options::of(&tcp[20..]);
        if ip.len() != 20 || header.flags().contains(Flags::URG) || header.urgent_pointer() != 0 {
            options = Options { other: true, ..Options::default() };
        }
        Fields {
            seq: header.seq(),
            ack: header.ack(),
            window: header.window(),
            id: header.id(),
            tcp_flags: tcp[13],
            rare: Rare { tos: ip[1], ttl: ip[8], ip_flags: ip[6], reserved: tcp[12] & 0x0f },
            options,
        }
    }

    /// The header with these fields in the connection of `context`; `None` if the packet would be longer than 65,535 bytes.
    pub fn header(&self, context: &Header, checksum: u16, data_len: usize) -> Option<Header> {
        let mut bytes = Vec::with_capacity(80);
        bytes.extend_from_slice(&[0x45, self.rare.tos, 0, 80]);
        bytes.extend_from_slice(&self.id.to_be_bytes());
        bytes.extend_from_slice(&[self.rare.ip_flags, 0, self.rare.ttl, crate::ip::PROTOCOL_TCP, 0, 0]);
        bytes.extend_from_slice(&context.connection());
        bytes.extend_from_slice(&self.seq.to_be_bytes());
        bytes.extend_from_slice(&self.ack.to_be_bytes());
        bytes.extend_from_slice(&[self.rare.reserved, self.tcp_flags]);
        bytes.extend_from_slice(&self.window.to_be_bytes());
        bytes.extend_from_slice(&checksum.to_be_bytes());
        bytes.extend_from_slice(&[0, 0]);
        self.options.write(&mut bytes);
        bytes[32] |= (((bytes.len() - 20) / 4) << 4) as u8;
        let mut header = Header::of_headers(&bytes)?;
        header.set_data_len(data_len).then_some(header)
    }
}
