//! All links of a simulation and the way of a packet through them.
//!
//! A link whose packets all come from one other link in a known order (a private access link behind a bottleneck) is
//! served ahead of time: its packets' arrivals at the far end are computed when they enter the link before it, so that
//! the hop between costs no event. In the same way a packet may be handed to its endpoint ahead of time, if nothing else can
//! reach that endpoint before, up to the next point in time at which the world is looked at. The result is the same, packet by packet.
//!
//! A link of the scenario file that one private link alone feeds, the bottleneck of a flow that has it to itself, is served ahead of time
//! too, but not beyond the next point in time at which its counters are looked at.
//!
//! Private links of one kind before another share a list of what is on them, so that they are one component of the timeline in place
//! of thousands (see [`crate::lanes`]).
//!
//! Middleboxes stand between links. What reaches one does so in an event of its own, never ahead of time: see
//! [`Fabric::take_for_middlebox`].

use crate::lanes::{LaneId, Lanes, MOST_LANES, Turn};
use crate::line::CompressedLine;
use crate::packet::{Packet, Segments};
use crate::timeline::Timeline;
use crate::ways::Ways;
use longhaul_middlebox::QueueState;
use longhaul_path::link::Fate;
use longhaul_path::{DropCause, Link};
use longhaul_scenario::{Network, Step, Ties};
use longhaul_segment::{LineStats, Segment};
use longhaul_units::{Duration, EndpointId, Id, IdVec, Instant, LinkId};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, VecDeque};

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
    Link(LinkId),
    /// To a link that is served ahead of time.
    Ahead(LinkId),
    /// To a link of the scenario file that is served ahead of time up to the next stop.
    UntilStop(LinkId),
    /// To the link to which this lane leads.
    Lane(LaneId),
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

/// A packet that reaches its endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub packet: Packet,
    pub at: Instant,
    /// The link that it comes from.
    pub link: LinkId,
}

/// Who is notified of what happens to packets.
pub(crate) trait Observer {
    /// A packet was dropped, or will be lost on the wire at a time still to come.
    fn dropped(&mut self, now: Instant, link: LinkId, packet: &Packet, segment: &Segment, cause: DropCause);
    /// A packet is offered to a link that is watched: captured or monitored.
    fn offered(&mut self, now: Instant, link: LinkId, packet: &Packet, segments: &Segments);
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
    lanes: Lanes,
    links: IdVec<LinkId, Entry>,
    hops: Vec<Hop>,
    /// Where packets go that leave a middlebox, by [`Port::index`].
    after_ports: Vec<Next>,
    /// Packets that have reached a middlebox.
    at_middleboxes: VecDeque<(Port, Packet)>,
    /// The next point in time at which the world's state is looked at: what is served ahead of time stays before it.
    horizon: Instant,
}

/// What comes next on the timeline.
pub(crate) enum Source {
    /// The first packet in a lane arrives.
    Lane,
    /// It is the turn of a component.
    Component(usize),
}

#[repr(C, align(64))]
struct Entry {
    next: Next,
    watched: bool,
    /// Watched, or a line that compresses headers.
    special: bool,
    /// Packets are on the link itself, not in a lane: others must not overtake them.
    apart: bool,
    /// Packets may be handed to their endpoint ahead of time, up to the next stop. It takes a link that serves one endpoint alone, in
    /// order, and an endpoint that sends on a link of its own and whose application does not act by itself meanwhile.
    hands_over: bool,
    link: Link<Packet>,
    /// Header compression on the link.
    line: Option<Box<CompressedLine>>,
}

