//! What is around a command behind a path: its terminal's keys, requests to end, the machine's TCP, devices, containers and accounts.
//! Needs root and Linux; ignored by default (`bed::can_run`).

use crate::bed::{EMULATOR, PATH, can_run, namespaces, run, scenario, shell, text, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs a command in a terminal of its own, types there in steps (seconds since a text has been printed, this text, and what is typed
/// then), and prints what was seen and the exit status.
const TYPE: &str = r#"
import json, os, pty, select, sys, time
steps, arguments = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(arguments[0], arguments)
seen, begun, since, read = b"", time.monotonic(), None, 0
while time.monotonic() - begun < 60:
    if select.select([terminal], [], [], 0.02)[0]:
        try:
            some = os.read(terminal, 65536)
        except OSError:
            break
        if not some:
            break
        seen += some
    if steps:
        after, wanted, typed = steps[0]
        if since is None and wanted.encode() in seen[read:]:
            since = time.monotonic()
        if since is not None and time.monotonic() - since >= after:
            os.write(terminal, typed.encode())
            steps.pop(0)
            since, read = None, len(seen)
else:
    os.kill(pid, 9)
print(json.dumps([seen.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])]))
"#;

/// What was seen in the terminal, and the exit status of what ran there.
fn typed(steps: serde_json::Value, arguments: &[&str]) -> (String, i64) {
    let mut terminal = Command::new("python3");
    terminal.args(["-c", TYPE, &steps.to_string()]).args(arguments).env("TERM", "xterm");
    let output = terminal.stdin(Stdio::null()).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {} {}", text(&output.stdout), text(&output.stderr)));
    (said[0].as_str().unwrap().to_string(), said[1].as_i64().unwrap())
}

/// A command of the emulator's in a terminal.
fn typed_behind(name: &str, steps: serde_json::Value, options: &[&str], command: &[&str]) -> (String, i64) {
    let file = scenario(name, PATH);
    let begin = [EMULATOR, "shell", file.to_str().unwrap(), "-q"];
    let separator = if command.is_empty() { &[][..] } else { &["--"] };
    let found = typed(steps, &[&begin[..], options, separator, command].concat());
    std::fs::remove_file(file).unwrap();
    found
}

const CLEANING: &str = "import time\nprint('rea'+'dy', flush=True)\ntry: time.sleep(50)\nexcept KeyboardInterrupt:\n  \
    print('cleaning', flush=True); time.sleep(.7); print('clea'+'ned', flush=True); raise SystemExit(7)";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn ctrl_c_is_the_command_s_which_has_its_time_to_clean_up() {
    if !can_run(&["python3"]) {
        return;
    }
    let steps = serde_json::json!([[0.2, "ready", "\u{3}"]]);
    let (seen, status) = typed_behind("clean", steps, &[], &["python3", "-c", CLEANING]);
    assert!(seen.contains("cleaned"), "{seen}");
    assert_eq!(status, 7, "the command's own: {seen}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_prompt_lives_on_however_often_ctrl_c_is_pressed() {
    if !can_run(&["python3"]) {
        return;
    }
    let sleep = "import time; print('slee'+'ping'); time.sleep(50)\n";
    let steps = serde_json::json!([
        [0.1, ">>> ", sleep],
        [0.2, "sleeping", "\u{3}"],
        [0.2, ">>> ", "\u{3}"],
        [0.2, ">>> ", "\u{3}"],
        [0.1, ">>> ", sleep],
        [0.2, "sleeping", "\u{3}"],
        [0.2, ">>> ", "print('ali'+'ve'); exit(5)\n"],
    ]);
    let (seen, status) = typed_behind("prompt", steps, &[], &["python3", "-q"]);
    assert!(seen.contains("alive"), "{seen}");
    assert_eq!(status, 5, "{seen}");
}

/// A program that ignores the key, and one that hangs: the key twice within five seconds ends them, and nothing is left.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn ctrl_c_twice_ends_a_command_that_does_not_react() {
    if !can_run(&["python3"]) {
        return;
    }
    let steps = || serde_json::json!([[0.2, "ready", "\u{3}"], [0.5, "", "\u{3}"]]);
    let ignoring = "trap '' INT; echo rea''dy; sleep 50";
    let (seen, status) = typed_behind("ignores", steps(), &[], &["sh", "-c", ignoring]);
    assert_eq!(status, 143, "{seen}");
    let deaf = "trap '' INT TERM; echo rea''dy; while :; do sleep 1; done";
    let begun = Instant::now();
    let (seen, status) = typed_behind("hangs", steps(), &["--grace", "1 s"], &["sh", "-c", deaf]);
    assert_eq!(status, 137, "killed after the time that it had: {seen}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(seen.contains("Ctrl-C twice"), "{seen}");
}

/// A shell that has started the emulator stops it with its command, and lets both go on.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn ctrl_z_stops_it_and_fg_lets_it_go_on() {
    if !can_run(&["python3", "bash"]) {
        return;
    }
    let file = scenario("stopped", PATH);
    let start = format!(
        "{EMULATOR} shell {} -q -- sh -c 'echo rea''dy; read line; echo got-$line'\n",
        file.display()
    );
    let steps = serde_json::json!([
        [0.2, "$ ", start],
        [0.3, "ready", "\u{1a}"],
        [0.2, "Stopped", "fg\n"],
        [0.3, "shell", "word\n"],
        [0.2, "got-word", "exit\n"],
    ]);
    let (seen, status) = typed(steps, &["env", "PS1=$ ", "bash", "--norc", "-i"]);
    assert!(seen.contains("got-word") && status == 0, "{status}: {seen}");
    std::fs::remove_file(file).unwrap();
}

