//! CUBIC (RFC 9438): between congestion events the window is a cubic function of time, not of ACKs, so that flows of
//! different round trip times grow alike; where Reno would be faster, the window follows an estimate of Reno's.

use crate::params::Spec;
use crate::registry::{AlgorithmSpec, SlowStartKind};
use crate::{Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Counting, Cut, Setup, Window};
use longhaul_units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        }
    }
}

impl Spec for CubicParams {
    const NAME: &'static str = "cubic";
    const SOURCE: &'static str = "RFC 9438";
    const SUMMARY: &'static str =
        "the window is a cubic function of the time since the last congestion event";
}

impl AlgorithmSpec for CubicParams {
    fn policy(&self, slow_start: &SlowStartKind, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Cubic::new(self.clone()), setup)
    }
}

/// A congestion avoidance stage (section 4.1.2). Windows in segments, times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stage {
    /// t_epoch, moved on by the time spent limited by the application.
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
    last_ack: Instant,
}

impl Cubic {
    fn new(params: CubicParams) -> Self {
        Cubic { params, w_max: None, cwnd_prior: None, stage: None, last_ack: Instant::ZERO }
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

impl Avoidance for Cubic {
    /// Section 4.2: t does not include periods in which the application, not cwnd, was the limit.
    fn observe(&mut self, _: &Window, ack: &Ack) {
        if ack.app_limited {
            if let Some(stage) = &mut self.stage {
                stage.epoch += ack.now.since(self.last_ack);
            }
        }
        self.last_ack = ack.now;
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        let cwnd = window.segments();
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin_stage(cwnd, ack.now),
        };
        let share_of_window = (ack.acked as f64 / window.cwnd).min(1.0);

        // Equation 4; alpha becomes 1 once Reno would be back where the last reduction began.
        stage.w_est += stage.alpha * share_of_window;
        if self.cwnd_prior.is_some_and(|prior| stage.w_est >= prior) {
            stage.alpha = 1.0;
        }
        self.stage = Some(stage);

        let t = ack.now.since(stage.epoch).as_secs_f64();
        if self.params.reno_friendly && self.w_cubic(&stage, t) < stage.w_est {
            return (stage.w_est - cwnd).max(0.0) * window.mss; // section 4.3: cwnd = W_est
        }
        // Sections 4.4 and 4.5, target as in section 4.2.
        let target = self.w_cubic(&stage, t + ack.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
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
        self.cwnd_prior = Some(cwnd);
        self.stage = None;
        let left = event.flight_size as f64 * self.params.beta;
        let least = if event.kind == CongestionKind::EcnEcho { window.mss } else { 2.0 * window.mss };
        Cut { ssthresh: left.max(2.0 * window.mss), cwnd: left.max(least) }
    }

    /// Section 4.8: ssthresh by beta; the next stage begins at its inflection point.
    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        self.cwnd_prior = Some(window.segments());
        self.w_max = None;
        self.stage = None;
        (event.flight_size as f64 * self.params.beta).max(2.0 * window.mss)
    }

    /// The window was cut back to the restart window: a new stage begins when slow start is over.
    fn idle(&mut self) {
        self.stage = None;
    }
}
