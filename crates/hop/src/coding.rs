//! Erasure coding above QUIC: parities for blocks of a flow's stream, in DATAGRAM frames. A block is cut into symbols of a
//! quarter of a packet, so that a lost packet costs five of them wherever it begins; any symbols as many as the block has
//! restore it (Reed-Solomon code; the arithmetic is the library's).

use crate::types::Piece;
use crate::wire::{MOST_BLOCK, ParityHead};
use bytes::{Bytes, BytesMut};
use std::collections::BTreeMap;

/// Bytes of a symbol in a large block: four fit into a packet with their head, for the smallest MTU in common use.
const PER_PACKET: u64 = 4;
/// Parities exceed the expected loss by so many standard deviations.
const MARGIN: f64 = 3.5;
/// Half of the answers of which one in a hundred may be late.
const MISSED: f64 = 0.005;
/// Blocks of so many packets have parities in packets of their own.
const SMALL: u64 = 16;
/// Bytes that a receiver keeps of a flow for blocks whose parities are still to come.
const HISTORY: u64 = MOST_BLOCK;

/// What of a flow was sent and is not yet covered by parities.
#[derive(Debug, Default)]
pub struct Encoder {
    start: u64,
    length: u64,
    chunks: Vec<Bytes>,
}

/// Parities in a DATAGRAM frame.
#[derive(Debug)]
pub struct Datagram {
    pub bytes: Bytes,
    /// It leaves after the packets that it protects, and not in the last of them: one loss would take both.
    pub alone: bool,
}

/// What is known of the link.
#[derive(Clone, Copy, Debug)]
pub struct LinkLoss {
    /// Share of packets lost.
    pub loss: f64,
    /// Mean number of packets lost in a row.
    pub burst: f64,
}

/// Parities for a block of so many packets, and so many symbols in all.
fn parities(packets: f64, symbols: u64, link: LinkLoss) -> u64 {
    let lost = packets * link.loss;
    if lost <= 0.0 {
        return 0;
    }
    // Losses in bursts: the variance of a two-state chain's sum.
    let deviation = (lost * (2.0 * link.burst - 1.0)).sqrt();
    let covered = lost + MARGIN * deviation;
    if packets <= 1.0 {
        return symbols * covered.ceil() as u64;
    }
    // A lost packet costs a symbol more than it carries, and what the margin covers is no whole number of them.
    let covered = covered.max(most_likely_lost(lost)) * (PER_PACKET + 1) as f64;
    let packets = (covered / PER_PACKET as f64 / (1.0 - link.loss.min(0.5))).ceil() as u64;
    packets * PER_PACKET
}

/// The number of lost packets that a block exceeds with a probability of [`MISSED`], for a small mean (Poisson).
fn most_likely_lost(mean: f64) -> f64 {
    let (mut count, mut term) = (0.0, (-mean).exp());
    let mut up_to = term;
    while 1.0 - up_to > MISSED && count < 8.0 {
        count += 1.0;
        term *= mean / count;
        up_to += term;
    }
    f64::max(count, 1.0)
}

impl Encoder {
    /// Bytes without parities.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes were sent at `offset`.
    pub fn push(&mut self, offset: u64, bytes: Bytes) {
        if self.length == 0 {
            self.start = offset;
        }
        debug_assert_eq!(offset, self.start + self.length);
        self.length += bytes.len() as u64;
        self.chunks.push(bytes);
    }

    /// Discards what is not covered.
    pub fn clear(&mut self) {
        self.length = 0;
        self.chunks.clear();
    }

    /// Offset behind the last byte that is covered.
    pub fn end(&self) -> u64 {
        self.start + self.length
    }

