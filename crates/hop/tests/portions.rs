//! Classes of flows and shares of peers, in virtual time.

use crate::common::*;
use bytes::BytesMut;
use longhaul_hop::{Bounds, Config, Event, PeerId, Portion, Rates, Role};
use longhaul_units::{Duration, Instant, Rate};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

const RTT: Duration = Duration::from_millis(600);

fn portion(weight: u32, floor: Option<f64>, ceiling: Option<f64>) -> Portion {
    Portion { weight, floor: floor.map(mbit), ceiling: ceiling.map(mbit) }
}

fn world(classes: &[(u16, Portion)]) -> (World, Instant) {
    let [mut terminal, mut hub] = configs();
    terminal.rates = Rates { send: Some(mbit(10.0)), ..Rates::default() };
    hub.rates = Rates { send: Some(mbit(20.0)), ..Rates::default() };
    let links = [link(mbit(10.0), RTT, None), link(mbit(20.0), RTT, None)];
    let mut world = World::new([terminal, hub], links, 1);
    world.ends[0].node.set_classes(classes.iter().copied().collect());
    let up = world.warm_up();
    (world, up)
}

/// Bytes that one job's client has read within `seconds` from now, in Mbit/s.
fn rates(world: &mut World, jobs: &[usize], seconds: u64) -> Vec<f64> {
    let before: Vec<u64> = jobs.iter().map(|job| world.ends[0].read_by(*job)).collect();
    let until = world.now + Duration::from_secs(seconds);
    world.run_until(until);
    let after = jobs.iter().map(|job| world.ends[0].read_by(*job));
    after.zip(before).map(|(after, before)| (after - before) as f64 * 8e-6 / seconds as f64).collect()
}

/// The terminal defines the classes; the hub, which sends, holds to them.
#[test]
fn classes_of_the_terminal_hold_for_what_the_hub_sends() {
    let (mut world, up) = world(&[(1, portion(3, None, None)), (2, portion(1, None, Some(1.0)))]);
    // Two flows without a class, and one in each class: 1 + 1 to 3 parts, and a ceiling of 1 Mbit/s.
    let job = |class| Job { class, ..Job::new(up, 300, 400_000_000) };
    let jobs: Vec<usize> = [0, 0, 1, 2].map(|class| world.add(job(class))).to_vec();
    world.run_until(up + Duration::from_secs(5));
    let found = rates(&mut world, &jobs, 20);
    assert!((0.9..1.02).contains(&found[3]), "{found:?}");
    let total: f64 = found.iter().sum();
    assert!(total > 0.93 * 20.0, "{found:?}");
    let (others, first) = (found[0] + found[1], found[2]);
    assert!((first / others - 3.0).abs() < 0.1 && (found[0] - found[1]).abs() < 0.1, "{found:?}");
    // Another weight and no ceiling, while all of them go on.
    let classes = [(1, portion(1, None, None)), (2, portion(2, None, None))];
    world.ends[0].node.set_classes(classes.into_iter().collect());
    let now = world.now;
    world.run_until(now + Duration::from_secs(3));
    let found = rates(&mut world, &jobs, 20);
    assert!((found[3] / found[2] - 2.0).abs() < 0.1, "{found:?}");
    assert!((found[2] / (found[0] + found[1]) - 1.0).abs() < 0.1, "{found:?}");
    world.check_ledgers();
}

/// A small class beside a transfer that fills the link: its answers take a round trip and little more, however much it has sent before.
#[test]
fn a_class_with_a_floor_does_not_wait_for_a_transfer() {
    let (mut world, up) = world(&[(1, portion(1, Some(2.0), None))]);
    for _ in 0..4 {
        world.add(Job::new(up, 300, 400_000_000));
    }
    let start = up + Duration::from_secs(5);
    // 1.6 Mbit/s in answers of 20 kB, ten each second.
    let request = |n: u64| Job { class: 1, ..Job::new(start + Duration::from_millis(100 * n), 300, 20_000) };
    let jobs: Vec<usize> = (0..100).map(|n| world.add(request(n))).collect();
    world.run_until(start + Duration::from_secs(20));
    let mut took: Vec<f64> = jobs.iter().map(|job| world.seconds(*job)).collect();
    took.sort_by(f64::total_cmp);
    assert!(took[98] < 1.1 * 0.6 + 20_000.0 * 8.0 / 20e6, "{took:?}");
    world.check_ledgers();
}

