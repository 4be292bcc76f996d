//! HyStart (Ha and Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55, 2011), with the numbers of Linux 6.1's
//! CUBIC: slow start ends when ACKs have come back to back for half a round trip (the train is as long as the path), or when
//! the round trip has grown by an eighth (a queue builds up). Linux counts what is acked, without a limit.

use crate::params::{SlowStartSpec, Spec};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Congestion, CongestionKind, Growth, Pacing, Setup, SlowStart, Window};
use longhaul_units::{Duration, Instant};

/// Parameters of [`Hystart`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HystartParams {
    /// Look at ACK trains.
    #[schemars(extend("x-unit" = "true or false"))]
    pub ack_train: bool,
    /// Look at the round trip time.
    #[schemars(extend("x-unit" = "true or false"))]
    pub delay: bool,
    /// hystart_low_window: below this window nothing is looked at.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "segments"))]
    pub low_window: u32,
    /// hystart_ack_delta: ACKs with no larger gaps are a train.
    pub ack_delta: Duration,
    /// What the sending host may hold segments back, which an ACK train is allowed beyond the round trip.
    pub host_delay: Duration,
    /// HYSTART_DELAY_MIN: no smaller rise of the round trip counts.
    pub delay_min: Duration,
    /// HYSTART_DELAY_MAX: the threshold is never larger.
    pub delay_max: Duration,
    /// HYSTART_MIN_SAMPLES: round trips of a round that are looked at.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "samples"))]
    pub samples: u32,
}

impl Default for HystartParams {
    fn default() -> Self {
        HystartParams {
            ack_train: true,
            delay: true,
            low_window: 16,
            ack_delta: Duration::from_millis(2),
            host_delay: Duration::from_millis(1),
            delay_min: Duration::from_millis(4),
            delay_max: Duration::from_millis(16),
            samples: 8,
        }
    }
}

impl Spec for HystartParams {
    const NAME: &'static str = "hystart";
    const SOURCE: &'static str = "Ha and Rhee 2011; Linux 6.1";
    const SUMMARY: &'static str =
        "leaves slow start upon a long train of ACKs or a rise of the round trip time";

    fn check(&self) -> Result<(), String> {
        if self.delay_min <= self.delay_max {
            return Ok(());
        }
        Err(format!("delay_min ({}) must not exceed delay_max ({})", self.delay_min, self.delay_max))
    }
}

impl SlowStartSpec for HystartParams {
    type Policy = Hystart;
    fn start(&self, setup: &Setup) -> Hystart {
        Hystart {
            params: self.clone(),
            paced: setup.pacing != Pacing::Off,
            found: false,
            least_rtt: None,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            round_least: None,
            samples: 0,
        }
    }
}

/// A rise by this part of the least round trip counts.
const DELAY_DIVISOR: u64 = 8;

/// Slow start with HyStart.
#[derive(Clone, Debug)]
pub struct Hystart {
    params: HystartParams,
    /// Pacing may have spread a window over half a round trip: a train is to last a whole one then.
    paced: bool,
    /// The end of slow start has been found; nothing more until a timeout.
    found: bool,
    /// Least round trip of the connection.
    least_rtt: Option<Duration>,
    /// Of the round under way: when it began, the last ACK of its train, its least round trip and how many were looked at.
    round_start: Instant,
    last_ack: Instant,
    round_least: Option<Duration>,
    samples: u32,
}

impl Hystart {
    /// ACKs have come without a gap since the round began, for longer than half of the least round trip.
    fn train_is_long(&mut self, now: Instant, least_rtt: Duration) -> bool {
        if now.since(self.last_ack) > self.params.ack_delta {
            return false;
        }
        self.last_ack = now;
        let length = least_rtt + self.params.host_delay;
        let length = if self.paced { length } else { length / 2 };
        now.since(self.round_start) > length
    }

    /// The first round trips of this round are longer than the least by an eighth of it.
    fn round_trip_has_grown(&mut self, rtt: Duration, least_rtt: Duration) -> bool {
        if self.samples < self.params.samples {
            self.samples += 1;
            self.round_least = Some(self.round_least.map_or(rtt, |least| least.min(rtt)));
            return false;
        }
        let rise = (least_rtt / DELAY_DIVISOR).max(self.params.delay_min).min(self.params.delay_max);
        let least = self.round_least.map_or(rtt, |least| least.min(rtt));
        least > least_rtt + rise
    }
}

impl SlowStart for Hystart {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if ack.round_start {
            (self.round_start, self.last_ack) = (ack.now, ack.now);
            (self.round_least, self.samples) = (None, 0);
        }
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> Growth {
        let full = Growth { bytes: ack.acked as f64, exit: false };
        let (Some(rtt), Some(least_rtt)) = (ack.rtt, self.least_rtt) else { return full };
        if self.found || window.segments() < f64::from(self.params.low_window) {
            return full;
        }
        let by_train = self.params.ack_train && self.train_is_long(ack.now, least_rtt);
        let by_delay = self.params.delay && self.round_trip_has_grown(rtt, least_rtt);
        self.found = by_train || by_delay;
        if self.found { Growth { bytes: 0.0, exit: true } } else { full }
    }

