//! Quantities that are drawn anew each time they are needed: think times, sizes of objects, lengths of bursts.

use longhaul_units::{Duration, Limit, Random, Size};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde::{Deserialize, Serialize};

/// A quantity that is always the same, or is drawn from a distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Draw<T> {
    /// `"4 s"`.
    Constant(T),
    /// `{ uniform = ["1 s", "3 s"] }`.
    Uniform(T, T),
    /// `{ exponential = "4 s" }`, the mean.
    Exponential(T),
    /// `{ pareto = "500 ms", shape = 1.5 }`: the mean, and the shape.
    Pareto(T, f64),
    /// `{ lomax = "10 packets", shape = 1.2 }`: Pareto of the second kind, which begins at zero; the mean, and the shape.
    Lomax(T, f64),
}

/// What can be drawn: it can be written as a number of its unit.
pub trait Quantity: Copy + PartialEq + PartialOrd + Serialize + DeserializeOwned + JsonSchema {
    /// The number.
    fn amount(self) -> f64;
    /// A quantity of the same unit. What comes in wholes is rounded up, to at least 1.
    fn with_amount(self, amount: f64) -> Self;
    /// True if both have the same unit.
    fn comparable(self, _other: Self) -> bool {
        true
    }
}

impl Quantity for Duration {
    fn amount(self) -> f64 {
        self.as_nanos() as f64
    }
    fn with_amount(self, amount: f64) -> Self {
        Duration::from_nanos(amount as u64)
    }
}

/// At least 1.
fn whole(amount: f64) -> u64 {
    (libm::ceil(amount) as u64).max(1)
}

/// How many, at least 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [10]))]
#[serde(transparent)]
pub struct Count(pub u64);

impl Quantity for Count {
    fn amount(self) -> f64 {
        self.0 as f64
    }
    fn with_amount(self, amount: f64) -> Self {
        Count(whole(amount))
    }
}

/// Payload: bytes, or full-sized segments.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = ["50 kB", "10 packets"]))]
#[serde(transparent)]
pub struct Volume(pub Limit);

impl Volume {
    /// In bytes, with segments of `mss`.
    pub fn bytes(self, mss: Size) -> u64 {
        match self.0 {
            Limit::Packets(packets) => packets.saturating_mul(mss.as_bytes()),
            Limit::Bytes(size) => size.as_bytes(),
        }
    }
}

impl PartialOrd for Volume {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.comparable(*other).then(|| self.amount().total_cmp(&other.amount()))
    }
}

impl Quantity for Volume {
    fn amount(self) -> f64 {
        match self.0 {
            Limit::Packets(packets) => packets as f64,
            Limit::Bytes(size) => size.as_bytes() as f64,
        }
    }
    fn with_amount(self, amount: f64) -> Self {
        Volume(match self.0 {
            Limit::Packets(_) => Limit::Packets(whole(amount)),
            Limit::Bytes(_) => Limit::Bytes(Size::from_bytes(whole(amount))),
        })
    }
    fn comparable(self, other: Self) -> bool {
        matches!(self.0, Limit::Packets(_)) == matches!(other.0, Limit::Packets(_))
    }
}

impl<T: Quantity> Draw<T> {
    /// The next value.
    pub fn next(&self, random: &mut Random) -> T {
        match *self {
            Draw::Constant(value) => value,
            Draw::Uniform(low, high) => {
                low.with_amount(low.amount() + (high.amount() - low.amount()) * random.uniform())
            }
            Draw::Exponential(mean) => mean.with_amount(random.exponential(mean.amount())),
            // Distribution function 1 - (scale / x)^shape, mean scale * shape / (shape - 1).
            Draw::Pareto(mean, shape) => {
                let scale = mean.amount() * (shape - 1.0) / shape;
                mean.with_amount(scale * libm::pow(1.0 - random.uniform(), -1.0 / shape))
            }
            // Distribution function 1 - (1 + x / scale)^-shape, mean scale / (shape - 1).
            Draw::Lomax(mean, shape) => {
                let scale = mean.amount() * (shape - 1.0);
                mean.with_amount(scale * (libm::pow(1.0 - random.uniform(), -1.0 / shape) - 1.0))
            }
        }
    }

