//! `longhaul-emu`: real packets through a scenario's path.

use clap::{Args, Parser, Subcommand};
use ipnet::IpNet;
use longhaul_emu::account::Account;
use longhaul_emu::control::{self, show};
use longhaul_emu::kernel::TcpOf;
use longhaul_emu::lateness::Bounds;
use longhaul_emu::signals::Signals;
use longhaul_emu::{
    Error, bridge, driver, enter, kernel, mahimahi, moved, other_end, own_run, priority, record, registry,
    run, shell, terminal,
};
use longhaul_program::print;
use longhaul_scenario::{Scenario, ScenarioError};
use longhaul_units::Duration;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Puts a scenario's path between real network stacks: the links and middleboxes of Longhaul's simulator, on the wall clock.
#[derive(Parser)]
#[command(name = "longhaul-emu", version)]
struct Cli {
    /// Errors as one line of JSON on standard error.
    #[arg(long, global = true)]
    json_errors: bool,
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Runs a shell, or one command, whose network lies behind the scenario's path.
    Shell(ShellArguments),
    /// Runs the scenario's flows between real kernels, and writes a result as the simulator does.
    Run(RunArguments),
    /// Puts the scenario's path between two interfaces of this machine, until Ctrl-C.
    Bridge(BridgeArguments),
    /// Sets something on a link of an emulator that runs: it holds from now on.
    ///
    /// What was set is recorded with its times, and written at the end as a scenario that repeats it.
    Set(SetArguments),
    /// Shows the emulators that run: rates, delays, queues, counters.
    Status(StatusArguments),
    /// Opens a further terminal, or runs one command, at a host of a `shell` that runs.
    Enter(EnterArguments),
    /// Measures a real path into files that links of scenarios follow: delay and losses, with --rate the rates too.
    ///
    /// The far end runs `longhaul-emu record --serve`. Both share a secret. No root is needed. Ctrl-C keeps what was measured.
    Record(Box<record::command::Arguments>),
    /// Removes what killed emulators have left behind. Every start does this too.
    Clean,
}

#[derive(Args)]
struct SetArguments {
    /// The emulator that is set, by the name that it was given by --name or its process id; needed if several run.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The link, for both directions; or LINK.forward, LINK.reverse.
    link: String,
    /// What holds from now on: rate=10Mbit/s, delay=300ms (one way), loss=1% (in the place of the link's own), down, up; several at
    /// once.
    #[arg(required = true, value_name = "SETTING")]
    settings: Vec<String>,
}

#[derive(Args)]
struct EnterArguments {
    /// The shell whose host is entered, by the name that it was given by --name or its process id; needed if several run.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The user that the command runs as, by name or number  [default: with sudo its caller, else the emulator's own]
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// How long the command has from a request to end until it is killed.
    #[arg(long, value_name = "TIME", default_value = "5 s")]
    grace: Duration,
    /// The node of the host.
    node: String,
    /// The command and its arguments, after `--`; without them, a shell.
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Args)]
struct StatusArguments {
    /// Only this emulator.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Again each second until the emulator ends: in place on a terminal, else line below line.
    #[arg(long)]
    live: bool,
    /// A list in JSON, of one object for each emulator.
    #[arg(long, conflicts_with = "live")]
    json: bool,
}

