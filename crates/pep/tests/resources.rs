//! What runs out, and who would like it to: descriptors, memory, disk; slow clients by the thousand, a flood of openings, datagrams that
//! are replayed, changed or made up; a link whose rate falls. The node goes on, others are served, and it recovers. Needs root and
//! Linux; ignored unless asked for.

use crate::bed::sky::{Sky, scenario};
use crate::bed::two::Two;
use crate::bed::{Bed, CLIENT, Daemon, PEP, SERVER, address, can_run, ip, text, wait_for};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// In the line of a tunnel that comes up over UDP. Where UDP carries less than it could, TCP is tried beside it.
const OVER_QUIC: &str = "over=\"QUIC\"";
const PATIENCE: Duration = Duration::from_secs(30);

/// Handles each connection to a port of the server, until it is dropped.
fn serve_with<Handling>(
    bed: &Bed,
    port: u16,
    handle: impl Fn(tokio::net::TcpStream) -> Handling + Send + 'static,
) -> tokio::runtime::Runtime
where
    Handling: Future<Output = ()> + Send + 'static,
{
    let listener = bed.within("s", || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&address(SERVER, port).into()).unwrap();
        socket.listen(4096).unwrap();
        socket
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener.into()).unwrap();
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            tokio::spawn(handle(stream));
        }
    });
    runtime
}

/// Answers each connection with as many bytes as its first line asks for, until it is dropped.
fn serve(bed: &Bed) -> tokio::runtime::Runtime {
    serve_with(bed, 8000, |mut stream| async move {
        let mut line = vec![];
        while !line.ends_with(b"\n") {
            match stream.read_u8().await {
                Ok(byte) => line.push(byte),
                Err(_) => return,
            }
        }
        let size: usize = text(&line).trim().parse().unwrap_or(0);
        let _ = stream.write_all(&content(size)).await;
    })
}

fn content(size: usize) -> Vec<u8> {
    (0..size as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn ask(stream: &mut TcpStream, size: usize) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("{size}\n").as_bytes()).unwrap();
    let mut all = vec![];
    stream.read_to_end(&mut all).unwrap();
    assert!(all == content(size), "{} of {size} bytes", all.len());
}

fn connect(bed: &Bed) -> TcpStream {
    bed.within("c", || TcpStream::connect_timeout(&address(SERVER, 8000), PATIENCE).unwrap())
}

fn accepted(daemon: &Daemon) -> u64 {
    daemon.status()["accepted"].as_u64().unwrap()
}

fn resident(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// This program holds the clients and the server of thousands of connections.
pub fn many_descriptors() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(1 << 17), hard).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn without_descriptors_new_connections_pass_and_return() {
    if !can_run() {
        return;
    }
    // A connection takes two: with one of these bounds the last descriptor is in use, with the other it is not.
    for files in [64, 65] {
        without_descriptors(files);
    }
}