    /// True if there would be nothing to draw: its smallest parameter is zero.
    pub fn is_zero(&self) -> bool {
        let least = match *self {
            Draw::Constant(value) | Draw::Uniform(value, _) | Draw::Exponential(value) => value,
            Draw::Pareto(mean, _) | Draw::Lomax(mean, _) => mean,
        };
        least.amount() == 0.0
    }
}

/// A drawn quantity as a table.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DrawTable<T> {
    /// Between these two, each value as likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<[T; 2]>,
    /// Exponential with this mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<T>,
    /// Pareto with this mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pareto: Option<T>,
    /// Pareto of the second kind (Lomax), which begins at zero, with this mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    lomax: Option<T>,
    /// Shape of `pareto` and `lomax`, above 1: the closer to 1, the heavier the tail; up to 2 the variance is infinite.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<f64>,
}

impl<T> Default for DrawTable<T> {
    fn default() -> Self {
        DrawTable { uniform: None, exponential: None, pareto: None, lomax: None, shape: None }
    }
}

impl<T: Quantity> DrawTable<T> {
    fn draw(self) -> Result<Draw<T>, &'static str> {
        match (self.uniform, self.exponential, self.pareto, self.lomax, self.shape) {
            (Some([low, high]), None, None, None, None) if !low.comparable(high) => {
                Err("both ends of `uniform` have the same unit")
            }
            (Some([low, high]), None, None, None, None) if low > high => {
                Err("the first value of `uniform` must not be above the second")
            }
            (Some([low, high]), None, None, None, None) => Ok(Draw::Uniform(low, high)),
            (None, Some(mean), None, None, None) => Ok(Draw::Exponential(mean)),
            (None, None, Some(_), None, Some(shape)) | (None, None, None, Some(_), Some(shape))
                if !(shape > 1.0 && shape.is_finite()) =>
            {
                Err("`shape` is above 1: with less there is no mean")
            }
            (None, None, Some(mean), None, Some(shape)) => Ok(Draw::Pareto(mean, shape)),
            (None, None, None, Some(mean), Some(shape)) => Ok(Draw::Lomax(mean, shape)),
            (None, None, Some(_), None, None) | (None, None, None, Some(_), None) => {
                Err("`pareto` and `lomax` need a `shape`, for instance 1.5")
            }
            (Some(_), None, None, None, Some(_)) | (None, Some(_), None, None, Some(_)) => {
                Err("`shape` goes with `pareto` or `lomax`")
            }
            _ => Err("it is a value, or a table with one of `uniform`, `exponential`, `pareto`, `lomax`"),
        }
    }
}

impl<T: Quantity> Serialize for Draw<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let empty = DrawTable::default();
        let table = match *self {
            Draw::Constant(value) => return value.serialize(serializer),
            Draw::Uniform(low, high) => DrawTable { uniform: Some([low, high]), ..empty },
            Draw::Exponential(mean) => DrawTable { exponential: Some(mean), ..empty },
            Draw::Pareto(mean, shape) => DrawTable { pareto: Some(mean), shape: Some(shape), ..empty },
            Draw::Lomax(mean, shape) => DrawTable { lomax: Some(mean), shape: Some(shape), ..empty },
        };
        table.serialize(serializer)
    }
}

