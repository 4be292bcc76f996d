//! What is refused of serial lines and of the middleboxes for thin return links, and where the message points.

use longhaul_scenario::load;

const GOOD: &str = r#"[run]
duration = "10 s"
[[link]]
name = "thin"
ends = ["hub", "edge"]
rate = "9600 bit/s"
delay = "250 ms"
queue = { kind = "droptail", limit = "10 packets" }
serial = { framing = "slip", vj = { slots = 16 } }
[[link]]
name = "lan"
ends = ["edge", "client"]
rate = "10 Mbit/s"
delay = "0 s"
[[link]]
name = "net"
ends = ["server", "hub"]
rate = "10 Mbit/s"
delay = "0 s"
[[flow]]
name = "download"
from = "server"
to = "client"
[[middlebox]]
kind = "ack_compaction"
at = "edge"
peer = "hub"
[[middlebox]]
kind = "ack_filter"
at = "edge"
every = 2
"#;

fn refusal(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the scenario");
    load(&GOOD.replace(from, to), "thin.toml", &[]).expect_err("must be refused").to_string()
}

#[test]
fn the_good_scenario_is_accepted() {
    load(GOOD, "thin.toml", &[]).unwrap();
}

#[test]
fn each_mistake_has_its_place_and_its_cure() {
    for (from, to, parts) in [
        ("slots = 16", "slots = 2", ["thin.toml:9", "at least 3 and at most 254"]),
        ("slots = 16", "header = \"2 B\"", ["thin.toml:9", "at least 3 B and at most 40 B"]),
        ("framing = \"slip\"", "framing = \"slippp\"", ["thin.toml:9", "slip"]),
        ("framing = \"slip\"", "bits_per_byte = 7", ["thin.toml:9", "at least 8 and at most 16"]),
        ("framing = \"slip\"", "mtu = \"40 B\"", ["thin.toml:9", "at least 68 B and at most 65535 B"]),
        ("vj = { slots = 16 }", "vj = {}, rohc = {}", ["thin.toml:9", "in one way: `vj` or `rohc`"]),
        ("vj = { slots = 16 }", "rohc = { contexts = 17 }", ["thin.toml:9", "at least 1 and at most 16"]),
        ("vj = { slots = 16 }", "rohc = { window = 15 }", ["thin.toml:9", "at least 1 and at most 14"]),
        ("vj = { slots = 16 }", "rohc = { repeat = 9 }", ["thin.toml:9", "at most the window, 8"]),
        ("vj = { slots = 16 }", "rohc = { refresh = 1 }", ["thin.toml:9", "2 packets or more"]),
        ("kind = \"droptail\"", "kind = \"head_drop\"", ["serial", "first in, first out"]),
        (
            "queue = {",
            "reordering = { probability = 0.1, delay = \"1 ms\" }\nqueue = {",
            ["serial", "in order"],
        ),
        ("queue = {", "corruption = \"1 %\"\nqueue = {", ["vj", "not modelled"]),
        (
            "serial = { framing = \"slip\", vj = { slots = 16 } }",
            "corruption = 0.01\nserial = { framing = \"ppp\" }",
            ["thin.toml:10", "write `loss` in place"],
        ),
        ("peer = \"hub\"", "peer = \"edge\"", ["peer", "both nodes are \"edge\""]),
        ("peer = \"hub\"", "peer = \"hubb\"", ["hubb", "hub"]),
        ("peer = \"hub\"", "peer = \"hub\"\nmost = 0", ["most", "at least 1 and at most 1000"]),
        ("peer = \"hub\"", "peer = \"hub\"\nspacing = \"odd\"", ["odd", "\"even\""]),
        ("peer = \"hub\"", "peer = \"hub\"\nspacing = 0", ["thin.toml", "ACKs a second"]),
        ("peer = \"hub\"", "peer = \"hub\"\ncarrier = { mss = \"0 B\" }", ["mss", "0 B"]),
        (
            "kind = \"ack_filter\"\nat = \"edge\"\nevery = 2",
            "kind = \"throttle\"\nat = \"edge\"\nrate = \"0 bit/s\"",
            ["rate", "above 0 bit/s"],
        ),
        (
            "kind = \"ack_filter\"\nat = \"edge\"\nevery = 2",
            "kind = \"throttle\"\nat = \"edge\"\nrate = \"1 Mbit/s\"\nburst = \"0 B\"",
            ["burst", "above 0 B"],
        ),
        (
            "to = \"client\"",
            "to = \"client\"\ntcp = { pace_after_idle = 1.5 }",
            ["pace_after_idle", "at most 1"],
        ),
        ("every = 2", "every = 0", ["every", "at least 1 and at most 1000"]),
        ("every = 2", "adapt = { rate = \"0 bit/s\" }", ["rate", "above 0 bit/s"]),
        (
            "every = 2",
            "every = 4\nadapt = { rate = \"7680 bit/s\", most = 3 }",
            ["most", "at least `every`, 4"],
        ),
        ("every = 2", "hold = \"0 s\"", ["hold", "above 0 s"]),
        (
            "kind = \"ack_filter\"\nat = \"edge\"\nevery = 2",
            "kind = \"mss_clamp\"\nat = \"edge\"\nmss = \"0 B\"",
            ["mss", "at least 1 B"],
        ),
    ] {
        let message = refusal(from, to);
        for part in parts {
            assert!(message.contains(part), "{to:?}: {part:?} is missing in:\n{message}");
        }
    }
}