    /// The datagrams of the block that ends here; `payload` is the most that one takes.
    pub fn close(&mut self, stream: u64, last: bool, link: LinkLoss, payload: u64) -> Vec<Datagram> {
        let length = std::mem::take(&mut self.length);
        let chunks = std::mem::take(&mut self.chunks);
        if length == 0 {
            return vec![];
        }
        let room = payload.saturating_sub(40);
        let full = (room / PER_PACKET / 2 * 2).max(2);
        let symbol = full.min(length.next_multiple_of(2));
        let packets = length.div_ceil(room);
        let parities = parities(packets as f64, length.div_ceil(symbol), link).min(16_384);
        // Of a block of one packet, the parities in a packet are a copy; a second one in it would be lost with it.
        let per_packet = (room / symbol).clamp(1, length.div_ceil(symbol));
        let mut block = BytesMut::with_capacity((length + symbol) as usize);
        chunks.iter().for_each(|chunk| block.extend_from_slice(chunk));
        block.resize(length.next_multiple_of(symbol) as usize, 0);
        let symbols = block.len() / symbol as usize;
        let originals = block.chunks(symbol as usize);
        let Ok(coded) = reed_solomon_simd::encode(symbols, parities as usize, originals) else {
            return vec![];
        };
        coded
            .chunks(per_packet as usize)
            .enumerate()
            .map(|(index, group)| {
                let head = ParityHead {
                    stream,
                    start: self.start,
                    length,
                    symbol: symbol as u16,
                    parities: parities as u16,
                    first: (index as u64 * per_packet) as u16,
                    last,
                };
                let mut datagram = vec![];
                head.write(&mut datagram);
                group.iter().for_each(|parity| datagram.extend_from_slice(parity));
                Datagram { bytes: datagram.into(), alone: packets <= SMALL }
            })
            .collect()
    }
}

/// A block with parities that is not complete.
#[derive(Debug)]
struct Block {
    head: ParityHead,
    /// Bytes received of each symbol.
    filled: Vec<u16>,
    missing: usize,
    parities: BTreeMap<u16, Bytes>,
}

impl Block {
    fn new(head: ParityHead) -> Self {
        let symbols = head.symbols();
        Block { head, filled: vec![0; symbols], missing: symbols, parities: BTreeMap::new() }
    }

    fn end(&self) -> u64 {
        self.head.start + self.head.length
    }

    fn symbol_length(&self, index: usize) -> u64 {
        let symbol = u64::from(self.head.symbol);
        symbol.min(self.head.length - index as u64 * symbol)
    }

    fn received(&mut self, offset: u64, length: u64) {
        let (begin, end) = (offset.max(self.head.start), (offset + length).min(self.end()));
        let mut at = begin;
        while at < end {
            let index = ((at - self.head.start) / u64::from(self.head.symbol)) as usize;
            let stop = (self.head.start + (index as u64 + 1) * u64::from(self.head.symbol)).min(end);
            self.filled[index] += (stop - at) as u16;
            if u64::from(self.filled[index]) == self.symbol_length(index) {
                self.missing -= 1;
            }
            at = stop;
        }
    }

    fn can_restore(&self) -> bool {
        self.missing > 0 && self.missing <= self.parities.len()
    }

    /// The missing bytes, given those received.
    fn restore(&self, received: &BTreeMap<u64, Bytes>) -> Option<Vec<Piece>> {
        let symbol = usize::from(self.head.symbol);
        let mut block = vec![0; self.filled.len() * symbol];
        for (begin, bytes) in received.range(..self.end()) {
            let from = self.head.start.max(*begin);
            let to = self.end().min(begin + bytes.len() as u64);
            if from < to {
                let target = (from - self.head.start) as usize..(to - self.head.start) as usize;
                block[target].copy_from_slice(&bytes[(from - begin) as usize..(to - begin) as usize]);
            }
        }
        let complete = |index: &usize| u64::from(self.filled[*index]) == self.symbol_length(*index);
        let originals =
            (0..self.filled.len()).filter(complete).map(|index| (index, &block[index * symbol..][..symbol]));
        let parities = self.parities.iter().map(|(index, bytes)| (usize::from(*index), bytes));
        let restored = reed_solomon_simd::decode(
            self.filled.len(),
            usize::from(self.head.parities),
            originals,
            parities,
        )
        .ok()?;
        let pieces = restored.into_iter().map(|(index, bytes)| {
            let length = self.symbol_length(index) as usize;
            let offset = self.head.start + (index * symbol) as u64;
            Piece { offset, bytes: Bytes::from(bytes).slice(..length) }
        });
        Some(pieces.collect())
    }
}

/// What of a flow was received and may be needed to restore what was not.
#[derive(Debug, Default)]
pub struct Decoder {
    received: BTreeMap<u64, Bytes>,
    bytes: u64,
    blocks: BTreeMap<u64, Block>,
    /// Nothing below is needed any more.
    done: u64,
}

