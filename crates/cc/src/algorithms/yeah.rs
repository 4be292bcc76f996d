//! YeAH: scalable while the queue is short ("fast"), Reno and draining of the queue when it is long ("slow"), and a loss is
//! answered by what was queued. A. Baiocchi, A. Castellani, F. Vacirca: YeAH-TCP: Yet Another Highspeed TCP, PFLDnet 2007;
//! constants as in the authors' implementation (Linux).

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::round_rtt::{RoundRtt, RttOfRound, queued_segments};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Cut, Growth, Inspection, Setup, Window};
use longhaul_units::Duration;

/// Parameters of [`Yeah`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct YeahParams {
    /// Q_max: more segments of one's own in the queue end fast mode and are drained.
    #[schemars(extend("minimum" = 1, "maximum" = 100_000, "x-unit" = "segments"))]
    pub q_max: f64,
    /// A queueing delay of more than the base RTT over phi ends fast mode.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-unit" = "base RTTs per queueing delay"))]
    pub phi: f64,
    /// Draining takes away the queue over gamma.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "queues per step"))]
    pub gamma: f64,
    /// Draining takes away at most this share of the window.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5, "x-unit" = "share of the window"))]
    pub epsilon: f64,
    /// A loss takes away at least this share of the window when no Reno competes.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5, "x-unit" = "share of the window"))]
    pub delta: f64,
    /// After so many RTTs in slow mode a greedy flow is thought to compete: a loss halves the window.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000, "x-unit" = "RTTs"))]
    pub rho: u32,
    /// After so many RTTs in fast mode since the last loss the estimate of a competing Reno's window is forgotten.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000, "x-unit" = "RTTs"))]
    pub zeta: u32,
    /// Fast mode: segments gained for each segment acknowledged (Scalable TCP), if that is more than Reno's.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "segments per segment"))]
    pub a: f64,
}

impl Default for YeahParams {
    /// Q_max 80, phi 8, gamma 1, epsilon 1/2, delta 1/8, rho 16, zeta 50, a 0.01.
    fn default() -> Self {
        YeahParams {
            q_max: 80.0,
            phi: 8.0,
            gamma: 1.0,
            epsilon: 0.5,
            delta: 0.125,
            rho: 16,
            zeta: 50,
            a: 0.01,
        }
    }
}

impl Spec for YeahParams {
    const NAME: &'static str = "yeah";
    const SOURCE: &'static str = "Baiocchi et al. 2007";
    const SUMMARY: &'static str = "scalable while the queue is short, else Reno; drains what it queued";
}

impl AlgorithmSpec for YeahParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Yeah::new(self.clone()), setup)
    }
}

/// The least estimate of a competing Reno's window, in segments: no estimate.
const NO_RENO: f64 = 2.0;

/// Congestion avoidance of YeAH-TCP. Windows and queues in segments.
#[derive(Clone, Debug)]
pub struct Yeah {
    params: YeahParams,
    rounds: RoundRtt,
    /// The RTT of the round that this ACK ends, if it ends one that was measured.
    rtt: Option<Duration>,
    /// Segments queued as last measured.
    queued: f64,
    /// RTTs in slow mode since fast mode ended; 0 in fast mode.
    slow_rounds: u32,
    /// RTTs in fast mode since the last loss or reset.
    fast_rounds: u32,
    /// cwnd_reno: what a competing Reno would have. The queue is not drained below it.
    cwnd_reno: f64,
}

impl Yeah {
    fn new(params: YeahParams) -> Self {
        Yeah {
            params,
            rounds: RoundRtt::new(),
            rtt: None,
            queued: 0.0,
            slow_rounds: 0,
            fast_rounds: 0,
            cwnd_reno: NO_RENO,
        }
    }

    /// Once per RTT: which mode holds, and the segments to drain.
    fn end_round(&mut self, cwnd: f64, rtt: Duration) -> f64 {
        let base = self.rounds.base();
        self.queued = queued_segments(cwnd, base, rtt);
        let too_many = self.queued > self.params.q_max;
        let too_long = (rtt - base).as_secs_f64() > base.as_secs_f64() / self.params.phi;
        if !too_many && !too_long {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > self.params.zeta {
                (self.cwnd_reno, self.fast_rounds) = (NO_RENO, 0);
            }
            return 0.0;
        }
        let drained = if too_many { self.drain(cwnd) } else { 0.0 };
        self.cwnd_reno = if self.cwnd_reno <= NO_RENO {
            ((cwnd - drained) / 2.0).max(NO_RENO)
        } else {
            self.cwnd_reno + 1.0
        };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
        drained
    }

