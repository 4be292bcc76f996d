//! QUIC flows: endpoints of crate `quic` in the place of TCP connections. Their datagrams travel as packets like all others; the
//! bytes wait beside the packet's slot.

use crate::packet::Packet;
use crate::totals::Totals;
use crate::world::World;
use bytes::BytesMut;
use longhaul_cc::Inspection;
use longhaul_fabric::Freight;
use longhaul_quic::{
    Bundle, Datagram, Ecn as QuicEcn, Incidents, Member, Settings, Told, TraceKind, rehearse, seed_of,
};
use longhaul_results::{Arrived, FlowRow, SegmentKind};
use longhaul_scenario::{HandshakeSpec, Network, QuicSpec, Scenario};
use longhaul_segment::{Ecn, EncodeError, IPV4_HEADER, Segment, UDP_HEADER, ip};
use longhaul_traffic::{End, Side, Streams};
use longhaul_units::{EndpointId, FlowId, IdVec, Instant};
use std::net::{Ipv4Addr, SocketAddr};

/// Bytes of an IPv4 and a UDP header (RFC 768).
pub(crate) const UDP_HEADERS: u32 = IPV4_HEADER + UDP_HEADER;
/// IP protocol number of UDP (RFC 768).
const PROTOCOL_UDP: u8 = 17;
/// Ports of clients and servers; hosts differ by their address.
const PORTS: [u16; 2] = [40_000, 443];

/// A QUIC connection and the flows that it carries.
pub(crate) struct Carried {
    bundle: Bundle,
    /// The flows, by their number in the run.
    flows: Vec<FlowId>,
    /// What has reached client and server of each.
    arrived: Vec<[Arrived; 2]>,
    /// Which flows are traced, by the end that sends their data.
    traced: Vec<Option<Side>>,
}

/// The connections of a run, and the place of each flow on them.
#[derive(Default)]
pub(crate) struct Connections {
    carried: Vec<Option<Box<Carried>>>,
    place: IdVec<FlowId, Option<(usize, usize)>>,
}

impl Connections {
    /// Those of a scenario. The run's seed and the name of its first flow give a connection's random numbers.
    pub fn new(scenario: &Scenario, network: &Network, base: std::time::Instant) -> Self {
        let mut connections =
            Connections { carried: vec![], place: IdVec::filled(None, network.flows.len()) };
        for flows in network.quic_connections(scenario) {
            let specs = flows.iter().map(|flow| scenario.group(network.flows[*flow].group));
            let member = |spec: &longhaul_scenario::FlowSpec| Member {
                pairs: spec.app.connections(),
                priority: spec.quic().map_or(0, |quic| quic.priority),
            };
            let members: Vec<Member> = specs.clone().map(member).collect();
            let Some(quic) = specs.clone().find_map(|spec| spec.quic()) else { continue };
            let name = &network.flows[flows[0]].name;
            for (place, flow) in flows.iter().enumerate() {
                connections.place[*flow] = Some((connections.carried.len(), place));
            }
            let traced: Vec<Option<Side>> =
                specs.clone().map(|spec| spec.trace.then(|| spec.app.data_sender())).collect();
            connections.carried.push(Some(Box::new(Carried {
                bundle: bundle(quic, &members, &traced, scenario, name, base),
                traced,
                arrived: vec![<[Arrived; 2]>::default(); flows.len()],
                flows,
            })));
        }
        connections
    }

    /// A flow's connection, and its place there; `None` if it uses TCP.
    #[inline]
    pub fn of(&self, flow: FlowId) -> Option<(&Carried, usize)> {
        let (connection, place) = (*self.place.get(flow)?)?;
        Some((self.carried[connection].as_deref()?, place))
    }

    fn of_mut(&mut self, flow: FlowId) -> Option<(&mut Carried, usize)> {
        let (connection, place) = (*self.place.get(flow)?)?;
        Some((self.carried[connection].as_deref_mut()?, place))
    }

    /// Whether a flow uses QUIC.
    #[inline]
    pub fn has(&self, flow: FlowId) -> bool {
        self.place.get(flow).is_some_and(Option::is_some)
    }

    /// Logs of the connections, each by the name of its first flow.
    pub fn take_logs(&mut self, network: &Network) -> Vec<(String, Vec<u8>)> {
        let carried = self.carried.iter_mut().flatten();
        carried.flat_map(|carried| carried.bundle.take_logs(&network.flows[carried.flows[0]].name)).collect()
    }

