//! Two endpoints over a virtual path: delivery, determinism, congestion control, limits.

mod common;

use common::{Line, World, fetch, path};
use longhaul_cc::{Algorithm, InitialWindow, Pacing, Setup, SlowStartKind, build_checked};
use longhaul_quic::{AckFrequency, CongestionChoice, Event, MakePolicy, Settings};
use longhaul_tcp::Limit;
use longhaul_units::{Duration, Instant};
use proptest::prelude::*;
use std::sync::Arc;

fn ours(algorithm: &str) -> Settings {
    let algorithm: Algorithm = algorithm.parse().unwrap();
    let make: MakePolicy = Arc::new(move |seed| {
        let setup = Setup {
            mss: 1200,
            initial_window: InitialWindow::Segments(10),
            pacing: Pacing::LINUX,
            seed,
            ..Setup::default()
        };
        build_checked(&algorithm, &SlowStartKind::default(), &setup)
    });
    large(CongestionChoice::Policy(make))
}

/// Windows that do not limit.
fn large(congestion: CongestionChoice) -> Settings {
    Settings {
        congestion,
        stream_window: 1 << 30,
        initial_rtt: Duration::from_millis(100),
        ..Settings::default()
    }
}

fn seconds(done: Option<Instant>) -> f64 {
    done.expect("it is complete").as_secs_f64()
}

#[test]
fn the_same_inputs_give_the_same_datagrams() {
    let run = || {
        let (done, world) = fetch(ours("cubic"), ours("cubic"), path(10, 50, 700), 300, 1_000_000);
        (done, world.lines.map(|line| line.log))
    };
    assert_eq!(run(), run());
}

/// Handshake, request, response: two round trips, then the time that the bytes take. The packets' payloads are
/// 1452 - 9 (header of 11, stream frame) - 16 bytes at most, with 28 bytes of IP and UDP.
#[test]
fn a_transfer_takes_two_round_trips_and_its_bytes() {
    for algorithm in ["cubic", "bbr3", "reno", "fixed"] {
        let (done, world) = fetch(ours(algorithm), ours(algorithm), path(10, 20, 0), 300, 5_000_000);
        let took = seconds(done);
        let least = 0.040 + 5_000_000.0 * 8.0 / 10e6;
        // "fixed" keeps 10 packets in flight: 12,000 bytes a round trip.
        let most = if algorithm == "fixed" { 11.0 } else { least * 1.12 };
        assert!((least..most).contains(&took), "{algorithm}: {took} s, at least {least} s");
        assert!(world.lines[0].dropped < 5, "{algorithm}");
    }
}

/// Every policy that needs no probes carries a transfer over a lossy path, and in-flight data are accounted for: at the end
/// nothing is left.
#[test]
fn every_policy_carries_a_transfer() {
    for algorithm in Algorithm::NAMES {
        let settings = ours(algorithm);
        if settings.check().is_err() {
            continue;
        }
        let (done, world) = fetch(settings.clone(), settings, path(20, 60, 300), 300, 2_000_000);
        assert!(done.is_some(), "{algorithm}");
        let server = world.ends[1].connections().next().unwrap();
        let stats = world.ends[1].stats(server);
        assert_eq!(stats.data_bytes_sent - stats.retransmitted_bytes, 2_000_000, "{algorithm}");
        assert!(stats.retransmitted_bytes > 0, "{algorithm}");
        assert!(stats.rtt_min >= Duration::from_millis(60), "{algorithm}: {:?}", stats.rtt_min);
        let quinn = world.ends[1].quinn_stats(server).unwrap();
        assert!(quinn.path.lost_packets > 0, "{algorithm}");
    }
}

#[test]
fn quinns_own_controls_carry_a_transfer() {
    for choice in [CongestionChoice::QuinnCubic, CongestionChoice::QuinnBbr, CongestionChoice::QuinnNewReno] {
        let settings = large(choice);
        let (done, world) = fetch(settings.clone(), settings, path(20, 60, 0), 300, 2_000_000);
        let took = seconds(done);
        assert!((0.92..2.5).contains(&took), "{took} s");
        let server = world.ends[1].connections().next().unwrap();
        assert!(world.ends[1].stats(server).rtt_samples > 50);
    }
}

