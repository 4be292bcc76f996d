//! All tests of the emulator, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod at_work;
mod bed;
mod bridges;
mod captures;
mod endings;
mod faults;
mod linux_defaults;
mod mahimahi;
mod manual;
mod middleboxes;
mod outside;
mod quic;
mod real;
mod recordings;
mod surroundings;
mod udp;
mod world;