    fn congestion(&mut self, event: &Congestion) {
        if event.kind == CongestionKind::Timeout {
            self.found = false;
            self.least_rtt = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack_at, event, policy, setup};
    use crate::{Ack, CongestionControl, CongestionKind, Pacing, Setup};
    use longhaul_units::Duration;

    fn hystart(setup: &Setup) -> Box<dyn CongestionControl> {
        policy(r#""reno""#, r#""hystart""#, setup)
    }

    /// A round from `start` on: `acks` ACKs of one segment, `gap` microseconds apart; the window's growth in segments.
    fn round(policy: &mut dyn CongestionControl, start: u64, acks: u64, gap: u64, rtt_ms: u64) -> u64 {
        let before = policy.window();
        for index in 0..acks {
            let ack = ack_at(start, MSS);
            let now = ack.now + Duration::from_micros(gap * index);
            let rtt = Some(Duration::from_millis(rtt_ms));
            policy.on_ack(&Ack { now, rtt, round_start: index == 0, ..ack });
        }
        (policy.window() - before) / MSS
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        // (100 + 1) / 2 = 50.5 ms: with 1 ms between ACKs the 52nd is the first after that.
        let mut policy = hystart(&setup(100 * MSS, None));
        assert_eq!(round(&mut *policy, 100, 51, 1000, 100), 51);
        assert!(policy.in_slow_start());
        let mut policy = hystart(&setup(100 * MSS, None));
        assert_eq!(round(&mut *policy, 100, 52, 1000, 100), 51);
        assert!(!policy.in_slow_start());
        assert_eq!(policy.ssthresh(), 151 * MSS);
    }

    /// Every tenth segment is late: the ACKs that report SACKs continue the train, and one of them can end slow start.
    #[test]
    fn acks_that_only_report_sacks_are_of_the_train() {
        let mut policy = hystart(&setup(100 * MSS, None));
        for index in 0..52 {
            let ack = ack_at(100 + index, MSS);
            let ack = Ack { rtt: Some(Duration::from_millis(100)), round_start: index == 0, ..ack };
            if index > 40 {
                policy.on_sack(&ack)
            } else {
                policy.on_ack(&ack)
            }
            assert_eq!(policy.in_slow_start(), index < 51);
        }
        assert_eq!((policy.window(), policy.ssthresh()), (141 * MSS, 141 * MSS));
    }

    #[test]
    fn gaps_of_more_than_two_milliseconds_break_a_train() {
        for (gap, ends) in [(2000, true), (2001, false)] {
            let mut policy = hystart(&setup(100 * MSS, None));
            round(&mut *policy, 100, 60, gap, 100);
            assert_eq!(!policy.in_slow_start(), ends);
        }
    }

    #[test]
    fn a_paced_window_may_take_a_whole_round_trip() {
        let paced = Setup { pacing: Pacing::LINUX, ..setup(200 * MSS, None) };
        for (acks, ends) in [(102, false), (103, true)] {
            let mut policy = hystart(&paced);
            round(&mut *policy, 100, acks, 1000, 100);
            assert_eq!(!policy.in_slow_start(), ends);
        }
    }

    #[test]
    fn a_rise_by_an_eighth_ends_it_with_the_ninth_sample() {
        // 80 ms / 8 = 10 ms, which is to be exceeded; gaps of 3 ms make no train.
        for (rtt, ends) in [(90, false), (91, true)] {
            let mut policy = hystart(&setup(20 * MSS, None));
            round(&mut *policy, 100, 8, 3000, 80);
            assert_eq!(round(&mut *policy, 200, 8, 3000, rtt), 8);
            assert!(policy.in_slow_start());
            round(&mut *policy, 300, 9, 3000, rtt);
            assert_eq!(!policy.in_slow_start(), ends, "{rtt}");
        }
    }

    #[test]
    fn the_rise_is_between_4_and_16_ms() {
        for (least, rise) in [(8, 4), (800, 16)] {
            for (more, ends) in [(0, false), (1, true)] {
                let mut policy = hystart(&setup(20 * MSS, None));
                round(&mut *policy, 1000, 8, 3000, least);
                round(&mut *policy, 3000, 9, 3000, least + rise + more);
                assert_eq!(!policy.in_slow_start(), ends, "{least} {more}");
            }
        }
    }

    #[test]
    fn nothing_is_looked_at_below_16_segments() {
        let mut policy = hystart(&setup(2 * MSS, None));
        round(&mut *policy, 100, 5, 3000, 80);
        assert_eq!(round(&mut *policy, 1000, 9, 3000, 400), 9);
        assert!(policy.in_slow_start());
    }

    #[test]
    fn an_ack_counts_for_all_that_it_covers() {
        let mut policy = hystart(&setup(10 * MSS, None));
        policy.on_ack(&ack_at(0, 10 * MSS));
        assert_eq!(policy.window(), 20 * MSS);
    }

    #[test]
    fn after_a_timeout_it_looks_again() {
        let mut policy = hystart(&setup(100 * MSS, None));
        round(&mut *policy, 100, 60, 1000, 100);
        assert!(!policy.in_slow_start());
        policy.on_congestion(&event(CongestionKind::Timeout, 100 * MSS));
        assert!(policy.in_slow_start());
        round(&mut *policy, 1000, 20, 3000, 100);
        round(&mut *policy, 2000, 10, 3000, 150);
        assert!(!policy.in_slow_start());
        assert!(policy.window() < 50 * MSS);
    }
}
