//! Logs of links in the format of `mm-link` (mm-link(1), "Output"): each arrival (`+`), each delivery (`-`, with the time since the
//! arrival) and each opportunity (`#`) with its time in ms.
//!
//! Mahimahi's own scripts fail at drops (`d`), or take their bytes for a delay; so these stand in lines that begin with `#`, which the
//! scripts leave out.

use super::OPPORTUNITY;
use crate::Error;
use crate::clock::Clock;
use longhaul_units::Instant;
use std::collections::VecDeque;
use std::fmt::Arguments;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// A log that is wanted.
#[derive(Clone, PartialEq, Debug)]
pub struct LogSpec {
    /// The direction of a link.
    pub link: String,
    /// Where it is written.
    pub file: PathBuf,
    /// Lines about the link.
    pub head: String,
    /// What the prompt begins with.
    pub config: String,
    /// Opportunities in ms.
    pub at: Vec<u64>,
    /// They do not come again.
    pub once: bool,
    /// The queue drops its oldest packets.
    pub leaves_at_front: bool,
}

/// Text is handed to who writes it in pieces of so many bytes.
const PIECE: usize = 1 << 16;
/// So many pieces wait to be written at most.
const WAITING: usize = 256;

/// A log at work. Writing it is another thread's: who moves packets never waits for a disk.
pub struct Log {
    spec: LogSpec,
    text: Vec<u8>,
    /// The next opportunity: how often the list is over, and its place in it.
    next: (u64, usize),
    /// When packets came that are still there.
    inside: VecDeque<u64>,
    writer: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    /// A piece was dropped, since too many waited to be written.
    is_slow: bool,
}

impl Log {
    /// Makes the file.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(spec: LogSpec) -> Result<Log, Error> {
        let failed = |why| Error::system(format!("write the log {}", spec.file.display()), why);
        let mut file = File::create(&spec.file).map_err(failed)?;
        let (writer, pieces) = sync_channel::<Vec<u8>>(WAITING);
        let thread = std::thread::spawn(move || pieces.iter().try_for_each(|piece| file.write_all(&piece)));
        let text = spec.head.clone().into_bytes();
        Ok(Log {
            spec,
            text,
            next: (0, 0),
            inside: VecDeque::new(),
            writer: Some(writer),
            thread: Some(thread),
            is_slow: false,
        })
    }

    /// The clock has started: times count from now.
    pub fn begin(&mut self, clock: Clock) {
        let start = clock.time_of_day().as_nanos() / 1_000_000;
        self.head(start);
    }

    fn head(&mut self, start: u64) {
        let config = std::mem::take(&mut self.spec.config);
        self.line(format_args!(
            "# init timestamp: {start}\n# base timestamp: 0\n# mahimahi config: {config}\n"
        ));
    }

    fn line(&mut self, text: Arguments<'_>) {
        // Into memory, where nothing fails.
        let _ = self.text.write_fmt(text);
        if self.text.len() >= PIECE {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let text = std::mem::take(&mut self.text);
        // A disk that is full or too slow is reported at the end.
        let taken = self.writer.as_ref().map(|writer| writer.try_send(text));
        self.is_slow |= matches!(taken, Some(Err(TrySendError::Full(_))));
    }

    /// Notes the opportunities up to a time, behind which nothing happens any more.
    pub fn look(&mut self, until: Instant) {
        self.catch_up(ms(until));
    }

    /// Notes the opportunities up to a time.
    fn catch_up(&mut self, now: u64) {
        let length = self.spec.at.last().copied().unwrap_or(1);
        loop {
            let (round, place) = self.next;
            if self.spec.once && round > 0 {
                return;
            }
            let at = round * length + self.spec.at[place];
            if at > now {
                return;
            }
            self.line(format_args!("{at} # {OPPORTUNITY}\n"));
            self.next = if place + 1 < self.spec.at.len() { (round, place + 1) } else { (round + 1, 0) };
        }
    }

    /// A packet of so many bytes comes.
    pub fn arrived(&mut self, now: Instant, len: usize) {
        let now = ms(now);
        // Opportunities of this millisecond may be used by it.
        self.catch_up(now.saturating_sub(1));
        self.inside.push_back(now);
        self.line(format_args!("{now} + {len}\n"));
    }

    /// A packet has been delivered.
    pub fn delivered(&mut self, now: Instant, len: usize) {
        let now = ms(now);
        self.catch_up(now);
        let came = self.inside.pop_front().unwrap_or(now);
        self.line(format_args!("{now} - {len} {}\n", now.saturating_sub(came)));
    }

    /// A packet was dropped by the queue.
    pub fn dropped(&mut self, now: Instant, len: usize) {
        let now = ms(now);
        if self.spec.leaves_at_front {
            self.inside.pop_front()
        } else {
            self.inside.pop_back()
        };
        self.line(format_args!("# {now} d 1 {len}\n"));
    }

    /// Writes what is left. Returns what went wrong.
    pub fn finish(mut self, now: Instant) -> Option<String> {
        self.catch_up(ms(now));
        if let Some(writer) = self.writer.take() {
            let _ = writer.send(std::mem::take(&mut self.text));
        }
        let written = self.thread.take()?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let why = written.err().map(|why| why.to_string());
        let why = why.or_else(|| self.is_slow.then(|| "the disk was too slow".to_string()))?;
        Some(format!("the log {} is not complete: {why}", self.spec.file.display()))
    }
}

fn ms(time: Instant) -> u64 {
    time.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::Duration;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn log(name: &str, once: bool) -> (Log, PathBuf) {
        let file = std::env::temp_dir().join(format!("longhaul-mm-log-{}-{name}", std::process::id()));
        let spec = LogSpec {
            link: "link-0.forward".to_string(),
            file: file.clone(),
            head: "# mahimahi mm-link (Uplink) [t] > f\n".to_string(),
            config: "[link] ".to_string(),
            at: vec![2, 4],
            once,
            leaves_at_front: false,
        };
        (Log::new(spec).unwrap(), file)
    }

    #[test]
    fn a_log_has_arrivals_opportunities_deliveries_and_drops_in_order() {
        let (mut log, file) = log("order", false);
        log.head(1_000);
        log.arrived(at(1_200), 1000);
        log.arrived(at(1_300), 500);
        log.dropped(at(1_300), 500);
        log.delivered(at(2_000), 1000);
        log.arrived(at(5_999), 40);
        log.delivered(at(6_000), 40);
        assert_eq!(log.finish(at(8_500)), None);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(
            text,
            "# mahimahi mm-link (Uplink) [t] > f\n# init timestamp: 1000\n# base timestamp: 0\n# mahimahi config: [link] \n\
             1 + 1000\n1 + 500\n# 1 d 1 500\n2 # 1500\n2 - 1000 1\n4 # 1500\n5 + 40\n6 # 1500\n6 - 40 1\n8 # 1500\n"
        );
        // As Mahimahi's scripts read it (reports of logs with `d` that they cannot read): no line but comments, `+`, `#` and `-`, none
        // with a delay that is longer than its time.
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(matches!(words[1], "+" | "#" | "-") && words[0].parse::<u64>().is_ok(), "{line}");
            assert!(
                words[1] != "-" || words[3].parse::<u64>().unwrap() <= words[0].parse().unwrap(),
                "{line}"
            );
        }
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn a_schedule_that_comes_once_ends() {
        let (log, file) = log("once", true);
        assert_eq!(log.finish(at(1_000_000)), None);
        assert!(std::fs::read_to_string(&file).unwrap().ends_with("2 # 1500\n4 # 1500\n"));
        std::fs::remove_file(file).unwrap();
    }
}
