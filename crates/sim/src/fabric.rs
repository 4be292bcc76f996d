//! All links of a simulation and the way of a packet through them.
//!
//! A link whose packets all come from one other link in a known order (a private access link behind a bottleneck) is
//! served ahead of time: its packets' arrivals at the far end are computed when they enter the link before it, so that
//! the hop between costs no event. In the same way a packet may be handed to its endpoint ahead of time, if nothing else can
//! reach that endpoint before (see [`Delivery`]). The result is the same, packet by packet.
//!
//! Middleboxes stand between links. What reaches one does so in an event of its own, never ahead of time: see
//! [`Fabric::take_for_middlebox`].

use crate::line::CompressedLine;
use crate::packet::{Packet, Segments};
use crate::timeline::Timeline;
use longhaul_middlebox::QueueState;
use longhaul_path::link::Fate;
use longhaul_path::{DropCause, Link};
use longhaul_scenario::{Network, Step};
use longhaul_segment::{LineStats, Segment};
use longhaul_units::Instant;
use std::collections::VecDeque;

/// Where a packet goes at the end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The same way for all packets.
    Always(Hop),
    /// It depends: look up `hops[offset + packet.to]`.
    Lookup(u32),
}

/// One step of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hop {
    /// The packet has reached its endpoint.
    Arrived,
    /// To a link.
    Link(u32),
    /// To a link that is served ahead of time.
    Ahead(u32),
    /// To a middlebox.
    Middlebox(Port),
}

/// A middlebox and which of its nodes: 0, or 1 for the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Port {
    pub middlebox: u16,
    pub port: u16,
}

impl Port {
    fn index(self) -> usize {
        2 * usize::from(self.middlebox) + usize::from(self.port)
    }
}

/// Until when packets on a link may be handed to their endpoint ahead of time. It takes a link that serves one endpoint
/// alone, in order, and an endpoint that sends on a link of its own and whose application does not act by itself meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Delivery {
    /// Not at all.
    OnTime = 0,
    /// Up to the next point in time at which the world's state is looked at.
    UntilStop = 1,
    /// Up to the next point in time at which receivers' counters are looked at.
    UntilCount = 2,
}

/// A packet that reaches its endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub packet: Packet,
    pub at: Instant,
    /// The link that it comes from.
    pub link: usize,
}

/// Who is notified of what happens to packets.
pub(crate) trait Observer {
    /// A packet was dropped, or will be lost on the wire at a time still to come.
    fn dropped(&mut self, now: Instant, link: usize, packet: &Packet, segment: &Segment, cause: DropCause);
    /// A packet is offered to a link that is watched: captured or monitored.
    fn offered(&mut self, now: Instant, link: usize, packet: &Packet, segments: &Segments);
}

pub(crate) struct Fabric {
    /// Next event of each link, and of whatever else has events.
    pub timeline: Timeline,
    /// Packets that are to be handed to their endpoints, those for one endpoint in order of time.
    pub arrivals: Vec<Arrival>,
    /// When the first of them arrives.
    pub first_arrival: Instant,
    /// Segments on their way.
    pub segments: Segments,
    links: Vec<Entry>,
    hops: Vec<Hop>,
    /// Where packets go that leave a middlebox, by [`Port::index`].
    after_ports: Vec<Next>,
    /// Packets that have reached a middlebox.
    at_middleboxes: VecDeque<(Port, Packet)>,
    /// For each [`Delivery`], the time that an arrival must stay before.
    horizons: [Instant; 3],
}

#[repr(C, align(64))]
struct Entry {
    next: Next,
    watched: bool,
    delivery: Delivery,
    link: Link<Packet>,
    /// Header compression on the link.
    line: Option<Box<CompressedLine>>,
}

