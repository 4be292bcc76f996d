//! The Internet checksum (RFC 1071), the pseudo-header that TCP adds to it (RFC 9293 section 3.1 for IPv4,
//! RFC 8200 section 8.1 for IPv6), and its incremental update when a field is rewritten (RFC 1624).

use std::net::IpAddr;

/// A one's complement sum of 16-bit words in network byte order, taken over any number of slices as if they were one.
///
/// ```
/// use longhaul_segment::checksum::Checksum;
/// let mut whole = Checksum::new();
/// whole.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
/// let mut parts = Checksum::new();
/// parts.add(&[0x00, 0x01, 0xf2]);
/// parts.add(&[0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
/// assert_eq!(whole.finish(), parts.finish());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    sum: u64,
    /// An odd number of bytes went in: the next byte is the low half of a word.
    odd: bool,
}

impl Checksum {
    /// Over nothing yet.
    pub const fn new() -> Self {
        Checksum { sum: 0, odd: false }
    }

    /// Adds the next bytes. An odd last byte counts as the high half of a word (RFC 1071 section 1).
    pub fn add(&mut self, bytes: &[u8]) {
        // 2^16 is 1 in this arithmetic, so words of 32 bits may be added and folded later (section 2, "deferred carries").
        let (words, rest) = bytes.split_at(bytes.len() & !3);
        let mut sum: u64 =
            words.chunks_exact(4).map(|w| u64::from(u32::from_be_bytes([w[0], w[1], w[2], w[3]]))).sum();
        for (i, byte) in rest.iter().enumerate() {
            sum += u64::from(*byte) << (24 - 8 * i);
        }
        let sum = fold(sum);
        // Section 2, "byte order independence": bytes that start in the middle of a word give a swapped sum.
        self.sum += u64::from(if self.odd { sum.swap_bytes() } else { sum });
        self.odd ^= bytes.len() % 2 == 1;
    }

    /// Adds the pseudo-header of a TCP segment or UDP datagram (RFC 768) of `len` bytes, header and payload.
    /// Addresses of different IP versions give a sum that means nothing; [`crate::wire::encode`] refuses them.
    pub fn add_pseudo_header(&mut self, src: IpAddr, dst: IpAddr, protocol: u8, len: u32) {
        for address in [src, dst] {
            match address {
                IpAddr::V4(v4) => self.add(&v4.octets()),
                IpAddr::V6(v6) => self.add(&v6.octets()),
            }
        }
        // IPv4 has a 16-bit length and IPv6 a 32-bit one; the sum is the same.
        self.add(&len.to_be_bytes());
        self.add(&[0, protocol]);
    }

    /// The sum itself, folded to 16 bits: 0xffff over data that carries its right checksum.
    pub const fn sum(self) -> u16 {
        fold(self.sum)
    }

    /// The checksum field: the complement of the sum.
    pub const fn finish(self) -> u16 {
        !self.sum()
    }

    /// True if the data added, its checksum field among it, is intact.
    pub const fn is_intact(self) -> bool {
        self.sum() == 0xffff
    }
}

/// Folds the carries back in (RFC 1071 section 1: end-around carry).
const fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum field after a 16-bit word under it changed from `old` to `new`: HC' = ~(~HC + ~m + m')
/// (RFC 1624 section 3, equation 3).
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(!checksum as u64 + !old as u64 + new as u64)
}

/// [`update`] for two aligned words at once: a sequence number, a timestamp, an IPv4 address.
pub const fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    !fold(!checksum as u64 + !old as u64 + new as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 section 3, the first table: the bytes whose sum is ddf2.
    const EXAMPLE: [u8; 8] = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];

    fn sum_of(slices: &[&[u8]]) -> u16 {
        let mut checksum = Checksum::new();
        for slice in slices {
            checksum.add(slice);
        }
        checksum.sum()
    }

    #[test]
    fn rfc1071_section_3_sum() {
        assert_eq!(sum_of(&[&EXAMPLE]), 0xddf2);
        let mut checksum = Checksum::new();
        checksum.add(&EXAMPLE);
        assert_eq!(checksum.finish(), 0x220d);
        checksum.add(&[0x22, 0x0d]);
        assert!(checksum.is_intact());
    }

    /// The same table, column "swapped order": f2dd before the final swap.
    #[test]
    fn rfc1071_section_3_swapped_order() {
        assert_eq!(sum_of(&[&[0x01, 0x00, 0x03, 0xf2, 0xf5, 0xf4, 0xf7, 0xf6]]), 0xf2dd);
    }

    /// The second table: two groups, the second on an odd boundary. f201, f0eb, together ddf2.
    #[test]
    fn rfc1071_section_3_two_groups() {
        let (first, second) = EXAMPLE.split_at(3);
        assert_eq!(sum_of(&[first]), 0xf201);
        assert_eq!(sum_of(&[second]), 0xf0eb);
        assert_eq!(sum_of(&[first, second]), 0xddf2);
    }

    #[test]
    fn nothing_sums_to_nothing() {
        assert_eq!(Checksum::new().finish(), 0xffff);
        assert_eq!(sum_of(&[&[], &[0xab], &[]]), 0xab00);
    }

    /// RFC 1624 section 4: HC = dd2f, m = 5555, m' = 3285 give 0000 (RFC 1141's equation gave ffff).
    #[test]
    fn rfc1624_section_4() {
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_sum(bytes in proptest::collection::vec(any::<u8>(), 0..100), cuts in any::<(prop::sample::Index, prop::sample::Index)>()) {
            let (a, b) = (cuts.0.index(bytes.len() + 1), cuts.1.index(bytes.len() + 1));
            let (a, b) = (a.min(b), a.max(b));
            prop_assert_eq!(sum_of(&[&bytes[..a], &bytes[a..b], &bytes[b..]]), sum_of(&[&bytes]));
        }

        /// Word by word, as RFC 1071 section 4.1 has it in C.
        #[test]
        fn equals_the_plain_sum(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut plain = 0u32;
            for pair in bytes.chunks(2) {
                plain += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            }
            while plain > 0xffff {
                plain = (plain & 0xffff) + (plain >> 16);
            }
            prop_assert_eq!(u32::from(sum_of(&[&bytes])), plain);
        }

        /// The updated field still vouches for the rewritten data.
        #[test]
        fn update_keeps_data_intact(mut words in any::<[u16; 6]>(), new in any::<u32>()) {
            words[0] |= 1; // an IP or TCP header is never all zeros, the one case that RFC 1624 leaves open
            let bytes = |words: [u16; 6]| words.map(u16::to_be_bytes).concat();
            let mut checksum = Checksum::new();
            checksum.add(&bytes(words));
            let old = u32::from(words[2]) << 16 | u32::from(words[3]);
            let (high, low) = ((new >> 16) as u16, new as u16);
            let at_once = update_u32(checksum.finish(), old, new);
            let in_steps = update(update(checksum.finish(), words[2], high), words[3], low);
            (words[2], words[3]) = (high, low);
            for field in [at_once, in_steps] {
                let mut check = Checksum::new();
                check.add(&bytes(words));
                check.add(&field.to_be_bytes());
                prop_assert!(check.is_intact());
            }
        }
    }
}
