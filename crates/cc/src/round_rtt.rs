//! The round trip time of a round, for rules that decide once per RTT by comparing it with the smallest ever seen
//! (Vegas, Compound, YeAH).

use crate::Ack;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Duration;

/// Which of a round's samples stands for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttOfRound {
    /// That of the round's first segment, whose ACK ends the round: the distinguished segment of Brakmo and Peterson
    /// 1995, section III-B.
    Distinguished,
    /// The mean of all samples (ns-2).
    Mean,
    /// The least: delayed ACKs and bursts of one's own do not count (Linux).
    Least,
    /// SRTT (RFC 6298) as it is when the round ends.
    Smoothed,
}

/// What one round measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    /// Round trip of the segment whose ACK ended the round.
    distinguished: Option<Duration>,
    sum: Duration,
    samples: u32,
    least: Duration,
    smoothed: Duration,
}

impl Round {
    pub fn rtt(&self, which: RttOfRound) -> Option<Duration> {
        match which {
            RttOfRound::Distinguished => self.distinguished,
            RttOfRound::Mean => (self.samples > 0).then(|| self.sum / u64::from(self.samples)),
            RttOfRound::Least => (self.samples > 0).then_some(self.least),
            RttOfRound::Smoothed => (!self.smoothed.is_zero()).then_some(self.smoothed),
        }
    }
}

/// Collects the samples of the round under way.
#[derive(Clone, Debug)]
pub(crate) struct RoundRtt {
    /// BaseRTT: the least sample ever, of data. The handshake does not count: its segments are shorter, and over a path
    /// with a thousand segments in flight the difference would look like a queue.
    base: Duration,
    sum: Duration,
    samples: u32,
    least: Duration,
    /// A whole round has been watched, without recovery, and with cwnd or the receiver's window in full use.
    whole: bool,
}

impl RoundRtt {
    pub fn new() -> Self {
        RoundRtt { base: Duration::MAX, sum: Duration::ZERO, samples: 0, least: Duration::MAX, whole: false }
    }
    /// BaseRTT: the least round trip of data so far; [`Duration::MAX`] before the first.
    pub fn base(&self) -> Duration {
        self.base
    }

    /// Takes every ACK. When one ends a round that was whole, what the round measured.
    pub fn observe(&mut self, ack: &Ack) -> Option<Round> {
        let mut ended = None;
        if ack.round_start {
            if self.whole {
                let RoundRtt { sum, samples, least, .. } = *self;
                ended = Some(Round { distinguished: ack.rtt, sum, samples, least, smoothed: ack.srtt });
            }
            self.forget();
            self.whole = true;
        }
        if ack.in_recovery || (ack.app_limited && !ack.receiver_limited) {
            self.whole = false;
            ended = None;
        }
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            self.sum += rtt;
            self.samples += 1;
            self.least = self.least.min(rtt);
        }
        ended
    }

    /// What was collected in this round is stale.
    pub fn forget(&mut self) {
        *self = RoundRtt { base: self.base, ..RoundRtt::new() };
    }
}

/// Segments that a window of `segments` keeps waiting in the network: Diff * BaseRTT of Brakmo and Peterson 1995, where
/// Diff = Expected - Actual, Expected = W / BaseRTT and Actual = W / RTT.
///
/// ```
/// use longhaul_cc::queued_segments;
/// use longhaul_units::Duration;
/// // 20 segments in 125 ms where 100 ms would do: 16 are on their way, 4 wait.
/// assert!((queued_segments(20.0, Duration::from_millis(100), Duration::from_millis(125)) - 4.0).abs() < 1e-9);
/// ```
pub fn queued_segments(segments: f64, base_rtt: Duration, rtt: Duration) -> f64 {
    if rtt.is_zero() {
        return 0.0;
    }
    segments * (1.0 - base_rtt.as_secs_f64() / rtt.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack_at;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn ack(rtt: u64, round_start: bool) -> Ack {
        Ack { rtt: Some(ms(rtt)), round_start, ..ack_at(0, 1000) }
    }

    #[test]
    fn a_round_has_a_first_a_mean_and_a_least_round_trip() {
        let mut rtts = RoundRtt::new();
        assert_eq!(rtts.observe(&ack(100, true)), None); // the round before was not watched
        for rtt in [130, 160] {
            assert_eq!(rtts.observe(&ack(rtt, false)), None);
        }
        let round = rtts.observe(&ack(120, true)).unwrap();
        assert_eq!(round.rtt(RttOfRound::Distinguished), Some(ms(120)));
        assert_eq!(round.rtt(RttOfRound::Mean), Some(ms(130)));
        assert_eq!(round.rtt(RttOfRound::Least), Some(ms(100)));
        assert_eq!(round.rtt(RttOfRound::Smoothed), Some(ms(100)));
    }

    #[test]
    fn a_round_with_recovery_or_unused_window_measures_nothing() {
        for spoilt in
            [Ack { in_recovery: true, ..ack(100, false) }, Ack { app_limited: true, ..ack(100, false) }]
        {
            let mut rtts = RoundRtt::new();
            rtts.observe(&ack(100, true));
            rtts.observe(&spoilt);
            assert_eq!(rtts.observe(&ack(100, true)), None);
            assert!(rtts.observe(&ack(100, true)).is_some());
        }
    }

    /// Section III-B takes the window for the bytes in transit: where the receiver's window is the limit, these fill it.
    #[test]
    fn a_round_that_the_receiver_limits_measures() {
        let mut rtts = RoundRtt::new();
        rtts.observe(&ack(100, true));
        rtts.observe(&Ack { app_limited: true, receiver_limited: true, ..ack(100, false) });
        assert!(rtts.observe(&ack(100, true)).is_some());
    }

    /// Brakmo and Peterson 1995, section III-B: with a BaseRTT of 100 ms and segments of 1 KB, alpha = 30 KB/s means at
    /// least three extra buffers, beta = 60 KB/s at most six. 100 segments are expected to bring 1000 KB/s; an actual
    /// rate lower by 30 KB/s means an RTT of 100 / 0.97 ms.
    #[test]
    fn thirty_kilobytes_a_second_over_100_ms_are_three_buffers() {
        for (diff, buffers) in [(30.0, 3.0), (60.0, 6.0)] {
            let rtt = Duration::from_secs_f64(100.0 / (1000.0 - diff));
            let queued = queued_segments(100.0, ms(100), rtt);
            assert!((queued - buffers).abs() < 1e-5, "{queued}");
        }
    }
}