/// A policy's pacing rate is kept exactly: with BBR's rate no two full datagrams leave closer than that rate allows.
#[test]
fn a_rate_spaces_every_datagram() {
    let exact = || Settings { pacing_burst: 1, ..ours("bbr") };
    let (_, world) = fetch(exact(), exact(), path(10, 100, 0), 300, 8_000_000);
    let log = &world.lines[1].log;
    let full: Vec<u64> =
        log.iter().filter(|(at, size)| *size > 1400 && *at > 4_000_000_000).map(|(at, _)| *at).collect();
    let closest = full.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    // 1452 bytes at 1.25 times 10 Mbit/s take 0.93 ms.
    assert!(closest > 800_000, "{closest} ns");
    assert!(full.len() > 2000);
}

/// One window of 100,000 bytes a round trip of 200 ms is 4 Mbit/s, however fast the path; quinn-proto grants more only when an
/// eighth of it has been read, which costs up to an eighth of the rate.
#[test]
fn a_small_window_limits_and_is_named() {
    let small = Settings { stream_window: 100_000, ..ours("cubic") };
    let (done, world) = fetch(small, ours("cubic"), path(100, 200, 0), 300, 5_000_000);
    let took = seconds(done);
    assert!((10.0..12.5).contains(&took), "{took} s");
    let server = world.ends[1].connections().next().unwrap();
    let limited = world.ends[1].limited_time(done.unwrap(), server);
    let share = limited.get(Limit::ReceiverWindow).as_secs_f64() / took;
    assert!(share > 0.8, "{share}");
}

#[test]
fn fewer_acks_if_they_are_asked_for() {
    let acks = |frequency| {
        let settings = Settings { ack_frequency: frequency, ..ours("cubic") };
        let (_, world) = fetch(settings.clone(), settings, path(20, 60, 0), 300, 5_000_000);
        world.lines[0].log.len()
    };
    let rare = AckFrequency { threshold: 32, max_delay: Some(Duration::from_millis(40)), reordering: 2 };
    let (usual, fewer) = (acks(None), acks(Some(rare)));
    assert!(fewer * 8 < usual, "{usual} and {fewer} packets");
}

/// The data travel with the first flight of a resumed connection: one round trip less.
#[test]
fn early_data_save_a_round_trip() {
    let settings = Settings { early_data: true, ..ours("cubic") };
    let (first, mut world) = fetch(settings.clone(), settings, path(10, 100, 0), 300, 1000);
    assert!((0.200..0.210).contains(&seconds(first)), "{first:?}");
    let old = world.ends[0].connections().next().unwrap();
    for (early, least) in [(true, 0.100), (false, 0.200)] {
        let ticket = world.ends[0].ticket(old, early).unwrap();
        let start = world.now;
        let key = world.ends[0].connect(start, common::address(1), "localhost", Some(ticket)).unwrap();
        if early {
            let stream = world.ends[0].open(key).expect("early data");
            world.ends[0].write(key, stream, 300);
            world.ends[0].finish(key, stream);
        }
        let mut done = None;
        world.run(start + Duration::from_secs(10), |endpoint, end, now, connection, event| {
            match (end, event) {
                (0, Event::Connected) if !early => {
                    let stream = endpoint.open(connection).unwrap();
                    endpoint.write(connection, stream, 300);
                    endpoint.finish(connection, stream);
                }
                (1, Event::Received { stream, end: true, .. }) => {
                    endpoint.write(connection, *stream, 1000);
                    endpoint.finish(connection, *stream);
                }
                (0, Event::Received { end: true, .. }) => done = Some(now),
                _ => {}
            }
        });
        let took = done.expect("an answer").since(start).as_secs_f64();
        assert!((least..least + 0.01).contains(&took), "early data {early}: {took} s");
        world.now = start + Duration::from_secs(10);
    }
}

/// Without keep-alive an idle connection ends after the idle timeout; with it, it does not.
#[test]
fn an_idle_connection_ends_unless_it_is_kept_alive() {
    for keep_alive in [None, Some(Duration::from_secs(5))] {
        let settings = Settings { keep_alive, idle_timeout: Some(Duration::from_secs(30)), ..ours("cubic") };
        let mut world = World::new(settings.clone(), settings, path(10, 100, 0));
        let key = world.connect();
        world.run(Instant::ZERO + Duration::from_secs(120), |_, _, _, _, _| {});
        assert_eq!(world.ends[0].is_over(key), keep_alive.is_none());
        let lost =
            world.events[0].iter().any(|(_, _, event)| matches!(event, Event::Lost { closed: false, .. }));
        assert_eq!(lost, keep_alive.is_none());
    }
}

