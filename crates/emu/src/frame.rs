//! A real packet on its way: its bytes, and the little that links and routing need of them. Headers: RFC 791 (IPv4),
//! RFC 8200 (IPv6), ECN as in RFC 3168 section 5.

use crate::icmp::{self, Report};
use longhaul_middlebox::Direction;
use longhaul_segment::{Ecn, Segment, checksum, ip};
use longhaul_units::{ConnectionId, Dscp, FlowId};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// IP protocol number of UDP.
pub(crate) const PROTOCOL_UDP: u8 = 17;
/// Offsets in headers: TTL of IPv4, hop limit of IPv6.
const TTL: usize = 8;
const HOP_LIMIT: usize = 7;
pub use longhaul_segment::ip::PROTOCOL_TCP;

/// The fields of an IP packet that a router reads, and a few more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// IPv4 protocol or IPv6 next header.
    pub protocol: u8,
    /// Source and destination port, where it is TCP or UDP, not a fragment, and long enough.
    pub ports: Option<(u16, u16)>,
    /// TCP or UDP payload in bytes: 0 for everything else.
    pub payload: u32,
    /// TCP flags: 0 for everything else.
    pub tcp_flags: u8,
}

impl Shape {
    /// What is no IP packet.
    pub const UNKNOWN: Shape = Shape {
        src: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        dst: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        protocol: 0,
        ports: None,
        payload: 0,
        tcp_flags: 0,
    };

    /// Looks at a packet; `None` if it has not even the addresses of an IPv4 or IPv6 packet.
    pub fn of(packet: &[u8]) -> Option<Shape> {
        match packet.first()? >> 4 {
            4 => Shape::of_v4(packet),
            6 => Shape::of_v6(packet),
            _ => None,
        }
    }

    fn of_v4(packet: &[u8]) -> Option<Shape> {
        let fixed = packet.first_chunk::<20>()?;
        let address =
            |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]).into();
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        let total_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
        let inside = packet.get(header_len..total_len).filter(|_| header_len >= 20 && !fragment);
        Some(Shape::with_transport(address(12), address(16), fixed[9], inside))
    }

    fn of_v6(packet: &[u8]) -> Option<Shape> {
        let fixed = packet.first_chunk::<40>()?;
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&fixed[at..at + 16]);
            Ipv6Addr::from(octets).into()
        };
        let end = 40 + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        Some(Shape::with_transport(address(8), address(24), fixed[6], packet.get(40..end)))
    }

    fn with_transport(src: IpAddr, dst: IpAddr, protocol: u8, inside: Option<&[u8]>) -> Shape {
        let mut shape = Shape { src, dst, protocol, ports: None, payload: 0, tcp_flags: 0 };
        let Some(inside) = inside else { return shape };
        let least = match protocol {
            PROTOCOL_TCP => 20,
            PROTOCOL_UDP => 8,
            _ => return shape,
        };
        if inside.len() < least {
            return shape;
        }
        shape.ports =
            Some((u16::from_be_bytes([inside[0], inside[1]]), u16::from_be_bytes([inside[2], inside[3]])));
        if protocol == PROTOCOL_TCP {
            let header_len = usize::from(inside[12] >> 4) * 4;
            shape.payload = inside.len().saturating_sub(header_len.max(20)) as u32;
            shape.tcp_flags = inside[13];
        } else {
            shape.payload = (inside.len() - least) as u32;
        }
        shape
    }

    /// What is behind the IP header of its packet.
    pub(crate) fn inside<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        let begin = if self.dst.is_ipv4() { usize::from(packet[0] & 0x0f) * 4 } else { 40 };
        packet.get(begin..).unwrap_or_default()
    }

    /// A number for the flow in this direction, by addresses, protocol and ports.
    pub fn flow_hash(&self) -> u64 {
        let (src, dst) = self.ports.unwrap_or_default();
        let mut hash = [self.src, self.dst].into_iter().fold(Fnv::default(), Fnv::address);
        for bytes in [&[self.protocol][..], &src.to_be_bytes(), &dst.to_be_bytes()] {
            hash = hash.bytes(bytes);
        }
        hash.0
    }
}