/// A link that carries less than the configured rate: while the hop drains the queue that it has made, a class below its floor goes on.
#[test]
fn a_class_with_a_floor_does_not_wait_for_a_queue_to_drain() {
    let late = |floor: Option<f64>| {
        let [mut terminal, mut hub] = configs();
        terminal.rates.send = Some(mbit(10.0));
        hub.rates.send = Some(mbit(40.0));
        let links = [link(mbit(10.0), RTT, None), link(mbit(20.0), RTT, None)];
        let mut world = World::new([terminal, hub], links, 1);
        world.ends[0].node.set_classes([(1, portion(1, floor, None))].into_iter().collect());
        let up = world.warm_up();
        for _ in 0..4 {
            world.add(Job::new(up, 300, 400_000_000));
        }
        let request = |n: u64| Job { class: 1, ..Job::new(up + Duration::from_millis(20 * n), 50, 50) };
        let jobs: Vec<usize> = (0..500).map(|n| world.add(request(n))).collect();
        world.run_until(up + Duration::from_secs(20));
        let mut took: Vec<f64> = jobs.iter().map(|job| world.seconds(*job)).collect();
        took.sort_by(f64::total_cmp);
        world.check_ledgers();
        eprintln!(
            "floor {floor:?}: median {:.3} s, 99 % {:.3} s, largest {:.3} s",
            took[250], took[494], took[499]
        );
        (took[494], took[499])
    };
    let (with, without) = (late(Some(1.0)), late(None));
    assert!(with.0 < without.0 && with.1 < without.1, "{with:?} {without:?}");
}

/// A ceiling alone leaves the rest of the link unused, and every byte arrives.
#[test]
fn a_ceiling_holds_for_transfers_in_both_directions_to_their_end() {
    let (mut world, up) = world(&[(1, portion(1, None, Some(1.0)))]);
    let down = world.add(Job { class: 1, ..Job::new(up, 300, 1_000_000) });
    let way_up = world.add(Job { class: 1, ..Job::new(up, 1_000_000, 300) });
    world.run(up + Duration::from_secs(60));
    for job in [down, way_up] {
        let took = world.seconds(job);
        assert!((8.0..10.5).contains(&took), "{took}");
    }
    world.check_ledgers();
}

#[test]
fn a_flow_changes_its_class_while_it_is_carried() {
    let (mut world, up) = world(&[(9, portion(1, None, Some(0.5)))]);
    let job = world.add(Job::new(up, 300, 400_000_000));
    world.run_until(up + Duration::from_secs(5));
    assert!(rates(&mut world, &[job], 5)[0] > 18.0);
    let flow = world.ends[0].flow_of(job);
    world.ends[0].node.classify(flow, 9);
    let now = world.now;
    world.run_until(now + Duration::from_secs(2));
    let found = rates(&mut world, &[job], 10);
    assert!((0.4..0.52).contains(&found[0]), "{found:?}");
    world.ends[0].node.classify(flow, 0);
    let now = world.now;
    world.run_until(now + Duration::from_secs(2));
    assert!(rates(&mut world, &[job], 5)[0] > 18.0);
}

/// A hub and several terminals, each 50 ms away over a link without a rate of its own.
struct Fleet {
    now: Instant,
    hub: End,
    terminals: Vec<End>,
    under_way: VecDeque<(Instant, Option<usize>, SocketAddr, Vec<u8>)>,
}

const DELAY: Duration = Duration::from_millis(50);

impl Fleet {
    fn new(terminals: usize, hub: Config) -> Fleet {
        let config = || Config::new(Role::Terminal { hub: HUB.parse().unwrap() });
        let end = |at: usize| End::new(config(), node_seed(1, at as u64), Instant::ZERO);
        let mut fleet = Fleet {
            now: Instant::ZERO,
            hub: End::new(hub, node_seed(2, 1), Instant::ZERO),
            terminals: (0..terminals).map(end).collect(),
            under_way: VecDeque::new(),
        };
        fleet.run_until(Instant::ZERO + Duration::from_secs(1));
        fleet
    }

