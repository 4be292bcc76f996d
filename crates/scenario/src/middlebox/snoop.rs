//! The table of a snoop agent.

use super::recovery::{MOST_COPIES, packets};
use super::{LocalRecoverySpec, Parameters, Site, TowardsSpec, middlebox};
use crate::Scenario;
use crate::validate::Checker;
use longhaul_middlebox::{Middlebox, Payload, Snoop, snoop};
use longhaul_units::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

middlebox! {
    /// A snoop agent before a lossy last hop.
    SnoopSpec {
        /// Data packets of each connection that it may keep a copy of.
        #[serde(default = "hundred_packets")]
        pub cache: Limit,
        /// The side of the lossy hop: that of the flows' `to` or of their `from`.
        #[serde(default)]
        pub towards: TowardsSpec,
        /// Retransmission over the lossy hop.
        #[serde(default = "snoop_recovery")]
        pub recovery: LocalRecoverySpec,
    }
}

fn hundred_packets() -> Limit {
    Limit::Packets(100)
}

fn snoop_recovery() -> LocalRecoverySpec {
    snoop::Settings::recovery().into()
}

impl SnoopSpec {
    /// In the agent's units.
    fn settings(&self) -> snoop::Settings {
        snoop::Settings {
            cache: packets(self.cache),
            towards: self.towards.direction(),
            recovery: self.recovery.settings(),
        }
    }
}

impl Parameters for SnoopSpec {
    fn check(&self, _scenario: &Scenario, check: &mut Checker) {
        let cache = packets(self.cache);
        if cache == 0 || cache > MOST_COPIES {
            let message =
                format!("the cache is given in packets, as in \"100 packets\", from 1 to {MOST_COPIES}");
            check.problem(&["cache"], message);
        }
        check.local_recovery(&self.recovery);
    }
    fn build<B: Payload>(&self, _site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        Box::new(Snoop::new(self.settings()))
    }
}
