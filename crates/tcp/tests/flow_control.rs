//! The receiver's window and small segments (RFC 9293 sections 3.7.4 and 3.8.6), idle restart, pacing.

use crate::common::*;
use longhaul_cc::{Ack, Congestion, CongestionControl};
use longhaul_tcp::{Config, Connection, InitialWindow, Limit, Reading};
use longhaul_units::{Duration, Instant, Rate};

fn slow_reader(buffer: u64, reading: Reading) -> Config {
    Config { receive_buffer: Some(buffer), reading, ..plain() }
}

/// RFC 9293 section 3.8.6.1: the zero window is probed at the RTO, then at intervals that double, with one byte.
#[test]
fn a_zero_window_is_probed() {
    let mut world = World::established(slow_reader(4_000, Reading::Manual), Reno::new(10), ms(50));
    world.a.write(10_000);
    world.run_until(at_ms(8_000));
    let sent: Vec<(u64, u32, u32)> = world
        .log
        .iter()
        .filter(|s| s.from == End::A)
        .map(|s| (s.at.as_nanos() / 1_000_000, s.seq(), s.len()))
        .collect();
    assert_eq!(sent[..4], [(0, 1, 1000), (0, 1001, 1000), (0, 2001, 1000), (0, 3001, 1000)]);
    assert_eq!(sent[4..], [(1_100, 4001, 1), (3_100, 4001, 1), (7_100, 4001, 1)]);
    assert_eq!(world.a.limit(), Limit::ReceiverWindow);
    assert_eq!((world.b.readable(), world.a.peer_window()), (4_000, 0));
    // The application reads: a window update goes out at once, and data follows.
    let now = world.now;
    assert_eq!(world.b.read(now, 4_000), 4_000);
    world.run_until(at_ms(8_060));
    assert_eq!(world.data_from(End::A)[7..], [(8_050, 4001), (8_050, 5001), (8_050, 6001), (8_050, 7001)]);
    let now = world.now;
    world.run_until(at_ms(8_200));
    world.b.read(now, 10_000);
    world.run_until(at_ms(9_000));
    assert_eq!(world.b.received_bytes(), 10_000);
}

/// A window update that is lost: the probe's answer brings the window, and the probe's byte counts.
#[test]
fn a_lost_window_update_is_made_good_by_the_probe() {
    let mut world = World::established(slow_reader(4_000, Reading::Manual), Reno::new(10), ms(50))
        .dropping(|s| s.from == End::B && s.at == at_ms(500));
    world.a.write(6_000);
    world.run_until(at_ms(500));
    let now = world.now;
    world.b.read(now, 4_000);
    world.run_until(at_ms(1_090));
    assert_eq!(world.b.received_bytes(), 4_000);
    world.run_until(at_ms(3_000));
    assert_eq!(world.b.received_bytes(), 6_000);
    assert_eq!(world.a.acked_bytes(), 6_000);
    assert_eq!(world.a.stats().probes_sent, 1);
    assert_eq!(world.a.stats().retransmitted_segments, 0);
}

/// The receiver's window never takes back what it gave (RFC 9293 section 3.8.6), and no more than the buffer is held.
#[test]
fn the_right_edge_never_moves_back() {
    for reading in [Reading::Manual, Reading::Rate(Rate::from_bps(400_000)), Reading::Immediate] {
        let mut world = World::established(slow_reader(20_000, reading), Reno::new(40), ms(50));
        world.a.write(200_000);
        let mut most = 0;
        for tick in 1..400 {
            world.run_until(at_ms(tick * 10));
            most = most.max(world.b.readable());
            if reading == Reading::Manual && tick % 7 == 0 {
                let now = world.now;
                world.b.read(now, 3_333);
            }
        }
        let edges: Vec<u32> = world
            .log
            .iter()
            .filter(|s| s.from == End::B)
            .map(|s| s.ack() + u32::from(s.transmit.segment.window))
            .collect();
        assert!(edges.windows(2).all(|pair| pair[0] <= pair[1]), "{edges:?}");
        assert!(most <= 20_000);
        assert_eq!(world.b.stats().beyond_window_bytes, world.a.stats().probes_sent);
        assert!(world.b.received_bytes() > 100_000);
    }
}

