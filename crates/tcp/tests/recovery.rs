//! Loss recovery: what is retransmitted and when, by variant, with a round trip of 100 ms and 1000-byte segments.

use crate::common::*;
use longhaul_cc::{Ack, Congestion, CongestionControl, CongestionKind};
use longhaul_tcp::{Config, Event, Limit, Recovery};
use longhaul_units::Duration;
use std::sync::{Arc, Mutex};

/// The variants that find losses by what ACKs bring.
const EACH: [Recovery; 6] =
    [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Sack1, Recovery::Fack];

fn with(recovery: Recovery) -> Config {
    Config { recovery, ..plain() }
}

/// 20 segments in flight, the 4th, 8th and 13th lost.
fn three_losses(recovery: Recovery) -> World {
    let config = Config { slow_but_steady: true, ..with(recovery) };
    let mut world =
        World::established(config, Reno::avoiding(20), ms(50)).dropping_once(&[3001, 7001, 12001]);
    world.a.write(60_000);
    world.run_until(at_ms(5_000));
    assert_eq!(world.b.received_bytes(), 60_000);
    world
}

/// RFC 6582 section 3.2: each partial ACK retransmits one segment, so it is one hole per round trip.
#[test]
fn newreno_repairs_one_hole_per_round_trip() {
    let world = three_losses(Recovery::NewReno);
    assert_eq!(world.retransmissions(), [(100, 3001), (200, 7001), (300, 12001)]);
    assert_eq!(world.a.stats().fast_retransmits, 1);
    assert_eq!(world.a.stats().timeouts, 0);
}

/// RFC 6675 section 5: all holes within one round trip.
#[test]
fn sack_repairs_all_holes_in_one_round_trip() {
    for recovery in [Recovery::Sack, Recovery::Sack1, Recovery::Fack] {
        let world = three_losses(recovery);
        assert_eq!(world.retransmissions(), [(100, 3001), (100, 7001), (100, 12001)]);
        assert_eq!(world.a.stats().fast_retransmits, 1);
        assert_eq!(world.a.stats().timeouts, 0);
    }
}

/// Fall and Floyd 1996 section 3.4, the pipe. Of 20 segments the 4th to 13th are lost. 22 are outstanding at the third duplicate ACK,
/// 19 in the pipe, and four more leave 15 there: nothing is retransmitted but the first, though cwnd is 10. A round trip later five
/// duplicate ACKs and the partial one, which counts twice, make room for two; then each partial ACK makes room for two. RFC 6675
/// takes lost segments out of the pipe.
#[test]
fn lost_segments_stay_in_the_counted_pipe() {
    let retransmissions = |recovery| {
        let lost: Vec<u32> = (3..13).map(|segment| 1 + 1000 * segment).collect();
        let mut world = World::established(with(recovery), Reno::avoiding(20), ms(50)).dropping_once(&lost);
        world.a.write(60_000);
        world.run_until(at_ms(5_000));
        assert_eq!((world.b.received_bytes(), world.a.stats().timeouts), (60_000, 0));
        world.retransmissions().iter().map(|sent| sent.0).collect::<Vec<_>>()
    };
    assert_eq!(retransmissions(Recovery::Sack1), [100, 200, 200, 300, 300, 300, 300, 400, 400, 400]);
    assert_eq!(retransmissions(Recovery::Sack), [100, 100, 100, 100, 100, 200, 200, 200, 200, 200]);
}

/// One SACKed segment above a hole is enough once recovery has begun; RFC 6675 requires three, and sends new data first.
#[test]
fn a_hole_below_any_sack_is_retransmitted_in_recovery() {
    let retransmissions = |recovery| {
        let config = Config { limited_transmit: false, ..with(recovery) };
        let mut world = World::established(config, Reno::avoiding(8), ms(50)).dropping_once(&[1, 6001]);
        world.a.write(20_000);
        world.run_until(at_ms(199));
        world.retransmissions()
    };
    assert_eq!(retransmissions(Recovery::Sack1), [(100, 1), (100, 6001)]);
    assert_eq!(retransmissions(Recovery::Sack), [(100, 1)]);
}

