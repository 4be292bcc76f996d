//! How the emulator ends: by a signal at any time, when nobody reads what it prints, when its terminal goes away, when it was stopped
//! meanwhile, when something is missing. Needs root and Linux; ignored by default (`bed::can_run`).

use crate::bed::{EMULATOR, PATH, can_run, namespaces, run, run_scenario, scenario, shell, text, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The handshake takes 200 s: there is no connection within the run.
const NO_CONNECTION: &str = "[run]\nduration = \"DURATION\"\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\nrate = \"20 Mbit/s\"\n\
    delay = \"100 s\"\n[[flow]]\nfrom = \"near\"\nto = \"far\"\ntcp = { congestion = \"reno\" }\n";

/// A flow that sends all the time.
const SENDING: &str = "[run]\nduration = \"DURATION\"\nsample = \"100 ms\"\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\n\
    rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n[[flow]]\nfrom = \"near\"\nto = \"far\"\ntcp = { congestion = \"reno\" }\n";

fn send(signal: Signal, to: u32) {
    kill(Pid::from_raw(to as i32), signal).unwrap();
}

/// What is started from here ends on a hang-up, although `nohup` may have started these tests.
#[allow(unsafe_code)]
fn end_on_hang_up() {
    // SAFETY: the default action runs no code of this process.
    unsafe { nix::sys::signal::signal(Signal::SIGHUP, nix::sys::signal::SigHandler::SigDfl) }.unwrap();
}

/// A place for a result, removed at the end.
struct Out(PathBuf);

impl Out {
    fn new(name: &str) -> Out {
        Out(std::env::temp_dir().join(format!("longhaul-emu-endings-{}-{name}", std::process::id())))
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `run` of a scenario's flows, under way: its hosts are there.
fn running(file: &Path, out: &Out, options: &[&str]) -> Child {
    let mut emulator = Command::new(EMULATOR);
    emulator.arg("run").arg(file).arg("--out").arg(&out.0).args(["--max-lateness", "10 s"]).args(options);
    let child = emulator.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("two namespaces", || namespaces(child.id()).len() == 2);
    child
}

/// Waits for its end: less long than a kernel tries to connect (127 s).
fn ended(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(90) {
            child.kill().unwrap();
            panic!("it does not end: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_run_that_waits_for_a_connection_ends_on_a_signal_and_when_its_time_is_over() {
    if !can_run(&[]) {
        return;
    }
    end_on_hang_up();
    let out = Out::new("waiting");
    let file = scenario("waiting", &NO_CONNECTION.replace("DURATION", "1000 s"));
    for (signal, status) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let child = running(&file, &out, &[]);
        let pid = child.id();
        std::thread::sleep(Duration::from_millis(500));
        send(signal, pid);
        let output = ended(child);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        assert_eq!(namespaces(pid), Vec::<String>::new());
        assert!(!out.0.exists(), "no result");
    }
    std::fs::write(&file, NO_CONNECTION.replace("DURATION", "1 s")).unwrap();
    let output = ended(running(&file, &out, &["--max-standstill", "100 s"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_signal_gives_128_and_its_number_from_the_first_moment_on() {
    if !can_run(&[]) {
        return;
    }
    end_on_hang_up();
    let out = Out::new("signals");
    let file = scenario("signals", &SENDING.replace("DURATION", "1000 s"));
    let child = running(&file, &out, &[]);
    send(Signal::SIGINT, child.id());
    assert_eq!(ended(child).status.code(), Some(130));
    let sleeping = |path: &Path| {
        let child = shell(path, &["--quiet"], "exec sleep 1000").spawn().unwrap();
        wait_for("two namespaces", || namespaces(child.id()).len() == 2);
        child
    };
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let child = sleeping(&file);
        send(signal, child.id());
        assert_eq!(ended(child).status.code(), Some(status));
    }
    // While it makes what it needs, and what signals reach with Ctrl-C: it and its tools.
    for wait in [5, 20, 50, 100, 200] {
        let mut emulator = Command::new("setsid");
        emulator.args([EMULATOR, "shell", "--quiet"]).arg(&file).args(["--", "sleep", "1000"]);
        let child = emulator.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let watches = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let set = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
            u64::from_str_radix(set.trim(), 16).unwrap_or(0) >> (libc::SIGTERM - 1) & 1 == 1
        };
        wait_for("it watches for signals", watches);
        std::thread::sleep(Duration::from_millis(wait));
        kill(Pid::from_raw(-(pid as i32)), Signal::SIGINT).unwrap();
        let output = ended(child);
        assert_eq!(output.status.code(), Some(130), "after {wait} ms: {}", text(&output.stderr));
        assert_eq!(namespaces(pid), Vec::<String>::new(), "after {wait} ms");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_command_that_a_signal_has_killed_gives_128_and_its_number() {
    if !can_run(&[]) {
        return;
    }
    for (command, status) in [("kill -9 $$", 137), ("kill -SEGV $$", 139), ("exit 7", 7)] {
        assert_eq!(run("killed", PATH, &["--quiet"], command).status.code(), Some(status), "{command}");
    }
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn who_is_started_with_hang_ups_ignored_does_not_end_with_one() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("nohup", PATH);
    let mut emulator = Command::new("sh");
    emulator.args(["-c", "trap '' HUP; exec \"$@\"", "sh", EMULATOR, "shell", "--quiet"]).arg(&file);
    let child = emulator.args(["--", "sleep", "1000"]).spawn().unwrap();
    wait_for("two namespaces", || namespaces(child.id()).len() == 2);
    send(Signal::SIGHUP, child.id());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(namespaces(child.id()).len(), 2, "it goes on");
    send(Signal::SIGTERM, child.id());
    assert_eq!(ended(child).status.code(), Some(143));
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_pipe_that_nobody_reads_is_no_panic() {
    if !can_run(&[]) {
        return;
    }
    let out = Out::new("pipe");
    let file = scenario("pipe", &SENDING.replace("DURATION", "1 s"));
    let mut child = running(&file, &out, &["--max-standstill", "100 s"]);
    drop(child.stdout.take());
    let output = ended(child);
    assert!(output.status.success(), "{}: {}", output.status, text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
    assert!(out.0.join("summary.json").exists());
    // A disk that is full is another thing.
    let mut emulator = Command::new(EMULATOR);
    emulator.arg("run").arg(&file).arg("--out").arg(&out.0).args(["--max-lateness", "10 s"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = emulator.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("standard output"), "{}", text(&output.stderr));
    std::fs::remove_file(file).unwrap();
}

/// A terminal of its own, which goes away while the emulator writes counters on it every second.
const TERMINAL: &str = "import os, pty, sys\n\
    pid, terminal = pty.fork()\n\
    if pid == 0:\n\
    \x20   os.execv(sys.argv[1], sys.argv[1:])\n\
    seen = b''\n\
    while b'packets' not in seen:\n\
    \x20   seen += os.read(terminal, 1000)\n\
    print(pid, flush=True)\n\
    os.close(terminal)\n\
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_run_whose_terminal_goes_away_ends() {
    if !can_run(&["python3"]) {
        return;
    }
    let out = Out::new("terminal");
    let file = scenario("terminal", &SENDING.replace("DURATION", "1000 s"));
    let mut terminal = Command::new("python3");
    terminal.args(["-c", TERMINAL, EMULATOR, "run"]).arg(&file).arg("--out").arg(&out.0);
    let mut child = terminal.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut printed = child.stdout.take().unwrap();
    let output = ended(child);
    let mut said = String::new();
    printed.read_to_string(&mut said).unwrap();
    let numbers: Vec<u32> = said.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(numbers[1..], [129], "{said} {}", text(&output.stderr));
    assert_eq!(namespaces(numbers[0]), Vec::<String>::new());
    std::fs::remove_file(file).unwrap();
}

/// Stops a process for a second.
fn stop_for_a_second(pid: u32) {
    send(Signal::SIGSTOP, pid);
    std::thread::sleep(Duration::from_secs(1));
    send(Signal::SIGCONT, pid);
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_run_that_was_stopped_for_a_second_is_invalid() {
    if !can_run(&[]) {
        return;
    }
    let out = Out::new("stopped");
    let file = scenario("stopped", &SENDING.replace("DURATION", "4 s"));
    let child = running(&file, &out, &["--max-standstill", "900 ms"]);
    std::thread::sleep(Duration::from_secs(1));
    stop_for_a_second(child.id());
    let output = ended(child);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("INVALID: no packet was moved for"), "{}", text(&output.stderr));
    let summary = std::fs::read_to_string(out.0.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert!(summary["emulation"]["metrics"]["standstill_max_s"].as_f64().unwrap() > 0.9, "{summary:#}");
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_shell_gives_the_verdict_that_a_run_gives() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("verdict", PATH);
    let stats = Out::new("verdict");
    std::fs::create_dir_all(&stats.0).unwrap();
    let stats_file = stats.0.join("stats.json");
    for (more, status) in [(&[][..], 0), (&["--fail-if-invalid"][..], 3)] {
        let options =
            ["--max-lateness", "10 s", "--max-standstill", "900 ms", "--stats", stats_file.to_str().unwrap()];
        let child = shell(&file, &[&options[..], more].concat(), "sleep 3").spawn().unwrap();
        wait_for("two namespaces", || namespaces(child.id()).len() == 2);
        std::thread::sleep(Duration::from_secs(1));
        stop_for_a_second(child.id());
        let output = ended(child);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("INVALID: no packet was moved for"),
            "{}",
            text(&output.stderr)
        );
        let said: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&stats_file).unwrap()).unwrap();
        assert_eq!(said["invalid"].as_array().unwrap().len(), 1, "{said:#}");
        assert!(said["standstill_max_s"].as_f64().unwrap() > 0.9, "{said:#}");
    }
    let options = ["--max-lateness", "10 s", "--max-standstill", "100 s", "--fail-if-invalid"];
    let output = run("valid", PATH, &options, "exit 0");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_simulator_s_result_is_not_overwritten_and_nothing_stale_stays() {
    if !can_run(&[]) {
        return;
    }
    let out = Out::new("force");
    let file = scenario("force", &SENDING.replace("DURATION", "500 ms"));
    let emulate = |options: &[&str]| {
        let bounds = ["--max-lateness", "10 s", "--max-standstill", "100 s"];
        run_scenario(&file, &out.0, &[&bounds[..], options].concat())
    };
    let output = emulate(&["--tap", "all"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(out.0.join("packets.pcapng").exists());
    // The same result as if it were simulated.
    let summary = out.0.join("summary.json");
    let mut content: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    content.as_object_mut().unwrap().remove("emulation");
    std::fs::write(&summary, content.to_string()).unwrap();
    std::fs::write(out.0.join("notes.txt"), "mine").unwrap();
    let refused = emulate(&["--json-errors"]);
    assert_eq!(refused.status.code(), Some(2));
    let error: serde_json::Value = serde_json::from_slice(&refused.stderr).unwrap();
    assert_eq!(error["error"], "output");
    assert!(error["message"].as_str().unwrap().contains("a result of the simulator"), "{error}");
    assert_eq!(std::fs::read_to_string(&summary).unwrap(), content.to_string(), "untouched");
    let output = emulate(&["--force"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!out.0.join("packets.pcapng").exists(), "it is not of this run");
    assert_eq!(std::fs::read_to_string(out.0.join("notes.txt")).unwrap(), "mine");
    assert!(emulate(&[]).status.success(), "the same run may be made again");
    let other = emulate(&["--set", "run.duration=\"600 ms\""]);
    assert_eq!(other.status.code(), Some(2), "another run may not");
    std::fs::remove_file(file).unwrap();
}

/// The rate is halved after a second: the utilisation of a flow is that of what the link could carry.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_flow_s_utilisation_is_of_what_the_schedule_lets_through() {
    if !can_run(&[]) {
        return;
    }
    let text_of = "[run]\nduration = \"6 s\"\nsample = \"100 ms\"\n[[link]]\nname = \"link\"\nends = [\"near\", \"far\"]\nrate = \"8 Mbit/s\"\n\
        delay = \"5 ms\"\nchanges = [{ at = \"1 s\", rate = \"2 Mbit/s\" }]\n\
        [[flow]]\nname = \"put\"\nfrom = \"near\"\nto = \"far\"\ntcp = { congestion = \"reno\" }\n";
    let file = scenario("schedule", text_of);
    let out = Out::new("schedule");
    let output = run_scenario(&file, &out.0, &["--max-lateness", "10 s", "--max-standstill", "100 s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let metric = |of: &serde_json::Value, name: &str| of["metrics"][name].as_f64().unwrap();
    let (flow, link) = (&summary["flows"][0], &summary["links"][0]);
    // Of 8 Mbit in the first second and 2 in each of the five that follow, against 8 in each: 18 of 48.
    let arrived = metric(flow, "utilisation") * 18e6;
    assert!(
        arrived <= metric(link, "utilisation") * 18e6 * 1.001,
        "no more than the link has carried: {summary:#}"
    );
    assert!(arrived > 0.5 * metric(link, "throughput_bps") * 6.0, "and not a part of it: {summary:#}");
    std::fs::remove_file(file).unwrap();
}

/// The emulator as somebody who may not do everything.
fn restricted(privileges: &[&str], arguments: &[&str]) -> Output {
    let mut emulator = Command::new("setpriv");
    emulator.args(privileges).arg(EMULATOR).args(arguments);
    emulator.stdin(Stdio::null()).output().unwrap()
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_capability_that_is_missing_is_named() {
    if !can_run(&["setpriv"]) {
        return;
    }
    let file = scenario("capabilities", PATH);
    let file_name = file.to_str().unwrap();
    for (capability, name) in [("net_admin", "CAP_NET_ADMIN"), ("sys_admin", "CAP_SYS_ADMIN")] {
        let without = format!("-{capability}");
        let output = restricted(&["--bounding-set", &without], &["shell", file_name, "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(name), "{}", text(&output.stderr));
    }
    let output = restricted(&["--bounding-set", "-net_raw"], &["bridge", file_name, "in0", "in1"]);
    assert!(text(&output.stderr).contains("CAP_NET_RAW"), "{}", text(&output.stderr));
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let some =
        [&nobody[..], &["--inh-caps", "+net_admin,+sys_admin", "--ambient-caps", "+net_admin,+sys_admin"]];
    let output = restricted(&some.concat(), &["shell", file_name, "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("CAP_DAC_OVERRIDE") && !said.contains("CAP_NET_ADMIN"), "/run is root's: {said}");
    // Removing what is left behind needs them too.
    let output = restricted(&nobody, &["clean"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("CAP_SYS_ADMIN"), "{}", text(&output.stderr));
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_run_directory_that_cannot_be_written_to_is_named() {
    if !can_run(&["unshare", "mount"]) {
        return;
    }
    let file = scenario("read-only", PATH);
    let script = "mount -t tmpfs -o ro tmpfs /run || exit 77; exec \"$@\"";
    let mut emulator = Command::new("unshare");
    emulator.args(["--mount", "sh", "-c", script, "sh", EMULATOR, "shell"]).arg(&file);
    let output = emulator.args(["--", "true"]).output().unwrap();
    if output.status.code() == Some(77) {
        panic!("cannot run here: no file system can be mounted");
    }
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("/run") && said.contains("Read-only file system"), "{said}");
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn too_few_open_files_are_said_to_be_too_few() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("files", PATH);
    let limited = |limit: u32, arguments: &[&str]| {
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        let mut emulator = Command::new("sh");
        emulator.args(["-c", &script, "sh", EMULATOR]).args(arguments);
        emulator.stdin(Stdio::null()).output().unwrap()
    };
    // With nothing inherited but its three standard streams it needs twelve.
    let output = limited(6, &["shell", file.to_str().unwrap(), "--", "true"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("ulimit -n") && said.contains("the limit is 6"), "{said}");
    assert!(!said.contains("Debian"), "iproute2 is there: {said}");
    let out = Out::new("files");
    let output = limited(32, &["run", file.to_str().unwrap(), "--out", out.0.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the limit is 32") && said.contains("ulimit -n 68"), "{said}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn help_that_does_not_fit_on_a_disk_is_an_error_of_one_line() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(EMULATOR).arg("--help").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: "), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
}
