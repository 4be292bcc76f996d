//! The command line of recordings.

use super::client::{self, Progress};
use super::files;
use super::serve::{self, bytes};
use super::wire::LEAST_PROBE;
use super::{DATA, PORT, most_data, secret};
use crate::Error;
use crate::signals::Signals;
use clap::Args;
use longhaul_program::print;
use longhaul_units::{Duration, Rate, Size};
use std::io::IsTerminal;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time;

/// The longest probe.
const LARGEST_PROBE: usize = DATA as usize;
/// The shortest time between probes: more would be a flow.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);
/// Where nobody looks at a terminal, a line is written so often.
const LINES: time::Duration = time::Duration::from_secs(10);

/// See [`crate::record`].
#[derive(Args)]
pub struct Arguments {
    /// The far end, where `longhaul-emu record --serve` runs: a name or an address, and a port if it is not 8471 (HOST:PORT,
    /// [IPV6]:PORT).
    #[arg(required_unless_present = "serve")]
    server: Option<String>,
    /// Is the far end: answers whoever has the secret, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["server", "out", "force", "duration", "interval", "size", "rate", "every", "clocks_in_step"])]
    serve: bool,
    /// With --serve: the address to listen at, or address and port  [default: all addresses, port 8471]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// With --serve: permits flows of this rate at most, for --rate of the other end; without it there are none.
    #[arg(long, value_name = "RATE")]
    rate_at_most: Option<Rate>,
    /// The file with the secret that both ends share, of 16 characters or more.
    #[arg(long, value_name = "FILE")]
    secret_file: PathBuf,
    /// The directory for the files  [default: recorded-HOST]
    #[arg(long, short, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// Replace the files of an earlier recording there.
    #[arg(long)]
    force: bool,
    /// How long to send probes alone, and with --rate then as long for the flow from there, and for the flow to there.
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    duration: Duration,
    /// Time between two probes, at least 1 ms. Radios sleep between probes that are far apart.
    #[arg(long, value_name = "TIME", default_value = "20 ms")]
    interval: Duration,
    /// Bytes of a probe and of its echo, without headers: 64 to 1200.
    #[arg(long, value_name = "SIZE", default_value = "64 B")]
    size: Size,
    /// Measures rates too: sends this much each way, which is to be more than the path carries. Others on the path suffer meanwhile, and it
    /// takes data: how much at most, --data-at-most agrees to.
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Agrees that one recording takes so much data, both ways together. Needed for --rate; with --serve the most that is permitted
    /// [default there: 1 GB].
    #[arg(long, value_name = "SIZE")]
    data_at_most: Option<Size>,
    /// Rates are written for each so long part of the time, in whole 10 ms.
    #[arg(long, value_name = "TIME", default_value = "100 ms")]
    every: Duration,
    /// The clocks of both machines show the same time (PTP, GPS): one-way delays are measured. Without it they are half of round trips.
    #[arg(long)]
    clocks_in_step: bool,
    /// Prints nothing but warnings and errors.
    #[arg(long, short)]
    quiet: bool,
}