/// A script of bash goes on at Ctrl-C if what it has started does not end by the signal. bash itself is not asked: on a busy machine it
/// can notice the end of its child before the key, and goes on then whatever the child did.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_script_ends_with_the_command_that_ctrl_c_has_ended() {
    if !can_run(&["python3"]) {
        return;
    }
    for command in ["echo rea''dy; exec sleep 50", "echo rea''dy; sleep 50"] {
        let steps = serde_json::json!([[0.2, "ready", "\u{3}"]]);
        let (seen, status) = typed_behind("script", steps, &[], &["sh", "-c", command]);
        assert_eq!(status, -2, "ended by SIGINT: {seen}");
    }
}

/// `timeout` puts what it starts into the background of the terminal: whoever writes to its settings from there is stopped.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn it_ends_in_a_script_under_timeout_while_keys_are_pressed() {
    if !can_run(&["python3", "timeout"]) {
        return;
    }
    let file = scenario("timeout", PATH);
    let command = format!(
        "timeout 40 {EMULATOR} shell {} -q -- sh -c 'echo rea''dy; sleep 1'; echo en''ded",
        file.display()
    );
    let steps = serde_json::json!([[0.1, "ready", "\n\n\n"]]);
    let begun = Instant::now();
    let (seen, status) = typed(steps, &["sh", "-c", &command]);
    assert!(seen.contains("ended") && status == 0, "{status}: {seen}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    std::fs::remove_file(file).unwrap();
}

