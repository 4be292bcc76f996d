//! Links and middleboxes of a scenario with real packets in them, and the way of each packet through them. It has no
//! clock and no device: packets are [injected](World::inject) at a host, time is an argument, and what has [arrived](World::arrivals)
//! carries the time at which it was due.
//!
//! Time within is that of the path: a packet enters its second link at the moment at which it was due at the end of the first,
//! however late the caller is. So being late does not add up over hops.

use crate::Error;
use crate::agenda::Agenda;
use crate::connections::{Connections, FIRST_OWN, LONGEST_HEADER, Leaving, LinkHeader, Outside, Seen};
use crate::frame::{self, Frame, OwnPacket, Shape};
use crate::line::CompressedLine;
use crate::own;
use crate::rewrite::{Read, rewrite};
use crate::stage::{Payload, Stage};
use longhaul_middlebox::{Departure, Event, Passing, QueueState, Verdict};
use longhaul_path::link::Fate;
use longhaul_path::{DropCause, Link};
use longhaul_results::{Arrived, MiddleboxFacts, Tables};
use longhaul_scenario::{DirectedLink, FlowInstance, FlowSpec, MiddleboxInstance, Network, Scenario, Step};
use longhaul_segment::{Segment, ip, wire};
use longhaul_traffic::Side;
use longhaul_units::{
    Duration, FlowId, HostId, Id, IdVec, Instant, LinkId, MiddleboxId, NodeId, counters, ids,
};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// A packet that has reached its host.
pub struct Arrival {
    /// When it was due.
    pub due: Instant,
    /// The host.
    pub host: HostId,
    /// The packet.
    pub frame: Frame,
}

/// Packets that were injected, originated and copied are the sum of those that arrived, were refused, taken in, dropped on links, and
/// are inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets injected.
    pub injected: u64,
    /// Packets that have reached a host.
    pub arrived: u64,
    /// Refused: not even the addresses of an IP packet could be read.
    pub unreadable: u64,
    /// Refused: to an address that no host has (multicast among them).
    pub no_route: u64,
    /// Packets that middleboxes have taken in, and packets that they have sent by themselves.
    pub taken: u64,
    /// See above.
    pub originated: u64,
    /// Packets dropped on links, whatever the cause, and damaged ones that a middlebox would have taken in.
    pub dropped: u64,
    /// Copies that links have made.
    pub copied: u64,
    /// Packets that have reached a host damaged, for its kernel to drop.
    pub damaged: u64,
    /// Packets that have passed a middlebox unseen: not TCP, fragments, wrong lengths or checksums, too many connections.
    pub unseen: u64,
}

counters! {
    /// What became of the data packets of one of the scenario's flows.
    pub struct FlowCounters {
        /// Data packets that reached the receiver's host.
        sum pub arrived: Arrived,
        /// Data packets that were dropped anywhere.
        sum pub lost: u64,
        /// Data packets that middleboxes have sent for it.
        sum pub made: u64,
    }
}

/// Who is notified of packets on links and at middleboxes.
pub trait Observer {
    /// A packet is offered to a link.
    fn offered(&mut self, _now: Instant, _link: LinkId, _frame: &Frame) {}
    /// A packet is at the far end of a link.
    fn delivered(&mut self, _now: Instant, _link: LinkId, _frame: &Frame) {}
    /// A packet has come to a middlebox.
    fn entered(&mut self, _now: Instant, _middlebox: MiddleboxId, _frame: &Frame) {}
    /// A packet leaves a middlebox.
    fn left(&mut self, _now: Instant, _middlebox: MiddleboxId, _frame: &Frame) {}
    /// A packet that a link has damaged has come to the end of its way, where it is dropped.
    fn refused(&mut self, _now: Instant, _frame: &Frame) {}
    /// A packet was dropped on a link.
    fn dropped(&mut self, _now: Instant, _link: LinkId, _frame: &Frame, _cause: DropCause) {}
}

/// Nobody.
impl Observer for () {}

