//! Physical quantities with their unit in the type: [`Instant`], [`Duration`], [`Rate`], [`Size`].
//!
//! Everything is an integer (nanoseconds, bits per second, bytes), so that a simulation is exact and the same
//! on every machine. Text such as `"50 Mbit/s"` parses and prints without loss; a number without a unit is refused.
//! Prefixes follow SI (`k` = 1000) and IEC 80000-13 (`Ki` = 1024).
//!
//! Beside them stands what every world needs: streams of random numbers ([`Random`]), histograms of durations ([`Histogram`]), and
//! numbers of flows, links and the like ([`Id`]). The feature `serde` (on by default) reads and writes all of them.

pub mod counters;
mod histogram;
mod ids;
mod ip;
mod limit;
mod probability;
mod queue_limit;
mod random;
#[cfg(feature = "serde")]
pub mod ranges;
mod rate;
mod readable;
mod settings;
mod size;
mod text;
mod time;

pub use counters::{Count, Extreme};
pub use histogram::Histogram;
pub use ids::{
    ConnectionId, DeclaredId, EndpointId, FlowId, GroupId, HostId, Id, IdVec, LinkId, MiddleboxId, NodeId,
    Side, ids,
};
pub use ip::{Dscp, Ecn};
pub use limit::Limit;
pub use probability::Probability;
pub use queue_limit::QueueLimit;
pub use random::Random;
pub use rate::Rate;
pub use readable::{Figure, apart, readable};
pub use size::Size;
pub use text::UnitError;
pub use time::{Duration, Instant};
