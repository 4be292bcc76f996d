//! `longhaul-pep capture`: the packets of one connection at this node, on both of its sides, in a pcapng file. It runs in the
//! operator's process (as root), not in the daemon, which may open no packet sockets.

use crate::control::{self, Command};
use crate::{Error, sys};
use longhaul_segment::pcapng::{LinkType, WALL_CLOCK_TIMES, Writer};
use longhaul_units::Instant;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, setsockopt, socket, sockopt,
};
use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// The kernel joins packets up to this size before they reach a device.
const LARGEST: usize = 256 << 10;
/// Bytes that wait in the kernel while the file is written.
const WAITING: usize = 16 << 20;

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// The connection.
    pub what: String,
    /// Packets in the file.
    pub packets: u64,
}

/// Both pairs of addresses of a connection: at the clients' side, and at the servers'.
type Pairs = [Option<(SocketAddr, SocketAddr)>; 2];

/// Writes packets of connection `id` of the daemon with this control socket until `time` is over or `stop` is set.
///
/// # Errors
/// No such connection, no right to capture packets, or a file that cannot be written.
pub fn capture(
    daemon: &Path,
    id: u64,
    file: &Path,
    time: Duration,
    stop: &AtomicBool,
) -> Result<Captured, Error> {
    let (pairs, what) = connection(&control::ask(daemon, Command::Flows)?, id)?;
    let failed = |why: nix::Error| Error::system("capture packets (it needs root or CAP_NET_RAW)", why);
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket =
        socket(AddressFamily::Packet, SockType::Datagram, flags, SockProtocol::EthAll).map_err(failed)?;
    let ports = pairs.iter().flatten().map(|(client, _)| client.port());
    sys::only_ports(socket.as_fd(), &ports.collect::<Vec<_>>())
        .map_err(|why| Error::system("filter packets", why))?;
    // A smaller buffer than requested is what the system allows.
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &WAITING);
    let patience = nix::sys::time::TimeVal::new(0, 100_000);
    setsockopt(&socket, sockopt::ReceiveTimeout, &patience).map_err(failed)?;
    let interfaces = nix::net::if_::if_nameindex().map_err(failed)?;
    let names: Vec<(usize, String)> = interfaces
        .iter()
        .map(|one| (one.index() as usize, one.name().to_string_lossy().into_owned()))
        .collect();
    let unwritten = |why: std::io::Error| Error::system(format!("write {}", file.display()), why);
    let output = BufWriter::new(File::create(file).map_err(unwritten)?);
    let taps: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
    let mut writer = Writer::new(output, &taps, LinkType::Ip, WALL_CLOCK_TIMES).map_err(unwritten)?;
    let (begin, mut packets, mut buffer) = (std::time::Instant::now(), 0, vec![0; LARGEST]);
    while begin.elapsed() < time && !stop.load(Ordering::Relaxed) {
        let (len, from) = match recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut buffer) {
            Ok(got) => got,
            Err(nix::Error::EAGAIN | nix::Error::EINTR | nix::Error::ENETDOWN) => continue,
            Err(why) => return Err(failed(why)),
        };
        let tap = names.iter().position(|(index, _)| from.is_some_and(|from| from.ifindex() == *index));
        let (Some(tap), true) = (tap, belongs(&buffer[..len], &pairs)) else { continue };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let at = Instant::from_nanos(now.as_nanos() as u64);
        writer.packet(tap, at, &buffer[..len], len as u32).map_err(unwritten)?;
        packets += 1;
    }
    writer.finish().map_err(unwritten)?;
    Ok(Captured { what, packets })
}

fn connection(flows: &serde_json::Value, id: u64) -> Result<(Pairs, String), Error> {
    let found = flows.as_array().into_iter().flatten().find(|flow| flow["id"] == id);
    let flow = found.ok_or_else(|| {
        Error::Control(format!(
            "there is no connection {id} alive: `longhaul-pep flows` lists them with their ids"
        ))
    })?;
    let address = |name: &str| flow[name].as_str().and_then(|text| text.parse::<SocketAddr>().ok());
    let (client, server) = (address("client"), address("server"));
    let near = client.zip(address("proxy").or(server));
    let far = address("outward").zip(server);
    let shown = |name: &str| flow[name].as_str().unwrap_or("?").to_string();
    Ok(([near, far], format!("{} -> {}", shown("client"), shown("server"))))
}

/// True for a packet of one of the pairs, in either direction.
fn belongs(packet: &[u8], pairs: &Pairs) -> bool {
    let Some((from, to)) = ends(packet) else { return false };
    pairs.iter().flatten().any(|pair| *pair == (from, to) || *pair == (to, from))
}

/// Addresses and ports of a TCP packet that begins with its IP header.
fn ends(packet: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let four = |at: usize| packet.get(at..at + 4)?.first_chunk::<4>().map(|octets| IpAddr::from(*octets));
    let sixteen =
        |at: usize| packet.get(at..at + 16)?.first_chunk::<16>().map(|octets| IpAddr::from(*octets));
    let (from, to, len) = match packet.first()? >> 4 {
        4 if packet.get(9) == Some(&6) => (four(12)?, four(16)?, usize::from(packet[0] & 15) * 4),
        6 if packet.get(6) == Some(&6) => (sixteen(8)?, sixteen(24)?, 40),
        _ => return None,
    };
    let port = |at: usize| Some(u16::from_be_bytes(*packet.get(at..at + 2)?.first_chunk::<2>()?));
    Some((SocketAddr::new(from, port(len)?), SocketAddr::new(to, port(len + 2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_both_sides_and_directions_belong() {
        let flows = serde_json::json!([{
            "id": 7, "client": "192.0.2.1:40000", "server": "198.51.100.2:80", "outward": "203.0.113.1:50000"
        }]);
        let (pairs, what) = connection(&flows, 7).unwrap();
        assert_eq!(what, "192.0.2.1:40000 -> 198.51.100.2:80");
        let packet = |from: &str, to: &str| {
            let segment = [0u8; 20];
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            let mut segment = segment.to_vec();
            segment[..2].copy_from_slice(&from.port().to_be_bytes());
            segment[2..4].copy_from_slice(&to.port().to_be_bytes());
            segment[12..14].copy_from_slice(&[0x50, 2]);
            crate::opening::Opening::from_segment(from.ip(), to.ip(), 0, &segment).unwrap().packet()
        };
        assert!(belongs(&packet("192.0.2.1:40000", "198.51.100.2:80"), &pairs));
        assert!(belongs(&packet("198.51.100.2:80", "203.0.113.1:50000"), &pairs));
        assert!(!belongs(&packet("192.0.2.1:40001", "198.51.100.2:80"), &pairs));
        assert!(!belongs(&packet("192.0.2.1:40000", "198.51.100.2:80")[..21], &pairs));
        let error = connection(&flows, 8).unwrap_err().to_string();
        assert!(error.starts_with("there is no connection 8 alive"), "{error}");
    }
}
