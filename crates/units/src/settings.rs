//! What numbers of things derive: serde's trait, or nothing where the feature `serde` is off.

#[cfg(not(feature = "serde"))]
pub(crate) use longhaul_plain::Serialize;
#[cfg(feature = "serde")]
pub(crate) use serde::Serialize;
