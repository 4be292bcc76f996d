//! The emulator on other people's machines: addresses, names, firewalls, IPv6, and what leads nowhere. Needs root and Linux; ignored by
//! default (`bed::can_run`). Each machine is a network stack of the test's own.

use crate::bed;
use crate::bed::lan::{self, Lan};
use crate::bed::{EMULATOR, PATH, can_run, run, scenario, text};
use std::process::Output;
use std::time::Instant;

const TOOLS: [&str; 6] = ["curl", "nft", "nsenter", "ping", "python3", "unshare"];

/// Three links of 5 ms and two routers.
const THREE_LINKS: &str = "[run]\nduration = \"60 s\"\n\
    [[link]]\nname = \"one\"\nends = [\"server\", \"r\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[link]]\nname = \"two\"\nends = [\"r\", \"s\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[link]]\nname = \"three\"\nends = [\"s\", \"client\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[flow]]\nfrom = \"server\"\nto = \"client\"\n";

fn said(output: &Output) -> (String, String) {
    (text(&output.stdout), text(&output.stderr))
}

/// A shell of the emulator on a machine, and the command in it.
fn in_shell(lan: &Lan, resolv_conf: &str, setup: &str, options: &[&str], command: &str) -> (String, String) {
    let file = scenario(&lan.machine, PATH);
    let words = [&["shell", file.to_str().unwrap()], options, &["--", "sh", "-c", command]].concat();
    let output = lan.emulator(resolv_conf, setup, &words).output().unwrap();
    std::fs::remove_file(file).unwrap();
    said(&output)
}

/// A cloud's name server, and a router at home; both are where hosts of the scenario would be.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_lan_with_the_usual_addresses_of_scenarios_is_reached() {
    if !can_run(&TOOLS) {
        return;
    }
    for router in ["10.0.0.2", "10.0.0.1"] {
        let lan = Lan::new("clash", &["10.0.0.77/24"], &[&format!("{router}/24")]);
        let names = format!("nameserver {router}\n");
        let fetch = "curl -sS -m 20 http://www.example.test:8000/x; echo near $LONGHAUL_NEAR";
        let (page, why) = in_shell(&lan, &names, "", &["--internet"], fetch);
        assert_eq!(page, "hello\nnear 198.18.0.1\n", "{why}");
        assert!(why.contains("hosts near 198.18.0.1, far 198.18.0.2 (of 198.18.0.0/24"), "{why}");
        // The same range cannot be asked for.
        let (_, why) = in_shell(&lan, &names, "", &["--addresses", "10.0.0.0/24"], "true");
        assert!(why.starts_with("error: --addresses 10.0.0.0/24: it is in use on this machine"), "{why}");
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn addresses_that_are_asked_for_are_those_of_hosts_and_variables() {
    if !can_run(&["ping"]) {
        return;
    }
    let options = ["--addresses", "10.77.8.0/24", "--addresses", "fd12:3456:789a::/64"];
    let command = "echo $LONGHAUL_NEAR $LONGHAUL_HERE $LONGHAUL_PEER $LONGHAUL_NEAR_V6; \
                   ping -q -c 1 -W 5 $LONGHAUL_NEAR && ping -q -c 1 -W 5 $LONGHAUL_NEAR_V6";
    let output = run("fixed", PATH, &options, command);
    let (printed, why) = said(&output);
    assert!(printed.starts_with("10.77.8.1 10.77.8.2 10.77.8.1 fd12:3456:789a::1\n"), "{printed}{why}");
    assert_eq!(printed.matches(" 0% packet loss").count(), 2, "{printed}{why}");
}

/// Mininet's issue 437: a route to all of 10/8 on the machine cut off whoever had come to it from there.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_machine_s_own_connections_go_on_and_the_rest_of_its_company_is_reached() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("vpc", &["10.128.0.9/16"], &["10.128.0.1/16"]);
    lan::ip(&format!("-n {} address add 10.1.2.3/32 dev out", lan.world));
    let file = scenario("vpc", PATH);
    let ping = "ping -q -c 3 -i 0.2 -W 5 10.1.2.3";
    // In the command's own network stack, and at the same time in the machine's.
    let both = format!("{ping}; nsenter --net=/run/netns/{} {ping}", lan.machine);
    let words = ["shell", file.to_str().unwrap(), "--internet", "--", "sh", "-c", &both];
    let (printed, why) = said(&lan.emulator("nameserver 10.128.0.1\n", "", &words).output().unwrap());
    std::fs::remove_file(file).unwrap();
    assert_eq!(printed.matches(" 0% packet loss").count(), 2, "{printed}{why}");
}