#[derive(Args)]
struct ControlArguments {
    /// A name by which `set` and `status` find this emulator  [default: its process id]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Args)]
struct AsItWasArguments {
    /// Where a scenario that repeats what was set is written at the end, if something was  [default: in the user's runtime directory]
    #[arg(long, value_name = "FILE")]
    as_it_was: Option<PathBuf>,
}

#[derive(Args)]
struct ScenarioArguments {
    /// The scenario file.
    file: PathBuf,
    /// Puts another value into the scenario, as in link.satellite.rate="50 Mbit/s".
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// No real-time priority.
    #[arg(long)]
    no_real_time: bool,
    /// Do not sleep when a packet is due within this time: less late, one processor busy.
    #[arg(long, value_name = "TIME", default_value = "0 us")]
    spin: Duration,
}

#[derive(Args)]
struct BoundArguments {
    /// What happened is marked INVALID if 1 % of the packets are later than this.
    #[arg(long, value_name = "TIME", default_value = "1 ms")]
    max_lateness: Duration,
    /// What happened is marked INVALID if no packet was moved for longer than this although the emulator was to: it was stopped, or
    /// the machine was busy.
    #[arg(long, value_name = "TIME", default_value = "100 ms")]
    max_standstill: Duration,
}

impl BoundArguments {
    fn bounds(&self) -> Bounds {
        Bounds { late: self.max_lateness, standstill: self.max_standstill }
    }
}

#[derive(Args)]
struct CaptureArguments {
    /// Writes packets into this pcapng file: at all points, or at those that --tap names.
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// A point to capture at, as in satellite, satellite.forward.in (before the queue), satellite.forward.out (at the far end), pep.in,
    /// pep.out (a middlebox); may be repeated.
    #[arg(long = "tap", value_name = "POINT", requires = "capture")]
    taps: Vec<String>,
}

impl CaptureArguments {
    fn wanted(&self) -> Option<(PathBuf, Vec<String>)> {
        self.capture.clone().map(|file| (file, self.taps.clone()))
    }
}

#[derive(Args)]
struct StatsArguments {
    /// Writes what happened into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    #[command(flatten)]
    bounds: BoundArguments,
    /// Exit status 3 in the place of 0 if what happened is INVALID.
    #[arg(long)]
    fail_if_invalid: bool,
}

impl StatsArguments {
    /// The exit status, 3 in the place of success if that is requested and the measurement is not valid.
    fn status(&self, moved: &moved::Moved, status: u8) -> ExitCode {
        let fails = self.fail_if_invalid && status == 0 && !moved.invalid.is_empty();
        ExitCode::from(if fails { INVALID } else { status })
    }

    fn write(&self, moved: &moved::Moved) -> Result<(), Error> {
        let Some(file) = &self.stats else { return Ok(()) };
        std::fs::write(file, format!("{:#}\n", moved.to_json()))
            .map_err(|why| Error::system(format!("write {}", file.display()), why))
    }
}

#[derive(Args)]
struct AddressArguments {
    /// Addresses of the hosts come from this range, as in 10.9.8.0/24 or fd12:3456::/64; may be given once for IPv4 and once for IPv6
    /// [default: ranges that this machine does not use].
    #[arg(long, value_name = "CIDR")]
    addresses: Vec<IpNet>,
}

#[derive(Args)]
struct RunArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    addresses: AddressArguments,
    /// The result directory  [default: results/NAME-emulated]
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Replace another Longhaul result in the result directory.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    bounds: BoundArguments,
    /// End when all transfers of given size are done.
    #[arg(long)]
    until_done: bool,
    /// Captures packets at this point into packets.pcapng of the result, as in satellite, satellite.forward.in (before the queue),
    /// satellite.forward.out (at the far end), pep.in, pep.out (a middlebox), all; may be repeated.
    #[arg(long = "tap", value_name = "POINT")]
    taps: Vec<String>,
    #[command(flatten)]
    control: ControlArguments,
    /// Shows the links each second on standard error: rates, queues, drops.
    #[arg(long)]
    live: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args)]
struct BridgeArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    capture: CaptureArguments,
    #[command(flatten)]
    stats: StatsArguments,
    #[command(flatten)]
    control: ControlArguments,
    #[command(flatten)]
    as_it_was: AsItWasArguments,
    /// Shows the links each second on standard error: rates, queues, drops.
    #[arg(long)]
    live: bool,
    /// The interface that stands for the node where the first flow begins.
    first: String,
    /// The interface that stands for the node where it ends.
    second: String,
}

