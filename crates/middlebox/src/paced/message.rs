//! What crosses the thin link: messages of the pseudo proxy in the byte stream of the control connection (TCP). The thesis has requests
//! and "large-block acknowledgements" there (Coetzee 1999, section 8.7) and leaves the format open; this one is ours.
//!
//! | kind | then |
//! |---|---|
//! | 1 report | latest serial 4, its age in ms 2, floor 4: all items below have come; one byte: serials above the last one reported on (4 bits; 15: in 1 to 3 bytes after this one) and the order of the code of what is lost (4 bits; 15: nothing is); serials reported on, in 1 to 3 bytes of 7 bits; what is lost of them (`losses.rs`) |
//! | 2 credit | stream 4, limit 4: positions below may be sent |
//! | 3 open | stream 4, 12 bytes that identify the connection |
//! | 4 data | stream 4, length 2, the data |
//! | 5 close | stream 4 |
//! | 6 reset | stream 4 |
//! | 7 session | number 2: what follows belongs to it |
//! | 8 alive | nothing |
//!
//! The stream loses nothing, so each datagram's fate is reported once. A report takes 14 bytes, and 9 bits for each loss where 1 % is
//! lost; a TCP segment for itself 40 more; with a serial line's framing of 2 bytes that is 58 ms at 9600 baud.

use super::datagram::Key;
use super::losses::{self, ORDERS, Stretch, Unreadable};

/// Stretches of lost datagrams that a report can have: so that it fits into one segment of the line.
pub const MOST_LOST: usize = 300;
/// Datagrams that a report can be about.
pub const MOST_REPORTED: u64 = (1 << 21) - 1;
/// Data bytes of a message at most.
pub const MOST_DATA: usize = 65_535;

/// What the pseudo proxy has received.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The highest serial that has come.
    pub serial: u64,
    /// How long ago, in ms.
    pub age_ms: u16,
    /// All items below this number have come.
    pub floor: u64,
    /// So many serials below the highest one and it itself are not reported on yet: what is missing of them may still come.
    pub open: u64,
    /// So many serials before those are reported on. What is before them and was not reported before is lost.
    pub count: u64,
    /// Those of them that are lost, counted from the first, in ascending order.
    pub lost: Vec<Stretch>,
}

/// A message. Numbers and positions that were decoded are their lower halves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// See [`Report`].
    Report(Report),
    /// So much of a stream may be sent.
    Credit {
        /// Its stream.
        stream: u32,
        /// Positions below this one.
        limit: u64,
    },
    /// A host has opened a connection.
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
        /// At most 65,535 bytes.
        bytes: Vec<u8>,
    },
    /// The end of a stream.
    Close {
        /// Its stream.
        stream: u32,
    },
    /// A connection has ended before its time.
    Reset {
        /// Its stream.
        stream: u32,
    },
    /// What follows belongs to this session.
    Session(u16),
    /// The pseudo proxy is still there.
    Alive,
}

/// Why a stream is not one of messages. Nothing that comes after can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// No message is of this kind.
    #[error("a message of unknown kind {0}")]
    Kind(u8),
    /// A report of more than it is about.
    #[error("a report with losses beyond its end")]
    Losses,
}

