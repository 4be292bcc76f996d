//! Round trips in whole ticks of a coarse clock, estimated with integers, as in BSD (Jacobson and Karels 1988, appendix A) and in ns-2.
//!
//! SRTT is kept in eighths of a tick, RTTVAR in quarters. Shifts round down, so that RTTVAR never sinks below three quarters of a tick
//! once it was above that: the RTO stays three ticks above SRTT, however steady round trips are.

use longhaul_units::{Duration, Instant};

/// After so many doublings the estimate is forgotten: the next sample is as the first (`rtt_backoff` of ns-2).
const FORGOTTEN_AFTER: u32 = 4;

/// The estimate, in ticks.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    /// Nanoseconds of a tick, above 0.
    length: u64,
    /// SRTT in eighths of a tick; 0 before the first sample, and where the estimate was forgotten.
    srtt: i64,
    /// RTTVAR in quarters of a tick.
    rttvar: i64,
    /// SRTT + 4 RTTVAR of the last sample, in ticks.
    rto: u64,
    back_offs: u32,
}

impl Ticks {
    /// Of a clock whose ticks have this length.
    pub fn new(length: Duration) -> Self {
        Ticks { length: length.as_nanos().max(1), srtt: 0, rttvar: 0, rto: 0, back_offs: 0 }
    }
    /// Ticks of the clock from `sent` to `now`, at least one: what a counter has seen that each tick increases.
    pub fn between(&self, sent: Instant, now: Instant) -> u64 {
        (now.as_nanos() / self.length).saturating_sub(sent.as_nanos() / self.length).max(1)
    }
    /// A round trip that timestamps measured: rounded to ticks, at least one.
    pub fn rounded(&self, rtt: Duration) -> u64 {
        ((rtt.as_nanos() + self.length / 2) / self.length).max(1)
    }
    /// A round trip of so many ticks.
    pub fn sample(&mut self, ticks: u64) {
        let ticks = i64::try_from(ticks).unwrap_or(i64::MAX / 16).min(i64::MAX / 16);
        if self.srtt == 0 {
            (self.srtt, self.rttvar) = (ticks << 3, ticks << 1);
        } else {
            let error = ticks - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
        }
        self.back_offs = 0;
        self.rto = (((self.rttvar << 3) + self.srtt) >> 3) as u64;
    }
    /// SRTT.
    pub fn srtt(&self) -> Duration {
        Duration::from_nanos((self.srtt as u64).saturating_mul(self.length) / 8)
    }
    /// RTTVAR.
    pub fn rttvar(&self) -> Duration {
        Duration::from_nanos((self.rttvar as u64).saturating_mul(self.length) / 4)
    }
    /// The RTO of the last sample, at least two ticks.
    pub fn rto(&self) -> Duration {
        Duration::from_nanos(self.rto.max(2).saturating_mul(self.length))
    }
    /// A timeout.
    pub fn back_off(&mut self) {
        self.back_offs += 1;
        if self.back_offs >= FORGOTTEN_AFTER {
            self.srtt = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }
    /// RTO in ticks after each of the samples, with ticks of 100 ms.
    fn rtos(samples: &[u64]) -> Vec<u64> {
        let mut ticks = Ticks::new(ms(100));
        let each = samples.iter().map(|&sample| {
            ticks.sample(sample);
            ticks.rto().as_nanos() / 100_000_000
        });
        each.collect()
    }

    /// By hand. First sample: SRTT 40 eighths, RTTVAR 10 quarters; (8 x 10 + 40) / 8 = 15. Equal ones leave SRTT at 5 ticks, and
    /// RTTVAR goes 10, 8, 6, 5, 4, 3, 3 quarters.
    #[test]
    fn steady_round_trips_leave_three_ticks_above_srtt() {
        assert_eq!(rtos(&[5; 8]), [15, 13, 11, 10, 9, 8, 8, 8]);
    }

    /// By hand, from SRTT 40 eighths and RTTVAR 3 quarters. 9 ticks: error 4, SRTT 44, RTTVAR 3 + 4 - 0 = 7, (56 + 44) / 8 = 12.
    /// 1 tick: error 1 - 5 = -4, SRTT 40, RTTVAR 7 + 4 - 1 = 10, (80 + 40) / 8 = 15.
    #[test]
    fn a_swing_widens_it() {
        assert_eq!(rtos(&[5, 5, 5, 5, 5, 5, 9, 1])[5..], [8, 12, 15]);
    }

    /// By hand: a first sample of one tick is SRTT 8 eighths and RTTVAR 2 quarters, from which equal ones do not move: 1 + 2 ticks.
    #[test]
    fn a_short_first_round_trip_keeps_two_quarters() {
        assert_eq!(rtos(&[1, 1, 1]), [3, 3, 3]);
    }

    #[test]
    fn a_round_trip_has_as_many_ticks_as_its_clock_shows() {
        let ticks = Ticks::new(ms(100));
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        assert_eq!(ticks.between(at(130), at(280)), 1, "150 ms, one tick at 200");
        assert_eq!(ticks.between(at(180), at(330)), 2, "150 ms, ticks at 200 and 300");
        assert_eq!(ticks.between(at(110), at(120)), 1, "at least one");
        assert_eq!(ticks.rounded(ms(149)), 1);
        assert_eq!(ticks.rounded(ms(150)), 2);
    }

    /// `rtt_backoff` of ns-2 forgets SRTT once the factor is above 8: the sample after four timeouts is as the first. 2 ticks:
    /// SRTT 16, RTTVAR 4, (32 + 16) / 8 = 6.
    #[test]
    fn four_timeouts_forget_the_estimate() {
        let mut ticks = Ticks::new(ms(100));
        ticks.sample(5);
        (0..3).for_each(|_| ticks.back_off());
        ticks.sample(5);
        assert_eq!(ticks.rto(), ms(1_300), "three do not");
        (0..4).for_each(|_| ticks.back_off());
        assert_eq!(ticks.rto(), ms(1_300), "the RTO stays until the next sample");
        ticks.sample(2);
        assert_eq!(ticks.rto(), ms(600));
    }
}
