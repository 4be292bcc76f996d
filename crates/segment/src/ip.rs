//! The IP header around a TCP segment: IPv4 (RFC 791) and the fixed header of IPv6 (RFC 8200 section 3).
//! DSCP per RFC 2474, ECN per RFC 3168. Fragments and IPv6 extension headers are refused.

use crate::Ecn;
use crate::checksum::Checksum;
use crate::error::{DecodeError, EncodeError, Field};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IP protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// Bytes of the fixed IPv6 header (RFC 8200).
pub const IPV6_HEADER: u32 = 40;

const IPV4_MIN: usize = crate::IPV4_HEADER as usize;
const IPV6_FIXED: usize = IPV6_HEADER as usize;

const RESERVED_FRAGMENT_BIT: u16 = 0x8000;
const DONT_FRAGMENT: u16 = 0x4000;

/// What Longhaul keeps of an IP header. Lengths, protocol and checksum follow from what is inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Source; of the same IP version as `dst`.
    pub src: IpAddr,
    /// Destination; it selects the IP version.
    pub dst: IpAddr,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// IPv4 identification; 0 in IPv6, which has none in its fixed header.
    pub id: u16,
    /// IPv6 flow label, 0 to 0xfffff; 0 in IPv4, which has none.
    pub flow_label: u32,
    /// Time to live, or IPv6 hop limit.
    pub ttl: u8,
    /// Routers must not fragment: the DF bit of IPv4, always true in IPv6.
    pub dont_fragment: bool,
}

/// An IP packet taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// Its header.
    pub header: Header,
    /// IPv4 protocol or IPv6 next header.
    pub protocol: u8,
    /// Bytes of IP header with options: 20 to 60, or 40.
    pub header_len: usize,
    /// What is inside, without anything that follows the IP packet (Ethernet's padding).
    pub payload: &'a [u8],
    /// There are IPv4 options, or the reserved bit is set: [`Header`] does not contain all.
    pub unread: bool,
}

impl Header {
    /// A header with TTL 64 and DF set, as hosts send TCP.
    pub const fn new(src: IpAddr, dst: IpAddr) -> Self {
        Header { src, dst, dscp: 0, ecn: Ecn::NotEct, id: 0, flow_label: 0, ttl: 64, dont_fragment: true }
    }

    /// Bytes that [`Header::encode`] writes: 20 for IPv4, 40 for IPv6.
    pub const fn wire_len(&self) -> u32 {
        match self.dst {
            IpAddr::V4(_) => crate::IPV4_HEADER,
            IpAddr::V6(_) => IPV6_HEADER,
        }
    }

    /// Appends the header of a packet that carries `payload_len` bytes of `protocol`.
    /// A field that the IP version does not have is not written. On an error `out` is unchanged.
    ///
    /// # Errors
    /// Addresses of two versions, a DSCP over 63, a flow label over 20 bits, an IP length over 65,535.
    pub fn encode(&self, protocol: u8, payload_len: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        at_most("DSCP", u32::from(self.dscp), 0x3f)?;
        let traffic_class = self.dscp << 2 | self.ecn as u8;
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                at_most("IPv4 total length", payload_len.saturating_add(crate::IPV4_HEADER), 0xffff)?;
                let total_len = payload_len as u16 + crate::IPV4_HEADER as u16;
                let start = out.len();
                out.extend_from_slice(&[0x45, traffic_class]);
                out.extend_from_slice(&total_len.to_be_bytes());
                out.extend_from_slice(&self.id.to_be_bytes());
                out.extend_from_slice(&if self.dont_fragment { DONT_FRAGMENT } else { 0 }.to_be_bytes());
                out.extend_from_slice(&[self.ttl, protocol, 0, 0]);
                out.extend_from_slice(&src.octets());
                out.extend_from_slice(&dst.octets());
                let mut checksum = Checksum::new();
                checksum.add(&out[start..]);
                out[start + 10..start + 12].copy_from_slice(&checksum.finish().to_be_bytes());
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                at_most("IPv6 flow label", self.flow_label, 0xf_ffff)?;
                at_most("IPv6 payload length", payload_len, 0xffff)?;
                let first = 6 << 28 | u32::from(traffic_class) << 20 | self.flow_label;
                out.extend_from_slice(&first.to_be_bytes());
                out.extend_from_slice(&(payload_len as u16).to_be_bytes());
                out.extend_from_slice(&[protocol, self.ttl]);
                out.extend_from_slice(&src.octets());
                out.extend_from_slice(&dst.octets());
            }
            _ => return Err(EncodeError::MixedVersions),
        }
        Ok(())
    }
}

/// Takes an IP packet apart, whatever it carries. Bytes after its end are ignored.
///
/// # Errors
/// An unknown version, lengths that contradict each other or the bytes at hand, a wrong IPv4 header checksum, a
/// fragment, an IPv6 extension header.
pub fn decode(packet: &[u8]) -> Result<Datagram<'_>, DecodeError> {
    let Some(first) = packet.first() else {
        return Err(truncated(Field::IpHeader, 0, 1, 0));
    };
    match first >> 4 {
        4 => decode_v4(packet),
        6 => decode_v6(packet),
        version => Err(DecodeError::Invalid { field: Field::Version, offset: 0, value: u32::from(version) }),
    }
}

