//! Short forms of queues and losses mean the same as what they stand for.

use crate::common::head;
use longhaul_scenario::{load, run_id};

const FLOW: &str = "[[flow]]\nfrom = \"hub\"\nto = \"remote\"\n";

fn id(link: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    run_id(&load(&format!("{}{link}\n{FLOW}", head!()), "geo.toml", &overrides).unwrap())
}

fn refusal(link: &str) -> String {
    load(&format!("{}{link}\n{FLOW}", head!()), "geo.toml", &[]).unwrap_err().to_string()
}

#[test]
fn a_limit_is_a_droptail_queue() {
    let long = r#"queue = { kind = "droptail", limit = "30 packets" }"#;
    assert_eq!(id(r#"queue = "30 packets""#, &[]), id(long, &[]));
    assert_eq!(id("", &[("link.satellite.queue", "30 packets")]), id(long, &[]));
    assert_eq!(id(r#"forward = { queue = "30 packets" }"#, &[]), id(&format!("forward = {{ {long} }}"), &[]));
    assert_eq!(id(r#"queue = "64 kB""#, &[]), id(r#"queue = { kind = "droptail", limit = "64 kB" }"#, &[]));
}

#[test]
fn a_probability_is_random_loss() {
    let long = r#"loss = { kind = "random", probability = 0.01 }"#;
    for short in [r#"loss = "1 %""#, "loss = 0.01", r#"loss = "0.01""#] {
        assert_eq!(id(short, &[]), id(long, &[]), "{short}");
    }
    assert_eq!(id("", &[("link.satellite.loss", "1 %")]), id(long, &[]));
    assert_eq!(id("", &[("link.satellite.loss", "0.01")]), id(long, &[]));
}

#[test]
fn a_probability_is_corruption_of_each_packet() {
    let long = "corruption = { probability = 0.001 }";
    for short in [r#"corruption = "0.1 %""#, "corruption = 0.001", r#"corruption = "1e-3""#] {
        assert_eq!(id(short, &[]), id(long, &[]), "{short}");
    }
    assert_eq!(id("", &[("link.satellite.corruption", "0.1 %")]), id(long, &[]));
    assert_eq!(id("corruption = 0.5", &[("link.satellite.corruption.probability", "0.1 %")]), id(long, &[]));
    let errors = "corruption = { bit_error_rate = 1e-7 }";
    assert_eq!(id("", &[("link.satellite.corruption.bit_error_rate", "1e-7")]), id(errors, &[]));
    assert_ne!(id(errors, &[]), id("", &[]));
    let (one_way, twice) =
        ("forward = { duplication = 0.001 }", [("link.satellite.forward.duplication", "0.1 %")]);
    assert_eq!(id("", &twice), id(one_way, &[]));
}

#[test]
fn an_override_goes_into_what_a_short_form_stands_for() {
    let short = "queue = \"30 packets\"\nloss = 0";
    let overrides = [("link.satellite.queue.limit", "9 packets"), ("link.satellite.loss.probability", "0.5")];
    let long = r#"queue = { kind = "droptail", limit = "9 packets" }
loss = { kind = "random", probability = 0.5 }"#;
    assert_eq!(id(short, &overrides), id(long, &[]));
}

#[test]
fn what_is_neither_form_is_refused_with_both_and_its_line() {
    for (link, parts) in [
        ("queue = 30", &["geo.toml:8", "\"1000 packets\"", "kind = \"droptail\""][..]),
        ("queue = \"30\"", &["geo.toml:8", "has no unit", "1000 packets"]),
        ("queue = \"0 packets\"", &["geo.toml:8", "queue.limit: must be above 0 packets"]),
        ("queue = \"0 ms\"", &["geo.toml:8", "queue.limit: must be above 0 packets"]),
        ("queue = \"0 bdp\"", &["geo.toml:8", "queue.limit: must be above 0 packets"]),
        ("queue = \"100 msec\"", &["geo.toml:8", "did you mean \"100 ms\"?"]),
        ("queue = \"10 Mbit/s\"", &["geo.toml:8", "not a unit of limit of a queue", "bdp"]),
        ("queue = { kind = \"rde\", limit = \"9 packets\" }", &["geo.toml:8", "did you mean \"red\"?"]),
        ("loss = \"often\"", &["geo.toml:8", "is not a probability"]),
        ("loss = 2", &["geo.toml:8", "between 0 and 1"]),
        ("loss = -0.5", &["geo.toml:8", "between 0 and 1"]),
        ("loss = nan", &["geo.toml:8", "between 0 and 1"]),
        ("duplication = 2", &["geo.toml:8", "between 0 and 1"]),
        ("duplication = \"often\"", &["geo.toml:8", "is not a probability"]),
        ("corruption = -0.5", &["geo.toml:8", "between 0 and 1"]),
        ("corruption = true", &["geo.toml:8", "\"0.1 %\"", "bit_error_rate"]),
        ("corruption = {}", &["geo.toml:8", "corruption = \"0.1 %\""]),
        ("corruption = { bit_error_rate = 1e-7, probability = 0.1 }", &["geo.toml:8", "one of the two"]),
        ("duplicate = 0.1", &["did you mean \"duplication\"?"]),
        ("bit_error_rate = 1e-7", &["did you mean \"corruption\"?"]),
        ("loss = true", &["geo.toml:8", "\"1 %\"", "kind = \"random\""]),
        ("loss = { kind = \"randm\", probability = 0.1 }", &["geo.toml:8", "did you mean \"random\"?"]),
    ] {
        let message = refusal(link);
        for part in parts {
            assert!(message.contains(part), "{part:?} is missing in:\n{message}");
        }
    }
}
