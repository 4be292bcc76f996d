//! Traces as tables: a column `gap_s` (seconds since the row before) or `time_s` (seconds, not falling), and a column `bytes`.
//! Other columns are ignored. CSV is read here; a Parquet file is read by the caller, since each world has a library for it.

use crate::trace::{LARGEST, LONGEST_GAP, Record, Trace, TraceError};
use longhaul_units::Duration;

/// A table's columns by name: the numbers of each, `None` where one is missing, or the type of what it holds instead of numbers.
pub type NumberTable = Vec<(String, Result<Vec<Option<f64>>, String>)>;

/// What the column of times holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    Gaps,
    Moments,
}

/// The columns that are read: times, sizes, and what the times are.
struct Columns {
    time: usize,
    bytes: usize,
    times: Times,
}

impl Columns {
    fn of<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<Columns, TraceError> {
        let find = |wanted: &str| names.clone().position(|name| name == wanted);
        let known = || names.clone().collect::<Vec<_>>().join(", ");
        let (time, times) = match (find("gap_s"), find("time_s")) {
            (Some(_), Some(_)) => {
                return Err(TraceError::whole(
                    "there are both `gap_s` and `time_s`; give only one of the two",
                ));
            }
            (Some(gap), None) => (gap, Times::Gaps),
            (None, Some(time)) => (time, Times::Moments),
            (None, None) => {
                let message = format!("there is no column `gap_s` or `time_s`; there are: {}", known());
                return Err(TraceError::whole(message));
            }
        };
        let Some(bytes) = find("bytes") else {
            return Err(TraceError::whole(format!("there is no column `bytes`; there are: {}", known())));
        };
        Ok(Columns { time, bytes, times })
    }
}

/// Takes row after row.
struct Reader {
    times: Times,
    last: f64,
    records: Vec<Record>,
}

impl Reader {
    fn new(times: Times) -> Self {
        Reader { times, last: 0.0, records: vec![] }
    }

    fn row(&mut self, seconds: f64, bytes: f64) -> Result<(), String> {
        let column = if self.times == Times::Gaps { "gap_s" } else { "time_s" };
        if !(seconds.is_finite() && (seconds >= 0.0 || self.times == Times::Moments)) {
            return Err(format!("{column} is {seconds}; it is a number of seconds, 0 or more"));
        }
        if !(bytes.fract() == 0.0 && (1.0..=LARGEST as f64).contains(&bytes)) {
            return Err(format!("bytes is {bytes}; it is a whole number from 1 to {LARGEST}"));
        }
        let gap = match self.times {
            Times::Gaps => seconds,
            Times::Moments if self.records.is_empty() => 0.0,
            Times::Moments if seconds < self.last => {
                return Err(format!("time_s falls from {} to {seconds}; times rise", self.last));
            }
            Times::Moments => seconds - self.last,
        };
        self.last = seconds;
        if gap > LONGEST_GAP.as_secs_f64() {
            return Err(format!("a gap of {gap} s; the longest is {LONGEST_GAP}"));
        }
        self.records.push(Record { gap: Duration::from_secs_f64(gap), bytes: bytes as u64 });
        Ok(())
    }

    fn finish(self) -> Result<Trace, TraceError> {
        match self.times {
            Times::Gaps => Trace::new(self.records),
            Times::Moments => Trace::of_moments(self.records),
        }
    }
}

pub(crate) fn read_csv(content: &[u8]) -> Result<Trace, TraceError> {
    let mut lines = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(content);
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(1, |position| line_of(content, position));
        let message = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("{len} values for {expected_len} columns")
            }
            csv::ErrorKind::Utf8 { .. } => "it is no text (UTF-8)".to_string(),
            _ => error.to_string(),
        };
        TraceError::at("line", line, message)
    };
    let names = lines.headers().map_err(|error| broken(&error))?.clone();
    let columns = Columns::of(names.iter())?;
    let mut reader = Reader::new(columns.times);
    let mut row = csv::StringRecord::new();
    while lines.read_record(&mut row).map_err(|error| broken(&error))? {
        let line = row.position().map_or(0, |position| line_of(content, position));
        let number = |column: usize| {
            let text = row.get(column).unwrap_or_default();
            text.parse::<f64>().map_err(|_| {
                TraceError::at("line", line, format!("{} is \"{text}\", no number", &names[column]))
            })
        };
        let (seconds, bytes) = (number(columns.time)?, number(columns.bytes)?);
        reader.row(seconds, bytes).map_err(|message| TraceError::at("line", line, message))?;
    }
    reader.finish()
}

