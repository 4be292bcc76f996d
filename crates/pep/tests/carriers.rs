//! The tunnel where UDP does not pass: over TCP connections from the start, in mid-run, and back; and when either program is
//! killed and nobody starts it again. Needs root and Linux; ignored unless asked for.

use crate::bed;
use crate::bed::two::Two;
use crate::bed::{Daemon, SERVER, can_run, wait_for};
use nix::sys::signal::Signal;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Nothing of UDP passes between the nodes, and nobody is told.
const BLOCK: &str = "nft 'add table inet block; add chain inet block in { type filter hook input priority -300; }; \
                     add chain inet block out { type filter hook output priority -300; }; \
                     add rule inet block in udp dport 7714 drop; add rule inet block out udp sport 7714 drop'";
/// Only what the hub sends passes.
const BLACKHOLE: &str = "nft 'add table inet block; add chain inet block in { type filter hook input priority -300; }; \
                         add rule inet block in udp dport 7714 drop'";
/// The same of both directions for TCP.
const BLOCK_TCP: &str = "nft 'add table inet block; add chain inet block in { type filter hook input priority -300; }; \
                         add chain inet block out { type filter hook output priority -300; }; \
                         add rule inet block in tcp dport 7714 drop; add rule inet block out tcp sport 7714 drop'";
const UNBLOCK: &str = "nft delete table inet block";

fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(90))).unwrap();
    stream
}

/// Both directions of a connection, with an end in each.
fn exchange(stream: &mut TcpStream, served: &mut TcpStream, bytes: &[u8]) {
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let mut all = vec![];
            served.read_to_end(&mut all).unwrap();
            served.write_all(&all).unwrap();
            served.shutdown(Shutdown::Write).unwrap();
        });
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = vec![];
        stream.read_to_end(&mut all).unwrap();
        other.join().unwrap();
        assert_eq!(Sha256::digest(all), Sha256::digest(bytes));
    });
}

fn over(terminal: &Daemon) -> Vec<String> {
    let status = terminal.status();
    let peers = status["tunnel"]["peers"].as_array().unwrap();
    peers.iter().map(|peer| peer["name"].as_str().unwrap().to_string()).collect()
}

fn up_without_udp(two: &Two) -> (Daemon, Daemon) {
    two.bed.at("h", BLOCK);
    let hub = two.hub("");
    let terminal = two.terminal(&two.hub_key);
    wait_for("the tunnel is up over TCP", 12, || terminal.status()["passing"] == false);
    assert_eq!(over(&terminal), ["hub over TCP"]);
    (terminal, hub)
}

/// A hub that gives no answer, while all else passes: new connections were accepted and hung for 181 s.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn new_connections_pass_a_hub_that_gives_no_answer() {
    if !can_run() {
        return;
    }
    for (carrier, block) in [("quic", BLOCK), ("quic", BLACKHOLE), ("tcp", BLOCK_TCP)] {
        let rates = format!(
            "send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\ncarrier = \"{carrier}\"\npass_after = \"3 s\"\n\
             keep_alive = \"1 s\"\n"
        );
        let two = Two { rates: rates.leak(), ..Two::new() };
        let (hub, terminal) = (two.hub(""), two.terminal(&two.hub_key));
        wait_for("the tunnel is up", 12, || terminal.status()["passing"] == false);
        let listener = two.listener(SERVER);
        let mut old = two.connect(SERVER, 8000);
        old.write_all(b"x").unwrap();
        let mut served = accept(&listener);
        served.read_exact(&mut [0]).unwrap();
        // An outage of a satellite link: nothing changes.
        two.bed.at("h", block);
        std::thread::sleep(Duration::from_millis(1500));
        two.bed.at("h", UNBLOCK);
        std::thread::sleep(Duration::from_secs(3));
        assert!(!terminal.log().contains("pass untouched"), "{carrier}: {}", terminal.log());
        // The hub's program is gone for all that can be seen; the way to the server is not.
        two.bed.at("h", block);
        let begin = Instant::now();
        wait_for("new connections pass", 9, || terminal.status()["silent"] == true);
        let after = begin.elapsed();
        // Three seconds from the last packet, which may have come a moment before.
        assert!(after > Duration::from_secs(2), "{carrier}: after {after:?}");
        let status = terminal.status();
        let cause = "the hub gives no answer through the tunnel (hop.pass_after)";
        assert_eq!(status["reasons"], serde_json::json!([cause]));
        assert_eq!(status["tunnel"]["hubs"][0]["answers"], false, "{status}");
        assert!(terminal.log().contains(&format!("new connections pass untouched: {cause}")));
        assert_eq!(
            terminal.command(&["bypass"]),
            format!("bypass is off; new connections pass untouched: {cause}\n")
        );
        let before = terminal.status()["accepted"].as_u64();
        let mut stream = two.connect(SERVER, 8000);
        exchange(&mut stream, &mut accept(&listener), b"untouched");
        assert_eq!(terminal.status()["accepted"].as_u64(), before);
        // Once it answers for as long, they are accelerated again, and the old one goes on.
        two.bed.at("h", UNBLOCK);
        let begin = Instant::now();
        wait_for("new connections are accelerated", 15, || terminal.status()["passing"] == false);
        assert!(begin.elapsed() > Duration::from_secs(3), "{carrier}: after {:?}", begin.elapsed());
        let mut stream = two.connect(SERVER, 8000);
        exchange(&mut stream, &mut accept(&listener), b"accelerated");
        assert_eq!(terminal.status()["accepted"].as_u64(), before.map(|count| count + 1));
        exchange(&mut old, &mut served, b"as before");
        drop(hub);
    }
}

