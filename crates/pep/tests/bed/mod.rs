//! A client, an accelerator and a server, each a network namespace; removed at the end.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod router;
pub mod sky;
pub mod two;

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

pub const PEP: &str = env!("CARGO_BIN_EXE_longhaul-pep");
pub const SERVER: &str = "10.82.0.2";
pub const SERVER_V6: &str = "fd82::2";
pub const CLIENT: &str = "10.81.0.2";
pub const CLIENT_V6: &str = "fd81::2";

/// False, with the reason printed, where these tests cannot run.
pub fn can_run() -> bool {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: this is not root");
        return false;
    }
    for program in ["ip", "nft"] {
        if Command::new(program).arg("-V").output().is_err() {
            eprintln!("skipped: {program} is not installed (scripts/install-packages)");
            return false;
        }
    }
    true
}

pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn wait_for(what: &str, seconds: u64, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(seconds), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub struct Bed {
    id: String,
    pub folder: PathBuf,
    /// Dropped at the end of the test, which ends the watch over it.
    _watched: Sender<()>,
}

/// No test takes as long, on a machine ten times slower either.
const LONGEST_TEST: Duration = Duration::from_secs(20 * 60);

/// Ends this program with the logs of all daemons if a test hangs: a test that waits for ever would report nothing at all.
fn watch_over(folder: PathBuf) -> Sender<()> {
    let (alive, watched) = channel();
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    std::thread::spawn(move || {
        if watched.recv_timeout(LONGEST_TEST) == Err(RecvTimeoutError::Timeout) {
            // Past what captures the output of tests.
            let mut out = std::io::stderr().lock();
            let _ = writeln!(out, "{test} hangs: no end within {LONGEST_TEST:?}");
            for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if file.path().extension().is_some_and(|kind| kind == "log") {
                    let log = std::fs::read_to_string(file.path()).unwrap_or_default();
                    let _ = writeln!(out, "{}:\n{log}", file.path().display());
                }
            }
            std::process::abort();
        }
    });
    alive
}

