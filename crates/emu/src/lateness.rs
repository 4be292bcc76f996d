//! How late packets are: the time between when a packet was due at its host and when it was handed to the kernel there. What
//! the emulator adds to the path by itself, and the measure of its quality.

use longhaul_results::{Metric, metric};
use longhaul_units::{Duration, Histogram, Instant};

/// Lateness of all packets of a run, and how regularly the loop turned that moves them.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    histogram: Histogram,
    /// When the loop was to turn again at the latest.
    expected: Option<Instant>,
    standstill: Duration,
}

impl Lateness {
    /// A packet was handed over so long after it was due.
    #[inline]
    pub fn record(&mut self, late: Duration) {
        self.histogram.record(late);
    }

    /// The loop turns at `now`, and is to turn again after `sleep` at the latest. However long it does not although it was to,
    /// packets wait in their devices, unseen: their lateness does not show it.
    #[inline]
    pub fn turn(&mut self, now: Instant, sleep: Duration) {
        if let Some(expected) = self.expected {
            self.standstill = self.standstill.max(now.since(expected));
        }
        self.expected = Some(now + sleep);
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
            standstill: self.standstill,
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
    /// The longest time for which the loop did not turn although it was to.
    pub standstill: Duration,
}

impl Figures {
    /// The figures as metrics.
    pub fn metrics(&self) -> [(Metric, f64); 6] {
        let Figures { packets, mean, p99, p999, max, standstill } = self;
        [
            (metric::MOVED_PACKETS, *packets as f64),
            (metric::LATENESS_MEAN_S, mean.as_secs_f64()),
            (metric::LATENESS_P99_S, p99.as_secs_f64()),
            (metric::LATENESS_P999_S, p999.as_secs_f64()),
            (metric::LATENESS_MAX_S, max.as_secs_f64()),
            (metric::STANDSTILL_MAX_S, standstill.as_secs_f64()),
        ]
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        write!(
            f,
            "{} packets, late by {:.1} us on average, p99 {:.0} us, p99.9 {:.0} us, at most {:.0} us; \
             longest standstill {:.1} ms",
            self.packets,
            us(self.mean),
            us(self.p99),
            us(self.p999),
            us(self.max),
            us(self.standstill) / 1e3
        )
    }
}

/// What is still to be believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The 99th percentile of lateness at most.
    pub late: Duration,
    /// The longest standstill at most.
    pub standstill: Duration,
}

impl Default for Bounds {
    /// 1 ms; and half of the smallest retransmission timeout of kernels (200 ms), so that no timeout comes from a standstill.
    fn default() -> Self {
        Bounds { late: Duration::from_millis(1), standstill: Duration::from_millis(100) }
    }
}

impl Bounds {
    /// Why what has happened is not to be believed; empty if it is. `lost` are packets that devices have lost or refused, `devices`
    /// what devices have done that they should not.
    pub fn verdict(&self, figures: &Figures, lost: u64, devices: &[String]) -> Vec<String> {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let mut invalid = vec![];
        if figures.p99 > self.late {
            invalid.push(format!(
                "1 % of the packets were later than {:.3} ms; the bound is {:.3} ms",
                ms(figures.p99),
                ms(self.late)
            ));
        }
        if figures.standstill > self.standstill {
            invalid.push(format!(
                "no packet was moved for {:.1} ms, since the emulator was stopped or the machine was busy; the bound is {:.1} ms",
                ms(figures.standstill),
                ms(self.standstill)
            ));
        }
        if lost > 0 {
            invalid.push(format!("devices have lost or refused {lost} packets"));
        }
        invalid.extend(devices.iter().cloned());
        invalid
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

    /// Turns at 0, 50, 60 and 1110 ms, each to be followed by the next after 50 ms: the last comes 1000 ms too late.
    #[test]
    fn a_standstill_is_what_goes_beyond_the_sleep_that_was_asked_for() {
        let mut lateness = Lateness::default();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        for ms in [0, 50, 60] {
            lateness.turn(at(ms), Duration::from_millis(50));
        }
        assert_eq!(lateness.figures().standstill, Duration::ZERO);
        lateness.turn(at(1110), Duration::from_millis(50));
        assert_eq!(lateness.figures().standstill, Duration::from_secs(1));
        let verdict = Bounds::default().verdict(&lateness.figures(), 0, &[]);
        assert_eq!(verdict.len(), 1);
        assert!(verdict[0].contains("1000.0 ms") && verdict[0].contains("100.0 ms"), "{verdict:?}");
    }

    #[test]
    fn each_reason_is_given() {
        let late = Figures { p99: Duration::from_millis(2), ..Figures::default() };
        let reasons = Bounds::default().verdict(&late, 3, &["a device has vanished".to_string()]);
        assert_eq!(reasons.len(), 3, "{reasons:?}");
        assert_eq!(Bounds::default().verdict(&Figures::default(), 0, &[]), Vec::<String>::new());
    }
}
