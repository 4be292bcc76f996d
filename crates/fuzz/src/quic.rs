//! A client and a server of QUIC, whose random numbers are the same each time, so that recorded datagrams reach a connection.

use bytes::BytesMut;
use longhaul_quic::{Dir, Ecn, Endpoint, Event, SERVER_NAME, Settings, Side};
use longhaul_units::{Duration, Instant};
use std::net::SocketAddr;
use std::sync::OnceLock;

/// Datagrams of a recorded exchange, in each direction.
const RECORDED: usize = 4;
/// Time between two datagrams.
const STEP: Duration = Duration::from_millis(20);
/// Time that passes in the end, longer than the idle timeout.
const REST: Duration = Duration::from_secs(40);

fn address(side: Side) -> SocketAddr {
    let (host, port) = if side.is_client() { (1, 40_000) } else { (2, 443) };
    ([10, 0, 0, host], port).into()
}

/// An endpoint; a client opens a connection at once.
fn endpoint(side: Side) -> Endpoint {
    // Time counts from any instant: one for all inputs.
    static BASE: OnceLock<std::time::Instant> = OnceLock::new();
    let base = *BASE.get_or_init(std::time::Instant::now);
    if !side.is_client() {
        return Endpoint::server(Settings::default(), [2; 32], base).expect("the settings can be");
    }
    let mut client = Endpoint::client(Settings::default(), [1; 32], base).expect("the settings can be");
    client
        .connect(Instant::ZERO, address(Side::Server), SERVER_NAME, None)
        .expect("the address is a server's");
    client
}

/// Sends what the endpoint has to send; a client writes as soon as it can, a server answers each stream.
fn work(endpoint: &mut Endpoint, now: Instant) -> Vec<Vec<u8>> {
    while let Some((key, event)) = endpoint.poll_event() {
        let stream = match event {
            Event::Connected => endpoint.open(key),
            // Nobody writes on a stream that leads to him.
            Event::Opened(stream) => Some(stream).filter(|stream| stream.dir() == Dir::Bi),
            _ => None,
        };
        if let Some(stream) = stream {
            endpoint.write(key, stream, 300);
            endpoint.finish(key, stream);
        }
    }
    std::iter::from_fn(|| endpoint.poll_transmit(now)).map(|datagram| datagram.bytes).collect()
}

/// Gives the datagrams of the input to an endpoint, one after the other, and lets its timers run out. True if a connection came about.
pub fn take(side: Side, input: &[u8]) -> bool {
    let mut endpoint = endpoint(side);
    let mut now = Instant::ZERO;
    work(&mut endpoint, now);
    for datagram in datagrams(input) {
        now += STEP;
        endpoint.handle_datagram(now, address(!side), Ecn::Ect0, BytesMut::from(datagram));
        work(&mut endpoint, now);
    }
    let connected = endpoint.connections().any(|key| endpoint.is_connected(key));
    let end = now + REST;
    while let Some(due) = endpoint.poll_timeout().filter(|due| *due <= end) {
        endpoint.handle_timeout(due);
        work(&mut endpoint, due);
    }
    connected
}

/// The datagrams of an input: each has its length before it, in two bytes.
fn datagrams(mut input: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = input.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (datagram, rest) = rest.split_at(length);
        input = rest;
        Some(datagram)
    })
}

/// What an endpoint receives in a connection over which both sides send something, in the form of [`datagrams`].
pub fn recorded(side: Side) -> Vec<u8> {
    let (mut client, mut server) = (endpoint(Side::Client), endpoint(Side::Server));
    let mut input = vec![];
    let mut now = Instant::ZERO;
    for _ in 0..RECORDED {
        for from in [Side::Client, Side::Server] {
            let (sender, receiver) = match from {
                Side::Client => (&mut client, &mut server),
                Side::Server => (&mut server, &mut client),
            };
            for datagram in work(sender, now) {
                now += STEP;
                if from != side {
                    input.extend_from_slice(&(datagram.len() as u16).to_be_bytes());
                    input.extend_from_slice(&datagram);
                }
                receiver.handle_datagram(now, address(from), Ecn::Ect0, BytesMut::from(&datagram[..]));
            }
        }
    }
    input
}
