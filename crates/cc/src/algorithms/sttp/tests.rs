//! The policy as a whole.

use super::*;
use crate::Algorithm;
use crate::testing::{ack_at, setup};
use longhaul_units::Size;

/// Payload of a packet of 1000 bytes.
const PAYLOAD: Bytes = 960;

fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}
fn sttp(params: SttpParams) -> Sttp {
    let setup = Setup { mss: PAYLOAD, ..setup(10 * PAYLOAD, None) };
    Sttp::new(params, PacketPairParams::default(), &setup)
}
/// Probes of 40 bytes over a bottleneck, with this round trip.
fn probe(sttp: &mut Sttp, bits_per_second: u64, rtt_ms: u64) -> bool {
    let size = Size::from_bytes(40);
    let gap = [Rate::from_bps(bits_per_second).transmission_time(size)];
    let rtt = Duration::from_millis(rtt_ms);
    sttp.on_probed(&Probed { now: ms(0), rtt, size, gaps: &gap })
}
fn probed(params: SttpParams, bits_per_second: u64, rtt_ms: u64) -> Sttp {
    let mut sttp = sttp(params);
    assert!(probe(&mut sttp, bits_per_second, rtt_ms));
    sttp
}
fn acked(sttp: &mut Sttp, rtt_ms: u64) {
    let rtt = Duration::from_millis(rtt_ms);
    sttp.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, in_flight: PAYLOAD, ..ack_at(1, PAYLOAD) });
}
fn event(kind: CongestionKind) -> Congestion {
    Congestion { now: ms(1), kind, flight_size: 10 * PAYLOAD }
}
/// Packets that can leave at once.
fn burst(sttp: &mut Sttp, now: Instant) -> u64 {
    let mut sent = 0;
    while sttp.release(now, PAYLOAD) == now {
        sttp.on_sent(&Sent { now, bytes: PAYLOAD, in_flight: 0, retransmission: false });
        sent += 1;
    }
    sent
}

/// Section 1.2: "64 kb/s -> 64000 / packetSize(bits) timer events per second": 8 for 1000 bytes.
#[test]
fn the_probe_sets_the_rate_of_tokens() {
    for (rate, rho) in [(64_000, 8.0), (128_000, 16.0), (2_000_000, 250.0)] {
        let sttp = probed(SttpParams::default(), rate, 100);
        assert!((sttp.bucket.rho() - rho).abs() < 1e-6 * rho, "{}", sttp.bucket.rho());
    }
}

/// Section 1.2: sigma0 = clamp(ceil(rho0 * RTT0), 1, peer window), and the bucket starts full.
#[test]
fn the_first_burst_is_the_bandwidth_delay_product_within_the_peers_window() {
    let mut slow = probed(SttpParams::default(), 128_000, 21); // 0.34 packets
    assert_eq!(burst(&mut slow, ms(0)), 1);
    let mut middle = probed(SttpParams::default(), 500_000, 100); // 6.25 packets
    assert_eq!(burst(&mut middle, ms(0)), 7);
    let mut fast = probed(SttpParams::default(), 2_000_000, 1000); // 250 packets
    assert_eq!(burst(&mut fast, ms(0)), 20);
    let seconds =
        SttpParams { sigma_horizon: Duration::from_secs(2), peer_window: 0, ..SttpParams::default() };
    assert_eq!(burst(&mut probed(seconds, 128_000, 21), ms(0)), 32);
}

#[test]
fn packets_leave_at_the_rate_of_tokens() {
    let mut sttp = probed(SttpParams::default(), 128_000, 21);
    assert_eq!(burst(&mut sttp, ms(0)), 1);
    // 16 packets a second.
    assert_eq!(sttp.release(ms(0), PAYLOAD), Instant::from_nanos(62_500_000));
    assert_eq!(burst(&mut sttp, Instant::from_nanos(62_500_000)), 1);
}

/// Section 1.2: dead "if rho0 < rho_fail (default 1 token/s, i.e. C_est < 8*L bit/s)", or without an estimate.
#[test]
fn strict_mode_gives_up_where_normal_mode_goes_on() {
    let mut strict = sttp(SttpParams::default());
    assert!(!probe(&mut strict, 7999, 100));
    assert!(probe(&mut strict, 8001, 100));
    let none = Probed { now: ms(0), rtt: Duration::from_millis(100), size: Size::from_bytes(40), gaps: &[] };
    assert!(!strict.on_probed(&none));
    let mut normal = sttp(SttpParams::default());
    normal.probe.retries = 5;
    assert!(probe(&mut normal, 800, 100));
    assert_eq!(normal.bucket.rho(), 1.0); // rho_min
    assert!(normal.on_probed(&none));
    assert_eq!(normal.bucket.rho(), 100.0); // ten packets in 100 ms
}

