//! What Linux's receiver does beyond the RFCs: an autotuned buffer, ACKs at once in the beginning; and the sender's buffer.

mod common;
use common::*;
use longhaul_tcp::{Autotuning, Config};
use longhaul_units::Duration;

fn autotuned(timestamps: bool) -> Config {
    Config { autotuning: Some(Autotuning::LINUX), timestamps, ..plain() }
}

/// The largest window is the one that follows from `tcp_rmem`, the window of the SYN is never above 64 KiB.
#[test]
fn the_window_scale_follows_from_the_largest_buffer() {
    // 6291456 >> 7 = 49152 is the first that fits 16 bits.
    assert_eq!(autotuned(true).window_shift(), 7);
    assert_eq!(autotuned(true).largest_window(), 3_932_160);
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
        assert!(largest <= 3_932_160, "{largest}");
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