/// Perhaps somebody.
impl<O: Observer> Observer for Option<O> {
    fn offered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        if let Some(observer) = self {
            observer.offered(now, link, frame);
        }
    }
    fn delivered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        if let Some(observer) = self {
            observer.delivered(now, link, frame);
        }
    }
    fn entered(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        if let Some(observer) = self {
            observer.entered(now, middlebox, frame);
        }
    }
    fn left(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        if let Some(observer) = self {
            observer.left(now, middlebox, frame);
        }
    }
    fn refused(&mut self, now: Instant, frame: &Frame) {
        if let Some(observer) = self {
            observer.refused(now, frame);
        }
    }
    fn dropped(&mut self, now: Instant, link: LinkId, frame: &Frame, cause: DropCause) {
        if let Some(observer) = self {
            observer.dropped(now, link, frame, cause);
        }
    }
}

/// Server ports of the scenario's flows begin here: the port identifies the flow.
pub const FIRST_PORT: u16 = 10_000;
/// A QUIC packet of so many bytes has data in it.
const LEAST_QUIC_DATA: u32 = 150;

/// What is known of a flow beforehand.
struct Known {
    weight: u8,
    /// Its data comes from the passive opener.
    server_sends: bool,
    /// It is carried by this protocol.
    protocol: u8,
}

/// Links, and packets in them.
pub struct World {
    links: IdVec<LinkId, Link<Frame>>,
    /// Header compression on those links that have it.
    lines: IdVec<LinkId, Option<CompressedLine>>,
    stages: IdVec<MiddleboxId, Stage>,
    connections: Connections,
    agenda: Agenda,
    /// Steps of the ways, one way for each ordered pair of hosts: from host `a` to `b` it is `a * hosts + b`. Behind them those of
    /// the middleboxes' own connections, there and back.
    ways: Vec<Vec<Step>>,
    /// Addresses of the ends of these connections.
    own_ends: Vec<[IpAddr; 2]>,
    hosts: usize,
    addresses: HashMap<IpAddr, HostId>,
    /// The host that packets go to whose address no host has.
    gateway: Option<HostId>,
    /// There are two hosts, and whatever comes from one goes to the other.
    bridged: bool,
    /// The scenario's flows, in the order of their ports.
    known: IdVec<FlowId, Known>,
    /// What has arrived, in order of time; to be taken away.
    pub arrivals: Vec<Arrival>,
    /// Counts of packets.
    pub counters: Counters,
    /// Counts for each of the scenario's flows.
    pub flows: IdVec<FlowId, FlowCounters>,
    now: Instant,
}

impl World {
    /// The links of a scenario. `hosts` are nodes with their addresses, in the order of their numbers.
    ///
    /// # Errors
    /// A middlebox that is not for real packets.
    pub fn new(
        scenario: &Scenario,
        network: &Network,
        hosts: &[(NodeId, Vec<IpAddr>)],
    ) -> Result<Self, Error> {
        let seed = scenario.run.seed;
        let links: IdVec<LinkId, Link<Frame>> = network
            .links
            .iter()
            .map(|link| {
                let mut made = Link::new(&link.config, seed, &link.name);
                made.measure_waits(Instant::ZERO);
                made
            })
            .collect();
        let ways =
            hosts.iter().flat_map(|(from, _)| hosts.iter().map(|(to, _)| way(scenario, network, *from, *to)));
        let ways = ways.chain(own::ways(network)).collect();
        let line = |link: &DirectedLink| link.config.serial.as_ref().and_then(CompressedLine::new);
        let lines = network.links.iter().map(line).collect();
        let stages = network.middleboxes.ids().map(|id| Stage::new(scenario, network, id));
        let stages = stages.collect::<Result<IdVec<_, _>, Error>>()?;
        let addresses = ids(hosts.len())
            .zip(hosts)
            .flat_map(|(number, (_, addresses))| addresses.iter().map(move |address| (*address, number)));
        let mut world = World {
            agenda: Agenda::new(links.len() + stages.len()),
            links,
            lines,
            stages,
            connections: Connections::default(),
            ways,
            own_ends: own::ends(network),
            hosts: hosts.len(),
            addresses: addresses.collect(),
            gateway: None,
            bridged: false,
            known: network.flows.iter().map(|flow| Known::new(scenario.group(flow.group))).collect(),
            arrivals: vec![],
            counters: Counters::default(),
            flows: IdVec::filled(FlowCounters::default(), network.flows.len()),
            now: Instant::ZERO,
        };
        world.stages.ids().for_each(|stage| world.set_timer(stage));
        Ok(world)
    }

    /// A link, to look at its counters.
    pub fn link(&mut self, link: LinkId) -> &mut Link<Frame> {
        &mut self.links[link]
    }

