//! Links whose directions share one transmitter.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

/// 8 Mbit/s and 10 ms; packets of 1000 bytes take 1 ms, and turning round half a millisecond.
fn text(settings: &str, flows: &str) -> String {
    format!(
        "[run]\nduration = \"60 s\"\n[[link]]\nname = \"radio\"\nends = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = \"2000 packets\"\n{settings}\n{flows}"
    )
}

fn run(settings: &str, flows: &str) -> Summary {
    let text = text(settings, flows);
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

/// Datagrams of 1000 bytes with their headers, at more than the link's rate.
fn flood(from: &str, to: &str) -> String {
    format!(
        "[[flow]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"9 Mbit/s\", message = \"972 B\" }}\n"
    )
}

const HALF: &str = "half_duplex = { turnaround = \"500 us\" }";

fn throughput(summary: &Summary, link: usize) -> f64 {
    summary.links[link].metrics.get("throughput_bps").unwrap()
}

/// Both ways a packet in 3 ms each; one way alone all of the rate.
#[test]
fn both_directions_have_their_closed_form() {
    let both = run(HALF, &(flood("a", "b") + &flood("b", "a")));
    for link in [0, 1] {
        assert!(
            (throughput(&both, link) / (8000.0 / 0.003) - 1.0).abs() < 0.005,
            "{}",
            throughput(&both, link)
        );
    }
    let alone = run(HALF, &flood("a", "b"));
    assert!((throughput(&alone, 0) / 8e6 - 1.0).abs() < 0.005, "{}", throughput(&alone, 0));
}

/// Each ACK of two segments takes 2 turnarounds and its own time: 2 x 1.5 ms + 0.04 ms + 1 ms, in the place of 3 ms. The queue of ACKs is
/// often longer than one, so that there are fewer turns.
#[test]
fn acks_take_their_part_of_a_download() {
    let tcp = "[[flow]]\nfrom = \"a\"\nto = \"b\"\ntcp = { congestion = { kind = \"fixed\", window = \"300 kB\" }, established = true }\n";
    let goodput = |settings: &str| run(settings, tcp).flows[0].metrics.get("goodput_bps").unwrap();
    let (half, full) = (goodput(HALF), goodput(""));
    assert!(half > 0.6 * full && half < 0.95 * full, "{half} {full}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for setting in [
        "demand = { delay = \"1 s\" }",
        "serial = { framing = \"slip\" }",
        "loss = \"1 %\"\narq = {}",
        "changes = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]",
        "outages = [{ start = \"1 s\", duration = \"1 s\", mode = \"hold\" }]",
    ] {
        let text = text(&format!("{setting}\n{HALF}"), &flood("a", "b"));
        let message = load(&text, "test", &[]).expect_err("must be refused").to_string();
        assert!(message.contains("one transmitter of a constant rate"), "{message}");
    }
}
