//! Modulations and codes of DVB-S2 and DVB-S2X with normal frames (64,800 coded bits): what each needs, and what it carries.

use crate::settings::{Deserialize, JsonSchema, Serialize};

/// Which modulations and codes a modem has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum ModcodTable {
    /// Those of DVB-S2: ETSI EN 302 307-1, table 13.
    #[serde(rename = "dvb-s2")]
    S2,
    /// Those of DVB-S2 and what DVB-S2X adds: ETSI EN 302 307-2, table 20a, for a linear channel.
    #[default]
    #[serde(rename = "dvb-s2x")]
    S2x,
}

/// A modulation and a code.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Modcod {
    /// As in the standard.
    pub name: &'static str,
    /// Ideal Es/N0 for a quasi error free channel (packet error rate of 1e-7, frame error rate of 1e-5 for S2X), in dB.
    pub es_n0: f64,
    /// Bits of a symbol.
    bits: u32,
    /// Rate of the LDPC code, as a fraction.
    rate: (u32, u32),
    /// The BCH code corrects so many bits, and takes 16 bits for each.
    corrects: u32,
    /// DVB-S2X added it.
    s2x: bool,
}

/// Coded bits of a normal frame.
const FRAME: u32 = 64_800;
/// Symbols of a slot, and of a header.
const SLOT: u32 = 90;
/// Bits of the header of a base band frame.
const HEADER: u32 = 80;
/// Symbols of a block of pilots, one behind each 16 slots that another follows.
const PILOTS: u32 = 36;

impl Modcod {
    /// Bits of user packets in a symbol (the standard's spectral efficiency): what a frame carries behind its header by the symbols that it
    /// takes, without pilots as in the tables or with them.
    pub fn efficiency(&self, pilots: bool) -> f64 {
        let data = FRAME / self.rate.1 * self.rate.0 - 16 * self.corrects - HEADER;
        let slots = FRAME.div_ceil(self.bits).div_ceil(SLOT);
        let blocks = if pilots { (slots - 1) / 16 } else { 0 };
        f64::from(data) / f64::from((slots + 1) * SLOT + blocks * PILOTS)
    }
}

const fn s2(name: &'static str, bits: u32, rate: (u32, u32), corrects: u32, es_n0: f64) -> Modcod {
    Modcod { name, es_n0, bits, rate, corrects, s2x: false }
}
const fn s2x(name: &'static str, bits: u32, rate: (u32, u32), es_n0: f64) -> Modcod {
    Modcod { name, es_n0, bits, rate, corrects: 12, s2x: true }
}

const ALL: [Modcod; 67] = [
    s2("QPSK 1/4", 2, (1, 4), 12, -2.35),
    s2("QPSK 1/3", 2, (1, 3), 12, -1.24),
    s2("QPSK 2/5", 2, (2, 5), 12, -0.30),
    s2("QPSK 1/2", 2, (1, 2), 12, 1.00),
    s2("QPSK 3/5", 2, (3, 5), 12, 2.23),
    s2("QPSK 2/3", 2, (2, 3), 10, 3.10),
    s2("QPSK 3/4", 2, (3, 4), 12, 4.03),
    s2("QPSK 4/5", 2, (4, 5), 12, 4.68),
    s2("QPSK 5/6", 2, (5, 6), 10, 5.18),
    s2("QPSK 8/9", 2, (8, 9), 8, 6.20),
    s2("QPSK 9/10", 2, (9, 10), 8, 6.42),
    s2("8PSK 3/5", 3, (3, 5), 12, 5.50),
    s2("8PSK 2/3", 3, (2, 3), 10, 6.62),
    s2("8PSK 3/4", 3, (3, 4), 12, 7.91),
    s2("8PSK 5/6", 3, (5, 6), 10, 9.35),
    s2("8PSK 8/9", 3, (8, 9), 8, 10.69),
    s2("8PSK 9/10", 3, (9, 10), 8, 10.98),
    s2("16APSK 2/3", 4, (2, 3), 10, 8.97),
    s2("16APSK 3/4", 4, (3, 4), 12, 10.21),
    s2("16APSK 4/5", 4, (4, 5), 12, 11.03),
    s2("16APSK 5/6", 4, (5, 6), 10, 11.61),
    s2("16APSK 8/9", 4, (8, 9), 8, 12.89),
    s2("16APSK 9/10", 4, (9, 10), 8, 13.13),
    s2("32APSK 3/4", 5, (3, 4), 12, 12.73),
    s2("32APSK 4/5", 5, (4, 5), 12, 13.64),
    s2("32APSK 5/6", 5, (5, 6), 10, 14.28),
    s2("32APSK 8/9", 5, (8, 9), 8, 15.69),
    s2("32APSK 9/10", 5, (9, 10), 8, 16.05),
    s2x("QPSK 2/9", 2, (2, 9), -2.85),
    s2x("QPSK 13/45", 2, (13, 45), -2.03),
    s2x("QPSK 9/20", 2, (9, 20), 0.22),
    s2x("QPSK 11/20", 2, (11, 20), 1.45),
    s2x("8APSK 5/9-L", 3, (5, 9), 4.73),
    s2x("8APSK 26/45-L", 3, (26, 45), 5.13),
    s2x("8PSK 23/36", 3, (23, 36), 6.12),
    s2x("8PSK 25/36", 3, (25, 36), 7.02),
    s2x("8PSK 13/18", 3, (13, 18), 7.49),
    s2x("16APSK 1/2-L", 4, (1, 2), 5.97),
    s2x("16APSK 8/15-L", 4, (8, 15), 6.55),
    s2x("16APSK 5/9-L", 4, (5, 9), 6.84),
    s2x("16APSK 26/45", 4, (26, 45), 7.51),
    s2x("16APSK 3/5", 4, (3, 5), 7.80),
    s2x("16APSK 3/5-L", 4, (3, 5), 7.41),
    s2x("16APSK 28/45", 4, (28, 45), 8.10),
    s2x("16APSK 23/36", 4, (23, 36), 8.38),
    s2x("16APSK 2/3-L", 4, (2, 3), 8.43),
    s2x("16APSK 25/36", 4, (25, 36), 9.27),
    s2x("16APSK 13/18", 4, (13, 18), 9.71),
    s2x("16APSK 7/9", 4, (7, 9), 10.65),
    s2x("16APSK 77/90", 4, (77, 90), 11.99),
    s2x("32APSK 2/3-L", 5, (2, 3), 11.10),
    s2x("32APSK 32/45", 5, (32, 45), 11.75),
    s2x("32APSK 11/15", 5, (11, 15), 12.17),
    s2x("32APSK 7/9", 5, (7, 9), 13.05),
    s2x("64APSK 32/45-L", 6, (32, 45), 13.98),
    s2x("64APSK 11/15", 6, (11, 15), 14.81),
    s2x("64APSK 7/9", 6, (7, 9), 15.47),
    s2x("64APSK 4/5", 6, (4, 5), 15.87),
    s2x("64APSK 5/6", 6, (5, 6), 16.55),
    s2x("128APSK 3/4", 7, (3, 4), 17.73),
    s2x("128APSK 7/9", 7, (7, 9), 18.53),
    s2x("256APSK 29/45-L", 8, (29, 45), 16.98),
    s2x("256APSK 2/3-L", 8, (2, 3), 17.24),
    s2x("256APSK 31/45-L", 8, (31, 45), 18.10),
    s2x("256APSK 32/45", 8, (32, 45), 18.59),
    s2x("256APSK 11/15-L", 8, (11, 15), 18.84),
    s2x("256APSK 3/4", 8, (3, 4), 19.57),
];

