//! For how long data have waited for the path, which only their sender can see.

use longhaul_units::{Duration, Instant};

/// A report is due when it has grown by so much.
const STEP: Duration = Duration::from_millis(250);

/// A sum of times, which the rate controller's pauses begin and a lack of data ends.
#[derive(Default)]
pub(super) struct Waiting {
    /// Since when something waits, as far as it is not in the sum.
    since: Option<Instant>,
    sum: Duration,
    reported: Duration,
}

impl Waiting {
    /// Whether something waits for the path from now on.
    pub fn set(&mut self, now: Instant, waits: bool) {
        self.sum += self.since.map_or(Duration::ZERO, |since| now.since(since));
        self.since = waits.then_some(now);
    }

    /// All until the last call of [`Waiting::set`] or [`Waiting::report`].
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// The sum in milliseconds, if it has grown so much since the last report that the next one is due.
    pub fn report(&mut self, now: Instant) -> Option<u64> {
        self.set(now, self.since.is_some());
        let due = self.sum >= self.reported + STEP;
        due.then(|| {
            self.reported = self.sum;
            self.sum.as_nanos() / 1_000_000
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_has_the_time_between_begin_and_end_and_is_reported_in_steps() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut waiting = Waiting::default();
        waiting.set(at(50), false);
        assert_eq!((waiting.sum(), waiting.report(at(60))), (Duration::ZERO, None));
        waiting.set(at(100), true);
        waiting.set(at(150), true);
        assert_eq!(waiting.report(at(349)), None);
        assert_eq!(waiting.report(at(360)), Some(260));
        assert_eq!(waiting.report(at(370)), None);
        waiting.set(at(400), false);
        waiting.set(at(900), false);
        assert_eq!((waiting.sum(), waiting.report(at(950))), (Duration::from_millis(300), None));
        waiting.set(at(1000), true);
        assert_eq!(waiting.report(at(1300)), Some(600));
    }
}
