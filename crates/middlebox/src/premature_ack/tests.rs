//! The paper's worked examples, packet by packet. Packet k stands for the bytes 1000 k to 1000 k + 999.

use super::*;
use crate::KnownEnd;
use longhaul_segment::{Ecn, SackBlocks};
use longhaul_units::{ConnectionId, Duration};

const SIZE: u32 = 1000;

struct Bench {
    pep: PrematureAck<()>,
    now: Instant,
}

/// What the PEP did with a packet: whether it went on, the ACKs to the source (the last packet that each covers), and the
/// packets sent to the destination from here.
#[derive(PartialEq, Debug)]
struct Did {
    forwarded: bool,
    acks: Vec<u32>,
    resent: Vec<u32>,
}

fn did(forwarded: bool, acks: &[u32]) -> Did {
    Did { forwarded, acks: acks.to_vec(), resent: vec![] }
}

impl Bench {
    fn new(buffer: usize, watermark: usize) -> Self {
        Self::with(Settings {
            buffer,
            watermark: Watermark::Fixed(watermark),
            window: None,
            guard: Guard::Strict,
            recovery: LocalRecovery::default(),
        })
    }
    fn with(settings: Settings) -> Self {
        Self::beginning(10, settings)
    }
    fn beginning(first: u32, settings: Settings) -> Self {
        let end = KnownEnd { first: SeqNumber(first * SIZE), window: 20_000, shift: 0 };
        let other = KnownEnd { first: SeqNumber(1), ..end };
        Bench {
            pep: PrematureAck::new(settings, Established(vec![Some([end, other])].into())),
            now: Instant::ZERO,
        }
    }
    fn pass(&mut self, direction: Direction, mut segment: Segment) -> (Did, Segment) {
        self.now += Duration::from_millis(1);
        let passing = Passing {
            connection: ConnectionId(0),
            direction,
            ecn: &mut Ecn::NotEct,
            segment: &mut segment,
            body: &(),
        };
        let verdict = self.pep.handle_packet(self.now, 0, passing);
        (self.outcome(verdict == Verdict::Forward), segment)
    }
    fn outcome(&mut self, forwarded: bool) -> Did {
        let mut did = did(forwarded, &[]);
        let mut segment = Segment::default();
        while let Some(departure) = self.pep.transmit_into(self.now, &mut segment) {
            match departure.direction {
                Direction::Forward => did.resent.push(segment.seq.0 / SIZE),
                Direction::Reverse => did.acks.push(segment.ack.0 / SIZE - 1),
            }
        }
        did
    }
    /// Packet `number` comes from the source.
    fn data(&mut self, number: u32) -> Did {
        let segment = Segment {
            seq: SeqNumber(number * SIZE),
            ack: SeqNumber(1),
            payload_len: SIZE,
            flags: Flags::ACK,
            window: 20_000,
            ..Segment::default()
        };
        self.pass(Direction::Forward, segment).0
    }
    /// A real ACK for all up to packet `number`.
    fn ack(&mut self, number: u32) -> Did {
        self.ack_with(number, &[]).0
    }
    fn ack_with(&mut self, number: u32, sacked: &[(u32, u32)]) -> (Did, Segment) {
        let mut segment = Segment {
            seq: SeqNumber(1),
            ack: SeqNumber((number + 1) * SIZE),
            flags: Flags::ACK,
            window: 20_000,
            ..Segment::default()
        };
        let mut blocks = SackBlocks::default();
        for (first, last) in sacked {
            blocks.push(SeqNumber(first * SIZE), SeqNumber((last + 1) * SIZE));
        }
        segment.options.sack = blocks;
        self.pass(Direction::Reverse, segment)
    }
    fn buffer(&self) -> Vec<u32> {
        let half = &self.pep.connections.get(ConnectionId(0)).unwrap().halves[0];
        (0..).map_while(|index| half.cache.get(index)).map(|copy| copy.segment.seq.0 / SIZE).collect()
    }
    fn w(&self) -> usize {
        self.pep.connections.get(ConnectionId(0)).unwrap().halves[0].w()
    }
    fn counts(&self) -> &Counts {
        &self.pep.counts
    }
}

/// Figure 3: N = 12, W = 4; 15 and 22 found the buffer full.
fn figure_3() -> Bench {
    let mut bench = Bench::beginning(3, Bench::new(12, 4).pep.settings);
    (3..=15).for_each(|number| drop(bench.data(number)));
    bench.ack(8);
    (16..=22).for_each(|number| drop(bench.data(number)));
    bench.ack(9);
    bench.data(23);
    bench
}

