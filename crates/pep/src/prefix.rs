//! Networks and ports as an operator writes them: `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.1`; `443`, `8000-8999`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network: an address and how many of its first bits count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// The network of an address, by its first bits.
    pub const fn new(address: IpAddr, len: u8) -> Prefix {
        Prefix { address, len }
    }

    /// True for an address inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.len)).unwrap_or(0);
                (net.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(net), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.len)).unwrap_or(0);
                (net.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }

    /// True if it is one address only.
    pub fn is_host(&self) -> bool {
        self.len == if self.is_v4() { 32 } else { 128 }
    }

    /// True for IPv4.
    pub fn is_v4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// True if an address is in both.
    pub fn overlaps(&self, other: &Prefix) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Prefix, String> {
        let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let address: IpAddr = address.parse().map_err(|_| {
            format!("\"{text}\" is no network; write for instance \"10.0.0.0/8\" or \"2001:db8::/32\"")
        })?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let len = match len {
            None => most,
            Some(len) => len
                .parse::<u8>()
                .ok()
                .filter(|len| *len <= most)
                .ok_or_else(|| format!("\"{text}\": the length after the slash is from 0 to {most}"))?,
        };
        let whole = Prefix { address, len };
        let base = whole.first();
        if base != address {
            return Err(format!(
                "\"{text}\" has bits after the first {len}; the network is \"{base}/{len}\""
            ));
        }
        Ok(whole)
    }
}

impl Prefix {
    /// The same network, by its first address.
    pub fn network(self) -> Prefix {
        Prefix { address: self.first(), ..self }
    }

    /// Its last address: of IPv4, that of all hosts.
    pub fn last(&self) -> IpAddr {
        match self.first() {
            IpAddr::V4(first) => {
                let rest = u32::MAX.checked_shr(u32::from(self.len)).unwrap_or(0);
                IpAddr::V4((first.to_bits() | rest).into())
            }
            IpAddr::V6(first) => {
                let rest = u128::MAX.checked_shr(u32::from(self.len)).unwrap_or(0);
                IpAddr::V6((first.to_bits() | rest).into())
            }
        }
    }

    /// Its first address.
    pub fn first(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.len)).unwrap_or(0);
                IpAddr::V4((address.to_bits() & mask).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.len)).unwrap_or(0);
                IpAddr::V6((address.to_bits() & mask).into())
            }
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

/// One port or a range of ports, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Ports {
    /// True for a port inside.
    pub fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Ports, String> {
        let wrong = || format!("\"{text}\" is no port; write for instance \"443\" or \"8000-8999\"");
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong);
        let (first, last) = match text.split_once('-') {
            None => (port(text)?, port(text)?),
            Some((first, last)) => (port(first)?, port(last)?),
        };
        if first > last {
            return Err(format!("\"{text}\" ends before it begins; write \"{last}-{first}\""));
        }
        Ok(Ports { first, last })
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

macro_rules! from_text {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}
pub(crate) use from_text;
from_text!(Prefix);
from_text!(Ports);

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn networks_contain_their_addresses_only() {
        let net = prefix("10.0.0.0/9");
        assert!(net.contains("10.127.255.255".parse().unwrap()));
        assert!(!net.contains("10.128.0.0".parse().unwrap()));
        assert!(!net.contains("::a00:1".parse().unwrap()));
        assert!(net.contains("::ffff:10.1.2.3".parse().unwrap()), "a mapped address is the IPv4 address");
        assert!(prefix("0.0.0.0/0").contains("255.1.2.3".parse().unwrap()));
        assert!(!prefix("0.0.0.0/0").contains("::1".parse().unwrap()));
        assert!(prefix("2001:db8::/32").contains("2001:db8:ffff::1".parse().unwrap()));
        assert!(prefix("::/0").contains("fe80::1".parse().unwrap()));
        assert!(prefix("192.0.2.1").contains("192.0.2.1".parse().unwrap()));
        assert!(prefix("10.0.0.0/8").overlaps(&prefix("10.1.0.0/16")));
        assert!(!prefix("10.0.0.0/16").overlaps(&prefix("10.1.0.0/16")));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_right() {
        let error = |text: &str| text.parse::<Prefix>().unwrap_err();
        assert_eq!(
            error("10.0.0.1/8"),
            "\"10.0.0.1/8\" has bits after the first 8; the network is \"10.0.0.0/8\""
        );
        assert_eq!(error("10.0.0.0/33"), "\"10.0.0.0/33\": the length after the slash is from 0 to 32");
        assert!(error("ten").contains("is no network"));
        let error = |text: &str| text.parse::<Ports>().unwrap_err();
        assert_eq!(error("90-80"), "\"90-80\" ends before it begins; write \"80-90\"");
        assert!(error("0").contains("is no port"));
        assert!(error("65536").contains("is no port"));
        assert_eq!("8000-8999".parse::<Ports>().unwrap().to_string(), "8000-8999");
    }
}
