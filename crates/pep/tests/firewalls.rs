//! The recipes of `longhaul-pep plan --firewall`, with the real ufw and firewalld where they are installed, and with the chains
//! of the others. Needs root and Linux; ignored unless asked for.

use crate::bed;
use crate::bed::router::exchange;
use crate::bed::two::Two;
use crate::bed::{Bed, Daemon, PEP, SERVER, SERVER_V6, can_run, text, wait_for};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn recipe(daemon: &Daemon, firewall: &str) -> String {
    let output = Command::new(PEP)
        .args(["plan", "--firewall", firewall, "--config"])
        .arg(&daemon.config)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn is_installed(program: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// With the firewall alone the node steps aside; with its recipe it takes connections of both families in.
fn steps_aside_and_then_works(bed: &Bed, daemon: &Daemon, set_up: impl FnOnce(), recipe: impl FnOnce()) {
    exchange(bed, SERVER).unwrap();
    assert_eq!(daemon.status()["accepted"], 1);
    set_up();
    exchange(bed, SERVER).unwrap();
    wait_for("the gate is shut", 2, || daemon.status()["astray"] == true);
    exchange(bed, SERVER).unwrap();
    recipe();
    wait_for("one is tried", 15, || daemon.status()["astray"] == false);
    let before = daemon.status()["accepted"].as_u64().unwrap();
    exchange(bed, SERVER).unwrap();
    wait_for("the gate is open", 3, || {
        daemon.status()["trial"] == false && daemon.status()["passing"] == false
    });
    for server in [SERVER_V6, SERVER] {
        exchange(bed, server).unwrap();
    }
    let after = daemon.status();
    assert_eq!(after["accepted"].as_u64().unwrap(), before + 3, "{after} {}", daemon.log());
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(daemon.status()["astray"], false);
}

fn at(bed: &Bed, commands: &str) {
    let output = bed.at("p", commands);
    assert!(output.status.success(), "{commands}: {}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn nftables() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    // As in Debian's /usr/share/doc/nftables/examples/workstation.nft.
    let rules = "nft -f - <<'END'\ntable inet filter {\nchain input { type filter hook input priority filter; policy drop;\n\
                 iif lo accept\nct state established,related accept\nmeta l4proto { icmp, ipv6-icmp } accept\ntcp dport 22 accept\n}\n}\nEND";
    steps_aside_and_then_works(&bed, &daemon, || at(&bed, rules), || at(&bed, &recipe(&daemon, "nftables")));
}

/// A hub whose machine drops what no rule names: the tunnel is up once its recipe has opened the port, by the carriers of the file.
fn opens_the_port(two: &mut Two, mut set_up: impl FnMut(&Bed), mut recipe: impl FnMut(&Bed, &Daemon)) {
    for (carrier, over) in [("quic", "over=\"QUIC\""), ("tcp", "over=\"TCP\"")] {
        two.rates =
            format!("send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\ncarrier = \"{carrier}\"\n").leak();
        set_up(&two.bed);
        let (hub, terminal) = (two.hub(""), two.terminal(&two.hub_key));
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(terminal.status()["no_tunnel"], true, "{carrier}");
        recipe(&two.bed, &hub);
        wait_for("the tunnel is up", 20, || terminal.status()["passing"] == false);
        assert!(terminal.log().contains(over), "{carrier}: {}", terminal.log());
    }
}

fn at_hub(bed: &Bed, commands: &str) {
    let output = bed.at("h", commands);
    assert!(output.status.success(), "{commands}: {}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_hub_is_reached_after_its_recipe() {
    if !can_run() {
        return;
    }
    let closed = |include: &str| {
        format!(
            "nft -f - <<'END'\ntable inet filter\ndelete table inet filter\ntable inet filter {{\n\
             chain input {{ type filter hook input priority filter; policy drop;\n{include}\niif lo accept\n\
             ct state established,related accept\nmeta l4proto {{ icmp, ipv6-icmp }} accept\n}}\n}}\nEND"
        )
    };
    let mut two = Two::new();
    opens_the_port(
        &mut two,
        |bed| at_hub(bed, &closed("")),
        |bed, hub| at_hub(bed, &recipe(hub, "nftables")),
    );
    // The file for fw4, where fw4 includes it.
    let include = |hub: &Daemon| recipe(hub, "fw4").split('\'').nth(1).unwrap().to_string();
    opens_the_port(&mut two, |bed| at_hub(bed, &closed("")), |bed, hub| at_hub(bed, &closed(&include(hub))));
}

/// The chains that fw4 makes of OpenWrt's default configuration, where `input` is REJECT for unknown zones; and its include,
/// where fw4 puts it.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn fw4() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    let rules = |include: &str| {
        format!(
            "nft -f - <<'END'\ntable inet fw4\ndelete table inet fw4\ntable inet fw4 {{\n\
             chain input {{ type filter hook input priority filter; policy drop;\n{include}\niif lo accept\n\
             meta l4proto {{ icmp, ipv6-icmp }} accept\n\
             ct state vmap {{ established : accept, related : accept }}\n\
             tcp flags & (fin | syn | rst | ack) == syn jump syn_flood\njump handle_reject\n}}\n\
             chain syn_flood {{ limit rate 25/second burst 50 packets return\ndrop\n}}\n\
             chain handle_reject {{ meta l4proto tcp reject with tcp reset\nreject with icmpx port-unreachable\n}}\n}}\nEND"
        )
    };
    // The packaged file, read as fw4 reads its folder of includes. It has the marks that a node has without others in its file, as the
    // printed recipe has them.
    let packaged = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/openwrt/longhaul-pep.nft");
    let printed = recipe(&daemon, "fw4");
    assert_eq!(std::fs::read_to_string(packaged).unwrap().trim_end(), printed.split('\'').nth(1).unwrap());
    let include = format!("include \"{packaged}\"");
    steps_aside_and_then_works(&bed, &daemon, || at(&bed, &rules("")), || at(&bed, &rules(&include)));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn ufw() {
    if !can_run() || !is_installed("ufw") {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    let files = bed.folder.join("ufw");
    at(&bed, &format!("cp -a /etc/ufw {}", files.display()));
    // Each command has mounts of its own: the machine's files stay as they are.
    let inside =
        |commands: &str| at(&bed, &format!("mount --bind {} /etc/ufw && {commands}", files.display()));
    let enable = "ufw default allow routed && ufw allow 22/tcp && ufw --force enable";
    steps_aside_and_then_works(&bed, &daemon, || inside(enable), || inside(&recipe(&daemon, "ufw")));
    inside("ufw reload");
    exchange(&bed, SERVER).unwrap();
    assert_eq!(daemon.status()["astray"], false, "it survives a reload");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_hub_with_ufw_is_reached_after_its_recipe() {
    if !can_run() || !is_installed("ufw") {
        return;
    }
    let mut two = Two::new();
    let files = two.bed.folder.join("ufw");
    let fresh = format!("rm -rf {0} && cp -a /etc/ufw {0}", files.display());
    let inside = |bed: &Bed, commands: &str| {
        at_hub(bed, &format!("mount --bind {} /etc/ufw && {commands}", files.display()));
    };
    opens_the_port(
        &mut two,
        |bed| {
            at_hub(bed, &fresh);
            inside(bed, "ufw default allow routed && ufw allow 22/tcp && ufw --force enable");
        },
        |bed, hub| inside(bed, &recipe(hub, "ufw")),
    );
}

/// A firewalld with a bus of its own, on one of the bed's hosts; it ends with the test.
struct Firewalld {
    host: &'static str,
    folder: PathBuf,
    bus: String,
}

impl Firewalld {
    fn start(bed: &Bed, host: &'static str) -> Firewalld {
        let folder = bed.folder.display();
        let bus = format!("export DBUS_SYSTEM_BUS_ADDRESS=unix:path={folder}/bus");
        let started = Firewalld { host, folder: bed.folder.clone(), bus };
        started.at(
            bed,
            &format!(
                "mkdir -p {folder}/firewalld\n\
                 dbus-daemon --system --address=$DBUS_SYSTEM_BUS_ADDRESS --nopidfile --nofork --nosyslog >{folder}/dbus.out 2>&1 &\n\
                 echo $! >{folder}/dbus.pid\nsleep 1\n\
                 firewalld --nofork --nopid --system-config {folder}/firewalld >{folder}/firewalld.out 2>&1 &\n\
                 echo $! >{folder}/firewalld.pid"
            ),
        );
        wait_for("firewalld runs", 20, || started.runs(bed, "firewall-cmd --state"));
        started
    }

    fn runs(&self, bed: &Bed, commands: &str) -> bool {
        bed.at(self.host, &format!("{}\n{commands}", self.bus)).status.success()
    }

    /// Its own command gives up after 25 s, which a busy machine needs.
    fn reload(&self, bed: &Bed) {
        if !self.runs(bed, "firewall-cmd --reload") {
            wait_for("firewalld has read its files again", 60, || self.runs(bed, "firewall-cmd --state"));
        }
    }

    /// A recipe's commands, which end with a reload; one is enough for all.
    fn recipe(&self, bed: &Bed, commands: &str) {
        assert!(commands.ends_with("firewall-cmd --reload\n"), "{commands}");
        self.at(bed, &commands.replace("firewall-cmd --reload\n", ""));
        self.reload(bed);
    }

    fn at(&self, bed: &Bed, commands: &str) {
        let output = bed.at(self.host, &format!("{}\n{commands}", self.bus));
        assert!(output.status.success(), "{commands}: {}{}", text(&output.stdout), text(&output.stderr));
    }
}

impl Drop for Firewalld {
    fn drop(&mut self) {
        let folder = self.folder.display();
        let end = format!("kill $(cat {folder}/firewalld.pid); sleep 1; kill $(cat {folder}/dbus.pid)");
        let _ = Command::new("sh").args(["-c", &end]).status();
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn firewalld() {
    if !can_run() || !is_installed("firewalld") || !is_installed("dbus-daemon") {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    let firewalld = std::cell::OnceCell::new();
    // What a router has: its own forwarding is allowed, its input is not.
    let set_up = || {
        let started = firewalld.get_or_init(|| Firewalld::start(&bed, "p"));
        started.at(
            &bed,
            "firewall-cmd --permanent --new-policy routed && firewall-cmd --permanent --policy routed --set-target ACCEPT && \
             firewall-cmd --permanent --policy routed --add-ingress-zone ANY && \
             firewall-cmd --permanent --policy routed --add-egress-zone ANY",
        );
        started.reload(&bed);
    };
    steps_aside_and_then_works(&bed, &daemon, set_up, || {
        firewalld.get().unwrap().recipe(&bed, &recipe(&daemon, "firewalld"));
    });
    firewalld.get().unwrap().reload(&bed);
    exchange(&bed, SERVER).unwrap();
    assert_eq!(daemon.status()["astray"], false, "it survives a reload");
    // The router's own ports stay closed for the clients.
    let _listener = bed.within("p", || std::net::TcpListener::bind("10.81.0.1:8080").unwrap());
    let own = bed::address("10.81.0.1", 8080);
    let opened = bed.within("c", || std::net::TcpStream::connect_timeout(&own, Duration::from_secs(2)));
    assert!(opened.is_err(), "{opened:?}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_hub_with_firewalld_is_reached_after_its_recipe() {
    if !can_run() || !is_installed("firewalld") || !is_installed("dbus-daemon") {
        return;
    }
    let mut two = Two::new();
    let firewalld = std::cell::OnceCell::new();
    let taken_back = std::cell::RefCell::new(String::new());
    opens_the_port(
        &mut two,
        |bed| {
            let started = firewalld.get_or_init(|| Firewalld::start(bed, "h"));
            started.at(bed, &taken_back.borrow());
            started.reload(bed);
        },
        |bed, hub| {
            let commands = recipe(hub, "firewalld");
            let ports = commands.lines().filter(|line| line.contains("--add-port"));
            let removed = ports.map(|line| line.replace("--add-port", "--remove-port") + "\n");
            *taken_back.borrow_mut() = removed.collect();
            firewalld.get().unwrap().recipe(bed, &commands);
        },
    );
    // It survives a reload, and other ports stay closed.
    let started = firewalld.get().unwrap();
    started.reload(&two.bed);
    let shown = text(&two.bed.at("h", &format!("{}\nfirewall-cmd --list-ports", started.bus)).stdout);
    assert_eq!(shown.trim(), "7714/tcp");
}
