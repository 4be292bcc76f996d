//! A TCP/IP packet as bytes: header layout of RFC 9293 section 3.1, options of RFC 9293, 7323, 2018, 5690 and 9768.
//! Options are written in the order and with the padding that [`Options::wire_len`] counts on.

use crate::checksum::Checksum;
use crate::error::{DecodeError, EncodeError, Field};
use crate::ip::{self, PROTOCOL_TCP, at_most, truncated};
use crate::{EcnCounters, EcnOrder, Flags, Options, SackBlocks, Segment, SeqNumber, TCP_HEADER, Timestamps};
use std::num::NonZeroU8;

/// Most bytes that options can take: the data offset counts to 15 words (RFC 9293 section 3.1).
pub const MAX_OPTIONS: u32 = 40;
/// Largest shift count of the window scale option (RFC 7323 section 2.3).
pub const MAX_WINDOW_SCALE: u8 = 14;

const TCP_FIXED: usize = TCP_HEADER as usize;
/// The three reserved bits between data offset and flags.
const RESERVED_BITS: u16 = 0x0e00;

/// Option kinds (IANA's registry "TCP Option Kind Numbers").
mod kind {
    pub const END: u8 = 0;
    pub const NOP: u8 = 1;
    pub const MSS: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    pub const ACC_ECN_0: u8 = 172;
    pub const ACC_ECN_1: u8 = 174;
    pub const EXPERIMENT: u8 = 253;
}

/// RFC 5690 left the kinds of its two options to IANA, which gave none. They are written as an experiment of RFC 6994: kind 253
/// and an experiment identifier of two bytes, our own and not registered. `Permitted` is that alone; `ACK Ratio` has the ratio
/// behind it.
const ACK_CONGESTION_CONTROL: [u8; 2] = [0x56, 0x90];

/// A packet read by [`decode`].
///
/// `ip`, `segment` and `payload` hold every field and option that Longhaul models. What else a real packet may hold is
/// listed in [`Unread`]; it is in the bytes and not here. So a packet on its way through is best changed in place, with
/// [`crate::checksum::update`], and only packets that start here are made by [`encode`]. The order of options and the
/// padding between them are not kept either: [`Segment::header_len`] is the length that [`encode`] would write, `tcp_header_len`
/// what was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// IP header.
    pub ip: ip::Header,
    /// TCP header; its `payload_len` is `payload.len()`.
    pub segment: Segment,
    /// The bytes behind the TCP header.
    pub payload: &'a [u8],
    /// Bytes of IP header as read: where the TCP header starts.
    pub ip_header_len: usize,
    /// Bytes of TCP header as read.
    pub tcp_header_len: usize,
    /// What the fields above leave out.
    pub unread: Unread,
}

impl Packet<'_> {
    /// Bytes of the whole IP packet as read, 40 to 65,575; bytes beyond it in the input are not part of it.
    pub fn wire_len(&self) -> usize {
        self.ip_header_len + self.tcp_header_len + self.payload.len()
    }
}

/// What a packet holds and [`ip::Header`] and [`Segment`] do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unread {
    /// IPv4 options, or the reserved bit beside DF.
    pub ip: bool,
    /// The urgent pointer where URG is set (RFC 9293 section 3.1), or one that is not 0 where it is not.
    pub urgent_pointer: u16,
    /// TCP options of unknown kind, repeated options (the last counts), a window scale over 14 (read as 14, as RFC 7323
    /// section 2.3 demands), or bytes behind the end-of-options mark.
    pub tcp_options: bool,
    /// The three reserved bits of the TCP header are not all 0.
    pub reserved_bits: bool,
}

impl Unread {
    /// True if the packet's header fields contain all that its bytes do, but for order and padding of options.
    pub fn is_nothing(&self) -> bool {
        *self == Unread::default()
    }
}

