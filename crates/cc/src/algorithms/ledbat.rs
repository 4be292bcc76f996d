//! Transports for the background, which give way to others before these lose anything: LEDBAT (RFC 6817), and LEDBAT++
//! (draft-irtf-iccrg-ledbat-plus-plus), which slows down now and then to measure the path without its own queue, so that a flow that
//! comes late has no advantage. Both measure the queue by round trips, as LEDBAT++ does; RFC 6817 takes one-way delays.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Cut, Growth, Inspection, Setup, Window};
use longhaul_units::{Duration, Instant};

/// Parameters of LEDBAT (RFC 6817).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedbatParams {
    /// TARGET: queueing delay that it aims at; RFC 6817 allows 100 ms at most.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "10 s"))]
    pub target: Duration,
    /// GAIN: segments gained in a round trip without a queue. RFC 6817 allows 1 at most.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-unit" = "segments per RTT"))]
    pub gain: f64,
}

impl Default for LedbatParams {
    /// RFC 6817 section 2.5: 100 ms, GAIN 1.
    fn default() -> Self {
        LedbatParams { target: Duration::from_millis(100), gain: 1.0 }
    }
}

impl Spec for LedbatParams {
    const NAME: &'static str = "ledbat";
    const SOURCE: &'static str = "RFC 6817";
    const SUMMARY: &'static str =
        "for the background: keeps the queue at a target delay, and leaves it to others";
}

impl AlgorithmSpec for LedbatParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Ledbat::new(self.target, Form::Linear { gain: self.gain }), setup)
    }
}

/// Parameters of LEDBAT++.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedbatPpParams {
    /// TARGET: queueing delay that it aims at.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "10 s"))]
    pub target: Duration,
    /// Constant of the multiplicative decrease: windows lost in a round trip for each target above the target; half a window at most.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-unit" = "windows per RTT"))]
    pub constant: f64,
    /// Slow down for as long as it takes, then go on for so many times as long. 0 for never.
    #[schemars(extend("minimum" = 0, "maximum" = 10_000, "x-unit" = "slowdowns"))]
    pub interval: f64,
}

impl Default for LedbatPpParams {
    /// 60 ms, 1, and a tenth of the time spent in slowdowns.
    fn default() -> Self {
        LedbatPpParams { target: Duration::from_millis(60), constant: 1.0, interval: 9.0 }
    }
}

impl Spec for LedbatPpParams {
    const NAME: &'static str = "ledbat++";
    const SOURCE: &'static str = "draft-irtf-iccrg-ledbat-plus-plus";
    const SUMMARY: &'static str =
        "for the background: LEDBAT that shrinks by a share and slows down now and then to measure the path";
}

impl AlgorithmSpec for LedbatPpParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let form = Form::PlusPlus { constant: self.constant, interval: self.interval };
        slow_start.compose(Ledbat::new(self.target, form), setup)
    }
}

/// MIN_CWND, and the window of a slowdown, in segments.
const LEAST_SEGMENTS: f64 = 2.0;
/// BASE_HISTORY: the least delay of so many minutes counts.
const MINUTES: usize = 10;
/// CURRENT_FILTER: the least of so many delays is the present one.
const SAMPLES: usize = 4;
/// LEDBAT++ gains a 16th of a segment in a round trip at least.
const LEAST_GAIN: f64 = 1.0 / 16.0;
/// Slow start of LEDBAT++ ends at this share of the target.
const EXIT: f64 = 0.75;
/// Round trips from slow start to the first slowdown, and of a slowdown before the window grows again.
const PAUSE: u64 = 2;

/// Base delay and present delay (RFC 6817 section 2.4.1).
#[derive(Clone, Debug)]
struct Delays {
    /// The least of each minute, the present one last.
    history: [Duration; MINUTES],
    minute: Instant,
    latest: [Duration; SAMPLES],
    next: usize,
}