fn without_descriptors(files: u32) {
    let bed = Bed::new();
    let mut daemon = bed.daemon("");
    let _server = serve(&bed);
    let pid = daemon.child.id().to_string();
    let limit = |files: &str| {
        let done =
            Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={files}:")]).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    };
    limit(&files.to_string());
    // Some are accepted with the last descriptor, and reset for lack of one towards the server.
    let held: Vec<TcpStream> = bed.within("c", || {
        (0..60).flat_map(|_| TcpStream::connect_timeout(&address(SERVER, 8000), PATIENCE)).collect()
    });
    assert!(held.len() > 30, "{}", held.len());
    wait_for("it lacks descriptors", 10, || daemon.log().contains("no new connection can be taken"));
    wait_for("new ones pass", 10, || daemon.log().contains("new connections pass untouched"));
    // Commands are answered however many connections there are.
    let status = daemon.status();
    assert!(status["flows"].as_u64().unwrap() > 5, "{status}");
    assert_eq!(status["starved"], true);
    // Those that it has go on, and one that passes is served by the server itself.
    let mut good = held.into_iter();
    ask(&mut good.next().unwrap(), 300_000);
    ask(&mut connect(&bed), 300_000);
    assert!(daemon.child.try_wait().unwrap().is_none(), "it has ended");
    drop(good);
    limit("4096");
    wait_for("it has room again", 20, || {
        let before = accepted(&daemon);
        ask(&mut connect(&bed), 1000);
        accepted(&daemon) > before
    });
    wait_for("all have ended", 20, || daemon.status()["flows"] == 0);
    assert_eq!(daemon.status()["ledger_balances"], true);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn without_memory_readers_that_are_quick_are_served_and_the_budget_holds() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    // The least that 40 connections can do with.
    let limits = "[limits]\nflows = 40\nflows_per_source = 40\nmemory = \"3 MiB\"\n";
    let daemon = bed.daemon(limits);
    let _server = serve(&bed);
    let before = resident(&daemon);
    // They ask for much and read nothing.
    let mut slow: Vec<TcpStream> = (0..35).map(|_| connect(&bed)).collect();
    for stream in &mut slow {
        stream.write_all(b"30000000\n").unwrap();
    }
    std::thread::sleep(Duration::from_secs(2));
    for _ in 0..3 {
        ask(&mut connect(&bed), 5_000_000);
    }
    let status = daemon.status();
    assert_eq!(status["ledger_balances"], true);
    let grown = resident(&daemon).saturating_sub(before);
    assert!(grown < 24 << 20, "{grown} bytes more, {status}");
    drop(slow);
    wait_for("all have ended", 20, || daemon.status()["flows"] == 0);
    assert_eq!(daemon.status()["buffers"], 0);
}

/// A file system of 64 kB, which is full as soon as [`Disk::fill`] was called.
struct Disk(PathBuf);

impl Disk {
    fn new(bed: &Bed) -> Disk {
        let place = bed.folder.join("small");
        std::fs::create_dir_all(&place).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(&place)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        Disk(place)
    }

    fn fill(&self) {
        let _ = std::fs::write(self.0.join("ballast"), vec![1; 1 << 20]);
        let more = std::fs::write(self.0.join("more"), vec![1; 8192]);
        assert!(more.is_err(), "there is room left");
    }

    fn free(&self) {
        for file in ["ballast", "more"] {
            let _ = std::fs::remove_file(self.0.join(file));
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_full_disk_costs_lines_of_the_log_and_nothing_else() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let disk = Disk::new(&two.bed);
    let hub = two.hub("");
    let config = two.terminal_config(&two.hub_key);
    let state = disk.0.join("state");
    std::fs::create_dir_all(&state).unwrap();
    let config = config.replace("[hop]\n", &format!("[hop]\nstate = \"{}\"\n", state.display()));
    let mut terminal = two.bed.start("p", "small/terminal", &config);
    wait_for("the tunnel is up", 20, || terminal.status()["passing"] == false);
    let _server = serve(&two.bed);
    ask(&mut connect(&two.bed), 100_000);
    disk.fill();
    for _ in 0..30 {
        ask(&mut connect(&two.bed), 100_000);
    }
    let mut held = connect(&two.bed);
    wait_for("it is listed", 5, || terminal.status()["flows"] == 1);
    let flows: serde_json::Value = serde_json::from_str(&terminal.command(&["flows", "--json"])).unwrap();
    let capture = Command::new("ip")
        .args(["netns", "exec", &two.bed.name("p"), PEP, "capture", &flows[0]["id"].to_string()])
        .args(["--seconds", "1", "--out"])
        .arg(disk.0.join("flow.pcapng"))
        .arg("--config")
        .arg(&terminal.config)
        .output()
        .unwrap();
    assert!(text(&capture.stderr).contains("No space left on device"), "{}", text(&capture.stderr));
    ask(&mut held, 100_000);
    drop(held);
    wait_for("all have ended", 10, || terminal.status()["flows"] == 0);
    let status = terminal.status();
    assert_eq!((&status["accepted"], &status["ledger_balances"]), (&32.into(), &true.into()));
    assert_eq!(status["ended"]["complete"], 32, "each end was counted, its line in the log or not: {status}");
    disk.free();
    let before = terminal.log().len();
    ask(&mut connect(&two.bed), 1000);
    wait_for("the log goes on", 5, || terminal.log().len() > before);
    disk.fill();
    terminal.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(terminal.child.wait().unwrap().success(), "rates that cannot be kept are no failure");
    drop(hub);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn five_thousand_slow_clients_leave_room_for_others() {
    if !can_run() {
        return;
    }
    many_descriptors();
    let bed = Bed::new();
    let more =
        "socks = \"10.81.0.1:1080\"\nhttp_connect = \"10.81.0.1:8080\"\n[limits]\nflows_per_source = 1000\n";
    let mut daemon = bed.daemon(more);
    let _server = serve(&bed);
    ip(&format!("-n {} address add 10.81.0.3/24 dev eth", bed.name("c")));
    let from = |own: [u8; 4], to: SocketAddr| {
        bed.within("c", || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.bind(&SocketAddr::from((own, 0)).into()).unwrap();
            socket.connect_timeout(&to.into(), PATIENCE).unwrap();
            TcpStream::from(socket)
        })
    };
    // A part of a head, and no more.
    let mut slow = vec![];
    for (count, port, head) in
        [(2000, 8080, &b"CONNECT 10.82.0.2:8000 HTTP/1.1\r\nX: "[..]), (500, 1080, &[5])]
    {
        bed.within("c", || {
            for _ in 0..count {
                // Those beyond what one client may have are reset, some before this program has them.
                let opened = TcpStream::connect_timeout(&address("10.81.0.1", port), PATIENCE);
                let Ok(mut stream) = opened else { continue };
                let _ = stream.write_all(head);
                slow.push(stream);
            }
        });
    }
    // Connections that send nothing, all from one address, which may have a thousand.
    // Between the thousandth and the rule that lets the rest pass, some are taken in. The daemon keeps up, so that these are few on any
    // machine; bursts have tests of their own.
    for opened in (250..=2500).step_by(250) {
        bed.within("c", || {
            slow.extend((0..250).flat_map(|_| TcpStream::connect_timeout(&address(SERVER, 8000), PATIENCE)));
        });
        wait_for("the daemon keeps up", 30, || accepted(&daemon) >= opened.min(1000));
    }
    assert!(slow.len() > 3400, "{}", slow.len());
    // The kernel has opened them; on a busy machine the daemon takes them in later.
    wait_for("one address has all that it may have", 120, || accepted(&daemon) >= 1000);
    std::thread::sleep(Duration::from_secs(1));
    // Some more, which the kernel had accepted before the rules changed.
    let before = accepted(&daemon);
    assert!(before < 1800, "{before}");
    ask(&mut from([10, 81, 0, 3], address(SERVER, 8000)), 500_000);
    assert_eq!(accepted(&daemon), before + 1, "another client is accelerated");
    let status = daemon.status();
    let descriptors = status["descriptors"].as_u64().unwrap();
    assert!(
        (1000..4800).contains(&descriptors),
        "1000 greetings and some 1000 connections with two ends: {descriptors}"
    );
    let flows = status["flows"].as_u64().unwrap();
    assert!((900..1801).contains(&flows), "{flows} connections of one client");
    assert!(resident(&daemon) < 120 << 20, "{}", resident(&daemon));
    // Heads that do not come in ten seconds.
    for stream in slow.iter_mut().take(1000).step_by(200) {
        stream.set_read_timeout(Some(Duration::from_secs(25))).unwrap();
        assert_ne!(stream.read(&mut [0; 100]).ok(), Some(100), "it is closed, or refused");
    }
    assert!(daemon.child.try_wait().unwrap().is_none());
    drop(slow);
    wait_for("all have ended", 60, || daemon.status()["flows"] == 0);
}

/// As many connections at once as a client can open, all held: each is answered, by the node or past it. Those that the kernel had
/// accepted when a bound was reached were reset.
fn burst(bed: &Bed, count: usize) {
    burst_from(bed, "c", count, || {});
}

/// The same from any host; `held` is called while all are held.
pub fn burst_from(bed: &Bed, host: &str, count: usize, held_all: impl FnOnce() + Send) {
    let answered = bed.within(host, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let one = || async {
                let mut stream = tokio::net::TcpStream::connect(address(SERVER, 8001)).await?;
                stream.write_all(b"x").await?;
                let mut answer = [0; 2];
                stream.read_exact(&mut answer).await?;
                std::io::Result::Ok(stream)
            };
            let all: Vec<_> = (0..count).map(|_| tokio::spawn(one())).collect();
            let mut held = vec![];
            let mut failed = vec![];
            for one in all {
                match tokio::time::timeout(PATIENCE, one).await {
                    Ok(done) => match done.unwrap() {
                        Ok(stream) => held.push(stream),
                        Err(why) => failed.push(why.to_string()),
                    },
                    Err(_) => failed.push("no answer".into()),
                }
            }
            assert!(
                failed.is_empty(),
                "{} of {count} failed: {:?}",
                failed.len(),
                &failed[..failed.len().min(3)]
            );
            held_all();
            held.len()
        })
    });
    assert_eq!(answered, count);
}

