//! Congestion controls that answer to how much was marked: DCTCP (RFC 8257) and Prague, through queues that mark.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

/// One flow for 20 s over 100 Mbit/s, of which the first 5 are left out.
fn one_flow(one_way_ms: u32, queue: &str, tcp: &str) -> Summary {
    run(&format!(
        "[run]\nduration = \"20 s\"\nwarmup = \"5 s\"\nseed = 1\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\n\
         delay = \"{one_way_ms} ms\"\nqueue = {{ {queue} }}\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {{ {tcp} }}\n"
    ))
}
fn of_flow(summary: &Summary, metric: &str) -> f64 {
    summary.flows[0].metrics.get(metric).unwrap_or_else(|| panic!("{metric}"))
}
fn utilisation(summary: &Summary) -> f64 {
    summary.links[0].metrics.get("utilisation").unwrap()
}
/// Marks all that waits for longer: the threshold K of DCTCP, in time.
fn step(us: u32) -> String {
    format!(
        "kind = \"codel\", limit = \"1000 packets\", target = \"500 ms\", interval = \"1 s\", ce_threshold = \"{us} us\""
    )
}

/// Packets of a round trip of 20 ms and of a queue at that threshold.
fn packets(us: u32) -> f64 {
    (0.020 + f64::from(us) / 1e6) * 1e8 / (8.0 * 1500.0)
}

/// Alizadeh et al., "Data Center TCP" (2010), section 3.3: K > C RTT / 7 keeps the link busy whatever the number of flows; of one
/// flow the queue swings by sqrt(2 (C RTT + K)) / 2 packets, and a threshold below that lets it run dry. With either feedback.
#[test]
fn a_threshold_of_a_seventh_of_the_path_keeps_the_link_busy() {
    for ecn in ["true", "\"accurate\""] {
        let tcp = format!("congestion = \"dctcp\", ecn = {ecn}");
        let enough = one_flow(10, &step(20_000 / 7), &tcp);
        assert!(utilisation(&enough) > 0.9995, "{ecn}: {}", utilisation(&enough));
        assert_eq!(of_flow(&enough, "lost_packets"), 0.0);
        // 120 us for each packet.
        let swing = (2.0 * packets(1000)).sqrt() / 2.0 * 120.0;
        assert!((1000.0..1200.0).contains(&swing), "{swing}");
        let half = one_flow(10, &step(500), &tcp);
        assert!((0.98..0.997).contains(&utilisation(&half)), "{ecn}: {}", utilisation(&half));
    }
}

/// Equations 6 to 9 there: alpha is about sqrt(2 / W) for a largest window of W packets, and one round trip is marked in each
/// sawtooth, which is W alpha / 2 of them long. As the last window is not marked as a whole, it is a little less.
#[test]
fn a_round_trip_in_each_sawtooth_is_marked() {
    let tcp = "congestion = \"dctcp\", ecn = \"accurate\", delayed_ack = \"off\"";
    let summary = one_flow(10, &step(3_400), tcp);
    let w = packets(3_400);
    let sawtooth = w * (2.0 / w).sqrt() / 2.0;
    let marked = of_flow(&summary, "marked_packets") / of_flow(&summary, "received_packets");
    assert!(
        (0.65..1.1).contains(&(marked * sawtooth)),
        "{marked} marked, a sawtooth of {sawtooth} round trips"
    );
}

/// Where marks come at random, with a probability that grows with the queue, two to three packets of Prague are marked in each round
/// trip. p W = 2 (RFC 9332 section 1.2) is for an even share of marks; of Poisson's some round trips have none, so that the others
/// have more: m (1 - exp(-m)) = 2 gives 2.24, and the queue comes and goes.
#[test]
fn two_of_pragues_packets_are_marked_in_each_round_trip() {
    let queue = "kind = \"red\", limit = \"2000 packets\", min_threshold = \"1 packets\", max_threshold = \"500 packets\", \
                 queue_weight = 0.05, max_p = 1.0, mark_limit = 1.0, wait = false, adaptive = false";
    for one_way_ms in [13, 15] {
        let summary = one_flow(one_way_ms, queue, "congestion = \"prague\", ecn = \"accurate\"");
        let (rtt, seconds) = (of_flow(&summary, "rtt_mean_s"), 15.0);
        let marks = of_flow(&summary, "marked_packets") * rtt / seconds;
        assert!((2.0..3.0).contains(&marks), "{one_way_ms} ms: {marks} marks a round trip");
        assert!(utilisation(&summary) > 0.98, "{one_way_ms} ms: {}", utilisation(&summary));
        assert!(rtt < 0.002 * f64::from(one_way_ms) + 0.002, "{one_way_ms} ms: {rtt}");
        assert_eq!(of_flow(&summary, "retransmitted_packets"), 0.0);
    }
}

/// Without ECN at the peer's end both are what they are upon losses: half, and 0.7 of the window, with no mark.
#[test]
fn without_marks_losses_count() {
    for congestion in ["dctcp", "prague"] {
        let queue = "kind = \"droptail\", limit = \"170 packets\"";
        let summary = one_flow(10, queue, &format!("congestion = \"{congestion}\", ecn = \"accurate\""));
        assert!(utilisation(&summary) > 0.9, "{congestion}: {}", utilisation(&summary));
        assert!(of_flow(&summary, "fast_retransmits") > 0.0);
        assert_eq!(of_flow(&summary, "marked_packets"), 0.0);
    }
}

/// RFC 8511: a queue that marks early costs a flow with alternative back-off less of the link.
#[test]
fn alternative_back_off_keeps_the_link_busier() {
    let queue = step(1000);
    for kind in ["reno", "cubic"] {
        let with = |abe: bool| {
            let tcp = format!("congestion = {{ kind = \"{kind}\", abe = {abe} }}, ecn = true");
            utilisation(&one_flow(20, &queue, &tcp))
        };
        let (with, without) = (with(true), with(false));
        assert!(with > without + 0.02, "{kind}: {with} {without}");
    }
}