    /// From now on, what is for no host's address goes to this one, multicast apart.
    pub fn set_gateway(&mut self, host: HostId) {
        self.gateway = Some(host);
    }

    /// From now on, whatever comes from one of the two hosts goes to the other, whatever its address.
    pub fn bridge(&mut self) {
        self.bridged = true;
    }

    /// When something happens next by itself.
    pub fn next_event(&mut self) -> Option<Instant> {
        self.agenda.first().map(|(time, _)| time)
    }

    /// Handles all that is due at `now`.
    pub fn advance(&mut self, observer: &mut impl Observer, now: Instant) {
        while let Some((time, component)) = self.agenda.take_due(now) {
            self.now = self.now.max(time);
            match component.checked_sub(self.links.len()) {
                None => self.link_event(observer, LinkId::new(component)),
                Some(stage) => {
                    let stage = MiddleboxId::new(stage);
                    self.stages[stage].wake(self.now);
                    self.serve(observer, stage);
                }
            }
        }
        self.now = self.now.max(now);
    }

    /// A host has sent a packet; `network` bytes precede its IP header. Everything due before is handled first.
    pub fn inject(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        host: HostId,
        network: u16,
        bytes: &[u8],
    ) {
        self.advance(observer, now);
        self.counters.injected += 1;
        let inside = bytes.get(usize::from(network)..).unwrap_or_default();
        let shape = match Shape::of(inside) {
            Some(shape) => shape,
            // ARP and the like.
            None if self.bridged && !inside.is_empty() => Shape::UNKNOWN,
            None => {
                self.counters.unreadable += 1;
                return;
            }
        };
        let gateway = || self.gateway.filter(|_| !shape.dst.is_multicast());
        let known = || self.addresses.get(&shape.dst).copied().or_else(gateway);
        let to = if self.bridged { Some(HostId(1 - host.0)) } else { known() };
        let Some(to) = to.filter(|to| *to != host) else {
            self.counters.no_route += 1;
            return;
        };
        let way = host.index() * self.hosts + to.index();
        if self.ways[way].is_empty() {
            self.counters.no_route += 1;
            return;
        }
        let (flow, _) = self.flow_of(&shape);
        let len = if self.bridged { frame::without_padding(inside) } else { inside.len() };
        let bytes = &bytes[..usize::from(network) + len];
        let frame = self.frame(bytes.to_vec(), network, way as u32, &shape, flow);
        self.go(observer, frame);
    }

    fn frame(&self, bytes: Vec<u8>, network: u16, way: u32, shape: &Shape, flow: FlowId) -> Frame {
        Frame {
            bytes,
            network,
            step: 0,
            way,
            flow,
            is_data: self.flow_of(shape).1,
            hash: shape.flow_hash(),
            weight: self.known.get(flow).map_or(1, |known| known.weight),
            own: None,
            damaged: false,
            twice: false,
        }
    }

    /// The scenario's flow that a packet belongs to, and whether it carries its data: servers listen on a port of their own for
    /// each.
    fn flow_of(&self, shape: &Shape) -> (FlowId, bool) {
        let flow = |port: u16| {
            let flow = FlowId(port.checked_sub(FIRST_PORT)?.into());
            let known = self.known.get(flow).filter(|known| known.protocol == shape.protocol)?;
            Some((flow, known))
        };
        // ACKs of QUIC cannot be distinguished from data but by their length.
        let least = match shape.protocol {
            frame::PROTOCOL_TCP => 1,
            frame::PROTOCOL_UDP => LEAST_QUIC_DATA,
            _ => return (Frame::NO_FLOW, false),
        };
        let Some((src, dst)) = shape.ports else { return (Frame::NO_FLOW, false) };
        match (flow(dst), flow(src)) {
            (Some((flow, known)), _) => (flow, !known.server_sends && shape.payload >= least),
            (_, Some((flow, known))) => (flow, known.server_sends && shape.payload >= least),
            _ => (Frame::NO_FLOW, false),
        }
    }

    /// Takes a packet to the step of its way that it is at.
    fn go(&mut self, observer: &mut impl Observer, mut frame: Frame) {
        let step = self.ways[frame.way as usize].get(usize::from(frame.step)).copied();
        frame.step += 1;
        match step {
            None => {
                if frame.damaged {
                    observer.refused(self.now, &frame);
                }
                self.arrive(frame);
            }
            Some(Step::Link(link)) => self.offer(observer, link, frame),
            Some(Step::Middlebox { middlebox, port }) => self.pass(observer, middlebox, port, frame),
        }
    }

