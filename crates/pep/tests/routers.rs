//! The accelerator on routers as people have them: with NAT and firewalls of their own. Needs root and Linux; ignored unless asked for.

use crate::bed::router::{Router, exchange, exchange_with, tracked};
use crate::bed::two::Two;
use crate::bed::{Bed, CLIENT, CLIENT_V6, SERVER, SERVER_V6, can_run, ip, text, wait_for};

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn connections_work_behind_each_translation_in_each_mode() {
    if !can_run() {
        return;
    }
    for router in Router::ALL {
        let bed = Bed::new();
        router.set_up(&bed);
        for setting in ["", "untracked = false", "keep_source = false"] {
            let daemon = bed.start(
                "p",
                "pep",
                &format!(
                    "mode = \"split\"\ncontrol = \"{}\"\n[intercept]\ninterfaces = [\"lan\"]\n{setting}\n",
                    bed.folder.join("control.sock").display()
                ),
            );
            for (client, server, own) in [(CLIENT, SERVER, "10.82.0.1"), (CLIENT_V6, SERVER_V6, "fd82::1")] {
                let seen =
                    if router.translates() || setting.starts_with("keep_source") { own } else { client };
                for _ in 0..3 {
                    let answer = exchange(&bed, server);
                    assert_eq!(
                        answer.unwrap(),
                        format!("{seen} 100000"),
                        "{router:?}, {setting:?}, {server}"
                    );
                }
            }
            assert_eq!(
                daemon.status()["ended"]["complete"],
                6,
                "{router:?}, {setting:?}: they went through it"
            );
            daemon.stop();
        }
    }
}

/// A finished connection's entry lasts for two minutes (TIME_WAIT) at most; one of a direction that tracking has not seen end, for
/// five minutes or five days.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn no_entry_of_connection_tracking_outlives_its_connection() {
    if !can_run() {
        return;
    }
    for router in Router::ALL {
        let bed = Bed::new();
        router.set_up(&bed);
        let daemon = bed.daemon("");
        for server in [SERVER, SERVER_V6] {
            for _ in 0..5 {
                exchange(&bed, server).unwrap();
            }
        }
        daemon.stop();
        for entry in tracked(&bed) {
            let seconds: u32 = entry.split_whitespace().nth(4).unwrap().parse().unwrap();
            assert!(seconds <= 120, "{router:?}: {entry}");
        }
    }
}

/// The ship's other networks: connected to its router, or behind another one; and an answer from one of them.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_ships_other_networks_are_left_alone() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let bed = &two.bed;
    let [pep, other] = ["p", "x"].map(|host| bed.name(host));
    ip(&format!("netns add {other}"));
    ip(&format!("-n {pep} link add lan2 type veth peer name eth netns {other}"));
    for (host, device, own) in [(&pep, "lan2", 1), (&other, "eth", 2)] {
        ip(&format!("-n {host} address add 10.85.0.{own}/24 dev {device}"));
        ip(&format!("-n {host} address add fd85::{own}/64 dev {device} nodad"));
        ip(&format!("-n {host} link set {device} up"));
    }
    ip(&format!("-n {other} link set lo up"));
    // A network behind that host.
    for (family, own, via, router) in
        [("-4", "10.86.0.1/24", "10.85.0.2", "10.85.0.1"), ("-6", "fd86::1/64", "fd85::2", "fd85::1")]
    {
        let net = if family == "-4" { "10.86.0.0/24" } else { "fd86::/64" };
        ip(&format!("{family} -n {other} address add {own} dev lo"));
        ip(&format!("{family} -n {other} route add default via {router}"));
        ip(&format!("{family} -n {pep} route add {net} via {via}"));
    }
    let (terminal, hub) = two.up();
    let inside =
        [("10.85.0.2", CLIENT), ("fd85::2", CLIENT_V6), ("10.86.0.1", CLIENT), ("fd86::1", CLIENT_V6)];
    for (host, client) in inside {
        assert_eq!(exchange_with(bed, "x", host).unwrap(), format!("{client} 100000"), "{host}");
    }
    assert_eq!(terminal.status()["accepted"], 0, "they pass by");
    for server in [SERVER, SERVER_V6] {
        exchange(bed, server).unwrap();
    }
    assert_eq!(terminal.status()["accepted"], 2, "servers behind the hub do not");
    // A route that moves to the satellite is followed.
    ip(&format!("-n {pep} route del 10.86.0.0/24"));
    ip(&format!("-n {pep} address add 10.87.0.1/24 dev lan2"));
    let rules = || text(&bed.at("p", "nft list table inet longhaul_pep").stdout);
    wait_for("a new network is left alone", 3, || rules().contains("10.87.0.0/24"));
    terminal.stop();
    let config = two.terminal_config(&two.hub_key);
    let config = config.replace("[intercept]\n", "[intercept]\nlocal = true\n");
    let terminal = bed.start("p", "terminal", &config);
    wait_for("the tunnel is up", 10, || terminal.status()["passing"] == false);
    assert!(!rules().contains("fib daddr oif"), "{}", rules());
    drop(hub);
}
