//! CUBIC (RFC 9438): between congestion events the window is a cubic function of time, not of ACKs, so that flows of
//! different round trip times grow alike; where Reno would be faster, the window follows an estimate of Reno's.

use crate::closed_form;
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::{Conditions, Formula, Spec};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Counting, Cut, Inspection, Setup, Window,
};
use longhaul_units::{Duration, Instant};

/// Parameters of [`Cubic`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CubicParams {
    /// Aggressiveness: how fast the window moves away from W_max (RFC 9438 section 5).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-unit" = "segments/s^3"))]
    pub c: f64,
    /// Multiplicative decrease: what is left of the window upon loss (section 4.6).
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta: f64,
    /// Release bandwidth to newcomers when the saturation point falls (section 4.7).
    #[schemars(extend("x-unit" = "true or false"))]
    pub fast_convergence: bool,
    /// Never be slower than Reno would be (section 4.3).
    #[schemars(extend("x-unit" = "true or false"))]
    pub reno_friendly: bool,
    /// What an ACK counts for in the cubic regions: one segment (sections 4.4, 4.5) or the bytes that it covers (Linux).
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
    /// The round trip after which the target is to be reached: the smoothed one (section 4.2) or the least (Linux).
    #[schemars(extend("x-unit" = "smoothed or least"))]
    pub target_rtt: TargetRtt,
    /// Once Reno's window has reached that before the last cut it gains one segment per round trip (section 4.3); without this
    /// it goes on gaining 3 (1 - beta) / (1 + beta) (Linux).
    #[schemars(extend("x-unit" = "true or false"))]
    pub reno_alpha_rises: bool,
    /// Before the first loss, gain at least this share of the window per round trip (Linux: 0.05).
    #[schemars(extend("minimum" = 0, "maximum" = 0.5, "x-unit" = "share of the window per RTT"))]
    pub growth_before_loss: f64,
    /// How the window grows: with each ACK (sections 4.3 to 4.5), or by a segment for each `cnt` segments acknowledged, a number
    /// that is computed anew when the window has changed, else at most every 1/32 s (Linux).
    #[schemars(extend("x-unit" = "acks or count"))]
    pub growth: Growth,
    /// Where a reduction proves to be for nothing, the growth too goes on as before it (section 4.9). Without this only window and
    /// threshold do, and a new stage begins at that window (Linux: `tcp_reno_undo_cwnd`).
    #[schemars(extend("x-unit" = "true or false"))]
    pub growth_restored: bool,
    /// Alternative back-off with ECN (RFC 8511): a mark leaves 0.85 of the window, whatever beta.
    #[schemars(extend("x-unit" = "true or false"))]
    pub abe: bool,
}

/// What RFC 8511 section 3.1 leaves of CUBIC's window upon a mark.
const ABE_BETA: f64 = 0.85;

/// How CUBIC's window grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Growth {
    /// A part of a segment with each ACK.
    Acks,
    /// A whole segment after so many acknowledged segments: cwnd / (target - cwnd).
    Count,
}

/// The round trip after which CUBIC's target is to be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetRtt {
    /// SRTT.
    Smoothed,
    /// The least of the connection.
    Least,
}

impl CubicParams {
    /// Linux's (`tcp_cubic.c`): whole segments, one for each `cnt` segments acknowledged, towards W_cubic(t + delay_min), with a
    /// constant alpha; before a loss cnt is at most 20.
    pub fn linux() -> Self {
        CubicParams {
            counting: Counting::Bytes,
            target_rtt: TargetRtt::Least,
            reno_alpha_rises: false,
            growth_before_loss: 0.05,
            growth: Growth::Count,
            growth_restored: false,
            ..CubicParams::default()
        }
    }
}

impl Default for CubicParams {
    /// RFC 9438: C = 0.4, beta = 0.7, fast convergence, Reno-friendly region.
    fn default() -> Self {
        CubicParams {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: true,
            counting: Counting::Acks,
            target_rtt: TargetRtt::Smoothed,
            reno_alpha_rises: true,
            growth_before_loss: 0.0,
            growth: Growth::Acks,
            growth_restored: true,
            abe: false,
        }
    }
}

