//! The rules against their response functions: with one loss every 1/p segments, the average window is that of the
//! deterministic loss model behind RFC 9438 section 5.1 and RFC 3649 section 3.

use longhaul_cc::{Ack, Congestion, CongestionControl, CongestionKind, InitialWindow, Setup, build};
use longhaul_units::{Duration, Instant};

const MSS: u64 = 1000;

/// Average window in segments over 20 periods of `period` segments each, after as many to settle, from a first loss at a
/// window of `w_max`.
fn average_window(algorithm: &str, w_max: u64, rtt: Duration, period: u64) -> f64 {
    let losses = 20;
    let algorithm = serde_json::from_str(algorithm).expect("an algorithm");
    let slow_start = "standard".parse().expect("a slow start");
    let setup = Setup { mss: MSS, initial_window: InitialWindow::Bytes(w_max * MSS), ..Setup::default() };
    let mut policy: Box<dyn CongestionControl> = build(&algorithm, &slow_start, &setup).expect("a policy");
    let now = Instant::ZERO;
    policy.on_congestion(&Congestion { now, kind: CongestionKind::Loss, flight_size: w_max * MSS });
    let (mut now, mut sent, mut lost) = (Instant::ZERO, 0, 0);
    let mut measured = None;
    while lost < 2 * losses {
        let window = policy.window() / MSS;
        for index in 0..window {
            sent += 1;
            now += rtt / window;
            if sent % period == 0 {
                let flight_size = policy.window();
                policy.on_congestion(&Congestion { now, kind: CongestionKind::Loss, flight_size });
                lost += 1;
                if lost == losses {
                    measured = Some((sent, now));
                }
                break;
            }
            policy.on_ack(&Ack { round_start: index == 0, ..ack(now, rtt) });
        }
    }
    let (sent_before, begin) = measured.expect("it settles");
    (sent - sent_before) as f64 * rtt.as_secs_f64() / (now - begin).as_secs_f64()
}

fn ack(now: Instant, rtt: Duration) -> Ack {
    Ack {
        now,
        next_departure: now,
        acked: MSS,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        in_flight: 0,
        prior_in_flight: MSS,
        round: 0,
        round_start: false,
        delivery: None,
        delivered: 0,
        marked: 0,
        ack_ratio: 1,
        app_limited: false,
        receiver_limited: false,
        in_recovery: false,
    }
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} is not {expected}");
}

#[test]
fn reno_has_the_window_of_rfc_9438_table_1() {
    let rtt = Duration::from_millis(100);
    for (period, window) in [(1000, 38.0), (10_000, 120.0), (100_000, 379.0)] {
        assert_near(average_window(r#""reno""#, 100, rtt, period), window, 0.05);
    }
}

#[test]
fn aimd_has_the_window_of_rfc_9438_equation_3() {
    // AIMD(0.5294, 0.7) was chosen to have Reno's window: sqrt(1.5 / 1e-4) = 122.5.
    let aimd = r#"{"kind": "reno", "a": 0.5294118, "b": 0.3}"#;
    assert_near(average_window(aimd, 100, Duration::from_millis(100), 10_000), 122.5, 0.03);
}

#[test]
fn cubic_has_the_window_of_rfc_9438_tables_1_and_2() {
    // The model's period ends at W_max, on the plateau, where a larger window would come down only very slowly: begin
    // there. W_max = AVG_W * 4 / (3 + beta): 187 / 0.925 = 202, 1054: 1139, 333: 360.
    let cubic = r#"{"kind": "cubic", "fast_convergence": false}"#;
    let rtt = Duration::from_millis(100);
    assert_near(average_window(cubic, 202, rtt, 10_000), 187.0, 0.03);
    assert_near(average_window(cubic, 1139, rtt, 100_000), 1054.0, 0.03);
    let aggressive = r#"{"kind": "cubic", "fast_convergence": false, "c": 4}"#;
    assert_near(average_window(aggressive, 360, rtt, 10_000), 333.0, 0.05);
    // At 10 ms, Reno's window.
    assert_near(average_window(cubic, 140, Duration::from_millis(10), 10_000), 120.0, 0.05);
}

#[test]
fn compound_has_the_window_of_its_response_function() {
    // By hand, see `closed_form::compound_window`: 404.6 at 1e-4, 2553 at 1e-5. No queue builds up. Steps of a round trip stay
    // behind the formula's continuous growth, by a share of what a round gains: 3 and 2 per cent.
    let rtt = Duration::from_millis(100);
    assert_near(average_window(r#""compound""#, 555, rtt, 10_000), 404.6, 0.06);
    assert_near(average_window(r#""compound""#, 3504, rtt, 100_000), 2553.0, 0.05);
}

#[test]
fn highspeed_has_the_window_of_rfc_3649_table_5() {
    let rtt = Duration::from_millis(100);
    for (period, window) in [(10_000, 263.0), (100_000, 1795.0), (1_000_000, 12_279.0)] {
        assert_near(average_window(r#""highspeed""#, window as u64, rtt, period), window, 0.03);
    }
}

#[test]
fn scalable_needs_13_round_trips_per_loss() {
    // Kelly 2003: the window recovers in 13.42 round trips, in which it must have sent 1/p segments: 1e4 / 13.42 = 745.2, 7452.
    // His a / (b p) = 0.08 / p is 7 % more.
    let rtt = Duration::from_millis(100);
    assert_near(average_window(r#""scalable""#, 800, rtt, 10_000), 745.2, 0.03);
    assert_near(average_window(r#""scalable""#, 8000, rtt, 100_000), 7452.0, 0.03);
}

#[test]
fn bic_has_the_window_of_its_steps() {
    // Piece by piece: 16 segments a round trip from 0.8 W to W - 64, then a quarter of the distance down to 4 segments, then 20
    // round trips. With 1/p segments sent in that time: 320.4 at 1e-4, 1913.6 at 1e-5. The largest windows tend to those of
    // AIMD(16, 0.2): 8485 at 1e-6, of which 7642 are left.
    let bic = r#"{"kind": "bic", "fast_convergence": false}"#;
    let rtt = Duration::from_millis(100);
    for (w_max, period, window) in [(330, 10_000, 320.4), (2013, 100_000, 1913.6), (8301, 1_000_000, 7642.0)]
    {
        assert_near(average_window(bic, w_max, rtt, period), window, 0.03);
    }
}

#[test]
fn hybla_has_rho_times_renos_window() {
    // 120 and 379 segments are Reno's at 1e-4 and 1e-5 (RFC 9438 table 1, with 1.2 for 1.225); rho = 4 at 100 ms. What is sent in
    // a round trip lags by half of the 16 segments that it gains.
    let rtt = Duration::from_millis(100);
    assert_near(average_window(r#""hybla""#, 480, rtt, 10_000), 4.0 * 122.5, 0.03);
    assert_near(average_window(r#""hybla""#, 1500, rtt, 100_000), 4.0 * 387.3, 0.03);
}

#[test]
fn illinois_and_veno_without_a_queue_are_aimd() {
    // Illinois: 10 segments a round trip, an eighth: sqrt(10 * 1.875 / (2 * 0.125 p)) = 866.0 at 1e-4. Veno: one, a fifth:
    // sqrt(1.8 / (0.4 p)) = 212.1.
    let rtt = Duration::from_millis(100);
    assert_near(average_window(r#""illinois""#, 900, rtt, 10_000), 866.0, 0.03);
    assert_near(average_window(r#""veno""#, 220, rtt, 10_000), 212.1, 0.03);
}
