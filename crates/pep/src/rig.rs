//! A satellite link on this machine: client, terminal, satellite, hub and server, each a network namespace, with the
//! emulator's link between terminal and hub. For `demo` and for measurements.

use crate::Error;
use crate::config::Carrier;
use longhaul_emu::registry::{self, Registration};
use longhaul_emu::{bridge, namespace};
use longhaul_units::{Duration, Rate};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const HOSTS: [&str; 5] = ["client", "terminal", "sky", "hub", "server"];
const SERVER: &str = "10.74.3.2:8000";
/// Connections of a page at a time.
pub(crate) const AT_ONCE: usize = 6;
/// Bytes of a request.
const REQUEST: usize = 300;
/// How often what waits looks whether it is to stop.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);

/// The link.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// From hub to terminal.
    pub down: Rate,
    /// From terminal to hub.
    pub up: Rate,
    /// Round trip without queues.
    pub rtt: Duration,
    /// Part of packets lost in each direction.
    pub loss: f64,
}

impl Link {
    /// The link as a scenario: queues of one bandwidth-delay product.
    pub fn scenario(&self) -> String {
        let queue = |rate: Rate| ((rate.as_bps() as f64 / 8.0 * self.rtt.as_secs_f64()) as u64).max(15_000);
        let side = |rate: Rate| {
            let loss = match self.loss > 0.0 {
                true => format!(", loss = {{ kind = \"random\", probability = {} }}", self.loss),
                false => String::new(),
            };
            let limit = queue(rate);
            format!("{{ rate = \"{rate}\", queue = {{ kind = \"droptail\", limit = \"{limit} B\" }}{loss} }}")
        };
        format!(
            "[run]\nduration = \"24 h\"\n[[link]]\nname = \"satellite\"\nends = [\"terminal\", \"hub\"]\n\
             delay = \"{} ns\"\nforward = {}\nreverse = {}\n[[flow]]\nfrom = \"terminal\"\nto = \"hub\"\n",
            self.rtt.as_nanos() / 2,
            side(self.up),
            side(self.down)
        )
    }
}

/// The namespaces. Dropped, they are removed.
pub struct Rig {
    names: [String; 5],
    folder: PathBuf,
    program: PathBuf,
    _registration: Registration,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn of(error: longhaul_emu::Error) -> Error {
    Error::system("build the emulated network", error)
}

impl Rig {
    /// Builds them. What a killed one has left behind is removed first.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(program: PathBuf) -> Result<Rig, Error> {
        longhaul_emu::priority::check_capabilities().map_err(of)?;
        registry::clean_up();
        let id = std::process::id();
        let names = HOSTS.map(|host| format!("{}{id}-{host}", namespace::PREFIX));
        let registration = Registration::new(&id.to_string(), names.to_vec()).map_err(of)?;
        let folder = std::env::temp_dir().join(format!("longhaul-pep-demo-{id}"));
        std::fs::create_dir_all(&folder).map_err(|why| Error::system("make a folder", why))?;
        let rig = Rig { names, folder, program, _registration: registration };
        for name in &rig.names {
            namespace::add(name).map_err(of)?;
            namespace::configure(name, "link set lo up\n").map_err(of)?;
        }
        let [client, terminal, sky, hub, server] = &rig.names;
        for (near, far, near_device, far_device) in [
            (client, terminal, "eth0", "lan"),
            (sky, terminal, "in0", "sat"),
            (sky, hub, "in1", "sat"),
            (server, hub, "eth0", "wan"),
        ] {
            let add = format!("link add {near_device} type veth peer name {far_device} netns {far}\n");
            namespace::configure(near, &add).map_err(of)?;
            // A link carries packets, not what a kernel joins for its devices.
            for (name, device) in [(near, near_device), (far, far_device)] {
                let up = format!("link set {device} gso_max_segs 1\nlink set {device} txqueuelen 10000 up\n");
                namespace::configure(name, &up).map_err(of)?;
            }
        }
        let addresses = [
            (client, "address add 10.74.1.2/24 dev eth0\nroute add default via 10.74.1.1\n"),
            (
                terminal,
                "address add 10.74.1.1/24 dev lan\naddress add 10.74.2.1/24 dev sat\nroute add default via 10.74.2.2\n",
            ),
            (
                hub,
                "address add 10.74.2.2/24 dev sat\naddress add 10.74.3.1/24 dev wan\nroute add 10.74.1.0/24 via 10.74.2.1\n",
            ),
            (server, "address add 10.74.3.2/24 dev eth0\nroute add default via 10.74.3.1\n"),
        ];
        for (name, commands) in addresses {
            namespace::configure(name, commands).map_err(of)?;
        }
        for name in [terminal, hub] {
            rig.within(name, || {
                std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")
                    .map_err(|why| Error::system("forward packets", why))
            })?;
        }
        Ok(rig)
    }

