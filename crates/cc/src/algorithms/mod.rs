//! Congestion avoidance rules, one file each, and policies that need no slow start.

pub mod average_restart;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod compound;
pub mod cubic;
pub mod dctcp;
pub mod external;
pub mod fixed;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod prague;
pub mod reno;
pub mod scalable;
pub mod sttp;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod yeah;
