//! The MSS that the two ends agree on is the unit of every policy, and not the one that was configured (SMSS of RFC 5681).

use longhaul_cc::{
    Ack, Algorithm, Congestion, CongestionControl, CongestionKind, Delivery, InitialWindow, Probed, Setup,
    SlowStartKind, build,
};
use longhaul_units::{Duration, Instant, Limit, Rate, Size};

const CONFIGURED: u64 = 1460;
/// What an MSS clamp leaves.
const AGREED: u64 = 146;
const RTT: Duration = Duration::from_millis(100);

fn policy(algorithm: &str, slow_start: &str, mss: u64) -> Box<dyn CongestionControl> {
    let algorithm: Algorithm = serde_json::from_str(algorithm).unwrap();
    let slow_start: SlowStartKind = slow_start.parse().unwrap();
    let setup = Setup {
        mss,
        initial_window: InitialWindow::Segments(10),
        initial_ssthresh: Some(Limit::Packets(30)),
        seed: 1,
        ..Setup::default()
    };
    build(&algorithm, &slow_start, &setup).unwrap()
}

/// Windows, thresholds and rates over 20 round trips on a path of 1 Mbit/s, with a loss in the middle and a timeout later.
fn course(policy: &mut dyn CongestionControl) -> Vec<(u64, u64, Option<Rate>)> {
    let gaps = [Duration::from_micros(320)];
    policy.on_probed(&Probed { now: Instant::ZERO, rtt: RTT, size: Size::from_bytes(40), gaps: &gaps });
    policy.on_established(Instant::ZERO, Some(RTT));
    let mut course = vec![(policy.window(), policy.ssthresh(), policy.pacing_rate())];
    let (mut now, mut delivered) = (Instant::ZERO, 0);
    for round in 0..20 {
        let window = policy.window().min(12_500);
        let acks = window.div_ceil(AGREED);
        for index in 0..acks {
            now += RTT / acks;
            delivered += AGREED;
            policy.on_ack(&Ack {
                now,
                next_departure: now,
                acked: AGREED,
                rtt: Some(RTT),
                srtt: RTT,
                min_rtt: RTT,
                in_flight: window,
                prior_in_flight: window,
                round,
                round_start: index == 0,
                delivery: Some(Delivery {
                    rate: Some(Rate::from_bps_f64(window as f64 * 80.0)),
                    rtt: Some(RTT),
                    delivered: window,
                    prior_delivered: delivered.saturating_sub(window),
                    app_limited: false,
                    newly_lost: 0,
                    lost: 0,
                    in_flight_when_sent: window,
                }),
                delivered,
                marked: 0,
                ack_ratio: 1,
                app_limited: false,
                receiver_limited: false,
                in_recovery: false,
            });
        }
        let kind = match round {
            9 => CongestionKind::Loss,
            14 => CongestionKind::Timeout,
            _ => {
                course.push((policy.window(), policy.ssthresh(), policy.pacing_rate()));
                continue;
            }
        };
        policy.on_congestion(&Congestion { now, kind, flight_size: policy.window() });
        policy.on_recovery_end();
        course.push((policy.window(), policy.ssthresh(), policy.pacing_rate()));
    }
    course
}

