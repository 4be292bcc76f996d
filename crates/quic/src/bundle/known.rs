//! What a client remembers of earlier connections to its server.

use super::SERVER_NAME;
use crate::endpoint::Endpoint;
use crate::null::Ticket;
use crate::settings::Settings;
use longhaul_units::Instant;
use std::net::SocketAddr;

/// What a client remembers of its server when it opens the connection.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// A ticket of an earlier connection; sessions with TLS keep theirs themselves.
    pub ticket: Option<Ticket>,
    /// Early data may be sent.
    pub early_data: bool,
}

/// What a client remembers of an earlier connection to the same server, over a path without delay.
pub fn rehearse(
    settings: [Settings; 2],
    seed: [u8; 32],
    base: std::time::Instant,
    addresses: [SocketAddr; 2],
    early_data: bool,
) -> Option<Known> {
    let [client, server] = settings;
    let mut ends = [
        Endpoint::client(client, seed, base).ok()?,
        Endpoint::server(server, seed.map(|byte| !byte), base).ok()?,
    ];
    let connection = ends[0].connect(Instant::ZERO, addresses[1], SERVER_NAME, None).ok()?;
    // Tickets of TLS come after the handshake: until nobody has anything more to send.
    loop {
        let mut sent = false;
        for from in 0..2 {
            while let Some(datagram) = ends[from].poll_transmit(Instant::ZERO) {
                sent = true;
                let bytes = bytes::BytesMut::from(datagram.bytes.as_slice());
                ends[1 - from].handle_datagram(Instant::ZERO, addresses[from], crate::Ecn::NotEct, bytes);
            }
        }
        if !sent {
            break;
        }
    }
    if !ends[0].is_connected(connection) {
        return None;
    }
    Some(Known { ticket: ends[0].ticket(connection, early_data), early_data })
}
