//! The opening of a tunnel through an HTTP proxy (RFC 9110, section 9.3.6: CONNECT with a host and a port). Pure: the caller
//! brings the bytes that have come so far.

use crate::socks::{Host, Request, Step};

/// Longest head of a request, in bytes.
pub const LONGEST: usize = 8192;

/// The answer when the connection is open.
pub const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// An answer that refuses.
pub fn refusal(status: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}

/// Reads the head of a request. Header fields are not looked at.
pub fn request(bytes: &[u8]) -> Step<Request> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() < LONGEST {
            Step::More
        } else {
            Step::Refused(refusal("431 Request Header Fields Too Large"))
        };
    };
    let line = bytes[..end].split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if words.next().is_some() || !version.is_some_and(|version| version.starts_with(b"HTTP/1.")) {
        return Step::Refused(refusal("400 Bad Request"));
    }
    if method != Some(b"CONNECT") {
        return Step::Refused(refusal("405 Method Not Allowed"));
    }
    match target.and_then(authority) {
        Some(request) => Step::Done(request, end + 4),
        None => Step::Refused(refusal("400 Bad Request")),
    }
}

/// `host:port`, with brackets around an IPv6 address.
fn authority(text: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(text).ok()?;
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|_| port.bytes().all(|c| c.is_ascii_digit()))?;
    let host = match host.strip_prefix('[') {
        Some(inside) => Host::Address(inside.strip_suffix(']')?.parse::<std::net::Ipv6Addr>().ok()?.into()),
        None => match host.parse::<std::net::Ipv4Addr>() {
            Ok(address) => Host::Address(address.into()),
            Err(_) => Host::Name(host_name(host.as_bytes())?),
        },
    };
    Some(Request { host, port })
}

/// A name of a host in letters, digits, hyphens, underscores and dots, of at most 253 characters (RFC 1035).
pub(crate) fn host_name(bytes: &[u8]) -> Option<String> {
    let allowed = |c: &u8| c.is_ascii_alphanumeric() || b"-._".contains(c);
    let fine = (1..=253).contains(&bytes.len()) && bytes.iter().all(allowed);
    fine.then(|| String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_is_understood() {
        let text = b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\nhello";
        let expected = Request { host: Host::Name("example.com".into()), port: 443 };
        assert_eq!(request(text), Step::Done(expected, text.len() - 5));
        assert_eq!(request(&text[..40]), Step::More);
        let Step::Done(request, _) = request(b"CONNECT [2001:db8::1]:22 HTTP/1.0\r\n\r\n") else { panic!() };
        assert_eq!(request.host, Host::Address("2001:db8::1".parse().unwrap()));
    }

    #[test]
    fn everything_else_is_refused() {
        let status = |text: &[u8]| match request(text) {
            Step::Refused(answer) => String::from_utf8(answer[9..12].to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(status(b"GET http://example.com/ HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status(b"CONNECT example.com HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(status(b"CONNECT exa mple.com:80 HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(status(b"CONNECT a:+80 HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(status(b"\r\n\r\n"), "400");
        assert_eq!(status(&[b'a'; LONGEST]), "431");
    }
}
