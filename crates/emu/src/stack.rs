//! Network stacks (network_namespaces(7)) identified by number: what was changed in one is restored there, wherever whoever restores
//! it is.

use crate::Error;
use nix::sched::{CloneFlags, setns};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number of the network stack that the thread is in.
pub(crate) fn own() -> u64 {
    number_of(Path::new("/proc/thread-self/ns/net")).unwrap_or(0)
}

/// Does something in the network stack of this number, in a thread of its own. `None` if there is none any more.
///
/// # Errors
/// If it may not be entered, and those of `work`.
pub(crate) fn within<T: Send>(
    number: u64,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Option<Result<T, Error>> {
    if number == own() {
        return Some(work());
    }
    let place = places().find(|place| number_of(place) == Some(number))?;
    let enter = || {
        let failed = |why: String| Error::system(format!("enter the network stack {number}"), why);
        let file = File::open(&place).map_err(|why| failed(why.to_string()))?;
        setns(file, CloneFlags::CLONE_NEWNET).map_err(|why| failed(why.to_string()))?;
        work()
    };
    Some(std::thread::scope(|scope| {
        scope.spawn(enter).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }))
}

/// All network stacks that are found here, and where each.
pub(crate) fn all() -> Vec<(u64, PathBuf)> {
    let mut found: Vec<(u64, PathBuf)> = vec![];
    for place in places() {
        let Some(number) = number_of(&place) else { continue };
        if !found.iter().any(|(known, _)| *known == number) {
            found.push((number, place));
        }
    }
    found
}

/// Where network stacks are found: by name, and those of processes.
fn places() -> impl Iterator<Item = PathBuf> {
    let entries = |directory| fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries("/run/netns").map(|entry| entry.path());
    let process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let of_processes = entries("/proc").filter(move |entry| entry.file_name().to_str().is_some_and(process));
    named.chain(of_processes.map(|entry| entry.path().join("ns/net")))
}

fn number_of(place: &Path) -> Option<u64> {
    fs::metadata(place).ok().map(|namespace| namespace.ino())
}
