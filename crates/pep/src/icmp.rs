//! ICMP errors about the tunnel's datagrams: a host whose program has ended answers that nobody listens at the port.

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use socket2::SockRef;
use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

/// Bytes of a datagram that are of interest.
const QUOTED: usize = 64;
/// Errors read at once at most; the kernel drops what does not fit into the socket's buffer.
const AT_ONCE: usize = 64;

/// Nobody listens where a datagram was sent.
#[derive(Clone, Debug)]
pub(crate) struct PortClosed {
    pub address: SocketAddr,
    /// The beginning of that datagram's payload, as far as the error quotes it.
    pub quoted: Vec<u8>,
}

/// Makes the kernel queue errors for this socket (`IP_RECVERR`).
pub(crate) fn ask_for(socket: &SockRef) {
    // Of a socket for both families either may come.
    for (level, option) in [(libc::IPPROTO_IP, libc::IP_RECVERR), (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)] {
        let _ = crate::sys::set_option(socket.as_fd(), level, option, 1);
    }
}

/// Takes the errors that wait; other errors than closed ports are dropped: the datagrams are lost, as on any link.
pub(crate) fn closed_ports(socket: &impl AsRawFd) -> Vec<PortClosed> {
    let mut found = vec![];
    for _ in 0..AT_ONCE {
        let mut payload = [0; QUOTED];
        let mut control = nix::cmsg_space!([u8; 128]);
        let mut slices = [IoSliceMut::new(&mut payload)];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message =
            match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags) {
                Ok(message) => message,
                Err(Errno::EINTR) => continue,
                Err(_) => break,
            };
        let closed = message.cmsgs().is_ok_and(|mut all| all.any(|one| says_closed(&one)));
        let (address, length) = (message.address.as_ref().and_then(socket_address), message.bytes);
        if let (true, Some(address)) = (closed, address) {
            found.push(PortClosed { address, quoted: payload[..length.min(QUOTED)].to_vec() });
        }
    }
    found
}

fn says_closed(message: &ControlMessageOwned) -> bool {
    /// Destination unreachable, port unreachable: RFC 792 and RFC 4443.
    const V4: (u8, u8) = (3, 3);
    const V6: (u8, u8) = (1, 4);
    match message {
        ControlMessageOwned::Ipv4RecvErr(error, _) => {
            error.ee_origin == libc::SO_EE_ORIGIN_ICMP && (error.ee_type, error.ee_code) == V4
        }
        ControlMessageOwned::Ipv6RecvErr(error, _) => {
            error.ee_origin == libc::SO_EE_ORIGIN_ICMP6 && (error.ee_type, error.ee_code) == V6
        }
        _ => false,
    }
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::from((v4.ip(), v4.port())));
    let any = v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddr::from((v6.ip(), v6.port()))))?;
    Some(SocketAddr::new(any.ip().to_canonical(), any.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_closed_port_is_reported_with_what_was_sent() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A kernel without IPv6.
            let (Ok(socket), Ok(gone)) = (UdpSocket::bind(host), UdpSocket::bind(host)) else { continue };
            ask_for(&SockRef::from(&socket));
            let address = gone.local_addr().unwrap();
            assert_eq!(closed_ports(&socket).len(), 0);
            socket.send_to(b"is anybody there?", address).unwrap();
            assert_eq!(closed_ports(&socket).len(), 0, "somebody has the port");
            drop(gone);
            socket.send_to(b"is anybody there?", address).unwrap();
            let found = closed_ports(&socket);
            assert_eq!(found.len(), 1, "{host}");
            assert_eq!((found[0].address, &found[0].quoted[..]), (address, &b"is anybody there?"[..]));
            assert_eq!(closed_ports(&socket).len(), 0);
        }
    }
}
