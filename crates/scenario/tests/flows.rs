//! What becomes of `[[flow]]` tables: single flows with their names, hosts, starts and stops.

use longhaul_scenario::{Network, load};
use longhaul_units::Instant;

fn network(flow: &str) -> Network {
    let text = format!(
        "[run]\nduration = \"300 s\"\n[dumbbell]\nbottleneck = {{ rate = \"1 Gbit/s\", delay = \"50 ms\" }}\n\
         access = {{ rate = \"10 Gbit/s\", delay = \"1 ms\" }}\n[[flow]]\nname = \"f\"\n{flow}\n"
    );
    Network::new(&load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}")))
}

fn refused(flow: &str) -> String {
    let text = format!(
        "[run]\nduration = \"300 s\"\n[dumbbell]\nbottleneck = {{ rate = \"1 Gbit/s\", delay = \"50 ms\" }}\n[[flow]]\n{flow}\n"
    );
    load(&text, "test", &[]).expect_err("must be refused").to_string()
}

fn seconds(time: Instant) -> f64 {
    time.as_secs_f64()
}

#[test]
fn streams_of_a_transfer_share_start_and_hosts() {
    let network = network("count = 2\nstreams = 3\nstart = { uniform = [\"0 s\", \"15 s\"] }");
    let names: Vec<&str> = network.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names[0], "f[0].stream[0]");
    assert_eq!(names[5], "f[1].stream[2]");
    assert_eq!(names.len(), 6);
    let (first, second) = network.flows.as_slice().split_at(3);
    for streams in [first, second] {
        assert!(streams.iter().all(|flow| flow.start == streams[0].start && flow.from == streams[0].from));
    }
    assert_ne!(first[0].start, second[0].start);
    assert_ne!(first[0].from, second[0].from);
    assert_eq!(network.nodes.len(), 2 + 4, "two hosts for each transfer");
}

#[test]
fn a_duration_counts_from_each_start() {
    let network = network("count = 50\nstart = { uniform = [\"0 s\", \"298 s\"] }\nduration = \"1.6 s\"");
    for flow in &network.flows {
        let life = seconds(flow.stop.unwrap()) - seconds(flow.start);
        assert!((life - 1.6).abs() < 1e-6, "{} lives {life} s", flow.name);
    }
}

#[test]
fn stops_are_drawn_apart_from_starts() {
    // The small flows of the HighSpeed study: start U(0, T/3), stop U(2T/3, T).
    let network = network(
        "count = 100\nstart = { uniform = [\"0 s\", \"100 s\"] }\nstop = { uniform = [\"200 s\", \"300 s\"] }",
    );
    let stops: Vec<f64> = network.flows.iter().map(|flow| seconds(flow.stop.unwrap())).collect();
    assert!(stops.iter().all(|stop| (200.0..=300.0).contains(stop)));
    let mean = stops.iter().sum::<f64>() / 100.0;
    assert!((mean - 250.0).abs() < 12.0, "mean stop {mean} s: four standard errors off");
    let same = network
        .flows
        .iter()
        .filter(|flow| (seconds(flow.stop.unwrap()) - 200.0 - seconds(flow.start)).abs() < 1e-6);
    assert_eq!(same.count(), 0, "stops repeat the draws of starts");
}

#[test]
fn lives_that_make_no_sense_are_refused() {
    for (flow, part) in [
        ("stop = \"5 s\"\nduration = \"1 s\"", "`stop` is given too"),
        ("duration = \"0 s\"", "above 0 s"),
        ("start = \"5 s\"\nstop = \"5 s\"", "would stop before it starts"),
        ("count = 2\nduration = \"1 s\"\nstop = { at = [\"1 s\"] }", "1 times for 2 flows"),
        ("ending = \"reset\"", "nothing stops the flow"),
        ("streams = 0", "streams: must be at least 1 and at most 1000000, not 0"),
        ("count = 1000\nstreams = 1001", "at most 1,000,000 streams in all"),
        ("streams = 5\napp = { kind = \"bulk\", size = \"4 B\" }", "4 B cannot be split over 5 streams"),
        ("app = { kind = \"bulk\", size = \"0 B\" }", "a transfer has at least 1 B"),
        ("streams = 2\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }", "only a bulk transfer"),
    ] {
        let message = refused(flow);
        assert!(message.contains(part), "{part:?} is missing in:\n{message}");
    }
}
