//! Bit rates.

use crate::text::{Grammar, textual};
use crate::{Duration, Size};

const GRAMMAR: Grammar = Grammar {
    quantity: "rate",
    example: "50 Mbit/s",
    units: &[
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("bit/s", 1),
    ],
    aliases: &[
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("kbps", 1_000),
        ("bps", 1),
        ("baud", 1),
        ("Tbit/s", 1_000_000_000_000),
    ],
};

const NANOS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;

/// A bit rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

textual!(Rate, "A bit rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (decimal).", r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*([kMGT]?bit/s|[kMG]?bps|baud)\s*$");

impl Rate {
    /// Nothing moves.
    pub const ZERO: Rate = Rate(0);

    /// From bits per second.
    pub const fn from_bps(bits_per_second: u64) -> Self {
        Rate(bits_per_second)
    }
    /// From bits per second, to the nearest; negative values and NaN give zero.
    pub fn from_bps_f64(bits_per_second: f64) -> Self {
        Rate((bits_per_second + 0.5) as u64)
    }
    /// In bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// True when nothing moves.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Time to put `size` on the wire, rounded up to the nanosecond so that no link carries more than its rate.
    /// A rate of zero takes for ever.
    pub const fn transmission_time(self, size: Size) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bytes = size.as_bytes();
        if bytes <= u64::MAX / NANOS_PER_BYTE_AT_1_BPS {
            return Duration::from_nanos((bytes * NANOS_PER_BYTE_AT_1_BPS).div_ceil(self.0));
        }
        let nanos = (bytes as u128 * NANOS_PER_BYTE_AT_1_BPS as u128).div_ceil(self.0 as u128);
        Duration::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }
    /// Whole bytes that pass in `time`; with a round trip time this is the bandwidth-delay product.
    pub const fn bytes_in(self, time: Duration) -> Size {
        let bytes = self.0 as u128 * time.as_nanos() as u128 / NANOS_PER_BYTE_AT_1_BPS as u128;
        Size::from_bytes(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
}
