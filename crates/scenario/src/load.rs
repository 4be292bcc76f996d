//! Reading a scenario: parse strictly, apply overrides, validate. Also its resolved form, identity and schema.

use crate::error::{distance, nearest};
use crate::inherit::{directions_written_out, value_at, write_out};
use crate::linux;
use crate::meant::{self, meant};
use crate::measured;
use crate::profiles;
use crate::traces::{self, ReadTable};
use crate::validate::{Problem, validate};
use crate::{AppSpec, MiddleboxSpec, RunSpec, Scenario, ScenarioError, Transport, VERSION};
use longhaul_units::ranges::Key;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Reads a scenario from TOML text.
///
/// `overrides` are pairs of a path (`link.satellite.rate`, `flow.0.tcp.congestion`; tables of a list go by name or by
/// number) and a value in TOML; a text that is no TOML value is taken as a string.
///
/// # Errors
/// The first thing that is wrong, with its place and what would be right.
pub fn load(
    text: &str,
    source_name: &str,
    overrides: &[(String, String)],
) -> Result<Scenario, ScenarioError> {
    load_with(text, source_name, overrides, None, &|_| {
        Err("this program has no reader for it; use CSV".to_string())
    })
}

/// As [`load`], with traces in Parquet read by `read_parquet`, and relative paths of traces in `folder` instead of beside the file
/// `source_name`: whoever read the file knows its place, and the name is for messages.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    text: &str,
    source_name: &str,
    overrides: &[(String, String)],
    folder: Option<&Path>,
    read_parquet: ReadTable<'_>,
) -> Result<Scenario, ScenarioError> {
    load_or_all_errors(text, source_name, overrides, folder, read_parquet)
        .map_err(|mut errors| errors.swap_remove(0))
}

/// As [`load_with`], with everything that is wrong.
///
/// # Errors
/// Settings that cannot be read: the first one. Else all values out of their ranges; else all that is wrong with what they make together,
/// at least one in each case.
pub fn load_or_all_errors(
    text: &str,
    source_name: &str,
    overrides: &[(String, String)],
    folder: Option<&Path>,
    read_parquet: ReadTable<'_>,
) -> Result<Scenario, Vec<ScenarioError>> {
    let mut scenario = read(text, source_name, overrides).map_err(|error| vec![error])?;
    let folder = folder.map_or_else(|| traces::beside(source_name), Path::to_path_buf);
    // What links follow is read first: their rates and delays are checked with all others.
    let mut problems = match measured::read_all(&mut scenario, &folder, read_parquet) {
        Ok(()) => validate(&scenario),
        Err(problem) => vec![problem],
    };
    if problems.is_empty() {
        problems.extend(traces::read_all(&mut scenario, &folder, read_parquet).err());
    }
    if problems.is_empty() {
        return Ok(scenario);
    }
    let error = |problem| semantic_error(problem, &scenario, text, source_name, overrides);
    Err(problems.iter().map(error).collect())
}

/// A scenario of the right types, with what profiles and other short forms stand for written out.
fn read(text: &str, source_name: &str, overrides: &[(String, String)]) -> Result<Scenario, ScenarioError> {
    if let Some(offset) = long_key(text) {
        let message = format!("a key of more than {MOST_PARTS} parts");
        return Err(ScenarioError::at(source_name, text, offset, message));
    }
    if toml::from_str::<Table>(text).is_ok_and(|table| table.is_empty()) {
        let message =
            "the scenario is empty: it needs a [run], a network ([[link]] or [dumbbell]) and a [[flow]]";
        let help = "begin with a copy of one of examples/, or see docs/reference/scenario.md";
        return Err(ScenarioError::new(source_name, message).with_help(Some(help.to_string())));
    }
    let mut table = Table::new();
    let mut scenario: Scenario = match toml::from_str(text) {
        Ok(scenario) => scenario,
        Err(error) => {
            table = with_whole_directions(&error, text, source_name)?;
            Scenario::deserialize(table.clone()).map_err(|error| {
                ScenarioError::new(source_name, in_plain_words(error.message()))
                    .with_help(suggestion(error.message()))
            })?
        }
    };
    let read_table = || toml::from_str(text).map_err(|error| syntax_error(&error, text, source_name));
    if !overrides.is_empty() {
        if table.is_empty() {
            table = read_table()?;
        }
        scenario = override_all(&mut table, overrides)?;
    }
    if profiles::are_wanted(&scenario) {
        if table.is_empty() {
            table = read_table()?;
        }
        profiles::fill_in(&mut table)
            .map_err(|(place, message)| ScenarioError::new(source_name, format!("{place}: {message}")))?;
        scenario = Scenario::deserialize(table.clone())
            .map_err(|error| ScenarioError::new(source_name, in_plain_words(error.message())))?;
    }
    if linux::is_wanted(&scenario) {
        if table.is_empty() {
            table = read_table()?;
        }
        linux::fill_in(&mut table);
        scenario = Scenario::deserialize(table)
            .map_err(|error| ScenarioError::new(source_name, in_plain_words(error.message())))?;
    }
    // Every default of a QUIC connection is part of what is run, as that of a TCP connection.
    for flow in scenario.flow.iter_mut().filter(|flow| flow.transport == Transport::Quic) {
        flow.quic.get_or_insert_default();
    }
    for flow in scenario.flow.iter_mut().filter(|flow| flow.transport == Transport::Udp) {
        flow.udp.get_or_insert_default();
    }
    Ok(scenario)
}

