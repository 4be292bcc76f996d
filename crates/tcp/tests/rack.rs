//! RACK-TLP (RFC 8985) in a connection: a round trip of 100 ms and 1000-byte segments.

use crate::common::*;
use longhaul_segment::Flags;
use longhaul_tcp::{Config, Event, Recovery, ReductionBound};

fn rack() -> Config {
    Config { recovery: Recovery::Rack, ..plain() }
}

/// 20 segments in flight, the 4th, 8th and 13th lost: as RFC 6675, one round trip.
#[test]
fn all_holes_are_repaired_in_one_round_trip() {
    let mut world =
        World::established(rack(), Reno::avoiding(20), ms(50)).dropping_once(&[3001, 7001, 12001]);
    world.a.write(60_000);
    world.run_until(at_ms(5_000));
    assert_eq!(world.b.received_bytes(), 60_000);
    assert_eq!(world.retransmissions(), [(100, 3001), (100, 7001), (100, 12001)]);
    assert_eq!((world.a.stats().fast_retransmits, world.a.stats().timeouts), (1, 0));
}

/// Section 4.1 (lost retransmission): what is SACKed after a retransmission was sent shows that it is lost too. RFC 6675 waits
/// for the timer.
#[test]
fn a_lost_retransmission_is_sent_again_a_round_trip_later() {
    for (recovery, timeouts) in [(Recovery::Rack, 0), (Recovery::Sack, 1)] {
        let mut left = 2;
        let config = Config { recovery, ..plain() };
        let mut world = World::established(config, Reno::avoiding(20), ms(50)).dropping(move |sent| {
            let first = sent.from == End::A && sent.seq() == 1 && left > 0;
            left -= u32::from(first);
            first
        });
        world.a.write(60_000);
        world.run_until(at_ms(5_000));
        assert_eq!(world.b.received_bytes(), 60_000);
        assert_eq!(world.a.stats().timeouts, timeouts, "{recovery:?}");
        let first: Vec<u64> = world.retransmissions().iter().filter(|r| r.1 == 1).map(|r| r.0).collect();
        if recovery == Recovery::Rack {
            // New data that left after it, at 100 ms, is SACKed at 200 ms.
            assert_eq!(first, [100, 200]);
        }
    }
}

/// Section 6.2 step 4: two segments SACKed above a hole are not enough for duplicate ACKs; after a quarter of the smallest
/// round trip more the hole is lost.
#[test]
fn a_small_flight_is_repaired_after_the_reordering_window() {
    let config = Config { limited_transmit: false, tail_loss_probe: false, ..rack() };
    let mut world = World::established(config, Reno::avoiding(3), ms(50)).dropping_once(&[1]);
    world.a.write(3_000);
    world.run_until(at_ms(1_500));
    assert_eq!(world.b.received_bytes(), 3_000);
    assert_eq!(world.retransmissions(), [(125, 1)]);
    assert_eq!(world.a.stats().timeouts, 0);
}

/// The first segment of the first flight of three is late by `by` ms; then that of a flight of ten is late by 20 ms.
fn late(by: u64) -> World {
    let config = Config { tail_loss_probe: false, ..rack() };
    let mut world = World::established(config, Reno::avoiding(10), ms(50)).scripted(move |sent| {
        let first_time = sent.from == End::A && !sent.transmit.retransmission;
        vec![match sent.seq() {
            1 if first_time => ms(50 + by),
            3001 if first_time => ms(70),
            _ => ms(50),
        }]
    });
    world.a.write(3_000);
    world.run_until(at_ms(1_000));
    world.a.write(10_000);
    world.run_until(at_ms(5_000));
    assert_eq!(world.b.received_bytes(), 13_000);
    world
}

/// Section 6.2 step 4: a segment that is late by less than a quarter of the round trip is not sent again, if it is overtaken
/// by fewer than three others; once such reordering has been seen, not even if nine others overtake it.
#[test]
fn reordering_within_the_window_is_no_loss() {
    assert_eq!(late(20).retransmissions(), []);
}