#[derive(Args)]
struct ShellArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    addresses: AddressArguments,
    /// The node at which the command runs; without it, the one that the first flow's data goes to.
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Runs a command at another node meanwhile, as in server="python3 -m http.server".
    #[arg(long, value_name = "NODE=COMMAND")]
    serve: Vec<String>,
    #[command(flatten)]
    capture: CaptureArguments,
    #[command(flatten)]
    control: ControlArguments,
    #[command(flatten)]
    as_it_was: AsItWasArguments,
    /// Counts packets while the command runs: in the title of the terminal, or with all links on standard error if that is a file.
    /// `longhaul-emu status --live` shows links in another terminal.
    #[arg(long)]
    live: bool,
    /// Whose TCP programs have: this machine's with its settings, or the scenario's as close as the kernel gets (buffers, options,
    /// initial window, congestion control).
    #[arg(long, value_enum, value_name = "WHOSE", default_value_t = Whose::Machine)]
    tcp: Whose,
    /// The user that commands run as, by name or number  [default: with sudo its caller, else the emulator's own]
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// How long commands have from a request to end (a signal for the emulator, Ctrl-C twice) until they are killed.
    #[arg(long, value_name = "TIME", default_value = "5 s")]
    grace: Duration,
    /// The node at the other end hands on what is for other addresses: the command reaches what this machine reaches, through the
    /// path (IPv4, and IPv6 where this machine has it; needs nftables).
    #[arg(long)]
    internet: bool,
    /// Prints no summary at the end.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    stats: StatsArguments,
    /// The command and its arguments, after `--`.
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Whose {
    Machine,
    Scenario,
}

fn main() -> ExitCode {
    let line: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if line.first().is_some_and(|program| mahimahi::is_name(program)) {
        let prepared = own_run::prepare().and_then(|()| Signals::watch());
        let result = prepared.and_then(|signals| match run_mahimahi(&line, &signals) {
            Err(Error::Interrupted) => Ok(after_signal(&signals)),
            result => result,
        });
        return result.unwrap_or_else(|error| {
            print::note(format_args!("error: {error}"));
            status_of_error(&error)
        });
    }
    let cli: Cli = match print::arguments() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    // Before the first thread.
    let mut place = None;
    let prepared = match &cli.command {
        Action::Enter(arguments) => {
            let found = enter::Place::find(arguments.name.as_deref(), &arguments.node);
            found.map(|found| place = Some(found))
        }
        Action::Bridge(_) | Action::Set(_) | Action::Status(_) | Action::Record(_) => Ok(()),
        Action::Shell(_) | Action::Run(_) => {
            own_run::enter_user_namespace().and_then(|()| own_run::prepare())
        }
        Action::Clean => own_run::prepare(),
    };
    let result = prepared.and_then(|()| Signals::watch()).and_then(|signals| {
        let result = match &cli.command {
            Action::Shell(arguments) => run_shell(arguments, !cli.json_errors, &signals),
            Action::Run(arguments) => run_scenario(arguments, !cli.json_errors, &signals.stop),
            Action::Bridge(arguments) => run_bridge(arguments, &signals.stop),
            Action::Set(arguments) => set(arguments),
            Action::Status(arguments) => status(arguments, &signals.stop),
            Action::Enter(arguments) => run_enter(arguments, place.as_ref(), &signals),
            Action::Record(arguments) => record::command::run(arguments, &signals).map(|is_cut| {
                // What was measured until then is kept, and a script ends all the same.
                if is_cut { after_signal(&signals) } else { ExitCode::SUCCESS }
            }),
            Action::Clean => clean(),
        };
        match result {
            Err(Error::Interrupted) => {
                report(&cli, &Error::Interrupted);
                Ok(after_signal(&signals))
            }
            result => result,
        }
    });
    result.unwrap_or_else(|error| {
        report(&cli, &error);
        status_of_error(&error)
    })
}

fn status_of_error(error: &Error) -> ExitCode {
    ExitCode::from(match error {
        Error::NotStarted { found: false, .. } => NOT_FOUND,
        Error::NotStarted { found: true, .. } => NOT_EXECUTABLE,
        _ => 2,
    })
}

