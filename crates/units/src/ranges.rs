//! Ranges of settings. The JSON Schema of the struct that a setting is in is the one place for its range; check, reference
//! and editors go by it.
//!
//! A number has JSON Schema's own words (`minimum`, `exclusiveMinimum`, `maximum`, `exclusiveMaximum`), a quantity with a
//! unit the same with `x-` before them and a text: `#[schemars(extend("x-exclusiveMinimum" = "0 s"))]`.

use crate::{Duration, Limit, QueueLimit, Rate, Size};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// One step into settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A key of a table.
    Field(&'static str),
    /// A member of a list, counted from 0.
    Index(usize),
}

/// A value outside of its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    /// Where it is.
    pub place: Vec<Key>,
    /// What is right, and what was given: "must be above 0 s and at most 1 h, not 2 h".
    pub message: String,
}

/// The words of a bound: in a schema and in a message, whether a value may lie at the bound, and on which side it must lie.
struct Bound {
    keyword: &'static str,
    of_quantity: &'static str,
    words: &'static str,
    at: bool,
    above: bool,
}

const BOUNDS: [Bound; 4] = [
    Bound { keyword: "minimum", of_quantity: "x-minimum", words: "at least", at: true, above: true },
    Bound {
        keyword: "exclusiveMinimum",
        of_quantity: "x-exclusiveMinimum",
        words: "above",
        at: false,
        above: true,
    },
    Bound { keyword: "maximum", of_quantity: "x-maximum", words: "at most", at: true, above: false },
    Bound {
        keyword: "exclusiveMaximum",
        of_quantity: "x-exclusiveMaximum",
        words: "below",
        at: false,
        above: false,
    },
];

impl Bound {
    fn of<'a>(&self, schema: &'a Value) -> Option<&'a Value> {
        schema.get(self.of_quantity).or_else(|| schema.get(self.keyword))
    }
    /// True if a value of this schema lies on the right side.
    fn holds(&self, schema: &Value, value: &Value) -> bool {
        let Some(order) = self.of(schema).and_then(|bound| compare(value, bound)) else { return true };
        if order.is_eq() { self.at } else { order.is_gt() == self.above }
    }
}

/// How two numbers, or two quantities of one unit, compare; `None` where they do not. Nothing is nothing in any unit.
fn compare(value: &Value, bound: &Value) -> Option<std::cmp::Ordering> {
    if let (Some(value), Some(bound)) = (value.as_f64(), bound.as_f64()) {
        return value.partial_cmp(&bound);
    }
    let amount = |value: &Value| match value {
        Value::Number(count) => count.as_u64().map(|count| (Unit::Packets, count)),
        text => quantity(text.as_str()?),
    };
    let ((unit, value), (of_bound, bound)) = (amount(value)?, amount(bound)?);
    (unit == of_bound || bound == 0).then(|| value.cmp(&bound))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Nanoseconds,
    BitsPerSecond,
    Bytes,
    Packets,
    Products,
}

/// What a text stands for; `None` for a word such as "off".
fn quantity(text: &str) -> Option<(Unit, u64)> {
    if let Ok(time) = text.parse::<Duration>() {
        return Some((Unit::Nanoseconds, time.as_nanos()));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((Unit::BitsPerSecond, rate.as_bps()));
    }
    if let Ok(size) = text.parse::<Size>() {
        return Some((Unit::Bytes, size.as_bytes()));
    }
    match text.parse::<QueueLimit>().ok()? {
        QueueLimit::Fixed(Limit::Packets(packets)) => Some((Unit::Packets, packets)),
        QueueLimit::Fixed(Limit::Bytes(size)) => Some((Unit::Bytes, size.as_bytes())),
        QueueLimit::Time(time) => Some((Unit::Nanoseconds, time.as_nanos())),
        QueueLimit::Bdp(thousandths) => Some((Unit::Products, thousandths)),
    }
}