impl Message {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::Report(report) => encode_report(report, out),
            Message::Credit { stream, limit } => {
                head(2, *stream, out);
                out.extend_from_slice(&(*limit as u32).to_be_bytes());
            }
            Message::Open { stream, key } => {
                head(3, *stream, out);
                out.extend_from_slice(key);
            }
            Message::Data { stream, bytes } => {
                debug_assert!(bytes.len() <= MOST_DATA);
                head(4, *stream, out);
                out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
                out.extend_from_slice(bytes);
            }
            Message::Close { stream } => head(5, *stream, out),
            Message::Reset { stream } => head(6, *stream, out),
            Message::Session(number) => {
                out.push(7);
                out.extend_from_slice(&number.to_be_bytes());
            }
            Message::Alive => out.push(8),
        }
    }

    /// How many bytes it takes.
    pub fn wire_len(&self) -> u64 {
        let mut bytes = vec![];
        self.encode(&mut bytes);
        bytes.len() as u64
    }

    /// Reads the message at the beginning of `bytes`, and how many it takes; `None` if it has not all come.
    ///
    /// # Errors
    /// If there is none.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Message, usize)>, MessageError> {
        let Some((&kind, rest)) = bytes.split_first() else { return Ok(None) };
        let mut rest = Reader(rest);
        let message = match kind {
            1 => decode_report(&mut rest)?.map(Message::Report),
            2 => rest
                .word()
                .zip(rest.word())
                .map(|(stream, limit)| Message::Credit { stream, limit: limit.into() }),
            3 => rest.word().zip(rest.take()).map(|(stream, key)| Message::Open { stream, key }),
            4 => rest.word().zip(rest.data()).map(|(stream, bytes)| Message::Data { stream, bytes }),
            5 => rest.word().map(|stream| Message::Close { stream }),
            6 => rest.word().map(|stream| Message::Reset { stream }),
            7 => rest.half().map(Message::Session),
            8 => Some(Message::Alive),
            kind => return Err(MessageError::Kind(kind)),
        };
        Ok(message.map(|message| (message, bytes.len() - rest.0.len())))
    }
}

fn head(kind: u8, stream: u32, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&stream.to_be_bytes());
}

fn encode_report(report: &Report, out: &mut Vec<u8>) {
    let Report { serial, age_ms, floor, open, count, lost } = report;
    debug_assert!(*count <= MOST_REPORTED && *open <= MOST_REPORTED);
    let order = losses::best_order(*count, lost);
    out.push(1);
    out.extend_from_slice(&(*serial as u32).to_be_bytes());
    out.extend_from_slice(&age_ms.to_be_bytes());
    out.extend_from_slice(&(*floor as u32).to_be_bytes());
    out.push(((*open).min(15) as u8) << 4 | order);
    if *open >= 15 {
        number(*open, out);
    }
    number(*count, out);
    if order < ORDERS {
        losses::encode(*count, lost, order, out);
    }
}

/// Seven bits to a byte, the lowest first; the highest bit is set if another byte follows.
fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn decode_report(rest: &mut Reader<'_>) -> Result<Option<Report>, MessageError> {
    let mut head = || Some((rest.word()?, rest.half()?, rest.word()?, rest.take::<1>()?));
    let Some((serial, age_ms, floor, [both])) = head() else { return Ok(None) };
    let (open, order) = (both >> 4, both & 15);
    let open = if open < 15 { Some(u64::from(open)) } else { rest.number()? };
    let Some((open, count)) = open.zip(rest.number()?) else { return Ok(None) };
    let (lost, len) = match order {
        ORDERS => (vec![], 0),
        _ => match losses::decode(count, order, rest.0) {
            Ok(read) => read,
            Err(Unreadable::Cut) => return Ok(None),
            Err(Unreadable::Long) => return Err(MessageError::Losses),
        },
    };
    rest.0 = &rest.0[len..];
    Ok(Some(Report { serial: serial.into(), age_ms, floor: floor.into(), open, count, lost }))
}

/// Bytes from the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }
    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }
    fn half(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }
    /// See [`number`]; `None` if it has not all come.
    fn number(&mut self) -> Result<Option<u64>, MessageError> {
        let mut value = 0;
        for place in 0..3 {
            let Some([byte]) = self.take() else { return Ok(None) };
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(Some(value));
            }
        }
        Err(MessageError::Losses)
    }
    fn data(&mut self) -> Option<Vec<u8>> {
        let len = usize::from(self.half()?);
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken.to_vec())
    }
}

/// Messages out of a byte stream.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    read: usize,
    broken: bool,
}

