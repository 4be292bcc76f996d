//! A terminal with several hubs, by name: takes over, takes back, looks names up again; and what clients of proxies see while no hub
//! answers. Needs root and Linux; ignored unless asked for.

use crate::bed::two::{Names, Two, key};
use crate::bed::{Daemon, SERVER, address, can_run, wait_for};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A hub at this port, of any address; servers see its own. It expects one key that nobody has, and the terminal's.
fn hub(two: &Two, name: &str, port: u16) -> Daemon {
    let folder = two.bed.folder.display();
    let other = "ab".repeat(32);
    let config = format!(
        "mode = \"hub\"\ntimeouts = {{ drain = \"1 s\" }}\ncontrol = \"{folder}/{name}.sock\"\n\
         [hop]\nlisten = \"[::]:{port}\"\nkey = \"{folder}/{name}.key\"\n{}\
         [[terminal]]\nname = \"ship\"\nkey = [\"{other}\", \"{}\"]\n",
        two.rates, two.terminal_key
    );
    two.bed.start("h", name, &config)
}

fn terminal(two: &Two, hop: &str) -> Daemon {
    let (folder, rates) = (two.bed.folder.display(), two.rates);
    let config = format!(
        "mode = \"terminal\"\ncontrol = \"{folder}/terminal.sock\"\nsocks = \"10.81.0.1:1080\"\n\
         http_connect = \"10.81.0.1:3128\"\nmetrics = \"127.0.0.1:9713\"\n\
         [hop]\nkey = \"{folder}/terminal.key\"\n{hop}\n{rates}[intercept]\ninterfaces = [\"lan\"]\n"
    );
    two.bed.start("p", "terminal", &config)
}

fn two() -> Two {
    let rates = "send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\npass_after = \"2 s\"\nkeep_alive = \"500 ms\"\n";
    Two { rates, ..Two::new() }
}

/// Nothing passes to this port of the hub's machine, nor from it.
fn block(two: &Two, port: u16) {
    let rules = format!(
        "nft 'add table inet block{port}; add chain inet block{port} in {{ type filter hook input priority -300; }}; \
         add chain inet block{port} out {{ type filter hook output priority -300; }}; \
         add rule inet block{port} in th dport {port} drop; add rule inet block{port} out th sport {port} drop'"
    );
    assert!(two.bed.at("h", &rules).status.success());
}

fn unblock(two: &Two, port: u16) {
    assert!(two.bed.at("h", &format!("nft delete table inet block{port}")).status.success());
}

fn in_use(terminal: &Daemon) -> String {
    terminal.status()["tunnel"]["hub"].as_str().unwrap_or_default().to_string()
}

fn accepted(hub: &Daemon) -> u64 {
    hub.status()["accepted"].as_u64().unwrap()
}

/// A byte to the server and one back.
fn ping(stream: &mut TcpStream, served: &mut TcpStream) {
    stream.write_all(b"x").unwrap();
    served.read_exact(&mut [0]).unwrap();
    served.write_all(b"y").unwrap();
    stream.read_exact(&mut [0]).unwrap();
}

fn connect(two: &Two, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let mut stream = two.connect(SERVER, 8000);
    let (mut served, _) = listener.accept().unwrap();
    served.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    ping(&mut stream, &mut served);
    (stream, served)
}

