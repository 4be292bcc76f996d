//! The far end at work: its socket, its clock, and what it states.

use super::server::{Datagram, Limits, Server};
use super::socket::Socket;
use crate::Error;
use crate::clock::Clock;
use longhaul_units::{Duration, Instant, Rate};
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

/// How long it sleeps at most, so that a signal is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// Counts are stated this often, if they have changed.
const REPORT: Duration = Duration::from_secs(10);

/// How to serve.
pub struct Options {
    /// Where to listen.
    pub listen: Option<SocketAddr>,
    /// The port, without an address.
    pub port: u16,
    /// The shared secret.
    pub secret: Vec<u8>,
    /// The fastest flow; `None` for none.
    pub rate: Option<Rate>,
    /// Bytes of the flows of one recording.
    pub data: u64,
    /// What there is to know.
    pub note: Option<fn(&str)>,
}

/// Serves until `stop` is set.
///
/// # Errors
/// What the system refuses.
pub fn serve(options: &Options, stop: &AtomicBool) -> Result<(), Error> {
    let clock = Clock::start();
    let socket = bound(options)?;
    let mut socket = Socket::new(socket, clock)?;
    let note = |text: String| {
        if let Some(note) = options.note {
            note(&text);
        }
    };
    let flows = match options.rate {
        Some(rate) => format!("flows of up to {rate} and {} for each recording", self::bytes(options.data)),
        None => "no flows, since --rate-at-most is not given".to_string(),
    };
    let at = socket.local().map_or(String::new(), |at| at.to_string());
    note(format!("serves recordings at {at} (UDP) to whoever has the secret; {flows}; Ctrl-C ends it"));
    let limits = Limits { rate: options.rate, data: options.data };
    let mut server = Server::new(&options.secret, super::random()?, limits);
    let mut buffer = vec![0; 2048];
    let (mut stated, mut next_report) = ((0, 0, 0), Instant::ZERO + REPORT);
    while !stop.load(Ordering::Relaxed) {
        let mut more = true;
        while more {
            more = false;
            while let Some(received) = socket.receive(&mut buffer) {
                let bytes = &buffer[..received.len];
                let of_day = clock.time_of_day().as_nanos() + received.at.as_nanos();
                let datagram = Datagram { from: received.from, bytes, at: received.at, of_day };
                if let Some(answer) = server.handle(clock.now(), datagram) {
                    socket.send(received.from, &answer);
                }
            }
            if let Some((to, bytes)) = server.departing(clock.now()) {
                socket.send(to, &bytes);
                more = true;
            }
        }
        let now = clock.now();
        if now >= next_report {
            next_report = now + REPORT;
            let counts = (server.begun, server.strangers, server.sent);
            if counts != stated {
                stated = counts;
                note(format!(
                    "{} recordings have begun, {} at work; flows have sent {}; {} datagrams without the secret got no answer",
                    counts.0,
                    server.open(),
                    self::bytes(counts.2),
                    counts.1
                ));
            }
        }
        let due = server.due().unwrap_or(Instant::FAR_FUTURE);
        socket.wait(due.min(now + LONGEST_SLEEP));
    }
    Ok(())
}

/// A count of bytes with a unit.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{:.0} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

fn bound(options: &Options) -> Result<UdpSocket, Error> {
    let all = SocketAddr::from((Ipv6Addr::UNSPECIFIED, options.port));
    // IPv6 sockets take IPv4 too, where there is IPv6.
    let v4_only = SocketAddr::from(([0, 0, 0, 0], options.port));
    let at = options.listen.unwrap_or(all);
    let socket = match UdpSocket::bind(at) {
        Err(_) if options.listen.is_none() => UdpSocket::bind(v4_only),
        bound => bound,
    };
    socket.map_err(|why| Error::system(format!("listen at {at} (UDP)"), why))
}
