//! Transfers of many sizes through one node and through two, in both directions, with every order of closing, slow readers and
//! lost packets: SHA-256 at both ends, and no end of a stream in the place of missing bytes. Needs root and Linux; ignored
//! unless asked for. LONGHAUL_PEP_TRANSFERS sets how many (600 by default; 10,000 for acceptance), LONGHAUL_PEP_FIRST the number of
//! the first, by which the transfers are drawn.

use crate::bed::sky::{Sky, scenario};
use crate::bed::{Bed, Daemon, PEP, SERVER, address, can_run, text, wait_for};
use sha2::{Digest, Sha256};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How a transfer ends. The head that announces it travels to the server in front of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// The client ends its direction, then the server sends.
    ClientFirst,
    /// The server sends and ends its direction, then the client sends.
    ServerFirst,
    /// Both send at the same time and end when they are done.
    Together,
    /// The client closes its socket at once after its bytes.
    Close,
    /// The client resets behind its bytes: the server must not see an end.
    ClientResets,
    /// The server resets behind its bytes: the client must not see an end.
    ServerResets,
}

const ENDINGS: [Ending; 6] = [
    Ending::ClientFirst,
    Ending::ServerFirst,
    Ending::Together,
    Ending::Close,
    Ending::ClientResets,
    Ending::ServerResets,
];

#[derive(Clone, Copy, Debug)]
struct Transfer {
    number: usize,
    ending: Ending,
    up: usize,
    down: usize,
    /// The receiver reads 4 kB at a time with pauses, from a buffer of 4 kB.
    slow: bool,
}

impl Transfer {
    fn new(number: usize) -> Transfer {
        let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut size = || match next(20) {
            0 => 0,
            1 => 1,
            2..=10 => next(20_000) as usize,
            11..=18 => next(400_000) as usize,
            _ if next(50) == 0 => next(64_000_000) as usize,
            _ => next(8_000_000) as usize,
        };
        let (up, down) = (size(), size());
        let slow = next(8) == 0;
        let most = if slow { 100_000 } else { usize::MAX };
        Transfer { number, ending: ENDINGS[number % 6], up: up.min(most), down: down.min(most), slow }
    }

    fn head(&self) -> [u8; 8] {
        (self.number as u64).to_be_bytes()
    }
}

/// The bytes of a transfer: a stream cipher of the poor, the same at both ends.
fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|at| ((at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (seed as u64) << 7) >> 53) as u8)
        .collect()
}

