//! What the application requests of a sender: to hold small segments back, or not to.

use crate::common::*;
use longhaul_segment::Flags;
use longhaul_tcp::{Config, Recovery};
use longhaul_units::Duration;

/// Established with a round trip of 100 ms and a constant window.
fn world(config: Config) -> World {
    World::established(config, Box::new(Fixed(u64::from(20 * MSS))), ms(50))
}
fn with_nagle(nagle: bool) -> Config {
    Config { min_rto: ms(200), initial_rto: ms(200), nagle, ..plain() }
}
/// Number and length of all that A has sent.
fn sent(world: &World) -> Vec<(u32, u32)> {
    world.log.iter().filter(|sent| sent.from == End::A).map(|sent| (sent.seq(), sent.len())).collect()
}

#[test]
fn a_small_segment_waits_for_what_the_application_is_about_to_write() {
    let mut world = world(with_nagle(false));
    world.a.write_more(2300, true);
    world.run_until(at_ms(10));
    assert_eq!(sent(&world), [(1, 1000), (1001, 1000)]);
    world.a.write_more(100, true);
    world.run_until(at_ms(20));
    assert_eq!(sent(&world).len(), 2);
    world.a.write_more(50, false);
    world.run_until(at_ms(30));
    assert_eq!(sent(&world)[2..], [(2001, 450)]);
}

#[test]
fn an_ack_lets_go_what_waits_for_more_and_it_is_not_pushed() {
    let mut world = world(with_nagle(false));
    world.a.write_more(1300, true);
    world.run_until(at_ms(150));
    assert_eq!(sent(&world), [(1, 1000), (1001, 300)]);
    assert!(world.log.iter().filter(|sent| sent.from == End::A).all(|sent| !sent.has(Flags::PSH)));
}

#[test]
fn with_nothing_in_flight_what_waits_for_more_leaves_after_the_retransmission_timeout() {
    let mut world = world(with_nagle(false));
    world.a.write_more(40, true);
    world.run_until(at_ms(199));
    assert_eq!(sent(&world), []);
    world.run_until(at_ms(200));
    assert_eq!(sent(&world), [(1, 40)]);
    assert!(world.log[0].has(Flags::PSH));
}

#[test]
fn a_cork_holds_small_segments_until_it_is_pulled() {
    let mut world = world(with_nagle(false));
    world.a.set_corked(true);
    world.a.write(40);
    world.run_until(at_ms(50));
    world.a.write(40);
    world.run_until(at_ms(60));
    assert_eq!(sent(&world), []);
    world.a.set_corked(false);
    world.run_until(at_ms(60));
    assert_eq!(sent(&world), [(1, 80)]);
}

#[test]
fn switching_nagle_off_lets_go_what_waits_even_under_a_cork() {
    let mut world = world(with_nagle(true));
    world.a.set_corked(true);
    world.a.write(40);
    world.a.set_nagle(false);
    world.run_until(at_ms(1));
    assert_eq!(sent(&world), [(1, 40)]);
    // The cork is still there.
    world.a.write(40);
    world.run_until(at_ms(2));
    assert_eq!(sent(&world).len(), 1);
}

/// draft-minshall-nagle-01: only a small segment that is not acknowledged holds the next one back.
#[test]
fn in_minshalls_form_a_small_segment_waits_only_for_an_earlier_small_one() {
    for (minshall, at_once) in [(false, 1), (true, 2)] {
        let mut world = world(Config { minshall, ..with_nagle(true) });
        world.a.write(1300);
        world.run_until(at_ms(10));
        assert_eq!(sent(&world).len(), at_once);
        world.a.write(20);
        world.run_until(at_ms(20));
        assert_eq!(sent(&world).len(), at_once);
    }
}

#[test]
fn a_retransmission_of_the_end_of_what_was_written_is_pushed_again() {
    let mut world = world(with_nagle(true)).dropping_once(&[1001]);
    world.a.write(2000);
    world.run_until(at_ms(1000));
    let last: Vec<bool> = world
        .log
        .iter()
        .filter(|sent| sent.from == End::A && sent.seq() == 1001)
        .map(|sent| sent.has(Flags::PSH))
        .collect();
    assert_eq!(last, [true, true]);
}

/// RFC 8985 section 7.2: for a single segment in flight the probe waits for WCDelAckT besides twice SRTT.
#[test]
fn the_probe_for_a_single_segment_waits_for_the_peers_ack_delay() {
    for (peer_ack_delay, probed_at) in [(None, 540), (Some(ms(200)), 700)] {
        let config = Config {
            recovery: Recovery::Rack,
            delayed_ack: Some(ms(40)),
            quick_acks: 1000,
            min_rto: Duration::from_secs(1),
            peer_ack_delay,
            ..plain()
        };
        let mut world = world(config).dropping_once(&[1001]);
        world.a.write(1000);
        world.run_until(at_ms(300));
        world.a.write(1000);
        world.run_until(at_ms(1000));
        // SRTT is 100 ms: 300 + 2 * 100 + WCDelAckT.
        assert_eq!(world.retransmissions(), [(probed_at, 1001)]);
    }
}

/// MSG_EOR: bytes before and after the end of a record leave in segments of their own, and are sent again so; what does not fill one
/// waits for Nagle's algorithm only if nothing follows.
#[test]
fn no_segment_crosses_the_end_of_a_record() {
    let mut world = world(with_nagle(true)).dropping_once(&[1_301, 1_701]);
    for bytes in [1_300, 400, 400] {
        world.a.write(bytes);
        world.a.end_record();
    }
    world.a.write(2_500);
    world.run_until(at_ms(10));
    let first = [(1, 1000), (1001, 300), (1301, 400), (1701, 400), (2101, 1000), (3101, 1000)];
    assert_eq!(sent(&world), first);
    let pushed: Vec<u32> =
        world.log.iter().filter(|sent| sent.has(Flags::PSH)).map(|sent| sent.seq()).collect();
    assert_eq!(pushed, [1001, 1301, 1701]);
    world.run_until(at_ms(2_000));
    assert_eq!(world.retransmissions().iter().map(|(_, seq)| *seq).collect::<Vec<_>>(), [1301, 1701]);
    let again = world.log.iter().filter(|sent| [1301, 1701].contains(&sent.seq()) && sent.from == End::A);
    assert!(
        again.clone().count() == 4 && again.clone().all(|sent| sent.len() == 400 && sent.has(Flags::PSH))
    );
    assert_eq!(world.b.received_bytes(), 4_600);
}

/// The end of the last record is no place of its own: the FIN goes with it.
#[test]
fn the_fin_leaves_with_the_last_record() {
    let mut world = world(with_nagle(true));
    world.a.write(700);
    world.a.end_record();
    world.a.close();
    world.run_until(at_ms(10));
    assert_eq!(sent(&world), [(1, 700)]);
    assert!(world.log[0].has(Flags::FIN));
}

/// RFC 9293 section 3.9.1.2: what the application has written last is pushed; a FIN goes with the last data.
#[test]
fn the_last_segment_of_what_was_written_is_pushed_and_carries_the_fin() {
    let mut world = world(with_nagle(false));
    world.a.write(2500);
    world.a.close();
    world.run_until(at_ms(10));
    let flags: Vec<_> = world
        .log
        .iter()
        .filter(|sent| sent.from == End::A && sent.len() > 0)
        .map(|sent| sent.transmit.segment.flags)
        .collect();
    assert_eq!(flags, [Flags::ACK, Flags::ACK, Flags::ACK | Flags::PSH | Flags::FIN]);
}
