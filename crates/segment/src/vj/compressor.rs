//! The sending end of a line (RFC 1144 section 3.2.4).

use super::{FrameType, delta, mask};
use crate::Flags;
use crate::header::Header;

/// What a packet has become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compressed {
    /// Which kind of frame.
    pub frame_type: FrameType,
    /// Bytes of IP and TCP header that went in; 0 for [`FrameType::Ip`], which is not looked into.
    pub header_in: usize,
    /// Bytes of header that came out.
    pub header_out: usize,
}

/// Compresses the packets of one direction of a line.
#[derive(Clone)]
pub struct Compressor {
    /// The last header of each connection, by slot.
    slots: Vec<Option<Header>>,
    /// Slots by use, the least recently used first.
    by_use: Vec<u8>,
    /// The slot of the frame sent last, if its number may be left out.
    last: Option<u8>,
}

impl Compressor {
    /// With so many slots, at least 1: connections that are remembered at a time. Its peer needs as many.
    pub fn new(slots: u8) -> Self {
        let slots = slots.max(1);
        Compressor { slots: vec![None; usize::from(slots)], by_use: (0..slots).collect(), last: None }
    }

    /// Appends the frame for an IP packet to `out`, without a mark of its type. Bytes behind the packet's end are left out.
    pub fn compress(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Compressed {
        let Some(header) = Header::of(packet) else {
            out.extend_from_slice(packet);
            return Compressed { frame_type: FrameType::Ip, header_in: 0, header_out: 0 };
        };
        let compressed = self.compress_headers(&packet[..header.len()], out);
        if compressed.frame_type == FrameType::Ip {
            out.truncate(out.len() - header.len());
            out.extend_from_slice(packet);
        } else {
            out.extend_from_slice(&packet[header.len()..header.total_len()]);
        }
        compressed
    }

    /// The same for a packet of which only the headers are there: a simulated one. Only headers are appended.
    pub fn compress_headers(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Compressed {
        let start = out.len();
        let header = Header::of_headers(packet).filter(may_be_compressed);
        let Some(header) = header else {
            out.extend_from_slice(packet);
            return Compressed { frame_type: FrameType::Ip, header_in: 0, header_out: 0 };
        };
        let (slot, known) = self.slot_of(&header);
        let before = self.slots[usize::from(slot)].replace(header);
        let implicit = self.last.replace(slot) == Some(slot);
        let difference = before.filter(|_| known).and_then(|before| Difference::between(&before, &header));
        let frame_type = match difference {
            Some(difference) => {
                difference.write(&header, (!implicit).then_some(slot), out);
                FrameType::Compressed
            }
            None => {
                let mut whole = header;
                whole.set_protocol(slot);
                out.extend_from_slice(whole.bytes());
                FrameType::Uncompressed
            }
        };
        Compressed { frame_type, header_in: header.len(), header_out: out.len() - start }
    }

    /// The slot of a connection, and whether it has it already; otherwise it takes the least recently used.
    fn slot_of(&mut self, header: &Header) -> (u8, bool) {
        let key = header.connection();
        let held = |slot: &u8| {
            self.slots[usize::from(*slot)].as_ref().is_some_and(|known| known.connection() == key)
        };
        let found = self.by_use.iter().rposition(held);
        let position = found.unwrap_or(0);
        let slot = self.by_use.remove(position);
        self.by_use.push(slot);
        (slot, found.is_some())
    }
}

/// Connections that begin or end, and what is no ordinary segment, pass as they are (RFC 1144 section 3.2.4, step 1). So
/// does a damaged IP header, which would come out mended.
fn may_be_compressed(header: &Header) -> bool {
    let flags = header.flags();
    let ordinary = flags.contains(Flags::ACK) && !flags.intersects(Flags::SYN | Flags::FIN | Flags::RST);
    ordinary && header.ip_is_intact()
}

/// What has changed from one header of a connection to the next.
struct Difference {
    mask: u8,
    window: u16,
    ack: u16,
    seq: u16,
    id: u16,
}

impl Difference {
    /// `None` if the header must be sent in full.
    fn between(before: &Header, now: &Header) -> Option<Difference> {
        if !now.same_constants(before) {
            return None;
        }
        let mut changes = 0;
        if now.flags().contains(Flags::URG) {
            changes |= mask::U;
        } else if now.urgent_pointer() != before.urgent_pointer() {
            return None; // no implementation should change it without URG, and there is no place for it
        }
        let window = now.window().wrapping_sub(before.window());
        // Numbers that went back, or far ahead: over 65,535 in unsigned arithmetic.
        let ack = u16::try_from(now.ack().wrapping_sub(before.ack())).ok()?;
        let seq = u16::try_from(now.seq().wrapping_sub(before.seq())).ok()?;
        for (bit, difference) in [(mask::W, window), (mask::A, ack), (mask::S, seq)] {
            if difference != 0 {
                changes |= bit;
            }
        }
        let data_before = before.data_len();
        match changes {
            // Nothing has changed. Data after an ACK, as in a terminal session, is compressed. Anything else is probably
            // sent again, or a window probe: whole, in case the other end has missed the difference.
            0 if !(now.data_len() > 0 && data_before == 0) => return None,
            // Real changes that look like a special case.
            mask::SPECIAL_I | mask::SPECIAL_D => return None,
            c if c == mask::S | mask::A && seq == ack && usize::from(seq) == data_before => {
                changes = mask::SPECIAL_I;
            }
            mask::S if usize::from(seq) == data_before => changes = mask::SPECIAL_D,
            _ => {}
        }
        let id = now.id().wrapping_sub(before.id());
        if id != 1 {
            changes |= mask::I;
        }
        if now.flags().contains(Flags::PSH) {
            changes |= mask::P;
        }
        Some(Difference { mask: changes, window, ack, seq, id })
    }

    /// Mask, slot, checksum, urgent pointer, window, acknowledgment, sequence, identification (RFC 1144 figure 3).
    fn write(&self, now: &Header, slot: Option<u8>, out: &mut Vec<u8>) {
        out.push(self.mask | if slot.is_some() { mask::C } else { 0 });
        out.extend(slot);
        out.extend_from_slice(&now.checksum().to_be_bytes());
        let special = matches!(self.mask & mask::SPECIALS, mask::SPECIAL_I | mask::SPECIAL_D);
        if !special {
            if self.mask & mask::U != 0 {
                delta::put(now.urgent_pointer(), out);
            }
            for (bit, value) in [(mask::W, self.window), (mask::A, self.ack), (mask::S, self.seq)] {
                if self.mask & bit != 0 {
                    delta::put(value, out);
                }
            }
        }
        if self.mask & mask::I != 0 {
            delta::put(self.id, out);
        }
    }
}
