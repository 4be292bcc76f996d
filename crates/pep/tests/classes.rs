//! Classes of connections, volumes and shares of terminals, with real packets. Needs root and Linux; ignored unless asked for.

use crate::bed::two::Two;
use crate::bed::{Daemon, SERVER, address, can_run, text, wait_for};
use nix::sys::signal::Signal;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Serves each connection with as many bytes as it requests in a line, or takes them with `-`; port 22 echoes.
pub fn serve(two: &Two, port: u16) {
    let listener = two.bed.within("s", || TcpListener::bind(address(SERVER, port)).unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || drop(answer(stream, port)));
        }
    });
}

fn answer(mut stream: TcpStream, port: u16) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut room = vec![7; 64 << 10];
    if port == 22 {
        loop {
            match stream.read(&mut room)? {
                0 => return Ok(()),
                n => stream.write_all(&room[..n])?,
            }
        }
    }
    let mut line = vec![];
    while !line.ends_with(b"\n") {
        let mut one = [0];
        stream.read_exact(&mut one)?;
        line.push(one[0]);
    }
    let asked: i64 = String::from_utf8_lossy(&line).trim().parse().unwrap_or(0);
    if asked < 0 {
        let mut left = asked.unsigned_abs() as usize;
        while left > 0 {
            let most = left.min(room.len());
            left -= stream.read(&mut room[..most])?;
        }
        return stream.write_all(b"got");
    }
    let mut left = asked as usize;
    while left > 0 {
        let length = left.min(room.len());
        stream.write_all(&room[..length])?;
        left -= length;
    }
    Ok(())
}

/// Downloads so many bytes, or uploads them if there are less than none.
fn transfer(two: &Two, port: u16, bytes: i64) -> Duration {
    let begin = Instant::now();
    let mut stream = two.connect(SERVER, port);
    stream.write_all(format!("{bytes}\n").as_bytes()).unwrap();
    if bytes < 0 {
        stream.write_all(&vec![7; bytes.unsigned_abs() as usize]).unwrap();
    }
    let mut got = vec![];
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got.len() as i64, if bytes < 0 { 3 } else { bytes });
    begin.elapsed()
}

const RATES: &str =
    "send_rate = \"20 Mbit/s\"\nmost_rate = \"20 Mbit/s\"\ninitial_rtt = \"10 ms\"\ncarrier = \"quic\"\n";

fn metrics(two: &Two, host: &str) -> String {
    two.bed.within(host, || {
        let mut stream = TcpStream::connect("127.0.0.1:9713").unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut all = vec![];
        stream.read_to_end(&mut all).unwrap();
        text(&all)
    })
}

fn start_terminal(two: &Two, more: &str) -> Daemon {
    let terminal = two.bed.start("p", "terminal", &config(two, more));
    wait_for("the tunnel is up", 20, || terminal.status()["passing"] == false);
    terminal
}

