//! What routers send by themselves: reports of packets that they drop (ICMP: RFC 792, RFC 1812 section 4.3; ICMPv6: RFC 4443), and
//! answers to echo requests.

use longhaul_segment::checksum::Checksum;
use longhaul_segment::ip;
use std::net::IpAddr;

/// Protocol numbers.
pub(crate) const ICMP: u8 = 1;
pub(crate) const ICMPV6: u8 = 58;
/// Types of echo requests and replies.
const ECHO: (u8, u8) = (8, 0);
const ECHO_V6: (u8, u8) = (128, 129);
/// Types of ICMP that are reports: none is sent of a report. In ICMPv6 all below 128 are.
const REPORTS: [u8; 5] = [3, 4, 5, 11, 12];
/// Bytes of an ICMP header.
const HEADER: usize = 8;
/// The longest reports: RFC 1812 section 4.3.2.3; the smallest MTU of IPv6 (RFC 4443 section 2.4 c).
const LONGEST: usize = 576;
const LONGEST_V6: usize = 1280;
/// Internetwork control (RFC 1812 section 4.3.2.5, RFC 2474 section 4.2.2).
const DSCP: u8 = 48;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report {
    /// Its TTL has come to 0.
    TimeExceeded,
    /// There is no route to its destination.
    NoRoute,
    /// It is for the router itself, where nobody listens.
    NoPort,
    /// It is longer than the next link carries: so many bytes. Where nobody is told, it is a black hole.
    TooBig {
        /// The MTU of the link.
        mtu: u16,
        /// The sender is told; else it is dropped without a word.
        told: bool,
    },
}

impl Report {
    /// Type and code.
    fn code(self, v6: bool) -> [u8; 2] {
        match (self, v6) {
            (Report::TimeExceeded, false) => [11, 0],
            (Report::TimeExceeded, true) => [3, 0],
            (Report::NoRoute, false) => [3, 0],
            (Report::NoRoute, true) => [1, 0],
            (Report::NoPort, false) => [3, 3],
            (Report::NoPort, true) => [1, 4],
            (Report::TooBig { .. }, false) => [3, 4],
            (Report::TooBig { .. }, true) => [2, 0],
        }
    }

    /// What follows the checksum: the MTU of the next link, 16 bits of it in IPv4 (RFC 1191 section 4) and 32 in IPv6 (RFC 4443 section
    /// 3.2).
    fn rest(self) -> [u8; 4] {
        match self {
            Report::TooBig { mtu, .. } => u32::from(mtu).to_be_bytes(),
            _ => [0; 4],
        }
    }

    /// The report of a packet to its sender, from the router at this address. `None` if none is sent (RFC 1122 section 3.2.2, RFC 4443
    /// section 2.4 e): of reports, of what is for many or from nobody, of fragments but the first.
    pub fn of(self, packet: &[u8], from: IpAddr) -> Option<Vec<u8>> {
        if let Report::TooBig { told: false, .. } = self {
            return None;
        }
        let head = Head::of(packet)?;
        let one = |address: IpAddr| !is_for_many(address) && !address.is_unspecified();
        if !one(head.src) || !one(head.dst) || head.is_report || from.is_ipv4() != head.src.is_ipv4() {
            return None;
        }
        let v6 = head.src.is_ipv6();
        let header = ip::Header { dscp: DSCP, dont_fragment: v6, ..ip::Header::new(from, head.src) };
        let longest = if v6 { LONGEST_V6 } else { LONGEST } - header.wire_len() as usize - HEADER;
        let [kind, code] = self.code(v6);
        let quoted = &packet[..packet.len().min(longest)];
        message(&header, &[&[kind, code, 0, 0], &self.rest()[..], quoted].concat())
    }
}

/// True for addresses of groups, and IPv4's broadcast.
pub fn is_for_many(address: IpAddr) -> bool {
    address.is_multicast() || matches!(address, IpAddr::V4(v4) if v4.is_broadcast())
}

