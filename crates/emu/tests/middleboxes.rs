//! Middleboxes between real kernels. Needs root and Linux; ignored by default (`bed::can_run`). Nothing here depends on how fast the
//! machine is: times are only bounded from below, or generously from above.

use crate::bed::{can_run, run, run_scenario, scenario, text};
use serde_json::Value;

/// Two networks and a thin line back between them, of 256 kbit/s; what stands at its ends is added.
fn chain(middlebox: &str, tcp: &str) -> String {
    format!(
        "name = \"chain\"\n[run]\nduration = \"60 s\"\nsample = \"100 ms\"\n\
         [[link]]\nname = \"lan\"\nends = [\"near\", \"hub\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
         [[link]]\nname = \"thin\"\nends = [\"hub\", \"edge\"]\nforward = {{ rate = \"8 Mbit/s\", delay = \"40 ms\" }}\n\
         reverse = {{ rate = \"256 kbit/s\", delay = \"40 ms\" }}\n\
         [[link]]\nname = \"home\"\nends = [\"edge\", \"far\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n{middlebox}\n\
         [[flow]]\nname = \"put\"\nfrom = \"near\"\nto = \"far\"\napp = {{ kind = \"bulk\", size = \"300 kB\" }}\n\
         tcp = {{ congestion = \"reno\", timestamps = false{tcp} }}\n"
    )
}