/// Reads to the end: what came, and whether the end was clean.
fn rest(stream: &mut TcpStream, slow: bool) -> (Vec<u8>, Result<(), ErrorKind>) {
    let (mut all, mut room) = (vec![], vec![0; if slow { 4096 } else { 65_536 }]);
    loop {
        match stream.read(&mut room) {
            Ok(0) => return (all, Ok(())),
            Ok(n) => all.extend(&room[..n]),
            Err(why) => return (all, Err(why.kind())),
        }
        if slow {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn check(what: &str, transfer: &Transfer, got: &[u8], expected: &[u8]) {
    assert_eq!(
        Sha256::digest(got),
        Sha256::digest(expected),
        "{what}: {} of {} bytes, {transfer:?}",
        got.len(),
        expected.len()
    );
}

fn serve(mut stream: TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut head = [0; 8];
    if stream.read_exact(&mut head).is_err() {
        return;
    }
    let transfer = Transfer::new(u64::from_be_bytes(head) as usize);
    let (up, down) = (bytes(transfer.up, transfer.number), bytes(transfer.down, transfer.number + 1));
    let slow = transfer.slow;
    match transfer.ending {
        Ending::ClientFirst => {
            let (got, end) = rest(&mut stream, slow);
            assert_eq!(end, Ok(()), "{transfer:?}");
            check("up", &transfer, &got, &up);
            stream.write_all(&down).unwrap();
        }
        Ending::ServerFirst => {
            stream.write_all(&down).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let (got, end) = rest(&mut stream, slow);
            assert_eq!(end, Ok(()), "{transfer:?}");
            check("up", &transfer, &got, &up);
        }
        Ending::Together => {
            let mut writer = stream.try_clone().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    writer.write_all(&down).unwrap();
                    writer.shutdown(Shutdown::Write).unwrap();
                });
                let (got, end) = rest(&mut stream, slow);
                assert_eq!(end, Ok(()), "{transfer:?}");
                check("up", &transfer, &got, &up);
            });
        }
        Ending::Close => {
            let (got, end) = rest(&mut stream, slow);
            assert_eq!(end, Ok(()), "{transfer:?}");
            check("up", &transfer, &got, &up);
        }
        Ending::ClientResets => {
            let (got, end) = rest(&mut stream, slow);
            // Whatever came is what was sent; an end would state that it is all.
            assert!(up.starts_with(&got), "{transfer:?}");
            assert!(
                end.is_err(),
                "an end in the place of a reset: {} of {} bytes, {transfer:?}",
                got.len(),
                up.len()
            );
        }
        Ending::ServerResets => {
            let _ = stream.write_all(&down);
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}

fn transfer(transfer: &Transfer) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if transfer.slow {
        socket.set_recv_buffer_size(4096).unwrap();
    }
    socket.connect(&address(SERVER, 8000).into()).unwrap_or_else(|why| panic!("{why}, {transfer:?}"));
    let mut stream: TcpStream = socket.into();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let (up, down) = (bytes(transfer.up, transfer.number), bytes(transfer.down, transfer.number + 1));
    let slow = transfer.slow;
    stream.write_all(&transfer.head()).unwrap();
    let receive = |stream: &mut TcpStream| {
        let (got, end) = rest(stream, slow);
        assert_eq!(end, Ok(()), "{transfer:?}");
        check("down", transfer, &got, &down);
    };
    match transfer.ending {
        Ending::ClientFirst => {
            stream.write_all(&up).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            receive(&mut stream);
        }
        Ending::ServerFirst => {
            receive(&mut stream);
            stream.write_all(&up).unwrap();
        }
        Ending::Together => {
            let mut writer = stream.try_clone().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    writer.write_all(&up).unwrap();
                    writer.shutdown(Shutdown::Write).unwrap();
                });
                receive(&mut stream);
            });
        }
        // Everything may still be queued when the program is done.
        Ending::Close => stream.write_all(&up).unwrap(),
        Ending::ClientResets => {
            stream.write_all(&up).unwrap();
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
        Ending::ServerResets => {
            let (got, end) = rest(&mut stream, slow);
            assert!(down.starts_with(&got), "{transfer:?}");
            assert!(
                end.is_err(),
                "an end in the place of a reset: {} of {} bytes, {transfer:?}",
                got.len(),
                down.len()
            );
        }
    }
}

