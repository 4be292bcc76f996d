//! SOCKS5 (RFC 1928), the part that opens TCP connections: no authentication (method 0), command CONNECT. Pure: the caller
//! brings the bytes that have come so far.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The destination that a client requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name, which is looked up.
    Name(String),
}

/// A client's request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The server.
    pub host: Host,
    /// Its port.
    pub port: u16,
}

/// A step of the dialogue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step<T> {
    /// More bytes are needed.
    More,
    /// Understood; so many bytes were used.
    Done(T, usize),
    /// Not understood or not supported: this is the answer, after which the connection ends.
    Refused(Vec<u8>),
}

/// The answer to a greeting that offers no authentication.
pub const WELCOME: [u8; 2] = [5, 0];

/// Codes of RFC 1928, section 6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Reply {
    /// The connection is open.
    Succeeded = 0,
    /// Anything else.
    Failure = 1,
    /// Not allowed by the rules.
    NotAllowed = 2,
    /// No way there.
    HostUnreachable = 4,
    /// The server refused it.
    Refused = 5,
    /// BIND and UDP ASSOCIATE.
    CommandNotSupported = 7,
    /// An unknown kind of address.
    AddressNotSupported = 8,
}

/// A reply on the wire. The bound address is stated as unknown.
pub fn reply(code: Reply) -> Vec<u8> {
    vec![5, code as u8, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// Reads the greeting: version, number of methods, methods.
pub fn greeting(bytes: &[u8]) -> Step<()> {
    match bytes {
        [] => Step::More,
        [5] => Step::More,
        [5, count, methods @ ..] => {
            let count = usize::from(*count);
            match methods.get(..count) {
                None => Step::More,
                Some(offered) if offered.contains(&0) => Step::Done((), 2 + count),
                Some(_) => Step::Refused(vec![5, 0xff]),
            }
        }
        _ => Step::Refused(vec![]),
    }
}

/// Reads the request: version, command, zero, kind of address, address, port.
pub fn request(bytes: &[u8]) -> Step<Request> {
    match bytes.first() {
        None => return Step::More,
        Some(5) => {}
        Some(_) => return Step::Refused(vec![]),
    }
    let Some([_, command, _, kind]) = bytes.get(..4) else { return Step::More };
    if *command != 1 {
        return Step::Refused(reply(Reply::CommandNotSupported));
    }
    let rest = &bytes[4..];
    let (host, used) = match kind {
        1 => match rest.first_chunk::<4>() {
            Some(address) => (Host::Address(Ipv4Addr::from(*address).into()), 4),
            None => return Step::More,
        },
        4 => match rest.first_chunk::<16>() {
            Some(address) => (Host::Address(Ipv6Addr::from(*address).into()), 16),
            None => return Step::More,
        },
        3 => {
            let Some(len) = rest.first().map(|len| usize::from(*len)) else { return Step::More };
            let Some(name) = rest.get(1..1 + len) else { return Step::More };
            match crate::http::host_name(name) {
                Some(name) => (Host::Name(name), 1 + len),
                None => return Step::Refused(reply(Reply::Failure)),
            }
        }
        _ => return Step::Refused(reply(Reply::AddressNotSupported)),
    };
    match rest.get(used..).and_then(|port| port.first_chunk::<2>()) {
        Some(port) => Step::Done(Request { host, port: u16::from_be_bytes(*port) }, 4 + used + 2),
        None => Step::More,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_of_rfc_1928() {
        assert_eq!(greeting(&[5, 1, 0]), Step::Done((), 3));
        assert_eq!(greeting(&[5, 2, 2, 0, 5]), Step::Done((), 4));
        assert_eq!(greeting(&[5, 2, 2]), Step::More);
        assert_eq!(greeting(&[5, 1, 2]), Step::Refused(vec![5, 0xff]), "only with a password");
        assert_eq!(greeting(&[4, 1]), Step::Refused(vec![]), "SOCKS4");
    }

    #[test]
    fn requests_of_rfc_1928() {
        let v4 = [5, 1, 0, 1, 192, 0, 2, 1, 0, 80];
        let expected = Request { host: Host::Address("192.0.2.1".parse().unwrap()), port: 80 };
        assert_eq!(request(&v4), Step::Done(expected, 10));
        for short in 0..v4.len() {
            assert_eq!(request(&v4[..short]), Step::More, "{short} bytes");
        }
        let mut name = vec![5, 1, 0, 3, 11];
        name.extend(b"example.com\x01\xbb and more");
        let expected = Request { host: Host::Name("example.com".into()), port: 443 };
        assert_eq!(request(&name), Step::Done(expected, 18));
        let mut v6 = vec![5, 1, 0, 4];
        v6.extend([0; 15]);
        v6.extend([1, 0, 22]);
        let expected = Request { host: Host::Address("::1".parse().unwrap()), port: 22 };
        assert_eq!(request(&v6), Step::Done(expected, 22));
        assert_eq!(request(&[5, 2, 0, 1]), Step::Refused(reply(Reply::CommandNotSupported)));
        assert_eq!(request(&[5, 1, 0, 9]), Step::Refused(reply(Reply::AddressNotSupported)));
        assert_eq!(request(&[5, 1, 0, 3, 2, b'a', 0, 0, 80]), Step::Refused(reply(Reply::Failure)));
    }
}
