//! What a setting inside a table stands beside, where the document does not write that table out: an override of
//! `link.satellite.forward.queue.limit`, or a file whose `forward` has `queue = { limit = ... }`, changes one key of the queue of both
//! directions; `flow.0.tcp.congestion.beta` one of the congestion control that is named or the default.

use crate::Scenario;
use crate::linux;
use crate::shorthand;
use crate::spec::DirectionSpec;
use serde::Deserialize;
use toml::{Table, Value};

/// Tables of what differs in one direction, or at one side, from the table around them.
const DIRECTIONS: [&str; 4] = ["forward", "reverse", "from", "to"];

/// Writes out the tables on the way to a setting, `path`, which are not or only in their short form in the document.
pub(crate) fn write_out(document: &mut Table, path: &[&str]) {
    let (Some((last, tables)), true) = (path.split_last(), path.len() > 1) else { return };
    for end in 1..=tables.len() {
        let given = value_at(document, &tables[..end]);
        if matches!(given, Some(Value::Table(_) | Value::Array(_))) {
            continue;
        }
        // Another kind has settings of its own: those of the default are not its.
        let with_default = *last != "kind" || end < tables.len();
        let Some(found) = inherited(document, &tables[..end], with_default) else { continue };
        let (key, owners) = tables[..end].split_last().expect("it is not empty");
        if let Some(owner) = table_at(document, owners) {
            owner.insert((*key).to_string(), found);
        }
    }
}

/// What stands at `path` although the document has no table there.
fn inherited(document: &Table, path: &[&str], with_default: bool) -> Option<Value> {
    let (key, owners) = path.split_last()?;
    if let Some(given) = value_at(document, path) {
        return shorthand::written_out(key, given).map(Value::Table);
    }
    if let Some((_, around)) = owners.split_last().filter(|(name, _)| DIRECTIONS.contains(name)) {
        let common: Vec<&str> = around.iter().chain([key]).copied().collect();
        match value_at(document, &common) {
            Some(Value::Table(table)) => return Some(Value::Table(table.clone())),
            Some(Value::Array(list)) => return Some(Value::Array(list.clone())),
            Some(short) => return shorthand::written_out(key, short).map(Value::Table),
            None => {}
        }
    }
    if !with_default {
        return None;
    }
    match *key {
        "queue" if !differs(document, owners, key) => {
            Table::try_from(DirectionSpec::default_queue()).ok().map(Value::Table)
        }
        _ => resolved(document, path).filter(|table| table.contains_key("kind")).map(Value::Table),
    }
}

/// Whether a direction within the table at `owners` has a setting of this name: what is common is then not the whole of it.
fn differs(document: &Table, owners: &[&str], key: &str) -> bool {
    let place = |direction| owners.iter().copied().chain([direction, key]).collect::<Vec<&str>>();
    DIRECTIONS.iter().any(|direction| value_at(document, &place(direction)).is_some())
}

/// The table at `path` with every default written out.
fn resolved(document: &Table, path: &[&str]) -> Option<Table> {
    let mut whole = document.clone();
    linux::fill_in(&mut whole);
    let scenario = Scenario::deserialize(whole).ok()?;
    let written = Table::try_from(&scenario).ok()?;
    match value_at(&written, path) {
        Some(Value::Table(table)) => Some(table.clone()),
        _ => None,
    }
}

/// The same document with whole tables where one direction of a link gives a part of one, without its `kind`; `None` if there is none.
pub(crate) fn directions_written_out(document: &Table) -> Option<Table> {
    let mut whole = document.clone();
    let mut changed = false;
    let dumbbell = whole.get_mut("dumbbell").and_then(Value::as_table_mut);
    let ends = dumbbell.into_iter().flat_map(|table| table.iter_mut().map(|(_, value)| value));
    for owner in ends {
        changed |= complete(owner);
    }
    for list in ["link", "flow"] {
        let Some(Value::Array(list)) = whole.get_mut(list) else { continue };
        for owner in list {
            changed |= complete(owner);
            changed |= owner.get_mut("access").is_some_and(complete);
        }
    }
    changed.then_some(whole)
}

/// Completes the tables of both directions from those around them.
fn complete(owner: &mut Value) -> bool {
    let Some(owner) = owner.as_table_mut() else { return false };
    let common = owner.clone();
    let mut changed = false;
    for direction in DIRECTIONS {
        let Some(Value::Table(own)) = owner.get_mut(direction) else { continue };
        for (key, part) in own.iter_mut() {
            let Value::Table(part) = part else { continue };
            let whole = match common.get(key) {
                Some(Value::Table(table)) => Some(table.clone()),
                Some(short) => shorthand::written_out(key, short),
                None => None,
            };
            let Some(mut whole) = whole.filter(|whole| whole.contains_key("kind")) else { continue };
            if !part.contains_key("kind") {
                whole.extend(std::mem::take(part));
                *part = whole;
                changed = true;
            }
        }
    }
    changed
}

/// What stands at a path, tables of a list by name or by number.
pub(crate) fn value_at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let mut value = table.get(*first)?;
    for part in rest {
        value = match value {
            Value::Table(table) => table.get(*part)?,
            Value::Array(list) => list.get(position(list, part)?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// The table at a path, which is made if it is not there; `None` if something else is.
fn table_at<'a>(table: &'a mut Table, path: &[&str]) -> Option<&'a mut Table> {
    let mut table = table;
    let mut parts = path.iter();
    while let Some(part) = parts.next() {
        let value = table.entry(*part).or_insert_with(|| Value::Table(Table::new()));
        table = match value {
            Value::Table(table) => table,
            Value::Array(list) => {
                let index = position(list, parts.next()?)?;
                list.get_mut(index)?.as_table_mut()?
            }
            _ => return None,
        };
    }
    Some(table)
}

/// The place in a list of the table with this name, or of this number.
fn position(list: &[Value], part: &str) -> Option<usize> {
    let named = |value: &Value| value.get("name").and_then(Value::as_str) == Some(part);
    list.iter().position(named).or_else(|| part.parse::<usize>().ok().filter(|index| *index < list.len()))
}
