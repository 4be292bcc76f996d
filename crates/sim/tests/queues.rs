//! What queue disciplines promise, seen from the ends: shares of flows, and the delay that they keep.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

/// Two unequal flows at 20 Mbit/s: a CUBIC flow with large packets and a short path, a Reno flow with small packets and a
/// long one.
fn unequal(queue: &str, weight: u32) -> Summary {
    run(&format!(
        "[run]\nduration = \"60 s\"\nwarmup = \"20 s\"\n\
         [[link]]\nname = \"bottleneck\"\nends = [\"a\", \"b\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = {{ {queue} }}\n\
         [[flow]]\nname = \"large\"\nfrom = \"a\"\nto = \"b\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         tcp = {{ congestion = \"cubic\", mss = \"1460 B\" }}\n\
         [[flow]]\nname = \"small\"\nfrom = \"a\"\nto = \"b\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"10 ms\" }}\nweight = {weight}\n\
         tcp = {{ congestion = \"reno\", mss = \"500 B\" }}\n"
    ))
}

fn throughput(summary: &Summary, flow: usize) -> f64 {
    summary.flows[flow].metrics.get("throughput_bps").unwrap()
}

/// DropTail gives nearly all to the first; fair queues give both the same, on the wire: 500 of 540 B and 1460 of 1500 B are
/// payload, so that equal bytes make a ratio of payloads of (1460 / 1500) / (500 / 540) = 1.0512.
#[test]
fn fair_queues_share_equally() {
    let droptail = unequal("kind = \"droptail\", limit = \"200 packets\"", 1);
    assert!(throughput(&droptail, 0) > 4.0 * throughput(&droptail, 1));
    for queue in ["kind = \"drr\", limit = \"300 packets\"", "kind = \"wfq\", limit = \"300 packets\""] {
        let summary = unequal(queue, 1);
        let ratio = throughput(&summary, 0) / throughput(&summary, 1);
        assert!((ratio / 1.0512 - 1.0).abs() < 0.03, "{queue}: {ratio}");
        assert!(summary.links[0].metrics.get("utilisation").unwrap() > 0.99);
    }
    // CoDel leaves a Reno flow alone in its queue 3/4 of its half (the mean of a sawtooth between cwnd / 2 and cwnd with next
    // to no queue), and the other one takes what is left: 5/3 at worst.
    let summary = unequal("kind = \"fq_codel\", limit = \"10240 packets\"", 1);
    let ratio = throughput(&summary, 0) / throughput(&summary, 1);
    assert!((1.0..1.0512 * 5.0 / 3.0).contains(&ratio), "{ratio}");
}

/// Weight 3 against 1: three quarters of the bytes.
#[test]
fn weights_share_in_proportion() {
    for queue in ["kind = \"drr\", limit = \"1000 packets\"", "kind = \"wfq\", limit = \"1000 packets\""] {
        let summary = unequal(queue, 3);
        let ratio = throughput(&summary, 1) / throughput(&summary, 0);
        assert!((ratio / (3.0 / 1.0512) - 1.0).abs() < 0.05, "{queue}: {ratio}");
    }
}

/// Ten Reno flows, 20 Mbit/s, RTT 100 ms, a buffer of 600 ms. DropTail fills it, the others keep what they aim at.
#[test]
fn active_queue_management_keeps_the_delay_short() {
    let delay = |queue: &str, ecn: bool| {
        let summary = run(&format!(
            "[run]\nduration = \"80 s\"\nwarmup = \"20 s\"\n[dumbbell]\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             [dumbbell.bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"48 ms\"\nqueue = {{ {queue}, limit = \"1000 packets\" }}\n\
             [[flow]]\ncount = 10\nstart = {{ uniform = [\"0 s\", \"2 s\"] }}\ntcp = {{ congestion = \"reno\", ecn = {ecn} }}\n"
        ));
        let metrics = &summary.links[0].metrics;
        let (median, used) = (metrics.get("queue_delay_p50_s").unwrap(), metrics.get("utilisation").unwrap());
        assert!(used > 0.9, "{queue}: utilisation {used}");
        assert!(ecn == (metrics.get("marks").unwrap() > 0.0), "{queue}: marks");
        median * 1e3
    };
    assert!(delay("kind = \"droptail\"", false) > 300.0);
    for ecn in [false, true] {
        // CoDel's target is a delay that may stand, and the median of a sawtooth lies above it.
        let codel = delay("kind = \"codel\"", ecn);
        assert!((2.0..20.0).contains(&codel), "codel {codel} ms");
        // PIE steers the mean to 15 ms.
        let pie = delay("kind = \"pie\"", ecn);
        assert!((8.0..25.0).contains(&pie), "pie {pie} ms");
        // RED's thresholds are 12.5 and 37.5 packets at 5 ms of packets of 500 B; these have 1500 B: 7.5 to 22.5 ms.
        let red = delay("kind = \"red\"", ecn);
        assert!((5.0..25.0).contains(&red), "red {red} ms");
    }
}
