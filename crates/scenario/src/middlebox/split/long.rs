//! What crosses the long hop of a split at two nodes.

use super::HopSpec;
use crate::TcpChanges;
use crate::tcp::text_setting;
use longhaul_middlebox::split::record::Framing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

/// What crosses the long hop of a split at two nodes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum LongSpec {
    /// TCP connections, with these changes to the default settings.
    Tcp(Box<TcpChanges>),
    /// The accelerator's own transport.
    Hop(Box<HopSpec>),
}

impl Default for LongSpec {
    fn default() -> Self {
        LongSpec::Tcp(Box::default())
    }
}

impl LongSpec {
    /// True for TCP with its default settings.
    pub(super) fn is_default(&self) -> bool {
        *self == LongSpec::default()
    }
    /// What is wrong with such a table, if anything, with its place.
    pub(super) fn error_in(table: Spanned<DeValue<'_>>) -> Option<toml::de::Error> {
        let is_hop = matches!(table.get_ref(), DeValue::Table(long) if long.contains_key("transport"));
        let table = ValueDeserializer::from(table);
        if is_hop { HopSpec::deserialize(table).err() } else { TcpChanges::deserialize(table).err() }
    }
}

impl<'de> Deserialize<'de> for LongSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        let read = if table.contains_key("transport") {
            Box::deserialize(table).map(LongSpec::Hop)
        } else {
            Box::deserialize(table).map(LongSpec::Tcp)
        };
        read.map_err(|error| serde::de::Error::custom(error.message()))
    }
}

impl JsonSchema for LongSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LongSpec".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (tcp, hop) = (generator.subschema_for::<TcpChanges>(), generator.subschema_for::<HopSpec>());
        schemars::json_schema!({ "anyOf": [tcp, hop] })
    }
}

/// How many connections cross the long hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionsSpec {
    /// So many, which the flows share.
    Shared(u64),
    /// One for each connection of a host.
    PerFlow,
}

impl Default for ConnectionsSpec {
    fn default() -> Self {
        ConnectionsSpec::Shared(1)
    }
}

impl ConnectionsSpec {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "per_flow" => Ok(ConnectionsSpec::PerFlow),
            _ => match text.parse() {
                Ok(count) => Ok(ConnectionsSpec::Shared(count)),
                Err(_) => Err(format!("\"{text}\" is not a number of connections")),
            },
        }
    }
    fn from_count(count: i64) -> Option<Self> {
        u64::try_from(count).ok().map(ConnectionsSpec::Shared)
    }
}

impl std::fmt::Display for ConnectionsSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConnectionsSpec::Shared(count) => count.fmt(f),
            ConnectionsSpec::PerFlow => f.write_str("per_flow"),
        }
    }
}

text_setting!(
    ConnectionsSpec,
    "a number of connections as in 1, or \"per_flow\"",
    "Connections over the long hop: a number, or \"per_flow\".",
    ["1", "per_flow"]
);

/// How the flows' data are distinguished on the long hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FramingSpec {
    /// A header of 8 bytes before each piece of data.
    #[default]
    Header,
    /// The paper's field in the packet, which takes no room; only openings, ends and resets take 8 bytes.
    Pepid,
}

impl FramingSpec {
    /// In the split's units.
    pub(super) fn framing(self) -> Framing {
        match self {
            FramingSpec::Header => Framing::Header,
            FramingSpec::Pepid => Framing::Field,
        }
    }
}
