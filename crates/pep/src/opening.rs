//! The packet that opens a connection (SYN), taken apart, and the packets that answer it: pure.

use longhaul_segment::checksum::Checksum;
use std::net::{IpAddr, SocketAddr};

const TCP: u8 = 6;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
/// The longest packets with an ICMP error, in bytes (RFC 1812, section 4.3.2.3; RFC 4443, section 2.4 c).
const MOST_ICMP_V4: usize = 576;
const MOST_ICMP_V6: usize = 1280;
/// TCP's flags FIN, SYN, RST and ACK.
const FLAGS: u8 = 0x17;
const SYN: u8 = 0x02;
const RESET_AND_ACK: u8 = 0x14;
/// Hops that an answer may take.
const HOPS: u8 = 64;

/// Why a connection does not come about, for ICMP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// The server cannot be reached, or does not answer.
    Unreachable,
    /// Nobody may go there.
    Prohibited,
}

/// The opening of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    /// Who opens it.
    pub client: SocketAddr,
    /// Where to.
    pub server: SocketAddr,
    /// The second byte of an IPv4 header, the traffic class of IPv6.
    pub class: u8,
    /// TCP header, options and data.
    segment: Vec<u8>,
}

impl Opening {
    /// Reads a packet that begins with an IPv4 header.
    pub fn from_v4(packet: &[u8]) -> Option<Opening> {
        let header = packet.first_chunk::<V4_HEADER>()?;
        let (len, total) = (usize::from(header[0] & 15) * 4, u16::from_be_bytes([header[2], header[3]]));
        if header[0] >> 4 != 4 || header[9] != TCP || len < V4_HEADER {
            return None;
        }
        let address = |at: usize| IpAddr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        Opening::from_segment(address(12), address(16), header[1], packet.get(len..usize::from(total))?)
    }

    /// Reads a segment that begins with a TCP header.
    pub fn from_segment(client: IpAddr, server: IpAddr, class: u8, segment: &[u8]) -> Option<Opening> {
        let header = segment.first_chunk::<TCP_HEADER>()?;
        if header[13] & FLAGS != SYN || usize::from(header[12] >> 4) * 4 > segment.len() {
            return None;
        }
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        Some(Opening {
            client: SocketAddr::new(client, port(0)),
            server: SocketAddr::new(server, port(2)),
            class,
            segment: segment.to_vec(),
        })
    }

    /// The packet again, with its checksum computed: where it came from may have left that to a device.
    pub fn packet(&self) -> Vec<u8> {
        let mut segment = self.segment.clone();
        segment[16..18].fill(0);
        let sum = sum(self.client.ip(), self.server.ip(), TCP, &segment);
        segment[16..18].copy_from_slice(&sum);
        packet(self.client.ip(), self.server.ip(), TCP, self.class, &segment)
    }

    /// The server's refusal: a reset that acknowledges the opening (RFC 9293, section 3.5.2).
    pub fn reset(&self) -> Vec<u8> {
        let mut segment = [0; TCP_HEADER];
        segment[..2].copy_from_slice(&self.server.port().to_be_bytes());
        segment[2..4].copy_from_slice(&self.client.port().to_be_bytes());
        let header = usize::from(self.segment[12] >> 4) * 4;
        let data = self.segment.len().saturating_sub(header) as u32;
        let [a, b, c, d] = [4, 5, 6, 7].map(|at| self.segment[at]);
        let next = u32::from_be_bytes([a, b, c, d]).wrapping_add(1 + data);
        segment[8..12].copy_from_slice(&next.to_be_bytes());
        segment[12] = (TCP_HEADER as u8 / 4) << 4;
        segment[13] = RESET_AND_ACK;
        let sum = sum(self.server.ip(), self.client.ip(), TCP, &segment);
        segment[16..18].copy_from_slice(&sum);
        packet(self.server.ip(), self.client.ip(), TCP, self.class, &segment)
    }

    /// "Destination unreachable" (RFC 792; RFC 4443, section 3.1), with the packet that it is about.
    pub fn obstacle(&self, why: Obstacle) -> Vec<u8> {
        let (from, to) = (self.server.ip(), self.client.ip());
        let v4 = from.is_ipv4();
        // Type and code: host unreachable, communication administratively prohibited.
        let (kind, code, protocol) = match (v4, why) {
            (true, Obstacle::Unreachable) => (3, 1, ICMP),
            (true, Obstacle::Prohibited) => (3, 13, ICMP),
            (false, Obstacle::Unreachable) => (1, 3, ICMP_V6),
            (false, Obstacle::Prohibited) => (1, 1, ICMP_V6),
        };
        let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
        let (header, most) = if v4 { (V4_HEADER, MOST_ICMP_V4) } else { (V6_HEADER, MOST_ICMP_V6) };
        let quoted = most - header - message.len();
        message.extend(self.packet().iter().take(quoted));
        let sum = match v4 {
            true => {
                let mut sum = Checksum::new();
                sum.add(&message);
                sum.finish().to_be_bytes()
            }
            false => sum(from, to, protocol, &message),
        };
        message[2..4].copy_from_slice(&sum);
        packet(from, to, protocol, 0, &message)
    }
}

