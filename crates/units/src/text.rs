//! Reading and writing of `"<number> <unit>"`, exactly: decimal fractions are scaled as integers, never as floats.

/// Why a text is not a quantity. The message states what was given and what is accepted.
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
    #[error("\"{unit}\" is not a unit of {quantity} (in \"{given}\"){}; units: {accepted}", hint(guess.as_deref()))]
    UnknownUnit {
        /// The text as it was given.
        given: String,
        /// The unit in it.
        unit: String,
        /// What was expected, for instance "time".
        quantity: &'static str,
        /// What may have been meant.
        guess: Option<String>,
        /// All units that are understood.
        accepted: String,
    },
    /// There is no non-negative decimal number at the start.
    #[error(
        "\"{given}\" is not a {quantity}: it must start with a decimal number, digits first and not negative, as in \"{example}\""
    )]
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
        why: String,
    },
}

fn hint(guess: Option<&str>) -> String {
    guess.map_or_else(String::new, |guess| format!(", did you mean \"{guess}\"?"))
}

/// Most characters of a text that a message repeats.
const SHOWN: usize = 80;

/// A text as a message repeats it: whole, if it is not very long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// One kind of quantity: its units, largest first, each as a multiple of the base unit.
pub(crate) struct Grammar {
    pub quantity: &'static str,
    pub example: &'static str,
    /// Units for parsing: name and number of base units.
    pub units: &'static [(&'static str, u64)],
    /// Other spellings that are read and never written.
    pub aliases: &'static [(&'static str, u64)],
    /// Spellings that are not read, in lower case, with the unit that people mean by them.
    pub mistaken: &'static [(&'static str, &'static str)],
    /// Units of bytes that people write for it, and the number of base units in one.
    pub in_bytes: &'static [(&'static str, u64)],
}

impl Grammar {
    pub fn accepted(&self) -> String {
        let names: Vec<&str> = self.units.iter().chain(self.aliases).map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Parses `"<decimal> <unit>"` to base units.
    pub fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let given = || quoted(text);
        let trimmed = text.trim();
        let number_end =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = (&trimmed[..number_end], trimmed[number_end..].trim());
        let no_number =
            || UnitError::NoNumber { given: given(), quantity: self.quantity, example: self.example };
        // 1_000.25: digits first; an underscore only in the whole part; digits after a point.
        let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !whole.starts_with(|c: char| c.is_ascii_digit()) || !fraction.is_none_or(digits) {
            return Err(no_number());
        }
        if unit.is_empty() {
            return Err(UnitError::NoUnit {
                given: given(),
                example: self.example,
                accepted: self.accepted(),
            });
        }
        let scale =
            self.units.iter().chain(self.aliases).find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let too_large = || UnitError::OutOfRange { given: given(), why: self.too_large() };
        let Some(scale) = scale else {
            let written_out = self.without_exponent(number, unit);
            if written_out.is_some_and(|value| value >= u64::MAX as f64) {
                return Err(too_large());
            }
            return Err(UnitError::UnknownUnit {
                given: given(),
                unit: quoted(unit),
                quantity: self.quantity,
                guess: self.guess(number, unit),
                accepted: self.accepted(),
            });
        };
        let fraction = fraction.unwrap_or("").trim_end_matches('0');
        if fraction.len() > 18 {
            let why = "it has more than 18 decimals".to_string();
            return Err(UnitError::OutOfRange { given: given(), why });
        }
        let whole: u128 = whole.replace('_', "").parse().map_err(|_| too_large())?;
        let mut total = whole.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
        if !fraction.is_empty() {
            let numerator: u128 = fraction.parse().map_err(|_| no_number())?;
            let denominator = 10u128.pow(fraction.len() as u32);
            let scaled = numerator * u128::from(scale);
            if scaled % denominator != 0 {
                return Err(UnitError::OutOfRange {
                    given: given(),
                    why: "it is finer than the smallest unit".to_string(),
                });
            }
            total = total.checked_add(scaled / denominator).ok_or_else(too_large)?;
        }
        u64::try_from(total).map_err(|_| too_large())
    }

    fn too_large(&self) -> String {
        let (name, scale) = self.units[0];
        format!("it is too large: the largest is {} {name}", u64::MAX / scale)
    }