/// Time of a download of so many bytes.
fn download(two: &Two, listener: &TcpListener, bytes: usize) -> Duration {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut served = accept(listener);
            served.read_exact(&mut [0; 2]).unwrap();
            served.write_all(&noise(bytes)).unwrap();
        });
        let begin = Instant::now();
        let mut stream = two.connect(SERVER, 8000);
        stream.write_all(b"go").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut all = vec![];
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(Sha256::digest(all), Sha256::digest(noise(bytes)));
        begin.elapsed()
    })
}

/// hysteria 595: a network that polices UDP and lets TCP pass. 10 MB took 3.0 s without the node and 19.5 s with it.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn policed_udp_moves_new_connections_to_tcp() {
    if !can_run() {
        return;
    }
    let rates = "send_rate = \"50 Mbit/s\"\nmost_rate = \"50 Mbit/s\"\nreceive_rate = \"50 Mbit/s\"\ninitial_rtt = \"10 ms\"\n";
    let two = Two { rates, ..Two::new() };
    let (terminal, _hub) = two.up();
    let police = "nft 'add table inet police; add chain inet police out { type filter hook output priority -300; }; \
                  add rule inet police out udp sport 7714 limit rate over 500 kbytes/second burst 100 kbytes drop'";
    assert!(two.bed.at("h", police).status.success());
    let listener = two.listener(SERVER);
    let policed = download(&two, &listener, 3_000_000);
    assert!(policed > Duration::from_secs(4), "{policed:?}");
    wait_for("TCP is tried", 20, || over(&terminal).contains(&"hub over TCP".to_string()));
    assert!(terminal.log().contains("of 50 Mbit/s: new connections try TCP"), "{}", terminal.log());
    assert!(!terminal.log().contains("carries 0 bit/s"), "a request waits for nothing: {}", terminal.log());
    let tried = download(&two, &listener, 10_000_000);
    wait_for("TCP has won", 5, || terminal.log().contains("TCP takes new connections"));
    let moved = download(&two, &listener, 10_000_000);
    eprintln!("3 MB policed {policed:?}, 10 MB over TCP {tried:?} and {moved:?}");
    assert!(tried < Duration::from_secs(4) && moved < Duration::from_secs(4), "{tried:?}, {moved:?}");
    assert_eq!(terminal.status()["ledger_balances"], true);
}

