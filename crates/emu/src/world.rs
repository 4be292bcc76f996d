//! Links and middleboxes of a scenario with real packets in them, and the way of each packet through them. It has no
//! clock and no device: packets are [injected](World::inject) at a host, time is an argument, and what has [arrived](World::arrivals)
//! carries the time at which it was due.
//!
//! Time within is that of the path: a packet enters its second link at the moment at which it was due at the end of the first,
//! however late the caller is. So being late does not add up over hops.

use crate::addresses::Ranges;
use crate::connections::{Connections, FIRST_OWN, LONGEST_HEADER, Leaving, LinkHeader, Outside, Seen};
use crate::driver::{LinkChange, LinkReading};
use crate::frame::{self, Frame, OwnPacket, Shape};
use crate::freight::Frames;
use crate::icmp::{self, Report, is_for_many};
use crate::line::CompressedLine;
use crate::own;
use crate::plan::{self, Known, Later, Narrow, Passed, Plan};
use crate::rewrite::{Read, rewrite};
use crate::stage::{Payload, Stage};
use crate::unrouted::{self, Cause, Unrouted};
use ipnet::IpNet;
use longhaul_fabric::{Fabric, Port, Source};
use longhaul_middlebox::{Departure, Event, Passing, Verdict};
use longhaul_path::{DropCause, Link};
use longhaul_results::{Arrived, MiddleboxFacts, Tables};
use longhaul_scenario::DirectedLink;
use longhaul_segment::{Segment, ip, wire};
use longhaul_units::{Duration, FlowId, HostId, Id, IdVec, Instant, LinkId, MiddleboxId, counters, ids};
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
    /// Refused by a router, since their TTL had come to 0.
    pub expired: u64,
    /// Longer than a link on their way carries: refused, dropped or cut into fragments by the router before it.
    pub too_big: u64,
    /// Packets that were for a router itself.
    pub to_routers: u64,
    /// Packets that middleboxes have taken in, and packets that they and routers have sent by themselves.
    pub taken: u64,
    /// See above.
    pub originated: u64,
    /// Packets dropped on links, whatever the cause, or at the end of a link that their way has left, and damaged ones that a middlebox
    /// would have taken in.
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
    /// A packet has come to the end of a link that its way has left, where it is lost.
    fn left_behind(&mut self, _now: Instant, _link: LinkId, _frame: &Frame) {}
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
    fn left_behind(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        if let Some(observer) = self {
            observer.left_behind(now, link, frame);
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
/// Routers of a world send one report in this time, or so many at once: Linux's `icmp_msgs_per_sec` and `icmp_msgs_burst`.
const REPORT_INTERVAL: Duration = Duration::from_millis(1);
const REPORTS_AT_ONCE: u64 = 50;

/// The host with the way out: what is for no host's address goes there, and is handed on.
#[derive(Clone, Copy)]
struct Gateway {
    host: HostId,
    /// IPv6 too.
    v6: bool,
    /// Addresses of hosts and routers: what nobody has of them is not outside either.
    inside: [IpNet; 2],
}

impl Gateway {
    fn is_inside(&self, address: IpAddr) -> bool {
        self.inside.iter().any(|range| range.contains(&address))
    }
}

/// Links, and packets in them.
pub struct World {
    fabric: Fabric<Frames>,
    stages: IdVec<MiddleboxId, Stage>,
    connections: Connections,
    /// Addresses of the ends of the middleboxes' own connections.
    own_ends: Vec<[IpAddr; 2]>,
    hosts: usize,
    /// Addresses of hosts, and of the routers behind them.
    ends: IdVec<HostId, [IpAddr; 2]>,
    addresses: HashMap<IpAddr, HostId>,
    passed: Passed,
    narrow: HashMap<usize, Vec<Narrow>>,
    later: Vec<Vec<Later>>,
    first_hops: Vec<Option<HostId>>,
    gateway: Option<Gateway>,
    /// There are two hosts, and whatever comes from one goes to the other.
    bridged: bool,
    /// Before this time no router reports a dropped packet.
    next_report: Instant,
    /// Packets that led nowhere.
    pub unrouted: Unrouted,
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

/// Counts what happens on links, and passes it on.
struct Counting<'a, O> {
    observer: &'a mut O,
    counters: &'a mut Counters,
    flows: &'a mut IdVec<FlowId, FlowCounters>,
}

impl<O: Observer> longhaul_fabric::Observer<Frames> for Counting<'_, O> {
    fn dropped(&mut self, now: Instant, link: LinkId, frame: &Frame, _: &Frames, cause: DropCause) {
        count_lost(self.counters, self.flows, frame);
        self.observer.dropped(now, link, frame, cause);
    }
    fn left_behind(&mut self, now: Instant, link: LinkId, frame: &Frame, _: &Frames) {
        count_lost(self.counters, self.flows, frame);
        self.observer.left_behind(now, link, frame);
    }
    fn offered(&mut self, now: Instant, link: LinkId, frame: &Frame, _: &Frames) {
        self.observer.offered(now, link, frame);
    }
    fn delivered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.observer.delivered(now, link, frame);
    }
    fn copied(&mut self) {
        self.counters.copied += 1;
    }
}

