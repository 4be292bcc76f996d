//! Release times of segments when congestion control sets a rate.

use longhaul_units::{Instant, Rate, Size};

#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    pub rate: Option<Rate>,
    /// The next segment may leave at this time.
    next: Instant,
    /// Segments that may leave back to back after a pause.
    burst: u64,
}

impl Pacer {
    pub fn new(burst: u32) -> Self {
        Pacer { rate: None, next: Instant::ZERO, burst: u64::from(burst.max(1)) }
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
        let Some(rate) = self.rate else { return };
        let interval = rate.transmission_time(Size::from_bytes(bytes));
        let credit = interval.saturating_mul(self.burst - 1).as_nanos();
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(credit));
        self.next = self.next.max(earliest) + interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes at 8 Mbit/s take 1 ms.
    fn departures(burst: u32) -> Vec<u64> {
        let mut pacer = Pacer::new(burst);
        pacer.rate = Some(Rate::from_bps(8_000_000));
        let mut now = Instant::from_nanos(10_000_000);
        (0..5)
            .map(|_| {
                now = pacer.held_until(now).unwrap_or(now);
                pacer.sent(now, 1000);
                now.as_nanos() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn segments_are_spaced_at_the_rate() {
        assert_eq!(departures(1), [10, 11, 12, 13, 14]);
    }

    #[test]
    fn a_burst_of_three_leaves_at_once() {
        assert_eq!(departures(3), [10, 10, 10, 11, 12]);
    }
}