/// Answers each connection and holds it, until this is dropped.
pub fn serve_and_hold(bed: &Bed) -> tokio::runtime::Runtime {
    serve_with(bed, 8001, |mut stream| async move {
        let mut room = [0; 1];
        if stream.read_exact(&mut room).await.is_ok() && stream.write_all(b"ok").await.is_ok() {
            let _ = stream.read(&mut room).await;
        }
    })
}

/// Each bound that connections can meet at a node.
const BOUNDS: [&str; 4] = [
    "flows = 100",
    "flows_per_source = 100",
    "new_per_second = 100",
    "flows = 4000\nflows_per_source = 2000",
];

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_burst_over_a_bound_resets_nobody() {
    if !can_run() {
        return;
    }
    many_descriptors();
    for bound in BOUNDS {
        let bed = Bed::new();
        let daemon = bed.daemon(&format!("[limits]\n{bound}\n"));
        let _server = serve_and_hold(&bed);
        burst(&bed, 3000);
        let status = daemon.status();
        assert!(status["accepted"].as_u64().unwrap() >= 90, "{bound}: {status}");
        assert_eq!(status["ended"]["server_reset"], serde_json::Value::Null, "{bound}: {status}");
        wait_for("all have ended", 20, || daemon.status()["flows"] == 0);
        assert_eq!(daemon.status()["ledger_balances"], true);
    }
}

