//! What a receiver reports and when: SACK blocks (RFC 2018), D-SACK (RFC 2883), delayed ACKs (RFC 5681 section 4.2).

use crate::common::*;
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection};
use longhaul_units::Instant;
use proptest::prelude::*;

/// A receiver whose left window edge is at `edge`.
fn receiver_at(edge: u32) -> Connection {
    let mut b = Connection::established(plain(), Box::new(Fixed(1000)), ports(End::B));
    arrives(&mut b, 1, edge);
    b
}

/// `[start, end)` arrives; the answer is (ACK, SACK blocks).
fn arrives(b: &mut Connection, start: u32, end: u32) -> (u32, Vec<(u32, u32)>) {
    b.handle_segment(at_ms(1), &data(start, end), Ecn::NotEct);
    let answer = b.poll_transmit(at_ms(1)).expect("an immediate ACK").segment;
    assert_eq!(b.poll_transmit(at_ms(1)), None);
    (answer.ack.0, answer.options.sack.as_slice().iter().map(|block| (block.0.0, block.1.0)).collect())
}

/// RFC 2018 section 5: left window edge 5000, eight segments of 500 bytes; "the first 4 segments are received but the
/// last 4 are dropped".
#[test]
fn rfc_2018_case_1() {
    let mut b = receiver_at(5000);
    for (start, ack) in [(5000, 5500), (5500, 6000), (6000, 6500), (6500, 7000)] {
        assert_eq!(arrives(&mut b, start, start + 500), (ack, vec![]));
    }
}

/// "The first segment is dropped but the remaining 7 are received."
#[test]
fn rfc_2018_case_2() {
    let mut b = receiver_at(5000);
    for (start, right) in
        [(5500, 6000), (6000, 6500), (6500, 7000), (7000, 7500), (7500, 8000), (8000, 8500), (8500, 9000)]
    {
        assert_eq!(arrives(&mut b, start, start + 500), (5000, vec![(5500, right)]));
    }
}

/// "The 2nd, 4th, 6th, and 8th (last) segments are dropped"; then the 4th comes, then the 2nd.
#[test]
fn rfc_2018_case_3() {
    let mut b = receiver_at(5000);
    assert_eq!(arrives(&mut b, 5000, 5500), (5500, vec![]));
    assert_eq!(arrives(&mut b, 6000, 6500), (5500, vec![(6000, 6500)]));
    assert_eq!(arrives(&mut b, 7000, 7500), (5500, vec![(7000, 7500), (6000, 6500)]));
    assert_eq!(arrives(&mut b, 8000, 8500), (5500, vec![(8000, 8500), (7000, 7500), (6000, 6500)]));
    assert_eq!(arrives(&mut b, 6500, 7000), (5500, vec![(6000, 7500), (8000, 8500)]));
    assert_eq!(arrives(&mut b, 5500, 6000), (7500, vec![(8000, 8500)]));
}

/// 40 bytes of options hold four blocks, or three beside timestamps (RFC 2018 section 3).
#[test]
fn four_blocks_or_three_with_timestamps() {
    for (timestamps, most) in [(false, 4), (true, 3)] {
        let config = Config { timestamps, ..plain() };
        let mut b = Connection::established(config, Box::new(Fixed(1000)), ports(End::B));
        let mut answer = None;
        for start in [1001, 3001, 5001, 7001, 9001, 11001] {
            let mut segment = data(start, start + 1000);
            segment.options.timestamps =
                timestamps.then_some(longhaul_segment::Timestamps { value: 5, echo: 0 });
            b.handle_segment(at_ms(1), &segment, Ecn::NotEct);
            answer = b.poll_transmit(at_ms(1));
        }
        let options = answer.unwrap().segment.options;
        assert_eq!(options.sack.len(), most);
        assert_eq!(options.sack.as_slice()[0].0, SeqNumber(11001));
        assert!(options.wire_len() <= 40);
    }
}

/// RFC 2883 section 4.1.1: the ACKs of 3000 and 3500 were lost, 3000-3499 comes again.
#[test]
fn rfc_2883_a_duplicate_segment() {
    let mut b = receiver_at(3000);
    assert_eq!(arrives(&mut b, 3000, 3500), (3500, vec![]));
    assert_eq!(arrives(&mut b, 3500, 4000), (4000, vec![]));
    assert_eq!(arrives(&mut b, 3000, 3500), (4000, vec![(3000, 3500)]));
    // "each duplicate is reported at most once".
    assert_eq!(arrives(&mut b, 4000, 4500), (4500, vec![]));
}

/// RFC 2883 section 4.1.2: 3500-3999 is lost, 4000-4499 arrives, 3000-3499 comes again.
#[test]
fn rfc_2883_a_duplicate_beside_a_gap() {
    let mut b = receiver_at(3000);
    assert_eq!(arrives(&mut b, 3000, 3500), (3500, vec![]));
    assert_eq!(arrives(&mut b, 4000, 4500), (3500, vec![(4000, 4500)]));
    assert_eq!(arrives(&mut b, 3000, 3500), (3500, vec![(3000, 3500), (4000, 4500)]));
}

