//! Connections to servers: from the client's own address and port where that is requested, with the settings of the leg.

use crate::config::{LegConfig, Timeouts};
use crate::descriptors;
use crate::dscp::traffic_class;
use crate::flow::End;
use crate::leg::{TcpLeg, prepare};
use crate::neighbours::Neighbours;
use crate::timer::std_time;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// How a connection to a server is opened.
#[derive(Clone, Debug)]
pub(crate) struct Outward {
    pub leg: LegConfig,
    pub timeouts: Timeouts,
    /// Mark of its packets; 0 for none.
    pub mark: u32,
    /// Their class (DSCP).
    pub dscp: u8,
}

impl Outward {
    /// Opens a connection to `server`, from `source` if that is given; not if the server is one of the neighbours and fails.
    pub async fn open(
        &self,
        source: Option<SocketAddr>,
        server: SocketAddr,
        neighbours: &Neighbours,
    ) -> Result<TcpLeg, (End, io::Error)> {
        let server = SocketAddr::new(server.ip().to_canonical(), server.port());
        let limit = std_time(self.timeouts.connect);
        let connecting = async {
            let (stream, first) = match source {
                None => (self.connect(None, server).await, None),
                Some(source) => {
                    let source = SocketAddr::new(source.ip().to_canonical(), source.port());
                    match self.connect(Some(source), server).await {
                        // The port is in use, mostly by an older connection of the same client: another port of its address.
                        Err(why) if is_taken(&why) => {
                            let any = SocketAddr::new(source.ip(), 0);
                            (self.connect(Some(any), server).await, Some(why))
                        }
                        other => (other, None),
                    }
                }
            };
            if let Some(why) = first {
                tracing::debug!(%server, "another source port: {why}");
            }
            TcpLeg::new(stream?, &self.timeouts)
        };
        let fails = neighbours.fails(server.ip());
        let opened = async {
            tokio::select! {
                opened = connecting => opened,
                () = fails => Err(io::ErrorKind::HostUnreachable.into()),
            }
        };
        match tokio::time::timeout(limit, opened).await {
            Ok(Ok(leg)) => Ok(leg),
            Ok(Err(why)) => Err((end_of(&why), why)),
            Err(_) => Err((End::Unreachable, io::ErrorKind::TimedOut.into())),
        }
    }

    async fn connect(&self, source: Option<SocketAddr>, server: SocketAddr) -> io::Result<TcpStream> {
        let domain = Domain::for_address(server);
        let open = || -> io::Result<Socket> {
            let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
            descriptors::check(&socket).map(|()| socket)
        };
        // The client was accepted: it waits for a descriptor as it would for the server.
        let socket = loop {
            match open() {
                Err(why) if why.raw_os_error() == Some(libc::EMFILE) => descriptors::freed().await,
                opened => break opened?,
            }
        };
        socket.set_linger(Some(Duration::ZERO))?;
        prepare(&SockRef::from(&socket), &self.leg)?;
        if self.mark != 0 {
            socket.set_mark(self.mark)?;
        }
        set_class(&SockRef::from(&socket), server.is_ipv4(), self.dscp);
        if let Some(source) = source {
            match source.ip() {
                IpAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
                IpAddr::V6(_) => socket.set_ip_transparent_v6(true)?,
            }
            socket.set_reuse_address(true)?;
            socket.bind(&source.into())?;
        }
        TcpSocket::from_std_stream(socket.into()).connect(server).await
    }
}

/// Gives a socket's packets a class. A kernel that refuses it leaves them without.
pub(crate) fn set_class(socket: &SockRef, is_v4: bool, dscp: u8) {
    if dscp == 0 {
        return;
    }
    let class = traffic_class(dscp);
    let set = if is_v4 { socket.set_tos_v4(class) } else { socket.set_tclass_v6(class) };
    if let Err(why) = set {
        tracing::debug!("class {dscp} is not carried over: {why}");
    }
}

fn is_taken(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable)
}

fn end_of(why: &io::Error) -> End {
    match why.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => End::Refused,
        _ => End::Unreachable,
    }
}
