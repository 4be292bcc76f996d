//! Other programs, such as `ip` and `nft`: run with an input, and their message is the error's.

use crate::{Error, explained};
use nix::libc;
use std::io::{ErrorKind, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

/// How often a tool is started that a signal for its parent has ended.
const ATTEMPTS: usize = 3;
/// Signals that end a program which removes what it has made.
const ENDING: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Runs a program of Debian's `package`, in the network namespace of the thread, with `input`, and returns what it prints. `hint` adds
/// to its message when it fails.
///
/// # Errors
/// If there is no such program, or the program's own message.
pub fn run(
    program: &str,
    package: &str,
    arguments: &[&str],
    input: &str,
    hint: &dyn Fn(&str) -> String,
) -> Result<String, Error> {
    let failed = |why: String| Error::Command { command: format!("{program} {}", arguments.join(" ")), why };
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        let mut child = Command::new(program)
            .args(arguments)
            // Ctrl-C is for the parent, which then removes what it has made by these very programs.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| match why.kind() {
                ErrorKind::NotFound => failed(format!("{why}; it is part of Debian's package {package}")),
                _ => failed(explained(why)),
            })?;
        if let Some(mut stdin) = child.stdin.take() {
            // If it does not read, its message has the reason.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|why| failed(why.to_string()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        // A new process is in its parent's group for a moment, where Ctrl-C reaches it before it has become the program.
        let interrupted = output.status.signal().is_some_and(|signal| ENDING.contains(&signal));
        if !interrupted || left == 0 {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{}{}", said.trim(), hint(&said))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_a_signal_for_its_parent_has_ended_is_started_again() {
        let mark = std::env::temp_dir().join(format!("longhaul-tool-{}", std::process::id()));
        let script = format!("[ -e {0} ] || {{ touch {0}; kill -INT $$; }}; echo done", mark.display());
        let output = run("sh", "dash", &["-c", &script], "", &|_| String::new());
        std::fs::remove_file(&mark).unwrap();
        assert_eq!(output.unwrap(), "done\n");
    }

    #[test]
    fn a_tool_that_signals_always_end_is_an_error() {
        let output = run("sh", "dash", &["-c", "kill -TERM $$"], "", &|_| String::new());
        assert!(output.unwrap_err().to_string().contains("sh -c kill -TERM $$"));
    }
}