/// A program that has changed the terminal and is killed leaves it so: the emulator gives it back as it was.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_terminal_is_as_it_was_after_a_program_that_drew_was_killed() {
    if !can_run(&["python3", "stty"]) {
        return;
    }
    let file = scenario("raw", PATH);
    let command = format!(
        "{EMULATOR} shell {} -q -- sh -c 'stty raw -echo; kill -9 $$'; stty -a | tr ' ' '\\n' | grep -x -e -*icanon -e -*echo",
        file.display()
    );
    let (seen, _) = typed(serde_json::json!([]), &["sh", "-c", &command]);
    let modes: Vec<&str> =
        seen.split_whitespace().filter(|word| word.ends_with("icanon") || word.ends_with("echo")).collect();
    assert_eq!(modes, ["icanon", "echo"], "{seen}");
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_request_to_end_reaches_all_processes_of_the_command_and_waits_for_them() {
    if !can_run(&["python3"]) {
        return;
    }
    let mark = std::env::temp_dir().join(format!("longhaul-emu-{}-mark", std::process::id()));
    let _ = std::fs::remove_file(&mark);
    let file = scenario("request", PATH);
    // The one that cleans up is not the emulator's child.
    let inner = format!(
        "import signal, sys, time\ndef end(*_):\n  time.sleep(.7); open('{0}', 'w').write('cleaned'); sys.exit(0)\n\
         signal.signal(signal.SIGTERM, end)\nopen('{0}', 'w').write('ready')\ntime.sleep(50)",
        mark.display()
    );
    let command = "python3 -c \"$INNER\"; true";
    let child = shell(&file, &["--quiet"], command).env("INNER", inner).spawn().unwrap();
    let is = |wanted: &str| std::fs::read_to_string(&mark).is_ok_and(|now| now == wanted);
    wait_for("it is ready", || is("ready"));
    let pid = child.id();
    kill(Pid::from_raw(pid as i32), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert!(is("cleaned"), "{:?}", std::fs::read_to_string(&mark));
    assert_eq!(namespaces(pid), Vec::<String>::new());
    std::fs::remove_file(mark).unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn statuses_of_commands_that_cannot_run_are_those_of_shells() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("statuses", PATH);
    for (command, status, why) in
        [("no-such-command", 127, "No such file"), ("/etc/passwd", 126, "Permission denied")]
    {
        let output =
            Command::new(EMULATOR).args(["shell", "-q"]).arg(&file).args(["--", command]).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        let said = text(&output.stderr);
        assert!(said.contains(command) && said.contains(why), "{said}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn devices_are_those_of_the_host_and_control_groups_stay() {
    if !can_run(&[]) {
        return;
    }
    let outside = |command: &str| text(&Command::new("sh").args(["-c", command]).output().unwrap().stdout);
    let groups = "ls /sys/fs/cgroup; stat -f -c %T /sys/fs/cgroup";
    let output = run("devices", PATH, &["-q"], &format!("ls /sys/class/net; echo --; {groups}"));
    let said = text(&output.stdout);
    let (devices, found) = said.split_once("--\n").unwrap();
    assert_eq!(devices.split_whitespace().collect::<Vec<_>>(), ["lh0", "lo"], "{}", text(&output.stderr));
    assert_eq!(found, outside(groups));
    let serve = ["-q", "--serve", "near=ls /sys/class/net"];
    let output = run("devices-served", PATH, &serve, "sleep 1");
    assert_eq!(text(&output.stderr).split_whitespace().collect::<Vec<_>>(), ["lh0", "lo"]);
}

/// Every setting of TCP in the network namespace in which the emulator is started.
const TCP: &str = "cd /proc/sys/net/ipv4; for f in tcp_*; do [ $f = tcp_fastopen_key ] || [ $f = tcp_ehash_entries ] || \
    { [ -r $f ] && echo $f $(cat $f); }; done";

/// The emulator is started in a namespace of its own, whose settings are none that a new one has.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_shell_has_the_tcp_of_the_namespace_in_which_it_was_started() {
    if !can_run(&["unshare"]) {
        return;
    }
    let file = scenario("tcp", PATH);
    let set = "cd /proc/sys/net/ipv4; echo 0 > tcp_sack; echo 0 > tcp_frto; echo 3 > tcp_syn_retries; \
        echo '4096 70000 800000' > tcp_rmem; echo 1 > tcp_no_metrics_save; cd /";
    let both = |options: &str| {
        let script = format!(
            "{set}; ({TCP}); echo --; {EMULATOR} shell {} {options} -- sh -c '{TCP}'",
            file.display()
        );
        Command::new("unshare").args(["--net", "sh", "-c", &script]).output().unwrap()
    };
    let output = both("");
    let (said, notes) = (text(&output.stdout), text(&output.stderr));
    let (outside, inside) = said.split_once("--\n").unwrap();
    assert!(
        inside.contains("tcp_rmem 4096 70000 800000\n") && inside.contains("tcp_sack 0\n"),
        "{inside}{notes}"
    );
    // Limits that all namespaces share are not shown in them.
    let shown = |line: &&str| inside.contains(line.split(' ').next().unwrap());
    let outside: Vec<&str> = outside.lines().filter(shown).collect();
    assert_eq!(inside.lines().collect::<Vec<_>>(), outside, "{notes}");
    assert_eq!(notes.matches("TCP is this machine's").count(), 1, "{notes}");
    let output = both("--tcp scenario");
    let (said, notes) = (text(&output.stdout), text(&output.stderr));
    let inside = said.split_once("--\n").unwrap().1;
    assert!(
        inside.contains("tcp_rmem 4096 131072 1073741823\n") && inside.contains("tcp_sack 1\n"),
        "{inside}"
    );
    let line = notes.lines().find(|line| line.contains("TCP is the scenario's")).unwrap();
    assert!(line.contains("tcp_rmem 4096 131072 1073741823") && line.contains("initcwnd"), "{line}");
    std::fs::remove_file(file).unwrap();
}

/// `longhaul-emu shell` with these privileges, mounts, or names.
fn in_container(set_up: &str, options: &[&str], command: &str) -> Output {
    let file = scenario("container", PATH);
    let script = format!("{set_up}; exec \"$@\"");
    let mut emulator = Command::new("unshare");
    emulator.args(["--mount", "sh", "-c", &script, "sh", EMULATOR, "shell"]).arg(&file).args(options);
    let output = emulator.args(["--", "sh", "-c", command]).stdin(Stdio::null()).output().unwrap();
    std::fs::remove_file(file).unwrap();
    output
}

/// Docker and Podman without `--privileged`: settings of the kernel may be read only. `/sys` likewise.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn settings_that_a_container_may_not_change_are_a_warning() {
    if !can_run(&["unshare", "mount", "ping"]) {
        return;
    }
    let fixed = "for d in /proc/sys /sys; do mount --rbind $d $d; mount -o remount,ro,bind $d; done";
    let output =
        in_container(fixed, &["--tcp", "scenario"], "ping -q -c 1 $LONGHAUL_NEAR; ls /sys/class/net");
    let (said, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("1 received") && said.contains("lh0"), "{said}{notes}");
    let line = notes.lines().find(|line| line.contains("not set in the hosts' namespaces")).unwrap();
    assert!(
        line.contains("Read-only file system") && line.contains("ipv4/tcp_rmem = 4096 131072 1073741823"),
        "{line}"
    );
    let set = notes.lines().find(|line| line.contains("other than on this machine is set"));
    assert!(set.is_none_or(|line| !line.contains("tcp_rmem")), "as set stands what was refused: {notes}");
    assert!(!notes.contains("much is lost"), "the host's own devices may be set up: {notes}");
    let output = in_container(fixed, &["-q"], "ping -q -c 1 $LONGHAUL_NEAR && touch /sys/power/state 2>&1");
    let said = text(&output.stdout);
    assert!(said.contains("1 received") && !output.status.success(), "read-only inside too: {said}");
}

/// Settings that only the machine's first network namespace has, as tcp_low_latency, are none of a host's.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_plain_shell_sets_all_that_a_host_can_have() {
    if !can_run(&["ping"]) {
        return;
    }
    let file = scenario("plain", PATH);
    let output = Command::new(EMULATOR).arg("shell").arg(&file).args(["--", "true"]).output().unwrap();
    std::fs::remove_file(file).unwrap();
    let notes = text(&output.stderr);
    assert!(output.status.success() && !notes.contains("not set in the hosts' namespaces"), "{notes}");
}