/// FNV-1a.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn bytes(self, bytes: &[u8]) -> Self {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Fnv(bytes.iter().fold(self.0, mix))
    }
    fn address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.bytes(&address.octets()),
            IpAddr::V6(address) => self.bytes(&address.octets()),
        }
    }
}

/// A number for a host.
fn host_hash(address: IpAddr) -> u64 {
    Fnv::default().address(address).0
}

/// Bytes of an IP packet by its length field, at most those at hand: on Ethernet short packets are padded.
pub fn without_padding(packet: &[u8]) -> usize {
    let stated = match packet {
        [first, _, high, low, ..] if first >> 4 == 4 => usize::from(u16::from_be_bytes([*high, *low])),
        [first, _, _, _, high, low, ..] if first >> 4 == 6 => {
            40 + usize::from(u16::from_be_bytes([*high, *low]))
        }
        _ => packet.len(),
    };
    // A length that cannot be is left to whoever reads it.
    if stated < 20 { packet.len() } else { stated.min(packet.len()) }
}

/// Computes the checksum of a TCP or UDP packet anew (RFC 9293 section 3.1, RFC 768), where it was left to a device. False if it is
/// neither, or not whole: it stays as it is.
pub fn complete_checksum(packet: &mut [u8]) -> bool {
    let len = without_padding(packet);
    let Some(Shape { src, dst, protocol, ports: Some(_), .. }) = Shape::of(&packet[..len]) else {
        return false;
    };
    let header_len = if packet[0] >> 4 == 4 { usize::from(packet[0] & 0x0f) * 4 } else { 40 };
    let transport = &mut packet[header_len..len];
    let at = if protocol == PROTOCOL_TCP { 16 } else { 6 };
    transport[at..at + 2].fill(0);
    let mut checksum = checksum::Checksum::new();
    checksum.add_pseudo_header(src, dst, protocol, transport.len() as u32);
    checksum.add(transport);
    // In UDP zero would mean that there is none.
    let sum = match checksum.finish() {
        0 if protocol == PROTOCOL_UDP => 0xffff,
        sum => sum,
    };
    transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Flips a bit behind the IP header, chosen by `draw`, so that the checksum there does not fit any more. False if there is none that
/// a checksum covers: what is neither TCP, UDP nor ICMP, or UDP without a checksum stays as it is.
pub fn flip(packet: &mut [u8], draw: u64) -> bool {
    let len = without_padding(packet);
    let Some(shape) = Shape::of(&packet[..len]) else { return false };
    let header_len = if packet[0] >> 4 == 4 { usize::from(packet[0] & 0x0f) * 4 } else { 40 };
    let first = match shape.protocol {
        // A UDP header may have no checksum, and its length field stands for itself: they stay as they are.
        PROTOCOL_UDP if packet.get(header_len + 6..header_len + 8).is_none_or(|sum| sum == [0, 0]) => {
            return false;
        }
        PROTOCOL_UDP => header_len + 8,
        PROTOCOL_TCP | icmp::ICMP | icmp::ICMPV6 => header_len,
        _ => return false,
    };
    let Some(covered) = packet.get_mut(first..len).filter(|covered| !covered.is_empty()) else {
        return false;
    };
    let bit = draw % (covered.len() as u64 * 8);
    covered[(bit / 8) as usize] ^= 1 << (bit % 8);
    true
}

/// The ECN field of an IP packet.
pub fn ecn(packet: &[u8]) -> Ecn {
    ip::traffic_class(packet).map_or(Ecn::NotEct, Ecn::from_bits)
}

/// Changes the ECN field of an IP packet, and with it the IPv4 header's checksum (RFC 1624).
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    match packet {
        [first, second, ..] if *first >> 4 == 6 => *second = *second & 0xcf | (ecn as u8) << 4,
        header if header.len() >= 20 => {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] = header[1] & 0xfc | ecn as u8;
            let new = u16::from_be_bytes([header[0], header[1]]);
            let sum = checksum::update(u16::from_be_bytes([header[10], header[11]]), old, new);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        _ => {}
    }
}

