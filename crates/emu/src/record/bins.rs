//! Bytes of a flow by the time at which they came, and the pace at which a flow is sent.

use longhaul_units::{Duration, Instant, Rate};

/// Bytes are counted in so long parts of the time.
pub const BIN: Duration = Duration::from_millis(10);
/// A sender that was held up for longer than this does not make up for it: what it would send at once is no steady flow.
const MOST_BEHIND: Duration = Duration::from_millis(10);

/// Bytes in each part of the time since the first packet.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    begin: Option<Instant>,
    bytes: Vec<u32>,
    /// More parts are not kept.
    most: usize,
    /// Packets that came.
    pub packets: u64,
    /// The greatest number of a packet that came, and one more.
    pub numbers: u32,
}

impl Bins {
    /// For a flow of so long a time, and what comes late of it.
    pub fn of(duration: Duration) -> Bins {
        let most = (duration.as_nanos() / BIN.as_nanos() + LATE_BINS) as usize;
        Bins { most, ..Bins::default() }
    }

    /// How many parts are kept at most.
    pub fn most(&self) -> usize {
        self.most
    }

    /// A packet of so many bytes has come.
    pub fn count(&mut self, came: Instant, bytes: u32, number: u32) {
        let begin = *self.begin.get_or_insert(came);
        let bin = (came.since(begin).as_nanos() / BIN.as_nanos()) as usize;
        if bin >= self.most {
            return;
        }
        if self.bytes.len() <= bin {
            self.bytes.resize(bin + 1, 0);
        }
        self.bytes[bin] = self.bytes[bin].saturating_add(bytes);
        self.packets += 1;
        self.numbers = self.numbers.max(number.saturating_add(1));
    }

    /// What was counted so far.
    pub fn bytes(&self) -> &[u32] {
        &self.bytes
    }
}

/// Parts of the time behind the end of a flow: a queue of 20 s.
const LATE_BINS: u64 = 2000;

/// When the next packet of a flow is due.
#[derive(Clone, Debug)]
pub struct Pace {
    begin: Instant,
    /// Nanoseconds between two packets.
    gap: f64,
    until: Instant,
    /// Packets since `begin`.
    since: u64,
    /// The number of the next packet.
    pub number: u32,
    /// How long the sender was held up in all.
    pub held_up: Duration,
}

impl Pace {
    /// Packets of so many bytes at a rate, from `begin` on.
    pub fn of(rate: Rate, bytes: u32, begin: Instant, duration: Duration) -> Pace {
        let gap = f64::from(bytes) * 8e9 / rate.as_bps().max(1) as f64;
        Pace { begin, gap, until: begin + duration, since: 0, number: 0, held_up: Duration::ZERO }
    }

    /// When the next packet is due; `None` behind the end.
    pub fn due(&self) -> Option<Instant> {
        let due = self.begin + Duration::from_nanos((self.since as f64 * self.gap) as u64);
        (due < self.until).then_some(due)
    }

    /// The number of a packet if one is due now; it is then sent.
    pub fn take(&mut self, now: Instant) -> Option<u32> {
        let due = self.due().filter(|due| *due <= now)?;
        let behind = now.since(due);
        if behind > MOST_BEHIND {
            self.held_up += behind;
            self.begin = now;
            self.since = 0;
        }
        self.since += 1;
        self.number += 1;
        Some(self.number - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    #[test]
    fn packets_are_as_far_apart_as_the_rate_has_it_however_often_one_looks() {
        // 1250 bytes at 10 Mbit/s: one each ms.
        let mut pace = Pace::of(Rate::from_bps(10_000_000), 1250, at(500), Duration::from_millis(100));
        let mut sent = vec![];
        for micros in (0..200_000).step_by(300) {
            while let Some(number) = pace.take(at(micros)) {
                sent.push((micros, number));
            }
        }
        assert_eq!(sent.len(), 100);
        assert!(
            sent.iter()
                .all(|(micros, number)| (0..300).contains(&(micros - 500 - u64::from(*number) * 1000)))
        );
        assert_eq!((pace.due(), pace.held_up), (None, Duration::ZERO));
    }

    #[test]
    fn a_sender_that_was_held_up_does_not_send_a_burst() {
        let mut pace = Pace::of(Rate::from_bps(10_000_000), 1250, at(0), Duration::from_secs(1));
        assert_eq!(pace.take(at(0)), Some(0));
        let mut many = 0;
        while pace.take(at(300_000)).is_some() {
            many += 1;
        }
        assert_eq!((many, pace.held_up), (1, Duration::from_millis(299)));
    }

    #[test]
    fn bytes_are_counted_in_parts_of_the_time_since_the_first() {
        let mut bins = Bins::of(Duration::from_millis(40));
        for (micros, number) in [(7000, 0), (16_900, 1), (17_000, 3), (57_000, 9)] {
            bins.count(at(micros), 1000, number);
        }
        assert_eq!(bins.bytes(), [2000, 1000, 0, 0, 0, 1000]);
        assert_eq!((bins.packets, bins.numbers), (4, 10));
        // Memory has a bound, whatever comes.
        bins.count(at(3_600_000_000), 1000, 10);
        assert_eq!(bins.bytes().len(), 6);
    }
}
