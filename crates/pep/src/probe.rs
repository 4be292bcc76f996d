//! What the way to the hub lets pass, for `doctor`.

use crate::config::Config;
use crate::doctor::{Finding, Verdict, finding};
use crate::sys;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// A version of QUIC that nobody has: a server answers with those that it has (RFC 9000, section 6).
const NO_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];
/// Bytes of the shortest datagram that a server answers (RFC 9000, section 14.1).
const LEAST: usize = 1200;
/// Questions, each waited for as long as a slow satellite takes.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(2);
/// Once an answer has come, later ones are waited for three times as long, and at least so long.
const QUICK: Duration = Duration::from_millis(200);
/// The largest packet that passes is found to so many bytes.
const GRAIN: usize = 4;

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
    /// This machine does not send a packet of this size.
    TooLong,
}

/// Probes each hub, over UDP and over TCP.
pub(crate) fn way(config: &Config) -> Vec<Finding> {
    let Some(hop) = config.hop.as_ref() else { return vec![] };
    let hubs = hop.hubs();
    let several = hubs.len() > 1;
    let each = hubs.iter().flat_map(|hub| {
        let found = match hub.look_up() {
            Ok(addresses) => addresses.first().map_or(vec![], |address| way_to(*address, hop.mtu)),
            Err(why) => {
                let text = format!("the name of {hub} is not found: {why}");
                vec![finding("UDP to the hub", Some((Verdict::Bad, text)), "")]
            }
        };
        let named = move |one: Finding| match several {
            true => Finding { text: format!("{hub}: {}", one.text), ..one },
            false => one,
        };
        found.into_iter().map(named)
    });
    each.collect()
}

fn way_to(hub: SocketAddr, full: u16) -> Vec<Finding> {
    let headers = if hub.is_ipv4() { 28 } else { 48 };
    let (answer, took) = ask(hub, LEAST, PATIENCE);
    let size = mtu(hub, i32::from(full) + headers, headers);
    let size = match (answer, size.verdict) {
        (Answer::Quic, Verdict::Good) => {
            Some(whole_path(hub, full.into(), headers as usize, (took * 3).max(QUICK)))
        }
        // What the kernel has in its records proves nothing of a way that brings no answer.
        (_, Verdict::Good) => None,
        _ => Some(size),
    };
    size.into_iter().chain([udp(hub, answer)]).collect()
}

/// Whether full packets arrive at the hub. A link that drops larger ones without a report (a black hole, RFC 8899) is in no kernel's records.
fn whole_path(hub: SocketAddr, full: usize, headers: usize, patience: Duration) -> Finding {
    let arrives = |len| ask(hub, len, patience).0 == Answer::Quic;
    let problem = (full > LEAST && !arrives(full)).then(|| {
        let (mut fits, mut lost) = (LEAST, full);
        while lost - fits > GRAIN {
            let middle = usize::midpoint(fits, lost);
            *(if arrives(middle) { &mut fits } else { &mut lost }) = middle;
        }
        let text = format!(
            "packets of {} bytes do not arrive at the hub, and nothing reports it; those of {} do: set hop.mtu = {fits} at both nodes",
            full + headers,
            fits + headers
        );
        (Verdict::Bad, text)
    });
    finding("packet size", problem, "full packets of the tunnel fit")
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
    // Packets are sent whole, whatever the kernel has learned of the path.
    let (level, option, probe) = match hub.ip() {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
    };
    sys::set_option(socket.as_fd(), level, option, probe)?;
    Ok(socket)
}

fn question(len: usize) -> Vec<u8> {
    let mut datagram = vec![0; len];
    // A long header, the version, and two connection identifiers of 8 bytes.
    datagram[0] = 0xc0;
    datagram[1..5].copy_from_slice(&NO_VERSION);
    datagram[5..14].copy_from_slice(&[8, 1, 2, 3, 4, 5, 6, 7, 8]);
    datagram[14..23].copy_from_slice(&[8, 8, 7, 6, 5, 4, 3, 2, 1]);
    datagram
}

/// Sends a datagram of this length up to three times; returns what came back, and how long after the last one.
fn ask(hub: SocketAddr, len: usize, patience: Duration) -> (Answer, Duration) {
    let Ok(socket) = towards(hub).and_then(|socket| {
        socket.set_read_timeout(Some(patience))?;
        Ok(socket)
    }) else {
        return (Answer::NoRoute, Duration::ZERO);
    };
    let mut begin = Instant::now();
    let answer = answer(&socket, len, &mut begin);
    (answer, begin.elapsed())
}

fn answer(socket: &UdpSocket, len: usize, begin: &mut Instant) -> Answer {
    let mut buffer = [0; 2048];
    for _ in 0..TRIES {
        *begin = Instant::now();
        if socket.send(&question(len)).is_err_and(|why| why.raw_os_error() == Some(libc::EMSGSIZE)) {
            return Answer::TooLong;
        }
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
        Answer::TooLong => Some(format!("this machine sends no packet of {LEAST} bytes there")),
        Answer::NoRoute => Some(format!("there is no route to {hub}")),
        Answer::Silence => {
            let reached = match TcpStream::connect_timeout(&hub, PATIENCE) {
                Ok(_) => true,
                Err(why) => why.kind() == ErrorKind::ConnectionRefused,
            };
            Some(match reached {
                true => {
                    format!(
                        "{} answers over TCP and not over UDP {hub}: a firewall blocks UDP (`longhaul-pep plan --firewall NAME` at the \
                         hub prints what lets it in)",
                        hub.ip()
                    )
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
        assert_eq!(ask(address, LEAST, PATIENCE).0, Answer::Nobody);
        let text = udp(address, Answer::Silence).text;
        assert!(text.contains("answers over TCP and not over UDP"), "loopback refuses TCP: {text}");
    }

    #[test]
    fn the_packet_size_of_a_dead_way_is_no_finding() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        drop(taken);
        let found = way_to(address, 1472);
        assert_eq!(found.iter().map(|one| one.what).collect::<Vec<_>>(), ["UDP to the hub"], "{found:?}");
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
        assert_eq!(ask(address, LEAST, PATIENCE).0, Answer::Quic);
        served.join().unwrap();
    }

    /// A link that drops datagrams of more than 1,372 bytes and reports nothing.
    #[test]
    fn a_black_hole_is_found_with_what_passes() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let served = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((n, from)) = server.recv_from(&mut buffer) {
                match n {
                    1 => return,
                    ..=1372 => drop(server.send_to(&[0x80, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0], from)),
                    _ => {}
                }
            }
        });
        let found = whole_path(address, 1472, 28, Duration::from_millis(50));
        assert!(found.text.starts_with("packets of 1500 bytes do not arrive at the hub"), "{}", found.text);
        let mtu: usize =
            found.text.split("hop.mtu = ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((1372 - GRAIN..=1372).contains(&mtu), "{}", found.text);
        assert_eq!(whole_path(address, 1372, 28, Duration::from_millis(50)).verdict, Verdict::Good);
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0], address).unwrap();
        served.join().unwrap();
    }

    #[test]
    fn a_packet_that_does_not_fit_is_named_with_what_does() {
        let found = mtu("127.0.0.1:7714".parse().unwrap(), 70_000, 28);
        assert!(found.text.contains("set hop.mtu = 655"), "{}", found.text);
        assert_eq!(mtu("127.0.0.1:7714".parse().unwrap(), 1500, 28).verdict, Verdict::Good);
    }
}