    /// A packet has reached a middlebox.
    fn pass(&mut self, observer: &mut impl Observer, stage: MiddleboxId, port: usize, mut frame: Frame) {
        observer.entered(self.now, stage, &frame);
        match self.show(stage, port, &mut frame) {
            // The way of a middlebox's own packets ends there.
            None if frame.own.is_some() => {
                count_lost(&mut self.counters, &mut self.flows, &frame);
                observer.refused(self.now, &frame);
            }
            None => {
                self.counters.unseen += 1;
                observer.left(self.now, stage, &frame);
                self.go(observer, frame);
            }
            Some(verdict) if verdict == Verdict::Taken || frame.own.is_some() => {
                self.counters.taken += 1;
                self.serve(observer, stage);
            }
            Some(_) => {
                observer.left(self.now, stage, &frame);
                self.go(observer, frame);
                self.serve(observer, stage);
            }
        }
    }

    /// Shows a packet to a middlebox; `None` if it is none that it reads.
    fn show(&mut self, stage: MiddleboxId, port: usize, frame: &mut Frame) -> Option<Verdict> {
        if frame.damaged {
            return None;
        }
        if let Some(own) = frame.own.clone() {
            return Some(self.show_own(stage, port, frame, &own));
        }
        // What middleboxes send would lack the header.
        if usize::from(frame.network) > LONGEST_HEADER {
            return None;
        }
        let (read, payload) = Read::of(frame.packet()).filter(|(read, _)| self.stages[stage].reads(read))?;
        let payload = Payload::copy_from_slice(payload);
        let before = read.before;
        let (connection, direction) = self.connections.of(self.now, &self.seen(frame, &read))?;
        let (mut segment, mut ecn) = (before, read.ip.ecn);
        let passing = Passing { connection, direction, ecn: &mut ecn, segment: &mut segment, body: &payload };
        let verdict = self.stages[stage].inner.handle_packet(self.now, port, passing);
        if verdict == Verdict::Forward {
            if segment != before {
                let mut packet = frame.bytes.split_off(usize::from(frame.network));
                rewrite(&mut packet, &read, &segment);
                frame.bytes.append(&mut packet);
            }
            if ecn != read.ip.ecn {
                frame::set_ecn(frame.packet_mut(), ecn);
            }
        }
        Some(verdict)
    }

    fn show_own(&mut self, stage: MiddleboxId, port: usize, frame: &Frame, own: &OwnPacket) -> Verdict {
        let OwnPacket { connection, direction, mut segment, body } = own.clone();
        let mut ecn = frame::ecn(frame.packet());
        let passing = Passing { connection, direction, ecn: &mut ecn, segment: &mut segment, body: &body };
        self.stages[stage].inner.handle_packet(self.now, port, passing)
    }

    fn seen(&self, frame: &Frame, read: &Read) -> Seen {
        let (way, hosts) = (frame.way as usize, self.hosts);
        let link = LinkHeader::of(&frame.bytes[..usize::from(frame.network)]);
        Seen {
            src: (read.ip.src, read.before.src_port),
            dst: (read.ip.dst, read.before.dst_port),
            tcp_flags: read.before.flags.0 as u8,
            way: frame.way,
            back: (way % hosts * hosts + way / hosts) as u32,
            flow: frame.flow,
            outside: Outside { ip: read.ip, link },
        }
    }

    /// Carries out a middlebox's actions after an input.
    fn serve(&mut self, observer: &mut impl Observer, stage: MiddleboxId) {
        let mut segment = Segment::default();
        loop {
            if let Some(link) = self.stages[stage].watched {
                let link = &mut self.links[link];
                let state =
                    QueueState { bytes: link.occupancy(self.now).bytes, rate: link.rate_at(self.now) };
                self.stages[stage].inner.handle_queue(self.now, state);
            }
            let Some(departure) = self.stages[stage].inner.transmit_into(self.now, &mut segment) else {
                break;
            };
            let frame = if departure.connection < FIRST_OWN {
                self.made(stage, &segment, &departure)
            } else {
                self.made_own(&segment, departure)
            };
            if let Some(frame) = frame {
                self.counters.originated += 1;
                if let Some(flow) = self.flows.get_mut(frame.flow).filter(|_| frame.is_data) {
                    flow.made += 1;
                }
                observer.left(self.now, stage, &frame);
                self.go(observer, frame);
            }
        }
        while let Some(Event::Dropped { connection, payload_len, .. }) = self.stages[stage].inner.poll_event()
        {
            let flow = self.connections.flow_of(connection).filter(|_| payload_len > 0);
            if let Some(flow) = flow.and_then(|flow| self.flows.get_mut(flow)) {
                flow.lost += 1;
            }
        }
        self.set_timer(stage);
    }