/// The recipe of docs/emulator.md, with Podman: this machine's files as the image, the three options and no more. Skipped where Podman
/// cannot start any container.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_container_with_two_capabilities_and_the_device_is_enough() {
    if !can_run(&["curl", "python3"]) {
        return;
    }
    let place = std::env::temp_dir().join(format!("longhaul-emu-podman-{}", std::process::id()));
    let container = |options: &[&str], command: &[&str]| {
        let mut podman = Command::new("timeout");
        podman.args([
            "60",
            "podman",
            "--runtime",
            "runc",
            "--storage-driver",
            "vfs",
            "--cgroup-manager",
            "cgroupfs",
        ]);
        podman.arg("--root").arg(place.join("root")).arg("--runroot").arg(place.join("run"));
        // This machine may not permit what Podman would raise.
        podman.args([
            "run",
            "--rm",
            "--network",
            "none",
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=1000:1000",
        ]);
        // Nothing of the emulators outside is to be seen.
        podman.args(options).args(["--tmpfs", "/run", "--rootfs", "/:O"]).args(command).stdin(Stdio::null());
        podman.output()
    };
    let starts = container(&[], &["true"]).is_ok_and(|output| output.status.success());
    if starts {
        let (file, emulator) = (scenario("podman", PATH), world_executable("podman"));
        let fetch = "curl --retry 9 --retry-connrefused -sS -o /dev/null -w '%{http_code} %{time_connect}' http://$LONGHAUL_NEAR:8000/etc/hostname; ls /sys/class/net";
        let serve = "near=python3 -m http.server 8000 --directory /";
        let (program, file_name) = (emulator.0.to_str().unwrap(), file.to_str().unwrap());
        let command = [program, "shell", file_name, "--serve", serve, "--", "sh", "-c", fetch];
        let recipe = ["--cap-add=NET_ADMIN", "--cap-add=SYS_ADMIN", "--device=/dev/net/tun"];
        let output = container(&recipe, &command).unwrap();
        let (said, notes) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success() && said.starts_with("200 0.05") && said.contains("lh0"),
            "{said}{notes}"
        );
        let output = container(&recipe[..1], &command).unwrap();
        assert_eq!(output.status.code(), Some(2));
        let notes = text(&output.stderr);
        assert!(notes.contains("--cap-add=SYS_ADMIN") && !notes.contains("NET_ADMIN"), "{notes}");
        let output = container(&recipe[..2], &command).unwrap();
        let notes = text(&output.stderr);
        assert!(output.status.code() == Some(2) && notes.contains("--device=/dev/net/tun"), "{notes}");
        std::fs::remove_file(file).unwrap();
    } else {
        println!("skipped: Podman does not start containers here (apt install podman runc)");
    }
    let _ = std::fs::remove_dir_all(place);
}