impl ModcodTable {
    /// Those that a modem would choose at some Es/N0: each needs more than the one before, and carries more.
    pub fn useful(self) -> Vec<Modcod> {
        let mut all: Vec<Modcod> =
            ALL.into_iter().filter(|one| self == ModcodTable::S2x || !one.s2x).collect();
        all.sort_by(|one, other| one.es_n0.total_cmp(&other.es_n0));
        let mut useful: Vec<Modcod> = vec![];
        for one in all {
            if useful.last().is_none_or(|last| last.efficiency(false) < one.efficiency(false)) {
                useful.push(one);
            }
        }
        useful
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn efficiency(name: &str) -> f64 {
        ALL.iter().find(|one| one.name == name).unwrap().efficiency(false)
    }

    /// The published spectral efficiencies: EN 302 307-1 table 13, EN 302 307-2 table 20a. The standard's digits of those of DVB-S2X are
    /// cut in places, not rounded.
    #[test]
    fn efficiencies_are_those_of_the_standard() {
        for (name, published) in [
            ("QPSK 1/4", 0.490_243),
            ("QPSK 2/3", 1.322_253),
            ("QPSK 9/10", 1.788_612),
            ("8PSK 3/5", 1.779_991),
            ("8PSK 8/9", 2.646_012),
            ("16APSK 2/3", 2.637_201),
            ("16APSK 9/10", 3.567_342),
            ("32APSK 3/4", 3.703_295),
            ("32APSK 5/6", 4.119_540),
            ("32APSK 9/10", 4.453_027),
            ("QPSK 2/9", 0.434_841),
            ("QPSK 13/45", 0.567_805),
            ("8APSK 5/9-L", 1.647_211),
            ("8PSK 13/18", 2.145_136),
            ("16APSK 77/90", 3.386_618),
            ("32APSK 32/45", 3.510_192),
            ("64APSK 5/6", 4.933_701),
            ("128APSK 3/4", 5.163_248),
            ("256APSK 29/45-L", 5.065_690),
            ("256APSK 3/4", 5.900_855),
        ] {
            assert!((efficiency(name) - published).abs() < 2e-6, "{name}: {} {published}", efficiency(name));
        }
    }

    /// 22 blocks of 36 symbols in a frame of 360 slots.
    #[test]
    fn pilots_take_their_symbols() {
        let qpsk = ALL[0];
        assert!((qpsk.efficiency(true) - 15_928.0 / (32_490.0 + 22.0 * 36.0)).abs() < 1e-12);
    }

    #[test]
    fn what_needs_more_carries_more() {
        for (table, first, last, count) in [
            (ModcodTable::S2, "QPSK 1/4", "32APSK 9/10", 20),
            (ModcodTable::S2x, "QPSK 2/9", "256APSK 3/4", 30),
        ] {
            let useful = table.useful();
            assert_eq!((useful[0].name, useful.last().unwrap().name), (first, last));
            assert!(useful.len() >= count, "{}", useful.len());
            assert!(
                useful.windows(2).all(|pair| pair[0].es_n0 < pair[1].es_n0
                    && pair[0].efficiency(false) < pair[1].efficiency(false))
            );
        }
    }
}
