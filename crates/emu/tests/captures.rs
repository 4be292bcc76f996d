//! Captures as other people's programs read them: tcpdump, tshark, capinfos, scapy. Needs root and Linux; ignored by default
//! (`bed::can_run`).

use crate::bed;
use crate::bed::{EMULATOR, PATH, can_run, run, scenario, text, wait_for};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Python with the project's packages, scapy among them.
fn python() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    if own.exists() { own } else { "python3".into() }
}

fn lines(program: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(program).args(arguments).env("TZ", "UTC").output().unwrap();
    let notes = text(&output.stderr);
    assert!(output.status.success(), "{}: {notes}", program.display());
    text(&output.stdout).lines().map(str::to_string).collect()
}

/// The number of packets and of interfaces, and the time of the first packet, by each program that is here. All have to agree.
fn read(file: &Path) -> (usize, usize, f64) {
    let name = file.to_str().unwrap();
    let tshark = |field: &str| lines(Path::new("tshark"), &["-r", name, "-T", "fields", "-e", field]);
    let listed = lines(Path::new("tcpdump"), &["-nr", name]);
    let times: Vec<f64> = tshark("frame.time_epoch").iter().map(|time| time.parse().unwrap()).collect();
    assert_eq!(times.len(), listed.len(), "tshark and tcpdump");
    let malformed = lines(Path::new("tshark"), &["-r", name, "-Y", "_ws.malformed"]);
    assert_eq!(malformed, Vec::<String>::new());
    let mut interfaces = tshark("frame.interface_name");
    interfaces.sort();
    interfaces.dedup();
    let properties = lines(Path::new("capinfos"), &["-M", "-k", "-c", name]).join("\n");
    assert!(properties.contains(&format!("Number of packets:   {}", listed.len())), "{properties}");
    assert!(properties.contains("Times of the machine's clock (UTC)."), "{properties}");
    let scapy = "import sys; from scapy.all import IP, IPv6, ARP, rdpcap; packets = rdpcap(sys.argv[1]); \
        print(len(packets)); print(float(packets[0].time)); print(sum(IP in p or IPv6 in p or ARP in p for p in packets))";
    let python = python();
    if Command::new(&python).args(["-c", "import scapy"]).output().unwrap().status.success() {
        let said = lines(&python, &["-c", scapy, name]);
        assert_eq!(said[0], listed.len().to_string(), "scapy");
        assert!((said[1].parse::<f64>().unwrap() - times[0]).abs() < 1e-3, "{} {}", said[1], times[0]);
        assert_eq!(said[2], said[0], "it knows all of them");
    } else {
        println!("skipped: scapy is not installed (make install)");
    }
    (listed.len(), interfaces.len(), times[0])
}

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("longhaul-emu-{}-{name}.pcapng", std::process::id()))
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn every_program_reads_a_shell_s_capture_with_the_time_of_day() {
    if !can_run(&["ping", "tcpdump", "tshark", "capinfos"]) {
        return;
    }
    let file = place("shell");
    let begun = now();
    let command = "ping -q -c 2 -i .2 $LONGHAUL_NEAR && ping -6 -q -c 2 -i .2 $LONGHAUL_NEAR_V6";
    let output = run("readable", PATH, &["-q", "--capture", file.to_str().unwrap()], command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (packets, interfaces, first) = read(&file);
    // Each way of each ping and its answer is seen before the queue and at the far end.
    assert_eq!((packets, interfaces), (16, 4));
    assert!(begun < first && first < now(), "{begun} {first}");
    std::fs::remove_file(file).unwrap();
}

/// On a bridge packets have Ethernet's header, and not all are of IP.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn every_program_reads_a_bridge_s_capture_arp_and_tags_and_all() {
    if !can_run(&["ping", "python3", "tcpdump", "tshark", "capinfos"]) {
        return;
    }
    let id = std::process::id();
    let (name, capture) = (scenario("bridge", PATH), place("bridge"));
    let mut all = String::new();
    for (host, number) in [("a", 1), ("b", 2)] {
        all += &format!(
            "ip netns add cap-{host}-{id}; ip link add cap{host}{id} type veth peer name eth0 netns cap-{host}-{id}; \
             ip link set cap{host}{id} up; ip netns exec cap-{host}-{id} sh -c 'ip link set eth0 up; \
             ip address add 198.18.77.{number}/24 dev eth0'; "
        );
    }
    assert!(Command::new("sh").args(["-c", &all]).status().unwrap().success());
    let (first, second) = (format!("capa{id}"), format!("capb{id}"));
    let mut bridge = Command::new(EMULATOR)
        .arg("bridge")
        .arg(&name)
        .args([&first, &second, "--capture", capture.to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ping = |to: &str| {
        let arguments =
            ["netns", "exec", &format!("cap-a-{id}"), "ping", "-q", "-c", "2", "-i", ".2", "-W", "2", to];
        Command::new("ip").args(arguments).stdout(Stdio::null()).status().unwrap().success()
    };
    wait_for("the bridge", || ping("198.18.77.2"));
    // IEEE 802.1Q, VLAN 5, by hand: no kernel with VLANs is needed. ARP in it.
    let tagged = "import socket; s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW); s.bind(('eth0',0)); \
        s.send(bytes.fromhex('ffffffffffff020000000001810000050806000108000604000102000000000101020304000000000000 01020305'))";
    let arguments = ["netns", "exec", &format!("cap-a-{id}"), "python3", "-c", tagged];
    assert!(Command::new("ip").args(arguments).status().unwrap().success());
    std::thread::sleep(std::time::Duration::from_millis(300));
    let pid = nix::unistd::Pid::from_raw(bridge.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(bridge.wait().unwrap().success());
    for host in ["a", "b"] {
        let _ = Command::new("ip").args(["netns", "delete", &format!("cap-{host}-{id}")]).status();
    }
    let (packets, interfaces, _) = read(&capture);
    assert!(packets >= 16 && interfaces == 4, "{packets} {interfaces}");
    let listed = lines(Path::new("tcpdump"), &["-enr", capture.to_str().unwrap()]).join("\n");
    assert!(listed.contains("ethertype ARP") && listed.contains("vlan 5"), "{listed}");
    std::fs::remove_file(capture).unwrap();
    std::fs::remove_file(name).unwrap();
}

/// Packets between the two nodes of a proxy have no Ethernet header of their own; those of `run` begin with IP.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn every_program_reads_a_run_s_capture_with_a_proxy_s_packets() {
    if !can_run(&["tcpdump", "tshark", "capinfos"]) {
        return;
    }
    let text_of = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"a\"\nends = [\"near\", \"hub\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
        [[link]]\nname = \"b\"\nends = [\"hub\", \"far\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
        [[middlebox]]\nname = \"pep\"\nkind = \"premature_ack\"\nat = \"hub\"\nwatermark = \"20 packets\"\n\
        [[flow]]\nfrom = \"near\"\nto = \"far\"\napp = { kind = \"bulk\", size = \"20 kB\" }\ntcp = { timestamps = false }\n";
    let file = scenario("run-capture", text_of);
    let out = std::env::temp_dir().join(format!("longhaul-emu-{}-run-capture", std::process::id()));
    let begun = now();
    let options = ["--max-lateness", "10 s", "--max-standstill", "100 s", "--tap", "all"];
    let output = bed::run_scenario(&file, &out, &options);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (packets, interfaces, first) = read(&out.join("packets.pcapng"));
    assert!(packets > 50 && interfaces == 10, "{packets} {interfaces}");
    assert!(begun < first && first < now(), "{begun} {first}");
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}

/// From the first SYN on, both ways, and beside marks of ECN (reports of other programs: esnet/iperf issues 22 and 889).
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn all_packets_of_a_flow_have_its_dscp() {
    if !can_run(&["tshark"]) {
        return;
    }
    let text_of = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"a\"\nends = [\"near\", \"far\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
        [[flow]]\nfrom = \"near\"\nto = \"far\"\ndscp = \"af41\"\napp = { kind = \"bulk\", size = \"20 kB\" }\ntcp = { ecn = true }\n";
    let file = scenario("run-dscp", text_of);
    let out = std::env::temp_dir().join(format!("longhaul-emu-{}-run-dscp", std::process::id()));
    let options = ["--max-lateness", "10 s", "--max-standstill", "100 s", "--tap", "all"];
    let output = bed::run_scenario(&file, &out, &options);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let name = out.join("packets.pcapng");
    let fields = ["-Y", "tcp.flags.reset == 0", "-T", "fields", "-e", "ip.src", "-e", "ip.dsfield.dscp"];
    let mut found = lines(Path::new("tshark"), &[&["-r", name.to_str().unwrap()], &fields[..]].concat());
    assert!(found.len() > 20, "{found:?}");
    found.sort_unstable();
    found.dedup();
    assert!(found.len() == 2 && found.iter().all(|line| line.ends_with("\t34")), "{found:?}");
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}
