//! A hand-held connection: feeds a policy with ACKs and events.

use crate::{
    Ack, Algorithm, Bytes, Congestion, CongestionControl, CongestionKind, InitialWindow, Inspection, Setup,
    SlowStartKind, Window, build,
};
use longhaul_units::{Duration, Instant, Limit, Size};

/// One segment.
pub const MSS: Bytes = 1000;

/// Segments of [`MSS`], an initial window and an initial threshold in bytes.
pub fn setup(initial_window: Bytes, initial_ssthresh: Option<Bytes>) -> Setup {
    let initial_ssthresh = initial_ssthresh.map(|bytes| Limit::Bytes(Size::from_bytes(bytes)));
    Setup {
        mss: MSS,
        initial_window: InitialWindow::Bytes(initial_window),
        initial_ssthresh,
        ..Setup::default()
    }
}

/// A window and its threshold in bytes, before any cut.
pub fn window_at(cwnd: f64, ssthresh: f64) -> Window {
    let zero = Duration::ZERO;
    Window { cwnd, ssthresh, mss: MSS as f64, cuts: 0, last_cut: None, idle: zero, unused: zero }
}

/// A policy from its JSON form.
pub fn policy(algorithm: &str, slow_start: &str, setup: &Setup) -> Box<dyn CongestionControl> {
    let algorithm: Algorithm = serde_json::from_str(algorithm).expect("an algorithm");
    let slow_start: SlowStartKind = serde_json::from_str(slow_start).expect("a slow start");
    build(&algorithm, &slow_start, setup).expect("a policy")
}

/// A policy in congestion avoidance with a window of so many segments.
pub fn avoiding(algorithm: &str, segments: u64) -> Box<dyn CongestionControl> {
    policy(algorithm, r#""standard""#, &setup(segments * MSS, Some(segments * MSS)))
}

/// A number that a policy shows.
pub fn reading(policy: &dyn CongestionControl, name: &str) -> f64 {
    let mut inspection = Inspection::default();
    policy.inspect(&mut inspection);
    inspection.readings().iter().find(|reading| reading.name == name).expect("a reading of this name").value
}

/// An ACK of `acked` bytes at `now_ms`, in a connection whose round trip is 100 ms.
pub fn ack_at(now_ms: u64, acked: Bytes) -> Ack {
    let rtt = Duration::from_millis(100);
    let now = Instant::ZERO + Duration::from_millis(now_ms);
    Ack {
        now,
        next_departure: now,
        acked,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        in_flight: 0,
        prior_in_flight: acked,
        round: 0,
        round_start: false,
        delivery: None,
        delivered: 0,
        marked: 0,
        ack_ratio: 1,
        app_limited: false,
        receiver_limited: false,
        in_recovery: false,
    }
}

/// An ACK of one segment at `now_ms`, whose round trip took `rtt_ms`.
pub fn ack_of(now_ms: u64, rtt_ms: u64) -> Ack {
    let rtt = Duration::from_millis(rtt_ms);
    Ack { rtt: Some(rtt), srtt: rtt, ..ack_at(now_ms, MSS) }
}

/// An ACK of one segment.
pub fn ack() -> Ack {
    ack_at(0, MSS)
}

/// A congestion event.
pub fn event(kind: CongestionKind, flight_size: Bytes) -> Congestion {
    Congestion { now: Instant::ZERO, kind, flight_size }
}
