//! A trial: one page is loaded from this machine, by the accelerator's SOCKS5 proxy and without it.
//!
//! A terminal's proxy connects to servers itself while there is no tunnel, which is no trial of anything: so the terminal is asked how
//! the connection went on before the request is sent.

use crate::Error;
use crate::config::{Config, Mode};
use crate::control::{self, Command};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Longest time of one transfer.
const LONGEST: Duration = Duration::from_secs(60);
/// Most bytes that are loaded.
const MOST: u64 = 20 << 20;

/// What helps where there is no address, or none that is reached.
const WHAT_TO_WRITE: &str = "any page or file without encryption at the other end of the link does, as in \
    \"http://deb.debian.org/debian/README\". Without the internet: `python3 -m http.server 8000` on a machine there serves its folder, \
    \"http://ADDRESS:8000/FILE\" (a private ADDRESS has to be in destinations.private of the hub's file)";

/// A page to load: host, port, path.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Target {
    host: String,
    port: u16,
    path: String,
}

/// Reads an address as in `http://example.org/file`.
fn target(url: &str) -> Result<Target, Error> {
    if url.trim().is_empty() {
        return Err(Error::Config(format!("no address: {WHAT_TO_WRITE}")));
    }
    let wrong = |what: &str| Error::Config(format!("\"{url}\": {what}, as in \"http://example.org/\""));
    let rest = url
        .trim()
        .strip_prefix("http://")
        .ok_or_else(|| wrong("the trial loads an address without encryption"))?;
    if !rest.bytes().all(|c| c.is_ascii_graphic()) {
        return Err(wrong("an address has no spaces or other signs"));
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| wrong("the port is a number to 65535"))?),
        None => (authority, 80),
    };
    // A name in the letters that SOCKS5 and a request may have.
    let host = crate::http::host_name(host.as_bytes())
        .ok_or_else(|| wrong("a host is a name or an IPv4 address"))?;
    Ok(Target { host, port, path: format!("/{path}") })
}

/// Loads a page both ways.
///
/// # Errors
/// An address that is none, a configuration without `socks`, a page that cannot be loaded by the accelerator, and at a terminal a
/// connection that did not go through the tunnel.
pub(super) fn compare(url: &str, config: &Config) -> Result<Value, Error> {
    let target = target(url)?;
    let Some(socks) = config.socks else {
        return Err(Error::Config("the trial needs `socks` in the file (Interfaces)".into()));
    };
    let failed =
        |why: std::io::Error| Error::Control(format!("{url} cannot be loaded by the accelerator: {why}"));
    let (stream, took) = by_socks(&target, socks).map_err(failed)?;
    if config.mode == Mode::Terminal {
        let own = stream.local_addr().map_err(failed)?;
        let ask = |command| control::ask(&config.control, command);
        if let Some(why) = past_the_tunnel(own, &ask(Command::Flows)?, || ask(Command::Status))? {
            return Err(Error::Control(why));
        }
    }
    let with = load(&target, stream, took).map_err(failed)?;
    let without = direct(&target).and_then(|(stream, took)| load(&target, stream, took));
    let without = without.map_err(|why| why.to_string());
    let shown = |(bytes, status, seconds): (u64, String, f64)| json!({ "bytes": bytes, "status": status, "seconds": seconds });
    Ok(match without {
        Ok(without) => json!({ "with": shown(with), "without": shown(without) }),
        Err(why) => json!({ "with": shown(with), "without": { "error": why } }),
    })
}

/// Why the connection of this client did not go through the tunnel; `None` if it did.
fn past_the_tunnel(
    own: SocketAddr,
    flows: &Value,
    status: impl FnOnce() -> Result<Value, Error>,
) -> Result<Option<String>, Error> {
    let client = own.to_string();
    let flow = flows.as_array().into_iter().flatten().find(|flow| flow["client"] == client.as_str());
    if flow.is_some_and(|flow| flow["onward"] == "tunnel") {
        return Ok(None);
    }
    let status = status()?;
    let reasons = control::texts(&status, "reasons");
    let why = match (flow, reasons.as_slice()) {
        (None, _) => {
            "the proxy in the file is not that of the daemon that runs, or the connection has ended".into()
        }
        (Some(_), []) => "there was none at that moment; press again".to_string(),
        (Some(_), _) => reasons.join("; "),
    };
    Ok(Some(format!("not through the tunnel: {why}")))
}

fn prepared(stream: TcpStream) -> std::io::Result<TcpStream> {
    stream.set_read_timeout(Some(LONGEST))?;
    stream.set_write_timeout(Some(LONGEST))?;
    Ok(stream)
}

/// A connection to the server, and the seconds that it took.
fn direct(target: &Target) -> std::io::Result<(TcpStream, f64)> {
    let begin = Instant::now();
    let address = (target.host.as_str(), target.port).to_socket_addrs()?.next();
    let address = address.ok_or_else(|| std::io::Error::other("the name has no address"))?;
    let stream = prepared(TcpStream::connect_timeout(&address, LONGEST)?)?;
    Ok((stream, begin.elapsed().as_secs_f64()))
}

