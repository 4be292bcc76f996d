//! Network namespaces (network_namespaces(7)): made and removed with iproute2's `ip`, entered by threads. A namespace is a
//! network stack of its own: interfaces, routes, sockets, settings.

use crate::names::View;
use crate::{Error, registry};
use longhaul_program::tool;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// All names that the emulator gives begin with this; it never touches anything whose name does not.
pub const PREFIX: &str = "lh-";

/// Where `ip netns` keeps namespaces by name.
pub(crate) const DIRECTORY: &str = "/run/netns";

/// Makes a namespace.
///
/// # Errors
/// The message of `ip`.
pub fn add(name: &str) -> Result<(), Error> {
    ip(&["netns", "add", name], "")
}

/// Removes a namespace; whatever is still inside lives on without a name until it ends.
///
/// # Errors
/// The message of `ip`. A name without the prefix is refused.
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

/// Processes that are in a namespace, but for the emulator itself.
pub fn processes(name: &str) -> Vec<i32> {
    let number = |place: &Path| std::fs::metadata(place).ok().map(|namespace| namespace.ino());
    let Some(wanted) = number(&Path::new(DIRECTORY).join(name)) else { return vec![] };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let inside = |process: &i32| number(Path::new(&format!("/proc/{process}/ns/net"))) == Some(wanted);
    processes.filter(|process| *process != std::process::id() as i32).filter(inside).collect()
}

/// Runs commands of `ip`, one a line, in a namespace.
///
/// # Errors
/// The message of `ip`.
pub fn configure(name: &str, commands: &str) -> Result<(), Error> {
    ip(&["-n", name, "-batch", "-"], commands)
}

/// Runs commands of `ip`, one a line, in the network namespace of the thread.
///
/// # Errors
/// The message of `ip`.
pub fn outside(commands: &str) -> Result<(), Error> {
    ip(&["-batch", "-"], commands)
}

/// Has the kernel handle what comes in at a device of a namespace on the processors of `mask` (receive packet steering).
///
/// # Errors
/// A kernel that cannot do it.
pub fn steer(name: &str, device: &str, mask: &str) -> Result<(), Error> {
    within(name, || {
        own_mounts()?;
        show_devices(true)?;
        let file = format!("/sys/class/net/{device}/queues/rx-0/rps_cpus");
        std::fs::write(&file, mask).map_err(|why| Error::system(format!("write {mask} to {file}"), why))
    })
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

/// Gives the thread, and what it starts, mounts of its own. What is mounted outside later is seen inside too.
///
/// # Errors
/// What the system refuses.
pub fn own_mounts() -> Result<(), Error> {
    let failed = |why| Error::system("make a mount namespace", why);
    let nothing = None::<&str>;
    unshare(CloneFlags::CLONE_NEWNS).map_err(failed)?;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing).map_err(failed)
}

/// Where the kernel shows devices.
const DEVICES: &str = "/sys";

/// Shows the thread, which has [`own_mounts`], and what it starts the devices of its network namespace in `/sys`; they cannot be changed
/// there if those of the machine cannot, unless this is wanted.
///
/// # Errors
/// What the system refuses.
pub fn show_devices(to_change: bool) -> Result<(), Error> {
    let failed = |why| Error::system(format!("show the namespace's devices in {DEVICES}"), why);
    let fixed = statvfs(DEVICES).is_ok_and(|of| of.flags().contains(FsFlags::ST_RDONLY)) && !to_change;
    // What is mounted below, as control groups are, is so afterwards.
    let open = |place: PathBuf| {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&place).ok()?;
        Some((place, file))
    };
    let below: Vec<(PathBuf, File)> = mounts_below(DEVICES).into_iter().filter_map(open).collect();
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("sysfs"), DEVICES, Some("sysfs"), flags, None::<&str>).map_err(failed)?;
    if fixed {
        // This mount alone, and not the namespace's devices for all.
        let flags = flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        mount(None::<&str>, DEVICES, None::<&str>, flags, None::<&str>).map_err(failed)?;
    }
    for (place, file) in below {
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        // Where the namespace has no such directory, there is nothing to be shown.
        let _ =
            mount(Some(&source[..]), &place, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>);
    }
    Ok(())
}

/// Where something is mounted below a directory, but for what is below one of these (proc_pid_mountinfo(5)).
fn mounts_below(directory: &str) -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default();
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    let mut found: Vec<PathBuf> = vec![];
    for place in places.filter(|place| place.starts_with(directory) && *place != Path::new(directory)) {
        if !found.iter().any(|known| place.starts_with(known)) {
            found.push(place.to_path_buf());
        }
    }
    found
}

/// What `ip` prints, in the network namespace of the thread.
///
/// # Errors
/// The message of `ip`.
pub fn show(arguments: &[&str]) -> Result<String, Error> {
    run(arguments, "")
}

/// Shows the thread, which has [`own_mounts`], and what it starts files in the place of others: nothing is written where these are.
///
/// # Errors
/// What the system refuses.
pub fn present(view: &View) -> Result<(), Error> {
    let nothing = None::<&str>;
    let failed = |what: &Path| {
        let what = format!("show another file as {}", what.display());
        move |why: Errno| Error::system(what, why)
    };
    let directory = Path::new(registry::DIRECTORY);
    mount(Some("tmpfs"), directory, Some("tmpfs"), MsFlags::empty(), Some("size=1m,mode=755"))
        .map_err(failed(directory))?;
    for (number, (place, text)) in view.files.iter().enumerate() {
        let file = directory.join(number.to_string());
        std::fs::write(&file, text).map_err(|why| Error::system(format!("write {}", file.display()), why))?;
        mount(Some(&file), place, nothing, MsFlags::MS_BIND, nothing).map_err(failed(place))?;
    }
    for place in &view.hidden {
        mount(Some("/dev/null"), place, nothing, MsFlags::MS_BIND, nothing).map_err(failed(place))?;
    }
    // The files live on where they are shown.
    umount2(directory, MntFlags::MNT_DETACH).map_err(failed(directory))
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
    let hint = |said: &str| failed(said).map_or(String::new(), |command| format!(" (at `{command}`)"));
    Ok(tool::run("ip", "iproute2", arguments, input, &hint)?)
}
