//! The emulator with real packets of this machine's kernel. Needs root and Linux; ignored by default (`bed::can_run`). Nothing here
//! depends on how fast the machine is: times are only bounded from below, or generously from above.

use crate::bed::{EMULATOR, PATH, can_run, namespaces, run, run_scenario, scenario, shell, text, wait_for};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_ping_takes_the_round_trip_of_the_path() {
    if !can_run(&["ping"]) {
        return;
    }
    let output =
        run("ping", PATH, &[], "ping -c 5 -i 0.2 $LONGHAUL_NEAR && ping -c 2 -i 0.2 $LONGHAUL_NEAR_V6");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said} {}", text(&output.stderr));
    assert_eq!(said.matches(" 0% packet loss").count(), 2, "{said}");
    // 50 ms of propagation, and 84 bytes (IPv6: 104) at 20 Mbit/s twice: 67 us (83 us).
    let least = said.lines().filter_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "));
    for line in least {
        let min: f64 = line.split('/').next().unwrap().parse().unwrap();
        assert!((50.06..250.0).contains(&min), "{line}");
    }
}

/// The thesis's test bed (Coetzee 1999, sections 4.3 and 4.4): 10 Mbit/s to the client, 9600 baud and 1000 ms back.
const THESIS: &str = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"path\"\nends = [\"server\", \"client\"]\n\
    forward = { rate = \"10 Mbit/s\", delay = \"0 ms\" }\n\
    reverse = { rate = \"9600 bit/s\", delay = \"1000 ms\", serial = { framing = \"slip\" } }\n\
    [[flow]]\nfrom = \"server\"\nto = \"client\"\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn pings_over_9600_baud_take_what_the_thesis_says() {
    if !can_run(&["ping"]) {
        return;
    }
    // 84 bytes: 10 x (2 + 84) / 9600 = 89.58 ms, 1000 ms of delay, and 67 us forward.
    let output = run("x01", THESIS, &["--at", "client"], "ping -c 2 $LONGHAUL_SERVER");
    let said = text(&output.stdout);
    let line = said.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")).expect("a summary");
    let min: f64 = line.split('/').next().unwrap().parse().unwrap();
    assert!((1089.6..1300.0).contains(&min), "{line}");
    // Eight of 44 bytes at once (with fewer, `ping` cannot measure): each waits for those before it, and takes
    // 10 x (2 + 44) / 9600 = 47.917 ms.
    let output = run("x02", THESIS, &["--at", "client"], "ping -q -c 8 -l 8 -s 16 $LONGHAUL_SERVER");
    let said = text(&output.stdout);
    let line = said.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")).expect("a summary");
    let values: Vec<f64> = line.split('/').map_while(|value| value.parse().ok()).collect();
    let (min, max) = (values[0], values[2]);
    assert!((1047.9..1300.0).contains(&min), "{line}");
    // `ping` sends the last a little after the first, which its time lacks: on a busy machine by some milliseconds.
    assert!((1340.0..1700.0).contains(&max), "the last comes 7 x 47.917 ms after the first: {line}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_command_s_status_is_the_emulator_s_and_nothing_is_left() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("status", PATH);
    let child = shell(&file, &[], "exit 7").spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(namespaces(pid), Vec::<String>::new());
    assert!(!Path::new(&format!("/run/longhaul-emu/{pid}")).exists());
    std::fs::remove_file(file).unwrap();
}

