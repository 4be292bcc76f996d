//! Where the watermark W stands: fixed, or found while running.

use super::Settings;
use longhaul_units::{Duration, Instant};

/// The watermark W: how many of the oldest copies may be acknowledged prematurely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watermark {
    /// So many packets.
    Fixed(usize),
    /// As high as the buffer allows.
    Automatic,
}

/// The watermark of one direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct WatermarkControl {
    watermark: usize,
}

impl WatermarkControl {
    pub fn new(settings: &Settings) -> Self {
        match settings.watermark {
            Watermark::Fixed(packets) => WatermarkControl { watermark: packets.min(settings.buffer) },
            Watermark::Automatic => WatermarkControl { watermark: 0 },
        }
    }
    /// W.
    pub fn watermark(&self) -> usize {
        self.watermark
    }
    /// A data packet found the buffer full.
    pub fn on_overflow(&mut self) {}
    /// The buffer holds `copies`, of which `acknowledged` were acknowledged prematurely.
    pub fn observe(&mut self, _now: Instant, _copies: usize, _acknowledged: usize) {}
    /// The destination acknowledged up to `ack`; its round trip is at least `rtt`.
    pub fn on_ack(&mut self, _now: Instant, _ack: u64, _rtt: Duration) {}
}
