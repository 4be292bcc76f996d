//! The accelerator between a client and a server: its daemons, and what they use of the machine.

use super::place::Place;
use super::traffic::SERVER;
use crate::config::Carrier;
use crate::control::{self, Command as Request};
use crate::{Error, keys, sys};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Parts of a second in `/proc/PID/stat` (USER_HZ, on every architecture that this runs on).
const TICKS: f64 = 100.0;
/// A daemon is ready within this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Rate of the tunnel: no limit on this machine.
const RATE: &str = "20 Gbit/s";
/// The round trip that it assumes; with the rate above, a pipe of 12.5 MB.
const ROUND_TRIP: &str = "5 ms";
/// Flows at a time.
pub(super) const FLOWS: usize = 5_000;

/// Client, one or two nodes, and server in a row.
pub(super) struct Row {
    pub client: Place,
    pub server: Place,
    nodes: Vec<Place>,
}

impl Row {
    /// The places and the links between them, without a daemon.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(nodes: usize) -> Result<Row, Error> {
        let row = Row {
            client: Place::new()?,
            server: Place::new()?,
            nodes: (0..nodes).map(|_| Place::new()).collect::<Result<_, _>>()?,
        };
        let (Some(first), Some(last)) = (row.nodes.first(), row.nodes.last()) else { return Ok(row) };
        row.client.connect(("eth", "10.81.0.2/24"), first, ("lan", "10.81.0.1/24"))?;
        row.server.connect(("eth", &format!("{SERVER}/24")), last, ("wan", "10.82.0.1/24"))?;
        row.client.ip("route add default via 10.81.0.1")?;
        row.server.ip("route add default via 10.82.0.1")?;
        if let [terminal, hub] = row.nodes.as_slice() {
            terminal.connect(("sat", "10.83.0.1/24"), hub, ("sat", "10.83.0.2/24"))?;
            terminal.ip("route add default via 10.83.0.2")?;
            hub.ip("route add 10.81.0.0/24 via 10.83.0.1")?;
        }
        for node in &row.nodes {
            node.set("ipv4/ip_forward", "1")?;
        }
        // A port stays in use for a minute after its connection.
        row.client.set("ipv4/ip_local_port_range", "1100\t65000")?;
        row.server.set("core/somaxconn", "8192")?;
        Ok(row)
    }

    /// Starts the daemons, and waits until they take connections in.
    ///
    /// # Errors
    /// If they do not.
    pub fn accelerate(
        &self,
        program: &Path,
        folder: &Path,
        carrier: Carrier,
        stop: &AtomicBool,
    ) -> Result<Vec<Daemon>, Error> {
        let limits = format!(
            "[limits]\nflows = {FLOWS}\nflows_per_source = {FLOWS}\nnew_per_second = 1000000\n[timeouts]\ndrain = \"1 s\"\n"
        );
        let intercept = "[intercept]\ninterfaces = [\"lan\"]\n";
        let tunnel = format!(
            "send_rate = \"{RATE}\"\nmost_rate = \"{RATE}\"\nreceive_rate = \"{RATE}\"\ninitial_rtt = \"{ROUND_TRIP}\"\ncarrier = \
             \"{carrier}\"\n"
        );
        let at = folder.display();
        let daemons = match self.nodes.as_slice() {
            [terminal, hub] => {
                let own = [new_key(folder, "terminal")?, new_key(folder, "hub")?];
                let at_hub = format!(
                    "mode = \"hub\"\n{limits}[hop]\nlisten = \"10.83.0.2:7714\"\nkey = \"{at}/hub.key\"\n{tunnel}\
                     [[terminal]]\nname = \"one\"\nkey = \"{}\"\nsources = [\"10.81.0.0/24\"]\n",
                    own[0]
                );
                let at_terminal = format!(
                    "mode = \"terminal\"\n{limits}[hop]\nhub = \"10.83.0.2:7714\"\nkey = \"{at}/terminal.key\"\nhub_key = \"{}\"\n\
                     {tunnel}{intercept}",
                    own[1]
                );
                let hub = Daemon::start(hub, program, folder, "hub", &at_hub)?;
                vec![Daemon::start(terminal, program, folder, "terminal", &at_terminal)?, hub]
            }
            [node] => {
                let text = format!("mode = \"split\"\n{limits}{intercept}");
                vec![Daemon::start(node, program, folder, "node", &text)?]
            }
            _ => vec![],
        };
        if let Some(first) = daemons.first() {
            first.wait_for(stop, |status| status["passing"] == false)?;
        }
        Ok(daemons)
    }
}

/// Makes a key pair in place of one of this name.
pub(super) fn new_key(folder: &Path, name: &str) -> Result<crate::config::Key, Error> {
    let path = folder.join(format!("{name}.key"));
    let _ = std::fs::remove_file(&path);
    keys::generate(&path)
}

/// A daemon in a place. Dropped, it is stopped.
pub(super) struct Daemon {
    child: Child,
    name: String,
    folder: PathBuf,
}

impl Daemon {
    /// Starts one with this configuration.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn start(
        place: &Place,
        program: &Path,
        folder: &Path,
        name: &str,
        config: &str,
    ) -> Result<Daemon, Error> {
        let file = folder.join(format!("{name}.toml"));
        let config = format!("control = \"{}\"\n{config}", folder.join(format!("{name}.sock")).display());
        let log = std::fs::write(&file, config)
            .and_then(|()| std::fs::File::create(folder.join(format!("{name}.log"))));
        let log = log.map_err(|why| Error::system("write a configuration", why))?;
        let program = program.to_path_buf();
        let child = place.run(move || {
            let mut command = Command::new(&program);
            let level = std::env::var_os("LONGHAUL_LOG").unwrap_or_else(|| "warn".into());
            command.args(["run", "--config"]).arg(&file).env("LONGHAUL_LOG", level);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            // Ctrl-C is for the measurement, which then ends them.
            command.process_group(0);
            sys::die_with_thread(&mut command);
            command.spawn().map_err(|why| Error::system("start the accelerator", why))
        })?;
        Ok(Daemon { child, name: name.to_string(), folder: folder.to_path_buf() })
    }

    /// Waits until its status is as it should be.
    ///
    /// # Errors
    /// If it does not become so, with what the daemon has logged.
    pub fn wait_for(
        &self,
        stop: &AtomicBool,
        mut done: impl FnMut(&serde_json::Value) -> bool,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) {
            if self.status().is_some_and(|status| done(&status)) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.folder.join(format!("{}.log", self.name)));
        let why = format!("the {} was not ready; its log:\n{}", self.name, log.unwrap_or_default());
        Err(Error::system("start the accelerator", why))
    }

    /// What it reports of itself.
    pub fn status(&self) -> Option<serde_json::Value> {
        control::ask(&self.folder.join(format!("{}.sock", self.name)), Request::Status).ok()
    }

    /// Connections that it has accepted.
    pub fn accepted(&self) -> u64 {
        self.status().and_then(|status| status["accepted"].as_u64()).unwrap_or(0)
    }

    /// Seconds of a processor that it has used, in its own code and in the kernel's.
    pub fn seconds(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / TICKS
    }

    /// Bytes that it has in memory.
    pub fn memory(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let kib = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        kib.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > PATIENCE {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
