//! Flow monitors count at the link what endpoints count at theirs: packets offered are those that senders sent, packets offered
//! and not dropped are those that receivers saw, and nothing changes for being watched.

use longhaul_results::{LinkSummary, Summary};
use longhaul_sim::{Outcome, RunOptions, load, simulate};
use longhaul_units::Id;
use proptest::prelude::*;

fn run(text: &str) -> Outcome {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap()
}

fn link<'a>(summary: &'a Summary, name: &str) -> &'a LinkSummary {
    summary.links.iter().find(|link| link.name == name).expect("there is such a link")
}

fn counted(link: &LinkSummary, flow: usize, name: &str) -> f64 {
    let found = link
        .monitor
        .iter()
        .find(|monitored| monitored.flow.index() == flow)
        .expect("the flow crosses the link");
    found.metrics.get(name).expect("it is counted")
}

/// Transfers that all end, over a dumbbell without losses but at the queue. Handshakes are skipped, so that data, ACKs and a FIN for
/// each side are all there is.
fn transfers(queue: &str, limit: u32, sizes: &[(u32, bool)], seed: u64, warmup: u32) -> String {
    let mut text = format!(
        "[run]\nduration = \"2000 s\"\nseed = {seed}\nwarmup = \"{warmup} s\"\nmonitor = [\"bottleneck\"]\n[dumbbell]\n\
         bottleneck = {{ rate = \"2 Mbit/s\", delay = \"10 ms\", queue = {{ kind = \"{queue}\", limit = \"{limit} packets\" }} }}\n\
         access = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
    );
    for (index, (kilobytes, sack)) in sizes.iter().enumerate() {
        let variant = if *sack { "sack" } else { "reno" };
        text += &format!(
            "[[flow]]\nname = \"f{index}\"\nstart = {{ uniform = [\"0 s\", \"3 s\"] }}\napp = {{ kind = \"bulk\", size = \"{kilobytes} kB\" }}\n\
             tcp = {{ variant = \"{variant}\", mss = \"1000 B\", established = true, timestamps = false, dsack = false }}\n"
        );
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn monitors_and_endpoints_agree(
        queue in prop_oneof![Just("droptail"), Just("red"), Just("drr"), Just("wfq"), Just("codel"), Just("head_drop")],
        limit in 5u32..60,
        sizes in proptest::collection::vec((1u32..400, any::<bool>()), 1..8),
        seed in 0u64..1000,
    ) {
        let outcome = run(&transfers(queue, limit, &sizes, seed, 0));
        let forward = link(&outcome.summary, "bottleneck.forward");
        for (flow, (kilobytes, _)) in sizes.iter().enumerate() {
            let metrics = &outcome.summary.flows[flow].metrics;
            let endpoint = |name: &str| metrics.get(name).unwrap();
            let [offered, offered_bytes, dropped, dropped_bytes] =
                ["offered_packets", "offered_bytes", "dropped_packets", "dropped_bytes"]
                    .map(|name| counted(forward, flow, name));
            prop_assert_eq!(endpoint("delivered_bytes"), f64::from(*kilobytes) * 1000.0);
            // Beside data there are bare packets of 40 B: the FIN if it did not ride on data, the ACK of the server's FIN, and what was
            // sent again of these.
            let (sent, received) = (endpoint("sent_packets"), endpoint("received_packets"));
            let (bare, bare_lost) = (offered - sent, dropped - endpoint("lost_packets"));
            prop_assert!((1.0..=20.0).contains(&bare), "{} packets offered, {} sent", offered, sent);
            prop_assert_eq!(offered - dropped, received + bare - bare_lost);
            // Bits of payload over the time that the transfer took; bits that arrived over what 2 Mbit/s carry in 2000 s.
            let payload = (endpoint("throughput_bps") * endpoint("completion_time_s") / 8.0).round();
            prop_assert_eq!(offered_bytes, payload + 40.0 * offered);
            let arrived = (endpoint("utilisation") * 2e6 * 2000.0 / 8.0).round();
            let passed = offered_bytes - dropped_bytes;
            // A FIN that comes again counts as a byte of the stream that was received twice.
            let fins = arrived + 40.0 * (bare - bare_lost) - passed;
            prop_assert!((0.0..=20.0).contains(&fins), "{} B passed, {} arrived", passed, arrived);
        }
        // The link's own counters are the sums.
        let sum = |name: &str| (0..sizes.len()).map(|flow| counted(forward, flow, name)).sum::<f64>();
        prop_assert_eq!(forward.metrics.get("arrivals").unwrap(), sum("offered_packets"));
        prop_assert_eq!(forward.metrics.get("drops_queue").unwrap(), sum("dropped_packets"));
        prop_assert_eq!(forward.metrics.get("offered_bytes").unwrap(), sum("offered_bytes"));
        // The time series adds up to the same.
        let rows = outcome.tables.monitors.iter().filter(|row| row.link == 0);
        let series = rows.map(|row| row.offered_bytes + row.dropped_bytes).sum::<u64>();
        prop_assert_eq!(series as f64, sum("offered_bytes") + sum("dropped_bytes"));
    }
}

#[test]
fn what_is_offered_during_the_warmup_is_not_counted() {
    let sizes = [(400, true), (400, false)];
    let at_once = |warmup| {
        transfers("droptail", 20, &sizes, 1, warmup).replace("[\"0 s\", \"3 s\"]", "[\"0 s\", \"0 s\"]")
    };
    let [whole, rest] = [0, 1].map(|warmup| run(&at_once(warmup)).summary);
    let all = counted(link(&whole, "bottleneck.forward"), 0, "offered_bytes");
    let later = counted(link(&rest, "bottleneck.forward"), 0, "offered_bytes");
    assert!(later > 0.0 && later < all, "{later} of {all}");
    let arrivals = link(&rest, "bottleneck.forward").metrics.get("arrivals").unwrap();
    let sum: f64 = (0..2).map(|f| counted(link(&rest, "bottleneck.forward"), f, "offered_packets")).sum();
    assert_eq!(arrivals, sum);
}

#[test]
fn watching_changes_nothing() {
    let sizes = [(300, true), (200, false), (100, true)];
    let text = transfers("droptail", 15, &sizes, 3, 0);
    let unwatched = run(&text.replace("monitor = [\"bottleneck\"]\n", "")).summary;
    let watched = run(&text).summary;
    assert_eq!(watched.flows, unwatched.flows);
    assert!(unwatched.links.iter().all(|link| link.monitor.is_empty()));
    assert_eq!(unwatched.links[0].metrics.get("offered_bytes"), None);
}

/// A warm-up changes what is measured and nothing that happens: counts of the whole run are those of a run without it.
#[test]
fn counts_of_the_whole_run_are_those_of_a_run_without_warm_up() {
    let sizes = [(300, true), (300, false), (200, true)];
    let [with, without] = [2, 0].map(|warmup| run(&transfers("droptail", 10, &sizes, 1, warmup)).summary);
    for (with, without) in with.flows.iter().zip(&without.flows) {
        let whole = with.whole_run.as_ref().expect("there is a warm-up");
        assert!(without.whole_run.is_none());
        assert!(whole.get("sent_packets") >= with.metrics.get("sent_packets"));
        for name in
            ["delivered_bytes", "sent_packets", "retransmitted_packets", "received_packets", "lost_packets"]
        {
            assert_eq!(whole.get(name), without.metrics.get(name), "{name}");
        }
        for name in ["fast_retransmits", "timeouts", "congestion_events"] {
            assert_eq!(whole.get(name), without.metrics.get(name), "{name}");
        }
    }
    assert!(
        with.flows
            .iter()
            .any(|flow| flow.whole_run.as_ref().unwrap().get("sent_packets")
                > flow.metrics.get("sent_packets"))
    );
    let [whole, plain] = [&with, &without].map(|summary| link(summary, "bottleneck.forward"));
    for name in ["arrivals", "transmitted_packets", "drops_queue", "drop_rate"] {
        assert_eq!(whole.whole_run.as_ref().unwrap().get(name), plain.metrics.get(name), "{name}");
    }
}
