//! 32-bit sequence numbers that wrap (RFC 9293 section 3.4).

/// A sequence number modulo 2^32. It has no total order: compare with [`SeqNumber::before`] or map to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// `self < other` on the circle: `other` is less than 2^31 ahead. Of two numbers exactly 2^31 apart neither is
    /// before the other (RFC 1982 section 3.2 leaves them without an order).
    pub const fn before(self, other: SeqNumber) -> bool {
        other.distance_from(self) > 0
    }
    /// `self <= other` on the circle.
    pub const fn at_or_before(self, other: SeqNumber) -> bool {
        !other.before(self)
    }
    /// Signed distance from `origin` to `self`, from -2^31 to 2^31 - 1.
    pub const fn distance_from(self, origin: SeqNumber) -> i32 {
        self.0.wrapping_sub(origin.0) as i32
    }
    /// The 64-bit stream position closest to `near` whose low 32 bits, counted from `isn`, are this number.
    /// `None` if that position would be negative.
    pub const fn expand(self, isn: SeqNumber, near: u64) -> Option<u64> {
        let near_wire = SeqNumber(isn.0.wrapping_add(near as u32));
        near.checked_add_signed(self.distance_from(near_wire) as i64)
    }
    /// The wire number of 64-bit stream position `position` (position 0 has number `isn`).
    pub const fn wrap(isn: SeqNumber, position: u64) -> SeqNumber {
        SeqNumber(isn.0.wrapping_add(position as u32))
    }
}

impl std::ops::Add<u32> for SeqNumber {
    type Output = SeqNumber;
    fn add(self, bytes: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(bytes))
    }
}

impl std::fmt::Debug for SeqNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CYCLE: u64 = 1 << 32;

    /// RFC 9293 section 3.4: "2^32 - 1 to 0 again".
    #[test]
    fn numbers_cycle() {
        assert_eq!(SeqNumber(0xffff_ffff) + 1, SeqNumber(0));
        assert_eq!(SeqNumber(0xffff_fff0) + 0x20, SeqNumber(0x10));
        assert!(SeqNumber(0xffff_ffff).before(SeqNumber(0)));
        assert!(!SeqNumber(0).before(SeqNumber(0xffff_ffff)));
        assert_eq!(SeqNumber(0).distance_from(SeqNumber(0xffff_ffff)), 1);
        assert_eq!(SeqNumber(0xffff_ffff).distance_from(SeqNumber(0)), -1);
    }

    #[test]
    fn half_a_circle_has_no_order() {
        let (a, b) = (SeqNumber(5), SeqNumber(0x8000_0005));
        assert!(!a.before(b) && !b.before(a));
        assert!(a.at_or_before(b) && b.at_or_before(a));
        assert!(a.before(SeqNumber(0x8000_0004)));
        assert!(SeqNumber(0x8000_0006).before(a));
    }

    /// RFC 9293 section 3.4: an ACK is acceptable if SND.UNA < SEG.ACK =< SND.NXT, here with a window over the wrap.
    #[test]
    fn acceptable_ack_over_the_wrap() {
        let (una, nxt) = (SeqNumber(0xffff_ff00), SeqNumber(0x100));
        let acceptable = |ack| una.before(SeqNumber(ack)) && SeqNumber(ack).at_or_before(nxt);
        for (ack, expected) in [
            (0xffff_feff, false), // older
            (0xffff_ff00, false), // duplicate
            (0xffff_ff01, true),
            (0xffff_ffff, true),
            (0, true),
            (0x100, true),
            (0x101, false), // of something not yet sent
        ] {
            assert_eq!(acceptable(ack), expected, "{ack:#x}");
        }
    }

    /// RFC 9293 section 3.4: RCV.NXT =< SEG.SEQ < RCV.NXT + RCV.WND.
    #[test]
    fn receive_window_over_the_wrap() {
        let next = SeqNumber(0xffff_fffe);
        let inside = |seq| next.at_or_before(SeqNumber(seq)) && SeqNumber(seq).before(next + 4);
        assert_eq!(
            [0xffff_fffd, 0xffff_fffe, 0xffff_ffff, 0, 1, 2].map(inside),
            [false, true, true, true, true, false]
        );
    }

    #[test]
    fn unwrap_finds_the_nearest_cycle() {
        let isn = SeqNumber(0);
        assert_eq!(SeqNumber(5).expand(isn, CYCLE - 10), Some(CYCLE + 5));
        assert_eq!(SeqNumber(0xffff_fffb).expand(isn, CYCLE + 10), Some(CYCLE - 5));
        assert_eq!(SeqNumber(0).expand(isn, 3 * CYCLE), Some(3 * CYCLE));
        assert_eq!(SeqNumber(0xffff_ffff).expand(isn, 3 * CYCLE), Some(3 * CYCLE - 1));
        assert_eq!(SeqNumber(0x7fff_ffff).expand(isn, 3 * CYCLE), Some(3 * CYCLE + 0x7fff_ffff));
        assert_eq!(SeqNumber(0x8000_0000).expand(isn, 3 * CYCLE), Some(3 * CYCLE - 0x8000_0000));
    }

    #[test]
    fn unwrap_counts_from_the_initial_number() {
        let isn = SeqNumber(0xffff_fff0);
        assert_eq!(SeqNumber(0xffff_fff0).expand(isn, 0), Some(0));
        assert_eq!(SeqNumber(0).expand(isn, 0), Some(16));
        assert_eq!(SeqNumber::wrap(isn, 16), SeqNumber(0));
        assert_eq!(SeqNumber::wrap(isn, CYCLE + 16), SeqNumber(0));
    }

    #[test]
    fn expanding_outside_of_the_stream_is_none() {
        assert_eq!(SeqNumber(99).expand(SeqNumber(100), 0), None);
        assert_eq!(SeqNumber(0).expand(SeqNumber(0), u64::MAX), None);
    }

    proptest! {
        #[test]
        fn wrap_then_unwrap_is_the_position(isn: u32, near in 0..u64::MAX - CYCLE, offset in i64::from(i32::MIN)..=i64::from(i32::MAX)) {
            if let Some(position) = near.checked_add_signed(offset) {
                let number = SeqNumber::wrap(SeqNumber(isn), position);
                prop_assert_eq!(number.expand(SeqNumber(isn), near), Some(position));
            }
        }

        #[test]
        fn order_does_not_depend_on_the_origin(start: u32, ahead in 1u32..0x8000_0000) {
            let (a, b) = (SeqNumber(start), SeqNumber(start) + ahead);
            prop_assert!(a.before(b) && a.at_or_before(b));
            prop_assert!(!b.before(a) && !b.at_or_before(a));
            prop_assert_eq!(i64::from(b.distance_from(a)), i64::from(ahead));
        }
    }
}
