//! Congestion control counts in the MSS that the handshake has agreed on (SMSS of RFC 5681), not in the configured one.

use crate::common::*;
use longhaul_cc::{InitialWindow, Setup, build};
use longhaul_segment::SeqNumber;
use longhaul_tcp::{Config, Connection};
use longhaul_units::{Limit, Size};

/// 1460 bytes configured, 146 offered by the peer, a round trip of 100 ms: Reno begins with ten segments of 146 bytes and gains one
/// of them in each round trip.
#[test]
fn reno_grows_in_units_of_the_negotiated_mss() {
    let setup = Setup {
        mss: 1460,
        initial_window: InitialWindow::Segments(10),
        initial_ssthresh: Some(Limit::Bytes(Size::from_bytes(292))),
        ..Setup::default()
    };
    let cc =
        build(&serde_json::from_str(r#""reno""#).unwrap(), &"standard".parse().unwrap(), &setup).unwrap();
    let config = Config { mss: 1460, ..plain() };
    let a = Connection::connect(config.clone(), cc, SeqNumber(1000), ports(End::A));
    let b = Connection::listen(Config { mss: 146, ..config }, Reno::new(2), SeqNumber(9000), ports(End::B));
    let mut world = World::new(a, b, ms(50));
    world.a.write_unlimited();
    world.run_until(at_ms(150));
    assert_eq!((world.a.effective_mss(), world.a.congestion_control().window()), (146, 1460));
    // The ACKs of nine windows have come by 1.05 s.
    world.run_until(at_ms(1050));
    let gained = world.a.congestion_control().window() - 1460;
    assert!((8 * 146..=9 * 146).contains(&gained), "{gained}");
}
