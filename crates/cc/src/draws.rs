//! Random numbers for policies that must not all do the same at the same time: a stream for each connection, from its seed, so
//! that a run is the same each time and no connection's draws depend on another's.

/// SplitMix64 (G. Steele, D. Lea, C. Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, figure 13).
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Draws(seed)
    }
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = self.0;
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::Draws;

    #[test]
    fn draws_are_those_of_splitmix64() {
        // The reference implementation (S. Vigna, splitmix64.c) from seed 1234567.
        let mut draws = Draws::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([draws.bits(), draws.bits(), draws.bits()], expected);
    }
}