/// The document of a text that cannot be read, if all that is missing is what one direction of a link inherits.
fn with_whole_directions(
    error: &toml::de::Error,
    text: &str,
    source_name: &str,
) -> Result<Table, ScenarioError> {
    let read = || directions_written_out(&toml::from_str(text).ok()?);
    let incomplete = error.message().starts_with("missing field `kind`");
    incomplete.then(read).flatten().ok_or_else(|| syntax_error(error, text, source_name))
}

/// Keys of scenarios have some six parts.
const MOST_PARTS: usize = 256;

/// Where a dotted key with too many parts stands: the parser's time is quadratic in them.
fn long_key(text: &str) -> Option<usize> {
    let (mut start, mut dots) = (0, 0);
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'.' => dots += 1,
            b'=' | b',' | b'#' | b'\n' | b'[' | b']' | b'{' | b'}' => (start, dots) = (offset + 1, 0),
            _ => {}
        }
        if dots >= MOST_PARTS {
            return Some(start);
        }
    }
    None
}

/// Applies all overrides, then reads the whole: two of them may make a table that neither makes alone.
fn override_all(table: &mut Table, overrides: &[(String, String)]) -> Result<Scenario, ScenarioError> {
    let mut changed = table.clone();
    if overrides.iter().all(|(path, value)| apply(&mut changed, path, value).is_ok()) {
        if let Ok(scenario) = Scenario::deserialize(changed.clone()) {
            *table = changed;
            return Ok(scenario);
        }
    }
    override_one_by_one(table, overrides)
}

/// The error of overrides that cannot be applied together: that of the first one from which on the whole stays wrong.
fn override_one_by_one(table: &mut Table, overrides: &[(String, String)]) -> Result<Scenario, ScenarioError> {
    let blame = |(path, value): &(String, String), message: &str, table: &Table| {
        let help = suggestion(message)
            .or_else(|| other_place(message, path, table))
            .or_else(|| text_for_table(message, &format!("{path} =")));
        ScenarioError::new(&format!("--set {path}={value}"), in_plain_words(message)).with_help(help)
    };
    let mut first_wrong = None;
    let mut last_right = None;
    for given in overrides {
        apply(table, &given.0, &given.1).map_err(|message| blame(given, &message, table))?;
        match Scenario::deserialize(table.clone()) {
            Ok(scenario) => (last_right, first_wrong) = (Some(scenario), None),
            Err(error) => {
                first_wrong.get_or_insert_with(|| blame(given, error.message(), table));
            }
        }
    }
    match (first_wrong, last_right) {
        (None, Some(scenario)) => Ok(scenario),
        (Some(error), _) => Err(error),
        (None, None) => unreachable!("there is at least one override"),
    }
}

