//! `longhaul-emu shell`: a command whose network lies behind a scenario's path.

use crate::account::Account;
use crate::capture::{self, Taps};
use crate::clock::Clock;
use crate::command::{self, Known, Task, addresses};
use crate::control::{Control, show};
use crate::driver::{self, Live, Status, Watcher, ports};
use crate::frame::Frame;
use crate::internet::Opened;
use crate::kernel::TcpOf;
use crate::lateness::{Bounds, Lateness};
use crate::mahimahi::log::{Log, LogSpec};
use crate::moved::Moved;
use crate::names::{self, Reach, View};
use crate::plan::Plan;
use crate::prompt::Prompt;
use crate::signals::Signals;
use crate::start::Start;
use crate::testbed::{Host, Testbed, hosts_of};
use crate::world::{Observer, World};
use crate::{Error, internet, namespace, own_run};
use ipnet::IpNet;
use longhaul_path::DropCause;
use longhaul_scenario::{Network, Scenario};
use longhaul_segment::pcapng::LinkType;
use longhaul_traffic::Side;
use longhaul_units::{HostId, Id, Instant, LinkId, MiddleboxId, NodeId};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
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
    /// Whose TCP the hosts have.
    pub tcp: TcpOf,
    /// The account of the commands, if not the emulator's own.
    pub account: Option<Account>,
    /// How long commands have from a request to end until they are killed.
    pub grace: Duration,
    /// Ranges for the hosts' addresses, of each IP version one at most; without, free ones.
    pub addresses: Vec<IpNet>,
    /// Called with each notice for the user, before the command starts.
    pub notice: Option<fn(&str)>,
    /// Called with lines for the user before the command starts, after all notices: the hosts, what was set, where one is.
    pub started: Option<fn(&str)>,
    /// Called about once a second.
    pub progress: Option<fn(&Status)>,
    /// With `progress`: shows links.
    pub links: bool,
    /// The emulator's name for requests while it runs; without, its process id.
    pub name: Option<String>,
    /// Where the scenario as it was is written if something was set; without, beside the socket.
    pub as_it_was: Option<PathBuf>,
    /// Under the name of a command of Mahimahi's: what the prompt begins with.
    pub prefix: Option<String>,
    /// Logs of links.
    pub logs: Vec<LogSpec>,
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

/// Runs a command behind a scenario's path until it ends; requests to end are passed on to it.
///
/// # Errors
/// An unknown node, and what the system refuses.
pub fn run(scenario: &Scenario, options: &Options, signals: &Signals) -> Result<Outcome, Error> {
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
    let control = Control::open(options.name.as_deref(), scenario, &network)?;
    let mut testbed =
        Testbed::new(scenario, &network, &nodes, options.tcp, &options.addresses, &signals.stop)?;
    let mut world = World::new(Plan::new(scenario, &network, &testbed.addresses(), &testbed.ranges)?);
    let (mut reach, mut machine) = (Reach::Hosts, None);
    if options.internet {
        let (far, Opened { v6, machine: address, warnings }) = open_internet(&mut testbed, at)?;
        machine = Some(address);
        world.set_gateway(far, v6, &testbed.ranges);
        testbed.warnings.extend(warnings);
        reach = Reach::Internet { v6 };
    }
    let (view, notice) = names::view(reach);
    testbed.warnings.extend(notice);
    testbed.warnings.extend(control.warning());
    control.has_hosts(&testbed, reach);
    let mut ports = ports(&testbed)?;
    let taps = capture::taps(scenario, &network, options.capture.as_ref(), LinkType::Ip)?;
    let watch = Watch::new(&network, taps, &options.logs)?;
    let (done, live) = (&AtomicBool::new(false), &Live::default());
    // No command before its packets are moved: they would wait, unseen.
    let start = Start::of(2);
    let (driven, status) = std::thread::scope(|scope| {
        let driver =
            scope.spawn(|| driver::drive(&start, world, watch, &mut ports, options.driver, live, done));
        let status = start.ready().ok_or(Error::Interrupted).and_then(|clock| {
            // What there is to know stands before all that the command prints.
            if let Some(notice) = options.notice {
                testbed.warnings.iter().chain(&live.take_notices()).for_each(|text| notice(text));
            }
            if let Some(started) = options.started {
                started(&testbed.hosts_in_words());
                started(&set_up(&testbed, options));
                if let Some(host) = testbed.host_at(at).filter(|_| options.command.is_empty()) {
                    started(&banner(&testbed, host));
                }
            }
            let over = || done.load(Ordering::Relaxed);
            let links = || if options.links { show::links(&network, &live.readings()) } else { vec![] };
            let watch = scope.spawn(move || live.watch(clock, options.progress, links, None, over));
            let control = &control;
            scope.spawn(move || control.serve(clock, live, over));
            let status = serve_and_run(&testbed, at, options, machine, &view, signals);
            done.store(true, Ordering::Relaxed);
            let _ = watch.join();
            status
        });
        done.store(true, Ordering::Relaxed);
        (driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), status)
    });
    let status = status?;
    let mut incomplete = vec![];
    let driven = driven.ok_or(Error::Interrupted)?.map(|watch, ended| watch.finish(ended, &mut incomplete));
    let device_drops = testbed.hosts.iter().map(Host::device_drops).sum();
    let as_it_was = control.keep(driven.ended, options.as_it_was.as_deref())?;
    let losses = testbed.losses();
    let mut moved = Moved::new(driven, testbed.warnings.clone(), losses, device_drops, options.bounds);
    moved.notes.extend(as_it_was);
    moved.warnings.extend(incomplete);
    Ok(Outcome { status, moved })
}

