//! A TCP connection as a state machine that knows neither clock nor network (sans-IO).
//!
//! The owner calls [`Connection::handle_segment`] for what arrives and [`Connection::handle_timeout`] when
//! [`Connection::poll_timeout`] is due, and after each of them (and after `write`, `read`, `close`) sends what
//! [`Connection::poll_transmit`] gives until it gives nothing. Payload is only a length: stream offsets are 64 bits.

mod config;
mod connection;
mod delivery;
mod event;
mod handshake;
mod intervals;
mod limits;
mod pacing;
mod receiver;
mod rtt;
mod scoreboard;
mod send_log;
mod sender;
mod state;
mod stats;

pub use config::{Config, InitialWindow, Keepalive, Reading, Recovery, RttSampling};
pub use connection::{Connection, reset_for};
pub use event::{Event, Ports, Transmit};
pub use limits::{Limit, LimitedTime};
pub use state::State;
pub use stats::Stats;
