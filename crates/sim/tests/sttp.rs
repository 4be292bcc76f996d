//! STTP in whole networks, with the numbers of its thesis as literals.

use longhaul_results::{FlowSummary, Summary};
use longhaul_sim::{Outcome, RunOptions, load, simulate};

fn outcome(text: &str) -> Outcome {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions { tables: true, ..RunOptions::default() }).unwrap()
}

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

/// Packets of 1000 bytes, ACKs of 40 for each, Reno's retransmission, a window of 20 packets, no handshake but the probes.
const THESIS: &str = "established = true, variant = \"reno\", mss = \"960 B\", delayed_ack = \"off\", \
                      receive_buffer = \"20 packets\", limited_transmit = false, \
                      rto = { min = \"200 ms\", initial = \"6 s\", granularity = \"100 ms\" }";

/// TOPO-2 of the thesis (section 3.2): a dumbbell with private access links of 10 Mbit/s or as told, 1 ms each.
fn topo_2(seconds: u64, bottleneck: &str, access: &str, packets: u64, flows: &str) -> String {
    format!(
        "[run]\nduration = \"{seconds} s\"\n[dumbbell]\n\
         bottleneck = {{ rate = \"{bottleneck}\", delay = \"1 ms\", queue = {{ kind = \"droptail\", limit = \"{packets} packets\" }} }}\n\
         access = {{ rate = \"{access}\", delay = \"1 ms\", queue = {{ kind = \"droptail\", limit = \"{packets} packets\" }} }}\n{flows}"
    )
}

fn greedy(name: &str, count: u32, start: &str, congestion: &str, more: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\ncount = {count}\nstart = {start}\ntcp = {{ {THESIS}, congestion = {congestion}{more} }}\n"
    )
}

const PAIR: &str = ", slow_start = \"packet_pair\"";

/// Point 4: "Single STTP flow on TOPO-2/128 kb/s: >= 31,950 of 32,000 packets in 2000 s, zero drops". Point 5: two probes of
/// 40 bytes, and packets of 1000.
#[test]
fn a_single_flow_fills_the_link_without_a_loss() {
    for source in ["timer", "acks"] {
        let congestion = format!("{{ kind = \"sttp\", bucket = \"{source}\" }}");
        let flow = greedy("sttp", 1, "\"0 s\"", &congestion, PAIR);
        let summary = run(&topo_2(2000, "128 kbit/s", "128 kbit/s", 64, &flow));
        let delivered = metric(&summary.flows[0], "delivered_bytes") / 960.0;
        assert!((31_950.0..=32_000.0).contains(&delivered), "{source}: {delivered}");
        assert_eq!(metric(&summary.flows[0], "lost_packets"), 0.0);
        assert_eq!(metric(&summary.flows[0], "retransmitted_packets"), 0.0);
    }
}

/// Point 7: "Strict mode shows dead flows (lost 40-byte probes) from n ~ 30 in Exp 2; retry mode removes them."
#[test]
fn under_load_strict_flows_die_and_retrying_ones_do_not() {
    let failed = |start: &str| {
        let more = format!(", slow_start = {start}");
        let flows = greedy("sttp", 60, "{ spaced = \"2 s\" }", "\"sttp\"", &more);
        let outcome = outcome(&topo_2(150, "2 Mbit/s", "10 Mbit/s", 128, &flows));
        let events = outcome.tables.events.iter().filter(|event| event.kind == "start_failed").count();
        let warned = outcome.summary.warnings.iter().any(|warning| warning.code == "start_failed");
        assert_eq!(outcome.summary.run.get("failed_starts"), Some(events as f64));
        assert_eq!(warned, events > 0);
        events
    };
    assert!(failed("\"packet_pair\"") > 0);
    assert_eq!(failed("{ kind = \"packet_pair\", retries = 5 }"), 0);
}

/// Rates in bit/s on the wire with which the flows of a group begin.
fn first_rates(text: &str, group: &str) -> Vec<f64> {
    let outcome = outcome(text);
    let of_group = |flow: i32| outcome.summary.flows[flow as usize].group == group;
    let probed = outcome.tables.events.iter().filter(|event| event.kind == "probed" && of_group(event.flow));
    probed.map(|event| event.value * 1000.0 / 960.0).collect()
}

/// Estimates on FIFO queues: with fast access links the probes stay together
/// and measure C, busy or not; where access is slow, packets slip between them: C/26, C/51, ...
#[test]
fn on_fifo_a_pair_measures_the_capacity_or_a_fraction_of_it() {
    let rates = |access: &str, rivals: u32| {
        let start = ", slow_start = { kind = \"packet_pair\", timeout = \"60 s\" }";
        let rivals = greedy("reno", rivals, "{ spaced = \"37 ms\" }", "\"reno\"", "");
        let congestion = "{ kind = \"sttp\", rho_fail = 0 }";
        let pairs = greedy("sttp", 20, "{ spaced = \"1.037 s\", first = \"10 s\" }", congestion, start);
        // Without probes that find the queue full and are dead.
        first_rates(&topo_2(40, "2 Mbit/s", access, 1000, &(rivals + &pairs)), "sttp")
    };
    let between = |rate: &f64| (2e6 / rate - 1.0) / 25.0;
    let fast = rates("100 Mbit/s", 2);
    let whole = fast.iter().filter(|rate| between(rate).abs() < 0.01).count();
    assert!(fast.len() == 20 && whole >= 18, "{fast:?}");
    let slow = rates("200 kbit/s", 20);
    let counts: Vec<f64> = slow.iter().map(between).collect();
    for k in &counts {
        // An empty queue leaves the gap of the access link: 200 kbit/s, which (10 - 1) / 25 stands for.
        let own_link = (k - 0.36).abs() < 0.01;
        assert!(own_link || (k - k.round()).abs() < 0.02 * k.max(1.0), "{k} packets between the probes");
    }
    let with = |k: f64| counts.iter().filter(|count| count.round() == k).count();
    assert!(slow.len() == 20 && with(0.0) >= 3 && with(1.0) >= 3, "{counts:?}");
}