/// frp 2984 and 3631: another server of the list takes over, and the first one takes back. The second is reached over IPv6.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn another_hub_takes_over_and_the_first_one_takes_back() {
    if !can_run() {
        return;
    }
    let two = two();
    let _names = Names::new(&two, "p", "10.83.0.2 one.example\nfd83::2 two.example");
    let second_key = key(&two.bed, "second.key");
    let (first, second) = (hub(&two, "hub", 7714), hub(&two, "second", 7724));
    let hop = format!(
        "hubs = [\"one.example:7714\", \"two.example:7724\"]\nhub_key = [\"{}\", \"{second_key}\"]\nfail_back = \"4 s\"",
        two.hub_key
    );
    let terminal = terminal(&two, &hop);
    wait_for("the tunnel is up", 12, || terminal.status()["passing"] == false);
    assert_eq!(in_use(&terminal), "one.example:7714");
    let listener = two.listener(SERVER);
    let (mut old, mut old_served) = connect(&two, &listener);
    assert_eq!((accepted(&first), accepted(&second)), (1, 0));
    assert_eq!(second.status()["tunnel"]["peers"].as_array().map(Vec::len), Some(0), "it costs nothing");
    // The first gives no answer.
    block(&two, 7714);
    let begin = Instant::now();
    wait_for("the second takes over", 12, || in_use(&terminal) == "two.example:7724");
    wait_for("new connections are accelerated", 5, || terminal.status()["passing"] == false);
    eprintln!("taken over after {:?}", begin.elapsed());
    assert!(begin.elapsed() > Duration::from_millis(1500), "after {:?}", begin.elapsed());
    let (mut newer, mut newer_served) = connect(&two, &listener);
    assert_eq!((accepted(&first), accepted(&second)), (1, 1));
    let doctor = terminal.command(&["doctor"]);
    assert!(doctor.contains("new connections go by the hub two.example:7724: one.example:7714"), "{doctor}");
    let check = terminal.command(&["check"]);
    assert!(check.contains("hubs, the preferred one first: one.example:7714, two.example:7724"), "{check}");
    let metrics = two.bed.within("p", || {
        let mut stream = TcpStream::connect("127.0.0.1:9713").unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    assert!(metrics.contains("longhaul_pep_hub_in_use{hub=\"two.example:7724\"} 1"), "{metrics}");
    assert!(metrics.contains("longhaul_pep_hub_in_use{hub=\"one.example:7714\"} 0"), "{metrics}");
    // It is back, and has to stay for a while.
    unblock(&two, 7714);
    let begin = Instant::now();
    wait_for("the first takes back", 40, || in_use(&terminal) == "one.example:7714");
    assert!(begin.elapsed() > Duration::from_secs(4), "after {:?}", begin.elapsed());
    let (mut newest, mut newest_served) = connect(&two, &listener);
    assert_eq!((accepted(&first), accepted(&second)), (2, 1));
    // Nobody's connection was lost.
    ping(&mut old, &mut old_served);
    ping(&mut newer, &mut newer_served);
    ping(&mut newest, &mut newest_served);
    for line in [
        "takes new connections: one.example:7714 gives no answer",
        "takes new connections again, which two.example:7724 took",
    ] {
        assert!(terminal.log().contains(line), "{}", terminal.log());
    }
    assert_eq!(terminal.status()["ledger_balances"], true);
}

/// hysteria 1424, frp 1452: the name of a server has another address after a while.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_hub_is_looked_up_again_after_a_loss() {
    if !can_run() {
        return;
    }
    let rates = "send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\npass_after = \"1 s\"\nkeep_alive = \"500 ms\"\n\
                 idle_timeout = \"4 s\"\n";
    let two = Two { rates, ..two() };
    // Its first address has no hub, as one of IPv6 often has.
    let names = Names::new(&two, "p", "fd83::99 hub.example\n10.83.0.99 hub.example");
    let hub = hub(&two, "hub", 7714);
    let terminal = terminal(&two, &format!("hub = \"hub.example:7714\"\nhub_key = \"{}\"", two.hub_key));
    let address = || terminal.status()["tunnel"]["hubs"][0]["address"].as_str().unwrap_or("none").to_string();
    wait_for("both are tried", 20, || address() == "10.83.0.99:7714" || address() == "[fd83::99]:7714");
    assert_eq!(terminal.status()["passing"], true);
    names.set("fd83::99 hub.example\n10.83.0.2 hub.example");
    wait_for("the second of two addresses has the hub", 30, || terminal.status()["passing"] == false);
    assert_eq!(address(), "10.83.0.2:7714");
    // The name gets another address, and the old one gives no answer.
    names.set("fd83::2 hub.example");
    let drop = "nft 'add table ip block; add chain ip block in { type filter hook input priority -300; }; \
                add rule ip block in th dport 7714 drop'";
    assert!(two.bed.at("h", drop).status.success());
    wait_for("it is found at its new address", 30, || address() == "[fd83::2]:7714");
    wait_for("the tunnel is up", 10, || terminal.status()["passing"] == false);
    let listener = two.listener(SERVER);
    let (mut stream, mut served) = connect(&two, &listener);
    ping(&mut stream, &mut served);
    assert_eq!(hub.status()["accepted"], 1);
}

/// A SOCKS5 client's request for the server, with the answer's code.
fn socks(two: &Two) -> (u8, Duration, TcpStream) {
    let begin = Instant::now();
    let mut stream = two.connect("10.81.0.1", 1080);
    let [high, low] = 8000_u16.to_be_bytes();
    stream.write_all(&[5, 1, 0, 5, 1, 0, 1, 10, 82, 0, 2, high, low]).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    (answer[3], begin.elapsed(), stream)
}

/// hysteria 830: those who come by a proxy cannot pass the node untouched. They waited `timeouts.connect` (30 s) in a silent tunnel.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn clients_of_proxies_go_past_a_silent_tunnel() {
    if !can_run() {
        return;
    }
    let two = two();
    let hub = hub(&two, "hub", 7714);
    let terminal = terminal(&two, &format!("hub = \"10.83.0.2:7714\"\nhub_key = \"{}\"", two.hub_key));
    wait_for("the tunnel is up", 12, || terminal.status()["passing"] == false);
    let listener = two.listener(SERVER);
    let (code, ..) = socks(&two);
    assert_eq!((code, accepted(&hub)), (0, 1));
    drop(listener.accept().unwrap());
    // One that comes before the silence is noticed, and others after that.
    block(&two, 7714);
    for most in [5000, 500, 500] {
        let (code, time, mut stream) = socks(&two);
        eprintln!("answered after {time:?}");
        assert!(code == 0 && time < Duration::from_millis(most), "code {code} after {time:?}");
        let (mut served, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), address("10.83.0.1", 0).ip(), "the terminal itself has connected");
        served.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        ping(&mut stream, &mut served);
    }
    unblock(&two, 7714);
    wait_for("the tunnel is trusted", 20, || terminal.status()["passing"] == false);
    let before = accepted(&hub);
    let (code, ..) = socks(&two);
    assert_eq!((code, accepted(&hub)), (0, before + 1));
    assert_eq!(terminal.status()["ledger_balances"], true);
}
