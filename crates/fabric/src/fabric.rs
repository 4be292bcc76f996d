//! All links of a world and the way of a packet through them.
//!
//! In a simulation, a link whose packets all come from one other link in a known order (a private access link behind a bottleneck) is
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

use crate::freight::{Freight, Observer, Port};
use crate::lanes::{LaneId, Lanes, MOST_LANES, Turn};
use crate::timeline::Timeline;
use crate::topology::Topology;
use crate::ways::{Place, To, Ways, Write};
use longhaul_middlebox::QueueState;
use longhaul_path::link::Fate;
use longhaul_path::{Link, LinkConfig, Media, Packet, Schedule};
use longhaul_scenario::{DirectedLink, Step};
use longhaul_units::{Duration, Id, IdVec, Instant, LinkId};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Where a packet goes at the end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The same way for all packets.
    Always(Hop),
    /// It depends: look up `hops[offset + row]`.
    Lookup(u32),
}

/// One step of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hop {
    /// The packet is at the end of its way.
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
    /// Its way has left this link, and nobody is there who would receive it.
    Lost,
}

/// What becomes of tables when ways change.
struct Rewriting {
    /// When, in order, and which of the lists.
    changes: Vec<(Instant, usize)>,
    /// How many of them have been.
    done: usize,
    lists: Vec<Vec<(Slot, Hop)>>,
}

/// A place in the tables.
#[derive(Clone, Copy)]
enum Slot {
    /// The first link of a row.
    First(usize),
    /// In `hops`.
    Hop(usize),
}

/// A packet at the end of its way.
#[derive(Clone, Copy)]
pub struct Arrival<P> {
    /// The packet.
    pub packet: P,
    /// When it arrives.
    pub at: Instant,
    /// The link that it comes from.
    pub link: LinkId,
}

/// Serves private links ahead of time. For a row, the link on which its endpoint sends, if nothing acts there but the packets
/// that arrive and the endpoint's own timers.
pub type Ahead<'a> = &'a dyn Fn(usize) -> Option<LinkId>;

/// See above.
pub struct Fabric<F: Freight> {
    /// Next event of each link, and of whatever else has events.
    pub timeline: Timeline,
    /// Packets at the ends of their ways, those of one row in order of time; for the world to take away.
    pub arrivals: Vec<Arrival<F::Packet>>,
    /// When the first of them arrives; the world resets it.
    pub first_arrival: Instant,
    /// What belongs to packets on their way.
    pub freight: F,
    lanes: Lanes<F::Packet>,
    links: IdVec<LinkId, Entry<F>>,
    hops: Vec<Hop>,
    /// Where packets go that leave a middlebox, by [`Port::index`].
    after_ports: Vec<Next>,
    /// Where packets go first, by row, unless they begin at a middlebox.
    first_links: Vec<Option<LinkId>>,
    rewriting: Rewriting,
    /// Packets that have reached a middlebox.
    at_middleboxes: VecDeque<(Port, F::Packet)>,
    /// The next point in time at which the world's state is looked at: what is served ahead of time stays before it.
    horizon: Instant,
}

/// What comes next on the timeline.
pub enum Source {
    /// The first packet in a lane arrives.
    Lane,
    /// It is the turn of a component.
    Component(usize),
}

#[repr(C, align(64))]
struct Entry<F: Freight> {
    next: Next,
    watched: bool,
    /// Watched, or a line that compresses headers.
    special: bool,
    /// Packets are on the link itself, not in a lane: others must not overtake them.
    apart: bool,
    /// Packets may be handed to their endpoint ahead of time, up to the next stop. It takes a link that serves one endpoint alone, in
    /// order, and an endpoint that sends on a link of its own and whose application does not act by itself meanwhile.
    hands_over: bool,
    link: Link<F::Packet>,
    /// Header compression on the link.
    line: Option<Box<F::Line>>,
}

