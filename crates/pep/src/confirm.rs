//! `intercept.confirm`: ports at which a client is answered after the server has answered. The way, without the kernel's packet
//! queues: nftables marks the opening packet and takes it to a listener that drops everything; a raw socket reads the packet
//! there. The node connects to the server. If it accepts, the same packet is sent again, over loopback, to the ordinary listener, which
//! answers the client; the connection to the server is waiting. If not, the client gets the server's reset, or an ICMP
//! message, before its connection was ever open.

use crate::Error;
use crate::config::Intercept;
use crate::far::Far;
use crate::flow::End;
use crate::listen;
use crate::node::Node;
use crate::opening::{Obstacle, Opening};
use crate::sys;
use crate::table::{Ends, Entrance, Entry, Refusal};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A client that does not go on in this time loses what was opened for it. Later copies of its packet are new openings.
const PATIENCE: Duration = Duration::from_secs(30);
/// Openings that wait for answers.
const MOST: usize = 4096;
/// No header: it is in the bytes (`IPPROTO_RAW`).
const WITH_HEADER: i32 = 255;

type Ways = (SocketAddr, SocketAddr);

enum Slot {
    /// The connection to the server is being opened.
    Asked,
    /// It has accepted.
    Open(Arc<Entry>, Box<Far>),
    /// The client's connection has it.
    Taken,
}

/// Openings that wait.
pub(crate) struct Confirm {
    slots: Mutex<HashMap<Ways, Slot>>,
    /// For IPv4 and IPv6: to the listener, and to the client.
    again: [Option<Socket>; 2],
    refusals: [Option<Socket>; 2],
    seen: [Option<Socket>; 2],
    /// They take the marked packets, so that the kernel does not answer them, and drop all.
    drains: Vec<Socket>,
}

impl Confirm {
    /// Opens the sockets, if there are ports to confirm. They need CAP_NET_RAW, and their filters CAP_NET_ADMIN on
    /// some kernels.
    pub fn open(intercept: &Intercept) -> Result<Option<Confirm>, Error> {
        if intercept.confirm.is_empty() {
            return Ok(None);
        }
        let (mut again, mut refusals, mut seen, mut drains) =
            ([None, None], [None, None], [None, None], vec![]);
        let families: &[Domain] = match std::path::Path::new("/proc/sys/net/ipv6").exists() {
            true => &[Domain::IPV4, Domain::IPV6],
            false => &[Domain::IPV4],
        };
        for (index, domain) in families.iter().enumerate() {
            let loopback = if index == 0 { IpAddr::from([127, 0, 0, 1]) } else { Ipv6Addr::LOCALHOST.into() };
            let drain = listen::bind(SocketAddr::new(loopback, intercept.confirm_port), true, 0)?;
            let failed = |why: io::Error| Error::system("open raw sockets for intercept.confirm", why);
            sys::drop_all(drain.as_fd()).map_err(failed)?;
            drains.push(drain);
            again[index] =
                Some(sender(*domain, intercept.client_mark | intercept.divert_mark).map_err(failed)?);
            refusals[index] = Some(sender(*domain, intercept.client_mark).map_err(failed)?);
            seen[index] = Some(receiver(*domain, intercept.confirm_mark).map_err(failed)?);
        }
        Ok(Some(Confirm { slots: Mutex::default(), again, refusals, seen, drains }))
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<Ways, Slot>> {
        self.slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What was opened for a connection that has come in.
    pub fn claim(&self, client: SocketAddr, server: SocketAddr) -> Option<(Arc<Entry>, Far)> {
        let mut slots = self.slots();
        let slot = slots.get_mut(&(client, server))?;
        match std::mem::replace(slot, Slot::Taken) {
            Slot::Open(entry, far) => Some((entry, *far)),
            other => {
                *slot = other;
                None
            }
        }
    }

    fn send(&self, sockets: &[Option<Socket>; 2], to: IpAddr, packet: &[u8]) {
        let Some(socket) = &sockets[usize::from(to.is_ipv6())] else { return };
        if let Err(why) = socket.send_to(packet, &SocketAddr::new(to, 0).into()) {
            tracing::debug!("a packet of a confirmed opening was not sent: {why}");
        }
    }

    fn admit(&self, opening: &Opening) {
        self.send(&self.again, opening.server.ip(), &opening.packet());
    }
}

fn sender(domain: Domain, mark: u32) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::RAW.nonblocking().cloexec(), Some(Protocol::from(WITH_HEADER)))?;
    socket.set_mark(mark)?;
    Ok(socket)
}

