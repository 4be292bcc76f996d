//! Undo of spurious reductions of the window: Eifel (RFC 3522), F-RTO (RFC 5682), D-SACK (RFC 3708).

use crate::common::*;
use longhaul_cc::{Ack, Congestion, CongestionControl, CongestionKind};
use longhaul_tcp::{Config, Event, Recovery, SpuriousDetection};

const OFF: SpuriousDetection = SpuriousDetection { eifel: false, f_rto: false, dsack: false };
const EIFEL: SpuriousDetection = SpuriousDetection { eifel: true, ..OFF };
const F_RTO: SpuriousDetection = SpuriousDetection { f_rto: true, ..OFF };
const DSACK: SpuriousDetection = SpuriousDetection { dsack: true, ..OFF };

/// A window of ten segments that a loss halves and a timeout cuts to one, and that is restored by an undo.
struct Halving {
    window: u64,
    before: u64,
}
impl CongestionControl for Halving {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, event: &Congestion) {
        match event.kind {
            CongestionKind::Spurious => self.window = self.before,
            kind => {
                self.before = self.window;
                self.window = if kind == CongestionKind::Timeout { 1000 } else { self.window / 2 };
            }
        }
    }
    fn window(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        0
    }
}

fn world(recovery: Recovery, spurious_detection: SpuriousDetection) -> World {
    let timestamps = spurious_detection.eifel;
    let config = Config { recovery, spurious_detection, timestamps, ..plain() };
    World::established(config, Box::new(Halving { window: 10_000, before: 10_000 }), ms(50))
}

/// What leaves from 500 ms to 1.9 s arrives at 2 s, in order: the timer expires for nothing.
fn spurious_timeout(recovery: Recovery, ways: SpuriousDetection) -> World {
    let mut world = world(recovery, ways).scripted(|sent| {
        let late = sent.from == End::A && sent.at >= at_ms(500) && sent.at < at_ms(1_900);
        vec![if late { at_ms(2_000).since(sent.at) } else { ms(50) }]
    });
    world.a.write(200_000);
    world.run_until(at_ms(2_060));
    world
}

#[test]
fn a_spurious_timeout_is_taken_back() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        for ways in [EIFEL, F_RTO] {
            let mut world = spurious_timeout(recovery, ways);
            assert_eq!(world.a.stats().timeouts, 1, "{recovery:?} {ways:?}");
            assert_eq!(world.a.stats().reductions_undone, 1, "{recovery:?} {ways:?}");
            assert!(world.saw(End::A, Event::ReductionUndone));
            assert_eq!(world.a.cwnd(), 10_000, "{recovery:?} {ways:?}");
            // Nothing but the first segment was sent twice.
            assert_eq!(world.a.stats().retransmitted_segments, 1, "{recovery:?} {ways:?}");
            world.run_until(at_ms(60_000));
            assert_eq!(world.b.received_bytes(), 200_000);
        }
        let world = spurious_timeout(recovery, OFF);
        assert_eq!((world.a.stats().reductions_undone, world.a.cwnd()), (0, 1000));
    }
}

/// RFC 5682 section 2.1: after the first ACK that advances two new segments, not the next of the old ones.
#[test]
fn f_rto_sends_two_new_segments() {
    let world = spurious_timeout(Recovery::NewReno, F_RTO);
    let after: Vec<u32> =
        world.data_from(End::A).iter().filter(|sent| sent.0 > 600).map(|sent| sent.1).take(3).collect();
    let first = after[0];
    let highest =
        world.data_from(End::A).iter().filter(|sent| sent.0 <= 600).map(|sent| sent.1).max().unwrap();
    assert_eq!(after, [first, highest + MSS, highest + 2 * MSS]);
}

/// A timeout that was right: everything is lost at 200 ms. F-RTO goes back to the usual recovery.
#[test]
fn a_timeout_that_was_right_is_not_taken_back() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        for ways in [EIFEL, F_RTO, DSACK] {
            let mut world =
                world(recovery, ways).dropping(|sent| sent.from == End::A && sent.at == at_ms(200));
            world.a.write(100_000);
            world.run_until(at_ms(60_000));
            assert_eq!(world.b.received_bytes(), 100_000, "{recovery:?} {ways:?}");
            assert!(world.a.stats().timeouts + world.a.stats().tail_loss_probes > 0);
            assert_eq!(world.a.stats().reductions_undone, 0, "{recovery:?} {ways:?}");
        }
    }
}

/// The first of ten segments is 30 ms late: three duplicate ACKs halve the window for nothing.
fn reordering(recovery: Recovery, ways: SpuriousDetection) -> World {
    let mut due = true;
    let mut world = world(recovery, ways).scripted(move |sent| {
        let late = due && sent.from == End::A && sent.at == at_ms(200);
        due &= !late;
        vec![if late { ms(80) } else { ms(50) }]
    });
    world.a.write(100_000);
    world.run_until(at_ms(2_000));
    assert_eq!(world.b.received_bytes(), 100_000);
    assert_eq!(world.a.stats().fast_retransmits, 1);
    world
}