#[test]
fn figure_3_the_watermark_is_cut_at_a_through_packet() {
    let mut bench = figure_3();
    assert_eq!(bench.buffer(), [10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 23]);
    assert_eq!(bench.counts().through_packets, 2);
    assert_eq!(bench.counts().premature_acks, 9, "3 to 6, 9 to 13");
    // "Real ACK for 10-12: the buffer is 13 14 16 17 ..., w = 2 (left of 14)." B-5 acknowledges 14; 13 has had its ACK.
    // B-4: it acknowledges nothing new to the source, and is not forwarded.
    assert_eq!(bench.ack(12), did(false, &[14]));
    assert_eq!(bench.buffer(), [13, 14, 16, 17, 18, 19, 20, 21, 23]);
    assert_eq!(bench.w(), 2);
    // "Then a real ACK for 13-16: buffer 17 18 19 20 21 23, n_min = 22 or more than the first four, so w = W = 4."
    // B-4: 15 was a through packet, 16 was stored: the ACK goes on. B-5: 17 to 20.
    assert_eq!(bench.ack(16), did(true, &[17, 18, 19, 20]));
    assert_eq!(bench.buffer(), [17, 18, 19, 20, 21, 23]);
    assert_eq!(bench.w(), 4);
}

#[test]
fn figure_8_the_source_starves_behind_a_through_packet() {
    // "Through packet 16, buffer starting at 10: the ACK of 10 lets 15 be p-acked; the ACK of 11 sends nothing, because w
    // is cut so that 16 is not covered: the source starves until 16's real ACK." N = 6, W = 5.
    let mut bench = Bench::new(6, 5);
    for number in 10..=14 {
        assert_eq!(bench.data(number), did(true, &[number]), "A-1");
    }
    assert_eq!(bench.data(15), did(true, &[]), "A-2");
    assert_eq!(bench.data(16), did(true, &[]), "A-3");
    assert_eq!(bench.counts().through_packets, 1);
    assert_eq!(bench.ack(10), did(false, &[15]));
    assert_eq!(bench.ack(11), did(false, &[]));
    assert_eq!(bench.w(), 4, "12 to 15");
    for number in 12..=15 {
        assert_eq!(bench.ack(number), did(false, &[]));
    }
    assert_eq!(bench.ack(16), did(true, &[]));
    assert_eq!(bench.w(), 5);
}

#[test]
fn without_a_watermark_it_is_no_pep() {
    let mut bench = Bench::new(4, 0);
    for number in 10..=17 {
        assert_eq!(bench.data(number), did(true, &[]));
    }
    for number in 10..=17 {
        assert_eq!(bench.ack(number), did(true, &[]));
    }
}

/// Step B-3 as printed leaves w = W when fewer than W copies are left, all below the through packet. Data that comes
/// then is acknowledged, and with it the through packet, of which there is no copy.
#[test]
fn as_printed_a_premature_ack_can_cover_a_through_packet() {
    let mut acks = vec![];
    for guard in [Guard::AsPrinted, Guard::Strict] {
        let mut bench = Bench::with(Settings { guard, ..Bench::new(2, 2).pep.settings });
        assert_eq!(bench.data(10), did(true, &[10]));
        assert_eq!(bench.data(11), did(true, &[11]));
        assert_eq!(bench.data(12), did(true, &[]), "a through packet");
        assert_eq!(bench.ack(10), did(false, &[]));
        acks.push(bench.data(13).acks);
    }
    assert_eq!(acks, [vec![13], vec![]], "an ACK for 13 covers 12");
}

#[test]
fn nothing_is_acknowledged_above_what_was_never_seen() {
    let mut bench = Bench::new(10, 10);
    assert_eq!(bench.data(10), did(true, &[10]));
    assert_eq!(bench.data(12), did(true, &[]), "11 was lost on S-Net");
    assert_eq!(bench.data(13), did(true, &[]));
    assert_eq!(bench.data(11), did(true, &[11, 12, 13]), "it comes again");
}

#[test]
fn a_packet_that_was_acknowledged_is_acknowledged_again_and_not_forwarded() {
    let mut bench = Bench::new(10, 2);
    assert_eq!(bench.data(10), did(true, &[10]));
    assert_eq!(bench.data(11), did(true, &[11]));
    assert_eq!(bench.data(12), did(true, &[]));
    assert_eq!(bench.data(10), did(false, &[11]), "the premature ACK was lost");
    assert_eq!(bench.data(12), did(true, &[]), "not acknowledged yet: it goes on once more");
    assert_eq!(bench.buffer(), [10, 11, 12]);
}

#[test]
fn three_duplicate_acks_are_answered_from_here() {
    let mut bench = Bench::new(10, 10);
    (10..=16).for_each(|number| drop(bench.data(number)));
    assert_eq!(bench.ack(10), did(false, &[]), "11 is lost on D-Net");
    assert_eq!(bench.ack(10), did(false, &[]));
    assert_eq!(bench.ack(10), did(false, &[]));
    assert_eq!(bench.ack(10), Did { resent: vec![11], ..did(false, &[]) }, "the third duplicate");
    assert_eq!(bench.ack(10), did(false, &[]), "once");
    // A partial ACK: 13 is missing too (RFC 6582).
    bench.now += Duration::from_millis(50);
    assert_eq!(bench.ack(12), Did { resent: vec![13], ..did(false, &[]) });
    assert_eq!(bench.ack(16), did(false, &[]));
    assert!(bench.buffer().is_empty());
}

