//! Scenarios of many `[[flow]]` sections.

use crate::common::head;
use longhaul_scenario::{load, resolved_toml};

fn with_flows(count: usize) -> String {
    let flow = |index| format!("[[flow]]\nname = \"f{index}\"\nfrom = \"hub\"\nto = \"remote\"\n");
    head!().to_string() + &(0..count).map(flow).collect::<String>()
}

/// What is written is pieced together from its tables: it must be the same text as without a detour, in the same order.
#[test]
fn a_resolved_scenario_is_what_the_toml_crate_writes_and_reads_back_as_the_same() {
    let scenario = load(&with_flows(300), "large.toml", &[]).unwrap();
    let resolved = resolved_toml(&scenario);
    assert_eq!(resolved, toml::to_string(&scenario).unwrap());
    assert_eq!(load(&resolved, "resolved.toml", &[]).unwrap(), scenario);
}