/// The reply to an echo request; `None` to anything else.
pub fn echo_reply(packet: &[u8]) -> Option<Vec<u8>> {
    let request = ip::decode(packet).ok()?;
    let (protocol, (asks, answers)) =
        if request.header.src.is_ipv4() { (ICMP, ECHO) } else { (ICMPV6, ECHO_V6) };
    if request.protocol != protocol || request.payload.len() < HEADER || request.payload[0] != asks {
        return None;
    }
    let header = ip::Header::new(request.header.dst, request.header.src);
    let mut reply = request.payload.to_vec();
    reply[..4].copy_from_slice(&[answers, 0, 0, 0]);
    message(&header, &reply)
}

/// A packet with this message, whose checksum is zero.
fn message(header: &ip::Header, message: &[u8]) -> Option<Vec<u8>> {
    let v6 = header.src.is_ipv6();
    let protocol = if v6 { ICMPV6 } else { ICMP };
    let len = u32::try_from(message.len()).ok()?;
    let mut bytes = vec![];
    header.encode(protocol, len, &mut bytes).ok()?;
    let start = bytes.len();
    bytes.extend_from_slice(message);
    let mut sum = Checksum::new();
    if v6 {
        sum.add_pseudo_header(header.src, header.dst, protocol, len);
    }
    sum.add(message);
    bytes[start + 2..start + 4].copy_from_slice(&sum.finish().to_be_bytes());
    Some(bytes)
}

/// What decides whether a report of a packet is sent.
struct Head {
    src: IpAddr,
    dst: IpAddr,
    is_report: bool,
}

