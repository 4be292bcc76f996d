//! Two nodes, two links of crate `path` between them, and in virtual time the clients and servers that use the hop.
#![allow(dead_code)] // each test and example uses a part of it

use bytes::{Bytes, BytesMut};
use longhaul_hop::{Config, Event, FlowId, Ledger, Node, Open, PeerId, ResetCode, Role};
use longhaul_path::{Fate, Link, LinkConfig, LossPlace, LossSpec, Packet, QueueSpec};
use longhaul_units::{Duration, Instant, Limit, Probability, Rate, Size};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// IPv4 and UDP.
const HEADERS: u32 = 28;
pub const TERMINAL: &str = "192.0.2.1:40000";
pub const HUB: &str = "192.0.2.2:4433";

pub struct Datagram(pub Vec<u8>);

impl Packet for Datagram {
    fn wire_len(&self) -> u32 {
        self.0.len() as u32 + HEADERS
    }
    fn mark_congestion(&mut self) -> bool {
        false
    }
    fn flow(&self) -> u64 {
        0
    }
}

pub fn mbit(rate: f64) -> Rate {
    Rate::from_bps_f64(rate * 1e6)
}

pub fn random(probability: f64) -> Option<LossSpec> {
    let probability = Probability::new(probability).unwrap();
    (probability.get() > 0.0).then_some(LossSpec::Random { probability, place: LossPlace::Wire })
}

/// Bursts with a mean of `burst` packets and `loss` packets lost in all.
pub fn bursts(loss: f64, burst: f64) -> Option<LossSpec> {
    let out = 1.0 / burst;
    let p = |value| Probability::new(value).unwrap();
    Some(LossSpec::GilbertElliott {
        good_to_bad: p(loss * out / (1.0 - loss)),
        bad_to_good: p(out),
        loss_in_good: p(0.0),
        loss_in_bad: p(1.0),
        place: LossPlace::Wire,
    })
}

/// A link with a DropTail queue of one bandwidth-delay product of `rtt`.
pub fn link(rate: Rate, rtt: Duration, loss: Option<LossSpec>) -> LinkConfig {
    LinkConfig {
        rate,
        delay: Duration::from_nanos(rtt.as_nanos() / 2),
        queue: QueueSpec::Droptail {
            limit: Limit::Bytes(Size::from_bytes(rate.bytes_in(rtt).as_bytes().max(20_000))),
        },
        loss,
        changes: vec![],
        outages: vec![],
        jitter: Duration::ZERO,
        reordering: None,
        duplication: Probability::new(0.0).unwrap(),
        corruption: None,
        serial: None,
        demand: None,
    }
}

/// A request and its answer over one flow. The server answers once it has the request as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub at: Instant,
    pub request: u64,
    pub response: u64,
    /// The client begins to read only then, and the server not at all, if this is [`Instant::FAR_FUTURE`].
    pub reads_from: Instant,
}

