//! Congestion control: how much may be in flight, and how fast it may be sent.
//!
//! The connection (crate `tcp`) detects losses, measures round trips and decides *what* is sent; a policy here answers
//! only *how much* and *how fast*. See [`CongestionControl`].
//!
//! Most policies are windows, put together by [`WindowBased`] from two independent parts: an [`Avoidance`] rule
//! (folder `algorithms`) and a [`SlowStart`] policy (folder `slow_start`). One that is neither implements
//! [`CongestionControl`] itself. A new one is a file in its folder and a line in [`mod@registry`].
//!
//! ```
//! use longhaul_cc::{Algorithm, InitialWindow, Setup, SlowStartKind, build};
//!
//! let cubic: Algorithm = serde_json::from_str(r#"{ "kind": "cubic", "fast_convergence": false }"#)?;
//! let hystart: SlowStartKind = serde_json::from_str(r#""hystart++""#)?;
//! let setup = Setup { mss: 1460, initial_window: InitialWindow::Segments(10), ..Setup::default() };
//! let policy = build(&cubic, &hystart, &setup)?;
//! assert_eq!(policy.window(), 14_600);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The feature `serde` (on by default) reads policies from texts, checks their parameters and lists them. Without it they are made of
//! parameters set in code ([`build_checked`]), whose ranges nothing checks.

// What texts leave out has defaults that only reading calls for.
#![cfg_attr(not(feature = "serde"), allow(dead_code))]

pub mod algorithms;
pub mod careful_resume;
pub mod closed_form;
mod compose;
mod counting;
mod draws;
mod events;
mod inspection;
mod marked_share;
mod max_filter;
mod params;
mod policy;
mod probe;
pub mod registry;
mod round_rtt;
#[cfg(feature = "serde")]
mod schema;
mod settings;
mod setup;
pub mod slow_start;
#[cfg(test)]
mod testing;
mod token_bucket;
mod window;

pub use algorithms::external::{Maker, register};
pub use careful_resume::CarefulResume;
pub use counting::Counting;
pub use events::{Ack, Congestion, CongestionKind, Delivery, Lost, Sent};
pub use inspection::{Inspection, Reading};
#[cfg(feature = "serde")]
pub use params::Parameter;
pub use params::{Conditions, Formula};
pub use policy::{Avoidance, Cut, Growth, SlowStart};
pub use probe::{Probe, ProbeFilter, ProbeSide, Probed};
pub use registry::{Algorithm, SlowStartKind, begins_with, build_checked};
#[cfg(feature = "serde")]
pub use registry::{Entry, Role, build, registry};
pub use round_rtt::{RttOfRound, queued_segments};
pub use setup::{InitialWindow, Pacing, Reduces, Setup};
pub use token_bucket::TokenSource;
pub use window::{Window, WindowBased};

use longhaul_units::{Duration, Instant, Rate};

/// Bytes of payload. Windows are counted in it; a policy whose source counts packets divides by the MSS.
pub type Bytes = u64;

/// What a policy allows until its next event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowance {
    /// [`CongestionControl::window`].
    pub window: Bytes,
    /// [`CongestionControl::in_slow_start`].
    pub in_slow_start: bool,
    /// [`CongestionControl::pacing_rate`].
    pub pacing_rate: Option<Rate>,
}

/// How a policy uses ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnUse {
    /// A mark counts as a loss does: [`CongestionKind::EcnEcho`], once in a window of data; packets are ECT(0) (RFC 3168).
    #[default]
    Classic,
    /// The policy reads [`Ack::marked`]. Packets are ECT(0), and without AccECN the receiver echoes each mark as it is (RFC 8257).
    Fraction,
    /// The policy reads [`Ack::marked`], and packets are ECT(1), where there is AccECN; otherwise packets are ECT(0), and a mark is a
    /// [`CongestionKind::Loss`] (RFC 9331 sections 4.1 to 4.3).
    L4s,
}

