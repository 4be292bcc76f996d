//! A connection that opens by packet pair: two SYNs back to back, the gap between whose echoes is the rate to begin with.

use crate::common::*;
use longhaul_cc::{Algorithm, CongestionControl, InitialWindow, Setup, SlowStartKind, build};
use longhaul_segment::{Flags, SeqNumber};
use longhaul_tcp::{Config, Connection, Event, Recovery, State};
use longhaul_units::{Duration, Instant, Rate, Size};
use proptest::prelude::*;

/// Payload of a packet of 1000 bytes.
const PAYLOAD: u32 = 960;

fn policy(congestion: &str, slow_start: &str) -> Box<dyn CongestionControl> {
    let congestion: Algorithm = serde_json::from_str(congestion).unwrap();
    let slow_start: SlowStartKind = serde_json::from_str(slow_start).unwrap();
    let setup =
        Setup { mss: u64::from(PAYLOAD), initial_window: InitialWindow::Bytes(9600), ..Setup::default() };
    build(&congestion, &slow_start, &setup).unwrap()
}

/// One-way agents' way: options are assumed, an ACK for each packet.
fn config() -> Config {
    Config { mss: PAYLOAD, assumed_options: true, delayed_ack: None, nagle: false, ..Config::default() }
}

/// A greedy source.
fn world(config: Config, congestion: &str, slow_start: &str) -> World {
    let mut world = world_of(config, congestion, slow_start);
    world.a.write_unlimited();
    world
}

fn world_of(config: Config, congestion: &str, slow_start: &str) -> World {
    let end = |isn| (config.clone(), policy(congestion, slow_start), SeqNumber(isn));
    let ((a, cc_a, isn_a), (b, cc_b, isn_b)) = (end(1000), end(9000));
    let a = Connection::connect(a, cc_a, isn_a, ports(End::A));
    let b = Connection::listen(b, cc_b, isn_b, ports(End::B));
    World::new(a, b, ms(50))
}

/// A bottleneck of this rate with an endless queue, then 50 ms; 50 ms back.
fn over(world: World, rate: Rate) -> World {
    over_losing(world, rate, vec![])
}

/// The same, where the first transmissions of the segments with these numbers are lost.
fn over_losing(world: World, rate: Rate, mut lost: Vec<u32>) -> World {
    let mut free_at = Instant::ZERO;
    world.scripted(move |sent| {
        if sent.from == End::B {
            return vec![ms(50)];
        }
        if let Some(index) = lost.iter().position(|seq| sent.len() > 0 && *seq == sent.seq()) {
            lost.remove(index);
            return vec![];
        }
        let takes = rate.transmission_time(Size::from_bytes(u64::from(sent.transmit.segment.ipv4_len())));
        free_at = free_at.max(sent.at) + takes;
        vec![free_at.since(sent.at) + ms(50)]
    })
}

fn lengths(world: &World, end: End, count: usize) -> Vec<u32> {
    world
        .log
        .iter()
        .filter(|sent| sent.from == end)
        .map(|sent| sent.transmit.segment.ipv4_len())
        .take(count)
        .collect()
}

/// In bits on the wire per second.
fn rate(world: &World) -> f64 {
    let payload = world.a.congestion_control().pacing_rate().unwrap().as_bps() as f64;
    payload * 1000.0 / f64::from(PAYLOAD)
}

