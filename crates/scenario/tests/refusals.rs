//! What is refused, and with which message: each bad scenario gets one message with its place and what would be right.

use crate::common::{Directory, head};
use longhaul_scenario::{load, resolved_toml, run_id};

const GOOD: &str = concat!(head!(), "[[flow]]\nname = \"download\"\nfrom = \"hub\"\nto = \"remote\"\n");

/// The message for the good scenario with one text replaced by another.
fn refusal(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the scenario");
    refusal_of(&GOOD.replace(from, to))
}

fn refusal_of(text: &str) -> String {
    load(text, "geo.toml", &[]).expect_err("must be refused").to_string()
}

fn with_override(path: &str, value: &str) -> String {
    let overrides = [(path.to_string(), value.to_string())];
    load(GOOD, "geo.toml", &overrides).expect_err("must be refused").to_string()
}

/// Each part must be in the message.
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in:\n{message}");
    }
    assert!(message.lines().count() <= 12, "more than a glance:\n{message}");
}

#[test]
fn the_good_scenario_is_accepted() {
    load(GOOD, "geo.toml", &[]).unwrap();
}

/// BSD's estimate of the round trip and Linux's are two.
#[test]
fn an_rto_in_ticks_is_not_linuxs() {
    says(
        &refusal(
            "to = \"remote\"\n",
            "to = \"remote\"\ntcp.rto = { ticks = true, variation_by_round = true }\n",
        ),
        &["rto.ticks", "give one of them"],
    );
    let both = GOOD.replace(
        "to = \"remote\"\n",
        "to = \"remote\"\ntcp.rto = { ticks = true, granularity = \"100 ms\" }\n",
    );
    load(&both, "geo.toml", &[]).unwrap();
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one() {
    says(
        &refusal("delay =", "dealy ="),
        &["geo.toml:7:1", "dealy = \"250 ms\"", "unknown field `dealy`", "did you mean \"delay\""],
    );
}

#[test]
fn a_missing_unit_is_named_with_an_example() {
    says(&refusal("\"50 Mbit/s\"", "50"), &["geo.toml:6", "50", "with its unit, as in \"50 Mbit/s\""]);
    says(&refusal("\"250 ms\"", "\"250\""), &["geo.toml:7", "has no unit", "ms"]);
}

#[test]
fn a_wrong_unit_is_named_with_the_right_ones() {
    says(&refusal("\"250 ms\"", "\"250 kg\""), &["geo.toml:7", "\"kg\" is not a unit of time", "us, ns"]);
}

#[test]
fn negative_values_are_refused() {
    says(&refusal("\"250 ms\"", "\"-250 ms\""), &["geo.toml:7", "not negative"]);
}

#[test]
fn absurd_values_are_refused() {
    says(
        &refusal("\"50 Mbit/s\"", "\"0 bit/s\""),
        &["geo.toml:6", "at least 1 bit/s and at most 1000 Tbit/s, not 0 bit/s"],
    );
    says(&refusal("\"250 ms\"", "\"20000 h\""), &["geo.toml:7", "at most 1 h"]);
    says(&refusal("\"10 s\"", "\"0 s\""), &["geo.toml:2", "above 0 s"]);
    let empty_queue = "delay = \"250 ms\"\nqueue = { kind = \"droptail\", limit = \"0 packets\" }";
    says(
        &refusal("delay = \"250 ms\"", empty_queue),
        &["geo.toml:8", "queue.limit: must be above 0 packets"],
    );
    let red = |settings| {
        format!("delay = \"250 ms\"\nqueue = {{ kind = \"red\", limit = \"100 packets\", {settings} }}")
    };
    let crossed = red("min_threshold = \"50 packets\", max_threshold = \"20 packets\"");
    let parts =
        ["geo.toml:8", "queue.min_threshold", "above 0 and below the maximum threshold", "50 and 20 packets"];
    says(&refusal("delay = \"250 ms\"", &crossed), &parts);
    let unknown = red("min_treshold = \"50 packets\"");
    says(&refusal("delay = \"250 ms\"", &unknown), &["geo.toml:8", "min_treshold", "min_threshold"]);
    for (queue, part) in [
        ("\"codel\", limit = \"9 packets\", interval = \"1 ms\"", "not shorter than the target"),
        ("\"pie\", limit = \"9 packets\", alpha = 0", "queue.alpha: must be above 0 and at most 1000"),
        (
            "\"drr\", limit = \"9 packets\", quantum = \"0 B\"",
            "queue.quantum: must be above 0 B and at most 1 GB",
        ),
        ("\"wfq\", limit = \"9 packets\", queues = 0", "queue.queues: must be at least 1 and at most 65536"),
        ("\"fq_codel\", limit = \"9 packets\", drop_batch = 0", "queue.drop_batch: must be at least 1"),
        ("\"fq_pie\", queues = 0", "queue.queues: must be at least 1 and at most 65536"),
        ("\"dualpi2\", coupling = 0", "queue.coupling: must be above 0 and at most 255"),
        ("\"cake\", bandwidth = \"1 bit/s\"", "queue.bandwidth: must be at least 1 kbit/s"),
        ("\"cake\", rtt = \"1 us\"", "queue.rtt: must be at least 20 us and at most 1 h"),
        ("\"cake\", isolation = \"dual-srchost\"", "dual_srchost"),
        (
            "\"tbf\", rate = \"1 Mbit/s\", burst = \"1 kB\", limit = \"9 packets\"",
            "queue.burst: must be at least 1500 B",
        ),
        ("\"tbf\", rate = \"1 Mbit/s\", burst = \"5 kB\"", "write one of limit"),
        (
            "\"tbf\", rate = \"2 Mbit/s\", burst = \"5 kB\", latency = \"50 ms\", peakrate = \"1 Mbit/s\"",
            "is not above the rate (2 Mbit/s)",
        ),
        ("\"dualpi2\", classic_share = 1.5", "queue.classic_share: must be at least 0 and at most 1"),
    ] {
        let text = format!("delay = \"250 ms\"\nqueue = {{ kind = {queue} }}");
        says(&refusal("delay = \"250 ms\"", &text), &["geo.toml:8", part]);
    }
    let never = "delay = \"250 ms\"\nloss = { kind = \"periodic\", every = 0 }";
    says(&refusal("delay = \"250 ms\"", never), &["geo.toml:8", "loss.every: must be at least 1, not 0"]);
    says(&with_override("flow.download.weight", "0"), &["weight", "at least 1 and at most 255"]);
    says(&with_override("flow.download.tcp.initial_window", "0"), &["initial_window", "above 0 packets"]);
    let never = "to = \"remote\"\nstart = \"11 s\"";
    says(&refusal("to = \"remote\"", never), &["geo.toml:12", "after the end of the run"]);
}

#[test]
fn a_network_without_links_has_no_nodes() {
    let flow = "[run]\nduration = \"5 s\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    says(&refusal_of(flow), &["geo.toml:4", "no node \"a\"", "add a [[link]]"]);
}

