//! Probabilities: the one quantity that may be written as a bare number, since it has no unit.

use crate::UnitError;

/// A probability from 0 to 1, written as a number (`0.01`) or in per cent (`"1 %"`).
///
/// ```
/// use longhaul_units::Probability;
/// assert_eq!("1 %".parse(), Ok(Probability::new(0.01).unwrap()));
/// assert_eq!("1e-5".parse::<Probability>().unwrap().get(), 0.00001);
/// assert!(Probability::new(1.5).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);

    /// From a number between 0 and 1; `None` outside.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0 into 0.
        (0.0..=1.0).contains(&value).then_some(Probability(value + 0.0))
    }
    /// Between 0 and 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl std::str::FromStr for Probability {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let (number, divisor) = match trimmed.strip_suffix('%') {
            Some(number) => (number.trim(), 100.0),
            None => (trimmed, 1.0),
        };
        let value: f64 = number.parse().map_err(|_| UnitError::NoNumber {
            given: crate::text::quoted(text),
            quantity: "probability",
            example: "1 %",
        })?;
        Probability::new(value / divisor).ok_or(UnitError::OutOfRange {
            given: crate::text::quoted(text),
            why: "a probability lies between 0 and 1 (0 % and 100 %)".to_string(),
        })
    }
}

impl std::fmt::Display for Probability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Probability {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Probability {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Probability;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a probability, as in 0.01 or \"1 %\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Probability, E> {
                value.to_string().parse().map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Probability, E> {
                value.to_string().parse().map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Probability, E> {
                value.to_string().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "serde")]
impl schemars::JsonSchema for Probability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A probability: a number from 0 to 1, or a text in per cent.",
            "oneOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^\s*[0-9.eE+-]+\s*%?\s*$"},
            ],
            "examples": [0.01, "1 %"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_numbers_and_per_cent() {
        for (text, value) in
            [("0", 0.0), ("-0", 0.0), ("1", 1.0), ("0.5%", 0.005), (" 1e-5 ", 0.00001), ("100 %", 1.0)]
        {
            let probability: Probability = text.parse().unwrap();
            assert_eq!(probability.get().to_bits(), f64::to_bits(value), "{text}");
        }
        for (json, value) in [("0.01", 0.01), ("0", 0.0), ("1", 1.0), (r#""2 %""#, 0.02)] {
            assert_eq!(serde_json::from_str::<Probability>(json).unwrap().get(), value);
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["1.01", "-0.1", "101 %", "NaN", "inf", "1e9"] {
            let message = format!(
                r#""{text}" cannot be represented: a probability lies between 0 and 1 (0 % and 100 %)"#
            );
            assert_eq!(text.parse::<Probability>().unwrap_err().to_string(), message);
        }
        for text in ["", "%", "1 percent", "often"] {
            let message = format!(
                r#""{text}" is not a probability: it must start with a decimal number, digits first and not negative, as in "1 %""#
            );
            assert_eq!(text.parse::<Probability>().unwrap_err().to_string(), message);
        }
        for json in ["-1", "2", "1.5"] {
            let error = serde_json::from_str::<Probability>(json).unwrap_err().to_string();
            assert!(error.starts_with(&format!(r#""{json}" cannot be represented"#)), "{error}");
        }
        let error = serde_json::from_str::<Probability>("true").unwrap_err().to_string();
        assert!(error.contains(r#"expected a probability, as in 0.01 or "1 %""#), "{error}");
    }

    proptest! {
        #[test]
        fn round_trip(value in 0.0..=1.0f64) {
            let probability = Probability::new(value).unwrap();
            prop_assert_eq!(probability.to_string().parse(), Ok(probability));
        }
    }
}
