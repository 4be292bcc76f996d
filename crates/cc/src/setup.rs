//! What a connection tells its policy when it begins.

use crate::Bytes;
use longhaul_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a policy must know of its connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// Sender maximum segment size (SMSS) in bytes of payload; at least 1.
    pub mss: Bytes,
    /// Initial window in bytes; less than one MSS counts as one MSS.
    pub initial_window: Bytes,
    /// Initial slow start threshold in bytes; `None` for "arbitrarily high" (RFC 5681 section 3.1).
    pub initial_ssthresh: Option<Bytes>,
    /// Whether a window policy asks for pacing.
    pub pacing: Pacing,
}

impl Default for Setup {
    /// MSS 1460 bytes, initial window of 10 segments (RFC 6928), no threshold, no pacing.
    fn default() -> Self {
        Setup { mss: 1460, initial_window: 14_600, initial_ssthresh: None, pacing: Pacing::Off }
    }
}

/// Pacing of a policy that knows only a window. A policy with a rate of its own (BBR) ignores it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Pacing {
    /// Segments leave as ACKs allow.
    #[default]
    Off,
    /// Segments are spaced at `gain * cwnd / srtt`.
    Window {
        /// Gain while cwnd is under half of ssthresh; from 1, Linux: 2.
        #[serde(default = "linux_gain_ss")]
        #[schemars(range(min = 1))]
        gain_ss: f64,
        /// Gain from there on; from 1, Linux: 1.2.
        #[serde(default = "linux_gain_ca")]
        #[schemars(range(min = 1))]
        gain_ca: f64,
    },
}

const fn linux_gain_ss() -> f64 {
    2.0
}
const fn linux_gain_ca() -> f64 {
    1.2
}

impl Pacing {
    /// Linux's gains (sysctl `tcp_pacing_ss_ratio` 200 %, `tcp_pacing_ca_ratio` 120 %).
    pub const LINUX: Pacing = Pacing::Window { gain_ss: linux_gain_ss(), gain_ca: linux_gain_ca() };

    /// `gain * cwnd / srtt`; windows in bytes. As Linux does (`tcp_update_pacing_rate`), the larger gain only while a
    /// doubling stays below ssthresh. `None` if off, and before the first round trip is measured.
    pub(crate) fn rate(self, cwnd: f64, ssthresh: f64, srtt: Duration) -> Option<Rate> {
        let Pacing::Window { gain_ss, gain_ca } = self else { return None };
        let gain = if cwnd < ssthresh / 2.0 { gain_ss } else { gain_ca };
        (!srtt.is_zero()).then(|| Rate::from_bps_f64(gain * cwnd * 8.0 / srtt.as_secs_f64()))
    }
}

impl Setup {
    /// Refuses what no policy could work with.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.mss == 0 {
            return Err("the MSS is 0 bytes; it must be at least 1 byte".to_string());
        }
        match self.pacing {
            Pacing::Window { gain_ss, gain_ca } if !(valid_gain(gain_ss) && valid_gain(gain_ca)) => {
                Err(format!("pacing gains must be finite and at least 1, not {gain_ss} and {gain_ca}"))
            }
            _ => Ok(()),
        }
    }
}

/// A gain below 1 sends less than a window per round trip: the window would no longer be the limit.
fn valid_gain(gain: f64) -> bool {
    gain.is_finite() && gain >= 1.0
}
