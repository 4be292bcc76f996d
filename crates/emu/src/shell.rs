//! `longhaul-emu shell`: a command whose network lies behind a scenario's path.

use crate::capture;
use crate::driver::{self, Live, Status, ports};
use crate::lateness::Bounds;
use crate::moved::Moved;
use crate::plan::Plan;
use crate::start::Start;
use crate::testbed::{Host, Testbed, hosts_of};
use crate::world::World;
use crate::{Error, internet, namespace, sys};
use longhaul_scenario::{Network, Scenario};
use longhaul_traffic::Side;
use longhaul_units::{HostId, Id, NodeId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to run, and where.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the node where the command runs; without it, where the first flow's data goes.
    pub at: Option<String>,
    /// The command and its arguments; without it, the user's shell.
    pub command: Vec<String>,
    /// Commands that run at other nodes meanwhile, by `sh -c`: name of the node and command.
    pub serve: Vec<(String, String)>,
    /// The host at the other end hands on what is for others to the network in which the emulator runs.
    pub internet: bool,
    /// How packets are moved.
    pub driver: driver::Options,
    /// File and points of a capture.
    pub capture: Option<(PathBuf, Vec<String>)>,
    /// Called about once a second.
    pub progress: Option<fn(&Status)>,
    /// What is still to be believed.
    pub bounds: Bounds,
}

/// What a command in a shell leaves.
pub struct Outcome {
    /// How the command ended.
    pub status: ExitStatus,
    /// What became of packets.
    pub moved: Moved,
}

/// Runs a command behind a scenario's path, until it ends or `stop` is set.
///
/// # Errors
/// An unknown node, and what the system refuses.
pub fn run(scenario: &Scenario, options: &Options, stop: &AtomicBool) -> Result<Outcome, Error> {
    let network = Network::new(scenario);
    let mut nodes = hosts_of(&network);
    let find = |name: &String| {
        network.nodes.position(|node| node == name).ok_or_else(|| {
            let known = network.nodes.as_slice().join(", ");
            Error::Unsupported(format!("there is no node \"{name}\" in the scenario; there are {known}"))
        })
    };
    let named = options.at.iter().chain(options.serve.iter().map(|(node, _)| node));
    for name in named {
        let node = find(name)?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let at = match &options.at {
        Some(name) => find(name)?,
        None => network.flows.first().map_or(nodes[0], |flow| {
            match scenario.group(flow.group).app.data_sender() {
                Side::Server => flow.from,
                Side::Client => flow.to,
            }
        }),
    };
    let mut testbed = Testbed::new(scenario, &network, &nodes, stop)?;
    let mut world = World::new(Plan::new(scenario, &network, &testbed.addresses())?);
    let mut resolvers = None;
    if options.internet {
        world.set_gateway(open_internet(&mut testbed, at)?);
        match internet::resolvers() {
            Ok(others) => resolvers = others,
            Err(why) => testbed.warnings.push(why.to_string()),
        }
    }
    let mut ports = ports(&testbed)?;
    let taps = capture::taps(scenario, &network, options.capture.as_ref())?;
    let (done, live) = (&AtomicBool::new(false), &Live::default());
    // No command before its packets are moved: they would wait, unseen.
    let start = Start::of(2);
    let (driven, status) = std::thread::scope(|scope| {
        let driver =
            scope.spawn(|| driver::drive(&start, world, taps, &mut ports, options.driver, live, done));
        let status = start.ready().ok_or(Error::Interrupted).and_then(|clock| {
            let over = || done.load(Ordering::Relaxed);
            let watch = scope.spawn(move || live.watch(clock, options.progress, None, over));
            let status = serve_and_run(&testbed, at, options, resolvers, stop);
            done.store(true, Ordering::Relaxed);
            let _ = watch.join();
            status
        });
        done.store(true, Ordering::Relaxed);
        (driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), status)
    });
    let status = status?;
    let driven = driven.ok_or(Error::Interrupted)?;
    let device_drops = testbed.hosts.iter().map(Host::device_drops).sum();
    let moved = Moved::new(driven, testbed.warnings.clone(), device_drops, options.bounds);
    Ok(Outcome { status, moved })
}

