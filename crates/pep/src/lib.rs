//! `longhaul-pep`: an accelerator of TCP connections over satellite links and other long, fat or lossy paths.
//!
//! Pure parts: configuration ([`config`], [`load`]), what is done to the network ([`plan`]), the languages of proxies
//! ([`socks`], [`http`]), the state of a connection ([`flow`]). The rest is IO around them: `node` takes connections in,
//! `relay` carries their bytes between two legs, `daemon` starts and stops.

mod allotment;
pub mod bench;
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "no_calls.rs")]
mod calls;
pub mod capture;
mod choice;
mod claim;
pub mod class;
mod classes;
pub mod config;
mod confirm;
pub mod control;
pub mod daemon;
#[cfg(feature = "demo")]
pub mod demo;
mod descriptors;
pub mod destinations;
mod diagnosis;
pub mod doctor;
pub mod dscp;
mod error;
mod eyeballs;
mod failover;
mod far;
mod faster;
pub mod firewall;
pub mod flow;
mod grants;
mod greeting;
pub mod helper;
pub mod http;
mod hub;
pub mod hub_name;
mod hubs;
mod icmp;
pub mod journal;
pub mod keys;
mod lanes;
mod leg;
mod listen;
pub mod load;
mod metrics;
mod names;
mod neighbours;
mod netlink;
mod node;
pub mod opening;
mod outward;
pub mod page;
mod passage;
mod pipe;
pub mod plan;

pub mod pool;
pub mod prefix;
mod probe;
mod relay;
mod reload;
mod report;
#[cfg(feature = "demo")]
pub mod rig;
mod room;
mod sandbox;
mod silence;
pub mod sizing;
pub mod socks;
mod start;
#[doc(hidden)]
pub mod state;
mod sys;
pub mod system;
mod table;
mod timer;
mod tunnel;
mod udp;
mod verify;
mod volumes;

pub use error::Error;
pub use start::own_key_as_peer;