impl<F: Freight> Fabric<F> {
    /// Builds the links of a topology. With `ahead`, what can be is served ahead of time, which changes no result. `watched` links
    /// notify the observer of what is offered to them; `line` makes the header compression of a link. The timeline has
    /// `others` components beside the links, after them. What is computed ahead of time has no place in an order of scheduling
    /// ([`longhaul_scenario::Ties::Scheduled`]): it takes an `ahead` of `None`.
    pub fn new(
        topology: &Topology<'_>,
        ahead: Option<Ahead<'_>>,
        watched: &IdVec<LinkId, bool>,
        line: impl Fn(&DirectedLink) -> Option<F::Line>,
        others: usize,
    ) -> Self
    where
        F: Default,
    {
        let mut media = Media::new(topology.seed);
        let mut make = |DirectedLink { config, name, .. }: &DirectedLink| match topology.changeable
            && changeable(config)
        {
            true => Link::changeable(&topology.hosts, config, topology.seed, name),
            false => Link::joined(&topology.hosts, config, topology.seed, name, &mut media),
        };
        let links: IdVec<LinkId, Link<F::Packet>> = topology.links.iter().map(&mut make).collect();
        let ways = Ways::new(topology);
        let private_ahead = |link: LinkId| {
            let fed_in_order = ways.predecessor[link].flatten().is_some_and(|before| links[before].is_fifo());
            let moves = ways.moving[link];
            ahead.is_some()
                && fed_in_order
                && links[link].is_fifo()
                && !topology.links[link].declared
                && !moves
        };
        // Middleboxes look at the queues of links.
        let until_stop = |link: LinkId| {
            let before = ways.predecessor[link].flatten().map(|before| (before, &links[before]));
            let fed_in_order =
                before.is_some_and(|(id, before)| before.is_plain() && !topology.links[id].declared);
            let stays = topology.middleboxes == 0 && !ways.moving[link];
            ahead.is_some() && fed_in_order && links[link].is_fifo() && stays
        };
        let hop = |after: Option<Step>| match after {
            None => Hop::Arrived,
            Some(Step::Link(link)) if private_ahead(link) => Hop::Ahead(link),
            Some(Step::Link(link)) if until_stop(link) => Hop::UntilStop(link),
            Some(Step::Link(link)) => Hop::Link(link),
            Some(Step::Middlebox { middlebox, port }) => Hop::Middlebox(Port::new(middlebox, port)),
        };
        // Tables of links that few rows pass begin at the first of these, before the table's own place: there is room for that.
        let mut hops = if topology.moves.is_empty() { vec![] } else { vec![Hop::Arrived; topology.rows] };
        let mut lookup = |list: &Vec<(usize, Option<Step>)>, rows: Range<usize>| {
            let offset = hops.len() - rows.start;
            hops.resize(hops.len() + rows.len(), Hop::Arrived);
            list.iter().for_each(|(row, after)| hops[offset + row] = hop(*after));
            Next::Lookup(offset as u32)
        };
        let all = 0..topology.rows;
        // What a middlebox sends may have no way on from there.
        let after_ports: Vec<Next> = ways.after_ports.iter().map(|list| lookup(list, all.clone())).collect();
        let next: Vec<Next> = ways
            .successors
            .enumerated()
            .map(|(link, list)| match list.first() {
                None => Next::Always(Hop::Arrived),
                Some(_) if ways.moving[link] => {
                    let rows = || list.iter().map(|(row, _)| *row);
                    lookup(list, rows().min().unwrap_or(0)..rows().max().unwrap_or(0) + 1)
                }
                Some((_, first)) if list.iter().all(|(_, after)| after == first) => Next::Always(hop(*first)),
                Some(_) => lookup(list, all.clone()),
            })
            .collect();
        let rewriting = Rewriting {
            changes: topology.changes.clone(),
            done: 0,
            lists: ways.writes.iter().map(|list| slots(list, &next, &after_ports, &hop)).collect(),
        };
        // What an endpoint drops for its checksum is a loss, and losses are looked at whenever the world stops.
        let damages = topology.links.iter().any(|link| link.config.corruption.is_some());
        let sends_alone = |first: LinkId| {
            ways.successors[first].len() == 1 && links[first].is_fifo() && !ways.moving[first]
        };
        let hands_over: Vec<bool> = links
            .ids()
            .map(|link| match (ahead, &ways.successors[link][..]) {
                (Some(ahead), [(row, None)]) if !damages && links[link].is_fifo() && !ways.moving[link] => {
                    ahead(*row).is_some_and(sends_alone)
                }
                _ => false,
            })
            .collect();
        let timeline = Timeline::new(links.len() + others, topology.ties);
        let links = links
            .into_iter()
            .zip(topology.links.iter().map(|link| line(link).map(Box::new)))
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
        let mut links: IdVec<LinkId, Entry<F>> = links;
        let lanes = match ahead {
            Some(_) => lay_lanes(topology.links, &mut links),
            None => Lanes::new(&[]),
        };
        Fabric {
            timeline,
            arrivals: vec![],
            first_arrival: Instant::FAR_FUTURE,
            freight: F::default(),
            lanes,
            links,
            hops,
            after_ports,
            first_links: ways.first_links,
            rewriting,
            at_middleboxes: VecDeque::new(),
            horizon: Instant::ZERO,
        }
    }

