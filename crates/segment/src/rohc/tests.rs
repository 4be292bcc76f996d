//! Lengths of the frames, what loss cannot harm and what puts the rest right, and what hostile frames cannot do.

use super::*;
use crate::header::Header;
use crate::vj::tests::{Sent, next};
use crate::{Ecn, EcnCounters, EcnOrder, Flags, Options, SackBlocks, SeqNumber, Timestamps};
use proptest::prelude::*;

/// The next packet of a connection whose host numbers its packets.
fn ack_after(packet: &Sent, segments: u32) -> Sent {
    next(packet, |next| next.segment.ack = next.segment.ack + 1460 * segments)
}
fn with_timestamps(packet: &Sent, value: u32) -> Sent {
    let mut packet = packet.clone();
    packet.segment.options.timestamps = Some(Timestamps { value, echo: value / 2 });
    packet
}
fn with_sack(packet: &Sent, blocks: &[(u32, u32)]) -> Sent {
    let mut packet = packet.clone();
    let mut sack = SackBlocks::default();
    blocks.iter().for_each(|(a, b)| assert!(sack.push(SeqNumber(*a), SeqNumber(*b))));
    packet.segment.options.sack = sack;
    packet
}

/// Packets of a connection after three to begin with, and one more to come: the form of the last and the length of its header.
fn last_form(packets: &[Sent]) -> (Form, usize) {
    let mut compressor = Compressor::new(Settings::default());
    let (mut last, mut decompressor) = (None, Decompressor::new(16));
    for packet in packets {
        let (mut frame, mut out) = (vec![], vec![]);
        let compressed = compressor.compress(&packet.bytes(), &mut frame);
        assert_eq!(frame.len() - compressed.header_out, packet.bytes().len() - compressed.header_in);
        assert_eq!((decompressor.decompress(&frame, &mut out), &out), (Ok(()), &packet.bytes()));
        last = Some((compressed.form, compressed.header_out));
    }
    last.expect("at least one packet")
}

/// So many packets as a line remembers, each made from the one before.
fn settled(first: Sent, step: impl Fn(&Sent) -> Sent) -> Vec<Sent> {
    std::iter::successors(Some(first), |packet| Some(step(packet))).take(12).collect()
}
fn then(mut packets: Vec<Sent>, last: impl Fn(&Sent) -> Sent) -> Vec<Sent> {
    packets.push(last(&packets[packets.len() - 1]));
    packets
}

#[test]
fn what_is_compressed_to_what() {
    let acks = || settled(Sent::new(1000, 500, b""), |packet| ack_after(packet, 2));
    let stamped = || {
        settled(with_timestamps(&Sent::new(1000, 500, b""), 7000), |packet| {
            let value = packet.segment.options.timestamps.unwrap().value;
            with_timestamps(&ack_after(packet, 2), value + 10)
        })
    };
    let data = settled(Sent::new(1000, 500, &[7; 100]), |p| next(p, |p| p.segment.seq = p.segment.seq + 100));
    let base = |packet: &Sent| packet.segment.ack.0;
    for (what, packets, length) in [
        ("an ACK: number and CRC, 16 bits of ACK, checksum", acks(), 5),
        ("a duplicate ACK", then(acks(), |p| next(p, |_| {})), 5),
        ("timestamps that grow by little", stamped(), 7),
        ("data in one direction", data, 6),
        ("a window update", then(acks(), |p| next(p, |p| p.segment.window += 100)), 9),
        (
            "an ACK with another window",
            then(acks(), |p| {
                next(p, |p| {
                    p.segment.ack = p.segment.ack + 2920;
                    p.segment.window -= 9;
                })
            }),
            9,
        ),
        (
            "a SACK block near by",
            then(acks(), |p| with_sack(&next(p, |_| {}), &[(base(p) + 1460, base(p) + 2920)])),
            12,
        ),
        ("the congestion echo", then(acks(), |p| next(p, |p| p.segment.flags |= Flags::ECE)), 8),
        (
            "another count of AccECN",
            then(acks(), |p| next(p, |p| p.segment.flags |= Flags::AE | Flags::CWR)),
            12,
        ),
        ("another ECN field", then(acks(), |p| Sent { ecn: Ecn::Ect0, ..next(p, |_| {}) }), 11),
    ] {
        assert_eq!(last_form(&packets), (Form::Compressed, length), "{what}");
    }
    // Timestamps that appear: the other end has none to refer to.
    assert_eq!(last_form(&then(acks(), |p| with_timestamps(&next(p, |_| {}), 5))).0, Form::Dynamic);
    for (what, last) in [
        (
            "counters of AccECN",
            Sent {
                segment: crate::Segment {
                    options: Options {
                        ecn_counters: Some(EcnCounters::new(EcnOrder::Ect1First, &[1, 0, 1])),
                        ..Options::NONE
                    },
                    ..acks()[0].segment
                },
                ..acks()[11].clone()
            },
        ),
        (
            "MSS",
            Sent {
                segment: crate::Segment {
                    options: Options { mss: Some(1460), ..Options::NONE },
                    ..acks()[0].segment
                },
                ..acks()[11].clone()
            },
        ),
        ("urgent data", Sent { urgent_pointer: 3, ..next(&acks()[11], |p| p.segment.flags |= Flags::URG) }),
    ] {
        assert_eq!(last_form(&then(acks(), |_| last.clone())).0, Form::Whole, "{what}");
    }
    assert_eq!(last_form(&acks()[..1]), (Form::Whole, 44));
}

