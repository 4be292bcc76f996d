//! Two nodes of either carrier, and what is between them.

use crate::common::{Datagram, HUB, TERMINAL, bursts, configs, link, mbit, node_seed, random};
use crate::owners::FLOWS;
use longhaul_hop::{Carrier, Coding, Config, LaneId, Node, PeerId, Pool, PoolConfig, Rates};
use longhaul_path::{Fate, JitterSpec, Link, LinkConfig, Outage, OutageMode, Reordering};
use longhaul_units::{Duration, Instant, Probability, Size};
use std::collections::VecDeque;

/// A silent peer is given up after this time.
const IDLE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub enum Loss {
    None,
    Random(f64),
    Bursts(f64, f64),
}

/// What the link does.
#[derive(Clone, Debug)]
pub struct Way {
    pub mbit: [f64; 2],
    pub rtt_ms: u64,
    pub loss: [Loss; 2],
    /// Probability, and how much later in ms.
    pub reordering: Option<(f64, u64)>,
    pub duplication: f64,
    pub jitter_ms: u64,
    /// Beginning and length in ms, for each direction.
    pub outages: [Vec<(u64, u64)>; 2],
    pub seed: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    pub coding: bool,
    /// Bytes, and how many of them are the memory.
    pub credit: u64,
    pub credits: u64,
    pub mtu: u16,
    pub batch: usize,
    pub remembered_rate: bool,
    /// Bytes that wait to be sent.
    pub unsent: u64,
}

/// Two nodes and what is between them.
pub trait World {
    fn carriers(&mut self) -> [&mut dyn Carrier; 2];
    fn ledgers(&self) -> [&dyn Carrier; 2];
    /// Sends what is to be sent now.
    fn send(&mut self, now: Instant);
    /// When something happens by itself.
    fn next(&mut self) -> Instant;
    /// Lets happen what is due.
    fn happen(&mut self, now: Instant);
    fn break_one(&mut self, now: Instant, which: usize);
}

/// The first carrier: two nodes with QUIC, and a link of crate `path` each way.
pub struct Quic {
    nodes: [Node; 2],
    links: [Link<Datagram>; 2],
    buffer: Vec<u8>,
    peers: [Option<PeerId>; 2],
}

