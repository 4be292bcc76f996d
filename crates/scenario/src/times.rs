//! Times of a group's flows: the same for all, drawn, or one after the other. Random ones come from the run's seed, a
//! stream for each flow.

use longhaul_units::{Duration, Instant, Random};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When each flow of a group starts or stops, counted from the start of the run.
#[derive(Clone, PartialEq, Debug)]
pub enum TimesSpec {
    /// All at the same time: `"0 s"`.
    Fixed(Duration),
    /// Drawn for each flow: `{ uniform = ["0 s", "5 s"] }`.
    Uniform(Duration, Duration),
    /// So far apart: `{ spaced = "100 ms", first = "0 s", jitter = "10 ms" }`.
    Spaced {
        /// Time between two.
        interval: Duration,
        /// The first time.
        first: Duration,
        /// Each is later by a random time, uniform between zero and this.
        jitter: Duration,
    },
    /// With exponential gaps (a Poisson process): `{ exponential = "100 ms", first = "0 s" }`.
    Exponential {
        /// Mean time between two.
        mean: Duration,
        /// Where the process begins.
        first: Duration,
    },
    /// A time for each: `{ at = ["0 s", "3 s"] }`.
    At(Vec<Duration>),
}

impl Default for TimesSpec {
    fn default() -> Self {
        TimesSpec::Fixed(Duration::ZERO)
    }
}

/// Start or stop times as a table.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimesTable {
    /// Draw each time between these two.
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<[Duration; 2]>,
    /// One after the other, so far apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    spaced: Option<Duration>,
    /// One after the other with exponential gaps of this mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<Duration>,
    /// Where `spaced` and `exponential` begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Duration>,
    /// Each time of `spaced` is later by a random time up to this.
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Duration>,
    /// A time for each flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Vec<Duration>>,
}

impl TimesTable {
    fn spec(self) -> Result<TimesSpec, &'static str> {
        let first = self.first.unwrap_or_default();
        let jitter = self.jitter.unwrap_or_default();
        if self.jitter.is_some() && self.spaced.is_none() {
            return Err("`jitter` goes with `spaced`");
        }
        match (self.uniform, self.spaced, self.exponential, self.at) {
            (Some(_), None, None, None) | (None, None, None, Some(_)) if self.first.is_some() => {
                Err("`first` goes with `spaced` or `exponential`")
            }
            (Some([low, high]), None, None, None) if low > high => {
                Err("the first time of `uniform` must not be after the second")
            }
            (Some([low, high]), None, None, None) => Ok(TimesSpec::Uniform(low, high)),
            (None, Some(interval), None, None) => Ok(TimesSpec::Spaced { interval, first, jitter }),
            (None, None, Some(mean), None) => Ok(TimesSpec::Exponential { mean, first }),
            (None, None, None, Some(times)) => Ok(TimesSpec::At(times)),
            _ => Err("it is a time, or a table with one of `uniform`, `spaced`, `exponential`, `at`"),
        }
    }
}

impl Serialize for TimesSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let table = match self {
            TimesSpec::Fixed(time) => return time.serialize(serializer),
            TimesSpec::Uniform(low, high) => {
                TimesTable { uniform: Some([*low, *high]), ..Default::default() }
            }
            TimesSpec::Spaced { interval, first, jitter } => TimesTable {
                spaced: Some(*interval),
                first: Some(*first),
                jitter: Some(*jitter).filter(|jitter| !jitter.is_zero()),
                ..Default::default()
            },
            TimesSpec::Exponential { mean, first } => {
                TimesTable { exponential: Some(*mean), first: Some(*first), ..Default::default() }
            }
            TimesSpec::At(times) => TimesTable { at: Some(times.clone()), ..Default::default() },
        };
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TimesSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = TimesSpec;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a time as in \"5 s\", or a table as in { uniform = [\"0 s\", \"5 s\"] }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<TimesSpec, E> {
                text.parse().map(TimesSpec::Fixed).map_err(E::custom)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<TimesSpec, A::Error> {
                TimesTable::deserialize(serde::de::value::MapAccessDeserializer::new(map))?
                    .spec()
                    .map_err(serde::de::Error::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for TimesSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimesSpec".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "When flows start or stop: a time, or a table with one of `uniform`, `spaced`, `exponential`, `at`.",
            "anyOf": [generator.subschema_for::<Duration>(), generator.subschema_for::<TimesTable>()],
        })
    }
}

impl TimesSpec {
    /// The times of the `count` flows of group `name`; `what` they are names the random streams.
    pub(crate) fn draw(&self, name: &str, what: &str, count: u32, seed: u64) -> Vec<Instant> {
        let stream = |index: u32| Random::stream(seed, &format!("{name}[{index}] {what}"));
        let mut clock = Duration::ZERO;
        let time = |index: u32| match self {
            TimesSpec::Fixed(time) => *time,
            TimesSpec::Uniform(low, high) => {
                *low + Duration::from_nanos(stream(index).up_to((*high - *low).as_nanos()))
            }
            TimesSpec::Spaced { interval, first, jitter } => {
                let late = match jitter.is_zero() {
                    true => Duration::ZERO,
                    false => Duration::from_nanos(stream(index).up_to(jitter.as_nanos())),
                };
                *first + *interval * u64::from(index) + late
            }
            TimesSpec::Exponential { mean, first } => {
                clock += Duration::from_secs_f64(stream(index).exponential(mean.as_secs_f64()));
                *first + clock
            }
            TimesSpec::At(times) => times[index as usize],
        };
        (0..count).map(time).map(|after| Instant::ZERO + after).collect()
    }

    /// Earliest and latest possible time of `count` flows, as far as it can be known without drawing.
    pub(crate) fn range(&self, count: u32) -> (Duration, Duration) {
        match self {
            TimesSpec::Fixed(time) => (*time, *time),
            TimesSpec::Uniform(low, high) => (*low, *high),
            TimesSpec::Spaced { interval, first, jitter } => {
                (*first, *first + *interval * u64::from(count.saturating_sub(1)) + *jitter)
            }
            TimesSpec::Exponential { first, .. } => (*first, *first),
            TimesSpec::At(times) => {
                let (least, most) = (times.iter().min(), times.iter().max());
                (least.copied().unwrap_or_default(), most.copied().unwrap_or_default())
            }
        }
    }
}
