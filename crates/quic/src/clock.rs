//! Virtual time as quinn-proto takes it: instants of the standard library, counted from one that the owner gives.

use longhaul_units::{Duration, Instant};

/// Converts between a run's time and the standard library's.
///
/// quinn-proto only compares instants and subtracts them, so which one a run begins with changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: std::time::Instant,
}

impl Clock {
    /// A clock on which time 0 of the run is `base`: any instant in virtual time, the present one on the wall clock.
    pub fn new(base: std::time::Instant) -> Self {
        Clock { base }
    }

    /// The standard library's instant for a time of the run.
    pub fn to_std(self, time: Instant) -> std::time::Instant {
        self.base + std::time::Duration::from_nanos(time.as_nanos())
    }

    /// The time of the run; zero before it began, and never later than [`Instant::FAR_FUTURE`].
    pub fn from_std(self, time: std::time::Instant) -> Instant {
        let since = time.saturating_duration_since(self.base).as_nanos();
        Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

/// The standard library's duration of the same length.
pub(crate) fn to_std(time: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(time.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_exact_to_the_nanosecond() {
        let clock = Clock::new(std::time::Instant::now());
        for nanos in [0, 1, 999_999_999, 1_000_000_001, 10 * 365 * 86_400 * 1_000_000_000] {
            let time = Instant::from_nanos(nanos);
            assert_eq!(clock.from_std(clock.to_std(time)), time);
        }
    }
}