    /// The right text for a number with a unit that is none: a unit in other letters, a usual name of it, or an exponent.
    fn guess(&self, number: &str, unit: &str) -> Option<String> {
        struct Printed<'a>(&'a Grammar, u64);
        impl std::fmt::Display for Printed<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.print(f, self.1)
            }
        }
        if let Some((_, scale)) = self.in_bytes.iter().find(|(name, _)| *name == unit) {
            let value = number.replace('_', "").parse::<f64>().ok()? * *scale as f64;
            return Some(Printed(self, value.round() as u64).to_string());
        }
        let lower = unit.to_lowercase();
        let mut known = self.units.iter().chain(self.aliases).map(|(name, _)| *name);
        let meant = known.find(|name| name.to_lowercase() == lower);
        let named = || self.mistaken.iter().find(|(wrong, _)| *wrong == lower).map(|(_, unit)| *unit);
        if let Some(unit) = meant.or_else(named) {
            return Some(format!("{} {unit}", quoted(number)));
        }
        if let Some(text) = self.with_point(number, unit) {
            return Some(text);
        }
        let value = self.without_exponent(number, unit).filter(|value| *value >= 1.0)?;
        Some(Printed(self, value.round() as u64).to_string())
    }

    /// `0,29 s` with a decimal point.
    fn with_point(&self, number: &str, unit: &str) -> Option<String> {
        let decimals = unit.strip_prefix(',')?;
        let text = format!("{number}.{}", quoted(decimals));
        self.parse(&text).is_ok().then_some(text)
    }

    /// The value of `5e3 ms` in base units; `None` for whatever has another form.
    fn without_exponent(&self, number: &str, unit: &str) -> Option<f64> {
        let exponent = unit.strip_prefix(['e', 'E'])?;
        let end = exponent.find(|c: char| !(c.is_ascii_digit() || c == '-' || c == '+'))?;
        let (exponent, unit) = (&exponent[..end], exponent[end..].trim());
        let scale = self.units.iter().chain(self.aliases).find(|(name, _)| *name == unit)?.1;
        Some(format!("{number}e{exponent}").parse::<f64>().ok()? * scale as f64)
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
        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::deserialize(deserializer, GRAMMAR.quantity, GRAMMAR.example)
            }
        }
        #[cfg(feature = "serde")]
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

/// Reads a quantity from a string; a bare number gets an error that shows how to write it.
#[cfg(feature = "serde")]
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

#[cfg(test)]
mod tests {
    use crate::{Duration, Limit, Rate, Size, UnitError};

    #[test]
    fn reads_exactly() {
        let nanos = |text: &str| text.parse::<Duration>().map(Duration::as_nanos);
        assert_eq!(nanos("250 ms"), Ok(250_000_000));
        assert_eq!(nanos("1.5 s"), Ok(1_500_000_000));
        assert_eq!(nanos(" 0.1us "), Ok(100));
        assert_eq!(nanos("1_000.250 ms"), Ok(1_000_250_000));
        assert_eq!(nanos("2 h"), Ok(7_200_000_000_000));
        assert_eq!(nanos("90 min"), Ok(5_400_000_000_000));
        assert_eq!(nanos("3 \u{b5}s"), Ok(3000)); // micro sign
        assert_eq!(nanos("3 \u{3bc}s"), Ok(3000)); // Greek mu
        assert_eq!(nanos("0 s"), Ok(0));
        assert_eq!(nanos("0.000000001 s"), Ok(1));
        assert_eq!(nanos("18446744073709551615 ns"), Ok(u64::MAX));
    }