/// A packet of a kernel to its neighbours would be one of those that a scenario counts, delays or drops.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_path_that_nobody_uses_carries_no_packet() {
    if !can_run(&[]) {
        return;
    }
    let stats = std::env::temp_dir().join(format!("longhaul-emu-idle-{}.json", std::process::id()));
    let output = run("idle", PATH, &["--stats", stats.to_str().unwrap()], "sleep 3");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&stats).unwrap()).unwrap();
    std::fs::remove_file(stats).unwrap();
    assert_eq!(
        (&said["moved_packets"], &said["unrouted"]),
        (&0.0.into(), &serde_json::json!([])),
        "{said:#}"
    );
}

/// The inner one's machine is a host of the outer one, and reaches the outer one's other host.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn an_emulator_within_an_emulator_reaches_the_outer_one_s_hosts() {
    if !can_run(&["ping", "nft"]) {
        return;
    }
    let file = scenario("nested", PATH);
    let inner =
        format!("{EMULATOR} shell {} --internet -- ping -q -c 2 -i 0.3 -W 5 $LONGHAUL_NEAR", file.display());
    let output = run("outer", PATH, &[], &inner);
    std::fs::remove_file(file).unwrap();
    let (printed, why) = said(&output);
    assert!(printed.contains(" 0% packet loss"), "{printed}{why}");
    let least =
        printed.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")).expect("a summary");
    let least: f64 = least.split('/').next().unwrap().parse().unwrap();
    assert!((100.0..400.0).contains(&least), "over both paths: {least} ms");
}

/// Three shells that begin at the same time, each with a way out of its own, which stays when another one ends.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn emulators_at_the_same_time_do_not_disturb_each_other() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("two", &["203.0.113.9/24"], &["203.0.113.1/24"]);
    let file = scenario("two", PATH);
    let words = ["shell", file.to_str().unwrap(), "--internet", "--", "sh", "-c"];
    let shells: Vec<_> = (0..3)
        .map(|number| {
            let command = &format!("sleep {}; curl -sS -m 30 http://www.example.test:8000/x", 2 * number);
            lan.emulator("nameserver 203.0.113.1\n", "", &[&words[..], &[&command[..]]].concat())
                .spawn()
                .unwrap()
        })
        .collect();
    for shell in shells {
        let (page, why) = said(&shell.wait_with_output().unwrap());
        assert_eq!(page, "hello\n", "{why}");
    }
    std::fs::remove_file(file).unwrap();
}

/// Each warning stands before what the command prints, and has the right cause.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn name_servers_that_are_not_reached_are_reported_before_the_command_starts() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("names", &["203.0.113.9/24"], &["203.0.113.1/24"]);
    for (servers, cause) in [
        ("nameserver 2001:db8::53\n", "have IPv6 addresses only, and this machine has no route for IPv6"),
        ("nameserver 127.0.0.53\n", "are on the machine itself"),
        ("search example.test\n", "has no name server"),
    ] {
        // No other list of servers either.
        let setup = "for list in /run/systemd/resolve /run/NetworkManager /run/dnsmasq; do [ ! -d $list ] || mount -t tmpfs tmpfs $list; done";
        let (_, why) = in_shell(&lan, servers, setup, &["--internet"], "echo begun >&2");
        let first = why.lines().next().unwrap();
        assert!(first.starts_with("warning: names cannot be looked up") && first.contains(cause), "{why}");
        assert_eq!(why.matches("warning: names").count(), 1, "once: {why}");
        assert!(why.find("begun").unwrap() > why.find(cause).unwrap(), "{why}");
    }
}