/// A line that loses the frames that are chosen; requests come back at once where `feedback` is on. What became of each packet.
fn crossing(
    packets: &[Sent],
    settings: Settings,
    feedback: bool,
    lost: impl Fn(usize) -> bool,
) -> Vec<Option<bool>> {
    let mut compressor = Compressor::new(settings);
    let mut decompressor = Decompressor::new(settings.contexts);
    let mut fates = vec![];
    for (number, packet) in packets.iter().enumerate() {
        let (mut frame, mut out) = (vec![], vec![]);
        compressor.compress(&packet.bytes(), &mut frame);
        if lost(number) {
            fates.push(None);
            continue;
        }
        let read = decompressor.decompress(&frame, &mut out).is_ok();
        assert!(!read || out == packet.bytes(), "packet {number} comes out as another one");
        if let Some(request) = decompressor.poll_feedback().filter(|_| feedback) {
            compressor.handle_feedback(request);
        }
        fates.push(Some(read));
    }
    fates
}

fn acks(count: usize) -> Vec<Sent> {
    let first = Sent::new(1000, 500, b"");
    std::iter::successors(Some(first), |packet| Some(ack_after(packet, 2))).take(count).collect()
}

/// Where RFC 1144 loses all that follows (the thesis, section 6.2.1): seven frames in a row, every other frame.
#[test]
fn what_is_lost_harms_nothing_else() {
    for lost in [(|n| (20..27).contains(&n)) as fn(usize) -> bool, |n| n % 2 == 1, |n| n < 2, |n| n == 3] {
        let fates = crossing(&acks(100), Settings::default(), false, lost);
        assert!(fates.iter().flatten().all(|read| *read), "{fates:?}");
    }
}

/// More than the window: a request puts things right after one packet, a refresh within its period.
#[test]
fn long_losses_are_repaired() {
    let outage = |n: usize| (300..400).contains(&n);
    let settings = Settings { refresh: None, ..Settings::default() };
    let failed = |fates: &[Option<bool>]| fates.iter().flatten().filter(|read| !**read).count();
    assert_eq!(failed(&crossing(&acks(1000), settings, true, outage)), 1);
    let periodic = Settings { refresh: Some(64), ..settings };
    let fates = crossing(&acks(1000), periodic, false, outage);
    assert!((1..64).contains(&failed(&fates)), "{}", failed(&fates));
    assert_eq!(fates[470..].iter().flatten().filter(|read| !**read).count(), 0);
    // The whole beginning is lost: nothing but a whole header helps.
    assert_eq!(failed(&crossing(&acks(100), settings, true, |n| n < 5)), 1);
}

