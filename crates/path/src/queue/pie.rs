//! PIE, proportional integral controller enhanced (RFC 8033): packets are dropped or marked on arrival with a probability
//! that is adjusted every `update` by how far the queueing delay is from `target`, and where it is heading.

use super::{Admission, Discipline, Found, Parameters, Setup, Verdict};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Duration, Instant, Limit, Probability, QueueLimit, Size};

/// Parameters of PIE.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PieSpec {
    /// Most packets or bytes in the system.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// QDELAY_REF: the queueing delay to keep.
    #[serde(default = "fifteen_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub target: Duration,
    /// T_UPDATE: time between two adjustments of the probability.
    #[serde(default = "fifteen_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub update: Duration,
    /// Weight of the delay's distance from `target`, per second.
    #[serde(default = "one_eighth")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub alpha: f64,
    /// Weight of the delay's growth since the last adjustment, per second.
    #[serde(default = "five_quarters")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub beta: f64,
    /// MAX_BURST: after a time without delay, nothing is dropped for this long.
    #[serde(default = "burst")]
    pub max_burst: Duration,
    /// MEAN_PKTSIZE: a queue of at most two such packets is left alone.
    #[serde(default = "full_packet")]
    pub mean_packet: Size,
    /// Keep drops from being too close to each other or too far apart (section 5, optional).
    #[serde(default = "super::yes")]
    pub derandomise: bool,
    /// From a probability of 10 % on, raise it by at most 2 points at a time (section 5, optional).
    #[serde(default = "super::yes")]
    pub cap_adjustment: bool,
    /// Be inactive until the queue reaches this length, and after it has been empty for long (section 5, optional, which
    /// suggests a third of the limit); without it PIE is always active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<QueueLimit>,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "super::yes")]
    pub ecn: bool,
    /// MAX_ECNTH: from this probability on ECN-capable packets are dropped too.
    #[serde(default = "one_tenth")]
    pub mark_limit: Probability,
}

impl Parameters for PieSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        [&mut self.limit].into_iter().chain(&mut self.activation).collect()
    }
    fn decides_on_arrival(&self) -> bool {
        true
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        Discipline::admission(Pie::new(self, setup.random("queue")))
    }
}

pub(super) fn fifteen_ms() -> Duration {
    Duration::from_millis(15)
}
pub(super) fn one_eighth() -> f64 {
    0.125
}
pub(super) fn five_quarters() -> f64 {
    1.25
}
pub(super) fn burst() -> Duration {
    Duration::from_millis(150)
}
fn full_packet() -> Size {
    Size::from_bytes(1500)
}
pub(super) fn one_tenth() -> Probability {
    Probability::new(0.1).expect("0.1 is a probability")
}

impl PieSpec {
    /// PIE with the values of RFC 8033.
    pub fn rfc(limit: impl Into<QueueLimit>) -> Self {
        PieSpec {
            limit: limit.into(),
            target: fifteen_ms(),
            update: fifteen_ms(),
            alpha: one_eighth(),
            beta: five_quarters(),
            max_burst: burst(),
            mean_packet: full_packet(),
            derandomise: true,
            cap_adjustment: true,
            activation: None,
            ecn: true,
            mark_limit: one_tenth(),
        }
    }
}

/// PIE at work. Adjustments are made up for on the next arrival: in between the queue only drains, and how long it was at
/// each of them is known.
#[derive(Clone, Debug)]
pub struct Pie {
    spec: PieSpec,
    active: bool,
    probability: f64,
    /// Queueing delay at the last adjustment, and at the one before.
    delay: Duration,
    old_delay: Duration,
    burst_allowance: Duration,
    next_update: Instant,
    /// Probability that has added up since the last drop.
    accumulated: f64,
    random: Random,
}

impl Pie {
    /// PIE before the first packet.
    pub fn new(spec: &PieSpec, random: Random) -> Self {
        Pie {
            spec: *spec,
            active: spec.activation.is_none(),
            probability: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_allowance: spec.max_burst,
            next_update: Instant::ZERO + spec.update,
            accumulated: 0.0,
            random,
        }
    }