fn setting(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn transfers() -> usize {
    setting("LONGHAUL_PEP_TRANSFERS").unwrap_or(600)
}

/// So many transfers, of which the first has the number `first`.
fn campaign(bed: &Bed, nodes: &[&Daemon], first: usize, count: usize) {
    let first = first + setting("LONGHAUL_PEP_FIRST").unwrap_or(0);
    let listener = bed.within("s", || TcpListener::bind(address(SERVER, 8000)).unwrap());
    listener.set_nonblocking(true).unwrap();
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::scope(|servers| {
                while !over.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((stream, _)) => {
                            stream.set_nonblocking(false).unwrap();
                            servers.spawn(|| serve(stream));
                        }
                        Err(_) => std::thread::sleep(Duration::from_millis(1)),
                    }
                }
            });
        });
        bed.within("c", || {
            std::thread::scope(|clients| {
                for _ in 0..16 {
                    clients.spawn(|| {
                        loop {
                            let number = next.fetch_add(1, Ordering::Relaxed);
                            if number >= count {
                                return;
                            }
                            transfer(&Transfer::new(first + number));
                        }
                    });
                }
            });
        });
        for node in nodes {
            wait_for("all have ended", 150, || node.status()["flows"] == 0);
        }
        over.store(true, Ordering::Relaxed);
    });
    for node in nodes {
        let status = node.status();
        // What a client has reset before its opening crossed the tunnel never reaches the hub.
        let accepted = status["accepted"].as_u64().unwrap() as usize;
        assert!(
            accepted == count || (status["mode"] == "hub" && accepted >= count - count.div_ceil(6)),
            "{accepted}"
        );
        assert_eq!(status["ledger_balances"], true);
        assert!(!node.log().contains("bytes are missing"), "the ledger is checked each second");
        assert_eq!(status["buffers"], 0, "all buffers were given back");
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn every_byte_passes_one_node() {
    if !can_run() {
        return;
    }
    let bed = Bed::new();
    let daemon = bed.daemon("");
    let pipes = || {
        let of = std::fs::read_dir(format!("/proc/{}/fd", daemon.child.id())).unwrap();
        let files = of.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        files.filter(|file| file.to_string_lossy().starts_with("pipe:")).count()
    };
    let before = pipes();
    campaign(&bed, &[&daemon], 0, transfers());
    // Some are kept for the next transfers.
    assert!(pipes() > before, "no transfer has passed through a pipe");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn every_byte_passes_two_nodes() {
    if !can_run() {
        return;
    }
    let bed = Bed::with_hub();
    // On a busy machine UDP may carry less than its rate, and new connections pass for as long as TCP is tried.
    let (terminal, hub) = nodes(&bed, "200 Mbit/s", "initial_rtt = \"10 ms\"\ncarrier = \"quic\"");
    campaign(&bed, &[&terminal, &hub], 0, transfers());
}

/// A hub and a terminal whose tunnel is up.
fn nodes(bed: &Bed, rate: &str, more: &str) -> (Daemon, Daemon) {
    let key = |name: &str| {
        let path = bed.folder.join(name);
        let _ = std::fs::remove_file(&path);
        let output = Command::new(PEP).arg("keygen").arg(path).output().unwrap();
        text(&output.stdout).trim().to_string()
    };
    let (terminal_key, hub_key) = (key("terminal.key"), key("hub.key"));
    let folder = bed.folder.display();
    let rates = format!("send_rate = \"{rate}\"\nmost_rate = \"{rate}\"\n{more}\n");
    let hub = format!(
        "mode = \"hub\"\ncontrol = \"{folder}/hub.sock\"\n[hop]\nlisten = \"10.83.0.2:7714\"\nkey = \"{folder}/hub.key\"\n\
         {rates}[[terminal]]\nname = \"t\"\nkey = \"{terminal_key}\"\nsources = [\"10.81.0.0/24\"]\n"
    );
    let terminal = format!(
        "mode = \"terminal\"\ncontrol = \"{folder}/terminal.sock\"\n[hop]\nhub = \"10.83.0.2:7714\"\n\
         key = \"{folder}/terminal.key\"\nhub_key = \"{hub_key}\"\n{rates}[intercept]\ninterfaces = [\"lan\"]\n"
    );
    let hub = bed.start("h", "hub", &hub);
    let terminal = bed.start("p", "terminal", &terminal);
    wait_for("the tunnel is up", 20, || terminal.status()["passing"] == false);
    (terminal, hub)
}

/// What a link does to packets, the carrier, and its part of the transfers in percent.
const LINKS: [(&str, &str, &str, usize); 6] = [
    (", loss = { kind = \"random\", probability = \"0.5 %\" }", "", "quic", 25),
    (", loss = { kind = \"random\", probability = \"5 %\" }", "", "quic", 20),
    (
        ", loss = { kind = \"gilbert_elliott\", good_to_bad = \"0.4 %\", bad_to_good = \"20 %\", loss_in_bad = \"100 %\" }",
        "",
        "quic",
        20,
    ),
    (
        ", loss = { kind = \"random\", probability = \"1 %\" }, duplication = \"2 %\", \
         reordering = { probability = \"5 %\", delay = \"30 ms\" }",
        "",
        "quic",
        15,
    ),
    (
        ", loss = { kind = \"random\", probability = \"1 %\" }",
        "outages = [{ start = \"2 s\", duration = \"1 s\" }, { start = \"5 s\", duration = \"2 s\" }, \
         { start = \"9 s\", duration = \"5 s\" }, { start = \"18 s\", duration = \"15 s\" }, \
         { start = \"38 s\", duration = \"1 s\" }, { start = \"41 s\", duration = \"3 s\" }]",
        "quic",
        10,
    ),
    (", loss = { kind = \"random\", probability = \"1 %\" }", "", "tcp", 10),
];

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn every_byte_passes_links_that_lose_delay_and_repeat_packets() {
    if !can_run() {
        return;
    }
    let (mut first, all) = (0, transfers());
    for (both, more, carrier, part) in LINKS {
        let bed = Bed::with_hub();
        let way = format!("rate = \"50 Mbit/s\"{both}");
        let sky = Sky::between(&bed, &scenario(&way, &way, 40, more));
        let settings = format!("initial_rtt = \"40 ms\"\ncarrier = \"{carrier}\"");
        let (terminal, hub) = nodes(&bed, "49.8 Mbit/s", &settings);
        let (count, begin) = (all * part / 100, std::time::Instant::now());
        campaign(&bed, &[&terminal, &hub], first, count);
        let (peers, seconds) = (terminal.status()["tunnel"]["peers"].clone(), begin.elapsed().as_secs());
        eprintln!("{count} transfers in {seconds} s, {carrier}{both} {more}\n{peers}");
        first += count;
        drop((terminal, hub));
        sky.end();
    }
}