/// The same where descriptors are the bound, from the start.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_burst_over_the_bound_on_open_files_resets_nobody() {
    if !can_run() {
        return;
    }
    many_descriptors();
    let bed = Bed::new();
    let daemon = bed.start_with("p", "pep", &bed.split_config(""), &["prlimit", "--nofile=400:400"]);
    let _server = serve_and_hold(&bed);
    burst(&bed, 3000);
    let status = daemon.status();
    assert!((50..200).contains(&status["accepted"].as_u64().unwrap()), "{status}");
}

/// At two nodes the hub's bounds count too.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_burst_over_a_bound_of_either_of_two_nodes_resets_nobody() {
    if !can_run() {
        return;
    }
    many_descriptors();
    let limits = BOUNDS.iter().flat_map(|bound| [(*bound, ""), ("", *bound)]);
    for (terminal, hub) in limits {
        let two = Two::new();
        let hub_node = two.hub(&format!("[limits]\n{hub}\n"));
        let config = two.terminal_config(&two.hub_key) + &format!("[limits]\n{terminal}\n");
        let terminal_node = two.bed.start("p", "terminal", &config);
        wait_for("the tunnel is up", 10, || terminal_node.status()["passing"] == false);
        let _server = serve_and_hold(&two.bed);
        burst(&two.bed, 3000);
        for node in [&terminal_node, &hub_node] {
            let status = node.status();
            assert!(status["accepted"].as_u64().unwrap() >= 90, "{terminal}, {hub}: {status}");
            assert_eq!(status["refused"]["full"], serde_json::Value::Null, "{terminal}, {hub}: {status}");
        }
    }
}