impl Fabric {
    /// Builds the links of a network. `serve_ahead` may be turned off to check that it changes nothing.
    /// `waits` is true for an endpoint whose application does not act by itself.
    /// The timeline has `others` components beside the links, after them. What is computed ahead of time has no place in an order of
    /// scheduling, so that nothing is.
    pub fn new(
        network: &Network,
        seed: u64,
        serve_ahead: bool,
        watched: &IdVec<LinkId, bool>,
        waits: impl Fn(EndpointId) -> bool,
        others: usize,
        ties: Ties,
    ) -> Self {
        let links: IdVec<LinkId, Link<Packet>> =
            network.links.iter().map(|link| Link::new(&link.config, seed, &link.name)).collect();
        let ways = Ways::new(network);
        let ahead = |link: LinkId| {
            let fed_in_order = ways.predecessor[link].flatten().is_some_and(|before| links[before].is_fifo());
            serve_ahead && fed_in_order && links[link].is_fifo() && !network.links[link].declared
        };
        // Middleboxes look at the queues of links.
        let until_stop = |link: LinkId| {
            let before = ways.predecessor[link].flatten().map(|before| (before, &links[before]));
            let fed_in_order =
                before.is_some_and(|(id, before)| before.is_plain() && !network.links[id].declared);
            serve_ahead && fed_in_order && links[link].is_fifo() && network.middleboxes.is_empty()
        };
        let hop = |after: Option<Step>| match after {
            None => Hop::Arrived,
            Some(Step::Link(link)) if ahead(link) => Hop::Ahead(link),
            Some(Step::Link(link)) if until_stop(link) => Hop::UntilStop(link),
            Some(Step::Link(link)) => Hop::Link(link),
            Some(Step::Middlebox { middlebox, port }) => {
                Hop::Middlebox(Port { middlebox: middlebox.0 as u16, port: port as u16 })
            }
        };
        let mut hops = vec![];
        let mut next = |list: &Vec<(EndpointId, Option<Step>)>| match list.first() {
            None => Next::Always(Hop::Arrived),
            Some((_, first)) if list.iter().all(|(_, after)| after == first) => Next::Always(hop(*first)),
            Some(_) => {
                let offset = hops.len();
                hops.resize(offset + 2 * network.connections(), Hop::Arrived);
                list.iter().for_each(|(to, after)| hops[offset + to.index()] = hop(*after));
                Next::Lookup(offset as u32)
            }
        };
        let after_ports = ways.after_ports.iter().map(&mut next).collect();
        let next: Vec<Next> = ways.successors.iter().map(next).collect();
        // What an endpoint drops for its checksum is a loss, and losses are looked at whenever the world stops.
        let damages = network.links.iter().any(|link| link.config.corruption.is_some());
        let hands_over: Vec<bool> = links
            .ids()
            .map(|link| match ways.successors[link][..] {
                [(endpoint, None)] if serve_ahead && !damages && links[link].is_fifo() => {
                    waits(endpoint) && ways.sends_alone(endpoint, network, &links)
                }
                _ => false,
            })
            .collect();
        let timeline = Timeline::new(links.len() + others, ties);
        let lines = network.links.iter().map(|link| {
            let spec = link.config.serial?;
            CompressedLine::new(&spec, network).map(Box::new)
        });
        let links = links
            .into_iter()
            .zip(lines)
            .zip(next)
            .zip(watched)
            .zip(hands_over)
            .map(|((((link, line), next), watched), hands_over)| Entry {
                link,
                next,
                watched: *watched,
                special: *watched || line.is_some(),
                apart: false,
                hands_over,
                line,
            })
            .collect();
        let mut links: IdVec<LinkId, Entry> = links;
        let lanes = if serve_ahead { lay_lanes(network, &mut links) } else { Lanes::new(&[]) };
        Fabric {
            timeline,
            arrivals: vec![],
            first_arrival: Instant::FAR_FUTURE,
            segments: Segments::default(),
            lanes,
            links,
            hops,
            after_ports,
            at_middleboxes: VecDeque::new(),
            horizon: Instant::ZERO,
        }
    }

    /// Sets when the world's state is looked at next.
    pub fn set_horizon(&mut self, stop: Instant) {
        self.horizon = stop;
    }

    /// Number of links; their components on the timeline are the first ones.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// A link, to look at its counters.
    pub fn link(&mut self, link: LinkId) -> &mut Link<Packet> {
        &mut self.links[link].link
    }
    /// What waits for a link, at the router that feeds it.
    pub fn queue_state(&mut self, link: LinkId, now: Instant) -> QueueState {
        let link = &mut self.links[link].link;
        QueueState { bytes: link.occupancy(now).bytes, rate: link.rate_at(now) }
    }
    /// What header compression on a link has done, if there is any.
    pub fn line_stats(&self, link: LinkId) -> Option<LineStats> {
        self.links[link].line.as_ref().map(|line| line.stats())
    }

    /// What comes next, and when; at [`Instant::FAR_FUTURE`] if there is nothing.
    #[inline]
    pub fn first(&mut self) -> (Instant, Source) {
        let event = self.timeline.first();
        let turn = self.lanes.first();
        let lane_is_first = match turn.at.cmp(&event.time()) {
            Ordering::Less => true,
            // What is in a lane and on the timeline at the same time, both of one link, came to the lane first.
            Ordering::Equal => !Timeline::wins(event.component(), turn.link.index(), turn.at),
            Ordering::Greater => false,
        };
        if lane_is_first {
            (turn.at, Source::Lane)
        } else {
            (event.time(), Source::Component(event.component()))
        }
    }