impl Inbox {
    /// More of the stream has come.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.bytes.drain(..std::mem::take(&mut self.read));
            self.bytes.extend_from_slice(bytes);
        }
    }
    /// The next message that has all come.
    ///
    /// # Errors
    /// If there is none: once. The stream is at an end then.
    pub fn next_message(&mut self) -> Result<Option<Message>, MessageError> {
        match Message::decode(&self.bytes[self.read..]) {
            Ok(Some((message, len))) => {
                self.read += len;
                Ok(Some(message))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                *self = Inbox { broken: true, ..Inbox::default() };
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn report() -> impl Strategy<Value = Report> {
        let steps = prop::collection::vec((1u64..40, 1u64..40), 0..20);
        (any::<u32>(), any::<u16>(), any::<u32>(), steps, 0u64..400, 0u64..40).prop_map(
            |(serial, age_ms, floor, steps, beyond, open)| {
                let mut place = 0;
                let lost = steps
                    .into_iter()
                    .map(|(gap, count)| {
                        let from = place + gap;
                        place = from + count;
                        (from, place)
                    })
                    .collect();
                let (serial, floor) = (serial.into(), floor.into());
                Report { serial, age_ms, floor, open, count: place + beyond, lost }
            },
        )
    }
    fn message() -> impl Strategy<Value = Message> {
        prop_oneof![
            report().prop_map(Message::Report),
            (any::<u32>(), any::<u32>())
                .prop_map(|(stream, limit)| Message::Credit { stream, limit: limit.into() }),
            (any::<u32>(), any::<Key>()).prop_map(|(stream, key)| Message::Open { stream, key }),
            (any::<u32>(), prop::collection::vec(any::<u8>(), 0..300))
                .prop_map(|(stream, bytes)| Message::Data { stream, bytes }),
            any::<u32>().prop_map(|stream| Message::Close { stream }),
            any::<u32>().prop_map(|stream| Message::Reset { stream }),
            any::<u16>().prop_map(Message::Session),
            Just(Message::Alive),
        ]
    }
    fn encoded(message: &Message) -> Vec<u8> {
        let mut out = vec![];
        message.encode(&mut out);
        out
    }

    #[test]
    fn a_report_has_fourteen_bytes_and_few_bits_for_each_loss() {
        let report =
            Report { serial: 0x0102_0304, age_ms: 7, floor: 1000, open: 2, count: 200, lost: vec![] };
        let bytes = encoded(&Message::Report(report.clone()));
        assert_eq!(bytes, [1, 1, 2, 3, 4, 0, 7, 0, 0, 3, 0xe8, 0x2f, 0xc8, 1]);
        // 99 have come, one is lost, 100 have come: 8 + 1 + 8 bits at order 7.
        let bytes = encoded(&Message::Report(Report { lost: vec![(99, 100)], ..report }));
        assert_eq!((bytes.len(), bytes[11]), (17, 0x27));
    }

    #[test]
    fn a_long_wait_and_a_number_that_is_too_long() {
        let report = Report { open: 1000, count: MOST_REPORTED, ..Report::default() };
        let bytes = encoded(&Message::Report(report.clone()));
        assert_eq!(Message::decode(&bytes), Ok(Some((Message::Report(report), bytes.len()))));
        let long = [[1; 12].as_slice(), &[0xff; 4]].concat();
        assert_eq!(Message::decode(&long), Err(MessageError::Losses));
    }

    proptest! {
        /// Whatever pieces the stream comes in.
        #[test]
        fn messages_survive(messages in prop::collection::vec(message(), 0..20), piece in 1usize..50) {
            let stream: Vec<u8> = messages.iter().flat_map(encoded).collect();
            let mut inbox = Inbox::default();
            let mut read = vec![];
            for piece in stream.chunks(piece) {
                inbox.push(piece);
                while let Some(message) = inbox.next_message().unwrap() {
                    read.push(message);
                }
            }
            prop_assert_eq!(read, messages);
        }

        /// Any bytes: messages, then perhaps an error, and then nothing.
        #[test]
        fn nonsense_ends_the_stream(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut inbox = Inbox::default();
            inbox.push(&bytes);
            while let Ok(Some(_)) = inbox.next_message() {}
            if inbox.broken {
                inbox.push(&[8]);
                prop_assert_eq!(inbox.next_message(), Ok(None));
            }
        }
    }
}