/// The TTL of a packet, or hop limit.
pub fn ttl(packet: &[u8]) -> Option<u8> {
    let at = match packet.first()? >> 4 {
        4 => TTL,
        6 => HOP_LIMIT,
        _ => return None,
    };
    packet.get(at).copied()
}

/// Counts down the TTL as a router does (RFC 1812 section 5.3.1, RFC 8200 section 3), and updates the checksum of an IPv4 header. Not
/// below 1: whose TTL would come to 0 goes no further, which is known before it sets out.
pub fn count_down(packet: &mut [u8]) {
    if ttl(packet).is_none_or(|ttl| ttl < 2) {
        return;
    }
    if packet[0] >> 4 == 6 {
        packet[HOP_LIMIT] -= 1;
    } else if packet.len() >= 20 {
        let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let old = word(packet, TTL);
        packet[TTL] -= 1;
        let sum = checksum::update(word(packet, 10), old, word(packet, TTL));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Cuts an IPv4 packet into fragments of at most `mtu` bytes (RFC 791 section 3.2). `None` if its sender forbids that, or it is none, or
/// no data would fit.
pub fn fragments(packet: &[u8], mtu: u16) -> Option<Vec<Vec<u8>>> {
    let fixed = packet.first_chunk::<20>().filter(|fixed| fixed[0] >> 4 == 4)?;
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    let field = u16::from_be_bytes([fixed[6], fixed[7]]);
    if field & DONT_FRAGMENT != 0 || header_len < 20 {
        return None;
    }
    let (header, data) = packet[..without_padding(packet)].split_at_checked(header_len)?;
    let later = [&fixed[..], &copied_options(&header[20..])].concat();
    let (mut fragments, mut done) = (vec![], 0);
    while done < data.len() {
        let header = if done == 0 { header } else { &later[..] };
        // All but the last have a multiple of eight bytes.
        let room = usize::from(mtu).checked_sub(header.len())? & !7;
        let part = &data[done..data.len().min(done + room)];
        if part.is_empty() {
            return None;
        }
        let more = done + part.len() < data.len() || field & MORE_FRAGMENTS != 0;
        let offset = (field & 0x1fff) + (done / 8) as u16;
        let mut fragment = [header, part].concat();
        fragment[0] = 0x40 | (header.len() / 4) as u8;
        let len = fragment.len() as u16;
        fragment[2..4].copy_from_slice(&len.to_be_bytes());
        let flags = offset | if more { MORE_FRAGMENTS } else { 0 };
        fragment[6..8].copy_from_slice(&flags.to_be_bytes());
        fragment[10..12].fill(0);
        let mut sum = checksum::Checksum::new();
        sum.add(&fragment[..header.len()]);
        let sum = sum.finish();
        fragment[10..12].copy_from_slice(&sum.to_be_bytes());
        done += part.len();
        fragments.push(fragment);
    }
    Some(fragments).filter(|fragments| !fragments.is_empty())
}

/// Flags beside the offset of a fragment.
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

/// The options that each fragment has, filled up to whole words: those with the highest bit of their kind set.
fn copied_options(mut options: &[u8]) -> Vec<u8> {
    let mut copied = vec![];
    while let [kind, rest @ ..] = options {
        let len = match (kind, rest) {
            (0, _) => break,
            (1, _) => 1,
            (_, [len, ..]) => usize::from(*len).max(2),
            _ => break,
        };
        let (option, behind) = options.split_at(len.min(options.len()));
        if kind & 0x80 != 0 {
            copied.extend_from_slice(option);
        }
        options = behind;
    }
    copied.resize(copied.len().next_multiple_of(4), 0);
    copied
}

/// A packet in the world.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What precedes the IP packet on the wire (Ethernet's header on a bridge), and the packet.
    pub bytes: Vec<u8>,
    /// Where the IP packet begins.
    pub network: u16,
    /// Its way through the network.
    pub way: u32,
    /// The scenario's flow that it belongs to, or [`Frame::NO_FLOW`].
    pub flow: FlowId,
    /// It carries that flow's data, not its ACKs or requests.
    pub is_data: bool,
    /// Number of the flow in this direction, for queues that keep flows apart.
    pub hash: u64,
    /// The flow's share in queues that serve by weight.
    pub weight: u8,
    /// Where it is one of a middlebox to itself: what the middlebox has sent.
    pub own: Option<Arc<OwnPacket>>,
    /// A link has flipped a bit of it: its checksum is wrong.
    pub damaged: bool,
    /// It comes out of the link that it is on twice.
    pub twice: bool,
    /// It goes no further than to the end of its way, where a router drops it and reports this.
    pub dropped_there: Option<Report>,
}

/// A packet of a connection that a middlebox has between its two nodes.
#[derive(Clone, Debug)]
pub struct OwnPacket {
    /// Number of the connection.
    pub connection: ConnectionId,
    /// Which way it goes.
    pub direction: Direction,
    /// Its header.
    pub segment: Segment,
    /// Its payload, where the middlebox gives it.
    pub body: bytes::Bytes,
}

impl Frame {
    /// It belongs to no flow of the scenario.
    pub const NO_FLOW: FlowId = FlowId(u32::MAX);

    /// The IP packet.
    pub fn packet(&self) -> &[u8] {
        &self.bytes[usize::from(self.network)..]
    }
    /// The IP packet, to be changed.
    pub fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[usize::from(self.network)..]
    }
}