/// Keshav's condition: where each flow has a turn of its own, the gap between two full-sized probes is a round of turns, and
/// the pair measures the flow's share: a quarter of 2 Mbit/s beside three greedy flows.
#[test]
fn on_fair_queues_a_pair_measures_the_share() {
    for queue in ["kind = \"drr\", quantum = \"1 kB\"", "kind = \"wfq\""] {
        let rivals = greedy("reno", 3, "\"0 s\"", "\"reno\"", "");
        let start = ", slow_start = { kind = \"packet_pair\", size = \"1 kB\", timeout = \"20 s\" }";
        let pair = greedy("sttp", 1, "\"20 s\"", "\"sttp\"", start);
        let text = topo_2(40, "2 Mbit/s", "100 Mbit/s", 128, &(rivals + &pair)).replacen(
            "kind = \"droptail\"",
            queue,
            1,
        );
        let rates = first_rates(&text, "sttp");
        assert!(rates.len() == 1 && (rates[0] / 500e3 - 1.0).abs() < 0.3, "{queue}: {rates:?}");
    }
}

/// Point 8 in small: one STTP flow beside one Reno flow gets the smaller part.
#[test]
fn reno_takes_the_link_from_sttp() {
    let flows =
        greedy("reno", 1, "\"0 s\"", "\"reno\"", "") + &greedy("sttp", 1, "\"0 s\"", "\"sttp\"", PAIR);
    let text =
        topo_2(300, "2 Mbit/s", "10 Mbit/s", 32, &flows).replace("receive_buffer = \"20 packets\", ", "");
    let text = text.replace("\"sttp\", slow", "{ kind = \"sttp\", peer_window = 0 }, slow");
    let summary = run(&text);
    let goodput = |flow: usize| metric(&summary.flows[flow], "goodput_bps");
    assert!(goodput(1) < goodput(0), "reno {} sttp {}", goodput(0), goodput(1));
}

/// Goodput in Mbit/s of a flow with `tcp` that begins first, and of a rival that comes after 5 s; 10 Mbit/s, 100 ms and a buffer
/// of one bandwidth-delay product, 83 packets of 1500 bytes.
fn beside(tcp: &str, rival: &str) -> (f64, f64) {
    let flow = |name: &str, start: &str, tcp: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{start}\"\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\ntcp = {{ {tcp} }}\n"
        )
    };
    let text = format!(
        "[run]\nduration = \"200 s\"\nwarmup = \"40 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n\
         rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = {{ kind = \"droptail\", limit = \"83 packets\" }}\n{}{}",
        flow("sttp", "0 s", tcp),
        flow("rival", "5 s", &format!("congestion = \"{rival}\""))
    );
    let summary = run(&text);
    let goodput = |flow: usize| metric(&summary.flows[flow], "goodput_bps") / 1e6;
    (goodput(0), goodput(1))
}

/// What makes STTP practical empties queues, and would starve beside flows that fill them; with a rival's window it takes its
/// share, and leaves the rival the other.
#[test]
fn with_a_rivals_window_it_does_not_starve() {
    for rival in ["reno", "cubic"] {
        let giving_way = beside("congestion = { kind = \"sttp_practical\", rival = \"none\" }", rival);
        assert!(giving_way.0 < 0.5, "{giving_way:?} beside {rival}");
        let contending =
            beside(&format!("congestion = {{ kind = \"sttp_practical\", rival = \"{rival}\" }}"), rival);
        let share = contending.0 / (contending.0 + contending.1);
        assert!((0.35..0.65).contains(&share), "{contending:?} beside {rival}");
    }
}

/// Among its own kind it neither loses packets nor keeps a queue, nor calls a contest: four flows, 20 s apart.
#[test]
fn among_its_own_kind_it_keeps_the_queue_short() {
    let text = "[run]\nduration = \"200 s\"\nwarmup = \"100 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n\
                rate = \"50 Mbit/s\"\ndelay = \"290 ms\"\nqueue = { kind = \"droptail\", limit = \"2500 packets\" }\n\
                [[flow]]\nname = \"sttp\"\ncount = 4\nfrom = \"a\"\nto = \"b\"\nstart = { spaced = \"20 s\" }\n\
                access = { rate = \"1 Gbit/s\", delay = \"5 ms\" }\ntcp = { congestion = \"sttp_practical\" }\n";
    let summary = run(text);
    let link = &summary.links[0].metrics;
    assert_eq!(summary.run.get("lost_packets"), Some(0.0));
    assert!(link.get("queue_delay_mean_s").unwrap() < 0.15, "{:?}", link.get("queue_delay_mean_s"));
    assert!(link.get("utilisation").unwrap() > 0.8, "{:?}", link.get("utilisation"));
    assert!(summary.run.get("jain_index").unwrap() > 0.95, "{:?}", summary.run.get("jain_index"));
}
