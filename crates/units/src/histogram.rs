//! A histogram of durations with 32 steps to each power of two: percentiles to within 3 %, in constant memory.

use crate::Duration;

const STEPS: u64 = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Counts of durations, exact below 32 ns, else in bins that are at most 1/32 of their value wide.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    bins: Vec<u64>,
    count: u64,
    /// Values other than zero; those of zero are not in a bin.
    above_zero: u64,
    sum: u128,
    /// The smallest value other than zero; 0 without one.
    min: u64,
    max: u64,
}

fn bin_of(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let exponent = nanos.ilog2() - STEP_BITS;
    ((u64::from(exponent) << STEP_BITS) + (nanos >> exponent)) as usize
}

fn middle_of(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * STEPS {
        return bin;
    }
    let exponent = (bin >> STEP_BITS) - 1;
    let low = (bin - (exponent << STEP_BITS)) << exponent;
    low + (1 << exponent) / 2
}

impl Histogram {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let nanos = value.as_nanos();
        self.count += 1;
        if nanos == 0 {
            // By far the most common on a link that is not full; bin 0 is what is missing in the others.
            return;
        }
        let bin = bin_of(nanos);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.min = if self.above_zero == 0 { nanos } else { self.min.min(nanos) };
        self.above_zero += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.bins.len() > self.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, count)| *sum += count);
        self.min = match (self.above_zero, other.above_zero) {
            (_, 0) => self.min,
            (0, _) => other.min,
            _ => self.min.min(other.min),
        };
        self.count += other.count;
        self.above_zero += other.above_zero;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values in nanoseconds, exact.
    pub fn sum_nanos(&self) -> u128 {
        self.sum
    }

    /// Arithmetic mean, exact; `None` without values.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos((self.sum / u128::from(self.count)) as u64))
    }

    /// The largest value, exact.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.max))
    }

    /// What stands for the values of a bin: its middle, or the smallest or largest of all values where the bin reaches beyond them. A
    /// quantile is thus never below every value: where all responses take a round trip, so does their median.
    fn value_of(&self, bin: usize) -> Duration {
        Duration::from_nanos(middle_of(bin).clamp(self.min, self.max))
    }

    /// The value below or at which a share `q` (0 to 1) of all values lies, to within 3 %; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let rank = ((self.count as f64 * q).ceil() as u64).max(1);
        let mut seen = self.count - self.above_zero;
        if seen >= rank {
            return Some(Duration::ZERO);
        }
        let bin = self.bins.iter().position(|n| {
            seen += n;
            seen >= rank
        })?;
        Some(self.value_of(bin))
    }

    /// The values from the smallest on, to within 3 %, and how many of each there are.
    pub fn values(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let zeros = (Duration::ZERO, self.count - self.above_zero);
        let others =
            self.bins.iter().enumerate().filter(|(_, n)| **n > 0).map(|(bin, n)| (self.value_of(bin), *n));
        std::iter::once(zeros).chain(others).filter(|(_, n)| *n > 0)
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        *self = Histogram::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_one_to_a_thousand() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|ms| histogram.record(Duration::from_millis(ms)));
        let close = |q, ms: f64| {
            let found = histogram.quantile(q).unwrap().as_secs_f64() * 1e3;
            assert!((found / ms - 1.0).abs() < 0.03, "quantile {q}: {found} ms");
        };
        close(0.5, 500.0);
        close(0.95, 950.0);
        close(1.0, 1000.0);
        assert_eq!(histogram.mean(), Some(Duration::from_micros(500_500)));
        assert_eq!(histogram.max(), Some(Duration::from_millis(1000)));
    }

    #[test]
    fn a_quantile_is_not_below_the_smallest_value() {
        // 300 ms lie in a bin whose middle is 298 ms; so do the later values.
        let mut histogram = Histogram::default();
        [0, 301, 300, 302].into_iter().for_each(|ms| histogram.record(Duration::from_millis(ms)));
        assert_eq!(histogram.quantile(0.5), Some(Duration::from_millis(300)));
        let mut other = Histogram::default();
        other.merge(&histogram);
        other.record(Duration::from_millis(299));
        histogram.merge(&other);
        assert_eq!(histogram.quantile(0.5), Some(Duration::from_millis(299)));
        assert_eq!(histogram.values().map(|(_, n)| n).sum::<u64>(), histogram.count());
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert_eq!(Histogram::default().mean(), None);
    }

    #[test]
    fn merged_histograms_hold_the_values_of_both() {
        let of = |values: std::ops::RangeInclusive<u64>| {
            let mut histogram = Histogram::default();
            values.for_each(|ms| histogram.record(Duration::from_millis(ms)));
            histogram
        };
        let mut merged = of(0..=300);
        merged.merge(&of(301..=1000));
        let whole = of(0..=1000);
        assert_eq!(
            (merged.count(), merged.sum_nanos(), merged.max()),
            (1001, whole.sum_nanos(), whole.max())
        );
        assert_eq!([0.1, 0.5, 0.99].map(|q| merged.quantile(q)), [0.1, 0.5, 0.99].map(|q| whole.quantile(q)));
    }

    proptest! {
        #[test]
        fn a_bin_stands_for_its_values_within_3_per_cent(nanos in 0u64..u64::MAX / 2) {
            let middle = middle_of(bin_of(nanos)) as f64;
            prop_assert!((middle - nanos as f64).abs() <= nanos as f64 / 32.0);
        }
        #[test]
        fn bins_are_in_order(a in 0u64..u64::MAX, b in 0u64..u64::MAX) {
            prop_assert_eq!(bin_of(a) <= bin_of(b), a <= b || bin_of(a) == bin_of(b));
        }
    }
}
