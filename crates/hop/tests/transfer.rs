//! Transfers over the hop in virtual time.

use crate::common::end::Outcome;
use crate::common::*;
use longhaul_hop::{Config, Event, Rates, ResetCode, Role};
use longhaul_path::{JitterSpec, Link, LinkConfig, QueueSpec, Reordering};
use longhaul_units::{Duration, Instant, Limit, Probability};
use std::net::SocketAddr;

const RTT: Duration = Duration::from_millis(650);

fn world(up: f64, down: f64, loss: f64, seed: u64) -> World {
    let [mut terminal, mut hub] = configs();
    terminal.rates = Rates { send: Some(mbit(up)), ..Rates::default() };
    hub.rates = Rates { send: Some(mbit(down)), ..Rates::default() };
    let links = [link(mbit(up), RTT, random(loss)), link(mbit(down), RTT, random(loss))];
    World::new([terminal, hub], links, seed)
}

fn download(world: &mut World, size: u64) -> f64 {
    let at = world.now;
    let job = world.add(Job::new(at, 300, size));
    world.run(at + Duration::from_secs(300));
    world.check_ledgers();
    world.seconds(job)
}

#[test]
fn a_warm_hop_is_near_the_ideal() {
    let mut world = world(10.0, 50.0, 0.0, 1);
    let up = world.warm_up();
    assert!(up < Instant::ZERO + Duration::from_millis(2100), "{up}");
    world.run_until(up + Duration::from_secs(5));
    for (size, ideal) in [(2_000_000, 0.99), (10_000_000, 2.33), (100_000_000, 17.45)] {
        let took = download(&mut world, size);
        assert!(took < 1.08 * ideal && took > 0.95 * ideal, "{size} bytes: {took} s, ideal {ideal}");
        let now = world.now;
        world.run_until(now + Duration::from_secs(2));
    }
}

/// What waits at the sender is bounded by `unsent`, 16 KiB of each flow aside, and the link is as full as without that bound.
#[test]
fn what_waits_to_be_sent_is_bounded_and_the_link_stays_full() {
    let [terminal, mut hub] = configs();
    (hub.rates.send, hub.unsent) = (Some(mbit(50.0)), 1 << 20);
    let links = [link(mbit(10.0), RTT, None), link(mbit(50.0), RTT, None)];
    let mut world = World::new([terminal, hub], links, 1);
    let begin = world.warm_up();
    let jobs = [20_000_000; 3].map(|size| world.add(Job::new(begin, 300, size)));
    let mut most = 0;
    while world.ends[0].pending() && world.step(begin + Duration::from_secs(60)) {
        let hub = &world.ends[1].node;
        most = hub.peers().filter_map(|peer| hub.stats(peer)).map(|stats| stats.queued).fold(most, u64::max);
    }
    world.check_ledgers();
    assert!((1 << 19..=(1 << 20) + (3 << 14)).contains(&most), "{most}");
    // 60 MB with 5 % of headers, and a round trip.
    let last = jobs.map(|job| world.seconds(job)).into_iter().fold(0.0, f64::max);
    assert!(last < 1.05 * (60e6 * 1.05 * 8.0 / 50e6 + 0.65), "{last}");
}

/// What the hub reports of its waiting is the time that its data take on the link, not that until the next request.
#[test]
fn a_hub_reports_for_how_long_it_had_more_than_the_path_took() {
    let waited = |size: u64, count: u32, most: Option<f64>| {
        let mut world = world(10.0, 50.0, 0.0, 1);
        world.ends[1].node.set_rates(Some(mbit(most.unwrap_or(50.0))), most.map(mbit));
        let up = world.warm_up();
        world.run_until(up + Duration::from_secs(2));
        let begin = world.now;
        for _ in 0..count {
            download(&mut world, size);
        }
        let (busy, terminal) = (world.now.since(begin), &world.ends[0].node);
        let peer = terminal.peers().next().and_then(|peer| terminal.stats(peer)).expect("it is up");
        peer.peer_waited.as_secs_f64() / busy.as_secs_f64()
    };
    let (short, long) = (waited(2_000_000, 10, None), waited(40_000_000, 1, None));
    assert!((0.2..0.4).contains(&short), "0.32 of 0.99 s each: {short}");
    assert!((0.8..1.0).contains(&long), "{long}");
    let bounded = waited(10_000_000, 1, Some(4.0));
    assert!(bounded < 0.1, "the hub's own ceiling is no limit of the path: {bounded}");
}

