//! The rescue retransmission (RFC 6675 section 4, NextSeg() rule 4; section 5 step 4.3).

use crate::common::*;
use longhaul_tcp::{Config, Recovery};

/// 2000 transfers of 30 segments over a path that loses 2 % of the data: segments lost, segments sent again, timeouts.
fn short_transfers(recovery: Recovery) -> (u64, u64, u64) {
    let mut state = 1u64;
    let (mut lost, mut sent_again, mut timeouts) = (0, 0, 0);
    for _ in 0..2_000 {
        let config = Config { recovery, ..plain() };
        let mut draw = state;
        let mut world = World::established(config, Reno::new(10), ms(50)).dropping(move |sent| {
            if sent.from == End::B || sent.len() == 0 {
                return false;
            }
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33) % 50 == 0
        });
        world.a.write(30_000);
        world.run_until(at_ms(100_000));
        assert_eq!(world.b.received_bytes(), 30_000);
        lost += world.log.iter().filter(|sent| sent.dropped).count() as u64;
        sent_again += world.a.stats().retransmitted_segments;
        timeouts += world.a.stats().timeouts;
        state = state.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3_037_000_493);
    }
    (lost, sent_again, timeouts)
}

/// What was sent again a moment ago is not sent again once more: as many retransmissions as losses, but for timeouts, which
/// send again what is still under way.
#[test]
fn short_transfers_send_again_what_was_lost_and_no_more() {
    for recovery in [Recovery::Sack, Recovery::Fack, Recovery::Rack] {
        let (lost, sent_again, timeouts) = short_transfers(recovery);
        println!("{recovery:?}: {lost} lost, {sent_again} sent again, {timeouts} timeouts");
        assert!(sent_again * 100 <= lost * 104, "{recovery:?}: {lost} lost, {sent_again} sent again");
    }
}

/// Of twenty segments the second and the last two are lost. The second is repaired at once. Its ACK, which goes beyond it, allows
/// the rescue: one segment, with the highest data that are not SACKed.
#[test]
fn a_lost_tail_is_rescued_once_the_first_retransmission_is_acknowledged() {
    for recovery in [Recovery::Sack, Recovery::Fack] {
        let config = Config { recovery, ..plain() };
        let mut world =
            World::established(config, Reno::avoiding(20), ms(50)).dropping_once(&[1_001, 18_001, 19_001]);
        world.a.write(20_000);
        world.run_until(at_ms(5_000));
        assert_eq!(world.b.received_bytes(), 20_000);
        // The rescue's SACK, at 300 ms, finds segment 18 to be a hole below it.
        assert_eq!(world.retransmissions(), [(100, 1_001), (200, 19_001), (300, 18_001)], "{recovery:?}");
        assert_eq!(world.a.stats().timeouts, 0);
    }
}

/// The first and the last segment but two are lost; both are sent again upon the same ACKs (rules 1 and 3). The retransmission of
/// the second is the highest data that are not SACKed, and it has just left: there is nothing to rescue.
#[test]
fn a_retransmission_under_way_is_not_rescued() {
    let mut world = World::established(plain(), Reno::avoiding(20), ms(50)).dropping_once(&[1, 17_001]);
    world.a.write(20_000);
    world.run_until(at_ms(5_000));
    assert_eq!(world.b.received_bytes(), 20_000);
    assert_eq!(world.retransmissions(), [(100, 1), (100, 17_001)]);
}

/// Section 5 step 4.3 sets RescueRxt to the end of the first retransmission: before that is acknowledged nothing is rescued.
#[test]
fn nothing_is_rescued_before_the_first_retransmission_is_acknowledged() {
    let mut world = World::established(plain(), Reno::avoiding(20), ms(50)).dropping_once(&[5_001]);
    world.a.write(20_000);
    world.run_until(at_ms(5_000));
    assert_eq!(world.retransmissions(), [(100, 5_001)]);
}
