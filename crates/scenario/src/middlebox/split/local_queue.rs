//! The paper's flow control of a split at two nodes: a queue before the first.

use crate::validate::Checker;
use longhaul_middlebox::split::LocalQueueSettings;
use longhaul_path::QueueSpec;
use longhaul_units::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The paper's flow control: a queue before the split start.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalQueueSpec {
    /// Its discipline.
    pub queue: QueueSpec,
    /// Bytes, headers included, that may be let in ahead of what the long hop has sent, for each connection over it.
    #[serde(default = "two_hundred_packets")]
    pub buffer_start: Size,
    /// Headers of each segment's worth of data that counts against it.
    #[serde(default = "forty_bytes")]
    #[schemars(extend("x-maximum" = "1000 B"))]
    pub header_size: Size,
    /// Time between two checks whether a packet can be let in; without it, checked after every change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub send_check_interval: Option<Duration>,
    /// The rate for which automatic parameters of the discipline are made; without it, that of the slowest link between the
    /// two nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s"))]
    pub rate: Option<Rate>,
}

fn two_hundred_packets() -> Size {
    Size::from_bytes(200 * 1040)
}

fn forty_bytes() -> Size {
    Size::from_bytes(40)
}

impl LocalQueueSpec {
    /// In the split's units, where the slowest link between its nodes has this rate.
    pub(super) fn settings(&self, rate: Rate) -> LocalQueueSettings {
        LocalQueueSettings {
            queue: self.queue,
            rate: self.rate.unwrap_or(rate),
            buffer_start: self.buffer_start.as_bytes(),
            header_size: self.header_size.as_bytes() as u32,
            check_interval: self.send_check_interval,
        }
    }
    /// The discipline goes with the rate that it is made for.
    pub(super) fn check(&self, rate: Rate, check: &mut Checker) {
        if let Err((field, message)) = self.queue.check_without_path(self.settings(rate).rate) {
            check.problem(&["local_queue", "queue", field], message);
        }
    }
}
