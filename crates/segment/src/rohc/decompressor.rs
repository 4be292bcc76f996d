//! The receiving end: contexts, checks, and requests for a header in full.

use super::crc::{CRC_3, CRC_7, CRC_8};
use super::fields::Fields;
use super::form::{self, Reader, Reference, mask, take_sack, take_timestamp};
use super::{Feedback, Request};
use crate::header::Header;

/// Why a frame gave no packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Tossed {
    /// Its context does not exist, or nothing was ever put there.
    #[error("a compressed header for context {0}, which is empty or does not exist")]
    EmptyContext(u8),
    /// It is cut, of no type that there is, or no whole TCP/IP header where it ought to be one.
    #[error("a frame that is cut or of no type that there is")]
    Malformed,
    /// Its CRC does not fit the header that it gives.
    #[error("a header that does not fit its CRC")]
    Crc,
    /// The TCP checksum does not fit: a wrong header that its CRC let pass, or damaged data.
    #[error("a packet that does not fit its TCP checksum")]
    Checksum,
    /// It makes a packet longer than 65,535 bytes.
    #[error("a packet longer than 65535 bytes")]
    TooLong,
}

/// A packet of whose number so many further low bits are unknown is tried: 16 and 32 packets more may have been lost than four bits
/// can count (RFC 6846 section 5.3.2.2, repair).
const WRAPS_TRIED: u16 = 3;

/// What is known of a connection.
#[derive(Clone)]
struct Context {
    header: Header,
    last: Reference,
}

/// Restores the packets of one direction of a line.
///
/// The CRC is the line's own check; the TCP checksum is looked at as well, as the receiving host would: what passes both is
/// wrong with a probability of about 2^-19 for an ACK and 2^-23 for the rest, given that it is wrong at all.
#[derive(Clone)]
pub struct Decompressor {
    contexts: Vec<Option<Box<Context>>>,
    feedback: Option<Feedback>,
}

impl Decompressor {
    /// For so many contexts, 1 to 16.
    pub fn new(contexts: u8) -> Self {
        Decompressor { contexts: vec![None; usize::from(contexts.clamp(1, 16))], feedback: None }
    }

    /// The feedback for the other end after the frame that was read last.
    pub fn poll_feedback(&mut self) -> Option<Feedback> {
        self.feedback.take()
    }

    /// Appends the packet that a frame stands for to `out`. On an error `out` is unchanged.
    ///
    /// # Errors
    /// What [`Tossed`] lists. Anything may come in: nothing but a packet whose checksums fit goes out, except for one that is
    /// marked as not compressed, which passes unseen.
    pub fn decompress(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<(), Tossed> {
        self.restore(frame, None, out)
    }

    /// The same for a frame of which only the header is there, for so much data of zeros: a simulated one.
    ///
    /// # Errors
    /// As [`Decompressor::decompress`].
    pub fn decompress_headers(
        &mut self,
        frame: &[u8],
        data_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Tossed> {
        self.restore(frame, Some(data_len), out)
    }

    fn restore(&mut self, frame: &[u8], data_len: Option<usize>, out: &mut Vec<u8>) -> Result<(), Tossed> {
        self.feedback = None;
        let (number, frame) = match frame.split_first() {
            Some((first, rest)) if *first > form::ADD_CID && *first < 0xf0 => (*first & 0x0f, rest),
            _ => (0, frame),
        };
        let Some((first, rest)) = frame.split_first() else { return Err(Tossed::Malformed) };
        if *first == form::WHOLE {
            out.extend_from_slice(rest);
            return Ok(());
        }
        let read = match *first {
            form::IR => self.whole(number, frame, data_len),
            form::IR_DYN => self.dynamic(number, frame, data_len),
            _ => self.compressed(number, frame, data_len),
        };
        match read {
            Ok((header, data)) => {
                out.extend_from_slice(header.bytes());
                out.extend_from_slice(data);
                Ok(())
            }
            Err(tossed) => {
                self.ask(number, *first, tossed);
                Err(tossed)
            }
        }
    }

    /// A context that is damaged needs new fields; one that is missing, or wrong although all fields are new, a whole header.
    fn ask(&mut self, context: u8, first: u8, tossed: Tossed) {
        let request = match tossed {
            Tossed::EmptyContext(_) => Request::Static,
            Tossed::Checksum if first == form::IR_DYN => Request::Static,
            Tossed::Crc | Tossed::Checksum | Tossed::Malformed | Tossed::TooLong => Request::Dynamic,
        };
        if usize::from(context) < self.contexts.len() {
            self.feedback = Some(Feedback { context, request });
        }
    }

    fn whole<'a>(
        &mut self,
        number: u8,
        frame: &'a [u8],
        data_len: Option<usize>,
    ) -> Result<(Header, &'a [u8]), Tossed> {
        let place = self.contexts.get_mut(usize::from(number)).ok_or(Tossed::EmptyContext(number))?;
        let mut reader = Reader(&frame[1..]);
        let (Some(crc), Some(msn)) = (reader.byte(), reader.short()) else { return Err(Tossed::Malformed) };
        let header = Header::of_headers(reader.0).filter(Header::ip_is_intact).ok_or(Tossed::Malformed)?;
        let data = &reader.0[header.len()..];
        if data_len.unwrap_or(data.len()) != header.data_len() {
            return Err(Tossed::Malformed);
        }
        if CRC_8.of(&[&frame[..1], &[0], &frame[2..4], header.bytes()]) != crc {
            return Err(Tossed::Crc);
        }
        if !header.tcp_is_intact(data) {
            return Err(Tossed::Checksum);
        }
        *place = Some(Box::new(Context { header, last: Reference { msn, fields: Fields::of(&header) } }));
        Ok((header, data))
    }

    fn dynamic<'a>(
        &mut self,
        number: u8,
        frame: &'a [u8],
        data_len: Option<usize>,
    ) -> Result<(Header, &'a [u8]), Tossed> {
        let context = self.context(number)?;
        let mut reader = Reader(&frame[1..]);
        let (Some(crc), Some(msn)) = (reader.byte(), reader.short()) else { return Err(Tossed::Malformed) };
        let (fields, checksum) = form::take_all(&mut reader).ok_or(Tossed::Malformed)?;
        let data = reader.0;
        let covered = &frame[2..frame.len() - data.len()];
        if CRC_8.of(&[&frame[..1], &[0], covered]) != crc {
            return Err(Tossed::Crc);
        }
        let header = fields
            .header(&context.header, checksum, data_len.unwrap_or(data.len()))
            .ok_or(Tossed::TooLong)?;
        if !header.tcp_is_intact(data) {
            return Err(Tossed::Checksum);
        }
        *context = Context { header, last: Reference { msn, fields } };
        Ok((header, data))
    }

