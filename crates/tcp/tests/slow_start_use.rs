//! Slow start where the application leaves the window unused.

use crate::common::*;
use longhaul_cc::{InitialWindow, Setup, build};
use longhaul_tcp::Config;

/// The window in segments after answers of 6, 9 and 18 segments with an ACK for each, every one after the one before has arrived.
/// RFC 7661 and RFC 9438: the window grows only where it was full, by 18 ACKs of the last answer. Linux (`tcp_is_cwnd_limited`):
/// up to twice what was in flight.
#[test]
fn linux_doubles_what_was_in_flight() {
    for (slow_start_to_twice_flight, windows) in [(false, [10, 10, 28]), (true, [12, 18, 36])] {
        let mss = u64::from(MSS);
        let setup = Setup { mss, initial_window: InitialWindow::Segments(10), ..Setup::default() };
        let cc =
            build(&serde_json::from_str(r#""reno""#).unwrap(), &"standard".parse().unwrap(), &setup).unwrap();
        let mut world = World::established(Config { slow_start_to_twice_flight, ..plain() }, cc, ms(50));
        let after = [6, 9, 18].map(|segments| {
            world.a.write(segments * mss);
            let then = world.now + ms(500);
            world.run_until(then);
            world.a.congestion_control().window() / mss
        });
        assert_eq!(after, windows);
    }
}