#[test]
fn sigma_and_rho_follow_the_round_trip_together() {
    let mut sttp = probed(SttpParams::default(), 2_000_000, 40); // rho 250, sigma 10
    acked(&mut sttp, 100);
    acked(&mut sttp, 85);
    assert!((sttp.bucket.rho() - 268.75).abs() < 1e-3 && (sttp.bucket.sigma() - 10.75).abs() < 1e-6);
    acked(&mut sttp, 85);
    assert!((sttp.bucket.rho() - 268.75).abs() < 1e-3);
    acked(&mut sttp, 170); // twice the RTT: G = 0.1 at least, here 2 - 2 = 0, so 0.1
    assert!((sttp.bucket.rho() - 268.75 * 0.55).abs() < 1e-3);
}

/// Section 1.6: sigma and rho times 0.9.
#[test]
fn a_loss_costs_ten_per_cent_and_no_slow_start() {
    for kind in [CongestionKind::Loss, CongestionKind::EcnEcho, CongestionKind::Timeout] {
        let mut sttp = probed(SttpParams::default(), 2_000_000, 40);
        sttp.on_congestion(&event(kind));
        assert!((sttp.bucket.rho() - 225.0).abs() < 1e-3 && (sttp.bucket.sigma() - 9.0).abs() < 1e-6);
        assert!(!sttp.in_slow_start());
        sttp.on_congestion(&event(CongestionKind::Spurious));
        assert!((sttp.bucket.rho() - 250.0).abs() < 1e-3);
    }
    let mut safer = probed(SttpParams { timeout_factor: 0.5, ..SttpParams::default() }, 2_000_000, 40);
    safer.on_congestion(&event(CongestionKind::Timeout));
    assert!((safer.bucket.rho() - 125.0).abs() < 1e-3);
}

#[test]
fn a_timeout_leaves_one_token() {
    let mut sttp = probed(SttpParams::default(), 2_000_000, 40);
    sttp.on_congestion(&event(CongestionKind::Timeout));
    assert_eq!(burst(&mut sttp, ms(1)), 1);
}

#[test]
fn sigma_and_rho_have_a_floor() {
    let mut sttp = probed(SttpParams::default(), 2_000_000, 40);
    for _ in 0..200 {
        sttp.on_congestion(&event(CongestionKind::Loss));
    }
    assert_eq!((sttp.bucket.rho(), sttp.bucket.sigma()), (1.0, 1.0));
    let mut per_rtt = probed(SttpParams { rho_min_per_rtt: 1.0, ..SttpParams::default() }, 2_000_000, 40);
    acked(&mut per_rtt, 100);
    for _ in 0..200 {
        per_rtt.on_congestion(&event(CongestionKind::Loss));
    }
    assert_eq!(per_rtt.bucket.rho(), 10.0); // one in 100 ms
}

/// Section 1.9: rho_max, in deployment 1.25 times the largest measured delivery rate.
#[test]
fn the_delivery_rate_limits_rho() {
    let params = SttpParams { rho_max: 1.25, ..SttpParams::default() };
    let mut sttp = probed(params, 2_000_000, 40);
    assert!(sttp.needs_delivery_rate());
    let delivery = crate::Delivery {
        rate: Some(Rate::from_bps(2_304_000)), // 300 packets of 960 bytes a second
        rtt: None,
        delivered: 0,
        prior_delivered: 0,
        app_limited: false,
        newly_lost: 0,
        lost: 0,
        in_flight_when_sent: 0,
    };
    for rtt in [100, 50, 25] {
        acked(&mut sttp, rtt);
    }
    assert!((sttp.bucket.rho() - 312.5).abs() < 1e-3); // 1.25 * 250, what was probed
    sttp.on_ack(&Ack { delivery: Some(delivery), ..ack_at(1, PAYLOAD) });
    for rtt in [100, 50, 25, 12, 6, 3] {
        acked(&mut sttp, rtt);
    }
    assert!((sttp.bucket.rho() - 375.0).abs() < 1e-3);
}