#[test]
fn a_fast_retransmit_of_a_late_segment_is_taken_back() {
    for (ways, expected) in [(EIFEL, 10_000), (DSACK, 10_000), (OFF, 5_000)] {
        for recovery in [Recovery::Sack, Recovery::Rack] {
            let world = reordering(recovery, ways);
            assert_eq!(world.a.cwnd(), expected, "{recovery:?} {ways:?}");
            assert_eq!(world.a.stats().reductions_undone, u64::from(expected == 10_000));
        }
    }
    let world = reordering(Recovery::NewReno, EIFEL);
    assert_eq!((world.a.cwnd(), world.a.stats().reductions_undone), (10_000, 1));
}

/// A real loss beside a late segment: not all retransmissions are reported as duplicates.
#[test]
fn a_real_loss_keeps_the_reduction() {
    let mut dropped = false;
    let mut world = world(Recovery::Sack, DSACK).scripted(move |sent| {
        let data = sent.from == End::A && !sent.transmit.retransmission;
        if data && sent.seq() == 22_001 && !dropped {
            dropped = true;
            return vec![];
        }
        vec![if data && sent.seq() == 20_001 { ms(80) } else { ms(50) }]
    });
    world.a.write(100_000);
    world.run_until(at_ms(2_000));
    assert_eq!(world.b.received_bytes(), 100_000);
    assert_eq!((world.a.cwnd(), world.a.stats().reductions_undone), (5_000, 0));
}

/// The number of a segment of 988 bytes, which is what timestamps leave.
fn number(sent: &Sent) -> u32 {
    (sent.seq() - 1) / (MSS - 12)
}

/// Of ten segments the first is late by 30 ms and the third is lost: what the late one proves of the first retransmission proves
/// nothing of the second, which is under way (Linux: `tcp_try_undo_partial`).
#[test]
fn a_real_loss_beside_a_late_segment_keeps_the_reduction() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let mut world = world(recovery, EIFEL).scripted(|sent| {
            let data = sent.from == End::A && !sent.transmit.retransmission;
            match number(sent) {
                20 if data => vec![ms(80)],
                22 if data => vec![],
                _ => vec![ms(50)],
            }
        });
        world.a.write(100_000);
        world.run_until(at_ms(2_000));
        assert_eq!(world.b.received_bytes(), 100_000);
        assert_eq!((world.a.cwnd(), world.a.stats().reductions_undone), (5_000, 0), "{recovery:?}");
    }
}

/// A loss in each of two windows, and in the second one of what the first recovery sent as new data: its retransmission leaves in the
/// first episode and is acknowledged in the second, after that has sent its own. Nothing was late.
#[test]
fn what_the_episode_before_sent_again_proves_nothing() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        for losses in [[21, 31, 34], [21, 27, 31], [21, 30, 33], [21, 32, 36]] {
            let mut left = losses.to_vec();
            let mut world = world(recovery, EIFEL).dropping(move |sent| {
                let lost = sent.from == End::A && sent.len() > 0 && left.contains(&number(sent));
                left.retain(|other| !lost || *other != number(sent));
                lost
            });
            world.a.write(200_000);
            world.run_until(at_ms(60_000));
            assert_eq!(world.b.received_bytes(), 200_000);
            assert!(world.a.stats().retransmitted_segments >= 3);
            assert_eq!(world.a.stats().reductions_undone, 0, "{recovery:?} {losses:?}");
        }
    }
}

/// Random losses of 3 %, some of them of retransmissions, without any reordering: no reduction is taken back.
#[test]
fn losses_are_never_taken_for_late_segments() {
    for seed in 1..=40u64 {
        for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
            let mut state = seed;
            let mut lost = move || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % 100 < 3
            };
            let config = Config { recovery, spurious_detection: EIFEL, timestamps: true, ..plain() };
            let mut world = World::established(config, Reno::new(10), ms(50))
                .dropping(move |sent| sent.from == End::A && sent.len() > 0 && lost());
            world.a.write(300_000);
            world.run_until(at_ms(200_000));
            assert_eq!(world.b.received_bytes(), 300_000, "{recovery:?} {seed}");
            assert_eq!(world.a.stats().reductions_undone, 0, "{recovery:?} {seed}");
        }
    }
}

/// One of ten segments is late by 15 ms in every round. The first time it is sent again for nothing; from then on the path is known to
/// reorder, and what is missing gets a quarter of the round trip (Linux: `tcp_check_sack_reordering` upon a partial ACK of an original).
#[test]
fn an_undo_shows_that_the_path_reorders() {
    let mut world = world(Recovery::Rack, EIFEL).scripted(|sent| {
        let late = sent.from == End::A && !sent.transmit.retransmission && number(sent) % 10 == 0;
        vec![ms(if late { 65 } else { 50 })]
    });
    world.a.write(100_000);
    world.run_until(at_ms(5_000));
    assert_eq!(world.b.received_bytes(), 100_000);
    let stats = world.a.stats();
    assert_eq!((stats.retransmitted_segments, stats.reductions_undone), (1, 1));
}
