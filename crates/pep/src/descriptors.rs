//! Descriptors that connections must leave free: with none left, `longhaul-pep status` and Prometheus would get no answer, and
//! nothing could be reloaded, just when an operator looks.

use nix::sys::resource::{Resource, getrlimit};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Descriptors for commands, metrics, files of the configuration and the log.
pub(crate) const RESERVE: u64 = 16;

/// Descriptors of a few connections.
const FEW: u64 = 8;
/// Between two looks at whether there are some.
const PAUSE: Duration = Duration::from_millis(50);

/// Checks a descriptor that was just opened for a connection.
///
/// The kernel hands out the lowest free number (POSIX.1, "File Descriptor Allocation"), so one close to the bound of open files
/// states that only the reserve is left. The bound may change while the daemon runs (prlimit).
///
/// # Errors
/// `EMFILE` if the descriptor is one of the reserve: close it.
pub(crate) fn check(opened: &impl AsFd) -> io::Result<()> {
    check_beside(0, opened)
}

/// Checks a descriptor that was just opened for a client, as [`check`] does, and leaves those that are owed.
///
/// # Errors
/// As there.
pub(crate) fn check_client(opened: &impl AsFd) -> io::Result<()> {
    check_beside(owed(), opened)
}

fn check_beside(owed: u64, opened: &impl AsFd) -> io::Result<()> {
    let (bound, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let number = u64::try_from(opened.as_fd().as_raw_fd()).unwrap_or(0);
    let is_reserve = is_reserve(number.saturating_add(owed), bound);
    if is_reserve { Err(io::Error::from_raw_os_error(libc::EMFILE)) } else { Ok(()) }
}

/// Descriptors that accepted connections will need for their other sides.
static OWED: AtomicUsize = AtomicUsize::new(0);

fn owed() -> u64 {
    OWED.load(Ordering::Relaxed) as u64
}

/// One of these, until it is dropped: the other side is open, or will not be opened. Without them, clients that are accepted in one
/// burst could take all descriptors, and each would wait for one towards its server until it is given up.
pub(crate) struct Owed(());

impl Owed {
    pub fn new() -> Owed {
        OWED.fetch_add(1, Ordering::Relaxed);
        Owed(())
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        OWED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// True if there is room for a few connections again. Connections that were turned away for lack of descriptors return only
/// then, so that not one a second is closed.
pub(crate) fn are_free() -> bool {
    are_free_beside(0)
}

fn are_free_beside(owed: u64) -> bool {
    let Ok((bound, _)) = getrlimit(Resource::RLIMIT_NOFILE) else { return false };
    let Ok(next) = io::stderr().as_fd().try_clone_to_owned() else { return false };
    let number = u64::try_from(next.as_raw_fd()).unwrap_or(0);
    !is_reserve(number.saturating_add(FEW).saturating_add(owed), bound)
}

/// Descriptors that are open.
pub(crate) fn open() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |all| all.count() as u64)
}

/// Descriptors left for connections if so many are in use; the lowest free number shows whether there are more.
pub(crate) fn free(in_use: u64) -> u64 {
    let Ok((bound, _)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    let next =
        io::stderr().as_fd().try_clone_to_owned().map(|next| u64::try_from(next.as_raw_fd()).unwrap_or(0));
    bound.saturating_sub(RESERVE).saturating_sub(in_use.max(next.unwrap_or(bound)))
}

/// Waits until there is room for a few connections.
pub(crate) async fn freed() {
    while !are_free() {
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until there is room for a few clients, and for the other sides of those that are there.
pub(crate) async fn freed_for_clients() {
    while !are_free_beside(owed()) {
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_reserve(number: u64, bound: u64) -> bool {
    number.saturating_add(RESERVE) >= bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_numbers_below_the_bound_are_the_reserve() {
        assert!(!is_reserve(47, 64));
        assert!(is_reserve(48, 64));
        assert!(is_reserve(3, 16), "a bound below the reserve leaves nothing to connections");
        assert!(!is_reserve(1_000_000, u64::MAX), "no bound");
    }
}