/// Runs the flow, which is delivered whole, and returns the summary.
fn summary_of(name: &str, text_of: &str) -> Value {
    let file = scenario(name, text_of);
    let out = std::env::temp_dir().join(format!("longhaul-emu-{}-{name}", std::process::id()));
    // Whether the machine is too busy to be believed is not what is tested here.
    let output = run_scenario(&file, &out, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(out.join("middleboxes.parquet").exists());
    std::fs::remove_file(file).unwrap();
    std::fs::remove_dir_all(out).unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(flow(&summary, "delivered_bytes"), 300_000.0, "{}", text(&output.stderr));
    summary
}

fn flow(summary: &Value, metric: &str) -> f64 {
    summary["flows"][0]["metrics"][metric].as_f64().unwrap_or_else(|| panic!("no {metric}"))
}
fn middlebox(summary: &Value, metric: &str) -> f64 {
    summary["middleboxes"][0]["metrics"][metric].as_f64().unwrap_or_else(|| panic!("no {metric}"))
}
fn link(summary: &Value, name: &str, metric: &str) -> f64 {
    let links = summary["links"].as_array().unwrap();
    let link = links.iter().find(|link| link["name"] == name).unwrap();
    link["metrics"][metric].as_f64().unwrap_or_else(|| panic!("no {metric}"))
}

/// Pings of both versions with a pattern, which `ping` compares, and datagrams: all of it passes a middlebox as it is.
fn what_is_no_tcp_passes(name: &str, text_of: &str) {
    let ping =
        "ping -q -c 3 -i 0.2 -p ff00 -s 400 $LONGHAUL_NEAR && ping -q -c 3 -i 0.2 -p ff00 $LONGHAUL_NEAR_V6";
    let output = run(&format!("{name}-ping"), text_of, &["--at", "far"], ping);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said} {}", text(&output.stderr));
    assert_eq!(said.matches(" 0% packet loss").count(), 2, "{said}");
    assert!(!said.contains("wrong data"), "{said}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn an_mss_clamp_makes_real_segments_smaller() {
    if !can_run(&["ping"]) {
        return;
    }
    let clamped = chain("[[middlebox]]\nkind = \"mss_clamp\"\nat = \"hub\"\nmss = \"500 B\"\n", "");
    let summary = summary_of("clamp", &clamped);
    assert!(flow(&summary, "sent_packets") >= 600.0, "300,000 bytes in segments of 500");
    assert_eq!(middlebox(&summary, "changed_options"), 2.0, "a SYN and its answer");
    what_is_no_tcp_passes("clamp", &clamped);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn an_ack_filter_thins_out_real_acks() {
    if !can_run(&["ping"]) {
        return;
    }
    let filter = "[[middlebox]]\nkind = \"ack_filter\"\nat = \"edge\"\nevery = 4\n";
    // An ACK for every segment, so that there are some to leave out.
    let filtered = chain(filter, ", delayed_ack = \"off\"");
    let summary = summary_of("filter", &filtered);
    let suppressed = middlebox(&summary, "suppressed_acks");
    let (before, behind) =
        (link(&summary, "home.reverse", "arrivals"), link(&summary, "thin.reverse", "arrivals"));
    assert!(suppressed > 0.0);
    assert!(behind <= before - suppressed + 1.0, "{before} ACKs, {suppressed} left out, {behind} went on");
    what_is_no_tcp_passes("filter", &filtered);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn real_acks_cross_a_thin_line_compacted() {
    if !can_run(&["ping"]) {
        return;
    }
    for form in ["exact", "traditional"] {
        let pair = format!(
            "[[middlebox]]\nkind = \"ack_compaction\"\nat = \"edge\"\npeer = \"hub\"\nform = \"{form}\"\nwait = \"50 ms\"\n"
        );
        let compacted = chain(&pair, ", delayed_ack = \"off\", initial_window = 10");
        let summary = summary_of(&format!("compaction-{form}"), &compacted);
        let (acks, packets) =
            (middlebox(&summary, "compacted_acks"), middlebox(&summary, "compacted_packets"));
        assert!(packets > 0.0 && acks >= 2.0 * packets, "{acks} ACKs in {packets} packets");
        // All packets to the server meet the tunnel and leave it again.
        let thin = link(&summary, "thin.reverse", "arrivals");
        let (before, behind) =
            (link(&summary, "home.reverse", "arrivals"), link(&summary, "lan.reverse", "arrivals"));
        assert!(thin < before, "{thin} packets of the tunnel for {before}");
        assert!(behind > thin, "{behind} behind it");
        what_is_no_tcp_passes(&format!("compaction-{form}"), &compacted);
    }
}

/// A file of random bytes fetched through the path: what comes out is what was sent.
fn a_file_arrives_as_it_was(name: &str, text_of: &str) {
    let directory = std::env::temp_dir().join(format!("longhaul-emu-{}-{name}-http", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut state = 1u64;
    let content: Vec<u8> = (0..400_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    std::fs::write(directory.join("file"), &content).unwrap();
    let serve =
        format!("near=exec python3 -m http.server --bind :: --directory {} 8000", directory.display());
    let fetch = format!(
        "fetch() {{ curl --silent --fail --retry 50 --retry-all-errors --retry-delay 1 -o $1 $2; }}\n\
         fetch {0}/v4 http://$LONGHAUL_NEAR:8000/file && fetch {0}/v6 \"http://[$LONGHAUL_NEAR_V6]:8000/file\" && \
         cmp {0}/file {0}/v4 && cmp {0}/file {0}/v6",
        directory.display()
    );
    let output = run(name, text_of, &["--at", "far", "--serve", &serve], &fetch);
    std::fs::remove_dir_all(directory).unwrap();
    assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_split_at_one_node_hands_every_byte_on() {
    if !can_run(&["python3", "curl", "ping", "cmp"]) {
        return;
    }
    let split = "[[middlebox]]\nkind = \"split\"\nat = \"edge\"\n";
    let lossy = chain(split, "").replace(
        "delay = \"40 ms\" }",
        "delay = \"100 ms\", loss = { kind = \"random\", probability = \"2 %\" } }",
    );
    a_file_arrives_as_it_was("split-single", &lossy);
    // The handshake with the proxy takes 10 ms, with the server 2 s.
    let far = chain(split, "").replace("delay = \"40 ms\" }", "delay = \"1 s\" }");
    let connect = "exec python3 -c \"import socket,os,time\nt=time.monotonic()\n\
        socket.create_connection((os.environ['LONGHAUL_NEAR'],9000))\nprint(time.monotonic()-t)\"";
    let output = run("split-handshake", &far, &["--at", "far"], connect);
    let took: f64 = text(&output.stdout).trim().parse().unwrap();
    assert!((0.01..1.9).contains(&took), "answered by the proxy, which is 10 ms away, after {took} s");
    what_is_no_tcp_passes("split-single", &chain(split, ""));
    let summary = summary_of("split-single", &chain(split, ""));
    assert!(middlebox(&summary, "undelivered_max_bytes") > 0.0);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_split_at_two_nodes_hands_every_byte_on() {
    if !can_run(&["python3", "curl", "ping", "cmp"]) {
        return;
    }
    for (name, more) in [("shared", ""), ("flows", "connections = \"per_flow\"\n")] {
        let split = format!("[[middlebox]]\nkind = \"split\"\nat = \"hub\"\npeer = \"edge\"\n{more}");
        let lossy = chain(&split, "").replace(
            "delay = \"40 ms\" }",
            "delay = \"100 ms\", loss = { kind = \"random\", probability = \"2 %\" } }",
        );
        a_file_arrives_as_it_was(&format!("split-{name}"), &lossy);
        what_is_no_tcp_passes(&format!("split-{name}"), &chain(&split, ""));
    }
}

/// The results of a split have its own connection, in the summary and over time.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_long_hop_of_a_split_is_in_the_results() {
    if !can_run(&[]) {
        return;
    }
    let split = "[[middlebox]]\nkind = \"split\"\nat = \"hub\"\npeer = \"edge\"\n";
    let summary = summary_of("long-hop", &chain(split, ""));
    let ends = summary["middleboxes"][0]["long_hop"].as_array().unwrap();
    // 300,000 bytes in segments of at most 1460.
    let sent: f64 = ends.iter().map(|end| end["metrics"]["sent_packets"].as_f64().unwrap()).sum();
    assert!(sent >= 206.0, "{ends:?}");
    let mean = |end: &Value| end["metrics"]["cwnd_mean_bytes"].as_f64();
    assert!(ends.iter().filter_map(mean).any(|bytes| bytes >= 1460.0), "{ends:?}");
}

/// Down the paced datagrams, up the thin line: each loses one packet in fifty, with an erasure code and without.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_paced_hop_hands_every_byte_on() {
    if !can_run(&["python3", "curl", "ping", "cmp"]) {
        return;
    }
    for (name, more) in [("plain", ""), ("coded", "erasure = { items = 10, parities = 2 }\n")] {
        let hop = format!("[[middlebox]]\nkind = \"paced\"\nat = \"hub\"\npeer = \"edge\"\n{more}");
        let lossy = chain(&hop, "").replace(
            "delay = \"40 ms\" }",
            "delay = \"100 ms\", loss = { kind = \"random\", probability = \"2 %\" } }",
        );
        a_file_arrives_as_it_was(&format!("paced-{name}"), &lossy);
        what_is_no_tcp_passes(&format!("paced-{name}"), &chain(&hop, ""));
        let summary = summary_of(&format!("paced-{name}"), &chain(&hop, ""));
        assert!(middlebox(&summary, "paced_items") >= 300_000.0 / 1448.0, "datagrams for 300,000 bytes");
        assert!(middlebox(&summary, "reports") >= 1.0);
    }
}

/// The accelerator's transport, over both of its carriers, on a link that loses one packet in fifty each way.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn an_accelerator_hands_every_byte_on() {
    if !can_run(&["python3", "curl", "ping", "cmp"]) {
        return;
    }
    for (name, carrier) in [("accelerator", "quic"), ("tcp-accelerator", "tcp")] {
        let hop = format!(
            "[[middlebox]]\nkind = \"split\"\nat = \"hub\"\npeer = \"edge\"\n\
             long = {{ transport = \"hop\", carrier = \"{carrier}\" }}\n"
        );
        let lossy = chain(&hop, "").replace(
            "delay = \"40 ms\" }",
            "delay = \"100 ms\", loss = { kind = \"random\", probability = \"2 %\" } }",
        );
        a_file_arrives_as_it_was(name, &lossy);
        what_is_no_tcp_passes(name, &chain(&hop, ""));
        let summary = summary_of(name, &chain(&hop, ""));
        let packets = middlebox(&summary, "long_hop_packets");
        assert!(packets >= 300_000.0 / 1472.0, "{carrier}: {packets} packets for 300,000 bytes");
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn flows_of_two_hosts_of_which_one_has_a_proxy_are_refused() {
    if !can_run(&[]) {
        return;
    }
    let two = chain("[[middlebox]]\nkind = \"split\"\nat = \"edge\"\nflows = [\"put\"]\n", "")
        + "[[flow]]\nname = \"other\"\nfrom = \"near\"\nto = \"far\"\n";
    let output = run("split-some", &two, &["--at", "far"], "true");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("give \"put\" and \"other\" hosts of their own"), "{said}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_split_ends_the_other_connection_when_a_host_resets() {
    if !can_run(&["python3"]) {
        return;
    }
    // The client resets (SO_LINGER of 0 s) after the server has its first bytes; the server's socket reports it. A proxy answers for
    // a server that does not listen yet: then sending more fails, and the client begins again.
    let split = "[[middlebox]]\nkind = \"split\"\nat = \"edge\"\n";
    let server = "near=exec python3 -c \"\nimport socket\ns=socket.create_server(('',9000))\nc,_=s.accept()\n\
        try:\n  while c.recv(9): pass\n  print('closed',flush=True)\nexcept ConnectionResetError:\n  print('reset',flush=True)\n\"";
    let client = "exec python3 -c \"\nimport socket,struct,time,os\nfor n in range(100):\n  try:\n    c=socket.create_connection((os.environ['LONGHAUL_NEAR'],9000))\n    \
        c.send(b'hello')\n    time.sleep(1)\n    c.send(b'more')\n    c.setsockopt(socket.SOL_SOCKET,socket.SO_LINGER,struct.pack('ii',1,0))\n    c.close()\n    break\n  except OSError:\n    time.sleep(0.2)\ntime.sleep(2)\n\"";
    let output = run("split-reset", &chain(split, ""), &["--at", "far", "--serve", server], client);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // What is served in the background speaks to standard error.
    assert!(text(&output.stderr).contains("reset"), "{}", text(&output.stderr));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn flows_that_one_split_cannot_serve_alike_are_refused() {
    if !can_run(&[]) {
        return;
    }
    let two = chain("[[middlebox]]\nkind = \"split\"\nat = \"edge\"\n", "")
        + "[[flow]]\nname = \"other\"\nfrom = \"near\"\nto = \"far\"\ntcp = { congestion = \"cubic\" }\n";
    let output = run("split-two", &two, &["--at", "far"], "true");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("\"put\"") && said.contains("\"other\"") && said.contains("`near`"), "{said}");
}