/// Behind a stub are the servers that it asks, and no other one is tried in vain.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn names_are_looked_up_where_a_local_stub_does() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("stub", &["203.0.113.9/24"], &["203.0.113.1/24"]);
    let setup = "mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd && mkdir /run/systemd/resolve && \
                 printf 'nameserver fe80::1%%wan\\nnameserver 203.0.113.1\\n' > /run/systemd/resolve/resolv.conf";
    let command = "curl -sS -m 20 http://www.example.test:8000/x; cat /etc/resolv.conf";
    let (page, why) = in_shell(&lan, "nameserver 127.0.0.53\n", setup, &["--internet"], command);
    assert_eq!(page, "hello\nnameserver 203.0.113.1\n", "{why}");
}

/// A service that looks up names for others, at a socket in the file system: nscd's, and systemd's.
const SERVICE: &str = r#"
import os, socket, sys
listeners = [socket.socket(socket.AF_UNIX) for path in sys.argv[1:]]
for listener, path in zip(listeners, sys.argv[1:]):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    listener.bind(path)
    listener.listen()
"#;

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn names_cross_the_path_whatever_service_this_machine_has_for_them() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("nscd", &["203.0.113.9/24"], &["203.0.113.1/24"]);
    let sockets = ["/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/avahi-daemon/socket"];
    let folders = sockets.map(|socket| std::path::Path::new(socket).parent().unwrap());
    let made: Vec<_> = folders.into_iter().filter(|folder| !folder.exists()).collect();
    let setup = format!(
        "for d in nscd systemd/resolve avahi-daemon; do mkdir -p /run/$d; mount -t tmpfs tmpfs /run/$d; done; \
         python3 -c '{}\nimport time; time.sleep(30)' {} & while [ ! -e {} ]; do sleep 0.05; done",
        SERVICE.replace('\'', "\""),
        sockets.join(" "),
        sockets[2]
    );
    let connect = "import socket, sys\nfor path in sys.argv[1:]:\n    s = socket.socket(socket.AF_UNIX)\n    try:\n        s.connect(path)\n        print(\"reached\", path)\n    except OSError as why:\n        print(type(why).__name__)\n";
    let command = format!(
        "python3 -c '{connect}' {}; python3 -c 'import socket, time; t = time.time(); socket.gethostbyname(\"www.example.test\"); \
         print(time.time() - t > 0.05)'",
        sockets.join(" ")
    );
    let (printed, why) = in_shell(&lan, "nameserver 203.0.113.1\n", &setup, &["--internet"], &command);
    made.into_iter().for_each(|folder| std::fs::remove_dir(folder).unwrap());
    assert_eq!(printed, "ConnectionRefusedError\n".repeat(3) + "True\n", "{why}");
}

/// Mahimahi's issue 48: a lookup took five seconds for each server that is not there.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn without_a_way_out_lookups_fail_at_once() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("closed", &["203.0.113.9/24"], &["203.0.113.1/24"]);
    let begun = Instant::now();
    let command = "getent hosts www.example.test || echo none";
    let (printed, why) = in_shell(&lan, "nameserver 203.0.113.1\nnameserver 192.0.2.9\n", "", &[], command);
    assert_eq!(printed, "none\n", "{why}");
    assert!(begun.elapsed().as_secs() < 4, "{:?}", begun.elapsed());
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn ipv6_is_reached_where_the_machine_has_it_and_its_settings_come_back() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan =
        Lan::new("six", &["203.0.113.9/24", "2001:db8:7::9/64"], &["203.0.113.1/24", "2001:db8:7::1/64"]);
    let settings = || {
        let conf = "grep -r . /proc/sys/net/ipv6/conf/*/forwarding /proc/sys/net/ipv6/conf/*/accept_ra /proc/sys/net/ipv4/ip_forward";
        let mut shell = std::process::Command::new("nsenter");
        shell.arg(format!("--net=/run/netns/{}", lan.machine)).args([
            "sh",
            "-c",
            &format!("{conf}; nft list tables"),
        ]);
        text(&shell.output().unwrap().stdout)
    };
    let before = settings();
    assert!(before.contains("wan/accept_ra:1") && before.contains("all/forwarding:0"), "{before}");
    // Names have IPv6 addresses, too, and the only name server is one.
    let command = "curl -sS -6 -m 20 http://www.example.test:8000/x; ping -6 -q -c 2 -i 0.2 -W 5 2001:db8:7::1; \
                   ping -6 -c 1 -W 5 2001:db8:99::1";
    let (printed, why) = in_shell(&lan, "nameserver 2001:db8:7::1\n", "", &["--internet"], command);
    assert!(printed.starts_with("hello\n") && printed.contains(" 0% packet loss"), "{printed}{why}");
    assert!(!why.contains("warning: names"), "{why}");
    let least =
        printed.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")).expect("a summary");
    assert!(least.split('/').next().unwrap().parse::<f64>().unwrap() > 50.0, "through the path: {least}");
    assert_eq!(settings(), before);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn ipv6_is_refused_at_once_where_the_machine_has_none() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("four", &["203.0.113.9/24"], &["203.0.113.1/24"]);
    let begun = Instant::now();
    let command = "curl -sS -m 30 'http://[2001:db8::7]:8000/x'; curl -sS -m 20 http://203.0.113.1:8000/x";
    let (printed, why) = in_shell(&lan, "nameserver 203.0.113.1\n", "", &["--internet"], command);
    assert_eq!(printed, "hello\n", "{why}");
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
    assert!(why.contains("to IPv6 addresses outside") && why.contains("2001:db8::7: "), "{why}");
}

