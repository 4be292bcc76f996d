//! Links that repeat what they lose, in whole runs.

use longhaul_results::{FlowSummary, Summary};
use longhaul_sim::{RunOptions, load, simulate};

/// 10 Mbit/s and 100 ms, with 10 % of the packets lost.
fn run(arq: &str, flow: &str) -> Summary {
    let text = format!(
        "[run]\nduration = \"200 s\"\n[[link]]\nname = \"sky\"\nends = [\"a\", \"b\"]\n\
         forward = {{ rate = \"10 Mbit/s\", delay = \"100 ms\", queue = \"2000 packets\", loss = \"10 %\"{arq} }}\n\
         reverse = {{ rate = \"10 Mbit/s\", delay = \"100 ms\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

const FLOOD: &str =
    "transport = \"udp\"\napp = { kind = \"cbr\", rate = \"11 Mbit/s\", message = \"1472 B\" }";
const LIGHT: &str =
    "transport = \"udp\"\napp = { kind = \"cbr\", rate = \"200 kbit/s\", message = \"1222 B\" }";

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

/// What gets through is the rate times 1 - p, and nothing is lost but what the queue drops.
#[test]
fn a_full_link_carries_its_rate_without_the_repetitions() {
    let summary = run(", arq = {}", FLOOD);
    let carried = metric(&summary.flows[0], "received_packets") * 12_000.0 / 200.0;
    assert!((carried / 9e6 - 1.0).abs() < 0.01, "{carried}");
    let link = &summary.links[0].metrics;
    assert!(link.get("drops_loss") == Some(0.0));
    let share = link.get("repeated_packets").unwrap() / link.get("transmitted_packets").unwrap();
    assert!((share - 0.1).abs() < 0.005, "{share}");
}

/// Each repetition is 200 ms and a transmission of 1 ms later: p / (1 - p) of them on average.
#[test]
fn delays_are_those_of_geometric_attempts() {
    let delay = |arq: &str| metric(&run(arq, LIGHT).flows[0], "one_way_delay_mean_s");
    let unordered = delay(", arq = { in_order = false }");
    assert!((unordered - (0.101 + 0.201 / 9.0)).abs() < 0.003, "{unordered}");
    // In order, others wait for it too.
    assert!(delay(", arq = {}") > unordered + 0.01);
    let quick = delay(", arq = { in_order = false, feedback = \"20 ms\" }");
    assert!((quick - (0.101 + 0.021 / 9.0)).abs() < 0.001, "{quick}");
}

/// p^n of the packets are lost after n attempts.
#[test]
fn what_is_left_of_the_loss_is_its_power() {
    for (attempts, left) in [(1, 0.1), (2, 0.01)] {
        let summary = run(&format!(", arq = {{ attempts = {attempts} }}"), FLOOD);
        let link = &summary.links[0].metrics;
        let lost = link.get("drops_loss").unwrap()
            / (link.get("arrivals").unwrap() - link.get("drops_queue").unwrap());
        assert!((lost / left - 1.0).abs() < 0.1, "{attempts}: {lost}");
    }
}

/// TCP over a persistent link: no loss is left for it, so that it fills what the repetitions leave; its ideal is that too.
#[test]
fn tcp_does_not_see_the_losses() {
    let goodput = |arq: &str| {
        let summary = run(arq, "");
        (metric(&summary.flows[0], "goodput_bps"), summary.flows[0].predicted.get("fair_share_bps").unwrap())
    };
    let ((with, ideal), (without, _)) = (goodput(", arq = {}"), goodput(""));
    assert!((ideal / (9e6 * 1460.0 / 1500.0) - 1.0).abs() < 1e-3, "{ideal}");
    assert!(with > 0.8 * ideal && with < 1.02 * ideal, "{with} of {ideal}");
    assert!(without < 0.1 * with, "{without}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let text = "[run]\nduration = \"5 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                loss = \"1 %\"\narq = {}\nMORE\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    for more in ["demand = { delay = \"1 s\" }", "serial = { framing = \"slip\" }"] {
        let message =
            load(&text.replace("MORE", more), "test", &[]).expect_err("must be refused").to_string();
        assert!(message.contains("whose transmitter repeats nothing"), "{message}");
    }
    let message = load(&text.replace("MORE", "").replace("{}", "{ attempts = 0 }"), "test", &[])
        .unwrap_err()
        .to_string();
    assert!(message.contains("arq.attempts"), "{message}");
}
