//! The command line of `longhaul-pep`.

#[cfg_attr(not(feature = "demo"), path = "no_demo.rs")]
mod demonstrate;

use clap::{Parser, Subcommand, ValueEnum};
use longhaul_pep::config::Log;
use longhaul_pep::control::{self, Command};
use longhaul_pep::doctor::{self, Verdict};
use longhaul_pep::firewall::Firewall;
use longhaul_pep::journal;
use longhaul_pep::{Error, bench, capture, class, daemon, keys, load, page, sizing};
use longhaul_program::print;
use std::fmt::Display;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Accelerates TCP connections over satellite links and other long, fat or lossy paths.
#[derive(Parser)]
#[command(name = "longhaul-pep", version, max_term_width = 120)]
struct Cli {
    /// Configuration file
    #[arg(long, short, global = true, default_value = "/etc/longhaul/pep.toml")]
    config: PathBuf,
    /// Errors as a line of JSON
    #[arg(long, global = true)]
    json_errors: bool,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check the configuration file
    Check,
    /// Run the accelerator until Ctrl-C or SIGTERM; SIGHUP reads the file again
    Run,
    /// Print every command that `run` would give to nftables and ip, and run none
    Plan {
        /// Print how this machine's firewall lets in what is intercepted, or at a hub its terminals: ufw, firewalld, fw4 or nftables
        #[arg(long)]
        firewall: Option<Firewall>,
    },
    /// Numbers of the running accelerator
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Connections of the running accelerator
    Flows {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Order
        #[arg(long, value_enum, default_value_t = Sort::Bytes)]
        sort: Sort,
        /// Most lines; 0 for all
        #[arg(long, default_value_t = 40)]
        top: usize,
        /// Show again each second, until Ctrl-C
        #[arg(long)]
        live: bool,
    },
    /// Take no new connections, let those alive end, then stop
    Drain,
    /// Let new connections pass untouched, or accelerate them again; without an argument, print what is set
    Bypass {
        /// Whether they pass
        #[arg(value_enum)]
        state: Option<OnOff>,
    },
    /// See it in one minute: a page and a download over an emulated satellite link, without and with the accelerator (needs root)
    Demo(demonstrate::Options),
    /// Write the packets of one connection, at both of its sides, into a pcapng file (needs root)
    Capture {
        /// Its id, as `flows` shows it
        flow: u64,
        /// The file
        #[arg(long, short, default_value = "flow.pcapng")]
        out: PathBuf,
        /// Seconds; Ctrl-C ends it earlier
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
    /// Look for settings of this machine that keep the accelerator from working well
    Doctor {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure rate, loss and round trip of the link to the hub, through the running accelerator (at a terminal)
    Bench {
        /// Measure this machine instead, in network namespaces of its own: rates, memory, openings, delay (needs root)
        #[arg(long = "self")]
        machine: bool,
        /// Seconds for each direction, 1 to 600, by default 10; with --self for each figure, 1 to 60, by default 3
        #[arg(long)]
        seconds: Option<u32>,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Write the link as a scenario for `longhaul run`
        #[arg(long, conflicts_with = "machine")]
        scenario: Option<PathBuf>,
    },
    /// Make a key pair in a file and print the public key, which goes into the other node's file
    Keygen {
        /// The file
        #[arg(default_value = "/etc/longhaul/pep.key")]
        file: PathBuf,
        /// Print the public key of a file that exists
        #[arg(long)]
        show: bool,
    },
    /// Set this machine up in a browser: a page that asks for what is needed, checks the file, writes and starts it (needs root)
    Setup {
        /// Where the page is, on loopback; from elsewhere, ssh -L 7717:127.0.0.1:7717 leads there
        #[arg(long, default_value_t = ([127, 0, 0, 1], longhaul_pep::config::PageAddress::SETUP_PORT).into())]
        listen: std::net::SocketAddr,
        /// Control socket of the accelerator that is set up, if not the usual one
        #[arg(long)]
        control: Option<PathBuf>,
    },
    /// Print the address of the page ([page] in the file), with the token that opens it
    Page,
    /// Remove what a killed accelerator has left behind
    Clean,
    /// The part of `run` that changes the network; not for people
    #[command(hide = true)]
    Helper,
    /// The part of `run` that serves the page; not for people
    #[command(hide = true)]
    PageServer,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnOff {
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Most bytes first
    Bytes,
    /// Oldest first
    Age,
    /// Most bytes in memory first
    Held,
}

fn main() -> ExitCode {
    let cli: Cli = match print::arguments() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    match act(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if cli.json_errors => {
            print::note(serde_json::json!({ "error": error.code(), "message": error.to_string() }));
            ExitCode::from(2)
        }
        Err(error) => {
            print::note(format_args!("error: {error}"));
            ExitCode::from(2)
        }
    }
}

fn act(cli: &Cli) -> Result<(), Error> {
    let path = &cli.config;
    match &cli.action {
        Action::Check => {
            let config = load::load(path)?;
            // The file can be correct before the key is made, or where another may read it.
            match config.hop.as_ref().map(|hop| keys::load(&hop.key)) {
                Some(Err(why)) => print::note(format_args!("warning: {why}")),
                Some(Ok(identity)) => {
                    if let Some(what) = longhaul_pep::own_key_as_peer(&config, &identity) {
                        return Err(Error::Config(what));
                    }
                }
                None => {}
            }
            for what in load::unfilled(&config).into_iter().chain(class::without_effect(&config)) {
                print::note(format_args!("warning: {what}"));
            }
            let hubs: Vec<String> =
                config.hop.iter().flat_map(|hop| hop.hubs()).map(|hub| hub.to_string()).collect();
            match hubs.as_slice() {
                [_, _, ..] => line(format_args!(
                    "{}: correct; hubs, the preferred one first: {}",
                    path.display(),
                    hubs.join(", ")
                )),
                _ => line(format_args!("{}: correct", path.display())),
            }
        }
        Action::Run => {
            log_as(load::load(path)?.log);
            daemon::run(path)
        }
        Action::Plan { firewall } => {
            let config = load::load(path)?;
            if let Some(firewall) = firewall {
                return lines(firewall.recipe(&config));
            }
            let commands = daemon::planned(&config)
                .unwrap_or_else(|| "# no [intercept]: nothing is done to this machine's network\n".into());
            lines(commands + &class::described(&config))
        }
        Action::Status { json } => {
            let answer = control::ask(&socket(path)?, Command::Status)?;
            lines(if *json { format!("{answer}\n") } else { shown(&answer, 0) })
        }
        Action::Flows { json, sort, top, live } => loop {
            let mut answer = control::ask(&socket(path)?, Command::Flows)?;
            if let Some(list) = answer.as_array_mut() {
                list.sort_by_key(|flow| std::cmp::Reverse(key(flow, *sort)));
                if *top > 0 {
                    list.truncate(*top);
                }
            }
            let clear = if *live && std::io::stdout().is_terminal() { "\x1b[2J\x1b[H" } else { "" };
            lines(if *json { format!("{answer}\n") } else { format!("{clear}{}", table(&answer)) })?;
            if !live {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        Action::Drain => tell(path, Command::Drain),
        Action::Bypass { state: Some(state) } => {
            tell(path, Command::Bypass { on: matches!(state, OnOff::On) })
        }
        Action::Bypass { state: None } => {
            line(control::bypass_state(&control::ask(&socket(path)?, Command::Status)?))
        }
        Action::Doctor { json } => {
            let findings = doctor::examine(&load::load(path)?);
            if *json {
                return line(serde_json::json!(findings));
            }
            for finding in &findings {
                let word = match finding.verdict {
                    Verdict::Good => "good",
                    Verdict::Poor => "poor",
                    Verdict::Bad => "BAD",
                };
                line(format_args!("{word:<5} {:<20} {}", finding.what, finding.text))?;
            }
            Ok(())
        }
        Action::Demo(options) => demonstrate::act(options),
        Action::Bench { machine: true, seconds, json, .. } => size(seconds.unwrap_or(3), *json),
        Action::Bench { seconds, json, scenario, .. } => {
            measure(path, seconds.unwrap_or(10), *json, scenario.as_deref())
        }
        Action::Capture { flow, out, seconds } => {
            let time = std::time::Duration::from_secs(*seconds);
            let done = capture::capture(&socket(path)?, *flow, out, time, &*interrupted()?)?;
            line(format_args!("{} packets of {} in {}", done.packets, done.what, out.display()))
        }
        Action::Helper => longhaul_pep::helper::serve(),
        Action::Setup { listen, control } => page::set_up(path, *listen, control.clone(), |address| {
            line(format_args!("open {address}\nCtrl-C ends the set-up; what it has started goes on"))
        }),
        Action::Page => line(page::address(path)?),
        Action::PageServer => {
            log_as(load::load(path)?.log);
            page::serve(path)
        }
        Action::Keygen { file, show: false } => line(keys::generate(file)?),
        Action::Keygen { file, show: true } => {
            line(format_args!("{}", longhaul_pep::config::Key(keys::load(file)?.public_key().0)))
        }
        Action::Clean => {
            load::load(path)?.intercept.map_or(Ok(()), |intercept| longhaul_pep::system::clean(&intercept))
        }
    }
}

/// Turns true at Ctrl-C and the like.
fn interrupted() -> Result<Arc<AtomicBool>, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|why| Error::system("listen to signals", why))?;
    }
    Ok(stop)
}

fn measure(path: &Path, seconds: u32, json: bool, scenario: Option<&Path>) -> Result<(), Error> {
    let answer = control::ask(&socket(path)?, Command::Bench { seconds })?;
    let measured: bench::Measured = serde_json::from_value(answer.clone())
        .map_err(|why| Error::Control(format!("the daemon is of another version: {why}")))?;
    lines(if json { format!("{answer}\n") } else { bench::table(&measured) })?;
    let Some(file) = scenario else { return Ok(()) };
    std::fs::write(file, bench::scenario(&measured))
        .map_err(|why| Error::system(format!("write {}", file.display()), why))
}

fn size(seconds: u32, json: bool) -> Result<(), Error> {
    let stop = interrupted()?;
    let program = std::env::current_exe().map_err(|why| Error::system("find this program", why))?;
    let report = sizing::measure(seconds, &program, &stop, &|step| print::note(format_args!("{step} ...")))?;
    lines(if json { format!("{}\n", serde_json::json!(report)) } else { sizing::table(&report) })
}

/// The control socket of the daemon with this file.
fn socket(path: &Path) -> Result<PathBuf, Error> {
    Ok(load::load(path)?.control)
}

fn tell(path: &Path, command: Command) -> Result<(), Error> {
    let answer = control::ask(&socket(path)?, command)?;
    line(format_args!("{}", answer["done"].as_str().unwrap_or("done")))
}

fn key(flow: &serde_json::Value, sort: Sort) -> u64 {
    let sum = |field: &str| ["up", "down"].iter().filter_map(|way| flow[way][field].as_u64()).sum();
    match sort {
        Sort::Bytes => sum("received"),
        Sort::Held => sum("held"),
        Sort::Age => flow["seconds"].as_f64().map_or(0, |seconds| (seconds * 1000.0) as u64),
    }
}

/// Nested values, one a line.
fn shown(value: &serde_json::Value, depth: usize) -> String {
    let Some(map) = value.as_object() else { return format!("{value}\n") };
    let mut text = String::new();
    for (name, value) in map {
        let left = format!("{}{}", "  ".repeat(depth), name.replace('_', " "));
        match value {
            serde_json::Value::Object(inner) if inner.is_empty() => {}
            serde_json::Value::Array(list) => {
                for (number, item) in list.iter().enumerate() {
                    text += &format!("{left} {}\n{}", number + 1, shown(item, depth + 1));
                }
            }
            serde_json::Value::Object(_) => text += &format!("{left}\n{}", shown(value, depth + 1)),
            serde_json::Value::String(word) => text += &format!("{left:<20} {word}\n"),
            serde_json::Value::Number(number) if number.is_f64() => {
                text += &format!("{left:<20} {:.1}\n", number.as_f64().unwrap_or(0.0));
            }
            serde_json::Value::Bool(yes) => {
                text += &format!("{left:<20} {}\n", if *yes { "yes" } else { "no" })
            }
            other => text += &format!("{left:<20} {other}\n"),
        }
    }
    text
}

fn table(flows: &serde_json::Value) -> String {
    let mut text = format!(
        "{:>8} {:<11} {:>9} {:>14} {:>14} {:>9}  {}\n",
        "id", "state", "seconds", "up", "down", "held", "client -> server"
    );
    for flow in flows.as_array().into_iter().flatten() {
        let word = |name: &str| flow[name].as_str().unwrap_or("").replace('_', " ");
        text += &format!(
            "{:>8} {:<11} {:>9.1} {:>14} {:>14} {:>9}  {} -> {}\n",
            flow["id"].to_string(),
            word("state"),
            flow["seconds"].as_f64().unwrap_or(0.0),
            flow["up"]["sent"].to_string(),
            flow["down"]["sent"].to_string(),
            key(flow, Sort::Held),
            word("client"),
            word("server"),
        );
    }
    text
}

fn line(text: impl Display) -> Result<(), Error> {
    lines(format_args!("{text}\n"))
}

/// Text that ends its lines itself.
fn lines(text: impl Display) -> Result<(), Error> {
    Ok(print::lines(text)?)
}

fn log_as(form: Log) {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    // Levels by targets, as in "info,quinn_proto=debug"; filters of fields would bring regular expressions into the program.
    let wanted = std::env::var("LONGHAUL_LOG").ok().filter(|levels| !levels.is_empty());
    let filter = wanted.and_then(|levels| levels.parse::<Targets>().ok());
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let builder = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    match form {
        // The journal has the time and, by the prefix, the priority.
        _ if journal::is_there() => {
            let plain =
                builder.with_writer(journal::Prefixed).without_time().with_level(false).with_ansi(false);
            if form == Log::Json {
                plain.json().finish().with(filter).init();
            } else {
                plain.finish().with(filter).init();
            }
        }
        Log::Json => builder.json().with_writer(std::io::stderr).finish().with(filter).init(),
        Log::Text => {
            let plain = builder.with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
            plain.finish().with(filter).init();
        }
    }
}