/// More connections than contexts: each change of owner is a whole header.
#[test]
fn contexts_are_taken_over() {
    let settings = Settings { contexts: 2, repeat: 1, ..Settings::default() };
    let mut compressor = Compressor::new(settings);
    let mut form_of = |port| {
        let mut frame = vec![];
        compressor.compress(&Sent { port, ..Sent::new(1, 1, b"") }.bytes(), &mut frame).form
    };
    assert_eq!([1, 2, 1, 3, 1, 2].map(&mut form_of), {
        use Form::*;
        [Whole, Whole, Compressed, Whole, Compressed, Whole]
    });
}

#[test]
fn what_is_no_tcp_passes_unchanged() {
    let packet = Sent::new(1, 1, b"xyz").bytes();
    let mut udp = packet.clone();
    udp[9] = 17;
    for bytes in [udp, packet[..30].to_vec(), vec![]] {
        let (mut frame, mut out) = (vec![], vec![]);
        assert_eq!(Compressor::new(Settings::default()).compress(&bytes, &mut frame).form, Form::Unchanged);
        assert_eq!(Decompressor::new(1).decompress(&frame, &mut out), Ok(()));
        assert_eq!(out, bytes);
    }
}

#[test]
fn nonsense_is_tossed() {
    let mut decompressor = Decompressor::new(4);
    for (frame, why) in [
        (&[][..], Tossed::Malformed),
        (&[0xe2], Tossed::Malformed),
        (&[0x08, 1, 2, 3, 4], Tossed::EmptyContext(0)),
        (&[0xe9, 0x08, 1, 2, 3, 4], Tossed::EmptyContext(9)),
        (&[0xfd, 0, 0], Tossed::Malformed),
        (&[0xf8, 0, 0, 1], Tossed::EmptyContext(0)),
    ] {
        assert_eq!(decompressor.decompress(frame, &mut vec![]), Err(why), "{frame:x?}");
    }
}

/// One of a few connections goes on by a step of some kind.
fn step() -> impl Strategy<Value = (usize, u8, u16, u32, Vec<u8>)> {
    let number = prop_oneof![Just(0u32), 1u32..3000, 60_000u32..70_000, any::<u32>()];
    (0usize..3, 0u8..16, any::<u16>(), number, prop::collection::vec(any::<u8>(), 0..40))
}

/// Packets of up to three connections, most of them as a connection goes on.
fn traffic(steps: Vec<(usize, u8, u16, u32, Vec<u8>)>) -> Vec<Sent> {
    let mut last: Vec<Sent> =
        (0..3).map(|n| Sent { port: 1025 + n, ..Sent::new(u32::from(n) * 7919, 500, b"") }).collect();
    let mut id = 0u16;
    let mut clock = 1000;
    let walk = |(connection, kind, word, number, data): (usize, u8, u16, u32, Vec<u8>)| {
        let packet = &mut last[connection];
        id = id.wrapping_add(if kind == 9 { word } else { 1 });
        clock += u32::from(word % 50);
        packet.id = id;
        let segment = &mut packet.segment;
        segment.seq = segment.seq + packet.data.len() as u32;
        segment.flags = Flags::ACK;
        segment.options.sack = SackBlocks::default();
        packet.urgent_pointer = 0;
        match kind {
            0..4 => segment.ack = segment.ack + 2920,
            4 => segment.ack = segment.ack + number,
            5 => segment.seq = segment.seq + number,
            6 => segment.window = word,
            7 => {
                segment.flags = Flags::ACK | Flags::URG;
                packet.urgent_pointer = word;
            }
            8 => {
                segment.options.timestamps =
                    segment.options.timestamps.is_none().then_some(Timestamps::default())
            }
            10 => segment.flags = Flags(word & 0xff),
            11..14 => (0..=word % 3).for_each(|n| {
                let start = segment.ack + 1460 * u32::from(2 * n + 1);
                segment.options.sack.push(start, start + number);
            }),
            14 => packet.ecn = Ecn::from_bits(word as u8),
            _ => {}
        }
        if let Some(stamps) = &mut segment.options.timestamps {
            *stamps = Timestamps { value: clock, echo: clock / 3 };
        }
        packet.data = data;
        packet.clone()
    };
    steps.into_iter().map(walk).collect()
}

