//! The only unsafe code of the project: calls of the kernel for which the libraries in use have no safe form. Each function
//! is one call, checks its result, and is safe to use.
#![allow(unsafe_code)]

use nix::unistd::{Gid, Uid, setgid, setgroups, setuid};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Turns 0 into success and anything else into the kernel's error.
fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A zeroed `ifreq` with the name of an interface.
fn interface_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` consists of integers and pointers, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name}: too long for an interface"),
        ));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Makes `file`, an open `/dev/net/tun`, a TUN device of this name in the thread's network namespace: whole IP packets
/// without any header before them. The device lives as long as the file is open.
pub(crate) fn make_tun(file: &File, name: &str) -> io::Result<()> {
    let mut request = interface_request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an `ifreq`, which lives throughout the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) })
}

/// Gives the thread real-time priority: it runs before every ordinary process.
pub(crate) fn set_fifo_priority(priority: i32) -> io::Result<()> {
    // SAFETY: `sched_param` consists of integers; the call reads it and applies to the calling thread.
    check(unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters)
    })
}

/// Has the kernel send `signal` to the command when the thread that starts it ends.
pub(crate) fn die_with_parent(command: &mut Command, signal: libc::c_int) {
    // SAFETY: between fork and exec only one call that POSIX and Linux allow there is made; it touches no memory.
    unsafe {
        command.pre_exec(move || check(libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong)));
    }
}

/// Has a command run under another account, with its groups.
pub(crate) fn run_as(command: &mut Command, uid: Uid, gid: Gid, groups: Vec<Gid>) {
    let change = move || {
        setgroups(&groups)?;
        setgid(gid)?;
        setuid(uid)?;
        Ok(())
    };
    // SAFETY: between fork and exec three calls are made that POSIX and Linux allow there; they read what was allocated before.
    unsafe {
        command.pre_exec(change);
    }
}

/// Has a command run in a user namespace of its own, in which root of this one has these numbers: as a user, without any privilege here.
pub(crate) fn run_as_user_of_namespace(command: &mut Command, uid: Uid, gid: Gid) {
    let maps = [(c"/proc/self/uid_map", format!("{uid} 0 1")), (c"/proc/self/gid_map", format!("{gid} 0 1"))];
    let enter = move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER)?;
        for (place, map) in &maps {
            // SAFETY: the path is a string with a zero at its end, the text lives throughout the calls with its stated length, and the
            // file is closed by nobody else.
            unsafe {
                let file = libc::open(place.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                check(file)?;
                let written = libc::write(file, map.as_ptr().cast(), map.len());
                let failed = io::Error::last_os_error();
                libc::close(file);
                if written != map.len() as isize {
                    return Err(failed);
                }
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec calls are made that POSIX and Linux allow there; they read what was allocated before.
    unsafe {
        command.pre_exec(enter);
    }
}

/// Sets an integer option of a TCP socket.
pub(crate) fn set_tcp_option(socket: &impl AsRawFd, option: libc::c_int, value: i32) -> io::Result<()> {
    let len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer is to an integer of the stated length, which lives throughout the call.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, (&raw const value).cast(), len)
    })
}

/// TCP_INFO of a socket: as many bytes of the kernel's `struct tcp_info` as the kernel has; the rest of `buffer` is 0.
/// Returns how many.
pub(crate) fn tcp_info(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<usize> {
    buffer.fill(0);
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
    Ok(len as usize)
}

/// Bytes of the kernel's buffers of a packet socket. A packet of 1,500 bytes counts as some 2,300 there: the kernel's own 212,992 bytes
/// are 4 ms at 250 Mbit/s, these 0.3 s.
const BUFFER: libc::c_int = 16 << 20;

/// A socket that takes every frame that comes in at an interface, whomever it is for, and sends frames out there. What is
/// sent there, by others or itself, do not reach it.
pub(crate) struct PacketSocket {
    file: File,
    /// Number of the interface.
    pub interface: libc::c_int,
}

/// A frame that a packet socket has received.
pub(crate) struct Taken {
    /// Its length.
    pub len: usize,
    /// The VLAN tag that the kernel has taken out of it, as it is on the wire.
    pub tag: Option<[u8; 4]>,
    /// Its sender has left the checksum of the transport to a device.
    pub checksum_is_open: bool,
}

impl PacketSocket {
    /// Opens an interface of the thread's network namespace.
    pub(crate) fn open(interface: &str) -> io::Result<PacketSocket> {
        let number = interface_number(interface)?;
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes integers; its result is checked before it becomes a file, which owns it alone.
        let socket = unsafe {
            let fd = libc::socket(libc::AF_PACKET, kind, i32::from(protocol));
            check(fd)?;
            File::from_raw_fd(fd)
        };
        // SAFETY: `sockaddr_ll` and `packet_mreq` consist of integers; the calls read them, and they live throughout.
        unsafe {
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = protocol;
            address.sll_ifindex = number;
            let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            check(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len))?;
            let mut membership: libc::packet_mreq = std::mem::zeroed();
            membership.mr_ifindex = number;
            membership.mr_type = libc::PACKET_MR_PROMISC as u16;
            let yes: libc::c_int = 1;
            let set = |option, value: *const libc::c_void, len: usize| {
                check(libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_PACKET,
                    option,
                    value,
                    len as libc::socklen_t,
                ))
            };
            let integer = size_of::<libc::c_int>();
            set(libc::PACKET_AUXDATA, (&raw const yes).cast(), integer)?;
            set(libc::PACKET_IGNORE_OUTGOING, (&raw const yes).cast(), integer)?;
            let len = size_of::<libc::packet_mreq>();
            set(libc::PACKET_ADD_MEMBERSHIP, (&raw const membership).cast(), len)?;
            // FORCE needs CAP_NET_ADMIN; without it the system's limit holds.
            for (force, plain) in
                [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
            {
                let bytes = BUFFER;
                let size = (&raw const bytes).cast();
                let len = integer as libc::socklen_t;
                let set = |option| libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, size, len);
                if set(force) < 0 {
                    set(plain);
                }
            }
        }
        Ok(PacketSocket { file: socket, interface: number })
    }

    /// Whether the interface is set up.
    pub(crate) fn is_up(&self) -> io::Result<bool> {
        let name = interface_name(self.interface)?;
        let mut request = interface_request(&name)?;
        // SAFETY: SIOCGIFFLAGS reads and writes an `ifreq`, which lives throughout the call, and leaves integers in it.
        let flags = unsafe {
            check(libc::ioctl(self.file.as_raw_fd(), libc::SIOCGIFFLAGS as _, &mut request))?;
            request.ifr_ifru.ifru_flags
        };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }

    /// Takes a frame.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Taken> {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // Room for one message of the kernel's: a header, and `tpacket_auxdata`. Words, since it has to be aligned.
        let mut control = [0u64; 16];
        // SAFETY: `msghdr` and `tpacket_auxdata` consist of integers and pointers, for which zeros are a value. The kernel writes at most
        // as much as the lengths allow into buffers that live throughout; what CMSG_* point to lies within `control`, and is read where
        // the kernel's lengths show that it is a whole `tpacket_auxdata`.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            let len = libc::recvmsg(self.file.as_raw_fd(), &raw mut message, 0);
            if len < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut taken = Taken { len: len as usize, tag: None, checksum_is_open: false };
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            let whole = libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as libc::c_uint) as usize;
            if !header.is_null()
                && (*header).cmsg_level == libc::SOL_PACKET
                && (*header).cmsg_type == libc::PACKET_AUXDATA
                && (*header).cmsg_len as usize >= whole
            {
                let said: libc::tpacket_auxdata =
                    libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>().read_unaligned();
                let is = |flag: libc::__u32| said.tp_status & flag != 0;
                taken.checksum_is_open = is(libc::TP_STATUS_CSUMNOTREADY);
                if is(libc::TP_STATUS_VLAN_VALID) {
                    let kind = if is(libc::TP_STATUS_VLAN_TPID_VALID) { said.tp_vlan_tpid } else { 0x8100 };
                    let ([a, b], [c, d]) = (kind.to_be_bytes(), said.tp_vlan_tci.to_be_bytes());
                    taken.tag = Some([a, b, c, d]);
                }
            }
            Ok(taken)
        }
    }

    /// Sends a frame. Returns how much of it was taken: all.
    pub(crate) fn send(&mut self, frame: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut self.file, frame)
    }

    /// Packets that it has lost since the last call, since they were not read in time.
    pub(crate) fn lost(&self) -> u64 {
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: `tpacket_stats` consists of integers; the kernel writes at most its length.
        unsafe {
            let mut stats: libc::tpacket_stats = std::mem::zeroed();
            let asked = libc::getsockopt(
                self.file.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &mut len,
            );
            if asked == 0 { u64::from(stats.tp_drops) } else { 0 }
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The number of an interface of the thread's network namespace.
fn interface_number(interface: &str) -> io::Result<libc::c_int> {
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: the name is a string with a zero at its end.
    let number = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if number == 0 { Err(io::Error::last_os_error()) } else { Ok(number as libc::c_int) }
}

/// The name of an interface of the thread's network namespace, by its number.
pub(crate) fn interface_name(number: libc::c_int) -> io::Result<String> {
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: the kernel writes at most IF_NAMESIZE bytes, a zero among them.
    let found = unsafe { libc::if_indextoname(number as libc::c_uint, name.as_mut_ptr().cast()) };
    if found.is_null() {
        return Err(io::Error::last_os_error());
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// Columns of a terminal; `None` if it is none, or has no size.
pub(crate) fn columns(terminal: &impl AsRawFd) -> Option<usize> {
    // SAFETY: `winsize` consists of integers, for which zeros are a value; the kernel writes at most its size.
    let (asked, size) = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        (libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size), size)
    };
    (asked == 0 && size.ws_col > 0).then(|| usize::from(size.ws_col))
}
