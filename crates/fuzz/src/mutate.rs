//! Changes inputs at random, reproducibly: bits, bytes, interesting numbers, cuts, insertions, repetitions, and pieces of others.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Bytes that parsers treat apart.
const INTERESTING: [u8; 10] = [0, 1, 0x7f, 0x80, 0xff, 0x40, 0x45, 0x60, b'"', b'\n'];
/// The longest input in bytes.
const LONGEST: usize = 4096;

/// A source of changed inputs.
pub struct Mutator(ChaCha8Rng);

impl Mutator {
    /// The same seed gives the same inputs.
    pub fn new(seed: u64) -> Self {
        Mutator(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end.max(1) as u64) as usize
    }

    /// An input made from one of the corpus by 1 to 8 changes.
    pub fn input(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = corpus.get(self.below(corpus.len())).cloned().unwrap_or_default();
        for _ in 0..=self.below(8) {
            self.change(&mut input, corpus);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len());
        let len = 1 + self.below(16);
        let end = (at + len).min(input.len());
        match self.below(9) {
            0 if !input.is_empty() => input[at] ^= 1 << self.below(8),
            1 if !input.is_empty() => input[at] = INTERESTING[self.below(INTERESTING.len())],
            2 if !input.is_empty() => input[at] = self.0.next_u32() as u8,
            3 if !input.is_empty() => input[at] = input[at].wrapping_add(self.below(9) as u8).wrapping_sub(4),
            4 => input.truncate(at),
            5 => drop(input.drain(at..end)),
            6 => {
                let copy = input[at..end].to_vec();
                input.splice(at..at, copy);
            }
            7 => {
                let other = corpus.get(self.below(corpus.len())).map_or(&[][..], Vec::as_slice);
                let from = self.below(other.len());
                input.splice(at..end, other[from..(from + 4 * len).min(other.len())].to_vec());
            }
            _ => {
                let bytes: Vec<u8> = (0..len).map(|_| self.0.next_u32() as u8).collect();
                input.splice(at..at, bytes);
            }
        }
    }
}
