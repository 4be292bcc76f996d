//! Tri-S (slow start and search): the window grows while that brings throughput. Z. Wang, J. Crowcroft: A New Congestion Control
//! Scheme: Slow Start and Search (Tri-S), ACM CCR 21(1), 1991.

use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::policy::keep;
use crate::round_rtt::{RoundRtt, RttOfRound};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Cut, Growth, Inspection, Setup, Window};
use longhaul_units::Duration;

/// Parameters of [`TriS`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TriSParams {
    /// NTGD: the normalised gain of throughput below which the window shrinks by a segment.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the first gain"))]
    pub threshold: f64,
}

impl Default for TriSParams {
    /// 1/2.
    fn default() -> Self {
        TriSParams { threshold: 0.5 }
    }
}

impl Spec for TriSParams {
    const NAME: &'static str = "tri_s";
    const SOURCE: &'static str = "Wang and Crowcroft 1991";
    const SUMMARY: &'static str =
        "grows by a segment while that brings half of the throughput that the first one brought";
}

impl AlgorithmSpec for TriSParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let rule = TriS {
            params: self.clone(),
            rounds: RoundRtt::new(),
            rtt: None,
            window: 0.0,
            sent: 0.0,
            last: None,
        };
        slow_start.compose(rule, setup)
    }
}

/// Congestion avoidance and the end of slow start of Tri-S.
#[derive(Clone, Debug)]
pub struct TriS {
    params: TriSParams,
    rounds: RoundRtt,
    /// Round trip of the round that this ACK ends, if it ends one that was measured.
    rtt: Option<Duration>,
    /// Windows in segments: of the round under way, and of the one before, whose data it acknowledges.
    window: f64,
    sent: f64,
    /// Such a window, and its throughput in segments per second, a round ago.
    last: Option<(f64, f64)>,
}

impl TriS {
    /// NTG(W) = TG(W) / TG(1): the gain in throughput, W / RTT, for each segment, over that of the first segment on the idle path,
    /// 1 / RTT_min. None where the window has hardly changed.
    fn gain(&mut self) -> Option<f64> {
        let throughput = self.sent / self.rtt?.as_secs_f64();
        let (before, then) = self.last.replace((self.sent, throughput))?;
        let base = self.rounds.base().as_secs_f64();
        let grown = self.sent - before;
        (grown.abs() >= 0.5).then(|| (throughput - then) / grown * base)
    }

    /// The window of the round that begins.
    fn begin(&mut self, segments: f64) {
        (self.sent, self.window) = (self.window, segments);
    }

    /// The round that ends has brought enough, or shows nothing.
    fn is_worth_it(&mut self) -> bool {
        self.gain().is_none_or(|gain| gain >= self.params.threshold)
    }
}

impl Avoidance for TriS {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.number("throughput", self.last.map_or(0.0, |(_, throughput)| throughput));
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rtt = self.rounds.observe(ack).and_then(|round| round.rtt(RttOfRound::Mean));
    }

    /// A segment more or less, at once when a round begins.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        if !ack.round_start {
            return 0.0;
        }
        let change = if self.is_worth_it() { window.mss } else { -window.mss };
        let change = change.max(-(window.cwnd - 2.0 * window.mss).max(0.0));
        self.begin((window.cwnd + change) / window.mss);
        change
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        self.last = None;
        keep(0.5, event, window.mss)
    }

    /// The same search ends slow start, with rounds that have doubled the window.
    fn shape_slow_start(&mut self, window: &Window, ack: &Ack, step: Growth) -> Growth {
        if !ack.round_start {
            return step;
        }
        let exit = !self.is_worth_it();
        if exit {
            self.last = None;
        }
        self.begin(window.segments());
        Growth { exit, ..step }
    }

    fn idle(&mut self) {
        self.rounds.forget();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack_at, event, policy, setup};
    use crate::{Ack, CongestionControl, CongestionKind};
    use longhaul_units::Duration;

    /// A path of 100 ms that holds `pipe` segments: a larger window waits. Windows after each of so many rounds.
    fn rounds(policy: &mut dyn CongestionControl, pipe: f64, rounds: u32) -> Vec<u64> {
        let round = |_| {
            let segments = policy.window() / MSS;
            let rtt = Duration::from_secs_f64(0.1 * (segments as f64 / pipe).max(1.0));
            for index in 0..segments {
                policy.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, round_start: index == 0, ..ack_at(0, MSS) });
            }
            policy.window() / MSS
        };
        (0..rounds).map(round).collect()
    }

    /// Below the pipe each segment brings 1 / RTT_min, a gain of 1; above it none: the window stays where the path is full.
    #[test]
    fn it_finds_the_window_that_fills_the_path() {
        let mut policy = policy(r#""tri_s""#, r#""standard""#, &setup(10 * MSS, Some(10 * MSS)));
        let windows = rounds(&mut *policy, 30.0, 100);
        assert_eq!(windows[14], 25);
        assert!(windows[40..].iter().all(|window| (26..=34).contains(window)), "{windows:?}");
    }

    #[test]
    fn slow_start_ends_where_doubling_brings_nothing() {
        let mut policy = policy(r#""tri_s""#, r#""standard""#, &setup(4 * MSS, None));
        let windows = rounds(&mut *policy, 30.0, 10);
        assert!(!policy.in_slow_start(), "{windows:?}");
        assert!(policy.window() < 200 * MSS, "{windows:?}");
    }

    #[test]
    fn a_loss_halves() {
        let mut policy = policy(r#""tri_s""#, r#""standard""#, &setup(10 * MSS, Some(10 * MSS)));
        policy.on_congestion(&event(CongestionKind::Loss, 10 * MSS));
        assert_eq!(policy.window(), 5 * MSS);
    }
}
