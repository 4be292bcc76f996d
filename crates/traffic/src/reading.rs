//! Traces from what they are written down in.

use crate::table::{self, NumberTable};
use crate::trace::{Format, Trace, TraceError};
use crate::{access_log, ns};

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// What is wrong with it, with the number of the line (CSV, access logs) or of the record, counted from 1.
    pub fn read(content: &[u8], format: Format) -> Result<Trace, TraceError> {
        match format {
            Format::Ns => ns::read(content),
            Format::Csv => table::read_csv(content),
            Format::AccessLog => access_log::read(content),
            Format::Parquet => Err(TraceError::whole("this program does not read Parquet files; use CSV")),
        }
    }

    /// The trace that a table of numbers is: columns `gap_s` or `time_s`, and `bytes`.
    ///
    /// # Errors
    /// The column that is missing or has no numbers, or what is wrong with a record and its number, counted from 1.
    pub fn of_columns(table: &NumberTable) -> Result<Trace, TraceError> {
        table::of_columns(table)
    }
}