impl World {
    /// A world as planned, at time zero.
    pub fn new(plan: Plan<'_>) -> Self {
        let Plan {
            topology,
            stages,
            own_ends,
            hosts,
            ends,
            passed,
            narrow,
            later,
            first_hops,
            addresses,
            known,
        } = plan;
        // Whoever observes is notified of all packets on all links.
        let watched = IdVec::filled(true, topology.links.len());
        let line = |link: &DirectedLink| CompressedLine::new(&link.config.serial?);
        let mut fabric = Fabric::new(&topology, None, &watched, line, stages.len());
        topology.links.ids().for_each(|link| fabric.link(link).measure_waits(Instant::ZERO));
        let flows = IdVec::filled(FlowCounters::default(), known.len());
        let mut world = World {
            fabric,
            stages,
            connections: Connections::default(),
            own_ends,
            hosts,
            ends,
            addresses,
            passed,
            narrow,
            later,
            first_hops,
            gateway: None,
            bridged: false,
            next_report: Instant::ZERO,
            unrouted: Unrouted::default(),
            known,
            arrivals: vec![],
            counters: Counters::default(),
            flows,
            now: Instant::ZERO,
        };
        world.stages.ids().for_each(|stage| world.set_timer(stage));
        world
    }

    /// A link, to look at its counters.
    pub fn link(&mut self, link: LinkId) -> &mut Link<Frame> {
        self.fabric.link(link)
    }

    /// A link goes on by another script.
    pub fn follow(&mut self, change: LinkChange) {
        let LinkChange { link, schedule } = change;
        self.fabric.follow(link, schedule);
    }

    /// How all links are.
    pub fn readings(&mut self, now: Instant) -> Vec<LinkReading> {
        let of = |link: &mut Link<Frame>| LinkReading {
            at: now,
            scripted: link.script_at(now),
            waiting: link.occupancy(now),
            stats: link.stats(now),
        };
        (0..self.fabric.link_count()).map(|link| of(self.fabric.link(LinkId::new(link)))).collect()
    }

    /// From now on, what is for no host's address goes to this one, multicast apart, and what is in the ranges of hosts; IPv6 only with
    /// `v6`.
    pub fn set_gateway(&mut self, host: HostId, v6: bool, ranges: &Ranges) {
        self.gateway = Some(Gateway { host, v6, inside: ranges.both() });
    }

    /// From now on, whatever comes from one of the two hosts goes to the other, whatever its address.
    pub fn bridge(&mut self) {
        self.bridged = true;
        self.fabric.freight.is_wire = true;
    }

    /// When something happens next by itself.
    pub fn next_event(&mut self) -> Option<Instant> {
        let (time, _) = self.fabric.first();
        (time < Instant::FAR_FUTURE).then_some(time)
    }

    /// Handles all that is due at `now`.
    pub fn advance(&mut self, observer: &mut impl Observer, now: Instant) {
        while self.fabric.next_change() <= now {
            let at = self.fabric.next_change();
            // What is due at the time of a change takes the new way.
            self.handle(observer, at);
            let list = self.fabric.change_ways();
            for Later { way, routers, narrow } in list.into_iter().flat_map(|list| &self.later[list]) {
                self.passed.change(*way, routers);
                self.narrow.insert(*way, narrow.clone());
            }
        }
        self.handle(observer, now + Duration::from_nanos(1));
        self.now = self.now.max(now);
    }

