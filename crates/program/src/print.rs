//! Printing where nobody may read any more: a pipe that was closed, a terminal that has gone away. Neither is a reason to stop
//! moving packets, nor to leave behind what was made.

use crate::{Error, manual};
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
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(Error::Print(why.to_string())),
        _ => Ok(()),
    }
}

/// The arguments of the command line. `man` and `completion` are commands of every program, and answered here.
///
/// # Errors
/// The status to end with, once what was asked for (`--help`, `man`) or what is wrong has been printed: 0, or 2 if the arguments are
/// wrong or it cannot be written.
pub fn arguments<Cli: clap::Parser>() -> Result<Cli, ExitCode> {
    let mut command = manual::with_commands(Cli::command());
    let parsed = command.try_get_matches_from_mut(std::env::args_os()).and_then(|matches| {
        match manual::asked_for(command.clone(), &matches) {
            Some(text) => Ok(Err(text)),
            None => Cli::from_arg_matches(&matches).map(Ok).map_err(|error| error.format(&mut command)),
        }
    });
    match parsed {
        Ok(Ok(cli)) => Ok(cli),
        Ok(Err(text)) => {
            let mut out = std::io::stdout().lock();
            Err(status(out.write_all(&text).and_then(|()| out.flush())))
        }
        Err(other) => {
            let printed = other.print();
            Err(if other.use_stderr() { ExitCode::from(2) } else { status(printed) })
        }
    }
}

/// What a program ends with that has only printed something.
fn status(printed: std::io::Result<()>) -> ExitCode {
    written(printed).map_or_else(
        |error| {
            note(format_args!("error: {error}"));
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

/// A line on standard error, if there is still somebody who reads it.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Text without an end of line on standard error, likewise.
pub fn show(text: impl std::fmt::Display) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}
