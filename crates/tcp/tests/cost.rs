//! What a segment costs. Run by hand, in release:
//! `cargo test --release --workspace --test tcp cost:: -- --ignored --nocapture --test-threads=1`

use crate::common::*;
use longhaul_cc::CongestionControl;
use longhaul_segment::{Ecn, Flags, SackBlocks, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection};
use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;

/// Two ends with a FIFO of `window` packets between them; nanoseconds per segment handled and sent.
fn bulk(window: u64, cc: Box<dyn CongestionControl>, config: Config) -> f64 {
    let mut a = Connection::established(config.clone(), cc, ports(End::A));
    let mut b = Connection::established(config, Box::new(Fixed(1000)), ports(End::B));
    a.write_unlimited();
    let mut now = at_ms(1);
    let mut data: VecDeque<Segment> = VecDeque::new();
    let mut segments = 0u64;
    let total = 4_000_000;
    let mut started = std::time::Instant::now();
    while segments < total + 10 * window {
        if segments < 10 * window {
            started = std::time::Instant::now();
        }
        while let Some(transmit) = a.poll_transmit(now) {
            data.push_back(transmit.segment);
        }
        let segment = data.pop_front().unwrap();
        now += Duration::from_nanos(800);
        b.handle_segment(now, &segment, Ecn::NotEct);
        segments += 1;
        while let Some(ack) = b.poll_transmit(now) {
            a.handle_segment(now, &ack.segment, ack.ecn);
            segments += 1;
        }
        std::hint::black_box((a.poll_timeout(), b.poll_timeout(), a.poll_event()));
    }
    started.elapsed().as_nanos() as f64 / total as f64
}

#[test]
#[ignore = "a measurement: cargo test --workspace --test tcp cost:: -- --ignored"]
fn without_loss() {
    for (window, name) in [(80, "80"), (8_000, "8,000"), (100_000, "100,000")] {
        for (ack_every, delayed_ack) in [(1, None), (2, Some(ms(100)))] {
            let config = Config { ack_every, delayed_ack, ..plain() };
            let ns = bulk(window, Box::new(Fixed(window * u64::from(MSS))), config.clone());
            let reno = bulk(
                window,
                Reno::avoiding(window),
                Config { receive_buffer: Some(window * 1000), ..config },
            );
            println!(
                "window {name:>8}, ACK every {ack_every}: {ns:6.1} ns a segment; finite buffer {reno:6.1} ns"
            );
        }
    }
}

/// The receiver's end and the sender's, each by itself: every second packet of a window is lost.
#[test]
#[ignore = "a measurement: cargo test --workspace --test tcp cost:: -- --ignored"]
fn with_every_second_packet_lost() {
    for window in [80u64, 8_000, 100_000] {
        let rounds = 2_000_000 / window;
        let (mut sacks, mut sack_time) = (0u64, 0u128);
        let (mut repairs, mut repair_time) = (0u64, 0u128);
        let (mut stored, mut store_time) = (0u64, 0u128);
        let (mut filled, mut fill_time) = (0u64, 0u128);
        for _ in 0..rounds.clamp(1, 200) {
            let mut a =
                Connection::established(plain(), Box::new(Fixed(window * u64::from(MSS))), ports(End::A));
            let mut b = Connection::established(plain(), Box::new(Fixed(1000)), ports(End::B));
            a.write(window * u64::from(MSS));
            let now = at_ms(1);
            let mut sent: Vec<Segment> = vec![];
            while let Some(transmit) = a.poll_transmit(now) {
                sent.push(transmit.segment);
            }
            let mut acks: Vec<Segment> = Vec::with_capacity(sent.len());
            let started = std::time::Instant::now();
            for segment in sent.iter().skip(1).step_by(2) {
                b.handle_segment(now, segment, Ecn::NotEct);
                acks.extend(b.poll_transmit(now).map(|transmit| transmit.segment));
            }
            store_time += started.elapsed().as_nanos();
            stored += acks.len() as u64;

            let mut repaired: Vec<Segment> = Vec::with_capacity(sent.len());
            let later = at_ms(100);
            let started = std::time::Instant::now();
            for ack in &acks {
                a.handle_segment(later, ack, Ecn::NotEct);
                while let Some(transmit) = a.poll_transmit(later) {
                    repaired.push(transmit.segment);
                }
            }
            sack_time += started.elapsed().as_nanos();
            sacks += acks.len() as u64;
            acks.clear();

            let started = std::time::Instant::now();
            for segment in &repaired {
                b.handle_segment(later, segment, Ecn::NotEct);
                acks.extend(b.poll_transmit(later).map(|transmit| transmit.segment));
            }
            fill_time += started.elapsed().as_nanos();
            filled += repaired.len() as u64;

            let started = std::time::Instant::now();
            for ack in &acks {
                a.handle_segment(at_ms(200), ack, Ecn::NotEct);
                while a.poll_transmit(at_ms(200)).is_some() {}
            }
            repair_time += started.elapsed().as_nanos();
            repairs += acks.len() as u64;
        }
        println!(
            "window {window:>7}, {} holes: sender {:.0} ns a SACK with its retransmission, {:.0} ns a repair's ACK; \
             receiver {:.0} ns to store, {:.0} ns to fill a gap",
            window / 2,
            sack_time as f64 / sacks as f64,
            repair_time as f64 / repairs as f64,
            store_time as f64 / stored as f64,
            fill_time as f64 / filled as f64,
        );
    }
}

/// Blocks in random order: the scoreboard and the reassembly queue at their worst.
#[test]
#[ignore = "a measurement: cargo test --workspace --test tcp cost:: -- --ignored"]
fn with_blocks_in_random_order() {
    for window in [80u64, 8_000, 100_000] {
        let mut a = Connection::established(plain(), Box::new(Fixed(window * u64::from(MSS))), ports(End::A));
        a.write(window * u64::from(MSS));
        let now = at_ms(1);
        while a.poll_transmit(now).is_some() {}
        let mut order: Vec<u64> = (1..window).step_by(2).collect();
        let mut state = 1u64;
        for i in (1..order.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            order.swap(i, (state >> 33) as usize % (i + 1));
        }
        let started = std::time::Instant::now();
        for packet in &order {
            let mut sack = SackBlocks::default();
            let start = (1 + packet * u64::from(MSS)) as u32;
            sack.push(SeqNumber(start), SeqNumber(start + MSS));
            let mut ack = Segment {
                ack: SeqNumber(1),
                seq: SeqNumber(1),
                window: 65_535,
                flags: Flags::ACK,
                ..Segment::default()
            };
            ack.options.sack = sack;
            a.handle_segment(at_ms(2), &ack, Ecn::NotEct);
            while a.poll_transmit(at_ms(2)).is_some() {}
        }
        let ns = started.elapsed().as_nanos() as f64 / order.len() as f64;
        println!("window {window:>7}: {ns:.0} ns a SACK in random order");
        let _ = Instant::ZERO;
    }
}
