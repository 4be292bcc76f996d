//! Names of servers that clients of the proxies give: several addresses of one (RFC 8305), looked up at the terminal or at the hub. Needs
//! root and Linux; ignored unless asked for.

use crate::bed::two::{Names, Two};
use crate::bed::{Daemon, can_run, wait_for};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A terminal with proxies, and a hub, with these settings of the tunnel.
fn up(two: &Two, at_terminal: &str, at_hub: &str) -> (Daemon, Daemon) {
    let folder = two.bed.folder.display();
    let hub = format!(
        "mode = \"hub\"\ntimeouts = {{ drain = \"1 s\" }}\ncontrol = \"{folder}/hub.sock\"\n\
         [hop]\nlisten = \"10.83.0.2:7714\"\nkey = \"{folder}/hub.key\"\n{at_hub}\n{}\
         [[terminal]]\nname = \"ship\"\nkey = \"{}\"\n",
        two.rates, two.terminal_key
    );
    let hub = two.bed.start("h", "hub", &hub);
    let config =
        two.terminal_config(&two.hub_key).replace("socks =", "http_connect = \"10.81.0.1:3128\"\nsocks =");
    let config = config.replace("[hop]\n", &format!("[hop]\n{at_terminal}\n"));
    let terminal = two.bed.start("p", "terminal", &config);
    wait_for("the tunnel is up", 12, || terminal.status()["passing"] == false);
    (terminal, hub)
}

/// What the proxies answer to a request for a server by name, port 8000: SOCKS5's code, CONNECT's status; and in which time each.
fn ask(two: &Two, name: &str) -> [(u16, Duration); 2] {
    let begin = Instant::now();
    let mut stream = two.connect("10.81.0.1", 1080);
    let mut request = vec![5, 1, 0, 5, 1, 0, 3, name.len() as u8];
    request.extend(name.as_bytes());
    request.extend(8000_u16.to_be_bytes());
    stream.write_all(&request).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    let socks = (answer[3].into(), begin.elapsed());
    let begin = Instant::now();
    let mut stream = two.connect("10.81.0.1", 3128);
    stream.write_all(format!("CONNECT {name}:8000 HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    let status = std::str::from_utf8(&answer[9..]).unwrap().parse().unwrap();
    [socks, (status, begin.elapsed())]
}

/// Both proxies reach the server within this time.
fn reached(two: &Two, listener: &TcpListener, name: &str, within: Duration) {
    let [(code, socks), (status, connect)] = ask(two, name);
    eprintln!("{name}: {socks:?}, {connect:?}");
    assert_eq!((code, status), (0, 200), "{name}");
    assert!(socks < within && connect < within, "{name}: {socks:?}, {connect:?}");
    for _ in 0..2 {
        listener.accept().unwrap();
    }
}

fn servers(terminal: &Daemon) -> Vec<String> {
    let log = terminal.log();
    log.lines()
        .filter_map(|line| Some(line.split_once(" server=")?.1.split(' ').next()?.to_string()))
        .collect()
}

/// microsocks 72: AAAA and A records, and nobody answers over IPv6: silent, or without a route. 502 and code 4 before.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_next_address_of_a_name_is_tried() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let lines = "fd82::2 both.example\n10.82.0.2 both.example\n2001:db8::1 far.example\n10.82.0.2 far.example\n\
                 fd82::99 none.example";
    let _names = Names::new(&two, "p", lines);
    let (terminal, hub) = up(&two, "", "");
    let listener = two.listener("10.82.0.2");
    // Nobody listens there over IPv6, which is refused at once.
    reached(&two, &listener, "both.example", Duration::from_secs(1));
    // No answer at all.
    two.bed.at(
        "s",
        "nft 'add table ip6 f; add chain ip6 f i { type filter hook input priority 0; }; \
                     add rule ip6 f i tcp dport 8000 drop'",
    );
    reached(&two, &listener, "both.example", Duration::from_secs(2));
    reached(&two, &listener, "far.example", Duration::from_secs(2));
    let [(code, _), (status, _)] = ask(&two, "missing.invalid");
    assert_eq!((code, status), (4, 502));
    wait_for("all have ended", 10, || terminal.status()["flows"] == 0 && hub.status()["flows"] == 0);
    assert_eq!(servers(&terminal), ["10.82.0.2:8000"; 6]);
}

/// By choice the hub looks names up, whose answer is the one that fits its place.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_hub_looks_names_up_if_both_want_that() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let _there = Names::new(
        &two,
        "h",
        "fd82::99 there.example\n10.82.0.2 there.example\n127.0.0.1 inside.example\n10.82.0.2 both.example",
    );
    let _here = Names::new(&two, "p", "10.82.0.2 here.example\n10.82.0.77 both.example");
    let (terminal, hub) = up(&two, "names = \"hub\"", "names = \"hub\"");
    let listener = two.listener("10.82.0.2");
    reached(&two, &listener, "there.example", Duration::from_secs(2));
    reached(&two, &listener, "both.example", Duration::from_secs(2));
    assert_eq!(ask(&two, "here.example").map(|(code, _)| code), [4, 502], "the hub does not find it");
    assert_eq!(ask(&two, "inside.example").map(|(code, _)| code), [2, 403], "no address of the hub itself");
    wait_for("all have ended", 10, || terminal.status()["flows"] == 0 && hub.status()["flows"] == 0);
    let named = servers(&terminal).into_iter().filter(|server| server == "there.example:8000").count();
    assert_eq!(named, 2, "flows have the name: {:?}", servers(&terminal));
    drop((terminal, hub));
    // A hub that does not offer it, as one of the release before.
    let (terminal, _hub) = up(&two, "names = \"hub\"", "");
    reached(&two, &listener, "here.example", Duration::from_secs(2));
    reached(&two, &listener, "here.example", Duration::from_secs(2));
    assert_eq!(terminal.log().matches("the hub looks no names up").count(), 1, "{}", terminal.log());
}
