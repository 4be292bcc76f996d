//! Endpoints that have one connection after the other.

use crate::totals::Totals;
use longhaul_units::Random;

/// Never reached: the application does not wait for data.
pub(crate) const NO_GOAL: u64 = u64::MAX;

/// Endpoints that have one connection after the other.
pub(crate) struct Reused {
    /// The pairs that have a connection whose counters are not in `ended`.
    pub open: Vec<bool>,
    pub numbers: Random,
    /// Seeds of congestion controls.
    pub draws: Random,
    /// Connections so far: each has a port of its own.
    pub opened: u64,
    /// What connections did that are no more.
    pub ended: Totals,
    /// Data segments that such connections received, at both ends.
    pub ended_received: u64,
}

impl Reused {
    pub fn new(pairs: usize, name: &str, seed: u64) -> Self {
        Reused {
            open: vec![false; pairs],
            numbers: Random::stream(seed, &format!("{name} isn")),
            draws: Random::stream(seed, &format!("{name} congestion")),
            opened: 0,
            ended: Totals::default(),
            ended_received: 0,
        }
    }

    /// The pairs, counted from the flow's first, that have a connection whose counters are not in `ended`.
    pub fn open_pairs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.open.len()).filter(|pair| self.open[*pair])
    }
}
