//! What a packet takes on a line beside itself: headers of the link layer, a least length, cells. Counted as Linux's
//! CAKE does (`cake_calc_overhead` in `net/sched/sch_cake.c`), whose keywords are read (tc-cake(8)).

use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Size;

/// What packets are carried in, on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cells {
    /// Nothing further.
    #[default]
    None,
    /// Whole ATM cells: 53 bytes carry 48 (ADSL).
    Atm,
    /// PTM (64b/65b, VDSL): a byte more for each 64 or part of them.
    Ptm,
}

/// Bytes that each packet takes on the line beside itself. The link's rate is then that of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadSpec {
    /// Bytes of headers and trailers for each packet, from the IP header outwards.
    #[schemars(extend("x-maximum" = "1000 B"))]
    pub bytes: Size,
    /// Least length of a packet with them: shorter ones are filled up.
    #[serde(skip_serializing_if = "is_none")]
    #[schemars(extend("x-maximum" = "1500 B"))]
    pub mpu: Size,
    /// What they are carried in.
    #[serde(skip_serializing_if = "Cells::are_none")]
    pub cells: Cells,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_none(size: &Size) -> bool {
    size.as_bytes() == 0
}

impl Cells {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    fn are_none(&self) -> bool {
        *self == Cells::None
    }
}

/// CAKE's keywords: bytes, least length, cells.
const NAMED: [(&str, u64, u64, Cells); 14] = [
    ("ethernet", 38, 84, Cells::None),
    ("ethernet-vlan", 42, 84, Cells::None),
    ("docsis", 18, 64, Cells::None),
    ("bridged-ptm", 22, 0, Cells::Ptm),
    ("pppoe-ptm", 30, 0, Cells::Ptm),
    ("ipoa-vcmux", 8, 0, Cells::Atm),
    ("ipoa-llcsnap", 16, 0, Cells::Atm),
    ("bridged-vcmux", 24, 0, Cells::Atm),
    ("bridged-llcsnap", 32, 0, Cells::Atm),
    ("pppoa-vcmux", 10, 0, Cells::Atm),
    ("pppoa-llc", 14, 0, Cells::Atm),
    ("pppoe-vcmux", 32, 0, Cells::Atm),
    ("pppoe-llcsnap", 40, 0, Cells::Atm),
    ("conservative", 48, 0, Cells::Atm),
];

impl OverheadSpec {
    /// The keywords that [`OverheadSpec::named`] reads.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, ..)| *name)
    }

    /// That of a keyword.
    pub fn named(name: &str) -> Option<Self> {
        let (_, bytes, mpu, cells) = NAMED.into_iter().find(|(known, ..)| *known == name)?;
        Some(OverheadSpec { bytes: Size::from_bytes(bytes), mpu: Size::from_bytes(mpu), cells })
    }

    /// Bytes that a packet of `len` bytes takes on the line.
    pub fn line_len(&self, len: u32) -> u32 {
        let bytes = (u64::from(len) + self.bytes.as_bytes()).max(self.mpu.as_bytes());
        let all = match self.cells {
            Cells::None => bytes,
            Cells::Atm => bytes.div_ceil(48) * 53,
            Cells::Ptm => bytes + bytes.div_ceil(64),
        };
        u32::try_from(all).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(name: &str, len: u32) -> u32 {
        OverheadSpec::named(name).unwrap().line_len(len)
    }

    /// 1500 B and 40 B are 1540, 33 cells; an ACK of 40 B is 80 B, two cells.
    #[test]
    fn cells_are_whole() {
        assert_eq!([1500, 40].map(|len| takes("pppoe-llcsnap", len)), [33 * 53, 2 * 53]);
        // 48 bytes with the overhead are one cell, a byte more is two.
        assert_eq!([40, 41].map(|len| takes("ipoa-vcmux", len)), [53, 106]);
    }

    /// 1500 B and 30 B are 1530, 24 blocks of 64 begun: a byte each.
    #[test]
    fn ptm_adds_a_byte_to_each_block() {
        assert_eq!(takes("pppoe-ptm", 1500), 1554);
        assert_eq!([34, 35].map(|len| takes("pppoe-ptm", len)), [65, 67]);
    }

    /// The shortest Ethernet frame takes 84 byte times with preamble and gap, the longest 1538.
    #[test]
    fn short_packets_are_filled_up() {
        assert_eq!([40, 46, 47, 1500].map(|len| takes("ethernet", len)), [84, 84, 85, 1538]);
        assert_eq!([40, 1500].map(|len| takes("docsis", len)), [64, 1518]);
    }

    #[test]
    fn only_keywords_are_read() {
        assert_eq!(OverheadSpec::named("adsl"), None);
        assert!(OverheadSpec::names().all(|name| OverheadSpec::named(name).is_some()));
    }
}
