//! What applications send, and when. No clock and no connection: a world plays them.
//!
//! [`AppSpec`] is the list of applications, [`App`] is one at work ([`app`] has the traits). Traces of packets, frames or requests are
//! read from files and played again and again: [`Trace::read`] reads ns-2's binary traces, CSV and web servers' access logs,
//! [`Trace::of_columns`] takes a table of numbers. [`VideoModel`] describes a synthetic film, and [`Film`] is one.

mod access_log;
pub mod app;
pub mod apps;
mod call;
mod datagrams;
mod draw;
mod ns;
mod qoe;
mod reading;
mod table;
mod trace;
mod video;

pub use app::{App, Application, Base, ENDLESS, End, Ending, Parameters, Setup, Stream, Streams, Timing};
pub use apps::{AppSpec, Bulk, Cbr, Keystrokes, Messages, OnOff, Request, TraceBegin, TraceSpec, Web};
pub use call::{Call, Codec, Playout};
pub use datagrams::{Datagrams, Reception, Written};
pub use draw::{Count, Draw, Quantity, Volume};
pub use longhaul_units::Side;
pub use qoe::{Hearing, Played, Qoe, Viewing};
pub use table::NumberTable;
pub use trace::{Format, Record, Trace, TraceError};
pub use video::{Film, FrameSizes, VideoModel};
