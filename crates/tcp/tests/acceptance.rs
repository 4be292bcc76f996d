//! Which segments of a synchronized connection are taken, challenged or dropped: resets (RFC 5961 section 3.2), old ACKs (RFC 5961
//! section 5.2), loops of answers (RFC 5961 section 7), timestamps (RFC 7323 sections 3.2 and 5).

use crate::common::*;
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber, Timestamps};
use longhaul_tcp::{Config, Connection, State};
use proptest::prelude::*;

/// A receiver whose RCV.NXT is 1001 and whose window is 4000; with timestamps its TS.Recent is 10.
fn receiver(timestamps: bool) -> Connection {
    let config = Config { receive_buffer: Some(4_000), timestamps, ..plain() };
    let mut b = Connection::established(config, Reno::new(2), ports(End::B));
    b.handle_segment(at_ms(1), &stamped(data(1, 1001), timestamps.then_some(10)), Ecn::NotEct);
    let ack = b.poll_transmit(at_ms(1)).unwrap().segment;
    assert_eq!((ack.ack, ack.window, b.poll_transmit(at_ms(1))), (SeqNumber(1001), 4_000, None));
    b
}
fn stamped(mut segment: Segment, value: Option<u32>) -> Segment {
    segment.options.timestamps = value.map(|value| Timestamps { value, echo: 0 });
    segment
}
/// The answer to a segment: its ACK.
fn answered(b: &mut Connection, segment: Segment) -> Option<u32> {
    b.handle_segment(at_ms(2), &segment, Ecn::NotEct);
    let answer = b.poll_transmit(at_ms(2)).map(|sent| sent.segment.ack.0);
    assert_eq!(b.poll_transmit(at_ms(2)), None);
    answer
}

/// RFC 5961 section 3.2: outside RCV.NXT to RCV.NXT + RCV.WND - 1 a RST is dropped silently, at RCV.NXT it resets, elsewhere in the
/// window it is challenged. The window's right edge, and what the last ACK left behind, are outside.
#[test]
fn a_reset_outside_the_window_is_dropped_silently() {
    for (seq, state, challenged) in [
        (1000, State::Established, false),
        (1001, State::Closed, false),
        (1002, State::Established, true),
        (5000, State::Established, true),
        (5001, State::Established, false),
    ] {
        let mut b = receiver(false);
        let reset = Segment { flags: Flags::RST, ..data(seq, seq) };
        assert_eq!((answered(&mut b, reset).is_some(), b.state()), (challenged, state), "{seq}");
    }
    // A delayed ACK leaves RCV.NXT above what was acknowledged last.
    let config = Config { delayed_ack: Some(ms(200)), ..plain() };
    let mut b = Connection::established(config, Reno::new(2), ports(End::B));
    assert_eq!(answered(&mut b, data(1, 1001)), None);
    assert_eq!(answered(&mut b, Segment { flags: Flags::RST, ..data(1, 1) }), None);
    assert_eq!(b.state(), State::Established);
}

/// RFC 5961 section 5.2: acceptable are (SND.UNA - MAX.SND.WND) =< SEG.ACK =< SND.NXT; all else is discarded and answered. SND.UNA is
/// 10,001, and the largest window that the peer has offered is 4000.
#[test]
fn data_with_an_ancient_ack_is_discarded() {
    let acks = [(10_001, true), (6_001, true), (6_000, false), (10_001u32.wrapping_sub(1 << 31), false)];
    for (ack, taken) in acks.into_iter().chain([(10_002, false), (0xFFFF_0000, false)]) {
        let config = Config { receive_buffer: Some(4_000), ..plain() };
        let mut a = Connection::established(config, Reno::new(20), ports(End::A));
        a.write(10_000);
        for acked in (1_001..=10_001).step_by(1_000) {
            while a.poll_transmit(at_ms(1)).is_some() {}
            a.handle_segment(
                at_ms(1),
                &Segment { ack: SeqNumber(acked), window: 4_000, ..data(1, 1) },
                Ecn::NotEct,
            );
        }
        assert_eq!(a.acked_bytes(), 10_000);
        let answer = answered(&mut a, Segment { ack: SeqNumber(ack), window: 4_000, ..data(1, 101) });
        let (expected, received) = if taken { (101, 100) } else { (1, 0) };
        assert_eq!((answer, a.received_bytes()), (Some(expected), received), "{ack}");
    }
}

