//! QUIC flows with real packets: quinn-proto's endpoints with TLS over UDP sockets of this machine's kernel. Needs root and Linux;
//! ignored by default (`bed::can_run`). How fast the machine is can only make transfers longer, and no time is tested.

use crate::bed::{can_run, run_scenario, scenario, text};
use longhaul_sim::{RunOptions, load, simulate};
use serde_json::Value;

/// 2 x 25 ms at 20 Mbit/s.
fn path(run: &str, flows: &str) -> String {
    format!(
        "[run]\nduration = \"60 s\"\nsample = \"20 ms\"\n{run}\n[[link]]\nname = \"path\"\nends = [\"near\", \"far\"]\nrate = \"20 Mbit/s\"\ndelay = \"25 ms\"\n\
         queue = \"125 kB\"\n{}",
        flows.replace("[[flow]]", "[[flow]]\nfrom = \"near\"\nto = \"far\"\ntransport = \"quic\"")
    )
}

/// The emulator's output for a scenario, and the directory of its result.
fn emulated(name: &str, text_of: &str) -> (Value, std::path::PathBuf) {
    let file = scenario(name, text_of);
    let out = std::env::temp_dir().join(format!("longhaul-emu-{name}-{}", std::process::id()));
    let output = run_scenario(&file, &out, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::fs::remove_file(file).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), out)
}

fn metric(summary: &Value, flow: usize, name: &str) -> f64 {
    summary["flows"][flow]["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {summary}"))
}

/// A small grid: no real transfer is faster than its simulation, but for what random losses and the handshake's lengths make of it,
/// and all that is counted agrees.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn real_transfers_are_those_that_were_simulated() {
    if !can_run(&[]) {
        return;
    }
    for congestion in ["cubic", "bbr", "quinn_cubic"] {
        for size in ["100 kB", "1 MB"] {
            let flow = format!(
                "[[flow]]\napp = {{ kind = \"bulk\", size = \"{size}\" }}\nquic = {{ congestion = \"{congestion}\", unordered = true }}\n"
            );
            let text_of = path("", &flow);
            let simulated = simulate(&load(&text_of, "test", &[]).unwrap(), RunOptions::default()).unwrap();
            let simulated = serde_json::to_value(&simulated.summary).unwrap();
            let (real, out) = emulated("quic-grid", &text_of);
            let both = |name: &str| (metric(&simulated, 0, name), metric(&real, 0, name));
            let (expected, took) = both("completion_time_s");
            assert!(took > 0.8 * expected, "{congestion}, {size}: {took} s, simulated {expected} s");
            let (bytes, delivered) = both("delivered_bytes");
            assert_eq!(bytes, delivered);
            let (_, rtt) = both("rtt_min_s");
            // 50 ms, but for what a machine that stands still between two steps of the emulator takes off.
            assert!(rtt >= 0.025, "{rtt} s");
            let (packets, sent) = both("sent_packets");
            assert!(
                sent >= 0.9 * bytes / 1424.0 && sent < 2.0 * packets,
                "{sent} packets, simulated {packets}"
            );
            assert!(metric(&real, 0, "cwnd_mean_bytes") >= 12_000.0);
            let flow = &real["flows"][0];
            assert_eq!((&flow["variant"], &flow["congestion"]), (&"quic".into(), &congestion.into()));
            std::fs::remove_dir_all(out).unwrap();
        }
    }
}

/// A resumed handshake has no certificates; early data save a round trip of 50 ms.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn handshakes_are_full_resumed_or_with_early_data() {
    if !can_run(&[]) {
        return;
    }
    let mut bytes = vec![];
    for (handshake, least) in [("full", 0.1), ("resumed", 0.1), ("early_data", 0.05)] {
        let flow = format!(
            "[[flow]]\napp = {{ kind = \"request\", response = \"1 kB\", requests = 1 }}\nquic = {{ handshake = \"{handshake}\" }}\n"
        );
        let (real, out) = emulated("quic-handshake", &path("qlog = true", &flow));
        let took = metric(&real, 0, "response_time_max_s");
        assert!(took >= least, "{handshake}: {took} s");
        // Handshake packets of the server, as its log has them.
        let log = std::fs::read_to_string(out.join("qlog/flow-server.sqlog")).unwrap();
        let records =
            log.split('\u{1e}').skip(1).map(|record| serde_json::from_str::<Value>(record).unwrap());
        let of_handshake = records.filter(|record| {
            record["name"] == "transport:packet_sent"
                && record["data"]["header"]["packet_type"] == "handshake"
        });
        let crypto = of_handshake.flat_map(|record| record["data"]["frames"].as_array().unwrap().clone());
        let ends = crypto.filter_map(|frame| Some(frame["offset"].as_u64()? + frame["length"].as_u64()?));
        bytes.push(ends.max().expect("a handshake"));
        let zero_rtt = log.contains("\"0RTT\"");
        let client = std::fs::read_to_string(out.join("qlog/flow-client.sqlog")).unwrap();
        assert_eq!(zero_rtt || client.contains("\"0RTT\""), handshake == "early_data");
        std::fs::remove_dir_all(out).unwrap();
    }
    // Certificates of 2100 bytes, and signature, are in the first only.
    assert!(bytes[0] > 2200 && bytes[1] < 400 && bytes[2] < 400, "{bytes:?}");
}

/// Two flows on one connection, and a web session on one of its own; a connection that dies is named.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn flows_share_a_connection_of_real_packets() {
    if !can_run(&[]) {
        return;
    }
    let flows = "[[flow]]\nname = \"low\"\napp = { kind = \"bulk\", size = \"1 MB\" }\nquic = { connection = \"shared\" }\n\
        [[flow]]\nname = \"high\"\napp = { kind = \"bulk\", size = \"1 MB\" }\nquic = { connection = \"shared\", priority = 1 }\n\
        [[flow]]\nname = \"web\"\napp = { kind = \"web\", pages = 2, think = \"50 ms\", document = \"5 kB\", objects = 4, object = \"3 kB\" }\n";
    let (real, out) = emulated("quic-shared", &path("qlog = true", flows));
    for flow in 0..2 {
        assert_eq!(metric(&real, flow, "delivered_bytes"), 1e6);
    }
    let [low, high] = [0, 1].map(|flow| metric(&real, flow, "completion_time_s"));
    // What has priority is complete before the other, which needs the time of both at least.
    assert!(high < low && low > 2e6 * 8.0 / 20e6, "{high} s and {low} s");
    assert_eq!((metric(&real, 2, "pages"), metric(&real, 2, "failed_responses")), (2.0, 0.0));
    assert_eq!(metric(&real, 2, "delivered_bytes"), 2.0 * 17e3);
    let mut logs: Vec<String> = std::fs::read_dir(out.join("qlog"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    logs.sort();
    assert_eq!(logs, ["low-client.sqlog", "low-server.sqlog", "web-client.sqlog", "web-server.sqlog"]);
    std::fs::remove_dir_all(out).unwrap();
    let outage = path(
        "",
        "[[flow]]\napp = { kind = \"bulk\", size = \"50 MB\" }\nquic = { idle_timeout = \"1 s\" }\n",
    )
    .replace("queue =", "outages = [{ start = \"500 ms\", duration = \"55 s\" }]\nqueue =");
    let (real, out) = emulated("quic-outage", &outage);
    let warnings = real["warnings"].as_array().unwrap();
    let named = |warning: &Value| warning["message"].as_str().unwrap().contains("timed out");
    assert!(warnings.iter().any(named), "{warnings:?}");
    std::fs::remove_dir_all(out).unwrap();
}
