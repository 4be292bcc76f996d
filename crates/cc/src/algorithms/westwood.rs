//! Westwood+: upon congestion the window becomes what the path was measured to carry, bandwidth times least round trip,
//! instead of a half. L. A. Grieco, S. Mascolo: Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP
//! Congestion Control, ACM CCR 34(2), 2004.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::{half_flight, keep};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Counting, Cut, Inspection, Setup, Window,
};
use longhaul_units::{Duration, Instant};

/// When a loss makes of the measured bandwidth a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decides {
    /// As soon as the loss is found: section 2 of the paper.
    AtLoss,
    /// At the end of fast recovery, which keeps half of what was in flight: Linux. What recovery delivers is measured too, which makes a
    /// great difference after slow start, when the filters are far behind. The window may end above that half.
    AfterRecovery,
}

/// Parameters of [`Westwood`]. Linux has `filter = 0.875`, `filter_stages = 2`, `decides = "after_recovery"`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WestwoodParams {
    /// alpha: weight of the old estimate when a sample comes in.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "1"))]
    pub filter: f64,
    /// How many such filters follow each other.
    #[schemars(extend("minimum" = 1, "maximum" = 2, "x-unit" = "filters"))]
    pub filter_stages: u32,
    /// A sample is taken over a round trip, but over no less than this.
    pub min_sample_time: Duration,
    /// What an ACK counts for: the bytes that it covers or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
    /// When a loss makes of the measured bandwidth a window; timeouts and ECN do at once.
    #[schemars(extend("x-unit" = "at_loss or after_recovery"))]
    pub decides: Decides,
}

impl Default for WestwoodParams {
    /// Section 2: alpha = 0.9, one sample per round trip; at least 50 ms as in Linux.
    fn default() -> Self {
        WestwoodParams {
            filter: 0.9,
            filter_stages: 1,
            min_sample_time: Duration::from_millis(50),
            counting: Counting::Bytes,
            decides: Decides::AtLoss,
        }
    }
}

impl Spec for WestwoodParams {
    const NAME: &'static str = "westwood";
    const SOURCE: &'static str = "Grieco and Mascolo 2004";
    const SUMMARY: &'static str =
        "Reno that falls back to the measured bandwidth times the least RTT (Westwood+)";
}

impl AlgorithmSpec for WestwoodParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Westwood::new(self.clone()), setup)
    }
}

/// The bandwidth estimate BWE, from the rate at which data is acknowledged.
#[derive(Clone, Debug)]
struct Bandwidth {
    /// When the sample under way began, by [`Window::time_in_flight`].
    since: Option<Instant>,
    /// Bytes acknowledged since.
    acked: f64,
    /// The filters, in bytes per second; `None` before the first sample.
    stages: Option<[f64; 2]>,
}

/// Congestion avoidance of Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    params: WestwoodParams,
    rtt_min: Duration,
    bandwidth: Bandwidth,
}

impl Westwood {
    fn new(params: WestwoodParams) -> Self {
        let bandwidth = Bandwidth { since: None, acked: 0.0, stages: None };
        Westwood { params, rtt_min: Duration::MAX, bandwidth }
    }

    /// Section 2: b_k = d_k / Delta_k over the last round trip; BWE_k = alpha BWE_(k-1) + (1 - alpha) b_k.
    fn take_sample(&mut self, sample: f64) {
        let alpha = self.params.filter;
        let filtered = |old: f64, new: f64| alpha * old + (1.0 - alpha) * new;
        self.bandwidth.stages = Some(match self.bandwidth.stages {
            // An empty filter would take many round trips to fill.
            None => [sample, sample],
            Some([first, second]) => {
                let first = filtered(first, sample);
                [first, filtered(second, first)]
            }
        });
    }

    /// BWE in bytes per second.
    fn estimate(&self) -> Option<f64> {
        self.bandwidth.stages.map(|stages| stages[self.params.filter_stages as usize - 1])
    }

    /// BWE * RTT_min, at least two segments; `None` before anything was measured.
    fn measured_pipe(&self, window: &Window) -> Option<f64> {
        self.estimate().map(|bwe| (bwe * self.rtt_min.as_secs_f64()).max(2.0 * window.mss))
    }

    /// The same, or half of the flight.
    fn pipe(&self, window: &Window, event: &Congestion) -> f64 {
        self.measured_pipe(window).unwrap_or_else(|| half_flight(event.flight_size, window.mss))
    }
}

