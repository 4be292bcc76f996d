//! What tests with real packets have in common: the emulator's program, scenarios in files, waiting.
#![allow(dead_code)]

pub mod lan;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const EMULATOR: &str = env!("CARGO_BIN_EXE_longhaul-emu");

/// 30 ms there, 20 ms back.
pub const PATH: &str = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\nrate = \"20 Mbit/s\"\n\
                    forward = { delay = \"30 ms\" }\nreverse = { delay = \"20 ms\" }\n[[flow]]\nfrom = \"near\"\nto = \"far\"\n";

/// True if these programs are there and the emulator may work. Panics with the reason if not: tests with real packets are ignored
/// by default (`scripts/can-send-packets` checks beforehand whether they can run), and none passes that has not run.
pub fn can_run(programs: &[&str]) -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|of| std::os::unix::fs::MetadataExt::uid(&of) == 0);
    let found = |program: &&&str| {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|d| d.join(program).exists()))
    };
    let missing: Vec<_> = programs.iter().chain(&["ip"]).filter(|program| !found(program)).collect();
    let why = match (root, Path::new("/dev/net/tun").exists(), missing.as_slice()) {
        (false, ..) => "this is not root".to_string(),
        (_, false, _) => "there is no /dev/net/tun".to_string(),
        (.., [_, ..]) => format!("{missing:?} are not installed (scripts/install-packages)"),
        _ => return true,
    };
    panic!("cannot run here: {why}");
}

pub fn scenario(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("longhaul-emu-test-{}-{name}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

pub fn shell(file: &Path, options: &[&str], command: &str) -> Command {
    let mut emulator = Command::new(EMULATOR);
    emulator.arg("shell").arg(file).args(options).args(["--", "sh", "-c", command]);
    emulator.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    emulator
}

pub fn run(name: &str, text: &str, options: &[&str], command: &str) -> Output {
    let file = scenario(name, text);
    let output = shell(&file, options, command).output().unwrap();
    std::fs::remove_file(file).unwrap();
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Namespaces of the emulator with this process id.
pub fn namespaces(pid: u32) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return vec![] };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&format!("lh-{pid}-"))).collect()
}

/// Waits until something is so, for as long as a busy machine may need.
pub fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(600), "{what}: not within ten minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn run_scenario(file: &Path, out: &Path, options: &[&str]) -> Output {
    let mut emulator = Command::new(EMULATOR);
    emulator.arg("run").arg(file).arg("--out").arg(out).args(["--json", "--until-done"]).args(options);
    emulator.output().unwrap()
}
