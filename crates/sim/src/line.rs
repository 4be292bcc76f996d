//! Van Jacobson header compression on a simulated serial line (RFC 1144): the real compressor and decompressor, fed with
//! the headers that the simulated segments would have. Each host counts the packets that it sends to this line in the IP
//! identification, as hosts do; connections of one host so disturb each other's differences.

use crate::packet::{Packet, Segments};
use longhaul_path::{LineCoder, VjSpec};
use longhaul_scenario::Network;
use longhaul_segment::ip;
use longhaul_segment::vj::{Line, LineStats};
use std::net::{IpAddr, Ipv4Addr};

/// Both ends of one line.
pub(crate) struct VjLine {
    line: Line,
    /// The host that sends to each endpoint, and that endpoint's host.
    hosts: Vec<[u32; 2]>,
    /// The next IP identification of each host.
    ids: Vec<u16>,
    id: u16,
}

impl VjLine {
    pub fn new(spec: &VjSpec, network: &Network) -> Self {
        let fixed = spec.header.map(|header| header.as_bytes() as u32);
        let hosts = network.connection_flows.iter().flat_map(|flow| {
            let flow = &network.flows[*flow as usize];
            let (client, server) = (flow.from as u32, flow.to as u32);
            // Endpoint 2n is the active opener's, and what goes there comes from the passive opener.
            [[server, client], [client, server]]
        });
        let hosts: Vec<[u32; 2]> = hosts.collect();
        let most = hosts.iter().flatten().copied().max().unwrap_or(0);
        VjLine { line: Line::new(spec.slots, fixed), hosts, ids: vec![0; most as usize + 1], id: 0 }
    }

    pub fn stats(&self) -> LineStats {
        self.line.stats()
    }

    /// A packet comes to the queue before the line, whether it will be let in or not.
    pub fn number(&mut self, packet: &Packet) {
        let [from, _] = self.hosts_of(packet);
        let next = &mut self.ids[from as usize];
        *next = next.wrapping_add(1);
        self.id = *next;
    }

    /// Connections that middleboxes open have hosts of no flow.
    fn hosts_of(&self, packet: &Packet) -> [u32; 2] {
        self.hosts.get(packet.to as usize).copied().unwrap_or_default()
    }

    /// The coder for the packet that was numbered last.
    pub fn coder<'a>(&'a mut self, segments: &'a Segments) -> Coder<'a> {
        Coder { line: self, segments }
    }
}

pub(crate) struct Coder<'a> {
    line: &'a mut VjLine,
    segments: &'a Segments,
}

impl LineCoder<Packet> for Coder<'_> {
    fn encode(&mut self, packet: &Packet) -> u32 {
        let address = |host: u32| {
            let [high, upper, lower, low] = (host + 1).to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(10 ^ high, upper, lower, low))
        };
        let [from, to] = self.line.hosts_of(packet).map(address);
        let header = ip::Header { ecn: packet.ecn, id: self.line.id, ..ip::Header::new(from, to) };
        // What cannot be written, which takes options over 40 bytes or an urgent pointer, crosses as it is.
        self.line.line.send(&header, self.segments.get(packet)).unwrap_or(packet.wire_len)
    }
    fn decode(&mut self) -> bool {
        self.line.line.receive()
    }
    fn lost(&mut self, noticed: bool) {
        if noticed {
            self.line.line.line_error();
        }
    }
}
