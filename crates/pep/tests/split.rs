//! One node between a client and a server, with real packets: addresses, ends of connections, refusals, and what happens when
//! the accelerator is full, told to stand aside, stopped or killed. Needs root and Linux; ignored unless asked for.

use crate::bed;
use crate::bed::{Bed, CLIENT, CLIENT_V6, SERVER, SERVER_V6, address, can_run, ip, text, wait_for};
use nix::sys::signal::Signal;
use sha2::{Digest, Sha256};
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes that differ from each other.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn connect(host: &str, port: u16) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address(host, port), Duration::from_secs(10)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

fn listener(bed: &Bed, host: &str, port: u16) -> TcpListener {
    bed.within("s", || TcpListener::bind(address(host, port)).unwrap())
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![];
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn addresses_bytes_and_half_closes_survive() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    for (client, server) in [(CLIENT, SERVER), (CLIENT_V6, SERVER_V6)] {
        let listener = listener(&bed, server, 8000);
        let (up, down) = (noise(3_000_000, 1), noise(2_000_000, 2));
        std::thread::scope(|scope| {
            let served = scope.spawn(|| {
                let mut stream = accept(&listener);
                let peer = stream.peer_addr().unwrap();
                let got = rest(&mut stream);
                // The client's half is closed; this one is open.
                std::thread::sleep(Duration::from_millis(100));
                stream.write_all(&down).unwrap();
                (peer, digest(&got))
            });
            let mut stream = bed.within("c", || connect(server, 8000));
            let own = stream.local_addr().unwrap();
            stream.write_all(&up).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(digest(&rest(&mut stream)), digest(&down));
            let (peer, got) = served.join().unwrap();
            assert_eq!(peer, own, "the server sees the client's address and port");
            assert_eq!(peer.ip().to_string(), client);
            assert_eq!(got, digest(&up));
        });
    }
    wait_for("both are complete", 10, || daemon.status()["ended"]["complete"] == 2);
    let status = daemon.status();
    assert_eq!(status["up"]["sent"], 6_000_000);
    assert_eq!(status["down"]["sent"], 4_000_000);
    assert_eq!(status["ledger_balances"], true);
    let log = daemon.stop();
    assert_eq!(log.matches("ended").count(), 2, "{log}");
    for command in
        ["nft list ruleset", "ip rule | grep 7713", "ip -6 rule | grep 7713", "ip route show table 7713"]
    {
        let left = text(&bed.at("p", command).stdout);
        assert_eq!(left, "", "{command}");
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn resets_and_refusals_reach_the_other_side() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    let listener = listener(&bed, SERVER, 8000);
    // The client resets.
    let mut stream = bed.within("c", || connect(SERVER, 8000));
    stream.write_all(b"x").unwrap();
    let mut served = accept(&listener);
    served.read_exact(&mut [0]).unwrap();
    reset(stream);
    assert_eq!(served.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    // The server resets, behind bytes.
    let mut stream = bed.within("c", || connect(SERVER, 8000));
    let mut served = accept(&listener);
    served.write_all(b"hello").unwrap();
    stream.read_exact(&mut [0; 5]).unwrap();
    reset(served);
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    // A reset of the client while nobody reads what it sends.
    let mut stream = bed.within("c", || connect(SERVER, 8000));
    let served = accept(&listener);
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[0; 65536]).is_ok() {}
    reset(stream);
    let mut served = served;
    let error = std::iter::repeat_with(|| served.read(&mut [0; 65536])).find_map(|read| match read {
        Ok(0) => Some(None),
        Ok(_) => None,
        Err(why) => Some(Some(why.kind())),
    });
    assert_eq!(error, Some(Some(ErrorKind::ConnectionReset)), "an end would hide what is missing");
    // Nobody listens, and there is no such host.
    for (host, port) in [(SERVER, 9), ("10.82.0.9", 80)] {
        // The reset may come before the client's kernel reports the connection as open.
        let opened = bed.within("c", || TcpStream::connect(address(host, port)));
        let error = opened.and_then(|mut stream| stream.read(&mut [0])).unwrap_err().kind();
        assert_eq!(error, ErrorKind::ConnectionReset, "{host} {port}");
    }
    wait_for("all have ended", 10, || daemon.status()["flows"] == 0);
    let ended = daemon.status()["ended"].clone();
    assert_eq!([&ended["refused"], &ended["unreachable"], &ended["server_reset"]], [1, 1, 1], "{ended}");
    assert_eq!(ended["client_reset"], 2, "{ended}");
    assert_eq!(daemon.status()["ledger_balances"], true);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn what_routers_report_about_packets_reaches_the_connection() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    bed.with_host_behind_server("p");
    let daemon = bed.daemon("");
    for (family, host, missing) in [("-4", "10.84.0.2", "10.84.0.9"), ("-6", "fd84::2", "fd84::9")] {
        // "Too big": a link in the middle of the path has a smaller MTU than both ends.
        let listener = bed.within("x", || TcpListener::bind(address(host, 8000)).unwrap());
        let mut stream = bed.within("c", || connect(host, 8000));
        stream.write_all(&[7; 100_000]).unwrap();
        let mut served = accept(&listener);
        served.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        served.read_exact(&mut [0; 100_000]).unwrap_or_else(|why| panic!("{host}: {why}"));
        // "Host unreachable".
        ip(&format!("{family} -n {} route add unreachable {missing}", bed.name("s")));
        let begin = Instant::now();
        let opened = bed.within("c", || TcpStream::connect(address(missing, 80)));
        let error = opened.and_then(|mut stream| stream.read(&mut [0])).unwrap_err().kind();
        assert_eq!(error, ErrorKind::ConnectionReset, "{missing}");
        assert!(begin.elapsed() < Duration::from_secs(5), "{missing} took {:?}", begin.elapsed());
    }
    assert_eq!(daemon.status()["ended"]["unreachable"], 2);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn without_the_daemon_connections_pass() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let mut daemon = bed.daemon("[limits]\nflows = 3\n");
    let listener = listener(&bed, SERVER, 8000);
    let ask = |what: &str| {
        let mut stream = bed.within("c", || connect(SERVER, 8000));
        stream.write_all(b"x").unwrap();
        let mut served = accept(&listener);
        served.read_exact(&mut [0]).unwrap_or_else(|why| panic!("{what}: {why}"));
        (stream, served)
    };
    let accepted = |daemon: &bed::Daemon| daemon.status()["accepted"].as_u64().unwrap();
    drop(ask("accelerated"));
    assert_eq!(accepted(&daemon), 1);
    assert_eq!(daemon.command(&["bypass", "on"]), "new connections pass untouched\n");
    let passing = ask("bypassed");
    assert_eq!((accepted(&daemon), daemon.status()["passing"].as_bool()), (1, Some(true)));
    daemon.command(&["bypass", "off"]);
    // One that passed untouched stays as it is.
    let (mut stream, mut served) = passing;
    stream.write_all(b"y").unwrap();
    served.read_exact(&mut [0]).unwrap();
    // Full.
    let held: Vec<_> = (0..3).map(|_| ask("accelerated")).collect();
    wait_for("the node is full", 5, || daemon.status()["full"] == true);
    let beyond = ask("a full node lets pass");
    assert_eq!(accepted(&daemon), 4);
    drop(beyond);
    drop(held);
    wait_for("there is room again", 10, || daemon.status()["passing"] == false);
    // Killed: those alive are reset, new ones pass.
    let (mut stream, mut served) = ask("accelerated");
    daemon.signal(Signal::SIGKILL);
    daemon.child.wait().unwrap();
    let begin = Instant::now();
    for end in [&mut stream, &mut served] {
        assert_eq!(end.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(
        text(&bed.at("p", "nft list tables").stdout).contains("longhaul_pep"),
        "killed, it cleans nothing"
    );
    drop(ask("without the daemon"));
    // A new one takes the place of what is left.
    let daemon = bed.daemon("");
    drop(ask("accelerated again"));
    assert_eq!(accepted(&daemon), 1);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn no_table_but_its_own_is_touched_and_other_traffic_is_left_alone() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    bed.at("p", "nft 'add table inet operator; add chain inet operator forward { type filter hook forward priority 0; }'");
    let before = bed.at("p", "nft list ruleset").stdout;
    let daemon = bed.daemon("");
    // To the router itself, and to a port that is left alone.
    let own = bed.within("p", || TcpListener::bind("10.81.0.1:8001").unwrap());
    let stream = bed.within("c", || connect("10.81.0.1", 8001));
    drop((own.accept().unwrap(), stream));
    let ssh = listener(&bed, SERVER, 22);
    let stream = bed.within("c", || connect(SERVER, 22));
    drop((ssh.accept().unwrap(), stream));
    // The listener cannot be reached from outside.
    let outside =
        bed.within("c", || TcpStream::connect_timeout(&address("10.81.0.1", 7713), Duration::from_secs(2)));
    assert_eq!(outside.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(daemon.status()["accepted"], 0);
    let ping = bed.at("c", "ping -c 1 -W 2 10.82.0.2");
    assert!(ping.status.success(), "{}", text(&ping.stdout));
    daemon.stop();
    assert_eq!(text(&before), text(&bed.at("p", "nft list ruleset").stdout));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn proxies_and_forwards_carry_too() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon(
        "socks = \"10.81.0.1:1080\"\nhttp_connect = \"10.81.0.1:8080\"\nmetrics = \"127.0.0.1:9713\"\n\
         [[forward]]\nlisten = \"10.81.0.1:9000\"\nto = \"10.82.0.2:8000\"\n",
    );
    let listener = listener(&bed, SERVER, 8000);
    let http = "CONNECT 10.82.0.2:8000 HTTP/1.1\r\n\r\n".as_bytes();
    let socks = [5, 1, 0, 5, 1, 0, 1, 10, 82, 0, 2, 0x1f, 0x40].as_slice();
    for (port, hello, answer) in [(1080, socks, 12), (8080, http, 39), (9000, &[], 0)] {
        let mut stream = bed.within("c", || connect("10.81.0.1", port));
        // What follows the request at once is not lost.
        stream.write_all(&[hello, b"early"].concat()).unwrap();
        let mut served = accept(&listener);
        assert_eq!(served.peer_addr().unwrap().ip().to_string(), "10.82.0.1");
        let mut got = [0; 5];
        served.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"early", "port {port}");
        served.write_all(b"late").unwrap();
        drop(served);
        let answered = rest(&mut stream);
        assert_eq!(&answered[answer..], b"late", "port {port}");
    }
    // The machine's own addresses are not reached through it.
    let mut stream = bed.within("c", || connect("10.81.0.1", 8080));
    stream.write_all(b"CONNECT 127.0.0.1:9713 HTTP/1.1\r\n\r\n").unwrap();
    assert!(text(&rest(&mut stream)).starts_with("HTTP/1.1 403"));
    wait_for("the refusal is counted", 5, || daemon.status()["ended"]["forbidden"] == 1);
    let metrics = bed.within("p", || {
        let mut stream = connect("127.0.0.1", 9713);
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        text(&rest(&mut stream))
    });
    assert!(metrics.contains("longhaul_pep_received_bytes_total{direction=\"up\"} 15"), "{metrics}");
    assert!(metrics.contains("longhaul_pep_flows_ended_total{end=\"forbidden\"} 1"), "{metrics}");
    drop(daemon);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_node_that_drains_takes_no_new_clients_of_its_proxies() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let mut daemon = bed.daemon(
        "socks = \"10.81.0.1:1080\"\nhttp_connect = \"10.81.0.1:8080\"\n\
         [[forward]]\nlisten = \"10.81.0.1:9000\"\nto = \"10.82.0.2:8000\"\n",
    );
    let listener = listener(&bed, SERVER, 8000);
    let mut stream = bed.within("c", || connect("10.81.0.1", 9000));
    stream.write_all(b"before").unwrap();
    let mut served = accept(&listener);
    daemon.command(&["drain"]);
    wait_for("it drains", 5, || daemon.status()["draining"] == true);
    for port in [1080, 8080, 9000] {
        let again = || bed.within("c", || TcpStream::connect(address("10.81.0.1", port)));
        let refused = || again().is_err_and(|why| why.kind() == ErrorKind::ConnectionRefused);
        wait_for(&format!("port {port} closes"), 5, refused);
    }
    let told = daemon.command(&["bypass", "off"]);
    assert!(told.contains("still pass untouched: the daemon drains"), "{told}");
    // The connection from before goes on, and its end is the daemon's.
    let mut got = [0; 6];
    served.read_exact(&mut got).unwrap();
    served.write_all(b"after").unwrap();
    drop(served);
    assert_eq!(rest(&mut stream), b"after");
    drop(stream);
    wait_for("the daemon stops", 10, || daemon.child.try_wait().unwrap().is_some());
}
