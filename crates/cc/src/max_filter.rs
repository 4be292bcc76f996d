//! The largest of the samples of the last rounds (BBR's bandwidth filter), exactly: a queue of falling values.

use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct MaxFilter {
    /// Samples are kept for so many rounds, the present one included.
    rounds: u64,
    /// (round, value): rounds rise, values fall.
    samples: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    pub fn new(rounds: u64) -> Self {
        MaxFilter { rounds, samples: VecDeque::new() }
    }
    /// The same with another length from now on.
    pub fn update_within(&mut self, round: u64, value: f64, rounds: u64) {
        self.rounds = rounds;
        self.update(round, value);
    }
    pub fn update(&mut self, round: u64, value: f64) {
        while self.samples.back().is_some_and(|sample| sample.1 <= value) {
            self.samples.pop_back();
        }
        self.samples.push_back((round, value));
        while self.samples.front().is_some_and(|sample| round - sample.0 >= self.rounds) {
            self.samples.pop_front();
        }
    }
    /// Zero before the first sample.
    pub fn max(&self) -> f64 {
        self.samples.front().map_or(0.0, |sample| sample.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_for_its_rounds() {
        let mut filter = MaxFilter::new(3);
        let maxima: Vec<f64> = [5.0, 7.0, 3.0, 4.0, 2.0, 1.0, 1.0]
            .into_iter()
            .enumerate()
            .map(|(round, value)| {
                filter.update(round as u64, value);
                filter.max()
            })
            .collect();
        assert_eq!(maxima, [5.0, 7.0, 7.0, 7.0, 4.0, 4.0, 2.0]);
    }
}