/// The ACKs of a flow that begins or ends at one of the two nodes do not pass it.
#[test]
fn a_compactor_needs_hosts_beyond() {
    let message = refusal("to = \"client\"", "to = \"edge\"");
    assert!(message.contains("no flow passes \"edge"), "{message}");
}

#[test]
fn a_paced_hop_is_refused_what_makes_no_sense() {
    let compaction = "kind = \"ack_compaction\"\nat = \"edge\"\npeer = \"hub\"";
    let paced = |more: &str| GOOD.replace(compaction, &format!("kind = \"paced\"\nat = \"hub\"\n{more}"));
    load(&paced("peer = \"edge\""), "thin.toml", &[]).unwrap();
    for (more, parts) in [
        ("", ["thin.toml:24", "missing field `peer`"]),
        ("peer = \"hub\"", ["peer", "both nodes are \"hub\""]),
        ("peer = \"edge\"\nrate = \"0 bit/s\"", ["rate", "above 0 bit/s"]),
        ("peer = \"edge\"\nmtu = \"40 B\"", ["mtu", "at least 128 B and at most 65535 B"]),
        ("peer = \"edge\"\nloop_rtts = 0.5", ["loop_rtts", "at least 1 and at most 100"]),
        ("peer = \"edge\"\nreport_share = 0.0", ["report_share", "above 0 and at most 1"]),
        ("peer = \"edge\"\nreordering = 0", ["reordering", "at least 1 and at most 1000"]),
        ("peer = \"edge\"\ncredit = \"5 GB\"", ["credit", "at most 1 GB, not 5 GB"]),
        ("peer = \"edge\"\nerasure = { items = 0, parities = 1 }", ["erasure.items", "at least 1"]),
        ("peer = \"edge\"\nbuffer = \"100 B\"", ["buffer", "at least one segment"]),
        ("peer = \"edge\"\nfar = { established = true }", ["established", "as the hosts open theirs"]),
        ("peer = \"edge\"\nloop_rtt = 2", ["loop_rtt", "loop_rtts"]),
    ] {
        let message = load(&paced(more), "thin.toml", &[]).expect_err("must be refused").to_string();
        for part in parts {
            assert!(message.contains(part), "{more:?}: {part:?} is missing in:\n{message}");
        }
    }
}