fn ones_complement(bytes: &[u8]) -> u16 {
    let mut sum: u32 =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// An opening of a connection to the server, from an address that nobody has.
fn opening(number: u32) -> Vec<u8> {
    let (from, to) = (Ipv4Addr::new(10, 81, (number >> 8) as u8 | 1, number as u8).octets(), [10, 82, 0, 2]);
    let port = (1024 + number * 7919 % 60_000) as u16;
    let mut tcp = vec![0; 20];
    tcp[..2].copy_from_slice(&port.to_be_bytes());
    tcp[2..4].copy_from_slice(&8000u16.to_be_bytes());
    tcp[4..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9).to_be_bytes());
    (tcp[12], tcp[13], tcp[14]) = (0x50, 2, 0xff);
    let pseudo = [&from[..], &to, &[0, 6, 0, 20], &tcp].concat();
    let sum = ones_complement(&pseudo);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    [&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0][..], &from, &to, &tcp].concat()
}

/// Sends packets with their own IP headers.
fn raw(bed: &Bed, host: &str) -> Socket {
    bed.within(host, || {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).unwrap();
        socket.set_header_included_v4(true).unwrap();
        socket
    })
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_flood_of_openings_is_limited_and_ends() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let mut daemon = bed.daemon("[limits]\nnew_per_second = 500\n");
    let _server = serve(&bed);
    // By way of the client: a neighbour for each source would fill the table that all network namespaces share, and the tests beside
    // this one would find no route to their hosts.
    ip(&format!("-n {} route add 10.81.0.0/16 via {CLIENT} dev lan", bed.name("p")));
    ask(&mut connect(&bed), 100_000);
    let (socket, over) = (raw(&bed, "c"), AtomicBool::new(false));
    let to = address(SERVER, 0).into();
    let sent = std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                for _ in 0..100 {
                    let _ = socket.send_to(&opening(number), &to);
                    number += 1;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            number
        });
        // With cookies, the kernel's answer to a flood, an opening may be lost: a client tries again.
        let (mut served, begin) = (0, Instant::now());
        while begin.elapsed() < Duration::from_secs(6) {
            let opened = bed
                .within("c", || TcpStream::connect_timeout(&address(SERVER, 8000), Duration::from_secs(5)));
            let Ok(mut stream) = opened else { continue };
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut all = vec![];
            if stream.write_all(b"20000\n").is_ok() && stream.read_to_end(&mut all).is_ok() {
                assert!(all == content(20_000), "an end in the place of bytes");
                served += 1;
            }
        }
        over.store(true, Ordering::Relaxed);
        assert!(served > 0, "nobody was served during the flood");
        flood.join().unwrap()
    });
    assert!(sent > 20_000, "{sent} openings are no flood");
    assert!(daemon.child.try_wait().unwrap().is_none());
    let status = daemon.status();
    assert!(status["flows"].as_u64().unwrap() < 100, "half-open connections are the kernel's: {status}");
    wait_for("it accelerates again", 60, || {
        let before = accepted(&daemon);
        ask(&mut connect(&bed), 1000);
        accepted(&daemon) > before
    });
}

/// What crosses the cable between terminal and hub, as IP packets.
fn watch(bed: &Bed) -> Socket {
    bed.within("p", || {
        let all = i32::from((libc_eth_p_all()).to_be());
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(all))).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        socket
    })
}