fn sum(from: IpAddr, to: IpAddr, protocol: u8, payload: &[u8]) -> [u8; 2] {
    let mut sum = Checksum::new();
    sum.add_pseudo_header(from, to, protocol, payload.len() as u32);
    sum.add(payload);
    sum.finish().to_be_bytes()
}

/// A packet with a plain IP header. Both addresses are of one family.
fn packet(from: IpAddr, to: IpAddr, protocol: u8, class: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let [high, low] = ((V4_HEADER + payload.len()) as u16).to_be_bytes();
            // The kernel fills in the identification and the checksum of the header (raw(7)).
            let mut header = vec![0x45, class, high, low, 0, 0, 0x40, 0, HOPS, protocol, 0, 0];
            header.extend(from.octets());
            header.extend(to.octets());
            header
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let [high, low] = (payload.len() as u16).to_be_bytes();
            let mut header = vec![0x60 | (class >> 4), class << 4, 0, 0, high, low, protocol, HOPS];
            header.extend(from.octets());
            header.extend(to.octets());
            header
        }
        _ => return vec![],
    };
    packet.extend(payload);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(v4: bool) -> Opening {
        let (client, server): (IpAddr, IpAddr) = match v4 {
            true => ("192.0.2.1".parse().unwrap(), "198.51.100.2".parse().unwrap()),
            false => ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap()),
        };
        let mut segment =
            vec![0x9c, 0x40, 0, 80, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x60, SYN, 0x10, 0, 0, 0, 0, 0];
        segment.extend([2, 4, 5, 0xb4]);
        Opening::from_segment(client, server, 0xb8, &segment).unwrap()
    }

    fn tcp_of(packet: &[u8]) -> &[u8] {
        if packet[0] >> 4 == 4 { &packet[V4_HEADER..] } else { &packet[V6_HEADER..] }
    }

    #[test]
    fn a_packet_is_rebuilt_with_its_checksum() {
        for v4 in [true, false] {
            let opening = opening(v4);
            let packet = opening.packet();
            let segment = tcp_of(&packet);
            assert_eq!(sum(opening.client.ip(), opening.server.ip(), TCP, segment), [0, 0], "it fits");
            assert_eq!(segment[20..], [2, 4, 5, 0xb4], "options stay");
            if v4 {
                let mut read = Opening::from_v4(&packet).unwrap();
                read.segment[16..18].fill(0);
                assert_eq!(read, opening);
            }
        }
    }

    #[test]
    fn the_answer_to_an_opening_full_of_data_fits_every_link() {
        for (v4, most) in [(true, MOST_ICMP_V4), (false, MOST_ICMP_V6)] {
            let mut opening = opening(v4);
            opening.segment.extend([7; 1400]);
            let packet = opening.obstacle(Obstacle::Unreachable);
            assert!(packet.len() <= most, "{} bytes", packet.len());
            assert!(packet.len() > most - 2, "as much as may be is quoted");
        }
    }

    #[test]
    fn a_reset_acknowledges_the_opening() {
        for v4 in [true, false] {
            let opening = opening(v4);
            let packet = opening.reset();
            let segment = tcp_of(&packet);
            assert_eq!(segment[..4], [0, 80, 0x9c, 0x40], "back to the client");
            assert_eq!(segment[8..12], [0, 0, 0, 0], "the next after 0xffffffff");
            assert_eq!(segment[13], RESET_AND_ACK);
            assert_eq!(sum(opening.server.ip(), opening.client.ip(), TCP, segment), [0, 0]);
        }
    }

    #[test]
    fn an_obstacle_quotes_the_packet() {
        let v4 = opening(true).obstacle(Obstacle::Prohibited);
        assert_eq!(v4[20..22], [3, 13]);
        assert_eq!(Opening::from_v4(&v4[28..]).unwrap().server.port(), 80);
        let v6 = opening(false).obstacle(Obstacle::Unreachable);
        assert_eq!((v6[6], &v6[40..42]), (ICMP_V6, [1, 3].as_slice()));
    }

    #[test]
    fn anything_else_is_no_opening() {
        let packet = opening(true).packet();
        let mut answer = packet.clone();
        answer[V4_HEADER + 13] = 0x12;
        assert_eq!(Opening::from_v4(&answer), None, "SYN and ACK");
        for short in 0..packet.len() {
            assert_eq!(Opening::from_v4(&packet[..short]), None, "{short} bytes");
        }
    }
}