    /// The probability in force.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Makes up for the adjustments that were due by `now`; `delay_at` is the queueing delay at a time since the last call.
    pub(super) fn catch_up(&mut self, now: Instant, delay_at: impl Fn(Instant) -> Duration) {
        while self.next_update <= now {
            self.adjust(delay_at(self.next_update));
            self.next_update += self.spec.update;
            let at_rest = self.probability == 0.0 && self.delay.is_zero() && self.old_delay.is_zero();
            if at_rest && self.next_update <= now {
                // Nothing changes any more until the next packet.
                let missed = (now - self.next_update).as_nanos() / self.spec.update.as_nanos() + 1;
                self.next_update += self.spec.update * missed;
                self.burst_allowance = Duration::ZERO;
            }
        }
    }

    /// One adjustment (RFC 8033 section 4).
    fn adjust(&mut self, delay: Duration) {
        let (now, old, target) =
            (delay.as_secs_f64(), self.delay.as_secs_f64(), self.spec.target.as_secs_f64());
        let step =
            (self.spec.alpha * (now - target) + self.spec.beta * (now - old)) * scale(self.probability);
        let most = if self.spec.cap_adjustment && self.probability >= 0.1 { 0.02 } else { f64::INFINITY };
        self.probability += step.min(most);
        if delay.is_zero() && self.delay.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        (self.old_delay, self.delay) = (self.delay, delay);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.spec.update);
    }

    /// Short delays, now and before, and no probability: the next burst is welcome.
    fn is_quiet(&self) -> bool {
        let short = |delay: Duration| delay * 2 < self.spec.target;
        self.probability == 0.0 && short(self.delay) && short(self.old_delay)
    }

    /// True if this packet is to be dropped or marked.
    fn strikes(&mut self, bytes: u64) -> bool {
        let calm = self.delay * 2 < self.spec.target && self.probability < 0.2;
        if calm || bytes <= 2 * self.spec.mean_packet.as_bytes() {
            return false;
        }
        if !self.spec.derandomise {
            return self.random.uniform() < self.probability;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        let strikes = self.accumulated >= 8.5 || self.random.uniform() < self.probability;
        if strikes {
            self.accumulated = 0.0;
        }
        strikes
    }

    /// What becomes of a packet that finds room behind so many bytes.
    pub(super) fn judge(&mut self, bytes: u64) -> Verdict {
        if self.is_quiet() {
            self.burst_allowance = self.spec.max_burst;
        }
        if !self.active || !self.burst_allowance.is_zero() || !self.strikes(bytes) {
            return Verdict::Accept;
        }
        if self.spec.ecn && self.probability < self.spec.mark_limit.get() {
            Verdict::Mark
        } else {
            Verdict::Drop(DropCause::Early)
        }
    }

    /// Whether PIE watches the queue at all.
    fn activate(&mut self, found: &Found) {
        let Some(activation) = self.spec.activation else { return };
        let long = match activation.fixed() {
            Limit::Packets(packets) => found.system.packets >= packets,
            Limit::Bytes(bytes) => found.system.bytes >= bytes.as_bytes(),
        };
        if !self.active && long {
            self.active = true;
            self.probability = 0.0;
            (self.delay, self.old_delay) = (Duration::ZERO, Duration::ZERO);
            self.burst_allowance = self.spec.max_burst;
            self.accumulated = 0.0;
        } else if self.active && found.system.packets == 0 && self.probability == 0.0 && self.delay.is_zero()
        {
            self.active = false;
        }
    }
}

/// How much slower the probability is adjusted while it is small (RFC 8033 section 4).
fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