/// An emulator whose namespaces are there and whose command sleeps.
fn sleeping(file: &Path) -> Child {
    let child = shell(file, &["--quiet"], "echo begun; exec sleep 1000").spawn().unwrap();
    wait_for("two namespaces", || namespaces(child.id()).len() == 2);
    child
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_signal_ends_it_and_nothing_is_left() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("signal", PATH);
    let mut child = sleeping(&file);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::SIGINT).unwrap();
    child.wait().unwrap();
    assert_eq!(namespaces(child.id()), Vec::<String>::new());
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_next_start_removes_what_a_killed_one_has_left() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("killed", PATH);
    let mut killed = sleeping(&file);
    let alive = sleeping(&file);
    let other = "lh-not-registered";
    assert!(Command::new("ip").args(["netns", "add", other]).status().unwrap().success());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let output = run("after", PATH, &[], "true");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(namespaces(killed.id()), Vec::<String>::new());
    assert!(!Path::new(&format!("/run/longhaul-emu/{}", killed.id())).exists());
    assert_eq!(namespaces(alive.id()).len(), 2, "what belongs to one that lives is not touched");
    assert!(Path::new("/run/netns").join(other).exists(), "nor is what nobody has registered");
    assert!(Command::new("ip").args(["netns", "delete", other]).status().unwrap().success());
    let mut alive = alive;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(alive.id() as i32), nix::sys::signal::SIGTERM).unwrap();
    alive.wait().unwrap();
    assert_eq!(namespaces(alive.id()), Vec::<String>::new());
    std::fs::remove_file(file).unwrap();
}