pub fn config(two: &Two, more: &str) -> String {
    let folder = two.bed.folder.display();
    let state = format!("[hop]\nstate = \"{folder}/state\"\n");
    let all = two.terminal_config(&two.hub_key).replace("[hop]\n", &state);
    format!("metrics = \"127.0.0.1:9713\"\n{all}except_ports = []\n{more}")
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn classes_and_quotas_hold_in_both_directions_over_a_restart_and_change_at_once() {
    if !can_run() {
        return;
    }
    let two = Two { rates: RATES, ..Two::new() };
    std::fs::create_dir_all(two.bed.folder.join("state")).unwrap();
    let _hub = two.hub("");
    for port in [8000, 8001] {
        serve(&two, port);
    }
    let classes = "[[class]]\nname = \"bulk\"\nports = [\"8001\"]\nceiling = \"2 Mbit/s\"\n\
                   [[class]]\nname = \"crew\"\nsources = [\"10.81.0.0/24\"]\nquota = \"2 MB\"\nover = \"400 kbit/s\"\n";
    let terminal = start_terminal(&two, classes);
    // 500 kB take 0.2 s at 20 Mbit/s, and 2 s at the ceiling, in either direction.
    for bytes in [500_000, -500_000] {
        let bulk = transfer(&two, 8001, bytes);
        assert!((1.8..3.0).contains(&bulk.as_secs_f64()), "{bytes}: {bulk:?}");
        let crew = transfer(&two, 8000, bytes);
        assert!(crew < Duration::from_secs(1), "{bytes}: {crew:?}");
    }
    assert_eq!(terminal.status()["classes"][1]["over"], false);
    transfer(&two, 8000, 1_000_100);
    wait_for("the client is over its quota", 5, || terminal.status()["classes"][1]["over"] == true);
    let class = terminal.status()["classes"][1].clone();
    assert_eq!((&class["name"], &class["quota_bytes"]), (&"crew".into(), &2_000_000.into()));
    assert_eq!(class["over_hosts"][0], "10.81.0.2");
    assert!(class["bytes_today"].as_u64().unwrap() >= 2_000_100, "{class}");
    let shown = metrics(&two, "p");
    assert!(shown.contains("longhaul_pep_class_over_quota{class=\"crew\"} 1\n"), "{shown}");
    assert!(shown.contains("longhaul_pep_class_over_quota{class=\"bulk\"} 0\n"), "{shown}");
    let line = "10.81.0.2 of class \"crew\" has used its quota of 2 MB: it has 400 kbit/s in each direction until midnight (UTC)";
    // 100 kB take 0.04 s, and 2 s beyond the quota.
    for bytes in [100_000, -100_000] {
        let over = transfer(&two, 8000, bytes);
        assert!((1.8..4.0).contains(&over.as_secs_f64()), "{bytes}: {over:?}");
    }
    assert_eq!(terminal.log().matches(line).count(), 1, "{}", terminal.log());
    terminal.stop();
    let terminal = start_terminal(&two, classes);
    wait_for("the volume is known still", 3, || terminal.status()["classes"][1]["over"] == true);
    let over = transfer(&two, 8000, 100_000);
    assert!(over > Duration::from_millis(1800), "{over:?}");
    // Another file takes effect at once, for a transfer that is under way too.
    std::thread::scope(|scope| {
        let long = scope.spawn(|| transfer(&two, 8000, 1_000_000));
        std::thread::sleep(Duration::from_secs(2));
        std::fs::write(&terminal.config, config(&two, "")).unwrap();
        terminal.signal(Signal::SIGHUP);
        let took = long.join().unwrap();
        assert!(took < Duration::from_secs(5), "20 s at the rate beyond the quota: {took:?}");
    });
    assert!(
        terminal.log().contains("configuration read again") && !terminal.log().contains("needs a restart")
    );
    assert_eq!(terminal.status()["classes"], serde_json::Value::Null);
    assert_eq!(terminal.status()["ledger_balances"], true);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_terminal_beyond_its_quota_falls_to_what_the_hub_leaves_it() {
    if !can_run() {
        return;
    }
    let two = Two { rates: RATES, ..Two::new() };
    let share = |quota: &str| {
        format!("ceiling = \"10 Mbit/s\"\nquota = \"{quota}\"\nperiod = \"month\"\nover = \"1 Mbit/s\"\n")
    };
    let hub = two.hub(&share("6 MB"));
    serve(&two, 8000);
    let terminal = two.terminal(&two.hub_key);
    wait_for("the tunnel is up", 20, || terminal.status()["passing"] == false);
    std::thread::sleep(Duration::from_millis(1500));
    for bytes in [2_500_000, -2_500_000] {
        let took = transfer(&two, 8000, bytes);
        assert!((1.9..4.0).contains(&took.as_secs_f64()), "{bytes} at the ceiling: {took:?}");
    }
    transfer(&two, 8000, 1_000_000);
    wait_for("the terminal is over its quota", 5, || hub.status()["terminals"][0]["over"] == true);
    std::thread::sleep(Duration::from_millis(300));
    for bytes in [250_000, -250_000] {
        let took = transfer(&two, 8000, bytes);
        assert!((1.8..4.5).contains(&took.as_secs_f64()), "{bytes} beyond the quota: {took:?}");
    }
    let line = "terminal \"ship\" has used its quota of 6 MB: it has 1 Mbit/s in each direction until the end of the month";
    assert_eq!(hub.log().matches(line).count(), 1, "{}", hub.log());
    assert_eq!(hub.status()["terminals"][0]["quota_bytes"], 6_000_000);
    // A larger quota holds at once.
    let config = std::fs::read_to_string(&hub.config).unwrap();
    std::fs::write(&hub.config, config.replace("\"6 MB\"", "\"60 MB\"")).unwrap();
    hub.signal(Signal::SIGHUP);
    wait_for("it is not over any more", 3, || hub.status()["terminals"][0]["over"] == false);
}