/// Where an override may have been meant to go that has begun a table of its own, without its `kind`.
fn other_place(message: &str, path: &str, table: &Table) -> Option<String> {
    let (parent, setting) = path.rsplit_once('.').filter(|_| message.starts_with("missing field `kind`"))?;
    let (owner, key) = parent.rsplit_once('.')?;
    let given = |direction: &str| {
        let place = format!("{owner}.{direction}.{key}.{setting}");
        let kind = format!("{owner}.{direction}.{key}.kind");
        let known = value_at(table, &kind.split('.').collect::<Vec<_>>()).is_some();
        known.then_some(place)
    };
    let places: Vec<String> = ["forward", "reverse"].into_iter().filter_map(given).collect();
    Some(if places.is_empty() {
        format!("the file does not set {parent}: set all of it, as in --set '{parent}={{ kind = ... }}'")
    } else {
        format!("the file does not set {parent}; it does so for one direction: set {}", places.join(" or "))
    })
}

/// The scenario with every default written out, as TOML that [`load`] reads back to the same.
pub fn resolved_toml(scenario: &Scenario) -> String {
    // `toml::to_string` moves what it has written once for each table: quadratic in the number of flows. `Display` does not.
    let mut written = toml::ser::Buffer::new();
    scenario.serialize(toml::Serializer::new(&mut written)).expect("a scenario is representable in TOML");
    written.to_string()
}

/// Identity of a run: a hash of the resolved scenario (its seed is part of it) and the version, 32 hex digits.
/// The name and description do not count, and of a trace only its content does.
pub fn run_id(scenario: &Scenario) -> String {
    identity(&anonymous_toml(scenario))
}

/// The same for several seeds of one scenario, which is written out only once.
pub fn run_ids(scenario: &Scenario, seeds: &[u64]) -> Vec<String> {
    let text = anonymous_toml(scenario);
    let Some((before, after)) = around_seed(&text, scenario.run.seed) else {
        return seeds.iter().map(|seed| run_id(&with_seed(scenario, *seed))).collect();
    };
    let begun = Sha256::new().chain_update(VERSION).chain_update(before);
    let of_seed = |seed| begun.clone().chain_update(format!("\nseed = {seed}\n")).chain_update(after);
    seeds.iter().map(|seed| in_hex(&of_seed(seed).finalize()[..16])).collect()
}

/// What [`resolved_toml`] gives under each of these seeds; the scenario is written out only once.
pub fn resolved_tomls(scenario: &Scenario, seeds: &[u64]) -> Vec<String> {
    let text = resolved_toml(scenario);
    let Some((before, after)) = around_seed(&text, scenario.run.seed) else {
        return seeds.iter().map(|seed| resolved_toml(&with_seed(scenario, *seed))).collect();
    };
    seeds.iter().map(|seed| format!("{before}\nseed = {seed}\n{after}")).collect()
}

/// What stands before and after the seed in a resolved scenario; `None` if something else looks like it.
fn around_seed(text: &str, seed: u64) -> Option<(&str, &str)> {
    let line = format!("\nseed = {seed}\n");
    text.split_once(&line).filter(|(_, after)| !after.contains(&line))
}

fn with_seed(scenario: &Scenario, seed: u64) -> Scenario {
    Scenario { run: RunSpec { seed, ..scenario.run.clone() }, ..scenario.clone() }
}

fn identity(anonymous_toml: &str) -> String {
    in_hex(&Sha256::new().chain_update(VERSION).chain_update(anonymous_toml).finalize()[..16])
}

/// Two digits for each byte.
pub(crate) fn in_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The resolved scenario as JSON: what [`resolved_toml`] has, for programs that read JSON faster.
pub fn resolved_json(scenario: &Scenario) -> String {
    let table = Table::try_from(scenario).expect("a scenario is representable in TOML");
    serde_json::to_string(&table).expect("a table is representable in JSON")
}

/// The resolved scenario without what does not count.
fn anonymous_toml(scenario: &Scenario) -> String {
    let mut anonymous = Scenario { name: String::new(), description: String::new(), ..scenario.clone() };
    for flow in &mut anonymous.flow {
        if let AppSpec::Trace(spec) = &mut flow.app {
            (spec.file, spec.format) = (String::new(), None);
        }
    }
    measured::make_anonymous(&mut anonymous);
    resolved_toml(&anonymous)
}

/// JSON Schema of the scenario file.
pub fn schema_json() -> String {
    let schema = schemars::schema_for!(Scenario);
    serde_json::to_string_pretty(&schema).expect("a schema is representable in JSON")
}

