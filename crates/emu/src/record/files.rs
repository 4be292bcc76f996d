//! What was measured, as files: tables for `trace` and `longhaul profile`, a scenario that follows them, and words.

use super::client::{Flow, Recorded, rates};
use super::probes::{Fates, Probe, losses_over_time};
use super::serve::bytes;
use crate::Error;
use longhaul_units::{Duration, Instant, Rate};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Losses are counted in parts of the time of so long, or of so many probes if those take longer.
const WINDOW: Duration = Duration::from_secs(1);
const PROBES_IN_WINDOW: u64 = 10;
/// A flow of which more than this arrived was not faster than the path.
const ALL_BUT: f64 = 0.99;
/// Round trips in a flow are compared with those before by these shares of them.
const FULL: f64 = 0.9;
/// What stands in the scenario where no rate was measured.
const ASSUMED_RATE: &str = "100 Mbit/s";

/// Names of files.
const NAMES: [&str; 6] =
    ["scenario.toml", "probes.csv", "losses.csv", "down.csv", "up.csv", "under-flows.csv"];

/// How files are written.
pub struct Options {
    /// The directory.
    pub out: PathBuf,
    /// Files of an earlier recording are replaced.
    pub force: bool,
    /// Rates are of so long parts of the time.
    pub every: Duration,
    /// Both ends' clocks show the same time, as the user states.
    pub in_step: bool,
    /// Between two probes.
    pub interval: Duration,
    /// Of the flows.
    pub rate: Option<Rate>,
    /// The far end, as the user has written it.
    pub server: String,
}

