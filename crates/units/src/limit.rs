//! How much a queue may hold: packets or bytes.

use crate::text::Grammar;
use crate::{Size, UnitError};

const PACKETS: Grammar = Grammar {
    quantity: "queue limit",
    example: "1000 packets",
    units: &[("packets", 1)],
    aliases: &[("packet", 1), ("pkts", 1)],
};

/// A queue's limit, in packets (`"1000 packets"`) or in bytes (`"64 kB"`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Whole packets, whatever their size.
    Packets(u64),
    /// Bytes on the wire.
    Bytes(Size),
}

impl std::str::FromStr for Limit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match PACKETS.parse(text) {
            Ok(packets) => Ok(Limit::Packets(packets)),
            Err(UnitError::UnknownUnit { given, unit, quantity, .. }) => {
                text.parse().map(Limit::Bytes).map_err(|error| match error {
                    UnitError::UnknownUnit { accepted, .. } => UnitError::UnknownUnit {
                        given,
                        unit,
                        quantity,
                        accepted: format!("packets, {accepted}"),
                    },
                    other => other,
                })
            }
            Err(UnitError::NoUnit { given, example, .. }) => Err(UnitError::NoUnit {
                given,
                example,
                accepted: "packets, GB, MB, kB, B".to_string(),
            }),
            Err(other) => Err(other),
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Packets(packets) => PACKETS.print(f, *packets),
            Limit::Bytes(size) => size.fmt(f),
        }
    }
}

impl serde::Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::deserialize(deserializer, PACKETS.quantity, PACKETS.example)
    }
}

impl schemars::JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A queue limit in packets or in bytes.",
            "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(packets?|pkts|B|bytes?|[kMGT]B|[KMGT]iB)\s*$",
            "examples": ["1000 packets", "64 kB"],
        })
    }
}
