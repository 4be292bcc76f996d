//! Physical quantities with their unit in the type: [`Instant`], [`Duration`], [`Rate`], [`Size`].
//!
//! Everything is an integer (nanoseconds, bits per second, bytes), so that a simulation is exact and the same
//! on every machine. Text such as `"50 Mbit/s"` parses and prints without loss; a number without a unit is refused.
//! Prefixes follow SI (`k` = 1000) and IEC 80000-13 (`Ki` = 1024).
//!
//! Beside them stands what every world needs: streams of random numbers ([`Random`]) and histograms of durations ([`Histogram`]).

pub mod counters;
mod histogram;
mod limit;
mod probability;
mod random;
pub mod ranges;
mod rate;
mod size;
mod text;
mod time;

pub use counters::{Count, Extreme};
pub use histogram::Histogram;
pub use limit::Limit;
pub use probability::Probability;
pub use random::Random;
pub use rate::Rate;
pub use size::Size;
pub use text::UnitError;
pub use time::{Duration, Instant};
