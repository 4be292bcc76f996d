//! Listening sockets.

use crate::Error;
use crate::sys;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use tokio::net::TcpListener;

/// Connections that wait to be taken; the kernel's limit (`net.core.somaxconn`) may be less.
const BACKLOG: i32 = 4096;

/// Opens a listener in the runtime, as [`bind`].
pub(crate) fn listen(at: SocketAddr, transparent: bool, mark: u32) -> Result<TcpListener, Error> {
    let socket = bind(at, transparent, mark)?;
    TcpListener::from_std(socket.into()).map_err(|why| Error::system(format!("listen at {at}"), why))
}

/// Opens a listener. A transparent one takes connections to any address; `mark` is put on its packets.
pub(crate) fn bind(at: SocketAddr, transparent: bool, mark: u32) -> Result<Socket, Error> {
    let open = || -> std::io::Result<Socket> {
        let socket =
            Socket::new(Domain::for_address(at), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if at.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        if transparent {
            match at.ip() {
                IpAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
                IpAddr::V6(_) => socket.set_ip_transparent_v6(true)?,
            }
        }
        if mark != 0 {
            socket.set_mark(mark)?;
        }
        // For the class of the client's packets; where it cannot be had, there is none.
        let _ = sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, sys::TCP_SAVE_SYN, 1);
        socket.bind(&at.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    };
    open().map_err(|why| {
        let hint = match why.kind() {
            ErrorKind::AddrInUse => {
                "; another program listens there: choose another port, or stop it (ss -ltnp)"
            }
            ErrorKind::PermissionDenied => {
                "; it needs root, or CAP_NET_ADMIN (interception) and CAP_NET_BIND_SERVICE (ports below 1024)"
            }
            ErrorKind::AddrNotAvailable => "; this machine has no such address",
            _ => "",
        };
        Error::system(format!("listen at {at}"), format!("{why}{hint}"))
    })
}
