//! Careful resume (RFC 9959): what is remembered of an earlier connection.

use longhaul_cc::{CarefulResume, CongestionControl, Setup, careful_resume::Remembered};
use longhaul_units::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is remembered of an earlier connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarefulResumeSpec {
    /// Its congestion window. RFC 9959 jumps to half of it.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "4 GB"))]
    pub window: Size,
    /// Its smallest RTT. A path whose RTT is below half of it, or ten times it or more, is taken for another one.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "2 h"))]
    pub rtt: Duration,
}

impl CarefulResumeSpec {
    /// A policy that `build` makes, around which careful resume stands.
    pub(crate) fn around(
        &self,
        setup: Setup,
        build: impl Fn(&Setup) -> Box<dyn CongestionControl> + Send + 'static,
    ) -> Box<dyn CongestionControl> {
        let remembered = Remembered { window: self.window.as_bytes(), rtt: self.rtt };
        Box::new(CarefulResume::around(remembered, setup, build))
    }
}