/// Where the hub is becomes known later, and its address may change; what is established goes on.
#[test]
fn a_terminal_opens_a_connection_when_it_has_a_hub_and_none_without() {
    let nowhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let terminal = Config::new(Role::Terminal { hub: nowhere });
    let links = [link(mbit(10.0), RTT, None), link(mbit(10.0), RTT, None)];
    let mut world = World::new([terminal, Config::new(Role::Hub)], links, 1);
    world.run_until(Instant::ZERO + Duration::from_secs(60));
    assert_eq!(world.ends[0].sent, (0, 0));
    let ups = |world: &World| {
        let up = |(_, event): &&(_, Event)| matches!(event, Event::Up { .. });
        world.ends[0].events.iter().filter(up).count()
    };
    let now = world.now;
    world.ends[0].node.set_hub(now, HUB.parse().unwrap());
    world.run_until(now + Duration::from_secs(5));
    assert_eq!(ups(&world), 1);
    // Without a hub it is up still, and is not opened again once it is lost.
    let now = world.now;
    world.ends[0].node.set_hub(now, nowhere);
    world.run_until(now + Duration::from_secs(30));
    let peer = world.ends[0].node.peers().next().expect("it is up");
    let now = world.now;
    world.ends[0].node.give_up(now, peer, "the test");
    world.run_until(now + Duration::from_secs(60));
    assert_eq!((world.ends[0].node.peers().count(), ups(&world)), (0, 1));
    // A handshake with an address that gives no answer is given up at once for another one.
    let now = world.now;
    world.ends[0].node.set_hub(now, "192.0.2.77:9".parse().unwrap());
    world.run_until(now + Duration::from_secs(2));
    let now = world.now;
    world.ends[0].node.set_hub(now, HUB.parse().unwrap());
    world.run_until(now + Duration::from_secs(5));
    assert_eq!(ups(&world), 2);
}

#[test]
fn losses_are_repaired() {
    for seed in 1..4 {
        let mut world = world(10.0, 50.0, 0.05, seed);
        world.warm_up();
        let took = download(&mut world, 5_000_000);
        assert!(took < 6.0, "{took}");
    }
}

#[test]
fn a_flow_that_nobody_reads_stalls_no_other() {
    let mut world = world(10.0, 50.0, 0.0, 1);
    let up = world.warm_up();
    for _ in 0..30 {
        world.add(Job { reads_from: Instant::FAR_FUTURE, ..Job::new(up, 1, 50_000_000) });
    }
    world.run_until(up + Duration::from_secs(60));
    let unread = world.ends[0].node.ledger().unread;
    let memory = Config::new(longhaul_hop::Role::Hub).memory;
    assert!(unread < memory && unread > memory / 8, "{unread}");
    let at = world.now;
    let job = world.add(Job::new(at, 300, 2_000_000));
    world.run_until(at + Duration::from_secs(20));
    assert!(world.seconds(job) < 6.0, "{:?}", world.ends[0].outcomes[job]);
    world.check_ledgers();
}

/// The node whose datagrams get lost receives the peer's probes, and may take that for a hop that works. It has to ask itself.
#[test]
fn a_way_that_is_blocked_in_one_direction_is_noticed_without_traffic() {
    for blocked in 0..2 {
        for pause_ms in (0..5000).step_by(500) {
            let mut world = world(10.0, 50.0, 0.0, 1);
            let up = world.warm_up();
            let from = up + Duration::from_millis(5000 + pause_ms);
            world.run_until(from);
            world.links[blocked] = Link::new(&link(mbit(50.0), RTT, random(1.0)), 1, "blocked");
            world.run_until(from + Duration::from_secs(12));
            for (number, end) in world.ends.iter().enumerate() {
                let silence = end.node.silence(world.now, end.peer.unwrap()).unwrap();
                assert!(silence > Duration::from_millis(6400), "node {number}, {pause_ms} ms: {silence}");
            }
        }
    }
}

/// 150 answers of 20 kB beside a bulk transfer over a link that loses 1 % each way: at most one in a hundred takes a round trip more
/// than 0.7 s. A request lost with its copy, since both were in one packet, made it one in fifty.
#[test]
fn small_answers_are_late_once_in_a_hundred() {
    let mut late = 0;
    for seed in 1..4 {
        let mut world = world(10.0, 50.0, 0.01, seed);
        let up = world.warm_up();
        world.run_until(up + Duration::from_secs(5));
        let at = world.now;
        world.add(Job::new(at, 300, 400_000_000));
        world.run_until(at + Duration::from_secs(2));
        let start = world.now;
        let request = |n: u64| Job::new(start + Duration::from_millis(470 * n), 300, 20_000);
        let jobs: Vec<usize> = (0..50u64).map(|n| world.add(request(n))).collect();
        world.run_until(start + Duration::from_secs(30));
        late += jobs.into_iter().filter(|job| world.seconds(*job) > 0.7).count();
    }
    assert!(late <= 1, "{late} of 150");
}

