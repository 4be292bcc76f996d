//! The custom paced protocol that ends the asymmetric satellite thesis (Coetzee 1999, section 8.7 and figure F8.5), which outlines it and
//! leaves formats and rates open. The rate towards the client is limited by the satellite alone: ACKs do not clock it.
//!
//! ```text
//!  server == TCP == surrogate sender ==== datagrams, paced ====> pseudo proxy == TCP == client
//!                       (hub)         <--- control connection,      (client's side)
//!                                          TCP on the thin line
//! ```
//!
//! * [`datagram`]: what crosses the satellite, and [`erasure`]: parities across datagrams, if configured
//! * [`message`]: what crosses the thin line: reports of what has come, data and openings of the client's hosts
//! * [`sender`]: numbers, pace, delay loop; [`receiver`]: order, reports. Both are independent of TCP and of middleboxes, and carry bytes as
//!   well as lengths: the same machines run on real packets.
//! * [`Surrogate`] and [`PseudoProxy`]: the two nodes, with the connections to hosts around them; [`paced_hop`] puts both into one world
//!
//! **Keeps:** every byte once and in order to the right host; half-close; resets; flow control: a slow host's data waits at the pseudo
//! proxy up to `buffer`, then at the hub in the receive buffer of the other host's connection, whose window closes.
//!
//! **Breaks:** what a split breaks: ACKs, handshake and FIN are answered before the other host has them, and what has been acknowledged
//! shares the fate of the two nodes. Where nothing arrives from the pseudo proxy for a long time, it ends all connections.
//!
//! After [`fail`](crate::Middlebox::fail) every connection is unknown: hosts that send are answered with a reset.

mod client;
pub mod datagram;
pub mod erasure;
mod half;
mod hub;
mod losses;
pub mod message;
pub mod receiver;
pub mod sender;
#[cfg(test)]
mod tests;

pub use client::PseudoProxy;
pub use half::Control;
pub use hub::Surrogate;

use crate::Payload;
use crate::base::counters;
use crate::nodes::{ByNumber, TwoNodes};
use crate::split::Plans;
use longhaul_units::{ConnectionId, Duration, Random};

/// Everything that can be set.
#[derive(Clone)]
pub struct Settings {
    /// The surrogate.
    pub sender: sender::Settings,
    /// The pseudo proxy.
    pub receiver: receiver::Settings,
    /// The connection between them.
    pub control: Control,
    /// The hub ends a session whose pseudo proxy has been silent for so long; a third of it in silence, and the proxy reports that it is
    /// alive. `None`: never.
    pub silence: Option<Duration>,
    /// Number of the datagrams' tunnel among the connections; the control connection has the next one.
    pub first_number: ConnectionId,
}

counters! {
    /// What both nodes count, each its own.
    struct Counts {
        lost_acknowledged_bytes,
        paced_items,
        paced_lost,
        paced_expired,
        paced_parities,
        paced_probes,
        paced_restored,
        paced_duplicates,
        paced_tossed,
        reports,
        control_bytes,
        sessions_ended,
    }
}

/// Both nodes in one world. `randoms` are for initial sequence numbers, and the first for the datagrams' key.
pub fn paced_hop<P: Payload>(nodes: [(Plans, Settings); 2], randoms: [Random; 2]) -> TwoNodes<P> {
    let ([hub, client], [mut first, second]) = (nodes, randoms);
    let key = (u128::from(first.bits()) << 64 | u128::from(first.bits())).to_be_bytes();
    let hub = Surrogate::new(hub.0, &hub.1, key, Box::new(ByNumber), first);
    let client = PseudoProxy::new(client.0, &client.1, key, Box::new(ByNumber), second);
    TwoNodes::of_proxy([Box::new(hub), Box::new(client)], true)
}