/// Root of a user namespace, without any privilege outside: nothing of it is seen there.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_user_namespace_is_enough() {
    if !can_run(&["unshare", "setpriv", "ping", "mknod"]) {
        return;
    }
    let file = scenario("rootless", PATH);
    let emulator = world_executable("rootless");
    let device = std::env::temp_dir().join(format!("longhaul-emu-tun-{}", std::process::id()));
    let rootless = |mode: &str, more: &str| {
        // The device as udev sets it up, or not.
        let script = format!(
            "mknod {0} c 10 200; chmod {mode} {0}; mount --bind {0} /dev/net/tun; exec setpriv --reuid 65534 --regid 65534 \
             --clear-groups unshare --map-root-user --net {more} \"$@\"",
            device.display()
        );
        let mut rootless = Command::new("unshare");
        rootless
            .args(["--mount", "sh", "-c", &script, "sh"])
            .arg(&emulator.0)
            .args(["shell", "-q"])
            .arg(&file);
        rootless.args(["--", "sh", "-c", "ping -q -c 2 -i 0.2 $LONGHAUL_NEAR && ls /sys/class/net"]);
        let output = rootless.stdin(Stdio::null()).output().unwrap();
        let _ = std::fs::remove_file(&device);
        output
    };
    for more in ["--mount", ""] {
        let output = rootless("666", more);
        let said = text(&output.stdout);
        assert!(output.status.success() && said.contains("2 received"), "{said}{}", text(&output.stderr));
        assert!(said.contains("lh0"), "{said}");
    }
    let output = rootless("600", "");
    let notes = text(&output.stderr);
    assert!(output.status.code() == Some(2) && notes.contains("chmod 666 /dev/net/tun"), "{notes}");
    std::fs::remove_file(file).unwrap();
}