/// RFC 5961 section 7. Each end expects another number than the other sends, so each ACK is answered by an ACK: that ends, though
/// the path copies what it carries.
#[test]
fn ends_whose_streams_do_not_match_do_not_answer_each_other_for_ever() {
    let mut ends = [End::A, End::B].map(|end| {
        let mut end = Connection::established(plain(), Reno::new(2), ports(end));
        for start in (1..100_000).step_by(1_000) {
            end.handle_segment(at_ms(1), &data(start, start + 1_000), Ecn::NotEct);
        }
        while end.poll_transmit(at_ms(1)).is_some() {}
        end
    });
    let mut flying = vec![(0, data(1, 1))];
    for round in 0..1_000 {
        let now = at_ms(2 + round);
        assert!(flying.len() < 100, "a storm");
        for (to, segment) in std::mem::take(&mut flying) {
            ends[to].handle_segment(now, &segment, Ecn::NotEct);
            while let Some(sent) = ends[to].poll_transmit(now) {
                flying.extend([(1 - to, sent.segment); 2]);
            }
        }
    }
    assert!(flying.is_empty());
    assert_eq!(ends.map(|end| end.stats().pure_acks_sent), [11, 11]);
}

/// An ACK from before the stream's first number is old as well, and within the window it is harmless.
#[test]
fn an_old_ack_from_before_the_stream_is_measured_like_any_other() {
    for (ack, received) in [(0xFFFF_FF00, 100), (0xFFFF_0000, 0)] {
        let config = Config { receive_buffer: Some(4_000), ..plain() };
        let mut b = Connection::established(config, Reno::new(2), ports(End::B));
        b.handle_segment(at_ms(1), &Segment { ack: SeqNumber(ack), ..data(1, 101) }, Ecn::NotEct);
        assert_eq!(b.received_bytes(), received, "{ack:x}");
    }
}

/// RFC 7323 section 5.3: R2, the window, comes before R3, TS.Recent. A needless retransmission, sent late, must not outdate what left
/// before it and is still on the way.
#[test]
fn a_duplicate_leaves_ts_recent_alone() {
    let mut b = receiver(true);
    assert_eq!(answered(&mut b, stamped(data(1, 1001), Some(50))), Some(1001));
    assert_eq!(answered(&mut b, stamped(data(1001, 2001), Some(11))), Some(2001));
    assert_eq!((b.received_bytes(), b.stats().paws_rejected), (2000, 0));
}

/// What lies beyond the window does not set TS.Recent either, nor does what lies above a gap (R3: SEG.SEQ <= Last.ACK.sent).
#[test]
fn only_the_left_edge_of_the_window_sets_ts_recent() {
    for ahead in [data(9_000, 9_500), data(3_001, 4_001)] {
        let mut b = receiver(true);
        answered(&mut b, stamped(ahead, Some(50)));
        b.handle_segment(at_ms(2), &stamped(data(1001, 1501), Some(11)), Ecn::NotEct);
        let ack = b.poll_transmit(at_ms(2)).unwrap().segment;
        assert_eq!((ack.ack, ack.options.timestamps.unwrap().echo), (SeqNumber(1501), 11));
    }
}

