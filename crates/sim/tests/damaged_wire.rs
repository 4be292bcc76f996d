//! Duplication and corruption on a wire: what is counted, and what TCP makes of it.

use longhaul_sim::{Outcome, RunOptions, load, simulate};

fn run(link: &str, tcp: &str) -> Outcome {
    let text = format!(
        "[run]\nduration = \"60 s\"\n[dumbbell]\naccess = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
         [dumbbell.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = \"1000 packets\"\n{link}\n[[flow]]\n\
         name = \"file\"\napp = {{ kind = \"bulk\", size = \"10 MB\" }}\ntcp = {{ {tcp} }}\n"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap()
}

fn link(outcome: &Outcome, name: &str) -> f64 {
    let metrics =
        &outcome.summary.links.iter().find(|link| link.name == "bottleneck.forward").unwrap().metrics;
    metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn flow(outcome: &Outcome, name: &str) -> f64 {
    outcome.summary.flows[0].metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

/// Every variant takes no longer than without duplicates, retransmits nothing and never shrinks its window: with SACK a duplicate is
/// reported as such (RFC 2883), and without it each duplicate is answered by one ACK more, fewer in a row than three.
#[test]
fn duplicates_do_tcp_no_harm() {
    for variant in ["newreno", "sack", "fack", "rack", "linux"] {
        let buffer = if variant == "linux" {
            "receive_autotuning = { max = \"400 kB\" }"
        } else {
            "receive_buffer = \"200 kB\""
        };
        let tcp = format!("variant = \"{variant}\", {buffer}");
        let plain = run("", &tcp);
        for duplication in ["\"1 %\"", "1"] {
            let twice = run(&format!("duplication = {duplication}"), &tcp);
            let copies = link(&twice, "duplicated_packets");
            if duplication == "1" {
                assert_eq!(copies, link(&twice, "transmitted_packets"));
            } else {
                let share = copies / link(&twice, "transmitted_packets");
                assert!((0.007..0.013).contains(&share), "{variant}: {share}");
            }
            for name in ["retransmitted_packets", "timeouts", "fast_retransmits"] {
                assert_eq!(flow(&twice, name), 0.0, "{variant}, {duplication}: {name}");
            }
            let (with, without) = (flow(&twice, "completion_time_s"), flow(&plain, "completion_time_s"));
            // Duplicates make ACKs come earlier than delayed ones: it may be a little faster.
            assert!(
                (0.95..1.01).contains(&(with / without)),
                "{variant}, {duplication}: {with} s, {without} s"
            );
        }
    }
}

/// Damaged packets take capacity to the end of their way and are lost to their flow, nowhere else.
#[test]
fn damaged_packets_are_lost_at_the_end() {
    let outcome = run("forward = { corruption = \"0.2 %\" }", "variant = \"sack\"");
    let corrupted = link(&outcome, "corrupted_packets");
    assert!(corrupted > 5.0, "{corrupted}");
    assert_eq!(link(&outcome, "drops_loss") + link(&outcome, "drops_queue"), 0.0);
    let checksums = outcome.tables.events.iter().filter(|event| event.kind == "checksum").count();
    assert_eq!(checksums as f64, corrupted);
    assert_eq!(flow(&outcome, "retransmitted_packets"), corrupted);
}

/// A packet of 12,000 bits escapes damage with a probability of (1 - rate)^12000, as in the model of losses.
#[test]
fn bit_errors_are_those_of_the_loss_model() {
    let damaged = run("forward = { corruption = { bit_error_rate = 1e-6 } }", "variant = \"rack\"");
    let share = link(&damaged, "corrupted_packets") / link(&damaged, "transmitted_packets");
    let expected = 1.0 - (1.0f64 - 1e-6).powi(12_000);
    let sigma = (expected / link(&damaged, "transmitted_packets")).sqrt();
    assert!((share - expected).abs() < 4.0 * sigma, "{share}, {expected}");
}

/// Of real losses, duplicates make neither more nor fewer retransmissions, also where D-SACK reports them.
/// Without SACK it does not hold: each copy in a recovery brings one more duplicate ACK.
#[test]
fn duplicates_beside_losses_cause_no_retransmissions() {
    for variant in ["sack", "fack", "rack", "linux"] {
        let tcp = format!("variant = \"{variant}\"");
        let outcome = run("forward = { loss = \"0.3 %\" }\nduplication = \"10 %\"", &tcp);
        let lost = link(&outcome, "drops_loss");
        assert!(lost > 10.0, "{lost}");
        assert_eq!(flow(&outcome, "retransmitted_packets"), lost, "{variant}");
        assert_eq!(flow(&outcome, "timeouts"), 0.0, "{variant}");
        let without = run("forward = { loss = \"0.3 %\" }", &tcp);
        let ratio = flow(&outcome, "completion_time_s") / flow(&without, "completion_time_s");
        assert!((0.9..1.1).contains(&ratio), "{variant}: reductions are as before, and {ratio} of the time");
    }
}

/// Proxies, tunnels and QUIC: what is damaged before them is lost, what is damaged between their two ends too, and all data arrives.
#[test]
fn everything_arrives_through_middleboxes() {
    let link = |number: usize| {
        format!(
            "[[link]]\nname = \"l{number}\"\nends = [\"n{number}\", \"n{}\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
             duplication = \"5 %\"\ncorruption = \"1 %\"\n",
            number + 1
        )
    };
    let links: String = (0..4).map(link).collect();
    for (middlebox, transport) in [
        ("kind = \"split\"\nat = \"n1\"", ""),
        ("kind = \"split\"\nat = \"n1\"\npeer = \"n3\"", ""),
        ("kind = \"split\"\nat = \"n1\"\npeer = \"n3\"\nlong = { transport = \"hop\" }", ""),
        (
            "kind = \"split\"\nat = \"n1\"\npeer = \"n3\"\nlong = { transport = \"hop\", carrier = \"tcp\" }",
            "",
        ),
        ("kind = \"ack_compaction\"\nat = \"n3\"\npeer = \"n1\"", ""),
        ("kind = \"premature_ack\"\nat = \"n2\"", ""),
        ("kind = \"snoop\"\nat = \"n2\"", ""),
        ("kind = \"ack_filter\"\nat = \"n2\"", "transport = \"quic\"\n"),
    ] {
        let text = format!(
            "[run]\nduration = \"100 s\"\n{links}[[middlebox]]\n{middlebox}\n[[flow]]\nname = \"file\"\nfrom = \"n0\"\n\
             to = \"n4\"\n{transport}app = {{ kind = \"bulk\", size = \"1 MB\" }}\n"
        );
        let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let outcome = simulate(&scenario, RunOptions::default()).unwrap();
        assert_eq!(flow(&outcome, "delivered_bytes"), 1e6, "{middlebox}");
        assert!(outcome.summary.flows[0].metrics.get("completion_time_s").is_some(), "{middlebox}");
        for link in &outcome.summary.links {
            let metric = |name| link.metrics.get(name).unwrap();
            assert_eq!(metric("drops_loss"), 0.0, "{middlebox}");
            assert!(metric("duplicated_packets") > 0.0 && metric("corrupted_packets") >= 0.0, "{middlebox}");
        }
    }
}