/// Under the name of one of Mahimahi's commands: a shell or a command behind its path, which leads to this machine's network.
fn run_mahimahi(line: &[String], signals: &Signals) -> Result<ExitCode, Error> {
    let request = mahimahi::read(line).map_err(Error::Unsupported)?;
    priority::check_capabilities()?;
    let folder = Some(std::path::Path::new("/"));
    let scenario =
        longhaul_scenario::load_with(&request.scenario, &line[0], &[], folder, &longhaul_parquet::read)?;
    let outer = std::env::var("MAHIMAHI_SHELL_PREFIX").unwrap_or_default();
    let options = shell::Options {
        at: Some(mahimahi::INSIDE.to_string()),
        command: request.command,
        internet: true,
        account: Account::find(None)?,
        grace: std::time::Duration::from_secs(5),
        notice: Some(warn),
        prefix: Some(format!("{outer}{}", request.prefix)),
        logs: request.logs,
        bounds: Bounds::default(),
        ..shell::Options::default()
    };
    let shell::Outcome { moved, status, .. } = shell::run(&scenario, &options, signals)?;
    for text in moved.warnings.iter().chain(&moved.invalid).chain(&moved.notes) {
        warn(text);
    }
    Ok(ended_by_signal(status, signals).unwrap_or_else(|| ExitCode::from(status_of(status))))
}

/// The exit status if a signal has ended the command or this process. Ctrl-C that has ended the command ends this process too, as it
/// would without the emulator.
fn ended_by_signal(status: ExitStatus, signals: &Signals) -> Option<ExitCode> {
    // First, since the key can be noticed here only after the command has ended by it.
    if status.signal() == Some(INTERRUPT) && !signals.by_process() {
        end_by_interrupt();
    }
    signals.stop.load(Ordering::Relaxed).then(|| after_signal(signals))
}

fn report(cli: &Cli, error: &Error) {
    if cli.json_errors {
        print::note(error.to_json());
    } else {
        print::note(format_args!("error: {error}"));
    }
}

/// The exit status of what a signal has ended, as shells have it: 128 and its number. Ctrl-C ends the process itself.
fn after_signal(signals: &Signals) -> ExitCode {
    let (signal, _) = signals.requests();
    if signal == INTERRUPT && !signals.by_process() {
        end_by_interrupt();
    }
    ExitCode::from(AFTER_SIGNAL + signal as u8)
}

/// A script ends at Ctrl-C only if what it has started ends by it.
fn end_by_interrupt() {
    let _ = signal_hook::low_level::emulate_default_handler(INTERRUPT);
}

/// Exit statuses as shells have them: of a command that is there but cannot be executed, of one that does not exist, and of what signal 0
/// would have ended.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
const AFTER_SIGNAL: u8 = 128;

/// The exit status of a command, as shells have it.
fn status_of(command: ExitStatus) -> u8 {
    let signal = || Some(AFTER_SIGNAL + u8::try_from(command.signal()?).ok()?);
    command.code().and_then(|code| u8::try_from(code).ok()).or_else(signal).unwrap_or(1)
}