/// RFC 7323 section 5.2: "an <RST> segment MUST NOT be subjected to the PAWS check"; whatever its timestamp, or without one.
#[test]
fn a_reset_is_not_subject_to_paws() {
    for value in [None, Some(3), Some(50)] {
        let mut b = receiver(true);
        assert_eq!(answered(&mut b, stamped(Segment { flags: Flags::RST, ..data(1001, 1001) }, value)), None);
        assert_eq!(b.state(), State::Closed);
        // A challenged one changes nothing.
        let mut b = receiver(true);
        answered(&mut b, stamped(Segment { flags: Flags::RST, ..data(1002, 1002) }, value));
        assert_eq!(answered(&mut b, stamped(data(1001, 2001), Some(10))), Some(2001));
    }
}

/// RFC 7323 section 3.2: the option "SHOULD be sent in an <RST> segment"; TSecr counts with the ACK bit only and is zero without.
#[test]
fn a_reset_carries_timestamps() {
    let mut b = receiver(true);
    b.abort();
    let reset = b.poll_transmit(at_ms(77)).unwrap().segment;
    assert_eq!(reset.flags, Flags::RST | Flags::ACK);
    // The clock of the option starts at 1 and ticks each millisecond.
    assert_eq!(reset.options.timestamps, Some(Timestamps { value: 78, echo: 10 }));

    let mut b =
        Connection::listen(Config { timestamps: true, ..plain() }, Reno::new(2), SeqNumber(0), ports(End::B));
    b.handle_segment(
        at_ms(1),
        &stamped(Segment { flags: Flags::SYN, ..data(1000, 1000) }, Some(5)),
        Ecn::NotEct,
    );
    assert!(b.poll_transmit(at_ms(1)).is_some());
    let impossible = Segment { ack: SeqNumber(777), ..data(1001, 1001) };
    b.handle_segment(at_ms(2), &stamped(impossible, Some(6)), Ecn::NotEct);
    let reset = b.poll_transmit(at_ms(2)).unwrap().segment;
    assert_eq!((reset.flags, reset.seq), (Flags::RST, SeqNumber(777)));
    assert_eq!(reset.options.timestamps, Some(Timestamps { value: 3, echo: 0 }));

    let mut b = receiver(false);
    b.abort();
    assert_eq!(b.poll_transmit(at_ms(77)).unwrap().segment.options.timestamps, None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    /// Segments leave one a tick, with the tick as timestamp, and arrive after up to 50 ticks in any order; some are sent again
    /// needlessly, with the timestamp of that moment. Whatever the order, PAWS refuses no byte that is new.
    #[test]
    fn paws_refuses_nothing_new_of_a_path_that_reorders(
        delays in prop::collection::vec(0u32..50, 2..60),
        again in prop::collection::vec((any::<prop::sample::Index>(), 1u32..80, 0u32..50), 0..30),
        delayed_ack in any::<bool>(),
    ) {
        // (arrival, timestamp, segment)
        let mut arrivals: Vec<(u32, u32, u32)> =
            delays.iter().enumerate().map(|(n, delay)| (n as u32 + delay, n as u32, n as u32)).collect();
        for (which, after, delay) in again {
            let (arrived, _, segment) = arrivals[which.index(delays.len())];
            let sent = segment + after;
            arrivals.push((arrived.max(sent + delay) + 1, sent, segment));
        }
        arrivals.sort_by_key(|&(at, ..)| at);
        let config = Config { timestamps: true, delayed_ack: delayed_ack.then_some(ms(200)), ..plain() };
        let mut b = Connection::established(config, Reno::new(2), ports(End::B));
        let mut seen = std::collections::HashSet::new();
        for (at, value, segment) in arrivals {
            let start = 1 + 100 * segment;
            let now = at_ms(u64::from(at));
            b.handle_segment(now, &stamped(data(start, start + 100), Some(1 + value)), Ecn::NotEct);
            while b.poll_transmit(now).is_some() {}
            seen.insert(segment);
            prop_assert_eq!(b.received_bytes() + b.out_of_order_bytes(), 100 * seen.len() as u64);
        }
    }
}