    /// A packet of a flow that a middlebox sends by itself.
    fn made(&self, stage: MiddleboxId, segment: &Segment, departure: &Departure<Payload>) -> Option<Frame> {
        let Leaving { ports, outside, way, flow } =
            self.connections.leaving(departure.connection, departure.direction)?;
        let header = ip::Header { ecn: departure.ecn, ..outside.ip };
        let segment = Segment { src_port: ports.0, dst_port: ports.1, ..*segment };
        let mut bytes = outside.link.map_or(vec![], |header| header.bytes().to_vec());
        let network = bytes.len();
        wire::encode(&header, &segment, &departure.body, &mut bytes).ok()?;
        let shape = Shape::of(&bytes[network..])?;
        let here = Step::Middlebox { middlebox: stage, port: departure.port };
        let step = self.ways[way as usize].iter().position(|step| *step == here)? + 1;
        Some(Frame { step: step as u16, ..self.frame(bytes, network as u16, way, &shape, flow) })
    }

    /// A packet between the two nodes of a middlebox.
    fn made_own(&self, segment: &Segment, departure: Departure<Payload>) -> Option<Frame> {
        let Departure { connection, direction, ecn, body, .. } = departure;
        let number = connection.index() - FIRST_OWN.index();
        let ends = self.own_ends.get(number)?;
        let (from, to) = (ends[direction as usize], ends[1 - direction as usize]);
        // The number of a datagram.
        let id = if segment.flags == longhaul_segment::Flags::NONE { segment.seq.0 as u16 } else { 0 };
        let header = ip::Header { ecn, id, ..ip::Header::new(from, to) };
        let bytes = own::packet(&header, segment, &body)?;
        let shape = Shape::of(&bytes)?;
        let way = (self.hosts * self.hosts + 2 * number + direction as usize) as u32;
        let own = OwnPacket { connection, direction, segment: *segment, body };
        let own = Some(Arc::new(own));
        Some(Frame { own, is_data: false, ..self.frame(bytes, 0, way, &shape, Frame::NO_FLOW) })
    }

    fn set_timer(&mut self, stage: MiddleboxId) {
        self.agenda.set(self.links.len() + stage.index(), self.stages[stage].due());
    }

    /// Averages of middleboxes are of the time from now on.
    pub fn begin_measuring(&mut self, now: Instant) {
        self.stages.iter_mut().for_each(|stage| stage.begin_measuring(now));
    }

    /// What middleboxes have done.
    pub fn middleboxes(&self) -> IdVec<MiddleboxId, MiddleboxFacts> {
        self.stages.iter().map(Stage::facts).collect()
    }

    /// Looks at all middleboxes, `span` after the last look.
    pub fn sample_middleboxes(&mut self, now: Instant, span: Duration, measuring: bool, tables: &mut Tables) {
        for (id, stage) in ids(self.stages.len()).zip(&mut self.stages) {
            stage.sample(id, now, span, measuring, tables);
        }
    }

    fn arrive(&mut self, frame: Frame) {
        self.counters.arrived += 1;
        self.counters.damaged += u64::from(frame.damaged);
        if let Some(flow) = self.flows.get_mut(frame.flow).filter(|_| frame.is_data) {
            if frame.damaged {
                flow.lost += 1;
            } else {
                flow.arrived.packets += 1;
                flow.arrived.wire_bytes += frame.packet().len() as u64;
                flow.arrived.marked += u64::from(frame::ecn(frame.packet()) == longhaul_segment::Ecn::Ce);
            }
        }
        let host = HostId::new(frame.way as usize % self.hosts);
        self.arrivals.push(Arrival { due: self.now, host, frame });
    }

