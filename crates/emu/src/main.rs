//! `longhaul-emu`: real packets through a scenario's path.

use clap::{Args, Parser, Subcommand};
use longhaul_emu::{Error, bridge, driver, kernel, priority, registry, run, shell};
use longhaul_scenario::{Scenario, ScenarioError};
use longhaul_units::Duration;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    /// Removes what killed emulators have left behind. Every start does this too.
    Clean,
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
}

impl StatsArguments {
    fn write(&self, moved: &run::Moved) -> Result<(), Error> {
        let Some(file) = &self.stats else { return Ok(()) };
        std::fs::write(file, format!("{:#}\n", moved.to_json()))
            .map_err(|why| Error::system(format!("write {}", file.display()), why))
    }
}

#[derive(Args)]
struct RunArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// The result directory  [default: results/NAME-emulated]
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// The run is marked INVALID if 1 % of the packets are later than this.
    #[arg(long, value_name = "TIME", default_value = "1 ms")]
    max_lateness: Duration,
    /// End when all transfers of given size are done.
    #[arg(long)]
    until_done: bool,
    /// Captures packets at this point into packets.pcapng of the result, as in satellite, satellite.forward.in (before the queue),
    /// satellite.forward.out (at the far end), pep.in, pep.out (a middlebox), all; may be repeated.
    #[arg(long = "tap", value_name = "POINT")]
    taps: Vec<String>,
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
    /// The interface that stands for the node where the first flow begins.
    first: String,
    /// The interface that stands for the node where it ends.
    second: String,
}

#[derive(Args)]
struct ShellArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// The node at which the command runs; without it, the one that the first flow's data goes to.
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Runs a command at another node meanwhile, as in server="python3 -m http.server".
    #[arg(long, value_name = "NODE=COMMAND")]
    serve: Vec<String>,
    #[command(flatten)]
    capture: CaptureArguments,
    /// Counts packets on standard error while the command runs.
    #[arg(long)]
    live: bool,
    /// The node at the other end hands on what is for other addresses: the command reaches what this machine reaches, through the
    /// path (IPv4; wants nftables).
    #[arg(long)]
    internet: bool,
    /// Does not say what happened at the end.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    stats: StatsArguments,
    /// The command and its arguments, after `--`.
    #[arg(last = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        Action::Shell(arguments) => run_shell(arguments),
        Action::Run(arguments) => run_scenario(arguments),
        Action::Bridge(arguments) => run_bridge(arguments),
        Action::Clean => {
            registry::clean_up().iter().for_each(|name| println!("removed {name}"));
            Ok(ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|error| {
        if cli.json_errors {
            eprintln!("{}", error.to_json());
        } else {
            eprintln!("error: {error}");
        }
        ExitCode::from(2)
    })
}

/// A flag that Ctrl-C, a hang-up or a request to end sets.
fn stop_flag() -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, flag.clone())
            .map_err(|why| Error::system("watch for signals", why))?;
    }
    Ok(flag)
}

