//! A window beside the windows of others, for a link that belongs to them too: CUBIC's (RFC 9438). A sender that grows and gives way as they
//! do gets a part like theirs, which no fixed amount in flight does: how much that yields depends on how many others there are.

use longhaul_units::{Duration, Instant};

/// CUBIC's C, in packets/s^3, and beta (RFC 9438, section 4.1).
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// Packets that the window gains in a round trip at least, as Reno's would (section 4.3).
const RENO: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// After a contest less than this time ago, the window is known to leave something to others.
const LATELY: Duration = Duration::from_secs(60);
/// A window never falls below that.
const LEAST: f64 = 4.0;

#[derive(Clone, Copy, Debug, Default)]
pub struct Rival {
    /// In packets: now, after the last cut, and before it.
    window: f64,
    floor: f64,
    peak: f64,
    /// Time in which the window was in use since then, and when it was looked at last.
    age: Duration,
    seen: Instant,
    /// It has given way, and waits for what the queue shows without it.
    asks: bool,
    /// Packets that left before this show nothing new.
    cut: Instant,
    began: Instant,
    acked: u64,
    lost: u64,
}

impl Rival {
    /// Begins with that part of `window` packets which is left after a cut. What a sender has that held no contest of late is what it took
    /// without regard to others: it counts for less.
    pub fn begin(&mut self, now: Instant, window: f64) {
        let lately = self.seen > Instant::ZERO && now.since(self.seen) < LATELY;
        let window = if lately { window } else { window * BETA };
        *self = Rival { window: window.max(LEAST), seen: now, ..Rival::default() };
        self.give_way(now);
    }

    pub fn on_ack(&mut self, sent: Instant) {
        self.acked += u64::from(sent >= self.cut);
    }

    pub fn on_loss(&mut self, sent: Instant, packets: u64) {
        self.lost += if sent >= self.cut { packets } else { 0 };
    }

    /// Whether it has given way and not gone on since.
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// Others keep the queue: goes on from what the cut has left.
    pub fn resume(&mut self, now: Instant) {
        (self.asks, self.age, self.seen) = (false, Duration::ZERO, now);
        (self.cut, self.began, self.acked, self.lost) = (now, now, 0, 0);
    }

    /// What may be in flight, in packets.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Grows; true if it gives way instead. `random` is the part that the link loses in any case, `full` whether the window is in use.
    pub fn look(&mut self, now: Instant, rtt: Duration, random: f64, full: bool) -> bool {
        let packets = (self.acked + self.lost) as f64;
        let by_chance = packets * random;
        if self.lost as f64 > by_chance + 3.0 * by_chance.sqrt() {
            self.give_way(now);
            return true;
        }
        if now.since(self.began) >= rtt {
            (self.acked, self.lost, self.began) = (0, 0, now);
        }
        if full {
            self.age += now.since(self.seen);
        }
        self.seen = now;
        let age = self.age.as_secs_f64();
        let back = libm::cbrt((self.peak - self.floor) / C);
        let cubic = C * (age - back) * (age - back) * (age - back) + self.peak;
        let reno = self.floor + RENO * age / rtt.as_secs_f64();
        self.window = cubic.max(reno).max(LEAST);
        false
    }

    fn give_way(&mut self, now: Instant) {
        // Who gives way below an earlier peak leaves room for newcomers (section 4.7).
        let newcomers = if self.window < self.peak { (1.0 + BETA) / 2.0 } else { 1.0 };
        self.peak = self.window * newcomers;
        self.floor = (self.window * BETA).max(LEAST);
        self.peak = self.peak.max(self.floor);
        (self.window, self.asks, self.cut) = (self.floor, true, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(600);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A contest that begins with 1000 packets at 10 s, in which the sender goes on at 12 s.
    fn rival() -> Rival {
        let mut rival = Rival::default();
        rival.begin(at(10_000), 1000.0);
        assert!(rival.asks());
        rival.resume(at(12_000));
        rival
    }

    /// RFC 9438, section 4.2: back at W_max after K = cbrt(W_max (1 - beta) / C), here cbrt(700 x 0.3 / 0.4) = 8.07 s.
    #[test]
    fn the_window_is_back_at_its_peak_after_k() {
        let mut rival = rival();
        assert!((489.0..491.0).contains(&rival.window()), "half at first: {}", rival.window());
        for ms in (12_000..=20_070).step_by(10) {
            assert!(!rival.look(at(ms), RTT, 0.0, true));
        }
        assert!((699.0..701.0).contains(&rival.window()), "{}", rival.window());
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut rival = rival();
        (12_000..20_000).step_by(10).for_each(|ms| _ = rival.look(at(ms), RTT, 0.0, false));
        assert!((489.0..491.0).contains(&rival.window()), "{}", rival.window());
    }

    /// At 1 %, 10 of 1000 are lost by chance, and with a standard deviation of 3.2.
    #[test]
    fn only_losses_beyond_those_by_chance_count() {
        for (lost, gives_way) in [(15, false), (40, true)] {
            let mut rival = rival();
            (0..1000 - lost).for_each(|_| rival.on_ack(at(12_100)));
            rival.on_loss(at(12_100), lost);
            assert_eq!(rival.look(at(12_200), RTT, 0.01, true), gives_way, "{lost}");
            assert_eq!(rival.asks(), gives_way);
        }
    }

    /// Overload that comes back within a minute is no reason to take less than others who hold the same contest.
    #[test]
    fn a_contest_that_goes_on_keeps_its_part() {
        let mut rival = rival();
        rival.begin(at(20_000), 1000.0);
        assert!((699.0..701.0).contains(&rival.window()), "{}", rival.window());
    }
}
