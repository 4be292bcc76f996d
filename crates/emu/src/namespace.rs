//! Network namespaces (network_namespaces(7)): made and removed with iproute2's `ip`, entered by threads. A namespace is a
//! network stack of its own: interfaces, routes, sockets, settings.

use crate::Error;
use crate::error::explained;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// All names that the emulator gives begin with this; it never touches anything whose name does not.
pub const PREFIX: &str = "lh-";

/// Where `ip netns` keeps namespaces by name.
const DIRECTORY: &str = "/run/netns";

/// Makes a namespace.
///
/// # Errors
/// What `ip` says.
pub fn add(name: &str) -> Result<(), Error> {
    ip(&["netns", "add", name], "")
}

/// Removes a namespace; whatever is still inside lives on without a name until it ends.
///
/// # Errors
/// What `ip` says. A name without the prefix is refused.
pub fn delete(name: &str) -> Result<(), Error> {
    if !name.starts_with(PREFIX) {
        return Err(Error::system(format!("remove the namespace {name}"), "it is not one of the emulator's"));
    }
    ip(&["netns", "delete", name], "")
}

/// True if there is a namespace of this name.
pub fn exists(name: &str) -> bool {
    std::path::Path::new(DIRECTORY).join(name).exists()
}

/// Processes that are in a namespace.
///
/// # Errors
/// What `ip` says.
pub fn processes(name: &str) -> Result<Vec<i32>, Error> {
    let output = run(&["netns", "pids", name], "")?;
    Ok(output.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// Runs commands of `ip`, one a line, in a namespace.
///
/// # Errors
/// What `ip` says.
pub fn configure(name: &str, commands: &str) -> Result<(), Error> {
    ip(&["-n", name, "-batch", "-"], commands)
}

/// Runs commands of `ip`, one a line, in the network namespace of the thread.
///
/// # Errors
/// What `ip` says.
pub fn outside(commands: &str) -> Result<(), Error> {
    ip(&["-batch", "-"], commands)
}

/// Has the kernel handle what comes in at a device of a namespace on the processors of `mask` (receive packet steering).
///
/// # Errors
/// A kernel that cannot do it.
pub fn steer(name: &str, device: &str, mask: &str) -> Result<(), Error> {
    // `ip netns exec` shows /sys as the namespace has it.
    let command = format!("echo {mask} > /sys/class/net/{device}/queues/rx-0/rps_cpus");
    ip(&["netns", "exec", name, "sh", "-c", &command], "")
}

/// Does something in a namespace, in a thread of its own: threads that it starts and processes that it starts are there too.
///
/// # Errors
/// If the namespace cannot be entered, and those of `work`.
pub fn within<T: Send>(name: &str, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter(name)?;
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Shows the thread, and what it starts, one file in the place of another.
///
/// # Errors
/// What the system refuses.
pub fn show_instead(file: &Path, of: &Path) -> Result<(), Error> {
    let failed = |why| Error::system(format!("show {} as {}", file.display(), of.display()), why);
    let nothing = None::<&str>;
    unshare(CloneFlags::CLONE_NEWNS).map_err(failed)?;
    // What is mounted from now on stays between us.
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).map_err(failed)?;
    mount(Some(file), of, nothing, MsFlags::MS_BIND, nothing).map_err(failed)
}

/// Moves the calling thread into a namespace, for good.
///
/// # Errors
/// If it does not exist, or may not be entered.
pub fn enter(name: &str) -> Result<(), Error> {
    let path = format!("{DIRECTORY}/{name}");
    let entering = |why: String| Error::system(format!("enter the namespace {name}"), why);
    let file = File::open(path).map_err(|why| entering(why.to_string()))?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|why| entering(why.to_string()))
}

fn ip(arguments: &[&str], input: &str) -> Result<(), Error> {
    run(arguments, input).map(drop)
}

/// Runs `ip` with `input`, and returns what it prints.
fn run(arguments: &[&str], input: &str) -> Result<String, Error> {
    // In a batch `ip` names the line that failed by its number.
    let line = |said: &str| said.rsplit_once("Command failed -:")?.1.trim().parse::<usize>().ok();
    let failed = |said: &str| line(said).and_then(|line| input.lines().nth(line - 1));
    tool("ip", "iproute2", arguments, input, &|said| {
        failed(said).map_or(String::new(), |command| format!(" (at `{command}`)"))
    })
}

/// Runs a program of Debian's `package` in the network namespace of the thread, with `input`, and returns what it prints. `hint` says
/// more of what it says when it fails.
///
/// # Errors
/// If there is no such program, or what it says.
pub(crate) fn tool(
    program: &str,
    package: &str,
    arguments: &[&str],
    input: &str,
    hint: &dyn Fn(&str) -> String,
) -> Result<String, Error> {
    let failed = |why: String| Error::Command { command: format!("{program} {}", arguments.join(" ")), why };
    let mut child = Command::new(program)
        .args(arguments)
        // Ctrl-C is for the emulator, which then removes what it has made by these very programs.
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
        // If it does not read, it says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|why| failed(why.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!("{}{}", said.trim(), hint(&said))))
}