impl ScenarioArguments {
    fn load(&self) -> Result<Scenario, Error> {
        let name = self.file.display().to_string();
        let text = std::fs::read_to_string(&self.file)
            .map_err(|why| ScenarioError::new(&name, format!("cannot be read: {why}")))?;
        let pairs =
            self.overrides.iter().map(|pair| split_pair("--set", pair)).collect::<Result<Vec<_>, _>>()?;
        Ok(longhaul_scenario::load_with(&text, &name, &pairs, &longhaul_parquet::read)?)
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

fn run_shell(arguments: &ShellArguments) -> Result<ExitCode, Error> {
    let scenario = arguments.scenario.load()?;
    priority::check_capabilities()?;
    let serve =
        arguments.serve.iter().map(|pair| split_pair("--serve", pair)).collect::<Result<Vec<_>, _>>()?;
    let options = shell::Options {
        at: arguments.at.clone(),
        command: arguments.command.clone(),
        serve,
        internet: arguments.internet,
        driver: arguments.scenario.driver(),
        capture: arguments.capture.wanted(),
        progress: arguments.live.then_some(tell as fn(&run::Status)),
    };
    let outcome = shell::run(&scenario, &options, &*stop_flag()?)?;
    if arguments.live {
        eprintln!();
    }
    arguments.stats.write(&outcome.moved)?;
    if !arguments.quiet {
        let moved = &outcome.moved;
        for warning in &moved.warnings {
            eprintln!("warning: {warning}");
        }
        eprintln!("longhaul-emu: {} (kernel {})", moved.lateness, kernel::release());
        if moved.device_drops > 0 {
            eprintln!("warning: {} packets were lost by the emulator's own devices", moved.device_drops);
        }
    }
    let code = outcome.status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn run_bridge(arguments: &BridgeArguments) -> Result<ExitCode, Error> {
    let scenario = arguments.scenario.load()?;
    priority::check_bridge_capabilities()?;
    let options = bridge::Options {
        driver: arguments.scenario.driver(),
        capture: arguments.capture.wanted(),
        progress: std::io::stderr().is_terminal().then_some(tell as fn(&run::Status)),
    };
    let interfaces = [&arguments.first[..], &arguments.second[..]];
    let moved = bridge::run(&scenario, interfaces, &options, &*stop_flag()?)?;
    arguments.stats.write(&moved)?;
    for warning in &moved.warnings {
        eprintln!("warning: {warning}");
    }
    eprintln!("\nlonghaul-emu: {}", moved.lateness);
    if moved.device_drops > 0 {
        eprintln!(
            "warning: the interfaces have lost or refused {} frames; if frames are longer than the MTU, turn off merging: \
             ethtool -K {} gro off tso off gso off, and the same for {}",
            moved.device_drops, arguments.first, arguments.second
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The exit status of a run that is not to be believed.
const INVALID: u8 = 3;

fn run_scenario(arguments: &RunArguments) -> Result<ExitCode, Error> {
    let scenario = arguments.scenario.load()?;
    priority::check_capabilities()?;
    let stem = arguments.scenario.file.file_stem().unwrap_or_default().to_string_lossy();
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("results/{stem}-emulated")));
    let live = !arguments.quiet && !arguments.json && std::io::stderr().is_terminal();
    let options = run::Options {
        out: out.clone(),
        driver: arguments.scenario.driver(),
        most_late: arguments.max_lateness,
        until_done: arguments.until_done,
        taps: arguments.taps.clone(),
        progress: live.then_some(tell as fn(&run::Status)),
    };
    let summary = run::run(&scenario, &options, &*stop_flag()?)?;
    if live {
        eprintln!();
    }
    if arguments.json {
        let json =
            serde_json::to_string_pretty(&summary).map_err(|why| Error::system("print the summary", why))?;
        println!("{json}");
    } else if !arguments.quiet {
        print_summary(&summary);
        println!("result: {}", out.display());
    }
    let invalid = summary.emulation.as_ref().is_some_and(|emulation| !emulation.invalid.is_empty());
    Ok(if invalid { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
}

/// Live counters on one line of the terminal.
fn tell(status: &run::Status) {
    let run::Status { now, delivered, moved, dropped, latest } = status;
    let (seconds, megabytes) = (now.as_secs_f64(), *delivered as f64 / 1e6);
    let latest = latest.as_secs_f64() * 1e6;
    let delivered = if *delivered > 0 { format!("{megabytes:9.2} MB delivered  ") } else { String::new() };
    eprint!("\r{seconds:6.0} s  {delivered}{moved:9} packets  {dropped:6} dropped  latest {latest:6.0} us ");
}

fn print_summary(summary: &longhaul_results::Summary) {
    let text = |value: Option<f64>, scale: f64, unit: &str| match value {
        Some(value) => format!("{:.4} {unit}", value * scale),
        None => "-".to_string(),
    };
    println!("{:<24} {:>18} {:>14} {:>14} {:>10}", "flow", "goodput", "completion", "mean RTT", "resent");
    for flow in &summary.flows {
        let metric = |name| flow.metrics.get(name);
        println!(
            "{:<24} {:>18} {:>14} {:>14} {:>10}",
            flow.name,
            text(metric("goodput_bps"), 1e-6, "Mbit/s"),
            text(metric("completion_time_s"), 1.0, "s"),
            text(metric("rtt_mean_s"), 1e3, "ms"),
            metric("retransmitted_packets").unwrap_or(0.0),
        );
    }
    if let Some(emulation) = &summary.emulation {
        let us = |name| emulation.metrics.get(name).unwrap_or(0.0) * 1e6;
        println!(
            "kernel {}: {} packets, late by {:.1} us on average, p99 {:.0} us, p99.9 {:.0} us, at most {:.0} us",
            emulation.kernel,
            emulation.metrics.get("moved_packets").unwrap_or(0.0),
            us("lateness_mean_s"),
            us("lateness_p99_s"),
            us("lateness_p999_s"),
            us("lateness_max_s"),
        );
    }
    for warning in &summary.warnings {
        eprintln!("warning: {}", warning.message);
    }
}
