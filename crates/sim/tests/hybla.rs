//! Hybla over a geostationary link, with and without what its authors ask for.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

fn run(tcp: &str) -> Summary {
    let text = format!(
        "[run]\nduration = \"40 s\"\n\
         [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\ndelay = \"300 ms\"\nrate = \"10 Mbit/s\"\n\
         queue = {{ kind = \"droptail\", limit = \"200 packets\" }}\n\
         [[flow]]\nname = \"download\"\nfrom = \"hub\"\nto = \"terminal\"\ntcp = {{ congestion = \"hybla\"{tcp} }}\n"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

fn warning(summary: &Summary) -> Option<&str> {
    let mut warnings = summary.warnings.iter();
    warnings.find(|warning| warning.code == "missing_companions").map(|warning| warning.message.as_str())
}

/// Caini and Firrincieli 2004: SACK, timestamps, packet spacing, and an initial ssthresh estimated by Hoe's method.
#[test]
fn what_the_authors_ask_for_is_named_where_it_is_missing() {
    let bare = run("");
    let message = warning(&bare).expect("a warning");
    assert!(!message.contains("variant"), "{message}");
    for setting in ["timestamps = true", "pacing = \"window\"", "slow_start = \"packet_pair\""] {
        assert!(message.contains(setting), "{message}");
    }
    let whole =
        run(", timestamps = true, pacing = \"window\", slow_start = { kind = \"packet_pair\", retries = 3 }");
    assert_eq!(warning(&whole), None);
    // And they are what makes it work: without them slow start ends in one great loss.
    let goodput = |summary: &Summary| summary.flows[0].metrics.get("goodput_bps").unwrap_or(0.0);
    assert!(goodput(&whole) > 3.0 * goodput(&bare), "{} {}", goodput(&whole), goodput(&bare));
    assert!(goodput(&whole) > 5e6, "{}", goodput(&whole));
}
