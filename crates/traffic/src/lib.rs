//! What applications send: traces of packets, frames or requests that are read from files and played again and again, and a
//! model of compressed video. No clock and no connection: who plays them says when and where.
//!
//! [`Trace::read`] reads ns-2's binary traces, CSV and web servers' access logs, [`Trace::of_columns`] takes a table of numbers; [`VideoModel`] says what a synthetic film looks like, and
//! [`Film`] is one.

mod access_log;
mod ns;
mod table;
mod trace;
mod video;

pub use table::NumberTable;
pub use trace::{Format, Record, Trace, TraceError};
pub use video::{Film, FrameSizes, VideoModel};
