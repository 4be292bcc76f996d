//! Erasure coding across datagrams: a systematic Reed-Solomon code, so that any k of the k + m datagrams of a block give all k items
//! (section 8.7 of the thesis expands k to n = 2k). Arithmetic is the library's.

/// How items are coded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// Items of a block; one that is not full when there is nothing more to send has fewer.
    pub items: u8,
    /// Parities of a block.
    pub parities: u8,
}

/// The parities of a block's symbols.
pub fn parities(symbols: &[Vec<u8>], count: u8) -> Vec<Vec<u8>> {
    let len = symbols.iter().map(Vec::len).max().unwrap_or(0).next_multiple_of(2);
    let padded = symbols.iter().map(|symbol| padded(symbol, len));
    // From 1 to 255 of each: nothing that the library refuses.
    reed_solomon_simd::encode(symbols.len(), usize::from(count), padded).unwrap_or_default()
}

/// The symbols of a block that are missing, each with its place, from those at hand and from parities, all with their places.
/// `None` if there are too few, or what is there does not belong together.
pub fn restore(
    items: u8,
    parities: u8,
    symbols: &[(u8, Vec<u8>)],
    parity: &[(u8, Vec<u8>)],
) -> Option<Vec<(u8, Vec<u8>)>> {
    let len = parity.first()?.1.len();
    let place = |(place, bytes): &(u8, Vec<u8>)| (usize::from(*place), padded(bytes, len));
    if symbols.iter().any(|(_, symbol)| symbol.len() > len) {
        return None;
    }
    let at_hand: Vec<_> = symbols.iter().map(place).collect();
    let codes: Vec<_> = parity.iter().map(place).collect();
    let mut restored =
        reed_solomon_simd::decode(usize::from(items), usize::from(parities), at_hand, codes).ok()?;
    Some((0..items).filter_map(|place| Some((place, restored.remove(&usize::from(place))?))).collect())
}

fn padded(symbol: &[u8], len: usize) -> Vec<u8> {
    let mut padded = symbol.to_vec();
    padded.resize(len, 0);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any k of k + m give all.
        #[test]
        fn any_k_of_n_are_enough(
            symbols in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 1..20),
            count in 1u8..8,
            order in any::<u64>(),
        ) {
            let k = symbols.len() as u8;
            let codes = parities(&symbols, count);
            prop_assert_eq!(codes.len(), usize::from(count));
            // As many are lost as there are parities, from anywhere in the block.
            let mut all: Vec<u8> = (0..k + count).collect();
            let mut state = order;
            for place in (1..all.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                all.swap(place, (state >> 33) as usize % (place + 1));
            }
            let kept = &all[usize::from(count)..];
            let at_hand: Vec<_> = kept.iter().filter(|n| **n < k).map(|n| (*n, symbols[usize::from(*n)].clone())).collect();
            let codes: Vec<_> = kept.iter().filter(|n| **n >= k).map(|n| (*n - k, codes[usize::from(*n - k)].clone())).collect();
            if codes.is_empty() {
                prop_assert_eq!(at_hand.len(), symbols.len());
                return Ok(());
            }
            let restored = restore(k, count, &at_hand, &codes).unwrap();
            prop_assert_eq!(restored.len() + at_hand.len(), symbols.len());
            for (place, symbol) in restored {
                let original = &symbols[usize::from(place)];
                prop_assert_eq!(&symbol[..original.len()], &original[..]);
                prop_assert!(symbol[original.len()..].iter().all(|byte| *byte == 0));
            }
            if !at_hand.is_empty() {
                prop_assert_eq!(restore(k, count, &at_hand[1..], &codes), None, "one too few");
            }
        }

        #[test]
        fn nonsense_is_refused(
            items: u8, parities: u8,
            symbols in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..8)), 0..6),
            parity in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..8)), 0..6),
        ) {
            let _ = restore(items, parities, &symbols, &parity);
        }
    }
}
