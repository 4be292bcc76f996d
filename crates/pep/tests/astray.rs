//! What other programs do to the way of intercepted packets: the node puts back what it can, and steps aside where it cannot. No
//! client notices more than a second. Needs root and Linux; ignored unless asked for.

use crate::bed::router::exchange;
use crate::bed::{Bed, CLIENT, Daemon, PEP, SERVER, SERVER_V6, can_run, text, wait_for};
use std::process::Command;
use std::time::{Duration, Instant};

/// A connection that works, and how long it took.
fn timed(bed: &Bed, server: &str) -> Duration {
    let begin = Instant::now();
    let answer = exchange(bed, server).unwrap();
    assert!(answer.ends_with(" 100000"), "{answer}");
    begin.elapsed()
}

/// Longer than the client's first repeat of an opening (a second), shorter than its second.
const ONE_REPEAT: Duration = Duration::from_millis(2500);

fn doctor(bed: &Bed, daemon: &Daemon) -> serde_json::Value {
    let output = Command::new("ip")
        .args(["netns", "exec", &bed.name("p"), PEP, "doctor", "--json", "--config"])
        .arg(&daemon.config)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

fn finding(all: &serde_json::Value, what: &str) -> String {
    let one = all.as_array().unwrap().iter().find(|one| one["what"] == what);
    let one = one.unwrap_or_else(|| panic!("no {what} in {all}"));
    format!("{} {}", one["verdict"].as_str().unwrap(), one["text"].as_str().unwrap())
}

fn accepted(daemon: &Daemon) -> u64 {
    daemon.status()["accepted"].as_u64().unwrap()
}

/// Commands that must succeed.
fn at(bed: &Bed, commands: &str) {
    let output = bed.at("p", commands);
    assert!(output.status.success(), "{commands}: {}", text(&output.stderr));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn rules_routes_and_tables_that_others_remove_are_put_back() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    timed(&bed, SERVER);
    for (removal, what) in [
        ("ip rule del pref 2", "a routing rule of IPv4"),
        ("ip -6 rule del pref 2", "a routing rule of IPv6"),
        ("ip route flush table 7713", "the local route of IPv4"),
        ("nft flush ruleset", "nftables' table inet longhaul_pep"),
    ] {
        for round in 0..2 {
            let before = daemon.status()["repaired"].as_u64().unwrap();
            at(&bed, removal);
            for server in [SERVER, SERVER_V6] {
                let took = timed(&bed, server);
                assert!(took < ONE_REPEAT, "{removal}: {took:?}");
            }
            wait_for("it is put back", 2, || daemon.status()["repaired"].as_u64().unwrap() > before);
            let before = accepted(&daemon);
            wait_for("openings are taken in again", 2, || daemon.status()["passing"] == false);
            for server in [SERVER, SERVER_V6] {
                wait_for("connections are accelerated again", 3, || {
                    timed(&bed, server);
                    accepted(&daemon) > before
                });
            }
            let named = daemon.log().matches(&format!("{what} was gone and is back")).count();
            assert_eq!(named, 1, "{removal}, {round}: {}", daemon.log());
        }
    }
    for what in ["table", "routing rules", "local route", "rules in front", "source addresses", "daemon"] {
        let found = finding(&doctor(&bed, &daemon), what);
        assert!(found.starts_with("good"), "{what}: {found}");
    }
    let found = finding(&doctor(&bed, &daemon), "repairs");
    assert!(found.starts_with("poor") && found.contains("the local route of IPv4"), "{found}");
    daemon.stop();
    assert_eq!(
        text(&bed.at("p", "nft list ruleset; ip rule | grep -v 3276; ip route show table 7713").stdout),
        "0:\tfrom all lookup local\n"
    );
}

/// mwan3, netplan, netbird and Terway have rules of small numbers that take whole networks away.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_rule_of_another_stands_behind_or_is_named() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    at(
        &bed,
        "ip route add default via 10.82.0.2 table 100 && ip rule add pref 100 from 10.81.0.0/24 lookup 100",
    );
    timed(&bed, SERVER);
    assert_eq!(accepted(&daemon), 1, "an ordinary number stands behind the node's");
    at(&bed, "ip rule add pref 1 from 10.81.0.0/24 lookup 100");
    wait_for("the gate is shut", 2, || daemon.status()["astray"] == true);
    let took = timed(&bed, SERVER);
    assert!(took < Duration::from_millis(900), "it passes at once: {took:?}");
    let rule = "from 10.81.0.0/24 lookup 100";
    let found = finding(&doctor(&bed, &daemon), "rules in front");
    assert!(found.starts_with("bad") && found.contains(rule), "{found}");
    let line =
        daemon.log().lines().filter(|line| line.contains("do not arrive") && line.contains(rule)).count();
    assert_eq!(line, 1, "{}", daemon.log());
    at(&bed, "ip rule del pref 1 from 10.81.0.0/24 lookup 100");
    wait_for("the gate is open", 2, || daemon.status()["passing"] == false);
    let before = accepted(&daemon);
    timed(&bed, SERVER);
    assert_eq!(accepted(&daemon), before + 1);
}

