//! HyStart++ (RFC 9406): a rise of the round trip time ends slow start before loss does. Growth first goes on at a
//! quarter of the pace (Conservative Slow Start, CSS); if the rise was jitter, slow start resumes.

use super::standard::{Standard, StandardParams};
use crate::params::{SlowStartSpec, Spec};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Congestion, Growth, Pacing, Setup, SlowStart, Window};
use longhaul_units::Duration;

/// Parameters of [`HystartPp`]: the tuning constants of RFC 9406 section 4.3.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HystartPpParams {
    /// MIN_RTT_THRESH: no smaller rise of the round trip time counts.
    pub min_rtt_thresh: Duration,
    /// MAX_RTT_THRESH: the threshold is never larger.
    pub max_rtt_thresh: Duration,
    /// MIN_RTT_DIVISOR: the rise that counts, as a fraction of the last round's least round trip time.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "1"))]
    pub min_rtt_divisor: u32,
    /// N_RTT_SAMPLE: samples that a round must have before it is evaluated.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "samples"))]
    pub n_rtt_sample: u32,
    /// CSS_GROWTH_DIVISOR: by how much CSS is slower than slow start.
    #[schemars(extend("minimum" = 2, "maximum" = 65535, "x-unit" = "1"))]
    pub css_growth_divisor: u32,
    /// CSS_ROUNDS: rounds after which congestion avoidance follows CSS.
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "round trips"))]
    pub css_rounds: u32,
    /// L: the most that one ACK may add; without effect if the sender paces (RFC 9406: infinite then).
    #[schemars(extend("minimum" = 1, "maximum" = 65535, "x-unit" = "segments"))]
    pub limit: u32,
}

impl Default for HystartPpParams {
    fn default() -> Self {
        HystartPpParams {
            min_rtt_thresh: Duration::from_millis(4),
            max_rtt_thresh: Duration::from_millis(16),
            min_rtt_divisor: 8,
            n_rtt_sample: 8,
            css_growth_divisor: 4,
            css_rounds: 5,
            limit: 8,
        }
    }
}

impl Spec for HystartPpParams {
    const NAME: &'static str = "hystart++";
    const SOURCE: &'static str = "RFC 9406";
    const SUMMARY: &'static str =
        "leaves the first slow start when the round trip time rises, by way of a slower phase";

    fn check(&self) -> Result<(), String> {
        if self.min_rtt_thresh <= self.max_rtt_thresh {
            return Ok(());
        }
        Err(format!(
            "min_rtt_thresh ({}) must not exceed max_rtt_thresh ({})",
            self.min_rtt_thresh, self.max_rtt_thresh
        ))
    }
}

