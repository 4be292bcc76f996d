//! Where a hub is, as the configuration states it: a name or an address, and a port. Names are looked up when a connection is made.

use crate::socks::Host;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// A name or an address, and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HubName {
    /// The machine.
    pub host: Host,
    /// Its UDP and TCP port.
    pub port: u16,
}

impl HubName {
    /// The address, if the configuration has one in place of a name.
    pub fn literal(&self) -> Option<SocketAddr> {
        match self.host {
            Host::Address(address) => Some(SocketAddr::new(address, self.port)),
            Host::Name(_) => None,
        }
    }

    /// Looks the name up; this may take seconds. The addresses are in the order of RFC 6724, and those to which there is no route now
    /// come last.
    ///
    /// # Errors
    /// If there is none.
    pub fn look_up(&self) -> io::Result<Vec<SocketAddr>> {
        let Host::Name(name) = &self.host else { return Ok(self.literal().into_iter().collect()) };
        let mut all: Vec<SocketAddr> = vec![];
        for address in (name.as_str(), self.port).to_socket_addrs()? {
            if !all.contains(&address) {
                all.push(address);
            }
        }
        all.sort_by_key(|address| !is_routed(*address));
        if all.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(all) }
    }
}

/// True if this machine has a route there. Nothing is sent.
fn is_routed(to: SocketAddr) -> bool {
    let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    std::net::UdpSocket::bind(any).and_then(|socket| socket.connect(to)).is_ok()
}

impl FromStr for HubName {
    type Err = String;

    fn from_str(text: &str) -> Result<HubName, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return match address.port() {
                0 => Err(no_port(text)),
                port => Ok(HubName { host: Host::Address(address.ip()), port }),
            };
        }
        let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = inside.parse::<IpAddr>() {
            let address = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
            return Err(format!("\"{text}\" has no port; write for instance \"{address}:7714\""));
        }
        let Some((host, port)) = text.rsplit_once(':') else {
            let example = crate::http::host_name(text.as_bytes()).unwrap_or_else(|| "hub.example.org".into());
            return Err(format!("\"{text}\" has no port; write for instance \"{example}:7714\""));
        };
        // `+7714` is a number for Rust.
        let port = port.parse().ok().filter(|n| *n > 0 && port.bytes().all(|c| c.is_ascii_digit()));
        match (crate::http::host_name(host.as_bytes()), port) {
            // Four numbers that are no address are no name either: the last label of a name is not all digits (RFC 3696, section 2).
            (Some(name), Some(port)) if !ends_in_number(&name) => {
                Ok(HubName { host: Host::Name(name), port })
            }
            _ => Err(no_port(text)),
        }
    }
}

fn ends_in_number(name: &str) -> bool {
    let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    !last.is_empty() && last.bytes().all(|c| c.is_ascii_digit())
}

fn no_port(text: &str) -> String {
    format!(
        "\"{text}\" is no address with a port (1 to 65535), as in \"198.51.100.10:7714\", and no name with a port, as in \
         \"hub.example.org:7714\""
    )
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

crate::prefix::from_text!(HubName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_both_families_are_read_and_written_alike() {
        for text in ["198.51.100.10:7714", "[2001:db8::1]:7714", "hub.example.org:7714", "localhost:1"] {
            assert_eq!(text.parse::<HubName>().unwrap().to_string(), text);
        }
        for wrong in
            ["hub.example.org", "hub.example.org:", "hub.example.org:+7", "a b:7714", ":7714", "hub:0"]
        {
            assert!(wrong.parse::<HubName>().is_err(), "{wrong}");
        }
        assert!("198.51.100.300:7714".parse::<HubName>().is_err(), "no name ends in a number");
    }

    #[test]
    fn a_name_is_looked_up_and_an_address_is_itself() {
        let found = "localhost:7714".parse::<HubName>().unwrap().look_up().unwrap();
        assert!(!found.is_empty() && found.iter().all(|one| one.ip().is_loopback() && one.port() == 7714));
        let own: HubName = "[2001:db8::1]:7714".parse().unwrap();
        assert_eq!(own.look_up().unwrap(), ["[2001:db8::1]:7714".parse().unwrap()]);
        assert!("no-such-name.invalid:7714".parse::<HubName>().unwrap().look_up().is_err());
    }
}
