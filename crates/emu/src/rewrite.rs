//! A real packet whose TCP header a middlebox has changed: what can be is changed in place, with the checksum updated
//! incrementally (RFC 1624), so that everything outside the header struct stays as it was.

use longhaul_segment::checksum::{update, update_u32};
use longhaul_segment::{Flags, Options, Segment, wire};

/// Offsets in the TCP header (RFC 9293 section 3.1).
const SEQ: usize = 4;
const ACK: usize = 8;
const FLAGS: usize = 12;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
/// The data offset and the reserved bits beside the flags.
const NOT_FLAGS: u16 = 0xfe00;

/// Makes `packet`, which was read as `read`, equal to `after`. False if its options were to change, but hold what a
/// [`Segment`] cannot express: they stay as they were then.
pub(crate) fn rewrite(packet: &mut Vec<u8>, read: &Read, after: &Segment) -> bool {
    if after.options == read.before.options {
        patch(&mut packet[read.ip_header_len..], after);
        return true;
    }
    let (before, wanted) = (&read.before.options, &after.options);
    if let (Options { mss: Some(_), .. }, Some(mss)) = (before, wanted.mss) {
        if (Options { mss: None, ..*before }) == (Options { mss: None, ..*wanted }) {
            patch(&mut packet[read.ip_header_len..], after);
            return patch_mss(&mut packet[read.ip_header_len..read.payload_at], mss);
        }
    }
    if !read.is_all {
        patch(&mut packet[read.ip_header_len..], after);
        return false;
    }
    let payload = packet[read.payload_at..].to_vec();
    let mut made = Vec::with_capacity(packet.len());
    if wire::encode(&read.ip, after, &payload, &mut made).is_err() {
        return false;
    }
    *packet = made;
    true
}

/// What was read of a packet before it was changed.
pub(crate) struct Read {
    pub ip: longhaul_segment::ip::Header,
    pub before: Segment,
    pub ip_header_len: usize,
    pub payload_at: usize,
    /// The header struct contains all that the bytes do.
    pub is_all: bool,
}

impl Read {
    /// Reads a TCP packet, and gives its payload; `None` for anything else, or if it is not intact to the last byte.
    pub fn of(packet: &[u8]) -> Option<(Read, &[u8])> {
        let whole = wire::decode(packet).ok().filter(|whole| whole.wire_len() == packet.len())?;
        let read = Read {
            ip: whole.ip,
            before: whole.segment,
            ip_header_len: whole.ip_header_len,
            payload_at: whole.ip_header_len + whole.tcp_header_len,
            // An urgent pointer is never part of it, not even one that is 0.
            is_all: whole.unread.is_nothing() && !whole.segment.flags.contains(Flags::URG),
        };
        Some((read, whole.payload))
    }
}