/// RFC 2883 section 4.1.3: a duplicate of a segment above the gap is followed by the block that holds it.
#[test]
fn rfc_2883_a_duplicate_above_a_gap() {
    let mut b = receiver_at(3500);
    assert_eq!(arrives(&mut b, 3500, 4000), (4000, vec![]));
    assert_eq!(arrives(&mut b, 4500, 5000), (4000, vec![(4500, 5000)]));
    assert_eq!(arrives(&mut b, 5000, 5500), (4000, vec![(4500, 5500)]));
    assert_eq!(arrives(&mut b, 5000, 5500), (4000, vec![(5000, 5500), (4500, 5500)]));
}

/// RFC 2883 section 4.2: a larger segment covers old and new data; only the old part is a duplicate.
#[test]
fn rfc_2883_a_partly_duplicate_segment() {
    let mut b = receiver_at(1000);
    assert_eq!(arrives(&mut b, 1000, 1500), (1500, vec![]));
    assert_eq!(arrives(&mut b, 2000, 2500), (1500, vec![(2000, 2500)]));
    assert_eq!(arrives(&mut b, 1000, 2000), (2500, vec![(1000, 1500)]));
    assert_eq!(b.stats().duplicate_bytes_received, 500);
    assert_eq!(b.received_bytes(), 2499);
}

/// Rules 1 and 3: the block is the duplicate sequence itself, 200 to 300 of a segment of 150 to 350; rule 4: what holds it follows.
#[test]
fn rfc_2883_a_duplicate_between_new_data() {
    let mut b = receiver_at(100);
    assert_eq!(arrives(&mut b, 200, 300), (100, vec![(200, 300)]));
    assert_eq!(arrives(&mut b, 150, 350), (100, vec![(200, 300), (150, 350)]));
    assert_eq!(b.stats().duplicate_bytes_received, 100);
}

/// RFC 2883 section 4.2.3: of two duplicate sequences in one segment the first is reported, above a gap as at its left edge.
#[test]
fn rfc_2883_two_duplicates_in_one_segment() {
    for (start, ack, block) in [(600, 500, vec![(1000, 1500), (600, 3000)]), (500, 3000, vec![(1000, 1500)])]
    {
        let mut b = receiver_at(500);
        assert_eq!(arrives(&mut b, 1000, 1500), (500, vec![(1000, 1500)]));
        assert_eq!(arrives(&mut b, 2000, 2500), (500, vec![(2000, 2500), (1000, 1500)]));
        assert_eq!(arrives(&mut b, start, 3000), (ack, block));
        assert_eq!(b.stats().duplicate_bytes_received, 1000);
    }
}

/// A duplicate at the left, at the right, or in the middle of a segment above a gap.
#[test]
fn rfc_2883_a_duplicate_on_either_side() {
    for (start, end, duplicate, whole) in
        [(1200, 1700, (1200, 1500), (1000, 1700)), (800, 1200, (1000, 1200), (800, 1500))]
    {
        let mut b = receiver_at(500);
        arrives(&mut b, 1000, 1500);
        assert_eq!(arrives(&mut b, start, end), (500, vec![duplicate, whole]));
        assert_eq!(b.stats().duplicate_bytes_received, u64::from(duplicate.1 - duplicate.0));
    }
}

/// The number of the FIN is no byte that was received twice.
#[test]
fn a_fin_that_comes_again_above_a_gap_is_no_duplicate_byte() {
    let mut b = receiver_at(500);
    let fin = |start| Segment { flags: Flags::ACK | Flags::FIN, ..data(start, 1500) };
    b.handle_segment(at_ms(1), &fin(1000), Ecn::NotEct);
    b.poll_transmit(at_ms(1));
    b.handle_segment(at_ms(1), &fin(800), Ecn::NotEct);
    let sack = b.poll_transmit(at_ms(1)).unwrap().segment.options.sack;
    assert_eq!(sack.as_slice()[0], (SeqNumber(1000), SeqNumber(1500)));
    assert_eq!((b.stats().duplicate_bytes_received, b.out_of_order_bytes()), (500, 700));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    /// Rules 1 to 3, whatever arrives: the D-SACK block is the first run of bytes that were received before, and there is one
    /// only if there is such a run.
    #[test]
    fn a_dsack_block_is_the_first_run_received_before(
        segments in prop::collection::vec((1u32..400, 1u32..120), 1..40),
    ) {
        let mut b = Connection::established(plain(), Box::new(Fixed(1000)), ports(End::B));
        let mut known = std::collections::BTreeSet::new();
        let mut duplicates = 0;
        for (start, len) in segments {
            let end = start + len;
            let first = (start..end).find(|byte| known.contains(byte));
            let run = first.map(|from| (from, (from..end).find(|byte| !known.contains(byte)).unwrap_or(end)));
            duplicates += (start..end).filter(|byte| known.contains(byte)).count() as u64;
            let (ack, blocks) = arrives(&mut b, start, end);
            known.extend(start..end);
            let reported = blocks.first().copied().filter(|&(from, to)| {
                to <= ack || blocks.get(1).is_some_and(|second| second.0 <= from && to <= second.1)
            });
            prop_assert_eq!(reported, run);
            prop_assert!(blocks.iter().all(|&(from, to)| (from..to).all(|byte| known.contains(&byte))));
            prop_assert_eq!(b.stats().duplicate_bytes_received, duplicates);
        }
    }
}

