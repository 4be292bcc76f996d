//! Puts pieces of a stream in order, whatever their order and overlaps. What is held is bounded by the flow's credit, which
//! its owner checks.

use crate::types::Piece;
use bytes::{Buf, Bytes};
use std::collections::{BTreeMap, VecDeque};

/// Pieces smaller than this are copied: else a few bytes keep the whole datagram in memory.
const LEAST_SHARED: usize = 512;

/// One direction of a flow as it is received.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// All below is in `ready` or was taken.
    next: u64,
    /// In order, not yet taken.
    ready: VecDeque<Bytes>,
    ready_bytes: u64,
    /// Pieces above `next`, without overlaps, by offset.
    above: BTreeMap<u64, Bytes>,
    above_bytes: u64,
    /// Highest offset seen.
    highest: u64,
}

impl Reassembly {
    /// Bytes in order so far, taken ones included.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Bytes in order and not yet taken.
    pub fn ready(&self) -> u64 {
        self.ready_bytes
    }

    /// Bytes in memory.
    pub fn held(&self) -> u64 {
        self.ready_bytes + self.above_bytes
    }

    /// End of the farthest piece.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Offset of what will be taken next.
    pub fn taken(&self) -> u64 {
        self.next - self.ready_bytes
    }

    /// Adds a piece; parts that are there already are dropped. Returns the bytes that were new.
    pub fn insert(&mut self, piece: Piece) -> u64 {
        let Piece { mut offset, mut bytes } = piece;
        self.highest = self.highest.max(offset + bytes.len() as u64);
        if offset < self.next {
            let known = (self.next - offset).min(bytes.len() as u64);
            bytes.advance(known as usize);
            offset += known;
        }
        if bytes.is_empty() {
            return 0;
        }
        if bytes.len() < LEAST_SHARED {
            bytes = Bytes::copy_from_slice(&bytes);
        }
        if offset == self.next && self.above.is_empty() {
            self.append(bytes)
        } else {
            let new = self.insert_above(offset, bytes);
            self.advance();
            new
        }
    }

    fn append(&mut self, bytes: Bytes) -> u64 {
        let length = bytes.len() as u64;
        self.next += length;
        self.ready_bytes += length;
        self.ready.push_back(bytes);
        length
    }

    fn insert_above(&mut self, mut offset: u64, mut bytes: Bytes) -> u64 {
        let mut new = 0;
        if let Some((begin, before)) = self.above.range(..=offset).next_back() {
            let end = begin + before.len() as u64;
            if end > offset {
                let known = (end - offset).min(bytes.len() as u64);
                bytes.advance(known as usize);
                offset += known;
            }
        }
        while !bytes.is_empty() {
            let end = offset + bytes.len() as u64;
            let Some((begin, length)) =
                self.above.range(offset..end).next().map(|(begin, next)| (*begin, next.len() as u64))
            else {
                new += bytes.len() as u64;
                self.above.insert(offset, bytes);
                break;
            };
            let gap = bytes.split_to((begin - offset) as usize);
            if !gap.is_empty() {
                new += gap.len() as u64;
                self.above.insert(offset, gap);
            }
            let known = length.min(bytes.len() as u64);
            bytes.advance(known as usize);
            offset = begin + known;
        }
        self.above_bytes += new;
        new
    }

    fn advance(&mut self) {
        while let Some(first) = self.above.first_entry().filter(|first| *first.key() == self.next) {
            let bytes = first.remove();
            self.above_bytes -= bytes.len() as u64;
            self.append(bytes);
        }
    }

    /// Takes at most `most` bytes in order, without copying.
    pub fn take(&mut self, most: usize) -> Option<Bytes> {
        let first = self.ready.front_mut()?;
        let taken = if first.len() <= most { self.ready.pop_front()? } else { first.split_to(most) };
        self.ready_bytes -= taken.len() as u64;
        (!taken.is_empty()).then_some(taken)
    }

    /// Takes bytes in order into `room`, as many as there are and fit; returns how many.
    pub fn take_into(&mut self, room: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < room.len() {
            let Some(bytes) = self.take(room.len() - filled) else { break };
            room[filled..filled + bytes.len()].copy_from_slice(&bytes);
            filled += bytes.len();
        }
        filled
    }

    /// Copies what will be taken next; returns how much.
    pub fn peek(&self, out: &mut [u8]) -> usize {
        let mut length = 0;
        for bytes in &self.ready {
            let more = bytes.len().min(out.len() - length);
            out[length..length + more].copy_from_slice(&bytes[..more]);
            length += more;
        }
        length
    }

    /// Takes and drops so many bytes.
    pub fn take_all(&mut self, mut length: usize) {
        while let Some(taken) = self.take(length) {
            length -= taken.len();
        }
    }

    /// Discards all; returns the bytes that were held.
    pub fn clear(&mut self) -> u64 {
        let held = self.held();
        self.ready.clear();
        self.above.clear();
        (self.ready_bytes, self.above_bytes) = (0, 0);
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pieces of any cut in any order, some twice and overlapping: what comes out is what went in, and what is held is what
        /// arrived and was not taken.
        #[test]
        fn any_cut_and_order_gives_the_stream(
            length in 1usize..3000,
            cuts in prop::collection::vec((any::<prop::sample::Index>(), 1usize..900), 1..40),
            most in 1usize..2000,
        ) {
            let stream: Vec<u8> = (0..length).map(|n| (n * 7 % 251) as u8).collect();
            let mut reassembly = Reassembly::default();
            let (mut out, mut have) = (vec![], vec![false; length]);
            let whole = std::iter::once((0, length));
            let pieces = cuts.iter().map(|(at, size)| (at.index(length), *size)).chain(whole);
            for (begin, size) in pieces {
                let end = (begin + size).min(length);
                let bytes = Bytes::copy_from_slice(&stream[begin..end]);
                let missing = have[begin..end].iter().filter(|have| !**have).count();
                let new = reassembly.insert(Piece { offset: begin as u64, bytes });
                prop_assert_eq!(new, missing as u64);
                have[begin..end].fill(true);
                let in_order = have.iter().take_while(|have| **have).count();
                prop_assert_eq!(reassembly.next(), in_order as u64);
                let held = have.iter().filter(|have| **have).count() - out.len();
                prop_assert_eq!(reassembly.held(), held as u64);
                if let Some(bytes) = reassembly.take(most) {
                    prop_assert!(bytes.len() <= most);
                    out.extend_from_slice(&bytes);
                }
                prop_assert_eq!(reassembly.taken(), out.len() as u64);
            }
            while let Some(bytes) = reassembly.take(most) {
                out.extend_from_slice(&bytes);
            }
            prop_assert_eq!(out, stream);
            prop_assert_eq!(reassembly.held(), 0);
        }
    }
}
