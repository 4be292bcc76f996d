//! What a packet of the null session carries: it is not encrypted, so its frames can be read (RFC 9000 section 19).

/// What counts of a datagram, for results and for congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// It asks for an acknowledgment (RFC 9002 section 2), or is padded: it counts as in flight.
    pub in_flight: bool,
    /// Bytes of streams in it.
    pub stream_bytes: u32,
    /// Those that were sent before.
    pub repeated_bytes: u32,
    /// Largest offset in a stream that it carries, and the stream: where it stands in a transfer.
    pub stream: Option<(u64, u64)>,
    /// It is a 1-RTT packet (short header).
    pub one_rtt: bool,
    /// Its packet number as far as it is written, of the last packet in the datagram; 1-RTT packets only.
    pub packet_number: u32,
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
        if reader.frame(content, stream).is_none() {
            // An unknown frame: whatever it is, it asks for an acknowledgment.
            content.in_flight = true;
            return;
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
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

    /// Reads one frame (RFC 9000 section 19; RFC 9221; draft-ietf-quic-ack-frequency, where IMMEDIATE_ACK is 0xac at first and
    /// 0x1f later).
    fn frame(&mut self, content: &mut Content, stream: &mut impl FnMut(u64, u64, u64)) -> Option<()> {
        let kind = self.varint()?;
        let elicits = !matches!(kind, 0x02 | 0x03 | 0x1c | 0x1d);
        content.in_flight |= elicits; // PADDING too counts as in flight (RFC 9002 section 2).
        match kind {
            0x00 => {
                let padding = self.bytes.iter().take_while(|byte| **byte == 0).count();
                self.skip(padding)
            }
            0x01 | 0x1e | 0x1f | 0xac => Some(()),
            0x02 | 0x03 => {
                self.varints(2)?;
                let ranges = self.varint()?;
                self.varints(1 + 2 * ranges + if kind == 0x03 { 3 } else { 0 })
            }
            0x04 => self.varints(3),
            0x05 | 0x11 | 0x15 => self.varints(2),
            0x06 => {
                self.varint()?;
                self.prefixed()
            }
            0x07 => self.prefixed(),
            0x08..=0x0f => {
                let number = self.varint()?;
                let offset = if kind & 4 != 0 { self.varint()? } else { 0 };
                let length = if kind & 2 != 0 { self.varint()? } else { self.bytes.len() as u64 };
                self.skip(usize::try_from(length).ok()?)?;
                content.stream_bytes += length as u32;
                content.stream = Some((number, offset + length));
                stream(number, offset, length);
                Some(())
            }
            0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => self.varints(1),
            0x18 => {
                self.varints(2)?;
                let length = self.byte()?;
                self.skip(usize::from(length) + 16)
            }
            0x1a | 0x1b => self.skip(8),
            0x1c | 0x1d => {
                self.varints(if kind == 0x1c { 2 } else { 1 })?;
                self.prefixed()
            }
            0x30 => self.skip(self.bytes.len()),
            0x31 => self.prefixed(),
            0xaf => self.varints(4),
            _ => None,
        }
    }

    fn prefixed(&mut self) -> Option<()> {
        let length = self.varint()?;
        self.skip(usize::try_from(length).ok()?)
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
