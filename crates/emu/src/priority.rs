//! Being served in time by the machine: real-time priority for the thread that moves packets, and what the process may do
//! at all (capabilities(7)).

use crate::{Error, sys};

/// Numbers of capabilities (linux/capability.h).
const NET_ADMIN: (u32, &str) = (12, "CAP_NET_ADMIN");
const SYS_ADMIN: (u32, &str) = (21, "CAP_SYS_ADMIN");
/// To open packet sockets.
const NET_RAW: (u32, &str) = (13, "CAP_NET_RAW");

/// The lowest real-time priority: above all ordinary processes, below everything else that is real-time.
const PRIORITY: i32 = 1;

/// Gives the calling thread real-time priority and exact timers.
///
/// # Errors
/// A sentence that says that it is not permitted, and what follows from it.
pub fn raise() -> Result<(), String> {
    // Ordinary threads are woken up to 50 us late, on purpose. Real-time ones are not.
    let _ = nix::sys::prctl::set_timerslack(1);
    sys::set_fifo_priority(PRIORITY).map_err(|why| {
        format!(
            "no real-time priority (SCHED_FIFO): {why}; packets will be late when the machine is busy \
             (root or CAP_SYS_NICE is needed)"
        )
    })
}

/// Checks that namespaces and devices may be made.
///
/// # Errors
/// The capabilities that are missing.
pub fn check_capabilities() -> Result<(), Error> {
    check(&[NET_ADMIN, SYS_ADMIN])
}

/// Checks that interfaces may be bridged.
///
/// # Errors
/// The capabilities that are missing.
pub fn check_bridge_capabilities() -> Result<(), Error> {
    check(&[NET_ADMIN, NET_RAW])
}

fn check(needed: &[(u32, &'static str)]) -> Result<(), Error> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let missing = missing(&status, needed);
    if missing.is_empty() { Ok(()) } else { Err(Error::Capabilities(missing)) }
}

/// Which of these are not among the effective capabilities in `/proc/self/status`.
fn missing(status: &str, needed: &[(u32, &'static str)]) -> Vec<&'static str> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0);
    needed.iter().filter(|(number, _)| effective >> number & 1 == 0).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_are_named() {
        let needed = [NET_ADMIN, SYS_ADMIN];
        assert_eq!(missing("Name:\tx\nCapEff:\t000001ffffffffff\n", &needed), Vec::<&str>::new());
        assert_eq!(missing("CapEff:\t0000000000001000\n", &needed), ["CAP_SYS_ADMIN"]);
        assert_eq!(missing("CapEff:\t0000000000000000\n", &needed), ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]);
    }
}