impl Spec for CubicParams {
    const NAME: &'static str = "cubic";
    const SOURCE: &'static str = "RFC 9438";
    const SUMMARY: &'static str =
        "the window is a cubic function of the time since the last congestion event";

    fn response_function(&self, met: &Conditions) -> Option<Formula> {
        let window = closed_form::cubic_response(self.c, self.beta, met.rtt, met.p);
        Some(Formula { name: Self::NAME, window })
    }
}

impl AlgorithmSpec for CubicParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Cubic::new(self.clone()), setup)
    }
}

/// A congestion avoidance stage (section 4.1.2). Windows in segments, times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stage {
    /// t_epoch, by [`Window::time_in_use`]: section 4.2 leaves out of t what was limited by the application.
    epoch: Instant,
    /// Time from the epoch until the window is back at W_max.
    k: f64,
    /// The window at the inflection point.
    w_max: f64,
    /// What Reno's window would be.
    w_est: f64,
    /// alpha_cubic of equation 4: segments that W_est gains per round trip.
    alpha: f64,
}

/// Congestion avoidance of RFC 9438.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: CubicParams,
    /// Window just before the last reduction, lowered by fast convergence, in segments; `None` where the next stage is
    /// to begin at its inflection point (no loss so far, or after a timeout).
    w_max: Option<f64>,
    /// Window when ssthresh was last set, in segments.
    cwnd_prior: Option<f64>,
    /// The stage under way; begins with the first ACK that may grow the window after a cut or an idle period.
    stage: Option<Stage>,
    /// No loss so far, or none since a timeout: Linux's last_max_cwnd is 0.
    uncut: bool,
    /// For [`Growth::Count`].
    count: SegmentCount,
}

/// Growth by whole segments, in the names of `bictcp_update` and `tcp_cong_avoid_ai` where they have one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct SegmentCount {
    /// When `cnt` was computed, and for which window in segments (`last_time`, `last_cwnd`).
    computed: Instant,
    computed_for: f64,
    /// Acknowledged segments that give one more (`cnt`).
    cnt: f64,
    /// Acknowledged segments that have not given one yet (`snd_cwnd_cnt`).
    credit: f64,
    /// The same for Reno's window W_est (`ack_cnt`).
    reno_credit: f64,
}

impl SegmentCount {
    /// `cnt` is computed at most this often while the window stays (HZ / 32).
    const AGE: Duration = Duration::from_nanos(1_000_000_000 / 32);
    /// The least `cnt`: half as fast as slow start.
    const LEAST: f64 = 2.0;

    /// Segments gained when `acked` more are acknowledged.
    fn gain(&mut self, acked: f64) -> f64 {
        let mut gained = 0.0;
        if self.credit >= self.cnt {
            // The count has fallen below what had come together.
            self.credit = 0.0;
            gained = 1.0;
        }
        self.credit += acked;
        let more = (self.credit / self.cnt).floor();
        self.credit -= more * self.cnt;
        gained + more
    }
}

impl Cubic {
    fn new(params: CubicParams) -> Self {
        Cubic {
            params,
            w_max: None,
            cwnd_prior: None,
            stage: None,
            uncut: true,
            count: SegmentCount::default(),
        }
    }

    /// Section 4.2: t = 0. Equation 2 gives K; without a W_max above the window, K = 0 and W_max = cwnd
    /// (sections 4.8 and 4.10).
    fn begin_stage(&mut self, cwnd: f64, now: Instant) -> Stage {
        let w_max = self.w_max.map_or(cwnd, |w_max| w_max.max(cwnd));
        let k = libm::cbrt((w_max - cwnd) / self.params.c);
        self.w_max = Some(w_max);
        self.cwnd_prior.get_or_insert(cwnd);
        let beta = self.params.beta;
        Stage { epoch: now, k, w_max, w_est: cwnd, alpha: 3.0 * (1.0 - beta) / (1.0 + beta) }
    }

    /// Equation 1.
    fn w_cubic(&self, stage: &Stage, t: f64) -> f64 {
        let from_k = t - stage.k;
        self.params.c * from_k * from_k * from_k + stage.w_max
    }

    /// Section 4.7.
    fn remember_saturation_point(&mut self, cwnd: f64) {
        let shrinking = self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if shrinking && self.params.fast_convergence {
            cwnd * (1.0 + self.params.beta) / 2.0
        } else {
            cwnd
        });
    }
}