    /// Handles all that is due before `end`.
    fn handle(&mut self, observer: &mut impl Observer, end: Instant) {
        // Nothing is served ahead of time here, so that there are no lanes.
        while let (time, Source::Component(component)) = self.fabric.first() {
            if time >= end {
                break;
            }
            self.now = self.now.max(time);
            match component.checked_sub(self.fabric.link_count()) {
                None => {
                    let World { fabric, counters, flows, .. } = self;
                    let mut counting = Counting { observer, counters, flows };
                    fabric.handle_event(&mut counting, self.now, LinkId::new(component));
                }
                Some(stage) => {
                    self.fabric.timeline.set(component, Instant::FAR_FUTURE);
                    let stage = MiddleboxId::new(stage);
                    self.stages[stage].work.wake(self.now);
                    self.serve(observer, stage);
                }
            }
            self.settle(observer);
        }
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
        let Some((to, dropped_there)) = self.destination(host, &shape, inside) else {
            self.counters.no_route += 1;
            if is_for_many(shape.dst)
                && !unrouted::is_housekeeping(shape.protocol, shape.dst, shape.inside(inside))
            {
                self.unrouted.count(Cause::Many, shape.dst);
            }
            return;
        };
        let way = plan::way_between(self.ends.len(), host.index(), to.index());
        let (flow, _) = self.flow_of(&shape);
        let len = if self.bridged { frame::without_padding(inside) } else { inside.len() };
        // A wire reports nothing.
        if self.bridged && self.too_long(way, len, 0).is_some() {
            self.counters.too_big += 1;
            return;
        }
        let bytes = &bytes[..usize::from(network) + len];
        let frame = self.frame(bytes.to_vec(), network, way as u32, &shape, flow);
        if !self.begin(observer, Frame { dropped_there, ..frame }) {
            self.counters.no_route += 1;
        }
    }

    fn begin(&mut self, observer: &mut impl Observer, frame: Frame) -> bool {
        let World { fabric, counters, flows, .. } = self;
        fabric.begin(&mut Counting { observer, counters, flows }, self.now, frame)
    }

    /// Where a host's packet goes, and why it goes no further if that is not where it is to go; `None` if it goes nowhere.
    fn destination(&self, from: HostId, shape: &Shape, packet: &[u8]) -> Option<(HostId, Option<Report>)> {
        if self.bridged {
            return Some((HostId(1 - from.0), None));
        }
        let out = self.gateway.filter(|gateway| gateway.host != from && !gateway.is_inside(shape.dst));
        let (to, report) = match (self.addresses.get(&shape.dst), out) {
            (Some(to), _) => (*to, None),
            _ if is_for_many(shape.dst) => return None,
            (None, Some(Gateway { host, v6, .. })) => {
                (host, (shape.dst.is_ipv6() && !v6).then_some(Report::NoRoute))
            }
            (None, None) => (self.first_hops[from.index()]?, Some(Report::NoRoute)),
        };
        if to == from {
            return None;
        }
        let way = plan::way_between(self.ends.len(), from.index(), to.index());
        let (there, dropped) = self.fate(way, packet);
        Some((there.unwrap_or(to), dropped.or(report)))
    }

    /// The router at which a packet of a way goes no further, and why; nothing if it comes to the end. The first link carries it.
    fn fate(&self, way: usize, packet: &[u8]) -> (Option<HostId>, Option<Report>) {
        let routers = self.passed.on(way);
        // The router that will have counted down its TTL to 0, and the one before a link that does not carry it.
        let expires = usize::from(frame::ttl(packet).unwrap_or(u8::MAX).max(1)) - 1;
        let narrow = self.too_long(way, packet.len(), 1);
        match (routers.get(expires), narrow) {
            (Some(router), narrow) if narrow.is_none_or(|link| expires < link.behind) => {
                (Some(*router), Some(Report::TimeExceeded))
            }
            (_, Some(Narrow { behind, mtu, told })) => {
                (routers.get(behind - 1).copied(), Some(Report::TooBig { mtu, told }))
            }
            _ => (None, None),
        }
    }

