//! What must hold on any network with any traffic: packets are conserved, no link carries more than its rate, queues keep
//! to their limits, and neither threads nor the way of computing change a result.

use longhaul_sim::{Outcome, Output, RunOptions, Table, load, simulate};
use proptest::prelude::*;

fn run(text: &str, options: RunOptions<'_>) -> Outcome {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, options).unwrap()
}

fn as_json(outcome: &Outcome) -> String {
    serde_json::to_string(&outcome.summary).unwrap()
}

/// Every discipline, some of them with settings under which they act on few packets.
const DISCIPLINES: [&str; 14] = [
    "\"droptail\"",
    "\"head_drop\"",
    "\"red\"",
    "\"red\", overflow = \"random\", queue_weight = 0.05",
    "\"codel\", interval = \"50 ms\"",
    "\"fq_codel\"",
    "\"fq_pie\"",
    "\"dualpi2\"",
    "\"tbf\", rate = \"2 Mbit/s\", burst = \"5 kB\"",
    "\"cake\"",
    "\"cake\", bandwidth = \"3 Mbit/s\", isolation = \"dual_dsthost\", overhead = { bytes = \"18 B\", mpu = \"64 B\" }",
    "\"pie\", max_burst = \"30 ms\"",
    "\"drr\"",
    "\"wfq\"",
];

/// A chain of routers with flows between any two of them, some of them with hosts of their own.
#[derive(Clone, Debug)]
struct RandomNetwork {
    links: Vec<(u32, u32, u32, u8)>,
    flows: Vec<(usize, usize, u8, bool, u32, u32)>,
    middleboxes: Vec<(usize, usize)>,
    seed: u64,
}

/// Settings of middleboxes, each for the node that it is given.
const MIDDLEBOXES: [&str; 14] = [
    "kind = \"premature_ack\"\nbuffer = \"20 packets\"\nwatermark = 15",
    "kind = \"premature_ack\"\nbuffer = \"200 packets\"\nwindow = \"64 kB\"",
    "kind = \"premature_ack\"\nwatermark = 0\nfail_at = \"7 s\"",
    "kind = \"snoop\"\ncache = \"20 packets\"",
    "kind = \"snoop\"\ntowards = \"from\"",
    "kind = \"split\"\nbuffer = \"30 kB\"\nfar = { congestion = \"cubic\" }",
    "kind = \"split\"\npeer = PEER\nconnections = 2\nlong = { congestion = \"cubic\", receive_buffer = \"100 kB\" }",
    "kind = \"split\"\npeer = PEER\nconnections = \"per_flow\"\nframing = \"pepid\"\nlong = { established = false }",
    "kind = \"split\"\npeer = PEER\nlocal_queue = { queue = { kind = \"red\", limit = \"30 packets\" } }",
    "kind = \"split\"\npeer = PEER\nfail_at = \"7 s\"\nlocal_queue = { queue = { kind = \"fq_codel\", limit = \"30 packets\" }, \
     buffer_start = \"20 kB\", send_check_interval = \"3 ms\" }",
    "kind = \"split\"\npeer = PEER\nlong = { transport = \"hop\" }",
    "kind = \"split\"\npeer = PEER\nlong = { transport = \"hop\", carrier = \"tcp\", connections = 3 }",
    "kind = \"split\"\npeer = PEER\nbuffer = \"30 kB\"\nfail_at = \"7 s\"\n\
     long = { transport = \"hop\", carrier = \"tcp\", credit = \"16 KiB\", idle_timeout = \"10 s\", tcp = { congestion = \"cubic\" } }",
    "kind = \"split\"\npeer = PEER\nbuffer = \"30 kB\"\nfail_at = \"7 s\"\n\
     long = { transport = \"hop\", share = \"fair\", coding = \"off\", credit = \"16 KiB\", forward_rate = \"30 Mbit/s\" }",
];

