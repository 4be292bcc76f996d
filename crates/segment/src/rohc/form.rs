//! The frames of robust header compression, byte by byte. They are this project's own, made after RFC 6846's, with its packet types
//! where these fill whole bytes (RFC 5795 section 5.2); see the module's documentation.
//!
//! | first byte | what follows |
//! |---|---|
//! | `1110cccc`, c > 0 | the frame of context c; frames without it are of context 0 (Add-CID) |
//! | `0mmmmkkk` | an ACK: 16 bits of the acknowledgment number, checksum, timestamps |
//! | `1000mmmm` | data: `0kkkkkkk`, 16 bits of the sequence number, checksum, timestamps |
//! | `1100mmmm` | anything: `0kkkkkkk`, a mask, the fields of the mask, checksum, timestamps, SACK blocks |
//! | `11111000` | IR-DYN: CRC-8, 16 bits of the number, all fields |
//! | `11111101` | IR: CRC-8, 16 bits of the number, both headers as they are |
//! | `11111100` | any IP packet as it is |
//!
//! m is the packet's number in its context (MSN), k a CRC over the headers before compression. The checksum is TCP's.

use super::fields::{Fields, Options, Rare};
use super::lsb::Lsb;
use crate::{SackBlocks, SeqNumber};

pub(crate) const IR: u8 = 0xfd;
pub(crate) const IR_DYN: u8 = 0xf8;
pub(crate) const WHOLE: u8 = 0xfc;
pub(crate) const ADD_CID: u8 = 0xe0;
pub(crate) const DATA: u8 = 0x80;
pub(crate) const ANY: u8 = 0xc0;

/// The packet's number: one that is late by one packet is understood, or after 14 that were lost.
pub(crate) const MSN: Lsb = Lsb { bits: 4, below: 1 };
pub(crate) const ACK: Lsb = Lsb { bits: 16, below: 16_383 };
/// What is sent again lies below.
pub(crate) const SEQ: Lsb = Lsb { bits: 16, below: 32_767 };
/// RFC 6846's four sizes for timestamps, the bits before them, and how far they may go back.
const TIMESTAMP: [(u32, u32, Lsb); 4] = [
    (1, 0b0, Lsb { bits: 7, below: 0 }),
    (2, 0b10, Lsb { bits: 14, below: 0 }),
    (3, 0b110, Lsb { bits: 21, below: 0x0004_0000 }),
    (3, 0b111, Lsb { bits: 29, below: 0x0400_0000 }),
];

/// Bits of the mask of [`ANY`].
pub(crate) mod mask {
    pub const SEQ: u8 = 0x80;
    pub const ACK: u8 = 0x40;
    pub const WINDOW: u8 = 0x20;
    /// The IP identification did not grow with the packet's number.
    pub const ID: u8 = 0x10;
    pub const FLAGS: u8 = 0x08;
    pub const OPTIONS: u8 = 0x04;
    pub const RARE: u8 = 0x02;
    /// SEQ and ACK are there with all 32 bits.
    pub const WIDE: u8 = 0x01;
}

/// A packet as one end of the line remembers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub msn: u16,
    pub fields: Fields,
}

impl Reference {
    /// IP identifications mostly grow by one with each packet.
    pub fn id_offset(&self) -> u16 {
        self.fields.id.wrapping_sub(self.msn)
    }
}

/// Takes bytes off the front.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
    pub fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }
    pub fn word(&mut self) -> Option<u32> {
        Some(u32::from(self.short()?) << 16 | u32::from(self.short()?))
    }
}

