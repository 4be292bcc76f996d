//! Where a node may connect to on behalf of others: the operator's lists, and addresses that nobody means by "the Internet".

use crate::prefix::{Ports, Prefix};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where this node may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Destinations {
    /// Networks; empty: all. Addresses of this machine, of its links and of cloud metadata services are reached only if they are
    /// listed one by one.
    pub allow: Vec<Prefix>,
    /// Networks that are refused, even if they are allowed above.
    pub deny: Vec<Prefix>,
    /// Networks of private addresses (RFC 1918, RFC 4193, RFC 6598) that may be reached; without this key: all.
    pub private: Option<Vec<Prefix>>,
    /// Ports; empty: all.
    pub ports: Vec<Ports>,
}

/// Addresses of this machine, of one link or of many receivers (RFC 6890, RFC 4291).
const NEVER: [(IpAddr, u8); 11] = [
    (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8),
    (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16),
    // Multicast, and all above it that is reserved, with the broadcast address.
    (IpAddr::V4(Ipv4Addr::new(224, 0, 0, 0)), 3),
    (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 127),
    (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)), 10),
    (IpAddr::V6(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0)), 8),
    // Metadata services of clouds that are not link-local: Alibaba, Azure, Oracle, AWS over IPv6.
    (IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), 32),
    (IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)), 32),
    (IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)), 32),
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), 128),
];

/// Private networks (RFC 1918, RFC 6598, RFC 4193).
const PRIVATE: [(IpAddr, u8); 5] = [
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(172, 16, 0, 0)), 12),
    (IpAddr::V4(Ipv4Addr::new(192, 168, 0, 0)), 16),
    (IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), 10),
    (IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)), 7),
];

fn inside(list: &[Prefix], address: IpAddr) -> bool {
    list.iter().any(|prefix| prefix.contains(address))
}

fn among(list: &[(IpAddr, u8)], address: IpAddr) -> bool {
    list.iter().any(|(network, len)| Prefix::new(*network, *len).contains(address))
}

/// The address itself, and the IPv4 address that an IPv6 address stands for at a translator or a tunnel: mapped (RFC 4291, section
/// 2.5.5), compatible (the same), NAT64 (RFC 6052), 6to4 (RFC 3056). Each of them leads to the host that has the inner one.
fn meant(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = match address.to_canonical() {
        IpAddr::V6(outer) => {
            let [a, b, c, d, e, f, g, h] = outer.segments();
            let v4 = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
            match (a, b, c, d, e, f) {
                // `::` and `::1` are no IPv4 addresses.
                (0, 0, 0, 0, 0, 0) if g != 0 => v4(g, h),
                (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
                (0x2002, high, low, ..) => v4(high, low),
                _ => None,
            }
        }
        IpAddr::V4(_) => None,
    };
    std::iter::once(address.to_canonical()).chain(inner.map(IpAddr::V4))
}

impl Destinations {
    /// True if the lists permit a connection to this address and port.
    pub fn permit(&self, to: SocketAddr) -> bool {
        self.permit_port(to.port())
            && !meant(to.ip()).any(|address| inside(&self.deny, address))
            && (self.allow.is_empty() || inside(&self.allow, to.ip()))
            && self.private.as_deref().is_none_or(|listed| {
                meant(to.ip()).all(|address| !among(&PRIVATE, address) || inside(listed, address))
            })
    }

    /// True if the lists permit connections to this port.
    pub fn permit_port(&self, port: u16) -> bool {
        self.ports.is_empty() || self.ports.iter().any(|ports| ports.contains(port))
    }

    /// True if an address is listed on its own, not as a part of a network.
    pub fn names(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|prefix| prefix.is_host() && prefix.contains(address))
    }
}

/// True for an address that strangers do not reach through this node unless it is listed on its own: this machine's, its links', those
/// of many receivers, a metadata service's.
pub(crate) fn is_guarded(address: IpAddr) -> bool {
    meant(address).any(|address| among(&NEVER, address) || is_own(address))
}

/// True for an address of one of this machine's interfaces.
fn is_own(address: IpAddr) -> bool {
    let Ok(interfaces) = nix::ifaddrs::getifaddrs() else { return false };
    interfaces.filter_map(|interface| interface.address).any(|own| {
        let v4 = own.as_sockaddr_in().map(|own| IpAddr::from(own.ip()));
        let v6 = own.as_sockaddr_in6().map(|own| IpAddr::from(own.ip()));
        v4.or(v6) == Some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn to(text: &str) -> SocketAddr {
        SocketAddr::new(address(text), 443)
    }

    fn networks(texts: &[&str]) -> Vec<Prefix> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn loopback_links_groups_and_metadata_are_guarded_in_every_spelling() {
        for guarded in [
            "127.0.0.1",
            "127.8.9.10",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
        ] {
            assert!(is_guarded(address(guarded)), "{guarded}");
        }
        for open in [
            "192.0.2.1",
            "8.8.8.8",
            "10.1.2.3",
            "2001:db8::1",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(!is_guarded(address(open)), "{open}");
        }
    }

    #[test]
    fn a_wide_network_names_no_single_address() {
        let wide =
            Destinations { allow: networks(&["0.0.0.0/0", "::/0", "127.0.0.0/8"]), ..Default::default() };
        assert!(!wide.names(address("127.0.0.1")) && !wide.names(address("::1")));
        let one = Destinations { allow: networks(&["127.0.0.1"]), ..Default::default() };
        assert!(one.names(address("127.0.0.1")) && one.names(address("::ffff:127.0.0.1")));
        assert!(!one.names(address("127.0.0.2")));
    }

    #[test]
    fn private_networks_are_listed_one_by_one() {
        let all = Destinations::default();
        assert!(all.permit(to("10.1.2.3")), "without the key");
        let none = Destinations { private: Some(vec![]), ..Default::default() };
        for refused in [
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "fd00::1",
            "::ffff:10.1.2.3",
            "64:ff9b::a01:203",
        ] {
            assert!(!none.permit(to(refused)), "{refused}");
        }
        assert!(
            none.permit(to("192.0.2.1")) && none.permit(to("2001:db8::1")) && none.permit(to("172.32.0.1"))
        );
        let some = Destinations { private: Some(networks(&["10.20.0.0/16"])), ..Default::default() };
        assert!(some.permit(to("10.20.3.4")) && !some.permit(to("10.21.3.4")));
    }

    #[test]
    fn a_denied_network_is_denied_in_every_spelling() {
        let lists = Destinations { deny: networks(&["203.0.113.0/24"]), ..Default::default() };
        for refused in ["203.0.113.7", "::ffff:203.0.113.7", "64:ff9b::cb00:7107"] {
            assert!(!lists.permit(to(refused)), "{refused}");
        }
    }
}