/// Serves or records, as the arguments have it. True if a signal has ended a recording before its time.
///
/// # Errors
/// Arguments that cannot be, and those of both.
pub fn run(arguments: &Arguments, signals: &Signals) -> Result<bool, Error> {
    let (secret, open) = secret(&arguments.secret_file).map_err(Error::Unsupported)?;
    if let Some(warning) = open {
        warn(&warning);
    }
    if arguments.serve {
        let note = (!arguments.quiet).then_some(note as fn(&str));
        let data = arguments.data_at_most.map_or(1_000_000_000, Size::as_bytes);
        let rate = arguments.rate_at_most;
        let listen = arguments.listen.as_deref().map(address).transpose()?;
        serve::serve(&serve::Options { listen, port: PORT, secret, rate, data, note }, &signals.stop)?;
        return Ok(false);
    }
    let server = arguments.server.clone().unwrap_or_default();
    let server = with_port(&server);
    check(arguments)?;
    let name: String = server
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '-' })
        .collect();
    let files = files::Options {
        out: arguments.out.clone().unwrap_or_else(|| format!("recorded-{name}").into()),
        force: arguments.force,
        every: arguments.every,
        in_step: arguments.clocks_in_step,
        interval: arguments.interval,
        rate: arguments.rate,
        server: server.clone(),
    };
    files::check(&files)?;
    if !arguments.quiet {
        let most = bytes(most(arguments));
        note(&format!(
            "records the path to {server} for {}; it takes {most} at most",
            time_in_words(all(arguments))
        ));
    }
    let options = client::Options {
        server,
        secret,
        duration: arguments.duration,
        interval: arguments.interval,
        size: arguments.size.as_bytes() as usize,
        rate: arguments.rate,
        progress: (!arguments.quiet).then_some(progress as fn(&Progress)),
        notice: warn,
    };
    let recorded = client::record(&options, signals);
    if !arguments.quiet && std::io::stderr().is_terminal() {
        print::show("\r\x1b[K");
    }
    let recorded = recorded?;
    let report = files::report(&recorded, &files)?;
    let written = report.write(&files)?;
    report.warnings.iter().for_each(|text| warn(text));
    if !arguments.quiet {
        for line in &report.lines {
            print::line(line)?;
        }
        let names: Vec<String> = written.iter().map(|file| file.display().to_string()).collect();
        print::line(format_args!("written: {}", names.join(", ")))?;
        for hint in report.hints(&files) {
            print::line(format_args!("    {hint}"))?;
        }
    }
    Ok(recorded.is_cut)
}

fn note(text: &str) {
    print::note(format_args!("longhaul-emu: {text}"));
}

fn warn(text: &str) {
    print::note(format_args!("warning: {text}"));
}

/// How long it takes in all.
fn all(arguments: &Arguments) -> Duration {
    arguments.duration * if arguments.rate.is_some() { 3 } else { 1 }
}

fn most(arguments: &Arguments) -> u64 {
    let probes = all(arguments).as_nanos().div_ceil(arguments.interval.as_nanos().max(1));
    let flow = arguments.rate.map(|rate| (rate, arguments.duration));
    most_data(probes, arguments.size.as_bytes() as usize, flow)
}

fn check(arguments: &Arguments) -> Result<(), Error> {
    let unsupported = |text: String| Err(Error::Unsupported(text));
    if arguments.listen.is_some() || arguments.rate_at_most.is_some() {
        return unsupported("--listen and --rate-at-most are for --serve, the far end".to_string());
    }
    if arguments.interval < LEAST_INTERVAL {
        return unsupported(format!("--interval {}: at least 1 ms", arguments.interval));
    }
    if arguments.duration < arguments.interval * 2 {
        return unsupported(format!("--duration {}: at least two probes are needed", arguments.duration));
    }
    let sizes = LEAST_PROBE as u64..=LARGEST_PROBE as u64;
    if !sizes.contains(&arguments.size.as_bytes()) {
        return unsupported(format!("--size {}: {LEAST_PROBE} to {LARGEST_PROBE} bytes", arguments.size));
    }
    let bin = super::bins::BIN.as_nanos();
    if arguments.every.is_zero() || arguments.every.as_nanos() % bin != 0 {
        return unsupported(format!("--every {}: a multiple of 10 ms", arguments.every));
    }
    let most = most(arguments);
    let agreed = arguments.data_at_most.map(Size::as_bytes);
    if arguments.rate.is_some() || agreed.is_some() {
        let rate = arguments
            .rate
            .map_or(String::new(), |rate| format!("--rate {rate} for {} each way: ", arguments.duration));
        if agreed.is_none_or(|agreed| agreed < most) {
            let needed = most.div_ceil(1_000_000);
            return unsupported(format!(
                "{rate}that takes {} of data at most, and others on the path suffer; agree with --data-at-most {needed}MB",
                bytes(most)
            ));
        }
    }
    Ok(())
}

