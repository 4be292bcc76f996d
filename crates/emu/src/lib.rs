//! The wall-clock world: real packets of real kernels over the very links and through the very middleboxes that the
//! simulator has. [`world::World`] has no clock: its driver passes the time, [`driver`] that of the wall clock.
//!
//! Hosts are network namespaces with a TUN device each ([`testbed`]); all that is made carries the project's prefix, is
//! registered before it is made, and is removed at the end or by the next start ([`registry`]).

pub mod account;
pub mod addresses;
pub mod bridge;
pub mod capture;
pub mod clock;
mod command;
mod connections;
pub mod control;
pub mod device;
pub mod driver;
pub mod enter;
pub mod error;
mod facts;
mod finished;
mod firewall;
pub mod flows;
pub mod frame;
mod freight;
pub mod icmp;
pub mod internet;
mod inventory;
pub mod kernel;
pub mod lateness;
mod line;
pub mod losses;
pub mod mahimahi;
pub mod moved;
pub mod names;
pub mod namespace;
pub mod netstat;
mod nft;
pub mod other_end;
mod output;
mod own;
pub mod own_run;
pub mod plan;
pub mod priority;
mod prompt;
pub mod quic;
pub mod quic_info;
pub mod record;
pub mod recorder;
pub mod registry;
mod rewrite;
pub mod run;
pub mod shell;
pub mod signals;
mod sockets;
mod stack;
mod stage;
pub mod start;
mod sys;
mod sysctl;
pub mod tcp_info;
pub mod terminal;
pub mod testbed;
pub mod udp;
pub mod unrouted;
pub mod world;

pub use error::Error;
