//! How much a queue may hold: packets, bytes, the time that they take to leave, or products of bandwidth and delay.

use crate::text::Grammar;
use crate::{Duration, Limit, Rate, UnitError};

/// Thousandths of a bandwidth-delay product.
const BDP: Grammar = Grammar {
    quantity: "limit of a queue",
    example: "1000 packets",
    units: &[("bdp", 1000)],
    aliases: &[("BDP", 1000)],
    in_bytes: &[],
    mistaken: &[("bdps", "bdp")],
};

/// The limit of a queue: in packets or bytes, in time (`"100 ms"`: what leaves in so long at the link's rate), or in
/// bandwidth-delay products of the link (`"1 bdp"`).
///
/// ```
/// use longhaul_units::{Duration, Limit, QueueLimit, Rate, Size};
/// let limit = |text: &str| text.parse::<QueueLimit>().unwrap();
/// let (rate, rtt) = (Rate::from_bps(50_000_000), Duration::from_millis(600));
/// assert_eq!(limit("1000 packets").at(rate, None), Some(Limit::Packets(1000)));
/// assert_eq!(limit("100 ms").at(rate, None), Some(Limit::Bytes(Size::from_bytes(625_000))));
/// assert_eq!(limit("0.5 bdp").at(rate, Some(rtt)), Some(Limit::Bytes(Size::from_bytes(1_875_000))));
/// assert_eq!(limit("0.5 bdp").at(rate, None), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Packets or bytes.
    Fixed(Limit),
    /// What leaves in this time.
    Time(Duration),
    /// Thousandths of a bandwidth-delay product.
    Bdp(u64),
}

impl From<Limit> for QueueLimit {
    fn from(limit: Limit) -> Self {
        QueueLimit::Fixed(limit)
    }
}

impl QueueLimit {
    /// In packets or bytes, behind a transmitter of this rate on paths of this round trip time; `None` for a limit in
    /// bandwidth-delay products where no round trip time is known.
    pub fn at(self, rate: Rate, rtt: Option<Duration>) -> Option<Limit> {
        let bytes = |time| Limit::Bytes(rate.bytes_in(time));
        Some(match self {
            QueueLimit::Fixed(limit) => limit,
            QueueLimit::Time(time) => bytes(time),
            QueueLimit::Bdp(thousandths) => {
                let nanos = u128::from(rtt?.as_nanos()) * u128::from(thousandths) / 1000;
                bytes(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
            }
        })
    }

    /// The limit in packets or bytes of one that [`QueueLimit::at`] has made so.
    ///
    /// # Panics
    /// If it is still in time or in bandwidth-delay products.
    pub fn fixed(self) -> Limit {
        match self {
            QueueLimit::Fixed(limit) => limit,
            other => panic!("a queue of {other} is made without the path that it is on"),
        }
    }
}

/// All units of a limit.
fn accepted() -> String {
    let all = [
        crate::limit::PACKETS.accepted(),
        crate::size::GRAMMAR.accepted(),
        crate::time::GRAMMAR.accepted(),
        BDP.accepted(),
    ];
    all.join(", ")
}

impl std::str::FromStr for QueueLimit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let mut guesses = vec![];
        let mut error = None;
        let forms: [&dyn Fn() -> Result<QueueLimit, UnitError>; 3] =
            [&|| text.parse().map(QueueLimit::Fixed), &|| text.parse().map(QueueLimit::Time), &|| {
                BDP.parse(text).map(QueueLimit::Bdp)
            }];
        for form in forms {
            match form() {
                Err(UnitError::UnknownUnit { given, unit, guess, .. }) => {
                    guesses.extend(guess);
                    error = Some(UnitError::UnknownUnit {
                        given,
                        unit,
                        quantity: BDP.quantity,
                        guess: guesses.first().cloned(),
                        accepted: accepted(),
                    });
                }
                Err(UnitError::NoUnit { given, example, .. }) => {
                    return Err(UnitError::NoUnit { given, example, accepted: accepted() });
                }
                Err(UnitError::NoNumber { given, example, .. }) => {
                    return Err(UnitError::NoNumber { given, quantity: BDP.quantity, example });
                }
                read => return read,
            }
        }
        Err(error.expect("each form has been tried"))
    }
}