/// A user's own shell, without any privilege and without `unshare`: commands are the user's, with his files, may ping as in reports
/// about namespaces that let nobody, and a second emulator runs in the first. From inside it is set as any other.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_user_runs_it_without_root() {
    if !can_run(&["unshare", "setpriv", "ping", "mknod"]) {
        return;
    }
    let file = scenario("user", PATH);
    let emulator = world_executable("user");
    let home = std::env::temp_dir().join(format!("longhaul-emu-home-{}", std::process::id()));
    std::fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(65534), Some(65534)).unwrap();
    let device = std::env::temp_dir().join(format!("longhaul-emu-user-tun-{}", std::process::id()));
    let as_user = |mode: &str, arguments: &[&str]| {
        let script = format!(
            "mknod {0} c 10 200; chmod {mode} {0}; mount --bind {0} /dev/net/tun; exec setpriv --reuid 65534 --regid 65534 \
             --clear-groups env HOME={1} XDG_RUNTIME_DIR={1} \"$@\"",
            device.display(),
            home.display()
        );
        let mut rootless = Command::new("unshare");
        rootless.args(["--mount", "sh", "-c", &script, "sh"]).arg(&emulator.0).args(arguments);
        let output = rootless.stdin(Stdio::null()).output().unwrap();
        let _ = std::fs::remove_file(&device);
        output
    };
    let path = file.to_str().unwrap();
    let inside = format!(
        "id -u; id -g; echo mine > $HOME/file; ping -q -c 2 -i 0.2 $LONGHAUL_NEAR; awk '/CapEff/{{print $2}}' /proc/self/status; \
         {0} set --name user link.forward delay=90ms; ping -q -c 1 $LONGHAUL_NEAR; \
         {0} shell -q {path} -- sh -c 'id -u; ping -q -c 1 $LONGHAUL_NEAR'",
        emulator.0.display()
    );
    let output = as_user("666", &["shell", path, "--name", "user", "--", "sh", "-c", &inside]);
    let (said, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{notes}");
    assert!(
        said.starts_with("65534\n65534\n")
            && said.contains("2 received")
            && said.contains("0000000000000000"),
        "{said}"
    );
    assert!(said.contains("link.forward delay=90ms from "), "{said}{notes}");
    let times: Vec<f64> = said
        .lines()
        .filter_map(|line| line.strip_prefix("rtt ")?.split(['=', '/']).nth(4)?.trim().parse().ok())
        .collect();
    assert!(
        times.len() == 3
            && times[1] >= 110.0
            && [0, 2].iter().all(|ping| (50.0..110.0).contains(&times[*ping])),
        "{times:?} {said}"
    );
    assert_eq!(said.matches("\n65534\n").count(), 2, "as a user in the second one too: {said}");
    assert!(notes.contains("in a user namespace, where commands run as you"), "{notes}");
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(home.join("file")).unwrap());
    assert_eq!(owner, 65534);
    for (arguments, why) in [
        (&["shell", path, "--internet", "--", "true"][..], "--internet needs root"),
        (&["shell", path, "--user", "daemon", "--", "true"], "only root may run commands as somebody else"),
        (&["bridge", path, "lo", "lo"], "CAP_NET_RAW"),
    ] {
        let output = as_user("666", arguments);
        let notes = text(&output.stderr);
        assert!(output.status.code() == Some(2) && notes.contains(why), "{notes}");
    }
    let output = as_user("600", &["shell", path, "--", "true"]);
    assert!(text(&output.stderr).contains("chmod 666 /dev/net/tun"), "{}", text(&output.stderr));
    std::fs::remove_dir_all(home).unwrap();
    std::fs::remove_file(file).unwrap();
}

/// The emulator where every user may execute it; removed at the end.
struct Anybody(PathBuf);

