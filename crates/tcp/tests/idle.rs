//! Rules by which a window grows with time: time in which nothing is in flight does not count (RFC 9438 section 4.2).

use crate::common::*;
use longhaul_cc::{Congestion, CongestionKind, InitialWindow, Setup, build};
use longhaul_units::{Duration, Instant};

/// After a loss at 100 segments, 30 windows of data over a round trip of 100 ms, each after a pause: the window in segments.
fn after_thirty_windows(algorithm: &str, pause: Duration) -> u64 {
    let algorithm = serde_json::from_str(algorithm).unwrap();
    let mss = u64::from(MSS);
    let setup = Setup { mss, initial_window: InitialWindow::Segments(100), ..Setup::default() };
    let mut cc = build(&algorithm, &"standard".parse().unwrap(), &setup).unwrap();
    let now = Instant::ZERO;
    cc.on_congestion(&Congestion { now, kind: CongestionKind::Loss, flight_size: 100 * mss });
    let mut world = World::established(plain(), cc, ms(50));
    for _ in 0..30 {
        let window = world.a.congestion_control().window();
        world.a.write(window);
        let then = world.now + ms(100) + pause;
        world.run_until(then);
    }
    world.a.congestion_control().window() / mss
}

/// RFC 9438 equation 1: K = cbrt(30 / 0.4) = 4.22 s, so that W_cubic(3 s) = 0.4 (3 - 4.22)^3 + 100 = 99.3.
#[test]
fn cubic_does_not_count_idle_time() {
    for pause in [0, 850, 4000] {
        assert_eq!(after_thirty_windows(r#""cubic""#, ms(pause)), 99, "pauses of {pause} ms");
    }
}

/// draft-leith-tcp-htcp-06: alpha grows with the time since the last congestion event.
#[test]
fn htcp_does_not_count_idle_time() {
    let without = after_thirty_windows(r#""htcp""#, ms(0));
    assert_eq!(after_thirty_windows(r#""htcp""#, ms(850)), without);
}

/// The measured bandwidth is that of the path and not of the application: after a loss it fills the path as before.
#[test]
fn westwood_measures_no_idle_time() {
    let kept = |pause: u64| {
        let algorithm = serde_json::from_str(r#""westwood""#).unwrap();
        let mss = u64::from(MSS);
        let setup = Setup { mss, initial_window: InitialWindow::Segments(20), ..Setup::default() };
        let cc = build(&algorithm, &"standard".parse().unwrap(), &setup).unwrap();
        let mut world = World::established(plain(), cc, ms(50)).dropping_once(&[20 * 30 * MSS + 1]);
        for _ in 0..31 {
            world.a.write(20 * mss);
            let then = world.now + ms(100 + pause);
            world.run_until(then);
        }
        world.a.congestion_control().ssthresh() / mss
    };
    let without = kept(0);
    assert!(without >= 19, "{without}");
    assert_eq!(kept(800), without);
}
