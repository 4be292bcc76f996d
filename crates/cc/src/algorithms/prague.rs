//! Prague: DCTCP's answer to marks, made fit for the Internet's round trips and for losses
//! (draft-briscoe-iccrg-prague-congestion-control).

use crate::compose::{AlgorithmSpec, Compose};
use crate::marked_share::MarkedShare;
use crate::params::Spec;
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Counting, Cut, EcnUse, Inspection, Pacing,
    Setup, Window,
};
use longhaul_units::{Duration, Instant};

/// Parameters of [`Prague`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PragueParams {
    /// Gain of the estimate of the marked share, alpha.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share of the difference"))]
    pub g: f64,
    /// What is left of the window upon loss, and upon an echo of RFC 3168: CUBIC's.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta: f64,
    /// Least round trip that growth and cuts go by; 0 for none.
    #[schemars(extend("minimum" = 0, "maximum" = 10, "x-unit" = "s"))]
    pub virtual_rtt: f64,
    /// Round trips from the start before that holds.
    #[schemars(extend("minimum" = 0, "maximum" = 1e9, "x-unit" = "round trips"))]
    pub independent_after: f64,
}

impl Default for PragueParams {
    /// The draft's: g = 1/16, 25 ms from the 500th round trip on; CUBIC's 0.7 upon loss.
    fn default() -> Self {
        PragueParams { g: 1.0 / 16.0, beta: 0.7, virtual_rtt: 0.025, independent_after: 500.0 }
    }
}

impl Spec for PragueParams {
    const NAME: &'static str = "prague";
    const SOURCE: &'static str = "draft-briscoe-iccrg-prague-congestion-control";
    const SUMMARY: &'static str =
        "for L4S: half of the marked share less, one segment more each round trip of 25 ms or longer; paced";
}

impl AlgorithmSpec for PragueParams {
    /// Segments are spaced at the window over the round trip, twice as fast in slow start, unless other pacing is asked for.
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let pacing = match setup.pacing {
            Pacing::Off => Pacing::Window { gain_ss: 2.0, gain_ca: 1.0 },
            asked => asked,
        };
        let prague = Prague {
            params: self.clone(),
            marked: MarkedShare::new(self.g, 1.0),
            window_began: Instant::ZERO,
            cut_at: None,
            virtual_rtt: Duration::ZERO,
        };
        slow_start.compose(prague, &Setup { pacing, ..*setup })
    }
}

/// Congestion avoidance of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    params: PragueParams,
    marked: MarkedShare,
    /// When the window of data began that alpha takes up next.
    window_began: Instant,
    /// The last reduction for marks.
    cut_at: Option<Instant>,
    /// The round trip that it behaves by: its own, or a longer one.
    virtual_rtt: Duration,
}

impl Prague {
    /// The round trip over the virtual one, at most 1.
    fn rtt_share(&self, ack: &Ack) -> f64 {
        let (own, other) = (ack.srtt.as_secs_f64(), self.virtual_rtt.as_secs_f64());
        if other > own && own > 0.0 { own / other } else { 1.0 }
    }
}

