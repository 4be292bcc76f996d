//! Links and middleboxes of a scenario with real packets in them, and the way of each packet through them. It knows no
//! clock and no device: packets are [injected](World::inject) at a host, time is told, and what has [arrived](World::arrivals)
//! carries the time at which it was due.
//!
//! Time within is that of the path: a packet enters its second link at the moment at which it was due at the end of the first,
//! however late the caller is. So being late does not add up over hops.

use crate::agenda::Agenda;
use crate::frame::{self, Frame, Shape};
use longhaul_path::link::Fate;
use longhaul_path::{DropCause, Link};
use longhaul_scenario::{AppSpec, FlowSpec, Network, Scenario, Step};
use longhaul_units::Instant;
use std::collections::HashMap;
use std::net::IpAddr;

/// A packet that has reached its host.
pub struct Arrival {
    /// When it was due.
    pub due: Instant,
    /// Number of the host.
    pub host: usize,
    /// The packet.
    pub frame: Frame,
}

/// Packets that were injected are the sum of those that arrived, were refused, were dropped on links, and are inside.
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
}

/// What became of the data packets of one of the scenario's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowCounters {
    /// Data packets that reached the receiver's host.
    pub arrived: u64,
    /// Their bytes, headers included.
    pub arrived_bytes: u64,
    /// Those with congestion experienced.
    pub marked: u64,
    /// Data packets that were dropped anywhere.
    pub lost: u64,
}

/// Who is told of packets on links.
pub trait Observer {
    /// A packet is offered to a link.
    fn offered(&mut self, _now: Instant, _link: usize, _frame: &Frame) {}
    /// A packet was dropped on a link.
    fn dropped(&mut self, _now: Instant, _link: usize, _frame: &Frame, _cause: DropCause) {}
}

/// Nobody.
impl Observer for () {}

/// Server ports of the scenario's flows begin here: the port tells the flow.
pub const FIRST_PORT: u16 = 10_000;

/// What is known of a flow beforehand.
struct Known {
    weight: u8,
    /// Its data comes from the passive opener.
    server_sends: bool,
}

/// Links, and packets in them.
pub struct World {
    links: Vec<Link<Frame>>,
    agenda: Agenda,
    /// Steps of the ways, one way for each ordered pair of hosts: from host `a` to `b` it is `a * hosts + b`.
    ways: Vec<Vec<Step>>,
    hosts: usize,
    addresses: HashMap<IpAddr, usize>,
    /// The scenario's flows, in the order of their ports.
    known: Vec<Known>,
    /// What has arrived, in order of time; to be taken away.
    pub arrivals: Vec<Arrival>,
    /// Counts of packets.
    pub counters: Counters,
    /// Counts for each of the scenario's flows.
    pub flows: Vec<FlowCounters>,
    now: Instant,
}

impl World {
    /// The links of a scenario. `hosts` are nodes with their addresses, in the order of their numbers.
    pub fn new(scenario: &Scenario, network: &Network, hosts: &[(usize, Vec<IpAddr>)]) -> Self {
        let seed = scenario.run.seed;
        let links: Vec<Link<Frame>> = network
            .links
            .iter()
            .map(|link| {
                let mut made = Link::new(&link.config, seed, &link.name);
                made.measure_waits();
                made
            })
            .collect();
        let ways = hosts.iter().flat_map(|(from, _)| {
            hosts.iter().map(|(to, _)| {
                let links = network.path(*from, *to).unwrap_or_default();
                links.into_iter().map(Step::Link).collect()
            })
        });
        let addresses = hosts
            .iter()
            .enumerate()
            .flat_map(|(number, (_, addresses))| addresses.iter().map(move |address| (*address, number)));
        World {
            agenda: Agenda::new(links.len()),
            links,
            ways: ways.collect(),
            hosts: hosts.len(),
            addresses: addresses.collect(),
            known: network.flows.iter().map(|flow| Known::new(&scenario.flow[flow.group])).collect(),
            arrivals: vec![],
            counters: Counters::default(),
            flows: vec![FlowCounters::default(); network.flows.len()],
            now: Instant::ZERO,
        }
    }

    /// A link, to look at its counters.
    pub fn link(&mut self, link: usize) -> &mut Link<Frame> {
        &mut self.links[link]
    }

    /// When something happens next by itself.
    pub fn next_event(&mut self) -> Option<Instant> {
        self.agenda.first().map(|(time, _)| time)
    }

    /// Handles all that is due at `now`.
    pub fn advance(&mut self, observer: &mut impl Observer, now: Instant) {
        while let Some((time, component)) = self.agenda.take_due(now) {
            self.now = self.now.max(time);
            self.link_event(observer, component);
        }
        self.now = self.now.max(now);
    }