impl longhaul_path::Packet for Frame {
    #[inline]
    fn wire_len(&self) -> u32 {
        (self.bytes.len() - usize::from(self.network)) as u32
    }
    fn ecn(&self) -> Ecn {
        ecn(self.packet())
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        set_ecn(self.packet_mut(), ecn);
    }
    fn dscp(&self) -> Dscp {
        ip::traffic_class(self.packet()).map_or(Dscp::DEFAULT, Dscp::of_byte)
    }
    fn hosts(&self) -> [u64; 2] {
        Shape::of(self.packet()).map_or([0; 2], |shape| [shape.src, shape.dst].map(host_hash))
    }
    fn damage(&mut self, draw: u64) -> bool {
        self.damaged = self.damaged || flip(self.packet_mut(), draw);
        self.damaged
    }
    fn duplicate(&mut self) -> bool {
        self.twice = true;
        true
    }
    fn flow(&self) -> u64 {
        self.hash
    }
    fn weight(&self) -> u8 {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_segment::{Flags, Segment, ip, wire};

    fn tcp_packet(src: &str, dst: &str, payload: &[u8], ecn: Ecn) -> Vec<u8> {
        let ip = ip::Header { ecn, ..ip::Header::new(src.parse().unwrap(), dst.parse().unwrap()) };
        let segment = Segment {
            src_port: 40_000,
            dst_port: 80,
            flags: Flags::ACK,
            payload_len: payload.len() as u32,
            ..Segment::default()
        };
        let mut bytes = vec![];
        wire::encode(&ip, &segment, payload, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn ports_and_payload_of_both_versions() {
        for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let shape = Shape::of(&tcp_packet(src, dst, b"hello", Ecn::NotEct)).unwrap();
            assert_eq!(shape.src, src.parse::<IpAddr>().unwrap());
            assert_eq!(shape.dst, dst.parse::<IpAddr>().unwrap());
            assert_eq!((shape.ports, shape.payload), (Some((40_000, 80)), 5));
        }
    }

    #[test]
    fn a_fragment_has_no_ports() {
        let mut packet = tcp_packet("10.0.0.1", "10.0.0.2", b"hello", Ecn::NotEct);
        packet[6] = 0x20; // more fragments
        assert_eq!(Shape::of(&packet).unwrap().ports, None);
        packet[6..8].copy_from_slice(&[0, 1]); // offset 8 bytes
        assert_eq!(Shape::of(&packet).unwrap().ports, None);
    }

    /// A UDP packet with so many bytes behind its IP header, and these options.
    fn datagram(len: usize, options: &[u8]) -> Vec<u8> {
        let mut packet = tcp_packet("10.0.0.1", "10.0.0.2", b"", Ecn::NotEct)[..20].to_vec();
        packet.extend_from_slice(options);
        packet[0] = 0x40 | (packet.len() / 4) as u8;
        packet.extend((0..len).map(|byte| byte as u8));
        let total = packet.len() as u16;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[6..8].fill(0);
        (packet[9], packet[10], packet[11]) = (PROTOCOL_UDP, 0, 0);
        packet
    }

    /// What the fragments carry, put together, and whether all headers are intact.
    fn together(fragments: &[Vec<u8>]) -> Vec<u8> {
        let mut data = vec![];
        for (number, fragment) in fragments.iter().enumerate() {
            let header = usize::from(fragment[0] & 0x0f) * 4;
            let mut sum = checksum::Checksum::new();
            sum.add(&fragment[..header]);
            assert!(sum.is_intact());
            let field = u16::from_be_bytes([fragment[6], fragment[7]]);
            assert_eq!(usize::from(field & 0x1fff) * 8, data.len());
            assert_eq!(field & MORE_FRAGMENTS != 0, number + 1 < fragments.len());
            assert_eq!(usize::from(u16::from_be_bytes([fragment[2], fragment[3]])), fragment.len());
            data.extend_from_slice(&fragment[header..]);
        }
        data
    }

    #[test]
    fn fragments_are_short_and_make_the_packet_again() {
        // Record route is in the first fragment alone, a loose source route in all.
        let options = [7, 7, 4, 0, 0, 0, 0, 131, 3, 4, 0, 0];
        for (options, later) in [(&[][..], 20), (&options, 24)] {
            let whole = datagram(1480, options);
            let fragments = fragments(&whole, 620).unwrap();
            assert_eq!(fragments.iter().map(Vec::len).max(), Some(if later == 20 { 620 } else { 616 }));
            assert_eq!(fragments.len(), 3);
            assert_eq!(fragments[1][0] & 0x0f, later / 4);
            assert_eq!(together(&fragments), whole[20 + options.len()..]);
            // A fragment is cut again by a later link.
            let again = super::fragments(&fragments[0], 300).unwrap();
            let all: Vec<Vec<u8>> = again.into_iter().chain(fragments.into_iter().skip(1)).collect();
            assert_eq!(together(&all), whole[20 + options.len()..]);
        }
    }

    #[test]
    fn what_may_not_be_cut_is_not() {
        let mut whole = datagram(1480, &[]);
        assert_eq!(fragments(&whole, 27), None, "no room for eight bytes");
        whole[6] = 0x40;
        assert_eq!(fragments(&whole, 620), None);
        assert_eq!(fragments(&tcp_packet("fd00::1", "fd00::2", &[0; 900], Ecn::NotEct), 620), None);
        let whole = datagram(100, &[]);
        for len in 0..whole.len() {
            let _ = fragments(&whole[..len], 60);
        }
    }

    #[test]
    fn every_bit_that_may_flip_is_found_by_the_checksum() {
        for (src, dst, header) in [("10.0.0.1", "10.0.0.2", 20), ("fd00::1", "fd00::2", 40)] {
            let whole = tcp_packet(src, dst, b"hello", Ecn::NotEct);
            for draw in 0..25 * 8 {
                let mut wrong = whole.clone();
                assert!(flip(&mut wrong, draw));
                assert_eq!(wrong[..header], whole[..header]);
                assert!(wire::decode(&wrong).is_err(), "bit {draw}");
            }
        }
    }

    #[test]
    fn what_no_checksum_covers_is_spared() {
        let udp = |checksum: u16, payload: &[u8]| {
            let mut packet = tcp_packet("10.0.0.1", "10.0.0.2", b"", Ecn::NotEct)[..20].to_vec();
            packet[9] = PROTOCOL_UDP;
            packet[2..4].copy_from_slice(&(28 + payload.len() as u16).to_be_bytes());
            packet.extend_from_slice(&[0, 1, 0, 2, 0, 8 + payload.len() as u8]);
            packet.extend_from_slice(&checksum.to_be_bytes());
            packet.extend_from_slice(payload);
            packet
        };
        assert!(!flip(&mut udp(0, b"payload"), 7), "UDP without a checksum");
        assert!(!flip(&mut udp(9, b""), 7), "UDP without payload");
        for draw in 0..100 {
            let mut packet = udp(9, b"payload");
            assert!(flip(&mut packet, draw));
            assert_eq!(packet[..28], udp(9, b"payload")[..28]);
            assert_ne!(packet, udp(9, b"payload"));
        }
        for len in 0..28 {
            assert!(!flip(&mut udp(9, b"")[..len], 3), "{len} bytes");
        }
        assert!(!flip(&mut [0, 1, 8, 0, 6, 4], 3), "ARP has none");
    }

    #[test]
    fn a_checksum_that_was_left_open_is_completed() {
        for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let whole = tcp_packet(src, dst, b"hello", Ecn::NotEct);
            let at = whole.len() - 5 - 20 + 16;
            let mut open = whole.clone();
            // What a kernel leaves there is the sum of the pseudo header.
            open[at..at + 2].copy_from_slice(&[0x12, 0x34]);
            open.extend_from_slice(&[0; 3]);
            assert!(complete_checksum(&mut open));
            assert_eq!(open[..whole.len()], whole, "and padding is no part of it");
            for len in 0..whole.len() {
                let _ = complete_checksum(&mut open[..len]);
            }
        }
        assert!(!complete_checksum(&mut [0, 1, 8, 0, 6, 4]), "ARP has none");
    }

    #[test]
    fn ethernet_s_padding_is_no_part_of_a_packet() {
        for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let mut packet = tcp_packet(src, dst, b"", Ecn::NotEct);
            let len = packet.len();
            packet.extend_from_slice(&[0; 6]);
            assert_eq!(without_padding(&packet), len);
        }
        assert_eq!(without_padding(&[0, 1, 8, 0, 6, 4]), 6, "ARP has none that could be told");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = tcp_packet("10.0.0.1", "10.0.0.2", b"hello", Ecn::NotEct);
        for len in 0..whole.len() {
            for (at, value) in [(0, 0x4f), (0, 0x40), (0, 0x60), (2, 0xff), (3, 0), (32, 0xf0), (32, 0)] {
                let mut packet = whole[..len].to_vec();
                if let Some(byte) = packet.get_mut(at) {
                    *byte = value;
                }
                let _ = Shape::of(&packet).map(|shape| shape.flow_hash());
                set_ecn(&mut packet, Ecn::Ce);
            }
        }
    }

    #[test]
    fn a_router_counts_down_and_the_header_is_intact() {
        for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let mut packet = tcp_packet(src, dst, b"hello", Ecn::NotEct);
            for left in (1..64).rev() {
                count_down(&mut packet);
                assert_eq!(ttl(&packet), Some(left));
                assert_eq!(wire::decode(&packet).unwrap().ip.ttl, left, "the checksum is right");
            }
            count_down(&mut packet);
            assert_eq!(ttl(&packet), Some(1));
        }
        for nonsense in [&mut [][..], &mut [0x45; 9], &mut [0x60; 7], &mut [0x11; 40]] {
            count_down(nonsense);
        }
    }

    #[test]
    fn a_marked_packet_still_has_its_checksum() {
        for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let mut packet = tcp_packet(src, dst, b"hello", Ecn::Ect0);
            assert_eq!(ecn(&packet), Ecn::Ect0);
            set_ecn(&mut packet, Ecn::Ce);
            assert_eq!(wire::decode(&packet).unwrap().ip.ecn, Ecn::Ce);
        }
    }
}
