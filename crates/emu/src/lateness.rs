//! How late packets are: the time between when a packet was due at its host and when it was handed to the kernel there.
//! What the emulator adds to the path by itself, and by what it is judged.

use longhaul_path::Histogram;
use longhaul_units::Duration;

/// Lateness of all packets of a run.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    histogram: Histogram,
}

impl Lateness {
    /// A packet was handed over so long after it was due.
    #[inline]
    pub fn record(&mut self, late: Duration) {
        self.histogram.record(late);
    }

    /// The figures in which it is reported; percentiles to within 3 %.
    pub fn figures(&self) -> Figures {
        let quantile = |q| self.histogram.quantile(q).unwrap_or_default();
        Figures {
            packets: self.histogram.count(),
            mean: self.histogram.mean().unwrap_or_default(),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.histogram.max().unwrap_or_default(),
        }
    }
}

/// Lateness in numbers; zero without packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Packets handed over.
    pub packets: u64,
    /// Mean.
    pub mean: Duration,
    /// 99 % were no later.
    pub p99: Duration,
    /// 99.9 % were no later.
    pub p999: Duration,
    /// The latest.
    pub max: Duration,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        write!(
            f,
            "{} packets, late by {:.1} us on average, p99 {:.0} us, p99.9 {:.0} us, at most {:.0} us",
            self.packets,
            us(self.mean),
            us(self.p99),
            us(self.p999),
            us(self.max)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_thousand_packets() {
        let mut lateness = Lateness::default();
        (0..990).for_each(|_| lateness.record(Duration::from_micros(10)));
        (0..9).for_each(|_| lateness.record(Duration::from_micros(1000)));
        lateness.record(Duration::from_millis(50));
        let figures = lateness.figures();
        assert_eq!(figures.packets, 1000);
        // (990 x 10 + 9 x 1000 + 50,000) / 1000 = 68.9 us.
        assert_eq!(figures.mean, Duration::from_nanos(68_900));
        assert_eq!(figures.max, Duration::from_millis(50));
        let within = |time: Duration, us: f64| (time.as_secs_f64() * 1e6 / us - 1.0).abs() < 0.04;
        assert!(within(figures.p99, 10.0), "{:?}", figures.p99);
        assert!(within(figures.p999, 1000.0), "{:?}", figures.p999);
    }
}
