//! What a packet meets on its way: queues, transmitters, propagation, loss and outages.
//!
//! Everything here is a state machine without a clock, generic over the packet: the same link carries a simulated
//! segment in virtual time and a real frame on the wall clock.

mod backlog;
pub mod histogram;
pub mod link;
pub mod loss;
pub mod packet;
pub mod queue;
pub mod random;
pub mod schedule;
pub mod serial;

pub use histogram::Histogram;
pub use link::{DropCause, Fate, Link, LinkConfig, LinkStats, Reordering};
pub use loss::{LossModel, LossPlace, LossSpec};
pub use packet::Packet;
pub use queue::QueueSpec;
pub use random::Random;
pub use schedule::{Change, Outage, OutageMode};
pub use serial::{Framing, LineCoder, RohcSpec, SerialSpec, VjSpec};
