//! What can be set of STTP: every reading that the thesis leaves open, with the default that fits its numbers best.

use super::{Rival, Scaling, Sttp};
use crate::compose::{AlgorithmSpec, Compose};
use crate::params::Spec;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::token_bucket::TokenSource;
use crate::{CongestionControl, Setup};
use longhaul_units::Duration;

/// What a token stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenUnit {
    /// A packet, however small.
    #[default]
    Packet,
    /// As many bytes as a full packet has on the wire: a small one costs its share.
    Bytes,
}

/// Parameters of [`Sttp`]. Its start is that of `slow_start = "packet_pair"`, whose defaults hold if another is given.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SttpParams {
    /// A round trip above this many times the one before shrinks sigma and rho (dead band; thesis: +5 %, tried 1 % to 20 %).
    #[schemars(extend("minimum" = 1, "maximum" = 10, "x-unit" = "last RTTs"))]
    pub rtt_hi: f64,
    /// One below this many times the one before makes them grow.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "last RTTs"))]
    pub rtt_lo: f64,
    /// Weight of the new measurement; that of history is 1 - w_new. The thesis's 9:1, 5:5 and 1:9 are 0.1, 0.5 and 0.9.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "share"))]
    pub w_new: f64,
    /// The raw factor G: linear (2 - new/last), ratio (last/new), or literal (1 + last/new as printed, a negative control).
    #[schemars(extend("x-unit" = "linear, ratio or literal"))]
    pub scaling: Scaling,
    /// Least G of linear scaling, which would reach 0 as the RTT doubles.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "factor"))]
    pub g_min: f64,
    /// Largest G of linear scaling.
    #[schemars(extend("minimum" = 1, "maximum" = 10, "x-unit" = "factor"))]
    pub g_max: f64,
    /// Least factor of one step after weighting; 0.5 for deployment.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "factor"))]
    pub step_min: f64,
    /// Largest factor of one step after weighting; 1.5 for deployment.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "factor"))]
    pub step_max: f64,
    /// Where tokens come from: a timer at the rate rho (variant B), or acks through a leaky bucket (variant A).
    #[schemars(extend("x-unit" = "timer or acks"))]
    pub bucket: TokenSource,
    /// Tokens that circulate at first if acks bring them: they act like a window, and change as sigma does.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000_000, "x-unit" = "packets"))]
    pub circulation: u32,
    /// What a token stands for: a packet, however small, or as many bytes as a full packet has.
    #[schemars(extend("x-unit" = "packet or bytes"))]
    pub token: TokenUnit,
    /// Headers of a packet: a token is one MSS and so much. 40 for IPv4 and TCP without options.
    #[schemars(extend("minimum" = 0, "maximum" = 1000, "x-unit" = "bytes"))]
    pub header: u32,
    /// The tokens that are there change as sigma does; otherwise only those that no longer fit are lost.
    #[schemars(extend("x-unit" = "true or false"))]
    pub scale_tokens: bool,
    /// What a loss leaves of sigma and rho, once in each recovery. An ECN echo counts as one.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share"))]
    pub loss_factor: f64,
    /// What a retransmission timeout leaves of them: 0.9 as a loss, 0.5 to be safer. There is no slow start.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share"))]
    pub timeout_factor: f64,
    /// Least sigma.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000, "x-unit" = "packets"))]
    pub sigma_min: f64,
    /// Least rho.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000, "x-unit" = "packets per second"))]
    pub rho_min: f64,
    /// Least rho in a round trip, if that is more.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000, "x-unit" = "packets per RTT"))]
    pub rho_min_per_rtt: f64,
    /// Largest rho, in largest delivery rates of the last ten round trips, or in probed rates if those are larger; 0 for no limit,
    /// 1.25 for deployment.
    #[schemars(extend("minimum" = 0, "maximum" = 100, "x-unit" = "delivery rates"))]
    pub rho_max: f64,
    /// Packets that may be in flight, which the peer's window stands for; 0 for no limit but the window that the peer offers.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000_000, "x-unit" = "packets"))]
    pub peer_window: u32,
    /// sigma begins as what rho fills in this time; 0 s for the round trip of the probe.
    pub sigma_horizon: Duration,
    /// In strict mode a connection whose first rho is below this is given up.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000, "x-unit" = "packets per second"))]
    pub rho_fail: f64,
    /// In flight are at most so many times rho * srtt, and at least 4 packets, in case ACKs stop; 0 for no such limit, 2 for
    /// deployment.
    #[schemars(extend("minimum" = 0, "maximum" = 100, "x-unit" = "rho * srtt"))]
    pub window_gain: f64,
    /// An ACK that follows the last within less than this share of a packet's time at the probed rate measures no round trip;
    /// 0 for no such rule, 0.5 for deployment.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "packet times"))]
    pub compressed_acks: f64,
    /// Beyond the thesis: packets of data that leave back to back to measure the bottleneck again (a train); less than 3 for
    /// none. The first flight is one, and sets the rate anew.
    #[schemars(extend("minimum" = 0, "maximum" = 64, "x-unit" = "packets"))]
    pub train: u32,
    /// Time from one train to the next; 0 s for no other than the first.
    pub reprobe: Duration,
    /// Beyond the thesis: rho grows in each round trip without a standing queue by this share of the geometric mean of itself
    /// and the measured capacity; 0 for growth by falling round trips alone.
    #[schemars(extend("minimum" = 0, "maximum" = 1, "x-unit" = "share"))]
    pub grow: f64,
    /// Beyond the thesis: what rho gives up in every other round trip while a queue stands: the queue's share of the round trip,
    /// this much at least, and a half at most; 0 for nothing.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share"))]
    pub drain: f64,
    /// A queue stands if the least round trip of a round is longer than the least of all by this share of it, and by 3 packets'
    /// time.
    #[schemars(extend("minimum" = 0, "maximum" = 10, "x-unit" = "least RTTs"))]
    pub standing: f64,
    /// Beyond the thesis: the window that sets the rate while others keep the queue full, so that STTP does not starve: none,
    /// reno or cubic.
    #[schemars(extend("x-unit" = "none, reno or cubic"))]
    pub rival: Rival,
    /// A queue that stands for so many round trips although rho gives way is others'; one that is empty for as many is not.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "RTTs"))]
    pub patience: u32,
}