/// A seventh of downloads of 2 MB one after the other, over 50 Mbit/s and 650 ms, went over TCP: their rate with the pauses in between
/// was below half of the link's.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn short_transfers_one_after_the_other_stay_with_quic() {
    if !can_run() {
        return;
    }
    let rates = "send_rate = \"50 Mbit/s\"\nmost_rate = \"50 Mbit/s\"\nreceive_rate = \"50 Mbit/s\"\ninitial_rtt = \"10 ms\"\n";
    let two = Two { rates, ..Two::new() };
    let (terminal, _hub) = two.up();
    let listener = two.listener(SERVER);
    for _ in 0..9 {
        download(&two, &listener, 500_000);
        std::thread::sleep(Duration::from_millis(650));
    }
    assert!(!terminal.log().contains("try TCP"), "{}", terminal.log());
    assert_eq!(over(&terminal), ["hub"]);
}

/// A link that drops full packets and reports nothing (RFC 8899): `status` had hop.mtu for what is sent.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn packets_that_shrink_behind_a_black_hole_are_reported() {
    if !can_run() {
        return;
    }
    let rates = "send_rate = \"50 Mbit/s\"\ninitial_rtt = \"10 ms\"\ncarrier = \"quic\"\n";
    let two = Two { rates, ..Two::new() };
    let (_terminal, hub) = two.up();
    let mtu = || hub.status()["tunnel"]["peers"][0]["mtu"].as_u64();
    assert_eq!(mtu(), Some(1472));
    let hole = "nft 'add table inet hole; add chain inet hole out { type filter hook output priority -300; }; \
                add rule inet hole out udp sport 7714 meta length gt 1400 drop'";
    assert!(two.bed.at("h", hole).status.success());
    let listener = two.listener(SERVER);
    let time = download(&two, &listener, 2_000_000);
    eprintln!("2 MB through a black hole for full packets: {time:?}");
    assert_eq!(mtu(), Some(1200));
    wait_for("it is logged", 5, || {
        hub.log().contains("full packets of the tunnel do not arrive: it sends 1200 bytes")
    });
}

/// With TCP alone, nothing but its own events wakes the tunnel's thread: over short links, a terminal did not notice that it was up.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_tunnel_over_tcp_alone_takes_connections() {
    if !can_run() {
        return;
    }
    let rates = "send_rate = \"500 Mbit/s\"\ninitial_rtt = \"5 ms\"\ncarrier = \"tcp\"\n";
    let two = Two { rates, ..Two::new() };
    let (hub, terminal) = (two.hub(""), two.terminal(&two.hub_key));
    wait_for("the tunnel is up over TCP", 12, || terminal.status()["passing"] == false);
    wait_for("the hub has it, too", 5, || over(&hub).len() == 1);
    let listener = two.listener(SERVER);
    let mut stream = two.connect(SERVER, 8000);
    let mut served = accept(&listener);
    exchange(&mut stream, &mut served, &noise(100_000));
}

