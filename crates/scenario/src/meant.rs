//! What a person meant who wrote a key that there is not: another word for it, or one that is at home in another table.

use crate::error::nearest;
use crate::{DirectionSpec, RunSpec, TcpSpec};
use schemars::JsonSchema;

/// Other words for settings, with ours.
const SYNONYMS: [(&str, &str); 34] = [
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
    ("slot", "slots"),
    ("bit_error_rate", "corruption"),
    ("cc", "congestion"),
    ("cca", "congestion"),
    ("congestion_control", "congestion"),
    ("algorithm", "congestion"),
    ("iw", "initial_window"),
    ("icw", "initial_window"),
    ("initcwnd", "initial_window"),
    ("maxseg", "mss"),
    ("rcvbuf", "receive_buffer"),
    ("sndbuf", "send_buffer"),
    ("source", "from"),
    ("src", "from"),
    ("destination", "to"),
    ("dst", "to"),
    ("application", "app"),
];

/// Where the numbers of Linux's receive buffer are.
const RMEM: &str = "with variant = \"linux\" it is receive_autotuning = { initial = \"128 KiB\", max = \"32 MiB\" }, else receive_buffer";

/// Settings that stand elsewhere: the key, one that its table has, and what is right.
const HOMES: [(&str, &str, &str); 14] = [
    ("tcp_rmem", "receive_autotuning", RMEM),
    ("rmem", "receive_autotuning", RMEM),
    ("initrwnd", "receive_autotuning", RMEM),
    ("tcp_wmem", "send_buffer", "its largest number is send_buffer = \"4 MiB\""),
    (
        "mss_clamp",
        "mss",
        "a clamp is a middlebox: [[middlebox]], kind = \"mss_clamp\", at = \"NODE\", mss = \"1200 B\"",
    ),
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

/// Other words for kinds of middleboxes, queues and transports, one that the list has, and what is right.
const KINDS: [(&[&str], &str, &str); 13] = [
    (
        &["bbr1", "bbrv1", "bbr_v1"],
        "bbr",
        "congestion = \"bbr\" is version 1, which Linux has; \"bbr3\" is version 3",
    ),
    (
        &["bbr2", "bbrv2", "bbr_v2"],
        "bbr3",
        "version 2 became version 3: congestion = \"bbr3\"; \"bbr\" is version 1, which Linux has",
    ),
    (&["bbrv3", "bbr_v3"], "bbr3", "here it is congestion = \"bbr3\""),
    (&["hstcp", "high_speed", "highspeed_tcp"], "highspeed", "here it is congestion = \"highspeed\""),
    (
        &["newreno", "new_reno", "sack", "tahoe"],
        "reno",
        "congestion = \"reno\" decides the window; what recovery does is variant, \"newreno\" or \"sack\" for instance",
    ),
    (
        &["policer", "shaper", "tbf", "token_bucket", "rate_limit", "limiter"],
        "throttle",
        "here it is kind = \"throttle\": a short queue polices, a long one shapes",
    ),
    (&["token_bucket", "shaper", "rate_limit"], "tbf", "here it is kind = \"tbf\""),
    (&["fq"], "fq_codel", "the nearest is kind = \"fq_codel\""),
    (&["sqm", "cake_mq", "sch_cake"], "cake", "here it is kind = \"cake\""),
    (&["fifo", "pfifo", "bfifo", "tail_drop", "drop_tail"], "droptail", "here it is kind = \"droptail\""),
    (&["l4s", "dual_pi2", "dualq", "pi2"], "dualpi2", "here it is kind = \"dualpi2\""),
    (&["sfq"], "drr", "the nearest is kind = \"drr\""),
    (
        &["rtp", "rtcp"],
        "udp",
        "here it is transport = \"udp\", with app = { kind = \"cbr\", message = \"160 B\", rate = \"64 kbit/s\", voice = true } for a call",
    ),
];

/// The help for a kind `given`, if these are `known`.
pub(crate) fn kind(given: &str, known: &[&str]) -> Option<String> {
    let lower = given.to_lowercase().replace('-', "_");
    let other = KINDS.iter().find(|(words, ours, _)| known.contains(ours) && words.contains(&lower.as_str()));
    other.map(|(_, _, help)| (*help).to_string()).or_else(|| application(given, known))
}

/// The help for a kind of application `given`, if these are `known`.
fn application(given: &str, known: &[&str]) -> Option<String> {
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
        // Another word for one of ours would be refused as a kind too.
        "app" => APPLICATIONS
            .iter()
            .find_map(|(_, ours, _)| application(value, &[ours]))
            .or_else(|| Some(format!("its name is its kind: app = {{ kind = \"{value}\" }}"))),
        "queue" => {
            Some("a queue has a kind: queue = { kind = \"droptail\", limit = \"100 packets\" }".to_string())
        }
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
            assert_eq!(table("app", words[0]), application(words[0], &[ours]), "its text is no kind");
        }
        assert_eq!(table("app", "bulk"), Some("its name is its kind: app = { kind = \"bulk\" }".to_string()));
    }

    /// Names of other programs lead to ours, each where it is known.
    #[test]
    fn names_of_other_programs_have_a_hint() {
        for (given, known, part) in [
            ("policer", "throttle", "kind = \"throttle\""),
            ("fq", "fq_codel", "kind = \"fq_codel\""),
            ("sqm", "cake", "kind = \"cake\""),
            ("shaper", "tbf", "kind = \"tbf\""),
            ("l4s", "dualpi2", "kind = \"dualpi2\""),
            ("fifo", "droptail", "kind = \"droptail\""),
            ("rtp", "udp", "transport = \"udp\""),
            ("voip", "cbr", "voice = true"),
            ("bbr2", "bbr3", "version 2 became version 3"),
            ("BBRv1", "bbr", "is version 1"),
            ("hstcp", "highspeed", "\"highspeed\""),
            ("newreno", "reno", "variant"),
        ] {
            let help = kind(given, &[known, "another"]).unwrap_or_default();
            assert!(help.contains(part), "{given}: {help}");
            assert_eq!(kind(given, &["another"]), None);
        }
        for (given, known, part) in [
            ("tcp_rmem", "receive_autotuning", "receive_autotuning = {"),
            ("initrwnd", "receive_autotuning", "receive_autotuning = {"),
            ("tcp_wmem", "send_buffer", "send_buffer"),
            ("initcwnd", "initial_window", "\"initial_window\""),
            ("mss_clamp", "mss", "[[middlebox]]"),
        ] {
            let help = meant(given, &[known]).unwrap_or_default();
            assert!(help.contains(part), "{given}: {help}");
        }
    }
}