impl Fabric {
    /// Builds the links of a network. `serve_ahead` may be turned off to check that it changes nothing.
    /// `bound` returns for each endpoint how far ahead its application and those who look at it let packets be handed over.
    /// The timeline has `others` components beside the links, after them.
    pub fn new(
        network: &Network,
        seed: u64,
        serve_ahead: bool,
        watched: &[bool],
        bound: impl Fn(usize) -> Delivery,
        others: usize,
    ) -> Self {
        let links: Vec<Link<Packet>> =
            network.links.iter().map(|link| Link::new(&link.config, seed, &link.name)).collect();
        let ways = Ways::new(network);
        let ahead = |link: usize| {
            let fed_in_order = ways.predecessor[link].flatten().is_some_and(|before| links[before].is_fifo());
            serve_ahead && fed_in_order && links[link].is_fifo() && !network.links[link].declared
        };
        let hop = |after: Option<Step>| match after {
            None => Hop::Arrived,
            Some(Step::Link(link)) if ahead(link) => Hop::Ahead(link as u32),
            Some(Step::Link(link)) => Hop::Link(link as u32),
            Some(Step::Middlebox { middlebox, port }) => {
                Hop::Middlebox(Port { middlebox: middlebox as u16, port: port as u16 })
            }
        };
        let mut hops = vec![];
        let mut next = |list: &Vec<(usize, Option<Step>)>| match list.first() {
            None => Next::Always(Hop::Arrived),
            Some((_, first)) if list.iter().all(|(_, after)| after == first) => Next::Always(hop(*first)),
            Some(_) => {
                let offset = hops.len();
                hops.resize(offset + 2 * network.connections(), Hop::Arrived);
                list.iter().for_each(|(to, after)| hops[offset + to] = hop(*after));
                Next::Lookup(offset as u32)
            }
        };
        let after_ports = ways.after_ports.iter().map(&mut next).collect();
        let next: Vec<Next> = ways.successors.iter().map(next).collect();
        // What an endpoint drops for its checksum is a loss, and losses are looked at whenever the world stops.
        let damages = network.links.iter().any(|link| link.config.corruption.is_some());
        let delivery: Vec<Delivery> = (0..links.len())
            .map(|link| match ways.successors[link][..] {
                [(endpoint, None)] if serve_ahead && !damages && links[link].is_fifo() => {
                    bound(endpoint).min(ways.delivery_to(endpoint, network, &links))
                }
                _ => Delivery::OnTime,
            })
            .collect();
        let timeline = Timeline::new(links.len() + others);
        let lines = network.links.iter().map(|link| {
            let spec = link.config.serial?;
            CompressedLine::new(&spec, network).map(Box::new)
        });
        let links = links
            .into_iter()
            .zip(lines)
            .zip(next)
            .zip(watched)
            .zip(delivery)
            .map(|((((link, line), next), watched), delivery)| Entry {
                link,
                next,
                watched: *watched,
                delivery,
                line,
            })
            .collect();
        Fabric {
            timeline,
            arrivals: vec![],
            first_arrival: Instant::FAR_FUTURE,
            segments: Segments::default(),
            links,
            hops,
            after_ports,
            at_middleboxes: VecDeque::new(),
            horizons: [Instant::ZERO; 3],
        }
    }

    /// Sets how far deliveries ahead of time may go: to `stop`, where the world's state is looked at next, and for those
    /// who only receive to `count`, where their counters are.
    pub fn set_horizons(&mut self, stop: Instant, count: Instant) {
        self.horizons = [Instant::ZERO, stop, count];
    }

    /// Number of links; their components on the timeline are the first ones.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// A link, to look at its counters.
    pub fn link(&mut self, link: usize) -> &mut Link<Packet> {
        &mut self.links[link].link
    }
    /// What waits for a link, as a router that stands at it sees.
    pub fn queue_state(&mut self, link: usize, now: Instant) -> QueueState {
        let link = &mut self.links[link].link;
        QueueState { bytes: link.occupancy(now).bytes, rate: link.rate_at(now) }
    }
    /// What header compression on a link has done, if there is any.
    pub fn line_stats(&self, link: usize) -> Option<LineStats> {
        self.links[link].line.as_ref().map(|line| line.stats())
    }

