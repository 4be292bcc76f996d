//! `longhaul-pep bench --self`: what this machine carries with the accelerator, in network namespaces of its own. Client, nodes and
//! server share its processors, so that rates are stated for a processor of the node that uses most.

use crate::Error;
use crate::config::Carrier;
use nodes::{Daemon, Row};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use traffic::Step;

mod fleet;
mod nodes;
mod place;
mod traffic;

pub use fleet::Terminals;

/// Connections that are held open to measure their memory, if the limit of open files allows it.
const HELD: usize = 2_000;
/// Terminals of a hub.
const TERMINALS: usize = 200;
/// The longest that each figure is measured, in seconds.
pub const LONGEST: u32 = 60;

/// Times in seconds: the median, and what 99 of 100 are not longer than.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The 99th percentile.
    pub p99: f64,
}

impl Spread {
    fn of(mut times: Vec<f64>) -> Spread {
        times.sort_by(f64::total_cmp);
        // Of an empty list, nothing.
        let at = |part: f64| times.get((times.len() as f64 * part) as usize).copied().unwrap_or(0.0);
        Spread { median: at(0.5), p99: at(0.99) }
    }
}

/// One way through this machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Case {
    /// Which.
    pub name: &'static str,
    /// Bytes of four downloads together, in bit/s.
    pub goodput_bps: f64,
    /// Processors that each node used meanwhile: the terminal, then the hub.
    pub cores: Vec<f64>,
    /// Bytes of each node's memory before connections came, and the most during the downloads.
    pub memory: Vec<[f64; 2]>,
    /// Seconds of a question of 100 bytes and its answer, without a node and with it.
    pub question: [Spread; 2],
    /// Connections that were opened one after the other by four clients, in a second.
    pub openings: f64,
    /// Seconds from the opening of a connection to the answer of its first question.
    pub opening: Spread,
    /// Bytes of each node's memory for a connection that is open and idle.
    pub bytes_each: Vec<f64>,
    /// Part of the connections that a node has taken in; less than all, and the figures are mixed.
    pub accelerated: f64,
}

impl Case {
    /// Bit/s for a whole processor of the node that uses most; without nodes, nothing.
    pub fn bps_per_core(&self) -> Option<f64> {
        let most = self.cores.iter().copied().reduce(f64::max)?;
        (most > 0.0).then_some(self.goodput_bps / most)
    }
}

/// All that was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Version of this program.
    pub version: &'static str,
    /// Linux's release.
    pub kernel: String,
    /// The processor's name, as far as the kernel has one.
    pub processor: String,
    /// How many there are.
    pub processors: usize,
    /// Mean number of programs that ran in the minute before; what else runs disturbs all figures.
    pub load: f64,
    /// Seconds for each figure.
    pub seconds: u32,
    /// Without a node, and with one and two.
    pub cases: Vec<Case>,
    /// Terminals of a hub that carry nothing.
    pub terminals: Terminals,
}

/// A folder that is removed with what is in it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Measures everything; `told` is called with a line for each step.
///
/// # Errors
/// What the system refuses; `stop` is set.
pub fn measure(
    seconds: u32,
    program: &Path,
    stop: &AtomicBool,
    told: &dyn Fn(&str),
) -> Result<Report, Error> {
    if !(1..=LONGEST).contains(&seconds) {
        return Err(Error::Config(format!("--seconds {seconds}: with --self from 1 to {LONGEST}")));
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::system("make network namespaces", "this is not root; run it as root"));
    }
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let load = read("/proc/loadavg").split_whitespace().next().and_then(|word| word.parse().ok());
    let info = read("/proc/cpuinfo");
    let named = |name: &str| info.lines().find(|line| line.starts_with(name))?.split_once(": ");
    let processor = ["model name", "Hardware", "cpu model"].iter().find_map(|name| named(name));
    let folder = Folder(std::env::temp_dir().join(format!("longhaul-pep-self-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).map_err(|why| Error::system("make a folder", why))?;
    let held = HELD.min(open_files()?.saturating_sub(200) / 2);
    let plan =
        Plan { time: Duration::from_secs(seconds.into()), program, folder: &folder.0, held, stop, told };
    let cases = vec![
        plan.case("without a node", 1, None)?,
        plan.case("one node", 1, Some(Carrier::Auto))?,
        plan.case("two nodes over QUIC", 2, Some(Carrier::Quic))?,
        plan.case("two nodes over TCP", 2, Some(Carrier::Tcp))?,
    ];
    told("terminals of a hub");
    let terminals = fleet::measure(program, &folder.0, TERMINALS, plan.time, stop)?;
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_string(),
        processor: processor.map_or("unknown".into(), |(_, name)| name.trim().to_string()),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        load: load.unwrap_or(0.0),
        seconds,
        cases,
        terminals,
    })
}

