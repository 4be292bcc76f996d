//! RFC 1144's byte layouts, what a lost frame does and what puts it right, and what hostile frames cannot do.

use super::*;
use crate::line::LineStats;
use crate::{
    Ecn, EcnCounters, EcnOrder, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps, ip, wire,
};
use proptest::prelude::*;

/// A packet of the connection with this client port.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub port: u16,
    pub id: u16,
    pub ecn: Ecn,
    pub segment: Segment,
    pub urgent_pointer: u16,
    pub data: Vec<u8>,
}

impl Sent {
    pub fn new(seq: u32, ack: u32, data: &[u8]) -> Sent {
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            window: 8192,
            flags: Flags::ACK,
            ..Segment::default()
        };
        Sent { port: 1025, id: 7, ecn: Ecn::NotEct, segment, urgent_pointer: 0, data: data.to_vec() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut header = ip::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        (header.id, header.ecn) = (self.id, self.ecn);
        let urgent = self.segment.flags.contains(Flags::URG);
        let segment = Segment {
            src_port: self.port,
            dst_port: 80,
            payload_len: self.data.len() as u32,
            flags: Flags(self.segment.flags.0 & !Flags::URG.0),
            ..self.segment
        };
        let mut bytes = vec![];
        wire::encode(&header, &segment, &self.data, &mut bytes).unwrap();
        // A segment has no urgent pointer: it is written here.
        let old = [u16::from_be_bytes([bytes[32], bytes[33]]), 0];
        if urgent {
            bytes[33] |= Flags::URG.0 as u8;
        }
        bytes[38..40].copy_from_slice(&self.urgent_pointer.to_be_bytes());
        let mut sum = u16::from_be_bytes([bytes[36], bytes[37]]);
        sum = crate::checksum::update(sum, old[0], u16::from_be_bytes([bytes[32], bytes[33]]));
        sum = crate::checksum::update(sum, old[1], self.urgent_pointer);
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

/// Compresses packets one after the other; the frames.
fn frames(packets: &[Sent]) -> Vec<(FrameType, Vec<u8>)> {
    let mut compressor = Compressor::new(DEFAULT_SLOTS);
    packets
        .iter()
        .map(|packet| {
            let mut out = vec![];
            (compressor.compress(&packet.bytes(), &mut out).frame_type, out)
        })
        .collect()
}

/// The second packet's frame, its TCP checksum taken out after comparing it with the packet's.
fn second_frame(first: &Sent, second: &Sent) -> (FrameType, Vec<u8>) {
    let mut frame = frames(&[first.clone(), second.clone()]).swap_remove(1);
    if frame.0 == FrameType::Compressed {
        let at = if frame.1[0] & 0x40 != 0 { 2 } else { 1 };
        let checksum: Vec<u8> = frame.1.drain(at..at + 2).collect();
        assert_eq!(checksum, &second.bytes()[36..38], "the TCP checksum crosses the line as it is");
    }
    frame
}

pub(crate) fn next(packet: &Sent, change: impl FnOnce(&mut Sent)) -> Sent {
    let mut next = Sent { id: packet.id.wrapping_add(1), ..packet.clone() };
    change(&mut next);
    next
}

/// RFC 1144 section 3.2.2: the first packet of a connection is whole, the slot's number in the protocol field.
#[test]
fn the_first_header_is_sent_in_full() {
    let packet = Sent::new(1, 1, b"abc");
    let (frame_type, frame) = frames(std::slice::from_ref(&packet)).remove(0);
    let mut expected = packet.bytes();
    expected[9] = 0;
    assert_eq!((frame_type, frame), (FrameType::Uncompressed, expected));
}

/// Section 3.2.3: data in one direction, the packet before full of data: mask 1111, no number at all, 3 bytes.
#[test]
fn unidirectional_data_takes_three_bytes() {
    let first = Sent::new(1000, 500, &[1; 100]);
    let second = next(&first, |packet| packet.segment.seq = SeqNumber(1100));
    let (frame_type, mut frame) = second_frame(&first, &second);
    assert_eq!(frame.split_off(1), second.data);
    assert_eq!((frame_type, frame), (FrameType::Compressed, vec![0x0f]));
}

/// The same with PSH, which has a bit of its own.
#[test]
fn psh_is_a_bit() {
    let first = Sent::new(1000, 500, &[1; 100]);
    let second = next(&first, |packet| {
        packet.segment.seq = SeqNumber(1100);
        packet.segment.flags = Flags::ACK | Flags::PSH;
    });
    assert_eq!(second_frame(&first, &second).1[0], 0x1f);
}

/// Section 3.2.3: echoed terminal traffic, both numbers grown by the data of the packet before: mask 1011.
#[test]
fn echoed_terminal_traffic_takes_three_bytes() {
    let first = Sent::new(1000, 500, b"x");
    let second =
        next(&first, |packet| (packet.segment.seq, packet.segment.ack) = (SeqNumber(1001), SeqNumber(501)));
    assert_eq!(second_frame(&first, &second).1, [0x0b, b'x']);
}

/// The ACK of two full segments: mask and a number of three bytes, 6 bytes with the checksum.
#[test]
fn an_ack_of_two_segments() {
    let first = Sent::new(1000, 500, b"");
    let second = next(&first, |packet| packet.segment.ack = SeqNumber(500 + 2920));
    assert_eq!(second_frame(&first, &second), (FrameType::Compressed, vec![0x04, 0x00, 0x0b, 0x68]));
}

/// Figure 3: the order of what follows the mask is urgent pointer, window, acknowledgment, sequence, identification.
#[test]
fn all_numbers_in_their_order() {
    let first = Sent::new(1000, 500, b"1234567");
    let second = Sent {
        id: 7 + 258,
        urgent_pointer: 3,
        segment: Segment {
            seq: SeqNumber(1007),
            ack: SeqNumber(505),
            window: 8190,
            flags: Flags::ACK | Flags::URG,
            ..first.segment
        },
        ..first.clone()
    };
    // Mask 0x2f would be special case D: these changes are sent in full.
    assert_eq!(second_frame(&first, &second).0, FrameType::Uncompressed);
    // Without the change of sequence number it is no special case.
    let second = Sent { segment: Segment { seq: SeqNumber(1000), ..second.segment }, ..second };
    let (frame_type, frame) = second_frame(&first, &second);
    assert_eq!(frame_type, FrameType::Compressed);
    let expected = [0x27, 3, 0x00, 0xff, 0xfe, 5, 0x00, 0x01, 0x02];
    assert_eq!((&frame[..9], &frame[9..]), (&expected[..], &b"1234567"[..]), "window -2 is 65534, id 258");
}

/// Section 3.2.2: the slot's number follows the mask where it is another than before.
#[test]
fn another_connection_takes_its_slot() {
    let a = Sent::new(1000, 500, b"");
    let b = Sent { port: 1026, ..Sent::new(1, 2, b"") };
    let more = |packet: &Sent| next(packet, |next| next.segment.ack = next.segment.ack + 10);
    let frames = frames(&[a.clone(), b.clone(), more(&a), more(&more(&a)), more(&b)]);
    assert_eq!([frames[0].1[9], frames[1].1[9]], [0, 1]);
    assert_eq!(frames[2].1[..2], [0x44, 0]);
    assert_eq!((frames[3].1[0], frames[3].1.len()), (0x04, 4));
    assert_eq!(frames[4].1[..2], [0x44, 1]);
}

/// Section 3.2.4: what is retransmitted, and what a difference cannot express, is sent in full.
#[test]
fn what_is_sent_in_full() {
    let ack = Sent::new(1000, 500, b"");
    let data = Sent::new(1000, 500, b"data");
    let grown = |packet: &Sent| next(packet, |next| next.segment.ack = next.segment.ack + 100);
    let sack = |packet: &Sent| {
        next(packet, |next| {
            let mut blocks = SackBlocks::default();
            blocks.push(SeqNumber(900), SeqNumber(1000));
            next.segment.options.sack = blocks;
        })
    };
    let stamped = |value| {
        let mut packet = ack.clone();
        let timestamps = Some(Timestamps { value, echo: 1 });
        packet.segment.options = Options { timestamps, ..Options::NONE };
        packet
    };
    let in_full: [(&str, Sent, Sent); 12] = [
        ("duplicate ACK", ack.clone(), next(&ack, |_| {})),
        ("retransmission of the same data", data.clone(), next(&data, |_| {})),
        ("a number that went back", data.clone(), next(&data, |p| p.segment.seq = SeqNumber(900))),
        ("a step over 65535", ack.clone(), next(&ack, |p| p.segment.ack = SeqNumber(66_036))),
        ("a SACK block appears", ack.clone(), sack(&grown(&ack))),
        ("the SACK blocks disappear", sack(&ack), grown(&grown(&ack))),
        ("another timestamp", stamped(5), grown(&stamped(6))),
        ("ECN-capable now", ack.clone(), Sent { ecn: Ecn::Ect0, ..grown(&ack) }),
        ("ECE", ack.clone(), next(&grown(&ack), |p| p.segment.flags = Flags::ACK | Flags::ECE)),
        ("AE", ack.clone(), next(&grown(&ack), |p| p.segment.flags = Flags::ACK | Flags::AE)),
        (
            "other counters of AccECN",
            ack.clone(),
            next(&grown(&ack), |p| {
                p.segment.options.ecn_counters = Some(EcnCounters::new(EcnOrder::Ect1First, &[1, 0, 1]));
            }),
        ),
        ("an urgent pointer without URG", ack.clone(), Sent { urgent_pointer: 9, ..grown(&ack) }),
    ];
    for (what, first, second) in in_full {
        assert_eq!(second_frame(&first, &second).0, FrameType::Uncompressed, "{what}");
    }
    // The same timestamp again is no change.
    assert_eq!(second_frame(&stamped(5), &grown(&stamped(5))).0, FrameType::Compressed);
    // Data behind an ACK with the same numbers: "probably a data packet following an ack".
    assert_eq!(second_frame(&ack, &next(&ack, |p| p.data = b"x".to_vec())).1, [0x00, b'x']);
}

/// Section 3.2.4: SYN, FIN, RST, no ACK, fragments, and what is not TCP pass as they are.
#[test]
fn what_passes_unchanged() {
    let ack = Sent::new(1000, 500, b"");
    for flags in [Flags::SYN, Flags::ACK | Flags::SYN, Flags::ACK | Flags::FIN, Flags::RST, Flags::NONE] {
        let packet = next(&ack, |p| p.segment.flags = flags);
        assert_eq!(second_frame(&ack, &packet), (FrameType::Ip, packet.bytes()));
    }
    let mut compressor = Compressor::new(DEFAULT_SLOTS);
    let whole = ack.bytes();
    let changed = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        bytes
    };
    for bytes in
        [changed(6, 0x20), changed(9, 17), changed(0, 0x65), changed(8, 1), whole[..39].to_vec(), vec![]]
    {
        let mut out = vec![];
        assert_eq!(compressor.compress(&bytes, &mut out).frame_type, FrameType::Ip);
        assert_eq!(out, bytes);
    }
}

/// RFC 1144 appendix B.1 and RFC 1332 section 4: how a receiver recognises the type.
#[test]
fn types_on_slip_and_ppp() {
    for (frame_type, first, marked, protocol) in [
        (FrameType::Ip, 0x45, 0x45, 0x21),
        (FrameType::Uncompressed, 0x45, 0x75, 0x2f),
        (FrameType::Compressed, 0x0f, 0x8f, 0x2d),
    ] {
        let mut frame = [first, 9];
        frame_type.mark_slip(&mut frame);
        assert_eq!(frame, [marked, 9]);
        assert_eq!((FrameType::unmark_slip(&mut frame), frame), (Some(frame_type), [first, 9]));
        assert_eq!(frame_type.ppp_protocol(), protocol);
    }
    assert_eq!(FrameType::unmark_slip(&mut []), None);
    assert_eq!(FrameType::unmark_slip(&mut [0x15]), None);
}

/// The thesis, section 6.2.1: after one lost ACK all that follow vanish, until TCP sends something again and so makes
/// the compressor send a header in full.
#[test]
fn a_lost_frame_makes_all_that_follow_wrong_until_something_is_sent_again() {
    let ack = |n: u32| Sent { id: n as u16, ..Sent::new(1000, 500 + 2920 * n, b"") };
    let mut packets: Vec<Sent> = (0..10).map(ack).collect();
    packets.push(Sent { id: 10, ..ack(9) }); // a duplicate ACK
    packets.push(Sent { id: 11, ..ack(10) });
    let mut decompressor = Decompressor::new(DEFAULT_SLOTS);
    let mut fates = vec![];
    for (number, (frame_type, frame)) in frames(&packets).into_iter().enumerate() {
        if number != 3 {
            let mut out = vec![];
            let fate = decompressor.decompress(frame_type, &frame, &mut out);
            assert!(fate.is_err() || out == packets[number].bytes());
            fates.push(fate);
        }
    }
    let wrong = Err(Tossed::Checksum);
    let expected = [Ok(()), Ok(()), Ok(()), wrong, wrong, wrong, wrong, wrong, wrong, Ok(()), Ok(())];
    assert_eq!(fates, expected);
}

/// Section 3.2.2: after an error, frames without a slot's number are tossed, whatever their content; one with it ends that.
#[test]
fn after_a_line_error_implicit_slots_are_tossed() {
    let a = Sent::new(1000, 500, b"");
    let b = Sent { port: 1026, ..Sent::new(1, 2, b"") };
    let more = |packet: &Sent, times: u32| Sent {
        id: packet.id + times as u16,
        ..next(packet, |p| p.segment.ack = p.segment.ack + 10 * times)
    };
    let packets = [b.clone(), a.clone(), more(&a, 1), more(&a, 2), more(&b, 1), more(&b, 2)];
    let frames = frames(&packets);
    let mut decompressor = Decompressor::new(DEFAULT_SLOTS);
    let mut read = |number: usize| {
        let (frame_type, frame) = &frames[number];
        decompressor.decompress(*frame_type, frame, &mut vec![])
    };
    assert_eq!([read(0), read(1), read(2)], [Ok(()); 3]);
    decompressor.line_error();
    let mut read = |number: usize| {
        let (frame_type, frame) = &frames[number];
        decompressor.decompress(*frame_type, frame, &mut vec![])
    };
    assert_eq!([read(3), read(4), read(5)], [Err(Tossed::UnknownSlot), Ok(()), Ok(())]);
}

#[test]
fn empty_and_unknown_slots_are_tossed() {
    let mut decompressor = Decompressor::new(4);
    let mut read = |frame_type, frame: &[u8]| decompressor.decompress(frame_type, frame, &mut vec![]);
    assert_eq!(read(FrameType::Compressed, &[0x0f, 1, 2]), Err(Tossed::UnknownSlot));
    assert_eq!(read(FrameType::Compressed, &[0x4f, 2, 1, 2]), Err(Tossed::EmptySlot(2)));
    assert_eq!(read(FrameType::Compressed, &[0x4f, 200, 1, 2]), Err(Tossed::EmptySlot(200)));
    assert_eq!(read(FrameType::Compressed, &[0x4f]), Err(Tossed::Malformed));
    assert_eq!(read(FrameType::Compressed, &[]), Err(Tossed::Malformed));
    let mut frame = Sent::new(1, 1, b"").bytes();
    frame[9] = 4;
    assert_eq!(read(FrameType::Uncompressed, &frame), Err(Tossed::EmptySlot(4)));
    assert_eq!(read(FrameType::Uncompressed, &frame[..39]), Err(Tossed::Malformed));
}

/// The ACK of a simulated connection that advances by two segments: 6 bytes, or what formulas take.
#[test]
fn a_simulated_line_tells_lengths_and_losses() {
    let header = |id: u16| ip::Header { id, ..ip::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into()) };
    let ack = |n: u32| Segment { ack: SeqNumber(2920 * n), flags: Flags::ACK, ..Segment::default() };
    for (fixed, expected) in [(None, 6), (Some(7), 7)] {
        let mut line = Line::new(DEFAULT_SLOTS, fixed);
        assert_eq!(line.send(&header(0), &ack(0)), Ok(40));
        assert!(line.receive());
        assert_eq!(line.send(&header(1), &ack(1)), Ok(expected));
        assert!(line.receive());
        assert_eq!(line.send(&header(2), &ack(2)), Ok(expected), "this one is lost");
        assert_eq!(line.send(&header(3), &ack(3)), Ok(expected));
        assert!(!line.receive());
        assert_eq!(line.send(&header(4), &ack(3)), Ok(40), "a duplicate ACK");
        assert!(line.receive());
        let data = Segment { payload_len: 512, ..ack(3) };
        assert_eq!(line.send(&header(5), &data), Ok(512 + fixed.unwrap_or(3)));
        assert!(line.receive());
        let LineStats { compressed, uncompressed, tossed, .. } = line.stats();
        assert_eq!((compressed, uncompressed, tossed), (4, 2, 1));
    }
}