impl Cubic {
    /// The round trip after which the target is to be reached, in seconds.
    fn ahead(&self, ack: &Ack) -> f64 {
        match self.params.target_rtt {
            TargetRtt::Smoothed => ack.srtt.as_secs_f64(),
            TargetRtt::Least => ack.min_rtt.as_secs_f64(),
        }
    }

    /// What a reduction leaves, in bytes.
    fn reduced(&self, window: &Window, event: &Congestion) -> f64 {
        let abe = self.params.abe && event.kind == CongestionKind::EcnEcho;
        let left = event.flight_size as f64 * if abe { ABE_BETA } else { self.params.beta };
        match self.params.growth {
            Growth::Acks => left,
            Growth::Count => (left / window.mss).floor() * window.mss,
        }
    }

    /// Linux's growth: bytes of whole segments that this ACK gives.
    fn increase_by_count(&mut self, window: &Window, ack: &Ack) -> f64 {
        let cwnd = window.segments().floor();
        let acked = ack.acked as f64 / window.mss;
        // Linux moves its epoch when nothing was in flight, and only then.
        let now = window.time_in_flight(ack.now);
        self.count.reno_credit += acked;
        let fresh = now.since(self.count.computed) <= SegmentCount::AGE;
        if self.stage.is_none() || !fresh || self.count.computed_for != cwnd {
            self.compute_count(cwnd, acked, now, ack);
        }
        self.count.gain(acked) * window.mss
    }

    /// `cnt` for a window of `cwnd` segments.
    fn compute_count(&mut self, cwnd: f64, acked: f64, now: Instant, ack: &Ack) {
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => {
                self.count.reno_credit = acked;
                self.begin_stage(cwnd, now)
            }
        };
        // At one time only Reno's part changes.
        if self.stage.is_none() || self.count.computed != now {
            let t = now.since(stage.epoch).as_secs_f64() + self.ahead(ack);
            let target = stage.w_max.floor() + (self.w_cubic(&stage, t) - stage.w_max).trunc();
            let cnt = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
            let most = if self.uncut && self.params.growth_before_loss > 0.0 {
                (1.0 / self.params.growth_before_loss).floor()
            } else {
                f64::INFINITY
            };
            self.count.cnt = cnt.min(most);
            (self.count.computed, self.count.computed_for) = (now, cwnd);
        }
        if self.params.reno_friendly {
            // In eighths, as in Linux: one segment for each 15/8 of a window with beta = 0.7.
            let for_one = (cwnd * (8.0 / stage.alpha).floor() / 8.0).floor();
            while self.count.reno_credit > for_one {
                self.count.reno_credit -= for_one;
                stage.w_est += 1.0;
            }
            if stage.w_est > cwnd {
                self.count.cnt = self.count.cnt.min((cwnd / (stage.w_est - cwnd)).floor());
            }
        }
        self.count.cnt = self.count.cnt.max(SegmentCount::LEAST);
        self.stage = Some(stage);
    }
}

impl Avoidance for Cubic {
    fn inspect(&self, window: &Window, inspection: &mut Inspection) {
        if let Some(w_max) = self.stage.as_ref().map(|stage| stage.w_max).or(self.w_max) {
            inspection.segments("W_max", w_max, window.mss);
        }
        if let Some(stage) = &self.stage {
            inspection.segments("W_est", stage.w_est, window.mss);
            inspection.seconds("K", stage.k);
        }
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        if self.params.growth == Growth::Count {
            return self.increase_by_count(window, ack);
        }
        let cwnd = window.segments();
        let now = window.time_in_use(ack.now);
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin_stage(cwnd, now),
        };
        let share_of_window = (ack.acked as f64 / window.cwnd).min(1.0);

        // Equation 4; alpha becomes 1 once Reno would be back where the last reduction began.
        stage.w_est += stage.alpha * share_of_window;
        if self.params.reno_alpha_rises && self.cwnd_prior.is_some_and(|prior| stage.w_est >= prior) {
            stage.alpha = 1.0;
        }
        self.stage = Some(stage);

