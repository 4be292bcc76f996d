//! Proportional rate reduction (RFC 9937, RFC 6937) in a connection: when segments leave during recovery.

use crate::common::*;
use longhaul_tcp::{Config, Recovery, ReductionBound};
use proptest::prelude::*;

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

/// RFC 6937 section 3.1, first example: two segments of limited transmit, the retransmission on ACK 3, then one on every other ACK
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

/// RFC 6937 section 3.1, second example: the first 15 segments are lost. ACKs 17 to 19 let go one each, or two each; RFC 6675
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

const BOUNDS: [ReductionBound; 3] =
    [ReductionBound::Conservative, ReductionBound::SlowStart, ReductionBound::SafeAck];

/// RFC 9937 section 6.2: "Force a fast retransmit upon entering recovery", one segment, and then as many as were delivered. Of 40
/// segments all but the last are lost. Its SACK comes at 100 ms and proves nothing yet: recovery begins with the reordering timer,
/// a quarter of the round trip later. Without proportional reduction RFC 6675's pipe lets half a window go at that instant.
#[test]
fn a_recovery_that_the_reordering_timer_starts_begins_with_one_segment() {
    for (rate_reduction, at_once) in [(None, 20)].into_iter().chain(BOUNDS.map(|bound| (Some(bound), 1))) {
        let config = Config { recovery: Recovery::Rack, rate_reduction, ..plain() };
        let mut world = World::established(config, Reno::avoiding(40), ms(50))
            .dropping(|sent| sent.from == End::A && sent.at == at_ms(0) && sent.seq() != 39_001);
        world.a.write(40_000);
        world.run_until(at_ms(150));
        let times: Vec<u64> = world.retransmissions().iter().map(|sent| sent.0).collect();
        assert_eq!(times, vec![125; at_once], "{rate_reduction:?}");
        world.run_until(at_ms(10_000));
        assert_eq!((world.b.received_bytes(), world.a.stats().timeouts), (40_000, 0), "{rate_reduction:?}");
        // From then on twice as many in each round trip, or as many where the bound is conservative.
        let in_round = |round: u64| {
            let sent = world.retransmissions();
            sent.iter().filter(|sent| (125 + 100 * round..225 + 100 * round).contains(&sent.0)).count()
        };
        match rate_reduction {
            None => {}
            Some(ReductionBound::Conservative) => assert_eq!([in_round(1), in_round(2)], [1, 1]),
            Some(_) => assert_eq!([in_round(1), in_round(2), in_round(3)], [2, 4, 8]),
        }
    }
}

/// Which segments of a stream the path loses, and which are late by how many ms, by the order of departure.
#[derive(Clone, Debug)]
struct Path {
    lost: Vec<bool>,
    late: Vec<u64>,
}

fn path() -> impl Strategy<Value = Path> {
    let length = 40..120usize;
    let lost = prop_oneof![
        prop::collection::vec(prop::bool::weighted(0.1), length.clone()),
        prop::collection::vec(prop::bool::weighted(0.5), length.clone()),
        // A burst.
        (0..40usize, 1..60usize)
            .prop_map(|(start, count)| { (0..start + count).map(|place| place >= start).collect() }),
    ];
    let late = prop_oneof![
        Just(vec![]),
        prop::collection::vec(prop_oneof![4 => Just(0u64), 1 => 1..40u64], length),
    ];
    (lost, late).prop_map(|(lost, late)| Path { lost, late })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    /// What leaves in a recovery is bounded by what is delivered, whatever is lost and whether an ACK or a timer begins it or finds
    /// more lost: upon an ACK that delivers d bytes, with D delivered and O sent since the beginning, max(D - O, d) and a segment
    /// more where the bound is that of slow start (RFC 9937 section 6.2); upon a timer d is 0; and one segment at the beginning.
    /// Beyond that only what keeps a connection alive: one segment where nothing is in flight.
    #[test]
    fn what_leaves_in_recovery_is_bounded_by_what_is_delivered(
        path in path(),
        window in 4..60u64,
        recovery in prop_oneof![Just(Recovery::Sack), Just(Recovery::Rack), Just(Recovery::Fack)],
        bound in prop::sample::select(&BOUNDS[..]),
        segments in 20..200u64,
    ) {
        let mss = u64::from(MSS);
        let config = Config { recovery, rate_reduction: Some(bound), max_retransmissions: 100, ..plain() };
        let mut departures = 0;
        let mut world = World::established(config, Reno::avoiding(window), ms(50)).scripted(move |sent| {
            if sent.from == End::B || sent.len() == 0 {
                return vec![ms(50)];
            }
            departures += 1;
            let lost = path.lost.get(departures - 1).copied().unwrap_or(false);
            let late = path.late.get(departures - 1).copied().unwrap_or(0);
            if lost { vec![] } else { vec![ms(50 + late)] }
        });
        world.a.write(segments * mss);
        let mut arrived = vec![false; segments as usize];
        // Delivered and sent since recovery began.
        let mut under_way: Option<(u64, u64)> = None;
        loop {
            let before = *world.a.stats();
            if !world.step(at_ms(100_000_000)) {
                break;
            }
            let mut delivered = 0;
            if let Some((End::B, ack)) = &world.arrived {
                let blocks = ack.options.sack.as_slice().iter().map(|block| (block.0.0, block.1.0));
                for (start, end) in blocks.chain([(1, ack.ack.0)]) {
                    for segment in start / MSS..end / MSS {
                        delivered += u64::from(!std::mem::replace(&mut arrived[segment as usize], true)) * mss;
                    }
                }
            }
            let now = world.a.stats();
            let sent_now = now.data_bytes_sent - before.data_bytes_sent;
            if now.fast_retransmits > before.fast_retransmits {
                under_way = Some((0, 0));
            }
            if !world.a.in_recovery() || now.timeouts > before.timeouts {
                under_way = None;
            }
            let Some((all_delivered, sent)) = &mut under_way else { continue };
            *all_delivered += delivered;
            let banked = all_delivered.saturating_sub(*sent);
            let allowed = match bound {
                _ if delivered == 0 => banked,
                ReductionBound::Conservative => banked,
                _ => banked.max(delivered) + mss,
            };
            let forced = if *sent == 0 { mss } else { 0 };
            *sent += sent_now;
            let alone = sent_now == mss && world.a.pipe() <= mss;
            prop_assert!(
                sent_now <= allowed.max(forced) || alone,
                "{} sent at {} ms, {} allowed, {} of {} delivered, {} sent",
                sent_now, world.now.as_nanos() / 1_000_000, allowed, delivered, all_delivered, sent
            );
        }
        prop_assert_eq!(world.b.received_bytes(), segments * mss);
    }
}
