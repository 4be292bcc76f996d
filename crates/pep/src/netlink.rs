//! Questions to the kernel by netlink, each with one answer: where it would route a packet, and what a counter of nftables has.
//! No program is started for them, so they can be asked often.

use crate::prefix::Prefix;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, setsockopt, socket,
    sockopt::ReceiveTimeout,
};
use nix::sys::time::TimeVal;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Length of `struct nlmsghdr`, and the most bytes of an answer.
pub(crate) const MESSAGE_HEADER: usize = 16;
const ANSWER: usize = 1 << 13;
/// The kernel answers at once.
const PATIENCE: TimeVal = TimeVal::new(2, 0);

/// Of the kernel's `netlink.h`: `NLMSG_ERROR`, `NLM_F_REQUEST`, `NLA_F_NESTED` with `NLA_F_NET_BYTEORDER`.
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const FLAGS: u16 = 0xc000;
/// Of `rtnetlink.h`: `RTM_GETROUTE`, `RTN_LOCAL` and attributes of a route.
const GET_ROUTE: u16 = 26;
const LOCAL: u8 = 2;
const ROUTE_HEADER: usize = 12;
const DESTINATION: u16 = 1;
const SOURCE: u16 = 2;
const IN_INTERFACE: u16 = 3;
const OUT_INTERFACE: u16 = 4;
const MARK: u16 = 16;
const PROTOCOL: u16 = 27;
/// Of `nf_tables.h`: the subsystem (in the upper byte), `NFT_MSG_GETGEN`, `NFT_MSG_GETOBJ`, `NFT_OBJECT_COUNTER`, `NFPROTO_INET`,
/// and attributes.
const NFTABLES: u16 = 10 << 8;
const GET_GENERATION: u16 = NFTABLES | 16;
const GET_OBJECT: u16 = NFTABLES | 19;
const COUNTER: u32 = 1;
const INET: u8 = 1;
const NETFILTER_HEADER: usize = 4;
const GENERATION: u16 = 1;
const TABLE: u16 = 1;
const NAME: u16 = 2;
const KIND: u16 = 3;
const DATA: u16 = 4;
const PACKETS: u16 = 2;

/// Where the kernel would route a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// To a socket of this machine.
    Here,
    /// To others, by the interface with this number.
    Out(u32),
}

/// A packet that may be routed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub to: IpAddr,
    /// Its sender and the number of the interface by which it comes in; without: this machine sends it.
    pub from: Option<(IpAddr, u32)>,
    pub mark: u32,
}