fn probability(value: f64) -> Probability {
    Probability::new(value).expect("it is one")
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn link_of(way: &Way, direction: usize) -> LinkConfig {
    let loss = match way.loss[direction] {
        Loss::None => None,
        Loss::Random(loss) => random(loss),
        Loss::Bursts(loss, burst) => bursts(loss, burst),
    };
    let outages = way.outages[direction].iter();
    LinkConfig {
        reordering: way.reordering.map(|(share, ms)| Reordering {
            probability: probability(share),
            delay: Duration::from_millis(ms),
        }),
        duplication: probability(way.duplication),
        jitter: Some(JitterSpec::uniform(Duration::from_millis(way.jitter_ms))),
        outages: outages
            .map(|(from, ms)| Outage {
                start: Duration::from_millis(*from),
                duration: Duration::from_millis(*ms),
                mode: OutageMode::Drop,
            })
            .collect(),
        ..link(mbit(way.mbit[direction]), Duration::from_millis(way.rtt_ms), loss)
    }
}

impl Quic {
    pub fn new(way: &Way, nodes: &Nodes) -> Quic {
        let [terminal, hub] = configs();
        let config = |config: Config, rate: f64| Config {
            rates: Rates { send: nodes.remembered_rate.then(|| mbit(rate)), ..Rates::default() },
            coding: if nodes.coding { Coding::Adaptive } else { Coding::Off },
            credit: nodes.credit,
            memory: nodes.credit * nodes.credits,
            unsent: nodes.unsent,
            idle_timeout: IDLE,
            initial_rtt: Duration::from_millis(way.rtt_ms.max(1)),
            mtu: nodes.mtu,
            max_flows: FLOWS as u32,
            batch: nodes.batch,
            ..config
        };
        let make = |config, side: u8| Node::new(config, node_seed(side, way.seed), Instant::ZERO).unwrap();
        Quic {
            nodes: [make(config(terminal, way.mbit[0]), 1), make(config(hub, way.mbit[1]), 2)],
            links: [0, 1]
                .map(|direction| Link::new(&link_of(way, direction), way.seed, ["up", "down"][direction])),
            buffer: vec![],
            peers: [None; 2],
        }
    }
}

impl World for Quic {
    fn carriers(&mut self) -> [&mut dyn Carrier; 2] {
        self.nodes.each_mut().map(|node| node as &mut dyn Carrier)
    }

    fn ledgers(&self) -> [&dyn Carrier; 2] {
        self.nodes.each_ref().map(|node| node as &dyn Carrier)
    }

    fn send(&mut self, now: Instant) {
        for (side, (node, link)) in self.nodes.iter_mut().zip(&mut self.links).enumerate() {
            while let Some(transmit) = node.poll_transmit(now, &mut self.buffer) {
                for bytes in self.buffer.chunks(transmit.segment_size.unwrap_or(transmit.len)) {
                    let mut datagram = Datagram(bytes.to_vec());
                    if let Fate::Arrives(at) = link.offer(now, &mut datagram) {
                        link.carry(at, datagram);
                    }
                }
            }
            self.peers[side] = node.peers().last();
        }
    }

    fn next(&mut self) -> Instant {
        let timers = self.nodes.iter_mut().filter_map(Node::poll_timeout);
        timers.chain(self.links.iter().map(Link::next_event)).min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn happen(&mut self, now: Instant) {
        for side in 0..2 {
            while let Some(datagram) = self.links[side].poll(now) {
                let from = [TERMINAL, HUB][side].parse().unwrap();
                self.nodes[1 - side].handle_datagram(now, from, None, 0, datagram.0[..].into());
            }
            if self.nodes[side].poll_timeout().is_some_and(|due| due <= now) {
                self.nodes[side].handle_timeout(now);
            }
        }
    }

    fn break_one(&mut self, now: Instant, which: usize) {
        if let Some(peer) = self.peers[which % 2] {
            self.nodes[which % 2].give_up(now, peer, "the owner gives it up");
        }
    }
}

/// One direction of a TCP connection: bytes in their order, late by what the link loses and repeats.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<(Instant, Vec<u8>)>,
    free_at: Instant,
}

/// The second carrier: two pools, and connections between them that end and come again.
pub struct Tcp {
    pools: [Pool; 2],
    lanes: Vec<([Option<LaneId>; 2], [Pipe; 2])>,
    /// Ends of connections that a node has still to notice, and new ones.
    ends: Vec<(Instant, usize, usize)>,
    begins: Vec<(Instant, usize)>,
    way: Way,
    state: u64,
}

/// Bytes of a connection that wait in a kernel.
const SOCKET: usize = 100_000;
const SEGMENT: usize = 1448;

impl Tcp {
    pub fn new(way: &Way, nodes: &Nodes, lanes: usize) -> Tcp {
        let config = PoolConfig {
            credit: nodes.credit,
            memory: nodes.credit * nodes.credits,
            unsent: nodes.unsent,
            max_flows: FLOWS as u32,
        };
        let mut world = Tcp {
            pools: [Pool::new(config), Pool::new(config)],
            lanes: vec![],
            ends: vec![],
            begins: vec![],
            way: way.clone(),
            state: way.seed | 1,
        };
        for index in 0..lanes {
            world.lanes.push(Default::default());
            world.connect(index);
        }
        world
    }

    fn draw(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    fn connect(&mut self, index: usize) {
        let ids = [0, 1].map(|side: usize| {
            let address = [HUB, TERMINAL][side].parse().unwrap();
            Some(self.pools[side].connected(Some([side as u8; 32]), address, side == 0))
        });
        self.lanes[index] = (ids, Default::default());
    }

    /// When a segment that leaves now has come, repeats included.
    fn arrival(&mut self, leaves: Instant, side: usize) -> Instant {
        let rtt = Duration::from_millis(self.way.rtt_ms.max(1));
        let loss = match self.way.loss[side] {
            Loss::None => 0.0,
            Loss::Random(loss) | Loss::Bursts(loss, _) => loss,
        };
        let mut leaves = leaves;
        loop {
            let out =
                self.way.outages[side].iter().find(|(from, ms)| (at(*from)..at(from + ms)).contains(&leaves));
            if let Some((from, ms)) = out {
                leaves = at(from + ms) + rtt;
            } else if self.draw() < loss {
                leaves += rtt;
            } else {
                return leaves + Duration::from_nanos(rtt.as_nanos() / 2);
            }
        }
    }
}

impl World for Tcp {
    fn carriers(&mut self) -> [&mut dyn Carrier; 2] {
        self.pools.each_mut().map(|pool| pool as &mut dyn Carrier)
    }

    fn ledgers(&self) -> [&dyn Carrier; 2] {
        self.pools.each_ref().map(|pool| pool as &dyn Carrier)
    }

    fn send(&mut self, now: Instant) {
        for index in 0..self.lanes.len() {
            for side in 0..2 {
                let Some(id) = self.lanes[index].0[side] else { continue };
                let waiting: usize =
                    self.lanes[index].1[side].bytes.iter().map(|(_, bytes)| bytes.len()).sum();
                if waiting >= SOCKET || !self.pools[side].has_output(id) {
                    continue;
                }
                let mut out = vec![];
                self.pools[side].to_send(now, id, SOCKET - waiting, &mut out);
                for segment in out.chunks(SEGMENT) {
                    let leaves = self.lanes[index].1[side].free_at.max(now);
                    let sent = leaves
                        + mbit(self.way.mbit[side]).transmission_time(Size::from_bytes(segment.len() as u64));
                    let came = self.arrival(sent, side);
                    let pipe = &mut self.lanes[index].1[side];
                    // What follows a lost segment waits for it.
                    let came = pipe.bytes.back().map_or(came, |(before, _)| came.max(*before));
                    pipe.free_at = sent;
                    pipe.bytes.push_back((came, segment.to_vec()));
                }
            }
        }
    }

    fn next(&mut self) -> Instant {
        let pipes = self.lanes.iter().flat_map(|(_, pipes)| pipes);
        let arrivals = pipes.filter_map(|pipe| pipe.bytes.front().map(|(due, _)| *due));
        let ends = self.ends.iter().map(|(due, ..)| *due).chain(self.begins.iter().map(|(due, _)| *due));
        arrivals.chain(ends).min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn happen(&mut self, now: Instant) {
        let (due, later) = std::mem::take(&mut self.ends).into_iter().partition(|(at, ..)| *at <= now);
        self.ends = later;
        let due: Vec<(Instant, usize, usize)> = due;
        for (_, index, side) in due {
            if let Some(id) = self.lanes[index].0[side].take() {
                self.pools[side].disconnected(id, "the connection was reset");
            }
        }
        let (due, later) = std::mem::take(&mut self.begins).into_iter().partition(|(at, _)| *at <= now);
        self.begins = later;
        let due: Vec<(Instant, usize)> = due;
        for (_, index) in due {
            self.connect(index);
        }
        for index in 0..self.lanes.len() {
            for side in 0..2 {
                while self.lanes[index].1[side].bytes.front().is_some_and(|(due, _)| *due <= now) {
                    let Some((_, bytes)) = self.lanes[index].1[side].bytes.pop_front() else { break };
                    let cut = (self.draw() * bytes.len() as f64) as usize;
                    let Some(id) = self.lanes[index].0[1 - side] else { continue };
                    for piece in [&bytes[..cut], &bytes[cut..]] {
                        self.pools[1 - side].received(id, piece).expect("a sound peer");
                    }
                }
            }
        }
    }

    fn break_one(&mut self, now: Instant, which: usize) {
        let (index, first) = (which / 2 % self.lanes.len(), which % 2);
        if self.lanes[index].0 != [None; 2] && !self.begins.iter().any(|(_, other)| *other == index) {
            let later = Duration::from_millis(self.way.rtt_ms);
            self.ends.push((now, index, first));
            self.ends.push((now + later, index, 1 - first));
            self.begins.push((now + later + Duration::from_secs(1), index));
        }
    }
}