/// Opens the way out at the first host that is not the one at `at`. Returns its number.
fn open_internet(testbed: &mut Testbed, at: NodeId) -> Result<HostId, Error> {
    let Testbed { hosts, registration, .. } = testbed;
    let far = hosts.iter().position(|host| host.node != at);
    let far =
        far.ok_or_else(|| Error::Unsupported("there is no other host to reach the Internet by".to_string()))?;
    let others: Vec<&Host> = hosts.iter().filter(|host| host.node != hosts[far].node).collect();
    internet::open(registration, &hosts[far], &others)?;
    Ok(HostId::new(far))
}

fn serve_and_run(
    testbed: &Testbed,
    at: NodeId,
    options: &Options,
    resolvers: Option<&Path>,
    stop: &AtomicBool,
) -> Result<ExitStatus, Error> {
    let over = AtomicBool::new(false);
    let over = &over;
    std::thread::scope(|scope| {
        for (node, command) in &options.serve {
            let host = testbed.hosts.iter().find(|host| host.name == *node).expect("it was looked up before");
            let arguments = ["sh".to_string(), "-c".to_string(), command.clone()];
            scope.spawn(move || {
                namespace::within(&host.namespace, || {
                    let ended = || over.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
                    run_until(start(testbed, host, &arguments, true)?, ended)
                })
            });
        }
        let host = testbed.host_at(at).expect("it is among the nodes");
        let shell = || vec![std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_string())];
        let command = if options.command.is_empty() { shell() } else { options.command.clone() };
        let status = namespace::within(&host.namespace, || {
            if let Some(file) = resolvers {
                namespace::show_instead(file, Path::new("/etc/resolv.conf"))?;
            }
            run_until(start(testbed, host, &command, false)?, || stop.load(Ordering::Relaxed))
        });
        over.store(true, Ordering::Relaxed);
        status
    })
}

/// Starts a command in the namespace that the thread is in. It ends with the thread, even if that is killed.
/// The output of one in the background goes to standard error.
fn start(testbed: &Testbed, host: &Host, arguments: &[String], background: bool) -> Result<Child, Error> {
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]);
    if background {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(|why| Error::system("copy a file descriptor", why))?;
        command.stdin(Stdio::null()).stdout(stderr);
    }
    command.env("LONGHAUL_HERE", host.v4.to_string());
    for other in &testbed.hosts {
        let name: String = other
            .name
            .to_uppercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        command.env(format!("LONGHAUL_{name}"), other.v4.to_string());
        command.env(format!("LONGHAUL_{name}_V6"), other.v6.to_string());
    }
    if let Some(peer) = testbed.hosts.iter().find(|other| other.node != host.node) {
        command.env("LONGHAUL_PEER", peer.v4.to_string());
    }
    sys::die_with_parent(&mut command, libc::SIGKILL);
    command.spawn().map_err(|why| Error::Command { command: arguments.join(" "), why: why.to_string() })
}

/// Waits for a command; ends it when `ended` is true.
fn run_until(mut child: Child, ended: impl Fn() -> bool) -> Result<ExitStatus, Error> {
    let waiting = |why: std::io::Error| Error::system("wait for a command", why);
    loop {
        if let Some(status) = child.try_wait().map_err(waiting)? {
            return Ok(status);
        }
        if ended() {
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            for _ in 0..50 {
                std::thread::sleep(Duration::from_millis(20));
                if let Some(status) = child.try_wait().map_err(waiting)? {
                    return Ok(status);
                }
            }
            child.kill().map_err(waiting)?;
            return child.wait().map_err(waiting);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
