//! A shell beside transfers that fill an emulated link, with real packets. Needs root and Linux; ignored unless asked for.

use crate::bed::sky::{Sky, scenario};
use crate::bed::two::Two;
use crate::bed::{SERVER, can_run, wait_for};
use crate::classes::{config, serve};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Round trips of keystrokes, in milliseconds, sorted.
fn keystrokes(two: &Two, count: usize) -> Vec<f64> {
    let mut stream = two.connect(SERVER, 22);
    stream.set_nodelay(true).unwrap();
    let mut reading = stream.try_clone().unwrap();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let sent = scope.spawn(move || -> Vec<Duration> {
            (0..count)
                .map(|n| {
                    std::thread::sleep(Duration::from_millis(50 * n as u64).saturating_sub(begin.elapsed()));
                    let at = begin.elapsed();
                    stream.write_all(&[7; 48]).unwrap();
                    at
                })
                .collect()
        });
        let mut arrived = vec![];
        for _ in 0..count {
            reading.read_exact(&mut [0; 48]).unwrap();
            arrived.push(begin.elapsed());
        }
        let sent = sent.join().unwrap();
        let mut all: Vec<f64> =
            arrived.iter().zip(sent).map(|(got, sent)| (*got - sent).as_secs_f64() * 1e3).collect();
        all.sort_by(f64::total_cmp);
        all
    })
}

/// Twenty keystrokes a second over a geostationary link of 50/10 Mbit/s while downloads and an upload fill both directions: half of them
/// are back within 1.1 round trips of the idle link. The 99th percentile is printed and not judged: where other programs have the
/// processors, the emulated link is late, which the hop takes for a queue (docs/accelerator.md).
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn half_the_keystrokes_beside_transfers_that_fill_the_link_are_as_fast_as_alone() {
    if !can_run() {
        return;
    }
    let rates = "send_rate = \"49.8 Mbit/s\"\nmost_rate = \"49.8 Mbit/s\"\ninitial_rtt = \"600 ms\"\ncarrier = \"quic\"\n";
    let two = Two { rates, ..Two::new() };
    std::fs::create_dir_all(two.bed.folder.join("state")).unwrap();
    let more = "queue = { kind = \"droptail\", limit = \"4 MB\" }";
    let link = scenario("rate = \"10 Mbit/s\"", "rate = \"50 Mbit/s\"", 600, "")
        .replace("queue = { kind = \"droptail\", limit = \"500 kB\" }", more);
    let sky = Sky::between(&two.bed, &link);
    let _hub = two.hub("");
    let class = "[[class]]\nname = \"shell\"\nports = [\"22\"]\nfloor = \"500 kbit/s\"\n";
    let own = config(&two, class).replace("49.8 Mbit/s", "9.9 Mbit/s");
    let own = own.replace("[intercept]", "receive_rate = \"49.8 Mbit/s\"\n[intercept]");
    let terminal = two.bed.start("p", "terminal", &own);
    wait_for("the tunnel is up", 40, || terminal.status()["passing"] == false);
    for port in [22, 8000] {
        serve(&two, port);
    }
    let alone = keystrokes(&two, 100);
    let base = alone[alone.len() / 2];
    let over = AtomicBool::new(false);
    let (loaded, bytes) = std::thread::scope(|scope| {
        let fill = |request: &'static [u8], writes: bool| {
            let (two, over) = (&two, &over);
            move || -> u64 {
                let mut stream = two.connect(SERVER, 8000);
                stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
                stream.write_all(request).unwrap();
                let (mut room, mut bytes) = (vec![7; 64 << 10], 0);
                while !over.load(Ordering::Relaxed) {
                    bytes += if writes {
                        stream.write(&room).unwrap_or(0)
                    } else {
                        stream.read(&mut room).unwrap()
                    } as u64;
                }
                bytes
            }
        };
        let downs: Vec<_> = (0..2).map(|_| scope.spawn(fill(b"4000000000\n", false))).collect();
        let up = scope.spawn(fill(b"-4000000000\n", true));
        std::thread::sleep(Duration::from_secs(6));
        let begin = Instant::now();
        let loaded = keystrokes(&two, 600);
        let seconds = begin.elapsed().as_secs_f64() + 6.0;
        over.store(true, Ordering::Relaxed);
        let down: u64 = downs.into_iter().map(|one| one.join().unwrap()).sum();
        let rate = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        (loaded, (rate(down), rate(up.join().unwrap())))
    });
    let at =
        |all: &[f64], share: f64| all[((all.len() as f64 * share).ceil() as usize).clamp(1, all.len()) - 1];
    eprintln!(
        "keystrokes alone: median {base:.1} ms, 99 % {:.1} ms; beside {:.1} Mbit/s down and {:.1} Mbit/s up: median {:.1} ms, \
         99 % {:.1} ms ({:.3} of the median alone), largest {:.1} ms; the link: {:?}",
        at(&alone, 0.99),
        bytes.0,
        bytes.1,
        at(&loaded, 0.5),
        at(&loaded, 0.99),
        at(&loaded, 0.99) / base,
        at(&loaded, 1.0),
        sky.end()
    );
    assert!(bytes.0 > 35.0 && bytes.1 > 7.0, "the link is filled in both directions: {bytes:?}");
    assert!(at(&loaded, 0.5) < 1.1 * base, "{loaded:?}");
    assert_eq!(terminal.status()["ledger_balances"], true);
}