impl Job {
    pub fn new(at: Instant, request: u64, response: u64) -> Self {
        Job { at, request, response, reads_from: Instant::ZERO }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Side {
    job: usize,
    to_write: u64,
    to_read: u64,
    written: u64,
    read: u64,
    server: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    Pending,
    /// Seconds from the request to the last byte.
    Done(f64),
    Failed(ResetCode),
}

pub struct World {
    pub now: Instant,
    pub nodes: [Node; 2],
    pub links: [Link<Datagram>; 2],
    pub peers: [Option<PeerId>; 2],
    pub up_at: Option<Instant>,
    pub jobs: Vec<Job>,
    pub outcomes: Vec<Outcome>,
    pub events: [Vec<(Instant, Event)>; 2],
    /// UDP datagrams that each node sent, their payload.
    pub sent: [(u64, u64); 2],
    sides: [BTreeMap<FlowId, Side>; 2],
    waiting: Vec<usize>,
    content: Bytes,
}

/// Content by offset, so that a byte in the wrong place is found.
fn content() -> Bytes {
    (0..1u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>().into()
}

pub fn configs() -> [Config; 2] {
    [Config::new(Role::Terminal { hub: HUB.parse().unwrap() }), Config::new(Role::Hub)]
}

impl World {
    /// Links: from terminal to hub, and back.
    pub fn new(configs: [Config; 2], links: [LinkConfig; 2], seed: u64) -> Self {
        let [terminal, hub] = configs;
        let now = Instant::ZERO;
        let mut seeds = [[1; 32], [2; 32]];
        seeds.iter_mut().for_each(|bytes| bytes[..8].copy_from_slice(&seed.to_le_bytes()));
        let [up, down] = links;
        World {
            now,
            nodes: [Node::new(terminal, seeds[0], now).unwrap(), Node::new(hub, seeds[1], now).unwrap()],
            links: [Link::new(&up, seed, "up"), Link::new(&down, seed, "down")],
            peers: [None, None],
            up_at: None,
            jobs: vec![],
            outcomes: vec![],
            events: [vec![], vec![]],
            sent: [(0, 0); 2],
            sides: [BTreeMap::new(), BTreeMap::new()],
            waiting: vec![],
            content: content(),
        }
    }

    /// Runs until both nodes are up; the time then.
    pub fn warm_up(&mut self) -> Instant {
        let limit = self.now + Duration::from_secs(60);
        while self.peers.iter().any(Option::is_none) && self.step(limit) {}
        assert!(self.peers.iter().all(Option::is_some), "the hop is not up");
        self.now
    }

    /// Runs until the terminal can open flows.
    pub fn connect(&mut self) {
        let limit = self.now + Duration::from_secs(60);
        while self.peers[0].is_none() && self.step(limit) {
            self.serve();
        }
        assert!(self.peers[0].is_some(), "the hop is not connected");
    }

    pub fn add(&mut self, job: Job) -> usize {
        self.jobs.push(job);
        self.outcomes.push(Outcome::Pending);
        self.waiting.push(self.jobs.len() - 1);
        self.waiting.sort_by_key(|job| std::cmp::Reverse(self.jobs[*job].at));
        self.jobs.len() - 1
    }

    /// Runs until `limit`, or until all jobs have an outcome.
    pub fn run(&mut self, limit: Instant) {
        while self.outcomes.contains(&Outcome::Pending) && self.step(limit) {}
    }

    pub fn run_until(&mut self, limit: Instant) {
        while self.step(limit) {}
        self.now = limit;
    }

    pub fn seconds(&self, job: usize) -> f64 {
        match self.outcomes[job] {
            Outcome::Done(seconds) => seconds,
            other => panic!("job {job}: {other:?} at {}", self.now),
        }
    }

    /// Handles all that is due at one time. False if nothing is due before `limit`.
    pub fn step(&mut self, limit: Instant) -> bool {
        self.serve();
        let timers = self.nodes.iter_mut().filter_map(Node::poll_timeout).min();
        let arrivals = self.links.iter().map(Link::next_event).min().unwrap_or(Instant::FAR_FUTURE);
        let job = self.waiting.last().map_or(Instant::FAR_FUTURE, |job| self.jobs[*job].at);
        let next = timers.unwrap_or(Instant::FAR_FUTURE).min(arrivals).min(job).max(self.now);
        if next > limit {
            return false;
        }
        self.now = next;
        for end in 0..2 {
            while let Some(datagram) = self.links[end].poll(self.now) {
                let from: SocketAddr = [TERMINAL, HUB][end].parse().unwrap();
                let bytes = BytesMut::from(&datagram.0[..]);
                self.nodes[1 - end].handle_datagram(self.now, from, None, 0, bytes);
            }
            if self.nodes[end].poll_timeout().is_some_and(|due| due <= self.now) {
                self.nodes[end].handle_timeout(self.now);
            }
        }
        while let Some(job) = self.waiting.last().copied().filter(|job| self.jobs[*job].at <= self.now) {
            self.waiting.pop();
            self.begin(job);
        }
        true
    }

    fn begin(&mut self, job: usize) {
        let Some(peer) = self.peers[0] else { panic!("the hop is not up") };
        let open = Open {
            source: SocketAddr::from(([10, 0, 0, 1], 1024 + (job % 60_000) as u16)),
            destination: "203.0.113.1:80".parse().unwrap(),
            dscp: 0,
            priority: 0,
            confirm: false,
        };
        let flow = self.nodes[0].open(self.now, peer, open).unwrap();
        let Job { request, response, .. } = self.jobs[job];
        let side = Side { job, to_write: request, to_read: response, ..Side::default() };
        self.sides[0].insert(flow, side);
        self.write(0, flow);
    }

    fn write(&mut self, end: usize, flow: FlowId) {
        let Some(side) = self.sides[end].get_mut(&flow) else { return };
        while side.written < side.to_write {
            let at = (side.written % (1 << 20)) as usize;
            let length = ((1 << 20) - at).min((side.to_write - side.written) as usize);
            let mut bytes = self.content.slice(at..at + length);
            let taken = self.nodes[end].write(self.now, flow, &mut bytes);
            side.written += taken as u64;
            if taken < length {
                return;
            }
        }
        self.nodes[end].finish(self.now, flow);
    }

    fn read(&mut self, end: usize, flow: FlowId) {
        let Some(side) = self.sides[end].get_mut(&flow) else { return };
        let job = self.jobs[side.job];
        if !side.server && job.reads_from > self.now {
            return;
        }
        while let Some(bytes) = self.nodes[end].read(self.now, flow, 1 << 16) {
            let at = (side.read % (1 << 20)) as usize;
            let first = bytes.len().min((1 << 20) - at);
            assert!(bytes[..first] == self.content[at..at + first], "a wrong byte");
            assert!(bytes[first..] == self.content[..bytes.len() - first], "a wrong byte");
            side.read += bytes.len() as u64;
        }
        if side.server && side.read >= job.request && side.to_write == 0 && job.response > 0 {
            side.to_write = job.response;
            self.write(end, flow);
        }
    }

    fn serve(&mut self) {
        let mut buffer = vec![];
        loop {
            for end in 0..2 {
                while let Some(transmit) = self.nodes[end].poll_transmit(self.now, &mut buffer) {
                    assert_eq!(transmit.len, buffer.len());
                    let segment = transmit.segment_size.unwrap_or(transmit.len);
                    for bytes in buffer.chunks(segment) {
                        self.offer(end, bytes.to_vec());
                    }
                }
            }
            let mut quiet = true;
            for end in 0..2 {
                while let Some(event) = self.nodes[end].poll_event() {
                    quiet = false;
                    self.take(end, event);
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn offer(&mut self, end: usize, bytes: Vec<u8>) {
        self.sent[end].0 += 1;
        self.sent[end].1 += bytes.len() as u64;
        let mut datagram = Datagram(bytes);
        if let Fate::Arrives(at) = self.links[end].offer(self.now, &mut datagram) {
            self.links[end].carry(at, datagram);
        }
    }

    fn take(&mut self, end: usize, event: Event) {
        match &event {
            Event::Connected { peer } if end == 0 => self.peers[0] = Some(*peer),
            Event::Up { peer, .. } => {
                self.peers[end] = Some(*peer);
                self.up_at.get_or_insert(self.now);
            }
            Event::Down { .. } => self.peers[end] = None,
            Event::Opened { flow, open, .. } => {
                let job = usize::from(open.source.port() - 1024);
                let job = (job..self.jobs.len()).step_by(60_000).next_back().unwrap();
                let side = Side { job, to_read: self.jobs[job].request, server: true, ..Side::default() };
                self.sides[end].insert(*flow, side);
            }
            Event::Readable { flow } => self.read(end, *flow),
            Event::Writable { flow } => self.write(end, *flow),
            Event::Finished { flow } => {
                let side = self.sides[end][flow];
                assert_eq!(side.read, side.to_read, "the end stands for missing bytes");
                if !side.server {
                    let began = self.jobs[side.job].at;
                    self.outcomes[side.job] = Outcome::Done(self.now.since(began).as_secs_f64());
                } else if self.jobs[side.job].response == 0 {
                    self.write(end, *flow);
                }
            }
            Event::Reset { flow, code } | Event::Refused { flow, reason: code } => {
                if let Some(side) = self.sides[end].get(flow).filter(|_| end == 0) {
                    self.outcomes[side.job] = Outcome::Failed(*code);
                }
            }
            _ => {}
        }
        self.events[end].push((self.now, event));
    }

    /// in = out + held + lost, in both directions.
    pub fn check_ledgers(&self) {
        let ledgers = [self.nodes[0].ledger(), self.nodes[1].ledger()];
        for (own, peer) in [(ledgers[0], ledgers[1]), (ledgers[1], ledgers[0])] {
            let Ledger { written, delivered, held, lost, .. } = own;
            assert_eq!(written, delivered + held + lost, "{own:?}");
            assert!(delivered <= peer.read, "{own:?} {peer:?}");
            assert!(peer.read + peer.unread + peer.discarded <= written, "{own:?} {peer:?}");
        }
    }
}