impl Avoidance for Westwood {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        if let Some(stages) = self.bandwidth.stages {
            inspection.byte_rate("BWE", stages[1]);
        }
        inspection.time("RTT_min", Some(self.rtt_min));
    }

    /// Time with nothing in flight is in no sample.
    fn observe(&mut self, window: &Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min = self.rtt_min.min(rtt);
        }
        let now = window.time_in_flight(ack.now);
        let Some(since) = self.bandwidth.since else {
            self.bandwidth.since = Some(now);
            return;
        };
        self.bandwidth.acked += ack.acked as f64;
        let time = now.since(since);
        if time >= ack.srtt.max(self.params.min_sample_time) && !time.is_zero() {
            let sample = self.bandwidth.acked / time.as_secs_f64();
            (self.bandwidth.since, self.bandwidth.acked) = (Some(now), 0.0);
            if self.rtt_min < Duration::MAX {
                self.take_sample(sample);
            }
        }
    }

    /// As Reno.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        self.params.counting.additive_increase(1.0, window, ack)
    }

    /// Section 2: ssthresh = max(2, BWE * RTT_min / seg_size), cwnd = ssthresh; the composition lets it only fall.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        if self.params.decides == Decides::AfterRecovery && event.kind == CongestionKind::Loss {
            return keep(0.5, event, window.mss);
        }
        let pipe = self.pipe(window, event);
        Cut { ssthresh: pipe, cwnd: pipe }
    }

    /// What recovery delivered is in the estimate now.
    fn recovered(&mut self, window: &Window) -> Option<f64> {
        match self.params.decides {
            Decides::AtLoss => None,
            Decides::AfterRecovery => self.measured_pipe(window),
        }
    }

    /// Section 2: the same ssthresh upon a timeout.
    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        self.pipe(window, event)
    }

    /// Silence is no measure of the path.
    fn idle(&mut self) {
        (self.bandwidth.since, self.bandwidth.acked) = (None, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack_at, event, policy, setup};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// `rounds` round trips of `rtt` ms in which `segments` are acknowledged at an even pace.
    fn rounds(policy: &mut dyn CongestionControl, now: &mut u64, rounds: u64, rtt: u64, segments: u64) {
        for _ in 0..rounds {
            for index in 1..=segments {
                let time = *now + rtt * index / segments;
                policy.on_ack(&Ack { rtt: Some(ms(rtt)), srtt: ms(rtt), ..ack_at(time, MSS) });
            }
            *now += rtt;
        }
    }

    fn westwood(algorithm: &str) -> Box<dyn CongestionControl> {
        policy(algorithm, r#""standard""#, &setup(150 * MSS, Some(150 * MSS)))
    }

    #[test]
    fn falls_back_to_bandwidth_times_least_round_trip() {
        // 100 segments in 100 ms, then 150 in 150 ms: 1000 segments/s, of which RTT_min = 100 ms holds 100.
        let mut policy = westwood(r#""westwood""#);
        let mut now = 0;
        rounds(&mut *policy, &mut now, 5, 100, 100);
        rounds(&mut *policy, &mut now, 5, 150, 150);
        policy.on_congestion(&event(CongestionKind::Loss, 150_000));
        assert!((99_000..=101_000).contains(&policy.window()), "{}", policy.window());
        assert_eq!(policy.window(), policy.ssthresh());
        let before = policy.ssthresh();
        policy.on_congestion(&event(CongestionKind::Timeout, 50_000));
        assert_eq!((policy.window(), policy.ssthresh()), (1000, before));
    }

    #[test]
    fn a_random_loss_on_an_empty_path_costs_nothing() {
        let mut policy = policy(r#""westwood""#, r#""standard""#, &setup(100 * MSS, Some(100 * MSS)));
        let mut now = 0;
        rounds(&mut *policy, &mut now, 5, 100, 100);
        policy.on_congestion(&event(CongestionKind::Loss, 100_000));
        assert!(policy.window() >= 99_000);
    }

    #[test]
    fn the_filter_forgets_a_tenth_per_sample() {
        // Section 2: alpha = 0.9. From 1000 to 2000 bytes/s: 1100, 1190, 1271. Two stages of 7/8 (Linux): 1015.6, 1042.97.
        for (params, expected) in [
            (WestwoodParams::default(), [1100.0, 1190.0, 1271.0]),
            (
                WestwoodParams { filter: 0.875, filter_stages: 2, ..WestwoodParams::default() },
                [1015.625, 1042.96875, 1078.857421875],
            ),
        ] {
            let mut rule = Westwood::new(params);
            rule.take_sample(1000.0);
            for bwe in expected {
                rule.take_sample(2000.0);
                assert!((rule.estimate().unwrap() - bwe).abs() < 1e-6, "{:?}", rule.estimate());
            }
        }
    }

    #[test]
    fn after_recovery_it_has_measured_what_recovery_delivered() {
        // Slow start leaves the filters behind: 10, 20, ... 160 segments in 100 ms each. Then recovery delivers 160 in each of five.
        let window_after = |algorithm: &str| {
            let mut policy = westwood(algorithm);
            let mut now = 0;
            for segments in [10, 20, 40, 80, 160] {
                rounds(&mut *policy, &mut now, 1, 100, segments);
            }
            let before = policy.window();
            policy.on_congestion(&event(CongestionKind::Loss, before));
            let in_recovery = policy.window();
            for k in 1..=800 {
                let ack = ack_at(now + 500 * k / 800, MSS);
                policy.on_ack(&Ack { rtt: Some(ms(100)), srtt: ms(100), in_recovery: true, ..ack });
            }
            assert_eq!(policy.window(), in_recovery, "the window stands still in recovery");
            policy.on_ack(&Ack {
                rtt: Some(ms(100)),
                srtt: ms(100),
                app_limited: true,
                ..ack_at(now + 501, MSS)
            });
            (before, in_recovery, policy.window(), policy.ssthresh())
        };
        // Samples end a tenth into the next round: 11, 22, 44, 88 segments, of which the filter makes 11, 12.1, 15.3, 22.6.
        let (_, at_loss, after, ssthresh) = window_after(r#""westwood""#);
        assert_eq!((after, ssthresh), (at_loss, at_loss));
        assert!((22 * MSS..23 * MSS).contains(&at_loss), "{at_loss}");
        let (before, half, after, ssthresh) =
            window_after(r#"{"kind": "westwood", "decides": "after_recovery"}"#);
        assert_eq!(half, before / 2);
        assert_eq!(after, ssthresh);
        // 160 - (160 - 22.6) 0.9^5 = 78.9 segments.
        assert!((78 * MSS..80 * MSS).contains(&after), "{after}");
    }

    #[test]
    fn before_a_measurement_it_halves() {
        let mut policy = westwood(r#""westwood""#);
        policy.on_congestion(&event(CongestionKind::Loss, 100_000));
        assert_eq!(policy.window(), 50_000);
    }
}