impl SlowStartSpec for HystartPpParams {
    type Policy = HystartPp;
    fn start(&self, setup: &Setup) -> HystartPp {
        HystartPp {
            limit: if setup.pacing == Pacing::Off { f64::from(self.limit) } else { f64::INFINITY },
            params: self.clone(),
            phase: Phase::SlowStart,
            last_round_min_rtt: None,
            current_round_min_rtt: None,
            rtt_sample_count: 0,
            standard: StandardParams::default().start(setup),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// As standard slow start, watching the round trip time.
    SlowStart,
    /// Conservative slow start since a number of round starts ago.
    Conservative { baseline_min_rtt: Duration, rounds: u32 },
    /// The first slow start is over: standard slow start from now on (RFC 9406 section 4.3, last paragraph).
    Over,
}

/// Slow start of RFC 9406.
#[derive(Clone, Debug)]
pub struct HystartPp {
    params: HystartPpParams,
    /// L in segments.
    limit: f64,
    phase: Phase,
    /// `None` for infinity.
    last_round_min_rtt: Option<Duration>,
    current_round_min_rtt: Option<Duration>,
    rtt_sample_count: u32,
    /// For every slow start but the first.
    standard: Standard,
}

impl HystartPp {
    /// Section 4.2: at the start of each round.
    fn begin_round(&mut self) {
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
        }
    }

    fn take_sample(&mut self, rtt: Duration) {
        let least = self.current_round_min_rtt.map_or(rtt, |least| least.min(rtt));
        self.current_round_min_rtt = Some(least);
        self.rtt_sample_count = self.rtt_sample_count.saturating_add(1);
    }

    /// The rise of the round trip time that ends slow start.
    fn rtt_thresh(&self, last_round_min_rtt: Duration) -> Duration {
        let share = last_round_min_rtt / u64::from(self.params.min_rtt_divisor);
        share.min(self.params.max_rtt_thresh).max(self.params.min_rtt_thresh)
    }

    /// Moves between slow start and CSS by the least round trip of this round.
    fn judge_round(&mut self) {
        let Some(current) = self.current_round_min_rtt else { return };
        if self.rtt_sample_count < self.params.n_rtt_sample {
            return;
        }
        match (self.phase, self.last_round_min_rtt) {
            (Phase::SlowStart, Some(last)) if current >= last + self.rtt_thresh(last) => {
                // The round under way counts towards the limit, too.
                self.phase = Phase::Conservative { baseline_min_rtt: current, rounds: 0 };
            }
            (Phase::Conservative { baseline_min_rtt, .. }, _) if current < baseline_min_rtt => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }
}

impl SlowStart for HystartPp {
    fn observe(&mut self, window: &Window, ack: &Ack) {
        if self.phase == Phase::Over {
            return;
        }
        if !window.in_slow_start() {
            self.phase = Phase::Over; // ssthresh was given and is reached
            return;
        }
        if ack.round_start {
            self.begin_round();
        }
        if let Some(rtt) = ack.rtt {
            self.take_sample(rtt);
        }
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> Growth {
        if self.phase == Phase::Over {
            return self.standard.increase(window, ack);
        }
        let full = (ack.acked as f64).min(self.limit * window.mss);
        match self.phase {
            Phase::Conservative { rounds, .. } if rounds >= self.params.css_rounds => {
                self.phase = Phase::Over;
                Growth { bytes: 0.0, exit: true }
            }
            Phase::Conservative { .. } => {
                self.judge_round();
                Growth { bytes: full / f64::from(self.params.css_growth_divisor), exit: false }
            }
            _ => {
                self.judge_round();
                Growth { bytes: full, exit: false }
            }
        }
    }

    fn congestion(&mut self, event: &Congestion) {
        self.phase = Phase::Over;
        self.standard.congestion(event);
    }

    fn idle(&mut self) {
        self.standard.idle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack_at, event, policy, setup};
    use crate::{CongestionControl, CongestionKind};

    fn hystart(setup: &Setup) -> Box<dyn CongestionControl> {
        policy(r#""reno""#, r#""hystart++""#, setup)
    }

    /// A round of `acks` ACKs of one segment, all with the same round trip; the window's growth in bytes.
    fn round(policy: &mut dyn CongestionControl, acks: u64, rtt_ms: u64) -> u64 {
        let before = policy.window();
        for index in 0..acks {
            let rtt = Some(Duration::from_millis(rtt_ms));
            policy.on_ack(&Ack { rtt, round_start: index == 0, ..ack_at(0, MSS) });
        }
        policy.window() - before
    }

    #[test]
    fn the_threshold_is_an_eighth_within_4_and_16_ms() {
        // RFC 9406 section 4.2: max(MIN_RTT_THRESH, min(lastRoundMinRTT / 8, MAX_RTT_THRESH)).
        let policy = HystartPpParams::default().start(&Setup::default());
        for (last, threshold) in [(1, 4), (20, 4), (32, 4), (80, 10), (128, 16), (600, 16)] {
            assert_eq!(policy.rtt_thresh(Duration::from_millis(last)), Duration::from_millis(threshold));
        }
    }

    #[test]
    fn a_steady_round_trip_doubles_the_window() {
        let mut policy = hystart(&setup(10 * MSS, None));
        for acks in [10, 20, 40, 80] {
            assert_eq!(round(&mut *policy, acks, 100), acks * MSS);
        }
        assert_eq!(policy.ssthresh(), u64::MAX);
    }

    #[test]
    fn a_rise_by_an_eighth_slows_growth_to_a_quarter() {
        // 80 ms, then 90 ms = 80 + 80/8: from the eighth sample on; that ACK itself still counts in full.
        let mut policy = hystart(&setup(10 * MSS, None));
        round(&mut *policy, 10, 80);
        assert_eq!(round(&mut *policy, 20, 90), 8 * MSS + 12 * MSS / 4);
        // One millisecond less is no rise.
        let mut policy = hystart(&setup(10 * MSS, None));
        round(&mut *policy, 10, 80);
        assert_eq!(round(&mut *policy, 20, 89), 20 * MSS);
    }

    #[test]
    fn seven_samples_judge_nothing() {
        let mut policy = hystart(&setup(10 * MSS, None));
        round(&mut *policy, 10, 80);
        for _ in 0..4 {
            assert_eq!(round(&mut *policy, 7, 200), 7 * MSS);
        }
    }

    #[test]
    fn after_five_rounds_congestion_avoidance_follows() {
        let mut policy = hystart(&setup(10 * MSS, None));
        round(&mut *policy, 10, 80);
        round(&mut *policy, 20, 100); // the partial round counts as the first
        for _ in 0..4 {
            assert_eq!(round(&mut *policy, 20, 100), 20 * MSS / 4);
            assert!(policy.in_slow_start());
        }
        let window = policy.window();
        round(&mut *policy, 1, 100);
        assert_eq!((policy.window(), policy.ssthresh()), (window, window));
        assert!(!policy.in_slow_start());
    }

    #[test]
    fn slow_start_resumes_when_the_round_trip_falls() {
        let mut policy = hystart(&setup(10 * MSS, None));
        round(&mut *policy, 10, 80);
        round(&mut *policy, 20, 100);
        // Below cssBaselineMinRtt = 100 ms: from the eighth sample on in full again.
        assert_eq!(round(&mut *policy, 20, 99), 8 * MSS / 4 + 12 * MSS);
        // And the heuristic is alive: 99 + 99/8 = 111.4 ms.
        assert_eq!(round(&mut *policy, 20, 112), 8 * MSS + 12 * MSS / 4);
    }

    #[test]
    fn congestion_ends_it_for_good() {
        // RFC 9406 section 4.3: only in the initial slow start.
        let mut policy = hystart(&setup(10 * MSS, None));
        round(&mut *policy, 10, 80);
        policy.on_congestion(&event(CongestionKind::Timeout, 200_000));
        for acks in [1, 2, 4, 8] {
            assert_eq!(round(&mut *policy, acks, 80 * acks), acks * MSS);
        }
        policy.on_ack(&ack_at(0, 8 * MSS)); // standard slow start: min(N, SMSS)
        assert_eq!(policy.window(), 17 * MSS);
    }

    #[test]
    fn l_is_eight_or_infinite_if_paced() {
        let big = ack_at(0, 20 * MSS);
        let mut policy = hystart(&setup(30 * MSS, None));
        policy.on_ack(&big);
        assert_eq!(policy.window(), 38 * MSS);
        let mut paced = hystart(&Setup { pacing: Pacing::LINUX, ..setup(30 * MSS, None) });
        paced.on_ack(&big);
        assert_eq!(paced.window(), 50 * MSS);
    }

    #[test]
    fn the_thresholds_must_be_in_order() {
        let text = r#"{"kind": "hystart++", "min_rtt_thresh": "20 ms"}"#;
        let error = serde_json::from_str::<crate::SlowStartKind>(text).unwrap_err().to_string();
        assert_eq!(error, "hystart++: min_rtt_thresh (20 ms) must not exceed max_rtt_thresh (16 ms)");
    }
}
