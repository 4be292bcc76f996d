//! Recordings through the emulator's own paths: what comes out is what went in.

use crate::bed::{EMULATOR, can_run, run, text};
use std::path::{Path, PathBuf};
use std::process::Output;

/// 30 ms there, 20 ms back; 12 Mbit/s down with a queue of 100 ms, 4 Mbit/s up.
const PATH: &str = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\nqueue = \"100 ms\"\n\
    forward = { delay = \"30 ms\", rate = \"4 Mbit/s\" }\nreverse = { delay = \"20 ms\", rate = \"12 Mbit/s\" }\n\
    [[flow]]\nfrom = \"near\"\nto = \"far\"\n";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("longhaul-recording-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("secret"), "the secret of both ends\n").unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join("out").join(name)).unwrap()
    }

    /// A column of a table, with nothing where nothing stands.
    fn column(&self, file: &str, name: &str) -> Vec<Option<f64>> {
        let table = self.file(file);
        let mut lines = table.lines();
        let place = lines.next().unwrap().split(',').position(|one| one == name).unwrap();
        lines.map(|line| line.split(',').nth(place).unwrap().parse().ok()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Records the path from `near` to `far` with these words at both ends.
fn record(folder: &Folder, path: &str, serve: &str, words: &str, more: &str) -> Output {
    let Folder(place) = folder;
    let place = place.display();
    let server =
        format!("far={EMULATOR} record --serve --secret-file {place}/secret {serve} 2>{place}/served");
    let command = format!(
        "{EMULATOR} record $LONGHAUL_FAR --secret-file {place}/secret --out {place}/out {words} {more}"
    );
    run(
        &format!("record-{}", folder.0.file_name().unwrap().to_string_lossy()),
        path,
        &["--at", "near", "--serve", &server],
        &command,
    )
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn what_comes_out_is_the_path_s_delay_rate_and_queue() {
    if !can_run(&[]) {
        return;
    }
    let folder = Folder::new("rates");
    let flows = "--rate 16Mbit/s --data-at-most 60MB";
    let words = format!("--duration 6s --clocks-in-step {flows}");
    let output = record(&folder, PATH, "--rate-at-most 20Mbit/s", &words, "");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    println!("{said}");
    // A probe of 92 B takes 0.2 ms there and 0.1 ms back besides.
    let least = |name: &str| median(folder.column("probes.csv", name).into_iter().flatten());
    let [rtt, there, back] = ["rtt_ms", "there_ms", "back_ms"].map(least);
    assert!((50.2..52.0).contains(&rtt), "{rtt}: {said}");
    assert!((30.1..31.5).contains(&there) && (20.0..21.5).contains(&back), "{there}, {back}: {said}");
    for (file, rate) in [("down.csv", 12.0), ("up.csv", 4.0)] {
        let rates: Vec<f64> = folder.column(file, "rate_mbps").into_iter().flatten().collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!((mean / rate - 1.0_f64).abs() < 0.02, "{file}: {mean} in place of {rate}: {said}");
    }
    let scenario = folder.file("scenario.toml");
    let queue = scenario
        .lines()
        .find_map(|line| line.strip_prefix("queue = \"")?.strip_suffix(" ms\"")?.parse::<f64>().ok());
    assert!(queue.is_some_and(|queue| (85.0..110.0).contains(&queue)), "{scenario}");
    // The scenario runs: it names files beside it.
    let file = folder.0.join("out/scenario.toml");
    longhaul_scenario::load_with(&scenario, file.to_str().unwrap(), &[], None, &|_| Err(String::new()))
        .unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn losses_come_out_by_direction_and_in_bursts() {
    if !can_run(&[]) {
        return;
    }
    let folder = Folder::new("losses");
    let path = PATH.replace(
        "rate = \"4 Mbit/s\"",
        "rate = \"4 Mbit/s\", loss = { kind = \"gilbert_elliott\", good_to_bad = 0.02, bad_to_good = 0.25 }",
    );
    let output = record(&folder, &path, "", "--duration 12s --interval 2ms", "");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    println!("{said}");
    let lost: Vec<bool> =
        folder.column("probes.csv", "lost").into_iter().map(|lost| lost == Some(1.0)).collect();
    let count = lost.iter().filter(|lost| **lost).count();
    let bursts =
        lost.iter().zip([false].iter().chain(&lost)).filter(|(now, before)| **now && !**before).count();
    // 0.02 / 0.27 of all, 4 in a row: of 6,000 probes 444 in 111 bursts, with a deviation of 10 bursts.
    let (share, burst) = (count as f64 / lost.len() as f64, count as f64 / bursts as f64);
    assert!((0.05..0.10).contains(&share), "{share}: {said}");
    assert!((3.0..5.0).contains(&burst), "{burst}: {said}");
    assert!(said.contains(" 0 back; "), "{said}");
}

/// Who has another secret, and who asks for more than is permitted, gets nothing; a recording that is interrupted keeps what it has.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_recording_ends_well_whatever_happens() {
    if !can_run(&[]) {
        return;
    }
    let folder = Folder::new("endings");
    let other = folder.0.join("other");
    std::fs::write(&other, "another secret, of nobody\n").unwrap();
    let wrong = format!(
        "; {EMULATOR} record $LONGHAUL_FAR --secret-file {} --out {}/none --duration 1s; echo wrong $?",
        other.display(),
        folder.0.display()
    );
    let fast = format!(
        "; {EMULATOR} record $LONGHAUL_FAR --secret-file {0}/secret --out {0}/none --duration 1s --rate 9Mbit/s --data-at-most 9MB; echo fast $?",
        folder.0.display()
    );
    let cut = format!("& sleep 4; kill -INT $!; wait $!; echo cut $? {fast} {wrong}");
    let output = record(&folder, PATH, "--rate-at-most 5Mbit/s", "--duration 60s", &cut);
    let (said, why) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("cut 130"), "{said}{why}");
    let probes = folder.column("probes.csv", "rtt_ms").len();
    assert!((50..250).contains(&probes), "{probes}");
    assert!(folder.file("scenario.toml").contains("ended before its time"));
    assert!(
        said.contains("fast 2") && why.contains("the far end permits flows of up to 5 Mbit/s"),
        "{said}{why}"
    );
    assert!(said.contains("wrong 2") && why.contains("nobody answers there within 15 s"), "{said}{why}");
    assert!(!Path::new(&folder.0.join("none")).exists());
    let served = std::fs::read_to_string(folder.0.join("served")).unwrap();
    assert!(served.contains("serves recordings at"), "{served}");
}