impl Decoder {
    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A piece has come for the first time; returns those that can be restored now.
    pub fn received(&mut self, offset: u64, bytes: Bytes) -> Vec<Piece> {
        let length = bytes.len() as u64;
        if offset + length <= self.done || length == 0 {
            return vec![];
        }
        self.bytes += length;
        self.received.insert(offset, bytes);
        while self.bytes > HISTORY && self.evict() {}
        let concerned: Vec<u64> = self
            .blocks
            .iter_mut()
            .filter(|(_, block)| block.head.start < offset + length && block.end() > offset)
            .map(|(start, block)| {
                block.received(offset, length);
                *start
            })
            .collect();
        concerned.into_iter().flat_map(|start| self.try_block(start)).collect()
    }

    /// Drops the oldest piece that no block with parities waits for, else the oldest of all. A block that needs it can only wait
    /// for retransmissions.
    fn evict(&mut self) -> bool {
        let covered = self.blocks.values().map(Block::end).max().unwrap_or(0);
        let oldest = self.received.range(covered..).next().or_else(|| self.received.iter().next());
        let Some((offset, end)) = oldest.map(|(offset, bytes)| (*offset, offset + bytes.len() as u64)) else {
            return false;
        };
        self.bytes -= end - offset;
        self.received.remove(&offset);
        self.done = self.done.max(end);
        self.blocks.retain(|start, block| *start >= end || block.end() <= offset);
        true
    }

    /// Parities have come; returns the pieces that can be restored now. `next` is the end of what is in order.
    pub fn parities(&mut self, head: ParityHead, symbols: &Bytes, next: u64) -> Vec<Piece> {
        let end = head.start + head.length;
        if end <= next {
            self.finish_until(end);
            return vec![];
        }
        if head.start < self.done || (self.blocks.len() >= 64 && !self.blocks.contains_key(&head.start)) {
            return vec![];
        }
        if !self.blocks.contains_key(&head.start) {
            let mut block = Block::new(head);
            for (begin, bytes) in self.received.range(..end) {
                if begin + bytes.len() as u64 > head.start {
                    block.received(*begin, bytes.len() as u64);
                }
            }
            self.blocks.insert(head.start, block);
        }
        let Some(block) = self.blocks.get_mut(&head.start) else { return vec![] };
        if (block.head.length, block.head.symbol, block.head.parities)
            != (head.length, head.symbol, head.parities)
        {
            return vec![];
        }
        let symbol = usize::from(head.symbol);
        for (index, at) in (0..symbols.len()).step_by(symbol).enumerate() {
            block.parities.insert(head.first + index as u16, symbols.slice(at..at + symbol));
        }
        self.try_block(head.start)
    }

    fn try_block(&mut self, start: u64) -> Vec<Piece> {
        let Some(block) = self.blocks.get(&start) else { return vec![] };
        if block.missing > 0 && !block.can_restore() {
            return vec![];
        }
        let restored =
            if block.missing == 0 { vec![] } else { block.restore(&self.received).unwrap_or_default() };
        let end = block.end();
        self.blocks.remove(&start);
        let inside: Vec<u64> = self
            .received
            .range(start..end)
            .filter(|(begin, bytes)| *begin + bytes.len() as u64 <= end)
            .map(|(begin, _)| *begin)
            .collect();
        for begin in inside {
            self.bytes -= self.received.remove(&begin).map_or(0, |bytes| bytes.len() as u64);
        }
        restored
    }

