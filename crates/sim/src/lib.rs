//! The virtual-time world: a scenario becomes a network of links and endpoints, runs, and leaves a result.
//!
//! [`load`] reads a scenario, [`run`] runs it. The same scenario and seed give the same bytes on every machine.

mod datagram;
mod endpoint;
mod facts;
mod freight;
mod line;
mod link_watch;
mod middleboxes;
mod monitor;
mod packet;
mod path_use;
mod quic;
mod quic_serving;
mod recorder;
mod reused;
mod run;
mod sampling;
mod serving;
mod streams;
mod totals;
mod udp;
mod world;

pub use longhaul_cc::closed_form;
pub use longhaul_results::{Summary, Table, Tables, Values, WriteError, WriteTable};
pub use longhaul_scenario::{
    Network, NumberTable, ReadTable, Scenario, ScenarioError, VERSION, load, load_or_all_errors, load_with,
    read_measurement, read_outcomes, resolved_json, resolved_toml, resolved_tomls, run_id, run_ids,
    schema_json,
};
pub use run::{
    Outcome, Output, Progress, ProgressCallback, RunError, RunOptions, registry_json, run, simulate,
    warnings_of_settings,
};

/// Digest of the simulator's sources and of the versions of its dependencies: the same with every compiler and profile,
/// another one as soon as a line changes that could change a result. It is written into `timing.json`.
pub const PROGRAM: &str = env!("LONGHAUL_PROGRAM");

/// The templates of docs/extending.md, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/extending.md")]
pub struct Extending;