    /// Sets when the world's state is looked at next.
    pub fn set_horizon(&mut self, stop: Instant) {
        self.horizon = stop;
    }

    /// When ways change next; [`Instant::FAR_FUTURE`] if they do not.
    pub fn next_change(&self) -> Instant {
        let Rewriting { changes, done, .. } = &self.rewriting;
        changes.get(*done).map_or(Instant::FAR_FUTURE, |(at, _)| *at)
    }

    /// Ways change: the next of [`Topology::changes`], whose place among its `moves` is the result. All events before have been handled,
    /// and none at this time.
    pub fn change_ways(&mut self) -> Option<usize> {
        let Rewriting { changes, done, lists } = &mut self.rewriting;
        let (_, list) = *changes.get(*done)?;
        *done += 1;
        for (slot, hop) in &lists[list] {
            match (*slot, *hop) {
                (Slot::First(row), Hop::Link(link)) => self.first_links[row] = Some(link),
                (Slot::First(_), _) => {}
                (Slot::Hop(place), hop) => self.hops[place] = hop,
            }
        }
        Some(list)
    }

    /// How many links there are; their components on the timeline are the first ones.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// A link, to look at its counters.
    pub fn link(&mut self, link: LinkId) -> &mut Link<F::Packet> {
        &mut self.links[link].link
    }
    /// A link goes on by another script, in which all that was before now is the same. Only in a [`Topology::changeable`] world, for
    /// a link that is [`changeable`].
    pub fn follow(&mut self, link: LinkId, schedule: Schedule) {
        let entry = &mut self.links[link];
        entry.link.follow(schedule);
        self.timeline.set(link.index(), entry.link.next_event());
    }
    /// What waits for a link, at the router that feeds it.
    pub fn queue_state(&mut self, link: LinkId, now: Instant) -> QueueState {
        let link = &mut self.links[link].link;
        QueueState { bytes: link.occupancy(now).bytes, rate: link.rate_at(now) }
    }
    /// Header compression on a link, if there is any.
    pub fn line(&self, link: LinkId) -> Option<&F::Line> {
        self.links[link].line.as_deref()
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
    pub fn handle_lane(&mut self, observer: &mut impl Observer<F>, now: Instant) {
        let Some((link, mut packet)) = self.lanes.pop() else { return };
        let entry = &mut self.links[link];
        if entry.special {
            return self.send(observer, now, link, packet, true);
        }
        let arrival = match entry.link.offer(now, &mut packet) {
            Fate::Arrives(arrival) => arrival,
            fate => return self.keep_or_drop(observer, now, link, packet, fate),
        };
        match next_hop::<F>(&self.hops, entry.next, &packet) {
            Hop::Ahead(next) if arrival < Instant::FAR_FUTURE => {
                entry.link.count_delivered();
                self.end_ahead(observer, arrival, next, packet);
            }
            _ => self.passed(observer, link, arrival, packet, true),
        }
    }

    /// A packet reaches a link that is served ahead of time: [`Fabric::send`], shorter on an idle one that leads to an endpoint.
    #[inline(always)]
    fn end_ahead(&mut self, observer: &mut impl Observer<F>, now: Instant, link: LinkId, packet: F::Packet) {
        let entry = &mut self.links[link];
        if (entry.next, entry.special, entry.apart) == (Next::Always(Hop::Arrived), false, false) {
            if let Some(at) = entry.link.pass_idle(now, packet.wire_len()) {
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
        observer: &mut impl Observer<F>,
        now: Instant,
        link: LinkId,
        mut packet: F::Packet,
        hand_over: bool,
    ) {
        let entry = &mut self.links[link];
        if let (Next::Always(Hop::Lane(lane)), false) = (entry.next, entry.apart) {
            let fate = entry.link.offer(now, &mut packet);
            let Fate::Arrives(at) = fate else {
                return self.keep_or_drop(observer, now, link, packet, fate);
            };
            if !self.lanes.push(lane, Turn { at, link }, packet.clone()) {
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
        observer: &mut impl Observer<F>,
        mut now: Instant,
        mut link: LinkId,
        mut packet: F::Packet,
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
                Some((next, same)) => (link, now, packet) = (next, arrival, same),
                None => return,
            }
        }
    }

    /// A packet will come out of a link at `arrival`: the rest of [`Fabric::send`].
    #[inline(never)]
    fn passed(
        &mut self,
        observer: &mut impl Observer<F>,
        link: LinkId,
        arrival: Instant,
        packet: F::Packet,
        hand_over: bool,
    ) {
        if let Some((next, packet)) = self.go_ahead(observer, link, arrival, packet, hand_over) {
            self.send(observer, arrival, next, packet, hand_over);
        }
    }

    /// A packet will come out of a link at `arrival`. The next link, if the packet is offered to it at once; else it is on its way.
    #[inline(always)]
    fn go_ahead(
        &mut self,
        observer: &mut impl Observer<F>,
        link: LinkId,
        arrival: Instant,
        packet: F::Packet,
        hand_over: bool,
    ) -> Option<(LinkId, F::Packet)> {
        let entry = &mut self.links[link];
        match next_hop::<F>(&self.hops, entry.next, &packet) {
            Hop::Ahead(next) if arrival < Instant::FAR_FUTURE => {
                entry.link.count_delivered();
                return Some((next, packet));
            }
            Hop::UntilStop(next) if arrival < self.horizon => {
                if entry.apart {
                    self.send_flight(observer, link, next);
                }
                self.links[link].link.count_delivered();
                return Some((next, packet));
            }
            Hop::Lane(lane)
                if !entry.apart && self.lanes.join(lane, Turn { at: arrival, link }, packet.clone()) =>
            {
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
    fn carry(&mut self, link: LinkId, arrival: Instant, packet: F::Packet) {
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
        observer: &mut impl Observer<F>,
        now: Instant,
        link: LinkId,
        packet: &mut F::Packet,
    ) -> Fate {
        let entry = &mut self.links[link];
        if entry.watched {
            observer.offered(now, link, packet, &self.freight);
        }
        match &mut entry.line {
            None => entry.link.offer(now, packet),
            Some(line) => self.freight.offer_coded(now, &mut entry.link, line, packet),
        }
    }

    /// Sends all packets on a link to the next ahead of time: what comes after them is to go there before the next stop.
    #[cold]
    fn send_flight(&mut self, observer: &mut impl Observer<F>, link: LinkId, next: LinkId) {
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
        observer: &mut impl Observer<F>,
        now: Instant,
        link: LinkId,
        packet: F::Packet,
        fate: Fate,
    ) {
        if let Fate::Dropped(cause) | Fate::Lost(cause, _) = fate {
            // A loss on the wire is known before it happens.
            let at = if let Fate::Lost(_, departure) = fate { departure } else { now };
            observer.dropped(at, link, &packet, &self.freight, cause);
            return self.freight.release(packet);
        }
        let queue = &mut self.links[link].link;
        queue.enqueue(now, packet);
        self.timeline.set(link.index(), queue.next_event());
        self.report_discarded(observer, now, link);
    }

    /// Handles the event of a link, the first of the timeline: a packet that has reached its endpoint, or may be handed
    /// to it ahead of time, goes to `arrivals`; any other goes on its way.
    #[inline]
    pub fn handle_event(&mut self, observer: &mut impl Observer<F>, now: Instant, link: LinkId) {
        let entry = &mut self.links[link];
        let packet = entry.link.poll(now);
        self.timeline.set_first(link.index(), entry.link.next_event());
        entry.apart = entry.link.in_flight() > 0;
        let next = entry.next;
        if !entry.link.is_fifo() {
            self.report_discarded(observer, now, link);
        }
        let Some(mut packet) = packet else { return };
        let copy = self.freight.copy(&mut packet);
        observer.delivered(now, link, &packet);
        self.go_on(observer, now, link, next, packet);
        if let Some(copy) = copy {
            observer.copied();
            observer.delivered(now, link, &copy);
            self.go_on(observer, now, link, next, copy);
        }
    }

    /// A packet has come out of a link.
    #[inline]
    fn go_on(
        &mut self,
        observer: &mut impl Observer<F>,
        now: Instant,
        link: LinkId,
        next: Next,
        mut packet: F::Packet,
    ) {
        let hop = next_hop::<F>(&self.hops, next, &packet);
        if hop == Hop::Lost {
            return self.lose(observer, now, link, packet);
        }
        if hop != Hop::Arrived {
            self.freight.pass(&mut packet);
        }
        match hop {
            Hop::Arrived => self.arrive(Arrival { packet, at: now, link }),
            Hop::Link(next) | Hop::Ahead(next) | Hop::UntilStop(next) => {
                self.send(observer, now, next, packet, true);
            }
            Hop::Lane(lane) => self.send(observer, now, self.lanes.next(lane), packet, true),
            Hop::Middlebox(port) => self.at_middleboxes.push_back((port, packet)),
            Hop::Lost => {}
        }
    }

    /// A packet has come to the end of a link that its way has left.
    #[cold]
    fn lose(&mut self, observer: &mut impl Observer<F>, now: Instant, link: LinkId, packet: F::Packet) {
        observer.left_behind(now, link, &packet, &self.freight);
        self.freight.release(packet);
    }

    /// A packet that has reached a middlebox, if there is one.
    #[inline]
    pub fn take_for_middlebox(&mut self) -> Option<(Port, F::Packet)> {
        if self.at_middleboxes.is_empty() { None } else { self.at_middleboxes.pop_front() }
    }

    /// True if the way of a packet that has reached a middlebox goes on beyond it.
    pub fn goes_on(&self, port: Port, packet: &F::Packet) -> bool {
        next_hop::<F>(&self.hops, self.after_ports[port.index()], packet) != Hop::Arrived
    }

    /// A packet sets out on its way, which begins with a link; false if there is no way of its row.
    pub fn begin(&mut self, observer: &mut impl Observer<F>, now: Instant, packet: F::Packet) -> bool {
        let Some(link) = self.first_links[F::row(&packet)] else { return false };
        self.send(observer, now, link, packet, false);
        true
    }

    /// A packet leaves a middlebox.
    pub fn send_from_middlebox(
        &mut self,
        observer: &mut impl Observer<F>,
        now: Instant,
        port: Port,
        packet: F::Packet,
    ) {
        match next_hop::<F>(&self.hops, self.after_ports[port.index()], &packet) {
            Hop::Link(link) | Hop::Ahead(link) => self.send(observer, now, link, packet, true),
            Hop::Middlebox(next) => self.at_middleboxes.push_back((next, packet)),
            Hop::Arrived | Hop::UntilStop(_) | Hop::Lane(_) | Hop::Lost => {
                unreachable!("a middlebox is neither the end of a way nor a private link")
            }
        }
    }

    #[inline]
    fn arrive(&mut self, arrival: Arrival<F::Packet>) {
        self.first_arrival = self.first_arrival.min(arrival.at);
        self.arrivals.push(arrival);
    }

    #[cold]
    fn report_discarded(&mut self, observer: &mut impl Observer<F>, now: Instant, link: LinkId) {
        let link_at_work = &mut self.links[link].link;
        for (at, packet, cause) in link_at_work.take_lost() {
            observer.dropped(at, link, &packet, &self.freight, cause);
            self.freight.release(packet);
        }
        for (packet, cause) in link_at_work.take_dropped() {
            observer.dropped(now, link, &packet, &self.freight, cause);
            self.freight.release(packet);
        }
    }
}

/// Whether a script may change while its link is at work: a line that compresses headers does so in the order in which packets come,
/// with all departures known, and what a link shares with others, or repeats, follows no script.
pub fn changeable(config: &LinkConfig) -> bool {
    let has_own_pace = config.carrier.is_none() && config.arq.is_none() && config.half_duplex.is_none();
    has_own_pace && config.serial.is_none_or(|serial| serial.compression().is_none())
}

/// What is written into the tables of links and ports.
fn slots(
    writes: &[Write],
    next: &[Next],
    after_ports: &[Next],
    hop: &impl Fn(Option<Step>) -> Hop,
) -> Vec<(Slot, Hop)> {
    let slot = |write: &Write| {
        let table = match write.place {
            Place::Start => return Slot::First(write.row),
            Place::Link(link) => next[link.index()],
            Place::Port(port) => after_ports[port],
        };
        match table {
            Next::Lookup(offset) => Slot::Hop(offset as usize + write.row),
            Next::Always(_) => unreachable!("links of ways that change have tables"),
        }
    };
    let to = |to: To| match to {
        To::Step(step) => hop(Some(step)),
        To::Arrived => hop(None),
        To::Lost => Hop::Lost,
    };
    writes.iter().map(|write| (slot(write), to(write.to))).collect()
}

#[inline]
fn next_hop<F: Freight>(hops: &[Hop], next: Next, packet: &F::Packet) -> Hop {
    match next {
        Next::Always(hop) => hop,
        Next::Lookup(offset) => hops[offset as usize + F::row(packet)],
    }
}

/// Gives links of one kind a lane: private ones on which nothing happens to packets, of one propagation delay, with all their
/// packets to one link. Where there are more kinds than lanes, those of most links have one.
fn lay_lanes<F: Freight>(
    declared: &IdVec<LinkId, DirectedLink>,
    links: &mut IdVec<LinkId, Entry<F>>,
) -> Lanes<F::Packet> {
    let mut kinds: BTreeMap<(LinkId, Duration), Vec<LinkId>> = BTreeMap::new();
    for (id, entry) in links.enumerated() {
        let config = &declared[id].config;
        match entry.next {
            Next::Always(Hop::Link(next))
                if !(declared[id].declared || entry.special) && entry.link.is_plain() =>
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
