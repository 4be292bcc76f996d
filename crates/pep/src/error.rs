//! Errors for users: one message, with what is wrong and what helps.

use std::fmt::Display;

/// Why the program cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something in the configuration file.
    #[error("{0}")]
    Config(String),
    /// The system refuses something.
    #[error("cannot {what}: {why}")]
    System {
        /// What was tried.
        what: String,
        /// What the system answered, and what helps.
        why: String,
    },
    /// Another program that this one needs failed.
    #[error("`{command}` failed: {why}")]
    Command {
        /// The command with its arguments.
        command: String,
        /// What it printed.
        why: String,
    },
    /// There is no daemon to talk to, or it refuses a command.
    #[error("{0}")]
    Control(String),
}

impl Error {
    /// The system refuses to do `what`.
    pub fn system(what: impl Into<String>, why: impl Display) -> Error {
        Error::System { what: what.into(), why: why.to_string() }
    }

    /// A word for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Config(_) => "config",
            Error::System { .. } => "system",
            Error::Command { .. } => "command",
            Error::Control(_) => "control",
        }
    }
}

/// "did you mean ...", if one of the names is close.
pub(crate) fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (distance, name) =
        names.into_iter().map(|name| (strsim::damerau_levenshtein(given, name), name)).min()?;
    (distance <= (name.len() / 3).max(1) && distance < name.len())
        .then(|| format!("did you mean \"{name}\"?"))
}