impl Drop for Anybody {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn world_executable(name: &str) -> Anybody {
    let place = std::env::temp_dir().join(format!("longhaul-emu-{name}-{}", std::process::id()));
    std::fs::copy(EMULATOR, &place).unwrap();
    Anybody(place)
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn commands_run_as_the_caller_of_sudo_or_whoever_is_named() {
    if !can_run(&["id"]) {
        return;
    }
    let file = scenario("account", PATH);
    let script = "id -u; id -G; echo $HOME $USER; awk '/CapEff/{print $2}' /proc/self/status";
    let called = |options: &[&str], caller: Option<&str>| {
        let mut emulator = shell(&file, &[&["-q"][..], options].concat(), script);
        emulator.env_remove("SUDO_UID").env("HOME", "/root").env("USER", "root");
        if let Some(caller) = caller {
            emulator.env("SUDO_UID", caller);
        }
        let output = emulator.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(str::to_string).collect::<Vec<_>>()
    };
    let root = called(&[], None);
    assert_eq!((&root[0][..], &root[2][..]), ("0", "/root root"));
    for daemon in [called(&["--user", "daemon"], None), called(&[], Some("1"))] {
        assert_eq!(daemon, ["1", "1", "/usr/sbin daemon", "0000000000000000"]);
    }
    assert_eq!(called(&["--user", "root"], Some("1")), root);
    let refused = shell(&file, &["--user", "no-such-user"], "true").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("no such user"), "{}", text(&refused.stderr));
    std::fs::remove_file(file).unwrap();
}

/// `sudo` removes most of the user's environment; it itself still has it. This one has its name, and does the same.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn the_caller_of_sudo_has_displays_sockets_and_keys_as_before() {
    if !can_run(&["sh", "env"]) {
        return;
    }
    let file = scenario("sudo", PATH);
    let folder = std::env::temp_dir().join(format!("longhaul-emu-{}-sudo", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // A shell by the name of sudo.
    std::fs::copy("/bin/sh", folder.join("sudo")).unwrap();
    let show = "env | grep -E '^(HOME|DISPLAY|WAYLAND_DISPLAY|SSH_AUTH_SOCK|XDG_RUNTIME_DIR|XDG_CONFIG_HOME|PATH)=' | sort";
    let inner = format!(
        "env -i SUDO_UID=1 HOME=/root PATH=/usr/bin:/bin TERM=xterm {EMULATOR} shell -q {} -- sh -c \"{show}\"; true",
        file.display()
    );
    let output = Command::new(folder.join("sudo"))
        .args(["-c", &inner])
        .env_clear()
        .envs([
            ("HOME", "/home/anna"),
            ("DISPLAY", ":1"),
            ("WAYLAND_DISPLAY", "wayland-0"),
            ("PATH", "/opt/bin:/usr/bin:/bin"),
        ])
        .envs([
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("XDG_CONFIG_HOME", "/tmp/config"),
        ])
        .output()
        .unwrap();
    let expected = "DISPLAY=:1\nHOME=/home/anna\nPATH=/opt/bin:/usr/bin:/bin\nSSH_AUTH_SOCK=/tmp/agent\nWAYLAND_DISPLAY=wayland-0\n\
        XDG_CONFIG_HOME=/tmp/config\nXDG_RUNTIME_DIR=/run/user/1\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_shell_shows_where_it_is() {
    if !can_run(&["python3", "bash"]) {
        return;
    }
    let file = scenario("banner", PATH);
    for shell in ["/bin/bash", "/bin/sh", "/usr/bin/zsh"] {
        if !Path::new(shell).exists() {
            eprintln!("skipped: no {shell} here");
            continue;
        }
        let steps = serde_json::json!([[0.3, "(longhaul far) ", "echo at-$LONGHAUL_NODE; exit 3\n"]]);
        let inside = format!("HOME=/nonexistent SHELL={shell} exec {EMULATOR} shell {}", file.display());
        let (seen, status) = typed(steps, &["sh", "-c", &inside]);
        assert!(seen.contains("at-far") && seen.contains("this shell is at far"), "{shell}: {seen}");
        assert_eq!(status, 3, "{shell}: {seen}");
    }
    std::fs::remove_file(file).unwrap();
}

/// What a program draws on a terminal is not to be disturbed: the counters are in the title.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn counters_are_never_among_what_a_command_prints() {
    if !can_run(&["python3", "ping"]) {
        return;
    }
    let command = ["sh", "-c", "for i in 1 2 3 4; do echo line $i; sleep 0.7; done"];
    let (seen, status) = typed_behind("live", serde_json::json!([]), &["--live"], &command);
    assert_eq!(status, 0, "{seen}");
    assert!(seen.contains("\u{1b}]2;") && seen.contains(" packets "), "{seen:?}");
    // Without the titles, and keeping and restoring them.
    let (mut rest, mut left) = (&seen[..], String::new());
    while let Some((before, after)) = rest.split_once("\u{1b}]2;") {
        left += before;
        rest = after.split_once('\u{7}').unwrap().1;
    }
    left += rest;
    let left = left.replace("\u{1b}[22;2t", "").replace("\u{1b}[23;2t", "");
    assert_eq!(left, "line 1\r\nline 2\r\nline 3\r\nline 4\r\n");
    let output = run("live-file", PATH, &["-q", "--live"], "echo mine; sleep 1.5");
    assert_eq!(text(&output.stdout), "mine\n");
    let notes = text(&output.stderr);
    let (links, counts): (Vec<&str>, Vec<&str>) = notes.lines().partition(|line| line.starts_with("link."));
    assert!(
        links.len() == 2 * counts.len() && counts.iter().all(|line| line.contains(" packets ")),
        "{notes}"
    );
}
