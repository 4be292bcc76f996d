//! Congestion avoidance rules, one file each, and policies that need no slow start.

pub mod cubic;
pub mod fixed;
pub mod highspeed;
pub mod reno;
