//! Web sessions: times that can be worked out on paper, bytes that must all arrive, endpoints that are used again.

use longhaul_results::{Metrics, Summary};
use longhaul_sim::{RunOptions, load, simulate};

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

/// One session over 100 Mbit/s and 2 x 50 ms.
fn session(run: &str, app: &str, rest: &str) -> Metrics {
    let summary = self::run(&format!(
        "[run]\n{run}\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"50 ms\"\n{rest}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\napp = {{ kind = \"web\", {app} }}\ntcp = {{ mss = \"1000 B\", max_retransmissions = 3 }}\n"
    ));
    let flow = &summary.flows[0];
    assert_eq!(flow.app, "web");
    flow.metrics.clone()
}

fn metric(metrics: &Metrics, name: &str) -> f64 {
    metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not within {tolerance} of {expected}");
}

const LONG: &str = "duration = \"60 s\"";

#[test]
fn an_object_takes_a_handshake_and_a_round_trip() {
    let app = "pages = 5, think = \"1 s\", objects = 1, object = \"1000 B\"";
    let metrics = session(LONG, app, "");
    assert_eq!(metric(&metrics, "pages"), 5.0);
    close(metric(&metrics, "page_time_mean_s"), 0.2, 0.002);
    close(metric(&metrics, "response_time_max_s"), 0.2, 0.002);
    close(metric(&metrics, "completion_time_s"), 5.0 * 0.2 + 4.0, 0.002);
    assert_eq!(metric(&metrics, "delivered_bytes"), 5000.0);
}

#[test]
fn two_connections_at_a_time_fetch_ten_objects_in_five_rounds() {
    let app = "pages = 3, think = \"1 s\", objects = 10, object = \"1000 B\", parallel = 2";
    // Of two round trips each.
    close(metric(&session(LONG, app, ""), "page_time_mean_s"), 5.0 * 0.2, 0.005);
    // Persistent: the first round of the first page takes a handshake, all others one round trip.
    let metrics = session(LONG, &format!("{app}, persistent = true"), "");
    close(metric(&metrics, "page_time_max_s"), 0.2 + 4.0 * 0.1, 0.005);
    close(metric(&metrics, "page_time_mean_s"), (0.6 + 0.5 + 0.5) / 3.0, 0.005);
}

#[test]
fn objects_of_a_page_are_asked_for_one_after_the_other() {
    // The last of ten is asked for after 9 x 40 ms, and takes 200 ms.
    let app = "think = \"1 s\", objects = 10, spacing = \"40 ms\", object = \"1000 B\", parallel = 10";
    close(metric(&session(LONG, app, ""), "page_time_mean_s"), 0.36 + 0.2, 0.002);
}

#[test]
fn every_byte_of_thousands_of_connections_arrives_once() {
    let app = "pages = 300, think = \"100 ms\", objects = 10, object = \"3 packets\", parallel = 4";
    let loss = "loss = { kind = \"random\", probability = \"1 %\" }\nreordering = { probability = 0.05, delay = \"3 ms\" }";
    let metrics = session("duration = \"2000 s\"", app, loss);
    assert_eq!(metric(&metrics, "pages"), 300.0);
    assert_eq!(metric(&metrics, "responses"), 3000.0);
    assert_eq!(metric(&metrics, "delivered_bytes"), 3000.0 * 3000.0);
    assert_eq!(metric(&metrics, "failed_responses"), 0.0);
    assert!(metric(&metrics, "lost_packets") > 50.0, "1 % of 9000 data packets and what was sent again");
}

#[test]
fn a_session_goes_on_after_connections_were_given_up() {
    let app = "think = \"100 ms\", objects = 2, object = \"3 packets\"";
    let outage = "outages = [{ start = \"10 s\", duration = \"40 s\" }]";
    let metrics = session("duration = \"90 s\"", app, outage);
    assert!(metric(&metrics, "failed_responses") >= 2.0);
    // 0.3 s for each page before, and after.
    assert!(metric(&metrics, "pages") > 30.0 + 60.0);
}

#[test]
fn a_session_stops() {
    for ending in ["close", "reset"] {
        let summary = run(&format!(
            "[run]\nduration = \"60 s\"\n[dumbbell]\nbottleneck = {{ rate = \"10 Mbit/s\", delay = \"50 ms\" }}\n\
             [[flow]]\ncount = 5\nduration = \"20 s\"\nending = \"{ending}\"\n\
             app = {{ kind = \"web\", think = \"100 ms\", objects = 8, object = \"50 kB\", persistent = true }}\n"
        ));
        for flow in &summary.flows {
            assert_eq!(flow.state, "Closed", "{ending}");
            assert!(metric(&flow.metrics, "pages") >= 5.0);
        }
    }
}

#[test]
fn the_noise_of_the_highspeed_study_is_below_one_per_cent() {
    // Section 2.4 of the study: 10 sessions at 1 Gbit/s, each at most 10 objects of 10 packets every 4 s: 25 packets a second
    // and 0.03 % of the link; with the time that a page takes somewhat less.
    let summary = run("[run]\nduration = \"600 s\"\nwarmup = \"50 s\"\n[dumbbell]\n\
         bottleneck = { rate = \"1 Gbit/s\", delay = \"50 ms\", queue = { kind = \"droptail\", limit = \"8333 packets\" } }\n\
         [[flow]]\nname = \"web\"\nfrom = \"right\"\nto = \"left\"\ncount = 10\n\
         access = { rate = \"10 Gbit/s\", delay = \"25 ms\" }\n\
         app = { kind = \"web\", pages = 1000, think = { exponential = \"4 s\" }, objects = 10, \
         spacing = { exponential = \"10 ms\" }, object = { lomax = \"10 packets\", shape = 1.2 }, parallel = 10 }\n\
         tcp = { mss = \"1460 B\" }\n");
    let web = &summary.groups[0].metrics;
    assert!(metric(web, "utilisation") < 0.01);
    assert!(metric(web, "utilisation") > 0.0015);
    // A page: 9 x 10 ms until the last object is asked for, 200 ms of handshake, 200 ms and more for the answer; then 4 s.
    let pages = metric(web, "pages");
    assert!((10.0 * 550.0 / 5.2..10.0 * 550.0 / 4.5).contains(&pages), "{pages} pages");
}
