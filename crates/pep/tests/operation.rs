//! What an operator relies on, with real packets: classes of packets are carried over, the daemon has given up its rights and
//! still does as it is told, and it stands aside when its helper is gone. Needs root and Linux; ignored unless asked for.

use crate::bed;
use crate::bed::two::Two;
use crate::bed::{Bed, CLIENT, Daemon, SERVER, SERVER_V6, address, can_run, text, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Expedited forwarding.
const CLASS: u32 = 46;

/// Counts packets of that class that come to port 8000 of the server, and from it to the client.
fn count_classes(bed: &Bed) {
    for (host, direction) in [("s", "dport"), ("c", "sport")] {
        let rules = format!(
            "add table inet seen; add chain inet seen input {{ type filter hook input priority 0; }}; \
             add rule inet seen input ip dscp {CLASS} tcp {direction} 8000 tcp flags & (syn|ack) == ack counter name v4; \
             add rule inet seen input ip6 dscp {CLASS} tcp {direction} 8000 tcp flags & (syn|ack) == ack counter name v6"
        );
        let counters = "add table inet seen; add counter inet seen v4; add counter inet seen v6";
        for commands in [counters, &rules] {
            let output = bed.at(host, &format!("nft '{commands}'"));
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
    }
}

fn counted(bed: &Bed, host: &str, family: &str) -> u64 {
    let listed = text(&bed.at(host, &format!("nft list counter inet seen {family}")).stdout);
    let number = listed.split_whitespace().skip_while(|word| *word != "packets").nth(1);
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no counter in {listed}"))
}

/// A connection of the client whose packets have the class.
fn connect_with_class(bed: &Bed, server: &str) -> TcpStream {
    bed.within("c", || {
        let to = address(server, 8000);
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
        match to.is_ipv4() {
            true => socket.set_tos_v4(CLASS << 2).unwrap(),
            false => socket.set_tclass_v6(CLASS << 2).unwrap(),
        }
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket.connect(&to.into()).unwrap();
        socket.into()
    })
}

fn talk(bed: &Bed, server: &str) {
    let listener = bed.within("s", || TcpListener::bind(address(server, 8000)).unwrap());
    let mut stream = connect_with_class(bed, server);
    stream.write_all(b"hello").unwrap();
    let (mut served, _) = listener.accept().unwrap();
    served.read_exact(&mut [0; 5]).unwrap();
    served.write_all(b"world").unwrap();
    stream.read_exact(&mut [0; 5]).unwrap();
}

fn classes_arrive(bed: &Bed) {
    count_classes(bed);
    for (server, family) in [(SERVER, "v4"), (SERVER_V6, "v6")] {
        talk(bed, server);
        assert!(counted(bed, "s", family) > 0, "{family}: the server's packets have the client's class");
        assert!(counted(bed, "c", family) > 0, "{family}: so have the answers");
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn one_node_carries_the_class_over() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    classes_arrive(&bed);
    assert_eq!(daemon.status()["accepted"], 2);
    drop(daemon);
    let _daemon = bed.daemon("dscp = false\n");
    let before = counted(&bed, "s", "v4");
    talk(&bed, SERVER);
    assert_eq!(counted(&bed, "s", "v4"), before, "it can be switched off");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn two_nodes_carry_the_class_over() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let (terminal, _hub) = two.up();
    classes_arrive(&two.bed);
    assert_eq!(terminal.status()["accepted"], 2);
}

/// A line of /proc/PID/status.
fn process(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).trim().to_string()
}

fn helper_of(daemon: &Daemon) -> u32 {
    let pid = daemon.child.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().next().expect("it has a helper").parse().unwrap()
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn rights_are_given_up_and_commands_still_work() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("[timeouts]\ndrain = \"1 s\"\n");
    let (net_bind_service, net_admin, net_raw) = (1u64 << 10, 1u64 << 12, 1u64 << 13);
    let helper = helper_of(&daemon);
    for (pid, kept) in [(daemon.child.id(), net_bind_service | net_raw), (helper, net_admin)] {
        for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
            assert_eq!(u64::from_str_radix(&process(pid, set), 16), Ok(kept), "{set}");
        }
        assert_eq!(process(pid, "NoNewPrivs:"), "1");
    }
    assert_eq!(process(daemon.child.id(), "Seccomp:"), "2", "system calls are filtered");
    for (state, word) in [("on", "pass untouched"), ("off", "are accelerated")] {
        assert!(daemon.command(&["bypass", state]).contains(word));
    }
    let config = std::fs::read_to_string(&daemon.config).unwrap();
    std::fs::write(&daemon.config, config.replace("[intercept]\n", "[intercept]\nexcept_ports = [\"81\"]\n"))
        .unwrap();
    daemon.signal(Signal::SIGHUP);
    let rules = || text(&bed.at("p", "nft list table inet longhaul_pep").stdout);
    wait_for("the new list is installed", 5, || rules().contains("81"));
    let mut daemon = daemon;
    daemon.command(&["drain"]);
    assert!(daemon.child.wait().unwrap().success(), "{}", daemon.log());
    assert_eq!(text(&bed.at("p", "nft list ruleset").stdout), "");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_node_without_its_helper_stands_aside_and_ends_with_an_error() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let mut daemon = bed.daemon("[timeouts]\ndrain = \"3 s\"\n");
    let listener = bed.within("s", || TcpListener::bind(address(SERVER, 8000)).unwrap());
    let connect =
        || bed.within("c", || TcpStream::connect_timeout(&address(SERVER, 8000), Duration::from_secs(5)));
    let mut old = connect().unwrap();
    old.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut served = listener.accept().unwrap().0;
    kill(Pid::from_raw(helper_of(&daemon) as i32), Signal::SIGKILL).unwrap();
    wait_for("it notices", 5, || daemon.log().contains("the helper process for nftables has ended"));
    served.write_all(b"x").unwrap();
    old.read_exact(&mut [0]).expect("a connection that was open goes on");
    let mut new = connect().expect("a new one passes");
    let (mut served, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip().to_string(), CLIENT);
    drop(old);
    assert!(!daemon.child.wait().unwrap().success(), "systemd starts it again");
    served.write_all(b"x").unwrap();
    new.read_exact(&mut [0]).expect("one that passed does not notice");
    assert!(SockRef::from(&new).take_error().unwrap().is_none());
    let clean = std::process::Command::new("ip")
        .args(["netns", "exec", &bed.name("p"), bed::PEP, "clean", "--config"])
        .arg(&daemon.config)
        .output()
        .unwrap();
    assert!(clean.status.success(), "{}", text(&clean.stderr));
    assert_eq!(text(&bed.at("p", "nft list ruleset").stdout), "");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_link_is_measured_through_the_tunnel() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let (terminal, hub) = two.up();
    let file = two.bed.folder.join("link.toml");
    let answer =
        terminal.command(&["bench", "--seconds", "1", "--json", "--scenario", file.to_str().unwrap()]);
    let measured: serde_json::Value = serde_json::from_str(&answer).unwrap();
    for way in ["down", "up"] {
        let (goodput, link) = (&measured[way]["goodput_bps"], &measured[way]["link_bps"]);
        assert!(goodput.as_f64().unwrap() > 1e6, "{answer}");
        assert!(link.as_f64().unwrap() >= goodput.as_f64().unwrap(), "{answer}");
    }
    assert!(std::fs::read_to_string(file).unwrap().contains("[[middlebox]]"));
    assert_eq!(hub.status()["accepted"], 0, "a measurement is no connection");
    let refused = std::process::Command::new(bed::PEP)
        .args(["bench", "--seconds", "1", "--config"])
        .arg(&hub.config)
        .output()
        .unwrap();
    assert!(text(&refused.stderr).contains("only a terminal measures"), "{}", text(&refused.stderr));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_port_to_confirm_is_refused_before_it_is_open() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let (hub, terminal) = (two.hub(""), two.terminal(&two.hub_key));
    let config = std::fs::read_to_string(&terminal.config).unwrap();
    let config = format!(
        "{config}confirm = [\"8000-8001\"]\n[destinations]\ndeny = [\"10.82.0.77/32\", \"fd82::77/128\"]\n"
    );
    terminal.stop();
    let terminal = two.bed.start("p", "terminal", &config);
    wait_for("the tunnel is up", 10, || terminal.status()["passing"] == false);
    for (family, host) in [("-4", "10.82.0.9/32"), ("-6", "fd82::9/128")] {
        let output = two.bed.at("h", &format!("ip {family} route add unreachable {host}"));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let connect = |host: &str| {
        two.bed.within("c", || TcpStream::connect_timeout(&address(host, 8000), Duration::from_secs(10)))
    };
    let hosts =
        [(SERVER, ["10.82.0.9", "10.82.0.8"], "10.82.0.77"), (SERVER_V6, ["fd82::9", "fd82::8"], "fd82::77")];
    for (server, missing, denied) in hosts {
        let refused = connect(server).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "{server}: {refused}");
        // Without a route, and in the hub's own network, where nobody answers for the address.
        for host in missing {
            let refused = connect(host).unwrap_err();
            assert_eq!(refused.kind(), std::io::ErrorKind::HostUnreachable, "{host}: {refused}");
        }
        assert!(connect(denied).is_err(), "{denied}");
        let listener = two.bed.within("s", || TcpListener::bind(address(server, 8000)).unwrap());
        let begin = std::time::Instant::now();
        let mut stream = connect(server).unwrap();
        assert!(begin.elapsed() < Duration::from_millis(900), "no copy of the opening was needed");
        let own = stream.local_addr().unwrap();
        stream.write_all(b"hello").unwrap();
        let (mut served, peer) = listener.accept().unwrap();
        assert_eq!(peer, own, "the server sees the client");
        served.read_exact(&mut [0; 5]).unwrap();
        served.write_all(b"world").unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
    }
    let status = terminal.status();
    assert_eq!(status["ended"]["refused"], 2, "{status}");
    // Four, or more: an opening that the client repeats just before it has its answer counts again.
    assert!(status["ended"]["unreachable"].as_u64() >= Some(4), "{status}");
    assert_eq!(status["ledger_balances"], true);
    drop(hub);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_connection_is_captured_and_what_is_at_risk_is_shown() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    let listener = bed.within("s", || TcpListener::bind(address(SERVER, 8000)).unwrap());
    let mut stream = bed.within("c", || TcpStream::connect(address(SERVER, 8000)).unwrap());
    let (mut served, _) = listener.accept().unwrap();
    wait_for("it is listed", 5, || daemon.command(&["flows"]).contains("open"));
    let flows: serde_json::Value = serde_json::from_str(&daemon.command(&["flows", "--json"])).unwrap();
    let (id, file) = (flows[0]["id"].to_string(), bed.folder.join("flow.pcapng"));
    let mut capturing = std::process::Command::new("ip")
        .args(["netns", "exec", &bed.name("p"), bed::PEP, "capture", &id, "--seconds", "2", "--out"])
        .arg(&file)
        .arg("--config")
        .arg(&daemon.config)
        .spawn()
        .unwrap();
    wait_for("it has begun", 5, || file.exists());
    std::thread::sleep(Duration::from_millis(200));
    stream.write_all(b"a request that is found again").unwrap();
    served.read_exact(&mut [0; 29]).unwrap();
    assert!(capturing.wait().unwrap().success());
    let bytes = std::fs::read(&file).unwrap();
    let found = bytes.windows(29).filter(|part| part == b"a request that is found again").count();
    assert_eq!(found, 2, "once at each side");
    // The server reads nothing: what the client sends is in the buffers between them.
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    while stream.write(&[0; 65536]).is_ok() {}
    let at_risk = || daemon.status()["at_risk"].as_u64().unwrap();
    wait_for("the bytes are counted", 10, || at_risk() > 100_000);
    served.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    while served.read(&mut [0; 65536]).is_ok_and(|n| n > 0) {}
    wait_for("they have arrived", 10, || at_risk() == 0);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_doctor_tells_what_keeps_the_tunnel_down() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let terminal = two.terminal(&two.hub_key);
    let found = |what: &str| {
        let output = std::process::Command::new("ip")
            .args(["netns", "exec", &two.bed.name("p"), bed::PEP, "doctor", "--json", "--config"])
            .arg(&terminal.config)
            .output()
            .unwrap();
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let one = all.as_array().unwrap().iter().find(|one| one["what"] == what).cloned();
        one.unwrap_or_else(|| panic!("no {what} in {all}"))["text"].as_str().unwrap().to_string()
    };
    assert!(found("UDP to the hub").contains("is the hub running?"));
    let _hub = two.hub("");
    assert_eq!(found("UDP to the hub"), "the hub answers");
    assert_eq!(found("packet size"), "full packets of the tunnel fit");
    let hole = "nft 'add table inet hole; add chain inet hole in { type filter hook prerouting priority 0; }; \
                add rule inet hole in udp dport 7714 meta length > 1400 drop'";
    assert!(two.bed.at("h", hole).status.success());
    let black = found("packet size");
    assert!(black.contains("packets of 1500 bytes do not arrive at the hub"), "{black}");
    assert!(black.contains("set hop.mtu = 137") || black.contains("set hop.mtu = 136"), "{black}");
    two.bed.at("h", "nft delete table inet hole");
    two.bed.at(
        "h",
        "nft 'add table inet wall; add chain inet wall in { type filter hook input priority 0; }; \
                     add rule inet wall in udp dport 7714 drop'",
    );
    two.bed.at("p", "ip link set sat mtu 1400");
    assert!(found("UDP to the hub").contains("a firewall blocks UDP"));
    assert!(found("packet size").contains("set hop.mtu = 1372"));
}

/// A disk that is full.
fn full() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_full_disk_under_the_output_is_an_error_of_one_line_and_under_the_messages_none_at_all() {
    let program = || std::process::Command::new(env!("CARGO_BIN_EXE_longhaul-pep"));
    let output = program().arg("--help").stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.starts_with("error: ") && said.contains("standard output"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    // An error that cannot be printed keeps its status.
    let status = program().args(["--config", "/none/pep.toml", "check"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    let status = program()
        .args(["--json-errors", "--config", "/none/pep.toml", "check"])
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
