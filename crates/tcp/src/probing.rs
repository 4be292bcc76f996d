//! A start by probes (packet pair): the connection request is several SYNs back to back, each of which the peer answers at
//! once, as any TCP does. What the gaps between the answers mean is for congestion control to say.

use longhaul_cc::{Probe, ProbeSide, Probed};
use longhaul_segment::Segment;
use longhaul_units::{Duration, Instant};

/// Probes under way, at the end that sends them; at the other what it knows of them.
#[derive(Clone, Debug)]
pub(crate) struct Probing {
    probe: Probe,
    /// Probes of this attempt that have not left.
    unsent: u32,
    /// Attempts that came to nothing.
    failed: u32,
    /// Departure of this attempt's first probe.
    sent_at: Instant,
    /// From there to its first echo.
    rtt: Option<Duration>,
    /// The last echo: when it came, and the peer's timestamp.
    last: Option<(Instant, Option<u32>)>,
    gaps: Vec<Duration>,
    /// The window that the last echo offered.
    pub window: u64,
}

impl Probing {
    pub fn new(probe: Probe) -> Self {
        let probe = Probe { count: probe.count.max(1), ..probe };
        Probing {
            unsent: probe.count,
            probe,
            failed: 0,
            sent_at: Instant::ZERO,
            rtt: None,
            last: None,
            gaps: vec![],
            window: 0,
        }
    }

    /// A probe leaves now. Returns when its echo is overdue: no later than after `longest`, if that is more than the first wait.
    pub fn sent(&mut self, now: Instant, longest: Duration) -> Instant {
        if self.unsent == self.probe.count {
            self.sent_at = now;
        }
        self.unsent = self.unsent.saturating_sub(1);
        let patience = self.probe.timeout.saturating_mul(1 << self.failed.min(30));
        self.sent_at + patience.min(longest.max(self.probe.timeout))
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

    /// An echo has come; `tick` is the clock of its timestamp, if the peer has one. True if it is the last.
    pub fn echo(&mut self, now: Instant, segment: &Segment, tick: Duration) -> bool {
        self.rtt.get_or_insert(now.since(self.sent_at));
        self.window = u64::from(segment.window);
        let told = segment.options.timestamps.map(|timestamps| timestamps.value);
        let told = told.filter(|_| self.probe.side == ProbeSide::Receiver);
        if let Some((before, told_before)) = self.last.replace((now, told)) {
            let ticks = told.zip(told_before).map(|(new, old)| new.wrapping_sub(old));
            self.gaps.push(ticks.map_or(now.since(before), |ticks| tick.saturating_mul(u64::from(ticks))));
        }
        self.gaps.len() + 1 >= self.probe.count as usize
    }
    /// Some echo has come.
    pub fn heard(&self) -> bool {
        self.last.is_some()
    }
    /// Echoes are missing of a train, but there are gaps to go by, and the mode is not strict.
    pub fn makes_do(&self) -> bool {
        !self.gaps.is_empty() && !self.is_strict()
    }

    /// Echoes are overdue. True if all probes are to be sent again.
    pub fn retries(&mut self) -> bool {
        if self.failed >= self.probe.retries {
            return false;
        }
        self.failed += 1;
        self.unsent = self.probe.count;
        (self.rtt, self.last) = (None, None);
        self.gaps.clear();
        true
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
        self.rtt.filter(|_| self.failed == 0)
    }
    /// What there is to tell.
    pub fn report(&self, now: Instant) -> Probed<'_> {
        Probed { now, rtt: self.rtt.unwrap_or(Duration::ZERO), size: self.probe.size, gaps: &self.gaps }
    }
    /// The probes turned out to be of this length.
    pub fn measured_size(&mut self, bytes: u32) {
        self.probe.size = longhaul_units::Size::from_bytes(u64::from(bytes));
    }
}