/// The end of the handshake and the hello come in one segment: the hub read no further, and had no tunnel until more bytes came.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_hello_that_comes_with_the_end_of_the_handshake_is_read() {
    use longhaul_hop::{Pool, PoolConfig, tls};
    if !can_run() {
        return;
    }
    let two = Two::new();
    let hub = two.hub("");
    let identity = longhaul_pep::keys::load(&two.bed.folder.join("terminal.key")).unwrap();
    let hub_key = two.hub_key.parse::<longhaul_pep::config::Key>().unwrap();
    let client =
        tls::streams(&identity, &[tls::PublicKey(hub_key.0)].into_iter().collect(), b"longhaul-hop-tcp")
            .unwrap()
            .client;
    let name = rustls::pki_types::ServerName::from(std::net::IpAddr::from([0; 4]));
    let mut tls = rustls::ClientConnection::new(client.into(), name).unwrap();
    let mut stream = two.bed.within("p", || TcpStream::connect("10.83.0.2:7714").unwrap());
    let mut flight = vec![];
    loop {
        while tls.wants_write() {
            tls.write_tls(&mut flight).unwrap();
        }
        if !tls.is_handshaking() {
            break;
        }
        stream.write_all(&std::mem::take(&mut flight)).unwrap();
        tls.read_tls(&mut stream).unwrap();
        tls.process_new_packets().unwrap();
    }
    let mut pool = Pool::new(PoolConfig { credit: 1 << 20, memory: 9 << 20, unsent: 1 << 20, max_flows: 10 });
    let lane = pool.connected(None, bed::address("10.83.0.2", 7714), true);
    let mut hello = vec![];
    pool.to_send(longhaul_units::Instant::ZERO, lane, 1000, &mut hello);
    tls.writer().write_all(&hello).unwrap();
    while tls.wants_write() {
        tls.write_tls(&mut flight).unwrap();
    }
    stream.write_all(&flight).unwrap();
    wait_for("the hub has read the hello", 5, || hub.log().contains("tunnel is up"));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn tcp_carries_where_udp_is_blocked_and_udp_returns() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let (terminal, hub) = up_without_udp(&two);
    let listener = two.listener(SERVER);
    let bytes = noise(20_000_000);
    let mut stream = two.connect(SERVER, 8000);
    stream.write_all(b"first").unwrap();
    let mut served = accept(&listener);
    assert_eq!(served.peer_addr().unwrap(), stream.local_addr().unwrap());
    served.read_exact(&mut [0; 5]).unwrap();
    wait_for("all connections are open", 10, || hub.log().matches("tunnel is up").count() == 1);
    // UDP passes again: new connections take it, the old one goes on.
    two.bed.at("h", UNBLOCK);
    wait_for("UDP is back", 30, || over(&terminal).contains(&"hub".to_string()));
    let mut second = two.connect(SERVER, 8000);
    second.write_all(b"x").unwrap();
    let mut second_served = accept(&listener);
    second_served.read_exact(&mut [0]).unwrap();
    let flows = |name: &str| {
        let status = terminal.status();
        let peers = status["tunnel"]["peers"].as_array().unwrap().clone();
        peers.iter().find(|peer| peer["name"] == name).map(|peer| peer["flows"].as_u64().unwrap())
    };
    assert_eq!((flows("hub"), flows("hub over TCP")), (Some(1), Some(1)));
    exchange(&mut stream, &mut served, &bytes);
    exchange(&mut second, &mut second_served, &bytes);
    for node in [&terminal, &hub] {
        wait_for("both are complete", 10, || node.status()["ended"]["complete"] == 2);
        assert_eq!(node.status()["ledger_balances"], true);
    }
}

/// Of datagrams towards the hub only, too: the terminal is heard no more, and hears.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_block_in_mid_run_costs_the_old_connections_only() {
    if can_run() {
        std::thread::scope(|scope| {
            scope.spawn(|| block_in_mid_run(BLOCK));
            scope.spawn(|| block_in_mid_run(BLACKHOLE));
        });
    }
}