        let t = now.since(stage.epoch).as_secs_f64();
        if self.params.reno_friendly && self.w_cubic(&stage, t) < stage.w_est {
            return (stage.w_est - cwnd).max(0.0) * window.mss; // section 4.3: cwnd = W_est
        }
        // Sections 4.4 and 4.5, target as in section 4.2.
        let least = if self.uncut { cwnd * (1.0 + self.params.growth_before_loss) } else { cwnd };
        let target = self.w_cubic(&stage, t + self.ahead(ack)).clamp(least, 1.5 * cwnd);
        let share = match self.params.counting {
            Counting::Acks => 1.0 / cwnd,
            Counting::Bytes => share_of_window,
        };
        (target - cwnd) * share * window.mss
    }

    /// Section 4.6. One segment is the least that an ECN echo leaves, two a loss.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let cwnd = window.segments();
        self.remember_saturation_point(cwnd);
        self.uncut = false;
        self.cwnd_prior = Some(cwnd);
        self.stage = None;
        self.count.credit = 0.0;
        let left = self.reduced(window, event);
        let least = if event.kind == CongestionKind::EcnEcho { window.mss } else { 2.0 * window.mss };
        Cut { ssthresh: left.max(2.0 * window.mss), cwnd: left.max(least) }
    }

    /// Section 4.8: ssthresh by beta; the next stage begins at its inflection point.
    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        self.cwnd_prior = Some(window.segments());
        self.w_max = None;
        self.stage = None;
        self.uncut = true;
        self.count.credit = 0.0;
        self.reduced(window, event).max(2.0 * window.mss)
    }

    fn undone_with_window(&self) -> bool {
        self.params.growth_restored
    }

    /// The window was cut back to the restart window: a new stage begins when slow start is over.
    fn idle(&mut self) {
        self.stage = None;
    }

    /// The next stage begins with what is in segments in the new unit.
    fn rescale(&mut self, by: f64) {
        self.w_max = self.w_max.map(|segments| segments * by);
        self.cwnd_prior = self.cwnd_prior.map(|segments| segments * by);
        self.stage = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack_at, event, policy, setup};

    fn cubic(algorithm: &str, segments: u64) -> Box<dyn CongestionControl> {
        policy(algorithm, r#""standard""#, &setup(segments * MSS, Some(segments * MSS)))
    }

    /// One ACK for each segment of the window, spread over a round trip; returns the time after it.
    fn round(policy: &mut dyn CongestionControl, start: Instant, rtt: Duration) -> Instant {
        let segments = policy.window() / MSS;
        for index in 0..segments {
            let now = start + rtt.mul_f64(index as f64 / segments as f64);
            policy.on_ack(&Ack { now, srtt: rtt, ..ack_at(0, MSS) });
        }
        start + rtt
    }

    /// W_max 1000, cwnd_epoch 700, the stage begins at t = 0.
    fn stage_after_loss() -> (Cubic, Stage) {
        let mut rule = Cubic::new(CubicParams::default());
        rule.w_max = Some(1000.0);
        let stage = rule.begin_stage(700.0, Instant::ZERO);
        (rule, stage)
    }

    #[test]
    fn k_is_the_time_back_to_w_max() {
        // Equation 2: cbrt((1000 - 700) / 0.4) = cbrt(750) = 9.0856 s.
        let (rule, stage) = stage_after_loss();
        assert!((stage.k - 9.085_603).abs() < 1e-6, "{}", stage.k);
        // Equation 1 at t = 0, K, 2K: cwnd_epoch, W_max, and as far above it.
        for (t, window) in [(0.0, 700.0), (9.085_603, 1000.0), (18.171_206, 1300.0), (10.085_603, 1000.4)] {
            assert!((rule.w_cubic(&stage, t) - window).abs() < 1e-3, "at {t} s");
        }
    }

    #[test]
    fn alpha_makes_it_as_fast_as_reno() {
        // Section 4.3: 3 * 0.3 / 1.7.
        let (_, stage) = stage_after_loss();
        assert!((stage.alpha - 0.529_411_8).abs() < 1e-6);
        assert_eq!(stage.w_est, 700.0);
    }

    #[test]
    fn a_loss_leaves_seven_tenths() {
        let mut policy = cubic(r#""cubic""#, 1000);
        policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
        assert_eq!((policy.window(), policy.ssthresh()), (700_000, 700_000));
        // Section 4.6: at least two segments after a loss, one after an ECN echo; ssthresh at least two.
        for (kind, window) in [(CongestionKind::Loss, 2000), (CongestionKind::EcnEcho, 1400)] {
            let mut policy = cubic(r#""cubic""#, 10);
            policy.on_congestion(&event(kind, 2000));
            assert_eq!((policy.window(), policy.ssthresh()), (window, 2000));
        }
    }

    #[test]
    fn abe_keeps_more_upon_a_mark() {
        // RFC 8511 section 3.1: 0.85 for CUBIC.
        let mut policy = cubic(r#"{"kind": "cubic", "abe": true}"#, 1000);
        policy.on_congestion(&event(CongestionKind::EcnEcho, 1_000_000));
        assert_eq!((policy.window(), policy.ssthresh()), (850_000, 850_000));
        policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
        assert_eq!(policy.window(), 700_000);
    }

    #[test]
    fn the_window_follows_the_cubic_function() {
        // RTT 100 ms, W_max 1000 segments: t = K at 9.09 s, 2K at 18.17 s. ACK by ACK the window lags W_cubic(t) by less
        // than what it gains in a round trip.
        let mut policy = cubic(r#""cubic""#, 1000);
        policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
        let rtt = Duration::from_millis(100);
        let mut now = Instant::ZERO;
        let expected =
            [(3.0, 909.85), (6.0, 988.25), (9.1, 1000.0), (12.1, 1010.94), (15.1, 1087.17), (18.2, 1302.86)];
        for (time, window) in expected {
            while now.as_secs_f64() < time {
                now = round(&mut *policy, now, rtt);
            }
            let segments = policy.window() as f64 / MSS as f64;
            assert!((segments - window).abs() < 0.005 * window, "{segments} at {time} s");
        }
    }

    #[test]
    fn follows_the_same_curve_with_delayed_acks_when_counting_bytes() {
        let windows = [(r#""cubic""#, MSS), (r#"{"kind": "cubic", "counting": "bytes"}"#, 4 * MSS)];
        let windows = windows.map(|(algorithm, acked)| {
            let mut policy = cubic(algorithm, 1000);
            policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
            for time in 0..60u64 {
                for _ in 0..policy.window() / acked {
                    policy.on_ack(&ack_at(time * 100, acked));
                }
            }
            policy.window() as f64
        });
        assert!((windows[0] / windows[1] - 1.0).abs() < 0.002, "{windows:?}");
    }

    #[test]
    fn never_faster_than_half_a_window_per_round_trip() {
        // Section 4.2: target is at most 1.5 cwnd. After 100 s at K = 0, W_cubic is far above.
        let mut policy = cubic(r#""cubic""#, 10);
        policy.on_ack(&ack_at(0, MSS));
        let before = policy.window() as f64;
        policy.on_ack(&ack_at(100_000, MSS));
        // (1.5 cwnd - cwnd) / cwnd: half a segment for one ACK.
        assert!((policy.window() as f64 - before - 500.0).abs() <= 1.0);
    }

    #[test]
    fn follows_reno_on_short_paths() {
        // W_max 20 segments, RTT 10 ms: K = cbrt(6 / 0.4) = 2.47 s, but W_est gains 0.529 a round trip from 14:
        // 20 at round 11.3, and then one segment a round trip (section 4.3).
        let mut policy = cubic(r#""cubic""#, 20);
        policy.on_congestion(&event(CongestionKind::Loss, 20_000));
        let mut now = Instant::ZERO;
        let mut windows = Vec::new();
        for _ in 0..21 {
            now = round(&mut *policy, now, Duration::from_millis(10));
            windows.push(policy.window() as f64 / MSS as f64);
        }
        // A round is the whole segments of the window, so a little less than a window: 3 % tolerance.
        for (round, window) in [(1, 14.53), (5, 16.65), (10, 19.29), (21, 29.0)] {
            let got = windows[round - 1];
            assert!((got / window - 1.0).abs() < 0.03, "{got} after round {round}");
        }
        let slow = r#"{"kind": "cubic", "reno_friendly": false}"#;
        let mut policy = cubic(slow, 20);
        policy.on_congestion(&event(CongestionKind::Loss, 20_000));
        let mut now = Instant::ZERO;
        for _ in 0..21 {
            now = round(&mut *policy, now, Duration::from_millis(10));
        }
        assert!(policy.window() < 16_000); // W_cubic(0.21 s) = 0.4 (0.21 - 2.47)^3 + 20 = 15.4
    }

    /// tcp_cubic.c: tcp_cwnd gains 8 / (8 * 3 (1 - beta) / (1 + beta))^-1 = 0.53 segments per window acknowledged, whatever its size.
    #[test]
    fn linux_does_not_raise_alpha() {
        // As in follows_reno_on_short_paths: 14 + 21 * 0.529 = 25.1 after 21 round trips, where the RFC's has 29.
        let linux = r#"{"kind": "cubic", "counting": "bytes", "reno_alpha_rises": false}"#;
        let mut policy = cubic(linux, 20);
        policy.on_congestion(&event(CongestionKind::Loss, 20_000));
        let mut now = Instant::ZERO;
        for _ in 0..21 {
            now = round(&mut *policy, now, Duration::from_millis(10));
        }
        let segments = policy.window() as f64 / MSS as f64;
        assert!((segments / 25.1 - 1.0).abs() < 0.03, "{segments}");
    }

    /// bictcp_update adds delay_min to t, RFC 9438 section 4.2 the smoothed round trip.
    #[test]
    fn the_target_may_be_a_least_round_trip_ahead() {
        // t = 5 s after the inflection at 100: with 0.1 s of least round trip 100 + 0.4 * 5.1^3 = 153.06, clamped to 150; at 3 s
        // W_cubic(3.1) = 111.916, and W_cubic(3.5) = 117.15 with the smoothed 0.5 s.
        for (rtt, target) in [("least", 111.916), ("smoothed", 117.15)] {
            let json = format!(r#"{{"kind": "cubic", "reno_friendly": false, "target_rtt": "{rtt}"}}"#);
            let mut policy = cubic(&json, 100);
            let srtt = Duration::from_millis(500);
            policy.on_ack(&Ack { min_rtt: Duration::ZERO, srtt: Duration::ZERO, ..ack_at(0, MSS) });
            policy.on_ack(&Ack { srtt, ..ack_at(3000, MSS) });
            assert_eq!(policy.window(), 100_000 + ((target - 100.0) * 10.0) as u64, "{rtt}");
        }
    }

    /// tcp_cubic.c: cnt is at most 20 while last_max_cwnd is 0.
    #[test]
    fn before_a_loss_linux_gains_a_twentieth_per_round_trip() {
        let json =
            r#"{"kind": "cubic", "reno_friendly": false, "counting": "bytes", "growth_before_loss": 0.05}"#;
        let mut policy = cubic(json, 100);
        for _ in 0..100 {
            policy.on_ack(&ack_at(0, MSS));
        }
        assert!((104_900..=105_200).contains(&policy.window()), "{}", policy.window());
        policy.on_congestion(&event(CongestionKind::Loss, 100_000));
        let before = policy.window();
        for _ in 0..10 {
            policy.on_ack(&ack_at(0, MSS)); // W_cubic(0.1) is 0.1 * 3 c K^2 = 1.9 segments above: a 37th of that each
        }
        assert!(policy.window() - before < 600, "{}", policy.window() - before);
    }

    /// tcp_cubic.c and tcp_cong_avoid_ai, by hand: W_max 100, cwnd 70, K = cbrt(30 / 0.4) = 4.217 s, RTT 100 ms.
    #[test]
    fn linux_gains_a_segment_for_each_count_of_acknowledged_ones() {
        let json = r#"{"kind": "cubic", "growth": "count", "target_rtt": "least", "reno_friendly": false}"#;
        let mut policy = cubic(json, 100);
        policy.on_congestion(&event(CongestionKind::Loss, 100_000));
        let ack = |time: u64| Ack { min_rtt: Duration::from_millis(100), ..ack_at(time, MSS) };
        // t + delay_min = 0.1: 100 - 0.4 * 4.117^3 = 72.08, 72 with Linux's cut digits... 73 above, as what is subtracted is cut.
        // cnt = 70 / 3 = 23: the window stays for 22 ACKs and gains one with the 23rd.
        for _ in 0..22 {
            policy.on_ack(&ack(0));
        }
        assert_eq!(policy.window(), 70 * MSS);
        policy.on_ack(&ack(0));
        assert_eq!(policy.window(), 71 * MSS);
    }

    /// bictcp_update returns early while the window is the same and less than HZ / 32 has passed.
    #[test]
    fn linux_computes_the_count_at_most_every_32nd_of_a_second() {
        let json = r#"{"kind": "cubic", "growth": "count", "target_rtt": "least", "reno_friendly": false}"#;
        let acks_to_grow = |time: u64| {
            let mut policy = cubic(json, 100);
            policy.on_congestion(&event(CongestionKind::Loss, 100_000));
            policy.on_ack(&Ack { min_rtt: Duration::ZERO, ..ack_at(0, MSS) });
            (1..).find(|_| {
                policy.on_ack(&Ack { min_rtt: Duration::from_secs(4), ..ack_at(time, MSS) });
                policy.window() > 70 * MSS
            })
        };
        // At 0 s without delay_min the target is 70 and cnt 7000. With delay_min 4 s it is 99 (100 - 0.4 * 0.2^3) and cnt 70 / 30 = 2.
        assert_eq!(acks_to_grow(32), Some(1));
        assert!(acks_to_grow(31) > Some(1000));
    }

    /// Where Reno's window is ahead, cnt is cwnd over the difference: the window follows within a round trip, not at once.
    #[test]
    fn linux_follows_renos_window_with_a_lag() {
        // As in linux_does_not_raise_alpha, one segment for each 15/8 of a window: 14 + 21 * 8 / 15 = 25.2.
        let mut policy = cubic(r#"{"kind": "cubic", "growth": "count", "target_rtt": "least"}"#, 20);
        policy.on_congestion(&event(CongestionKind::Loss, 20_000));
        let rtt = Duration::from_millis(10);
        let mut now = Instant::ZERO;
        for _ in 0..21 {
            let segments = policy.window() / MSS;
            for index in 0..segments {
                let now = now + rtt.mul_f64(index as f64 / segments as f64);
                policy.on_ack(&Ack { now, srtt: rtt, min_rtt: rtt, ..ack_at(0, MSS) });
                assert_eq!(policy.window() % MSS, 0);
            }
            now += rtt;
        }
        assert!((23..=25).contains(&(policy.window() / MSS)), "{}", policy.window());
    }

    #[test]
    fn linux_leaves_whole_segments() {
        // 0.7 * 15 = 10.5.
        let mut policy = cubic(r#"{"kind": "cubic", "growth": "count"}"#, 15);
        policy.on_congestion(&event(CongestionKind::Loss, 15_000));
        assert_eq!(policy.window(), 10 * MSS);
    }

    #[test]
    fn fast_convergence_lowers_the_plateau() {
        // Section 4.7: the second loss comes at 700 < W_max = 1000: W_max = 700 * 1.7 / 2 = 595.
        for (fast_convergence, w_max) in [(true, 595.0), (false, 700.0)] {
            let mut rule = Cubic::new(CubicParams { fast_convergence, ..CubicParams::default() });
            rule.remember_saturation_point(1000.0);
            assert_eq!(rule.w_max, Some(1000.0));
            rule.remember_saturation_point(700.0);
            assert_eq!(rule.w_max, Some(w_max));
            rule.remember_saturation_point(800.0);
            assert_eq!(rule.w_max, Some(800.0));
        }
    }

    #[test]
    fn after_a_timeout_the_curve_begins_at_its_inflection() {
        // Section 4.8: ssthresh by beta, the window of one segment, then K = 0 and W_max = cwnd.
        let mut policy = cubic(r#"{"kind": "cubic", "reno_friendly": false}"#, 100);
        policy.on_congestion(&event(CongestionKind::Timeout, 100_000));
        assert_eq!((policy.window(), policy.ssthresh()), (1000, 70_000));
        for _ in 0..69 {
            policy.on_ack(&ack_at(0, MSS));
        }
        assert!(!policy.in_slow_start());
        policy.on_ack(&ack_at(1000, MSS)); // t = 0, W_cubic(0.1) = 70 + 0.4 * 0.1^3 = 70.0004
        assert_eq!(policy.window(), 70_000);
        policy.on_ack(&ack_at(3900, MSS)); // W_cubic(2.9 + 0.1) = 70 + 0.4 * 27 = 80.8: (80.8 - 70) / 70 = 0.154
        assert_eq!(policy.window(), 70_154);
    }

    #[test]
    fn time_limited_by_the_application_does_not_count() {
        // Section 4.2, last paragraph before the regions. Ten seconds of it leave the curve where it was.
        let grown = |pause_ms: u64| {
            let mut policy = cubic(r#""cubic""#, 1000);
            policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
            policy.on_ack(&ack_at(0, MSS));
            for time in (100..=pause_ms).step_by(100) {
                policy.on_ack(&Ack { app_limited: true, ..ack_at(time, MSS) });
            }
            for _ in 0..1000 {
                policy.on_ack(&ack_at(pause_ms + 100, MSS));
            }
            policy.window()
        };
        assert_eq!(grown(10_000), grown(0));
        assert!(grown(0) < 720_000);
    }

    #[test]
    fn a_pause_without_anything_in_flight_does_not_count() {
        // Section 4.2 again, where the window is full whenever there is data: no ACK shows that the application was the limit.
        let grown = |pause_ms: u64| {
            let mut policy = cubic(r#""cubic""#, 1000);
            policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
            policy.on_ack(&ack_at(0, MSS));
            let pause = Duration::from_millis(pause_ms);
            policy.on_transmission_start(Instant::ZERO + pause, pause);
            for _ in 0..1000 {
                policy.on_ack(&ack_at(pause_ms + 100, MSS));
            }
            policy.window()
        };
        assert_eq!(grown(20_000), grown(0));
        assert!(grown(0) < 720_000);
    }

    #[test]
    fn a_smaller_segment_leaves_the_plateau_where_it_was() {
        // W_max = 100 segments of 1000 bytes are 1000 of 100.
        let mut rule = Cubic::new(CubicParams::default());
        rule.remember_saturation_point(100.0);
        rule.rescale(10.0);
        assert_eq!(rule.w_max, Some(1000.0));
    }

    #[test]
    fn a_spurious_loss_leaves_no_trace() {
        // Section 4.9.2: cwnd, ssthresh, W_max, K, t_epoch and W_est as before.
        let run = |spurious: bool| {
            let mut policy = cubic(r#""cubic""#, 1000);
            policy.on_congestion(&event(CongestionKind::Loss, 1_000_000));
            let mut windows = Vec::new();
            for time in 0..50 {
                if spurious && time == 25 {
                    policy.on_congestion(&event(CongestionKind::Loss, 800_000));
                    assert!(policy.window() < 600_000);
                    policy.on_congestion(&event(CongestionKind::Spurious, 800_000));
                }
                for _ in 0..policy.window() / MSS {
                    policy.on_ack(&ack_at(time * 100, MSS));
                }
                windows.push(policy.window());
            }
            windows
        };
        assert_eq!(run(true), run(false));
    }

    /// tcp_reno_undo_cwnd() gives back window and threshold, and no more: there has been a loss, so that the window no longer grows by a
    /// twentieth each round trip.
    #[test]
    fn in_linux_only_the_window_of_a_spurious_loss_is_given_back() {
        let gained = |restored: bool| {
            let params = CubicParams { growth_restored: restored, ..CubicParams::linux() };
            let mut policy = cubic(&serde_json::to_string(&crate::Algorithm::Cubic(params)).unwrap(), 100);
            policy.on_congestion(&event(CongestionKind::Loss, 100_000));
            policy.on_congestion(&event(CongestionKind::Spurious, 100_000));
            assert_eq!((policy.window(), policy.ssthresh()), (100_000, 100_000));
            for _ in 0..100 {
                policy.on_ack(&ack_at(1000, MSS));
            }
            policy.window() - 100_000
        };
        assert_eq!((gained(true), gained(false)), (5_000, 0));
        assert!(!CubicParams::linux().growth_restored && CubicParams::default().growth_restored);
    }
}