/// One of a few connections goes on by a step of some kind.
fn step() -> impl Strategy<Value = (usize, u8, u16, u32, u32, Vec<u8>)> {
    let small = prop_oneof![Just(0u32), 1u32..300, 60_000u32..70_000, any::<u32>()];
    let number = small.boxed();
    let data = proptest::collection::vec(any::<u8>(), 0..40);
    (0usize..4, 0u8..12, any::<u16>(), number.clone(), number, data)
}

/// Packets of up to four connections, most of them as a connection goes on.
fn traffic(steps: Vec<(usize, u8, u16, u32, u32, Vec<u8>)>) -> Vec<Sent> {
    let mut last: Vec<Sent> =
        (0..4).map(|n| Sent { port: 1025 + n, ..Sent::new(u32::from(n) * 7919, 500, b"") }).collect();
    let mut id = 0u16;
    steps
        .into_iter()
        .map(|(connection, kind, word, seq, ack, data)| {
            let packet = &mut last[connection];
            id = id.wrapping_add(if kind == 9 { word } else { 1 });
            packet.id = id;
            let grown = packet.data.len() as u32;
            packet.segment.flags = Flags::ACK;
            packet.segment.options.timestamps = None;
            match kind {
                0..3 => packet.segment.seq = packet.segment.seq + grown,
                3 => {
                    (packet.segment.seq, packet.segment.ack) =
                        (packet.segment.seq + grown, packet.segment.ack + grown)
                }
                4 => packet.segment.ack = packet.segment.ack + ack,
                5 => packet.segment.seq = packet.segment.seq + seq,
                6 => packet.segment.window = word,
                7 => {
                    packet.segment.flags = Flags::ACK | Flags::URG | Flags::PSH;
                    packet.urgent_pointer = word;
                    packet.segment.window = packet.segment.window.wrapping_add(word);
                }
                8 => packet.segment.options.timestamps = Some(Timestamps { value: seq, echo: ack }),
                10 => packet.segment.flags = Flags(word & 0x1ff),
                _ => {}
            }
            packet.data = data;
            packet.clone()
        })
        .collect()
}