/// The kernel's decision about a TCP packet, with all that it checks when the packet comes (routing rules, martians, reverse paths).
pub(crate) fn route(packet: Packet) -> io::Result<Way> {
    let mut body = vec![0; ROUTE_HEADER];
    let bits = if packet.to.is_ipv4() { 32 } else { 128 };
    body[0] = if packet.to.is_ipv4() { libc::AF_INET as u8 } else { libc::AF_INET6 as u8 };
    body[1] = bits;
    attribute(&mut body, DESTINATION, &octets(packet.to));
    if let Some((from, interface)) = packet.from {
        body[2] = bits;
        attribute(&mut body, SOURCE, &octets(from));
        attribute(&mut body, IN_INTERFACE, &interface.to_ne_bytes());
    }
    attribute(&mut body, MARK, &packet.mark.to_ne_bytes());
    attribute(&mut body, PROTOCOL, &[libc::IPPROTO_TCP as u8]);
    let answer = ask(SockProtocol::NetlinkRoute, GET_ROUTE, &body)?;
    let interface = attributes(answer.get(ROUTE_HEADER..).unwrap_or_default())
        .find(|(kind, _)| *kind == OUT_INTERFACE)
        .and_then(|(_, value)| word(value, 0));
    match (answer.get(7), interface) {
        (Some(&LOCAL), _) => Ok(Way::Here),
        (_, Some(interface)) => Ok(Way::Out(interface)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Packets that a named counter of a table of the family inet has counted; `None` without such a table.
pub(crate) fn counter(table: &str, name: &str) -> io::Result<Option<u64>> {
    let mut body = vec![0; NETFILTER_HEADER];
    body[0] = INET;
    attribute(&mut body, TABLE, &[table.as_bytes(), &[0]].concat());
    attribute(&mut body, NAME, &[name.as_bytes(), &[0]].concat());
    attribute(&mut body, KIND, &COUNTER.to_be_bytes());
    match ask(SockProtocol::NetlinkNetFilter, GET_OBJECT, &body) {
        Ok(answer) => Ok(counted(&answer)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

/// The number of packets in an answer about a counter.
fn counted(answer: &[u8]) -> Option<u64> {
    let find = |bytes, wanted| attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let packets = find(find(answer.get(NETFILTER_HEADER..)?, DATA)?, PACKETS)?;
    Some(u64::from_be_bytes(packets.try_into().ok()?))
}

/// A number that changes with each change of nftables' rules, in any table.
pub(crate) fn generation() -> io::Result<u32> {
    let answer = ask(SockProtocol::NetlinkNetFilter, GET_GENERATION, &[0; NETFILTER_HEADER])?;
    let found = attributes(answer.get(NETFILTER_HEADER..).unwrap_or_default())
        .find(|(kind, _)| *kind == GENERATION)
        .and_then(|(_, value)| Some(u32::from_be_bytes(value.try_into().ok()?)));
    found.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Addresses of this machine with their networks, and the interfaces that have them.
pub(crate) fn own_networks() -> Vec<(String, IpAddr, Prefix)> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return vec![] };
    let ip = |address: nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|own| IpAddr::from(own.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|own| IpAddr::from(own.ip())))
    };
    all.filter_map(|one| {
        let (address, mask) = (ip(one.address?)?, ip(one.netmask?)?);
        let len = octets(mask).iter().map(|byte| byte.count_ones() as u8).sum();
        Some((one.interface_name, address, Prefix::new(address, len).network()))
    })
    .collect()
}

/// True for an address of one link.
pub(crate) fn is_of_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Sends one question, and takes the body of its answer.
fn ask(protocol: SockProtocol, kind: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    let fd: OwnedFd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    setsockopt(&fd, ReceiveTimeout, &PATIENCE)?;
    let mut message = vec![];
    message.extend_from_slice(&((MESSAGE_HEADER + body.len()) as u32).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&REQUEST.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(body);
    sendto(fd.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = vec![0; ANSWER];
    let len = recv(fd.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(len);
    let end = word(&answer, 0).map_or(0, |len| len as usize).min(len);
    let Some(inside) = answer.get(MESSAGE_HEADER..end) else { return Err(io::ErrorKind::InvalidData.into()) };
    if half(&answer, 4) == Some(ERROR) {
        let code = word(inside, 0).unwrap_or_default() as i32;
        return Err(io::Error::from_raw_os_error(-code));
    }
    Ok(inside.to_vec())
}

fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// Attributes one after the other: kind and value. What is cut ends them.
pub(crate) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (len, kind) = (half(rest, 0)? as usize, half(rest, 2)?);
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !FLAGS, value))
    })
}

pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_leads_here() {
        let packet = Packet { to: "127.0.0.1".parse().unwrap(), from: None, mark: 0 };
        assert_eq!(route(packet).unwrap(), Way::Here);
        let networks = own_networks();
        let lo = networks.iter().find(|(_, own, _)| own.is_ipv4() && own.is_loopback()).unwrap();
        assert_eq!(lo.2.to_string(), "127.0.0.0/8");
    }

    #[test]
    fn the_packets_of_a_counter_are_read_among_its_attributes() {
        let mut data = vec![];
        attribute(&mut data, 1, &4096u64.to_be_bytes());
        attribute(&mut data, PACKETS, &3u64.to_be_bytes());
        let mut answer = vec![INET, 0, 0, 0];
        attribute(&mut answer, TABLE, b"longhaul_pep\0");
        attribute(&mut answer, DATA | 0x8000, &data);
        assert_eq!(counted(&answer), Some(3));
        for len in 0..answer.len() {
            assert_eq!(counted(&answer[..len]), None, "cut");
        }
    }
}