    /// A host has sent a packet; `network` bytes precede its IP header. Everything due before is handled first.
    pub fn inject(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        host: usize,
        network: u16,
        bytes: &[u8],
    ) {
        self.advance(observer, now);
        self.counters.injected += 1;
        let Some(shape) = bytes.get(usize::from(network)..).and_then(Shape::of) else {
            self.counters.unreadable += 1;
            return;
        };
        let Some(to) = self.addresses.get(&shape.dst).copied().filter(|to| *to != host) else {
            self.counters.no_route += 1;
            return;
        };
        let way = host * self.hosts + to;
        if self.ways[way].is_empty() {
            self.counters.no_route += 1;
            return;
        }
        let (flow, is_data) = self.flow_of(&shape);
        let frame = Frame {
            bytes: bytes.to_vec(),
            network,
            step: 0,
            way: way as u32,
            flow,
            is_data,
            hash: shape.flow_hash(),
            weight: self.known.get(flow as usize).map_or(1, |known| known.weight),
        };
        self.go(observer, frame);
    }

    /// The scenario's flow that a packet belongs to, and whether it carries its data: servers listen on a port of their own for
    /// each.
    fn flow_of(&self, shape: &Shape) -> (u32, bool) {
        let flow = |port: u16| {
            let number = port.checked_sub(FIRST_PORT)?;
            self.known.get(usize::from(number)).map(|known| (u32::from(number), known))
        };
        let Some((src, dst)) = shape.ports.filter(|_| shape.protocol == frame::PROTOCOL_TCP) else {
            return (Frame::NO_FLOW, false);
        };
        match (flow(dst), flow(src)) {
            (Some((number, known)), _) => (number, !known.server_sends && shape.payload > 0),
            (_, Some((number, known))) => (number, known.server_sends && shape.payload > 0),
            _ => (Frame::NO_FLOW, false),
        }
    }

    /// Takes a packet to the step of its way that it is at.
    fn go(&mut self, observer: &mut impl Observer, mut frame: Frame) {
        let step = self.ways[frame.way as usize].get(usize::from(frame.step)).copied();
        frame.step += 1;
        match step {
            None => self.arrive(frame),
            Some(Step::Link(link)) => self.offer(observer, link, frame),
            Some(Step::Middlebox { .. }) => self.go(observer, frame),
        }
    }

    fn arrive(&mut self, frame: Frame) {
        self.counters.arrived += 1;
        if let Some(flow) = self.flows.get_mut(frame.flow as usize).filter(|_| frame.is_data) {
            flow.arrived += 1;
            flow.arrived_bytes += frame.packet().len() as u64;
            flow.marked += u64::from(frame::ecn(frame.packet()) == longhaul_segment::Ecn::Ce);
        }
        let host = frame.way as usize % self.hosts;
        self.arrivals.push(Arrival { due: self.now, host, frame });
    }

    fn offer(&mut self, observer: &mut impl Observer, link: usize, mut frame: Frame) {
        let now = self.now;
        observer.offered(now, link, &frame);
        let queue = &mut self.links[link];
        match queue.offer(now, &mut frame) {
            Fate::Arrives(arrival) => {
                if queue.carry(arrival, frame) {
                    self.agenda.set(link, arrival);
                }
            }
            Fate::Queue => {
                queue.enqueue(now, frame);
                self.agenda.set(link, queue.next_event());
                self.note_dropped(observer, link);
            }
            Fate::Dropped(cause) | Fate::Lost(cause, _) => {
                count_lost(&mut self.flows, &frame);
                observer.dropped(now, link, &frame, cause);
            }
        }
    }

    fn link_event(&mut self, observer: &mut impl Observer, index: usize) {
        let link = &mut self.links[index];
        let frame = link.poll(self.now);
        self.agenda.set(index, link.next_event());
        if !link.is_fifo() {
            self.note_dropped(observer, index);
        }
        if let Some(frame) = frame {
            self.go(observer, frame);
        }
    }

    fn note_dropped(&mut self, observer: &mut impl Observer, link: usize) {
        for (frame, cause) in self.links[link].take_dropped() {
            count_lost(&mut self.flows, &frame);
            observer.dropped(self.now, link, &frame, cause);
        }
    }
}

impl Known {
    fn new(spec: &FlowSpec) -> Known {
        let server_sends = matches!(spec.app, AppSpec::Request { .. } | AppSpec::Web { .. });
        Known { weight: spec.weight, server_sends }
    }
}

fn count_lost(flows: &mut [FlowCounters], frame: &Frame) {
    if let Some(flow) = flows.get_mut(frame.flow as usize).filter(|_| frame.is_data) {
        flow.lost += 1;
    }
}
