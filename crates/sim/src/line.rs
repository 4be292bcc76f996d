//! Header compression on a simulated serial line, Van Jacobson's (RFC 1144) or the robust one: the real compressor and decompressor,
//! fed with the headers that the simulated segments would have. Each host counts the packets that it sends to this line in the IP
//! identification, as hosts do; connections of one host so disturb each other's differences.

use crate::packet::{Packet, Segments};
use longhaul_path::{LineCoder, RohcSpec, SerialSpec, VjSpec};
use longhaul_scenario::{FlowInstance, Network};
use longhaul_segment::{LineStats, ip, rohc, vj};
use longhaul_units::{EndpointId, IdVec, Instant, NodeId};
use std::net::{IpAddr, Ipv4Addr};

/// What compresses and what restores.
enum Ends {
    Vj(vj::Line),
    Robust(rohc::Line),
}

impl Ends {
    fn vj(spec: &VjSpec) -> Ends {
        Ends::Vj(vj::Line::new(spec.slots, spec.header.map(|header| header.as_bytes() as u32)))
    }
    fn robust(spec: &RohcSpec) -> Ends {
        let RohcSpec { contexts, window, repeat, refresh, feedback } = *spec;
        let settings = rohc::Settings { contexts, window, repeat, refresh: (refresh > 0).then_some(refresh) };
        Ends::Robust(rohc::Line::new(settings, feedback))
    }
}

/// Both ends of one line.
pub(crate) struct CompressedLine {
    ends: Ends,
    /// The host that sends to each endpoint, and that endpoint's host.
    hosts: IdVec<EndpointId, [NodeId; 2]>,
    /// The next IP identification of each host.
    ids: IdVec<NodeId, u16>,
    id: u16,
}

impl CompressedLine {
    /// `None` on a line without header compression.
    pub fn new(spec: &SerialSpec, network: &Network) -> Option<Self> {
        let ends = spec.vj.as_ref().map(Ends::vj).or(spec.rohc.as_ref().map(Ends::robust))?;
        let hosts = network.connection_flows.iter().flat_map(|flow| {
            let FlowInstance { from: client, to: server, .. } = network.flows[*flow];
            // What goes to the active opener comes from the passive opener.
            [[server, client], [client, server]]
        });
        let hosts: IdVec<EndpointId, [NodeId; 2]> = hosts.collect();
        Some(CompressedLine { ends, hosts, ids: IdVec::filled(0, network.nodes.len()), id: 0 })
    }

    pub fn stats(&self) -> LineStats {
        match &self.ends {
            Ends::Vj(line) => line.stats(),
            Ends::Robust(line) => line.stats(),
        }
    }

    /// A packet comes to the queue before the line, whether it will be let in or not.
    pub fn number(&mut self, packet: &Packet) {
        let [from, _] = self.hosts_of(packet);
        let next = &mut self.ids[from];
        *next = next.wrapping_add(1);
        self.id = *next;
    }

    /// Connections that middleboxes open have hosts of no flow.
    fn hosts_of(&self, packet: &Packet) -> [NodeId; 2] {
        self.hosts.get(packet.to).copied().unwrap_or([NodeId(0); 2])
    }

    /// The coder for the packet that was numbered last.
    pub fn coder<'a>(&'a mut self, segments: &'a Segments) -> Coder<'a> {
        Coder { line: self, segments }
    }
}

pub(crate) struct Coder<'a> {
    line: &'a mut CompressedLine,
    segments: &'a Segments,
}

impl LineCoder<Packet> for Coder<'_> {
    fn encode(&mut self, start: Instant, packet: &Packet) -> u32 {
        let address = |host: NodeId| {
            let [high, upper, lower, low] = (host.0 + 1).to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(10 ^ high, upper, lower, low))
        };
        let [from, to] = self.line.hosts_of(packet).map(address);
        let (dscp, ecn) = (packet.dscp().get(), packet.ecn());
        let header = ip::Header { dscp, ecn, id: self.line.id, ..ip::Header::new(from, to) };
        // What cannot be written, which takes options over 40 bytes or an urgent pointer, crosses as it is.
        let segment = self.segments.get(packet);
        let sent = match &mut self.line.ends {
            Ends::Vj(line) => line.send(&header, segment),
            Ends::Robust(line) => line.send(start, &header, segment),
        };
        sent.unwrap_or(packet.wire_len)
    }
    fn decode(&mut self, departure: Instant) -> bool {
        match &mut self.line.ends {
            Ends::Vj(line) => line.receive(),
            Ends::Robust(line) => line.receive(departure),
        }
    }
    fn lost(&mut self, noticed: bool) {
        match &mut self.line.ends {
            Ends::Vj(line) if noticed => line.line_error(),
            Ends::Vj(_) | Ends::Robust(_) => {}
        }
    }
}
