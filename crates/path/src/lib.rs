//! What a packet meets on its way: queues, transmitters, propagation, loss and outages.
//!
//! Everything here is a state machine without a clock, generic over the packet: the same link carries a simulated
//! segment in virtual time and a real frame on the wall clock.
//!
//! The feature `serde` (on by default) reads and writes settings; without it they are set in code.

// What texts leave out has defaults that only reading calls for.
#![cfg_attr(not(feature = "serde"), allow(dead_code))]

pub mod acm;
mod arq;
mod backlog;
pub mod carrier;
mod config;
mod corruption;
mod duplex;
pub mod grants;
pub mod jitter;
pub mod leo;
pub mod link;
pub mod loss;
mod media;
mod overhead;
pub mod packet;
pub mod queue;
pub mod schedule;
pub mod serial;
mod settings;
mod slots;
mod stats;
pub mod trace;
pub mod transmitter;
mod wander;
mod wire;

pub use acm::AcmSpec;
pub use arq::ArqSpec;
pub use carrier::{CarrierSpec, Membership, TerminalSpec};
pub use config::{LinkConfig, Reordering};
pub use corruption::CorruptionSpec;
pub use duplex::{HalfDuplex, HalfDuplexSpec};
pub use grants::{DemandSpec, GrantSettings, Grants};
pub use jitter::JitterSpec;
pub use leo::LeoSpec;
pub use link::{Fate, Link, Scripted};
pub(crate) use longhaul_units::{Histogram, Random};
pub use loss::{LossModel, LossPlace, LossSpec};
pub use media::Media;
pub use overhead::{Cells, OverheadSpec};
pub use packet::{Hosts, Packet};
pub use queue::QueueSpec;
pub use schedule::{Change, Outage, OutageMode, Schedule};
pub use serial::{Framing, LineCoder, RohcSpec, SerialSpec, VjSpec};
pub use slots::SlotsSpec;
pub use stats::{DropCause, LinkStats};
pub use trace::{LinkTrace, Opportunities, Series, TracedRate};
pub use wander::{WanderSpec, least_delay, stopped, wandering_delay, wandering_rate};