/// The range of a setting with this schema in words, as in "above 0 and at most 1"; `None` if it has none.
pub fn range(schema: &Value) -> Option<String> {
    // Without decimals where there are none.
    let text = |bound: &Value| bound.as_f64().map_or_else(|| shown(bound), |number| number.to_string());
    let words = |bound: &Bound| Some(format!("{} {}", bound.words, text(bound.of(schema)?)));
    let parts: Vec<String> = BOUNDS.iter().filter_map(words).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// True if a value lies within the range of its schema. Words such as "off" lie within any range.
pub fn holds(schema: &Value, value: &Value) -> bool {
    BOUNDS.iter().all(|bound| bound.holds(schema, value))
}

/// A value as a user writes it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text == "0 ns" => "0 s".to_string(),
        Value::String(text) => text.clone(),
        Value::Null => "NaN or infinite".to_string(),
        other => other.to_string(),
    }
}

/// The schema of a type. It is generated once for each type: a scenario checks the settings of thousands of flows.
pub fn schema<T: JsonSchema + 'static>() -> &'static Value {
    static GENERATED: Mutex<BTreeMap<TypeId, &'static Value>> = Mutex::new(BTreeMap::new());
    let mut generated = GENERATED.lock().unwrap_or_else(PoisonError::into_inner);
    generated
        .entry(TypeId::of::<T>())
        .or_insert_with(|| Box::leak(Box::new(schemars::schema_for!(T).to_value())))
}

/// All values in `settings` that are outside of the ranges in their schema, nested ones too; one that several members of a list
/// have in a row only once. Settings that are not given are
/// not written (`skip_serializing_if`).
pub fn out_of_range<T: Serialize + JsonSchema + 'static>(settings: &T) -> Vec<OutOfRange> {
    let root = schema::<T>();
    // What cannot be written as JSON is written by no scenario either.
    let value = serde_json::to_value(settings).unwrap_or(Value::Null);
    let mut walk = Walk { definitions: root.get("$defs"), place: vec![], found: vec![] };
    walk.visit(root, &value, None);
    walk.found
}

struct Walk {
    definitions: Option<&'static Value>,
    place: Vec<Key>,
    found: Vec<OutOfRange>,
}

impl Walk {
    /// `before` is the member of the same list before this one: what is the same there has been checked.
    fn visit(&mut self, schema: &'static Value, value: &Value, before: Option<&Value>) {
        // serde_json writes NaN and infinities as null; what is not given is left out.
        let no_number = value.is_null() && is_float(schema);
        if no_number || !holds(schema, value) {
            if let Some(range) = range(schema) {
                let message = format!("must be {range}, not {}", shown(value));
                self.found.push(OutOfRange { place: self.place.clone(), message });
            }
        }
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let name = name.rsplit('/').next().unwrap_or_default();
            if let Some(definition) = self.definitions.and_then(|all| all.get(name)) {
                self.visit(definition, value, before);
            }
        }
        for choices in ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)?.as_array()) {
            for choice in choices.iter().filter(|choice| is_meant(choice, value)) {
                self.visit(choice, value, before);
            }
        }
        match value {
            Value::Object(entries) => {
                let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
                for (name, property) in properties {
                    let known = before.and_then(|before| before.get(name));
                    if let Some(value) = entries.get(name).filter(|value| Some(*value) != known) {
                        self.within(Key::Field(name), property, value, None);
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = schema.get("items") else { return };
                for (index, value) in list.iter().enumerate() {
                    let before = index.checked_sub(1).map(|before| &list[before]);
                    let before = before.filter(|before| before.get("kind") == value.get("kind"));
                    self.within(Key::Index(index), items, value, before);
                }
            }
            _ => {}
        }
    }

    fn within(&mut self, key: Key, schema: &'static Value, value: &Value, before: Option<&Value>) {
        self.place.push(key);
        self.visit(schema, value, before);
        self.place.pop();
    }
}

/// True if values of this schema are floating point numbers.
fn is_float(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "number"),
        name => name.is_some_and(|name| name == "number"),
    }
}

