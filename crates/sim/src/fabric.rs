//! All links of a simulation and the way of a packet through them.
//!
//! A link whose packets all come from one other link in a known order (a private access link behind a bottleneck) is
//! served ahead of time: its packets' arrivals at the far end are computed when they enter the link before it, so that
//! the hop between costs no event. The result is the same, packet by packet.

use crate::packet::Packet;
use crate::timeline::Timeline;
use longhaul_path::link::Fate;
use longhaul_path::{DropCause, Link, LinkStats};
use longhaul_scenario::Network;
use longhaul_units::Instant;

/// Where a packet goes at the end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// To its endpoint.
    Endpoint,
    /// To another link.
    Link(u32),
    /// It depends: look up `hops[offset + packet.to]`.
    Lookup(u32),
}

/// No link: the packet has arrived.
const ARRIVED: u32 = u32::MAX;

/// Who wants to know what happens to packets.
pub(crate) trait Observer {
    /// A packet was dropped.
    fn dropped(&mut self, now: Instant, link: usize, packet: &Packet, cause: DropCause);
    /// A packet is offered to a link that is captured.
    fn captured(&mut self, now: Instant, link: usize, packet: &Packet);
}

pub(crate) struct Fabric {
    links: Vec<Link<Packet>>,
    next: Vec<Next>,
    hops: Vec<u32>,
    /// Links that are served ahead of time.
    ahead: Vec<bool>,
    captured: Vec<bool>,
}

impl Fabric {
    /// Builds the links of a network. `serve_ahead` may be turned off to check that it changes nothing.
    pub fn new(network: &Network, seed: u64, serve_ahead: bool, captured: Vec<bool>) -> Self {
        let links: Vec<Link<Packet>> =
            network.links.iter().map(|link| Link::new(&link.config, seed, &link.name)).collect();
        let endpoints = 2 * network.flows.len();
        // The successor of each link for each endpoint, and the only predecessor of each link if there is one.
        let mut successors: Vec<Vec<(u32, u32)>> = vec![vec![]; links.len()];
        let mut predecessor: Vec<Option<Option<usize>>> = vec![None; links.len()];
        for (index, flow) in network.flows.iter().enumerate() {
            for (path, to) in [(&flow.forward, 2 * index + 1), (&flow.reverse, 2 * index)] {
                for (position, link) in path.iter().enumerate() {
                    let after = path.get(position + 1).map_or(ARRIVED, |next| *next as u32);
                    successors[*link].push((to as u32, after));
                    let before = position.checked_sub(1).map(|position| path[position]);
                    let known = predecessor[*link].get_or_insert(before);
                    if *known != before {
                        *known = None;
                    }
                }
            }
        }
        let mut hops = vec![];
        let next = successors
            .iter()
            .map(|list| match list.first() {
                Some((_, first)) if list.iter().all(|(_, after)| after == first) => {
                    if *first == ARRIVED { Next::Endpoint } else { Next::Link(*first) }
                }
                None => Next::Endpoint,
                Some(_) => {
                    let offset = hops.len();
                    hops.resize(offset + endpoints, ARRIVED);
                    list.iter().for_each(|(to, after)| hops[offset + *to as usize] = *after);
                    Next::Lookup(offset as u32)
                }
            })
            .collect();
        let ahead = (0..links.len())
            .map(|link| {
                let fed_in_order = predecessor[link].flatten().is_some_and(|before| links[before].is_fifo());
                serve_ahead && fed_in_order && links[link].is_fifo() && !network.links[link].declared
            })
            .collect();
        Fabric { links, next, hops, ahead, captured }
    }

    /// Number of links; their components on the timeline are the first ones.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// A link, to look at its counters.
    pub fn link(&mut self, link: usize) -> &mut Link<Packet> {
        &mut self.links[link]
    }

    /// True if packets that enter the link are captured.
    pub fn is_captured(&self, link: usize) -> bool {
        self.captured[link]
    }

    /// Counters of a link.
    pub fn stats(&mut self, link: usize, now: Instant) -> LinkStats {
        self.links[link].stats(now)
    }

    /// Offers a packet to a link.
    #[inline]
    pub fn send(
        &mut self,
        timeline: &mut Timeline,
        observer: &mut impl Observer,
        now: Instant,
        link: usize,
        mut packet: Packet,
    ) {
        let (mut link, mut now) = (link, now);
        loop {
            if self.captured[link] {
                observer.captured(now, link, &packet);
            }
            let fate = self.links[link].offer(now, &mut packet);
            match fate {
                Fate::Arrives(arrival) => {
                    if let Some(next) = self.next_link(link, &packet) {
                        if self.ahead[next] && arrival < Instant::FAR_FUTURE {
                            self.links[link].count_delivered();
                            (link, now) = (next, arrival);
                            continue;
                        }
                    }
                    let entry = &mut self.links[link];
                    let before = entry.next_event();
                    entry.carry(arrival, packet);
                    if arrival < before {
                        timeline.set(link, arrival);
                    }
                    return;
                }
                Fate::Dropped(cause) => return observer.dropped(now, link, &packet, cause),
                Fate::Queue => {
                    self.links[link].enqueue(now, packet);
                    self.report_drops(observer, now, link);
                    timeline.set(link, self.links[link].next_event());
                    return;
                }
            }
        }
    }

    /// Handles the event of a link: a packet that has reached its endpoint comes back, any other goes on its way.
    #[inline]
    pub fn handle_event(
        &mut self,
        timeline: &mut Timeline,
        observer: &mut impl Observer,
        now: Instant,
        link: usize,
    ) -> Option<Packet> {
        let entry = &mut self.links[link];
        let packet = entry.poll(now);
        let next_event = entry.next_event();
        timeline.set(link, next_event);
        if !entry.is_fifo() {
            self.report_drops(observer, now, link);
        }
        let packet = packet?;
        match self.next_link(link, &packet) {
            None => Some(packet),
            Some(next) => {
                self.send(timeline, observer, now, next, packet);
                None
            }
        }
    }

    #[inline]
    fn next_link(&self, link: usize, packet: &Packet) -> Option<usize> {
        match self.next[link] {
            Next::Endpoint => None,
            Next::Link(next) => Some(next as usize),
            Next::Lookup(offset) => {
                let next = self.hops[offset as usize + packet.to as usize];
                (next != ARRIVED).then_some(next as usize)
            }
        }
    }

    #[cold]
    fn report_drops(&mut self, observer: &mut impl Observer, now: Instant, link: usize) {
        for (packet, cause) in self.links[link].take_dropped() {
            observer.dropped(now, link, &packet, cause);
        }
    }
}
