//! Parameters of an algorithm: a plain struct whose JSON Schema is the one place for names, defaults, units, ranges
//! and descriptions. Reading, checking and listing all go by that schema.

use crate::registry::Parameter;
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

    /// Checks what a range in the schema cannot say.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
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
