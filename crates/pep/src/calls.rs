//! The system calls that are left to the daemon (seccomp). Any other fails with "operation not permitted": one that nobody
//! foresaw then costs a function and not ten thousand connections.

use crate::Error;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;

/// Why there may be no filter.
pub(crate) const NONE: &str = "this kernel has no filter for them (no seccomp)";

/// Calls with any arguments: bytes in and out, sockets, memory, threads, time.
const PLAIN: &[c_long] = &[
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_connect,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fchmod,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fstat,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_futex,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpeername,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_listen,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mkdirat,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_prlimit64,
    libc::SYS_pwrite64,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_renameat2,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_setpriority,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_splice,
    libc::SYS_statx,
    libc::SYS_sysinfo,
    libc::SYS_tgkill,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_umask,
    libc::SYS_uname,
    libc::SYS_unlinkat,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Older forms that only this architecture has, and glibc uses there.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_arch_prctl,
    libc::SYS_epoll_wait,
    libc::SYS_getrlimit,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_setrlimit,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[c_long] = &[libc::SYS_renameat];

/// Names a thread, and memory.
const NAMING: [u64; 2] = [libc::PR_SET_NAME as u64, 0x5356_4d41];
/// Whether a descriptor waits, how much is in a socket, and whether it is a terminal.
#[allow(clippy::unnecessary_cast, reason = "the type of these numbers differs between C libraries")]
const QUESTIONS: [u64; 4] =
    [libc::FIONBIO as u64, libc::FIONREAD as u64, libc::TIOCOUTQ as u64, libc::TCGETS as u64];
const FAMILIES: [i32; 4] = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];
/// Every namespace: threads need none.
const NAMESPACES: u64 = (libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS) as u64;

/// One rule for each value that an argument may have.
fn either(
    argument: u8,
    values: impl IntoIterator<Item = u64>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let one = |value| {
        let condition =
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value & 0xffff_ffff)?;
        SeccompRule::new(vec![condition])
    };
    values.into_iter().map(one).collect()
}

fn allowed() -> Result<BTreeMap<c_long, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        PLAIN.iter().chain(OLD).map(|call| (*call, vec![])).collect();
    rules.insert(libc::SYS_prctl, either(0, NAMING)?);
    rules.insert(libc::SYS_ioctl, either(1, QUESTIONS)?);
    let families = FAMILIES.map(|family| family as u64);
    rules.insert(libc::SYS_socket, either(0, families)?);
    rules.insert(libc::SYS_socketpair, either(0, [libc::AF_UNIX as u64])?);
    let none = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(NAMESPACES), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![none])?]);
    Ok(rules)
}

/// Restricts this thread and those that it starts; returns how many calls are left. `None` on a kernel without filters (built without
/// CONFIG_SECCOMP_FILTER).
///
/// # Errors
/// What the kernel refuses.
pub(crate) fn restrict() -> Result<Option<usize>, Error> {
    let failed = |why: &dyn std::fmt::Display| Error::system("restrict system calls (seccomp)", why);
    let target: TargetArch = std::env::consts::ARCH.try_into().map_err(|why| failed(&why))?;
    let rules = allowed().map_err(|why| failed(&why))?;
    let count = rules.len();
    let errno = |number: i32| SeccompAction::Errno(number as u32);
    let program = |rules, other, listed| -> Result<BpfProgram, seccompiler::BackendError> {
        SeccompFilter::new(rules, other, listed, target)?.try_into()
    };
    // Its flags are in memory, which a filter cannot inspect. The C library then takes the older call.
    let newer = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let filters = [
        program(newer.clone(), SeccompAction::Allow, errno(libc::ENOSYS)),
        program(rules.into_iter().chain(newer).collect(), errno(libc::EPERM), SeccompAction::Allow),
    ];
    // The first leaves the call that installs the second; the second does not.
    for filter in filters {
        match seccompiler::apply_filter(&filter.map_err(|why| failed(&why))?) {
            Ok(()) => {}
            Err(seccompiler::Error::Seccomp(why)) if is_missing(&why) => return Ok(None),
            Err(why) => return Err(failed(&why)),
        }
    }
    Ok(Some(count))
}

/// seccomp(2): the call does not exist, or has no filters.
fn is_missing(why: &std::io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread of its own, since nothing takes a filter back.
    #[test]
    fn what_is_not_listed_fails_and_threads_still_start() {
        let checked = std::thread::spawn(|| {
            nix::sys::prctl::set_no_new_privs().unwrap();
            assert!(restrict().unwrap().unwrap() > 90);
            let refused = std::process::Command::new("/bin/true").status().unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EPERM), "programs");
            let raw = socket2::Socket::new(socket2::Domain::PACKET, socket2::Type::RAW, None);
            assert_eq!(raw.unwrap_err().raw_os_error(), Some(libc::EPERM), "packet sockets");
            let apart = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER);
            assert_eq!(apart.unwrap_err(), nix::Error::EPERM, "namespaces");
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
        });
        checked.join().unwrap();
    }

    /// As routers' kernels may be built: the daemon works there without a filter, as it does without landlock.
    #[test]
    fn a_kernel_without_filters_is_no_error() {
        let checked = std::thread::spawn(|| {
            let target: TargetArch = std::env::consts::ARCH.try_into().unwrap();
            let none = BTreeMap::from([(libc::SYS_seccomp, vec![])]);
            let missing = SeccompAction::Errno(libc::ENOSYS as u32);
            let filter = SeccompFilter::new(none, SeccompAction::Allow, missing, target).unwrap();
            let program: BpfProgram = filter.try_into().unwrap();
            seccompiler::apply_filter(&program).unwrap();
            assert_eq!(restrict().unwrap(), None);
        });
        checked.join().unwrap();
    }
}