    /// All before `end` was received: what is kept of it is of no more use.
    pub fn finish_until(&mut self, end: u64) {
        self.done = self.done.max(end);
        self.blocks.retain(|start, _| *start >= end);
        while let Some(first) = self.received.first_entry() {
            if first.key() + first.get().len() as u64 > end {
                break;
            }
            self.bytes -= first.get().len() as u64;
            first.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parities_are_two_to_three_times_the_loss_of_a_large_block() {
        let random = |loss| LinkLoss { loss, burst: 1.0 };
        let packets = |packets: u64, link| parities(packets as f64, 4 * packets, link).div_ceil(4);
        assert_eq!(packets(1000, random(0.01)), 27);
        assert_eq!(packets(1, random(0.01)), 1);
        assert_eq!(packets(1000, LinkLoss { loss: 0.01, burst: 5.0 }), 55);
        assert_eq!(packets(1000, random(0.0)), 0);
    }

    /// One answer of 20 kB in a hundred may be late at 1 % of loss: two packets of 14 are lost in 0.8 % of them, three in 0.04 %.
    #[test]
    fn small_blocks_survive_as_many_losses_as_are_likely() {
        let link = LinkLoss { loss: 0.01, burst: 1.0 };
        assert!(parities(14.0, 56, link) >= 2 * (PER_PACKET + 1));
        // A request in one packet has a copy, no more.
        assert_eq!(parities(1.0, 1, link), 1);
        assert_eq!([0.01, 0.14, 0.29].map(most_likely_lost), [1.0, 2.0, 2.0]);
    }

    proptest! {
        /// Whatever is lost: if as many symbols arrive as the block has, it is whole; what is restored is what was sent; and
        /// nothing is restored from too few.
        #[test]
        fn any_loss_up_to_the_parities_is_restored(
            length in 1usize..60_000,
            cuts in prop::collection::vec(100usize..1500, 1..60),
            fates in prop::collection::vec(0u8..10, 60),
            parity_fates in prop::collection::vec(0u8..10, 60),
            loss in 0.001f64..0.2,
            order: bool,
        ) {
            let stream: Vec<u8> = (0..length).map(|n| (n * 31 % 253) as u8).collect();
            let mut encoder = Encoder::default();
            let mut pieces = vec![];
            let (mut at, mut cut) = (0, cuts.iter().cycle());
            while at < length {
                let end = (at + cut.next().unwrap()).min(length);
                let bytes = Bytes::copy_from_slice(&stream[at..end]);
                encoder.push(7000 + at as u64, bytes.clone());
                pieces.push((7000 + at as u64, bytes));
                at = end;
            }
            let datagrams = encoder.close(4, true, LinkLoss { loss, burst: 2.0 }, 1440);
            prop_assert!(datagrams.iter().all(|datagram| datagram.bytes.len() <= 1440));
            let mut decoder = Decoder::default();
            let mut have = vec![false; length];
            let take = |decoder: &mut Decoder, restored: Vec<Piece>, have: &mut Vec<bool>| {
                for piece in restored {
                    let at = (piece.offset - 7000) as usize;
                    assert_eq!(&piece.bytes[..], &stream[at..at + piece.bytes.len()]);
                    have[at..at + piece.bytes.len()].fill(true);
                }
                decoder.bytes()
            };
            let mut symbols = 0;
            let (mut size, mut count) = (length, 0);
            let arrive = |decoder: &mut Decoder, have: &mut Vec<bool>| -> Vec<Piece> {
                let mut restored = vec![];
                for ((offset, bytes), fate) in pieces.iter().zip(fates.iter().cycle()) {
                    if *fate > 1 {
                        let at = (*offset - 7000) as usize;
                        have[at..at + bytes.len()].fill(true);
                        restored.extend(decoder.received(*offset, bytes.clone()));
                    }
                }
                restored
            };
            if order {
                let restored = arrive(&mut decoder, &mut have);
                prop_assert!(restored.is_empty());
            }
            for (datagram, fate) in datagrams.iter().map(|datagram| &datagram.bytes).zip(parity_fates.iter().cycle()) {
                if *fate > 1 {
                    let (head, rest) = ParityHead::read(datagram).unwrap();
                    (size, count) = (usize::from(head.symbol), head.symbols());
                    symbols += rest.len() / size;
                    let rest = datagram.slice(datagram.len() - rest.len()..);
                    let restored = decoder.parities(head, &rest, 0);
                    take(&mut decoder, restored, &mut have);
                }
            }
            if !order {
                let restored = arrive(&mut decoder, &mut have);
                take(&mut decoder, restored, &mut have);
            }
            if count > 0 {
                let arrived: Vec<bool> = {
                    let mut arrived = vec![false; length];
                    for ((offset, bytes), fate) in pieces.iter().zip(fates.iter().cycle()) {
                        if *fate > 1 {
                            let at = (*offset - 7000) as usize;
                            arrived[at..at + bytes.len()].fill(true);
                        }
                    }
                    arrived
                };
                let missing = arrived.chunks(size).filter(|symbol| symbol.contains(&false)).count();
                prop_assert_eq!(have.iter().all(|have| *have), missing <= symbols || missing == 0);
            }
        }
    }
}
