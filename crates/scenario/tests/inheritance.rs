//! One key of a table that stands elsewhere: the rest of it stays as it is in force.

use longhaul_scenario::{load, run_id};

const HEAD: &str = "[run]\nduration = \"9 s\"\n";
const FLOW: &str = "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";

fn link(settings: &str) -> String {
    format!(
        "{HEAD}[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\n{settings}\n{FLOW}"
    )
}

fn id(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    match load(text, "l.toml", &overrides) {
        Ok(scenario) => run_id(&scenario),
        Err(error) => panic!("{error}"),
    }
}

fn refusal(text: &str, path: &str, value: &str) -> String {
    load(text, "l.toml", &[(path.to_string(), value.to_string())]).expect_err("must be refused").to_string()
}

#[test]
fn an_override_of_one_direction_inherits_the_rest() {
    let red = "{ kind = \"red\", limit = \"90 packets\" }";
    for (common, key, value, whole) in [
        ("queue = \"90 packets\"".to_string(), "queue.limit", "\"7 packets\"", "queue = \"7 packets\""),
        (
            format!("queue = {red}"),
            "queue.limit",
            "\"7 packets\"",
            "queue = { kind = \"red\", limit = \"7 packets\" }",
        ),
        (String::new(), "queue.limit", "\"7 packets\"", "queue = \"7 packets\""),
        ("loss = 0.01".to_string(), "loss.probability", "\"2 %\"", "loss = \"2 %\""),
        (
            "loss = { kind = \"gilbert_elliott\", good_to_bad = 0.01, bad_to_good = 0.3, loss_in_bad = 0.5 }"
                .to_string(),
            "loss.good_to_bad",
            "0.02",
            "loss = { kind = \"gilbert_elliott\", good_to_bad = 0.02, bad_to_good = 0.3, loss_in_bad = 0.5 }",
        ),
        (
            "reordering = { probability = 0.01, delay = \"3 ms\" }".to_string(),
            "reordering.probability",
            "0.02",
            "reordering = { probability = 0.02, delay = \"3 ms\" }",
        ),
    ] {
        for direction in ["forward", "reverse"] {
            let path = format!("link.l.{direction}.{key}");
            assert_eq!(
                id(&link(&common), &[(&path, value)]),
                id(&link(&format!("{common}\n{direction} = {{ {whole} }}")), &[]),
                "{common} {path}"
            );
        }
    }
}

#[test]
fn a_direction_that_has_its_own_keeps_it() {
    let own =
        link("queue = \"90 packets\"\nforward = { queue = { kind = \"codel\", limit = \"50 packets\" } }");
    let expected =
        link("queue = \"90 packets\"\nforward = { queue = { kind = \"codel\", limit = \"7 packets\" } }");
    assert_eq!(id(&own, &[("link.l.forward.queue.limit", "7 packets")]), id(&expected, &[]));
}

#[test]
fn another_kind_may_be_chosen_key_by_key_in_any_order() {
    let expected = id(
        &link("queue = \"90 packets\"\nforward = { queue = { kind = \"codel\", limit = \"7 packets\" } }"),
        &[],
    );
    let (kind, limit) = (("link.l.forward.queue.kind", "codel"), ("link.l.forward.queue.limit", "7 packets"));
    assert_eq!(id(&link("queue = \"90 packets\""), &[kind, limit]), expected);
    assert_eq!(id(&link("queue = \"90 packets\""), &[limit, kind]), expected);
}

#[test]
fn a_file_may_give_one_key_of_one_direction() {
    assert_eq!(
        id(&link("queue = \"90 packets\"\nreverse = { queue = { limit = \"7 packets\" } }"), &[]),
        id(&link("queue = \"90 packets\"\nreverse = { queue = \"7 packets\" }"), &[]),
    );
    let dumbbell = |own: &str| {
        format!(
            "{HEAD}[dumbbell]\nbottleneck = {{ rate = \"1 Mbit/s\", delay = \"9 ms\", queue = \"90 packets\", forward = {{ queue = {own} }} }}\n[[flow]]\nname = \"f\"\n"
        )
    };
    assert_eq!(id(&dumbbell("{ limit = \"7 packets\" }"), &[]), id(&dumbbell("\"7 packets\""), &[]));
    assert_eq!(
        id(&dumbbell("\"8 packets\""), &[("dumbbell.bottleneck.forward.queue.limit", "7 packets")]),
        id(&dumbbell("\"7 packets\""), &[]),
    );
}

#[test]
fn what_is_wrong_in_such_a_part_is_named() {
    let text = link("queue = \"90 packets\"\nforward = { queue = { limt = \"7 packets\" } }");
    let message = load(&text, "l.toml", &[]).expect_err("must be refused").to_string();
    assert!(message.contains("unknown field `limt`") && message.contains("l.toml"), "{message}");
    assert!(refusal(&link(""), "link.l.forward.loss.probability", "1 %").contains("missing field `kind`"));
    let message = refusal(&link("queue = \"90 packets\""), "link.l.forward.queue.limit", "0 packets");
    assert!(
        message.contains("--set link.l.forward.queue.limit=0 packets") && message.contains("above 0 packets"),
        "{message}"
    );
}

#[test]
fn a_parameter_of_what_is_named_or_the_default_may_be_set_alone() {
    let flow = |settings: &str| format!("{}{settings}", link(""));
    for (given, path, value, whole) in [
        (
            "tcp = { congestion = \"cubic\" }",
            "tcp.congestion.beta",
            "0.8",
            "tcp = { congestion = { kind = \"cubic\", beta = 0.8 } }",
        ),
        (
            "tcp = { congestion = \"cubic\", pacing = \"window\" }",
            "tcp.pacing.gain_ss",
            "1.5",
            "tcp = { congestion = \"cubic\", pacing = { kind = \"window\", gain_ss = 1.5 } }",
        ),
        ("", "app.size", "1 MB", "app = { kind = \"bulk\", size = \"1 MB\" }"),
    ] {
        assert_eq!(
            id(&flow(given), &[(&format!("flow.f.{path}"), value)]),
            id(&flow(whole), &[]),
            "{given} {path}"
        );
    }
    let variant = |congestion: &str| flow(&format!("tcp = {{ variant = \"linux\"{congestion} }}"));
    assert_eq!(
        id(&variant(""), &[("flow.f.tcp.congestion.beta", "0.8")]),
        id(&variant(", congestion = { kind = \"cubic\", beta = 0.8 }"), &[]),
    );
}