pub(crate) fn put_short(value: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}
pub(crate) fn put_word(value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// A number in 2 bytes below 2^15, in 3 below 2^22, else in 5.
fn put_offset(value: u32, out: &mut Vec<u8>) {
    match value {
        0..0x8000 => put_short(value as u16, out),
        0x8000..0x40_0000 => {
            out.push(0x80 | (value >> 16) as u8);
            put_short(value as u16, out);
        }
        _ => {
            out.push(0xc0);
            put_word(value, out);
        }
    }
}
fn take_offset(reader: &mut Reader<'_>) -> Option<u32> {
    let first = u32::from(reader.byte()?);
    match first >> 6 {
        0 | 1 => Some(first << 8 | u32::from(reader.byte()?)),
        2 => Some((first & 0x3f) << 16 | u32::from(reader.short()?)),
        _ => reader.word(),
    }
}

/// Blocks as distances from the acknowledgment number: they refer to nothing that was sent before (RFC 6846 section 6.3.4's
/// principle).
pub(crate) fn put_sack(blocks: &SackBlocks, ack: u32, out: &mut Vec<u8>) {
    for (start, end) in blocks.as_slice() {
        put_offset(start.0.wrapping_sub(ack), out);
        put_offset(end.0.wrapping_sub(start.0), out);
    }
}
pub(crate) fn take_sack(reader: &mut Reader<'_>, count: u8, ack: u32) -> Option<SackBlocks> {
    let mut blocks = SackBlocks::default();
    for _ in 0..count {
        let start = ack.wrapping_add(take_offset(reader)?);
        let end = start.wrapping_add(take_offset(reader)?);
        blocks.push(SeqNumber(start), SeqNumber(end)).then_some(())?;
    }
    Some(blocks)
}

/// Appends one of the two timestamps; false, and nothing done, if no size distinguishes it from all references.
pub(crate) fn put_timestamp(value: u32, references: &[u32], out: &mut Vec<u8>) -> bool {
    let fitting = TIMESTAMP
        .iter()
        .find(|(.., lsb)| !references.is_empty() && lsb.reaches(value, references.iter().copied()));
    let Some((ahead, prefix, lsb)) = fitting else { return false };
    let low = value & ((1u64 << lsb.bits) - 1) as u32;
    let bits = prefix << lsb.bits | low;
    let bytes = ((ahead + lsb.bits) / 8) as usize;
    out.extend_from_slice(&bits.to_be_bytes()[4 - bytes..]);
    true
}
pub(crate) fn take_timestamp(reader: &mut Reader<'_>, reference: u32) -> Option<u32> {
    let first = reader.byte()?;
    let size = (first.leading_ones() as usize).min(3);
    let (ahead, _, lsb) = TIMESTAMP[size];
    let mut bits = u32::from(first) & (0xff >> ahead);
    for _ in 1..(ahead + lsb.bits) / 8 {
        bits = bits << 8 | u32::from(reader.byte()?);
    }
    Some(lsb.read(bits, reference))
}

/// A byte for which options there are.
pub(crate) fn options_byte(options: &Options) -> u8 {
    u8::from(options.timestamps.is_some()) << 7 | options.sack.len() as u8
}

pub(crate) fn put_rare(rare: Rare, out: &mut Vec<u8>) {
    out.extend_from_slice(&[rare.tos, rare.ttl, rare.ip_flags, rare.reserved]);
}
pub(crate) fn take_rare(reader: &mut Reader<'_>) -> Option<Rare> {
    let [tos, ttl, ip_flags, reserved] = [reader.byte()?, reader.byte()?, reader.byte()?, reader.byte()?];
    Some(Rare { tos, ttl, ip_flags: ip_flags & 0xc0, reserved: reserved & 0x0f })
}

/// All fields, and the checksum behind them (IR-DYN).
pub(crate) fn put_all(fields: &Fields, checksum: u16, out: &mut Vec<u8>) {
    put_rare(fields.rare, out);
    out.push(fields.tcp_flags);
    put_word(fields.seq, out);
    put_word(fields.ack, out);
    put_short(fields.window, out);
    put_short(fields.id, out);
    put_short(checksum, out);
    out.push(options_byte(&fields.options));
    for value in fields.options.timestamps.iter().flatten() {
        put_word(*value, out);
    }
    put_sack(&fields.options.sack, fields.ack, out);
}
pub(crate) fn take_all(reader: &mut Reader<'_>) -> Option<(Fields, u16)> {
    let (rare, tcp_flags) = (take_rare(reader)?, reader.byte()?);
    let (seq, ack, window, id) = (reader.word()?, reader.word()?, reader.short()?, reader.short()?);
    let (checksum, options) = (reader.short()?, reader.byte()?);
    let timestamps = if options & 0x80 != 0 { Some([reader.word()?, reader.word()?]) } else { None };
    let sack = take_sack(reader, options & 0x07, ack)?;
    let options = Options { timestamps, sack, other: false };
    Some((Fields { seq, ack, window, id, tcp_flags, rare, options }, checksum))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes at their limits, and what they are read as.
    #[test]
    fn offsets_and_timestamps_have_sizes() {
        for (value, bytes) in
            [(0, 2), (0x7fff, 2), (0x8000, 3), (0x3f_ffff, 3), (0x40_0000, 5), (u32::MAX, 5)]
        {
            let mut out = vec![];
            put_offset(value, &mut out);
            assert_eq!((out.len(), take_offset(&mut Reader(&out))), (bytes, Some(value)));
        }
        for (step, bytes) in
            [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (0x1a_ffff, 3), (0x1c_0000, 4)]
        {
            let (reference, mut out) = (0xffff_ff00_u32, vec![]);
            let value = reference.wrapping_add(step);
            assert!(put_timestamp(value, &[reference], &mut out));
            assert_eq!(
                (out.len(), take_timestamp(&mut Reader(&out), reference)),
                (bytes, Some(value)),
                "{step}"
            );
        }
        assert!(!put_timestamp(0x8000_0000, &[0], &mut vec![]));
    }
}
