//! The table of a premature ACK middlebox.

use super::recovery::{MOST_COPIES, packets};
use super::{LocalRecoverySpec, Parameters, Site, middlebox};
use crate::Scenario;
use crate::tcp::text_setting;
use crate::validate::Checker;
use longhaul_middlebox::{Middlebox, Payload, PrematureAck, premature_ack};
use longhaul_units::{Limit, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

middlebox! {
    /// A PEP that acknowledges prematurely, with a watermark.
    PrematureAckSpec {
        /// N: data packets of each direction of each connection that it may keep a copy of.
        #[serde(default = "fifty_packets")]
        pub buffer: Limit,
        /// W: how many of the oldest copies may be acknowledged prematurely, from 0 (never) to N; or `"auto"`.
        #[serde(default)]
        pub watermark: WatermarkSpec,
        /// The window that the source is offered, where it is larger than the destination's. Without it, the destination's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
        pub window: Option<Size>,
        /// What keeps a premature ACK from covering packets of which there is no copy.
        #[serde(default)]
        pub guard: GuardSpec,
        /// Retransmission of what is lost between here and the destination.
        #[serde(default)]
        pub recovery: LocalRecoverySpec,
    }
}

fn fifty_packets() -> Limit {
    Limit::Packets(50)
}

impl PrematureAckSpec {
    /// In the PEP's units.
    fn settings(&self) -> premature_ack::Settings {
        premature_ack::Settings {
            buffer: packets(self.buffer),
            watermark: match self.watermark {
                WatermarkSpec::Packets(packets) => {
                    premature_ack::Watermark::Fixed(usize::try_from(packets).unwrap_or(usize::MAX))
                }
                WatermarkSpec::Auto => premature_ack::Watermark::Automatic,
            },
            window: self.window.map(Size::as_bytes),
            guard: match self.guard {
                GuardSpec::Strict => premature_ack::Guard::Strict,
                GuardSpec::AsPrinted => premature_ack::Guard::AsPrinted,
            },
            recovery: self.recovery.settings(),
        }
    }
}

impl Parameters for PrematureAckSpec {
    fn check(&self, _scenario: &Scenario, check: &mut Checker) {
        let buffer = packets(self.buffer);
        if buffer == 0 || buffer > MOST_COPIES {
            let message =
                format!("the buffer is given in packets, as in \"50 packets\", from 1 to {MOST_COPIES}");
            check.problem(&["buffer"], message);
            return;
        }
        if let WatermarkSpec::Packets(packets) = self.watermark {
            if packets > buffer as u64 {
                let message =
                    format!("a watermark is at most the buffer ({}), here {}", self.buffer, self.watermark);
                check.problem(&["watermark"], message);
            }
        }
        check.local_recovery(&self.recovery);
    }
    fn build<B: Payload>(&self, site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        Box::new(PrematureAck::new(self.settings(), site.established()))
    }
}

/// The watermark of premature ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WatermarkSpec {
    /// So many packets.
    Packets(u64),
    /// Found while running.
    #[default]
    Auto,
}

impl WatermarkSpec {
    fn read(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(WatermarkSpec::Auto);
        }
        match text.parse() {
            Ok(Limit::Packets(packets)) => Ok(WatermarkSpec::Packets(packets)),
            Ok(Limit::Bytes(_)) => Err(format!("\"{text}\" is not a number of packets")),
            Err(error) => Err(longhaul_units::UnitError::to_string(&error)),
        }
    }
    fn from_count(count: i64) -> Option<Self> {
        u64::try_from(count).ok().map(WatermarkSpec::Packets)
    }
}

impl std::fmt::Display for WatermarkSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WatermarkSpec::Packets(packets) => Limit::Packets(*packets).fmt(f),
            WatermarkSpec::Auto => f.write_str("auto"),
        }
    }
}

text_setting!(
    WatermarkSpec,
    "a number of packets as in 25, or \"auto\"",
    "Watermark: packets, or \"auto\".",
    ["25 packets", "auto"]
);

/// What keeps a premature ACK from covering packets of which there is no copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardSpec {
    /// A premature ACK never covers one.
    #[default]
    Strict,
    /// The paper's step B-3 to the letter, which leaves a case open.
    AsPrinted,
}