proptest! {
    /// What comes out is what went in, byte by byte, whatever changes and however few slots there are.
    #[test]
    fn round_trip(steps in proptest::collection::vec(step(), 1..80), slots in 1u8..6) {
        let mut compressor = Compressor::new(slots);
        let mut decompressor = Decompressor::new(slots);
        for packet in traffic(steps) {
            let bytes = packet.bytes();
            let (mut frame, mut out) = (vec![], vec![]);
            let compressed = compressor.compress(&bytes, &mut frame);
            prop_assert!(frame.len() <= bytes.len());
            let saved = compressed.header_in - compressed.header_out;
            prop_assert_eq!(frame.len() + saved, bytes.len());
            compressed.frame_type.mark_slip(&mut frame);
            let frame_type = FrameType::unmark_slip(&mut frame);
            prop_assert_eq!(frame_type, Some(compressed.frame_type));
            prop_assert_eq!(decompressor.decompress(compressed.frame_type, &frame, &mut out), Ok(()));
            prop_assert_eq!(out, bytes);
        }
    }

    /// Frames that are lost, cut, flipped, repeated, reordered or forged: no panic, nothing but packets with right
    /// checksums, and a header in full puts things right.
    #[test]
    fn hostile_frames(
        steps in proptest::collection::vec(step(), 1..60),
        harm in proptest::collection::vec((0u8..10, any::<prop::sample::Index>(), any::<u8>()), 60),
        forged in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let packets = traffic(steps);
        let mut line = frames(&packets);
        for (number, (kind, index, byte)) in harm.into_iter().enumerate() {
            if number >= line.len() {
                break;
            }
            let other = index.index(line.len());
            match kind {
                0 => line[number].1.truncate(index.index(60)),
                1 if !line[number].1.is_empty() => {
                    let at = index.index(line[number].1.len());
                    line[number].1[at] ^= byte | 1;
                }
                2 => line[number] = line[other].clone(),
                3 => line.swap(number, other),
                4 => line[number] = (FrameType::Compressed, forged.clone()),
                5 => line[number] = (FrameType::Uncompressed, forged.clone()),
                6 => line[number].1.extend_from_slice(&forged),
                _ => {}
            }
        }
        let mut decompressor = Decompressor::new(DEFAULT_SLOTS);
        for (frame_type, frame) in line {
            let mut out = vec![];
            match decompressor.decompress(frame_type, &frame, &mut out) {
                Ok(()) if frame_type != FrameType::Ip => {
                    let header = crate::header::Header::of(&out).expect("a whole packet");
                    prop_assert!(header.ip_is_intact() && header.tcp_is_intact(&out[header.len()..]));
                }
                Ok(()) => prop_assert_eq!(&out, &frame),
                Err(_) => prop_assert!(out.is_empty()),
            }
            if frame.len() % 7 == 0 {
                decompressor.line_error();
            }
        }
        let mut compressor = Compressor::new(DEFAULT_SLOTS);
        for packet in [Sent::new(1, 1, b"a"), Sent::new(2, 1, b"b")] {
            let (mut frame, mut out) = (vec![], vec![]);
            let frame_type = compressor.compress(&packet.bytes(), &mut frame).frame_type;
            prop_assert_eq!(decompressor.decompress(frame_type, &frame, &mut out), Ok(()));
            prop_assert_eq!(out, packet.bytes());
        }
    }
}