fn receiver(domain: Domain, mark: u32) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::RAW.nonblocking().cloexec(), Some(Protocol::TCP))?;
    sys::only_marked(socket.as_fd(), mark)?;
    if domain == Domain::IPV6 {
        for option in [libc::IPV6_RECVPKTINFO, libc::IPV6_RECVTCLASS] {
            sys::set_option(socket.as_fd(), libc::IPPROTO_IPV6, option, 1)?;
        }
    }
    Ok(socket)
}

/// Takes openings in, for ever.
pub(crate) async fn serve(node: Arc<Node>, index: usize) -> io::Result<()> {
    let Some(confirm) = node.confirm.as_ref() else { return Ok(()) };
    let Some(socket) = &confirm.seen[index] else { return Ok(()) };
    tracing::debug!("confirming with {} listeners", confirm.drains.len());
    let socket = sys::watched_socket(socket.try_clone()?)?;
    loop {
        let mut ready = socket.readable().await?;
        match ready.try_io(|socket| receive(socket.get_ref(), index == 1)) {
            Ok(Ok(Some(opening))) => take(&node, opening),
            Ok(Ok(None)) | Err(_) => {}
            Ok(Err(why)) => {
                tracing::debug!("an opening was not read: {why}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// The next packet, if it is an opening. A raw socket of IPv6 has no header: what is in it comes beside the bytes.
fn receive(socket: &Socket, v6: bool) -> io::Result<Option<Opening>> {
    let mut bytes = [0; 2048];
    let mut space = nix::cmsg_space!(libc::in6_pktinfo, i32);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let got = recvmsg::<SockaddrIn6>(socket.as_raw_fd(), &mut slices, Some(&mut space), MsgFlags::empty())?;
    let (mut to, mut class) = (None, 0);
    for message in got.cmsgs()? {
        match message {
            ControlMessageOwned::Ipv6PacketInfo(info) => to = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr)),
            ControlMessageOwned::Ipv6TClass(value) => class = value as u8,
            _ => {}
        }
    }
    let (len, from) = (got.bytes, got.address.map(|from| from.ip()));
    let bytes = &bytes[..len];
    Ok(match (v6, from, to) {
        (false, ..) => Opening::from_v4(bytes),
        (true, Some(from), Some(to)) => Opening::from_segment(from.into(), to.into(), class, bytes),
        _ => None,
    })
}

fn take(node: &Arc<Node>, opening: Opening) {
    let Some(confirm) = node.confirm.as_ref() else { return };
    let ways = (opening.client, opening.server);
    {
        let mut slots = confirm.slots();
        match slots.get(&ways) {
            // A copy: the answer to the first has not come in time.
            Some(Slot::Open(..)) => return confirm.admit(&opening),
            Some(_) => return,
            None if slots.len() >= MOST => return,
            None => slots.insert(ways, Slot::Asked),
        };
    }
    tokio::spawn(ask(node.clone(), opening));
}

/// Connects to the server, and answers the client or lets its packet come in.
async fn ask(node: Arc<Node>, opening: Opening) {
    let Some(confirm) = node.confirm.as_ref() else { return };
    let (client, server) = (opening.client, opening.server);
    let ends = Ends { entrance: Entrance::Intercepted, client, server };
    let entry = match node.shared.table.enter(ends) {
        Ok(entry) => entry,
        Err(refusal) => {
            confirm.slots().remove(&(client, server));
            if refusal == Refusal::SourceFull {
                node.leave_alone(client);
            }
            return;
        }
    };
    let dscp = if node.config(|config| config.dscp) { opening.class >> 2 } else { 0 };
    let opened = match node.may_go(server, Entrance::Intercepted) {
        true => node.open(client, server, Entrance::Intercepted, dscp, true).await,
        false => Err((End::Forbidden, io::ErrorKind::PermissionDenied.into())),
    };
    match opened {
        Ok(far) => {
            confirm.slots().insert((client, server), Slot::Open(entry, Box::new(far)));
            confirm.admit(&opening);
            tokio::time::sleep(PATIENCE).await;
            if let Some(Slot::Open(entry, far)) = confirm.slots().remove(&(client, server)) {
                drop(far);
                node.ended(&entry, End::ClientReset);
            }
        }
        Err((end, why)) => {
            tracing::debug!(flow = entry.id, %client, %server, "not opened: {why}");
            let answer = match end {
                End::Refused => Some(opening.reset()),
                End::Unreachable => Some(opening.obstacle(Obstacle::Unreachable)),
                End::Forbidden => Some(opening.obstacle(Obstacle::Prohibited)),
                // The next copy passes untouched.
                _ => None,
            };
            if let Some(packet) = answer {
                confirm.send(&confirm.refusals, client.ip(), &packet);
            }
            confirm.slots().remove(&(client, server));
            node.ended(&entry, end);
        }
    }
}
