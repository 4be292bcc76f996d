//! Amounts of data.

use crate::text::{Grammar, textual};

pub(crate) const GRAMMAR: Grammar = Grammar {
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
    in_bytes: &[],
    mistaken: &[
        ("b", "B"),
        ("k", "kB"),
        ("m", "MB"),
        ("g", "GB"),
        ("kilobyte", "kB"),
        ("kilobytes", "kB"),
        ("megabyte", "MB"),
        ("megabytes", "MB"),
        ("gigabytes", "GB"),
        ("octets", "B"),
    ],
};

/// An amount of data in bytes. `"64 kB"` is 64,000 bytes, `"64 KiB"` is 65,536.
///
/// ```
/// use longhaul_units::Size;
/// assert_eq!("64 kB".parse(), Ok(Size::from_bytes(64_000)));
/// assert_eq!("64 KiB".parse(), Ok(Size::from_bytes(65_536)));
/// assert_eq!(Size::from_bytes(1500).to_string(), "1.5 kB");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(u64);

textual!(
    Size,
    "An amount of data with its unit: B, kB, MB, GB (decimal) or KiB, MiB, GiB (binary).",
    r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(B|bytes?|[kMGT]B|[KMGT]iB)\s*$"
);

impl Size {
    /// Nothing.
    pub const ZERO: Size = Size(0);

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_decimal_and_binary_prefixes() {
        for (text, bytes) in [
            ("1500 B", 1500),
            ("1500 bytes", 1500),
            ("1 byte", 1),
            ("1.5 MB", 1_500_000),
            ("1 MiB", 1_048_576),
            ("0.5 KiB", 512),
            ("2 GiB", 2_147_483_648),
            ("1 TB", 1_000_000_000_000),
            ("1 TiB", 1_099_511_627_776),
        ] {
            assert_eq!(text.parse(), Ok(Size::from_bytes(bytes)), "{text}");
        }
        let units = "GB, MB, kB, B, byte, bytes, TB, KiB, MiB, GiB, TiB";
        for (text, guess) in [
            ("64 KB", ", did you mean \"64 kB\"?"),
            ("64 kb", ", did you mean \"64 kB\"?"),
            ("64 kib", ", did you mean \"64 KiB\"?"),
            ("64 packets", ""),
        ] {
            let message =
                format!(r#""{}" is not a unit of size (in "{text}"){guess}; units: {units}"#, &text[3..]);
            assert_eq!(text.parse::<Size>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn bits_saturate() {
        assert_eq!(Size::from_bytes(1500).as_bits(), 12_000);
        assert_eq!(Size::from_bytes(u64::MAX).as_bits(), u64::MAX);
    }

    proptest! {
        #[test]
        fn round_trip(bytes: u64) {
            let size = Size::from_bytes(bytes);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
        #[test]
        fn any_text_reads_or_is_refused(text in ".*") {
            let _ = text.parse::<Size>();
        }
        #[test]
        fn any_number_with_a_unit_reads_or_is_refused(text in "[0-9_]{0,45}(\\.[0-9_]{0,22})? ?(B|kB|MB|GB|TB|KiB|TiB)") {
            if let Err(error) = text.parse::<Size>() {
                prop_assert!(error.to_string().contains(&text));
            }
        }
    }
}
