//! ACK compaction: many pure ACKs of a connection as one packet, taken apart again behind the thin link. Two forms, from the
//! asymmetric satellite thesis (Coetzee 1999): the traditional one (Samaraweera 1999; thesis, appendix A.1), a count and a
//! mean in 3 bytes, and the thesis's own (appendix A.2), which keeps every ACK, in 2 or 4 bytes each.
//!
//! On the wire a compacted packet is an IP packet with one of the ACKs, and what stands for the others in place of data. So its
//! length and its checksum cover them, and damage is found as in any packet. It means something only to the far end of the
//! tunnel that it travels in, whose header (28 bytes for UDP) comes on top. The thesis leaves the layout open; it is:
//!
//! | form | the ACK in full | behind it |
//! |---|---|---|
//! | exact | the first | for each further one a word: bit 15 is set if the window changes, the rest are the bytes newly acknowledged; with bit 15, a second word, what is added to the window field |
//! | traditional | the last | one byte: how many ACKs are left out; a word: mean bytes that each of them, and the last, acknowledges |
//!
//! **Duplicate ACKs** are kept as such by the exact form (a word of zero). The traditional form cannot distinguish them from others:
//! it spreads what is acknowledged evenly. **Window updates**: exact; traditional, all ACKs get the last one's window.
//! **SACK blocks** are advisory, and what was received stays so: all ACKs of a packet get the blocks of the newest one, and
//! as many of the older ones' as there is room for. **Timestamps**, ECN echoes and everything else that is not a pure ACK is
//! not compacted.

mod exact;
#[cfg(test)]
mod tests;
mod traditional;

use crate::{DecodeError, EncodeError, Flags, Options, SackBlocks, Segment, SeqNumber, ip, wire};
pub use exact::ExactBatch;
pub use traditional::TraditionalBatch;

/// Bytes of the header of a UDP tunnel over IPv4.
pub const UDP_TUNNEL_HEADER: u32 = 28;

/// An ACK: what identifies its connection, and its TCP header.
pub type Ack = (ip::Header, Segment);

/// Why a packet is not a compacted one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CompactionError {
    /// It is no intact TCP/IP packet.
    #[error(transparent)]
    Packet(#[from] DecodeError),
    /// It is not a pure ACK.
    #[error("a compacted packet that is not an ACK, or holds what a compactor leaves alone")]
    NotAnAck,
    /// The records are cut, or not of the length that their form has.
    #[error("{0} bytes of records: {1}")]
    Records(usize, &'static str),
}

/// True for an ACK that may be compacted: IPv4, ACK alone, no data, no option but SACK blocks.
pub fn is_compactable(ip: &ip::Header, segment: &Segment) -> bool {
    let options = Options { sack: segment.options.sack, ..Options::NONE };
    ip.dst.is_ipv4()
        && ip.src.is_ipv4()
        && segment.flags == Flags::ACK
        && segment.payload_len == 0
        && segment.options == options
}

/// True if two ACKs may share a packet: the same connection, and equal in all that a record does not contain.
fn go_together(a: &Ack, b: &Ack) -> bool {
    let constant = |ack: &Ack| {
        let segment = Segment { ack: SeqNumber(0), window: 0, options: Options::NONE, ..ack.1 };
        (ip::Header { id: 0, ..ack.0 }, segment)
    };
    constant(a) == constant(b)
}

/// The blocks of the newest ACK, then those of the older that are above the cumulative ACK and not among them.
fn merge_sack(newest: &Segment, older: &SackBlocks) -> SackBlocks {
    let mut merged = newest.options.sack;
    for (start, end) in older.as_slice() {
        let covered = merged.as_slice().iter().any(|(s, e)| s.at_or_before(*start) && end.at_or_before(*e));
        if newest.ack.before(*end) && !covered && !merged.push(*start, *end) {
            break;
        }
    }
    merged
}

/// Reads the ACK in full and the records behind it.
fn open(packet: &[u8]) -> Result<(Ack, &[u8]), CompactionError> {
    let packet = wire::decode(packet)?;
    let ack = (packet.ip, Segment { payload_len: 0, ..packet.segment });
    if !packet.unread.is_nothing() || !is_compactable(&ack.0, &ack.1) {
        return Err(CompactionError::NotAnAck);
    }
    Ok((ack, packet.payload))
}

fn close(ack: &Ack, records: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let segment = Segment { payload_len: records.len() as u32, ..ack.1 };
    wire::encode(&ack.0, &segment, records, out)
}