    fn offer(&mut self, observer: &mut impl Observer, link: LinkId, mut frame: Frame) {
        let now = self.now;
        observer.offered(now, link, &frame);
        let queue = &mut self.links[link];
        let fate = match &mut self.lines[link] {
            None => queue.offer(now, &mut frame),
            Some(line) => queue.offer_coded(now, &mut frame, line),
        };
        match fate {
            Fate::Arrives(arrival) => {
                if queue.carry(arrival, frame) {
                    self.agenda.set(link.index(), arrival);
                }
            }
            Fate::Queue => {
                queue.enqueue(now, frame);
                self.agenda.set(link.index(), queue.next_event());
                self.note_dropped(observer, link);
            }
            Fate::Dropped(cause) | Fate::Lost(cause, _) => {
                // A loss on the wire is known before it happens.
                let at = if let Fate::Lost(_, departure) = fate { departure } else { now };
                count_lost(&mut self.counters, &mut self.flows, &frame);
                observer.dropped(at, link, &frame, cause);
            }
        }
    }

    fn link_event(&mut self, observer: &mut impl Observer, id: LinkId) {
        let link = &mut self.links[id];
        let frame = link.poll(self.now);
        self.agenda.set(id.index(), link.next_event());
        if !link.is_fifo() {
            self.note_dropped(observer, id);
        }
        if let Some(mut frame) = frame {
            let copy = std::mem::take(&mut frame.twice).then(|| frame.clone());
            self.counters.copied += u64::from(copy.is_some());
            for frame in [Some(frame), copy].into_iter().flatten() {
                observer.delivered(self.now, id, &frame);
                self.go(observer, frame);
            }
        }
    }

    fn note_dropped(&mut self, observer: &mut impl Observer, link: LinkId) {
        for (frame, cause) in self.links[link].take_dropped() {
            count_lost(&mut self.counters, &mut self.flows, &frame);
            observer.dropped(self.now, link, &frame, cause);
        }
    }
}

/// The way from one node to another: links, and the middleboxes at the nodes between them that act on flows of these ends.
fn way(scenario: &Scenario, network: &Network, from: NodeId, to: NodeId) -> Vec<Step> {
    let joins = |flow: &FlowInstance, a: NodeId, b: NodeId| flow.from == a && flow.to == b;
    let any = |a: NodeId, b: NodeId| network.flows.iter().any(|flow| joins(flow, a, b));
    // Forward packets meet the middleboxes at a node in the order of the document, others in the opposite one.
    let reverse = any(to, from) && !any(from, to);
    let links = network.path(from, to).unwrap_or_default();
    let inner = &links[..links.len().saturating_sub(1)];
    let place = |node: NodeId| inner.iter().position(|link| network.links[*link].to == node);
    let acts = |instance: &MiddleboxInstance| {
        let chosen = |flow: &FlowId| {
            let flow = &network.flows[*flow];
            joins(flow, from, to) || joins(flow, to, from)
        };
        let on_the_way = instance.nodes.iter().all(|node| place(*node).is_some());
        let faces = !instance.one_way || place(instance.nodes[0]) < place(instance.nodes[1]);
        let named = !scenario.middlebox(instance.id).common().flows.is_empty();
        on_the_way && faces && (!named || instance.flows.iter().any(chosen))
    };
    let mut steps = vec![];
    for (position, link) in links.iter().enumerate() {
        steps.push(Step::Link(*link));
        if position + 1 == links.len() {
            break;
        }
        let node = network.links[*link].to;
        let here = network.middleboxes.iter().filter(|instance| acts(instance)).filter_map(|instance| {
            let port = instance.nodes.iter().position(|at| *at == node)?;
            Some(Step::Middlebox { middlebox: instance.id, port })
        });
        let mut here: Vec<Step> = here.collect();
        if reverse {
            here.reverse();
        }
        steps.append(&mut here);
    }
    steps
}

impl Known {
    fn new(spec: &FlowSpec) -> Known {
        let server_sends = spec.app.data_sender() == Side::Server;
        let protocol = if spec.quic().is_some() { frame::PROTOCOL_UDP } else { frame::PROTOCOL_TCP };
        Known { weight: spec.weight, server_sends, protocol }
    }
}

fn count_lost(counters: &mut Counters, flows: &mut IdVec<FlowId, FlowCounters>, frame: &Frame) {
    counters.dropped += 1;
    if let Some(flow) = flows.get_mut(frame.flow).filter(|_| frame.is_data) {
        flow.lost += 1;
    }
}
