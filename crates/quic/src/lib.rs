//! QUIC (RFC 9000, 9001, 9002) under Longhaul's clock, random streams and congestion control: [quinn-proto], a state machine
//! without sockets and clocks, driven by the time of a run. What is simulated is the code that runs on real sockets.
//!
//! * [`Endpoint`] is driven like the other sans-IO parts: `handle_datagram`, `handle_timeout`, `poll_transmit`, `poll_event`,
//!   `poll_timeout`.
//! * Time is a base instant plus the run's nanoseconds; random numbers follow from a seed. Nothing else enters, so the same
//!   inputs give the same datagrams, byte by byte.
//! * The handshake's messages and the packets' overheads have the sizes of TLS 1.3 with AES-128-GCM, but nothing is encrypted
//!   ([`Credentials`]).
//! * Congestion control is a policy of crate `cc`, or one of quinn-proto's own ([`CongestionChoice`]).
//!
//! [quinn-proto]: https://docs.rs/quinn-proto
//!
//! ```
//! use longhaul_quic::{Endpoint, Event, Settings};
//! use longhaul_units::Instant;
//! let base = std::time::Instant::now();
//! let mut client = Endpoint::client(Settings::default(), [1; 32], base)?;
//! let now = Instant::ZERO;
//! let connection = client.connect(now, "10.0.0.2:443".parse()?, "server", None)?;
//! let hello = client.poll_transmit(now).expect("a ClientHello");
//! assert_eq!(hello.bytes.len(), 1200); // RFC 9000 section 14.1
//! assert!(!client.is_connected(connection));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bundle;
mod clock;
mod congestion;
mod connection;
mod endpoint;
mod frames;
mod null;
mod observe;
mod order;
mod qlog;
mod settings;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "tls")]
pub mod tls_lab;
mod trace;
mod warnings;

pub use bundle::{Bundle, Done, FlowStreams, Known, Member, SERVER_NAME, Sample, Told, rehearse, seed_of};
pub use clock::Clock;
pub use congestion::Measured;
pub use endpoint::{ConnectionKey, Datagram, Endpoint, Event, StreamCounts, number};
pub use frames::Content;
pub use longhaul_cc::careful_resume::{CarefulResume, Phase, Rebuild, Remembered};
pub use longhaul_units::Ecn;
pub use null::{Credentials, Ticket, reset_key};
pub use observe::Observer;
pub use quinn_proto::{Dir, Side, StreamId};
pub use settings::{AckFrequency, CongestionChoice, MakePolicy, Session, Settings, SettingsError};
pub use trace::{TraceKind, TraceRow};
pub use warnings::{Incidents, explained};