/// Whether the directory has files of an earlier recording that are not to be replaced.
///
/// # Errors
/// It has.
pub fn check(options: &Options) -> Result<(), Error> {
    let there = NAMES.iter().map(|name| options.out.join(name)).find(|file| file.exists());
    match there.filter(|_| !options.force) {
        Some(file) => Err(Error::Output(format!(
            "{} is there: --out names another directory, --force replaces it",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Files by their names, and what to print.
#[derive(Debug)]
pub struct Report {
    files: Vec<(&'static str, String)>,
    /// What was measured, line by line.
    pub lines: Vec<String>,
    /// What is to be thought of.
    pub warnings: Vec<String>,
}

/// What is made of a recording.
///
/// # Errors
/// Nothing came back.
pub fn report(recorded: &Recorded, options: &Options) -> Result<Report, Error> {
    let idle: Vec<&Probe> = recorded.probes.iter().filter(|probe| !probe.loaded).collect();
    let begin = recorded.probes.first().map_or(Instant::ZERO, |probe| probe.sent);
    let fates = Fates::of(idle.iter().copied());
    if fates.rtts.len() < 2 {
        return Err(Error::system(
            format!("record the path to {}", options.server),
            format!("{} of {} probes came back", fates.rtts.len(), fates.probes),
        ));
    }
    let mut report = Report { files: vec![], lines: vec![], warnings: recorded.notes.clone() };
    let in_step = options.in_step && has_one_way(&idle, &mut report.warnings);
    report.files.push(("probes.csv", probes_table(&idle, begin, in_step)));
    let loaded: Vec<&Probe> = recorded.probes.iter().filter(|probe| probe.loaded).collect();
    if !loaded.is_empty() {
        // Their delays have the queue in them, which the scenario has besides.
        report.files.push(("under-flows.csv", probes_table(&loaded, begin, in_step)));
    }
    report.tell_probes(recorded, &fates, in_step);
    let window = Duration::from_nanos(WINDOW.as_nanos().max(options.interval.as_nanos() * PROBES_IN_WINDOW));
    let losses = losses_over_time(idle.iter().copied(), begin, window);
    if fates.lost > 0 {
        let mut table = "time_s,there_percent,back_percent\n".to_string();
        for (at, [there, back]) in &losses {
            let _ = writeln!(table, "{at},{:.4},{:.4}", there * 100.0, back * 100.0);
        }
        report.files.push(("losses.csv", table));
    }
    let mut flows = vec![];
    for (name, side, flow) in [("down.csv", "reverse", &recorded.down), ("up.csv", "forward", &recorded.up)] {
        let Some(flow) = flow else { continue };
        let found = rates(&flow.bytes, options.every);
        report.tell_flow(side == "reverse", flow, &found, options);
        if found.len() < 2 || found.iter().all(|rate| *rate < 1.0) {
            report.warnings.push(format!("{name} is left out: too little came"));
            continue;
        }
        let mut table = "time_s,rate_mbps\n".to_string();
        for (number, rate) in found.iter().enumerate() {
            let _ =
                writeln!(table, "{},{:.6}", text(number as f64 * options.every.as_secs_f64()), rate / 1e6);
        }
        report.files.push((name, table));
        flows.push(side);
    }
    let queue = queue(recorded, &fates);
    if let Some(queue) = queue {
        report.lines.push(format!(
            "queue: round trips under the flows are {} longer than without them at 90 % of the probes",
            ms(queue)
        ));
    }
    let scenario = scenario(recorded, options, &fates, in_step, &flows, queue);
    report.files.insert(0, ("scenario.toml", scenario));
    if recorded.skipped > 0 {
        report.warnings.push(format!(
            "{} probes were not sent in their time: this process stood still; the delays around them may be this machine's",
            recorded.skipped
        ));
    }
    if recorded.overflown > 0 {
        report.warnings.push(format!(
            "this machine lost {} datagrams that had come: its receive buffer was full (sysctl net.core.rmem_max), and they count as lost by the path",
            recorded.overflown
        ));
    }
    Ok(report)
}

impl Report {
    fn tell_probes(&mut self, recorded: &Recorded, fates: &Fates, in_step: bool) {
        let mut lost = format!("{:.2} % lost", fates.share() * 100.0);
        if fates.lost > 0 {
            let unknown = fates.lost - fates.lost_there - fates.lost_back;
            let unknown = if unknown > 0 { format!(", {unknown} not known where") } else { String::new() };
            let _ = write!(
                lost,
                " ({} there, {} back{unknown}; {:.1} in a row on average)",
                fates.lost_there,
                fates.lost_back,
                fates.burst()
            );
        }
        self.lines.push(format!(
            "{} probes without a flow: {lost}, {} echoes came twice, {} late",
            fates.probes, recorded.twice, recorded.overtaken
        ));
        let of = |share| fates.quantile(share).map_or("-".to_string(), ms);
        self.lines.push(format!(
            "round trips: least {}, median {}, 95 % {}, most {}",
            of(0.0),
            of(0.5),
            of(0.95),
            of(1.0)
        ));
        self.lines.push(if in_step {
            "one-way delays are measured, by clocks that are stated to be in step".to_string()
        } else {
            "one-way delays are taken as half of round trips: an assumption".to_string()
        });
    }

    fn tell_flow(&mut self, down: bool, flow: &Flow, rates: &[f64], options: &Options) {
        let way = if down { "from there" } else { "to there" };
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min).min(mean);
        let most = rates.iter().copied().fold(0.0, f64::max);
        let mbps = |rate: f64| format!("{:.3}", rate / 1e6);
        let came: u64 = flow.bytes.iter().map(|bytes| u64::from(*bytes)).sum();
        self.lines.push(format!(
            "flow {way}: {} Mbit/s on average over {:.1} s, from {} to {} in {}; {} came",
            mbps(mean),
            rates.len() as f64 * options.every.as_secs_f64(),
            mbps(least),
            mbps(most),
            ms(options.every),
            bytes(came)
        ));
        if let Some([sent, came]) = flow.packets.filter(|[sent, _]| *sent > 0)
            && came as f64 > sent as f64 * ALL_BUT
        {
            let rate = options.rate.map_or(String::new(), |rate| format!(" {rate}"));
            self.warnings.push(format!(
                "the path carried nearly all of the flow {way}: it may carry more than --rate{rate}"
            ));
        }
        if flow.held_up > Duration::from_millis(100) {
            self.warnings.push(format!(
                "this machine sent nothing of the flow for {} in all, since it was busy: that is not the path",
                ms(flow.held_up)
            ));
        }
    }

    /// Writes the files, each whole or not at all.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn write(&self, options: &Options) -> Result<Vec<PathBuf>, Error> {
        let failed =
            |file: &Path, why: std::io::Error| Error::system(format!("write {}", file.display()), why);
        std::fs::create_dir_all(&options.out).map_err(|why| failed(&options.out, why))?;
        // What an earlier recording has and this one does not would be read as this one's.
        for name in NAMES.iter().filter(|name| !self.files.iter().any(|(file, _)| file == *name)) {
            let _ = std::fs::remove_file(options.out.join(name));
        }
        let mut written = vec![];
        for (name, text) in &self.files {
            let (file, hidden) = (options.out.join(name), options.out.join(format!(".{name}")));
            std::fs::write(&hidden, text)
                .and_then(|()| std::fs::rename(&hidden, &file))
                .map_err(|why| failed(&file, why))?;
            written.push(file);
        }
        Ok(written)
    }

    /// What to do with the files.
    pub fn hints(&self, options: &Options) -> Vec<String> {
        let file = |name: &str| options.out.join(name).display().to_string();
        let has = |name: &str| self.files.iter().any(|(file, _)| *file == name);
        let flow = |name: &str, option: &str| match has(name) {
            true => format!(" --{option} {}", file(name)),
            false => String::new(),
        };
        let rates = format!("{}{}", flow("down.csv", "down"), flow("up.csv", "up"));
        let like = if has("down.csv") { "" } else { " --like starlink" };
        vec![
            format!("longhaul run {}", file("scenario.toml")),
            format!("longhaul profile {},column=rtt_ms,scale=0.5{rates}{like}", file("probes.csv")),
        ]
    }
}

/// Whether one-way delays may be believed.
fn has_one_way(probes: &[&Probe], warnings: &mut Vec<String>) -> bool {
    let least = |way: usize| probes.iter().filter_map(|probe| Some(probe.one_way?[way])).min();
    let way = [0, 1].into_iter().find(|way| least(*way).is_some_and(|least| least < 0));
    if let Some(way) = way {
        let words = ["there", "back"][way];
        let behind = least(way).unwrap_or_default() as f64 / 1e6;
        warnings.push(format!(
            "the clocks are not in step, though --clocks-in-step states it: the way {words} would take {behind:.3} ms; half of round trips are taken"
        ));
    }
    way.is_none()
}

fn probes_table(probes: &[&Probe], begin: Instant, in_step: bool) -> String {
    let mut table = "time_s,rtt_ms,there_ms,back_ms,lost\n".to_string();
    for probe in probes {
        let at = probe.sent.since(begin).as_secs_f64();
        let rtt = probe.rtt.map(|rtt| rtt.as_secs_f64() * 1e3);
        let one_way = probe.one_way.filter(|_| in_step).map(|both| both.map(|nanos| nanos as f64 / 1e6));
        let cell = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
        let _ = writeln!(
            table,
            "{at:.6},{},{},{},{}",
            cell(rtt),
            cell(one_way.map(|both| both[0])),
            cell(one_way.map(|both| both[1])),
            u8::from(probe.rtt.is_none())
        );
    }
    table
}

/// How much longer round trips are under flows.
fn queue(recorded: &Recorded, idle: &Fates) -> Option<Duration> {
    recorded.down.as_ref().or(recorded.up.as_ref())?;
    let loaded = Fates::of(recorded.probes.iter().filter(|probe| probe.loaded));
    let (full, empty) = (loaded.quantile(FULL)?, idle.quantile(0.5)?);
    let queue = Duration::from_nanos(full.as_nanos().saturating_sub(empty.as_nanos()));
    (queue >= Duration::from_millis(1)).then_some(queue)
}

fn scenario(
    recorded: &Recorded,
    options: &Options,
    fates: &Fates,
    in_step: bool,
    flows: &[&str],
    queue: Option<Duration>,
) -> String {
    let end = recorded.probes.iter().filter(|probe| !probe.loaded).map(|probe| probe.sent).max();
    let begin = recorded.probes.first().map(|probe| probe.sent);
    let seconds = end.zip(begin).map_or(0.0, |(end, begin)| end.since(begin).as_secs_f64());
    let rate = options.rate.map_or(String::new(), |rate| format!(", flows of {rate}"));
    let mut scenario = format!(
        "# A path as it was measured: longhaul-emu record {}, {}; probes {} apart{rate}.\n",
        options.server.replace(['\n', '\r'], " "),
        of_day(recorded.began),
        ms(options.interval)
    );
    if !in_step {
        scenario += "# One-way delays are half of round trips: an assumption.\n";
    }
    if flows.len() < 2 {
        let _ = writeln!(scenario, "# Rates of {ASSUMED_RATE} were not measured: they are assumed.");
    }
    if queue.is_none() {
        scenario += "# The queue was not measured: it is assumed.\n";
    }
    if recorded.is_cut {
        scenario += "# The recording was ended before its time.\n";
    }
    let queue = queue.map_or("100 ms".to_string(), ms);
    let _ = write!(
        scenario,
        "name = \"A recorded path\"\n\n[run]\nduration = \"{} s\"\n\n[[link]]\nname = \"path\"\nends = [\"here\", \"there\"]\nqueue = \"{queue}\"\n",
        text(seconds.ceil().max(1.0)),
    );
    for (side, column, losses, file) in [
        ("forward", "there_ms", "there_percent", "up.csv"),
        ("reverse", "back_ms", "back_percent", "down.csv"),
    ] {
        let is_measured = flows.contains(&side);
        if !is_measured {
            let _ = write!(scenario, "\n[link.{side}]\nrate = \"{ASSUMED_RATE}\"\n");
        }
        let _ = write!(scenario, "\n[link.{side}.trace]\n");
        if is_measured {
            let _ = writeln!(scenario, "rate = {{ file = \"{file}\", column = \"rate_mbps\" }}");
        }
        let delay = if in_step {
            format!("column = \"{column}\"")
        } else {
            "column = \"rtt_ms\", scale = 0.5".to_string()
        };
        let _ = writeln!(scenario, "delay = {{ file = \"probes.csv\", {delay} }}");
        if fates.lost > 0 {
            let _ = writeln!(scenario, "loss = {{ file = \"losses.csv\", column = \"{losses}\" }}");
        }
    }
    scenario
        + "\n[[flow]]\nname = \"download\"\nfrom = \"there\"\nto = \"here\"\ntcp = { variant = \"linux\", congestion = \"cubic\" }\n"
}

fn ms(time: Duration) -> String {
    format!("{} ms", text((time.as_secs_f64() * 1e6).round() / 1e3))
}

/// A number without zeros behind it.
fn text(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A time of day (UTC) by the calendar, of ns since 1970.
fn of_day(nanos: u64) -> String {
    let seconds = nanos / 1_000_000_000;
    let (days, within) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, in eras of 400 years of which each has 146,097 days.
    let days = days as i64 + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let calendar_month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(calendar_month <= 2);
    format!(
        "{year:04}-{calendar_month:02}-{date:02} {:02}:{:02}:{:02} UTC",
        within / 3600,
        within / 60 % 60,
        within % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options {
            out: std::env::temp_dir().join(format!("longhaul-recorded-{}", std::process::id())),
            force: false,
            every: Duration::from_millis(100),
            in_step: false,
            interval: Duration::from_millis(20),
            rate: None,
            server: "far.example:8471".to_string(),
        }
    }

    /// Probes each 20 ms of which each `lost`th has no answer.
    fn recorded(many: u64, lost: u64) -> Recorded {
        let one = |number: u64| Probe {
            sent: Instant::from_nanos(1_000_000_000 + number * 20_000_000),
            rtt: (number % lost != 1).then(|| Duration::from_millis(50 + number % 2)),
            one_way: (number % lost != 1).then_some([30_000_000, 20_000_000]),
            arrived: Some(number % lost != 1),
            loaded: false,
        };
        Recorded {
            probes: (0..many).map(one).collect(),
            began: 1_764_425_000_000_000_000,
            ..Recorded::default()
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (nanos, day) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_764_425_000, "2025-11-29 14:03:20 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(of_day(nanos * 1_000_000_000), day);
        }
    }

    #[test]
    fn the_scenario_that_is_written_can_be_read_and_follows_the_files() {
        for (in_step, flow, lost) in [(false, false, 1000), (true, true, 10)] {
            let mut options = options();
            options.out.push(format!("{in_step}"));
            options.in_step = in_step;
            let mut recorded = recorded(500, lost);
            if flow {
                let bytes = vec![12_500; 1000];
                let flow = Flow { bytes, packets: Some([2000, 1000]), held_up: Duration::ZERO };
                (recorded.down, recorded.up) = (Some(flow.clone()), Some(flow));
                recorded.probes.push(Probe {
                    sent: Instant::from_nanos(20_000_000_000),
                    rtt: Some(Duration::from_millis(130)),
                    loaded: true,
                    ..Probe::default()
                });
            }
            let report = report(&recorded, &options).unwrap();
            let files = report.write(&options).unwrap();
            let name = files[0].display().to_string();
            let text = std::fs::read_to_string(&files[0]).unwrap();
            let scenario =
                longhaul_scenario::load_with(&text, &name, &[], None, &|_| Err(String::new())).unwrap();
            let network = longhaul_scenario::Network::new(&scenario);
            let [there, back] = [0, 1].map(|link| network.links.iter().nth(link).unwrap().config.clone());
            let expected = if in_step { [30, 20] } else { [25, 25] };
            assert_eq!([there.delay, back.delay], expected.map(Duration::from_millis), "{text}");
            let rate = if flow { 10_000_000 } else { 100_000_000 };
            assert_eq!([there.rate, back.rate], [Rate::from_bps(rate); 2]);
            assert_eq!(text.contains("queue = \"80 ms\""), flow, "{text}");
            assert!(check(&options).is_err());
            std::fs::remove_dir_all(options.out.parent().unwrap()).unwrap();
            assert!(check(&options).is_ok());
        }
    }

    #[test]
    fn clocks_that_are_not_in_step_are_noticed() {
        let mut recorded = recorded(100, 1000);
        recorded.probes[50].one_way = Some([51_000_000, -1_000_000]);
        let options = Options { in_step: true, ..options() };
        let report = report(&recorded, &options).unwrap();
        assert!(report.warnings[0].contains("the way back would take -1.000 ms"), "{:?}", report.warnings);
        assert!(report.files.iter().any(|(_, text)| text.contains("column = \"rtt_ms\", scale = 0.5")));
    }

    #[test]
    fn a_flow_that_the_path_carries_is_a_warning() {
        let mut recorded = recorded(100, 1000);
        let bytes = vec![12_500; 100];
        recorded.down = Some(Flow { bytes, packets: Some([1000, 995]), held_up: Duration::ZERO });
        let report = report(&recorded, &options()).unwrap();
        assert!(report.warnings.iter().any(|text| text.contains("may carry more")), "{:?}", report.warnings);
    }

    #[test]
    fn nothing_that_came_back_is_an_error() {
        let mut recorded = recorded(100, 1000);
        recorded.probes.iter_mut().for_each(|probe| probe.rtt = None);
        assert!(report(&recorded, &options()).unwrap_err().to_string().contains("0 of 100 probes came back"));
    }
}
