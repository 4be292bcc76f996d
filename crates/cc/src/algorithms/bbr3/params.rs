//! Parameters of BBR, version 3.

use super::Bbr3;
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{CongestionControl, Setup};
use longhaul_units::Duration;

/// Parameters of [`Bbr3`]: the constants of section 2 of the draft.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bbr3Params {
    /// BBR.StartupPacingGain: 4 ln 2 doubles the rate each round trip.
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 10, "x-unit" = "times the bandwidth"))]
    pub startup_pacing_gain: f64,
    /// BBR.DrainPacingGain.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "times the bandwidth"))]
    pub drain_pacing_gain: f64,
    /// BBR.DefaultCwndGain.
    #[schemars(extend("minimum" = 1, "maximum" = 10, "x-unit" = "bandwidth-delay products"))]
    pub cwnd_gain: f64,
    /// BBR.LossThresh: more loss in a round trip of probing means that too much is in flight.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5, "x-unit" = "share of the data in flight"))]
    pub loss_threshold: f64,
    /// BBR.Beta: the most that a round trip with loss takes off leaves this share.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share"))]
    pub beta: f64,
    /// BBR.Headroom: share of inflight_longterm that is left to others while cruising.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of inflight_longterm"))]
    pub headroom: f64,
    /// BBR.MinPipeCwnd.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "segments"))]
    pub min_window: u32,
    /// BBR.PacingMarginPercent: pace so much below the estimate.
    #[schemars(extend("minimum" = 0, "maximum" = 0.5, "x-unit" = "share of the rate"))]
    pub pacing_margin: f64,
    /// BBR.MinRTTFilterLen.
    pub min_rtt_window: Duration,
    /// BBR.ProbeRTTInterval: time without a new smallest round trip after which ProbeRTT begins.
    pub probe_rtt_interval: Duration,
    /// BBR.ProbeRTTDuration.
    pub probe_rtt_duration: Duration,
    /// BBR.ProbeRTTCwndGain.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "bandwidth-delay products"))]
    pub probe_rtt_cwnd_gain: f64,
    /// Least time from one bandwidth probe to the next; up to one second more is drawn (section 5.3.3.6).
    pub probe_wait: Duration,
    /// A flow probes as often as Reno would grow by one window, but waits no more round trips than this.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000, "x-unit" = "round trips"))]
    pub probe_rounds: u32,
    /// BBR.ExtraAckedFilterLen.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "round trips"))]
    pub extra_acked_window: u32,
    /// BBRStartupFullLossCnt: ranges lost in one round trip of recovery that can end Startup.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "ranges"))]
    pub startup_loss_ranges: u32,
}

impl Default for Bbr3Params {
    fn default() -> Self {
        Bbr3Params {
            startup_pacing_gain: 2.77,
            drain_pacing_gain: 0.5,
            cwnd_gain: 2.0,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            min_window: 4,
            pacing_margin: 0.01,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt_duration: Duration::from_millis(200),
            probe_rtt_cwnd_gain: 0.5,
            probe_wait: Duration::from_secs(2),
            probe_rounds: 63,
            extra_acked_window: 10,
            startup_loss_ranges: 6,
        }
    }
}

impl Spec for Bbr3Params {
    const NAME: &'static str = "bbr3";
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr-06";
    const SUMMARY: &'static str = "BBR version 3: losses bound what is in flight; slow start does not apply";
}

impl AlgorithmSpec for Bbr3Params {
    fn policy(&self, _: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        Box::new(Bbr3::new(self.clone(), setup))
    }
}
