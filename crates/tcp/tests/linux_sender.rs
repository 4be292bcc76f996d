//! What Linux's sender does otherwise than the RFCs' text, each by its option: a round trip of 100 ms and 1000-byte segments.

use crate::common::*;
use longhaul_cc::{Ack, Congestion, CongestionControl};
use longhaul_segment::{Ecn, Flags, SackBlocks, Segment, SeqNumber, Timestamps};
use longhaul_tcp::{Config, Connection, Event, Reading, Recovery, ReductionBound, State};
use std::sync::{Arc, Mutex};

fn ack(number: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut sack = SackBlocks::default();
    for (start, end) in blocks {
        sack.push(SeqNumber(*start), SeqNumber(*end));
    }
    let mut segment = Segment {
        seq: SeqNumber(1),
        ack: SeqNumber(number),
        window: 65_535,
        flags: Flags::ACK,
        ..Segment::default()
    };
    segment.options.sack = sack;
    segment
}
/// Start of each segment that leaves now.
fn departures(a: &mut Connection, now: u64) -> Vec<u32> {
    std::iter::from_fn(|| a.poll_transmit(at_ms(now)).map(|transmit| transmit.segment.seq.0)).collect()
}

/// Twenty segments, the ACK of segment n (from 0) at 100 + n ms; the first is marked. Times in ms at which something leaves then.
fn after_a_mark(rate_reduction_on_ecn: bool) -> (Vec<u64>, World) {
    let config = Config {
        ecn: true,
        recovery: Recovery::Rack,
        rate_reduction: Some(ReductionBound::SafeAck),
        rate_reduction_on_ecn,
        ..plain()
    };
    let mut world = World::established(config, Reno::avoiding(20), ms(50)).scripted(|sent| {
        let late =
            if sent.from == End::A && sent.at == at_ms(0) { u64::from((sent.seq() - 1) / MSS) } else { 0 };
        vec![ms(50 + late)]
    });
    world.mark =
        Box::new(|sent| if sent.from == End::A && sent.seq() == 1 { Ecn::Ce } else { sent.transmit.ecn });
    world.a.write_unlimited();
    world.run_until(at_ms(119));
    let sent = world.data_from(End::A).into_iter().map(|sent| sent.0).filter(|at| *at > 0).collect();
    (sent, world)
}

/// tcp_enter_cwr() and tcp_cwnd_reduction(): half of the window is given up over a round trip, a segment upon every other
/// ACK; upon the last but one the pipe has come down to the new window, and the segment waits for the last. RFC 3168
/// halves the window at once, and half a round trip is silent.
#[test]
fn an_ecn_echo_reduces_the_window_in_proportion() {
    let (sent, mut world) = after_a_mark(true);
    assert_eq!(sent, [100, 102, 104, 106, 108, 110, 112, 114, 116, 119]);
    assert_eq!((world.a.ssthresh(), world.a.stats().ecn_reductions), (10_000, 1));
    assert!(!world.a.in_recovery());
    // Once what left afterwards is acknowledged, the window is what congestion control has chosen.
    world.run_until(at_ms(205));
    assert_eq!(world.a.cwnd(), 10_000);

    let (sent, world) = after_a_mark(false);
    // Ten ACKs after the cut cwnd is one segment larger.
    assert_eq!(sent, [109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119]);
    assert_eq!((world.a.cwnd(), world.a.ssthresh()), (11_000, 10_000));
}

/// A loss that is found while the window comes down is of the same round trip: no second reduction, and the bound stays.
#[test]
fn a_loss_after_an_echo_does_not_reduce_the_window_again() {
    let config = Config {
        ecn: true,
        recovery: Recovery::Rack,
        rate_reduction: Some(ReductionBound::SafeAck),
        rate_reduction_on_ecn: true,
        ..plain()
    };
    let mut world = World::established(config, Reno::avoiding(20), ms(50)).dropping_once(&[5_001]);
    world.mark =
        Box::new(|sent| if sent.from == End::A && sent.seq() == 1 { Ecn::Ce } else { sent.transmit.ecn });
    world.a.write(60_000);
    world.run_until(at_ms(250));
    assert_eq!(
        (world.a.ssthresh(), world.a.stats().fast_retransmits, world.a.stats().timeouts),
        (10_000, 1, 0)
    );
    world.run_until(at_ms(5_000));
    assert_eq!(world.b.received_bytes(), 60_000);
}

