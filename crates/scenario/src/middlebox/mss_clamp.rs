//! The table of a middlebox that rewrites the MSS.

use super::{OnOthers, Parameters, Site, middlebox};
use longhaul_middlebox::{Middlebox, MssClamp, Payload, mss_clamp};
use longhaul_units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

middlebox! {
    /// Rewrites the MSS option of SYNs, both ways.
    MssClampSpec {
        /// A larger MSS is lowered to this one.
        #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "65495 B"))]
        pub mss: Size,
        /// A smaller one is raised to it, too: where it was announced for the wrong interface.
        #[serde(default)]
        pub raise: bool,
    }
}

impl MssClampSpec {
    /// In the middlebox's units.
    fn settings(&self) -> mss_clamp::Settings {
        let mss = u16::try_from(self.mss.as_bytes()).unwrap_or(u16::MAX);
        mss_clamp::Settings { mss, raise: self.raise }
    }
}

impl Parameters for MssClampSpec {
    fn on_others(&self) -> OnOthers {
        OnOthers::NotConcerned
    }
    fn build<B: Payload>(&self, _site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        Box::new(MssClamp::new(self.settings()))
    }
}
