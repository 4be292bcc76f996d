//! One flow through a bottleneck with a DropTail queue of one bandwidth-delay product: slow start overshoots, then AIMD.

use crate::common::*;
use longhaul_tcp::{Config, Recovery};
use longhaul_units::{Duration, Instant};
use std::cell::Cell;
use std::rc::Rc;

/// Runs `seconds` at one packet a millisecond (8 Mbit/s) and 100 ms; returns the world and the number of drops.
fn run(recovery: Recovery, queue_packets: u64, seconds: u64) -> (World, u64) {
    let packet = ms(1);
    let drops = Rc::new(Cell::new(0));
    let counter = drops.clone();
    let mut free_at = Instant::ZERO;
    let config = Config { recovery, delayed_ack: Some(ms(100)), ..plain() };
    let mut world = World::established(config, Reno::new(2), ms(50)).scripted(move |sent| {
        if sent.from == End::B {
            return vec![ms(50)];
        }
        let waiting = free_at.since(sent.at);
        if waiting > Duration::from_nanos(queue_packets * packet.as_nanos()) {
            counter.set(counter.get() + 1);
            return vec![];
        }
        free_at = sent.at + waiting + packet;
        vec![waiting + packet + ms(50)]
    });
    world.a.write_unlimited();
    world.run_until(at_ms(seconds * 1000));
    let dropped = drops.get();
    (world, dropped)
}

/// SACK recovers from the overshoot without a timeout, sends again only what was dropped, and keeps the link busy.
#[test]
fn sack_retransmits_exactly_what_was_dropped() {
    let (world, dropped) = run(Recovery::Sack, 100, 60);
    let stats = world.a.stats();
    assert!(dropped > 150, "slow start overshoots: {dropped}");
    assert_eq!(stats.timeouts, 0);
    assert_eq!(stats.retransmitted_segments, dropped);
    // 60,000 packets fit.
    assert!(world.b.received_bytes() > 59_000_000, "{}", world.b.received_bytes());
}

/// FACK takes all holes for gone and sends sooner, into a queue that is still full: a retransmission is lost, and that
/// takes a timeout. FlightSize has grown to thousands of segments by then and must not become the next ssthresh.
#[test]
fn a_timeout_in_recovery_does_not_raise_ssthresh() {
    let (world, dropped) = run(Recovery::Fack, 100, 60);
    assert!(world.a.stats().timeouts <= 3, "{}", world.a.stats().timeouts);
    assert_eq!(world.a.stats().retransmitted_segments, dropped);
    assert!(world.b.received_bytes() > 55_000_000, "{}", world.b.received_bytes());
}

/// The others get there too, if later: most of the link is used, and nothing stops for good.
#[test]
fn every_variant_makes_progress() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno] {
        let (world, _) = run(recovery, 100, 60);
        assert!(world.b.received_bytes() > 54_000_000, "{recovery:?}: {}", world.b.received_bytes());
    }
}