/// A connection that mostly waits keeps the rate that it has had; a round in which it had enough to send lets it go.
#[test]
fn rounds_limited_by_the_application_do_not_age_the_delivery_rate() {
    let mut sttp = probed(SttpParams { rho_max: 1.25, ..SttpParams::default() }, 2_000_000, 40);
    let mut delivered = |round: u64, bps: u64, app_limited: bool| {
        let delivery = crate::Delivery {
            rate: Some(Rate::from_bps(bps)),
            rtt: None,
            delivered: 0,
            prior_delivered: 0,
            app_limited,
            newly_lost: 0,
            lost: 0,
            in_flight_when_sent: 0,
        };
        sttp.on_ack(&Ack { delivery: Some(delivery), round, ..ack_at(1, PAYLOAD) });
        sttp.delivery.max()
    };
    assert_eq!(delivered(1, 7_680_000, false), 1000.0);
    for round in 2..100 {
        assert_eq!(delivered(round, 768_000, true), 1000.0);
    }
    assert_eq!(delivered(100, 15_360_000, true), 2000.0);
    for round in 101..=109 {
        assert_eq!(delivered(round, 768_000, false), 2000.0);
    }
    for round in 110..120 {
        delivered(round, 768_000, false);
    }
    assert_eq!(delivered(120, 768_000, false), 100.0);
}

#[test]
fn small_packets_cost_a_token_or_their_bytes() {
    let packets = probed(SttpParams::default(), 2_000_000, 40);
    assert_eq!((packets.cost(60), packets.cost(PAYLOAD), packets.cost(0)), (1.0, 1.0, 0.0));
    let bytes = sttp(SttpParams { token: TokenUnit::Bytes, ..SttpParams::default() });
    assert_eq!((bytes.cost(60), bytes.cost(PAYLOAD)), (0.1, 1.0));
}

#[test]
fn the_window_is_the_peers_or_a_safety_limit() {
    assert_eq!(probed(SttpParams::default(), 2_000_000, 40).window(), 19_200); // 20 packets
    let params = SttpParams { peer_window: 0, ..SttpParams::default() };
    assert_eq!(probed(params.clone(), 2_000_000, 40).window(), 1 << 30);
    // Section 1.11: cwnd = max(4, 2 rho srtt): 2 * 250 * 0.1 = 50 packets.
    let mut sttp = probed(SttpParams { window_gain: 2.0, ..params }, 2_000_000, 40);
    acked(&mut sttp, 100);
    assert_eq!(sttp.window(), 48_000);
}

#[test]
fn compressed_acks_measure_nothing() {
    let params = SttpParams { compressed_acks: 0.5, ..SttpParams::default() };
    let mut sttp = probed(params, 2_000_000, 40); // a packet in 4 ms
    let mut at = |ms_now: u64, rtt_ms: u64| {
        let rtt = Some(Duration::from_millis(rtt_ms));
        sttp.on_ack(&Ack { rtt, ..ack_at(ms_now, PAYLOAD) });
        sttp.bucket.rho()
    };
    at(100, 100);
    assert!((at(101, 80) - 250.0).abs() < 1e-3);
    assert!((at(104, 80) - 275.0).abs() < 1e-3);
}

#[test]
fn without_a_probe_the_initial_window_is_the_rate() {
    let mut passive = sttp(SttpParams::default());
    passive.on_established(ms(50), Some(Duration::from_millis(50)));
    assert_eq!(passive.bucket.rho(), 200.0); // ten packets in 50 ms
    assert_eq!(burst(&mut passive, ms(50)), 10);
}