    #[test]
    fn refuses_with_a_message_that_says_what_is_accepted() {
        let times = "s, ms, us, ns, \u{b5}s, \u{3bc}s, min, h";
        let cases = [
            ("250", format!(r#""250" has no unit; write for instance "250 ms" (units: {times})"#)),
            ("0,29 s", format!(r#"",29 s" is not a unit of time (in "0,29 s"), did you mean "0.29 s"?; units: {times}"#)),
            ("250 m", format!(r#""m" is not a unit of time (in "250 m"); units: {times}"#)),
            ("250 MS", format!(r#""MS" is not a unit of time (in "250 MS"), did you mean "250 ms"?; units: {times}"#)),
            ("10 sec", format!(r#""sec" is not a unit of time (in "10 sec"), did you mean "10 s"?; units: {times}"#)),
            ("5e3 ms", format!(r#""e3 ms" is not a unit of time (in "5e3 ms"), did you mean "5 s"?; units: {times}"#)),
            ("0.5 ns", r#""0.5 ns" cannot be represented: it is finer than the smallest unit"#.to_string()),
            (
                "1e300 s",
                r#""1e300 s" cannot be represented: it is too large: the largest is 18446744073 s"#.to_string(),
            ),
            (
                "18446744073709551616 ns",
                r#""18446744073709551616 ns" cannot be represented: it is too large: the largest is 18446744073 s"#
                    .to_string(),
            ),
            ("600 years", format!(r#""years" is not a unit of time (in "600 years"); units: {times}"#)),
            (
                "0.0000000000000000001 s",
                r#""0.0000000000000000001 s" cannot be represented: it has more than 18 decimals"#
                    .to_string(),
            ),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<Duration>().unwrap_err().to_string(), message);
        }
        for text in [
            "",
            " ",
            "ms",
            "-1 ms",
            "+1 ms",
            ".5 s",
            "5. s",
            "1.2.3 s",
            "_1 s",
            "1._5 s",
            "NaN s",
            "\u{661} s",
        ] {
            let message = format!(
                r#""{text}" is not a time: it must start with a decimal number, digits first and not negative, as in "250 ms""#
            );
            assert_eq!(text.parse::<Duration>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_sum_that_overflows_is_too_large() {
        // u128::MAX / 1000 microseconds and a half: the product fits 128 bits, the sum does not.
        let text = "340282366920938463463374607431768211.5 us";
        assert!(matches!(
            text.parse::<Duration>(),
            Err(UnitError::OutOfRange { why, .. }) if why.starts_with("it is too large")
        ));
    }

    #[test]
    fn a_wrong_unit_is_answered_with_the_right_text() {
        let guess = |message: String| message.split('"').nth(5).map(str::to_string);
        for (text, right) in [
            ("10mbit", "10 Mbit/s"),
            ("10 MBPS", "10 Mbps"),
            ("1.5 gbit/s", "1.5 Gbit/s"),
            ("64 kbits", "64 kbit/s"),
            ("3M", "3 Mbit/s"),
            ("10 Mb", "10 Mbit/s"),
            ("10 Mb/s", "10 Mbit/s"),
            ("64 kb", "64 kbit/s"),
            ("1 Gb", "1 Gbit/s"),
            ("1e6 bit/s", "1 Mbit/s"),
        ] {
            assert_eq!(
                guess(text.parse::<Rate>().unwrap_err().to_string()).as_deref(),
                Some(right),
                "{text}"
            );
        }
        for (text, right) in [
            ("10 MB/s", "80 Mbit/s"),
            ("10 MB", "80 Mbit/s"),
            ("1.5 GB/s", "12 Gbit/s"),
            ("64 KiB/s", "524.288 kbit/s"),
            ("100 KBps", "800 kbit/s"),
        ] {
            let found = guess(text.parse::<Rate>().unwrap_err().to_string());
            assert_eq!(found.as_deref(), Some(right), "{text}");
        }
        for (text, right) in [
            ("10 seconds", "10 s"),
            ("5 msec", "5 ms"),
            ("2 hours", "2 h"),
            ("1 minute", "1 min"),
            ("3 Us", "3 us"),
        ] {
            assert_eq!(
                guess(text.parse::<Duration>().unwrap_err().to_string()).as_deref(),
                Some(right),
                "{text}"
            );
        }
        for (text, right) in
            [("64 kb", "64 kB"), ("2 mib", "2 MiB"), ("10 k", "10 kB"), ("3 megabytes", "3 MB")]
        {
            assert_eq!(
                guess(text.parse::<Size>().unwrap_err().to_string()).as_deref(),
                Some(right),
                "{text}"
            );
        }
        for (text, right) in [("100 pkt", "100 packets"), ("100 Packets", "100 packets"), ("64 kb", "64 kB")]
        {
            assert_eq!(
                guess(text.parse::<Limit>().unwrap_err().to_string()).as_deref(),
                Some(right),
                "{text}"
            );
        }
        let message = "3 furlongs".parse::<Duration>().unwrap_err().to_string();
        assert!(!message.contains("did you mean"), "{message}");
    }

    #[test]
    fn a_very_long_text_is_not_repeated_whole() {
        for text in
            ["9".repeat(100_000), format!("1 {}", "x".repeat(100_000)), format!("{} s", "9".repeat(100_000))]
        {
            let message = text.parse::<Duration>().unwrap_err().to_string();
            assert!(message.len() < 300, "{} characters", message.len());
        }
    }

    #[test]
    fn prints_in_the_largest_unit_with_three_decimals() {
        let cases = [
            (0, "0 ns"),
            (1, "1 ns"),
            (1500, "1.5 us"),
            (1_234_567, "1234.567 us"),
            (1_234_567_891, "1234567.891 us"),
            (250_000_000, "250 ms"),
            (1_005_000_000, "1.005 s"),
            (86_400_000_000_000, "86400 s"),
            (u64::MAX, "18446744073709551.615 us"),
        ];
        for (nanos, text) in cases {
            assert_eq!(Duration::from_nanos(nanos).to_string(), text);
        }
        assert_eq!(format!("[{:>8}]", Duration::from_millis(5)), "[    5 ms]");
        assert_eq!(format!("{:?}", Rate::from_bps(2_500_000)), "2.5 Mbit/s");
    }

    #[test]
    fn serde_reads_text_and_refuses_bare_numbers() {
        let json = |text: &str| serde_json::from_str::<Size>(text).map_err(|error| error.to_string());
        assert_eq!(json(r#""64 KiB""#), Ok(Size::from_bytes(65_536)));
        assert!(
            json("64")
                .unwrap_err()
                .starts_with(r#"invalid type: integer `64`, expected a size with its unit, as in "64 kB""#)
        );
        assert!(
            json(r#""64""#)
                .unwrap_err()
                .starts_with(r#""64" has no unit; write for instance "64 kB" (units: GB"#)
        );
        assert_eq!(serde_json::to_string(&Size::from_bytes(64_000)).unwrap(), r#""64 kB""#);
    }
}