/// The parser's time is quadratic in the parts of a key: this one took minutes.
#[test]
fn a_key_of_very_many_parts_is_refused_at_once() {
    let text = format!("[run]\nduration = \"1 s\"\n{}b = 1\n", "a.".repeat(100_000));
    says(&refusal_of(&text), &["geo.toml:3", "more than 256 parts"]);
    let text = format!("[run]\nx = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    says(&refusal_of(&text), &["geo.toml:2", "nested too deep"]);
}

#[test]
fn a_dangling_name_is_named_with_the_nearest_node() {
    says(
        &refusal("to = \"remote\"", "to = \"remoet\""),
        &["geo.toml:11", "no node \"remoet\"", "did you mean \"remote\""],
    );
}

#[test]
fn a_disconnected_graph_is_refused() {
    let island = "[[node]]\nname = \"island\"\n[[flow]]";
    let text = GOOD.replace("[[flow]]", island).replace("to = \"remote\"", "to = \"island\"");
    says(&refusal_of(&text), &["no links lead from \"hub\" to \"island\""]);
}

#[test]
fn what_is_no_code_point_is_refused() {
    for code in ["\"af44\"", "\"64\""] {
        let text = format!("to = \"remote\"\ndscp = {code}");
        says(
            &refusal("to = \"remote\"", &text),
            &["a DSCP is a number from 0 to 63, or one of le, cs0 to cs7"],
        );
    }
}

#[test]
fn an_unknown_algorithm_lists_the_known_ones() {
    says(
        &refusal("to = \"remote\"", "to = \"remote\"\ntcp = { congestion = \"cubik\" }"),
        &["cubik", "cubic", "reno"],
    );
    says(
        &refusal(
            "to = \"remote\"",
            "to = \"remote\"\ntcp = { congestion = { kind = \"cubic\", beta = 1.5 } }",
        ),
        &["beta"],
    );
}

#[test]
fn an_almost_known_algorithm_is_suggested() {
    says(&with_override("flow.download.tcp.congestion", "renno"), &["renno", "did you mean \"reno\""]);
}

#[test]
fn a_setting_that_both_directions_hide_is_refused() {
    let both = "forward = { rate = \"1 Mbit/s\" }\nreverse = { rate = \"2 Mbit/s\" }\n[[flow]]";
    says(&refusal("[[flow]]", both), &["geo.toml:6", "has no effect", "forward.rate"]);
    let without = GOOD.replace("rate = \"50 Mbit/s\"\n", "").replace("[[flow]]", both);
    let overrides = [("link.satellite.rate".to_string(), "3 Mbit/s".to_string())];
    let message = load(&without, "geo.toml", &overrides).expect_err("must be refused").to_string();
    says(&message, &["--set link.satellite.rate=3 Mbit/s", "has no effect", "forward.rate"]);
}

/// A value for each setting of a link: of what the schema lists for a direction, none may be missing here.
const SETTINGS: [(&str, &str); 22] = [
    ("rate", "\"1 Mbit/s\""),
    ("delay", "\"10 ms\""),
    ("queue", "{ kind = \"droptail\", limit = \"9 packets\" }"),
    ("loss", "{ kind = \"random\", probability = 0.1 }"),
    ("jitter", "\"1 ms\""),
    ("reordering", "{ probability = 0.1, delay = \"1 ms\" }"),
    ("slots", "{ least = \"1 ms\" }"),
    ("duplication", "\"0.1 %\""),
    ("corruption", "\"0.1 %\""),
    ("outages", "[{ start = \"1 s\", duration = \"1 s\" }]"),
    ("changes", "[{ at = \"1 s\", rate = \"1 Mbit/s\" }]"),
    ("serial", "{ framing = \"ppp\" }"),
    ("overhead", "\"docsis\""),
    ("demand", "{ delay = \"600 ms\" }"),
    ("wander", "[{ every = \"1 s\", spread = \"20 %\" }]"),
    ("trace", "{ loss = FILE }"),
    ("acm", "{ symbol_rate = 1e6, es_n0 = 12 }"),
    ("arq", "{ attempts = 3 }"),
    ("mtu", "\"1400 B\""),
    ("too_big", "\"dropped\""),
    ("carrier", "{ name = \"return\" }"),
    ("leo", "{ terminal = { latitude = 50, longitude = 8 }, gateway = { latitude = 50, longitude = 8 } }"),
];

#[test]
fn what_becomes_of_long_packets_needs_a_longest_one() {
    says(
        &refusal("delay =", "too_big = \"dropped\"\ndelay ="),
        &["too_big = \"dropped\"", "it has no effect without `mtu`"],
    );
    says(&refusal("delay =", "mtu = \"67 B\"\ndelay ="), &["mtu = \"67 B\"", "68 B"]);
    load(&GOOD.replace("delay =", "mtu = \"1400 B\"\ntoo_big = \"dropped\"\ndelay ="), "geo.toml", &[])
        .unwrap();
}

#[test]
fn every_setting_that_both_directions_hide_is_refused_with_its_line() {
    let schema: serde_json::Value = serde_json::from_str(&longhaul_scenario::schema_json()).unwrap();
    let known = schema["$defs"]["DirectionSpec"]["properties"].as_object().unwrap();
    let mut tried: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
    tried.sort_unstable();
    assert_eq!(known.keys().map(String::as_str).collect::<Vec<_>>(), tried);
    let directory = Directory::new("hidden");
    let file = directory.file("loss.csv", "time_s,loss_percent\n0,1\n1,2\n");
    for (name, value) in SETTINGS {
        let value = value.replace("FILE", &format!("{file:?}"));
        let link = match name {
            "rate" | "acm" | "carrier" => "delay = \"1 ms\"\n",
            "delay" | "leo" => "rate = \"1 Mbit/s\"\n",
            "too_big" => "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nmtu = \"1400 B\"\n",
            _ => "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n",
        };
        let table = |names: [&str; 2]| {
            format!(
                "{link}{name} = {value}\n{} = {{ {name} = {value} }}\n{} = {{ {name} = {value} }}\n",
                names[0], names[1]
            )
        };
        let line = 1 + link.lines().count() + 1;
        let carrier = match name {
            "carrier" => "[[carrier]]\nname = \"return\"\nrate = \"1 Mbit/s\"\ndelay = \"600 ms\"\n",
            _ => "",
        };
        let flow = format!("[[flow]]\n{carrier}");
        for (text, names, header) in [
            (table(["forward", "reverse"]), ["forward", "reverse"], "[dumbbell.bottleneck]\n"),
            (table(["from", "to"]), ["from", "to"], "[dumbbell.access]\n"),
        ] {
            let run = "[run]\nduration = \"10 s\"\n";
            let other = match names {
                ["from", _] => "[dumbbell.bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n",
                _ => "",
            };
            let message = refusal_of(&format!("{header}{text}{other}{run}{flow}"));
            let place = format!("geo.toml:{line}:");
            let hidden = format!("`{0}.{name}` and `{1}.{name}` are given too", names[0], names[1]);
            says(&message, &[&place, "has no effect", &hidden]);
        }
        let declared = "[[link]]\nname = \"satellite\"\nends = [\"left\", \"right\"]\n";
        let flow = format!("[[flow]]\nfrom = \"left\"\nto = \"right\"\n{carrier}");
        let run = "[run]\nduration = \"10 s\"\n";
        let message = refusal_of(&format!("{declared}{}{run}{flow}", table(["forward", "reverse"])));
        says(&message, &[&format!("geo.toml:{}:", line + 2), &format!("{name}: has no effect")]);
    }
}

#[test]
fn two_of_a_name_are_refused() {
    let twice = "[[flow]]\nname = \"download\"\nfrom = \"hub\"\nto = \"remote\"\n[[flow]]";
    says(&refusal("[[flow]]", twice), &["two of the name \"download\""]);
}

#[test]
fn broken_toml_is_refused_with_its_place() {
    says(&refusal("[[flow]]", "[[flow"), &["geo.toml:8"]);
    says(&refusal_of(""), &["geo.toml", "run"]);
}

#[test]
fn an_override_is_blamed_for_its_own_mistakes() {
    says(
        &with_override("link.satelite.rate", "1 Mbit/s"),
        &["--set link.satelite.rate=1 Mbit/s", "did you mean \"satellite\""],
    );
    says(&with_override("link.satellite.rate", "fast"), &["--set link.satellite.rate=fast", "rate"]);
    says(
        &with_override("link.satellite.speed", "1"),
        &["--set link.satellite.speed=1", "unknown field `speed`"],
    );
    says(&with_override("flow.download.to", "mars"), &["--set flow.download.to=mars", "no node \"mars\""]);
    says(&with_override("run..duration", "1 s"), &["empty part"]);
    says(&with_override("run.duration.x", "1 s"), &["single value"]);
}

/// A table of `wander` has its own mistakes, and what else gives the rate or the delay is named.
#[test]
fn a_link_that_wanders_follows_nothing_else() {
    let wander = |table: &str, more: &str| {
        refusal("delay = \"250 ms\"\n", &format!("delay = \"250 ms\"\nwander = [{table}]\n{more}\n"))
    };
    says(&wander("{ every = \"1 s\" }", ""), &["link.satellite.wander.0.every", "nothing wanders"]);
    says(&wander("{ every = \"1 s\", at = \"1 s\", spread = 0.1 }", ""), &["less than `every`, 1 s"]);
    says(
        &wander("{ every = \"1 s\", spread = 0.1, factors = [1.0, 2.0] }", ""),
        &["`spread` or a list of `factors`"],
    );
    says(&wander("{ every = \"1 s\", factors = [2.0, 1.0] }", ""), &["wander.0.factors", "not less than"]);
    says(&wander("{ every = \"0 s\", spread = 0.1 }", ""), &["wander.0.every", "1 ms"]);
    let rate = "{ every = \"1 s\", spread = 0.1 }";
    let delay = "{ every = \"1 s\", delay = \"5 ms\" }";
    for (table, more, part) in [
        (rate, "changes = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]", "the rate wanders, and `changes`"),
        (rate, "serial = { framing = \"ppp\" }", "`serial`"),
        (rate, "demand = { delay = \"600 ms\" }", "`demand`"),
        (delay, "changes = [{ at = \"1 s\", delay = \"1 ms\" }]", "the delay wanders, and `changes`"),
    ] {
        says(&wander(table, more), &["link.satellite.wander", part]);
    }
    let fine =
        "wander = [{ every = \"1 s\", spread = 0.1 }]\nchanges = [{ at = \"1 s\", delay = \"1 ms\" }]\n";
    load(&GOOD.replace("delay = \"250 ms\"\n", &format!("delay = \"250 ms\"\n{fine}")), "geo.toml", &[])
        .unwrap();
}

/// What people write who know it from elsewhere is answered with what is right here.
#[test]
fn a_key_of_another_table_is_answered_with_its_place() {
    let flow = |line: &str| refusal("to = \"remote\"\n", &format!("to = \"remote\"\n{line}\n"));
    says(&flow("size = \"1 MB\""), &["unknown field `size`", "app = { kind = \"bulk\", size = \"1 MB\" }"]);
    says(&flow("tcp = \"bbr\""), &["\"bbr\" is not a table", "tcp = { congestion = \"bbr\" }"]);
    says(&flow("app = \"bulk\""), &["app = { kind = \"bulk\" }"]);
    says(&flow("app = { kind = \"voip\" }"), &["unknown name `voip`", "voice = true"]);
    says(&flow("app = { kind = \"dash\" }"), &["{ kind = \"video\" }"]);
    says(&flow("app = { kind = \"ftp\" }"), &["{ kind = \"bulk\", size = \"1 MB\" }"]);
    says(&with_override("flow.download.tcp", "bbr"), &["tcp = { congestion = \"bbr\" }"]);
    says(&with_override("link.satellite.from", "hub"), &["unknown field `from`", "ends = [\"a\", \"b\"]"]);
    says(&with_override("link.satellite.rate", "10 MB/s"), &["did you mean \"80 Mbit/s\""]);
}

#[test]
fn of_many_fields_the_nearest_are_listed() {
    says(
        &with_override("flow.download.tcp.recieve_buffer", "64 KiB"),
        &["unknown field `recieve_buffer`, expected one of `receive_buffer`, ", " others"],
    );
    let error = with_override("flow.download.tcp.recieve_buffer", "64 KiB").to_string();
    assert!(error.len() < 300, "{error}");
}

#[test]
fn overrides_reach_tables_by_name_and_by_number() {
    let set =
        |path: &str, value: &str| load(GOOD, "geo.toml", &[(path.to_string(), value.to_string())]).unwrap();
    assert_eq!(set("link.satellite.rate", "1 Mbit/s").link[0].rate, Some("1 Mbit/s".parse().unwrap()));
    assert_eq!(set("link.0.rate", "\"2 Mbit/s\"").link[0].rate, Some("2 Mbit/s".parse().unwrap()));
    assert_eq!(set("flow.download.count", "7").flow[0].count, 7);
    assert_eq!(set("flow.download.tcp.congestion", "reno").flow[0].tcp.congestion.name(), "reno");
    assert_eq!(set("run.seed", "5").run.seed, 5);
}

#[test]
fn the_resolved_scenario_reads_back_to_the_same() {
    let scenario = load(GOOD, "geo.toml", &[]).unwrap();
    let resolved = resolved_toml(&scenario);
    assert_eq!(load(&resolved, "resolved.toml", &[]).unwrap(), scenario);
}

#[test]
fn the_identity_follows_settings_and_seed_but_not_the_name() {
    let id = |text: &str| run_id(&load(text, "geo.toml", &[]).unwrap());
    let base = id(GOOD);
    assert_eq!(base.len(), 32);
    assert_eq!(id(&format!("name = \"another\"\n{GOOD}")), base);
    assert_ne!(id(&GOOD.replace("[run]", "[run]\nseed = 2")), base);
    assert_ne!(id(&GOOD.replace("50 Mbit/s", "51 Mbit/s")), base);
    assert_eq!(id(&GOOD.replace("50 Mbit/s", "50000 kbit/s")), base, "another way to write the same");
}

mod fuzz {
    use super::GOOD;
    use longhaul_scenario::load;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is done to a file, the answer is a scenario or a message.
        #[test]
        fn mutated_files_never_panic(cuts in proptest::collection::vec((0usize..400, 0usize..30, "[ -~\n\u{e9}]{0,12}"), 1..6)) {
            let mut text: Vec<char> = GOOD.chars().collect();
            for (at, len, insert) in cuts {
                let at = at.min(text.len());
                let end = (at + len).min(text.len());
                text.splice(at..end, insert.chars());
            }
            let text: String = text.into_iter().collect();
            if let Err(error) = load(&text, "fuzz.toml", &[]) {
                prop_assert!(!error.to_string().is_empty());
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in "\\PC{0,300}") {
            let _ = load(&text, "fuzz.toml", &[]);
        }

        #[test]
        fn arbitrary_overrides_never_panic(path in "[a-z.0-9\"]{0,30}", value in "\\PC{0,20}") {
            let _ = load(GOOD, "fuzz.toml", &[(path, value)]);
        }
    }
}

/// A middlebox at the hub between a server and the satellite.
fn middlebox_refusal(from: &str, to: &str) -> String {
    let text = format!(
        "{}[[link]]\nname = \"internet\"\nends = [\"server\", \"hub\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
         [[middlebox]]\nname = \"pep\"\nkind = \"premature_ack\"\nat = \"hub\"\nbuffer = \"50 packets\"\nwatermark = 25\n",
        GOOD.replace("from = \"hub\"", "from = \"server\"")
    );
    load(&text, "geo.toml", &[]).unwrap();
    assert!(text.contains(from), "{from:?} is not in the scenario");
    refusal_of(&text.replace(from, to))
}

#[test]
fn values_of_the_wrong_type_are_shown_as_the_file_has_them() {
    for (from, to, message) in [
        ("duration = \"5 s\"", "duration = 5", "5 is not a time with its unit"),
        ("duration = \"5 s\"", "duration = \"80000 h\"\nsample = \"1 ms\"", "it is 28.8 s or more"),
        ("duration = \"5 s\"", "duration = 5 s # five", "text must be in quotes, as in \"5 s\""),
        ("duration = \"5 s\"", "duration =", "the value is missing"),
        ("duration = \"5 s\"", "duration = \"0,5 s\"", "did you mean \"0.5 s\"?"),
        ("to = \"b\"", "to = \"b\"\ntcp = { timestamps = \"yes\" }", "\"yes\" is not true or false"),
        ("to = \"b\"", "to = \"b\"\ncount = 2.5", "2.5 is not a whole number from 0 to 4294967295"),
        ("to = \"b\"", "to = \"b\"\ncount = -1", "-1 is not a whole number from 0 to 4294967295"),
        ("ends = [\"a\", \"b\"]", "ends = \"a\"", "\"a\" is not a list of two values"),
        ("\"droptail\"", "\"droptial\"", "unknown name `droptial`"),
    ] {
        let text = "[run]\nduration = \"5 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n\
                    delay = \"10 ms\"\nqueue = { kind = \"droptail\", limit = \"50 packets\" }\n\
                    [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        let error = load(&changed, "x.toml", &[]).unwrap_err().to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
}

#[test]
fn a_middlebox_is_refused_at_its_line() {
    says(
        &middlebox_refusal("watermark =", "watrmark ="),
        &["geo.toml:22:1", "unknown field `watrmark`", "did you mean \"watermark\""],
    );
    says(
        &middlebox_refusal("watermark = 25", "watermark = \"9 kB\""),
        &["geo.toml:22:13", "\"9 kB\" is not a number of packets"],
    );
    says(
        &middlebox_refusal("kind = \"premature_ack\"", "kind = \"premature_acks\""),
        &["geo.toml:19:8", "unknown name", "did you mean \"premature_ack\""],
    );
}

#[test]
fn a_middlebox_that_makes_no_sense_is_refused() {
    says(
        &middlebox_refusal("watermark = 25", "watermark = 60"),
        &["geo.toml:22", "at most the buffer (50 packets)"],
    );
    says(
        &middlebox_refusal("\"50 packets\"", "\"50 kB\""),
        &["geo.toml:21", "the buffer is given in packets"],
    );
    says(
        &middlebox_refusal("at = \"hub\"", "at = \"hbu\""),
        &["geo.toml:20", "no node \"hbu\"", "did you mean \"hub\""],
    );
    says(
        &middlebox_refusal("at = \"hub\"", "at = \"remote\""),
        &["geo.toml:20", "no flow passes \"remote\"", "give them access links"],
    );
    says(
        &middlebox_refusal("watermark = 25", "flows = [\"upload\"]"),
        &["geo.toml:22", "no flow \"upload\""],
    );
    says(
        &middlebox_refusal("watermark = 25", "recovery = { min_rto = \"2 min\" }"),
        &["geo.toml:22", "must not exceed max_rto"],
    );
}

#[test]
fn settings_that_would_do_nothing_are_refused() {
    let refusal = |tcp: &str| refusal_of(&format!("{GOOD}tcp = {{ {tcp} }}\n"));
    says(
        &refusal("spurious_detection = { eifel = true }"),
        &["geo.toml:12", "eifel", "needs timestamps = true"],
    );
    says(
        &refusal("variant = \"newreno\", spurious_detection = { dsack = true }"),
        &["geo.toml:12", "variant \"sack\", \"fack\" or \"rack\""],
    );
    says(
        &refusal("variant = \"sack1\", rate_reduction = \"safe_ack\""),
        &["geo.toml:12", "rate_reduction", "counts ACKs itself"],
    );
    says(
        &refusal("variant = \"reno\", rate_reduction = \"safe_ack\""),
        &["geo.toml:12", "proportional rate reduction", "variant \"sack\""],
    );
    says(
        &refusal("rate_reduction_on_ecn = true, ecn = true"),
        &["geo.toml:12", "rate_reduction_on_ecn", "needs ecn = true and rate_reduction"],
    );
    says(&refusal("ecn = \"accurat\""), &["geo.toml:12", "ecn", "is not true, false or \"accurate\""]);
    says(
        &refusal("variant = \"reno\", sack_of_old_acks = true"),
        &["geo.toml:12", "sack_of_old_acks", "variant \"sack\""],
    );
    says(
        &refusal("variant = \"sack\", sack_whole_segments = true"),
        &["geo.toml:12", "sack_whole_segments", "variant \"rack\""],
    );
    says(
        &refusal("ack_congestion_control = true, delayed_ack = \"off\""),
        &["geo.toml:12", "ack_congestion_control", "give delayed_ack a time"],
    );
    says(
        &refusal("ack_congestion_control = true, ack_every = 4"),
        &["geo.toml:12", "ack_every", "the sender sets it, from 2 on (RFC 5690"],
    );
}

/// What a first user ran into: messages use the words of scenario files and name the place of the error.
mod first_steps {
    use super::{refusal, refusal_of, says, with_override};
    use longhaul_scenario::load;

    #[test]
    fn a_number_that_is_too_large_is_said_in_plain_words() {
        let message = with_override("run.seed", "9223372036854775808");
        says(&message, &["--set run.seed=9223372036854775808", "from 0 to 9223372036854775807"]);
        assert!(!message.contains("u64"), "{message}");
        let message = refusal(
            "to = \"remote\"",
            "to = \"remote\"\ntransport = \"quic\"\nquic = { priority = 99999999999999999999 }",
        );
        says(&message, &["geo.toml:13", "99999999999999999999 is not a whole number from -2147483648 to"]);
        assert!(!message.contains("i128"), "{message}");
    }

    #[test]
    fn one_bracket_in_the_place_of_two_is_answered_with_two() {
        let message = refusal("[[flow]]", "[flow]");
        says(
            &message,
            &["geo.toml:", "a single table in the place of a list", "write [[flow]], with two brackets"],
        );
        assert!(!message.contains("sequence"), "{message}");
    }

    #[test]
    fn an_override_of_a_list_that_the_scenario_does_not_have_names_what_it_has() {
        let dumbbell = refusal_of_override(
            "[run]\nduration = \"1 s\"\n[dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n",
            "link.satellite.delay",
        );
        says(&dumbbell, &["the scenario has no [[link]]", "dumbbell.bottleneck"]);
        says(&with_override("middlebox.pep.mss", "3"), &["the scenario has no [[middlebox]]"]);
    }

    fn refusal_of_override(text: &str, path: &str) -> String {
        let overrides = [(path.to_string(), "10 ms".to_string())];
        load(text, "dumbbell.toml", &overrides).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_value_where_a_table_is_wanted_is_answered_with_an_example() {
        let message = with_override("link.satellite.loss", "1.5");
        says(&message, &["--set link.satellite.loss=1.5", "between 0 and 1"]);
        let message = with_override("link.satellite.loss", "true");
        says(&message, &["--set link.satellite.loss=true", "{ kind = \"random\", probability = \"1 %\" }"]);
        assert!(!message.contains("enum"), "{message}");
        let message = refusal("to = \"remote\"", "to = \"remote\"\napp = \"bulk\"");
        says(&message, &["geo.toml:12", "{ kind = \"bulk\", size = \"1 MB\" }"]);
        assert!(!message.contains("enum"), "{message}");
        let message = with_override("run", "5");
        says(&message, &["--set run=5", "5 is not a table"]);
        assert!(!message.contains("Spec"), "{message}");
    }

    #[test]
    fn a_part_of_a_table_that_the_file_does_not_set_is_told_where_it_belongs() {
        let message = with_override("link.satellite.loss.probability", "1 %");
        says(
            &message,
            &["missing field `kind`", "set all of it, as in --set 'link.satellite.loss={ kind = ... }'"],
        );
        let text = super::GOOD.replace(
            "rate = \"50 Mbit/s\"",
            "rate = \"50 Mbit/s\"\nforward = { queue = { kind = \"red\", limit = \"9 packets\" } }",
        );
        let overrides = [("link.satellite.queue.limit".to_string(), "10 packets".to_string())];
        let message = load(&text, "geo.toml", &overrides).expect_err("must be refused").to_string();
        says(
            &message,
            &["missing field `kind`", "for one direction: set link.satellite.forward.queue.limit"],
        );
    }

    #[test]
    fn what_an_override_says_of_one_direction_is_blamed_on_it() {
        let zero = with_override("link.satellite.forward.rate", "0 bit/s");
        says(
            &zero,
            &["--set link.satellite.forward.rate=0 bit/s", "link.satellite.forward.rate", "at least 1 bit/s"],
        );
        let queue = "{ kind = \"droptail\", limit = \"0 packets\" }";
        let message = with_override("link.satellite.reverse.queue", queue);
        says(
            &message,
            &["--set link.satellite.reverse.queue=", "link.satellite.reverse.queue", "above 0 packets"],
        );
    }

    #[test]
    fn a_mistake_in_the_file_is_not_blamed_on_an_override_of_another_name() {
        let text = super::GOOD.replace("\"50 Mbit/s\"", "\"0 bit/s\"").replace("[[flow]]", "[[link]]\nname = \"other\"\nends = [\"remote\", \"far\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]");
        let overrides = [("link.other.rate".to_string(), "2 Mbit/s".to_string())];
        let message = load(&text, "geo.toml", &overrides).expect_err("must be refused").to_string();
        says(&message, &["geo.toml:6", "link.satellite.rate"]);
    }

    #[test]
    fn names_end_without_a_dangling_dot() {
        let message = with_override("flow.zzzzzzzzz.count", "2");
        assert!(message.ends_with("there are: download"), "{message:?}");
    }

    #[test]
    fn an_empty_file_is_said_to_be_empty() {
        for text in ["", "\n\n", "# nothing yet\n"] {
            says(&refusal_of(text), &["geo.toml: the scenario is empty", "[run]", "[[flow]]", "examples/"]);
        }
    }

    #[test]
    fn a_segment_has_room_for_options_and_data() {
        let flow = |mss: &str| format!("to = \"remote\"\ntcp = {{ mss = \"{mss}\" }}");
        says(&refusal("to = \"remote\"", &flow("1 B")), &["geo.toml:12", "must be at least 48 B"]);
        load(&super::GOOD.replace("to = \"remote\"", &flow("48 B")), "geo.toml", &[]).unwrap();
    }

    #[test]
    fn samples_are_not_longer_than_the_run() {
        let message = refusal("duration = \"10 s\"", "duration = \"10 s\"\nsample = \"11 s\"");
        says(&message, &["geo.toml:3", "the sampling interval (11 s) is longer than the run (10 s)"]);
        load(&super::GOOD.replace("\"10 s\"", "\"500 ms\""), "geo.toml", &[]).unwrap();
    }
}

/// A split at the hub.
fn split_refusal(settings: &str) -> String {
    middlebox_refusal(
        "kind = \"premature_ack\"\nat = \"hub\"\nbuffer = \"50 packets\"\nwatermark = 25\n",
        settings,
    )
}

#[test]
fn a_split_that_makes_no_sense_is_refused() {
    let split = "kind = \"split\"\nat = \"hub\"\n";
    for (settings, parts) in [
        ("peer = \"hub\"\n", ["both nodes are \"hub\"", "geo.toml:21"]),
        ("peer = \"remot\"\n", ["no node \"remot\"", "did you mean \"remote\""]),
        ("framing = \"pepid\"\n", ["is for a split at two nodes", "peer = \"remote\""]),
        (
            "local_queue = { queue = { kind = \"droptail\", limit = \"9 packets\" } }\n",
            ["is for a split at two nodes", "geo.toml:21"],
        ),
        (
            // 2^32 + 1 became 1.
            "peer = \"remote\"\nlocal_queue = { queue = { kind = \"droptail\", limit = \"9 packets\" }, header_size = \"4294967297 B\" }\n",
            ["at most 1000 B", "header_size"],
        ),
        ("buffer = \"100 B\"\n", ["holds at least one segment", "geo.toml:21"]),
        ("near = { established = true }\n", ["are opened as the hosts open theirs", "geo.toml:21"]),
        ("far = { congestion = \"cubicc\" }\n", ["did you mean \"cubic\"", "geo.toml:21"]),
    ] {
        says(&split_refusal(&format!("{split}{settings}")), &parts);
    }
}

#[test]
fn a_snoop_agent_that_makes_no_sense_is_refused() {
    says(
        &split_refusal("kind = \"snoop\"\nat = \"hub\"\ncache = \"9 kB\"\n"),
        &["geo.toml:21", "given in packets"],
    );
    says(
        &split_refusal("kind = \"snoop\"\nat = \"hub\"\ntowards = \"too\"\n"),
        &["geo.toml:21", "did you mean \"to\""],
    );
}

#[test]
fn overrides_may_make_a_table_together_in_any_order() {
    let bare: String = GOOD
        .lines()
        .filter(|line| !line.starts_with("queue"))
        .fold(String::new(), |all, line| all + line + "\n");
    let kind = ("link.satellite.queue.kind".to_string(), "droptail".to_string());
    let limit = ("link.satellite.queue.limit".to_string(), "77 packets".to_string());
    for pair in [[kind.clone(), limit.clone()], [limit, kind.clone()]] {
        let scenario = load(&bare, "geo.toml", &pair).expect("two settings make a queue");
        assert!(longhaul_scenario::resolved_toml(&scenario).contains("limit = \"77 packets\""));
    }
    // What stays wrong is blamed on the one with which it began.
    let rate = ("link.satellite.rate".to_string(), "3 Mbit/s".to_string());
    let message =
        load(&bare, "geo.toml", &[rate.clone(), kind, rate]).expect_err("must be refused").to_string();
    assert!(message.contains("--set link.satellite.queue.kind=droptail"), "{message}");
}

#[test]
fn windows_and_thresholds_that_nothing_could_reach() {
    let refused = |path: &str, value: &str| {
        let overrides = [(path.to_string(), value.to_string())];
        load(GOOD, "geo.toml", &overrides).expect_err("must be refused").to_string()
    };
    assert!(refused("flow.0.tcp.initial_window", "1000000000000 packets").contains("at most 1 GiB"));
    let red = "{ kind = \"red\", limit = \"10 packets\", min_threshold = \"50 packets\", max_threshold = \"90 packets\" }";
    assert!(refused("link.satellite.queue", red).contains("RED would never act"));
}

#[test]
fn a_missing_section_is_said_without_an_empty_path() {
    let message = refusal_of(&GOOD[..GOOD.find("[[flow]]").unwrap()]);
    says(&message, &["geo.toml:1:1: there is no [[flow]]"]);
}

#[test]
fn other_words_for_settings_are_answered_with_ours() {
    for (given, parts) in [
        ("latency = \"250 ms\"", &["unknown field `latency`", "did you mean \"delay\"?"][..]),
        ("bandwidth = \"1 Mbit/s\"", &["did you mean \"rate\"?"]),
        ("Delay = \"1 ms\"", &["did you mean \"delay\"?"]),
        ("ber = 1e-7", &["loss = { kind = \"bit_error\", rate = 1e-7 }"]),
        ("buffer = \"10 packets\"", &["did you mean \"queue\"?"]),
    ] {
        let text = format!("delay = \"250 ms\"\n{given}");
        says(&refusal("delay = \"250 ms\"", &text), parts);
    }
    for (given, meant) in [
        ("cc = \"cubic\"", "tcp.congestion"),
        ("congestion = \"cubic\"", "tcp.congestion"),
        ("mss = \"1460 B\"", "tcp.mss"),
        ("src = \"hub\"", "from"),
    ] {
        let text = format!("to = \"remote\"\n{given}");
        says(&refusal("to = \"remote\"", &text), &[&format!("did you mean \"{meant}\"?")]);
    }
    says(
        &refusal("to = \"remote\"", "to = \"remote\"\ntcp.cc = \"cubic\""),
        &["did you mean \"congestion\"?"],
    );
    says(&with_override("flow.download.congestion", "cubic"), &["did you mean \"tcp.congestion\"?"]);
    says(&with_override("link.satellite.latency", "1 ms"), &["did you mean \"delay\"?"]);
    let dumbbell = "[run]\nduration = \"10 s\"\n[dumbbell]\nrate = \"1 Mbit/s\"\n[[flow]]\n";
    says(&refusal_of(dumbbell), &["did you mean \"bottleneck.rate\"?"]);
    says(&refusal_of(&format!("duration = \"10 s\"\n{GOOD}")), &["did you mean \"run.duration\"?"]);
}

#[test]
fn wrong_units_are_answered_with_the_right_text() {
    says(&refusal("\"50 Mbit/s\"", "\"10mbit\""), &["geo.toml:6", "did you mean \"10 Mbit/s\"?"]);
    says(&refusal("\"10 s\"", "\"10 sec\""), &["geo.toml:2", "did you mean \"10 s\"?"]);
    says(&refusal("\"10 s\"", "\"1e300 s\""), &["too large: the largest is 18446744073 s"]);
}

#[test]
fn a_very_long_line_is_shown_in_part() {
    let long = format!("\"250 ms\" # {}", "x".repeat(5000));
    let message = refusal("delay = \"250 ms\"", &format!("dealy = {long}"));
    assert!(message.len() < 1000, "{message}");
    let nested = format!("a = {}", "[".repeat(50_000));
    assert!(refusal_of(&nested).len() < 1000);
}

/// Satellites give a link its delay, once, and what does not go together is named.
#[test]
fn satellites_give_the_delay_alone() {
    let places =
        "terminal = { latitude = 54.3, longitude = 10.2 }, gateway = { latitude = 51.1, longitude = 8.4 }";
    let with = |link: &str, leo: &str| {
        let text = format!(
            "[run]\nduration = \"60 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n{link}\n\
             leo = {{ {leo} }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        load(&text, "leo.toml", &[]).map(|_| ()).map_err(|error| error.to_string())
    };
    with("", places).unwrap();
    for (link, leo, parts) in [
        ("delay = \"20 ms\"", places.to_string(), ["link.l.delay", "leo.processing"]),
        (
            "changes = [{ at = \"1 s\", delay = \"1 ms\" }]",
            places.to_string(),
            ["link.l.changes", "no script"],
        ),
        ("", format!("{places}, phasing = 72"), ["link.l.leo.phasing", "number of planes, 72"]),
        (
            "",
            format!("{places}, handover = \"1 s\", slot = \"1 s\""),
            ["leo.handover", "shorter than a slot"],
        ),
        ("", places.replace("51.1", "-51.1"), ["link.l.leo.gateway", "lasers"]),
        ("", places.replace("54.3", "91"), ["latitude", "90"]),
        ("", places.replace("54.3", "nan"), ["latitude", "90"]),
        ("", format!("{places}, altitude_km = 100"), ["altitude_km", "160"]),
        ("", "terminal = { latitude = 1, longitude = 1 }".to_string(), ["gateway", "missing"]),
    ] {
        says(&with(link, &leo).unwrap_err(), &parts);
    }
    let long = "[run]\nduration = \"25 h\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\nleo = { ".to_string()
        + places
        + " }\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    says(&refusal_of(&long), &["link.l.leo", "90000 s", "86400 s"]);
}
