//! The sending end: contexts, what the other end may have seen last, and when headers go in full.

use super::crc::{CRC_3, CRC_7, CRC_8};
use super::fields::Fields;
use super::form::{self, Reference, mask, options_byte, put_sack, put_short, put_timestamp, put_word};
use super::{Feedback, Request, Settings};
use crate::header::Header;
use std::collections::VecDeque;

/// What a packet has become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Compressed (RFC 6846's CO).
    Compressed,
    /// All fields that change (IR-DYN).
    Dynamic,
    /// The whole header (IR).
    Whole,
    /// Not looked into: no TCP over IPv4, a fragment, damaged.
    Unchanged,
}

/// What a packet has become, and how long it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compressed {
    /// The form.
    pub form: Form,
    /// Bytes of IP and TCP header that went in; 0 for [`Form::Unchanged`].
    pub header_in: usize,
    /// Bytes of header that came out.
    pub header_out: usize,
}

/// After an answer to a request so many packets of a context pass before another is processed: those that were on their way then fail
/// at the other end as well.
const DEAF_FOR: u32 = 8;

/// One connection.
struct Context {
    connection: [u8; 12],
    msn: u16,
    /// Packets that the other end may have seen last, the newest at the end.
    references: VecDeque<Reference>,
    /// Headers that are still to be sent whole, whatever happens.
    whole_left: u32,
    /// What the other end has requested.
    request: Option<Request>,
    /// What was answered last, and for how many packets more that request is ignored.
    answered: (Option<Request>, u32),
    since_full: u32,
    /// Headers in full, one after the other.
    full_in_a_row: u32,
}

/// Compresses the packets of one direction of a line.
pub struct Compressor {
    settings: Settings,
    contexts: Vec<Option<Context>>,
    /// Contexts by use, the least recently used first.
    by_use: Vec<u8>,
}

impl Compressor {
    /// With these settings; its peer needs as many contexts.
    pub fn new(settings: Settings) -> Self {
        let contexts = settings.contexts();
        Compressor {
            settings,
            contexts: (0..contexts).map(|_| None).collect(),
            by_use: (0..contexts).collect(),
        }
    }

    /// Feedback of the other end has arrived.
    pub fn handle_feedback(&mut self, feedback: Feedback) {
        let Some(Some(context)) = self.contexts.get_mut(usize::from(feedback.context)) else { return };
        let (answered, deaf_for) = context.answered;
        if deaf_for == 0 || Some(feedback.request) > answered {
            context.request = context.request.max(Some(feedback.request));
        }
    }

