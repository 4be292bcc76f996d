//! All tests of the hop, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod common;
mod portions;
mod tls;
mod transfer;
mod versions;
