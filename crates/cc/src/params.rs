//! Parameters of an algorithm: a plain struct whose JSON Schema is the one place for names, defaults, units, ranges
//! and descriptions. Reading, checking and listing all go by that schema.

use crate::slow_start::packet_pair::PacketPairParams;
use crate::{Avoidance, CongestionControl, Setup, SlowStart, WindowBased};
use longhaul_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What the registry must know of an algorithm; implemented by its parameter struct.
pub(crate) trait Spec: Default + Serialize + DeserializeOwned + JsonSchema + 'static {
    /// Name in scenario files.
    const NAME: &'static str;
    /// Where it is defined.
    const SOURCE: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;

    /// The response function of a congestion control with these parameters, if one is known.
    fn response_function(&self, _met: &Conditions) -> Option<Formula> {
        None
    }

    /// Checks what a range in the schema cannot say.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A fact sheet on one parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Key in scenario files.
    pub name: String,
    /// Value if it is not given, as one would write it.
    pub default: String,
    /// Unit of a bare number, or the words to choose from; empty if the value carries its unit.
    pub unit: String,
    /// Range of a number, in words; empty if there is none.
    pub range: String,
    /// What it does.
    pub description: String,
}

/// What a response function is asked about: what a flow met.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conditions {
    /// Mean RTT.
    pub rtt: Duration,
    /// Least RTT.
    pub rtt_min: Duration,
    /// Congestion events for each data packet sent, above 0.
    pub p: f64,
    /// Segments that the receiver acknowledges at a time.
    pub segments_per_ack: f64,
}

/// What a response function says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Formula {
    /// Its name; `NAME_bps` is its metric.
    pub name: &'static str,
    /// Mean window in segments.
    pub window: f64,
}

/// A slow start that any avoidance rule can be put beside.
pub(crate) trait Compose {
    /// Each pair is a type of its own, so that the connection's call is the only one that is not resolved when compiling.
    fn compose<A: Avoidance>(&self, avoidance: A, setup: &Setup) -> Box<dyn CongestionControl>;
    /// Its parameters if it measures with pairs of packets: for algorithms that begin so themselves.
    fn packet_pair(&self) -> Option<&PacketPairParams> {
        None
    }
}

impl<P: SlowStartSpec> Compose for P {
    fn compose<A: Avoidance>(&self, avoidance: A, setup: &Setup) -> Box<dyn CongestionControl> {
        Box::new(WindowBased::new(avoidance, self.start(setup), setup))
    }
}

/// Parameters of a congestion control algorithm.
pub(crate) trait AlgorithmSpec: Spec {
    /// The algorithm at the start of a connection: `slow_start.compose(rule, setup)` for an [`Avoidance`] rule.
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl>;
}

/// Parameters of a slow start policy.
pub(crate) trait SlowStartSpec: Spec {
    /// What they are the parameters of.
    type Policy: SlowStart;
    /// The policy at the start of a connection.
    fn start(&self, setup: &Setup) -> Self::Policy;
}

/// Reads `"name"` or `{ kind = "name", .. }`; the table is returned without its `kind`.
pub(crate) fn name_or_table<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
    what: &'static str,
) -> Result<(String, Map<String, Value>), D::Error> {
    struct Visitor(&'static str);
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = (String, Map<String, Value>);
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "the name of a {}, or a table with its name as `kind` and parameters", self.0)
        }
        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
            Ok((name.to_string(), Map::new()))
        }
        fn visit_map<M: serde::de::MapAccess<'de>>(self, mut entries: M) -> Result<Self::Value, M::Error> {
            use serde::de::Error;
            let mut table = Map::new();
            while let Some((key, value)) = entries.next_entry::<String, Value>()? {
                if table.insert(key.clone(), value).is_some() {
                    return Err(M::Error::custom(format!("{key} is given twice")));
                }
            }
            match table.remove("kind") {
                Some(Value::String(kind)) => Ok((kind, table)),
                Some(_) => Err(M::Error::custom(format!("`kind` must be the name of a {}", self.0))),
                None => {
                    Err(M::Error::custom(format!("a {} given as a table needs its name as `kind`", self.0)))
                }
            }
        }
    }
    deserializer.deserialize_any(Visitor(what))
}

