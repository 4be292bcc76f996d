//! The page: what a node does, for its operator's browser. It is served by a process of its own beside the daemon ([`serve`]), so
//! that the daemon, which meets the network, has no web server. That process asks the daemon over the control socket, as the
//! commands do.
//!
//! The same page sets a machine up ([`set_up`]): then there is no daemon yet, and the process is one that an operator has started.
//!
//! Pure parts: requests and answers ([`request`]), what is answered to whom ([`app`]), the history, hosts and saved time that the
//! daemon keeps. From answers to a file: [`setup`]. [`server`] has the sockets.

pub mod app;
mod desk;
pub mod history;
pub mod hosts;
mod machine;
pub(crate) mod reading;
pub mod request;
pub mod saved;
mod serve;
pub mod server;
pub mod setup;
mod token;
mod trial;

pub(crate) use serve::{Beside, start};
pub use serve::{address, serve, set_up};