/// A reset stream is reported with its code, and the connection lives on.
#[test]
fn a_stream_can_be_given_up() {
    let mut world = World::new(ours("cubic"), ours("cubic"), path(10, 100, 0));
    let key = world.connect();
    let mut seen = None;
    world.run(Instant::ZERO + Duration::from_secs(2), |endpoint, end, _, connection, event| {
        match (end, event) {
            (0, Event::Connected) => {
                let stream = endpoint.open(connection).unwrap();
                endpoint.write(connection, stream, u64::MAX);
            }
            (1, Event::Received { stream, .. }) if seen.is_none() => {
                seen = Some(*stream);
                endpoint.stop(connection, *stream, 5);
            }
            _ => {}
        }
    });
    let stopped = |(_, _, event): &(Instant, _, Event)| matches!(event, Event::Stopped { code: 5, .. });
    assert!(world.events[0].iter().any(stopped));
    assert!(world.ends[0].is_connected(key));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the path, all bytes arrive once and in order, and what left is what arrived, was lost or is under way.
    #[test]
    fn any_path_delivers_everything(
        mbps in 1u64..50,
        rtt_ms in 2u64..700,
        loss in 0u32..6000,
        queue in 20_000u64..400_000,
        bytes in 1u64..600_000,
        algorithm in prop::sample::select(vec!["reno", "cubic", "bbr", "bbr3", "hybla", "vegas"]),
    ) {
        let delay = Duration::from_millis(rtt_ms / 2);
        let line = |seed| Line::new(mbps * 1_000_000, delay, queue, loss, seed);
        let settings = Settings { idle_timeout: None, ..ours(algorithm) };
        // `fetch` compares the bytes of both directions.
        let (done, world) = fetch(settings.clone(), settings, [line(3), line(4)], 100, bytes);
        prop_assert!(done.is_some());
        let server = world.ends[1].connections().next().unwrap();
        let stats = world.ends[1].stats(server);
        prop_assert!(stats.data_bytes_sent - stats.retransmitted_bytes >= bytes);
    }
}

/// RFC 9002 section 7.3.1: slow start grows by the bytes acknowledged, so that the window doubles in a round trip though an ACK is
/// for two packets: 12, 24, 48, ... kB. 400 kB take the handshake and six round trips.
#[test]
fn slow_start_doubles_the_window_in_a_round_trip() {
    let (done, _) = fetch(ours("cubic"), ours("cubic"), path(100, 200, 0), 300, 400_000);
    let took = seconds(done);
    assert!((1.2..1.65).contains(&took), "{took} s");
}

/// Slow start overshoots a queue of one bandwidth-delay product at 50 Mbit/s and 600 ms by thousands of packets: quinn-proto gives
/// the connection up, unless data are read as they come.
#[test]
fn too_many_gaps_end_a_connection_unless_data_are_read_as_they_come() {
    for unordered in [false, true] {
        let settings = Settings { unordered, ..ours("cubic") };
        let (done, world) = fetch(settings.clone(), settings, path(50, 600, 0), 300, 60_000_000);
        let gaps = |(_, _, event): &(Instant, _, Event)| match event {
            Event::Lost { reason, closed } => !closed && reason.contains("too many gaps in stream buffer"),
            _ => false,
        };
        assert_eq!(world.events.iter().flatten().any(gaps), !unordered);
        assert_eq!(done.is_some(), unordered);
    }
}

/// A burst of the initial window is not paced (RFC 9002 section 7.7), whatever small packets of the handshake left before it:
/// what fits into it takes two round trips, and its bytes at the path's rate.
#[test]
fn an_answer_within_the_initial_window_is_not_paced() {
    let (done, _) = fetch(ours("cubic"), ours("cubic"), path(10, 100, 0), 300, 5000);
    let took = seconds(done);
    assert!((0.2..0.212).contains(&took), "{took} s");
}
