//! What goes wrong around the emulator: disks that are full, peers that vanish. And captures at every point. Needs root and
//! Linux; ignored by default (`bed::can_run`).

use crate::bed::{EMULATOR, PATH, can_run, namespaces, run, scenario, shell, text, wait_for};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Packets in a pcapng file by the name of their interface (draft-ietf-opsawg-pcapng, sections 4.2 and 4.3).
fn captured(file: &Path) -> BTreeMap<String, u32> {
    let bytes = std::fs::read(file).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let half = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (mut at, mut names, mut found) = (0, vec![], BTreeMap::new());
    while at < bytes.len() {
        match word(at) {
            1 => {
                // The name is the first option (code 2) behind link type and snap length.
                assert_eq!(half(at + 16), 2);
                names.push(text(&bytes[at + 20..at + 20 + half(at + 18)]));
                found.insert(names[names.len() - 1].clone(), 0);
            }
            6 => *found.get_mut(&names[word(at + 8) as usize]).unwrap() += 1,
            _ => {}
        }
        at += word(at + 4) as usize;
    }
    found
}

/// A filter in the middle of two links.
const TWO: &str = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"one\"\nends = [\"near\", \"r\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[link]]\nname = \"two\"\nends = [\"r\", \"far\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[middlebox]]\nname = \"filter\"\nkind = \"ack_filter\"\nat = \"r\"\n[[flow]]\nfrom = \"near\"\nto = \"far\"\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn packets_are_captured_at_every_point() {
    if !can_run(&["ping"]) {
        return;
    }
    let file = std::env::temp_dir().join(format!("longhaul-emu-{}-all.pcapng", std::process::id()));
    let capture = ["--capture", file.to_str().unwrap()];
    let output = run("points", TWO, &capture, "ping -q -c 4 -i 0.2 $LONGHAUL_NEAR");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = captured(&file);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let expected = [
        "filter.in",
        "filter.out",
        "one.forward.in",
        "one.forward.out",
        "one.reverse.in",
        "one.reverse.out",
        "two.forward.in",
        "two.forward.out",
        "two.reverse.in",
        "two.reverse.out",
    ];
    assert_eq!(names, expected);
    // Four pings and four answers; the middlebox counts both.
    assert!(
        found.iter().all(|(name, count)| *count == if name.starts_with("filter") { 8 } else { 4 }),
        "{found:?}"
    );
    let chosen = [&capture[..], &["--tap", "two.forward", "--tap", "filter.out"]].concat();
    let output = run("tap", TWO, &chosen, "ping -q -c 2 -i 0.2 $LONGHAUL_NEAR");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let names: Vec<String> = captured(&file).into_keys().collect();
    assert_eq!(names, ["filter.out", "two.forward.in", "two.forward.out"]);
    std::fs::remove_file(&file).unwrap();
    let output = run("nowhere", TWO, &[&capture[..], &["--tap", "three"]].concat(), "true");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("two.forward.in"), "{}", text(&output.stderr));
    assert!(!file.exists(), "refused before anything is written");
}

/// /dev/full takes nothing, as a disk that is full.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_disk_that_is_full_ends_a_capture_and_nothing_else() {
    if !can_run(&["ping"]) {
        return;
    }
    let output = run("full", PATH, &["--capture", "/dev/full"], "ping -q -c 3 -i 0.2 $LONGHAUL_NEAR");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(" 0% packet loss"));
    let said = text(&output.stderr);
    assert!(said.contains("warning: the capture is not complete: No space left on device"), "{said}");
}

/// A small file system in memory, unmounted at the end.
struct Small(std::path::PathBuf);

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_result_that_finds_no_room_is_an_error_and_leaves_nothing() {
    if !can_run(&["mount", "umount"]) {
        return;
    }
    let place = std::env::temp_dir().join(format!("longhaul-emu-{}-small", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&place).status();
    if !mounted.is_ok_and(|status| status.success()) {
        std::fs::remove_dir(&place).unwrap();
        panic!("cannot run here: no file system can be mounted");
    }
    let small = Small(place);
    let text_of = "[run]\nduration = \"20 s\"\nsample = \"10 ms\"\ncapture = [\"link\"]\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\n\
        rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n[[flow]]\nfrom = \"near\"\nto = \"far\"\napp = { kind = \"bulk\", size = \"1 MB\" }\n\
        tcp = { congestion = \"reno\" }\n";
    let file = scenario("small", text_of);
    let mut emulator = Command::new(EMULATOR);
    emulator.args([
        "--json-errors",
        "run",
        "--quiet",
        "--until-done",
        "--max-lateness",
        "10 s",
        "--max-standstill",
        "100 s",
        "--out",
    ]);
    let child = emulator.arg(small.0.join("out")).arg(&file).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"], "write", "{error}");
    assert!(error["message"].as_str().unwrap().contains("No space left"), "{error}");
    assert!(!small.0.join("out/summary.json").exists(), "what is not complete is no result");
    assert_eq!(namespaces(pid), Vec::<String>::new());
    std::fs::remove_file(file).unwrap();
}

/// Its stack lives on as long as the emulator holds its device; only its name is gone, and with it what goes by names.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_peer_s_namespace_that_vanishes_ends_nothing() {
    if !can_run(&["ping"]) {
        return;
    }
    let file = scenario("peer", PATH);
    let command = "read go; ping -q -c 3 -i 0.2 -W 5 $LONGHAUL_NEAR; exit 5";
    let mut command = shell(&file, &[], command);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    wait_for("two namespaces", || namespaces(pid).len() == 2);
    let near = namespaces(pid).into_iter().find(|name| name.ends_with("-near")).unwrap();
    let running = || {
        Command::new("ip")
            .args(["netns", "pids", &near.replace("near", "far").replace("-0-", "-1-")])
            .output()
    };
    wait_for("the command runs", || !running().unwrap().stdout.is_empty());
    assert!(Command::new("ip").args(["netns", "delete", &near]).status().unwrap().success());
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("3 packets transmitted"), "{}", text(&output.stdout));
    assert_eq!(namespaces(pid), Vec::<String>::new());
    assert!(!Path::new(&format!("/run/longhaul-emu/{pid}")).exists());
    std::fs::remove_file(file).unwrap();
}
