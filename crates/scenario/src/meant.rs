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

/// Settings that stand elsewhere: the key, one that its table has, and what is right.
const HOMES: [(&str, &str, &str); 9] = [
    ("size", "app", "the size is the application's: app = { kind = \"bulk\", size = \"1 MB\" }"),
    ("bytes", "app", "the size is the application's: app = { kind = \"bulk\", size = \"1 MB\" }"),
    ("from", "ends", "a link has two ends: ends = [\"a\", \"b\"]"),
    ("to", "ends", "a link has two ends: ends = [\"a\", \"b\"]"),
    ("source", "ends", "a link has two ends: ends = [\"a\", \"b\"]"),
    ("destination", "ends", "a link has two ends: ends = [\"a\", \"b\"]"),
    ("nodes", "ends", "a link has two ends: ends = [\"a\", \"b\"]"),
    ("rtt", "ends", "a link has a delay one way: delay = \"25 ms\" for a round trip of 50 ms"),
    ("jitter_ms", "jitter", "times have units: jitter = \"5 ms\""),
];

/// Other words for applications, with ours as they are written.
const APPLICATIONS: [(&[&str], &str, &str); 7] = [
    (
        &["voip", "call", "voice", "rtp", "audio", "sip", "webrtc"],
        "cbr",
        "{ kind = \"cbr\", message = \"160 B\", rate = \"64 kbit/s\", voice = true }",
    ),
    (
        &["ftp", "download", "upload", "file", "iperf", "iperf3", "transfer", "scp"],
        "bulk",
        "{ kind = \"bulk\", size = \"1 MB\" }",
    ),
    (&["dash", "hls", "stream", "streaming", "youtube", "film"], "video", "{ kind = \"video\" }"),
    (
        &["http", "https", "browser", "page", "pages", "browsing"],
        "web",
        "{ kind = \"web\", objects = 5, object = \"20 kB\", think = \"1 s\" }",
    ),
    (&["ssh", "telnet", "terminal", "shell", "typing"], "keystrokes", "{ kind = \"keystrokes\" }"),
    (
        &["rpc", "ping", "ping_pong", "transaction", "netperf"],
        "request",
        "{ kind = \"request\", response = \"1 kB\" }",
    ),
    (
        &["onoff", "pareto", "exponential", "bursty"],
        "on_off",
        "{ kind = \"on_off\", rate = \"1 Mbit/s\", on = \"500 ms\", off = \"500 ms\" }",
    ),
];

/// The help for a kind of application `given`, if these are `known`.
pub(crate) fn application(given: &str, known: &[&str]) -> Option<String> {
    let lower = given.to_lowercase().replace('-', "_");
    let (_, _, written) = APPLICATIONS
        .iter()
        .find(|(words, ours, _)| known.contains(ours) && words.contains(&lower.as_str()))?;
    Some(format!("here it is app = {written}"))
}

/// The help for a table `key` that was given as the text `value`.
pub(crate) fn table(key: &str, value: &str) -> Option<String> {
    match key {
        "tcp" => {
            Some(format!("the congestion control is a setting of it: tcp = {{ congestion = \"{value}\" }}"))
        }
        "app" => Some(format!("its name is its kind: app = {{ kind = \"{value}\" }}")),
        "run" => Some("it has a table: [run], and below it duration = \"60 s\"".to_string()),
        _ => None,
    }
}

/// The help for a key `given` where these are `known`.
pub(crate) fn meant(given: &str, known: &[&str]) -> Option<String> {
    let lower = given.to_lowercase().replace('-', "_");
    if lower == "ber" && known.contains(&"loss") {
        return Some("a bit error rate is a loss: loss = { kind = \"bit_error\", rate = 1e-7 }".to_string());
    }
    if let Some((_, _, help)) = HOMES.iter().find(|(word, key, _)| *word == lower && known.contains(key)) {
        return Some((*help).to_string());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a message recommends is accepted as it stands.
    #[test]
    fn applications_that_are_recommended_are_read() {
        for (words, ours, written) in APPLICATIONS {
            let flow = format!("[[flow]]\nfrom = \"a\"\nto = \"b\"\napp = {written}\n");
            let network = "[run]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
            if let Err(error) = crate::load(&format!("{network}{flow}"), "test", &[]) {
                panic!("{written}: {error}");
            }
            assert_eq!(application(words[0], &[ours]), Some(format!("here it is app = {written}")));
            assert_eq!(application(words[0], &["other"]), None, "it is not there in another list");
        }
    }
}