/// 30 ms are more than a quarter of 100 ms.
#[test]
fn reordering_beyond_the_window_is_taken_for_loss() {
    assert_eq!(late(30).retransmissions(), [(125, 1)]);
}

/// Section 7 and the example of section 9.1: the last segments are lost; a probe after two SRTT brings a SACK, and recovery.
#[test]
fn a_tail_loss_is_probed() {
    for (tail_loss_probe, timeouts) in [(true, 0), (false, 1)] {
        let config = Config { tail_loss_probe, ..rack() };
        let mut world =
            World::established(config, Reno::avoiding(10), ms(50)).dropping_once(&[17_001, 18_001, 19_001]);
        world.a.write(20_000);
        world.run_until(at_ms(5_000));
        assert_eq!(world.b.received_bytes(), 20_000);
        assert_eq!(world.a.stats().timeouts, timeouts);
        assert_eq!(world.a.stats().tail_loss_probes, 1 - timeouts);
        if tail_loss_probe {
            // The last ACK comes at 200 ms, SRTT is 100 ms: the probe repeats the last segment at 400 ms; its SACK at 500 ms
            // shows the two before it to be lost.
            assert_eq!(world.retransmissions(), [(400, 19_001), (500, 17_001), (500, 18_001)]);
            assert!(world.saw(End::A, Event::FastRetransmit { lost: 17_000, flight_size: 3_000 }));
        }
    }
}

/// Section 7.4: a single lost segment at the end is repaired by the probe itself; the window is reduced when more is
/// acknowledged.
#[test]
fn a_loss_that_the_probe_repairs_is_congestion() {
    let mut world = World::established(rack(), Reno::avoiding(10), ms(50)).dropping_once(&[19_001]);
    world.a.write(20_000);
    world.run_until(at_ms(600));
    // One segment in flight: 2 SRTT and the longest delay of an ACK, which is off here.
    assert_eq!(world.retransmissions(), [(400, 19_001)]);
    assert_eq!((world.b.received_bytes(), world.a.stats().timeouts), (20_000, 0));
    let before = world.a.cwnd();
    world.a.write(1_000);
    world.run_until(at_ms(800));
    assert!(world.a.cwnd() < before, "{} and then {}", before, world.a.cwnd());
    assert_eq!(world.a.stats().fast_retransmits, 0);
}

/// Section 7.4.2: a probe that was not needed, as the D-SACK shows, leaves the window alone.
#[test]
fn a_probe_for_nothing_is_no_congestion() {
    let mut world = World::established(rack(), Reno::avoiding(10), ms(50)).scripted(|sent| {
        // The ACK of the last segment is late by 250 ms.
        let late = sent.from == End::B && sent.ack() == 20_001 && sent.at < at_ms(200);
        vec![if late { ms(300) } else { ms(50) }]
    });
    world.a.write(20_000);
    world.run_until(at_ms(700));
    assert_eq!(world.a.stats().tail_loss_probes, 1);
    let before = world.a.cwnd();
    world.a.write(3_000);
    world.run_until(at_ms(2_000));
    assert_eq!(world.b.received_bytes(), 23_000);
    assert!(world.a.cwnd() >= before);
}

/// Section 7.3: where the window is full and there are new data, the probe is a new segment beyond the window.
#[test]
fn a_probe_carries_new_data_if_there_are_any() {
    let mut world = World::established(rack(), Reno::avoiding(4), ms(50)).dropping(|sent| {
        sent.from == End::A && sent.at == at_ms(0) // the whole first flight
    });
    world.a.write(20_000);
    world.run_until(at_ms(1_000));
    // There is no SRTT yet: PTO is 1 s, which is also the RTO; it goes first.
    assert_eq!(world.data_from(End::A).last(), Some(&(1_000, 4_001)));
    world.run_until(at_ms(5_000));
    assert_eq!((world.b.received_bytes(), world.a.stats().timeouts), (20_000, 0));
}