    /// Precautionary decongestion.
    fn drain(&self, cwnd: f64) -> f64 {
        let most = self.params.epsilon * cwnd;
        (self.queued / self.params.gamma).min(most).min((cwnd - self.cwnd_reno).max(0.0))
    }
}

impl Avoidance for Yeah {
    fn inspect(&self, window: &Window, inspection: &mut Inspection) {
        inspection.segments("queue", self.queued, window.mss);
        inspection.segments("cwnd_reno", self.cwnd_reno, window.mss);
        inspection.number("slow_rounds", f64::from(self.slow_rounds));
        inspection.time("BaseRTT", Some(self.rounds.base()));
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rtt = self.rounds.observe(ack).and_then(|round| round.rtt(RttOfRound::Least));
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let share = (ack.acked as f64 / window.cwnd).min(1.0);
        let reno = share * window.mss;
        let gain = if self.slow_rounds > 0 { reno } else { reno.max(self.params.a * share * window.cwnd) };
        match self.rtt {
            Some(rtt) if ack.round_start => gain - self.end_round(window.segments(), rtt) * window.mss,
            _ => gain,
        }
    }

    /// Without competition by what was queued, at least delta, at most half; else half.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let cwnd = event.flight_size as f64 / window.mss;
        let reduction = if self.slow_rounds < self.params.rho {
            self.queued.min(cwnd / 2.0).max(cwnd * self.params.delta)
        } else {
            cwnd / 2.0
        };
        self.fast_rounds = 0;
        self.cwnd_reno = (self.cwnd_reno / 2.0).max(NO_RENO);
        let ssthresh = ((cwnd - reduction) * window.mss).max(2.0 * window.mss);
        Cut { ssthresh, cwnd: ssthresh }
    }

    /// Draining ends slow start.
    fn shape_slow_start(&mut self, window: &Window, ack: &Ack, step: Growth) -> Growth {
        match self.rtt {
            Some(rtt) if ack.round_start => {
                let drained = self.end_round(window.segments(), rtt) * window.mss;
                if drained > 0.0 { Growth { bytes: -drained, exit: true } } else { step }
            }
            _ => step,
        }
    }

    fn idle(&mut self) {
        self.rounds.forget();
    }

    fn rescale(&mut self, by: f64) {
        self.queued *= by;
        if self.cwnd_reno > NO_RENO {
            self.cwnd_reno = (self.cwnd_reno * by).max(NO_RENO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack_at, event, policy, setup};

    /// A round of ACKs of one segment each, all with this RTT; the base is 100 ms. Returns the window after it in segments.
    fn round(policy: &mut dyn CongestionControl, rtt_ms: f64) -> f64 {
        for index in 0..policy.window() / MSS {
            let rtt = Duration::from_secs_f64(rtt_ms / 1000.0);
            policy.on_ack(&Ack { rtt: Some(rtt), round_start: index == 0, ..ack_at(0, MSS) });
        }
        segments(policy)
    }

    fn segments(policy: &dyn CongestionControl) -> f64 {
        policy.window() as f64 / MSS as f64
    }

    fn avoiding(start: u64) -> Box<dyn CongestionControl> {
        let mut policy = policy(r#""yeah""#, r#""standard""#, &setup(start * MSS, Some(start * MSS)));
        round(&mut *policy, 100.0);
        policy
    }

    #[test]
    fn fast_mode_gains_a_hundredth() {
        // Scalable TCP: 0.01 a segment, 1 % a round trip from 100 segments on; Reno's one below.
        let mut yeah = avoiding(1000);
        let before = segments(&*yeah);
        assert!((round(&mut *yeah, 100.0) - before - 10.1).abs() < 0.1);
        let mut yeah = avoiding(50);
        let before = segments(&*yeah);
        assert!((round(&mut *yeah, 100.0) - before - 1.0).abs() < 0.03);
    }

    #[test]
    fn slow_mode_gains_one_segment() {
        // 115 ms is more than 100 * (1 + 1/8) = 112.5 ms; 500 * (1 - 100/115) = 65 segments wait, not more than 80.
        // The verdict on a round falls at its end.
        let mut yeah = avoiding(500);
        round(&mut *yeah, 115.0);
        let before = segments(&*yeah);
        assert!((round(&mut *yeah, 115.0) - before - 1.0).abs() < 0.05);
        // 112 ms: fast again.
        round(&mut *yeah, 112.0);
        let before = segments(&*yeah);
        assert!((round(&mut *yeah, 112.0) - before - 0.01 * before).abs() < 0.1);
    }

    #[test]
    fn more_than_q_max_segments_are_drained() {
        // 1000 segments, 110 ms: 90.9 wait. cwnd_reno becomes half of what is left.
        let mut rule = Yeah::new(YeahParams::default());
        rule.rounds.observe(&Ack { rtt: Some(Duration::from_millis(100)), ..ack_at(0, MSS) });
        let drained = rule.end_round(1000.0, Duration::from_millis(110));
        assert!((drained - 90.909).abs() < 0.001, "{drained}");
        assert!((rule.cwnd_reno - 454.545).abs() < 0.001, "{}", rule.cwnd_reno);
        // Never more than half the window: 1000 segments at 400 ms would be 750.
        let mut rule = Yeah { cwnd_reno: 2.0, ..rule };
        assert_eq!(rule.end_round(1000.0, Duration::from_millis(400)), 500.0);
        // Nor below what Reno would have.
        let mut rule = Yeah { cwnd_reno: 990.0, ..rule };
        assert_eq!(rule.end_round(1000.0, Duration::from_millis(110)), 10.0);
        assert_eq!(rule.cwnd_reno, 991.0);
    }

    #[test]
    fn draining_ends_slow_start() {
        let mut yeah = policy(r#""yeah""#, r#""standard""#, &setup(1000 * MSS, None));
        yeah.on_ack(&Ack { round_start: true, ..ack_at(0, MSS) });
        let rtt = Some(Duration::from_millis(110));
        // The base is 100 ms, which is also the least of the round under way; it counts from the next on.
        yeah.on_ack(&Ack { round_start: true, rtt, ..ack_at(0, MSS) });
        assert!(yeah.in_slow_start());
        yeah.on_ack(&Ack { round_start: true, rtt, ..ack_at(0, MSS) });
        assert!(!yeah.in_slow_start());
        // 1002 * (1 - 100/110) = 91.1
        assert!((segments(&*yeah) - 910.9).abs() < 0.1, "{}", segments(&*yeah));
    }

    #[test]
    fn a_loss_takes_the_queue_at_least_an_eighth_at_most_half() {
        let after = |queued: f64, slow_rounds: u32| {
            let mut rule = Yeah { queued, slow_rounds, ..Yeah::new(YeahParams::default()) };
            let window = crate::testing::window_at(1e6, 0.0);
            rule.decrease(&window, &event(CongestionKind::Loss, 1_000_000)).cwnd / 1000.0
        };
        assert_eq!(after(0.0, 0), 875.0);
        assert_eq!(after(200.0, 15), 800.0);
        assert_eq!(after(700.0, 0), 500.0);
        // Sixteen RTTs in slow mode: Reno competes.
        assert_eq!(after(0.0, 16), 500.0);
    }

    #[test]
    fn fifty_fast_round_trips_forget_reno() {
        let mut rule = Yeah { cwnd_reno: 300.0, ..Yeah::new(YeahParams::default()) };
        rule.rounds.observe(&ack_at(0, MSS));
        for _ in 0..50 {
            rule.end_round(1000.0, Duration::from_millis(100));
        }
        assert_eq!(rule.cwnd_reno, 300.0);
        rule.end_round(1000.0, Duration::from_millis(100));
        assert_eq!(rule.cwnd_reno, 2.0);
    }

    #[test]
    fn slow_start_ends_at_the_end_of_a_round_only() {
        let mut yeah = policy(r#""yeah""#, r#""standard""#, &setup(1000 * MSS, None));
        let ack =
            |ms, round_start| Ack { rtt: Some(Duration::from_millis(ms)), round_start, ..ack_at(0, MSS) };
        yeah.on_ack(&ack(100, true));
        yeah.on_ack(&ack(400, true));
        // 750 of 1000 segments wait, which is more than q_max: within the round the window still grows.
        let before = yeah.window();
        yeah.on_ack(&ack(400, false));
        yeah.on_ack(&ack(400, false));
        assert_eq!(yeah.window(), before + 2 * MSS);
        yeah.on_ack(&ack(400, true));
        assert!(yeah.window() < before, "{} of {before}", yeah.window());
    }
}
