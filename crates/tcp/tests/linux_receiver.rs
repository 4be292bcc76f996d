//! What Linux's receiver does beyond the RFCs: an autotuned buffer, ACKs at once in the beginning; and the sender's buffer.

use crate::common::*;
use longhaul_tcp::{Autotuning, Config, Limit};
use longhaul_units::Duration;

fn autotuned(timestamps: bool) -> Config {
    Config { autotuning: Some(Autotuning::LINUX), timestamps, ..plain() }
}

/// The largest window is the one that follows from `tcp_rmem`, the window of the SYN is never above 64 KiB.
#[test]
fn the_window_scale_follows_from_the_largest_buffer() {
    // 33554432 >> 10 = 32768 is the first that fits 16 bits.
    assert_eq!(autotuned(true).window_shift(), 10);
    assert_eq!(autotuned(true).largest_window(), 20_971_520);
    assert_eq!(autotuned(true).first_window(), 65_536);
}

/// A window of 400 segments over 100 ms: the offered window never stands in the way of slow start, save at first.
#[test]
fn the_buffer_grows_ahead_of_slow_start() {
    for timestamps in [true, false] {
        let config = autotuned(timestamps);
        let mut world = World::connecting(config.clone(), config, ms(50));
        world.a.write(4_000_000);
        world.run_until(at_ms(10_000));
        assert_eq!(world.b.received_bytes(), 4_000_000);
        let largest = world.a.peer_window();
        assert!(largest > 131_072, "timestamps {timestamps}: {largest}");
        assert!(largest <= 20_971_520, "{largest}");
    }
}

/// A slow transfer leaves the buffer as it is.
#[test]
fn a_small_window_needs_no_larger_buffer() {
    let config = autotuned(true);
    let mut world = World::established(config, Reno::avoiding(5), ms(50));
    world.a.write(300_000);
    world.run_until(at_ms(3_000));
    assert!(world.a.peer_window() <= 131_072, "{}", world.a.peer_window());
}

/// The first segments are acknowledged one by one, then every second.
#[test]
fn quick_acks_at_first() {
    let acks_of = |quick_acks| {
        let delayed_ack = Some(Duration::from_millis(40));
        let config = Config { quick_acks, delayed_ack, ack_every: 2, ..plain() };
        let mut world = World::established(config, Reno::avoiding(10), ms(50));
        world.a.write(40_000);
        world.run_until(at_ms(2_000));
        assert_eq!(world.b.received_bytes(), 40_000);
        world.acks_from(End::B).len()
    };
    // 16 ACKs for 16 segments in place of 8.
    assert_eq!(acks_of(16) - acks_of(0), 8);
}

/// No more than the send buffer is in flight.
#[test]
fn the_send_buffer_limits_what_is_in_flight() {
    let config = Config { send_buffer: Some(4_000), ..plain() };
    let mut world = World::established(config, Reno::avoiding(20), ms(50));
    world.a.write(20_500);
    world.run_until(at_ms(90));
    assert_eq!(world.data_from(End::A).len(), 4);
    world.run_until(at_ms(2_000));
    assert_eq!(world.b.received_bytes(), 20_500);
}

/// It is the limit of that time, not the application, which waits for room, nor a congestion window that is no larger.
#[test]
fn a_full_send_buffer_is_a_limit_of_its_own() {
    for (send_buffer, window, limit) in
        [(4_000, 20, Limit::SendBuffer), (4_000, 4, Limit::Cwnd), (8_000, 4, Limit::Cwnd)]
    {
        let config = Config { send_buffer: Some(send_buffer), ..plain() };
        let mut world = World::established(config, Reno::avoiding(window), ms(50));
        world.a.write(100_000);
        world.run_until(at_ms(90));
        assert_eq!(world.a.limit(), limit, "{send_buffer} bytes, {window} segments");
        let limits = world.a.limited_time(world.now);
        assert_eq!(limits.get(Limit::Application), Duration::ZERO, "{send_buffer} bytes, {window} segments");
    }
}

/// A segment that opens the window is acknowledged at once, whatever is left of the first quick ACKs (`tcp_grow_window`). Slow start in
/// rounds of 2, 4, 8 ... segments: the first 25 by the 9 that open the first window and the 16, then 55 of 64, 96 of 128, and all.
#[test]
fn segments_that_open_the_window_are_acknowledged_at_once() {
    let acks_of = |quick_acks, largest: u64| {
        let autotuning = Autotuning { max: largest, ..Autotuning::LINUX };
        let config = Config {
            quick_acks,
            autotuning: Some(autotuning),
            timestamps: true,
            delayed_ack: Some(Duration::from_millis(40)),
            ack_every: 2,
            ..plain()
        };
        let mut world = World::connecting(config.clone(), config, ms(50));
        world.a.write(400_000);
        world.run_until(at_ms(3_000));
        assert_eq!(world.b.received_bytes(), 400_000);
        (world.acks_from(End::B).len(), world.b.stats().data_segments_received)
    };
    // 400 kB in segments of 988 bytes of payload.
    let (acks, segments) = acks_of(16, 33_554_432);
    assert_eq!(segments, 405);
    assert!((330..=390).contains(&acks), "{acks}");
    // A window that has become as large as it can be: 16 quick ACKs more, then each second.
    let (acks, _) = acks_of(16, 131_072);
    assert!((203..240).contains(&acks), "{acks}");
    let (acks, _) = acks_of(0, 33_554_432);
    assert!((200..220).contains(&acks), "{acks}");
}

/// After a silence of more than an RTO the sender begins anew, perhaps with a small window: 16 quick ACKs more (`tcp_event_data_recv`).
/// The round trip of the handshake is 100 ms, the first RTO 300 ms and at least the minimum.
#[test]
fn quick_acks_after_a_long_silence() {
    let acks_after = |silence: u64| {
        let config = Config {
            quick_acks: 16,
            delayed_ack: Some(Duration::from_millis(40)),
            ack_every: 2,
            min_rto: ms(200),
            ..plain()
        };
        let mut world = World::connecting(config.clone(), config, ms(50));
        world.a.write(40_000);
        world.run_until(at_ms(2_000));
        let before = world.acks_from(End::B).len();
        let last = world.data_from(End::A).last().unwrap().0;
        world.run_until(at_ms(last + silence));
        world.a.write(20_000);
        world.run_until(at_ms(8_000));
        world.acks_from(End::B).len() - before
    };
    assert_eq!((acks_after(2_000 + 290), acks_after(4_000)), (18, 18));
}
