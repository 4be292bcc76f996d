//! Round trip time estimation and the retransmission timeout (RFC 6298).

use crate::Config;
use crate::ticks::Ticks;
use longhaul_units::{Duration, Instant};

/// RFC 5681 and RFC 6298 section 5.7: the RTO after a lost SYN.
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);

/// Estimates the round trip time from samples.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Smoothed round trip time; zero before the first sample.
    pub srtt: Duration,
    /// Round trip time variation.
    pub rttvar: Duration,
    /// In force, back-off included.
    rto: Duration,
    /// The latest round trip observed; zero before the first.
    pub latest: Duration,
    /// The smallest round trip observed; [`Duration::MAX`] before the first.
    pub min: Duration,
    initial_rto: Duration,
    min_rto: Duration,
    max_rto: Duration,
    granularity: Duration,
    /// Where RTTVAR follows once a round trip.
    by_round: Option<Box<VariationByRound>>,
    /// Where it is estimated in whole ticks.
    ticks: Option<Box<Ticks>>,
}

/// How Linux estimates the variation (`tcp_rtt_estimator`): a mean deviation as RFC 6298's, which a round trip shorter than SRTT moves by
/// less, and RTTVAR its largest value in a round trip, or a quarter nearer to it each.
#[derive(Clone, Debug, Default)]
struct VariationByRound {
    deviation: u64,
    /// The largest of the round trip under way, at least a quarter of the granularity.
    largest: u64,
    /// The round trip ends once more than this is acknowledged.
    until: u64,
}

impl VariationByRound {
    /// A sample that differs by `error` from SRTT; returns RTTVAR.
    fn update(&mut self, error: i64, rttvar: u64, least: u64, (una, max): (u64, u64)) -> u64 {
        let mut step = error.unsigned_abs() as i64 - self.deviation as i64;
        if error < 0 && step > 0 {
            step /= 8;
        }
        self.deviation = (self.deviation as i64 + step / 4).max(0) as u64;
        self.largest = self.largest.max(self.deviation);
        let mut rttvar = rttvar.max(self.largest);
        if una > self.until {
            rttvar -= (rttvar - self.largest) / 4;
            (self.until, self.largest) = (max, least);
        }
        rttvar
    }
}