fn block_in_mid_run(block: &str) {
    let two = Two::new();
    let (terminal, hub) = two.up();
    let listener = two.listener(SERVER);
    let mut stream = two.connect(SERVER, 8000);
    stream.write_all(b"x").unwrap();
    let mut served = accept(&listener);
    served.read_exact(&mut [0]).unwrap();
    two.bed.at("h", block);
    let begin = Instant::now();
    wait_for("TCP carries", 20, || over(&terminal).contains(&"hub over TCP".to_string()));
    let mut second = two.connect(SERVER, 8000);
    second.write_all(b"y").unwrap();
    let mut second_served = accept(&listener);
    second_served.read_exact(&mut [0]).unwrap();
    exchange(&mut second, &mut second_served, &noise(1_000_000));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    // The old connection is reset at both ends, and never ends as if it were complete.
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(served.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    two.bed.at("h", UNBLOCK);
    wait_for("UDP is back", 40, || over(&terminal).contains(&"hub".to_string()));
    for node in [&terminal, &hub] {
        assert_eq!(node.status()["ledger_balances"], true);
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_program_that_dies_is_noticed_within_seconds() {
    if !can_run() {
        return;
    }
    for blocked in [false, true] {
        for dies in ["hub", "terminal"] {
            let two = Two::new();
            let (terminal, hub) = if blocked { up_without_udp(&two) } else { two.up() };
            let listener = two.listener(SERVER);
            let mut stream = two.connect(SERVER, 8000);
            stream.write_all(b"x").unwrap();
            let mut served = accept(&listener);
            served.read_exact(&mut [0]).unwrap();
            let (mut dead, left) = if dies == "hub" { (hub, &mut stream) } else { (terminal, &mut served) };
            let begin = Instant::now();
            dead.signal(Signal::SIGKILL);
            dead.child.wait().unwrap();
            left.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let error = left.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{dies}, UDP blocked: {blocked}");
            let time = begin.elapsed();
            eprintln!("death of the {dies}, UDP blocked: {blocked}: noticed after {time:?}");
            assert!(time < Duration::from_secs(10), "{dies}: {time:?}");
        }
    }
}

/// An outage of the link in which nobody answers is not taken for a death.
#[test]
#[ignore = "sends real packets: root and `make test-all`; takes a minute and a half"]
fn an_outage_of_75_seconds_loses_nothing() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let (terminal, hub) = two.up();
    let listener = two.listener(SERVER);
    let mut stream = two.connect(SERVER, 8000);
    stream.write_all(b"x").unwrap();
    let mut served = accept(&listener);
    served.read_exact(&mut [0]).unwrap();
    two.bed.at("h", "ip link set sat down");
    std::thread::sleep(Duration::from_secs(75));
    two.bed.at("h", "ip link set sat up; ip route replace 10.81.0.0/24 via 10.83.0.1");
    let begin = Instant::now();
    exchange(&mut stream, &mut served, &noise(5_000_000));
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    for node in [&terminal, &hub] {
        wait_for("it is complete", 10, || node.status()["ended"]["complete"] == 1);
        assert_eq!(node.status()["ledger_balances"], true);
    }
    assert_eq!(terminal.log().matches("tunnel is down").count(), 0, "{}", terminal.log());
}

/// A session with a key that no hub knows.
fn stranger() -> longhaul_hop::Session {
    use longhaul_hop::tls::Identity;
    let identity = Identity::from_pkcs8(&Identity::generate_pkcs8().unwrap()).unwrap();
    let peers = [identity.public_key()].into_iter().collect();
    longhaul_hop::Session::Tls { identity: std::sync::Arc::new(identity), peers }
}

/// A stranger with hundreds of silent TCP connections, and one with QUIC's first packets and nothing after them: terminals come in beside
/// them, and the log does not fill.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn strangers_lock_no_terminal_out() {
    if !can_run() {
        return;
    }
    for carrier in ["tcp", "quic"] {
        let rates = format!("send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\ncarrier = \"{carrier}\"\n");
        let two = Two { rates: rates.leak(), ..Two::new() };
        let hub = two.hub("");
        // They come from the network of the server, the terminal from another one.
        let hub_address = "10.82.0.1:7714";
        let strangers: Vec<TcpStream> = two.bed.within("s", || {
            if carrier == "tcp" {
                return (0..400).flat_map(|_| TcpStream::connect(hub_address)).collect();
            }
            let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
            let session = stranger();
            for number in 0..1000_u64 {
                let role = longhaul_hop::Role::Terminal { hub: hub_address.parse().unwrap() };
                let mut config = longhaul_hop::Config::new(role);
                config.mtu = 1200;
                config.session = session.clone();
                let mut seed = [7; 32];
                seed[..8].copy_from_slice(&number.to_be_bytes());
                let now = longhaul_units::Instant::ZERO;
                let mut node = longhaul_hop::Node::new(config, seed, now).unwrap();
                let mut datagram = vec![];
                node.poll_transmit(now, &mut datagram).unwrap();
                let _ = socket.send_to(&datagram, hub_address);
                std::thread::sleep(Duration::from_millis(1));
            }
            vec![]
        });
        let terminal = two.terminal(&two.hub_key);
        wait_for("the tunnel is up", 5, || terminal.status()["passing"] == false);
        let listener = two.listener(SERVER);
        let mut stream = two.connect(SERVER, 8000);
        exchange(&mut stream, &mut accept(&listener), b"as without strangers");
        let lines = hub.log().matches("attempt").count();
        assert!(lines <= 2, "{carrier}: {lines} lines about strangers");
        drop(strangers);
    }
}
