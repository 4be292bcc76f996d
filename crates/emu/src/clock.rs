//! The wall clock as time since the start of the run.

use longhaul_units::{Duration, Instant};
use std::time::{self, SystemTime};

/// A clock that stood at zero when it was made. It never goes back (CLOCK_MONOTONIC).
#[derive(Clone, Copy, Debug)]
pub struct Clock(time::Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Clock(time::Instant::now())
    }

    /// The system's instant at the start.
    pub fn base(&self) -> time::Instant {
        self.0
    }

    /// The time of day at the start, as time since 1970-01-01 00:00:00 UTC.
    pub fn time_of_day(&self) -> Duration {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Duration::from_nanos((now.as_nanos() as u64).saturating_sub(self.now().as_nanos()))
    }

    /// Time since the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    /// How long it is until `then`; zero if that is over.
    pub fn until(&self, then: Instant) -> time::Duration {
        time::Duration::from_nanos(then.since(self.now()).as_nanos())
    }
}
