//! Explicit congestion notification (RFC 3168) from the queue to the window: a mark costs a window no more than a loss,
//! and no packet.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};
use proptest::prelude::*;

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

/// Flows over a bottleneck with RED that marks early and however long its average queue is, and a buffer without end. No
/// queue is so long that round trips outgrow the retransmission timer.
fn marking(flows: u32, mbit: u32, ms: u32, tcp: &str, seed: u64) -> String {
    let seed = seed >> 1;
    format!(
        "[run]\nduration = \"30 s\"\nseed = {seed}\n[dumbbell]\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         [dumbbell.bottleneck]\nrate = \"{mbit} Mbit/s\"\ndelay = \"{ms} ms\"\n\
         queue = {{ kind = \"red\", limit = \"1000000 packets\", min_threshold = \"5 packets\", max_threshold = \"1000 packets\", \
         queue_weight = 0.1, max_p = 1.0, mark_limit = 1.0, wait = false, adaptive = false }}\n\
         [[flow]]\ncount = {flows}\nstart = {{ uniform = [\"0 s\", \"1 s\"] }}\ntcp = {{ {tcp} }}\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Every packet arrives, so there is nothing to send again, whatever the recovery and the congestion control.
    #[test]
    fn a_marked_flow_without_loss_never_retransmits(
        flows in 1u32..6,
        mbit in 5u32..20,
        ms in 5u32..60,
        variant in prop_oneof![Just("reno"), Just("newreno"), Just("sack"), Just("fack"), Just("rack"), Just("tahoe")],
        congestion in prop_oneof![Just("reno"), Just("cubic")],
        established: bool,
        seed: u64,
    ) {
        let tcp = format!("ecn = true, variant = \"{variant}\", congestion = \"{congestion}\", established = {established}");
        let summary = run(&marking(flows, mbit, ms, &tcp, seed));
        let total = |name| summary.run.get(name).unwrap();
        prop_assert_eq!(total("lost_packets"), 0.0);
        prop_assert!(total("marked_packets") > 0.0);
        prop_assert!(total("ecn_reductions") > 0.0);
        prop_assert!(total("ecn_reductions") <= total("marked_packets"), "at most one for a mark");
        prop_assert_eq!(total("retransmitted_packets"), 0.0);
        prop_assert_eq!(total("fast_retransmits") + total("timeouts"), 0.0);
        prop_assert_eq!(total("congestion_events"), total("ecn_reductions"));
        let link = &summary.links[0].metrics;
        prop_assert!(link.get("marks").unwrap() >= total("marked_packets"), "some are on their way");
        for flow in &summary.flows {
            let each = |name| flow.metrics.get(name).unwrap();
            prop_assert!(each("ecn_reductions") <= each("marked_packets"));
        }
    }
}

/// Without ECN in TCP the same queue drops what it would have marked.
#[test]
fn packets_that_are_not_ecn_capable_are_dropped() {
    let summary = run(&marking(3, 10, 20, "ecn = false", 1));
    let link = &summary.links[0].metrics;
    assert_eq!(link.get("marks"), Some(0.0));
    assert!(link.get("drops_early").unwrap() > 0.0);
    assert_eq!(link.get("drops_early"), link.get("drops_queue"));
    assert_eq!(summary.run.get("marked_packets"), Some(0.0));
    assert!(summary.run.get("retransmitted_packets").unwrap() > 0.0);
}

/// The parameters of RED are checked when the scenario is read.
#[test]
fn wrong_parameters_are_refused_by_name() {
    let text = marking(1, 10, 20, "", 1).replace("queue_weight = 0.1", "queue_weight = 1.5");
    let error = load(&text, "red.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("queue.queue_weight: must be above 0 and at most 1, not 1.5"), "{error}");
}
