//! Amounts of data.

use crate::text::{Grammar, textual};

const GRAMMAR: Grammar = Grammar {
    quantity: "size",
    example: "64 kB",
    units: &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)],
    aliases: &[
        ("byte", 1),
        ("bytes", 1),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

/// An amount of data in bytes. `"64 kB"` is 64,000 bytes, `"64 KiB"` is 65,536.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(u64);

textual!(Size, "An amount of data with its unit: B, kB, MB, GB (decimal) or KiB, MiB, GiB (binary).", r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(B|bytes?|[kMGT]B|[KMGT]iB)\s*$");

impl Size {
    /// From bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Size(bytes)
    }
    /// In bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }
    /// In bits.
    pub const fn as_bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}
