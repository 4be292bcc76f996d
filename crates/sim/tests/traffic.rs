//! What applications of traces, films and keystrokes send, and when: on paths whose times can be worked out on paper.

use longhaul_results::{FlowSummary, Summary};
use longhaul_sim::{RunOptions, load, simulate};
use std::path::PathBuf;

/// Flows of one kind over 8 Mbit/s and 2 x 50 ms.
fn run(duration: &str, flow: &str) -> Summary {
    let text = format!(
        "[run]\nduration = \"{duration}\"\nmonitor = [\"link\"]\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\n\
         delay = \"50 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not within {tolerance} of {expected}");
}

/// A file that goes away.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("longhaul-traffic-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_trace_is_played_from_its_first_record_and_again() {
    // 1 s, 100 B; 0.5 s, 2500 B; 0.5 s, 10 B: after 10 s five rounds are done, of which the last record was written at 10 s.
    let file = File::new("trace.csv", "gap_s,bytes\n1,100\n0.5,2500\n0.5,10\n");
    let app =
        |more: &str| format!("app = {{ kind = \"trace\", file = {:?}, begin = \"first\"{more} }}", file.0);
    let tcp = "tcp = { mss = \"1000 B\", established = true, nagle = false }";
    let flow = &run("10500 ms", &format!("{}\n{tcp}", app(""))).flows[0];
    assert_eq!(flow.app, "trace");
    assert_eq!(metric(flow, "delivered_bytes"), 5.0 * 2610.0);
    assert_eq!(metric(flow, "sent_packets"), 5.0 * 5.0);
    // Whole packets, as in ns-2: 1, 3 and 1 of 1000 B.
    let flow = &run("10500 ms", &format!("{}\n{tcp}", app(", whole_packets = true"))).flows[0];
    assert_eq!(metric(flow, "delivered_bytes"), 5.0 * 5000.0);
}

#[test]
fn flows_begin_at_records_of_their_own() {
    let rows: String = (1..=100).map(|number| format!("0.1,{}\n", 100 * number)).collect();
    let file = File::new("many.csv", &format!("gap_s,bytes\n{rows}"));
    let app = format!("count = 20\napp = {{ kind = \"trace\", file = {:?} }}", file.0);
    let summary = run("1500 ms", &app);
    let mut delivered: Vec<u64> =
        summary.flows.iter().map(|flow| metric(flow, "delivered_bytes") as u64).collect();
    delivered.sort_unstable();
    delivered.dedup();
    assert!(delivered.len() >= 17, "of 100 beginnings 20 flows seldom have the same: {delivered:?}");
}

#[test]
fn a_film_is_sent_frame_by_frame() {
    // 24 frames of 1000 B a second: 200 s of them.
    let app = "app = { kind = \"video\", rate = \"192 kbit/s\", peak_frame = \"1000 B\", pattern = \"I\", frame_variation = 0.0, \
               scene_variation = 0.0 }";
    let flow = &run("200 s", &format!("{app}\ntcp = {{ nagle = false }}")).flows[0];
    assert_eq!(flow.app, "video");
    close(metric(flow, "delivered_bytes"), 200.0 * 24.0 * 1000.0, 0.001);
    close(metric(flow, "sent_packets"), 200.0 * 24.0, 0.001);
    // The model's defaults: 0.37 Mbit/s, less what the peak cuts.
    let summary = run("2000 s", "count = 8\napp = { kind = \"video\" }");
    close(summary.run.get("goodput_bps").unwrap(), 8.0 * 370e3, 0.03);
}

#[test]
fn messages_come_at_their_rate() {
    let app = |more: &str| {
        format!(
            "count = 50\napp = {{ kind = \"messages\", gap = {{ exponential = \"100 ms\" }}, size = {{ uniform = [\"200 B\", \"1400 B\"] }}{more} }}"
        )
    };
    let tcp = "tcp = { mss = \"1000 B\", nagle = false, established = true }";
    let summary = run("100 s", &format!("{}\n{tcp}", app("")));
    // 50,000 messages of 800 B, with standard deviations of 0.45 % of their number and 0.2 % of their size.
    close(summary.run.get("delivered_bytes").unwrap(), 50_000.0 * 800.0, 0.015);
    // Filled up to whole packets two thirds of the messages have one, one third two.
    let summary = run("100 s", &format!("{}\n{tcp}", app(", whole_packets = true")));
    close(summary.run.get("delivered_bytes").unwrap(), 50_000.0 * 4000.0 / 3.0, 0.015);
    assert!(summary.flows.iter().all(|flow| metric(flow, "delivered_bytes") % 1000.0 == 0.0));
}

#[test]
fn an_echo_takes_a_round_trip_and_keys_do_not_wait_for_it() {
    // 41 B take 41 us at 8 Mbit/s, each way; five keys are under way at a time.
    let app = "app = { kind = \"keystrokes\", gap = \"20 ms\", count = 500 }";
    let flow = &run("60 s", &format!("{app}\ntcp = {{ nagle = false, delayed_ack = \"off\" }}")).flows[0];
    assert_eq!((flow.app, metric(flow, "responses")), ("keystrokes", 500.0));
    close(metric(flow, "response_time_p50_s"), 0.1001, 0.03);
    // The first wait for the handshake: its round trip less the 20 ms after which the first key is pressed.
    close(metric(flow, "response_time_max_s"), 0.1801, 0.01);
    assert_eq!(metric(flow, "delivered_bytes"), 500.0);
    close(metric(flow, "completion_time_s"), 500.0 * 0.02 + 0.1001, 0.001);
    // Nagle's algorithm holds keys until those before are acknowledged: up to a round trip more.
    let held = &run("60 s", app).flows[0];
    assert!(metric(held, "response_time_p95_s") > 0.15);
    assert_eq!(metric(held, "responses"), 500.0);
}

#[test]
fn the_objects_of_a_page_wait_for_its_document() {
    let page = |document: &str| {
        let app = format!(
            "app = {{ kind = \"web\", pages = 5, think = \"1 s\", objects = 6, object = \"1000 B\", parallel = 6, persistent = true{document} }}"
        );
        let flow = run("60 s", &format!("{app}\ntcp = {{ mss = \"1000 B\" }}")).flows.remove(0);
        assert_eq!(metric(&flow, "pages"), 5.0);
        (metric(&flow, "page_time_p50_s"), metric(&flow, "page_time_max_s"), metric(&flow, "responses"))
    };
    // Without it, later pages take one round trip. With it two, and the first page a handshake before each of them.
    let (median, longest, objects) = page("");
    close(median, 0.1, 0.1);
    close(longest, 0.2, 0.1);
    assert_eq!(objects, 30.0);
    let (median, longest, objects) = page(", document = \"1000 B\"");
    close(median, 0.2, 0.1);
    close(longest, 0.4, 0.1);
    assert_eq!(objects, 35.0);
}
