//! A token bucket (RFC 2698, RFC 3290).

use longhaul_units::{Duration, Instant, Rate, Size};

/// A bucket that fills at a rate, by the time at which it is full: at t it holds `depth - rate (full_at - t)`, at most its depth. It is
/// full at the start.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: Rate,
    /// Time that it takes to fill.
    depth: Duration,
    full_at: Instant,
}

impl Bucket {
    /// One that holds at most `depth` and fills at `rate`.
    pub fn new(rate: Rate, depth: Size) -> Self {
        Bucket { rate, depth: rate.transmission_time(depth), full_at: Instant::ZERO }
    }
    fn time(&self, len: u32) -> Duration {
        self.rate.transmission_time(Size::from_bytes(u64::from(len)))
    }
    /// When a packet of `len` bytes may leave: one that the bucket cannot hold when it is full.
    pub fn due(&self, len: u32) -> Instant {
        let spare = self.depth.saturating_sub(self.time(len));
        Instant::from_nanos(self.full_at.as_nanos().saturating_sub(spare.as_nanos()))
    }
    /// It leaves.
    pub fn take(&mut self, now: Instant, len: u32) {
        self.full_at = self.full_at.max(now) + self.time(len);
    }
}
