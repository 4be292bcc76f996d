//! A TCP connection as a state machine without clock and network (sans-IO).
//!
//! The owner calls [`Connection::handle_segment`] for what arrives and [`Connection::handle_timeout`] when
//! [`Connection::poll_timeout`] is due, and after each of them (and after `write`, `read`, `close`) sends what
//! [`Connection::poll_transmit`] gives until it gives nothing. Payload is only a length: stream offsets are 64 bits.
//!
//! ```
//! use longhaul_cc::{Ack, Congestion, CongestionControl};
//! use longhaul_segment::SeqNumber;
//! use longhaul_tcp::{Config, Connection, Ports, State};
//! use longhaul_units::{Duration, Instant};
//!
//! struct TenSegments;
//! impl CongestionControl for TenSegments {
//!     fn on_ack(&mut self, _: &Ack) {}
//!     fn on_congestion(&mut self, _: &Congestion) {}
//!     fn window(&self) -> u64 { 14_600 }
//!     fn ssthresh(&self) -> u64 { 0 }
//! }
//!
//! let ports = |local, remote| Ports { local, remote };
//! let mut client = Connection::connect(Config::default(), Box::new(TenSegments), SeqNumber(7), ports(4000, 80));
//! let mut server = Connection::listen(Config::default(), Box::new(TenSegments), SeqNumber(9), ports(80, 4000));
//! client.write(1_000_000);
//! let mut now = Instant::ZERO;
//! while client.acked_bytes() < 1_000_000 {
//!     now += Duration::from_millis(1);
//!     client.handle_timeout(now);
//!     server.handle_timeout(now);
//!     while let Some(out) = client.poll_transmit(now) {
//!         server.handle_segment(now, &out.segment, out.ecn);
//!         while let Some(back) = server.poll_transmit(now) {
//!             client.handle_segment(now, &back.segment, back.ecn);
//!         }
//!     }
//! }
//! assert_eq!(server.received_bytes(), 1_000_000);
//! assert_eq!(server.state(), State::Established);
//! ```

mod accurate_ecn;
mod ack_congestion;
mod challenge;
mod config;
mod connection;
mod delivery;
mod event;
mod handshake;
mod intervals;
mod limits;
mod pacing;
mod probing;
mod prr;
mod rack;
mod receiver;
mod right_sizing;
mod rtt;
mod scoreboard;
mod send_buffer;
mod send_log;
mod sender;
mod state;
mod stats;
mod ticks;
mod transmissions;
mod undo;

pub use accurate_ecn::EcnDelivered;
pub use config::{Config, Keepalive, Reading, Recovery, RttSampling};
pub use connection::{Connection, reset_for};
pub use event::{Departure, Event, Ports, Transmit};
pub use limits::{Limit, LimitClock, LimitedTime};
pub use longhaul_cc::InitialWindow;
pub use prr::ReductionBound;
pub use right_sizing::Autotuning;
pub use rtt::RttEstimator;
pub use state::{CongestionState, State};
pub use stats::Stats;
pub use undo::SpuriousDetection;