/// A congestion control policy, driven by the connection's events.
///
/// It has no clock: every event carries the time. Windows never fall below one MSS.
pub trait CongestionControl: Send {
    /// Probes with which the connection is to open, read once before it does; `None` for the usual handshake.
    fn probe(&self) -> Option<Probe> {
        None
    }
    /// What they have measured; comes before [`CongestionControl::on_established`]. False gives the connection up.
    fn on_probed(&mut self, _probed: &Probed<'_>) -> bool {
        true
    }
    /// The MSS that holds from now on, in bytes of payload: agreed on in the handshake (before [`CongestionControl::on_probed`] and
    /// [`CongestionControl::on_established`]), or changed on the way. Growth, least windows and an initial window in segments
    /// follow it (SMSS of RFC 5681).
    fn on_mss(&mut self, _mss: Bytes) {}
    /// The handshake is complete; its round trip, if one could be measured (Karn's rule).
    fn on_established(&mut self, _now: Instant, _rtt: Option<Duration>) {}
    /// New data was acknowledged (cumulatively or by SACK).
    fn on_ack(&mut self, ack: &Ack);
    /// Congestion was found; at most once per window of data, save for a timeout.
    fn on_congestion(&mut self, event: &Congestion);
    /// A segment left.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// False if [`CongestionControl::on_sent`] does nothing: it is not called then.
    fn hears_of_sending(&self) -> bool {
        true
    }
    /// The retransmission timer expires again, and nothing was acknowledged since the [`CongestionKind::Timeout`]. True if that
    /// changes what is allowed.
    fn on_back_off(&mut self, _now: Instant) -> bool {
        false
    }
    /// New data are about to leave while nothing is in flight, and nothing has been for `idle`: that time contains no information about the path
    /// (RFC 9438 section 4.2, last paragraph but one).
    fn on_transmission_start(&mut self, _now: Instant, _idle: Duration) {}
    /// A window that idleness has made doubtful is about to be halved: ssthresh is at least 3/4 of it (RFC 2861 section 3.1).
    fn remember_window(&mut self) {}
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
    /// When a segment of so many bytes of payload may leave: `now` if at once, [`Instant::FAR_FUTURE`] if an event has to come
    /// first. Called only on a policy that [`holds tokens`](CongestionControl::holds_tokens).
    fn release(&mut self, now: Instant, _bytes: Bytes) -> Instant {
        now
    }
    /// True if the policy itself lets each segment go, by tokens; else [`CongestionControl::pacing_rate`] spaces them. It must
    /// have a pacing rate then, its mean rate.
    fn holds_tokens(&self) -> bool {
        false
    }
    /// True if the pacing rate is a decision of its own and not the window spread over a round trip. Where time is accounted
    /// for, what holds a segment back in loss recovery is then pacing, and not recovery.
    fn sets_rate(&self) -> bool {
        false
    }
    /// Window, slow start and pacing rate in one call, which is what a connection makes after each event.
    fn allowance(&self) -> Allowance {
        Allowance {
            window: self.window(),
            in_slow_start: self.in_slow_start(),
            pacing_rate: self.pacing_rate(),
        }
    }
    /// [`CongestionControl::on_ack`] and [`CongestionControl::allowance`] in one call, which is what a connection makes for each ACK.
    fn take_ack(&mut self, ack: &Ack) -> Allowance {
        self.on_ack(ack);
        self.allowance()
    }
    /// An ACK outside of fast recovery acknowledges nothing new, but reports SACKs of `ack.acked` bytes, which are not to make the window
    /// grow: for its round trip and its time alone (Linux: `pkts_acked`). Only where the connection passes such ACKs on.
    fn on_sack(&mut self, _ack: &Ack) {}
    /// Data were found lost; comes before the ACK that reported it. Only if [`CongestionControl::needs_delivery_rate`].
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Loss recovery, fast or after a timeout, is complete; the ACK that completes it follows.
    fn on_recovery_end(&mut self) {}
    /// What goes on inside, beside window and threshold: W_max, the model's bandwidth, the state.
    fn inspect(&self, _inspection: &mut Inspection) {}
    /// How it uses ECN, read once.
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }
    /// True if the policy reads [`Ack::delivery`]; otherwise the connection does not measure it.
    fn needs_delivery_rate(&self) -> bool {
        false
    }
}
