//! 32-bit sequence numbers that wrap (RFC 9293 section 3.4).

/// A sequence number modulo 2^32. It has no total order: compare with [`SeqNumber::before`] or map to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// `self < other` on the circle: `other` is less than 2^31 ahead.
    pub const fn before(self, other: SeqNumber) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
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
    pub const fn unwrap(self, isn: SeqNumber, near: u64) -> Option<u64> {
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