fn decode_v4(packet: &[u8]) -> Result<Datagram<'_>, DecodeError> {
    let Some(fixed) = packet.first_chunk::<IPV4_MIN>() else {
        return Err(truncated(Field::IpHeader, 0, IPV4_MIN, packet.len()));
    };
    let ihl = fixed[0] & 0x0f;
    let header_len = usize::from(ihl) * 4;
    if header_len < IPV4_MIN {
        return Err(DecodeError::Invalid { field: Field::Ihl, offset: 0, value: u32::from(ihl) });
    }
    let total_len = usize::from(u16_at(fixed, 2));
    if total_len < header_len {
        return Err(DecodeError::Invalid { field: Field::Length, offset: 2, value: total_len as u32 });
    }
    let Some(payload) = packet.get(header_len..total_len) else {
        return Err(truncated(Field::Length, 2, total_len, packet.len()));
    };
    let mut checksum = Checksum::new();
    checksum.add(&packet[..header_len]);
    if !checksum.is_intact() {
        let value = u32::from(u16_at(fixed, 10));
        return Err(DecodeError::Invalid { field: Field::HeaderChecksum, offset: 10, value });
    }
    let fragment = u16_at(fixed, 6);
    if fragment & !(RESERVED_FRAGMENT_BIT | DONT_FRAGMENT) != 0 {
        return Err(DecodeError::Invalid { field: Field::Fragment, offset: 6, value: u32::from(fragment) });
    }
    let header = Header {
        src: IpAddr::V4(Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15])),
        dst: IpAddr::V4(Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19])),
        dscp: fixed[1] >> 2,
        ecn: Ecn::from_bits(fixed[1]),
        id: u16_at(fixed, 4),
        flow_label: 0,
        ttl: fixed[8],
        dont_fragment: fragment & DONT_FRAGMENT != 0,
    };
    let unread = header_len > IPV4_MIN || fragment & RESERVED_FRAGMENT_BIT != 0;
    Ok(Datagram { header, protocol: fixed[9], header_len, payload, unread })
}

fn decode_v6(packet: &[u8]) -> Result<Datagram<'_>, DecodeError> {
    let Some(fixed) = packet.first_chunk::<IPV6_FIXED>() else {
        return Err(truncated(Field::IpHeader, 0, IPV6_FIXED, packet.len()));
    };
    let protocol = fixed[6];
    if is_extension_header(protocol) {
        let value = u32::from(protocol);
        return Err(DecodeError::Invalid { field: Field::ExtensionHeader, offset: 6, value });
    }
    // A length of 0 with something to follow announces a jumbogram (RFC 2675), which needs an extension header;
    // here it is simply an empty packet.
    let end = IPV6_FIXED + usize::from(u16_at(fixed, 4));
    let Some(payload) = packet.get(IPV6_FIXED..end) else {
        return Err(truncated(Field::Length, 4, end, packet.len()));
    };
    let first = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
    let traffic_class = (first >> 20) as u8;
    let header = Header {
        src: v6_at(fixed, 8),
        dst: v6_at(fixed, 24),
        dscp: traffic_class >> 2,
        ecn: Ecn::from_bits(traffic_class),
        id: 0,
        flow_label: first & 0xf_ffff,
        ttl: fixed[7],
        dont_fragment: true,
    };
    Ok(Datagram { header, protocol, header_len: IPV6_FIXED, payload, unread: false })
}

/// The byte with DSCP and ECN field of a packet that begins with its IP header, whole or not; `None` for anything else.
pub fn traffic_class(packet: &[u8]) -> Option<u8> {
    match packet {
        [first, second, ..] if first >> 4 == 4 => Some(*second),
        // The traffic class lies across the first two bytes (RFC 8200 section 3).
        [first, second, ..] if first >> 4 == 6 => Some(first << 4 | second >> 4),
        _ => None,
    }
}

/// IANA's registry of IPv6 extension header types, as RFC 7045 set it up.
const fn is_extension_header(protocol: u8) -> bool {
    matches!(protocol, 0 | 43 | 44 | 50 | 51 | 60 | 135 | 139 | 140 | 253 | 254)
}

fn u16_at<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn v6_at(fixed: &[u8; IPV6_FIXED], at: usize) -> IpAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&fixed[at..at + 16]);
    IpAddr::V6(Ipv6Addr::from(octets))
}

pub(crate) const fn truncated(field: Field, offset: usize, needed: usize, available: usize) -> DecodeError {
    DecodeError::Truncated { field, offset, needed, available }
}

pub(crate) const fn at_most(field: &'static str, value: u32, max: u32) -> Result<(), EncodeError> {
    if value > max { Err(EncodeError::TooLarge { field, value, max }) } else { Ok(()) }
}