impl Admission for Pie {
    fn admit(&mut self, now: Instant, found: &Found, len: u32) -> Verdict {
        // The queue drains at `free_at`.
        self.catch_up(now, |at| found.free_at.since(at));
        self.activate(found);
        if !found.system.has_room(self.spec.limit.fixed(), len) {
            self.accumulated = 0.0;
            return Verdict::Drop(DropCause::QueueFull);
        }
        self.judge(found.system.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::at_ms;
    use super::*;
    use crate::queue::Occupancy;

    fn pie(spec: PieSpec) -> Pie {
        Pie::new(&spec, Random::stream(1, "pie"))
    }
    fn rfc() -> PieSpec {
        PieSpec::rfc(Limit::Packets(10_000))
    }
    /// A queue of 100 packets of 1000 B that drains in `delay_ms` from `ms`.
    fn found(ms: f64, delay_ms: f64) -> Found {
        let system = Occupancy { packets: 100, bytes: 100_000 };
        Found { system, in_service: 1000, free_at: at_ms(ms + delay_ms) }
    }

    /// Section 4's table.
    #[test]
    fn small_probabilities_are_adjusted_slowly() {
        for (probability, factor) in [
            (0.0, 1.0 / 2048.0),
            (0.000_000_9, 1.0 / 2048.0),
            (0.000_001, 1.0 / 512.0),
            (0.000_009, 1.0 / 512.0),
            (0.000_01, 1.0 / 128.0),
            (0.000_1, 1.0 / 32.0),
            (0.001, 1.0 / 8.0),
            (0.01, 0.5),
            (0.099, 0.5),
            (0.1, 1.0),
            (0.9, 1.0),
        ] {
            assert_eq!(scale(probability), factor, "{probability}");
        }
    }

    /// p += (alpha (delay - target) + beta (delay - old delay)) * scale, with alpha 0.125, beta 1.25, target 15 ms.
    #[test]
    fn adjustment() {
        let after = |probability: f64, old_ms: u64, delay_ms: u64| {
            let mut pie = pie(rfc());
            (pie.probability, pie.delay) = (probability, Duration::from_millis(old_ms));
            pie.adjust(Duration::from_millis(delay_ms));
            pie.probability
        };
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        // 0.125 * 0.015 + 1.25 * 0.010 = 0.014375; at 5 % half of it.
        close(after(0.05, 20, 30), 0.0571875);
        // 0.125 * 0.005 - 1.25 * 0.010 = -0.011875; at 20 % all of it.
        close(after(0.2, 30, 20), 0.188125);
        // From zero a 2048th: 0.014375 / 2048.
        close(after(0.0, 20, 30), 7.019_042_968_75e-6);
        // Above 10 % at most 2 points: 0.125 * 0.085 + 1.25 * 0.08 = 0.110625.
        close(after(0.15, 20, 100), 0.17);
        // An empty queue: (0.5 - 0.125 * 0.015) * 0.98; never below 0 or above 1.
        close(after(0.5, 0, 0), 0.488_162_5);
        close(after(0.000_01, 20, 0), 0.0);
        close(after(0.99, 100, 400), 1.0);
    }

    /// Adjustments that were due while nothing came happen later, with the delays of their time: at 15 ms 25 ms were left of
    /// 40, at 30 ms 10.
    #[test]
    fn adjustments_are_made_up_for() {
        let mut late = pie(rfc());
        (late.probability, late.delay) = (0.05, Duration::from_millis(40));
        let mut step = late.clone();
        let drains = |at: Instant| at_ms(40.0).since(at);
        late.catch_up(at_ms(44.0), drains);
        step.adjust(Duration::from_millis(25));
        step.adjust(Duration::from_millis(10));
        assert_eq!(late.probability, step.probability);
        assert_eq!(late.next_update, at_ms(45.0));
        // A long silence leads to zero, and to the first multiple of 15 ms after it.
        late.catch_up(at_ms(3_600_000.0), drains);
        assert_eq!((late.probability, late.next_update), (0.0, at_ms(3_600_015.0)));
    }

    /// Section 4: nothing is dropped during a burst of up to 150 ms after a quiet time.
    #[test]
    fn bursts_are_let_in() {
        let mut pie = pie(PieSpec { limit: Limit::Packets(1000).into(), ecn: false, ..rfc() });
        let mut first = None;
        for tenth in 0..20_000u32 {
            let ms = f64::from(tenth) * 0.1;
            if pie.admit(at_ms(ms), &found(ms, 500.0), 1000) != Verdict::Accept {
                first = Some(ms);
                break;
            }
        }
        assert!(first.is_some_and(|ms| (150.0..400.0).contains(&ms)), "{first:?}");
    }

    /// Without derandomisation packets are hit independently; with it the gap is at least 0.85 / p packets and at most
    /// 8.5 / p.
    #[test]
    fn gaps_between_drops() {
        for derandomise in [false, true] {
            let mut pie = pie(PieSpec { derandomise, ..rfc() });
            (pie.probability, pie.delay) = (0.05, Duration::from_millis(15));
            let mut gaps = vec![];
            let mut gap = 0;
            for _ in 0..200_000 {
                gap += 1;
                if pie.strikes(100_000) {
                    gaps.push(gap);
                    gap = 0;
                }
            }
            let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
            let mean = 200_000.0 / gaps.len() as f64;
            if derandomise {
                assert!(*least >= 17 && *most <= 170, "{least} to {most}");
                // 16 packets that cannot be hit, then geometric with mean 20.
                assert!((mean - 36.0).abs() < 1.0, "{mean}");
            } else {
                assert_eq!(*least, 1);
                assert!((mean - 20.0).abs() < 1.0, "{mean}");
            }
        }
    }

    /// Section 4: a delay below half the target, or a queue of two packets, is left alone; section 5: marks up to 10 %.
    #[test]
    fn verdicts() {
        let verdict = |probability: f64, delay_ms: u64, bytes: u64, ecn: bool| {
            let mut pie = pie(PieSpec { ecn, derandomise: false, ..rfc() });
            (pie.probability, pie.delay) = (probability, Duration::from_millis(delay_ms));
            (pie.burst_allowance, pie.old_delay) = (Duration::ZERO, Duration::from_millis(20));
            pie.next_update = at_ms(1e6);
            let found = Found {
                system: Occupancy { packets: 10, bytes },
                in_service: 1000,
                free_at: at_ms(1000.0 + delay_ms as f64),
            };
            let verdicts: Vec<Verdict> = (0..2000).map(|_| pie.admit(at_ms(1000.0), &found, 1000)).collect();
            verdicts.into_iter().find(|verdict| *verdict != Verdict::Accept)
        };
        assert_eq!(verdict(0.15, 7, 50_000, true), None);
        assert_eq!(verdict(0.25, 7, 50_000, false), Some(Verdict::Drop(DropCause::Early)));
        assert_eq!(verdict(0.05, 20, 3000, true), None);
        assert_eq!(verdict(0.05, 20, 50_000, true), Some(Verdict::Mark));
        assert_eq!(verdict(0.05, 20, 50_000, false), Some(Verdict::Drop(DropCause::Early)));
        assert_eq!(verdict(0.1, 20, 50_000, true), Some(Verdict::Drop(DropCause::Early)));
    }

    /// Section 5: inactive below the activation length, and again once the queue has been empty.
    #[test]
    fn activation() {
        let mut pie = pie(PieSpec { activation: Some(Limit::Packets(50).into()), ..rfc() });
        let short = Found {
            system: Occupancy { packets: 49, bytes: 49_000 },
            in_service: 1000,
            free_at: at_ms(50.0),
        };
        pie.admit(at_ms(0.0), &short, 1000);
        assert!(!pie.active);
        pie.admit(at_ms(1.0), &found(1.0, 100.0), 1000);
        assert!(pie.active);
        let empty = Found { system: Occupancy::default(), in_service: 0, free_at: at_ms(200.0) };
        pie.admit(at_ms(5000.0), &empty, 1000);
        assert!(!pie.active);
    }
}
