//! Why is my flow slow? What keeps the sender from sending right now, and for how long it has.

use longhaul_units::{Count, Duration, Instant};

/// The one thing that limits a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The congestion window, while it grows by slow start.
    SlowStart,
    /// The congestion window.
    Cwnd,
    /// The window that the receiver offers.
    ReceiverWindow,
    /// There is nothing to send (Nagle's wait for more is here too).
    Application,
    /// The pacing rate, or the burst limit.
    Pacing,
    /// Loss recovery, fast or after a timeout.
    Recovery,
    /// The connection is not established yet.
    Handshake,
    /// The sender's own buffer: all that is in it is sent and not acknowledged, and the application waits for room.
    SendBuffer,
    /// The connection is closed, or all is sent and the end too.
    Closed,
}

impl Limit {
    /// All limits, in the order of [`LimitedTime::iter`].
    pub const ALL: [Limit; 9] = [
        Limit::SlowStart,
        Limit::Cwnd,
        Limit::ReceiverWindow,
        Limit::Application,
        Limit::Pacing,
        Limit::Recovery,
        Limit::Handshake,
        Limit::SendBuffer,
        Limit::Closed,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Limit::SlowStart => "slow_start",
            Limit::Cwnd => "cwnd",
            Limit::ReceiverWindow => "receiver_window",
            Limit::Application => "application",
            Limit::Pacing => "pacing",
            Limit::Recovery => "recovery",
            Limit::Handshake => "handshake",
            Limit::SendBuffer => "send_buffer",
            Limit::Closed => "closed",
        }
    }
}

/// Time spent under each limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitedTime([Duration; Limit::ALL.len()]);

impl LimitedTime {
    /// Time under one limit.
    pub fn get(&self, limit: Limit) -> Duration {
        self.0[limit as usize]
    }
    /// All limits with their times.
    pub fn iter(&self) -> impl Iterator<Item = (Limit, Duration)> + '_ {
        Limit::ALL.into_iter().map(|limit| (limit, self.get(limit)))
    }
}

impl FromIterator<(Limit, Duration)> for LimitedTime {
    /// Times under some limits; none under the others.
    fn from_iter<I: IntoIterator<Item = (Limit, Duration)>>(times: I) -> Self {
        let mut all = LimitedTime::default();
        times.into_iter().for_each(|(limit, time)| all.0[limit as usize] += time);
        all
    }
}

impl Count for LimitedTime {
    const NONE: LimitedTime = LimitedTime(Count::NONE);
    fn since(self, before: LimitedTime) -> LimitedTime {
        LimitedTime(self.0.since(before.0))
    }
    fn with(self, other: LimitedTime) -> LimitedTime {
        LimitedTime(self.0.with(other.0))
    }
}

/// Adds up the time under each limit; costs one compare while the limit stays the same.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct LimitClock {
    past: LimitedTime,
    /// `None` before the first call. It stands beside the counters that follow in a connection, where it is compared for each segment.
    current: Option<Limit>,
    /// When the current limit set in.
    since: Instant,
}

impl LimitClock {
    /// Nothing is counted before [`LimitClock::set`].
    #[allow(clippy::new_without_default)] // a clock is wound up on purpose
    pub fn new() -> Self {
        LimitClock { current: None, since: Instant::ZERO, past: LimitedTime::default() }
    }
    /// From `now` on this is the limit.
    #[inline]
    pub fn set(&mut self, now: Instant, limit: Limit) {
        if self.current != Some(limit) {
            self.change(now, limit);
        }
    }
    #[cold]
    fn change(&mut self, now: Instant, limit: Limit) {
        self.past = self.total(now);
        self.current = Some(limit);
        self.since = now;
    }
    /// The limit at present; the handshake before the first.
    pub fn current(&self) -> Limit {
        self.current.unwrap_or(Limit::Handshake)
    }
    /// Time under each limit up to `now`.
    pub fn total(&self, now: Instant) -> LimitedTime {
        let mut total = self.past;
        if let Some(current) = self.current {
            total.0[current as usize] += now.since(self.since);
        }
        total
    }
}