impl Default for SttpParams {
    fn default() -> Self {
        SttpParams {
            rtt_hi: 1.05,
            rtt_lo: 0.95,
            w_new: 0.5,
            scaling: Scaling::Linear,
            g_min: 0.1,
            g_max: 2.0,
            step_min: 0.0,
            step_max: 1000.0,
            bucket: TokenSource::Timer,
            circulation: 20,
            token: TokenUnit::Packet,
            header: 40,
            scale_tokens: false,
            loss_factor: 0.9,
            timeout_factor: 0.9,
            sigma_min: 1.0,
            rho_min: 1.0,
            rho_min_per_rtt: 0.0,
            rho_max: 0.0,
            peer_window: 20,
            sigma_horizon: Duration::ZERO,
            rho_fail: 1.0,
            window_gain: 0.0,
            compressed_acks: 0.0,
            train: 0,
            reprobe: Duration::ZERO,
            grow: 0.0,
            drain: 0.0,
            standing: 0.1,
            rival: Rival::None,
            patience: 8,
        }
    }
}

impl Spec for SttpParams {
    const NAME: &'static str = "sttp";
    const SOURCE: &'static str = "Wade 2000";
    const SUMMARY: &'static str =
        "token bucket at the rate of a packet pair, scaled as the round trip changes; starts by packet_pair";
}

impl AlgorithmSpec for SttpParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let probe = slow_start.packet_pair().cloned().unwrap_or_default();
        Box::new(Sttp::new(self.clone(), probe, setup))
    }
}