/// Of ten segments the first, the fifth and the eighth are lost. An ACK that was overtaken SACKs the sixth and the seventh: two more are
/// delivered, and the eighth is lost (tcp_ack(), old_ack).
#[test]
fn the_sack_blocks_of_an_overtaken_ack_are_used() {
    for (sack_of_old_acks, sent) in [(true, 2), (false, 0)] {
        let config = Config {
            recovery: Recovery::Rack,
            rate_reduction: Some(ReductionBound::SafeAck),
            tail_loss_probe: false,
            sack_of_old_acks,
            ..plain()
        };
        let mut a = Connection::established(config, Reno::new(10), ports(End::A));
        a.write(10_000);
        assert_eq!(departures(&mut a, 0).len(), 10);
        for blocks in [&[(1_001, 2_001)][..], &[(1_001, 3_001)], &[(8_001, 9_001), (1_001, 3_001)]] {
            a.handle_segment(at_ms(10), &ack(1, blocks), Ecn::NotEct);
        }
        assert_eq!(departures(&mut a, 10), [1]);
        a.handle_segment(at_ms(22), &ack(4_001, &[(8_001, 9_001)]), Ecn::NotEct);
        let repaired = departures(&mut a, 22);
        assert_eq!(repaired.first(), Some(&4_001));
        a.write(10_000);
        let before = departures(&mut a, 22).len() + repaired.len();
        a.handle_segment(at_ms(24), &ack(3_001, &[(5_001, 7_001)]), Ecn::NotEct);
        let now = departures(&mut a, 24);
        assert_eq!(now.len(), sent, "{before} before, then {now:?}");
        assert_eq!(a.acked_bytes(), 4_000);
    }
}

/// A segment and its first retransmission are lost; both retransmissions take 100 ms each. The timer of 150 ms restarts with the second
/// one in Linux (tcp_xmit_retransmit_queue()), else it expires before the answer.
#[test]
fn a_retransmission_that_is_lost_needs_no_timeout_in_linux() {
    for (head_restarts_timer, timeouts) in [(true, 0), (false, 1)] {
        let config = Config {
            recovery: Recovery::Rack,
            rate_reduction: Some(ReductionBound::SafeAck),
            tail_loss_probe: false,
            min_rto: ms(150),
            head_restarts_timer,
            ..plain()
        };
        let mut left = 2;
        let mut world = World::established(config, Reno::avoiding(20), ms(50)).dropping(move |sent| {
            let lost = sent.from == End::A && sent.seq() == 200_001 && left > 0;
            left -= i32::from(lost);
            lost
        });
        world.a.write(400_000);
        world.run_until(at_ms(10_000));
        assert_eq!(world.b.received_bytes(), 400_000);
        let stats = world.a.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts), (1, timeouts), "{head_restarts_timer}");
    }
}

