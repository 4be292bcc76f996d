//! What a packet of the null session carries: it is not encrypted, so its frames can be read (RFC 9000 section 19).

use crate::observe::{Kind, Packet};

/// What counts of a datagram, for results and for congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// It elicits an acknowledgment (RFC 9002 section 2), or is padded: it counts as in flight.
    pub in_flight: bool,
    /// Bytes of streams in it.
    pub stream_bytes: u32,
    /// Those that were sent before.
    pub repeated_bytes: u32,
    /// Largest offset in a stream that it carries, and the stream: where it stands in a transfer.
    pub stream: Option<(u64, u64)>,
    /// It is a 1-RTT packet (short header).
    pub one_rtt: bool,
    /// There is a Handshake packet in it.
    pub handshake: bool,
    /// There is a 0-RTT packet in it.
    pub early: bool,
    /// Its packet number as far as it is written, of the last packet in the datagram; 1-RTT packets only.
    pub packet_number: u32,
}

/// Takes up a packet that was seen before it was sealed, as [`read`] does those of a datagram.
pub(crate) fn read_seen(
    packet: &Packet,
    frames: &[u8],
    content: &mut Content,
    stream: &mut impl FnMut(u64, u64, u64),
) {
    if packet.kind == Kind::OneRtt {
        content.one_rtt = true;
        content.packet_number = packet.number as u32;
        read_frames(frames, content, stream);
        return;
    }
    let mut handshake = Content::default();
    read_frames(frames, &mut handshake, &mut |_, _, _| {});
    content.in_flight |= handshake.in_flight;
    content.handshake |= packet.kind == Kind::Handshake;
    content.early |= packet.kind == Kind::ZeroRtt;
}

/// The packet number of a 1-RTT packet that is not encrypted, by the largest so far (RFC 9000 appendix A.3).
pub(crate) fn number_of(datagram: &[u8], cid_length: usize, largest: u64) -> Option<u64> {
    let first = *datagram.first()?;
    if first & 0x80 != 0 {
        return None;
    }
    let length = usize::from(first & 3) + 1;
    let written = datagram.get(1 + cid_length..1 + cid_length + length)?;
    let written = written.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let (window, expected) = (1u64 << (8 * length), largest + 1);
    let candidate = expected & !(window - 1) | written;
    Some(if candidate + window / 2 <= expected {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    })
}

/// Reads a datagram of one's own. `stream` is called with number, offset and length for each STREAM frame.
///
/// Handshake packets are not looked into: they count as in flight unless they are short, which only ACKs are.
pub(crate) fn read(datagram: &[u8], cid_length: usize, mut stream: impl FnMut(u64, u64, u64)) -> Content {
    let mut content = Content::default();
    let mut rest = datagram;
    while let Some(first) = rest.first().copied() {
        if first & 0x80 != 0 {
            let Some((packet, after)) = long_packet(rest) else { break };
            content.in_flight |= packet;
            content.handshake |= Kind::of(first) == Kind::Handshake;
            content.early |= Kind::of(first) == Kind::ZeroRtt;
            rest = after;
            continue;
        }
        content.one_rtt = true;
        let number_length = usize::from(first & 3) + 1;
        let header = 1 + cid_length + number_length;
        let Some(payload) = rest.len().checked_sub(16).and_then(|end| rest.get(header..end)) else { break };
        let number = &rest[1 + cid_length..header];
        content.packet_number = number.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        read_frames(payload, &mut content, &mut stream);
        break;
    }
    content
}

/// Whether a packet with a long header counts as in flight, and what follows it (RFC 9000 section 17.2).
fn long_packet(packet: &[u8]) -> Option<(bool, &[u8])> {
    let mut reader = Reader { bytes: packet };
    let first = reader.byte()?;
    reader.skip(4)?;
    for _ in 0..2 {
        let length = reader.byte()?;
        reader.skip(usize::from(length))?;
    }
    let kind = first >> 4 & 3;
    if kind == 3 {
        return None; // Retry has no frames.
    }
    if kind == 0 {
        let token = reader.varint()?;
        reader.skip(usize::try_from(token).ok()?)?;
    }
    let length = usize::try_from(reader.varint()?).ok()?;
    let number = usize::from(first & 3) + 1;
    let payload = reader.bytes.get(number..length.checked_sub(16)?)?;
    let mut content = Content::default();
    // 0-RTT packets have stream frames too.
    read_frames(payload, &mut content, &mut |_, _, _| {});
    Some((content.in_flight, reader.bytes.get(length..)?))
}

fn read_frames(payload: &[u8], content: &mut Content, stream: &mut impl FnMut(u64, u64, u64)) {
    let mut reader = Reader { bytes: payload };
    while !reader.bytes.is_empty() {
        let Some(frame) = reader.frame() else {
            // An unknown frame: whatever it is, it elicits an acknowledgment.
            content.in_flight = true;
            return;
        };
        // PADDING too counts as in flight (RFC 9002 section 2).
        content.in_flight |= !matches!(frame, Frame::Ack(_) | Frame::ConnectionClose { .. });
        if let Frame::Stream { stream: number, offset, length, .. } = frame {
            content.stream_bytes += length as u32;
            content.stream = Some((number, offset + length));
            stream(number, offset, length);
        }
    }
}

