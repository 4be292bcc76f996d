//! Hosts of this machine's own networks that do not answer for their addresses (ARP; RFC 4861, section 7.2.2).
//!
//! The kernel reports such a host by ICMP to the sender of the packet. A connection to a server has its client's address, so the
//! report goes to the client and the connection waits for its timeout. The kernel's table of neighbours has the same fact.

use crate::netlink::{MESSAGE_HEADER, attributes, half, word};
use crate::sys;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use socket2::Socket;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use tokio::sync::broadcast::{self, error::RecvError};

/// Failures in a burst that a connection under way need not miss.
const BURST: usize = 64;
/// Bytes of one datagram of the kernel: a page and more.
const DATAGRAM: usize = 1 << 14;

/// Of the kernel's `rtnetlink.h` and `neighbour.h`: `RTMGRP_NEIGH`, `RTM_NEWNEIGH`, `NUD_FAILED`, `NDA_DST`, and the length of
/// `struct ndmsg`.
const GROUP: u32 = 4;
const NEW_NEIGHBOUR: u16 = 28;
const FAILED: u16 = 0x20;
const DESTINATION: u16 = 1;
const NEIGHBOUR_HEADER: usize = 12;

/// Who waits for failures.
pub(crate) struct Neighbours {
    failed: broadcast::Sender<IpAddr>,
}

impl Neighbours {
    pub fn new() -> Neighbours {
        Neighbours { failed: broadcast::Sender::new(BURST) }
    }

    /// Takes in what the kernel reports, until the process ends.
    pub async fn watch(&self) -> io::Result<()> {
        let socket = sys::watched_socket(open()?)?;
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let mut ready = socket.readable().await?;
            let read = ready.try_io(|fd| Ok(recv(fd.as_raw_fd(), &mut buffer, MsgFlags::empty())?));
            match read {
                // ENOBUFS: reports were lost, and those connections wait for their timeout.
                Ok(Err(why)) if why.raw_os_error() != Some(libc::ENOBUFS) => return Err(why),
                Ok(Ok(len)) => {
                    for host in failed(&buffer[..len]) {
                        let _ = self.failed.send(host);
                    }
                }
                _ => {}
            }
        }
    }

    /// Ends once this host has not answered for its address. Only what is reported after the call counts.
    pub fn fails(&self, host: IpAddr) -> impl Future<Output = ()> + use<> {
        let mut failed = self.failed.subscribe();
        async move {
            loop {
                match failed.recv().await {
                    Ok(one) if one == host => return,
                    Err(RecvError::Closed) => std::future::pending().await,
                    _ => {}
                }
            }
        }
    }
}

fn open() -> io::Result<Socket> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, GROUP))?;
    Ok(socket.into())
}

/// Hosts that a datagram of the kernel reports as failed.
fn failed(datagram: &[u8]) -> Vec<IpAddr> {
    let mut hosts = vec![];
    let mut rest = datagram;
    // A message: its length with the header, its type, flags, number and sender.
    while let (Some(len), Some(kind)) = (word(rest, 0), half(rest, 4)) {
        let len = len as usize;
        let Some(body) = rest.get(MESSAGE_HEADER..len) else { break };
        // `struct ndmsg`: family, padding, interface (at 4), state (at 8), flags, type.
        if kind == NEW_NEIGHBOUR && half(body, 8).is_some_and(|state| state & FAILED != 0) {
            hosts.extend(destination(body.get(NEIGHBOUR_HEADER..).unwrap_or_default()));
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    hosts
}

/// The address among the attributes of a neighbour.
fn destination(all: &[u8]) -> Option<IpAddr> {
    let (_, value) = attributes(all).find(|(kind, _)| *kind == DESTINATION)?;
    let v4 = || <[u8; 4]>::try_from(value).ok().map(IpAddr::from);
    v4().or_else(|| <[u8; 16]>::try_from(value).ok().map(IpAddr::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message about a neighbour in this state, with a link-layer address (attribute 2) before its own.
    fn message(kind: u16, state: u16, host: IpAddr) -> Vec<u8> {
        let host = match host {
            IpAddr::V4(host) => host.octets().to_vec(),
            IpAddr::V6(host) => host.octets().to_vec(),
        };
        let mut body = vec![0; NEIGHBOUR_HEADER];
        body[8..10].copy_from_slice(&state.to_ne_bytes());
        for (kind, value) in [(2u16, vec![1, 2, 3, 4, 5, 6]), (DESTINATION, host)] {
            body.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
            body.extend_from_slice(&kind.to_ne_bytes());
            body.extend_from_slice(&value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        let mut message = vec![0; MESSAGE_HEADER];
        message[..4].copy_from_slice(&((MESSAGE_HEADER + body.len()) as u32).to_ne_bytes());
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        [message, body].concat()
    }

    #[test]
    fn failed_hosts_are_found_in_a_datagram_of_several_messages() {
        let [v4, other, v6] = ["10.82.0.9", "10.82.0.7", "fd82::9"].map(|host| host.parse().unwrap());
        let datagram = [
            message(NEW_NEIGHBOUR, 0x01, other), // incomplete
            message(NEW_NEIGHBOUR, FAILED, v4),
            message(29, FAILED, other), // RTM_DELNEIGH
            message(NEW_NEIGHBOUR, FAILED, v6),
        ]
        .concat();
        assert_eq!(failed(&datagram), [v4, v6]);
    }

    #[test]
    fn whatever_is_cut_is_no_host_and_no_panic() {
        let datagram = message(NEW_NEIGHBOUR, FAILED, "fd82::9".parse().unwrap());
        for len in 0..datagram.len() {
            assert!(failed(&datagram[..len]).is_empty());
        }
        assert!(failed(&[0; 64]).is_empty(), "a message without length would never end");
    }

    #[tokio::test]
    async fn only_the_host_itself_ends_the_wait() {
        let neighbours = Neighbours::new();
        let [host, other] = ["10.82.0.9", "10.82.0.7"].map(|host| host.parse().unwrap());
        let fails = neighbours.fails(host);
        neighbours.failed.send(other).unwrap();
        neighbours.failed.send(host).unwrap();
        fails.await;
    }
}
