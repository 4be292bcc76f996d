//! Two nodes, two links of crate `path` between them, and in virtual time the clients and servers that use the hop.
#![allow(dead_code)] // each test and example uses a part of it

pub mod end;

pub use end::{End, Job};
use longhaul_hop::{Config, Ledger, Role};
use longhaul_path::loss::{GilbertElliott, RandomLoss};
use longhaul_path::{Fate, Link, LinkConfig, LossPlace, LossSpec, Packet, QueueSpec};
use longhaul_units::{Duration, Ecn, Instant, Limit, Probability, Rate, Size};

/// IPv4 and UDP.
const HEADERS: u32 = 28;
pub const TERMINAL: &str = "192.0.2.1:40000";
pub const HUB: &str = "192.0.2.2:4433";

pub struct Datagram(pub Vec<u8>);

impl Packet for Datagram {
    fn wire_len(&self) -> u32 {
        self.0.len() as u32 + HEADERS
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _: Ecn) {}
    fn flow(&self) -> u64 {
        0
    }
}

pub fn mbit(rate: f64) -> Rate {
    Rate::from_bps_f64(rate * 1e6)
}

pub fn random(probability: f64) -> Option<LossSpec> {
    let probability = Probability::new(probability).unwrap();
    (probability.get() > 0.0).then_some(RandomLoss { probability, place: LossPlace::Wire }.into())
}

/// Bursts with a mean of `burst` packets and `loss` packets lost in all.
pub fn bursts(loss: f64, burst: f64) -> Option<LossSpec> {
    let out = 1.0 / burst;
    let p = |value| Probability::new(value).unwrap();
    let loss = GilbertElliott {
        good_to_bad: p(loss * out / (1.0 - loss)),
        bad_to_good: p(out),
        loss_in_good: p(0.0),
        loss_in_bad: p(1.0),
        place: LossPlace::Wire,
    };
    Some(loss.into())
}

/// A link with a DropTail queue of one bandwidth-delay product of `rtt`.
pub fn link(rate: Rate, rtt: Duration, loss: Option<LossSpec>) -> LinkConfig {
    let queue =
        QueueSpec::droptail(Limit::Bytes(Size::from_bytes(rate.bytes_in(rtt).as_bytes().max(20_000))));
    LinkConfig { loss, ..LinkConfig::plain(rate, Duration::from_nanos(rtt.as_nanos() / 2), queue) }
}

/// The terminal and the hub, and the links from each to the other.
pub struct World {
    pub now: Instant,
    pub ends: [End; 2],
    pub links: [Link<Datagram>; 2],
    /// Jobs of the terminal that begin later, the next one last.
    waiting: Vec<usize>,
}

pub fn configs() -> [Config; 2] {
    [Config::new(Role::Terminal { hub: HUB.parse().unwrap() }), Config::new(Role::Hub)]
}

/// The seed of a node's random numbers in run `run`.
pub fn node_seed(node: u8, run: u64) -> [u8; 32] {
    let mut bytes = [node; 32];
    bytes[..8].copy_from_slice(&run.to_le_bytes());
    bytes
}

fn offer(link: &mut Link<Datagram>, now: Instant, bytes: &[u8]) {
    let mut datagram = Datagram(bytes.to_vec());
    if let Fate::Arrives(at) = link.offer(now, &mut datagram) {
        link.carry(at, datagram);
    }
}

impl World {
    /// Links: from terminal to hub, and back.
    pub fn new(configs: [Config; 2], links: [LinkConfig; 2], seed: u64) -> Self {
        let [terminal, hub] = configs;
        let now = Instant::ZERO;
        let [up, down] = links;
        World {
            now,
            ends: [End::new(terminal, node_seed(1, seed), now), End::new(hub, node_seed(2, seed), now)],
            links: [Link::new(&up, seed, "satellite.reverse"), Link::new(&down, seed, "satellite.forward")],
            waiting: vec![],
        }
    }

    /// Runs until both nodes are up; the time then.
    pub fn warm_up(&mut self) -> Instant {
        let limit = self.now + Duration::from_secs(60);
        while self.ends.iter().any(|end| end.peer.is_none()) && self.step(limit) {}
        assert!(self.ends.iter().all(|end| end.peer.is_some()), "the hop is not up");
        self.now
    }

    /// Runs until the terminal can open flows.
    pub fn connect(&mut self) {
        let limit = self.now + Duration::from_secs(60);
        while self.ends[0].peer.is_none() && self.step(limit) {
            self.serve();
        }
        assert!(self.ends[0].peer.is_some(), "the hop is not connected");
    }

    pub fn add(&mut self, job: Job) -> usize {
        let number = self.ends[0].add(job);
        self.waiting.push(number);
        self.waiting.sort_by_key(|job| std::cmp::Reverse(self.ends[0].jobs[*job].at));
        number
    }

    /// Runs until `limit`, or until all jobs have an outcome.
    pub fn run(&mut self, limit: Instant) {
        while self.ends[0].pending() && self.step(limit) {}
    }

    pub fn run_until(&mut self, limit: Instant) {
        while self.step(limit) {}
        self.now = limit;
    }

    pub fn seconds(&self, job: usize) -> f64 {
        self.ends[0].seconds(job)
    }

    /// Handles all that is due at one time. False if nothing is due before `limit`.
    pub fn step(&mut self, limit: Instant) -> bool {
        self.serve();
        let timers = self.ends.iter_mut().filter_map(|end| end.node.poll_timeout()).min();
        let arrivals = self.links.iter().map(Link::next_event).min().unwrap_or(Instant::FAR_FUTURE);
        let job = self.waiting.last().map_or(Instant::FAR_FUTURE, |job| self.ends[0].jobs[*job].at);
        let next = timers.unwrap_or(Instant::FAR_FUTURE).min(arrivals).min(job).max(self.now);
        if next > limit {
            return false;
        }
        self.now = next;
        for end in 0..2 {
            while let Some(datagram) = self.links[end].poll(self.now) {
                self.ends[1 - end].handle_datagram(
                    self.now,
                    [TERMINAL, HUB][end].parse().unwrap(),
                    &datagram.0,
                );
            }
            self.ends[end].handle_timeout(self.now);
        }
        while let Some(job) =
            self.waiting.last().copied().filter(|job| self.ends[0].jobs[*job].at <= self.now)
        {
            self.waiting.pop();
            self.ends[0].begin(self.now, job);
        }
        true
    }

    fn serve(&mut self) {
        loop {
            for (end, link) in self.ends.iter_mut().zip(&mut self.links) {
                end.transmit(self.now, |_, bytes| offer(link, self.now, bytes));
            }
            let any = self.ends.each_mut().map(|end| end.serve(self.now));
            if any == [false; 2] {
                return;
            }
        }
    }

    /// in = out + held + lost, in both directions.
    pub fn check_ledgers(&self) {
        let ledgers = self.ends.each_ref().map(|end| end.node.ledger());
        for (own, peer) in [(ledgers[0], ledgers[1]), (ledgers[1], ledgers[0])] {
            let Ledger { written, delivered, held, lost, .. } = own;
            assert_eq!(written, delivered + held + lost, "{own:?}");
            assert!(delivered <= peer.read, "{own:?} {peer:?}");
            assert!(peer.read + peer.unread + peer.discarded <= written, "{own:?} {peer:?}");
        }
    }
}
