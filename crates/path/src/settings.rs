//! What settings derive: serde's and schemars' traits, or nothing where the feature `serde` of this crate is off. Each crate has its
//! own choice: in one program others may have the feature on.

#[cfg(not(feature = "serde"))]
pub(crate) use longhaul_plain::{Deserialize, JsonSchema, Serialize};
#[cfg(feature = "serde")]
pub(crate) use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};