/// A timeout discards the scoreboard, and what duplicate ACKs report counts only after new data is acknowledged: all is sent
/// again up to where the cumulative ACK jumps.
#[test]
fn a_timeout_discards_a_counted_scoreboard() {
    let after = |recovery| {
        let config = Config { limited_transmit: false, ..with(recovery) };
        let mut world = World::established(config, Reno::avoiding(7), ms(50)).dropping(|sent| {
            sent.from == End::A && sent.at < at_ms(500) && [1, 5001, 6001].contains(&sent.seq())
        });
        world.a.write(7_000);
        world.run_until(at_ms(10_000));
        assert_eq!((world.b.received_bytes(), world.a.stats().timeouts), (7_000, 1));
        world.retransmissions().iter().filter(|sent| sent.0 >= 1000).map(|sent| sent.1).collect::<Vec<_>>()
    };
    assert_eq!(after(Recovery::Sack1), [1, 5001, 6001]);
    assert_eq!(after(Recovery::Sack), [1, 5001, 6001]);
}

/// RFC 5681 section 3.2 without partial ACKs: each of several losses halves the window again, until too little is in
/// flight and the timer has to do it (Fall and Floyd 1996, section 4).
#[test]
fn reno_ends_recovery_with_the_first_new_ack() {
    let world = three_losses(Recovery::Reno);
    assert!(world.a.stats().fast_retransmits + world.a.stats().timeouts >= 2);
}

/// Tahoe: one segment, and slow start from there.
#[test]
fn tahoe_starts_over() {
    let mut world =
        World::established(with(Recovery::Tahoe), Reno::avoiding(20), ms(50)).dropping_once(&[3001]);
    world.a.write(60_000);
    world.run_until(at_ms(150));
    assert_eq!(world.a.cwnd(), 1000);
    // FlightSize was 20 less the 3 acknowledged and plus 3 sent for them.
    assert_eq!(world.a.ssthresh(), 10_000);
    assert_eq!(world.retransmissions(), [(100, 3001)]);
}

/// RFC 5681 section 3.2 step 2: ssthresh = max(FlightSize / 2, 2*SMSS), not counting limited transmit.
#[test]
fn the_window_is_halved() {
    for &recovery in &EACH[1..] {
        let mut world = World::established(with(recovery), Reno::avoiding(20), ms(50)).dropping_once(&[1]);
        world.a.write(60_000);
        world.run_until(at_ms(100));
        assert_eq!((world.a.cwnd(), world.a.ssthresh()), (10_000, 10_000), "{recovery:?}");
        assert!(world.saw(End::A, Event::FastRetransmit { lost: 0, flight_size: 20_000 }));
        world.run_until(at_ms(250));
        assert!(world.saw(End::A, Event::RecoveryEnd));
    }
}

/// RFC 3042 section 2: "send previously unsent data upon receipt of each of the first two duplicate ACKs", which
/// brings the third duplicate that a window of three segments never could.
#[test]
fn limited_transmit_saves_a_timeout() {
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
            let config = Config { limited_transmit, ..with(recovery) };
            let mut world = World::established(config, Reno::avoiding(3), ms(50)).dropping_once(&[1]);
            world.a.write(20_000);
            world.run_until(at_ms(100));
            let sent: Vec<u32> = world.data_from(End::A).iter().map(|sent| sent.1).collect();
            let expected: &[u32] =
                if limited_transmit { &[1, 1001, 2001, 3001, 4001] } else { &[1, 1001, 2001] };
            assert_eq!(sent, expected, "{recovery:?}");
            world.run_until(at_ms(5_000));
            assert_eq!(world.a.stats().timeouts, timeouts);
            assert_eq!(world.b.received_bytes(), 20_000);
        }
    }
}

/// RFC 6298 sections 5.4 to 5.6: retransmissions at RTO, then 2, 4, 8 RTO later; RFC 5681 section 3.1: ssthresh is set
/// at the first only.
#[test]
fn the_timer_backs_off_and_ssthresh_is_set_once() {
    let mut world =
        World::established(plain(), Reno::avoiding(10), ms(50)).dropping(|sent| sent.from == End::A);
    world.a.write(10_000);
    world.run_until(at_ms(16_000));
    assert_eq!(world.retransmissions(), [(1000, 1), (3000, 1), (7000, 1), (15_000, 1)]);
    assert_eq!(world.a.ssthresh(), 5_000);
    assert_eq!(world.a.cwnd(), 1_000);
    assert!(world.saw(End::A, Event::Timeout { lost: 0, flight_size: 10_000, backoff: 4 }));
}

