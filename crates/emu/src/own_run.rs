//! What an emulator without root makes for itself: a user namespace, in which it may make network namespaces, and a `/run` of its own.
//!
//! The latter where that of the machine belongs to somebody else: for root of a user namespace
//! (user_namespaces(7)), who may make network namespaces, but not write down their names in the machine's `/run`. It is a mount of this
//! process alone, and goes with it, as do its namespaces.

use crate::{Error, kernel, namespace, priority, registry};
use nix::fcntl::AtFlags;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{AccessFlags, Gid, Uid, faccessat, getegid, geteuid};
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const RUN: &str = "/run";
/// All users of a machine, as the first user namespace has them.
const ALL_USERS: u64 = u32::MAX as u64;

/// Who has started the emulator, if it has entered a user namespace by itself.
static CALLER: OnceLock<(Uid, Gid)> = OnceLock::new();

/// The user who has started the emulator, if it has entered a user namespace by itself, where it is root: commands are to run as that
/// user.
pub(crate) fn caller() -> Option<(Uid, Gid)> {
    CALLER.get().copied()
}

/// Enters a user namespace, if this process is no root's and lacks what network namespaces take. The process must not have started any
/// thread.
///
/// # Errors
/// What the system refuses, with the setting that makes it refuse.
pub fn enter_user_namespace() -> Result<(), Error> {
    let (uid, gid) = (geteuid(), getegid());
    if uid.is_root() || priority::may_make_namespaces() {
        return Ok(());
    }
    let failed = |why: String| {
        let hint = what_forbids(|path| fs::read_to_string(path).ok());
        Error::system(
            "make a user namespace, by which the emulator works without root",
            format!("{why}{hint}"),
        )
    };
    kernel::remember();
    // A network namespace of its own is one that `ip` may come back to.
    let flags = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET;
    unshare(flags).map_err(|why| failed(why.desc().to_string()))?;
    // Groups of the caller cannot be kept, and none may be given up.
    for (file, text) in [
        ("setgroups", "deny".to_string()),
        ("uid_map", format!("0 {uid} 1")),
        ("gid_map", format!("0 {gid} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), text).map_err(|why| failed(format!("{file}: {why}")))?;
    }
    // Security modules may permit one that has no privileges in it.
    if !priority::may_make_namespaces() {
        return Err(failed("it has no privileges".to_string()));
    }
    let _ = CALLER.set((uid, gid));
    Ok(())
}

/// Enters the user namespace of an emulator of this user's, and sees the files that it does. The process must not have started any thread.
///
/// # Errors
/// What the system refuses.
pub(crate) fn join(emulator: i64) -> Result<(), Error> {
    let failed = |why: String| Error::system("enter the emulator's user namespace", why);
    let (uid, gid) = (geteuid(), getegid());
    let here = std::env::current_dir().ok();
    let open =
        |kind: &str| File::open(format!("/proc/{emulator}/ns/{kind}")).map_err(|why| failed(why.to_string()));
    // Opened before: in another user namespace they could not be.
    let (users, mounts) = (open("user")?, open("mnt")?);
    setns(users, CloneFlags::CLONE_NEWUSER).map_err(|why| failed(why.desc().to_string()))?;
    setns(mounts, CloneFlags::CLONE_NEWNS).map_err(|why| failed(why.desc().to_string()))?;
    let _ = here.map(std::env::set_current_dir);
    let _ = CALLER.set((uid, gid));
    Ok(())
}

/// Settings by which machines forbid user namespaces to users, with the value that does, and what permits them.
const FORBIDS: [(&str, &str, &str); 3] = [
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "10000"),
];

/// What to do, by the settings of this machine.
fn what_forbids(read: impl Fn(&str) -> Option<String>) -> String {
    let found = FORBIDS.iter().find(|(name, value, _)| {
        read(&format!("/proc/sys/{name}")).is_some_and(|text| text.trim() == *value)
    });
    match found {
        Some((name, value, right)) => {
            let name = name.replace('/', ".");
            format!(
                "; {name} is {value} here: run the emulator with sudo, or permit it: sudo sysctl {name}={right}"
            )
        }
        None => "; run the emulator with sudo; in a container see \"In a container\" of docs/emulator.md"
            .to_string(),
    }
}

/// Makes a `/run` if it is needed, with everything in it that the machine's has, but for the directories that the emulator writes to. The
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
    // In a namespace that was just entered, mounts are another one's, whoever may write there.
    if caller().is_none() && (!in_user_namespace() || !written.iter().any(refused)) {
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

    /// As reports about Ubuntu 24.04, Debian before 11 and hardened machines have it.
    #[test]
    fn what_forbids_user_namespaces_is_named() {
        let machine = |name: &'static str, value: &'static str| {
            what_forbids(move |path| path.ends_with(name).then(|| format!("{value}\n")))
        };
        assert_eq!(
            machine("apparmor_restrict_unprivileged_userns", "1"),
            "; kernel.apparmor_restrict_unprivileged_userns is 1 here: run the emulator with sudo, or permit it: \
             sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        );
        assert!(
            machine("unprivileged_userns_clone", "0").contains("sysctl kernel.unprivileged_userns_clone=1")
        );
        assert!(machine("max_user_namespaces", "0").contains("sysctl user.max_user_namespaces=10000"));
        assert!(machine("max_user_namespaces", "96365").starts_with("; run the emulator with sudo"));
    }

    #[test]
    fn the_first_user_namespace_has_all_users_as_they_are() {
        assert!(is_of_all_users("         0          0 4294967295\n") && is_of_all_users(""));
        assert!(!is_of_all_users("         0       1000          1\n"));
        assert!(!is_of_all_users("         0       1000          1\n         1     100000      65536\n"));
    }
}
