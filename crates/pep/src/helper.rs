//! A second process for the commands to nftables and `ip`, so that the daemon, which meets the network, can give up the
//! right to change it and to start programs. It is started first, keeps CAP_NET_ADMIN alone, and takes ten kinds of tasks,
//! from which it makes the commands itself: a line of JSON each, and a line for the answer.

use crate::Error;
use crate::config::{Intercept, Limits};
use crate::diagnosis::Cause;
use crate::passage::Look;
use crate::plan::Gate;
use crate::room::Grant;
use crate::system::Rules;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};

/// The name of the command that runs it.
pub const COMMAND: &str = "helper";

/// What it does.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "task")]
enum Task {
    Install { gate: Gate, intercept: Intercept, limits: Limits, hubs: Vec<IpAddr> },
    Replace { gate: Gate, intercept: Intercept, limits: Limits, hubs: Vec<IpAddr> },
    Hubs { hubs: Vec<IpAddr> },
    Gate { gate: Gate },
    Room { grant: Grant },
    LeaveAlone { client: IpAddr, seconds: u64 },
    Look,
    Repair,
    Causes,
    Remove,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Done,
    Look(Look),
    Repaired(Vec<String>),
    Causes(Vec<Cause>),
}

/// The daemon's end: what is installed in the network. Dropped, it removes that.
pub(crate) struct Interception {
    inside: Mutex<Inside>,
}

struct Inside {
    stream: BufReader<UnixStream>,
    child: Child,
}

impl Interception {
    /// Starts the helper. It installs nothing yet.
    pub fn start() -> Result<Interception, Error> {
        let failed = |why: std::io::Error| Error::system("start the helper for nftables", why);
        let (own, other) = UnixStream::pair().map_err(failed)?;
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .arg(COMMAND)
            // Ctrl-C is for the daemon, which then has its rules removed.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(other)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        Ok(Interception { inside: Mutex::new(Inside { stream: BufReader::new(own), child }) })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Installs table, rules and routes, in the place of what a killed daemon has left behind.
    pub fn install(
        &self,
        gate: Gate,
        (intercept, limits, hubs): (&Intercept, &Limits, &[IpAddr]),
    ) -> Result<(), Error> {
        self.order(&Task::Install {
            gate,
            intercept: intercept.clone(),
            limits: *limits,
            hubs: hubs.to_vec(),
        })
    }

    /// Installs the table of a changed configuration in the place of the present one.
    pub fn replace(
        &self,
        gate: Gate,
        (intercept, limits, hubs): (&Intercept, &Limits, &[IpAddr]),
    ) -> Result<(), Error> {
        self.order(&Task::Replace {
            gate,
            intercept: intercept.clone(),
            limits: *limits,
            hubs: hubs.to_vec(),
        })
    }

    /// Servers that are not behind these hubs are left alone from now on.
    pub fn set_hubs(&self, hubs: &[IpAddr]) -> Result<(), Error> {
        self.order(&Task::Hubs { hubs: hubs.to_vec() })
    }

    /// Lets new connections come in, or pass untouched.
    pub fn set_gate(&self, gate: Gate) -> Result<(), Error> {
        self.order(&Task::Gate { gate })
    }

    /// Changes how many openings the kernel takes in.
    pub fn set_room(&self, grant: Grant) -> Result<(), Error> {
        self.order(&Task::Room { grant })
    }

    /// Lets new connections of one client pass untouched for some seconds.
    pub fn leave_alone(&self, client: IpAddr, seconds: u64) -> Result<(), Error> {
        self.order(&Task::LeaveAlone { client, seconds })
    }

    /// What can be seen of the way of packets that are taken in.
    pub fn look(&self) -> Result<Look, Error> {
        match self.lock().ask(&Task::Look)? {
            Answer::Look(look) => Ok(look),
            _ => Err(not_understood()),
        }
    }

    /// Puts back what others have removed; returns what that was.
    pub fn repair(&self) -> Result<Vec<String>, Error> {
        match self.lock().ask(&Task::Repair)? {
            Answer::Repaired(repaired) => Ok(repaired),
            _ => Err(not_understood()),
        }
    }

    /// Why what is taken in does not arrive.
    pub fn causes(&self) -> Result<Vec<Cause>, Error> {
        match self.lock().ask(&Task::Causes)? {
            Answer::Causes(causes) => Ok(causes),
            _ => Err(not_understood()),
        }
    }

    fn order(&self, task: &Task) -> Result<(), Error> {
        self.lock().ask(task).map(drop)
    }

    /// True while the helper lives.
    pub fn is_alive(&self) -> bool {
        matches!(self.lock().child.try_wait(), Ok(None))
    }
}

impl Drop for Interception {
    fn drop(&mut self) {
        let mut inside = self.lock();
        if let Err(why) = inside.ask(&Task::Remove) {
            tracing::warn!("{why}; `longhaul-pep clean` removes the rules");
        }
        let _ = inside.stream.get_ref().shutdown(std::net::Shutdown::Both);
        let _ = inside.child.wait();
    }
}

fn not_understood() -> Error {
    Error::system("understand the helper", "the answer is one to another task")
}

impl Inside {
    fn ask(&mut self, task: &Task) -> Result<Answer, Error> {
        let gone = || Error::system("change the rules", "the helper process for nftables has ended");
        let mut line = serde_json::to_string(task).map_err(|why| Error::system("call the helper", why))?;
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes()).map_err(|_| gone())?;
        let mut answer = String::new();
        match self.stream.read_line(&mut answer) {
            Ok(n) if n > 0 => {}
            _ => return Err(gone()),
        }
        match serde_json::from_str::<Result<Answer, Failure>>(&answer) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Failure { command, why })) => Err(Error::Command { command, why }),
            Err(why) => Err(Error::system("understand the helper", why)),
        }
    }
}