/// The line of the row at `position`, which is where the row before has ended: blank lines and comments may come between.
fn line_of(content: &[u8], position: &csv::Position) -> u64 {
    let rest = content.get(position.byte() as usize..).unwrap_or_default();
    let passed = |line: &&[u8]| line.trim_ascii().is_empty() || line.starts_with(b"#");
    position.line() + rest.split(|byte| *byte == b'\n').take_while(passed).count() as u64
}

/// The trace that a table of numbers is, such as a Parquet file's: each column with its name and its values, or, where it has no
/// numbers, with the name of its type.
pub(crate) fn of_columns(table: &NumberTable) -> Result<Trace, TraceError> {
    let columns = Columns::of(table.iter().map(|(name, _)| name.as_str()))?;
    let numbers = |column: usize| {
        let (name, values) = &table[column];
        values
            .as_ref()
            .map_err(|kind| TraceError::whole(format!("column `{name}` is of type {kind}; it has numbers")))
    };
    let (times, sizes) = (numbers(columns.time)?, numbers(columns.bytes)?);
    let mut reader = Reader::new(columns.times);
    for (index, pair) in times.iter().zip(sizes).enumerate() {
        let number = index as u64 + 1;
        let (Some(seconds), Some(bytes)) = pair else {
            return Err(TraceError::at("record", number, "a value is missing"));
        };
        reader.row(*seconds, *bytes).map_err(|message| TraceError::at("record", number, message))?;
    }
    reader.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> Result<Vec<(u64, u64)>, String> {
        let trace = read_csv(text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(trace.records().iter().map(|record| (record.gap.as_nanos(), record.bytes)).collect())
    }

    #[test]
    fn gaps_and_moments_are_read() {
        assert_eq!(csv("gap_s,bytes\n0.5,300\n0,1500\n"), Ok(vec![(500_000_000, 300), (0, 1500)]));
        // The gap before the first is the mean of 1 s and 2 s.
        let moments = "# from a server's log\nhost, time_s , bytes\na,10,1\nb,11,2\na,13,3\n";
        let second = 1_000_000_000;
        assert_eq!(csv(moments), Ok(vec![(3 * second / 2, 1), (second, 2), (2 * second, 3)]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, message) in [
            ("gap_s,bytes\n1,2\n1,x\n", "line 3: bytes is \"x\", no number"),
            ("gap_s,bytes\n1,2\n\n# 9\n1,y\n", "line 5: bytes is \"y\", no number"),
            ("gap_s,bytes\n1,2\n\n1\n", "line 4: 1 values for 2 columns"),
            ("gap_s,bytes\n-1,2\n", "line 2: gap_s is -1; it is a number of seconds, 0 or more"),
            ("gap_s,bytes\nNaN,2\n", "line 2: gap_s is NaN; it is a number of seconds, 0 or more"),
            ("gap_s,bytes\n1,2.5\n", "line 2: bytes is 2.5; it is a whole number from 1 to 1099511627776"),
            ("gap_s,bytes\n1,0\n", "line 2: bytes is 0; it is a whole number from 1 to 1099511627776"),
            ("time_s,bytes\n5,1\n4,1\n", "line 3: time_s falls from 5 to 4; times rise"),
            ("when,bytes\n5,1\n", "there is no column `gap_s` or `time_s`; there are: when, bytes"),
            ("gap_s,size\n5,1\n", "there is no column `bytes`; there are: gap_s, size"),
            ("gap_s,bytes\n", "there are no records; a trace has at least one"),
            ("gap_s,bytes\n1e300,1\n", "line 2: a gap of 1"),
        ] {
            let found = csv(text).unwrap_err();
            assert!(found.starts_with(message), "{text:?}: {found}");
        }
    }
}
