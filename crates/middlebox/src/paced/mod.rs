//! The custom paced protocol that ends the asymmetric satellite thesis (Coetzee 1999, section 8.7 and figure F8.5), which outlines it and
//! leaves formats and rates open. The rate towards the client is limited by the satellite alone: ACKs do not clock it.
//!
//! ```text
//!  server == TCP == surrogate sender ==== datagrams, paced ====> pseudo proxy == TCP == client
//!                       (hub)         <--- control connection,      (client's side)
//!                                          TCP on the thin line
//! ```
//!
//! * [`datagram`]: what crosses the satellite, and [`erasure`]: parities across datagrams, if wanted
//! * [`message`]: what crosses the thin line: reports of what has come, data and openings of the client's hosts
//! * [`sender`]: numbers, pace, delay loop; [`receiver`]: order, reports. Both know nothing of TCP or of middleboxes, and carry bytes as
//!   well as lengths: the same machines run on real packets.
//! * [`PacedHop`]: both, with the connections to hosts around them
//!
//! **Keeps:** every byte once and in order to the right host; half-close; resets; flow control: a slow host's data waits at the pseudo
//! proxy up to `buffer`, then at the hub in the receive buffer of the other host's connection, whose window closes.
//!
//! **Breaks:** what a split breaks: ACKs, handshake and FIN are answered before the other host has them, and what has been acknowledged
//! shares the fate of the two nodes. Where the hub hears nothing from the pseudo proxy for a long time, it ends all connections.
//!
//! After [`fail`](crate::Middlebox::fail) every connection is unknown: hosts that send are answered with a reset.

pub mod datagram;
pub mod erasure;
mod hop;
pub mod message;
pub mod receiver;
pub mod sender;
#[cfg(test)]
mod tests;

pub use hop::{Control, PacedHop, Settings};