fn settings() -> impl Strategy<Value = Settings> {
    (1u8..4, 1u32..15, 1u32..4, prop::option::of(1u32..50))
        .prop_map(|(contexts, window, repeat, refresh)| Settings { contexts, window, repeat, refresh })
}

proptest! {
    /// What comes out is what went in, byte by byte, whatever changes, however few contexts there are, and whatever is lost as long
    /// as it is less than the window in a row and not the beginning.
    #[test]
    fn round_trip(
        steps in prop::collection::vec(step(), 1..120), settings in settings(), losses in prop::collection::vec(any::<bool>(), 120),
    ) {
        let mut compressor = Compressor::new(settings);
        let mut decompressor = Decompressor::new(settings.contexts);
        let mut in_a_row = [0; 16];
        for (packet, lost) in traffic(steps).into_iter().zip(losses) {
            let bytes = packet.bytes();
            let (mut frame, mut out) = (vec![], vec![]);
            let compressed = compressor.compress(&bytes, &mut frame);
            prop_assert_eq!(frame.len() - compressed.header_out, bytes.len() - compressed.header_in);
            let context = if frame[0] > 0xe0 && frame[0] < 0xf0 { usize::from(frame[0] & 15) } else { 0 };
            let most = if compressed.form == Form::Compressed { settings.window - 1 } else { 0 };
            if lost && in_a_row[context] < most {
                in_a_row[context] += 1;
                continue;
            }
            in_a_row[context] = 0;
            prop_assert_eq!(decompressor.decompress(&frame, &mut out), Ok(()));
            prop_assert_eq!(out, bytes);
        }
    }

    /// Frames that are lost, cut, flipped, repeated, reordered or forged: no panic, nothing but packets with right checksums, and
    /// after requests have come back all is right again.
    #[test]
    fn hostile_frames(
        steps in prop::collection::vec(step(), 1..80),
        settings in settings(),
        harm in prop::collection::vec((0u8..12, any::<prop::sample::Index>(), any::<u8>()), 80),
        forged in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let packets = traffic(steps);
        let mut compressor = Compressor::new(settings);
        let mut line: Vec<Vec<u8>> = packets
            .iter()
            .map(|packet| {
                let mut frame = vec![];
                compressor.compress(&packet.bytes(), &mut frame);
                frame
            })
            .collect();
        for (number, (kind, index, byte)) in harm.into_iter().enumerate().take(line.len()) {
            let other = index.index(line.len());
            match kind {
                0 => line[number].truncate(index.index(60)),
                1 | 2 if !line[number].is_empty() => {
                    let at = index.index(line[number].len());
                    line[number][at] ^= byte | 1;
                }
                3 => line[number] = line[other].clone(),
                4 => line.swap(number, other),
                5 => line[number] = forged.clone(),
                6 => line[number].extend_from_slice(&forged),
                7 => line[number].clear(),
                _ => {}
            }
        }
        let mut decompressor = Decompressor::new(settings.contexts);
        for frame in line {
            let mut out = vec![];
            let behind = &frame[usize::from(frame.first().is_some_and(|first| (0xe1..0xf0).contains(first)))..];
            match decompressor.decompress(&frame, &mut out) {
                Ok(()) if behind[0] == 0xfc => prop_assert_eq!(&out, &behind[1..]),
                Ok(()) => {
                    let header = Header::of(&out).expect("a whole packet");
                    prop_assert!(header.ip_is_intact() && header.tcp_is_intact(&out[header.len()..]));
                }
                Err(_) => prop_assert!(out.is_empty()),
            }
        }
        // A few packets and requests later both ends agree.
        let mut fine = Err(Tossed::Malformed);
        for number in 0..40 {
            let packet = Sent { id: number, ..Sent::new(77, u32::from(number), b"a") };
            let (mut frame, mut out) = (vec![], vec![]);
            compressor.compress(&packet.bytes(), &mut frame);
            fine = decompressor.decompress(&frame, &mut out).map(|()| out == packet.bytes());
            decompressor.poll_feedback().into_iter().for_each(|request| compressor.handle_feedback(request));
        }
        prop_assert_eq!(fine, Ok(true));
    }
}
