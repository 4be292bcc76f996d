//! What can go wrong: a message with the remedy for a user, and a short constant code for programs.

use longhaul_program::explained;
use longhaul_scenario::ScenarioError;

/// Why the emulator could not do its task.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The scenario is right, but not for the emulator.
    #[error("{0}")]
    Unsupported(String),
    /// Privileges are missing.
    #[error("{}", what_to_do_without(.0))]
    Capabilities(Vec<&'static str>),
    /// The user's command could not be started.
    #[error("`{command}` cannot be started: {why}")]
    NotStarted {
        /// The command.
        command: String,
        /// It is there.
        found: bool,
        /// The system's reason.
        why: String,
    },
    /// A program that is needed did not do its work.
    #[error("`{command}` failed: {why}")]
    Command {
        /// What was run.
        command: String,
        /// Its message.
        why: String,
    },
    /// The system refused something.
    #[error("cannot {what}: {why}")]
    System {
        /// What was tried.
        what: String,
        /// The system's reason.
        why: String,
    },
    /// The result could not be written.
    #[error(transparent)]
    Write(#[from] longhaul_results::WriteError),
    /// The directory for the result holds something else.
    #[error("{0}")]
    Output(String),
    /// Stopped by a signal.
    #[error("stopped by a signal")]
    Interrupted,
}

impl Error {
    /// The system refused to do `what`.
    pub fn system(what: impl Into<String>, why: impl ToString) -> Error {
        Error::System { what: what.into(), why: explained(why) }
    }

    /// A short constant name.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Scenario(_) => "scenario",
            Error::Unsupported(_) => "unsupported",
            Error::Capabilities(_) => "capabilities",
            Error::Command { .. } | Error::NotStarted { .. } => "command",
            Error::System { .. } => "system",
            Error::Write(_) => "write",
            Error::Output(_) => "output",
            Error::Interrupted => "interrupted",
        }
    }

    /// The error as one line of JSON, for programs.
    pub fn to_json(&self) -> String {
        serde_json::json!({ "error": self.code(), "message": self.to_string() }).to_string()
    }
}

impl From<longhaul_program::Error> for Error {
    fn from(error: longhaul_program::Error) -> Error {
        match error {
            longhaul_program::Error::Command { command, why } => Error::Command { command, why },
            longhaul_program::Error::Print(why) => Error::system("write to standard output", why),
        }
    }
}

/// How to get capabilities that are missing.
fn what_to_do_without(missing: &[&str]) -> String {
    let names = missing.join(" and ");
    let options: String =
        missing.iter().map(|name| format!("--cap-add={} ", name.trim_start_matches("CAP_"))).collect();
    format!(
        "the emulator needs {names}: run it as root (sudo), or give it these capabilities; in a container: {options}\
         --device=/dev/net/tun"
    )
}