/// A round trip of 550 ms, RTO at its minimum of 1 s; the first two segments of the second window are lost. The last new
/// ACK comes at 550 ms, the fast retransmissions leave at 1100 ms and are acknowledged at 1650 ms: a timer that runs
/// from the last new ACK expires at 1550 ms, one that the fast retransmit restarts does not.
#[test]
fn a_fast_retransmit_restarts_the_timer() {
    for (restart_timer_on_fast_retransmit, timeouts) in [(true, 0), (false, 1)] {
        for recovery in EACH {
            let config = Config { restart_timer_on_fast_retransmit, ..with(recovery) };
            let mut world =
                World::established(config, Reno::avoiding(20), ms(275)).dropping_once(&[20_001, 21_001]);
            world.a.write(60_000);
            world.run_until(at_ms(1_649));
            assert_eq!(world.a.stats().fast_retransmits, 1);
            assert_eq!(world.a.stats().timeouts, timeouts, "{recovery:?}");
            world.run_until(at_ms(10_000));
            assert_eq!(world.b.received_bytes(), 60_000);
        }
    }
}

/// RFC 6675 section 5.1: after a timeout SACKed data is not sent again. Where SACKs are cleared (RFC 2018 section 8)
/// the ACK of the first retransmission reports them anew.
#[test]
fn after_a_timeout_sacked_data_is_not_sent_again() {
    for clear_sack_on_timeout in [false, true] {
        // Of seven segments the 3rd to 5th arrive; the fast retransmission of the 1st is lost too.
        let config = Config { clear_sack_on_timeout, limited_transmit: false, ..plain() };
        let mut world = World::established(config, Reno::avoiding(7), ms(50)).dropping(|sent| {
            sent.from == End::A && sent.at < at_ms(500) && [1, 1001, 5001, 6001].contains(&sent.seq())
        });
        world.a.write(7_000);
        world.run_until(at_ms(10_000));
        assert_eq!(world.b.received_bytes(), 7_000);
        assert_eq!(world.a.stats().timeouts, 1);
        let after: Vec<u32> =
            world.retransmissions().iter().filter(|sent| sent.0 >= 1000).map(|sent| sent.1).collect();
        assert_eq!(after, [1, 1001, 5001, 6001]);
    }
}

/// RFC 6582 section 3.2 step 2: duplicate ACKs from data sent twice after a timeout start no fast retransmit.
#[test]
fn no_fast_retransmit_after_a_timeout() {
    for recovery in EACH {
        // Every ACK is held up for 1.5 s once: a spurious timeout, then everything is sent twice.
        let mut world = World::established(with(recovery), Reno::avoiding(8), ms(50)).scripted(|sent| {
            let late = sent.from == End::B && sent.at < at_ms(500);
            vec![if late { ms(1500) } else { ms(50) }]
        });
        world.a.write(30_000);
        world.run_until(at_ms(20_000));
        assert_eq!(world.b.received_bytes(), 30_000);
        assert_eq!(world.a.stats().timeouts, 1, "{recovery:?}");
        assert_eq!(world.a.stats().fast_retransmits, 0, "{recovery:?}");
    }
}

/// RFC 6675 section 4 rule 4: a rescue retransmission of the highest data when nothing else is allowed, once the first
/// retransmission is acknowledged.
#[test]
fn sack_rescues_the_end_of_a_stream() {
    // The 2nd and the last of ten segments are lost; there is no new data.
    let mut world = World::established(plain(), Reno::avoiding(10), ms(50)).dropping_once(&[1001, 9001]);
    world.a.write(10_000);
    world.run_until(at_ms(400));
    assert_eq!(world.retransmissions(), [(100, 1001), (200, 9001)]);
    assert_eq!(world.b.received_bytes(), 10_000);
    assert_eq!(world.a.stats().timeouts, 0);
}

/// Karn's rule: no round trip is measured from what was sent twice (RFC 6298 section 3); with timestamps there is.
#[test]
fn karns_rule() {
    for (timestamps, samples) in [(false, 0), (true, 1)] {
        let config = Config { timestamps, ..plain() };
        let mut world = World::established(config, Reno::avoiding(1), ms(50)).dropping_once(&[1]);
        world.a.write(900);
        world.run_until(at_ms(3_000));
        assert_eq!(world.a.acked_bytes(), 900);
        assert_eq!(world.a.stats().rtt_samples, samples);
        if timestamps {
            assert_eq!(world.a.srtt(), ms(100));
        }
    }
}

/// Counts what it is notified of; a window of `0.0` segments, halved at each loss.
struct Counting(u64, Arc<Mutex<Vec<CongestionKind>>>);
impl CongestionControl for Counting {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, event: &Congestion) {
        self.0 = (self.0 / 2).max(2);
        self.1.lock().unwrap().push(event.kind);
    }
    fn window(&self) -> u64 {
        self.0 * u64::from(MSS)
    }
    fn ssthresh(&self) -> u64 {
        0
    }
}

fn reductions(window: u64, lost: impl Iterator<Item = u64>, recovery: Recovery) -> Vec<CongestionKind> {
    reductions_with(&with(recovery), window, lost)
}

