//! Parameters by their schema: reading, checking, listing.

use crate::params::{Parameter, Spec};
use longhaul_units::ranges::{self, shown};
use serde_json::{Map, Value};

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

/// Checks every number and every quantity against the range in its schema, then what the algorithm checks itself.
pub(crate) fn check<P: Spec>(params: &P) -> Result<(), String> {
    let values = serde_json::to_value(params).map_err(|error| format!("{}: {error}", P::NAME))?;
    for (name, schema) in properties::<P>() {
        let value = values.get(name).unwrap_or(&Value::Null);
        let is_number = matches!(schema.get("type").and_then(Value::as_str), Some("number" | "integer"));
        // serde_json writes NaN and infinities as null.
        if (is_number && !value.is_number()) || !ranges::holds(schema, value) {
            let range = ranges::range(schema).unwrap_or_else(|| "a finite number".to_string());
            return Err(format!("{}: {name} must be {range}, not {}", P::NAME, shown(value)));
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
        .map(|(name, schema)| Parameter {
            name: name.clone(),
            default: shown(defaults.get(name).unwrap_or(&Value::Null)),
            unit: text(schema, "x-unit"),
            range: ranges::range(schema).unwrap_or_default(),
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

/// Name and schema of each parameter.
fn properties<P: Spec>() -> impl Iterator<Item = (&'static String, &'static Value)> {
    ranges::schema::<P>().get("properties").and_then(Value::as_object).into_iter().flatten()
}