fn random_network() -> impl Strategy<Value = RandomNetwork> {
    let link = (1u32..100, 0u32..60, 2u32..60, 0u8..8);
    let links = proptest::collection::vec(link, 1..5);
    let flows =
        proptest::collection::vec((0usize..6, 0usize..6, 0u8..7, any::<bool>(), 0u32..6, 0u32..4), 1..7);
    let middleboxes = proptest::collection::vec((0usize..6, 0usize..MIDDLEBOXES.len()), 0..3);
    (links, flows, middleboxes, any::<u64>()).prop_map(|(links, flows, middleboxes, seed)| RandomNetwork {
        links,
        flows,
        middleboxes,
        seed,
    })
}

impl RandomNetwork {
    /// First and last node of a flow.
    fn ends(&self, from: usize, to: usize) -> (usize, usize) {
        let nodes = self.links.len() + 1;
        let (from, to) = (from % nodes, to % nodes);
        (from, if from == to { (to + 1) % nodes } else { to })
    }
    /// True if a flow passes all nodes from one to another without beginning or ending there.
    fn are_passed(&self, first: usize, last: usize) -> bool {
        self.flows.iter().any(|(from, to, _, access, ..)| {
            let (from, to) = self.ends(*from, *to);
            let (low, high) = (from.min(to), from.max(to));
            if *access { low <= first && last <= high } else { low < first && last < high }
        })
    }
    fn toml(&self) -> String {
        let seed = self.seed >> 1;
        let mut text = format!(
            "[run]\nduration = \"20 s\"\nwarmup = \"3 s\"\nseed = {seed}\nsample = \"1 s\"\npeak_goodput = {}\n",
            seed % 2 == 0
        );
        for (index, (mbit, ms, packets, kind)) in self.links.iter().enumerate() {
            let impairment = match kind {
                0 => "loss = { kind = \"random\", probability = \"1 %\" }",
                1 => "loss = { kind = \"random\", probability = 0.02, place = \"before_queue\" }",
                2 => "jitter = \"3 ms\"\nreordering = { probability = 0.01, delay = \"5 ms\" }",
                3 => {
                    "outages = [{ start = \"4 s\", duration = \"1500 ms\" }]\nchanges = [{ at = \"9 s\", rate = \"2 Mbit/s\" }]"
                }
                4 => "duplication = \"1 %\"",
                5 => "corruption = \"1 %\"\nreverse = { duplication = 0.02 }",
                6 => "corruption = { bit_error_rate = 1e-6 }\nduplication = 0.05\njitter = \"2 ms\"",
                _ => "",
            };
            let queue = DISCIPLINES[(index + *packets as usize) % DISCIPLINES.len()];
            text += &format!(
                "[[link]]\nname = \"l{index}\"\nends = [\"n{index}\", \"n{}\"]\nrate = \"{mbit} Mbit/s\"\ndelay = \"{ms} ms\"\n\
                 queue = {{ kind = {queue}, limit = \"{packets} packets\" }}\n{impairment}\n",
                index + 1
            );
        }
        for (index, (from, to, variant, access, app, life)) in self.flows.iter().enumerate() {
            let (from, to) = self.ends(*from, *to);
            let variant =
                ["tahoe", "reno", "newreno", "sack", "fack", "rack", "linux"][usize::from(*variant)];
            let access = if *access { "access = { rate = \"20 Mbit/s\", delay = \"1 ms\" }" } else { "" };
            let app = match app {
                0 => "app = { kind = \"bulk\" }",
                1 => "app = { kind = \"bulk\", size = \"200 kB\" }",
                2 => {
                    "app = { kind = \"web\", think = { exponential = \"300 ms\" }, objects = { exponential = 5 }, \
                     spacing = { exponential = \"10 ms\" }, object = { lomax = \"10 packets\", shape = 1.2 }, parallel = 3 }"
                }
                3 => {
                    "app = { kind = \"web\", think = \"100 ms\", objects = { uniform = [1, 9] }, object = { pareto = \"9 kB\", \
                     shape = 1.5 }, parallel = 2, persistent = true, pages = 7 }"
                }
                4 => {
                    "app = { kind = \"on_off\", rate = \"1 Mbit/s\", on = { pareto = \"500 ms\", shape = 1.5 }, \
                     off = { exponential = \"500 ms\" } }"
                }
                _ => "app = { kind = \"request\", response = \"30 kB\", think = \"200 ms\" }",
            };
            let trace = !app.contains("web");
            let life = match (life, app.starts_with("app = { kind = \"bulk\"")) {
                (0, _) => "duration = \"6 s\"",
                (1, _) => "stop = { uniform = [\"5 s\", \"15 s\"] }\nending = \"reset\"",
                (2, true) => "streams = 3",
                _ => "",
            };
            let (ecn, weight) = (index % 2 == 0, index % 3 + 1);
            text += &format!(
                "[[flow]]\nname = \"f{index}\"\ncount = 2\nfrom = \"n{from}\"\nto = \"n{to}\"\n{access}\n{app}\n{life}\n\
                 start = {{ uniform = [\"0 s\", \"2 s\"] }}\ntrace = {trace}\nweight = {weight}\n\
                 tcp = {{ variant = \"{variant}\", ecn = {ecn} }}\n"
            );
        }
        let mut taken: Vec<(usize, usize)> = vec![];
        for (index, (node, kind)) in self.middleboxes.iter().enumerate() {
            let node = node % (self.links.len() + 1);
            let last = if MIDDLEBOXES[*kind].contains("PEER") { node + 1 } else { node };
            let is_free =
                |(from, to): &(usize, usize)| last < *from || *to < node || (node == last && from == to);
            if last <= self.links.len() && self.are_passed(node, last) && taken.iter().all(is_free) {
                taken.push((node, last));
                let settings = MIDDLEBOXES[*kind].replace("PEER", &format!("\"n{last}\""));
                text += &format!("[[middlebox]]\nname = \"m{index}\"\nat = \"n{node}\"\n{settings}\n");
            }
        }
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_network_keeps_its_invariants(network in random_network()) {
        let text = network.toml();
        let outcome = run(&text, RunOptions::default());
        let summary = &outcome.summary;
        for link in &summary.links {
            let metric = |name| link.metrics.get(name);
            prop_assert!(metric("utilisation").unwrap_or(0.0) <= 1.0 + 1e-9, "{} carries more than its rate", link.name);
            let limit: f64 = link.queue.split(' ').nth(1).unwrap().parse().unwrap();
            prop_assert!(metric("queue_max_packets").unwrap() <= limit, "{} holds more than its limit", link.name);
            let (mean, largest) = (metric("queue_mean_packets").unwrap(), metric("queue_max_packets").unwrap());
            prop_assert!(mean <= largest, "{}: mean queue {mean}, largest {largest}", link.name);
        }
        prop_assert!(outcome.tables.flows.windows(2).all(|rows| rows[0].time_s <= rows[1].time_s), "time runs back");
        prop_assert!(outcome.tables.events.windows(2).all(|rows| rows[0].time_s <= rows[1].time_s), "time runs back");
        for flow in &summary.flows {
            let shares: f64 = flow.limited.iter().map(|(_, share)| share).sum();
            prop_assert!(shares == 0.0 || (shares - 1.0).abs() < 1e-9, "shares of {} add up to {shares}", flow.name);
        }
        let plain = run(&text, RunOptions { serve_ahead: false, ..RunOptions::default() });
        prop_assert_eq!(as_json(&outcome), as_json(&plain));
        let quiet = run(&text, RunOptions { tables: false, ..RunOptions::default() });
        prop_assert_eq!(as_json(&outcome), as_json(&quiet), "recording changes a number");
        prop_assert_eq!(&outcome.tables.flows, &plain.tables.flows);
        prop_assert_eq!(&outcome.tables.links, &plain.tables.links);
        prop_assert_eq!(&outcome.tables.middleboxes, &plain.tables.middleboxes);
        prop_assert_eq!(&outcome.tables.long_hops, &plain.tables.long_hops);
        prop_assert_eq!(&outcome.tables.events, &plain.tables.events);
        prop_assert_eq!(&outcome.tables.segments, &plain.tables.segments);
    }
}

const DUMBBELL: &str = r#"
[run]
duration = "30 s"
warmup = "5 s"
[dumbbell]
bottleneck = { rate = "20 Mbit/s", delay = "100 ms", queue = { kind = "droptail", limit = "200 packets" } }
access = { rate = "100 Mbit/s", delay = "5 ms" }
[[flow]]
name = "bulk"
count = 12
start = { uniform = ["0 s", "2 s"] }
tcp = { mss = "1000 B" }
"#;

#[test]
fn the_same_seed_gives_the_same_bytes_in_any_number_of_threads() {
    let once = as_json(&run(DUMBBELL, RunOptions::default()));
    let threads: Vec<_> =
        (0..2).map(|_| std::thread::spawn(|| as_json(&run(DUMBBELL, RunOptions::default())))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), once);
    }
}