impl Avoidance for Prague {
    fn ecn(&self) -> EcnUse {
        EcnUse::L4s
    }
    /// alpha follows once a virtual round trip, from the first mark on: what was before it is no estimate of what comes.
    fn observe(&mut self, _window: &Window, ack: &Ack) {
        self.virtual_rtt = ack.srtt;
        if ack.round as f64 >= self.params.independent_after {
            self.virtual_rtt = ack.srtt.max(Duration::from_secs_f64(self.params.virtual_rtt));
        }
        let had_marks = self.marked.has_marks();
        self.marked.count(ack);
        if !had_marks {
            self.window_began = ack.now;
        } else if ack.round_start && ack.now.since(self.window_began) >= self.virtual_rtt {
            self.marked.end_of_window();
            self.window_began = ack.now;
        }
    }
    /// A segment in each virtual round trip for what was not marked. The window is smaller than that of the virtual round trip by
    /// the share of both, so that the same growth of rate is the square of it.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let share = self.rtt_share(ack);
        let unmarked = Ack { acked: self.marked.unmarked(ack.acked), ..*ack };
        Counting::Bytes.additive_increase(share * share, window, &unmarked)
    }
    /// Half of the marked share, at most once in a virtual round trip; CUBIC's share upon a loss.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        if event.kind != CongestionKind::EcnEcho {
            return keep(self.params.beta, event, window.mss);
        }
        if self.cut_at.is_some_and(|at| event.now.since(at) < self.virtual_rtt) {
            let ssthresh = window.cwnd.min(window.ssthresh).max(2.0 * window.mss);
            return Cut { ssthresh, cwnd: window.cwnd };
        }
        self.cut_at = Some(event.now);
        self.marked.cut(window)
    }
    fn inspect(&self, _window: &Window, inspection: &mut Inspection) {
        self.marked.inspect(inspection);
        inspection.time("RTT_virt", Some(self.virtual_rtt));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack_at, event, policy, setup};
    use crate::{Ack, Congestion, CongestionControl, CongestionKind, EcnUse, Setup};
    use longhaul_units::{Duration, Instant};

    fn avoiding(algorithm: &str, segments: u64) -> Box<dyn CongestionControl> {
        policy(algorithm, r#""standard""#, &setup(segments * MSS, Some(2 * MSS)))
    }

    /// Rounds of `rtt` ms with a share `p` of marks, as a queue that marks at random in the mean; the window after them, the mean in
    /// the second half, and marks of a round in that half, both in segments.
    fn steady(policy: &mut dyn CongestionControl, rtt: u64, first_round: u64, p: f64) -> (f64, f64) {
        let (mut known, mut due, mut now) = (0, 0.0, 0);
        let (mut windows, mut marks) = (0.0, 0.0);
        let rounds = 6000;
        for round in 0..rounds {
            let segments = (policy.window() / MSS).max(1);
            let mut marked = 0;
            for segment in 0..segments {
                due += p;
                let mark = due >= 1.0;
                if mark {
                    due -= 1.0;
                    known += MSS;
                    marked += 1;
                }
                let time = Duration::from_millis(rtt);
                let ack = Ack {
                    srtt: time,
                    rtt: Some(time),
                    min_rtt: time,
                    round: first_round + round,
                    round_start: segment == segments - 1,
                    marked: known,
                    ..ack_at(now, MSS)
                };
                policy.on_ack(&ack);
            }
            if marked > 0 {
                let now = Instant::from_nanos(now * 1_000_000);
                let kind = CongestionKind::EcnEcho;
                policy.on_congestion(&Congestion { now, ..event(kind, policy.window()) });
            }
            now += rtt;
            if round >= rounds / 2 {
                windows += policy.window() as f64 / MSS as f64;
                marks += f64::from(marked);
            }
        }
        let half = rounds as f64 / 2.0;
        (windows / half, marks / half)
    }

    #[test]
    fn two_packets_are_marked_each_round_trip_whatever_the_share() {
        // W = 2 / p (RFC 9332 section 1.2), so p W = 2; but 2 (1 - p) here, since what is marked lets nothing grow. Windows of whole
        // segments cost some per cent more.
        for p in [0.01, 0.02, 0.05] {
            let mut prague = avoiding(r#""prague""#, 20);
            let (window, marks) = steady(&mut *prague, 100, 0, p);
            assert!(
                (marks / (2.0 * (1.0 - p)) - 1.0).abs() < 0.1,
                "p = {p}: {marks} marks a round trip, window {window}"
            );
        }
    }

    #[test]
    fn short_round_trips_give_the_rate_of_25_ms() {
        // Windows over round trips: the same rate at 5 and 25 ms, once independent; else as DCTCP, a window of 2 / p.
        let rate = |rtt: u64, first_round| {
            let mut prague = avoiding(r#""prague""#, 20);
            steady(&mut *prague, rtt, first_round, 0.02).0 / rtt as f64
        };
        let (short, long) = (rate(5, 500), rate(25, 500));
        assert!((short / long - 1.0).abs() < 0.1, "{short} {long}");
        let never = r#"{"kind": "prague", "virtual_rtt": 0}"#;
        let mut young = avoiding(never, 20);
        let window = steady(&mut *young, 5, 500, 0.02).0;
        assert!((window / 100.0 - 1.0).abs() < 0.15, "{window}");
    }

    #[test]
    fn a_loss_leaves_cubics_share_and_marks_half_of_alpha() {
        let mut prague = avoiding(r#""prague""#, 100);
        prague.on_congestion(&event(CongestionKind::Loss, 100_000));
        assert_eq!(prague.window(), 70_000);
        // The first mark halves: alpha is 1 until something was marked.
        prague.on_congestion(&event(CongestionKind::EcnEcho, 70_000));
        assert_eq!(prague.window(), 35_000);
        assert_eq!(prague.ecn(), EcnUse::L4s);
    }

    #[test]
    fn it_is_paced_at_a_window_for_each_round_trip() {
        let mut prague = avoiding(r#""prague""#, 100);
        prague.on_ack(&ack_at(0, MSS));
        // 100,010 bytes in 100 ms.
        assert_eq!(prague.pacing_rate().unwrap().as_bps(), 8_000_800);
        let given = Setup { pacing: crate::Pacing::LINUX, ..setup(100 * MSS, Some(2 * MSS)) };
        let mut prague = policy(r#""prague""#, r#""standard""#, &given);
        prague.on_ack(&ack_at(0, MSS));
        assert_eq!(prague.pacing_rate().unwrap().as_bps(), 9_600_960);
    }
}
