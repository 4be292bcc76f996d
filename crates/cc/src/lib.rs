//! Congestion control: how much may be in flight, and how fast it may be sent.
//!
//! The connection (crate `tcp`) detects losses, measures round trips and decides *what* is sent; a policy here answers
//! only *how much* and *how fast*. See [`CongestionControl`].

mod events;

pub use events::{Ack, Congestion, CongestionKind, Sent};

use longhaul_units::Rate;

/// Bytes of payload. Windows are counted in it; a policy whose source counts packets divides by the MSS.
pub type Bytes = u64;

/// A congestion control policy, driven by the connection's events.
///
/// It has no clock: every event carries the time. Windows never fall below one MSS.
pub trait CongestionControl: Send {
    /// New data was acknowledged (cumulatively or by SACK).
    fn on_ack(&mut self, ack: &Ack);
    /// Congestion was found; at most once per window of data, save for a timeout.
    fn on_congestion(&mut self, event: &Congestion);
    /// A segment left.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// The sender was idle for longer than the RTO (RFC 5681 section 4.1); `restart_window` in bytes.
    fn on_idle(&mut self, _restart_window: Bytes) {}
    /// Congestion window in bytes.
    fn window(&self) -> Bytes;
    /// Slow start threshold in bytes; `Bytes::MAX` while there is none.
    fn ssthresh(&self) -> Bytes;
    /// True while the window grows by slow start.
    fn in_slow_start(&self) -> bool {
        self.window() < self.ssthresh()
    }
    /// The rate at which segments are to be spaced, or `None` to send as ACKs allow.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}
