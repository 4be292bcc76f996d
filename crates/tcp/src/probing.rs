//! A start by probes (packet pair): the connection request is several SYNs back to back, each of which the peer answers at
//! once, as any TCP does. Congestion control interprets the gaps between the answers.

use longhaul_cc::{Probe, ProbeSide, Probed};
use longhaul_segment::Segment;
use longhaul_units::{Duration, Instant};

/// Probes under way, at the end that sends them; at the other end, what has arrived of them.
#[derive(Clone, Debug)]
pub(crate) struct Probing {
    probe: Probe,
    /// Probes of this attempt that have not left.
    unsent: u32,
    /// All probes that have left, the last attempt last.
    attempts: Vec<Attempt>,
    /// The timestamps of echoes identify the probes that they answer.
    identified: bool,
    /// The window that the last echo offered.
    pub window: u64,
}

/// All probes, sent once.
#[derive(Clone, Debug)]
struct Attempt {
    /// Departure of the first probe.
    sent_at: Instant,
    /// Its timestamp, which echoes return (RFC 7323).
    stamp: Option<u32>,
    /// From its departure to the first echo.
    rtt: Option<Duration>,
    /// The last echo: when it came, and the peer's timestamp.
    last: Option<(Instant, Option<u32>)>,
    gaps: Vec<Duration>,
}

impl Attempt {
    fn echo(&mut self, now: Instant, stamp: Option<u32>, tick: Duration) {
        self.rtt.get_or_insert(now.since(self.sent_at));
        if let Some((before, stamp_before)) = self.last.replace((now, stamp)) {
            let ticks = stamp.zip(stamp_before).map(|(new, old)| new.wrapping_sub(old));
            let gap = now.since(before);
            self.gaps.push(ticks.map_or(gap, |ticks| gap_at_receiver(gap, ticks, tick)));
        }
    }
}

/// Between two arrivals that the receiver's clock puts so many ticks apart lies a tick more or less. Where the gap between the
/// echoes is possible it is the better measure; where it is not, the way back has changed it.
fn gap_at_receiver(gap: Duration, ticks: u32, tick: Duration) -> Duration {
    let of = |ticks: u32| tick.saturating_mul(u64::from(ticks));
    let possible = of(ticks.saturating_sub(1))..=of(ticks.saturating_add(1));
    if possible.contains(&gap) { gap } else { of(ticks.max(1)) }
}

impl Probing {
    pub fn new(probe: Probe) -> Self {
        let probe = Probe { count: probe.count.max(1), ..probe };
        Probing { unsent: probe.count, probe, attempts: vec![], identified: false, window: 0 }
    }

    /// A probe leaves now, with this timestamp if it has one. Returns when its echo is overdue: no later than after `longest`,
    /// if that is more than the first wait.
    pub fn sent(&mut self, now: Instant, stamp: Option<u32>, longest: Duration) -> Instant {
        if self.unsent == self.probe.count {
            self.attempts.push(Attempt { sent_at: now, stamp, rtt: None, last: None, gaps: vec![] });
        }
        self.unsent = self.unsent.saturating_sub(1);
        let sent_at = self.attempts.last().map_or(now, |attempt| attempt.sent_at);
        let patience = self.probe.timeout.saturating_mul(1 << self.failed().min(30));
        sent_at + patience.min(longest.max(self.probe.timeout))
    }
    /// Attempts before the last.
    fn failed(&self) -> usize {
        self.attempts.len().saturating_sub(1)
    }
    /// Probes of one attempt, each of which the peer answers.
    pub fn count(&self) -> u32 {
        self.probe.count
    }
    /// Another probe follows at once.
    pub fn more(&self) -> bool {
        self.unsent > 0
    }
    /// Bytes that fill a request of so many up to the size of a probe.
    pub fn padding(&self, natural: u32) -> u32 {
        let size = u32::try_from(self.probe.size.as_bytes()).unwrap_or(u32::MAX);
        size.saturating_sub(natural)
    }

