//! What crosses the thin link: messages of the pseudo proxy in the byte stream of the control connection (TCP). The thesis has requests
//! and "large-block acknowledgements" there (Coetzee 1999, section 8.7) and leaves the format open; this one is ours.
//!
//! | kind | then |
//! |---|---|
//! | 1 report | latest serial 4, its age in ms 2, floor 4: all items below have come; how far it speaks beyond the floor 2; holes 1; each hole: where beyond the floor 2, items 2 |
//! | 2 credit | stream 4, limit 4: positions below may be sent |
//! | 3 open | stream 4, 12 bytes that identify the connection |
//! | 4 data | stream 4, length 2, the data |
//! | 5 close | stream 4 |
//! | 6 reset | stream 4 |
//! | 7 session | number 2: what follows belongs to it |
//! | 8 alive | nothing |
//!
//! A report is complete, so that a later one replaces an earlier one that has not been sent. It takes 14 bytes and 4 for
//! each hole, a TCP segment for itself 54; with a serial line's framing of 2 bytes that is 58 ms at 9600 baud.

use super::datagram::Key;

/// Holes that a report can have.
pub const MOST_HOLES: usize = 60;
/// Data bytes of a message at most.
pub const MOST_DATA: usize = 65_535;
/// Bytes of a report without holes.
pub const REPORT: usize = 14;

/// Numbers of items that are missing: from, below.
pub type Hole = (u64, u64);

/// What the pseudo proxy has received.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The highest serial that has come.
    pub serial: u64,
    /// How long ago, in ms.
    pub age_ms: u16,
    /// All items below this number have come.
    pub floor: u64,
    /// Items from the floor to below this number have come but for the holes.
    pub end: u64,
    /// What is missing between, in ascending order.
    pub holes: Vec<Hole>,
}

/// A message. Numbers and positions that were decoded are their lower halves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// See [`Report`]. Decoded, `end` and holes count from the floor.
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
    /// Holes out of order.
    #[error("a report with holes that overlap or lie beyond its end")]
    Holes,
}

impl Message {
    /// Appends its bytes. Of a report, what does not fit is left out: the report then contains less, but nothing wrong.
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
    let Report { serial, age_ms, floor, end, holes } = report;
    let reach = |number: u64| u16::try_from(number - floor).ok();
    let mut last = reach((*end).min(floor + u64::from(u16::MAX))).unwrap_or(u16::MAX);
    let mut fitting: Vec<(u16, u16)> = vec![];
    for (from, below) in holes {
        // The report ends before the first hole that does not fit.
        match reach(*from).zip(reach(*below)) {
            Some((from, below)) if fitting.len() < MOST_HOLES => fitting.push((from, below - from)),
            _ => {
                last = last.min(reach(*from).unwrap_or(u16::MAX));
                break;
            }
        }
    }
    out.push(1);
    out.extend_from_slice(&(*serial as u32).to_be_bytes());
    out.extend_from_slice(&age_ms.to_be_bytes());
    out.extend_from_slice(&(*floor as u32).to_be_bytes());
    out.extend_from_slice(&last.to_be_bytes());
    out.push(fitting.len() as u8);
    for (from, count) in fitting {
        out.extend_from_slice(&from.to_be_bytes());
        out.extend_from_slice(&count.to_be_bytes());
    }
}

fn decode_report(rest: &mut Reader<'_>) -> Result<Option<Report>, MessageError> {
    let mut read = || {
        let head = (rest.word()?, rest.half()?, rest.word()?, rest.half()?);
        let [count] = rest.take()?;
        let mut pairs = vec![];
        for _ in 0..count {
            pairs.push((u64::from(rest.half()?), u64::from(rest.half()?)));
        }
        Some((head, pairs))
    };
    let Some(((serial, age_ms, floor, end), pairs)) = read() else { return Ok(None) };
    let end = u64::from(end);
    let mut holes = vec![];
    let mut before = 0;
    for (from, count) in pairs {
        if from < before || count == 0 || from + count > end {
            return Err(MessageError::Holes);
        }
        before = from + count;
        holes.push((from, before));
    }
    Ok(Some(Report { serial: serial.into(), age_ms, floor: floor.into(), end, holes }))
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
        let steps = prop::collection::vec((0u64..40, 1u64..40), 0..20);
        (any::<u32>(), any::<u16>(), any::<u32>(), steps, 0u64..10).prop_map(
            |(serial, age_ms, floor, steps, beyond)| {
                let mut place = 0;
                let holes = steps
                    .into_iter()
                    .map(|(gap, count)| {
                        let from = place + gap;
                        place = from + count;
                        (from, place)
                    })
                    .collect();
                Report { serial: serial.into(), age_ms, floor: floor.into(), end: place + beyond, holes }
            },
        )
    }
    /// As it decodes: counted from the floor.
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
        match message {
            Message::Report(report) => {
                let up = |number: u64| report.floor + number;
                let holes = report.holes.iter().map(|(from, below)| (up(*from), up(*below))).collect();
                Message::Report(Report { end: up(report.end), holes, ..report.clone() }).encode(&mut out);
            }
            other => other.encode(&mut out),
        }
        out
    }

    #[test]
    fn a_report_has_fourteen_bytes_and_four_for_each_hole() {
        let report =
            Report { serial: 0x0102_0304, age_ms: 7, floor: 1000, end: 1010, holes: vec![(1000, 1002)] };
        let mut out = vec![];
        Message::Report(report).encode(&mut out);
        assert_eq!(out, [1, 1, 2, 3, 4, 0, 7, 0, 0, 3, 0xe8, 0, 10, 1, 0, 0, 0, 2]);
        assert_eq!(out.len(), REPORT + 4);
    }

    /// What is left out is not spoken of.
    #[test]
    fn a_report_with_too_many_holes_ends_before_them() {
        let holes: Vec<Hole> = (0..100).map(|n| (10 * n, 10 * n + 1)).collect();
        let report = Report { end: 2000, holes: holes.clone(), ..Report::default() };
        let mut out = vec![];
        Message::Report(report).encode(&mut out);
        let Ok(Some((Message::Report(read), _))) = Message::decode(&out) else { panic!() };
        assert_eq!((read.end, read.holes), (600, holes[..60].to_vec()));
        let report = Report { end: 100_000, holes: vec![(70_000, 70_001)], ..Report::default() };
        let mut out = vec![];
        Message::Report(report).encode(&mut out);
        let Ok(Some((Message::Report(read), _))) = Message::decode(&out) else { panic!() };
        assert_eq!((read.end, read.holes), (65_535, vec![]));
        let report = Report { end: 100_000, holes: vec![(60_000, 70_001)], ..Report::default() };
        let mut out = vec![];
        Message::Report(report).encode(&mut out);
        let Ok(Some((Message::Report(read), _))) = Message::decode(&out) else { panic!() };
        assert_eq!((read.end, read.holes), (60_000, vec![]));
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