impl Delays {
    fn new() -> Self {
        Delays {
            history: [Duration::MAX; MINUTES],
            minute: Instant::ZERO,
            latest: [Duration::MAX; SAMPLES],
            next: 0,
        }
    }
    fn observe(&mut self, now: Instant, rtt: Duration) {
        let minute = Duration::from_secs(60);
        if now.since(self.minute) >= minute * MINUTES as u64 {
            (self.history, self.minute) = ([Duration::MAX; MINUTES], now);
        }
        while now.since(self.minute) >= minute {
            self.minute += minute;
            self.history.rotate_left(1);
            self.history[MINUTES - 1] = Duration::MAX;
        }
        let least = &mut self.history[MINUTES - 1];
        *least = rtt.min(*least);
        self.latest[self.next] = rtt;
        self.next = (self.next + 1) % SAMPLES;
    }
    fn base(&self) -> Duration {
        self.history.iter().copied().min().unwrap_or(Duration::MAX)
    }
    /// Seconds of queueing; none before the first sample.
    fn queued(&self) -> Option<f64> {
        let present = self.latest.iter().copied().min().filter(|delay| *delay < Duration::MAX)?;
        Some(present.as_secs_f64() - self.base().as_secs_f64())
    }
    /// What was measured while idle is not known; the base stays.
    fn forget_latest(&mut self) {
        self.latest = [Duration::MAX; SAMPLES];
    }
}

/// How the window moves.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// In proportion to the distance from the target, down as up.
    Linear { gain: f64 },
    /// Up by the gain, down by a share of the window.
    PlusPlus { constant: f64, interval: f64 },
}

/// Where LEDBAT++ is between slowdowns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The first slow start.
    First,
    /// The next slowdown is due then.
    Until(Instant),
    /// Two segments, since the first time and until the second.
    Frozen(Instant, Instant),
    /// Back to the window of before, in a slowdown that began then.
    Ramp(Instant),
}

/// Congestion avoidance of both, and the slow start of LEDBAT++.
#[derive(Clone, Debug)]
pub struct Ledbat {
    target: f64,
    form: Form,
    delays: Delays,
    phase: Phase,
}

impl Ledbat {
    fn new(target: Duration, form: Form) -> Self {
        Ledbat { target: target.as_secs_f64(), form, delays: Delays::new(), phase: Phase::First }
    }
    /// Segments per round trip: 1 / min(16, ceil(2 TARGET / base)) for LEDBAT++.
    fn gain(&self) -> f64 {
        match self.form {
            Form::Linear { gain } => gain,
            Form::PlusPlus { .. } => {
                let base = self.delays.base().as_secs_f64();
                (1.0 / (2.0 * self.target / base).ceil().max(1.0)).max(LEAST_GAIN)
            }
        }
    }
    /// Bytes by which the window changes in a round trip.
    fn change(&self, window: &Window, queued: f64) -> f64 {
        let (gain, off) = (self.gain() * window.mss, queued / self.target - 1.0);
        match self.form {
            Form::Linear { .. } => -gain * off,
            Form::PlusPlus { .. } if off <= 0.0 => gain,
            Form::PlusPlus { constant, .. } => (gain - constant * window.cwnd * off).max(-window.cwnd / 2.0),
        }
    }
}

