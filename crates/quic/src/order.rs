//! Pieces of a stream that are read, or acknowledged, out of order.

use std::collections::BTreeMap;

/// What is known of a stream out of order: all below `next`, and pieces above it, by begin with their end.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// All below is known.
    pub next: u64,
    above: BTreeMap<u64, u64>,
}

impl Order {
    /// A piece has become known. Returns the bytes that are now in order.
    pub fn take(&mut self, offset: u64, length: u64) -> u64 {
        let before = self.next;
        let end = self.above.entry(offset).or_default();
        *end = (*end).max(offset + length);
        while let Some(first) = self.above.first_entry().filter(|first| *first.key() <= self.next) {
            self.next = self.next.max(first.remove());
        }
        self.next - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pieces in any order: what is in order is what lies below the first missing byte.
        #[test]
        fn pieces_are_put_in_order(lengths in prop::collection::vec(1u64..5, 1..20), seed in any::<u64>()) {
            let mut begin = 0;
            let mut pieces: Vec<(u64, u64)> = lengths
                .iter()
                .map(|length| {
                    begin += length;
                    (begin - length, *length)
                })
                .collect();
            let mut state = seed | 1;
            for index in (1..pieces.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                pieces.swap(index, (state >> 33) as usize % (index + 1));
            }
            let (mut order, mut in_order) = (Order::default(), 0);
            let mut have = vec![false; begin as usize];
            for (offset, length) in pieces {
                in_order += order.take(offset, length);
                have[offset as usize..(offset + length) as usize].fill(true);
                let expected = have.iter().take_while(|byte| **byte).count();
                prop_assert_eq!(in_order, expected as u64);
            }
            prop_assert!(order.above.is_empty());
        }
    }
}