#[test]
fn dsack_can_be_switched_off() {
    let mut b =
        Connection::established(Config { dsack: false, ..plain() }, Box::new(Fixed(1000)), ports(End::B));
    assert_eq!(arrives(&mut b, 1, 1001), (1001, vec![]));
    assert_eq!(arrives(&mut b, 1, 1001), (1001, vec![]));
}

fn delaying() -> Connection {
    let config = Config { delayed_ack: Some(ms(200)), ack_every: 2, ..plain() };
    Connection::established(config, Box::new(Fixed(1000)), ports(End::B))
}
fn ack_at(b: &mut Connection, now: Instant) -> Option<u32> {
    b.poll_transmit(now).map(|transmit| transmit.segment.ack.0)
}

/// RFC 5681 section 4.2: "an ACK SHOULD be generated for at least every second full-sized segment, and MUST be
/// generated within 500 ms of the arrival of the first unacknowledged packet".
#[test]
fn every_second_segment_is_acknowledged_and_a_single_one_in_time() {
    let mut b = delaying();
    b.handle_segment(at_ms(10), &data(1, 1001), Ecn::NotEct);
    assert_eq!(ack_at(&mut b, at_ms(10)), None);
    assert_eq!(b.poll_timeout(), Some(at_ms(210)));
    b.handle_segment(at_ms(20), &data(1001, 2001), Ecn::NotEct);
    assert_eq!(ack_at(&mut b, at_ms(20)), Some(2001));
    assert_eq!(b.poll_timeout(), None);
    b.handle_segment(at_ms(30), &data(2001, 3001), Ecn::NotEct);
    assert_eq!(ack_at(&mut b, at_ms(30)), None);
    b.handle_timeout(at_ms(230));
    assert_eq!(ack_at(&mut b, at_ms(230)), Some(3001));
}

/// RFC 5681 section 4.2: out-of-order segments, and those that fill a gap, are acknowledged at once.
#[test]
fn gaps_are_reported_at_once() {
    let mut b = delaying();
    b.handle_segment(at_ms(10), &data(1001, 2001), Ecn::NotEct);
    assert_eq!(ack_at(&mut b, at_ms(10)), Some(1));
    b.handle_segment(at_ms(10), &data(1, 1001), Ecn::NotEct);
    assert_eq!(ack_at(&mut b, at_ms(10)), Some(2001));
    b.handle_segment(at_ms(10), &data(1, 1001), Ecn::NotEct);
    assert_eq!(ack_at(&mut b, at_ms(10)), Some(2001));
}

/// Data in the other direction carries the ACK.
#[test]
fn acks_ride_on_data() {
    let mut b = delaying();
    b.handle_segment(at_ms(10), &data(1, 1001), Ecn::NotEct);
    b.write(500);
    let answer = b.poll_transmit(at_ms(20)).unwrap().segment;
    assert_eq!((answer.payload_len, answer.ack), (500, SeqNumber(1001)));
    assert_eq!(ack_at(&mut b, at_ms(500)), None);
}

/// A segment of data has room for every SACK block that it carries (RFC 2018 section 3; RFC 6691 section 3: options count).
#[test]
fn data_that_carries_sack_blocks_is_shorter_by_them() {
    let mut b = receiver_at(5000);
    for start in [6000, 7000, 8000] {
        arrives(&mut b, start, start + 500);
    }
    b.handle_segment(at_ms(2), &data(9000, 9500), Ecn::NotEct);
    b.write(5000);
    let answer = b.poll_transmit(at_ms(2)).unwrap().segment;
    assert_eq!(answer.options.sack.as_slice().len(), 4);
    assert_eq!(answer.payload_len, MSS - 4 - 4 * 8);
}

/// A FIN that brings nothing new but itself draws no D-SACK, as in Linux, whose `tcp_fin` forgets what there is to report.
#[test]
fn a_fin_with_old_payload_draws_no_dsack() {
    let mut b = receiver_at(3000);
    assert_eq!(arrives(&mut b, 3000, 3500), (3500, vec![]));
    let mut last = data(3000, 3500);
    last.flags |= longhaul_segment::Flags::FIN;
    b.handle_segment(at_ms(2), &last, Ecn::NotEct);
    let answer = b.poll_transmit(at_ms(2)).expect("an immediate ACK").segment;
    assert_eq!((answer.ack.0, answer.options.sack.len()), (3501, 0));
}