    /// Limits of quinn-proto that each connection has met, by its first flow.
    pub fn incidents(&self) -> impl Iterator<Item = (FlowId, Incidents)> + '_ {
        self.carried.iter().flatten().map(|carried| (carried.flows[0], carried.bundle.incidents()))
    }

    /// Packets with stream data that have reached a host.
    pub fn data_packets(&self) -> u64 {
        let arrived = self.carried.iter().flatten().flat_map(|carried| &carried.arrived);
        arrived.flatten().map(|arrived| arrived.packets).sum()
    }
}

fn bundle(
    spec: &QuicSpec,
    members: &[Member],
    traced: &[Option<Side>],
    scenario: &Scenario,
    name: &str,
    base: std::time::Instant,
) -> Bundle {
    let seed = scenario.run.seed;
    // The earlier connection is not one of the run.
    let settings = || [spec.settings(), spec.settings()];
    let watched =
        |side| Settings { qlog: scenario.run.qlog, trace: traced.contains(&Some(side)), ..spec.settings() };
    let addresses = [address(Side::Client), address(Side::Server)];
    let earlier = |early| rehearse(settings(), seed_of(seed, name, "earlier"), base, addresses, early);
    let known = match spec.handshake {
        HandshakeSpec::Full => None,
        HandshakeSpec::Resumed => earlier(false),
        HandshakeSpec::EarlyData => earlier(true),
    };
    let seeds = ["Client", "Server"].map(|what| seed_of(seed, name, what));
    Bundle::new(
        [watched(Side::Client), watched(Side::Server)],
        seeds,
        base,
        addresses,
        known.unwrap_or_default(),
        members,
    )
    .expect("the scenario was checked")
}

impl Carried {
    /// A flow's state, in the words of RFC 9000 section 10.
    pub fn state(&self, place: usize) -> &'static str {
        self.bundle.state(place)
    }

    /// Why a flow's last connection ended, unless it was closed.
    pub fn failure(&self, place: usize) -> Option<&str> {
        self.bundle.failure(place)
    }

    /// Congestion window of one end, in bytes.
    pub fn window(&self, side: Side) -> u64 {
        self.bundle.sample(side).window
    }

    /// Counters of a flow from the start to now; the data come from `side`.
    pub fn totals(&self, now: Instant, place: usize, side: Side) -> Totals {
        let done = self.bundle.done(now, place, side);
        Totals {
            sender: done.sender,
            delivered: done.received,
            arrived: self.arrived[place][side.other() as usize],
            lost: 0,
            made: 0,
            limited: done.limited,
        }
    }

    /// What goes on inside the congestion control of one end.
    pub fn inspect(&self, side: Side, inspection: &mut Inspection) {
        self.bundle.inspect(side, inspection);
    }

    /// State of the sender of the flow's data, for the time series.
    pub fn row(&self, side: Side) -> FlowRow {
        let sample = self.bundle.sample(side);
        FlowRow {
            cwnd_bytes: sample.window as f64,
            ssthresh_bytes: sample.ssthresh.map(|bytes| bytes as f64),
            flight_bytes: sample.in_flight as f64,
            srtt_s: sample.srtt.map(longhaul_units::Duration::as_secs_f64),
            ..FlowRow::default()
        }
    }
}

fn address(side: Side) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1 + side as u8), PORTS[side as usize]))
}

