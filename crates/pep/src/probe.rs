//! What the way to the hub lets pass, for `doctor`.

use crate::config::Config;
use crate::doctor::{Finding, Verdict, finding};
use crate::sys;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// A version of QUIC that nobody has: a server answers with those that it has (RFC 9000, section 6).
const NO_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];
/// Bytes of the shortest datagram that a server answers (RFC 9000, section 14.1).
const LEAST: usize = 1200;
/// Questions, each waited for as long as a slow satellite takes.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(2);

/// What came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// A hub, or another server of QUIC.
    Quic,
    /// A machine on which nobody has this port.
    Nobody,
    /// Nothing.
    Silence,
    /// There is no way there.
    NoRoute,
}

/// Probes the hub, over UDP and over TCP.
pub(crate) fn way(config: &Config) -> Vec<Finding> {
    let Some((hop, hub)) = config.hop.as_ref().and_then(|hop| Some((hop, hop.hub?))) else { return vec![] };
    let headers = if hub.is_ipv4() { 28 } else { 48 };
    vec![mtu(hub, i32::from(hop.mtu) + headers, headers), udp(hub, ask(hub))]
}

/// The kernel's knowledge of the path, which starts with the interface's.
fn mtu(hub: SocketAddr, needed: i32, headers: i32) -> Finding {
    let known = || {
        let socket = towards(hub)?;
        match hub.ip() {
            IpAddr::V4(_) => sys::option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU),
            IpAddr::V6(_) => sys::option(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU),
        }
    };
    let problem = match known() {
        Ok(mtu) if mtu >= needed => None,
        Ok(mtu) => Some((
            Verdict::Bad,
            format!(
                "packets of {needed} bytes do not fit the way to the hub, which takes {mtu}; set hop.mtu = {} at both nodes",
                mtu - headers
            ),
        )),
        Err(why) => Some((Verdict::Bad, format!("no way to the hub {hub}: {why}"))),
    };
    finding("packet size", problem, "full packets of the tunnel fit")
}

fn towards(hub: SocketAddr) -> std::io::Result<UdpSocket> {
    let any: SocketAddr =
        if hub.is_ipv4() { ([0; 4], 0).into() } else { (std::net::Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(hub)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

fn question() -> Vec<u8> {
    let mut datagram = vec![0; LEAST];
    // A long header, the version, and two connection identifiers of 8 bytes.
    datagram[0] = 0xc0;
    datagram[1..5].copy_from_slice(&NO_VERSION);
    datagram[5..14].copy_from_slice(&[8, 1, 2, 3, 4, 5, 6, 7, 8]);
    datagram[14..23].copy_from_slice(&[8, 8, 7, 6, 5, 4, 3, 2, 1]);
    datagram
}

fn ask(hub: SocketAddr) -> Answer {
    let Ok(socket) = towards(hub) else { return Answer::NoRoute };
    let mut buffer = [0; 2048];
    for _ in 0..TRIES {
        let _ = socket.send(&question());
        match socket.recv(&mut buffer) {
            // Version negotiation has version 0.
            Ok(n) if n > 5 && buffer[0] & 0x80 != 0 && buffer[1..5] == [0; 4] => return Answer::Quic,
            Ok(_) => return Answer::Quic,
            Err(why) if why.kind() == ErrorKind::ConnectionRefused => return Answer::Nobody,
            Err(_) => {}
        }
    }
    Answer::Silence
}

fn udp(hub: SocketAddr, answer: Answer) -> Finding {
    let problem = match answer {
        Answer::Quic => None,
        Answer::Nobody => {
            Some(format!("the hub's machine answers, but nothing has UDP {hub} there: is the hub running?"))
        }
        Answer::NoRoute => Some(format!("there is no route to {hub}")),
        Answer::Silence => {
            let reached = match TcpStream::connect_timeout(&hub, PATIENCE) {
                Ok(_) => true,
                Err(why) => why.kind() == ErrorKind::ConnectionRefused,
            };
            Some(match reached {
                true => {
                    format!("{} answers over TCP and not over UDP {hub}: a firewall blocks UDP", hub.ip())
                }
                false => format!(
                    "nothing came back from {hub}, over UDP or TCP: the link is down, the address is wrong, or a firewall \
                     drops both"
                ),
            })
        }
    };
    finding("UDP to the hub", problem.map(|text| (Verdict::Bad, text)), "the hub answers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_a_listener_is_told_from_silence() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        drop(taken);
        assert_eq!(ask(address), Answer::Nobody);
        let text = udp(address, Answer::Silence).text;
        assert!(text.contains("answers over TCP and not over UDP"), "loopback refuses TCP: {text}");
    }

    #[test]
    fn a_version_negotiation_is_an_answer() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let served = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            let (n, from) = server.recv_from(&mut buffer).unwrap();
            assert_eq!((n, buffer[0] & 0x80), (LEAST, 0x80));
            server.send_to(&[0x80, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0], from).unwrap();
        });
        assert_eq!(ask(address), Answer::Quic);
        served.join().unwrap();
    }

    #[test]
    fn a_packet_that_does_not_fit_is_named_with_what_does() {
        let found = mtu("127.0.0.1:7714".parse().unwrap(), 70_000, 28);
        assert!(found.text.contains("set hop.mtu = 655"), "{}", found.text);
        assert_eq!(mtu("127.0.0.1:7714".parse().unwrap(), 1500, 28).verdict, Verdict::Good);
    }
}
