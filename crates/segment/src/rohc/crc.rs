//! The checks of robust header compression (RFC 5795 section 5.3.1.1): CRC-3, CRC-7 and CRC-8, register of ones at first, least
//! significant bit first.

/// A check of few bits: its polynomial with the bits reversed, and its length.
#[derive(Clone, Copy)]
pub(crate) struct Crc {
    reversed: u8,
    bits: u32,
}

/// 1 + x + x^3.
pub(crate) const CRC_3: Crc = Crc { reversed: 0x6, bits: 3 };
/// 1 + x + x^2 + x^3 + x^6 + x^7.
pub(crate) const CRC_7: Crc = Crc { reversed: 0x79, bits: 7 };
/// 1 + x + x^2 + x^8.
pub(crate) const CRC_8: Crc = Crc { reversed: 0xe0, bits: 8 };

impl Crc {
    /// Over all pieces, one after the other.
    pub fn of(self, pieces: &[&[u8]]) -> u8 {
        let ones = ((1u16 << self.bits) - 1) as u8;
        pieces.iter().flat_map(|piece| piece.iter()).fold(ones, |register, byte| self.step(register, *byte))
    }

    fn step(self, register: u8, byte: u8) -> u8 {
        (0..8).fold(register, |register, bit| {
            let feedback = (register ^ byte >> bit) & 1;
            register >> 1 ^ if feedback == 1 { self.reversed } else { 0 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The catalogue of parametrised CRCs has their sums of "123456789": CRC-3/ROHC 0x6, CRC-7/ROHC 0x53, CRC-8/ROHC 0xd0.
    #[test]
    fn check_values() {
        let sums = [CRC_3, CRC_7, CRC_8].map(|crc| crc.of(&[b"1234", b"56789"]));
        assert_eq!(sums, [0x6, 0x53, 0xd0]);
    }
}
