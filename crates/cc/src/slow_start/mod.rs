//! Slow start policies, one file each.

pub mod hystart_pp;
pub mod limited;
pub mod standard;
