//! An interpreter for packetdrill's script language that runs scripts against the sans-IO connection, in virtual time.
//!
//! A script states what an application does, which packets arrive, and which packets must leave and when. There is no
//! network and no kernel here: the part of the host that a script uses (sockets, the clock) is played by this crate, and TCP is
//! [`longhaul_tcp::Connection`] with the settings of `variant = "linux"`. Scripts are read from folders that the user names.

mod call;
mod host;
mod options;
mod packet;
mod parser;
mod python;
pub mod report;
mod run;
mod script;
mod shell;
mod tcp_info;

pub use run::{Outcome, Verdict, run_file, run_text};