    fn compressed<'a>(
        &mut self,
        number: u8,
        frame: &'a [u8],
        data_len: Option<usize>,
    ) -> Result<(Header, &'a [u8]), Tossed> {
        let context = self.context(number)?;
        let mut found = Err(Tossed::Malformed);
        for wrap in 0..WRAPS_TRIED {
            found = context.read(frame, data_len, 16 * wrap);
            if found.is_ok() || matches!(found, Err(Tossed::Malformed | Tossed::TooLong)) {
                break;
            }
        }
        let (last, header, data) = found?;
        // A packet that is late, or a second copy, is no newer state.
        if last.msn.wrapping_sub(context.last.msn) as i16 > 0 {
            *context = Context { header, last };
        }
        Ok((header, data))
    }

    fn context(&mut self, number: u8) -> Result<&mut Context, Tossed> {
        let place = self.contexts.get_mut(usize::from(number)).and_then(Option::as_mut);
        place.map(|context| &mut **context).ok_or(Tossed::EmptyContext(number))
    }
}

impl Context {
    /// The content of a compressed frame if `lost` more packets are missing than its number shows.
    fn read<'a>(
        &self,
        frame: &'a [u8],
        data_len: Option<usize>,
        lost: u16,
    ) -> Result<(Reference, Header, &'a [u8]), Tossed> {
        let (first, check, msn, changes, mut reader) = opening(frame).ok_or(Tossed::Malformed)?;
        let number = form::MSN.read(u32::from(msn), u32::from(self.last.msn)) as u16;
        let msn = number.wrapping_add(lost);
        let (fields, checksum) = self.fields(msn, changes, &mut reader).ok_or(Tossed::Malformed)?;
        let data = reader.0;
        let header =
            fields.header(&self.header, checksum, data_len.unwrap_or(data.len())).ok_or(Tossed::TooLong)?;
        let crc = if first < 0x80 { CRC_3 } else { CRC_7 };
        if crc.of(&[header.bytes()]) != check {
            return Err(Tossed::Crc);
        }
        if !header.tcp_is_intact(data) {
            return Err(Tossed::Checksum);
        }
        Ok((Reference { msn, fields }, header, data))
    }

    fn fields(&self, msn: u16, changes: u8, reader: &mut Reader<'_>) -> Option<(Fields, u16)> {
        let before = &self.last.fields;
        let mut fields = Fields { id: self.last.id_offset().wrapping_add(msn), ..*before };
        fields.options.sack = Default::default();
        let wide = changes & mask::WIDE != 0;
        if changes & mask::SEQ != 0 {
            fields.seq =
                if wide { reader.word()? } else { form::SEQ.read(reader.short()?.into(), before.seq) };
        }
        if changes & mask::ACK != 0 {
            fields.ack =
                if wide { reader.word()? } else { form::ACK.read(reader.short()?.into(), before.ack) };
        }
        if changes & mask::WINDOW != 0 {
            fields.window = reader.short()?;
        }
        if changes & mask::ID != 0 {
            fields.id = reader.short()?.wrapping_add(msn);
        }
        if changes & mask::FLAGS != 0 {
            fields.tcp_flags = reader.byte()?;
        }
        if changes & mask::RARE != 0 {
            fields.rare = form::take_rare(reader)?;
        }
        let mut blocks = 0;
        if changes & mask::OPTIONS != 0 {
            let layout = reader.byte()?;
            blocks = layout & 0x07;
            fields.options.other = false;
            let known = before.options.timestamps.unwrap_or_default();
            fields.options.timestamps = (layout & 0x80 != 0).then_some(known);
        } else if before.options.other {
            return None;
        }
        let checksum = reader.short()?;
        for value in fields.options.timestamps.iter_mut().flatten() {
            *value = take_timestamp(reader, *value)?;
        }
        fields.options.sack = take_sack(reader, blocks, fields.ack)?;
        Some((fields, checksum))
    }
}

/// First byte, CRC, low bits of the number, mask, and the rest of a compressed frame.
fn opening(frame: &[u8]) -> Option<(u8, u8, u8, u8, Reader<'_>)> {
    let mut reader = Reader(frame);
    let first = reader.byte()?;
    if first < 0x80 {
        return Some((first, first & 0x07, first >> 3, mask::ACK, reader));
    }
    let check = reader.byte().filter(|check| *check < 0x80)?;
    let changes = match first & 0xf0 {
        form::DATA => mask::SEQ,
        form::ANY => reader.byte()?,
        _ => return None,
    };
    Some((first, check, first & 0x0f, changes, reader))
}