impl RttEstimator {
    /// With the timer's settings of `config`.
    pub fn new(config: &Config) -> Self {
        let initial_rto = config.initial_rto.max(Duration::from_nanos(1));
        RttEstimator {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            rto: initial_rto,
            latest: Duration::ZERO,
            min: Duration::MAX,
            initial_rto,
            min_rto: config.min_rto.max(Duration::from_nanos(1)),
            max_rto: config.max_rto.max(config.min_rto),
            granularity: config.clock_granularity,
            by_round: config.variation_by_round.then(Box::default),
            ticks: config.rto_in_ticks.then(|| Box::new(Ticks::new(config.clock_granularity))),
        }
    }
    /// The retransmission timeout, back-off included.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.rto
    }
    /// A round trip as reported to congestion control.
    #[inline]
    pub fn observe(&mut self, rtt: Duration) {
        self.latest = rtt;
        self.min = self.min.min(rtt);
    }
    /// Sections 2.2 and 2.3; a new estimate also ends a back-off (section 5, end).
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        if self.srtt.is_zero() {
            self.srtt = rtt.max(Duration::from_nanos(1));
            self.rttvar = rtt / 2;
        } else {
            // beta = 1/4, alpha = 1/8. RTTVAR first: it uses the old SRTT.
            let (srtt, r) = (self.srtt.as_nanos(), rtt.as_nanos());
            self.rttvar = Duration::from_nanos((3 * self.rttvar.as_nanos() + srtt.abs_diff(r)) / 4);
            self.srtt = Duration::from_nanos(((7 * srtt + r) / 8).max(1));
        }
        self.end_back_off();
    }
    /// The round trip of the one segment that is timed: sent at `sent`, acknowledged `now`.
    #[inline(never)]
    pub(crate) fn sample_timed(&mut self, sent: Instant, now: Instant) {
        match &self.ticks {
            Some(ticks) => self.sample_in_ticks(ticks.between(sent, now)),
            None => self.sample(now.since(sent)),
        }
    }
    /// A round trip that a timestamp measured.
    #[inline(never)]
    pub(crate) fn sample_echoed(&mut self, rtt: Duration) {
        match &self.ticks {
            Some(ticks) => self.sample_in_ticks(ticks.rounded(rtt)),
            None => self.sample(rtt),
        }
    }
    fn sample_in_ticks(&mut self, count: u64) {
        let Some(ticks) = &mut self.ticks else { return };
        ticks.sample(count);
        (self.srtt, self.rttvar) = (ticks.srtt(), ticks.rttvar());
        self.end_back_off();
    }
    /// A sample where it is estimated in whole ticks, or RTTVAR follows once a round trip, of a sender whose SND.UNA is `una`, and
    /// SND.MAX `max`; otherwise a sample as any.
    #[inline(never)]
    pub(crate) fn sample_by_round(&mut self, rtt: Duration, una: u64, max: u64) {
        let Some(variation) = &mut self.by_round else { return self.sample_echoed(rtt) };
        let (srtt, rtt, least) = (self.srtt.as_nanos(), rtt.as_nanos(), self.granularity.as_nanos() / 4);
        if srtt == 0 {
            self.srtt = Duration::from_nanos(rtt.max(1));
            let rttvar = (rtt / 2).max(least);
            self.rttvar = Duration::from_nanos(rttvar);
            **variation = VariationByRound { deviation: rtt / 2, largest: rttvar, until: max };
            return self.end_back_off();
        }
        let error = rtt as i64 - srtt as i64;
        self.rttvar =
            Duration::from_nanos(variation.update(error, self.rttvar.as_nanos(), least, (una, max)));
        self.srtt = Duration::from_nanos(((7 * srtt + rtt) / 8).max(1));
        self.end_back_off();
    }
    /// The RTO of the estimate, if there is one.
    pub(crate) fn end_back_off(&mut self) {
        if !self.srtt.is_zero() {
            let variation = Duration::from_nanos(4 * self.rttvar.as_nanos()).max(self.granularity);
            let rto = self.ticks.as_ref().map_or(self.srtt + variation, |ticks| ticks.rto());
            self.rto = rto.max(self.min_rto).min(self.max_rto);
        }
    }
    /// A back-off ends without a sample (RFC 8961 section 4), even before the first.
    pub fn forget_back_off(&mut self) {
        self.rto = self.initial_rto;
        self.end_back_off();
    }
    /// Section 5.5.
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.max_rto);
        if let Some(ticks) = &mut self.ticks {
            ticks.back_off();
        }
    }
    /// Section 5.7: the SYN was lost, no round trip is known, and data begins.
    pub(crate) fn after_syn_loss(&mut self) {
        if self.srtt.is_zero() {
            self.rto = RTO_AFTER_SYN_LOSS.min(self.max_rto);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }
    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }
    fn without_floor() -> RttEstimator {
        RttEstimator::new(&Config { min_rto: Duration::ZERO, ..Config::default() })
    }

    /// RFC 6298 section 2.1: "the sender SHOULD set RTO <- 1 second".
    #[test]
    fn the_first_rto_is_one_second() {
        assert_eq!(RttEstimator::new(&Config::default()).rto(), ms(1000));
    }

    /// RFC 6298 sections 2.2 and 2.3, worked by hand for samples of 100, 100, 200 and 60 ms.
    #[test]
    fn srtt_rttvar_and_rto_follow_the_formulas() {
        let mut rtt = without_floor();
        // SRTT = 100, RTTVAR = 50, RTO = 100 + 4*50.
        rtt.sample(ms(100));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.rto()), (ms(100), ms(50), ms(300)));
        // RTTVAR = 3/4*50 + 1/4*0 = 37.5; SRTT = 100; RTO = 100 + 150.
        rtt.sample(ms(100));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.rto()), (ms(100), us(37_500), ms(250)));
        // RTTVAR = 28.125 + 25 = 53.125; SRTT = 87.5 + 25 = 112.5; RTO = 112.5 + 212.5.
        rtt.sample(ms(200));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.rto()), (us(112_500), us(53_125), ms(325)));
        // RTTVAR = 39.84375 + 52.5/4 = 52.96875; SRTT = 98.4375 + 7.5 = 105.9375; RTO = 105.9375 + 211.875.
        rtt.sample(ms(60));
        assert_eq!(rtt.srtt, Duration::from_nanos(105_937_500));
        assert_eq!(rtt.rttvar, Duration::from_nanos(52_968_750));
        assert_eq!(rtt.rto(), Duration::from_nanos(317_812_500));
    }

    /// RFC 6298 section 2.4: "if it is less than 1 second, then the RTO SHOULD be rounded up to 1 second".
    #[test]
    fn the_rto_has_a_floor_and_a_ceiling() {
        let mut rtt = RttEstimator::new(&Config::default());
        rtt.sample(ms(100));
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(Duration::from_secs(300));
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }

    /// RFC 6298 section 2.3: RTO = SRTT + max(G, K*RTTVAR).
    #[test]
    fn the_granularity_is_the_least_variation() {
        let mut rtt = RttEstimator::new(&Config {
            min_rto: Duration::ZERO,
            clock_granularity: ms(500),
            ..Config::default()
        });
        rtt.sample(ms(100));
        assert_eq!(rtt.rto(), ms(600));
    }

    /// RFC 6298 section 5.5, and Karn's rule: the backed-off RTO holds until the next sample.
    #[test]
    fn back_off_doubles_up_to_the_ceiling() {
        let mut rtt = RttEstimator::new(&Config::default());
        let series: Vec<_> = (0..8)
            .map(|_| {
                rtt.back_off();
                rtt.rto()
            })
            .collect();
        assert_eq!(series, [2, 4, 8, 16, 32, 60, 60, 60].map(Duration::from_secs));
        rtt.sample(ms(400));
        assert_eq!(rtt.rto(), ms(1200));
    }

    /// RFC 8961 section 4: a back-off may also end when data that was not sent again has arrived, though its round trip is
    /// not known.
    #[test]
    fn a_back_off_ends_without_a_sample() {
        let mut rtt = RttEstimator::new(&Config::default());
        (0..3).for_each(|_| rtt.back_off());
        rtt.forget_back_off();
        assert_eq!(rtt.rto(), ms(1000), "no sample yet: RFC 6298 section 2.1");
        rtt.sample(ms(2000));
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(12_000));
        rtt.forget_back_off();
        assert_eq!(rtt.rto(), ms(6000), "SRTT 2 s, RTTVAR 1 s");
    }

    /// RFC 6298 section 5.7.
    #[test]
    fn a_lost_syn_makes_it_three_seconds() {
        let mut rtt = RttEstimator::new(&Config::default());
        rtt.back_off();
        rtt.after_syn_loss();
        assert_eq!(rtt.rto(), Duration::from_secs(3));
    }

    /// tcp_rtt_estimator() by hand: a first sample of 600 ms gives four times a deviation of 300. Equal samples move it only when a round
    /// is over, by a quarter of the way to the least, 200 ms.
    #[test]
    fn the_variation_may_follow_once_a_round_trip() {
        let mut rtt = RttEstimator::new(&Config {
            variation_by_round: true,
            clock_granularity: ms(200),
            min_rto: ms(200),
            ..Config::default()
        });
        rtt.sample_by_round(ms(600), 1, 10_001);
        assert_eq!(rtt.rto(), ms(1_800));
        for una in 1..=10u64 {
            rtt.sample_by_round(ms(600), 1_000 * una + 1, 20_001);
        }
        assert_eq!(rtt.rto(), ms(1_800), "the round is not over");
        rtt.sample_by_round(ms(600), 10_002, 20_001);
        assert_eq!(rtt.rto(), ms(1_800), "its largest was the first sample's");
        rtt.sample_by_round(ms(600), 20_002, 30_001);
        assert_eq!(rtt.rto(), ms(1_550), "1200 - (1200 - 200) / 4");
        rtt.sample_by_round(ms(600), 30_002, 40_001);
        assert_eq!(rtt.rto().as_nanos() / 100_000, 13_625, "950 - (950 - 200) / 4");
    }

    /// BSD's integers with ticks of 100 ms, by hand: a round trip of 450 ms that sees five ticks has an RTO of 5 + 10 ticks; equal ones
    /// bring it down to 5 + 3, never to a smallest RTO of 200 ms or to RFC 6298's 450 + 100 ms.
    #[test]
    fn in_ticks_the_rto_stays_three_ticks_above_srtt() {
        let mut rtt = RttEstimator::new(&Config {
            rto_in_ticks: true,
            clock_granularity: ms(100),
            min_rto: ms(200),
            ..Config::default()
        });
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        rtt.sample_timed(at(60), at(510));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.rto()), (ms(500), ms(250), ms(1_500)));
        (0..10).for_each(|_| rtt.sample_timed(at(60), at(510)));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.rto()), (ms(500), ms(75), ms(800)));
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(1_600));
        rtt.sample_by_round(ms(470), 0, 0);
        assert_eq!(rtt.rto(), ms(800), "timestamps: rounded to five ticks");
    }
}
