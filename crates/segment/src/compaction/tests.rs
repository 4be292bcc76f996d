//! Layouts, what is kept of each kind of ACK, and what damaged packets cannot do.

use super::*;
use crate::{Ecn, Timestamps};
use proptest::prelude::*;

fn ack(id: u16, number: u32, window: u16) -> Ack {
    let header = ip::Header { id, ..ip::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into()) };
    let segment = Segment {
        src_port: 1025,
        dst_port: 80,
        seq: SeqNumber(77),
        ack: SeqNumber(number),
        window,
        flags: Flags::ACK,
        ..Segment::default()
    };
    (header, segment)
}
fn with_sack(mut ack: Ack, blocks: &[(u32, u32)]) -> Ack {
    for (start, end) in blocks {
        ack.1.options.sack.push(SeqNumber(*start), SeqNumber(*end));
    }
    ack
}
fn exact(acks: &[Ack]) -> (ExactBatch, Vec<u8>) {
    let mut batch = ExactBatch::begin(acks[0]).unwrap();
    assert!(acks[1..].iter().all(|ack| batch.push(ack)));
    let mut out = vec![];
    batch.encode(&mut out).unwrap();
    assert_eq!(out.len() as u32, batch.wire_len());
    (batch, out)
}
fn traditional(acks: &[Ack]) -> (TraditionalBatch, Vec<u8>) {
    let mut batch = TraditionalBatch::begin(acks[0]).unwrap();
    assert!(acks[1..].iter().all(|ack| batch.push(ack)));
    let mut out = vec![];
    batch.encode(&mut out).unwrap();
    assert_eq!(out.len() as u32, batch.wire_len());
    (batch, out)
}

/// Appendix A.2: records of 2 bytes, or 4 where the window changes: 40 + 2 (k - 1) bytes for k ACKs.
#[test]
fn records_have_two_or_four_bytes() {
    let acks = [ack(1, 1000, 500), ack(2, 3920, 500), ack(3, 3920, 500), ack(4, 6840, 498)];
    let (batch, bytes) = exact(&acks);
    assert_eq!(bytes[40..], [0x0b, 0x68, 0x00, 0x00, 0x8b, 0x68, 0xff, 0xfe]);
    assert_eq!((batch.acks(), bytes.len()), (4, 48));
    assert_eq!(ExactBatch::decode(&bytes).unwrap(), acks, "a duplicate ACK and a window update among them");
}

/// Appendix A.1: 3 bytes, how many were deleted, and the average data that each acknowledges.
#[test]
fn the_traditional_form_keeps_a_count_and_a_mean() {
    let acks = [ack(1, 1000, 500), ack(2, 2000, 400), ack(3, 5000, 300), ack(4, 7003, 200)];
    let (batch, bytes) = traditional(&acks);
    assert_eq!(bytes[40..], [3, 0x07, 0xd1], "6003 bytes in 3 steps");
    assert_eq!(batch.acks(), 4);
    let rebuilt = TraditionalBatch::decode(&bytes).unwrap();
    let numbers: Vec<u32> = rebuilt.iter().map(|(_, segment)| segment.ack.0).collect();
    assert_eq!(numbers, [1000, 3001, 5002, 7003]);
    assert!(rebuilt.iter().all(|(_, segment)| segment.window == 200));
    // Duplicates among others are lost; duplicates alone are not.
    let (_, bytes) = traditional(&[ack(1, 9, 5), ack(2, 9, 5), ack(3, 9, 5)]);
    assert_eq!(TraditionalBatch::decode(&bytes).unwrap(), [ack(1, 9, 5), ack(2, 9, 5), ack(3, 9, 5)]);
}

/// Section 5.3.4: "the compactor merges SACK blocks of deleted ACKs into the master".
#[test]
fn sack_blocks_are_merged() {
    let acks = [
        with_sack(ack(1, 1000, 5), &[(3000, 4000)]),
        with_sack(ack(2, 1000, 5), &[(3000, 5000), (8000, 9000)]),
        with_sack(ack(3, 2000, 5), &[(11_000, 12_000), (3000, 5000)]),
    ];
    let expected = [(11_000, 12_000), (3000, 5000), (8000, 9000)].map(|(s, e)| (SeqNumber(s), SeqNumber(e)));
    let (_, bytes) = exact(&acks);
    let rebuilt = ExactBatch::decode(&bytes).unwrap();
    assert_eq!(rebuilt.iter().map(|(_, segment)| segment.ack.0).collect::<Vec<_>>(), [1000, 1000, 2000]);
    for (_, segment) in &rebuilt {
        assert_eq!(segment.options.sack.as_slice(), expected);
    }
    let (_, bytes) = traditional(&acks);
    assert_eq!(TraditionalBatch::decode(&bytes).unwrap()[2].1.options.sack.as_slice(), expected);
    // What the cumulative ACK has passed is left out.
    let (_, bytes) = exact(&[with_sack(ack(1, 1000, 5), &[(3000, 4000)]), ack(2, 4000, 5)]);
    assert!(ExactBatch::decode(&bytes).unwrap().iter().all(|(_, segment)| segment.options.sack.is_empty()));
}

