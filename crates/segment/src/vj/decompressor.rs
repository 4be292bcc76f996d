//! The receiving end of a line (RFC 1144 section 3.2.5).

use super::{FrameType, delta, mask};
use crate::Flags;
use crate::header::Header;
use crate::ip::PROTOCOL_TCP;

/// Why a frame gave no packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Tossed {
    /// It leaves the slot's number out, and after an error on the line it is unknown which was the last.
    #[error("a compressed header without the number of its slot, after an error on the line")]
    UnknownSlot,
    /// Its slot does not exist, or nothing was ever put there.
    #[error("a compressed header for slot {0}, which is empty or does not exist")]
    EmptySlot(u8),
    /// It is cut, or it is no whole TCP/IP header where it ought to be one.
    #[error("a frame that is cut short or does not match its type")]
    Malformed,
    /// It makes a packet longer than 65,535 bytes.
    #[error("a packet longer than 65535 bytes")]
    TooLong,
    /// The TCP checksum does not fit: the two ends of the line are out of step, or the frame was damaged.
    #[error("a header that does not fit its TCP checksum")]
    Checksum,
}

/// Restores the packets of one direction of a line.
///
/// RFC 1144 leaves it to the receiving host to find wrong headers by the TCP checksum. The sum is looked at here already,
/// so that they can be counted; the packet would go no further than that host. The slot keeps the wrong header all the
/// same, as in the RFC: only a header in full puts it right.
#[derive(Clone)]
pub struct Decompressor {
    slots: Vec<Option<Header>>,
    last: Option<u8>,
    /// There was an error since the last frame with the number of its slot: frames without one are tossed.
    toss: bool,
}

impl Decompressor {
    /// With so many slots, at least 1.
    pub fn new(slots: u8) -> Self {
        Decompressor { slots: vec![None; usize::from(slots.max(1))], last: None, toss: false }
    }

    /// The framing has found an error: a bad frame check sequence, an overrun (`TYPE_ERROR` in RFC 1144 section 3.2.2).
    pub fn line_error(&mut self) {
        self.toss = true;
    }

    /// Appends the packet that a frame stands for to `out`. On an error `out` is unchanged.
    ///
    /// # Errors
    /// What [`Tossed`] lists. Anything may come in: nothing but a packet whose checksums fit goes out, except for
    /// [`FrameType::Ip`], which passes unseen.
    pub fn decompress(
        &mut self,
        frame_type: FrameType,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Tossed> {
        if frame_type == FrameType::Ip {
            out.extend_from_slice(frame);
            return Ok(());
        }
        let (header, data) = match frame_type {
            FrameType::Compressed => self.compressed(frame, None)?,
            _ => self.uncompressed(frame, true)?,
        };
        if !header.tcp_is_intact(data) {
            return Err(Tossed::Checksum);
        }
        out.extend_from_slice(header.bytes());
        out.extend_from_slice(data);
        Ok(())
    }

    /// The same for a frame of which only the header is there, for so much data of zeros: a simulated one.
    ///
    /// # Errors
    /// As [`Decompressor::decompress`].
    pub fn decompress_headers(
        &mut self,
        frame_type: FrameType,
        frame: &[u8],
        data_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Tossed> {
        let (header, _) = match frame_type {
            FrameType::Ip => {
                out.extend_from_slice(frame);
                return Ok(());
            }
            FrameType::Compressed => self.compressed(frame, Some(data_len))?,
            FrameType::Uncompressed => self.uncompressed(frame, false)?,
        };
        if !header.tcp_is_intact(&[]) {
            return Err(Tossed::Checksum);
        }
        out.extend_from_slice(header.bytes());
        Ok(())
    }

    /// Takes note of a header in full.
    fn uncompressed<'a>(&mut self, frame: &'a [u8], whole: bool) -> Result<(Header, &'a [u8]), Tossed> {
        let read = || {
            let slot = *frame.get(9)?;
            let mut packet = [0; 120];
            let len = frame.len().min(packet.len());
            packet[..len].copy_from_slice(&frame[..len]);
            packet[9] = PROTOCOL_TCP;
            let header = Header::of_headers(&packet[..len])?;
            // The sum was made before the slot's number took the protocol's place.
            (header.ip_is_intact() && (!whole || frame.len() >= header.total_len())).then_some((slot, header))
        };
        let Some((slot, header)) = read() else {
            self.toss = true;
            return Err(Tossed::Malformed);
        };
        let Some(place) = self.slots.get_mut(usize::from(slot)) else {
            self.toss = true;
            return Err(Tossed::EmptySlot(slot));
        };
        *place = Some(header);
        self.last = Some(slot);
        self.toss = false;
        let data = if whole { &frame[header.len()..header.total_len()] } else { &[] };
        Ok((header, data))
    }

    /// Applies a difference. `data_len` stands for the data, where they are not there.
    fn compressed<'a>(
        &mut self,
        frame: &'a [u8],
        data_len: Option<usize>,
    ) -> Result<(Header, &'a [u8]), Tossed> {
        let (slot, changes, rest) = self.slot_of(frame)?;
        let known = self.slots.get(usize::from(slot)).copied().flatten();
        let Some(before) = known else {
            self.toss = true;
            return Err(Tossed::EmptySlot(slot));
        };
        let Some((mut header, data)) = apply(&before, changes, rest) else {
            self.toss = true;
            return Err(Tossed::Malformed);
        };
        if !header.set_data_len(data_len.unwrap_or(data.len())) {
            self.toss = true;
            return Err(Tossed::TooLong);
        }
        self.slots[usize::from(slot)] = Some(header);
        Ok((header, data))
    }