    /// The first link of a way that does not carry a packet of so many bytes, but for those with fewer links before them.
    fn too_long(&self, way: usize, len: usize, least_behind: usize) -> Option<Narrow> {
        let links = self.narrow.get(&way)?.iter();
        links.copied().find(|link| link.behind >= least_behind && len > usize::from(link.mtu))
    }

    fn frame(&self, bytes: Vec<u8>, network: u16, way: u32, shape: &Shape, flow: FlowId) -> Frame {
        Frame {
            bytes,
            network,
            way,
            flow,
            is_data: self.flow_of(shape).1,
            hash: shape.flow_hash(),
            weight: self.known.get(flow).map_or(1, |known| known.weight),
            own: None,
            damaged: false,
            twice: false,
            dropped_there: None,
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
        let Some((src, dst)) = shape.ports else { return (Frame::NO_FLOW, false) };
        match (flow(dst), flow(src)) {
            (Some((flow, known)), _) => (flow, !known.server_sends && shape.payload >= known.least),
            (_, Some((flow, known))) => (flow, known.server_sends && shape.payload >= known.least),
            _ => (Frame::NO_FLOW, false),
        }
    }

    /// Does what is left to do after an input or an event: packets at the ends of their ways arrive, others pass middleboxes.
    fn settle(&mut self, observer: &mut impl Observer) {
        loop {
            let mut arrivals = std::mem::take(&mut self.fabric.arrivals);
            for arrival in arrivals.drain(..) {
                if arrival.packet.damaged {
                    observer.refused(self.now, &arrival.packet);
                }
                let to = arrival.packet.way as usize % self.ends.len();
                match arrival.packet.dropped_there {
                    None if to < self.hosts => self.arrive(arrival.packet),
                    report => self.at_router(observer, arrival.packet, report),
                }
            }
            self.fabric.arrivals = arrivals;
            let Some((port, frame)) = self.fabric.take_for_middlebox() else { return };
            self.pass(observer, port, frame);
        }
    }

    /// A packet has reached a middlebox.
    fn pass(&mut self, observer: &mut impl Observer, port: Port, mut frame: Frame) {
        let stage = port.middlebox();
        observer.entered(self.now, stage, &frame);
        match self.show(port, &mut frame) {
            // The way of a middlebox's own packets ends there.
            None if frame.own.is_some() => {
                count_lost(&mut self.counters, &mut self.flows, &frame);
                observer.refused(self.now, &frame);
            }
            None => {
                self.counters.unseen += 1;
                self.leave(observer, port, frame);
            }
            Some(verdict) if verdict == Verdict::Taken || frame.own.is_some() => {
                self.counters.taken += 1;
                self.serve(observer, stage);
            }
            Some(_) => {
                self.leave(observer, port, frame);
                self.serve(observer, stage);
            }
        }
    }

    /// A packet leaves a middlebox.
    fn leave(&mut self, observer: &mut impl Observer, port: Port, frame: Frame) {
        observer.left(self.now, port.middlebox(), &frame);
        let World { fabric, counters, flows, .. } = self;
        fabric.send_from_middlebox(&mut Counting { observer, counters, flows }, self.now, port, frame);
    }

    /// Shows a packet to a middlebox; `None` if it is none that it reads.
    fn show(&mut self, port: Port, frame: &mut Frame) -> Option<Verdict> {
        if frame.damaged {
            return None;
        }
        if let Some(own) = frame.own.clone() {
            return Some(self.show_own(port, frame, &own));
        }
        // What middleboxes send would lack the header.
        if usize::from(frame.network) > LONGEST_HEADER {
            return None;
        }
        let stage = port.middlebox();
        let (read, payload) = Read::of(frame.packet()).filter(|(read, _)| self.stages[stage].reads(read))?;
        let payload = Payload::copy_from_slice(payload);
        let before = read.before;
        let (connection, direction) = self.connections.of(self.now, &self.seen(frame, &read))?;
        let (mut segment, mut ecn) = (before, read.ip.ecn);
        let passing = Passing { connection, direction, ecn: &mut ecn, segment: &mut segment, body: &payload };
        let verdict = self.stages[stage].handle(self.now, port, passing);
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

    fn show_own(&mut self, port: Port, frame: &Frame, own: &OwnPacket) -> Verdict {
        let OwnPacket { connection, direction, mut segment, body } = own.clone();
        let mut ecn = frame::ecn(frame.packet());
        let passing = Passing { connection, direction, ecn: &mut ecn, segment: &mut segment, body: &body };
        self.stages[port.middlebox()].handle(self.now, port, passing)
    }

    fn seen(&self, frame: &Frame, read: &Read) -> Seen {
        let (way, ends) = (frame.way as usize, self.ends.len());
        let link = LinkHeader::of(&frame.bytes[..usize::from(frame.network)]);
        Seen {
            src: (read.ip.src, read.before.src_port),
            dst: (read.ip.dst, read.before.dst_port),
            tcp_flags: read.before.flags.0 as u8,
            way: frame.way,
            back: plan::way_between(ends, way % ends, way / ends) as u32,
            flow: frame.flow,
            outside: Outside { ip: read.ip, link },
        }
    }

    /// Carries out a middlebox's actions after an input.
    fn serve(&mut self, observer: &mut impl Observer, stage: MiddleboxId) {
        let mut segment = Segment::default();
        loop {
            let at_work = &mut self.stages[stage].work;
            at_work.observe(&mut self.fabric, self.now);
            let Some(departure) = at_work.inner.transmit_into(self.now, &mut segment) else { break };
            let port = Port::new(stage, departure.port);
            let frame = if departure.connection < FIRST_OWN {
                self.made(&segment, &departure)
            } else {
                self.made_own(&segment, departure)
            };
            // A connection may bypass a middlebox on its way back.
            if let Some(frame) = frame.filter(|frame| self.fabric.goes_on(port, frame)) {
                self.counters.originated += 1;
                if let Some(flow) = self.flows.get_mut(frame.flow).filter(|_| frame.is_data) {
                    flow.made += 1;
                }
                self.leave(observer, port, frame);
            }
        }
        while let Some(event) = self.stages[stage].work.inner.poll_event() {
            let Event::Dropped { connection, payload_len, .. } = event;
            let flow = self.connections.flow_of(connection).filter(|_| payload_len > 0);
            if let Some(flow) = flow.and_then(|flow| self.flows.get_mut(flow)) {
                flow.lost += 1;
            }
        }
        self.set_timer(stage);
    }

    /// A packet of a flow that a middlebox sends by itself.
    fn made(&self, segment: &Segment, departure: &Departure<Payload>) -> Option<Frame> {
        let Leaving { ports, outside, way, flow } =
            self.connections.leaving(departure.connection, departure.direction)?;
        let header = ip::Header { ecn: departure.ecn, ..outside.ip };
        let segment = Segment { src_port: ports.0, dst_port: ports.1, ..*segment };
        let mut bytes = outside.link.map_or(vec![], |header| header.bytes().to_vec());
        let network = bytes.len();
        wire::encode(&header, &segment, &departure.body, &mut bytes).ok()?;
        let shape = Shape::of(&bytes[network..])?;
        Some(self.frame(bytes, network as u16, way, &shape, flow))
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
        let way = own::way(self.ends.len(), number, direction) as u32;
        let own = OwnPacket { connection, direction, segment: *segment, body };
        let own = Some(Arc::new(own));
        Some(Frame { own, is_data: false, ..self.frame(bytes, 0, way, &shape, Frame::NO_FLOW) })
    }

    fn set_timer(&mut self, stage: MiddleboxId) {
        let component = self.fabric.link_count() + stage.index();
        self.fabric.timeline.set(component, self.stages[stage].work.due());
    }

    /// Averages of middleboxes are of the time from now on.
    pub fn begin_measuring(&mut self, now: Instant) {
        self.stages.iter_mut().for_each(|stage| stage.work.begin_measuring(now));
    }

    /// What middleboxes have done.
    pub fn middleboxes(&self) -> IdVec<MiddleboxId, MiddleboxFacts> {
        self.stages.iter().map(|stage| stage.work.facts()).collect()
    }

    /// Looks at all middleboxes, `span` after the last look.
    pub fn sample_middleboxes(&mut self, now: Instant, span: Duration, measuring: bool, tables: &mut Tables) {
        for (id, stage) in ids(self.stages.len()).zip(&mut self.stages) {
            stage.work.sample(id, now, span, measuring, Some(tables));
        }
    }

    /// A packet is at the end of its way, at a router: it is dropped there, or for the router itself.
    fn at_router(&mut self, observer: &mut impl Observer, frame: Frame, report: Option<Report>) {
        let ends = self.ends.len();
        let (from, router) = (frame.way as usize / ends, frame.way as usize % ends);
        let packet = frame.packet();
        let Some(shape) = Shape::of(packet) else { return };
        match report {
            Some(Report::NoRoute) => {
                let outside = self.gateway.is_some_and(|gateway| !gateway.is_inside(shape.dst));
                let cause = if outside && shape.dst.is_ipv6() { Cause::NoIpv6 } else { Cause::NoHost };
                self.unrouted.count(cause, shape.dst);
                self.counters.no_route += 1;
            }
            Some(Report::TimeExceeded) => self.counters.expired += 1,
            Some(Report::TooBig { told, .. }) => {
                self.counters.too_big += 1;
                if let Some((way, fragments)) = told.then(|| self.cut(router, shape.dst, packet)).flatten() {
                    return self.send_fragments(observer, way, fragments);
                }
            }
            _ => self.counters.to_routers += 1,
        }
        if let Some(flow) = self.flows.get_mut(frame.flow).filter(|_| frame.is_data) {
            flow.lost += 1;
        }
        let address = self.ends[HostId::new(router)][usize::from(shape.dst.is_ipv6())];
        let reply = || if report.is_none() { icmp::echo_reply(packet) } else { None };
        let Some(sent) = reply().or_else(|| {
            let report = report.unwrap_or(Report::NoPort);
            report.of(packet, address).filter(|_| self.may_report())
        }) else {
            return;
        };
        let Some(shape) = Shape::of(&sent) else { return };
        let way = plan::way_between(ends, router, from) as u32;
        let sent = self.frame(sent, 0, way, &shape, Frame::NO_FLOW);
        if self.begin(observer, sent) {
            self.counters.originated += 1;
        }
    }

    /// The fragments of a packet that a router may cut, and their way from there. They are as long as all links behind it carry, so that
    /// none is cut twice.
    fn cut(&self, router: usize, dst: IpAddr, packet: &[u8]) -> Option<(usize, Vec<Vec<u8>>)> {
        // What is for outside goes to the host with the way out.
        let out = || self.gateway.map(|gateway| gateway.host);
        let to = self.addresses.get(&dst).copied().or_else(out)?;
        let way = plan::way_between(self.ends.len(), router, to.index());
        let mtu = self.narrow.get(&way)?.iter().filter(|link| link.told).map(|link| link.mtu).min()?;
        Some((way, frame::fragments(packet, mtu)?))
    }

    /// A router passes on the fragments of a packet.
    fn send_fragments(&mut self, observer: &mut impl Observer, way: usize, fragments: Vec<Vec<u8>>) {
        for mut fragment in fragments {
            self.counters.originated += 1;
            // Routers before have counted down its TTL on links; this one sends it by itself.
            frame::count_down(&mut fragment);
            let Some(shape) = Shape::of(&fragment) else { continue };
            match self.fate(way, &fragment) {
                (None, None) => {
                    let frame = self.frame(fragment, 0, way as u32, &shape, Frame::NO_FLOW);
                    if !self.begin(observer, frame) {
                        self.counters.no_route += 1;
                    }
                }
                // A later router drops it; a report would be of a fragment that nobody has sent.
                (_, Some(Report::TimeExceeded)) => self.counters.expired += 1,
                _ => self.counters.too_big += 1,
            }
        }
    }

    /// Reports are few, whatever hosts send (RFC 1812 section 4.3.2.8).
    fn may_report(&mut self) -> bool {
        let may = self.next_report <= self.now + REPORT_INTERVAL * REPORTS_AT_ONCE;
        if may {
            self.next_report = self.next_report.max(self.now) + REPORT_INTERVAL;
        }
        may
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
        let host = HostId::new(frame.way as usize % self.ends.len());
        self.arrivals.push(Arrival { due: self.now, host, frame });
    }
}

fn count_lost(counters: &mut Counters, flows: &mut IdVec<FlowId, FlowCounters>, frame: &Frame) {
    counters.dropped += 1;
    if let Some(flow) = flows.get_mut(frame.flow).filter(|_| frame.is_data) {
        flow.lost += 1;
    }
}
