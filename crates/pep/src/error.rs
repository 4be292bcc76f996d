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
    /// Standard output takes no more.
    #[error("{0}")]
    Print(String),
}

impl Error {
    /// The system refuses to do `what`.
    pub fn system(what: impl Into<String>, why: impl Display) -> Error {
        let mut why = why.to_string();
        // EPERM; a text with a remedy of its own has it behind a semicolon.
        if (why.contains("(os error 1)") || why.starts_with("EPERM")) && !why.contains(';') {
            why += "; run it as root, or with the capabilities that longhaul-pep.service lists (CAP_NET_ADMIN, CAP_NET_RAW and others)";
        }
        Error::System { what: what.into(), why }
    }

    /// A word for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Config(_) => "config",
            Error::System { .. } => "system",
            Error::Command { .. } => "command",
            Error::Control(_) => "control",
            Error::Print(_) => "print",
        }
    }
}

impl From<longhaul_program::Error> for Error {
    fn from(error: longhaul_program::Error) -> Error {
        match error {
            longhaul_program::Error::Command { command, why } => Error::Command { command, why },
            other @ longhaul_program::Error::Print(_) => Error::Print(other.to_string()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_capability_is_named_with_its_remedy() {
        for why in [std::io::Error::from_raw_os_error(1).to_string(), nix::Error::EPERM.to_string()] {
            let text = Error::system("open raw sockets", why).to_string();
            assert!(text.contains("CAP_NET_ADMIN"), "{text}");
        }
        let other = Error::system("open a file", std::io::Error::from_raw_os_error(2)).to_string();
        assert!(!other.contains("CAP_"), "{other}");
    }
}
