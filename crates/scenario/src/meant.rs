//! What a person meant who wrote a key that there is not: another word for it, or one that is at home in another table.

use crate::error::nearest;
use crate::{DirectionSpec, RunSpec, TcpSpec};
use schemars::JsonSchema;

/// Other words for settings, with ours.
const SYNONYMS: [(&str, &str); 31] = [
    ("latency", "delay"),
    ("propagation", "delay"),
    ("bandwidth", "rate"),
    ("bw", "rate"),
    ("capacity", "rate"),
    ("speed", "rate"),
    ("bitrate", "rate"),
    ("buffer", "queue"),
    ("plr", "loss"),
    ("per", "loss"),
    ("loss_rate", "loss"),
    ("drop", "loss"),
    ("outage", "outages"),
    ("duplicate", "duplication"),
    ("duplicates", "duplication"),
    ("dup", "duplication"),
    ("corrupt", "corruption"),
    ("bit_error_rate", "corruption"),
    ("cc", "congestion"),
    ("cca", "congestion"),
    ("congestion_control", "congestion"),
    ("algorithm", "congestion"),
    ("iw", "initial_window"),
    ("icw", "initial_window"),
    ("rcvbuf", "receive_buffer"),
    ("sndbuf", "send_buffer"),
    ("source", "from"),
    ("src", "from"),
    ("destination", "to"),
    ("dst", "to"),
    ("application", "app"),
];

/// The help for a key `given` where these are `known`.
pub(crate) fn meant(given: &str, known: &[&str]) -> Option<String> {
    let lower = given.to_lowercase().replace('-', "_");
    if lower == "ber" && known.contains(&"loss") {
        return Some("a bit error rate is a loss: loss = { kind = \"bit_error\", rate = 1e-7 }".to_string());
    }
    let word = SYNONYMS.iter().find(|(word, _)| *word == lower).map_or(lower.as_str(), |(_, ours)| ours);
    let ours = known.contains(&word).then(|| word.to_string());
    let place = ours.filter(|word| word != given).or_else(|| elsewhere(word, known));
    place.map(|place| format!("did you mean \"{place}\"?")).or_else(|| nearest(given, known.iter().copied()))
}

/// A setting of a table within this one, as a path.
fn elsewhere(word: &str, known: &[&str]) -> Option<String> {
    let homes =
        [("tcp", keys::<TcpSpec>()), ("bottleneck", keys::<DirectionSpec>()), ("run", keys::<RunSpec>())];
    let mut here = homes.iter().filter(|(table, _)| known.contains(table));
    here.find(|(_, keys)| keys.iter().any(|key| key == word)).map(|(table, _)| format!("{table}.{word}"))
}

/// Names of a table's settings.
fn keys<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let properties = schema.get("properties").and_then(|properties| properties.as_object());
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}
