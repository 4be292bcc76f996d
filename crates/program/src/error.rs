//! What can go wrong here. Programs have errors of their own, which these become.

use nix::sys::resource::{Resource, getrlimit};

/// Why something that all programs do could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program that is needed did not do its work.
    #[error("`{command}` failed: {why}")]
    Command {
        /// What was run.
        command: String,
        /// Its message.
        why: String,
    },
    /// Standard output takes no more.
    #[error("cannot write to standard output: {0}")]
    Print(String),
}

/// The system's reason, with the limit where it is one that users set.
pub fn explained(why: impl ToString) -> String {
    let why = why.to_string();
    // EMFILE, by every library's name for it.
    if !why.contains("Too many open files") {
        return why;
    }
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((limit, _)) => format!("{why}; the limit is {limit}: raise it (ulimit -n)"),
        Err(_) => why,
    }
}