fn syntax_error(error: &toml::de::Error, text: &str, source_name: &str) -> ScenarioError {
    let closer = error_in_middlebox(text);
    let error = closer.as_ref().unwrap_or(error);
    let message = error.message().trim().to_string();
    let help =
        suggestion(&message).or_else(|| two_brackets(&message, &text[error.span()?.start..])).or_else(|| {
            let start = error.span()?.start;
            text_for_table(&message, &text[text[..start].rfind('\n').map_or(0, |newline| newline + 1)..])
        });
    let message = match (&*message, error.span()) {
        (UNQUOTED, Some(span)) => unquoted(&text[span.start..]),
        _ => in_plain_words(&message),
    };
    let error = match error.span() {
        Some(span) => ScenarioError::at(source_name, text, span.start, message),
        None => ScenarioError::new(source_name, message),
    };
    error.with_help(help)
}

/// What the parser finds at a value that is none.
const UNQUOTED: &str = "string values must be quoted, expected literal string";

/// What the parser finds at `[flow]` in the place of `[[flow]]`.
const TABLE_FOR_LIST: &str = "invalid type: map, expected a sequence";

/// How a table of a list is written, where `text` begins with the head of a single one.
fn two_brackets(message: &str, text: &str) -> Option<String> {
    let name = text.strip_prefix('[').filter(|_| message == TABLE_FOR_LIST)?.split_once(']')?.0;
    Some(format!("write [[{name}]], with two brackets: there may be several"))
}

