//! Links that are set while packets move: what holds from then on, what is refused, and the scenario that repeats it.

use crate::bed::{EMULATOR, PATH, can_run, run_scenario, scenario, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A shell that sleeps, under a name; ended at the end.
struct Sleeping {
    child: Child,
    name: String,
    file: PathBuf,
}

impl Sleeping {
    fn start(name: &str, text: &str, options: &[&str], command: &str) -> Sleeping {
        let file = scenario(name, text);
        let name = format!("{name}-{}", std::process::id());
        let mut emulator = Command::new(EMULATOR);
        emulator
            .arg("shell")
            .arg(&file)
            .args(["--name", &name])
            .args(options)
            .args(["--", "sh", "-c", command]);
        let child =
            emulator.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let sleeping = Sleeping { child, name, file };
        let begun = Instant::now();
        while !sleeping.status().status.success() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        sleeping
    }

    fn status(&self) -> Output {
        Command::new(EMULATOR).args(["status", "--json", "--name", &self.name]).output().unwrap()
    }

    fn json(&self) -> Value {
        let output = self.status();
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()[0].take()
    }

    fn set(&self, words: &str) -> Output {
        Command::new(EMULATOR).args(["set", "--name", &self.name]).args(words.split(' ')).output().unwrap()
    }

    /// Closes the command's input, and waits until all has ended.
    fn end(mut self) -> (String, String) {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        std::fs::remove_file(&self.file).unwrap();
        (text(&output.stdout), text(&output.stderr))
    }
}

/// The round trip times of pings in ms, in the order of their lines.
fn times(said: &str) -> Vec<f64> {
    said.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok()).collect()
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn what_is_set_holds_from_then_on_and_the_scenario_as_it_was_repeats_it() {
    if !can_run(&["ping"]) {
        return;
    }
    let was = std::env::temp_dir().join(format!("as-it-was-{}.toml", std::process::id()));
    // A ping for each line.
    let command = "while read line; do ping -c 1 -W 1 $LONGHAUL_NEAR; echo done; done";
    let options = ["--at", "far", "--as-it-was", was.to_str().unwrap()];
    let mut shell = Sleeping::start("set", PATH, &options, command);
    let mut input = shell.child.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(shell.child.stdout.take().unwrap());
    let mut ping = || {
        use std::io::{BufRead, Write};
        writeln!(input, "ping").unwrap();
        let mut said = String::new();
        while !said.ends_with("done\n") {
            assert!(output.read_line(&mut said).unwrap() > 0);
        }
        times(&said).first().copied()
    };
    let before = ping().unwrap();
    assert!((50.0..90.0).contains(&before), "{before}");
    let done = shell.set("link delay=100ms");
    assert!(
        done.status.success() && text(&done.stdout).starts_with("link delay=100ms from "),
        "{}",
        text(&done.stderr)
    );
    let slow = ping().unwrap();
    assert!((200.0..240.0).contains(&slow), "both directions: {slow}");
    assert!(shell.set("link.forward delay=5ms").status.success());
    let less = ping().unwrap();
    assert!((105.0..145.0).contains(&less), "one direction: {less}");
    assert!(shell.set("link.reverse down").status.success());
    assert_eq!(ping(), None);
    assert!(shell.set("link up").status.success());
    assert!((105.0..145.0).contains(&ping().unwrap()));
    assert!(shell.set("link.forward loss=100%").status.success());
    assert_eq!(ping(), None);
    let status = shell.json();
    let link =
        |name: &str| status["links"].as_array().unwrap().iter().find(|link| link["name"] == name).unwrap();
    assert_eq!((&link("link.forward")["loss"], &link("link.reverse")["delay_s"]), (&1.0.into(), &0.1.into()));
    assert_eq!(link("link.forward")["lost"], 1);
    assert_eq!(link("link.reverse")["dropped_by_outage"], 1);
    assert_eq!(status["set"].as_array().unwrap().len(), 5);
    drop(input);
    let (_, said) = shell.end();
    assert!(said.contains("5 settings while it ran"), "{said}");
    repeats(&was);
    std::fs::remove_file(was).unwrap();
}

/// The scenario has the changes, and links change by it at those times.
fn repeats(was: &Path) {
    let document = std::fs::read_to_string(was).unwrap();
    let again =
        longhaul_scenario::load(&document, "as it was", &[]).unwrap_or_else(|error| panic!("{error}"));
    let [there, back] = again.link[0].directions();
    let (there, outages) = (there.changes.unwrap(), back.outages.unwrap());
    assert_eq!((there.len(), outages.len(), back.changes.unwrap().len()), (3, 1, 1), "{document}");
    let shell = Sleeping::start("again", &document, &[], "read line");
    let mut seen = (false, false);
    loop {
        let status = shell.json();
        let link = &status["links"][0];
        assert_eq!(link["name"], "link.forward");
        let at = link["at_s"].as_f64().unwrap();
        let held = there.iter().rfind(|change| change.delay.is_some() && change.at.as_secs_f64() <= at);
        let delay = held.map_or(0.03, |change| change.delay.unwrap().as_secs_f64());
        assert_eq!(link["delay_s"], delay, "at {at}");
        let down = outages[0].start.unwrap().as_secs_f64();
        let down = (down..down + outages[0].duration.unwrap().as_secs_f64()).contains(&at);
        assert_eq!(status["links"][1]["up"], !down, "at {at}");
        seen = (seen.0 || delay == 0.1, seen.1 || down);
        if at > there.last().unwrap().at.as_secs_f64() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(seen, (true, true));
    shell.end();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn what_cannot_be_set_is_refused_and_changes_nothing() {
    if !can_run(&[]) {
        return;
    }
    let shell = Sleeping::start("refused", PATH, &[], "read line");
    for (words, message) in [
        ("moon up", "there is no link \"moon\"; there are: link (link.forward, link.reverse)"),
        ("link rate=10", "\"10\" has no unit"),
        ("link delay=2h", "delay: must be"),
        ("link up", "was not set down"),
    ] {
        let output = shell.set(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        let said = text(&output.stderr);
        assert!(said.starts_with("error: ") && said.contains(message) && said.lines().count() == 1, "{said}");
    }
    let two = Command::new(EMULATOR)
        .arg("shell")
        .arg(&shell.file)
        .args(["--name", &shell.name, "--", "true"])
        .output();
    let two = two.unwrap();
    assert_eq!(two.status.code(), Some(2));
    assert!(text(&two.stderr).contains("an emulator of this name is running"), "{}", text(&two.stderr));
    let nobody =
        Command::new(EMULATOR).args(["set", "--name", "nobody-of-this-name", "link", "up"]).output().unwrap();
    assert!(
        text(&nobody.stderr).contains("no emulator of this name and user is running"),
        "{}",
        text(&nobody.stderr)
    );
    // Only this user can enter the directory.
    let directory = std::fs::metadata("/run/longhaul-emu-control").unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&directory.permissions()) & 0o777, 0o700);
    let (_, said) = shell.end();
    assert!(!said.contains("while it ran"), "{said}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_result_has_the_scenario_as_it_was() {
    if !can_run(&[]) {
        return;
    }
    let file = scenario("result", &PATH.replace("60 s", "3 s"));
    let out = std::env::temp_dir().join(format!("longhaul-emu-as-it-was-{}", std::process::id()));
    let name = format!("result-{}", std::process::id());
    let (output, set) = std::thread::scope(|scope| {
        let run = scope.spawn(|| run_scenario(&file, &out, &["--name", &name, "--live"]));
        let set = || {
            Command::new(EMULATOR)
                .args(["set", "--name", &name, "link.forward", "rate=1Mbit/s"])
                .output()
                .unwrap()
        };
        let mut done = set();
        while !done.status.success() && !run.is_finished() {
            std::thread::sleep(Duration::from_millis(50));
            done = set();
        }
        (run.join().unwrap(), done)
    });
    assert!(set.status.success(), "{}", text(&set.stderr));
    assert!(text(&output.stderr).contains("of 1 Mbit/s"), "a line for each link: {}", text(&output.stderr));
    let was = std::fs::read_to_string(out.join("scenario-as-it-was.toml")).unwrap();
    let again = longhaul_scenario::load(&was, "as it was", &[]).unwrap();
    assert_eq!(again.link[0].directions()[0].changes.as_ref().map(Vec::len), Some(1));
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    assert!(summary.contains("one setting while it ran"), "{summary}");
    std::fs::remove_dir_all(out).unwrap();
    std::fs::remove_file(file).unwrap();
}

/// Several terminals on one hub: each host of a shell has as many as are opened, and all end with it.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn further_terminals_enter_the_hosts_of_a_shell() {
    if !can_run(&["ping"]) {
        return;
    }
    let shell = Sleeping::start("enter", PATH, &["--at", "far"], "read line");
    let enter = |node: &str, command: &str| {
        let mut enter = Command::new(EMULATOR);
        enter.args(["enter", "--name", &shell.name, node, "--", "sh", "-c", command]).stdin(Stdio::null());
        enter
    };
    let near = enter("near", "echo $LONGHAUL_NODE; ls /sys/class/net; ping -c 1 -W 5 $LONGHAUL_FAR; exit 7")
        .output()
        .unwrap();
    let said = text(&near.stdout);
    assert_eq!(near.status.code(), Some(7), "{said}{}", text(&near.stderr));
    assert!(said.starts_with("near\nlh0\nlo\n"), "{said}");
    assert!(times(&said).first().is_some_and(|ms| (50.0..90.0).contains(ms)), "{said}");
    let far = text(&enter("far", "echo $LONGHAUL_NODE $LONGHAUL_PEER").output().unwrap().stdout);
    assert_eq!(far.split(' ').next(), Some("far"), "{far}");
    let nowhere = enter("nowhere", "true").output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    let why = text(&nowhere.stderr);
    assert!(why.contains("no host has the name \"nowhere\"; there are near, far"), "{why}");
    let mut stays = enter("near", "exec sleep 600").spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(stays.try_wait().unwrap().is_none());
    shell.end();
    let begun = Instant::now();
    while stays.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it outlives its shell");
        std::thread::sleep(Duration::from_millis(50));
    }
}