/// Appends the packet to `out`. The length, protocol and checksum fields are computed. On an error `out` is unchanged.
///
/// # Errors
/// What [`EncodeError`] lists; among it options that need more than 40 bytes and URG, whose pointer a [`Segment`]
/// does not carry.
///
/// ```
/// use longhaul_segment::{Flags, Segment, ip, wire};
/// let ip = ip::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
/// let segment = Segment { src_port: 40_000, dst_port: 80, flags: Flags::ACK, payload_len: 2, ..Segment::default() };
/// let mut bytes = Vec::new();
/// wire::encode(&ip, &segment, b"hi", &mut bytes)?;
/// assert_eq!(bytes.len(), 42);
/// let packet = wire::decode(&bytes)?;
/// assert_eq!((packet.ip, packet.segment, packet.payload), (ip, segment, &b"hi"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(
    ip: &ip::Header,
    segment: &Segment,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if segment.payload_len as usize != payload.len() {
        return Err(EncodeError::PayloadLength { stated: segment.payload_len, given: payload.len() });
    }
    encode_packet(ip, segment, payload, out)
}

/// Appends only the headers of a packet whose payload is `segment.payload_len` bytes of zero: a simulated packet, for
/// a capture that keeps headers only. Lengths and checksum are those of the whole packet.
///
/// # Errors
/// As [`encode`].
pub fn encode_headers(ip: &ip::Header, segment: &Segment, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    // Zeros add nothing to a sum, so the checksum over no payload at all is right for them.
    encode_packet(ip, segment, &[], out)
}

fn encode_packet(
    ip: &ip::Header,
    segment: &Segment,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    check(segment)?;
    let tcp_len = segment.header_len().saturating_add(segment.payload_len);
    ip.encode(PROTOCOL_TCP, tcp_len, out)?;

    let start = out.len();
    put_tcp_header(segment, out);
    out.extend_from_slice(payload);
    let mut checksum = Checksum::new();
    checksum.add_pseudo_header(ip.src, ip.dst, ip::PROTOCOL_TCP, tcp_len);
    checksum.add(&out[start..]);
    out[start + 16..start + 18].copy_from_slice(&checksum.finish().to_be_bytes());
    Ok(())
}

fn check(segment: &Segment) -> Result<(), EncodeError> {
    at_most("TCP flags", u32::from(segment.flags.0), u32::from(Flags::ALL.0))?;
    if segment.flags.contains(Flags::URG) {
        return Err(EncodeError::Urgent);
    }
    let shift = segment.options.window_scale.unwrap_or(0);
    at_most("window scale", u32::from(shift), u32::from(MAX_WINDOW_SCALE))?;
    at_most("length of TCP options", segment.options.wire_len(), MAX_OPTIONS)
}

fn put_tcp_header(segment: &Segment, out: &mut Vec<u8>) {
    let words = (segment.header_len() / 4) as u16;
    out.extend_from_slice(&segment.src_port.to_be_bytes());
    out.extend_from_slice(&segment.dst_port.to_be_bytes());
    out.extend_from_slice(&segment.seq.0.to_be_bytes());
    out.extend_from_slice(&segment.ack.0.to_be_bytes());
    out.extend_from_slice(&(words << 12 | segment.flags.0).to_be_bytes());
    out.extend_from_slice(&segment.window.to_be_bytes());
    out.extend_from_slice(&[0; 4]); // checksum and urgent pointer
    put_options(&segment.options, out);
}