/// ETH_P_ALL of linux/if_ether.h.
fn libc_eth_p_all() -> u16 {
    3
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn datagrams_that_are_replayed_changed_or_made_up_change_nothing() {
    if !can_run() {
        return;
    }
    let two = Two::new();
    let watching = watch(&two.bed);
    let (terminal, hub) = two.up();
    let _server = serve(&two.bed);
    ask(&mut connect(&two.bed), 2_000_000);
    // The handshake and a transfer, in both directions.
    let mut packets: Vec<Vec<u8>> = vec![];
    let mut room = vec![0; 70_000];
    while let Ok(length) = (&watching).read(&mut room) {
        let packet = &room[..length];
        if packet[0] == 0x45 && packet[9] == 17 && length > 28 {
            // Several in one, as the kernel joins them.
            packets.extend(packet[28..].chunks(1472).map(|payload| [&packet[..28], payload].concat()));
        }
    }
    assert!(packets.len() > 50, "{} datagrams of the tunnel", packets.len());
    let (up_before, tunnels) = (resident(&hub), hub.log().matches(OVER_QUIC).count());
    let (socket, over) = (raw(&two.bed, "p"), AtomicBool::new(false));
    let from_hub = raw(&two.bed, "h");
    let sent = std::thread::scope(|scope| {
        let attack = scope.spawn(|| {
            let (mut count, mut state) = (0u64, 1u64);
            while !over.load(Ordering::Relaxed) {
                for packet in &packets {
                    let mut packet = packet.clone();
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    match count % 4 {
                        0 => {}
                        1 => {
                            let at = 28 + (state >> 33) as usize % (packet.len() - 28);
                            packet[at] ^= 1 << (state >> 60 & 7);
                        }
                        2 => packet.truncate(29 + (state >> 33) as usize % (packet.len() - 28)),
                        _ => packet[28..]
                            .iter_mut()
                            .enumerate()
                            .for_each(|(n, byte)| *byte = (state >> (n % 56)) as u8),
                    }
                    let length = packet.len() as u16;
                    packet[2..4].copy_from_slice(&length.to_be_bytes());
                    packet[24..26].copy_from_slice(&(length - 20).to_be_bytes());
                    // UDP without a checksum; the kernel fills in that of IP.
                    packet[26..28].fill(0);
                    let to = SocketAddr::from(([packet[16], packet[17], packet[18], packet[19]], 0)).into();
                    let way = if packet[19] == 2 { &socket } else { &from_hub };
                    let _ = way.send_to(&packet, &to);
                    count += 1;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            count
        });
        for _ in 0..5 {
            ask(&mut connect(&two.bed), 5_000_000);
        }
        std::thread::sleep(Duration::from_secs(3));
        over.store(true, Ordering::Relaxed);
        attack.join().unwrap()
    });
    assert!(sent > 2000, "{sent}");
    ask(&mut connect(&two.bed), 2_000_000);
    assert_eq!(hub.log().matches(OVER_QUIC).count(), tunnels, "the tunnel was not renewed: {}", hub.log());
    for node in [&terminal, &hub] {
        assert_eq!(node.status()["ledger_balances"], true);
        assert_eq!(node.status()["ended"]["complete"], 7);
    }
    let grown = resident(&hub).saturating_sub(up_before);
    assert!(grown < 64 << 20, "{grown} bytes more after {sent} datagrams");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_rate_that_falls_and_rises_again_costs_no_byte_and_no_tunnel() {
    if !can_run() {
        return;
    }
    let rates = "send_rate = \"49.8 Mbit/s\"\nmost_rate = \"49.8 Mbit/s\"\ninitial_rtt = \"200 ms\"\n";
    let two = Two { rates, ..Two::new() };
    let down = "rate = \"50 Mbit/s\", changes = [{ at = \"8 s\", rate = \"10 Mbit/s\" }, { at = \"20 s\", rate = \"50 Mbit/s\" }]";
    let sky = Sky::between(&two.bed, &scenario("rate = \"50 Mbit/s\"", down, 200, ""));
    let (hub, terminal) = (two.hub(""), two.terminal(&two.hub_key));
    wait_for("the tunnel is up", 40, || terminal.status()["passing"] == false);
    let _server = serve(&two.bed);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| ask(&mut connect(&two.bed), 60_000_000));
        while begin.elapsed() < Duration::from_secs(25) {
            ask(&mut connect(&two.bed), 20_000);
        }
    });
    for node in [&terminal, &hub] {
        assert_eq!(node.log().matches(OVER_QUIC).count(), 1, "{}", node.log());
        assert_eq!(node.status()["ledger_balances"], true);
    }
    drop(sky);
}