impl World<'_> {
    /// The endpoint of the first flow on the connection of `index`, at the same end: it has the connection's timer.
    fn leader(&self, index: EndpointId) -> EndpointId {
        let flow = self.network.flow_of(index);
        let first = self.quic.of(flow).map_or(flow, |(carried, _)| carried.flows[0]);
        self.first_connection(first).end(index.side())
    }

    /// A datagram reaches its endpoint.
    #[inline(never)]
    pub fn receive_datagram(&mut self, packet: Packet, hand_over: bool) {
        let index = packet.to;
        let datagram = self.fabric.freight.take_datagram(&packet);
        self.fabric.freight.release(packet);
        let (flow, side) = (self.network.flow_of(index), index.side());
        let (Some(datagram), Some((quic, place))) = (datagram, self.quic.of_mut(flow)) else { return };
        if datagram.content.stream_bytes > 0 {
            let arrived = &mut quic.arrived[place][side as usize];
            arrived.packets += 1;
            arrived.wire_bytes += u64::from(packet.wire_len);
            arrived.marked += u64::from(packet.ecn() == Ecn::Ce);
        }
        let ecn = match packet.ecn() {
            Ecn::NotEct => QuicEcn::NotEct,
            Ecn::Ect0 => QuicEcn::Ect0,
            Ecn::Ect1 => QuicEcn::Ect1,
            Ecn::Ce => QuicEcn::Ce,
        };
        let bytes = BytesMut::from(bytes::Bytes::from(datagram.bytes));
        quic.bundle.set_time(self.now);
        quic.bundle.endpoint(side).handle_datagram(self.now, address(side.other()), ecn, bytes);
        self.serve_quic(index, hand_over);
    }

    /// An endpoint's timer is due.
    pub fn quic_timeout(&mut self, index: EndpointId) {
        let now = self.now;
        if let Some((quic, _)) = self.quic.of_mut(self.network.flow_of(index)) {
            quic.bundle.set_time(now);
            quic.bundle.endpoint(index.side()).handle_timeout(now);
        }
    }

    /// Does all that an endpoint requires after an input.
    pub fn serve_quic(&mut self, index: EndpointId, hand_over: bool) {
        let (index, now) = (self.leader(index), self.now);
        let (flow, side) = (self.network.flow_of(index), index.side());
        let mut sent = false;
        loop {
            let Some((quic, _)) = self.quic.of_mut(flow) else { return };
            quic.bundle.set_time(now);
            // Applications act before the next datagram leaves, so that their data are in it.
            match quic.bundle.poll_event(side) {
                Some(told) => {
                    sent = false;
                    self.tell_of_quic(flow, index, told);
                }
                None if sent => break,
                None => {
                    self.transmit_datagrams(index, hand_over);
                    sent = true;
                }
            }
        }
        self.take_trace(flow, side);
        let Some((quic, _)) = self.quic.of_mut(flow) else { return };
        // A timer that is set only now, for a server whose client has just proved to be real, may be due already.
        let due = quic.bundle.endpoint(side).poll_timeout().map_or(Instant::FAR_FUTURE, |due| due.max(now));
        self.set_due(index, due);
    }

    /// Writes down what an end of a connection has traced.
    fn take_trace(&mut self, first: FlowId, side: Side) {
        let Some((connection, _)) = self.quic.place[first] else { return };
        let Some(quic) = self.quic.carried[connection].as_deref_mut() else { return };
        if !quic.traced.contains(&Some(side)) {
            return;
        }
        for (place, row) in quic.bundle.take_trace(side) {
            let kind = match row.kind {
                TraceKind::Sent => SegmentKind::Data,
                TraceKind::Again => SegmentKind::Retransmission,
                TraceKind::Acknowledged => SegmentKind::Ack,
                TraceKind::Piece => SegmentKind::Sack,
            };
            if quic.traced[place] == Some(side) {
                self.recorder.segment(row.time, quic.flows[place], kind, row.start, row.end);
            }
        }
    }

    /// Tells applications and the list of events what an event of a connection means. `first` is the connection's first flow.
    fn tell_of_quic(&mut self, first: FlowId, index: EndpointId, told: Told) {
        let (now, side) = (self.now, index.side());
        if let Some(event) = told.note {
            let group = self.network.flows[first].group;
            let several = self.scenario.group(group).app.connections() > 1;
            self.note_event(first, index, event, several);
        }
        if let Some(phase) = told.phase {
            let sender = side == self.data_side(first);
            let window = self.quic.of(first).map_or(0, |(quic, _)| quic.window(side));
            if sender {
                self.recorder.event(now, phase.name(), Some(first), None, window as f64);
            }
        }
        if side == Side::Client {
            self.tell_connected(first, index);
        }
        if let Some((place, pair)) = told.stream {
            self.reach_over_quic(first, index, place, pair);
        }
        if told.lost && side == Side::Client {
            // Streams that were open are no more.
            while let Some((quic, _)) = self.quic.of_mut(first) {
                let Some((place, pair)) = quic.bundle.take_broken() else { break };
                let flow = quic.flows[place];
                self.call(flow, None, Some(index), |app, streams| app.gone(now, pair, streams));
            }
        }
    }

    /// Tells applications that their connection is established.
    fn tell_connected(&mut self, first: FlowId, index: EndpointId) {
        while let Some((quic, _)) = self.quic.of_mut(first) {
            let Some(place) = quic.bundle.take_connected() else { break };
            let flow = quic.flows[place];
            self.call(flow, None, Some(index), |app, streams| app.connected(streams));
        }
    }

    fn reach_over_quic(&mut self, first: FlowId, index: EndpointId, place: usize, pair: usize) {
        let (now, side) = (self.now, index.side());
        // What has come may be several messages.
        loop {
            let Some((quic, _)) = self.quic.of_mut(first) else { return };
            if !quic.bundle.take_goal(side, place, pair) {
                break;
            }
            let flow = quic.flows[place];
            self.call(flow, None, Some(index), |app, streams| app.reached(now, End { pair, side }, streams));
        }
        let Some((quic, _)) = self.quic.of_mut(first) else { return };
        let flow = quic.flows[place];
        if !quic.bundle.take_gone(place, pair) {
            return;
        }
        if self.scenario.group(self.network.flows[flow].group).app.connections() > 1 {
            self.call(flow, None, Some(index), |app, streams| app.gone(now, pair, streams));
        } else {
            self.serve_other(first, index);
        }
    }

    /// Serves the other end of a flow's connection, where an application has acted on it.
    pub fn serve_other(&mut self, flow: FlowId, index: EndpointId) {
        let other = self.first_connection(flow).end(index.side().other());
        self.serve_quic(other, true);
    }

    /// Calls the application of a QUIC flow. `serving` is an endpoint of its connection that is being served.
    pub fn call_over_quic(
        &mut self,
        flow: FlowId,
        serving: Option<EndpointId>,
        action: impl FnOnce(&mut longhaul_traffic::App, &mut dyn Streams),
    ) {
        let Some((connection, place)) = self.quic.place[flow] else { return };
        let Some(mut quic) = self.quic.carried[connection].take() else { return };
        let bundle = &mut quic.bundle;
        bundle.set_time(self.now);
        let before = bundle.client_connection();
        action(&mut self.apps[flow], &mut bundle.streams(place));
        let touched = bundle.waiting();
        bundle.carry_out();
        let opened = bundle.client_connection() != before;
        let first = self.first_connection(quic.flows[0]);
        self.quic.carried[connection] = Some(quic);
        let serving = serving.map(|index| self.leader(index));
        for (side, touched) in Side::BOTH.into_iter().zip(touched) {
            let end = first.end(side);
            if (touched || (side == Side::Client && opened)) && Some(end) != serving {
                self.serve_quic(end, true);
                if side == Side::Client {
                    self.tell_connected(flow, end);
                }
            }
        }
    }

    fn transmit_datagrams(&mut self, index: EndpointId, hand_over: bool) {
        let (flow, side) = (self.network.flow_of(index), index.side());
        while let Some((quic, _)) = self.quic.of_mut(flow) {
            let Some(datagram) = quic.bundle.endpoint(side).poll_transmit(self.now) else { break };
            // A packet is one of the flow whose data it carries.
            let of = datagram.content.stream.filter(|_| quic.flows.len() > 1);
            let place = of.and_then(|(stream, _)| quic.bundle.flow_of(stream)).unwrap_or(0);
            let sender = self.first_connection(quic_flow(&self.quic, flow, place)).end(side);
            let endpoint = &mut self.endpoints[sender];
            let departure = match &mut endpoint.overhead {
                None => self.now,
                Some(overhead) => overhead.departure(self.now),
            };
            let (to, weight, link) = (endpoint.peer, endpoint.weight, endpoint.first_link);
            if let Some(packet) = self.fabric.freight.packet_of(to, weight, datagram) {
                self.fabric.send(&mut self.recorder, departure, link, packet, hand_over);
            }
        }
    }
}