/// Checks every number against the range in its schema, then what the algorithm checks itself.
pub(crate) fn check<P: Spec>(params: &P) -> Result<(), String> {
    let values = serde_json::to_value(params).map_err(|error| format!("{}: {error}", P::NAME))?;
    for (name, schema) in properties::<P>() {
        let value = values.get(name).unwrap_or(&Value::Null);
        let is_number = matches!(schema.get("type").and_then(Value::as_str), Some("number" | "integer"));
        // serde_json writes NaN and infinities as null.
        let within = value.as_f64().is_some_and(|number| within(schema, number));
        if is_number && !within {
            return Err(format!("{}: {name} must be {}, not {}", P::NAME, range(schema), shown(value)));
        }
    }
    params.check().map_err(|error| format!("{}: {error}", P::NAME))
}

/// Reads parameters from a table without its `kind`, and checks them.
pub(crate) fn read<P: Spec>(table: Map<String, Value>) -> Result<P, String> {
    let params =
        serde_json::from_value(Value::Object(table)).map_err(|error| format!("{}: {error}", P::NAME))?;
    check::<P>(&params)?;
    Ok(params)
}

/// The facts about each parameter, for `longhaul list` and the reference.
pub(crate) fn facts<P: Spec>() -> Vec<Parameter> {
    let defaults = serde_json::to_value(P::default()).unwrap_or(Value::Null);
    let text = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_str).unwrap_or("").to_string();
    properties::<P>()
        .iter()
        .map(|(name, schema)| Parameter {
            name: name.clone(),
            default: shown(defaults.get(name).unwrap_or(&Value::Null)),
            unit: text(schema, "x-unit"),
            range: if has_range(schema) { range(schema) } else { String::new() },
            description: text(schema, "description").replace('\n', " "),
        })
        .collect()
}

/// The schema of the table form: the parameters and `kind`.
pub(crate) fn table_schema<P: Spec>(generator: &mut schemars::SchemaGenerator) -> Value {
    let mut schema = P::json_schema(generator).to_value();
    schema["description"] = Value::from(format!("{} ({})", P::SUMMARY, P::SOURCE));
    schema["properties"]["kind"] = serde_json::json!({ "const": P::NAME });
    schema["required"] = serde_json::json!(["kind"]);
    schema
}

/// Name and schema of each parameter. A schema is generated once for each type: a scenario checks the parameters of thousands
/// of flows.
fn properties<P: Spec>() -> &'static [(String, Value)] {
    static GENERATED: Mutex<BTreeMap<TypeId, &'static [(String, Value)]>> = Mutex::new(BTreeMap::new());
    let mut generated = GENERATED.lock().unwrap_or_else(PoisonError::into_inner);
    generated.entry(TypeId::of::<P>()).or_insert_with(|| {
        let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<P>().to_value();
        match schema.get_mut("properties").map(Value::take) {
            Some(Value::Object(properties)) => Vec::leak(properties.into_iter().collect()),
            _ => &[],
        }
    })
}

fn bound(schema: &Value, key: &str) -> Option<f64> {
    schema.get(key).and_then(Value::as_f64)
}

fn within(schema: &Value, number: f64) -> bool {
    bound(schema, "minimum").is_none_or(|least| number >= least)
        && bound(schema, "maximum").is_none_or(|most| number <= most)
        && bound(schema, "exclusiveMinimum").is_none_or(|least| number > least)
        && bound(schema, "exclusiveMaximum").is_none_or(|most| number < most)
}

fn has_range(schema: &Value) -> bool {
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].iter().any(|key| schema.get(key).is_some())
}

/// "above 0 and at most 1".
fn range(schema: &Value) -> String {
    let words = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
    ];
    let parts: Vec<String> =
        words.iter().filter_map(|(key, word)| bound(schema, key).map(|b| format!("{word} {b}"))).collect();
    if parts.is_empty() { "a finite number".to_string() } else { parts.join(" and ") }
}

/// A value as a user writes it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "NaN or infinite".to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::cubic::CubicParams;
    use crate::algorithms::reno::RenoParams;

    /// Reading 8,000 `[[flow]]` sections spent three quarters of its time in schemas that had been generated before.
    #[test]
    fn the_schema_of_a_type_is_generated_once() {
        assert!(std::ptr::eq(properties::<CubicParams>(), properties::<CubicParams>()));
        assert!(!std::ptr::eq(properties::<CubicParams>(), properties::<RenoParams>()));
    }
}