/// The SYN's window field holds less than the buffer, but it is an application that takes something out which opens the window.
#[test]
fn a_read_of_nothing_sends_nothing() {
    let mut world = World::connecting(plain(), slow_reader(1_000_000, Reading::Manual), ms(50));
    world.run_until(at_ms(200));
    let now = world.now;
    assert_eq!(world.b.read(now, 0), 0);
    assert_eq!(world.b.read(now, 1000), 0);
    assert_eq!(world.b.poll_transmit(now), None);
}

/// A larger window at the receiver would let nothing go while cwnd is just as full; a larger cwnd would not either, and it is cwnd
/// that grows by itself.
#[test]
fn of_two_full_windows_cwnd_is_the_limit() {
    for (cwnd, buffer, limit) in [
        (10_000, 10_000, Limit::Cwnd),
        (10_000, 10_500, Limit::Cwnd),
        (9_000, 10_000, Limit::Cwnd),
        (11_000, 10_000, Limit::ReceiverWindow),
    ] {
        let config = slow_reader(buffer, Reading::Immediate);
        let mut world = World::established(config, Box::new(Fixed(cwnd)), ms(50));
        world.a.write_unlimited();
        world.run_until(at_ms(40));
        assert_eq!(world.a.limit(), limit, "{cwnd} {buffer}");
    }
}

/// An application that reads 100 kbyte/s sets the pace, through window updates and without a probe.
#[test]
fn a_reading_rate_is_the_throughput() {
    let reading = Reading::Rate(Rate::from_bps(800_000));
    let mut world = World::established(slow_reader(64_000, reading), Box::new(Fixed(1_000_000)), ms(50));
    world.a.write_unlimited();
    world.run_until(at_ms(10_000));
    assert!((990_000..=1_000_000).contains(&world.b.read_bytes()), "{}", world.b.read_bytes());
    assert_eq!(world.a.stats().probes_sent, 0);
    assert!(world.a.limited_time(world.now).get(Limit::ReceiverWindow) > ms(9_000));
}

/// Window scaling: 1 MB in flight against a buffer of 1 MB; without it 65,535 bytes, that is 65 whole segments.
#[test]
fn large_windows_need_scaling() {
    for (window_scaling, flight) in [(true, 1_000_000), (false, 65_000)] {
        let config = Config { window_scaling, ..slow_reader(1_000_000, Reading::Immediate) };
        let mut world = World::established(config, Box::new(Fixed(5_000_000)), ms(50));
        world.a.write_unlimited();
        world.run_until(at_ms(40));
        assert_eq!(world.a.flight_size(), flight);
    }
}

/// RFC 9293 section 3.7.4: a small segment waits while there is unacknowledged data.
#[test]
fn nagle() {
    for (nagle, expected) in
        [(true, vec![(0, 100), (100, 200)]), (false, vec![(0, 100), (10, 100), (20, 100)])]
    {
        let mut world = World::established(Config { nagle, ..plain() }, Reno::new(10), ms(50));
        for time in [0, 10, 20] {
            world.run_until(at_ms(time));
            world.a.write(100);
        }
        world.run_until(at_ms(1_000));
        let sent: Vec<(u64, u32)> = world
            .log
            .iter()
            .filter(|s| s.from == End::A && s.len() > 0)
            .map(|s| (s.at.as_nanos() / 1_000_000, s.len()))
            .collect();
        assert_eq!(sent, expected);
    }
}

/// RFC 5681 section 4.1: after an RTO without sending the window is that of the start.
#[test]
fn restart_after_idle() {
    for (restart_after_idle, burst) in [(true, 4), (false, 31)] {
        let config = Config { restart_after_idle, initial_window: InitialWindow::Segments(4), ..plain() };
        let mut world = World::established(config, Reno::avoiding(30), ms(50));
        world.a.write(30_000);
        world.run_until(at_ms(5_000));
        world.a.write(100_000);
        world.flush();
        assert_eq!(world.a.flight_size(), burst * 1000);
    }
}

