//! Being served in time by the machine: real-time priority for the thread that moves packets, and what the process may do
//! at all (capabilities(7)).

use crate::{Error, registry, sys};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{AccessFlags, Pid, faccessat};

/// Numbers of capabilities (linux/capability.h).
const NET_ADMIN: (u32, &str) = (12, "CAP_NET_ADMIN");
const SYS_ADMIN: (u32, &str) = (21, "CAP_SYS_ADMIN");
/// To open packet sockets.
const NET_RAW: (u32, &str) = (13, "CAP_NET_RAW");
/// To write where only root may: `/run`, for whoever is not root.
const DAC_OVERRIDE: (u32, &str) = (1, "CAP_DAC_OVERRIDE");

/// The lowest real-time priority: above all ordinary processes, below everything else that is real-time.
const PRIORITY: i32 = 1;

/// Processors that the process may run on: the one for the thread that moves packets, and the mask of the others as the
/// kernel writes masks (hexadecimal, 32 to a group); `None` if there is only one.
///
/// Whatever a host's TCP does with a packet that is handed over, the kernel does at once on the same processor, unless it is
/// configured to do it elsewhere (receive packet steering): long lists of lost segments, for instance, while others are due.
pub fn processors() -> Option<(usize, String)> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let allowed: Vec<usize> = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect();
    let (own, others) = allowed.split_last()?;
    (!others.is_empty()).then(|| (*own, mask(others)))
}

/// A mask of processors; `cpus` in ascending order.
fn mask(cpus: &[usize]) -> String {
    let groups = cpus.last().map_or(0, |last| last / 32);
    let mut words = vec![0u32; groups + 1];
    cpus.iter().for_each(|cpu| words[cpu / 32] |= 1 << (cpu % 32));
    words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}

/// Gives the calling thread real-time priority, exact timers, and a processor.
///
/// # Errors
/// The message that it is not permitted, and what follows from it.
pub fn raise() -> Result<(), String> {
    // Ordinary threads are woken up to 50 us late, on purpose. Real-time ones are not.
    let _ = nix::sys::prctl::set_timerslack(1);
    if let Some((own, _)) = processors() {
        let mut set = CpuSet::new();
        // It stays where it is if that is refused.
        let _ = set.set(own).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    }
    sys::set_fifo_priority(PRIORITY).map_err(|why| {
        format!(
            "no real-time priority (SCHED_FIFO): {why}; packets will be late when the machine is busy \
             (root or CAP_SYS_NICE is needed)"
        )
    })
}

/// Checks that namespaces and devices may be made, and written down.
///
/// # Errors
/// The capabilities that are missing; a directory that cannot be written to.
pub fn check_capabilities() -> Result<(), Error> {
    let mut missing = missing_here(&[NET_ADMIN, SYS_ADMIN]);
    for directory in ["/run", "/run/netns", registry::DIRECTORY] {
        let may = AccessFlags::W_OK | AccessFlags::X_OK;
        match faccessat(AT_FDCWD, directory, may, AtFlags::AT_EACCESS) {
            // Whoever is not root owns none of them.
            Err(Errno::EACCES) if !missing.contains(&DAC_OVERRIDE.1) => missing.push(DAC_OVERRIDE.1),
            Err(why) if why != Errno::EACCES && why != Errno::ENOENT => {
                return Err(Error::system(
                    format!(
                        "write to {directory}, where network namespaces and the emulator's notes of them are kept"
                    ),
                    why.desc(),
                ));
            }
            _ => {}
        }
    }
    all_there(missing)
}

/// Whether network namespaces may be made.
pub(crate) fn may_make_namespaces() -> bool {
    missing_here(&[NET_ADMIN, SYS_ADMIN]).is_empty()
}

/// Checks that interfaces may be bridged.
///
/// # Errors
/// The capabilities that are missing.
pub fn check_bridge_capabilities() -> Result<(), Error> {
    all_there(missing_here(&[NET_RAW]))
}

fn all_there(missing: Vec<&'static str>) -> Result<(), Error> {
    if missing.is_empty() { Ok(()) } else { Err(Error::Capabilities(missing)) }
}

fn missing_here(needed: &[(u32, &'static str)]) -> Vec<&'static str> {
    missing(&std::fs::read_to_string("/proc/self/status").unwrap_or_default(), needed)
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
    fn masks_are_as_the_kernel_writes_them() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[0, 1, 2, 31]), "80000007");
        assert_eq!(mask(&[3, 32, 64]), "00000001,00000001,00000008");
    }

    #[test]
    fn missing_capabilities_are_named() {
        let needed = [NET_ADMIN, SYS_ADMIN];
        assert_eq!(missing("Name:\tx\nCapEff:\t000001ffffffffff\n", &needed), Vec::<&str>::new());
        assert_eq!(missing("CapEff:\t0000000000001000\n", &needed), ["CAP_SYS_ADMIN"]);
        assert_eq!(missing("CapEff:\t0000000000000000\n", &needed), ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]);
    }
}