/// RFC 7323 appendix A and RFC 2018 recommend the padding: 32-bit values lie on word boundaries.
fn put_options(options: &Options, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[kind::MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    if options.sack_permitted || options.timestamps.is_some() {
        let sack_permitted = [kind::SACK_PERMITTED, 2];
        match (options.sack_permitted, options.timestamps) {
            (true, Some(_)) => out.extend_from_slice(&sack_permitted),
            (false, _) => out.extend_from_slice(&[kind::NOP; 2]),
            (true, None) => {
                out.extend_from_slice(&[kind::NOP; 2]);
                out.extend_from_slice(&sack_permitted);
            }
        }
    }
    if let Some(timestamps) = options.timestamps {
        out.extend_from_slice(&[kind::TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        out.extend_from_slice(&[kind::NOP, kind::WINDOW_SCALE, 3, shift]);
    }
    if !options.sack.is_empty() {
        out.extend_from_slice(&[kind::NOP, kind::NOP, kind::SACK, 2 + 8 * options.sack.len() as u8]);
        for (start, end) in options.sack.as_slice() {
            out.extend_from_slice(&start.0.to_be_bytes());
            out.extend_from_slice(&end.0.to_be_bytes());
        }
    }
    let [high, low] = ACK_CONGESTION_CONTROL;
    if options.ack_congestion_control_permitted {
        out.extend_from_slice(&[kind::EXPERIMENT, 4, high, low]);
    }
    if let Some(ratio) = options.ack_ratio {
        out.extend_from_slice(&[kind::NOP, kind::NOP, kind::NOP]);
        out.extend_from_slice(&[kind::EXPERIMENT, 5, high, low, ratio.get()]);
    }
    if let Some(counters) = &options.ecn_counters {
        let kind = match counters.order() {
            EcnOrder::Ect0First => kind::ACC_ECN_0,
            EcnOrder::Ect1First => kind::ACC_ECN_1,
        };
        let start = out.len();
        out.extend_from_slice(&[kind, 2 + 3 * counters.len() as u8]);
        for counter in counters.counters() {
            out.extend_from_slice(&counter.to_be_bytes()[1..]);
        }
        out.resize(start + EcnCounters::wire_len_of(counters.len()) as usize, kind::NOP);
    }
}

/// Reads an IPv4 or IPv6 packet that carries TCP, with both checksums verified. [`Packet`] lists what is kept.
///
/// A packet whose TCP checksum is still to be filled in by a network card (checksum offload) is refused as corrupt.
///
/// # Errors
/// What is wrong, where and with which value; see [`ip::decode`] too. An option with a length that is not its own
/// is an error; an option of unknown kind is skipped.
pub fn decode(packet: &[u8]) -> Result<Packet<'_>, DecodeError> {
    let datagram = ip::decode(packet)?;
    if datagram.protocol != PROTOCOL_TCP {
        let offset = if datagram.header.dst.is_ipv4() { 9 } else { 6 };
        let value = u32::from(datagram.protocol);
        return Err(DecodeError::Invalid { field: Field::Protocol, offset, value });
    }
    decode_tcp(&datagram).map_err(|error| error.shifted(datagram.header_len))
}

fn decode_tcp<'a>(datagram: &ip::Datagram<'a>) -> Result<Packet<'a>, DecodeError> {
    let (ip, bytes) = (datagram.header, datagram.payload);
    let Some((fixed, behind)) = bytes.split_first_chunk::<TCP_FIXED>() else {
        return Err(truncated(Field::TcpHeader, 0, TCP_FIXED, bytes.len()));
    };
    let u16_at = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let u32_at = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);

    let offset_and_flags = u16_at(12);
    let words = offset_and_flags >> 12;
    let header_len = usize::from(words) * 4;
    let bad_offset = DecodeError::Invalid { field: Field::DataOffset, offset: 12, value: u32::from(words) };
    let options_len = header_len.checked_sub(TCP_FIXED).ok_or(bad_offset)?;
    let (options, payload) = behind.split_at_checked(options_len).ok_or(bad_offset)?;

    let mut checksum = Checksum::new();
    checksum.add_pseudo_header(ip.src, ip.dst, ip::PROTOCOL_TCP, bytes.len() as u32);
    checksum.add(bytes);
    if !checksum.is_intact() {
        let value = u32::from(u16_at(16));
        return Err(DecodeError::Invalid { field: Field::TcpChecksum, offset: 16, value });
    }

    let (options, options_unread) = read_options(options).map_err(|error| error.shifted(TCP_FIXED))?;
    let segment = Segment {
        src_port: u16_at(0),
        dst_port: u16_at(2),
        seq: SeqNumber(u32_at(4)),
        ack: SeqNumber(u32_at(8)),
        window: u16_at(14),
        flags: Flags(offset_and_flags & Flags::ALL.0),
        payload_len: payload.len() as u32,
        options,
    };
    let unread = Unread {
        ip: datagram.unread,
        urgent_pointer: u16_at(18),
        tcp_options: options_unread,
        reserved_bits: offset_and_flags & RESERVED_BITS != 0,
    };
    let (ip_header_len, tcp_header_len) = (datagram.header_len, header_len);
    Ok(Packet { ip, segment, payload, ip_header_len, tcp_header_len, unread })
}