    /// Handles the event of a lane, the first of all: its first packet goes on its way.
    #[inline]
    pub fn handle_lane(&mut self, observer: &mut impl Observer, now: Instant) {
        let Some((link, mut packet)) = self.lanes.pop() else { return };
        let entry = &mut self.links[link];
        if entry.special {
            return self.send(observer, now, link, packet, true);
        }
        let arrival = match entry.link.offer(now, &mut packet) {
            Fate::Arrives(arrival) => arrival,
            fate => return self.keep_or_drop(observer, now, link, packet, fate),
        };
        match next_hop(&self.hops, entry.next, &packet) {
            Hop::Ahead(next) if arrival < Instant::FAR_FUTURE => {
                entry.link.count_delivered();
                self.end_ahead(observer, arrival, next, packet);
            }
            _ => self.passed(observer, link, arrival, packet, true),
        }
    }

    /// A packet reaches a link that is served ahead of time: [`Fabric::send`], shorter on an idle one that leads to an endpoint.
    #[inline(always)]
    fn end_ahead(&mut self, observer: &mut impl Observer, now: Instant, link: LinkId, packet: Packet) {
        let entry = &mut self.links[link];
        if (entry.next, entry.special, entry.apart) == (Next::Always(Hop::Arrived), false, false) {
            if let Some(at) = entry.link.pass_idle(now, packet.wire_len) {
                if entry.hands_over && at < self.horizon {
                    return self.arrive(Arrival { packet, at, link });
                }
                return self.carry(link, at, packet);
            }
        }
        self.send(observer, now, link, packet, true);
    }

    /// A packet leaves an endpoint by its first link: [`Fabric::send`], shorter on a link that has a lane.
    #[inline(always)]
    pub fn leave(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        link: LinkId,
        mut packet: Packet,
        hand_over: bool,
    ) {
        let entry = &mut self.links[link];
        if let (Next::Always(Hop::Lane(lane)), false) = (entry.next, entry.apart) {
            let fate = entry.link.offer(now, &mut packet);
            let Fate::Arrives(at) = fate else {
                return self.keep_or_drop(observer, now, link, packet, fate);
            };
            if !self.lanes.push(lane, Turn { at, link }, packet) {
                self.carry(link, at, packet);
            }
            return;
        }
        self.send(observer, now, link, packet, hand_over);
    }

    /// Offers a packet to a link. With `hand_over`, packets that may be handed to their endpoint ahead of time go to
    /// `arrivals`.
    pub fn send(
        &mut self,
        observer: &mut impl Observer,
        mut now: Instant,
        mut link: LinkId,
        mut packet: Packet,
        hand_over: bool,
    ) {
        loop {
            let entry = &mut self.links[link];
            let fate = if entry.special {
                self.offer_specially(observer, now, link, &mut packet)
            } else {
                entry.link.offer(now, &mut packet)
            };
            let Fate::Arrives(arrival) = fate else {
                return self.keep_or_drop(observer, now, link, packet, fate);
            };
            match self.go_ahead(observer, link, arrival, packet, hand_over) {
                Some(next) => (link, now) = (next, arrival),
                None => return,
            }
        }
    }

    /// A packet will come out of a link at `arrival`: the rest of [`Fabric::send`].
    #[inline(never)]
    fn passed(
        &mut self,
        observer: &mut impl Observer,
        link: LinkId,
        arrival: Instant,
        packet: Packet,
        hand_over: bool,
    ) {
        if let Some(next) = self.go_ahead(observer, link, arrival, packet, hand_over) {
            self.send(observer, arrival, next, packet, hand_over);
        }
    }

    /// A packet will come out of a link at `arrival`. The next link, if the packet is offered to it at once; else it is on its way.
    #[inline(always)]
    fn go_ahead(
        &mut self,
        observer: &mut impl Observer,
        link: LinkId,
        arrival: Instant,
        packet: Packet,
        hand_over: bool,
    ) -> Option<LinkId> {
        let entry = &mut self.links[link];
        match next_hop(&self.hops, entry.next, &packet) {
            Hop::Ahead(next) if arrival < Instant::FAR_FUTURE => {
                entry.link.count_delivered();
                return Some(next);
            }
            Hop::UntilStop(next) if arrival < self.horizon => {
                if entry.apart {
                    self.send_flight(observer, link, next);
                }
                self.links[link].link.count_delivered();
                return Some(next);
            }
            Hop::Lane(lane) if !entry.apart && self.lanes.join(lane, Turn { at: arrival, link }, packet) => {
                return None;
            }
            _ if hand_over && entry.hands_over && arrival < self.horizon => {
                // Ahead of time, and before it all others that are on their way there.
                entry.link.count_delivered();
                if entry.apart {
                    self.hand_over_flight(link);
                }
                self.arrive(Arrival { packet, at: arrival, link });
                return None;
            }
            _ => {}
        }
        self.carry(link, arrival, packet);
        None
    }

    /// A packet takes the way by an event of its link.
    #[inline(never)]
    fn carry(&mut self, link: LinkId, arrival: Instant, packet: Packet) {
        let entry = &mut self.links[link];
        entry.apart = true;
        if entry.link.carry(arrival, packet) {
            self.timeline.set(link.index(), arrival);
        }
    }

