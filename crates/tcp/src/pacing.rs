//! Release times of segments when congestion control sets a rate.

use longhaul_units::{Instant, Rate, Size};

#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    pub rate: Option<Rate>,
    /// The next segment may leave at this time.
    next: Instant,
    /// Beyond the first, segments that may leave back to back after a pause.
    credit: f64,
    /// So many segments more have no successor that waits.
    unpaced: u32,
}

impl Pacer {
    /// `burst` segments may leave back to back, at least one; the first `unpaced` of the connection do so at any rate.
    pub fn new(burst: f64, unpaced: u32) -> Self {
        Pacer {
            rate: None,
            next: Instant::ZERO,
            credit: (burst - 1.0).max(0.0),
            unpaced: unpaced.saturating_sub(1),
        }
    }
    /// When the next segment may leave, if that is still to come.
    #[inline]
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        (self.rate.is_some() && self.next > now).then_some(self.next)
    }
    /// A segment left: the next follows as long after as this one takes at the pacing rate. Time that passed unused
    /// is credited for at most `burst - 1` segments.
    #[inline]
    pub fn sent(&mut self, now: Instant, bytes: u64) {
        if self.unpaced > 0 {
            self.unpaced -= 1;
            return;
        }
        let Some(rate) = self.rate else { return };
        let interval = rate.transmission_time(Size::from_bytes(bytes));
        let credit = (interval.as_nanos() as f64 * self.credit) as u64;
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(credit));
        self.next = self.next.max(earliest) + interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes at 8 Mbit/s take 1 ms.
    fn departures(burst: f64, unpaced: u32) -> Vec<f64> {
        let mut pacer = Pacer::new(burst, unpaced);
        pacer.rate = Some(Rate::from_bps(8_000_000));
        let mut now = Instant::from_nanos(10_000_000);
        (0..5)
            .map(|_| {
                now = pacer.held_until(now).unwrap_or(now);
                pacer.sent(now, 1000);
                now.as_nanos() as f64 / 1e6
            })
            .collect()
    }

    #[test]
    fn segments_are_spaced_at_the_rate() {
        assert_eq!(departures(1.0, 0), [10.0, 11.0, 12.0, 13.0, 14.0]);
    }

    #[test]
    fn a_burst_of_three_leaves_at_once() {
        assert_eq!(departures(3.0, 0), [10.0, 10.0, 10.0, 11.0, 12.0]);
    }

    #[test]
    fn half_a_segment_is_credited_after_a_pause() {
        assert_eq!(departures(1.5, 0), [10.0, 10.5, 11.5, 12.5, 13.5]);
    }

    #[test]
    fn the_first_segments_of_a_connection_are_not_paced() {
        assert_eq!(departures(1.0, 3), [10.0, 10.0, 10.0, 11.0, 12.0]);
    }
}
