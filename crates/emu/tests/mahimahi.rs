//! The emulator under the names of Mahimahi's commands, in network namespaces of the tests' own.

use crate::bed::{EMULATOR, can_run, text};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder with the three names and a schedule of 12 Mbit/s; removed at the end.
struct Names(PathBuf);

impl Names {
    fn new(name: &str) -> Names {
        let folder = std::env::temp_dir().join(format!("longhaul-mm-names-{}-{name}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        for name in ["mm-delay", "mm-loss", "mm-link"] {
            std::os::unix::fs::symlink(EMULATOR, folder.join(name)).unwrap();
        }
        std::fs::write(folder.join("12mbps"), "1\n2\n3\n4\n5\n").unwrap();
        Names(folder)
    }

    /// Runs a line of `sh` in the folder, in a network of its own.
    fn run(&self, line: &str) -> Output {
        let script = format!("ip link set lo up; export PATH={}:$PATH; cd {0}; {line}", self.0.display());
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "sh", "-c", &script]).stdin(Stdio::null());
        command.output().unwrap()
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The smallest round trip time that `ping` states, in ms.
fn least(said: &str) -> f64 {
    let line = said.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "));
    line.and_then(|line| line.split('/').next()?.parse().ok()).unwrap_or_else(|| panic!("no time in {said}"))
}

const PING: &str = "ping -q -c 3 -i 0.2 $MAHIMAHI_BASE";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn names_of_mahimahi_lead_to_this_machine_over_their_links() {
    if !can_run(&["unshare", "ping", "nft"]) {
        return;
    }
    let names = Names::new("one");
    let output = names.run(&format!("mm-delay 20 sh -c '{PING}; echo $MAHIMAHI_SHELL_PREFIX'"));
    let (said, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && (40.0..90.0).contains(&least(&said)), "{said}{notes}");
    assert!(said.contains("[delay 20 ms]"), "{said}");
    let output = names.run(&format!("mm-loss downlink 1 sh -c '{PING}'"));
    assert_eq!(output.status.code(), Some(1), "the command's status");
    assert!(text(&output.stdout).contains("100% packet loss"), "{}", text(&output.stdout));
    // A path behind a path is one: 40 ms, and up to 2 ms at the link's schedule.
    let line = format!(
        "mm-delay 20 mm-link 12mbps 12mbps --uplink-log=up --downlink-log=down -- sh -c '{PING}'; cat up"
    );
    let output = names.run(&line);
    let (said, notes) = (text(&output.stdout), text(&output.stderr));
    assert!((40.0..90.0).contains(&least(&said)), "{said}{notes}");
    let log: Vec<&str> =
        said.lines().skip_while(|line| !line.starts_with("# mahimahi mm-link (Uplink)")).collect();
    for (head, line) in [
        "# mahimahi mm-link",
        "# command line: 'mm-delay' '20'",
        "# queue: infinite",
        "# init timestamp: ",
        "# base timestamp: 0",
        "# mahimahi config: [delay 20 ms] [link]",
    ]
    .iter()
    .zip(&log)
    {
        assert!(line.starts_with(head), "{line}");
    }
    let of = |kind: &str| {
        log.iter().filter(|line| line.split(' ').nth(1) == Some(kind) && !line.starts_with('#')).count()
    };
    assert!(of("+") >= 3 && of("-") == of("+") && of("#") > 400, "{} {} {}", of("+"), of("-"), of("#"));
    for departure in log.iter().filter(|line| line.contains(" - ")) {
        let words: Vec<&str> = departure.split(' ').collect();
        assert!(words.len() == 4 && words[3].parse::<u64>().unwrap() <= 3, "{departure}");
    }
}

/// A shell in a shell: each is an emulator of its own, in the network of the one around it.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_shell_of_mahimahi_runs_in_another() {
    if !can_run(&["unshare", "ping", "nft"]) {
        return;
    }
    let names = Names::new("nested");
    let outer = "exec mm-delay 30 sh -c \"ping -q -c 3 -i 0.2 $(cat outer)\"";
    std::fs::write(names.0.join("inner.sh"), outer).unwrap();
    let output = names.run("mm-delay 20 sh -c 'echo $MAHIMAHI_BASE >outer; exec sh inner.sh'");
    let (said, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && (100.0..180.0).contains(&least(&said)), "{said}{notes}");
}

#[test]
fn what_is_wrong_with_a_command_line_of_mahimahi_is_one_line() {
    let names = Names::new("wrong");
    let said = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(&names.0);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        text(&output.stderr)
    };
    assert_eq!(
        said("./mm-delay soon"),
        "error: soon is no whole number of milliseconds; usage: mm-delay delay-milliseconds [command...]\n"
    );
    assert_eq!(said("./mm-link nowhere nowhere"), "error: nowhere: No such file or directory (os error 2)\n");
}