/// The flow at this place of the connection of `first`.
fn quic_flow(connections: &Connections, first: FlowId, place: usize) -> FlowId {
    connections.of(first).map_or(first, |(carried, _)| carried.flows[place])
}

/// Bytes of a datagram that a capture keeps: headers and the frames before the data.
const CAPTURED: usize = 128;

/// What a capture keeps of a datagram.
pub(crate) fn captured(datagram: &Datagram) -> Box<[u8]> {
    datagram.bytes[..datagram.bytes.len().min(CAPTURED)].into()
}

/// A captured packet as it would be on the wire: IP and UDP headers, and the first bytes of the datagram. Each connection has a
/// client's port of its own; the checksum is left out, as IPv4 allows (RFC 768).
pub(crate) fn encode(
    ip: &ip::Header,
    packet: &Packet,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let udp_len = packet.wire_len - IPV4_HEADER;
    ip.encode(PROTOCOL_UDP, udp_len, out)?;
    let client = 1024 + (packet.to.connection().0 % 60_000) as u16;
    let [from, to] = match packet.to.side() {
        Side::Client => [PORTS[1], client],
        Side::Server => [client, PORTS[1]],
    };
    for field in [from, to, udp_len as u16, 0] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(payload);
    Ok(())
}

/// What a packet's place among the segments holds of a datagram: how much of streams is in it.
pub(crate) fn stand_in(datagram: &Datagram) -> (Segment, Ecn) {
    let ecn = match datagram.ecn {
        QuicEcn::NotEct => Ecn::NotEct,
        QuicEcn::Ect0 => Ecn::Ect0,
        QuicEcn::Ect1 => Ecn::Ect1,
        QuicEcn::Ce => Ecn::Ce,
    };
    (Segment { payload_len: datagram.content.stream_bytes, ..Segment::default() }, ecn)
}