/// All frames of a packet up to the first that is not known.
pub(crate) fn each(payload: &[u8], mut take: impl FnMut(Frame<'_>)) {
    let mut reader = Reader { bytes: payload };
    while !reader.bytes.is_empty() {
        let Some(frame) = reader.frame() else { return };
        take(frame);
    }
}

/// A frame (RFC 9000 section 19; RFC 9221; draft-ietf-quic-ack-frequency).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frame<'a> {
    Padding(usize),
    Ping,
    Ack(Acked<'a>),
    ResetStream {
        stream: u64,
        code: u64,
        size: u64,
    },
    StopSending {
        stream: u64,
        code: u64,
    },
    Crypto {
        offset: u64,
        length: u64,
    },
    NewToken(u64),
    Stream {
        stream: u64,
        offset: u64,
        length: u64,
        fin: bool,
    },
    MaxData(u64),
    MaxStreamData {
        stream: u64,
        limit: u64,
    },
    MaxStreams {
        bidirectional: bool,
        limit: u64,
    },
    DataBlocked(u64),
    StreamDataBlocked {
        stream: u64,
        limit: u64,
    },
    StreamsBlocked {
        bidirectional: bool,
        limit: u64,
    },
    NewConnectionId {
        sequence: u64,
        retire: u64,
        id: &'a [u8],
    },
    RetireConnectionId(u64),
    PathChallenge,
    PathResponse,
    ConnectionClose {
        application: bool,
        code: u64,
    },
    HandshakeDone,
    /// A frame of an extension, by its type.
    Extension(u64),
}

/// What an ACK frame acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked<'a> {
    /// Delay as it is written: in units of 2^3 us, unless the peer has set another exponent.
    pub delay: u64,
    largest: u64,
    first: u64,
    rest: &'a [u8],
}

