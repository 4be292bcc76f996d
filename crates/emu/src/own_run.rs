//! A `/run` of the emulator's own, where that of the machine belongs to somebody else: for root of a user namespace
//! (user_namespaces(7)), who may make network namespaces, but not write down their names in the machine's `/run`. It is a mount of this
//! process alone, and goes with it, as do its namespaces.

use crate::{Error, namespace, registry};
use nix::fcntl::AtFlags;
use nix::mount::{MsFlags, mount};
use nix::unistd::{AccessFlags, faccessat};
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const RUN: &str = "/run";
/// All users of a machine, as the first user namespace has them.
const ALL_USERS: u64 = u32::MAX as u64;

/// Makes one if it is needed, with everything in it that the machine's has, but for the directories that the emulator writes to. The
/// process must not have started any thread.
///
/// # Errors
/// What the system refuses.
pub fn prepare() -> Result<(), Error> {
    let refused = |directory: &&str| {
        let may = AccessFlags::W_OK | AccessFlags::X_OK;
        Path::new(directory).exists()
            && faccessat(nix::fcntl::AT_FDCWD, *directory, may, AtFlags::AT_EACCESS).is_err()
    };
    let written = [RUN, namespace::DIRECTORY, registry::DIRECTORY];
    if !in_user_namespace() || !written.iter().any(refused) {
        return Ok(());
    }
    let failed = |why: String| Error::system(format!("make a {RUN} of the emulator's own"), why);
    if namespace::own_mounts().is_err() {
        // Without the capability for it, which is reported with the others.
        return Ok(());
    }
    let entries: Vec<(PathBuf, File)> = fs::read_dir(RUN)
        .map_err(|why| failed(why.to_string()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !written.iter().any(|directory| path == Path::new(directory)))
        .filter_map(|path| {
            let flags = libc::O_PATH | libc::O_NOFOLLOW;
            let file = OpenOptions::new().read(true).custom_flags(flags).open(&path).ok()?;
            Some((path, file))
        })
        .collect();
    let links: Vec<(PathBuf, PathBuf)> =
        entries.iter().filter_map(|(path, _)| Some((path.clone(), fs::read_link(path).ok()?))).collect();
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), RUN, Some("tmpfs"), flags, Some("mode=0755"))
        .map_err(|why| failed(why.to_string()))?;
    for (path, to) in &links {
        let _ = std::os::unix::fs::symlink(to, path);
    }
    for (path, file) in entries.iter().filter(|(path, _)| !links.iter().any(|(link, _)| link == path)) {
        let is_directory = file.metadata().is_ok_and(|of| of.is_dir());
        let made = if is_directory { fs::create_dir(path) } else { File::create(path).map(drop) };
        // What cannot be shown is missing.
        if made.is_ok() {
            let source = format!("/proc/self/fd/{}", file.as_raw_fd());
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            let _ = mount(Some(&source[..]), path, None::<&str>, flags, None::<&str>);
        }
    }
    Ok(())
}

/// Whether this process is in another user namespace than the machine's first.
pub(crate) fn in_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !is_of_all_users(&map)
}

fn is_of_all_users(map: &str) -> bool {
    let numbers: Vec<u64> = map.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    // Kernels without user namespaces have no map.
    numbers.is_empty() || numbers[..] == [0, 0, ALL_USERS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_user_namespace_has_all_users_as_they_are() {
        assert!(is_of_all_users("         0          0 4294967295\n") && is_of_all_users(""));
        assert!(!is_of_all_users("         0       1000          1\n"));
        assert!(!is_of_all_users("         0       1000          1\n         1     100000      65536\n"));
    }
}