    /// Does something in a namespace.
    fn within<T: Send>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let mut result = None;
        namespace::within(name, || {
            result = Some(work());
            Ok(())
        })
        .map_err(of)?;
        result.unwrap_or_else(|| Err(Error::system("enter a namespace", "it did not happen")))
    }

    /// Moves packets over the link until `stop` is set; returns why the result is not to be believed, if it is not.
    ///
    /// # Errors
    /// What the emulator refuses.
    pub fn carry(&self, link: &Link, stop: &AtomicBool) -> Result<Vec<String>, Error> {
        let scenario = longhaul_scenario::load(&link.scenario(), "the demo's link", &[])
            .map_err(|why| Error::Config(why.to_string()))?;
        let [_, _, sky, ..] = &self.names;
        let mut moved = None;
        namespace::within(sky, || {
            moved = Some(bridge::run(&scenario, ["in0", "in1"], &bridge::Options::default(), stop)?.moved);
            Ok(())
        })
        .map_err(of)?;
        Ok(moved.map_or(vec![], |moved| moved.invalid))
    }

    /// Starts a shell command at the server or the client, which finds the server's address in `LONGHAUL_SERVER`, and in
    /// `LONGHAUL_WAY` whether the accelerator is there (`with` or `without`).
    ///
    /// # Errors
    /// What the system refuses.
    pub fn start(&self, at_server: bool, command: &str, accelerated: bool) -> Result<Child, Error> {
        let server = SERVER.split(':').next().unwrap_or(SERVER);
        self.within(&self.names[if at_server { 4 } else { 0 }], || {
            Command::new("sh")
                .args(["-c", command])
                .env("LONGHAUL_SERVER", server)
                .env("LONGHAUL_WAY", if accelerated { "with" } else { "without" })
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .map_err(|why| Error::system(format!("start `{command}`"), why))
        })
    }

    /// Answers requests at the server until `stop` is set: a line with a number of bytes gets as many.
    ///
    /// # Errors
    /// If nobody can listen there.
    pub fn serve(&self, stop: &AtomicBool) -> Result<(), Error> {
        self.within(&self.names[4], || {
            let failed = |why| Error::system("listen at the server", why);
            let listener = TcpListener::bind(SERVER).map_err(failed)?;
            listener.set_nonblocking(true).map_err(failed)?;
            std::thread::scope(|scope| {
                while !stop.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((stream, _)) => {
                            scope.spawn(|| answer(stream, stop));
                        }
                        Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
                    }
                }
            });
            Ok(())
        })
    }

    /// Seconds from the client's `connect` to the last byte of an answer of `size` bytes; an error holds how many came within
    /// `patience`.
    ///
    /// # Errors
    /// See above; the outer one is the system's.
    pub fn download(
        &self,
        size: u64,
        patience: std::time::Duration,
        stop: &AtomicBool,
    ) -> Result<Result<f64, u64>, Error> {
        self.within(&self.names[0], || Ok(fetch(size, patience, stop)))
    }

    /// Seconds for a page: `objects` of `size` bytes each, six at a time, each with a connection of its own, after a first one.
    ///
    /// # Errors
    /// As [`Rig::download`].
    pub fn page(
        &self,
        objects: usize,
        size: u64,
        patience: std::time::Duration,
        stop: &AtomicBool,
    ) -> Result<Result<f64, u64>, Error> {
        self.within(&self.names[0], || {
            let begin = Instant::now();
            if let Err(came) = fetch(size, patience, stop) {
                return Ok(Err(came));
            }
            let next = std::sync::atomic::AtomicUsize::new(0);
            let came = std::sync::atomic::AtomicU64::new(size);
            let missed = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for _ in 0..AT_ONCE {
                    scope.spawn(|| {
                        // Each thread is in the namespace of the one that started it.
                        while next.fetch_add(1, Ordering::Relaxed) < objects {
                            let left = patience.saturating_sub(begin.elapsed());
                            match fetch(size, left, stop) {
                                Ok(_) => came.fetch_add(size, Ordering::Relaxed),
                                Err(part) => {
                                    missed.store(true, Ordering::Relaxed);
                                    came.fetch_add(part, Ordering::Relaxed)
                                }
                            };
                        }
                    });
                }
            });
            let complete = !missed.load(Ordering::Relaxed);
            Ok(if complete { Ok(begin.elapsed().as_secs_f64()) } else { Err(came.load(Ordering::Relaxed)) })
        })
    }

    /// What an administrator does for the tunnel over TCP: a first window of the link's bandwidth-delay product, and receivers that
    /// are ready for it.
    fn tune_tcp(&self, link: &Link) -> Result<(), Error> {
        let [_, terminal, _, hub, _] = &self.names;
        for (name, rate, other) in [(terminal, link.up, "10.74.2.2"), (hub, link.down, "10.74.2.1")] {
            let product = rate.as_bps() as f64 / 8.0 * link.rtt.as_secs_f64();
            let window = (product / 1448.0).ceil().max(10.0);
            let route = format!("route replace {other}/32 dev sat initcwnd {window} initrwnd {window}\n");
            namespace::configure(name, &route).map_err(of)?;
        }
        let largest = link.down.as_bps().max(link.up.as_bps()) as f64 / 8.0 * link.rtt.as_secs_f64();
        let (middle, most) = ((2.0 * largest) as u64, (4.0 * largest) as u64);
        for name in [terminal, hub] {
            self.within(name, || {
                for file in ["tcp_rmem", "tcp_wmem"] {
                    std::fs::write(
                        format!("/proc/sys/net/ipv4/{file}"),
                        format!("4096 {middle} {}", most.max(33_554_432)),
                    )
                    .map_err(|why| Error::system("size TCP's buffers", why))?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Starts the accelerator at both ends, and waits until its tunnel is up.
    ///
    /// # Errors
    /// If one of them does not start.
    pub fn accelerate(&self, link: &Link, carrier: Carrier, stop: &AtomicBool) -> Result<Nodes, Error> {
        if carrier == Carrier::Tcp {
            self.tune_tcp(link)?;
        }
        let folder = &self.folder;
        let key = |name: &str| {
            let path = folder.join(name);
            let _ = std::fs::remove_file(&path);
            crate::keys::generate(&path)
        };
        let (terminal_key, hub_key) = (key("terminal.key")?, key("hub.key")?);
        let (at, rtt) = (folder.display(), link.rtt);
        // A little less than the link: its queue stays empty.
        let paced = |rate: Rate| Rate::from_bps(rate.as_bps() / 1000 * 997);
        let hub = format!(
            "mode = \"hub\"\ncontrol = \"{at}/hub.sock\"\n[timeouts]\ndrain = \"1 s\"\n[hop]\nlisten = \"10.74.2.2:7714\"\n\
             key = \"{at}/hub.key\"\nsend_rate = \"{rate}\"\nmost_rate = \"{rate}\"\ninitial_rtt = \"{rtt}\"\n\
             carrier = \"{carrier}\"\n[[terminal]]\nname = \"demo\"\nkey = \"{terminal_key}\"\nsources = [\"10.74.1.0/24\"]\n",
            rate = paced(link.down)
        );
        let terminal = format!(
            "mode = \"terminal\"\ncontrol = \"{at}/terminal.sock\"\n[timeouts]\ndrain = \"1 s\"\n[hop]\nhub = \"10.74.2.2:7714\"\n\
             key = \"{at}/terminal.key\"\nhub_key = \"{hub_key}\"\nsend_rate = \"{rate}\"\nmost_rate = \"{rate}\"\n\
             receive_rate = \"{down}\"\ninitial_rtt = \"{rtt}\"\ncarrier = \"{carrier}\"\n[intercept]\ninterfaces = [\"lan\"]\n",
            rate = paced(link.up),
            down = paced(link.down)
        );
        let mut nodes = Nodes { children: vec![] };
        for (place, name, config) in [(3, "hub", hub), (1, "terminal", terminal)] {
            let path = folder.join(format!("{name}.toml"));
            let written = std::fs::write(&path, config)
                .and_then(|()| std::fs::File::create(folder.join(format!("{name}.log"))));
            let log = written.map_err(|why| Error::system("write a configuration", why))?;
            let start = || {
                Command::new(&self.program)
                    .args(["run", "--config"])
                    .arg(&path)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(log)
                    // Ctrl-C is for the demo, which then ends both.
                    .process_group(0)
                    .spawn()
                    .map_err(|why| Error::system("start the accelerator", why))
            };
            nodes.children.push(self.within(&self.names[place], start)?);
        }
        let socket = folder.join("terminal.sock");
        for _ in 0..300 {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let status = crate::control::ask(&socket, crate::control::Command::Status);
            if status.is_ok_and(|status| status["passing"] == false) {
                return Ok(nodes);
            }
            std::thread::sleep(LOOK);
        }
        let log =
            |name: &str| std::fs::read_to_string(folder.join(format!("{name}.log"))).unwrap_or_default();
        Err(Error::system(
            "bring the tunnel up",
            format!("the hub's log:\n{}the terminal's:\n{}", log("hub"), log("terminal")),
        ))
    }
}

/// The accelerator at both ends. Dropped, it is stopped.
pub struct Nodes {
    children: Vec<Child>,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in &self.children {
            let pid = nix::unistd::Pid::from_raw(child.id() as i32);
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// Reads a request and sends the answer.
fn answer(mut stream: TcpStream, stop: &AtomicBool) {
    let mut request = [0; REQUEST];
    let _ = (
        stream.set_nonblocking(false),
        stream.set_read_timeout(Some(LOOK)),
        stream.set_write_timeout(Some(LOOK)),
    );
    let mut filled = 0;
    while filled < REQUEST && !stop.load(Ordering::Relaxed) {
        match stream.read(&mut request[filled..]) {
            Ok(0) => return,
            Ok(n) => filled += n,
            Err(why) if waits(&why) => {}
            Err(_) => return,
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut left: usize = text.trim().parse().unwrap_or(0);
    let block = [b'x'; 65536];
    while left > 0 && !stop.load(Ordering::Relaxed) {
        match stream.write(&block[..left.min(block.len())]) {
            Ok(n) => left -= n,
            Err(why) if waits(&why) => {}
            Err(_) => return,
        }
    }
}

fn waits(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Requests `size` bytes from the server: seconds until they are there, or how many came.
fn fetch(size: u64, patience: std::time::Duration, stop: &AtomicBool) -> Result<f64, u64> {
    let begin = Instant::now();
    let Ok(server) = SERVER.parse::<SocketAddr>() else { return Err(0) };
    let Ok(mut stream) = TcpStream::connect_timeout(&server, patience.max(LOOK)) else { return Err(0) };
    let _ = (stream.set_read_timeout(Some(LOOK)), stream.set_nodelay(true));
    if stream.write_all(format!("{size:<REQUEST$}").as_bytes()).is_err() {
        return Err(0);
    }
    let (mut came, mut room) = (0, vec![0; 1 << 18]);
    while came < size {
        if begin.elapsed() > patience || stop.load(Ordering::Relaxed) {
            return Err(came);
        }
        match stream.read(&mut room) {
            Ok(0) => return Err(came),
            Ok(n) => came += n as u64,
            Err(why) if waits(&why) => {}
            Err(_) => return Err(came),
        }
    }
    Ok(begin.elapsed().as_secs_f64())
}
