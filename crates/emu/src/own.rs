//! Connections that middleboxes have between their own two nodes: tunnels and long hops. Their packets cross the scenario's links as
//! IPv4 packets of the right length, TCP or UDP (RFC 768), and mean something only to the middlebox that has sent them.

use crate::frame::PROTOCOL_UDP;
use crate::testbed::addresses_of;
use longhaul_scenario::{Network, Step};
use longhaul_segment::{Flags, Segment, ip, wire};
use std::net::IpAddr;

/// Bytes of a UDP header.
const UDP_HEADER: u32 = 8;
/// Port of tunnels at both ends: below those of flows.
const TUNNEL_PORT: u16 = 9_999;

/// Ways of all these connections, in the order of their numbers: there and back.
pub(crate) fn ways(network: &Network) -> Vec<Vec<Step>> {
    let mut ways = vec![];
    for (middlebox, instance) in network.middleboxes.iter().enumerate() {
        for _ in 0..instance.own_connections.1 {
            for (direction, links) in instance.between.iter().enumerate() {
                let links = links.iter().map(|link| Step::Link(*link));
                ways.push(links.chain([Step::Middlebox { middlebox, port: 1 - direction }]).collect());
            }
        }
    }
    ways
}

/// Addresses of their ends.
pub(crate) fn ends(network: &Network) -> Vec<[IpAddr; 2]> {
    let address = |node: usize| IpAddr::from(addresses_of(node).0);
    let mut ends = vec![];
    for instance in &network.middleboxes {
        for _ in 0..instance.own_connections.1 {
            ends.push([address(instance.nodes[0]), address(instance.nodes[1])]);
        }
    }
    ends
}

/// The bytes of a packet. A segment without any flag stands for a UDP datagram of the same length. What the middlebox does not give
/// as payload is zeros; `None` if it is longer than a packet can be.
pub(crate) fn packet(header: &ip::Header, segment: &Segment, body: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    if segment.flags != Flags::NONE {
        let mut payload = body.to_vec();
        payload.resize(segment.payload_len as usize, 0);
        wire::encode(header, segment, &payload, &mut bytes).ok()?;
        return Some(bytes);
    }
    let len = segment.ipv4_len().checked_sub(header.wire_len())?.max(UDP_HEADER);
    header.encode(PROTOCOL_UDP, len, &mut bytes).ok()?;
    let end = bytes.len() + len as usize;
    bytes.extend_from_slice(&TUNNEL_PORT.to_be_bytes());
    bytes.extend_from_slice(&TUNNEL_PORT.to_be_bytes());
    bytes.extend_from_slice(&(len as u16).to_be_bytes());
    // No checksum, as IPv4 allows.
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(body);
    bytes.resize(end, 0);
    Some(bytes)
}
