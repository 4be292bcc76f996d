//! Links whose capacity is assigned on request.

use longhaul_sim::{RunOptions, load, simulate};

/// A file of one segment from a hub to a terminal. The SYN takes 250 ms and comes at 250.1 ms; the SYN-ACK is asked for at 270 ms (frames of
/// 30 ms), assigned at 870 ms and back at 1120.1 ms; the data of 1500 bytes take 1.5 ms and 250 ms. With capacity that needs no
/// request the SYN-ACK leaves at once.
#[test]
fn an_acknowledgment_waits_for_its_assignment() {
    for (constant, seconds) in [("", 1.3716), (", constant = \"64 kbit/s\"", 0.7517)] {
        let text = format!(
            "[run]\nduration = \"5 s\"\n[[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\nrate = \"8 Mbit/s\"\n\
             delay = \"250 ms\"\nreverse = {{ demand = {{ frame = \"30 ms\", delay = \"600 ms\"{constant} }} }}\n\
             [[flow]]\nfrom = \"hub\"\nto = \"terminal\"\napp = {{ kind = \"bulk\", size = \"1460 B\" }}\n\
             tcp = {{ mss = \"1460 B\" }}\n"
        );
        let scenario = load(&text, "demand", &[]).unwrap();
        let summary = simulate(&scenario, RunOptions::default()).unwrap().summary;
        let took = summary.flows[0].metrics.get("completion_time_s").unwrap();
        assert!((took - seconds).abs() < 2e-4, "{took} s, not {seconds} s");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let text = "[run]\nduration = \"5 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                demand = { frame = \"0 s\", delay = \"1 ms\" }\n";
    let message = load(text, "demand", &[]).unwrap_err().to_string();
    assert!(message.contains("demand.frame: must be above 0 s"), "{message}");
}
