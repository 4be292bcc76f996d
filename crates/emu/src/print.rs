//! Printing where nobody may read any more: a pipe that was closed, a terminal that has gone away. Neither is a reason to stop
//! moving packets, nor to leave behind what was made.

use crate::Error;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// A line on standard output.
///
/// # Errors
/// If it cannot be written for another reason than that nobody reads it (`| head`), for instance onto a disk that is full.
pub fn line(text: impl std::fmt::Display) -> Result<(), Error> {
    lines(format_args!("{text}\n"))
}

/// Text that ends its lines itself, on standard output.
///
/// # Errors
/// As for a line.
pub fn lines(text: impl std::fmt::Display) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    written(write!(out, "{text}").and_then(|()| out.flush()))
}

fn written(outcome: std::io::Result<()>) -> Result<(), Error> {
    match outcome {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(Error::system("write to standard output", why))
        }
        _ => Ok(()),
    }
}

/// The arguments of the command line.
///
/// # Errors
/// The status to end with, once what was asked for (`--help`) or what is wrong has been printed: 0, or 2 if the arguments are wrong
/// or help cannot be written.
pub fn arguments<Cli: clap::Parser>() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|other| {
        let printed = other.print();
        if other.use_stderr() {
            return ExitCode::from(2);
        }
        written(printed).map_or_else(
            |error| {
                note(format_args!("error: {error}"));
                ExitCode::from(2)
            },
            |()| ExitCode::SUCCESS,
        )
    })
}

/// A line on standard error, if there is still somebody who reads it.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Text without an end of line on standard error, likewise.
pub fn show(text: impl std::fmt::Display) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}
