//! The hop: the transport between the two nodes of an accelerator over satellite links. It carries the bytes of many TCP
//! connections over one warm QUIC connection, each as a stream.
//!
//! Sans-IO: [`Node`] has no clock, no socket and no thread. Its owner hands it datagrams and time, and takes datagrams and
//! events. After each input call [`Node::poll_transmit`] until it gives nothing more, then [`Node::poll_event`] until there is
//! none; what the owner does with an event is an input too. Then wait until [`Node::poll_timeout`].
//!
//! ```
//! use longhaul_hop::{Config, Node, Role};
//! use longhaul_units::Instant;
//! let now = Instant::ZERO;
//! let role = Role::Terminal { hub: "192.0.2.1:4433".parse()? };
//! let mut terminal = Node::new(Config::new(role), [1; 32], now)?;
//! let mut buffer = vec![];
//! let first = terminal.poll_transmit(now, &mut buffer).expect("the handshake's first datagram");
//! assert!(buffer.len() == first.len && first.len >= 1200); // RFC 9000 section 14.1
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod carrier;
mod coding;
mod config;
pub mod controller;
mod credit;
mod flow;
mod gate;
mod node;
mod parity;
mod peer;
#[doc(hidden)]
pub mod places;
#[doc(hidden)]
pub mod pool;
mod reassembly;
mod scheduler;
mod shares;
mod types;
#[doc(hidden)]
pub mod wire;

pub use carrier::Carrier;
pub use config::{Coding, Config, ConfigError, Rates, Remembered, Role, Session, Share};
pub use credit::FLOOR;
#[cfg(feature = "tls")]
pub use longhaul_quic::tls;
pub use node::{Node, TurnedAway};
pub use pool::{LaneId, Pool, PoolConfig};
pub use shares::Portion;
pub use types::{Bounds, Event, FlowId, Ledger, Open, PeerId, PeerStats, Refusal, ResetCode, Transmit};
