//! Compound: Reno's window and, on top, a delay window that grows fast while the queue is short and shrinks as it fills.
//! K. Tan, J. Song, Q. Zhang, M. Sridharan: A Compound TCP Approach for High-speed and Long Distance Networks, INFOCOM 2006;
//! draft-sridharan-tcpm-ctcp-02.

use crate::closed_form;
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::{Conditions, Formula, Spec};
use crate::round_rtt::{RoundRtt, RttOfRound, queued_segments};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, Counting, Cut, Inspection, Setup, Window};
use longhaul_units::Duration;

/// Parameters of [`Compound`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompoundParams {
    /// Increase: while the queue is short, the whole window W gains alpha * W^k segments per RTT.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-unit" = "segments^(1-k) per RTT"))]
    pub alpha: f64,
    /// Decrease: the share of the whole window given up upon loss.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub beta: f64,
    /// Exponent of the increase: 0 is additive as Reno, 1 multiplicative as Scalable TCP; 0.8 has HighSpeed TCP's slope.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "exponent"))]
    pub k: f64,
    /// So many segments of one's own in queues are early congestion: the delay window shrinks.
    #[schemars(extend("minimum" = 0, "maximum" = 100_000, "x-unit" = "segments"))]
    pub gamma: f64,
    /// How fast it gives way: by zeta times the segments queued, each RTT.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-unit" = "share of the queue per RTT"))]
    pub zeta: f64,
    /// Which round trip of a round counts: srtt (the paper), the least (Linux), the mean, that of the distinguished segment.
    #[schemars(extend("x-unit" = "distinguished, mean, least or smoothed"))]
    pub rtt: RttOfRound,
    /// What an ACK counts for in Reno's part: the bytes that it covers, or one segment.
    #[schemars(extend("x-unit" = "acks or bytes"))]
    pub counting: Counting,
}

impl Default for CompoundParams {
    /// alpha 1/8, beta 1/2, k 3/4, gamma 30 segments.
    fn default() -> Self {
        CompoundParams {
            alpha: 0.125,
            beta: 0.5,
            k: 0.75,
            gamma: 30.0,
            zeta: 1.0,
            rtt: RttOfRound::Smoothed,
            counting: Counting::Bytes,
        }
    }
}

impl Spec for CompoundParams {
    const NAME: &'static str = "compound";
    const SOURCE: &'static str = "Tan et al. 2006";
    const SUMMARY: &'static str = "Reno and a delay window that is scalable while the queue is short";

    fn response_function(&self, met: &Conditions) -> Option<Formula> {
        let window = closed_form::compound_response(self.alpha, self.beta, self.k, met.p);
        Some(Formula { name: Self::NAME, window })
    }
}

impl AlgorithmSpec for CompoundParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Compound::new(self.clone()), setup)
    }
}

/// Congestion avoidance of Compound TCP. The composition's window is win = cwnd + dwnd, equation (3).
#[derive(Clone, Debug)]
pub struct Compound {
    params: CompoundParams,
    rounds: RoundRtt,
    /// The RTT of the round that this ACK ends, if it ends one that was measured.
    rtt: Option<Duration>,
    /// The delay window in segments.
    dwnd: f64,
    /// Segments that the delay window gains in this RTT, spread over its ACKs so that they make no burst.
    gain: f64,
}

impl Compound {
    fn new(params: CompoundParams) -> Self {
        Compound { params, rounds: RoundRtt::new(), rtt: None, dwnd: 0.0, gain: 0.0 }
    }

    /// Equation (5) without its last line, once per RTT. Returns the segments by which the delay window shrinks at once.
    fn plan_round(&mut self, window: &Window, rtt: Duration) -> f64 {
        let CompoundParams { alpha, k, gamma, zeta, .. } = self.params;
        let win = window.segments();
        let diff = queued_segments(win, self.rounds.base(), rtt);
        if diff < gamma {
            self.gain = (alpha * libm::pow(win, k) - 1.0).max(0.0);
            0.0
        } else {
            self.gain = 0.0;
            (zeta * diff).min(self.dwnd)
        }
    }
}

impl Avoidance for Compound {
    fn inspect(&self, window: &Window, inspection: &mut Inspection) {
        inspection.segments("dwnd", self.dwnd, window.mss);
        inspection.time("BaseRTT", Some(self.rounds.base()));
    }

    fn observe(&mut self, window: &Window, ack: &Ack) {
        self.rtt = self.rounds.observe(ack).and_then(|round| round.rtt(self.params.rtt));
        if window.in_slow_start() {
            // The delay window takes part in congestion avoidance only.
            (self.dwnd, self.gain) = (0.0, 0.0);
        }
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let mut shrinks = 0.0;
        if ack.round_start {
            self.gain = 0.0;
            if let Some(rtt) = self.rtt {
                shrinks = self.plan_round(window, rtt);
            }
        }
        let gains = self.gain * (ack.acked as f64 / window.cwnd).min(1.0);
        self.dwnd += gains - shrinks;
        // Equation (4): cwnd gains 1 / win for each ACK.
        let reno = (self.params.counting.credit(ack, window.mss) / window.cwnd).min(1.0);
        (reno + gains - shrinks) * window.mss
    }

