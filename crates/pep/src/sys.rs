//! Calls of the kernel for which the libraries in use have no safe form. Each function is one call, checks its result, and
//! is safe to use.
#![allow(unsafe_code)]

use crate::timer::Timer;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use tokio::io::unix::AsyncFd;

/// Bytes of `struct tcp_info` up to `tcpi_min_rtt` and what follows it in Linux 4.9 and newer.
const TCP_INFO_LEN: usize = 232;

/// Numbers of the kernel's `tcp.h` (Linux 4.2 and newer).
pub(crate) const TCP_SAVE_SYN: i32 = 27;
const TCP_SAVED_SYN: i32 = 28;
/// The largest opening: headers of 60 bytes each, with room for extension headers of IPv6.
const SYN_LEN: usize = 512;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Limits the rate of a socket (`SO_MAX_PACING_RATE`), in bytes a second.
pub(crate) fn set_max_pacing_rate(socket: BorrowedFd, bytes_per_second: u64) -> io::Result<()> {
    let len = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the pointer is to an integer of the stated length, which lives throughout the call.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes_per_second).cast(),
            len,
        )
    })
}

/// The limit of [`set_max_pacing_rate`] as the kernel has it.
pub(crate) fn max_pacing_rate(socket: BorrowedFd) -> io::Result<u64> {
    let mut value = 0u64;
    let mut len = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into an integer of that length.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw mut value).cast(),
            &mut len,
        )
    })?;
    Ok(value)
}

/// Sets an integer option.
pub(crate) fn set_option(socket: BorrowedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer is to an integer of the stated length, which lives throughout the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), len) })
}

/// The niceness of the calling thread, which is what threads and processes that it starts begin with.
pub(crate) fn nice() -> i32 {
    // SAFETY: no memory is passed; 0 is the calling thread. What fails reads as -1, which is a value like others.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Sets it; less than before takes CAP_SYS_NICE or RLIMIT_NICE.
pub(crate) fn set_nice(value: i32) -> io::Result<()> {
    // SAFETY: no memory is passed; 0 is the calling thread.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) })
}

/// Bytes in the send buffer of a TCP socket that the receiver has not acknowledged (`SIOCOUTQ`), the FIN not counted.
pub(crate) fn unacknowledged(socket: BorrowedFd) -> io::Result<usize> {
    let mut value: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (the number of TIOCOUTQ) writes one integer, which lives throughout the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ as _, &raw mut value) })?;
    Ok(usize::try_from(value).unwrap_or(0))
}

/// Moves bytes between a socket and a pipe, without waiting for either.
pub(crate) fn splice(from: BorrowedFd, to: BorrowedFd, most: usize) -> io::Result<usize> {
    let (none, flags) = (std::ptr::null_mut(), libc::SPLICE_F_NONBLOCK | libc::SPLICE_F_MOVE);
    // SAFETY: both descriptors are open throughout the call, and no memory is passed.
    let moved = unsafe { libc::splice(from.as_raw_fd(), none, to.as_raw_fd(), none, most, flags) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// The packet that opened an accepted connection, from its IP header on; empty unless its listener had `TCP_SAVE_SYN` set.
pub(crate) fn saved_syn(socket: BorrowedFd) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0u8; SYN_LEN];
    let mut len = buffer.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which is the buffer's length.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            TCP_SAVED_SYN,
            buffer.as_mut_ptr().cast(),
            &mut len,
        )
    })?;
    buffer.truncate(len as usize);
    Ok(buffer)
}

fn filter(socket: BorrowedFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the program, whose length is stated, and checks it.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
}

fn step(code: u32, k: u32, jump_if_true: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: jump_if_true, jf: 0, k }
}

/// Lets no packet come to a socket.
pub(crate) fn drop_all(socket: BorrowedFd) -> io::Result<()> {
    filter(socket, &mut [step(libc::BPF_RET | libc::BPF_K, 0, 0)])
}

/// Lets TCP packets, from their IP header on, come to a socket if one of their ports is among these.
pub(crate) fn only_ports(socket: BorrowedFd, ports: &[u16]) -> io::Result<()> {
    use libc::{
        BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IMM, BPF_IND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_LDX,
    };
    use libc::{BPF_MSH, BPF_RET, BPF_W};
    // Index register: where the TCP header begins. IPv4's length is in its first byte.
    let mut program = vec![
        step(BPF_LD | BPF_B | BPF_ABS, 0, 0),
        step(BPF_ALU | BPF_AND | BPF_K, 0xf0, 0),
        step(BPF_LDX | BPF_B | BPF_MSH, 0, 0),
        libc::sock_filter { jf: 1, ..step(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 0) },
        step(BPF_LDX | BPF_W | BPF_IMM, 40, 0),
    ];
    let tests = ports.len() * 2 + 2;
    for (index, offset) in [(0, 0), (1, 2)] {
        program.push(step(BPF_LD | BPF_H | BPF_IND, offset, 0));
        for (number, port) in ports.iter().enumerate() {
            // Over the tests that follow, the rest of the loads and the refusal.
            let done = index * (ports.len() + 1) + 1 + number;
            let over = u8::try_from(tests - done).map_err(io::Error::other)?;
            program.push(step(BPF_JMP | BPF_JEQ | BPF_K, u32::from(*port), over));
        }
    }
    program.push(step(BPF_RET | BPF_K, 0, 0));
    program.push(step(BPF_RET | BPF_K, u32::MAX, 0));
    filter(socket, &mut program)
}