impl Head {
    /// `None` for what is no packet, or a fragment but the first.
    fn of(packet: &[u8]) -> Option<Head> {
        let shape = crate::frame::Shape::of(packet)?;
        let (begin, is_first) = match packet.first()? >> 4 {
            4 => {
                (usize::from(packet[0] & 0x0f) * 4, u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff == 0)
            }
            _ => (40, true),
        };
        let kind = packet.get(begin).copied();
        let is_report = match shape.protocol {
            ICMP => kind.is_none_or(|kind| REPORTS.contains(&kind)),
            ICMPV6 => kind.is_none_or(|kind| kind < ECHO_V6.0),
            _ => false,
        };
        is_first.then_some(Head { src: shape.src, dst: shape.dst, is_report })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(src: &str, dst: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let header = ip::Header { ttl: 1, ..ip::Header::new(src.parse().unwrap(), dst.parse().unwrap()) };
        let mut bytes = vec![];
        header.encode(protocol, payload.len() as u32, &mut bytes).unwrap();
        bytes.extend_from_slice(payload);
        bytes
    }

    fn is_intact(message: &[u8]) -> bool {
        let datagram = ip::decode(message).unwrap();
        let mut sum = Checksum::new();
        if datagram.header.src.is_ipv6() {
            let len = datagram.payload.len() as u32;
            sum.add_pseudo_header(datagram.header.src, datagram.header.dst, ICMPV6, len);
        }
        sum.add(datagram.payload);
        sum.is_intact()
    }

    const V4: [&str; 3] = ["10.0.0.1", "192.0.2.7", "10.0.0.9"];
    const V6: [&str; 3] = ["fd00::1", "2001:db8::7", "fd00::9"];

    #[test]
    fn a_report_quotes_the_packet_to_its_sender() {
        for ([src, dst, router], report, code) in [
            (V4, Report::TimeExceeded, [11, 0]),
            (V4, Report::NoRoute, [3, 0]),
            (V4, Report::NoPort, [3, 3]),
            (V6, Report::TimeExceeded, [3, 0]),
            (V6, Report::NoRoute, [1, 0]),
            (V6, Report::NoPort, [1, 4]),
        ] {
            let dropped = packet(src, dst, 17, &[7; 100]);
            let sent = report.of(&dropped, router.parse().unwrap()).unwrap();
            assert!(is_intact(&sent));
            let datagram = ip::decode(&sent).unwrap();
            let ends = (datagram.header.src.to_string(), datagram.header.dst.to_string());
            assert_eq!(ends, (router.to_string(), src.to_string()));
            assert_eq!((&datagram.payload[..2], &datagram.payload[8..]), (&code[..], &dropped[..]));
        }
    }

    #[test]
    fn the_mtu_of_the_next_link_is_in_the_report_and_nothing_in_a_black_hole() {
        for ([src, dst, router], mtu) in [(V4, 6..8), (V6, 4..8)] {
            let long = packet(src, dst, 17, &[7; 1450]);
            let report = Report::TooBig { mtu: 1400, told: true };
            let sent = report.of(&long, router.parse().unwrap()).unwrap();
            assert!(is_intact(&sent));
            let datagram = ip::decode(&sent).unwrap();
            assert_eq!(datagram.payload[mtu].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)), 1400);
            assert_eq!(Report::TooBig { mtu: 1400, told: false }.of(&long, router.parse().unwrap()), None);
        }
    }

    #[test]
    fn reports_of_long_packets_are_short() {
        for ([src, dst, router], longest) in [(V4, 576), (V6, 1280)] {
            let dropped = packet(src, dst, 17, &[7; 1400]);
            assert_eq!(Report::NoRoute.of(&dropped, router.parse().unwrap()).unwrap().len(), longest);
        }
    }

    #[test]
    fn some_packets_are_dropped_without_a_report() {
        let none = |packet: &[u8], router: &str| {
            assert_eq!(Report::NoRoute.of(packet, router.parse().unwrap()), None);
        };
        let [src, dst, router] = V4;
        none(&packet(src, "224.0.0.251", 17, &[0; 8]), router);
        none(&packet(src, "255.255.255.255", 17, &[0; 8]), router);
        none(&packet("0.0.0.0", dst, 17, &[0; 8]), router);
        none(&packet(src, dst, ICMP, &[3, 0, 0, 0, 0, 0, 0, 0]), router);
        none(&packet(src, dst, ICMP, &[]), router);
        let mut fragment = packet(src, dst, 17, &[0; 8]);
        fragment[7] = 9;
        none(&fragment, router);
        let [src, dst, router] = V6;
        none(&packet(src, "ff02::1", 17, &[0; 8]), router);
        none(&packet(src, dst, ICMPV6, &[1, 0, 0, 0, 0, 0, 0, 0]), router);
        assert!(
            Report::NoRoute
                .of(&packet(src, dst, ICMPV6, &[128, 0, 0, 0, 0, 0, 0, 0]), router.parse().unwrap())
                .is_some()
        );
        for len in 0..60 {
            let _ = Report::NoRoute.of(&fragment[..len.min(fragment.len())], router.parse().unwrap());
        }
    }

    #[test]
    fn a_router_answers_pings() {
        for ([src, _, router], protocol, (asks, answers)) in [(V4, ICMP, ECHO), (V6, ICMPV6, ECHO_V6)] {
            let reply =
                echo_reply(&packet(src, router, protocol, &[asks, 0, 1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
            assert!(is_intact(&reply));
            let datagram = ip::decode(&reply).unwrap();
            assert_eq!((datagram.payload[0], &datagram.payload[4..]), (answers, &[3, 4, 5, 6, 7, 8][..]));
            assert_eq!((datagram.header.dst.to_string(), datagram.header.ttl), (src.to_string(), 64));
            assert_eq!(echo_reply(&packet(src, router, protocol, &[answers, 0, 1, 2, 3, 4, 5, 6])), None);
            assert_eq!(echo_reply(&packet(src, router, protocol, &[asks, 0])), None);
            assert_eq!(echo_reply(&packet(src, router, 17, &[asks, 0, 0, 0, 0, 0, 0, 0])), None);
        }
    }
}