impl<'de, T: Quantity> Deserialize<'de> for Draw<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Quantity> serde::de::Visitor<'de> for Visitor<T> {
            type Value = Draw<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value with its unit, or a table as in { exponential = \"4 s\" }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Draw<T>, E> {
                T::deserialize(text.into_deserializer()).map(Draw::Constant)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Draw<T>, E> {
                T::deserialize(number.into_deserializer()).map(Draw::Constant)
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Draw<T>, E> {
                T::deserialize(number.into_deserializer()).map(Draw::Constant)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Draw<T>, A::Error> {
                let table = DrawTable::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                table.draw().map_err(Error::custom)
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

impl<T: Quantity> JsonSchema for Draw<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Draw{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let value = generator.subschema_for::<T>();
        let mut table = DrawTable::<T>::json_schema(generator);
        table.insert("description".into(), "Drawn from a distribution.".into());
        schemars::json_schema!({
            "description": "A value, or a table with one of `uniform`, `exponential`, `pareto`, `lomax`; drawn anew each time.",
            "anyOf": [value, table],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Serialize, PartialEq, Debug)]
    struct Document {
        time: Draw<Duration>,
        count: Draw<Count>,
        size: Draw<Volume>,
    }

    fn draws<T: Quantity>(draw: Draw<T>, count: usize) -> Vec<f64> {
        let mut random = Random::stream(1, "draws");
        (0..count).map(|_| draw.next(&mut random).amount()).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Share of values above `x`.
    fn above(values: &[f64], x: f64) -> f64 {
        values.iter().filter(|value| **value > x).count() as f64 / values.len() as f64
    }

    #[test]
    fn forms_read_and_write() {
        let text = "time = \"4 s\"\ncount = 10\nsize = { lomax = \"10 packets\", shape = 1.2 }\n";
        let document: Document = toml::from_str(text).unwrap();
        assert_eq!(document.time, Draw::Constant(Duration::from_secs(4)));
        assert_eq!(document.count, Draw::Constant(Count(10)));
        assert_eq!(document.size, Draw::Lomax(Volume(Limit::Packets(10)), 1.2));
        assert_eq!(toml::from_str::<Document>(&toml::to_string(&document).unwrap()).unwrap(), document);
        for (wrong, part) in [
            ("time = 4\ncount = 1\nsize = \"1 B\"", "unit"),
            ("time = { pareto = \"4 s\" }\ncount = 1\nsize = \"1 B\"", "need a `shape`"),
            ("time = { pareto = \"4 s\", shape = 1.0 }\ncount = 1\nsize = \"1 B\"", "above 1"),
            ("time = { uniform = [\"4 s\", \"3 s\"] }\ncount = 1\nsize = \"1 B\"", "must not be above"),
            ("time = { exponential = \"4 s\", shape = 2.0 }\ncount = 1\nsize = \"1 B\"", "goes with"),
            ("time = {}\ncount = 1\nsize = \"1 B\"", "one of `uniform`"),
            ("time = \"1 s\"\ncount = 1\nsize = { uniform = [\"1 B\", \"2 packets\"] }", "same unit"),
        ] {
            let message = toml::from_str::<Document>(wrong).unwrap_err().to_string();
            assert!(message.contains(part), "{part:?} is missing in {message}");
        }
    }

    #[test]
    fn exponential_and_pareto_have_their_distribution_functions() {
        let second = Duration::from_secs(1);
        let values = draws(Draw::Exponential(second), 100_000);
        assert!((mean(&values) / 1e9 - 1.0).abs() < 0.013, "four standard errors of the mean");
        assert!((above(&values, 2e9) - 0.1353).abs() < 0.004, "exp(-2)");
        // Shape 1.5, mean 1 s: scale 1/3 s; above 1 s: (1/3)^1.5 = 0.1925; above 10 s: (1/30)^1.5 = 0.00609.
        let values = draws(Draw::Pareto(second, 1.5), 100_000);
        assert!(values.iter().all(|value| *value >= 0.333e9));
        assert!((above(&values, 1e9) - 0.1925).abs() < 0.005);
        assert!((above(&values, 10e9) - 0.00609).abs() < 0.001);
        // Shape 1.2, mean 1 s: scale 0.2 s; above 1 s: (1 + 5)^-1.2 = 0.1165; above 10 s: 51^-1.2 = 0.00893.
        let values = draws(Draw::Lomax(second, 1.2), 100_000);
        assert!((above(&values, 1e9) - 0.1165).abs() < 0.004);
        assert!((above(&values, 10e9) - 0.00893).abs() < 0.0012);
    }

    #[test]
    fn packets_and_counts_are_whole_and_at_least_one() {
        // The HighSpeed study's objects: x = 2 (u^(-1/1.2) - 1), rounded up to at least 1 packet. P(1 packet) = P(x <= 1) =
        // 1 - 1.5^-1.2 = 0.3853; P(more than 10) = 6^-1.2 = 0.1165.
        let values = draws(Draw::Lomax(Volume(Limit::Packets(10)), 1.2), 100_000);
        assert!(values.iter().all(|value| value.fract() == 0.0 && *value >= 1.0));
        assert!((above(&values, 1.0) - (1.0 - 0.3853)).abs() < 0.006);
        assert!((above(&values, 10.0) - 0.1165).abs() < 0.004);
        assert!(draws(Draw::Exponential(Count(1)), 1000).iter().all(|value| *value >= 1.0));
        assert_eq!(Volume(Limit::Packets(3)).bytes(Size::from_bytes(1460)), 4380);
    }
}