/// The options, and whether there was something that they do not hold. Offsets of errors count from the first option.
fn read_options(bytes: &[u8]) -> Result<(Options, bool), DecodeError> {
    let mut options = Options::default();
    let mut unread = false;
    let mut seen = 0u16; // a bit for each known kind, two for those of ACK congestion control, one for AccECN's two
    let mut at = 0;
    while let Some(&kind) = bytes.get(at) {
        if kind == kind::END {
            unread |= bytes[at..].iter().any(|byte| *byte != 0);
            break;
        }
        if kind == kind::NOP {
            at += 1;
            continue;
        }
        let value = option_value(bytes, at)?;
        let known = read_option(&mut options, kind, value).ok_or(DecodeError::Invalid {
            field: Field::OptionLength(kind),
            offset: at + 1,
            value: value.len() as u32 + 2,
        })?;
        unread |= known != Known::Whole;
        if known != Known::No {
            let bit = match kind {
                kind::EXPERIMENT => value.len() + 9,
                kind::ACC_ECN_0 | kind::ACC_ECN_1 => 15,
                _ => usize::from(kind),
            };
            unread |= seen & 1 << bit != 0;
            seen |= 1 << bit;
        }
        at += 2 + value.len();
    }
    Ok((options, unread))
}

/// What follows the kind and length bytes of the option at `at`.
fn option_value(bytes: &[u8], at: usize) -> Result<&[u8], DecodeError> {
    let field = Field::OptionLength(bytes[at]);
    let Some(&len) = bytes.get(at + 1) else {
        return Err(truncated(field, at + 1, at + 2, bytes.len()));
    };
    let invalid = DecodeError::Invalid { field, offset: at + 1, value: u32::from(len) };
    if len < 2 {
        return Err(invalid);
    }
    let end = at + usize::from(len);
    bytes.get(at + 2..end).ok_or(truncated(field, at + 1, end, bytes.len()))
}

/// How much of an option [`Options`] took in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    No,
    InPart,
    Whole,
}

/// Takes in one option; `None` if its length is not that of its kind.
fn read_option(options: &mut Options, kind: u8, value: &[u8]) -> Option<Known> {
    match kind {
        kind::MSS => options.mss = Some(u16::from_be_bytes(value.try_into().ok()?)),
        kind::WINDOW_SCALE => {
            let [shift]: [u8; 1] = value.try_into().ok()?;
            options.window_scale = Some(shift.min(MAX_WINDOW_SCALE));
            if shift > MAX_WINDOW_SCALE {
                return Some(Known::InPart);
            }
        }
        kind::SACK_PERMITTED => {
            if !value.is_empty() {
                return None;
            }
            options.sack_permitted = true;
        }
        kind::SACK => options.sack = read_sack(value)?,
        kind::TIMESTAMPS => {
            let (value, echo) = two_words(value.try_into().ok()?);
            options.timestamps = Some(Timestamps { value, echo });
        }
        kind::ACC_ECN_0 | kind::ACC_ECN_1 => {
            let order = if kind == kind::ACC_ECN_0 { EcnOrder::Ect0First } else { EcnOrder::Ect1First };
            let mut counters = [0; EcnCounters::MAX];
            // Of another length than expected, what is behind the last whole counter is ignored (RFC 9768 section 3.2.3).
            let whole = (value.len() / 3).min(EcnCounters::MAX);
            for (counter, field) in counters.iter_mut().zip(value.chunks_exact(3)) {
                *counter = u32::from_be_bytes([0, field[0], field[1], field[2]]);
            }
            options.ecn_counters = Some(EcnCounters::new(order, &counters[..whole]));
            if value.len() != 3 * whole {
                return Some(Known::InPart);
            }
        }
        // Other experiments have identifiers of their own, and lengths of their own.
        kind::EXPERIMENT => match value.strip_prefix(&ACK_CONGESTION_CONTROL) {
            Some([]) => options.ack_congestion_control_permitted = true,
            Some(&[ratio]) if ratio != 0 => options.ack_ratio = NonZeroU8::new(ratio),
            _ => return Some(Known::No),
        },
        _ => return Some(Known::No),
    }
    Some(Known::Whole)
}

fn read_sack(value: &[u8]) -> Option<SackBlocks> {
    let mut blocks = SackBlocks::default();
    if value.is_empty() {
        return None;
    }
    for block in value.chunks(8) {
        let (start, end) = two_words(block.try_into().ok()?);
        if !blocks.push(SeqNumber(start), SeqNumber(end)) {
            return None;
        }
    }
    Some(blocks)
}

fn two_words(bytes: [u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = bytes;
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}
