//! Flows over UDP with real packets: what their receivers measure is what the simulator's measure, but for what this machine's
//! processors take. Needs root and Linux; ignored by default (`bed::can_run`).

use crate::bed::{can_run, run_scenario, scenario, text};
use longhaul_emu::kernel::mtu;
use longhaul_emu::udp;
use longhaul_sim::{RunOptions, load, simulate};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// 2 x 25 ms at 2 Mbit/s, 20 packets long.
fn path(link: &str, flows: &str) -> String {
    format!(
        "[run]\nduration = \"6 s\"\nwarmup = \"1 s\"\nsample = \"20 ms\"\n[[link]]\nname = \"path\"\nends = [\"near\", \"far\"]\n\
         rate = \"2 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"20 packets\"\n{link}\n{}",
        flows.replace("[[flow]]", "[[flow]]\nfrom = \"near\"\nto = \"far\"\ntransport = \"udp\"")
    )
}

fn emulated(name: &str, text_of: &str, more: &[&str]) -> (Value, PathBuf) {
    let file = scenario(name, text_of);
    let out = std::env::temp_dir().join(format!("longhaul-emu-{name}-{}", std::process::id()));
    let arguments = [&["--max-lateness", "10 s", "--max-standstill", "100 s"], more].concat();
    let output = run_scenario(&file, &out, &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::fs::remove_file(file).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), out)
}

fn simulated(text_of: &str) -> Value {
    let outcome = simulate(&load(text_of, "test", &[]).unwrap(), RunOptions::default()).unwrap();
    serde_json::to_value(&outcome.summary).unwrap()
}

fn metric(summary: &Value, flow: usize, name: &str) -> f64 {
    summary["flows"][flow]["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {summary}"))
}

/// A call of 50 messages a second beside a constant rate below the link's: nothing is lost, and 25 ms and the time on the link pass.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_call_of_real_packets_is_the_one_that_was_simulated() {
    if !can_run(&[]) {
        return;
    }
    let flows = "[[flow]]\nname = \"call\"\ndscp = \"ef\"\napp = { kind = \"cbr\", rate = \"64 kbit/s\", message = \"160 B\", voice = true }\n\
        [[flow]]\nname = \"cross\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\", message = \"1000 B\" }\n";
    let text_of = path("", flows);
    let expected = simulated(&text_of);
    let (real, out) = emulated("udp-call", &text_of, &[]);
    for flow in 0..2 {
        let both = |name: &str| (metric(&expected, flow, name), metric(&real, flow, name));
        let (due, received) = both("received_packets");
        assert!((received - due).abs() <= 3.0, "{received} datagrams, simulated {due}");
        assert_eq!(metric(&real, flow, "lost_packets"), 0.0);
        let (simulated, took) = both("one_way_delay_p50_s");
        assert!(took >= simulated - 1e-4 && took < simulated + 0.02, "{took} s, simulated {simulated} s");
        assert_eq!((both("duplicate_packets"), both("reordered_packets")), ((0.0, 0.0), (0.0, 0.0)));
        assert_eq!(real["flows"][flow]["state"], expected["flows"][flow]["state"]);
    }
    let (simulated, mos) = (metric(&expected, 0, "mos"), metric(&real, 0, "mos"));
    assert!(mos <= simulated + 0.01 && mos > simulated - 0.5, "{mos}, simulated {simulated}");
    std::fs::remove_dir_all(out).unwrap();
}

/// Three times the link's rate: two of three datagrams are dropped, and the others wait behind a full queue of 20.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn what_a_full_queue_drops_is_lost() {
    if !can_run(&[]) {
        return;
    }
    let flows = "[[flow]]\napp = { kind = \"cbr\", rate = \"6 Mbit/s\", message = \"1472 B\" }\n";
    let text_of = path("", flows);
    let expected = simulated(&text_of);
    let (real, out) = emulated("udp-full", &text_of, &[]);
    let both = |name: &str| (metric(&expected, 0, name), metric(&real, 0, name));
    for (name, bound) in [("goodput_bps", 0.02), ("loss_rate", 0.02), ("one_way_delay_mean_s", 0.1)] {
        let (simulated, measured) = both(name);
        assert!((measured / simulated - 1.0).abs() < bound, "{name}: {measured}, simulated {simulated}");
    }
    std::fs::remove_dir_all(out).unwrap();
}

/// A link that sends packets twice and overtakes: the receiver counts both, as the simulator's does.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn copies_and_overtaken_datagrams_are_counted() {
    if !can_run(&[]) {
        return;
    }
    let flows = "[[flow]]\napp = { kind = \"cbr\", rate = \"400 kbit/s\", message = \"100 B\" }\n";
    let text_of = path("duplication = 0.1\nreordering = { probability = 0.2, delay = \"10 ms\" }", flows);
    let expected = simulated(&text_of);
    let (real, out) = emulated("udp-twice", &text_of, &[]);
    for name in ["duplicate_packets", "reordered_packets"] {
        let (simulated, measured) = (metric(&expected, 0, name), metric(&real, 0, name));
        assert!(
            simulated > 100.0 && (measured / simulated - 1.0).abs() < 0.3,
            "{name}: {measured}, simulated {simulated}"
        );
    }
    std::fs::remove_dir_all(out).unwrap();
}

/// RFC 2474 and 3168: the byte of expedited forwarding with ECT(0) is on the wire.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn datagrams_have_their_dscp_and_ecn_field() {
    if !can_run(&["tshark"]) {
        return;
    }
    let flows = "[[flow]]\ndscp = \"ef\"\nudp = { ecn = true }\napp = { kind = \"cbr\", rate = \"80 kbit/s\", message = \"100 B\" }\n";
    let (_, out) = emulated("udp-dscp", &path("", flows), &["--tap", "all"]);
    let read = Command::new("tshark")
        .args(["-T", "fields", "-e", "ip.dsfield", "-Y", "udp", "-r"])
        .arg(out.join("packets.pcapng"))
        .output()
        .unwrap();
    let found = text(&read.stdout);
    assert!(found.lines().count() > 400 && found.lines().all(|line| line == "0xba"), "{found}");
    std::fs::remove_dir_all(out).unwrap();
}

/// What kernels would fragment, and what has no room for a number, is refused before anything is set up.
#[test]
fn datagrams_that_kernels_would_fragment_are_refused() {
    for (flow, part) in [
        (
            "udp = { payload = \"9000 B\" }\napp = { kind = \"cbr\", rate = \"1 Mbit/s\", message = \"1000 B\" }",
            "set udp.payload to \"1472 B\" or less",
        ),
        (
            "app = { kind = \"cbr\", rate = \"1 kbit/s\", message = \"2 B\" }",
            "carries its number, which takes 4 bytes",
        ),
    ] {
        let scenario = load(&path("", &format!("[[flow]]\n{flow}\n")), "test", &[]).unwrap();
        let error = udp::check(&scenario.flow, |flow| mtu(&flow.tcp)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