/// True if a value is of this one of several forms: a table of its kind, a list, or a single value.
fn is_meant(choice: &Value, value: &Value) -> bool {
    let kind = choice.pointer("/properties/kind/const");
    match value {
        Value::Object(table) => kind.is_none_or(|kind| table.get("kind") == Some(kind)),
        _ => kind.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        #[schemars(range(min = 1, max = 1000))]
        every: u32,
        #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 h"))]
        hold: Option<Duration>,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Kinds {
        First {
            #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
            limit: Limit,
        },
        Second(Inner),
    }

    #[derive(Serialize, JsonSchema)]
    struct Outer {
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        share: f64,
        kinds: Vec<Kinds>,
    }

    fn wrong(share: f64, kinds: Vec<Kinds>) -> Vec<(Vec<Key>, String)> {
        out_of_range(&Outer { share, kinds }).into_iter().map(|one| (one.place, one.message)).collect()
    }

    #[test]
    fn what_is_within_its_range_passes() {
        let second = |every, hold| Kinds::Second(Inner { every, hold });
        let right = vec![
            Kinds::First { limit: Limit::Bytes(Size::from_bytes(1)) },
            second(1, None),
            second(1000, Some(Duration::from_secs(3600))),
        ];
        assert_eq!(wrong(1.0, right), []);
    }

    #[test]
    fn each_value_outside_is_found_with_its_place_and_its_range() {
        let kinds = vec![
            Kinds::First { limit: Limit::Bytes(Size::ZERO) },
            Kinds::Second(Inner { every: 1001, hold: Some(Duration::from_secs(3601)) }),
        ];
        let field = |name| vec![Key::Field("kinds"), Key::Index(1), Key::Field(name)];
        assert_eq!(
            wrong(0.0, kinds),
            [
                (
                    vec![Key::Field("kinds"), Key::Index(0), Key::Field("limit")],
                    "must be above 0 packets, not 0 B".to_string()
                ),
                (field("every"), "must be at least 1 and at most 1000, not 1001".to_string()),
                (field("hold"), "must be above 0 s and at most 1 h, not 3601 s".to_string()),
                (vec![Key::Field("share")], "must be above 0 and at most 1, not 0.0".to_string()),
            ]
        );
    }

    #[test]
    fn a_value_of_several_members_in_a_row_is_found_once() {
        let second = |every| Kinds::Second(Inner { every, hold: None });
        let first = || Kinds::First { limit: Limit::Packets(0) };
        let places = |kinds| wrong(1.0, kinds).into_iter().map(|(place, _)| place[1]).collect::<Vec<_>>();
        assert_eq!(places(vec![second(0), second(0)]), [Key::Index(0)]);
        assert_eq!(places(vec![second(0), second(1), second(0)]), [Key::Index(0), Key::Index(2)]);
        assert_eq!(places(vec![second(0), first(), second(0)]), [0, 1, 2].map(Key::Index));
    }

    #[test]
    fn nan_and_infinities_lie_within_no_range() {
        for share in [f64::NAN, f64::INFINITY] {
            let message = "must be above 0 and at most 1, not NaN or infinite".to_string();
            assert_eq!(wrong(share, vec![]), [(vec![Key::Field("share")], message)]);
        }
    }

    #[test]
    fn words_lie_within_any_range() {
        let schema = serde_json::json!({ "x-exclusiveMinimum": "0 s", "x-maximum": "10 s" });
        assert!(holds(&schema, &Value::from("off")));
        assert!(!holds(&schema, &Value::from("11 s")));
    }

    /// Reading 8,000 `[[flow]]` sections spent three quarters of its time in schemas that had been generated before.
    #[test]
    fn the_schema_of_a_type_is_generated_once() {
        assert!(std::ptr::eq(schema::<Outer>(), schema::<Outer>()));
        assert!(!std::ptr::eq(schema::<Outer>(), schema::<Inner>()));
    }
}