#[test]
fn sack_shows_every_hole() {
    let mut bench = Bench::new(20, 4);
    (10..=20).for_each(|number| drop(bench.data(number)));
    // 11 and 13 are lost; 14 to 16 make three packets above both.
    bench.ack(10);
    let (outcome, _) = bench.ack_with(10, &[(14, 16), (12, 12)]);
    assert_eq!(outcome, Did { resent: vec![11, 13], ..did(false, &[]) });
    // An ACK that the source must receive reports no hole that is filled from here.
    let (outcome, segment) = bench.ack_with(17, &[(19, 20)]);
    assert!(outcome.forwarded, "15 to 17 were only stored");
    assert!(segment.options.sack.is_empty());
}

#[test]
fn a_timeout_sends_the_oldest_copy_again() {
    let mut bench = Bench::new(10, 10);
    bench.data(10);
    let due = bench.pep.poll_timeout().unwrap();
    assert_eq!(due, bench.now + Duration::from_secs(1), "RFC 6298 section 2.1: 1 s before the first sample");
    bench.now = due;
    bench.pep.handle_timeout(due);
    assert_eq!(bench.outcome(false), Did { resent: vec![10], ..did(false, &[]) });
    assert_eq!(bench.pep.poll_timeout(), Some(due + Duration::from_secs(2)), "backed off");
    assert_eq!(bench.ack(10), did(false, &[]));
    bench.now += Duration::from_secs(5);
    bench.pep.handle_timeout(bench.now);
    assert_eq!(bench.outcome(false), did(false, &[]), "all is acknowledged");
    assert_eq!(bench.pep.poll_timeout(), None);
}

#[test]
fn a_window_of_its_own_is_offered_where_it_is_larger() {
    let settings = Settings { window: Some(30_000), ..Bench::new(10, 10).pep.settings };
    let mut bench = Bench::with(settings);
    bench.data(10);
    let mut ack = Segment::default();
    bench.now += Duration::from_millis(1);
    let data =
        Segment { seq: SeqNumber(11 * SIZE), payload_len: SIZE, flags: Flags::ACK, ..Segment::default() };
    let passing = Passing {
        connection: ConnectionId(0),
        direction: Direction::Forward,
        ecn: &mut Ecn::NotEct,
        segment: &mut { data },
        body: &(),
    };
    assert_eq!(bench.pep.handle_packet(bench.now, 0, passing), Verdict::Forward);
    bench.pep.transmit_into(bench.now, &mut ack).unwrap();
    assert_eq!(ack.window, 30_000);
}

#[test]
fn a_window_that_opens_again_reaches_the_source() {
    let mut bench = Bench::new(10, 10);
    bench.data(10);
    bench.data(11);
    let ack = |window| Segment {
        seq: SeqNumber(1),
        ack: SeqNumber(11 * SIZE),
        flags: Flags::ACK,
        window,
        ..Segment::default()
    };
    assert!(!bench.pass(Direction::Reverse, ack(0)).0.forwarded, "the source knows that 10 was acknowledged");
    assert_eq!(bench.data(12).acks, [12]);
    let (outcome, segment) = bench.pass(Direction::Reverse, ack(5000));
    assert!(outcome.forwarded);
    assert_eq!((segment.ack.0 / SIZE, segment.window), (13, 5000), "with the ACK that the source has had");
}

#[test]
fn what_it_had_acknowledged_is_counted_when_it_fails() {
    let mut bench = Bench::new(10, 2);
    (10..=14).for_each(|number| drop(bench.data(number)));
    bench.ack(10);
    // 11 and 12 are acknowledged from here and not by the destination.
    assert_eq!(bench.pep.levels().undelivered.level(), 2000);
    assert_eq!(bench.pep.levels().packets.unwrap().level(), 4);
    bench.pep.fail(bench.now);
    assert_eq!(bench.counts().lost_acknowledged_bytes, 2000);
    assert_eq!(bench.pep.levels().undelivered.level(), 0);
    assert_eq!(bench.data(15), did(true, &[]), "a plain router from now on");
    assert_eq!(bench.ack(10), did(true, &[]));
}

/// The source was promised packets 10 to 12. Data for it that carries the destination's own, older ACK number would be discarded if
/// that were older by more than a window (RFC 5961 section 5.2).
#[test]
fn data_for_a_host_with_premature_acks_carries_no_older_ack_number() {
    let mut bench = Bench::new(10, 3);
    for number in 10..13 {
        bench.data(number);
    }
    assert_eq!(bench.counts().premature_acks, 3);
    let answer = |ack| Segment {
        seq: SeqNumber(1),
        ack: SeqNumber(ack),
        payload_len: 100,
        flags: Flags::ACK,
        window: 20_000,
        ..Segment::default()
    };
    let (_, passed) = bench.pass(Direction::Reverse, answer(10 * SIZE));
    assert_eq!(passed.ack, SeqNumber(13 * SIZE));
    // A newer one is the destination's own.
    let newer = Segment { seq: SeqNumber(101), ..answer(14 * SIZE) };
    let (_, passed) = bench.pass(Direction::Reverse, newer);
    assert_eq!(passed.ack, SeqNumber(14 * SIZE));
}
