//! The document's tables for middleboxes: where they stand and what they do.

use crate::tcp::text_setting;
use longhaul_middlebox::{LocalRecovery, premature_ack};
use longhaul_units::{Duration, Limit, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A middlebox at a node. It sees the packets of the flows that pass the node; those of flows that begin or end at the node
/// itself do not pass it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MiddleboxSpec {
    /// Keeps copies of data packets and acknowledges the oldest of them to the source, on behalf of the destination
    /// (Okayama, 2005).
    #[serde(alias = "premature-ack")]
    PrematureAck(PrematureAckSpec),
}

impl MiddleboxSpec {
    /// What is wrong with a table of this kind, without its `kind`, if anything.
    pub(crate) fn error_in_table(
        kind: &str,
        table: toml::de::ValueDeserializer<'_>,
    ) -> Option<toml::de::Error> {
        match kind {
            "premature_ack" | "premature-ack" => PrematureAckSpec::deserialize(table).err(),
            _ => None,
        }
    }
    /// What all kinds have in common.
    pub fn common(&self) -> Common<'_> {
        match self {
            MiddleboxSpec::PrematureAck(spec) => spec.common(),
        }
    }
    /// Its name, or that of its kind.
    pub fn name(&self) -> &str {
        let name = self.common().name;
        if name.is_empty() { self.kind() } else { name }
    }
    /// Names of the nodes where it stands, one or two, each with its key.
    pub(crate) fn node_fields(&self) -> Vec<(&'static str, &str)> {
        vec![("at", self.common().at)]
    }
    /// Names of the nodes where it stands: one or two.
    pub fn nodes(&self) -> Vec<&str> {
        self.node_fields().into_iter().map(|(_, name)| name).collect()
    }
    /// Connections of its own between its two nodes, where it acts on so many flows.
    pub(crate) fn own_connections(&self, _flows: usize) -> u32 {
        0
    }
    /// The kind's name in scenario files.
    pub fn kind(&self) -> &'static str {
        match self {
            MiddleboxSpec::PrematureAck(_) => "premature_ack",
        }
    }
}

/// The settings that every middlebox has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Common<'a> {
    /// Its name; empty if it has none of its own.
    pub name: &'a str,
    /// Its node.
    pub at: &'a str,
    /// Names of the groups of flows that it acts on; empty for all that pass.
    pub flows: &'a [String],
    /// When it breaks down.
    pub fail_at: Option<Duration>,
}

/// A table of a middlebox, with the settings that all have.
macro_rules! middlebox {
    ($(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(inline)]
        pub struct $name {
            /// Its name: letters, digits, `-` and `_`. Without one it goes by its kind.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            pub name: String,
            /// Name of the node where it stands.
            pub at: String,
            /// Names of the groups of flows that it acts on; without them, all that pass its node.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub flows: Vec<String>,
            /// When it breaks down and loses what it holds; without it, never.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub fail_at: Option<Duration>,
            $($fields)*
        }

        impl $name {
            fn common(&self) -> Common<'_> {
                Common { name: &self.name, at: &self.at, flows: &self.flows, fail_at: self.fail_at }
            }
        }
    };
}

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
    /// N in packets; 0 where it is not given in packets.
    pub(crate) fn buffer_packets(&self) -> usize {
        match self.buffer {
            Limit::Packets(packets) => usize::try_from(packets).unwrap_or(usize::MAX),
            Limit::Bytes(_) => 0,
        }
    }
    /// As the PEP wants them.
    pub fn settings(&self) -> premature_ack::Settings {
        premature_ack::Settings {
            buffer: self.buffer_packets(),
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
    /// None ever does.
    #[default]
    Strict,
    /// The paper's step B-3 to the letter, which leaves a case open.
    AsPrinted,
}

/// Retransmission from a middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LocalRecoverySpec {
    /// Whether lost packets are sent again from here.
    pub enabled: bool,
    /// Duplicate ACKs, or SACKed packets above a hole, that mean a loss.
    pub duplicate_threshold: u32,
    /// Retransmission timeout before the first round trip was measured.
    pub initial_rto: Duration,
    /// Smallest timeout.
    pub min_rto: Duration,
    /// Largest timeout.
    pub max_rto: Duration,
}

impl Default for LocalRecoverySpec {
    fn default() -> Self {
        let LocalRecovery { enabled, duplicate_threshold, initial_rto, min_rto, max_rto } =
            LocalRecovery::default();
        LocalRecoverySpec { enabled, duplicate_threshold, initial_rto, min_rto, max_rto }
    }
}

impl LocalRecoverySpec {
    /// As middleboxes want them.
    pub fn settings(&self) -> LocalRecovery {
        LocalRecovery {
            enabled: self.enabled,
            duplicate_threshold: self.duplicate_threshold,
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            max_rto: self.max_rto,
        }
    }
}
