//! Links whose rate follows their signal.

use longhaul_results::Summary;
use longhaul_sim::{Outcome, RunOptions, load, simulate};

/// A signal of 12 dB that falls to 2 dB from 20 to 40 s, over 1 MBd: 16APSK 5/6 carries 3.300184 Mbit/s and QPSK 1/2 0.988858.
fn text(acm: &str, flow: &str) -> String {
    format!(
        "[run]\nduration = \"60 s\"\n[[link]]\nname = \"sky\"\nends = [\"a\", \"b\"]\n\
         forward = {{ delay = \"250 ms\", queue = \"2000 packets\", acm = {{ symbol_rate = 1e6, table = \"dvb-s2\", margin = 0, \
         hysteresis = 0, signal = [{{ at = \"0 s\", es_n0 = 12 }}, {{ at = \"19.95 s\", es_n0 = 12 }}, {{ at = \"19.96 s\", es_n0 = 2 }}, \
         {{ at = \"39.95 s\", es_n0 = 2 }}, {{ at = \"39.96 s\", es_n0 = 12 }}], {acm} }} }}\n\
         reverse = {{ rate = \"10 Mbit/s\", delay = \"250 ms\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

fn run(acm: &str, flow: &str) -> Outcome {
    let text = text(acm, flow);
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap()
}

const FULL: &str =
    "tcp = { congestion = { kind = \"fixed\", window = \"2 MB\" }, established = true, timestamps = false }";
const CALLS: &str =
    "transport = \"udp\"\napp = { kind = \"cbr\", rate = \"500 kbit/s\", message = \"1000 B\" }";

fn lost(summary: &Summary) -> f64 {
    let flow = &summary.flows[0].metrics;
    flow.get("sent_packets").unwrap() - flow.get("received_packets").unwrap()
}

/// A queue that is never empty takes what the modulation and code in use carries, in each second.
#[test]
fn the_rate_follows_the_signal() {
    let outcome = run("reaction = \"0 s\"", FULL);
    let at = |second: f64| {
        let mut rows = outcome.tables.links.iter().filter(|row| row.link == 0);
        rows.find(|row| (row.time_s - second).abs() < 1e-6).unwrap().throughput_bps
    };
    for (second, bps) in [(10.0, 3_300_184.0), (30.0, 988_858.0), (50.0, 3_300_184.0)] {
        assert!((at(second) / bps - 1.0).abs() < 0.005, "{second} s: {}", at(second));
    }
    // Ideals take the mean: a third of the time at the lower rate.
    let mean = (2.0 * 3_300_184.0 + 988_858.0) / 3.0;
    assert!((outcome.summary.links[0].rate_bps / mean - 1.0).abs() < 1e-6);
    let ideal = outcome.summary.flows[0].predicted.get("fair_share_bps").unwrap();
    assert!((ideal / (mean * 1460.0 / 1500.0) - 1.0).abs() < 1e-3, "{ideal}");
}

/// Of 62.5 datagrams a second, those that leave in the 2 s until the modem reacts are lost: 125. While it is faster than the signal, none is.
#[test]
fn what_leaves_before_the_modem_reacts_is_lost() {
    let on_the_way = 15.6; // those of the last 0.25 s
    let at_once = lost(&run("reaction = \"0 s\"", CALLS).summary);
    assert!((at_once - on_the_way).abs() <= 1.0, "{at_once}");
    let late = lost(&run("reaction = \"2 s\"", CALLS).summary) - at_once;
    assert!((late - 125.0).abs() <= 1.0, "{late}");
}

#[test]
fn events_have_the_losses() {
    let outcome = run("reaction = \"2 s\"", CALLS);
    let down = outcome.tables.events.iter().find(|event| event.kind == "link_down").unwrap();
    assert!((down.time_s - 20.0).abs() < 1e-9 && (down.value - 2.0).abs() < 1e-9);
}

#[test]
fn rain_is_the_same_under_a_seed_and_another_under_another() {
    let rain = |seed: u64| {
        let text = text("rain = { median = 3, sigma = 1, share = 0.5, beta = 0.05 }", CALLS);
        let seed = [("run.seed".to_string(), seed.to_string())];
        let scenario = load(&text, "test", &seed).unwrap();
        simulate(&scenario, RunOptions::default()).unwrap().summary.links[0].rate_bps
    };
    assert_eq!(rain(1), rain(1));
    assert_ne!(rain(1), rain(2));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refusal = |acm: &str, replaced: &str, by: &str| {
        load(&text(acm, CALLS).replace(replaced, by), "test", &[]).expect_err("must be refused").to_string()
    };
    let says = |message: String, part: &str| assert!(message.contains(part), "{message}");
    says(refusal("es_n0 = 3", "", ""), "acm.signal: `es_n0` gives the signal already");
    says(refusal("symbol_rate = 1", "symbol_rate = 1e6, ", ""), "must be");
    says(
        refusal("reaction = \"1 s\"", "forward = { ", "forward = { rate = \"1 Mbit/s\", "),
        "gives the rate: leave it out",
    );
    says(
        refusal("reaction = \"1 s\"", "forward = { ", "forward = { demand = { delay = \"1 s\" }, "),
        "grants the link its rate, and `acm`",
    );
    says(refusal("table = \"dvb-s3\"", "table = \"dvb-s2\", ", ""), "dvb-s2x");
    let held = "forward = { outages = [{ start = \"1 s\", duration = \"1 s\", mode = \"hold\" }], ";
    says(refusal("reaction = \"1 s\"", "forward = { ", held), "follows `acm`: write mode = \"drop\"");
    let rates = "forward = { changes = [{ at = \"1 s\", rate = \"1 Mbit/s\" }], ";
    says(refusal("reaction = \"1 s\"", "forward = { ", rates), "no script can change it");
}