/// RFC 2861 section 3.1: the window is halved for each RTO of idleness, down to the initial window, so that 31 segments become 15, 7
/// and 4. The RTO is 1 s, its minimum, and the last segments left at 0.0 s.
#[test]
fn halving_after_idle() {
    for (pause_ms, burst) in [(900, 31), (1_500, 15), (2_500, 7), (3_500, 4), (60_000, 4)] {
        let config = Config { halve_after_idle: true, initial_window: InitialWindow::Segments(4), ..plain() };
        let config = Config { restart_after_idle: true, ..config };
        let mut world = World::established(config, Reno::avoiding(30), ms(50));
        world.a.write(30_000);
        world.run_until(at_ms(pause_ms));
        world.a.write(100_000);
        world.flush();
        assert_eq!(world.a.flight_size(), burst * 1000, "after {pause_ms} ms");
    }
}

/// Visweswaraiah and Heidemann 1997, section 3: after an idle period segments leave at the rate of the window over the round trip
/// until the first ACK, which is the clock of all that follow. Half of a window of 31 segments over a round trip of 100 ms: one
/// every 6.45 ms, the last before the first ACK after 93 ms. RFC 5681 section 4.1 would send four, no restart 31 at once.
#[test]
fn pacing_after_idle() {
    let config = Config { pace_after_idle: Some(0.5), initial_window: InitialWindow::Segments(4), ..plain() };
    let mut world = World::established(config, Reno::avoiding(30), ms(50));
    world.a.write(30_000);
    world.run_until(at_ms(5_000));
    world.a.write(100_000);
    let before = world.data_from(End::A).len();
    world.run_until(at_ms(5_099));
    let times: Vec<u64> = world.data_from(End::A)[before..].iter().map(|(at, _)| at - 5_000).collect();
    assert_eq!(times, [0, 6, 12, 19, 25, 32, 38, 45, 51, 58, 64, 70, 77, 83, 90]);
    // Then the ACKs come as they were sent, and each lets segments go at once.
    world.run_until(at_ms(5_100));
    assert_eq!(world.data_from(End::A).len(), before + 16);
}

/// RFC 3390: 4380 bytes for the common segment size; 2 segments for large, 4 for small.
#[test]
fn initial_windows() {
    let rfc_3390 = |mss| InitialWindow::Rfc3390.bytes(mss);
    assert_eq!([rfc_3390(1095), rfc_3390(1460), rfc_3390(2190), rfc_3390(4000)], [4380, 4380, 4380, 8000]);
    assert_eq!(rfc_3390(536), 2144);
    assert_eq!(InitialWindow::Segments(10).bytes(1460), 14_600);
}

/// 8 Mbit/s: a segment of 1000 bytes each millisecond.
struct Paced;
impl CongestionControl for Paced {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> u64 {
        1_000_000
    }
    fn ssthresh(&self) -> u64 {
        0
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps(8_000_000))
    }
}

#[test]
fn segments_leave_at_the_pacing_rate() {
    let mut world = World::established(plain(), Box::new(Paced), ms(50));
    world.a.write(5_000);
    world.run_until(at_ms(30));
    let times: Vec<u64> = world.data_from(End::A).iter().map(|sent| sent.0).collect();
    assert_eq!(times, [0, 1, 2, 3, 4]);
    assert_eq!(world.a.limited_time(world.now).get(Limit::Pacing), ms(4));
}

/// cc is notified whether the window was the limit when the data was sent (RFC 7661, RFC 9293).
#[test]
fn an_application_that_sends_little_does_not_open_the_window() {
    let mut world = World::established(plain(), Reno::avoiding(10), ms(50));
    for _ in 0..100 {
        world.a.write(1_000);
        let now = world.now;
        world.run_until(now + ms(100));
    }
    assert_eq!(world.a.cwnd(), 10_000);
    assert_eq!(world.a.stats().rtt_samples, 100);
    assert_eq!((world.a.min_rtt(), world.a.latest_rtt()), (ms(100), ms(100)));
}

/// Nothing is due, nothing happens.
#[test]
fn a_timeout_too_early_is_harmless() {
    let mut a = Connection::established(plain(), Reno::new(10), ports(End::A));
    a.write(1_000);
    while a.poll_transmit(Instant::ZERO).is_some() {}
    assert_eq!(a.poll_timeout(), Some(at_ms(1_000)));
    a.handle_timeout(at_ms(999));
    assert_eq!(a.poll_transmit(at_ms(999)), None);
    assert_eq!((a.poll_timeout(), a.stats().timeouts), (Some(at_ms(1_000)), 0));
    assert_eq!(a.rto(), Duration::from_secs(1));
}
