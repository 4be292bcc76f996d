//! The document's tables for flows: where, when, what.

use crate::{AccessSpec, TcpSpec};
use longhaul_units::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flow, or `count` flows of the same kind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Name of the flow or group: letters, digits, `-` and `_`. A group's members are `name[0]`, `name[1]`, ...
    #[serde(default = "flow_name")]
    pub name: String,
    /// How many such flows, 1 to 1,000,000.
    #[serde(default = "one")]
    pub count: u32,
    /// Node of the active opener; `left` on a dumbbell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node of the passive opener; `right` on a dumbbell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Private links that join one host for each flow to `from` and `to`. Without it the nodes themselves are the hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessSpec>,
    /// When the flow starts.
    #[serde(default)]
    pub start: StartSpec,
    /// When the application stops and closes the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Each transmission of the sending host is delayed by a random time, uniform between zero and this: breaks the
    /// phase effects of deterministic traffic (ns-2's `overhead_`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub send_overhead: Duration,
    /// Record every segment at the sender, for time-sequence graphs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// What the application does.
    #[serde(default)]
    pub app: AppSpec,
    /// The connection's settings, at both ends.
    #[serde(default)]
    pub tcp: TcpSpec,
}

fn is_zero(time: &Duration) -> bool {
    time.is_zero()
}
fn flow_name() -> String {
    "flow".to_string()
}
fn one() -> u32 {
    1
}

/// When flows start, counted from the start of the run.
#[derive(Clone, PartialEq, Debug)]
pub enum StartSpec {
    /// All at the same time: `"0 s"`.
    Fixed(Duration),
    /// Drawn for each flow: `{ uniform = ["0 s", "5 s"] }`.
    Uniform(Duration, Duration),
    /// One after the other: `{ spaced = "100 ms", first = "0 s" }`.
    Spaced {
        /// Time between two starts.
        interval: Duration,
        /// The first start.
        first: Duration,
    },
    /// One after the other with exponential gaps (a Poisson process): `{ exponential = "100 ms", first = "0 s" }`.
    Exponential {
        /// Mean time between two starts.
        mean: Duration,
        /// Where the process begins.
        first: Duration,
    },
    /// A time for each: `{ at = ["0 s", "3 s"] }`.
    At(Vec<Duration>),
}

impl Default for StartSpec {
    fn default() -> Self {
        StartSpec::Fixed(Duration::ZERO)
    }
}

/// The table form of [`StartSpec`].
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StartTable {
    /// Draw each start between these two times.
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<[Duration; 2]>,
    /// Start flows one after the other, so far apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    spaced: Option<Duration>,
    /// Start flows one after the other with exponential gaps of this mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<Duration>,
    /// First start of `spaced` and `exponential`.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Duration>,
    /// A time for each flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Vec<Duration>>,
}

impl StartTable {
    fn spec(self) -> Result<StartSpec, &'static str> {
        let first = self.first.unwrap_or_default();
        match (self.uniform, self.spaced, self.exponential, self.at) {
            (Some(_), None, None, None) | (None, None, None, Some(_)) if self.first.is_some() => {
                Err("`first` goes with `spaced` or `exponential`")
            }
            (Some([low, high]), None, None, None) if low > high => {
                Err("the first time of `uniform` must not be after the second")
            }
            (Some([low, high]), None, None, None) => Ok(StartSpec::Uniform(low, high)),
            (None, Some(interval), None, None) => Ok(StartSpec::Spaced { interval, first }),
            (None, None, Some(mean), None) => Ok(StartSpec::Exponential { mean, first }),
            (None, None, None, Some(times)) => Ok(StartSpec::At(times)),
            _ => Err("a start is a time, or a table with one of `uniform`, `spaced`, `exponential`, `at`"),
        }
    }
}

impl Serialize for StartSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let table = match self {
            StartSpec::Fixed(time) => return time.serialize(serializer),
            StartSpec::Uniform(low, high) => {
                StartTable { uniform: Some([*low, *high]), ..Default::default() }
            }
            StartSpec::Spaced { interval, first } => {
                StartTable { spaced: Some(*interval), first: Some(*first), ..Default::default() }
            }
            StartSpec::Exponential { mean, first } => {
                StartTable { exponential: Some(*mean), first: Some(*first), ..Default::default() }
            }
            StartSpec::At(times) => StartTable { at: Some(times.clone()), ..Default::default() },
        };
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StartSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = StartSpec;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a time as in \"5 s\", or a table as in { uniform = [\"0 s\", \"5 s\"] }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<StartSpec, E> {
                text.parse().map(StartSpec::Fixed).map_err(E::custom)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<StartSpec, A::Error> {
                StartTable::deserialize(serde::de::value::MapAccessDeserializer::new(map))?
                    .spec()
                    .map_err(serde::de::Error::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for StartSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StartSpec".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "When flows start: a time, or a table with one of `uniform`, `spaced`, `exponential`, `at`.",
            "anyOf": [generator.subschema_for::<Duration>(), generator.subschema_for::<StartTable>()],
        })
    }
}

/// What an application does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AppSpec {
    /// Sends as fast as the connection allows.
    Bulk {
        /// Bytes to send, then the connection closes; without it there is always more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Size>,
    },
    /// Writes messages at a constant rate.
    Cbr {
        /// Mean rate of the application's data.
        rate: Rate,
        /// Bytes written at a time.
        #[serde(default = "one_kilobyte")]
        message: Size,
    },
    /// The active side asks, the passive side answers, again and again on one connection.
    Request {
        /// Bytes of a request.
        #[serde(default = "small_request")]
        request: Size,
        /// Bytes of an answer.
        response: Size,
        /// Time between an answer's end and the next request.
        #[serde(default)]
        think: Duration,
        /// Number of requests, then the connection closes; without it there is no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requests: Option<u64>,
    },
}

impl Default for AppSpec {
    fn default() -> Self {
        AppSpec::Bulk { size: None }
    }
}

fn one_kilobyte() -> Size {
    Size::from_bytes(1000)
}
fn small_request() -> Size {
    Size::from_bytes(300)
}
