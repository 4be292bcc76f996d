//! All tests of middleboxes, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod anything_goes;
mod common;
mod on_the_wire;
mod over_udp;