/// Who looks at packets: a capture, and logs of links.
struct Watch {
    taps: Taps,
    logs: Vec<(LinkId, Log)>,
    /// When it has looked last.
    looked: Instant,
}

/// Logs are brought up to date so often.
const LOOK: longhaul_units::Duration = longhaul_units::Duration::from_millis(100);

impl Watch {
    fn new(network: &Network, taps: Taps, specs: &[LogSpec]) -> Result<Watch, Error> {
        let link = |spec: &LogSpec| network.links.position(|link| link.name == spec.link);
        let logs = specs.iter().filter_map(|spec| Some((link(spec)?, spec.clone())));
        let logs = logs.map(|(link, spec)| Ok((link, Log::new(spec)?))).collect::<Result<Vec<_>, Error>>()?;
        Ok(Watch { taps, logs, looked: Instant::ZERO })
    }

    fn log(&mut self, link: LinkId) -> impl Iterator<Item = &mut Log> {
        self.logs.iter_mut().filter(move |(of, _)| *of == link).map(|(_, log)| log)
    }

    fn finish(self, ended: Instant, incomplete: &mut Vec<String>) -> Taps {
        incomplete.extend(self.logs.into_iter().filter_map(|(_, log)| log.finish(ended)));
        self.taps
    }
}

impl Observer for Watch {
    fn offered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.taps.offered(now, link, frame);
        self.log(link).for_each(|log| log.arrived(now, frame.packet().len()));
    }
    fn delivered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.taps.delivered(now, link, frame);
        self.log(link).for_each(|log| log.delivered(now, frame.packet().len()));
    }
    fn entered(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        self.taps.entered(now, middlebox, frame);
    }
    fn left(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        self.taps.left(now, middlebox, frame);
    }
    fn dropped(&mut self, now: Instant, link: LinkId, frame: &Frame, cause: DropCause) {
        self.taps.dropped(now, link, frame, cause);
        let of_queue = DropCause::OF_QUEUES.contains(&cause);
        self.log(link).filter(|_| of_queue).for_each(|log| log.dropped(now, frame.packet().len()));
    }
}

impl Watcher for Watch {
    fn begin(&mut self, clock: Clock) {
        self.taps.begin(clock);
        self.logs.iter_mut().for_each(|(_, log)| log.begin(clock));
    }
    fn next(&self) -> Instant {
        if self.logs.is_empty() { Instant::FAR_FUTURE } else { self.looked + LOOK }
    }
    /// An hour without a packet is not written when the next one comes.
    fn look(&mut self, now: Instant, _world: &mut World, _lateness: &Lateness) {
        // What happened before the look before this one has been noted.
        let until = std::mem::replace(&mut self.looked, now);
        self.logs.iter_mut().for_each(|(_, log)| log.look(until));
    }
}

