//! All tests of segments, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod common;
mod fuzz;
mod messages;
mod random;
mod robust_fuzz;
mod wire;