fn reductions_with(config: &Config, window: u64, lost: impl Iterator<Item = u64>) -> Vec<CongestionKind> {
    let told = Arc::new(Mutex::new(vec![]));
    let seqs: Vec<u32> = lost.map(|packet| packet as u32 * MSS + 1).collect();
    let config = Config { slow_but_steady: true, min_rto: Duration::from_secs(5), ..config.clone() };
    let mut world =
        World::established(config, Box::new(Counting(window, told.clone())), ms(50)).dropping_once(&seqs);
    world.keep_log = false;
    world.a.write(2 * window * u64::from(MSS));
    world.run_until(at_ms(20_000));
    assert_eq!(world.b.received_bytes(), 2 * window * u64::from(MSS));
    told.lock().unwrap().clone()
}

/// A window of data brings one reduction, however large it is and however many of its packets are lost.
#[test]
fn one_reduction_per_window_of_data() {
    for window in [1_000, 5_000, 16_000, 33_000] {
        for recovery in [Recovery::Sack, Recovery::Sack1, Recovery::Fack] {
            assert_eq!(reductions(window, 7..8, recovery), [CongestionKind::Loss], "{window} {recovery:?}");
            let burst = window / 3..window / 3 + window / 10;
            assert_eq!(reductions(window, burst, recovery), [CongestionKind::Loss], "{window} {recovery:?}");
            let scattered = (0..window / 2).step_by(37);
            assert_eq!(
                reductions(window, scattered, recovery),
                [CongestionKind::Loss],
                "{window} {recovery:?}"
            );
        }
        assert_eq!(reductions(window, 7..8, Recovery::Reno), [CongestionKind::Loss]);
        assert_eq!(reductions(window, [7, 90, 500].into_iter(), Recovery::NewReno), [CongestionKind::Loss]);
    }
}

/// LBNL-52549 section 7.3.3: with the sink of ns-2 before 2.1b9a, which kept track of 1024 packets, a loss in a larger window
/// cut cwnd twice. What lies 1023 packets above the hole and beyond is neither kept nor SACKed ("the missing ACK will
/// ultimately cause sender timeout", says its source), so that recovery gets stuck until the timer expires.
#[test]
fn a_short_reassembly_queue_cuts_large_windows_twice() {
    let short = Config { reassembly_limit: Some(1023 * u64::from(MSS)), ..plain() };
    let (once, twice) = (vec![CongestionKind::Loss], vec![CongestionKind::Loss, CongestionKind::Timeout]);
    for (window, expected) in [(1_000, &once), (3_000, &twice), (5_000, &twice), (16_000, &twice)] {
        assert_eq!(reductions_with(&short, window, 7..8), *expected, "{window}");
        assert_eq!(reductions_with(&short, window, 20..40), *expected, "{window}");
    }
}

/// Every moment is accounted for.
#[test]
fn limits_add_up() {
    let mut world = World::established(plain(), Reno::avoiding(10), ms(50)).dropping_once(&[20_001]);
    world.a.write(200_000);
    world.run_until(at_ms(10_000));
    let limits = world.a.limited_time(world.now);
    let total: u64 = limits.iter().map(|(_, time)| time.as_nanos()).sum();
    assert_eq!(total, 10_000_000_000);
    // From the duplicate ACKs at 300 ms to the ACK of all that was in flight then.
    assert_eq!(limits.get(Limit::Recovery), ms(100));
    assert!(limits.get(Limit::Application) > ms(8_000));
    assert!(limits.get(Limit::Cwnd) > ms(500));
}

/// What limits a sender, by name.
#[test]
fn limits_are_told_apart() {
    let mut world = World::connecting(plain(), plain(), ms(50));
    world.flush();
    assert_eq!(world.a.limit(), Limit::Handshake);
    world.a.write(1_000_000);
    world.run_until(at_ms(110));
    assert_eq!(world.a.limit(), Limit::SlowStart);
    world.run_until(at_ms(10_000));
    assert_eq!(world.a.limit(), Limit::Application);
    world.a.close();
    world.run_until(at_ms(11_000));
    assert_eq!(world.a.limit(), Limit::Closed);
}

/// The burst limit: however far an ACK opens the window, so many segments leave at a time.
#[test]
fn bursts_are_limited() {
    let config = Config { max_burst: Some(4), ..plain() };
    let mut world = World::established(config, Reno::avoiding(20), ms(50));
    world.a.write(100_000);
    world.flush();
    assert_eq!(world.data_from(End::A).len(), 4);
    assert_eq!(world.a.limit(), Limit::Pacing);
}
