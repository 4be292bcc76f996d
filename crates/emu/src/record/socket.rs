//! A UDP socket whose datagrams carry the time at which the kernel received them: however late this process looks, and whatever becomes of
//! the time of day.

use crate::Error;
use crate::clock::Clock;
use longhaul_units::Instant;
use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use std::io::{ErrorKind, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::SystemTime;

/// Room for what comes while nobody looks, as far as the system gives it: 0.3 s at 100 Mbit/s.
const ROOM: usize = 4 << 20;
/// A time of reception that lies further back is not believed: the clock was set meanwhile.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;

/// See above.
pub struct Socket {
    socket: UdpSocket,
    clock: Clock,
    control: Vec<u8>,
    /// Datagrams that the kernel has dropped since nobody had read them.
    pub overflown: u32,
}

/// A datagram that has come.
pub struct Received {
    pub len: usize,
    pub from: SocketAddr,
    /// When the kernel received it.
    pub at: Instant,
}

impl Socket {
    /// Has the kernel note times.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(socket: UdpSocket, clock: Clock) -> Result<Socket, Error> {
        let failed = |why: String| Error::system("set up a socket", why);
        socket.set_nonblocking(true).map_err(|why| failed(why.to_string()))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(|why| failed(why.to_string()))?;
        // Both are as good as they get.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &ROOM);
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &ROOM);
        let _ = setsockopt(&socket, sockopt::RxqOvfl, &1);
        Ok(Socket { socket, clock, control: cmsg_space!(TimeSpec, u32), overflown: 0 })
    }

    /// The next datagram, if there is one.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Option<Received> {
        loop {
            let mut parts = [IoSliceMut::new(buffer)];
            let got = recvmsg::<SockaddrStorage>(
                self.socket.as_raw_fd(),
                &mut parts,
                Some(&mut self.control),
                MsgFlags::MSG_DONTWAIT,
            );
            let message = match got {
                Ok(message) => message,
                // An ICMP error of a datagram before: the path has a hole, which the lost probe shows.
                Err(
                    nix::errno::Errno::ECONNREFUSED
                    | nix::errno::Errno::EHOSTUNREACH
                    | nix::errno::Errno::ENETUNREACH
                    | nix::errno::Errno::EINTR,
                ) => {
                    continue;
                }
                Err(_) => return None,
            };
            let mut stamp = None;
            for said in message.cmsgs().into_iter().flatten() {
                match said {
                    ControlMessageOwned::ScmTimestampns(at) => stamp = Some(at),
                    ControlMessageOwned::RxqOvfl(count) => self.overflown = count,
                    _ => {}
                }
            }
            let now = self.clock.now();
            let of_day =
                SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos()
                    as u64;
            let waited = stamp
                .map(|at| at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
                .and_then(|at| of_day.checked_sub(at))
                .filter(|waited| *waited < LONGEST_WAIT_NS)
                .unwrap_or(0);
            let from = message.address.as_ref().and_then(address)?;
            let at = Instant::from_nanos(now.as_nanos().saturating_sub(waited));
            return Some(Received { len: message.bytes, from, at });
        }
    }

    /// Sends a datagram. False if there was no room for it on this machine, or no way: it is then lost before the path.
    pub fn send(&self, to: SocketAddr, bytes: &[u8]) -> bool {
        loop {
            match self.socket.send_to(bytes, to) {
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                // The error of a datagram before; this one was not sent.
                Err(why) if why.kind() == ErrorKind::ConnectionRefused => {}
                sent => return sent.is_ok(),
            }
        }
    }

    /// Waits until something comes, at most until then.
    pub fn wait(&self, until: Instant) {
        let time = self.clock.until(until);
        let mut polled = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let _ = ppoll(&mut polled, Some(TimeSpec::from_duration(time)), None);
    }

    /// The address of this end.
    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| SocketAddr::V4(SocketAddrV4::new(v4.ip(), v4.port())));
    v4.or_else(|| {
        let v6 = storage.as_sockaddr_in6()?;
        Some(SocketAddr::V6(SocketAddrV6::new(v6.ip(), v6.port(), v6.flowinfo(), v6.scope_id())))
    })
}
