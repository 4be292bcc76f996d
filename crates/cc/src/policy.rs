//! The two halves of a window policy: what happens above ssthresh, and what happens below it.
//! [`crate::WindowBased`] puts any pair of them together.

use crate::{Ack, Bytes, Congestion, EcnUse, Inspection, Probe, Probed, Window};

/// What a congestion event leaves: both in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cut {
    /// The new slow start threshold.
    pub ssthresh: f64,
    /// The new window. The composition never lets it exceed the old one, nor fall below one MSS.
    pub cwnd: f64,
}

/// A step of slow start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Growth {
    /// Bytes to add to the window (to take off, if negative).
    pub bytes: f64,
    /// Slow start is over: ssthresh becomes the window that results.
    pub exit: bool,
}

/// A congestion avoidance rule: how the window grows above ssthresh, and what it becomes upon congestion.
///
/// It is a value (`Clone`): the composition keeps a copy from before each cut and restores it, window and rule, if the
/// cut proves to have been for nothing.
pub trait Avoidance: Clone + Send + 'static {
    /// Sees every ACK before anything grows, also in slow start, in recovery and while limited by the application:
    /// the place to gather round trips and rates. `ack.round_start` marks the once-per-RTT decisions (Vegas, Illinois).
    fn observe(&mut self, _window: &Window, _ack: &Ack) {}
    /// A window and a threshold that the rule sets outright upon this ACK, in place of a step: a pause to measure the path. Not in
    /// recovery, nor while something else than this window is the limit. A threshold above the window is slow start.
    fn set(&mut self, _window: &Window, _ack: &Ack) -> Option<Cut> {
        None
    }
    /// Bytes by which the window grows upon this ACK (shrinks, if negative: delay-based rules).
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64;
    /// The receiver's window is the limit: the window does not grow, but a rule by delay may evaluate the round, shrink it, and end slow
    /// start. Bytes to add are not added.
    fn judge_without_growth(&mut self, _window: &Window, _ack: &Ack) -> Growth {
        Growth { bytes: 0.0, exit: false }
    }
    /// The reaction to loss or ECN echo.
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut;
    /// Fast recovery has ended: what ssthresh and cwnd become, in bytes, if the rule decides that only now.
    fn recovered(&mut self, _window: &Window) -> Option<f64> {
        None
    }
    /// A cut that was for nothing is taken back: the rule too is as it was before (RFC 9438 section 4.9). Otherwise window and threshold
    /// are, and the rule stays as the cut left it (Linux: `tcp_reno_undo_cwnd`).
    fn undone_with_window(&self) -> bool {
        true
    }
    /// The slow start threshold after a timeout, in bytes.
    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        half_flight(event.flight_size, window.mss)
    }
    /// The window after a timeout, in bytes: the loss window of one MSS (RFC 5681 section 3.1).
    fn loss_window(&self, window: &Window) -> f64 {
        window.mss
    }
    /// May change a step of slow start: scale it (Hybla), leave it out or end it on delay (Vegas, YeAH).
    fn shape_slow_start(&mut self, _window: &Window, _ack: &Ack, step: Growth) -> Growth {
        step
    }
    /// The connection starts again after an idle period.
    fn idle(&mut self) {}
    /// The MSS has changed: what is kept in segments becomes `by` times as many.
    fn rescale(&mut self, _by: f64) {}
    /// What goes on inside.
    fn inspect(&self, _window: &Window, _inspection: &mut Inspection) {}
    /// True if the rule reads [`Ack::delivery`]; otherwise the connection does not measure it.
    fn needs_delivery_rate(&self) -> bool {
        false
    }
    /// How it uses ECN, read once. With [`EcnUse::Fraction`] and [`EcnUse::L4s`] it finds in [`Ack::marked`] how much was marked.
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }
}

/// A slow start policy: how the window grows below ssthresh, and when that ends.
pub trait SlowStart: Clone + Send + 'static {
    /// Probes with which the connection is to open.
    fn probe(&self) -> Option<Probe> {
        None
    }
    /// The slow start threshold in bytes that follows from what they reported, if any.
    fn ssthresh_probed(&self, _probed: &Probed<'_>) -> Option<f64> {
        None
    }
    /// The initial slow start threshold in bytes, infinite if there is none.
    fn initial_ssthresh(&self, given: f64) -> f64 {
        given
    }
    /// Sees every ACK before anything grows.
    fn observe(&mut self, _window: &Window, _ack: &Ack) {}
    /// The step upon this ACK while cwnd < ssthresh.
    fn increase(&mut self, window: &Window, ack: &Ack) -> Growth;
    /// Least growth in bytes upon an ACK at or above ssthresh: the avoidance rule's own growth counts if it is larger.
    fn beyond_ssthresh(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        0.0
    }
    /// Loss, ECN echo or timeout.
    fn congestion(&mut self, _event: &Congestion) {}
    /// The connection starts again after an idle period.
    fn idle(&mut self) {}
    /// The MSS that holds from now on, in bytes: in the beginning, and where it changes.
    fn on_mss(&mut self, _mss: Bytes) {}
}

/// Keeps `share` of what is in flight, at least two segments: RFC 5681 equation (4), with `share` in place of one half, and
/// section 3.2 step 6, cwnd = ssthresh.
pub(crate) fn keep(share: f64, event: &Congestion, mss: f64) -> Cut {
    let left = (event.flight_size as f64 * share).max(2.0 * mss);
    Cut { ssthresh: left, cwnd: left }
}

/// `max(FlightSize / 2, 2 * SMSS)`: RFC 5681 equation (4).
pub(crate) fn half_flight(flight_size: Bytes, mss: f64) -> f64 {
    (flight_size as f64 / 2.0).max(2.0 * mss)
}