#[test]
fn refuses_what_makes_no_sense() {
    for (json, message) in [
        (r#"{"kind": "sttp", "rtt_hi": 0.9}"#, "sttp: rtt_hi must be at least 1 and at most 10, not 0.9"),
        (r#"{"kind": "sttp", "w_new": 1.5}"#, "sttp: w_new must be at least 0 and at most 1, not 1.5"),
        (r#"{"kind": "sttp", "scaling": "r1"}"#, "sttp: unknown variant `r1`"),
    ] {
        let error = serde_json::from_str::<Algorithm>(json).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

/// A policy with a probed rate of 250 packets a second whose base round trip is 100 ms, and so much of practice.
fn practical(params: SttpParams) -> Sttp {
    probed(SttpParams { peer_window: 0, ..params }, 2_000_000, 100)
}
/// A round whose round trips are all this; the base is 100 ms.
fn round(sttp: &mut Sttp, rtt_ms: u64) -> f64 {
    let rtt = Duration::from_millis(rtt_ms);
    let base = Duration::from_millis(100);
    for round_start in [true, false] {
        sttp.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, min_rtt: base, round_start, ..ack_at(1, PAYLOAD) });
    }
    sttp.bucket.rho()
}

#[test]
fn without_a_standing_queue_the_rate_grows() {
    let mut sttp = practical(SttpParams { grow: 0.02, ..SttpParams::default() });
    assert_eq!(round(&mut sttp, 100), 250.0); // no round is over yet
    assert!((round(&mut sttp, 100) - 255.0).abs() < 1e-6); // 2 % of 250, the capacity
    // From a quarter of the capacity by 2 % of sqrt(62.5 * 250) = 125.
    sttp.set(ms(1), 1.0, 62.5);
    assert!((round(&mut sttp, 100) - 65.0).abs() < 1e-6);
    let mut idle = practical(SttpParams::default());
    round(&mut idle, 100);
    assert_eq!(round(&mut idle, 100), 250.0);
}

#[test]
fn a_standing_queue_is_drained() {
    let mut sttp = practical(SttpParams { drain: 0.1, rtt_hi: 10.0, ..SttpParams::default() });
    round(&mut sttp, 113);
    // Three packets' time are 12 ms, a tenth of the base 10 ms: 13 ms are a standing queue, a ninth of the round trip.
    assert!((round(&mut sttp, 120) - 250.0 * 100.0 / 113.0).abs() < 1e-3);
    // What that does is seen after another round; 20 ms are a sixth.
    let before = round(&mut sttp, 120);
    assert!((before - 250.0 * 100.0 / 113.0).abs() < 1e-3);
    assert!((round(&mut sttp, 120) - before * 100.0 / 120.0).abs() < 1e-3);
}

#[test]
fn a_queue_that_stands_although_the_rate_gives_way_is_contended_for() {
    let params = SttpParams {
        drain: 0.1,
        rtt_hi: 10.0,
        rtt_lo: 0.0,
        rival: Rival::Reno,
        patience: 4,
        ..SttpParams::default()
    };
    let mut sttp = practical(params);
    for _ in 0..4 {
        round(&mut sttp, 200);
    }
    assert!((sttp.bucket.rho() - 250.0 * 0.25).abs() < 1e-6 && sttp.rival.is_none());
    // Four rounds of a standing queue: what was given up is taken back, 250 packets a second in a round trip of 200 ms
    // are 50 packets, and paced 1.2 times as fast as that.
    round(&mut sttp, 200);
    assert!(sttp.rival.is_some());
    assert!((sttp.window() as f64 / 960.0 - 50.0).abs() < 0.1, "{}", sttp.window());
    assert!((sttp.bucket.rho() - 300.0).abs() < 1.0, "{}", sttp.bucket.rho());
    // A loss halves the window as Reno's: half of FlightSize, ten packets.
    sttp.on_congestion(&event(CongestionKind::Loss));
    assert_eq!(sttp.window(), 5 * PAYLOAD);
    // The queue is empty for four rounds: the contest is over.
    for _ in 0..4 {
        round(&mut sttp, 100);
        assert!(sttp.rival.is_some());
    }
    round(&mut sttp, 100);
    assert!(sttp.rival.is_none());
    assert_eq!(sttp.window(), 1 << 30);
}

#[test]
fn a_train_sets_the_rate_of_the_end_that_has_not_probed() {
    let mut passive = sttp(SttpParams { train: 4, peer_window: 0, ..SttpParams::default() });
    passive.on_established(ms(0), Some(Duration::from_millis(100)));
    assert_eq!(burst(&mut passive, ms(0)), 10);
    for packet in 1..=4 {
        let ack = ack_at(100 + 4 * packet, PAYLOAD);
        passive.on_ack(&Ack { delivered: packet * PAYLOAD, ..ack });
    }
    // A packet in 4 ms.
    assert!((passive.bucket.rho() - 250.0).abs() < 1e-6, "{}", passive.bucket.rho());
}
