//! The emulator again and again in one process, whatever happens in it: afterwards files, threads, devices and namespaces are as they
//! were before. Alone in its program, since other tests open files meanwhile. Needs root and Linux; ignored by default (`bed::can_run`).

mod bed;

use bed::{can_run, namespaces, text, wait_for};
use longhaul_emu::lateness::Bounds;
use longhaul_emu::shell::{self, Options};
use longhaul_emu::signals::Signals;
use longhaul_emu::{driver, run};
use longhaul_scenario::{Scenario, load};
use longhaul_units::Duration;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// A split between two links: a proxy's connections come and go too.
const SPLIT: &str = "[run]\nduration = \"1 s\"\n[[link]]\nname = \"one\"\nends = [\"near\", \"r\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[link]]\nname = \"two\"\nends = [\"r\", \"far\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[middlebox]]\nkind = \"split\"\nat = \"r\"\n[[flow]]\nfrom = \"near\"\nto = \"far\"\napp = { kind = \"bulk\", size = \"100 kB\" }\n\
    tcp = { congestion = \"reno\" }\n";

/// Random bytes for an IPv4 and for an IPv6 packet, and TCP headers that claim what is not so.
const HOSTILE: &str = "import os,socket\n\
    s=socket.socket(socket.AF_PACKET,socket.SOCK_DGRAM)\n\
    near=socket.inet_aton(os.environ['LONGHAUL_NEAR'])\n\
    for n in range(300):\n\
    \x20 junk=bytearray(os.urandom(20+n%100))\n\
    \x20 junk[0]=(0x45,0x4f,0x60,junk[0])[n%4]\n\
    \x20 if n%2: junk[9],junk[16:20]=6,near\n\
    \x20 s.sendto(bytes(junk),('lh0',0x86dd if n%4==2 else 0x0800))\n";

/// What a process has of the system: its open files, its threads, the devices of its network, the emulator's namespaces.
#[derive(PartialEq, Debug)]
struct Holdings {
    files: Vec<String>,
    threads: usize,
    devices: Vec<String>,
    namespaces: Vec<String>,
    registered: bool,
}

impl Holdings {
    fn now() -> Holdings {
        let names = |directory: &str| {
            let mut names: Vec<String> = std::fs::read_dir(directory)
                .unwrap()
                .flatten()
                .map(|entry| entry.path())
                // What a descriptor is open to; that of the directory itself is gone when it is read.
                .map(|path| std::fs::read_link(&path).unwrap_or(path).display().to_string())
                .filter(|name| {
                    !name.contains(&format!("/{}/fd", std::process::id())) && !name.contains("/self/fd")
                })
                .collect();
            names.sort();
            names
        };
        Holdings {
            files: names("/proc/self/fd"),
            threads: std::fs::read_dir("/proc/self/task").unwrap().count(),
            devices: names("/sys/class/net").into_iter().filter(|name| name.contains("lh")).collect(),
            namespaces: namespaces(std::process::id()),
            registered: Path::new(&format!("/run/longhaul-emu/{}", std::process::id())).exists(),
        }
    }
}

impl Holdings {
    /// Nothing else is there. The kernel lists a thread for a moment after it has been waited for.
    fn is_all(&self, when: &str) {
        let begun = std::time::Instant::now();
        while Holdings::now() != *self && begun.elapsed() < std::time::Duration::from_secs(5) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(Holdings::now(), *self, "{when}");
    }
}

/// A command behind the path.
fn behind(scenario: &Scenario, command: &[&str]) -> Option<i32> {
    let options = Options {
        at: Some("far".to_string()),
        command: command.iter().map(ToString::to_string).collect(),
        driver: driver::Options { real_time: false, ..Default::default() },
        ..Options::default()
    };
    shell::run(scenario, &options, &Signals::default()).unwrap().status.code()
}

/// A namespace of this process is taken away by its name.
fn remove_near() {
    let pid = std::process::id();
    wait_for("two namespaces", || namespaces(pid).len() == 2);
    let near = namespaces(pid).into_iter().find(|name| name.ends_with("-near")).unwrap();
    let output = Command::new("ip").args(["netns", "delete", &near]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn nothing_is_left_however_often_it_runs() {
    if !can_run(&["python3"]) {
        return;
    }
    let scenario = load(SPLIT, "test", &[]).unwrap();
    let before = Holdings::now();
    assert!(before.files.len() >= 3 && before.threads >= 1, "{before:?}");
    for _ in 0..5 {
        assert_eq!(behind(&scenario, &["true"]), Some(0));
        before.is_all("after a command");
    }
    assert_eq!(behind(&scenario, &["python3", "-c", HOSTILE]), Some(0));
    before.is_all("after hostile packets");
    std::thread::scope(|scope| {
        let removed = scope.spawn(remove_near);
        assert_eq!(behind(&scenario, &["sleep", "2"]), Some(0));
        removed.join().unwrap();
    });
    before.is_all("after a namespace was taken away");
    for _ in 0..3 {
        let out = std::env::temp_dir().join(format!("longhaul-emu-{}-leaks", std::process::id()));
        let options = run::Options {
            addresses: vec![],
            out: out.clone(),
            driver: driver::Options { real_time: false, ..Default::default() },
            force: false,
            bounds: Bounds { late: Duration::from_secs(10), standstill: Duration::from_secs(10) },
            until_done: true,
            taps: vec!["all".to_string()],
            started: None,
            links: false,
            name: None,
            progress: None,
            write_table: longhaul_parquet::write,
        };
        drop(run::run(&scenario, &options, &AtomicBool::new(false)).unwrap());
        std::fs::remove_dir_all(out).unwrap();
        before.is_all("after a scenario's flows");
    }
}
