//! The table of an ACK filter.

use super::{Parameters, RealPackets, Site, TowardsSpec, middlebox};
use crate::Scenario;
use crate::validate::Checker;
use longhaul_middlebox::{AckFilter, Middlebox, Payload, ack_filter};
use longhaul_units::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

middlebox! {
    /// An ACK filter.
    AckFilterSpec {
        /// One of so many pure ACKs that only advance goes on; 1 lets all pass.
        #[serde(default = "two")]
        #[schemars(range(min = 1, max = 1000))]
        pub every: u32,
        /// How long an omitted ACK waits for one that acknowledges more before it is forwarded itself.
        #[serde(default = "filter_hold")]
        #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
        pub hold: Duration,
        /// ACK congestion control: the number doubles after a round in which the thin line had too much to send, and
        /// falls by one, not below `every`, after a round in which it had not (in the spirit of RFC 5690). Without it,
        /// it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub adapt: Option<AckRatioSpec>,
    }
}

fn two() -> u32 {
    2
}

fn filter_hold() -> Duration {
    Duration::from_millis(100)
}

impl AckFilterSpec {
    /// In the filter's units.
    fn settings(&self) -> ack_filter::Settings {
        let adapt = self.adapt.map(|spec| spec.adapt());
        ack_filter::Settings { every: self.every, hold: self.hold, adapt }
    }
}

impl Parameters for AckFilterSpec {
    fn check(&self, _scenario: &Scenario, check: &mut Checker) {
        if self.adapt.is_some_and(|adapt| adapt.most < self.every) {
            let message = format!("the largest ratio is at least `every`, {}", self.every);
            check.problem(&["adapt", "most"], message);
        }
    }
    fn real_packets(&self) -> Result<RealPackets, &'static str> {
        Ok(RealPackets { whole_headers: true, ..RealPackets::default() })
    }
    fn build<B: Payload>(&self, _site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        Box::new(AckFilter::new(self.settings()))
    }
}

/// How an ACK filter follows the thin line behind it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckRatioSpec {
    /// Rate of the line at 8 bits a byte: 7680 bit/s at 9600 baud with start and stop bits.
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s", "x-maximum" = "1000 Tbit/s"))]
    pub rate: Rate,
    /// Bytes that the line adds to each packet.
    #[serde(default = "two_bytes")]
    #[schemars(extend("x-maximum" = "1000 B"))]
    pub framing: Size,
    /// Which way packets go there: to the flows' `to` or to their `from`, where the ACKs of what `from` sends go.
    #[serde(default = "from")]
    pub towards: TowardsSpec,
    /// More than this to send is congestion.
    #[serde(default = "ratio_backlog")]
    pub backlog: Duration,
    /// Length of a round.
    #[serde(default = "ratio_interval")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub interval: Duration,
    /// The most ACKs of which one passes.
    #[serde(default = "sixteen")]
    #[schemars(range(min = 1, max = 1000))]
    pub most: u32,
}

fn two_bytes() -> Size {
    Size::from_bytes(2)
}

fn from() -> TowardsSpec {
    TowardsSpec::From
}

fn ratio_backlog() -> Duration {
    Duration::from_millis(200)
}

fn ratio_interval() -> Duration {
    Duration::from_secs(1)
}

fn sixteen() -> u32 {
    16
}

impl AckRatioSpec {
    fn adapt(&self) -> ack_filter::Adapt {
        ack_filter::Adapt {
            rate: self.rate,
            framing: self.framing.as_bytes() as u32,
            towards: self.towards.direction(),
            backlog: self.backlog,
            interval: self.interval,
            most: self.most,
        }
    }
}