/// A queue of four packets shows overload as loss only, and packets overtaken as loss too. A hop that took all of that for random
/// sent twenty times as much as the link carries.
#[test]
fn a_queue_of_four_packets_does_not_drive_the_rate_up() {
    let cases = [
        (0.0, None, 1),
        (0.0, Some(290.0), 1),
        (0.01, None, 6),
        (0.01, Some(28.9), 1),
        (0.01, Some(290.0), 6),
    ];
    for (overtaken, configured, flows) in cases {
        let [mut terminal, mut hub] = configs();
        terminal.rates.send = Some(mbit(28.9));
        hub.rates.send = configured.map(mbit);
        let rtt = Duration::from_millis(84);
        let probability = Probability::new(overtaken).unwrap();
        let short = LinkConfig {
            queue: QueueSpec::droptail(Limit::Packets(4)),
            jitter: Some(JitterSpec::uniform(Duration::from_millis(3))),
            reordering: Some(Reordering { probability, delay: Duration::from_millis(5) }),
            ..link(mbit(29.0), rtt, None)
        };
        let mut world = World::new([terminal, hub], [short.clone(), short], 1);
        let up = world.warm_up();
        for _ in 0..flows {
            world.add(Job::new(up, 300, 400_000_000));
        }
        world.run_until(up + Duration::from_secs(20));
        let capacity = 29e6 / 8.0 * 20.0;
        let (sent, read) = (world.ends[1].sent.1 as f64, world.ends[0].node.ledger().read as f64);
        let (sent, read) = (sent / capacity, read / capacity);
        let what = format!(
            "{overtaken} {configured:?} {flows}: sent {sent:.2}, read {read:.2} of what the link carries"
        );
        assert!(sent < 1.5 && read > 0.5, "{what}");
        world.check_ledgers();
    }
}

/// Ended flows make room for as many new ones, however many there were.
#[test]
fn as_many_flows_as_agreed_can_be_open_again_and_again() {
    const FLOWS: u32 = 64;
    let [mut terminal, mut hub] = configs();
    for config in [&mut terminal, &mut hub] {
        config.max_flows = FLOWS;
        config.rates.send = Some(mbit(50.0));
    }
    let links = [link(mbit(50.0), RTT, None), link(mbit(50.0), RTT, None)];
    let mut world = World::new([terminal, hub], links, 1);
    world.warm_up();
    for round in 0..5 {
        let at = world.now;
        let jobs: Vec<usize> = (0..FLOWS).map(|_| world.add(Job::new(at, 300, 20_000))).collect();
        world.run(at + Duration::from_secs(60));
        for job in jobs {
            assert!(world.seconds(job) < 5.0, "round {round}: {:?}", world.ends[0].outcomes[job]);
        }
        let now = world.now;
        world.run_until(now + Duration::from_secs(5));
    }
    world.check_ledgers();
}

/// A peer is permitted few streams before it has used any. A burst beyond them is late by a round trip, and nothing of it is refused; what
/// is given up while it waits leaves no gap.
#[test]
fn a_burst_beyond_the_first_streams_waits_a_round_trip() {
    const FLOWS: usize = 3000;
    let [mut terminal, mut hub] = configs();
    for config in [&mut terminal, &mut hub] {
        (config.rates.send, config.first_flows) = (Some(mbit(500.0)), 448);
    }
    let links = [link(mbit(500.0), RTT, None), link(mbit(500.0), RTT, None)];
    let mut world = World::new([terminal, hub], links, 1);
    world.warm_up();
    // The first round trip permits more than are needed; afterwards they are there.
    for most in [1.7, 1.0] {
        let at = world.now;
        let jobs: Vec<usize> = (0..FLOWS).map(|_| world.add(Job::new(at, 300, 2_000))).collect();
        world.run_until(at + Duration::from_millis(1));
        let mut kept = jobs.clone();
        for place in [2000, 1000] {
            let (job, end) = (kept.remove(place), &mut world.ends[0]);
            end.node.reset(world.now, end.flow_of(job), ResetCode::Reset);
            end.outcomes[job] = Outcome::Failed(ResetCode::Reset);
        }
        world.run(at + Duration::from_secs(60));
        for job in kept {
            assert!(world.seconds(job) < most, "{job}: {:?}", world.ends[0].outcomes[job]);
        }
        let now = world.now;
        world.run_until(now + Duration::from_secs(5));
        assert_eq!(world.ends[0].node.stats(world.ends[0].peer.unwrap()).unwrap().flows, 0);
        assert_eq!(world.ends[1].node.stats(world.ends[1].peer.unwrap()).unwrap().flows, 0);
    }
    world.check_ledgers();
}