    /// Appends the frame for an IP packet to `out`. Bytes behind the packet's end are left out.
    pub fn compress(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Compressed {
        let header = Header::of(packet).filter(Header::ip_is_intact);
        let compressed = self.write(header.as_ref(), packet, out);
        if let Some(header) = header {
            out.extend_from_slice(&packet[header.len()..header.total_len()]);
        }
        compressed
    }

    /// The same for a packet of which only the headers are there: a simulated one. Only headers are appended.
    pub fn compress_headers(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Compressed {
        let header = Header::of_headers(packet).filter(Header::ip_is_intact);
        self.write(header.as_ref(), packet, out)
    }

    fn write(&mut self, header: Option<&Header>, packet: &[u8], out: &mut Vec<u8>) -> Compressed {
        let start = out.len();
        let Some(header) = header else {
            out.push(form::WHOLE);
            out.extend_from_slice(packet);
            return Compressed { form: Form::Unchanged, header_in: 0, header_out: 0 };
        };
        let number = self.context_of(header);
        if number > 0 {
            out.push(form::ADD_CID | number);
        }
        let settings = self.settings;
        let Some(context) = &mut self.contexts[usize::from(number)] else { unreachable!("it was made") };
        let form = context.write(&settings, header, out);
        Compressed { form, header_in: header.len(), header_out: out.len() - start }
    }

    /// The context of a connection, a new one in place of the least recently used if it has none.
    fn context_of(&mut self, header: &Header) -> u8 {
        let key = header.connection();
        let held = |number: &u8| {
            self.contexts[usize::from(*number)].as_ref().is_some_and(|context| context.connection == key)
        };
        let found = self.by_use.iter().rposition(held);
        let number = self.by_use.remove(found.unwrap_or(0));
        self.by_use.push(number);
        if found.is_none() {
            let context = &mut self.contexts[usize::from(number)];
            // Numbers go on, so that those of the connection before are not taken for new ones.
            let msn = context.as_ref().map_or(0, |before| before.msn);
            *context = Some(Context {
                connection: key,
                msn,
                references: VecDeque::new(),
                whole_left: self.settings.repeat(),
                request: None,
                answered: (None, 0),
                since_full: 0,
                full_in_a_row: 0,
            });
        }
        number
    }
}

impl Context {
    fn write(&mut self, settings: &Settings, header: &Header, out: &mut Vec<u8>) -> Form {
        self.msn = self.msn.wrapping_add(1);
        let now = Reference { msn: self.msn, fields: Fields::of(header) };
        let start = out.len();
        let form = match self.form_wanted(settings, &now) {
            Form::Compressed if self.write_compressed(&now, header, out) => Form::Compressed,
            Form::Compressed | Form::Dynamic => {
                out.truncate(start);
                out.extend_from_slice(&[form::IR_DYN, 0]);
                put_short(now.msn, out);
                form::put_all(&now.fields, header.checksum(), out);
                out[start + 1] = CRC_8.of(&[&out[start..]]);
                Form::Dynamic
            }
            whole => {
                out.extend_from_slice(&[form::IR, 0]);
                put_short(now.msn, out);
                out.extend_from_slice(header.bytes());
                out[start + 1] = CRC_8.of(&[&out[start..]]);
                whole
            }
        };
        self.note(settings, form, now);
        form
    }

    fn form_wanted(&self, settings: &Settings, now: &Reference) -> Form {
        let refresh = settings.refresh.is_some_and(|every| self.since_full + 1 >= every);
        if now.fields.options.other || self.whole_left > 0 || refresh || self.request == Some(Request::Static)
        {
            Form::Whole
        } else if self.request == Some(Request::Dynamic) {
            Form::Dynamic
        } else {
            Form::Compressed
        }
    }

    /// Takes note of what was sent.
    fn note(&mut self, settings: &Settings, form: Form, now: Reference) {
        self.answered.1 = self.answered.1.saturating_sub(1);
        if form == Form::Compressed {
            self.since_full += 1;
            self.full_in_a_row = 0;
        } else {
            self.since_full = 0;
            self.full_in_a_row += 1;
            if self.request.is_some() {
                self.answered = (self.request.take(), DEAF_FOR);
            }
        }
        if form == Form::Whole {
            self.whole_left = self.whole_left.saturating_sub(1);
        }
        self.references.push_back(now);
        // After so many headers in full one of them has arrived: what was before them is not the last that was seen.
        let most = if self.full_in_a_row >= settings.repeat() { settings.repeat() } else { settings.window() }
            as usize;
        while self.references.len() > most {
            self.references.pop_front();
        }
    }

    fn all(&self, same: impl Fn(&Reference) -> bool) -> bool {
        self.references.iter().all(same)
    }

    /// The fields that must cross, as bits of the mask, without regard to sizes; `None` if only a header in full can express it.
    fn changes(&self, now: &Reference) -> Option<u8> {
        let fields = &now.fields;
        let reaches = |lsb: super::lsb::Lsb, value: u32, of: fn(&Fields) -> u32| {
            lsb.reaches(value, self.references.iter().map(|reference| of(&reference.fields)))
        };
        let mut changes = 0;
        let mut note = |bit: u8, same: bool| changes |= if same { 0 } else { bit };
        note(mask::SEQ, self.all(|before| before.fields.seq == fields.seq));
        note(mask::ACK, self.all(|before| before.fields.ack == fields.ack));
        note(mask::WINDOW, self.all(|before| before.fields.window == fields.window));
        note(mask::ID, self.all(|before| before.id_offset() == now.id_offset()));
        note(mask::FLAGS, self.all(|before| before.fields.tcp_flags == fields.tcp_flags));
        let layout = options_byte(&fields.options);
        let same_layout = |before: &Reference| {
            !before.fields.options.other && options_byte(&before.fields.options) & 0x80 == layout & 0x80
        };
        note(mask::OPTIONS, fields.options.sack.is_empty() && self.all(same_layout));
        note(mask::RARE, self.all(|before| before.fields.rare == fields.rare));
        let narrow = reaches(form::SEQ, fields.seq, |f| f.seq) && reaches(form::ACK, fields.ack, |f| f.ack);
        if !narrow {
            changes |= mask::WIDE | mask::SEQ | mask::ACK;
        }
        let numbers = self.references.iter().map(|before| u32::from(before.msn));
        let known = form::MSN.reaches(u32::from(now.msn), numbers) && !self.references.is_empty();
        known.then_some(changes)
    }

    /// False if the header must be sent in full; something may have been written then.
    fn write_compressed(&self, now: &Reference, header: &Header, out: &mut Vec<u8>) -> bool {
        let Some(changes) = self.changes(now) else { return false };
        let (fields, msn) = (&now.fields, (now.msn & 0x0f) as u8);
        match changes {
            0 | mask::ACK => {
                out.push(msn << 3 | CRC_3.of(&[header.bytes()]));
                put_short(fields.ack as u16, out);
            }
            mask::SEQ => {
                out.extend_from_slice(&[form::DATA | msn, CRC_7.of(&[header.bytes()])]);
                put_short(fields.seq as u16, out);
            }
            _ => {
                out.extend_from_slice(&[form::ANY | msn, CRC_7.of(&[header.bytes()]), changes]);
                for (bit, value) in [(mask::SEQ, fields.seq), (mask::ACK, fields.ack)] {
                    match changes & bit != 0 {
                        true if changes & mask::WIDE != 0 => put_word(value, out),
                        true => put_short(value as u16, out),
                        false => {}
                    }
                }
                if changes & mask::WINDOW != 0 {
                    put_short(fields.window, out);
                }
                if changes & mask::ID != 0 {
                    put_short(now.id_offset(), out);
                }
                if changes & mask::FLAGS != 0 {
                    out.push(fields.tcp_flags);
                }
                if changes & mask::RARE != 0 {
                    form::put_rare(fields.rare, out);
                }
                if changes & mask::OPTIONS != 0 {
                    out.push(options_byte(&fields.options));
                }
            }
        }
        put_short(header.checksum(), out);
        for (which, value) in fields.options.timestamps.into_iter().flatten().enumerate() {
            let before: Option<Vec<u32>> =
                self.references.iter().map(|before| Some(before.fields.options.timestamps?[which])).collect();
            if !before.is_some_and(|before| put_timestamp(value, &before, out)) {
                return false;
            }
        }
        put_sack(&fields.options.sack, fields.ack, out);
        true
    }
}