    fn address(at: usize) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 10 + at as u8], 4000))
    }

    /// The hub's name of each terminal.
    fn peers(&self) -> Vec<PeerId> {
        let peer_at = |at: usize| {
            let up = |(_, event): &(Instant, Event)| match event {
                Event::Up { peer, address, .. } if *address == Fleet::address(at) => Some(*peer),
                _ => None,
            };
            self.hub.events.iter().find_map(up).expect("it is up")
        };
        (0..self.terminals.len()).map(peer_at).collect()
    }

    fn serve(&mut self) {
        let at = self.now + DELAY;
        loop {
            let under_way = &mut self.under_way;
            self.hub.transmit(self.now, |to, bytes| {
                let terminal = (0..).find(|at| Fleet::address(*at) == to).unwrap();
                under_way.push_back((at, Some(terminal), HUB.parse().unwrap(), bytes.to_vec()));
            });
            for (number, terminal) in self.terminals.iter_mut().enumerate() {
                terminal.transmit(self.now, |_, bytes| {
                    under_way.push_back((at, None, Fleet::address(number), bytes.to_vec()));
                });
            }
            let mut any = self.hub.serve(self.now);
            for terminal in &mut self.terminals {
                any |= terminal.serve(self.now);
            }
            if !any {
                return;
            }
        }
    }

    fn run_until(&mut self, limit: Instant) {
        loop {
            self.serve();
            let ends = std::iter::once(&mut self.hub).chain(&mut self.terminals);
            let timer = ends.filter_map(|end| end.node.poll_timeout()).min();
            let arrival = self.under_way.front().map(|datagram| datagram.0);
            let next = timer.into_iter().chain(arrival).min().unwrap_or(limit).max(self.now);
            if next > limit {
                self.now = limit;
                return;
            }
            self.now = next;
            while self.under_way.front().is_some_and(|datagram| datagram.0 <= self.now) {
                let (_, to, from, bytes) = self.under_way.pop_front().unwrap();
                let end = to.map_or(&mut self.hub, |at| &mut self.terminals[at]);
                end.node.handle_datagram(self.now, from, None, 0, BytesMut::from(&bytes[..]));
            }
            self.hub.handle_timeout(self.now);
            self.terminals.iter_mut().for_each(|end| end.handle_timeout(self.now));
        }
    }

    fn download(&mut self, terminal: usize) {
        let job = self.terminals[terminal].add(Job::new(self.now, 300, 400_000_000));
        self.terminals[terminal].begin(self.now, job);
    }

    /// What each terminal reads in the next seconds, in Mbit/s.
    fn rates(&mut self, seconds: u64) -> Vec<f64> {
        let read = |fleet: &Fleet| -> Vec<u64> {
            fleet.terminals.iter().map(|end| end.node.ledger().read).collect()
        };
        let before = read(self);
        self.run_until(self.now + Duration::from_secs(seconds));
        let after = read(self);
        after
            .iter()
            .zip(before)
            .map(|(after, before)| (after - before) as f64 * 8e-6 / seconds as f64)
            .collect()
    }
}

fn hub() -> Config {
    let mut config = Config::new(Role::Hub);
    config.rates.send = Some(mbit(50.0));
    config.rates.most = Some(mbit(50.0));
    config
}