/// Changes the fields that have a fixed place.
fn patch(tcp: &mut [u8], after: &Segment) {
    let word = |tcp: &[u8], at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    let mut sum = word(tcp, CHECKSUM);
    for (at, new) in [(SEQ, after.seq.0), (ACK, after.ack.0)] {
        let old = u32::from(word(tcp, at)) << 16 | u32::from(word(tcp, at + 2));
        sum = update_u32(sum, old, new);
        tcp[at..at + 4].copy_from_slice(&new.to_be_bytes());
    }
    let flags = word(tcp, FLAGS) & NOT_FLAGS | after.flags.0;
    for (at, new) in [(FLAGS, flags), (WINDOW, after.window)] {
        sum = update(sum, word(tcp, at), new);
        tcp[at..at + 2].copy_from_slice(&new.to_be_bytes());
    }
    tcp[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Option kinds (RFC 9293 section 3.1).
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
/// Bytes of the MSS option.
const MSS_LEN: usize = 4;

/// Changes the last MSS option, which is the one that counts, where it stands. False if there is none.
fn patch_mss(tcp: &mut [u8], mss: u16) -> bool {
    let (mut at, mut found) = (20, None);
    while let Some(kind) = tcp.get(at).copied().filter(|kind| *kind != END) {
        let len = if kind == NOP { 1 } else { usize::from(tcp.get(at + 1).copied().unwrap_or(0)) };
        if len == 0 || at + len > tcp.len() {
            break;
        }
        if kind == MSS && len == MSS_LEN {
            found = Some(at + 2);
        }
        at += len;
    }
    let Some(at) = found else { return false };
    // Sums are of words at even places; what stands at an odd one is swapped in its word.
    let place = at & !1;
    let words = |tcp: &[u8]| -> u32 {
        let byte = |at: usize| u32::from(tcp.get(at).copied().unwrap_or(0));
        byte(place) << 24 | byte(place + 1) << 16 | byte(place + 2) << 8 | byte(place + 3)
    };
    let old = words(tcp);
    tcp[at..at + 2].copy_from_slice(&mss.to_be_bytes());
    let sum = u16::from_be_bytes([tcp[CHECKSUM], tcp[CHECKSUM + 1]]);
    let sum = update_u32(sum, old, words(tcp));
    tcp[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_segment::checksum::Checksum;
    use longhaul_segment::{Flags, SeqNumber, ip};

    fn packet() -> Vec<u8> {
        let ip = ip::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut segment = Segment {
            seq: SeqNumber(0xffff_fff0),
            ack: SeqNumber(77),
            window: 500,
            flags: Flags::ACK,
            payload_len: 5,
            ..Segment::default()
        };
        segment.options.mss = Some(1460);
        let mut bytes = vec![];
        wire::encode(&ip, &segment, b"hello", &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_changed_window_and_acknowledgment_keep_the_checksum_right() {
        let mut bytes = packet();
        let (read, _) = Read::of(&bytes).unwrap();
        let after = Segment { window: 0, ack: SeqNumber(0x1234_5678), ..read.before };
        assert!(rewrite(&mut bytes, &read, &after));
        let (again, payload) = Read::of(&bytes).expect("the checksum is right");
        assert_eq!((again.before, payload), (after, &b"hello"[..]));
    }

    #[test]
    fn options_are_written_anew() {
        let mut bytes = packet();
        let (read, _) = Read::of(&bytes).unwrap();
        let mut after = read.before;
        after.options.mss = Some(536);
        after.options.sack.push(SeqNumber(1), SeqNumber(9));
        assert!(rewrite(&mut bytes, &read, &after));
        let (again, payload) = Read::of(&bytes).expect("the checksum is right");
        assert_eq!((again.before, payload), (after, &b"hello"[..]));
    }

    /// Everything else stays, byte for byte, whatever stands before the option and beside it.
    #[test]
    fn an_mss_is_changed_where_it_stands() {
        let odd = [1, 2, 4, 5, 0xb4, 254, 3, 9]; // NOP, MSS 1460 at an odd place, an experiment (RFC 4727)
        let even = [2, 4, 5, 0xb4, 254, 4, 9, 9];
        for (options, at) in [(odd, 43), (even, 42)] {
            let mut bytes = packet();
            let payload = bytes.split_off(40 + 4);
            bytes.truncate(40);
            bytes.extend_from_slice(&options);
            bytes.extend_from_slice(&payload);
            bytes[32] = 7 << 4;
            let len = bytes.len() as u16;
            bytes[2..4].copy_from_slice(&len.to_be_bytes());
            for (place, from) in [(10, 0..20), (36, 20..usize::from(len))] {
                bytes[place..place + 2].fill(0);
                let mut sum = Checksum::new();
                if from.start > 0 {
                    let [src, dst] = [1, 2].map(|host| [10, 0, 0, host].into());
                    sum.add_pseudo_header(src, dst, ip::PROTOCOL_TCP, u32::from(len) - 20);
                }
                sum.add(&bytes[from]);
                let sum = sum.finish().to_be_bytes();
                bytes[place..place + 2].copy_from_slice(&sum);
            }
            let before = bytes.clone();
            let (read, _) = Read::of(&bytes).expect("the checksum is right");
            let mut after = read.before;
            after.options.mss = Some(536);
            assert!(rewrite(&mut bytes, &read, &after));
            let (again, _) = Read::of(&bytes).expect("the checksum is right");
            assert_eq!(again.before.options.mss, Some(536));
            let changed: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != before[*at]).collect();
            assert!(changed.iter().all(|place| [36, 37, at, at + 1].contains(place)), "{changed:?}");
        }
    }

    #[test]
    fn options_that_are_not_known_stay() {
        let mut bytes = packet();
        // The MSS option becomes one of kind 254 (RFC 4727, experiments); the checksum follows.
        let old = u16::from_be_bytes([bytes[40], bytes[41]]);
        bytes[40] = 254;
        let new = u16::from_be_bytes([bytes[40], bytes[41]]);
        let sum = update(u16::from_be_bytes([bytes[36], bytes[37]]), old, new);
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
        let (read, _) = Read::of(&bytes).unwrap();
        let mut after = Segment { window: 9, ..read.before };
        after.options.sack_permitted = true;
        assert!(!rewrite(&mut bytes, &read, &after), "it says that not all was done");
        let (again, _) = Read::of(&bytes).expect("the checksum is right");
        assert_eq!((again.before.window, bytes[40]), (9, 254));
    }
}
