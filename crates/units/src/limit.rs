//! How much a queue may hold or a window allow: packets or bytes.

use crate::text::Grammar;
use crate::{Size, UnitError};

pub(crate) const PACKETS: Grammar = Grammar {
    quantity: "number of packets or bytes",
    example: "1000 packets",
    units: &[("packets", 1)],
    aliases: &[("packet", 1), ("pkts", 1)],
    in_bytes: &[],
    mistaken: &[("pkt", "packets"), ("p", "packets"), ("pckts", "packets"), ("segments", "packets")],
};

/// A limit of a queue or a window, in packets (`"1000 packets"`) or in bytes (`"64 kB"`).
///
/// ```
/// use longhaul_units::{Limit, Size};
/// assert_eq!("1000 packets".parse(), Ok(Limit::Packets(1000)));
/// assert_eq!("64 KiB".parse(), Ok(Limit::Bytes(Size::from_bytes(65_536))));
/// assert!("1000".parse::<Limit>().is_err());
/// ```
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
            Err(UnitError::UnknownUnit { quantity, accepted: packets, guess: of_packets, .. }) => {
                text.parse().map(Limit::Bytes).map_err(|error| match error {
                    UnitError::UnknownUnit { given, unit, accepted: bytes, guess, .. } => {
                        UnitError::UnknownUnit {
                            given,
                            unit,
                            quantity,
                            guess: of_packets.or(guess),
                            accepted: format!("{packets}, {bytes}"),
                        }
                    }
                    other => other,
                })
            }
            Err(UnitError::NoUnit { given, example, accepted }) => Err(UnitError::NoUnit {
                given,
                example,
                accepted: format!("{accepted}, {}", crate::size::GRAMMAR.accepted()),
            }),
            Err(other) => Err(other),
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Packets(1) => f.pad("1 packet"),
            Limit::Packets(packets) => PACKETS.print(f, *packets),
            Limit::Bytes(size) => size.fmt(f),
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::deserialize(deserializer, PACKETS.quantity, PACKETS.example)
    }
}

#[cfg(feature = "serde")]
impl schemars::JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A limit in packets or in bytes.",
            "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(packets?|pkts|B|bytes?|[kMGT]B|[KMGT]iB)\s*$",
            "examples": ["1000 packets", "64 kB"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: &str = "packets, packet, pkts, GB, MB, kB, B, byte, bytes, TB, KiB, MiB, GiB, TiB";

    #[test]
    fn reads_packets_and_bytes() {
        for (text, limit) in [
            ("1000 packets", Limit::Packets(1000)),
            ("1 packet", Limit::Packets(1)),
            ("12pkts", Limit::Packets(12)),
            ("0 packets", Limit::Packets(0)),
            ("1.5 kB", Limit::Bytes(Size::from_bytes(1500))),
        ] {
            assert_eq!(text.parse(), Ok(limit), "{text}");
        }
        assert_eq!(Limit::Packets(1).to_string(), "1 packet");
    }

    #[test]
    fn refuses_with_both_kinds_of_units() {
        let cases = [
            ("64", format!(r#""64" has no unit; write for instance "1000 packets" (units: {UNITS})"#)),
            ("64 kb", format!(r#""kb" is not a unit of number of packets or bytes (in "64 kb"), did you mean "64 kB"?; units: {UNITS}"#)),
            ("0.5 packets", r#""0.5 packets" cannot be represented: it is finer than the smallest unit"#.to_string()),
            ("0.5 B", r#""0.5 B" cannot be represented: it is finer than the smallest unit"#.to_string()),
            (
                "-1 packets",
                r#""-1 packets" is not a number of packets or bytes: it must start with a decimal number, digits first and not negative, as in "1000 packets""#
                    .to_string(),
            ),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<Limit>().unwrap_err().to_string(), message);
        }
    }

    proptest! {
        #[test]
        fn round_trip(amount: u64, packets: bool) {
            let limit = if packets { Limit::Packets(amount) } else { Limit::Bytes(Size::from_bytes(amount)) };
            prop_assert_eq!(limit.to_string().parse(), Ok(limit));
            let json = serde_json::to_string(&limit).unwrap();
            prop_assert_eq!(serde_json::from_str::<Limit>(&json).unwrap(), limit);
        }
    }
}