    /// cwnd is halved, dwnd = max(win (1 - beta) - cwnd / 2, 0): last line of equation (5).
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        let win = event.flight_size as f64 / window.mss;
        let half_of_cwnd = (win - self.dwnd).max(0.0) / 2.0;
        self.dwnd = (win * (1.0 - self.params.beta) - half_of_cwnd).max(0.0);
        self.gain = 0.0;
        let ssthresh = ((half_of_cwnd + self.dwnd) * window.mss).max(2.0 * window.mss);
        Cut { ssthresh, cwnd: ssthresh }
    }

    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        (self.dwnd, self.gain) = (0.0, 0.0);
        crate::policy::half_flight(event.flight_size, window.mss)
    }

    fn idle(&mut self) {
        self.rounds.forget();
        (self.dwnd, self.gain) = (0.0, 0.0);
    }

    fn rescale(&mut self, by: f64) {
        self.dwnd *= by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::testing::{MSS, ack_at, event, policy, setup};

    /// A round of ACKs of one segment each, all with this RTT; the base is 100 ms.
    fn round(policy: &mut dyn CongestionControl, rtt_ms: f64) -> f64 {
        for index in 0..policy.window() / MSS {
            let rtt = Duration::from_secs_f64(rtt_ms / 1000.0);
            policy.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, round_start: index == 0, ..ack_at(0, MSS) });
        }
        policy.window() as f64 / MSS as f64
    }

    fn avoiding(segments: u64) -> Box<dyn CongestionControl> {
        let bytes = segments * MSS;
        let mut policy = policy(r#""compound""#, r#""standard""#, &setup(bytes, Some(bytes)));
        let window = round(&mut *policy, 100.0);
        assert!((window - segments as f64 - 1.0).abs() < 0.06, "the first round has no measure: Reno");
        policy
    }

    #[test]
    fn gains_alpha_win_to_the_k_while_the_queue_is_short() {
        // 1/8 * 10000^0.75 = 125 segments in one RTT, of which one is Reno's; 1/8 * 256^0.75 = 8.
        for (segments, gain) in [(10_000, 125.0), (256, 8.0)] {
            let mut compound = avoiding(segments);
            let before = compound.window() as f64 / MSS as f64;
            let after = round(&mut *compound, 100.0);
            assert!((after - before - gain).abs() < 0.02 * gain, "{before} -> {after}");
        }
        // 1/8 * 10^0.75 < 1: as Reno.
        let mut compound = avoiding(10);
        let before = compound.window() as f64 / MSS as f64;
        assert!((round(&mut *compound, 100.0) - before - 1.0).abs() < 0.15);
    }

    #[test]
    fn the_delay_window_gives_way_to_a_queue_of_gamma() {
        let mut compound = avoiding(1000);
        for _ in 0..4 {
            round(&mut *compound, 100.0);
        }
        // About 1000 + 4 * 22.2 + 1: 1090 segments, of which 85 are dwnd. 104 ms: 41.9 segments wait, more than 30.
        let before = compound.window() as f64 / MSS as f64;
        let after = round(&mut *compound, 104.0);
        let waiting = before * (1.0 - 100.0 / 104.0);
        assert!((before - after - (waiting - 1.0)).abs() < 0.5, "{before} -> {after}, {waiting} wait");
        // Reno's part stays whatever the queue: two more rounds and the delay window is gone.
        for _ in 0..3 {
            round(&mut *compound, 110.0);
        }
        let reno = compound.window() as f64 / MSS as f64;
        assert!((reno - 1009.0).abs() < 0.5, "{reno}");
    }

    #[test]
    fn a_loss_takes_half_of_the_whole() {
        // beta = 1/2: 1090 segments become 545; with beta = 1/8 Reno's half is still given up, the rest is dwnd's.
        let mut compound = avoiding(1000);
        for _ in 0..4 {
            round(&mut *compound, 100.0);
        }
        compound.on_congestion(&event(CongestionKind::Loss, 1_090_000));
        assert_eq!((compound.window(), compound.ssthresh()), (545_000, 545_000));
        // Reno's window alone, 1000: 1000 - 1000/8 = 875 = 500 + dwnd 375.
        let params = CompoundParams { beta: 0.125, ..CompoundParams::default() };
        let mut rule = Compound::new(params);
        let window = crate::testing::window_at(1e6, 0.0);
        let cut = rule.decrease(&window, &event(CongestionKind::Loss, 1_000_000));
        assert_eq!((cut.ssthresh, rule.dwnd), (875_000.0, 375.0));
    }

    #[test]
    fn a_timeout_ends_the_delay_window() {
        let mut compound = avoiding(1000);
        round(&mut *compound, 100.0);
        compound.on_congestion(&event(CongestionKind::Timeout, 1_000_000));
        assert_eq!((compound.window(), compound.ssthresh()), (1000, 500_000));
        compound.on_congestion(&event(CongestionKind::Loss, 400_000));
        assert_eq!(compound.ssthresh(), 200_000);
    }
}