impl std::fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueueLimit::Fixed(limit) => limit.fmt(f),
            QueueLimit::Time(time) => time.fmt(f),
            QueueLimit::Bdp(thousandths) => {
                let (whole, rest) = (thousandths / 1000, thousandths % 1000);
                let decimals = format!("{rest:03}");
                let decimals = decimals.trim_end_matches('0');
                let point = if decimals.is_empty() { "" } else { "." };
                f.pad(&format!("{whole}{point}{decimals} bdp"))
            }
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for QueueLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for QueueLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::deserialize(deserializer, BDP.quantity, BDP.example)
    }
}

#[cfg(feature = "serde")]
impl schemars::JsonSchema for QueueLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "QueueLimit".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A limit in packets, in bytes, in time at the link's rate, or in bandwidth-delay products of the link.",
            "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(packets?|pkts|B|bytes?|[kMGT]B|[KMGT]iB|ns|us|\u00b5s|\u03bcs|ms|s|min|h|bdp|BDP)\s*$",
            "examples": ["1000 packets", "64 kB", "100 ms", "1 bdp"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;
    use proptest::prelude::*;

    fn fixed(bytes: u64) -> Option<Limit> {
        Some(Limit::Bytes(Size::from_bytes(bytes)))
    }

    #[test]
    fn reads_all_four_kinds() {
        for (text, limit) in [
            ("1000 packets", QueueLimit::Fixed(Limit::Packets(1000))),
            ("64 kB", QueueLimit::Fixed(Limit::Bytes(Size::from_bytes(64_000)))),
            ("100 ms", QueueLimit::Time(Duration::from_millis(100))),
            ("1 bdp", QueueLimit::Bdp(1000)),
            ("1.25 BDP", QueueLimit::Bdp(1250)),
        ] {
            assert_eq!(text.parse(), Ok(limit), "{text}");
        }
        let printed = [1, 250, 1000, 1500].map(|thousandths| QueueLimit::Bdp(thousandths).to_string());
        assert_eq!(printed, ["0.001 bdp", "0.25 bdp", "1 bdp", "1.5 bdp"]);
    }

    /// Rate times time, over eight: 8 Mbit/s carry 1000 B in a millisecond.
    #[test]
    fn times_and_products_become_bytes() {
        let rate = Rate::from_bps(8_000_000);
        assert_eq!(QueueLimit::Time(Duration::from_millis(30)).at(rate, None), fixed(30_000));
        let rtt = Some(Duration::from_millis(600));
        assert_eq!(QueueLimit::Bdp(1000).at(rate, rtt), fixed(600_000));
        assert_eq!(QueueLimit::Bdp(250).at(rate, rtt), fixed(150_000));
        assert_eq!(QueueLimit::Bdp(1000).at(rate, None), None);
    }

    #[test]
    fn wrong_units_are_refused_with_all_that_are_right() {
        for (text, parts) in [
            ("64", &["\"64\" has no unit", "packets,", "MiB", "ms", "bdp"][..]),
            ("64 kb", &["\"kb\" is not a unit of limit of a queue", "did you mean \"64 kB\"?", "bdp"]),
            ("100 msec", &["\"msec\" is not a unit", "did you mean \"100 ms\"?"]),
            ("1 Bdp", &["did you mean \"1 bdp\"?"]),
            ("10 Mbit/s", &["\"Mbit/s\" is not a unit of limit of a queue"]),
            ("much", &["\"much\" is not a limit of a queue"]),
            ("0.0001 bdp", &["finer than the smallest unit"]),
        ] {
            let message = text.parse::<QueueLimit>().unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "{text}: {message}");
            }
        }
    }

    proptest! {
        #[test]
        fn round_trip(amount: u64, kind in 0..4) {
            let limit = match kind {
                0 => QueueLimit::Fixed(Limit::Packets(amount)),
                1 => QueueLimit::Fixed(Limit::Bytes(Size::from_bytes(amount))),
                2 => QueueLimit::Time(Duration::from_nanos(amount)),
                _ => QueueLimit::Bdp(amount),
            };
            prop_assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }
}