/// The same by RFC 1928 without a password, by name.
fn by_socks(target: &Target, socks: SocketAddr) -> std::io::Result<(TcpStream, f64)> {
    let begin = Instant::now();
    let mut stream = prepared(TcpStream::connect_timeout(&socks, LONGEST)?)?;
    stream.write_all(&[5, 1, 0])?;
    stream.read_exact(&mut [0; 2])?;
    let mut request = match target.host.parse::<std::net::Ipv4Addr>() {
        Ok(address) => [&[5, 1, 0, 1][..], &address.octets()].concat(),
        Err(_) => [&[5, 1, 0, 3, target.host.len() as u8][..], target.host.as_bytes()].concat(),
    };
    request.extend(target.port.to_be_bytes());
    stream.write_all(&request)?;
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    if head[1] != 0 {
        // RFC 1928, section 6.
        let why = match head[1] {
            2 => {
                "a file allows no connection there (`destinations` at the terminal, `destinations` and `private` at the hub)"
            }
            3 | 4 => "there is no way to the server, or its name is not found",
            5 => "the server refuses",
            _ => "the proxy refuses",
        };
        let help = if matches!(head[1], 3 | 4) { format!("; {WHAT_TO_WRITE}") } else { String::new() };
        return Err(std::io::Error::other(format!("{why}{help}")));
    }
    let rest = if head[3] == 4 { 18 } else { 6 };
    stream.read_exact(&mut [0; 18][..rest])?;
    Ok((stream, begin.elapsed().as_secs_f64()))
}

/// Bytes, status line, and seconds to the last byte, with those that the connection took.
fn load(target: &Target, mut stream: TcpStream, took: f64) -> std::io::Result<(u64, String, f64)> {
    let begin = Instant::now();
    let Target { host, path, .. } = target;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: longhaul-pep\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let (mut bytes, mut first, mut room) = (0, vec![], vec![0; 64 << 10]);
    while bytes < MOST && begin.elapsed() < LONGEST {
        match stream.read(&mut room)? {
            0 => break,
            n => {
                bytes += n as u64;
                first.extend(room[..n].iter().take(100_usize.saturating_sub(first.len())));
            }
        }
    }
    let status = String::from_utf8_lossy(&first).lines().next().unwrap_or_default().to_string();
    if bytes == 0 {
        return Err(std::io::Error::other("the server sends nothing"));
    }
    Ok((bytes, status, took + begin.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_past_the_tunnel_is_no_trial() {
        let own: SocketAddr = "127.0.0.1:40000".parse().unwrap();
        let found = |flows: Value, reasons: &[&str]| {
            past_the_tunnel(own, &flows, || Ok(json!({ "reasons": reasons }))).unwrap()
        };
        let flow = |onward: &str| json!([{ "client": "127.0.0.1:40000", "onward": onward }]);
        assert_eq!(found(flow("tunnel"), &[]), None);
        assert_eq!(
            found(flow("direct"), &["the tunnel is down"]).unwrap(),
            "not through the tunnel: the tunnel is down"
        );
        assert!(found(flow("direct"), &[]).unwrap().starts_with("not through the tunnel: "));
        assert!(found(json!([]), &[]).unwrap().contains("the daemon that runs"));
    }

    #[test]
    fn addresses_are_read_strictly() {
        let found = target("http://10.82.0.2:8000/file?x=1").unwrap();
        assert_eq!(found, Target { host: "10.82.0.2".into(), port: 8000, path: "/file?x=1".into() });
        assert_eq!(target(" http://example.org ").unwrap().path, "/");
        for url in [
            "https://example.org/",
            "http://",
            "http://a b/",
            "http://a:x/",
            "http://a\r\nX: y/",
            "file:///etc/passwd",
        ] {
            assert!(target(url).is_err(), "{url}");
        }
    }

    #[test]
    fn without_an_address_there_is_what_to_write() {
        for url in ["", "  "] {
            let why = target(url).unwrap_err().to_string();
            assert!(why.contains("no address: ") && why.contains("python3 -m http.server 8000"), "{why}");
        }
    }

    /// A proxy without a way to any server, as a hub in a network of its own is.
    #[test]
    fn a_server_that_is_not_reached_is_answered_with_what_to_write() {
        let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = proxy.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = proxy.accept().unwrap();
            stream.read_exact(&mut [0; 3]).unwrap();
            stream.write_all(&[5, 0]).unwrap();
            stream.read_exact(&mut [0; 10]).unwrap();
            stream.write_all(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        });
        let why = by_socks(&target("http://198.51.100.1/").unwrap(), at).unwrap_err().to_string();
        assert!(
            why.starts_with("there is no way to the server") && why.contains("http://ADDRESS:8000/FILE"),
            "{why}"
        );
    }
}