/// Records the ACKs that it is notified of.
struct Noting(Arc<Mutex<Vec<u64>>>);
impl CongestionControl for Noting {
    fn on_ack(&mut self, ack: &Ack) {
        self.0.lock().unwrap().push(ack.acked);
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> u64 {
        10_000
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
}

/// Two segments are SACKed, then the first arrives late: three are acknowledged newly, one is delivered.
#[test]
fn what_was_sacked_before_counts_or_not() {
    for (credit_sacked, expected) in [(true, [3_000, 2_000]), (false, [1_000, 2_000])] {
        let noted = Arc::new(Mutex::new(vec![]));
        let config = Config { recovery: Recovery::Rack, credit_sacked, ..plain() };
        let mut a = Connection::established(config, Box::new(Noting(noted.clone())), ports(End::A));
        a.write(10_000);
        departures(&mut a, 0);
        for segment in
            [ack(1, &[(1_001, 2_001)]), ack(1, &[(1_001, 3_001)]), ack(3_001, &[]), ack(5_001, &[])]
        {
            a.handle_segment(at_ms(100), &segment, Ecn::NotEct);
        }
        assert_eq!(*noted.lock().unwrap(), expected);
    }
}

/// tcp_xmit_probe_skb(): nothing at SND.UNA - 1. The peer answers with its window, and the probe's byte does not leave before there is one.
#[test]
fn a_probe_of_a_closed_window_may_be_empty() {
    let config = Config {
        empty_probes: true,
        receive_buffer: Some(4_000),
        reading: Reading::Manual,
        window_scaling: false,
        ..plain()
    };
    let mut world = World::established(config, Reno::new(10), ms(50))
        .dropping(|sent| sent.from == End::B && sent.at == at_ms(1_200));
    world.a.write(6_000);
    world.run_until(at_ms(1_200));
    let probe = world.log.iter().find(|sent| sent.from == End::A && sent.at == at_ms(1_100)).unwrap();
    assert_eq!((probe.seq(), probe.len()), (4_000, 0));
    assert_eq!(
        (world.a.peer_window(), world.b.received_bytes(), world.b.stats().beyond_window_bytes),
        (0, 4_000, 0)
    );
    // The window update is lost; the answer to the next probe brings it.
    let now = world.now;
    assert_eq!(world.b.read(now, 4_000), 4_000);
    world.run_until(at_ms(5_000));
    assert_eq!((world.b.received_bytes(), world.a.stats().probes_sent), (6_000, 2));
}

/// RFC 9293 section 3.6.1, SHLD-3: "if new data is received after CLOSE is called, its TCP implementation SHOULD send a RST to show that
/// data was lost".
#[test]
fn data_after_a_close_for_both_directions_are_answered_by_a_reset() {
    let mut world = World::established(plain(), Reno::new(10), ms(50));
    world.a.close_both();
    world.run_until(at_ms(200));
    // A half-closed connection would go on reading.
    assert_eq!((world.a.state(), world.b.state()), (State::FinWait2, State::CloseWait));
    world.b.write(1_000);
    world.run_until(at_ms(1_000));
    assert!(world.saw(End::A, Event::Reset) && world.saw(End::B, Event::Reset));
    assert_eq!((world.a.state(), world.b.state()), (State::Closed, State::Closed));
    assert_eq!(world.log.iter().filter(|sent| sent.has(Flags::RST)).count(), 1);

    // The peer's FIN alone loses nothing.
    let mut world = World::established(plain(), Reno::new(10), ms(50));
    world.a.close_both();
    world.b.close();
    world.run_until_closed(at_ms(10_000));
    assert!(world.saw(End::A, Event::Closed) && !world.saw(End::A, Event::Reset));
}

/// The same for data that wait to be read.
#[test]
fn closing_with_unread_data_resets() {
    let config = Config { reading: Reading::Manual, receive_buffer: Some(10_000), ..plain() };
    let mut world = World::established(config, Reno::new(10), ms(50));
    world.b.write(1_000);
    world.run_until(at_ms(100));
    world.a.close_both();
    world.run_until(at_ms(300));
    assert!(world.saw(End::B, Event::Reset));
}

/// tcp_match_skb_to_sack(): the last octet of the last segment is SACKed, then all of it, then half a segment and the short one.
#[test]
fn a_segment_counts_as_sacked_once_all_of_it_is() {
    for (sack_whole_segments, counted) in [(true, [0, 1_000, 1_400]), (false, [1, 1_000, 2_500])] {
        let config = Config { recovery: Recovery::Rack, sack_whole_segments, ..plain() };
        let mut a = Connection::established(config, Reno::new(10), ports(End::A));
        a.write(3_400);
        assert_eq!(departures(&mut a, 0), [1, 1_001, 2_001, 3_001]);
        // A short segment stands for itself, and what leaves in the same instant begins after it.
        a.set_nagle(false);
        a.write(2_000);
        assert_eq!(departures(&mut a, 0), [3_401, 4_401]);
        let blocks = [(5_400, 5_401), (4_401, 5_401), (2_501, 4_001)];
        for (block, counted) in blocks.iter().zip(counted) {
            a.handle_segment(at_ms(100), &ack(1, &[*block]), Ecn::NotEct);
            assert_eq!(a.sacked_bytes(), counted, "{block:?}");
        }
    }
}

/// Records the times of the ACKs that only report SACKs, and what counts for growth.
struct Watching(Arc<Mutex<(Vec<u64>, Vec<u64>)>>);
impl CongestionControl for Watching {
    fn on_ack(&mut self, ack: &Ack) {
        self.0.lock().unwrap().1.push(ack.acked);
    }
    fn on_sack(&mut self, ack: &Ack) {
        assert_eq!(ack.rtt, Some(ms(ack.now.as_nanos() / 1_000_000)));
        self.0.lock().unwrap().0.push(ack.acked);
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> u64 {
        100_000
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
}

/// Two segments are SACKed before the first of 20 arrives. Congestion control sees the round trips of SACKs (pkts_acked). Later eight
/// are SACKed before the one below them: by more than three segments the path reorders, and from then on SACKs count as they arrive
/// (tcp_may_raise_cwnd). Losses are found by time, after a quarter of the round trip.
#[test]
fn sacks_are_seen_and_count_once_the_path_reorders() {
    for (credit_sacked, seen, counted) in [
        (true, vec![], vec![3_000, 9_000, 2_000]),
        (false, vec![1_000, 1_000, 8_000], vec![1_000, 1_000, 1_000, 1_000]),
    ] {
        let noted = Arc::new(Mutex::new((vec![], vec![])));
        let config = Config { recovery: Recovery::Rack, credit_sacked, ..plain() };
        let mut a = Connection::established(config, Box::new(Watching(noted.clone())), ports(End::A));
        a.write(20_000);
        departures(&mut a, 0);
        for segment in [
            ack(1, &[(1_001, 2_001)]),
            ack(1, &[(1_001, 3_001)]),
            ack(3_001, &[]),
            ack(3_001, &[(4_001, 12_001)]),
            ack(12_001, &[]),
            ack(12_001, &[(13_001, 14_001)]),
            ack(14_001, &[]),
        ] {
            a.handle_segment(at_ms(100), &segment, Ecn::NotEct);
        }
        let noted = noted.lock().unwrap();
        assert_eq!((&noted.0, &noted.1), (&seen, &counted), "{credit_sacked}");
    }
}

/// Without SACK two duplicate ACKs stand for two segments: of three that are acknowledged next one is delivered, and of one, one
/// (tcp_remove_reno_sacks()).
#[test]
fn what_duplicate_acks_stand_for_counts_or_not() {
    for (credit_sacked, expected) in [(true, [3_000, 2_000]), (false, [1_000, 2_000])] {
        let noted = Arc::new(Mutex::new(vec![]));
        let config = Config { recovery: Recovery::NewReno, credit_sacked, ..plain() };
        let mut a = Connection::established(config, Box::new(Noting(noted.clone())), ports(End::A));
        a.write(10_000);
        departures(&mut a, 0);
        for number in [1, 1, 3_001, 5_001] {
            a.handle_segment(at_ms(100), &ack(number, &[]), Ecn::NotEct);
        }
        assert_eq!(*noted.lock().unwrap(), expected);
    }
}

fn with_timestamps(segment: Segment, value: u32) -> Segment {
    let mut segment = segment;
    segment.options.timestamps = Some(Timestamps { value, echo: 1 });
    segment
}

/// tcp_fast_parse_options(): a segment without the option that was agreed on passes.
#[test]
fn segments_without_the_agreed_timestamps_are_taken_or_not() {
    for (timestamps_required, received) in [(true, 0), (false, 1_000)] {
        let config = Config { timestamps: true, timestamps_required, ..plain() };
        let mut a = Connection::established(config, Reno::new(10), ports(End::A));
        a.handle_segment(at_ms(10), &data(1, 1_001), Ecn::NotEct);
        assert_eq!(a.received_bytes(), received);
    }
}

/// tcp_ack(): what acknowledges data that were never sent is dropped; its timestamp would shut out all that follows.
#[test]
fn an_ack_of_what_was_never_sent_is_answered_or_not() {
    for (answer_unsent_acks, answers, received) in [(true, 1, 0), (false, 0, 1_000)] {
        let config = Config { timestamps: true, answer_unsent_acks, ..plain() };
        let mut a = Connection::established(config, Reno::new(10), ports(End::A));
        a.handle_segment(at_ms(10), &with_timestamps(ack(9_999, &[]), 200_000), Ecn::NotEct);
        assert_eq!(departures(&mut a, 10).len(), answers);
        a.handle_segment(at_ms(20), &with_timestamps(data(1, 1_001), 201), Ecn::NotEct);
        assert_eq!(a.received_bytes(), received);
    }
}