/// Namespaces that a test makes for itself, and removes.
struct Namespaces(Vec<String>);

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn two_interfaces_are_bridged_arp_and_all() {
    if !can_run(&["ping"]) {
        return;
    }
    let ip = |arguments: &str| {
        let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {}", text(&output.stderr));
    };
    let name = |what: &str| format!("lhtest-{}-{what}", std::process::id());
    let [left, middle, right] = ["left", "middle", "right"].map(name);
    let all = Namespaces(vec![left.clone(), middle.clone(), right.clone()]);
    all.0.iter().for_each(|name| ip(&format!("netns add {name}")));
    for (end, inner, address) in [(&left, "in0", "192.0.2.1"), (&right, "in1", "192.0.2.2")] {
        ip(&format!("-n {middle} link add {inner} type veth peer name out netns {end}"));
        ip(&format!("-n {middle} link set {inner} up"));
        ip(&format!("-n {end} address add {address}/24 dev out"));
        ip(&format!("-n {end} link set out up"));
    }
    let file = scenario("bridge", PATH);
    let mut bridge = Command::new("ip");
    bridge.args(["netns", "exec", &middle, EMULATOR, "bridge"]).arg(&file).args(["in0", "in1"]);
    let mut bridge = bridge.stderr(Stdio::null()).spawn().unwrap();
    let ping = |count: &str| {
        let arguments = ["netns", "exec", &left, "ping", "-c", count, "-i", "0.2", "-W", "2", "192.0.2.2"];
        Command::new("ip").args(arguments).output().unwrap()
    };
    wait_for("a first answer", || ping("1").status.success());
    let said = text(&ping("5").stdout);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(bridge.id() as i32), nix::sys::signal::SIGINT).unwrap();
    assert!(bridge.wait().unwrap().success());
    let line = said.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")).expect("a summary");
    let min: f64 = line.split('/').next().unwrap().parse().unwrap();
    assert!((50.0..250.0).contains(&min), "{line}");
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_device_that_vanishes_is_said_and_ends_nothing() {
    if !can_run(&["ping"]) {
        return;
    }
    let file = scenario("vanished", PATH);
    let mut command = shell(
        &file,
        &[],
        "sleep 1; while ping -c 1 -W 1 $LONGHAUL_NEAR >/dev/null; do sleep 0.1; done; exit 5",
    );
    let child = command.spawn().unwrap();
    wait_for("two namespaces", || namespaces(child.id()).len() == 2);
    let near = namespaces(child.id()).into_iter().find(|name| name.ends_with("-near")).unwrap();
    let delete = || Command::new("ip").args(["-n", &near, "link", "delete", "dev", "lh0"]).output().unwrap();
    wait_for("the device is deleted", || delete().status.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "the pings go on until one is not answered");
    assert!(text(&output.stderr).contains("vanished"), "{}", text(&output.stderr));
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn hostile_packets_from_raw_sockets_change_nothing() {
    if !can_run(&["python3", "ping"]) {
        return;
    }
    // Fragments, TCP with a wrong checksum, with a data offset and options past its end, unknown protocols.
    let script = "import os,socket,struct\n\
        s=socket.socket(socket.AF_INET,socket.SOCK_RAW,socket.IPPROTO_RAW)\n\
        d=os.environ['LONGHAUL_NEAR']; a=socket.inet_aton\n\
        for n in range(300):\n \
        ip=struct.pack('>BBHHHBBH4s4s',0x45,0,0,n,[0,0x2000,0x2003][n%3],64,[6,6,6,99][n%4],0,a(os.environ['LONGHAUL_HERE']),a(d))\n \
        s.sendto(ip+os.urandom(n),(d,0))\n";
    let command = "python3 -c \"$SCRIPT\" && ping -c 2 -i 0.2 $LONGHAUL_NEAR";
    let file = scenario("hostile", &CHAIN.replace("app = { kind = \"bulk\", size = \"200 kB\" }", ""));
    let output = shell(&file, &[], command).env("SCRIPT", script).output().unwrap();
    assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_file_comes_over_http() {
    if !can_run(&["python3", "curl"]) {
        return;
    }
    let directory = std::env::temp_dir().join(format!("longhaul-emu-http-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("page"), vec![b'x'; 300_000]).unwrap();
    let serve = format!("near=exec python3 -m http.server --directory {} 8000", directory.display());
    let fetch = "curl --silent --fail --retry 50 --retry-connrefused --retry-delay 1 http://$LONGHAUL_NEAR:8000/page | wc -c";
    let output = run("http", PATH, &["--serve", &serve], fetch);
    std::fs::remove_dir_all(directory).unwrap();
    assert_eq!(text(&output.stdout).trim(), "300000", "{}", text(&output.stderr));
}

/// Forwarding off, but on at one device; redirects accepted at none: what turning it on and off again would leave otherwise.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn every_setting_of_the_machine_is_as_it_was_also_after_a_kill() {
    if !can_run(&["nft"]) {
        return;
    }
    let ip = |arguments: &str| {
        let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let machine = format!("lhtest-{}-settings", std::process::id());
    let _all = Namespaces(vec![machine.clone()]);
    ip(&format!("netns add {machine}"));
    ip(&format!("-n {machine} link add wan type veth peer name lan"));
    let sh = |script: &str| {
        let output =
            Command::new("ip").args(["netns", "exec", &machine, "sh", "-c", script]).output().unwrap();
        text(&output.stdout)
    };
    let conf = "/proc/sys/net/ipv4/conf";
    sh(&format!(
        "echo 0 > /proc/sys/net/ipv4/ip_forward; echo 1 > {conf}/wan/forwarding; echo 0 > {conf}/all/accept_redirects; \
         echo 0 > {conf}/lan/accept_redirects"
    ));
    let state = || sh("cd /proc/sys/net/ipv4; grep -r . ip_forward conf | grep -v conf/lh- | sort");
    let before = state();
    assert!(before.contains("conf/wan/forwarding:1") && before.contains("conf/lan/forwarding:0"), "{before}");
    assert!(before.contains("conf/all/accept_redirects:0"), "{before}");
    let file = scenario("settings", PATH);
    let emulator = |command: &str| {
        let mut emulator = Command::new("ip");
        emulator.args(["netns", "exec", &machine, EMULATOR, "shell", "--internet", "--quiet"]).arg(&file);
        emulator
            .args(["--", "sh", "-c", command])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let output = emulator("true").wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(state(), before, "after an end");
    // Two at a time: who ends last restores.
    let mut first = emulator("exec sleep 1000");
    wait_for("it forwards", || state().contains("ip_forward:1"));
    let output = emulator("true").wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(state().contains("ip_forward:1"), "the other still needs it");
    first.kill().unwrap();
    first.wait().unwrap();
    // From another network stack than that in which it was started. Any other start does the same.
    let output = Command::new(EMULATOR).arg("clean").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    wait_for("all is as it was, after a kill too", || state() == before);
    std::fs::remove_file(file).unwrap();
}

/// near = path = far, where the command runs; behind near a machine, and behind that a server without routes of its own.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_shell_reaches_what_its_machine_reaches_and_leaves_it_as_it_was() {
    if !can_run(&["ping", "python3", "curl", "nft"]) {
        return;
    }
    let ip = |arguments: &str| {
        let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let [machine, world] = ["machine", "world"].map(|what| format!("lhtest-{}-{what}", std::process::id()));
    let all = Namespaces(vec![machine.clone(), world.clone()]);
    all.0.iter().for_each(|name| ip(&format!("netns add {name}")).clear());
    ip(&format!("-n {machine} link add wan type veth peer name out netns {world}"));
    for (name, device, address) in [(&machine, "wan", "192.0.2.1"), (&world, "out", "192.0.2.2")] {
        ip(&format!("-n {name} address add {address}/24 dev {device}"));
        ip(&format!("-n {name} link set {device} up"));
    }
    let state = || {
        let exec = |command: &str| ip(&format!("netns exec {machine} {command}"));
        [exec("cat /proc/sys/net/ipv4/ip_forward"), exec("nft list tables"), exec("ip -brief link")].concat()
    };
    let before = state();
    let directory = std::env::temp_dir().join(format!("longhaul-emu-world-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("page"), vec![b'x'; 200_000]).unwrap();
    let serving = ["netns", "exec", &world, "python3", "-m", "http.server", "8000", "--directory"];
    let mut server = Command::new("ip").args(serving).arg(&directory).stderr(Stdio::null()).spawn().unwrap();
    let file = scenario("internet", PATH);
    let command = "ping -q -c 3 -i 0.2 192.0.2.2 && \
                   curl --silent --fail --retry 50 --retry-connrefused --retry-delay 1 http://192.0.2.2:8000/page | wc -c";
    let mut emulator = Command::new("ip");
    emulator.args(["netns", "exec", &machine, EMULATOR, "shell"]).arg(&file);
    let output = emulator.args(["--internet", "--", "sh", "-c", command]).output().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let (said, why) = (text(&output.stdout), text(&output.stderr));
    assert!(said.trim_end().ends_with("200000"), "{said}{why}");
    let line = said.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")).expect("a summary");
    let min: f64 = line.split('/').next().unwrap().parse().unwrap();
    assert!((50.0..250.0).contains(&min), "through the path: {line}");
    assert_eq!(state(), before, "forwarding, tables and devices");
    std::fs::remove_file(file).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn iperf3_gets_no_more_than_the_link_s_rate() {
    if !can_run(&["iperf3"]) {
        return;
    }
    // Until the server listens, connections are refused.
    let measure =
        "for i in $(seq 100); do iperf3 -c $LONGHAUL_NEAR -t 3 -J && exit 0; sleep 0.2; done; exit 1";
    let output = run("iperf", PATH, &["--serve", "near=exec iperf3 -s"], measure);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let document = said.rfind("\n{").map_or(&said[..], |at| &said[at..]);
    let result: serde_json::Value = serde_json::from_str(document).unwrap();
    let rate = result["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();
    // 1448 bytes of payload in 1500: at most 19.31 Mbit/s. How much less depends on slow start and on the machine.
    assert!((2e6..19.4e6).contains(&rate), "{rate} bit/s");
}

/// 300 kB there at 8 Mbit/s and 20 ms each way, and five answers of 10 kB the other way.
const FLOWS: &str = "name = \"two flows\"\n[run]\nduration = \"60 s\"\nsample = \"100 ms\"\ncapture = [\"link\"]\n\
    [[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
    [[flow]]\nname = \"put\"\nfrom = \"near\"\nto = \"far\"\napp = { kind = \"bulk\", size = \"300 kB\" }\n\
    tcp = { congestion = \"reno\" }\n\
    [[flow]]\nname = \"ask\"\nfrom = \"near\"\nto = \"far\"\n\
    app = { kind = \"request\", response = \"10 kB\", requests = 5, think = \"10 ms\" }\ntcp = { congestion = \"reno\" }\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_scenario_s_flows_are_connections_of_the_kernel() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("flows", FLOWS);
    let out = std::env::temp_dir().join(format!("longhaul-emu-result-{}", std::process::id()));
    // Whether the machine is too busy to be believed is not what is tested here.
    let output = run_scenario(&file, &out, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let written = std::fs::read_to_string(out.join("summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), summary);
    let metric = |flow: usize, name: &str| summary["flows"][flow]["metrics"][name].as_f64().unwrap();
    assert_eq!(metric(0, "delivered_bytes"), 300_000.0);
    // The handshake takes 40 ms; 300,000 bytes take 300 ms at 8 Mbit/s without any header; the first takes 20 ms to arrive.
    assert!(metric(0, "completion_time_s") > 0.36, "{}", metric(0, "completion_time_s"));
    assert!(metric(0, "rtt_min_s") > 0.04);
    // Segments of 1448 bytes with timestamps (RFC 7323), 1460 without: at least 206 packets.
    assert!(metric(0, "sent_packets") >= 206.0);
    assert_eq!((metric(1, "responses"), metric(1, "delivered_bytes")), (5.0, 50_000.0));
    assert!(metric(1, "response_time_mean_s") > 0.04);
    let link = &summary["links"][0]["metrics"];
    assert!(link["utilisation"].as_f64().unwrap() <= 1.0);
    let packets =
        link["arrivals"].as_f64().unwrap() + summary["links"][1]["metrics"]["arrivals"].as_f64().unwrap();
    for name in ["flows.parquet", "links.parquet", "events.parquet", "scenario.toml", "timing.json"] {
        assert!(out.join(name).exists(), "{name}");
    }
    // Enhanced packet blocks (type 6) of the capture: one for each packet that was offered to the link.
    let capture = std::fs::read(out.join("packets.pcapng")).unwrap();
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut blocks) = (0, 0);
    while at < capture.len() {
        blocks += u32::from(word(at) == 6);
        at += word(at + 4) as usize;
    }
    assert!(f64::from(blocks) >= packets, "{blocks} captured of {packets}");
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}

/// 200 kB over a line that loses packets behind a PEP that acknowledges prematurely, and ACKs over a serial line with compressed
/// headers.
const CHAIN: &str = "name = \"chain\"\n[run]\nduration = \"60 s\"\nsample = \"100 ms\"\n\
    [[link]]\nname = \"first\"\nends = [\"near\", \"pep\"]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
    [[link]]\nname = \"second\"\nends = [\"pep\", \"far\"]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
    forward = { loss = { kind = \"random\", probability = \"1 %\" } }\n\
    reverse = { rate = \"56 kbit/s\", serial = { framing = \"slip\", vj = {} } }\n\
    [[middlebox]]\nkind = \"premature_ack\"\nat = \"pep\"\nwatermark = \"20 packets\"\n\
    [[flow]]\nname = \"put\"\nfrom = \"near\"\nto = \"far\"\napp = { kind = \"bulk\", size = \"200 kB\" }\n\
    tcp = { congestion = \"reno\", timestamps = false }\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn middleboxes_and_header_compression_work_on_real_packets() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("chain", CHAIN);
    let out = std::env::temp_dir().join(format!("longhaul-emu-chain-{}", std::process::id()));
    let output = run_scenario(&file, &out, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["flows"][0]["metrics"]["delivered_bytes"], 200_000.0);
    let pep = &summary["middleboxes"][0]["metrics"];
    assert!(pep["premature_acks"].as_f64().unwrap() > 0.0, "{pep}");
    // Behind the PEP, ACKs of 40 bytes take at most 19 (RFC 1144) and 2 of framing; the SYN's ACK and a few others are in full.
    let link =
        summary["links"].as_array().unwrap().iter().find(|link| link["name"] == "second.reverse").unwrap();
    let bits = link["metrics"]["throughput_bps"].as_f64().unwrap() * summary["measured_s"].as_f64().unwrap();
    let per_packet = bits / 8.0 / link["metrics"]["transmitted_packets"].as_f64().unwrap();
    assert!(per_packet < 40.0, "{per_packet} bytes a packet");
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}

/// 2 MB over 100 ms with a receive buffer of 40 kB: a window in a round trip, 400 kB/s, takes at least 4.9 s.
/// 300 kB over a line that damages packets and delivers others twice.
const DAMAGING: &str = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"path\"\nends = [\"near\", \"far\"]\n\
    rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nduplication = \"10 %\"\nforward = { corruption = \"5 %\" }\n\
    [[flow]]\nfrom = \"near\"\nto = \"far\"\napp = { kind = \"bulk\", size = \"300 kB\" }\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn kernels_drop_damaged_packets_and_bear_duplicates() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("damaging", DAMAGING);
    let out = std::env::temp_dir().join(format!("longhaul-emu-damaged-{}", std::process::id()));
    let output = run_scenario(&file, &out, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let link = &summary["links"][0]["metrics"];
    let flow = &summary["flows"][0]["metrics"];
    let number = |metrics: &serde_json::Value, name: &str| metrics[name].as_f64().unwrap();
    assert_eq!(number(flow, "delivered_bytes"), 300_000.0, "not a byte too many or too few");
    assert!(number(link, "duplicated_packets") >= 3.0 && number(link, "corrupted_packets") >= 2.0, "{link}");
    assert_eq!(number(link, "drops_loss") + number(link, "drops_queue"), 0.0);
    assert!(number(flow, "retransmitted_packets") >= 1.0, "what the kernel dropped comes again");
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_receive_buffer_limits_the_window() {
    if !can_run(&[]) {
        return;
    }
    let text_of = "[run]\nduration = \"60 s\"\nsample = \"100 ms\"\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\n\
        rate = \"50 Mbit/s\"\ndelay = \"50 ms\"\n[[flow]]\nname = \"put\"\nfrom = \"near\"\nto = \"far\"\n\
        app = { kind = \"bulk\", size = \"2 MB\" }\ntcp = { congestion = \"reno\", receive_buffer = \"40 kB\" }\n";
    let file = scenario("window", text_of);
    let out = std::env::temp_dir().join(format!("longhaul-emu-window-{}", std::process::id()));
    let output = run_scenario(&file, &out, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let metric = |name: &str| summary["flows"][0]["metrics"][name].as_f64().unwrap();
    // What was offered before the first data came is not taken back.
    assert!(metric("completion_time_s") > 4.6, "{} s", metric("completion_time_s"));
    // 40 kB in at least 100 ms; warnings and predictions are those of the simulator.
    let limit = summary["flows"][0]["predicted"]["window_limit_bps"].as_f64().unwrap();
    assert!((2.5e6..=3.2e6).contains(&limit), "{limit} bit/s");
    let warnings = summary["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w["code"] == "receive_buffer"), "{warnings:?}");
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_run_whose_packets_are_late_is_invalid() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("invalid", FLOWS);
    let out = std::env::temp_dir().join(format!("longhaul-emu-invalid-{}", std::process::id()));
    let output = run_scenario(&file, &out, &["--max-lateness", "1 ns"]);
    assert_eq!(output.status.code(), Some(3));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = summary["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w["code"] == "emulation_invalid"), "{warnings:?}");
    // What was set to be captured and what kernels cannot do are refused before anything is made.
    let refused = run_scenario(&file, &out, &["--set", "flow.put.tcp.congestion=\"scalable\""]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("no congestion control \"scalable\""),
        "{}",
        text(&refused.stderr)
    );
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn mistakes_are_errors_that_programs_can_read() {
    if !can_run(&[]) {
        return;
    }
    let output = run("node", PATH, &["--json-errors", "--at", "nowhere"], "true");
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"], "unsupported");
    assert!(error["message"].as_str().unwrap().contains("near, far"), "{error}");
    assert_eq!(output.status.code(), Some(2));
    let output = run("syntax", "[run]\nduration = 5\n", &[], "true");
    assert!(text(&output.stderr).contains("syntax.toml:2"), "{}", text(&output.stderr));
}

/// Every kind of application, each with its end where it has one: what is delivered is what the simulator's would deliver.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn all_applications_run_between_kernels() {
    if !can_run(&[]) {
        return;
    }
    let trace = std::env::temp_dir().join(format!("longhaul-emu-trace-{}.csv", std::process::id()));
    std::fs::write(&trace, "gap_s,bytes\n0.05,1000\n0.05,3000\n").unwrap();
    let apps = [
        "{ kind = \"bulk\", size = \"200 kB\" }".to_string(),
        "{ kind = \"cbr\", rate = \"400 kbit/s\", message = \"500 B\" }".to_string(),
        "{ kind = \"on_off\", rate = \"800 kbit/s\", on = \"100 ms\", off = \"100 ms\" }".to_string(),
        "{ kind = \"web\", pages = 3, think = \"50 ms\", document = \"5 kB\", objects = 4, object = \"3 kB\", parallel = 2 }"
            .to_string(),
        "{ kind = \"request\", response = \"10 kB\", requests = 5 }".to_string(),
        "{ kind = \"keystrokes\", gap = \"20 ms\", count = 30 }".to_string(),
        "{ kind = \"messages\", gap = \"50 ms\", size = \"2 kB\" }".to_string(),
        format!("{{ kind = \"trace\", file = \"{}\", begin = \"first\" }}", trace.display()),
        "{ kind = \"video\" }".to_string(),
    ];
    let mut text_of = "[run]\nduration = \"4 s\"\nsample = \"500 ms\"\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\n\
        rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n"
        .to_string();
    for (number, app) in apps.iter().enumerate() {
        text_of += &format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"near\"\nto = \"far\"\napp = {app}\n\
             tcp = {{ congestion = \"reno\", nagle = false }}\n"
        );
    }
    let file = scenario("applications", &text_of);
    let out = std::env::temp_dir().join(format!("longhaul-emu-applications-{}", std::process::id()));
    let output = run_scenario(&file, &out, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let metric = |flow: usize, name: &str| summary["flows"][flow]["metrics"][name].as_f64();
    let kinds: Vec<&str> =
        summary["flows"].as_array().unwrap().iter().map(|f| f["app"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["bulk", "cbr", "on_off", "web", "request", "keystrokes", "messages", "trace", "video"]
    );
    // What ends by itself has ended, with exactly its own output.
    let delivered = |flow: usize| metric(flow, "delivered_bytes").unwrap();
    assert_eq!(delivered(0), 200_000.0);
    assert_eq!((delivered(3), metric(3, "pages"), metric(3, "responses")), (51_000.0, Some(3.0), Some(15.0)));
    assert_eq!(metric(3, "failed_responses"), Some(0.0));
    assert_eq!((delivered(4), metric(4, "responses")), (50_000.0, Some(5.0)));
    assert_eq!((delivered(5), metric(5, "responses")), (30.0, Some(30.0)));
    for flow in [0, 3, 4, 5] {
        assert!(metric(flow, "completion_time_s").is_some(), "{}", kinds[flow]);
    }
    // Others go on until those are done: 50 kB/s, bursts of 10 kB, 40 kB/s, 40 kB/s, 24 frames a second.
    let seconds = summary["measured_s"].as_f64().unwrap();
    for (flow, rate) in [(1, 50e3), (6, 40e3), (7, 40e3)] {
        let share = delivered(flow) / (rate * seconds);
        assert!((0.5..1.2).contains(&share), "{}: {} B in {seconds} s", kinds[flow], delivered(flow));
    }
    assert!(delivered(2) >= 10_000.0 && delivered(8) > 1000.0, "{} B, {} B", delivered(2), delivered(8));
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
    std::fs::remove_file(trace).unwrap();
}