/// As many open files as this process may have.
fn open_files() -> Result<usize, Error> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let failed = |why| Error::system("read the limit of open files", why);
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    // What is refused leaves it as it was.
    let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    Ok(usize::try_from(soft).unwrap_or(usize::MAX))
}

/// What all cases have in common.
struct Plan<'a> {
    time: Duration,
    program: &'a Path,
    folder: &'a Path,
    held: usize,
    stop: &'a AtomicBool,
    told: &'a dyn Fn(&str),
}

impl Plan<'_> {
    fn goes_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::system("finish", "interrupted")) } else { Ok(()) }
    }

    fn case(&self, name: &'static str, nodes: usize, carrier: Option<Carrier>) -> Result<Case, Error> {
        self.goes_on()?;
        (self.told)(name);
        let time = self.time;
        let row = Row::new(nodes)?;
        let _server = row.server.run(traffic::serve)?;
        let without = row.client.run(move || traffic::questions(time))?;
        let daemons = match carrier {
            None => vec![],
            Some(carrier) => row.accelerate(self.program, self.folder, carrier, self.stop)?,
        };
        let memory = |daemons: &[Daemon]| daemons.iter().map(Daemon::memory).collect::<Vec<f64>>();
        let before = memory(&daemons);
        let bytes_each = if daemons.is_empty() {
            vec![]
        } else {
            let held = self.held;
            let connections = row.client.run(move || traffic::hold(held))?;
            std::thread::sleep(Duration::from_millis(500));
            let with = memory(&daemons);
            drop(connections);
            with.iter().zip(&before).map(|(with, before)| (with - before).max(0.0) / held as f64).collect()
        };
        self.goes_on()?;
        let with = row.client.run(move || traffic::questions(time))?;
        let accepted = || daemons.first().map_or(0, Daemon::accepted);
        let already = accepted();
        self.goes_on()?;
        let (openings, opening) = row.client.run(move || traffic::openings(time))?;
        let taken = (accepted() - already) as f64 / (openings * time.as_secs_f64()).max(1.0);
        self.goes_on()?;
        let (goodput, cores, peak) = self.download(&row, &daemons)?;
        Ok(Case {
            name,
            goodput_bps: goodput * 8.0,
            cores,
            memory: before.into_iter().zip(peak).map(|(before, peak)| [before, peak]).collect(),
            question: [without, with],
            openings,
            opening,
            bytes_each,
            accelerated: if daemons.is_empty() { 0.0 } else { taken.min(1.0) },
        })
    }

    /// Bytes a second, and of each node the processors that it used and its largest memory.
    fn download(&self, row: &Row, daemons: &[Daemon]) -> Result<(f64, Vec<f64>, Vec<f64>), Error> {
        let time = self.time;
        let (tell, steps) = std::sync::mpsc::channel();
        let watch = || {
            let used = || daemons.iter().map(Daemon::seconds).collect::<Vec<f64>>();
            let (mut first, mut last) = (used(), used());
            let mut peak = vec![0f64; daemons.len()];
            for step in steps {
                match step {
                    Step::Begin => first = used(),
                    Step::End => last = used(),
                    Step::Meanwhile => {}
                }
                for (peak, daemon) in peak.iter_mut().zip(daemons) {
                    *peak = peak.max(daemon.memory());
                }
            }
            let cores = last.iter().zip(&first).map(|(last, first)| (last - first) / time.as_secs_f64());
            (cores.collect(), peak)
        };
        std::thread::scope(|scope| {
            let watched = scope.spawn(watch);
            let goodput = row.client.run(move || {
                traffic::download(time, |step| {
                    // Whoever counts is there until the end.
                    let _ = tell.send(step);
                })
            })?;
            let (cores, peak) = watched.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((goodput, cores, peak))
        })
    }
}

/// Numbers of several nodes, one after the other.
fn joined(values: impl IntoIterator<Item = f64>, digits: usize) -> String {
    let all: Vec<String> = values.into_iter().map(|value| format!("{value:.digits$}")).collect();
    if all.is_empty() { "-".to_string() } else { all.join(" + ") }
}