fn clean() -> Result<ExitCode, Error> {
    priority::check_capabilities()?;
    let registry::Cleaned { removed, emulators, left } = registry::clean_up();
    for name in &removed {
        print::line(format_args!("removed {name}"))?;
    }
    for why in &left {
        print::note(format_args!("error: {why}"));
    }
    if emulators == 0 && left.is_empty() {
        print::line("nothing was left behind")?;
    }
    Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

impl ScenarioArguments {
    fn load(&self) -> Result<Scenario, Error> {
        let name = self.file.display().to_string();
        let text =
            longhaul_program::text_file::read(&self.file).map_err(|why| ScenarioError::new(&name, why))?;
        let pairs =
            self.overrides.iter().map(|pair| split_pair("--set", pair)).collect::<Result<Vec<_>, _>>()?;
        Ok(longhaul_scenario::load_with(&text, &name, &pairs, None, &longhaul_parquet::read)?)
    }
    fn driver(&self) -> driver::Options {
        driver::Options { real_time: !self.no_real_time, spin: self.spin }
    }
}

fn split_pair(option: &str, pair: &str) -> Result<(String, String), Error> {
    let (name, value) = pair
        .split_once('=')
        .ok_or_else(|| Error::Unsupported(format!("{option} {pair}: there is no \"=\" in it")))?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

/// A notice for the user.
fn warn(text: &str) {
    print::note(format_args!("warning: {text}"));
}

/// What there is to know at the start.
fn note(text: &str) {
    print::note(format_args!("longhaul-emu: {text}"));
}

fn run_shell(arguments: &ShellArguments, may_print: bool, signals: &Signals) -> Result<ExitCode, Error> {
    let scenario = arguments.scenario.load()?;
    priority::check_capabilities()?;
    let serve =
        arguments.serve.iter().map(|pair| split_pair("--serve", pair)).collect::<Result<Vec<_>, _>>()?;
    let counters = arguments.live.then(Counters::of_command);
    let options = shell::Options {
        at: arguments.at.clone(),
        command: arguments.command.clone(),
        serve,
        internet: arguments.internet,
        driver: arguments.scenario.driver(),
        capture: arguments.capture.wanted(),
        tcp: match arguments.tcp {
            Whose::Machine => TcpOf::Machine,
            Whose::Scenario => TcpOf::Scenario,
        },
        account: Account::find(arguments.user.as_deref())?,
        grace: std::time::Duration::from_nanos(arguments.grace.as_nanos()),
        addresses: arguments.addresses.addresses.clone(),
        notice: (may_print && !arguments.quiet).then_some(warn as fn(&str)),
        started: (may_print && !arguments.quiet).then_some(note as fn(&str)),
        progress: counters.and_then(Counters::progress),
        links: counters == Some(Counters::Lines),
        name: arguments.control.name.clone(),
        as_it_was: arguments.as_it_was.as_it_was.clone(),
        prefix: None,
        logs: vec![],
        bounds: arguments.stats.bounds.bounds(),
    };
    if let Some(counters) = counters {
        counters.begin();
    }
    let outcome = shell::run(&scenario, &options, signals);
    if let Some(counters) = counters {
        counters.end();
    }
    let outcome = outcome?;
    let moved = &outcome.moved;
    arguments.stats.write(moved)?;
    if !arguments.quiet {
        print_moved(moved);
    }
    let ended = ended_by_signal(outcome.status, signals);
    Ok(ended.unwrap_or_else(|| arguments.stats.status(moved, status_of(outcome.status))))
}

fn run_enter(
    arguments: &EnterArguments,
    place: Option<&enter::Place>,
    signals: &Signals,
) -> Result<ExitCode, Error> {
    let Some(place) = place else { return Ok(ExitCode::SUCCESS) };
    let options = enter::Options {
        command: arguments.command.clone(),
        user: arguments.user.clone(),
        grace: std::time::Duration::from_nanos(arguments.grace.as_nanos()),
    };
    let status = enter::run(place, &options, signals)?;
    Ok(ended_by_signal(status, signals).unwrap_or_else(|| ExitCode::from(status_of(status))))
}

const INTERRUPT: i32 = signal_hook::consts::SIGINT;

/// Where counters are shown while a command runs: never among what it prints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counters {
    /// In the title of the terminal.
    Title,
    /// As lines on standard error, which is no terminal.
    Lines,
    /// The terminal has no title.
    Nowhere,
}

impl Counters {
    fn of_command() -> Counters {
        let titled = |kind: &str| !["", "dumb", "linux"].contains(&kind);
        match std::io::stderr().is_terminal() {
            false => Counters::Lines,
            true if titled(&std::env::var("TERM").unwrap_or_default()) => Counters::Title,
            true => Counters::Nowhere,
        }
    }

    fn progress(self) -> Option<fn(&driver::Status)> {
        match self {
            Counters::Title => Some(|status| print::show(format_args!("\x1b]2;{}\x07", counted(status)))),
            Counters::Lines => Some(tell_links),
            Counters::Nowhere => None,
        }
    }

    fn begin(self) {
        match self {
            // The title is kept (XTWINOPS 22).
            Counters::Title => print::show("\x1b[22;2t"),
            Counters::Lines => {}
            Counters::Nowhere => print::note(
                "longhaul-emu: this terminal has no title to show counters in (--live); send them to a file: 2> FILE",
            ),
        }
    }

    fn end(self) {
        if self == Counters::Title {
            print::show("\x1b[23;2t");
        }
    }
}

/// What became of packets, and whether that is to be believed.
fn print_moved(moved: &moved::Moved) {
    for warning in &moved.warnings {
        warn(warning);
    }
    for text in &moved.notes {
        note(text);
    }
    print::note(format_args!("longhaul-emu: {} (kernel {})", moved.lateness, kernel::release()));
    for why in &moved.invalid {
        print::note(format_args!("warning: INVALID: {why}"));
    }
}

fn run_bridge(arguments: &BridgeArguments, stop: &AtomicBool) -> Result<ExitCode, Error> {
    let scenario = arguments.scenario.load()?;
    priority::check_bridge_capabilities()?;
    let shown = arguments.live;
    let live = std::io::stderr().is_terminal() && !shown;
    let options = bridge::Options {
        driver: arguments.scenario.driver(),
        capture: arguments.capture.wanted(),
        progress: progress(shown, live),
        links: shown,
        name: arguments.control.name.clone(),
        as_it_was: arguments.as_it_was.as_it_was.clone(),
        notice: Some(warn),
        bounds: arguments.stats.bounds.bounds(),
    };
    let (first, second) = (&arguments.first[..], &arguments.second[..]);
    let bridge::Bridged { moved, cut } = bridge::run(&scenario, [first, second], &options, stop)?;
    arguments.stats.write(&moved)?;
    if live {
        print::note("");
    }
    print_moved(&moved);
    if moved.device_drops > 0 && cut.is_none() {
        let remedies = [first, second].map(other_end::remedy);
        print::note(format_args!(
            "warning: if frames are longer than the MTU, turn off what joins them: {}",
            remedies.join("; ")
        ));
    }
    match cut {
        Some(name) => Err(Error::system("go on", format!("the interface {name} has vanished"))),
        None => Ok(arguments.stats.status(&moved, 0)),
    }
}

/// The exit status of a run that is not to be believed.
const INVALID: u8 = 3;

fn run_scenario(arguments: &RunArguments, may_print: bool, stop: &AtomicBool) -> Result<ExitCode, Error> {
    let scenario = arguments.scenario.load()?;
    priority::check_capabilities()?;
    let stem = arguments.scenario.file.file_stem().unwrap_or_default().to_string_lossy();
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("results/{stem}-emulated")));
    let shown = arguments.live;
    let live = !arguments.quiet && !arguments.json && std::io::stderr().is_terminal() && !shown;
    let options = run::Options {
        out: out.clone(),
        driver: arguments.scenario.driver(),
        force: arguments.force,
        bounds: arguments.bounds.bounds(),
        until_done: arguments.until_done,
        taps: arguments.taps.clone(),
        addresses: arguments.addresses.addresses.clone(),
        started: (may_print && !arguments.quiet).then_some(note as fn(&str)),
        progress: progress(shown, live),
        links: shown,
        name: arguments.control.name.clone(),
        write_table: longhaul_parquet::write,
    };
    let summary = run::run(&scenario, &options, stop)?;
    if live {
        print::note("");
    }
    if arguments.json {
        let json =
            serde_json::to_string_pretty(&summary).map_err(|why| Error::system("print the summary", why))?;
        print::line(json)?;
    } else if !arguments.quiet {
        print_summary(&summary)?;
        print::line(format_args!("result: {}", out.display()))?;
    }
    let invalid = summary.emulation.as_ref().is_some_and(|emulation| !emulation.invalid.is_empty());
    Ok(if invalid { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
}

/// How far a run is: with all links if they are to be `shown`, else on one line if that is a terminal (`live`).
fn progress(shown: bool, live: bool) -> Option<fn(&driver::Status)> {
    shown.then_some(tell_links as fn(&driver::Status)).or(live.then_some(tell as fn(&driver::Status)))
}

/// Lines that were shown last, and the links in them.
static BOARD: Mutex<(show::Board, Vec<serde_json::Value>)> = Mutex::new((show::Board::new(), vec![]));

/// Counters and links, in place on a terminal.
fn tell_links(status: &driver::Status) {
    let (board, before) = &mut *BOARD.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines = vec![counted(status)];
    lines.extend(show::lines(&status.links, before));
    before.clone_from(&status.links);
    print::show(board.frame(&lines, terminal::columns(std::io::stderr())));
}

fn set(arguments: &SetArguments) -> Result<ExitCode, Error> {
    let words: Vec<&String> = std::iter::once(&arguments.link).chain(&arguments.settings).collect();
    let answer = control::ask(arguments.name.as_deref(), &serde_json::json!({ "set": words }))?;
    print::line(answer["done"].as_str().unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

fn status(arguments: &StatusArguments, stop: &AtomicBool) -> Result<ExitCode, Error> {
    let request = serde_json::json!({ "status": true });
    let of = |name: &str| control::ask(Some(name), &request).map(|mut answer| answer["status"].take());
    let names = match &arguments.name {
        Some(name) => vec![name.clone()],
        None => control::running(),
    };
    if arguments.json {
        // One that has ended meanwhile does not run.
        let all: Vec<serde_json::Value> = match &arguments.name {
            Some(name) => vec![of(name)?],
            None => names.iter().filter_map(|name| of(name).ok()).collect(),
        };
        let text =
            serde_json::to_string_pretty(&all).map_err(|why| Error::system("print the status", why))?;
        print::line(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if names.is_empty() {
        print::line("no emulator of this user is running")?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut board, mut before) = (show::Board::new(), vec![]);
    loop {
        let (mut lines, mut links) = (vec![], vec![]);
        for name in &names {
            let status = match of(name) {
                Ok(status) => status,
                Err(error) if arguments.name.is_some() && before.is_empty() => return Err(error),
                Err(_) => continue,
            };
            let own = status["links"].as_array().cloned().unwrap_or_default();
            lines.push(show::head(&status));
            let earlier: Vec<serde_json::Value> = before
                .iter()
                .filter(|(other, _)| other == name)
                .map(|(_, link): &(String, serde_json::Value)| link.clone())
                .collect();
            lines.extend(show::lines(&own, &earlier).into_iter().map(|line| format!("  {line}")));
            links.extend(own.into_iter().map(|link| (name.clone(), link)));
        }
        if lines.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let width = if arguments.live { terminal::columns(std::io::stdout()) } else { None };
        print::lines(board.frame(&lines, width))?;
        if !arguments.live {
            return Ok(ExitCode::SUCCESS);
        }
        before = links;
        for _ in 0..50 {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Live counters on one line of the terminal.
fn tell(status: &driver::Status) {
    print::show(format_args!("\r{} ", counted(status)));
}

fn counted(status: &driver::Status) -> String {
    let driver::Status { now, delivered, moved, dropped, latest, .. } = status;
    let (seconds, megabytes) = (now.as_secs_f64(), *delivered as f64 / 1e6);
    let latest = latest.as_secs_f64() * 1e6;
    let delivered = if *delivered > 0 { format!("{megabytes:9.2} MB delivered  ") } else { String::new() };
    format!("{seconds:6.0} s  {delivered}{moved:9} packets  {dropped:6} dropped  latest {latest:6.0} us")
}

fn print_summary(summary: &longhaul_results::Summary) -> Result<(), Error> {
    let text = |value: Option<f64>, scale: f64, unit: &str| match value {
        Some(value) => format!("{:.4} {unit}", value * scale),
        None => "-".to_string(),
    };
    print::line(format_args!(
        "{:<24} {:>18} {:>14} {:>14} {:>10}",
        "flow", "goodput", "completion", "mean RTT", "resent"
    ))?;
    for flow in &summary.flows {
        let metric = |name| flow.metrics.get(name);
        print::line(format_args!(
            "{:<24} {:>18} {:>14} {:>14} {:>10}",
            flow.name,
            text(metric("goodput_bps"), 1e-6, "Mbit/s"),
            text(metric("completion_time_s"), 1.0, "s"),
            text(metric("rtt_mean_s"), 1e3, "ms"),
            metric("retransmitted_packets").unwrap_or(0.0),
        ))?;
    }
    if let Some(emulation) = &summary.emulation {
        let us = |name| emulation.metrics.get(name).unwrap_or(0.0) * 1e6;
        print::line(format_args!(
            "kernel {}: {} packets, late by {:.1} us on average, p99 {:.0} us, p99.9 {:.0} us, at most {:.0} us; longest standstill {:.1} ms",
            emulation.kernel,
            emulation.metrics.get("moved_packets").unwrap_or(0.0),
            us("lateness_mean_s"),
            us("lateness_p99_s"),
            us("lateness_p999_s"),
            us("lateness_max_s"),
            us("standstill_max_s") / 1e3,
        ))?;
    }
    for warning in &summary.warnings {
        print::note(format_args!("warning: {}", warning.message));
    }
    Ok(())
}
