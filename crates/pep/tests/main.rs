//! All tests of the accelerator, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod astray;
mod bed;
mod carriers;
mod classes;
mod firewalls;
mod fleets;
mod hubs;
mod integrity;
mod names;
mod operation;
mod page;
mod resources;
mod routers;
mod shell;
mod sizing;
mod split;
mod two_nodes;
