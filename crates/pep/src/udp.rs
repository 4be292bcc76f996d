//! The UDP sockets of the tunnel: many datagrams in one call where the kernel can do that (GSO, GRO).

use crate::Error;
use crate::icmp::{self, PortClosed};
use longhaul_hop::Transmit;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Bytes of the kernel's buffers: what the fastest link brings in some tens of milliseconds.
const BUFFER: usize = 8 << 20;
/// Bytes for one call of receive: the most that the kernel joins.
const JOINED: usize = 1 << 16;

/// Datagrams of one sender, each `stride` bytes but the last.
pub(crate) struct Received<'a> {
    pub from: SocketAddr,
    pub to: Option<IpAddr>,
    pub ecn: u8,
    pub stride: usize,
    pub bytes: &'a [u8],
}

/// A socket, or one for each family of addresses.
pub(crate) struct Udp {
    sockets: Vec<One>,
    space: Mutex<Vec<Vec<u8>>>,
    /// What ICMP has reported.
    closed: Mutex<Vec<PortClosed>>,
}

struct One {
    socket: UdpSocket,
    state: UdpSocketState,
    is_v4: bool,
}

impl Udp {
    /// Opens a socket of each family at a port of the kernel's choice, for [`Udp::new`]: it is not known which one the other node has.
    pub fn bind_both(mark: u32) -> Result<Vec<Socket>, Error> {
        let v4 = Udp::bind(SocketAddr::from(([0; 4], 0)), mark)?;
        let v6 = Udp::bind(SocketAddr::from(([0; 16], 0)), mark);
        Ok(std::iter::once(v4).chain(v6).collect())
    }

    /// Opens a socket, for [`Udp::new`]; `mark` is put on its packets. Its buffers take a capability.
    pub fn bind(at: SocketAddr, mark: u32) -> Result<Socket, Error> {
        let open = || -> io::Result<Socket> {
            let socket = Socket::new(
                Domain::for_address(at),
                Type::DGRAM.nonblocking().cloexec(),
                Some(Protocol::UDP),
            )?;
            if mark != 0 {
                socket.set_mark(mark)?;
            }
            socket.bind(&at.into())?;
            icmp::ask_for(&SockRef::from(&socket));
            // FORCE needs CAP_NET_ADMIN; without it the system's limit holds.
            for (force, plain) in
                [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
            {
                let set = |option| {
                    crate::sys::set_option(
                        std::os::fd::AsFd::as_fd(&socket),
                        libc::SOL_SOCKET,
                        option,
                        BUFFER as i32,
                    )
                };
                let _ = set(force).or_else(|_| set(plain));
            }
            Ok(socket)
        };
        open().map_err(|why| {
            let hint = match why.kind() {
                ErrorKind::AddrInUse => "; another program has this UDP port (ss -lunp)",
                ErrorKind::AddrNotAvailable => "; this machine has no such address (hop.listen; ip address)",
                _ => "",
            };
            Error::system(format!("open UDP {at}"), format!("{why}{hint}"))
        })
    }

    /// Takes open sockets into the runtime.
    pub fn new(sockets: Vec<Socket>) -> Result<Udp, Error> {
        let open = |socket: Socket| -> io::Result<One> {
            let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
            let is_v4 = socket.local_addr()?.is_ipv4();
            Ok(One { socket: UdpSocket::from_std(socket.into())?, state, is_v4 })
        };
        let sockets = sockets.into_iter().map(open).collect::<io::Result<Vec<One>>>();
        let sockets = sockets.map_err(|why| Error::system("use UDP", why))?;
        let space = Mutex::new((0..BATCH_SIZE).map(|_| vec![0; JOINED]).collect());
        Ok(Udp { sockets, space, closed: Mutex::default() })
    }

    /// The socket for an address; a single one serves both families.
    fn towards(&self, to: SocketAddr) -> Option<&One> {
        self.sockets.iter().find(|one| one.is_v4 == to.is_ipv4()).or(self.sockets.first())
    }

    /// Sends datagrams; waits while the socket is full. What the network refuses is lost, as on any link.
    pub async fn send(&self, transmit: &Transmit, bytes: &[u8]) {
        let message = quinn_udp::Transmit {
            destination: transmit.to,
            ecn: EcnCodepoint::from_bits(transmit.ecn),
            contents: bytes,
            segment_size: transmit.segment_size,
            src_ip: transmit.from,
        };
        let Some(One { socket, state, .. }) = self.towards(transmit.to) else { return };
        let send = || state.try_send(UdpSockRef::from(socket), &message);
        let mut again = true;
        loop {
            match socket.try_io(Interest::WRITABLE, send) {
                Err(why) if why.kind() == ErrorKind::WouldBlock => {
                    if socket.writable().await.is_err() {
                        return;
                    }
                }
                // It was an error of an earlier datagram, maybe to another node, and this one was not sent for it.
                Err(_) if std::mem::take(&mut again) => self.look_for_errors(socket),
                Err(why) => {
                    tracing::debug!("not sent: {why}");
                    return;
                }
                Ok(()) => return,
            }
        }
    }

    fn look_for_errors(&self, socket: &UdpSocket) {
        let found = icmp::closed_ports(socket);
        self.closed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(found);
    }

    /// Ports of other nodes that were reported closed since the last call.
    pub fn take_closed(&self) -> Vec<PortClosed> {
        std::mem::take(&mut *self.closed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Waits until there may be datagrams.
    pub async fn may_receive(&self) {
        match self.sockets.as_slice() {
            [one] => drop(one.socket.readable().await),
            [one, other, ..] => tokio::select! {
                _ = one.socket.readable() => {}
                _ = other.socket.readable() => {}
            },
            [] => std::future::pending().await,
        }
    }

    /// Hands over the datagrams that are there.
    pub fn receive(&self, mut take: impl FnMut(Received)) {
        for one in &self.sockets {
            self.receive_from(one, &mut take);
        }
    }

    fn receive_from(&self, One { socket, state, .. }: &One, take: &mut impl FnMut(Received)) {
        let mut space = self.space.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<IoSliceMut> = space.iter_mut().map(|bytes| IoSliceMut::new(bytes)).collect();
        let read = || state.recv(UdpSockRef::from(socket), &mut slices, &mut metas);
        let received = socket.try_io(Interest::READABLE, read);
        drop(slices);
        let count = match received {
            Ok(count) => count,
            Err(why) => {
                if why.kind() != ErrorKind::WouldBlock {
                    self.look_for_errors(socket);
                }
                return;
            }
        };
        for (meta, bytes) in metas[..count].iter().zip(space.iter()) {
            take(Received {
                from: SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port()),
                to: meta.dst_ip,
                ecn: meta.ecn.map_or(0, |ecn| ecn as u8),
                stride: meta.stride,
                bytes: &bytes[..meta.len],
            });
        }
    }
}