/// A command that failed.
#[derive(Serialize, Deserialize)]
struct Failure {
    command: String,
    why: String,
}

/// A task as the daemon writes it. The daemon meets the network, so its settings are checked again here: a name of an interface
/// becomes a part of a command, and a table's number decides which routes are removed.
fn read(line: &str) -> Result<Task, Failure> {
    let failed = |why: String| Failure { command: COMMAND.into(), why };
    let task = serde_json::from_str(line).map_err(|why| failed(why.to_string()))?;
    if let Task::Install { intercept, .. } | Task::Replace { intercept, .. } = &task {
        if let Some((key, what)) = crate::load::interception(intercept) {
            return Err(failed(format!("{key}: {what}")));
        }
    }
    Ok(task)
}

/// Every command that a task can lead to, for the fuzz target; `None` if the task is refused.
#[doc(hidden)]
pub fn commands(line: &str) -> Option<String> {
    use crate::plan;
    let both = |intercept: &Intercept, limits: &Limits| {
        let around =
            plan::Around { towards_hubs: intercept.interfaces.clone(), connected: intercept.sources.clone() };
        [plan::printed(intercept, limits, &around), plan::install(Gate::Shut, intercept, limits, &around)]
            .concat()
    };
    Some(match read(line).ok()? {
        Task::Install { intercept, limits, .. } | Task::Replace { intercept, limits, .. } => {
            both(&intercept, &limits)
        }
        Task::LeaveAlone { client, seconds } => plan::leave_alone(&Intercept::default(), client, seconds),
        Task::Room { grant } => plan::room(&Intercept::default(), grant),
        Task::Hubs { .. } | Task::Gate { .. } | Task::Repair | Task::Look | Task::Causes | Task::Remove => {
            plan::remove(&Intercept::default())
        }
    })
}

/// A task that installs the default settings, for the fuzz target.
#[doc(hidden)]
pub fn example() -> String {
    let (intercept, limits) = (Intercept::default(), Limits::default());
    serde_json::to_string(&Task::Install { gate: Gate::Open, intercept, limits, hubs: vec![] })
        .unwrap_or_default()
}

/// The helper's end: does tasks until the daemon is gone. What is installed then stays: without a listener it lets everything
/// pass, and the next start replaces it.
///
/// # Errors
/// If standard input is no daemon's.
pub fn serve() -> Result<(), Error> {
    crate::sandbox::keep_for_helper();
    let failed = |why: std::io::Error| Error::system("talk to the daemon (`run` starts this command)", why);
    let own = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned().map_err(failed)?;
    let stream = UnixStream::from(own);
    stream.peer_addr().map_err(failed)?;
    let mut write = stream.try_clone().map_err(failed)?;
    let mut rules: Option<Rules> = None;
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        let answer = read(&line).and_then(|task| {
            act(&mut rules, task).map_err(|error| match error {
                Error::Command { command, why } => Failure { command, why },
                other => Failure { command: COMMAND.into(), why: other.to_string() },
            })
        });
        let text = serde_json::to_string(&answer).unwrap_or_default();
        if writeln!(write, "{text}").is_err() {
            break;
        }
    }
    // A daemon that was killed has removed nothing, and a new one may have installed its own already.
    rules.into_iter().for_each(Rules::leave);
    Ok(())
}

fn act(rules: &mut Option<Rules>, task: Task) -> Result<Answer, Error> {
    let missing = || Error::system("change the rules", "none are installed");
    match task {
        Task::Install { gate, intercept, limits, hubs } => {
            *rules = Some(Rules::install(gate, &intercept, &limits, hubs)?);
        }
        Task::Replace { gate, intercept, limits, hubs } => {
            rules.as_mut().ok_or_else(missing)?.replace(gate, &intercept, &limits, hubs)?;
        }
        Task::Hubs { hubs } => rules.as_mut().ok_or_else(missing)?.set_hubs(hubs),
        Task::Gate { gate } => rules.as_mut().ok_or_else(missing)?.set_gate(gate)?,
        Task::Room { grant } => rules.as_ref().ok_or_else(missing)?.set_room(grant)?,
        Task::LeaveAlone { client, seconds } => {
            rules.as_ref().ok_or_else(missing)?.leave_alone(client, seconds)?;
        }
        Task::Look => return Ok(Answer::Look(rules.as_mut().ok_or_else(missing)?.look())),
        Task::Repair => return rules.as_ref().ok_or_else(missing)?.repair().map(Answer::Repaired),
        Task::Causes => return Ok(Answer::Causes(rules.as_ref().ok_or_else(missing)?.causes())),
        Task::Remove => drop(rules.take()),
    }
    Ok(Answer::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(change: impl FnOnce(&mut Intercept)) -> String {
        let mut intercept = Intercept::default();
        change(&mut intercept);
        let task = Task::Replace { gate: Gate::Open, intercept, limits: Limits::default(), hubs: vec![] };
        serde_json::to_string(&task).unwrap()
    }

    /// A daemon that was taken over had the helper run any command of nftables, and flush the main routing table.
    #[test]
    fn settings_of_a_task_are_checked_before_they_become_commands() {
        assert!(read(&task(|_| {})).is_ok());
        let name = "x\" }; }; flush ruleset; #";
        let refused = |text: String| read(&text).err().expect("it is refused").why;
        let why = refused(task(|intercept| intercept.interfaces = vec![name.into()]));
        assert!(why.contains("is no name of an interface"), "{why}");
        let why = refused(task(|intercept| intercept.table = 254));
        assert!(why.contains("the system's own"), "{why}");
        assert!(read("no task").is_err());
    }
}
