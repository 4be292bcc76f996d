//! Slow start policies, one file each.

pub mod hystart;
pub mod hystart_pp;
pub mod limited;
pub mod packet_pair;
pub mod search;
pub mod standard;
