//! A trace: gaps and sizes, played cyclically from a random record on, as ns-2's `Application/Traffic/Trace` does
//! (ns-2 manual, section "Traffic trace"): each record is a pause, and then so many bytes.

use longhaul_units::{Duration, Random};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One record of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time since the record before, whatever that was in a cyclic trace.
    pub gap: Duration,
    /// Bytes that are written then, at least 1.
    pub bytes: u64,
}

/// How a trace is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// ns-2's binary format: records of two 32-bit numbers, the most significant byte first: the time since the record before
    /// in microseconds, and the size in bytes.
    Ns,
    /// Text with a line of column names: `gap_s` (seconds since the line before) or `time_s` (seconds, rising), and `bytes`.
    Csv,
    /// A Parquet file with the same columns.
    Parquet,
    /// A web server's access log, in the common or the combined log format: each response with a body is a record, and those of
    /// one second are spread over it evenly.
    AccessLog,
}

impl Format {
    /// The format that a file's name stands for: `.csv`, `.parquet`, `.log` or `access_log` (an access log, with or without the
    /// number that rotation appends), and ns-2's for all others.
    pub fn of(file: &str) -> Format {
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file).to_ascii_lowercase();
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['.', '-']);
        if name.ends_with("access_log") {
            return Format::AccessLog;
        }
        match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "csv" => Format::Csv,
            "parquet" => Format::Parquet,
            "log" => Format::AccessLog,
            _ => Format::Ns,
        }
    }
}

/// What is wrong with a trace, and where in it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}{message}")]
pub struct TraceError {
    /// `line 7: ` or `record 3: `; empty if it is about the whole.
    pub place: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl TraceError {
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        TraceError { place: String::new(), message: message.into() }
    }
    pub(crate) fn at(what: &str, number: u64, message: impl Into<String>) -> Self {
        TraceError { place: format!("{what} {number}: "), message: message.into() }
    }
}

/// The longest gap: ten years, as long as a run may be.
pub(crate) const LONGEST_GAP: Duration = Duration::from_secs(10 * 365 * 86_400);
/// The largest record, in bytes.
pub(crate) const LARGEST: u64 = 1 << 40;

/// Gaps and sizes; at least one record, and gaps that do not add up to nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace(Vec<Record>);

impl Trace {
    /// A trace of these records.
    ///
    /// # Errors
    /// There are none, one has no bytes, or no time ever passes.
    pub fn new(records: Vec<Record>) -> Result<Trace, TraceError> {
        if records.is_empty() {
            return Err(TraceError::whole("there are no records; a trace has at least one"));
        }
        if let Some(empty) = records.iter().position(|record| record.bytes == 0) {
            return Err(TraceError::at("record", empty as u64 + 1, "a size of 0 bytes; it is at least 1"));
        }
        if records.iter().all(|record| record.gap.is_zero()) {
            return Err(TraceError::whole(
                "all times are the same: played again and again, it would never end",
            ));
        }
        Ok(Trace(records))
    }

    /// A trace of records that were seen at moments, so that nothing shows how long the pause before the first was, which a trace that
    /// is played again and again needs: it is the mean of the others.
    pub(crate) fn of_moments(mut records: Vec<Record>) -> Result<Trace, TraceError> {
        if let [first, others @ ..] = &mut records[..] {
            let sum = others.iter().map(|record| u128::from(record.gap.as_nanos())).sum::<u128>();
            first.gap = Duration::from_nanos((sum / others.len().max(1) as u128) as u64);
        }
        Trace::new(records)
    }

    /// Its records.
    pub fn records(&self) -> &[Record] {
        &self.0
    }

    /// The record that is played as number `turn` by who began at `first`.
    pub fn record(&self, first: usize, turn: u64) -> Record {
        let length = self.0.len() as u64;
        self.0[((first as u64 + turn % length) % length) as usize]
    }

    /// A record to begin with, each as likely.
    pub fn draw_first(&self, random: &mut Random) -> usize {
        random.up_to(self.0.len() as u64 - 1) as usize
    }

    /// 32 hex digits that identify it: a hash of gaps and sizes, whatever the format.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for record in &self.0 {
            hash.update(record.gap.as_nanos().to_le_bytes());
            hash.update(record.bytes.to_le_bytes());
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(millis: u64, bytes: u64) -> Record {
        Record { gap: Duration::from_millis(millis), bytes }
    }

    #[test]
    fn a_trace_is_played_cyclically_from_any_record() {
        let trace = Trace::new(vec![record(1, 10), record(2, 20), record(3, 30)]).unwrap();
        let sizes: Vec<u64> = (0..7).map(|turn| trace.record(2, turn).bytes).collect();
        assert_eq!(sizes, [30, 10, 20, 30, 10, 20, 30]);
        assert_eq!(trace.record(2, u64::MAX).bytes, 30, "2^64 - 1 is divisible by 3");
    }

    #[test]
    fn every_record_may_be_the_first() {
        let trace = Trace::new((1..=10).map(|bytes| record(1, bytes)).collect()).unwrap();
        let mut counts = [0; 10];
        for source in 0..10_000 {
            counts[trace.draw_first(&mut Random::stream(1, &format!("source[{source}]")))] += 1;
        }
        // A binomial count of mean 1000 has a standard deviation of 30.
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        let message = |records| Trace::new(records).unwrap_err().to_string();
        assert_eq!(message(vec![]), "there are no records; a trace has at least one");
        assert_eq!(
            message(vec![record(1, 1), record(1, 0)]),
            "record 2: a size of 0 bytes; it is at least 1"
        );
        assert!(message(vec![record(0, 1), record(0, 5)]).starts_with("all times are the same"));
    }

    #[test]
    fn the_format_goes_by_the_ending() {
        assert_eq!(Format::of("a/b.c/requests.CSV"), Format::Csv);
        assert_eq!(Format::of("starwars.parquet"), Format::Parquet);
        assert_eq!(Format::of("starwars.nsformat"), Format::Ns);
        for log in
            ["/var/log/nginx/access.log", "access.log.1", "/var/log/httpd/access_log", "access_log-20261122"]
        {
            assert_eq!(Format::of(log), Format::AccessLog, "{log}");
        }
        assert_eq!(Format::of("trace"), Format::Ns);
    }
}
