//! Reading and writing of `"<number> <unit>"`, exactly: decimal fractions are scaled as integers, never as floats.

/// Why a text is not a quantity. The message says what was given and what is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A number stands alone.
    #[error("\"{given}\" has no unit; write for instance \"{example}\" (units: {accepted})")]
    NoUnit {
        /// The text as it was given.
        given: String,
        /// A right text.
        example: &'static str,
        /// All units that are understood.
        accepted: String,
    },
    /// The unit is none of this quantity.
    #[error("\"{unit}\" is not a unit of {quantity} (in \"{given}\"); units: {accepted}")]
    UnknownUnit {
        /// The text as it was given.
        given: String,
        /// The unit in it.
        unit: String,
        /// What was expected, for instance "time".
        quantity: &'static str,
        /// All units that are understood.
        accepted: String,
    },
    /// There is no non-negative decimal number at the start.
    #[error("\"{given}\" is not a {quantity}: it must start with a number that is not negative, as in \"{example}\"")]
    NoNumber {
        /// The text as it was given.
        given: String,
        /// What was expected.
        quantity: &'static str,
        /// A right text.
        example: &'static str,
    },
    /// The value does not fit, or is finer than the smallest unit.
    #[error("\"{given}\" cannot be represented: {why}")]
    OutOfRange {
        /// The text as it was given.
        given: String,
        /// The limit that it breaks.
        why: &'static str,
    },
}

/// One kind of quantity: its units, largest first, each as a multiple of the base unit.
pub(crate) struct Grammar {
    pub quantity: &'static str,
    pub example: &'static str,
    /// Units for parsing: name and number of base units.
    pub units: &'static [(&'static str, u64)],
    /// Other spellings that are read and never written.
    pub aliases: &'static [(&'static str, u64)],
}

impl Grammar {
    fn accepted(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Parses `"<decimal> <unit>"` to base units.
    pub fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let given = || text.to_string();
        let trimmed = text.trim();
        let number_end =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = (trimmed[..number_end].replace('_', ""), trimmed[number_end..].trim());
        let no_number =
            || UnitError::NoNumber { given: given(), quantity: self.quantity, example: self.example };
        let (whole, fraction) = match number.split_once('.') {
            None => (number.as_str(), ""),
            Some((w, f)) => (w, f),
        };
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(no_number());
        }
        if unit.is_empty() {
            return Err(UnitError::NoUnit { given: given(), example: self.example, accepted: self.accepted() });
        }
        let scale =
            self.units.iter().chain(self.aliases).find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let Some(scale) = scale else {
            return Err(UnitError::UnknownUnit {
                given: given(),
                unit: unit.to_string(),
                quantity: self.quantity,
                accepted: self.accepted(),
            });
        };
        let too_large = || UnitError::OutOfRange { given: given(), why: "it is too large" };
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 18 {
            return Err(UnitError::OutOfRange { given: given(), why: "it has more than 18 decimals" });
        }
        let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
        let mut total = whole.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
        if !fraction.is_empty() {
            let numerator: u128 = fraction.parse().map_err(|_| no_number())?;
            let denominator = 10u128.pow(fraction.len() as u32);
            let scaled = numerator * u128::from(scale);
            if scaled % denominator != 0 {
                return Err(UnitError::OutOfRange { given: given(), why: "it is finer than the smallest unit" });
            }
            total += scaled / denominator;
        }
        u64::try_from(total).map_err(|_| too_large())
    }

    /// Prints in the largest of `units` that leaves at most three decimals, so that [`Grammar::parse`] gives it back.
    pub fn print(&self, f: &mut std::fmt::Formatter<'_>, value: u64) -> std::fmt::Result {
        let (smallest, _) = self.units.last().expect("a grammar has units");
        if value == 0 {
            return f.pad(&format!("0 {smallest}"));
        }
        for (name, scale) in self.units {
            let thousandths = u128::from(value) * 1000;
            let scale = u128::from(*scale);
            if u128::from(value) >= scale && thousandths % scale == 0 {
                let (whole, rest) = (u128::from(value) / scale, thousandths / scale % 1000);
                let text = if rest == 0 {
                    format!("{whole} {name}")
                } else {
                    format!("{whole}.{} {name}", format!("{rest:03}").trim_end_matches('0'))
                };
                return f.pad(&text);
            }
        }
        f.pad(&format!("{value} {smallest}"))
    }
}

/// Serde, `FromStr`, `Display` and JSON Schema for a newtype over `u64` that has a `GRAMMAR`.
macro_rules! textual {
    ($type:ident, $doc:literal, $pattern:literal) => {
        impl std::str::FromStr for $type {
            type Err = crate::UnitError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                GRAMMAR.parse(text).map($type)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                GRAMMAR.print(f, self.0)
            }
        }
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                GRAMMAR.print(f, self.0)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::deserialize(deserializer, GRAMMAR.quantity, GRAMMAR.example)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": $doc,
                    "pattern": $pattern,
                    "examples": [GRAMMAR.example],
                })
            }
        }
    };
}
pub(crate) use textual;

/// Reads a quantity from a string; a bare number gets an error that says how to write it.
pub(crate) fn deserialize<'de, D, T>(
    deserializer: D,
    quantity: &'static str,
    example: &'static str,
) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: std::str::FromStr<Err = UnitError>,
{
    struct Visitor<T>(&'static str, &'static str, std::marker::PhantomData<T>);
    impl<T: std::str::FromStr<Err = UnitError>> serde::de::Visitor<'_> for Visitor<T> {
        type Value = T;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "a {} with its unit, as in \"{}\"", self.0, self.1)
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Visitor(quantity, example, std::marker::PhantomData))
}
