//! Printing where nobody may read any more: a pipe that was closed, a terminal that has gone away. Neither is a reason to stop
//! moving packets, nor to leave behind what was made.

use crate::Error;
use std::io::{ErrorKind, Write};

/// A line on standard output.
///
/// # Errors
/// If it cannot be written for another reason than that nobody reads it (`| head`), for instance onto a disk that is full.
pub fn line(text: impl std::fmt::Display) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(Error::system("write to standard output", why))
        }
        _ => Ok(()),
    }
}

/// A line on standard error, if there is still somebody who reads it.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Text without an end of line on standard error, likewise.
pub fn show(text: impl std::fmt::Display) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}
