//! Settings of congestion control that need others, or that others leave without effect, over a geostationary link.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

fn run(congestion: &str, more: &str) -> Summary {
    run_with(&format!("\"{congestion}\"{more}"))
}

/// With this congestion control, a name in quotation marks or a table, and further settings behind it.
fn run_with(congestion: &str) -> Summary {
    let text = format!(
        "[run]\nduration = \"40 s\"\n\
         [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\ndelay = \"300 ms\"\nrate = \"10 Mbit/s\"\n\
         queue = {{ kind = \"droptail\", limit = \"200 packets\" }}\n\
         [[flow]]\nname = \"download\"\nfrom = \"hub\"\nto = \"terminal\"\ntcp = {{ congestion = {congestion} }}\n"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

fn warning<'a>(summary: &'a Summary, code: &str) -> Option<&'a str> {
    let mut warnings = summary.warnings.iter();
    warnings.find(|warning| warning.code == code).map(|warning| warning.message.as_str())
}

/// Caini and Firrincieli 2004: SACK, timestamps, packet spacing, and an initial ssthresh estimated by Hoe's method.
#[test]
fn what_the_authors_of_hybla_ask_for_is_named_where_it_is_missing() {
    let bare = run("hybla", "");
    let message = warning(&bare, "missing_companions").expect("a warning");
    assert!(!message.contains("variant"), "{message}");
    for setting in ["timestamps = true", "pacing = \"window\"", "slow_start = \"packet_pair\""] {
        assert!(message.contains(setting), "{message}");
    }
    let whole = run(
        "hybla",
        ", timestamps = true, pacing = \"window\", slow_start = { kind = \"packet_pair\", retries = 3 }",
    );
    assert_eq!(warning(&whole, "missing_companions"), None);
    // And they are what makes it work: without them slow start ends in one great loss.
    let goodput = |summary: &Summary| summary.flows[0].metrics.get("goodput_bps").unwrap_or(0.0);
    assert!(goodput(&whole) > 3.0 * goodput(&bare), "{} {}", goodput(&whole), goodput(&bare));
    assert!(goodput(&whole) > 5e6, "{}", goodput(&whole));
}

/// RFC 8257 section 3, RFC 9331 section 4: marks need feedback.
#[test]
fn congestion_controls_for_marks_need_ecn() {
    for (congestion, more, named) in [
        ("dctcp", "", Some("dctcp without ecn = true")),
        ("dctcp", ", ecn = true", None),
        ("dctcp", ", ecn = \"accurate\"", None),
        ("prague", "", Some("prague without ecn = \"accurate\"")),
        ("prague", ", ecn = true", Some("prague without ecn = \"accurate\"")),
        ("prague", ", ecn = \"accurate\"", None),
        ("cubic", "", None),
    ] {
        let summary = run(congestion, more);
        let message = warning(&summary, "missing_companions");
        assert_eq!(message.is_some(), named.is_some(), "{congestion}{more}: {message:?}");
        assert!(
            named.is_none_or(|text| message.is_some_and(|message| message.contains(text))),
            "{message:?}"
        );
    }
}

#[test]
fn a_slow_start_without_effect_is_named() {
    for (congestion, slow_start, named) in [
        ("bbr3", "packet_pair", true),
        ("sttp", "hystart++", true),
        ("sttp", "packet_pair", false),
        ("cubic", "hystart++", false),
        ("bbr3", "standard", false), // the default
    ] {
        let summary = run(congestion, &format!(", slow_start = \"{slow_start}\""));
        let message = warning(&summary, "unused_slow_start");
        assert_eq!(message.is_some(), named, "{congestion} {slow_start}: {message:?}");
    }
    // Linux's own, which nobody has set.
    let summary = run("bbr", ", variant = \"linux\"");
    assert_eq!(warning(&summary, "unused_slow_start"), None);
}

/// The thesis takes its average window after a timeout; after a fast retransmit too it no longer backs off.
#[test]
fn an_average_window_after_a_fast_retransmit_is_named() {
    let named = |congestion: &str| warning(&run_with(congestion), "average_window").map(str::to_string);
    let message = named("{ kind = \"reno_average\", on_fast_retransmit = true }").expect("a warning");
    assert!(message.starts_with("download: reno_average with on_fast_retransmit = true"), "{message}");
    assert_eq!(named("{ kind = \"reno_average\" }"), None);
    assert_eq!(named("\"reno\""), None);
}