/// tailscale 1.98 sets src_valid_mark, distributions a strict rp_filter.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn checks_of_source_addresses_let_clients_in() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    for (round, setting) in
        ["all.src_valid_mark=1", "all.rp_filter=1", "lan.rp_filter=1"].into_iter().enumerate()
    {
        at(&bed, &format!("sysctl -qw net.ipv4.conf.{setting}"));
        std::thread::sleep(Duration::from_millis(1200));
        let took = timed(&bed, SERVER);
        assert!(took < Duration::from_millis(900), "{setting}: {took:?}");
        assert_eq!(accepted(&daemon), round as u64 + 1, "{setting}: {}", daemon.log());
    }
    // Without the rule that leads the kernel's lookup on, as another program may remove it for good.
    let found = doctor(&bed, &daemon);
    assert!(finding(&found, "source addresses").starts_with("good"), "{found}");
}

/// A usual firewall drops, or rejects, what is addressed to others and not forwarded.
fn firewall(verdict: &str) -> String {
    format!(
        "nft -f - <<'END'\ntable inet filter {{ chain input {{ type filter hook input priority 0; policy drop;\n\
         ct state established,related accept\nct state invalid drop\niif lo accept\ntcp dport 22 accept\n\
         meta l4proto {{ icmp, ipv6-icmp }} accept\n{verdict}\n}}\n}}\nEND"
    )
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_firewall_costs_a_second_and_shuts_the_gate_within_two() {
    if !can_run() {
        return;
    }
    for verdict in ["drop", "reject", "reject with tcp reset"] {
        for server in [SERVER, SERVER_V6] {
            let bed = Bed::new();
            let daemon = bed.daemon("");
            timed(&bed, server);
            let doubt = finding(&doctor(&bed, &daemon), "firewall");
            assert!(doubt.starts_with("good"), "{doubt}");
            at(&bed, &firewall(verdict));
            let doubt = finding(&doctor(&bed, &daemon), "firewall");
            assert!(doubt.starts_with("poor") && doubt.contains("inet filter input"), "{doubt}");
            let begin = Instant::now();
            let took = timed(&bed, server);
            assert!(took < ONE_REPEAT, "{verdict}, {server}: {took:?}");
            wait_for("the gate is shut", 2, || daemon.status()["astray"] == true);
            assert!(begin.elapsed() < Duration::from_secs(3));
            let took = timed(&bed, server);
            assert!(took < Duration::from_millis(900), "it passes at once: {took:?}");
            let found = finding(&doctor(&bed, &daemon), "firewall");
            assert!(
                found.starts_with("bad") && found.contains("`nft list chain inet filter input`, policy drop"),
                "{found}"
            );
            assert!(daemon.log().contains("do not arrive: a firewall may drop them"), "{}", daemon.log());
            // The operator lets the mark in: a trial follows at once, and the gate opens.
            at(&bed, "nft insert rule inet filter input meta mark and 0x10000 != 0 accept");
            wait_for("one is tried", 5, || daemon.status()["trial"] == true);
            // All but that one pass, which is stated with the cause.
            let status = daemon.status();
            assert_eq!(status["passing"], true);
            let words = "pass untouched but one, which is taken in on trial";
            assert!(status["new_connections"] == words && status["causes"][0].is_string(), "{status}");
            let found = finding(&doctor(&bed, &daemon), "daemon");
            assert!(
                found.contains(words) && found.contains("do not arrive; a firewall may drop them"),
                "{found}"
            );
            let before = accepted(&daemon);
            timed(&bed, server);
            assert_eq!(accepted(&daemon), before + 1, "{}", daemon.log());
            wait_for("the gate is open", 2, || {
                daemon.status()["astray"] == false && daemon.status()["trial"] == false
            });
            timed(&bed, server);
            assert_eq!(accepted(&daemon), before + 2);
        }
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_trial_costs_one_opening_and_trials_become_rarer() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    at(&bed, &firewall("reject"));
    timed(&bed, SERVER);
    wait_for("the gate is shut", 2, || daemon.status()["astray"] == true);
    wait_for("one is tried", 12, || daemon.status()["trial"] == true);
    let times: Vec<Duration> = (0..4).map(|_| timed(&bed, SERVER)).collect();
    assert!(times[0] < ONE_REPEAT, "{times:?}");
    assert!(times[1..].iter().all(|time| *time < Duration::from_millis(900)), "{times:?}");
    wait_for("the gate is shut again", 2, || daemon.status()["astray"] == true);
    std::thread::sleep(Duration::from_secs(12));
    assert_eq!(daemon.status()["trial"], false, "the pause has doubled");
    assert_eq!(
        daemon.log().matches("since those taken in do not arrive").count(),
        1,
        "it is reported once: {}",
        daemon.log()
    );
}

/// Answers that do not leave are as bad as openings that do not come.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_firewall_for_what_leaves_is_found_too() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    at(
        &bed,
        "nft 'add table ip out; add chain ip out output { type filter hook output priority 0; policy drop; }; \
         add rule ip out output ct state established,related,new accept'",
    );
    let took = timed(&bed, SERVER);
    assert!(took < ONE_REPEAT, "{took:?}");
    wait_for("the gate is shut", 2, || daemon.status()["astray"] == true);
    assert!(finding(&doctor(&bed, &daemon), "firewall").contains("ip out output"));
}

