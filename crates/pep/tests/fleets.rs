//! Two terminals of one hub, with real packets. Needs root and Linux; ignored unless asked for.

use crate::bed::two::{Two, key};
use crate::bed::{Daemon, can_run, ip, wait_for};
use crate::resources::{burst_from, many_descriptors, serve_and_hold};
use std::sync::Barrier;
use std::time::Duration;

/// A second client (k, 10.85.0.2) at the machine of the terminal, and a second terminal there for it.
fn second_terminal(two: &Two) -> Daemon {
    let [pep, hub, client] = ["p", "h", "k"].map(|host| two.bed.name(host));
    ip(&format!("netns add {client}"));
    ip(&format!("-n {client} link set lo up"));
    ip(&format!("-n {pep} link add lan2 type veth peer name eth netns {client}"));
    for (host, device, own) in [(&pep, "lan2", 1), (&client, "eth", 2)] {
        ip(&format!("-n {host} address add 10.85.0.{own}/24 dev {device}"));
        ip(&format!("-n {host} link set {device} up"));
    }
    ip(&format!("-n {client} route add default via 10.85.0.1"));
    ip(&format!("-n {hub} route add 10.85.0.0/24 via 10.83.0.1"));
    let (folder, hub_key, rates) = (two.bed.folder.display(), &two.hub_key, two.rates);
    let config = format!(
        "mode = \"terminal\"\ncontrol = \"{folder}/second.sock\"\n\
         [hop]\nhub = \"10.83.0.2:7714\"\nkey = \"{folder}/second.key\"\nhub_key = \"{hub_key}\"\n{rates}\
         [intercept]\ninterfaces = [\"lan2\"]\nport = 7723\nconfirm_port = 7725\ndivert_mark = 0x100000\n\
         own_mark = 0x200000\nclient_mark = 0x400000\nconfirm_mark = 0x800000\ntable = 7723\npriority = 11\n"
    );
    two.bed.start("p", "second", &config)
}

/// Both fill the hub together: what it has no room for passes untouched, and nobody is reset. Before, a hub refused what was beyond its
/// room, since each terminal took all of it for its own.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn two_terminals_that_fill_one_hub_reset_nobody() {
    fill_one_hub("send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\ncarrier = \"quic\"\n");
}

/// The same over TCP: a hub sent no bounds there, and refused what was beyond its room.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn two_terminals_that_fill_one_hub_over_tcp_reset_nobody() {
    fill_one_hub("send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\ncarrier = \"tcp\"\n");
}

fn fill_one_hub(rates: &'static str) {
    if !can_run() {
        return;
    }
    many_descriptors();
    let two = Two { rates, ..Two::new() };
    let second_key = key(&two.bed, "second.key");
    let hub = two.hub(&format!(
        "[[terminal]]\nname = \"second\"\nkey = \"{second_key}\"\nsources = [\"10.85.0.0/24\"]\n[limits]\nflows = 100\n"
    ));
    let (first, second) = (two.terminal(&two.hub_key), second_terminal(&two));
    for terminal in [&first, &second] {
        wait_for("the tunnel is up", 10, || terminal.status()["passing"] == false);
    }
    let _server = serve_and_hold(&two.bed);
    // A bound that is lowered counts on for three seconds.
    std::thread::sleep(Duration::from_secs(5));
    let accepted = |daemon: &Daemon| daemon.status()["accepted"].as_u64().unwrap();
    let mut before = [0, 0];
    for round in 0..3 {
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for host in ["c", "k"] {
                let (two, both) = (&two, &both);
                scope.spawn(move || burst_from(&two.bed, host, 500, || _ = both.wait()));
            }
        });
        let status = hub.status();
        assert_eq!(status["refused"], serde_json::json!({}), "round {round}: {status}");
        let now = [accepted(&first), accepted(&second)];
        let new = [now[0] - before[0], now[1] - before[1]];
        // Where the hub divides in the middle of the burst, the one that is behind has half of what is left: 25 at least.
        assert!(
            new[0] >= 25 && new[1] >= 25 && new[0] + new[1] <= 113,
            "round {round}: {new:?} were accelerated"
        );
        before = now;
        wait_for("all have ended", 20, || hub.status()["flows"] == 0);
        std::thread::sleep(Duration::from_secs(5));
    }
    // One alone has all of the room a moment later.
    burst_from(&two.bed, "c", 500, || {});
    let new = accepted(&first) - before[0];
    // The kernel's grant grows by a quarter at least: it is within a fifth of the 50 that each has while both are there.
    assert!(new >= 40, "{new} were accelerated");
    assert_eq!(hub.status()["refused"], serde_json::json!({}));
    for daemon in [&first, &second, &hub] {
        assert_eq!(daemon.status()["ledger_balances"], true);
    }
}