    /// Offers a packet to a link. With `hand_over`, packets that may be handed to their endpoint ahead of time go to
    /// `arrivals`.
    pub fn send(
        &mut self,
        observer: &mut impl Observer,
        mut now: Instant,
        mut link: usize,
        mut packet: Packet,
        hand_over: bool,
    ) {
        loop {
            let entry = &mut self.links[link];
            if entry.watched {
                observer.offered(now, link, &packet, &self.segments);
            }
            let fate = match &mut entry.line {
                None => entry.link.offer(now, &mut packet),
                Some(line) => {
                    line.number(&packet);
                    entry.link.offer_coded(now, &mut packet, &mut line.coder(&self.segments))
                }
            };
            let arrival = match fate {
                Fate::Arrives(arrival) => arrival,
                fate => return self.keep_or_drop(observer, now, link, packet, fate),
            };
            match next_hop(&self.hops, entry.next, &packet) {
                Hop::Ahead(next) if arrival < Instant::FAR_FUTURE => {
                    entry.link.count_delivered();
                    (link, now) = (next as usize, arrival);
                }
                _ if hand_over && arrival < self.horizons[entry.delivery as usize] => {
                    return self.hand_over(link, Arrival { packet, at: arrival, link });
                }
                _ => {
                    if entry.link.carry(arrival, packet) {
                        self.timeline.set(link, arrival);
                    }
                    return;
                }
            }
        }
    }

    /// Hands a packet to its endpoint ahead of time, and before it all others that are on their way there.
    #[inline]
    fn hand_over(&mut self, link: usize, last: Arrival) {
        self.links[link].link.count_delivered();
        if self.links[link].link.in_flight() > 0 {
            self.hand_over_flight(link);
        }
        self.arrive(last);
    }

    #[cold]
    fn hand_over_flight(&mut self, link: usize) {
        let horizon = self.horizons[self.links[link].delivery as usize];
        while let Some((at, packet)) = self.links[link].link.take_ahead(horizon) {
            self.arrive(Arrival { packet, at, link });
        }
        self.timeline.set(link, Instant::FAR_FUTURE);
    }

    /// What becomes of a packet that does not go on its way at once.
    #[cold]
    fn keep_or_drop(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        link: usize,
        packet: Packet,
        fate: Fate,
    ) {
        if let Fate::Dropped(cause) | Fate::Lost(cause, _) = fate {
            // A loss on the wire is known before it happens.
            let at = if let Fate::Lost(_, departure) = fate { departure } else { now };
            observer.dropped(at, link, &packet, self.segments.get(&packet), cause);
            return self.segments.release(packet);
        }
        let queue = &mut self.links[link].link;
        queue.enqueue(now, packet);
        self.timeline.set(link, queue.next_event());
        self.report_discarded(observer, now, link);
    }

    /// Handles the event of a link, the first of the timeline: a packet that has reached its endpoint, or may be handed
    /// to it ahead of time, goes to `arrivals`; any other goes on its way.
    #[inline]
    pub fn handle_event(&mut self, observer: &mut impl Observer, now: Instant, link: usize) {
        let entry = &mut self.links[link];
        let packet = entry.link.poll(now);
        self.timeline.set_first(link, entry.link.next_event());
        let next = entry.next;
        if !entry.link.is_fifo() {
            self.report_discarded(observer, now, link);
        }
        let Some(mut packet) = packet else { return };
        let copy = self.segments.copy(&mut packet);
        self.go_on(observer, now, link, next, packet);
        if let Some(copy) = copy {
            self.go_on(observer, now, link, next, copy);
        }
    }

    /// A packet has come out of a link.
    #[inline]
    fn go_on(&mut self, observer: &mut impl Observer, now: Instant, link: usize, next: Next, packet: Packet) {
        match next_hop(&self.hops, next, &packet) {
            Hop::Arrived => self.arrive(Arrival { packet, at: now, link }),
            Hop::Link(next) | Hop::Ahead(next) => self.send(observer, now, next as usize, packet, true),
            Hop::Middlebox(port) => self.at_middleboxes.push_back((port, packet)),
        }
    }