/// Docker makes the packets of bridges pass the tables of IP.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_bridge_that_filters_is_named() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    at(
        &bed,
        "ip link add br0 type bridge && ip address flush dev lan && ip link set lan master br0 && ip link set br0 up && \
         ip address add 10.81.0.1/24 dev br0 && ip address add fd81::1/64 dev br0 nodad",
    );
    if !bed.at("p", "sysctl -qw net.bridge.bridge-nf-call-iptables=1").status.success() {
        eprintln!("skipped: this kernel has no br_netfilter");
        return;
    }
    let config = format!(
        "mode = \"split\"\ncontrol = \"{}\"\n[intercept]\ninterfaces = [\"br0\"]\n",
        bed.folder.join("control.sock").display()
    );
    let daemon = bed.start("p", "pep", &config);
    std::thread::sleep(Duration::from_secs(2));
    for _ in 0..2 {
        let took = timed(&bed, SERVER);
        assert!(took < ONE_REPEAT, "{took:?}");
    }
    let found = finding(&doctor(&bed, &daemon), "bridge filter");
    assert!(found.starts_with("bad") && found.contains("the bridge br0"), "{found}");
    assert_eq!(daemon.status()["passing"], true);
    at(&bed, "sysctl -qw net.bridge.bridge-nf-call-iptables=0");
    wait_for("one is tried", 25, || daemon.status()["trial"] == true);
    timed(&bed, SERVER);
    assert_eq!(accepted(&daemon), 1);
}

fn run(bed: &Bed, arguments: &[&str], config: &std::path::Path) -> (bool, String) {
    let output = Command::new("ip")
        .args(["netns", "exec", &bed.name("p"), PEP])
        .args(arguments)
        .arg("--config")
        .arg(config)
        .output()
        .unwrap();
    (output.status.success(), text(&output.stderr))
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn two_daemons_have_tables_of_their_own_or_the_second_is_refused() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let first = bed.daemon("");
    let (done, why) = run(&bed, &["clean"], &first.config);
    assert!(!done && why.contains("the daemon runs (process"), "{why}");
    timed(&bed, SERVER);
    assert_eq!(accepted(&first), 1, "its rules are still there");
    let config = |name: &str, more: &str| {
        let path = bed.folder.join(format!("{name}.toml"));
        let text = format!(
            "mode = \"split\"\ncontrol = \"{}/{name}.sock\"\n[intercept]\ninterfaces = [\"other\"]\n{more}",
            bed.folder.display()
        );
        std::fs::write(&path, &text).unwrap();
        (path, text)
    };
    let ports = "port = 7723\nconfirm_port = 7725\n";
    let (same, _) = config("same", ports);
    let (done, why) = run(&bed, &["run"], &same);
    assert!(!done && why.contains("has intercept.table = 7713 in this network"), "{why}");
    let (marks, _) = config("marks", &format!("{ports}table = 8000\npriority = 11\n"));
    let (done, why) = run(&bed, &["run"], &marks);
    assert!(!done && why.contains("another program routes by the packet mark 0x10000"), "{why}");
    let own =
        "divert_mark = 0x100000\nown_mark = 0x200000\nclient_mark = 0x400000\nconfirm_mark = 0x800000\n";
    at(&bed, "ip route add default via 10.82.0.2 table 8001");
    let (table, _) = config("table", &format!("{ports}{own}table = 8001\npriority = 11\n"));
    let (done, why) = run(&bed, &["run"], &table);
    assert!(!done && why.contains("the routing table 8001 has routes of another program"), "{why}");
    let (_, text_of_second) = config("second", &format!("{ports}{own}table = 8000\npriority = 11\n"));
    let second = bed.start("p", "second", &text_of_second);
    let tables = text(&bed.at("p", "nft list tables").stdout);
    assert!(
        tables.contains("inet longhaul_pep\n") && tables.contains("inet longhaul_pep_8000\n"),
        "{tables}"
    );
    timed(&bed, SERVER);
    assert_eq!(accepted(&first), 2, "the first one goes on");
    second.stop();
    timed(&bed, SERVER);
    assert_eq!(accepted(&first), 3);
    assert_eq!(first.status()["repaired"], 0, "nothing of it was removed");
    // A table that another program removes is put back before the gate is changed.
    at(&bed, "nft delete table inet longhaul_pep");
    assert!(first.command(&["bypass", "on"]).contains("pass untouched"));
    assert!(first.command(&["bypass", "off"]).contains("are accelerated"));
}

/// What the client's address is at the server does not change while the node steps aside.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_flushed_ruleset_is_no_outage() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    for _ in 0..5 {
        at(&bed, "nft flush ruleset");
        let answer = exchange(&bed, SERVER).unwrap();
        assert!(answer.starts_with(CLIENT), "{answer}");
    }
    wait_for("it is put back", 2, || daemon.status()["repaired"].as_u64() >= Some(1));
}