impl Acked<'_> {
    /// Ranges of packet numbers, first and last, from the largest down (RFC 9000 section 19.3.1).
    pub fn ranges(&self, mut take: impl FnMut(u64, u64)) {
        let mut last = self.largest;
        let mut first = last.saturating_sub(self.first);
        take(first, last);
        let mut reader = Reader { bytes: self.rest };
        while let (Some(gap), Some(length)) = (reader.varint(), reader.varint()) {
            last = first.saturating_sub(gap + 2);
            first = last.saturating_sub(length);
            take(first, last);
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        self.bytes = self.bytes.get(length..)?;
        Some(())
    }

    /// A variable-length integer (RFC 9000 section 16).
    fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let length = 1usize << (first >> 6);
        let more = self.bytes.get(..length - 1)?;
        let value = more.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
        self.bytes = &self.bytes[length - 1..];
        Some(value)
    }

    fn varints(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| self.varint().map(drop))
    }

    /// Reads one frame. IMMEDIATE_ACK is 0xac in the first drafts and 0x1f in later ones.
    fn frame(&mut self) -> Option<Frame<'a>> {
        let kind = self.varint()?;
        Some(match kind {
            0x00 => {
                let padding = self.bytes.iter().take_while(|byte| **byte == 0).count();
                self.skip(padding)?;
                Frame::Padding(padding + 1)
            }
            0x01 => Frame::Ping,
            0x02 | 0x03 => self.ack(kind == 0x03)?,
            0x04 => Frame::ResetStream { stream: self.varint()?, code: self.varint()?, size: self.varint()? },
            0x05 => Frame::StopSending { stream: self.varint()?, code: self.varint()? },
            0x06 => Frame::Crypto { offset: self.varint()?, length: self.prefixed()? },
            0x07 => Frame::NewToken(self.prefixed()?),
            0x08..=0x0f => {
                let stream = self.varint()?;
                let offset = if kind & 4 != 0 { self.varint()? } else { 0 };
                let length = if kind & 2 != 0 { self.varint()? } else { self.bytes.len() as u64 };
                self.skip(usize::try_from(length).ok()?)?;
                Frame::Stream { stream, offset, length, fin: kind & 1 != 0 }
            }
            0x10 => Frame::MaxData(self.varint()?),
            0x11 => Frame::MaxStreamData { stream: self.varint()?, limit: self.varint()? },
            0x12 | 0x13 => Frame::MaxStreams { bidirectional: kind == 0x12, limit: self.varint()? },
            0x14 => Frame::DataBlocked(self.varint()?),
            0x15 => Frame::StreamDataBlocked { stream: self.varint()?, limit: self.varint()? },
            0x16 | 0x17 => Frame::StreamsBlocked { bidirectional: kind == 0x16, limit: self.varint()? },
            0x18 => {
                let (sequence, retire) = (self.varint()?, self.varint()?);
                let length = usize::from(self.byte()?);
                let id = self.bytes.get(..length)?;
                self.skip(length + 16)?;
                Frame::NewConnectionId { sequence, retire, id }
            }
            0x19 => Frame::RetireConnectionId(self.varint()?),
            0x1a => self.skip(8).map(|()| Frame::PathChallenge)?,
            0x1b => self.skip(8).map(|()| Frame::PathResponse)?,
            0x1c | 0x1d => {
                let code = self.varint()?;
                self.varints(if kind == 0x1c { 1 } else { 0 })?;
                self.prefixed()?;
                Frame::ConnectionClose { application: kind == 0x1d, code }
            }
            0x1e => Frame::HandshakeDone,
            0x1f | 0xac => Frame::Extension(kind),
            0x30 => {
                let length = self.bytes.len();
                self.skip(length)?;
                Frame::Extension(kind)
            }
            0x31 => self.prefixed().map(|_| Frame::Extension(kind))?,
            0xaf => self.varints(4).map(|()| Frame::Extension(kind))?,
            _ => return None,
        })
    }

    fn ack(&mut self, ecn: bool) -> Option<Frame<'a>> {
        let (largest, delay, ranges, first) =
            (self.varint()?, self.varint()?, self.varint()?, self.varint()?);
        let before = self.bytes;
        self.varints(2 * ranges)?;
        let rest = &before[..before.len() - self.bytes.len()];
        self.varints(if ecn { 3 } else { 0 })?;
        Some(Frame::Ack(Acked { delay, largest, first, rest }))
    }

    /// What has its length before it.
    fn prefixed(&mut self) -> Option<u64> {
        let length = self.varint()?;
        self.skip(usize::try_from(length).ok()?)?;
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A 1-RTT packet with a connection ID of four bytes and packet number 0x0102.
    fn packet(frames: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x41, 9, 9, 9, 9, 1, 2];
        packet.extend_from_slice(frames);
        packet.extend_from_slice(&[0xee; 16]);
        packet
    }

    fn content(frames: &[u8]) -> (Content, Vec<(u64, u64, u64)>) {
        let mut streams = vec![];
        let content =
            read(&packet(frames), 4, |number, offset, length| streams.push((number, offset, length)));
        (content, streams)
    }

    #[test]
    fn an_ack_alone_is_not_in_flight() {
        // RFC 9000 section 19.3: largest 300, delay 5, two ranges.
        let ack = [0x02, 0x41, 0x2c, 5, 1, 3, 0, 7];
        let (read, streams) = content(&ack);
        assert_eq!(
            (read.in_flight, read.stream_bytes, read.packet_number, streams.len()),
            (false, 0, 0x0102, 0)
        );
        let padded: Vec<u8> = ack.into_iter().chain([0, 0, 0]).collect();
        assert!(content(&padded).0.in_flight);
    }

    /// The example of RFC 9000 appendix A.3, and numbers on both sides of it.
    #[test]
    fn packet_numbers_are_completed() {
        let packet = |bytes: [u8; 2]| [0x41, bytes[0], bytes[1]];
        assert_eq!(number_of(&packet([0x9b, 0x32]), 0, 0xa82f_30ea), Some(0xa82f_9b32));
        assert_eq!(number_of(&packet([0xff, 0xff]), 0, 0x2_0000), Some(0x1_ffff));
        assert_eq!(number_of(&[0x40, 1], 0, 255), Some(257));
        assert_eq!(number_of(&[0xc0, 1], 0, 255), None);
    }

    /// RFC 9000 section 19.3.1: largest 300 with 3 before it, then a gap of 0 (one packet) and a range of 8.
    #[test]
    fn ranges_of_an_ack_are_read() {
        let mut ranges = vec![];
        each(&[0x02, 0x41, 0x2c, 5, 1, 3, 0, 7], |frame| match frame {
            Frame::Ack(acked) => acked.ranges(|first, last| ranges.push((first, last))),
            _ => panic!("{frame:?}"),
        });
        assert_eq!(ranges, [(297, 300), (288, 295)]);
    }

    #[test]
    fn stream_frames_are_read_with_and_without_offset_and_length() {
        // RFC 9000 section 19.8: OFF, LEN and FIN bits of types 0x08 to 0x0f; then a frame to the end of the packet.
        let frames = [0x0e, 4, 0x40, 0x64, 3, 7, 7, 7, 0x08, 8, 1, 2, 3, 4, 5];
        let (read, streams) = content(&frames);
        assert!(read.in_flight);
        assert_eq!(streams, [(4, 100, 3), (8, 0, 5)]);
        assert_eq!(read.stream_bytes, 8);
    }

    #[test]
    fn frames_of_extensions_are_known() {
        // ACK_FREQUENCY and IMMEDIATE_ACK, then a PING.
        let (read, streams) = content(&[0x40, 0xaf, 0, 1, 2, 3, 0x40, 0xac, 0x1f, 0x0a, 4, 1, 9]);
        assert!(read.in_flight);
        assert_eq!(streams, [(4, 0, 1)]);
    }

    proptest! {
        /// Whatever bytes there are, reading ends and reads nothing beyond them.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200), cid in 0usize..21) {
            let mut sum = 0;
            let read = read(&bytes, cid, |_, _, length| sum += length);
            prop_assert!(sum <= bytes.len() as u64);
            prop_assert_eq!(u64::from(read.stream_bytes), sum);
        }
    }
}