    /// Offers a packet to a link that is watched or compresses headers.
    #[inline(never)]
    fn offer_specially(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        link: LinkId,
        packet: &mut Packet,
    ) -> Fate {
        let entry = &mut self.links[link];
        if entry.watched {
            observer.offered(now, link, packet, &self.segments);
        }
        match &mut entry.line {
            None => entry.link.offer(now, packet),
            Some(line) => {
                line.number(packet);
                entry.link.offer_coded(now, packet, &mut line.coder(&self.segments))
            }
        }
    }

    /// Sends all packets on a link to the next ahead of time: what comes after them is to go there before the next stop.
    #[cold]
    fn send_flight(&mut self, observer: &mut impl Observer, link: LinkId, next: LinkId) {
        while let Some((at, packet)) = self.links[link].link.take_ahead(self.horizon) {
            self.send(observer, at, next, packet, true);
        }
        self.links[link].apart = false;
        self.timeline.set(link.index(), Instant::FAR_FUTURE);
    }

    /// Hands all packets on a link to their endpoint ahead of time.
    #[cold]
    fn hand_over_flight(&mut self, link: LinkId) {
        while let Some((at, packet)) = self.links[link].link.take_ahead(self.horizon) {
            self.arrive(Arrival { packet, at, link });
        }
        self.links[link].apart = false;
        self.timeline.set(link.index(), Instant::FAR_FUTURE);
    }

    /// What becomes of a packet that does not go on its way at once.
    #[cold]
    fn keep_or_drop(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        link: LinkId,
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
        self.timeline.set(link.index(), queue.next_event());
        self.report_discarded(observer, now, link);
    }

    /// Handles the event of a link, the first of the timeline: a packet that has reached its endpoint, or may be handed
    /// to it ahead of time, goes to `arrivals`; any other goes on its way.
    #[inline]
    pub fn handle_event(&mut self, observer: &mut impl Observer, now: Instant, link: LinkId) {
        let entry = &mut self.links[link];
        let packet = entry.link.poll(now);
        self.timeline.set_first(link.index(), entry.link.next_event());
        entry.apart = entry.link.in_flight() > 0;
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
    fn go_on(
        &mut self,
        observer: &mut impl Observer,
        now: Instant,
        link: LinkId,
        next: Next,
        packet: Packet,
    ) {
        match next_hop(&self.hops, next, &packet) {
            Hop::Arrived => self.arrive(Arrival { packet, at: now, link }),
            Hop::Link(next) | Hop::Ahead(next) | Hop::UntilStop(next) => {
                self.send(observer, now, next, packet, true);
            }
            Hop::Lane(lane) => self.send(observer, now, self.lanes.next(lane), packet, true),
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
            Hop::Link(link) | Hop::Ahead(link) => self.send(observer, now, link, packet, true),
            Hop::Middlebox(next) => self.at_middleboxes.push_back((next, packet)),
            Hop::Arrived | Hop::UntilStop(_) | Hop::Lane(_) => {
                unreachable!("a middlebox is neither the end of a way nor a private link")
            }
        }
    }

    #[inline]
    fn arrive(&mut self, arrival: Arrival) {
        self.first_arrival = self.first_arrival.min(arrival.at);
        self.arrivals.push(arrival);
    }

    #[cold]
    fn report_discarded(&mut self, observer: &mut impl Observer, now: Instant, link: LinkId) {
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
        Next::Lookup(offset) => hops[offset as usize + packet.to.index()],
    }
}

/// Gives links of one kind a lane: private ones on which nothing happens to packets, of one propagation delay, with all their
/// packets to one link. Where there are more kinds than lanes, those of most links have one.
fn lay_lanes(network: &Network, links: &mut IdVec<LinkId, Entry>) -> Lanes {
    let mut kinds: BTreeMap<(LinkId, Duration), Vec<LinkId>> = BTreeMap::new();
    for (id, entry) in links.enumerated() {
        let config = &network.links[id].config;
        match entry.next {
            Next::Always(Hop::Link(next))
                if !(network.links[id].declared || entry.special) && entry.link.is_plain() =>
            {
                kinds.entry((next, config.delay)).or_default().push(id);
            }
            _ => {}
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, members)| Reverse(members.len()));
    kinds.truncate(MOST_LANES);
    for (lane, (_, members)) in kinds.iter().enumerate() {
        members.iter().for_each(|link| links[*link].next = Next::Always(Hop::Lane(LaneId(lane as u8))));
    }
    let next: Vec<LinkId> = kinds.iter().map(|((next, _), _)| *next).collect();
    Lanes::new(&next)
}