/// Section 6.3: a timeout marks the first segment and what is overdue, not what has just been sent.
#[test]
fn a_timeout_spares_what_was_sent_lately() {
    let config = Config { tail_loss_probe: false, ..rack() };
    let mut world = World::established(config, Reno::avoiding(4), ms(50))
        .dropping(|sent| sent.from == End::A && [at_ms(100), at_ms(1_100)].contains(&sent.at));
    world.a.write(20_000);
    world.run_until(at_ms(20_000));
    assert_eq!(world.b.received_bytes(), 20_000);
    assert!(world.a.stats().timeouts >= 1);
}

/// Without SACK there is nothing to go by: NewReno.
#[test]
fn without_sack_it_is_newreno() {
    let peer = Config { recovery: Recovery::NewReno, ..plain() };
    let mut world = World::connecting(rack(), peer, ms(50)).dropping_once(&[5_001]);
    world.a.write(60_000);
    world.run_until(at_ms(10_000));
    assert_eq!(world.b.received_bytes(), 60_000);
}

/// RFC 5681 section 4.3: "the loss of a retransmission, should be taken as two indications of congestion".
#[test]
fn a_lost_retransmission_reduces_the_window_again() {
    let window_after = |times: u32| {
        let mut left = times;
        let mut world = World::established(rack(), Reno::avoiding(40), ms(50)).dropping(move |sent| {
            let first = sent.from == End::A && sent.seq() == 1 && left > 0;
            left -= u32::from(first);
            first
        });
        world.a.write(500_000);
        world.run_until(at_ms(350));
        world.a.cwnd()
    };
    let (once, twice) = (window_after(1), window_after(2));
    assert!(twice <= once / 2 + 2 * u64::from(MSS), "{once} and {twice}");
}

/// Section 7.2: a probe is for a connection that is not in recovery; one that was planned before the reordering timer started a
/// recovery is not sent. The departures that are lost bring about a timeout; when its recovery ends, at 2200 ms, the last two
/// segments are in flight, and a retransmission that left after the first of them has been acknowledged.
#[test]
fn a_recovery_that_the_reordering_timer_starts_calls_the_probe_off() {
    const LOST: [usize; 32] = [
        1, 2, 4, 6, 7, 8, 9, 11, 13, 15, 17, 19, 20, 21, 23, 24, 27, 30, 31, 32, 35, 43, 44, 47, 48, 51, 53,
        55, 56, 57, 58, 59,
    ];
    let config = Config { rate_reduction: Some(ReductionBound::Conservative), ..rack() };
    let mut departures = 0;
    let mut world = World::established(config, Reno::avoiding(23), ms(50)).dropping(move |sent| {
        departures += usize::from(sent.from == End::A && sent.len() > 0);
        sent.from == End::A && sent.len() > 0 && LOST.contains(&departures)
    });
    world.a.write(29_000);
    world.run_until(at_ms(2_500));
    assert_eq!(world.a.stats().fast_retransmits, 2);
    assert_eq!(world.retransmissions().last(), Some(&(2_225, 27_001)));
    assert_eq!(world.a.stats().tail_loss_probes, 0);
}

/// Section 7.3: a probe that carries the last new data carries their PSH and FIN too.
#[test]
fn a_probe_with_the_last_data_is_pushed_and_carries_the_fin() {
    let mut world = World::established(rack(), Reno::avoiding(4), ms(50))
        .dropping(|sent| sent.from == End::A && sent.at == at_ms(0));
    world.a.write(4_500);
    world.a.close();
    world.run_until(at_ms(2_000));
    let probe = world.log.iter().find(|sent| sent.from == End::A && sent.seq() == 4001).unwrap();
    assert_eq!(probe.transmit.segment.flags, Flags::ACK | Flags::PSH | Flags::FIN);
}
