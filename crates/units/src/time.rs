//! Points in time and spans of time, in whole nanoseconds.

use crate::text::{Grammar, textual};
use std::ops::{Add, AddAssign, Mul, Sub};

pub(crate) const GRAMMAR: Grammar = Grammar {
    quantity: "time",
    example: "250 ms",
    units: &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
    // The micro sign and the Greek letter.
    aliases: &[("\u{b5}s", 1_000), ("\u{3bc}s", 1_000), ("min", 60_000_000_000), ("h", 3_600_000_000_000)],
    in_bytes: &[],
    mistaken: &[
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("msec", "ms"),
        ("msecs", "ms"),
        ("millis", "ms"),
        ("millisecond", "ms"),
        ("milliseconds", "ms"),
        ("usec", "us"),
        ("usecs", "us"),
        ("microsecond", "us"),
        ("microseconds", "us"),
        ("nsec", "ns"),
        ("nanoseconds", "ns"),
        ("mins", "min"),
        ("minute", "min"),
        ("minutes", "min"),
        ("hr", "h"),
        ("hrs", "h"),
        ("hour", "h"),
        ("hours", "h"),
    ],
};

/// A span of time: 0 ns to 584 years.
///
/// ```
/// use longhaul_units::Duration;
/// assert_eq!("250 ms".parse(), Ok(Duration::from_millis(250)));
/// assert_eq!("1.5 s".parse(), Ok(Duration::from_millis(1500)));
/// assert_eq!((Duration::from_millis(250) * 2).to_string(), "500 ms");
/// assert!("250".parse::<Duration>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

textual!(
    Duration,
    "A time with its unit: ns, us, ms, s, min, h.",
    r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(ns|us|\u00b5s|\u03bcs|ms|s|min|h)\s*$"
);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest span, 584 years; stands for "never ends".
    pub const MAX: Duration = Duration(u64::MAX);

    /// From nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }
    /// From microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros.saturating_mul(1_000))
    }
    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis.saturating_mul(1_000_000))
    }
    /// From whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Duration(seconds.saturating_mul(1_000_000_000))
    }
    /// From seconds, to the nearest nanosecond; negative values and NaN give zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Duration((seconds * 1e9 + 0.5) as u64)
    }
    /// In nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// True for no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// This span `factor` times, at most [`Duration::MAX`].
    pub const fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
    /// This span times a factor that is not negative, to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Duration {
        Duration((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        debug_assert!(self.0 >= other.0, "a span of time is never negative");
        Duration(self.0.saturating_sub(other.0))
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        self.saturating_mul(factor)
    }
}
impl std::ops::Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

/// A point in time: nanoseconds since the start of the run.
///
/// ```
/// use longhaul_units::{Duration, Instant};
/// let sent = Instant::ZERO + Duration::from_millis(100);
/// let acknowledged = sent + Duration::from_millis(600);
/// assert_eq!(acknowledged - sent, Duration::from_millis(600));
/// assert_eq!(sent.since(acknowledged), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// The end of time; stands for "never".
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// From nanoseconds since the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }
    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Time that has passed since `earlier`; zero if it has not come yet.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, span: Duration) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}
impl Sub<Instant> for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        debug_assert!(self.0 >= earlier.0, "time runs forward");
        self.since(earlier)
    }
}
impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        GRAMMAR.print(f, self.0)
    }
}
impl std::fmt::Debug for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        GRAMMAR.print(f, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Duration::MAX + Duration::from_secs(1), Duration::MAX);
        assert_eq!(Duration::MAX * 2, Duration::MAX);
        assert_eq!(Duration::from_secs(u64::MAX), Duration::MAX);
        assert_eq!(Duration::from_millis(u64::MAX), Duration::MAX);
        assert_eq!(Duration::from_micros(u64::MAX), Duration::MAX);
        assert_eq!(Duration::from_millis(1).saturating_sub(Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(Instant::FAR_FUTURE + Duration::from_secs(1), Instant::FAR_FUTURE);
    }

    #[test]
    fn from_floats_to_the_nearest() {
        for (seconds, nanos) in
            [(0.1, 100_000_000), (1e-9, 1), (4e-10, 0), (-1.0, 0), (f64::NAN, 0), (f64::INFINITY, u64::MAX)]
        {
            assert_eq!(Duration::from_secs_f64(seconds), Duration::from_nanos(nanos));
        }
        assert_eq!(Duration::from_millis(100).mul_f64(1.5), Duration::from_millis(150));
        assert_eq!(Duration::from_millis(100).mul_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::MAX.mul_f64(2.0), Duration::MAX);
    }

    #[test]
    fn instants_print_as_times() {
        assert_eq!((Instant::ZERO + Duration::from_millis(1500)).to_string(), "1.5 s");
        assert_eq!(Instant::from_nanos(250_000_000).as_secs_f64(), 0.25);
    }

    proptest! {
        #[test]
        fn round_trip(nanos: u64) {
            let time = Duration::from_nanos(nanos);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
            let json = serde_json::to_string(&time).unwrap();
            prop_assert_eq!(serde_json::from_str::<Duration>(&json).unwrap(), time);
        }
        #[test]
        fn round_trip_of_round_numbers(count in 0..100_000u64, power in 0..14u32) {
            let time = Duration::from_nanos(count * 10u64.pow(power));
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
        #[test]
        fn adding_and_taking_away(start in 0..u64::MAX / 2, span in 0..u64::MAX / 2) {
            let (start, span) = (Instant::from_nanos(start), Duration::from_nanos(span));
            prop_assert_eq!((start + span) - start, span);
            prop_assert_eq!((start + span).since(start), span);
        }
    }
}