    /// A packet that has reached a middlebox, if there is one.
    #[inline]
    pub fn take_for_middlebox(&mut self) -> Option<(Port, Packet)> {
        if self.at_middleboxes.is_empty() { None } else { self.at_middleboxes.pop_front() }
    }

    /// True if the way of a packet that has reached a middlebox goes on beyond it.
    pub fn goes_on(&self, port: Port, packet: &Packet) -> bool {
        next_hop(&self.hops, self.after_ports[port.index()], packet) != Hop::Arrived
    }

    /// A packet leaves a middlebox.
    pub fn send_from_middlebox(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        port: Port,
        packet: Packet,
    ) {
        match next_hop(&self.hops, self.after_ports[port.index()], &packet) {
            Hop::Link(link) | Hop::Ahead(link) => self.send(observer, now, link as usize, packet, true),
            Hop::Middlebox(next) => self.at_middleboxes.push_back((next, packet)),
            Hop::Arrived => unreachable!("a middlebox is never the end of a way"),
        }
    }

    #[inline]
    fn arrive(&mut self, arrival: Arrival) {
        self.first_arrival = self.first_arrival.min(arrival.at);
        self.arrivals.push(arrival);
    }

    #[cold]
    fn report_discarded(&mut self, observer: &mut impl Observer, now: Instant, link: usize) {
        for (packet, cause) in self.links[link].link.take_dropped() {
            observer.dropped(now, link, &packet, self.segments.get(&packet), cause);
            self.segments.release(packet);
        }
    }
}

#[inline]
fn next_hop(hops: &[Hop], next: Next, packet: &Packet) -> Hop {
    match next {
        Next::Always(hop) => hop,
        Next::Lookup(offset) => hops[offset as usize + packet.to as usize],
    }
}

/// What comes before and after each link on the ways of all packets, and after each middlebox.
struct Ways {
    /// For each link, the endpoints that packets on it go to, each with the next step (`None`: it has arrived).
    successors: Vec<Vec<(usize, Option<Step>)>>,
    /// The same for each port of a middlebox.
    after_ports: Vec<Vec<(usize, Option<Step>)>>,
    /// For each link that is used, the only link before it; `None` inside if there are several, or if hosts or middleboxes
    /// send there.
    predecessor: Vec<Option<Option<usize>>>,
}

impl Ways {
    fn new(network: &Network) -> Self {
        let count = network.links.len();
        let mut ways = Ways {
            successors: vec![vec![]; count],
            after_ports: vec![vec![]; 2 * network.middleboxes.len()],
            predecessor: vec![None; count],
        };
        for way in network.ways() {
            for (position, step) in way.steps.iter().enumerate() {
                let after = (way.to, way.steps.get(position + 1).copied());
                let link = match *step {
                    Step::Middlebox { middlebox, port } => {
                        // Where a way ends at a middlebox, nothing goes on from there.
                        ways.after_ports[2 * middlebox + port].extend(after.1.map(|_| after));
                        continue;
                    }
                    Step::Link(link) => link,
                };
                ways.successors[link].push(after);
                let before = match position.checked_sub(1).map(|position| way.steps[position]) {
                    Some(Step::Link(before)) => Some(before),
                    _ => None,
                };
                let known = ways.predecessor[link].get_or_insert(before);
                if *known != before {
                    *known = None;
                }
            }
        }
        ways
    }

    /// How far ahead packets may be handed to `endpoint`: it must have a link to itself on which to send.
    fn delivery_to(&self, endpoint: usize, network: &Network, links: &[Link<Packet>]) -> Delivery {
        let flow = &network.flows[network.flow_of(endpoint)];
        let first = if endpoint % 2 == 0 { flow.forward[0] } else { flow.reverse[0] };
        let alone = self.successors[first].len() == 1 && links[first].is_fifo();
        match (alone, network.links[first].declared) {
            (false, _) => Delivery::OnTime,
            // Counters of a link of the scenario file are looked at whenever the world stops.
            (true, true) => Delivery::UntilStop,
            (true, false) => Delivery::UntilCount,
        }
    }
}