#[test]
fn what_is_no_pure_ack_stays_out() {
    let base = ack(1, 1000, 5);
    let changed = |change: fn(&mut Ack)| {
        let mut ack = ack(2, 2000, 5);
        change(&mut ack);
        ack
    };
    let others = [
        changed(|ack| ack.1.payload_len = 1),
        changed(|ack| ack.1.flags = Flags::ACK | Flags::FIN),
        changed(|ack| ack.1.flags = Flags::ACK | Flags::ECE),
        changed(|ack| ack.1.options.timestamps = Some(Timestamps::default())),
        changed(|ack| ack.1.options.mss = Some(1460)),
    ];
    for other in others {
        assert!(ExactBatch::begin(other).is_none() && TraditionalBatch::begin(other).is_none());
        assert!(!ExactBatch::begin(base).unwrap().push(&other));
        assert!(!TraditionalBatch::begin(base).unwrap().push(&other));
    }
    for stranger in [
        changed(|ack| ack.1.dst_port = 81),
        changed(|ack| ack.1.seq = SeqNumber(78)),
        changed(|ack| ack.0.ecn = Ecn::Ect0),
        changed(|ack| ack.1.ack = SeqNumber(999)),
    ] {
        assert!(!ExactBatch::begin(base).unwrap().push(&stranger));
        assert!(!TraditionalBatch::begin(base).unwrap().push(&stranger));
    }
    assert!(!ExactBatch::begin(base).unwrap().push(&ack(2, 1000 + 32_768, 5)));
    assert!(!TraditionalBatch::begin(base).unwrap().push(&ack(2, 1000 + 65_536, 5)));
}

#[test]
fn a_count_over_255_does_not_fit() {
    let mut batch = TraditionalBatch::begin(ack(0, 0, 5)).unwrap();
    let pushed = (1..400).take_while(|n| batch.push(&ack(*n, u32::from(*n), 5))).count();
    assert_eq!((pushed, batch.acks()), (255, 256));
}

/// Damage is found, whatever it is: the packet's checksums cover the records.
#[test]
fn every_flipped_bit_is_found() {
    let acks = [ack(1, 1000, 500), ack(2, 3920, 400), ack(3, 6840, 400)];
    for bytes in [exact(&acks).1, traditional(&acks).1] {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(ExactBatch::decode(&damaged).is_err() && TraditionalBatch::decode(&damaged).is_err());
        }
    }
}

proptest! {
    /// What goes in comes out, ACK by ACK, unless there are SACK blocks; then at least all numbers and windows.
    #[test]
    fn exact_round_trip(
        steps in proptest::collection::vec((0u32..33_000, any::<u16>(), any::<bool>()), 1..60),
        start: u32,
    ) {
        let mut number = start;
        let mut acks = vec![];
        for (id, (step, window, same)) in steps.into_iter().enumerate() {
            number = number.wrapping_add(step);
            acks.push(ack(id as u16, number, if same { 512 } else { window }));
        }
        // In as many batches as it takes.
        let mut rebuilt = vec![];
        let mut rest = &acks[..];
        while let Some((first, others)) = rest.split_first() {
            let mut batch = ExactBatch::begin(*first).unwrap();
            let taken = others.iter().take_while(|ack| batch.push(ack)).count();
            let mut bytes = vec![];
            batch.encode(&mut bytes).unwrap();
            prop_assert!(batch.wire_len() <= 40 + 4 * taken as u32);
            rebuilt.extend(ExactBatch::decode(&bytes).unwrap());
            rest = &others[taken..];
        }
        prop_assert_eq!(rebuilt, acks);
    }

    /// Numbers never go back and never beyond what was really acknowledged, and the last is right.
    #[test]
    fn traditional_series_are_safe(steps in proptest::collection::vec(0u32..40_000, 1..60), start: u32) {
        let mut number = start;
        let mut acks = vec![];
        for (id, step) in steps.into_iter().enumerate() {
            number = number.wrapping_add(step);
            acks.push(ack(id as u16, number, 9));
        }
        let mut batch = TraditionalBatch::begin(acks[0]).unwrap();
        let taken = acks[1..].iter().take_while(|ack| batch.push(ack)).count();
        let mut bytes = vec![];
        batch.encode(&mut bytes).unwrap();
        let rebuilt = TraditionalBatch::decode(&bytes).unwrap();
        prop_assert_eq!(rebuilt.len(), taken + 1);
        prop_assert_eq!(rebuilt[taken], acks[taken]);
        for pair in rebuilt.windows(2) {
            prop_assert!(pair[0].1.ack.at_or_before(pair[1].1.ack));
        }
    }

    /// Anything at all: no panic; what is accepted is pure ACKs of one connection, in order.
    #[test]
    fn hostile_packets(
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        records in proptest::collection::vec(any::<u8>(), 0..40),
        cut in 0usize..90,
    ) {
        let mut forged = vec![];
        close(&ack(5, 1000, 9), &records, &mut forged).unwrap();
        for packet in [&bytes[..], &forged[..], &forged[..cut.min(forged.len())]] {
            for decoded in [ExactBatch::decode(packet), TraditionalBatch::decode(packet)].into_iter().flatten() {
                prop_assert!(!decoded.is_empty() && decoded.len() <= 256);
                prop_assert!(decoded.iter().all(|ack| is_compactable(&ack.0, &ack.1) && go_together(ack, &decoded[0])));
            }
        }
    }
}