impl Avoidance for Ledbat {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.time("base", Some(self.delays.base()));
        inspection.seconds("queueing", self.delays.queued().unwrap_or(0.0));
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.observe(ack.now, rtt);
        }
    }

    /// The slowdowns of LEDBAT++: two segments for two round trips, then slow start back to the window of before. The time until
    /// the next one is nine times what it took.
    fn set(&mut self, window: &Window, ack: &Ack) -> Option<Cut> {
        let Form::PlusPlus { interval, .. } = self.form else { return None };
        if interval == 0.0 {
            return None;
        }
        let pause = ack.srtt * PAUSE;
        match self.phase {
            Phase::First if !window.in_slow_start() => self.phase = Phase::Until(ack.now + pause),
            Phase::Until(due) if ack.now >= due && !window.in_slow_start() => {
                self.phase = Phase::Frozen(ack.now, ack.now + pause);
                return Some(Cut { ssthresh: window.cwnd, cwnd: LEAST_SEGMENTS * window.mss });
            }
            Phase::Frozen(began, end) if ack.now >= end => self.phase = Phase::Ramp(began),
            Phase::Ramp(began) if !window.in_slow_start() => {
                let took = ack.now.since(began).as_secs_f64();
                self.phase = Phase::Until(ack.now + Duration::from_secs_f64(interval * took));
            }
            _ => {}
        }
        None
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let Some(queued) = self.delays.queued() else { return 0.0 };
        let step = self.change(window, queued) * (ack.acked as f64 / window.cwnd).min(1.0);
        step.max(-(window.cwnd - LEAST_SEGMENTS * window.mss).max(0.0))
    }

    /// Half (RFC 6817 section 2.4.2).
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        keep(0.5, event, window.mss)
    }

    /// LEDBAT++ grows by its gain, and leaves its first slow start at three quarters of the target; a later one leads back to a
    /// window that is known. RFC 6817 has no word on slow start: it ends at the target.
    fn shape_slow_start(&mut self, _: &Window, _: &Ack, step: Growth) -> Growth {
        let over = |share: f64| self.delays.queued().is_some_and(|queued| queued > share * self.target);
        match (self.form, self.phase) {
            (Form::Linear { .. }, _) if over(1.0) => Growth { bytes: 0.0, exit: true },
            (Form::Linear { .. }, _) => step,
            (_, Phase::Frozen(..)) => Growth { bytes: 0.0, exit: false },
            (_, Phase::First) if over(EXIT) => Growth { bytes: 0.0, exit: true },
            _ => Growth { bytes: step.bytes * self.gain(), ..step },
        }
    }

    fn idle(&mut self) {
        self.delays.forget_latest();
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST_GAIN, LedbatPpParams};
    use crate::testing::{MSS, ack_of, avoiding, event, policy, reading, setup};
    use crate::{Ack, Algorithm, CongestionControl, CongestionKind};
    use longhaul_units::Duration;

    /// A sample of the base, four of the present round trip, then a round of a hundred segments: what it adds, in segments.
    fn change(algorithm: &str, base: u64, rtt: u64) -> f64 {
        let mut policy = avoiding(algorithm, 100);
        for rtt in [base, rtt, rtt, rtt, rtt] {
            policy.on_ack(&Ack { app_limited: true, ..ack_of(1, rtt) });
        }
        (0..100).for_each(|_| policy.on_ack(&ack_of(1, rtt)));
        policy.window() as f64 / MSS as f64 - 100.0
    }

    /// RFC 6817 section 2.4.2: GAIN * off_target * bytes_newly_acked * MSS / cwnd, off_target = (TARGET - queueing delay) / TARGET.
    #[test]
    fn ledbat_moves_in_proportion_to_the_distance_from_100_ms() {
        for (rtt, expected) in [(20, 1.0), (70, 0.5), (120, 0.0), (170, -0.5), (320, -2.0)] {
            let change = change(r#""ledbat""#, 20, rtt);
            assert!((change - expected).abs() < 0.03, "{rtt} ms: {change}");
        }
    }

    /// GAIN = 1 / min(16, ceil(2 TARGET / base)): 1 / 16 below 8 ms, 1 / 4 at 30 ms, 1 / 2 at 100 ms, 1 from 120 ms on.
    #[test]
    fn ledbat_pp_gains_by_its_base_delay() {
        let fixed = r#"{"kind": "ledbat++", "interval": 0}"#;
        for (base, gain) in [(5, LEAST_GAIN), (30, 0.25), (100, 0.5), (120, 1.0), (600, 1.0)] {
            let change = change(fixed, base, base + 59);
            assert!((change - gain).abs() < 0.01, "{base} ms: {change}");
        }
    }

    /// W += max(GAIN - Constant W (delay / target - 1), -W / 2): at 66 ms a tenth of the window, at 120 ms and more half of it.
    #[test]
    fn ledbat_pp_shrinks_by_a_share() {
        let fixed = r#"{"kind": "ledbat++", "interval": 0}"#;
        for (rtt, expected) in [(666, -9.0), (720, -50.0), (1200, -50.0)] {
            let change = change(fixed, 600, rtt);
            assert!((change - expected).abs() < 0.1, "{rtt} ms: {change}");
        }
    }

    #[test]
    fn the_base_is_the_least_of_ten_minutes() {
        let mut policy = avoiding(r#""ledbat""#, 100);
        let base = |policy: &dyn CongestionControl| reading(policy, "base");
        policy.on_ack(&ack_of(1000, 50));
        for minute in 1..=9 {
            policy.on_ack(&ack_of(1000 + minute * 60_000, 80));
            assert_eq!(base(&*policy), 0.05);
        }
        policy.on_ack(&ack_of(1000 + 600_000, 80));
        assert_eq!(base(&*policy), 0.08);
        // After hours without an ACK only the present sample counts.
        policy.on_ack(&ack_of(20_000_000, 300));
        assert_eq!(base(&*policy), 0.3);
    }

    /// Round trips of 100 ms: slow start ends with more than 45 ms of queue, two round trips later the window is two segments for
    /// two round trips, then it grows back by half a segment for each that is acknowledged, however long the queue is meanwhile.
    #[test]
    fn slowdowns_take_a_tenth_of_the_time() {
        let mut policy = policy(r#""ledbat++""#, r#""standard""#, &setup(64 * MSS, None));
        policy.on_ack(&ack_of(100, 100));
        assert_eq!(policy.window(), 64 * MSS + MSS / 2);
        (0..4).for_each(|_| policy.on_ack(&ack_of(200, 146)));
        assert!(!policy.in_slow_start());
        let mut now = 200;
        let before = loop {
            now += 10;
            let before = policy.window();
            policy.on_ack(&ack_of(now, 120));
            if policy.in_slow_start() {
                break before;
            }
        };
        // The pause began with the first ACK after the exit, at a srtt of 120 ms.
        assert!((440..=460).contains(&now), "{now}");
        assert_eq!((policy.window(), policy.ssthresh()), (2 * MSS, before));
        let began = now;
        while policy.window() == 2 * MSS {
            now += 10;
            policy.on_ack(&ack_of(now, 120));
        }
        assert!((240..=260).contains(&(now - began)), "{}", now - began);
        while policy.in_slow_start() {
            now += 1;
            policy.on_ack(&ack_of(now, 250)); // far above the target
        }
        assert!(policy.window() >= before);
        let (took, back) = (now - began, now);
        while !policy.in_slow_start() {
            now += 10;
            policy.on_ack(&ack_of(now, 120));
        }
        // The ACK after the last of the ramp ends it, 10 ms later.
        assert!((now - back).abs_diff(9 * (took + 10)) <= 30, "{} after {took}", now - back);
    }

    /// A loss in the first slow start ends it as well.
    #[test]
    fn a_first_slow_start_that_ends_in_a_loss_is_followed_by_a_slowdown() {
        let mut policy = policy(r#""ledbat++""#, r#""standard""#, &setup(64 * MSS, None));
        policy.on_congestion(&event(CongestionKind::Loss, 64 * MSS));
        (0..60).for_each(|step| policy.on_ack(&ack_of(100 + 10 * step, 100)));
        assert!(policy.in_slow_start());
        assert!(policy.ssthresh().abs_diff(32 * MSS) < MSS);
    }

    #[test]
    fn half_upon_loss_and_two_segments_at_least() {
        for algorithm in [r#""ledbat""#, r#""ledbat++""#] {
            let mut policy = avoiding(algorithm, 100);
            policy.on_congestion(&event(CongestionKind::Loss, 100 * MSS));
            assert_eq!(policy.window(), 50 * MSS);
            policy.on_ack(&ack_of(1, 20));
            (0..20_000).for_each(|_| policy.on_ack(&ack_of(2, 5000)));
            assert_eq!(policy.window(), 2 * MSS);
        }
    }

    #[test]
    fn a_target_of_nothing_is_refused() {
        for kind in ["ledbat", "ledbat++"] {
            let text = format!(r#"{{"kind": "{kind}", "target": "0 s"}}"#);
            let error = serde_json::from_str::<Algorithm>(&text).unwrap_err().to_string();
            assert_eq!(error, format!("{kind}: target must be above 0 s and at most 10 s, not 0 s"));
        }
        assert_eq!(LedbatPpParams::default().target, Duration::from_millis(60));
    }
}