/// Wherever the rule is, and whatever its words: a policy, a rule, a refusal.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_firewall_that_drops_forwarded_packets_is_named_before_the_command_starts() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan = Lan::new("wall", &["203.0.113.9/24"], &["203.0.113.1/24"]);
    let docker = "table ip filter { chain FORWARD { type filter hook forward priority 0; policy drop; oifname \"docker0\" accept; }; }";
    let firewalld = "table inet firewalld { chain filter_FORWARD { type filter hook forward priority 10; policy accept; \
                     ct state established accept; reject with icmpx type admin-prohibited; }; }";
    for (rules, table, named) in [
        (docker, "ip filter", "chain FORWARD of table ip filter, policy drop"),
        (firewalld, "inet firewalld", "chain filter_FORWARD of table inet firewalld, policy accept"),
    ] {
        lan.firewall(rules);
        let fetch = "echo begun >&2; curl -sS -m 1 http://203.0.113.1:8000/x";
        let (page, why) = in_shell(&lan, "nameserver 203.0.113.1\n", "", &["--internet"], fetch);
        assert_eq!(page, "", "{why}");
        let warning = why.lines().next().unwrap();
        assert!(
            warning.starts_with("warning: this machine's firewall drops") && warning.contains(named),
            "{why}"
        );
        assert!(why.find("begun").unwrap() > warning.len(), "{why}");
        // Its advice helps.
        let advice = warning.split("let them pass: ").nth(1).unwrap().replace('\'', "");
        for rule in advice.split("; ") {
            lan.firewall(rule.strip_prefix("nft ").unwrap());
        }
        let (page, why) = in_shell(&lan, "nameserver 203.0.113.1\n", "", &["--internet"], fetch);
        assert_eq!(page, "hello\n", "{why}");
        assert!(!why.contains("firewall"), "{why}");
        lan.firewall(&format!("delete table {table}"));
    }
    let (_, why) = in_shell(&lan, "nameserver 203.0.113.1\n", "", &["--internet"], "true");
    assert!(!why.contains("firewall"), "none drops: {why}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn what_leads_nowhere_is_refused_and_in_the_summary() {
    if !can_run(&["ping"]) {
        return;
    }
    let stats = std::env::temp_dir().join(format!("longhaul-emu-unrouted-{}.json", std::process::id()));
    let command =
        "ping -c 2 -i 0.3 -W 2 192.0.2.77; ping -c 1 -W 1 224.0.0.251; ping -6 -c 1 -W 2 2001:db8::77; true";
    let output = run("nowhere", PATH, &["--stats", stats.to_str().unwrap()], command);
    let (printed, why) = said(&output);
    assert!(printed.contains("From 10.0.0.1 icmp_seq=1 Destination Net Unreachable"), "{printed}");
    assert!(printed.contains("Destination unreachable: No route"), "{printed}");
    assert!(
        why.contains("1 packet was to multicast") && why.contains("192.0.2.77: 2, 2001:db8::77: 1"),
        "{why}"
    );
    let said: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&stats).unwrap()).unwrap();
    std::fs::remove_file(stats).unwrap();
    assert_eq!(said["unrouted"].as_array().unwrap().len(), 3, "{said:#}");
    assert_eq!((&said["damaged_packets"], &said["expired_packets"]), (&0.into(), &0.into()), "{said:#}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn damaged_packets_are_counted() {
    if !can_run(&["ping"]) {
        return;
    }
    let stats = std::env::temp_dir().join(format!("longhaul-emu-damaged-{}.json", std::process::id()));
    let options = ["--set", "link.link.corruption=1", "--stats", stats.to_str().unwrap()];
    let output = run("damaged", PATH, &options, "ping -q -c 3 -i 0.2 -W 1 $LONGHAUL_NEAR; true");
    let (printed, why) = said(&output);
    assert!(printed.contains("100% packet loss"), "{printed}{why}");
    let said: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&stats).unwrap()).unwrap();
    std::fs::remove_file(stats).unwrap();
    assert_eq!(said["damaged_packets"], 3, "{said:#}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn three_links_are_three_hops() {
    if !can_run(&["ping"]) {
        return;
    }
    let command = "for ttl in 1 2 3; do ping -n -c 1 -t $ttl -W 5 $LONGHAUL_SERVER | sed -n 2p; \
                   ping -6 -n -c 1 -t $ttl -W 5 $LONGHAUL_SERVER_V6 | sed -n 2p; done; ping -c 1 -W 5 10.0.0.2 | sed -n 2p";
    let output = run("hops", THREE_LINKS, &["--addresses", "10.0.0.0/24"], command);
    let (printed, why) = said(&output);
    let lines: Vec<&str> = printed.lines().collect();
    let begins = [
        "From 10.0.0.3 icmp_seq=1 Time to live exceeded",
        "From fd6c:6f6e:6768::3 icmp_seq=1 Time exceeded: Hop limit",
        "From 10.0.0.2 icmp_seq=1 Time to live exceeded",
        "From fd6c:6f6e:6768::2 icmp_seq=1 Time exceeded: Hop limit",
        "64 bytes from 10.0.0.1: icmp_seq=1 ttl=62 ",
        "64 bytes from fd6c:6f6e:6768::1: icmp_seq=1 ttl=62 ",
        "64 bytes from 10.0.0.2: icmp_seq=1 ttl=63 ",
    ];
    assert_eq!(lines.len(), begins.len(), "{printed}{why}");
    assert!(lines.iter().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{printed}{why}");
}

/// Hosts find out what the path carries (RFC 1191, RFC 8201): of IPv4 what may be cut arrives in fragments, and TCP goes on with less.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_link_in_the_middle_has_an_mtu_of_its_own() {
    if !can_run(&["ping", "curl", "python3"]) {
        return;
    }
    let narrow = |more: &str| {
        THREE_LINKS.replace("name = \"two\"", &format!("name = \"two\"\nmtu = \"1300 B\"\n{more}"))
    };
    let pings = "ping -n -c 2 -i 0.3 -W 5 -M do -s 1400 $LONGHAUL_SERVER; ping -6 -n -c 2 -i 0.3 -W 5 -M do -s 1400 $LONGHAUL_SERVER_V6; \
                 ip route get $LONGHAUL_SERVER; ping -n -c 1 -W 5 -M dont -s 1400 $LONGHAUL_SERVER;";
    let page = "head -c 300000 /dev/zero > /tmp/$$; curl -s -m 20 --retry 9 --retry-connrefused -T /tmp/$$ \
                -o /dev/null -w '%{http_code} %{size_upload}\\n' http://$LONGHAUL_SERVER:8000/x; rm /tmp/$$";
    let server = "server=python3 -c 'import http.server as h
class H(h.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.rfile.read(int(self.headers[\"Content-Length\"]))
        self.send_response(200)
        self.end_headers()
h.HTTPServer((\"\", 8000), H).serve_forever()'";
    let options = ["--addresses", "10.0.0.0/24", "--serve", server];
    let (printed, why) = said(&run("mtu", &narrow(""), &options, &format!("{pings} {page}")));
    assert!(
        printed.contains("From 10.0.0.3 icmp_seq=1 Frag needed and DF set (mtu = 1300)"),
        "{printed}{why}"
    );
    assert!(printed.contains("From fd6c:6f6e:6768::3 icmp_seq=1 Packet too big: mtu=1300"), "{printed}{why}");
    assert!(printed.contains(" mtu 1300"), "the route has learned it: {printed}{why}");
    assert!(
        printed.contains("1408 bytes from 10.0.0.1: icmp_seq=1"),
        "in fragments, both ways: {printed}{why}"
    );
    assert!(printed.contains("200 300000"), "{printed}{why}");
    // A black hole: nothing is reported, and what is long does not get through, unless TCP looks for it.
    let hole = narrow("too_big = \"dropped\"\n");
    let pings =
        "ping -n -c 1 -W 2 -M do -s 1400 $LONGHAUL_SERVER; ping -n -c 1 -W 5 -s 1000 $LONGHAUL_SERVER;";
    let (printed, why) =
        said(&run("hole", &hole, &options, &format!("{pings} {}", page.replace("-m 20 --retry 9", "-m 4"))));
    assert!(!printed.contains("Frag needed") && printed.contains("100% packet loss"), "{printed}{why}");
    assert!(printed.contains("1008 bytes from 10.0.0.1"), "{printed}{why}");
    assert!(!printed.contains("200 300000"), "{printed}{why}");
}

/// A host's own link: its device has the MTU, so that packets are no longer from the begin.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_host_s_device_has_the_mtu_of_its_link() {
    if !can_run(&["ping"]) {
        return;
    }
    let narrow = PATH.replace("name = \"link\"", "name = \"link\"\nmtu = \"1000 B\"");
    let (printed, why) = said(&run(
        "own-mtu",
        &narrow,
        &[],
        "cat /sys/class/net/lh0/mtu; ping -n -c 1 -W 5 -s 900 $LONGHAUL_NEAR",
    ));
    assert!(printed.starts_with("1000\n") && printed.contains("908 bytes from"), "{printed}{why}");
    assert!(why.contains("has no IPv6: its link carries 1000 B"), "{why}");
}

/// The machine's way out is narrower than the path: its router reports what it cannot forward, and TCP goes on with less.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn packets_that_are_too_long_for_the_machine_s_network_are_reported() {
    if !can_run(&TOOLS) {
        return;
    }
    let lan =
        Lan::new("mtu", &["203.0.113.9/24", "2001:db8:7::9/64"], &["203.0.113.1/24", "2001:db8:7::1/64"]);
    lan::ip(&format!("-n {} link set wan mtu 1300", lan.machine));
    let command = "ping -c 2 -i 0.5 -W 3 -M do -s 1400 203.0.113.1; ping -6 -c 2 -i 0.5 -W 3 -M do -s 1400 2001:db8:7::1; true";
    let (printed, why) = in_shell(&lan, "nameserver 203.0.113.1\n", "", &["--internet"], command);
    assert!(printed.contains("Frag needed and DF set (mtu = 1300)"), "{printed}{why}");
    assert!(printed.contains("Packet too big: mtu=1300"), "{printed}{why}");
}

/// A program that does not read, and a buffer for a few datagrams.
const DEAF: &str = "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)\ns.bind((\"0.0.0.0\", 9000))\nprint(\"listens\", flush=True)\ntime.sleep(60)\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn what_a_host_loses_by_itself_is_named() {
    if !can_run(&["python3"]) {
        return;
    }
    let deaf = format!("exec python3 -c '{DEAF}'");
    let send = "sleep 1; python3 -c 'import os, socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                for n in range(200):\n    s.sendto(b\"x\" * 500, (os.environ[\"LONGHAUL_NEAR\"], 9000)); time.sleep(0.001)'; sleep 1";
    let file = scenario("deaf", PATH);
    let stats = std::env::temp_dir().join(format!("longhaul-emu-deaf-{}.json", std::process::id()));
    let serve = format!("near={deaf}");
    let options = ["--serve", &serve, "--stats", stats.to_str().unwrap()];
    let output = bed::shell(&file, &options, send).output().unwrap();
    std::fs::remove_file(file).unwrap();
    let (_, why) = said(&output);
    assert!(
        why.contains("host near has lost packets behind the path") && why.contains("UdpRcvbufErrors"),
        "{why}"
    );
    let said: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&stats).unwrap()).unwrap();
    std::fs::remove_file(stats).unwrap();
    assert!(said["host_losses"]["near"]["UdpRcvbufErrors"].as_u64().unwrap() > 100, "{said:#}");
}
