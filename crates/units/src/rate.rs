//! Bit rates.

use crate::text::{Grammar, textual};
use crate::{Duration, Size};

const GRAMMAR: Grammar = Grammar {
    quantity: "rate",
    example: "50 Mbit/s",
    units: &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)],
    aliases: &[
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("kbps", 1_000),
        ("bps", 1),
        ("baud", 1),
        ("Tbit/s", 1_000_000_000_000),
    ],
    in_bytes: &[
        ("B/s", 8),
        ("kB/s", 8_000),
        ("KB/s", 8_000),
        ("KBps", 8_000),
        ("kBps", 8_000),
        ("KiB/s", 8 << 10),
        ("MB/s", 8_000_000),
        ("MBps", 8_000_000),
        ("MiB/s", 8 << 20),
        ("GB/s", 8_000_000_000),
        ("GBps", 8_000_000_000),
        ("GiB/s", 8 << 30),
        ("kB", 8_000),
        ("KB", 8_000),
        ("MB", 8_000_000),
        ("GB", 8_000_000_000),
    ],
    mistaken: &[
        ("bit", "bit/s"),
        ("bits", "bit/s"),
        ("bits/s", "bit/s"),
        ("k", "kbit/s"),
        ("kb", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("kbit", "kbit/s"),
        ("kbits", "kbit/s"),
        ("kbits/s", "kbit/s"),
        ("m", "Mbit/s"),
        ("mb", "Mbit/s"),
        ("mb/s", "Mbit/s"),
        ("mbit", "Mbit/s"),
        ("mbits", "Mbit/s"),
        ("mbits/s", "Mbit/s"),
        ("g", "Gbit/s"),
        ("gb", "Gbit/s"),
        ("gb/s", "Gbit/s"),
        ("gbit", "Gbit/s"),
        ("gbits", "Gbit/s"),
        ("gbits/s", "Gbit/s"),
        ("tbit", "Tbit/s"),
        ("bd", "baud"),
    ],
};

const NANOS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;

/// A bit rate in bit/s.
///
/// ```
/// use longhaul_units::{Duration, Rate, Size};
/// let satellite: Rate = "50 Mbit/s".parse()?;
/// assert_eq!(satellite, Rate::from_bps(50_000_000));
/// assert_eq!(satellite.to_string(), "50 Mbit/s");
/// assert_eq!(satellite.transmission_time(Size::from_bytes(1500)), Duration::from_micros(240));
/// assert_eq!(satellite.bytes_in("600 ms".parse()?), "3.75 MB".parse()?);
/// # Ok::<(), longhaul_units::UnitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

textual!(
    Rate,
    "A bit rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (decimal).",
    r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*([kMGT]?bit/s|[kMG]?bps|baud)\s*$"
);

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_rates_in_decimal_prefixes() {
        for (text, bps) in [
            ("9600 bit/s", 9600),
            ("9600 baud", 9600),
            ("50 Mbit/s", 50_000_000),
            ("2.5 Gbps", 2_500_000_000),
            ("1 Tbit/s", 1_000_000_000_000),
            ("0.3 kbit/s", 300),
        ] {
            assert_eq!(text.parse(), Ok(Rate::from_bps(bps)), "{text}");
        }
        let units = "Gbit/s, Mbit/s, kbit/s, bit/s, Gbps, Mbps, kbps, bps, baud, Tbit/s";
        for (text, message) in [
            ("50", format!(r#""50" has no unit; write for instance "50 Mbit/s" (units: {units})"#)),
            (
                "50 MB/s",
                format!(
                    r#""MB/s" is not a unit of rate (in "50 MB/s"), did you mean "400 Mbit/s"?; units: {units}"#
                ),
            ),
            (
                "50 mbit/s",
                format!(
                    r#""mbit/s" is not a unit of rate (in "50 mbit/s"), did you mean "50 Mbit/s"?; units: {units}"#
                ),
            ),
            (
                "0.5 bit/s",
                r#""0.5 bit/s" cannot be represented: it is finer than the smallest unit"#.to_string(),
            ),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn transmission_time_is_bits_over_rate_rounded_up() {
        for (bps, bytes, nanos) in [
            (100_000_000, 1500, 120_000),  // 12,000 bits at 100 Mbit/s
            (1_000_000_000, 1500, 12_000), // at 1 Gbit/s
            (9600, 1, 833_334),            // 8 bits at 9600 bit/s: 833,333.3 ns
            (3, 1, 2_666_666_667),         // 8/3 s
            (10_000_000_000, 64, 52),      // 51.2 ns
            (50_000_000, 0, 0),
            (1_000_000_000, 10_000_000_000, 80_000_000_000), // beyond 64 bits in between
            (1, u64::MAX, u64::MAX),
        ] {
            let time = Rate::from_bps(bps).transmission_time(Size::from_bytes(bytes));
            assert_eq!(time, Duration::from_nanos(nanos), "{bytes} B at {bps} bit/s");
        }
        assert_eq!(Rate::ZERO.transmission_time(Size::from_bytes(1)), Duration::MAX);
    }

    #[test]
    fn bytes_in_is_the_bandwidth_delay_product() {
        for (bps, millis, bytes) in [
            (100_000_000, 600, 7_500_000),
            (1_000_000_000, 100, 12_500_000),
            (9600, 250, 300),
            (9601, 250, 300), // 300.03: whole bytes only
            (0, 1000, 0),
        ] {
            let product = Rate::from_bps(bps).bytes_in(Duration::from_millis(millis));
            assert_eq!(product, Size::from_bytes(bytes), "{bps} bit/s for {millis} ms");
        }
        assert_eq!(Rate::from_bps(u64::MAX).bytes_in(Duration::MAX), Size::from_bytes(u64::MAX));
    }

    #[test]
    fn from_floats_to_the_nearest() {
        for (bps, rounded) in [(1.4, 1), (1.5, 2), (-3.0, 0), (f64::NAN, 0), (f64::INFINITY, u64::MAX)] {
            assert_eq!(Rate::from_bps_f64(bps), Rate::from_bps(rounded));
        }
    }

    proptest! {
        #[test]
        fn round_trip(bps: u64) {
            let rate = Rate::from_bps(bps);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        #[test]
        fn round_trip_of_round_numbers(count in 0..100_000u64, power in 0..11u32) {
            let rate = Rate::from_bps(count * 10u64.pow(power));
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        /// No link carries more than its rate, and none is slower by a nanosecond.
        #[test]
        fn transmission_time_inverts_bytes_in(bps in 1..1_000_000_000_000u64, bytes in 1..100_000_000u64) {
            let (rate, size) = (Rate::from_bps(bps), Size::from_bytes(bytes));
            let time = rate.transmission_time(size);
            prop_assert!(rate.bytes_in(time) >= size);
            prop_assert!(rate.bytes_in(time - Duration::from_nanos(1)) < size);
        }
    }
}
