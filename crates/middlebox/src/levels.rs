//! How full a middlebox is: now, on time average, at most.

use longhaul_units::Instant;

/// A level over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    level: u64,
    since: Instant,
    begin: Instant,
    /// Level times nanoseconds, summed up to `since`.
    area: u128,
    max: u64,
}

impl Gauge {
    /// The level changes.
    #[inline]
    pub fn set(&mut self, now: Instant, level: u64) {
        if level != self.level {
            self.area += self.area_since(now);
            self.since = now;
            self.level = level;
            self.max = self.max.max(level);
        }
    }
    /// The level now.
    pub fn level(&self) -> u64 {
        self.level
    }
    /// The highest level since the start, or since [`Gauge::restart`].
    pub fn max(&self) -> u64 {
        self.max
    }
    /// The mean over time since the start, or since [`Gauge::restart`]; `None` if no time has passed.
    pub fn mean(&self, now: Instant) -> Option<f64> {
        let span = now.since(self.begin).as_nanos();
        (span > 0).then(|| (self.area + self.area_since(now)) as f64 / span as f64)
    }
    /// Mean and largest level are those from now on.
    pub fn restart(&mut self, now: Instant) {
        *self = Gauge { level: self.level, since: now, begin: now, area: 0, max: self.level };
    }
    fn area_since(&self, now: Instant) -> u128 {
        u128::from(self.level) * u128::from(now.since(self.since).as_nanos())
    }
}

/// What a middlebox holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Levels {
    /// Data packets in its buffer, where it holds packets.
    pub packets: Option<Gauge>,
    /// Payload bytes in its buffer.
    pub bytes: Gauge,
    /// Payload bytes that it has acknowledged to their sender and whose receiver has not acknowledged them: what would be
    /// lost if it broke down.
    pub undelivered: Gauge,
}

impl Levels {
    /// Of a middlebox that holds packets.
    pub fn of_packets() -> Self {
        Levels { packets: Some(Gauge::default()), ..Levels::default() }
    }
    /// Something in it has changed: packets, bytes and undelivered bytes that it held before, and holds after.
    pub(crate) fn shift(&mut self, now: Instant, before: [u64; 3], after: [u64; 3]) {
        let Levels { packets, bytes, undelivered } = self;
        for (gauge, index) in [(packets.as_mut(), 0), (Some(bytes), 1), (Some(undelivered), 2)] {
            if let Some(gauge) = gauge {
                gauge.set(now, gauge.level() + after[index] - before[index]);
            }
        }
    }
    /// Means and largest levels are those from now on.
    pub fn restart(&mut self, now: Instant) {
        if let Some(packets) = &mut self.packets {
            packets.restart(now);
        }
        self.bytes.restart(now);
        self.undelivered.restart(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn the_mean_is_over_time() {
        let mut gauge = Gauge::default();
        assert_eq!(gauge.mean(at(0)), None);
        // 0 for 10 ns, 4 for 20 ns, 1 for 10 ns: (80 + 10) / 40.
        gauge.set(at(10), 4);
        gauge.set(at(30), 1);
        assert_eq!(gauge.mean(at(40)), Some(2.25));
        assert_eq!((gauge.level(), gauge.max()), (1, 4));
        gauge.restart(at(40));
        gauge.set(at(50), 3);
        // 1 for 10 ns, 3 for 10 ns.
        assert_eq!(gauge.mean(at(60)), Some(2.0));
        assert_eq!(gauge.max(), 3);
    }
}