/// What the parser calls by the names of Rust types, in the words of scenario files.
fn in_plain_words(message: &str) -> String {
    const WORDS: [(&str, &str); 14] = [
        ("internally tagged enum AppSpec", "a table, as in { kind = \"bulk\", size = \"1 MB\" }"),
        ("internally tagged enum", "a table with a `kind`"),
        ("struct", "a table"),
        ("u64", "a whole number from 0 to 9223372036854775807"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u16", "a whole number from 0 to 65535"),
        ("u8", "a whole number from 0 to 255"),
        ("i64", "a whole number"),
        ("i32", "a whole number from -2147483648 to 2147483647"),
        ("f64", "a number"),
        ("bool", "true or false"),
        ("a boolean", "true or false"),
        ("an array of length 2", "a list of two values"),
        ("a sequence", "a list"),
    ];
    if message == TABLE_FOR_LIST {
        return "a single table in the place of a list".to_string();
    }
    if message == "recursion limit" || message.starts_with("cannot recurse further") {
        return "tables, lists or keys are nested too deep".to_string();
    }
    let message = message.replace(" as i128,", ",").replace(" as u128,", ",");
    let Some((found, expected)) = message.split_once(", expected ") else { return message };
    let plain =
        WORDS.iter().find(|(rust, _)| expected.starts_with(rust)).map_or(expected, |(_, plain)| plain);
    let plain = nearest_first(found, plain).unwrap_or_else(|| plain.to_string());
    if let Some(name) = found.strip_prefix("unknown variant ") {
        return format!("unknown name {name}, expected {plain}");
    }
    match given(found) {
        Some(given) => format!("{given} is not {plain}"),
        None => format!("{found}, expected {plain}"),
    }
}

/// A value of the wrong type, as the file has it, from the parser's words for it.
fn given(found: &str) -> Option<String> {
    let given = found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: "))?;
    let number = ["integer ", "floating point ", "boolean ", "string "]
        .iter()
        .find_map(|kind| given.strip_prefix(kind));
    Some(match given {
        "map" => "a table".to_string(),
        "sequence" => "a list".to_string(),
        _ => number.map_or(given, |number| number.trim_matches('`')).to_string(),
    })
}

/// A value that is not there, or text without quotes, from its place on.
fn unquoted(rest: &str) -> String {
    let line = rest.lines().next().unwrap_or("");
    match line.split('#').next().unwrap_or("").trim().trim_end_matches(['}', ']', ',']).trim() {
        "" => "the value is missing".to_string(),
        value => format!("text must be in quotes, as in \"{value}\""),
    }
}

/// Of more names than one reads at a glance, those nearest to the given one; `None` if they are few.
fn nearest_first(found: &str, expected: &str) -> Option<String> {
    const SHOWN: usize = 8;
    let given = found.split('`').nth(1)?;
    let mut names: Vec<&str> = expected.strip_prefix("one of ")?.split('`').skip(1).step_by(2).collect();
    // One spelling of each: "mss-clamp" is "mss_clamp".
    let all = names.clone();
    names.retain(|name| !name.contains('-') || !all.contains(&name.replace('-', "_").as_str()));
    names.sort_by_key(|name| distance(given, name));
    if names.len() <= 2 * SHOWN + 1 {
        return Some(format!(
            "one of {}",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ));
    }
    let shown: Vec<String> = names[..SHOWN].iter().map(|name| format!("`{name}`")).collect();
    Some(format!("one of {} or {} others", shown.join(", "), names.len() - SHOWN))
}

/// What is wrong inside a `[[middlebox]]`, with its place.
fn error_in_middlebox(text: &str) -> Option<toml::de::Error> {
    let mut document = DeTable::parse(text).ok()?.into_inner();
    let (_, list) = document.remove_entry("middlebox")?;
    let DeValue::Array(list) = list.into_inner() else { return None };
    list.into_iter().find_map(|mut item| {
        let DeValue::Table(table) = item.get_mut() else { return None };
        let (_, kind) = table.remove_entry("kind")?;
        MiddleboxSpec::error_in(kind.get_ref().as_str()?, item)
    })
}

/// For "unknown field `a`, expected one of `b`, `c`" or "unknown slow start "a"; known are: b, c" the nearest of the names.
fn suggestion(message: &str) -> Option<String> {
    if let Some((found, known)) = message.split_once("; known are: ") {
        let (given, known) = (found.split('"').nth(1)?, known.split(", "));
        return meant::kind(given, &known.clone().collect::<Vec<_>>()).or_else(|| nearest(given, known));
    }
    let (found, expected) = message.split_once(", expected")?;
    let given = found.split('`').nth(1)?;
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    match found.starts_with("unknown field") {
        true => meant(given, &known),
        false => meant::kind(given, &known).or_else(|| nearest(given, known)),
    }
}

/// The help for text that stands where a table belongs: `tcp = "bbr"`; `line` begins at the value's line.
fn text_for_table(message: &str, line: &str) -> Option<String> {
    let value = message.strip_prefix("invalid type: string \"")?.split('"').next()?;
    if !message.contains("expected struct") && !message.contains("expected internally tagged") {
        return None;
    }
    meant::table(line.split('=').next()?.trim().rsplit('.').next()?, value)
}

/// Puts one value into the document.
fn apply(document: &mut Table, path: &str, value: &str) -> Result<(), String> {
    let keys: Vec<&str> = path.split('.').map(str::trim).collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err("the path has an empty part; write for instance link.satellite.rate".to_string());
    }
    let (last, parents) = keys.split_last().expect("split gives at least one part");
    write_out(document, &keys);
    if let [list @ ("link" | "flow" | "middlebox"), _, ..] = keys[..] {
        if !document.contains_key(list) {
            let instead = match document.contains_key("dumbbell") {
                true if list == "link" => ": its network is dumbbell.bottleneck and dumbbell.access",
                _ => "",
            };
            return Err(format!("the scenario has no [[{list}]]{instead}"));
        }
    }
    let mut table = document;
    let mut index = 0;
    while index < parents.len() {
        let key = parents[index];
        let next = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
        table = match next {
            Value::Table(inner) => inner,
            Value::Array(list) => {
                index += 1;
                let chosen = parents.get(index).ok_or_else(|| {
                    format!("\"{key}\" is a list; name one of it, as in {key}.{}.{last}", names_of(list)[0])
                })?;
                element(list, key, chosen)?
            }
            _ => return Err(format!("\"{key}\" is a single value, it has nothing inside")),
        };
        index += 1;
    }
    table.insert((*last).to_string(), read_value(value));
    Ok(())
}

/// The table of a list that goes by this name or number.
fn element<'a>(list: &'a mut [Value], key: &str, chosen: &str) -> Result<&'a mut Table, String> {
    let names = names_of(list);
    let position = names
        .iter()
        .position(|name| name == chosen)
        .or_else(|| chosen.parse().ok().filter(|n| *n < list.len()));
    let Some(Value::Table(table)) = position.map(|position| &mut list[position]) else {
        let hint = nearest(chosen, names.iter().map(String::as_str));
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        return Err(format!("there is no {key} \"{chosen}\"; there are: {}{hint}", names.join(", ")));
    };
    Ok(table)
}

