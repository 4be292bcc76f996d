//! Mutation fuzzing of the packet decoder, the same on every run: a fixed seed and a fixed number of rounds.
//! `LONGHAUL_FUZZ_SECONDS=600 cargo test -p longhaul-segment --test segment fuzz::` runs for that many seconds.

use crate::common::{ACK, DATA_V6, FIN, SYN, accepts, mend_checksums};
use crate::random::Random;
use std::time::{Duration, Instant};

/// About two seconds.
const ROUNDS: u64 = 2_000_000;
const MAX_LEN: usize = 256;
/// Most packets that were accepted and are mutated further.
const CORPUS: usize = 512;

/// Bytes at which decoders go wrong: limits, option kinds and option lengths.
const INTERESTING: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 8, 10, 18, 34, 40, 0x45, 0x60, 0x7f, 0xff];

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(7) {
        _ if bytes.is_empty() => bytes.extend_from_slice(other),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 | 3 => bytes[at] = INTERESTING[random.below(INTERESTING.len())],
        4 => bytes.truncate(at),
        5 => bytes.insert(at, random.next() as u8),
        _ => {
            let from = random.below(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
    bytes.truncate(MAX_LEN);
}

/// Sets the length field right, or most mutations of length would end there.
fn mend_length(bytes: &mut [u8]) {
    let len = bytes.len() as u16;
    match bytes.first().map(|first| first >> 4) {
        Some(4) if len >= 20 => bytes[2..4].copy_from_slice(&len.to_be_bytes()),
        Some(6) if len >= 40 => bytes[4..6].copy_from_slice(&(len - 40).to_be_bytes()),
        _ => {}
    }
}

/// Names the packet when a check on it fails.
struct Culprit<'a>(u64, &'a [u8]);

impl Drop for Culprit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("round {}: {:02x?}", self.0, self.1);
        }
    }
}

#[test]
fn no_packet_harms_the_decoder() {
    let seconds = std::env::var("LONGHAUL_FUZZ_SECONDS").ok();
    let seconds: Option<u64> =
        seconds.map(|text| text.parse().expect("LONGHAUL_FUZZ_SECONDS is a whole number"));
    let begin = Instant::now();
    let go_on = |round: u64| match seconds {
        None => round < ROUNDS,
        Some(seconds) => round % 1024 != 0 || begin.elapsed() < Duration::from_secs(seconds),
    };

    let seeds: [&[u8]; 4] = [&SYN, &ACK, &FIN, &DATA_V6];
    let mut corpus: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.to_vec()).collect();
    let mut random = Random(1);
    let mut accepted = 0u64;
    let mut round = 0;
    while go_on(round) {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        let other = random.below(corpus.len());
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, &corpus[other], &mut random);
        }
        if random.below(4) > 0 {
            mend_length(&mut bytes);
        }
        if random.below(8) > 0 {
            mend_checksums(&mut bytes);
        }
        let culprit = Culprit(round, &bytes);
        let is_packet = accepts(&bytes);
        drop(culprit);
        if is_packet {
            accepted += 1;
            if corpus.len() < CORPUS {
                corpus.push(bytes);
            } else if random.below(64) == 0 {
                let victim = seeds.len() + random.below(CORPUS - seeds.len());
                corpus[victim] = bytes;
            }
        }
        round += 1;
    }
    assert!(accepted > round / 20, "only {accepted} of {round} packets got past the first checks");
}
