//! The table of a throttle.

use super::{OnOthers, Parameters, Site, TowardsSpec, middlebox};
use crate::Scenario;
use crate::validate::Checker;
use longhaul_middlebox::{Middlebox, Payload, Throttle, throttle};
use longhaul_path::QueueSpec;
use longhaul_units::{Limit, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

middlebox! {
    /// A throttle: a token bucket, and a queue for what comes too early.
    ThrottleSpec {
        /// How fast the bucket fills, counted in IP packets.
        #[schemars(extend("x-exclusiveMinimum" = "0 bit/s", "x-maximum" = "1000 Tbit/s"))]
        pub rate: Rate,
        /// Bytes that it holds: what may pass at once after a pause.
        #[serde(default = "two_packets")]
        #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
        pub burst: Size,
        /// The queue for what must wait.
        #[serde(default = "fifty_packets_droptail")]
        pub queue: QueueSpec,
        /// Which packets it holds back: those to the flows' `to` or to their `from`.
        #[serde(default)]
        pub towards: TowardsSpec,
    }
}

fn two_packets() -> Size {
    Size::from_bytes(3000)
}

fn fifty_packets_droptail() -> QueueSpec {
    QueueSpec::droptail(Limit::Packets(50))
}

impl ThrottleSpec {
    /// In the throttle's units.
    fn settings(&self) -> throttle::Settings {
        throttle::Settings {
            rate: self.rate,
            burst: self.burst.as_bytes(),
            queue: self.queue,
            towards: self.towards.direction(),
        }
    }
}

impl Parameters for ThrottleSpec {
    fn check(&self, _scenario: &Scenario, check: &mut Checker) {
        if let Err((field, message)) = self.queue.check_without_path(self.rate) {
            check.problem(&["queue", field], message);
        }
    }
    fn on_others(&self) -> OnOthers {
        OnOthers::Refused("throttles TCP segments only; give the rate to a link")
    }
    fn build<B: Payload>(&self, site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        let name = format!("middlebox {} queue", site.instance.name);
        Box::new(Throttle::new(self.settings(), site.scenario.run.seed, &name))
    }
}