/// A policy configured for 1460 bytes that is told of 146 does all that one configured for 146 does.
#[test]
fn every_algorithm_counts_in_the_negotiated_mss() {
    let mut algorithms: Vec<String> = Algorithm::NAMES.iter().map(|name| format!("\"{name}\"")).collect();
    algorithms.push(r#"{"kind": "fixed", "window": "64 packets"}"#.to_string());
    for algorithm in algorithms {
        let mut told = policy(&algorithm, "standard", CONFIGURED);
        told.on_mss(AGREED);
        let expected = course(&mut *policy(&algorithm, "standard", AGREED));
        assert_eq!(course(&mut *told), expected, "{algorithm}");
        // And the unit makes a difference, or this would show nothing.
        if algorithm != "\"fixed\"" {
            assert_ne!(course(&mut *policy(&algorithm, "standard", CONFIGURED)), expected, "{algorithm}");
        }
    }
}

#[test]
fn every_slow_start_counts_in_the_negotiated_mss() {
    for slow_start in SlowStartKind::NAMES {
        let mut told = policy(r#""reno""#, slow_start, CONFIGURED);
        told.on_mss(AGREED);
        let expected = course(&mut *policy(r#""reno""#, slow_start, AGREED));
        assert_eq!(course(&mut *told), expected, "{slow_start}");
    }
    // RFC 3742 with max_ssthresh = 100 packets: 14,600 bytes of 146.
    let setup = Setup { mss: CONFIGURED, initial_window: InitialWindow::Segments(150), ..Setup::default() };
    let mut limited = build(&Algorithm::default(), &"limited".parse().unwrap(), &setup).unwrap();
    limited.on_mss(AGREED);
    let ack = |acked| Ack {
        now: Instant::ZERO,
        next_departure: Instant::ZERO,
        acked,
        rtt: Some(RTT),
        srtt: RTT,
        min_rtt: RTT,
        in_flight: 0,
        prior_in_flight: acked,
        round: 0,
        round_start: false,
        delivery: None,
        delivered: 0,
        marked: 0,
        ack_ratio: 1,
        app_limited: false,
        receiver_limited: false,
        in_recovery: false,
    };
    limited.on_ack(&ack(AGREED));
    assert_eq!(limited.window(), 150 * AGREED + AGREED / 3); // K = int(150 / 50)
    // An MSS that changes on the way leaves the window in bytes; growth is in the new unit.
    let mut reno = policy(r#""reno""#, "standard", CONFIGURED);
    for _ in 0..20 {
        reno.on_ack(&ack(CONFIGURED));
    }
    assert_eq!(reno.window(), 30 * CONFIGURED);
    reno.on_mss(AGREED);
    assert_eq!(reno.window(), 30 * CONFIGURED);
    reno.on_ack(&ack(AGREED)); // one three-hundredth of 146 bytes
    assert_eq!(reno.window(), 30 * CONFIGURED);
    for _ in 0..300 {
        reno.on_ack(&ack(AGREED));
    }
    assert_eq!(reno.window(), 30 * CONFIGURED + AGREED);
}

/// CUBIC's W_max is the same number of bytes in the new unit (RFC 9438 section 4.1.2): the window comes back to it after K.
#[test]
fn what_a_policy_remembers_of_its_window_stays_in_bytes() {
    let setup = Setup { mss: CONFIGURED, initial_window: InitialWindow::Segments(100), ..Setup::default() };
    let algorithm: Algorithm = serde_json::from_str(r#"{"kind": "cubic", "reno_friendly": false}"#).unwrap();
    let mut cubic = build(&algorithm, &SlowStartKind::default(), &setup).unwrap();
    let ack = |ms: u64, acked| Ack {
        now: Instant::ZERO + Duration::from_millis(ms),
        next_departure: Instant::ZERO + Duration::from_millis(ms),
        acked,
        rtt: Some(RTT),
        srtt: RTT,
        min_rtt: RTT,
        in_flight: 0,
        prior_in_flight: acked,
        round: 0,
        round_start: false,
        delivery: None,
        delivered: 0,
        marked: 0,
        ack_ratio: 1,
        app_limited: false,
        receiver_limited: false,
        in_recovery: false,
    };
    let reached = cubic.window();
    let lost = Congestion { now: Instant::ZERO, kind: CongestionKind::Loss, flight_size: reached };
    cubic.on_congestion(&lost);
    cubic.on_recovery_end();
    cubic.on_mss(AGREED);
    // 1000 segments of 146 bytes and C = 0.4: K = cbrt(1000 (1 - 0.7) / 0.4) = 9.1 s. Half way there 96 % are back.
    for count in 0..45_000 {
        cubic.on_ack(&ack(count / 10, AGREED));
    }
    let share = cubic.window() as f64 / reached as f64;
    assert!((0.945..0.98).contains(&share), "{share}");
}
