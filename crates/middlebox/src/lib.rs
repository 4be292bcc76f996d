//! What the network does to TCP: performance enhancing proxies (RFC 3135) and their like, as state machines without clock
//! and sockets (sans-IO). The same object is a node of a simulation and a stage for real packets.
//!
//! A [`Middlebox`] receives the packets that pass its node in both directions. The world around it turns addresses into numbers
//! of connections, hands it packets and the time, and sends the packets that it returns.

pub mod ack_compaction;
pub mod ack_filter;
mod base;
mod cache;
mod carrier;
mod data;
pub mod hop;
mod levels;
mod middlebox;
pub mod mss_clamp;
mod nodes;
mod outbox;
pub mod paced;
pub mod premature_ack;
pub mod snoop;
mod sparse;
pub mod split;
pub mod throttle;
mod timers;
mod waiting;

pub use ack_filter::AckFilter;
pub use base::Base;
pub use cache::LocalRecovery;
pub use carrier::{Buffers, Carrier, Payload, Streams};
pub use data::{Data, Length};
pub use hop::HopNode;
pub use levels::{Gauge, Levels};
pub use middlebox::{
    Body, Departure, Direction, Established, Event, KnownEnd, Middlebox, OwnConnection, Passing, QueueState,
    Verdict,
};
pub use mss_clamp::MssClamp;
pub use nodes::{Account, ByNumber, Directory, Ends, Node, Note, TwoNodes};
pub use premature_ack::PrematureAck;
pub use snoop::Snoop;
pub use sparse::Sparse;
pub use split::{SingleSplit, SplitNode};
pub use throttle::Throttle;