/// Opens the way out at the first host that is not the one at `at`. Returns its number.
fn open_internet(testbed: &mut Testbed, at: NodeId) -> Result<(HostId, Opened), Error> {
    let far = testbed.hosts.iter().position(|host| host.node != at);
    if own_run::caller().is_some() {
        return Err(Error::Unsupported(
            "--internet needs root (sudo): users may not connect the path with this machine's network"
                .to_string(),
        ));
    }
    let far =
        far.ok_or_else(|| Error::Unsupported("there is no other host to reach the Internet by".to_string()))?;
    Ok((HostId::new(far), internet::open(testbed, far)?))
}

fn serve_and_run(
    testbed: &Testbed,
    at: NodeId,
    options: &Options,
    machine: Option<IpAddr>,
    view: &View,
    signals: &Signals,
) -> Result<ExitStatus, Error> {
    let over = AtomicBool::new(false);
    let over = &over;
    let account = options.account.as_ref();
    let grace = options.grace;
    let all: Vec<Known> = testbed.hosts.iter().map(Known::of).collect();
    let all = &all[..];
    std::thread::scope(|scope| {
        for (node, command) in &options.serve {
            let host = testbed.hosts.iter().find(|host| host.name == *node).expect("it was looked up before");
            let arguments = vec!["sh".to_string(), "-c".to_string(), command.clone()];
            let namespace = &host.namespace[..];
            let environment = addresses(all, &Known::of(host));
            let task = Task { namespace, arguments, environment, account, grace };
            scope.spawn(move || {
                namespace::within(&host.namespace, || {
                    show_host(view)?;
                    // It outlives the command, whose last packets it may have to answer.
                    task.run_in_background(|| over.load(Ordering::Relaxed))
                })
            });
        }
        let host = testbed.host_at(at).expect("it is among the nodes");
        let is_shell = options.command.is_empty();
        let Prompt { arguments, mut environment } = match is_shell {
            true => {
                let here = || format!("(longhaul {}) ", host.name);
                Prompt::of(&shell_of(account), &options.prefix.clone().unwrap_or_else(here))
            }
            false => Prompt { arguments: options.command.clone(), environment: vec![] },
        };
        environment.extend(machine.map(|address| ("LONGHAUL_MACHINE", address.to_string())));
        if let Some(prefix) = &options.prefix {
            environment.extend(machine.map(|address| ("MAHIMAHI_BASE", address.to_string())));
            environment.push(("MAHIMAHI_SHELL_PREFIX", prefix.clone()));
        }
        let own = environment.into_iter().map(|(name, value)| (name.to_string(), value));
        let environment = addresses(all, &Known::of(host)).into_iter().chain(own).collect();
        let task = Task { namespace: &host.namespace, arguments, environment, account, grace };
        let status = namespace::within(&host.namespace, || {
            show_host(view)?;
            task.run(signals, is_shell)
        });
        over.store(true, Ordering::Relaxed);
        status
    })
}

/// Shows the thread's namespace to what it starts: its devices, and how names are looked up there.
pub(crate) fn show_host(view: &View) -> Result<(), Error> {
    let shown = namespace::own_mounts()
        .and_then(|()| namespace::show_devices(false))
        .and_then(|()| namespace::present(view));
    // Where this is not permitted, `Testbed` has a warning.
    if view.is_needed { shown } else { Ok(()) }
}

/// The user's shell.
pub(crate) fn shell_of(account: Option<&Account>) -> String {
    let own = || std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_string());
    account.map_or_else(own, |account| account.shell.display().to_string())
}

/// What was set, in one line.
fn set_up(testbed: &Testbed, options: &Options) -> String {
    if own_run::caller().is_some() {
        return format!("{}; without root: in a user namespace, where commands run as you", testbed.tcp);
    }
    let account = options.account.as_ref();
    let account = account.map(|account| format!("; commands run as {} (--user root: as root)", account.name));
    format!("{}{}", testbed.tcp, account.unwrap_or_default())
}

/// Where one is, for a shell's user.
fn banner(testbed: &Testbed, host: &Host) -> String {
    let others = testbed.hosts.iter().filter(|other| other.node != host.node);
    let others: Vec<String> = others
        .map(|other| format!("{} at {} (${})", other.name, other.v4, command::variable(&other.name)))
        .collect();
    format!(
        "this shell is at {}, {}; behind the path: {}; `exit` leaves it",
        host.name,
        host.v4,
        others.join(", ")
    )
}