/// Lets packets come to a socket whose mark has one of these bits.
pub(crate) fn only_marked(socket: BorrowedFd, bits: u32) -> io::Result<()> {
    let mark = (libc::SKF_AD_OFF + libc::SKF_AD_MARK) as u32;
    let mut program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, mark, 0),
        step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, 1),
        step(libc::BPF_RET | libc::BPF_K, 0, 0),
        step(libc::BPF_RET | libc::BPF_K, u32::MAX, 0),
    ];
    filter(socket, &mut program)
}

/// Bytes that have come to a socket, are acknowledged, and were not read (`SIOCINQ`).
pub(crate) fn unread(socket: BorrowedFd) -> io::Result<usize> {
    let mut value: libc::c_int = 0;
    // SAFETY: SIOCINQ (the number of FIONREAD) writes one integer, which lives throughout the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONREAD as _, &raw mut value) })?;
    Ok(usize::try_from(value).unwrap_or(0))
}

/// Reads an integer option.
pub(crate) fn option(socket: BorrowedFd, level: i32, option: i32) -> io::Result<i32> {
    let (mut value, mut len) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `len` bytes into an integer of that length.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &mut len) })?;
    Ok(value)
}

/// True if something keeps this machine's clock with the world's (adjtimex(2)).
pub(crate) fn clock_is_kept() -> bool {
    // SAFETY: all of its fields are integers, for which zero is a value; `modes` 0 reads and changes nothing.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives throughout the call.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    answer >= 0 && answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0
}

/// Has the kernel end the command when the thread that starts it ends.
pub(crate) fn die_with_thread(command: &mut Command) {
    // SAFETY: between fork and exec only one call that may be made there is made; it touches no memory.
    unsafe {
        command.pre_exec(|| check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)));
    }
}

/// Gives freed memory back to the system. The library keeps it otherwise, in a store for each thread (malloc_trim(3)).
pub(crate) fn give_memory_back() {
    // SAFETY: it takes a number, and may be called at any time from any thread.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets the runtime wait for a timer.
pub(crate) fn watched(timer: Timer) -> io::Result<AsyncFd<Timer>> {
    // SAFETY: the timer owns its descriptor and returns the same one as long as it lives.
    unsafe { AsyncFd::register(timer) }.map_err(io::Error::from)
}

/// The same for a socket that the runtime has no form of.
pub(crate) fn watched_socket(socket: socket2::Socket) -> io::Result<AsyncFd<socket2::Socket>> {
    // SAFETY: the socket owns its descriptor and returns the same one as long as it lives.
    unsafe { AsyncFd::register(socket) }.map_err(io::Error::from)
}

const CLOSE: u8 = 7;

/// The fields of TCP_INFO that are used here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    /// TCP's state, as in the kernel's `tcp_states.h`.
    pub state: u8,
    /// Retransmissions and probes in a row without an answer.
    pub unanswered: u8,
    /// Time since the last ACK.
    pub acked_ms: u32,
}

impl TcpInfo {
    /// True once the FIN that was sent is acknowledged, or the connection is gone.
    pub fn fin_is_acknowledged(&self) -> bool {
        const FIN_WAIT_2: u8 = 5;
        const TIME_WAIT: u8 = 6;
        [FIN_WAIT_2, TIME_WAIT, CLOSE].contains(&self.state)
    }

    /// True if the peer has not acknowledged anything for so long although it was asked: a single packet may be lost.
    pub fn is_unanswered(&self, ms: u64) -> bool {
        self.unanswered >= 2 && u64::from(self.acked_ms) >= ms
    }

    /// True if the connection is gone.
    pub fn is_closed(&self) -> bool {
        self.state == CLOSE
    }
}

/// Reads TCP_INFO.
pub(crate) fn tcp_info(socket: BorrowedFd) -> io::Result<TcpInfo> {
    let mut buffer = [0u8; TCP_INFO_LEN];
    let mut len = buffer.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which is the buffer's length.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            buffer.as_mut_ptr().cast(),
            &mut len,
        )
    })?;
    // Offsets in `struct tcp_info` (linux/tcp.h): tcpi_retransmits, tcpi_probes, tcpi_last_ack_recv.
    let acked_ms = u32::from_ne_bytes([buffer[56], buffer[57], buffer[58], buffer[59]]);
    Ok(TcpInfo { state: buffer[0], unanswered: buffer[2].max(buffer[3]), acked_ms })
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    /// Bytes of memory that this process has.
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn freed_memory_goes_back_to_the_system() {
        // Small blocks of another thread, and one behind them that stays: what is before it is free and kept.
        let stays = std::thread::spawn(|| {
            let blocks: Vec<Vec<u8>> = (0..64 << 10).map(|_| vec![1; 1 << 10]).collect();
            let stays = vec![1u8; 1 << 10];
            drop(blocks);
            stays
        });
        let stays = stays.join().unwrap();
        let kept = resident();
        super::give_memory_back();
        let left = resident();
        assert!(left + (32 << 20) < kept, "{kept} bytes before, {left} after");
        drop(stays);
    }
}