    /// An echo has come; `tick` is the clock of its timestamp, if the peer has one. True if it is the last of its attempt.
    pub fn echo(&mut self, now: Instant, segment: &Segment, tick: Duration) -> bool {
        self.window = u64::from(segment.window);
        let timestamps = segment.options.timestamps;
        let stamp = timestamps.map(|timestamps| timestamps.value);
        let stamp = stamp.filter(|_| self.probe.side == ProbeSide::Receiver);
        let enough = self.probe.count as usize;
        let Some(attempt) = self.attempt_of(timestamps.map(|timestamps| timestamps.echo)) else {
            return false;
        };
        attempt.echo(now, stamp, tick);
        attempt.gaps.len() + 1 >= enough
    }
    /// Which attempt an echo answers: the last that is no younger than the timestamp that it returns. Without timestamps the
    /// last of all, and a late echo cannot be distinguished from those of the probes that were sent since.
    fn attempt_of(&mut self, echoed: Option<u32>) -> Option<&mut Attempt> {
        let is_no_younger = |attempt: &Attempt| {
            attempt.stamp.zip(echoed).is_some_and(|(stamp, echo)| (echo.wrapping_sub(stamp) as i32) >= 0)
        };
        let found = self.attempts.iter().rposition(is_no_younger);
        self.identified = found.is_some();
        let last = self.failed();
        self.attempts.get_mut(found.unwrap_or(last))
    }
    /// The attempt with the most gaps, of equals the last.
    fn best(&self) -> Option<&Attempt> {
        self.attempts.iter().filter(|attempt| attempt.last.is_some()).max_by_key(|attempt| attempt.gaps.len())
    }
    /// Some echo has come.
    pub fn answered(&self) -> bool {
        self.best().is_some()
    }
    /// Echoes are missing of a train, but there are gaps to go by, and the mode is not strict.
    pub fn makes_do(&self) -> bool {
        !self.is_strict() && self.best().is_some_and(|attempt| !attempt.gaps.is_empty())
    }

    /// Echoes are overdue. True if all probes are to be sent again.
    pub fn retries(&mut self) -> bool {
        let again = self.failed() < self.probe.retries as usize;
        if again {
            self.unsent = self.probe.count;
        }
        again
    }
    /// A lost probe ends the connection.
    pub fn is_strict(&self) -> bool {
        self.probe.retries == 0
    }
    /// How long the end that answers waits before it repeats an answer: until the probes must have been repeated, lest what
    /// it sends by itself is taken for an echo. Never in strict mode.
    pub fn answer_timeout(&self) -> Option<Duration> {
        (!self.is_strict()).then(|| self.probe.timeout.saturating_mul(3))
    }

    /// The round trip of the first probe, if it is known which probe was answered (Karn's rule).
    pub fn rtt_sample(&self) -> Option<Duration> {
        self.best().filter(|_| self.identified || self.failed() == 0)?.rtt
    }
    /// The measurements, for congestion control.
    pub fn report(&self, now: Instant) -> Probed<'_> {
        let best = self.best();
        Probed {
            now,
            rtt: best.and_then(|attempt| attempt.rtt).unwrap_or(Duration::ZERO),
            size: self.probe.size,
            gaps: best.map_or(&[], |attempt| &attempt.gaps),
        }
    }
    /// The probes turned out to be of this length.
    pub fn measured_size(&mut self, bytes: u32) {
        self.probe.size = longhaul_units::Size::from_bytes(u64::from(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tick of 1 ms.
    fn gap(heard_us: u64, ticks: u32) -> u64 {
        let gap = gap_at_receiver(Duration::from_micros(heard_us), ticks, Duration::from_millis(1));
        gap.as_nanos() / 1000
    }

    #[test]
    fn a_coarse_clock_bounds_the_gap_and_the_echoes_measure_it() {
        // 10 us apart, in one tick or at its border.
        assert_eq!((gap(10, 0), gap(10, 1)), (10, 10));
        // 2.3 ms are two or three ticks.
        assert_eq!((gap(2300, 2), gap(2300, 3)), (2300, 2300));
        // The way back has spread echoes of 2 ms to 20, or pushed them together.
        assert_eq!((gap(20_000, 2), gap(100, 2)), (2000, 2000));
        // Less than a tick, no more is known.
        assert_eq!(gap(20_000, 0), 1000);
    }
}