impl Drop for Bed {
    fn drop(&mut self) {
        for host in ["c", "p", "h", "k", "s", "x"] {
            let _ = Command::new("ip").args(["netns", "delete", &self.name(host)]).output();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bed {
    pub fn new() -> Bed {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("longhaul-pep-{id}"));
        std::fs::create_dir_all(&folder).unwrap();
        let bed = Bed { _watched: watch_over(folder.clone()), id, folder };
        for host in ["c", "p", "s"] {
            ip(&format!("netns add {}", bed.name(host)));
            ip(&format!("-n {} link set lo up", bed.name(host)));
        }
        let [client, pep, server] = ["c", "p", "s"].map(|host| bed.name(host));
        for (host, device, net, prefix) in [(&client, "lan", 81, "fd81"), (&server, "wan", 82, "fd82")] {
            ip(&format!("-n {pep} link add {device} type veth peer name eth netns {host}"));
            ip(&format!("-n {pep} address add 10.{net}.0.1/24 dev {device}"));
            ip(&format!("-n {pep} address add {prefix}::1/64 dev {device} nodad"));
            ip(&format!("-n {pep} link set {device} up"));
            ip(&format!("-n {host} address add 10.{net}.0.2/24 dev eth"));
            ip(&format!("-n {host} address add {prefix}::2/64 dev eth nodad"));
            ip(&format!("-n {host} link set eth up"));
            ip(&format!("-n {host} route add default via 10.{net}.0.1"));
            ip(&format!("-n {host} route add default via {prefix}::1"));
        }
        bed.at("p", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
        bed
    }

    /// The same, with a hub (h) between the accelerator and the server.
    pub fn with_hub() -> Bed {
        let bed = Bed::new();
        let [pep, hub, server] = ["p", "h", "s"].map(|host| bed.name(host));
        ip(&format!("netns add {hub}"));
        ip(&format!("-n {hub} link set lo up"));
        ip(&format!("-n {pep} link delete wan"));
        for (host, device, net, prefix) in [(&pep, "sat", 83, "fd83"), (&server, "eth", 82, "fd82")] {
            let own = if *host == pep { "sat" } else { "wan" };
            ip(&format!("-n {hub} link add {own} type veth peer name {device} netns {host}"));
            let (near, far) = if *host == pep { (2, 1) } else { (1, 2) };
            ip(&format!("-n {hub} address add 10.{net}.0.{near}/24 dev {own}"));
            ip(&format!("-n {hub} address add {prefix}::{near}/64 dev {own} nodad"));
            ip(&format!("-n {hub} link set {own} up"));
            ip(&format!("-n {host} address add 10.{net}.0.{far}/24 dev {device}"));
            ip(&format!("-n {host} address add {prefix}::{far}/64 dev {device} nodad"));
            ip(&format!("-n {host} link set {device} up"));
        }
        for (host, v4, v6) in [(&pep, "10.83.0.2", "fd83::2"), (&server, "10.82.0.1", "fd82::1")] {
            ip(&format!("-n {host} route replace default via {v4}"));
            ip(&format!("-n {host} -6 route replace default via {v6}"));
        }
        ip(&format!("-n {hub} route add 10.81.0.0/24 via 10.83.0.1"));
        ip(&format!("-n {hub} route add fd81::/64 via fd83::1"));
        bed.at("h", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
        bed
    }

    /// A host (x, 10.84.0.2 and fd84::2) behind the server, whose link to it carries packets of at most 1,300 bytes.
    pub fn with_host_behind_server(&self, before: &str) {
        let [before, server, host] = [before, "s", "x"].map(|host| self.name(host));
        ip(&format!("netns add {host}"));
        ip(&format!("-n {host} link set lo up"));
        ip(&format!("-n {server} link add far type veth peer name eth netns {host}"));
        for (host, device, own) in [(&server, "far", 1), (&host, "eth", 2)] {
            ip(&format!("-n {host} address add 10.84.0.{own}/24 dev {device}"));
            ip(&format!("-n {host} address add fd84::{own}/64 dev {device} nodad"));
            ip(&format!("-n {host} link set {device} up"));
        }
        ip(&format!("-n {server} link set far mtu 1300"));
        for (family, net, via, own) in
            [("-4", "10.84.0.0/24", SERVER, "10.84.0.1"), ("-6", "fd84::/64", SERVER_V6, "fd84::1")]
        {
            ip(&format!("{family} -n {before} route add {net} via {via}"));
            ip(&format!("{family} -n {host} route add default via {own}"));
        }
        self.at("s", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
    }

    /// The namespace of the client (c), the accelerator (p) or the server (s).
    pub fn name(&self, host: &str) -> String {
        format!("lhpep-{}-{host}", self.id)
    }

    /// Runs a shell command at a host.
    pub fn at(&self, host: &str, command: &str) -> Output {
        Command::new("ip").args(["netns", "exec", &self.name(host), "sh", "-c", command]).output().unwrap()
    }

    /// Does something in a host's network, in a thread of its own.
    pub fn within<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        let name = self.name(host);
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                enter(&name);
                work()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// A daemon that is ready.
    pub fn daemon(&self, more: &str) -> Daemon {
        self.start("p", "pep", &self.split_config(more))
    }

    /// Its configuration.
    pub fn split_config(&self, more: &str) -> String {
        let control = self.folder.join("control.sock");
        format!(
            "mode = \"split\"\ncontrol = \"{}\"\n{more}\n[intercept]\ninterfaces = [\"lan\"]\n",
            control.display()
        )
    }

    /// A daemon at a host, with files of this name.
    pub fn start(&self, host: &str, name: &str, config: &str) -> Daemon {
        self.start_with(host, name, config, &[])
    }

    /// The same, by another program.
    pub fn start_with(&self, host: &str, name: &str, config: &str, by: &[&str]) -> Daemon {
        let path = self.folder.join(format!("{name}.toml"));
        std::fs::write(&path, config).unwrap();
        let log = self.folder.join(format!("{name}.log"));
        let child = Command::new("ip")
            .args(["netns", "exec", &self.name(host)])
            .args(by)
            .args([PEP, "run", "--config"])
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut daemon = Daemon { child, config: path, log };
        wait_for("the daemon is ready", 10, || {
            assert!(daemon.child.try_wait().unwrap().is_none(), "it ended: {}", daemon.log());
            daemon.log().contains("ready")
        });
        daemon
    }
}

/// Moves the calling thread into a namespace.
pub fn enter(name: &str) {
    let file = File::open(format!("/run/netns/{name}")).unwrap();
    nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
}

pub struct Daemon {
    pub child: Child,
    pub config: PathBuf,
    log: PathBuf,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("log of the daemon:\n{}", self.log());
        }
    }
}

impl Daemon {
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Runs the program with the daemon's configuration; its control socket is a file, which every namespace sees.
    pub fn command(&self, arguments: &[&str]) -> String {
        let output = Command::new(PEP).args(arguments).arg("--config").arg(&self.config).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.command(&["status", "--json"])).unwrap()
    }

    /// Ends it, and waits until it is gone.
    pub fn stop(mut self) -> String {
        self.signal(nix::sys::signal::Signal::SIGTERM);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
        self.log()
    }
}

pub fn address(host: &str, port: u16) -> SocketAddr {
    SocketAddr::new(host.parse().unwrap(), port)
}
