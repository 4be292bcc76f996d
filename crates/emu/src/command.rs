//! Commands behind a path: how they are started, what their terminal's keys and requests to end do, and how they end.

use crate::account::Account;
use crate::namespace;
use crate::signals::Signals;
use crate::terminal::Terminal;
use crate::testbed::Host;
use crate::{Error, own_run, sys};
use longhaul_program::print;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often who waits for a command looks up.
const TICK: Duration = Duration::from_millis(20);
/// Two Ctrl-C within this time end a command that has shown no prompt in between.
const TWICE: Duration = Duration::from_secs(5);

/// A command, and how it runs.
pub(crate) struct Task<'a> {
    /// The network namespace in which it runs.
    pub namespace: &'a str,
    /// The command and its arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// Under which account, if not the emulator's.
    pub account: Option<&'a Account>,
    /// How long it has from a request to end until it is killed.
    pub grace: Duration,
}

impl Task<'_> {
    /// Starts it in the namespace that the thread is in. It ends with the thread, even if that is killed.
    fn start(&self, set_up: impl FnOnce(&mut Command)) -> Result<Child, Error> {
        let mut command = Command::new(&self.arguments[0]);
        command.args(&self.arguments[1..]);
        command.envs(self.environment.iter().cloned());
        set_up(&mut command);
        if let Some(account) = self.account {
            account.apply(&mut command);
        }
        if let Some((uid, gid)) = own_run::caller() {
            sys::run_as_user_of_namespace(&mut command, uid, gid);
        }
        // Last: a change of the account would undo it.
        sys::die_with_parent(&mut command, libc::SIGKILL);
        command.spawn().map_err(|why| Error::NotStarted {
            command: self.arguments.join(" "),
            found: why.kind() != ErrorKind::NotFound,
            why: why.to_string(),
        })
    }

    /// Runs it in the background until it ends or `over` is true. What it prints goes to standard error, and the terminal's keys are
    /// not for it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run_in_background(&self, over: impl Fn() -> bool) -> Result<(), Error> {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(|why| Error::system("copy a file descriptor", why))?;
        let child = self.start(|command| {
            command.stdin(Stdio::null()).stdout(stderr).process_group(0);
        })?;
        let mut running = Running::new(child, self);
        while running.ended()?.is_none() {
            if running.deadline.is_none() && over() {
                running.request_end(Signal::SIGTERM);
            }
            std::thread::sleep(TICK);
        }
        Ok(())
    }

    /// Runs it with the terminal, whose keys are its own. A request for the emulator to end is passed on to it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(&self, signals: &Signals, is_shell: bool) -> Result<ExitStatus, Error> {
        let terminal = Terminal::open();
        let _lent = signals.lend_keys();
        let mut running = Running::new(self.start(|_| {})?, self);
        let mut requests = 0;
        let mut keys = Keys { seen: signals.interrupts(), last: None };
        let status = loop {
            if let Some(status) = running.ended()? {
                break status;
            }
            let (number, now) = signals.requests();
            if now > requests {
                requests = now;
                match Signal::try_from(number).unwrap_or(Signal::SIGTERM) {
                    // Shells with a prompt ignore it.
                    Signal::SIGTERM if is_shell => running.request_end(Signal::SIGHUP),
                    signal => running.request_end(signal),
                }
            }
            let at_prompt = || is_shell || terminal.as_ref().is_some_and(Terminal::is_at_prompt);
            if keys.are_to_end(signals.interrupts(), Instant::now(), at_prompt) {
                if running.deadline.is_none() {
                    print::note(format_args!(
                        "longhaul-emu: Ctrl-C twice: the command is to end (SIGTERM); once more, or in {} s, and it is killed",
                        self.grace.as_secs_f64()
                    ));
                }
                running.request_end(Signal::SIGTERM);
            }
            std::thread::sleep(TICK);
        };
        if let Some(terminal) = terminal {
            terminal.restore(std::os::unix::process::ExitStatusExt::signal(&status).is_some());
        }
        Ok(status)
    }
}

/// A host as commands know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub name: String,
    pub v4: Ipv4Addr,
    pub v6: Ipv6Addr,
}

impl Known {
    pub fn of(host: &Host) -> Known {
        Known { name: host.name.clone(), v4: host.v4, v6: host.v6 }
    }
}