/// Names of the tables of a list; the number where a table has none.
fn names_of(list: &[Value]) -> Vec<String> {
    let name = |value: &Value| Some(value.as_table()?.get("name")?.as_str()?.to_string());
    list.iter().enumerate().map(|(number, value)| name(value).unwrap_or_else(|| number.to_string())).collect()
}

fn read_value(text: &str) -> Value {
    let document: Result<Table, _> = toml::from_str(&format!("value = {text}"));
    match document.ok().and_then(|mut table| table.remove("value")) {
        Some(value) => value,
        None => Value::String(text.to_string()),
    }
}

/// Finds where in the text a problem lies. What an override has set is reported at the override.
fn semantic_error(
    problem: &Problem,
    scenario: &Scenario,
    text: &str,
    source_name: &str,
    overrides: &[(String, String)],
) -> ScenarioError {
    let path = place_by_names(&problem.path, scenario);
    let message = match path.is_empty() {
        true => problem.message.clone(),
        false => format!("{path}: {}", problem.message),
    };
    let blamed = overrides.iter().rev().find(|(over, _)| leads_to(over, &problem.path, scenario));
    let error = if let Some((over, value)) = blamed {
        ScenarioError::new(&format!("--set {over}={value}"), message)
    } else if let Some(offset) = locate(text, &problem.path) {
        ScenarioError::at(source_name, text, offset, message)
    } else {
        ScenarioError::new(source_name, message)
    };
    error.with_help(problem.help.clone())
}

/// True if an override sets what is at `place`, or a table around it, or something inside it. What is missing in a whole link or
/// flow is nobody's fault who has set another thing in it.
fn leads_to(over: &str, place: &[Key], scenario: &Scenario) -> bool {
    let inside = over.split('.').count() > place.len();
    if inside && matches!(place.last(), Some(Key::Index(_))) {
        return false;
    }
    let mut list = "";
    !place.is_empty()
        && over.split('.').map(str::trim).zip(place).all(|(part, key)| match key {
            Key::Field(name) => {
                list = name;
                part == *name
            }
            Key::Index(index) => part.parse() == Ok(*index) || name_of(scenario, list, *index) == Some(part),
        })
}

/// The name of a table of one of the lists; `None` where it has none.
fn name_of<'a>(scenario: &'a Scenario, list: &str, index: usize) -> Option<&'a str> {
    let name = match list {
        "link" => scenario.link.get(index).map(|link| link.name.as_str()),
        "flow" => scenario.flow.get(index).map(|flow| flow.name.as_str()),
        "node" => scenario.node.get(index).map(|node| node.name.as_str()),
        "middlebox" => scenario.middlebox.get(index).map(|middlebox| middlebox.name()),
        _ => None,
    };
    name.filter(|name| !name.is_empty())
}

/// A place as `--set` takes it: `link.satellite.rate`. A number stands where a name would not be clear.
fn place_by_names(place: &[Key], scenario: &Scenario) -> String {
    let mut list = "";
    let part = |key: &Key| match *key {
        Key::Field(name) => {
            list = name;
            name.to_string()
        }
        Key::Index(index) => {
            let name = name_of(scenario, list, index);
            let others = (0..index).filter(|other| name_of(scenario, list, *other) == name);
            name.filter(|name| others.count() == 0 && !name.contains('.'))
                .map_or_else(|| index.to_string(), String::from)
        }
    };
    place.iter().map(part).collect::<Vec<_>>().join(".")
}

/// The last name on the way to a place.
pub(crate) fn name_of_setting(place: &[Key]) -> Option<&'static str> {
    place.iter().rev().find_map(|key| match *key {
        Key::Field(name) => Some(name),
        Key::Index(_) => None,
    })
}

/// Byte offset of the deepest part of `path` that the text has.
fn locate(text: &str, path: &[Key]) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut offset = document.span().start;
    let root = DeValue::Table(document.into_inner());
    let mut value = &root;
    for key in path {
        let next = match key {
            Key::Field(name) => value.as_table().and_then(|table| table.get(*name)),
            Key::Index(index) => value.as_array().and_then(|array| array.get(*index)),
        };
        let Some(next) = next else { break };
        offset = next.span().start;
        value = next.get_ref();
    }
    Some(offset)
}
