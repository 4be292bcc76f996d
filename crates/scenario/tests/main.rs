//! All tests of scenario files, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod common;
mod flows;
mod inheritance;
mod large;
mod linux;
mod measured;
mod queue_limits;
mod refusals;
mod routes;
mod scripts;
mod shorthand;
mod thin_link_refusals;
mod traces;
