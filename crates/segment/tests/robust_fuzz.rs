//! Robust header compression over a line that does anything to frames, the same on every run: what comes out has the right
//! checksums, and is a packet that was sent, but for as many as the checks are too short for.

use crate::random::Random;
use longhaul_segment::rohc::{Compressor, Decompressor, Settings};
use longhaul_segment::{Flags, SackBlocks, Segment, SeqNumber, Timestamps, ip, wire};
use std::collections::VecDeque;

const PACKETS: u64 = 300_000;

/// A few connections that go on, mostly with ACKs.
struct Traffic {
    segments: Vec<Segment>,
    ids: Vec<u16>,
}

impl Traffic {
    fn new() -> Self {
        let segment = |port| Segment {
            src_port: port,
            dst_port: 80,
            window: 500,
            flags: Flags::ACK,
            ..Segment::default()
        };
        Traffic { segments: (1000..1003).map(segment).collect(), ids: vec![0; 3] }
    }
    fn next(&mut self, random: &mut Random) -> Vec<u8> {
        let which = random.below(3);
        let segment = &mut self.segments[which];
        segment.seq = segment.seq + segment.payload_len;
        segment.payload_len = 0;
        segment.options.sack = SackBlocks::default();
        match random.below(20) {
            0 => segment.payload_len = random.below(200) as u32,
            1 => segment.window = random.next() as u16,
            2 => {
                let start = segment.ack + 1460 * (1 + random.below(50) as u32);
                segment.options.sack.push(start, start + 2920);
            }
            3 => segment.ack = SeqNumber(random.next() as u32),
            4 => {
                segment.options.timestamps =
                    segment.options.timestamps.is_none().then_some(Timestamps::default())
            }
            5 | 6 => {}
            _ => segment.ack = segment.ack + 2920,
        }
        if let Some(stamps) = &mut segment.options.timestamps {
            stamps.value = stamps.value.wrapping_add(random.below(100) as u32);
            stamps.echo = stamps.value / 3;
        }
        self.ids[which] = self.ids[which].wrapping_add(1);
        let address = |last| [10, 0, 0, last].into();
        let header = ip::Header { id: self.ids[which], ..ip::Header::new(address(1), address(2)) };
        let payload: Vec<u8> = (0..segment.payload_len).map(|_| random.next() as u8).collect();
        let mut bytes = vec![];
        wire::encode(&header, segment, &payload, &mut bytes).expect("a packet");
        bytes
    }
}

/// What came out: of how many frames, unreadable ones, packets that were never sent, and of these those that differ in more than
/// the IP identification, which no TCP checksum covers.
#[derive(Default, Debug)]
struct Tally {
    frames: u64,
    tossed: u64,
    strange: u64,
    wrong: u64,
}

/// The IP header's identification and checksum taken out.
fn without_id(packet: &[u8]) -> Vec<u8> {
    let masked = |(at, byte): (usize, &u8)| if matches!(at, 4 | 5 | 10 | 11) { 0 } else { *byte };
    packet.iter().enumerate().map(masked).collect()
}

fn run(seed: u64, flips: bool) -> Tally {
    let mut random = Random(seed);
    let settings = Settings { contexts: 2, window: 6, repeat: 2, refresh: Some(500) };
    let (mut compressor, mut decompressor) = (Compressor::new(settings), Decompressor::new(2));
    let mut traffic = Traffic::new();
    let mut sent: VecDeque<Vec<u8>> = VecDeque::new();
    let mut line: VecDeque<Vec<u8>> = VecDeque::new();
    let mut tally = Tally::default();
    let mut losing = 0;
    for _ in 0..PACKETS {
        let packet = traffic.next(&mut random);
        let mut frame = vec![];
        compressor.compress(&packet, &mut frame);
        sent.push_back(packet);
        if sent.len() > 100 {
            sent.pop_front();
        }
        // Losses of one, or of many in a row; frames that are overtaken; second copies; flipped bits.
        losing = match random.below(100) {
            _ if losing > 0 => losing - 1,
            0 => 30,
            1..9 => 1,
            _ => 0,
        };
        if losing > 0 {
            continue;
        }
        if flips && random.below(20) == 0 {
            for _ in 0..=random.below(4) {
                let at = random.below(frame.len());
                frame[at] ^= 1 << random.below(8);
            }
        }
        if random.below(50) == 0 {
            line.push_back(frame.clone());
        }
        line.push_back(frame);
        if random.below(30) == 0 && line.len() > 1 {
            line.swap(0, 1);
        }
        while line.len() > 2 {
            let frame = line.pop_front().expect("there are three");
            let mut out = vec![];
            tally.frames += 1;
            let passed_unseen = frame.first() == Some(&0xfc) || frame.get(1) == Some(&0xfc);
            if decompressor.decompress(&frame, &mut out).is_err() {
                tally.tossed += 1;
                assert!(out.is_empty());
            } else if !passed_unseen {
                assert!(wire::decode(&out).is_ok(), "{out:x?}");
                if !sent.contains(&out) {
                    tally.strange += 1;
                    let bare = without_id(&out);
                    tally.wrong += u64::from(!sent.iter().any(|packet| without_id(packet) == bare));
                }
            }
            decompressor.poll_feedback().into_iter().for_each(|ask| compressor.handle_feedback(ask));
        }
    }
    tally
}

/// Frames that are lost, overtaken and doubled: nothing wrong comes out but for the IP identification, which CRC-3 guards alone.
#[test]
fn losses_deliver_nothing_wrong() {
    let tally = run(1, false);
    assert!(tally.tossed > tally.frames / 1000, "nothing was ever out of step: {tally:?}");
    assert!(tally.tossed < tally.frames / 4, "it does not find its way again: {tally:?}");
    assert_eq!(tally.wrong, 0, "{tally:?}");
    assert!(tally.strange < tally.tossed / 8, "{tally:?}");
}

/// With up to four flipped bits in one of 20 frames: two of them may cancel out in the TCP checksum and the CRC.
#[test]
fn damage_is_tossed() {
    let tally = run(2, true);
    assert!(tally.tossed > tally.frames / 40, "{tally:?}");
    assert!(tally.tossed < tally.frames / 3, "{tally:?}");
    assert!(tally.wrong < tally.frames / 20 / 200, "{tally:?}");
}