/// The measurements as a table.
pub fn table(report: &Report) -> String {
    let mut text = format!(
        "longhaul-pep {}, Linux {}, {} x {}, load {:.2}; {} s for each figure. Terminal + hub\n\n",
        report.version, report.kernel, report.processors, report.processor, report.load, report.seconds
    );
    text += &format!(
        "{:<20} {:>9} {:>13} {:>13} {:>17} {:>14} {:>16} {:>9} {:>16}\n",
        "",
        "Mbit/s",
        "cores",
        "Mbit/s a core",
        "memory, MB",
        "kB each",
        "answer, ms",
        "opened/s",
        "opening, ms"
    );
    let ms = |spread: &Spread| format!("{:.3} ({:.3})", spread.median * 1e3, spread.p99 * 1e3);
    for case in &report.cases {
        text += &format!(
            "{:<20} {:>9.0} {:>13} {:>13} {:>17} {:>14} {:>16} {:>9.0} {:>16}\n",
            case.name,
            case.goodput_bps / 1e6,
            joined(case.cores.iter().copied(), 2),
            case.bps_per_core().map_or("-".to_string(), |bps| format!("{:.0}", bps / 1e6)),
            joined(case.memory.iter().map(|[_, peak]| peak / 1e6), 0),
            joined(case.bytes_each.iter().map(|bytes| bytes / 1e3), 1),
            ms(&case.question[1]),
            case.openings,
            ms(&case.opening)
        );
    }
    text += "\nAdded to an answer, median (99 %):";
    for case in report.cases.iter().filter(|case| !case.cores.is_empty()) {
        let [without, with] = &case.question;
        text += &format!(
            " {} {:.3} ({:.3}) ms;",
            case.name,
            (with.median - without.median) * 1e3,
            (with.p99 - without.p99) * 1e3
        );
    }
    let Terminals { count, bytes_each, cores, up_after } = report.terminals;
    text = text.trim_end_matches(';').to_string();
    text += &format!(
        "\n{count} idle terminals of a hub: {:.1} kB each, {:.2} % of a processor, up after {up_after:.1} s\n",
        bytes_each / 1e3,
        cores * 100.0
    );
    for case in report.cases.iter().filter(|case| !case.cores.is_empty() && case.accelerated < 0.99) {
        text += &format!(
            "{}: only {:.1} % of the connections were taken in; its figures are mixed with those of untouched ones\n",
            case.name,
            case.accelerated * 100.0
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &'static str, cores: &[f64]) -> Case {
        let spread = |ms: f64| Spread { median: ms / 1e3, p99: 2.0 * ms / 1e3 };
        Case {
            name,
            goodput_bps: 3e9,
            cores: cores.to_vec(),
            memory: cores.iter().map(|_| [9e6, 72e6]).collect(),
            question: [spread(0.05), spread(0.25)],
            openings: 4_000.0,
            opening: spread(0.5),
            bytes_each: cores.iter().map(|_| 6_700.0).collect(),
            accelerated: if name == "mixed" { 0.5 } else { 1.0 },
        }
    }

    #[test]
    fn rates_are_those_of_a_whole_processor_of_the_busiest_node() {
        assert_eq!(case("two", &[0.6, 0.75]).bps_per_core(), Some(4e9));
        assert_eq!(case("none", &[]).bps_per_core(), None);
        assert_eq!(case("idle", &[0.0]).bps_per_core(), None);
    }

    #[test]
    fn the_table_states_what_the_daemon_adds_and_what_was_not_taken_in() {
        let terminals = Terminals { count: 200, bytes_each: 60e3, cores: 0.01, up_after: 0.4 };
        let report = Report {
            version: "1",
            kernel: "6.18".into(),
            processor: "P".into(),
            processors: 2,
            load: 0.1,
            seconds: 3,
            cases: vec![case("without", &[]), case("two", &[0.6, 0.75]), case("mixed", &[1.0])],
            terminals,
        };
        let text = table(&report);
        assert!(
            text.contains("0.60 + 0.75") && text.contains("72 + 72") && text.contains("6.7 + 6.7"),
            "{text}"
        );
        assert!(text.contains("Added to an answer, median (99 %): two 0.200 (0.400) ms; mixed"), "{text}");
        assert!(text.contains("mixed: only 50.0 % of the connections"), "{text}");
        assert!(text.contains("200 idle terminals of a hub: 60.0 kB each, 1.00 % of a processor"), "{text}");
    }

    #[test]
    fn the_99th_percentile_is_not_the_median() {
        let spread = Spread::of((1..=1000).map(f64::from).collect());
        assert_eq!((spread.median, spread.p99), (501.0, 991.0));
        assert_eq!(Spread::of(vec![]), Spread::default());
    }
}