/// A server with its port.
fn with_port(server: &str) -> String {
    match server.parse::<IpAddr>() {
        Ok(IpAddr::V6(v6)) => format!("[{v6}]:{PORT}"),
        Ok(IpAddr::V4(v4)) => format!("{v4}:{PORT}"),
        Err(_) if server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) => {
            server.to_string()
        }
        Err(_) => format!("{server}:{PORT}"),
    }
}

fn address(text: &str) -> Result<SocketAddr, Error> {
    with_port(text).parse().map_err(|_| {
        Error::Unsupported(format!(
            "--listen {text}: an address, as in 192.0.2.1, 192.0.2.1:8471 or [2001:db8::1]:8471"
        ))
    })
}

fn time_in_words(time: Duration) -> String {
    let seconds = time.as_nanos().div_ceil(1_000_000_000);
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{}:{:02} min", seconds / 60, seconds % 60),
    }
}

/// When a line was written last.
static LAST: Mutex<Option<time::Instant>> = Mutex::new(None);

fn progress(progress: &Progress) {
    let rtt = progress.rtt.map_or("-".to_string(), |rtt| format!("{:.1} ms", rtt.as_secs_f64() * 1e3));
    let left = if progress.left.is_zero() {
        String::new()
    } else {
        format!(", {} left", time_in_words(progress.left))
    };
    let text = format!(
        "{}{left}; {} of {} probes answered, round trip {rtt}",
        progress.stage, progress.answered, progress.sent
    );
    if std::io::stderr().is_terminal() {
        return print::show(format_args!("\r\x1b[K{text}"));
    }
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.is_none_or(|last| last.elapsed() >= LINES) {
        *last = Some(time::Instant::now());
        note(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(words: &str) -> Result<Arguments, String> {
        let words = ["record"].into_iter().chain(words.split(' '));
        Line::try_parse_from(words).map(|line| line.arguments).map_err(|why| why.to_string())
    }

    fn refused(words: &str) -> String {
        check(&read(words).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn servers_have_a_port() {
        for (server, with) in [
            ("far.example", "far.example:8471"),
            ("far.example:9", "far.example:9"),
            ("192.0.2.1", "192.0.2.1:8471"),
            ("2001:db8::1", "[2001:db8::1]:8471"),
            ("[2001:db8::1]:9", "[2001:db8::1]:9"),
        ] {
            assert_eq!(with_port(server), with);
        }
        assert!(address("far.example").is_err());
    }

    #[test]
    fn a_flow_is_agreed_to_with_its_data() {
        let words = "far --secret-file s --rate 50Mbit/s";
        // Two flows of 375 MB, and 9,000 probes and echoes of 112 B.
        assert_eq!(
            refused(words),
            "--rate 50 Mbit/s for 60 s each way: that takes 752.0 MB of data at most, and others on the path suffer; \
             agree with --data-at-most 753MB"
        );
        assert!(refused(&format!("{words} --data-at-most 700MB")).contains("--data-at-most 753MB"));
        assert!(check(&read(&format!("{words} --data-at-most 753MB")).unwrap()).is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let of = |words: &str| refused(&format!("far --secret-file s {words}"));
        assert!(of("--interval 0.5ms").contains("at least 1 ms"));
        assert!(of("--duration 30ms").contains("two probes"));
        assert!(of("--size 63B").contains("64 to 1200"));
        assert!(of("--every 15ms").contains("a multiple of 10 ms"));
        assert!(read("--secret-file s").is_err());
        assert!(read("far --serve --secret-file s").is_err());
        assert!(of("--rate-at-most 1Mbit/s").contains("are for --serve"));
        assert!(read("--serve --secret-file s --rate-at-most 1Mbit/s").is_ok());
    }
}
