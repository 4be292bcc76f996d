//! Connections that middleboxes have between their own two nodes: tunnels and long hops. Their packets cross the scenario's links as
//! IPv4 packets of the right length, TCP or UDP (RFC 768), and mean something only to the middlebox that has sent them.

use crate::addresses::Ranges;
use crate::frame::PROTOCOL_UDP;
use longhaul_fabric::Way;
use longhaul_middlebox::Direction;
use longhaul_scenario::{Network, Routed, Step};
use longhaul_segment::checksum::Checksum;
use longhaul_segment::{Flags, Segment, UDP_HEADER, ip, wire};
use longhaul_units::{Id, LinkId, MiddleboxId, NodeId};
use std::net::IpAddr;

/// Port of tunnels at both ends: below those of flows.
const TUNNEL_PORT: u16 = 9_999;

/// The number of the way of such a connection, there or back.
pub(crate) fn way(hosts: usize, connection: usize, direction: Direction) -> usize {
    hosts * hosts + 2 * connection + direction as usize
}

/// Ways of all these connections, there and back, from one node of a middlebox to the other.
pub(crate) fn ways(network: &Network, hosts: usize) -> Vec<Way> {
    let between = network.middleboxes.enumerated().flat_map(|(id, instance)| {
        [Direction::Forward, Direction::Reverse].into_iter().zip(&instance.between).map(move |way| (id, way))
    });
    between.flat_map(|(id, (direction, links))| of_middlebox(network, hosts, id, direction, links)).collect()
}

/// Those that one of the network's routes changes, as they are from then on.
pub(crate) fn moved(network: &Network, hosts: usize, list: usize) -> Vec<Way> {
    let moved = network.routes.lists[list].ways.iter().filter_map(|(which, links)| match *which {
        Routed::Between(id, direction) => {
            Some((id, [Direction::Forward, Direction::Reverse][direction], links))
        }
        Routed::Flow(..) => None,
    });
    moved.flat_map(|(id, direction, links)| of_middlebox(network, hosts, id, direction, links)).collect()
}

/// Ways of the connections of one middlebox in one direction.
fn of_middlebox(
    network: &Network,
    hosts: usize,
    id: MiddleboxId,
    direction: Direction,
    links: &[LinkId],
) -> Vec<Way> {
    let before = network.middleboxes.iter().take(id.index());
    let first: usize = before.map(|instance| instance.own_connections.1 as usize).sum();
    let at = |port| Step::Middlebox { middlebox: id, port };
    let (from, to) = (direction as usize, 1 - direction as usize);
    let between = links.iter().map(|link| Step::Link(*link));
    let steps: Vec<Step> = [at(from)].into_iter().chain(between).chain([at(to)]).collect();
    let count = network.middleboxes[id].own_connections.1 as usize;
    (first..first + count)
        .map(|number| Way { row: way(hosts, number, direction), steps: steps.clone() })
        .collect()
}

/// Addresses of their ends.
pub(crate) fn ends(network: &Network, ranges: &Ranges) -> Vec<[IpAddr; 2]> {
    let address = |node: NodeId| IpAddr::from(ranges.of(node).0);
    let mut ends = vec![];
    for instance in &network.middleboxes {
        for _ in 0..instance.own_connections.1 {
            ends.push([address(instance.nodes[0]), address(instance.nodes[1])]);
        }
    }
    ends
}

/// The bytes of a packet. A segment without any flag stands for a UDP datagram of the same length; `None` if it is longer than a packet
/// can be.
pub(crate) fn packet(header: &ip::Header, segment: &Segment, body: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    if segment.flags != Flags::NONE {
        wire::encode(header, segment, body, &mut bytes).ok()?;
        return Some(bytes);
    }
    let len = UDP_HEADER + body.len() as u32;
    debug_assert_eq!(
        header.wire_len() + len,
        segment.ipv4_len(),
        "it is as long as it is on a simulated link"
    );
    header.encode(PROTOCOL_UDP, len, &mut bytes).ok()?;
    let start = bytes.len();
    bytes.extend_from_slice(&TUNNEL_PORT.to_be_bytes());
    bytes.extend_from_slice(&TUNNEL_PORT.to_be_bytes());
    bytes.extend_from_slice(&(len as u16).to_be_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(body);
    let mut checksum = Checksum::new();
    checksum.add_pseudo_header(header.src, header.dst, PROTOCOL_UDP, len);
    checksum.add(&bytes[start..]);
    // Zero would mean that there is none.
    let sum = if checksum.finish() == 0 { 0xffff } else { checksum.finish() };
    bytes[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
    Some(bytes)
}
