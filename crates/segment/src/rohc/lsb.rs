//! Window-based least significant bits (RFC 5795 section 4.1, RFC 6846 section 6.2): of a number only so many low bits cross the
//! line as make it unambiguous for every number that the other end may have received last.

/// How many bits, and how far below the reference the numbers begin that they can mean.
#[derive(Clone, Copy)]
pub(crate) struct Lsb {
    pub bits: u32,
    pub below: u32,
}

impl Lsb {
    fn mask(self) -> u32 {
        ((1u64 << self.bits) - 1) as u32
    }

    /// True if the low bits of `value` mean `value` to everyone whose reference is one of `references`.
    pub fn reaches(self, value: u32, mut references: impl Iterator<Item = u32>) -> bool {
        references.all(|reference| value.wrapping_sub(reference.wrapping_sub(self.below)) <= self.mask())
    }

    /// The number that the low bits stand for, at an end that got `reference` last.
    pub fn read(self, low: u32, reference: u32) -> u32 {
        let first = reference.wrapping_sub(self.below);
        first.wrapping_add(low.wrapping_sub(first) & self.mask())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of 4 bits that may lie one below the reference: 99 to 114, seen from 100.
    #[test]
    fn sixteen_numbers_around_a_reference() {
        let lsb = Lsb { bits: 4, below: 1 };
        assert_eq!([98, 99, 114, 115].map(|n| lsb.reaches(n, [100].into_iter())), [false, true, true, false]);
        assert_eq!([99 & 15, 100 & 15, 114 & 15].map(|low| lsb.read(low, 100)), [99, 100, 114]);
        // Over the end of the circle.
        assert_eq!(lsb.read(3, 0xffff_fffe), 3);
    }

    proptest! {
        /// An end that got any of the references decodes the number itself.
        #[test]
        fn what_reaches_all_is_read_by_all(
            bits in 1u32..32, below: u32, value: u32, references in prop::collection::vec(any::<u32>(), 1..5), near: bool,
        ) {
            let lsb = Lsb { bits, below: below & (((1u64 << bits) - 1) as u32) };
            let references: Vec<u32> =
                references.into_iter().map(|r| if near { value.wrapping_sub(r % 64) } else { r }).collect();
            if lsb.reaches(value, references.iter().copied()) {
                let low = value & lsb.mask();
                prop_assert!(references.iter().all(|reference| lsb.read(low, *reference) == value));
            }
        }
    }
}