#[test]
fn terminals_of_a_hub_share_its_rate_by_their_weights() {
    let mut fleet = Fleet::new(4, hub());
    fleet.hub.node.set_total(Some(mbit(20.0)));
    let peers = fleet.peers();
    for (peer, portion) in [
        (peers[0], portion(1, None, None)),
        (peers[1], portion(2, None, None)),
        (peers[2], portion(1, Some(8.0), None)),
        (peers[3], portion(5, None, Some(1.0))),
    ] {
        fleet.hub.node.set_portion(peer, portion);
    }
    (0..4).for_each(|terminal| fleet.download(terminal));
    fleet.run_until(fleet.now + Duration::from_secs(3));
    let found = fleet.rates(10);
    let total: f64 = found.iter().sum();
    // 28 bytes of IP and UDP and some 40 of QUIC in 1500, and ACKs.
    assert!((18.0..20.0).contains(&total), "{found:?}");
    assert!((0.85..1.0).contains(&found[3]) && (7.5..8.1).contains(&found[2]), "{found:?}");
    assert!((found[1] / found[0] - 2.0).abs() < 0.15, "{found:?}");
    // Without the rate of all, each has that of its own path; the ceiling holds.
    fleet.hub.node.set_total(None);
    fleet.run_until(fleet.now + Duration::from_secs(10));
    let found = fleet.rates(5);
    assert!(found[0] > 40.0 && found[2] > 40.0 && found[3] < 1.0, "{found:?}");
}

/// One terminal that is alone has the whole rate, and gives way at once.
#[test]
fn what_terminals_do_not_use_others_have() {
    let mut fleet = Fleet::new(2, hub());
    fleet.hub.node.set_total(Some(mbit(10.0)));
    fleet.download(0);
    fleet.run_until(fleet.now + Duration::from_secs(2));
    let found = fleet.rates(5);
    assert!(found[0] > 9.0 && found[1] < 0.01, "{found:?}");
    fleet.download(1);
    fleet.run_until(fleet.now + Duration::from_millis(300));
    let found = fleet.rates(2);
    assert!((found[0] - found[1]).abs() < 0.3 && found[0] + found[1] > 9.0, "{found:?}");
}

#[test]
fn a_hub_bounds_what_a_terminal_opens_and_sends() {
    let mut fleet = Fleet::new(2, hub());
    let peers = fleet.peers();
    let bounds = Bounds { flows: Some(7), rate: Some(Rate::from_bps(1_000_000)) };
    fleet.hub.node.set_bounds(peers[0], bounds);
    fleet.run_until(fleet.now + Duration::from_secs(1));
    let flows = |fleet: &Fleet, at: usize| {
        let end = &fleet.terminals[at];
        end.node.stats(end.peer.unwrap()).unwrap().max_flows
    };
    assert_eq!((flows(&fleet, 0), flows(&fleet, 1)), (7, 4096));
    let bounded = |end: &End| end.events.iter().any(|(_, event)| matches!(event, Event::Bounded { .. }));
    assert!(bounded(&fleet.terminals[0]) && !bounded(&fleet.terminals[1]));
    let now = fleet.now;
    for terminal in 0..2 {
        fleet.terminals[terminal].node.set_rates(Some(mbit(5.0)), Some(mbit(5.0)));
        let job = fleet.terminals[terminal].add(Job::new(now, 50_000_000, 300));
        fleet.terminals[terminal].begin(now, job);
    }
    let read =
        |fleet: &Fleet| fleet.terminals.iter().map(|end| end.node.ledger().delivered).collect::<Vec<_>>();
    fleet.run_until(now + Duration::from_secs(2));
    let before = read(&fleet);
    fleet.run_until(now + Duration::from_secs(12));
    let rates: Vec<f64> =
        read(&fleet).iter().zip(before).map(|(after, before)| (after - before) as f64 * 8e-7).collect();
    assert!((0.85..1.0).contains(&rates[0]) && rates[1] > 4.5, "{rates:?}");
    // The bound is withdrawn.
    fleet.hub.node.set_bounds(peers[0], Bounds::default());
    fleet.run_until(fleet.now + Duration::from_secs(1));
    assert_eq!(flows(&fleet, 0), 4096);
}

/// Numbers out of their ranges come from a later version or a stranger: nothing is kept of them.
#[test]
fn classes_have_numbers_below_a_bound() {
    let all: BTreeMap<u16, Portion> = (1..2000).map(|class| (class, portion(1, None, Some(0.1)))).collect();
    let (mut world, up) = world(&[]);
    world.ends[0].node.set_classes(all);
    let job = world.add(Job { class: 1999, ..Job::new(up, 300, 2_000_000) });
    world.run(up + Duration::from_secs(30));
    assert!(world.seconds(job) < 4.0, "it has no class: {}", world.seconds(job));
}