#[test]
fn result_files_are_the_same_bytes() {
    let directory = |name: &str| {
        let path = std::env::temp_dir().join(format!("longhaul-{}-{name}", std::process::id()));
        let write_table = |table: &Table| Ok(format!("{table:?}").into_bytes());
        let out = Output { directory: &path, write_table: &write_table };
        run(DUMBBELL, RunOptions { out: Some(out), ..RunOptions::default() });
        path
    };
    let (first, second) = (directory("a"), directory("b"));
    for file in ["scenario.toml", "summary.json", "flows.parquet", "links.parquet", "events.parquet"] {
        let read = |path: &std::path::Path| std::fs::read(path.join(file)).unwrap();
        assert!(read(&first) == read(&second), "{file} differs");
        assert!(!read(&first).is_empty(), "{file} is empty");
    }
    std::fs::remove_dir_all(first).unwrap();
    std::fs::remove_dir_all(second).unwrap();
}

#[test]
fn a_table_that_cannot_be_written_is_named_and_leaves_no_result() {
    let path = std::env::temp_dir().join(format!("longhaul-{}-full", std::process::id()));
    let write_table = |_: &Table| Err(std::io::Error::other("the disk is full"));
    let out = Output { directory: &path, write_table: &write_table };
    let scenario = longhaul_sim::load(DUMBBELL, "test", &[]).unwrap();
    let failed = longhaul_sim::run(&scenario, RunOptions { out: Some(out), ..RunOptions::default() });
    let message = failed.unwrap_err().to_string();
    assert!(message.contains("flows.parquet") && message.contains("the disk is full"), "{message}");
    assert!(!path.join("summary.json").exists());
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn another_seed_gives_another_result() {
    let other = DUMBBELL.replace("[run]", "[run]\nseed = 2");
    let first = run(DUMBBELL, RunOptions::default());
    let second = run(&other, RunOptions::default());
    assert_ne!(first.summary.run_id, second.summary.run_id);
    assert_ne!(first.tables.flows, second.tables.flows);
}

#[test]
fn adding_a_flow_does_not_change_anothers_draws() {
    let more = DUMBBELL.replace("count = 12", "count = 13");
    let starts = |text: &str| -> Vec<f64> {
        run(text, RunOptions::default()).summary.flows.iter().map(|flow| flow.start_s).collect()
    };
    let (few, many) = (starts(DUMBBELL), starts(&more));
    assert_eq!(few, many[..12]);
}

#[test]
fn recording_changes_no_number() {
    let quiet = run(DUMBBELL, RunOptions { tables: false, ..RunOptions::default() });
    assert_eq!(as_json(&quiet), as_json(&run(DUMBBELL, RunOptions::default())));
}