/// A pair of probes on an idle path of 64 kbit/s, 128 kbit/s or 2 Mbit/s measures C within 1 %.
#[test]
fn two_probes_measure_an_idle_path() {
    for bps in [64_000, 128_000, 2_000_000] {
        let mut world = over(world(config(), r#""sttp""#, r#""packet_pair""#), Rate::from_bps(bps));
        world.run_until(at_ms(130));
        assert_eq!(world.a.state(), State::Established);
        assert!((rate(&world) / bps as f64 - 1.0).abs() < 0.01, "{bps}: {}", rate(&world));
        // Two probes of 40 bytes, and nothing but data after them (section 9 point 5).
        assert_eq!(lengths(&world, End::A, 3), [40, 40, 1000]);
        assert_eq!(lengths(&world, End::B, 2), [40, 40]);
        let probes: Vec<_> = world.log.iter().filter(|sent| sent.from == End::A).take(2).collect();
        assert!(probes.iter().all(|sent| sent.at == at_ms(0) && sent.has(Flags::SYN)));
    }
}

#[test]
fn with_options_of_its_own_a_probe_is_longer_and_measures_as_well() {
    let asking = Config { assumed_options: false, ..config() };
    let mut world = over(world(asking, r#""sttp""#, r#""packet_pair""#), Rate::from_bps(2_000_000));
    world.run_until(at_ms(130));
    let probe = lengths(&world, End::A, 1)[0];
    assert!((44..=60).contains(&probe), "{probe}");
    assert!((rate(&world) / 2e6 - 1.0).abs() < 0.01, "{}", rate(&world));
}

#[test]
fn the_size_of_probes_can_be_set() {
    let long = r#"{"kind": "packet_pair", "size": "1000 B"}"#;
    let mut world = over(world(config(), r#""sttp""#, long), Rate::from_bps(2_000_000));
    world.run_until(at_ms(140));
    assert_eq!(lengths(&world, End::A, 3), [1000, 1000, 1000]);
    assert_eq!(lengths(&world, End::B, 2), [40, 40]);
    assert!((rate(&world) / 2e6 - 1.0).abs() < 0.01, "{}", rate(&world));
    // The padding is no data.
    world.run_until(at_ms(2000));
    assert_eq!(world.b.received_bytes() % u64::from(PAYLOAD), 0);
    assert_eq!(world.a.stats().retransmitted_segments, 0);
}

/// The echo returns over a way that spreads it: 40 bytes at 16 kbit/s take 20 ms. Timestamps of the echoes show when the
/// probes arrived: 52 bytes each, 208 us apart at 2 Mbit/s.
#[test]
fn the_receiver_can_measure() {
    for (side, bps) in [("sender", 20_800.0), ("receiver", 2_000_000.0)] {
        let timestamps = Config { timestamps: true, timestamp_tick: Duration::from_micros(1), ..config() };
        let slow_start = format!(r#"{{"kind": "packet_pair", "side": "{side}"}}"#);
        let mut back_free_at = Instant::ZERO;
        let mut free_at = Instant::ZERO;
        let mut world = world(timestamps, r#""sttp""#, &slow_start).scripted(move |sent| {
            let syn = sent.has(Flags::SYN);
            let (free_at, takes) = match sent.from {
                End::A => (&mut free_at, Duration::from_micros(208)),
                End::B => (&mut back_free_at, ms(20)),
            };
            if !syn {
                return vec![ms(50)];
            }
            *free_at = (*free_at).max(sent.at) + takes;
            vec![free_at.since(sent.at) + ms(50)]
        });
        world.run_until(at_ms(160));
        assert!((rate(&world) / bps - 1.0).abs() < 0.01, "{side}: {}", rate(&world));
    }
}

/// A clock of 1 ms does not resolve a gap of 208 us, only that it is below 1 ms: the gap measured at the sender is possible, and holds.
#[test]
fn a_receiver_with_a_coarse_clock_is_no_worse_than_the_sender() {
    let timestamps = Config { timestamps: true, timestamp_tick: ms(1), ..config() };
    let slow_start = r#"{"kind": "packet_pair", "side": "receiver"}"#;
    let mut world = over(world(timestamps, r#""sttp""#, slow_start), Rate::from_bps(2_000_000));
    world.run_until(at_ms(130));
    assert_eq!(world.a.state(), State::Established);
    assert!((rate(&world) / 2e6 - 1.0).abs() < 0.01, "{}", rate(&world));
}

/// A train of eight, one pair of which a packet of 1000 bytes has come between.
#[test]
fn the_median_of_a_train_overlooks_a_packet_in_between() {
    for (filter, bps) in [("median", 2_000_000.0), ("least", 2_000_000.0), ("mean", 437_500.0)] {
        let train = format!(r#"{{"kind": "packet_pair", "probes": 8, "filter": "{filter}"}}"#);
        let mut probe = 0;
        // 40 bytes take 160 us, 1000 take 4 ms: (7 * 160 us + 4 ms) / 7 = 731.4 us.
        let mut world = world(config(), r#""sttp""#, &train).scripted(move |sent| {
            if sent.from == End::B || !sent.has(Flags::SYN) {
                return vec![ms(50)];
            }
            probe += 1;
            let between = if probe > 5 { ms(4) } else { Duration::ZERO };
            vec![ms(50) + Duration::from_micros(160 * probe) + between]
        });
        world.run_until(at_ms(120));
        assert_eq!(world.a.state(), State::Established);
        assert!((rate(&world) / bps - 1.0).abs() < 0.01, "{filter}: {}", rate(&world));
    }
}

/// Section 9 point 7: strict mode shows dead flows.
#[test]
fn in_strict_mode_a_lost_probe_or_echo_is_the_end() {
    for (end, lost) in [(End::A, 0), (End::A, 1), (End::B, 0), (End::B, 1)] {
        let mut seen = 0;
        let mut world = world(config(), r#""sttp""#, r#""packet_pair""#).dropping(move |sent| {
            let counts = sent.from == end;
            seen += usize::from(counts);
            counts && seen == lost + 1
        });
        world.run_until(at_ms(60_000));
        assert_eq!(world.a.state(), State::Closed, "{end:?} {lost}");
        assert!(world.events.contains(&(at_ms(1000), End::A, Event::StartFailed)));
        // Nothing more is sent, by either end.
        assert_eq!(world.log.iter().filter(|sent| sent.from == End::A).count(), 2);
        assert!(world.log.iter().all(|sent| sent.at < at_ms(1000)));
    }
}

/// Section 1.2: dead too if "rho0 < rho_fail": 7.9 kbit/s are less than one packet of 1000 bytes a second.
#[test]
fn in_strict_mode_too_low_a_rate_is_the_end() {
    let mut world = over(world(config(), r#""sttp""#, r#""packet_pair""#), Rate::from_bps(7_900));
    world.run_until(at_ms(5000));
    assert_eq!(world.a.state(), State::Closed);
    assert!(world.saw(End::A, Event::StartFailed));
}

/// Section 1.8: "normal mode: resend both" after 1 s, doubling.
#[test]
fn in_normal_mode_the_probes_are_sent_again() {
    let retry = r#"{"kind": "packet_pair", "retries": 5}"#;
    let mut seen = 0;
    let mut world = world(config(), r#""sttp""#, retry).dropping(move |sent| {
        seen += usize::from(sent.from == End::A);
        sent.from == End::A && (seen == 1 || seen == 4)
    });
    world.run_until(at_ms(3200));
    let probes: Vec<u64> = world
        .log
        .iter()
        .filter(|sent| sent.from == End::A && sent.has(Flags::SYN))
        .map(|sent| sent.at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(probes, [0, 0, 1000, 1000, 3000, 3000]);
    assert_eq!(world.a.state(), State::Established);
    assert_eq!(world.a.stats().syn_retransmissions, 2);
}

/// A path of 1.2 s, on which echoes come after the probes were sent again; the first probe of all is lost. Timestamps tell
/// which probes are answered: the lone echo of the first pair and those of the second give no gap of a second.
#[test]
fn late_echoes_belong_to_the_probes_that_they_answer() {
    let timestamps = Config { timestamps: true, ..config() };
    let mut sent_probes = 0;
    let mut world =
        world(timestamps, r#""sttp""#, r#"{"kind": "packet_pair", "retries": 5}"#).scripted(move |sent| {
            if sent.from == End::B || !sent.has(Flags::SYN) {
                return vec![ms(600)];
            }
            sent_probes += 1;
            // 52 bytes take 208 us at 2 Mbit/s.
            let second = sent_probes % 2 == 0;
            if sent_probes == 1 {
                vec![]
            } else {
                vec![ms(600) + Duration::from_micros(if second { 416 } else { 208 })]
            }
        });
    world.run_until(at_ms(2300));
    assert_eq!((world.a.state(), world.a.stats().syn_retransmissions), (State::Established, 1));
    assert!((rate(&world) / 2e6 - 1.0).abs() < 0.01, "{}", rate(&world));
}

/// Nothing needs to be lost on such a path: the echoes of the first pair open the connection, with their own round trip.
#[test]
fn on_a_long_path_the_first_probes_do() {
    let timestamps = Config { timestamps: true, ..config() };
    let retry = r#"{"kind": "packet_pair", "retries": 5}"#;
    let mut probes = 0;
    let mut world = world(timestamps, r#""sttp""#, retry).scripted(move |sent| {
        let probe = sent.from == End::A && sent.has(Flags::SYN);
        probes += u64::from(probe);
        // 52 bytes take 208 us at 2 Mbit/s.
        let takes = if probe {
            Duration::from_micros(208).saturating_mul((probes - 1) % 2 + 1)
        } else {
            Duration::ZERO
        };
        vec![ms(700) + takes]
    });
    world.run_until(at_ms(1401));
    assert_eq!((world.a.state(), world.a.stats().syn_retransmissions), (State::Established, 1));
    assert!((rate(&world) / 2e6 - 1.0).abs() < 0.01, "{}", rate(&world));
}

#[test]
fn in_normal_mode_half_a_pair_does_in_the_end() {
    // The second probe is never echoed: after the last retry the connection begins with its initial window, ten packets in
    // the round trip of 100 ms.
    let retry = r#"{"kind": "packet_pair", "retries": 1}"#;
    let mut echoes = 0;
    let mut world = world(config(), r#""sttp""#, retry).dropping(move |sent| {
        let echo = sent.from == End::B && sent.has(Flags::SYN);
        echoes += usize::from(echo);
        echo && echoes % 2 == 0
    });
    world.run_until(at_ms(3001));
    assert_eq!(world.a.state(), State::Established);
    assert!((rate(&world) - 800_000.0).abs() < 1000.0, "{}", rate(&world));
}

/// Six echoes of eight have five gaps, one of which spans a missing one.
#[test]
fn in_normal_mode_a_train_does_with_the_echoes_that_come() {
    let train = r#"{"kind": "packet_pair", "probes": 8, "retries": 5}"#;
    let mut echoes = 0;
    let mut world = world(config(), r#""sttp""#, train).scripted(move |sent| {
        let takes = Duration::from_micros(160);
        if sent.from == End::A {
            return vec![ms(50)];
        }
        echoes += 1;
        if echoes == 3 || echoes == 8 { vec![] } else { vec![ms(50) + takes.saturating_mul(echoes)] }
    });
    world.run_until(at_ms(1001));
    assert_eq!((world.a.state(), world.a.stats().syn_retransmissions), (State::Established, 0));
    assert!((rate(&world) / 2e6 - 1.0).abs() < 0.01, "{}", rate(&world));
}

/// Without a word from the peer the connection is given up in any mode.
#[test]
fn a_peer_that_is_not_there_is_given_up() {
    let retry = r#"{"kind": "packet_pair", "retries": 2}"#;
    let mut world = world(config(), r#""sttp""#, retry).dropping(|sent| sent.from == End::A);
    world.run_until(at_ms(60_000));
    // 1 s, 2 s, 4 s.
    assert!(world.events.contains(&(at_ms(7000), End::A, Event::StartFailed)));
}

/// A window policy probes as well: ssthresh is what the path holds (Hoe 1996), 8 Mbit/s * 100 ms = 100,000 bytes.
#[test]
fn reno_takes_its_threshold_from_the_probes() {
    let mut world = over(world(config(), r#""reno""#, r#""packet_pair""#), Rate::from_bps(8_000_000));
    world.run_until(at_ms(110));
    assert!(world.a.ssthresh().abs_diff(100_000) < 200, "{}", world.a.ssthresh());
}

/// Section 9 point 3: "Loss event gives x0.9 once per recovery; third duplicate ACK retransmits".
#[test]
fn a_recovery_costs_ten_per_cent_once() {
    // 2 Mbit/s: a packet in 4 ms, 20 packets at most. Packets 10, 11 and 12 are lost.
    let lost: Vec<u32> = [10, 11, 12].map(|packet| 1001 + packet * PAYLOAD).to_vec();
    let mut world =
        over_losing(world(config(), r#""sttp""#, r#""packet_pair""#), Rate::from_bps(2_000_000), lost);
    let (mut cuts, mut before) = (0, rate(&world));
    while world.step(at_ms(1000)) {
        let now = rate(&world);
        cuts += usize::from((now / before - 0.9).abs() < 1e-6);
        before = now;
    }
    assert_eq!((world.a.stats().fast_retransmits, world.a.stats().timeouts), (1, 0));
    assert_eq!(world.a.stats().retransmitted_segments, 3);
    assert_eq!(cuts, 1);
    // The third duplicate ACK is that of packet 13, which left at 4 ms a packet, after the burst of 20 at 100.32 ms.
    let retransmission = world.retransmissions()[0];
    let duplicates = world.acks_from(End::B).iter().filter(|(_, ack)| *ack == retransmission.1).count();
    assert!(duplicates >= 4, "{duplicates} ACKs ask for it");
}

/// The same on every run: fates of segments from a seed (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

const POLICIES: [&str; 6] = [
    r#""sttp""#,
    r#"{"kind": "sttp", "bucket": "acks", "timeout_factor": 0.5}"#,
    r#"{"kind": "sttp", "scaling": "ratio", "scale_tokens": true, "token": "bytes", "peer_window": 0}"#,
    r#""sttp_practical""#,
    r#"{"kind": "sttp_practical", "rival": "reno", "patience": 1, "reprobe": "100 ms", "train": 3}"#,
    r#""reno_average""#,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 100, ..ProptestConfig::default() })]
    /// Whatever the path does, no byte is lost or comes twice, and both ends close: tokens never run out for good.
    #[test]
    fn every_byte_arrives_once_by_tokens_too(
        policy_index in 0..POLICIES.len(),
        recovery in prop::sample::select(vec![Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack]),
        assumed_options in any::<bool>(),
        probes in 2u32..6,
        seed in any::<u64>(),
        loss_percent in 0u64..25,
        writes in prop::collection::vec((0u64..3000, 1u64..60_000), 0..5),
    ) {
        let retries = format!(r#"{{"kind": "packet_pair", "probes": {probes}, "retries": 20}}"#);
        let settings = Config {
            recovery,
            assumed_options,
            max_rto: Duration::from_secs(8),
            // Of the SYN-ACK too: its sender waits for the acknowledgment of probes, which may be lost for half a minute.
            max_retransmissions: 100,
            max_syn_retransmissions: 100,
            time_wait: Duration::from_secs(600),
            ..config()
        };
        let mut state = seed;
        let mut world = world_of(settings, POLICIES[policy_index], &retries).scripted(move |_| {
            let mut copies = vec![];
            if random(&mut state) % 100 >= loss_percent {
                copies.push(ms(20) + Duration::from_micros(random(&mut state) % 15_000));
            }
            if random(&mut state) % 100 < 3 {
                copies.push(ms(20 + random(&mut state) % 200));
            }
            copies
        });
        world.keep_log = false;
        let (mut time, mut written) = (0, 0);
        for (pause, bytes) in writes {
            time += pause;
            world.run_until(at_ms(time));
            world.a.write(bytes);
            written += bytes;
        }
        while !world.a.state().is_synchronized() {
            prop_assert!(world.step(at_ms(10_000_000)), "{:?}", world.a.state());
        }
        world.a.close();
        while !world.saw(End::B, Event::PeerClosed) {
            prop_assert!(world.step(at_ms(10_000_000)), "{} of {written} at {}", world.b.received_bytes(), world.now);
        }
        world.b.close();
        prop_assert!(world.run_until_closed(at_ms(10_000_000)), "{:?} and {:?}", world.a.state(), world.b.state());
        prop_assert_eq!((world.b.received_bytes(), world.a.acked_bytes()), (written, written));
    }
}
