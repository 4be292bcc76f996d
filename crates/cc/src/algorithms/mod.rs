//! Congestion avoidance rules, one file each, and policies that need no slow start.

pub mod bbr;
pub mod compound;
pub mod cubic;
pub mod fixed;
pub mod highspeed;
pub mod reno;
pub mod vegas;
pub mod yeah;
