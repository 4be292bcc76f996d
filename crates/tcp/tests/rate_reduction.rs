//! Proportional rate reduction (RFC 6937) in a connection: when segments leave during recovery.

mod common;
use common::*;
use longhaul_tcp::{Config, ReductionBound};

/// 20 segments of which `lost` are lost; the ACK of segment n (from 0) arrives at 100 + n ms. Times in ms at which something
/// leaves from 101 to 119 ms, one entry for each segment.
fn departures(rate_reduction: Option<ReductionBound>, lost: std::ops::Range<u32>) -> (Vec<u64>, World) {
    let config = Config { rate_reduction, ..plain() };
    let mut world = World::established(config, Reno::avoiding(20), ms(50)).scripted(move |sent| {
        let segment = (sent.seq() - 1) / MSS;
        match sent.from {
            End::B => vec![ms(50)],
            End::A if sent.at > at_ms(0) => vec![ms(50)],
            End::A if lost.contains(&segment) => vec![],
            End::A => vec![ms(50 + u64::from(segment))],
        }
    });
    world.a.write_unlimited();
    world.run_until(at_ms(119));
    let sent = world.data_from(End::A).into_iter().map(|sent| sent.0).filter(|at| *at > 100).collect();
    (sent, world)
}

/// Section 3.1, first example: two segments of limited transmit, the retransmission on ACK 3, then one on every other ACK
/// while half the window is given up. (The figure has the last two on ACKs 18 and 19; see `prr.rs`.)
#[test]
fn a_single_loss_gives_up_half_the_window_over_a_round_trip() {
    let (sent, world) = departures(Some(ReductionBound::SlowStart), 0..1);
    assert_eq!(sent, [101, 102, 103, 105, 107, 109, 111, 113, 115, 117]);
    assert_eq!(world.a.pipe(), 10_000);
    // Without it: half a round trip of silence (the figure's first part).
    let (sent, world) = departures(None, 0..1);
    assert_eq!(sent, [101, 102, 103, 113, 114, 115, 116, 117, 118, 119]);
    assert_eq!(world.a.pipe(), 10_000);
}

/// Section 3.1, second example: the first 15 segments are lost. ACKs 17 to 19 let go one each, or two each; RFC 6675
/// sends all that the window allows with the first of them.
#[test]
fn a_burst_of_losses_is_answered_as_the_bound_allows() {
    let (sent, _) = departures(Some(ReductionBound::Conservative), 0..15);
    assert_eq!(sent, [115, 116, 117, 118, 119]);
    let (sent, _) = departures(Some(ReductionBound::SlowStart), 0..15);
    assert_eq!(sent, [115, 116, 117, 117, 118, 118, 119, 119]);
    // No ACK advances yet.
    let (sent, _) = departures(Some(ReductionBound::SafeAck), 0..15);
    assert_eq!(sent, [115, 116, 117, 118, 119]);
    let (sent, _) = departures(None, 0..15);
    assert_eq!(sent, [115, 116, 117, 117, 117, 117, 117, 117, 118, 119]);
}

/// Recovery ends, and everything arrives, with each bound and many losses.
#[test]
fn recovery_ends_with_the_window_that_congestion_control_chose() {
    for bound in [ReductionBound::Conservative, ReductionBound::SlowStart, ReductionBound::SafeAck] {
        let config = Config { rate_reduction: Some(bound), ..plain() };
        let lost: Vec<u32> = (0..9).map(|n| 2 * n * MSS + 1).collect();
        let mut world = World::established(config, Reno::avoiding(20), ms(50)).dropping_once(&lost);
        world.a.write(300_000);
        world.run_until(at_ms(450));
        assert_eq!(world.a.stats().timeouts, 0, "{bound:?}");
        assert!(!world.a.in_recovery(), "{bound:?}");
        assert!((10_000..13_000).contains(&world.a.cwnd()), "{bound:?}: {}", world.a.cwnd());
        world.run_until(at_ms(10_000));
        assert_eq!(world.b.received_bytes(), 300_000, "{bound:?}");
    }
}