    /// The slot, the change mask, and what follows.
    fn slot_of<'a>(&mut self, frame: &'a [u8]) -> Result<(u8, u8, &'a [u8]), Tossed> {
        let parts = frame.split_first().and_then(|(changes, rest)| {
            if changes & mask::C == 0 {
                return Some((*changes, None, rest));
            }
            rest.split_first().map(|(slot, rest)| (*changes, Some(*slot), rest))
        });
        let Some((changes, slot, rest)) = parts else {
            self.toss = true;
            return Err(Tossed::Malformed);
        };
        match slot {
            Some(slot) => {
                self.last = Some(slot);
                self.toss = false;
                Ok((slot, changes, rest))
            }
            None if self.toss => Err(Tossed::UnknownSlot),
            None => Ok((self.last.ok_or(Tossed::UnknownSlot)?, changes, rest)),
        }
    }
}

/// The header that follows `before`, and the data behind the difference; `None` if the frame is cut.
fn apply<'a>(before: &Header, changes: u8, mut rest: &'a [u8]) -> Option<(Header, &'a [u8])> {
    let mut header = *before;
    let (checksum, behind) = rest.split_first_chunk()?;
    rest = behind;
    header.set_checksum(u16::from_be_bytes(*checksum));
    header.set_flag(Flags::PSH, changes & mask::P != 0);
    let data_before = before.data_len() as u32;
    let special = changes & mask::SPECIALS;
    // The special cases borrow the bit for URG, and stand for packets without it.
    let urgent = changes & mask::U != 0 && special != mask::SPECIAL_I && special != mask::SPECIAL_D;
    header.set_flag(Flags::URG, urgent);
    match special {
        mask::SPECIAL_I => {
            header.set_ack(before.ack().wrapping_add(data_before));
            header.set_seq(before.seq().wrapping_add(data_before));
        }
        mask::SPECIAL_D => header.set_seq(before.seq().wrapping_add(data_before)),
        _ => {
            if urgent {
                header.set_urgent_pointer(delta::take(&mut rest)?);
            }
            if changes & mask::W != 0 {
                header.set_window(before.window().wrapping_add(delta::take(&mut rest)?));
            }
            if changes & mask::A != 0 {
                header.set_ack(before.ack().wrapping_add(u32::from(delta::take(&mut rest)?)));
            }
            if changes & mask::S != 0 {
                header.set_seq(before.seq().wrapping_add(u32::from(delta::take(&mut rest)?)));
            }
        }
    }
    let id = if changes & mask::I != 0 { delta::take(&mut rest)? } else { 1 };
    header.set_id(before.id().wrapping_add(id));
    Some((header, rest))
}