#[test]
fn an_accelerator_is_refused_what_makes_no_sense() {
    let compaction = "kind = \"ack_compaction\"\nat = \"edge\"\npeer = \"hub\"";
    let split = |more: &str| GOOD.replace(compaction, &format!("kind = \"split\"\nat = \"hub\"\n{more}"));
    let hop = |settings: &str| split(&format!("peer = \"edge\"\nlong = {{ transport = \"hop\"{settings} }}"));
    load(&hop(""), "thin.toml", &[]).unwrap();
    load(&hop(", memory = \"1 MB\""), "thin.toml", &[]).unwrap();
    for (text, parts) in [
        (split("long = { transport = \"hop\" }"), ["thin.toml:27", "is for a split at two nodes"]),
        (
            hop("")
                + "\n[[middlebox]]\nkind = \"split\"\nname = \"b\"\nat = \"hub\"\npeer = \"edge\"\nlong = 3",
            ["thin.toml", "is not a table"],
        ),
        (hop(", shar = \"fair\""), ["thin.toml:28:29", "did you mean \"share\"?"]),
        (hop(", share = \"unfair\""), ["thin.toml:28:37", "expected `exclusive` or `fair`"]),
        (hop(", mtu = \"1100 B\""), ["long.mtu", "at least 1200 B and at most 16384 B"]),
        (hop(", credit = \"1 kB\""), ["long.credit", "at least 16 KiB and at most 1 GiB"]),
        (
            hop(", credit = \"1 MB\", memory = \"2 MB\""),
            ["long.memory", "at least nine times `credit`, 9 MB"],
        ),
        (
            hop(", keep_alive = \"10 s\", idle_timeout = \"15 s\""),
            ["long.keep_alive", "half of idle_timeout (15 s)"],
        ),
        (hop(", forward_rate = \"0 bit/s\""), ["long.forward_rate", "at least 10 kbit/s"]),
        (hop(", carrier = \"udp\""), ["thin.toml:28:39", "expected `quic` or `tcp`"]),
        (hop(", connections = 2"), ["long.connections", "is for `carrier = \"tcp\"`"]),
        (hop(", tcp = { congestion = \"bbr\" }"), ["long.tcp", "is for `carrier = \"tcp\"`"]),
        (hop(", carrier = \"tcp\", coding = \"off\""), ["long.coding", "is for `carrier = \"quic\"`"]),
        (hop(", carrier = \"tcp\", share = \"fair\""), ["long.share", "is for `carrier = \"quic\"`"]),
        (hop(", carrier = \"tcp\", connections = 0"), ["long.connections", "64"]),
        (
            hop(", carrier = \"tcp\", tcp = { established = true }"),
            ["long.tcp.established", "opened when the run begins"],
        ),
        (hop(", carrier = \"tcp\", tcp = { mss = \"10 B\" }"), ["long.tcp.mss", "48"]),
        (hop(", carrier = \"tcp\", tcp = { mms = \"10 B\" }"), ["thin.toml:28", "did you mean \"mss\"?"]),
        (split("peer = \"edge\"\nlong = { transport = \"hpo\" }"), ["thin.toml:28:22", "`hop`"]),
        (
            split("peer = \"edge\"\nlong = { transport = \"hop\", congestion = \"bbr\" }"),
            ["thin.toml:28:29", "unknown field `congestion`"],
        ),
        (
            split("peer = \"edge\"\nlong = { congestoin = \"bbr\" }"),
            ["thin.toml:28:10", "did you mean \"congestion\"?"],
        ),
        (
            split("peer = \"edge\"\nconnections = 2\nlong = { transport = \"hop\" }"),
            ["connections", "for TCP on the long hop"],
        ),
        (
            split("peer = \"edge\"\nframing = \"pepid\"\nlong = { transport = \"hop\" }"),
            ["framing", "for TCP on the long hop"],
        ),
    ] {
        let message = load(&text, "thin.toml", &[]).expect_err("must be refused").to_string();
        for part in parts {
            assert!(message.contains(part), "{part:?} is missing in:\n{message}");
        }
    }
}
