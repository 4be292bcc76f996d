//! Links that follow measurements: what they carry is what was measured, bin by bin.

use longhaul_sim::{RunOptions, load, simulate};
use std::collections::BTreeMap;

/// A file that goes away.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, content: &str) -> File {
        let path = std::env::temp_dir().join(format!("longhaul-measured-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn scenario(duration: &str, link: &str, flow: &str) -> String {
    format!(
        "[run]\nduration = \"{duration}\"\nsample = \"100 ms\"\n[[link]]\nname = \"sky\"\nends = [\"a\", \"b\"]\n\
         forward = {{ queue = \"4000 packets\", {link} }}\nreverse = {{ rate = \"100 Mbit/s\", delay = \"5 ms\" }}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

/// A window that always fills the queue, from segments of 1500 bytes on the wire.
const FULL: &str =
    "tcp = { congestion = { kind = \"fixed\", window = \"2 MB\" }, established = true, timestamps = false }";

/// Times at which packets can leave, drawn: 20 to 180 in each 100 ms for two seconds.
fn opportunities() -> Vec<u64> {
    let mut state = 12_345_u64;
    let mut times = vec![];
    for bin in 0..20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let many = 20 + (state >> 33) % 160;
        times.extend((0..many).map(|place| bin * 100 + 1 + place * 99 / many));
    }
    times.push(2_000);
    times
}

/// Packets that the link carried in each 100 ms.
fn carried(text: &str) -> Vec<f64> {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    let outcome = simulate(&scenario, RunOptions::default()).unwrap();
    let rows = outcome.tables.links.iter().filter(|row| row.link == 0);
    rows.map(|row| row.throughput_bps * 0.1 / 12_000.0).collect()
}

#[test]
fn a_queue_that_is_never_empty_takes_each_opportunity() {
    let times = opportunities();
    let lines: Vec<String> = times.iter().map(u64::to_string).collect();
    let file = File::new("rate.txt", &lines.join("\n"));
    let text = scenario("6 s", &format!("delay = \"5 ms\", trace = {{ rate = {:?} }}", file.0), FULL);
    let mut wanted: BTreeMap<u64, f64> = BTreeMap::new();
    for round in 0..3 {
        times.iter().for_each(|at| *wanted.entry((round * 2_000 + at - 1) / 100).or_default() += 1.0);
    }
    let found = carried(&text);
    for (bin, found) in found.iter().enumerate().skip(1) {
        let wanted = wanted.get(&(bin as u64)).copied().unwrap_or(0.0);
        assert!((found - wanted).abs() <= 1.0, "bin {bin}: {found} packets, {wanted} could leave");
    }
}

#[test]
fn a_light_load_loses_the_opportunities_that_it_does_not_use() {
    // One packet of 1040 bytes each 50 ms, and an opportunity each 10 ms: each leaves with the next one, and waits for no other.
    let lines: Vec<String> = (1..=100).map(|place| (place * 10).to_string()).collect();
    let file = File::new("light.txt", &lines.join("\n"));
    let flow = "app = { kind = \"cbr\", rate = \"160 kbit/s\", message = \"1000 B\" }\ntcp = { mss = \"1000 B\", established = true, nagle = false }";
    let text = scenario("4 s", &format!("delay = \"5 ms\", trace = {{ rate = {:?} }}", file.0), flow);
    let scenario = load(&text, "test", &[]).unwrap();
    let summary = simulate(&scenario, RunOptions::default()).unwrap().summary;
    let rtt = summary.flows[0].metrics.get("rtt_max_s").unwrap();
    assert!(rtt < 0.0205, "a wait of 10 ms at most, and 10 ms of delay: {rtt}");
}

#[test]
fn delay_and_loss_follow_their_files() {
    let delay = File::new("delay.csv", "time_s,delay_ms\n0,20\n15,60\n30,20\n");
    let loss = File::new("loss.csv", "time_s,loss_percent\n0,0\n20,100\n30,0\n");
    let link = format!("rate = \"10 Mbit/s\", trace = {{ delay = {:?}, loss = {:?} }}", delay.0, loss.0);
    let flow = "app = { kind = \"cbr\", rate = \"80 kbit/s\", message = \"1000 B\" }\ntcp = { mss = \"1000 B\", established = true, nagle = false }";
    let text = scenario("30 s", &link, flow);
    let scenario = load(&text, "test", &[]).unwrap();
    let outcome = simulate(&scenario, RunOptions::default()).unwrap();
    let lost = |late: bool| -> u32 {
        let rows = outcome.tables.links.iter().filter(|row| row.link == 0 && (row.time_s > 20.0) == late);
        rows.map(|row| row.drops_loss).sum()
    };
    assert_eq!(lost(false), 0);
    assert!(lost(true) >= 3, "{}", lost(true));
    let rtt = |name| outcome.summary.flows[0].metrics.get(name).unwrap();
    // 20 + 5 ms, then 60 + 5, and some 0.9 ms of transmission.
    assert!((rtt("rtt_min_s") - 0.0259).abs() < 0.0002 && (rtt("rtt_max_s") - 0.0659).abs() < 0.0002);
}

/// The capacity that predictions and utilisation count is that of the file.
#[test]
fn a_measured_link_is_full_where_its_trace_is_used_up() {
    let file = File::new("steps.csv", "time_s,rate_mbps\n0,8\n10,2\n20,8\n");
    let text = scenario("20 s", &format!("delay = \"5 ms\", trace = {{ rate = {:?} }}", file.0), FULL);
    let scenario = load(&text, "test", &[]).unwrap();
    let summary = simulate(&scenario, RunOptions::default()).unwrap().summary;
    let link = &summary.links[0];
    assert!((link.metrics.get("utilisation").unwrap() - 1.0).abs() < 0.002);
    // 100 Mbit of 8 and 2 Mbit/s, of which 1460 of 1500 bytes are payload.
    let goodput = summary.flows[0].metrics.get("goodput_bps").unwrap();
    assert!((goodput / (5e6 * 1460.0 / 1500.0) - 1.0).abs() < 0.01, "{goodput}");
}
