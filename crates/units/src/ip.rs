//! The two fields of the byte in an IP header that queues go by: ECN and DSCP.

use crate::UnitError;
use std::fmt;

/// The ECN field of the IP header (RFC 3168 section 5, RFC 9331).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint 01 (L4S).
    Ect1 = 1,
    /// ECN-capable, codepoint 10.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// From the two low bits of the IPv4 TOS or IPv6 traffic class byte; the others are ignored.
    #[inline]
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// It may be marked: both codepoints, and what is marked already.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
    /// A queue for L4S takes it (RFC 9331 section 5.1): ECT(1), and CE, since it may have been ECT(1).
    #[inline]
    pub const fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// The differentiated services code point (RFC 2474): what service a packet asks of queues, 0 to 63. It is written as a number, or by
/// name as `"ef"`.
///
/// ```
/// use longhaul_units::Dscp;
/// assert_eq!("ef".parse(), Ok(Dscp::new(46).unwrap()));
/// assert_eq!(Dscp::new(10).unwrap().to_string(), "af11");
/// assert!("64".parse::<Dscp>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dscp(u8);

/// Names: class selectors (RFC 2474), assured (RFC 2597) and expedited forwarding (RFC 3246), voice admitted (RFC 5865), lower effort
/// (RFC 8622).
const NAMED: [(&str, u8); 24] = [
    ("default", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
    // Another name of the first.
    ("cs0", 0),
];

impl Dscp {
    /// What a packet has that asks for nothing.
    pub const DEFAULT: Dscp = Dscp(0);

    /// From its number; `None` above 63.
    pub const fn new(code: u8) -> Option<Self> {
        if code < 64 { Some(Dscp(code)) } else { None }
    }
    /// From the IPv4 TOS or IPv6 traffic class byte, whose two low bits are ECN's.
    #[inline]
    pub const fn of_byte(byte: u8) -> Self {
        Dscp(byte >> 2)
    }
    /// That byte, with the ECN field clear.
    #[inline]
    pub const fn byte(self) -> u8 {
        self.0 << 2
    }
    /// Its number, 0 to 63.
    #[inline]
    pub const fn get(self) -> u8 {
        self.0
    }
    /// True for the default, which nothing has to be set for.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub const fn is_default(&self) -> bool {
        self.0 == 0
    }
}

impl std::str::FromStr for Dscp {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(trimmed));
        let code = match named {
            Some((_, code)) => Some(*code),
            None if trimmed.is_empty() || !trimmed.bytes().all(|byte| byte.is_ascii_digit()) => None,
            None => trimmed.parse().ok(),
        };
        code.and_then(Dscp::new).ok_or_else(|| UnitError::OutOfRange {
            given: crate::text::quoted(text),
            why: "a DSCP is a number from 0 to 63, or one of le, cs0 to cs7, af11 to af43, va, ef"
                .to_string(),
        })
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMED.iter().find(|(_, code)| *code == self.0) {
            Some((name, _)) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Dscp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Dscp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Dscp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a DSCP, as in \"ef\" or 46")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Dscp, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Dscp, E> {
                value.to_string().parse().map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Dscp, E> {
                value.to_string().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "serde")]
impl schemars::JsonSchema for Dscp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dscp".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A differentiated services code point: a name (le, cs0 to cs7, af11 to af43, va, ef) or a number from 0 to 63.",
            "oneOf": [
                {"type": "integer", "minimum": 0, "maximum": 63},
                {"type": "string", "pattern": r"^\s*([A-Za-z]+[0-9]*|[0-9]+)\s*$"},
            ],
            "examples": ["ef", 46],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2474 section 4.2.2.2: CSn = 8 n; RFC 2597 section 6: AFcd = 8 c + 2 d; EF = 46 (RFC 3246), VA = 44 (RFC 5865), LE = 1
    /// (RFC 8622).
    #[test]
    fn names_are_those_of_the_registry() {
        let code = |name: &str| name.parse::<Dscp>().unwrap().get();
        for class in 0..8 {
            assert_eq!(code(&format!("cs{class}")), 8 * class);
        }
        for class in 1..=4 {
            for drop in 1..=3 {
                assert_eq!(code(&format!("af{class}{drop}")), 8 * class + 2 * drop);
            }
        }
        assert_eq!(["ef", "EF", "va", "le", "default", "46"].map(code), [46, 46, 44, 1, 0, 46]);
    }

    /// The field is the upper six bits of the byte: who writes the code point itself there sets another one, and the ECN field.
    #[test]
    fn the_byte_is_shifted() {
        let byte = |name: &str| name.parse::<Dscp>().unwrap().byte();
        assert_eq!(["ef", "le", "cs1", "cs7"].map(byte), [0xb8, 0x04, 0x20, 0xe0]);
    }

    #[test]
    fn every_code_point_is_read_as_written() {
        for code in 0..64 {
            let dscp = Dscp::new(code).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
            assert_eq!(Dscp::of_byte(dscp.byte() | 3), dscp);
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["64", "-1", "af44", "cs8", "", "46.0", "0x2e", "300"] {
            let message = text.parse::<Dscp>().unwrap_err().to_string();
            assert!(message.contains("a DSCP is a number from 0 to 63, or one of le"), "{message}");
        }
        assert_eq!(serde_json::from_str::<Dscp>("46").unwrap(), serde_json::from_str("\"ef\"").unwrap());
        assert!(serde_json::from_str::<Dscp>("true").unwrap_err().to_string().contains("a DSCP, as in"));
    }

    #[test]
    fn which_packets_a_queue_for_l4s_takes() {
        let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        assert_eq!(all.map(Ecn::is_l4s), [false, true, false, true]);
        assert_eq!(all.map(Ecn::is_capable), [false, true, true, true]);
        assert!(all.iter().all(|ecn| Ecn::from_bits(*ecn as u8 | 0xb8) == *ecn));
    }
}