/// Addresses of all hosts, as the environment of commands at one of them has them.
pub(crate) fn addresses(all: &[Known], here: &Known) -> Vec<(String, String)> {
    let mut found = vec![
        ("LONGHAUL_HERE".to_string(), here.v4.to_string()),
        ("LONGHAUL_NODE".to_string(), here.name.clone()),
    ];
    for other in all {
        let name = variable(&other.name);
        found.push((format!("{name}_V6"), other.v6.to_string()));
        found.push((name, other.v4.to_string()));
    }
    if let Some(peer) = all.iter().find(|other| *other != here) {
        found.push(("LONGHAUL_PEER".to_string(), peer.v4.to_string()));
    }
    found
}

/// The variable that has a host's address.
pub(crate) fn variable(host: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("LONGHAUL_{}", host.to_uppercase().chars().map(plain).collect::<String>())
}

/// A command under way, and all that it has started in its namespace.
struct Running<'a> {
    child: Child,
    namespace: &'a str,
    grace: Duration,
    /// When it is killed.
    deadline: Option<Instant>,
    /// How the child has ended.
    status: Option<ExitStatus>,
}

impl<'a> Running<'a> {
    fn new(child: Child, task: &'a Task<'_>) -> Self {
        Running { child, namespace: task.namespace, grace: task.grace, deadline: None, status: None }
    }

    /// How it has ended, if it has. Of one that was requested to end all processes have ended, or its time is over: then it is killed.
    fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        let waiting = |why| Error::system("wait for a command", why);
        if self.status.is_none() {
            self.status = self.child.try_wait().map_err(waiting)?;
        }
        match (self.status, self.deadline) {
            (None, Some(deadline)) if deadline <= Instant::now() => {
                self.child.kill().map_err(waiting)?;
                self.child.wait().map(Some).map_err(waiting)
            }
            (Some(_), Some(deadline)) if deadline > Instant::now() => {
                Ok(self.status.filter(|_| namespace::processes(self.namespace).is_empty()))
            }
            (status, _) => Ok(status),
        }
    }

    /// Sends a signal to all of its processes, also stopped ones; those that are still there when its time is over are killed. A second
    /// request leaves them no more time.
    fn request_end(&mut self, signal: Signal) {
        let now = Instant::now();
        if self.deadline.replace(now).is_some() {
            return;
        }
        self.deadline = Some(now + self.grace);
        let own = Pid::from_raw(self.child.id() as i32);
        let others = namespace::processes(self.namespace).into_iter().map(Pid::from_raw);
        for process in others.filter(|process| *process != own).chain([own]) {
            let _ = kill(process, signal);
            let _ = kill(process, Signal::SIGCONT);
        }
    }
}

/// What Ctrl-C means to the emulator: the first one nothing, since it is the command's. A second one that follows shortly ends a command
/// that has not returned to a prompt: it hangs, or ignores the key.
struct Keys {
    /// How many there were.
    seen: usize,
    /// When the last one was, if a second one would count.
    last: Option<Instant>,
}

impl Keys {
    /// Whether the command is to end, now that there were so many.
    fn are_to_end(&mut self, interrupts: usize, now: Instant, at_prompt: impl Fn() -> bool) -> bool {
        let new = interrupts - std::mem::replace(&mut self.seen, interrupts);
        if new == 0 && self.last.is_none() {
            return false;
        }
        if at_prompt() || self.last.is_some_and(|last| now - last > TWICE) {
            self.last = None;
        }
        if new == 0 || at_prompt() {
            return false;
        }
        let second = new > 1 || self.last.is_some();
        self.last = Some(now);
        second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_is_the_command_s_and_the_second_within_five_seconds_ends_it() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut keys = Keys { seen: 3, last: None };
        assert!(!keys.are_to_end(3, at(0), || false));
        assert!(!keys.are_to_end(4, at(1), || false), "the first");
        assert!(!keys.are_to_end(5, at(7), || false), "long after it");
        assert!(!keys.are_to_end(5, at(8), || false), "none");
        assert!(keys.are_to_end(6, at(9), || false), "shortly after it");
        assert!(keys.are_to_end(7, at(10), || false), "and so the third");
    }

    #[test]
    fn a_command_that_returns_to_its_prompt_is_never_ended() {
        let at = Instant::now();
        let mut keys = Keys { seen: 0, last: None };
        assert!(!keys.are_to_end(1, at, || false));
        assert!(!keys.are_to_end(1, at, || true), "the prompt is there");
        assert!(!keys.are_to_end(2, at, || false), "and the next line is interrupted");
        assert!(!keys.are_to_end(9, at, || true), "keys at the prompt clear the line");
        assert!(!keys.are_to_end(10, at, || false));
    }

    #[test]
    fn names_of_nodes_become_variables() {
        assert_eq!(variable("ground-station 1"), "LONGHAUL_GROUND_STATION_1");
    }
}
